//! What foreign keys ask of the engine: a parent that is held, children that are looked for, a row's change that is taken back.

use super::*;

/// A session at this level that does not wait for locks.
fn begun(e: &Arc<Engine>, isolation: Isolation) -> Session {
    let mut s = e.session();
    s.begin(isolation, false);
    s.set_lock_wait_timeout(0);
    s.statement_begin(isolation);
    s
}

const LEVELS: [Isolation; 4] = [
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Snapshot,
    Isolation::Serializable,
];

/// The key of a number in an index of the table.
fn of(t: &Table, index: usize, n: i64) -> Vec<u8> {
    let mut b = Vec::new();
    types::keyenc::encode_key(t.key_parts(index), [ValueRef::Int(n)], &mut b);
    b
}

fn deleted(e: &Arc<Engine>, t: &Arc<Table>, id: i64) -> u16 {
    let mut s = begun(e, Isolation::ReadCommitted);
    block_on(async {
        let r = s.delete_key(t, &key(t, id), &mut |_| Ok(true)).await;
        s.rollback().await.unwrap();
        r.err().map_or(0, |e| e.code)
    })
}

fn inserted(e: &Arc<Engine>, t: &Arc<Table>, id: i64) -> u16 {
    let mut s = begun(e, Isolation::ReadCommitted);
    block_on(async {
        let r = s.insert(t, &row(id, id)).await;
        s.rollback().await.unwrap();
        r.err().map_or(0, |e| e.code)
    })
}

#[test]
fn a_parent_is_held_and_shared() {
    for (index, isolation) in [0, 1].into_iter().flat_map(|i| LEVELS.map(|l| (i, l))) {
        let (e, t) = three();
        let (mut a, mut b) = (begun(&e, isolation), begun(&e, isolation));
        for s in [&mut a, &mut b] {
            let there = block_on(s.lock_parent(&t, index, 1, &of(&t, index, 10))).unwrap();
            assert!(there, "{index} {isolation:?}");
        }
        assert_eq!(deleted(&e, &t, 10), 1205, "{index} {isolation:?}");
        assert_eq!(deleted(&e, &t, 20), 0);
        // Who was told that there is none goes by that, where ranges are guarded.
        let there = block_on(a.lock_parent(&t, index, 1, &of(&t, index, 15))).unwrap();
        assert!(!there);
        let guards = [Isolation::RepeatableRead, Isolation::Serializable].contains(&isolation);
        let want = if guards { 1205 } else { 0 };
        assert_eq!(inserted(&e, &t, 15), want, "{index} {isolation:?}");
        for mut s in [a, b] {
            block_on(s.commit()).unwrap();
        }
        assert_eq!(deleted(&e, &t, 10), 0);
        block_on(e.close()).unwrap();
    }
}

#[test]
fn parents_and_children_are_the_newest() {
    for (index, isolation) in [0, 1].into_iter().flat_map(|i| LEVELS.map(|l| (i, l))) {
        let (e, t) = three();
        let mut s = begun(&e, isolation);
        if isolation != Isolation::Serializable {
            assert_eq!(block_on(all(&mut s, &t)).unwrap().len(), 3);
        }
        let mut other = e.session();
        block_on(async {
            let gone = other.delete_key(&t, &key(&t, 10), &mut |_| Ok(true)).await;
            assert!(gone.unwrap());
            other.insert(&t, &row(40, 40)).await.unwrap();
            other.commit().await.unwrap();
            for (n, there) in [(10, false), (40, true)] {
                let key = of(&t, index, n);
                let parent = s.lock_parent(&t, index, 1, &key).await.unwrap();
                let child = s.has_child(&t, index, &key).await.unwrap();
                assert_eq!((parent, child), (there, there), "{index} {isolation:?} {n}");
            }
            s.rollback().await.unwrap();
        });
        drop((s, other));
        block_on(e.close()).unwrap();
    }
}

#[test]
fn where_children_were_looked_for_none_comes() {
    for (index, isolation) in [0, 1].into_iter().flat_map(|i| LEVELS.map(|l| (i, l))) {
        let (e, t) = three();
        let mut s = begun(&e, isolation);
        assert!(!block_on(s.has_child(&t, index, &of(&t, index, 15))).unwrap());
        let guards = [Isolation::RepeatableRead, Isolation::Serializable].contains(&isolation);
        let wanted = if guards { 1205 } else { 0 };
        assert_eq!(inserted(&e, &t, 15), wanted, "{index} {isolation:?}");
        assert_eq!(inserted(&e, &t, 16), 0, "{index} {isolation:?}");
        block_on(s.commit()).unwrap();
        assert_eq!(inserted(&e, &t, 15), 0);
        drop(s);
        block_on(e.close()).unwrap();
    }
}

#[test]
fn a_row_is_taken_back_by_itself() {
    let (e, t) = three();
    let mut s = begun(&e, Isolation::RepeatableRead);
    block_on(async {
        let none = s.mark();
        s.insert(&t, &row(40, 40)).await.unwrap();
        let mark = s.mark();
        s.insert(&t, &row(50, 50)).await.unwrap();
        s.delete_key(&t, &key(&t, 40), &mut |_| Ok(true))
            .await
            .unwrap();
        s.undo_since(mark).await.unwrap();
        assert_eq!(all(&mut s, &t).await.unwrap().len(), 4);
        s.undo_since(none).await.unwrap();
        assert_eq!(all(&mut s, &t).await.unwrap().len(), 3);
        s.commit().await.unwrap();
        assert_eq!(t.row_count_estimate(), 3);
    });
    drop(s);
    block_on(e.close()).unwrap();
}
