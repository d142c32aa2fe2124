//! A statement of a MariaDB server in MySQL's words, as this server is to carry it out: what MySQL says in two statements are two, what is for a thing
//! that is not here is nothing, and what there is no word for is refused. This server's own binary log has it in MySQL's words, too.
//!
//! Never here: the words themselves, which the parser knows.

use engine::TableDef;
use sql::Session;
use sql_parser::Parsed;
use sql_parser::ast::{
    Account, AlterAction, AlterTable, IndexDef, IndexKind, KeyDef, KeyPartKind, ObjectName,
    SetItem, Statement,
};
use types::SqlError;

/// Variables that decide what a statement does, and that come with no event: what SET STATEMENT says of these holds. What else it can set comes with the
/// event, or is how long and in which way something is done there.
const DECIDING: [&str; 5] = [
    "default_week_format",
    "div_precision_increment",
    "group_concat_max_len",
    "innodb_strict_mode",
    "sql_select_limit",
];

/// A statement as it is carried out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct InMysql {
    /// What is carried out first. Each commits by itself, and does nothing a second time.
    pub first: Vec<Vec<u8>>,
    /// The statement; `None`: there is nothing to do.
    pub text: Option<Vec<u8>>,
    /// Variables that are set while it runs: the assignment, and the name.
    pub settings: Vec<(Vec<u8>, String)>,
}

/// The number of a version in MariaDB's version comments: 101100 for 10.11.
pub(super) fn version(server: &str) -> u32 {
    // What it tells clients that expect less.
    let server = server.strip_prefix("5.5.5-").unwrap_or(server);
    let mut parts = server
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse::<u32>().unwrap_or(0).min(99));
    let mut next = || parts.next().unwrap_or(0);
    (next() * 100 + next()) * 100 + next()
}

/// In MySQL's words. `text`: that of `parsed`.
///
/// # Errors
/// 1235: there is no such thing here.
pub(super) fn in_mysql(s: &Session, parsed: &Parsed, text: &[u8]) -> Result<InMysql, SqlError> {
    if let Statement::Unsupported(what) = &parsed.statement {
        return Err(SqlError::not_supported(&what.what));
    }
    if parsed.statement == Statement::Nothing {
        return Ok(InMysql::default());
    }
    let as_it_is = || InMysql {
        text: Some(text.to_vec()),
        ..InMysql::default()
    };
    if let Statement::DropTable(d) = &parsed.statement
        && !d.if_exists
        && !d.temporary
    {
        // It drops those that are there, tells its client of the others, and has all of them in the log. A replica of MariaDB takes it for one with
        // IF EXISTS (`slave_ddl_exec_mode`).
        let names: Vec<String> = d.names.iter().map(full).collect();
        let text = format!("DROP TABLE IF EXISTS {}", names.join(", "));
        return Ok(InMysql {
            text: Some(text.into_bytes()),
            ..InMysql::default()
        });
    }
    let Some(said) = parsed.mariadb.as_deref().filter(|m| !m.is_mysql()) else {
        return Ok(as_it_is());
    };
    let settings = said.settings.iter().filter_map(|(item, span)| {
        let SetItem::Variable { name, .. } = item else {
            return None;
        };
        let name = name.to_ascii_lowercase();
        let set = [b"SET ", &said.edited(text, *span)[..]].concat();
        DECIDING.contains(&&*name).then_some((set, name))
    });
    let settings = settings.collect();
    let mut first = match said.replaces {
        true => replaced(s, &parsed.statement)?,
        false => Vec::new(),
    };
    for user in &said.users {
        first.push([b"CREATE USER IF NOT EXISTS ", &user[..]].concat());
        first.push([b"ALTER USER ", &user[..]].concat());
    }
    let there = match said.only_if {
        None => true,
        Some(wanted) => is_there(s, &parsed.statement) == wanted,
    };
    let text = match &parsed.statement {
        Statement::RenameTable(pairs) if said.only_if.is_some() => renamed(s, pairs),
        Statement::AlterTable(a) if there => {
            let table = s.seen_table(&a.name);
            let def = table.as_ref().map(|t| &t.def);
            let keeps = |n: usize| match said.actions.get(n).and_then(|x| x.only_if) {
                None => true,
                Some(wanted) => def.is_none_or(|d| {
                    let is = names_known(d, &a.actions[n]) == wanted;
                    is && (wanted || is_first(a, n))
                }),
            };
            said.text(text, keeps)
        }
        _ if there => said.text(text, |_| true),
        _ => None,
    };
    Ok(InMysql {
        first,
        text,
        settings,
    })
}

