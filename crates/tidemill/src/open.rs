//! Opens a directory: from options to a running engine and everything the SQL layer keeps beside it. Server, shell, check and
//! the embedded library all come through here.

use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;

use base::Environment;
use base::environment::{Spawn, Task};
use base::real::file_modes;
use engine::{Engine, EngineOptions, OpenReport};
use pager::PagerOptions;
use sql::vars::{GlobalVars, VarError};
use sql::{Instance, InstanceOptions};
use types::SqlError;
use wire::auth::Credential;
use wire::handshake::{CACHING_SHA2_PASSWORD, NATIVE_PASSWORD};

use crate::options::{FlushLog, Options};

/// An open database: the engine of one directory and what all its sessions share.
pub struct Open {
    /// The engine.
    pub engine: Arc<Engine>,
    /// The SQL layer's part.
    pub instance: Arc<Instance>,
    /// What start-up found and did.
    pub report: OpenReport,
    /// What the log should say about options that were not taken as given.
    pub warnings: Vec<String>,
}

/// Why a directory could not be opened.
#[derive(Debug)]
pub enum OpenFailure {
    /// Another process owns the directory.
    InUse(PathBuf),
    /// A value of an option that the SQL layer refuses; the text names both.
    Option(String),
    /// The directory cannot be made or written.
    Io(PathBuf, io::Error),
    /// The storage cannot be opened.
    Storage(PathBuf, String),
    /// The system tables cannot be read.
    Sql(SqlError),
}

impl fmt::Display for OpenFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenFailure::InUse(dir) => write!(
                f,
                "the directory {} is in use by another process; one process owns a directory",
                dir.display()
            ),
            OpenFailure::Option(text) => f.write_str(text),
            OpenFailure::Io(dir, e) => write!(f, "{}: {e}", dir.display()),
            OpenFailure::Storage(dir, text) => {
                write!(
                    f,
                    "the directory {} cannot be opened: {text}",
                    dir.display()
                )
            }
            OpenFailure::Sql(e) => write!(f, "the system tables cannot be read: {e}"),
        }
    }
}

impl std::error::Error for OpenFailure {}

/// Threads for background tasks; a statement that lets others run goes behind what the reactor of its core has to tell.
struct TakingTurns;

impl Spawn for TakingTurns {
    fn spawn(&self, name: &str, task: Task) {
        base::real::Threads.spawn(name, task);
    }

    fn spawn_work(&self, name: &str, throttled: bool, task: Task) -> io::Result<()> {
        base::real::Threads.spawn_work(name, throttled, task)
    }

    fn yield_now(&self, cx: &mut Context<'_>) {
        base::real::throttle();
        crate::server::movable::paused();
        // The first poll registers the waker with the runtime; outside of one (the embedded library) it wakes at once.
        let _ = pin!(tokio::task::yield_now()).poll(cx);
    }

    fn leave(&self) -> bool {
        crate::server::movable::leave()
    }

    fn is_alone(&self) -> bool {
        base::real::is_alone()
    }
}

/// Opens the directory of `options` on the real disk, making it if it is not there.
///
/// # Errors
/// Says what stands in the way; nothing stays locked.
pub async fn open(options: &Options) -> Result<Open, OpenFailure> {
    let environment = Environment {
        spawn: Arc::new(TakingTurns),
        ..base::real::environment()
    };
    let dir = &options.datadir;
    let (globals, mut warnings) = variables(options)?;
    if file_modes::is_open(dir) {
        warnings.push(format!(
            "the directory {} is open to other users of this machine; its mode should be 0750, and 0640 that of the files in it",
            dir.display()
        ));
    }
    let (engine, report) =
        Engine::open_with_report(environment.clone(), dir, engine_options(options))
            .await
            .map_err(|e| match e {
                engine::OpenError::InUse => OpenFailure::InUse(dir.clone()),
                e => OpenFailure::Storage(dir.clone(), e.to_string()),
            })?;
    match join(&environment, &engine, globals, dir).await {
        Ok(instance) => Ok(Open {
            engine,
            instance,
            report,
            warnings,
        }),
        Err(e) => {
            // The first failure is the one to tell.
            let _second = engine.close().await;
            Err(e)
        }
    }
}

