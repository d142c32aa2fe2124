//! From accounts to rows: what differs between two states, in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{ColumnDef, ColumnDefault, Engine, Inserted, Isolation, Session, Table};
use types::error::codes;
use types::keyenc::encode_key;
use types::temporal::DateTime;
use types::{DataType, SqlError, Value};

use super::schema::{COLUMN_LABELS, ROUTINE_LABELS, SCHEMA, TABLE_LABELS};
use super::{attributes, orphans};
use sql_access::account::{Account, AccountId, AccountState, ProxyGrant, TlsRequirement};
use sql_access::privilege::{ON_DB, PRIVILEGES, Priv, PrivSet};
use sql_exec::table_writer::TableWriter;

/// A value of a row that is to be written.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    Text(Vec<u8>),
    /// The label of an ENUM, the labels of a SET.
    Labels(Vec<&'static str>),
    Number(u64),
    /// Microseconds since 1970.
    Time(i64),
}

/// A row of a table: the columns that have no default here, by name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    table: &'static str,
    cells: Vec<(&'static str, Cell)>,
}

impl Row {
    fn new(table: &'static str) -> Row {
        Row {
            table,
            cells: Vec::new(),
        }
    }

    /// A row of an account.
    fn of(table: &'static str, id: &AccountId) -> Row {
        Row::new(table)
            .text("Host", &id.host)
            .text("User", &id.user)
    }

    fn with(mut self, column: &'static str, cell: Cell) -> Row {
        self.cells.push((column, cell));
        self
    }

    fn text(self, column: &'static str, text: &str) -> Row {
        self.with(column, Cell::Text(text.as_bytes().to_vec()))
    }

    fn yes(self, column: &'static str, yes: bool) -> Row {
        self.with(column, Cell::Labels(vec![if yes { "Y" } else { "N" }]))
    }

    fn optional(self, column: &'static str, number: Option<u64>) -> Row {
        self.with(column, number.map_or(Cell::Null, Cell::Number))
    }

    fn flags(mut self, set: PrivSet, levels: u8) -> Row {
        for f in PRIVILEGES {
            if levels == 0 || f.levels & levels != 0 {
                self = self.yes(f.column, set.has(f.id));
            }
        }
        self
    }

    fn set(self, column: &'static str, set: PrivSet, labels: &[(&'static str, Priv)]) -> Row {
        let named = labels.iter().filter(|(_, p)| set.has(*p));
        self.with(column, Cell::Labels(named.map(|(n, _)| *n).collect()))
    }
}

/// Every row that an account has in all the tables, that of `user` first.
fn rows_of(a: &Account) -> Vec<Row> {
    let mut rows = vec![user_row(a)];
    let id = &a.id;
    for (db, set) in &a.databases {
        rows.push(Row::of("db", id).text("Db", db).flags(*set, ON_DB));
    }
    for (table, grant) in &a.tables {
        let row = |name| {
            let row = Row::of(name, id);
            row.text("Db", &table.schema)
                .text("Table_name", &table.name)
        };
        let whole = row("tables_priv").text("Grantor", &grant.grantor);
        rows.push(
            whole
                .set("Table_priv", grant.privileges, &TABLE_LABELS)
                .set("Column_priv", grant.on_columns(), &COLUMN_LABELS),
        );
        rows.extend(grant.columns.values().map(|c| {
            row("columns_priv").text("Column_name", &c.name).set(
                "Column_priv",
                c.privileges,
                &COLUMN_LABELS,
            )
        }));
    }
    for (routine, grant) in &a.routines {
        let kind = match routine.procedure {
            true => "PROCEDURE",
            false => "FUNCTION",
        };
        let row = Row::of("procs_priv", id)
            .text("Db", &routine.schema)
            .text("Routine_name", &routine.name)
            .with("Routine_type", Cell::Labels(vec![kind]));
        let row = row.text("Grantor", &grant.grantor);
        rows.push(row.set("Proc_priv", grant.privileges, &ROUTINE_LABELS));
    }
    rows.extend(a.proxies.iter().map(|(of, grant)| proxy_row(id, of, grant)));
    for (name, option) in &a.dynamic {
        let row = Row::of("global_grants", id).text("PRIV", name);
        rows.push(row.yes("WITH_GRANT_OPTION", *option));
    }
    for (role, admin) in &a.roles {
        let row = Row::new("role_edges")
            .text("FROM_HOST", &role.host)
            .text("FROM_USER", &role.user)
            .text("TO_HOST", &id.host)
            .text("TO_USER", &id.user);
        rows.push(row.yes("WITH_ADMIN_OPTION", *admin));
    }
    rows.extend(a.default_roles.iter().map(|role| {
        Row::of("default_roles", id)
            .text("DEFAULT_ROLE_HOST", &role.host)
            .text("DEFAULT_ROLE_USER", &role.user)
    }));
    rows.extend(a.old_passwords.iter().map(|old| {
        Row::of("password_history", id)
            .with("Password_timestamp", Cell::Time(old.set_us))
            .with("Password", Cell::Text(old.auth_string.clone()))
    }));
    rows
}

