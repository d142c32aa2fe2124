//! One server's end: a connection, what the session is set to, and what came back.

use super::frames::Step;
use super::node::{Literals, Node, Written};
use super::words;
use harness::server::Setup;
use harness::step::Outcome;
use std::collections::BTreeSet;
use std::time::Duration;
use wire::client::{ClientError, Column, Login, ResultSet, Value, blocking};
use wire::column_type::{BINARY, BINARY_COLLATION, ColumnType};

/// A statement that takes longer counts as one without an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// MySQL 8.0's default, by the names that both servers know.
pub const STRICT: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                      ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// What a session is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Of `SET NAMES`.
    pub charset: &'static str,
    /// MySQL's default `sql_mode`, or none.
    pub strict: bool,
}

impl Session {
    /// The statements that set it.
    pub fn statements(self) -> [String; 2] {
        let names = match self.charset {
            "utf8mb4" => "utf8mb4 COLLATE utf8mb4_general_ci",
            charset => charset,
        };
        let mode = if self.strict { STRICT } else { "" };
        [
            format!("SET NAMES {names}"),
            format!("SET sql_mode = '{mode}'"),
        ]
    }
}

/// The kind of a column, no finer than what clients treat alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Any integer, YEAR too.
    Integer,
    /// DECIMAL.
    Decimal,
    /// FLOAT and DOUBLE.
    Real,
    /// Text of a character set.
    Text,
    /// Bytes.
    Bytes,
    /// BIT.
    Bit,
    /// DATE.
    Date,
    /// DATETIME and TIMESTAMP.
    DateTime,
    /// TIME.
    Time,
    /// JSON.
    Json,
    /// The type of NULL.
    Null,
}

impl Class {
    fn of(column: &Column) -> Class {
        match column.column_type {
            ColumnType::Tiny
            | ColumnType::Short
            | ColumnType::Long
            | ColumnType::Int24
            | ColumnType::LongLong
            | ColumnType::Year => Class::Integer,
            ColumnType::OldDecimal | ColumnType::NewDecimal => Class::Decimal,
            ColumnType::Float | ColumnType::Double => Class::Real,
            ColumnType::Date | ColumnType::NewDate => Class::Date,
            ColumnType::DateTime | ColumnType::Timestamp => Class::DateTime,
            ColumnType::Time => Class::Time,
            ColumnType::Json => Class::Json,
            ColumnType::Bit => Class::Bit,
            ColumnType::Null => Class::Null,
            _ if column.collation == BINARY_COLLATION && column.flags & BINARY != 0 => Class::Bytes,
            _ => Class::Text,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::Integer => "integer",
            Class::Decimal => "decimal",
            Class::Real => "real",
            Class::Text => "text",
            Class::Bytes => "bytes",
            Class::Bit => "bit",
            Class::Date => "date",
            Class::DateTime => "datetime",
            Class::Time => "time",
            Class::Json => "json",
            Class::Null => "null",
        }
    }
}

/// What one statement gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The error's number; 0 for none.
    pub code: u16,
    /// The error's text, to be shown.
    pub message: String,
    classes: Vec<Class>,
    /// The rows as text.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// The numbers of the warnings.
    pub warnings: BTreeSet<u16>,
}

/// The number of an answer that did not come.
pub const LOST: u16 = 2013;

impl Answer {
    /// The rows in a line.
    pub fn text(&self) -> String {
        let cell = |value: &Option<Vec<u8>>| match value {
            None => "NULL".to_owned(),
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => format!("{:x?}", bytes),
            },
        };
        let rows: Vec<String> = self
            .rows
            .iter()
            .map(|row| row.iter().map(cell).collect::<Vec<_>>().join(" | "))
            .collect();
        rows.join(" / ")
    }

    /// The classes of the columns in a line.
    pub fn types(&self) -> String {
        let names: Vec<&str> = self.classes.iter().map(|c| c.name()).collect();
        names.join(",")
    }

    /// The warnings in a line.
    pub fn warned(&self) -> String {
        let codes: Vec<String> = self.warnings.iter().map(u16::to_string).collect();
        codes.join(",")
    }

    /// The error, or `rows`.
    pub fn error(&self) -> String {
        match self.code {
            0 => "rows".to_owned(),
            code => format!("{code}"),
        }
    }
}

