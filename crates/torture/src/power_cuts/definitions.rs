//! A client that makes, fills, moves, rebuilds and removes tables, and knows what it was told: file names come and go under it
//! as they do not under row changes.
//!
//! Each statement is a transaction of its own. After a cut everything acknowledged must be there, and the statement that got no
//! answer must have happened as a whole or not at all.

use harness::client::{Conn, Fault};
use harness::queries;
use harness::rng::Rng;
use harness::server::Setup;
use harness::step::Outcome;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// The databases that it works in.
const DATABASES: [&str; 2] = ["names_a", "names_b"];

/// Tables and how many rows each has.
type Tables = BTreeMap<String, u64>;

/// What it knows.
#[derive(Debug)]
pub struct Definitions {
    rng: Rng,
    next: u64,
    there: Tables,
    /// What is there if the statement without an answer was done.
    or: Option<Tables>,
}

impl Definitions {
    /// A client that has done nothing yet.
    pub fn new(seed: u64) -> Definitions {
        Definitions {
            rng: Rng::new(seed ^ 0xdef1),
            next: 0,
            there: Tables::new(),
            or: None,
        }
    }

    /// Makes its databases.
    pub fn create(&self, conn: &mut dyn Conn) -> Outcome<()> {
        for name in DATABASES {
            let sql = format!("CREATE DATABASE {name}");
            conn.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
        }
        Ok(())
    }

    /// Works until the connection is lost or `stop` is set; how many statements were acknowledged.
    pub fn work(&mut self, setup: &Setup, stop: &AtomicBool) -> Outcome<u64> {
        let mut done = 0;
        let Ok(mut conn) = setup.connect() else {
            return Ok(done);
        };
        while !stop.load(Ordering::Relaxed) {
            let (sql, after) = self.statement();
            match conn.run(&sql) {
                Ok(_) => {
                    self.there = after;
                    done += 1;
                }
                Err(Fault::Lost(_) | Fault::Waiting) => {
                    self.or = Some(after);
                    return Ok(done);
                }
                Err(fault) => return Err(format!("{sql:.120}: {fault}")),
            }
        }
        Ok(done)
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        let database = DATABASES[self.rng.below(2) as usize];
        format!("{database}.t{}", self.next)
    }

    /// A statement, and the tables that are there when it is done.
    fn statement(&mut self) -> (String, Tables) {
        let mut after = self.there.clone();
        let some = self.rng.below(self.there.len() as u64) as usize;
        let chosen = self.there.iter().nth(some);
        let Some((table, rows)) = chosen
            .map(|(t, n)| (t.clone(), *n))
            .filter(|_| self.there.len() > 3 && !self.rng.one_in(6))
        else {
            let name = self.fresh();
            after.insert(name.clone(), 0);
            let kind = match self.rng.below(3) {
                0 => " ROW_FORMAT=COMPRESSED",
                _ => "",
            };
            let columns = "id INT PRIMARY KEY, v VARCHAR(300), KEY (v(20))";
            return (format!("CREATE TABLE {name} ({columns}){kind}"), after);
        };
        let sql = match self.rng.below(12) {
            0 => {
                after.remove(&table);
                format!("DROP TABLE {table}")
            }
            1 | 2 => {
                after.remove(&table);
                let to = self.fresh();
                after.insert(to.clone(), rows);
                format!("RENAME TABLE {table} TO {to}")
            }
            3 => {
                after.insert(table.clone(), 0);
                format!("TRUNCATE TABLE {table}")
            }
            4 => format!("ALTER TABLE {table} FORCE"),
            _ if self.there.len() > 12 => {
                after.remove(&table);
                format!("DROP TABLE {table}")
            }
            _ => {
                let last = rows + 1 + self.rng.below(40);
                after.insert(table.clone(), last);
                let row = |id: u64| format!("({id}, REPEAT('{}', {}))", id % 10, id % 300);
                let values: Vec<String> = (rows + 1..=last).map(row).collect();
                format!("INSERT INTO {table} VALUES {}", values.join(", "))
            }
        };
        (sql, after)
    }

    /// Compares what is there with what it knows, and fixes what was open.
    pub fn verify(&mut self, conn: &mut dyn Conn) -> Outcome<()> {
        let found = found(conn)?;
        match self.or.take() {
            Some(after) if found == after => self.there = after,
            _ if found == self.there => {}
            or => {
                let lost: Vec<_> = self
                    .there
                    .iter()
                    .filter(|(t, n)| found.get(*t) != Some(n))
                    .collect();
                return Err(format!(
                    "ACKNOWLEDGED statements are missing: tables and rows are {found:?}; {lost:?} were acknowledged; \
                     one statement had no answer: {}",
                    or.is_some()
                ));
            }
        }
        for database in DATABASES {
            let start = format!("{database}.");
            let names = self.there.keys().filter_map(|t| t.strip_prefix(&start));
            let names: Vec<String> = names.map(str::to_owned).collect();
            queries::check_tables(conn, database, &names)?;
        }
        Ok(())
    }
}

/// The tables, each with its number of rows, which must be those from 1 to that number.
fn found(conn: &mut dyn Conn) -> Outcome<Tables> {
    let mut found = Tables::new();
    for database in DATABASES {
        let mut ask = |sql: &str| conn.run(sql).map_err(|e| format!("{sql}: {e}"));
        for row in ask(&format!("SHOW TABLES FROM {database}"))? {
            let name = format!("{database}.{}", row.join(""));
            let right = "CRC32(v) = CRC32(REPEAT(CAST(id % 10 AS CHAR), id % 300))";
            let sums = format!("COUNT(*), COALESCE(SUM(id), 0), COALESCE(SUM({right}), 0)");
            let said = ask(&format!("SELECT {sums} FROM {name}"))?.concat();
            let numbers: Vec<u64> = said.iter().filter_map(|n| n.parse().ok()).collect();
            match numbers[..] {
                [rows, sum, right] if sum == rows * (rows + 1) / 2 && right == rows => {
                    found.insert(name, rows);
                }
                _ => {
                    return Err(format!(
                        "{name} has other rows than were inserted: {said:?}"
                    ));
                }
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_change_what_they_say() {
        let mut client = Definitions::new(3);
        let mut kinds = BTreeMap::new();
        for _ in 0..2000 {
            let (sql, after) = client.statement();
            let kind: String = sql.chars().take(5).collect();
            *kinds.entry(kind).or_insert(0) += 1;
            client.there = after;
            assert!(client.there.len() <= 20);
        }
        let all: Vec<&str> = kinds.keys().map(String::as_str).collect();
        let expected = ["ALTER", "CREAT", "DROP ", "INSER", "RENAM", "TRUNC"];
        assert_eq!(all, expected, "{kinds:?}");
    }
}
