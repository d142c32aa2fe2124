//! Which transactions guard which keys of one index: the index is cut into segments where the answer changes, so that one search finds
//! all who guard a key. Pure; knows nobody who waits.
//!
//! Neighbours with the same guards are one segment, and a guard that grows with its scan moves the end of its last segment: a scan of a
//! million rows has one.

use super::queue::Mode;
use super::span::{Span, below};
use base::TxnId;
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Included, Unbounded};

/// One who guards a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Guard {
    pub(super) owner: TxnId,
    /// How the rows of the segment are locked with it; `None`: only new ones are kept out.
    pub(super) rows: Option<Mode>,
}

#[derive(Clone, Debug)]
struct Segment {
    high: Option<Box<[u8]>>,
    /// By their ids.
    guards: SmallVec<[Guard; 1]>,
}

/// What a segment takes beside its keys and those who guard it, its place in the map included.
const SEGMENT_BYTES: usize = 96;
/// What a span takes beside its keys.
const SPAN_BYTES: usize = 48;

/// What a segment takes.
fn weight(low: &[u8], s: &Segment) -> usize {
    let high = s.high.as_ref().map_or(0, |h| h.len());
    SEGMENT_BYTES + low.len() + high + s.guards.len() * size_of::<Guard>()
}

impl Segment {
    fn add(&mut self, owner: TxnId, rows: Option<Mode>) {
        match self.guards.binary_search_by_key(&owner, |g| g.owner) {
            Ok(i) => self.guards[i].rows = self.guards[i].rows.max(rows),
            Err(i) => self.guards.insert(i, Guard { owner, rows }),
        }
    }

    fn guard_of(&self, owner: TxnId) -> Option<Guard> {
        let i = self.guards.binary_search_by_key(&owner, |g| g.owner);
        i.ok().map(|i| self.guards[i])
    }
}

/// The guards of one index.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// By their least keys; no two have a key in common, none is without a guard.
    map: BTreeMap<Box<[u8]>, Segment>,
    /// What each owner has asked for.
    owners: HashMap<TxnId, Vec<Span>>,
    /// What the segments take.
    bytes: usize,
    /// How many spans there are.
    spans: usize,
}

impl Segments {
    /// How many transactions guard something here, or are about to.
    pub(super) fn owners(&self) -> usize {
        self.owners.len()
    }

    /// `owner` is going to guard something.
    pub(super) fn register(&mut self, owner: TxnId) {
        self.owners.entry(owner).or_default();
    }

