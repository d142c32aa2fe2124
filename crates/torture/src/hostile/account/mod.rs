//! `cargo xtask hostile --only account`: an account without any privilege does everything at once that may stop a server, which has 1 GiB and
//! two cores. Then one that may make temporary tables takes what room there is for temporary files, on a server with 2 GiB, a volume of 4 GiB and
//! no other setting than the usual.
//!
//! Meanwhile a bystander's point selects are answered, root connects (with all connections taken) and ends what it likes, and at the end
//! the server stops in ten seconds although it is still under attack. It is not restarted, and it stays below its limit of memory, and its temporary
//! files below the account's share of the disk.

mod abuse;
pub mod attackers;
mod group;
mod room;

use super::stage::{Attack, number, query};
use crate::full_disk::filesystem::{FileSystem, Made};
use attackers::{Attackers, Kind as Of, Orders};
use base::lock::{Mutex, MutexGuard};
use group::Group;
use harness::process;
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::Outcome;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};

/// Places for connections, where all are taken.
const PLACES: u64 = 40;
/// MiB of the volume whose room is attacked.
const VOLUME: u64 = 4 << 10;
/// By so much what is on the disk may be more than what is counted: ends of blocks, and files that are on their way out.
const UNCOUNTED: u64 = 128 << 20;
/// How long root may take to connect and to ask.
const ROOT_WAITS: Duration = Duration::from_secs(5);
/// How long a statement may take to end that was killed.
const KILL_TAKES: Duration = Duration::from_secs(5);
/// How long the end may take.
const END_TAKES: Duration = Duration::from_secs(10);

/// What has been seen.
#[derive(Default)]
struct Seen {
    over: AtomicBool,
    selects: AtomicU64,
    longest_us: AtomicU64,
    /// Waits beyond half of what is allowed.
    long_waits: Mutex<Vec<String>>,
    root: AtomicU64,
    killed: AtomicU64,
    most: AtomicU64,
    /// Bytes of temporary files on the disk.
    files: AtomicU64,
    abuses: AtomicU64,
    late_us: AtomicU64,
}

impl Seen {
    fn waits(&self) -> MutexGuard<'_, Vec<String>> {
        self.long_waits.lock()
    }
}

/// An attack, and what its server has.
struct Scene {
    of: Of,
    /// Memory of the server and of the kernel for it.
    memory: u64,
    /// Bytes that temporary files may take on the disk.
    room: Option<u64>,
}

/// Runs the attacks, each on a server of its own below `scratch`.
pub fn run(attack: &Attack, scratch: &Scratch) -> Outcome<String> {
    let mut words = Vec::new();
    if !attack.room_alone {
        words.push(on_everything(attack, scratch)?);
    }
    if attack.room_alone || attack.abuse.is_none() {
        words.push(on_room(attack, scratch)?);
    }
    Ok(words.join("\n    and its room: "))
}

fn on_everything(attack: &Attack, scratch: &Scratch) -> Outcome<String> {
    let dir = scratch.path().join("account");
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let setup = Setup::new(Kind::Tidemill, &dir)?
        .option("innodb-buffer-pool-size=128M")
        .option("max-allowed-packet=64M")
        .option("innodb-flush-log-at-trx-commit=2")
        .option(&format!("max-connections={PLACES}"));
    let scene = Scene {
        of: Of::Everything,
        memory: 1 << 30,
        room: None,
    };
    attacked(attack, setup, &scene)
}

/// All settings are the usual ones. The volume is one of its own, where this machine has one to give: else the share may be more than the attack comes to.
fn on_room(attack: &Attack, scratch: &Scratch) -> Outcome<String> {
    let volume = FileSystem::make(scratch.path(), VOLUME)?;
    let (dir, volume) = match volume {
        Made::Mounted(volume) => (volume.path().join("server"), Some(volume)),
        Made::NotHere(why) => {
            println!("    no volume of its own: {why}");
            (scratch.path().join("room"), None)
        }
    };
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let setup = Setup::new(Kind::Tidemill, &dir)?;
    // Half of what is free is for temporary files, and half of that for one account alone.
    let free = harness::scratch::free_bytes(&dir).ok_or("the free room of the volume")?;
    let scene = Scene {
        of: Of::Room,
        memory: 2 << 30,
        room: Some(free / 4 + UNCOUNTED),
    };
    let words = attacked(attack, setup, &scene);
    drop(volume);
    words
}

