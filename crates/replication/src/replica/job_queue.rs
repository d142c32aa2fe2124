//! The job queue of those who apply transactions at once: the coordinator, who reads what has come and hands it out, and the workers. Each transaction
//! that is handed out has an entry, to which its events are added as they come; they stay there until it is committed, so that it can be tried again. The
//! entries stand in the order of the transactions, and a worker who has nothing takes the first that nobody has: the coordinator goes ahead, and neither waits
//! for the other at each transaction.
//!
//! No more workers compute than there are processors: one who waits (for his turn, for a lock, for a page) makes room for another. On one processor, four
//! would each apply a transaction and then sleep until the three before it are committed, and there were more changes of threads than transactions.
//!
//! Whoever waits here sleeps until the very thing comes; nobody looks again and again, and nobody is woken for each event: a worker is for the whole of
//! a transaction, or for what there is of it when the coordinator itself has to wait, and the coordinator when half of the entries are empty.
//!
//! What it never does: apply anything, or decide what goes beside what.

mod entry;

use std::collections::VecDeque;
use std::sync::Arc;

use base::lock::{Condvar, Mutex, MutexGuard};
use engine::Interrupt;

use super::queue::Queued;
use super::stopped::Stopped;
pub(super) use entry::Job;
use entry::{Activity, Entry, WorkerState};

/// So many transactions are handed out at most.
const MOST_ENTRIES: usize = 256;

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

/// What the coordinator waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// No more than so many entries.
    Entries(usize),
    /// All up to this number are done.
    Done(u64),
    /// Room for events.
    Room,
}

#[derive(Default)]
struct Inner {
    want: Option<Want>,
    /// All up to this number are committed.
    done: u64,
    /// Bytes of events in entries.
    bytes: u64,
    limit: u64,
    /// All come back as soon as they can.
    ended: bool,
    /// What nobody has is not taken any more.
    closed: bool,
    failure: Option<Stopped>,
    /// In the order of their numbers, without gaps.
    entries: VecDeque<Entry>,
    /// The number of the first entry.
    first: u64,
    /// The number of the first that nobody has taken.
    next: u64,
    workers: Vec<WorkerState>,
    /// He alone takes what there is.
    only: Option<usize>,
    /// So many workers are active.
    active: usize,
    /// So many are to be at most.
    most_active: usize,
}

impl Inner {
    fn set(&mut self, worker: usize, activity: Activity) {
        let before = std::mem::replace(&mut self.workers[worker].activity, activity);
        self.active += usize::from(activity == Activity::Active);
        self.active -= usize::from(before == Activity::Active);
    }

    /// Whether there is a transaction that nobody has, and room for one who takes it.
    fn is_for_taking(&mut self) -> bool {
        let (next, room) = (self.next, self.active < self.most_active);
        room && self.entry(next).is_some_and(|t| t.may_be_taken())
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(at)
    }

    /// That of a worker.
    fn entry_of(&mut self, worker: usize) -> Option<&mut Entry> {
        let number = self.workers.get(worker)?.has?;
        self.entry(number)
    }

    /// Whether a worker has waited long enough.
    fn may_begin(&self, worker: usize) -> bool {
        let Some(worker_state) = self.workers.get(worker) else {
            return true;
        };
        let entry = worker_state
            .has
            .and_then(|n| self.entries.get((n - self.first) as usize));
        let ready =
            entry.is_none_or(|t| t.job.slot.number <= self.done + 1 || t.whole || t.abandoned);
        ready && worker_state.waits_for.is_none_or(|n| n <= self.done)
    }

    /// Whether the coordinator waits for something that there may be now.
    fn may_wake_coordinator(&self) -> bool {
        self.want.is_some_and(|want| match want {
            Want::Entries(most) => self.entries.len() <= most,
            Want::Done(number) => self.done >= number,
            Want::Room => true,
        })
    }

