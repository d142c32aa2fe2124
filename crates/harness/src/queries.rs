//! Questions that every harness asks a server: is each table sound, what does a status variable say.

use crate::client::Conn;
use crate::step::Outcome;

/// CHECK TABLE on each; an error unless every one says OK.
pub fn check_tables(conn: &mut dyn Conn, database: &str, tables: &[String]) -> Outcome<()> {
    for table in tables {
        let sql = format!("CHECK TABLE {database}.{table}");
        let rows = conn.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
        // Columns: Table, Op, Msg_type, Msg_text.
        let sound = rows.last().is_some_and(|row| {
            row.get(2).is_some_and(|t| t == "status") && row.get(3).is_some_and(|t| t == "OK")
        });
        if !sound || rows.len() != 1 {
            return Err(format!("{sql} says {rows:?}"));
        }
    }
    Ok(())
}

/// A number from SHOW GLOBAL STATUS, where the server has it.
pub fn status(conn: &mut dyn Conn, name: &str) -> Option<u64> {
    let rows = conn
        .run(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))
        .ok()?;
    rows.first()?.get(1)?.parse().ok()
}

/// The single number that `sql` returns.
pub fn number(conn: &mut dyn Conn, sql: &str) -> Outcome<u64> {
    let rows = conn.run(sql).map_err(|e| format!("{sql}: {e}"))?;
    rows.first()
        .and_then(|row| row.first())
        .and_then(|cell| cell.parse().ok())
        .ok_or_else(|| format!("{sql} returned {rows:?}"))
}
