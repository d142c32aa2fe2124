//! The server: listens, serves every connection as a task of its own, and stops without losing what it acknowledged.
//!
//! Modules: `listen`, `accept` and `admin` (sockets), `budget` (memory), `descriptors` (files), `stop` (the end), `workers` (the threads that serve),
//! `movable` and `work` (long work leaves them), `registry` (who is connected), `stream`, `tls` and `link` (bytes and
//! packets), `login`, `connection` and `command` (what a client asks), `results`, `encode` and `cursor` (what it
//! gets), `caught` (a panic stays in its connection). The server runs no SQL of its own and knows nothing of pages.

mod accept;
mod admin;
mod budget;
mod caught;
mod command;
mod connection;
mod cursor;
mod definitions;
mod descriptors;
mod encode;
mod link;
mod listen;
mod login;
pub(crate) mod movable;
mod names;
mod prepared;
mod registry;
mod results;
mod slots;
mod stop;
mod stream;
mod tls;
mod work;
mod workers;

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use wire::auth::AuthContext;

use crate::log::Log;
use crate::open::{Open, OpenFailure, open};
use crate::options::{Level, Notice, Options};
use accept::Door;
use admin::Admin;
use listen::Listeners;
use login::Decoys;
use registry::Registry;
use tls::Tls;
pub use workers::Scheduling;
use workers::Workers;

/// What all connections share.
pub(crate) struct Server {
    pub(crate) database: Open,
    pub(crate) auth: AuthContext,
    pub(crate) decoys: Decoys,
    pub(crate) tls: Arc<Tls>,
    pub(crate) log: Arc<Log>,
    /// How many connections may be open that have not logged in yet.
    pub(crate) strangers: usize,
}

impl Server {
    fn largest_packet(&self) -> usize {
        let bytes = self.database.instance.globals().hot().max_allowed_packet();
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn requires_secure_transport(&self) -> bool {
        self.database
            .instance
            .globals()
            .hot()
            .require_secure_transport()
            != 0
    }

    fn connect_timeout(&self) -> Duration {
        let seconds = self.database.instance.globals().hot().connect_timeout();
        Duration::from_secs(seconds.max(1))
    }
}

/// Why the server did not start, or did not end well.
#[derive(Debug)]
pub enum ServeError {
    /// The directory cannot be opened.
    Open(OpenFailure),
    /// A socket, a thread or a file of the operating system.
    System(String),
    /// The last writes failed; what was acknowledged is in the log.
    Close(types::SqlError),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Open(e) => e.fmt(f),
            ServeError::System(text) => f.write_str(text),
            ServeError::Close(e) => write!(f, "the shutdown is not clean: {e}"),
        }
    }
}

impl std::error::Error for ServeError {}

fn system(what: &str) -> impl FnOnce(std::io::Error) -> ServeError {
    let what = what.to_owned();
    move |e| ServeError::System(format!("{what}: {e}"))
}

/// Where a server listens.
#[derive(Debug, Clone, Default)]
pub struct Listening {
    /// TCP addresses, with their real ports.
    pub addresses: Vec<SocketAddr>,
    /// The administrators' address.
    pub admin: Option<SocketAddr>,
    /// The Unix socket.
    pub socket: Option<PathBuf>,
}

/// Opens the directory and serves it until `until` is ready; then stops cleanly. `ready` is called once clients
/// can connect.
///
/// # Errors
/// Why it does not start, or what the last writes failed with.
pub fn serve(
    options: &Options,
    notices: &[Notice],
    log: Arc<Log>,
    ready: impl FnOnce(Listening),
    until: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    for notice in notices {
        match notice.level {
            Level::Note => log.note(notice),
            Level::Warning => log.warning(notice),
        }
    }
    let (options, sessions) = fit(options, &log);
    let served = share_descriptors(options, &log).and_then(|(options, strangers)| {
        let options = &options;
        let database = base::block_on(open(options)).map_err(ServeError::Open)?;
        database.instance.memory().set_ceiling(sessions);
        report(&database, options, &log);
        let told = Arc::clone(&log);
        let tell = Arc::new(move |text: &str| told.error(text));
        database.engine.on_notice(tell);
        serve_open((database, strangers), options, &log, ready, until)
    });
    match &served {
        Ok(()) => log.note("shutdown complete"),
        Err(e) => log.error(e),
    }
    served
}

/// The options as far as the memory goes that the process may use, and what all sessions may hold.
fn fit(options: &Options, log: &Log) -> (Options, u64) {
    let Some(room) = budget::available().map(|bytes| budget::divide(options, bytes)) else {
        return (options.clone(), u64::MAX);
    };
    if room.pool < options.buffer_pool_size {
        log.warning(format_args!(
            "innodb_buffer_pool_size is {}, but the process may use only {} in all: the pool has {}",
            size(options.buffer_pool_size),
            size(room.available),
            size(room.pool)
        ));
    }
    let options = Options {
        buffer_pool_size: room.pool,
        ..options.clone()
    };
    (options, room.sessions)
}

