//! Histories made by hand, one for each anomaly: the checker must find it, and name no other that is forbidden.

use crate::{Anomaly, End, Final, History, Key, Level, Op, Txn, Value, Version, check};

fn append(key: Key, value: Value) -> Op {
    Op::Append { key, value }
}

fn list(key: Key, values: &[Value]) -> Op {
    let values = values.to_vec();
    Op::List { key, values }
}

fn write(key: Key, value: Value, version: Version) -> Op {
    let version = Some(version);
    Op::Write {
        key,
        value,
        version,
    }
}

fn read(key: Key, seen: Option<(Value, Version)>) -> Op {
    Op::Read { key, seen }
}

fn txn(end: End, ops: &[Op]) -> Txn {
    Txn {
        client: 0,
        ops: ops.to_vec(),
        end,
        began: 0,
        // All overlap, so that real time says nothing.
        ended: 1000,
    }
}

fn done(ops: &[Op]) -> Txn {
    txn(End::Committed, ops)
}

fn history(
    txns: Vec<Txn>,
    lists: &[(Key, &[Value])],
    registers: &[(Key, Value, Version)],
) -> History {
    History {
        txns,
        crashes: 0,
        last: Final {
            lists: lists.iter().map(|(k, v)| (*k, v.to_vec())).collect(),
            registers: registers.to_vec(),
        },
    }
}

/// What SERIALIZABLE forbids of what was found.
fn broken(history: &History) -> Vec<Anomaly> {
    check(history, Level::Serializable).broken(Level::Serializable)
}

#[test]
fn a_serial_history_is_clean() {
    let h = history(
        vec![
            done(&[list(1, &[]), append(1, 1), list(1, &[1])]),
            done(&[append(1, 2), append(1, 3), write(7, 5, 1)]),
            done(&[
                list(1, &[1, 2, 3]),
                read(7, Some((5, 1))),
                write(7, 6, 2),
                read(7, Some((6, 2))),
            ]),
            txn(End::Aborted, &[append(1, 9), write(7, 8, 3)]),
            done(&[read(7, Some((6, 2))), Op::Delete { key: 7 }, read(7, None)]),
        ],
        &[(1, &[1, 2, 3])],
        &[],
    );
    let verdict = check(&h, Level::Serializable);
    assert_eq!(verdict.classes().count(), 0, "{verdict:?}");
    assert_eq!(verdict.committed, 4);
    assert!(verdict.edges > 0);
}

#[test]
fn g0_writes_in_both_orders() {
    let h = history(
        vec![
            done(&[append(1, 1), append(2, 2)]),
            done(&[append(1, 3), append(2, 4)]),
        ],
        &[(1, &[1, 3]), (2, &[4, 2])],
        &[],
    );
    assert_eq!(broken(&h), [Anomaly::G0]);
    let h = history(
        vec![
            done(&[write(1, 1, 1), write(2, 2, 2)]),
            done(&[write(1, 3, 2), write(2, 4, 1)]),
        ],
        &[],
        &[(1, 3, 2), (2, 2, 2)],
    );
    assert_eq!(broken(&h), [Anomaly::G0]);
    let verdict = check(&h, Level::ReadUncommitted);
    assert_eq!(verdict.broken(Level::ReadUncommitted), [Anomaly::G0]);
    let words = verdict.example(Anomaly::G0).unwrap();
    assert!(
        words.contains("register 1") && words.contains("register 2"),
        "{words}"
    );
}

#[test]
fn g1a_reads_of_what_was_rolled_back() {
    let h = history(
        vec![txn(End::Aborted, &[append(1, 1)]), done(&[list(1, &[1])])],
        &[(1, &[])],
        &[],
    );
    assert_eq!(broken(&h), [Anomaly::G1a]);
    let h = history(
        vec![
            txn(End::Aborted, &[write(1, 1, 1)]),
            done(&[read(1, Some((1, 1)))]),
        ],
        &[],
        &[],
    );
    assert_eq!(broken(&h), [Anomaly::G1a]);
    let verdict = check(&h, Level::ReadUncommitted);
    assert!(verdict.broken(Level::ReadUncommitted).is_empty());
}

