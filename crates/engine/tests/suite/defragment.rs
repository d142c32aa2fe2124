//! Space comes back by itself, while others read and write, over crashes and backups; and nothing is written when there is nothing to do.

use crate::world::{column, create, index, key, pager_options, sound, table};
use base::mem::{self, MemDisk};
use base::{SplitMix64, block_on};
use engine::*;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use types::{CollationId, DataType, Value};

const LIMIT: Duration = Duration::from_secs(60);

fn open(disk: &Arc<MemDisk>, frames: u64) -> Arc<Engine> {
    let options = EngineOptions {
        pager: pager_options(frames),
        defragment: DefragmentOptions {
            on: true,
            tick_us: 5_000,
            least_pages: 4,
        },
        ..EngineOptions::default()
    };
    let environment = mem::environment(disk.clone());
    block_on(Engine::open(environment, Path::new("/db"), options)).expect("open")
}

fn def(name: &str) -> TableDef {
    let columns = vec![
        column("id", DataType::BIGINT),
        column("k", DataType::BIGINT),
        column("pad", DataType::varchar(300, CollationId::DEFAULT)),
    ];
    let indexes = vec![
        index("PRIMARY", IndexKind::Primary, &[0]),
        index("k", IndexKind::Plain, &[1]),
    ];
    table(name, columns, indexes)
}

fn row(id: i64) -> Vec<Value> {
    let pad = vec![b'a' + (id % 26) as u8; 200];
    vec![
        Value::Int(id),
        Value::Int(id.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64)),
        Value::Bytes(pad),
    ]
}

/// A table, and the keys of its rows.
struct Stage {
    engine: Arc<Engine>,
    session: Session,
    ids: BTreeSet<i64>,
    dice: SplitMix64,
}

impl Stage {
    fn new(disk: &Arc<MemDisk>, seed: u64) -> Stage {
        let engine = open(disk, 8192);
        let mut session = engine.session();
        block_on(create(&mut session, def("t")));
        Stage {
            engine,
            session,
            ids: BTreeSet::new(),
            dice: SplitMix64::new(base::seed::nth("defragment", seed)),
        }
    }

    fn insert(&mut self, rows: usize) {
        let s = &mut self.session;
        block_on(async {
            for part in 0..rows.div_ceil(1000) {
                s.begin(Isolation::ReadCommitted, false);
                let t = s.open_table("s", "t").await.unwrap();
                for _ in part * 1000..rows.min((part + 1) * 1000) {
                    let id = (self.dice.next() >> 2) as i64;
                    if self.ids.insert(id) {
                        s.insert(&t, &row(id)).await.unwrap();
                    }
                }
                s.commit().await.unwrap();
            }
        });
    }

    /// Deletes so many of a hundred.
    fn delete(&mut self, percent: u64) {
        let gone: Vec<i64> = self.ids.iter().copied().collect();
        let dice = &mut self.dice;
        let gone: Vec<i64> = gone
            .into_iter()
            .filter(|_| dice.below(100) < percent)
            .collect();
        let s = &mut self.session;
        block_on(async {
            for part in gone.chunks(1000) {
                s.begin(Isolation::ReadCommitted, false);
                let t = s.open_table("s", "t").await.unwrap();
                for id in part {
                    let k = key(&t, *id);
                    assert!(s.delete_key(&t, &k, &mut |_| Ok(true)).await.unwrap());
                    self.ids.remove(id);
                }
                s.commit().await.unwrap();
            }
        });
    }

    fn file_bytes(&self, name: &str) -> u64 {
        self.engine.catalog().table("s", name).unwrap().file_bytes()
    }

    /// What a fresh table of the same rows takes.
    fn fresh_bytes(&mut self) -> u64 {
        let s = &mut self.session;
        block_on(async {
            s.create_table(def("fresh")).await.unwrap();
            s.begin(Isolation::ReadCommitted, false);
            let t = s.open_table("s", "fresh").await.unwrap();
            for id in &self.ids {
                s.insert(&t, &row(*id)).await.unwrap();
            }
            s.commit().await.unwrap();
            drop(t);
        });
        // Its index has random entries.
        let least = self.settled("fresh");
        block_on(self.session.drop_table("s", "fresh")).unwrap();
        least
    }

