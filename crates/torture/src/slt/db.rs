//! The connection that records run on, and how its values are written.
//!
//! The type letters of a query say how a value is written, and not what the server calls its type: `I` as an integer, `R` with three
//! digits behind the point, `T` as text. The crate does not hand them to the connection, so they are set before each record.

use base::lock::Mutex;
use harness::server::Setup;
use slt::Letter;
use sqllogictest::{DB, DBOutput};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;
use wire::client::{ClientError, Value, blocking};

/// No statement of a file may take longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// The letters of the query that comes next.
pub type Letters = Arc<Mutex<Vec<Letter>>>;

/// An answer that is an error.
#[derive(Debug)]
pub struct Refused {
    /// The number; 0 where the connection itself failed.
    pub code: u16,
    text: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Refused {}

fn refused(error: ClientError) -> Refused {
    Refused {
        code: match &error {
            ClientError::Server(e) => e.code,
            _ => 0,
        },
        text: error.to_string(),
    }
}

/// A connection in a database of its own.
pub struct Db {
    conn: RefCell<blocking::Conn>,
    letters: Letters,
}

impl Db {
    /// Connects, in `database`.
    pub fn open(setup: &Setup, database: &str, letters: Letters) -> Result<Db, Refused> {
        let mut conn = blocking::Conn::connect_unix(&setup.socket, "root", "", Some(database))
            .map_err(refused)?;
        conn.set_read_timeout(Some(PATIENCE)).map_err(refused)?;
        Ok(Db {
            conn: RefCell::new(conn),
            letters,
        })
    }
}

impl DB for Db {
    type Error = Refused;
    type ColumnType = Letter;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Letter>, Refused> {
        let result = self
            .conn
            .get_mut()
            .query(sql)
            .map_err(refused)?
            .pop()
            .unwrap_or_default();
        if result.columns.is_empty() {
            return Ok(DBOutput::StatementComplete(result.affected_rows));
        }
        let wanted = self.letters.lock().clone();
        let types: Vec<Letter> = (0..result.columns.len())
            .map(|at| wanted.get(at).copied().unwrap_or(Letter::Text))
            .collect();
        let rows = result
            .rows
            .iter()
            .map(|row| {
                row.iter()
                    .zip(&types)
                    .map(|(value, letter)| written(value, *letter))
                    .collect()
            })
            .collect();
        Ok(DBOutput::Rows { types, rows })
    }
}

/// A value as the files write it.
fn written(value: &Value, letter: Letter) -> String {
    let bytes = match value {
        Value::Bytes(bytes) => bytes,
        // The text protocol has no other values.
        _ => return "NULL".to_owned(),
    };
    let text = String::from_utf8_lossy(bytes);
    match letter {
        Letter::Integer => match text.parse::<f64>() {
            // What is no whole number is cut, as C's conversion of the original program does it.
            Ok(number) if text.contains(['.', 'e']) => format!("{:.0}", number.trunc()),
            Ok(_) => text.into_owned(),
            Err(_) => "0".to_owned(),
        },
        Letter::Real => format!("{:.3}", text.parse::<f64>().unwrap_or(0.0)),
        Letter::Text | Letter::Unknown if text.is_empty() => "(empty)".to_owned(),
        Letter::Text | Letter::Unknown => text
            .chars()
            .map(|c| if (' '..='~').contains(&c) { c } else { '@' })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_by_their_letter() {
        let of = |text: &str, letter| written(&Value::from(text), letter);
        assert_eq!(of("3.0000", Letter::Integer), "3");
        assert_eq!(of("9007199254740993", Letter::Integer), "9007199254740993");
        assert_eq!(of("x", Letter::Integer), "0");
        assert_eq!(of("-0.12345", Letter::Real), "-0.123");
        assert_eq!(of("7", Letter::Real), "7.000");
        assert_eq!(of("", Letter::Text), "(empty)");
        assert_eq!(of("a\tb", Letter::Text), "a@b");
        assert_eq!(written(&Value::Null, Letter::Real), "NULL");
    }
}
