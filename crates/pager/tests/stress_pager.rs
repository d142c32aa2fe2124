//! The pager on a hostile disk and under contention: power cuts that tear, killed processes, waits that must end.

mod sim;
mod waits;

use base::{Lsn, PageNo, SpaceId, TxnId, block_on};
use pager::log::record::RecordKind;
use pager::{OpError, Page, PageKind, Pager, PagerOptions, Purpose, RedoTable, Report};
use sim::{Cut, SimDisk, environment, seeded};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const OP_FORMAT: u8 = 32;
const OP_SET: u8 = 33;

fn apply(op: u8, page: &mut Page, payload: &[u8], _start: Lsn) -> Result<(), &'static str> {
    if op == OP_FORMAT {
        page.format(PageKind::Leaf, 0, 1);
        return Ok(());
    }
    let at = u32::from_le_bytes(payload[..4].try_into().unwrap()) as usize;
    page.bytes_mut()[at..at + payload.len() - 4].copy_from_slice(&payload[4..]);
    Ok(())
}

fn options(pool_pages: u64) -> PagerOptions {
    PagerOptions {
        pool_bytes: pool_pages * 16384,
        log_capacity_bytes: 32 << 20,
        log_buffer_bytes: 8 << 20,
        ..Default::default()
    }
}

fn try_open(
    disk: &Arc<SimDisk>,
    pool_pages: u64,
    observe: &mut pager::Observer<'_>,
) -> Result<(Arc<Pager>, Report), pager::OpenError> {
    let mut redo = RedoTable::default();
    redo.register(32..64, apply);
    block_on(pager::open(
        environment(disk),
        options(pool_pages),
        Path::new("/db"),
        redo,
        observe,
    ))
}

fn open(disk: &Arc<SimDisk>, pool_pages: u64) -> (Arc<Pager>, Report) {
    try_open(disk, pool_pages, &mut |_, _, _| {}).expect("open")
}

/// Fails instead of hanging when `f` does not come to its end.
fn within<T: Send + 'static>(
    seconds: u64,
    what: &str,
    f: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (tx, rx) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = tx.send(f());
    });
    match rx.recv_timeout(Duration::from_secs(seconds)) {
        Ok(v) => v,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: still waiting"),
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{what}: panicked"),
    }
}

fn create(p: &Arc<Pager>, id: u32, n: usize) -> (Arc<pager::Space>, Vec<PageNo>) {
    let dir = Path::new("/db/data/test");
    p.environment().disk.create_dir_all(dir).unwrap();
    let space = p
        .create_space(SpaceId(id), &dir.join(format!("t{id}.tdb")), None)
        .unwrap();
    let pages = (0..n).map(|_| alloc(p, &space)).collect();
    (space, pages)
}

fn alloc(p: &Arc<Pager>, space: &Arc<pager::Space>) -> PageNo {
    block_on(p.run(|| {
        let mut m = p.mtr()?;
        let ix = p.alloc_page(&mut m, space)?;
        m.op_init(ix, OP_FORMAT, &[]);
        let no = m.page_no(ix);
        m.commit();
        Ok(no)
    }))
    .unwrap()
}

fn free(p: &Arc<Pager>, space: &Arc<pager::Space>, no: PageNo) {
    block_on(p.run(|| {
        let mut m = p.mtr()?;
        let ix = m.add(p.exclusive(space, no)?);
        p.free_page(&mut m, space, ix)?;
        m.commit();
        Ok(())
    }))
    .unwrap()
}

fn put(
    p: &Arc<Pager>,
    space: &Arc<pager::Space>,
    page: PageNo,
    at: u32,
    bytes: &[u8],
) -> Result<Lsn, OpError> {
    block_on(p.run(|| {
        let mut m = p.mtr()?;
        let ix = m.add(p.exclusive(space, page)?);
        m.op(ix, OP_SET, &[&at.to_le_bytes(), bytes]);
        m.set_txn(RecordKind::Change, TxnId(1), Lsn::NONE);
        Ok(m.commit().end)
    }))
}

fn set(p: &Arc<Pager>, space: &Arc<pager::Space>, page: PageNo, at: u32, v: u64) -> Lsn {
    put(p, space, page, at, &v.to_le_bytes()).unwrap()
}

fn get(p: &Arc<Pager>, space: &Arc<pager::Space>, page: PageNo, at: usize) -> u64 {
    block_on(p.run(|| Ok(base::le::get_u64(p.shared(space, page)?.bytes(), at)))).unwrap()
}

fn stop(p: &Arc<Pager>) {
    p.halt();
    block_on(p.stopped());
}

