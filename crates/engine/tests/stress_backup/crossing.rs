//! A backup beside another one, behind crashes, and of transactions that have not ended for long.

use crate::world::{def, fill, key, row, sound};
use crate::{all_rows, open_at, restored, taken};
use base::mem::MemDisk;
use base::{Lsn, TxnId, block_on};
use engine::backup::*;
use engine::*;
use pager::RecordKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

pub(super) fn count(e: &Arc<Engine>) -> usize {
    let mut s = e.session();
    s.begin(Isolation::RepeatableRead, true);
    let t = block_on(s.open_table("s", "t")).unwrap();
    block_on(all_rows(&mut s, &t)).len()
}

async fn insert(s: &mut Session, id: i64) {
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", "t").await.unwrap();
    let put = s.insert(&t, &row(id, 1, 1, 3_000)).await.unwrap();
    assert_eq!(put, Inserted::Done);
    s.commit().await.unwrap();
}

#[test]
fn several_at_once_are_each_one_moment() {
    let e = open_at(&Arc::new(MemDisk::default()), "/db");
    // As for the binary log.
    let kept = e.oldest_log();
    e.keep_log_from(kept);
    let mut s = block_on(fill(&e, 600, 3_000));
    let (mut all, mut next, mut ended) = (Vec::new(), 1_000, Vec::new());
    block_on(async {
        for n in 0..3 {
            let backup = e.begin_backup(Taking::default()).await.unwrap();
            all.push((backup, Vec::new(), false));
            // The ones before go on beside it, each at its own pace.
            for _ in 0..4 * n {
                insert(&mut s, next).await;
                next += 1;
            }
        }
        let mut left = all.len();
        let mut turn = 0;
        while left > 0 {
            turn += 1;
            for (i, (backup, bytes, over)) in all.iter_mut().enumerate() {
                if *over || turn % (i + 1) != 0 {
                    continue;
                }
                match backup.next().await.unwrap() {
                    Some(chunk) => bytes.extend(chunk),
                    None if backup.manifest().end.is_none() => {
                        ended.push((i, 600 + (next - 1_000) as usize));
                        let end = backup.least_end();
                        backup.finish(end, None, None).await.unwrap();
                    }
                    None => {
                        *over = true;
                        left -= 1;
                    }
                }
            }
            insert(&mut s, next).await;
            next += 1;
        }
    });
    for (i, rows) in ended {
        restored(&[&all[i].1], |r| {
            // What was committed between the last page and the end may be in it.
            assert!((rows..=rows + 1).contains(&count(r)), "{i}");
            sound(r, "t");
        });
    }
    assert_eq!(e.log_kept_from(), Some(kept), "that is another's");
    drop((all, s));
    block_on(e.close()).unwrap();
}

#[test]
fn it_ends_behind_all_that_its_pages_say() {
    let disk = Arc::new(MemDisk::default());
    let e = open_at(&disk, "/db");
    drop(block_on(fill(&e, 40, 200)));
    block_on(e.close()).unwrap();
    // All is in the file now, and the rows are in memory.
    let e = open_at(&disk, "/db");
    assert_eq!(count(&e), 40);
    let mut s = e.session();
    let mut backup = block_on(e.begin_backup(Taking::default())).unwrap();
    let mut all = Vec::new();
    let (say, hear) = channel();
    let (release, held) = channel::<()>();
    thread::scope(|scope| {
        // Given up with this scope, also by a failure.
        let release = release;
        // A record that has its place in the log, and is not there yet.
        let pager = e.pager();
        scope.spawn(move || {
            let wait = |_, _| {
                say.send(()).unwrap();
                let _ = held.recv();
            };
            let note = (RecordKind::Note, TxnId::NONE, Lsn::NONE);
            pager.append(note.0, note.1, note.2, b"?", wait).unwrap();
        });
        hear.recv().unwrap();
        // Behind it a change of a page; that is not committed, nor does it matter.
        block_on(async {
            s.begin(Isolation::ReadCommitted, false);
            let t = s.open_table("s", "t").await.unwrap();
            s.insert(&t, &row(5_000, 1, 1, 100)).await.unwrap();
        });
        // What is read of its page from the file is half of one that is being written: the page comes from memory.
        let mut torn = 0;
        disk.damage(Path::new("/db/data/s/t.tdb"), |bytes| {
            let has_rows = |page: &[u8]| page.windows(100).any(|w| w == [1; 100]);
            let pages = bytes.chunks_mut(16_384).filter(|p| has_rows(p));
            torn = pages.map(|page| page[300] ^= 1).count();
        });
        assert_eq!(torn, 1);
        let (ended, end) = channel();
        let (backup, all) = (&mut backup, &mut all);
        scope.spawn(move || {
            while let Some(chunk) = block_on(backup.next()).unwrap() {
                all.extend(chunk);
            }
            ended.send(()).unwrap();
        });
        let early = end.recv_timeout(Duration::from_millis(100));
        release.send(()).unwrap();
        assert!(early.is_err(), "its pages have changes that it has not");
        end.recv().unwrap();
    });
    block_on(async {
        backup.finish(backup.least_end(), None, None).await.unwrap();
        while let Some(chunk) = backup.next().await.unwrap() {
            all.extend(chunk);
        }
    });
    restored(&[&all], |r| assert_eq!(count(r), 40));
    drop((backup, s));
    block_on(e.abandon());
}

