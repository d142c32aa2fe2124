//! Opens a directory: from options to a recovered engine and what the SQL layer keeps beside it. The one place that does so.
//!
//! [`Database`](crate::Database) is all that most programs need. This module is for a program with a front end of its own, which
//! makes its sessions itself and brings its own threads: the server is one. It is as stable as the crates below, which is not at all.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Environment;
use engine::{Engine, EngineOptions, OpenReport};
use replication::replica::BinlogStatements;
use sql::{Instance, InstanceOptions};
use sql_expr::vars::{GlobalVars, VarValue};
use types::SqlError;
use types::temporal::Zone;
use wire::auth::Credential;
use wire::handshake::{CACHING_SHA2_PASSWORD, NATIVE_PASSWORD, SERVER_VERSION, SHA256_PASSWORD};

use replication::statements::ServerLog;

use crate::binary_log;
use crate::options::OpenOptions;
use crate::server_uuid::ServerUuid;

/// An open database: the engine of one directory and what all its sessions share.
pub struct OpenDirectory {
    /// The engine.
    pub engine: Arc<Engine>,
    /// The SQL layer's part.
    pub instance: Arc<Instance>,
    /// The binary log, where it is on.
    pub binary_log: Option<Arc<ServerLog>>,
    /// What start-up found and did.
    pub report: OpenReport,
}

