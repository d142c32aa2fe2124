//! Nodes against a sorted map: any sequence of edits leaves what the map holds, and any bytes at all can be searched.

use std::collections::BTreeMap;

use base::{Lsn, le};
use pager::PAGE_SIZE;
use pager::compressed::Cells;
use proptest::prelude::*;

use super::edit::{self, Patch, Shape};
use super::plan::{self, Entries, Newcomer};
use super::*;

fn empty(low: &[u8], high: &[u8]) -> Box<Bytes> {
    let mut b = Box::new([0; PAGE_SIZE]);
    let shape = Shape {
        level: 0,
        index_id: 7,
        low,
        high,
    };
    edit::image(&mut b, &shape, std::iter::empty()).unwrap();
    b
}

fn content(b: &Bytes) -> Vec<(Vec<u8>, Vec<u8>)> {
    let n = LeafNode::new(b);
    (0..n.count())
        .map(|i| {
            let e = n.entry(i).unwrap();
            ([n.prefix(), e.suffix].concat(), e.value.to_vec())
        })
        .collect()
}

#[derive(Clone, Debug)]
enum Op {
    Put(Vec<u8>, usize),
    Patch(Vec<u8>, usize, usize, usize),
    Remove(Vec<u8>),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(0u8..3, 0..7),
        (0u32..400).prop_map(|k| k.to_be_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (key(), 8usize..600).prop_map(|(k, v)| Op::Put(k, v)),
        2 => (key(), 0usize..40, 0usize..40, 0usize..300).prop_map(|(k, p, s, m)| Op::Patch(k, p, s, m)),
        1 => key().prop_map(Op::Remove),
    ]
}

/// A value with recognisable bytes.
fn value(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + seed) as u8).collect()
}

fn put(b: &mut Bytes, key: &[u8], v: &[u8], lsn: Lsn) -> edit::EditResult {
    let n = LeafNode::new(b);
    let (slot, found) = n.lower_bound(n.strip(key));
    let suffix = n.strip(key).to_vec();
    if !found {
        return edit::insert::<true>(b, slot, &suffix, v, Some((0, lsn)));
    }
    let whole = Patch {
        head: 0,
        prefix: 0,
        suffix: 0,
        bytes: v,
    };
    edit::replace(b, slot, &whole, Some((0, lsn)))
}

fn run(ops: &[Op], prefix: &[u8], low: &[u8], high: &[u8]) {
    let mut b = empty(low, high);
    let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for (i, op) in ops.iter().enumerate() {
        let lsn = Lsn(i as u64 * 977 + 1);
        match op {
            Op::Put(k, len) => {
                let k = [prefix, k].concat();
                let mut v = value(*len, i);
                if put(&mut b, &k, &v, lsn).is_ok() {
                    le::put_u64(&mut v, 0, lsn.0);
                    model.insert(k, v);
                }
            }
            Op::Patch(k, p, s, m) => {
                let k = [prefix, k].concat();
                let n = LeafNode::new(&b);
                let (slot, found) = n.lower_bound(n.strip(&k));
                assert_eq!(found, model.contains_key(&k));
                let Some(old) = model.get(&k) else { continue };
                let bytes = value(8 + m, i);
                let patch = Patch {
                    head: 8,
                    prefix: *p,
                    suffix: *s,
                    bytes: &bytes,
                };
                if edit::replace(&mut b, slot, &patch, None).is_ok() {
                    let new = [
                        &bytes[..8],
                        &old[8..8 + p],
                        &bytes[8..],
                        &old[old.len() - s..],
                    ]
                    .concat();
                    model.insert(k, new);
                }
            }
            Op::Remove(k) => {
                let k = [prefix, k].concat();
                let n = LeafNode::new(&b);
                let (slot, found) = n.lower_bound(n.strip(&k));
                assert_eq!(found, model.remove(&k).is_some());
                if found {
                    edit::remove(&mut b, slot).unwrap();
                }
            }
        }
        LeafNode::new(&b).check().unwrap();
    }
    let want: Vec<_> = model.into_iter().collect();
    assert_eq!(content(&b), want);
    cells_are_all_that_counts(&b, &want);
    split_and_merge(&b, &want);
}

