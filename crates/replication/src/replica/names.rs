//! The names (GTIDs) of what was applied here, over whichever channel. A transaction that comes over two of them is applied once.
//!
//! Whoever is about to commit a transaction, with all before it in its channel done, claims its name: another channel that has come as far
//! with the same one waits until the first has ended, and leaves it out then. Who is not as far has not claimed anything, so nobody waits for
//! a claim who is himself in somebody's way.
//!
//! While several channels are being applied, each transaction of rows also locks its name in the engine's lock table when it begins, so that the same work
//! is not done twice at once, only to be taken back. The lock table knows all waits, and finds where they go in a circle.
//!
//! What it never knows: what is in the binary log. That comes behind the commits; this bridges the time.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::Event;
use base::lock::Mutex;
use types::SqlError;
use types::error::codes;
use types::gtid::{Gtid, GtidSet};

#[derive(Default)]
struct Inner {
    /// Applied, and recorded as such.
    done: GtidSet,
    /// Somebody is about to record it.
    claimed: BTreeSet<Gtid>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Names {
    inner: Mutex<Inner>,
    freed: Event,
    /// Channels that are being applied.
    appliers: AtomicUsize,
}

/// A channel that is being applied, as long as this is kept.
pub(super) struct Applying<'n>(&'n Names);

/// A name that was claimed. Dropped, it is free again.
pub(super) struct NameClaim<'n> {
    names: &'n Names,
    gtid: Gtid,
}

impl Names {
    /// A channel begins to be applied.
    pub fn begin_applying(&self) -> Applying<'_> {
        self.appliers.fetch_add(1, Ordering::SeqCst);
        Applying(self)
    }

    /// Whether this failure may come from another channel, and says nothing against the transaction: two that apply the same are in each other's way until
    /// one has done it. One of them always goes on, so it need not be counted how often.
    pub fn may_be_another(&self, e: &SqlError) -> bool {
        e.code == codes::ER_LOCK_DEADLOCK && self.several_apply()
    }

    /// Whether several channels are being applied.
    pub fn several_apply(&self) -> bool {
        self.appliers.load(Ordering::SeqCst) > 1
    }

    /// These were applied before.
    pub fn add(&self, set: &GtidSet) {
        self.inner.lock().done.add_set(set);
    }

    /// This one was applied.
    pub fn add_one(&self, gtid: Gtid) {
        self.inner.lock().done.add(gtid);
    }

    /// All that were.
    pub fn done(&self) -> GtidSet {
        self.inner.lock().done.clone()
    }

    /// None was.
    pub fn forget(&self) {
        self.inner.lock().done = GtidSet::new();
    }

    /// Whether it was applied.
    pub fn has(&self, gtid: Gtid) -> bool {
        self.inner.lock().done.has(gtid)
    }

    /// The same, once nobody is about to.
    pub async fn settled(&self, gtid: Gtid) -> bool {
        let asked = || {
            let s = self.inner.lock();
            (!s.claimed.contains(&gtid)).then(|| s.done.has(gtid))
        };
        self.freed.wait_for(asked).await
    }

    /// Claims it, once nobody has it; `None`: it was applied.
    pub async fn claim(&self, gtid: Gtid) -> Option<NameClaim<'_>> {
        let claim = || {
            let mut s = self.inner.lock();
            if s.done.has(gtid) {
                return Some(false);
            }
            s.claimed.insert(gtid).then_some(true)
        };
        let claimed = self.freed.wait_for(claim).await;
        claimed.then_some(NameClaim { names: self, gtid })
    }
}

impl Drop for Applying<'_> {
    fn drop(&mut self) {
        self.0.appliers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl NameClaim<'_> {
    /// It is recorded.
    pub fn done(self) {
        self.names.inner.lock().done.add(self.gtid);
    }
}

impl Drop for NameClaim<'_> {
    fn drop(&mut self) {
        self.names.inner.lock().claimed.remove(&self.gtid);
        self.names.freed.fire();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn gtid(n: u64) -> Gtid {
        Gtid::parse(&format!("3e11fa47-71ca-11e1-9e33-c80aa9429562:{n}")).expect("a name")
    }

    #[test]
    fn a_name_is_claimed_by_one_and_done_once() {
        let names = Names::default();
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(Some(first)) = pin!(names.claim(gtid(1))).poll(&mut cx) else {
            panic!("free, and not claimed");
        };
        {
            let mut second = pin!(names.claim(gtid(1)));
            let mut asked = pin!(names.settled(gtid(1)));
            assert!(second.as_mut().poll(&mut cx).is_pending());
            assert!(asked.as_mut().poll(&mut cx).is_pending());
            // Another is free.
            assert!(matches!(
                pin!(names.claim(gtid(2))).poll(&mut cx),
                Poll::Ready(Some(_))
            ));
            assert!(!names.has(gtid(1)));
            first.done();
            assert!(matches!(second.as_mut().poll(&mut cx), Poll::Ready(None)));
            assert_eq!(asked.as_mut().poll(&mut cx), Poll::Ready(true));
        }
        // Two was given back without having been done.
        assert!(names.has(gtid(1)) && !names.has(gtid(2)));
        names.forget();
        assert_eq!(
            pin!(names.settled(gtid(1))).poll(&mut cx),
            Poll::Ready(false)
        );
    }
}
