//! Backups of a server that goes on, and what comes of them: a directory, a replica; and whom the statements are refused.

use super::{LONGEST, Program};
use harness::client::{Conn, Fault};
use harness::server::{Server, Setup};
use harness::step::{self, Outcome};
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn tidemill() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tidemill"))
}

/// Runs the program and gives what it said; `Err` if it ended with another status than was to be expected.
pub(super) fn run(arguments: &[&str], succeeds: bool) -> Outcome<String> {
    let said = step::quietly_within(tidemill().args(arguments), LONGEST)?;
    match said.success == succeeds {
        true => Ok(said.text),
        false => Err(format!(
            "tidemill {arguments:?}: success {}\n{}",
            said.success, said.text
        )),
    }
}

pub(super) fn text(path: &Path) -> String {
    path.display().to_string()
}

pub(super) fn ask(conn: &mut dyn Conn, sql: &str) -> Outcome<Vec<Vec<String>>> {
    conn.run(sql).map_err(|e| format!("{sql}: {e}"))
}

pub(super) fn one(conn: &mut dyn Conn, sql: &str) -> Outcome<String> {
    let rows = ask(conn, sql)?;
    let cell = rows.first().and_then(|r| r.first());
    cell.cloned().ok_or_else(|| format!("{sql}: no row"))
}

pub(super) fn number(conn: &mut dyn Conn, sql: &str) -> Outcome<u64> {
    one(conn, sql)?
        .parse()
        .map_err(|_| format!("{sql}: no number"))
}

/// Whether a program succeeds that is given these bytes.
fn fed(command: &mut Command, bytes: &[u8]) -> Outcome<bool> {
    let child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|e| e.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        // It may have ended before it took all.
        let _ = input.write_all(bytes);
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    Ok(status.success())
}

/// Another server of the same options, on a directory of its own below `dir`.
pub(super) fn beside(of: &Setup, dir: &Path, name: &str) -> Outcome<Setup> {
    let below = dir.join(name);
    std::fs::create_dir_all(&below).map_err(|e| e.to_string())?;
    let mut setup = Setup::tidemill(Path::new(env!("CARGO_BIN_EXE_tidemill")), &below)?;
    for option in of.options() {
        setup = setup.option(option.trim_start_matches("--"));
    }
    Ok(setup)
}

/// Somebody who inserts row after row, each a transaction of its own, until told to stop.
pub(super) struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    thread: std::thread::JoinHandle<Outcome<()>>,
}

