//! Leader and workers, without anything that is applied.

use super::*;
use crate::in_time::in_time;
use crate::replica::place::Place;
use crate::replica::schedule::Slot;
use base::SplitMix64;
use base::perturb::perturbed;
use base::seed::nth;
use sql::context::replica::LogPlace;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use wire::binlog::header::Header;

fn event() -> Queued {
    Queued {
        header: Header::default(),
        body: vec![0; 100],
        end: LogPlace::default(),
    }
}

fn job(number: u64) -> Job {
    Job {
        slot: Slot { number, after: 0 },
        base: Place::start(),
        format: None,
        skipped: false,
        alone: false,
        keeps: false,
    }
}

fn hand_whole(crew: &Crew, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        crew.hand(job(number));
        assert!(crew.put(number, event(), true));
    }
}

/// A worker who does nothing with what he takes: the numbers, in his order.
fn all_of(crew: &Crew, worker: usize) -> Vec<u64> {
    let mut taken = Vec::new();
    while let Some(job) = crew.take_job(worker) {
        let number = job.slot.number;
        assert!(crew.wait_for(worker, number - 1));
        while let Next::Event(_) = crew.next(worker) {}
        crew.passed(number);
        crew.clear(worker);
        taken.push(number);
    }
    taken
}

#[test]
fn each_transaction_has_one_worker_and_they_are_taken_in_order() {
    for processors in [1, 2, 8] {
        let crew = Crew::new(4, processors, 1 << 20);
        let taken = thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|w| {
                    scope.spawn({
                        let crew = &crew;
                        move || all_of(crew, w)
                    })
                })
                .collect();
            for number in 1..=2000 {
                assert!(crew.wait_free());
                hand_whole(&crew, [number]);
                if number % 700 == 0 {
                    assert!(crew.wait_done(number) && crew.wait_idle());
                }
            }
            assert!(crew.wait_idle());
            crew.close();
            let taken = workers.into_iter().map(|w| w.join());
            taken.collect::<Result<Vec<_>, _>>()
        });
        let taken = taken.unwrap_or_default();
        assert!(taken.iter().all(|t| t.is_sorted()), "{taken:?}");
        let mut all: Vec<u64> = taken.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (1..=2000).collect::<Vec<_>>());
        assert_eq!((crew.done(), crew.lock().bytes), (2000, 0));
    }
}

#[test]
fn no_more_compute_than_there_are_processors() {
    let crew = Crew::new(3, 1, 1 << 20);
    hand_whole(&crew, 1..=3);
    let first = crew.take_job(0).map(|j| j.slot.number);
    assert_eq!(first, Some(1));
    let (say, hear) = channel();
    thread::scope(|scope| {
        let crew = &crew;
        scope.spawn(move || {
            let number = crew.take_job(1).map(|j| j.slot.number);
            let _ = say.send(number);
        });
        while crew.lock().seats[1].activity != Activity::Idle {
            thread::yield_now();
        }
        // It sleeps by then, mostly.
        thread::sleep(Duration::from_millis(20));
        assert!(hear.try_recv().is_err(), "there is one processor");
        // The first waits for something: it is the next one's.
        crew.waits(0, true);
        let heard = hear.recv_timeout(Duration::from_secs(30));
        // It is to end, whatever has come.
        crew.close();
        assert_eq!(heard, Ok(Some(2)));
    });
    crew.waits(0, false);
    // More than there are to be; who has finished takes nothing until there is room.
    assert_eq!(crew.lock().active, 2);
}

#[test]
fn what_nobody_has_taken_is_left_when_all_end() {
    let crew = Crew::new(2, 2, 1 << 20);
    hand_whole(&crew, 1..=2);
    assert!(crew.take_job(0).is_some());
    crew.close();
    assert!(crew.take_job(1).is_none());
    assert!(matches!(crew.next(0), Next::Event(_)));
    assert!(matches!(crew.next(0), Next::End));
    crew.passed(1);
    crew.clear(0);
    assert!(crew.take_job(0).is_none());
    assert_eq!(crew.done(), 1);
}

#[test]
fn one_who_has_what_no_other_sees_takes_all_behind_it() {
    for taken_before in [false, true] {
        let crew = Crew::new(2, 2, 1 << 20);
        hand_whole(&crew, [1]);
        crew.hand(job(2));
        if !taken_before {
            crew.keep(2);
        }
        assert!(crew.put(2, event(), !taken_before));
        assert!(crew.take_job(0).is_some());
        if taken_before {
            crew.tell(2);
        }
        assert_eq!(crew.take_job(1).map(|j| j.slot.number), Some(2));
        if taken_before {
            crew.keep(2);
            assert!(crew.put(2, event(), true));
        }
        hand_whole(&crew, 3..=4);
        crew.passed(1);
        crew.clear(0);
        crew.passed(2);
        crew.clear(1);
        let others = thread::scope(|scope| {
            let other = scope.spawn(|| all_of(&crew, 0));
            assert_eq!(crew.take_job(1).map(|j| j.slot.number), Some(3));
            crew.clear(1);
            assert_eq!(crew.take_job(1).map(|j| j.slot.number), Some(4));
            crew.clear(1);
            crew.close();
            other.join()
        });
        assert_eq!(others.unwrap_or(vec![0]), [0u64; 0]);
    }
}

