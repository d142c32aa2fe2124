//! A tree against a sorted map: whatever is done one after the other, the tree answers as the map does, stays sound by
//! its own check, and gives its pages back.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::bed::{Bed, wait};
use base::PageNo;
use btree::{Action, Change, Direction, ScanPos, ScanState, VerifyCursor, Visit};
use proptest::prelude::*;

pub(crate) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone, Debug)]
enum Op {
    Put(Vec<u8>, usize),
    Patch(Vec<u8>, usize),
    Remove(Vec<u8>),
    RemoveRange(Vec<u8>, usize),
    Get(Vec<u8>),
    Scan(Vec<u8>, bool, usize, Vec<u8>),
    Fill(Vec<u8>, u16, usize, bool),
    Run(Vec<u8>, u16, u16, usize, usize),
    Pack(usize),
    Relocate(u32),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => (0u16..2000).prop_map(|k| k.to_be_bytes().to_vec()),
        2 => prop::collection::vec(0u8..3, 0..9),
        1 => prop::collection::vec(any::<u8>(), 0..60),
        1 => (0u8..4, 200usize..1200).prop_map(|(b, n)| [vec![7; n], vec![b]].concat()),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (key(), 8usize..1500).prop_map(|(k, n)| Op::Put(k, n)),
        2 => (key(), 0usize..600).prop_map(|(k, n)| Op::Patch(k, n)),
        2 => key().prop_map(Op::Remove),
        2 => (key(), 1usize..400).prop_map(|(k, n)| Op::RemoveRange(k, n)),
        1 => key().prop_map(Op::Get),
        1 => (key(), any::<bool>(), 0usize..200, key()).prop_map(|(k, b, n, to)| Op::Scan(k, b, n, to)),
        2 => (key(), 1u16..300, 8usize..300, any::<bool>()).prop_map(|(k, c, n, up)| Op::Fill(k, c, n, up)),
        2 => (key(), 1u16..600, 1u16..40, 8usize..300, 0usize..3000)
            .prop_map(|(k, c, step, n, spare)| Op::Run(k, c, step, n, spare)),
        1 => (8000usize..16_000).prop_map(Op::Pack),
        1 => (1u32..200).prop_map(Op::Relocate),
    ]
}

fn value(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 13 + seed) as u8).collect()
}

fn put(bed: &Bed, map: &mut Map, key: &[u8], mut v: Vec<u8>, change: &mut Change) {
    let done = bed
        .modify(key, change, |_, c| {
            c.value.extend_from_slice(&v);
            c.stamp = Some(0);
            Action::Put
        })
        .expect("a put is logged");
    v[..8].copy_from_slice(&done.start.0.to_le_bytes());
    map.insert(key.to_vec(), v);
}

fn patch(bed: &Bed, map: &mut Map, key: &[u8], middle: &[u8], change: &mut Change) {
    let mut new = None;
    let done = bed.modify(key, change, |found, c| {
        assert_eq!(found.value(), map.get(key).map(Vec::as_slice));
        let Some(old) = found.value() else {
            return Action::Keep;
        };
        let rest = old.len() - 8;
        let (prefix, suffix) = (rest / 3, rest / 4);
        c.value.extend_from_slice(&[9; 8]);
        c.value.extend_from_slice(middle);
        c.stamp = Some(0);
        new = Some(
            [
                &[9; 8],
                &old[8..8 + prefix],
                middle,
                &old[old.len() - suffix..],
            ]
            .concat(),
        );
        Action::Patch {
            head: 8,
            prefix: prefix as u16,
            suffix: suffix as u16,
        }
    });
    if let Some(mut new) = new {
        new[..8].copy_from_slice(&done.expect("logged").start.0.to_le_bytes());
        map.insert(key.to_vec(), new);
    }
}

fn remove(bed: &Bed, map: &mut Map, key: &[u8], change: &mut Change) {
    let was = map.remove(key).is_some();
    let done = bed.modify(key, change, |found, _| {
        assert_eq!(found.value().is_some(), was);
        if was { Action::Remove } else { Action::Keep }
    });
    assert_eq!(done.is_some(), was);
}

/// Entries from `from` on in a direction, up to an end, read in pieces of `stop` entries, alternating the two ways to stop.
fn scan(
    bed: &Bed,
    mut pos: ScanPos,
    (direction, end): (Direction, Option<&[u8]>),
    stop: usize,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut out: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let (mut before, mut refused) = (false, false);
    loop {
        let mut taken = 0;
        let mut edge_told = None;
        let state = wait(bed, || {
            let visit = |k: &[u8], v: &[u8]| {
                if taken == stop && before {
                    return Visit::StopBefore;
                }
                taken += 1;
                out.push((k.to_vec(), v.to_vec()));
                if taken == stop && !before {
                    return Visit::Stop;
                }
                Visit::Next
            };
            let edge = |key: Option<&[u8]>| {
                edge_told = Some(key.map(<[u8]>::to_vec));
                // Every other one says no at first.
                refused = !refused;
                !refused
            };
            bed.tree.scan_range(&mut pos, (direction, end), visit, edge)
        });
        before = !before;
        if let (Some(Some(key)), Some(end)) = (&edge_told, end) {
            let within = match direction {
                Direction::Forward => key[..] < *end,
                Direction::Backward => key[..] > *end,
            };
            assert!(within, "the range ends before the leaf does");
        }
        if state == ScanState::End {
            assert!(edge_told.is_none_or(|key| key.is_none()));
            return out;
        }
    }
}

