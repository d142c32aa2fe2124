//! Why what a statement wishes of the files is not done.
//!
//! What it never does: say it to clients. Whoever asks makes an error of it.

use std::fmt;

/// Why a request is not granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The system is short of something.
    Short(Lack),
    /// No files are made any more, and why.
    Over(String),
}

/// What the system is short of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The file that could not be written.
    pub file: String,
    /// The system's number, and what it says.
    pub error: (i32, String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Refusal {
        Refusal::Over(why)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Short(lack) => write!(f, "{}: {}", lack.file, lack.error.1),
            Refusal::Over(why) => f.write_str(why),
        }
    }
}
