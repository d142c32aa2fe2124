//! Who is woken by which reply, and who is not.

use super::*;
use base::mem::ManualClock;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Wake};

const SECOND: u64 = 1_000_000;

struct Bench {
    clock: Arc<ManualClock>,
    semi: Arc<SemiSync>,
}

/// A future that is polled by hand, and how often it was woken.
struct Polled {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    woken: Arc<Count>,
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Polled {
    fn is_over(&mut self) -> bool {
        let waker = Waker::from(self.woken.clone());
        let polled = self.future.as_mut().poll(&mut Context::from_waker(&waker));
        polled.is_ready()
    }

    fn woken(&self) -> usize {
        self.woken.0.load(Ordering::SeqCst)
    }
}

fn at(position: u64) -> Place {
    Place { file: 1, position }
}

impl Bench {
    fn new(replicas: usize, wait_without: bool) -> Bench {
        let clock = Arc::new(ManualClock::default());
        let semi = Arc::new(SemiSync::new(clock.clone()));
        semi.set(Rules {
            enabled: true,
            timeout_us: 10 * SECOND,
            replicas,
            wait_without,
        });
        Bench { clock, semi }
    }

    /// A commit whose record ends at `n` is in the files up to position `n`.
    fn shown(&self, n: u64) {
        self.semi.shown(at(n), Lsn(n));
    }

    fn wait(&self, n: u64) -> Option<Polled> {
        let mut p = Polled {
            future: Box::pin(self.semi.wait(Lsn(n))?),
            woken: Arc::default(),
        };
        assert!(!p.is_over());
        Some(p)
    }

