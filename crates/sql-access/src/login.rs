//! Who logs in as which account, and whether that account takes him: everything about a login but its packets and proofs.
//!
//! In this order: the account is chosen ([`Attempt`]), the client proves its password (the server's business), and
//! [`Logins::decide`] says what follows. Before the password is proved an account that does not exist, one that is locked and a
//! wrong password get the same answer; an account that is blocked after failed attempts says so whatever the password, so that nobody can go
//! on guessing. Never here: a packet, a hash that is computed.

use base::lock::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use types::SqlError;
use types::error::codes;

use super::account::{Account, AccountId, AccountState, Limits};
use super::password::has_expired;

const DAY_US: i64 = 86_400 * 1_000_000;
const HOUR_US: i64 = 3_600 * 1_000_000;

/// Somebody who says who he is.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The user name as the client says it.
    pub user: String,
    /// Where the client is.
    pub host: String,
    /// The account that this belongs to; `None` for nobody's.
    pub account: Option<Arc<Account>>,
}

impl Attempt {
    /// Chooses the account. A client of this machine is known as `localhost` and by its address.
    pub fn new(state: &AccountState, user: &str, host: &str, address: Option<&str>) -> Attempt {
        let mut hosts = vec![host];
        hosts.extend(address.filter(|a| *a != host));
        Attempt {
            user: user.to_owned(),
            host: host.to_owned(),
            account: state.for_login(user, &hosts).map(Arc::clone),
        }
    }

    /// Error 1045.
    pub fn denied(&self, password: bool) -> SqlError {
        SqlError::access_denied(&self.user, &self.host, password)
    }
}

/// What a login is decided by, beside the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// Microseconds since 1970.
    pub now_us: i64,
    /// `default_password_lifetime`
    pub default_lifetime: u16,
    /// `disconnect_on_expired_password`
    pub disconnect_on_expired: bool,
    /// `max_user_connections`; 0 for no limit.
    pub max_user_connections: u32,
    /// The client can do what an expired password leaves to be done (CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS).
    pub handles_expired: bool,
}

/// An account that took somebody. While this lives it counts as a connection of the account.
#[derive(Debug)]
pub struct Login {
    /// The account.
    pub account: AccountId,
    /// The user name as the client said it.
    pub user: String,
    /// Where the client is.
    pub host: String,
    /// Nothing but a new password is to be accepted.
    pub expired: bool,
    /// What the account has used.
    pub usage: Usage,
}

/// A connection's part in what its account uses.
#[derive(Debug)]
pub struct Usage(Arc<Counts>);

impl Drop for Usage {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What an account uses.
#[derive(Debug, Default)]
struct Counts {
    /// Connections open now.
    connections: AtomicU32,
    hour: Mutex<HourlyUsage>,
}

/// What an account used since the hour began.
#[derive(Debug, Clone, Copy, Default)]
struct HourlyUsage {
    began_us: i64,
    connections: u32,
    questions: u32,
    updates: u32,
}

impl HourlyUsage {
    /// Begins a new hour where the old one is over, or lies ahead of a clock that was put back.
    fn turn(&mut self, now_us: i64) {
        if now_us - self.began_us >= HOUR_US || now_us < self.began_us {
            *self = HourlyUsage {
                began_us: now_us,
                ..HourlyUsage::default()
            };
        }
    }
}

/// 1226.
fn exceeded(user: &str, resource: &str, limit: u32) -> SqlError {
    SqlError::new(
        codes::ER_USER_LIMIT_REACHED,
        format!("User '{user}' has exceeded the '{resource}' resource (current value: {limit})"),
    )
}

impl Usage {
    /// Counts a statement, and one that changes something.
    ///
    /// # Errors
    /// 1226.
    pub fn spend(
        &self,
        user: &str,
        limits: Limits,
        changes: bool,
        now_us: i64,
    ) -> Result<(), SqlError> {
        if limits.questions == 0 && (limits.updates == 0 || !changes) {
            return Ok(());
        }
        let mut hour = self.0.hour.lock();
        hour.turn(now_us);
        if limits.questions > 0 && hour.questions >= limits.questions {
            return Err(exceeded(user, "max_questions", limits.questions));
        }
        if changes && limits.updates > 0 && hour.updates >= limits.updates {
            return Err(exceeded(user, "max_updates", limits.updates));
        }
        hour.questions = hour.questions.saturating_add(1);
        if changes {
            hour.updates = hour.updates.saturating_add(1);
        }
        Ok(())
    }
}

/// Failed logins of an account, one after another.
#[derive(Debug, Clone, Copy, Default)]
struct Failures {
    count: u32,
    /// It is blocked since then.
    blocked_us: Option<i64>,
}

/// What is remembered of logins; nothing of it outlives the server, as in MySQL.
#[derive(Debug, Default)]
pub struct Logins {
    failures: Mutex<HashMap<AccountId, Failures>>,
    counts: Mutex<HashMap<AccountId, Arc<Counts>>>,
}

impl Logins {
    /// Forgets the failed logins of an account: its password or its lock was changed, it is no more.
    pub fn forget(&self, id: &AccountId) {
        self.failures.lock().remove(id);
    }

