//! Rows of system tables by the names of their columns.

use std::sync::Arc;

use engine::{KeyBound, ReadMode, RowBatch, RowRef, ScanSpec, Session, Table};
use types::{SqlError, ValueRef};

use super::schema::SCHEMA;

/// Reads the columns of a table's rows by name. A column that is missing or has another type than expected reads as nothing.
pub(crate) struct Reader<'t>(pub &'t Table);

impl Reader<'_> {
    fn value<'r>(&self, row: RowRef<'r>, name: &str) -> ValueRef<'r> {
        self.0
            .def
            .column(name)
            .map_or(ValueRef::Null, |c| row.column(c))
    }

    /// A text's bytes; `None` for NULL.
    pub fn bytes(&self, row: RowRef<'_>, name: &str) -> Option<Vec<u8>> {
        self.value(row, name).as_bytes().map(<[u8]>::to_vec)
    }

    /// A text; empty for NULL.
    pub fn text(&self, row: RowRef<'_>, name: &str) -> String {
        let bytes = self.bytes(row, name).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether an `enum('N','Y')` says `Y`; `None` for NULL.
    pub fn yes_or_null(&self, row: RowRef<'_>, name: &str) -> Option<bool> {
        match self.value(row, name) {
            ValueRef::Enum(n, labels) => Some(labels.name(n) == b"Y"),
            _ => None,
        }
    }

    /// Whether an `enum('N','Y')` says `Y`.
    pub fn yes(&self, row: RowRef<'_>, name: &str) -> bool {
        self.yes_or_null(row, name).unwrap_or(false)
    }

    /// The label of an ENUM.
    pub fn label(&self, row: RowRef<'_>, name: &str) -> Vec<u8> {
        match self.value(row, name) {
            ValueRef::Enum(n, labels) => labels.name(n).to_vec(),
            _ => Vec::new(),
        }
    }

    /// The members of a SET that are in it.
    pub fn members(&self, row: RowRef<'_>, name: &str) -> Vec<Vec<u8>> {
        match self.value(row, name) {
            ValueRef::Set(bits, labels) => {
                let all = labels.names.iter().enumerate().take(64);
                all.filter(|(i, _)| bits >> i & 1 != 0)
                    .map(|(_, n)| n.to_vec())
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// A number that is not negative; `None` for NULL.
    pub fn number(&self, row: RowRef<'_>, name: &str) -> Option<u64> {
        match self.value(row, name) {
            ValueRef::UInt(n) => Some(n),
            ValueRef::Int(n) => u64::try_from(n).ok(),
            _ => None,
        }
    }

    /// A time in microseconds since 1970; `None` for NULL and for what is no time.
    pub fn micros(&self, row: RowRef<'_>, name: &str) -> Option<i64> {
        match self.value(row, name) {
            ValueRef::DateTime(t) => {
                let seconds = t.to_unix_seconds()?;
                Some(seconds * 1_000_000 + i64::from(t.micros()))
            }
            _ => None,
        }
    }
}

/// Makes something of each row of a system table.
///
/// # Errors
/// What the engine fails with.
pub(crate) async fn all_rows<T: Send>(
    s: &mut Session,
    name: &str,
    mut make: impl FnMut(&Reader<'_>, RowRef<'_>) -> T + Send,
) -> Result<Vec<T>, SqlError> {
    let t = s.open_table(SCHEMA, name).await?;
    let mut out = Vec::new();
    let all = (KeyBound::None, KeyBound::None);
    each_row(s, &t, all, |reader, row, _| out.push(make(reader, row))).await?;
    Ok(out)
}

/// Looks at the rows of a system table whose keys lie between two bounds, and at their keys.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn each_row(
    s: &mut Session,
    t: &Arc<Table>,
    (lower, upper): (KeyBound, KeyBound),
    mut look: impl FnMut(&Reader<'_>, RowRef<'_>, &[u8]) + Send,
) -> Result<(), SqlError> {
    let spec = ScanSpec {
        index: 0,
        lower,
        upper,
        backward: false,
        mode: ReadMode::Consistent,
    };
    let mut scan = s.scan(t, spec);
    let mut batch = RowBatch::default();
    let reader = Reader(t);
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut scan, &mut batch, 256, &mut |_| Ok(true))
            .await?;
        for i in 0..batch.len() {
            look(&reader, batch.row(i), batch.key(i));
        }
        if !more {
            return Ok(());
        }
    }
}
