//! The archive against a disk that fails, and against power cuts at every operation; and what is refused.

use super::copier::{Copier, Trouble};
use super::marker::{MARKER, Marker};
use crate::derive::tests::{end, group, settings};
use crate::derive::{FLAGS_AT, Settings};
use crate::files::names::Names;
use crate::files::store::{LogFile, Store};
use base::Lsn;
use base::SplitMix64 as Rng;
use base::buf::IoBuf;
use base::environment::{Disk, Done, DoneSync, File, OpenMode};
use base::lock::Mutex;
use base::mem::MemDisk;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ARCHIVE: &str = "/a";
const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

/// Operations that change something, until one fails.
#[derive(Default)]
struct Power {
    left: Option<u64>,
    used: u64,
    /// Only that one fails, and only those in the archive are counted.
    passing: bool,
}

struct Dying {
    disk: Arc<MemDisk>,
    power: Arc<Mutex<Power>>,
}

struct DyingFile {
    file: Arc<dyn File>,
    path: PathBuf,
    power: Arc<Mutex<Power>>,
}

/// Whether an operation fails, and is the first that does.
fn fails(power: &Mutex<Power>, path: &Path) -> Option<bool> {
    let mut p = power.lock();
    if p.passing && !path.starts_with(ARCHIVE) {
        return None;
    }
    p.used += 1;
    match p.left {
        None => None,
        Some(0) => Some(false),
        Some(n) => {
            p.left = Some(n - 1);
            if n > 1 {
                return None;
            }
            if p.passing {
                p.left = None;
            }
            Some(true)
        }
    }
}