#[test]
fn a_crash_may_take_back_what_only_readers_saw() {
    let unknown = || txn(End::Unknown, &[append(1, 1)]);
    let mut h = history(vec![unknown(), done(&[list(1, &[1])])], &[(1, &[])], &[]);
    assert_eq!(broken(&h), [Anomaly::G1a]);
    h.crashes = 1;
    assert!(broken(&h).is_empty());
    let verdict = check(&h, Level::Serializable);
    assert_eq!(verdict.count(Anomaly::TakenBack), 1);
    // A register that only a reader saw is no proof that the rest of its writer is there.
    let mut seen = history(
        vec![
            txn(End::Unknown, &[write(1, 5, 1), append(1, 1)]),
            done(&[read(1, Some((5, 1)))]),
        ],
        &[(1, &[])],
        &[],
    );
    assert!(broken(&seen).contains(&Anomaly::Torn));
    seen.crashes = 1;
    assert!(broken(&seen).is_empty());
    // Who writes is behind it in the log, and cannot have been acknowledged.
    h.txns[1].ops.push(append(2, 2));
    h.last.lists.push((2, vec![2]));
    assert_eq!(broken(&h), [Anomaly::G1a]);
}

/// Of two without an answer, one is proved to be there by a list; it has read the other's register, which is gone.
#[test]
fn who_is_proved_to_be_there_is_a_witness() {
    let deleted = || done(&[Op::Delete { key: 1 }]);
    let writer = || txn(End::Unknown, &[write(1, 5, 1)]);
    let reader = || txn(End::Unknown, &[read(1, Some((5, 1))), append(1, 1)]);
    for txns in [
        vec![writer(), reader(), deleted()],
        vec![reader(), writer(), deleted()],
    ] {
        let mut h = history(txns, &[(1, &[1])], &[]);
        h.crashes = 1;
        assert!(broken(&h).is_empty());
        assert_eq!(check(&h, Level::Serializable).committed, 3);
    }
    // The answer with the counter is missing; a reader has it, and a later one is there.
    let op = Op::Write {
        key: 1,
        value: 5,
        version: None,
    };
    let readers = [read(1, Some((5, 1))), write(1, 6, 2)];
    let mut h = history(
        vec![txn(End::Unknown, &readers), txn(End::Unknown, &[op])],
        &[],
        &[(1, 6, 2)],
    );
    h.crashes = 1;
    assert!(broken(&h).is_empty());
    assert_eq!(check(&h, Level::Serializable).committed, 2);
}

#[test]
fn g1b_reads_of_the_middle() {
    let h = history(
        vec![
            done(&[append(1, 1), append(1, 2)]),
            done(&[list(1, &[1])]),
            done(&[write(1, 1, 1), write(1, 2, 2)]),
            done(&[read(1, Some((1, 1)))]),
        ],
        &[(1, &[1, 2])],
        &[(1, 2, 2)],
    );
    let verdict = check(&h, Level::ReadCommitted);
    assert_eq!(verdict.count(Anomaly::G1b), 2);
}

#[test]
fn g1c_information_in_a_circle() {
    let h = history(
        vec![
            done(&[append(1, 1), list(2, &[2])]),
            done(&[append(2, 2), list(1, &[1])]),
        ],
        &[(1, &[1]), (2, &[2])],
        &[],
    );
    assert_eq!(broken(&h), [Anomaly::G1c]);
    let verdict = check(&h, Level::ReadCommitted);
    assert_eq!(verdict.broken(Level::ReadCommitted), [Anomaly::G1c]);
}

#[test]
fn lost_update_in_both_tables() {
    let h = history(
        vec![
            done(&[list(1, &[]), append(1, 1)]),
            done(&[list(1, &[]), append(1, 2)]),
        ],
        &[(1, &[1, 2])],
        &[],
    );
    let verdict = check(&h, Level::Snapshot);
    assert_eq!(verdict.broken(Level::Snapshot), [Anomaly::LostUpdate]);
    assert!(verdict.broken(Level::ReadCommitted).is_empty());
    let h = history(
        vec![
            done(&[write(1, 1, 1)]),
            done(&[read(1, Some((1, 1))), write(1, 2, 2)]),
            done(&[read(1, Some((1, 1))), write(1, 3, 3)]),
        ],
        &[],
        &[(1, 3, 3)],
    );
    let verdict = check(&h, Level::Snapshot);
    assert_eq!(verdict.broken(Level::Snapshot), [Anomaly::LostUpdate]);
}

#[test]
fn g_single_is_not_snapshot_isolation() {
    // The reader sees the second write of the writer and not the first.
    let h = history(
        vec![
            done(&[append(1, 1), append(2, 2)]),
            done(&[list(1, &[]), list(2, &[2])]),
        ],
        &[(1, &[1]), (2, &[2])],
        &[],
    );
    let verdict = check(&h, Level::Snapshot);
    assert_eq!(verdict.broken(Level::Snapshot), [Anomaly::GSingle]);
    let h = history(
        vec![
            done(&[write(1, 1, 1), write(2, 2, 1)]),
            done(&[read(1, None), read(2, Some((2, 1)))]),
        ],
        &[],
        &[(1, 1, 1), (2, 2, 1)],
    );
    assert_eq!(broken(&h), [Anomaly::GSingle]);
}

