//! The pager against power cuts: whatever was durable in the log is there after recovery, on every disk the cut may leave.

use base::environment::Task;
use base::mem::{self, MemDisk};
use base::{Environment, Event, Lsn, PageNo, SpaceId, Spawn, TxnId, block_on};
use pager::log::record::RecordKind;
use pager::{CheckpointSource, OpError, Page, PageKind, Pager, PagerOptions, RedoTable};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

const OP_FORMAT: u8 = 32;
const OP_SET: u8 = 33;

fn apply(op: u8, page: &mut Page, payload: &[u8], _start: Lsn) -> Result<(), &'static str> {
    match op {
        OP_FORMAT => page.format(PageKind::Leaf, 0, 1),
        _ => {
            if payload.len() != 12 {
                return Err("payload");
            }
            let at = u32::from_le_bytes([payload[0], payload[1], payload[2], payload[3]]) as usize;
            page.bytes_mut()[at..at + 8].copy_from_slice(&payload[4..12]);
        }
    }
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

fn open(disk: &Arc<MemDisk>, pool_pages: u64) -> (Arc<Pager>, pager::Report, u64) {
    open_with(disk, options(pool_pages))
}

fn open_with(disk: &Arc<MemDisk>, options: PagerOptions) -> (Arc<Pager>, pager::Report, u64) {
    open_on(mem::environment(disk.clone()), options)
}

fn open_on(environment: Environment, options: PagerOptions) -> (Arc<Pager>, pager::Report, u64) {
    let mut redo = RedoTable::default();
    redo.register(32..64, apply);
    let mut seen = 0;
    let mut observe = |_: Lsn, _: Lsn, r: &pager::Record<'_>| {
        if r.header().kind == RecordKind::Change {
            seen += 1;
        }
    };
    let (p, r) = block_on(pager::open(
        environment,
        options,
        Path::new("/db"),
        redo,
        &mut observe,
    ))
    .expect("open");
    (p, r, seen)
}

fn create_pages(p: &Arc<Pager>, n: usize) -> (Arc<pager::Space>, Vec<PageNo>) {
    let dir = Path::new("/db/data/test");
    p.environment().disk.create_dir_all(dir).unwrap();
    let space = p
        .create_space(SpaceId(5), &dir.join("t.tdb"), None)
        .unwrap();
    let mut pages = Vec::new();
    for _ in 0..n {
        let no = block_on(p.run(|| {
            let mut m = p.mtr()?;
            let ix = p.alloc_page(&mut m, &space)?;
            m.op_init(ix, OP_FORMAT, &[]);
            let no = m.page_no(ix);
            m.commit();
            Ok(no)
        }))
        .unwrap();
        pages.push(no);
    }
    (space, pages)
}

fn set(
    p: &Arc<Pager>,
    space: &Arc<pager::Space>,
    page: PageNo,
    at: u32,
    v: u64,
) -> Result<Lsn, OpError> {
    block_on(p.run(|| {
        let mut m = p.mtr()?;
        let ix = m.add(p.exclusive(space, page)?);
        m.op(ix, OP_SET, &[&at.to_le_bytes(), &v.to_le_bytes()]);
        m.set_txn(RecordKind::Change, TxnId(1), Lsn::NONE);
        m.set_undo(&[b"before"]);
        Ok(m.commit().end)
    }))
}

fn get(p: &Arc<Pager>, space: &Arc<pager::Space>, page: PageNo, at: usize) -> u64 {
    block_on(p.run(|| {
        let g = p.shared(space, page)?;
        Ok(base::le::get_u64(g.bytes(), at))
    }))
    .unwrap()
}

fn stop(p: &Arc<Pager>) {
    p.halt();
    block_on(p.stopped());
}