impl Open {
    /// Ends the engine: everything is written out and the directory is free.
    ///
    /// # Errors
    /// What the last writes fail with; the log still has everything that was acknowledged.
    pub async fn close(&self) -> Result<(), SqlError> {
        self.engine.close().await
    }

    /// What start-up found and did, in lines for a log.
    pub fn recovery(&self) -> Vec<String> {
        let OpenReport {
            pages,
            losers,
            missing,
            orphans,
            purge_unread,
        } = &self.report;
        let mut lines = Vec::new();
        if pages.created {
            lines.push("a new database was made".to_owned());
        } else if !pages.clean {
            lines.push(format!(
                "recovered from a crash: log {} to {}, {} records read in {} ms, {} page changes redone in {} ms, {} pages \
                 restored from the doublewrite file, {losers} unfinished transactions rolled back",
                pages.redo_from,
                pages.log_end,
                pages.records,
                pages.scan_us / 1000,
                pages.applied,
                pages.redo_us / 1000,
                pages.restored_pages,
            ));
        }
        lines.extend(pages.control_damaged.clone());
        for (space, page, why) in &pages.damaged {
            lines.push(format!(
                "damaged: tablespace {} page {}: {why}",
                space.0, page.0
            ));
        }
        if let Some(at) = purge_unread {
            lines.push(format!(
                "damaged: the log at {at}, of which only purge needed more: what was deleted before the crash keeps its room \
                 until its tables are rebuilt"
            ));
        }
        for table in missing {
            lines.push(format!(
                "the file of table {table} is missing or unreadable"
            ));
        }
        for file in orphans {
            lines.push(format!("removed {file}, which belongs to no table"));
        }
        lines
    }

    /// Whether `root` has no password.
    pub fn root_is_open(&self) -> bool {
        let state = self.instance.accounts().snapshot();
        let mut roots = state.iter().filter(|a| &*a.id.user == "root");
        roots.any(|a| a.auth_string.is_empty() && !a.locked)
    }
}

async fn join(
    environment: &Environment,
    engine: &Arc<Engine>,
    globals: Arc<GlobalVars>,
    dir: &Path,
) -> Result<Arc<Instance>, OpenFailure> {
    let uuid = server_uuid(environment, dir).map_err(|e| OpenFailure::Io(dir.to_owned(), e))?;
    globals.set_fact("server_uuid", sql::vars::VarValue::text(uuid.as_str()));
    let options = InstanceOptions {
        node: node_of(&uuid),
        password_hasher: Some(Arc::new(stored_password)),
        password_verifier: Some(Arc::new(is_password)),
        ..InstanceOptions::default()
    };
    Instance::open(Arc::clone(engine), environment, globals, options)
        .await
        .map_err(OpenFailure::Sql)
}

/// What an authentication plugin stores of a password.
fn stored_password(plugin: &str, password: &[u8]) -> Option<Vec<u8>> {
    let credential = match plugin {
        NATIVE_PASSWORD => Credential::native(password),
        CACHING_SHA2_PASSWORD => Credential::caching_sha2(password).ok()?,
        _ => return None,
    };
    Some(credential.to_stored())
}

/// Whether a password is the one of which a plugin stored something.
fn is_password(plugin: &str, stored: &[u8], password: &[u8]) -> bool {
    Credential::parse(plugin, stored).is_some_and(|c| c.verify(password))
}

/// What the engine is told.
pub fn engine_options(options: &Options) -> EngineOptions {
    EngineOptions {
        pager: PagerOptions {
            pool_bytes: options.buffer_pool_size,
            log_capacity_bytes: options.log_capacity,
            log_buffer_bytes: options.log_buffer_size,
            flush_method: options.flush_method,
            doublewrite: options.doublewrite,
            open_files: options.open_files(),
            ..PagerOptions::default()
        },
        flush_at_commit: match options.flush_log_at_trx_commit {
            FlushLog::EverySecond => 0,
            FlushLog::AtCommit => 1,
            FlushLog::WriteAtCommit => 2,
        },
        ..EngineOptions::default()
    }
}