    /// A worker to be woken.
    fn worker_to_wake(&mut self) -> Option<usize> {
        if self.closed || !self.is_for_taking() {
            return None;
        }
        let only = self.only;
        let mut workers = self.workers.iter().enumerate();
        let is_free = |(i, s): &(usize, &WorkerState)| {
            s.activity == Activity::Idle && only.is_none_or(|o| o == *i)
        };
        let worker = workers.find(is_free)?.0;
        self.set(worker, Activity::Active);
        Some(worker)
    }

    /// Whose transaction this is; where it is nobody's, a worker to be woken.
    fn worker_to_wake_for(&mut self, number: u64) -> Option<usize> {
        let worker = self.entry(number).and_then(|t| t.worker);
        worker.or_else(|| self.worker_to_wake())
    }
}

/// The transactions that the coordinator has handed out, and what the workers do.
pub(super) struct JobQueue {
    inner: Mutex<Inner>,
    /// For the coordinator.
    coordinator: Condvar,
    /// For each worker.
    wakeups: Vec<Condvar>,
}

impl JobQueue {
    /// So many workers on so many processors, whose entries hold so many bytes of events.
    pub fn new(workers: usize, processors: usize, limit: u64) -> JobQueue {
        JobQueue {
            inner: Mutex::new(Inner {
                limit,
                first: 1,
                next: 1,
                most_active: processors.max(1),
                workers: (0..workers).map(|_| WorkerState::default()).collect(),
                ..Inner::default()
            }),
            coordinator: Condvar::new(),
            wakeups: (0..workers).map(|_| Condvar::new()).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    fn wake(&self, worker: Option<usize>) {
        if let Some(wakeup) = worker.and_then(|w| self.wakeups.get(w)) {
            wakeup.notify_all();
        }
    }

    fn wake_all(&self) {
        self.wakeups.iter().for_each(Condvar::notify_all);
        self.coordinator.notify_all();
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
        for worker_state in &c.workers {
            if let Some(interrupt) = &worker_state.interrupt {
                interrupt.kill_connection();
            }
        }
        drop(c);
        if !base::mutant!("jobs-ended-without-a-word") {
            self.wake_all();
        }
    }

    /// A worker, or the coordinator, cannot go on. The first who says so is heard.
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

/// The coordinator's part.
impl JobQueue {
    /// Nothing more is handed out: who has something finishes it, and what nobody has is left.
    pub fn close(&self) {
        self.lock().closed = true;
        if !base::mutant!("jobs-closed-without-a-word") {
            self.wake_all();
        }
    }

    /// Waits for the coordinator's wakeup, which comes where there may be what it wants.
    fn wait_wakeup<'c>(
        &'c self,
        mut c: MutexGuard<'c, Inner>,
        want: Want,
    ) -> MutexGuard<'c, Inner> {
        c.want = Some(want);
        c = self.coordinator.wait(c);
        c.want = None;
        c
    }

    fn wake_coordinator(&self, c: MutexGuard<'_, Inner>) {
        let wakes = c.may_wake_coordinator();
        drop(c);
        if wakes && !base::mutant!("coordinator-not-woken") {
            self.coordinator.notify_all();
        }
    }

    /// Waits until there are so few entries; false: all come to an end.
    fn wait_entries(&self, most: usize) -> bool {
        let mut c = self.lock();
        while !c.ended && c.entries.len() > most {
            c = self.wait_wakeup(c, Want::Entries(most));
        }
        !c.ended
    }

    /// Waits for room for another transaction, where all the entries are taken until half of them are not; false: all come to an end.
    pub fn wait_free(&self) -> bool {
        let full = self.lock().entries.len() >= MOST_ENTRIES;
        self.wait_entries(if full {
            MOST_ENTRIES / 2
        } else {
            MOST_ENTRIES - 1
        })
    }

    /// Waits until nobody has anything; false: all come to an end.
    pub fn wait_idle(&self) -> bool {
        self.wait_entries(0)
    }

    /// Waits until all up to this number are done; false: all come to an end.
    pub fn wait_done(&self, number: u64) -> bool {
        let mut c = self.lock();
        while !c.ended && c.done < number {
            c = self.wait_wakeup(c, Want::Done(number));
        }
        !c.ended
    }

    /// Hands out the next transaction. A worker hears of it with the last of its events, or by [`tell`](Self::tell).
    pub fn hand(&self, job: Job) {
        let mut c = self.lock();
        let behind = c.first + c.entries.len() as u64;
        assert_eq!(job.slot.number, behind, "transactions have their order");
        c.entries.push_back(Entry::new(job));
    }

    /// Something of this transaction has changed: its worker goes on, or one is to take it.
    fn wake_for(&self, mut c: MutexGuard<'_, Inner>, number: u64) {
        let worker = c.worker_to_wake_for(number);
        drop(c);
        if !base::mutant!("worker-not-woken") {
            self.wake(worker);
        }
    }

    /// The coordinator is about to wait for more events of this transaction: a worker may be able to begin with what there is.
    pub fn tell(&self, number: u64) {
        let mut c = self.lock();
        if let Some(entry) = c.entry(number) {
            entry.told = true;
        }
        self.wake_for(c, number);
    }

    /// Whoever applies this transaction applies all that comes behind it.
    pub fn keep(&self, number: u64) {
        let mut c = self.lock();
        let Some(entry) = c.entry(number) else {
            return;
        };
        match entry.worker {
            Some(worker) => c.only = Some(worker),
            // Nobody has it yet, so nobody else refers to it.
            None => {
                if let Some(job) = Arc::get_mut(&mut entry.job) {
                    job.keeps = true;
                }
            }
        }
    }

    /// Puts an event of the transaction that was handed out last into its entry, once there is room; `last`: it is whole with that. False: all come
    /// to an end.
    pub fn put(&self, number: u64, event: Queued, last: bool) -> bool {
        let size = event.size();
        let mut c = self.lock();
        loop {
            if c.ended {
                return false;
            }
            if c.bytes == 0 || c.bytes.saturating_add(size) <= c.limit {
                break;
            }
            let first = number <= c.done + 1;
            if let Some(entry) = c.entry(number)
                && first
                && !entry.streamed
            {
                // Nobody is before it whom it could be in the way of: it need not be tried again.
                entry.streamed = true;
                let freed: u64 = entry.events.drain(..entry.read).map(|e| e.size()).sum();
                entry.read = 0;
                c.bytes -= freed;
                continue;
            }
            let worker = c.worker_to_wake_for(number);
            if !base::mutant!("room-waited-for-without-a-word") {
                self.wake(worker);
            }
            c = self.wait_wakeup(c, Want::Room);
        }
        c.bytes += size;
        if let Some(entry) = c.entry(number) {
            entry.events.push_back(Arc::new(event));
            entry.whole = last;
        }
        if last {
            self.wake_for(c, number);
        }
        true
    }

    /// No more of a transaction will come, and it is not whole.
    pub fn abandon(&self, number: u64) {
        let mut c = self.lock();
        if let Some(entry) = c.entry(number) {
            entry.abandoned = true;
        }
        self.wake_for(c, number);
    }
}

/// A worker's part.
impl JobQueue {
    /// How what its session waits for is ended.
    pub fn interrupt_with(&self, worker: usize, interrupt: Arc<Interrupt>) {
        let mut c = self.lock();
        if c.ended {
            interrupt.kill_connection();
        }
        c.workers[worker].interrupt = Some(interrupt);
    }

