//! What the system has too little of for a while: descriptors, or room in its user's quota. Statements fail with MySQL's numbers, nothing is
//! closed for good, and all goes on without a restart when it is there again.

use crate::world::{fill, key, open_with, row, sound, within};
use base::block_on;
use base::mem::{self, MemDisk};
use engine::*;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use types::SqlError;

/// What the server's log was told.
type Told = Arc<Mutex<Vec<String>>>;

fn listen(e: &Engine) -> Told {
    let told = Told::default();
    let ear = told.clone();
    e.on_notice(Arc::new(move |text| {
        ear.lock().unwrap().push(text.to_owned());
    }));
    told
}

/// Changes all rows, so that the log grows by a part of a file.
fn rewrite(s: &mut Session, fill: u8) -> Result<(), SqlError> {
    block_on(async {
        let r = async {
            let t = s.open_table("s", "t").await?;
            for id in 0..50 {
                let key = key(&t, id);
                let values = row(id, id % 7, fill, 3000);
                s.update_key(&t, &key, &mut |_| Ok(Some(values.clone())))
                    .await?;
            }
            s.commit().await
        };
        match r.await {
            Ok(()) => Ok(()),
            Err(why) => s.rollback().await.and(Err(why)),
        }
    })
}

/// Changes rows until that fails, while every descriptor that is given back is taken by somebody else; at most so often that the log is full
/// several times over.
fn until_it_fails(disk: &MemDisk, s: &mut Session) -> Option<SqlError> {
    (0..1500u32).find_map(|i| {
        disk.set_descriptors_left(Some(0));
        rewrite(s, i as u8).err()
    })
}

