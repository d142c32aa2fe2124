//! One connection: whose it is, and its variables, transaction, prepared statements and diagnostics.
//!
//! A session never writes to a socket and never blocks a thread: results go to a [`ResultSink`](crate::ResultSink), waits are futures.
//! Whatever it must undo when it ends is undone by [`Session::close`], which its owner awaits.

use base::lock::Mutex;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use types::{SqlError, Value, Warning};

use crate::cache::StatementCache;
use sql_access::login::Login;
use sql_access::needs::Need;
use sql_access::{AccountId, SecurityContext};
use sql_expr::memory::{Account, Charge};
use sql_expr::vars::{SessionVars, SqlMode};
use sql_expr::{SessionFacts, UserVars};
use sql_plan::bind::locked::LockedTables;
use sql_plan::sink::StateChange;

use super::before::Before;
use super::com::Com;
use super::diagnostics::Diagnostics;
use super::facts;
use super::gate::Gate;
use super::gtid::Gtids;
use super::handlers::Handlers;
use super::instance::Instance;
use super::prepared::{Prepared, PreparedStatements};
use super::process::Process;
use super::programs::Programs;
use super::replayed::Replayed;
use super::transport::PeerTls;
use super::xa::XaBranch;
use types::collation::client::ClientCollation;

/// What a session's long operations are waited for with. Boxed, so that their code is compiled in this crate and not once
/// more wherever they are awaited.
pub type Outcome<'a> = Pin<Box<dyn Future<Output = Result<(), SqlError>> + Send + 'a>>;

/// What the client said it can do, as far as statements depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientFlags {
    /// `CLIENT_MULTI_STATEMENTS`: several statements in one text.
    pub multi_statements: bool,
    /// `CLIENT_FOUND_ROWS`: UPDATE reports matched rows.
    pub found_rows: bool,
    /// `CLIENT_MULTI_RESULTS`: several results of one statement.
    pub multi_results: bool,
    /// `CLIENT_INTERACTIVE`: `wait_timeout` starts from `interactive_timeout`.
    pub interactive: bool,
}

impl Default for ClientFlags {
    fn default() -> Self {
        ClientFlags {
            multi_statements: true,
            found_rows: false,
            multi_results: true,
            interactive: false,
        }
    }
}

/// One connection to an [`Instance`].
pub struct Session {
    pub(crate) instance: Arc<Instance>,
    pub(crate) engine: engine::Session,
    pub(crate) vars: SessionVars,
    pub(crate) user_vars: Mutex<UserVars>,
    pub(crate) facts: SessionFacts,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) process: Arc<Process>,
    pub(crate) client: ClientFlags,
    /// The user name that the client logged in with.
    pub(crate) user: String,
    /// Where the client is.
    pub(crate) host: String,
    /// What it may do.
    pub(crate) security: Arc<SecurityContext>,
    /// How many contexts there have been: the stamp of the next.
    pub(crate) contexts: u64,
    /// The version of the accounts that `security` was made of.
    pub(crate) accounts_seen: u64,
    /// The account's roles that are active.
    pub(crate) roles: Vec<AccountId>,
    /// What stands between it and its statements beside privileges.
    pub(crate) gate: Gate,
    pub(crate) changes: Vec<StateChange>,
    pub(crate) prepared: PreparedStatements,
    pub(crate) named: HashMap<String, Prepared>,
    pub(crate) cache: StatementCache,
    /// Its branch of a distributed transaction.
    pub(crate) xa: Option<XaBranch>,
    /// What LOCK TABLES has locked; `None` where it is not in force.
    pub(crate) locked: Option<Arc<LockedTables>>,
    /// What HANDLER has opened.
    pub(crate) handlers: Handlers,
    /// Rows that LOAD DATA has put in before the ones at hand.
    pub(crate) rows_before: u64,
    pub(crate) closing: bool,
    /// Isolation of the transaction that was begun last, for AND CHAIN.
    pub(crate) isolation: engine::Isolation,
    /// Grows whenever something changes that bound expressions depend on.
    pub(crate) settings: u64,
    /// The text of the statement at hand, where the change log is to be told of it.
    pub(crate) statement_text: Option<Arc<[u8]>>,
    /// `SET timestamp`: the time all statements see, microseconds since 1970.
    pub(crate) fixed_timestamp: Option<i64>,
    /// What a statement with `SET_VAR` has set.
    pub(crate) before: Before,
    /// The TLS its client came over.
    pub(crate) transport: Option<Arc<PeerTls>>,
    /// How its bytes are compressed, and at which level.
    pub(crate) compression: Option<(&'static str, u64)>,
    /// For the transaction's savepoints.
    pub(crate) savepoints: Charge,
    /// For its temporary tables, without their pages.
    pub(crate) own_tables: Charge,
    /// What its transactions are called.
    pub(crate) gtids: Gtids,
    /// What BINLOG statements have announced.
    pub(crate) replayed: Replayed,
    /// A statement has left a group that no session of its own has committed.
    pub(crate) left_group: AtomicBool,
    /// It does what another server's binary log says: a server that is read-only for others is not for it.
    pub(crate) applier: bool,
    /// Of the applier: the table that its statement makes gets its rows next, and becomes everybody's with them.
    pub(crate) makes_with_rows: bool,
    /// Of the applier: what its next LOAD DATA reads, whatever file that names, and the character set that the file is in where the statement does not say.
    pub(crate) applied_file: Option<(engine::TempFile, types::Charset)>,
    /// Its stored programs.
    pub(crate) programs: Programs,
}

