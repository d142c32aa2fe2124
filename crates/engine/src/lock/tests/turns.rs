//! Whose turn it is when a lock is free: who sleeps is told and comes for it, who wants it for a moment goes before, and nobody is
//! passed over for ever.

use super::rules::world;
use super::*;
use crate::lock::queue::{JUMPS, PASSES};
use proptest::prelude::*;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use Mode::{Exclusive, Shared};

/// A wait that is polled by hand.
struct Sleeper {
    wait: LockWait,
    rings: Arc<Rings>,
}

impl Sleeper {
    /// It has gone to sleep.
    fn asleep(answer: Acquired) -> Sleeper {
        let mut sleeper = Sleeper {
            wait: waits(answer),
            rings: Arc::default(),
        };
        assert_eq!(sleeper.poll(), Poll::Pending);
        sleeper
    }

    fn has_rung(&self) -> bool {
        self.rings.count() > 0
    }

    fn poll(&mut self) -> Poll<WaitEnd> {
        let waker = Waker::from(self.rings.clone());
        Pin::new(&mut self.wait).poll(&mut Context::from_waker(&waker))
    }
}

fn brief(w: &World, owner: TxnId, key: &[u8]) -> Acquired {
    let req = Request {
        hold: Hold::Row,
        brief: true,
        ..request(owner, key, Exclusive, 0)
    };
    w.table.lock(&req)
}

#[test]
fn a_free_lock_goes_to_whom_it_does_not_have_to_wait_for() {
    let (w, t, _c) = world(5);
    granted(w.ask(t[0], b"k", Exclusive));
    let mut first = Sleeper::asleep(w.ask(t[1], b"k", Exclusive));
    let mut second = Sleeper::asleep(w.ask(t[2], b"k", Shared));
    w.end(t[0]);
    assert_eq!((first.rings.count(), first.wait.ended()), (1, None));
    // Before it comes: who wants it for a moment has it, who wants it for longer waits behind, and so does who reads.
    granted(brief(&w, t[3], b"k"));
    let mut third = Sleeper::asleep(w.ask(t[4], b"k", Exclusive));
    assert_eq!(first.poll(), Poll::Pending);
    w.end(t[3]);
    assert_eq!(first.rings.count(), 2);
    assert_eq!(first.poll(), Poll::Ready(WaitEnd::Granted));
    assert!(matches!(w.ask(t[1], b"k", Exclusive), Acquired::Held));
    w.end(t[1]);
    assert_eq!((second.rings.count(), third.rings.count()), (1, 0));
    assert_eq!(second.poll(), Poll::Ready(WaitEnd::Granted));
    w.end(t[2]);
    assert_eq!(third.poll(), Poll::Ready(WaitEnd::Granted));
    w.end(t[4]);
    assert!(w.table.is_empty());
}

#[test]
fn nobody_is_passed_over_for_ever() {
    let (w, t, _c) = world(3);
    granted(w.ask(t[0], b"k", Exclusive));
    let first = Sleeper::asleep(w.ask(t[1], b"k", Exclusive));
    let cell = w.txns.register();
    w.end(t[0]);
    for _ in 0..PASSES {
        assert_eq!(first.wait.ended(), None);
        let passing = w.begin(&cell);
        granted(brief(&w, passing, b"k"));
        w.end(passing);
    }
    assert_eq!(first.wait.ended(), Some(WaitEnd::Granted));
    let next = waits(brief(&w, t[2], b"k"));
    w.end(t[1]);
    assert_eq!(next.ended(), Some(WaitEnd::Granted));
    w.end(t[2]);
    assert!(w.table.is_empty());
}

#[test]
fn who_passes_is_met_by_those_who_wait() {
    let (w, t, _c) = world(3);
    granted(w.ask(t[0], b"k", Exclusive));
    let mut first = Sleeper::asleep(w.ask(t[1], b"k", Exclusive));
    w.end(t[0]);
    granted(brief(&w, t[2], b"k"));
    // What it has is in the row alone as far as it knows, and is in the queue for others.
    assert!(matches!(w.ask(t[2], b"k", Exclusive), Acquired::Held));
    assert_eq!(first.poll(), Poll::Pending);
    w.end(t[2]);
    assert_eq!(first.poll(), Poll::Ready(WaitEnd::Granted));
    w.end(t[1]);
    assert!(w.table.is_empty());
}

