//! Reading pages ahead of look-ups that are known already: the rows of gathered secondary entries, and the keys of the rows that a
//! join's table waits for. One by one each would wait for the device; begun together they wait for one another.
//!
//! It begins where a look-up had to wait, or the one before it, so that what is in memory pays nothing for it. Nothing depends on it.

use super::Session;
use super::candidates::Candidates;
use super::scan_spec::KeyBound;
use crate::schema::Table;

/// Look-ups that are looked at for pages to read, at a time: most of them may lead to what is there.
const LOOKED_AT: usize = 256;

impl Session {
    /// How many pages it has waited for.
    pub fn pages_waited_for(&self) -> u64 {
        self.waited.pages()
    }

    /// How many pages [`read_ahead`](Self::read_ahead) begins at most.
    pub fn ahead_at_most(&self) -> usize {
        self.engine.pager.pool().ahead_at_most()
    }

    /// Starts reading the pages of an index on which ranges begin, for scans that come soon; says how many.
    pub fn read_ahead<'b>(
        &self,
        t: &Table,
        index: usize,
        lower: impl IntoIterator<Item = &'b KeyBound>,
    ) -> usize {
        let keys = lower.into_iter().filter_map(|b| match b {
            KeyBound::Included(key) | KeyBound::Excluded(key) => Some(&key[..]),
            KeyBound::None => None,
        });
        t.indexes[index]
            .tree
            .read_ahead_of(keys, self.ahead_at_most())
    }
}

/// The row of the first entry was looked at: those behind it move up.
pub(super) fn next_candidate(t: &Table, candidates: &mut Candidates) {
    candidates.pop();
    if candidates.is_ahead_due() {
        read_candidates(t, candidates);
    }
}

/// Starts reading the rows of entries that were gathered.
#[cold]
pub(super) fn read_candidates(t: &Table, candidates: &mut Candidates) {
    let tree = &t.indexes[0].tree;
    candidates.read_ahead(|keys| tree.read_ahead_of(keys.take(LOOKED_AT), tree.ahead_at_most()));
}
