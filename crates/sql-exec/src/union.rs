//! The union of key ranges: what several ranges of one index hold, as ranges in key order that hold no key twice.

use std::cmp::Ordering;

use engine::KeyBound;

/// A range of an index.
pub(crate) type KeyRange = (KeyBound, KeyBound);

/// A place between the keys of an index.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// Before all keys.
    First,
    /// Before the keys that start with the prefix; with `true` behind them.
    At(&'a [u8], bool),
    /// Behind all keys.
    Last,
}

impl Place<'_> {
    fn lower(bound: &KeyBound) -> Place<'_> {
        match bound {
            KeyBound::None => Place::First,
            KeyBound::Included(p) => Place::At(p, false),
            KeyBound::Excluded(p) => Place::At(p, true),
        }
    }

    fn upper(bound: &KeyBound) -> Place<'_> {
        match bound {
            KeyBound::None => Place::Last,
            KeyBound::Included(p) => Place::At(p, true),
            KeyBound::Excluded(p) => Place::At(p, false),
        }
    }

    fn against(self, other: Place<'_>) -> Ordering {
        match (self, other) {
            (Place::First, Place::First) | (Place::Last, Place::Last) => Ordering::Equal,
            (Place::First, _) | (_, Place::Last) => Ordering::Less,
            (Place::Last, _) | (_, Place::First) => Ordering::Greater,
            (Place::At(a, a_behind), Place::At(b, b_behind)) => {
                let common = a.len().min(b.len());
                // The keys of the longer prefix are among those of the shorter: only the shorter one's side counts.
                a[..common]
                    .cmp(&b[..common])
                    .then_with(|| match a.len().cmp(&b.len()) {
                        Ordering::Equal => a_behind.cmp(&b_behind),
                        Ordering::Less if a_behind => Ordering::Greater,
                        Ordering::Less => Ordering::Less,
                        Ordering::Greater if b_behind => Ordering::Less,
                        Ordering::Greater => Ordering::Greater,
                    })
            }
        }
    }
}

/// Ranges in ascending order, none touching another, that hold the keys which any of `ranges` holds.
pub(crate) fn union(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.retain(|(low, high)| Place::lower(low).against(Place::upper(high)).is_lt());
    ranges.sort_unstable_by(|a, b| Place::lower(&a.0).against(Place::lower(&b.0)));
    let mut out: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match out.last_mut() {
            Some(last) if Place::lower(&low).against(Place::upper(&last.1)).is_le() => {
                if Place::upper(&last.1).against(Place::upper(&high)).is_lt() {
                    last.1 = high;
                }
            }
            _ => out.push((low, high)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All keys of up to `len` bytes over a few bytes.
    fn keys(len: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..len {
            let to = all.len();
            for i in from..to {
                for b in [0, 7, 255] {
                    let mut k = all[i].clone();
                    k.push(b);
                    all.push(k);
                }
            }
            from = to;
        }
        all
    }

    fn holds((low, high): &KeyRange, key: &[u8]) -> bool {
        let above = match low {
            KeyBound::None => true,
            KeyBound::Included(p) => key >= &p[..],
            KeyBound::Excluded(p) => key > &p[..] && !key.starts_with(p),
        };
        let below = match high {
            KeyBound::None => true,
            KeyBound::Included(p) => key < &p[..] || key.starts_with(p),
            KeyBound::Excluded(p) => key < &p[..],
        };
        above && below
    }

    #[test]
    fn holds_the_same_keys_once() {
        let mut seed = 5u64;
        let mut below = |n: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % n
        };
        // Keys are longer than prefixes, so that every range that is not empty holds one.
        let (prefixes, all) = (keys(2), keys(4));
        let mut order: Vec<&Vec<u8>> = all.iter().collect();
        order.sort();
        for _ in 0..2000 {
            let mut bound = || {
                let p = prefixes[below(prefixes.len())].clone();
                match below(8) {
                    0 => KeyBound::None,
                    1..=4 => KeyBound::Included(p),
                    _ => KeyBound::Excluded(p),
                }
            };
            let ranges: Vec<KeyRange> = (0..5).map(|_| (bound(), bound())).collect();
            let merged = union(ranges.clone());
            let expected: Vec<&Vec<u8>> = order
                .iter()
                .copied()
                .filter(|k| ranges.iter().any(|r| holds(r, k)))
                .collect();
            let found: Vec<&Vec<u8>> = merged
                .iter()
                .flat_map(|r| order.iter().copied().filter(|k| holds(r, k)))
                .collect();
            assert_eq!(found, expected, "{ranges:?} became {merged:?}");
        }
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let key = |b: u8| vec![b];
        let merged = union(vec![
            (KeyBound::Excluded(key(5)), KeyBound::Included(key(9))),
            (KeyBound::Included(key(7)), KeyBound::Included(key(8))),
            (KeyBound::Included(key(2)), KeyBound::Included(key(5))),
            (KeyBound::Included(key(4)), KeyBound::Included(key(3))),
        ]);
        assert_eq!(merged.len(), 1, "{merged:?}");
        assert!(matches!(&merged[0].0, KeyBound::Included(k) if *k == key(2)));
        assert!(matches!(&merged[0].1, KeyBound::Included(k) if *k == key(9)));
    }
}
