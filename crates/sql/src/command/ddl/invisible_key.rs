//! `sql_generate_invisible_primary_key`: a table that is made without a primary key gets one of a column that `*` leaves out.

use engine::{ColumnDef, IndexDef, IndexKind, IndexPart, TableDef};
use types::error::codes;
use types::{DataType, SqlError};

use super::keys::column_index;
use sql_expr::EvalCtx;

/// The column.
const NAME: &str = "my_row_id";

/// Gives a definition the key, where it has none and the session wants one.
///
/// # Errors
/// 4108, 4109: the column's name is taken, or another column is numbered.
pub(super) fn add(def: &mut TableDef, cx: &EvalCtx<'_>) -> Result<(), SqlError> {
    let wanted = cx.vars.value_by_name("sql_generate_invisible_primary_key");
    let primary = |i: &IndexDef| i.kind == IndexKind::Primary;
    if wanted.is_none_or(|v| v.as_u64() == 0) || def.indexes.iter().any(primary) {
        return Ok(());
    }
    if column_index(&def.columns, NAME).is_some() {
        return Err(SqlError::new(
            codes::ER_GIPK_COLUMN_EXISTS,
            format!("Failed to generate invisible primary key. Column '{NAME}' already exists."),
        ));
    }
    if def.auto_increment_column().is_some() {
        return Err(SqlError::new(
            codes::ER_GIPK_FAILED_AUTOINC_COLUMN_EXISTS,
            "Failed to generate invisible primary key. Auto-increment column already exists.",
        ));
    }
    for p in def.indexes.iter_mut().flat_map(|i| &mut i.parts) {
        p.column += 1;
    }
    for c in def.foreign_keys.iter_mut().flat_map(|k| &mut k.columns) {
        *c += 1;
    }
    let column = ColumnDef {
        auto_increment: true,
        invisible: true,
        ..ColumnDef::new(NAME, DataType::UBIGINT)
    };
    def.columns.insert(0, column);
    let key = IndexDef {
        id: 0,
        name: "PRIMARY".to_owned(),
        kind: IndexKind::Primary,
        parts: vec![IndexPart {
            column: 0,
            prefix: 0,
            descending: false,
        }],
        comment: String::new(),
        root: Default::default(),
        invisible: false,
        asked: Default::default(),
    };
    def.indexes.insert(0, key);
    Ok(())
}
