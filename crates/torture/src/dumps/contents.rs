//! What is in a database, as bytes: definitions and rows, compared.

use harness::server::{Kind, Setup};
use harness::step::Outcome;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::client::Value;
use wire::client::blocking::Conn;

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// `SHOW CREATE TABLE`.
    pub definition: String,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Its rows, in an order that depends on nothing else.
    pub rows: Vec<Vec<Value>>,
    /// What `CHECKSUM TABLE` says; only Tidemill's are comparable.
    pub checksum: String,
}

/// The tables of a database, by name.
pub type Tables = BTreeMap<String, Table>;

fn backticked(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A connection that gets every value in the bytes that are stored.
pub fn connect(setup: &Setup) -> Outcome<Conn> {
    let failed = |e: wire::client::ClientError| format!("{}: {e}", setup.kind.name());
    let mut conn = Conn::connect_unix(&setup.socket, "root", "", None).map_err(failed)?;
    conn.set_read_timeout(Some(Duration::from_secs(60)))
        .map_err(failed)?;
    for sql in ["SET NAMES binary", "SET time_zone = '+00:00'"] {
        conn.query(sql).map_err(failed)?;
    }
    Ok(conn)
}

/// Runs a statement.
pub fn run(conn: &mut Conn, sql: &str) -> Outcome<wire::client::ResultSet> {
    let mut results = conn.query(sql).map_err(|e| format!("{sql:.120}: {e}"))?;
    Ok(results.pop().unwrap_or_default())
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}

/// Everything in a database.
pub fn read(setup: &Setup, database: &str) -> Outcome<Tables> {
    let mut conn = connect(setup)?;
    let names = run(&mut conn, &format!("SHOW TABLES FROM {database}"))?.rows;
    let names = names.iter().map(|row| text(row.first()));
    names
        .map(|name| Ok((name.clone(), table(&mut conn, database, &name)?)))
        .collect()
}

/// The tables of a database that has views of what is not there, and columns whose values follow the session that reads them: it has `settings`.
pub fn read_under(setup: &Setup, database: &str, settings: &[&str]) -> Outcome<Tables> {
    let mut conn = connect(setup)?;
    for sql in settings {
        run(&mut conn, sql)?;
    }
    let names = format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}' AND table_type = 'BASE TABLE'"
    );
    let names = run(&mut conn, &names)?.rows;
    let names = names.iter().map(|row| text(row.first()));
    names
        .map(|name| Ok((name.clone(), table(&mut conn, database, &name)?)))
        .collect()
}

fn table(conn: &mut Conn, database: &str, name: &str) -> Outcome<Table> {
    let full = format!("{database}.{}", backticked(name));
    let definition = run(conn, &format!("SHOW CREATE TABLE {full}"))?.rows;
    // Columns that `*` leaves out are data too.
    let listed = run(conn, &format!("SHOW COLUMNS FROM {full}"))?.rows;
    let columns: Vec<String> = listed.iter().map(|row| text(row.first())).collect();
    let list: Vec<String> = columns.iter().map(|c| backticked(c)).collect();
    let mut rows = run(conn, &format!("SELECT {} FROM {full}", list.join(", ")))?.rows;
    rows.sort_by_cached_key(|row| format!("{row:?}"));
    let checksum = run(conn, &format!("CHECKSUM TABLE {full}"))?.rows;
    Ok(Table {
        definition: text(definition.first().and_then(|row| row.get(1))),
        columns,
        rows,
        checksum: text(checksum.first().and_then(|row| row.get(1))),
    })
}

/// How many rows there are.
pub fn rows(tables: &Tables) -> usize {
    tables.values().map(|t| t.rows.len()).sum()
}

/// The differences between what was dumped and what came back; `alike` says that both are of Tidemill, so that definitions and checksums
/// are comparable too.
pub fn differences(dumped: &Tables, back: &Tables, alike: bool) -> Vec<String> {
    let mut found = Vec::new();
    for name in dumped
        .keys()
        .chain(back.keys().filter(|n| !dumped.contains_key(*n)))
    {
        match (dumped.get(name), back.get(name)) {
            (Some(a), Some(b)) => in_table(name, a, b, alike, &mut found),
            (Some(_), None) => found.push(format!("{name} did not come back")),
            _ => found.push(format!("{name} was not dumped")),
        }
    }
    found
}

fn in_table(name: &str, a: &Table, b: &Table, alike: bool, found: &mut Vec<String>) {
    if a.columns != b.columns {
        found.push(format!(
            "{name}: columns {:?} and {:?}",
            a.columns, b.columns
        ));
        return;
    }
    if a.rows.len() != b.rows.len() {
        found.push(format!(
            "{name}: {} rows and {}",
            a.rows.len(),
            b.rows.len()
        ));
        return;
    }
    for (x, y) in a.rows.iter().zip(&b.rows) {
        for (column, (p, q)) in a.columns.iter().zip(x.iter().zip(y)) {
            if p != q {
                found.push(format!("{name}.{column}: {} and {}", shown(p), shown(q)));
            }
        }
    }
    if !alike {
        return;
    }
    if a.definition != b.definition {
        let lines = a.definition.lines().zip(b.definition.lines());
        let lines: Vec<String> = lines
            .filter(|(x, y)| x != y)
            .map(|(x, y)| format!("{x} | {y}"))
            .collect();
        found.push(format!("{name} is defined otherwise: {}", lines.join("\n")));
    }
    if a.checksum != b.checksum {
        found.push(format!(
            "{name}: checksums {} and {}",
            a.checksum, b.checksum
        ));
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => {
            let start = &bytes[..bytes.len().min(60)];
            format!("'{}' ({} bytes)", start.escape_ascii(), bytes.len())
        }
        other => format!("{other:?}"),
    }
}

/// Are definitions and checksums of these two comparable?
pub fn alike(from: &Setup, to: &Setup) -> bool {
    from.kind == Kind::Tidemill && to.kind == Kind::Tidemill
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(bytes: &[u8]) -> Table {
        Table {
            definition: "CREATE".to_owned(),
            columns: vec!["c".to_owned()],
            rows: vec![vec![Value::Null], vec![Value::Bytes(bytes.to_vec())]],
            checksum: "1".to_owned(),
        }
    }

    #[test]
    fn every_kind_of_difference_is_told() {
        let one = |t: Table| Tables::from([("t".to_owned(), t)]);
        let a = one(table(b"\xff"));
        assert!(differences(&a, &a, true).is_empty());
        assert_eq!(differences(&a, &one(table(b"?")), true).len(), 1);
        assert_eq!(differences(&a, &Tables::new(), true).len(), 1);
        assert_eq!(differences(&Tables::new(), &a, true).len(), 1);
        let mut other = table(b"\xff");
        other.definition = "create".to_owned();
        other.checksum = "2".to_owned();
        assert_eq!(differences(&a, &one(other.clone()), true).len(), 2);
        assert!(differences(&a, &one(other.clone()), false).is_empty());
        other.rows.pop();
        assert_eq!(differences(&a, &one(other), false).len(), 1);
    }
}
