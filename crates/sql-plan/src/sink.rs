//! The way results leave the SQL layer: columns, then rows value by value, then how the statement ended.
//!
//! The executor calls [`ResultSink::columns`] and the row calls and hands its [`Done`] back; only the session calls
//! [`ResultSink::finish`], once the statement's transaction has ended as it had to. An error is never passed through
//! here: it is returned, and whoever owns the sink tells the client.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use types::datatype::field_flags;
use types::error::codes;
use types::{CollationId, DataType, IntWidth, LobSize, SqlError, Value, ValueRef};

/// What a client is told about a result column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMeta {
    /// Schema of the table the column comes from; empty for a computed one.
    pub schema: String,
    /// Table or alias in the statement; empty for a computed column.
    pub table: String,
    /// The table itself; empty for a computed column.
    pub org_table: String,
    /// The column's name in the result.
    pub name: String,
    /// The column's name in its table; empty for a computed column.
    pub org_name: String,
    /// Its type.
    pub ty: DataType,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// All flags of the column definition packet (`types::datatype::field_flags`), those of the type included.
    pub flags: u16,
    /// Digits after the point, 31 where the value decides.
    pub decimals: u8,
    /// Collation of character values, `binary` for everything else.
    pub collation: CollationId,
    /// It is computed (a function, a literal, a subquery), and not the value of a column: see [`ColumnMeta::column_type`].
    pub of_function: bool,
}

/// The longest computed string, in characters, that is a VARCHAR in a table made from the result (MySQL's CONVERT_IF_BIGGER_TO_BLOB).
const LONGEST_VARCHAR: u32 = 512;

/// Characters of a whole number that may not fit an INT (MySQL's MY_INT32_NUM_DECIMAL_DIGITS without the sign).
const SURELY_BIG: u8 = 10;

impl ColumnMeta {
    /// A column that comes from no table.
    pub fn computed(name: &str, ty: DataType, nullable: bool) -> ColumnMeta {
        let not_null = if nullable { 0 } else { field_flags::NOT_NULL };
        ColumnMeta {
            schema: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: name.to_owned(),
            org_name: String::new(),
            nullable,
            flags: ty.type_flags() | not_null,
            decimals: ty.decimals(),
            collation: ty.collation(),
            ty,
            of_function: false,
        }
    }

    /// The value of an expression, as the client is told of it: what has no character set counts as compared by bytes, which a number
    /// that is a column's value does not.
    #[must_use]
    pub fn of_expression(mut self) -> ColumnMeta {
        if !self.ty.is_character() {
            self.flags |= field_flags::BINARY;
        }
        self
    }

    /// The type that the column has in a table made from the result. A computed string of more than 512 characters is a TEXT or BLOB there, a
    /// computed whole number of less than ten an INT; the value of a column keeps its type.
    pub fn column_type(&self) -> DataType {
        let long = |chars: u32| self.of_function && chars > LONGEST_VARCHAR;
        match self.ty {
            DataType::Null => DataType::Binary(0),
            DataType::VarChar { chars, collation } if long(chars) => DataType::Text {
                size: LobSize::for_bytes(u64::from(chars) * collation.charset().max_len() as u64),
                collation,
            },
            DataType::Int {
                width: IntWidth::Big,
                unsigned,
                display: 1..SURELY_BIG,
                ..
            } if self.of_function => DataType::int(IntWidth::Int, unsigned),
            DataType::VarBinary(n) if long(n) => DataType::Blob(LobSize::for_bytes(u64::from(n))),
            _ => self.ty.clone(),
        }
    }
}

/// A change of the session's state that a client may have asked to be told (`CLIENT_SESSION_TRACK`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateChange {
    /// The default schema is another one.
    Schema(String),
    /// Transactions are done that are called so.
    Gtids(String),
    /// A tracked system variable has a new value.
    Variable(String, String),
}

/// How a statement, or one result set of it, ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Done {
    /// Whether the statement sent a result set: `finish` then ends its rows instead of sending OK.
    pub result_set: bool,
    /// Rows inserted, changed or deleted, as the OK packet reports them.
    pub affected: u64,
    /// Rows sent, or what FOUND_ROWS() returns after SQL_CALC_FOUND_ROWS.
    pub found_rows: u64,
    /// The id of the OK packet: the first generated one, or the last one given explicitly.
    pub last_insert_id: u64,
    /// What LAST_INSERT_ID() returns from now on, where the statement generated ids.
    pub generated_id: Option<u64>,
    /// It tells of the warnings of another statement, and has none of its own: clients that ask for warnings because a result says that there
    /// are some would ask without end.
    pub of_diagnostics: bool,
    /// Number of warnings, at most 65535.
    pub warnings: u16,
    /// Text such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: Cow<'static, str>,
    /// Another result follows.
    pub more: bool,
    /// The row of this result is what the parameters of a procedure have got.
    pub out_params: bool,
    /// A transaction is open.
    pub in_transaction: bool,
    /// The open transaction is read-only.
    pub in_read_only_transaction: bool,
    /// `autocommit` is on.
    pub autocommit: bool,
    /// The `NO_BACKSLASH_ESCAPES` mode is on.
    pub no_backslash_escapes: bool,
    /// No index was used for a table that was read.
    pub no_index_used: bool,
    /// State changes to tell the client.
    pub changes: Vec<StateChange>,
}