    /// Its session waits for something else than what is here, or goes on.
    pub fn waits(&self, worker: usize, waits: bool) {
        let mut c = self.lock();
        if c.workers[worker].has.is_none() {
            return;
        }
        match waits {
            true => {
                c.set(worker, Activity::Waits);
                let other = c.worker_to_wake();
                drop(c);
                if !base::mutant!("processor-left-without-a-word") {
                    self.wake(other);
                }
            }
            false => c.set(worker, Activity::Active),
        }
    }

    /// Waits for the wakeup of a worker who has something, and makes room for another meanwhile.
    fn wait_own_wakeup<'c>(
        &'c self,
        mut c: MutexGuard<'c, Inner>,
        worker: usize,
    ) -> MutexGuard<'c, Inner> {
        c.set(worker, Activity::Waits);
        let other = c.worker_to_wake();
        if !base::mutant!("processor-left-at-a-wakeup-without-a-word") {
            self.wake(other);
        }
        c = self.wakeups[worker].wait(c);
        c.set(worker, Activity::Active);
        c
    }

    /// Takes the first transaction that nobody has, and waits for one; `None`: there will be none.
    pub fn take_job(&self, worker: usize) -> Option<Arc<Job>> {
        let mut c = self.lock();
        loop {
            c.set(worker, Activity::Idle);
            if c.ended || c.closed {
                return None;
            }
            let number = c.next;
            let may = c.only.is_none_or(|o| o == worker) && c.is_for_taking();
            if may && let Some(entry) = c.entry(number) {
                entry.worker = Some(worker);
                let job = Arc::clone(&entry.job);
                c.next += 1;
                c.workers[worker].has = Some(number);
                c.set(worker, Activity::Active);
                if job.keeps {
                    c.only = Some(worker);
                }
                return Some(job);
            }
            let other = c.worker_to_wake();
            self.wake(other);
            c = self.wakeups[worker].wait(c);
        }
    }

    /// Waits until all up to this number are done, and its transaction is whole, or all before it is done; false: all come to an end. So whoever
    /// may be in the way of others never waits for events.
    pub fn wait_for(&self, worker: usize, number: u64) -> bool {
        let mut c = self.lock();
        c.workers[worker].waits_for = Some(number);
        while !c.ended && !c.may_begin(worker) {
            c = self.wait_own_wakeup(c, worker);
        }
        c.workers[worker].waits_for = None;
        !c.ended
    }

    /// What comes next; waits for it.
    pub fn next(&self, worker: usize) -> Next {
        let mut c = self.lock();
        loop {
            if c.ended {
                return Next::Ended;
            }
            let Some(entry) = c.entry_of(worker) else {
                return Next::Ended;
            };
            if entry.abandoned {
                return Next::Abandoned;
            }
            if entry.streamed
                && let Some(event) = entry.events.pop_front()
            {
                c.bytes -= event.size();
                self.wake_coordinator(c);
                return Next::Event(event);
            }
            if let Some(event) = entry.events.get(entry.read) {
                let event = Arc::clone(event);
                entry.read += 1;
                return Next::Event(event);
            }
            if entry.whole {
                return Next::End;
            }
            c = self.wait_own_wakeup(c, worker);
        }
    }

    /// Begins its transaction anew; false where that cannot be, as it is too large.
    pub fn rewind(&self, worker: usize) -> bool {
        let mut c = self.lock();
        let Some(entry) = c.entry_of(worker) else {
            return false;
        };
        entry.read = 0;
        !entry.streamed
    }

    /// The transaction with this number is committed, or left out; all before it were.
    pub fn passed(&self, number: u64) {
        let mut c = self.lock();
        c.done = c.done.max(number);
        for worker in 0..c.workers.len() {
            let may = c.workers[worker].waits_for.is_some() && c.may_begin(worker);
            if may && !base::mutant!("next-in-turn-not-woken") {
                self.wake(Some(worker));
            }
        }
        self.wake_coordinator(c);
    }

    /// The worker has nothing any more.
    pub fn clear(&self, worker: usize) {
        let mut c = self.lock();
        let Some(entry) = c.entry_of(worker) else {
            return;
        };
        entry.cleared = true;
        let freed: u64 = entry.events.drain(..).map(|e| e.size()).sum();
        c.bytes -= freed;
        c.workers[worker].has = None;
        while c.entries.front().is_some_and(|t| t.cleared) {
            c.entries.pop_front();
            c.first += 1;
        }
        self.wake_coordinator(c);
    }
}

#[cfg(test)]
mod tests;