#[test]
fn a_transaction_is_tried_again_unless_it_is_too_large_to_be_kept() {
    let crew = Crew::new(1, 1, 300);
    crew.hand(job(1));
    assert!(crew.put(1, event(), false));
    crew.tell(1);
    assert!(crew.take_job(0).is_some());
    assert!(matches!(crew.next(0), Next::Event(_)));
    assert!(crew.rewind(0));
    assert!(matches!(crew.next(0), Next::Event(_)));
    // No room for the second one besides: what was read goes, as nothing is before it.
    assert!(crew.put(1, event(), true));
    assert!(!crew.rewind(0));
    assert!(matches!(crew.next(0), Next::Event(_)));
    assert!(matches!(crew.next(0), Next::End));
    crew.abandon(1);
    assert!(matches!(crew.next(0), Next::Abandoned));
    crew.clear(0);
    assert_eq!(crew.lock().bytes, 0);
}

/// A worker who waits for something now and then, and tries some transactions twice.
fn works(crew: &Crew, worker: usize, rng: &mut SplitMix64) -> Option<()> {
    while let Some(job) = crew.take_job(worker) {
        let number = job.slot.number;
        let mut after = job.slot.after;
        let mut again = rng.below(4) == 0;
        loop {
            crew.wait_for(worker, after).then_some(())?;
            loop {
                match crew.next(worker) {
                    Next::Event(_) if rng.below(4) == 0 => {
                        crew.waits(worker, true);
                        thread::yield_now();
                        crew.waits(worker, false);
                    }
                    Next::Event(_) => {}
                    Next::End | Next::Abandoned => break,
                    Next::Ended => return None,
                }
            }
            if !std::mem::take(&mut again) || !crew.rewind(worker) {
                break;
            }
            after = number - 1;
        }
        crew.wait_for(worker, number - 1).then_some(())?;
        crew.passed(number);
        crew.clear(worker);
    }
    Some(())
}

/// Hands out transactions in parts; there is room for two events.
fn leads(crew: &Crew, most: u64, rng: &mut SplitMix64) -> Option<()> {
    for number in 1..=most {
        crew.wait_free().then_some(())?;
        let after = match rng.below(2) {
            0 => 0,
            _ => number - 1,
        };
        crew.hand(Job {
            slot: Slot { number, after },
            ..job(number)
        });
        let events = 1 + rng.below(4);
        for n in 1..=events {
            let last = n == events;
            if last && rng.below(8) == 0 {
                crew.abandon(number);
                break;
            }
            crew.put(number, event(), last).then_some(())?;
            if !last && rng.below(3) == 0 {
                crew.tell(number);
            }
        }
        match rng.below(16) {
            0 => crew.wait_done(number).then_some(())?,
            1 => crew.wait_idle().then_some(())?,
            _ => {}
        }
    }
    crew.wait_idle().then_some(())
}

#[test]
fn nobody_sleeps_on_wherever_they_are_held_up() {
    const MOST: u64 = 150;
    for round in 0..6u64 {
        in_time(move || {
            let crew = Crew::new(4, 1 + round as usize % 3, 600);
            let seed = |who: usize| nth("a crew", round * 8 + who as u64);
            thread::scope(|scope| {
                for w in 0..4 {
                    let crew = &crew;
                    scope.spawn(move || {
                        let mut rng = SplitMix64::new(seed(w));
                        perturbed(seed(w), || works(crew, w, &mut rng))
                    });
                }
                let mut rng = SplitMix64::new(seed(5));
                let led = perturbed(seed(5), || leads(&crew, MOST, &mut rng));
                assert_eq!(led, Some(()));
                crew.close();
            });
            assert_eq!((crew.done(), crew.lock().bytes), (MOST, 0));
        });
    }
}

/// Those who wait for events, for their turn, for something to do, and the leader.
#[test]
fn when_all_end_all_come_back() {
    in_time(|| {
        let crew = Crew::new(4, 4, 1 << 20);
        hand_whole(&crew, [1]);
        crew.hand(job(2));
        assert!(crew.put(2, event(), false));
        assert!(crew.take_job(0).is_some());
        crew.tell(2);
        assert!(crew.take_job(1).is_some());
        thread::scope(|scope| {
            let crew = &crew;
            let waits = [
                scope.spawn(|| {
                    while let Next::Event(_) = crew.next(1) {}
                    true
                }),
                scope.spawn(|| !crew.wait_for(0, 5)),
                scope.spawn(|| crew.take_job(2).is_none()),
                scope.spawn(|| crew.take_job(3).is_none()),
                scope.spawn(|| !crew.wait_done(1)),
            ];
            // Long enough that they sleep, mostly.
            thread::sleep(Duration::from_millis(20));
            crew.end();
            for waiting in waits {
                assert!(waiting.join().expect("no panic"));
            }
        });
    });
}
