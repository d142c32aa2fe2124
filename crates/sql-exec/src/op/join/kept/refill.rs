//! Rows that come back from a file to be found by their hash keys.

use std::sync::Arc;

use engine::{RowBatch, Table};
use types::SqlError;

use crate::keymap::KeyMap;
use crate::op::join::kept::{HASHED, Hash, Kept, Rows};
use crate::spill::record::{Members, read_values};
use crate::store::RowStore;
use sql_expr::EvalCtx;
use sql_expr::memory::Charge;

/// Rows that come back from a file, with the hash that finds them.
pub(crate) struct Refill {
    /// The stored table; none: rows are values.
    table: Option<Arc<Table>>,
    values: RowStore,
    batches: Vec<RowBatch>,
    at: Vec<(u32, u32)>,
    hash: Hash,
    last: Vec<u32>,
    bytes: usize,
    charge: Charge,
}

/// Bytes of rows in one buffer.
const BUFFER: usize = 256 << 10;

impl Refill {
    /// None yet, of a stored table or of so many values.
    pub fn new(table: Option<Arc<Table>>, width: usize, cx: &EvalCtx<'_>) -> Refill {
        Refill {
            table,
            values: RowStore::new(width, cx.memory()),
            batches: Vec::new(),
            at: Vec::new(),
            hash: Hash {
                keys: KeyMap::new(cx.memory()),
                first: Vec::new(),
                next: Vec::new(),
                _charge: Charge::default(),
            },
            last: Vec::new(),
            bytes: 0,
            charge: Charge::to(cx.memory()),
        }
    }

    /// Adds a row with its hash key.
    ///
    /// # Errors
    /// Bytes that are no row; the session may hold no more.
    pub fn push(
        &mut self,
        key: &[u8],
        row: &[u8],
        members: &Members,
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        let i = self.hash.next.len() as u32;
        match self.table.clone() {
            Some(table) => self.push_stored(&table, row, cx)?,
            None => self.values.push(read_values(row, members)?),
        }
        self.hash.next.push(0);
        let (n, new) = self.hash.keys.insert(key)?;
        if new {
            self.hash.first.push(i);
            self.last.push(i);
        } else {
            self.hash.next[self.last[n] as usize] = i + 1;
            self.last[n] = i;
        }
        Ok(())
    }

    fn push_stored(
        &mut self,
        table: &Arc<Table>,
        row: &[u8],
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        if self.batches.last().is_none_or(|b| b.bytes() >= BUFFER) {
            // What it was refused is noticed here at the latest.
            let places = self.at.len() * 3 * size_of::<u64>();
            if !self.charge.set(self.bytes + places + 2 * BUFFER) {
                cx.memory().check()?;
            }
            self.batches.push(RowBatch::new());
        }
        let b = self.batches.len() - 1;
        let batch = &mut self.batches[b];
        let before = batch.bytes();
        if !batch.read_row(table, row) {
            return Err(SqlError::internal(
                "a spilled row that does not fit its table",
            ));
        }
        self.bytes += batch.bytes() - before;
        self.at.push((b as u32, batch.len() as u32 - 1));
        Ok(())
    }

    /// How many rows there are, and how many keys.
    pub fn len(&self) -> (usize, usize) {
        (self.hash.next.len(), self.hash.keys.len())
    }

    /// What they take.
    pub fn bytes(&self) -> usize {
        self.bytes + self.values.used() + self.hash.next.len() * HASHED
    }

    /// The rows.
    pub fn finish(self) -> Kept {
        Kept {
            rows: match self.table {
                Some(_) => Rows::Batches(self.batches, self.at),
                None => Rows::Store(self.values),
            },
            hash: Some(self.hash),
            built: None,
            by_key: None,
            _charge: self.charge,
        }
    }
}
