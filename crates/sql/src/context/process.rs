//! The list of connections: what each one is doing (SHOW PROCESSLIST), how often it did what (SHOW STATUS), and how to
//! interrupt it (KILL).
//!
//! A connection writes its own entry without touching anything shared; whoever lists or sums reads all entries.

use base::lock::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use engine::Interrupt;
use types::SqlError;

use super::com::COM_COUNT;
use sql_access::AccountId;
use sql_plan::plan::Plan;

/// Longest statement text that is kept for the process list, in bytes.
const MAX_INFO: usize = 64 << 10;

/// What a connection is doing, as the `Command` column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Command {
    /// Waiting for the client.
    Sleep = 0,
    /// A text statement.
    Query = 1,
    /// Running a prepared statement.
    Execute = 2,
    /// Preparing a statement.
    Prepare = 3,
    /// Logging in.
    Connect = 4,
    /// Another command of the protocol.
    Other = 5,
    /// Being sent the binary log from a position on.
    Dump = 6,
    /// Being sent the binary log by GTIDs.
    DumpGtid = 7,
}

impl Command {
    fn of(n: u8) -> Command {
        match n {
            1 => Command::Query,
            2 => Command::Execute,
            3 => Command::Prepare,
            4 => Command::Connect,
            5 => Command::Other,
            6 => Command::Dump,
            7 => Command::DumpGtid,
            _ => Command::Sleep,
        }
    }

    /// The word of the process list.
    pub fn as_str(self) -> &'static str {
        match self {
            Command::Sleep => "Sleep",
            Command::Query => "Query",
            Command::Execute => "Execute",
            Command::Prepare => "Prepare",
            Command::Connect => "Connect",
            Command::Other => "Daemon",
            Command::Dump => "Binlog Dump",
            Command::DumpGtid => "Binlog Dump GTID",
        }
    }
}

/// The user of the server's own threads. No account has their rows for its own, whatever its name.
pub const SYSTEM_USER: &str = "system user";

/// What a thread of the server does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doing {
    /// The `Command` column.
    pub command: Command,
    /// In words, where no statement runs.
    pub state: &'static str,
    /// For how long, in seconds; `None`: since it began with that.
    pub seconds: Option<u64>,
}

/// A thread of the server itself that stands in the list, as a replica's do. Nothing is written down while it works: it is asked when somebody looks, without
/// any lock of the list.
pub trait OwnThread: Send + Sync {
    /// What `performance_schema` calls it.
    fn name(&self) -> &'static str;

    /// What it does.
    fn doing(&self) -> Doing;

    /// It is to end (KILL). Nobody waits for that.
    fn end(&self);
}

/// A counter that one connection writes and anyone may read.
#[derive(Debug, Default)]
pub struct SingleWriterCounter(AtomicU64);

impl SingleWriterCounter {
    /// Adds `n`; only the owning connection calls this, so that it takes no locked instruction.
    #[inline]
    pub fn add(&self, n: u64) {
        let now = self.0.load(Ordering::Relaxed);
        self.0.store(now.wrapping_add(n), Ordering::Relaxed);
    }

    /// The present value.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a connection counts.
#[derive(Debug)]
pub struct Counts {
    /// Statements sent by the client.
    pub questions: SingleWriterCounter,
    /// Statements in all.
    pub queries: SingleWriterCounter,
    /// Bytes from the client; the server adds to it.
    pub bytes_received: SingleWriterCounter,
    /// Bytes to the client; the server adds to it.
    pub bytes_sent: SingleWriterCounter,
    /// `Com_` counters, by the numbers of [`super::com`].
    pub com: [SingleWriterCounter; COM_COUNT],
}

impl Default for Counts {
    fn default() -> Counts {
        Counts {
            questions: SingleWriterCounter::default(),
            queries: SingleWriterCounter::default(),
            bytes_received: SingleWriterCounter::default(),
            bytes_sent: SingleWriterCounter::default(),
            com: std::array::from_fn(|_| SingleWriterCounter::default()),
        }
    }
}

impl Counts {
    fn add_all(&self, other: &Counts) {
        self.questions.add(other.questions.get());
        self.queries.add(other.queries.get());
        self.bytes_received.add(other.bytes_received.get());
        self.bytes_sent.add(other.bytes_sent.get());
        for (a, b) in self.com.iter().zip(&other.com) {
            a.add(b.get());
        }
    }
}

#[derive(Debug, Default)]
struct Text {
    user: String,
    host: String,
    account: AccountId,
    db: Option<String>,
    info: Vec<u8>,
    state: &'static str,
}

/// One connection's entry.
pub struct Process {
    /// The connection's id.
    pub id: u64,
    /// What it counts.
    pub counts: Counts,
    command: AtomicU8,
    since_us: AtomicU64,
    text: Mutex<Text>,
    interrupt: Arc<Interrupt>,
    /// What it carries out, as long as that may be looked at.
    plan: Mutex<Option<Arc<Plan>>>,
    /// It is a thread of the server itself.
    own: OnceLock<Arc<dyn OwnThread>>,
}

/// A line of the process list.
#[derive(Debug, Clone)]
pub struct ProcessRow {
    /// The connection's id.
    pub id: u64,
    /// The user's name.
    pub user: String,
    /// Where the client is.
    pub host: String,
    /// The account it was authenticated as.
    pub account: AccountId,
    /// The default schema.
    pub db: Option<String>,
    /// What it is doing.
    pub command: Command,
    /// For how long, in seconds.
    pub seconds: u64,
    /// What that has come to.
    pub state: String,
    /// The statement's text.
    pub info: Option<Vec<u8>>,
    /// What `performance_schema` calls it, where it is a thread of the server itself.
    pub own: Option<&'static str>,
}

impl ProcessRow {
    /// In the place of a connection where there is none.
    pub(super) fn nobody() -> ProcessRow {
        ProcessRow {
            id: 0,
            user: String::new(),
            host: String::new(),
            account: AccountId::new("", ""),
            db: None,
            command: Command::Sleep,
            seconds: 0,
            state: String::new(),
            info: None,
            own: None,
        }
    }

