//! What the change log is told of statements that change definitions: the text that a replica is to carry out, and in which databases.
//!
//! Temporary tables are nobody's business but their session's. Where a statement names them beside others, or goes by what a replica
//! does not have, its text is made anew, as MySQL does.

use engine::TableDef;
use types::SqlError;

use super::temporary;
use crate::context::change_log::BinlogContext;
use crate::context::{Session, TableName};
use crate::describe::create_table::{Quoting, create_table_text, quote};
use sql_parser::ast::{CreateRoutine, CreateTable, DropTables, ObjectName, Statement};

/// A statement for the change log.
pub(super) struct LoggedText {
    pub text: Vec<u8>,
    pub databases: Vec<String>,
    /// The text was made here, and goes by no `sql_mode`.
    pub plain: bool,
}

/// A statement that is told also where it finds nothing to do, and that can be carried out again then.
pub(super) fn may_do_nothing(statement: &Statement) -> bool {
    match statement {
        Statement::CreateDatabase(c) => c.if_not_exists,
        Statement::CreateTable(c) => c.if_not_exists,
        Statement::DropDatabase { if_exists, .. } | Statement::DropObject { if_exists, .. } => {
            *if_exists
        }
        Statement::DropTable(d) | Statement::DropView(d) => d.if_exists,
        // A new name that is the old one.
        Statement::AlterTable(a) => !a.actions.iter().any(super::alter::changes_definition),
        _ => false,
    }
}

/// The database that a statement makes, alters or drops, where it names one.
pub(super) fn whole_database(statement: &Statement) -> Option<&str> {
    match statement {
        Statement::CreateDatabase(c) => Some(&c.name),
        Statement::AlterDatabase(a) => a.name.as_deref(),
        Statement::DropDatabase { name, .. } => Some(name),
        _ => None,
    }
}

/// A statement that goes by tables which it does not change.
pub(super) fn goes_by_others(statement: &Statement) -> bool {
    match statement {
        Statement::CreateView(_) => true,
        Statement::CreateTable(c) => c.like.is_some(),
        _ => false,
    }
}

/// What is told of a statement that is about to be carried out; `None` where nobody keeps it, or nobody is to know of it.
///
/// # Errors
/// 1815: its text is not there.
pub(super) fn logged_text(
    s: &mut Session,
    statement: &Statement,
) -> Result<Option<LoggedText>, SqlError> {
    if s.binlog_context(&[]).is_none() || temporary::alone(s, statement) {
        return Ok(None);
    }
    // What is made with its rows is told when they are about to come; of a table that is there already nothing is told, as in MySQL.
    if s.makes_with_rows || matches!(statement, Statement::CreateTable(c) if c.query.is_some()) {
        return Ok(None);
    }
    if let Statement::CreateTable(c) = statement
        && let Some(text) = like_temporary(s, c)
    {
        return Ok(Some(text));
    }
    let text = match statement {
        Statement::DropTable(d) => drop_lasting(s, d).into_bytes(),
        Statement::CreateRoutine(c) => super::routine::definition(s, c)?
            .statement(&routine_name(s, c))
            .into_bytes(),
        _ => s.text_alone().to_vec(),
    };
    if text.is_empty() {
        return Err(SqlError::internal("a statement without its text"));
    }
    let mut databases = databases(s, statement);
    databases.sort_unstable();
    databases.dedup();
    Ok(Some(LoggedText {
        text,
        databases,
        plain: false,
    }))
}

/// Tells of a table whose rows come next, in the same transaction. The clause is one that MySQL has from 8.0.21 on, and that MariaDB passes over.
pub(super) fn log_making(s: &mut Session, def: &TableDef) {
    // Of the default schema the text has no name, as in MySQL.
    let other = s.facts.database.as_deref() != Some(&*def.schema);
    let text = plain_text(s, def, other, false);
    let text = format!("{text} /*!80021 START TRANSACTION */");
    let around = (&s.facts, &s.vars);
    let now = s.now_micros();
    if let Some(binlog) = BinlogContext::of(s.instance.change_log(), around, text.as_bytes(), now) {
        let binlog = binlog.plainly();
        binlog.log().made(&mut s.engine, &binlog, &def.schema);
    }
}

