//! Why a server does not start, or does not end well.

use std::fmt;

use tidemill::open::OpenFailure;

/// Why the server did not start, or did not end well.
#[derive(Debug)]
pub enum ServeError {
    /// The directory cannot be opened.
    Open(OpenFailure),
    /// A socket, a thread or a file of the operating system.
    System(String),
    /// The last writes failed; what was acknowledged is in the log.
    Close(types::SqlError),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Open(e) => e.fmt(f),
            ServeError::System(text) => f.write_str(text),
            ServeError::Close(e) => write!(f, "the shutdown is not clean: {e}"),
        }
    }
}

impl std::error::Error for ServeError {}

/// An error of the operating system, and what it stands in the way of.
pub(super) fn system(what: &str) -> impl FnOnce(std::io::Error) -> ServeError {
    let what = what.to_owned();
    move |e| ServeError::System(format!("{what}: {e}"))
}
