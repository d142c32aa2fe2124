//! How many statements compute at the same time on threads of their own: some for each core. The others wait for their turn, first come
//! first served, so that whoever serves short statements competes with a few threads and not with one for each connection; and a thread
//! that the kernel stops in the middle of something (a change of the address space, a latch) soon runs again.
//!
//! A turn ends where the statement pauses or waits, never in the middle of pages. A statement that does neither keeps its place. Where
//! nobody has given one back for a while, one more is let in: statements that cannot be interrupted do not keep the others out for good.
//!
//! Must never do: let somebody wait who could run, or for whom nobody will make room.

use base::lock::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Turns at a time, for each core. More than one, since some wait for the disk.
const A_CORE: usize = 4;

/// How long a turn lasts where others wait.
const TURN: Duration = Duration::from_millis(10);

/// After so long without a turn that ended, one more statement is let in.
const STUCK: Duration = Duration::from_millis(25);

#[derive(Debug)]
struct Waiting {
    thread: Thread,
    let_in: AtomicBool,
}

#[derive(Debug)]
struct State {
    computing: usize,
    queue: VecDeque<Arc<Waiting>>,
    /// When somebody was last let in.
    moved: Instant,
}

/// The turns.
#[derive(Debug)]
pub(super) struct Slots {
    most: usize,
    state: Mutex<State>,
    /// How many wait, to be read without the lock.
    waiting: AtomicUsize,
}

impl Default for Slots {
    fn default() -> Slots {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Slots::of(cores * A_CORE)
    }
}

/// A turn. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Slot<'s> {
    slots: &'s Slots,
    since: Instant,
}

impl Slots {
    fn of(most: usize) -> Slots {
        Slots {
            most,
            state: Mutex::new(State {
                computing: 0,
                queue: VecDeque::new(),
                moved: Instant::now(),
            }),
            waiting: AtomicUsize::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Waits for a turn. Parks the thread; what else unparks it has to be looked for again by the caller.
    pub(super) fn enter(&self) -> Slot<'_> {
        let mut s = self.state();
        if s.computing < self.most {
            s.computing += 1;
            s.moved = Instant::now();
            return self.slot();
        }
        let me = Arc::new(Waiting {
            thread: std::thread::current(),
            let_in: AtomicBool::new(false),
        });
        s.queue.push_back(Arc::clone(&me));
        self.waiting.store(s.queue.len(), Ordering::Relaxed);
        loop {
            let left = STUCK.saturating_sub(s.moved.elapsed());
            if left.is_zero() && !me.let_in.load(Ordering::Acquire) {
                // Nobody makes room. The longest wait ends first; whoever it is.
                s.computing += 1;
                self.let_in_first(&mut s);
                continue;
            }
            drop(s);
            if me.let_in.load(Ordering::Acquire) {
                return self.slot();
            }
            std::thread::park_timeout(left);
            s = self.state();
        }
    }

    fn slot(&self) -> Slot<'_> {
        Slot {
            slots: self,
            since: Instant::now(),
        }
    }

    /// Gives a turn that has been counted to who has waited longest; `false` where nobody waits.
    fn let_in_first(&self, s: &mut State) -> bool {
        let first = s.queue.pop_front();
        self.waiting.store(s.queue.len(), Ordering::Relaxed);
        s.moved = Instant::now();
        let Some(first) = first else {
            return false;
        };
        first.let_in.store(true, Ordering::Release);
        first.thread.unpark();
        true
    }

    fn leave(&self) {
        let mut s = self.state();
        // Those who were let in beyond the number leave without a successor.
        if s.computing > self.most || !self.let_in_first(&mut s) {
            s.computing -= 1;
            s.moved = Instant::now();
        }
    }
}

impl<'s> Slot<'s> {
    /// The statement pauses: others have their turn first, if any wait and this one has been long enough.
    pub(super) fn pause(self) -> Slot<'s> {
        if self.slots.waiting.load(Ordering::Relaxed) == 0 || self.since.elapsed() < TURN {
            return self;
        }
        let slots = self.slots;
        drop(self);
        slots.enter()
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.slots.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn no_more_compute_than_there_are_turns_and_all_get_on() {
        let slots = Slots::of(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let done: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for mine in &done {
                let (slots, now, most) = (&slots, &now, &most);
                scope.spawn(move || {
                    let mut slot = slots.enter();
                    for _ in 0..30 {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(1));
                        now.fetch_sub(1, Ordering::SeqCst);
                        mine.fetch_add(1, Ordering::SeqCst);
                        slot = slot.pause();
                    }
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 2);
        assert!(done.iter().all(|n| n.load(Ordering::SeqCst) == 30));
        assert_eq!(slots.state().computing, 0);
    }

    #[test]
    fn who_never_pauses_keeps_nobody_out_for_good() {
        let slots = Slots::of(1);
        let hog = slots.enter();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| drop(slots.enter()));
            }
        });
        drop(hog);
        assert_eq!(slots.state().computing, 0);
        assert_eq!(slots.waiting.load(Ordering::SeqCst), 0);
    }
}
