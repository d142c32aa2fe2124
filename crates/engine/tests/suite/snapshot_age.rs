//! A snapshot is never older than what its transaction has already seen by writing.
//!
//! The log is held up in the middle of a record, as a thread that loses its core there would do. A commit behind that
//! record is there for writers; it must be there for the snapshot of whoever has written over it, too.

use crate::world::{create, index, pager_options, table};
use base::mem::{self, MemDisk};
use base::{Lsn, TxnId, block_on};
use engine::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use types::{DataType, Value, ValueRef};

fn definition() -> TableDef {
    let columns = ["id", "v"].map(|n| ColumnDef::new(n, DataType::INT)).into();
    let primary = index("PRIMARY", IndexKind::Primary, &[0]);
    table("t", columns, vec![primary])
}

fn key(t: &Table, id: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    types::keyenc::encode_key(t.key_parts(0), [ValueRef::Int(id)], &mut bytes);
    bytes
}

async fn set(s: &mut Session, id: i64, v: i64) {
    let t = s.open_table("s", "t").await.unwrap();
    let row = vec![Value::Int(id), Value::Int(v)];
    let key = key(&t, id);
    let done = s.update_key(&t, &key, &mut |_| Ok(Some(row.clone()))).await;
    assert_eq!(done.unwrap(), Updated::Done);
}

/// A row that comes and goes: what is left of it waits to be purged.
async fn come_and_go(s: &mut Session, id: i64) {
    let t = s.open_table("s", "t").await.unwrap();
    let row = [Value::Int(id), Value::Int(0)];
    s.insert(&t, &row).await.unwrap();
    s.commit().await.unwrap();
    let key = key(&t, id);
    let done = s.delete_key(&t, &key, &mut |_| Ok(true)).await;
    assert!(done.unwrap());
    s.commit().await.unwrap();
}

async fn get(s: &mut Session, id: i64) -> i64 {
    let t = s.open_table("s", "t").await.unwrap();
    let key = key(&t, id);
    let found = s.get(&t, &key, ReadMode::Consistent, |row| {
        match row.map(|r| r.column(1)) {
            Some(ValueRef::Int(v)) => v,
            other => panic!("{other:?}"),
        }
    });
    found.await.unwrap()
}

async fn scan(s: &mut Session) -> Vec<i64> {
    let t = s.open_table("s", "t").await.unwrap();
    let mut scan = s.scan(
        &t,
        ScanSpec {
            index: 0,
            lower: KeyBound::None,
            upper: KeyBound::None,
            backward: false,
            mode: ReadMode::Consistent,
        },
    );
    let mut batch = RowBatch::new();
    let mut out = Vec::new();
    while s
        .next_batch(&mut scan, &mut batch, 10, &mut |_| Ok(true))
        .await
        .unwrap()
        || batch.len() > out.len()
    {
        out.clear();
        for i in 0..batch.len() {
            match batch.row(i).column(1) {
                ValueRef::Int(v) => out.push(v),
                other => panic!("{other:?}"),
            }
        }
    }
    out
}

fn filled() -> Arc<Engine> {
    let options = EngineOptions {
        pager: pager_options(1024),
        flush_at_commit: 0,
        ..EngineOptions::default()
    };
    let environment = mem::environment(Arc::new(MemDisk::default()));
    block_on(async {
        let engine = Engine::open(environment, Path::new("/db"), options)
            .await
            .unwrap();
        let mut s = engine.session();
        create(&mut s, definition()).await;
        let t = s.open_table("s", "t").await.unwrap();
        for id in [1, 2] {
            let row = [Value::Int(id), Value::Int(0)];
            s.insert(&t, &row).await.unwrap();
        }
        s.commit().await.unwrap();
        engine
    })
}

fn read_after_a_write(read: impl Fn(&mut Session) -> i64 + Send + Sync) {
    let engine = filled();
    std::thread::scope(|scope| {
        // A record that is reserved and not complete for as long as this pleases.
        let (held, is_held) = channel();
        let (release, released) = channel::<()>();
        let pager = engine.pager().clone();
        scope.spawn(move || {
            let hold = |_: Lsn, _: Lsn| {
                held.send(()).unwrap();
                let _ = released.recv();
            };
            let kind = pager::RecordKind::Abort;
            let done = pager.append(kind, TxnId(1), Lsn::NONE, &[], hold);
            done.unwrap();
        });
        is_held.recv().unwrap();
        // Writes both rows. Its commit is not answered, since the log is held up before it.
        let (committing, has_ended) = channel();
        let first = engine.clone();
        scope.spawn(move || {
            block_on(async {
                let mut s = first.session();
                s.begin(Isolation::Snapshot, false);
                set(&mut s, 1, 10).await;
                set(&mut s, 2, 10).await;
                committing.send(()).unwrap();
                s.commit().await.unwrap();
            });
        });
        has_ended.recv().unwrap();
        // Writes over the one and reads the other.
        let (answer, answered) = channel();
        let second = engine.clone();
        let read = &read;
        scope.spawn(move || {
            let mut s = second.session();
            s.begin(Isolation::Snapshot, false);
            block_on(set(&mut s, 1, 20));
            answer.send(read(&mut s)).unwrap();
            block_on(s.commit()).unwrap();
        });
        // It may have to wait for the log; it must not answer from before.
        let early = answered.recv_timeout(Duration::from_millis(300)).ok();
        release.send(()).unwrap();
        let v = early.unwrap_or_else(|| answered.recv().unwrap());
        assert_eq!(v, 10, "the snapshot is older than what was written over");
    });
}

#[test]
fn a_read_by_key_after_a_write() {
    read_after_a_write(|s| block_on(get(s, 2)));
}

#[test]
fn a_scan_after_a_write() {
    read_after_a_write(|s| block_on(scan(s))[1]);
}

/// An old snapshot keeps the log; its end gives the files back, and nobody has to write anything for that.
#[test]
fn the_log_is_given_back_after_an_old_snapshot() {
    given_back(false);
}

/// Old and young work is purged at once when the snapshot ends: the old is what kept the log.
#[test]
fn the_log_is_given_back_after_old_and_young_work() {
    given_back(true);
}

fn given_back(work: bool) {
    let engine = filled();
    if work {
        // Its own work would be among the young.
        engine.set_auto_stats(false);
    }
    let log = engine.pager().log();
    let size = log.segments().size();
    let most = (32 << 20) / size;
    let files = || log.segments().numbers().len() as u64;
    let mut reader = engine.session();
    let mut writer = engine.session();
    block_on(async {
        reader.begin(Isolation::Snapshot, true);
        reader.statement_begin(Isolation::Snapshot);
        assert_eq!(get(&mut reader, 1).await, 0);
        if work {
            come_and_go(&mut writer, 3).await;
        }
        let mut v = 0;
        while log.end().0 < 96 << 20 {
            v += 1;
            set(&mut writer, 1, v).await;
            set(&mut writer, 2, v).await;
            writer.commit().await.unwrap();
        }
        assert!(files() > 2 * most, "{} files", files());
        if work {
            come_and_go(&mut writer, 4).await;
        }
        // Through all of it, from the files.
        assert_eq!(get(&mut reader, 1).await, 0);
        assert_eq!(get(&mut reader, 2).await, 0);
        reader.commit().await.unwrap();
    });
    let began = std::time::Instant::now();
    while files() > most {
        let late = began.elapsed() > Duration::from_secs(60);
        assert!(!late, "{} files, {most} at most", files());
        std::thread::sleep(Duration::from_millis(5));
    }
    drop((reader, writer));
    block_on(engine.close()).unwrap();
}
