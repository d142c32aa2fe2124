//! The SQL cases in `tests/sql`, run in the test's own process through the embedded library.

use std::path::{Path, PathBuf};

use slt::{Answer, Client, Failure, Letter, Session, cell};
use tidemill::{Connection, Database, Durability, Error, ErrorKind, OpenOptions, Value};

/// The embedded library as a client of the cases.
struct Embedded(Database);

fn failure(e: Error) -> Failure {
    match e.kind() {
        ErrorKind::Sql => Failure::Server {
            code: e.code(),
            state: e.sqlstate().to_owned(),
            message: e.message().to_owned(),
        },
        _ => Failure::Broken(e.to_string()),
    }
}

impl Client for Embedded {
    fn labels(&self) -> &[&str] {
        &["tidemill", "embedded"]
    }

    fn connect(&self) -> Result<Box<dyn Session>, Failure> {
        let connection = self.0.connect().map_err(failure)?;
        Ok(Box::new(Embedding(connection)))
    }
}

struct Embedding(Connection);

impl Session for Embedding {
    fn run(&mut self, sql: &str) -> Result<Answer, Failure> {
        let rows = self.0.query(sql, ()).map_err(failure)?;
        let columns = rows.columns().len();
        if columns == 0 {
            return Ok(Answer::Done(0));
        }
        let rows = rows
            .map(|row| row.values().iter().map(shown).collect())
            .collect();
        // The library's rows have values of a type each, and no types of columns.
        Ok(Answer::Rows {
            types: vec![Letter::Unknown; columns],
            rows,
        })
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => cell(None),
        Value::Bytes(bytes) => cell(Some(bytes)),
        other => cell(Some(other.to_string().as_bytes())),
    }
}

/// A directory that is removed when the test ends.
struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn cases() -> Result<(), String> {
    let dir = std::env::temp_dir().join(format!("tidemill-sql-{}", std::process::id()));
    let _old = std::fs::remove_dir_all(&dir);
    let dir = Dir(dir);
    let database = OpenOptions::new()
        .buffer_pool_size(64 << 20)
        .redo_log_capacity(64 << 20)
        .durability(Durability::Written)
        .variable("innodb_lock_wait_timeout", "5")
        .open(&dir.0)
        .map_err(|e| e.to_string())?;
    let cases = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join("sql");
    let only = std::env::var("SLT_ONLY").unwrap_or_default();
    let options = slt::Options {
        only: &only,
        bless: std::env::var_os("SLT_BLESS").is_some(),
    };
    slt::run(&cases, &Embedded(database), options).map(|_| ())
}