fn may(power: &Mutex<Power>, path: &Path) -> io::Result<()> {
    match fails(power, path) {
        None => Ok(()),
        Some(_) => Err(io::Error::other("no power")),
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
        match fails(&self.power, &self.path) {
            None => self.file.write_now(buf, offset),
            Some(first) => {
                if first {
                    // Half of it arrives.
                    self.file.write_now(&buf[..buf.len() / 2], offset)?;
                }
                Err(io::Error::other("no power"))
            }
        }
    }
    fn sync_now(&self) -> io::Result<()> {
        may(&self.power, &self.path)?;
        self.file.sync_now()
    }
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.file.allocate(len)
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        may(&self.power, &self.path)?;
        self.file.truncate(len)
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

impl Disk for Dying {
    fn open(&self, path: &Path, mode: OpenMode, create: bool) -> io::Result<Arc<dyn File>> {
        if create {
            may(&self.power, path)?;
        }
        Ok(Arc::new(DyingFile {
            file: self.disk.open(path, mode, create)?,
            path: path.to_owned(),
            power: self.power.clone(),
        }))
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        may(&self.power, path)?;
        self.disk.remove_file(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        may(&self.power, to)?;
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
        may(&self.power, path)?;
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

fn copier(disk: Arc<dyn Disk>) -> Copier {
    Copier::new(disk, names(), ARCHIVE.into(), UUID.to_owned())
}

fn bed() -> Arc<MemDisk> {
    let disk = Arc::new(MemDisk::default());
    disk.create_dir_all(Path::new(ARCHIVE)).unwrap();
    disk
}

fn lsn(n: usize) -> Lsn {
    Lsn(10 * (n as u64 + 1))
}

fn groups(rng: &mut Rng, n: usize) -> Vec<Vec<u8>> {
    (0..n)
        .map(|n| {
            let body = vec![n as u8; rng.below(300) as usize];
            group(&[b"BEGIN", &body], &end(1_000_000 * n as u64))
        })
        .collect()
}

fn read(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Buffered, false).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    let n = file.read_now(&mut bytes, 0).unwrap();
    assert_eq!(n, bytes.len());
    bytes
}

fn in_archive(number: u32) -> PathBuf {
    Path::new(ARCHIVE).join(names().name(number))
}

/// The archive has these files, byte for byte but for the flag of use.
fn check(disk: &dyn Disk, files: &[LogFile]) {
    for f in files {
        let mut own = read(disk, &names().path(f.number));
        own.truncate(f.size as usize);
        own[FLAGS_AT as usize] = 0;
        assert!(
            read(disk, &in_archive(f.number)) == own,
            "file {}",
            f.number
        );
    }
}

/// Archives all there is.
fn all(copier: &mut Copier, files: &[LogFile]) -> Result<(), Trouble> {
    while copier.step(files, true)?.more {}
    Ok(())
}

/// Writes groups, and archives what is shown between them; says how many groups were put in.
fn work(disk: &Arc<Dying>, groups: &[Vec<u8>], put: &mut usize) -> Result<Store, String> {
    let said = |e: io::Error| e.to_string();
    let dying: Arc<dyn Disk> = disk.clone();
    let mut store =
        Store::open(dying.clone(), names(), small(), Lsn(1)..=Lsn(1), 3).map_err(said)?;
    let mut copier = copier(dying);
    for (n, g) in groups.iter().enumerate() {
        *put = n + 1;
        store
            .put(g, n as u64, lsn(n), lsn(n - n % 3))
            .map_err(said)?;
        if store.is_full() {
            store.rotate(0).map_err(said)?;
        } else if n % 2 == 0 {
            store.flush().map_err(said)?;
        }
        if n % 3 != 1 {
            match all(&mut copier, store.list()) {
                Ok(()) => {}
                Err(Trouble::Passing(e)) => return Err(e),
                Err(Trouble::Final(e)) => panic!("{e}"),
            }
        }
    }
    Ok(store)
}

#[test]
fn a_prefix_stays_a_prefix_after_a_cut_at_every_operation() {
    let groups = groups(&mut Rng::new(31), 24);
    for keep_unsynced in [false, true] {
        let mut cut = 1;
        loop {
            let disk = bed();
            let power = Arc::new(Mutex::new(Power {
                left: Some(cut),
                ..Power::default()
            }));
            let dying = Arc::new(Dying {
                disk: disk.clone(),
                power,
            });
            let mut put = 0;
            if work(&dying, &groups, &mut put).is_ok() {
                assert!(cut > 200, "there were {cut} operations");
                break;
            }
            let disk = Arc::new(disk.crash(keep_unsynced));
            // The same bytes come again, and more; the archive is looked at while there are fewer than it has.
            let mut store =
                Store::open(disk.clone(), names(), small(), Lsn(1)..=Lsn(1), 3).unwrap();
            let mut copier = copier(disk.clone());
            while copier.step(store.list(), false).unwrap().more {}
            let put = put.max(1);
            for (n, g) in groups[..put].iter().enumerate() {
                store.put(g, n as u64, lsn(n), lsn(n - n % 3)).unwrap();
                store.flush().unwrap();
                if store.is_full() {
                    store.rotate(0).unwrap();
                }
                loop {
                    match copier.step(store.list(), false) {
                        Ok(step) if step.more => {}
                        Ok(_) => break,
                        Err(e) => panic!("cut at {cut}, {keep_unsynced}: {e:?}"),
                    }
                }
            }
            // As a start does.
            store.rotate(4).unwrap();
            all(&mut copier, store.list()).unwrap();
            check(&*disk, store.list());
            assert_eq!(copier.lacks(store.list()), store.state().file);
            cut += 1;
        }
    }
}

#[test]
fn what_fails_is_tried_again() {
    let groups = groups(&mut Rng::new(32), 24);
    let mut at = 1;
    loop {
        let disk = bed();
        let power = Arc::new(Mutex::new(Power {
            left: Some(at),
            passing: true,
            ..Power::default()
        }));
        let dying: Arc<dyn Disk> = Arc::new(Dying {
            disk: disk.clone(),
            power: power.clone(),
        });
        let mut store = Store::open(dying.clone(), names(), small(), Lsn(1)..=Lsn(1), 3).unwrap();
        let mut copier = copier(dying);
        for (n, g) in groups.iter().enumerate() {
            store.put(g, n as u64, lsn(n), lsn(n)).unwrap();
            store.flush().unwrap();
            if store.is_full() {
                store.rotate(0).unwrap();
            }
            if n % 2 == 1 || n + 1 == groups.len() {
                let mut tries = 0;
                while let Err(e) = all(&mut copier, store.list()) {
                    assert!(matches!(e, Trouble::Passing(_)), "at {at}: {e:?}");
                    // What is said to be whole is durable, whatever has failed.
                    let durable = disk.crash(false);
                    let whole = Marker::read(&durable, Path::new(ARCHIVE)).unwrap();
                    let through = whole.map_or(0, |m| m.through) as usize;
                    check(&durable, &store.list()[..through]);
                    tries += 1;
                    assert!(tries < 3, "at {at}: {e:?}");
                }
                // What was archived survives a cut.
                let durable = disk.crash(false);
                for f in store.list() {
                    let own = read(&*disk, &names().path(f.number));
                    let is = read(&durable, &in_archive(f.number));
                    assert_eq!(is.len() as u64, f.size);
                    assert_eq!(is[FLAGS_AT as usize + 1..], own[FLAGS_AT as usize + 1..]);
                }
            }
        }
        check(&*disk, store.list());
        let p = power.lock();
        if p.left.is_some() {
            assert!(p.used > 60, "{}", p.used);
            break;
        }
        at += 1;
    }
}

/// A store with some files, all archived.
fn archived() -> (Arc<MemDisk>, Store, Copier) {
    let disk = bed();
    let mut store = Store::open(disk.clone(), names(), small(), Lsn(1)..=Lsn(1), 3).unwrap();
    for (n, g) in groups(&mut Rng::new(33), 20).iter().enumerate() {
        store.put(g, n as u64, lsn(n), lsn(n)).unwrap();
        if store.is_full() {
            store.rotate(0).unwrap();
        }
    }
    store.flush().unwrap();
    let mut copier = copier(disk.clone());
    all(&mut copier, store.list()).unwrap();
    assert!(store.list().len() > 2);
    (disk, store, copier)
}

fn grow(store: &mut Store, from: usize) {
    for n in from..from + 3 {
        let g = group(&[b"BEGIN", b"more"], &end(1_000_000 * n as u64));
        store.put(&g, n as u64, lsn(n), lsn(n)).unwrap();
    }
    store.flush().unwrap();
}

fn finally(r: Result<(), Trouble>, expected: &str) {
    match r {
        Err(Trouble::Final(why)) => assert!(why.contains(expected), "{why}"),
        other => panic!("{other:?}, not: {expected}"),
    }
}

#[test]
fn what_is_another_is_never_written_over() {
    let fresh = |disk: &Arc<MemDisk>| copier(disk.clone());
    // Another server.
    let (disk, store, _) = archived();
    let other = "00000000-0000-0000-0000-000000000001";
    let mut another = Copier::new(disk.clone(), names(), ARCHIVE.into(), other.to_owned());
    let before = read(&*disk, &in_archive(1));
    finally(
        all(&mut another, store.list()),
        "is the archive of the server",
    );
    assert_eq!(another.lacks(store.list()), 0, "nothing may be purged");
    assert!(read(&*disk, &in_archive(1)) == before);
    // Files of another name.
    let renamed = Names::new(Path::new("/d"), "other", "").unwrap();
    let mut another = Copier::new(disk.clone(), renamed, ARCHIVE.into(), UUID.to_owned());
    finally(all(&mut another, store.list()), "files called binlog");
    // Another history under the same name, whole or not.
    for number in [store.state().file, 1] {
        let (disk, mut store, _) = archived();
        if number == 1 {
            disk.remove_file(&Path::new(ARCHIVE).join(MARKER)).unwrap();
        }
        disk.damage(&in_archive(number), |b| b[150] ^= 0x55);
        let before = read(&*disk, &in_archive(number));
        grow(&mut store, 20);
        finally(all(&mut fresh(&disk), store.list()), "differ at byte 150");
        assert!(read(&*disk, &in_archive(number)) == before);
    }
    // The archive has more than the server will ever have.
    let (disk, mut store, _) = archived();
    let last = store.state().file;
    disk.damage(&in_archive(last), |b| b.extend_from_slice(&[7; 500]));
    all(&mut fresh(&disk), store.list()).expect("a start may bring the rest again");
    store.rotate(0).unwrap();
    finally(all(&mut fresh(&disk), store.list()), "is longer than");
    let (disk, store, mut copier) = archived();
    let early = &store.list()[..1];
    let early = [LogFile {
        size: 150,
        ..early[0]
    }];
    finally(all(&mut copier, &early), "of another history");
    // Right behind a crash it may be that the rest comes again.
    let step = copier.step(&early, false).unwrap();
    assert!(!step.more && step.file > 1);
    // A file is missing between.
    let later = LogFile {
        number: store.state().file + 2,
        size: 10,
    };
    finally(all(&mut fresh(&disk), &[later]), "what was between is lost");
    // Its own file was damaged.
    disk.damage(&Path::new(ARCHIVE).join(MARKER), |b| b[20] ^= 1);
    finally(all(&mut fresh(&disk), store.list()), "is damaged");
}

#[test]
fn what_passes_is_waited_for() {
    // The archive is not mounted any more: the same folder is empty.
    let (disk, mut store, mut copier) = archived();
    let path = Path::new(ARCHIVE).join(MARKER);
    let kept = read(&*disk, &path);
    disk.remove_file(&path).unwrap();
    grow(&mut store, 20);
    let r = all(&mut copier, store.list());
    assert!(
        matches!(&r, Err(Trouble::Passing(why)) if why.contains("mounted")),
        "{r:?}"
    );
    let file = disk.open(&path, OpenMode::Buffered, true).unwrap();
    file.write_now(&kept, 0).unwrap();
    all(&mut copier, store.list()).unwrap();
    check(&*disk, store.list());
    // The file that is being brought up to date is removed, or cut: it is copied again.
    let last = store.state().file;
    for cut in [None, Some(100)] {
        match cut {
            None => disk.remove_file(&in_archive(last)).unwrap(),
            Some(len) => {
                disk.damage(&in_archive(last), |b| b.truncate(len));
            }
        }
        let r = all(&mut copier, store.list());
        assert!(matches!(&r, Err(Trouble::Passing(_))), "{r:?}");
        all(&mut copier, store.list()).unwrap();
        check(&*disk, store.list());
    }
    // A full disk.
    disk.set_room(0);
    let before = read(&*disk, &in_archive(last));
    let bigger = LogFile {
        number: last,
        size: before.len() as u64,
    };
    all(&mut copier, &[bigger]).unwrap();
    disk.set_room(1 << 20);
    grow(&mut store, 23);
    disk.set_room(5);
    assert!(matches!(
        all(&mut copier, store.list()),
        Err(Trouble::Passing(_))
    ));
    disk.set_room(1 << 20);
    all(&mut copier, store.list()).unwrap();
    check(&*disk, store.list());
}

#[test]
fn zeros_of_a_power_cut_are_written_again() {
    let (disk, mut store, copier) = archived();
    drop(copier);
    let last = store.state().file;
    grow(&mut store, 20);
    let len = read(&*disk, &in_archive(last)).len();
    disk.damage(&in_archive(last), |b| {
        b[len / 2..].fill(0);
        b.extend_from_slice(&[0; 20]);
    });
    let mut copier = self::copier(disk.clone());
    all(&mut copier, store.list()).unwrap();
    check(&*disk, store.list());
}

#[test]
fn numbers_go_on_when_the_binary_log_is_begun_anew() {
    let (disk, mut store, mut copier) = archived();
    let last = store.state().file;
    let files = store.list().to_vec();
    let refused = copier.before_reset(&files, last);
    assert!(
        matches!(&refused, Err(Trouble::Final(why)) if why.contains(&format!("{} or higher", last + 1))),
        "{refused:?}"
    );
    // It was asked for and not done: files go on as they would have.
    assert_eq!(copier.before_reset(&files, 1).unwrap(), last + 1);
    grow(&mut store, 20);
    store.rotate(0).unwrap();
    all(&mut copier, store.list()).unwrap();
    let marker = || Marker::read(&*disk, Path::new(ARCHIVE)).unwrap().unwrap();
    assert_eq!((marker().through, marker().reset_to), (last, None));
    check(&*disk, store.list());
    // It is done.
    let before: Vec<_> = (1..=last + 1)
        .map(|n| read(&*disk, &in_archive(n)))
        .collect();
    let files = store.list().to_vec();
    let first = copier.before_reset(&files, 1).unwrap();
    assert_eq!(first, last + 2);
    store.reset(first).unwrap();
    grow(&mut store, 30);
    // Also by a server that was started in between.
    for mut copier in [copier, self::copier(disk.clone())] {
        all(&mut copier, store.list()).unwrap();
        check(&*disk, store.list());
        assert_eq!(marker().begun, [first]);
        assert_eq!((marker().through, marker().reset_to), (first - 1, None));
    }
    for (n, bytes) in before.iter().enumerate() {
        assert!(read(&*disk, &in_archive(n as u32 + 1)) == *bytes);
    }
}