#[test]
fn long_fork_is_not_snapshot_isolation() {
    let h = history(
        vec![
            done(&[append(1, 1)]),
            done(&[append(2, 2)]),
            done(&[list(1, &[1]), list(2, &[])]),
            done(&[list(1, &[]), list(2, &[2])]),
        ],
        &[(1, &[1]), (2, &[2])],
        &[],
    );
    let verdict = check(&h, Level::Snapshot);
    assert_eq!(verdict.broken(Level::Snapshot), [Anomaly::LongFork]);
    assert!(verdict.broken(Level::ReadCommitted).is_empty());
}

#[test]
fn write_skew_is_snapshot_isolation_and_not_serializable() {
    let h = history(
        vec![
            done(&[read(1, None), write(2, 2, 1)]),
            done(&[read(2, None), write(1, 1, 1)]),
        ],
        &[],
        &[(1, 1, 1), (2, 2, 1)],
    );
    let verdict = check(&h, Level::Snapshot);
    assert!(verdict.broken(Level::Snapshot).is_empty(), "{verdict:?}");
    assert_eq!(verdict.count(Anomaly::G2Item), 1);
    assert_eq!(broken(&h), [Anomaly::G2Item]);
}

/// Fekete, O'Neil, O'Neil: a reader makes a circle of three that no two of them make.
#[test]
fn the_read_only_anomaly_is_seen_at_serializable_only() {
    let h = history(
        vec![
            done(&[read(1, None), read(2, None), write(1, 11, 1)]),
            done(&[read(2, None), write(2, 20, 1)]),
            done(&[read(1, None), read(2, Some((20, 1)))]),
        ],
        &[],
        &[(1, 11, 1), (2, 20, 1)],
    );
    let verdict = check(&h, Level::Snapshot);
    assert!(verdict.broken(Level::Snapshot).is_empty(), "{verdict:?}");
    assert_eq!(broken(&h), [Anomaly::G2Item]);
}

#[test]
fn a_transaction_sees_its_own_writes_and_one_state() {
    let own = history(vec![done(&[append(1, 1), list(1, &[])])], &[(1, &[1])], &[]);
    assert_eq!(broken(&own), [Anomaly::Internal]);
    let twice = history(
        vec![
            done(&[append(1, 1)]),
            done(&[list(1, &[]), list(1, &[1])]),
            done(&[write(1, 1, 1)]),
            done(&[read(1, None), read(1, Some((1, 1)))]),
        ],
        &[(1, &[1])],
        &[(1, 1, 1)],
    );
    let verdict = check(&twice, Level::Snapshot);
    assert_eq!(verdict.count(Anomaly::Internal), 2);
    let verdict = check(&twice, Level::ReadCommitted);
    assert!(verdict.broken(Level::ReadCommitted).is_empty());
    let deleted = history(
        vec![
            done(&[write(1, 1, 1)]),
            done(&[Op::Delete { key: 1 }, read(1, Some((1, 1)))]),
        ],
        &[],
        &[],
    );
    assert_eq!(broken(&deleted), [Anomaly::Internal]);
}

#[test]
fn an_index_read_agrees_with_the_rows() {
    let index = |found: &[Key]| Op::Index {
        group: 1,
        low: 1,
        high: 9,
        found: found.to_vec(),
    };
    // Value 17 is of group 1; the row was read and the index does not have it.
    let h = history(
        vec![
            done(&[write(3, 17, 1)]),
            done(&[read(3, Some((17, 1))), index(&[])]),
        ],
        &[],
        &[(3, 17, 1)],
    );
    assert!(broken(&h).contains(&Anomaly::Internal));
    let h = history(
        vec![
            done(&[write(3, 17, 1)]),
            done(&[index(&[]), read(3, Some((17, 1)))]),
        ],
        &[],
        &[(3, 17, 1)],
    );
    assert!(broken(&h).contains(&Anomaly::Internal));
}

#[test]
fn phantoms_in_an_index_read_are_dependencies() {
    // Each looks for the other's group and writes into its own: write skew by predicate.
    let index = |group: Value, low: Key| Op::Index {
        group,
        low,
        high: low,
        found: Vec::new(),
    };
    let h = history(
        vec![
            done(&[index(1, 1), write(2, 18, 1)]),
            done(&[index(2, 2), write(1, 17, 1)]),
        ],
        &[],
        &[(1, 17, 1), (2, 18, 1)],
    );
    assert_eq!(broken(&h), [Anomaly::G2Item]);
    let verdict = check(&h, Level::Snapshot);
    assert!(verdict.broken(Level::Snapshot).is_empty());
}

