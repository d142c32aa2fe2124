//! Groups of events: what transactions leave in the log comes to whoever follows it, whole, once, and in the order of the commits.

use crate::followed::{add, beginning, filled, groups, insert, long, opened, texts};
use crate::world::{def, index, key, row};
use base::block_on;
use engine::*;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};

#[test]
fn groups_come_in_commit_order_and_of_what_is_committed_alone() {
    let (_, e, from) = filled();
    block_on(async {
        let (mut a, mut b, mut c) = (e.session(), e.session(), e.session());
        for s in [&mut a, &mut b, &mut c] {
            s.begin(Isolation::RepeatableRead, false);
        }
        insert(&mut a, 1).await;
        add(&mut a, "a");
        *a.group_facts() = Some(Box::new("said".to_string()));
        insert(&mut b, 2).await;
        add(&mut b, "b");
        insert(&mut c, 3).await;
        add(&mut c, "c");
        c.rollback().await.unwrap();
        b.commit().await.unwrap();
        assert!(a.commit_now().is_some());
        // One that has changed rows and left nothing, one that has read, and one that has nothing but events.
        insert(&mut c, 4).await;
        c.commit().await.unwrap();
        c.begin(Isolation::RepeatableRead, false);
        add(&mut c, "alone");
        c.commit().await.unwrap();
        add(&mut c, "not");
        c.rollback().await.unwrap();
        c.commit().await.unwrap();
        assert_eq!(texts(&e, from).await, ["b.", "a.said", "alone."]);
        let all = groups(&e, from).await;
        // Behind each, the others.
        assert_eq!(texts(&e, all[0].1).await, ["a.said", "alone."]);
        assert_eq!(texts(&e, all[2].1).await, [""; 0]);
    });
}

#[test]
fn what_is_undone_leaves_no_events() {
    let (_, e, from) = filled();
    block_on(async {
        let mut s = e.session();
        s.begin(Isolation::RepeatableRead, false);
        s.statement_begin(Isolation::RepeatableRead);
        add(&mut s, "[");
        insert(&mut s, 1).await;
        add(&mut s, "1");
        s.savepoint("p");
        s.statement_begin(Isolation::RepeatableRead);
        insert(&mut s, 2).await;
        add(&mut s, "2");
        s.savepoint("q");
        let mark = s.mark();
        insert(&mut s, 3).await;
        add(&mut s, "3");
        s.undo_since(mark).await.unwrap();
        add(&mut s, "4");
        s.statement_begin(Isolation::RepeatableRead);
        add(&mut s, "of no change");
        s.statement_rollback().await.unwrap();
        add(&mut s, "5");
        s.rollback_to("q").await.unwrap();
        add(&mut s, "6");
        s.rollback_to("p").await.unwrap();
        add(&mut s, "7");
        s.commit().await.unwrap();
        // All of it.
        s.begin(Isolation::RepeatableRead, false);
        s.savepoint("p");
        insert(&mut s, 2).await;
        add(&mut s, "8");
        s.rollback_to("p").await.unwrap();
        s.commit().await.unwrap();
        assert_eq!(texts(&e, from).await, ["[17."]);
    });
}

#[test]
fn what_is_in_the_log_already_is_cut_off_too() {
    let (_, e, from) = filled();
    block_on(async {
        let mut s = e.session();
        s.begin(Isolation::RepeatableRead, false);
        insert(&mut s, 1).await;
        add(&mut s, "head");
        s.savepoint("p");
        for (i, c) in "abcdef".chars().enumerate() {
            insert(&mut s, 10 + i as i64).await;
            add(&mut s, &long(c));
            assert!(s.has_many_events());
            s.spill_events().await.unwrap();
            assert!(!s.has_many_events());
            if c == 'c' {
                s.savepoint("q");
            }
        }
        s.rollback_to("q").await.unwrap();
        add(&mut s, "tail");
        s.commit().await.unwrap();
        let expected = ["head", &long('a'), &long('b'), &long('c'), "tail."].concat();
        assert!(texts(&e, from).await == [expected]);
        // To the beginning, which stands in a piece that was logged; and to nothing.
        let from = e.end_of_groups();
        for (to, expected) in [("p", &["head."][..]), ("o", &[])] {
            s.begin(Isolation::RepeatableRead, false);
            s.savepoint("o");
            insert(&mut s, 30).await;
            add(&mut s, "head");
            s.savepoint("p");
            insert(&mut s, 31).await;
            add(&mut s, &long('x'));
            s.spill_events().await.unwrap();
            s.rollback_to(to).await.unwrap();
            s.commit().await.unwrap();
            let found = texts(&e, from).await;
            let t = s.open_table("s", "t").await.unwrap();
            for id in [30] {
                let _ = s.delete_key(&t, &key(&t, id), &mut |_| Ok(true)).await;
            }
            s.commit().await.unwrap();
            match to {
                "p" => assert_eq!(found, expected),
                // What was there before.
                _ => assert_eq!(found, ["head."]),
            }
        }
        // A whole transaction of which pieces are logged is rolled back.
        let from = e.end_of_groups();
        s.begin(Isolation::RepeatableRead, false);
        insert(&mut s, 40).await;
        add(&mut s, &long('y'));
        s.spill_events().await.unwrap();
        s.rollback().await.unwrap();
        assert_eq!(texts(&e, from).await, [""; 0]);
    });
}

