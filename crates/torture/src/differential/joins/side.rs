//! One server's end: a connection, the tables with and without indexes, what a statement gave.

use super::plans::Way;
use super::schema::{Schema, Table};
use crate::differential::peer::{LOST, STRICT, as_text};
use harness::server::{Kind, Setup};
use harness::step::Outcome;
use std::io::ErrorKind;
use std::time::Duration;
use wire::client::{ClientError, Login, ResultSet, blocking};

/// A statement of ours that takes longer counts as one without an answer; those of SELECT have limits of their own.
const PATIENCE: Duration = Duration::from_secs(20);

/// The same of MariaDB, whose limit is half a second, which it does not notice everywhere.
const PATIENCE_BESIDE: Duration = Duration::from_secs(8);

/// With this begins what went wrong at MariaDB's end.
pub const PEER: &str = "mariadb";

/// Errors that say that a statement took too much time or memory.
const LIMITS: &[u16] = &[3024, 1969, 1317, 3170, 4081, 4082, 1028, 1038, 1104, 1205];

/// What a statement gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The error's number; 0 for none.
    pub code: u16,
    /// The error's text.
    pub message: String,
    /// The rows as text; of a change the table, and how many rows it changed.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    /// Whether it took too long.
    pub fn limited(&self) -> bool {
        LIMITS.contains(&self.code)
    }

    /// The rows as they are compared: in any order where none is given, and without regard to case, which groups of text may choose.
    /// `zeros`: zeros at the end of a fraction count for nothing.
    pub fn compared(&self, ordered: bool, zeros: bool) -> Vec<String> {
        let cell = |value: &Option<String>| {
            let Some(text) = value else {
                return "NULL".to_owned();
            };
            let text = text.to_lowercase().replace('é', "e");
            match zeros {
                true => without_zeros(&text),
                false => text,
            }
        };
        let row = |row: &Vec<Option<String>>| {
            let cells: Vec<String> = row.iter().map(cell).collect();
            cells.join(" | ")
        };
        let mut rows: Vec<String> = self.rows.iter().map(row).collect();
        if !ordered {
            rows.sort();
        }
        rows
    }

    /// A few lines of it.
    pub fn told(&self) -> String {
        if self.code != 0 {
            return format!("ERROR {}: {}", self.code, self.message);
        }
        let rows = self.compared(true, false);
        let first = |row: &String| row.chars().take(200).collect::<String>();
        let shown: Vec<String> = rows.iter().take(8).map(first).collect();
        let more = if rows.len() > 8 { " / …" } else { "" };
        format!("{} rows: {}{more}", rows.len(), shown.join(" / "))
    }
}

fn without_zeros(text: &str) -> String {
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, fraction))
            if digits(fraction) && digits(whole.strip_prefix('-').unwrap_or(whole)) =>
        {
            match fraction.trim_end_matches('0') {
                "" => whole.to_owned(),
                rest => format!("{whole}.{rest}"),
            }
        }
        _ => text.to_owned(),
    }
}

/// A connection.
#[derive(Debug)]
pub struct Side {
    conn: blocking::Conn,
    setup: Setup,
    database: String,
    bare: bool,
}

impl Side {
    /// Connects; `number` tells this client's tables from those of others.
    pub fn open(setup: &Setup, number: u64) -> Outcome<Side> {
        let mut side = Side {
            conn: connect(setup)?,
            setup: setup.clone(),
            database: format!("joins{number}"),
            bare: true,
        };
        side.again()?;
        Ok(side)
    }

    fn again(&mut self) -> Outcome<()> {
        self.conn = connect(&self.setup)?;
        let limit = match self.setup.kind {
            Kind::MariaDb => "max_statement_time = 0.5",
            Kind::Tidemill => "max_execution_time = 1500",
        };
        for sql in [
            "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci".to_owned(),
            format!("SET sql_mode = '{STRICT}'"),
            // Shorter than what a sort looks at (max_sort_length).
            "SET group_concat_max_len = 900".to_owned(),
            format!("SET {limit}"),
        ] {
            self.must(&sql)?;
        }
        self.bare = true;
        Ok(())
    }

    /// Ends statements that connections given up have left over these tables.
    fn end_others(&mut self) -> Outcome<()> {
        let sql = format!(
            "SELECT id FROM information_schema.processlist WHERE db IN ('{}', '{}')",
            self.name(false),
            self.name(true)
        );
        let found = self.ask(&sql, false)?;
        for id in found.rows.into_iter().flatten().flatten() {
            // One that ended meanwhile needs no end.
            let _ = self.conn.query(&format!("KILL {id}"));
        }
        Ok(())
    }

    fn must(&mut self, sql: &str) -> Outcome<()> {
        self.conn
            .query(sql)
            .map(drop)
            .map_err(|e| format!("{}: {sql}: {e}", self.setup.kind.name()))
    }

    /// Makes the tables anew.
    pub fn fill(&mut self, schema: &Schema) -> Outcome<()> {
        for bare in [true, false] {
            let name = self.name(bare);
            self.must(&format!("DROP DATABASE IF EXISTS {name}"))?;
            self.must(&format!("CREATE DATABASE {name}"))?;
            self.must(&format!("USE {name}"))?;
            for table in &schema.tables {
                self.must(&table.create(!bare))?;
                if let Some(sql) = table.insert() {
                    self.must(&sql)?;
                }
            }
        }
        self.bare = false;
        Ok(())
    }

