//! A clean stop in the midst of work that goes on behind: it waits for none of it, and the next start takes it up.

use crate::world::{column, create, index, key, open, table};
use base::block_on;
use base::mem::MemDisk;
use engine::*;
use std::sync::Arc;
use types::{DataType, Value};

async fn open_table(s: &mut Session) -> Arc<Table> {
    s.open_table("s", "t").await.unwrap()
}

fn setup(disk: &Arc<MemDisk>) -> (Arc<Engine>, Session) {
    let columns = ["id", "k"].map(|name| column(name, DataType::INT)).into();
    let indexes = vec![
        index("PRIMARY", IndexKind::Primary, &[0]),
        index("k", IndexKind::Plain, &[1]),
    ];
    let e = open(disk);
    let mut s = e.session();
    block_on(create(&mut s, table("t", columns, indexes)));
    (e, s)
}

#[test]
fn a_stop_leaves_the_purge_of_a_large_transaction_to_the_next_start() {
    const ROWS: i64 = 20_000;
    let disk = Arc::new(MemDisk::default());
    let (e, mut a) = setup(&disk);
    let mut reader = e.session();
    block_on(async {
        let t = open_table(&mut a).await;
        for id in 0..ROWS {
            a.insert(&t, &[Value::Int(id), Value::Int(id)])
                .await
                .unwrap();
        }
        a.commit().await.unwrap();
        // It stands in the way of purge until the stop.
        reader.begin(Isolation::Snapshot, true);
        reader.statement_begin(Isolation::Snapshot);
        let t = open_table(&mut reader).await;
        let k = key(&t, 5);
        let there = reader.get(&t, &k, ReadMode::Consistent, |r| r.is_some());
        assert!(there.await.unwrap());
        let t = open_table(&mut a).await;
        for id in 0..ROWS {
            let k = key(&t, id);
            assert!(a.delete_key(&t, &k, &mut |_| Ok(true)).await.unwrap());
        }
        a.commit().await.unwrap();
        reader.commit().await.unwrap();
        e.close().await.unwrap();
    });
    let purged = e.counters().purged_entries;
    assert!(purged < 2 * ROWS as u64, "the stop has waited for purge");
    assert_eq!(e.counters().failed_purges, 0);
    drop((a, reader, e));
    let e = open(&disk);
    let began = std::time::Instant::now();
    while e.counters().purge_queue > 0 {
        assert!(began.elapsed().as_secs() < 120, "purge does not go on");
        std::thread::yield_now();
    }
    assert_eq!(e.counters().purged_entries + purged, 2 * ROWS as u64);
    let mut s = e.session();
    block_on(async {
        let t = open_table(&mut s).await;
        assert_eq!(s.check_table(&t).await.unwrap(), Vec::<String>::new());
        s.commit().await.unwrap();
        e.close().await.unwrap();
    });
}