/// A leaf of which only what is in front of the heap and the cells told of is kept, is still the same leaf.
fn cells_are_all_that_counts(b: &Bytes, want: &[(Vec<u8>, Vec<u8>)]) {
    let mut cells = Cells::new();
    let slots = super::cells(b, &mut cells).expect("a leaf");
    assert_eq!((slots.count, slots.each), (want.len(), SLOT));
    let mut kept: Box<Bytes> = Box::new([0; PAGE_SIZE]);
    let end = slots.at + slots.count * slots.each;
    kept[..end].copy_from_slice(&b[..end]);
    let mut again = Cells::new();
    assert_eq!(super::cells(&kept[..], &mut again), Some(slots));
    assert!(cells.iter().eq(again.iter()));
    for (at, len) in cells.iter() {
        kept[at..at + len].copy_from_slice(&b[at..at + len]);
    }
    LeafNode::new(&kept).check().unwrap();
    assert_eq!(content(&kept), want);
}

/// Splits the leaf for a key at each of a few places, checks both halves, merges them and checks that nothing changed.
fn split_and_merge(b: &Bytes, want: &[(Vec<u8>, Vec<u8>)]) {
    let n = LeafNode::new(b);
    for slot in [0, n.count() / 3, n.count()] {
        let suffix = if slot == 0 {
            n.strip(n.low()).to_vec()
        } else {
            [n.entry(slot - 1).unwrap().suffix, &[0]].concat()
        };
        let newcomer = Newcomer {
            suffix: Some(&suffix),
            in_order: slot > 0 && n.count().is_multiple_of(2),
            slot,
            need: 100,
        };
        if n.lower_bound(&suffix) != (slot, false) {
            continue;
        }
        let Some(split) = plan::split_leaf(&n, newcomer) else {
            assert!(n.count() <= 1);
            continue;
        };
        let mut right = Box::new([0; PAGE_SIZE]);
        let shape = Shape {
            level: 0,
            index_id: 7,
            low: &split.separator,
            high: n.high(),
        };
        let mut entries = Vec::new();
        let fences = (shape.low, shape.high);
        plan::write_entries(&n, split.at..n.count(), fences, true, &mut entries).unwrap();
        edit::image(&mut right, &shape, Entries(&entries)).unwrap();
        let mut left = Box::new(*b);
        edit::refence(&mut left, &split.separator, split.at, std::iter::empty()).unwrap();
        let (l, r) = (LeafNode::new(&left), LeafNode::new(&right));
        l.check().unwrap();
        r.check().unwrap();
        assert_eq!([content(&left), content(&right)].concat(), want);
        let all = 0..n.count();
        assert_eq!(
            plan::merged_size(&l, &r),
            plan::size_within(&n, all, n.low(), n.high())
        );
        entries.clear();
        plan::write_entries(&r, 0..r.count(), (n.low(), n.high()), false, &mut entries).unwrap();
        let keep = l.count();
        edit::refence(&mut left, n.high(), keep, Entries(&entries)).unwrap();
        assert_eq!(content(&left), want);
        LeafNode::new(&left).check().unwrap();
    }
}

/// Miri is some thousand times slower.
const CASES: u32 = if cfg!(miri) { 2 } else { 96 };
const OPS: usize = if cfg!(miri) { 12 } else { 250 };

