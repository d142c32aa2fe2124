//! The start of the binary log: from variables to files, to the task that makes them, and to what statements see.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use base::environment::OpenMode;
use base::{Environment, Lsn};
use engine::backup::{Manifest, RESTORED};
use replication::archive::Archive;
use replication::changes::{Changes, Databases};
use replication::derive::{Naming, Settings};
use replication::dump::replicas::Replicas;
use replication::files::names::Names;
use replication::semi_sync::Rules;
use replication::service::{BinaryLog, OpenLog};
use replication::source::EngineSource;
use replication::statements::ServerLog;
use sql::Instance;
use sql_expr::vars::{GlobalVars, VarValue};
use types::gtid::{GtidSet, Sid};
use wire::binlog::CRC32;
use wire::binlog::frame::Checksum;
use wire::handshake::SERVER_VERSION;

/// The variables that decide bytes of the files.
const DECIDES: &[&str] = &[
    "server_id",
    "binlog_checksum",
    "gtid_mode",
    "max_binlog_size",
    "binlog_transaction_dependency_history_size",
];
/// Where the names of those begin that decide which commits wait for replicas.
const SEMI_SYNC: &str = "rpl_semi_sync_source_";
const SECONDS_A_DAY: u64 = 86_400;
/// What [`RESTORED`] is called once the binary log has begun with it.
const BEGUN: &str = "restored-from.begun";

/// Why there is none.
pub(crate) enum Failure {
    /// A value of an option that cannot be taken.
    Option(String),
    /// The files cannot be read or written.
    Io(PathBuf, io::Error),
}

fn number(globals: &GlobalVars, name: &str) -> u64 {
    globals.value_by_name(name).map_or(0, |v| v.as_u64())
}

fn text(globals: &GlobalVars, name: &str) -> String {
    let Some(id) = sql_expr::vars::lookup(name) else {
        return String::new();
    };
    globals.value(id).shown(id.def())
}

/// The version as a number, such as 80035.
fn version() -> u32 {
    let mut parts = SERVER_VERSION
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    next() * 10_000 + next() * 100 + next()
}

fn settings(globals: &GlobalVars, sid: Sid) -> Settings {
    Settings {
        server_id: number(globals, "server_id") as u32,
        sid,
        version: version(),
        version_text: SERVER_VERSION.to_owned(),
        checksum: match text(globals, "binlog_checksum") == CRC32 {
            true => Checksum::Crc32,
            false => Checksum::None,
        },
        names: match text(globals, "gtid_mode").as_str() {
            "ON" | "ON_PERMISSIVE" => Naming::All,
            "OFF_PERMISSIVE" => Naming::Given,
            _ => Naming::None,
        },
        max_size: number(globals, "max_binlog_size"),
        history: number(globals, "binlog_transaction_dependency_history_size") as u32,
    }
}

/// Which commits wait for replicas, and how long.
fn semi_sync(globals: &GlobalVars) -> Rules {
    let is = |name| number(globals, name) != 0;
    let replicas = number(globals, "rpl_semi_sync_source_wait_for_replica_count");
    Rules {
        enabled: is("rpl_semi_sync_source_enabled"),
        timeout_us: number(globals, "rpl_semi_sync_source_timeout") * 1000,
        replicas: usize::try_from(replicas).unwrap_or(usize::MAX),
        wait_without: is("rpl_semi_sync_source_wait_no_replica"),
    }
}

/// For how long files are kept; 0: for ever.
fn expire(globals: &GlobalVars) -> u64 {
    if number(globals, "binlog_expire_logs_auto_purge") == 0 {
        return 0;
    }
    match number(globals, "expire_logs_days") {
        0 => number(globals, "binlog_expire_logs_seconds"),
        days => days * SECONDS_A_DAY,
    }
}

/// What is written into a folder to see that it can be, and removed.
const PROBE: &str = "tidemill-archive.probe";

/// The folder of the archive, which must be one that can be written, and none of the server's own.
fn archive_dir(
    environment: &Environment,
    dir: &Path,
    data: &Path,
    names: &Names,
) -> Result<PathBuf, Failure> {
    let refused =
        |why: String| Failure::Option(format!("log_archive_dir={}: {why}", dir.display()));
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = std::path::absolute(dir).map_err(|e| refused(e.to_string()))?;
    if !dir.is_absolute() || dir.as_os_str().is_empty() {
        return Err(refused("this is no folder".to_owned()));
    }
    let disk = &environment.disk;
    disk.read_dir(&dir).map_err(|e| refused(e.to_string()))?;
    if real(&dir).starts_with(real(data)) {
        let why = "the data directory is lost with the machine; the archive must be outside of it";
        return Err(refused(why.to_owned()));
    }
    let probe = dir.join(PROBE);
    let seen = || -> io::Result<bool> {
        // Of a start that was broken off, or a link to elsewhere.
        let _nothing = disk.remove_file(&probe);
        let file = disk.open(&probe, OpenMode::Buffered, true)?;
        file.write_now(&[0], 0)?;
        file.sync_now()?;
        // By whatever names the two are known.
        let own = [names.dir(), names.index_dir(), data];
        let seen = own.iter().any(|own| disk.exists(&own.join(PROBE)));
        disk.remove_file(&probe)?;
        Ok(seen)
    };
    match seen() {
        Ok(false) => Ok(dir),
        Ok(true) => Err(refused("the server's own files are there".to_owned())),
        Err(e) => Err(refused(e.to_string())),
    }
}