fn attacked(attack: &Attack, mut setup: Setup, scene: &Scene) -> Outcome<String> {
    if let Some(n) = attack.abuse {
        let (name, _) = scene.of.abuses().get(n).ok_or("there is no such abuse")?;
        println!("    only: {name}");
    }
    let group = Group::new(scene.memory);
    if std::thread::available_parallelism().map_or(1, usize::from) > 2 {
        setup.cores = "0,1".to_owned();
    }
    let program = setup.program.clone();
    if let Some(group) = &group {
        let dir = setup.datadir.parent().unwrap_or(&setup.datadir).to_owned();
        setup.program = group.wrapper(&dir, &program)?;
    }
    let mut server = setup.start()?;
    prepare(&setup)?;
    let seen = Seen::default();
    let confined = group.is_some();
    let attacked = under_attack(attack, (&setup, scene), &mut server, &seen, confined);
    // Nobody is left to wait for what never comes.
    seen.over.store(true, Ordering::Relaxed);
    let end = attacked?;
    setup.program = program;
    setup.check_offline()?;
    let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
    let confined = match confined {
        true => format!("under a control group of {} MiB", scene.memory >> 20),
        false => "without a control group".to_owned(),
    };
    Ok(format!(
        "{} abuses in {} s {confined}: {} selects of a bystander, the longest {:.1} ms (who only sleeps came up to {:.1} ms \
         late); root came {} times and ended {} statements; at most {} MiB, and {} MiB of temporary files{}; ended in {:.1} s",
        count(&seen.abuses),
        attack.seconds,
        count(&seen.selects),
        count(&seen.longest_us) as f64 / 1000.0,
        count(&seen.late_us) as f64 / 1000.0,
        count(&seen.root),
        count(&seen.killed),
        count(&seen.most) >> 20,
        count(&seen.files) >> 20,
        scene
            .room
            .map_or(String::new(), |room| format!(" of {}", room >> 20)),
        end.as_secs_f64(),
    ))
}

/// What temporary files take on the disk.
fn temporary_files(setup: &Setup) -> u64 {
    let folder = std::fs::read_dir(setup.datadir.join("temp"));
    let files = folder.into_iter().flatten().flatten();
    // One may go while it is looked at.
    files
        .filter_map(|f| f.metadata().ok())
        .map(|m| m.blocks() * 512)
        .sum()
}

fn root(setup: &Setup) -> Outcome<Conn> {
    let begun = Instant::now();
    let mut conn = loop {
        match Conn::connect_unix(&setup.socket, "root", "", None) {
            Ok(conn) => break conn,
            // Its own connection before this one may still be on its way out of the place that is kept for it.
            Err(ClientError::Server(e)) if e.code == 1040 && begun.elapsed() < ROOT_WAITS => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(e) => return Err(format!("root cannot connect: {e}")),
        }
    };
    conn.set_read_timeout(Some(ROOT_WAITS))
        .map_err(|e| e.to_string())?;
    Ok(conn)
}

fn prepare(setup: &Setup) -> Outcome<()> {
    let mut conn = root(setup)?;
    for sql in [
        "CREATE DATABASE hostile",
        "CREATE TABLE hostile.rows_ (id INT PRIMARY KEY, pad VARCHAR(1000))",
        "INSERT INTO hostile.rows_ VALUES (1, REPEAT('x', 500))",
        "CREATE USER nobody@localhost IDENTIFIED BY ''",
        "CREATE USER bystander@localhost IDENTIFIED BY ''",
        "GRANT SELECT ON hostile.* TO bystander@localhost",
        "CREATE USER maker@localhost IDENTIFIED BY ''",
        "GRANT CREATE TEMPORARY TABLES ON hostile.* TO maker@localhost",
    ] {
        query(&mut conn, sql)?;
    }
    Ok(())
}

