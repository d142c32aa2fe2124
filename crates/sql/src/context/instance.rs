//! What all sessions of a server share: the engine, the global variables, the process list, the accounts, the counters.
//!
//! Nothing in here waits; whatever touches rows is done by a session.

use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use base::lock::Mutex;
use base::{Clock, Environment, Random};
use engine::{Engine, TempShare};
use types::SqlError;

use super::com::COM_NAMES;
use super::deadlocks::Deadlocks;
use super::gtid::OwnedGtids;
use super::persisted::PersistedStore;
use super::process::ProcessList;
use super::replica::Replica;
use crate::context::accounts::Accounts;
use crate::context::accounts::components::Components;
use sql_access::AccountId;
use sql_access::login::Logins;
use sql_exec::NamedLocks;
use sql_exec::binary_log::BinaryLog;
use sql_exec::change_log::ChangeLog;
use sql_expr::memory::{Budget, Share};
use sql_expr::vars::{GlobalVars, LiveVars, StatusRegistry, StatusSource, StatusValue, VarValue};
use sql_parser::ast::Account;
use types::temporal::Zone;

/// Makes what is stored of a password by an authentication plugin: `(plugin, password)`; `None` for a plugin it does not
/// know. The server gives it, since authentication is the protocol's business.
pub type PasswordHasher = Arc<dyn Fn(&str, &[u8]) -> Option<Vec<u8>> + Send + Sync>;

/// Makes a new TLS context of the variables' present values and puts it in the old one's place. Where that fails, the old one
/// stays, or with `true` there is no TLS from then on; the text says why.
pub type TlsReload = Arc<dyn Fn(bool) -> Result<(), String> + Send + Sync>;

/// Says whether a password is the one of which an authentication plugin stored something: `(plugin, stored, password)`.
pub type PasswordVerifier = Arc<dyn Fn(&str, &[u8], &[u8]) -> bool + Send + Sync>;

/// Facts the server knows of itself, for the variables and functions that report them.
#[derive(Clone, Default)]
pub struct InstanceOptions {
    /// Values of read-only variables (`port`, `datadir`, `hostname`, `server_uuid` …) by name.
    pub facts: Vec<(&'static str, VarValue)>,
    /// The machine's time zone (`time_zone = SYSTEM`).
    pub system_zone: Zone,
    /// Identity of the server in UUID().
    pub node: [u8; 6],
    /// For CREATE USER and the like; without it an account can only have an empty password or a given hash.
    pub password_hasher: Option<PasswordHasher>,
    /// For REPLACE and for the history of passwords; without it no password is the one before.
    pub password_verifier: Option<PasswordVerifier>,
    /// Asks the server to stop, for the SHUTDOWN statement; without it the statement is refused with 1235.
    pub shutdown: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// Something that all sessions of an account have together, as long as one of them has it.
struct Shares<T>(Mutex<HashMap<AccountId, Weak<T>>>);

impl<T> Default for Shares<T> {
    fn default() -> Self {
        Shares(Mutex::default())
    }
}

impl<T: Default> Shares<T> {
    fn of(&self, account: &AccountId) -> Arc<T> {
        let mut all = self.0.lock();
        if let Some(share) = all.get(account).and_then(Weak::upgrade) {
            return share;
        }
        // Those that nobody has any more.
        all.retain(|_, share| share.strong_count() > 0);
        let share = Arc::<T>::default();
        all.insert(account.clone(), Arc::downgrade(&share));
        share
    }
}

/// A server, or an embedded database: one engine and everything the SQL layer keeps beside it.
pub struct Instance {
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) globals: Arc<GlobalVars>,
    pub(crate) processes: ProcessList,
    pub(crate) accounts: Accounts,
    pub(crate) logins: Logins,
    pub(crate) named_locks: NamedLocks,
    pub(crate) components: Components,
    pub(crate) status: StatusRegistry,
    pub(crate) options: InstanceOptions,
    pub(crate) started_us: u64,
    /// Counts that only the server makes.
    pub server: ServerCounts,
    pub(crate) prepared: Arc<super::prepared::PreparedCount>,
    /// What all sessions hold.
    pub(crate) memory: Arc<Budget>,
    /// What the sessions of each user hold of it.
    shares: Shares<Share>,
    /// What they take of the room for temporary files.
    temp_shares: Shares<TempShare>,
    pub(crate) deadlocks: Deadlocks,
    flushed_us: AtomicU64,
    /// Set by a server that speaks TLS.
    pub(crate) tls_reload: OnceLock<TlsReload>,
    pub(crate) binary_log: OnceLock<Arc<dyn BinaryLog>>,
    /// The names of transactions that sessions are at work on.
    pub(crate) owned_gtids: Arc<OwnedGtids>,
    /// What carries BINLOG statements out (`events`).
    pub(super) row_events: OnceLock<Box<dyn Any + Send + Sync>>,
    /// Where changes are kept for the binary log.
    pub(super) change_log: OnceLock<Arc<dyn ChangeLog>>,
    /// Where SET PERSIST keeps values: set by a server.
    pub(crate) persisted: OnceLock<PersistedStore>,
    /// The program around it.
    pub(super) host: OnceLock<Arc<dyn super::host::Host>>,
    /// What makes this server a replica of another: set by a server.
    pub(crate) replica: OnceLock<Weak<dyn Replica>>,
}

/// The variables that say what was done.
struct GtidVars(Arc<dyn BinaryLog>, Arc<OwnedGtids>);

impl LiveVars for GtidVars {
    fn value(&self, name: &str) -> Option<VarValue> {
        let set = match name {
            "gtid_executed" => self.0.executed(),
            "gtid_purged" => self.0.purged(),
            "gtid_owned" => return Some(VarValue::Text(self.1.shown().into())),
            _ => return None,
        };
        Some(VarValue::Text(set.to_string().into()))
    }

