//! How far a locking scan has guarded the range that it was asked for: from where it began to where it is. What it has not come to
//! is free, so that a scan that stops early (LIMIT) keeps nobody from inserting behind it.
//!
//! It moves under the latch of the leaf that the scan looks at. An insert asks for guards under the latch of the leaf it goes to: so
//! it comes before the scan, which meets its entry, or behind it, and meets the guard.

use super::scan_spec::{KeyBound, successor};
use crate::lock::{Mode, Span};
use btree::ScanPos;

/// What of a scan's range is not guarded yet.
pub(crate) struct GuardCursor {
    left: Span,
    backward: bool,
    /// How the rows are locked with the range; `None`: they are locked one by one, in another index.
    rows: Option<Mode>,
}

impl GuardCursor {
    /// Before the first entry of the range.
    pub(crate) fn new(
        lower: &KeyBound,
        upper: &KeyBound,
        backward: bool,
        rows: Option<Mode>,
    ) -> GuardCursor {
        // What lies above every key has no end.
        let (mut low, mut high) = (Vec::new(), None);
        let mut empty = false;
        match lower {
            KeyBound::None => {}
            KeyBound::Included(p) => low.clone_from(p),
            KeyBound::Excluded(p) => match successor(p) {
                Some(s) => low = s,
                None => empty = true,
            },
        }
        match upper {
            KeyBound::None => {}
            KeyBound::Excluded(p) => high = Some(p.clone()),
            KeyBound::Included(p) => high = successor(p),
        }
        if empty {
            high = Some(low.clone());
        }
        GuardCursor {
            left: Span::new(&low, high.as_deref()),
            backward,
            rows,
        }
    }

    pub(crate) fn rows(&self) -> Option<Mode> {
        self.rows
    }

    /// Puts a scan back to where it is: what was looked at behind it may have changed.
    pub(crate) fn seek(&self, pos: &mut ScanPos) {
        match (self.backward, &self.left.high) {
            (false, _) => pos.seek_at(&self.left.low),
            (true, Some(high)) => pos.seek_past(high),
            (true, None) => pos.seek_start(),
        }
    }

    /// From where it is to `key`, which is in it.
    pub(crate) fn through(&self, key: &[u8]) -> Span {
        match self.backward {
            false => Span::through(&self.left.low, key),
            true => Span::new(key, self.left.high.as_deref()),
        }
    }

    /// From where it is to `key`, which is not in it.
    pub(crate) fn before(&self, key: &[u8]) -> Span {
        match self.backward {
            false => Span::new(&self.left.low, Some(key)),
            true => Span::new(
                Span::through(b"", key).high.as_deref().unwrap_or(key),
                self.left.high.as_deref(),
            ),
        }
    }

    /// From where it is to the edge of a leaf, or to the end of the range where that comes first.
    pub(crate) fn to_edge(&self, edge: Option<&[u8]>) -> Span {
        let mut span = self.left.clone();
        match edge {
            Some(edge) if self.backward && *span.low < *edge => span.low = edge.into(),
            Some(edge) if !self.backward && span.ends_above(edge) => span.high = Some(edge.into()),
            _ => {}
        }
        span
    }

    /// `span` is behind it now.
    pub(crate) fn passed(&mut self, span: Span) {
        if span.is_empty() {
            return;
        }
        match self.backward {
            true => self.left.high = Some(span.low),
            false => match span.high {
                Some(high) => self.left.low = high,
                None => self.left.high = Some(self.left.low.clone()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_guarded_follows_the_scan() {
        let included = |k: &[u8]| KeyBound::Included(k.to_vec());
        let mut c = GuardCursor::new(&included(b"b"), &included(b"f"), false, None);
        assert_eq!(c.through(b"c"), Span::new(b"b", Some(b"c\0")));
        c.passed(c.through(b"c"));
        assert_eq!(c.before(b"d"), Span::new(b"c\0", Some(b"d")));
        assert_eq!(c.to_edge(Some(b"e")), Span::new(b"c\0", Some(b"e")));
        c.passed(c.to_edge(Some(b"e")));
        assert_eq!(c.to_edge(Some(b"x")), Span::new(b"e", Some(b"g")));
        c.passed(c.to_edge(None));
        assert!(c.to_edge(None).is_empty());

        let mut c = GuardCursor::new(&included(b"b"), &KeyBound::None, true, None);
        assert_eq!(c.to_edge(Some(b"m")), Span::new(b"m", None));
        c.passed(c.to_edge(Some(b"m")));
        assert_eq!(c.through(b"k"), Span::new(b"k", Some(b"m")));
        assert_eq!(c.before(b"k"), Span::new(b"k\0", Some(b"m")));
        c.passed(c.through(b"k"));
        assert_eq!(c.to_edge(None), Span::new(b"b", Some(b"k")));

        let c = GuardCursor::new(
            &KeyBound::Excluded(vec![0xFF]),
            &KeyBound::None,
            false,
            None,
        );
        assert!(c.to_edge(None).is_empty());
        let mut c = GuardCursor::new(&KeyBound::None, &KeyBound::None, false, None);
        c.passed(c.to_edge(None));
        assert!(c.to_edge(None).is_empty());
    }
}
