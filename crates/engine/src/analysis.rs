//! What recovery learns from the log before any page is looked at: who was running, what waits for purge, which ids and
//! counters were given out. It changes nothing and reads no page.

use crate::counters::Counters;
use crate::purge_queue::{PurgeItem, done_noted};
use crate::record::Undo;
use crate::schema::CATALOG_ID;
use crate::xa;
use base::{Lsn, SpaceId, TxnId, le};
use pager::{Record, RecordKind};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// What the first pass over the log learns.
#[derive(Default)]
pub(crate) struct Analysis {
    pub(crate) active: HashMap<u64, Loser, BuildHasherDefault<IdHasher>>,
    ended: Vec<u64>,
    pub(crate) next: u64,
    pub(crate) purge: Vec<PurgeItem>,
    /// Where the queue began at the last checkpoint: commits from here on that left something may still wait. None when there
    /// was no checkpoint.
    pub(crate) purge_from: Lsn,
    /// The oldest record that any of it needed.
    purge_oldest: Lsn,
    /// AUTO_INCREMENT counters.
    pub(crate) counters: Counters,
    /// Above the ids of tables and indexes that anything in the log may still speak of.
    pub(crate) next_table: u32,
    pub(crate) next_index: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct Loser {
    pub(crate) first: Lsn,
    pub(crate) last: Lsn,
    /// Changed the catalog.
    pub(crate) ddl: bool,
    /// Known from a checkpoint's list alone: none of its records was met.
    pub(crate) listed: bool,
}

/// For transaction ids, which are given out one after the other: asked for with every record of the log.
#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_u64(u64::from(*b) ^ self.0);
        }
    }

    fn write_u64(&mut self, n: u64) {
        // Fibonacci hashing (Knuth, TAOCP vol. 3, 6.4): the high bits, which the table looks at, depend on all.
        self.0 = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Analysis {
    pub(crate) fn new() -> Analysis {
        Analysis {
            next: 1,
            ..Analysis::default()
        }
    }

    /// Learns from a record of the first pass.
    pub(crate) fn observe(&mut self, start: Lsn, r: &Record<'_>) {
        let h = r.header();
        let t = h.txid.0;
        self.next = self.next.max(t.saturating_add(1));
        match h.kind {
            RecordKind::Change | RecordKind::Compensation => {
                let x = self.active.entry(t).or_insert(Loser {
                    first: start,
                    last: start,
                    ddl: false,
                    listed: false,
                });
                (x.last, x.listed) = (start, false);
                if h.kind == RecordKind::Change
                    && let Some(u) = Undo::decode(r.undo())
                {
                    x.ddl |= u.table == CATALOG_ID;
                    if SpaceId(u.table).is_temporary() {
                        // It is gone, and its ids are given out anew.
                        return;
                    }
                    self.next_table = self.next_table.max(u.table.saturating_add(1));
                    self.next_index = self.next_index.max(u.index.saturating_add(1));
                    self.counters.key(u.table, u.index, u.key);
                }
            }
            RecordKind::Commit => {
                let x = self.active.remove(&t);
                self.ended.push(t);
                if r.undo().first() == Some(&1) {
                    // Its first record may be older than the scan; purge itself walks from the last one.
                    let first = x.map_or(h.prev, |x| x.first);
                    self.purge.push(PurgeItem {
                        commit: start,
                        txid: h.txid,
                        first,
                        last: h.prev,
                    });
                }
            }
            RecordKind::Abort => {
                self.active.remove(&t);
                self.ended.push(t);
            }
            RecordKind::Checkpoint => self.checkpoint(r.undo()),
            // The last record of a prepared transaction, or the first of its rollback.
            RecordKind::Note if t != 0 && xa::is_of_a_branch(r.undo()) => {
                let x = self.active.entry(t).or_insert(Loser {
                    first: start,
                    last: start,
                    ddl: false,
                    listed: false,
                });
                (x.last, x.listed) = (start, false);
            }
            RecordKind::Note => match done_noted(r.undo()) {
                Some(to) => self.purged_before(to),
                None => self.counters.note(r.undo()),
            },
            // What a transaction leaves for readers of the log is nothing to undo.
            RecordKind::System | RecordKind::Event => {}
        }
    }

    fn checkpoint(&mut self, b: &[u8]) {
        if b.len() < 12 {
            return;
        }
        self.next = self.next.max(le::get_u64(b, 0));
        // The list takes the room that it says it does, or something is wrong with it.
        let n = (le::get_u32(b, 8) as usize).min((b.len() - 12) / 24);
        let word = |i: usize| le::get_u64_or0(b, 12 + i * 8);
        let ids = 12 + n * 24;
        self.next_table = self.next_table.max(le::get_u32_or0(b, ids));
        self.next_index = self.next_index.max(le::get_u32_or0(b, ids + 4));
        self.ended.sort_unstable();
        // The record of an earlier checkpoint may stand far behind the look at what was active. What has ended between the two may have done so in front of
        // the position from which this scan began, but not behind this checkpoint's look, which would have met it.
        let named: BTreeSet<u64> = (0..n).map(|i| word(i * 3)).collect();
        self.active.retain(|t, x| !x.listed || named.contains(t));
        for i in 0..n {
            let (t, first, last) = (word(i * 3), Lsn(word(i * 3 + 1)), Lsn(word(i * 3 + 2)));
            if last.is_none() {
                continue;
            }
            if self.ended.binary_search(&t).is_ok() {
                // Between the look at it and the checkpoint's record. Its commit record does not tell where it began.
                let left = self.purge.iter_mut().filter(|x| x.txid.0 == t);
                left.for_each(|x| x.first = x.first.min(first));
                continue;
            }
            // What it changed before the scan began is not known: look before the definitions are read.
            let x = self.active.entry(t).or_insert(Loser {
                first: last,
                last,
                ddl: true,
                listed: true,
            });
            if !base::mutant!("loser-begins-where-the-scan-does") {
                x.first = first;
            }
            x.ddl = true;
        }
        self.checkpoint_purge(b.get(ids + 8..).unwrap_or(&[]));
    }

    /// What waited for purge: where the queue began, the oldest record of all of it, and what had been taken from it.
    fn checkpoint_purge(&mut self, b: &[u8]) {
        if b.len() < 16 {
            return;
        }
        self.purge_from = Lsn(le::get_u64(b, 0));
        self.purge_oldest = Lsn(le::get_u64(b, 8));
        // What an older checkpoint or the log before this one told of and this one does not is done, and the log it was to be
        // read from may be gone.
        let from = self.purge_from;
        self.purge.retain(|x| x.commit >= from);
        for w in b[16..].as_chunks::<32>().0 {
            let word = |i: usize| le::get_u64(w, i * 8);
            let item = PurgeItem {
                commit: Lsn(word(0)),
                txid: TxnId(word(1)),
                first: Lsn(word(2)),
                last: Lsn(word(3)),
            };
            self.purge.push(item);
        }
        if self.purge_oldest.is_none() {
            // Nothing waited: what has been found since has its own beginning.
            return;
        }
        // A commit record does not tell where its transaction began.
        for x in &mut self.purge {
            x.first = x.first.min(self.purge_oldest);
        }
    }

    /// An earlier start said that what it had found is purged.
    fn purged_before(&mut self, to: Lsn) {
        self.purge.retain(|x| x.commit >= to);
        self.purge_from = self.purge_from.max(to);
    }

    /// Commit records between the beginning of the queue and the position that recovery scans from.
    pub(crate) fn observe_queued(&mut self, start: Lsn, r: &Record<'_>) {
        let h = r.header();
        if h.kind == RecordKind::Commit && r.undo().first() == Some(&1) {
            self.purge.push(PurgeItem {
                commit: start,
                txid: h.txid,
                first: self.purge_oldest,
                last: h.prev,
            });
        }
    }

    /// What waits for purge, in commit order. A transaction may have been met twice: in the checkpoint and in the log.
    pub(crate) fn purge_queue(&mut self) -> Vec<PurgeItem> {
        let mut queue = std::mem::take(&mut self.purge);
        queue.sort_unstable_by_key(|i| (i.commit, i.txid));
        queue.dedup_by(|later, kept| {
            let same = later.txid == kept.txid;
            if same {
                kept.first = kept.first.min(later.first);
            }
            same
        });
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(active: &[[u64; 3]], from: u64, oldest: u64, current: &[[u64; 4]]) -> Vec<u8> {
        let mut b = 100u64.to_le_bytes().to_vec();
        b.extend_from_slice(&(active.len() as u32).to_le_bytes());
        let words = |b: &mut Vec<u8>, w: &[u64]| w.iter().for_each(|x| b.extend(x.to_le_bytes()));
        active.iter().for_each(|a| words(&mut b, a));
        words(&mut b, &[0, from, oldest]);
        current.iter().for_each(|c| words(&mut b, c));
        b
    }

    #[test]
    fn purge_work_that_the_last_checkpoint_does_not_name_is_done() {
        let mut a = Analysis::new();
        // Two wait at the first checkpoint; one at the second, and one that has been committed since.
        a.checkpoint(&checkpoint(
            &[],
            500,
            10,
            &[[100, 1, 10, 90], [200, 2, 110, 190]],
        ));
        let item = |commit, txid, first, last| PurgeItem {
            commit: Lsn(commit),
            txid: TxnId(txid),
            first: Lsn(first),
            last: Lsn(last),
        };
        a.purge.push(item(600, 3, 590, 590));
        a.purge.push(item(800, 4, 790, 790));
        a.checkpoint(&checkpoint(&[], 700, 110, &[[200, 2, 110, 190]]));
        let queue: Vec<u64> = a.purge_queue().iter().map(|i| i.txid.0).collect();
        assert_eq!(queue, [2, 4]);
    }

    #[test]
    fn purge_work_that_a_later_start_has_done_is_not_found_again() {
        let mut a = Analysis::new();
        a.checkpoint(&checkpoint(&[], 500, 10, &[[100, 1, 10, 90]]));
        let item = |commit, txid| PurgeItem {
            commit: Lsn(commit),
            txid: TxnId(txid),
            first: Lsn(commit - 10),
            last: Lsn(commit - 10),
        };
        a.purge.extend([item(600, 3), item(800, 4)]);
        a.purged_before(Lsn(700));
        assert_eq!(a.purge_from, Lsn(700));
        let queue: Vec<u64> = a.purge_queue().iter().map(|i| i.txid.0).collect();
        assert_eq!(queue, [4]);
    }

    #[test]
    fn what_an_earlier_checkpoint_alone_has_listed_has_ended() {
        let mut a = Analysis::new();
        // The second look did not meet 7, which has ended in front of the scan, and met 8, which has done nothing since.
        a.checkpoint(&checkpoint(&[[7, 300, 300], [8, 310, 320]], 500, 0, &[]));
        assert_eq!(a.active.len(), 2);
        a.checkpoint(&checkpoint(&[[8, 310, 320], [9, 600, 610]], 700, 0, &[]));
        let mut left: Vec<u64> = a.active.keys().copied().collect();
        left.sort_unstable();
        assert_eq!(left, [8, 9]);
        // One whose records were met has its end in the scan too: it began behind the look.
        let x = a.active.get_mut(&9).unwrap();
        x.listed = false;
        a.checkpoint(&checkpoint(&[], 900, 0, &[]));
        assert!(a.active.contains_key(&9) && a.active.len() == 1);
    }

    #[test]
    fn a_commit_between_the_look_and_the_record_keeps_its_beginning() {
        let mut a = Analysis::new();
        a.ended.push(7);
        a.purge.push(PurgeItem {
            commit: Lsn(900),
            txid: TxnId(7),
            first: Lsn(880),
            last: Lsn(880),
        });
        a.checkpoint(&checkpoint(&[[7, 300, 880]], 850, 0, &[]));
        assert!(a.active.is_empty());
        assert_eq!(a.purge_queue()[0].first, Lsn(300));
    }
}