/// The next process counts as durable what it found; so it must be before anything is built on it.
#[test]
fn a_killed_process_leaves_nothing_for_a_later_power_cut_to_take() {
    for round in 0..8u64 {
        let mut rng = seeded(round);
        let disk = SimDisk::new();
        // With the small pool pages were written, with the large one only the log.
        let (p, _) = open(&disk, if round < 4 { 64 } else { 512 });
        let (old, old_pages) = create(&p, 5, 40);
        for i in 0..5_000u64 {
            let page = old_pages[rng.below(40) as usize];
            set(&p, &old, page, 64 + rng.below(500) as u32 * 8, i);
        }
        // Traffic on another file drives the first one's pages out.
        let (new, new_pages) = create(&p, 6, 90);
        for i in 0..10_000u64 {
            let page = new_pages[rng.below(90) as usize];
            set(&p, &new, page, 64 + rng.below(500) as u32 * 8, i);
        }
        let last = p.log().complete();
        block_on(p.log().wait_written(last)).unwrap();
        let found = disk.killed();
        stop(&p);
        // The second process reads everything, commits something, and perhaps makes a checkpoint.
        let (q, r) = open(&found, 4096);
        assert!(r.damaged.is_empty(), "{r:?}");
        let read = |p: &Arc<Pager>| {
            let mut seen = BTreeMap::new();
            for (id, pages) in [(5, &old_pages), (6, &new_pages)] {
                let space = p.space(SpaceId(id)).unwrap();
                for page in pages {
                    for at in (64..4064).step_by(8) {
                        seen.insert((id, *page, at), get(p, &space, *page, at));
                    }
                }
            }
            seen
        };
        let mut seen = read(&q);
        if round % 2 == 1 {
            q.start_checkpoints();
            block_on(q.flush_all()).unwrap();
        }
        let space = q.space(SpaceId(6)).unwrap();
        let last = set(&q, &space, new_pages[1], 72, 815);
        seen.insert((6, new_pages[1], 72), 815);
        block_on(q.log().wait_durable(last)).unwrap();
        let cut = [Cut::Nothing, Cut::Some(50)][round as usize / 2 % 2];
        let after = found.cut(cut, &mut rng);
        stop(&q);
        let (z, r) = open(&after, 4096);
        assert!(r.damaged.is_empty() && r.log_end >= last, "{last} {r:?}");
        assert!(read(&z) == seen, "round {round}");
        stop(&z);
    }
}

/// A record that never became durable as a whole must not come back when a later one happens to end where it began.
#[test]
fn no_record_of_a_lost_end_is_taken_for_a_new_one() {
    let disk = SimDisk::new();
    let (p, _) = open(&disk, 64);
    p.start_checkpoints();
    let (space, pages) = create(&p, 5, 2);
    block_on(p.close()).unwrap();
    drop(space);
    // After a clean start two records are written; of the first one only the second sector is lost.
    let (p, r) = open(&disk, 64);
    assert!(r.clean);
    let space = p.space(SpaceId(5)).unwrap();
    let first = put(&p, &space, pages[0], 64, &[1; 2000]).unwrap();
    let second = put(&p, &space, pages[1], 64, &[2; 2000]).unwrap();
    block_on(p.log().wait_written(second)).unwrap();
    let after = disk.cut(Cut::All, &mut seeded(1));
    stop(&p);
    let size = 4u64 << 20;
    let name = format!("{:012}.log", r.log_end.0 / size);
    after.damage(&name, |b| {
        let at = 4096 + ((r.log_end.0 + 1000) % size) as usize;
        b[at..at + 512].fill(0);
    });
    let (p, r) = open(&after, 64);
    assert_eq!(r.records, 1, "nothing but the last checkpoint: {r:?}");
    let space = p.space(SpaceId(5)).unwrap();
    let again = put(&p, &space, pages[0], 64, &[3; 2000]).unwrap();
    block_on(p.log().wait_durable(again)).unwrap();
    let after = after.cut(Cut::Nothing, &mut seeded(2));
    stop(&p);
    let mut seen = 0;
    let (p, _) = try_open(&after, 64, &mut |_, _, r| {
        seen += u32::from(r.header().kind == RecordKind::Change);
    })
    .unwrap();
    assert_eq!(seen, 1, "{first} {second} {again}");
    let space = p.space(SpaceId(5)).unwrap();
    assert_eq!(get(&p, &space, pages[1], 64), 0);
    stop(&p);
}