/// The options as far as the descriptors go that the process may have, and how many connections may be open that have not logged in.
fn share_descriptors(options: Options, log: &Log) -> Result<(Options, usize), ServeError> {
    let available = descriptors::available().unwrap_or(1024);
    if options.open_files_limit > available {
        log.warning(format_args!(
            "Changed limits: max_open_files: {available} (requested {})",
            options.open_files_limit
        ));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let shares = descriptors::divide(&options, available, threads as u64);
    let shares = shares.map_err(ServeError::System)?;
    let lowered = |what: &str, to: u64, from: u64| {
        if to < from {
            log.warning(format_args!(
                "Changed limits: {what}: {to} (requested {from}): the process may have {available} files open, see ulimit -n"
            ));
        }
    };
    let asked = (u64::from(options.max_connections), options.open_files());
    lowered("max_connections", shares.connections, asked.0);
    lowered("innodb_open_files", shares.tables, asked.1);
    let strangers = usize::try_from(shares.strangers).unwrap_or(usize::MAX);
    let options = Options {
        max_connections: u32::try_from(shares.connections).unwrap_or(u32::MAX),
        innodb_open_files: Some(shares.tables),
        open_files_limit: available,
        ..options
    };
    Ok((options, strangers))
}

fn serve_open(
    (database, strangers): (Open, usize),
    options: &Options,
    log: &Arc<Log>,
    ready: impl FnOnce(Listening),
    until: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let tls = match Tls::start(&database.instance, &options.datadir, options.ssl, log) {
        Ok(tls) => tls,
        Err(e) => {
            // The first failure is the one to tell.
            let _second = base::block_on(database.close());
            return Err(ServeError::Open(OpenFailure::Option(e)));
        }
    };
    let server = Arc::new(Server {
        database,
        auth: AuthContext::default(),
        decoys: Decoys::default(),
        tls,
        log: Arc::clone(log),
        strangers,
    });
    let (served, left_behind) = match listen_and_accept(&server, options, ready, until) {
        Ok(left_behind) => (Ok(()), left_behind),
        Err(e) => (Err(e), 0),
    };
    served.and(stop::close(&server, left_behind))
}

/// Everything between an open directory and a closed one. Gives how many threads did not end.
fn listen_and_accept(
    server: &Arc<Server>,
    options: &Options,
    ready: impl FnOnce(Listening),
    until: impl Future<Output = ()>,
) -> Result<usize, ServeError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = Workers::start(Scheduling::default(), threads)
        .map_err(system("cannot start the serving threads"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("cannot start the accepting thread"))?;
    let door = Door {
        server: Arc::clone(server),
        registry: Arc::new(Registry::default()),
        by_admin: false,
    };
    let served = runtime.block_on(async {
        let bound = |e: std::io::Error| ServeError::System(e.to_string());
        let listeners = Listeners::bind(options).map_err(bound)?;
        let admins = Door {
            by_admin: true,
            ..door.clone()
        };
        let admin = Admin::start(options, admins, workers.work()).map_err(bound)?;
        let _pid_file = PidFile::write(options.pid_file.as_deref())?;
        for name in listeners.names() {
            server
                .log
                .note(format_args!("ready for connections on {name}"));
        }
        let admin_address = admin.as_ref().map(|a| a.address);
        if let Some(name) = admin_address {
            server
                .log
                .note(format_args!("ready for administrators on {name}"));
        }
        ready(Listening {
            addresses: listeners.addresses(),
            admin: admin_address,
            socket: options.socket.clone(),
        });
        let serve = |task| workers.serve(task);
        door.accept_until(listeners, until, serve).await;
        stop::drain(server, &door.registry).await;
        Ok(admin)
    });
    let left_behind = workers.stop(stop::THREADS);
    let admin = served?;
    let stuck = admin.is_some_and(|admin| admin.stop(stop::THREADS / 4));
    Ok(left_behind + usize::from(stuck))
}

/// Says what was opened and how.
fn report(database: &Open, options: &Options, log: &Log) {
    log.note(format_args!(
        "Tidemill {} on {}, {} of buffer pool",
        env!("CARGO_PKG_VERSION"),
        options.datadir.display(),
        size(options.buffer_pool_size),
    ));
    for line in database.recovery() {
        log.note(line);
    }
    for warning in &database.warnings {
        log.warning(warning);
    }
    if database.root_is_open() {
        log.warning(
            "root has no password: it is let in from this machine alone. Set one with \
             ALTER USER root@localhost IDENTIFIED BY '...'",
        );
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 && b % (1 << 30) == 0 => format!("{} GiB", b >> 30),
        b if b >= 1 << 20 => format!("{} MiB", b >> 20),
        b => format!("{} KiB", b >> 10),
    }
}

/// The file of `pid_file`; removed when dropped.
struct PidFile(Option<PathBuf>);

impl PidFile {
    fn write(path: Option<&Path>) -> Result<PidFile, ServeError> {
        let Some(path) = path else {
            return Ok(PidFile(None));
        };
        std::fs::write(path, format!("{}\n", std::process::id()))
            .map_err(system(&format!("cannot write {}", path.display())))?;
        Ok(PidFile(Some(path.to_owned())))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // It may be gone; a stale one does no harm.
            let _gone = std::fs::remove_file(path);
        }
    }
}

/// Ready when the process is asked to end: SIGTERM or SIGINT. SIGHUP changes nothing.
///
/// # Errors
/// Of the operating system. Call inside a runtime.
pub async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let mut signals: Vec<_> = [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ]
    .into_iter()
    .filter_map(|kind| signal(kind).ok().map(|s| (kind, s)))
    .collect();
    std::future::poll_fn(|cx| {
        for (kind, signal) in &mut signals {
            while signal.poll_recv(cx).is_ready() {
                if *kind != SignalKind::hangup() {
                    return Poll::Ready(());
                }
            }
        }
        Poll::Pending
    })
    .await;
}
