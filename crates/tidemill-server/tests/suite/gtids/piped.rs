//! `mariadb-binlog FILE | mariadb`: another server has the same rows. With the names that MySQL's own program prints, it has the same transactions, and a
//! second time nothing is done. Passed over where these programs are not installed.

use std::io::Write;
use std::process::{Command, Stdio};

use super::test_server::{TestServer, rows};
use super::{one, run, server};

const STATEMENTS: &[&str] = &[
    "CREATE DATABASE d CHARACTER SET latin1",
    "USE d",
    "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, n DECIMAL(20,5), f DOUBLE, e ENUM('x','y'), s SET('p','q','r'), b BIT(9),
        c CHAR(5), v VARCHAR(300) CHARACTER SET utf8mb4, l LONGTEXT, z LONGBLOB, j JSON, y YEAR, d DATE, t TIME(3), dt DATETIME(6), ts TIMESTAMP(2) NULL,
        u BIGINT UNSIGNED, vb VARBINARY(20), KEY (v(10)))",
    "INSERT INTO a VALUES (1, 12.5, 1e100, 'y', 'p,r', b'101', 'ab', 'grün \u{1f600}', 'long', X'00FF275C', '{\"k\": [1, 2.5, null, \"x\"]}', 2024,
        '2024-02-29', '-12:34:56.789', '2024-01-01 00:00:00.123456', '2024-06-01 12:00:00.25', 18446744073709551615, X'DEAD00'),
        (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "INSERT INTO a (v, l, z) VALUES (REPEAT('ä', 300), REPEAT('x', 70000), REPEAT(X'00', 70000))",
    "CREATE TABLE no_key (a INT, b VARCHAR(20) COLLATE latin1_swedish_ci)",
    "INSERT INTO no_key VALUES (1, 'x'), (1, 'x'), (NULL, NULL), (2, 'y')",
    "DELETE FROM no_key WHERE a = 1 LIMIT 1",
    "UPDATE no_key SET b = 'z' WHERE a IS NULL",
    "BEGIN",
    "UPDATE a SET j = JSON_SET(j, '$.k[0]', 'new'), v = 'it''s a \\\\ \"quote\"' WHERE id = 1",
    "DELETE FROM a WHERE id = 2",
    "INSERT INTO no_key VALUES (5, 'five')",
    "COMMIT",
    "BEGIN",
    "INSERT INTO no_key VALUES (6, 'never')",
    "ROLLBACK",
    "CREATE TEMPORARY TABLE tmp (a INT)",
    "INSERT INTO tmp VALUES (1), (2)",
    "INSERT INTO no_key SELECT a, 'tmp' FROM tmp",
    "DROP TEMPORARY TABLE tmp",
    "SET NAMES latin1",
    "CREATE TABLE l (a VARCHAR(10) DEFAULT 'd') COMMENT 'it''s'",
    "INSERT INTO l VALUES (_latin1 X'E4F6'), (DEFAULT)",
    "SET NAMES utf8mb4",
    "SET sql_mode = 'ANSI_QUOTES'",
    "CREATE VIEW \"w\" AS SELECT \"a\" FROM \"no_key\"",
    "SET sql_mode = DEFAULT, time_zone = '+03:00'",
    "CREATE TABLE p (id INT PRIMARY KEY, ts TIMESTAMP DEFAULT CURRENT_TIMESTAMP)",
    "CREATE TABLE k (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
    "INSERT INTO p VALUES (1, '2024-01-01 10:00:00'), (2, '2024-01-01 10:00:00')",
    "INSERT INTO k VALUES (1, 1), (2, 2), (3, 2)",
    "DELETE FROM p WHERE id = 2",
    "SET foreign_key_checks = 0",
    "INSERT INTO k VALUES (9, 99)",
    "SET foreign_key_checks = 1",
    "ALTER TABLE a ADD COLUMN g INT AS (YEAR(d)), DROP COLUMN f, RENAME COLUMN n TO m",
    "INSERT INTO a (m) VALUES (7)",
    "RENAME TABLE l TO renamed",
    "CREATE INDEX i ON p (ts)",
    "TRUNCATE TABLE renamed",
    "INSERT INTO renamed VALUES ('after')",
    "CREATE USER somebody@localhost IDENTIFIED BY 'secret'",
    "GRANT SELECT ON d.* TO somebody@localhost",
    "CREATE DATABASE gone",
    "DROP DATABASE gone",
    "/* nothing */",
];

