//! What needs more than steps in a row: many administrators at once, the modes of files, and what a stranger learns of names.

use super::matrix::{connect, must};
use super::protocols::shown;
use super::scenario;
use base::lock::Mutex;
use harness::rng::Rng;
use harness::server::{Kind, Setup};
use harness::step::Outcome;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;
use wire::client::{ClientError, Login, LoginStep};
use wire::packet::{Decoder, LARGEST_MAX_ALLOWED_PACKET, PacketWriter};

/// One item: its name, and what shows it on a server of its own.
type Item = (&'static str, fn(&Setup) -> Outcome<String>);

/// All of them.
pub const ITEMS: &[Item] = &[
    (
        "150 new passwords and privileges, from twelve sessions at once",
        passwords_at_once,
    ),
    (
        "grants and revokes from ten sessions at once",
        grants_at_once,
    ),
    ("one name is created once", one_name_at_once),
    ("user names cannot be told by packets", names_by_packets),
    ("user names cannot be told by time", names_by_time),
    ("the modes of files, umask 022", |setup| modes(setup, "022")),
    ("the modes of files, umask 0", |setup| modes(setup, "0")),
];

fn root(setup: &Setup) -> Outcome<Conn> {
    connect(setup, "root", "").map_err(|e| format!("root: {e}"))
}

/// Runs `work` in so many threads, each with a connection of root's and its number.
fn at_once(
    setup: &Setup,
    threads: u64,
    work: impl Fn(u64, &mut Conn) -> Outcome<()> + Sync,
) -> Outcome<()> {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|n| {
                let work = &work;
                scope.spawn(move || work(n, &mut root(setup)?))
            })
            .collect();
        workers.into_iter().try_for_each(|w| {
            w.join()
                .unwrap_or_else(|_| Err("a session panicked".to_owned()))
        })
    })
}

/// Every password whose change was acknowledged is in force, also after a restart.
fn passwords_at_once(setup: &Setup) -> Outcome<String> {
    let server = setup.start()?;
    let mut first = root(setup)?;
    scenario::clear(&mut first)?;
    for n in 0..150 {
        must(
            &mut first,
            &format!("CREATE USER p{n}@localhost IDENTIFIED BY 'old'"),
        )?;
    }
    // Three sessions at every account, each with another word about it.
    at_once(setup, 12, |thread, conn| {
        for n in (0..150).filter(|n| n % 4 == thread / 3) {
            let sql = match thread % 3 {
                0 => format!("GRANT PROCESS ON *.* TO p{n}@localhost"),
                1 => format!("ALTER USER p{n}@localhost ACCOUNT UNLOCK"),
                _ => format!("ALTER USER p{n}@localhost IDENTIFIED BY 'new{n}'"),
            };
            must(conn, &sql)?;
        }
        Ok(())
    })?;
    for n in 0..150 {
        let rows = must(&mut first, &format!("SHOW GRANTS FOR p{n}@localhost"))?;
        if !rows.iter().any(|row| shown(&row[0]).contains("PROCESS")) {
            return Err(format!("PROCESS of p{n} is lost"));
        }
    }
    let lost = |when: &str| -> Outcome<()> {
        let lost: Vec<u32> = (0..150)
            .filter(|n| {
                let user = format!("p{n}");
                connect(setup, &user, &format!("new{n}")).is_err()
                    || connect(setup, &user, "old").is_ok()
            })
            .collect();
        match lost.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "{} of 150 new passwords are not in force {when}: {lost:?}",
                lost.len()
            )),
        }
    };
    lost("after the last OK")?;
    drop(first);
    server.kill9()?;
    let _again = setup.start()?;
    lost("after a crash")?;
    Ok("150 in force, after a crash too".to_owned())
}

