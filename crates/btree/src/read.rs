//! Point reads and scans. A scan looks at one leaf per call, under its shared latch, and remembers a key, not a place:
//! it survives whatever happens to the tree between two calls.

use pager::OpError;

use crate::descend::{Direction, Target};
use crate::node::LeafNode;
use crate::read_ahead::ReadAhead;
use crate::tree::Tree;

/// So many entries in front of the one that is visited are on their way into the processor's cache.
const AHEAD: usize = 8;

/// What a visitor wants after an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visit {
    /// The next entry.
    Next,
    /// No more; the next call begins behind this entry.
    Stop,
    /// No more; the next call begins with this entry again.
    StopBefore,
}

/// How a call of [`Tree::scan`] ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanState {
    /// This leaf is done; call again for the next.
    More,
    /// There are no more entries in this direction.
    End,
    /// The visitor stopped.
    Stopped,
}

/// Where a scan goes on. The buffers are kept when it is moved, so a reused position costs no allocation.
#[derive(Clone, Debug, Default)]
pub struct ScanPos {
    bound: Bound,
    key: Vec<u8>,
    entry: Vec<u8>,
    ahead: ReadAhead,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Bound {
    /// At the very end that the direction starts from.
    #[default]
    Start,
    /// At `key` itself.
    At,
    /// Behind `key`, as the direction goes.
    Past,
}

impl ScanPos {
    /// Before the first entry (forward) or behind the last one (backward).
    pub fn start() -> ScanPos {
        ScanPos::default()
    }

    /// At `key`: the scan begins with it or with its next neighbour in the direction.
    pub fn at(key: &[u8]) -> ScanPos {
        let mut pos = ScanPos::default();
        pos.seek_at(key);
        pos
    }

    /// Past `key` in the direction of the scan.
    pub fn past(key: &[u8]) -> ScanPos {
        let mut pos = ScanPos::default();
        pos.seek_past(key);
        pos
    }

    /// Moves to the start, see [`ScanPos::start`].
    pub fn seek_start(&mut self) {
        self.bound = Bound::Start;
        self.ahead = ReadAhead::default();
    }

    /// Moves to `key`, see [`ScanPos::at`].
    pub fn seek_at(&mut self, key: &[u8]) {
        self.set(Bound::At, key);
        self.ahead = ReadAhead::default();
    }

    /// Moves past `key`, see [`ScanPos::past`].
    pub fn seek_past(&mut self, key: &[u8]) {
        self.set(Bound::Past, key);
        self.ahead = ReadAhead::default();
    }