/// The version that the index read passed over may be one that a crash took back.
#[test]
fn an_absence_says_nothing_where_a_write_has_vanished() {
    let index = Op::Index {
        group: 1,
        low: 1,
        high: 1,
        found: Vec::new(),
    };
    let mut h = history(
        vec![
            done(&[write(1, 17, 1)]),
            done(&[index]),
            txn(End::Unknown, &[write(1, 18, 2), append(1, 1)]),
        ],
        &[(1, &[])],
        &[(1, 17, 1)],
    );
    h.txns[1].began = 2000;
    h.txns[1].ended = 3000;
    assert!(broken(&h).is_empty());
    h.txns.pop();
    assert_eq!(broken(&h), [Anomaly::Stale]);
}

#[test]
fn lost_and_invented_writes() {
    let h = history(
        vec![
            done(&[append(1, 1)]),
            done(&[write(1, 5, 1)]),
            done(&[list(2, &[77])]),
        ],
        &[(1, &[]), (2, &[])],
        &[],
    );
    let verdict = check(&h, Level::ReadUncommitted);
    assert_eq!(
        verdict.broken(Level::ReadUncommitted),
        [Anomaly::Garbage, Anomaly::LostWrite]
    );
    assert_eq!(verdict.count(Anomaly::LostWrite), 2);
    // Two over the same version, and a gap.
    let h = history(
        vec![
            done(&[write(1, 5, 1)]),
            done(&[write(1, 6, 1)]),
            done(&[write(2, 7, 2)]),
        ],
        &[],
        &[(1, 6, 1), (2, 7, 2)],
    );
    let verdict = check(&h, Level::ReadUncommitted);
    assert_eq!(
        verdict.broken(Level::ReadUncommitted),
        [Anomaly::Garbage, Anomaly::LostWrite]
    );
}

#[test]
fn readers_disagree_about_the_order() {
    let h = history(
        vec![
            done(&[append(1, 1)]),
            done(&[append(1, 2)]),
            done(&[list(1, &[2])]),
        ],
        &[(1, &[1, 2])],
        &[],
    );
    assert_eq!(broken(&h), [Anomaly::Order]);
}

#[test]
fn a_commit_without_an_answer_is_whole_or_absent() {
    let unknown = |ops: &[Op]| txn(End::Unknown, ops);
    // Not there; there; and there in the gap that it left in a counter.
    let h = history(
        vec![
            unknown(&[append(1, 1)]),
            unknown(&[append(1, 2), append(2, 3)]),
            unknown(&[write(1, 5, 1)]),
            done(&[write(1, 6, 2)]),
            unknown(&[Op::Write {
                key: 2,
                value: 7,
                version: None,
            }]),
            done(&[read(2, Some((7, 1))), write(2, 8, 2)]),
            unknown(&[write(3, 9, 1)]),
        ],
        &[(1, &[2]), (2, &[3])],
        &[(1, 6, 2), (2, 8, 2)],
    );
    let verdict = check(&h, Level::Serializable);
    assert_eq!(verdict.classes().count(), 0, "{verdict:?}");
    assert_eq!(verdict.committed, 5);
    // Half of it there.
    let h = history(
        vec![unknown(&[append(1, 1), append(2, 2)])],
        &[(1, &[1]), (2, &[])],
        &[],
    );
    assert_eq!(broken(&h), [Anomaly::Torn]);
}

#[test]
fn a_read_of_old_state_is_seen_through_time() {
    let mut h = history(
        vec![done(&[append(1, 1)]), done(&[list(1, &[])])],
        &[(1, &[1])],
        &[],
    );
    assert!(broken(&h).is_empty());
    // The writer was acknowledged before the reader began.
    h.txns[1].began = 2000;
    h.txns[1].ended = 3000;
    assert_eq!(broken(&h), [Anomaly::Stale]);
    let verdict = check(&h, Level::Snapshot);
    assert_eq!(verdict.broken(Level::Snapshot), [Anomaly::Stale]);
}

/// A chain of writers of many thousand transactions must not exhaust the stack.
#[test]
fn a_long_history_is_no_deep_recursion() {
    let txns = (1..=50_000)
        .map(|n| {
            let mut t = done(&[write((n - 1) / 100, n, (n - 1) % 100 + 1)]);
            t.began = u64::from(n) * 2;
            t.ended = u64::from(n) * 2 + 1;
            t
        })
        .collect();
    let h = history(txns, &[], &[]);
    // The final state is empty, so each register lost its last write, and nothing else is wrong.
    let verdict = check(&h, Level::Serializable);
    assert_eq!(verdict.broken(Level::Serializable), [Anomaly::LostWrite]);
}
