//! Accounts and roles as data: how each proves itself, what it may do, what it is limited to, and all of them together at one
//! moment.
//!
//! Everything about an account hangs on its [`Account`], so that it is dropped, renamed and compared as a whole. An [`AccountState`] is
//! never changed in place where others see it: [`crate::context::accounts`] makes a new one. Nothing here decides what is allowed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::host::HostPattern;
use super::privilege::PrivSet;

/// What an account is called: user name and host pattern, the latter in lower case. A role is an account, by default of host `%`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AccountId {
    /// User name; empty for an anonymous account.
    pub user: Box<str>,
    /// Host pattern.
    pub host: Box<str>,
}

impl AccountId {
    /// Of these parts.
    pub fn new(user: &str, host: &str) -> AccountId {
        AccountId {
            user: user.into(),
            host: host.to_lowercase().into(),
        }
    }

    /// `'user'@'host'`, as messages show it.
    pub fn quoted(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }

    /// `` `user`@`host` ``, as SHOW GRANTS shows it.
    pub fn ticked(&self) -> String {
        let quote = |s: &str| format!("`{}`", s.replace('`', "``"));
        format!("{}@{}", quote(&self.user), quote(&self.host))
    }

    /// `user@host`, as CURRENT_USER() shows it.
    pub fn plain(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }
}

impl fmt::Debug for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.quoted())
    }
}

/// What REQUIRE asks of a connection's transport.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TlsRequirement {
    /// Nothing.
    #[default]
    None,
    /// `REQUIRE SSL`: TLS.
    Ssl,
    /// `REQUIRE X509`: a client certificate that verifies.
    X509,
    /// A client certificate that verifies, and of these what is not empty.
    Specified {
        /// `CIPHER`
        cipher: String,
        /// `ISSUER`
        issuer: String,
        /// `SUBJECT`
        subject: String,
    },
}

/// `WITH MAX_QUERIES_PER_HOUR n ..`; 0 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// `MAX_QUERIES_PER_HOUR`
    pub questions: u32,
    /// `MAX_UPDATES_PER_HOUR`
    pub updates: u32,
    /// `MAX_CONNECTIONS_PER_HOUR`
    pub connections: u32,
    /// `MAX_USER_CONNECTIONS`; 0 leaves it to the variable.
    pub user_connections: u32,
}

/// What an account's password is held to. Where something is `None`, the server's variable decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordPolicy {
    /// `PASSWORD EXPIRE`: has to be changed before anything else.
    pub expired: bool,
    /// When it was set, microseconds since 1970; `None` for an account that never had one.
    pub changed_us: Option<i64>,
    /// `PASSWORD EXPIRE INTERVAL n DAY`; `Some(0)` is `NEVER`. (`default_password_lifetime`)
    pub lifetime_days: Option<u16>,
    /// `PASSWORD HISTORY n` (`password_history`)
    pub history: Option<u32>,
    /// `PASSWORD REUSE INTERVAL n DAY` (`password_reuse_interval`)
    pub reuse_days: Option<u32>,
    /// `PASSWORD REQUIRE CURRENT [OPTIONAL]` (`password_require_current`)
    pub require_current: Option<bool>,
    /// `FAILED_LOGIN_ATTEMPTS n`; 0 for none.
    pub failed_attempts: u16,
    /// `PASSWORD_LOCK_TIME n` in days; `None` is `UNBOUNDED`, 0 is off.
    pub lock_days: Option<u16>,
}

impl Default for PasswordPolicy {
    fn default() -> PasswordPolicy {
        PasswordPolicy {
            expired: false,
            changed_us: None,
            lifetime_days: None,
            history: None,
            reuse_days: None,
            require_current: None,
            failed_attempts: 0,
            lock_days: Some(0),
        }
    }
}

/// A table as grants name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableId {
    /// Its database.
    pub schema: Box<str>,
    /// The table.
    pub name: Box<str>,
}

/// What is granted on a table and its columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableGrant {
    /// On the table as a whole.
    pub privileges: PrivSet,
    /// On columns, by their names in lower case.
    pub columns: BTreeMap<Box<str>, ColumnGrant>,
    /// Who granted it first, as `user@host`.
    pub grantor: Box<str>,
}

impl TableGrant {
    /// What is granted on any column.
    pub fn on_columns(&self) -> PrivSet {
        self.columns
            .values()
            .fold(PrivSet::NONE, |all, c| all.union(c.privileges))
    }

    /// Nothing is left of it.
    pub fn is_empty(&self) -> bool {
        self.privileges.is_empty() && self.columns.is_empty()
    }
}