impl Session {
    /// A session of the account that a login as `user` from `host` belongs to, where the client is; it has been authenticated. The
    /// process list shows it from now on.
    pub fn new(instance: &Arc<Instance>, user: &str, host: &str, connection_id: u64) -> Session {
        let account = instance
            .accounts
            .snapshot()
            .for_login(user, &[host])
            .map_or_else(|| AccountId::new(user, host), |a| a.id.clone());
        let mut s = Session::made(instance, user, host, &account, connection_id);
        s.become_account(account);
        s.activate_roles(s.login_roles());
        s
    }

    /// A session of an account that took a login. The process list shows it from now on.
    pub fn logged_in(instance: &Arc<Instance>, login: Login, connection_id: u64) -> Session {
        let account = login.account.clone();
        let mut s = Session::made(instance, &login.user, &login.host, &account, connection_id);
        s.gate = Gate::of(login);
        s.become_account(account);
        s.activate_roles(s.login_roles());
        s
    }

    /// A session of whoever holds the data directory: the embedded library and the server itself. Everything is allowed to it; it
    /// calls itself `root@localhost`.
    pub fn of_the_server(instance: &Arc<Instance>, connection_id: u64) -> Session {
        let account = AccountId::new("root", "localhost");
        Session::made(instance, "root", "localhost", &account, connection_id)
    }

    /// With the powers of the server, which the caller exchanges for the account's.
    fn made(
        instance: &Arc<Instance>,
        user: &str,
        host: &str,
        account: &AccountId,
        connection_id: u64,
    ) -> Session {
        let mut engine = instance.engine.session();
        engine.answer_to_server_locks();
        engine.set_rank(engine::Rank::Client);
        let now = instance.clock.now_us();
        let process = instance
            .processes
            .add(connection_id, user, host, engine.interrupt(), now);
        process.set_user(user, host, account);
        let memory = Arc::new(Account::new(&instance.memory));
        let mut s = Session {
            vars: SessionVars::new(&instance.globals),
            user_vars: Mutex::new(UserVars::of(&memory)),
            facts: facts::new(
                instance,
                user,
                host,
                account,
                connection_id,
                &memory,
                engine.interrupt(),
            ),
            diagnostics: Diagnostics::default(),
            process,
            client: ClientFlags::default(),
            user: user.to_owned(),
            host: host.to_owned(),
            security: Arc::new(SecurityContext::of_the_server(0, account.clone())),
            contexts: 0,
            accounts_seen: instance.accounts.version(),
            roles: Vec::new(),
            gate: Gate::default(),
            changes: Vec::new(),
            prepared: PreparedStatements::default(),
            named: HashMap::new(),
            cache: StatementCache::new(),
            xa: None,
            locked: None,
            handlers: Handlers::default(),
            rows_before: 0,
            closing: false,
            isolation: engine::Isolation::RepeatableRead,
            settings: 0,
            before: Before::default(),
            statement_text: None,
            fixed_timestamp: None,
            transport: None,
            compression: None,
            savepoints: Charge::to(&memory),
            own_tables: Charge::to(&memory),
            gtids: Gtids::default(),
            replayed: Replayed::default(),
            left_group: AtomicBool::new(false),
            applier: false,
            makes_with_rows: false,
            applied_file: None,
            programs: Programs::default(),
            instance: Arc::clone(instance),
            engine,
        };
        s.obey_variables();
        s
    }

