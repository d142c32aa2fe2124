//! What locks take of memory is limited: who has very many is rolled back with 1206, and others go on.

use super::*;
use world::pager_options;

/// The least limit, and what a lock takes at least.
const LIMIT: u64 = 4 << 20;
const ROWS: i64 = 25_000;

/// An engine with a small pool, and a table of so many rows.
fn many(rows: i64) -> (Arc<Engine>, Arc<Table>) {
    let options = EngineOptions {
        pager: pager_options(256),
        flush_at_commit: 2,
        ..Default::default()
    };
    let disk = Arc::new(MemDisk::default());
    let environment = mem::environment(disk);
    let e = block_on(Engine::open(environment, Path::new("/db"), options)).unwrap();
    block_on(world::create(&mut e.session(), definition()));
    let mut s = e.session();
    let t = block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        for id in 0..rows {
            s.insert(&t, &row(id, id)).await.unwrap();
            if id % 1000 == 999 {
                s.commit().await.unwrap();
            }
        }
        s.commit().await.unwrap();
        t
    });
    (e, t)
}

/// Reads all by an index with locks, as FOR UPDATE does.
async fn lock_all(s: &mut Session, t: &Arc<Table>, index: usize) -> Result<(), SqlError> {
    let mut batch = RowBatch::new();
    let mut scan = s.scan(t, spec(index, false));
    while s
        .next_batch(&mut scan, &mut batch, 500, &mut |_| Ok(true))
        .await?
    {
        batch.clear();
    }
    Ok(())
}

/// Locks keys that are not there, one by one.
async fn lock_absent(s: &mut Session, t: &Arc<Table>) -> Result<(), SqlError> {
    for n in 0..ROWS {
        let absent = key(t, ROWS + 2 * n);
        s.get(t, &absent, updating(), |_| ()).await?;
    }
    Ok(())
}

#[test]
fn who_locks_very_much_is_rolled_back_and_others_go_on() {
    let (e, t) = many(ROWS);
    for index in [1, 2] {
        let mut s = begun(&e);
        s.savepoint("before");
        let own = &mut |_: RowRef<'_>| Ok(Some(row(7, -7).to_vec()));
        block_on(s.update_key(&t, &key(&t, 7), own)).unwrap();
        let refused = match index {
            1 => block_on(lock_all(&mut s, &t, 1)),
            _ => block_on(lock_absent(&mut s, &t)),
        };
        assert_eq!(refused.unwrap_err().code, 1206, "{index}");
        // All of it, as InnoDB does, and what it had is given back.
        assert!(!s.in_transaction());
        let c = e.counters();
        assert_eq!((c.locks, c.lock_bytes), (0, 0));
        assert_eq!(touched(&e, &t, 7), 0);
        assert_eq!(touched(&e, &t, ROWS - 1), 0);
    }
    block_on(e.close()).unwrap();
}

#[test]
fn others_lock_some_rows_while_one_has_all_it_may() {
    let (e, t) = many(ROWS);
    let mut s = begun(&e);
    let mut batch = RowBatch::new();
    let mut scan = s.scan(&t, spec(1, false));
    // It is added up in steps of 16 KiB.
    while e.counters().lock_bytes <= LIMIT - (16 << 10) {
        let more = block_on(s.next_batch(&mut scan, &mut batch, 10, &mut |_| Ok(true)));
        assert!(more.unwrap());
        batch.clear();
    }
    let mut second = begun(&e);
    for id in ROWS - 500..ROWS - 300 {
        block_on(second.get(&t, &key(&t, id), updating(), |_| ())).unwrap();
    }
    assert!(e.counters().lock_bytes > LIMIT);
    for id in ROWS - 50..ROWS {
        assert_eq!(touched(&e, &t, id), 0);
        let mut other = begun(&e);
        block_on(other.get(&t, &key(&t, id), updating(), |_| ())).unwrap();
        block_on(other.get(&t, &key(&t, ROWS + id), updating(), |_| ())).unwrap();
        block_on(other.commit()).unwrap();
    }
    // What it has locked is locked still, and the next lock is one too many.
    assert_eq!(touched(&e, &t, 5), 1205);
    let more = block_on(s.next_batch(&mut scan, &mut batch, 10, &mut |_| Ok(true)));
    assert_eq!(more.unwrap_err().code, 1206);
    block_on(second.rollback()).unwrap();
    assert_eq!(touched(&e, &t, 5), 0);
    block_on(e.close()).unwrap();
}

#[test]
fn rows_that_are_written_need_no_room() {
    let (e, t) = many(ROWS);
    let mut s = begun(&e);
    block_on(async {
        // A unique value for each, and each row locked by a secondary index before it is written.
        for id in ROWS..2 * ROWS {
            s.insert(&t, &row(id, id)).await.unwrap();
        }
        assert!(e.counters().lock_bytes < LIMIT * 5 / 8);
        for id in 0..2 * ROWS {
            s.get(&t, &key(&t, id), updating(), |_| ()).await.unwrap();
            let change = &mut |_: RowRef<'_>| Ok(Some(row(id, id + 4 * ROWS).to_vec()));
            s.update_key(&t, &key(&t, id), change).await.unwrap();
        }
        assert!(e.counters().lock_bytes < LIMIT * 5 / 8);
        for id in 0..ROWS {
            s.get(&t, &key(&t, id), updating(), |_| ()).await.unwrap();
            s.delete_key(&t, &key(&t, id), &mut |_| Ok(true))
                .await
                .unwrap();
        }
        assert!(e.counters().lock_bytes < LIMIT * 5 / 8);
    });
    // They are locked by what is in them, and the values by their entries.
    for id in [5, ROWS - 1, 2 * ROWS - 1] {
        assert_eq!(touched(&e, &t, id), 1205, "{id}");
    }
    let taken = tried(&e, async |s| {
        let u = 6 * ROWS - 1;
        s.insert(&t, &row(9 * ROWS, u)).await.map(|_| ())
    });
    assert_eq!(taken, 1205);
    block_on(s.commit()).unwrap();
    let c = e.counters();
    assert_eq!((c.locks, c.lock_bytes), (0, 0));
    let again = tried(&e, async |s| {
        let met = s.insert(&t, &row(9 * ROWS, 6 * ROWS - 1)).await?;
        assert!(matches!(met, Inserted::Duplicate { .. }));
        Ok(())
    });
    assert_eq!(again, 0);
    block_on(async {
        assert_eq!(s.check_table(&t).await.unwrap(), Vec::<String>::new());
        s.commit().await.unwrap();
        drop(s);
        e.close().await.unwrap();
    });
}