/// The same succeeds soon.
fn recovers(e: &Arc<Engine>, s: &mut Session) {
    let until = Instant::now() + Duration::from_secs(20);
    while let Err(why) = rewrite(s, 7) {
        assert!(Instant::now() < until, "still {why:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(e.pager().log().failure().is_none());
}

#[test]
fn a_want_of_descriptors_is_an_error_that_passes() {
    within(300, "descriptors", || {
        let disk = Arc::new(MemDisk::default());
        let e = open_with(mem::environment(disk.clone()), 512);
        let told = listen(&e);
        let mut s = block_on(fill(&e, 50, 3000));
        for round in 0..2 {
            let why = until_it_fails(&disk, &mut s).expect("the log cannot grow");
            assert_eq!(why.code, 1016, "{why:?}");
            assert!(why.message.contains("(errno: 24 - "), "{why:?}");
            // What is in memory is there.
            let t = block_on(s.open_table("s", "t")).unwrap();
            let k = key(&t, 3);
            let read = s.get(&t, &k, ReadMode::Consistent, |r| r.is_some());
            assert!(block_on(read).unwrap());
            block_on(s.commit()).unwrap();
            disk.set_descriptors_left(None);
            recovers(&e, &mut s);
            // A statement may find room in the log before the next file can be made: as long as that was not, the second want is still the first.
            // One that comes within a minute of the first is not told.
            let lasts = || {
                let told = told.lock().unwrap();
                let over = told.iter().filter(|t| t.contains("there again")).count();
                told.len() > 2 * over
            };
            let until = Instant::now() + Duration::from_secs(60);
            while lasts() {
                assert!(
                    Instant::now() < until,
                    "{round}: {why:?}, {:?}",
                    told.lock().unwrap()
                );
                recovers(&e, &mut s);
            }
        }
        drop(s);
        sound(&e, "t");
        block_on(e.close()).unwrap();
        let told = told.lock().unwrap();
        let begun = told.iter().filter(|t| t.contains("files")).count();
        assert!((1..20).contains(&begun), "{told:?}");
        assert!(told.iter().any(|t| t.contains("there again")), "{told:?}");
    });
}

#[test]
fn a_used_up_quota_is_a_full_disk() {
    within(300, "quota", || {
        let disk = Arc::new(MemDisk::default());
        let e = open_with(mem::environment(disk.clone()), 512);
        let told = listen(&e);
        let mut s = block_on(fill(&e, 50, 3000));
        disk.set_quota(0);
        // One transaction, whose log cannot be given up.
        s.begin(Isolation::ReadCommitted, false);
        let why = block_on(async {
            let t = s.open_table("s", "t").await.unwrap();
            let mut n = 0;
            loop {
                let id = n % 50;
                let values = row(id, id % 7, (n / 50) as u8, 3000);
                let key = key(&t, id);
                let mut change = |_: RowRef<'_>| Ok(Some(values.clone()));
                if let Err(why) = s.update_key(&t, &key, &mut change).await {
                    break why;
                }
                n += 1;
                assert!(n < 100_000, "it has room without end");
            }
        });
        assert_eq!(why.code, 1021, "{why:?}");
        assert!(why.message.contains("122"), "{why:?}");
        block_on(s.rollback()).unwrap();
        disk.set_room(u64::MAX);
        recovers(&e, &mut s);
        drop(s);
        sound(&e, "t");
        block_on(e.close()).unwrap();
        assert!(!told.lock().unwrap().is_empty());
    });
}

/// A table of that form with some rows, and a disk that has no room left. Gives how the table takes another row.
fn on_a_full_disk(compressed: bool) -> (Arc<MemDisk>, Arc<Engine>, Session) {
    let disk = Arc::new(MemDisk::default());
    let e = open_with(mem::environment(disk.clone()), 512);
    let mut s = e.session();
    let mut def = crate::world::def("t");
    if compressed {
        def.options.row_format = "COMPRESSED".into();
        let block = ("KEY_BLOCK_SIZE".to_owned(), "8".to_owned());
        def.options.others.push(block);
    }
    block_on(async {
        crate::world::create(&mut s, def).await;
        let t = s.open_table("s", "t").await.unwrap();
        for id in 0..300 {
            s.insert(&t, &row(id, id % 7, id as u8, 3000))
                .await
                .unwrap();
        }
        s.commit().await.unwrap();
        e.pager().flush_all().await.unwrap();
    });
    disk.set_room(0);
    (disk, e, s)
}

async fn count(s: &mut Session) -> usize {
    let t = s.open_table("s", "t").await.unwrap();
    let mut there = 0;
    for id in 0..400 {
        let k = key(&t, id);
        let met = s.get(&t, &k, ReadMode::Consistent, |r| r.is_some());
        there += usize::from(met.await.unwrap());
    }
    s.commit().await.unwrap();
    there
}

#[test]
fn a_table_is_emptied_on_a_full_disk() {
    for compressed in [false, true] {
        let (disk, e, mut s) = on_a_full_disk(compressed);
        block_on(async {
            let why = s.create_table(crate::world::def("u")).await.unwrap_err();
            assert_eq!(why.code, 1114, "{why:?}");
            for round in 0..3 {
                s.truncate_table("s", "t").await.unwrap();
                assert_eq!(count(&mut s).await, 0, "{compressed} {round}");
                let t = s.open_table("s", "t").await.unwrap();
                for id in 0..10 {
                    s.insert(&t, &row(id, id % 7, 1, 3000)).await.unwrap();
                }
                s.commit().await.unwrap();
            }
        });
        sound(&e, "t");
        block_on(e.abandon());
        drop((s, e));
        let e = open_with(mem::environment(Arc::new(disk.crash(false))), 512);
        assert_eq!(block_on(count(&mut e.session())), 10);
        sound(&e, "t");
    }
}

#[test]
fn a_table_that_is_nearly_empty_is_emptied_again_and_again_on_a_full_disk() {
    for compressed in [false, true] {
        let (disk, e, mut s) = on_a_full_disk(compressed);
        // Everything else that is free goes to somebody else after each.
        let emptied = |s: &mut Session| {
            let r = block_on(s.truncate_table("s", "t"));
            disk.set_room(0);
            r
        };
        // What a session remembers of the table keeps no room.
        let mut remembered = Vec::new();
        for round in 0..6 {
            remembered.push(e.catalog().table("s", "t").unwrap());
            emptied(&mut s).unwrap_or_else(|why| panic!("{compressed} {round}: {why:?}"));
            let why = block_on(s.create_table(crate::world::def("u"))).unwrap_err();
            assert_eq!(why.code, 1114, "{why:?}");
            let t = block_on(s.open_table("s", "t")).unwrap();
            block_on(async {
                s.insert(&t, &row(round, 1, 1, 100)).await.unwrap();
                s.commit().await.unwrap();
            });
            assert_eq!(block_on(count(&mut s)), 1, "{compressed} {round}");
        }
        sound(&e, "t");
    }
}

#[test]
fn a_rebuild_on_a_full_disk_leaves_the_table_as_it_was() {
    for compressed in [false, true] {
        for online in [false, true] {
            let (disk, e, mut s) = on_a_full_disk(compressed);
            // A few pages are had, and the rest is not.
            disk.set_room(400 << 10);
            block_on(async {
                let t = e.catalog().table("s", "t").unwrap();
                let def = t.def.clone();
                let r = s.rebuild_table(&t, def, Rewrite::Same, true, online).await;
                assert_eq!(r.unwrap_err().code, 1114, "{compressed} {online}");
                assert_eq!(count(&mut s).await, 300);
            });
            disk.set_room(64 << 20);
            let t = e.catalog().table("s", "t").unwrap();
            let r = s.rebuild_table(&t, t.def.clone(), Rewrite::Same, true, online);
            assert_eq!(block_on(r).unwrap(), Some(300));
            sound(&e, "t");
        }
    }
}

#[test]
fn temporary_files_of_a_crash_are_removed_at_the_next_start() {
    use base::environment::Disk as _;
    let disk = Arc::new(MemDisk::default());
    let e = open_with(mem::environment(disk.clone()), 512);
    let mut file = e.temp_files().create().expect("a file");
    block_on(file.append(b"rows")).expect("there is room");
    let after = Arc::new(disk.crash(true));
    drop((file, e));
    let names = || after.read_dir("/db/temp".as_ref()).expect("a folder");
    assert_eq!(names().len(), 1);
    let e = open_with(mem::environment(after.clone()), 512);
    assert_eq!(names(), []);
    drop(e);
}
