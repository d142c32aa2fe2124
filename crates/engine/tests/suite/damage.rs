//! Damage to the files of a stopped directory, and a disk without room: what is found and said, and what goes on.

use crate::sim::{SimDisk, environment};
use crate::world::{def, fill, key, open_with, row, sound, within};
use base::block_on;
use engine::*;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn try_open(disk: &Arc<SimDisk>) -> Result<Arc<Engine>, String> {
    let options = EngineOptions {
        pager: PagerOptions {
            pool_bytes: 512 * 16384,
            log_capacity_bytes: 32 << 20,
            log_buffer_bytes: 8 << 20,
            ..Default::default()
        },
        flush_at_commit: 1,
        ..EngineOptions::default()
    };
    block_on(Engine::open(environment(disk), Path::new("/db"), options)).map_err(|e| e.to_string())
}

fn end(e: Arc<Engine>) {
    block_on(e.abandon());
}

fn insert(s: &mut Session, id: i64, len: usize) -> Result<(), types::SqlError> {
    block_on(async {
        let t = s.open_table("s", "t").await?;
        s.insert(&t, &row(id, id % 7, 1, len)).await.map(|_| ())
    })
}

/// Which of the rows are there.
fn ids(e: &Arc<Engine>, among: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut s = e.session();
    block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        let mut there = Vec::new();
        for id in among {
            let met = s
                .get(&t, &key(&t, id), ReadMode::Consistent, |r| r.is_some())
                .await
                .unwrap();
            if met {
                there.push(id);
            }
        }
        there
    })
}

#[test]
fn damage_in_front_of_what_was_durable_later_is_told_from_a_torn_tail() {
    within(120, "damaged log", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 512);
        let mut s = block_on(fill(&e, 50, 50));
        block_on(e.pager().flush_all()).unwrap();
        let mut commits = Vec::new();
        for id in 100..105 {
            let from = e.counters().log_end;
            insert(&mut s, id, 50).unwrap();
            block_on(s.commit()).unwrap();
            commits.push(from);
        }
        drop(s);
        let size = e.pager().log().segments().size();
        end(e);
        for (n, at) in commits.iter().enumerate() {
            let killed = disk.killed();
            let file = format!("{:012}.log", at / size);
            killed.damage(&file, |b| b[(4096 + at % size) as usize + 20] ^= 4);
            match try_open(&killed) {
                // The last one may as well not have been written.
                Ok(e) if n == 4 => {
                    assert_eq!(ids(&e, 100..105), [100, 101, 102, 103]);
                    end(e);
                }
                Ok(_) => panic!("the loss of {} transactions is not noticed", 5 - n),
                Err(why) => {
                    let named = why.contains(&format!("log segment {}", at / size))
                        && why.contains(&file)
                        && why.contains("durable");
                    assert!(named && n < 4, "{n}: {why}");
                }
            }
        }
    });
}

#[test]
fn either_copy_of_the_control_file_will_do_after_a_recovery() {
    within(120, "damaged control file", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 512);
        let mut s = block_on(fill(&e, 50, 50));
        insert(&mut s, 100, 50).unwrap();
        block_on(s.commit()).unwrap();
        drop(s);
        end(e);
        let disk = disk.killed();
        let e = open_with(environment(&disk), 512);
        let mut s = e.session();
        insert(&mut s, 101, 50).unwrap();
        block_on(s.commit()).unwrap();
        drop(s);
        end(e);
        let mut refused = 0;
        for slot in 0..2 {
            let killed = disk.killed();
            killed.damage("log/control", |b| b[slot * 4096 + 41] ^= 1);
            let e = match try_open(&killed) {
                Ok(e) => e,
                // A checkpoint since may have given up what only the older copy needs.
                Err(why) if why.contains("the other one is used") => {
                    refused += 1;
                    continue;
                }
                Err(why) => panic!("slot {slot}: {why}"),
            };
            assert_eq!(ids(&e, 100..102), [100, 101], "slot {slot}");
            end(e);
        }
        assert!(refused < 2, "the newer copy does not do");
    });
}

