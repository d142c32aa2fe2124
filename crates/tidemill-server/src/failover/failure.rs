//! Why nothing came of a promotion, and what its user is told meanwhile.

use std::io::Write;

/// Why nothing came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// A server cannot be reached, or something would be lost. The text says what was done by then.
    Refused(String),
}

impl Failure {
    pub(super) fn refused(text: impl Into<String>) -> Failure {
        Failure::Refused(text.into())
    }
}

/// A line for the user.
pub(super) fn say(out: &mut dyn Write, line: impl std::fmt::Display) {
    // Whoever does not listen is promoted for all the same.
    let _unheard = writeln!(out, "{line}").and_then(|()| out.flush());
}
