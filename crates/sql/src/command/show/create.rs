//! SHOW CREATE TABLE, VIEW and DATABASE.

use engine::ObjectDef;
use types::error::codes;
use types::{CollationId, SqlError, Warning};

use crate::context::Session;
use crate::describe::create_table::{Quoting, create_table_text};
use crate::describe::rowset::RowSet;
use crate::describe::view::create_view_text;
use sql_access::needs::{self, Need};
use sql_access::{Priv, PrivSet};
use sql_parser::ast::{ObjectKind, ObjectName};
use sql_plan::bind::view_def::ViewDef;

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
            let view = s.engine.catalog().view(&n.schema, &n.name).cloned();
            if let Some(view) = view {
                return self::view(s, &view);
            }
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
        _ => Err(missing("PACKAGE")),
    }
}

/// SHOW CREATE VIEW, and SHOW CREATE TABLE of a view.
fn view(s: &mut Session, view: &ObjectDef) -> Result<RowSet, SqlError> {
    let def = ViewDef::of(view)?;
    if let Err(e) = super::columns::view_columns(s, view) {
        s.warn(Warning::from_error(e));
    }
    let text = create_view_text(view, &def, s.database(), Quoting::of(s));
    let mut r = RowSet::texts(
        &[
            "View",
            "Create View",
            "character_set_client",
            "collation_connection",
        ],
        &[64, text.len().max(1024) as u32, 64, 64],
    );
    r.push_texts(&[&view.name, &text, &def.charset, &def.collation]);
    Ok(r)
}

fn table(s: &mut Session, name: &ObjectName) -> Result<RowSet, SqlError> {
    let n = s.full_name(name)?;
    let stored = s.engine.catalog().view(&n.schema, &n.name).cloned();
    if let Some(stored) = stored {
        s.security().check(&Need::Table {
            table: needs::table(&n.schema, &n.name),
            privileges: PrivSet::of(Priv::Select).with(Priv::ShowView),
        })?;
        return view(s, &stored);
    }
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
    let zone = s.vars.hot().time_zone.zone(s.facts.system_zone);
    let text = create_table_text(&def, next, Quoting::of(s), zone);
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
