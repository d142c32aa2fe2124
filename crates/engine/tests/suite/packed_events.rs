//! Groups of events that are logged in another form than the one that they were made in.

use crate::followed::{Counts, add, filled, insert, long, opened, texts};
use base::block_on;
use engine::*;

#[test]
fn a_group_is_logged_in_the_form_that_it_is_given() {
    let (disk, e, from) = filled();
    let xid = Xid {
        format: 1,
        gtrid: [1].into(),
        bqual: Box::default(),
    };
    block_on(async {
        let mut id = 0;
        let mut begun = async |s: &mut Session, text: &str| {
            s.begin(Isolation::RepeatableRead, false);
            id += 1;
            insert(s, id).await;
            add(s, text);
            *s.group_facts() = Some(Box::new(Counts));
        };
        let mut s = e.session();
        begun(&mut s, "aa").await;
        assert!(s.commit_now().is_some());
        // Long ones give way meanwhile.
        begun(&mut s, &"b".repeat(100_000)).await;
        assert!(s.commit_now().is_none());
        s.commit().await.unwrap();
        // Spilled, and taken back: nothing of it counts.
        begun(&mut s, &long('c')).await;
        s.spill_events().await.unwrap();
        s.cut_events(0);
        add(&mut s, "ccc");
        s.commit().await.unwrap();
        // Spilled: not all of it is at hand.
        begun(&mut s, &long('d')).await;
        s.spill_events().await.unwrap();
        add(&mut s, "d");
        s.commit().await.unwrap();
        // Held, however long.
        begun(&mut s, &long('e').repeat(3)).await;
        s.hold_events(0);
        s.spill_events().await.unwrap();
        s.commit().await.unwrap();
        // It stays as it is.
        begun(&mut s, "!f").await;
        s.commit().await.unwrap();
        begun(&mut s, "not").await;
        s.rollback().await.unwrap();
        begun(&mut s, "gggg").await;
        let mut claim = e.claim_xid(&xid, &BranchOwner::server()).ok();
        s.prepare(&mut claim, false).await.unwrap();
        e.abandon().await;
    });
    drop(e);
    let e = opened(&disk);
    block_on(async {
        let s = e.session();
        assert!(s.commit_prepared(&xid).await.unwrap());
        let long_d = format!("{}d.", long('d'));
        let e_len = format!("{}xe.", 3 * (300 << 10));
        let expected = ["2xa.", "100000xb.", "3xc.", &long_d, &e_len, "!f.", "4xg."];
        assert!(texts(&e, from).await == expected);
    });
}
