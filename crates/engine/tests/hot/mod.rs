//! One row that everybody wants, in statements of their own and in transactions that are taken back: nobody is forgotten, and nobody
//! builds on what is not committed.

use super::*;

/// `t (id BIGINT PRIMARY KEY, v BIGINT)` with one row, in an engine of its own.
fn bed() -> Arc<Engine> {
    let options = EngineOptions {
        flush_at_commit: 2,
        ..Default::default()
    };
    let environment = mem::environment(Arc::new(MemDisk::default()));
    let e = block_on(Engine::open(environment, Path::new("/db"), options)).unwrap();
    let columns = ["id", "v"].map(|name| ColumnDef::new(name, DataType::BIGINT));
    let indexes = vec![world::index("PRIMARY", IndexKind::Primary, &[0])];
    block_on(async {
        let mut s = e.session();
        world::create(&mut s, world::table("t", columns.to_vec(), indexes)).await;
        let t = s.open_table("s", "t").await.unwrap();
        assert_eq!(s.insert(&t, &row(1, 0)).await.unwrap(), Inserted::Done);
        s.commit().await.unwrap();
    });
    e
}

fn more(by: i64) -> impl FnMut(RowRef<'_>) -> Result<Option<Vec<Value>>, SqlError> {
    move |r| match r.column(1) {
        ValueRef::Int(v) => Ok(Some(row(1, v + by).to_vec())),
        _ => Ok(None),
    }
}

/// The same for who says whether a row is meant.
fn more_now(by: i64) -> impl FnMut(RowRef<'_>) -> Result<RowRequest<Vec<Value>>, SqlError> {
    let mut more = more(by);
    move |r| Ok(more(r)?.map_or(RowRequest::Skip, RowRequest::Change))
}

/// A wait that lasts as long as this is one that nobody ends.
const FORGOTTEN_AFTER: u32 = 10;

#[test]
fn what_is_added_to_one_row_is_there() {
    const EACH: usize = 3000;
    let e = bed();
    let sum = AtomicI64::new(0);
    let seen = AtomicI64::new(0);
    threads(&e, "adding", |n, mut s, mut dice| {
        s.set_lock_wait_timeout(FORGOTTEN_AFTER);
        for _ in 0..EACH {
            let t = block_on(s.open_table("s", "t")).unwrap();
            let k = key(&t, 1);
            let takes_back = n < 2 && dice.below(2) == 0;
            let by = if takes_back { 1_000_000 } else { 1 };
            if n < 2 {
                s.begin(Isolation::RepeatableRead, false);
            }
            s.statement_begin(Isolation::RepeatableRead);
            // At once where that is possible, as prepared statements do it, or on the long way.
            let at_once = match n < 4 {
                true => s.update_key_now(&t, &k, &mut more_now(by)),
                false => None,
            };
            if at_once.is_none() {
                if n >= 2 {
                    s.end_untouched();
                    s.statement_begin(Isolation::RepeatableRead);
                }
                let t = block_on(s.open_table("s", "t")).unwrap();
                let done = block_on(s.update_key(&t, &k, &mut more(by))).unwrap();
                assert_eq!(done, Updated::Done);
            }
            if takes_back {
                std::thread::yield_now();
                block_on(s.rollback()).unwrap();
            } else {
                block_on(s.commit()).unwrap();
                sum.fetch_add(1, Ordering::SeqCst);
            }
        }
        let t = block_on(s.open_table("s", "t")).unwrap();
        let v = block_on(all(&mut s, &t)).unwrap()[0].1;
        block_on(s.commit()).unwrap();
        seen.fetch_max(v, Ordering::SeqCst);
    });
    // Who looks last sees what all have done.
    assert_eq!(seen.into_inner(), sum.into_inner());
}

#[test]
fn a_statement_of_its_own_waits_for_who_writes_the_row() {
    let e = bed();
    let (mut writer, mut other) = (e.session(), e.session());
    writer.begin(Isolation::RepeatableRead, false);
    writer.statement_begin(Isolation::RepeatableRead);
    let t = block_on(writer.open_table("s", "t")).unwrap();
    let k = key(&t, 1);
    let done = block_on(writer.update_key(&t, &k, &mut more(1_000_000))).unwrap();
    assert_eq!(done, Updated::Done);
    other.statement_begin(Isolation::RepeatableRead);
    assert_eq!(other.update_key_now(&t, &k, &mut more_now(1)), None);
    other.end_untouched();
    block_on(writer.rollback()).unwrap();
    other.statement_begin(Isolation::RepeatableRead);
    let done = other.update_key_now(&t, &k, &mut more_now(1));
    assert_eq!(done, Some(Updated::Done));
    block_on(other.commit()).unwrap();
    assert_eq!(block_on(all(&mut other, &t)).unwrap(), [(1, 1)]);
    block_on(other.commit()).unwrap();
    drop((writer, other));
    block_on(e.close()).unwrap();
}