    /// What all of it takes, but for a little.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.spans * SPAN_BYTES
    }

    /// What one owner has added, about.
    pub(super) fn bytes_of(&self, owner: TxnId) -> usize {
        let spans = self.owners.get(&owner).map_or(0, Vec::len);
        spans * (SPAN_BYTES + 2 * SEGMENT_BYTES)
    }

    /// `span` begins or ends where the last span of `owner` ends or begins: guarding it adds none.
    pub(super) fn goes_on(&self, owner: TxnId, span: &Span) -> bool {
        let last = self.owners.get(&owner).and_then(|own| own.last());
        last.is_some_and(|l| {
            l.high.as_ref() == Some(&span.low) || span.high.as_ref() == Some(&l.low)
        })
    }

    /// All segments in order: the least key, the least key above, who guards it.
    pub(super) fn each(&self, mut f: impl FnMut(&[u8], Option<&[u8]>, &Guard)) {
        for (low, s) in &self.map {
            s.guards.iter().for_each(|g| f(low, s.high.as_deref(), g));
        }
    }

    /// The guards of the segment that `key` is in.
    pub(super) fn at(&self, key: &[u8]) -> &[Guard] {
        match self
            .map
            .range::<[u8], _>((Unbounded, Included(key)))
            .next_back()
        {
            Some((_, s)) if below(key, s.high.as_deref()) => &s.guards,
            _ => &[],
        }
    }

    /// `owner` guards all of `span` already, the rows at least like that.
    pub(super) fn covers(&self, owner: TxnId, span: &Span, rows: Option<Mode>) -> bool {
        let mut at: &[u8] = &span.low;
        loop {
            let before = self
                .map
                .range::<[u8], _>((Unbounded, Included(at)))
                .next_back();
            let Some((_, s)) = before.filter(|(_, s)| below(at, s.high.as_deref())) else {
                return false;
            };
            if s.guard_of(owner).is_none_or(|g| g.rows < rows) {
                return false;
            }
            match (&s.high, &span.high) {
                (None, _) => return true,
                (Some(end), Some(high)) if end >= high => return true,
                (Some(end), _) => at = end,
            }
        }
    }

    /// `owner` guards `span` from now on.
    pub(super) fn add(&mut self, owner: TxnId, span: &Span, rows: Option<Mode>) {
        if span.is_empty() {
            return;
        }
        let own = self.owners.entry(owner).or_default();
        match own.last_mut() {
            Some(last) if last.high.as_ref() == Some(&span.low) => last.high.clone_from(&span.high),
            Some(last) if span.high.as_ref() == Some(&last.low) => last.low.clone_from(&span.low),
            _ => {
                own.push(span.clone());
                self.spans += 1;
            }
        }
        if self.grow(owner, span, rows) {
            return;
        }
        self.cut(&span.low);
        if let Some(high) = &span.high {
            self.cut(high);
        }
        let mut at = span.low.clone();
        while span.ends_above(&at) {
            let next = self
                .map
                .range_mut::<[u8], _>((Included(&*at), Unbounded))
                .next();
            let next = next.filter(|(low, _)| span.ends_above(low));
            let high = match next {
                Some((low, s)) if *low == at => {
                    self.bytes -= weight(low, s);
                    s.add(owner, rows);
                    self.bytes += weight(low, s);
                    s.high.clone()
                }
                next => {
                    let high = next.map(|(low, _)| low.clone()).or(span.high.clone());
                    let guards = SmallVec::from_slice(&[Guard { owner, rows }]);
                    let s = Segment {
                        high: high.clone(),
                        guards,
                    };
                    self.bytes += weight(&at, &s);
                    self.map.insert(at, s);
                    high
                }
            };
            match high {
                Some(high) => at = high,
                None => break,
            }
        }
        self.join(span);
    }

    /// The common case: a guard grows upwards over keys that nobody guards.
    fn grow(&mut self, owner: TxnId, span: &Span, rows: Option<Mode>) -> bool {
        let next = self
            .map
            .range::<[u8], _>((Included(&*span.low), Unbounded))
            .next();
        if next.is_some_and(|(low, _)| span.high.as_ref().is_none_or(|h| low <= h)) {
            return false;
        }
        let before = self
            .map
            .range_mut::<[u8], _>((Unbounded, Excluded(&*span.low)))
            .next_back();
        match before {
            Some((low, s))
                if s.high.as_ref() == Some(&span.low)
                    && s.guards[..] == [Guard { owner, rows }] =>
            {
                self.bytes -= weight(low, s);
                s.high.clone_from(&span.high);
                self.bytes += weight(low, s);
                true
            }
            _ => false,
        }
    }

    /// Cuts the segment that `key` is in, so that one begins with it.
    fn cut(&mut self, key: &[u8]) {
        let within = self
            .map
            .range_mut::<[u8], _>((Unbounded, Excluded(key)))
            .next_back();
        if let Some((low, s)) = within.filter(|(_, s)| below(key, s.high.as_deref())) {
            let upper = s.clone();
            self.bytes -= weight(low, s);
            s.high = Some(key.into());
            self.bytes += weight(low, s) + weight(key, &upper);
            self.map.insert(key.into(), upper);
        }
    }

    /// Makes one of neighbours with the same guards, in and around `span`.
    fn join(&mut self, span: &Span) {
        let before = self
            .map
            .range::<[u8], _>((Unbounded, Excluded(&*span.low)))
            .next_back();
        let mut at: Box<[u8]> = before.map_or(span.low.clone(), |(low, _)| low.clone());
        loop {
            let mut here = self.map.range::<[u8], _>((Included(&*at), Unbounded));
            let (Some((low, s)), Some((after, t))) = (here.next(), here.next()) else {
                return;
            };
            if span.high.as_ref().is_some_and(|h| after > h) {
                return;
            }
            if s.high.as_ref() == Some(after) && s.guards == t.guards {
                let (low, after, high) = (low.clone(), after.clone(), t.high.clone());
                self.bytes -= weight(&low, s) + weight(&after, t);
                self.map.remove(&after);
                if let Some(s) = self.map.get_mut(&low) {
                    s.high = high;
                    self.bytes += weight(&low, s);
                }
                at = low;
            } else {
                at = after.clone();
            }
        }
    }

    /// `owner` guards nothing here any more.
    pub(super) fn remove(&mut self, owner: TxnId) {
        let spans = self.owners.remove(&owner).unwrap_or_default();
        self.spans -= spans.len();
        // Each of its segments begins in one of its spans, and need not end there.
        for span in &spans {
            let mut at = span.low.clone();
            while let Some((low, s)) = self
                .map
                .range_mut::<[u8], _>((Included(&*at), Unbounded))
                .next()
                && span.ends_above(low)
            {
                self.bytes -= weight(low, s);
                s.guards.retain(|g| g.owner != owner);
                let (low, empty) = (low.clone(), s.guards.is_empty());
                match empty {
                    true => drop(self.map.remove(&low)),
                    false => self.bytes += weight(&low, s),
                }
                at = [&low[..], &[0]].concat().into();
            }
        }
        for span in &spans {
            self.join(span);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Beside a list that is searched linearly.

    use super::*;
    use proptest::prelude::*;

    fn key(n: u8) -> Box<[u8]> {
        match n % 3 {
            0 => [n / 3].into(),
            1 => [n / 3, 0].into(),
            _ => [n / 3, 7].into(),
        }
    }

    fn span() -> impl Strategy<Value = Span> {
        (0..24u8, 0..27u8).prop_map(|(low, high)| Span {
            low: key(low),
            high: (high < 24).then(|| key(high)),
        })
    }

    #[derive(Clone, Debug)]
    enum Op {
        Add(u64, Span, Option<Mode>),
        Remove(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        let rows = prop_oneof![
            Just(None),
            Just(Some(Mode::Shared)),
            Just(Some(Mode::Exclusive))
        ];
        prop_oneof![
            5 => (1..5u64, span(), rows).prop_map(|(t, s, r)| Op::Add(t, s, r)),
            1 => (1..5u64).prop_map(Op::Remove),
        ]
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn every_key_has_the_guards_that_a_list_gives(ops in prop::collection::vec(op(), 1..40)) {
            let mut segments = Segments::default();
            let mut list: Vec<(TxnId, Span, Option<Mode>)> = Vec::new();
            for op in ops {
                match op {
                    Op::Add(t, s, rows) => {
                        segments.add(TxnId(t), &s, rows);
                        list.push((TxnId(t), s, rows));
                    }
                    Op::Remove(t) => {
                        segments.remove(TxnId(t));
                        list.retain(|(o, ..)| *o != TxnId(t));
                    }
                }
                for k in (0..26).map(key) {
                    let mut there: Vec<Guard> = Vec::new();
                    for owner in (1..5).map(TxnId) {
                        let own = list.iter().filter(|(o, s, _)| *o == owner && s.has(&k));
                        if let Some(rows) = own.map(|(.., r)| *r).max() {
                            there.push(Guard { owner, rows });
                        }
                        for rows in [None, Some(Mode::Exclusive)] {
                            let has = there.iter().any(|g| g.owner == owner && g.rows >= rows);
                            prop_assert_eq!(segments.covers(owner, &Span::point(&k), rows), has);
                        }
                    }
                    prop_assert_eq!(segments.at(&k), &there[..]);
                }
                let weights = segments.map.iter().map(|(low, s)| weight(low, s));
                prop_assert_eq!(segments.bytes, weights.sum::<usize>());
                let spans: usize = segments.owners.values().map(Vec::len).sum();
                prop_assert_eq!(segments.spans, spans);
                // No two neighbours are alike, and none has no guard.
                let all: Vec<_> = segments.map.iter().collect();
                prop_assert!(all.iter().all(|(low, s)| !s.guards.is_empty() && below(low, s.high.as_deref())));
                let apart = all.windows(2).all(|w| {
                    let (s, (next, t)) = (w[0].1, w[1]);
                    let ends_below = s.high.as_ref().is_some_and(|h| h <= next);
                    ends_below && (s.high.as_ref() != Some(next) || s.guards != t.guards)
                });
                prop_assert!(apart);
            }
        }
    }

    #[test]
    fn a_guard_that_grows_is_one_segment() {
        let mut s = Segments::default();
        let mut from: Box<[u8]> = b"a".as_slice().into();
        for n in 0..1000u32 {
            let last = [b"a", &n.to_be_bytes()[..]].concat();
            let span = Span::through(&from, &last);
            s.add(TxnId(1), &span, Some(Mode::Exclusive));
            from = span.high.unwrap_or_default();
        }
        assert_eq!((s.map.len(), s.owners[&TxnId(1)].len()), (1, 1));
        s.remove(TxnId(1));
        assert!(s.map.is_empty());
    }

    #[test]
    fn what_others_guard_is_whole_again_when_an_owner_of_overlapping_spans_goes() {
        let mut s = Segments::default();
        s.add(
            TxnId(4),
            &Span::new(b"c", Some(b"f")),
            Some(Mode::Exclusive),
        );
        s.add(
            TxnId(4),
            &Span::new(b"a", Some(b"d")),
            Some(Mode::Exclusive),
        );
        s.add(TxnId(1), &Span::new(b"a", Some(b"g")), None);
        s.remove(TxnId(4));
        assert_eq!(s.map.len(), 1);
    }
}
