//! Coordinator and workers, without anything that is applied.

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

fn hand_whole(jobs: &JobQueue, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        jobs.hand(job(number));
        assert!(jobs.put(number, event(), true));
    }
}

/// A worker who does nothing with what he takes: the numbers, in his order.
fn all_of(jobs: &JobQueue, worker: usize) -> Vec<u64> {
    let mut taken = Vec::new();
    while let Some(job) = jobs.take_job(worker) {
        let number = job.slot.number;
        assert!(jobs.wait_for(worker, number - 1));
        while let Next::Event(_) = jobs.next(worker) {}
        jobs.passed(number);
        jobs.clear(worker);
        taken.push(number);
    }
    taken
}

#[test]
fn each_transaction_has_one_worker_and_they_are_taken_in_order() {
    for processors in [1, 2, 8] {
        let jobs = JobQueue::new(4, processors, 1 << 20);
        let taken = thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|w| {
                    scope.spawn({
                        let jobs = &jobs;
                        move || all_of(jobs, w)
                    })
                })
                .collect();
            for number in 1..=2000 {
                assert!(jobs.wait_free());
                hand_whole(&jobs, [number]);
                if number % 700 == 0 {
                    assert!(jobs.wait_done(number) && jobs.wait_idle());
                }
            }
            assert!(jobs.wait_idle());
            jobs.close();
            let taken = workers.into_iter().map(|w| w.join());
            taken.collect::<Result<Vec<_>, _>>()
        });
        let taken = taken.unwrap_or_default();
        assert!(taken.iter().all(|t| t.is_sorted()), "{taken:?}");
        let mut all: Vec<u64> = taken.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (1..=2000).collect::<Vec<_>>());
        assert_eq!((jobs.done(), jobs.lock().bytes), (2000, 0));
    }
}

#[test]
fn no_more_compute_than_there_are_processors() {
    let jobs = JobQueue::new(3, 1, 1 << 20);
    hand_whole(&jobs, 1..=3);
    let first = jobs.take_job(0).map(|j| j.slot.number);
    assert_eq!(first, Some(1));
    let (say, hear) = channel();
    thread::scope(|scope| {
        let jobs = &jobs;
        scope.spawn(move || {
            let number = jobs.take_job(1).map(|j| j.slot.number);
            let _ = say.send(number);
        });
        while jobs.lock().workers[1].activity != Activity::Idle {
            thread::yield_now();
        }
        // It sleeps by then, mostly.
        thread::sleep(Duration::from_millis(20));
        assert!(hear.try_recv().is_err(), "there is one processor");
        // The first waits for something: it is the next one's.
        jobs.waits(0, true);
        let heard = hear.recv_timeout(Duration::from_secs(30));
        // It is to end, whatever has come.
        jobs.close();
        assert_eq!(heard, Ok(Some(2)));
    });
    jobs.waits(0, false);
    // More than there are to be; who has finished takes nothing until there is room.
    assert_eq!(jobs.lock().active, 2);
}

#[test]
fn what_nobody_has_taken_is_left_when_all_end() {
    let jobs = JobQueue::new(2, 2, 1 << 20);
    hand_whole(&jobs, 1..=2);
    assert!(jobs.take_job(0).is_some());
    jobs.close();
    assert!(jobs.take_job(1).is_none());
    assert!(matches!(jobs.next(0), Next::Event(_)));
    assert!(matches!(jobs.next(0), Next::End));
    jobs.passed(1);
    jobs.clear(0);
    assert!(jobs.take_job(0).is_none());
    assert_eq!(jobs.done(), 1);
}

#[test]
fn one_who_has_what_no_other_sees_takes_all_behind_it() {
    for taken_before in [false, true] {
        let jobs = JobQueue::new(2, 2, 1 << 20);
        hand_whole(&jobs, [1]);
        jobs.hand(job(2));
        if !taken_before {
            jobs.keep(2);
        }
        assert!(jobs.put(2, event(), !taken_before));
        assert!(jobs.take_job(0).is_some());
        if taken_before {
            jobs.tell(2);
        }
        assert_eq!(jobs.take_job(1).map(|j| j.slot.number), Some(2));
        if taken_before {
            jobs.keep(2);
            assert!(jobs.put(2, event(), true));
        }
        hand_whole(&jobs, 3..=4);
        jobs.passed(1);
        jobs.clear(0);
        jobs.passed(2);
        jobs.clear(1);
        let others = thread::scope(|scope| {
            let other = scope.spawn(|| all_of(&jobs, 0));
            assert_eq!(jobs.take_job(1).map(|j| j.slot.number), Some(3));
            jobs.clear(1);
            assert_eq!(jobs.take_job(1).map(|j| j.slot.number), Some(4));
            jobs.clear(1);
            jobs.close();
            other.join()
        });
        assert_eq!(others.unwrap_or(vec![0]), [0u64; 0]);
    }
}

