//! What the list of a GRANT or REVOKE means at its level.

use types::SqlError;
use types::error::codes;

use super::actor::Actor;
use super::errors::illegal_grant;
use crate::infoschema;
use sql_access::account::{RoutineId, TableId};
use sql_access::privilege::{
    COLUMN_SET, DB_SET, DYNAMIC, Priv, PrivSet, ROUTINE_SET, TABLE_SET, dynamic,
};
use sql_parser::ast::{GrantObject, Name, ObjectKind, Privilege};
use sql_plan::bind::names::same_name;
use sql_plan::bind::view_def::ViewDef;

/// On what privileges are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Level {
    Global,
    Db(Box<str>),
    Table(TableId),
    Routine(RoutineId),
}

/// The privileges of a list.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestedPrivileges {
    /// Static ones on the object as a whole.
    pub set: PrivSet,
    /// Static ones on columns: the column as it was written.
    pub columns: Vec<(Name, PrivSet)>,
    /// Dynamic ones that were named.
    pub dynamic: Vec<&'static str>,
    /// ALL.
    pub all: bool,
    /// USAGE.
    pub usage: bool,
}

impl RequestedPrivileges {
    /// Whether nothing but dynamic privileges was named.
    pub fn is_dynamic_alone(&self) -> bool {
        self.set.is_empty() && !self.usage && !self.dynamic.is_empty()
    }

    /// Every static one, on whatever part of the object.
    pub fn everything(&self) -> PrivSet {
        let columns = self.columns.iter();
        columns.fold(self.set, |all, (_, set)| all.union(*set))
    }
}

/// On what a GRANT or REVOKE works.
pub(super) fn level(actor: &Actor, on: &GrantObject) -> Result<Level, SqlError> {
    let current = || actor.schema.as_deref().ok_or_else(SqlError::no_db);
    let canonical = |s: &str| infoschema::canonical_schema(s).unwrap_or(s).to_owned();
    let schema = |s: Option<&str>| match s {
        Some(s) => Ok(canonical(s).into()),
        None => current().map(Into::into),
    };
    Ok(match on {
        GrantObject::Global => Level::Global,
        GrantObject::CurrentSchema => Level::Db(current()?.into()),
        GrantObject::Schema(db) => Level::Db(canonical(db).into()),
        GrantObject::Table(t) => Level::Table(TableId {
            schema: schema(t.schema.as_deref())?,
            name: (&*t.name).into(),
        }),
        GrantObject::Routine(kind, r) => Level::Routine(RoutineId {
            schema: schema(r.schema.as_deref())?,
            procedure: *kind == ObjectKind::Procedure,
            name: r.name.to_lowercase().into(),
        }),
    })
}

impl Level {
    /// What can be given here, GRANT OPTION included.
    pub fn possible(&self) -> PrivSet {
        match self {
            Level::Global => PrivSet::all().with(Priv::GrantOption),
            Level::Db(_) => DB_SET,
            Level::Table(_) => TABLE_SET,
            Level::Routine(_) => ROUTINE_SET,
        }
    }

    /// 1221 or 1144: a privilege that cannot be given here.
    fn impossible(&self) -> SqlError {
        match self {
            Level::Db(_) => SqlError::new(
                codes::ER_WRONG_USAGE,
                "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES",
            ),
            _ => illegal_grant(),
        }
    }
}

/// What a list asks for.
///
/// # Errors
/// 1149, 1144, 1221, 3619.
pub(super) fn wanted(list: &[Privilege], level: &Level) -> Result<RequestedPrivileges, SqlError> {
    let mut w = RequestedPrivileges::default();
    for p in list {
        match &*p.name {
            "ALL" | "ALL PRIVILEGES" => {
                if !p.columns.is_empty() {
                    return Err(illegal_grant());
                }
                w.all = true;
                w.set = w.set.union(level.possible().without(Priv::GrantOption));
                if *level == Level::Global {
                    w.dynamic.extend(DYNAMIC);
                }
            }
            "USAGE" => w.usage = true,
            name => match (Priv::by_name(name), dynamic(name)) {
                (Some(p_static), _) => add(&mut w, p, p_static, level)?,
                (None, Some(name)) if p.columns.is_empty() => {
                    if *level != Level::Global {
                        return Err(SqlError::new(
                            codes::ER_ILLEGAL_PRIVILEGE_LEVEL,
                            format!("Illegal privilege level specified for {name}"),
                        ));
                    }
                    w.dynamic.push(name);
                }
                _ => {
                    return Err(SqlError::new(
                        codes::ER_SYNTAX_ERROR,
                        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for \
                         the right syntax to use",
                    ));
                }
            },
        }
    }
    Ok(w)
}