/// Why a directory could not be opened.
#[derive(Debug)]
pub enum OpenFailure {
    /// Another process owns the directory.
    InUse(PathBuf),
    /// A value of an option that cannot be taken; the text names both.
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

/// Opens `dir`, making it if it is not there. Background tasks run as `environment` says; `globals` are the system variables with the
/// values that the program has given them, before those of `options`.
///
/// # Errors
/// Says what stands in the way; nothing stays locked.
pub async fn open(
    dir: &Path,
    options: &OpenOptions,
    environment: &Environment,
    globals: GlobalVars,
) -> Result<OpenDirectory, OpenFailure> {
    set_variables(&globals, dir, options)?;
    let (engine, report) =
        Engine::open_with_report(environment.clone(), dir, options.engine().clone())
            .await
            .map_err(|e| match e {
                engine::OpenError::InUse => OpenFailure::InUse(dir.to_owned()),
                e => OpenFailure::Storage(dir.to_owned(), e.to_string()),
            })?;
    let opened = instance(environment, &engine, globals, dir).await;
    let opened = opened.and_then(|instance| {
        let wanted = options.wanted_binary_log();
        let log = wanted.map(|wanted| binary_log::begin(environment, &instance, dir, &wanted));
        let log = log.transpose().map_err(|e| match e {
            binary_log::Failure::Option(text) => OpenFailure::Option(text),
            binary_log::Failure::Io(path, e) => OpenFailure::Io(path, e),
        });
        Ok((instance, log?))
    });
    if let Ok((_, Some(log))) = &opened {
        binary_log::begin_restored(environment, dir, log).await;
    }
    match opened {
        Ok((instance, binary_log)) => Ok(OpenDirectory {
            engine,
            instance,
            binary_log,
            report,
        }),
        Err(e) => {
            // The first failure is the one to tell.
            let _second = engine.close().await;
            Err(e)
        }
    }
}

impl OpenDirectory {
    /// Ends the engine: everything is written out and the directory is free.
    ///
    /// # Errors
    /// What the last writes fail with; the log still has everything that was acknowledged.
    pub async fn close(&self) -> Result<(), SqlError> {
        if let Some(log) = &self.binary_log {
            log.log.wait_no_more_for_room();
        }
        let closed = self.engine.close().await;
        if let Some(log) = &self.binary_log {
            // It reads the log to its end, and ends its file.
            let _why = log.log.wait_end().await;
            if let Some(archive) = &log.archive {
                archive.end().await;
            }
        }
        closed
    }
}

async fn instance(
    environment: &Environment,
    engine: &Arc<Engine>,
    globals: GlobalVars,
    dir: &Path,
) -> Result<Arc<Instance>, OpenFailure> {
    let uuid = ServerUuid::of(environment, dir).map_err(|e| OpenFailure::Io(dir.to_owned(), e))?;
    globals.set_fact("server_uuid", VarValue::text(uuid.as_str()));
    let (system_zone, called) = Zone::of_machine(environment.clock.wall_us());
    globals.set_fact("system_time_zone", VarValue::text(called));
    let options = InstanceOptions {
        node: uuid.node(),
        system_zone,
        password_hasher: Some(Arc::new(stored_password)),
        password_verifier: Some(Arc::new(is_password)),
        ..InstanceOptions::default()
    };
    let instance = Instance::open(Arc::clone(engine), environment, Arc::new(globals), options)
        .await
        .map_err(OpenFailure::Sql)?;
    instance.on_row_events(Arc::new(BinlogStatements));
    Ok(instance)
}

/// The plugin of accounts that belong to users of the system.
const AUTH_SOCKET: &str = "auth_socket";

/// What an authentication plugin stores of a password.
fn stored_password(plugin: &str, password: &[u8]) -> Option<Vec<u8>> {
    let credential = match plugin {
        NATIVE_PASSWORD => Credential::native(password),
        CACHING_SHA2_PASSWORD => Credential::caching_sha2(password).ok()?,
        SHA256_PASSWORD => Credential::sha256(password).ok()?,
        // No password: the name of a user of the system.
        AUTH_SOCKET => return Some(password.to_vec()),
        _ => return None,
    };
    Some(credential.to_stored())
}

/// Whether a password is the one of which a plugin stored something.
fn is_password(plugin: &str, stored: &[u8], password: &[u8]) -> bool {
    Credential::parse(plugin, stored).is_some_and(|c| c.verify(password))
}

/// Gives the variables the values of the options, and of what is known of the directory and the machine.
fn set_variables(
    globals: &GlobalVars,
    dir: &Path,
    options: &OpenOptions,
) -> Result<(), OpenFailure> {
    let own = of_engine(options.engine());
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut facts = vec![
        ("version", SERVER_VERSION.to_owned()),
        ("datadir", shown_directory(dir)),
    ];
    if !hostname.trim().is_empty() {
        facts.push(("hostname", hostname.trim().to_owned()));
    }
    for (name, value) in options.variables() {
        let refused =
            |why: &dyn fmt::Display| OpenFailure::Option(format!("{name}={value}: {why}"));
        if own.iter().any(|(own, _)| own == name) {
            return Err(refused(&"has a method of its own"));
        }
        if name == "server_uuid" || facts.iter().any(|(fact, _)| fact == name) {
            return Err(refused(
                &"is not set, it is what the directory and the machine say",
            ));
        }
        globals.set_option(name, value).map_err(|e| refused(&e))?;
    }
    for (name, value) in facts.into_iter().chain(own) {
        // What a variable's limits do not allow is in force, and not shown.
        let _not_shown = globals.set_option(name, &value);
    }
    Ok(())
}

/// The variables that show what the engine is told.
fn of_engine(options: &EngineOptions) -> [(&'static str, String); 7] {
    let pager = &options.pager;
    let doublewrite = if pager.doublewrite { "ON" } else { "OFF" };
    [
        ("innodb_buffer_pool_size", pager.pool_bytes.to_string()),
        (
            "innodb_redo_log_capacity",
            pager.log_capacity_bytes.to_string(),
        ),
        ("innodb_log_buffer_size", pager.log_buffer_bytes.to_string()),
        (
            "innodb_flush_log_at_trx_commit",
            options.flush_at_commit.to_string(),
        ),
        ("innodb_flush_method", pager.flush_method.name().to_owned()),
        ("innodb_doublewrite", doublewrite.to_owned()),
        ("innodb_open_files", pager.open_files.to_string()),
    ]
}

/// MySQL shows directories whole and with a slash behind.
fn shown_directory(dir: &Path) -> String {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    format!("{}/", whole.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_force_is_shown() {
        let globals = GlobalVars::new();
        let options = OpenOptions::new()
            .buffer_pool_size(16 << 20)
            .variable("Init-Connect", "DO 1");
        set_variables(&globals, Path::new("/data"), &options).expect("all of it can be set");
        let shown = |name: &str| globals.value_by_name(name);
        let text = |name: &str| shown(name).and_then(|v| v.as_str().map(str::to_owned));
        assert_eq!(text("datadir").as_deref(), Some("/data/"));
        assert!(text("version").is_some_and(|v| v.starts_with("8.0.")));
        assert_eq!(text("init_connect").as_deref(), Some("DO 1"));
        let number = |name: &str| shown(name).map(|v| v.as_u64());
        assert_eq!(number("innodb_buffer_pool_size"), Some(16 << 20));
        for (name, value) in of_engine(options.engine()) {
            assert!(globals.set_option(name, &value).is_ok(), "{name}={value}");
        }
    }

    #[test]
    fn what_cannot_be_set_is_refused() {
        for (name, value) in [
            ("no_such_variable", "1"),
            ("innodb_buffer_pool_size", "1G"),
            ("max_error_count", "many"),
            ("datadir", "/elsewhere"),
            ("server_uuid", "01234567-89ab-cdef-0123-456789abcdef"),
        ] {
            let options = OpenOptions::new().variable(name, value);
            let outcome = set_variables(&GlobalVars::new(), Path::new("/data"), &options);
            let e = outcome.expect_err(name).to_string();
            assert!(e.contains(name), "{e}");
        }
    }
}
