//! What tests of several files share: opening a directory, making definitions, and a table with long columns and an index.
#![allow(dead_code, reason = "each test program uses its part")]

use base::block_on;
use base::mem::{self, MemDisk};
use engine::*;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use types::{CollationId, DataType, LobSize, Value, ValueRef};

/// Sizes that fit a test.
pub fn pager_options(frames: u64) -> PagerOptions {
    PagerOptions {
        pool_bytes: frames * 16384,
        log_capacity_bytes: 32 << 20,
        log_buffer_bytes: 8 << 20,
        ..Default::default()
    }
}

/// Opens a directory in memory.
pub fn open(disk: &Arc<MemDisk>) -> Arc<Engine> {
    let options = EngineOptions {
        pager: pager_options(512),
        ..EngineOptions::default()
    };
    let environment = mem::environment(disk.clone());
    block_on(Engine::open(environment, Path::new("/db"), options)).expect("open")
}

pub fn open_with(environment: base::Environment, frames: u64) -> Arc<Engine> {
    let options = EngineOptions {
        pager: pager_options(frames),
        flush_at_commit: 1,
        // So that entries of some thousand rows go to files.
        sort_bytes_max: 256 << 10,
        builders_max: 3,
        builder_rows_min: 1000,
        keep_log: false,
        defragment: DefragmentOptions::default(),
    };
    block_on(Engine::open(environment, Path::new("/db"), options)).expect("open")
}

/// Says where each thread of this process is, if there is a debugger. It writes into a file: while it looks nobody here reads what it says.
fn print_stacks() {
    let path = std::env::temp_dir().join(format!("stacks-{}", std::process::id()));
    let Ok(file) = std::fs::File::create(&path) else {
        return;
    };
    let pid = std::process::id().to_string();
    let short = "set print frame-arguments none";
    let looked = std::process::Command::new("gdb")
        .args(["-p", &pid, "-batch", "-ex", short])
        .args(["-ex", "thread apply all bt 30"])
        .stdout(file)
        .status();
    if looked.is_ok() {
        eprintln!("{}", std::fs::read_to_string(&path).unwrap_or_default());
    }
    let _ = std::fs::remove_file(path);
}

/// Fails instead of hanging when `f` does not come to its end.
pub fn within<T: Send + 'static>(
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
        Err(mpsc::RecvTimeoutError::Timeout) => {
            print_stacks();
            panic!("{what}: still waiting")
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{what}: panicked"),
    }
}

pub fn index(name: &str, kind: IndexKind, columns: &[u16]) -> IndexDef {
    let part = |c: &u16| IndexPart {
        column: *c,
        prefix: 0,
        descending: false,
    };
    IndexDef {
        id: 0,
        name: name.into(),
        kind,
        parts: columns.iter().map(part).collect(),
        comment: String::new(),
        root: base::PageNo(0),
        invisible: false,
        asked: Default::default(),
    }
}

pub fn def(name: &str) -> TableDef {
    let column = |name: &str, ty| ColumnDef {
        nullable: name == "b",
        ..ColumnDef::new(name, ty)
    };
    let columns = vec![
        column("id", DataType::INT),
        column("k", DataType::INT),
        column("b", DataType::Blob(LobSize::Long)),
    ];
    let indexes = vec![
        index("PRIMARY", IndexKind::Primary, &[0]),
        index("k", IndexKind::Plain, &[1]),
    ];
    table(name, columns, indexes)
}

/// A column that is never NULL and has no default.
pub fn column(name: &str, ty: DataType) -> ColumnDef {
    ColumnDef {
        nullable: false,
        default: ColumnDefault::None,
        ..ColumnDef::new(name, ty)
    }
}

pub fn table(name: &str, columns: Vec<ColumnDef>, indexes: Vec<IndexDef>) -> TableDef {
    TableDef {
        id: 0,
        schema: "s".into(),
        name: name.into(),
        columns,
        indexes,
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

pub fn row(id: i64, k: i64, fill: u8, len: usize) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(k), Value::Bytes(vec![fill; len])]
}

pub fn key(t: &Table, id: i64) -> Vec<u8> {
    let mut b = Vec::new();
    types::keyenc::encode_key(t.key_parts(0), [ValueRef::Int(id)], &mut b);
    b
}

/// Makes the schema and a table in it.
pub async fn create(s: &mut Session, def: TableDef) {
    let schema = SchemaDef {
        name: "s".into(),
        collation: CollationId::DEFAULT,
    };
    s.create_schema(schema).await.unwrap();
    s.create_table(def).await.unwrap();
}

pub async fn fill(e: &Arc<Engine>, rows: i64, len: usize) -> Session {
    let mut s = e.session();
    create(&mut s, def("t")).await;
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", "t").await.unwrap();
    for id in 0..rows {
        s.insert(&t, &row(id, id % 7, 1, len)).await.unwrap();
    }
    s.commit().await.unwrap();
    s
}

/// No problem is found once nothing is left to purge and nothing is open.
pub fn sound(e: &Arc<Engine>, name: &str) {
    let until = Instant::now() + Duration::from_secs(20);
    let mut s = e.session();
    loop {
        let problems = block_on(async {
            let t = s.open_table("s", name).await.unwrap();
            let p = s.check_table(&t).await.unwrap();
            s.commit().await.unwrap();
            p
        });
        if problems.is_empty() && e.counters().purge_queue == 0 {
            return;
        }
        assert!(Instant::now() < until, "{problems:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
