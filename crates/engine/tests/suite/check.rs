//! CHECK TABLE: it finds what is damaged, and nothing else.

use crate::sim::{SimDisk, environment};
use crate::world::{fill, key, open_with, row, sound, within};
use base::block_on;
use std::sync::Arc;
use types::ValueRef;

/// CHECK TABLE beside writers and purge finds nothing, for nothing is damaged.
#[test]
fn a_check_is_not_misled_by_what_goes_on_beside_it() {
    within(120, "check beside writers", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 512);
        block_on(fill(&e, 300, 10));
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let writers: Vec<_> = (0..2i64)
            .map(|w| {
                let (e, stop) = (Arc::clone(&e), Arc::clone(&stop));
                std::thread::spawn(move || {
                    let mut s = e.session();
                    let mut round = 0;
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        round += 1;
                        let from = 1000 * (w + 1);
                        // Enough rows for splits, and for merges once purge takes them out again.
                        block_on(async {
                            let t = s.open_table("s", "t").await.unwrap();
                            for id in from..from + 150 {
                                s.insert(&t, &row(id, id * round, 7, 1200)).await.unwrap();
                            }
                            s.commit().await.unwrap();
                            let t = s.open_table("s", "t").await.unwrap();
                            for id in from..from + 150 {
                                s.delete_key(&t, &key(&t, id), &mut |_| Ok(true))
                                    .await
                                    .unwrap();
                            }
                            s.commit().await.unwrap();
                        });
                    }
                    round
                })
            })
            .collect();
        let mut s = e.session();
        for _ in 0..150 {
            block_on(async {
                let t = s.open_table("s", "t").await.unwrap();
                let problems = s.check_table(&t).await.unwrap();
                assert!(problems.is_empty(), "{problems:?}");
                s.commit().await.unwrap();
            });
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for w in writers {
            assert!(w.join().unwrap() > 1);
        }
        sound(&e, "t");
        block_on(e.close()).unwrap();
    });
}

/// An entry that is missing and one too many are found, and named.
#[test]
fn a_check_finds_entries_that_do_not_fit() {
    use btree::{Action, Change};
    use std::convert::Infallible;
    let disk = SimDisk::new();
    let e = open_with(environment(&disk), 512);
    let mut s = block_on(fill(&e, 300, 10));
    block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        let mut entry = Vec::new();
        types::keyenc::encode_key(t.key_parts(1), [ValueRef::Int(4)], &mut entry);
        entry.extend(key(&t, 11));
        let mut change = Change::default();
        let gone = e
            .pager()
            .run(|| {
                let f =
                    |found: btree::KeyPosition<'_>, c: &mut Change| -> Result<Action, Infallible> {
                        c.kind = pager::RecordKind::System;
                        assert!(found.value().is_some());
                        Ok(Action::Remove)
                    };
                t.indexes[1].tree.modify(&entry, &mut change, f)
            })
            .await;
        assert!(gone.unwrap().unwrap().committed.is_some());
        let problems = s.check_table(&t).await.unwrap();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].contains("a row has no entry 0x"),
            "{problems:?}"
        );
        s.commit().await.unwrap();
    });
    block_on(e.close()).unwrap();
}
