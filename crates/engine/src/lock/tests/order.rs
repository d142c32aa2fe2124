//! Transactions that are to be committed in an order: turns, and the deadlocks that they are part of.

use super::rules::world;
use super::*;

use Mode::Exclusive;

/// The turns of an order that begins here.
fn order(table: &LockTable, first: u64) -> impl Fn(u64) -> CommitTurn {
    let order = table.begin_order(first);
    move |number| CommitTurn { order, number }
}

#[test]
fn turns_come_one_after_the_other() {
    let (w, t, _cells) = world(3);
    let turn_of = order(&w.table, 1);
    let third = waits(w.table.ask_turn(t[2], turn_of(3)));
    let second = waits(w.table.ask_turn(t[1], turn_of(2)));
    granted(w.table.ask_turn(t[0], turn_of(1)));
    assert_eq!((second.ended(), third.ended()), (None, None));
    w.table.pass_turn(turn_of(1));
    assert_eq!(
        (second.ended(), third.ended()),
        (Some(WaitEnd::Granted), None)
    );
    w.table.pass_turn(turn_of(2));
    assert_eq!(third.ended(), Some(WaitEnd::Granted));
    t.iter().for_each(|t| w.end(*t));
}

#[test]
#[should_panic(expected = "whose turn it is not passes it on")]
fn a_turn_is_not_passed_on_before_it_has_come() {
    let (w, t, _cells) = world(2);
    let turn_of = order(&w.table, 1);
    let _second = waits(w.table.ask_turn(t[1], turn_of(2)));
    w.table.pass_turn(turn_of(2));
}

#[test]
fn the_later_one_gives_way_whoever_waits_last() {
    for turn_last in [false, true] {
        for off in [false, true] {
            let (w, t, _cells) = world(2);
            let (a, b) = (t[0], t[1]);
            w.table.detect_deadlocks(!off);
            let turn_of = order(&w.table, 1);
            w.table.join_order(turn_of(1), a);
            w.table.join_order(turn_of(2), b);
            granted(w.ask(b, b"k", Exclusive));
            let (row, turn) = match turn_last {
                true => {
                    let row = waits(w.ask(a, b"k", Exclusive));
                    assert_eq!(row.ended(), None);
                    (row, waits(w.table.ask_turn(b, turn_of(2))))
                }
                false => {
                    let turn = waits(w.table.ask_turn(b, turn_of(2)));
                    (waits(w.ask(a, b"k", Exclusive)), turn)
                }
            };
            assert_eq!(turn.ended(), Some(WaitEnd::Deadlock), "{turn_last} {off}");
            assert_eq!(row.ended(), None);
            w.end(b);
            assert_eq!(row.ended(), Some(WaitEnd::Granted));
            drop(row);
            w.end(a);
        }
    }
}

#[test]
fn a_circle_through_somebody_without_a_turn_is_found() {
    let (w, t, _cells) = world(3);
    let (a, b, other) = (t[0], t[1], t[2]);
    let turn_of = order(&w.table, 5);
    w.table.join_order(turn_of(5), a);
    w.table.join_order(turn_of(6), b);
    granted(w.ask(other, b"x", Exclusive));
    granted(w.ask(b, b"y", Exclusive));
    let turn = waits(w.table.ask_turn(b, turn_of(6)));
    let first = waits(w.ask(a, b"x", Exclusive));
    assert_eq!((turn.ended(), first.ended()), (None, None));
    let second = waits(w.ask(other, b"y", Exclusive));
    assert_eq!(turn.ended(), Some(WaitEnd::Deadlock));
    assert_eq!((first.ended(), second.ended()), (None, None));
    drop((first, second, turn));
    for t in [a, b, other] {
        w.end(t);
    }
    assert!(w.table.is_empty());
}

#[test]
fn who_is_killed_waits_no_more_and_the_others_turns_come() {
    let (w, t, _cells) = world(2);
    let (a, b) = (t[0], t[1]);
    let turn_of = order(&w.table, 1);
    let turn = waits(w.table.ask_turn(b, turn_of(2)));
    assert!(w.table.kill(b));
    assert_eq!(turn.ended(), Some(WaitEnd::Killed));
    let again = waits(w.table.ask_turn(b, turn_of(2)));
    drop(again);
    w.table.pass_turn(turn_of(1));
    granted(w.table.ask_turn(b, turn_of(2)));
    w.end(a);
    w.end(b);
}

#[test]
fn orders_beside_each_other_have_turns_of_their_own() {
    let (w, t, _cells) = world(3);
    let (one, other) = (order(&w.table, 1), order(&w.table, 1));
    let second = waits(w.table.ask_turn(t[0], one(2)));
    let beside = waits(w.table.ask_turn(t[1], other(2)));
    w.table.pass_turn(other(1));
    assert_eq!(
        (second.ended(), beside.ended()),
        (None, Some(WaitEnd::Granted))
    );
    w.table.pass_turn(one(1));
    assert_eq!(second.ended(), Some(WaitEnd::Granted));
    drop((second, beside));
    w.table.end_order(one(1).order);
    granted(w.table.ask_turn(t[2], other(2)));
    t.iter().for_each(|t| w.end(*t));
}

#[test]
fn a_circle_through_two_orders_is_found() {
    let (w, t, _cells) = world(4);
    let (one, other) = (order(&w.table, 1), order(&w.table, 1));
    w.table.join_order(one(1), t[0]);
    w.table.join_order(one(2), t[1]);
    w.table.join_order(other(1), t[2]);
    w.table.join_order(other(2), t[3]);
    // Each order's second has what the other's first wants.
    granted(w.ask(t[1], b"x", Exclusive));
    granted(w.ask(t[3], b"y", Exclusive));
    let a = waits(w.table.ask_turn(t[1], one(2)));
    let b = waits(w.table.ask_turn(t[3], other(2)));
    let first = waits(w.ask(t[0], b"y", Exclusive));
    assert_eq!((a.ended(), b.ended(), first.ended()), (None, None, None));
    let last = waits(w.ask(t[2], b"x", Exclusive));
    let ends = [a.ended(), b.ended()];
    assert_eq!(
        ends.iter()
            .filter(|e| **e == Some(WaitEnd::Deadlock))
            .count(),
        1,
        "{ends:?}"
    );
    assert_eq!((first.ended(), last.ended()), (None, None));
    drop((a, b, first, last));
    t.iter().for_each(|t| w.end(*t));
}