#[test]
fn log_of_before_a_crash_is_taken_along() {
    let disk = Arc::new(MemDisk::default());
    let mut e = open_at(&disk, "/db");
    let mut s = block_on(fill(&e, 300, 3_000));
    let xid = Xid {
        format: 1,
        gtrid: b"x".as_slice().into(),
        bqual: Box::default(),
    };
    block_on(async {
        let mut claim = e.claim_xid(&xid, &BranchOwner::server()).ok();
        s.begin(Isolation::RepeatableRead, false);
        let t = s.open_table("s", "t").await.unwrap();
        let new = row(1, 100, 9, 10);
        s.update_key(&t, &key(&t, 1), &mut |_| Ok(Some(new.clone())))
            .await
            .unwrap();
        s.insert(&t, &row(5_000, 1, 9, 9_000)).await.unwrap();
        s.prepare(&mut claim, false).await.unwrap();
    });
    drop(s);
    // Two crashes: the log that the transaction needs lies in front of two jumps.
    for n in 0..2 {
        let mut s = e.session();
        for id in 0..40 {
            block_on(insert(&mut s, 1_000 + n * 100 + id));
        }
        drop(s);
        block_on(e.abandon());
        drop(e);
        e = open_at(&disk, "/db");
    }
    let (base, m) = taken(&e, None);
    assert!(m.jumps.len() == 2 && m.needed < m.jumps[0].0, "{m:?}");
    let mut s = e.session();
    for id in 0..40 {
        block_on(insert(&mut s, 2_000 + id));
    }
    let (more, _) = taken(&e, Some(m.token()));
    drop(s);
    for commit in [false, true] {
        restored(&[&base, &more], |r| {
            assert_eq!(count(r), 300 + 80 + 40);
            let s = r.session();
            let ended = match commit {
                true => block_on(s.commit_prepared(&xid)),
                false => block_on(s.rollback_prepared(&xid)),
            };
            assert!(ended.unwrap(), "it is still prepared");
            assert_eq!(count(r), 420 + usize::from(commit));
            drop(s);
            sound(r, "t");
        });
    }
    block_on(e.close()).unwrap();
}

#[test]
fn tables_of_every_kind_come_back() {
    let e = open_at(&Arc::new(MemDisk::default()), "/db");
    let mut s = block_on(fill(&e, 10, 10));
    block_on(async {
        // Compressed by each method, with so many pages that a dictionary is made; names that are no names of files; and one without rows.
        for (name, format) in [("z/../z", "COMPRESSED"), ("..", ""), ("ä b", "COMPRESSED")] {
            let mut def = def(name);
            def.options.row_format = format.into();
            s.create_table(def).await.unwrap();
            let t = s.open_table("s", name).await.unwrap();
            s.begin(Isolation::ReadCommitted, false);
            for id in 0..2_000 {
                let values = row(id, id % 13, (id % 200) as u8, 900);
                s.insert(&t, &values).await.unwrap();
            }
            s.commit().await.unwrap();
        }
        s.create_table(def("empty")).await.unwrap();
    });
    block_on(e.pager().flush_all()).unwrap();
    let (bytes, _) = taken(&e, None);
    restored(&[&bytes], |r| {
        for name in ["z/../z", "..", "ä b", "empty", "t"] {
            let rows = {
                let mut s = r.session();
                s.begin(Isolation::RepeatableRead, true);
                let t = block_on(s.open_table("s", name)).unwrap();
                block_on(all_rows(&mut s, &t)).len()
            };
            let expected = match name {
                "empty" => 0,
                "t" => 10,
                _ => 2_000,
            };
            assert_eq!(rows, expected, "{name}");
            sound(r, name);
        }
    });
    drop(s);
    block_on(e.close()).unwrap();
}
