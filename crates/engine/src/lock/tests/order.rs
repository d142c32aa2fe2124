//! Transactions that are to be committed in an order: turns, and the deadlocks that they are part of.

use super::rules::world;
use super::*;

use Mode::Exclusive;

#[test]
fn turns_come_one_after_the_other() {
    let (w, t, _cells) = world(3);
    w.table.begin_order(1);
    let third = waits(w.table.ask_turn(t[2], 3));
    let second = waits(w.table.ask_turn(t[1], 2));
    granted(w.table.ask_turn(t[0], 1));
    assert_eq!((second.ended(), third.ended()), (None, None));
    w.table.pass_turn(1);
    assert_eq!(
        (second.ended(), third.ended()),
        (Some(WaitEnd::Granted), None)
    );
    w.table.pass_turn(2);
    assert_eq!(third.ended(), Some(WaitEnd::Granted));
    t.iter().for_each(|t| w.end(*t));
}

#[test]
#[should_panic(expected = "whose turn it is not passes it on")]
fn a_turn_is_not_passed_on_before_it_has_come() {
    let (w, t, _cells) = world(2);
    w.table.begin_order(1);
    let _second = waits(w.table.ask_turn(t[1], 2));
    w.table.pass_turn(2);
}

#[test]
fn the_later_one_gives_way_whoever_waits_last() {
    for turn_last in [false, true] {
        for off in [false, true] {
            let (w, t, _cells) = world(2);
            let (a, b) = (t[0], t[1]);
            w.table.detect_deadlocks(!off);
            w.table.begin_order(1);
            w.table.join_order(1, a);
            w.table.join_order(2, b);
            granted(w.ask(b, b"k", Exclusive));
            let (row, turn) = match turn_last {
                true => {
                    let row = waits(w.ask(a, b"k", Exclusive));
                    assert_eq!(row.ended(), None);
                    (row, waits(w.table.ask_turn(b, 2)))
                }
                false => {
                    let turn = waits(w.table.ask_turn(b, 2));
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
    w.table.begin_order(5);
    w.table.join_order(5, a);
    w.table.join_order(6, b);
    granted(w.ask(other, b"x", Exclusive));
    granted(w.ask(b, b"y", Exclusive));
    let turn = waits(w.table.ask_turn(b, 6));
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
    w.table.begin_order(1);
    let turn = waits(w.table.ask_turn(b, 2));
    assert!(w.table.kill(b));
    assert_eq!(turn.ended(), Some(WaitEnd::Killed));
    let again = waits(w.table.ask_turn(b, 2));
    drop(again);
    w.table.pass_turn(1);
    granted(w.table.ask_turn(b, 2));
    w.end(a);
    w.end(b);
}
