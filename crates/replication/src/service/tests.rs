//! The task that makes files, fed with groups from memory.

use super::feed::View;
use super::worker::{REST, REST_OF_DUMPS};
use super::*;
use crate::derive::tests::{end, group, settings};
use crate::in_time::{in_time, until};
use crate::source::{Group, Items, Next, NextPart, PartReader, ReadParts};
use base::lock::Mutex;
use base::mem::{ManualClock, MemDisk, environment};
use base::{Clock, block_on};
use engine::Intake;
use std::collections::VecDeque;
use std::path::Path;
use std::task::{Context, Waker};
use types::gtid::Gtid;
use wire::binlog::frame::{Checksum, Event};

/// A group out of memory, in parts of so many bytes.
struct Chunks(Vec<u8>, usize);

impl ReadParts for Chunks {
    fn read(&self) -> Box<dyn PartReader> {
        let parts: Vec<Vec<u8>> = self.0.chunks(self.1).map(<[u8]>::to_vec).collect();
        Box::new(Left(parts.into()))
    }
}

struct Left(VecDeque<Vec<u8>>);

impl PartReader for Left {
    fn next(&mut self) -> NextPart<'_> {
        Box::pin(std::future::ready(Ok(self.0.pop_front())))
    }
}

/// Groups that a test puts in.
#[derive(Default)]
pub(crate) struct Log {
    /// They come in parts of so many bytes.
    part: Option<usize>,
    groups: Mutex<Vec<Group>>,
    end: Mutex<u64>,
    closed: Mutex<bool>,
    /// It was closed in the middle of being read.
    pub(crate) broken: Mutex<bool>,
    kept: Mutex<Lsn>,
    /// Whether groups are taken, as it was said one time after the other.
    pub(crate) intake: Mutex<Vec<(Intake, Option<String>)>>,
    event: base::Event,
}

impl Log {
    /// A transaction commits.
    pub(crate) fn commit(&self, body: &[u8]) -> Lsn {
        let mut end_of_log = self.end.lock();
        *end_of_log += 10;
        let commit = Lsn(*end_of_log);
        let mut bodies: Vec<&[u8]> = vec![b"BEGIN"];
        bodies.extend(body.chunks(100_000));
        let bytes = group(&bodies, &end(commit.0 * 1_000_000));
        self.groups.lock().push(Group {
            commit,
            txid: commit.0,
            resume: Lsn(commit.0 + 1),
            items: match self.part {
                Some(size) => Items::InParts(Arc::new(Chunks(bytes, size))),
                None => Items::Whole(bytes),
            },
        });
        drop(end_of_log);
        self.event.fire();
        commit
    }

    /// The log goes on without a group.
    fn pass(&self) -> Lsn {
        let mut end_of_log = self.end.lock();
        *end_of_log += 10;
        self.event.fire();
        Lsn(*end_of_log)
    }

    pub(crate) fn close(&self) {
        *self.closed.lock() = true;
        self.event.fire();
    }
}

struct Source {
    log: Arc<Log>,
    at: Lsn,
}

impl GroupSource for Source {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async {
            let log = self.log.clone();
            log.event
                .wait_for(|| {
                    // In the order of `commit`.
                    let end_of_log = log.end.lock();
                    let groups = log.groups.lock();
                    let next = groups.iter().find(|g| g.commit >= self.at).cloned();
                    match &next {
                        Some(g) => self.at = g.resume,
                        None => self.at = self.at.max(Lsn(*end_of_log + 1)),
                    }
                    match next {
                        Some(g) => Some(Ok(Some(g))),
                        None if *log.broken.lock() => Some(Err("it was closed".to_owned())),
                        None => log.closed.lock().then_some(Ok(None)),
                    }
                })
                .await
        })
    }
    fn position(&self) -> Lsn {
        self.at
    }
    fn resume(&self) -> Lsn {
        self.at
    }
    fn keep_from(&self, lsn: Lsn) {
        *self.log.kept.lock() = lsn;
    }
    fn set_intake(&self, intake: Intake, said: Option<&str>) {
        self.log
            .intake
            .lock()
            .push((intake, said.map(str::to_owned)));
        self.log.event.fire();
    }
}

pub(crate) fn start(disk: &Arc<MemDisk>, log: &Arc<Log>) -> Arc<BinaryLog> {
    start_in(&environment(disk.clone()), log)
}

