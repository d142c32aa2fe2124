//! What ends a statement from outside: KILL, and the statement's deadline. A flag that a session's waits, scans and evaluations look at,
//! and the way to wake a session that waits. And what a session lets be known of itself while a statement runs.
//!
//! A statement without a deadline pays nothing for there being deadlines. The clock's timers cannot be taken back, and nearly every
//! statement ends long before its time is over; so a session has one alarm at a time, and the next statement uses it again.

use crate::lock::LockTable;
use crate::progress::Progress;
use crate::standing::Standing;
use crate::table_lock::TablesInUse;
use base::lock::{Mutex, MutexGuard};
use base::{Clock, Event, TxnId};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use types::{SqlError, Watch};

const QUERY: u8 = 1;
const CONNECTION: u8 = 2;
const TIMEOUT: u8 = 4;

/// The running statement's deadline, and when the clock rings next.
#[derive(Default)]
struct Timing {
    deadline: Option<u64>,
    armed: Option<u64>,
}

/// Shared by a session and whoever may kill it.
pub struct Interrupt {
    flags: AtomicU8,
    /// How many of its waits for others go on.
    waits: AtomicU32,
    pub(crate) txid: AtomicU64,
    /// Fired by a kill, and when the statement's time is over.
    pub event: Event,
    /// How far the session's definition change has come.
    pub progress: Progress,
    /// The session's transaction.
    pub standing: Standing,
    /// The tables that it uses.
    pub tables: TablesInUse,
    locks: Arc<LockTable>,
    clock: Arc<dyn Clock>,
    timing: Mutex<Timing>,
}

impl Interrupt {
    pub(crate) fn new(locks: Arc<LockTable>, clock: Arc<dyn Clock>) -> Interrupt {
        Interrupt {
            flags: AtomicU8::new(0),
            waits: AtomicU32::new(0),
            txid: AtomicU64::new(0),
            event: Event::new(),
            progress: Progress::default(),
            standing: Standing::default(),
            tables: TablesInUse::default(),
            locks,
            clock,
            timing: Mutex::default(),
        }
    }

    fn set(&self, f: u8) {
        self.flags.fetch_or(f, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        if !base::mutant!("killed-without-a-word") {
            self.event.fire();
        }
        let t = TxnId(self.txid.load(Ordering::SeqCst));
        if t != TxnId::NONE && !base::mutant!("lock-wait-of-the-killed-not-ended") {
            self.locks.kill(t);
        }
    }

    /// The session's transaction, if it has written or locked.
    pub fn txid(&self) -> Option<TxnId> {
        Some(TxnId(self.txid.load(Ordering::SeqCst))).filter(|t| *t != TxnId::NONE)
    }

    /// The session waits for others, or for a time that its user has set, until the result is dropped.
    pub fn waiting(&self) -> WaitsForOthers<'_> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        WaitsForOthers(self)
    }

    /// Whether it does.
    #[inline]
    pub fn waits_for_others(&self) -> bool {
        self.waits.load(Ordering::Relaxed) > 0
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

    /// Whether the statement may go on.
    ///
    /// # Errors
    /// 1317: the statement or the connection was killed; 3024: its time is over.
    #[inline]
    pub fn check(&self) -> Result<(), SqlError> {
        if self.is_set() {
            Err(self.error())
        } else {
            Ok(())
        }
    }

    #[cold]
    fn error(&self) -> SqlError {
        if self.flags.load(Ordering::SeqCst) == TIMEOUT {
            SqlError::query_timeout()
        } else {
            SqlError::query_interrupted()
        }
    }

    fn timing(&self) -> MutexGuard<'_, Timing> {
        self.timing.lock()
    }

    /// Ends the running statement with 3024 once `limit_us` microseconds have passed, unless the result is dropped before. `None` where
    /// the statement has a deadline already, which then stays.
    pub fn end_after(self: &Arc<Self>, limit_us: u64) -> Option<Deadline> {
        let at = self.clock.now_us().saturating_add(limit_us);
        let arm = {
            let mut t = self.timing();
            if t.deadline.is_some() {
                return None;
            }
            t.deadline = Some(at);
            let arm = t.armed.is_none_or(|a| at < a);
            if arm {
                t.armed = Some(at);
            }
            arm
        };
        if arm {
            self.arm(at);
        }
        Some(Deadline(self.clone()))
    }