    /// Forgets the failed logins of all accounts (FLUSH PRIVILEGES).
    pub fn forget_failures(&self) {
        self.failures.lock().clear();
    }

    /// Begins everybody's hour anew (FLUSH USER_RESOURCES).
    pub fn flush_resources(&self) {
        let mut counts = self.counts.lock();
        counts.retain(|_, c| Arc::strong_count(c) > 1);
        for c in counts.values() {
            *c.hour.lock() = HourlyUsage::default();
        }
    }

    /// Says what becomes of an attempt, `proved` being whether the client knows the password, and `password` whether it used one.
    ///
    /// # Errors
    /// 1045, 3955, 3118, 1226, 1203, 1862.
    pub fn decide(
        &self,
        attempt: &Attempt,
        proved: bool,
        password: bool,
        settings: Settings,
    ) -> Result<Login, SqlError> {
        let Some(a) = &attempt.account else {
            return Err(attempt.denied(password));
        };
        self.check_failures(attempt, a, proved, settings.now_us)?;
        if !proved {
            return Err(attempt.denied(password));
        }
        if a.locked {
            return Err(SqlError::new(
                codes::ER_ACCOUNT_HAS_BEEN_LOCKED,
                format!(
                    "Access denied for user '{}'@'{}'. Account is locked.",
                    attempt.user, attempt.host
                ),
            ));
        }
        let expired = has_expired(a, settings.default_lifetime, settings.now_us);
        if expired && settings.disconnect_on_expired && !settings.handles_expired {
            return Err(SqlError::new(
                codes::ER_MUST_CHANGE_PASSWORD_LOGIN,
                "Your password has expired. To log in you must change it using a client that supports expired passwords.",
            ));
        }
        Ok(Login {
            account: a.id.clone(),
            user: attempt.user.clone(),
            host: attempt.host.clone(),
            expired,
            usage: self.connect(&a.id, &a.limits, settings)?,
        })
    }

