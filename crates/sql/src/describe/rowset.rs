//! A small result in memory.

use std::sync::Arc;

use types::{CollationId, DataType, Value};

use sql_plan::sink::{ColumnMeta, Done, ResultSink};

/// Columns and rows of a SHOW.
#[derive(Debug, Default)]
pub struct RowSet {
    /// The columns.
    pub columns: Vec<ColumnMeta>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
    /// Names compare by bytes in LIKE: databases and tables.
    pub exact_names: bool,
}

/// Text as metadata has it.
pub fn text(s: &str) -> Value {
    Value::Str(s.as_bytes().to_vec(), CollationId::UTF8MB3_GENERAL_CI)
}

/// Text or NULL.
pub fn text_or_null(s: Option<&str>) -> Value {
    s.map_or(Value::Null, text)
}

impl RowSet {
    /// No columns yet.
    pub fn new() -> RowSet {
        RowSet::default()
    }

    /// Text columns of these lengths in characters.
    pub fn texts(names: &[&str], lengths: &[u32]) -> RowSet {
        let mut r = RowSet::new();
        for (n, l) in names.iter().zip(lengths) {
            r.add_text(n, *l);
        }
        r
    }

    /// Adds a nullable text column.
    pub fn add_text(&mut self, name: &str, chars: u32) {
        let ty = DataType::varchar(chars, CollationId::UTF8MB3_GENERAL_CI);
        self.add_column(name, ty, true);
    }

    /// Adds a column.
    pub fn add_column(&mut self, name: &str, ty: DataType, nullable: bool) {
        self.columns.push(ColumnMeta::computed(name, ty, nullable));
    }

    /// Adds a column of what is computed and read from no table.
    pub fn add_computed(&mut self, name: &str, ty: DataType, nullable: bool) {
        let column = ColumnMeta::computed(name, ty, nullable);
        self.columns.push(column.of_expression());
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Value>) {
        self.rows.push(row);
    }

    /// Adds a row of texts.
    pub fn push_texts(&mut self, row: &[&str]) {
        self.rows.push(row.iter().map(|t| text(t)).collect());
    }

    /// Hands it to the sink.
    pub fn send(self, sink: &mut dyn ResultSink) -> Done {
        let columns: Arc<[ColumnMeta]> = self.columns.into();
        sink.columns(&columns);
        for row in &self.rows {
            sink.row_begin();
            for (c, v) in row.iter().enumerate() {
                sink.value(v.as_ref(), c);
            }
            sink.row_end();
        }
        Done {
            result_set: true,
            found_rows: self.rows.len() as u64,
            ..Done::default()
        }
    }
}