fn add(
    w: &mut RequestedPrivileges,
    p: &Privilege,
    privilege: Priv,
    level: &Level,
) -> Result<(), SqlError> {
    if !level.possible().has(privilege) {
        return Err(level.impossible());
    }
    if p.columns.is_empty() {
        w.set = w.set.with(privilege);
        return Ok(());
    }
    if !matches!(level, Level::Table(_)) {
        return Err(illegal_grant());
    }
    if !COLUMN_SET.has(privilege) {
        return Err(SqlError::new(
            codes::ER_WRONG_USAGE,
            "Incorrect usage of COLUMN GRANT and NON-COLUMN PRIVILEGES",
        ));
    }
    for c in &p.columns {
        let folded = c.to_lowercase();
        match w
            .columns
            .iter_mut()
            .find(|(n, _)| n.to_lowercase() == folded)
        {
            Some((_, set)) => *set = set.with(privilege),
            None => w.columns.push((c.clone(), PrivSet::of(privilege))),
        }
    }
    Ok(())
}

/// Refuses tables, columns and routines that do not exist. Asked once the actor's right is proved.
///
/// # Errors
/// 1146, 1054, 1305.
pub(super) fn check_exists(
    actor: &Actor,
    level: &Level,
    w: &RequestedPrivileges,
) -> Result<(), SqlError> {
    match level {
        Level::Global | Level::Db(_) => Ok(()),
        Level::Table(t) if infoschema::canonical_schema(&t.schema).is_some() => Ok(()),
        Level::Table(t) if actor.catalog.view(&t.schema, &t.name).is_some() => {
            let view = actor.catalog.view(&t.schema, &t.name);
            let names = view.and_then(|v| ViewDef::of(v).ok()?.column_names());
            let Some(names) = names else { return Ok(()) };
            let there = |c: &str| names.iter().any(|n| same_name(n, c));
            match w.columns.iter().find(|(c, _)| !there(c)) {
                None => Ok(()),
                Some((c, _)) => Err(no_column(c, &t.name)),
            }
        }
        Level::Table(t) => {
            let Some(table) = actor.catalog.base_table(&t.schema, &t.name) else {
                // The right to make a table may be given before there is one.
                return match w.set.has(Priv::Create) && w.columns.is_empty() {
                    true => Ok(()),
                    false => Err(SqlError::no_such_table(&t.schema, &t.name)),
                };
            };
            match w
                .columns
                .iter()
                .find(|(c, _)| table.def.column(c).is_none())
            {
                None => Ok(()),
                Some((c, _)) => Err(no_column(c, &t.name)),
            }
        }
        Level::Routine(r)
            if actor
                .catalog
                .object(
                    super::super::ddl::routine::kind_of(!r.procedure),
                    &r.schema,
                    &r.name,
                )
                .is_some() =>
        {
            Ok(())
        }
        Level::Routine(r) => {
            let kind = if r.procedure { "PROCEDURE" } else { "FUNCTION" };
            Err(SqlError::new(
                codes::ER_SP_DOES_NOT_EXIST,
                format!("{kind} {}.{} does not exist", r.schema, r.name),
            ))
        }
    }
}

/// 1054.
fn no_column(column: &str, table: &str) -> SqlError {
    SqlError::new(
        codes::ER_BAD_FIELD_ERROR,
        format!("Unknown column '{column}' in '{table}'"),
    )
}
