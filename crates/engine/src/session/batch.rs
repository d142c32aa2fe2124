//! Rows on their way from a scan to whoever asked: copied once, in one buffer, reused from batch to batch.

use crate::record::{RowRef, RowVersion};
use crate::schema::Table;
use std::sync::Arc;

/// A reusable set of rows of one table.
#[derive(Default)]
pub struct RowBatch {
    pub(super) table: Option<Arc<Table>>,
    bytes: Vec<u8>,
    rows: Vec<Entry>,
    outside: Vec<Vec<(usize, Vec<u8>)>>,
    /// Secondary entries through which rows that still have to be completed were found: (row, entry).
    found_by: Vec<(usize, Vec<u8>)>,
}

#[derive(Clone, Copy)]
struct Entry {
    key: u32,
    row: u32,
    end: u32,
    version: RowVersion,
    /// Index into `outside` plus one; 0: none.
    outside: u32,
    /// Has overflow columns which were not read yet: the filter was not asked yet either.
    raw: bool,
}

impl RowBatch {
    /// An empty batch.
    pub fn new() -> RowBatch {
        RowBatch::default()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of memory that the rows take, without those of columns stored elsewhere that were fetched.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.rows.len() * size_of::<Entry>()
    }

    /// Forgets the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
        self.outside.clear();
        self.found_by.clear();
    }

    /// A row.
    pub fn row(&self, i: usize) -> RowRef<'_> {
        let e = &self.rows[i];
        let Some(t) = &self.table else {
            unreachable!("a batch with rows has a table")
        };
        let r = t.layout.row(&self.bytes[e.row as usize..e.end as usize]);
        match e.outside {
            0 => r,
            n => r.with_outside(&self.outside[n as usize - 1]),
        }
    }

    /// A row's clustered key.
    pub fn key(&self, i: usize) -> &[u8] {
        let e = &self.rows[i];
        &self.bytes[e.key as usize..e.row as usize]
    }

    /// Which version of the row this is.
    pub fn version(&self, i: usize) -> RowVersion {
        self.rows[i].version
    }

    pub(super) fn push(&mut self, key: &[u8], row: &[u8], version: RowVersion, raw: bool) {
        let k = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        let r = self.bytes.len() as u32;
        self.bytes.extend_from_slice(row);
        let end = self.bytes.len() as u32;
        self.rows.push(Entry {
            key: k,
            row: r,
            end,
            version,
            outside: 0,
            raw,
        });
    }

    /// Appends a row with its key and version, so that [`read_row`](Self::read_row) adds it to another batch.
    pub fn write_row(&self, i: usize, out: &mut Vec<u8>) {
        let e = &self.rows[i];
        let number = |n: usize, out: &mut Vec<u8>| out.extend_from_slice(&(n as u32).to_le_bytes());
        out.extend_from_slice(&e.version.word.to_le_bytes());
        out.extend_from_slice(&e.version.roll.to_le_bytes());
        let outside: &[(usize, Vec<u8>)] = match e.outside {
            0 => &[],
            n => &self.outside[n as usize - 1],
        };
        number(outside.len(), out);
        for (column, bytes) in outside {
            number(*column, out);
            number(bytes.len(), out);
            out.extend_from_slice(bytes);
        }
        number((e.row - e.key) as usize, out);
        out.extend_from_slice(&self.bytes[e.key as usize..e.end as usize]);
    }

    /// Adds a row that was written; `false` for bytes that are no row of the table. All rows of a batch are of one table.
    pub fn read_row(&mut self, table: &Arc<Table>, bytes: &[u8]) -> bool {
        if self.is_empty() {
            self.clear();
            self.table = Some(table.clone());
        }
        self.read(table, bytes).is_some()
    }

    fn read(&mut self, table: &Arc<Table>, mut bytes: &[u8]) -> Option<()> {
        fn front<'b, const N: usize>(b: &mut &'b [u8]) -> Option<&'b [u8; N]> {
            let (front, rest) = b.split_first_chunk()?;
            *b = rest;
            Some(front)
        }
        let b = &mut bytes;
        let version = RowVersion {
            word: u64::from_le_bytes(*front(b)?),
            roll: u64::from_le_bytes(*front(b)?),
        };
        let columns = u32::from_le_bytes(*front(b)?);
        let mut outside = Vec::new();
        for _ in 0..columns {
            let column = u32::from_le_bytes(*front(b)?) as usize;
            let len = u32::from_le_bytes(*front(b)?) as usize;
            let (value, rest) = b.split_at_checked(len)?;
            *b = rest;
            outside.push((column, value.to_vec()));
        }
        let key = u32::from_le_bytes(*front(b)?) as usize;
        let (key, row) = b.split_at_checked(key)?;
        if !table.layout.fits(row, true) {
            return None;
        }
        self.push(key, row, version, false);
        if !outside.is_empty() {
            self.set_outside(self.len() - 1, outside);
        }
        Some(())
    }

    /// The last row, if it still has to be completed, was found by this secondary entry: whether it has those values
    /// can be said only then.
    pub(super) fn last_found_by(&mut self, entry: &[u8]) {
        if let Some(last) = self.rows.len().checked_sub(1)
            && self.rows[last].raw
        {
            self.found_by.push((last, entry.to_vec()));
        }
    }

    /// The entry that was kept for a row, if any. Rows are asked for in order.
    pub(super) fn take_found_by(&mut self, i: usize) -> Option<Vec<u8>> {
        let at = self.found_by.iter().position(|(row, _)| *row == i)?;
        Some(self.found_by.swap_remove(at).1)
    }

    /// The first row at or after `from` whose overflow columns have to be read.
    pub(super) fn next_raw(&self, from: usize) -> Option<usize> {
        (from..self.rows.len()).find(|i| self.rows[*i].raw)
    }

    pub(super) fn row_bytes(&self, i: usize) -> &[u8] {
        let e = &self.rows[i];
        &self.bytes[e.row as usize..e.end as usize]
    }

    pub(super) fn set_outside(&mut self, i: usize, columns: Vec<(usize, Vec<u8>)>) {
        self.outside.push(columns);
        self.rows[i].outside = self.outside.len() as u32;
        self.rows[i].raw = false;
    }

    pub(super) fn remove(&mut self, i: usize) {
        self.rows.remove(i);
        for (row, _) in &mut self.found_by {
            *row -= usize::from(*row > i);
        }
    }
}