/// Sessions that grant and revoke, each its own privileges on accounts of its own and on one of all: no acknowledged one is lost.
fn grants_at_once(setup: &Setup) -> Outcome<String> {
    const PRIVILEGES: &[&str] = &[
        "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX", "ALTER", "EVENT",
        "TRIGGER",
    ];
    let server = setup.start()?;
    let mut first = root(setup)?;
    scenario::clear(&mut first)?;
    must(&mut first, "CREATE DATABASE d")?;
    must(&mut first, "CREATE TABLE d.t (id INT PRIMARY KEY)")?;
    must(&mut first, "CREATE USER all_of_them@localhost")?;
    for n in 0..100 {
        must(&mut first, &format!("CREATE USER g{n}@localhost"))?;
        must(
            &mut first,
            &format!("GRANT SELECT, INSERT ON d.* TO g{n}@localhost"),
        )?;
    }
    at_once(setup, 10, |thread, conn| {
        let mine = PRIVILEGES[thread as usize];
        let mut rng = Rng::new(thread);
        for n in (0..100).filter(|n| n % 10 == thread) {
            must(conn, &format!("REVOKE SELECT ON d.* FROM g{n}@localhost"))?;
            must(conn, &format!("GRANT UPDATE ON d.t TO g{n}@localhost"))?;
            for level in ["*.*", "d.*", "d.t"] {
                if level == "d.t" && mine == "EVENT" {
                    continue;
                }
                must(
                    conn,
                    &format!("GRANT {mine} ON {level} TO all_of_them@localhost"),
                )?;
                if rng.one_in(2) {
                    must(
                        conn,
                        &format!("REVOKE {mine} ON {level} FROM all_of_them@localhost"),
                    )?;
                    must(
                        conn,
                        &format!("GRANT {mine} ON {level} TO all_of_them@localhost"),
                    )?;
                }
            }
        }
        // The last word of each session: even ones keep theirs, odd ones take it back.
        if thread % 2 == 1 {
            must(
                conn,
                &format!("REVOKE {mine} ON *.* FROM all_of_them@localhost"),
            )?;
        }
        Ok(())
    })?;
    let wrong = wrong_grants(&mut first, PRIVILEGES)?;
    drop(server);
    match wrong.is_empty() {
        true => Ok("100 accounts and one shared one as the last OK left them".to_owned()),
        false => Err(format!(
            "{} grants are lost or are back: {}",
            wrong.len(),
            wrong.join("; ")
        )),
    }
}

fn wrong_grants(root: &mut Conn, privileges: &[&str]) -> Outcome<Vec<String>> {
    let mut wrong = Vec::new();
    let mut lines = |user: &str| -> Outcome<Vec<String>> {
        let rows = must(root, &format!("SHOW GRANTS FOR {user}@localhost"))?;
        Ok(rows.iter().map(|row| shown(&row[0])).collect())
    };
    for n in 0..100 {
        let text = lines(&format!("g{n}"))?.join("\n");
        if text.contains("SELECT") || !text.contains("INSERT") || !text.contains("UPDATE") {
            wrong.push(text.replace('\n', "; "));
        }
    }
    let shared = lines("all_of_them")?;
    for (at, privilege) in privileges.iter().enumerate() {
        let on = |level: &str| {
            shared
                .iter()
                .any(|l| l.contains(&format!(" ON {level} ")) && l.contains(privilege))
        };
        if on("*.*") != (at % 2 == 0) {
            wrong.push(format!("{privilege} ON *.*: {}", on("*.*")));
        }
        if !on("`d`.*") || (*privilege != "EVENT" && !on("`d`.`t`")) {
            wrong.push(format!("{privilege} ON d is not there"));
        }
    }
    Ok(wrong)
}

/// Of sessions that create the same account at once one succeeds, and its password is in force.
fn one_name_at_once(setup: &Setup) -> Outcome<String> {
    let _server = setup.start()?;
    scenario::clear(&mut root(setup)?)?;
    for round in 0..10 {
        let made = Mutex::new(Vec::new());
        at_once(setup, 8, |thread, conn| {
            let sql = format!("CREATE USER c{round}@localhost IDENTIFIED BY 'by{thread}'");
            match conn.query(&sql) {
                Ok(_) => {
                    made.lock().push(thread);
                    Ok(())
                }
                Err(ClientError::Server(e)) if e.code == 1396 => Ok(()),
                Err(e) => Err(format!("{sql}: {e}")),
            }
        })?;
        let made = made.into_inner();
        let [winner] = made[..] else {
            return Err(format!("c{round} was created {} times", made.len()));
        };
        connect(setup, &format!("c{round}"), &format!("by{winner}"))
            .map_err(|e| format!("the password of the one that created c{round}: {e}"))?;
    }
    Ok("8 sessions, 10 names".to_owned())
}