/// Making the directory is cut short at every step.
#[test]
fn a_directory_half_made_can_be_opened() {
    for cut in [Cut::Nothing, Cut::Some(50), Cut::All] {
        for n in 1.. {
            let disk = SimDisk::new();
            disk.arm(n, cut, &seeded(n));
            let (p, _) = open(&disk, 64);
            stop(&p);
            let Some(after) = disk.sprung() else { break };
            let (p, _) = try_open(&after, 64, &mut |_, _, _| {})
                .unwrap_or_else(|e| panic!("cut {n} {cut:?}: {e}"));
            stop(&p);
        }
    }
}

/// The log is as full as it gets when the power goes: the next process must be able to write at once.
#[test]
fn a_full_log_can_be_written_after_recovery() {
    within(60, "full log", || {
        let mut disk = SimDisk::new();
        for round in 0..6u64 {
            let (p, r) = open(&disk, 4096);
            assert!(r.damaged.is_empty(), "{r:?}");
            let space = match p.space(SpaceId(5)) {
                Ok(s) => s,
                Err(_) => create(&p, 5, 20).0,
            };
            // Without checkpoints the log fills up to its capacity.
            let mut last = Lsn::NONE;
            if round > 0 {
                // Rollback and whatever else is to be written at start-up.
                p.start_checkpoints();
                for i in 0..2000 {
                    let no = PageNo(1 + i % 19);
                    last = put(&p, &space, no, 64, &[i as u8; 9000]).unwrap();
                }
            }
            while round == 0 && p.log().admit(Purpose::Tidy).is_ok() {
                last = put(&p, &space, PageNo(1), 64, &[7; 16000]).unwrap();
            }
            block_on(p.log().wait_durable(last)).unwrap();
            disk = disk.cut(Cut::Some(50), &mut seeded(round));
            stop(&p);
        }
        let (p, _) = open(&disk, 4096);
        p.start_checkpoints();
        let space = p.space(SpaceId(5)).unwrap();
        for i in 0..4000u64 {
            put(&p, &space, PageNo(1 + i as u32 % 19), 64, &[7; 16000]).unwrap();
        }
        block_on(p.close()).unwrap();
    });
}

/// Committers with nothing but each other to wake them.
#[test]
fn waits_for_the_log_end() {
    within(50, "log waits", || {
        let disk = SimDisk::new();
        let (p, _) = open(&disk, 256);
        p.start_checkpoints();
        let (space, pages) = create(&p, 5, 8);
        let stop_looking = AtomicBool::new(false);
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while !stop_looking.load(Ordering::Relaxed) {
                        // As a snapshot does.
                        p.log().complete();
                    }
                });
            }
            let workers: Vec<_> = (0..3usize)
                .map(|t| {
                    let (p, space, pages) = (&p, &space, &pages);
                    s.spawn(move || {
                        for i in 0..3000u64 {
                            let lsn = set(p, space, pages[t], 64, i);
                            let log = p.log();
                            let wait = async {
                                match i % 3 {
                                    0 => log.wait_complete(lsn).await,
                                    1 => log.wait_written(lsn).await,
                                    _ => log.wait_durable(lsn).await,
                                }
                            };
                            block_on(wait).unwrap();
                        }
                    })
                })
                .collect();
            for w in workers {
                w.join().unwrap();
            }
            stop_looking.store(true, Ordering::Relaxed);
        });
        block_on(p.close()).unwrap();
    });
}

/// Pages come and go under readers that still know their numbers, in a pool that is far too small.
#[test]
fn a_page_is_never_in_two_frames() {
    within(50, "page reuse", || {
        let disk = SimDisk::new();
        let (p, _) = open(&disk, 64);
        p.start_checkpoints();
        let (space, _) = create(&p, 5, 1);
        let done = AtomicBool::new(false);
        let turn = AtomicU64::new(0);
        std::thread::scope(|s| {
            for t in 0..3u64 {
                let (p, space, done) = (&p, &space, &done);
                s.spawn(move || {
                    let mut rng = seeded(t);
                    while !done.load(Ordering::Relaxed) {
                        let no = PageNo(1 + rng.below(200) as u32);
                        match block_on(p.run(|| p.shared(space, no).map(|g| g.lsn()))) {
                            Ok(_) => {}
                            Err(OpError::Corrupt { why, .. }) => assert!(
                                why == pager::page::NEVER_WRITTEN || why.contains("ends before"),
                                "{why}"
                            ),
                            Err(e) => panic!("{e}"),
                        }
                    }
                });
            }
            let writers: Vec<_> = (0..3u64)
                .map(|t| {
                    let (p, space, turn) = (&p, &space, &turn);
                    s.spawn(move || {
                        let mut rng = seeded(100 + t);
                        let mut mine: Vec<(PageNo, u64)> = Vec::new();
                        for _ in 0..4000 {
                            if mine.len() < 40 && !rng.one_in(3) {
                                let no = alloc(p, space);
                                let v = turn.fetch_add(1, Ordering::Relaxed) + 1;
                                set(p, space, no, 64, v);
                                mine.push((no, v));
                            } else if !mine.is_empty() {
                                let i = rng.below(mine.len() as u64) as usize;
                                let (no, v) = mine[i];
                                assert_eq!(get(p, space, no, 64), v, "{no:?}");
                                if rng.one_in(2) {
                                    mine.swap_remove(i);
                                    free(p, space, no);
                                }
                            }
                        }
                        for (no, v) in mine {
                            assert_eq!(get(p, space, no, 64), v, "{no:?}");
                        }
                    })
                })
                .collect();
            let r: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
            done.store(true, Ordering::Relaxed);
            assert!(r.iter().all(Result::is_ok));
        });
        block_on(p.close()).unwrap();
    });
}

