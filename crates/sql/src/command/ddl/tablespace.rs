//! ALTER TABLE .. DISCARD TABLESPACE and IMPORT TABLESPACE: what of a foreign row can be a row of the table.
//!
//! The engine reads the file, and knows rows by their form alone. As in MySQL, neither foreign keys nor CHECK constraints are looked at, and what is
//! generated is taken as it stands there.

use engine::TableDef;
use types::error::{Level, Warning, codes};
use types::rowfield::is_valid;
use types::{DataType, SqlError, Value, ValueRef};

use crate::context::{Session, TableName};
use sql_expr::json;
use sql_parser::ast::AlterAction;
use sql_plan::sink::Done;

/// What an ALTER TABLE asks, where it is about the table's file.
pub(super) fn verb(actions: &[AlterAction]) -> Option<&str> {
    actions.iter().find_map(|a| match a {
        AlterAction::Tablespace(verb) => Some(&**verb),
        _ => None,
    })
}

/// Discards the table's rows, or imports others.
pub(super) async fn run(s: &mut Session, n: &TableName, verb: &str) -> Result<Done, SqlError> {
    let t = s.find_base_table(n)?;
    if t.def.is_temporary() {
        return Err(SqlError::fixed(codes::ER_CANNOT_DISCARD_TEMPORARY_TABLE));
    }
    if n.schema == "mysql" {
        // The server lives by them.
        return Err(SqlError::not_supported(
            "DISCARD/IMPORT TABLESPACE of a system table",
        ));
    }
    match verb {
        "DISCARD" => {
            if s.engine.discard_table(&n.schema, &n.name).await? {
                let (schema, name) = (&n.schema, &n.name);
                s.warn(Warning::new(
                    Level::Warning,
                    codes::ER_TABLESPACE_MISSING,
                    format!("Tablespace is missing for table {schema}/{name}."),
                ));
            }
        }
        _ => {
            let def = t.def.clone();
            let mut sound = |row: &[ValueRef<'_>]| sound_row(&def, row);
            s.engine
                .import_table(&n.schema, &n.name, &mut sound)
                .await?;
        }
    }
    Ok(Done::default())
}

/// The values of a row, if they can be a row of the table.
///
/// # Errors
/// 1815.
fn sound_row(def: &TableDef, row: &[ValueRef<'_>]) -> Result<Vec<Value>, SqlError> {
    let mut values = Vec::with_capacity(def.columns.len());
    for (c, v) in def.columns.iter().zip(row) {
        let v = *v;
        let may = match v {
            ValueRef::Null => c.nullable,
            v => is_valid(&c.ty, v) && (c.ty != DataType::Json || is_json(v)),
        };
        if !may {
            let (schema, name) = (&def.schema, &def.name);
            return Err(SqlError::new(
                codes::ER_INTERNAL_ERROR,
                format!(
                    "Internal error: Cannot import table {schema}.{name}: a row has no value of the column's type in '{}'",
                    c.name
                ),
            ));
        }
        values.push(v.to_owned());
    }
    Ok(values)
}

fn is_json(v: ValueRef<'_>) -> bool {
    let text = v.as_bytes().and_then(|b| std::str::from_utf8(b).ok());
    text.is_some_and(|text| json::parse(text).is_ok())
}
