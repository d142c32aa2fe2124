//! Leader and workers, without anything that is applied.

use super::*;
use crate::replica::place::Place;
use crate::replica::schedule::Slot;
use sql::context::replica::LogPlace;
use std::sync::mpsc::channel;
use std::thread;
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
        assert!(hear.try_recv().is_err(), "there is one processor");
        // The first waits for something: it is the next one's.
        crew.waits(0, true);
        assert_eq!(hear.recv(), Ok(Some(2)));
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
