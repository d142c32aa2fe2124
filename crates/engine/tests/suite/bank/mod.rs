//! The bank of the stress test: its tables, and what its threads share.

pub(crate) mod readers;

use crate::sim::{SimDisk, environment, seeded};
use crate::world::{index, pager_options, table};
use base::SplitMix64;
use base::block_on;
use engine::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use types::{CollationId, DataType, LobSize, SqlError, Value, ValueRef};

pub(crate) fn options(frames: u64, flush_at_commit: u8) -> EngineOptions {
    EngineOptions {
        pager: pager_options(frames),
        flush_at_commit,
        builders_max: 3,
        builder_rows_min: 1000,
        keep_log: false,
        ..EngineOptions::default()
    }
}

pub(crate) fn open(disk: &Arc<SimDisk>, frames: u64) -> (Arc<Engine>, engine_report::Report) {
    block_on(Engine::open_with_report(
        environment(disk),
        Path::new("/db"),
        options(frames, 1),
    ))
    .expect("open")
}

pub(crate) mod engine_report {
    pub type Report = engine::OpenReport;
}

/// id, balance (indexed), number of journal entries, unique tag, text, long.
pub(crate) fn accounts() -> TableDef {
    table(
        "a",
        vec![
            ColumnDef::new("id", DataType::INT),
            ColumnDef::new("bal", DataType::INT),
            ColumnDef::new("cnt", DataType::INT),
            ColumnDef::new("tag", DataType::varchar(60, CollationId::DEFAULT)),
            ColumnDef::new("pad", DataType::varchar(400, CollationId::DEFAULT)),
            ColumnDef::new("long", DataType::Blob(LobSize::Long)),
        ],
        vec![
            index("PRIMARY", IndexKind::Primary, &[0]),
            index("bal", IndexKind::Plain, &[1]),
            index("tag", IndexKind::Unique, &[3]),
        ],
    )
}

/// seq, from, to, amount.
pub(crate) fn journal() -> TableDef {
    table(
        "j",
        vec![
            ColumnDef::new("seq", DataType::INT),
            ColumnDef::new("a", DataType::INT),
            ColumnDef::new("b", DataType::INT),
            ColumnDef::new("amount", DataType::INT),
        ],
        vec![
            index("PRIMARY", IndexKind::Primary, &[0]),
            index("a", IndexKind::Plain, &[1]),
        ],
    )
}

pub(crate) fn key(t: &Table, id: i64) -> Vec<u8> {
    let mut b = Vec::new();
    types::keyenc::encode_key(t.key_parts(0), [ValueRef::Int(id)], &mut b);
    b
}

pub(crate) fn int(r: &RowRef<'_>, c: usize) -> i64 {
    match r.column(c) {
        ValueRef::Int(v) => v,
        v => panic!("{v:?}"),
    }
}

pub(crate) const ACCOUNTS: i64 = 120;
pub(crate) const START: i64 = 1000;

pub(crate) fn long_bytes(rng: &mut SplitMix64) -> Vec<u8> {
    // Often short, sometimes on overflow pages, one of them or several.
    let n = match rng.below(12) {
        0 => 5_000 + rng.below(9_000),
        1 => 20_000 + rng.below(30_000),
        _ => rng.below(40),
    };
    vec![b'x'; n as usize]
}

pub(crate) fn account(id: i64, bal: i64, cnt: i64, rng: &mut SplitMix64) -> Vec<Value> {
    vec![
        Value::Int(id),
        Value::Int(bal),
        Value::Int(cnt),
        // Spelt in different ways: what is equal for the unique index is not equal byte by byte.
        Value::text(&if rng.one_in(2) {
            format!("tag{id}")
        } else {
            format!("TAG{id}")
        }),
        Value::text(&"p".repeat(rng.below(400) as usize)),
        Value::Bytes(long_bytes(rng)),
    ]
}

pub(crate) async fn setup(e: &Arc<Engine>) {
    let mut s = e.session();
    s.create_schema(SchemaDef {
        name: "s".into(),
        collation: CollationId::DEFAULT,
    })
    .await
    .unwrap();
    s.create_table(accounts()).await.unwrap();
    s.create_table(journal()).await.unwrap();
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", "a").await.unwrap();
    let mut rng = seeded(99);
    for id in 0..ACCOUNTS {
        s.insert(&t, &account(id, START, 0, &mut rng))
            .await
            .unwrap();
    }
    s.commit().await.unwrap();
}

/// Errors that a client answers by trying again.
pub(crate) fn again(e: &SqlError) -> bool {
    matches!(e.code, 1213 | 1205 | 1317)
}

/// What the threads share.
pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) stop: AtomicBool,
    pub(crate) seq: AtomicU64,
    pub(crate) acked: Mutex<BTreeSet<i64>>,
    pub(crate) failures: Mutex<Vec<String>>,
    pub(crate) done: AtomicU64,
    pub(crate) retries: AtomicU64,
}