    /// The file's size when it does not change any more.
    fn settled(&self, name: &str) -> u64 {
        let (mut last, mut since) = (self.file_bytes(name), Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(20));
            let now = self.file_bytes(name);
            if now != last {
                (last, since) = (now, Instant::now());
            }
            if since.elapsed() > Duration::from_millis(700) {
                return last;
            }
        }
    }

    /// Waits until the file is nearly as small as it can be.
    fn wait_for(&self, bytes: u64) {
        let until = Instant::now() + LIMIT;
        while self.file_bytes("t") > bytes {
            let space = self
                .engine
                .index_space(&self.engine.catalog().table("s", "t").unwrap());
            assert!(
                Instant::now() < until,
                "the file has {} bytes and not {bytes}: {space:?}",
                self.file_bytes("t")
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// All rows are there, and only they.
    fn check(&mut self) {
        sound(&self.engine, "t");
        let ids = read_all(&mut self.session);
        assert!(
            ids.iter().eq(self.ids.iter()),
            "{} rows of {}",
            ids.len(),
            self.ids.len()
        );
    }
}

fn read_all(s: &mut Session) -> Vec<i64> {
    block_on(async {
        s.begin(Isolation::Snapshot, true);
        let t = s.open_table("s", "t").await.unwrap();
        let mut scan = s.scan(
            &t,
            ScanSpec {
                index: 0,
                lower: KeyBound::None,
                upper: KeyBound::None,
                backward: false,
                mode: ReadMode::Consistent,
            },
        );
        let (mut ids, mut batch) = (Vec::new(), RowBatch::new());
        let mut more = true;
        while more {
            batch.clear();
            more = s
                .next_batch(&mut scan, &mut batch, 100, &mut |_| Ok(true))
                .await
                .unwrap();
            for i in 0..batch.len() {
                let types::ValueRef::Int(id) = batch.row(i).column(0) else {
                    panic!("an id is a number")
                };
                ids.push(id);
            }
        }
        s.commit().await.unwrap();
        ids
    })
}

/// Twelve times half of the rows go and as many come, with random keys; then nine of ten go. Whenever it is quiet the file becomes as small as a fresh
/// one of the same rows, but for a tenth.
#[test]
fn a_file_is_as_small_as_a_fresh_one_when_it_is_quiet() {
    let mut stage = Stage::new(&Arc::default(), 1);
    stage.insert(40_000);
    for round in 0..12 {
        stage.delete(50);
        let gone = 40_000 - stage.ids.len();
        stage.insert(gone);
        if round % 4 == 3 {
            let fresh = stage.fresh_bytes();
            stage.wait_for(fresh / 10 * 11 + (16 << 14));
            stage.check();
        }
    }
    stage.delete(90);
    let fresh = stage.fresh_bytes();
    stage.wait_for(fresh / 10 * 11 + (16 << 14));
    stage.check();
    block_on(stage.engine.close()).unwrap();
}

/// When there is nothing left to do nothing is written.
#[test]
fn a_server_at_rest_writes_nothing() {
    let mut stage = Stage::new(&Arc::default(), 2);
    stage.insert(20_000);
    stage.delete(80);
    stage.settled("t");
    let written = |e: &Engine| (e.counters().log_end, e.counters().pages_written);
    let until = Instant::now() + LIMIT;
    let mut before = written(&stage.engine);
    loop {
        std::thread::sleep(Duration::from_millis(1500));
        let now = written(&stage.engine);
        if now == before {
            break;
        }
        assert!(Instant::now() < until, "it goes on writing");
        before = now;
    }
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(written(&stage.engine), before);
    stage.check();
    block_on(stage.engine.close()).unwrap();
}

/// Off, nothing is moved; on again, what has been left is.
#[test]
fn it_can_be_switched_off() {
    let mut stage = Stage::new(&Arc::default(), 3);
    stage.engine.set_defragment(false);
    stage.insert(20_000);
    stage.delete(90);
    sound(&stage.engine, "t");
    let before = stage.file_bytes("t");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(stage.file_bytes("t"), before);
    stage.engine.set_defragment(true);
    stage.wait_for(before / 3);
    stage.check();
    block_on(stage.engine.close()).unwrap();
}

/// Readers and writers of all kinds beside it, and a small pool: what each reads is one moment.
#[test]
fn readers_and_writers_go_on_beside_it() {
    let disk = Arc::new(MemDisk::default());
    let engine = open(&disk, 300);
    let mut s = engine.session();
    block_on(create(&mut s, def("t")));
    let over = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    // Each has ids of its own: so many at once come and go that there is always a multiple of ten.
    for me in 0..2i64 {
        let (engine, over) = (engine.clone(), over.clone());
        threads.push(std::thread::spawn(move || {
            let mut dice = SplitMix64::new(base::seed::nth("beside", me as u64));
            let mut groups: Vec<Vec<i64>> = Vec::new();
            let mut s = engine.session();
            let mut growing = true;
            while !over.load(Ordering::SeqCst) {
                block_on(async {
                    s.begin(Isolation::ReadCommitted, false);
                    let t = s.open_table("s", "t").await.unwrap();
                    if growing {
                        let group: Vec<i64> = (0..10)
                            .map(|_| (dice.next() >> 3) as i64 * 2 + me)
                            .collect();
                        for id in &group {
                            s.insert(&t, &row(*id)).await.unwrap();
                        }
                        groups.push(group);
                    } else {
                        let n = dice.below(groups.len() as u64) as usize;
                        for id in groups.swap_remove(n) {
                            let k = key(&t, id);
                            assert!(s.delete_key(&t, &k, &mut |_| Ok(true)).await.unwrap());
                        }
                    }
                    s.commit().await.unwrap();
                });
                if groups.len() > 800 {
                    growing = false;
                } else if groups.len() < 50 {
                    growing = true;
                }
            }
        }));
    }
    let reader = {
        let (engine, over) = (engine.clone(), over.clone());
        std::thread::spawn(move || {
            let mut s = engine.session();
            while !over.load(Ordering::SeqCst) {
                let ids = read_all(&mut s);
                assert!(
                    ids.is_sorted() && ids.len().is_multiple_of(10),
                    "{}",
                    ids.len()
                );
            }
        })
    };
    std::thread::sleep(Duration::from_secs(8));
    over.store(true, Ordering::SeqCst);
    threads.into_iter().for_each(|t| t.join().unwrap());
    reader.join().unwrap();
    let t = engine.catalog().table("s", "t").unwrap();
    let packed = |e: &Engine| e.index_space(&t).iter().map(|(_, s)| s.packed).sum::<u64>();
    assert!(packed(&engine) > 0, "nothing was packed meanwhile");
    sound(&engine, "t");
    drop((s, t));
    block_on(engine.close()).unwrap();
    // The same after a start.
    let engine = open(&disk, 300);
    sound(&engine, "t");
    block_on(engine.close()).unwrap();
}