#[test]
fn what_was_durable_survives_any_cut() {
    for (round, pool_pages) in [(1u64, 4096u64), (2, 64), (3, 64)] {
        let disk = Arc::new(MemDisk::default());
        let (p, r, _) = open(&disk, pool_pages);
        assert!(r.created);
        let (space, pages) = create_pages(&p, 200);
        let mut model: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut rng = base::SplitMix64::new(base::seed::nth("crash", round));
        let mut last = Lsn::NONE;
        for i in 0..20_000u64 {
            let page = pages[rng.below(pages.len() as u64) as usize];
            let at = 64 + rng.below(2000) as u32 * 8;
            last = set(&p, &space, page, at, i).unwrap();
            model.insert((page.0, at), i);
        }
        block_on(p.log().wait_durable(last)).unwrap();
        for keep in [false, true] {
            let after = Arc::new(disk.crash(keep));
            let (q, r, seen) = open(&after, pool_pages);
            assert!(r.damaged.is_empty() && r.missing_spaces.is_empty(), "{r:?}");
            assert!(!r.clean);
            let space = q.space(SpaceId(5)).unwrap();
            for ((page, at), v) in &model {
                assert_eq!(
                    get(&q, &space, PageNo(*page), *at as usize),
                    *v,
                    "page {page} at {at}, keep {keep}, {r:?}"
                );
            }
            assert!(seen > 0);
            // And again: a crash right after recovery, then a clean end.
            q.start_checkpoints();
            set(&q, &space, pages[0], 64, 77).unwrap();
            block_on(q.flush_all()).unwrap();
            let (q2, r2, _) = open(&Arc::new(after.crash(false)), pool_pages);
            assert!(r2.applied < 10, "a checkpoint was just made: {r2:?}");
            let s2 = q2.space(SpaceId(5)).unwrap();
            assert_eq!(get(&q2, &s2, pages[0], 64), 77);
            block_on(q.close()).unwrap();
            drop(q);
            let (q3, r3, _) = open(&Arc::new(after.crash(false)), pool_pages);
            assert!(r3.clean, "{r3:?}");
            let s3 = q3.space(SpaceId(5)).unwrap();
            assert_eq!(get(&q3, &s3, pages[0], 64), 77);
        }
    }
}

#[test]
fn a_torn_tail_ends_the_log_and_nothing_behind_it_comes_back() {
    let disk = Arc::new(MemDisk::default());
    let (p, ..) = open(&disk, 256);
    let (space, pages) = create_pages(&p, 3);
    let first = set(&p, &space, pages[0], 64, 1).unwrap();
    block_on(p.log().wait_durable(first)).unwrap();
    let second = set(&p, &space, pages[0], 72, 2).unwrap();
    let third = set(&p, &space, pages[0], 80, 3).unwrap();
    block_on(p.log().wait_durable(third)).unwrap();
    stop(&p);
    // Cut the second record's bytes: the third must not come back either, now or after the next crash.
    let seg = Path::new("/db/log/000000000001.log");
    let size = p.log().segments().size();
    for cut in (first.0..second.0).step_by(3) {
        let after = Arc::new(disk.crash(true));
        after.damage(seg, |b| b[(4096 + cut % size) as usize] ^= 0x40);
        for _ in 0..2 {
            let (q, r, _) = open(&after, 256);
            let s = q.space(SpaceId(5)).unwrap();
            let row: Vec<u64> = [64, 72, 80]
                .iter()
                .map(|at| get(&q, &s, pages[0], *at))
                .collect();
            assert_eq!(row, [1, 0, 0], "cut at {cut}: {r:?}");
            stop(&q);
        }
        let (q, ..) = open(&after, 256);
        // Each start goes on behind all files there are: without a checkpoint a small log is soon full.
        q.start_checkpoints();
        let s = q.space(SpaceId(5)).unwrap();
        let end = set(&q, &s, pages[0], 72, 9).unwrap();
        block_on(q.log().wait_durable(end)).unwrap();
        stop(&q);
        let (q, ..) = open(&after, 256);
        let s = q.space(SpaceId(5)).unwrap();
        assert_eq!(
            (get(&q, &s, pages[0], 72), get(&q, &s, pages[0], 80)),
            (9, 0)
        );
    }
}