fn proxy_row(id: &AccountId, of: &AccountId, grant: &ProxyGrant) -> Row {
    Row::of("proxies_priv", id)
        .text("Proxied_host", &of.host)
        .text("Proxied_user", &of.user)
        .with("With_grant", Cell::Number(u64::from(grant.with_grant)))
        .text("Grantor", &grant.grantor)
}

fn user_row(a: &Account) -> Row {
    let (ssl_type, cipher, issuer, subject) = match &a.tls {
        TlsRequirement::None => ("", "", "", ""),
        TlsRequirement::Ssl => ("ANY", "", "", ""),
        TlsRequirement::X509 => ("X509", "", "", ""),
        TlsRequirement::Specified {
            cipher,
            issuer,
            subject,
        } => ("SPECIFIED", &cipher[..], &issuer[..], &subject[..]),
    };
    let p = &a.password;
    let current = match p.require_current {
        None => Cell::Null,
        Some(yes) => Cell::Labels(vec![if yes { "Y" } else { "N" }]),
    };
    let attributes = attributes::text_of(a);
    let limit = |n: u32| Cell::Number(u64::from(n));
    Row::of("user", &a.id)
        .flags(a.privileges, 0)
        .with("ssl_type", Cell::Labels(vec![ssl_type]))
        .text("ssl_cipher", cipher)
        .text("x509_issuer", issuer)
        .text("x509_subject", subject)
        .with("max_questions", limit(a.limits.questions))
        .with("max_updates", limit(a.limits.updates))
        .with("max_connections", limit(a.limits.connections))
        .with("max_user_connections", limit(a.limits.user_connections))
        .text("plugin", &a.plugin)
        .with("authentication_string", Cell::Text(a.auth_string.clone()))
        .yes("password_expired", p.expired)
        .with(
            "password_last_changed",
            p.changed_us.map_or(Cell::Null, Cell::Time),
        )
        .optional("password_lifetime", p.lifetime_days.map(u64::from))
        .yes("account_locked", a.locked)
        .optional("Password_reuse_history", p.history.map(u64::from))
        .optional("Password_reuse_time", p.reuse_days.map(u64::from))
        .with("Password_require_current", current)
        .with(
            "User_attributes",
            attributes.map_or(Cell::Null, |t| Cell::Text(t.into_bytes())),
        )
}

/// A row as it is stored: defaults first, then what is said.
pub(crate) struct Stored {
    table: Arc<Table>,
    values: Vec<Value>,
}

impl Stored {
    /// With the defaults of the table's columns at that time.
    pub fn new(table: &Arc<Table>, now_us: i64) -> Stored {
        let columns = table.def.columns.iter();
        Stored {
            values: columns.map(|c| filling(c, now_us)).collect(),
            table: Arc::clone(table),
        }
    }

    fn cell(&mut self, column: &str, cell: &Cell) {
        let Some(c) = self.table.def.column(column) else {
            return;
        };
        self.values[c] = value_of(cell, &self.table.def.columns[c].ty);
    }

    fn key(&self) -> Vec<u8> {
        let mut key = Vec::new();
        let columns = self.table.index_columns(0).map(|c| self.values[c].as_ref());
        encode_key(self.table.key_parts(0), columns, &mut key);
        key
    }

