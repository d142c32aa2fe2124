//! Prepared transactions: durable, with their locks, over crashes one after the other, until somebody ends them.

use crate::world::{def, key, open, row, sound};
use base::block_on;
use base::mem::MemDisk;
use engine::*;
use std::sync::Arc;

fn xid(name: &[u8]) -> Xid {
    Xid {
        format: 1,
        gtrid: name.into(),
        bqual: Box::default(),
    }
}

/// Changes, deletes and inserts a row each, and prepares that.
async fn prepare(e: &Arc<Engine>, name: &[u8]) {
    let mut s = e.session();
    let mut claim = e.claim_xid(&xid(name), &BranchOwner::server()).ok();
    s.begin(Isolation::RepeatableRead, false);
    let t = s.open_table("s", "t").await.unwrap();
    let new = row(1, 100, 9, 10);
    s.update_key(&t, &key(&t, 1), &mut |_| Ok(Some(new.clone())))
        .await
        .unwrap();
    let gone = s
        .delete_key(&t, &key(&t, 2), &mut |_| Ok(true))
        .await
        .unwrap();
    assert!(gone);
    s.insert(&t, &row(50, 1, 9, 9000)).await.unwrap();
    s.prepare(&mut claim, false).await.unwrap();
    assert!(claim.is_none() && !s.in_transaction() && !s.has_changes());
}

async fn filled(e: &Arc<Engine>) {
    let mut s = e.session();
    crate::world::create(&mut s, def("t")).await;
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", "t").await.unwrap();
    for id in 0..10 {
        s.insert(&t, &row(id, id, 1, 10)).await.unwrap();
    }
    s.commit().await.unwrap();
}

/// (id, k) of all rows, in both indexes.
async fn rows(e: &Arc<Engine>) -> Vec<(i64, i64)> {
    let mut s = e.session();
    s.statement_begin(Isolation::ReadCommitted);
    let t = s.open_table("s", "t").await.unwrap();
    let mut both = Vec::new();
    for index in [0, 1] {
        let mut sc = s.scan(
            &t,
            ScanSpec {
                index,
                lower: KeyBound::None,
                upper: KeyBound::None,
                backward: false,
                mode: ReadMode::Consistent,
            },
        );
        let mut batch = RowBatch::new();
        let mut out = Vec::new();
        loop {
            batch.clear();
            let more = s
                .next_batch(&mut sc, &mut batch, 50, &mut |_| Ok(true))
                .await
                .unwrap();
            for i in 0..batch.len() {
                let r = batch.row(i);
                if let (types::ValueRef::Int(id), types::ValueRef::Int(k)) =
                    (r.column(0), r.column(1))
                {
                    out.push((id, k));
                }
            }
            if !more {
                break;
            }
        }
        out.sort_unstable();
        both.push(out);
    }
    s.commit().await.unwrap();
    assert_eq!(both[0], both[1]);
    both.swap_remove(0)
}

/// Whether another transaction has the row.
async fn locked(e: &Arc<Engine>, id: i64) -> bool {
    let mut s = e.session();
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", "t").await.unwrap();
    let mode = ReadMode::Lock {
        exclusive: true,
        wait: LockWait::NoWait,
    };
    let r = s.get(&t, &key(&t, id), mode, |_| ()).await;
    s.rollback().await.unwrap();
    match r {
        Ok(()) => false,
        Err(e) => {
            assert_eq!(e.code, 3572, "{e:?}");
            true
        }
    }
}

fn before() -> Vec<(i64, i64)> {
    (0..10).map(|i| (i, i)).collect()
}

fn after() -> Vec<(i64, i64)> {
    let mut all: Vec<(i64, i64)> = before().into_iter().filter(|r| r.0 != 2).collect();
    all[1] = (1, 100);
    all.push((50, 1));
    all
}

async fn names(e: &Arc<Engine>) -> Vec<Vec<u8>> {
    let all = e.prepared().await.unwrap();
    all.iter().map(|p| p.xid.gtrid.to_vec()).collect()
}

/// What holds as long as it is prepared.
async fn is_prepared(e: &Arc<Engine>, what: &str) {
    assert_eq!(names(e).await, [b"x"], "{what}");
    assert_eq!(rows(e).await, before(), "{what}");
    for id in [1, 2, 50] {
        assert!(locked(e, id).await, "{what}: row {id}");
    }
    assert!(!locked(e, 3).await, "{what}");
    let mut s = e.session();
    let t = s.open_table("s", "t").await.unwrap();
    assert_eq!(s.check_table(&t).await.unwrap(), Vec::<String>::new());
    s.commit().await.unwrap();
    // Its table stays.
    s.set_table_wait_timeout(0);
    assert_eq!(s.drop_table("s", "t").await.unwrap_err().code, 1205);
    assert_eq!(
        e.claim_xid(&xid(b"x"), &BranchOwner::server()).err(),
        Some(ClaimRefused::Duplicate),
        "{what}"
    );
}

