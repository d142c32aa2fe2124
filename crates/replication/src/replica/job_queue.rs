//! What those have in common who apply transactions at once: the leader, who reads what has come and hands it out, and the workers. Each transaction
//! that is handed out has a tray, on which its events are put as they come; they stay there until it is committed, so that it can be tried again. The
//! trays stand in the order of the transactions, and a worker who has nothing takes the first that nobody has: the leader goes ahead, and neither waits
//! for the other at each transaction.
//!
//! No more workers compute than there are processors: one who waits (for his turn, for a lock, for a page) makes room for another. On one processor, four
//! would each apply a transaction and then sleep until the three before it are committed, and there were more changes of threads than transactions.
//!
//! Whoever waits here sleeps until the very thing comes; nobody looks again and again, and nobody is woken for each event: a worker is for the whole of
//! a transaction, or for what there is of it when the leader itself has to wait, and the leader when half of the trays are empty.
//!
//! What it never does: apply anything, or decide what goes beside what.

mod tray;

use std::collections::VecDeque;
use std::sync::Arc;

use base::lock::{Condvar, Mutex, MutexGuard};
use engine::Interrupt;

use super::queue::Queued;
use super::stopped::Stopped;
pub(super) use tray::Job;
use tray::{Activity, Seat, Tray};

/// So many transactions are handed out at most.
const MOST_TRAYS: usize = 256;

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

/// What the leader waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// No more than so many trays.
    Trays(usize),
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
    /// Bytes of events on trays.
    bytes: u64,
    limit: u64,
    /// All come back as soon as they can.
    ended: bool,
    /// What nobody has is not taken any more.
    closed: bool,
    failure: Option<Stopped>,
    /// In the order of their numbers, without gaps.
    trays: VecDeque<Tray>,
    /// The number of the first tray.
    first: u64,
    /// The number of the first that nobody has taken.
    next: u64,
    seats: Vec<Seat>,
    /// He alone takes what there is.
    only: Option<usize>,
    /// So many workers are active.
    active: usize,
    /// So many are to be at most.
    most_active: usize,
}

impl Inner {
    fn set(&mut self, worker: usize, activity: Activity) {
        let before = std::mem::replace(&mut self.seats[worker].activity, activity);
        self.active += usize::from(activity == Activity::Active);
        self.active -= usize::from(before == Activity::Active);
    }

    /// Whether there is a transaction that nobody has, and room for one who takes it.
    fn is_for_taking(&mut self) -> bool {
        let (next, room) = (self.next, self.active < self.most_active);
        room && self.tray(next).is_some_and(|t| t.may_be_taken())
    }

