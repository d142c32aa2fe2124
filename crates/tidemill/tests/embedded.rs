//! The embedded library from outside: what a program sees.

use std::path::PathBuf;

use tidemill::{Database, Durability, Error, ErrorKind, FlushMethod, OpenOptions, Row};

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

fn small() -> OpenOptions {
    OpenOptions::new()
        .buffer_pool_size(16 << 20)
        .redo_log_capacity(64 << 20)
}

const SETUP: &str = "CREATE DATABASE d; USE d; \
     CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), amount DECIMAL(8,2), data VARBINARY(9))";

#[test]
fn rows_come_back_after_closing() -> Result<(), Error> {
    let dir = Dir::new("reopen");
    let database = small().open(&dir.0)?;
    let connection = database.connect()?;
    connection.execute_batch(SETUP)?;
    let done = connection.execute(
        "INSERT INTO t (name, amount, data) VALUES (?, ?, ?), (?, NULL, NULL)",
        ("rope", "12.50", b"\x00\xFF".as_slice(), None::<String>),
    )?;
    assert_eq!((done.affected_rows, done.last_insert_id), (2, 1));
    drop(connection);
    database.close()?;

    let database = small().open(&dir.0)?;
    let connection = database.connect()?;
    let rows: Vec<Row> = connection
        .query("SELECT * FROM d.t ORDER BY id", ())?
        .collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].columns(), ["id", "name", "amount", "data"]);
    assert_eq!(rows[0].get::<i32>("ID")?, 1);
    assert_eq!(rows[0].get::<String>("amount")?, "12.50");
    assert_eq!(rows[0].get::<Vec<u8>>(3)?, [0, 0xFF]);
    assert_eq!(rows[1].get::<Option<String>>("name")?, None);
    Ok(())
}

#[test]
fn a_dropped_transaction_is_undone() -> Result<(), Error> {
    let dir = Dir::new("transaction");
    let database = small().open(&dir.0)?;
    let connection = database.connect()?;
    connection.execute_batch(SETUP)?;
    let count = |connection: &tidemill::Connection| -> Result<i64, Error> {
        let row = connection.query_row("SELECT COUNT(*) FROM t", ())?;
        row.map_or(Ok(-1), |row| row.get(0))
    };
    {
        let transaction = connection.transaction()?;
        let insert = transaction.prepare("INSERT INTO t (name) VALUES (?)")?;
        for name in ["a", "b", "c"] {
            insert.execute((name,))?;
        }
        assert_eq!(count(&transaction)?, 3);
        let nested = transaction.transaction();
        assert_eq!(nested.err().map(|e| e.kind()), Some(ErrorKind::Usage));
    }
    assert_eq!(count(&connection)?, 0);
    let transaction = connection.transaction()?;
    transaction.execute("INSERT INTO t (name) VALUES ('d')", ())?;
    transaction.commit()?;
    assert_eq!(count(&connection)?, 1);
    Ok(())
}

#[test]
fn errors_are_mysqls() -> Result<(), Error> {
    let dir = Dir::new("errors");
    let database = small().open(&dir.0)?;
    let connection = database.connect()?;
    connection.execute_batch(SETUP)?;
    connection.execute("INSERT INTO t (id) VALUES (7)", ())?;
    let e = connection
        .execute("INSERT INTO t (id) VALUES (?)", (7,))
        .unwrap_err();
    assert_eq!(
        (e.code(), e.sqlstate(), e.kind()),
        (1062, "23000", ErrorKind::Sql)
    );
    let e = connection.query("SELECT nothing FROM t", ()).unwrap_err();
    assert_eq!(e.code(), 1054);
    let e = connection.execute("SELEC 1", ()).unwrap_err();
    assert_eq!(e.code(), 1064);
    let e = connection
        .execute("INSERT INTO t (id) VALUES (?)", (1, 2))
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Usage);
    Ok(())
}

#[test]
fn options_are_in_force_and_shown() -> Result<(), Error> {
    let dir = Dir::new("options");
    for (name, value) in [("no_such_variable", "1"), ("innodb-doublewrite", "0")] {
        let e = small().variable(name, value).open(&dir.0).err();
        assert_eq!(e.map(|e| e.kind()), Some(ErrorKind::Open), "{name}");
    }
    let database = small()
        .durability(Durability::Written)
        .flush_method(FlushMethod::Fsync)
        .variable("sql_mode", "ANSI_QUOTES")
        .open(&dir.0)?;
    let connection = database.connect()?;
    let row = connection.query_row(
        "SELECT @@innodb_buffer_pool_size, @@innodb_flush_log_at_trx_commit, @@innodb_flush_method, @@sql_mode, @@version",
        (),
    )?;
    let row = row.expect("a row");
    assert_eq!(row.get::<u64>(0)?, 16 << 20);
    assert_eq!(row.get::<u64>(1)?, 2);
    assert_eq!(row.get::<String>(2)?, "fsync");
    assert_eq!(row.get::<String>(3)?, "ANSI_QUOTES");
    assert!(row.get::<String>(4)?.ends_with("tidemill"));
    Ok(())
}