    /// Writes the row, in the place of the one with its key.
    ///
    /// # Errors
    /// What the engine fails with.
    pub async fn put(self, s: &mut Session) -> Result<(), SqlError> {
        let key = self.key();
        let writer = TableWriter::new(&self.table, false, None);
        writer.delete_key(s, &key, |_| Ok(true)).await?;
        match writer.insert(s, &self.values).await? {
            Inserted::Done => Ok(()),
            Inserted::Duplicate { .. } => Err(SqlError::fixed(codes::ER_UNKNOWN_ERROR)),
        }
    }

    /// Takes the row with its key away.
    ///
    /// # Errors
    /// What the engine fails with.
    pub async fn remove(self, s: &mut Session) -> Result<(), SqlError> {
        let key = self.key();
        let writer = TableWriter::new(&self.table, false, None);
        writer.delete_key(s, &key, |_| Ok(true)).await?;
        Ok(())
    }
}

/// What a column has where nothing is said.
pub(super) fn filling(c: &ColumnDef, now_us: i64) -> Value {
    match &c.default {
        ColumnDefault::Literal(v) => v.clone(),
        ColumnDefault::Now => time(now_us, &c.ty),
        _ if c.nullable => Value::Null,
        _ => empty(&c.ty),
    }
}

fn time(us: i64, ty: &DataType) -> Value {
    DateTime::from_unix_micros(us, 6).map_or(Value::Null, |t| Value::DateTime(t.truncate(ty.fsp())))
}

fn empty(ty: &DataType) -> Value {
    match ty {
        DataType::Blob(_) => Value::Bytes(Vec::new()),
        DataType::Int { unsigned: true, .. } => Value::UInt(0),
        DataType::Int { .. } => Value::Int(0),
        DataType::Enum(l) => Value::Enum(1, Arc::clone(l)),
        DataType::Set(l) => Value::Set(0, Arc::clone(l)),
        ty => Value::Str(Vec::new(), ty.collation()),
    }
}

fn value_of(cell: &Cell, ty: &DataType) -> Value {
    match (cell, ty) {
        (Cell::Null, _) => Value::Null,
        (Cell::Text(t), DataType::Blob(_)) => Value::Bytes(t.clone()),
        (Cell::Text(t), ty) => Value::Str(t.clone(), ty.collation()),
        (Cell::Number(n), DataType::Int { unsigned: true, .. }) => Value::UInt(*n),
        (Cell::Number(n), _) => Value::Int(*n as i64),
        (Cell::Time(us), ty) => time(*us, ty),
        (Cell::Labels(names), DataType::Set(l)) => {
            let bit = |n: &&str| l.find(n.as_bytes()).map_or(0, |i| 1u64 << (i - 1));
            let bits = names.iter().map(bit).fold(0, |all, bit| all | bit);
            Value::Set(bits, Arc::clone(l))
        }
        (Cell::Labels(names), DataType::Enum(l)) => {
            let first = names.first().and_then(|n| l.find(n.as_bytes()));
            Value::Enum(first.unwrap_or(0), Arc::clone(l))
        }
        (Cell::Labels(_), _) => Value::Null,
    }
}

/// Writes what differs between two states, in one transaction, durable when this returns, which leaves `group` for the change log. Gives whether
/// anything did.
///
/// # Errors
/// What the engine fails with; then nothing was written.
pub async fn write(
    engine: &Arc<Engine>,
    old: &AccountState,
    new: &AccountState,
    group: Option<&[u8]>,
) -> Result<bool, SqlError> {
    let changed = difference(old, new);
    if changed.is_empty() {
        return Ok(false);
    }
    let now_us = engine.environment().clock.wall_us();
    let mut s = engine.session();
    s.begin(Isolation::ReadCommitted, false);
    s.statement_begin(Isolation::ReadCommitted);
    let r = write_in(&mut s, &changed, now_us).await;
    match r {
        Ok(()) => {
            s.leave_group(group);
            s.commit().await?;
            Ok(true)
        }
        Err(e) => {
            s.rollback().await?;
            Err(e)
        }
    }
}

