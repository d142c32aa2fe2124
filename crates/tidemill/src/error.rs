//! What can go wrong for a program that embeds the database.

use std::fmt;

use types::SqlError;

use crate::open::OpenFailure;

/// What kind of thing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A statement: [`Error::code`] and [`Error::sqlstate`] are MySQL's.
    Sql,
    /// Another process owns the directory.
    InUse,
    /// The directory cannot be opened.
    Open,
    /// A value is not of the type it was asked as, or there is no such column.
    Value,
    /// The call does not fit the state of the connection.
    Usage,
}

/// An error of the embedded library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    code: u16,
    sqlstate: types::error::SqlState,
    message: String,
}

/// The result of most calls.
pub type Result<T> = std::result::Result<T, Error>;

/// ER_LOCK_DEADLOCK: the transaction was rolled back.
const DEADLOCK: u16 = 1213;
/// ER_LOCK_WAIT_TIMEOUT: the statement was rolled back.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            code: 0,
            sqlstate: types::error::SqlState::GENERAL,
            message: message.into(),
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Usage, message)
    }

    pub(crate) fn value(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Value, message)
    }

    /// What kind of thing failed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// MySQL's error number; 0 where no statement failed.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// MySQL's SQLSTATE; `HY000` where no statement failed.
    pub fn sqlstate(&self) -> &str {
        &self.sqlstate
    }

    /// The text.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same transaction may well succeed when it is run again from its start: it lost a conflict.
    pub fn is_retryable(&self) -> bool {
        matches!(self.code, DEADLOCK | LOCK_WAIT_TIMEOUT)
    }

    /// Whether the open transaction was rolled back as a whole.
    pub(crate) fn ends_transaction(&self) -> bool {
        self.code == DEADLOCK
    }
}

impl From<SqlError> for Error {
    fn from(e: SqlError) -> Error {
        Error {
            kind: ErrorKind::Sql,
            code: e.code,
            sqlstate: e.sqlstate,
            message: e.message,
        }
    }
}

impl From<OpenFailure> for Error {
    fn from(e: OpenFailure) -> Error {
        match e {
            OpenFailure::InUse(_) => Error::new(ErrorKind::InUse, e.to_string()),
            e => Error::new(ErrorKind::Open, e.to_string()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == ErrorKind::Sql {
            write!(
                f,
                "ERROR {} ({}): {}",
                self.code, self.sqlstate, self.message
            )
        } else {
            f.write_str(&self.message)
        }
    }
}

impl std::error::Error for Error {}