proptest! {
    #![proptest_config(base::seeded!(CASES))]

    #[test]
    fn edits_match_a_map(ops in prop::collection::vec(op(), 1..OPS)) {
        run(&ops, b"", b"", b"");
        run(&ops, b"tenant 17/", b"tenant 17", b"tenant 18");
    }

    #[test]
    fn any_bytes_can_be_searched(seed in any::<u64>(), count in any::<u16>(), probe in key()) {
        let mut b = Box::new([0u8; PAGE_SIZE]);
        let mut rng = base::SplitMix64::new(seed);
        for byte in b.iter_mut() {
            *byte = rng.next() as u8;
        }
        le::put_u16(&mut b[..], COUNT_AT, count);
        let (leaf, inner) = (LeafNode::new(&b), InnerNode::new(&b));
        let (slot, _) = leaf.lower_bound(leaf.strip(&probe));
        let _ = (leaf.entry(slot), leaf.value(slot), leaf.check(), leaf.free_bytes());
        let _ = (inner.child(inner.child_slot(&probe)), inner.check());
        let _ = inner.child(inner.child_slot_below(Some(&probe)));
        let _ = (view::covers(&b, &probe), view::covers_below(&b, Some(&probe)));
        let _ = inner.child_low(slot).is_some() | inner.child_high(slot).is_some();
    }

    #[test]
    fn inner_nodes_find_their_children(mut seps in prop::collection::btree_set(key(), 1..OPS / 2), probe in key()) {
        seps.remove(&vec![]);
        let mut b = Box::new([0u8; PAGE_SIZE]);
        let shape = Shape { level: 1, index_id: 7, low: b"", high: b"" };
        edit::image(&mut b, &shape, std::iter::empty()).unwrap();
        edit::insert::<false>(&mut b, 0, b"", &100u32.to_le_bytes(), None).unwrap();
        let seps: Vec<_> = seps.into_iter().collect();
        for (i, s) in seps.iter().enumerate() {
            edit::insert::<false>(&mut b, i + 1, s, &(101 + i as u32).to_le_bytes(), None).unwrap();
        }
        let n = InnerNode::new(&b);
        n.check().unwrap();
        for p in seps.iter().chain([&probe]) {
            let at = seps.iter().filter(|s| *s <= p).count();
            prop_assert_eq!(n.child(n.child_slot(p)).0 as usize, 100 + at);
            let below = seps.iter().filter(|s| *s < p).count();
            prop_assert_eq!(n.child(n.child_slot_below(Some(p))).0 as usize, 100 + below);
        }
        if let Some(split) = plan::split_inner(&n, seps.len() / 2) {
            let mut entries = Vec::new();
            let right = Shape { low: &split.separator, ..shape };
            plan::write_entries(&n, split.at..n.count(), (right.low, b""), true, &mut entries).unwrap();
            let mut r = Box::new([0u8; PAGE_SIZE]);
            edit::image(&mut r, &right, Entries(&entries)).unwrap();
            let mut l = b.clone();
            edit::refence(&mut l, &split.separator, split.at, std::iter::empty()).unwrap();
            InnerNode::new(&l).check().unwrap();
            InnerNode::new(&r).check().unwrap();
            let moved = InnerNode::new(&r).count();
            prop_assert_eq!(InnerNode::new(&l).count() + moved, n.count());
            entries.clear();
            plan::write_entries(&InnerNode::new(&r), 0..moved, (b"", b""), false, &mut entries).unwrap();
            edit::refence(&mut l, b"", split.at, Entries(&entries)).unwrap();
            let l = InnerNode::new(&l);
            l.check().unwrap();
            for i in 0..n.count() {
                prop_assert_eq!(l.entry(i), n.entry(i));
            }
        }
    }
}

#[test]
fn a_load_in_key_order_splits_behind_its_last_key() {
    let mut b = empty(b"", b"");
    let mut i = 0u32;
    while put(&mut b, &i.to_be_bytes(), &value(180, 0), Lsn(1)).is_ok() {
        i += 1;
    }
    let n = LeafNode::new(&b);
    let k = i.to_be_bytes();
    let new = Newcomer {
        suffix: Some(n.strip(&k)),
        in_order: false,
        slot: n.count(),
        need: 194,
    };
    let split = plan::split_leaf(&n, new).unwrap();
    assert_eq!(split.at, n.count());
    assert!(n.used_bytes() * 100 / BODY > 97);
}

/// What the fuzzer found: headers that only damage can give.
#[test]
fn edits_refuse_a_damaged_header() {
    let mut sound = empty(b"", b"");
    put(&mut sound, b"a", &value(9, 0), Lsn(1)).unwrap();
    put(&mut sound, b"b", &value(9, 1), Lsn(1)).unwrap();
    let patch = Patch {
        head: 0,
        prefix: 0,
        suffix: 0,
        bytes: b"x",
    };
    for (at, damage) in [
        (COUNT_AT, MAX_SLOTS as u16),
        (COUNT_AT, u16::MAX),
        (HEAP_AT, u16::MAX),
        (HEAP_AT, 0),
        (LOW_LEN_AT, u16::MAX),
        (HIGH_LEN_AT, PAGE_SIZE as u16 - 120),
    ] {
        let mut b = sound.clone();
        le::put_u16(&mut b[..], at, damage);
        let before = b.clone();
        edit::insert::<true>(&mut b, 1, b"aa", b"v", None).unwrap_err();
        edit::remove(&mut b, 0).unwrap_err();
        edit::replace(&mut b, 0, &patch, None).unwrap_err();
        assert!(b == before, "{damage} at {at}");
        let n = LeafNode::new(&b);
        let _ = plan::merged_size(&n, &n);
    }
    let mut b = sound.clone();
    b[SCORE_AT] = u8::MAX;
    put(&mut b, b"c", &value(9, 2), Lsn(1)).unwrap();
    assert_eq!(LeafNode::new(&b).insert_score(), edit::SCORE_MAX);
}