    fn is_behind(&self) -> bool {
        self.0.is_behind()
    }
}

/// The variable that limits what all sessions hold.
const MEMORY_LIMIT: &str = "global_connection_memory_limit";

/// Counts of the server's own, outside any session.
#[derive(Debug, Default)]
pub struct ServerCounts {
    /// Logins that failed.
    pub aborted_connects: base::counters::Counter,
    /// Connections that ended without COM_QUIT.
    pub aborted_clients: base::counters::Counter,
    /// Connections refused because there were too many.
    pub max_connections_errors: base::counters::Counter,
}

impl Instance {
    /// Joins an engine and its variables, makes the system schema on first start, and reads the accounts.
    ///
    /// # Errors
    /// What reading or making the account tables fails with.
    pub async fn open(
        engine: Arc<Engine>,
        environment: &Environment,
        globals: Arc<GlobalVars>,
        options: InstanceOptions,
    ) -> Result<Arc<Instance>, SqlError> {
        for (name, value) in &options.facts {
            globals.set_fact(name, value.clone());
        }
        let clock = Arc::clone(&environment.clock);
        // Boxed: compiled here and not once more where this is awaited.
        let load: Pin<Box<dyn Future<Output = Result<Accounts, SqlError>> + Send + '_>> =
            Box::pin(Accounts::open(&engine, clock.wall_us()));
        let accounts = load.await?;
        let installed: Pin<Box<dyn Future<Output = Result<Components, SqlError>> + Send + '_>> =
            Box::pin(Components::open(&engine));
        let components = installed.await?;
        let instance = Arc::new(Instance {
            started_us: clock.now_us(),
            flushed_us: AtomicU64::new(clock.now_us()),
            engine,
            clock,
            random: Arc::clone(&environment.random),
            globals,
            processes: ProcessList::default(),
            accounts,
            logins: Logins::default(),
            named_locks: NamedLocks::default(),
            components,
            status: StatusRegistry::new(),
            options,
            server: ServerCounts::default(),
            prepared: Arc::default(),
            tls_reload: OnceLock::new(),
            persisted: OnceLock::new(),
            host: OnceLock::new(),
            binary_log: OnceLock::new(),
            change_log: OnceLock::new(),
            owned_gtids: Arc::default(),
            row_events: OnceLock::new(),
            replica: OnceLock::new(),
            memory: Arc::default(),
            shares: Shares::default(),
            temp_shares: Shares::default(),
            deadlocks: Deadlocks::default(),
        });
        instance.obey_variables();
        instance.obey_offline_mode();
        instance.obey_server_mode(&instance.engine);
        instance.watch_deadlocks();
        let source = Arc::downgrade(&instance);
        instance.status.register(Arc::new(ServerStatus(source)));
        Ok(instance)
    }

