//! SHOW CREATE TABLE and SHOW CREATE DATABASE.

use types::error::codes;
use types::{CollationId, SqlError};

use crate::context::Session;
use crate::describe::create_table::{Quoting, create_table_text};
use crate::describe::rowset::RowSet;
use sql_parser::ast::{ObjectKind, ObjectName};

/// SHOW CREATE TABLE and its kin.
pub(super) fn object(
    s: &mut Session,
    kind: ObjectKind,
    name: &ObjectName,
) -> Result<RowSet, SqlError> {
    let missing = |what: &str| {
        SqlError::new(
            codes::ER_SP_DOES_NOT_EXIST,
            format!("{what} {} does not exist", name.name),
        )
    };
    match kind {
        ObjectKind::Table => table(s, name),
        ObjectKind::View => {
            let n = s.full_name(name)?;
            s.find_table(&n)?;
            let full = format!("{}.{}", n.schema, n.name);
            Err(SqlError::new(
                codes::ER_WRONG_OBJECT,
                format!("'{full}' is not VIEW"),
            ))
        }
        ObjectKind::Trigger => Err(SqlError::new(
            codes::ER_TRG_DOES_NOT_EXIST,
            "Trigger does not exist",
        )),
        ObjectKind::Event => Err(SqlError::new(
            codes::ER_EVENT_DOES_NOT_EXIST,
            format!("Unknown event '{}'", name.name),
        )),
        ObjectKind::Procedure => Err(missing("PROCEDURE")),
        ObjectKind::Function => Err(missing("FUNCTION")),
        _ => Err(missing("PACKAGE")),
    }
}

fn table(s: &mut Session, name: &ObjectName) -> Result<RowSet, SqlError> {
    let def = super::columns::definition(s, name)?;
    if let Some(locked) = &s.locked
        && crate::infoschema::definition(&def.schema, &def.name).is_none()
    {
        locked.check_read(&def.schema, &def.name)?;
    }
    let next = s
        .engine
        .catalog()
        .table(&def.schema, &def.name)
        .map_or(0, |t| t.auto_increment_next());
    let offset = s.vars.hot().time_zone.offset(s.facts.system_offset);
    let text = create_table_text(&def, next, Quoting::of(s), offset);
    let mut r = RowSet::texts(
        &["Table", "Create Table"],
        &[64, text.len().max(1024) as u32],
    );
    r.push_texts(&[&def.name, &text]);
    Ok(r)
}

/// SHOW CREATE DATABASE.
pub(super) fn database(
    s: &mut Session,
    name: &str,
    if_not_exists: bool,
) -> Result<RowSet, SqlError> {
    let (name, co) = s.find_schema(name)?;
    let primary = CollationId::default_of(co.charset()) == co;
    let collate = if !primary || co == CollationId::UTF8MB4_0900_AI_CI {
        format!(" COLLATE {}", co.name())
    } else {
        String::new()
    };
    let guard = if if_not_exists {
        "/*!32312 IF NOT EXISTS*/ "
    } else {
        ""
    };
    let q = Quoting::of(s);
    let text = format!(
        "CREATE DATABASE {guard}{} /*!40100 DEFAULT CHARACTER SET {}{collate} */ /*!80016 DEFAULT ENCRYPTION='N' */",
        q.name(&name),
        co.charset().name(),
    );
    let mut r = RowSet::texts(&["Database", "Create Database"], &[64, 1024]);
    r.push_texts(&[&name, &text]);
    Ok(r)
}
