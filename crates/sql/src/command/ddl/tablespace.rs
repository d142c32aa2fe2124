//! ALTER TABLE .. DISCARD TABLESPACE and IMPORT TABLESPACE: what of a foreign row can be a row of the table.
//!
//! The engine reads the file, and knows rows by their form alone. As in MySQL, neither foreign keys nor CHECK constraints are looked at, and what is
//! generated is taken as it stands there.

use engine::TableDef;
use types::error::{Level, Warning, codes};
use types::keyenc::KeyPart;
use types::multi::Elements;
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
            v if c.is_list() => is_list(c.key_type(), v),
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

/// Whether it is a list whose elements have keys of this type, in their order. Another server has written it: entries are made of it.
fn is_list(elements: &DataType, v: ValueRef<'_>) -> bool {
    let Some(bytes) = v.as_bytes() else {
        return false;
    };
    let part = KeyPart::new(elements.clone(), true);
    let mut last: Option<&[u8]> = None;
    let mut seen = 0;
    for (key, text) in Elements::of(bytes) {
        let whole = part.decode(key).is_some_and(|(_, n)| n == key.len());
        if !whole || last.is_some_and(|l| l >= key) {
            return false;
        }
        last = Some(key);
        // With the lengths of both.
        seen += key.len() + text.len() + 6;
    }
    seen == bytes.len()
}

fn is_json(v: ValueRef<'_>) -> bool {
    let text = v.as_bytes().and_then(|b| std::str::from_utf8(b).ok());
    text.is_some_and(|text| json::parse(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::multi::ListBuilder;

    #[test]
    fn a_list_of_another_server_is_looked_through() {
        let ty = DataType::UBIGINT;
        let part = KeyPart::new(ty.clone(), true);
        let mut list = ListBuilder::default();
        for n in [3, 1, 2] {
            let mut key = Vec::new();
            part.encode(ValueRef::UInt(n), &mut key);
            list.push(key, n.to_string().into_bytes());
        }
        let list = list.finish();
        assert!(is_list(&ty, ValueRef::Bytes(&list)) && is_list(&ty, ValueRef::Bytes(b"")));
        assert!(!is_list(&DataType::Date, ValueRef::Bytes(&list)));
        let one = list.len() / 3;
        for cut in (1..list.len()).filter(|n| n % one != 0) {
            assert!(!is_list(&ty, ValueRef::Bytes(&list[..cut])), "{cut}");
        }
        let mut turned = list[one..].to_vec();
        turned.extend_from_slice(&list[..one]);
        assert!(!is_list(&ty, ValueRef::Bytes(&turned)));
        assert!(!is_list(&ty, ValueRef::Int(1)));
    }
}
