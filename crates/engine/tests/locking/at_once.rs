//! A row that is read with its lock where nothing has to be waited for: the same answers as on the long way.

use super::*;

fn id_of(row: Option<RowRef<'_>>) -> Option<i64> {
    row.map(|r| match r.column(0) {
        types::ValueRef::Int(id) => id,
        other => panic!("{other:?} is no id"),
    })
}

/// What a read of its own finds; `None`: it would have to wait.
fn looked(e: &Arc<Engine>, t: &Arc<Table>, id: i64) -> Option<Option<i64>> {
    let mut s = e.session();
    s.statement_begin(Isolation::RepeatableRead);
    let found = s.get_locking_now(t, &key(t, id), true, id_of);
    s.end_untouched();
    found
}

#[test]
fn a_read_of_its_own_takes_no_lock_and_passes_none_by() {
    let (e, t) = three();
    assert_eq!(looked(&e, &t, 20), Some(Some(20)));
    assert_eq!(looked(&e, &t, 15), Some(None));

    // Locked, guarded, written, deleted and inserted by somebody who has not ended.
    let mut s = begun(&e);
    block_on(s.get(&t, &key(&t, 10), updating(), |_| ())).unwrap();
    assert_eq!(looked(&e, &t, 10), None);
    assert_eq!(looked(&e, &t, 20), Some(Some(20)));
    block_on(async {
        let change = &mut |_: RowRef<'_>| Ok(Some(row(20, 7).to_vec()));
        s.update_key(&t, &key(&t, 20), change).await.unwrap();
        s.delete_key(&t, &key(&t, 30), &mut |_| Ok(true))
            .await
            .unwrap();
        s.insert(&t, &row(40, 40)).await.unwrap();
    });
    for id in [20, 30, 40] {
        assert_eq!(looked(&e, &t, id), None, "{id}");
    }
    block_on(s.rollback()).unwrap();
    for (id, there) in [(20, true), (30, true), (40, false)] {
        assert_eq!(looked(&e, &t, id), Some(there.then_some(id)), "{id}");
    }

    let mut s = begun(&e);
    let mut batch = RowBatch::new();
    let mut scan = s.scan(&t, spec(0, false));
    while block_on(s.next_batch(&mut scan, &mut batch, 50, &mut |_| Ok(true))).unwrap() {}
    for id in [10, 15] {
        assert_eq!(looked(&e, &t, id), None, "{id}");
    }
    block_on(s.rollback()).unwrap();
    drop(s);
    block_on(e.close()).unwrap();
}

#[test]
fn a_transaction_keeps_the_lock() {
    let (e, t) = three();
    let mut s = begun(&e);
    assert_eq!(
        s.get_locking_now(&t, &key(&t, 20), false, id_of),
        Some(Some(20))
    );
    assert_eq!(touched(&e, &t, 20), 1205, "shared");
    let shared = |id| {
        let mut other = begun(&e);
        let found = other.get_locking_now(&t, &key(&t, id), false, id_of);
        block_on(other.rollback()).unwrap();
        found
    };
    assert_eq!(shared(20), Some(Some(20)), "two that share");
    assert_eq!(
        s.get_locking_now(&t, &key(&t, 20), true, id_of),
        Some(Some(20))
    );
    assert_eq!(shared(20), None, "alone");

    // A row that is not there is guarded.
    assert_eq!(s.get_locking_now(&t, &key(&t, 15), true, id_of), Some(None));
    assert_eq!(inserted(&e, &t, 15), 1205);
    block_on(s.commit()).unwrap();
    assert_eq!(inserted(&e, &t, 15), 0);
    assert_eq!(touched(&e, &t, 20), 0);
    drop(s);
    block_on(e.close()).unwrap();
}