    /// What the client can do; also COM_SET_OPTION.
    pub fn set_client(&mut self, flags: ClientFlags) {
        if flags.interactive && !self.client.interactive {
            let v = self.vars.value_by_name("interactive_timeout");
            if let Some(v) = v {
                self.vars.set_fact("wait_timeout", v);
            }
        }
        self.client = flags;
    }

    /// Tells the session of the TLS its client came over, for it to report.
    pub fn set_transport(&mut self, tls: Option<Arc<PeerTls>>) {
        self.transport = tls;
    }

    /// How the client's bytes are compressed, and at which level.
    pub fn set_compression(&mut self, algorithm: &'static str, level: u64) {
        self.compression = Some((algorithm, level));
    }

    /// What the client can do.
    pub fn client(&self) -> ClientFlags {
        self.client
    }

    /// The collation the client named in its handshake, as `SET NAMES` would set it.
    pub fn set_client_collation(&mut self, collation: types::CollationId) {
        // What is not here has been refused at the login; a number that nobody has keeps the server's default.
        let ClientCollation::Known(collation) = ClientCollation::of(collation.0) else {
            return;
        };
        self.settings += 1;
        // Both names come from the registry, so this cannot fail; an unknown number keeps the server's default.
        let _ = self
            .vars
            .set_names(collation.charset().name(), Some(collation.name()));
    }

    /// The server it belongs to.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Its entry in the process list, for the byte counters of the server.
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// What it holds.
    pub fn memory(&self) -> &Arc<Account> {
        &self.facts.memory
    }

    /// Gives back what temporary tables took that are gone.
    pub(crate) fn count_own_tables(&mut self) {
        let now = self.engine.own_tables_memory(None);
        if (now as u64) < self.own_tables.bytes() {
            let _less = self.own_tables.set(now);
        }
    }

    /// Its variables.
    pub fn vars(&self) -> &SessionVars {
        &self.vars
    }

    /// The connection's id.
    pub fn id(&self) -> u64 {
        self.facts.connection_id
    }

    /// The default schema.
    pub fn database(&self) -> Option<&str> {
        self.facts.database.as_deref()
    }

    /// Whether the connection is to be closed: it was killed, or asked for with RELEASE.
    pub fn should_close(&self) -> bool {
        self.closing || self.process.interrupt().connection_killed()
    }

    /// Shared with whoever wants to end a wait of this session.
    pub fn interrupt(&self) -> Arc<engine::Interrupt> {
        self.engine.interrupt()
    }

    /// Adds a warning to the statement that runs.
    pub(crate) fn warn(&mut self, warning: Warning) {
        let hot = self.vars.hot();
        if warning.level != types::Level::Note || hot.sql_notes {
            let max = hot.max_error_count;
            self.diagnostics.push(warning, max);
        }
    }

    /// How a text of the client is read: by the present `sql_mode` and `character_set_client`.
    pub(crate) fn parse_options(&self) -> sql_parser::Options {
        let mode = self.vars.hot().sql_mode;
        sql_parser::Options {
            ansi_quotes: mode.has(SqlMode::ANSI_QUOTES),
            pipes_as_concat: mode.has(SqlMode::PIPES_AS_CONCAT),
            high_not_precedence: mode.has(SqlMode::HIGH_NOT_PRECEDENCE),
            no_backslash_escapes: mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
            ignore_space: mode.has(SqlMode::IGNORE_SPACE),
            real_as_float: mode.has(SqlMode::REAL_AS_FLOAT),
            placeholders: false,
            charset: self.vars.hot().client,
            mariadb: None,
        }
    }

    /// COM_INIT_DB and USE.
    ///
    /// # Errors
    /// 1049, 1044.
    pub fn use_database(&mut self, name: &str) -> Result<(), SqlError> {
        self.secure();
        self.gate.admit_command()?;
        self.open_database(name)
    }

    fn open_database(&mut self, name: &str) -> Result<(), SqlError> {
        self.security.check(&Need::AnythingIn {
            schema: name.into(),
        })?;
        let (name, collation) = self.find_schema(name)?;
        self.set_database(Some(name), collation);
        Ok(())
    }

    /// The line that COM_STATISTICS answers with.
    pub fn statistics(&self) -> String {
        self.instance.statistics()
    }

    /// COM_PING: an error where the connection was killed.
    ///
    /// # Errors
    /// 1317.
    pub fn ping(&self) -> Result<(), SqlError> {
        self.process.counts.com[Com::AdminCommands as usize].add(1);
        if self.process.interrupt().connection_killed() {
            return Err(SqlError::query_interrupted());
        }
        Ok(())
    }

