//! Redo determinism: the page operations of the log, applied to copies of nothing, give the very bytes of the pages.

use std::collections::{BTreeMap, HashMap};

use crate::bed::{Bed, seeded, wait};
use base::{Lsn, PageNo};
use btree::{Action, Change, OverflowWriter, VerifyCursor};
use pager::Page;

#[test]
fn replayed_operations_give_equal_pages() {
    let bed = Bed::new(4096);
    let mut dice = seeded(5);
    let mut change = Change::default();
    for step in 0..30_000u64 {
        let growing = step / 5000 % 2 == 0;
        let key = (dice.below(4000) as u32).to_be_bytes();
        let len = 16 + dice.below(300) as usize;
        let remove = dice.below(10) < if growing { 2 } else { 8 };
        bed.modify(&key, &mut change, |found, c| {
            c.stamp = Some(8);
            match found.value() {
                Some(_) if remove => {
                    c.stamp = None;
                    Action::Remove
                }
                Some(old) if step % 3 > 0 => {
                    c.value.extend_from_slice(&[step as u8; 16]);
                    c.value.extend(std::iter::repeat_n(7, len / 4));
                    let rest = (old.len() - 16) as u16;
                    Action::Patch {
                        head: 16,
                        prefix: rest / 2,
                        suffix: rest / 3,
                    }
                }
                None if remove => Action::Keep,
                _ => {
                    c.value.extend(std::iter::repeat_n(step as u8, len));
                    Action::Put
                }
            }
        });
    }
    let run: Vec<[u8; 4]> = (0..3000u32).map(|i| (i * 2).to_be_bytes()).collect();
    let mut at = 0;
    while at < run.len() {
        let entry = |i: usize| run.get(at + i).map(|k| (&k[..], &[9u8; 30][..]));
        at += wait(&bed, || bed.tree.insert_run(entry, 500));
    }
    let bytes = vec![3; 50_000];
    let mut writer = OverflowWriter::new(bytes.len());
    while wait(&bed, || writer.step(&bed.tree, &bytes, |_, _| {})).is_some() {}
    wait(&bed, || bed.tree.shrink_overflow(writer.first()));

    let mut pages: HashMap<u32, Box<Page>> = HashMap::new();
    let mut applied = 0;
    bed.replay(|no: PageNo, op, payload, start: Lsn| {
        let page = pages.entry(no.0).or_insert_with(Page::boxed);
        if (btree::ops::FIRST_OP..=btree::ops::LAST_OP).contains(&op) {
            btree::apply(op, page, payload, start)
                .expect("an operation that was done can be redone");
            applied += 1;
        }
    });
    assert!(applied > 20_000);
    let live = bed.live_pages();
    assert!(live.len() > 20);
    for no in live {
        let replayed = &pages[&no.0];
        let now = bed.pager.shared(&bed.space, no).expect("resident");
        // Identity, checksum and LSN are the pager's; the rest is the operations' alone.
        assert!(now.bytes()[24..] == replayed.bytes()[24..], "page {}", no.0);
        assert_eq!(now.bytes()[12..16], replayed.bytes()[12..16]);
    }
}

#[test]
fn a_crash_leaves_the_tree_that_the_log_tells() {
    let bed = Bed::new(2048);
    let mut dice = seeded(11);
    let mut change = Change::default();
    let mut map = BTreeMap::new();
    for round in 0..3 {
        for step in 0..8000u64 {
            let key = (dice.below(6000) as u32).to_be_bytes();
            if dice.below(10) < [2, 8, 5][round] {
                let was = map.remove(&key).is_some();
                bed.modify(&key, &mut change, |_, _| {
                    if was { Action::Remove } else { Action::Keep }
                });
                continue;
            }
            let v = vec![step as u8; 10 + dice.below(500) as usize];
            bed.modify(&key, &mut change, |_, c| {
                c.value.extend_from_slice(&v);
                Action::Put
            });
            map.insert(key, v);
        }
        let after = bed.crash(2048);
        let mut cursor = VerifyCursor::new();
        let mut all = Vec::new();
        while wait(&after, || {
            after
                .tree
                .verify(&mut cursor, |k, v| all.push((k.to_vec(), v.to_vec())))
        }) {}
        assert!(
            all.iter()
                .map(|(k, v)| (&k[..], v))
                .eq(map.iter().map(|(k, v)| (&k[..], v)))
        );
        assert_eq!(after.used_pages(), cursor.pages.len());
    }
}