pub(crate) fn check(bed: &Bed, map: &Map) {
    let mut cursor = VerifyCursor::new();
    let mut all = Vec::new();
    while wait(bed, || {
        bed.tree
            .verify(&mut cursor, |k, v| all.push((k.to_vec(), v.to_vec())))
    }) {}
    assert_eq!(all.len(), map.len());
    assert!(all.iter().map(|(k, v)| (k, v)).eq(map.iter()));
    assert_eq!(cursor.reached_twice(), None);
    assert_eq!(bed.used_pages(), cursor.pages.len(), "pages leaked");
}

fn step(bed: &Bed, map: &mut Map, n: usize, op: &Op, change: &mut Change) {
    match op {
        Op::Put(k, len) => put(bed, map, k, value(*len, n), change),
        Op::Patch(k, len) => {
            if let ControlFlow::Continue(k) = nearest(map, k) {
                patch(bed, map, &k, &value(*len, n), change);
            }
        }
        Op::Remove(k) => remove(bed, map, k, change),
        Op::RemoveRange(k, count) => {
            let keys: Vec<_> = map
                .range(k.clone()..)
                .take(*count)
                .map(|e| e.0.clone())
                .collect();
            for k in keys {
                remove(bed, map, &k, change);
            }
        }
        Op::Get(k) => {
            let got = wait(bed, || bed.tree.get(k, |v| v.map(<[u8]>::to_vec)));
            assert_eq!(got.as_ref(), map.get(k));
        }
        Op::Scan(k, past, stop, to) => {
            let pos = || {
                if *past {
                    ScanPos::past(k)
                } else {
                    ScanPos::at(k)
                }
            };
            let mut up: Vec<_> = map
                .range(k.clone()..)
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            let mut down: Vec<_> = map
                .range(..=k.clone())
                .rev()
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            if *past && map.contains_key(k) {
                up.remove(0);
                down.remove(0);
            }
            let (forward, backward) = (Direction::Forward, Direction::Backward);
            let whole = |direction| scan(bed, pos(), (direction, None), *stop + 1);
            assert_eq!(whole(forward), up);
            assert_eq!(whole(backward), down);
            // A key that may be in the tree or not, on either side of where the scan begins.
            let ends = |direction| scan(bed, pos(), (direction, Some(to)), *stop + 1);
            up.retain(|(k, _)| k < to);
            down.retain(|(k, _)| k >= to);
            assert_eq!(ends(forward), up);
            assert_eq!(ends(backward), down);
        }
        Op::Fill(k, count, len, up) => {
            for i in 0..*count {
                let i = if *up { i } else { count - i };
                let k = [k, &i.to_be_bytes()[..]].concat();
                put(bed, map, &k, value(*len, n), change);
            }
        }
        Op::Pack(fill) => {
            let before = bed.used_pages();
            let saved = bed.pack(*fill);
            assert!(bed.used_pages() as u64 + saved <= before as u64);
            check(bed, map);
        }
        Op::Relocate(limit) => {
            let (before, moved) = (bed.live_pages(), bed.relocate(PageNo(*limit)));
            let after = bed.live_pages();
            assert_eq!(before.len(), after.len());
            assert!(
                moved == 0
                    || after.iter().map(|p| u64::from(p.0)).sum::<u64>()
                        < before.iter().map(|p| u64::from(p.0)).sum::<u64>()
            );
            check(bed, map);
        }
        Op::Run(k, count, step, len, spare) => {
            let key = |i: &u16| [k, &(i * step).to_be_bytes()[..]].concat();
            let run: Vec<_> = (0..*count)
                .filter(|i| i.checked_mul(*step).is_some())
                .map(|i| (key(&i), value(*len, n)))
                .collect();
            fill(bed, &run, *spare);
            for (k, v) in run {
                map.entry(k).or_insert(v);
            }
        }
    }
}

fn fill(bed: &Bed, run: &[(Vec<u8>, Vec<u8>)], spare: usize) {
    let mut at = 0;
    while at < run.len() {
        let entry = |i: usize| run.get(at + i).map(|(k, v)| (&k[..], &v[..]));
        let n = wait(bed, || bed.tree.insert_run(entry, spare));
        assert!(n > 0, "a run goes on");
        at += n;
    }
}