    fn arm(self: &Arc<Self>, at: u64) {
        let alarm = Waker::from(Arc::new(Alarm(Arc::downgrade(self))));
        self.clock.wake_at(at, alarm);
    }

    /// The clock rang, for this statement's deadline or for one that was called off.
    fn ring(self: &Arc<Self>) {
        let now = self.clock.now_us();
        let mut over = false;
        let next = {
            let mut t = self.timing();
            if t.armed.is_some_and(|a| a <= now) {
                t.armed = None;
            }
            match t.deadline {
                Some(at) if at <= now => {
                    // Under the lock, so that a statement that ends now takes its flag along.
                    self.flags.fetch_or(TIMEOUT, Ordering::SeqCst);
                    over = true;
                    None
                }
                Some(at) if t.armed.is_none_or(|a| at < a) => {
                    t.armed = Some(at);
                    Some(at)
                }
                _ => None,
            }
        };
        if over {
            self.wake();
        }
        if let Some(at) = next {
            self.arm(at);
        }
    }
}

/// See [`Interrupt::waiting`].
pub struct WaitsForOthers<'i>(&'i Interrupt);

impl Drop for WaitsForOthers<'_> {
    fn drop(&mut self) {
        self.0.waits.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Watch for Interrupt {
    fn look(&self) -> Result<(), SqlError> {
        self.check()
    }
}

/// The running statement has a deadline, as long as this lives.
#[must_use = "a deadline that is dropped is called off"]
pub struct Deadline(Arc<Interrupt>);

impl Drop for Deadline {
    fn drop(&mut self) {
        let mut t = self.0.timing();
        t.deadline = None;
        self.0.flags.fetch_and(!TIMEOUT, Ordering::SeqCst);
    }
}

/// What the clock wakes: the interrupt, if its session is still there.
struct Alarm(Weak<Interrupt>);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        if let Some(interrupt) = self.0.upgrade() {
            interrupt.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::txn::TxnSystem;
    use base::mem::ManualClock;

    fn interrupt() -> (Arc<ManualClock>, Arc<Interrupt>) {
        let clock = Arc::new(ManualClock::default());
        let locks = LockTable::new(Arc::new(TxnSystem::new(TxnId(1))), clock.clone(), 1);
        (clock.clone(), Arc::new(Interrupt::new(locks, clock)))
    }

    fn code(i: &Interrupt) -> u16 {
        i.check().map_or_else(|e| e.code, |()| 0)
    }

    #[test]
    fn a_deadline_ends_its_statement_and_no_other() {
        let (clock, i) = interrupt();
        let first = i.end_after(1000).unwrap();
        clock.advance(999);
        assert_eq!(code(&i), 0);
        clock.advance(1);
        assert_eq!(code(&i), 3024);
        drop(first);
        assert_eq!(code(&i), 0, "the flag went with its statement");

        let called_off = i.end_after(1000).unwrap();
        drop(called_off);
        let next = i.end_after(1500).unwrap();
        clock.advance(1000);
        assert_eq!(code(&i), 0, "the alarm was for the one before");
        clock.advance(500);
        assert_eq!(code(&i), 3024);
        drop(next);
    }

    #[test]
    fn a_shorter_deadline_is_not_late_for_a_longer_one_before_it() {
        let (clock, i) = interrupt();
        drop(i.end_after(1_000_000));
        let d = i.end_after(10);
        clock.advance(10);
        assert_eq!(code(&i), 3024);
        drop(d);
        clock.advance(1_000_000);
        assert_eq!(code(&i), 0);
    }

    #[test]
    fn the_outer_deadline_stays_and_a_kill_is_a_kill() {
        let (clock, i) = interrupt();
        let outer = i.end_after(10);
        assert!(i.end_after(5).is_none());
        clock.advance(5);
        assert_eq!(code(&i), 0);
        i.kill_query();
        clock.advance(5);
        assert_eq!(code(&i), 1317);
        drop(outer);
    }
}