/// What the server says to a login, packet by packet: the first byte, the length, and of an error the text, without the name.
fn conversation(setup: &Setup, user: &str, password: &str) -> Outcome<Vec<String>> {
    let fail = |e: std::io::Error| e.to_string();
    let mut socket = UnixStream::connect(&setup.socket).map_err(fail)?;
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .map_err(fail)?;
    let mut decoder = Decoder::new(LARGEST_MAX_ALLOWED_PACKET);
    let mut writer = PacketWriter::new();
    let mut login = Login::new(user, password, None, true);
    let mut said = Vec::new();
    loop {
        let place = loop {
            if let Some(place) = decoder.take_packet().map_err(|e| e.to_string())? {
                break place;
            }
            let n = socket.read(decoder.space()).map_err(fail)?;
            if n == 0 {
                return Ok(said);
            }
            decoder.filled(n);
        };
        let packet = decoder.payload(place).to_vec();
        let text = String::from_utf8_lossy(&packet).replace(user, "NAME");
        said.push(match packet.first() {
            Some(0xff) => format!("error {text}"),
            Some(0xfe) => format!("switch {}", text.split('\0').next().unwrap_or_default()),
            first => format!("{first:?} {}", packet.len()),
        });
        writer.set_sequence(decoder.sequence());
        match login.packet(&packet, &mut writer) {
            Ok(LoginStep::NeedMore) => {}
            Ok(LoginStep::Done) | Err(_) => return Ok(said),
        }
        decoder.set_sequence(writer.sequence());
        socket.write_all(writer.pending()).map_err(fail)?;
        writer.advance(usize::MAX);
    }
}

fn strangers(setup: &Setup) -> Outcome<()> {
    let mut conn = root(setup)?;
    scenario::clear(&mut conn)?;
    for sql in [
        "CREATE USER known@localhost IDENTIFIED BY 'secret'",
        "CREATE USER locked@localhost IDENTIFIED BY 'secret' ACCOUNT LOCK",
        "CREATE USER stale@localhost IDENTIFIED BY 'secret' PASSWORD EXPIRE",
        "CREATE USER elsewhere@'10.1.2.3' IDENTIFIED BY 'secret'",
    ] {
        must(&mut conn, sql)?;
    }
    Ok(())
}

/// A wrong password is answered alike, whether there is such an account or not.
fn names_by_packets(setup: &Setup) -> Outcome<String> {
    let _server = setup.start()?;
    strangers(setup)?;
    for password in ["wrong", ""] {
        let unknown = conversation(setup, "unknown", password)?;
        for user in ["known", "locked", "stale", "elsewhere", "nobody", "x"] {
            let said = conversation(setup, user, password)?;
            if said != unknown {
                return Err(format!(
                    "to {user} it says {said:?}, to a name that is not there {unknown:?}"
                ));
            }
        }
        // A login from before, which a cache of proofs may know.
        connect(setup, "known", "secret").map_err(|e| format!("known: {e}"))?;
        let said = conversation(setup, "known", password)?;
        if said != unknown {
            return Err(format!(
                "after a login it says {said:?}, to a name that is not there {unknown:?}"
            ));
        }
    }
    Ok("six names, wrong and no password".to_owned())
}

/// Nor can they be told by time: medians of 200 logins each, in turns.
fn names_by_time(setup: &Setup) -> Outcome<String> {
    let _server = setup.start()?;
    strangers(setup)?;
    let users = ["known", "locked", "unknown", "elsewhere"];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); users.len()];
    for _ in 0..200 {
        for (at, user) in users.iter().enumerate() {
            let begun = Instant::now();
            conversation(setup, user, "wrong")?;
            times[at].push(begun.elapsed());
        }
    }
    let medians: Vec<Duration> = times
        .iter_mut()
        .map(|all| {
            all.sort();
            all[all.len() / 2]
        })
        .collect();
    let (least, most) = (medians.iter().min(), medians.iter().max());
    let (Some(least), Some(most)) = (least, most) else {
        return Err("no times".to_owned());
    };
    let words: Vec<String> = users
        .iter()
        .zip(&medians)
        .map(|(user, median)| format!("{user} {:.2} ms", median.as_secs_f64() * 1e3))
        .collect();
    // A tenth of a millisecond is below what a network lets through.
    if most.saturating_sub(*least) > (*least / 2).max(Duration::from_micros(100)) {
        return Err(format!("the time tells who is there: {}", words.join(", ")));
    }
    Ok(words.join(", "))
}

