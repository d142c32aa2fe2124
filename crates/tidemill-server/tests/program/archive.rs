//! The archive of the binary log (`log_archive_dir`): what it has when the machine is lost, and what is refused.

use super::backups::{
    Bed, Load, ask, bed, beside, fill, number, one, refused, run, text, transactions, utc,
};
use harness::client::Conn;
use harness::server::{Server, Setup};
use harness::step::Outcome;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The byte of a file of the binary log that says whether it is in use.
const FLAG_AT: usize = 21;
const LIMIT: Duration = Duration::from_secs(60);

/// A server whose binary log is archived, in files of this size.
fn archiving(name: &str, size: &str) -> Outcome<(Bed, PathBuf)> {
    let mut bed = bed(name)?;
    let archive = bed.folder.join("archive");
    fs::create_dir(&archive).map_err(|e| e.to_string())?;
    bed.setup = bed
        .setup
        .option(&format!("log-archive-dir={}", text(&archive)))
        .option(&format!("max-binlog-size={size}"));
    Ok((bed, archive))
}

fn status(conn: &mut dyn Conn, name: &str) -> Outcome<String> {
    let rows = ask(
        conn,
        &format!("SHOW GLOBAL STATUS LIKE 'Binlog\\_archive\\_{name}'"),
    )?;
    let cell = rows.first().and_then(|r| r.get(1));
    cell.cloned().ok_or_else(|| format!("no {name}"))
}