pub(crate) fn start_in(environment: &Environment, log: &Arc<Log>) -> Arc<BinaryLog> {
    let options = OpenLog {
        names: Names::new(Path::new("/d"), "binlog", "").unwrap(),
        settings: settings(),
        log_start: Lsn(0),
        log_end: Lsn(*log.end.lock()),
        expire: Arc::new(|| 0),
    };
    let opened = BinaryLog::open(environment, options).unwrap();
    let binary_log = opened.log.clone();
    let at = opened.resume;
    let log = log.clone();
    opened.begin(environment, Source { log, at });
    binary_log
}

pub(crate) fn numbers(log: &BinaryLog) -> Vec<u32> {
    log.feed
        .with(|v| v.files.iter().map(|f| f.number).collect())
}

#[test]
fn what_was_committed_is_shown_and_waited_for() {
    let (disk, log) = (Arc::new(MemDisk::default()), Arc::<Log>::default());
    let binary_log = start(&disk, &log);
    let lsn = log.commit(b"one");
    block_on(binary_log.wait_read(Lsn(lsn.0 + 1))).unwrap();
    let one = Gtid {
        sid: settings().sid,
        number: 1,
    };
    assert!(binary_log.feed.with(|v| v.executed.has(one)));
    // Without a group too.
    let lsn = log.pass();
    block_on(binary_log.wait_read(lsn)).unwrap();
    let before = numbers(&binary_log);
    block_on(binary_log.rotate(lsn)).unwrap();
    assert_eq!(numbers(&binary_log).len(), before.len() + 1);
    assert_eq!(*log.kept.lock(), Lsn(11));
    log.close();
    assert_eq!(block_on(binary_log.wait_end()), Health::Ended);
    // Who comes too late is told so.
    assert!(block_on(binary_log.wait_read(Lsn(u64::MAX))).is_err());
    in_time(move || {
        // The answers to those who were there before come behind it.
        until("it answers", || binary_log.requests.is_over());
        assert!(block_on(binary_log.rotate(lsn)).is_err());
    });
}

#[test]
fn a_start_after_a_crash_ends_the_file_behind_all_that_the_log_had() {
    let (disk, log) = (Arc::new(MemDisk::default()), Arc::<Log>::default());
    let binary_log = start(&disk, &log);
    for _ in 0..20 {
        log.commit(b"before");
    }
    let lsn = log.pass();
    block_on(binary_log.wait_read(lsn)).unwrap();
    let (files, executed) = binary_log
        .feed
        .with(|v| (v.files.clone(), v.executed.clone()));
    let was = read(&disk, files[0]);
    let left = Arc::new(disk.crash(false));
    log.close();
    let again = Arc::new(Log::default());
    again.groups.lock().clone_from(&log.groups.lock());
    *again.end.lock() = *log.end.lock();
    let binary_log = start(&left, &again);
    block_on(binary_log.wait_read(lsn)).unwrap();
    let shown = binary_log.feed.with(Clone::clone);
    assert_eq!(shown.executed, executed);
    let now: Vec<u32> = shown.files.iter().map(|f| f.number).collect();
    assert_eq!(now, [1, 2]);
    let is = read(&left, shown.files[0]);
    assert!(is.starts_with(&was) && is.len() > was.len());
    again.close();
    block_on(binary_log.wait_end());
}

fn read(disk: &MemDisk, f: crate::files::store::LogFile) -> Vec<u8> {
    let names = Names::new(Path::new("/d"), "binlog", "").unwrap();
    let file = disk
        .open(&names.path(f.number), OpenMode::Buffered, false)
        .unwrap();
    let mut bytes = vec![0; f.size as usize];
    assert_eq!(file.read_now(&mut bytes, 0).unwrap(), bytes.len());
    bytes[crate::derive::FLAGS_AT as usize] = 0;
    bytes
}

#[test]
fn files_are_begun_anew_and_removed() {
    let (disk, log) = (Arc::new(MemDisk::default()), Arc::<Log>::default());
    let binary_log = start(&disk, &log);
    for _ in 0..3 {
        let lsn = log.commit(b"x");
        block_on(binary_log.rotate(Lsn(lsn.0 + 1))).unwrap();
    }
    let all = numbers(&binary_log);
    block_on(binary_log.purge(all[2])).unwrap();
    assert_eq!(numbers(&binary_log), all[2..]);
    assert_eq!(binary_log.feed.with(|v| v.purged.len()), 2);
    let mut set = GtidSet::new();
    set.add_interval(types::gtid::Sid([1; 16]), 1, 5);
    block_on(binary_log.add_purged(set, Lsn(0))).unwrap();
    assert_eq!(binary_log.feed.with(|v| v.purged.len()), 7);
    block_on(binary_log.reset(1, Lsn(log.pass().0))).unwrap();
    let shown = binary_log.feed.with(Clone::clone);
    assert!(shown.executed.is_empty() && shown.purged.is_empty());
    assert_eq!((shown.epoch, numbers(&binary_log)), (1, vec![1]));
    log.close();
    block_on(binary_log.wait_end());
}

