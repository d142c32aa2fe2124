//! What a session may do: its account and its active roles, and the check of what a statement needs against them.
//!
//! Privileges add up, over levels (server, database, table, column) and over the account and every role that is active, roles of
//! roles included. A partial revoke takes something from what the same account or role has on the server, and nothing from the others'. Of several
//! database patterns of one account the most specific one that fits counts alone, as in MySQL.
//!
//! A context never changes. A session makes a new one, with another stamp, when accounts or its roles have changed; what was authorised under
//! an older stamp is checked again. This is the only module that makes [`Granted`], [`Authorized`] and [`Ready`].

mod check;

use std::ops::Deref;
use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use super::account::{Account, AccountId, AccountState, RoutineId, TableGrant, TableId};
use super::needs::{Guarded, Needs, Right};
use super::privilege::{COLUMN_SET, DB_SET, Priv, PrivSet, TABLE_SET};
use super::roles::AtLogin;

/// The schema whose tables say what the server itself knows, each row only to who may see it: everybody may read.
const INFORMATION_SCHEMA: &str = "information_schema";
/// The other schema of virtual tables. What they are called and made of is known to everybody; who may read each is said by
/// the table.
const PERFORMANCE_SCHEMA: &str = "performance_schema";

/// Whether it is a schema of virtual tables.
pub fn is_virtual(schema: &str) -> bool {
    schema.eq_ignore_ascii_case(INFORMATION_SCHEMA)
        || schema.eq_ignore_ascii_case(PERFORMANCE_SCHEMA)
}

/// The right to run what was checked; made by [`SecurityContext::grant`] alone.
#[derive(Debug)]
pub struct Granted(());

/// Something that was checked under a context, and under which.
#[derive(Debug)]
pub struct Authorized<T> {
    what: Arc<T>,
    stamp: u64,
}

impl<T> Clone for Authorized<T> {
    fn clone(&self) -> Self {
        Authorized {
            what: Arc::clone(&self.what),
            stamp: self.stamp,
        }
    }
}

impl<T> Authorized<T> {
    /// To be looked at, not to be run.
    #[inline]
    pub fn peek(&self) -> &Arc<T> {
        &self.what
    }
}

/// Something that may be run now; made by [`SecurityContext::ready`] alone.
#[derive(Debug)]
pub struct Ready<'a, T>(&'a T);

impl<T> Clone for Ready<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ready<'_, T> {}

impl<T> Deref for Ready<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0
    }
}

/// What an account and its active roles may do.
#[derive(Debug)]
pub struct SecurityContext {
    stamp: u64,
    account: AccountId,
    /// The host that messages name.
    client_host: Box<str>,
    /// The active roles that were granted to the account.
    roles: Vec<AccountId>,
    /// The account and all its active roles; empty where the account is gone.
    members: Vec<Arc<Account>>,
    /// What the members have on the server together.
    global: PrivSet,
    /// No member has a restriction, so that `global` holds in every database.
    unrestricted: bool,
    /// Database names in grants are no patterns (`partial_revokes`).
    literal: bool,
    /// The server itself: everything is allowed.
    server: bool,
    /// The accounts as they were, and what decides about their roles: views read as their definers may.
    others: Option<(Arc<AccountState>, AtLogin)>,
}

impl SecurityContext {
    /// Of an account of that state and its active roles. `literal` is `partial_revokes`.
    pub fn new(
        stamp: u64,
        state: &AccountState,
        account: AccountId,
        client_host: &str,
        roles: Vec<AccountId>,
        literal: bool,
    ) -> SecurityContext {
        let mut members = Vec::new();
        if let Some(own) = state.find(&account) {
            members.push(Arc::clone(own));
            let mut found: Vec<AccountId> = roles.clone();
            let mut at = 0;
            while let Some(id) = found.get(at).cloned() {
                at += 1;
                let Some(role) = state.find(&id) else {
                    continue;
                };
                members.push(Arc::clone(role));
                for inner in role.roles.keys() {
                    if !found.contains(inner) {
                        found.push(inner.clone());
                    }
                }
            }
        }
        let all = |set: PrivSet, a: &Arc<Account>| set.union(a.privileges);
        SecurityContext {
            stamp,
            account,
            client_host: client_host.into(),
            roles,
            global: members.iter().fold(PrivSet::NONE, all),
            unrestricted: members.iter().all(|a| a.restrictions.is_empty()),
            members,
            literal,
            server: false,
            others: None,
        }
    }

    /// Of the server itself, and of the embedded library, whose process owns the files: everything is allowed.
    pub fn of_the_server(stamp: u64, account: AccountId) -> SecurityContext {
        SecurityContext {
            stamp,
            client_host: account.host.clone(),
            account,
            roles: Vec::new(),
            members: Vec::new(),
            global: PrivSet::all().with(Priv::GrantOption),
            unrestricted: true,
            literal: false,
            server: true,
            others: None,
        }
    }

    /// That knows the other accounts, so that it can speak for the definers of views.
    #[must_use]
    pub fn knowing(self, state: Arc<AccountState>, at_login: AtLogin) -> SecurityContext {
        SecurityContext {
            others: Some((state, at_login)),
            ..self
        }
    }