#[test]
fn a_small_log_recycles_its_segments_and_a_full_disk_is_an_error_that_passes() {
    let disk = Arc::new(MemDisk::default());
    let (p, ..) = open(&disk, 1024);
    p.start_checkpoints();
    let (space, pages) = create_pages(&p, 300);
    for i in 0..400_000u64 {
        set(
            &p,
            &space,
            pages[(i * 31 % 300) as usize],
            64 + (i % 100) as u32 * 8,
            i,
        )
        .unwrap();
    }
    assert!(p.log().end().0 - p.checkpoint_lsn().0 <= 32 << 20);
    assert!(
        p.log().segments().numbers().len() <= 14,
        "{:?}",
        p.log().segments().numbers()
    );
    disk.set_room(0);
    let full = (0..2000).find_map(|_| {
        block_on(p.run(|| {
            let mut m = p.mtr()?;
            let ix = p.alloc_page(&mut m, &space)?;
            m.op_init(ix, OP_FORMAT, &[]);
            m.commit();
            Ok(())
        }))
        .err()
    });
    assert!(matches!(full, Some(OpError::SpaceFull(_))), "{full:?}");
    disk.set_room(u64::MAX);
    create_more(&p, &space);
}

fn create_more(p: &Arc<Pager>, space: &Arc<pager::Space>) {
    block_on(p.run(|| {
        let mut m = p.mtr()?;
        let ix = p.alloc_page(&mut m, space)?;
        m.op_init(ix, OP_FORMAT, &[]);
        m.commit();
        Ok(())
    }))
    .unwrap();
}

#[test]
fn threads_share_pages_a_tiny_pool_and_the_log() {
    let disk = Arc::new(MemDisk::default());
    let (p, ..) = open(&disk, 64);
    p.start_checkpoints();
    let (space, pages) = create_pages(&p, 150);
    std::thread::scope(|s| {
        for t in 0..4u64 {
            let (p, space, pages) = (&p, &space, &pages);
            s.spawn(move || {
                for i in 0..10_000u64 {
                    let page = pages[((i * 7 + t * 13) % 150) as usize];
                    let end = set(p, space, page, 64 + t as u32 * 8, i).unwrap();
                    if i % 100 == 0 {
                        block_on(p.log().wait_durable(end)).unwrap();
                    }
                    assert_eq!(get(p, space, page, 64 + t as usize * 8), i);
                }
            });
        }
    });
    block_on(p.close()).unwrap();
}

#[test]
fn a_damaged_page_is_an_error_that_names_it() {
    let disk = Arc::new(MemDisk::default());
    let (p, ..) = open(&disk, 256);
    let (space, pages) = create_pages(&p, 3);
    set(&p, &space, pages[1], 64, 1).unwrap();
    p.start_checkpoints();
    block_on(p.close()).unwrap();
    let after = Arc::new(disk.crash(true));
    after.damage(Path::new("/db/data/test/t.tdb"), |b| {
        b[pages[1].0 as usize * 16384 + 9000] ^= 1
    });
    let (q, ..) = open(&after, 256);
    let s = q.space(SpaceId(5)).unwrap();
    let e = block_on(q.run(|| q.shared(&s, pages[1]).map(|_| ()))).unwrap_err();
    assert!(
        matches!(e, OpError::Corrupt { page, .. } if page == pages[1]),
        "{e}"
    );
    assert_eq!(get(&q, &s, pages[2], 64), 0);
}

#[test]
fn nobody_who_waits_for_the_log_is_forgotten() {
    // Found as a hang: the walker of the completed prefix, or the writer, left without telling those who had found it at
    // work and gone to sleep.
    let disk = Arc::new(MemDisk::default());
    let (p, ..) = open(&disk, 256);
    p.start_checkpoints();
    let (space, pages) = create_pages(&p, 8);
    std::thread::scope(|s| {
        for t in 0..4u64 {
            let (p, space, pages) = (&p, &space, &pages);
            s.spawn(move || {
                for i in 0..20_000u64 {
                    let end = set(p, space, pages[(i % 8) as usize], 64 + t as u32 * 8, i).unwrap();
                    match i % 3 {
                        0 => block_on(p.log().wait_complete(end)).unwrap(),
                        1 => block_on(p.log().wait_written(end)).unwrap(),
                        _ => {}
                    }
                }
            });
        }
    });
    block_on(p.close()).unwrap();
}

