//! The server: listens, serves every connection as a task of its own, and stops without losing what it acknowledged.
//!
//! Rooms: `listen` (sockets), `workers` (the threads that serve), `movable` and `work` (long work leaves them), `registry`
//! (who is connected), `stream`, `tls` and `link` (bytes and packets), `login`, `connection` and `command` (what a client
//! asks), `results`, `encode` and `cursor` (what it
//! gets), `caught` (a panic stays in its connection). The server runs no SQL of its own and knows nothing of pages.

mod caught;
mod command;
mod connection;
mod cursor;
mod definitions;
mod encode;
mod link;
mod listen;
mod login;
pub(crate) mod movable;
mod prepared;
mod registry;
mod results;
mod stream;
mod tls;
mod work;
mod workers;

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use wire::auth::AuthContext;
use wire::packet::PacketWriter;
use wire::response::write_err;

use crate::log::Log;
use crate::open::{Open, OpenFailure, open};
use crate::options::{Level, Notice, Options};
use listen::Listeners;
use login::Decoys;
use registry::Registry;
use stream::Incoming;
use tls::Tls;
pub use workers::Scheduling;
use workers::Workers;

/// How long running statements may go on once the server stops, and again once they have been interrupted.
const GRACE: Duration = Duration::from_secs(5);
/// How long nobody is let in after the process ran out of descriptors.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);
/// Files that are open beside the clients' sockets: log, tables, the runtime's own.
const OTHER_FILES: u64 = 100;
/// ER_CON_COUNT_ERROR.
const TOO_MANY_CONNECTIONS: u16 = 1040;

/// What all connections share.
pub(crate) struct Server {
    pub(crate) database: Open,
    pub(crate) auth: AuthContext,
    pub(crate) decoys: Decoys,
    pub(crate) tls: Arc<Tls>,
    pub(crate) log: Arc<Log>,
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
    let served = base::block_on(open(options))
        .map_err(ServeError::Open)
        .and_then(|database| {
            report(&database, options, &log);
            let told = Arc::clone(&log);
            database
                .engine
                .on_notice(Arc::new(move |text| told.error(text)));
            serve_open(database, options, &log, ready, until)
        });
    match &served {
        Ok(()) => log.note("shutdown complete"),
        Err(e) => log.error(e),
    }
    served
}

fn serve_open(
    database: Open,
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
    });
    let served = listen_and_accept(&server, options, ready, until);
    let closed = base::block_on(server.database.close()).map_err(ServeError::Close);
    served.and(closed)
}

/// Everything between an open directory and a closed one.
fn listen_and_accept(
    server: &Arc<Server>,
    options: &Options,
    ready: impl FnOnce(Listening),
    until: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = Workers::start(Scheduling::default(), threads)
        .map_err(system("cannot start the serving threads"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("cannot start the accepting thread"))?;
    let registry = Arc::new(Registry::default());
    let served = runtime.block_on(async {
        let listeners = Listeners::bind(options).map_err(|e| ServeError::System(e.to_string()))?;
        let _pid_file = PidFile::write(options.pid_file.as_deref())?;
        for name in listeners.names() {
            server
                .log
                .note(format_args!("ready for connections on {name}"));
        }
        ready(Listening {
            addresses: listeners.addresses(),
            socket: options.socket.clone(),
        });
        accept_until(server, &registry, &workers, listeners, until).await;
        drain(server, &registry).await;
        Ok(())
    });
    workers.stop(GRACE);
    served
}

/// Accepts connections until `until` is ready.
async fn accept_until(
    server: &Arc<Server>,
    registry: &Arc<Registry>,
    workers: &Workers,
    mut listeners: Listeners,
    until: impl Future<Output = ()>,
) {
    let mut until = pin!(until);
    loop {
        let incoming = {
            let mut accept = pin!(listeners.accept());
            let next = std::future::poll_fn(|cx| {
                if until.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                accept.as_mut().poll(cx).map(Some)
            });
            next.await
        };
        match incoming {
            None => return,
            Some(Ok(incoming)) => begin(server, registry, workers, incoming),
            Some(Err(e)) => {
                // One that was gone before it was accepted, or no descriptor is left: then others must end first.
                if !matches!(e.kind(), std::io::ErrorKind::ConnectionAborted) {
                    server
                        .log
                        .error(format_args!("accepting a connection: {e}"));
                    tokio::time::sleep(OUT_OF_DESCRIPTORS).await;
                }
            }
        }
    }
}

/// Starts serving one connection, or turns it away.
fn begin(server: &Arc<Server>, registry: &Arc<Registry>, workers: &Workers, incoming: Incoming) {
    let instance = &server.database.instance;
    let id = instance.next_connection_id();
    let most = instance.globals().hot().max_connections();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    match registry.enter(id, most) {
        Some(seat) => workers.spawn(connection::serve(Arc::clone(server), incoming, id, seat)),
        None => {
            instance.server.max_connections_errors.inc();
            workers.spawn(too_many(incoming));
        }
    }
}

/// Error 1040 in place of a greeting.
async fn too_many(incoming: Incoming) {
    let Ok(mut stream) = incoming.attach() else {
        return;
    };
    let mut writer = PacketWriter::new();
    write_err(
        TOO_MANY_CONNECTIONS,
        "08004",
        b"Too many connections",
        &mut writer,
    );
    // Few bytes into an empty buffer: it takes them at once, or the client is gone.
    let _gone = std::future::poll_fn(|cx| stream.poll_write(cx, writer.pending())).await;
    stream.close_sending().await;
}

/// Lets running statements finish, briefly; interrupts those that do not.
async fn drain(server: &Server, registry: &Registry) {
    server.log.note(format_args!(
        "stopping; {} connections are open",
        registry.len()
    ));
    registry.stop();
    if tokio::time::timeout(GRACE, registry.empty()).await.is_ok() {
        return;
    }
    server.log.note(format_args!(
        "interrupting the statements of {} connections",
        registry.len()
    ));
    registry.kill();
    if tokio::time::timeout(GRACE, registry.empty()).await.is_err() {
        let left = registry.len();
        server
            .log
            .warning(format_args!("{left} connections are cut off"));
    }
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
    if let Some(files) = open_files()
        && files < u64::from(options.max_connections) + OTHER_FILES
    {
        log.warning(format_args!(
            "max_connections is {}, but the process may have only {files} files open; see ulimit -n",
            options.max_connections
        ));
    }
    if database.root_is_open() {
        log.warning(
            "root has no password: it is let in from this machine alone. Set one with \
             ALTER USER root@localhost IDENTIFIED BY '...'",
        );
    }
}

/// How many files (connections, tables, the log) the process may have open: all that the system allows it.
fn open_files() -> Option<u64> {
    rlimit::increase_nofile_limit(u64::MAX).ok()
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
