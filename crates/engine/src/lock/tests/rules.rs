//! One rule a test.

use super::*;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};

use Mode::{Exclusive, Shared};

pub(super) fn world(n: usize) -> (World, Vec<TxnId>, Vec<Registration>) {
    let w = World::new();
    let cells: Vec<_> = (0..n).map(|_| w.txns.register()).collect();
    let ids = cells.iter().map(|c| w.begin(c)).collect();
    (w, ids, cells)
}

#[test]
fn first_come_first_served_and_only_those_who_can_go_are_woken() {
    let (w, t, _c) = world(6);
    granted(w.ask(t[0], b"k", Shared));
    granted(w.ask(t[1], b"k", Shared));
    let x = waits(w.ask(t[2], b"k", Exclusive));
    // A reader behind a waiting writer waits too.
    let s3 = waits(w.ask(t[3], b"k", Shared));
    let s4 = waits(w.ask(t[4], b"k", Shared));
    let x5 = waits(w.ask(t[5], b"k", Exclusive));
    w.end(t[0]);
    assert_eq!([x.ended(), s3.ended(), s4.ended(), x5.ended()], [None; 4]);
    w.end(t[1]);
    assert_eq!(x.ended(), Some(WaitEnd::Granted));
    assert_eq!([s3.ended(), s4.ended(), x5.ended()], [None; 3]);
    assert!(matches!(w.ask(t[2], b"k", Exclusive), Acquired::Held));
    w.end(t[2]);
    assert_eq!(
        [s3.ended(), s4.ended(), x5.ended()],
        [Some(WaitEnd::Granted), Some(WaitEnd::Granted), None]
    );
    w.end(t[3]);
    w.end(t[4]);
    assert_eq!(x5.ended(), Some(WaitEnd::Granted));
    w.end(t[5]);
    assert!(w.table.is_empty());
}

#[test]
fn a_free_row_costs_the_table_nothing() {
    let (w, t, _c) = world(2);
    let write = |owner| Request {
        hold: Hold::Row,
        ..request(owner, b"k", Exclusive, 0)
    };
    granted(w.table.lock(&write(t[0])));
    assert!(w.table.is_empty());
    // The second writer finds the first one's id in the row: the lock appears in the table, and with it the queue.
    let wait = waits(w.table.lock(&Request {
        writer: Some(t[0]),
        ..write(t[1])
    }));
    assert!(w.table.is_waiting(t[1]));
    w.end(t[0]);
    assert_eq!(wait.ended(), Some(WaitEnd::Granted));
    // A third transaction that finds the row's writer ended still meets the one that was granted the lock.
    let cell = w.txns.register();
    let third = w.begin(&cell);
    assert!(matches!(
        w.table.lock(&Request {
            on_conflict: OnConflict::Fail,
            ..write(third)
        }),
        Acquired::Conflict
    ));
    w.end(t[1]);
    granted(w.table.lock(&write(third)));
    w.end(third);
    assert!(w.table.is_empty());
}

#[test]
fn a_writer_that_ended_meanwhile_is_not_waited_for() {
    let (w, t, _c) = world(2);
    w.end(t[0]);
    let req = Request {
        writer: Some(t[0]),
        ..request(t[1], b"k", Exclusive, 0)
    };
    assert!(matches!(w.table.lock(&req), Acquired::Retry));
    assert!(w.table.is_empty());
}

#[test]
fn nowait_never_queues() {
    let (w, t, _c) = world(2);
    granted(w.ask(t[0], b"k", Exclusive));
    let req = Request {
        on_conflict: OnConflict::Fail,
        ..request(t[1], b"k", Shared, 0)
    };
    assert!(matches!(w.table.lock(&req), Acquired::Conflict));
    let req = Request {
        writer: Some(t[0]),
        key: b"other",
        ..req
    };
    assert!(matches!(w.table.lock(&req), Acquired::Conflict));
    w.end(t[0]);
    assert!(w.table.is_empty());
}

#[test]
fn an_upgrade_goes_first_and_two_upgrades_deadlock() {
    let (w, t, _c) = world(3);
    granted(w.ask(t[0], b"k", Shared));
    granted(w.ask(t[1], b"k", Shared));
    let behind = waits(w.ask(t[2], b"k", Exclusive));
    let up0 = waits(w.table.lock(&request(t[0], b"k", Exclusive, 9)));
    let up1 = waits(w.table.lock(&request(t[1], b"k", Exclusive, 1)));
    // The lighter one gives way.
    assert_eq!((up0.ended(), up1.ended()), (None, Some(WaitEnd::Deadlock)));
    w.end(t[1]);
    assert_eq!(
        (up0.ended(), behind.ended()),
        (Some(WaitEnd::Granted), None)
    );
    w.end(t[0]);
    assert_eq!(behind.ended(), Some(WaitEnd::Granted));
    w.end(t[2]);
    assert!(w.table.is_empty());
}