/// What the fuzzer found: two cells of the right length in all, one over the other.
#[test]
fn cells_over_each_other_are_found() {
    let mut b = empty(b"", b"");
    for key in [b"a", b"b", b"c"] {
        put(&mut b, key, &value(9, 0), Lsn(1)).unwrap();
    }
    let n = LeafNode::new(&b);
    n.check().unwrap();
    let (first, _) = n.cell(0).unwrap();
    let slot = b
        .chunks_exact(2)
        .position(|two| two == (first as u16).to_le_bytes())
        .unwrap();
    // The first cell's place lies within the second's now.
    le::put_u16(&mut b[..], slot * 2, first as u16 - 5);
    assert!(LeafNode::new(&b).check().is_err());
}

/// What the fuzzer found: a value that lies over the header is not written to.
#[test]
fn a_cell_outside_the_heap_is_not_replaced() {
    let mut b = empty(b"", b"");
    put(&mut b, b"a", &value(9, 0), Lsn(1)).unwrap();
    let (cell, len) = LeafNode::new(&b).cell(0).unwrap();
    let slot = b
        .chunks_exact(2)
        .rposition(|two| two == (cell as u16).to_le_bytes())
        .unwrap();
    le::put_u16(&mut b[..], slot * 2, 32);
    assert_eq!(LeafNode::new(&b).cell(0), Some((32, len)));
    let before = b.clone();
    let patch = Patch {
        head: 0,
        prefix: 0,
        suffix: 0,
        bytes: b"x",
    };
    edit::replace(&mut b, 0, &patch, None).unwrap_err();
    assert!(b == before);
}

/// What the fuzzer found: an entry without bytes has the place of another, which is given back.
#[test]
fn an_entry_without_bytes_is_in_nobodys_way() {
    let mut b = empty(b"", b"");
    edit::insert::<true>(&mut b, 0, b"a", b"some value", None).unwrap();
    edit::insert::<true>(&mut b, 0, b"", b"", None).unwrap();
    LeafNode::new(&b).check().unwrap();
    edit::remove(&mut b, 1).unwrap();
    let n = LeafNode::new(&b);
    n.check().unwrap();
    assert_eq!((n.count(), n.value(0)), (1, Some(&b""[..])));
}

/// What the fuzzer found: the head ended behind the page, where nothing was kept from.
#[test]
fn a_head_longer_than_the_old_value_replaces_it() {
    let mut b = empty(b"", b"");
    edit::insert::<true>(&mut b, 0, b"a", b"v", None).unwrap();
    let patch = Patch {
        head: 9,
        prefix: 0,
        suffix: 0,
        bytes: b"long head",
    };
    edit::replace(&mut b, 0, &patch, None).unwrap();
    assert_eq!(LeafNode::new(&b).value(0), Some(&b"long head"[..]));
    LeafNode::new(&b).check().unwrap();
}

#[test]
fn nodes_with_entries_that_cannot_be_read_are_not_merged() {
    let mut b = empty(b"", b"");
    put(&mut b, b"a", &value(9, 0), Lsn(1)).unwrap();
    le::put_u16(&mut b[..], FENCES_AT + 8, u16::MAX);
    let n = LeafNode::new(&b);
    assert_eq!(n.entry(0), None);
    assert_eq!(plan::merged_size(&n, &n), usize::MAX);
}

#[test]
fn a_child_behind_the_page_is_refused() {
    let mut b = empty(b"a", b"b");
    // As a damaged page may say.
    le::put_u16(&mut b[..], COUNT_AT, u16::MAX);
    assert!(edit::set_child(&mut b, 60_000, 7).is_err());
    assert!(edit::set_child(&mut b, 3, 7).is_ok());
}