/// What is granted on a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnGrant {
    /// Its name as it was written.
    pub name: Box<str>,
    /// The privileges.
    pub privileges: PrivSet,
}

/// A stored routine as grants name it; the name in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoutineId {
    /// Its database.
    pub schema: Box<str>,
    /// It is a procedure rather than a function.
    pub procedure: bool,
    /// The routine.
    pub name: Box<str>,
}

/// What is granted on a routine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoutineGrant {
    /// The privileges.
    pub privileges: PrivSet,
    /// Who granted it first, as `user@host`.
    pub grantor: Box<str>,
}

/// A password an account had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldPassword {
    /// When it was set, microseconds since 1970.
    pub set_us: i64,
    /// What was stored of it.
    pub auth_string: Vec<u8>,
}

/// An account or a role, with everything that is granted to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// What it is called.
    pub id: AccountId,
    /// Authentication plugin.
    pub plugin: String,
    /// What the plugin stored.
    pub auth_string: Vec<u8>,
    /// What the plugin stored of the password before (`RETAIN CURRENT PASSWORD`).
    pub second_auth_string: Option<Vec<u8>>,
    /// `ACCOUNT LOCK`.
    pub locked: bool,
    /// What the password is held to.
    pub password: PasswordPolicy,
    /// Passwords it had, the newest first, as far as a policy wants them.
    pub old_passwords: Vec<OldPassword>,
    /// `REQUIRE`.
    pub tls: TlsRequirement,
    /// `WITH MAX_…`.
    pub limits: Limits,
    /// `ATTRIBUTE` and `COMMENT`: a JSON object, or empty.
    pub metadata: String,
    /// Static privileges on `*.*`.
    pub privileges: PrivSet,
    /// Dynamic privileges, each with its grant option.
    pub dynamic: BTreeMap<Box<str>, bool>,
    /// What was revoked of the static ones on single databases (`partial_revokes`).
    pub restrictions: BTreeMap<Box<str>, PrivSet>,
    /// Privileges on databases, by name or pattern.
    pub databases: BTreeMap<Box<str>, PrivSet>,
    /// Privileges on tables and their columns.
    pub tables: BTreeMap<TableId, TableGrant>,
    /// Privileges on routines.
    pub routines: BTreeMap<RoutineId, RoutineGrant>,
    /// Roles it was granted, each with its admin option.
    pub roles: BTreeMap<AccountId, bool>,
    /// Roles that are active from the login on.
    pub default_roles: Vec<AccountId>,
    /// Accounts it may be a proxy of, each with its grant option.
    pub proxies: BTreeMap<AccountId, ProxyGrant>,
}

/// GRANT PROXY.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProxyGrant {
    /// `WITH GRANT OPTION`
    pub with_grant: bool,
    /// Who granted it, as `user@host`.
    pub grantor: Box<str>,
}

/// All accounts at one moment.
#[derive(Debug, Clone, Default)]
pub struct AccountState {
    accounts: BTreeMap<AccountId, Arc<Account>>,
}