impl Load {
    pub(super) fn on(server: &Server) -> Outcome<Load> {
        let mut conn = server.connect()?;
        let (stop, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let (stopped, counted) = (stop.clone(), done.clone());
        let thread = std::thread::spawn(move || {
            let mut n = number(&mut *conn, "SELECT COUNT(*) FROM b.t")?;
            while !stopped.load(Ordering::SeqCst) {
                n += 1;
                let sql = format!(
                    "INSERT INTO b.t VALUES ({n}, {}, REPEAT('x', {}))",
                    n % 7,
                    n % 900
                );
                ask(&mut *conn, &sql)?;
                counted.store(n, Ordering::SeqCst);
            }
            Ok(())
        });
        Ok(Load { stop, done, thread })
    }

    pub(super) fn wait_for(&self, more: u64) -> u64 {
        let from = self.done.load(Ordering::SeqCst);
        let until = Instant::now() + Duration::from_secs(60);
        while self.done.load(Ordering::SeqCst) < from + more && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.done.load(Ordering::SeqCst)
    }

    pub(super) fn end(self) -> Outcome<u64> {
        self.stop.store(true, Ordering::SeqCst);
        let ended = self.thread.join();
        ended.map_err(|_| "the load died".to_owned())??;
        Ok(self.done.load(Ordering::SeqCst))
    }
}

/// How many transactions a set of one source names.
pub(super) fn transactions(set: &str) -> Outcome<u64> {
    let last = set.rsplit(['-', ':']).next().and_then(|n| n.parse().ok());
    last.ok_or_else(|| format!("'{set}' is no set of one source"))
}

pub(super) struct Bed {
    pub(super) program: Program,
    pub(super) setup: Setup,
    pub(super) folder: PathBuf,
}

pub(super) fn bed(name: &str) -> Outcome<Bed> {
    let program = Program::new(name)?;
    let folder = program.setup.datadir.with_extension("backups");
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let setup = program
        .setup
        .clone()
        .option("server-id=1")
        .option("log-bin=binlog")
        .option("gtid-mode=ON")
        .option("enforce-gtid-consistency=ON")
        .option(&format!("secure-file-priv={}", folder.display()));
    Ok(Bed {
        program,
        setup,
        folder,
    })
}

pub(super) fn fill(conn: &mut dyn Conn) -> Outcome<()> {
    ask(conn, "CREATE DATABASE b")?;
    ask(
        conn,
        "CREATE TABLE b.t (id INT PRIMARY KEY, k INT, v TEXT, KEY (k))",
    )?;
    ask(
        conn,
        "CREATE TABLE b.c (id INT PRIMARY KEY, v TEXT) ROW_FORMAT=COMPRESSED",
    )?;
    for id in 0..200 {
        ask(
            conn,
            &format!("INSERT INTO b.c VALUES ({id}, REPEAT('compressed', {id}))"),
        )?;
    }
    Ok(())
}

/// What was restored has so many rows, the transactions that it says, and what was there beside; and it stays so.
fn look_at(restored: &Setup, name: &str, said: &str, rows: RangeInclusive<u64>) -> Outcome<()> {
    restored.check_offline()?;
    let set = said.lines().find_map(|l| l.strip_prefix("gtid_executed: "));
    let set = set.ok_or("no gtid_executed")?.to_owned();
    let server = restored.start()?;
    let mut conn = server.connect()?;
    let n = number(&mut *conn, "SELECT COUNT(*) FROM b.t")?;
    let highest = number(&mut *conn, "SELECT MAX(id) FROM b.t")?;
    if n != highest || !rows.contains(&n) {
        return Err(format!("{name}: {n} rows up to {highest}, not {rows:?}"));
    }
    let shown = one(&mut *conn, "SELECT @@global.gtid_executed")?;
    let purged = one(&mut *conn, "SELECT @@global.gtid_purged")?;
    if shown != set || purged != set {
        return Err(format!(
            "{name}: gtid_executed {shown}, gtid_purged {purged}, not {set}"
        ));
    }
    // The schema, two tables, 200 rows of one, and n of the other; then what made and altered tables.
    let also = transactions(&set)? - n;
    let expected = if name == "base" { 203 } else { 206 };
    if also != expected {
        return Err(format!(
            "{name}: {set} with {n} rows: {also} other transactions"
        ));
    }
    let made = ask(&mut *conn, "SHOW TABLES FROM b LIKE 'made'")?.len();
    let sum = number(&mut *conn, "SELECT SUM(LENGTH(v)) FROM b.c")?;
    if made != usize::from(name == "more") || sum != 10 * (199 * 200 / 2) {
        return Err(format!("{name}: {made} tables made, {sum} bytes"));
    }
    if one(&mut *conn, "SELECT @@global.innodb_lock_wait_timeout")? != "33" {
        return Err("what SET PERSIST kept was not taken along".to_owned());
    }
    ask(&mut *conn, "INSERT INTO b.t VALUES (0, 0, 'new')")?;
    drop(conn);
    server.terminate()?;
    // The next start adds nothing to what the binary log has.
    let server = restored.start()?;
    let mut conn = server.connect()?;
    if one(&mut *conn, "SELECT @@global.gtid_purged")? != set {
        return Err("gtid_purged has changed at a start".to_owned());
    }
    drop(conn);
    server.terminate()?;
    Ok(())
}

#[test]
fn what_was_backed_up_is_restored() -> Outcome<()> {
    let bed = bed("backup")?;
    let (setup, folder) = (&bed.setup, &bed.folder);
    let server = setup.start()?;
    let mut conn = server.connect()?;
    fill(&mut *conn)?;
    ask(&mut *conn, "SET PERSIST innodb_lock_wait_timeout = 33")?;
    let load = Load::on(&server)?;
    load.wait_for(300);
    let address = format!("--server={}", setup.socket.display());
    let (base, more) = (folder.join("base"), folder.join("more"));
    let before = load.wait_for(1);
    run(
        &[
            "backup",
            &address,
            &format!("--to={}", text(&base)),
            "--throttle=64",
        ],
        true,
    )?;
    let taken = load.wait_for(0);
    // Definitions change, and some are new.
    ask(&mut *conn, "CREATE TABLE b.made (id INT PRIMARY KEY)")?;
    ask(&mut *conn, "INSERT INTO b.made SELECT id FROM b.c")?;
    ask(&mut *conn, "ALTER TABLE b.c ADD COLUMN w INT DEFAULT 5")?;
    load.wait_for(100);
    let since = format!("--since={}", text(&base));
    run(
        &["backup", &address, &format!("--to={}", text(&more)), &since],
        true,
    )?;
    let last = load.end()?;
    for dir in [&base, &more] {
        let said = run(&["backup", &format!("--verify={}", text(dir))], true)?;
        if !said.contains("gtid_executed: ") || !said.contains("binary log: binlog.") {
            return Err(format!("it does not say where the binary log was:\n{said}"));
        }
    }
    run(
        &["restore", &text(&more), "--datadir=/nowhere/at/all"],
        false,
    )?;
    for (parts, name, low, high) in [
        (vec![text(&base)], "base", before, taken + 1),
        (vec![text(&base), text(&more)], "more", taken + 100, last),
    ] {
        let restored = beside(setup, folder, &format!("restored-{name}"))?;
        let datadir = format!("--datadir={}", restored.datadir.display());
        let mut words: Vec<&str> = vec!["restore"];
        words.extend(parts.iter().map(String::as_str));
        words.push(&datadir);
        let said = run(&words, true)?;
        // A directory that is one is not written to again.
        let again = run(&words, false)?;
        if !again.contains("not empty") {
            return Err(format!("restored over a directory:\n{again}"));
        }
        look_at(&restored, name, &said, low..=high)?;
    }
    drop(conn);
    server.terminate()?;
    drop(bed.program);
    Ok(())
}

pub(super) fn refused(conn: &mut dyn Conn, sql: &str, expected: u16) -> Outcome<()> {
    match conn.run(sql) {
        Err(Fault::Server { code, .. }) if code == expected => Ok(()),
        other => Err(format!("{sql}: {other:?}, not {expected}")),
    }
}

#[test]
fn statements_make_backups_where_they_may() -> Outcome<()> {
    let bed = bed("backup-statement")?;
    let (setup, folder) = (&bed.setup, &bed.folder);
    let server = setup.start()?;
    let mut conn = server.connect()?;
    let c = &mut *conn;
    fill(c)?;
    let inside = |name: &str| folder.join(name);
    ask(
        c,
        &format!("BACKUP SERVER TO '{}' THROTTLE 200", text(&inside("one"))),
    )?;
    run(
        &["backup", &format!("--verify={}", text(&inside("one")))],
        true,
    )?;
    ask(
        c,
        &format!("BACKUP SERVER TO 'two' SINCE '{}'", text(&inside("one"))),
    )?;
    let said = run(
        &["backup", &format!("--verify={}", text(&inside("two")))],
        true,
    )?;
    if !said.contains("what has changed since") {
        return Err(format!("not what has changed: {said}"));
    }
    refused(
        c,
        &format!("BACKUP SERVER TO '{}'", text(&inside("one"))),
        1086,
    )?;
    refused(c, "BACKUP SERVER TO '/tmp/outside-of-it'", 1290)?;
    refused(
        c,
        &format!("BACKUP SERVER TO '{}'", text(&folder.join("../out"))),
        1290,
    )?;
    refused(c, "BACKUP SERVER TO 'three' SINCE 'none'", 13)?;
    refused(c, "BACKUP SERVER TO CLIENT SINCE 'nonsense'", 1525)?;
    refused(
        c,
        "BACKUP SERVER TO CLIENT SINCE '1.00000000000000ff.00000000000000ff.5.1'",
        1815,
    )?;
    refused(c, "BACKUP SERVER TO", 1064)?;
    refused(c, "BACKUP SERVER TO 'x' THROTTLE", 1064)?;
    let clone = beside(setup, folder, "clone")?;
    ask(
        c,
        &format!("CLONE LOCAL DATA DIRECTORY = '{}'", clone.datadir.display()),
    )?;
    refused(
        c,
        &format!("CLONE LOCAL DATA DIRECTORY '{}'", clone.datadir.display()),
        1007,
    )?;
    refused(
        c,
        &format!(
            "CLONE LOCAL DATA DIRECTORY '{}/data/x'",
            setup.datadir.display()
        ),
        1290,
    )?;
    clone.check_offline()?;
    let cloned = clone.start()?;
    let rows = number(&mut *cloned.connect()?, "SELECT COUNT(*) FROM b.c")?;
    cloned.terminate()?;
    if rows != 200 {
        return Err(format!("{rows} rows in the clone"));
    }
    drop(conn);
    server.terminate()?;
    drop(bed.program);
    Ok(())
}

#[test]
fn a_backup_is_for_those_who_may_and_whole_or_none() -> Outcome<()> {
    let bed = bed("backup-whole")?;
    let (setup, folder) = (&bed.setup, &bed.folder);
    let server = setup.start()?;
    let mut conn = server.connect()?;
    let c = &mut *conn;
    fill(c)?;
    let inside = |name: &str| folder.join(name);
    ask(c, "CREATE USER u@localhost IDENTIFIED BY 'p'")?;
    let address = format!("--server={}", setup.socket.display());
    let to = format!("--to={}", text(&inside("five")));
    let said = run(&["backup", &address, "-uu", "-pp", &to], false)?;
    if !said.contains("1227") || inside("five").exists() {
        return Err(format!("somebody without BACKUP_ADMIN: {said}"));
    }
    ask(c, "GRANT BACKUP_ADMIN ON *.* TO u@localhost")?;
    run(&["backup", &address, "-uu", "-pp", &to], true)?;
    // A stream that is cut is no backup, nor is a folder without its manifest.
    let out = tidemill().args(["backup", &address, "--to=-"]).output();
    let stream = out.map_err(|e| e.to_string())?.stdout;
    let restored = folder.join("from-stream");
    for (bytes, whole) in [(&stream[..stream.len() - 1], false), (&stream[..], true)] {
        let _ = std::fs::remove_dir_all(&restored);
        let mut restore = tidemill();
        restore.args(["restore", "-", &format!("--datadir={}", text(&restored))]);
        let done = fed(&mut restore, bytes)?;
        if done != whole {
            return Err(format!("{} of {} bytes: {done}", bytes.len(), stream.len()));
        }
    }
    std::fs::remove_file(inside("five").join("manifest")).map_err(|e| e.to_string())?;
    let said = run(
        &["backup", &format!("--verify={}", text(&inside("five")))],
        false,
    )?;
    if !said.contains("not whole") {
        return Err(format!("a backup without its manifest: {said}"));
    }
    drop(conn);
    server.terminate()?;
    drop(bed.program);
    Ok(())
}

/// A rollback is the last thing in the log, and nobody waits until it is durable. The backup waits for the binary log, which follows what is.
#[test]
fn a_server_that_rests_is_backed_up() -> Outcome<()> {
    let bed = bed("backup-rest")?;
    let setup = bed.setup.option("innodb-flush-log-at-trx-commit=1");
    let server = setup.start()?;
    let mut conn = server.connect()?;
    let c = &mut *conn;
    fill(c)?;
    let address = format!("--server={}", setup.socket.display());
    ask(
        c,
        "INSERT INTO b.t SELECT a.id * 200 + b.id, 0, REPEAT('x', 50) FROM b.c a, b.c b",
    )?;
    let to = format!("--to={}", text(&bed.folder.join("slow")));
    let slow = std::thread::spawn(move || run(&["backup", &address, &to, "--throttle=2"], true));
    let copies =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'BACKUP SERVER%'";
    while !slow.is_finished() && number(c, copies)? == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    for sql in ["BEGIN", "UPDATE b.c SET v = 'x'", "ROLLBACK"] {
        ask(c, sql)?;
    }
    if slow.is_finished() {
        return Err("nothing was written beside the backup".to_owned());
    }
    slow.join().map_err(|_| "the backup panicked")??;
    drop(conn);
    server.terminate()?;
    drop(bed.program);
    Ok(())
}

#[test]
fn a_replica_in_one_command() -> Outcome<()> {
    let bed = bed("backup-replica")?;
    let (setup, folder) = (&bed.setup, &bed.folder);
    let server = setup.start()?;
    let mut conn = server.connect()?;
    fill(&mut *conn)?;
    let load = Load::on(&server)?;
    load.wait_for(200);
    let replica = beside(setup, folder, "replica")?.option("server-id=2");
    let of = format!("--of=127.0.0.1:{}", setup.port);
    let datadir = format!("--datadir={}", replica.datadir.display());
    run(&["replica", &of, "-uroot", &datadir], true)?;
    load.wait_for(200);
    let second = replica.start()?;
    load.wait_for(200);
    let last = load.end()?;
    let set = one(&mut *conn, "SELECT @@global.gtid_executed")?;
    let mut there = second.connect()?;
    let wait = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{set}', 60)");
    let waited = one(&mut *there, &wait)?;
    let n = number(&mut *there, "SELECT COUNT(*) FROM b.t")?;
    if waited != "0" || n != last {
        let status = ask(&mut *there, "SHOW REPLICA STATUS")?;
        return Err(format!(
            "{n} rows, not {last}; waited: {waited}; {status:?}"
        ));
    }
    if one(&mut *there, "SELECT @@global.gtid_executed")? != set {
        return Err("the replica has executed something else".to_owned());
    }
    drop(there);
    second.terminate()?;
    drop(conn);
    server.terminate()?;
    drop(bed.program);
    Ok(())
}

/// A time as the program takes it.
pub(super) fn utc(conn: &mut dyn Conn) -> Outcome<String> {
    one(
        conn,
        "SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%d %H:%i:%s.%f')",
    )
}

#[test]
fn a_point_in_time() -> Outcome<()> {
    let bed = bed("backup-time")?;
    let (setup, folder) = (&bed.setup, &bed.folder);
    let server = setup.start()?;
    let mut conn = server.connect()?;
    let c = &mut *conn;
    fill(c)?;
    let load = Load::on(&server)?;
    load.wait_for(100);
    let address = format!("--server={}", setup.socket.display());
    let base = folder.join("base");
    run(
        &["backup", &address, &format!("--to={}", text(&base))],
        true,
    )?;
    load.wait_for(50);
    ask(c, "FLUSH BINARY LOGS")?;
    ask(c, "ALTER TABLE b.c ADD COLUMN w INT DEFAULT 5")?;
    load.wait_for(50);
    let rows = load.end()?;
    let all = one(c, "SELECT @@global.gtid_executed")?;
    let uuid = one(c, "SELECT @@server_uuid")?;
    let good = transactions(&all)?;
    let before = utc(c)?;
    std::thread::sleep(Duration::from_millis(20));
    // The accident.
    ask(c, "DELETE FROM b.t WHERE id > 10")?;
    ask(c, "DROP TABLE b.c")?;
    let end = transactions(&one(c, "SELECT @@global.gtid_executed")?)?;
    drop(conn);
    server.terminate()?;
    let binlogs = format!("--binlogs={}", setup.datadir.display());
    let until_gtid = format!("--until-gtid={uuid}:{good}");
    let until_time = format!("--until-time={before}");
    for (name, until, count, last) in [
        ("gtid", Some(&until_gtid), rows, good),
        ("time", Some(&until_time), rows, good),
        ("end", None, 10, end),
    ] {
        let restored = beside(setup, folder, &format!("until-{name}"))?;
        let datadir = format!("--datadir={}", restored.datadir.display());
        let from = text(&base);
        let mut words = vec!["restore", from.as_str(), datadir.as_str(), binlogs.as_str()];
        words.extend(until.map(String::as_str));
        run(&words, true)?;
        restored.check_offline()?;
        let server = restored.start()?;
        let mut conn = server.connect()?;
        let c = &mut *conn;
        let n = number(c, "SELECT COUNT(*) FROM b.t")?;
        let columns = number(
            c,
            "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'b' AND table_name = 'c'",
        )?;
        let executed = one(c, "SELECT @@global.gtid_executed")?;
        let expected = if name == "end" { 0 } else { 3 };
        if (n, columns, transactions(&executed)?) != (count, expected, last) {
            return Err(format!(
                "{name}: {n} rows, {columns} columns, {executed}; not {count}, {expected}, 1-{last}"
            ));
        }
        if !ask(c, "SHOW REPLICA STATUS")?.is_empty() {
            return Err("it is a replica".to_owned());
        }
        drop(conn);
        server.terminate()?;
    }
    // What cannot be is refused.
    for (name, until, why) in [
        ("before", format!("--until-gtid={uuid}:5"), "has"),
        (
            "behind",
            format!("--until-gtid={uuid}:{}", end + 5),
            "is not in the files",
        ),
    ] {
        let datadir = format!("--datadir={}", text(&folder.join(name)));
        let said = run(
            &["restore", &text(&base), &datadir, &binlogs, &until],
            false,
        )?;
        if !said.contains(why) {
            return Err(format!("{until}: {said}"));
        }
    }
    let (datadir, none) = (
        format!("--datadir={}", text(&folder.join("gap"))),
        folder.join("none"),
    );
    std::fs::create_dir_all(&none).map_err(|e| e.to_string())?;
    let empty = format!("--binlogs={}", text(&none));
    let said = run(&["restore", &text(&base), &datadir, &empty], false)?;
    if !said.contains("is not among the files") {
        return Err(format!("without files: {said}"));
    }
    drop(bed.program);
    Ok(())
}