#[test]
fn a_tablespace_is_known_by_its_other_pages_when_its_first_is_damaged() {
    within(120, "damaged header", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 512);
        block_on(fill(&e, 50, 50));
        block_on(e.close()).unwrap();
        for at in 0..64 {
            let hurt = disk.killed();
            hurt.damage("s/t.tdb", |b| b[at] ^= 2);
            for _ in 0..2 {
                let e = try_open(&hurt).unwrap();
                assert_eq!(ids(&e, 0..50).len(), 50, "byte {at}");
                let mut s = e.session();
                let problems = block_on(async {
                    let t = s.open_table("s", "t").await.unwrap();
                    s.check_table(&t).await.unwrap()
                });
                assert!(!problems.is_empty(), "byte {at}");
                drop(s);
                block_on(e.close()).unwrap();
            }
            assert!(hurt.paths().iter().any(|p| p.ends_with("s/t.tdb")));
        }
        // No page is left to tell.
        disk.damage("s/t.tdb", |b| b.fill(0));
        let e = try_open(&disk).unwrap();
        let mut s = e.session();
        let why = block_on(s.open_table("s", "t")).err().unwrap();
        assert!(why.code == 1712 && why.message.contains("s.t"), "{why:?}");
        drop(s);
        end(e);
        assert!(disk.paths().iter().any(|p| p.ends_with("s/t.tdb")));
    });
}

/// Waits until the log has the files that it keeps: a disk is not full before a server has started.
fn has_its_segments(e: &Arc<Engine>) {
    let until = Instant::now() + Duration::from_secs(10);
    while e.pager().log().segments().numbers().len() < 4 {
        assert!(Instant::now() < until, "the log has less than four files");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn on_a_full_disk_the_log_is_used_again_after_a_checkpoint() {
    within(300, "log on a full disk", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 512);
        let mut s = block_on(fill(&e, 50, 3000));
        has_its_segments(&e);
        disk.set_room(Some(0));
        let from = e.counters().log_end;
        let mut fill = 0;
        // More than all segments hold that there are.
        while e.counters().log_end - from < 48 << 20 {
            fill = (fill + 1) % 250;
            let done = block_on(async {
                let t = s.open_table("s", "t").await?;
                for id in 0..50 {
                    let key = key(&t, id);
                    let values = row(id, id % 7, fill as u8, 3000);
                    s.update_key(&t, &key, &mut |_| Ok(Some(values.clone())))
                        .await?;
                }
                s.commit().await
            });
            done.unwrap();
        }
        drop(s);
        sound(&e, "t");
        block_on(e.close()).unwrap();
    });
}