#[test]
fn who_was_told_and_gives_up_leaves_the_turn_to_the_next() {
    for how in 0..3 {
        let (w, t, _c) = world(3);
        granted(w.ask(t[0], b"k", Exclusive));
        let first = Sleeper::asleep(w.ask(t[1], b"k", Exclusive));
        let mut second = Sleeper::asleep(w.ask(t[2], b"k", Exclusive));
        w.end(t[0]);
        assert_eq!((first.rings.count(), second.rings.count()), (1, 0));
        match how {
            0 => assert!(w.table.kill(t[1])),
            1 => drop(first),
            // Its timeout comes before that of the other.
            _ => w.table.release_all(t[1]),
        }
        assert_eq!(second.rings.count(), 1, "{how}");
        assert_eq!(second.poll(), Poll::Ready(WaitEnd::Granted), "{how}");
        w.end(t[1]);
        w.end(t[2]);
        assert!(w.table.is_empty());
    }
}

#[test]
fn who_holds_something_else_goes_ahead() {
    let (w, t, _c) = world(5);
    granted(w.ask(t[0], b"k", Exclusive));
    let plain = waits(w.ask(t[1], b"k", Exclusive));
    granted(w.ask(t[2], b"other", Exclusive));
    let holder = waits(w.ask(t[2], b"k", Exclusive));
    granted(w.ask(t[3], b"third", Exclusive));
    let behind = waits(w.ask(t[3], b"k", Exclusive));
    let last = waits(w.ask(t[4], b"k", Exclusive));
    let ends = || [&holder, &behind, &plain, &last].map(|wait| wait.ended().is_some());
    for (n, &t) in [t[0], t[2], t[3], t[1], t[4]].iter().enumerate() {
        assert_eq!(ends(), std::array::from_fn(|i| i < n), "{n}");
        w.end(t);
    }
    assert!(w.table.is_empty());
}

#[test]
fn who_holds_nothing_is_not_left_behind_for_ever() {
    let (w, t, _c) = world(2);
    granted(w.ask(t[0], b"k", Exclusive));
    let plain = waits(w.ask(t[1], b"k", Exclusive));
    let mut before = t[0];
    let mut cells = Vec::new();
    for n in 0..=JUMPS {
        let cell = w.txns.register();
        let holder = w.begin(&cell);
        cells.push(cell);
        granted(w.ask(holder, &[n as u8], Exclusive));
        let wait = waits(w.ask(holder, b"k", Exclusive));
        w.end(before);
        assert_eq!(wait.ended().is_some(), n < JUMPS, "{n}");
        assert_eq!(plain.ended().is_some(), n == JUMPS, "{n}");
        before = holder;
    }
    w.end(t[1]);
    w.end(before);
    assert!(w.table.is_empty());
}

#[test]
fn those_who_want_it_for_a_moment_come_in_any_order() {
    let (w, t, _c) = world(5);
    granted(w.ask(t[0], b"k", Exclusive));
    let mut sleepers: Vec<_> = t[1..4]
        .iter()
        .map(|&t| Sleeper::asleep(brief(&w, t, b"k")))
        .collect();
    let last = Sleeper::asleep(w.ask(t[4], b"k", Exclusive));
    w.end(t[0]);
    assert!(sleepers.iter().all(Sleeper::has_rung) && !last.has_rung());
    for n in [2, 0, 1] {
        assert_eq!(sleepers[n].poll(), Poll::Ready(WaitEnd::Granted));
        w.end(t[n + 1]);
    }
    assert!(last.has_rung());
    w.end(t[4]);
    drop(last);
    assert!(w.table.is_empty());
}

#[test]
fn those_of_one_thread_come_one_after_another() {
    let (w, t, _c) = world(9);
    granted(w.ask(t[0], b"k", Exclusive));
    let asleep = |t: &[TxnId]| -> Vec<Sleeper> {
        let each = t.iter().map(|&t| Sleeper::asleep(brief(&w, t, b"k")));
        each.collect()
    };
    // The first in the queue are another thread's, which ends and leaves its number to others: this thread has one by then.
    let here = base::counters::thread_number();
    let mut theirs = std::thread::scope(|s| {
        let theirs = s.spawn(|| {
            assert_ne!(base::counters::thread_number(), here);
            asleep(&t[1..5])
        });
        theirs.join().expect("they sleep")
    });
    let mut ours = asleep(&t[5..9]);
    let rung = |all: &[Sleeper]| -> Vec<u64> { all.iter().map(|s| s.rings.count()).collect() };
    w.end(t[0]);
    assert_eq!((rung(&theirs), rung(&ours)), (vec![0; 4], vec![1; 4]));
    for n in 0..4 {
        assert_eq!(ours[n].poll(), Poll::Ready(WaitEnd::Granted));
        if n == 2 {
            assert_eq!(theirs[0].poll(), Poll::Pending, "in vain");
        }
        w.end(t[5 + n]);
        // The other thread wakes up while ours is busy with its last two.
        assert_eq!(rung(&theirs), vec![u64::from(n > 0); 4], "{n}");
    }
    for n in [1, 2, 3] {
        assert_eq!(theirs[n].poll(), Poll::Ready(WaitEnd::Granted));
        w.end(t[1 + n]);
    }
    assert_eq!(theirs[0].rings.count(), 2);
    assert_eq!(theirs[0].poll(), Poll::Ready(WaitEnd::Granted));
    w.end(t[1]);
    assert!(w.table.is_empty());
}