/// Of 50 or 100 times. A thread may be so slow that the next transaction is there before it rests: it takes that one at once.
const OFTEN: u32 = 10;

/// With a clock that is moved by hand.
fn start_by_hand() -> (Arc<ManualClock>, Arc<Log>, Arc<BinaryLog>) {
    let log = Arc::<Log>::default();
    let clock = Arc::new(ManualClock::default());
    let environment = Environment {
        clock: clock.clone(),
        ..environment(Arc::new(MemDisk::default()))
    };
    let binary_log = start_in(&environment, &log);
    (clock, log, binary_log)
}

/// Commits a transaction that the clock brings, where the task has rested: behind it the task rests, or is about to.
fn until_it_rests(clock: &ManualClock, log: &Log, binary_log: &BinaryLog) {
    let executed = || binary_log.feed.with(|v| v.executed.len());
    let before = executed();
    log.commit(b"brought by the clock");
    while executed() == before {
        clock.advance(REST);
        std::thread::yield_now();
    }
    // Where the clock has gone on behind it already, it does not rest again.
    for _ in 0..1000 {
        if clock.is_waited_for() {
            break;
        }
        std::thread::yield_now();
    }
}

/// While nobody waits, what is committed wakes nobody; who begins to wait needs no clock.
#[test]
fn what_nobody_waits_for_is_taken_together() {
    let (clock, log, binary_log) = start_by_hand();
    let executed = || binary_log.feed.with(|v| v.executed.len());
    let mut rested = 0;
    for n in 0..100 {
        let done = 3 * n;
        until_it_rests(&clock, &log, &binary_log);
        log.commit(b"one");
        let lsn = log.commit(b"two");
        for _ in 0..100 {
            std::thread::yield_now();
        }
        rested += u32::from(executed() == done + 1);
        block_on(binary_log.wait_read(Lsn(lsn.0 + 1))).unwrap();
        assert_eq!(executed(), done + 3);
    }
    assert!(rested >= OFTEN, "it was woken, but for {rested} times");
    log.close();
    assert_eq!(block_on(binary_log.wait_end()), Health::Ended);
}

/// The log has gone on without a group while the task rested, and somebody begins to wait for it: that ends the rest, and nothing else comes.
#[test]
fn who_waits_for_a_place_without_a_group_is_told_of_it() {
    let (clock, log, binary_log) = start_by_hand();
    for n in 0..100 {
        until_it_rests(&clock, &log, &binary_log);
        let lsn = log.pass();
        let waiting = binary_log.clone();
        let told = std::thread::spawn(move || match n % 2 {
            0 => block_on(waiting.wait_read(lsn)),
            _ => block_on(waiting.rotate(lsn)).map_err(|e| e.to_string()),
        });
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !told.is_finished() {
            assert!(std::time::Instant::now() < until, "nobody tells of {lsn}");
            std::thread::yield_now();
        }
        told.join().unwrap().unwrap();
    }
    log.close();
    assert_eq!(block_on(binary_log.wait_end()), Health::Ended);
}

/// A dump gets what comes within a moment together, unless commits wait for what its replica says.
#[test]
fn dumps_that_acknowledge_are_not_kept_waiting() {
    let (clock, log, binary_log) = start_by_hand();
    let feed = &binary_log.feed;
    let mut rested = 0;
    for n in 0..100 {
        until_it_rests(&clock, &log, &binary_log);
        log.commit(b"for the dump");
        let urgent = n % 2 == 0;
        let there = |v: &View| (v.executed.len() == 2 * n + 2).then_some(());
        let mut wait = std::pin::pin!(feed.wait_for_events(urgent, there));
        if !urgent {
            let mut cx = Context::from_waker(Waker::noop());
            let mut rests = wait.as_mut().poll(&mut cx).is_pending();
            for _ in 0..100 {
                std::thread::yield_now();
            }
            rests = rests && wait.as_mut().poll(&mut cx).is_pending();
            rested += u32::from(rests);
            clock.advance(REST_OF_DUMPS);
            if !rests {
                continue;
            }
        }
        block_on(wait);
    }
    assert!(rested >= OFTEN, "it was woken, but for {rested} times");
    log.close();
    assert_eq!(block_on(binary_log.wait_end()), Health::Ended);
}