/// Waits until the archive has all that was committed by now.
fn archived(conn: &mut dyn Conn) -> Outcome<()> {
    // The files have all of it, then.
    ask(conn, "SHOW MASTER STATUS")?;
    let until = Instant::now() + LIMIT;
    while status(conn, "behind")? != "0" || status(conn, "status")? != "ON" {
        if Instant::now() > until {
            let why = status(conn, "last_error")?;
            return Err(format!("the archive does not follow: {why}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Waits until the archive is so.
fn becomes(conn: &mut dyn Conn, expected: &str, why: &str) -> Outcome<()> {
    let until = Instant::now() + LIMIT;
    loop {
        let (is, said) = (status(conn, "status")?, status(conn, "last_error")?);
        if is == expected && said.contains(why) {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(format!("{is}, not {expected}: {said}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The files of the binary log in a folder, without the flag of use.
fn files(dir: &Path) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let said = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).map_err(said)? {
        let path = entry.map_err(said)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name.strip_prefix("binlog.").unwrap_or_default();
        if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
            let mut bytes = fs::read(&path).map_err(said)?;
            if let Some(flag) = bytes.get_mut(FLAG_AT) {
                *flag = 0;
            }
            all.insert(name.into_owned(), bytes);
        }
    }
    Ok(all)
}

/// All files that the server has are in the archive, byte for byte.
fn compare(setup: &Setup, archive: &Path) -> Outcome<usize> {
    let there = files(archive)?;
    for (name, bytes) in files(&setup.datadir)? {
        match there.get(&name) {
            Some(is) if *is == bytes => {}
            Some(is) => {
                return Err(format!("{name}: {} bytes, not {}", is.len(), bytes.len()));
            }
            None => return Err(format!("{name} is not in the archive")),
        }
    }
    Ok(there.len())
}

fn restore(bed: &Bed, archive: &Path, name: &str, more: &[&str]) -> Outcome<(Server, String)> {
    let mut restored = beside(&bed.setup, &bed.folder, name)?;
    restored = restored.without("log-archive-dir");
    let datadir = format!("--datadir={}", restored.datadir.display());
    let from = text(&bed.folder.join("base"));
    let binlogs = format!("--binlogs={}", text(archive));
    let mut words = vec!["restore", from.as_str(), datadir.as_str(), binlogs.as_str()];
    words.extend(more);
    let said = run(&words, true)?;
    restored.check_offline()?;
    Ok((restored.start()?, said))
}

#[test]
fn a_machine_is_lost_and_nothing_that_was_archived() -> Outcome<()> {
    let (bed, archive) = archiving("archive", "64K")?;
    let setup = &bed.setup;
    let server = setup.start()?;
    let mut conn = server.connect()?;
    let c = &mut *conn;
    fill(c)?;
    if one(c, "SELECT @@log_archive_dir")? != text(&archive) {
        return Err("the variable does not say where the archive is".to_owned());
    }
    let load = Load::on(&server)?;
    load.wait_for(100);
    let address = format!("--server={}", setup.socket.display());
    let to = format!("--to={}", text(&bed.folder.join("base")));
    run(&["backup", &address, &to], true)?;
    load.wait_for(300);
    ask(c, "ALTER TABLE b.c ADD COLUMN w INT DEFAULT 5")?;
    load.wait_for(300);
    let rows = load.end()?;
    let set = one(c, "SELECT @@global.gtid_executed")?;
    let uuid = one(c, "SELECT @@server_uuid")?;
    archived(c)?;
    let good = transactions(&set)?;
    let accident = utc(c)?;
    std::thread::sleep(Duration::from_millis(20));
    ask(c, "DELETE FROM b.t")?;
    ask(c, "INSERT INTO b.t VALUES (1, 1, 'last')")?;
    archived(c)?;
    let all = one(c, "SELECT @@global.gtid_executed")?;
    // A transaction is under way at the end.
    ask(c, "BEGIN")?;
    ask(c, "INSERT INTO b.t VALUES (1000000, 1, 'never')")?;
    let names = compare(setup, &archive)?;
    if names < 3 {
        return Err(format!("{names} files"));
    }
    server.kill9()?;
    drop(conn);
    fs::remove_dir_all(&setup.datadir).map_err(|e| e.to_string())?;
    let gtid = format!("--until-gtid={uuid}:{good}");
    let time = format!("--until-time={accident}");
    for (name, until, expected, count) in [
        ("end", "--innodb-buffer-pool-size=64M", &all, 1),
        ("gtid", &gtid, &set, rows),
        ("time", &time, &set, rows),
    ] {
        let (server, said) = restore(&bed, &archive, name, &[until])?;
        let mut conn = server.connect()?;
        let c = &mut *conn;
        let n = number(c, "SELECT COUNT(*) FROM b.t")?;
        let executed = one(c, "SELECT @@global.gtid_executed")?;
        let w = number(c, "SELECT SUM(w) FROM b.c")?;
        if (n, &executed, w) != (count, expected, 1000) {
            return Err(format!(
                "{name}: {n} rows, {executed}, {w}; not {count}, {expected}\n{said}"
            ));
        }
        drop(conn);
        server.terminate()?;
    }
    // A last file of which a part came: the transaction that is cut is left out.
    let (last, bytes) = {
        let all = files(&archive)?;
        all.into_iter().next_back().ok_or("no file")?
    };
    fs::write(archive.join(&last), &bytes[..bytes.len() - 9]).map_err(|e| e.to_string())?;
    let (server, said) = restore(&bed, &archive, "cut", &[])?;
    let mut conn = server.connect()?;
    let executed = one(&mut *conn, "SELECT @@global.gtid_executed")?;
    let whole = transactions(&all)? - 1;
    if transactions(&executed)? != whole || !said.contains("which was left out") {
        return Err(format!("cut: {executed}, not 1-{whole}\n{said}"));
    }
    drop(conn);
    server.terminate()?;
    drop(bed.program);
    Ok(())
}

#[test]
fn kills_leave_an_archive_that_goes_on() -> Outcome<()> {
    let (bed, archive) = archiving("archive-kills", "1M")?;
    let setup = &bed.setup;
    let mut server = setup.start()?;
    let mut conn = server.connect()?;
    fill(&mut *conn)?;
    let address = format!("--server={}", setup.socket.display());
    let to = format!("--to={}", text(&bed.folder.join("base")));
    run(&["backup", &address, &to], true)?;
    let mut least = 0;
    for round in 0..5u64 {
        let load = Load::on(&server)?;
        let flushes = round % 2 * 20;
        for _ in 0..flushes {
            ask(&mut *conn, "FLUSH BINARY LOGS")?;
        }
        load.wait_for(50);
        if round == 4 {
            // What was acknowledged some seconds ago is in the archive, however much goes on. Commits here are durable within a second.
            least = load.wait_for(1);
            std::thread::sleep(Duration::from_secs(3));
        }
        drop(conn);
        std::thread::sleep(Duration::from_millis(round * 73));
        server.kill9()?;
        // It ends with the error of a connection that has gone.
        let _gone = load.end();
        if round == 4 {
            break;
        }
        server = setup.start()?;
        conn = server.connect()?;
        archived(&mut *conn)?;
        compare(setup, &archive)?;
    }
    fs::remove_dir_all(&setup.datadir).map_err(|e| e.to_string())?;
    let (server, said) = restore(&bed, &archive, "restored", &[])?;
    let mut conn = server.connect()?;
    let n = number(&mut *conn, "SELECT COUNT(*) FROM b.t")?;
    let highest = number(&mut *conn, "SELECT MAX(id) FROM b.t")?;
    if n < least || n != highest {
        return Err(format!("{n} rows up to {highest}, not {least}\n{said}"));
    }
    drop(conn);
    server.terminate()?;
    drop(bed.program);
    Ok(())
}

#[test]
fn an_archive_that_is_gone_or_anothers_stops_nobody_and_loses_nothing() -> Outcome<()> {
    let (bed, archive) = archiving("archive-gone", "16K")?;
    let setup = &bed.setup;
    // Links where files are to be made: nothing is written by them.
    let victim = bed.folder.join("victim");
    fs::write(&victim, "mine").map_err(|e| e.to_string())?;
    let link = |to: &Path, name: &str| {
        let made = std::os::unix::fs::symlink(to, archive.join(name));
        made.map_err(|e| e.to_string())
    };
    link(&victim, "tidemill-archive.new")?;
    link(&victim, "tidemill-archive.probe")?;
    link(&victim, "binlog.000001.new")?;
    link(&bed.folder.join("nowhere"), "binlog.000002.new")?;
    link(&bed.folder.join("nowhere"), "binlog.000003")?;
    let server = setup.start()?;
    let mut conn = server.connect()?;
    let c = &mut *conn;
    fill(c)?;
    ask(c, "FLUSH BINARY LOGS")?;
    ask(c, "FLUSH BINARY LOGS")?;
    archived(c)?;
    compare(setup, &archive)?;
    let kept = fs::read_to_string(&victim).map_err(|e| e.to_string())?;
    if kept != "mine" || bed.folder.join("nowhere").exists() {
        return Err(format!("a link was followed: {kept}"));
    }
    // What is archived may be purged.
    let last = status(c, "last_file")?;
    ask(c, &format!("PURGE BINARY LOGS TO '{last}'"))?;
    if ask(c, "SHOW BINARY LOGS")?.len() != 1 {
        return Err("what was archived was not purged".to_owned());
    }
    // It goes away, as a file system that is not mounted any more.
    let away = archive.with_extension("away");
    fs::rename(&archive, &away).map_err(|e| e.to_string())?;
    fs::create_dir(&archive).map_err(|e| e.to_string())?;
    for n in 0..20 {
        ask(c, &format!("INSERT INTO b.t VALUES ({n}, 1, 'x')"))?;
        ask(c, "FLUSH BINARY LOGS")?;
    }
    becomes(c, "RETRYING", "is the archive mounted?")?;
    let files = ask(c, "SHOW BINARY LOGS")?;
    let current = files.last().ok_or("no file")?[0].clone();
    ask(c, &format!("PURGE BINARY LOGS TO '{current}'"))?;
    ask(c, "SET GLOBAL binlog_expire_logs_seconds = 1")?;
    std::thread::sleep(Duration::from_millis(2100));
    ask(c, "FLUSH BINARY LOGS")?;
    if ask(c, "SHOW BINARY LOGS")?.len() != files.len() + 1 {
        return Err("files went that the archive lacks".to_owned());
    }
    refused(c, "RESET BINARY LOGS AND GTIDS", 1290)?;
    let empty = fs::read_dir(&archive).map_err(|e| e.to_string())?.count();
    if empty != 0 {
        return Err("something was written where the archive was not".to_owned());
    }
    fs::remove_dir(&archive).map_err(|e| e.to_string())?;
    fs::rename(&away, &archive).map_err(|e| e.to_string())?;
    archived(c)?;
    compare(setup, &archive)?;
    // And then they go with their time, which is that of the transactions.
    for id in 100..102 {
        archived(c)?;
        std::thread::sleep(Duration::from_millis(3100));
        ask(c, &format!("INSERT INTO b.t VALUES ({id}, 1, 'x')"))?;
        ask(c, "FLUSH BINARY LOGS")?;
    }
    let left = ask(c, "SHOW BINARY LOGS")?.len();
    if left > 3 {
        return Err(format!("{left} files are left"));
    }
    archived(c)?;
    let before = self::files(&archive)?;
    // Another server of the same archive.
    let other = beside(setup, &bed.folder, "other")?;
    let second = other.start()?;
    let mut there = second.connect()?;
    becomes(&mut *there, "STOPPED", "is the archive of the server")?;
    ask(&mut *there, "CREATE DATABASE b")?;
    refused(&mut *there, "RESET BINARY LOGS AND GTIDS", 1290)?;
    drop(there);
    let said = fs::read_to_string(&other.log).map_err(|e| e.to_string())?;
    if said.matches("is the archive of the server").count() != 1 {
        return Err(format!("it is not said once in the log:\n{said}"));
    }
    second.terminate()?;
    if self::files(&archive)? != before {
        return Err("another server has changed the archive".to_owned());
    }
    drop(conn);
    server.terminate()?;
    // The end of the file came with the end of the server.
    compare(setup, &archive)?;
    drop(bed.program);
    Ok(())
}

#[test]
fn a_reset_goes_on_with_new_numbers() -> Outcome<()> {
    let (bed, archive) = archiving("archive-reset", "1M")?;
    let setup = &bed.setup;
    let server = setup.start()?;
    let mut conn = server.connect()?;
    let c = &mut *conn;
    fill(c)?;
    let address = format!("--server={}", setup.socket.display());
    let to = format!("--to={}", text(&bed.folder.join("base")));
    run(&["backup", &address, &to], true)?;
    ask(c, "INSERT INTO b.t VALUES (1, 1, 'before')")?;
    ask(c, "FLUSH BINARY LOGS")?;
    ask(c, "INSERT INTO b.t VALUES (2, 1, 'before')")?;
    let set = one(c, "SELECT @@global.gtid_executed")?;
    let highest = files(&setup.datadir)?.len();
    refused(c, "RESET BINARY LOGS AND GTIDS TO 2", 1290)?;
    ask(c, "RESET BINARY LOGS AND GTIDS")?;
    let first = ask(c, "SHOW BINARY LOGS")?[0][0].clone();
    if first != format!("binlog.{:06}", highest + 1) {
        return Err(format!("{first} behind {highest} files"));
    }
    ask(c, "INSERT INTO b.t VALUES (3, 1, 'behind')")?;
    archived(c)?;
    compare(setup, &archive)?;
    let later = utc(c)?;
    drop(conn);
    server.kill9()?;
    let server = setup.start()?;
    archived(&mut *server.connect()?)?;
    let count = compare(setup, &archive)?;
    if count != highest + 2 {
        return Err(format!("{count} files"));
    }
    server.terminate()?;
    let (server, said) = restore(&bed, &archive, "end", &[])?;
    let mut conn = server.connect()?;
    let n = number(&mut *conn, "SELECT COUNT(*) FROM b.t")?;
    let executed = one(&mut *conn, "SELECT @@global.gtid_executed")?;
    if n != 2 || executed != set || !said.contains(&format!("with {first}")) {
        return Err(format!("{n} rows, {executed}\n{said}"));
    }
    drop(conn);
    server.terminate()?;
    // A time behind it is not to be had from this backup; nor where nobody says that there was a RESET.
    let from = text(&bed.folder.join("base"));
    let datadir = format!("--datadir={}", text(&bed.folder.join("later")));
    let binlogs = format!("--binlogs={}", text(&archive));
    let until = format!("--until-time={later}");
    let said = run(&["restore", &from, &datadir, &binlogs, &until], false)?;
    if !said.contains("begun anew") {
        return Err(format!("a time behind RESET: {said}"));
    }
    fs::remove_file(archive.join("tidemill-archive")).map_err(|e| e.to_string())?;
    let datadir = format!("--datadir={}", text(&bed.folder.join("unmarked")));
    let said = run(&["restore", &from, &datadir, &binlogs], false)?;
    if !said.contains("was begun anew") {
        return Err(format!("across RESET: {said}"));
    }
    drop(bed.program);
    Ok(())
}

#[test]
fn a_folder_that_is_none_for_an_archive_is_refused() -> Outcome<()> {
    let bed = bed("archive-refused")?;
    let file = bed.folder.join("file");
    fs::write(&file, "x").map_err(|e| e.to_string())?;
    let link = bed.folder.join("link");
    bed.setup.start()?.terminate()?;
    std::os::unix::fs::symlink(&bed.setup.datadir, &link).map_err(|e| e.to_string())?;
    let (inside, missing) = (bed.setup.datadir.join("b"), bed.folder.join("missing"));
    fs::create_dir(&inside).map_err(|e| e.to_string())?;
    let logs = bed.folder.join("logs");
    fs::create_dir(&logs).map_err(|e| e.to_string())?;
    let beside = format!("--log-bin={}", text(&logs.join("binlog")));
    let archive = |dir: &Path| format!("--log-archive-dir={}", text(dir));
    for (more, why) in [
        (vec![archive(&file)], "Not a directory"),
        (vec![archive(&missing)], "No such file"),
        (vec![archive(&bed.setup.datadir)], "must be outside"),
        (vec![archive(&inside)], "must be outside"),
        (vec![archive(&link)], "must be outside"),
        (vec![beside, archive(&logs)], "server's own files"),
        (
            vec![archive(&bed.folder), "--skip-log-bin".to_owned()],
            "without log_bin",
        ),
        (vec![archive(Path::new("/proc"))], "log_archive_dir=/proc"),
    ] {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let out = bed.setup.try_start(&more)?;
        if out.success || !out.text.contains(why) {
            return Err(format!("{more:?}: {}", out.text));
        }
    }
    drop(bed.program);
    Ok(())
}