/// A device that fails must end every wait with an error.
#[test]
fn a_broken_device_hangs_nobody() {
    for broken in [".tdb", ".log", "doublewrite"] {
        within(30, broken, move || {
            let disk = SimDisk::new();
            let (p, _) = open(&disk, 64);
            p.start_checkpoints();
            let (space, pages) = create(&p, 5, 200);
            std::thread::scope(|s| {
                for t in 0..3u64 {
                    let (p, space, pages) = (&p, &space, &pages);
                    s.spawn(move || {
                        let mut rng = seeded(t);
                        loop {
                            let page = pages[rng.below(200) as usize];
                            let Ok(lsn) = put(p, space, page, 64, &[1; 500]) else {
                                return;
                            };
                            if rng.one_in(10) && block_on(p.log().wait_durable(lsn)).is_err() {
                                return;
                            }
                        }
                    });
                }
                let flusher = s.spawn(|| while block_on(p.flush_all()).is_ok() {});
                std::thread::sleep(Duration::from_millis(300));
                disk.break_writes(broken);
                flusher.join().unwrap();
            });
            assert!(block_on(p.close()).is_err());
        });
    }
}

/// Concurrent checkpoints (FLUSH beside the cleaner's own): after any cut nothing acknowledged is missing.
#[test]
fn checkpoints_beside_each_other_lose_nothing() {
    for seed in 0..3u64 {
        let disk = SimDisk::new();
        let (p, _) = open(&disk, 64);
        p.start_checkpoints();
        let (space, pages) = create(&p, 5, 90);
        let done = AtomicBool::new(false);
        let acked: Vec<AtomicU64> = (0..90).map(|_| AtomicU64::new(0)).collect();
        let mut cuts = Vec::new();
        std::thread::scope(|s| {
            for t in 0..3usize {
                let (p, space, pages, done, acked) = (&p, &space, &pages, &done, &acked);
                s.spawn(move || {
                    let mut rng = seeded(seed * 10 + t as u64);
                    let mut n = 0;
                    while !done.load(Ordering::Relaxed) {
                        let i = t * 30 + rng.below(30) as usize;
                        n += 1;
                        let at = 64 + rng.below(1900) as u32 * 8;
                        put(p, space, pages[i], at, &[n as u8; 8]).unwrap();
                        let lsn = set(p, space, pages[i], 64, n);
                        if rng.one_in(20) {
                            block_on(p.log().wait_durable(lsn)).unwrap();
                            acked[i].store(n, Ordering::Release);
                        }
                    }
                });
            }
            for _ in 0..2 {
                s.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        block_on(p.flush_all()).unwrap();
                    }
                });
            }
            let mut rng = seeded(seed);
            for _ in 0..3 {
                std::thread::sleep(Duration::from_millis(200));
                let before: Vec<u64> = acked.iter().map(|a| a.load(Ordering::Acquire)).collect();
                let cut = [Cut::Nothing, Cut::Some(50), Cut::Some(90)][rng.below(3) as usize];
                cuts.push((before, disk.cut(cut, &mut rng)));
            }
            done.store(true, Ordering::Relaxed);
        });
        stop(&p);
        for (before, after) in cuts {
            let (q, r) = open(&after, 64);
            assert!(r.damaged.is_empty(), "{r:?}");
            let space = q.space(SpaceId(5)).unwrap();
            for (i, v) in before.iter().enumerate() {
                assert!(get(&q, &space, pages[i], 64) >= *v, "page {i} seed {seed}");
            }
            stop(&q);
        }
    }
}
