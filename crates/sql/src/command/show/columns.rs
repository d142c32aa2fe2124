//! SHOW COLUMNS, SHOW INDEX, DESCRIBE, COM_FIELD_LIST.

use std::sync::Arc;

use engine::{ColumnDef, IndexKind, ObjectDef, Table, TableDef};
use types::datatype::field_flags;
use types::{DataType, SqlError, Value};

use crate::context::{Session, TableName};
use crate::describe::columns::{cardinality, column_facts, column_privileges, escaped, key_of};
use crate::describe::keys;
use crate::describe::rowset::{RowSet, text, text_or_null};
use crate::describe::view::as_table;
use crate::infoschema;
use sql_access::needs::{self, Need};
use sql_parser::ast::ObjectName;
use sql_plan::bind::{BindCtx, view_columns as bind};
use sql_plan::sink::ColumnMeta;

/// A column as COM_FIELD_LIST reports it, with its default as text.
pub type FieldInfo = (ColumnMeta, Option<Vec<u8>>);

fn collation_of(c: &ColumnDef) -> Option<&'static str> {
    let character = c.ty.is_character() && !matches!(c.ty, DataType::Json);
    character.then(|| c.ty.collation().name())
}

/// The definition of a table, virtual ones included.
pub(super) fn definition(s: &mut Session, name: &ObjectName) -> Result<TableDef, SqlError> {
    let n = s.full_name(name)?;
    definition_of(s, &n)
}

fn definition_of(s: &mut Session, n: &TableName) -> Result<TableDef, SqlError> {
    if let Some(d) = infoschema::definition(&n.schema, &n.name) {
        return Ok(d);
    }
    if infoschema::canonical_schema(&n.schema).is_some() {
        return Err(SqlError::unknown_table(&n.name, &n.schema));
    }
    let view = s.engine.catalog().view_seen(&n.schema, &n.name).cloned();
    if let Some(view) = view {
        let columns = view_columns(s, &view)?;
        return Ok(as_table(&view, columns));
    }
    s.find_table(n).map(|t| t.def.clone())
}

/// The columns of a view.
///
/// # Errors
/// 1356: it is invalid.
pub(in crate::command) fn view_columns(
    s: &mut Session,
    view: &ObjectDef,
) -> Result<Vec<ColumnDef>, SqlError> {
    let catalog = Arc::clone(s.engine.catalog());
    let instance = Arc::clone(s.instance());
    let security = Arc::clone(s.security());
    let connection = s.facts.connection_id;
    s.with_ctx(Session::NO_PARAMS, |cx| {
        let names = infoschema::Names::new(&instance, connection);
        let ctx = BindCtx {
            engine: &instance.engine,
            catalog: &catalog,
            names: &names,
            schema: None,
            security: &security,
            locked: None,
            cx,
            values: cx,
        };
        bind::view_columns(&ctx, view)
    })
}

/// SHOW [FULL] COLUMNS.
pub(super) fn columns(s: &mut Session, name: &ObjectName, full: bool) -> Result<RowSet, SqlError> {
    let def = definition(s, name)?;
    let security = Arc::clone(s.security());
    let zone = s.vars.hot().time_zone.zone(s.facts.system_zone);
    let mut r = RowSet::new();
    r.add_text("Field", 64);
    r.add_text("Type", 1 << 24);
    if full {
        r.add_text("Collation", 64);
    }
    r.add_text("Null", 3);
    r.add_text("Key", 3);
    r.add_text("Default", 1 << 16);
    r.add_text("Extra", 256);
    if full {
        r.add_text("Privileges", 154);
        r.add_text("Comment", 1 << 16);
    }
    for (i, c) in def.columns.iter().enumerate() {
        let sees = def.is_temporary() || security.sees_column(&def.schema, &def.name, &c.name);
        if c.is_hidden() || !sees {
            continue;
        }
        let f = column_facts(&def, i, zone);
        let mut row = vec![text(&c.name), text(&c.ty.to_string())];
        if full {
            row.push(text_or_null(collation_of(c)));
        }
        row.push(text(if c.nullable { "YES" } else { "NO" }));
        row.push(text(f.key));
        row.push(text_or_null(f.default.as_deref()));
        row.push(text(&f.extra));
        if full {
            let privileges = column_privileges(&security, &def.schema, &def.name, &c.name);
            row.push(text(&privileges));
            row.push(text(&c.comment));
        }
        r.push(row);
    }
    Ok(r)
}

