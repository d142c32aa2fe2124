//! DROP, RENAME and TRUNCATE of tables, and DROP of things that cannot exist here.

use std::collections::HashSet;

use types::error::codes;
use types::{Level, SqlError, Warning};

use crate::context::Session;
use sql_parser::ast::{DropTables, ObjectKind, ObjectName};
use sql_plan::sink::Done;

/// DROP [TEMPORARY] TABLE: all of the tables or, where one is missing, none. A temporary table goes before the one that it hides.
pub async fn tables(s: &mut Session, stmt: &DropTables) -> Result<Done, SqlError> {
    if !stmt.temporary {
        s.implicit_commit().await?;
    }
    let (mut found, mut temporary) = (Vec::new(), Vec::new());
    let mut missing = Vec::new();
    let mut seen = HashSet::new();
    for n in &stmt.names {
        let t = s.changeable_name(n)?;
        if !seen.insert((t.schema.clone(), t.name.clone())) {
            return Err(SqlError::new(
                codes::ER_NONUNIQ_TABLE,
                format!("Not unique table/alias: '{}'", t.name),
            ));
        }
        if s.temporary_table(&t).is_some() {
            temporary.push(t);
        } else if !stmt.temporary && s.engine.catalog().defines(&t.schema, &t.name) {
            found.push(t);
        } else {
            missing.push(t);
        }
    }
    let names: Vec<String> = missing
        .iter()
        .map(|t| format!("{}.{}", t.schema, t.name))
        .collect();
    if stmt.if_exists {
        for n in &names {
            let e = SqlError::bad_table(n);
            s.warn(Warning::new(Level::Note, e.code, e.message));
        }
    } else if !names.is_empty() {
        return Err(SqlError::bad_table(&names.join(",")));
    }
    let found: Vec<_> = found.into_iter().map(|t| (t.schema, t.name)).collect();
    if !found.is_empty() {
        s.engine.drop_tables(&found, stmt.if_exists).await?;
    }
    // When nothing can fail any more: all of them go, or none.
    for t in &temporary {
        s.engine.drop_temporary_table(&t.schema, &t.name);
    }
    if !temporary.is_empty() {
        s.count_own_tables();
    }
    Ok(Done::default())
}

/// DROP TRIGGER, EVENT …: there are none.
pub async fn object(
    s: &mut Session,
    kind: ObjectKind,
    if_exists: bool,
    name: &ObjectName,
) -> Result<Done, SqlError> {
    s.implicit_commit().await?;
    let full = match s.schema_or_current(name.schema.as_deref()) {
        Ok(schema) => format!("{schema}.{}", name.name),
        Err(_) => name.name.to_string(),
    };
    let does_not_exist = |what: &str, name: &str| {
        SqlError::new(
            codes::ER_SP_DOES_NOT_EXIST,
            format!("{what} {name} does not exist"),
        )
    };
    let e = match kind {
        ObjectKind::Trigger => {
            SqlError::new(codes::ER_TRG_DOES_NOT_EXIST, "Trigger does not exist")
        }
        ObjectKind::Event => SqlError::new(
            codes::ER_EVENT_DOES_NOT_EXIST,
            format!("Unknown event '{}'", name.name),
        ),
        ObjectKind::Package | ObjectKind::PackageBody => does_not_exist("PACKAGE", &full),
        _ => return Err(SqlError::not_supported("DROP of this kind")),
    };
    if !if_exists {
        return Err(e);
    }
    s.warn(Warning::new(Level::Note, e.code, e.message));
    Ok(Done::default())
}

/// RENAME TABLE a TO b, ..: all or none, in order.
pub async fn rename(s: &mut Session, pairs: &[(ObjectName, ObjectName)]) -> Result<Done, SqlError> {
    s.implicit_commit().await?;
    let mut list = Vec::with_capacity(pairs.len());
    for (from, to) in pairs {
        let from = s.changeable_name(from)?;
        let to = s.changeable_name(to)?;
        super::identifier::check_identifier(&to.name, "table")?;
        list.push(((from.schema, from.name), (to.schema, to.name)));
    }
    s.engine.rename_tables(&list).await?;
    Ok(Done::default())
}

/// TRUNCATE TABLE.
pub async fn truncate(s: &mut Session, name: &ObjectName) -> Result<Done, SqlError> {
    let t = s.changeable_name(name)?;
    s.implicit_commit().await?;
    let table = s.find_table(&t)?;
    if table.def.is_temporary() {
        s.engine.truncate_temporary_table(&table).await?;
        return Ok(Done::default());
    }
    s.engine.truncate_table(&t.schema, &t.name).await?;
    Ok(Done::default())
}