#[test]
fn what_is_prepared_is_there_after_crashes_and_clean_ends_until_it_is_ended() {
    for commit in [true, false] {
        let mut disk = Arc::new(MemDisk::default());
        let e = open(&disk);
        block_on(async {
            filled(&e).await;
            prepare(&e, b"x").await;
            is_prepared(&e, "at first").await;
        });
        // The power goes three times; then the end is clean.
        for _ in 0..3 {
            disk = Arc::new(disk.crash(false));
            let e = open(&disk);
            block_on(is_prepared(&e, "after a power cut"));
            std::mem::forget(e);
        }
        disk = Arc::new(disk.crash(false));
        let e = open(&disk);
        block_on(async {
            is_prepared(&e, "after the last power cut").await;
            e.close().await.unwrap();
        });
        drop(e);
        let e = open(&disk);
        let want = match commit {
            true => after(),
            false => before(),
        };
        block_on(async {
            is_prepared(&e, "after a clean end").await;
            let s = e.session();
            let ended = match commit {
                true => s.commit_prepared(&xid(b"x")).await,
                false => s.rollback_prepared(&xid(b"x")).await,
            };
            assert!(ended.unwrap());
            assert!(!s.commit_prepared(&xid(b"x")).await.unwrap());
            assert!(!s.rollback_prepared(&xid(b"x")).await.unwrap());
        });
        // Acknowledged is durable, whichever way it ended.
        disk = Arc::new(disk.crash(false));
        std::mem::forget(e);
        let e = open(&disk);
        block_on(async {
            assert!(names(&e).await.is_empty());
            assert_eq!(rows(&e).await, want);
            assert!(!locked(&e, 1).await);
        });
        sound(&e, "t");
        block_on(e.close()).unwrap();
    }
}

#[test]
fn what_has_changed_nothing_can_be_prepared() {
    let disk = Arc::new(MemDisk::default());
    let e = open(&disk);
    block_on(async {
        filled(&e).await;
        let mut s = e.session();
        let mut claim = e.claim_xid(&xid(b"e"), &BranchOwner::server()).ok();
        s.begin(Isolation::Serializable, false);
        s.prepare(&mut claim, false).await.unwrap();
        drop(s);
        e.close().await.unwrap();
    });
    drop(e);
    let e = open(&disk);
    block_on(async {
        assert_eq!(names(&e).await, [b"e"]);
        assert!(e.session().commit_prepared(&xid(b"e")).await.unwrap());
        assert!(names(&e).await.is_empty());
        e.close().await.unwrap();
    });
}

#[test]
fn a_log_that_is_used_many_times_over_keeps_what_is_prepared() {
    let disk = Arc::new(MemDisk::default());
    let e = open(&disk);
    block_on(async {
        filled(&e).await;
        prepare(&e, b"x").await;
        let mut s = e.session();
        for n in 0..3000i64 {
            s.statement_begin(Isolation::ReadCommitted);
            let t = s.open_table("s", "t").await.unwrap();
            let new = row(5, n, n as u8, 30_000);
            s.update_key(&t, &key(&t, 5), &mut |_| Ok(Some(new.clone())))
                .await
                .unwrap();
            s.commit().await.unwrap();
        }
        let old = row(5, 5, 1, 10);
        let t = s.open_table("s", "t").await.unwrap();
        s.update_key(&t, &key(&t, 5), &mut |_| Ok(Some(old.clone())))
            .await
            .unwrap();
        s.commit().await.unwrap();
        assert!(e.counters().checkpoints > 0);
    });
    let disk = Arc::new(disk.crash(false));
    std::mem::forget(e);
    let e = open(&disk);
    block_on(async {
        is_prepared(&e, "after 90 MB of log").await;
        assert!(e.session().rollback_prepared(&xid(b"x")).await.unwrap());
        assert_eq!(rows(&e).await, before());
    });
    sound(&e, "t");
}

#[test]
fn an_end_that_is_not_awaited_leaves_it_prepared_or_ends_it() {
    let disk = Arc::new(MemDisk::default());
    let e = open(&disk);
    block_on(filled(&e));
    block_on(prepare(&e, b"x"));
    // Polled once and dropped: it is either decided, or as it was.
    let s = e.session();
    let name = xid(b"x");
    let mut f = Box::pin(s.commit_prepared(&name).into_future());
    let waker = std::task::Waker::noop();
    let mut cx = std::task::Context::from_waker(waker);
    let _ = f.as_mut().poll(&mut cx);
    drop(f);
    block_on(async {
        match names(&e).await.is_empty() {
            true => assert_eq!(rows(&e).await, after()),
            false => is_prepared(&e, "after a commit that was left").await,
        }
    });
}

#[test]
fn an_attached_one_is_its_session_s_until_the_claim_goes() {
    let disk = Arc::new(MemDisk::default());
    let e = open(&disk);
    block_on(async {
        filled(&e).await;
        let mut s = e.session();
        let mut claim = e.claim_xid(&xid(b"a"), &BranchOwner::server()).ok();
        s.begin(Isolation::ReadCommitted, false);
        let t = s.open_table("s", "t").await.unwrap();
        s.insert(&t, &row(70, 70, 1, 1)).await.unwrap();
        s.prepare(&mut claim, true).await.unwrap();
        assert_eq!(names(&e).await, [b"a"]);
        assert!(!s.commit_prepared(&xid(b"a")).await.unwrap());
        drop(claim);
        assert!(e.session().commit_prepared(&xid(b"a")).await.unwrap());
        let there = s
            .get(&t, &key(&t, 70), ReadMode::Consistent, |r| r.is_some())
            .await
            .unwrap();
        assert!(there);
    });
}
