//! Accounts and what they may do: kept in memory for logins and checks, written to `mysql.user`, `mysql.db` and
//! `mysql.global_grants`.
//!
//! This room never sees a password's packet: authentication is the server's, which asks [`Accounts::lookup`].

mod privileges;
mod statements;
mod store;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use engine::Engine;
use types::SqlError;

pub use super::transport::TlsRequirement;

pub use privileges::{DB_PRIVILEGES, GLOBAL_PRIVILEGES, PrivSet, Privilege};

/// What the server needs to authenticate a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// The account's user name; empty for the anonymous account.
    pub user: String,
    /// The account's host pattern.
    pub host: String,
    /// The authentication plugin.
    pub plugin: String,
    /// What the plugin stored.
    pub auth_string: Vec<u8>,
    /// Logins are refused (error 3118).
    pub locked: bool,
    /// What the connection must be.
    pub tls: TlsRequirement,
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// User name.
    pub user: String,
    /// Host pattern.
    pub host: String,
    /// Authentication plugin.
    pub plugin: String,
    /// What the plugin stored.
    pub auth_string: Vec<u8>,
    /// Global privileges.
    pub privileges: PrivSet,
    /// Dynamic privileges with their grant option.
    pub dynamic: Vec<(String, bool)>,
    /// `ACCOUNT LOCK`.
    pub locked: bool,
    /// `PASSWORD EXPIRE`; shown, not enforced.
    pub expired: bool,
}

/// Privileges of an account on a database; the name may be a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DbGrant {
    /// User name of the account.
    pub user: String,
    /// Host pattern of the account.
    pub host: String,
    /// The database, with `%` and `_` as in LIKE.
    pub db: String,
    /// The privileges.
    pub privileges: PrivSet,
}

/// All accounts at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountState {
    /// The accounts, the most specific hosts first.
    pub accounts: Vec<Account>,
    /// Database privileges.
    pub grants: Vec<DbGrant>,
}

impl AccountState {
    /// The account of exactly that name.
    pub fn find(&self, user: &str, host: &str) -> Option<&Account> {
        self.accounts
            .iter()
            .find(|a| a.user == user && a.host.eq_ignore_ascii_case(host))
    }

    fn sort(&mut self) {
        // A host without wildcards comes before one with; a longer pattern before a shorter one; a named user
        // before the anonymous one.
        self.accounts.sort_by_key(|a| {
            let wild = a.host.contains(['%', '_']);
            (
                wild,
                std::cmp::Reverse(a.host.len()),
                a.user.is_empty(),
                a.user.clone(),
            )
        });
    }

    /// Whether the account may do something in a database: it has a global privilege, or one on the database.
    pub fn may_use(&self, user: &str, host: &str, db: &str) -> bool {
        self.find(user, host)
            .is_some_and(|a| !a.privileges.is_empty())
            || self.grants.iter().any(|g| {
                g.user == user
                    && g.host.eq_ignore_ascii_case(host)
                    && !g.privileges.is_empty()
                    && matches_pattern(&g.db, db)
            })
    }
}

/// LIKE over names: `%` any run, `_` any character, `\` takes the next literally.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    types::CollationId::UTF8MB4_BIN.like(
        name.as_bytes(),
        pattern.as_bytes(),
        Some(u32::from(b'\\')),
    )
}

fn host_matches(pattern: &str, host: &str) -> bool {
    pattern.is_empty()
        || pattern.eq_ignore_ascii_case(host)
        || types::CollationId::UTF8MB4_GENERAL_CI.like(host.as_bytes(), pattern.as_bytes(), None)
}

/// The accounts of a server.
pub struct Accounts {
    state: RwLock<Arc<AccountState>>,
    /// Number of the next reading of the tables, and of the one in `state`: a reading that began earlier never
    /// replaces one that began later.
    readings: Mutex<(u64, u64)>,
    /// Grows with every new state.
    version: AtomicU64,
}

impl Accounts {
    /// Makes the tables and `root@localhost` on first start, and reads what there is.
    ///
    /// # Errors
    /// What the engine fails with.
    pub async fn open(engine: &Arc<Engine>, now_us: i64) -> Result<Accounts, SqlError> {
        store::prepare(engine, now_us).await?;
        let a = Accounts {
            state: RwLock::default(),
            readings: Mutex::default(),
            version: AtomicU64::new(0),
        };
        a.reload(engine).await?;
        Ok(a)
    }

    /// The accounts as of now.
    pub fn snapshot(&self) -> Arc<AccountState> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A number that differs whenever the accounts may differ.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Reads the tables again (FLUSH PRIVILEGES).
    ///
    /// # Errors
    /// What the engine fails with.
    pub async fn reload(&self, engine: &Arc<Engine>) -> Result<(), SqlError> {
        let mine = {
            let mut r = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
            r.0 += 1;
            r.0
        };
        let mut state = store::read(engine).await?;
        state.sort();
        let mut r = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        if r.1 < mine {
            r.1 = mine;
            *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
            self.version.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    /// The account that a login as `user` from `host` (a name or an address) belongs to.
    pub fn lookup(&self, user: &str, host: &str) -> Option<UserRecord> {
        let state = self.snapshot();
        let a = state
            .accounts
            .iter()
            .find(|a| (a.user.is_empty() || a.user == user) && host_matches(&a.host, host))?;
        Some(UserRecord {
            user: a.user.clone(),
            host: a.host.clone(),
            plugin: a.plugin.clone(),
            auth_string: a.auth_string.clone(),
            locked: a.locked,
            tls: TlsRequirement::None,
        })
    }

    /// Replaces the state by what `change` makes of it: writes the difference, then reads the tables again.
    async fn change(
        &self,
        engine: &Arc<Engine>,
        change: impl FnOnce(&mut AccountState) -> Result<(), SqlError> + Send,
    ) -> Result<(), SqlError> {
        let old = self.snapshot();
        let mut new = AccountState::clone(&old);
        change(&mut new)?;
        if new != *old {
            store::write(engine, &old, &new).await?;
            self.reload(engine).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str, host: &str) -> Account {
        Account {
            user: user.to_owned(),
            host: host.to_owned(),
            plugin: String::new(),
            auth_string: Vec::new(),
            privileges: PrivSet::default(),
            dynamic: Vec::new(),
            locked: false,
            expired: false,
        }
    }

    #[test]
    fn the_most_specific_account_is_taken() {
        let mut s = AccountState {
            accounts: vec![
                account("u", "%"),
                account("u", "10.%"),
                account("u", "localhost"),
            ],
            grants: Vec::new(),
        };
        s.sort();
        let accounts = Accounts {
            state: RwLock::new(Arc::new(s)),
            readings: Mutex::default(),
            version: AtomicU64::new(0),
        };
        let host = |h: &str| accounts.lookup("u", h).map(|r| r.host);
        assert_eq!(host("localhost").as_deref(), Some("localhost"));
        assert_eq!(host("10.1.2.3").as_deref(), Some("10.%"));
        assert_eq!(host("example.org").as_deref(), Some("%"));
        assert!(accounts.lookup("v", "localhost").is_none());
    }

    #[test]
    fn a_database_grant_may_be_a_pattern() {
        let s = AccountState {
            accounts: vec![account("u", "%")],
            grants: vec![DbGrant {
                user: "u".into(),
                host: "%".into(),
                db: r"app\_%".into(),
                privileges: PrivSet::all_db(),
            }],
        };
        assert!(s.may_use("u", "%", "app_one"));
        assert!(!s.may_use("u", "%", "application"));
    }
}
