//! The future in which a transaction waits for a lock.

use base::TxnId;
use base::lock::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitEnd {
    /// The lock is held now (for an insert into a guarded range: the range is free). Run the operation again.
    Granted,
    /// This transaction was chosen to end a deadlock: roll it back (1213).
    Deadlock,
    /// The lock wait timeout passed: roll the statement back (1205).
    Timeout,
    /// Somebody killed the statement or the connection (1317).
    Killed,
}

const PENDING: u8 = 0;

fn code(end: WaitEnd) -> u8 {
    match end {
        WaitEnd::Granted => 1,
        WaitEnd::Deadlock => 2,
        WaitEnd::Timeout => 3,
        WaitEnd::Killed => 4,
    }
}

/// Names a queue of the table: the hash of its name and its number among all queues ever made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct QueueRef {
    pub(super) hash: u64,
    pub(super) id: u64,
    /// How long the key is.
    pub(super) key_len: u32,
}

/// What a lock of a row takes beside the key: its queue, its place in the table and in the list of its owner.
const LOCK_BYTES: usize = 240;

impl QueueRef {
    /// What it takes to hold it, in bytes.
    pub(super) fn takes(self) -> usize {
        LOCK_BYTES + self.key_len as usize
    }
}

/// A place in an order of commits ([`order`](super::order)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommitTurn {
    /// The order.
    pub(crate) order: u64,
    /// The place in it; the first is 1.
    pub(crate) number: u64,
}

/// Where a waiter stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Queue(QueueRef),
    Ranges(u32),
    /// In an order of commits.
    Turn(CommitTurn),
}

/// The shared state of one wait.
#[derive(Debug)]
pub(super) struct WaitCell {
    pub(super) owner: TxnId,
    pub(super) weight: u64,
    pub(super) place: Place,
    pub(super) deadline_us: Option<u64>,
    /// When it was made.
    pub(super) since_us: u64,
    end: AtomicU8,
    /// It may come for the lock.
    offered: AtomicBool,
    /// The thread on which it went to sleep ([`base::counters::thread_number`]).
    thread: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl WaitCell {
    pub(super) fn new(
        owner: TxnId,
        weight: u64,
        place: Place,
        deadline_us: Option<u64>,
        since_us: u64,
    ) -> Arc<WaitCell> {
        let (end, waker) = (AtomicU8::new(PENDING), Mutex::new(None));
        Arc::new(WaitCell {
            owner,
            weight,
            place,
            deadline_us,
            since_us,
            end,
            offered: AtomicBool::new(false),
            thread: AtomicUsize::new(base::counters::thread_number()),
            waker,
        })
    }

    pub(super) fn ended(&self) -> Option<WaitEnd> {
        match self.end.load(Ordering::SeqCst) {
            1 => Some(WaitEnd::Granted),
            2 => Some(WaitEnd::Deadlock),
            3 => Some(WaitEnd::Timeout),
            4 => Some(WaitEnd::Killed),
            _ => None,
        }
    }

    /// Ends the wait. Only ever called by the one who took the waiter out of its queue, under the queue's lock; the
    /// caller wakes it afterwards with [`WaitCell::wake`].
    pub(super) fn finish(&self, end: WaitEnd) {
        self.end.store(code(end), Ordering::SeqCst);
    }

    /// Whether it has gone to sleep before now. One that has not is about to look for the first time.
    pub(super) fn has_slept(&self) -> bool {
        self.offered.load(Ordering::SeqCst) || self.waker.lock().is_some()
    }

    /// The lock is free, and it may come for it: under the queue's lock. The caller wakes it afterwards.
    pub(super) fn offer(&self) {
        self.offered.store(true, Ordering::SeqCst);
    }

    /// Wakes whoever polls the wait.
    pub(super) fn wake(&self) {
        let waker = self.waker.lock().take();
        if let Some(w) = waker {
            w.wake();
        }
    }

    /// The thread on which it waits, as far as is known.
    pub(super) fn thread(&self) -> usize {
        self.thread.load(Ordering::Relaxed)
    }

    fn park(&self, cx: &Context<'_>) {
        self.thread
            .store(base::counters::thread_number(), Ordering::Relaxed);
        let mut slot = self.waker.lock();
        match &mut *slot {
            Some(w) if w.will_wake(cx.waker()) => {}
            other => *other = Some(cx.waker().clone()),
        }
    }
}

/// Where waits stand: the lock table, as a wait knows it.
pub(super) trait Waits: Send + Sync {
    /// The wait begins: looks for a deadlock and sets the timeout.
    fn begin_wait(&self, cell: &Arc<WaitCell>);

    /// The waiter was told that its lock is free: ends the wait where it still is.
    fn claim(&self, cell: &Arc<WaitCell>);

    /// Takes a waiter out of its queue with `end`; false when its wait had ended already.
    fn cancel(&self, cell: &Arc<WaitCell>, end: WaitEnd) -> bool;
}

/// A wait in progress: the request stands in its queue. Await it with no latch held. The search for a deadlock and the
/// timeout begin with the first poll. Dropping it gives the place in the queue up (or, when the lock had been granted
/// in that moment, leaves it held until the transaction ends).
#[must_use = "a wait that is dropped gives up its place in the queue"]
pub struct LockWait {
    table: Arc<dyn Waits>,
    cell: Arc<WaitCell>,
    begun: bool,
}

impl LockWait {
    pub(super) fn new(table: Arc<dyn Waits>, cell: Arc<WaitCell>) -> LockWait {
        LockWait {
            table,
            cell,
            begun: false,
        }
    }

    pub(super) fn cell(&self) -> &Arc<WaitCell> {
        &self.cell
    }

    /// The transaction that waits.
    pub fn owner(&self) -> TxnId {
        self.cell.owner
    }

    /// How the wait ended, if it has.
    pub fn ended(&self) -> Option<WaitEnd> {
        self.cell.ended()
    }

    /// Begins the wait without polling: looks for a deadlock and sets the timeout. Awaiting does it otherwise.
    pub fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.table.begin_wait(&self.cell);
        }
    }
}

impl Future for LockWait {
    type Output = WaitEnd;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<WaitEnd> {
        self.begin();
        if self.cell.ended().is_none() {
            self.cell.park(cx);
            if self.cell.offered.load(Ordering::SeqCst) {
                self.table.claim(&self.cell);
            }
        }
        match self.cell.ended() {
            Some(end) => Poll::Ready(end),
            None => Poll::Pending,
        }
    }
}

impl Drop for LockWait {
    fn drop(&mut self) {
        if self.cell.ended().is_none() {
            self.table.cancel(&self.cell, WaitEnd::Killed);
        }
    }
}
