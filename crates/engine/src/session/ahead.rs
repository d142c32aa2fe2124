//! Reading pages ahead of look-ups that are known already: the rows of gathered secondary entries, and the keys of the rows that a
//! join's table waits for. One by one each would wait for the device; begun together they wait for one another.
//!
//! It begins where a look-up had to wait, so that what is in memory pays nothing for it. Nothing depends on it.

use super::Session;
use super::candidates::Candidates;
use super::scan_spec::KeyBound;
use crate::schema::Table;
use std::sync::atomic::Ordering;

/// Look-ups begun before those that are looked at by then are through.
const AHEAD: usize = 16;

impl Session {
    /// How many pages it has waited for.
    pub fn pages_waited_for(&self) -> u64 {
        self.page_waits.load(Ordering::Relaxed)
    }

    /// Starts reading the pages of an index on which ranges begin, for scans that come soon; says whether there were any to read.
    pub fn read_ahead<'b>(
        &self,
        t: &Table,
        index: usize,
        lower: impl IntoIterator<Item = &'b KeyBound>,
    ) -> bool {
        let keys = lower.into_iter().filter_map(|b| match b {
            KeyBound::Included(key) | KeyBound::Excluded(key) => Some(&key[..]),
            KeyBound::None => None,
        });
        t.indexes[index].tree.read_ahead_of(keys) > 0
    }
}

/// Starts reading the rows of entries, the first of which has to be waited for.
#[cold]
pub(super) fn read_candidates(t: &Table, candidates: &mut Candidates) {
    let tree = &t.indexes[0].tree;
    let most = tree.ahead_at_most().min(2 * AHEAD);
    tree.read_ahead_of(candidates.ahead(most));
}
