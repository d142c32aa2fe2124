//! Waits of those who change definitions, and for them.

use super::*;
use crate::world::index;
use base::Lsn;
use std::sync::atomic::{AtomicBool, Ordering};
use types::CollationId;

fn schema(name: &str) -> SchemaDef {
    SchemaDef {
        name: name.into(),
        collation: CollationId::DEFAULT,
    }
}

/// Several make and drop schemas, which nobody can do beside another.
#[test]
fn one_change_comes_after_the_other() {
    within(LIMIT, "changes of definitions", || {
        let e = stage();
        let all: Vec<_> = (0..4u64)
            .map(|n| {
                behind(session(&e), n, move |s| {
                    let name = format!("s{n}");
                    for _ in 0..15 {
                        block_on(s.create_schema(schema(&name)))?;
                        block_on(s.drop_schema(&name))?;
                    }
                    Ok(())
                })
            })
            .collect();
        for one in all {
            one.join().unwrap().1.unwrap();
        }
        close(&e);
    });
}

#[test]
fn a_change_goes_on_when_the_server_is_given_back() {
    within(LIMIT, "a locked server", || {
        let e = stage();
        for n in 0..2u64 {
            let mut owner = session(&e);
            match n {
                0 => block_on(owner.lock_for_backup()).unwrap(),
                _ => block_on(owner.lock_server_for_reading()).unwrap(),
            }
            let name = format!("made{n}");
            let waiting = behind(session(&e), n, move |s| {
                block_on(s.create_schema(schema(&name)))
            });
            a_moment();
            assert!(!waiting.is_finished());
            owner.release_locks();
            waiting.join().unwrap().1.unwrap();
        }
        close(&e);
    });
}

/// A change is under way and waits for who uses its table, and he wants to keep changes off.
#[test]
fn who_uses_what_a_change_wants_and_waits_for_the_change_is_told() {
    within(LIMIT, "a circle", || {
        let e = stage();
        let (mut s, t) = user(&e, "t");
        block_on(async {
            for id in 100..20_000 {
                s.insert(&t, &row(id, id, 1, 10)).await.unwrap();
            }
            s.commit().await.unwrap();
        });
        drop((s, t));
        let builder = session(&e);
        let interrupt = builder.interrupt();
        let building = behind(builder, 1, |s| {
            let one_more = index("one_more", IndexKind::Plain, &[1, 0]);
            block_on(s.create_index("s", "t", one_more)).map(drop)
        });
        loop {
            let (mut s, t) = user(&e, "t");
            until("the index is there", || {
                assert!(!building.is_finished());
                interrupt.tables.waits().is_some()
            });
            match block_on(s.lock_for_backup()) {
                // It has not begun yet, and does so once nobody uses the table.
                Ok(()) => {
                    drop((s, t));
                    until("the change goes on", || interrupt.tables.waits().is_none());
                }
                Err(told) => {
                    assert_eq!(told.code, 1213);
                    break;
                }
            }
        }
        building.join().unwrap().1.unwrap();
        close(&e);
    });
}

/// Who has found a change in the log waits until sessions see it.
#[test]
fn who_waits_for_definitions_sees_them() {
    within(LIMIT, "definitions", || {
        let e = stage();
        let over = Arc::new(AtomicBool::new(false));
        let (engine, ended) = (e.clone(), over.clone());
        let follows = thread::spawn(move || {
            while !ended.load(Ordering::SeqCst) {
                block_on(engine.definitions_seen(Lsn::MAX));
            }
        });
        let mut s = session(&e);
        for _ in 0..200 {
            block_on(s.create_schema(schema("made"))).unwrap();
            block_on(s.drop_schema("made")).unwrap();
        }
        over.store(true, Ordering::SeqCst);
        follows.join().unwrap();
        drop(s);
        close(&e);
    });
}
