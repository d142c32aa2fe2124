//! Where the first run of so many free units begins, without looking at all units.
//!
//! A tree over blocks of the map of units: each node knows the longest free run below it, and the ones that touch its two ends,
//! so that a run across a border is seen by the node above (the segment tree with "prefix, suffix, best" of the textbooks; the
//! kernel's and the buddy allocators' trees of extents answer the same question). A file whose units are taken and freed
//! all the time has thousands of holes that are too small: a search from the first of them on took a fifth of a loaded server.
//!
//! Knows no bits: it is told what the words hold and says in which block, or at which unit, to look.

/// Words of the map in a block: 512 units, a cache line.
pub(super) const BLOCK_WORDS: usize = 8;
/// Units of a block.
pub(super) const BLOCK_UNITS: u64 = BLOCK_WORDS as u64 * u64::BITS as u64;

/// The free units of a range: longest run, and those at its ends. Lengths end at `u32::MAX`, far beyond any run asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Runs {
    first: u32,
    last: u32,
    longest: u32,
}

impl Runs {
    /// Of a block's words; those the map does not have count as taken.
    fn of(words: &[u64]) -> Runs {
        let (mut runs, mut run, mut whole) = (Runs::default(), 0, true);
        let missing = (words.len() < BLOCK_WORDS).then_some(u64::MAX);
        for word in words.iter().copied().chain(missing) {
            let mut left = u64::BITS;
            let mut rest = word;
            while left > 0 {
                let free = rest.trailing_zeros().min(left);
                run += free;
                left -= free;
                if left == 0 {
                    break;
                }
                if whole {
                    (runs.first, whole) = (run, false);
                }
                runs.longest = runs.longest.max(run);
                run = 0;
                rest >>= free;
                let taken = rest.trailing_ones().min(left);
                left -= taken;
                rest = if taken == u64::BITS { 0 } else { rest >> taken };
            }
        }
        if whole {
            runs.first = run;
        }
        runs.last = run;
        runs.longest = runs.longest.max(run);
        runs
    }

    /// Of two ranges of `span` units each, one behind the other.
    fn both(left: Runs, right: Runs, span: u64) -> Runs {
        let across = left.last.saturating_add(right.first);
        let whole = |r: Runs| u64::from(r.longest) == span;
        Runs {
            first: if whole(left) { across } else { left.first },
            last: if whole(right) { across } else { right.last },
            longest: left.longest.max(right.longest).max(across),
        }
    }
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunPlace {
    /// Within this block, and not in one before it nor across its start.
    Within(u64),
    /// It begins at this unit and crosses the end of a block.
    At(u64),
}

/// The tree. Node 1 is the root, `2 * i` and `2 * i + 1` lie below node `i`, the blocks' own nodes begin at `leaves`.
#[derive(Debug, Default)]
pub(super) struct FreeRuns {
    nodes: Vec<Runs>,
    leaves: usize,
}

impl FreeRuns {
    /// Something changed in the blocks from `first` to `last`; `words` is the whole map.
    pub(super) fn changed(&mut self, words: &[u64], first: usize, last: usize) {
        let (mut first, mut last) = (first, last);
        if last >= self.leaves {
            self.leaves = (last + 1).next_power_of_two();
            self.nodes = vec![Runs::default(); 2 * self.leaves];
            (first, last) = (0, words.len().div_ceil(BLOCK_WORDS).max(1) - 1);
        }
        for block in first..=last {
            let start = (block * BLOCK_WORDS).min(words.len());
            let end = (start + BLOCK_WORDS).min(words.len());
            self.nodes[self.leaves + block] = Runs::of(&words[start..end]);
        }
        let (mut low, mut high, mut span) = (self.leaves + first, self.leaves + last, BLOCK_UNITS);
        while low > 1 {
            (low, high) = (low / 2, high / 2);
            for i in low..=high {
                self.nodes[i] = Runs::both(self.nodes[2 * i], self.nodes[2 * i + 1], span);
            }
            span *= 2;
        }
    }

    /// The first run of `n` free units.
    pub(super) fn find(&self, n: u64) -> Option<RunPlace> {
        let fits = |run: u32| u64::from(run) >= n;
        if !self.nodes.get(1).is_some_and(|root| fits(root.longest)) {
            return None;
        }
        let (mut at, mut start) = (1, 0);
        let mut span = self.leaves as u64 * BLOCK_UNITS;
        while at < self.leaves {
            span /= 2;
            let (left, right) = (self.nodes[2 * at], self.nodes[2 * at + 1]);
            let middle = start + span;
            if fits(left.longest) {
                at *= 2;
            } else if fits(left.last.saturating_add(right.first)) {
                // No run as long as asked for ends before the middle: this one begins there, or earlier.
                return Some(RunPlace::At(middle - u64::from(left.last)));
            } else {
                (at, start) = (2 * at + 1, middle);
            }
        }
        Some(RunPlace::Within((at - self.leaves) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_knows_its_runs() {
        let runs = |w: &[u64]| {
            let r = Runs::of(w);
            (r.first, r.last, r.longest)
        };
        assert_eq!(runs(&[0; 8]), (512, 512, 512));
        assert_eq!(runs(&[u64::MAX; 8]), (0, 0, 0));
        assert_eq!(runs(&[]), (0, 0, 0));
        assert_eq!(runs(&[0, 0]), (128, 0, 128));
        assert_eq!(runs(&[1, 0, 0, 0, 0, 0, 0, 1 << 63]), (0, 0, 510));
        assert_eq!(
            runs(&[0b1000, u64::MAX, 0, 0, 1 << 10, u64::MAX, 0, 0]),
            (3, 128, 138)
        );
    }

    #[test]
    fn a_run_across_blocks_is_the_first() {
        let mut words = vec![u64::MAX; 40];
        let mut tree = FreeRuns::default();
        tree.changed(&words, 0, 4);
        assert_eq!(tree.find(1), None);
        (words[7], words[8], words[20]) = (u64::MAX >> 3, u64::MAX << 2, u64::MAX << 6);
        tree.changed(&words, 0, 2);
        assert_eq!(tree.find(3), Some(RunPlace::Within(0)));
        assert_eq!(tree.find(4), Some(RunPlace::At(509)));
        assert_eq!(tree.find(5), Some(RunPlace::At(509)));
        assert_eq!(tree.find(6), Some(RunPlace::Within(2)));
        assert_eq!(tree.find(7), None);
    }
}
