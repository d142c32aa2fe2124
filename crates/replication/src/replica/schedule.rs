//! Which transactions of the source may be applied beside each other: each gets a number, in the order in which they come, and the number of
//! the last one that has to be done before it may begin. Pure: what is done, and who applies what, is known to others.
//!
//! A source of MySQL gives each a sequence number and the sequence number of the last one that has to be done before (`last_committed`); they count
//! from 1 on in each file. MariaDB gives those that it has committed together one number. Where neither says anything, or what is said makes no sense, a
//! transaction comes behind all before it, and in front of all behind it: what is said wrongly costs time and nothing else.

use std::collections::VecDeque;

/// What a source says of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// MySQL's numbers.
    Logical {
        /// Up to this sequence number all have to be done.
        last_committed: i64,
        /// Its own.
        sequence: i64,
    },
    /// MariaDB's number of those that were committed together.
    Group(u64),
    /// Nothing; or it is one that goes beside nothing.
    Alone,
}

/// The place of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its number: 1, 2, 3 ..
    pub number: u64,
    /// All up to this number have to be done before it begins.
    pub after: u64,
}

/// The transactions so far.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// The number of the last one.
    last: u64,
    /// All up to this number have to be done before anything begins that comes now.
    barrier: u64,
    /// The last sequence number of the file.
    sequence: i64,
    /// Sequence numbers of the file, and whose they are, in their order; without such as were done when it was last looked at.
    known: VecDeque<(i64, u64)>,
    /// MariaDB's last number, and what those that have it come behind.
    group: Option<(u64, u64)>,
}

impl Schedule {
    /// Another file of the binary log: its numbers begin anew.
    pub fn restart(&mut self) {
        self.barrier = self.last;
        self.sequence = 0;
        self.known.clear();
        self.group = None;
    }

    /// What comes now begins when all that came is done.
    pub fn hold_behind(&mut self) {
        self.barrier = self.last;
        self.group = None;
    }

    /// Another transaction, when all up to `done` are done.
    pub fn next(&mut self, clock: Clock, done: u64) -> Slot {
        while self.known.front().is_some_and(|k| k.1 <= done) {
            self.known.pop_front();
        }
        let before = self.last;
        self.last += 1;
        let number = self.last;
        let after = match clock {
            Clock::Logical {
                last_committed,
                sequence,
            } if (0..sequence).contains(&last_committed) && sequence > self.sequence => {
                self.sequence = sequence;
                let behind = self.known.partition_point(|k| k.0 <= last_committed);
                self.known.push_back((sequence, number));
                let last = behind.checked_sub(1).and_then(|i| self.known.get(i));
                let after = last.map_or(0, |k| k.1);
                match base::mutant!("replica-transaction-begun-too-early") {
                    true => after.saturating_sub(1),
                    false => after,
                }
            }
            Clock::Group(id) => match self.group {
                Some((last, after)) if last == id => after,
                _ => {
                    self.group = Some((id, before));
                    before
                }
            },
            Clock::Logical { .. } | Clock::Alone => {
                if let Clock::Logical { sequence, .. } = clock {
                    // The numbers begin anew, wherever that is.
                    self.sequence = sequence.max(0);
                    self.known.clear();
                }
                let after = before.max(self.barrier);
                if !base::mutant!("replica-definition-beside-others") {
                    self.barrier = number;
                    self.group = None;
                    return Slot { number, after };
                }
                0
            }
        };
        let after = after.max(self.barrier);
        Slot { number, after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn logical(last_committed: i64, sequence: i64) -> Clock {
        Clock::Logical {
            last_committed,
            sequence,
        }
    }

    #[test]
    fn who_depends_on_nobody_begins_at_once() {
        let mut s = Schedule::default();
        let mut after = |clock, done| s.next(clock, done).after;
        assert_eq!(after(logical(0, 1), 0), 0);
        assert_eq!(after(logical(0, 2), 0), 0);
        assert_eq!(after(logical(1, 3), 0), 1);
        assert_eq!(after(logical(2, 4), 3), 0);
        // A gap, as where transactions were left out: all up to there.
        assert_eq!(after(logical(8, 9), 3), 4);
        assert_eq!(after(Clock::Alone, 3), 5);
        assert_eq!(after(logical(0, 10), 3), 6);
    }

    #[test]
    fn numbers_that_make_no_sense_stand_alone() {
        for wrong in [
            (3, 3),
            (4, 2),
            (-1, 4),
            (0, 0),
            (0, -4),
            (i64::MAX, i64::MIN),
        ] {
            let mut s = Schedule::default();
            s.next(logical(0, 1), 0);
            s.next(logical(1, 3), 0);
            let slot = s.next(logical(wrong.0, wrong.1), 0);
            assert_eq!((slot.number, slot.after), (3, 2), "{wrong:?}");
            assert_eq!(s.next(logical(0, i64::MAX), 0).after, 3, "{wrong:?}");
        }
    }

    #[test]
    fn those_that_mariadb_committed_together_go_together() {
        let mut s = Schedule::default();
        let mut after = |clock| s.next(clock, 0).after;
        assert_eq!(after(Clock::Group(7)), 0);
        assert_eq!(after(Clock::Group(7)), 0);
        assert_eq!(after(Clock::Group(9)), 2);
        assert_eq!(after(Clock::Group(9)), 2);
        assert_eq!(after(Clock::Alone), 4);
        assert_eq!(after(Clock::Group(9)), 5);
    }

    #[test]
    fn another_file_begins_behind_the_one_before() {
        let mut s = Schedule::default();
        s.next(logical(0, 1), 0);
        s.next(logical(0, 2), 0);
        s.restart();
        assert_eq!(s.next(logical(0, 1), 0).after, 2);
        assert_eq!(s.next(logical(1, 2), 0).after, 3);
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        /// Against the rule itself: all that a transaction comes behind, and no others.
        #[test]
        fn the_last_that_has_to_be_done_is_named(
            all in proptest::collection::vec((1i64..4, 0i64..40, 0u8..12, 0u64..5), 1..80),
        ) {
            let mut s = Schedule::default();
            // File, sequence number and whether it stands alone, of each.
            let mut so_far: Vec<(u32, i64, bool)> = Vec::new();
            let (mut file, mut sequence, mut done) = (0, 0, 0u64);
            for (step, back, what, more) in all {
                if what == 0 {
                    s.restart();
                    (file, sequence) = (file + 1, 0);
                }
                let alone = what == 1;
                let last_committed = match alone {
                    true => 0,
                    false => { sequence += step; (sequence - 1 - back).max(0) }
                };
                let clock = match alone {
                    true => Clock::Alone,
                    false => logical(last_committed, sequence),
                };
                let slot = s.next(clock, done);
                let behind = |&(f, s, stands): &(u32, i64, bool)| {
                    alone || stands || f != file || s <= last_committed
                };
                let last = so_far.iter().rposition(behind).map_or(0, |i| i as u64 + 1);
                prop_assert_eq!(slot.number, so_far.len() as u64 + 1);
                prop_assert!(slot.after < slot.number);
                prop_assert!(slot.after == last || slot.after <= done && last <= done, "{:?} {}", slot, last);
                so_far.push((file, sequence, alone));
                done = (done + more).min(slot.number).max(done);
            }
        }
    }
}