    fn tray(&mut self, number: u64) -> Option<&mut Tray> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.trays.get_mut(at)
    }

    /// That of a worker.
    fn tray_of(&mut self, worker: usize) -> Option<&mut Tray> {
        let number = self.seats.get(worker)?.has?;
        self.tray(number)
    }

    /// Whether a worker has waited long enough.
    fn may_begin(&self, worker: usize) -> bool {
        let Some(seat) = self.seats.get(worker) else {
            return true;
        };
        let tray = seat
            .has
            .and_then(|n| self.trays.get((n - self.first) as usize));
        let ready =
            tray.is_none_or(|t| t.job.slot.number <= self.done + 1 || t.whole || t.abandoned);
        ready && seat.waits_for.is_none_or(|n| n <= self.done)
    }

    /// Whether the leader waits for something that there may be now.
    fn may_wake_leader(&self) -> bool {
        self.want.is_some_and(|want| match want {
            Want::Trays(most) => self.trays.len() <= most,
            Want::Done(number) => self.done >= number,
            Want::Room => true,
        })
    }

    /// A worker to be rung for.
    fn call(&mut self) -> Option<usize> {
        if self.closed || !self.is_for_taking() {
            return None;
        }
        let only = self.only;
        let mut seats = self.seats.iter().enumerate();
        let is_free =
            |(i, s): &(usize, &Seat)| s.activity == Activity::Idle && only.is_none_or(|o| o == *i);
        let worker = seats.find(is_free)?.0;
        self.set(worker, Activity::Active);
        Some(worker)
    }

    /// Whose transaction this is; where it is nobody's, a worker to be rung for.
    fn call_for(&mut self, number: u64) -> Option<usize> {
        let worker = self.tray(number).and_then(|t| t.worker);
        worker.or_else(|| self.call())
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
    /// So many workers on so many processors, whose trays hold so many bytes of events.
    pub fn new(workers: usize, processors: usize, limit: u64) -> Crew {
        Crew {
            inner: Mutex::new(Inner {
                limit,
                first: 1,
                next: 1,
                most_active: processors.max(1),
                seats: (0..workers).map(|_| Seat::default()).collect(),
                ..Inner::default()
            }),
            leader: Condvar::new(),
            bells: (0..workers).map(|_| Condvar::new()).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    fn ring(&self, worker: Option<usize>) {
        if let Some(bell) = worker.and_then(|w| self.bells.get(w)) {
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
        for seat in &c.seats {
            if let Some(interrupt) = &seat.interrupt {
                interrupt.kill_connection();
            }
        }
        drop(c);
        if !base::mutant!("crew-ended-without-a-word") {
            self.ring_all();
        }
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
    /// Nothing more is handed out: who has something finishes it, and what nobody has is left.
    pub fn close(&self) {
        self.lock().closed = true;
        if !base::mutant!("crew-closed-without-a-word") {
            self.ring_all();
        }
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
        if wakes && !base::mutant!("leader-not-rung-for") {
            self.leader.notify_all();
        }
    }

    /// Waits until there are so few trays; false: all come to an end.
    fn wait_trays(&self, most: usize) -> bool {
        let mut c = self.lock();
        while !c.ended && c.trays.len() > most {
            c = self.wait_bell(c, Want::Trays(most));
        }
        !c.ended
    }

    /// Waits for room for another transaction, where all the trays are taken until half of them are not; false: all come to an end.
    pub fn wait_free(&self) -> bool {
        let full = self.lock().trays.len() >= MOST_TRAYS;
        self.wait_trays(if full { MOST_TRAYS / 2 } else { MOST_TRAYS - 1 })
    }

    /// Waits until nobody has anything; false: all come to an end.
    pub fn wait_idle(&self) -> bool {
        self.wait_trays(0)
    }

    /// Waits until all up to this number are done; false: all come to an end.
    pub fn wait_done(&self, number: u64) -> bool {
        let mut c = self.lock();
        while !c.ended && c.done < number {
            c = self.wait_bell(c, Want::Done(number));
        }
        !c.ended
    }

    /// Hands out the next transaction. A worker hears of it with the last of its events, or by [`tell`](Self::tell).
    pub fn hand(&self, job: Job) {
        let mut c = self.lock();
        let behind = c.first + c.trays.len() as u64;
        assert_eq!(job.slot.number, behind, "transactions have their order");
        c.trays.push_back(Tray::new(job));
    }

    /// Something of this transaction has changed: its worker goes on, or one is to take it.
    fn ring_for(&self, mut c: MutexGuard<'_, Inner>, number: u64) {
        let worker = c.call_for(number);
        drop(c);
        if !base::mutant!("worker-not-rung-for") {
            self.ring(worker);
        }
    }

    /// The leader is about to wait for more events of this transaction: a worker may be able to begin with what there is.
    pub fn tell(&self, number: u64) {
        let mut c = self.lock();
        if let Some(tray) = c.tray(number) {
            tray.told = true;
        }
        self.ring_for(c, number);
    }

    /// Whoever applies this transaction applies all that comes behind it.
    pub fn keep(&self, number: u64) {
        let mut c = self.lock();
        let Some(tray) = c.tray(number) else {
            return;
        };
        match tray.worker {
            Some(worker) => c.only = Some(worker),
            // Nobody has it yet, so nobody else refers to it.
            None => {
                if let Some(job) = Arc::get_mut(&mut tray.job) {
                    job.keeps = true;
                }
            }
        }
    }

    /// Puts an event of the transaction that was handed out last on its tray, once there is room; `last`: it is whole with that. False: all come
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
            if let Some(tray) = c.tray(number)
                && first
                && !tray.streamed
            {
                // Nobody is before it whom it could be in the way of: it need not be tried again.
                tray.streamed = true;
                let freed: u64 = tray.events.drain(..tray.read).map(|e| e.size()).sum();
                tray.read = 0;
                c.bytes -= freed;
                continue;
            }
            let worker = c.call_for(number);
            if !base::mutant!("room-waited-for-without-a-word") {
                self.ring(worker);
            }
            c = self.wait_bell(c, Want::Room);
        }
        c.bytes += size;
        if let Some(tray) = c.tray(number) {
            tray.events.push_back(Arc::new(event));
            tray.whole = last;
        }
        if last {
            self.ring_for(c, number);
        }
        true
    }

    /// No more of a transaction will come, and it is not whole.
    pub fn abandon(&self, number: u64) {
        let mut c = self.lock();
        if let Some(tray) = c.tray(number) {
            tray.abandoned = true;
        }
        self.ring_for(c, number);
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
        c.seats[worker].interrupt = Some(interrupt);
    }

    /// Its session waits for something else than what is here, or goes on.
    pub fn waits(&self, worker: usize, waits: bool) {
        let mut c = self.lock();
        if c.seats[worker].has.is_none() {
            return;
        }
        match waits {
            true => {
                c.set(worker, Activity::Waits);
                let other = c.call();
                drop(c);
                if !base::mutant!("processor-left-without-a-word") {
                    self.ring(other);
                }
            }
            false => c.set(worker, Activity::Active),
        }
    }

    /// Waits for the bell of a worker who has something, and makes room for another meanwhile.
    fn wait_own_bell<'c>(
        &'c self,
        mut c: MutexGuard<'c, Inner>,
        worker: usize,
    ) -> MutexGuard<'c, Inner> {
        c.set(worker, Activity::Waits);
        let other = c.call();
        if !base::mutant!("processor-left-at-a-bell-without-a-word") {
            self.ring(other);
        }
        c = self.bells[worker].wait(c);
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
            if may && let Some(tray) = c.tray(number) {
                tray.worker = Some(worker);
                let job = Arc::clone(&tray.job);
                c.next += 1;
                c.seats[worker].has = Some(number);
                c.set(worker, Activity::Active);
                if job.keeps {
                    c.only = Some(worker);
                }
                return Some(job);
            }
            let other = c.call();
            self.ring(other);
            c = self.bells[worker].wait(c);
        }
    }

    /// Waits until all up to this number are done, and its transaction is whole, or all before it is done; false: all come to an end. So whoever
    /// may be in the way of others never waits for events.
    pub fn wait_for(&self, worker: usize, number: u64) -> bool {
        let mut c = self.lock();
        c.seats[worker].waits_for = Some(number);
        while !c.ended && !c.may_begin(worker) {
            c = self.wait_own_bell(c, worker);
        }
        c.seats[worker].waits_for = None;
        !c.ended
    }

    /// What comes next; waits for it.
    pub fn next(&self, worker: usize) -> Next {
        let mut c = self.lock();
        loop {
            if c.ended {
                return Next::Ended;
            }
            let Some(tray) = c.tray_of(worker) else {
                return Next::Ended;
            };
            if tray.abandoned {
                return Next::Abandoned;
            }
            if tray.streamed
                && let Some(event) = tray.events.pop_front()
            {
                c.bytes -= event.size();
                self.wake_leader(c);
                return Next::Event(event);
            }
            if let Some(event) = tray.events.get(tray.read) {
                let event = Arc::clone(event);
                tray.read += 1;
                return Next::Event(event);
            }
            if tray.whole {
                return Next::End;
            }
            c = self.wait_own_bell(c, worker);
        }
    }

    /// Begins its transaction anew; false where that cannot be, as it is too large.
    pub fn rewind(&self, worker: usize) -> bool {
        let mut c = self.lock();
        let Some(tray) = c.tray_of(worker) else {
            return false;
        };
        tray.read = 0;
        !tray.streamed
    }

    /// The transaction with this number is committed, or left out; all before it were.
    pub fn passed(&self, number: u64) {
        let mut c = self.lock();
        c.done = c.done.max(number);
        for worker in 0..c.seats.len() {
            let may = c.seats[worker].waits_for.is_some() && c.may_begin(worker);
            if may && !base::mutant!("next-in-turn-not-rung-for") {
                self.ring(Some(worker));
            }
        }
        self.wake_leader(c);
    }

    /// The worker has nothing any more.
    pub fn clear(&self, worker: usize) {
        let mut c = self.lock();
        let Some(tray) = c.tray_of(worker) else {
            return;
        };
        tray.cleared = true;
        let freed: u64 = tray.events.drain(..).map(|e| e.size()).sum();
        c.bytes -= freed;
        c.seats[worker].has = None;
        while c.trays.front().is_some_and(|t| t.cleared) {
            c.trays.pop_front();
            c.first += 1;
        }
        self.wake_leader(c);
    }
}

#[cfg(test)]
mod tests;
