//! A disk that dies at any operation: what was shown before is there afterwards, byte by byte.

use super::names::Names;
use super::read::{EventReader, read_head};
use super::store::Store;
use crate::derive::tests::{end, group, settings};
use crate::derive::{FIRST_POSITION, Naming, Settings};
use crate::group::End;
use base::Lsn;
use base::SplitMix64 as Rng;
use base::buf::IoBuf;
use base::environment::{Disk, Done, DoneSync, File, OpenMode};
use base::lock::Mutex;
use base::mem::MemDisk;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use types::gtid::{Gtid, GtidSet, Sid};
use wire::binlog::control::{Rotate, Transaction};
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::kind;

/// Operations that change something, until the power goes.
#[derive(Default)]
struct Power {
    left: Option<u64>,
    used: u64,
    /// It comes back at once: one operation has failed.
    comes_back: bool,
}

struct Dying {
    disk: Arc<MemDisk>,
    power: Arc<Mutex<Power>>,
}

struct DyingFile {
    file: Arc<dyn File>,
    power: Arc<Mutex<Power>>,
}

fn dead() -> io::Error {
    io::Error::other("no power")
}

/// Whether an operation is still done; `None`: it is the one in which the power goes.
fn step(power: &Mutex<Power>) -> Option<bool> {
    let mut p = power.lock();
    p.used += 1;
    match &mut p.left {
        None => Some(true),
        Some(0) => Some(false),
        Some(n) => {
            *n -= 1;
            let last = *n == 0;
            if last && p.comes_back {
                p.left = None;
            }
            (!last).then_some(true)
        }
    }
}

impl Dying {
    fn alive(&self) -> io::Result<()> {
        match step(&self.power) {
            Some(true) => Ok(()),
            _ => Err(dead()),
        }
    }
}

