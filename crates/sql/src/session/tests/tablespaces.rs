//! FLUSH TABLES .. FOR EXPORT, DISCARD TABLESPACE, IMPORT TABLESPACE: statements, their errors, and values of all types on their way.

use base::{Disk, OpenMode};

use super::*;

/// Two servers and their disks.
struct Two {
    disks: [Arc<MemDisk>; 2],
    from: Client,
    to: Client,
}

fn two() -> Two {
    let disks = [(); 2].map(|()| Arc::new(MemDisk::default()));
    let [from, to] = disks.clone().map(|d| Client::in_test(&server_on(d)));
    Two { disks, from, to }
}

fn path(table: &str, ending: &str) -> std::path::PathBuf {
    format!("/data/data/test/{table}.{ending}").into()
}

fn bytes_of(disk: &MemDisk, at: &Path) -> Vec<u8> {
    let file = disk.open(at, OpenMode::Buffered, false).expect("a file");
    let mut bytes = vec![0; file.len().expect("its length") as usize];
    file.read_now(&mut bytes, 0).expect("its bytes");
    bytes
}

impl Two {
    /// Copies what was exported to where it is imported.
    fn copy(&self, table: &str) {
        for (ending, to) in [("tdb", "import"), ("cfg", "cfg")] {
            let bytes = bytes_of(&self.disks[0], &path(table, ending));
            let file = self.disks[1].open(&path(table, to), OpenMode::Buffered, true);
            let file = file.expect("a file");
            file.truncate(0).expect("room");
            file.write_now(&bytes, 0).expect("room");
        }
    }

    /// Exports a table, and imports it as one that this statement makes.
    fn carry(&mut self, table: &str, create: &str) -> Result<(), SqlError> {
        self.to.run(create);
        self.to
            .run(&format!("ALTER TABLE {table} DISCARD TABLESPACE"));
        self.from.run(&format!("FLUSH TABLES {table} FOR EXPORT"));
        self.copy(table);
        self.from.run("UNLOCK TABLES");
        self.to
            .try_all(&format!("ALTER TABLE {table} IMPORT TABLESPACE"))
            .map(|_| ())
    }
}

#[test]
fn values_of_all_types_come_over() {
    let mut t = two();
    let create = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, z INT, i TINYINT UNSIGNED, d DECIMAL(30,5), f FLOAT, g DOUBLE, b BIT(7), \
        s VARCHAR(20), c CHAR(5) CHARACTER SET latin1, x VARBINARY(9), y BINARY(4), l LONGTEXT, o MEDIUMBLOB, a DATE, e TIME(3), \
        h DATETIME(6), m TIMESTAMP(2) NULL, r YEAR, n ENUM('p','q','r'), k SET('u','v','w'), j JSON, \
        v INT AS (z * 2) VIRTUAL, w INT AS (i + 1) STORED, KEY (s), UNIQUE KEY (v), KEY ((LOWER(s))), CHECK (i < 200))";
    t.from.run(create);
    t.from.run("SET time_zone = 'Europe/Berlin'");
    for id in 1..=200 {
        t.from.run(&format!(
            "INSERT INTO t (z, i, d, f, g, b, s, c, x, y, l, o, a, e, h, m, r, n, k, j) VALUES ({id}, {id} % 200, {id} / 7, {id} / 3, -{id} * 1e100, {id} % 128, \
             'Wört {id}', 'ä{id}', UNHEX('00FF01'), 'ab', REPEAT('long', {id} * 100), REPEAT(x'00FE', {id} * 50), '2024-02-29' - INTERVAL {id} DAY, \
             '-12:34:56.789', '1999-12-31 23:59:59.999999', '2026-10-25 02:30:00.25', 1901 + {id} % 200, {id} % 3 + 1, {id} % 8, \
             JSON_OBJECT('k', {id}))"
        ));
    }
    t.from.run("INSERT INTO t (id) VALUES (1000)");
    t.from
        .run("ALTER TABLE t ADD COLUMN late VARCHAR(9) NOT NULL DEFAULT 'filled'");
    t.from.run("DELETE FROM t WHERE id % 10 = 0 AND id < 900");
    let create = t.from.rows("SHOW CREATE TABLE t")[0][1].clone();
    t.carry("t", &create).expect("an import");
    let [from, to] = [&mut t.from, &mut t.to].map(|c| {
        c.run("SET time_zone = '+00:00'");
        c.rows("SELECT * FROM t ORDER BY id")
    });
    assert_eq!(from.len(), 181);
    assert!(from == to, "other rows");
    assert_eq!(t.to.rows("CHECK TABLE t")[0][3], "OK");
    assert_eq!(
        t.to.one("SELECT id FROM t FORCE INDEX (v) WHERE v = 14"),
        "7"
    );
    assert_eq!(t.to.rows("SHOW CREATE TABLE t")[0][1], create);
    t.to.run("INSERT INTO t (i) VALUES (1)");
    assert_eq!(t.to.one("SELECT MAX(id) FROM t"), "1001");
    assert_eq!(t.to.error("INSERT INTO t (i) VALUES (201)"), 3819);
}