/// A connection to one server.
#[derive(Debug)]
pub struct Peer {
    conn: blocking::Conn,
    setup: Setup,
    session: Option<Session>,
}

impl Peer {
    /// Connects, and makes the tables.
    pub fn open(setup: &Setup) -> Outcome<Peer> {
        let mut peer = Peer {
            conn: connect(setup, None)?,
            setup: setup.clone(),
            session: None,
        };
        let local = "SET GLOBAL local_infile = ON";
        for sql in [
            "DROP DATABASE IF EXISTS differential",
            "CREATE DATABASE differential",
            local,
        ] {
            peer.must(sql)?;
        }
        peer.again()?;
        for sql in [&[words::TARGET_TABLE][..], words::VALUE_TABLE].concat() {
            peer.must(sql)?;
        }
        Ok(peer)
    }

    fn must(&mut self, sql: &str) -> Outcome<()> {
        self.conn
            .query(sql)
            .map(drop)
            .map_err(|e| format!("{}: {sql}: {e}", self.setup.kind.name()))
    }

    fn again(&mut self) -> Outcome<()> {
        self.conn = connect(&self.setup, Some("differential"))?;
        self.session = None;
        self.must("SET time_zone = '+00:00'")?;
        self.must("SET group_concat_max_len = 1024")?;
        self.must("SET timestamp = 1700000000")
    }

    /// Sets the session.
    pub fn set(&mut self, session: Session) -> Outcome<()> {
        if self.session != Some(session) {
            for sql in session.statements() {
                self.must(&sql)?;
            }
            self.session = Some(session);
        }
        Ok(())
    }

    /// Runs one step over `nodes`; `None` for one whose answer is nobody's concern. A connection that was lost is made anew.
    pub fn run(&mut self, step: Step, nodes: &[Node]) -> Outcome<Option<Answer>> {
        let result = match step {
            Step::Quiet(_) | Step::Text(_) => {
                let sql = written(step.text(), nodes, Literals::Plain).sql;
                self.conn.query_bytes(&sql)
            }
            Step::File(_) => {
                let sql = written(step.text(), nodes, Literals::Plain).sql;
                let mut content = nodes.first().map(Node::sql).unwrap_or_default();
                content.push(b'\n');
                self.conn.query_with_file(&sql, &content)
            }
            Step::Columns(_) => self.columns(written(step.text(), nodes, Literals::Columns)),
            Step::Using(_) => self.using(&written(step.text(), nodes, Literals::Params)),
            Step::Binary(_) => self.binary(&written(step.text(), nodes, Literals::Params)),
            Step::Prepared(_) => self.binary(&written(step.text(), nodes, Literals::Plain)),
        };
        let answer = match result {
            Ok(mut results) => self.answer(results.pop().unwrap_or_default()),
            Err(ClientError::Server(e)) => Answer {
                code: e.code,
                message: e.message,
                ..Answer::default()
            },
            Err(e) => {
                let session = self.session;
                self.again()
                    .map_err(|again| format!("{e}; and then: {again}"))?;
                if let Some(session) = session {
                    self.set(session)?;
                }
                Answer {
                    code: LOST,
                    message: e.to_string(),
                    ..Answer::default()
                }
            }
        };
        Ok((!matches!(step, Step::Quiet(_))).then_some(answer))
    }

    /// The literals as columns of one row that is really there: DISTINCT keeps the derived table from being merged away.
    fn columns(&mut self, written: Written) -> Result<Vec<ResultSet>, ClientError> {
        let mut sql = written.sql;
        if !written.literals.is_empty() {
            sql.extend_from_slice(b" FROM (SELECT DISTINCT ");
            for (at, literal) in written.literals.iter().enumerate() {
                if at > 0 {
                    sql.extend_from_slice(b", ");
                }
                sql.extend_from_slice(literal);
                sql.extend_from_slice(format!(" AS c{at}").as_bytes());
            }
            sql.extend_from_slice(b") q");
        }
        self.conn.query_bytes(&sql)
    }