#[test]
fn a_long_group_is_read_again_in_parts() {
    let (_, e, from) = filled();
    block_on(async {
        let mut s = e.session();
        s.begin(Isolation::RepeatableRead, false);
        let mut expected = String::new();
        // More than the log's memory.
        for i in 0..40 {
            insert(&mut s, i).await;
            let text = long((b'a' + (i % 26) as u8) as char);
            add(&mut s, &text);
            expected.push_str(&text);
            s.spill_events().await.unwrap();
        }
        // Of this much more than a piece is left to the commit.
        let text = long('z').repeat(3);
        add(&mut s, &text);
        expected.push_str(&text);
        expected.push('.');
        assert!(s.commit_now().is_none());
        s.commit().await.unwrap();
        assert!(texts(&e, from).await == [expected]);
    });
}

#[test]
fn a_follower_goes_on_where_another_has_been() {
    let (disk, e, from) = filled();
    let resume = block_on(async {
        let (mut a, mut b) = (e.session(), e.session());
        a.begin(Isolation::RepeatableRead, false);
        insert(&mut a, 1).await;
        add(&mut a, &long('a'));
        a.spill_events().await.unwrap();
        b.begin(Isolation::RepeatableRead, false);
        insert(&mut b, 2).await;
        add(&mut b, "b");
        b.commit().await.unwrap();
        let all = groups(&e, from).await;
        assert_eq!(all.len(), 1);
        let resume = all[0].1;
        // The other one was open: its events stand in front of what was given.
        assert!(resume.from < resume.after);
        a.commit().await.unwrap();
        assert_eq!(texts(&e, resume).await, [long('a') + "."]);
        resume
    });
    block_on(e.abandon());
    drop(e);
    let e = opened(&disk);
    block_on(async {
        assert_eq!(texts(&e, resume).await, [long('a') + "."]);
        e.close().await.unwrap();
    });
}

#[test]
fn a_group_that_began_before_is_not_given_as_if_it_were_whole() {
    let (_, e, _) = filled();
    block_on(async {
        let mut s = e.session();
        s.begin(Isolation::RepeatableRead, false);
        insert(&mut s, 1).await;
        add(&mut s, &long('a'));
        s.spill_events().await.unwrap();
        let late = e.end_of_groups();
        add(&mut s, "rest");
        s.commit().await.unwrap();
        let why = e.follow(late).next().await.unwrap_err();
        assert!(why.message.contains("begin before"), "{}", why.message);
    });
}

#[test]
fn a_crash_leaves_the_groups_of_what_was_committed() {
    let (disk, e, from) = filled();
    block_on(async {
        let (mut a, mut b) = (e.session(), e.session());
        a.begin(Isolation::RepeatableRead, false);
        insert(&mut a, 1).await;
        add(&mut a, &long('a'));
        a.spill_events().await.unwrap();
        b.begin(Isolation::RepeatableRead, false);
        insert(&mut b, 2).await;
        add(&mut b, "b");
        b.commit().await.unwrap();
        e.abandon().await;
        drop(a);
    });
    drop(e);
    for round in 0..3 {
        let e = opened(&disk);
        block_on(async {
            let all = groups(&e, from).await;
            assert_eq!(all[0].0, "b.");
            assert_eq!(all.len(), 1);
            let mut s = e.session();
            s.begin(Isolation::RepeatableRead, false);
            insert(&mut s, 10 + round).await;
            s.commit().await.unwrap();
            match round {
                0 => e.abandon().await,
                _ => e.close().await.unwrap(),
            }
        });
    }
}

#[test]
fn a_group_is_whole_whether_its_end_goes_with_the_commit_or_alone() {
    let (disk, e, from) = filled();
    // Around the bytes of a piece that is logged with the commit record, and of one record.
    let lens = [32 << 10, 384 << 10].map(|most: usize| [most - 2, most - 1, most, most + 1]);
    let group = |n: usize| format!("{n}{}", "x".repeat(n - n.to_string().len()));
    let expected = lens.concat().into_iter().map(|n| group(n) + ".");
    let expected: Vec<String> = expected.collect();
    block_on(async {
        let mut s = e.session();
        for (i, n) in lens.concat().into_iter().enumerate() {
            s.begin(Isolation::RepeatableRead, false);
            insert(&mut s, 1 + i as i64).await;
            add(&mut s, &group(n));
            s.commit().await.unwrap();
        }
        assert!(texts(&e, from).await == expected);
        e.abandon().await;
    });
    let e = opened(&disk);
    assert!(block_on(texts(&e, from)) == expected);
}