#[test]
fn what_filled_the_log_can_be_rolled_back_on_the_full_disk() {
    within(300, "rollback on a full disk", || {
        for len in [200, 3000, 30_000] {
            let disk = SimDisk::new();
            let e = open_with(environment(&disk), 512);
            let mut s = block_on(fill(&e, 50, 50));
            // Room for a table of any length, but not for the log.
            disk.set_room(Some(64 << 20));
            s.begin(Isolation::ReadCommitted, false);
            let mut id = 1000;
            let why = loop {
                id += 1;
                if let Err(why) = insert(&mut s, id, len) {
                    break why;
                }
                if id == 1100 {
                    disk.set_room(Some(16 << 20));
                }
            };
            assert!(matches!(why.code, 1021 | 1114), "{why:?}");
            disk.set_room(Some(0));
            block_on(s.rollback()).unwrap();
            assert_eq!(ids(&e, 0..1100).len(), 50);
            // What held the log is over; whoever asks makes the keeper look again.
            let until = Instant::now() + Duration::from_secs(10);
            while let Err(why) = insert(&mut s, 2000, 50) {
                assert!(why.code == 1021 && Instant::now() < until, "{why:?}");
                block_on(s.rollback()).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
            block_on(s.commit()).unwrap();
            drop(s);
            sound(&e, "t");
            block_on(e.close()).unwrap();
        }
    });
}

#[test]
fn a_rollback_that_damage_ends_is_told_and_named_to_those_who_wait() {
    within(120, "rollback over damage", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 512);
        let mut s = block_on(fill(&e, 2000, 2000));
        block_on(s.create_table(def("u"))).unwrap();
        block_on(e.close()).unwrap();
        drop(s);
        // The copies of pages that the doublewrite file has are old after a start.
        let e = try_open(&disk).unwrap();
        let (mut s, mut other) = (e.session(), e.session());
        s.begin(Isolation::ReadCommitted, false);
        block_on(async {
            let u = s.open_table("s", "u").await.unwrap();
            s.insert(&u, &row(7, 7, 1, 10)).await.unwrap();
            let t = s.open_table("s", "t").await.unwrap();
            for id in 0..1000 {
                s.delete_key(&t, &key(&t, id), &mut |_| Ok(true))
                    .await
                    .unwrap();
            }
            // Its commit makes all of that durable in the log.
            let u = other.open_table("s", "u").await.unwrap();
            other.insert(&u, &row(8, 8, 1, 10)).await.unwrap();
            other.commit().await.unwrap();
        });
        let hurt = disk.killed();
        drop((s, other));
        end(e);
        hurt.damage("s/t.tdb", |b| {
            b.iter_mut()
                .skip(20_000)
                .step_by(8192)
                .for_each(|b| *b ^= 1);
        });
        let e = try_open(&hurt).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while e.counters().failed_rollbacks == 0 {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(5));
        }
        let told = e.notices();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("cannot be rolled back") && told[0].contains("s.t is damaged"));
        let mut s = e.session();
        s.set_lock_wait_timeout(1);
        s.set_table_wait_timeout(1);
        let why = block_on(async {
            let u = s.open_table("s", "u").await.unwrap();
            s.insert(&u, &row(7, 7, 1, 10)).await.err().unwrap()
        });
        assert!(
            why.code == 1205 && why.message.contains("s.t is damaged"),
            "{why:?}"
        );
        // The way out: without the damaged table there is nothing left that stands in the way.
        block_on(async {
            s.commit().await.unwrap();
            let index = crate::world::index("b", IndexKind::Plain, &[1]);
            let why = s.create_index("s", "u", index).await.err().unwrap();
            assert!(why.message.contains("s.t is damaged"), "{why:?}");
            s.drop_table("s", "t").await.unwrap();
            s.set_lock_wait_timeout(20);
            s.set_table_wait_timeout(20);
            let u = s.open_table("s", "u").await.unwrap();
            s.insert(&u, &row(7, 7, 1, 10)).await.unwrap();
            s.commit().await.unwrap();
        });
        drop(s);
        sound(&e, "u");
        assert_eq!(e.counters().failed_rollbacks, 1);
        end(e);
    });
}

#[test]
fn damage_to_a_compressed_file_is_found_or_does_no_harm() {
    within(300, "damaged compressed file", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 512);
        let mut s = block_on(fill(&e, 1, 1));
        let full = |id: i64| row(id, id % 50, id as u8, 150 + id as usize % 30);
        block_on(async {
            let mut compressed = def("p");
            compressed.options.row_format = "COMPRESSED".into();
            s.create_table(compressed).await.unwrap();
            let t = s.open_table("s", "p").await.unwrap();
            for id in 0..600 {
                s.insert(&t, &full(id)).await.unwrap();
            }
            s.insert(&t, &row(600, 1, 9, 40_000)).await.unwrap();
            s.commit().await.unwrap();
        });
        drop(s);
        block_on(e.close()).unwrap();
        let mut len = 0;
        disk.damage("s/p.tdb", |b| len = b.len());
        // The roots, and all of the rest in steps that meet every other unit.
        let places = (0..8192).step_by(251).chain((8192..len).step_by(1021));
        let (mut found, mut tried) = (0, 0);
        for at in places {
            let hurt = disk.killed();
            hurt.damage("s/p.tdb", |b| b[at] ^= 1 << (at % 8));
            let e = try_open(&hurt).unwrap();
            tried += 1;
            let mut s = e.session();
            let problems = block_on(async {
                let t = s.open_table("s", "p").await?;
                for id in (0..601).step_by(40) {
                    let there = |r: Option<RowRef<'_>>| r.map(|r| r.to_values());
                    let met = s.get(&t, &key(&t, id), ReadMode::Consistent, there).await?;
                    let right = match id {
                        600 => row(600, 1, 9, 40_000),
                        id => full(id),
                    };
                    assert_eq!(
                        format!("{met:?}"),
                        format!("{:?}", Some(right)),
                        "byte {at}"
                    );
                }
                s.check_table(&t).await
            });
            match problems {
                Ok(problems) => found += u32::from(!problems.is_empty()),
                Err(why) => {
                    assert!(why.message.contains("s.p"), "byte {at}: {why:?}");
                    found += 1;
                }
            }
            drop(s);
            end(e);
        }
        // Most of the file is where no page lies.
        assert!(found > 20, "{found} of {tried}");
    });
}