/// A build of sorted entries leaves full leaves, each written once and cut once.
#[test]
fn a_run_fills_leaves_one_after_the_other() {
    let bed = Bed::new(4096);
    let run: Vec<_> = (0..40_000u32)
        .map(|i| ((3 * i).to_be_bytes().to_vec(), vec![i as u8; 10]))
        .collect();
    fill(&bed, &run, 1000);
    let map: Map = run.iter().cloned().collect();
    check(&bed, &map);
    let bytes: usize = run.iter().map(|(k, v)| k.len() + v.len() + 10).sum();
    let leaves = bed.live_pages().len();
    assert!(leaves * 14_000 < bytes, "{leaves} pages for {bytes} bytes");
    // What lies between goes in as well, and what is there stays.
    let between: Vec<_> = (0..40_000u32)
        .map(|i| ((3 * i + i % 2).to_be_bytes().to_vec(), vec![7; 12]))
        .collect();
    fill(&bed, &between, 0);
    let mut map = map;
    for (k, v) in between {
        map.entry(k).or_insert(v);
    }
    check(&bed, &map);
}

/// A key of the map at or above `k`.
fn nearest(map: &Map, k: &[u8]) -> ControlFlow<(), Vec<u8>> {
    match map.range(k.to_vec()..).next() {
        Some((k, _)) => ControlFlow::Continue(k.clone()),
        None => ControlFlow::Break(()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 400, ..base::seeded!(40) })]

    #[test]
    fn the_tree_is_a_sorted_map(ops in prop::collection::vec(op(), 1..60)) {
        let bed = Bed::new(4096);
        let mut map = Map::new();
        let mut change = Change::default();
        for (n, op) in ops.iter().enumerate() {
            step(&bed, &mut map, n, op, &mut change);
        }
        check(&bed, &map);
        let all: Vec<_> = map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        prop_assert_eq!(&scan(&bed, ScanPos::start(), (Direction::Forward, None), usize::MAX), &all);
        let back: Vec<_> = all.iter().rev().cloned().collect();
        prop_assert_eq!(scan(&bed, ScanPos::start(), (Direction::Backward, None), 7), back);
        let mut keys: Vec<_> = map.keys().cloned().collect();
        if ops.len() % 2 == 0 {
            keys.reverse();
        }
        for k in keys {
            remove(&bed, &mut map, &k, &mut change);
        }
        check(&bed, &map);
        prop_assert_eq!(bed.used_pages(), 1, "an empty tree is its root alone");
    }
}

#[test]
fn a_load_in_key_order_fills_its_pages() {
    let bed = Bed::new(4096);
    let mut map = Map::new();
    let mut change = Change::default();
    for i in 0..60_000u32 {
        let v = value(100, i as usize);
        bed.modify(&i.to_be_bytes(), &mut change, |_, c| {
            c.value.extend_from_slice(&v);
            Action::Put
        });
        map.insert(i.to_be_bytes().to_vec(), v);
    }
    check(&bed, &map);
    let mut cursor = VerifyCursor::new();
    while wait(&bed, || bed.tree.verify(&mut cursor, |_, _| {})) {}
    let leaves = cursor.pages.iter().filter(|p| p.1 == 0).count() as u64;
    let fill = cursor.leaf_bytes * 100 / (leaves * 16384);
    assert!(fill >= 94, "leaves are {fill} % full");
}

#[test]
fn long_keys_and_values_at_the_limits() {
    let bed = Bed::new(4096);
    let mut map = Map::new();
    let mut change = Change::default();
    for (len, value_len) in [
        (btree::MAX_KEY, btree::max_value(btree::MAX_KEY)),
        (2700, btree::max_value(2700)),
    ] {
        for i in 0..200u32 {
            // Neighbours that differ in their last bytes only make separators as long as keys.
            let lead = (i / 2 * 7919 % 100) as u8;
            let mut k = vec![lead; len];
            k[len - 1] = (i % 2) as u8;
            put(
                &bed,
                &mut map,
                &k,
                value(value_len.max(8), i as usize),
                &mut change,
            );
        }
        check(&bed, &map);
        let keys: Vec<_> = map.keys().cloned().collect();
        for k in keys {
            remove(&bed, &mut map, &k, &mut change);
        }
        check(&bed, &map);
        assert_eq!(bed.used_pages(), 1);
    }
}

#[test]
fn a_destroyed_tree_leaves_its_root() {
    let bed = Bed::new(4096);
    let mut map = Map::new();
    let mut change = Change::default();
    for i in 0..3000u32 {
        let k = i.wrapping_mul(2_654_435_761).to_be_bytes();
        put(&bed, &mut map, &k, value(900, i as usize), &mut change);
    }
    assert!(bed.used_pages() > 200);
    while wait(&bed, || bed.tree.destroy_step()) {}
    assert_eq!(bed.used_pages(), 1);
}
