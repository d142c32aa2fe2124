//! The sessions of a unit: what they are told is what the server said, in full.

use super::unit::Row;
use harness::step::Outcome;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::client::blocking::Conn;
use wire::client::{ClientError, ResultSet, Value};

/// No statement of the lists takes long.
const LIMIT: Duration = Duration::from_secs(30);

/// Databases that are the server's own.
const OWN: &[&str] = &["information_schema", "mysql", "performance_schema", "sys"];

/// Numbers by which a server says that it has no such thing: a word of the syntax, a function with such arguments, a variable, a collation, a character
/// set, an engine.
const LACKS: &[u16] = &[1064, 1115, 1128, 1193, 1235, 1273, 1286, 1305, 1582, 4078];

/// What the server said to a statement.
#[derive(Debug)]
pub enum Answer {
    /// Rows.
    Rows(Vec<Row>),
    /// An OK.
    Done {
        /// Rows that it changed.
        affected: u64,
        /// The first number of AUTO_INCREMENT that it gave.
        id: u64,
    },
    /// An error.
    Refused {
        /// Its number.
        code: u16,
        /// Its message.
        message: String,
    },
    /// The connection is of no use any more.
    Lost(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Rows(rows) => write!(f, "{} rows", rows.len()),
            Answer::Done { affected, .. } => write!(f, "OK, {affected} rows"),
            Answer::Refused { code, message } => write!(f, "{code} {message}"),
            Answer::Lost(why) => f.write_str(why),
        }
    }
}

impl Answer {
    /// It says that the server has no such thing.
    pub fn lacks(&self) -> bool {
        match self {
            Answer::Refused { code, message } => {
                // MariaDB looks for a function that it does not know among those that users made.
                LACKS.contains(code) || message.contains("'mysql.proc'")
            }
            _ => false,
        }
    }

    /// For a reader.
    pub fn told(&self) -> Json {
        match self {
            Answer::Rows(rows) => rows
                .iter()
                .map(|row| {
                    let text = |v: &Option<Vec<u8>>| {
                        v.as_ref().map(|b| String::from_utf8_lossy(b).into_owned())
                    };
                    row.iter().map(text).collect::<Vec<_>>()
                })
                .collect(),
            Answer::Done { affected, id } => json!({"affected": affected, "id": id}),
            Answer::Refused { code, message } => json!({"code": code, "message": message}),
            Answer::Lost(why) => json!({"lost": why}),
        }
    }

    fn of(said: Result<Vec<ResultSet>, ClientError>) -> Answer {
        match said {
            Ok(mut results) => {
                // A statement of several gives its rows where it has some.
                let at = results.iter().rposition(|r| !r.columns.is_empty());
                match at.map(|at| results.swap_remove(at)) {
                    Some(result) => Answer::Rows(result.rows.into_iter().map(plain).collect()),
                    None => {
                        let last = results.pop().unwrap_or_default();
                        let (affected, id) = (last.affected_rows, last.last_insert_id);
                        Answer::Done { affected, id }
                    }
                }
            }
            Err(ClientError::Server(error)) => Answer::Refused {
                code: error.code,
                message: error.message,
            },
            Err(e) => Answer::Lost(e.to_string()),
        }
    }
}

fn plain(row: Vec<Value>) -> Row {
    let text = |value| match value {
        Value::Bytes(bytes) => Some(bytes),
        // In answers to text, NULL is all else that there is.
        _ => None,
    };
    row.into_iter().map(text).collect()
}

/// The sessions.
#[derive(Debug)]
pub struct Sessions {
    socket: PathBuf,
    /// Statements that each session begins with.
    pub before: &'static [&'static str],
    root: Conn,
    open: BTreeMap<String, Conn>,
    /// Variables of the server as they were before.
    variables: BTreeMap<String, String>,
    /// One of them may have been set.
    touched: bool,
}

fn words(error: ClientError) -> String {
    error.to_string()
}

impl Sessions {
    /// None yet.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn new(socket: &Path, before: &'static [&'static str]) -> Outcome<Sessions> {
        let mut root = Conn::connect_unix(socket, "root", "", None).map_err(words)?;
        root.query("SET foreign_key_checks = 0").map_err(words)?;
        let variables = globals(&mut root)?;
        Ok(Sessions {
            socket: socket.to_path_buf(),
            before,
            root,
            open: BTreeMap::new(),
            variables,
            touched: false,
        })
    }

    /// Ends the sessions and removes what they have made.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn afresh(&mut self) -> Outcome<()> {
        self.open.clear();
        let databases = self.root.query("SHOW DATABASES").map_err(words)?;
        for row in databases.into_iter().flat_map(|r| r.rows) {
            let name = row.first().and_then(Value::as_str).unwrap_or_default();
            if !OWN.contains(&name.to_lowercase().as_str()) {
                let sql = format!("DROP DATABASE `{}`", name.replace('`', "``"));
                let done = self.root.query(&sql);
                done.map_err(|e| format!("{sql}: {e}"))?;
            }
        }
        if std::mem::take(&mut self.touched) {
            for (name, value) in globals(&mut self.root)? {
                if let Some(old) = self.variables.get(&name).filter(|old| **old != value) {
                    let sql = format!("SET GLOBAL `{name}` = '{}'", old.replace('\'', "''"));
                    let number = format!("SET GLOBAL `{name}` = {old}");
                    if self.root.query(&number).is_err() {
                        // Those that only the server changes are refused.
                        let _ = self.root.query(&sql);
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs a statement in a session, which is opened if there is none of this name.
    pub fn ask(&mut self, session: &str, sql: &str, databases: &[String]) -> Answer {
        let upper = sql.to_uppercase();
        self.touched |= upper.contains("GLOBAL") || upper.contains("PERSIST");
        if !self.open.contains_key(session) {
            match self.opened(databases) {
                Ok(conn) => drop(self.open.insert(session.to_owned(), conn)),
                Err(why) => return Answer::Lost(why),
            }
        }
        let Some(conn) = self.open.get_mut(session) else {
            return Answer::Lost("there is no session".to_owned());
        };
        let answer = Answer::of(conn.query(sql));
        if matches!(answer, Answer::Lost(_)) {
            self.open.remove(session);
        }
        answer
    }

    fn opened(&self, databases: &[String]) -> Outcome<Conn> {
        let mut conn = Conn::connect_unix(&self.socket, "root", "", None).map_err(words)?;
        conn.set_read_timeout(Some(LIMIT)).map_err(words)?;
        for sql in self.before {
            conn.query(sql).map_err(|e| format!("{sql}: {e}"))?;
        }
        for database in databases {
            // The first statements of a unit make it.
            if conn.query(&format!("USE `{database}`")).is_ok() {
                break;
            }
        }
        Ok(conn)
    }
}

fn globals(root: &mut Conn) -> Outcome<BTreeMap<String, String>> {
    let results = root.query("SHOW GLOBAL VARIABLES").map_err(words)?;
    let rows = results.into_iter().flat_map(|r| r.rows);
    let pair = |row: Vec<Value>| {
        let name = row.first()?.as_str()?.to_owned();
        Some((name, row.get(1)?.as_str()?.to_owned()))
    };
    Ok(rows.filter_map(pair).collect())
}