/// A boxed future of a flush.
pub type Flush<'a> = Pin<Box<dyn Future<Output = Result<(), SqlError>> + Send + 'a>>;

/// A boxed future of a piece of a file.
pub type Chunk<'a> = Pin<Box<dyn Future<Output = Result<Option<Vec<u8>>, SqlError>> + Send + 'a>>;

/// Whoever takes the results: the connection's packet writer, the embedded library, a test.
pub trait ResultSink: Send {
    /// A result set begins.
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>);
    /// The result set that begins next is what the parameters of a procedure have got.
    fn out_params(&mut self) {}
    /// A row begins.
    fn row_begin(&mut self);
    /// The value of column `c`; every row gets every column in order. A TIMESTAMP has been shifted to the session's zone.
    fn value(&mut self, v: ValueRef<'_>, c: usize);
    /// The row is complete.
    fn row_end(&mut self);
    /// Whether so much is waiting that no further row should come before [`flush`](Self::flush) has run.
    fn is_full(&self) -> bool {
        false
    }
    /// Whether so much is waiting that [`flush`](Self::flush) should run before more rows come.
    fn wants_flush(&self) -> bool {
        false
    }
    /// Waits until the client has taken enough; called between batches.
    fn flush(&mut self) -> Flush<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// Asks the client for a file of its machine (LOAD DATA LOCAL). Where that succeeds, all of it has to be taken by
    /// [`file_chunk`](Self::file_chunk) before anything else is sent.
    fn ask_file(&mut self, _name: &[u8]) -> Flush<'_> {
        let refused = SqlError::fixed(codes::ER_CLIENT_LOCAL_FILES_DISABLED);
        Box::pin(std::future::ready(Err(refused)))
    }
    /// The next bytes of the file that was asked for; none behind its end.
    fn file_chunk(&mut self) -> Chunk<'_> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Waits until the client has gone; for ever where that cannot be seen.
    fn gone(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::pending())
    }
    /// The end of a result set, or of a statement without one.
    fn finish(&mut self, done: &Done);
}

/// One result as a [`Collector`] keeps it.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    /// The columns; empty for a statement without a result set.
    pub columns: Arc<[ColumnMeta]>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
    /// How it ended; the default until it has.
    pub done: Done,
}

/// A sink that keeps everything in memory: for the server's own statements, for embedding and for tests.
#[derive(Debug, Default)]
pub struct Collector {
    /// The results so far.
    pub results: Vec<Collected>,
    open: bool,
}

impl Collector {
    /// An empty one.
    pub fn new() -> Collector {
        Collector::default()
    }

    fn current(&mut self) -> &mut Collected {
        if !self.open || self.results.is_empty() {
            self.results.push(Collected::default());
            self.open = true;
        }
        let last = self.results.len() - 1;
        &mut self.results[last]
    }

    /// The rows of the last result.
    pub fn rows(&self) -> &[Vec<Value>] {
        self.results.last().map_or(&[], |r| &r.rows)
    }
}

impl ResultSink for Collector {
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>) {
        self.current().columns = Arc::clone(cols);
    }

    fn row_begin(&mut self) {
        let r = self.current();
        let row = Vec::with_capacity(r.columns.len());
        r.rows.push(row);
    }

    fn value(&mut self, v: ValueRef<'_>, _c: usize) {
        if let Some(row) = self.current().rows.last_mut() {
            row.push(v.to_owned());
        }
    }

    fn row_end(&mut self) {}

    fn finish(&mut self, done: &Done) {
        self.current().done = done.clone();
        self.open = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_keeps_results_apart() {
        let mut c = Collector::new();
        let cols: Arc<[ColumnMeta]> = vec![ColumnMeta::computed("a", DataType::INT, false)].into();
        c.columns(&cols);
        c.row_begin();
        c.value(ValueRef::Int(1), 0);
        c.row_end();
        c.finish(&Done {
            result_set: true,
            ..Done::default()
        });
        c.finish(&Done {
            affected: 3,
            ..Done::default()
        });
        assert_eq!(c.results.len(), 2);
        assert_eq!(c.results[0].rows.len(), 1);
        assert_eq!(c.results[1].done.affected, 3);
    }
}
