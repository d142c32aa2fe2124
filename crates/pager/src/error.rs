//! What a synchronous operation answers when it cannot go on: something to wait for, or a failure that names its place.

use base::environment::shortage;
use base::{Lsn, PageNo, SpaceId};
use std::fmt;
use std::io;
use std::sync::Arc;

/// What records are for: who is refused first when the log has no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A transaction's change.
    Change,
    /// Part of no transaction: it tidies up, or prepares.
    Tidy,
    /// Undoes or ends a transaction.
    Undo,
}

/// What the shell must await before it runs the operation again. The operation has changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The page is not resident.
    Page(SpaceId, PageNo),
    /// The page, which is to be made anew, is being read in: whatever comes of that.
    Reading(SpaceId, PageNo),
    /// The log has to advance (its ring, its files or its checkpoint) before another record fits.
    LogSpace(Purpose),
    /// The record is no longer in the log's memory.
    LogRead(Lsn),
    /// The tablespace file has to grow.
    Grow(SpaceId),
    /// No frame is free.
    FreeFrame,
}

/// Why something could not be had of a file that is none of the directory's.
#[derive(Debug)]
pub enum ForeignError {
    /// The device failed, or there is no such file.
    Io(io::Error),
    /// It is no tablespace, or a damaged one.
    Damaged(&'static str),
    /// A page of it is damaged.
    Page(PageNo, &'static str),
}

impl From<io::Error> for ForeignError {
    fn from(e: io::Error) -> ForeignError {
        ForeignError::Io(e)
    }
}

/// Why a page operation gave no result.
#[derive(Clone, Debug)]
pub enum OpError {
    /// Await this and run the operation again.
    Wait(Wait),
    /// The page's bytes make no sense, or its checksum does not fit.
    Corrupt {
        /// The tablespace.
        space: SpaceId,
        /// The page.
        page: PageNo,
        /// What was found.
        why: &'static str,
    },
    /// A log record that must exist cannot be read.
    LogDamaged(Lsn),
    /// The device failed.
    Io(Arc<io::Error>),
    /// The system has too little of something, which may pass: the same may succeed later.
    Short(Arc<io::Error>),
    /// The tablespace cannot grow: the disk is full.
    SpaceFull(SpaceId),
    /// The log cannot grow: the disk is full, or something else is short.
    LogFull(Arc<io::Error>),
    /// The tablespace was dropped.
    Dropped(SpaceId),
}

impl OpError {
    /// Wraps an error of the system.
    pub fn io(e: io::Error) -> OpError {
        match shortage(&e) {
            None => OpError::Io(Arc::new(e)),
            Some(_) => OpError::Short(Arc::new(e)),
        }
    }
}

impl From<Wait> for OpError {
    fn from(w: Wait) -> OpError {
        OpError::Wait(w)
    }
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpError::Wait(w) => write!(f, "must wait: {w:?}"),
            OpError::Corrupt { space, page, why } => {
                write!(
                    f,
                    "page {} of tablespace {} is damaged: {why}",
                    page.0, space.0
                )
            }
            OpError::LogDamaged(l) => write!(f, "log record {l} cannot be read"),
            OpError::Io(e) => write!(f, "device error: {e}"),
            OpError::Short(e) => write!(f, "{e}"),
            OpError::SpaceFull(s) => write!(f, "no room to grow tablespace {}", s.0),
            OpError::LogFull(e) => write!(f, "the log cannot grow: {e}"),
            OpError::Dropped(s) => write!(f, "tablespace {} was dropped", s.0),
        }
    }
}

impl std::error::Error for OpError {}

/// What an operation is told that needs the tasks behind the pool after they have ended.
pub(crate) fn closed() -> OpError {
    OpError::io(io::Error::other("the storage was closed"))
}