    #[inline]
    fn set(&mut self, bound: Bound, key: &[u8]) {
        self.bound = bound;
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    /// Keeps the entry just visited as the place to go on from.
    #[inline]
    fn keep_entry(&mut self, bound: Bound) {
        self.bound = bound;
        std::mem::swap(&mut self.key, &mut self.entry);
    }
}

impl Tree {
    /// Looks `key` up and gives its value to `f`, once, under the leaf's latch: copy out what is needed and touch
    /// neither tree nor pager from within.
    ///
    /// # Errors
    /// [`OpError::Wait`], before `f` was called; [`OpError::Corrupt`], [`OpError::Dropped`].
    #[inline]
    pub fn get<R>(&self, key: &[u8], f: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, OpError> {
        let (no, guard) = self.leaf_shared(Target::Key(key))?;
        let leaf = LeafNode::new(guard.bytes());
        let (slot, found) = leaf.lower_bound(leaf.strip(key));
        if !found {
            return Ok(f(None));
        }
        match leaf.value(slot) {
            Some(value) => Ok(f(Some(value))),
            None => Err(self.corrupt(no, "cell outside the page")),
        }
    }

    /// Visits entries from `pos` on until the leaf ends or the visitor stops; `visit` gets key and value and runs under
    /// the leaf's shared latch. On an error `pos` is as it was.
    ///
    /// # Errors
    /// [`OpError::Wait`], before `visit` was called; [`OpError::Corrupt`], [`OpError::Dropped`].
    #[inline]
    pub fn scan(
        &self,
        pos: &mut ScanPos,
        direction: Direction,
        visit: impl FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<ScanState, OpError> {
        self.scan_range(pos, (direction, None), visit, |_| true)
    }

    /// As [`scan`](Self::scan), up to the end of a range: forward, keys at or above `end` are not visited, backward, keys below it. When
    /// all entries of the range that are in the leaf were visited, `edge` is asked under the same latch, with the key at which the leaf ends
    /// in the scan's direction: no key between the last entry and that key is in the tree, and none can be put there before the latch is given
    /// up. Forward it is the first key of the next leaf, backward the least key that may be in this one; `None` is the end of the range or of the tree.
    /// Where it says no, the scan has stopped, and the next call goes on behind the last entry visited.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    #[inline]
    pub fn scan_range(
        &self,
        pos: &mut ScanPos,
        (direction, end): (Direction, Option<&[u8]>),
        visit: impl FnMut(&[u8], &[u8]) -> Visit,
        edge: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<ScanState, OpError> {
        match direction {
            Direction::Forward => self.scan_forward(pos, end, visit, edge),
            Direction::Backward => self.scan_backward(pos, end, visit, edge),
        }
    }

    fn scan_forward(
        &self,
        pos: &mut ScanPos,
        end: Option<&[u8]>,
        mut visit: impl FnMut(&[u8], &[u8]) -> Visit,
        edge: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<ScanState, OpError> {
        let from: &[u8] = if pos.bound == Bound::Start {
            b""
        } else {
            &pos.key
        };
        let target = Target::Key(from);
        let found = self.leaf_shared(target);
        pos.ahead.missed(self, target, Direction::Forward, &found);
        let (no, guard) = found?;
        let leaf = LeafNode::new(guard.bytes());
        let (slot, found) = leaf.lower_bound(leaf.strip(from));
        let first = slot + usize::from(found && pos.bound == Bound::Past);
        let high = leaf.high();
        // One comparison with the end for the leaf, and none for each entry.
        let over = end.filter(|k| high.is_empty() || *k <= high);
        let last = over.map_or(leaf.count(), |k| slot_of(&leaf, k));
        let prefix = leaf.prefix();
        pos.entry.clear();
        pos.entry.extend_from_slice(prefix);
        (first..last.min(first + AHEAD)).for_each(|i| leaf.prefetch(i));
        for i in first..last {
            if i + AHEAD < last {
                leaf.prefetch(i + AHEAD);
            }
            let Some(e) = leaf.entry(i) else {
                return Err(self.corrupt(no, "cell outside the page"));
            };
            pos.entry.truncate(prefix.len());
            pos.entry.extend_from_slice(e.suffix);
            match visit(&pos.entry, e.value) {
                Visit::Next => {}
                Visit::Stop => {
                    pos.keep_entry(Bound::Past);
                    return Ok(ScanState::Stopped);
                }
                Visit::StopBefore => {
                    pos.keep_entry(Bound::At);
                    return Ok(ScanState::Stopped);
                }
            }
        }
        let over = over.is_some() || high.is_empty();
        if !edge((!over).then_some(high)) {
            if first < last {
                pos.keep_entry(Bound::Past);
            }
            return Ok(ScanState::Stopped);
        }
        if over {
            return Ok(ScanState::End);
        }
        pos.set(Bound::At, high);
        drop(guard);
        pos.ahead
            .passed(self, Target::Key(&pos.key), Direction::Forward);
        Ok(ScanState::More)
    }

    fn scan_backward(
        &self,
        pos: &mut ScanPos,
        end: Option<&[u8]>,
        mut visit: impl FnMut(&[u8], &[u8]) -> Visit,
        edge: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<ScanState, OpError> {
        let target = match pos.bound {
            Bound::Start => Target::Below(None),
            Bound::At => Target::Key(&pos.key),
            Bound::Past if pos.key.is_empty() => return Ok(ScanState::End),
            Bound::Past => Target::Below(Some(&pos.key)),
        };
        let found = self.leaf_shared(target);
        pos.ahead.missed(self, target, Direction::Backward, &found);
        let (no, guard) = found?;
        let leaf = LeafNode::new(guard.bytes());
        let behind = if pos.bound == Bound::Start {
            leaf.count()
        } else {
            let (slot, found) = leaf.lower_bound(leaf.strip(&pos.key));
            slot + usize::from(found && pos.bound == Bound::At)
        };
        let low = leaf.low();
        let over = end.filter(|k| *k >= low);
        let first = over.map_or(0, |k| slot_of(&leaf, k));
        let prefix = leaf.prefix();
        pos.entry.clear();
        pos.entry.extend_from_slice(prefix);
        for i in (first..behind).rev() {
            if i >= first + AHEAD {
                leaf.prefetch(i - AHEAD);
            }
            let Some(e) = leaf.entry(i) else {
                return Err(self.corrupt(no, "cell outside the page"));
            };
            pos.entry.truncate(prefix.len());
            pos.entry.extend_from_slice(e.suffix);
            match visit(&pos.entry, e.value) {
                Visit::Next => {}
                Visit::Stop => {
                    pos.keep_entry(Bound::Past);
                    return Ok(ScanState::Stopped);
                }
                Visit::StopBefore => {
                    pos.keep_entry(Bound::At);
                    return Ok(ScanState::Stopped);
                }
            }
        }
        let over = over.is_some() || low.is_empty();
        if !edge((!over).then_some(low)) {
            if first < behind {
                pos.keep_entry(Bound::Past);
            }
            return Ok(ScanState::Stopped);
        }
        if over {
            return Ok(ScanState::End);
        }
        pos.set(Bound::Past, low);
        drop(guard);
        let target = Target::Below(Some(&pos.key));
        pos.ahead.passed(self, target, Direction::Backward);
        Ok(ScanState::More)
    }
}

/// The first slot of a leaf whose key is at or above `key`, which may lie outside its fences.
fn slot_of(leaf: &LeafNode<'_>, key: &[u8]) -> usize {
    let high = leaf.high();
    if key <= leaf.low() {
        0
    } else if !high.is_empty() && key >= high {
        leaf.count()
    } else {
        leaf.lower_bound(leaf.strip(key)).0
    }
}
