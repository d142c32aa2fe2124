//! Statements end to end over an engine on an in-memory disk: plans and their results together.

mod agree;
mod batches;
mod changes;
mod iterated;
mod joins;
mod jumps;
mod memory;
mod ordered;
mod paths;
mod queries;
mod spilled;
mod typed_joins;
mod windows;

use std::path::Path;
use std::sync::Arc;

use base::block_on;
use base::mem::{MemDisk, environment};
use engine::{Engine, EngineOptions, PagerOptions};
use types::SqlError;
use types::convert::to_text;

use crate::session::tests::opened::until_the_test_ends;
use crate::session::{Instance, InstanceOptions, Session};
use sql_expr::vars::GlobalVars;
use sql_plan::sink::{Collected, Collector};

/// A server with one connection.
pub(super) struct Client {
    instance: Arc<Instance>,
    session: Session,
}

impl Client {
    /// An empty server; the connection is in the database `test`.
    pub fn new() -> Client {
        Client::on(&Arc::new(MemDisk::default()))
    }

    /// The same on a disk that the test knows.
    pub fn on(disk: &Arc<MemDisk>) -> Client {
        Client::with_pool(disk, 8 << 20)
    }

    /// The same with so many bytes for pages.
    pub fn with_pool(disk: &Arc<MemDisk>, pool_bytes: u64) -> Client {
        let environment = environment(disk.clone());
        let instance = block_on(async {
            let options = EngineOptions {
                pager: PagerOptions {
                    pool_bytes,
                    log_capacity_bytes: 32 << 20,
                    log_buffer_bytes: 4 << 20,
                    ..PagerOptions::default()
                },
                ..EngineOptions::default()
            };
            let engine = Engine::open(environment.clone(), Path::new("/data"), options)
                .await
                .expect("an engine");
            let engine = until_the_test_ends(engine);
            let globals = Arc::new(GlobalVars::new());
            Instance::open(engine, &environment, globals, InstanceOptions::default())
                .await
                .expect("an instance")
        });
        let id = instance.next_connection_id();
        let session = Session::new(&instance, "root", "localhost", id);
        let mut c = Client { instance, session };
        c.run("CREATE DATABASE test");
        c.run("USE test");
        c
    }

    /// Another connection to the same server.
    pub fn another(&self) -> Client {
        let id = self.instance.next_connection_id();
        let mut c = Client {
            instance: Arc::clone(&self.instance),
            session: Session::new(&self.instance, "root", "localhost", id),
        };
        c.run("USE test");
        c
    }

    /// With the table most tests use: `t(id, a, b, c)` and its rows.
    pub fn with_table() -> Client {
        let mut c = Client::new();
        c.run(
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), c INT NOT NULL DEFAULT 0, \
             KEY a (a), UNIQUE KEY b (b), KEY ac (a, c))",
        );
        c.run(
            "INSERT INTO t VALUES (1,10,'one',5),(2,20,'two',4),(3,20,'three',3),(4,NULL,'four',2),(5,30,NULL,1)",
        );
        c
    }

    /// All results of a text.
    pub fn try_run(&mut self, sql: &str) -> Result<Collected, SqlError> {
        let mut sink = Collector::new();
        block_on(self.session.execute(sql.as_bytes(), &mut sink))?;
        Ok(sink.results.pop().unwrap_or_default())
    }

    /// The last result of a text that must succeed.
    pub fn run(&mut self, sql: &str) -> Collected {
        match self.try_run(sql) {
            Ok(r) => r,
            Err(e) => panic!("{sql}: {e}"),
        }
    }

    /// The error a text fails with.
    pub fn error(&mut self, sql: &str) -> (u16, String) {
        match self.try_run(sql) {
            Ok(_) => panic!("{sql}: no error"),
            Err(e) => (e.code, e.message),
        }
    }

    /// The rows of a text: columns joined by `|`, rows by a space.
    pub fn rows(&mut self, sql: &str) -> String {
        let r = self.run(sql);
        let row = |row: &Vec<types::Value>| {
            let values: Vec<String> = row
                .iter()
                .map(|v| {
                    if v.is_null() {
                        "NULL".to_owned()
                    } else {
                        to_text(v.as_ref())
                    }
                })
                .collect();
            values.join("|")
        };
        r.rows.iter().map(row).collect::<Vec<_>>().join(" ")
    }

    /// What EXPLAIN says of a statement: `table type key Extra` of each table, separated by commas.
    pub fn path(&mut self, sql: &str) -> String {
        let r = self.run(&format!("EXPLAIN {sql}"));
        let line = |row: &Vec<types::Value>| {
            let word = |i: usize| match &row[i] {
                types::Value::Null => "-".to_owned(),
                v => to_text(v.as_ref()),
            };
            format!("{} {} {} {}", word(2), word(4), word(6), word(11))
        };
        r.rows.iter().map(line).collect::<Vec<_>>().join(", ")
    }

    /// Rows that the engine has read so far.
    pub fn rows_read(&self) -> u64 {
        self.instance.engine.counters().rows_read
    }

    /// Runs a change: rows affected.
    pub fn affected(&mut self, sql: &str) -> u64 {
        self.run(sql).done.affected
    }
}