    fn using(&mut self, written: &Written) -> Result<Vec<ResultSet>, ClientError> {
        let mut names = Vec::new();
        for (at, literal) in written.literals.iter().enumerate() {
            let mut set = format!("SET @p{at} = ").into_bytes();
            set.extend_from_slice(literal);
            self.conn.query_bytes(&set)?;
            names.push(format!("@p{at}"));
        }
        let mut prepare = b"SET @text = ".to_vec();
        prepare.push(b'\'');
        for byte in &written.sql {
            if matches!(byte, b'\'' | b'\\') {
                prepare.push(b'\\');
            }
            prepare.push(*byte);
        }
        prepare.push(b'\'');
        self.conn.query_bytes(&prepare)?;
        self.conn.query("PREPARE s FROM @text")?;
        let using = if names.is_empty() { "" } else { " USING " };
        self.conn
            .query(&format!("EXECUTE s{using}{}", names.join(", ")))
    }

    fn binary(&mut self, written: &Written) -> Result<Vec<ResultSet>, ClientError> {
        let statement = self.conn.prepare_bytes(&written.sql)?;
        let result = self.conn.execute(&statement, &written.params);
        self.conn.close(&statement)?;
        result
    }

    fn answer(&mut self, result: ResultSet) -> Answer {
        let mut answer = Answer {
            classes: result.columns.iter().map(Class::of).collect(),
            ..Answer::default()
        };
        for row in &result.rows {
            let cells = row.iter().zip(&result.columns);
            answer
                .rows
                .push(cells.map(|(v, c)| as_text(v, c)).collect());
        }
        if result.warnings > 0 {
            answer.warnings = self.warnings();
        }
        answer
    }

    fn warnings(&mut self) -> BTreeSet<u16> {
        let Ok(mut results) = self.conn.query("SHOW WARNINGS") else {
            return BTreeSet::new();
        };
        let rows = results.pop().unwrap_or_default().rows;
        rows.iter()
            .filter_map(|row| row.get(1)?.as_i64())
            .filter_map(|code| u16::try_from(code).ok())
            .collect()
    }
}

fn connect(setup: &Setup, database: Option<&str>) -> Outcome<blocking::Conn> {
    let failed = |e: ClientError| format!("{}: {e}", setup.kind.name());
    let mut login = Login::new("root", "", database, true);
    login.allow_files();
    let mut conn = blocking::Conn::connect_unix_with(&setup.socket, login).map_err(failed)?;
    conn.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    Ok(conn)
}

/// A step's text with the expressions in their places.
pub fn written(text: &'static str, nodes: &[Node], literals: Literals) -> Written {
    let mut out = Written::default();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.sql.extend_from_slice(&rest.as_bytes()[..open]);
        let place = rest
            .as_bytes()
            .get(open + 1)
            .map_or(0, |d| d.wrapping_sub(b'0'));
        if let Some(node) = nodes.get(usize::from(place)) {
            node.write(literals, &mut out);
        }
        rest = rest.get(open + 3..).unwrap_or("");
    }
    out.sql.extend_from_slice(rest.as_bytes());
    out
}

/// A value of a binary row as the text protocol writes it; numbers with a fraction as close as they can be compared.
pub fn as_text(value: &Value, column: &Column) -> Option<Vec<u8>> {
    let fraction = |micros: u32| match usize::from(column.decimals.min(6)) {
        0 => String::new(),
        digits => format!(".{}", &format!("{micros:06}")[..digits]),
    };
    let text = match value {
        Value::Null => return None,
        Value::Bytes(bytes) => return Some(bytes.clone()),
        Value::Int(n) if column.column_type == ColumnType::Year => format!("{n:04}"),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) if column.column_type == ColumnType::Year => format!("{n:04}"),
        Value::UInt(n) => n.to_string(),
        Value::Float(n) => format!("{n}"),
        Value::Double(n) => format!("{n}"),
        Value::Date(d) => format!("{:04}-{:02}-{:02}", d.year, d.month, d.day),
        Value::DateTime(d) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}{}",
            d.year,
            d.month,
            d.day,
            d.hour,
            d.minute,
            d.second,
            fraction(d.micros)
        ),
        Value::Time(t) => format!(
            "{}{:02}:{:02}:{:02}{}",
            if t.negative { "-" } else { "" },
            t.days * 24 + u32::from(t.hours),
            t.minutes,
            t.seconds,
            fraction(t.micros)
        ),
    };
    Some(text.into_bytes())
}
