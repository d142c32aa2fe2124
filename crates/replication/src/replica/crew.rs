//! What those have in common who apply transactions at once: the leader, who reads what has come and hands it out, and the workers. Each worker
//! has a desk, on which the events of one transaction are put as they come; they stay there until it is committed, so that it can be tried again.
//!
//! Whoever waits here sleeps until the very thing comes; nobody looks again and again, and nobody is woken for each event: a worker is for the whole of
//! its transaction, or for what there is of it when the leader itself has to wait.
//!
//! What it never does: apply anything, or decide what goes beside what.

use std::collections::VecDeque;
use std::sync::Arc;

use base::lock::{Condvar, Mutex, MutexGuard};
use engine::Interrupt;
use wire::binlog::format::Format;

use super::place::Place;
use super::queue::Queued;
use super::schedule::Slot;
use super::stopped::Stopped;

/// A transaction that a worker is to apply.
#[derive(Debug)]
pub(super) struct Job {
    /// Where it stands among the others.
    pub slot: Slot,
    /// How far all before it have come.
    pub base: Place,
    /// What has written it.
    pub format: Option<Arc<Format>>,
    /// It is left out (`sql_replica_skip_counter`).
    pub skipped: bool,
    /// Nothing is beside it.
    pub alone: bool,
}

/// What comes next of a worker's transaction.
#[derive(Debug)]
pub(super) enum Next {
    /// This.
    Event(Arc<Queued>),
    /// Nothing: it is whole.
    End,
    /// Nothing more, and it is not whole: it is to be taken back.
    Abandoned,
    /// All come to an end.
    Ended,
}

#[derive(Default)]
struct Desk {
    job: Option<Arc<Job>>,
    events: VecDeque<Arc<Queued>>,
    /// How many of them the worker has taken.
    taken: usize,
    whole: bool,
    abandoned: bool,
    /// It has too many events to be tried again: those that were taken are gone.
    streamed: bool,
    /// The worker sleeps until all up to this number are done.
    waits_for: Option<u64>,
    /// To end what its session waits for.
    interrupt: Option<Arc<Interrupt>>,
}

impl Desk {
    /// Whether its worker has waited long enough, when all up to `done` are done.
    fn may_begin(&self, done: u64) -> bool {
        let first = self.job.as_ref().is_none_or(|j| j.slot.number <= done + 1);
        let before = self.waits_for.is_none_or(|n| n <= done);
        before && (first || self.whole || self.abandoned)
    }
}

/// What the leader waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// A worker who has nothing.
    Free,
    /// This one has nothing.
    FreeOf(usize),
    /// Nobody has anything.
    Idle,
    /// All up to this number are done.
    Done(u64),
    /// Room on a desk.
    Room,
}

#[derive(Default)]
struct Inner {
    want: Option<Want>,
    /// All up to this number are committed.
    done: u64,
    /// Bytes of events on desks.
    bytes: u64,
    limit: u64,
    /// All come back as soon as they can.
    ended: bool,
    /// Nothing more is handed out.
    closed: bool,
    failure: Option<Stopped>,
    desks: Vec<Desk>,
}

impl Inner {
    /// Whether the leader waits for something that there may be now.
    fn may_wake_leader(&self) -> bool {
        self.want.is_some_and(|want| match want {
            Want::Free => self.desks.iter().any(|d| d.job.is_none()),
            Want::FreeOf(worker) => self.desks[worker].job.is_none(),
            Want::Idle => self.desks.iter().all(|d| d.job.is_none()),
            Want::Done(number) => self.done >= number,
            Want::Room => true,
        })
    }
}

/// Leader and workers.
pub(super) struct Crew {
    inner: Mutex<Inner>,
    /// For the leader.
    leader: Condvar,
    /// For each worker.
    bells: Vec<Condvar>,
}

