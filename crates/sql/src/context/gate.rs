//! What stands between a session and its statements beside privileges: an expired password, after which only a new one is
//! accepted, and the account's limits an hour.
//!
//! A session of an account with neither pays nothing: it is not gated. Never here: which statement is let pass.

use types::SqlError;
use types::error::codes;

use sql_access::account::Limits;
use sql_access::login::{Login, Usage};

/// The state of a session's gate.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// The password has expired: nothing but a new one is accepted.
    pub(crate) expired: bool,
    pub(crate) limits: Limits,
    /// Its client has said what its transactions are called (`gtid_next`).
    pub(crate) named: bool,
    /// The session's part in what its account uses; while it is here it counts as a connection.
    pub(crate) usage: Option<Usage>,
}

impl Gate {
    /// Of a login. What was there before is given back.
    pub(crate) fn of(login: Login) -> Gate {
        Gate {
            expired: login.expired,
            limits: Limits::default(),
            named: false,
            usage: Some(login.usage),
        }
    }

    /// Whether statements have to be admitted.
    #[inline]
    pub(crate) fn is_shut(&self) -> bool {
        self.expired || self.named || self.limits.questions != 0 || self.limits.updates != 0
    }

    /// Refuses whatever is no statement while the password is an expired one.
    ///
    /// # Errors
    /// 1820.
    pub(crate) fn admit_command(&self) -> Result<(), SqlError> {
        match self.expired {
            true => Err(expired()),
            false => Ok(()),
        }
    }
}

/// 1820.
pub(crate) fn expired() -> SqlError {
    SqlError::new(
        codes::ER_MUST_CHANGE_PASSWORD,
        "You must reset your password using ALTER USER statement before executing this statement.",
    )
}
