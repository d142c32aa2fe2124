//! The waits of purge, and for it.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// A row of `other` comes, or goes: what is left of it then waits to be purged.
async fn put(s: &mut Session, id: i64) {
    let t = s.open_table("s", "other").await.unwrap();
    s.insert(&t, &row(id, 0, 1, 10)).await.unwrap();
    s.commit().await.unwrap();
}

async fn take(s: &mut Session, id: i64) {
    let t = s.open_table("s", "other").await.unwrap();
    let gone = s.delete_key(&t, &key(&t, id), &mut |_| Ok(true)).await;
    assert!(gone.unwrap());
    s.commit().await.unwrap();
}

fn is_purged(e: &Engine) -> bool {
    e.counters().purge_queue == 0
}

/// Purge looks while a snapshot is being taken, and finds an older one in its way than the one that is taken then. No other event comes: one row
/// at a time goes, and nothing else.
#[test]
fn what_is_taken_while_purge_looks_is_not_waited_for_in_vain() {
    within(LIMIT, "purge", || {
        let e = stage();
        let over = Arc::new(AtomicBool::new(false));
        let ended = over.clone();
        let reader = behind(session(&e), 1, move |s| {
            while !ended.load(Ordering::SeqCst) {
                s.begin(Isolation::Snapshot, true);
                s.open_snapshot();
                block_on(s.commit())?;
            }
            Ok(())
        });
        let mut s = session(&e);
        for n in 0..300 {
            block_on(put(&mut s, 1_000 + n));
            block_on(take(&mut s, 1_000 + n));
            until("purge still waits", || is_purged(&e));
        }
        over.store(true, Ordering::SeqCst);
        reader.join().unwrap().1.unwrap();
        drop(s);
        close(&e);
    });
}

/// Purge waits while tables are exported, and who exports them waits for purge to come to rest.
#[test]
fn purge_and_those_who_export_tables_wait_for_each_other() {
    const ROWS: i64 = 300;
    within(LIMIT, "an export", || {
        let e = stage();
        let t = e.catalog().table("s", "t").unwrap();
        let mut s = session(&e);
        for round in 0..6 {
            block_on(async {
                let other = s.open_table("s", "other").await.unwrap();
                for id in 0..ROWS {
                    s.insert(&other, &row(1_000 + id, id, 1, 10)).await.unwrap();
                }
                s.commit().await.unwrap();
                s.begin(Isolation::ReadCommitted, false);
                let other = s.open_table("s", "other").await.unwrap();
                for id in 0..ROWS {
                    let k = key(&other, 1_000 + id);
                    assert!(s.delete_key(&other, &k, &mut |_| Ok(true)).await.unwrap());
                }
                s.commit().await.unwrap();
            });
            let lock = t.clone();
            // In the midst of what the commit has left, or before.
            let exporting = behind(session(&e), round, move |s| {
                block_on(async {
                    s.lock_tables(&[(lock.clone(), TableLockMode::Read)])
                        .await?;
                    s.export_tables(&[lock]).await
                })
            });
            let (mut exporting, exported) = exporting.join().unwrap();
            exported.unwrap();
            a_moment();
            exporting.unlock_tables();
            until("purge still waits", || is_purged(&e));
        }
        drop((s, t));
        close(&e);
    });
}