    /// Whether it is a connection of this user.
    pub fn is_of(&self, user: &str) -> bool {
        self.own.is_none() && *self.account.user == *user
    }
}

impl Process {
    fn text(&self) -> MutexGuard<'_, Text> {
        self.text.lock()
    }

    /// How KILL reaches it.
    #[inline]
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// A command begins at `now_us` of the monotonic clock.
    #[inline]
    pub fn begin(&self, command: Command, info: &[u8], now_us: u64) {
        let mut t = self.text();
        t.info.clear();
        t.info.extend_from_slice(&info[..info.len().min(MAX_INFO)]);
        drop(t);
        self.since_us.store(now_us, Ordering::Relaxed);
        self.command.store(command as u8, Ordering::Relaxed);
    }

    /// The command has ended.
    #[inline]
    pub fn end(&self, now_us: u64) {
        self.since_us.store(now_us, Ordering::Relaxed);
        self.command.store(Command::Sleep as u8, Ordering::Relaxed);
    }

    /// The connection is another user's now, authenticated as `account`.
    pub fn set_user(&self, user: &str, host: &str, account: &AccountId) {
        let mut t = self.text();
        t.account = account.clone();
        t.user = user.to_owned();
        t.host = host.to_owned();
    }

    /// What a running statement does that is neither computing nor shown otherwise; empty: no such thing.
    pub fn set_state(&self, state: &'static str) {
        self.text().state = state;
    }

    /// A plan is carried out, or none any more.
    #[inline]
    pub(crate) fn show_plan(&self, plan: Option<Arc<Plan>>) {
        let before = std::mem::replace(&mut *self.plan.lock(), plan);
        drop(before);
    }

    /// The default schema is another one.
    pub fn set_db(&self, db: Option<&str>) {
        self.text().db = db.map(str::to_owned);
    }

    pub(crate) fn row(&self, now_us: u64) -> ProcessRow {
        let command = Command::of(self.command.load(Ordering::Relaxed));
        let since = self.since_us.load(Ordering::Relaxed);
        // Before any lock: it has locks of its own.
        let own = self.own.get().map(|own| (own.name(), own.doing()));
        let t = self.text();
        let seconds = now_us.saturating_sub(since) / 1_000_000;
        if let Some((name, doing)) = own {
            let runs = command != Command::Sleep;
            let state = match (runs, t.state) {
                (true, _) => self.state(command, &t),
                (false, "") => doing.state.to_owned(),
                (false, state) => state.to_owned(),
            };
            return ProcessRow {
                id: self.id,
                user: t.user.clone(),
                host: t.host.clone(),
                account: t.account.clone(),
                db: t.db.clone(),
                command: doing.command,
                seconds: doing.seconds.unwrap_or(seconds),
                state,
                info: (runs && !t.info.is_empty()).then(|| t.info.clone()),
                own: Some(name),
            };
        }
        ProcessRow {
            id: self.id,
            user: t.user.clone(),
            host: t.host.clone(),
            account: t.account.clone(),
            db: t.db.clone(),
            command,
            seconds,
            state: self.state(command, &t),
            info: (command != Command::Sleep && !t.info.is_empty()).then(|| t.info.clone()),
            own: None,
        }
    }

    /// What a command has come to.
    fn state(&self, command: Command, t: &Text) -> String {
        match command {
            Command::Sleep => String::new(),
            _ if !t.state.is_empty() => t.state.to_owned(),
            _ => {
                let progress = self.interrupt.progress.text();
                progress.unwrap_or_else(|| match self.interrupt.tables.waits() {
                    Some(_) => "Waiting for table metadata lock".to_owned(),
                    None => "executing".to_owned(),
                })
            }
        }
    }