    /// Counts failed attempts, and refuses an account that had too many.
    fn check_failures(
        &self,
        attempt: &Attempt,
        a: &Account,
        proved: bool,
        now_us: i64,
    ) -> Result<(), SqlError> {
        let most = u32::from(a.password.failed_attempts);
        let days = a.password.lock_days;
        if most == 0 || days == Some(0) {
            return Ok(());
        }
        let mut all = self.failures.lock();
        let f = all.entry(a.id.clone()).or_default();
        if let Some((since, days)) = f.blocked_us.zip(days)
            && now_us >= since.saturating_add(i64::from(days) * DAY_US)
        {
            *f = Failures::default();
        }
        if f.blocked_us.is_none() && !proved {
            f.count += 1;
            if f.count >= most {
                f.blocked_us = Some(now_us);
            }
        }
        let Some(since) = f.blocked_us else {
            if proved {
                all.remove(&a.id);
            }
            return Ok(());
        };
        let (whole, rest) = match days {
            None => ("unlimited".to_owned(), "unlimited".to_owned()),
            Some(days) => {
                let gone = (now_us - since).max(0) / DAY_US;
                (days.to_string(), (i64::from(days) - gone).to_string())
            }
        };
        Err(SqlError::new(
            codes::ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK,
            format!(
                "Access denied for user '{}'@'{}'. Account is blocked for {whole} day(s) ({rest} day(s) remaining) due to {} \
                 consecutive failed logins.",
                attempt.user, attempt.host, f.count
            ),
        ))
    }

