//! The server: listens, serves every connection as a task of its own, and stops without losing what it acknowledged.
//!
//! Modules: `listen`, `accept` and `admin` (sockets), `budget` (memory), `descriptors` (files), `stop` (the end), `workers` (the event loops),
//! `server_state` (what connections share), `registry` (who is connected), `socket`, `peer`, `tls`, `stream` and `packet_stream` (from a socket to
//! bytes to packets), `login`, `decoys`, `connection`, `lifecycle` and `command` (what a client asks), `results`, `encode`, `names`,
//! `definitions`, `prepared` and `cursor` (what it gets), `catch_unwind` (a panic stays in its connection). The server runs no SQL of its own
//! and knows nothing of pages.

mod accept;
mod admin;
mod budget;
mod catch_unwind;
mod command;
mod compressed;
mod connection;
mod cursor;
mod decoys;
mod definitions;
mod descriptors;
mod dump;
mod encode;
mod error;
mod lifecycle;
mod line;
mod listen;
mod login;
mod names;
mod packet_stream;
mod peer;
mod prepared;
mod presence;
mod registry;
mod results;
mod server_state;
mod socket;
mod stop;
mod stream;
mod system_users;
mod tls;
mod wait_monitor;
mod workers;

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;

use replication::replica::ReplicaServer;
use tidemill::open::{OpenDirectory, OpenFailure};
use wire::auth::AuthContext;

use crate::host::Program;
use crate::log::Log;
use crate::open::{Opened, open, recovery};
use crate::options::{Level, Notice, Options};
use accept::Acceptor;
use admin::Admin;
use budget::Room;
use decoys::Decoys;
pub use error::ServeError;
use error::system;
use listen::Listeners;
use registry::Registry;
use server_state::Server;
use wait_monitor::WaitMonitor;
use workers::Workers;

/// What temporary files may take in any case, in bytes.
const LEAST_TEMPORARY: u64 = 64 << 20;

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
    let (options, room) = fit(options, &log);
    let served = share_descriptors(options, &log).and_then(|(options, max_unauthenticated)| {
        let options = &options;
        let opened = base::block_on(open(options)).map_err(ServeError::Open)?;
        report(&opened, options, &log);
        let database = opened.directory;
        if let Some(room) = room {
            database.instance.memory().set_ceiling(room.sessions);
            let files = database.engine.temp_files();
            files.set_unwritten_limit(room.unwritten);
            // Sessions have three quarters of what is there beside the pool.
            database.engine.locks().lower_limit(room.sessions / 3);
        }
        // So that no statement fills the disk under tables and logs, where `innodb_temp_data_file_path` does not say what it may take.
        if let Some(free) = base::real::free_bytes(&options.datadir) {
            let files = database.engine.temp_files();
            files.set_usual_limit((free / 2).max(LEAST_TEMPORARY));
        }
        let told = Arc::clone(&log);
        let tell = Arc::new(move |text: &str| told.error(text));
        database.engine.on_notice(tell);
        let archive = database.binary_log.as_ref().and_then(|b| b.archive.clone());
        if let Some(archive) = archive {
            let told = Arc::clone(&log);
            archive.on_change(Arc::new(move |error, text| match error {
                true => told.error(text),
                false => told.note(text),
            }));
        }
        let told = Arc::clone(&log);
        let note = Arc::new(move |text: &str| told.note(text));
        database.instance.on_report(note);
        database
            .instance
            .runs_in(Arc::new(Program(Arc::clone(&log))));
        serve_open((database, max_unauthenticated), options, &log, ready, until)
    });
    match &served {
        Ok(()) => log.note("shutdown complete"),
        Err(e) => log.error(e),
    }
    served
}

/// The options as far as the memory goes that the process may use, and how that is divided, where it is known.
fn fit(options: &Options, log: &Log) -> (Options, Option<Room>) {
    let Some(room) = budget::available().map(|bytes| budget::divide(options, bytes)) else {
        return (options.clone(), None);
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
    (options, Some(room))
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
    let max_unauthenticated = usize::try_from(shares.unauthenticated).unwrap_or(usize::MAX);
    let options = Options {
        max_connections: u32::try_from(shares.connections).unwrap_or(u32::MAX),
        innodb_open_files: Some(shares.tables),
        open_files_limit: available,
        ..options
    };
    Ok((options, max_unauthenticated))
}

fn serve_open(
    (database, max_unauthenticated): (OpenDirectory, usize),
    options: &Options,
    log: &Arc<Log>,
    ready: impl FnOnce(Listening),
    until: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let tls = match tls::start(&database.instance, &options.datadir, options.ssl, log) {
        Ok(tls) => tls,
        Err(e) => {
            // The first failure is the one to tell.
            let _second = base::block_on(database.close());
            return Err(ServeError::Open(OpenFailure::Option(e)));
        }
    };
    let replica = match base::block_on(ReplicaServer::start_with(
        &database.instance,
        &options.replicate,
    )) {
        Ok(replica) => replica,
        Err(e) => {
            let _second = base::block_on(database.close());
            return Err(ServeError::Open(OpenFailure::Sql(e)));
        }
    };
    let server = Arc::new(Server {
        database,
        auth: AuthContext::default(),
        decoys: Decoys::default(),
        tls,
        log: Arc::clone(log),
        max_unauthenticated,
    });
    // To the end: stopping waits too.
    let _monitor = WaitMonitor::start(&server.database.engine, Arc::clone(log));
    let listened = listen_and_accept(&server, options, ready, until);
    base::block_on(replica.stop());
    drop(replica);
    let (served, left_behind) = match listened {
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
    let workers = Workers::start(threads).map_err(system("cannot start the serving threads"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("cannot start the accepting thread"))?;
    let acceptor = Acceptor {
        server: Arc::clone(server),
        registry: Arc::new(Registry::default()),
        by_admin: false,
    };
    let served = runtime.block_on(async {
        let bound = |e: std::io::Error| ServeError::System(e.to_string());
        let listeners = Listeners::bind(options).map_err(bound)?;
        let admins = Acceptor {
            by_admin: true,
            ..acceptor.clone()
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
        acceptor.accept_until(listeners, until, serve).await;
        stop::drain(server, &acceptor.registry).await;
        Ok(admin)
    });
    let left_behind = workers.stop(stop::THREADS);
    let admin = served?;
    let stuck = admin.is_some_and(|admin| admin.stop(stop::THREADS / 4));
    Ok(left_behind + usize::from(stuck))
}

/// Says what was opened and how.
fn report(opened: &Opened, options: &Options, log: &Log) {
    log.note(format_args!(
        "Tidemill {} on {}, {} of buffer pool",
        env!("CARGO_PKG_VERSION"),
        options.datadir.display(),
        size(options.buffer_pool_size),
    ));
    for line in recovery(&opened.directory.report) {
        log.note(line);
    }
    for warning in &opened.warnings {
        log.warning(warning);
    }
    if root_has_no_password(&opened.directory) {
        log.warning(
            "root has no password: it is let in from this machine alone. Set one with \
             ALTER USER root@localhost IDENTIFIED BY '...'",
        );
    }
}

fn root_has_no_password(database: &OpenDirectory) -> bool {
    let state = database.instance.accounts().snapshot();
    let mut roots = state.iter().filter(|a| &*a.id.user == "root");
    roots.any(|a| a.auth_string.is_empty() && !a.locked)
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
