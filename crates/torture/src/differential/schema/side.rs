//! One server's end: a connection, its database, and what a statement gave.

use super::script::Statement;
use crate::differential::peer::{LOST, STRICT, as_text};
use harness::server::{Kind, Setup};
use harness::step::Outcome;
use std::collections::BTreeSet;
use std::time::Duration;
use wire::client::{ClientError, Login, ResultSet, blocking};

/// A statement that takes longer counts as one without an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// With this begins what went wrong at MariaDB's end.
pub const PEER: &str = "mariadb";

/// What a statement gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The error's number; 0 for none.
    pub code: u16,
    /// The error's text.
    pub message: String,
    /// The rows, sorted.
    pub rows: Vec<String>,
    /// How many rows changed, and what is said of that.
    pub count: String,
    /// The numbers of the warnings.
    pub warnings: BTreeSet<u16>,
}

impl Answer {
    /// The error's number and text, or `rows`.
    pub fn error(&self) -> String {
        match self.code {
            0 => "rows".to_owned(),
            code => format!("{code} {}", self.message),
        }
    }

    /// The numbers of the warnings.
    pub fn warned(&self) -> String {
        let codes: Vec<String> = self.warnings.iter().map(u16::to_string).collect();
        codes.join(",")
    }
}

/// A connection.
#[derive(Debug)]
pub struct Side {
    conn: blocking::Conn,
    setup: Setup,
    database: String,
}

impl Side {
    /// Connects; `number` tells this client's database from those of others.
    pub fn open(setup: &Setup, number: u64) -> Outcome<Side> {
        Ok(Side {
            conn: connect(setup)?,
            setup: setup.clone(),
            database: format!("schema{number}"),
        })
    }

    /// Begins anew with an empty database.
    pub fn fresh(&mut self) -> Outcome<()> {
        self.conn = connect(&self.setup)?;
        let database = self.database.clone();
        for sql in [
            "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci".to_owned(),
            format!("SET sql_mode = '{STRICT}'"),
            "SET foreign_key_checks = 0".to_owned(),
            format!("DROP DATABASE IF EXISTS {database}"),
            format!("CREATE DATABASE {database}"),
            format!("USE {database}"),
            "SET foreign_key_checks = 1".to_owned(),
        ] {
            self.must(&sql)?;
        }
        Ok(())
    }

    /// A statement that has to succeed.
    pub fn must(&mut self, sql: &str) -> Outcome<Answer> {
        let answer = self.ask(sql, false)?;
        match answer.code {
            0 => Ok(answer),
            _ => Err(format!(
                "{}: {sql}: {}",
                self.setup.kind.name(),
                answer.error()
            )),
        }
    }

    /// Runs a statement of the block; `None` where this server has nothing to do.
    pub fn run(&mut self, statement: &Statement) -> Outcome<Option<Answer>> {
        let sql = statement.text(self.setup.kind);
        if sql.is_empty() {
            return Ok(None);
        }
        let prepared = statement.prepared && self.setup.kind == Kind::Tidemill;
        self.ask(&sql, prepared).map(Some)
    }

    /// Runs a text.
    pub fn ask(&mut self, sql: &str, prepared: bool) -> Outcome<Answer> {
        let result = match prepared {
            true => self.executed(sql),
            false => self.conn.query(sql),
        };
        match result {
            Ok(mut results) => self.answer(&results.pop().unwrap_or_default()),
            Err(ClientError::Server(e)) => Ok(Answer {
                code: e.code,
                message: e.message,
                ..Answer::default()
            }),
            Err(e) if self.setup.kind == Kind::MariaDb => Err(format!("{PEER}: {sql}: {e}")),
            Err(e) => Ok(Answer {
                code: LOST,
                message: e.to_string(),
                ..Answer::default()
            }),
        }
    }

    fn executed(&mut self, sql: &str) -> Result<Vec<ResultSet>, ClientError> {
        let statement = self.conn.prepare(sql)?;
        let result = self.conn.execute(&statement, &[]);
        self.conn.close(&statement)?;
        result
    }

    fn answer(&mut self, result: &ResultSet) -> Outcome<Answer> {
        let row = |row: &Vec<wire::client::Value>| {
            let cells: Vec<String> = row
                .iter()
                .zip(&result.columns)
                .map(|(value, column)| match as_text(value, column) {
                    None => "NULL".to_owned(),
                    Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                })
                .collect();
            cells.join(" | ")
        };
        let mut answer = Answer {
            rows: result.rows.iter().map(row).collect(),
            count: counted(result),
            ..Answer::default()
        };
        answer.rows.sort();
        if result.warnings > 0 {
            let all = self.conn.query("SHOW WARNINGS");
            let rows = all
                .ok()
                .and_then(|mut results| results.pop())
                .unwrap_or_default()
                .rows;
            let codes = rows.iter().filter_map(|row| row.get(1)?.as_i64());
            answer.warnings = codes.filter_map(|code| u16::try_from(code).ok()).collect();
        }
        Ok(answer)
    }

    /// Whether the server itself finds one of its tables damaged. This ends its transaction.
    pub fn is_damaged(&mut self) -> Outcome<bool> {
        for table in self.tables()? {
            let found = self.must(&format!("CHECK TABLE {table}"))?;
            let damaged = |row: &String| row.ends_with(" | Corrupt") || row.contains("corrupted");
            if found.rows.iter().any(damaged) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The names of the tables there are.
    pub fn tables(&mut self) -> Outcome<Vec<String>> {
        let all = self.must("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'")?;
        let name = |row: &String| row.split(" | ").next().unwrap_or_default().to_owned();
        Ok(all.rows.iter().map(name).collect())
    }
}

/// How many rows changed and what is said of them; the warnings are compared for themselves.
fn counted(result: &ResultSet) -> String {
    let said = result.info.split("  Warnings:").next().unwrap_or_default();
    format!("{} {said}", result.affected_rows)
        .trim_end()
        .to_owned()
}

fn connect(setup: &Setup) -> Outcome<blocking::Conn> {
    let failed = |e: ClientError| format!("{}: {e}", setup.kind.name());
    let login = Login::new("root", "", None, true);
    let mut conn = blocking::Conn::connect_unix_with(&setup.socket, login).map_err(failed)?;
    conn.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    Ok(conn)
}
