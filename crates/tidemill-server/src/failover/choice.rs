//! Which replica is to be the source, and which transactions are errant: sets of GTIDs, and nothing else.
//!
//! A transaction is *errant* where it was committed on a replica by somebody else than the source's stream: no other server can ever get it by that
//! stream. What only the most advanced replica has of the source is not errant but the newest.

use types::gtid::{GtidSet, Sid};

/// A replica's transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub uuid: Sid,
    pub executed: GtidSet,
}

/// A set on one line.
pub(super) fn shown(set: &GtidSet) -> String {
    set.to_string().replace('\n', " ")
}

/// What is in `a` and not in `b`.
pub(super) fn without(a: &GtidSet, b: &GtidSet) -> GtidSet {
    let mut left = a.clone();
    left.subtract(b);
    left
}

/// What the replica `at` has done by itself and no other has: transactions under its own name. With `source`, what the source has done, nothing that the
/// source has is errant, and everything else is.
pub(super) fn errant(all: &[Candidate], at: usize, source: Option<&GtidSet>) -> GtidSet {
    let Some(c) = all.get(at) else {
        return GtidSet::new();
    };
    let mut left = c.executed.clone();
    if let Some(source) = source {
        left.subtract(source);
        return left;
    }
    for (other, o) in all.iter().enumerate() {
        if other != at {
            left.subtract(&o.executed);
        }
    }
    only_of(&left, c.uuid)
}

/// The part of a set that was committed first by that server.
pub(super) fn only_of(set: &GtidSet, uuid: Sid) -> GtidSet {
    let mut every = GtidSet::new();
    every.add_interval(uuid, 1, i64::MAX as u64);
    let others = without(set, &every);
    without(set, &others)
}

/// The most advanced: the one that lacks least of what any has; of equals the preferred one, then the first. Gives also what it lacks.
pub(super) fn best(all: &[Candidate], prefer: Option<usize>) -> Option<(usize, GtidSet)> {
    let mut union = GtidSet::new();
    for c in all {
        union.add_set(&c.executed);
    }
    let lacks = |c: &Candidate| without(&union, &c.executed);
    let order = (0..all.len()).min_by_key(|&i| {
        let lacking = all.get(i).map_or(u128::MAX, |c| lacks(c).len());
        (lacking, Some(i) != prefer, i)
    })?;
    Some((order, lacks(all.get(order)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "3E11FA47-71CA-11E1-9E33-C80AA9429562";
    const B: &str = "4E11FA47-71CA-11E1-9E33-C80AA9429562";
    const C: &str = "5E11FA47-71CA-11E1-9E33-C80AA9429562";

    fn set(text: &str) -> GtidSet {
        GtidSet::parse(text).unwrap()
    }

    fn candidate(uuid: &str, executed: &str) -> Candidate {
        Candidate {
            uuid: Sid::parse(uuid).unwrap(),
            executed: set(executed),
        }
    }

    #[test]
    fn the_most_advanced_is_taken_and_not_the_preferred_one_behind_it() {
        let all = [
            candidate(B, &format!("{A}:1-10")),
            candidate(C, &format!("{A}:1-12")),
        ];
        assert_eq!(best(&all, Some(0)), Some((1, GtidSet::new())));
        let equal = [all[0].clone(), candidate(C, &format!("{A}:1-10"))];
        assert_eq!(best(&equal, None).map(|b| b.0), Some(0));
        assert_eq!(best(&equal, Some(1)).map(|b| b.0), Some(1));
        assert_eq!(best(&[], None), None);
    }

    #[test]
    fn what_the_best_one_lacks_is_told() {
        let all = [
            candidate(B, &format!("{A}:1-10,{B}:1")),
            candidate(C, &format!("{A}:1-12")),
        ];
        let (at, lacks) = best(&all, None).unwrap();
        assert_eq!((at, lacks), (1, set(&format!("{B}:1"))));
    }

    #[test]
    fn what_a_replica_has_done_by_itself_is_errant_and_the_newest_of_the_source_is_not() {
        let all = [
            candidate(B, &format!("{A}:1-10,{B}:1-2")),
            candidate(C, &format!("{A}:1-12")),
        ];
        assert_eq!(errant(&all, 0, None), set(&format!("{B}:1-2")));
        assert!(errant(&all, 1, None).is_empty());
        // Beside the source, which says more.
        let source = set(&format!("{A}:1-11"));
        assert_eq!(errant(&all, 1, Some(&source)), set(&format!("{A}:12")));
        // Another replica has it: it was the source's stream once.
        let chain = [all[0].clone(), candidate(C, &format!("{A}:1-12,{B}:1-2"))];
        assert!(errant(&chain, 0, None).is_empty());
    }
}