fn is_there(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    found.is_ok_and(|s| s.success())
}

/// What a server has.
fn contents(s: &TestServer) -> Vec<String> {
    let mut c = s.client();
    run(&mut c, &["SET NAMES utf8mb4"]);
    let mut all = Vec::new();
    for row in rows(&mut c, "SHOW FULL TABLES FROM d") {
        let table = &row[0];
        all.push(rows(&mut c, &format!("SHOW CREATE TABLE d.`{table}`"))[0][1].clone());
        if row[1] == "BASE TABLE" {
            all.push(rows(&mut c, &format!("CHECKSUM TABLE d.`{table}`"))[0].join(" "));
        }
        let read = rows(&mut c, &format!("SELECT * FROM d.`{table}`"));
        let mut read: Vec<String> = read.iter().map(|row| row.join("|")).collect();
        read.sort_unstable();
        all.append(&mut read);
    }
    all.push(
        rows(&mut c, "SHOW GRANTS FOR somebody@localhost")
            .concat()
            .concat(),
    );
    all.push(rows(&mut c, "SHOW DATABASES").concat().concat());
    all
}

fn pipe(s: &TestServer, text: &[u8]) {
    let mut client = Command::new("mariadb")
        .args(["--no-defaults", "--binary-mode", "-uroot"])
        .arg(format!("--socket={}", s.dir.join("s.sock").display()))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = client.stdin.take().expect("a pipe");
    // An error of the server ends it early.
    let _broken = input.write_all(text);
    drop(input);
    let done = client.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
}

#[test]
fn another_server_has_the_same() {
    if !is_there("mariadb-binlog") || !is_there("mariadb") {
        eprintln!("passed over: mariadb-binlog or mariadb is not installed");
        return;
    }
    let source = server(&[]);
    let mut c = source.client();
    run(&mut c, STATEMENTS);
    let executed = one(&mut c, "SELECT @@gtid_executed");
    let log = source.dir.join("data/binlog.000001");
    let printed = Command::new("mariadb-binlog")
        .arg("--no-defaults")
        .arg(&log)
        .output()
        .expect("it runs");
    assert!(
        printed.status.success(),
        "{}",
        String::from_utf8_lossy(&printed.stderr)
    );
    let wanted = contents(&source);
    let plain = server(&["--server-id=2"]);
    pipe(&plain, &printed.stdout);
    assert_eq!(contents(&plain), wanted);
    // As MySQL's program prints it: in front of each transaction its name.
    let named = server(&["--server-id=3"]);
    let events = rows(&mut c, "SHOW BINLOG EVENTS");
    let mut names = events
        .iter()
        .filter(|e| e[2] == "Gtid")
        .map(|e| e[5].clone());
    let mut text: Vec<u8> = Vec::new();
    for line in printed.stdout.split_inclusive(|b| *b == b'\n') {
        match line.starts_with(b"# Ignorable event type 33") {
            true => {
                let name = names.next().expect("as many as there are");
                let said = "/*!80001 SET @@session.original_commit_timestamp=1700000000000000*//*!*/;\n\
                            /*!80014 SET @@session.original_server_version=80035*//*!*/;\n\
                            /*!80014 SET @@session.immediate_server_version=80035*//*!*/;\n";
                text.extend_from_slice(said.as_bytes());
                text.extend_from_slice(format!("{name}/*!*/;\n").as_bytes());
            }
            false if line == b"DELIMITER ;\n" => {
                text.extend_from_slice(
                    b"SET @@SESSION.GTID_NEXT= 'AUTOMATIC' /* added by mysqlbinlog */ /*!*/;\n",
                );
                text.extend_from_slice(line);
            }
            false => text.extend_from_slice(line),
        }
    }
    assert_eq!(names.next(), None);
    for _ in 0..2 {
        pipe(&named, &text);
        assert_eq!(contents(&named), wanted);
        assert_eq!(one(&mut named.client(), "SELECT @@gtid_executed"), executed);
    }
}
