//! Which tables a statement changes, as MySQL's filters see it: those that it names to be written, created, altered or dropped, in the order in which it
//! names them, and not those that it reads.
//!
//! What it never does: look whether a table is there.

use sql_parser::ast::{
    DeleteTarget, FlushItem, GrantObject, GrantWhat, ObjectName, Statement, TableFactor, TableRef,
    Update,
};

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    /// `None`: the default one.
    pub database: Option<&'a str>,
    pub name: &'a str,
}

/// What a statement changes.
#[derive(Debug, Default)]
pub(crate) struct Changed<'a> {
    pub tables: Vec<Target<'a>>,
    /// All of a database: it creates, alters or drops it.
    pub database: Option<&'a str>,
    /// The tables of accounts.
    pub accounts: bool,
    /// No list of tables keeps it from being done.
    pub always: bool,
}

const fn of_mysql(name: &'static str) -> Target<'static> {
    Target {
        database: Some("mysql"),
        name,
    }
}

/// What a statement about accounts changes, as MySQL opens them.
pub(super) const ACCOUNTS: &[Target<'static>] = &[
    of_mysql("user"),
    of_mysql("db"),
    of_mysql("tables_priv"),
    of_mysql("columns_priv"),
    of_mysql("procs_priv"),
    of_mysql("proxies_priv"),
    of_mysql("role_edges"),
    of_mysql("default_roles"),
    of_mysql("global_grants"),
    of_mysql("password_history"),
];

fn target(name: &ObjectName) -> Target<'_> {
    Target {
        database: name.schema.as_deref(),
        name: &name.name,
    }
}

/// The tables that are named in a list of joins.
fn factors<'a>(refs: &'a [TableRef], out: &mut Vec<&'a TableFactor>) {
    for r in refs {
        match r {
            TableRef::Table(t) => out.push(t),
            TableRef::Join(j) => {
                factors(std::slice::from_ref(&j.left), out);
                factors(std::slice::from_ref(&j.right), out);
            }
            TableRef::List(l) => factors(l, out),
            TableRef::Derived(_) | TableRef::JsonTable(_) => {}
        }
    }
}

/// Whether a name in a statement means this table of its list.
fn means(schema: Option<&str>, name: &str, t: &TableFactor) -> bool {
    match (&t.alias, schema) {
        (Some(alias), None) => **alias == *name,
        (Some(_), Some(_)) => false,
        (None, schema) => {
            let other = t.name.schema.as_deref();
            *t.name.name == *name && (schema.is_none() || other.is_none() || schema == other)
        }
    }
}

/// Those to which an UPDATE assigns. A column that is named without its table may be of any of them.
fn updated(u: &Update) -> Vec<Target<'_>> {
    let mut all = Vec::new();
    factors(&u.tables, &mut all);
    let is = |t: &&TableFactor| {
        let mut assigned = u.assignments.iter().map(|a| a.column.qualifier.as_ref());
        assigned.any(|q| q.is_none_or(|q| means(q.schema.as_deref(), &q.table, t)))
    };
    let several = all.len() > 1;
    let all = all.into_iter().filter(|t| !several || is(t));
    all.map(|t| target(&t.name)).collect()
}

fn deleted(of: &DeleteTarget) -> Vec<Target<'_>> {
    match of {
        DeleteTarget::Single(t) => vec![target(&t.name)],
        DeleteTarget::Multi { tables, from } => {
            let mut all = Vec::new();
            factors(from, &mut all);
            let real = |n: &'_ ObjectName| {
                let mut named = all.iter();
                let found = named.find(|t| means(n.schema.as_deref(), &n.name, t));
                found.map(|t| target(&t.name))
            };
            tables
                .iter()
                .map(|n| real(n).unwrap_or(target(n)))
                .collect()
        }
    }
}

fn names(names: &[ObjectName]) -> Vec<Target<'_>> {
    names.iter().map(target).collect()
}

fn privileges(what: &GrantWhat) -> Vec<Target<'_>> {
    match what {
        GrantWhat::Privileges(_, GrantObject::Table(t)) => vec![target(t)],
        _ => Vec::new(),
    }
}

/// What a statement changes.
pub(super) fn of(statement: &Statement) -> Changed<'_> {
    use Statement as S;
    let tables = match statement {
        S::Insert(i) => vec![target(&i.table)],
        S::LoadData(l) => vec![target(&l.table)],
        S::Update(u) => updated(u),
        S::Delete(d) => deleted(&d.target),
        S::CreateTable(c) => vec![target(&c.name)],
        S::AlterTable(a) => vec![target(&a.name)],
        S::DropTable(d) => names(&d.names),
        S::DropView(d) => names(&d.names),
        S::RenameTable(pairs) => pairs
            .iter()
            .flat_map(|(from, to)| [target(from), target(to)])
            .collect(),
        S::Truncate(name) => vec![target(name)],
        S::CreateIndex(i) => vec![target(&i.table)],
        S::DropIndex(i) => vec![target(&i.table)],
        S::CreateView(v) => vec![target(&v.name)],
        S::CreateTrigger(t) => vec![target(&t.table)],
        S::TableMaintenance(m) => names(&m.tables),
        S::Flush(f) => f.items.iter().flat_map(flushed).collect(),
        S::Grant(g) => privileges(&g.what),
        S::Revoke(r) => privileges(&r.what),
        _ => Vec::new(),
    };
    let database = match statement {
        S::CreateDatabase(c) => Some(&*c.name),
        S::AlterDatabase(a) => a.name.as_deref(),
        S::DropDatabase { name, .. } => Some(&**name),
        _ => None,
    };
    let accounts = matches!(
        statement,
        S::CreateUser(_)
            | S::AlterUser(_)
            | S::DropUser { .. }
            | S::RenameUser(_)
            | S::CreateRole { .. }
            | S::DropRole { .. }
            | S::SetDefaultRole { .. }
            | S::Grant(_)
            | S::Revoke(_)
    );
    // A session's end at the source drops its temporary tables, those of several lists in one statement.
    let always = matches!(statement, S::DropTable(d) if d.temporary && d.if_exists)
        || matches!(statement, S::Set(_));
    Changed {
        tables,
        database,
        accounts,
        always,
    }
}

fn flushed(item: &FlushItem) -> Vec<Target<'_>> {
    match item {
        FlushItem::Tables { tables, .. } => names(tables),
        FlushItem::RelayLogs(_) | FlushItem::Other(_) => Vec::new(),
    }
}