fn quoted(part: &str) -> String {
    format!("`{}`", part.replace('`', "``"))
}

fn full(name: &ObjectName) -> String {
    let schema = name.schema.as_ref().map(|s| quoted(s) + ".");
    schema.unwrap_or_default() + &quoted(&name.name)
}

fn accounts<'a>(of: impl Iterator<Item = &'a Account>) -> String {
    let one = |a: &Account| match a {
        Account::CurrentUser => "CURRENT_USER".to_owned(),
        Account::Named { user, host } => format!("{}@{}", quoted(user), quoted(host)),
    };
    of.map(one).collect::<Vec<_>>().join(", ")
}

/// What drops what is there in the place of what is made.
fn replaced(s: &Session, statement: &Statement) -> Result<Vec<Vec<u8>>, SqlError> {
    let drop = match statement {
        Statement::CreateTable(t) if t.temporary => {
            format!("DROP TEMPORARY TABLE IF EXISTS {}", full(&t.name))
        }
        Statement::CreateTable(t) => format!("DROP TABLE IF EXISTS {}", full(&t.name)),
        Statement::CreateDatabase(d) => format!("DROP DATABASE IF EXISTS {}", quoted(&d.name)),
        Statement::CreateUser(u) => {
            let names = accounts(u.users.iter().map(|u| &u.account));
            format!("DROP USER IF EXISTS {names}")
        }
        Statement::CreateRole { roles, .. } => {
            format!("DROP ROLE IF EXISTS {}", accounts(roles.iter()))
        }
        Statement::CreateIndex(i) => {
            let name = i.index.name.as_deref().unwrap_or_default();
            let table = s.seen_table(&i.table);
            if !table.is_some_and(|t| has_index(&t.def, name)) {
                return Ok(Vec::new());
            }
            format!("DROP INDEX {} ON {}", quoted(name), full(&i.table))
        }
        _ => return Err(SqlError::not_supported("OR REPLACE of this")),
    };
    Ok(vec![drop.into_bytes()])
}

/// Whether the thing is there that a statement is for.
fn is_there(s: &Session, statement: &Statement) -> bool {
    match statement {
        Statement::AlterTable(a) => s.seen_table(&a.name).is_some(),
        Statement::CreateView(v) => s.seen_view(&v.name) || s.seen_table(&v.name).is_some(),
        Statement::CreateIndex(i) => {
            let name = i.index.name.as_deref().unwrap_or_default();
            s.seen_table(&i.table)
                .is_some_and(|t| has_index(&t.def, name))
        }
        Statement::DropIndex(i) => s
            .seen_table(&i.table)
            .is_some_and(|t| has_index(&t.def, &i.name)),
        _ => true,
    }
}

/// A RENAME TABLE of those that are there when their turn comes.
fn renamed(s: &Session, pairs: &[(ObjectName, ObjectName)]) -> Option<Vec<u8>> {
    let (mut made, mut gone) = (Vec::new(), Vec::new());
    let mut kept = Vec::new();
    for (from, to) in pairs {
        let was = s.seen_table(from).is_some() || s.seen_view(from);
        if !made.contains(from) && (!was || gone.contains(from)) {
            continue;
        }
        made.retain(|n| n != from);
        gone.retain(|n| n != to);
        gone.push(from.clone());
        made.push(to.clone());
        kept.push(format!("{} TO {}", full(from), full(to)));
    }
    (!kept.is_empty()).then(|| format!("RENAME TABLE {}", kept.join(", ")).into_bytes())
}

