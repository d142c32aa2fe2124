//! The binary log from outside: what statements say of it.

use std::path::PathBuf;

use tidemill::{Connection, Database, Error, OpenOptions, Row};

/// A directory that goes when it is dropped.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("tidemill-{name}-{}", std::process::id()));
        let _old = std::fs::remove_dir_all(&path);
        Dir(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

fn open(dir: &Dir) -> Result<Database, Error> {
    OpenOptions::new()
        .buffer_pool_size(16 << 20)
        .redo_log_capacity(64 << 20)
        .variable("gtid_mode", "ON")
        .binary_log("", "")
        .open(&dir.0)
}

fn text(c: &Connection, sql: &str) -> Result<String, Error> {
    let row = c.query_row(sql, ())?;
    row.map_or(Ok(String::new()), |r| r.get::<String>(0))
}

fn rows(c: &Connection, sql: &str) -> Result<Vec<Row>, Error> {
    Ok(c.query(sql, ())?.collect())
}

fn code(r: Result<Vec<Row>, Error>) -> Option<u16> {
    r.err().map(|e| e.code())
}

#[test]
fn a_commit_is_in_the_set_of_what_was_done() -> Result<(), Error> {
    let dir = Dir::new("binlog-gtids");
    let database = open(&dir)?;
    let c = database.connect()?;
    c.execute_batch("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    let uuid = text(&c, "SELECT @@server_uuid")?;
    for n in 1..=60 {
        c.execute(&format!("INSERT INTO d.t VALUES ({n})"), ())?;
        let expected = format!("{uuid}:1-{}", n + 2);
        // Each way to read it waits for what was committed.
        let shown = match n % 4 {
            0 => text(&c, "SELECT @@gtid_executed")?,
            1 => text(&c, "SELECT CONCAT('', @@GLOBAL.gtid_executed)")?,
            2 => {
                c.execute("SET @a = @@GLOBAL.gtid_executed", ())?;
                text(&c, "SELECT @a")?
            }
            _ => {
                let r = rows(&c, "SHOW VARIABLES LIKE 'gtid_executed'")?;
                r[0].get::<String>(1)?
            }
        };
        assert_eq!(shown, expected);
    }
    let done = "SELECT WAIT_FOR_EXECUTED_GTID_SET(@@gtid_executed, 5)";
    assert_eq!(text(&c, done)?, "0");
    let not_done = "SELECT WAIT_FOR_EXECUTED_GTID_SET(CONCAT(@@server_uuid, ':99'), 0.05)";
    assert_eq!(text(&c, not_done)?, "1");
    drop(c);
    database.close()?;
    // They are there after a start, and the count goes on.
    let database = open(&dir)?;
    let c = database.connect()?;
    assert_eq!(text(&c, "SELECT @@gtid_executed")?, format!("{uuid}:1-62"));
    c.execute("DELETE FROM d.t WHERE id = 1", ())?;
    assert_eq!(text(&c, "SELECT @@gtid_executed")?, format!("{uuid}:1-63"));
    Ok(())
}

#[test]
fn files_are_shown_flushed_and_purged() -> Result<(), Error> {
    let dir = Dir::new("binlog-files");
    let database = open(&dir)?;
    let c = database.connect()?;
    assert_eq!(text(&c, "SELECT @@log_bin")?, "1");
    c.execute_batch("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    c.execute("INSERT INTO d.t VALUES (1)", ())?;
    let events = rows(&c, "SHOW BINLOG EVENTS")?;
    let kinds: Vec<String> = events
        .iter()
        .map(|r| r.get::<String>("Event_type"))
        .collect::<Result<_, _>>()?;
    assert_eq!(
        kinds,
        [
            "Format_desc",
            "Previous_gtids",
            "Gtid",
            "Query",
            "Gtid",
            "Query",
            "Gtid",
            "Query",
            "Table_map",
            "Write_rows",
            "Xid"
        ]
    );
    let from = events[2].get::<u64>("Pos")?;
    let some = rows(
        &c,
        &format!("SHOW BINLOG EVENTS IN 'binlog.000001' FROM {from} LIMIT 1, 2"),
    )?;
    assert_eq!(some.len(), 2);
    assert_eq!(some[0].get::<u64>("Pos")?, events[3].get::<u64>("Pos")?);
    let amiss = format!("SHOW BINLOG EVENTS FROM {}", from + 1);
    assert_eq!(code(rows(&c, &amiss)), Some(1220));
    assert_eq!(code(rows(&c, "SHOW BINLOG EVENTS IN 'x'")), Some(1220));
    c.execute("FLUSH BINARY LOGS", ())?;
    c.execute("FLUSH LOGS", ())?;
    assert_eq!(rows(&c, "SHOW BINARY LOGS")?.len(), 3);
    assert_eq!(text(&c, "SHOW MASTER STATUS")?, "binlog.000003");
    assert_eq!(
        code(rows(&c, "PURGE BINARY LOGS TO 'binlog.000009'")),
        Some(1373)
    );
    c.execute("PURGE BINARY LOGS BEFORE '2001-01-01'", ())?;
    assert_eq!(rows(&c, "SHOW BINARY LOGS")?.len(), 3);
    c.execute("PURGE BINARY LOGS TO 'binlog.000002'", ())?;
    assert_eq!(rows(&c, "SHOW BINARY LOGS")?.len(), 2);
    let uuid = text(&c, "SELECT @@server_uuid")?;
    assert_eq!(text(&c, "SELECT @@gtid_purged")?, format!("{uuid}:1-3"));
    c.execute("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY", ())?;
    assert_eq!(rows(&c, "SHOW BINARY LOGS")?.len(), 1);
    let sets = "SET GLOBAL gtid_purged = '+00000000-0000-0000-0000-000000000001:1-5'";
    c.execute(sets, ())?;
    assert_eq!(code(rows(&c, sets)), Some(3546));
    assert_eq!(code(rows(&c, "SET GLOBAL gtid_purged = 'x'")), Some(1772));
    assert!(text(&c, "SELECT @@gtid_executed")?.contains("000000000001:1-5"));
    c.execute("RESET MASTER", ())?;
    assert_eq!(text(&c, "SHOW MASTER STATUS")?, "binlog.000001");
    assert_eq!(text(&c, "SELECT @@gtid_executed")?, "");
    assert_eq!(code(rows(&c, "SET GLOBAL gtid_mode = OFF")), Some(1788));
    c.execute("SET GLOBAL gtid_mode = ON_PERMISSIVE", ())?;
    Ok(())
}

#[test]
fn sets_of_transactions_are_compared() -> Result<(), Error> {
    let dir = Dir::new("binlog-none");
    let database = OpenOptions::new().buffer_pool_size(16 << 20).open(&dir.0)?;
    let c = database.connect()?;
    let (a, b) = (
        "3e11fa47-71ca-11e1-9e33-c80aa9429562",
        "4350f323-7565-4e59-8763-4b1b83a0ce0e",
    );
    for (sql, expected) in [
        (format!("SELECT GTID_SUBSET('{a}:23', '{a}:21-57')"), "1"),
        (format!("SELECT GTID_SUBSET('{a}:23-58', '{a}:21-57')"), "0"),
        ("SELECT GTID_SUBSET('', '')".to_owned(), "1"),
        (
            format!("SELECT GTID_SUBTRACT('{a}:1-5,{b}:3', '{a}:2-3,{b}:3') = '{a}:1:4-5'"),
            "1",
        ),
        ("SELECT GTID_SUBSET(NULL, '') IS NULL".to_owned(), "1"),
    ] {
        assert_eq!(text(&c, &sql)?, expected, "{sql}");
    }
    assert_eq!(code(rows(&c, "SELECT GTID_SUBSET('a', '')")), Some(1772));
    // Without a binary log.
    assert_eq!(code(rows(&c, "SHOW BINARY LOGS")), Some(1381));
    assert!(rows(&c, "SHOW MASTER STATUS")?.is_empty());
    assert_eq!(code(rows(&c, "RESET MASTER")), Some(1186));
    c.execute("FLUSH BINARY LOGS", ())?;
    c.execute("PURGE BINARY LOGS TO 'x'", ())?;
    Ok(())
}

/// What a crash would leave of a directory at this moment.
fn copied(from: &std::path::Path, to: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copied(&path, &to)?,
            // What goes meanwhile is not there after the crash.
            false => match std::fs::copy(path, to) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
                _ => {}
            },
        }
    }
    Ok(())
}

#[test]
fn what_was_committed_before_a_crash_is_in_the_set_at_once() -> Result<(), Error> {
    let (dir, crashed) = (Dir::new("binlog-before"), Dir::new("binlog-after"));
    let database = open(&dir)?;
    let c = database.connect()?;
    c.execute_batch("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, b LONGBLOB)")?;
    // More than the files' task reads before the first question is answered.
    c.execute("INSERT INTO d.t VALUES (1, REPEAT('x', 10000000))", ())?;
    let (set, at) = (
        text(&c, "SELECT @@gtid_executed")?,
        rows(&c, "SHOW MASTER STATUS")?[0].get::<u64>(1)?,
    );
    copied(&dir.0, &crashed.0).expect("a copy");
    let after = open(&crashed)?;
    let c = after.connect()?;
    assert_eq!(text(&c, "SELECT @@gtid_executed")?, set);
    let sizes: Vec<u64> = rows(&c, "SHOW BINARY LOGS")?
        .iter()
        .map(|r| r.get::<u64>(1))
        .collect::<Result<_, _>>()?;
    // The file of before is whole, and has got the event that names the next.
    assert_eq!(sizes.len(), 2);
    assert!(sizes[0] > at);
    Ok(())
}
