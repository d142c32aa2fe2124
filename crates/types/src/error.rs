//! Errors and warnings as a MySQL client sees them: a number, a SQLSTATE and a message.
//!
//! Every crate above converts its failures into [`SqlError`] before they reach a client. This module never logs, never
//! decides whether an error aborts a statement or a transaction, and keeps no list of warnings: the session does.

pub mod codes;
mod ctors;
mod state;

pub use codes::CodeInfo;
pub use state::SqlState;
use std::fmt;

/// An error as it is sent to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's error number, such as 1062.
    pub code: u16,
    /// Five characters of SQLSTATE.
    pub sqlstate: SqlState,
    /// The text, already filled in.
    pub message: String,
}

/// Result whose error is a [`SqlError`].
pub type SqlResult<T> = Result<T, SqlError>;

impl SqlError {
    /// An error with the SQLSTATE that belongs to `code` (`HY000` for an unknown code).
    #[cold]
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            sqlstate: SqlState::of(codes::sqlstate(code)),
            message: message.into(),
        }
    }

    /// The same under another SQLSTATE: that of a signal.
    #[must_use]
    pub fn with_state(self, sqlstate: SqlState) -> Self {
        Self { sqlstate, ..self }
    }

    /// An error whose message is the fixed text of its code (codes without placeholders).
    #[cold]
    pub fn fixed(code: u16) -> Self {
        Self::new(
            code,
            codes::info(code).map_or("Unknown error", |c| c.template),
        )
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ERROR {} ({}): {}",
            self.code, self.sqlstate, self.message
        )
    }
}

impl std::error::Error for SqlError {}

/// Severity shown by `SHOW WARNINGS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Informational.
    Note,
    /// The statement went on with an adjusted value.
    Warning,
    /// The statement failed.
    Error,
}

impl Level {
    /// `Note`, `Warning` or `Error`.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        }
    }
}

/// One line of `SHOW WARNINGS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Severity.
    pub level: Level,
    /// MySQL's error number.
    pub code: u16,
    /// The text.
    pub message: String,
}

impl Warning {
    /// A line of the given severity.
    #[cold]
    pub fn new(level: Level, code: u16, message: impl Into<String>) -> Self {
        Self {
            level,
            code,
            message: message.into(),
        }
    }

    /// The same number and text as an error, as a warning.
    #[cold]
    pub fn from_error(e: SqlError) -> Self {
        Self::new(Level::Warning, e.code, e.message)
    }
}