/// How the binary log is kept.
pub(crate) struct Wanted<'a> {
    /// What the files and their index are called.
    pub(crate) names: (&'a str, &'a str),
    /// What is kept.
    pub(crate) databases: &'a Databases,
    /// Where it is archived.
    pub(crate) archive: Option<&'a Path>,
}

/// Opens the files and begins the task.
pub(crate) fn begin(
    environment: &Environment,
    instance: &Arc<Instance>,
    dir: &Path,
    wanted: &Wanted<'_>,
) -> Result<Arc<ServerLog>, Failure> {
    let globals = Arc::clone(instance.globals());
    let engine = Arc::clone(instance.engine());
    let dir = std::path::absolute(dir).map_err(|e| Failure::Io(dir.to_owned(), e))?;
    let (base, index) = wanted.names;
    let names = Names::new(&dir, base, index)
        .ok_or_else(|| Failure::Option(format!("log_bin={base}: this is no name of a file")))?;
    let sid = Sid::parse(&text(&globals, "server_uuid"))
        .ok_or_else(|| Failure::Option("server_uuid is none".to_owned()))?;
    let path = |p: &Path| VarValue::text(&*p.to_string_lossy());
    globals.set_fact("log_bin", VarValue::Bool(true));
    globals.set_fact("log_bin_basename", path(&names.basename()));
    globals.set_fact("log_bin_index", path(names.index()));
    let archive = wanted.archive;
    let archive = archive.map(|to| archive_dir(environment, to, &dir, &names));
    let archive = archive.transpose()?;
    // What is to be kept is asked of an archive that follows the files.
    let archived = Arc::new(OnceLock::<Weak<Archive>>::new());
    let (asked, archived_by) = (
        Arc::clone(&globals),
        archive.is_some().then(|| archived.clone()),
    );
    let clock = environment.clock.clone();
    let keep = move || match &archived_by {
        None => expire(&asked),
        Some(archive) => archive.get().and_then(Weak::upgrade).map_or(0, |archive| {
            archive.keep(expire(&asked), clock.wall_us() / 1_000_000)
        }),
    };
    let log_end = engine.end_of_groups().from;
    // What was committed before a crash is waited for as what is committed from now on.
    engine.had_groups_until(log_end);
    let options = OpenLog {
        names: names.clone(),
        settings: settings(&globals, sid),
        log_start: engine.oldest_log(),
        log_end,
        expire: Arc::new(keep),
    };
    let opened =
        BinaryLog::open(environment, options).map_err(|e| Failure::Io(names.state(), e))?;
    let archive = archive.map(|dir| {
        let uuid = text(&globals, "server_uuid");
        Archive::begin(environment, &opened.log, log_end, (dir, &uuid))
    });
    if let Some(archive) = &archive {
        let _first = archived.set(Arc::downgrade(archive));
        instance.status().register(archive.clone());
    }
    let databases = wanted.databases;
    let log = Arc::new(ServerLog {
        archive,
        log: Arc::clone(&opened.log),
        engine: Arc::clone(&engine),
        replicas: Arc::<Replicas>::default(),
        databases: databases.clone(),
    });
    let source = EngineSource::new(&engine, opened.resume, opened.done);
    opened.begin(environment, source);
    let (files, of) = (Arc::clone(&log.log), Arc::downgrade(&globals));
    globals.observe(move |name, _| {
        if DECIDES.contains(&name)
            && let Some(globals) = of.upgrade()
        {
            files.set_later(settings(&globals, sid));
        }
        if name.starts_with(SEMI_SYNC)
            && let Some(globals) = of.upgrade()
        {
            files.semi_sync().set(semi_sync(&globals));
        }
    });
    log.log.semi_sync().set(semi_sync(&globals));
    instance.status().register(log.log.semi_sync().clone());
    instance.set_binary_log(log.clone());
    // From here on what sessions change is in the log for it.
    instance.log_changes_in(Changes::of(&engine, databases.clone()));
    Ok(log)
}

/// Where a directory was restored from a backup, its binary log begins with the transactions that the backup had. That is done once: what is asked
/// of the log later, RESET above all, stays.
pub(crate) async fn begin_restored(environment: &Environment, dir: &Path, log: &ServerLog) {
    let (from, done) = (dir.join(RESTORED), dir.join(BEGUN));
    let disk = &environment.disk;
    let read = || -> io::Result<Option<GtidSet>> {
        let file = match disk.open(&from, OpenMode::Buffered, false) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            r => r?,
        };
        let mut bytes = vec![0; file.len()? as usize];
        let got = file.read_now(&mut bytes, 0)?;
        let manifest = Manifest::decode(&bytes[..got]).ok();
        let set = manifest.and_then(|m| m.gtid_executed);
        Ok(set.and_then(|set| GtidSet::parse(&set)))
    };
    let Ok(Some(set)) = read() else {
        return;
    };
    // A log that cannot take it says so whenever it is used.
    if log.log.add_purged(set, Lsn::NONE).await.is_ok() {
        // If the name is lost in a crash the same is added once more.
        let _ = disk.rename(&from, &done).and_then(|()| disk.sync_dir(dir));
    }
}
