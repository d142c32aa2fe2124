//! What runs of entries leave behind: full leaves, also where several fill parts of a tree at once.

use crate::bed::*;

const SPARE: usize = pager::PAGE_SIZE / 16;

/// Leaves of a tree into which `parts` runs put `entries` entries of `value` bytes, a leaf each in turn.
fn leaves(entries: u32, value: usize, parts: u32) -> u64 {
    let bed = Bed::new(2048);
    let value = vec![7; value];
    let keys: Vec<[u8; 4]> = (0..entries).map(u32::to_be_bytes).collect();
    let bound = |part: u32| (u64::from(entries) * u64::from(part) / u64::from(parts)) as usize;
    let mut at: Vec<(usize, usize)> = (0..parts).map(|n| (bound(n), bound(n + 1))).collect();
    while at.iter().any(|(at, end)| at < end) {
        for (at, end) in &mut at {
            let run = &keys[*at..*end];
            let entry = |n: usize| run.get(n).map(|k| (&k[..], &value[..]));
            *at += wait(&bed, || bed.tree.insert_run(entry, SPARE));
        }
    }
    wait(&bed, || bed.tree.measure(true)).pages
}

#[test]
fn several_runs_leave_no_more_leaves_than_one() {
    for (entries, value) in [(60_000, 10), (20_000, 50), (4_000, 900)] {
        let one = leaves(entries, value, 1);
        for parts in [2, 3, 8] {
            let several = leaves(entries, value, parts);
            let most = one + u64::from(parts) + 1;
            assert!(
                several <= most,
                "{parts} runs of {value} bytes: {several} leaves, one: {one}"
            );
        }
    }
}
