//! A statement from its text to its rows: bound, planned and carried out on a few small tables, and rolled back. What the
//! server would send for a value is written too. Statements that commit by themselves, wait or touch files are left out.

#![no_main]

use base::block_on;
use base::mem::{self, MemDisk};
use engine::{Engine, EngineOptions, PagerOptions};
use libfuzzer_sys::fuzz_target;
use sql::{ColumnMeta, Done, Instance, InstanceOptions, ResultSink, Session};
use sql_expr::vars::GlobalVars;
use sql_parser::ast::Statement;
use sql_parser::{Options, parse};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use types::ValueRef;
use types::convert::write_text;

/// What the statements find.
const TABLES: &str = "
    CREATE DATABASE d; USE d; SET SESSION cte_max_recursion_depth = 20;
    CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(20), c DECIMAL(10,3), KEY (a), KEY (b, c));
    INSERT INTO t VALUES (1, 1, 'one', 1.5), (2, NULL, 'two', -2), (3, 3, NULL, NULL), (4, 3, 'Three', 99.125);
    CREATE TABLE u (x BIGINT UNSIGNED, d DATE, n DATETIME(3), f DOUBLE, e ENUM('p', 'q'), s SET('m', 'n'), v VARBINARY(9), y TIME(2));
    INSERT INTO u VALUES (18446744073709551615, '2024-02-29', '2024-02-29 12:30:15.5', -1e10, 'p', 'm,n', x'00FF', '-838:59:59'),
        (0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    CREATE TABLE big (id INT PRIMARY KEY, j JSON, b LONGTEXT);
    INSERT INTO big VALUES (1, '{\"a\": [1, {\"b\": null}]}', REPEAT('long', 3000)), (2, NULL, '');";

/// Functions that wait or are made to take long, and rows without end.
const LEFT_OUT: &[&str] = &[
    "sleep",
    "benchmark",
    "get_lock",
    "wait_for",
    "_schema",
    "mysql",
];

/// The settings that change what expressions mean.
const MODES: &[&str] = &[
    "STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO",
    "",
    "ANSI",
    "TRADITIONAL,NO_UNSIGNED_SUBTRACTION,PIPES_AS_CONCAT",
];

fuzz_target!(|data: &[u8]| {
    let Some((&mode, text)) = data.split_first() else {
        return;
    };
    let known = String::from_utf8_lossy(text).to_ascii_lowercase();
    if LEFT_OUT.iter().any(|word| known.contains(word)) || !wanted(text) {
        return;
    }
    thread_local!(static SERVER: RefCell<Option<Session>> = const { RefCell::new(None) });
    SERVER.with_borrow_mut(|slot| {
        let session = slot.get_or_insert_with(start);
        let mode = MODES[usize::from(mode) % MODES.len()];
        let before = format!("SET sql_mode = '{mode}'; START TRANSACTION");
        must(session, before.as_bytes());
        let _ = run(session, text);
        must(session, b"ROLLBACK");
        block_on(session.reset()).expect("nothing is open");
    });
});

/// One statement, of a kind that a rollback undoes, and not too many tables times each other.
fn wanted(text: &[u8]) -> bool {
    let Ok(parsed) = parse(text, &Options::default()) else {
        return false;
    };
    let tables = text
        .iter()
        .filter(|b| matches!(b, b',' | b'j' | b'J'))
        .count();
    let kind = matches!(
        parsed.statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_)
    );
    kind && tables < 24 && parsed.consumed == text.len()
}

fn must(session: &mut Session, text: &[u8]) {
    if let Err(why) = run(session, text) {
        panic!("{}: {why:?}", String::from_utf8_lossy(text));
    }
}

fn run(session: &mut Session, text: &[u8]) -> Result<(), types::SqlError> {
    let mut sink = Written::default();
    block_on(session.execute(text, &mut sink))
}

fn start() -> Session {
    let environment = mem::environment(Arc::new(MemDisk::default()));
    let options = EngineOptions {
        pager: PagerOptions {
            pool_bytes: 16 << 20,
            log_capacity_bytes: 32 << 20,
            ..PagerOptions::default()
        },
        flush_at_commit: 0,
        ..EngineOptions::default()
    };
    block_on(async {
        let engine = Engine::open(environment.clone(), Path::new("/data"), options);
        let engine = engine.await.expect("a folder in memory");
        let globals = Arc::new(GlobalVars::new());
        let instance = Instance::open(engine, &environment, globals, InstanceOptions::default());
        let instance = instance.await.expect("a new database");
        let id = instance.next_connection_id();
        let mut session = Session::new(&instance, "root", "localhost", id);
        must_now(&mut session, TABLES).await;
        session
    })
}

async fn must_now(session: &mut Session, text: &str) {
    let mut sink = Written::default();
    if let Err(why) = session.execute(text.as_bytes(), &mut sink).await {
        panic!("{text}: {why:?}");
    }
}

/// Writes every value as a text protocol does, and forgets it.
#[derive(Default)]
struct Written {
    columns: Option<Arc<[ColumnMeta]>>,
    text: Vec<u8>,
}

impl ResultSink for Written {
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) {
        for column in columns.iter() {
            column.ty.display_length(column.collation);
        }
        self.columns = Some(columns.clone());
    }

    fn row_begin(&mut self) {
        self.text.clear();
    }

    fn value(&mut self, v: ValueRef<'_>, c: usize) {
        let columns = self.columns.as_ref().expect("columns come first");
        write_text(v, &columns[c].ty, &mut self.text);
    }

    fn row_end(&mut self) {}

    fn finish(&mut self, _: &Done) {}
}
