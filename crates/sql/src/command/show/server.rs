//! SHOW of what the server is made of: engines, character sets, collations, plugins, privileges, grants; and of what it
//! does not have, with the right columns and no rows.

use types::error::codes;
use types::{Charset, CollationId, DataType, SqlError, Value};

use crate::context::Session;
use crate::describe::rowset::{RowSet, text};
use crate::describe::server::{ENGINES, PLUGINS};
use sql_access::privilege::PRIVILEGES;
use sql_parser::ast::{Account, ObjectKind, ShowWhat};

/// SHOW CREATE USER.
pub(super) fn create_user(s: &mut Session, account: &Account) -> Result<RowSet, SqlError> {
    let id = s.account_id(account)?;
    let line = s.create_user_text(&id)?;
    let mut r = RowSet::texts(&[&format!("CREATE USER for {}", id.plain())], &[2048]);
    r.push_texts(&[&line]);
    Ok(r)
}

/// SHOW GRANTS.
pub(super) fn grants(
    s: &mut Session,
    account: Option<&Account>,
    using: &[Account],
) -> Result<RowSet, SqlError> {
    let (id, lines) = s.grants_of(account, using)?;
    let mut r = RowSet::texts(&[&format!("Grants for {}", id.plain())], &[4096]);
    for line in lines {
        r.push_texts(&[&line]);
    }
    Ok(r)
}

fn engines() -> RowSet {
    let names = [
        "Engine",
        "Support",
        "Comment",
        "Transactions",
        "XA",
        "Savepoints",
    ];
    let mut r = RowSet::texts(&names, &[64, 8, 80, 3, 3, 3]);
    for e in ENGINES {
        r.push_texts(e);
    }
    r
}

fn charsets() -> RowSet {
    let names = ["Charset", "Description", "Default collation"];
    let mut r = RowSet::texts(&names, &[64, 2048, 64]);
    r.add_column("Maxlen", DataType::UBIGINT, false);
    let mut all = Charset::ALL;
    all.sort_by_key(|c| c.name());
    for c in all {
        r.rows.push(vec![
            text(c.name()),
            text(c.description()),
            text(CollationId::default_of(c).name()),
            Value::UInt(c.max_len() as u64),
        ]);
    }
    r
}

fn collations() -> RowSet {
    let mut r = RowSet::texts(&["Collation", "Charset"], &[64, 64]);
    r.add_column("Id", DataType::UBIGINT, false);
    r.add_text("Default", 3);
    r.add_text("Compiled", 3);
    r.add_column("Sortlen", DataType::int(types::IntWidth::Int, true), false);
    r.add_text("Pad_attribute", 9);
    let mut all: Vec<_> = types::collation::COLLATIONS.iter().collect();
    all.sort_by_key(|c| c.name);
    for c in all {
        r.rows.push(vec![
            text(c.name),
            text(c.charset.name()),
            Value::UInt(u64::from(c.id)),
            text(if c.is_default { "Yes" } else { "" }),
            text("Yes"),
            Value::UInt(if c.pad_space { 1 } else { 0 }),
            text(if c.pad_space { "PAD SPACE" } else { "NO PAD" }),
        ]);
    }
    r
}

fn plugins() -> RowSet {
    let names = ["Name", "Status", "Type", "Library", "License"];
    let mut r = RowSet::texts(&names, &[64, 10, 80, 64, 80]);
    for [name, status, kind] in PLUGINS {
        r.rows.push(vec![
            text(name),
            text(status),
            text(kind),
            Value::Null,
            text("MIT OR Apache-2.0"),
        ]);
    }
    r
}

fn privileges() -> RowSet {
    let mut r = RowSet::texts(&["Privilege", "Context", "Comment"], &[64, 64, 512]);
    for p in PRIVILEGES {
        let words: Vec<String> = p
            .name
            .split(' ')
            .map(|w| format!("{}{}", &w[..1], w[1..].to_lowercase()))
            .collect();
        let name = words.join(" ");
        // MySQL writes every word but the first in small letters.
        let mut shown = name[..1].to_owned();
        shown.push_str(&name[1..].to_lowercase());
        r.push_texts(&[&shown, p.context, p.comment]);
    }
    r
}

/// HELP: nothing is found, since the tables of help are empty here. MySQL answers so where neither a topic nor a category fits.
pub(super) fn help() -> RowSet {
    RowSet::texts(&["name", "is_it_category"], &[64, 1])
}

/// No rows under these columns.
fn nothing(names: &[&str]) -> RowSet {
    RowSet::texts(names, &vec![64; names.len()])
}

/// What depends on nothing, or does not exist here.
///
/// # Errors
/// 1235 for what has no result to show; 1305 and the like for code of routines.
pub(super) fn fixed(s: &mut Session, what: &ShowWhat) -> Result<RowSet, SqlError> {
    Ok(match what {
        ShowWhat::Engines => engines(),
        ShowWhat::CharacterSet => charsets(),
        ShowWhat::Collation => collations(),
        ShowWhat::Plugins => plugins(),
        ShowWhat::Privileges => privileges(),
        ShowWhat::ReplicaStatus { slave, channel, .. } => {
            super::replica::status(s, *slave, channel.as_deref())?
        }
        ShowWhat::BinlogEvents { channel, .. } => {
            s.instance.check_channel(channel.as_deref())?;
            nothing(&[
                "Log_name",
                "Pos",
                "Event_type",
                "Server_id",
                "End_log_pos",
                "Info",
            ])
        }
        ShowWhat::Triggers(schema) => {
            check_schema(s, schema.as_deref())?;
            nothing(&[
                "Trigger",
                "Event",
                "Table",
                "Statement",
                "Timing",
                "Created",
                "sql_mode",
                "Definer",
                "character_set_client",
                "collation_connection",
                "Database Collation",
            ])
        }
        ShowWhat::Events(schema) => {
            check_schema(s, schema.as_deref())?;
            nothing(&[
                "Db",
                "Name",
                "Definer",
                "Time zone",
                "Type",
                "Execute at",
                "Interval value",
                "Interval field",
                "Starts",
                "Ends",
                "Status",
                "Originator",
                "character_set_client",
                "collation_connection",
                "Database Collation",
            ])
        }
        ShowWhat::RoutineCode(kind, name) => {
            let what = if *kind == ObjectKind::Function {
                "FUNCTION"
            } else {
                "PROCEDURE"
            };
            return Err(SqlError::new(
                codes::ER_SP_DOES_NOT_EXIST,
                format!("{what} {} does not exist", name.name),
            ));
        }
        ShowWhat::Profiles => nothing(&["Query_ID", "Duration", "Query"]),
        ShowWhat::Profile { .. } => nothing(&["Status", "Duration"]),
        ShowWhat::Other(word) => return Err(SqlError::not_supported(&format!("SHOW {word}"))),
        _ => return Err(SqlError::not_supported("this SHOW")),
    })
}

fn check_schema(s: &mut Session, schema: Option<&str>) -> Result<(), SqlError> {
    let name = s.schema_or_current(schema)?;
    s.find_schema(&name).map(drop)
}