#[test]
fn a_discarded_table_is_there_and_cannot_be_used() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.run("INSERT INTO t VALUES (1, 2)");
    c.run("PREPARE p FROM 'SELECT * FROM t WHERE a = 1'");
    c.run("EXECUTE p");
    c.run("CREATE VIEW v AS SELECT * FROM t");
    c.run("HANDLER t OPEN AS h");
    c.run("ALTER TABLE t DISCARD TABLESPACE");
    for sql in [
        "SELECT * FROM t",
        "SELECT 1 FROM t LIMIT 0",
        "SELECT * FROM v",
        "EXECUTE p",
        "INSERT INTO t VALUES (1, 1)",
        "UPDATE t SET b = 1",
        "DELETE FROM t",
        "REPLACE INTO t VALUES (1, 1)",
        "TRUNCATE TABLE t",
        "ALTER TABLE t ADD COLUMN c INT",
        "ALTER TABLE t ADD INDEX (b)",
        "CREATE INDEX i ON t (b)",
        "ALTER TABLE t FORCE",
        "HANDLER t OPEN",
        "FLUSH TABLES t FOR EXPORT",
        "CREATE TABLE u SELECT * FROM t",
    ] {
        assert_eq!(c.error(sql), 1814, "{sql}");
    }
    assert_eq!(
        c.try_all("SELECT * FROM t").unwrap_err().message,
        "Tablespace has been discarded for table 't'"
    );
    assert_eq!(
        c.error("HANDLER h READ FIRST"),
        1109,
        "its own change has closed it"
    );
    for sql in ["CHECK TABLE t", "ANALYZE TABLE t", "OPTIMIZE TABLE t"] {
        let said = c.rows(sql);
        assert!(
            said.iter().any(|r| r[3].contains("discarded")),
            "{sql}: {said:?}"
        );
    }
    c.run("CREATE TABLE l LIKE t");
    c.run("INSERT INTO l VALUES (1, 1)");
    assert_eq!(c.rows("SHOW COLUMNS FROM t").len(), 2);
    let state = "SELECT state FROM information_schema.innodb_tablespaces WHERE name = 'test/t'";
    assert_eq!(c.one(state), "discarded");
    c.run("RENAME TABLE t TO t2");
    c.run("ALTER TABLE t2 RENAME t");
    assert_eq!(c.error("SELECT * FROM t"), 1814);
    c.run("ALTER TABLE t DISCARD TABLESPACE");
    assert_eq!(c.rows("SHOW WARNINGS")[0][1], "1812");
    assert_eq!(c.error("ALTER TABLE t IMPORT TABLESPACE"), 1812);
    assert_eq!(c.error("ALTER TABLE l IMPORT TABLESPACE"), 1813);
    c.run("DROP TABLE t");
    c.run("CREATE TABLE t (a INT)");
    assert_eq!(
        c.error("ALTER TABLE t DISCARD TABLESPACE, ADD COLUMN b INT"),
        1064
    );
    assert_eq!(
        c.error("ALTER TABLE t ADD COLUMN b INT, IMPORT TABLESPACE"),
        1064
    );
    assert_eq!(c.error("ALTER TABLE v DISCARD TABLESPACE"), 1347);
    assert_eq!(c.error("ALTER TABLE mysql.user DISCARD TABLESPACE"), 1235);
    c.run("CREATE TEMPORARY TABLE p (a INT)");
    assert_eq!(c.error("ALTER TABLE p DISCARD TABLESPACE"), 3007);
    assert_eq!(c.error("FLUSH TABLES p FOR EXPORT"), 1146);
    assert_eq!(c.error("FLUSH TABLES v FOR EXPORT"), 1347);
    assert_eq!(c.error("FLUSH TABLES nothing FOR EXPORT"), 1146);
    assert_eq!(c.error("FLUSH TABLES FOR EXPORT"), 1064);
}

#[test]
fn the_state_outlives_a_start() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (a INT PRIMARY KEY)");
    c.run("ALTER TABLE t DISCARD TABLESPACE");
    drop(c);
    block_on(s.engine().close()).expect("closed");
    let s = server_on(disk);
    let mut c = Client::in_test(&s);
    assert_eq!(c.error("SELECT * FROM t"), 1814);
    assert_eq!(c.rows("SHOW TABLES").len(), 1);
}

#[test]
fn a_parent_is_not_discarded_while_foreign_keys_are_looked_at() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE p (a INT PRIMARY KEY)");
    c.run("CREATE TABLE c (a INT, FOREIGN KEY (a) REFERENCES p (a))");
    c.run("CREATE TABLE me (a INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES me (a))");
    assert_eq!(c.error("ALTER TABLE p DISCARD TABLESPACE"), 1451);
    c.run("ALTER TABLE me DISCARD TABLESPACE");
    c.run("ALTER TABLE c DISCARD TABLESPACE");
    c.run("INSERT INTO p VALUES (1)");
    // A child without rows keeps nobody.
    c.run("DELETE FROM p");
    c.run("SET foreign_key_checks = 0");
    c.run("ALTER TABLE p DISCARD TABLESPACE");
    c.run("SET foreign_key_checks = 1");
    assert_eq!(c.error("INSERT INTO p VALUES (1)"), 1814);
}

