//! Whether clients may change anything that lasts: `read_only` and `super_read_only` of the server.
//!
//! A statement looks when it begins, a transaction again when it commits, and a change of definitions when it has the DDL mutex. Whoever
//! raises the fence [locks the server for reading](crate::session::Session::lock_server_for_reading) meanwhile. So each commit is either before the fence
//! is raised, and all that it has done is there by then, or it looks after that and is refused. The same holds for definitions: the lock of the server
//! is not given while somebody has the DDL mutex.
//!
//! A prepared branch is a promise. So who raises the fence lets those be ended for a while that are there ([`Session::let_branches_end`](crate::session::Session::let_branches_end)), while nothing
//! else is changed and none is prepared any more. What is prepared after that stays so until the fence goes down: its coordinator has gone.
//!
//! Must never do: refuse what the server does by itself, or what it applies of another server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use types::SqlError;
use types::error::codes;

/// Who is kept from changing anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Fence {
    /// Nobody.
    Open,
    /// Clients without administrative rights (`read_only`).
    Clients,
    /// All clients (`super_read_only`).
    AllClients,
}

/// For whom a session works, and so which fence it passes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Rank {
    /// A client without administrative rights.
    Client,
    /// A client with SUPER or CONNECTION_ADMIN.
    Administrator,
    /// The server itself, or another server of which it applies the changes.
    Server,
}

/// The fence of an engine.
#[derive(Default)]
pub(crate) struct FenceState {
    fence: AtomicU8,
    /// How many who raise it let branches be ended.
    draining: AtomicU32,
}

/// Prepared branches may be ended behind the fence, until this is dropped.
pub struct Draining(Arc<FenceState>);

impl Drop for Draining {
    fn drop(&mut self) {
        self.0.draining.fetch_sub(1, Ordering::Release);
    }
}

impl FenceState {
    /// Who is kept from changing anything.
    pub(crate) fn get(&self) -> Fence {
        match self.fence.load(Ordering::Acquire) {
            0 => Fence::Open,
            1 => Fence::Clients,
            _ => Fence::AllClients,
        }
    }

    pub(crate) fn set(&self, fence: Fence) {
        self.fence.store(fence as u8, Ordering::Release);
    }

    /// Whether somebody does.
    pub(crate) fn drains(&self) -> bool {
        self.draining.load(Ordering::Acquire) > 0
    }

    /// Lets prepared branches be ended behind it.
    pub(crate) fn drain(self: &Arc<Self>) -> Draining {
        self.draining.fetch_add(1, Ordering::AcqRel);
        Draining(self.clone())
    }

    /// Whether somebody of this rank is stopped.
    ///
    /// # Errors
    /// 1290.
    #[inline]
    pub(crate) fn check(&self, rank: Rank) -> Result<(), SqlError> {
        let fence = self.get();
        match fence.stops(rank) {
            true => Err(fence.error()),
            false => Ok(()),
        }
    }

    /// The same for the end of a prepared branch.
    ///
    /// # Errors
    /// 1290.
    pub(crate) fn check_of_branch(&self, rank: Rank) -> Result<(), SqlError> {
        match self.drains() {
            false => self.check(rank),
            true => Ok(()),
        }
    }
}

impl Fence {
    fn stops(self, rank: Rank) -> bool {
        self as u8 > rank as u8
    }

    /// 1290, with the option in the way.
    fn error(self) -> SqlError {
        let option = match self {
            Fence::AllClients => "--super-read-only",
            _ => "--read-only",
        };
        SqlError::new(
            codes::ER_OPTION_PREVENTS_STATEMENT,
            format!(
                "The MySQL server is running with the {option} option so it cannot execute this statement"
            ),
        )
    }
}