    /// What the definer of a stored object may do, with the roles that a login of his would make active.
    ///
    /// # Errors
    /// There is no such account: 1449 for who may set definers, 1045 for others.
    pub fn of_definer(&self, definer: &AccountId) -> Result<SecurityContext, SqlError> {
        let known = self.others.as_ref();
        let known = known.filter(|(state, _)| state.find(definer).is_some());
        let Some((state, at_login)) = known else {
            return Err(match self.has_one(super::statement::SET_DEFINER) {
                true => no_such_definer(definer),
                false => SqlError::access_denied(&self.account.user, &self.client_host, true),
            });
        };
        let roles = at_login.roles(state, definer);
        let host = &definer.host;
        let own = SecurityContext::new(0, state, definer.clone(), host, roles, self.literal);
        Ok(own.knowing(Arc::clone(state), at_login.clone()))
    }

    /// Differs from the stamp of every context that the session had before.
    #[inline]
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// It is the server's own.
    pub fn is_server(&self) -> bool {
        self.server
    }

    /// The account.
    pub fn account(&self) -> &AccountId {
        &self.account
    }

    /// The host that messages name.
    pub fn client_host(&self) -> &str {
        &self.client_host
    }

    /// Database names in grants are patterns.
    pub fn patterns(&self) -> bool {
        !self.literal
    }

    /// The active roles that were granted to the account itself.
    pub fn roles(&self) -> &[AccountId] {
        &self.roles
    }

    /// Every active role, those of roles included.
    pub fn all_roles(&self) -> impl Iterator<Item = &AccountId> {
        self.members.iter().skip(1).map(|m| &m.id)
    }

    /// The account and its active roles.
    pub fn members(&self) -> &[Arc<Account>] {
        &self.members
    }

    /// Static privileges on the server. In a database some of them may be revoked: see [`on_db`](Self::on_db).
    pub fn global(&self) -> PrivSet {
        self.global
    }

    /// Whether it has a dynamic privilege. SUPER stands for those that were made of it, as long as there is SUPER.
    pub fn has_dynamic(&self, name: &str) -> bool {
        self.server
            || self.members.iter().any(|m| m.dynamic.contains_key(name))
            || (self.global.has(Priv::Super) && FROM_SUPER.contains(&name))
    }

    /// Whether it may give a dynamic privilege to others.
    pub fn dynamic_grantable(&self, name: &str) -> bool {
        self.server
            || self
                .members
                .iter()
                .any(|m| m.dynamic.get(name).copied().unwrap_or(false))
    }

    /// Whether it may give a role to others.
    pub fn admin_of(&self, role: &AccountId) -> bool {
        self.has_dynamic("ROLE_ADMIN")
            || self.global.has(Priv::Super)
            || self
                .members
                .iter()
                .any(|m| m.roles.get(role).copied().unwrap_or(false))
    }

    /// Whether a member has what is revoked in single databases only.
    pub fn is_restricted(&self) -> bool {
        !self.unrestricted
    }