    fn replica(&self, name: &str) -> Member {
        self.semi.join(name.to_owned(), at(4))
    }
}

#[test]
fn a_reply_wakes_those_that_it_is_for_and_nobody_else() {
    let b = Bench::new(1, true);
    let mut r = b.replica("a");
    let mut waits: Vec<Polled> = (1..=3).map(|n| b.wait(n * 100).unwrap()).collect();
    for n in 1..=3 {
        b.shown(n * 100);
        assert!(!r.sends(at(n * 100 - 1)), "the middle of a transaction");
        assert!(r.sends(at(n * 100)));
    }
    r.replied(at(200)).unwrap();
    assert_eq!([1, 1, 0], [0, 1, 2].map(|i: usize| waits[i].woken()));
    assert!(waits[0].is_over() && waits[1].is_over() && !waits[2].is_over());
    // An older place says nothing of a newer one.
    r.replied(at(100)).unwrap();
    r.replied(at(299)).unwrap();
    assert!(!waits[2].is_over());
    r.replied(at(300)).unwrap();
    assert!(waits[2].is_over());
    let c = b.semi.counts();
    assert_eq!(
        (c.acknowledged, c.unacknowledged, c.waiting, c.backwards),
        (3, 0, 0, 1)
    );
    // What is acknowledged already is not waited for.
    assert!(b.wait(250).is_none());
}

#[test]
fn as_many_replicas_as_are_wanted_have_to_say_so() {
    let b = Bench::new(2, true);
    let (mut one, mut two) = (b.replica("one"), b.replica("two"));
    let mut wait = b.wait(100).unwrap();
    b.shown(100);
    assert!(one.sends(at(100)) && two.sends(at(100)));
    one.replied(at(100)).unwrap();
    one.replied(at(100)).unwrap();
    assert!(!wait.is_over(), "one has said it twice");
    // Its word stays, though it goes; the same server by another connection is no second one.
    drop(one);
    let mut again = b.replica("one");
    again.has(at(100));
    assert!(!wait.is_over());
    two.replied(at(100)).unwrap();
    assert!(wait.is_over());
}

#[test]
fn a_replica_that_lies_is_not_believed() {
    let b = Bench::new(1, true);
    let mut r = b.replica("a");
    let mut wait = b.wait(100).unwrap();
    b.shown(100);
    assert_eq!(r.replied(at(100)), Err(NotSent), "nothing was sent");
    r.sends(at(100));
    for lie in [
        at(101),
        at(u64::MAX),
        Place {
            file: 2,
            position: 4,
        },
    ] {
        assert_eq!(r.replied(lie), Err(NotSent));
    }
    assert!(!wait.is_over());
    assert_eq!(b.semi.counts().refused, 4);
    // What it says that it has says nothing of what it was sent meanwhile.
    r.has(at(100));
    assert!(!wait.is_over());
}

#[test]
fn what_a_replica_has_when_it_comes_is_acknowledged() {
    let b = Bench::new(1, true);
    let mut wait = b.wait(100).unwrap();
    b.shown(100);
    let mut r = b.replica("a");
    r.has(at(4));
    assert!(!wait.is_over());
    r.has(at(100));
    assert!(wait.is_over());
}

#[test]
fn a_time_out_switches_it_off_and_replicas_that_have_caught_up_on_again() {
    let b = Bench::new(1, true);
    let mut r = b.replica("a");
    let (mut first, mut second) = (b.wait(100).unwrap(), b.wait(200).unwrap());
    b.shown(100);
    b.shown(200);
    assert!(r.sends(at(100)) && r.sends(at(200)));
    b.clock.advance(10 * SECOND);
    assert!(first.is_over() && second.is_over(), "both at once");
    assert!(!b.semi.counts().on);
    assert!(b.wait(250).is_none(), "nobody waits while it is off");
    // Old replies, which come late, do not switch it on.
    r.replied(at(100)).unwrap();
    assert!(!b.semi.counts().on);
    b.shown(300);
    b.shown(400);
    assert!(!r.sends(at(300)), "it is behind: it is not asked");
    assert!(r.sends(at(400)), "the end is asked for");
    // It takes longer than a commit may wait.
    b.clock.advance(11 * SECOND);
    r.replied(at(400)).unwrap();
    assert!(!b.semi.counts().on);
    b.shown(500);
    assert!(r.sends(at(500)));
    // More is shown before the reply is there: as it always is under load.
    b.shown(600);
    b.clock.advance(SECOND);
    r.replied(at(500)).unwrap();
    assert!(b.semi.counts().on);
    assert!(r.sends(at(600)));
    let mut third = b.wait(600).unwrap();
    r.replied(at(600)).unwrap();
    assert!(third.is_over());
    let c = b.semi.counts();
    assert_eq!(
        (c.switched_off, c.acknowledged, c.unacknowledged),
        (1, 1, 3)
    );
}

/// It is switched off for all, and not for each once its own time is over.
#[test]
fn who_waits_is_woken_when_the_time_of_another_is_over() {
    let b = Bench::new(1, true);
    let _replica = b.replica("a");
    let mut first = b.wait(100).unwrap();
    b.clock.advance(5 * SECOND);
    let mut second = b.wait(200).unwrap();
    b.clock.advance(5 * SECOND);
    assert_eq!((first.woken(), second.woken()), (1, 0));
    assert!(first.is_over());
    assert_eq!(second.woken(), 1);
    assert!(second.is_over());
}

#[test]
fn without_replicas_it_waits_or_not_as_is_set() {
    let b = Bench::new(1, false);
    assert!(b.wait(100).is_none());
    assert!(!b.semi.counts().on);
    let b = Bench::new(1, false);
    let r = b.replica("a");
    let mut wait = b.wait(100).unwrap();
    drop(r);
    assert!(wait.is_over(), "the only one has gone");
    let b = Bench::new(1, true);
    let r = b.replica("a");
    let mut wait = b.wait(100).unwrap();
    drop(r);
    assert!(!wait.is_over());
    // Switching it off answers who waits.
    b.semi.set(Rules::default());
    assert!(wait.is_over());
}

#[test]
fn who_gives_up_leaves_nothing() {
    let b = Bench::new(1, true);
    let wait = b.wait(100).unwrap();
    assert_eq!(b.semi.counts().waiting, 1);
    drop(wait);
    let c = b.semi.counts();
    assert_eq!((c.waiting, c.unacknowledged), (0, 1));
}

#[test]
fn a_mark_gets_more_of_the_log_before_it_without_another_event() {
    // The files' task says where the last transaction ends, and later that nothing more was committed before a newer position.
    let b = Bench::new(1, true);
    let mut r = b.replica("a");
    b.semi.shown(at(100), Lsn(90));
    assert!(r.sends(at(100)));
    r.replied(at(100)).unwrap();
    let mut wait = b.wait(95).unwrap();
    b.semi.shown(at(100), Lsn(95));
    assert!(wait.is_over());
}

#[test]
fn when_the_files_are_begun_anew_nobody_waits_for_what_is_gone() {
    let b = Bench::new(1, true);
    let mut r = b.replica("a");
    let mut wait = b.wait(100).unwrap();
    b.shown(100);
    r.sends(at(100));
    b.semi.begin_anew();
    assert!(wait.is_over());
    // The word of a replica on the old files counts for nothing on the new ones.
    let mut next = b.wait(200).unwrap();
    b.semi.shown(at(50), Lsn(200));
    r.replied(at(100)).unwrap();
    assert!(!next.is_over());
}

#[test]
fn many_marks_are_kept_as_fewer() {
    let b = Bench::new(1, true);
    let mut r = b.replica("a");
    let mut last = b.wait(20_000).unwrap();
    let mut middle = b.wait(10_001).unwrap();
    for n in 5..=20_000 {
        b.shown(n);
        r.sends(at(n));
    }
    assert!(b.semi.inner.lock().marks.len() <= MARKS_MAX);
    r.replied(at(10_000)).unwrap();
    assert!(!middle.is_over());
    r.replied(at(19_999)).unwrap();
    assert!(middle.is_over() && !last.is_over());
    r.replied(at(20_000)).unwrap();
    assert!(last.is_over());
}

#[test]
fn a_thousand_that_wait_are_woken_at_once_and_once() {
    let b = Bench::new(1, true);
    let mut r = b.replica("a");
    let mut waits: Vec<Polled> = (1..=1000).map(|n| b.wait(n).unwrap()).collect();
    b.semi.shown(at(1000), Lsn(1000));
    assert!(r.sends(at(1000)));
    r.replied(at(1000)).unwrap();
    assert!(waits.iter().all(|w| w.woken() == 1));
    assert!(waits.iter_mut().all(Polled::is_over));
}