#[test]
fn a_transaction_is_tried_again_unless_it_is_too_large_to_be_kept() {
    let jobs = JobQueue::new(1, 1, 300);
    jobs.hand(job(1));
    assert!(jobs.put(1, event(), false));
    jobs.tell(1);
    assert!(jobs.take_job(0).is_some());
    assert!(matches!(jobs.next(0), Next::Event(_)));
    assert!(jobs.rewind(0));
    assert!(matches!(jobs.next(0), Next::Event(_)));
    // No room for the second one besides: what was read goes, as nothing is before it.
    assert!(jobs.put(1, event(), true));
    assert!(!jobs.rewind(0));
    assert!(matches!(jobs.next(0), Next::Event(_)));
    assert!(matches!(jobs.next(0), Next::End));
    jobs.abandon(1);
    assert!(matches!(jobs.next(0), Next::Abandoned));
    jobs.clear(0);
    assert_eq!(jobs.lock().bytes, 0);
}

/// A worker who waits for something now and then, and tries some transactions twice.
fn works(jobs: &JobQueue, worker: usize, rng: &mut SplitMix64) -> Option<()> {
    while let Some(job) = jobs.take_job(worker) {
        let number = job.slot.number;
        let mut after = job.slot.after;
        let mut again = rng.below(4) == 0;
        loop {
            jobs.wait_for(worker, after).then_some(())?;
            loop {
                match jobs.next(worker) {
                    Next::Event(_) if rng.below(4) == 0 => {
                        jobs.waits(worker, true);
                        thread::yield_now();
                        jobs.waits(worker, false);
                    }
                    Next::Event(_) => {}
                    Next::End | Next::Abandoned => break,
                    Next::Ended => return None,
                }
            }
            if !std::mem::take(&mut again) || !jobs.rewind(worker) {
                break;
            }
            after = number - 1;
        }
        jobs.wait_for(worker, number - 1).then_some(())?;
        jobs.passed(number);
        jobs.clear(worker);
    }
    Some(())
}

/// Hands out transactions in parts; there is room for two events.
fn leads(jobs: &JobQueue, most: u64, rng: &mut SplitMix64) -> Option<()> {
    for number in 1..=most {
        jobs.wait_free().then_some(())?;
        let after = match rng.below(2) {
            0 => 0,
            _ => number - 1,
        };
        jobs.hand(Job {
            slot: Slot { number, after },
            ..job(number)
        });
        let events = 1 + rng.below(4);
        for n in 1..=events {
            let last = n == events;
            if last && rng.below(8) == 0 {
                jobs.abandon(number);
                break;
            }
            jobs.put(number, event(), last).then_some(())?;
            if !last && rng.below(3) == 0 {
                jobs.tell(number);
            }
        }
        match rng.below(16) {
            0 => jobs.wait_done(number).then_some(())?,
            1 => jobs.wait_idle().then_some(())?,
            _ => {}
        }
    }
    jobs.wait_idle().then_some(())
}

#[test]
fn nobody_sleeps_on_wherever_they_are_held_up() {
    const MOST: u64 = 150;
    for round in 0..6u64 {
        in_time(move || {
            let jobs = JobQueue::new(4, 1 + round as usize % 3, 600);
            let seed = |who: usize| nth("a jobs", round * 8 + who as u64);
            thread::scope(|scope| {
                for w in 0..4 {
                    let jobs = &jobs;
                    scope.spawn(move || {
                        let mut rng = SplitMix64::new(seed(w));
                        perturbed(seed(w), || works(jobs, w, &mut rng))
                    });
                }
                let mut rng = SplitMix64::new(seed(5));
                let led = perturbed(seed(5), || leads(&jobs, MOST, &mut rng));
                assert_eq!(led, Some(()));
                jobs.close();
            });
            assert_eq!((jobs.done(), jobs.lock().bytes), (MOST, 0));
        });
    }
}

/// Those who wait for events, for their turn, for something to do, and the coordinator.
#[test]
fn when_all_end_all_come_back() {
    in_time(|| {
        let jobs = JobQueue::new(4, 4, 1 << 20);
        hand_whole(&jobs, [1]);
        jobs.hand(job(2));
        assert!(jobs.put(2, event(), false));
        assert!(jobs.take_job(0).is_some());
        jobs.tell(2);
        assert!(jobs.take_job(1).is_some());
        thread::scope(|scope| {
            let jobs = &jobs;
            let waits = [
                scope.spawn(|| {
                    while let Next::Event(_) = jobs.next(1) {}
                    true
                }),
                scope.spawn(|| !jobs.wait_for(0, 5)),
                scope.spawn(|| jobs.take_job(2).is_none()),
                scope.spawn(|| jobs.take_job(3).is_none()),
                scope.spawn(|| !jobs.wait_done(1)),
            ];
            // Long enough that they sleep, mostly.
            thread::sleep(Duration::from_millis(20));
            jobs.end();
            for waiting in waits {
                assert!(waiting.join().expect("no panic"));
            }
        });
    });
}
