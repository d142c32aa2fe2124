//! Result rows and how they are collected from the SQL layer.

use std::sync::Arc;

use sql::sink::{ColumnMeta, Done, Flush, ResultSink};
use types::{SqlError, ValueRef};

use crate::error::{Error, Result};
use crate::value::{FromValue, Value};

/// One row of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

/// A column by number from 0, or by name in any case.
pub trait ColumnIndex {
    /// Its number.
    fn find(&self, columns: &[String]) -> Option<usize>;
    /// As an error names it.
    fn name(&self) -> String;
}

impl ColumnIndex for usize {
    fn find(&self, columns: &[String]) -> Option<usize> {
        (*self < columns.len()).then_some(*self)
    }

    fn name(&self) -> String {
        self.to_string()
    }
}

impl ColumnIndex for &str {
    fn find(&self, columns: &[String]) -> Option<usize> {
        columns
            .iter()
            .position(|name| name.eq_ignore_ascii_case(self))
    }

    fn name(&self) -> String {
        format!("'{self}'")
    }
}

impl Row {
    /// The value of a column as a type of the program's: `row.get::<i64>("id")?`.
    ///
    /// # Errors
    /// There is no such column, or its value is not of that type. NULL is read as an `Option`.
    pub fn get<T: FromValue>(&self, column: impl ColumnIndex) -> Result<T> {
        let value = column
            .find(&self.columns)
            .and_then(|at| self.values.get(at))
            .ok_or_else(|| Error::value(format!("no column {}", column.name())))?;
        T::from_value(value)
            .map_err(|e| Error::value(format!("column {}: {}", column.name(), e.message())))
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
}

/// The rows of a query, in memory. An iterator over [`Row`].
#[derive(Debug, Clone, Default)]
pub struct Rows {
    columns: Arc<[String]>,
    rows: std::vec::IntoIter<Vec<Value>>,
}

impl Rows {
    /// The names of the columns; none for a statement without a result.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows are left.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row is left.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }
}

impl Iterator for Rows {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let values = self.rows.next()?;
        Some(Row {
            columns: Arc::clone(&self.columns),
            values,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl ExactSizeIterator for Rows {}

/// What a statement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Rows inserted, changed or deleted.
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value it made; 0 for none.
    pub last_insert_id: u64,
    /// Warnings; `SHOW WARNINGS` lists them.
    pub warnings: u16,
}

impl Summary {
    fn of(done: &Done) -> Summary {
        Summary {
            affected_rows: done.affected,
            last_insert_id: done.last_insert_id,
            warnings: done.warnings,
        }
    }
}

/// Keeps the last result.
#[derive(Default)]
pub(crate) struct Keep {
    columns: Arc<[String]>,
    rows: Vec<Vec<Value>>,
    pub(crate) summary: Summary,
}

impl Keep {
    pub(crate) fn into_rows(self) -> Rows {
        Rows {
            columns: self.columns,
            rows: self.rows.into_iter(),
        }
    }
}

fn names(cols: &[ColumnMeta]) -> Arc<[String]> {
    cols.iter().map(|column| column.name.clone()).collect()
}

impl ResultSink for Keep {
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>) {
        self.columns = names(cols);
        self.rows = Vec::new();
    }

    fn row_begin(&mut self) {
        self.rows.push(Vec::with_capacity(self.columns.len()));
    }

    fn value(&mut self, v: ValueRef<'_>, _c: usize) {
        if let Some(row) = self.rows.last_mut() {
            row.push(Value::of(v));
        }
    }

    fn row_end(&mut self) {}

    fn finish(&mut self, done: &Done) {
        self.summary = Summary::of(done);
    }
}

/// Rows that are handed on as soon as nothing of the engine is held.
const HAND_ON_AT: usize = 64;
/// ER_QUERY_INTERRUPTED.
const INTERRUPTED: u16 = 1317;

/// Hands rows to a closure, a few at a time.
pub(crate) struct Each<F> {
    columns: Arc<[String]>,
    waiting: Vec<Vec<Value>>,
    each: F,
    pub(crate) failed: Option<Error>,
}

impl<F: FnMut(&Row) -> Result<()> + Send> Each<F> {
    pub(crate) fn new(each: F) -> Each<F> {
        Each {
            columns: Arc::new([]),
            waiting: Vec::new(),
            each,
            failed: None,
        }
    }

    /// Hands on what waits; `false` once the closure has failed.
    pub(crate) fn hand_on(&mut self) -> bool {
        for values in self.waiting.drain(..) {
            if self.failed.is_some() {
                break;
            }
            let row = Row {
                columns: Arc::clone(&self.columns),
                values,
            };
            self.failed = (self.each)(&row).err();
        }
        self.failed.is_none()
    }
}

impl<F: FnMut(&Row) -> Result<()> + Send> ResultSink for Each<F> {
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>) {
        self.columns = names(cols);
    }

    fn row_begin(&mut self) {
        self.waiting.push(Vec::with_capacity(self.columns.len()));
    }

    fn value(&mut self, v: ValueRef<'_>, _c: usize) {
        if let Some(row) = self.waiting.last_mut() {
            row.push(Value::of(v));
        }
    }

    fn row_end(&mut self) {}

    fn wants_flush(&self) -> bool {
        self.waiting.len() >= HAND_ON_AT
    }

    fn flush(&mut self) -> Flush<'_> {
        let outcome = if self.hand_on() {
            Ok(())
        } else {
            Err(SqlError::fixed(INTERRUPTED))
        };
        Box::pin(std::future::ready(outcome))
    }

    fn finish(&mut self, _done: &Done) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_by_number_and_name() {
        let row = Row {
            columns: vec!["id".to_owned(), "Name".to_owned()].into(),
            values: vec![Value::Int(7), Value::Null],
        };
        assert_eq!(row.get::<i64>(0), Ok(7));
        assert_eq!(row.get::<Option<String>>("name"), Ok(None));
        let e = row.get::<String>("name").expect_err("NULL");
        assert_eq!(
            e.message(),
            "column 'name': NULL is not a alloc::string::String"
        );
        assert!(row.get::<i64>(2).is_err());
        assert!(row.get::<i64>("other").is_err());
    }
}
