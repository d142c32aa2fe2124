//! The SQL cases of the library, run over the server's socket with the project's own client.
//!
//! `SLT_ONLY=PART` picks files by their path; `SLT_BLESS=1` writes the rows and types that came back into them.

use std::path::{Path, PathBuf};

use super::test_server::TestServer;
use slt::{Answer, Client, Failure, Letter, Session, cell};
use wire::client::blocking::Conn;
use wire::client::{ClientError, Column, Value};
use wire::column_type::ColumnType;

/// The socket of a server.
struct Socket(PathBuf);

fn failure(e: ClientError) -> Failure {
    match e {
        ClientError::Server(e) => Failure::Server {
            code: e.code,
            state: e.sqlstate,
            message: e.message,
        },
        e => Failure::Broken(e.to_string()),
    }
}

impl Client for Socket {
    fn labels(&self) -> &[&str] {
        &["tidemill", "socket"]
    }

    fn connect(&self) -> Result<Box<dyn Session>, Failure> {
        let conn = Conn::connect_unix(&self.0, "root", "", None).map_err(failure)?;
        Ok(Box::new(Connected(conn)))
    }
}

struct Connected(Conn);

impl Session for Connected {
    fn run(&mut self, sql: &str) -> Result<Answer, Failure> {
        let mut results = self.0.query(sql).map_err(failure)?;
        // Behind the rows of a CALL comes its end.
        let rows = results.iter().rposition(|r| !r.columns.is_empty());
        results.truncate(rows.map_or(usize::MAX, |at| at + 1));
        let result = results.pop().unwrap_or_default();
        if result.columns.is_empty() {
            return Ok(Answer::Done(result.affected_rows));
        }
        let rows = result.rows.iter();
        Ok(Answer::Rows {
            types: result.columns.iter().map(letter).collect(),
            rows: rows.map(|row| row.iter().map(shown).collect()).collect(),
        })
    }
}

fn letter(column: &Column) -> Letter {
    match column.column_type {
        ColumnType::Tiny
        | ColumnType::Short
        | ColumnType::Int24
        | ColumnType::Long
        | ColumnType::LongLong
        | ColumnType::Year => Letter::Integer,
        ColumnType::NewDecimal | ColumnType::Float | ColumnType::Double => Letter::Real,
        _ => Letter::Text,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => cell(Some(bytes)),
        // The text protocol has no other values.
        _ => cell(None),
    }
}

#[test]
fn cases() -> Result<(), String> {
    let server = TestServer::start(&[
        "--innodb-buffer-pool-size=64M",
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-lock-wait-timeout=5",
        "--max-allowed-packet=64M",
    ]);
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tidemill/tests/sql");
    let only = std::env::var("SLT_ONLY").unwrap_or_default();
    let options = slt::Options {
        only: &only,
        bless: std::env::var_os("SLT_BLESS").is_some(),
    };
    slt::run(&cases, &Socket(server.dir.join("s.sock")), options).map(|_| ())
}
