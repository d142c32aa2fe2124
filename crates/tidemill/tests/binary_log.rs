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
    assert_eq!(code(rows(&c, "RESET MASTER TO 5")), Some(1186));
    c.execute("RESET MASTER", ())?;
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

const PAYLOAD: &str = "Transaction_payload";

#[test]
fn what_is_compressed_is_shown_and_counted() -> Result<(), Error> {
    let dir = Dir::new("binlog-compressed");
    let database = open(&dir)?;
    let c = database.connect()?;
    let stats = "performance_schema.binary_log_transaction_compression_stats";
    let counted = format!("SELECT * FROM {stats}");
    assert!(rows(&c, &counted)?.is_empty());
    c.execute_batch("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, s TEXT)")?;
    c.execute("SET GLOBAL binlog_transaction_compression = ON", ())?;
    // Of sessions that begin from then on.
    let new = database.connect()?;
    new.execute("INSERT INTO d.t VALUES (1, REPEAT('x', 9000))", ())?;
    c.execute("INSERT INTO d.t VALUES (2, 'y')", ())?;
    let events = rows(&c, "SHOW BINLOG EVENTS")?;
    let kinds: Vec<String> = events
        .iter()
        .map(|r| r.get::<String>("Event_type"))
        .collect::<Result<_, _>>()?;
    let transaction = ["Query", "Table_map", "Write_rows", "Xid"];
    let payload = kinds.iter().position(|k| k == PAYLOAD).expect("a payload");
    assert_eq!(kinds[payload - 1], "Gtid");
    assert_eq!(kinds[payload + 1..payload + 5], transaction);
    assert_eq!(kinds[payload + 5], "Gtid");
    assert_eq!(kinds[payload + 6..], transaction);
    let info = events[payload].get::<String>("Info")?;
    let size = info
        .strip_prefix("compression='ZSTD', decompressed_size=")
        .and_then(|s| s.strip_suffix(" bytes"));
    let size: u64 = size.and_then(|s| s.parse().ok()).expect("a size");
    assert!((9000..9300).contains(&size), "{info}");
    let (at, end) = (
        events[payload].get::<u64>("Pos")?,
        events[payload].get::<u64>("End_log_pos")?,
    );
    assert!(end - at < 300);
    for e in &events[payload + 1..payload + 5] {
        // They are nowhere but in it.
        let places = (e.get::<u64>("Pos")?, e.get::<u64>("End_log_pos")?);
        assert_eq!(places, (end, end));
    }
    assert_eq!(events[payload + 1].get::<String>("Info")?, "BEGIN");
    // Each counts as a row.
    let (from, n) = (events[payload - 1].get::<u64>("Pos")?, events.len());
    let asked = |limit: &str| format!("SHOW BINLOG EVENTS FROM {from} LIMIT {limit}");
    for (limit, first, rest) in [
        ("3", payload - 1, 3),
        ("2, 2", payload + 1, 2),
        ("4, 3", payload + 3, 3),
        ("1, 100", payload, n - payload),
    ] {
        let some = rows(&c, &asked(limit))?;
        let infos = |all: &[Row]| -> Result<Vec<String>, Error> {
            all.iter().map(|r| r.get::<String>("Info")).collect()
        };
        assert_eq!(
            infos(&some)?,
            infos(&events[first..first + rest])?,
            "{limit}"
        );
    }
    let amiss = format!("SHOW BINLOG EVENTS FROM {}", at + 1);
    assert_eq!(code(rows(&c, &amiss)), Some(1220));
    // What was written: two definitions and a transaction, and one that is compressed.
    let all = rows(&c, &counted)?;
    assert_eq!(all.len(), 2);
    let (zstd, none) = (&all[0], &all[1]);
    let uuid = text(&c, "SELECT @@server_uuid")?;
    for (row, how, count, first, last) in [(zstd, "ZSTD", 1, 3, 3), (none, "NONE", 3, 1, 4)] {
        assert_eq!(row.get::<String>("LOG_TYPE")?, "BINARY");
        assert_eq!(row.get::<String>("COMPRESSION_TYPE")?, how);
        assert_eq!(row.get::<u64>("TRANSACTION_COUNTER")?, count);
        let names = (
            row.get::<String>("FIRST_TRANSACTION_ID")?,
            row.get::<String>("LAST_TRANSACTION_ID")?,
        );
        assert_eq!(names, (format!("{uuid}:{first}"), format!("{uuid}:{last}")));
    }
    assert_eq!(zstd.get::<u64>("UNCOMPRESSED_BYTES_COUNTER")?, size);
    let small = zstd.get::<u64>("COMPRESSED_BYTES_COUNTER")?;
    assert!(small > 0 && small < end - at);
    assert_eq!(zstd.get::<u64>("LAST_TRANSACTION_COMPRESSED_BYTES")?, small);
    let percent = (100.0 * (1.0 - small as f64 / size as f64)).round() as i64;
    assert_eq!(zstd.get::<i64>("COMPRESSION_PERCENTAGE")?, percent);
    assert_eq!(none.get::<i64>("COMPRESSION_PERCENTAGE")?, 0);
    let now = format!(
        "SELECT COUNT(*) FROM {stats} WHERE LAST_TRANSACTION_TIMESTAMP > NOW() - INTERVAL 1 HOUR \
         AND FIRST_TRANSACTION_TIMESTAMP <= LAST_TRANSACTION_TIMESTAMP"
    );
    assert_eq!(text(&c, &now)?, "2");
    Ok(())
}

#[test]
fn what_is_compressed_is_the_same_after_a_crash() -> Result<(), Error> {
    let (dir, crashed) = (Dir::new("binlog-packed"), Dir::new("binlog-packed-2"));
    let database = open(&dir)?;
    let c = database.connect()?;
    c.execute_batch("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, s TEXT)")?;
    for n in 10..60 {
        let on = if n % 3 == 0 { "ON" } else { "OFF" };
        c.execute(&format!("SET binlog_transaction_compression = {on}"), ())?;
        c.execute(
            &format!("INSERT INTO d.t VALUES ({n}, REPEAT(UUID(), {n}))"),
            (),
        )?;
    }
    let end = rows(&c, "SHOW MASTER STATUS")?[0].get::<u64>(1)? as usize;
    copied(&dir.0, &crashed.0).expect("a copy");
    let file = |dir: &Dir| std::fs::read(dir.0.join("binlog.000001")).expect("a file");
    let before = file(&dir);
    let after = open(&crashed)?;
    let c = after.connect()?;
    assert!(!text(&c, "SELECT @@gtid_executed")?.is_empty());
    // But for the flag of a file in use.
    let clear = |mut bytes: Vec<u8>| {
        bytes[21] = 0;
        bytes.truncate(end);
        bytes
    };
    assert_eq!(before.len(), end);
    assert!(clear(file(&crashed)) == clear(before));
    // What a start makes again was not written since.
    let counted = "SELECT * FROM performance_schema.binary_log_transaction_compression_stats";
    assert!(rows(&c, counted)?.is_empty());
    Ok(())
}