impl AccountState {
    /// The account of exactly that name.
    pub fn find(&self, id: &AccountId) -> Option<&Arc<Account>> {
        self.accounts.get(id)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.accounts.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.accounts.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// Adds an account, or puts it in the place of the one of its name.
    pub fn put(&mut self, account: Account) {
        self.accounts.insert(account.id.clone(), Arc::new(account));
    }

    /// The account of that name, to be changed.
    pub fn find_mut(&mut self, id: &AccountId) -> Option<&mut Account> {
        self.accounts.get_mut(id).map(Arc::make_mut)
    }

    /// Takes an account away, also from where others name it: as a role, as a default role, as one they may be a proxy of.
    pub fn remove(&mut self, id: &AccountId) -> Option<Arc<Account>> {
        let gone = self.accounts.remove(id)?;
        self.each_that_names(id, |a| {
            a.roles.remove(id);
            a.default_roles.retain(|r| r != id);
            a.proxies.remove(id);
        });
        Some(gone)
    }

    /// Gives an account another name, also where others name it. Nothing happens where there is none, or one of that name already:
    /// `false`.
    pub fn rename(&mut self, from: &AccountId, to: &AccountId) -> bool {
        if self.accounts.contains_key(to) {
            return false;
        }
        let Some(account) = self.accounts.remove(from) else {
            return false;
        };
        let mut account = Arc::unwrap_or_clone(account);
        account.id = to.clone();
        self.put(account);
        self.each_that_names(from, |a| {
            if let Some(admin) = a.roles.remove(from) {
                a.roles.insert(to.clone(), admin);
            }
            for r in a.default_roles.iter_mut().filter(|r| *r == from) {
                r.clone_from(to);
            }
            if let Some(p) = a.proxies.remove(from) {
                a.proxies.insert(to.clone(), p);
            }
        });
        true
    }

    fn each_that_names(&mut self, id: &AccountId, mut change: impl FnMut(&mut Account)) {
        for a in self.accounts.values_mut() {
            let names = a.roles.contains_key(id)
                || a.default_roles.contains(id)
                || a.proxies.contains_key(id);
            if names {
                change(Arc::make_mut(a));
            }
        }
    }

    /// Whether it was granted to anyone: whether it is a role, in the words of MySQL.
    pub fn is_granted(&self, id: &AccountId) -> bool {
        self.iter().any(|a| a.roles.contains_key(id))
    }

    /// The account that a login as `user` from `host` belongs to: of those whose user name is the same or empty and whose host pattern
    /// fits, the one with the most specific host; of equals, the one with a user name (the manual: "Access Control, Stage 1").
    /// `addresses` are the host's other names: its address where `host` is a name.
    pub fn for_login(&self, user: &str, hosts: &[&str]) -> Option<&Arc<Account>> {
        let named = |name: &str| {
            let from = AccountId {
                user: name.into(),
                host: "".into(),
            };
            let name: Box<str> = name.into();
            self.accounts
                .range(from..)
                .take_while(move |(id, _)| id.user == name)
        };
        let anonymous = (!user.is_empty()).then(|| named("")).into_iter().flatten();
        let fits = |(id, _): &(&AccountId, &Arc<Account>)| {
            let pattern = HostPattern::new(&id.host);
            hosts.iter().any(|h| pattern.matches(h))
        };
        named(user)
            .chain(anonymous)
            .filter(fits)
            .min_by_key(|(id, _)| (HostPattern::new(&id.host).rank(), id.user.is_empty()))
            .map(|(_, a)| a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(names: &[(&str, &str)]) -> AccountState {
        let mut s = AccountState::default();
        for (user, host) in names {
            s.put(Account {
                id: AccountId::new(user, host),
                ..Account::default()
            });
        }
        s
    }

    #[test]
    fn the_most_specific_account_is_taken() {
        let s = state(&[
            ("u", "%"),
            ("u", "10.%"),
            ("u", "localhost"),
            ("", "localhost"),
            ("v", "%"),
            ("w", "%.example.org"),
            ("w", "%.com"),
            ("u", "127.0.0.1"),
        ]);
        let login = |user: &str, hosts: &[&str]| s.for_login(user, hosts).map(|a| a.id.plain());
        let at = |user: &str, host: &str| login(user, &[host]);
        assert_eq!(at("u", "localhost").as_deref(), Some("u@localhost"));
        assert_eq!(at("u", "10.1.2.3").as_deref(), Some("u@10.%"));
        assert_eq!(at("u", "example.org").as_deref(), Some("u@%"));
        assert_eq!(at("x", "localhost").as_deref(), Some("@localhost"));
        // The manual's classic: the anonymous account of this host comes before a named one of any.
        assert_eq!(at("v", "localhost").as_deref(), Some("@localhost"));
        assert_eq!(at("x", "example.org"), None);
        assert_eq!(at("w", "a.example.org").as_deref(), Some("w@%.example.org"));
        let both = ["localhost", "127.0.0.1"];
        assert!(login("u", &both).is_some());
        assert_eq!(at("u", "127.0.0.1").as_deref(), Some("u@127.0.0.1"));
    }

    #[test]
    fn whoever_names_an_account_follows() {
        let mut s = state(&[("r", "%"), ("u", "%")]);
        let (r, u, q) = (
            AccountId::new("r", "%"),
            AccountId::new("u", "%"),
            AccountId::new("q", "%"),
        );
        let a = s.find_mut(&u).unwrap();
        a.roles.insert(r.clone(), true);
        a.default_roles.push(r.clone());
        assert!(s.is_granted(&r) && !s.is_granted(&u));
        assert!(!s.rename(&r, &u) && !s.rename(&q, &AccountId::new("z", "%")));
        assert!(s.rename(&r, &q));
        assert_eq!(s.find(&u).unwrap().default_roles, std::slice::from_ref(&q));
        assert_eq!(s.find(&u).unwrap().roles.get(&q), Some(&true));
        s.remove(&q);
        assert!(s.find(&u).unwrap().roles.is_empty());
        assert!(s.find(&u).unwrap().default_roles.is_empty());
    }
}
