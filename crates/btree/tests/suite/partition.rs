//! Where a tree is cut for several readers.

use crate::bed::{Bed, wait};

fn filled(entries: u32, value: usize) -> Bed {
    let bed = Bed::new(4096);
    let value = vec![b'x'; value];
    let all: Vec<[u8; 4]> = (0..entries).map(u32::to_be_bytes).collect();
    let mut at = 0;
    while at < all.len() {
        let entry = |n: usize| all.get(at + n).map(|k| (&k[..], &value[..]));
        at += wait(&bed, || bed.tree.insert_run(entry, 0));
    }
    bed
}

#[test]
fn cuts_are_spread_evenly() {
    // Some 750 leaves under one root.
    let bed = filled(60_000, 190);
    for wanted in [1, 7, 700] {
        let cuts = wait(&bed, || bed.tree.partition_keys(wanted));
        assert!(cuts.len() >= wanted, "{} of {wanted}", cuts.len());
        assert!(cuts.is_sorted());
        let number = |k: &Vec<u8>| {
            let mut whole = [0; 4];
            whole[..k.len()].copy_from_slice(k);
            u32::from_be_bytes(whole)
        };
        let numbers: Vec<u32> = cuts.iter().map(number).collect();
        let widest = numbers.windows(2).map(|w| w[1] - w[0]).max();
        let even = 60_000 / (numbers.len() as u32 + 1);
        assert!(
            widest.is_some_and(|w| w <= 3 * even),
            "{widest:?} of {even}"
        );
    }
}

#[test]
fn a_lone_leaf_is_not_cut() {
    let bed = filled(10, 100);
    assert_eq!(
        wait(&bed, || bed.tree.partition_keys(100)),
        Vec::<Vec<u8>>::new()
    );
}

#[test]
fn levels_are_gone_down_until_there_are_enough() {
    // Two entries a leaf, and more leaves than the root could name.
    let bed = filled(6000, 7000);
    let few = wait(&bed, || bed.tree.partition_keys(1));
    let many = wait(&bed, || bed.tree.partition_keys(200));
    assert!(
        !few.is_empty() && few.len() < many.len(),
        "{} {}",
        few.len(),
        many.len()
    );
    assert!(many.len() >= 200, "{}", many.len());
    assert!(few.iter().all(|k| many.contains(k)));
}
