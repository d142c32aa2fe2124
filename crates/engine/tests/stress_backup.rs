//! Backups are taken again and again while sessions change rows and definitions. What is restored from each must be a moment between its beginning and
//! its end: of each session all that was acknowledged when the backup was about to end, nothing that it had not begun by then, and nothing by halves.
//!
//! What the k-th transaction of a session does is drawn from the seed, the session and k alone. So how far a session had come, which it writes into a
//! row of its own, says what all its rows must be.

#[path = "../../pager/tests/sim/mod.rs"]
mod sim;
mod world;

use base::environment::{Disk, Done, DoneSync, File, OpenMode};
use base::mem::MemDisk;
use base::{Environment, IoBuf, SplitMix64, block_on};
use engine::backup::*;
use engine::*;
use sim::{Cut, SimDisk};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use types::ValueRef;
use world::*;

/// Rows of one session, from `of * SPAN` on; the first says how far it has come.
const SPAN: i64 = 1_000;
const WRITERS: u64 = 3;

/// A disk on which a write of a page is not done at once: a read beside it finds the one half new and the other one old.
struct Halves(Arc<dyn Disk>);

struct HalfFile(Arc<dyn File>);

impl File for HalfFile {
    fn submit_read(&self, buf: IoBuf, offset: u64, done: Done) {
        self.0.submit_read(buf, offset, done);
    }
    fn submit_write(&self, buf: IoBuf, offset: u64, done: Done) {
        let bytes = buf.bytes();
        let half = bytes.len() / 2 + 512;
        if bytes.len() >= 16384 && half < bytes.len() {
            if let Err(e) = self.0.write_now(&bytes[..half], offset) {
                return done(buf, Err(e));
            }
            std::thread::sleep(Duration::from_micros(100));
            let r = self.0.write_now(&bytes[half..], offset + half as u64);
            let n = bytes.len();
            return done(buf, r.map(|()| n));
        }
        self.0.submit_write(buf, offset, done);
    }
    fn submit_sync(&self, done: DoneSync) {
        self.0.submit_sync(done);
    }
    fn read_now(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_now(buf, offset)
    }
    fn write_now(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_now(buf, offset)
    }
    fn sync_now(&self) -> io::Result<()> {
        self.0.sync_now()
    }
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.0.allocate(len)
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.truncate(len)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}

impl Disk for Halves {
    fn open(&self, path: &Path, mode: OpenMode, create: bool) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(HalfFile(self.0.open(path, mode, create)?)))
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.remove_file(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir(path)
    }
    fn read_dir(&self, path: &Path) -> io::Result<Vec<(String, bool)>> {
        self.0.read_dir(path)
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.0.lock(path)
    }
    fn kind(&self) -> &'static str {
        "halves"
    }
}

fn environment(disk: &Arc<MemDisk>) -> Environment {
    let of_memory = base::mem::environment(disk.clone());
    Environment {
        disk: Arc::new(Halves(disk.clone())),
        ..of_memory
    }
}

fn options() -> EngineOptions {
    EngineOptions {
        pager: PagerOptions {
            // Fewer pages than there are, and a log that comes round.
            pool_bytes: 96 * 16384,
            log_capacity_bytes: 8 << 20,
            log_buffer_bytes: 1 << 20,
            log_unit_bytes: 512 << 10,
            compressed_step_bytes: 64 << 10,
            ..PagerOptions::default()
        },
        ..EngineOptions::default()
    }
}

fn open_at(disk: &Arc<MemDisk>, path: &str) -> Arc<Engine> {
    let opened = Engine::open(environment(disk), Path::new(path), options());
    block_on(opened).expect("open")
}

type Rows = BTreeMap<i64, (i64, u8, usize)>;

