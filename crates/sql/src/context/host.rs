//! What only the program knows that the server runs in: its threads, and what it has written to its log. A server that has them says so; an embedded database
//! has none.
//!
//! Never here: files, the operating system.

/// A thread of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostThread {
    /// Its name.
    pub name: String,
    /// Its number in the operating system.
    pub os_id: u64,
}

/// How much somebody should look at a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Something failed.
    Error,
    /// Something was not done as asked.
    Warning,
    /// For the record.
    Note,
}

impl Priority {
    /// The word of `performance_schema`.
    pub fn as_str(self) -> &'static str {
        match self {
            Priority::Error => "Error",
            Priority::Warning => "Warning",
            Priority::Note => "Note",
        }
    }
}

/// A line of the server's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// In microseconds since 1970.
    pub at_us: i64,
    /// See there.
    pub priority: Priority,
    /// What it says.
    pub text: String,
}

/// The program around the server.
pub trait Host: Send + Sync {
    /// Its threads.
    fn threads(&self) -> Vec<HostThread>;

    /// The last lines of the log, the oldest first.
    fn log_lines(&self) -> Vec<LogLine>;
}