#[test]
fn a_cycle_through_rows_ranges_and_queues_is_found() {
    let (w, t, _c) = world(3);
    let fail = OnConflict::Wait {
        weight: 5,
        timeout_us: None,
    };
    granted(w.ask(t[0], b"a", Exclusive));
    let from_m = Span::new(b"m", None);
    granted(w.table.guard_range(t[1], 7, &from_m, None, fail));
    granted(w.ask(t[2], b"c", Exclusive));
    let w0 = waits(w.table.check_insert(t[0], 7, b"n", fail));
    let w1 = waits(w.table.lock(&request(t[1], b"c", Shared, 5)));
    // t2 closes the cycle and is as light as the others.
    let w2 = waits(w.table.lock(&request(t[2], b"a", Shared, 5)));
    assert_eq!(
        (w0.ended(), w1.ended(), w2.ended()),
        (None, None, Some(WaitEnd::Deadlock))
    );
    w.end(t[2]);
    assert_eq!(w1.ended(), Some(WaitEnd::Granted));
    w.end(t[1]);
    assert_eq!(w0.ended(), Some(WaitEnd::Granted));
    w.end(t[0]);
    assert!(w.table.is_empty());
}

#[test]
fn a_deadlock_of_two_row_writers_is_found() {
    let (w, t, _c) = world(2);
    let write = |owner, key, writer| Request {
        hold: Hold::Row,
        writer: Some(writer),
        ..request(owner, key, Exclusive, 3)
    };
    let w0 = waits(w.table.lock(&write(t[0], b"b", t[1])));
    let w1 = waits(w.table.lock(&write(t[1], b"a", t[0])));
    assert_eq!((w0.ended(), w1.ended()), (None, Some(WaitEnd::Deadlock)));
    w.end(t[1]);
    assert_eq!(w0.ended(), Some(WaitEnd::Granted));
    w.end(t[0]);
    assert!(w.table.is_empty());
}

#[test]
fn unlock_lets_the_next_one_go() {
    let (w, t, _c) = world(2);
    granted(w.ask(t[0], b"k", Exclusive));
    let wait = waits(w.ask(t[1], b"k", Shared));
    w.table.unlock(t[0], 7, b"k");
    assert_eq!(wait.ended(), Some(WaitEnd::Granted));
    w.end(t[1]);
    w.end(t[0]);
    assert!(w.table.is_empty());
}

#[test]
fn timeouts_kills_and_drops_leave_the_queue_and_free_those_behind() {
    let (w, t, _c) = world(6);
    granted(w.ask(t[0], b"k", Shared));
    let x1 = waits(w.ask(t[1], b"k", Exclusive));
    w.clock.advance(600_000);
    let s2 = waits(w.ask(t[2], b"k", Shared));
    let x3 = waits(w.ask(t[3], b"k", Exclusive));
    let x4 = waits(w.ask(t[4], b"k", Exclusive));
    let s5 = waits(w.ask(t[5], b"k", Shared));
    assert_eq!(w.clock.times_armed(), 1);
    w.clock.advance(500_000);
    assert_eq!(
        (x1.ended(), s2.ended()),
        (Some(WaitEnd::Timeout), Some(WaitEnd::Granted))
    );
    assert!(w.table.kill(t[3]));
    assert!(!w.table.kill(t[3]));
    assert_eq!(
        (x3.ended(), x4.ended(), s5.ended()),
        (Some(WaitEnd::Killed), None, None)
    );
    drop(x4);
    assert_eq!(s5.ended(), Some(WaitEnd::Granted));
    w.clock.advance(5_000_000);
    assert_eq!(s5.ended(), Some(WaitEnd::Granted));
    t.iter().for_each(|&t| w.end(t));
    assert!(w.table.is_empty());
}

#[test]
fn a_wait_is_woken_once_by_its_own_event() {
    let (w, t, _c) = world(3);
    granted(w.ask(t[0], b"k", Exclusive));
    let rings = Arc::new(Rings::default());
    let waker = Waker::from(rings.clone());
    let mut cx = Context::from_waker(&waker);
    let other = waits(w.ask(t[2], b"k2", Exclusive).or_wait(&w, t[0]));
    let mut wait = pin!(waits(w.ask(t[1], b"k", Shared)));
    assert_eq!(wait.as_mut().poll(&mut cx), Poll::Pending);
    w.table.kill(t[2]);
    assert_eq!(rings.count(), 0);
    w.end(t[0]);
    assert_eq!(rings.count(), 1);
    assert_eq!(wait.as_mut().poll(&mut cx), Poll::Ready(WaitEnd::Granted));
    drop(other);
}

impl Acquired {
    /// Turns a grant into a wait behind `holder`'s lock on a key of its own.
    fn or_wait(self, w: &World, holder: TxnId) -> Acquired {
        let Acquired::Granted = self else { return self };
        granted(w.ask(holder, b"k3", Exclusive));
        let cell = w.txns.register();
        let other = w.begin(&cell);
        w.ask(other, b"k3", Exclusive)
    }
}
