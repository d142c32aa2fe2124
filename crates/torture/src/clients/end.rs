//! How a line of the table ended, in the words of the table.

use std::fmt;

/// How a line ended on one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Passed,
    /// With this error, the first.
    Failed(String),
    /// It was not tried, for this reason.
    Skipped(String),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Passed => write!(f, "pass"),
            End::Failed(why) => write!(f, "FAIL: {why}"),
            End::Skipped(why) => write!(f, "skipped: {why}"),
        }
    }
}

/// What there is room for in a line of a table.
pub fn brief(text: &str) -> String {
    let plain = text.replace('|', "/");
    match plain.char_indices().nth(140) {
        Some((at, _)) => format!("{}...", &plain[..at]),
        None => plain,
    }
}