impl File for DyingFile {
    fn submit_read(&self, buf: IoBuf, offset: u64, done: Done) {
        self.file.submit_read(buf, offset, done);
    }
    fn submit_write(&self, buf: IoBuf, offset: u64, done: Done) {
        let r = self.write_now(buf.bytes(), offset);
        let n = buf.bytes().len();
        done(buf, r.map(|()| n));
    }
    fn submit_sync(&self, done: DoneSync) {
        done(self.sync_now());
    }
    fn read_now(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_now(buf, offset)
    }
    fn write_now(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        match step(&self.power) {
            Some(true) => self.file.write_now(buf, offset),
            Some(false) => Err(dead()),
            // Half of it arrives.
            None => {
                self.file.write_now(&buf[..buf.len() / 2], offset)?;
                Err(dead())
            }
        }
    }
    fn sync_now(&self) -> io::Result<()> {
        match step(&self.power) {
            Some(true) => self.file.sync_now(),
            _ => Err(dead()),
        }
    }
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.file.allocate(len)
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        match step(&self.power) {
            Some(true) => self.file.truncate(len),
            _ => Err(dead()),
        }
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

impl Disk for Dying {
    fn open(&self, path: &Path, mode: OpenMode, create: bool) -> io::Result<Arc<dyn File>> {
        if create {
            self.alive()?;
        }
        Ok(Arc::new(DyingFile {
            file: self.disk.open(path, mode, create)?,
            power: self.power.clone(),
        }))
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.alive()?;
        self.disk.remove_file(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.alive()?;
        self.disk.rename(from, to)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir_all(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_dir(path)
    }
    fn read_dir(&self, path: &Path) -> io::Result<Vec<(String, bool)>> {
        self.disk.read_dir(path)
    }
    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.alive()?;
        self.disk.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.disk.lock(path)
    }
    fn kind(&self) -> &'static str {
        "dying"
    }
}

fn names() -> Names {
    Names::new(Path::new("/d"), "binlog", "").unwrap()
}

fn small() -> Settings {
    Settings {
        max_size: 1500,
        history: 8,
        ..settings()
    }
}

/// What is done to files, one after the other.
#[derive(Debug, Clone)]
enum Act {
    Group(usize),
    Flush,
    Sync,
    Rotate,
    Set(Settings),
    Purge(u32),
    AddPurged(u64),
}

/// Groups by the order of their commits, which are at 10, 20, ..
fn groups(rng: &mut Rng, n: usize) -> Vec<Vec<u8>> {
    (0..n)
        .map(|n| {
            let body = vec![n as u8; rng.below(200) as usize];
            let keys = (0..rng.below(3)).map(|_| rng.below(20)).collect();
            let e = End {
                keys: (rng.below(10) > 0).then_some(keys),
                statement: rng.below(8) == 0,
                gtid: (rng.below(6) == 0).then(|| Gtid {
                    sid: Sid([3; 16]),
                    number: n as u64 + 1,
                }),
                ..end(1_000_000 * n as u64)
            };
            group(&[b"BEGIN", &body], &e)
        })
        .collect()
}

fn lsn(n: usize) -> Lsn {
    Lsn(10 * (n as u64 + 1))
}

fn open(disk: Arc<dyn Disk>) -> io::Result<Store> {
    Store::open(disk, names(), small(), Lsn(1)..=Lsn(1), 3)
}

/// All files, as far as they may be shown.
fn shown(store: &Store, disk: &MemDisk) -> BTreeMap<u32, Vec<u8>> {
    let read = |f: &super::store::LogFile| {
        let path = names().path(f.number);
        let file = disk.open(&path, OpenMode::Buffered, false).unwrap();
        let mut bytes = vec![0; f.size as usize];
        let n = file.read_now(&mut bytes, 0).unwrap();
        assert_eq!(n, bytes.len(), "what is shown is there");
        // The flag of a file in use is no part of what a replica sees.
        bytes[crate::derive::FLAGS_AT as usize] = 0;
        (f.number, bytes)
    };
    store.list().iter().map(read).collect()
}

fn act(store: &mut Store, act: &Act, groups: &[Vec<u8>]) -> io::Result<()> {
    match act {
        Act::Group(n) => {
            // An open transaction may keep the log from before this one.
            let resume = lsn(n.saturating_sub(n % 3));
            store.put(&groups[*n], *n as u64, lsn(*n), resume)?;
            if store.is_full() {
                store.fill_next()?;
            }
            Ok(())
        }
        Act::Flush => store.flush(),
        Act::Sync => store.sync(),
        Act::Rotate => store.rotate(0),
        Act::Set(s) => store.set(s.clone()),
        Act::Purge(n) => store.purge(*n),
        Act::AddPurged(n) => {
            let mut set = GtidSet::new();
            set.add_interval(Sid([5; 16]), 1, *n);
            store.add_purged(&set)
        }
    }
}

/// Reads all groups of the log again that a store lacks.
fn catch_up(store: &mut Store, upto: usize, groups: &[Vec<u8>]) -> io::Result<()> {
    let from = (0..upto)
        .find(|n| lsn(*n) >= store.resume())
        .unwrap_or(upto);
    for n in from..upto {
        act(store, &Act::Group(n), groups)?;
    }
    store.flush()
}

/// Every file reads as it should, and no transaction has the name of another.
fn check(store: &Store, disk: &MemDisk, transactions: usize) {
    let (mut given, mut all) = (BTreeSet::new(), 0);
    let mut executed: Option<GtidSet> = None;
    for f in store.list() {
        let path = names().path(f.number);
        let file = disk.open(&path, OpenMode::Buffered, false).unwrap();
        let head = read_head(&*file).unwrap();
        if let Some(e) = &executed {
            assert!(head.previous.contains(e));
        }
        let executed = executed.insert(head.previous.clone());
        let mut r = EventReader::new(file, FIRST_POSITION);
        let (mut checksum, mut sequence) = (Checksum::Crc32, 0);
        let mut last = 0;
        while let Some((header, bytes)) = r.next(f.size).unwrap() {
            let e = Event::read(bytes, checksum).unwrap();
            checksum = head.checksum;
            last = header.kind;
            match header.kind {
                kind::GTID | kind::ANONYMOUS_GTID => {
                    let t = Transaction::read(e.body, header.kind != kind::GTID).unwrap();
                    sequence += 1;
                    all += 1;
                    assert_eq!(t.sequence_number, sequence);
                    assert!(t.last_committed < sequence);
                    if let Some(gtid) = t.gtid {
                        assert!(given.insert(gtid), "{gtid} twice");
                        executed.add(gtid);
                    }
                }
                kind::ROTATE => {
                    let next = Rotate::read(e.body).unwrap();
                    assert_eq!(next.file, names().name(f.number + 1).as_bytes());
                }
                _ => {}
            }
            assert_eq!(u64::from(header.next_position), r.position());
        }
        assert_eq!(r.position(), f.size);
        let is_last = f.number == store.state().file;
        assert_eq!(last == kind::ROTATE, !is_last, "file {}", f.number);
    }
    assert_eq!(all, transactions);
    if let Some(e) = executed {
        assert!(store.state().executed.contains(&e));
    }
}

fn script(rng: &mut Rng, groups: usize, others: bool) -> Vec<Act> {
    let mut acts = Vec::new();
    let mut server_id = 50;
    for n in 0..groups {
        acts.push(Act::Group(n));
        match rng.below(12) {
            0..=3 => acts.push(Act::Flush),
            4 => acts.push(Act::Sync),
            5 if others => acts.push(Act::Rotate),
            6 if others => {
                server_id += 1;
                acts.push(Act::Set(Settings {
                    server_id,
                    names: [Naming::None, Naming::Given, Naming::All][rng.below(3) as usize],
                    checksum: match rng.below(2) {
                        0 => Checksum::None,
                        _ => Checksum::Crc32,
                    },
                    ..small()
                }));
            }
            7 if others => acts.push(Act::AddPurged(n as u64 + 1)),
            _ => {}
        }
    }
    acts.push(Act::Sync);
    acts
}

/// Power goes at every operation in turn. With `others` also what groups do not bring about is done.
fn cut_everywhere(seed: u64, others: bool, keep_unsynced: bool) {
    let mut rng = Rng::new(seed);
    let groups = groups(&mut rng, 40);
    let acts = script(&mut rng, groups.len(), others);
    let power = Arc::new(Mutex::new(Power::default()));
    let whole = Arc::new(MemDisk::default());
    let mut store = open(Arc::new(Dying {
        disk: whole.clone(),
        power: power.clone(),
    }))
    .unwrap();
    for a in &acts {
        act(&mut store, a, &groups).unwrap();
    }
    check(&store, &whole, groups.len());
    let as_it_is = shown(&store, &whole);
    let operations = power.lock().used;
    assert!(operations > 50);
    for at in 1..=operations {
        let disk = Arc::new(MemDisk::default());
        let power = Arc::new(Mutex::new(Power {
            left: Some(at),
            ..Power::default()
        }));
        let dying: Arc<dyn Disk> = Arc::new(Dying {
            disk: disk.clone(),
            power,
        });
        let (mut seen, mut put) = (BTreeMap::new(), 0);
        let run = open(dying).and_then(|mut store| {
            for a in &acts {
                if let Act::Group(n) = a {
                    put = n + 1;
                }
                let r = act(&mut store, a, &groups);
                seen = shown(&store, &disk);
                r?;
            }
            Ok(())
        });
        assert!(run.is_err(), "cut {at} of {operations}");
        let left = Arc::new(disk.crash(keep_unsynced));
        let mut store = open(left.clone()).unwrap();
        catch_up(&mut store, put, &groups).unwrap();
        let now = shown(&store, &left);
        for (number, bytes) in &seen {
            let again = &now[number];
            assert!(
                again.starts_with(bytes),
                "cut {at}: file {number} was shown with other bytes"
            );
        }
        for n in put..groups.len() {
            act(&mut store, &Act::Group(n), &groups).unwrap();
        }
        store.sync().unwrap();
        check(&store, &left, groups.len());
        if !others {
            assert!(shown(&store, &left) == as_it_is, "cut {at}");
        }
    }
}

#[test]
fn the_same_bytes_after_a_cut_at_every_operation() {
    for n in 0..3 {
        for keep in [false, true] {
            cut_everywhere(base::seed::nth("cuts", n), false, keep);
        }
    }
}

#[test]
fn what_was_shown_stays_whatever_else_is_done() {
    for n in 10..13 {
        for keep in [false, true] {
            cut_everywhere(base::seed::nth("cuts", n), true, keep);
        }
    }
}

#[test]
fn a_step_that_fails_is_tried_again() {
    let mut rng = Rng::new(base::seed::of("tried again"));
    let groups = groups(&mut rng, 40);
    let mut acts = script(&mut rng, groups.len(), true);
    acts.insert(30, Act::Purge(2));
    let mut expected = None;
    for at in std::iter::once(u64::MAX).chain(4..400) {
        let disk = Arc::new(MemDisk::default());
        let power = Arc::new(Mutex::new(Power {
            comes_back: true,
            ..Power::default()
        }));
        let mut store = open(Arc::new(Dying {
            disk: disk.clone(),
            power: power.clone(),
        }))
        .unwrap();
        power.lock().left = Some(at);
        let mut failed = 0;
        for a in &acts {
            while act(&mut store, a, &groups).is_err() {
                failed += 1;
            }
        }
        let now = shown(&store, &disk);
        let whole = expected.get_or_insert_with(|| now.clone());
        assert!(now == *whole, "failed at {at}");
        assert_eq!(failed, usize::from(power.lock().left.is_none()));
        if failed == 0 && at != u64::MAX {
            return;
        }
    }
    panic!("there are more operations than were tried");
}

/// A file that is full ends with a few writes and no sync, however many there are; what is made durable then is durable.
#[test]
fn the_next_of_many_files_costs_as_much_as_the_second() {
    let groups = groups(&mut Rng::new(7), 1);
    let (disk, power) = (
        Arc::new(MemDisk::default()),
        Arc::new(Mutex::new(Power::default())),
    );
    let mut store = open(Arc::new(Dying {
        disk: disk.clone(),
        power: power.clone(),
    }))
    .unwrap();
    let mut costs = Vec::new();
    for n in 0..500 {
        store
            .put(&groups[0], n, lsn(n as usize), lsn(n as usize))
            .unwrap();
        let before = power.lock().used;
        store.fill_next().unwrap();
        costs.push(power.lock().used - before);
    }
    assert!(costs.iter().all(|c| *c == costs[0]), "{costs:?}");
    assert!(costs[0] <= 8, "{}", costs[0]);
    assert_eq!(store.unsynced_files(), 500);
    assert_eq!(store.first_since(0).unwrap(), 1);
    assert_eq!(store.first_since(u32::MAX).unwrap(), 501);
    let again = open(Arc::new(disk.crash(false))).unwrap();
    assert_eq!(again.list().len(), 1, "none of it was durable");
    store.sync().unwrap();
    assert_eq!((store.unsynced_files(), store.unsynced()), (0, 0));
    let again = open(Arc::new(disk.crash(false))).unwrap();
    assert_eq!(again.list(), store.list());
}

#[test]
fn files_are_purged_and_begun_anew() {
    let mut rng = Rng::new(base::seed::of("purged"));
    let groups = groups(&mut rng, 60);
    let disk = Arc::new(MemDisk::default());
    let mut store = open(disk.clone()).unwrap();
    for n in 0..30 {
        act(&mut store, &Act::Group(n), &groups).unwrap();
    }
    let last = store.state().file;
    assert!(last > 3);
    let before = {
        let file = disk.open(&names().path(3), OpenMode::Buffered, false);
        read_head(&*file.unwrap()).unwrap().previous
    };
    store.purge(3).unwrap();
    assert_eq!(store.purged(), before);
    // The one that is written stays.
    store.purge(last + 9).unwrap();
    assert_eq!(store.list().len(), 1);
    assert!(!disk.exists(&names().path(last - 1)));
    store.reset(1).unwrap();
    assert!(store.state().executed.is_empty() && store.purged().is_empty());
    assert_eq!(store.list().len(), 1);
    assert_eq!(store.state().file, 1);
    for n in 0..60 {
        act(&mut store, &Act::Group(n), &groups).unwrap();
    }
    store.sync().unwrap();
    check(&store, &disk, 30);
    // A reset that the power cut off goes on.
    for at in 1..60 {
        let (left, power) = (Arc::new(disk.crash(false)), Arc::default());
        let dying: Arc<dyn Disk> = Arc::new(Dying {
            disk: left.clone(),
            power: Arc::clone(&power),
        });
        let mut store = open(dying).unwrap();
        power.lock().left = Some(at);
        let done = store.reset(1).is_ok();
        let left = Arc::new(left.crash(false));
        let store = open(left.clone()).unwrap();
        match store.state().executed.is_empty() {
            true => check(&store, &left, 0),
            false => check(&store, &left, 30),
        }
        if done {
            assert!(store.state().executed.is_empty());
            return;
        }
    }
    panic!("a reset takes more operations than were tried");
}

#[test]
fn a_stop_ends_the_file_and_a_start_begins_the_next() {
    let groups = groups(&mut Rng::new(1), 3);
    let disk = Arc::new(MemDisk::default());
    let mut store = open(disk.clone()).unwrap();
    act(&mut store, &Act::Group(0), &groups).unwrap();
    store.stop(99).unwrap();
    let file = disk
        .open(&names().path(1), OpenMode::Buffered, false)
        .unwrap();
    let mut flags = [9];
    file.read_now(&mut flags, crate::derive::FLAGS_AT).unwrap();
    assert_eq!(flags, [0]);
    let mut r = EventReader::new(file, FIRST_POSITION);
    let mut last = 0;
    while let Some((h, _)) = r.next(store.list()[0].size).unwrap() {
        last = h.kind;
    }
    assert_eq!(last, kind::STOP);
    drop(store);
    let store = open(disk).unwrap();
    assert_eq!(store.list().len(), 2);
    assert_eq!(store.state().executed.len(), 1);
}

#[test]
fn what_the_log_has_lost_is_not_asked_of_it() {
    let groups = groups(&mut Rng::new(1), 3);
    let disk = Arc::new(MemDisk::default());
    let mut store = open(disk.clone()).unwrap();
    act(&mut store, &Act::Group(0), &groups).unwrap();
    store.sync().unwrap();
    drop(store);
    // There was no binary log for a while.
    let store = Store::open(disk.clone(), names(), small(), Lsn(500)..=Lsn(700), 3).unwrap();
    assert_eq!((store.resume(), store.done()), (Lsn(700), Lsn(700)));
    assert_eq!(store.list().len(), 2);
    assert_eq!(store.state().executed.len(), 1);
}

#[test]
fn a_damaged_state_is_not_gone_on_from() {
    let disk = Arc::new(MemDisk::default());
    drop(open(disk.clone()).unwrap());
    assert!(disk.damage(&names().state(), |b| b[20] ^= 1));
    let e = open(disk).err().unwrap();
    assert_eq!(e.kind(), io::ErrorKind::InvalidData);
    assert!(e.to_string().contains("binlog.state"), "{e}");
}
