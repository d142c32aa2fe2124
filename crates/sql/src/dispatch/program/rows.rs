//! Where rows go that a program takes itself: the one of SELECT .. INTO, those of a cursor. And what tells whether a result has begun.

use std::sync::Arc;

use types::error::codes;
use types::{SqlError, Value, ValueRef};

use sql_expr::memory::{Account, Charge};
use sql_plan::sink::{Chunk, ColumnMeta, Done, Flush, ResultSink};

/// What a row takes beside its bytes.
const ROW: usize = 48;
/// What a value takes beside its bytes.
const VALUE: usize = 40;

/// Keeps rows, up to a number of them.
pub(super) struct Rows {
    columns: Arc<[ColumnMeta]>,
    rows: Vec<Vec<Value>>,
    charge: Charge,
    /// One more is too many.
    most: usize,
    refused: bool,
}

impl Rows {
    pub fn new(memory: &Arc<Account>, most: usize) -> Rows {
        Rows {
            columns: Arc::from([]),
            rows: Vec::new(),
            charge: Charge::to(memory),
            most,
            refused: false,
        }
    }

    pub fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }

    pub fn into_rows(self) -> (Vec<Vec<Value>>, Charge) {
        (self.rows, self.charge)
    }

    fn is_over(&self) -> bool {
        self.refused || self.rows.len() > self.most
    }
}

impl ResultSink for Rows {
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>) {
        self.columns = Arc::clone(cols);
    }

    fn row_begin(&mut self) {
        if !self.is_over() {
            self.rows.push(Vec::with_capacity(self.columns.len()));
            self.refused |= !self.charge.add(ROW);
        }
    }

    fn value(&mut self, v: ValueRef<'_>, _c: usize) {
        let bytes = match v {
            ValueRef::Str(b, _) | ValueRef::Bytes(b) => b.len(),
            _ => 0,
        };
        if self.refused || !self.charge.add(VALUE + bytes) {
            self.refused = true;
            return;
        }
        if let Some(row) = self.rows.last_mut() {
            row.push(v.to_owned());
        }
    }

    fn row_end(&mut self) {}

    fn is_full(&self) -> bool {
        self.is_over()
    }

    fn wants_flush(&self) -> bool {
        self.is_over()
    }

    fn flush(&mut self) -> Flush<'_> {
        let refused = match self.refused {
            true => SqlError::fixed(codes::ER_OUT_OF_RESOURCES),
            false => too_many(),
        };
        Box::pin(std::future::ready(match self.is_over() {
            true => Err(refused),
            false => Ok(()),
        }))
    }

    fn finish(&mut self, _done: &Done) {}
}

/// 1172.
pub(super) fn too_many() -> SqlError {
    SqlError::new(
        codes::ER_TOO_MANY_ROWS,
        "Result consisted of more than one row",
    )
}

/// The client's sink, with whether a result set has begun there that is not over.
pub(super) struct Watched<'a> {
    pub sink: &'a mut dyn ResultSink,
    pub open: bool,
}

impl ResultSink for Watched<'_> {
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>) {
        self.open = true;
        self.sink.columns(cols);
    }

    fn row_begin(&mut self) {
        self.sink.row_begin();
    }

    fn value(&mut self, v: ValueRef<'_>, c: usize) {
        self.sink.value(v, c);
    }

    fn row_end(&mut self) {
        self.sink.row_end();
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }

    fn wants_flush(&self) -> bool {
        self.sink.wants_flush()
    }

    fn flush(&mut self) -> Flush<'_> {
        self.sink.flush()
    }

    fn ask_file(&mut self, name: &[u8]) -> Flush<'_> {
        self.sink.ask_file(name)
    }

    fn file_chunk(&mut self) -> Chunk<'_> {
        self.sink.file_chunk()
    }

    fn gone(&mut self) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.sink.gone()
    }

    fn finish(&mut self, done: &Done) {
        self.open = false;
        self.sink.finish(done);
    }
}