#[test]
fn a_full_disk_is_waited_for() {
    let (disk, log) = (Arc::new(MemDisk::default()), Arc::<Log>::default());
    let binary_log = start(&disk, &log);
    let lsn = log.commit(b"x");
    block_on(binary_log.wait_read(Lsn(lsn.0 + 1))).unwrap();
    disk.set_room(10);
    let lsn = log.commit(&[7; 500]);
    let room = disk.clone();
    let t = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        room.set_room(1 << 30);
    });
    block_on(binary_log.wait_read(Lsn(lsn.0 + 1))).unwrap();
    t.join().unwrap();
    assert_eq!(binary_log.feed.with(|v| v.executed.len()), 2);
    log.close();
    block_on(binary_log.wait_end());
}

/// Time goes on, and the date does not: the first file has it.
struct OneDate(Arc<dyn Clock>);

impl Clock for OneDate {
    fn now_us(&self) -> u64 {
        self.0.now_us()
    }
    fn wall_us(&self) -> i64 {
        1_700_000_000_000_000
    }
    fn wake_at(&self, at_us: u64, waker: Waker) {
        self.0.wake_at(at_us, waker);
    }
}

/// What the files are after some transactions of three megabytes, others between them; the disk is full for a while, if it is to be.
fn files_of_large(part: Option<usize>, full: bool) -> Vec<Vec<u8>> {
    let disk = Arc::new(MemDisk::default());
    let log = Arc::new(Log {
        part,
        ..Log::default()
    });
    let mut environment = environment(disk.clone());
    environment.clock = Arc::new(OneDate(environment.clock.clone()));
    let binary_log = start_in(&environment, &log);
    let mut lsn = log.commit(b"small");
    block_on(binary_log.wait_read(Lsn(lsn.0 + 1))).unwrap();
    let room = disk.clone();
    let filled = full.then(|| {
        // Within the second transaction.
        disk.set_room(2 << 20);
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            room.set_room(1 << 30);
        })
    });
    for n in 0..3u8 {
        log.commit(&vec![n; 3 << 20]);
        lsn = log.commit(b"small");
    }
    block_on(binary_log.wait_read(Lsn(lsn.0 + 1))).unwrap();
    if let Some(t) = filled {
        t.join().unwrap();
    }
    let files = binary_log.feed.with(|v| v.files.clone());
    log.close();
    block_on(binary_log.wait_end());
    files.iter().map(|f| read(&disk, *f)).collect()
}

#[test]
fn large_transactions_that_come_in_parts_are_the_same_in_the_files() {
    let whole = files_of_large(None, false);
    assert!(whole.len() > 2 && whole.iter().map(Vec::len).sum::<usize>() > 9 << 20);
    for (part, full) in [(1000, false), (1 << 20, false), (100 << 10, true)] {
        assert!(files_of_large(Some(part), full) == whole, "{part} {full}");
    }
}

#[test]
fn what_a_crash_leaves_of_a_large_transaction_is_made_anew() {
    let disk = Arc::new(MemDisk::default());
    let log = Arc::new(Log {
        part: Some(100 << 10),
        ..Log::default()
    });
    let binary_log = start(&disk, &log);
    let small = log.commit(b"small");
    block_on(binary_log.wait_read(Lsn(small.0 + 1))).unwrap();
    let shown = binary_log.feed.with(|v| v.files.clone());
    // It cannot be written to its end.
    disk.set_room(2 << 20);
    let large = log.commit(&vec![7; 3 << 20]);
    let path = Names::new(Path::new("/d"), "binlog", "").unwrap().path(1);
    let file = disk.open(&path, OpenMode::Buffered, false).unwrap();
    while file.len().unwrap() < 1 << 20 {
        std::thread::yield_now();
    }
    // Nothing of it is shown.
    assert_eq!(binary_log.feed.with(|v| v.files.clone()), shown);
    assert_eq!(binary_log.feed.with(|v| v.executed.len()), 1);
    let left = Arc::new(disk.crash(true));
    left.set_room(1 << 30);
    let again = Arc::new(Log {
        part: Some(7000),
        ..Log::default()
    });
    again.groups.lock().clone_from(&log.groups.lock());
    *again.end.lock() = *log.end.lock();
    let binary_log = start(&left, &again);
    block_on(binary_log.wait_read(Lsn(large.0 + 1))).unwrap();
    assert_eq!(binary_log.feed.with(|v| v.executed.len()), 2);
    let files = binary_log.feed.with(|v| v.files.clone());
    assert!(files.iter().any(|f| f.size > 3 << 20));
    for file in files {
        let (bytes, mut at) = (read(&left, file), 4);
        while at < bytes.len() {
            at += Event::read(&bytes[at..], Checksum::Crc32)
                .unwrap()
                .bytes
                .len();
        }
    }
    again.close();
    block_on(binary_log.wait_end());
    disk.set_room(1 << 30);
    log.close();
}