    /// Privileges on a database, from the server's level down to it.
    pub fn on_db(&self, schema: &str) -> PrivSet {
        if schema.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
            return PrivSet::of(Priv::Select);
        }
        self.members.iter().fold(self.server_part(), |all, m| {
            all.union(self.of_member(m, schema))
        })
    }

    fn server_part(&self) -> PrivSet {
        if self.server {
            self.global
        } else {
            PrivSet::NONE
        }
    }

    fn of_member(&self, m: &Account, schema: &str) -> PrivSet {
        let revoked = m.restrictions.get(schema).copied().unwrap_or_default();
        m.privileges.minus(revoked).union(self.db_entry(m, schema))
    }

    /// What one account was granted on a database: by its name, else by the most specific pattern that fits it.
    fn db_entry(&self, m: &Account, schema: &str) -> PrivSet {
        if self.literal {
            return m.databases.get(schema).copied().unwrap_or_default();
        }
        m.databases
            .iter()
            .filter(|(pattern, _)| fits(pattern, schema))
            .min_by_key(|(pattern, _)| generality(pattern))
            .map_or(PrivSet::NONE, |(_, set)| *set)
    }

    /// Privileges on a table as a whole, from the server's level down to it.
    pub fn on_table(&self, schema: &str, name: &str) -> PrivSet {
        let all = self.on_db(schema);
        self.table_grants(schema, name)
            .fold(all, |all, t| all.union(t.privileges))
    }

    /// Privileges on some column at least of a table.
    pub fn on_some_column(&self, schema: &str, name: &str) -> PrivSet {
        self.table_grants(schema, name)
            .fold(PrivSet::NONE, |all, t| all.union(t.on_columns()))
    }

    /// What the account and its roles were granted on a table. Most have nothing on single tables, and then nothing is made to look
    /// for it: this is asked several times a statement.
    fn table_grants(&self, schema: &str, name: &str) -> impl Iterator<Item = &TableGrant> {
        let some = self.members.iter().any(|m| !m.tables.is_empty());
        let id = some.then(|| TableId {
            schema: schema.into(),
            name: name.into(),
        });
        let members = self.members.iter();
        members.filter_map(move |m| m.tables.get(id.as_ref()?))
    }

    /// Privileges on a column, from the server's level down to it.
    pub fn on_column(&self, schema: &str, name: &str, column: &str) -> PrivSet {
        let column = column.to_lowercase();
        self.table_grants(schema, name)
            .filter_map(|t| t.columns.get(column.as_str()))
            .fold(self.on_table(schema, name), |all, c| {
                all.union(c.privileges)
            })
    }

    /// Privileges on a routine, from the server's level down to it.
    pub fn on_routine(&self, schema: &str, procedure: bool, name: &str) -> PrivSet {
        let id = RoutineId {
            schema: schema.into(),
            procedure,
            name: name.to_lowercase().into(),
        };
        self.members
            .iter()
            .filter_map(|m| m.routines.get(&id))
            .fold(self.on_db(schema), |all, r| all.union(r.privileges))
    }

    /// Whether it sees that a database is there: it has something on it, or on something in it.
    pub fn sees_db(&self, schema: &str) -> bool {
        self.server
            || is_virtual(schema)
            || self.on_db(schema).has_any(DB_SET)
            || self.members.iter().any(|m| {
                m.tables.keys().any(|t| *t.schema == *schema)
                    || m.routines.keys().any(|r| *r.schema == *schema)
            })
    }

    /// Whether a list of databases shows it that one: it sees it, or has SHOW DATABASES.
    pub fn lists_db(&self, schema: &str) -> bool {
        self.global.has(Priv::ShowDatabases) || self.sees_db(schema)
    }

    /// Whether it sees that a table is there: it has something on it, or on a column of it.
    pub fn sees_table(&self, schema: &str, name: &str) -> bool {
        self.server
            || is_virtual(schema)
            || self.on_table(schema, name).has_any(TABLE_SET)
            || !self.on_some_column(schema, name).is_empty()
    }

    /// Whether it sees that a column is there.
    pub fn sees_column(&self, schema: &str, name: &str, column: &str) -> bool {
        self.server
            || is_virtual(schema)
            || self.on_column(schema, name, column).has_any(COLUMN_SET)
    }

    /// Whether it has one of these rights.
    pub fn has_one(&self, rights: &[Right]) -> bool {
        rights.iter().any(|r| match r {
            Right::Static(p) => self.global.has(*p),
            Right::Dynamic(n) => self.has_dynamic(n),
        })
    }

    /// Refuses who has none of these rights.
    ///
    /// # Errors
    /// 1227.
    pub fn require(&self, rights: &[Right]) -> Result<(), SqlError> {
        if self.has_one(rights) {
            return Ok(());
        }
        let names: Vec<&str> = rights.iter().map(|r| r.name()).collect();
        Err(SqlError::new(
            codes::ER_SPECIFIC_ACCESS_DENIED_ERROR,
            format!(
                "Access denied; you need (at least one of) the {} privilege(s) for this operation",
                names.join(" or ")
            ),
        ))
    }

    /// Compares all needs of a statement.
    ///
    /// # Errors
    /// Of the first that is not met.
    pub fn grant(&self, needs: &Needs) -> Result<Granted, SqlError> {
        needs.iter().try_for_each(|n| self.check(n))?;
        Ok(Granted(()))
    }

    /// Compares the needs of something that is kept and run again.
    ///
    /// # Errors
    /// As [`grant`](Self::grant).
    pub fn authorize<T: Guarded>(&self, what: Arc<T>) -> Result<Authorized<T>, SqlError> {
        self.grant(what.needs())?;
        Ok(Authorized {
            what,
            stamp: self.stamp,
        })
    }

    /// What was authorised under this very context, to be run. `None`: to be authorised again.
    #[inline]
    pub fn ready<'a, T>(&self, what: &'a Authorized<T>) -> Option<Ready<'a, T>> {
        (what.stamp == self.stamp).then(|| Ready(&*what.what))
    }
}

/// 1449.
pub fn no_such_definer(definer: &AccountId) -> SqlError {
    SqlError::new(
        codes::ER_NO_SUCH_USER,
        format!(
            "The user specified as a definer ({}) does not exist",
            definer.quoted()
        ),
    )
}

/// Dynamic privileges that SUPER includes: MySQL made them of it.
const FROM_SUPER: &[&str] = &[
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "GROUP_REPLICATION_ADMIN",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "ROLE_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_USER_ID",
    "SYSTEM_VARIABLES_ADMIN",
];

/// Whether a pattern of a database grant fits a name: `%` any run, `_` any character, `\` takes the next literally.
pub fn fits(pattern: &str, name: &str) -> bool {
    types::CollationId::UTF8MB4_BIN.like(
        name.as_bytes(),
        pattern.as_bytes(),
        Some(u32::from(b'\\')),
    )
}

/// Smaller is more specific: no wildcard, then the first wildcard further behind.
fn generality(pattern: &str) -> (bool, usize) {
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '%' | '_' => return (true, usize::MAX - at),
            _ => {}
        }
    }
    (false, 0)
}

#[cfg(test)]
mod tests;
