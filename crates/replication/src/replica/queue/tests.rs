//! Whoever waits at the queue hears of what it waits for.

use super::*;
use crate::in_time::{in_time, until};
use base::SplitMix64;
use base::block_on;
use base::perturb::perturbed;
use base::seed::nth;
use std::sync::Arc;
use std::thread;

fn event(number: u64, bytes: usize) -> Queued {
    Queued {
        header: Header::default(),
        body: vec![0; bytes],
        end: LogPlace {
            file: String::new(),
            position: number,
        },
    }
}

fn queue(limit: u64) -> Arc<Queue> {
    let queue = Arc::new(Queue::default());
    queue.set_limit(limit);
    queue
}

/// Each wait, with what ends it.
#[test]
fn each_wait_is_ended_by_what_it_is_for() {
    type Waits = fn(&Queue);
    type Ends = fn(&Queue);
    let put = |q: &Queue| {
        let put = block_on(q.put(0, event(2, 100)));
        assert_eq!(put, Err(NotPut::Stop));
    };
    let all: [(&str, Waits, Ends); 9] = [
        (
            "events",
            |q| assert!(matches!(block_on(q.next()), Taken::Event(_))),
            |q| {
                block_on(q.put(0, event(1, 1))).expect("room");
                q.tell();
            },
        ),
        (
            "the applier's end",
            |q| assert!(matches!(block_on(q.next()), Taken::Stop)),
            |q| q.stop_taking(true),
        ),
        (
            "a nudge",
            |q| assert!(matches!(block_on(q.next()), Taken::Nudged)),
            Queue::nudge,
        ),
        (
            "a stream that is given up",
            |q| assert!(matches!(block_on(q.next()), Taken::GivenUp)),
            |q| {
                q.stop_putting(true);
                block_on(q.give_up(0, || false));
            },
        ),
        (
            "another stream",
            |q| assert!(block_on(q.wait_other(0))),
            |q| _ = q.begin_stream(Place::start()),
        ),
        (
            "the receiver's end",
            |q| assert!(!block_on(q.wait_other(0))),
            |q| q.stop_putting(true),
        ),
        (
            "an applier that starts",
            |q| {
                q.await_stream(true);
                assert!(block_on(q.start()).is_some_and(|(stream, _)| stream == 1));
            },
            |q| _ = q.begin_stream(Place::start()),
        ),
        (
            "an applier that does not start",
            |q| {
                q.await_stream(true);
                assert!(block_on(q.start()).is_some_and(|(stream, _)| stream == 0));
            },
            |q| q.await_stream(false),
        ),
        ("room, until the receiver's end", put, |q| {
            q.stop_putting(true);
        }),
    ];
    for (what, waits, ends) in all {
        let queue = queue(100);
        if what.starts_with("room") {
            block_on(queue.put(0, event(1, 100))).expect("room for one");
        }
        let theirs = Arc::clone(&queue);
        let waiting = thread::spawn(move || waits(&theirs));
        until(what, || queue.changed.has_waiters());
        ends(&queue);
        in_time(move || waiting.join()).expect(what);
    }
}

/// A receiver that cannot go on with a stream asks for another one; the applier ends at that moment instead.
#[test]
fn who_gives_a_stream_up_does_not_wait_for_an_applier_that_has_ended() {
    let (queue, ended) = (queue(100), Arc::new(base::lock::Mutex::new(false)));
    let (theirs, gone) = (Arc::clone(&queue), Arc::clone(&ended));
    let receiver = thread::spawn(move || block_on(theirs.give_up(0, || *gone.lock())));
    until("it waits", || queue.changed.has_waiters());
    *ended.lock() = true;
    queue.await_stream(false);
    in_time(move || receiver.join()).expect("no panic");
}

/// A receiver and an applier, held up anywhere; there is room for two or three events.
#[test]
fn what_is_put_is_taken_wherever_they_are_held_up() {
    const EVENTS: u64 = 400;
    for round in 0..8 {
        let queue = queue(600);
        let (puts, takes) = (Arc::clone(&queue), queue);
        in_time(move || {
            let putting = thread::spawn(move || {
                let seed = nth("queue's receiver", round);
                let mut rng = SplitMix64::new(seed);
                perturbed(seed, || {
                    for n in 1..=EVENTS {
                        let put = block_on(puts.put(0, event(n, rng.below(300) as usize)));
                        put.expect("nobody stops it");
                        if rng.below(3) == 0 {
                            puts.tell();
                        }
                    }
                    puts.tell();
                });
            });
            perturbed(nth("queue's applier", round), || {
                for n in 1..=EVENTS {
                    match block_on(takes.next()) {
                        Taken::Event(e) => assert_eq!(e.end.position, n),
                        other => panic!("{other:?}"),
                    }
                }
            });
            putting.join().expect("no panic");
        });
    }
}