/// The attack from its first statement to the end of the server; how long that end took.
fn under_attack(
    attack: &Attack,
    (setup, scene): (&Setup, &Scene),
    server: &mut Server,
    seen: &Seen,
    confined: bool,
) -> Outcome<Duration> {
    let orders = Orders {
        socket: setup.socket.clone(),
        attack: scene.of,
        abusers: attack.abusers,
        abuse: attack.abuse,
    };
    let attackers = Attackers::start(&orders)?;
    std::thread::scope(|scope| {
        let bystander = scope.spawn(|| bystander(setup, seen, attack.waits));
        scope.spawn(|| sleeper(seen));
        let watched = watch(attack, (setup, scene), server, seen, confined);
        let killed = watched.and_then(|()| kills(setup));
        // The server ends while it is attacked; the bystander has seen enough.
        let longest = Duration::from_micros(seen.longest_us.load(Ordering::Relaxed));
        let selects = seen.selects.load(Ordering::Relaxed);
        let ended = killed.and_then(|()| end(server));
        seen.over.store(true, Ordering::Relaxed);
        let abuses = attackers.stop()?;
        seen.abuses.store(abuses, Ordering::Relaxed);
        let stood = bystander
            .join()
            .unwrap_or_else(|_| Err("the bystander panicked".to_owned()));
        let ended = ended?;
        if selects == 0 {
            return Err(format!("the bystander asked nothing: {stood:?}"));
        }
        if longest > attack.waits {
            let late = seen.late_us.load(Ordering::Relaxed) / 1000;
            return Err(format!(
                "a bystander waited {} ms (who only sleeps came up to {late} ms late); all long waits: {}",
                longest.as_millis(),
                seen.waits().join(", ")
            ));
        }
        if ended > END_TAKES {
            return Err(format!("the server took {} s to end", ended.as_secs()));
        }
        Ok(ended)
    })
}

/// Asks for one row again and again, until the server ends.
fn bystander(setup: &Setup, seen: &Seen, allowed: Duration) -> Outcome<()> {
    let begun = Instant::now();
    let fail = |e: ClientError| format!("the bystander: {e}");
    let mut conn = Conn::connect_unix(&setup.socket, "bystander", "", Some("hostile"));
    while conn.is_err() && !seen.over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
        conn = Conn::connect_unix(&setup.socket, "bystander", "", Some("hostile"));
    }
    let mut conn = conn.map_err(fail)?;
    while !seen.over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let answer = conn
            .query("SELECT pad FROM rows_ WHERE id = 1")
            .map_err(fail)?;
        let took = asked.elapsed().as_micros() as u64;
        if answer[0].rows.len() != 1 {
            return Err("the bystander's row is gone".to_owned());
        }
        seen.longest_us.fetch_max(took, Ordering::Relaxed);
        if took > allowed.as_micros() as u64 / 2 {
            let mut all = seen.waits();
            all.push(format!(
                "{:.1} s: {} ms",
                begun.elapsed().as_secs_f64(),
                took / 1000
            ));
        }
        seen.selects.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Asks nobody for anything: how late it comes is the machine's, whatever the server does.
fn sleeper(seen: &Seen) {
    let nap = Duration::from_millis(5);
    while !seen.over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        std::thread::sleep(nap);
        let late = begun.elapsed().saturating_sub(nap).as_micros() as u64;
        seen.late_us.fetch_max(late, Ordering::Relaxed);
    }
}