#[test]
fn the_log_is_kept_for_its_readers() {
    let (disk, e, from) = filled();
    e.keep_log_from(from.from);
    assert_eq!(e.log_kept_from(), Some(from.from));
    let write = async |e: &Arc<Engine>, ids: std::ops::Range<i64>| {
        let mut s = e.session();
        for id in ids {
            s.begin(Isolation::RepeatableRead, false);
            let t = s.open_table("s", "t").await.unwrap();
            s.insert(&t, &row(id, 1, 1, 200_000)).await.unwrap();
            add(&mut s, &format!("{id}"));
            s.commit().await.unwrap();
            s.begin(Isolation::RepeatableRead, false);
            s.delete_key(&t, &key(&t, id), &mut |_| Ok(true))
                .await
                .unwrap();
            s.commit().await.unwrap();
        }
    };
    let expected: Vec<String> = (0..300).map(|id| format!("{id}.")).collect();
    block_on(async {
        // Some rounds of the log.
        write(&e, 0..300).await;
        assert_eq!(texts(&e, from).await, expected);
        e.close().await.unwrap();
    });
    drop(e);
    let e = opened(&disk);
    block_on(async {
        // As it was found, though nobody has said anything yet.
        write(&e, 1000..1200).await;
        let found = texts(&e, from).await;
        assert_eq!(found[..300], expected);
        assert_eq!(found.len(), 500);
        let files = e.pager().log().segments().numbers().len();
        e.keep_log_from(e.end_of_groups().from);
        write(&e, 2000..2200).await;
        let after = e.pager().log().segments().numbers().len();
        assert!(after < files, "{after} files of {files}");
        // What is gone is told.
        assert!(e.follow(from).next().await.is_err());
        assert!(beginning(&e).from > from.from);
        e.close().await.unwrap();
    });
}

#[test]
fn what_has_nothing_to_do_comes_where_it_had_nothing_to_do() {
    let (_, e, from) = filled();
    block_on(async {
        let (mut s, mut other) = (e.session(), e.session());
        let seen = e.catalog_version();
        assert!(s.commit_group(b"before", Some(seen)).await.unwrap());
        other.set_definition_event(b"create u".to_vec());
        other.create_table(def("u")).await.unwrap();
        // Of what it has found before, nothing may be told behind that.
        assert!(!s.commit_group(b"late", Some(seen)).await.unwrap());
        let seen = e.catalog_version();
        assert!(s.commit_group(b"behind", Some(seen)).await.unwrap());
        assert_eq!(texts(&e, from).await, ["before", "create u", "behind"]);
    });
}

#[test]
fn what_goes_by_other_tables_goes_by_those_of_now() {
    let (_, e, from) = filled();
    block_on(async {
        let (mut s, mut other) = (e.session(), e.session());
        let seen = e.catalog_version();
        other.set_definition_event(b"create u".to_vec());
        other.create_table(def("u")).await.unwrap();
        s.set_definition_seen(Some(seen));
        s.set_definition_event(b"create v".to_vec());
        assert_eq!(s.create_table(def("v")).await.unwrap_err().code, 1412);
        assert!(e.catalog().table("s", "v").is_none());
        s.set_definition_seen(Some(e.catalog_version()));
        s.create_table(def("v")).await.unwrap();
        assert_eq!(texts(&e, from).await, ["create u", "create v"]);
    });
}

#[test]
fn tables_are_dropped_all_or_none_and_so_it_is_told() {
    let (_, e, from) = filled();
    block_on(async {
        let mut s = e.session();
        let names = [("s".into(), "t".into()), ("s".into(), "gone".into())];
        s.set_definition_event(b"drop t, gone".to_vec());
        let refused = s.drop_tables(&names, false).await.unwrap_err();
        assert_eq!(
            (refused.code, &*refused.message),
            (1051, "Unknown table 's.gone'")
        );
        assert!(s.take_definition_event().is_some());
        assert!(e.catalog().table("s", "t").is_some());
        let views = [("s".into(), "no view".into())];
        assert_eq!(s.drop_views(&views, false).await.unwrap_err().code, 1051);
        s.set_definition_event(b"drop if there".to_vec());
        s.drop_tables(&names, true).await.unwrap();
        assert!(e.catalog().table("s", "t").is_none());
        assert_eq!(texts(&e, from).await, ["drop if there"]);
    });
}

