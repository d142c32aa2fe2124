//! What more cores bring to the engine alone: point reads and updates by key, embedded, without a client, a socket or an event loop
//! that would want cores too. `cargo bench -p lab --bench cores`.
//!
//! Each thread has rows of its own, so that nothing is shared but what the engine shares. Efficiency is the rate of `n` threads divided by `n`
//! times that of one; the rounds of all counts of threads alternate.

use base::{block_on, real};
use engine::{
    ColumnDef, Engine, EngineOptions, IndexDef, IndexKind, IndexPart, Isolation, SchemaDef,
    Session, Table, TableDef, TableOptions, Updated,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use types::{CollationId, DataType, SqlError, Value, ValueRef, keyenc};

const ROWS: u64 = 200_000;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(1);

fn definition() -> TableDef {
    let primary = IndexDef {
        id: 0,
        name: "PRIMARY".into(),
        kind: IndexKind::Primary,
        parts: vec![IndexPart {
            column: 0,
            prefix: 0,
            descending: false,
        }],
        comment: String::new(),
        root: base::PageNo(0),
        invisible: false,
        asked: Default::default(),
    };
    let text = DataType::varchar(120, CollationId::DEFAULT);
    TableDef {
        id: 0,
        schema: "s".into(),
        name: "t".into(),
        columns: vec![
            ColumnDef::new("id", DataType::UBIGINT),
            ColumnDef::new("c", text),
        ],
        indexes: vec![primary],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        options: TableOptions {
            collation: CollationId::DEFAULT,
            comment: String::new(),
            row_format: String::new(),
            auto_increment: 0,
            others: vec![],
            created_us: 0,
            discarded: false,
        },
    }
}

async fn fill(s: &mut Session) -> Result<(), SqlError> {
    s.create_schema(SchemaDef {
        name: "s".into(),
        collation: CollationId::DEFAULT,
    })
    .await?;
    s.create_table(definition()).await?;
    let text = "a text of some length, as sysbench has it".repeat(2);
    for first in (0..ROWS).step_by(1000) {
        s.begin(Isolation::ReadCommitted, false);
        let t = s.open_table("s", "t").await?;
        for id in first..first + 1000 {
            let row = [Value::UInt(id), Value::text(&text)];
            s.insert(&t, &row).await?;
        }
        s.commit().await?;
    }
    Ok(())
}

fn key(t: &Table, id: u64, out: &mut Vec<u8>) {
    out.clear();
    keyenc::encode_key(&t.indexes[0].parts, [ValueRef::UInt(id)], out);
}

async fn read(s: &mut Session, key: &[u8]) -> Result<(), SqlError> {
    let t = s.open_table("s", "t").await?;
    let there = s.get_now(&t, key, |row| row.is_some());
    assert_eq!(there, Some(true), "the row is in memory");
    s.commit().await
}

async fn update(s: &mut Session, key: &[u8]) -> Result<(), SqlError> {
    s.begin(Isolation::RepeatableRead, false);
    let t = s.open_table("s", "t").await?;
    let change = &mut |row: engine::RowRef<'_>| {
        let mut values = row.to_values();
        if let Value::Str(text, _) = &mut values[1] {
            text.rotate_left(1);
        }
        Ok(Some(values))
    };
    assert_eq!(s.update_key(&t, key, change).await?, Updated::Done);
    s.commit().await
}

/// Operations a second of so many threads.
fn rate(e: &Arc<Engine>, threads: u64, writes: bool) -> Result<f64, SqlError> {
    let stop = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    let begun = Instant::now();
    let failed = std::thread::scope(|scope| {
        let work = |n: u64| {
            let mut s = e.session();
            let t = block_on(s.open_table("s", "t"))?;
            let mut k = Vec::new();
            let (mut x, mut count) = (n + 1, 0);
            while !stop.load(Ordering::Relaxed) {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                let id = (x >> 33) % (ROWS / threads) + n * (ROWS / threads);
                key(&t, id, &mut k);
                match writes {
                    true => block_on(update(&mut s, &k))?,
                    false => block_on(read(&mut s, &k))?,
                }
                count += 1;
            }
            done.fetch_add(count, Ordering::Relaxed);
            Ok::<(), SqlError>(())
        };
        let all: Vec<_> = (0..threads).map(|n| scope.spawn(move || work(n))).collect();
        std::thread::sleep(ROUND);
        stop.store(true, Ordering::Relaxed);
        let ends = all.into_iter().map(|t| t.join().expect("no panic"));
        ends.filter_map(Result::err).next()
    });
    match failed {
        Some(e) => Err(e),
        None => Ok(done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64()),
    }
}

fn median(v: &mut [f64]) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

fn main() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cores");
    let _ = std::fs::remove_dir_all(&dir);
    let options = EngineOptions {
        flush_at_commit: 2,
        ..EngineOptions::default()
    };
    let e = block_on(Engine::open(real::environment(), &dir, options)).expect("an engine");
    block_on(fill(&mut e.session())).expect("rows");
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let mut counts: Vec<u64> = (0..).map(|i| 1 << i).take_while(|n| *n < cores).collect();
    counts.push(cores);
    // At 2 each commit's write to the log is made before it returns, one at a time; at 0 somebody else's makes it later.
    for (what, writes, flush) in [
        ("point read", false, 2),
        ("update by key, 2", true, 2),
        ("update by key, 0", true, 0),
    ] {
        e.set_flush_at_commit(flush);
        let mut rates = vec![Vec::new(); counts.len()];
        for _ in 0..ROUNDS {
            for (i, n) in counts.iter().enumerate() {
                rates[i].push(rate(&e, *n, writes).expect("no failure"));
            }
        }
        let medians: Vec<f64> = rates.iter_mut().map(|r| median(r)).collect();
        for (n, m) in counts.iter().zip(&medians) {
            let efficiency = m / medians[0] / *n as f64;
            println!("{what:<16} {n:>3} threads {m:>12.0}/s, efficiency {efficiency:.2}");
        }
    }
    block_on(e.close()).expect("a clean end");
    let _ = std::fs::remove_dir_all(&dir);
}