    /// COM_RESET_CONNECTION: as a new connection of the same user and default schema.
    ///
    /// # Errors
    /// What rolling the transaction back fails with.
    pub fn reset(&mut self) -> Outcome<'_> {
        Box::pin(async {
            self.engine.rollback().await?;
            if !base::mutant!("temporary-tables-outlive-a-reset") {
                self.engine.drop_own_tables();
                self.count_own_tables();
            }
            // What is prepared stays, and is anybody's to end.
            self.xa = None;
            self.forget_state();
            Ok(())
        })
    }

    /// Gives back what GET_LOCK took.
    fn release_user_locks(&self) {
        self.instance
            .named_locks
            .release_all(self.facts.connection_id);
    }

    fn forget_state(&mut self) {
        self.settings += 1;
        self.fixed_timestamp = None;
        self.release_user_locks();
        let collation = self.vars.connection_collation();
        self.vars.reset();
        if !collation.is_binary() {
            self.set_client_collation(collation);
        }
        self.user_vars = Mutex::new(UserVars::of(self.memory()));
        self.prepared.map.clear();
        self.named.clear();
        self.cache.clear();
        self.programs.clear();
        self.diagnostics.clear();
        self.facts.last_insert_id = 0;
        self.facts.last_id_is_null = false;
        self.facts.insert_id = 0;
        self.facts.found_rows = 0;
        self.facts.row_count = -1;
        self.facts.warning_count = 0;
        self.facts.error_count = 0;
        self.locked = None;
        self.handlers.close_all();
        self.engine.release_locks();
        self.changes.clear();
        self.forget_gtids();
        self.replayed = Replayed::default();
        self.obey_variables();
    }

    /// COM_CHANGE_USER, once the new user has been authenticated: a new session on the same connection.
    ///
    /// # Errors
    /// What rolling the transaction back fails with; 1049, 1044 for the database.
    pub async fn change_user(
        &mut self,
        user: &str,
        host: &str,
        database: Option<&str>,
    ) -> Result<(), SqlError> {
        self.reset().await?;
        let account = self
            .instance
            .accounts
            .snapshot()
            .for_login(user, &[host])
            .map_or_else(|| AccountId::new(user, host), |a| a.id.clone());
        self.become_user(user, host, account, Gate::default());
        self.enter(database)
    }

    /// COM_CHANGE_USER, once the account has taken the login: a new session on the same connection.
    ///
    /// # Errors
    /// What rolling the transaction back fails with; 1049, 1044 for the database.
    pub async fn change_login(
        &mut self,
        login: Login,
        database: Option<&str>,
    ) -> Result<(), SqlError> {
        self.reset().await?;
        let (user, host) = (login.user.clone(), login.host.clone());
        let account = login.account.clone();
        self.become_user(&user, &host, account, Gate::of(login));
        self.enter(database)
    }

    /// Nothing of what the user before could do, was limited to or had active is left.
    fn become_user(&mut self, user: &str, host: &str, account: AccountId, gate: Gate) {
        user.clone_into(&mut self.user);
        host.clone_into(&mut self.host);
        self.roles.clear();
        let id = self.facts.connection_id;
        let memory = Arc::clone(self.memory());
        let interrupt = self.engine.interrupt();
        self.facts = facts::new(&self.instance, user, host, &account, id, &memory, interrupt);
        self.process.set_user(user, host, &account);
        self.gate = gate;
        self.become_account(account);
        self.activate_roles(self.login_roles());
        self.process.set_db(None);
        self.obey_tracker();
    }

    /// Makes the database that a login asks for the default one: also where nothing but a new password is accepted.
    ///
    /// # Errors
    /// 1049, 1044.
    pub fn enter(&mut self, database: Option<&str>) -> Result<(), SqlError> {
        match database {
            Some(db) if !db.is_empty() => self.open_database(db),
            _ => Ok(()),
        }
    }

    /// Ends the session: its transaction is rolled back, its entry leaves the process list.
    pub async fn close(mut self) {
        // Nothing can be told to anyone any more; what could not be undone now is undone at the next start.
        let _ = self.reset().await;
    }

    /// Values for a prepared statement given as user variables or by the protocol, none for a text statement.
    pub(crate) const NO_PARAMS: &'static [Value] = &[];
}

impl Drop for Session {
    fn drop(&mut self) {
        self.instance.processes.remove(&self.process);
    }
}

/// A parse error as the client gets it.
pub(crate) fn parse_error(e: &sql_parser::ParseError) -> SqlError {
    SqlError {
        code: e.code(),
        sqlstate: types::error::SqlState::of(e.sqlstate()),
        message: e.to_string(),
    }
}