    /// Joins the global variables that the engine obeys to it.
    fn obey_variables(self: &Arc<Self>) {
        let set = |engine: &Engine, name: &str, v: u64| match name {
            "innodb_flush_log_at_trx_commit" => engine.set_flush_at_commit(v as u8),
            "innodb_compression_level" => engine.set_compression_level(v as u8),
            "innodb_cmp_per_index_enabled" => engine.count_packed_indexes(v != 0),
            "innodb_deadlock_detect" => engine.locks().detect_deadlocks(v != 0),
            "innodb_rollback_on_timeout" => engine.set_rollback_on_timeout(v != 0),
            "innodb_autoinc_lock_mode" => engine.set_auto_lock_mode(v as u8),
            "innodb_stats_auto_recalc" => engine.set_auto_stats(v != 0),
            "innodb_defragment" => engine.set_defragment(v != 0),
            _ => {}
        };
        for name in [
            "innodb_flush_log_at_trx_commit",
            "innodb_compression_level",
            "innodb_cmp_per_index_enabled",
            "innodb_deadlock_detect",
            "innodb_rollback_on_timeout",
            "innodb_autoinc_lock_mode",
            "innodb_stats_auto_recalc",
            "innodb_defragment",
        ] {
            if let Some(v) = self.globals.value_by_name(name) {
                set(&self.engine, name, v.as_u64());
            }
        }
        let temporary = self.globals.value_by_name("innodb_temp_data_file_path");
        if let Some(most) = temporary.and_then(|v| v.as_str().and_then(most_of_file)) {
            self.engine.temp_files().set_limit(most);
        }
        if let Some(v) = self.globals.value_by_name(MEMORY_LIMIT) {
            self.memory.set_limit(v.as_u64());
        }
        let engine = Arc::downgrade(&self.engine);
        let instance = Arc::downgrade(self);
        let memory = Arc::clone(&self.memory);
        self.globals.observe(move |name, value| {
            if name == MEMORY_LIMIT {
                memory.set_limit(value.as_u64());
            }
            if matches!(name, "mandatory_roles" | "partial_revokes")
                && let Some(instance) = instance.upgrade()
            {
                instance.accounts.touch();
            }
            if let Some(engine) = engine.upgrade() {
                set(&engine, name, value.as_u64());
            }
        });
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The server's variables.
    pub fn globals(&self) -> &Arc<GlobalVars> {
        &self.globals
    }

    /// What all sessions hold, and may hold.
    pub fn memory(&self) -> &Arc<Budget> {
        &self.memory
    }

    /// What the sessions of an account hold, and may hold.
    pub(crate) fn memory_of(&self, account: &AccountId) -> Arc<Share> {
        self.shares.of(account)
    }

    /// What the sessions of an account take of the room for temporary files.
    pub(crate) fn temporary_of(&self, account: &AccountId) -> Arc<TempShare> {
        self.temp_shares.of(account)
    }

    /// The connections.
    pub fn processes(&self) -> &ProcessList {
        &self.processes
    }

    /// The roles that every account has (`mandatory_roles`); a name that is none is passed over.
    pub(crate) fn mandatory_roles(&self) -> Vec<AccountId> {
        let Some(VarValue::Text(list)) = self.globals.value_by_name("mandatory_roles") else {
            return Vec::new();
        };
        let parsed = sql_parser::parse_accounts(list.as_bytes()).unwrap_or_default();
        let named = parsed.iter().filter_map(|a| match a {
            Account::Named { user, host } => Some(AccountId::new(user, host)),
            Account::CurrentUser => None,
        });
        named.collect()
    }

    /// The accounts, for authentication.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// What is remembered of logins.
    pub fn logins(&self) -> &Logins {
        &self.logins
    }

    /// The status variables; crates outside register their own sources.
    pub fn status(&self) -> &StatusRegistry {
        &self.status
    }

    /// Says how ALTER INSTANCE RELOAD TLS is carried out. Without, as in an embedded database, the statement is refused with
    /// 1235. The first call counts.
    pub fn on_reload_tls(&self, reload: TlsReload) {
        let _second = self.tls_reload.set(reload);
    }

    /// Joins the binary log to what statements say of it. The first call counts.
    pub fn set_binary_log(&self, log: Arc<dyn BinaryLog>) {
        self.globals.set_live(Box::new(GtidVars(
            log.clone(),
            Arc::clone(&self.owned_gtids),
        )));
        let _second = self.binary_log.set(log);
    }

    /// The binary log, where it is on.
    pub fn binary_log(&self) -> Option<&Arc<dyn BinaryLog>> {
        self.binary_log.get()
    }

    /// An id for a new connection, for its greeting and [`super::Session::new`].
    pub fn next_connection_id(&self) -> u64 {
        self.processes.next_id()
    }

    /// The clock: what a user has set a time for waits by it.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Microseconds since 1970.
    pub fn wall_us(&self) -> i64 {
        self.clock.wall_us()
    }

    /// Monotonic microseconds.
    pub(crate) fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    /// Seconds since start.
    pub fn uptime(&self) -> u64 {
        self.clock.now_us().saturating_sub(self.started_us) / 1_000_000
    }

    pub(crate) fn flush_status(&self) {
        self.flushed_us
            .store(self.clock.now_us(), Ordering::Relaxed);
    }

    fn since_flush(&self) -> u64 {
        let at = self.flushed_us.load(Ordering::Relaxed);
        self.clock.now_us().saturating_sub(at) / 1_000_000
    }

    /// The line that COM_STATISTICS answers with.
    pub fn statistics(&self) -> String {
        let uptime = self.uptime();
        let (threads, ..) = self.processes.totals();
        let questions = self.processes.counts().questions.get();
        let tables = self.engine.catalog().tables().count();
        let per_second = questions as f64 / uptime.max(1) as f64;
        format!(
            "Uptime: {uptime}  Threads: {threads}  Questions: {questions}  Slow queries: 0  Opens: {tables}  \
             Flush tables: 1  Open tables: {tables}  Queries per second avg: {per_second:.3}"
        )
    }
}

/// The bytes of the attribute `max` of a data file: `ibtmp1:12M:autoextend:max:5G`.
fn most_of_file(path: &str) -> Option<u64> {
    let (_, size) = path.rsplit_once(":max:")?;
    let end = size
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(size.len());
    let (number, unit) = size.split_at(end);
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Reports the instance's own counters.
struct ServerStatus(std::sync::Weak<Instance>);

impl StatusSource for ServerStatus {
    fn report(&self, out: &mut dyn FnMut(&str, StatusValue)) {
        let Some(i) = self.0.upgrade() else { return };
        let mut count = |name: &str, n: u64| out(name, StatusValue::Count(n));
        count("Uptime", i.uptime());
        count("Uptime_since_flush_status", i.since_flush());
        let (connected, running, most, opened) = i.processes.totals();
        count("Threads_connected", connected);
        count("Threads_running", running);
        count("Threads_created", opened);
        count("Max_used_connections", most);
        count("Connections", opened);
        count("Aborted_clients", i.server.aborted_clients.get());
        count("Aborted_connects", i.server.aborted_connects.get());
        count(
            "Connection_errors_max_connections",
            i.server.max_connections_errors.get(),
        );
        let c = i.processes.counts();
        count("Prepared_stmt_count", i.prepared.get());
        count("Global_connection_memory", i.memory.held());
        session_counts(&c, &mut count);
        engine_counts(&i.engine, &mut count);
    }
}

/// The counters that a session and the server have both.
pub(crate) fn session_counts(c: &super::process::Counts, count: &mut dyn FnMut(&str, u64)) {
    count("Questions", c.questions.get());
    count("Queries", c.queries.get());
    count("Bytes_received", c.bytes_received.get());
    count("Bytes_sent", c.bytes_sent.get());
    for (name, n) in COM_NAMES.iter().zip(&c.com) {
        if *name != "Com_other" {
            count(name, n.get());
        }
    }
}

fn engine_counts(engine: &Engine, count: &mut dyn FnMut(&str, u64)) {
    let c = engine.counters();
    let page = c.page_size;
    count("Innodb_rows_read", c.rows_read);
    count("Innodb_rows_inserted", c.rows_inserted);
    count("Innodb_rows_updated", c.rows_updated);
    count("Innodb_rows_deleted", c.rows_deleted);
    count("Handler_commit", c.commits);
    count("Handler_rollback", c.rollbacks);
    count("Handler_write", c.rows_inserted);
    count("Handler_update", c.rows_updated);
    count("Handler_delete", c.rows_deleted);
    count("Handler_read_rnd_next", c.rows_read);
    count("Innodb_row_lock_waits", c.row_lock_waits);
    count("Tidemill_locks", c.locks);
    count("Tidemill_lock_memory", c.lock_bytes);
    count("Tidemill_purge_given_up", c.failed_purges);
    count("Tidemill_rollbacks_given_up", c.failed_rollbacks);
    count("Innodb_buffer_pool_pages_total", c.pool_pages);
    count("Innodb_buffer_pool_pages_free", c.pool_pages_free);
    let used = c.pool_pages.saturating_sub(c.pool_pages_free);
    count("Innodb_buffer_pool_pages_data", used);
    count("Innodb_buffer_pool_bytes_data", used * page);
    count("Innodb_buffer_pool_reads", c.pages_read);
    count("Innodb_buffer_pool_read_ahead", c.pages_read_ahead);
    count("Innodb_pages_read", c.pages_read);
    count("Innodb_pages_written", c.pages_written);
    count("Innodb_buffer_pool_pages_flushed", c.pages_written);
    count("Innodb_data_reads", c.pages_read);
    count("Innodb_data_read", c.pages_read * page);
    count("Innodb_data_writes", c.pages_written + c.log_writes);
    count("Innodb_data_written", c.pages_written * page + c.log_bytes);
    count("Innodb_data_fsyncs", c.data_syncs + c.log_syncs);
    count("Innodb_os_log_fsyncs", c.log_syncs);
    count("Innodb_os_log_written", c.log_bytes);
    count("Innodb_log_writes", c.log_writes);
    count("Innodb_log_write_requests", c.log_records);
    count("Innodb_redo_log_current_lsn", c.log_end);
    count("Innodb_redo_log_flushed_to_disk_lsn", c.log_durable);
    count(
        "Innodb_redo_log_checkpoint_lsn",
        c.log_end.saturating_sub(c.checkpoint_age),
    );
    let tables = engine.catalog().tables().count() as u64;
    count("Open_tables", tables);
    count("Open_table_definitions", tables);
    let (open, opened) = engine.pager().open_files();
    count("Innodb_num_open_files", open);
    count("Open_files", open);
    count("Opened_files", opened);
}

#[cfg(test)]
mod tests {
    use super::most_of_file;

    #[test]
    fn a_data_file_may_have_a_most() {
        assert_eq!(most_of_file("ibtmp1:12M:autoextend"), None);
        assert_eq!(most_of_file("ibtmp1:12M:autoextend:max:5G"), Some(5 << 30));
        assert_eq!(most_of_file("x:12M:autoextend:max:7x"), None);
    }
}
