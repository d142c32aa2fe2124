//! Statements on a full disk: they succeed, or say that there is no room, in time.

use harness::server::Setup;
use harness::step::Outcome;
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};

/// The longest that any statement may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Errors by which a statement may say that the disk is full: ER_DISK_FULL, ER_RECORD_FILE_FULL.
pub const FULL: [u16; 2] = [1021, 1114];

/// The rows of a statement.
pub fn query(conn: &mut Conn, sql: &str) -> Result<Vec<Vec<Value>>, ClientError> {
    let mut results = conn.query(sql)?;
    Ok(results.pop().unwrap_or_default().rows)
}

/// The rows of a statement that has to succeed.
pub fn must(conn: &mut Conn, sql: &str) -> Outcome<Vec<Vec<Value>>> {
    let begun = Instant::now();
    query(conn, sql).map_err(|e| {
        format!(
            "{sql:.100} after {:.1} s: {e}",
            begun.elapsed().as_secs_f64()
        )
    })
}

/// True if it succeeded, false with the code if the disk is full; anything else must not be.
pub fn fits(conn: &mut Conn, sql: &str) -> Outcome<Result<(), u16>> {
    let begun = Instant::now();
    match query(conn, sql) {
        Ok(_) => Ok(Ok(())),
        Err(ClientError::Server(e)) if FULL.contains(&e.code) => Ok(Err(e.code)),
        Err(e) => Err(format!(
            "{sql:.100} after {:.1} s: {e}",
            begun.elapsed().as_secs_f64()
        )),
    }
}

/// The one number that a query gives.
pub fn number(conn: &mut Conn, sql: &str) -> Outcome<u64> {
    let rows = must(conn, sql)?;
    match rows.first().and_then(|r| r.first()) {
        Some(Value::Bytes(text)) => String::from_utf8_lossy(text)
            .parse()
            .map_err(|_| format!("{sql} gives {rows:?}")),
        _ => Err(format!("{sql} gives {rows:?}")),
    }
}

/// What OPTIMIZE TABLE says: it succeeds, or tells in its rows, as MySQL does, what it could not do.
pub fn optimized(conn: &mut Conn, table: &str) -> Outcome<String> {
    let rows = must(conn, &format!("OPTIMIZE TABLE {table}"))?;
    let text = |v: Option<&Value>| match v {
        Some(Value::Bytes(b)) => String::from_utf8_lossy(b).into_owned(),
        v => format!("{v:?}"),
    };
    let lines = rows.iter().map(|r| [text(r.get(2)), text(r.get(3))]);
    let lines: Vec<[String; 2]> = lines.collect();
    let kinds: Vec<&str> = lines.iter().map(|[kind, _]| &**kind).collect();
    let last = lines.last().map_or("", |[_, said]| said);
    match (kinds.as_slice(), last) {
        (["note", "status"], "OK") => Ok("OPTIMIZE TABLE done".to_owned()),
        (["note", "error", "status"], "Operation failed") => {
            Ok(format!("OPTIMIZE TABLE: {}", lines[1][1]))
        }
        _ => Err(format!("OPTIMIZE TABLE {table} says {lines:?}")),
    }
}

/// A connection whose statements have to be answered in time.
pub fn connect(setup: &Setup) -> Outcome<Conn> {
    let mut conn =
        Conn::connect_unix(&setup.socket, "root", "", None).map_err(|e| format!("connect: {e}"))?;
    conn.set_read_timeout(Some(PATIENCE))
        .map_err(|e| e.to_string())?;
    Ok(conn)
}