/// An account before and after.
type Change<'a> = (Option<&'a Account>, Option<&'a Account>);

fn difference<'a>(old: &'a AccountState, new: &'a AccountState) -> Vec<Change<'a>> {
    let gone = old.iter().filter(|a| new.find(&a.id).is_none());
    let gone = gone.map(|a| (Some(&**a), None));
    let there = new.iter().filter_map(|a| match old.find(&a.id) {
        Some(before) if Arc::ptr_eq(before, a) || before == a => None,
        before => Some((before.map(|b| &**b), Some(&**a))),
    });
    gone.chain(there).collect()
}

async fn write_in(s: &mut Session, changed: &[Change<'_>], now_us: i64) -> Result<(), SqlError> {
    // What stands in the tables under a name that is no account must not become the new account's. Before anything is written: a
    // new role may be granted to a new account.
    for (_, after) in changed.iter().filter(|(before, _)| before.is_none()) {
        if let Some(a) = after {
            orphans::remove(s, &a.id).await?;
        }
    }
    let mut tables: BTreeMap<&'static str, Arc<Table>> = BTreeMap::new();
    for (before, after) in changed {
        let old = before.map(rows_of).unwrap_or_default();
        let new = after.map(rows_of).unwrap_or_default();
        let mut gone: BTreeMap<(&'static str, Vec<u8>), Row> = BTreeMap::new();
        for row in old {
            let w = stored(s, &mut tables, &row, now_us).await?;
            gone.insert((row.table, w.key()), row);
        }
        let mut put = Vec::new();
        for row in new {
            let w = stored(s, &mut tables, &row, now_us).await?;
            if gone.remove(&(row.table, w.key())).as_ref() != Some(&row) {
                put.push(w);
            }
        }
        for row in gone.into_values() {
            stored(s, &mut tables, &row, now_us)
                .await?
                .remove(s)
                .await?;
        }
        for w in put {
            w.put(s).await?;
        }
    }
    Ok(())
}

async fn stored(
    s: &mut Session,
    tables: &mut BTreeMap<&'static str, Arc<Table>>,
    row: &Row,
    now_us: i64,
) -> Result<Stored, SqlError> {
    let table = match tables.get(row.table) {
        Some(t) => Arc::clone(t),
        None => {
            let t = s.open_table(SCHEMA, row.table).await?;
            tables.insert(row.table, Arc::clone(&t));
            t
        }
    };
    let mut w = Stored::new(&table, now_us);
    for (column, cell) in &row.cells {
        w.cell(column, cell);
    }
    Ok(w)
}

/// Puts all rows of an account there, that of `mysql.user` into the table `user`.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn put_account(
    s: &mut Session,
    a: &Account,
    user: &'static str,
    now_us: i64,
) -> Result<(), SqlError> {
    let mut tables = BTreeMap::new();
    for mut row in rows_of(a) {
        if row.table == "user" {
            row.table = user;
        }
        stored(s, &mut tables, &row, now_us).await?.put(s).await?;
    }
    Ok(())
}

/// Puts a row of `proxies_priv` there.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn put_proxy(
    s: &mut Session,
    id: &AccountId,
    of: &AccountId,
    grant: &ProxyGrant,
    now_us: i64,
) -> Result<(), SqlError> {
    let row = proxy_row(id, of, grant);
    let w = stored(s, &mut BTreeMap::new(), &row, now_us).await?;
    w.put(s).await
}

fn component(id: u64, urn: &str) -> Row {
    Row::new("component")
        .with("component_id", Cell::Number(id))
        .with("component_group_id", Cell::Number(id))
        .text("component_urn", urn)
}

/// Puts a row of `component` there.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn put_component(s: &mut Session, id: u64, urn: &str) -> Result<(), SqlError> {
    let w = stored(s, &mut BTreeMap::new(), &component(id, urn), 0).await?;
    w.put(s).await
}

/// Takes a row of `component` away.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn remove_component(s: &mut Session, id: u64) -> Result<(), SqlError> {
    let w = stored(s, &mut BTreeMap::new(), &component(id, ""), 0).await?;
    w.remove(s).await
}
