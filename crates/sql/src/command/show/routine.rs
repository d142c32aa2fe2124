//! SHOW CREATE PROCEDURE, SHOW PROCEDURE STATUS and their like of functions.

use types::DataType;
use types::error::codes;
use types::{SqlError, Value};

use crate::command::ddl::routine::kind_of;
use crate::context::Session;
use crate::context::routine_def::RoutineDef;
use crate::describe::create_table::Quoting;
use crate::describe::routine::{sees, sees_body};
use crate::describe::rowset::{RowSet, text, text_or_null};
use crate::infoschema::moment;
use sql_expr::vars::SqlMode;
use sql_parser::ast::ObjectName;

/// SHOW CREATE PROCEDURE and FUNCTION.
pub(super) fn create(
    s: &mut Session,
    function: bool,
    name: &ObjectName,
) -> Result<RowSet, SqlError> {
    let n = s.full_name(name)?;
    let (word, title) = match function {
        true => ("FUNCTION", "Function"),
        false => ("PROCEDURE", "Procedure"),
    };
    let missing = || {
        SqlError::new(
            codes::ER_SP_DOES_NOT_EXIST,
            format!("{word} {} does not exist", name.name),
        )
    };
    let key = n.name.to_lowercase();
    let catalog = std::sync::Arc::clone(s.engine.catalog());
    let found = catalog.object(kind_of(function), &n.schema, &key);
    let object = found.ok_or_else(missing)?;
    let def = RoutineDef::of(object)?;
    if !sees(s.security(), object, &def) {
        return Err(missing());
    }
    let shown = sees_body(s.security(), &def);
    let statement = shown.then(|| def.statement(&Quoting::of(s).name(&def.name)));
    let mode = SqlMode::from_bits(def.sql_mode).to_string();
    let mut r = RowSet::texts(
        &[
            title,
            "sql_mode",
            &format!("Create {title}"),
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ],
        &[64, 520, 1024.max(def.body.len() as u32), 64, 64, 64],
    );
    r.push(vec![
        text(&def.name),
        text(&mode),
        text_or_null(statement.as_deref()),
        text(&def.charset),
        text(&def.collation),
        text(&def.db_collation),
    ]);
    Ok(r)
}

/// SHOW PROCEDURE STATUS and FUNCTION STATUS.
pub(super) fn status(s: &mut Session, function: bool) -> Result<RowSet, SqlError> {
    let mut r = RowSet::texts(&["Db", "Name", "Type", "Definer"], &[64, 64, 9, 288]);
    for name in ["Modified", "Created"] {
        r.add_column(name, DataType::DateTime(0), false);
    }
    for (name, chars) in [
        ("Security_type", 7),
        ("Comment", 1024),
        ("character_set_client", 64),
        ("collation_connection", 64),
        ("Database Collation", 64),
    ] {
        r.add_text(name, chars);
    }
    let zone = s.vars.hot().time_zone.zone(s.facts.system_zone);
    let catalog = std::sync::Arc::clone(s.engine.catalog());
    let kind = kind_of(function);
    for schema in catalog.schemas() {
        for object in schema.objects.values().filter(|o| o.kind == kind) {
            let def = RoutineDef::of(object)?;
            if !sees(s.security(), object, &def) {
                continue;
            }
            let row: Vec<Value> = vec![
                text(&object.schema),
                text(&def.name),
                text(def.kind()),
                text(&def.definer.plain()),
                moment(def.altered_us, zone),
                moment(def.created_us, zone),
                text(if def.invoker { "INVOKER" } else { "DEFINER" }),
                text(&def.comment),
                text(&def.charset),
                text(&def.collation),
                text(&def.db_collation),
            ];
            r.push(row);
        }
    }
    Ok(r)
}