/// The server's variables with the values of the options, and what to log about them.
fn variables(options: &Options) -> Result<(Arc<GlobalVars>, Vec<String>), OpenFailure> {
    if options.lower_case_table_names != 0 {
        let text = "--lower_case_table_names=1: names of tables are case-sensitive here, only 0 is possible";
        return Err(OpenFailure::Option(text.to_owned()));
    }
    let globals = GlobalVars::new();
    let mut warnings = Vec::new();
    for (name, value) in &options.variables {
        globals
            .set_option(name, value)
            .map_err(|e| OpenFailure::Option(format!("--{name}={value}: {e}")))?;
    }
    for (name, value) in &options.without_effect {
        match globals.set_option(name, value) {
            // What has no effect and is no variable either has nowhere to be shown.
            Ok(_) | Err(VarError::Unknown(_)) => {}
            Err(e) => warnings.push(format!("--{name}={value} is not shown: {e}")),
        }
    }
    for (name, value) in obeyed(options) {
        if let Err(e) = globals.set_option(name, &value) {
            warnings.push(format!("{name}={value} is not shown: {e}"));
        }
    }
    Ok((Arc::new(globals), warnings))
}

/// Options that are obeyed, as the variables that show them.
fn obeyed(options: &Options) -> Vec<(&'static str, String)> {
    let path = |path: &Option<PathBuf>| {
        path.as_ref()
            .map(|path| path.display().to_string())
            .unwrap_or_default()
    };
    let switch = |on: bool| if on { "1" } else { "0" }.to_owned();
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut all = vec![
        ("version", wire::handshake::SERVER_VERSION.to_owned()),
        ("datadir", shown_directory(&options.datadir)),
        ("port", options.port.to_string()),
        ("bind_address", options.bind_address.join(",")),
        ("skip_networking", switch(options.skip_networking)),
        (
            "admin_address",
            options.admin_address.clone().unwrap_or_default(),
        ),
        ("admin_port", options.admin_port.to_string()),
        ("socket", path(&options.socket)),
        ("pid_file", path(&options.pid_file)),
        (
            "log_error",
            match &options.log_error {
                Some(path) => path.display().to_string(),
                None => "stderr".to_owned(),
            },
        ),
        ("max_connections", options.max_connections.to_string()),
        ("max_allowed_packet", options.max_allowed_packet.to_string()),
        ("connect_timeout", options.connect_timeout.to_string()),
        ("wait_timeout", options.wait_timeout.to_string()),
        (
            "interactive_timeout",
            options.interactive_timeout.to_string(),
        ),
        (
            "innodb_buffer_pool_size",
            options.buffer_pool_size.to_string(),
        ),
        ("innodb_redo_log_capacity", options.log_capacity.to_string()),
        (
            "innodb_log_buffer_size",
            options.log_buffer_size.to_string(),
        ),
        (
            "innodb_flush_log_at_trx_commit",
            engine_options(options).flush_at_commit.to_string(),
        ),
        (
            "innodb_flush_method",
            options.flush_method.name().to_owned(),
        ),
        (
            "innodb_doublewrite",
            if options.doublewrite { "ON" } else { "OFF" }.to_owned(),
        ),
        (
            "innodb_io_capacity_max",
            options.io_capacity_max.to_string(),
        ),
        ("innodb_io_capacity", options.io_capacity.to_string()),
        (
            "innodb_lock_wait_timeout",
            options.lock_wait_timeout.to_string(),
        ),
        (
            "transaction_isolation",
            options.transaction_isolation.name().to_owned(),
        ),
        (
            "transaction_read_only",
            switch(options.transaction_read_only),
        ),
        ("autocommit", switch(options.autocommit)),
        ("character_set_server", options.character_set_server.clone()),
        (
            "lower_case_table_names",
            options.lower_case_table_names.to_string(),
        ),
        ("server_id", options.server_id.to_string()),
        ("time_zone", options.default_time_zone.clone()),
    ];
    if !hostname.trim().is_empty() {
        all.push(("hostname", hostname.trim().to_owned()));
    }
    all.extend(files(options));
    if let Some(dir) = &options.tmpdir {
        all.push(("tmpdir", dir.display().to_string()));
    }
    if let Some(mode) = &options.sql_mode {
        all.push(("sql_mode", mode.clone()));
    }
    // Behind the character set, whose default it would otherwise be.
    if let Some(collation) = &options.collation_server {
        all.push(("collation_server", collation.clone()));
    }
    all
}

