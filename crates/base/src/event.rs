//! The one way to wait: register a waker with the thing waited for, re-check, and be woken by the event itself.
//!
//! There is no timed wait here; a deadline is another event, fired by the environment's clock.

use crate::perturb;
use crate::sync::atomic::{AtomicBool, Ordering, fence};
use crate::sync::{Mutex, MutexGuard};
use crate::waits::Waiting;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// A set of parked tasks. Firing wakes all of them; each re-checks its own condition.
#[derive(Default, Debug)]
pub struct Event {
    parked: AtomicBool,
    tasks: Mutex<Tasks>,
}

/// Who is parked, and who waits.
#[derive(Default, Debug)]
struct Tasks {
    wakers: Vec<Waker>,
    /// Waits that go on, parked or just woken, for who [looks](Event::each_wait). Those that have ended are dead, and taken out now and then.
    waits: Vec<Weak<Waiting>>,
}

impl Tasks {
    fn note(&mut self, wait: &Arc<Waiting>) {
        if self.waits.len() == self.waits.capacity() {
            self.waits.retain(|w| w.strong_count() > 0);
        }
        self.waits.push(Arc::downgrade(wait));
    }
}

impl Event {
    /// An event nobody waits for.
    pub fn new() -> Event {
        Event {
            parked: AtomicBool::new(false),
            tasks: Mutex::new(Tasks::default()),
        }
    }

    /// Wakes every task parked so far. Call after the condition they wait for was made true. One load when nobody waits.
    #[inline]
    pub fn fire(&self) {
        perturb::point();
        if !crate::mutant!("fired-without-a-fence") {
            fence(Ordering::SeqCst);
        }
        if self.parked.load(Ordering::Relaxed) {
            self.fire_slow();
        }
    }

    #[cold]
    fn fire_slow(&self) {
        let woken = {
            let mut tasks = self.lock();
            self.parked.store(false, Ordering::Relaxed);
            std::mem::take(&mut tasks.wakers)
        };
        let all = match crate::mutant!("one-of-those-who-wait-woken") {
            true => 1,
            false => woken.len(),
        };
        for w in woken.into_iter().take(all) {
            w.wake();
        }
    }

    /// True when at least one task is parked.
    pub fn has_waiters(&self) -> bool {
        self.parked.load(Ordering::Relaxed)
    }

    /// Parks the current task's waker. The caller must re-check its condition afterwards, before returning `Pending`.
    pub fn park(&self, cx: &Context<'_>) {
        self.park_as(cx, None);
    }

    fn park_as(&self, cx: &Context<'_>, new: Option<&Arc<Waiting>>) {
        {
            let mut tasks = self.lock();
            let mut last = tasks.wakers.iter().rev().take(4);
            if !last.any(|x| x.will_wake(cx.waker())) {
                tasks.wakers.push(cx.waker().clone());
            }
            if let Some(wait) = new {
                tasks.note(wait);
            }
            self.parked.store(true, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
    }

    /// Waits until `ready` gives a value; it is asked before parking and after each firing.
    pub async fn wait_for<T>(&self, ready: impl FnMut() -> Option<T>) -> T {
        self.wait(ready, || {}).await
    }

    /// As [`wait_for`](Event::wait_for), and fires `begun` when it waits: for who puts work off while nobody [waits](Event::has_waiters).
    pub async fn wait_and_tell<T>(&self, begun: &Event, ready: impl FnMut() -> Option<T>) -> T {
        self.wait(ready, || begun.fire()).await
    }

    async fn wait<T>(&self, mut ready: impl FnMut() -> Option<T>, begun: impl Fn()) -> T {
        let mut noted = None;
        poll_fn(|cx| {
            if let Some(v) = ready() {
                return Poll::Ready(v);
            }
            perturb::point();
            let new = noted.is_none();
            let wait = noted.get_or_insert_with(|| Arc::new(Waiting::begin()));
            self.park_as(cx, Some(&*wait).filter(|_| new));
            perturb::point();
            match ready() {
                Some(v) => Poll::Ready(v),
                None => {
                    begun();
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Shows `look` the waits that go on: those of [`wait_for`](Event::wait_for), not of who parks by himself.
    pub fn each_wait(&self, mut look: impl FnMut(&Waiting)) {
        let all: Vec<_> = self.lock().waits.iter().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|w| look(w));
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock()
    }
}

#[cfg(all(test, not(tidemill_model)))]
mod tests {
    use super::*;
    use crate::block_on;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn no_wakeup_is_lost() {
        let ev = Arc::new(Event::new());
        let n = Arc::new(AtomicU32::new(0));
        let (ev2, n2) = (ev.clone(), n.clone());
        let t = std::thread::spawn(move || {
            for i in 1..=10_000u32 {
                n2.store(i, Ordering::Release);
                ev2.fire();
            }
        });
        for i in (0..=10_000u32).step_by(7) {
            block_on(ev.wait_for(|| (n.load(Ordering::Acquire) >= i).then_some(())));
        }
        t.join().unwrap();
    }
}

#[cfg(all(test, tidemill_model))]
mod loom_model {
    use super::*;
    use crate::sync::{Arc, block_on, model, spawn};

    /// A waiter that would sleep on after the firing is a deadlock, which loom reports.
    #[test]
    fn whoever_waits_is_woken() {
        model(|| {
            let shared = Arc::new((Event::new(), AtomicBool::new(false)));
            let firing = shared.clone();
            let t = spawn(move || {
                firing.1.store(true, Ordering::Release);
                firing.0.fire();
            });
            block_on(
                shared
                    .0
                    .wait_for(|| shared.1.load(Ordering::Acquire).then_some(())),
            );
            t.join().unwrap();
        });
    }

    #[test]
    fn two_that_wait_are_both_woken() {
        model(|| {
            let shared = Arc::new((Event::new(), AtomicBool::new(false)));
            let waits = |s: Arc<(Event, AtomicBool)>| {
                move || block_on(s.0.wait_for(|| s.1.load(Ordering::Acquire).then_some(())))
            };
            let other = spawn(waits(shared.clone()));
            let third = shared.clone();
            let t = spawn(move || {
                third.1.store(true, Ordering::Release);
                third.0.fire();
            });
            waits(shared)();
            other.join().unwrap();
            t.join().unwrap();
        });
    }
}
