//! The ways by which a statement reaches the server, and what came back of it.

use std::collections::BTreeSet;
use wire::client::blocking::Conn;
use wire::client::{ClientError, ResultSet, Value};
use wire::command::code;

/// One way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// COM_QUERY, or the small command that the text names.
    Text,
    /// PREPARE and EXECUTE in SQL.
    Prepare,
    /// COM_STMT_PREPARE and COM_STMT_EXECUTE.
    Binary,
    /// The same, with a cursor.
    Cursor,
    /// EXPLAIN of it.
    Explain,
    /// `SET @x = (…)`
    Set,
    /// `DO (…)`
    Do,
}

impl Protocol {
    /// Its name in the files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Text => "text",
            Protocol::Prepare => "prepare",
            Protocol::Binary => "binary",
            Protocol::Cursor => "cursor",
            Protocol::Explain => "explain",
            Protocol::Set => "set",
            Protocol::Do => "do",
        }
    }

    const ALL: &[Protocol] = &[
        Protocol::Text,
        Protocol::Prepare,
        Protocol::Binary,
        Protocol::Cursor,
        Protocol::Explain,
        Protocol::Set,
        Protocol::Do,
    ];

    /// The protocols for a statement: those named, or those that its first word allows.
    pub fn of(sql: &str, named: &[String]) -> Vec<Protocol> {
        if !named.is_empty() {
            let is_named = |protocol: &&Protocol| named.iter().any(|name| name == protocol.name());
            return Protocol::ALL.iter().filter(is_named).copied().collect();
        }
        let first = sql.split([' ', '(']).next().unwrap_or_default();
        let plain = ![" INTO ", " FOR UPDATE", " FOR SHARE", " LOCK IN "]
            .iter()
            .any(|words| sql.contains(words));
        match first {
            "SELECT" | "WITH" | "TABLE" | "VALUES" if plain => Protocol::ALL.to_vec(),
            "SELECT" if sql.contains(" INTO ") => {
                vec![Protocol::Text, Protocol::Prepare, Protocol::Binary]
            }
            "SELECT" => Protocol::ALL[..5].to_vec(),
            "INSERT" | "UPDATE" | "DELETE" | "REPLACE" => {
                vec![
                    Protocol::Text,
                    Protocol::Prepare,
                    Protocol::Binary,
                    Protocol::Explain,
                ]
            }
            "SHOW" | "DESCRIBE" => vec![
                Protocol::Text,
                Protocol::Prepare,
                Protocol::Binary,
                Protocol::Cursor,
            ],
            "COM_INIT_DB" | "COM_FIELD_LIST" | "PREPARE" | "BEGIN" => vec![Protocol::Text],
            _ => vec![Protocol::Text, Protocol::Prepare, Protocol::Binary],
        }
    }
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Got {
    /// Success, with every cell of every row where the protocol shows rows.
    Fine(Option<Rows>),
    /// The server's error.
    Error(u16, String),
    /// No answer.
    Lost(String),
}

/// Rows, as tests look at them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// How many.
    pub count: usize,
    /// All cells of all of them.
    pub cells: BTreeSet<String>,
}

impl Rows {
    fn of(results: &[ResultSet]) -> Rows {
        let mut rows = Rows::default();
        for row in results.iter().flat_map(|r| &r.rows) {
            rows.count += 1;
            rows.cells.extend(row.iter().map(shown));
        }
        rows
    }
}

/// A value as text.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        other => format!("{other:?}"),
    }
}

impl From<ClientError> for Got {
    fn from(error: ClientError) -> Got {
        match error {
            ClientError::Server(e) => Got::Error(e.code, e.message),
            other => Got::Lost(other.to_string()),
        }
    }
}

/// Sends a statement through a protocol.
pub fn send(conn: &mut Conn, protocol: Protocol, sql: &str) -> Got {
    let sent = match protocol {
        Protocol::Text => by_text(conn, sql),
        Protocol::Explain => conn.query(&format!("EXPLAIN {sql}")).map(|_| None),
        Protocol::Set => conn
            .query(&format!("SET @zz = (SELECT COUNT(*) FROM ({sql}) zz)"))
            .map(|_| None),
        Protocol::Do => conn
            .query(&format!("DO (SELECT COUNT(*) FROM ({sql}) zz)"))
            .map(|_| None),
        Protocol::Prepare => by_prepare(conn, sql),
        Protocol::Binary | Protocol::Cursor => by_binary(conn, sql, protocol == Protocol::Cursor),
    };
    match sent {
        Ok(rows) => Got::Fine(rows),
        Err(e) => e.into(),
    }
}

type Sent = Result<Option<Rows>, ClientError>;

fn by_text(conn: &mut Conn, sql: &str) -> Sent {
    if let Some(db) = sql.strip_prefix("COM_INIT_DB ") {
        return conn.command(code::INIT_DB, db.as_bytes()).map(|_| None);
    }
    if let Some(table) = sql.strip_prefix("COM_FIELD_LIST ") {
        let body = [table.as_bytes(), b"\0"].concat();
        let mut packet = conn.raw_command(code::FIELD_LIST, &body)?;
        // Columns up to an EOF.
        while packet.first() != Some(&0xfe) {
            packet = conn.next_packet()?.to_vec();
        }
        return Ok(None);
    }
    conn.query(sql).map(|r| Some(Rows::of(&r)))
}

fn by_prepare(conn: &mut Conn, sql: &str) -> Sent {
    let quoted = sql.replace('\\', "\\\\").replace('\'', "''");
    conn.query(&format!("PREPARE zz FROM '{quoted}'"))?;
    let answer = conn.query("EXECUTE zz").map(|r| Some(Rows::of(&r)));
    conn.query("DEALLOCATE PREPARE zz")?;
    answer
}

fn by_binary(conn: &mut Conn, sql: &str, cursor: bool) -> Sent {
    let statement = conn.prepare(sql)?;
    let answer = if cursor {
        conn.execute_cursor(&statement, &[]).and_then(|first| {
            let opened = first
                .last()
                .is_some_and(|r| r.status & wire::status::CURSOR_EXISTS != 0);
            if opened {
                // Some statements have no columns before they are run.
                let mut running = statement.clone();
                running.columns = first.last().map(|r| r.columns.clone()).unwrap_or_default();
                let fetched = conn.fetch(&running, 1000)?;
                Ok(Some(Rows::of(&[fetched])))
            } else {
                Ok(Some(Rows::of(&first)))
            }
        })
    } else {
        conn.execute(&statement, &[]).map(|r| Some(Rows::of(&r)))
    };
    conn.close(&statement)?;
    answer
}