/// Tells of a table that gets a key which its statement does not name: as the definition says it, since the setting that wants the key comes with
/// no event, and servers without it read rows by the places of their columns.
pub(super) fn log_with_key(s: &mut Session, def: &TableDef, if_not_exists: bool) {
    if s.binlog_context(&[]).is_some() && !s.makes_with_rows {
        let text = plain_text(s, def, true, if_not_exists);
        s.log_plain_definition(text.as_bytes(), &def.schema);
    }
}

/// CREATE TABLE of a definition, which means the same whatever `sql_mode` is; `full`: the name has its schema.
fn plain_text(s: &Session, def: &TableDef, full: bool, if_not_exists: bool) -> String {
    let zone = s.vars.hot().time_zone.zone(s.facts.system_zone);
    let quoting = Quoting {
        ansi: false,
        bare: false,
    };
    let text = create_table_text(def, def.options.auto_increment, quoting, zone);
    let name = quote(&def.name);
    let schema = match full {
        true => format!("{}.", quote(&def.schema)),
        false => String::new(),
    };
    let exists = if if_not_exists { "IF NOT EXISTS " } else { "" };
    text.replacen(
        &format!("CREATE TABLE {name}"),
        &format!("CREATE TABLE {exists}{schema}{name}"),
        1,
    )
}

/// CREATE TABLE .. LIKE a table that a replica does not have.
fn like_temporary(s: &Session, c: &CreateTable) -> Option<LoggedText> {
    let other = s.full_name(c.like.as_ref()?).ok()?;
    let like = s.temporary_table(&other)?;
    let name = s.full_name(&c.name).ok()?;
    let mut def = like.def.clone();
    def.id = 0;
    (def.schema, def.name) = (name.schema, name.name);
    def.options.auto_increment = 0;
    let text = plain_text(s, &def, true, c.if_not_exists);
    Some(LoggedText {
        text: text.into_bytes(),
        databases: vec![def.schema],
        plain: true,
    })
}

/// DROP TABLE of those that are not temporary.
fn drop_lasting(s: &Session, d: &DropTables) -> String {
    let lasting = |name: &&ObjectName| {
        let full = s.full_name(name);
        full.is_ok_and(|n| s.temporary_table(&n).is_none())
    };
    let names = d.names.iter().filter(lasting).map(|n| {
        let own = n
            .schema
            .as_ref()
            .map(|schema| format!("{}.", quote(schema)));
        format!("{}{}", own.unwrap_or_default(), quote(&n.name))
    });
    let names: Vec<String> = names.collect();
    let exists = if d.if_exists { "IF EXISTS " } else { "" };
    format!(
        "DROP TABLE {exists}{} /* generated by server */",
        names.join(",")
    )
}

/// A routine's name with its schema, as MySQL tells of it where that is not the default one.
fn routine_name(s: &Session, c: &CreateRoutine) -> String {
    match &c.name.schema {
        Some(schema) if s.facts.database.as_deref() != Some(&**schema) => {
            format!("{}.{}", quote(schema), quote(&c.name.name))
        }
        _ => quote(&c.name.name),
    }
}

fn databases(s: &Session, statement: &Statement) -> Vec<String> {
    let of = |name: &ObjectName| s.full_name(name).ok().map(|n: TableName| n.schema);
    let one = |name: &ObjectName| of(name).into_iter().collect();
    match statement {
        Statement::CreateDatabase(c) => vec![c.name.to_string()],
        Statement::AlterDatabase(a) => {
            let named = a.name.as_ref().map(ToString::to_string);
            named
                .or_else(|| s.facts.database.clone())
                .into_iter()
                .collect()
        }
        Statement::DropDatabase { name, .. } => vec![name.to_string()],
        Statement::CreateTable(c) => one(&c.name),
        Statement::AlterTable(a) => one(&a.name),
        Statement::DropTable(d) => d.names.iter().filter_map(of).collect(),
        Statement::CreateView(v) => one(&v.name),
        Statement::CreateRoutine(c) => one(&c.name),
        Statement::AlterRoutine(a) => one(&a.name),
        Statement::DropObject { name, .. } => one(name),
        Statement::DropView(d) => d.names.iter().filter_map(of).collect(),
        Statement::RenameTable(pairs) => {
            let both = pairs.iter().flat_map(|(a, b)| [a, b]);
            both.filter_map(of).collect()
        }
        Statement::Truncate(name) => one(name),
        Statement::CreateIndex(c) => one(&c.table),
        Statement::DropIndex(d) => one(&d.table),
        _ => Vec::new(),
    }
}