async fn all_rows(s: &mut Session, t: &Arc<Table>) -> Rows {
    let spec = ScanSpec {
        index: 0,
        lower: KeyBound::None,
        upper: KeyBound::None,
        backward: false,
        mode: ReadMode::Consistent,
    };
    let mut sc = s.scan(t, spec);
    let (mut out, mut batch) = (Rows::new(), RowBatch::new());
    loop {
        batch.clear();
        let any = &mut |_: RowRef<'_>| Ok(true);
        let more = s.next_batch(&mut sc, &mut batch, 64, any).await.unwrap();
        for i in 0..batch.len() {
            let r = batch.row(i);
            let int = |c| match r.column(c) {
                ValueRef::Int(v) => v,
                v => panic!("{v:?}"),
            };
            let b = r.column(2).as_bytes().unwrap();
            assert!(b.iter().all(|x| *x == b[0]));
            let v = (int(1), b.first().copied().unwrap_or(0), b.len());
            assert!(out.insert(int(0), v).is_none());
        }
        if !more {
            return out;
        }
    }
}

/// What a transaction does: rows put and rows taken away.
fn work(seed: u64, of: u64, k: u64) -> Vec<(i64, Option<(i64, u8, usize)>)> {
    let mut rng = SplitMix64::new(seed ^ (of << 40) ^ k.wrapping_mul(0x9e37));
    let first = of as i64 * SPAN;
    let mut all = vec![(first, Some((k as i64, 1, 1)))];
    for _ in 0..1 + rng.below(4) {
        let id = first + 1 + rng.below(300) as i64;
        let long = rng.one_in(20);
        let len = match long {
            true => 9_000 + rng.below(20_000) as usize,
            false => 1 + rng.below(900) as usize,
        };
        let v = (rng.below(50) as i64, rng.below(250) as u8, len);
        all.push((id, (!rng.one_in(4)).then_some(v)));
    }
    all
}

/// What the rows of a session are after so many transactions.
fn model(seed: u64, of: u64, done: u64) -> Rows {
    let mut rows = Rows::new();
    for k in 1..=done {
        for (id, v) in work(seed, of, k) {
            match v {
                Some(v) => rows.insert(id, v),
                None => rows.remove(&id),
            };
        }
    }
    rows
}

