//! The tables that clients write to, beside those that they make and drop.

use super::words::Dialect;
use crate::dumps::tools;
use harness::server::Setup;
use harness::step::Outcome;
use harness::workspace;
use wire::client::blocking::Conn;

/// Sets of `tests/dumps` whose tables have columns of every type, with rows at the ends of their ranges. None has what the binary log refuses.
const SETS: [&str; 4] = ["common", "wide", "bits", "odd"];

const TABLES: &[&str] = &[
    "CREATE DATABASE r",
    "CREATE DATABASE v",
    "CREATE TABLE r.kinds (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, ti TINYINT, tu TINYINT UNSIGNED, si SMALLINT, mi MEDIUMINT, i INT, \
     bi BIGINT, bu BIGINT UNSIGNED, de DECIMAL(20,6), fl FLOAT, db DOUBLE, bt BIT(17), ch CHAR(12), vc VARCHAR(200), \
     vl VARCHAR(100) CHARACTER SET latin1, bn BINARY(8), vb VARBINARY(100), tx TEXT, lt LONGTEXT, bl BLOB, mb MEDIUMBLOB, \
     en ENUM('a','b','c',''), st SET('x','y','z'), da DATE, tm TIME(3), dt DATETIME(6), ts TIMESTAMP(2) NULL, ye YEAR, \
     KEY (vc), KEY (dt, ti), UNIQUE KEY u (bi, vc(20)), KEY (tx(30)))",
    "CREATE TABLE r.keyless (a INT, b VARCHAR(120), c DATETIME(3), d BLOB)",
    "CREATE TABLE r.uniques (a INT NOT NULL, b VARCHAR(30), c INT, UNIQUE KEY (a), UNIQUE KEY n (b))",
    "CREATE TABLE r.half (a INT, b VARCHAR(30), c TEXT, UNIQUE KEY (a, b))",
    "CREATE TABLE r.parent (id INT PRIMARY KEY, name VARCHAR(30))",
    "CREATE TABLE r.child (id INT AUTO_INCREMENT PRIMARY KEY, p INT, q INT, note VARCHAR(90), \
     FOREIGN KEY (p) REFERENCES r.parent (id) ON DELETE CASCADE ON UPDATE CASCADE, \
     FOREIGN KEY (q) REFERENCES r.parent (id) ON DELETE SET NULL ON UPDATE CASCADE)",
    "CREATE TABLE r.grandchild (id INT AUTO_INCREMENT PRIMARY KEY, c INT, n INT, FOREIGN KEY (c) REFERENCES r.child (id) ON DELETE CASCADE)",
    "CREATE TABLE r.made (id INT PRIMARY KEY, a INT, b VARCHAR(200), v INT AS (a * 2) VIRTUAL, s VARCHAR(40) AS (CONCAT('s', a)) STORED, \
     KEY (v), UNIQUE KEY (s))",
    "CREATE TABLE r.counted (id BIGINT AUTO_INCREMENT PRIMARY KEY, n INT)",
    "CREATE TABLE r.composite (a INT, b VARCHAR(20), c DECIMAL(12,2), n INT, PRIMARY KEY (b, a))",
];

/// Makes them, and the tables of every type.
pub fn make(conn: &mut Conn, setup: &Setup, dialect: Dialect) -> Outcome<()> {
    let collation = match dialect.mariadb {
        true => " DEFAULT COLLATE=utf8mb4_general_ci",
        false => "",
    };
    for sql in TABLES {
        let sql = match sql.starts_with("CREATE TABLE") {
            true => format!("{sql}{collation}"),
            false => (*sql).to_owned(),
        };
        conn.query(&sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    for set in SETS {
        let file = workspace::root().join(format!("tests/dumps/{set}.sql"));
        let sql = format!("CREATE DATABASE {set}");
        conn.query(&sql).map_err(|e| format!("{sql}: {e}"))?;
        tools::load(setup, set, &file)?;
    }
    Ok(())
}

/// What is in no binary log: a database of its own on the source.
pub fn make_aside(conn: &mut Conn) -> Outcome<()> {
    for sql in [
        "SET sql_log_bin = 0",
        "CREATE DATABASE aside",
        "CREATE TABLE aside.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT)",
        "SET sql_log_bin = 1",
    ] {
        conn.query(sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    Ok(())
}