    /// Gives a table other rows.
    pub fn refill(&mut self, table: &Table) -> Outcome<()> {
        for bare in [true, false] {
            let name = format!("{}.t{}", self.name(bare), table.number);
            self.must(&format!("DELETE FROM {name}"))?;
            if let Some(sql) = table.insert() {
                let to = format!("INSERT INTO {name} ");
                self.must(&sql.replacen(&format!("INSERT INTO t{} ", table.number), &to, 1))?;
            }
        }
        Ok(())
    }

    fn name(&self, bare: bool) -> String {
        format!("{}{}", self.database, if bare { "bare" } else { "" })
    }

    /// Runs the statement in this way; a change of table `changed` is undone again.
    pub fn run(&mut self, sql: &str, changed: Option<usize>, way: &Way) -> Outcome<Answer> {
        if way.bare != self.bare {
            let name = self.name(way.bare);
            self.must(&format!("USE {name}"))?;
            self.bare = way.bare;
        }
        for set in &way.set {
            self.must(&format!("SET {set}"))?;
        }
        let answer = match changed {
            None => self.ask(sql, way.prepared)?,
            Some(number) => {
                self.must("BEGIN")?;
                let mut answer = self.ask(sql, way.prepared)?;
                if answer.code == 0 {
                    let all = self.ask(&format!("SELECT * FROM t{number}"), false)?;
                    answer.rows.extend(all.rows);
                }
                if answer.code != LOST {
                    self.must("ROLLBACK")?;
                }
                answer
            }
        };
        for set in &way.set {
            let variable = set.split(' ').next().unwrap_or_default();
            self.must(&format!("SET {variable} = DEFAULT"))?;
        }
        Ok(answer)
    }

    /// MariaDB's answer with these optimizer switches off.
    pub fn without(
        &mut self,
        sql: &str,
        changed: Option<usize>,
        bare: bool,
        switches: &str,
    ) -> Outcome<Answer> {
        let off: Vec<String> = switches.split(',').map(|s| format!("{s}=off")).collect();
        self.must(&format!("SET optimizer_switch = '{}'", off.join(",")))?;
        let way = Way {
            bare,
            ..Way::default()
        };
        let answer = self.run(sql, changed, &way);
        self.must("SET optimizer_switch = DEFAULT")?;
        answer
    }

    fn ask(&mut self, sql: &str, prepared: bool) -> Outcome<Answer> {
        let result = match prepared {
            true => self.twice(sql),
            false => self.conn.query(sql),
        };
        match result {
            Ok(mut results) => Ok(answer(&results.pop().unwrap_or_default())),
            Err(ClientError::Server(e)) => Ok(Answer {
                code: e.code,
                message: e.message,
                rows: Vec::new(),
            }),
            Err(e) if self.setup.kind == Kind::MariaDb => Err(format!("{PEER}: {sql}: {e}")),
            Err(e) => {
                self.again()
                    .map_err(|again| format!("{sql}\n{e}; and then: {again}"))?;
                self.end_others()?;
                let name = self.name(false);
                self.must(&format!("USE {name}"))?;
                self.bare = false;
                let late = matches!(&e, ClientError::Io(e) if e.kind() == ErrorKind::WouldBlock);
                Ok(Answer {
                    code: if late { LIMITS[0] } else { LOST },
                    message: e.to_string(),
                    rows: Vec::new(),
                })
            }
        }
    }

    fn twice(&mut self, sql: &str) -> Result<Vec<ResultSet>, ClientError> {
        let statement = self.conn.prepare(sql)?;
        let changes = !sql.starts_with("SELECT") && !sql.starts_with("WITH");
        let mut result = Ok(Vec::new());
        for time in 0..2 {
            if time == 1 && changes {
                // The second execution finds what the first one did.
                self.conn.query("ROLLBACK")?;
                self.conn.query("BEGIN")?;
            }
            result = self.conn.execute(&statement, &[]);
            if result.is_err() {
                break;
            }
        }
        self.conn.close(&statement)?;
        result
    }
}

fn answer(result: &ResultSet) -> Answer {
    let mut rows: Vec<Vec<Option<String>>> = Vec::new();
    if result.columns.is_empty() {
        rows.push(vec![Some(result.affected_rows.to_string())]);
    }
    for row in &result.rows {
        let cells = row.iter().zip(&result.columns);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        rows.push(cells.map(|(v, c)| as_text(v, c).map(text)).collect());
    }
    Answer {
        rows,
        ..Answer::default()
    }
}

fn connect(setup: &Setup) -> Outcome<blocking::Conn> {
    let failed = |e: ClientError| format!("{}: {e}", setup.kind.name());
    let login = Login::new("root", "", None, true);
    let mut conn = blocking::Conn::connect_unix_with(&setup.socket, login).map_err(failed)?;
    let patience = match setup.kind {
        Kind::MariaDb => PATIENCE_BESIDE,
        Kind::Tidemill => PATIENCE,
    };
    conn.set_read_timeout(Some(patience)).map_err(failed)?;
    Ok(conn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_without_order_case_and_zeros() {
        let answer = |cells: &[&str]| Answer {
            rows: cells.iter().map(|c| vec![Some((*c).to_owned())]).collect(),
            ..Answer::default()
        };
        let a = answer(&["1.500", "Ab", "2.00", "7"]);
        let b = answer(&["aB", "1.5", "7", "2"]);
        assert_eq!(a.compared(false, true), b.compared(false, true));
        assert_ne!(a.compared(false, false), b.compared(false, false));
        assert_ne!(a.compared(true, true), b.compared(true, true));
    }
}
