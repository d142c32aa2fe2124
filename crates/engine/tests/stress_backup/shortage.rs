//! Slow readers, full disks, damaged pages and power cuts beside a backup: it may fail, and nothing else does.

use crate::load::put;
use crate::sim::{self, Cut, SimDisk};
use crate::world::{fill, row, sound, within};
use crate::{all_rows, open_at, options};
use base::environment::Disk;
use base::mem::MemDisk;
use base::{Environment, SplitMix64, block_on};
use engine::backup::*;
use engine::*;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn who_reads_too_slowly_holds_nothing_up() {
    within(200, "a slow reader", || {
        let disk = Arc::new(MemDisk::default());
        let e = open_at(&disk, "/db");
        let mut s = block_on(fill(&e, 100, 100));
        let mut backup = block_on(e.begin_backup(Taking::default())).unwrap();
        block_on(backup.next()).unwrap();
        // More log than is kept for it: eight times the capacity.
        let begun = e.counters().log_end;
        let mut n = 0u8;
        while e.counters().log_end - begun < 64 << 20 {
            n = n.wrapping_add(1);
            block_on(async {
                s.begin(Isolation::ReadCommitted, false);
                let t = s.open_table("s", "t").await.unwrap();
                for id in 0..50 {
                    put(&mut s, &t, id, (1, n, 6_000)).await;
                }
                s.commit().await.unwrap();
            });
        }
        let e1 = block_on(async {
            loop {
                match backup.next().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("there is a backup"),
                    Err(e) => return e,
                }
            }
        });
        assert!(matches!(e1, BackupError::LogGone), "{e1}");
        drop(backup);
        // What was kept is given back.
        let until = Instant::now() + Duration::from_secs(60);
        let log = || {
            let files = disk.read_dir(Path::new("/db/log")).unwrap();
            files.iter().filter(|f| f.0.ends_with(".log")).count()
        };
        while log() > 20 {
            assert!(Instant::now() < until, "{} files of log", log());
            // Purge needs some of it for a while.
            block_on(e.pager().flush_all()).unwrap();
            std::thread::sleep(Duration::from_millis(50));
        }
        drop(s);
        block_on(e.close()).unwrap();
    });
}

/// Everything in a folder's backup.
fn folder(environment: &Environment, dir: &str) -> Result<Vec<u8>, Unusable> {
    let mut all = Vec::new();
    let mut reader = FolderReader::open(&*environment.disk, Path::new(dir))?;
    io::Read::read_to_end(&mut reader, &mut all)?;
    Ok(all)
}

fn numbers(e: &Arc<Engine>) -> Vec<i64> {
    let mut s = e.session();
    s.begin(Isolation::RepeatableRead, true);
    let t = block_on(s.open_table("s", "t")).unwrap();
    block_on(all_rows(&mut s, &t)).into_keys().collect()
}

#[test]
fn a_power_cut_beside_a_backup_harms_nothing() {
    within(300, "power cuts", || {
        let mut rng = sim::seeded(52);
        let dir = Path::new("/db");
        for round in 0..6 {
            let disk = SimDisk::new();
            let environment = sim::environment(&disk);
            let e = block_on(Engine::open(environment.clone(), dir, options())).unwrap();
            let mut s = block_on(fill(&e, 200, 300));
            let mut backup = block_on(e.begin_backup(Taking::default())).unwrap();
            let mut to = FolderWriter::new(&environment.disk, Path::new("/b")).unwrap();
            let cut_at = rng.below(12);
            let mut last = 200;
            let mut insert = |s: &mut Session| {
                block_on(async {
                    s.begin(Isolation::ReadCommitted, false);
                    let t = s.open_table("s", "t").await.unwrap();
                    for _ in 0..40 {
                        let values = row(last, 1, 1, 7_000);
                        s.insert(&t, &values).await.unwrap();
                        last += 1;
                    }
                    s.commit().await.unwrap();
                });
                last
            };
            let mut chunks = 0;
            let mut cut = None;
            let mut look = |acknowledged: i64, rng: &mut SplitMix64| {
                let how = [Cut::Nothing, Cut::All, Cut::Some(50)][rng.below(3) as usize];
                cut.get_or_insert_with(|| (disk.cut(how, rng), acknowledged));
            };
            let mut acknowledged = 200;
            while let Some(chunk) = block_on(backup.next()).unwrap() {
                to.push(&chunk).unwrap();
                acknowledged = insert(&mut s);
                chunks += 1;
                if chunks == cut_at {
                    look(acknowledged, &mut rng);
                }
            }
            look(acknowledged, &mut rng);
            block_on(backup.finish(backup.least_end(), None, None)).unwrap();
            while let Some(chunk) = block_on(backup.next()).unwrap() {
                to.push(&chunk).unwrap();
            }
            to.finish(backup.manifest()).unwrap();
            let whole = disk.cut(Cut::Nothing, &mut rng);
            drop(s);
            block_on(e.close()).unwrap();

            // The server comes back with all that it had acknowledged, and the backup is none.
            let (cut, acknowledged) = cut.unwrap();
            let environment = sim::environment(&cut);
            let e = block_on(Engine::open(environment.clone(), dir, options())).unwrap();
            let found = numbers(&e);
            assert!(found.len() as i64 >= acknowledged, "round {round}");
            sound(&e, "t");
            block_on(e.close()).unwrap();
            assert!(folder(&environment, "/b").is_err(), "round {round}");

            // One that was finished is whole, whatever was not synced; and so is what is restored from it.
            let environment = sim::environment(&whole);
            let bytes = folder(&environment, "/b").unwrap();
            let manifest = manifest_in(&*environment.disk, Path::new("/b")).unwrap();
            assert_eq!(verify(&bytes[..]).unwrap().manifest, manifest);
            let mut restore = engine::backup::restore(&environment, Path::new("/r")).unwrap();
            restore.read(&bytes[..], true).unwrap();
            // Nothing that a start would take for a directory is there before all of it is.
            let early = sim::environment(&whole.cut(Cut::All, &mut rng));
            assert!(!early.disk.exists(Path::new("/r/log/control")));
            restore.finish().unwrap();
            let kept = whole.cut(Cut::Nothing, &mut rng);
            let opened = Engine::open(sim::environment(&kept), Path::new("/r"), options());
            let e = block_on(opened).unwrap();
            let found = numbers(&e);
            assert!(found.iter().copied().eq(0..found.len() as i64));
            assert!(found.len() as i64 >= acknowledged, "round {round}");
            sound(&e, "t");
            block_on(e.close()).unwrap();
        }
    });
}

