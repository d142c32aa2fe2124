//! SHOW DATABASES, TABLES, TABLE STATUS, OPEN TABLES.

use std::sync::Arc;

use types::{DataType, SqlError, Value};

use crate::context::Session;
use crate::describe::rowset::{RowSet, text};
use crate::infoschema::{self, TableFacts};
use sql_access::Priv;
use sql_access::needs::Right;
use sql_parser::ast::ShowFilter;

/// The pattern that a column's title carries: `Tables_in_app (a%)`.
fn title(base: &str, filter: Option<&ShowFilter>) -> String {
    match filter {
        Some(ShowFilter::Like(p)) => format!("{base} ({})", String::from_utf8_lossy(p)),
        _ => base.to_owned(),
    }
}

/// Names of the schemas that the session may see, in order.
pub(super) fn schema_names(s: &mut Session) -> Vec<String> {
    let mut names: Vec<String> = s
        .engine
        .catalog()
        .schemas()
        .map(|x| x.def.name.clone())
        .collect();
    let security = Arc::clone(s.security());
    names.retain(|n| security.lists_db(n));
    names.extend(infoschema::SCHEMAS.iter().map(|n| (*n).to_owned()));
    names.sort();
    names
}

/// SHOW DATABASES.
pub(super) fn databases(s: &mut Session, filter: Option<&ShowFilter>) -> Result<RowSet, SqlError> {
    let skip = s.instance().globals().value_by_name("skip_show_database");
    if skip.is_some_and(|v| v.as_u64() != 0) {
        s.security()
            .require(&[Right::Static(Priv::ShowDatabases)])?;
    }
    let mut r = RowSet::texts(&[&title("Database", filter)], &[64]);
    r.exact_names = true;
    for n in schema_names(s) {
        r.push_texts(&[&n]);
    }
    Ok(r)
}

/// The schema of a SHOW .. FROM db, checked.
fn schema(s: &mut Session, name: Option<&str>) -> Result<String, SqlError> {
    let name = s.schema_or_current(name)?;
    s.find_schema(&name).map(|(n, _)| n)
}

/// Names of the tables of a schema and their types, in order.
fn table_names(s: &mut Session, schema: &str) -> Vec<(String, &'static str)> {
    if infoschema::canonical_schema(schema).is_some() {
        return infoschema::table_names(schema)
            .into_iter()
            .map(|n| (n.to_owned(), "SYSTEM VIEW"))
            .collect();
    }
    let security = Arc::clone(s.security());
    let mut names: Vec<(String, &'static str)> = match s.engine.catalog().schema(schema) {
        Some(x) => {
            let tables = x.tables.keys().map(|n| (n.clone(), "BASE TABLE"));
            let views = x.views().map(|v| (v.name.clone(), "VIEW"));
            tables.chain(views).collect()
        }
        None => Vec::new(),
    };
    // Tables of `mysql` that are always empty stand beside the stored ones.
    let empty = infoschema::table_names(schema).into_iter();
    // Statistics are no data: MySQL's own dumps leave them out, and others would write them down.
    let empty = empty.filter(|n| !n.starts_with("innodb_"));
    names.extend(empty.map(|n| (n.to_owned(), "BASE TABLE")));
    names.retain(|(n, _)| security.sees_table(schema, n));
    names.sort();
    names
}

/// SHOW [FULL] TABLES.
pub(super) fn tables(
    s: &mut Session,
    name: Option<&str>,
    full: bool,
    filter: Option<&ShowFilter>,
) -> Result<RowSet, SqlError> {
    let name = schema(s, name)?;
    let mut r = RowSet::texts(&[&title(&format!("Tables_in_{name}"), filter)], &[64]);
    r.exact_names = true;
    if full {
        r.add_text("Table_type", 11);
    }
    for (t, kind) in table_names(s, &name) {
        if full {
            r.push_texts(&[&t, kind]);
        } else {
            r.push_texts(&[&t]);
        }
    }
    Ok(r)
}

/// SHOW TABLE STATUS.
pub(super) fn table_status(s: &mut Session, name: Option<&str>) -> Result<RowSet, SqlError> {
    let name = schema(s, name)?;
    let mut r = RowSet::texts(&["Name", "Engine"], &[64, 64]);
    r.exact_names = true;
    r.add_column("Version", DataType::INT, true);
    r.add_text("Row_format", 10);
    for n in [
        "Rows",
        "Avg_row_length",
        "Data_length",
        "Max_data_length",
        "Index_length",
        "Data_free",
        "Auto_increment",
    ] {
        r.add_column(n, DataType::UBIGINT, true);
    }
    for n in ["Create_time", "Update_time", "Check_time"] {
        r.add_column(n, DataType::DateTime(0), true);
    }
    r.add_text("Collation", 64);
    r.add_column("Checksum", DataType::BIGINT, true);
    r.add_text("Create_options", 256);
    r.add_text("Comment", 2048);
    let zone = s.vars.hot().time_zone.zone(s.facts.system_zone);
    if infoschema::canonical_schema(&name).is_some() {
        for t in infoschema::table_names(&name) {
            let mut row = vec![Value::Null; r.columns.len()];
            row[0] = text(t);
            row[17] = text("SYSTEM VIEW");
            r.push(row);
        }
        return Ok(r);
    }
    let engine = s.engine.engine().clone();
    let security = Arc::clone(s.security());
    if let Some(x) = s.engine.catalog().schema(&name) {
        for t in x.tables.values() {
            if !security.sees_table(&name, &t.def.name) {
                continue;
            }
            let f = TableFacts::of(t, &engine, zone);
            r.rows.push(f.status_row());
        }
        for v in x.views().filter(|v| security.sees_table(&name, &v.name)) {
            r.rows.push(infoschema::views::status_row(v, zone));
        }
        // By name, whatever they are.
        r.rows.sort_by(|a, b| name_of(a).cmp(name_of(b)));
    }
    Ok(r)
}

fn name_of(row: &[Value]) -> &[u8] {
    match row.first() {
        Some(Value::Str(name, _)) => name,
        _ => &[],
    }
}

/// SHOW OPEN TABLES: every table of the schema is open, since there is no table cache.
pub(super) fn open_tables(s: &mut Session, name: Option<&str>) -> Result<RowSet, SqlError> {
    let names = match name {
        Some(n) => vec![schema(s, Some(n))?],
        None => schema_names(s),
    };
    let mut r = RowSet::texts(&["Database", "Table"], &[64, 64]);
    r.exact_names = true;
    r.add_column("In_use", DataType::BIGINT, false);
    r.add_column("Name_locked", DataType::BIGINT, false);
    for n in names {
        for (t, kind) in table_names(s, &n) {
            if kind == "BASE TABLE" {
                r.push(vec![text(&n), text(&t), Value::Int(0), Value::Int(0)]);
            }
        }
    }
    Ok(r)
}
