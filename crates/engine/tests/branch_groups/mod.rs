//! The parts of a branch as groups of their own: what is prepared is in one as surely as it is prepared, and so is its end, whatever crashes.

use crate::followed::{add, insert, opened_with, texts};
use base::block_on;
use base::mem::MemDisk;
use engine::*;
use std::any::Any;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Says of each part what it is.
struct Parts;

impl GroupEnd for Parts {
    fn end(&self, _: Option<&mut (dyn Any + Send + Sync)>, _: i64, out: &mut Vec<u8>) {
        out.push(b'.');
    }

    fn branch(
        &self,
        part: BranchPart<'_>,
        facts: Option<&mut (dyn Any + Send + Sync)>,
        wall_us: i64,
        out: &mut Vec<u8>,
    ) -> bool {
        assert!(wall_us > 0);
        let (what, xid) = match part {
            BranchPart::Prepared(x) => ("prepared", x),
            BranchPart::InOne(x) => ("in one", x),
            BranchPart::Committed(x) => ("committed", x),
            BranchPart::RolledBack(x) => ("rolled back", x),
        };
        let said = facts.and_then(|f| f.downcast_ref::<&str>());
        let text = format!(" {what} {}{}", xid.gtrid[0], said.unwrap_or(&""));
        out.extend_from_slice(text.as_bytes());
        true
    }
}

fn xid(n: u8) -> Xid {
    Xid {
        format: 1,
        gtrid: [n].into(),
        bqual: Box::default(),
    }
}

fn told() -> Option<Box<dyn Any + Send + Sync>> {
    Some(Box::new("!"))
}

fn opened(disk: &Arc<MemDisk>) -> Arc<Engine> {
    opened_with(disk, Arc::new(Parts))
}

fn filled() -> (Arc<MemDisk>, Arc<Engine>, GroupPosition) {
    let disk = Arc::new(MemDisk::default());
    let e = opened(&disk);
    block_on(async {
        crate::world::create(&mut e.session(), crate::world::def("t")).await;
    });
    let from = e.end_of_groups();
    (disk, e, from)
}

/// A session at work in a branch, with `rows` rows.
async fn at_work(e: &Arc<Engine>, n: u8, rows: i64) -> (Session, Option<XidClaim>) {
    let mut s = e.session();
    let claim = e.claim_xid(&xid(n), &BranchOwner::server()).ok();
    s.begin(Isolation::RepeatableRead, false);
    s.set_branch(&xid(n));
    for row in 0..rows {
        insert(&mut s, i64::from(n) * 1000 + row).await;
    }
    add(&mut s, &format!("branch {n}"));
    (s, claim)
}

async fn prepare(e: &Arc<Engine>, n: u8, rows: i64) {
    let (mut s, mut claim) = at_work(e, n, rows).await;
    s.prepare(&mut claim, false).await.unwrap();
    assert!(!s.take_group_end().is_none() && s.take_group_end().is_none());
}

async fn names(e: &Arc<Engine>) -> Vec<u8> {
    let all = e.prepared().await.unwrap();
    all.iter().map(|p| p.xid.gtrid[0]).collect()
}

fn crashed(disk: &Arc<MemDisk>, e: Arc<Engine>) -> (Arc<MemDisk>, Arc<Engine>) {
    let left = Arc::new(disk.crash(false));
    block_on(e.abandon());
    drop(e);
    let e = opened(&left);
    (left, e)
}