/// How many files may be open.
fn files(options: &Options) -> [(&'static str, String); 3] {
    [
        ("open_files_limit", options.open_files_limit.to_string()),
        ("table_open_cache", options.table_open_cache.to_string()),
        ("innodb_open_files", options.open_files().to_string()),
    ]
}

/// MySQL shows directories whole and with a slash behind.
fn shown_directory(dir: &Path) -> String {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    format!("{}/", whole.display())
}

/// The server's identity, kept in the directory's `auto.cnf` as MySQL does; made on first start.
fn server_uuid(environment: &Environment, dir: &Path) -> io::Result<String> {
    let path = dir.join("auto.cnf");
    match std::fs::read(&path) {
        Ok(bytes) => {
            // What is damaged is made anew: nothing else depends on it.
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.lines().filter_map(|line| line.split_once('='));
            let found = lines
                .filter(|(name, _)| name.trim().replace('_', "-") == "server-uuid")
                .map(|(_, value)| value.trim().to_owned())
                .find(|value| is_uuid(value));
            if let Some(uuid) = found {
                return Ok(uuid);
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    let uuid = random_uuid(environment);
    let text = format!("[auto]\nserver-uuid={uuid}\n");
    file_modes::write(&path, text.as_bytes(), file_modes::FILE)?;
    Ok(uuid)
}

/// Five groups of hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(|group| {
        let hexadecimal = group.bytes().all(|b| b.is_ascii_hexdigit());
        if hexadecimal { group.len() } else { 0 }
    });
    groups.eq([8, 4, 4, 4, 12])
}

/// A UUID of version 4.
fn random_uuid(environment: &Environment) -> String {
    let (a, b) = (environment.random.next_u64(), environment.random.next_u64());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        a >> 16 & 0xFFFF,
        a & 0xFFF,
        b >> 48 & 0x3FFF | 0x8000,
        b & 0xFFFF_FFFF_FFFF
    )
}

/// The last six bytes of a UUID, with the mark of an address that no hardware has.
fn node_of(uuid: &str) -> [u8; 6] {
    let number = uuid
        .rsplit('-')
        .next()
        .and_then(|hex| u64::from_str_radix(hex, 16).ok())
        .unwrap_or(0);
    let [_, _, node @ ..] = number.to_be_bytes();
    let mut node: [u8; 6] = node;
    node[0] |= 1;
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uuid_stays() {
        let dir = std::env::temp_dir().join(format!("tidemill-uuid-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let environment = base::real::environment();
        let first = server_uuid(&environment, &dir).expect("a uuid");
        assert_eq!((first.len(), &first[14..15]), (36, "4"), "{first}");
        assert_eq!(server_uuid(&environment, &dir).expect("the same"), first);
        // Damaged, it is made anew.
        let path = dir.join("auto.cnf");
        for at in [3, 15, 25, 28] {
            let mut bytes = std::fs::read(&path).expect("the file");
            bytes[at] ^= 0x80;
            std::fs::write(&path, bytes).expect("damage");
            assert!(
                is_uuid(&server_uuid(&environment, &dir).expect("a uuid")),
                "{at}"
            );
        }
        std::fs::remove_dir_all(&dir).expect("removal");
    }

    #[test]
    fn every_option_is_a_variable() {
        let options = Options {
            sql_mode: Some("ANSI".to_owned()),
            collation_server: Some("utf8mb4_bin".to_owned()),
            ..Options::default()
        };
        let (globals, warnings) = variables(&options).expect("defaults are valid");
        assert_eq!(warnings, Vec::<String>::new());
        let shown = |name: &str| {
            let value = globals.value_by_name(name);
            value.and_then(|v| v.as_str().map(str::to_owned))
        };
        assert_eq!(shown("collation_server").as_deref(), Some("utf8mb4_bin"));
        assert!(shown("version").is_some_and(|v| v.starts_with("8.0.")));
    }
}