async fn put(s: &mut Session, t: &Arc<Table>, id: i64, v: (i64, u8, usize)) {
    let values = row(id, v.0, v.1, v.2);
    let (key, new) = (key(t, id), &mut |_: RowRef<'_>| Ok(Some(values.clone())));
    let there = s.update_key(t, &key, new).await.unwrap();
    if matches!(there, Updated::NotFound) {
        assert_eq!(s.insert(t, &values).await.unwrap(), Inserted::Done);
    }
}

/// How far somebody has come: begun and acknowledged.
#[derive(Default)]
struct Progress {
    begun: AtomicU64,
    done: AtomicU64,
}

fn writer(e: &Arc<Engine>, seed: u64, of: u64, p: &Progress, stop: &AtomicBool) {
    let mut s = e.session();
    let mut k = p.done.load(Ordering::SeqCst);
    while !stop.load(Ordering::SeqCst) {
        k += 1;
        p.begun.store(k, Ordering::SeqCst);
        block_on(async {
            // One that is taken back, and leaves nothing.
            let name = if of % 2 == 0 { "t" } else { "c" };
            for keep in [false, true] {
                if !keep && k % 5 != 0 {
                    continue;
                }
                s.begin(Isolation::ReadCommitted, false);
                let t = s.open_table("s", name).await.unwrap();
                for (id, v) in work(seed, of, if keep { k } else { k + 7_000_000 }) {
                    match v {
                        Some(v) => put(&mut s, &t, id, v).await,
                        None => {
                            let any = &mut |_: RowRef<'_>| Ok(true);
                            s.delete_key(&t, &key(&t, id), any).await.unwrap();
                        }
                    }
                }
                match keep {
                    true => s.commit().await.unwrap(),
                    false => s.rollback().await.unwrap(),
                }
            }
        });
        p.done.store(k, Ordering::SeqCst);
    }
}

/// What a definition's session does as its k-th step, and what its tables are then.
type Tables = BTreeMap<String, Rows>;

fn definitions(e: Option<&Arc<Engine>>, seed: u64, k: u64, tables: &mut Tables) {
    let mut rng = SplitMix64::new(seed ^ 0xddd ^ k.wrapping_mul(0x9e37));
    let name = format!("d{}", rng.below(5));
    let other = format!("d{}", 5 + rng.below(3));
    let compressed = rng.one_in(3);
    let n = 1 + rng.below(120) as i64;
    let what = rng.below(6);
    let mut s = e.map(|e| e.session());
    let there = tables.contains_key(&name);
    block_on(async {
        match what {
            _ if !there => {
                tables.insert(name.clone(), Rows::new());
                if let Some(s) = &mut s {
                    let mut def = def(&name);
                    if compressed {
                        def.options.row_format = "COMPRESSED".into();
                    }
                    s.create_table(def).await.unwrap();
                }
            }
            0 => {
                tables.remove(&name);
                if let Some(s) = &mut s {
                    s.drop_table("s", &name).await.unwrap();
                }
            }
            1 => {
                tables.insert(name.clone(), Rows::new());
                if let Some(s) = &mut s {
                    s.truncate_table("s", &name).await.unwrap();
                }
            }
            2 if !tables.contains_key(&other) => {
                let rows = tables.remove(&name).unwrap();
                tables.insert(other.clone(), rows);
                if let Some(s) = &mut s {
                    let of = |n: &str| ("s".to_owned(), n.to_owned());
                    s.rename_tables(&[(of(&name), of(&other))]).await.unwrap();
                }
            }
            2 => {
                tables.remove(&other);
                if let Some(s) = &mut s {
                    s.drop_table("s", &other).await.unwrap();
                }
            }
            3 => {
                if let Some(s) = &mut s {
                    let t = s.open_table("s", &name).await.unwrap();
                    let same = Rewrite::Same;
                    let rebuilt = s.rebuild_table(&t, t.def.clone(), same, true, true);
                    assert!(rebuilt.await.unwrap().is_some());
                }
            }
            _ => {
                let rows = tables.get_mut(&name).unwrap();
                let from = rows.keys().last().map_or(0, |id| id + 1);
                if let Some(s) = &mut s {
                    s.begin(Isolation::ReadCommitted, false);
                    let t = s.open_table("s", &name).await.unwrap();
                    for id in from..from + n {
                        let values = row(id, k as i64, 3, 400);
                        s.insert(&t, &values).await.unwrap();
                    }
                    s.commit().await.unwrap();
                }
                rows.extend((from..from + n).map(|id| (id, (k as i64, 3, 400))));
            }
        }
    });
}

/// All chunks of a backup, one behind the other, and its manifest.
fn taken(e: &Arc<Engine>, since: Option<SinceToken>) -> (Vec<u8>, Manifest) {
    let taking = Taking {
        since,
        ..Taking::default()
    };
    block_on(async {
        let mut backup = e.begin_backup(taking).await.unwrap();
        let mut all = Vec::new();
        while let Some(chunk) = backup.next().await.unwrap() {
            all.extend(chunk);
        }
        all.extend(backup.file(Extra::Persisted, b"{}").unwrap());
        backup.finish(backup.least_end(), None, None).await.unwrap();
        while let Some(chunk) = backup.next().await.unwrap() {
            all.extend(chunk);
        }
        (all, backup.manifest().clone())
    })
}

/// Restores a chain of backups, opens what comes of it, and has `look` look.
fn restored(chain: &[&[u8]], look: impl FnOnce(&Arc<Engine>)) {
    let disk = Arc::new(MemDisk::default());
    let environment = base::mem::environment(disk.clone());
    let mut restore = engine::backup::restore(&environment, Path::new("/r")).unwrap();
    for (i, bytes) in chain.iter().enumerate() {
        verify(*bytes).unwrap();
        restore.read(*bytes, i + 1 == chain.len()).unwrap();
    }
    let manifest = restore.finish().unwrap();
    let opened = Engine::open_with_report(environment, Path::new("/r"), options());
    let (e, report) = block_on(opened).expect("the restored directory opens");
    assert!(report.missing.is_empty(), "{:?}", report.missing);
    assert!(
        report.pages.damaged.is_empty(),
        "{:?}",
        report.pages.damaged
    );
    assert_eq!(
        report.pages.log_end, manifest.end,
        "all of the log was read"
    );
    look(&e);
    block_on(e.close()).unwrap();
}

struct Load {
    engine: Arc<Engine>,
    writers: Arc<Vec<Progress>>,
    ddl: Arc<Progress>,
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

fn load(seed: u64) -> Load {
    let disk = Arc::new(MemDisk::default());
    let engine = open_at(&disk, "/db");
    let mut compressed = def("c");
    compressed.options.row_format = "COMPRESSED".into();
    block_on(async {
        let mut s = engine.session();
        create(&mut s, def("t")).await;
        s.create_table(compressed).await.unwrap();
    });
    let writers: Vec<_> = (0..WRITERS).map(|_| Progress::default()).collect();
    let (writers, ddl) = (Arc::new(writers), Arc::new(Progress::default()));
    let stop = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for of in 0..WRITERS {
        let (e, w, stop) = (engine.clone(), writers.clone(), stop.clone());
        threads.push(std::thread::spawn(move || {
            writer(&e, seed, of, &w[of as usize], &stop);
        }));
    }
    let (e, p, ended) = (engine.clone(), ddl.clone(), stop.clone());
    threads.push(std::thread::spawn(move || {
        let mut tables = Tables::new();
        let mut k = 0;
        while !ended.load(Ordering::SeqCst) {
            k += 1;
            p.begun.store(k, Ordering::SeqCst);
            definitions(Some(&e), seed, k, &mut tables);
            p.done.store(k, Ordering::SeqCst);
        }
    }));
    Load {
        engine,
        writers,
        ddl,
        stop,
        threads,
    }
}

/// From where to where each of them must be in a backup.
type Bounds = (Vec<(u64, u64)>, (u64, u64));

impl Load {
    fn bounds_low(&self) -> (Vec<u64>, u64) {
        let done = |p: &Progress| p.done.load(Ordering::SeqCst);
        (self.writers.iter().map(done).collect(), done(&self.ddl))
    }

    fn bounds_high(&self) -> (Vec<u64>, u64) {
        let begun = |p: &Progress| p.begun.load(Ordering::SeqCst);
        (self.writers.iter().map(begun).collect(), begun(&self.ddl))
    }

    /// A backup, and what must be in it: all that was acknowledged before its last page was read, nothing that began behind its end.
    fn take(&self, since: Option<SinceToken>) -> (Vec<u8>, Manifest, Bounds) {
        // The last pages may have been read long after the first: what is asked of it is looked at as late as can be.
        let low = std::cell::RefCell::new(self.bounds_low());
        let taking = Taking {
            since,
            ..Taking::default()
        };
        let (all, manifest) = block_on(async {
            let mut backup = self.engine.begin_backup(taking).await.unwrap();
            let mut all = Vec::new();
            loop {
                let now = self.bounds_low();
                match backup.next().await.unwrap() {
                    // All that was acknowledged before the end was looked for.
                    None => {
                        *low.borrow_mut() = now;
                        break;
                    }
                    Some(chunk) => all.extend(chunk),
                }
            }
            backup.finish(backup.least_end(), None, None).await.unwrap();
            while let Some(chunk) = backup.next().await.unwrap() {
                all.extend(chunk);
            }
            (all, backup.manifest().clone())
        });
        let (low, high) = (low.into_inner(), self.bounds_high());
        let each = low.0.into_iter().zip(high.0).collect();
        (all, manifest, (each, (low.1, high.1)))
    }

    fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        for t in self.threads {
            t.join().unwrap();
        }
        block_on(self.engine.close()).unwrap();
    }
}

fn is_a_moment(e: &Arc<Engine>, seed: u64, bounds: &Bounds) {
    let mut s = e.session();
    // Losers are rolled back behind the start.
    s.begin(Isolation::RepeatableRead, true);
    let mut found = BTreeMap::new();
    for name in ["t", "c"] {
        let t = block_on(s.open_table("s", name)).unwrap();
        found.insert(name, block_on(all_rows(&mut s, &t)));
    }
    for (of, (low, high)) in (0..).zip(&bounds.0) {
        let rows = &found[if of % 2 == 0 { "t" } else { "c" }];
        let first = of as i64 * SPAN;
        let mine: Rows = rows
            .range(first..first + SPAN)
            .map(|(id, v)| (*id, *v))
            .collect();
        let done = mine.get(&first).map_or(0, |v| v.0 as u64);
        assert!(
            (*low..=*high).contains(&done),
            "session {of}: {done} transactions, not {low} to {high}"
        );
        let expected = model(seed, of, done);
        assert!(mine == expected, "session {of}: other rows after {done}");
    }
    let catalog = e.catalog();
    let names = catalog.tables().map(|t| t.def.name.clone());
    let names: Vec<_> = names.filter(|n| n.starts_with('d')).collect();
    let mut tables = Tables::new();
    for name in names {
        let t = block_on(s.open_table("s", &name)).unwrap();
        tables.insert(name, block_on(all_rows(&mut s, &t)));
    }
    let (low, high) = bounds.1;
    let mut expected = Tables::new();
    let mut same = low == 0 && expected == tables;
    for k in 1..=high {
        definitions(None, seed, k, &mut expected);
        same |= k >= low && expected == tables;
    }
    assert!(same, "the tables are not as between steps {low} and {high}");
    block_on(s.commit()).unwrap();
    let t: Vec<_> = catalog.tables().cloned().collect();
    for t in t {
        sound(e, &t.def.name);
    }
}

fn seconds() -> u64 {
    let given = std::env::var("TIDEMILL_BACKUP_SECONDS");
    given.map_or(6, |s| s.parse().expect("a number of seconds"))
}

#[test]
fn what_is_restored_is_one_moment() {
    within(seconds() * 20 + 200, "backups under load", || {
        let until = Instant::now() + Duration::from_secs(seconds());
        let mut seed = base::seed::nth("backup", 0);
        let mut rounds = 0;
        while rounds < 1 || Instant::now() < until {
            let load = load(seed);
            std::thread::sleep(Duration::from_millis(300));
            let mut chain: Vec<(Vec<u8>, Manifest, Bounds)> = Vec::new();
            for n in 0..3 {
                let since = chain.last().map(|b| b.1.token());
                let taken = load.take(since);
                assert_eq!(taken.1.parent != 0, n > 0);
                chain.push(taken);
                std::thread::sleep(Duration::from_millis(50));
            }
            for n in 1..=chain.len() {
                let parts: Vec<&[u8]> = chain[..n].iter().map(|b| &b.0[..]).collect();
                restored(&parts, |e| is_a_moment(e, seed, &chain[n - 1].2));
            }
            load.end();
            rounds += 1;
            seed = seed.wrapping_add(1);
        }
        println!("{rounds} rounds");
    });
}

#[test]
fn a_damaged_backup_says_so() {
    let disk = Arc::new(MemDisk::default());
    let e = open_at(&disk, "/db");
    block_on(fill(&e, 300, 200));
    let (all, manifest) = taken(&e, None);
    let summary = verify(&all[..]).unwrap();
    assert_eq!(summary.manifest, manifest);
    assert_eq!(summary.bytes, all.len() as u64);
    let mut rng = SplitMix64::new(base::seed::nth("damage", 1));
    let try_one = |bytes: &[u8]| {
        let checked = verify(bytes);
        let environment = base::mem::environment(Arc::new(MemDisk::default()));
        let mut restore = engine::backup::restore(&environment, Path::new("/r")).unwrap();
        let read = restore.read(bytes, true);
        assert_eq!(checked.is_err(), read.is_err());
        if read.is_err() {
            assert!(restore.finish().is_err(), "there is no backup");
            // And no start takes it for a directory.
            assert!(!environment.disk.exists(Path::new("/r/log/control")));
        }
        checked
    };
    for _ in 0..400 {
        let mut bytes = all.clone();
        let bit = rng.below(bytes.len() as u64 * 8) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(try_one(&bytes).is_err(), "bit {bit}");
    }
    for _ in 0..100 {
        let len = rng.below(all.len() as u64) as usize;
        assert!(try_one(&all[..len]).is_err(), "cut at {len}");
    }
    // Whole chunks that are missing, twice there, or of another backup.
    let (other, _) = taken(&e, None);
    let parts = |all: &[u8]| {
        let mut reader = ChunkReader::new(all);
        let mut ends = vec![0];
        while reader.next().unwrap().is_some() {
            ends.push(reader.place().so_far().1 as usize);
        }
        ends
    };
    let (ends, others) = (parts(&all), parts(&other));
    for i in 0..ends.len() - 1 {
        let mut left_out = all[..ends[i]].to_vec();
        left_out.extend_from_slice(&all[ends[i + 1]..]);
        assert!(try_one(&left_out).is_err());
        let mut twice = all[..ends[i + 1]].to_vec();
        twice.extend_from_slice(&all[ends[i]..]);
        assert!(try_one(&twice).is_err());
        if let Some(end) = others.get(i + 1) {
            let mut mixed = all[..ends[i]].to_vec();
            mixed.extend_from_slice(&other[others[i]..*end]);
            mixed.extend_from_slice(&all[ends[i + 1]..]);
            assert!(try_one(&mixed).is_err());
        }
    }
    block_on(e.close()).unwrap();
}

#[test]
fn a_directory_that_is_not_empty_is_left_alone() {
    let disk = Arc::new(MemDisk::default());
    let environment = base::mem::environment(disk.clone());
    disk.create_dir_all(Path::new("/r")).unwrap();
    disk.open(Path::new("/r/x"), OpenMode::Buffered, true)
        .unwrap();
    let e = engine::backup::restore(&environment, Path::new("/r"));
    assert!(e.err().unwrap().to_string().contains("not empty"));
}

#[test]
fn only_what_follows_is_restored_behind_a_backup() {
    let disk = Arc::new(MemDisk::default());
    let e = open_at(&disk, "/db");
    let mut s = block_on(fill(&e, 3000, 300));
    // A backup begins at a checkpoint, and what is not written by then counts as changed since.
    block_on(e.pager().flush_all()).unwrap();
    let (base, m) = taken(&e, None);
    let insert = |s: &mut Session, id: i64| {
        block_on(async {
            s.begin(Isolation::ReadCommitted, false);
            let t = s.open_table("s", "t").await.unwrap();
            s.insert(&t, &row(id, 1, 1, 10)).await.unwrap();
            s.commit().await.unwrap();
        });
    };
    insert(&mut s, 10_001);
    let (first, m1) = taken(&e, Some(m.token()));
    insert(&mut s, 10_002);
    let (second, _) = taken(&e, Some(m1.token()));
    assert!(
        first.len() < base.len() / 2 && m1.pages < m.pages / 2,
        "{m1:?}"
    );
    let chain = |parts: &[&[u8]]| {
        let environment = base::mem::environment(Arc::new(MemDisk::default()));
        let mut restore = engine::backup::restore(&environment, Path::new("/r")).unwrap();
        for (i, p) in parts.iter().enumerate() {
            restore.read(*p, i + 1 == parts.len())?;
        }
        restore.finish()
    };
    assert!(chain(&[&base, &first, &second]).is_ok());
    for wrong in [
        &[&first[..]][..],
        &[&base, &second],
        &[&first, &base],
        &[&base, &base],
        &[&base, &first, &first],
    ] {
        assert!(chain(wrong).is_err());
    }
    let count = |e: &Arc<Engine>| {
        let mut s = e.session();
        s.begin(Isolation::RepeatableRead, true);
        let t = block_on(s.open_table("s", "t")).unwrap();
        block_on(all_rows(&mut s, &t)).len()
    };
    restored(&[&base], |e| assert_eq!(count(e), 3000));
    restored(&[&base, &first], |e| assert_eq!(count(e), 3001));
    restored(&[&base, &first, &second], |e| assert_eq!(count(e), 3002));
    // Of another database it is none, though the positions would fit.
    let other = open_at(&Arc::new(MemDisk::default()), "/db");
    let taking = Taking {
        since: Some(m.token()),
        ..Taking::default()
    };
    assert!(block_on(other.begin_backup(taking)).is_err());
    drop(s);
    block_on(e.close()).unwrap();
    block_on(other.close()).unwrap();
}

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
            block_on(async {
                s.begin(Isolation::ReadCommitted, false);
                let t = s.open_table("s", "t").await.unwrap();
                for id in 0..50 {
                    put(&mut s, &t, id, (1, 9, 6_000)).await;
                }
                s.commit().await.unwrap();
            });
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
    target.set_room(20_000);
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
        let mut s = block_on(fill(&e, 100, 6_000));
        let change = |s: &mut Session, n: u8| {
            block_on(async {
                s.begin(Isolation::ReadCommitted, false);
                let t = s.open_table("s", "t").await.unwrap();
                for id in 0..50 {
                    put(s, &t, id, (1, n, 6_000)).await;
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
