//! A whole server: `mariadb-dump --all-databases`, restored into a fresh one, accounts and all.

use super::{contents, tools};
use harness::server::{Kind, Setup};
use harness::step::Outcome;
use std::path::Path;
use wire::client::Value;
use wire::client::blocking::Conn;

/// An account that must be there afterwards, with its password and what it was granted.
const USER: &str = "teller";
const PASSWORD: &str = "it's \"secret\" \\ 1";

/// What makes it; the password is written as a literal.
const ACCOUNT: &[&str] = &[
    "CREATE ROLE reader",
    "CREATE USER teller@localhost IDENTIFIED BY 'it\\'s \"secret\" \\\\ 1' COMMENT 'of the tests'",
    "GRANT SELECT ON common.* TO reader",
    "GRANT reader TO teller@localhost",
    "GRANT UPDATE (id) ON odd.moments TO teller@localhost",
    "SET DEFAULT ROLE reader TO teller@localhost",
];

/// Dumps all of a server, in which the databases are, and restores it into another.
pub fn trip(from: &Setup, databases: &[&str], dir: &Path) -> Outcome<()> {
    let mut conn = contents::connect(from)?;
    for sql in ACCOUNT {
        contents::run(&mut conn, sql)?;
    }
    let file = dir.join("whole.sql");
    tools::dump_all(from, &file)?;
    let beside = dir.join("beside");
    std::fs::create_dir_all(&beside).map_err(|e| format!("{}: {e}", beside.display()))?;
    let server = Setup::new(Kind::Tidemill, &beside)?.start()?;
    let to = server.setup();
    tools::restore_all(to, &file).map_err(|e| server.with_log(&e))?;
    for database in databases {
        let (dumped, back) = (
            contents::read(from, database)?,
            contents::read(to, database)?,
        );
        let found = contents::differences(&dumped, &back, true);
        if let Some(first) = found.first() {
            return Err(format!(
                "{}: {} differences: {first}",
                database,
                found.len()
            ));
        }
    }
    let grants = |setup: &Setup| -> Outcome<Vec<Vec<Value>>> {
        let sql = "SHOW GRANTS FOR teller@localhost";
        Ok(contents::run(&mut contents::connect(setup)?, sql)?.rows)
    };
    if grants(from)? != grants(to)? {
        return Err(format!(
            "grants were {:?}, and are {:?}",
            grants(from)?,
            grants(to)?
        ));
    }
    let mut login = Conn::connect_unix(&to.socket, USER, PASSWORD, None)
        .map_err(|e| format!("{USER} does not get in: {e}"))?;
    let rows = contents::run(&mut login, "SELECT COUNT(*) FROM common.bytes")?.rows;
    if rows != [[Value::Bytes(b"6".to_vec())]] {
        return Err(format!("{USER} sees {rows:?}"));
    }
    drop(login);
    server.terminate()
}
