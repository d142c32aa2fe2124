//! Ends of files that are cut off, and backups: what a backup's log changes is in its pages.

use super::crossing::count;
use super::*;

fn gone(e: &Arc<Engine>, ids: std::ops::Range<i64>) {
    let mut s = e.session();
    block_on(async {
        s.begin(Isolation::ReadCommitted, false);
        let t = s.open_table("s", "t").await.unwrap();
        for id in ids {
            let k = key(&t, id);
            assert!(s.delete_key(&t, &k, &mut |_| Ok(true)).await.unwrap());
        }
        s.commit().await.unwrap();
    });
}

fn pages(e: &Engine) -> u64 {
    e.catalog().table("s", "t").unwrap().data_pages()
}

/// A backup has begun, and has read no page. Then nearly all rows go, and their pages with them, which its log has.
#[test]
fn no_end_is_cut_off_beside_it() {
    let disk = Arc::new(MemDisk::default());
    let e = open_at(&disk, "/db");
    drop(block_on(fill(&e, 3_000, 900)));
    block_on(e.pager().flush_all()).unwrap();
    let mut backup = block_on(e.begin_backup(Taking::default())).unwrap();
    let mut all = block_on(backup.next()).unwrap().expect("a beginning");
    let before = pages(&e);
    gone(&e, 20..3_000);
    // Long enough for all that could be done.
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until && pages(&e) == before {
        std::thread::sleep(Duration::from_millis(10));
    }
    block_on(async {
        while let Some(chunk) = backup.next().await.unwrap() {
            all.extend(chunk);
        }
        backup.finish(backup.least_end(), None, None).await.unwrap();
        while let Some(chunk) = backup.next().await.unwrap() {
            all.extend(chunk);
        }
    });
    restored(&[&all], |r| assert_eq!(count(r), 20));
    assert_eq!(pages(&e), before);
    // When it is over the file becomes as small as it can be.
    drop(backup);
    let until = Instant::now() + Duration::from_secs(20);
    while pages(&e) > 16 {
        assert!(Instant::now() < until, "{} pages", pages(&e));
        std::thread::sleep(Duration::from_millis(10));
    }
    // One that follows it has what is left.
    let (first, manifest) = taken(&e, None);
    gone(&e, 10..20);
    let (second, _) = taken(&e, Some(manifest.token()));
    restored(&[&first, &second], |r| assert_eq!(count(r), 10));
    block_on(e.close()).unwrap();
}