    /// It is a thread of the server itself from now on.
    pub(crate) fn stands_for(&self, thread: Arc<dyn OwnThread>) {
        let _first = self.own.set(thread);
    }

    /// Whether it is one.
    pub fn is_own(&self) -> bool {
        self.own.get().is_some()
    }

    fn is_running(&self) -> bool {
        self.command.load(Ordering::Relaxed) != Command::Sleep as u8
    }
}

#[derive(Default)]
struct List {
    live: BTreeMap<u64, Arc<Process>>,
    max_live: usize,
}

/// All connections of the server.
#[derive(Default)]
pub struct ProcessList {
    list: Mutex<List>,
    next_id: AtomicU64,
    opened: AtomicU64,
    /// Sums of the connections that have ended.
    ended: Mutex<Counts>,
}

impl ProcessList {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock()
    }

    /// An id that no connection had before, from 1.
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A connection has begun.
    pub fn add(
        &self,
        id: u64,
        user: &str,
        host: &str,
        interrupt: Arc<Interrupt>,
        now_us: u64,
    ) -> Arc<Process> {
        let p = Arc::new(Process {
            id,
            counts: Counts::default(),
            command: AtomicU8::new(Command::Sleep as u8),
            since_us: AtomicU64::new(now_us),
            text: Mutex::new(Text {
                user: user.to_owned(),
                host: host.to_owned(),
                ..Text::default()
            }),
            interrupt,
            plan: Mutex::default(),
            own: OnceLock::new(),
        });
        self.opened.fetch_add(1, Ordering::Relaxed);
        let mut l = self.list();
        l.live.insert(id, Arc::clone(&p));
        l.max_live = l.max_live.max(l.live.len());
        p
    }

    /// A connection has ended.
    pub fn remove(&self, process: &Arc<Process>) {
        let mut l = self.list();
        let mine = l
            .live
            .get(&process.id)
            .is_some_and(|p| Arc::ptr_eq(p, process));
        if mine {
            l.live.remove(&process.id);
            let ended = self.ended.lock();
            ended.add_all(&process.counts);
        }
    }

    /// The lines of the process list, by id.
    pub fn rows(&self, now_us: u64) -> Vec<ProcessRow> {
        self.all().iter().map(|p| p.row(now_us)).collect()
    }

    /// All of them, by id.
    pub(crate) fn all(&self) -> Vec<Arc<Process>> {
        self.list().live.values().cloned().collect()
    }

    /// The account of a connection, if there is one of that id, and whether it is no account's, but a thread of the server itself.
    pub fn owner_of(&self, id: u64) -> Option<(AccountId, bool)> {
        let list = self.list();
        let of = |p: &Arc<Process>| (p.text().account.clone(), p.is_own());
        list.live.get(&id).map(of)
    }

    /// What a connection carries out at the moment.
    pub(crate) fn plan_of(&self, id: u64) -> Option<Arc<Plan>> {
        let process = self.list().live.get(&id).cloned()?;
        let plan = process.plan.lock();
        plan.clone()
    }

    /// KILL: interrupts the statement of a connection, and with `connection` ends the connection too.
    ///
    /// # Errors
    /// 1094.
    pub fn kill(&self, id: u64, connection: bool) -> Result<(), SqlError> {
        let p = self.list().live.get(&id).cloned();
        let p = p.ok_or_else(|| SqlError::no_such_thread(id))?;
        match p.own.get() {
            // It has no connection to lose; what it does at the moment is ended, and so is it.
            Some(own) => {
                if connection {
                    own.end();
                }
                if p.is_running() {
                    p.interrupt.kill_query();
                }
            }
            None if connection => p.interrupt.kill_connection(),
            None => p.interrupt.kill_query(),
        }
        Ok(())
    }

    /// Ends every connection (shutdown).
    pub fn kill_all(&self) {
        for p in self.list().live.values() {
            p.interrupt.kill_connection();
        }
    }

    /// Connections now, running now, most at once so far, opened in all.
    pub fn totals(&self) -> (u64, u64, u64, u64) {
        let l = self.list();
        let clients = || l.live.values().filter(|p| !p.is_own());
        let running = clients().filter(|p| p.is_running()).count();
        (
            clients().count() as u64,
            running as u64,
            l.max_live as u64,
            self.opened.load(Ordering::Relaxed),
        )
    }

    /// Sums over all connections that ever were.
    pub fn counts(&self) -> Counts {
        let sum = Counts::default();
        let l = self.list();
        sum.add_all(&self.ended.lock());
        for p in l.live.values() {
            sum.add_all(&p.counts);
        }
        sum
    }
}
