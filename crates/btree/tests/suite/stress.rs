//! Several threads at one tree: each owns the keys of its residue class and knows what they must hold; all scan over
//! everything, while one packs the tree and moves its pages to the front. Afterwards the tree is sound and holds exactly what its owners say.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bed::{Bed, seeded, wait};
use base::PageNo;
use btree::{Action, Change, Direction, ScanPos, ScanState, VerifyCursor, Visit};

const THREADS: u64 = 4;

fn key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

fn owner_of(k: &[u8]) -> u64 {
    u64::from_be_bytes(k.try_into().expect("eight bytes")) % THREADS
}

/// Inserts, patches, removes and reads its own keys; `wave` makes the population grow and shrink.
fn work(bed: &Bed, me: u64, steps: u64, keys: u64) -> BTreeMap<u64, Vec<u8>> {
    let mut dice = seeded(me + 1);
    let mut mine = BTreeMap::new();
    let mut change = Change::default();
    for step in 0..steps {
        let n = dice.below(keys) * THREADS + me;
        let growing = (step * 6 / steps).is_multiple_of(2);
        let roll = dice.below(10);
        if roll < if growing { 6 } else { 1 } {
            let v = vec![step as u8; 8 + dice.below(400) as usize];
            bed.modify(&key(n), &mut change, |found, c| {
                assert_eq!(found.value(), mine.get(&n).map(Vec::as_slice));
                c.value.extend_from_slice(&v);
                Action::Put
            });
            mine.insert(n, v);
        } else if roll < 8 {
            let was = mine.remove(&n);
            bed.modify(&key(n), &mut change, |found, _| {
                assert_eq!(found.value(), was.as_deref());
                if was.is_some() {
                    Action::Remove
                } else {
                    Action::Keep
                }
            });
        } else {
            let got = wait(bed, || bed.tree.get(&key(n), |v| v.map(<[u8]>::to_vec)));
            assert_eq!(got.as_ref(), mine.get(&n));
        }
        if step % 2000 == 0 {
            sweep(bed, me, &mine, step % 4000 == 0);
        }
    }
    mine
}

/// A scan over everything is in order and sees this thread's own entries as they are.
fn sweep(bed: &Bed, me: u64, mine: &BTreeMap<u64, Vec<u8>>, forward: bool) {
    let direction = if forward {
        Direction::Forward
    } else {
        Direction::Backward
    };
    let mut pos = ScanPos::start();
    let mut seen = Vec::new();
    let mut before: Option<Vec<u8>> = None;
    loop {
        let state = wait(bed, || {
            bed.tree.scan(&mut pos, direction, |k, v| {
                if let Some(b) = &before {
                    assert!(if forward {
                        b.as_slice() < k
                    } else {
                        b.as_slice() > k
                    });
                }
                before = Some(k.to_vec());
                if owner_of(k) == me {
                    seen.push((
                        u64::from_be_bytes(k.try_into().expect("eight bytes")),
                        v.to_vec(),
                    ));
                }
                Visit::Next
            })
        });
        if state == ScanState::End {
            break;
        }
    }
    if !forward {
        seen.reverse();
    }
    assert!(seen.iter().map(|(k, v)| (k, v)).eq(mine.iter()));
}

/// Answers how many pages the tree has in the end.
fn run(frames: usize, steps: u64, keys: u64) -> usize {
    let bed = Arc::new(Bed::new(frames));
    let stop = Arc::new(AtomicBool::new(false));
    let checker = std::thread::spawn({
        let (bed, stop) = (bed.clone(), stop.clone());
        move || {
            while !stop.load(Ordering::Acquire) {
                let mut cursor = VerifyCursor::new();
                while wait(&bed, || bed.tree.verify(&mut cursor, |_, _| {})) {}
            }
        }
    });
    let packer = std::thread::spawn({
        let (bed, stop) = (bed.clone(), stop.clone());
        move || {
            let mut dice = seeded(99);
            while !stop.load(Ordering::Acquire) {
                bed.pack(8000 + dice.below(8000) as usize);
                bed.relocate(PageNo(bed.used_pages() as u32 + 2));
            }
        }
    });
    let workers: Vec<_> = (0..THREADS)
        .map(|me| {
            let bed = bed.clone();
            std::thread::spawn(move || work(&bed, me, steps, keys))
        })
        .collect();
    let mut all = BTreeMap::new();
    for w in workers {
        all.extend(w.join().expect("no worker panics"));
    }
    stop.store(true, Ordering::Release);
    checker.join().expect("the checker found no fault");
    packer.join().expect("the packer found no fault");
    let mut cursor = VerifyCursor::new();
    let mut held = Vec::new();
    while wait(&bed, || {
        bed.tree
            .verify(&mut cursor, |k, v| held.push((k.to_vec(), v.to_vec())))
    }) {}
    let want: Vec<_> = all.into_iter().map(|(k, v)| (key(k).to_vec(), v)).collect();
    assert!(held == want);
    assert_eq!(cursor.reached_twice(), None);
    assert_eq!(bed.used_pages(), cursor.pages.len());
    cursor.pages.len()
}

#[test]
fn many_threads_on_few_pages() {
    run(4096, 30_000, 300);
}

#[test]
fn many_threads_on_many_pages() {
    run(8192, 30_000, 20_000);
}

#[test]
fn many_threads_on_more_pages_than_fit() {
    assert!(run(200, 30_000, 20_000) > 200);
}