#[test]
fn a_change_of_definitions_leaves_its_statement_if_it_takes_place() {
    let (_, e, from) = filled();
    block_on(async {
        let mut s = e.session();
        let said = |s: &mut Session, text: &str| s.set_definition_event(text.into());
        said(&mut s, "create u");
        s.create_table(def("u")).await.unwrap();
        said(&mut s, "create u again");
        assert!(s.create_table(def("u")).await.is_err());
        assert!(s.take_definition_event().is_some());
        said(&mut s, "two indexes");
        s.alter_as("s", "u", |d| {
            d.indexes.push(index("x", IndexKind::Plain, &[1]));
            d.indexes.push(index("y", IndexKind::Unique, &[1, 0]));
            Ok(())
        })
        .await
        .unwrap();
        assert!(s.take_definition_event().is_none());
        said(&mut s, "no index");
        s.drop_index("s", "u", "x").await.unwrap();
        said(&mut s, "truncate");
        s.truncate_table("s", "u").await.unwrap();
        said(&mut s, "rename");
        let names = (("s".into(), "u".into()), ("s".into(), "v".into()));
        s.rename_tables(&[names]).await.unwrap();
        said(&mut s, "drop v, t");
        let names = [("s".into(), "v".into()), ("s".into(), "t".into())];
        s.drop_tables(&names, true).await.unwrap();
        said(&mut s, "drop schema");
        s.drop_schema("s").await.unwrap();
        let expected = [
            "create u",
            "two indexes",
            "no index",
            "truncate",
            "rename",
            "drop v, t",
            "drop schema",
        ];
        assert_eq!(texts(&e, from).await, expected);
    });
}

#[test]
fn a_prepared_transaction_leaves_its_group_when_it_is_committed() {
    let (disk, mut e, from) = filled();
    let xid = |n: u8| Xid {
        format: 1,
        gtrid: [n].into(),
        bqual: Box::default(),
    };
    let prepare = async |e: &Arc<Engine>, n: u8, text: &str| {
        let mut s = e.session();
        let mut claim = e.claim_xid(&xid(n), &BranchOwner::server()).ok();
        s.begin(Isolation::RepeatableRead, false);
        insert(&mut s, i64::from(n)).await;
        add(&mut s, text);
        s.prepare(&mut claim, false).await.unwrap();
    };
    block_on(async {
        prepare(&e, 1, "one").await;
        prepare(&e, 2, &long('2').repeat(4)).await;
        prepare(&e, 3, "three").await;
        prepare(&e, 4, "four").await;
        let mut s = e.session();
        assert!(s.rollback_prepared(&xid(3)).await.unwrap());
        assert!(s.commit_prepared(&xid(4)).await.unwrap());
        add(&mut s, "other");
        s.commit().await.unwrap();
        assert_eq!(texts(&e, from).await, ["four.", "other."]);
    });
    for crash in [true, false] {
        block_on(async {
            match crash {
                true => e.abandon().await,
                false => e.close().await.unwrap(),
            }
        });
        drop(e);
        e = opened(&disk);
    }
    block_on(async {
        let resume = groups(&e, from).await[1].1;
        let s = e.session();
        assert!(s.commit_prepared(&xid(2)).await.unwrap());
        assert!(s.commit_prepared(&xid(1)).await.unwrap());
        let two = long('2').repeat(4) + ".";
        assert!(texts(&e, from).await == ["four.", "other.", &two, "one."]);
        assert!(texts(&e, resume).await == [&two, "one."]);
    });
}

struct Counts(AtomicU64);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Who waits for a place of the log that has no group is told by him who follows it. He may have passed that place at a look that nothing follows, so his task
/// is woken once more; and not again where nothing has come since.
#[test]
fn a_place_without_a_group_is_told_of_once() {
    let (_, e, from) = filled();
    block_on(async {
        let mut s = e.session();
        s.begin(Isolation::RepeatableRead, false);
        insert(&mut s, 1).await;
        s.commit().await.unwrap();
        e.log_durable(e.end_of_groups().from).await.unwrap();
    });
    let end = e.end_of_groups().from;
    let mut follower = e.follow(from);
    let woken = Arc::new(Counts(AtomicU64::new(0)));
    let waker = Waker::from(woken.clone());
    // As a task does that lets go between its looks; what is read meanwhile it finds at the next.
    let mut look = || {
        let before = (follower.position(), woken.0.swap(0, Ordering::SeqCst));
        let mut cx = Context::from_waker(&waker);
        assert!(pin!(follower.next()).poll(&mut cx).is_pending());
        let moved = follower.position() > before.0;
        assert!(!moved || woken.0.load(Ordering::SeqCst) > 0, "{}", before.0);
        follower.position()
    };
    while look() < end {
        std::thread::yield_now();
    }
    for _ in 0..3 {
        look();
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    }
}
