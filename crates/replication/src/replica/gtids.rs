//! The GTIDs of what was applied here, over whichever channel. A transaction that comes over two of them is applied once.
//!
//! Whoever is about to commit a transaction, with all before it in its channel done, claims its GTID: another channel that has come as far
//! with the same one waits until the first has ended, and leaves it out then. Who is not as far has not claimed anything, so nobody waits for
//! a claim who is himself in somebody's way.
//!
//! While several channels are being applied, each transaction of rows also locks its GTID in the engine's lock table when it begins, so that the same work
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
pub(super) struct AppliedGtids {
    inner: Mutex<Inner>,
    freed: Event,
    /// Channels that are being applied.
    appliers: AtomicUsize,
}

/// A channel that is being applied, as long as this is kept.
pub(super) struct Applying<'n>(&'n AppliedGtids);

/// A name that was claimed. Dropped, it is free again.
pub(super) struct GtidClaim<'n> {
    gtids: &'n AppliedGtids,
    gtid: Gtid,
}

/// What became of a claim.
pub(super) enum Claimed<'n> {
    /// Nobody else has it.
    Mine(GtidClaim<'n>),
    /// It was applied.
    Done,
    /// Somebody else has it still, and whoever waits was told to end.
    GivenUp,
}

impl AppliedGtids {
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

    /// The same, once nobody is about to; `None`: `gives_up` has said so meanwhile.
    pub async fn settled(&self, gtid: Gtid, gives_up: impl Fn() -> bool) -> Option<bool> {
        let asked = || {
            let s = self.inner.lock();
            match s.claimed.contains(&gtid) {
                false => Some(Some(s.done.has(gtid))),
                true => gives_up().then_some(None),
            }
        };
        self.freed.wait_for(asked).await
    }

    /// Claims it, once nobody has it.
    pub async fn claim(&self, gtid: Gtid, gives_up: impl Fn() -> bool) -> Claimed<'_> {
        let claim = || {
            let mut s = self.inner.lock();
            if s.done.has(gtid) {
                return Some(Claimed::Done);
            }
            if s.claimed.insert(gtid) {
                return Some(Claimed::Mine(GtidClaim { gtids: self, gtid }));
            }
            gives_up().then_some(Claimed::GivenUp)
        };
        self.freed.wait_for(claim).await
    }

    /// Who waits is to ask again whether to give up.
    pub fn ask_again(&self) {
        self.freed.fire();
    }
}

impl Drop for Applying<'_> {
    fn drop(&mut self) {
        self.0.appliers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl GtidClaim<'_> {
    /// It is recorded.
    pub fn done(self) {
        self.gtids.inner.lock().done.add(self.gtid);
    }
}

impl Drop for GtidClaim<'_> {
    fn drop(&mut self) {
        self.gtids.inner.lock().claimed.remove(&self.gtid);
        if !base::mutant!("claim-freed-without-a-word") {
            self.gtids.freed.fire();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_time::in_time;
    use base::perturb::{perturbed, point};
    use base::seed::nth;
    use base::{SplitMix64, block_on};
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};
    use std::thread;

    fn gtid(n: u64) -> Gtid {
        Gtid::parse(&format!("3e11fa47-71ca-11e1-9e33-c80aa9429562:{n}")).expect("a name")
    }

    #[test]
    fn a_name_is_claimed_by_one_and_done_once() {
        let gtids = AppliedGtids::default();
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(Claimed::Mine(first)) = pin!(gtids.claim(gtid(1), || false)).poll(&mut cx)
        else {
            panic!("free, and not claimed");
        };
        {
            let mut second = pin!(gtids.claim(gtid(1), || false));
            let mut asked = pin!(gtids.settled(gtid(1), || false));
            assert!(second.as_mut().poll(&mut cx).is_pending());
            assert!(asked.as_mut().poll(&mut cx).is_pending());
            // Another is free.
            assert!(matches!(
                pin!(gtids.claim(gtid(2), || false)).poll(&mut cx),
                Poll::Ready(Claimed::Mine(_))
            ));
            assert!(!gtids.has(gtid(1)));
            first.done();
            assert!(matches!(
                second.as_mut().poll(&mut cx),
                Poll::Ready(Claimed::Done)
            ));
            assert_eq!(asked.as_mut().poll(&mut cx), Poll::Ready(Some(true)));
        }
        // Two was given back without having been done.
        assert!(gtids.has(gtid(1)) && !gtids.has(gtid(2)));
        gtids.forget();
        assert_eq!(
            pin!(gtids.settled(gtid(1), || false)).poll(&mut cx),
            Poll::Ready(Some(false))
        );
    }

    #[test]
    fn who_waits_for_a_claim_gives_up_when_told_to() {
        let gtids = AppliedGtids::default();
        let mut cx = Context::from_waker(Waker::noop());
        let told = std::cell::Cell::new(false);
        let Poll::Ready(Claimed::Mine(_first)) = pin!(gtids.claim(gtid(1), || false)).poll(&mut cx)
        else {
            panic!("free, and not claimed");
        };
        let mut second = pin!(gtids.claim(gtid(1), || told.get()));
        let mut asked = pin!(gtids.settled(gtid(1), || told.get()));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert!(asked.as_mut().poll(&mut cx).is_pending());
        told.set(true);
        gtids.ask_again();
        assert!(matches!(
            second.as_mut().poll(&mut cx),
            Poll::Ready(Claimed::GivenUp)
        ));
        assert_eq!(asked.as_mut().poll(&mut cx), Poll::Ready(None));
    }

    /// Three channels with the same transactions, held up anywhere: one in four claims comes to nothing.
    #[test]
    fn each_name_is_done_once_wherever_they_are_held_up() {
        const MOST: u64 = 60;
        let gtids = Arc::new(AppliedGtids::default());
        let channel = |n: u64| {
            let gtids = Arc::clone(&gtids);
            move || {
                let seed = nth("a channel", n);
                let mut rng = SplitMix64::new(seed);
                let mut done = 0;
                perturbed(seed, || {
                    for number in 1..=MOST {
                        while let Claimed::Mine(claim) =
                            block_on(gtids.claim(gtid(number), || false))
                        {
                            point();
                            if rng.below(4) > 0 {
                                claim.done();
                                done += 1;
                            }
                        }
                        assert_eq!(block_on(gtids.settled(gtid(number), || false)), Some(true));
                    }
                });
                done
            }
        };
        let all = [1, 2, 3].map(channel);
        let done: u64 = in_time(move || {
            let all = all.map(thread::spawn);
            all.into_iter().map(|t| t.join().expect("no panic")).sum()
        });
        assert_eq!(done, MOST);
    }
}
