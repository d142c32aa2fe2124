//! Rows of a join's table that have been kept, and how they are found again. How they are made is for `keep` to say.

pub(super) mod by_key;
pub(super) mod hash_key;
mod made_keys;
pub(super) mod refill;

use engine::RowBatch;
use types::{SqlError, ValueRef};

pub(crate) use self::hash_key::write_probe_key;
use self::made_keys::MadeKeys;
use crate::keymap::KeyMap;
use crate::spill::gather::{Gathered, Pass};
use crate::spill::join::Built;
use crate::spill::record::{Members, write_value};
use crate::store::RowStore;
use sql_expr::memory::Charge;
use sql_expr::{EvalCtx, RowSource};
use sql_plan::plan::Step;

/// Kept rows.
pub(crate) struct Kept {
    pub(super) rows: Rows,
    pub(super) hash: Option<Hash>,
    /// Where the rows are that have no room: all of them.
    pub(super) built: Option<Box<Built>>,
    /// Which rows each key has, where they are made for one at a time.
    pub(super) by_key: Option<Box<MadeKeys>>,
    pub(super) _charge: Charge,
}

/// Where they are.
pub(super) enum Rows {
    /// Of a stored table: batches, and where each row is.
    Batches(Vec<RowBatch>, Vec<(u32, u32)>),
    /// Of anything else.
    Store(RowStore),
    /// Of anything else where there is no room: they come in their order.
    File(Box<(Gathered, Pass)>),
}

/// The rows by the keys of a hash.
pub(super) struct Hash {
    pub keys: KeyMap,
    /// First row of each key.
    pub first: Vec<u32>,
    /// The next row with the same key, plus one.
    pub next: Vec<u32>,
    pub _charge: Charge,
}

/// What a row takes beside its bytes once a hash finds it, roughly: its place, its key, the chain it is in.
pub(super) const HASHED: usize = 64;

impl Kept {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Batches(_, at) => at.len(),
            Rows::Store(s) => s.len(),
            Rows::File(f) => f.0.len(),
        }
    }

    /// Whether the rows are in a file: the conditions on them have not been asked for yet, and each has to [come](Self::come).
    #[inline]
    pub fn is_in_file(&self) -> bool {
        matches!(self.rows, Rows::File(_))
    }

    /// Fetches a row of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn come(&mut self, row: usize) -> Result<(), SqlError> {
        let Rows::File(f) = &mut self.rows else {
            return Ok(());
        };
        let (rows, pass) = &mut **f;
        if row < pass.rows().0 {
            *pass = rows.pass();
        }
        while row >= pass.rows().1 && rows.next(pass).await?.is_some() {}
        Ok(())
    }

    /// A column of a row.
    #[inline]
    pub fn column(&self, i: usize, ordinal: u16) -> ValueRef<'_> {
        match &self.rows {
            Rows::Batches(batches, at) => {
                let (b, r) = at[i];
                batches[b as usize]
                    .row(r as usize)
                    .column(usize::from(ordinal))
            }
            Rows::Store(s) => s.column(i, usize::from(ordinal)),
            Rows::File(f) => f.1.column(i, usize::from(ordinal)),
        }
    }

    /// The clustered key of a row.
    pub fn key(&self, i: usize) -> Option<&[u8]> {
        match &self.rows {
            Rows::Batches(batches, at) => {
                let (b, r) = at[i];
                Some(batches[b as usize].key(r as usize))
            }
            Rows::Store(_) | Rows::File(_) => None,
        }
    }

    /// Appends a row, as [`Refill::push`] takes it.
    pub fn write_row(&self, i: usize, members: &mut Members, out: &mut Vec<u8>) {
        match &self.rows {
            Rows::Batches(batches, at) => {
                let (b, r) = at[i];
                batches[b as usize].write_row(r as usize, out);
            }
            Rows::Store(s) => s.row(i).for_each(|v| write_value(v, members, out)),
            Rows::File(f) => {
                for c in 0..f.0.width() {
                    write_value(f.1.column(i, c), members, out);
                }
            }
        }
    }

    /// Whether its rows are those of a stored table.
    pub fn is_stored(&self) -> bool {
        matches!(self.rows, Rows::Batches(..))
    }

    /// Whether the number of a row says which it is as long as the statement runs: not in a file, not where [one](Self::one) has come
    /// back, and not where they are made again.
    pub fn has_numbers(&self) -> bool {
        match &self.rows {
            Rows::Batches(..) => true,
            Rows::Store(s) => s.len() != 1 && self.by_key.is_none(),
            Rows::File(_) => false,
        }
    }

    /// One row of values.
    pub fn one(values: &[ValueRef<'_>], cx: &EvalCtx<'_>) -> Kept {
        let mut store = RowStore::new(values.len(), cx.memory());
        store.push(values.iter().copied());
        Kept {
            rows: Rows::Store(store),
            hash: None,
            built: None,
            by_key: None,
            _charge: Charge::default(),
        }
    }

    /// The rows that went to a file, once.
    pub fn take_built(&mut self) -> Option<Built> {
        self.built.take().map(|b| *b)
    }

    /// The next row with the same hash key.
    pub fn after(&self, row: u32) -> Option<u32> {
        let h = self.hash.as_ref()?;
        h.next[row as usize].checked_sub(1)
    }

    /// The first row whose hash key, written to `key`, equals that of the combination; the outer `None` where there is no hash.
    pub fn look_up(
        &self,
        step: &Step,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
        key: &mut Vec<u8>,
    ) -> Result<Option<Option<u32>>, SqlError> {
        let (Some(h), Some(keys)) = (&self.hash, &step.buffer) else {
            return Ok(None);
        };
        key.clear();
        match write_probe_key(keys, cx, row, key)? {
            true => Ok(Some(h.keys.get(key).map(|n| h.first[n]))),
            false => Ok(Some(None)),
        }
    }
}

/// A row of values in place of one table's current row.
pub(super) struct StoreRow<'a> {
    pub rows: &'a RowStore,
    pub at: usize,
    pub slot: u16,
    pub rest: &'a dyn RowSource,
}

impl RowSource for StoreRow<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        match slot == self.slot {
            true => self.rows.column(self.at, usize::from(ordinal)),
            false => self.rest.column(slot, ordinal),
        }
    }

    fn subqueries(&self) -> Option<&dyn sql_expr::SubquerySource> {
        self.rest.subqueries()
    }
}