fn same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

fn has_index(def: &TableDef, name: &str) -> bool {
    def.indexes.iter().any(|i| same(&i.name, name))
}

fn has_column(def: &TableDef, name: &str) -> bool {
    def.columns.iter().any(|c| same(&c.name, name))
}

fn has_foreign_key(def: &TableDef, name: &str) -> bool {
    def.foreign_keys.iter().any(|f| same(&f.name, name))
}

fn has_check(def: &TableDef, name: &str) -> bool {
    def.checks.iter().any(|c| same(&c.name, name))
}

fn first_column(index: &IndexDef) -> Option<&str> {
    match &index.parts.first()?.what {
        KeyPartKind::Column { name, .. } => Some(name),
        KeyPartKind::Expr(_) => None,
    }
}

/// The name of a key that is added, which is that of its first column where it has none; `None`: it gets one of its own.
fn name_of(key: &KeyDef) -> Option<&str> {
    match key {
        KeyDef::Index(i) if i.kind == IndexKind::Primary => Some("PRIMARY"),
        KeyDef::Index(i) => {
            let name = i.name.as_deref().or(i.constraint.as_deref());
            name.or_else(|| first_column(i))
        }
        KeyDef::Foreign(f) => {
            let name = f.constraint.as_deref().or(f.name.as_deref());
            name.or_else(|| f.columns.first().map(|c| &**c))
        }
        KeyDef::Check(c) => c.name.as_deref(),
    }
}

/// Whether a table has what an action names.
fn names_known(def: &TableDef, action: &AlterAction) -> bool {
    match action {
        AlterAction::AddColumn { column, .. } | AlterAction::ModifyColumn { column, .. } => {
            has_column(def, &column.name)
        }
        AlterAction::DropColumn(name)
        | AlterAction::ChangeColumn { old: name, .. }
        | AlterAction::SetDefault { column: name, .. }
        | AlterAction::DropDefault(name)
        | AlterAction::ColumnVisibility(name, _)
        | AlterAction::RenameColumn(name, _) => has_column(def, name),
        AlterAction::DropIndex(name) | AlterAction::RenameIndex(name, _) => has_index(def, name),
        AlterAction::DropForeignKey(name) => has_foreign_key(def, name),
        AlterAction::DropCheck(name) => has_check(def, name),
        AlterAction::DropConstraint(name) => {
            has_check(def, name) || has_foreign_key(def, name) || has_index(def, name)
        }
        AlterAction::AddKey(key) => name_of(key).is_some_and(|name| match key {
            KeyDef::Index(_) => has_index(def, name),
            KeyDef::Foreign(_) => has_foreign_key(def, name),
            KeyDef::Check(_) => has_check(def, name),
        }),
        _ => false,
    }
}

/// Whether no action before this one adds the same.
fn is_first(a: &AlterTable, n: usize) -> bool {
    let before = &a.actions[..n];
    match &a.actions[n] {
        AlterAction::AddColumn { column, .. } => !before.iter().any(
            |b| matches!(b, AlterAction::AddColumn { column: c, .. } if same(&c.name, &column.name)),
        ),
        AlterAction::AddKey(key) => {
            let name = name_of(key);
            name.is_none()
                || !before.iter().any(|b| match b {
                    AlterAction::AddKey(k) => {
                        std::mem::discriminant(k) == std::mem::discriminant(key)
                            && name_of(k).zip(name).is_some_and(|(a, b)| same(a, b))
                    }
                    _ => false,
                })
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_comments() {
        assert_eq!(version("10.11.19-MariaDB-0+deb12u1-log"), 101_119);
        assert_eq!(version("5.5.5-10.6.3-MariaDB"), 100_603);
        assert_eq!(version("11.4.100000-MariaDB"), 110_499);
        assert_eq!(version(""), 0);
    }
}