impl Crew {
    /// So many workers, whose desks hold so many bytes of events.
    pub fn new(workers: usize, limit: u64) -> Crew {
        Crew {
            inner: Mutex::new(Inner {
                limit,
                desks: (0..workers).map(|_| Desk::default()).collect(),
                ..Inner::default()
            }),
            leader: Condvar::new(),
            bells: (0..workers).map(|_| Condvar::new()).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    fn ring(&self, worker: usize) {
        if let Some(bell) = self.bells.get(worker) {
            bell.notify_all();
        }
    }

    fn ring_all(&self) {
        self.bells.iter().for_each(Condvar::notify_all);
        self.leader.notify_all();
    }

    /// All up to this number are committed.
    pub fn done(&self) -> u64 {
        self.lock().done
    }

    /// Whether all are to come back.
    pub fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// All are to come back, whatever they are at.
    pub fn end(&self) {
        let mut c = self.lock();
        c.ended = true;
        for desk in &c.desks {
            if let Some(interrupt) = &desk.interrupt {
                interrupt.kill_connection();
            }
        }
        drop(c);
        self.ring_all();
    }

    /// A worker, or the leader, cannot go on. The first who says so is heard.
    pub fn fail(&self, why: Stopped) {
        {
            let mut c = self.lock();
            if !c.ended {
                c.failure = Some(why);
            }
        }
        self.end();
    }

    /// Why it could not go on.
    pub fn failure(&self) -> Option<Stopped> {
        self.lock().failure.take()
    }
}

/// The leader's part.
impl Crew {
    /// Nothing more is handed out: who has something finishes it.
    pub fn close(&self) {
        self.lock().closed = true;
        self.ring_all();
    }

    /// Waits for the leader's bell, which rings where there may be what it wants.
    fn wait_bell<'c>(&'c self, mut c: MutexGuard<'c, Inner>, want: Want) -> MutexGuard<'c, Inner> {
        c.want = Some(want);
        c = self.leader.wait(c);
        c.want = None;
        c
    }

    fn wake_leader(&self, c: MutexGuard<'_, Inner>) {
        let wakes = c.may_wake_leader();
        drop(c);
        if wakes {
            self.leader.notify_all();
        }
    }

    /// Waits for a worker who has nothing; `None`: all come to an end.
    pub fn wait_free(&self) -> Option<usize> {
        let mut c = self.lock();
        loop {
            if c.ended {
                return None;
            }
            if let Some(i) = c.desks.iter().position(|d| d.job.is_none()) {
                return Some(i);
            }
            c = self.wait_bell(c, Want::Free);
        }
    }

    /// Waits for one worker to have nothing; false: all come to an end.
    pub fn wait_free_of(&self, worker: usize) -> bool {
        let mut c = self.lock();
        while !c.ended && c.desks[worker].job.is_some() {
            c = self.wait_bell(c, Want::FreeOf(worker));
        }
        !c.ended
    }

    /// Waits until nobody has anything; false: all come to an end.
    pub fn wait_idle(&self) -> bool {
        let mut c = self.lock();
        while !c.ended && c.desks.iter().any(|d| d.job.is_some()) {
            c = self.wait_bell(c, Want::Idle);
        }
        !c.ended
    }

    /// Waits until all up to this number are done; false: all come to an end.
    pub fn wait_done(&self, number: u64) -> bool {
        let mut c = self.lock();
        while !c.ended && c.done < number {
            c = self.wait_bell(c, Want::Done(number));
        }
        !c.ended
    }

    /// Gives a worker who has nothing a transaction. He hears of it with the last of its events, or by [`tell`](Self::tell).
    pub fn hand(&self, worker: usize, job: Job) {
        self.lock().desks[worker].job = Some(Arc::new(job));
    }

    /// The leader is about to wait for more events of a worker's transaction: he may be able to begin with what there is.
    pub fn tell(&self, worker: usize) {
        self.ring(worker);
    }

    /// Puts an event of the transaction that was handed out last on its desk, once there is room; `last`: it is whole with that. False: all come
    /// to an end.
    pub fn put(&self, worker: usize, event: Queued, last: bool) -> bool {
        let size = event.size();
        let mut c = self.lock();
        loop {
            if c.ended {
                return false;
            }
            if c.bytes == 0 || c.bytes.saturating_add(size) <= c.limit {
                break;
            }
            let (done, desk) = (c.done, &mut c.desks[worker]);
            let first = desk.job.as_ref().is_some_and(|j| j.slot.number <= done + 1);
            if first && !desk.streamed {
                // Nobody is before it whom it could be in the way of: it need not be tried again.
                desk.streamed = true;
                let freed: u64 = desk.events.drain(..desk.taken).map(|e| e.size()).sum();
                desk.taken = 0;
                c.bytes -= freed;
                continue;
            }
            self.ring(worker);
            c = self.wait_bell(c, Want::Room);
        }
        c.bytes += size;
        let desk = &mut c.desks[worker];
        desk.events.push_back(Arc::new(event));
        desk.whole = last;
        drop(c);
        if last {
            self.ring(worker);
        }
        true
    }

    /// No more of a transaction will come, and it is not whole.
    pub fn abandon(&self, worker: usize) {
        self.lock().desks[worker].abandoned = true;
        self.ring(worker);
    }
}

/// A worker's part.
impl Crew {
    /// How what its session waits for is ended.
    pub fn interrupt_with(&self, worker: usize, interrupt: Arc<Interrupt>) {
        let mut c = self.lock();
        if c.ended {
            interrupt.kill_connection();
        }
        c.desks[worker].interrupt = Some(interrupt);
    }

    /// Waits for a transaction; `None`: there will be none.
    pub fn take_job(&self, worker: usize) -> Option<Arc<Job>> {
        let mut c = self.lock();
        loop {
            if c.ended {
                return None;
            }
            if let Some(job) = &c.desks[worker].job {
                return Some(Arc::clone(job));
            }
            if c.closed {
                return None;
            }
            c = self.bells[worker].wait(c);
        }
    }

    /// Waits until all up to this number are done, and its transaction is whole, or all before it is done; false: all come to an end. So whoever
    /// may be in the way of others never waits for events.
    pub fn wait_for(&self, worker: usize, number: u64) -> bool {
        let mut c = self.lock();
        c.desks[worker].waits_for = Some(number);
        while !c.ended && !c.desks[worker].may_begin(c.done) {
            c = self.bells[worker].wait(c);
        }
        c.desks[worker].waits_for = None;
        !c.ended
    }

    /// What comes next; waits for it.
    pub fn next(&self, worker: usize) -> Next {
        let mut c = self.lock();
        loop {
            if c.ended {
                return Next::Ended;
            }
            let desk = &mut c.desks[worker];
            if desk.abandoned {
                return Next::Abandoned;
            }
            if desk.streamed
                && let Some(event) = desk.events.pop_front()
            {
                c.bytes -= event.size();
                self.wake_leader(c);
                return Next::Event(event);
            }
            if let Some(event) = desk.events.get(desk.taken) {
                let event = Arc::clone(event);
                desk.taken += 1;
                return Next::Event(event);
            }
            if desk.whole {
                return Next::End;
            }
            c = self.bells[worker].wait(c);
        }
    }

    /// Begins its transaction anew; false where that cannot be, as it is too large.
    pub fn rewind(&self, worker: usize) -> bool {
        let mut c = self.lock();
        let desk = &mut c.desks[worker];
        desk.taken = 0;
        !desk.streamed
    }

    /// The transaction with this number is committed, or left out; all before it were.
    pub fn passed(&self, number: u64) {
        let mut c = self.lock();
        c.done = c.done.max(number);
        let done = c.done;
        let waits = c.desks.iter().enumerate();
        for (i, _) in waits.filter(|(_, d)| d.waits_for.is_some() && d.may_begin(done)) {
            self.ring(i);
        }
        self.wake_leader(c);
    }

    /// The worker has nothing any more.
    pub fn clear(&self, worker: usize) {
        let mut c = self.lock();
        let desk = &mut c.desks[worker];
        let freed: u64 = desk.events.iter().map(|e| e.size()).sum();
        let interrupt = desk.interrupt.take();
        *desk = Desk {
            interrupt,
            ..Desk::default()
        };
        c.bytes -= freed;
        self.wake_leader(c);
    }
}