#[test]
fn a_full_disk_ends_a_backup_and_nothing_else() {
    let disk = Arc::new(MemDisk::default());
    let e = open_at(&disk, "/db");
    let mut s = block_on(fill(&e, 500, 2_000));
    let target = Arc::new(MemDisk::default());
    let other: Arc<dyn Disk> = target.clone();
    // Not even the pages that are there have room.
    block_on(e.pager().flush_all()).unwrap();
    target.set_room(600);
    let mut to = FolderWriter::new(&other, Path::new("/b")).unwrap();
    let ended = block_on(async {
        let mut backup = e.begin_backup(Taking::default()).await.unwrap();
        loop {
            let chunk = backup.next().await.unwrap().expect("it is not over");
            if let Err(e) = to.push(&chunk) {
                return e;
            }
        }
    });
    assert_eq!(ended.kind(), io::ErrorKind::StorageFull);
    to.abandon();
    assert!(!target.exists(Path::new("/b/backup.chunks")));
    block_on(async {
        s.begin(Isolation::ReadCommitted, false);
        let t = s.open_table("s", "t").await.unwrap();
        put(&mut s, &t, 9_999, (1, 1, 1)).await;
        s.commit().await.unwrap();
    });
    drop(s);
    block_on(e.close()).unwrap();
}

#[test]
fn a_damaged_page_ends_a_backup_with_its_name() {
    let disk = Arc::new(MemDisk::default());
    let e = open_at(&disk, "/db");
    drop(block_on(fill(&e, 3_000, 400)));
    block_on(e.close()).unwrap();
    drop(e);
    assert!(disk.damage(Path::new("/db/data/s/t.tdb"), |b| b[20 * 16384 + 99] ^= 1));
    let e = open_at(&disk, "/db");
    let failed = block_on(async {
        let mut backup = e.begin_backup(Taking::default()).await.unwrap();
        loop {
            match backup.next().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("there is a backup of a damaged page"),
                Err(e) => return e.to_string(),
            }
        }
    });
    assert!(failed.contains("page 20 of tablespace 2"), "{failed}");
    block_on(e.close()).unwrap();
}

#[test]
fn on_a_full_disk_the_log_is_not_kept_for_a_backup() {
    within(200, "a full disk", || {
        let disk = Arc::new(MemDisk::default());
        let e = open_at(&disk, "/db");
        let mut s = block_on(fill(&e, 100, 3_000));
        let change = |s: &mut Session, n: u8| {
            block_on(async {
                s.begin(Isolation::ReadCommitted, false);
                let t = s.open_table("s", "t").await.unwrap();
                // In place: no page is needed but those that there are.
                for id in 0..50 {
                    put(s, &t, id, (1, n, 3_000)).await;
                }
                s.commit().await.unwrap();
            });
        };
        // As much of everything as there will be.
        for n in 0..60 {
            change(&mut s, n);
        }
        let mut backup = block_on(e.begin_backup(Taking::default())).unwrap();
        block_on(backup.next()).unwrap();
        disk.set_room(1 << 20);
        // Less than is kept where there is room.
        let begun = e.counters().log_end;
        let mut n = 0u8;
        while e.counters().log_end - begun < 24 << 20 {
            n = n.wrapping_add(1);
            change(&mut s, n);
        }
        let ended = loop {
            match block_on(backup.next()) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("there is a backup"),
                Err(e) => break e,
            }
        };
        assert!(matches!(ended, BackupError::LogGone), "{ended}");
        drop((backup, s));
        block_on(e.close()).unwrap();
    });
}
