//! What opening a directory found, and why it could not.

use crate::control;
use crate::error::OpError;
use base::{Lsn, PageNo, SpaceId};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a directory cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The device failed.
    Io(io::Error),
    /// Another process has it open.
    InUse,
    /// Written by a newer program (format version).
    Newer(u32),
    /// Something needed is missing or damaged: what, in words.
    Damaged(String),
    /// A page operation failed.
    Op(OpError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(e) => write!(f, "{e}"),
            OpenError::InUse => write!(f, "another process has this directory open"),
            OpenError::Newer(v) => {
                write!(
                    f,
                    "the directory has format {v}, this program knows up to {}",
                    control::FORMAT
                )
            }
            OpenError::Damaged(s) => write!(f, "{s}"),
            OpenError::Op(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<io::Error> for OpenError {
    fn from(e: io::Error) -> Self {
        OpenError::Io(e)
    }
}

impl From<OpError> for OpenError {
    fn from(e: OpError) -> Self {
        OpenError::Op(e)
    }
}

/// What opening found and did.
#[derive(Debug, Default, Clone)]
pub struct Report {
    /// The directory was made now.
    pub created: bool,
    /// The last shutdown was clean.
    pub clean: bool,
    /// Redo started here and the log ended there.
    pub redo_from: Lsn,
    /// End of the log found.
    pub log_end: Lsn,
    /// The checkpoint record, or none.
    pub checkpoint: Lsn,
    /// Time that the first pass over the log took, and the second, in microseconds.
    pub scan_us: u64,
    /// See `scan_us`.
    pub redo_us: u64,
    /// Records read, page operations carried out, operations found already done.
    pub records: u64,
    /// See `records`.
    pub applied: u64,
    /// See `records`.
    pub skipped: u64,
    /// Pages put back from the doublewrite file.
    pub restored_pages: u64,
    /// Operations on tablespaces that no longer exist, by tablespace.
    pub missing_spaces: BTreeMap<u32, u64>,
    /// Pages that cannot be brought up to date, with the reason.
    pub damaged: Vec<(SpaceId, PageNo, String)>,
    /// Highest tablespace id met in files or log.
    pub max_space: u32,
    /// Tablespace files that cannot be read.
    pub unreadable_files: Vec<PathBuf>,
    /// Files that a creation may have left which was cut short: none of their pages is whole.
    pub uncommitted_files: Vec<PathBuf>,
    /// The copy of the control file that is damaged, in words: the other one was used.
    pub control_damaged: Option<String>,
}