/// SHOW INDEX.
pub(super) fn indexes(s: &mut Session, name: &ObjectName) -> Result<RowSet, SqlError> {
    let n = s.full_name(name)?;
    let def = definition_of(s, &n)?;
    let t: Option<Arc<Table>> = s.engine.catalog().table(&n.schema, &n.name);
    let mut r = RowSet::new();
    r.add_text("Table", 64);
    r.add_column("Non_unique", DataType::INT, false);
    r.add_text("Key_name", 64);
    r.add_column("Seq_in_index", DataType::INT, false);
    r.add_text("Column_name", 64);
    r.add_text("Collation", 1);
    r.add_column("Cardinality", DataType::BIGINT, true);
    r.add_column("Sub_part", DataType::BIGINT, true);
    r.add_text("Packed", 10);
    r.add_text("Null", 3);
    r.add_text("Index_type", 11);
    r.add_text("Comment", 8);
    r.add_text("Index_comment", 2048);
    r.add_text("Visible", 3);
    r.add_text("Expression", 1 << 16);
    for i in keys::shown(&def.columns, &def.indexes) {
        for (seq, p) in i.parts.iter().enumerate() {
            let Some(c) = def.columns.get(usize::from(p.column)) else {
                continue;
            };
            let prefix = match p.prefix {
                0 => Value::Null,
                n => Value::Int(i64::from(n)),
            };
            let rows = t.as_ref().map_or(0, |t| cardinality(t, i, seq));
            r.push(vec![
                text(&def.name),
                Value::Int(i64::from(i.kind == IndexKind::Plain)),
                text(&i.name),
                Value::Int(seq as i64 + 1),
                text_or_null((!c.is_hidden()).then_some(&*c.name)),
                text(if p.descending { "D" } else { "A" }),
                Value::Int(rows as i64),
                prefix,
                Value::Null,
                text(if c.nullable { "YES" } else { "" }),
                text("BTREE"),
                text(""),
                text(&i.comment),
                text(if i.invisible { "NO" } else { "YES" }),
                text_or_null(c.key_expression().map(escaped).as_deref()),
            ]);
        }
    }
    Ok(r)
}

/// The columns of COM_FIELD_LIST.
pub(super) fn fields(
    s: &mut Session,
    table: &[u8],
    wild: &[u8],
) -> Result<Vec<FieldInfo>, SqlError> {
    let name = ObjectName {
        schema: None,
        name: String::from_utf8_lossy(table).into(),
    };
    let full = s.full_name(&name)?;
    let security = Arc::clone(s.security());
    let own = s.temporary_table(&full).is_some();
    if !own {
        security.check(&Need::AnythingOn {
            table: needs::table(&full.schema, &full.name),
            command: "SELECT",
        })?;
    }
    let def = definition(s, &name)?;
    let zone = s.vars.hot().time_zone.zone(s.facts.system_zone);
    let ci = types::CollationId::UTF8MB4_GENERAL_CI;
    let mut out = Vec::new();
    for (i, c) in def.columns.iter().enumerate() {
        let matches = wild.is_empty() || ci.like(c.name.as_bytes(), wild, Some(u32::from(b'\\')));
        let seen = own || security.sees_column(&def.schema, &def.name, &c.name);
        if !matches || c.is_hidden() || !seen {
            continue;
        }
        let mut m = ColumnMeta::computed(&c.name, c.ty.clone(), c.nullable);
        m.schema.clone_from(&def.schema);
        m.table.clone_from(&def.name);
        m.org_table.clone_from(&def.name);
        m.org_name.clone_from(&c.name);
        m.flags |= match key_of(&def, i) {
            "PRI" => field_flags::PRI_KEY,
            "UNI" => field_flags::UNIQUE_KEY,
            "MUL" => field_flags::MULTIPLE_KEY,
            _ => 0,
        };
        if c.auto_increment {
            m.flags |= field_flags::AUTO_INCREMENT;
        }
        let default = column_facts(&def, i, zone).default;
        out.push((m, default.map(String::into_bytes)));
    }
    Ok(out)
}