/// Comes as root once a second, looks around, and ends statements that have run for long.
fn watch(
    attack: &Attack,
    (setup, scene): (&Setup, &Scene),
    server: &mut Server,
    seen: &Seen,
    confined: bool,
) -> Outcome<()> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(attack.seconds) {
        std::thread::sleep(Duration::from_millis(500));
        server.must_run()?;
        let asked = Instant::now();
        let mut conn = root(setup)?;
        let list = query(&mut conn, "SHOW PROCESSLIST")?;
        seen.root.fetch_add(1, Ordering::Relaxed);
        let text = |v: &Value| match v {
            Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
            _ => String::new(),
        };
        for row in &list {
            let (id, user, command) = (text(&row[0]), text(&row[1]), text(&row[4]));
            let seconds: u64 = text(&row[5]).parse().unwrap_or(0);
            if user == scene.of.user() && command != "Sleep" && seconds >= 3 {
                // It may have ended meanwhile.
                let _gone = query(&mut conn, &format!("KILL {id}"));
                seen.killed.fetch_add(1, Ordering::Relaxed);
            }
        }
        // Nobody has taken XA from it.
        for sql in [
            "XA START 'root'",
            "XA END 'root'",
            "XA PREPARE 'root'",
            "XA COMMIT 'root'",
        ] {
            query(&mut conn, sql)?;
        }
        let took = asked.elapsed();
        if took > ROOT_WAITS {
            return Err(format!("root took {} ms", took.as_millis()));
        }
        let held = process::resident(server.pid())?;
        seen.most.fetch_max(held, Ordering::Relaxed);
        if confined && held > scene.memory {
            return Err(format!("the server holds {} MiB", held >> 20));
        }
        let files = temporary_files(setup);
        seen.files.fetch_max(files, Ordering::Relaxed);
        if scene.room.is_some_and(|room| files > room) {
            return Err(format!("temporary files take {} MiB", files >> 20));
        }
    }
    Ok(())
}

/// What root kills ends soon, however it computes.
fn kills(setup: &Setup) -> Outcome<()> {
    let mut conn = root(setup)?;
    // Places for those that are to be killed, whatever the others do.
    query(&mut conn, "SET GLOBAL max_connections = 1000")?;
    for sql in [
        "SELECT SLEEP(1000)",
        "SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, information_schema.columns c \
         WHERE a.column_name > b.column_name AND c.column_name < a.column_name",
        "SELECT BENCHMARK(1e16, 1)",
    ] {
        std::thread::scope(|scope| {
            // Root's own account has a place for it among those of the account under attack, or one that becomes free.
            let (tell, told) = std::sync::mpsc::channel();
            scope.spawn(move || {
                let begun = Instant::now();
                while begun.elapsed() < ROOT_WAITS {
                    if let Ok(mut victim) = abuse::connect(&setup.socket) {
                        let _patience = victim.set_read_timeout(Some(2 * KILL_TAKES));
                        if let Ok(id) = number(&mut victim, "SELECT CONNECTION_ID()") {
                            let _gone = tell.send(id);
                            let _killed = victim.query(sql);
                            return;
                        }
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let Ok(id) = told.recv() else {
                return Err("no place for a statement to be killed".to_owned());
            };
            std::thread::sleep(Duration::from_millis(300));
            match conn.query(&format!("KILL {id}")) {
                // It has failed already: there is not enough memory for it.
                Err(ClientError::Server(e)) if e.code == 1094 => return Ok(()),
                other => other.map_err(|e| format!("KILL: {e}"))?,
            };
            let killed = Instant::now();
            let there =
                format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
            while number(&mut conn, &there)? > 0 {
                if killed.elapsed() > KILL_TAKES {
                    return Err(format!("killed, and goes on: {sql:.60}"));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// SIGTERM, and how long the end takes. The exit status must be 0.
fn end(server: &mut Server) -> Outcome<Duration> {
    let asked = Instant::now();
    server.signal("TERM")?;
    server.ended(2 * END_TAKES)?;
    Ok(asked.elapsed())
}