#[test]
fn an_exported_table_is_locked_until_it_is_unlocked() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let (mut c, mut other) = (Client::in_test(&s), Client::in_test(&s));
    c.run("CREATE TABLE t (a INT PRIMARY KEY)");
    c.run("CREATE TABLE u (a INT PRIMARY KEY)");
    c.run("INSERT INTO t VALUES (1)");
    other.run("SET lock_wait_timeout = 1");
    let described = || disk.exists(&path("t", "cfg"));
    c.run("FLUSH TABLES t, u FOR EXPORT");
    assert!(described() && disk.exists(&path("u", "cfg")));
    assert_eq!(c.one("SELECT a FROM t"), "1");
    assert_eq!(other.one("SELECT a FROM t"), "1");
    assert_eq!(other.error("INSERT INTO t VALUES (2)"), 1205);
    assert_eq!(other.error("ALTER TABLE t DISCARD TABLESPACE"), 1205);
    assert_eq!(c.error("INSERT INTO t VALUES (2)"), 1099);
    assert_eq!(c.error("ALTER TABLE t DISCARD TABLESPACE"), 1099);
    assert_eq!(c.error("FLUSH TABLES u FOR EXPORT"), 1192);
    c.run("UNLOCK TABLES");
    assert!(!described() && !disk.exists(&path("u", "cfg")));
    other.run("INSERT INTO t VALUES (2)");
    // As with LOCK TABLES: another transaction ends it, and so does the connection's end.
    c.run("FLUSH TABLES t FOR EXPORT");
    c.run("START TRANSACTION");
    assert!(!described());
    c.run("ROLLBACK");
    c.run("FLUSH TABLES t FOR EXPORT");
    drop(c);
    assert!(!described());
    other.run("INSERT INTO t VALUES (3)");
    // Who has it locked for writing imports and discards under his lock.
    other.run("LOCK TABLES t WRITE");
    other.run("ALTER TABLE t DISCARD TABLESPACE");
    assert_eq!(other.error("SELECT * FROM t"), 1814);
    assert_eq!(other.error("ALTER TABLE t IMPORT TABLESPACE"), 1812);
    other.run("UNLOCK TABLES");
}

#[test]
fn rows_that_are_none_of_the_table_are_refused() {
    let mut t = two();
    t.from
        .run("CREATE TABLE t (a INT PRIMARY KEY, s VARCHAR(10), n ENUM('x','y') NOT NULL, j JSON)");
    t.from
        .run("INSERT INTO t VALUES (1, 'words-of-t', 'y', '{\"k\": 1}')");
    let create = t.from.rows("SHOW CREATE TABLE t")[0][1].clone();
    t.to.run(&create);
    t.to.run("ALTER TABLE t DISCARD TABLESPACE");
    t.from.run("FLUSH TABLES t FOR EXPORT");
    for (was, is) in [
        (&b"words-of-t"[..], &b"words\xFFof-t"[..]),
        (b"{\"k\": 1}", b"{\"k\": 1]"),
        // The ENUM's number stands behind the four bytes of the key.
        (b"\x01\0\0\0\x02", b"\x01\0\0\0\x03"),
    ] {
        t.copy("t");
        t.disks[1].damage(&path("t", "import"), |file| {
            let at = file.windows(was.len()).rposition(|w| w == was);
            let at = at.unwrap_or_else(|| panic!("{}", was.escape_ascii()));
            file[at..at + is.len()].copy_from_slice(is);
            let page = at / 16384 * 16384;
            let crc = base::checksum::crc32c(&file[page + 4..page + 16384]);
            file[page..page + 4].copy_from_slice(&crc.to_le_bytes());
        });
        let e = t.to.try_all("ALTER TABLE t IMPORT TABLESPACE").unwrap_err();
        assert!(e.code == 1815 && e.message.contains("no value"), "{e:?}");
        assert_eq!(t.to.error("SELECT * FROM t"), 1814);
    }
    t.copy("t");
    t.to.run("ALTER TABLE t IMPORT TABLESPACE");
    assert_eq!(t.to.rows("SELECT * FROM t").len(), 1);
}

#[test]
fn what_it_takes_is_the_right_to_alter() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (a INT)");
    c.run("CREATE USER u");
    c.run("GRANT ALTER ON test.t TO u");
    let mut u = Client::of(&s, "u");
    u.run("ALTER TABLE test.t DISCARD TABLESPACE");
    assert_eq!(u.error("FLUSH TABLES test.t FOR EXPORT"), 1044);
    c.run("REVOKE ALTER ON test.t FROM u");
    assert_eq!(u.error("ALTER TABLE test.t IMPORT TABLESPACE"), 1142);
}