#[test]
fn a_segment_that_was_cut_short_is_not_used_again() {
    let disk = Arc::new(MemDisk::default());
    let (p, ..) = open(&disk, 256);
    let (space, pages) = create_pages(&p, 3);
    let end = set(&p, &space, pages[0], 64, 1).unwrap();
    block_on(p.log().wait_durable(end)).unwrap();
    let size = p.log().segments().size();
    let next = end.0 / size + 1;
    stop(&p);
    let after = Arc::new(disk.crash(true));
    let path = format!("/db/log/{next:012}.log");
    after.damage(Path::new(&path), |b| b.truncate(4096));
    let (q, ..) = open(&after, 256);
    for n in q.log().segments().numbers() {
        let (file, _) = q.log().segments().locate(Lsn(n * size)).unwrap().unwrap();
        assert_eq!(file.len().unwrap(), 4096 + size, "segment {n}");
    }
    stop(&q);
}

/// Bytes of the log's files. One that is given back between the look at the folder and the look at the file has none.
fn log_files(disk: &MemDisk) -> u64 {
    let dir = Path::new("/db/log");
    let names = base::Disk::read_dir(disk, dir).unwrap();
    let logs = names.iter().filter(|(n, _)| n.ends_with(".log"));
    logs.map(
        |(n, _)| match base::Disk::open(disk, &dir.join(n), base::OpenMode::Buffered, false) {
            Ok(f) => f.len().unwrap(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => 0,
            Err(e) => panic!("{n}: {e}"),
        },
    )
    .sum()
}

/// A log of 8 MiB in segments of half a MiB.
fn small_log() -> PagerOptions {
    PagerOptions {
        log_capacity_bytes: SMALL,
        log_buffer_bytes: 1 << 20,
        log_unit_bytes: 512 << 10,
        ..options(256)
    }
}

const SMALL: u64 = 8 << 20;

#[test]
fn many_crashes_leave_no_more_files_than_the_log_may_have() {
    let (capacity, options) = (SMALL, small_log());
    // Killed at once, and after what a start does behind.
    for rests in [false, true] {
        let mut disk = Arc::new(MemDisk::default());
        let (mut p, ..) = open_with(&disk, options.clone());
        p.start_checkpoints();
        let (mut space, pages) = create_pages(&p, 3);
        block_on(p.flush_all()).unwrap();
        for crash in 1..=200u64 {
            for page in &pages {
                let end = set(&p, &space, *page, 64, crash).unwrap();
                block_on(p.log().wait_durable(end)).unwrap();
            }
            if rests {
                block_on(p.flush_all()).unwrap();
            }
            stop(&p);
            disk = Arc::new(disk.crash(crash % 2 == 0));
            let files = log_files(&disk);
            assert!(
                files <= capacity + capacity / 5,
                "crash {crash}: {files} bytes"
            );
            (p, ..) = open_with(&disk, options.clone());
            p.start_checkpoints();
            space = p.space(SpaceId(5)).unwrap();
            assert_eq!(get(&p, &space, pages[2], 64), crash);
        }
        block_on(p.close()).unwrap();
        assert!(log_files(&disk) <= capacity + capacity / 5);
    }
}

/// Threads, and a cleaner that works only while it may.
#[derive(Default)]
struct Held {
    may: AtomicBool,
    changed: Event,
    stopped: AtomicBool,
}

/// The environment; what is held is shared with the test.
struct HeldSpawn(Arc<Held>);

impl Held {
    fn set(&self, may: bool) {
        self.may.store(may, Ordering::SeqCst);
        self.changed.fire();
    }
}

impl Spawn for HeldSpawn {
    fn spawn(&self, name: &str, mut task: Task) {
        if name != "cleaner" {
            return base::real::Threads.spawn(name, task);
        }
        let held = self.0.clone();
        let turn = poll_fn(move |cx| {
            held.changed.park(cx);
            match held.may.load(Ordering::SeqCst) || held.stopped.load(Ordering::SeqCst) {
                true => task.as_mut().poll(cx),
                false => Poll::Pending,
            }
        });
        base::real::Threads.spawn(name, Box::pin(turn));
    }
}

/// The end of a recovery. The cleaner works only if that waits for it; tells whether it did.
fn end_recovery(p: &Pager, held: &Held) -> bool {
    let mut end = pin!(p.give_back_before_traffic());
    let mut polls = 0;
    block_on(poll_fn(|cx| {
        let r = end.as_mut().poll(cx);
        polls += 1;
        held.set(r.is_pending());
        r
    }));
    polls > 1
}

/// What is above needs the log from a position on, as purge does.
struct Needs(AtomicU64);

impl CheckpointSource for Needs {
    fn describe(&self, _out: &mut Vec<u8>) {}

    fn retain(&self) -> Lsn {
        Lsn(self.0.load(Ordering::SeqCst))
    }
}

/// A life between two crashes, in which the cleaner gets to a checkpoint only if `rests`, or if the start waits for it: whether it did, and what is
/// left of the disk.
fn life(disk: &Arc<MemDisk>, needs: &Arc<Needs>, n: u64, rests: bool) -> (bool, Arc<MemDisk>) {
    let held = Arc::new(Held::default());
    let mut environment = mem::environment(disk.clone());
    environment.spawn = Arc::new(HeldSpawn(held.clone()));
    let (p, ..) = open_on(environment, small_log());
    p.set_checkpoint_source(needs.clone());
    p.start_checkpoints();
    let waited = end_recovery(&p, &held);
    let space = p.space(SpaceId(5)).unwrap();
    let page = PageNo(1);
    assert_eq!(get(&p, &space, page, 64), n - 1);
    let end = set(&p, &space, page, 64, n).unwrap();
    block_on(p.log().wait_durable(end)).unwrap();
    if rests {
        held.set(true);
        block_on(p.flush_all()).unwrap();
    }
    if waited {
        let until = Instant::now() + Duration::from_secs(30);
        while log_files(disk) > SMALL + (1 << 20) {
            assert!(Instant::now() < until, "{} bytes", log_files(disk));
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    held.stopped.store(true, Ordering::SeqCst);
    p.halt();
    held.changed.fire();
    block_on(p.stopped());
    (waited, Arc::new(disk.crash(n.is_multiple_of(2))))
}

#[test]
fn starts_that_are_cut_short_give_back_what_is_too_much() {
    let mut disk = Arc::new(MemDisk::default());
    let (p, ..) = open_with(&disk, small_log());
    p.start_checkpoints();
    let (_, pages) = create_pages(&p, 3);
    assert_eq!(pages[0], PageNo(1));
    let first = p.log().end();
    block_on(p.flush_all()).unwrap();
    stop(&p);
    let needs = Arc::new(Needs(AtomicU64::new(first.0)));
    let mut n = 0;
    let mut live = |disk: &mut Arc<MemDisk>, rests: bool| {
        n += 1;
        let waited;
        (waited, *disk) = life(disk, &needs, n, rests);
        waited
    };
    // Each leaves a file, which is needed.
    while log_files(&disk) <= SMALL + (1 << 20) {
        assert!(!live(&mut disk, true));
    }
    // There is nothing that a checkpoint would give back.
    assert!(!live(&mut disk, false) && !live(&mut disk, false));
    assert!(!live(&mut disk, true));
    needs.0.store(u64::MAX, Ordering::SeqCst);
    // One start that is cut short is no reason to wait, two are.
    assert!(!live(&mut disk, false));
    let before = log_files(&disk);
    assert!(live(&mut disk, false));
    assert!(log_files(&disk) < before);
    // And then there is not too much.
    assert!(!live(&mut disk, false) && !live(&mut disk, false));
}