/// Directories are 0750, files 0640, private keys 0600, whatever umask the server was started with; the socket is for all.
fn modes(setup: &Setup, umask: &str) -> Outcome<String> {
    let fail = |e: std::io::Error| e.to_string();
    let dir = setup.log.with_extension(format!("umask-{umask}"));
    std::fs::create_dir_all(&dir).map_err(fail)?;
    let script = dir.join("start.sh");
    let text = format!(
        "#!/bin/sh\numask {umask}\nexec '{}' \"$@\"\n",
        setup.program.display()
    );
    std::fs::write(&script, text).map_err(fail)?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).map_err(fail)?;
    let mut setup = setup.clone();
    setup.program = script;
    setup.datadir = dir.join("data");
    let server = setup.start()?;
    let mut conn = root(&setup)?;
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(100), KEY v (v))",
        "INSERT INTO d.t VALUES (1, 'a'), (2, 'b')",
        "CREATE TABLE d.c (id INT PRIMARY KEY) COMPRESSION = 'zlib'",
        "ALTER TABLE d.t ADD w INT",
        "CREATE USER u@localhost IDENTIFIED BY 'x'",
        "FLUSH LOGS",
    ] {
        // Not every one of them is there; what they leave is looked at.
        let _ = conn.query(sql);
    }
    let socket = std::fs::metadata(&setup.socket).map_err(fail)?;
    if !socket.file_type().is_socket() || socket.permissions().mode() & 0o777 != 0o777 {
        return Err(format!(
            "the socket has mode {:o}",
            socket.permissions().mode() & 0o777
        ));
    }
    let running = wrong_modes(&setup.datadir)?;
    drop(conn);
    server.terminate()?;
    let mut wrong = wrong_modes(&setup.datadir)?;
    wrong.extend(running);
    wrong.sort();
    wrong.dedup();
    match wrong.is_empty() {
        true => Ok("0750, 0640, keys 0600".to_owned()),
        false => Err(format!("{} files: {}", wrong.len(), wrong.join(", "))),
    }
}

fn wrong_modes(datadir: &Path) -> Outcome<Vec<String>> {
    let mut wrong = Vec::new();
    let mut open: Vec<PathBuf> = vec![datadir.to_owned()];
    while let Some(path) = open.pop() {
        let data =
            std::fs::symlink_metadata(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mode = data.permissions().mode() & 0o7777;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let right = if data.is_dir() {
            for entry in std::fs::read_dir(&path).map_err(|e| e.to_string())? {
                open.push(entry.map_err(|e| e.to_string())?.path());
            }
            mode == 0o750
        } else if name.ends_with("key.pem") && !name.starts_with("public") {
            mode == 0o600
        } else if name.ends_with(".pem") {
            // Certificates are for everybody, and MySQL says so in their modes.
            mode == 0o644 || mode == 0o640
        } else {
            mode == 0o640 || mode == 0o600
        };
        if !right {
            let inside = path.strip_prefix(datadir).unwrap_or(&path);
            wrong.push(format!("/{} {mode:o}", inside.display()));
        }
    }
    Ok(wrong)
}

/// Runs all of them, each in a directory of its own; the failures.
pub fn run(dir: &Path, only: &str) -> Outcome<Vec<String>> {
    let mut failed = Vec::new();
    for (at, (name, item)) in ITEMS.iter().enumerate() {
        if !name.contains(only) {
            continue;
        }
        let dir = dir.join(format!("item-{at}"));
        std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
        let setup = Setup::new(Kind::Tidemill, &dir)?.option("innodb-buffer-pool-size=64M");
        match item(&setup) {
            Ok(words) => println!("    {name}: {words}"),
            Err(why) => {
                println!("    {name}: FAILED: {why:.400}");
                failed.push((*name).to_owned());
            }
        }
    }
    Ok(failed)
}