/// What a session does next.
#[derive(Clone, Debug)]
enum Step {
    Ask {
        who: usize,
        key: u8,
        brief: bool,
        exclusive: bool,
    },
    /// Its thread has time.
    Run(usize),
    End(usize),
    Kill(usize),
}

const SESSIONS: usize = 7;

fn step() -> impl Strategy<Value = Step> {
    let who = 0..SESSIONS;
    let ask = (who.clone(), 0..2u8, any::<bool>(), 0..5u8);
    prop_oneof![
        8 => ask.prop_map(|(who, key, brief, n)| Step::Ask { who, key, brief, exclusive: n > 0 }),
        4 => who.clone().prop_map(Step::Run),
        4 => who.clone().prop_map(Step::End),
        1 => who.prop_map(Step::Kill),
    ]
}

struct Bed {
    w: World,
    cells: Vec<Registration>,
    ids: Vec<TxnId>,
    sleepers: Vec<Option<Sleeper>>,
}

impl Bed {
    fn new() -> Bed {
        let (w, ids, cells) = world(SESSIONS);
        let sleepers = (0..SESSIONS).map(|_| None).collect();
        Bed {
            w,
            cells,
            ids,
            sleepers,
        }
    }

    fn sleeps(&self, who: usize) -> bool {
        self.sleepers[who].is_some()
    }

    /// Runs a session that was woken; false where it was not.
    fn run(&mut self, who: usize) -> bool {
        let Some(mut sleeper) = self.sleepers[who].take() else {
            return false;
        };
        if !sleeper.has_rung() {
            self.sleepers[who] = Some(sleeper);
            return false;
        }
        sleeper.rings = Arc::default();
        if sleeper.poll() == Poll::Pending {
            self.sleepers[who] = Some(sleeper);
        }
        true
    }

    fn end(&mut self, who: usize) {
        if !self.sleeps(who) {
            self.w.end(self.ids[who]);
            self.ids[who] = self.w.begin(&self.cells[who]);
        }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Ask {
                who,
                key,
                brief,
                exclusive,
            } if !self.sleeps(who) => {
                let mode = if exclusive { Exclusive } else { Shared };
                let key = [key];
                let req = Request {
                    brief,
                    ..request(self.ids[who], &key, mode, 0)
                };
                if let Acquired::Wait(wait) = self.w.table.lock(&req) {
                    let mut sleeper = Sleeper {
                        wait,
                        rings: Arc::default(),
                    };
                    if sleeper.poll() == Poll::Pending {
                        self.sleepers[who] = Some(sleeper);
                    }
                }
            }
            Step::Ask { .. } => {}
            Step::Run(who) => {
                self.run(who);
            }
            Step::End(who) => self.end(who),
            Step::Kill(who) => {
                self.w.table.kill(self.ids[who]);
            }
        }
    }
}

proptest! {
    #![proptest_config(base::seeded!())]

    /// Whatever they ask for, and in whatever order they run: as long as those who can go on do, and end, everybody has its turn.
    #[test]
    fn nobody_sleeps_on_beside_a_free_lock(steps in proptest::collection::vec(step(), 1..150)) {
        let mut bed = Bed::new();
        steps.iter().for_each(|step| bed.apply(step));
        let mut quiet = false;
        while !quiet {
            quiet = true;
            for who in 0..SESSIONS {
                quiet &= !bed.run(who);
                bed.end(who);
            }
            quiet &= !(0..SESSIONS).any(|who| bed.sleepers[who].as_ref().is_some_and(Sleeper::has_rung));
        }
        prop_assert!((0..SESSIONS).all(|who| !bed.sleeps(who)));
        prop_assert!(bed.w.table.is_empty());
    }
}
