//! What has to be the same on two servers: databases, tables, rows, views, accounts.

use super::{load, owners};
use crate::dumps::contents::{self, Tables};
use harness::server::Setup;
use harness::step::Outcome;
use std::collections::BTreeMap;
use wire::client::Value;
use wire::client::blocking::Conn;

/// Databases that are a server's own, or the source's alone.
const OWN: &str = "('mysql', 'information_schema', 'performance_schema', 'sys', 'aside')";

/// What virtual columns of [`owners`] may follow: the same for every server.
const SETTINGS: &[&str] = &[
    "SET sql_mode = ''",
    "SET default_week_format = 0, div_precision_increment = 4, group_concat_max_len = 1024, lc_time_names = 'en_US'",
];

/// All that is compared.
#[derive(Debug, Default)]
pub struct Contents {
    databases: BTreeMap<String, Tables>,
    /// What statements say: views, accounts.
    said: BTreeMap<&'static str, Vec<Vec<Value>>>,
}

/// The text of a value.
pub fn text(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Null => String::new(),
        other => format!("{other:?}"),
    }
}

/// The first value of a statement's result.
pub fn value(conn: &mut Conn, sql: &str) -> Outcome<String> {
    let result = contents::run(conn, sql)?;
    let first = result.rows.first().and_then(|r| r.first());
    Ok(first.map(text).unwrap_or_default())
}

/// Reads all of a server. `alike`: also what only servers of the same kind have in common.
pub fn read(setup: &Setup, alike: bool) -> Outcome<Contents> {
    let mut conn = load::connect(setup).map_err(|e| e.to_string())?;
    let mut all = Contents::default();
    let sql = format!(
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN {OWN} ORDER BY 1"
    );
    let names = contents::run(&mut conn, &sql)?.rows;
    for name in names.iter().filter_map(|r| r.first()).map(text) {
        // Its views may name what is not there.
        let tables = match &*name {
            "v" => Tables::new(),
            owners::DATABASE => contents::read_under(setup, &name, SETTINGS)?,
            _ => contents::read(setup, &name)?,
        };
        all.databases.insert(name, tables);
    }
    if alike {
        for tables in all.databases.values_mut() {
            // A number that was given to a row that was not committed is not told to replicas.
            tables
                .values_mut()
                .for_each(|t| t.definition = without_counter(&t.definition));
        }
        for sql in [
            "SELECT table_name, view_definition FROM information_schema.views WHERE table_schema IN ('v', 'owned') ORDER BY 1",
            "SELECT user, host, plugin, authentication_string, account_locked FROM mysql.user WHERE user <> 'repl' AND user NOT LIKE 'owner%' ORDER BY 1, 2",
            "SELECT * FROM information_schema.schema_privileges WHERE table_schema <> 'owned' ORDER BY 1, 2, 3, 4",
            "SELECT * FROM information_schema.column_privileges ORDER BY 1, 2, 3, 4, 5, 6",
            "SELECT * FROM mysql.role_edges ORDER BY 1, 2, 3, 4",
        ] {
            all.said.insert(sql, contents::run(&mut conn, sql)?.rows);
        }
    }
    Ok(all)
}

fn without_counter(definition: &str) -> String {
    let Some((front, rest)) = definition.split_once(" AUTO_INCREMENT=") else {
        return definition.to_owned();
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    format!("{front}{}", &rest[digits..])
}

impl Contents {
    /// Tables.
    pub fn tables(&self) -> usize {
        self.databases.values().map(Tables::len).sum()
    }

    /// Rows of all tables.
    pub fn rows(&self) -> usize {
        self.databases.values().map(contents::rows).sum()
    }

    /// An error that names what is not the same.
    pub fn must_equal(&self, other: &Contents, alike: bool) -> Outcome<()> {
        let mut found = Vec::new();
        let names = |c: &Contents| c.databases.keys().cloned().collect::<Vec<_>>();
        if names(self) != names(other) {
            found.push(format!(
                "databases {:?} and {:?}",
                names(self),
                names(other)
            ));
        }
        for (name, tables) in &self.databases {
            if let Some(others) = other.databases.get(name) {
                let differ = contents::differences(tables, others, alike);
                found.extend(differ.into_iter().map(|d| format!("{name}.{d}")));
            }
        }
        for (sql, rows) in &self.said {
            let others = other.said.get(sql);
            if others != Some(rows) {
                found.push(format!("{sql}:\n{rows:?}\n{others:?}"));
            }
        }
        match found.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "{} differences:\n      {}",
                found.len(),
                found[..found.len().min(12)].join("\n      ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_left_out_of_a_definition() {
        let with = "CREATE TABLE `t` (...) ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4";
        let without = "CREATE TABLE `t` (...) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
        assert_eq!(without_counter(with), without);
        assert_eq!(without_counter(without), without);
    }
}
