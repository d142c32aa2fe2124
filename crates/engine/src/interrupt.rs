//! KILL: a flag that a session's waits and scans look at, and the way to wake a session that waits. And what a session lets be known of
//! itself while a statement runs.

use crate::lock::LockTable;
use crate::progress::Progress;
use base::{Event, TxnId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use types::SqlError;

const QUERY: u8 = 1;
const CONNECTION: u8 = 2;

/// Shared by a session and whoever may kill it.
pub struct Interrupt {
    flags: AtomicU8,
    pub(crate) txid: AtomicU64,
    /// Fired by a kill.
    pub event: Event,
    /// How far the session's definition change has come.
    pub progress: Progress,
    locks: Arc<LockTable>,
}

impl Interrupt {
    pub(crate) fn new(locks: Arc<LockTable>) -> Interrupt {
        Interrupt {
            flags: AtomicU8::new(0),
            txid: AtomicU64::new(0),
            event: Event::new(),
            progress: Progress::default(),
            locks,
        }
    }

    fn set(&self, f: u8) {
        self.flags.fetch_or(f, Ordering::SeqCst);
        self.event.fire();
        let t = TxnId(self.txid.load(Ordering::SeqCst));
        if t != TxnId::NONE {
            self.locks.kill(t);
        }
    }

    /// Ends the running statement with 1317.
    pub fn kill_query(&self) {
        self.set(QUERY);
    }

    /// Ends the running statement; the connection is to be closed.
    pub fn kill_connection(&self) {
        self.set(CONNECTION | QUERY);
    }

    /// A statement begins: a kill that came between statements does not hit it.
    pub fn clear_query(&self) {
        self.flags.fetch_and(!QUERY, Ordering::SeqCst);
    }

    /// The statement is to end.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.flags.load(Ordering::Relaxed) != 0
    }

    /// The connection is to end.
    pub fn connection_killed(&self) -> bool {
        self.flags.load(Ordering::SeqCst) & CONNECTION != 0
    }

    /// 1317 if the statement is to end.
    #[inline]
    pub fn check(&self) -> Result<(), SqlError> {
        if self.is_set() {
            Err(SqlError::query_interrupted())
        } else {
            Ok(())
        }
    }
}
