//! Statements end to end, over an engine on an in-memory disk.

mod access;
mod accounts;
mod alter;
mod altering;
mod auto_lock;
mod charsets;
mod clients;
mod concurrent;
mod conflicts;
mod ddl;
mod depth;
mod dumps;
mod execution;
mod explain;
mod explained;
mod expressions;
mod fence;
mod followed;
mod foreign_keys;
mod functional;
mod handlers;
mod held;
mod hints;
mod info;
mod json;
mod limits;
mod load;
mod locks;
mod nonblocking;
pub(crate) mod opened;
mod outfile;
mod params;
mod persist;
mod prepared_schema;
mod programs;
mod rekey;
mod replies;
mod row_rules;
mod rows;
mod set;
mod shows;
mod swaps;
mod table_locks;
mod tablespaces;
mod temporary;
mod unseen;
mod views;
mod waiting;
mod waits;
mod wide;
mod xa;

use std::path::Path;
use std::sync::Arc;

use base::block_on;
use base::mem::{MemDisk, environment};
use engine::{Engine, EngineOptions, PagerOptions};
use types::{SqlError, Value};

use super::{Instance, InstanceOptions, Session};
use sql_expr::vars::GlobalVars;
use sql_plan::sink::{Collected, Collector};

/// A server on an empty disk.
pub(crate) fn server() -> Arc<Instance> {
    server_on(Arc::new(MemDisk::default()))
}

/// A server on a disk.
pub(crate) fn server_on(disk: Arc<MemDisk>) -> Arc<Instance> {
    server_that_sorts(disk, EngineOptions::default().sort_bytes_max)
}

/// The same, with memory to sort so many bytes of an index or of rows at a time.
pub(crate) fn server_that_sorts(disk: Arc<MemDisk>, sort_bytes_max: u64) -> Arc<Instance> {
    let environment = environment(disk);
    block_on(async {
        let options = EngineOptions {
            pager: PagerOptions {
                pool_bytes: 16 << 20,
                // The disk is in memory: by default a log begins with 192 MiB.
                log_capacity_bytes: 64 << 20,
                log_buffer_bytes: 4 << 20,
                ..PagerOptions::default()
            },
            sort_bytes_max,
            ..EngineOptions::default()
        };
        let engine = Engine::open(environment.clone(), Path::new("/data"), options)
            .await
            .expect("an engine");
        let engine = opened::until_the_test_ends(engine);
        let options = InstanceOptions {
            password_hasher: Some(Arc::new(|plugin, password| {
                Some([plugin.as_bytes(), b":", password].concat())
            })),
            password_verifier: Some(Arc::new(|plugin, stored, password| {
                stored == [plugin.as_bytes(), b":", password].concat()
            })),
            ..InstanceOptions::default()
        };
        Instance::open(engine, &environment, Arc::new(GlobalVars::new()), options)
            .await
            .expect("an instance")
    })
}

/// A connection with helpers that panic where a statement does what the test does not expect.
pub(crate) struct Client {
    pub session: Session,
}

impl Client {
    pub fn new(instance: &Arc<Instance>) -> Client {
        Client::of(instance, "root")
    }

    pub fn of(instance: &Arc<Instance>, user: &str) -> Client {
        let id = instance.next_connection_id();
        Client {
            session: Session::new(instance, user, "localhost", id),
        }
    }

    /// With a database `test` to work in.
    pub fn in_test(instance: &Arc<Instance>) -> Client {
        let mut c = Client::new(instance);
        c.run("CREATE DATABASE IF NOT EXISTS test");
        c.run("USE test");
        c
    }

    pub fn try_all(&mut self, sql: &str) -> Result<Vec<Collected>, SqlError> {
        self.try_bytes(sql.as_bytes())
    }

    /// The same of a text in the client's character set.
    pub fn try_bytes(&mut self, sql: &[u8]) -> Result<Vec<Collected>, SqlError> {
        let mut sink = Collector::new();
        block_on(self.session.execute(sql, &mut sink))?;
        Ok(sink.results)
    }

    /// The last result of a text.
    pub fn run(&mut self, sql: &str) -> Collected {
        match self.try_all(sql) {
            Ok(mut r) => r.pop().unwrap_or_default(),
            Err(e) => panic!("{sql}: {e}"),
        }
    }

    /// The error number a text ends with; 0 for none.
    pub fn error(&mut self, sql: &str) -> u16 {
        self.try_all(sql).map_or_else(|e| e.code, |_| 0)
    }

    /// The rows of the last result, values as text.
    pub fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        self.rows_of(sql.as_bytes())
    }

    /// The same of a text in the client's character set.
    pub fn rows_of(&mut self, sql: &[u8]) -> Vec<Vec<String>> {
        let r = match self.try_bytes(sql) {
            Ok(mut r) => r.pop().unwrap_or_default(),
            Err(e) => panic!("{}: {e}", sql.escape_ascii()),
        };
        texts(&r)
    }

    /// The first value of the first row.
    pub fn one(&mut self, sql: &str) -> String {
        let mut rows = self.rows(sql);
        assert!(!rows.is_empty(), "{sql}: no row");
        rows.swap_remove(0).swap_remove(0)
    }
}

/// The values of a result as text.
pub(crate) fn texts(r: &Collected) -> Vec<Vec<String>> {
    let row = |row: &Vec<Value>| {
        let values = row.iter().zip(r.columns.iter());
        values.map(|(v, c)| text_of(v, &c.ty)).collect()
    };
    r.rows.iter().map(row).collect()
}

fn text_of(v: &Value, ty: &types::DataType) -> String {
    if v.is_null() {
        return "NULL".to_owned();
    }
    let mut out = Vec::new();
    types::convert::write_text(v.as_ref(), ty, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