#[test]
fn each_part_is_a_group_and_what_nobody_tells_is_none() {
    let (disk, e, from) = filled();
    let mut expected = Vec::new();
    block_on(async {
        for n in 1..=5 {
            prepare(&e, n, 1).await;
            expected.push(format!("branch {n} prepared {n}"));
        }
        // One that has left nothing is in no group, and its end neither.
        let mut s = e.session();
        let mut claim = e.claim_xid(&xid(9), &BranchOwner::server()).ok();
        s.begin(Isolation::RepeatableRead, false);
        insert(&mut s, 9000).await;
        s.prepare(&mut claim, false).await.unwrap();
        assert!(s.take_group_end().is_none());
        let end = s.commit_branch(&xid(9), told()).await.unwrap().unwrap();
        assert!(end.group_end.is_none());

        let end = s.commit_branch(&xid(1), told()).await.unwrap().unwrap();
        assert!(!end.group_end.is_none() && e.groups_committed() == end.group_end);
        let end = s.rollback_branch(&xid(2), told()).await.unwrap().unwrap();
        assert!(!end.group_end.is_none() && e.groups_committed() == end.group_end);
        assert!(s.commit_prepared(&xid(3)).await.unwrap(), "nobody is told");
        assert!(s.commit_branch(&xid(3), told()).await.unwrap().is_none());
        let (mut one, _claim) = at_work(&e, 6, 1).await;
        one.commit().await.unwrap();
    });
    for text in [" committed 1!", " rolled back 2!", "branch 6 in one 6"] {
        expected.push(text.to_owned());
    }
    block_on(async { assert_eq!(texts(&e, from).await, expected) });
    let (_disk, e) = crashed(&disk, e);
    block_on(async {
        assert_eq!(names(&e).await, [4, 5]);
        let s = e.session();
        s.rollback_branch(&xid(4), told()).await.unwrap().unwrap();
        s.commit_branch(&xid(5), told()).await.unwrap().unwrap();
        expected.push(" rolled back 4!".to_owned());
        expected.push(" committed 5!".to_owned());
        assert_eq!(texts(&e, from).await, expected);
        // It is again somebody's name, and nothing of it is left.
        prepare(&e, 4, 1).await;
        prepare(&e, 2, 1).await;
    });
}

/// What is done for a branch, up to some moment; then the power goes. A group is there exactly where what it says is so.
#[test]
fn a_group_and_what_it_says_survive_together() {
    type Step = (&'static str, &'static str);
    let steps: [Step; 3] = [
        ("prepare", "branch 1 prepared 1"),
        ("rollback", " rolled back 1!"),
        ("commit", " committed 1!"),
    ];
    for (step, group) in steps {
        let (mut with, mut polled) = (0, 0);
        for polls in 1..400 {
            let (disk, e, from) = filled();
            let over = block_on(async {
                // Enough for its rollback to give way to others.
                let (mut s, mut claim) = at_work(&e, 1, 250).await;
                if step != "prepare" {
                    s.prepare(&mut claim, false).await.unwrap();
                }
                let name = xid(1);
                let ender = e.session();
                let mut work = pin!(async {
                    match step {
                        "prepare" => s.prepare(&mut claim, false).await.unwrap(),
                        "rollback" => {
                            let done = ender.rollback_branch(&name, told()).await;
                            done.unwrap().unwrap();
                        }
                        _ => {
                            let done = ender.commit_branch(&name, told()).await;
                            done.unwrap().unwrap();
                        }
                    }
                });
                let mut over = false;
                for _ in 0..polls {
                    let mut cx = Context::from_waker(Waker::noop());
                    if let Poll::Ready(()) = work.as_mut().poll(&mut cx) {
                        over = true;
                        break;
                    }
                    std::thread::yield_now();
                }
                // All that is in the log so far is on the disk.
                if !over {
                    e.log_durable(e.end_of_groups().from).await.unwrap();
                }
                let left = Arc::new(disk.crash(false));
                let again = opened(&left);
                let there = texts(&again, from).await.iter().any(|t| t == group);
                let prepared = names(&again).await == [1];
                assert_eq!(there, prepared == (step == "prepare"), "{step}, {polls}");
                assert!(there || !over, "{step} was acknowledged");
                with += usize::from(there);
                polled = polls;
                again.close().await.unwrap();
                over
            });
            block_on(e.abandon());
            if over {
                break;
            }
        }
        assert!(with > 0, "{step}: none of {polled}");
        if step == "rollback" {
            assert!(with > 1, "its rollback was never under way");
        }
    }
}
