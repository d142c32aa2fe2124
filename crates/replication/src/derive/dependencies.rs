//! Which transactions of a file may be applied beside each other, as MySQL's WRITESET says it: each has a sequence number and the number of
//! the last one that has to be done before it.
//!
//! What has to be done before is never left out: where it is not known what a transaction has changed, it waits for all, and all wait for it.
//! Source: MySQL's manual, "Replication Options and Variables", on the tracking of dependencies.

use std::collections::BTreeMap;
use wire::ProtocolError;
use wire::read::{ReadResult, Reader};
use wire::write::Put;

/// Who has changed a key last. Numbers count from 1 on in each file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dependencies {
    /// The number of the last transaction.
    sequence: i64,
    /// What is not in `last_of` has changed last in this transaction, or before.
    floor: i64,
    last_of: BTreeMap<u64, i64>,
}

impl Dependencies {
    /// A new file: its transactions come behind all of the one before.
    pub fn restart(&mut self) {
        *self = Dependencies::default();
    }

    /// The number of the last transaction.
    pub fn sequence(&self) -> i64 {
        self.sequence
    }

    /// Another transaction that has changed or gone by `keys`; `None`: that is not known. At most `most` keys are kept in mind. Gives what it
    /// depends on, and its own number.
    pub fn next(&mut self, keys: Option<&[u64]>, most: usize) -> (i64, i64) {
        self.sequence += 1;
        let sequence = self.sequence;
        let Some(keys) = keys else {
            self.last_of.clear();
            self.floor = sequence;
            return (sequence - 1, sequence);
        };
        let known = keys.iter().filter_map(|k| self.last_of.get(k));
        let mut last = known.fold(self.floor, |a, b| a.max(*b));
        if base::mutant!("last-committed-one-too-small") {
            last = (last - 1).max(0);
        }
        if self.last_of.len() + keys.len() > most {
            // What is forgotten may have been changed by any of them.
            self.last_of.clear();
            self.floor = sequence;
        } else {
            self.last_of.extend(keys.iter().map(|k| (*k, sequence)));
        }
        (last, sequence)
    }

    /// Appends all of it.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.put_u64(self.sequence as u64);
        out.put_u64(self.floor as u64);
        out.put_u32(self.last_of.len() as u32);
        for (key, sequence) in &self.last_of {
            out.put_u64(*key);
            out.put_u64(*sequence as u64);
        }
    }

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it is something else.
    pub fn read(r: &mut Reader<'_>) -> ReadResult<Dependencies> {
        let (sequence, floor) = (r.u64()? as i64, r.u64()? as i64);
        let mut last_of = BTreeMap::new();
        for _ in 0..r.u32()? {
            last_of.insert(r.u64()?, r.u64()? as i64);
        }
        let right = |n: &i64| (0..=sequence).contains(n);
        match right(&floor) && last_of.values().all(right) {
            true => Ok(Dependencies {
                sequence,
                floor,
                last_of,
            }),
            false => Err(ProtocolError::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_waits_for_the_last_that_changed_one_of_its_keys() {
        let mut d = Dependencies::default();
        let mut next = |keys: Option<&[u64]>| d.next(keys, 10);
        assert_eq!(next(Some(&[1, 2])), (0, 1));
        assert_eq!(next(Some(&[3])), (0, 2));
        assert_eq!(next(Some(&[2, 4])), (1, 3));
        assert_eq!(next(Some(&[])), (0, 4));
        // Nobody knows of what: all before it, and it before all.
        assert_eq!(next(None), (4, 5));
        assert_eq!(next(Some(&[2])), (5, 6));
        assert_eq!(next(Some(&[2])), (6, 7));
        d.restart();
        assert_eq!(d.next(Some(&[2]), 10), (0, 1));
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        /// Against a list of all that was: what shares a key is never beside, however few are remembered.
        #[test]
        fn no_dependency_is_lost(
            all in proptest::collection::vec(
                proptest::option::weighted(0.9, proptest::collection::vec(0u64..12, 0..5)), 1..60),
            most in 0usize..20,
            saved in 0usize..60,
        ) {
            let mut d = Dependencies::default();
            for (n, keys) in all.iter().enumerate() {
                if n == saved {
                    let mut bytes = Vec::new();
                    d.write(&mut bytes);
                    let read = Dependencies::read(&mut Reader::new(&bytes));
                    prop_assert_eq!(read.as_ref(), Ok(&d));
                }
                let (last, own) = d.next(keys.as_deref(), most);
                prop_assert_eq!(own, n as i64 + 1);
                prop_assert!(last < own);
                for (m, before) in all[..n].iter().enumerate() {
                    let together = match (keys, before) {
                        (Some(a), Some(b)) => a.iter().any(|k| b.contains(k)),
                        _ => true,
                    };
                    prop_assert!(!together || last > m as i64, "{} beside {}", own, m + 1);
                }
            }
        }
    }
}