#[test]
fn rows_are_handed_on_one_by_one() -> Result<(), Error> {
    let dir = Dir::new("each");
    let database = small().open(&dir.0)?;
    let connection = database.connect()?;
    connection.execute_batch(SETUP)?;
    let transaction = connection.transaction()?;
    let insert = transaction.prepare("INSERT INTO t (id) VALUES (?)")?;
    for id in 1..=1000 {
        insert.execute((id,))?;
    }
    drop(insert);
    transaction.commit()?;
    let mut sum = 0;
    connection.for_each("SELECT id FROM t", (), |row| {
        sum += row.get::<i64>(0)?;
        Ok(())
    })?;
    assert_eq!(sum, 500_500);
    let mut seen = 0;
    let stopped = connection.for_each("SELECT id FROM t WHERE id > ?", (0,), |row| {
        seen += 1;
        row.get::<String>("no such column").map(drop)
    });
    assert_eq!(stopped.map_err(|e| e.kind()), Err(ErrorKind::Value));
    assert_eq!(seen, 1);
    assert_eq!(connection.query("SELECT 1", ())?.len(), 1);
    Ok(())
}

#[test]
fn one_owner_and_close() -> Result<(), Error> {
    let dir = Dir::new("owner");
    let database = small().open(&dir.0)?;
    let second = Database::open(&dir.0).err();
    assert_eq!(second.map(|e| e.kind()), Some(ErrorKind::InUse));
    let connection = database.connect()?;
    let early = database.clone().close();
    assert_eq!(early.map_err(|e| e.kind()), Err(ErrorKind::Usage));
    drop(connection);
    database.close()?;
    small().open(&dir.0)?.close()
}

#[test]
fn a_lost_transaction_says_so() -> Result<(), Error> {
    let dir = Dir::new("conflict");
    let database = small().open(&dir.0)?;
    let (one, other) = (database.connect()?, database.connect()?);
    one.execute_batch(SETUP)?;
    one.execute_batch("INSERT INTO t (id, name) VALUES (1, 'a')")?;
    one.execute("SET innodb_snapshot_isolation = ON", ())?;
    let transaction = one.transaction()?;
    transaction.query("SELECT * FROM t", ())?;
    other.execute("UPDATE d.t SET name = 'b' WHERE id = 1", ())?;
    let e = transaction
        .execute("UPDATE t SET name = 'c' WHERE id = 1", ())
        .unwrap_err();
    assert_eq!((e.code(), e.is_retryable()), (1213, true));
    // Nothing runs outside of the transaction by mistake.
    let e = transaction
        .execute("INSERT INTO t (id) VALUES (2)", ())
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Usage);
    drop(transaction);
    assert_eq!(
        one.execute("UPDATE t SET name = 'c' WHERE id = 1", ())?
            .affected_rows,
        1
    );
    Ok(())
}

#[test]
fn a_table_without_its_file_says_so_until_it_is_dropped() -> Result<(), Error> {
    let dir = Dir::new("lost");
    let database = small().open(&dir.0)?;
    database.connect()?.execute_batch(SETUP)?;
    database.close()?;
    std::fs::remove_file(dir.0.join("data/d/t.tdb")).expect("the table's file");

    let database = small().open(&dir.0)?;
    let connection = database.connect()?;
    for sql in [
        "SELECT * FROM d.t",
        "UPDATE d.t SET name = ''",
        "INSERT INTO d.t (name) VALUES ('x')",
        "CREATE INDEX n ON d.t (name)",
    ] {
        let e = connection.execute(sql, ()).expect_err(sql);
        assert_eq!(e.code(), 1712, "{sql}: {e}");
        assert!(e.to_string().contains("d.t"), "{e}");
    }
    connection.execute_batch("DROP TABLE d.t; USE d; CREATE TABLE t (id INT PRIMARY KEY)")?;
    assert_eq!(connection.query("SELECT * FROM t", ())?.count(), 0);
    Ok(())
}

#[test]
fn named_locks_are_those_of_one_database() -> Result<(), Error> {
    let (one, other) = (Dir::new("locks-one"), Dir::new("locks-other"));
    let (one, other) = (small().open(&one.0)?, small().open(&other.0)?);
    let taken = |database: &Database| -> Result<(tidemill::Connection, i64), Error> {
        let connection = database.connect()?;
        let row = connection.query_row("SELECT GET_LOCK('job', 0)", ())?;
        let taken = row.map_or(Ok(-1), |row| row.get(0))?;
        Ok((connection, taken))
    };
    let (holder, first) = taken(&one)?;
    let (_waiter, second) = taken(&one)?;
    let (_elsewhere, third) = taken(&other)?;
    assert_eq!((first, second, third), (1, 0, 1));
    drop(holder);
    assert_eq!(taken(&one)?.1, 1, "the end of a connection frees its locks");
    Ok(())
}

/// Who touches a row excludes others until his transaction ends, whichever call he uses.
#[test]
fn a_row_that_is_touched_is_locked() -> Result<(), Error> {
    let dir = Dir::new("touched");
    let db = small().open(&dir.0)?;
    let (a, b) = (db.connect()?, db.connect()?);
    a.execute_batch(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); INSERT INTO d.t VALUES (1, 5), (2, 6)",
    )?;
    let locked = |id: i64| {
        let sql = "SELECT v FROM d.t WHERE id = ? FOR UPDATE NOWAIT";
        b.query_row(sql, (id,)).err().map(|e| e.code())
    };
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
        a.execute(&set, ())?;
        let touch = a.prepare("UPDATE d.t SET v = v WHERE id = ?")?;
        for prepared in [false, true] {
            let t = a.transaction()?;
            let touched = match prepared {
                true => touch.execute((1i64,))?,
                false => t.execute("UPDATE d.t SET v = v WHERE id = 1", ())?,
            };
            assert_eq!(touched.affected_rows, 0, "{level}");
            assert_eq!((locked(1), locked(2)), (Some(3572), None), "{level}");
            t.commit()?;
            assert_eq!(locked(1), None, "{level}");
        }
    }
    drop((a, b));
    db.close()
}