    /// One connection more.
    fn connect(
        &self,
        id: &AccountId,
        limits: &Limits,
        settings: Settings,
    ) -> Result<Usage, SqlError> {
        let counts = Arc::clone(self.counts.lock().entry(id.clone()).or_default());
        // Counted before it is compared: of two at the same time both see both.
        let usage = Usage(Arc::clone(&counts));
        let open = counts.connections.fetch_add(1, Ordering::AcqRel) + 1;
        if limits.user_connections > 0 {
            if open > limits.user_connections {
                let limit = limits.user_connections;
                return Err(exceeded(&id.user, "max_user_connections", limit));
            }
        } else if settings.max_user_connections > 0 && open > settings.max_user_connections {
            return Err(SqlError::new(
                codes::ER_TOO_MANY_USER_CONNECTIONS,
                format!(
                    "User {} already has more than 'max_user_connections' active connections",
                    id.user
                ),
            ));
        }
        let mut hour = counts.hour.lock();
        hour.turn(settings.now_us);
        if limits.connections > 0 && hour.connections >= limits.connections {
            let limit = limits.connections;
            return Err(exceeded(&id.user, "max_connections_per_hour", limit));
        }
        hour.connections = hour.connections.saturating_add(1);
        std::mem::drop(hour);
        Ok(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(a: &Account) -> Attempt {
        let mut state = AccountState::default();
        state.put(a.clone());
        Attempt::new(&state, "u", "h", None)
    }

    fn account() -> Account {
        Account {
            id: AccountId::new("u", "%"),
            ..Account::default()
        }
    }

    fn at(now_us: i64) -> Settings {
        Settings {
            now_us,
            disconnect_on_expired: true,
            ..Settings::default()
        }
    }

    fn code(r: Result<Login, SqlError>) -> u16 {
        r.map_or_else(|e| e.code, |_| 0)
    }

    #[test]
    fn nobody_a_locked_one_and_a_wrong_password_look_the_same() {
        let logins = Logins::default();
        let nobody = Attempt::new(&AccountState::default(), "u", "h", None);
        let locked = attempt(&Account {
            locked: true,
            ..account()
        });
        let wrong = |a: &Attempt| {
            logins
                .decide(a, false, true, at(0))
                .map(|_| ())
                .unwrap_err()
        };
        assert_eq!(wrong(&nobody), wrong(&locked));
        assert_eq!(wrong(&nobody), wrong(&attempt(&account())));
        assert_eq!(wrong(&nobody).code, 1045);
        assert_eq!(code(logins.decide(&locked, true, true, at(0))), 3118);
        // Nobody is nobody, whatever was proved.
        assert_eq!(code(logins.decide(&nobody, true, true, at(0))), 1045);
    }

    #[test]
    fn too_many_failures_block_an_account_for_days() {
        let logins = Logins::default();
        let mut a = account();
        a.password.failed_attempts = 2;
        a.password.lock_days = Some(2);
        let a = attempt(&a);
        let login = |proved, now| code(logins.decide(&a, proved, true, at(now)));
        assert_eq!(login(false, 0), 1045);
        assert_eq!(login(true, 0), 0);
        assert_eq!(login(false, 0), 1045);
        assert_eq!(login(false, 0), 3955);
        assert_eq!(login(true, 0), 3955);
        let e = logins.decide(&a, true, true, at(DAY_US)).unwrap_err();
        assert_eq!(
            e.message,
            "Access denied for user 'u'@'h'. Account is blocked for 2 day(s) (1 day(s) remaining) due to 2 consecutive failed logins."
        );
        assert_eq!(login(true, 2 * DAY_US), 0);
        assert_eq!(login(false, 0), 1045);
        assert_eq!(login(false, 0), 3955);
        logins.forget(&AccountId::new("u", "%"));
        assert_eq!(login(true, 0), 0);
        let mut forever = account();
        forever.password.failed_attempts = 1;
        forever.password.lock_days = None;
        let forever = attempt(&forever);
        let login = |proved| code(logins.decide(&forever, proved, true, at(i64::MAX)));
        assert_eq!((login(false), login(true)), (3955, 3955));
        logins.forget_failures();
        assert_eq!(login(true), 0);
    }

    #[test]
    fn an_expired_password_needs_a_client_that_can_change_it() {
        let logins = Logins::default();
        let mut a = account();
        a.password.expired = true;
        let a = attempt(&a);
        assert_eq!(code(logins.decide(&a, true, true, at(0))), 1862);
        let able = Settings {
            handles_expired: true,
            ..at(0)
        };
        assert!(logins.decide(&a, true, true, able).unwrap().expired);
        let kept = Settings {
            disconnect_on_expired: false,
            ..at(0)
        };
        assert!(logins.decide(&a, true, true, kept).unwrap().expired);
    }

    #[test]
    fn connections_are_counted_per_account() {
        let logins = Logins::default();
        let mut a = account();
        a.limits.user_connections = 1;
        a.limits.connections = 3;
        let a = attempt(&a);
        let login = |now| logins.decide(&a, true, true, at(now));
        let first = login(0).unwrap();
        let e = login(0).unwrap_err();
        assert_eq!(
            e.message,
            "User 'u' has exceeded the 'max_user_connections' resource (current value: 1)"
        );
        drop(first);
        assert_eq!(code(login(0)), 0);
        assert_eq!(code(login(0)), 0);
        let e = login(0).unwrap_err();
        assert!(e.message.contains("'max_connections_per_hour'"), "{e}");
        assert_eq!(code(login(HOUR_US)), 0);
        logins.flush_resources();
        assert_eq!(code(login(HOUR_US)), 0);
        let plain = attempt(&account());
        let limited = Settings {
            max_user_connections: 1,
            ..at(2 * HOUR_US)
        };
        let one = logins.decide(&plain, true, true, limited).unwrap();
        assert_eq!(code(logins.decide(&plain, true, true, limited)), 1203);
        drop(one);
    }

    #[test]
    fn statements_are_counted_by_the_hour() {
        let logins = Logins::default();
        let limits = Limits {
            questions: 3,
            updates: 1,
            ..Limits::default()
        };
        let a = attempt(&account());
        let login = logins.decide(&a, true, true, at(0)).unwrap();
        let other = logins.decide(&a, true, true, at(0)).unwrap();
        let spend = |l: &Login, changes, now| {
            let r = l.usage.spend("u", limits, changes, now);
            r.map_or_else(|e| e.code, |()| 0)
        };
        assert_eq!(spend(&login, true, 0), 0);
        assert_eq!(spend(&other, true, 0), 1226);
        assert_eq!(spend(&other, false, 0), 0);
        assert_eq!(spend(&login, false, 0), 0);
        assert_eq!(spend(&login, false, 0), 1226);
        assert_eq!(spend(&login, true, HOUR_US), 0);
    }
}
