//! Rows kept in memory in one buffer: what sorting, DISTINCT, set operations, derived tables and subqueries hold on to.
//!
//! A row is its columns' end offsets followed by their bytes (`spill::record`), so that a kept row costs no allocation of its own and a column is
//! found at once. What is more than memory is given for goes to files (`spill`).

use std::sync::Arc;

use types::ValueRef;

use super::spill::record::{Members, most_bytes, read_value, write_value};
use sql_expr::memory::{Account, Charge};
use sql_plan::sink::{ColumnMeta, Done, ResultSink};

/// Rows of values.
#[derive(Debug, Default)]
pub(crate) struct RowStore {
    width: usize,
    data: Vec<u8>,
    /// Start of each row's column ends.
    rows: Vec<usize>,
    members: Members,
    /// The row being written: where its ends begin.
    open: usize,
    /// The session had no memory for a row: it and what came after it is not here, and the statement is to fail.
    short: bool,
    data_charge: Charge,
    rows_charge: Charge,
}

impl RowStore {
    /// For rows of that many columns, which a session holds.
    pub fn new(width: usize, account: &Arc<Account>) -> RowStore {
        RowStore {
            width,
            data_charge: Charge::to(account),
            rows_charge: Charge::to(account),
            ..RowStore::default()
        }
    }

    /// Bytes that its rows take now, without the room for more.
    #[inline]
    pub fn used(&self) -> usize {
        self.data.len() + self.rows.len() * size_of::<usize>()
    }

    /// Forgets the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.data.clear();
        self.rows.clear();
    }

    /// Bytes that its values take.
    pub fn bytes(&self) -> usize {
        self.data.capacity()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Makes room for as many more rows as long as those that are there.
    pub fn expect(&mut self, rows: usize) {
        let bytes = rows * self.data.len().div_ceil(self.rows.len().max(1));
        if self.has_room(bytes) {
            self.rows.reserve(rows);
        }
    }

    #[inline]
    fn has_room(&mut self, bytes: usize) -> bool {
        self.data.capacity() - self.data.len() >= bytes || self.make_room(bytes)
    }

    #[cold]
    fn make_room(&mut self, bytes: usize) -> bool {
        self.short |= !self.data_charge.reserve(&mut self.data, bytes);
        !self.short
    }

    /// Begins a row.
    pub fn begin(&mut self) {
        if self.short || !self.has_room(4 * self.width) {
            return;
        }
        self.open = self.data.len();
        self.data.resize(self.open + 4 * self.width, 0);
    }

    /// Writes column `c` of the row that was begun; columns come in order.
    pub fn put(&mut self, c: usize, v: ValueRef<'_>) {
        if self.short || !self.has_room(most_bytes(v)) {
            return;
        }
        write_value(v, &mut self.members, &mut self.data);
        let end = (self.data.len() - self.open) as u32;
        let at = self.open + 4 * c;
        self.data[at..at + 4].copy_from_slice(&end.to_le_bytes());
    }

    /// Ends the row that was begun.
    pub fn end(&mut self) {
        self.short = self.short || !self.rows_charge.reserve(&mut self.rows, 1);
        if !self.short {
            self.rows.push(self.open);
        }
    }

    /// Adds a row.
    pub fn push<'v>(&mut self, values: impl IntoIterator<Item = ValueRef<'v>>) {
        self.begin();
        for (c, v) in values.into_iter().enumerate().take(self.width) {
            self.put(c, v);
        }
        self.end();
    }

    /// A column of a row.
    pub fn column(&self, row: usize, c: usize) -> ValueRef<'_> {
        let Some(&base) = self.rows.get(row) else {
            return ValueRef::Null;
        };
        let end_of = |c: usize| u32_at(&self.data, base + 4 * c) as usize;
        let start = if c == 0 {
            4 * self.width
        } else {
            end_of(c - 1)
        };
        // What was not written, as a statement that is to fail has no room, is none.
        read_value(&self.data[base + start..base + end_of(c)], &self.members)
    }

    /// The values of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = ValueRef<'_>> {
        (0..self.width).map(move |c| self.column(row, c))
    }

    /// Sends a row.
    pub fn send(&self, row: usize, sink: &mut dyn ResultSink) {
        sink.row_begin();
        for c in 0..self.width {
            sink.value(self.column(row, c), c);
        }
        sink.row_end();
    }
}

impl ResultSink for RowStore {
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>) {
        self.width = cols.len();
    }

    fn row_begin(&mut self) {
        self.begin();
    }

    fn value(&mut self, v: ValueRef<'_>, c: usize) {
        self.put(c, v);
    }

    fn row_end(&mut self) {
        self.end();
    }

    fn finish(&mut self, _done: &Done) {}
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    let mut x = [0; 4];
    x.copy_from_slice(&b[at..at + 4]);
    u32::from_le_bytes(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::datatype::Labels;
    use types::{CollationId, DateTime, Decimal, Time, Value};

    #[test]
    fn a_store_stops_where_the_session_has_no_more() {
        let budget = Arc::default();
        let account = Arc::new(Account::new(&budget));
        budget.set_ceiling(4 << 20);
        let mut s = RowStore::new(2, &account);
        let text = Value::text("x".repeat(1000).as_str());
        for n in 0..100_000 {
            s.push([ValueRef::Int(n), text.as_ref()]);
        }
        assert!((1000..4000).contains(&s.len()), "{}", s.len());
        assert!(account.held() <= 4 << 20);
        assert_eq!(account.check().expect_err("no more").code, 3170);
        let last = s.len() - 1;
        assert!(matches!(s.column(last, 0), ValueRef::Int(n) if n == last as i64));
        drop(s);
        assert_eq!(account.held(), 0);
    }

    #[test]
    fn rows_come_back() {
        let labels = Arc::new(Labels {
            names: vec![b"a".as_slice().into(), b"b".as_slice().into()],
            collation: CollationId::DEFAULT,
        });
        let rows = [
            vec![Value::Int(-3), Value::text("héllo"), Value::Null],
            vec![
                Value::Decimal(Decimal::from_i64(17)),
                Value::Enum(2, Arc::clone(&labels)),
                Value::Bytes(vec![]),
            ],
            vec![
                Value::DateTime(DateTime::from_unix_micros(1_700_000_000_123_456, 6).unwrap()),
                Value::Time(Time::from_micros(-5_000_000, 0)),
                Value::Float(1.5),
            ],
            vec![
                Value::Set(3, labels),
                Value::Bit(5, 3),
                Value::UInt(u64::MAX),
            ],
        ];
        let mut s = RowStore::new(3, &Arc::default());
        for r in &rows {
            s.push(r.iter().map(Value::as_ref));
        }
        for (i, r) in rows.iter().enumerate() {
            let back: Vec<Value> = s.row(i).map(ValueRef::to_owned).collect();
            assert_eq!(format!("{back:?}"), format!("{r:?}"));
        }
    }
}
