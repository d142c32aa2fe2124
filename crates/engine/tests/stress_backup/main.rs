//! Backups are taken again and again while sessions change rows and definitions. What is restored from each must be a moment between its beginning and
//! its end: of each session all that was acknowledged when the backup was about to end, nothing that it had not begun by then, and nothing by halves.
//!
//! What the k-th transaction of a session does is drawn from the seed, the session and k alone. So how far a session had come, which it writes into a
//! row of its own, says what all its rows must be.

mod crossing;
mod damage;
mod ends;
mod halves;
mod load;
mod shortage;
#[path = "../../../pager/tests/sim/mod.rs"]
mod sim;
#[path = "../world/mod.rs"]
mod world;

use base::mem::MemDisk;
use base::{Environment, block_on};
use engine::backup::*;
use engine::*;
use halves::Halves;
use load::{Bounds, is_a_moment, load};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use types::ValueRef;
use world::*;

/// Rows of one session, from `of * SPAN` on; the first says how far it has come.
const SPAN: i64 = 1_000;
const WRITERS: u64 = 3;

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
        defragment: DefragmentOptions {
            on: true,
            tick_us: 1_000,
            least_pages: 1,
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
    let (e, report) = block_on(opened).unwrap_or_else(|e| panic!("{e:?}; {manifest:?}"));
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
                let taken = load.back_up(since);
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
