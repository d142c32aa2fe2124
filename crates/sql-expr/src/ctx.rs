//! What an expression sees besides its row: parameters, the session, the statement's time, user variables, warnings.
//!
//! An [`EvalCtx`] is made once a statement and shared by everything the statement evaluates. What changes during
//! evaluation sits behind a mutex that everyday expressions never touch, so that a context may be held across an await.

mod clock;
mod now;
mod random;
mod subqueries;
mod warnings;

use base::lock::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use types::depth::{Depth, Level as Deeper};
use types::{Pace, SqlError, Value, ValueRef, Warning, Watch};

pub use clock::{RandomSource, WallClock};
pub use random::RandState;
pub use subqueries::{ListLookup, RowKey, SubquerySource, WriteKey};

use super::ty::ExprType;
use super::val::Val;
use crate::memory::{Account, Charge, SMALL};
use crate::vars::{SessionVars, SqlMode, VarId};
use types::collation::CollationId;
use types::gtid::{GtidSet, Origin};
use types::temporal::Zone;

/// The rows an expression reads: one for each input slot of the operator that evaluates it.
pub trait RowSource: Sync {
    /// The value of a column. A TIMESTAMP column yields UTC, as stored.
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_>;

    /// The values of the subqueries for this row, where expressions have any.
    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        None
    }
}

/// A source without columns.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRow;

impl RowSource for NoRow {
    fn column(&self, _slot: u16, _ordinal: u16) -> ValueRef<'_> {
        ValueRef::Null
    }
}

/// One row as a slice of values, whatever the slot.
#[derive(Debug, Clone, Copy)]
pub struct ValuesRow<'v>(pub &'v [Value]);

impl RowSource for ValuesRow<'_> {
    fn column(&self, _slot: u16, ordinal: u16) -> ValueRef<'_> {
        self.0
            .get(usize::from(ordinal))
            .map_or(ValueRef::Null, Value::as_ref)
    }
}

/// Who may end the statements of a connection; nobody in tests and for what no connection asked.
#[derive(Clone, Default)]
pub struct Watcher(pub Option<Arc<dyn Watch>>);

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() {
            "watched"
        } else {
            "unwatched"
        })
    }
}

/// Facts of the connection that functions report, and who may end its statements.
#[derive(Debug, Clone)]
pub struct SessionFacts {
    /// The connection.
    pub connection_id: u64,
    /// `@@pseudo_thread_id`, where it was set: the connection whose statements a client repeats.
    pub pseudo_thread: Option<u64>,
    /// USER(): the account as the client named it, with the host it came from.
    pub user: String,
    /// CURRENT_USER(): the account it was authenticated as.
    pub current_user: String,
    /// CURRENT_ROLE(): the active roles; empty for none.
    pub current_role: String,
    /// DATABASE().
    pub database: Option<String>,
    /// LAST_INSERT_ID() without arguments.
    pub last_insert_id: u64,
    /// That value has been generated, and no condition has found it by `IS NULL` yet (`sql_auto_is_null`).
    pub last_id_is_null: bool,
    /// `@@insert_id`: the AUTO_INCREMENT value that the next INSERT begins with; 0 where nobody said.
    pub insert_id: u64,
    /// FOUND_ROWS().
    pub found_rows: u64,
    /// ROW_COUNT().
    pub row_count: i64,
    /// Where its transaction comes from: of a session that does what another server has done, or of one whose client says so (`gtid_next`).
    pub origin: Option<Origin>,
    /// The number by which it asks what its transactions are called; 0: it does not.
    pub names_asked: u64,
    /// The machine's time zone (`time_zone = SYSTEM`).
    pub system_zone: Zone,
    /// `@@warning_count` of the statement before.
    pub warning_count: u64,
    /// `@@error_count` of the statement before.
    pub error_count: u64,
    /// Seed for UUID() and salts, from the environment's random source.
    pub seed: u64,
    /// Where RAND() stands.
    pub chance: RandState,
    /// What SYSDATE() reads.
    pub clock: WallClock,
    /// What RANDOM_BYTES() reads.
    pub source: RandomSource,
    /// Identity of this server in UUID().
    pub node: [u8; 6],
    /// What the session holds.
    pub memory: Arc<Account>,
    /// Asked every so often by whatever evaluates with these facts.
    pub watcher: Watcher,
}

impl Default for SessionFacts {
    fn default() -> Self {
        SessionFacts {
            connection_id: 0,
            pseudo_thread: None,
            names_asked: 0,
            user: String::new(),
            current_user: String::new(),
            current_role: String::new(),
            database: None,
            last_insert_id: 0,
            last_id_is_null: false,
            insert_id: 0,
            found_rows: 0,
            row_count: -1,
            origin: None,
            system_zone: Zone::UTC,
            warning_count: 0,
            error_count: 0,
            seed: 0x9E37_79B9_7F4A_7C15,
            clock: WallClock::default(),
            source: RandomSource::default(),
            chance: RandState::new(0x9E37_79B9_7F4A_7C15),
            node: [2, 0, 0, 0, 0, 1],
            memory: Arc::default(),
            watcher: Watcher::default(),
        }
    }
}

impl SessionFacts {
    /// CONNECTION_ID() and `@@pseudo_thread_id`.
    pub fn thread(&self) -> u64 {
        self.pseudo_thread.unwrap_or(self.connection_id)
    }
}

/// A user variable: its value and the type it had.
#[derive(Debug, Clone)]
pub struct UserVar {
    /// The value.
    pub value: Val<'static>,
    /// Its type, collation included.
    pub ty: ExprType,
}

/// What a user variable takes beside its name and its bytes.
const USER_VAR: usize = size_of::<UserVar>() + 64;

/// A session's user variables, by lower-case name.
#[derive(Debug, Clone, Default)]
pub struct UserVars {
    map: HashMap<Box<str>, UserVar>,
    /// Bytes of names and values.
    bytes: usize,
    charge: Charge,
}

impl UserVars {
    /// None set.
    pub fn new() -> UserVars {
        UserVars::default()
    }

    /// None set, for a session.
    pub fn of(account: &Arc<Account>) -> UserVars {
        UserVars {
            charge: Charge::to(account),
            ..UserVars::default()
        }
    }

    /// The variable of that name, in any case.
    pub fn get(&self, name: &str) -> Option<&UserVar> {
        if name.bytes().any(|b| b.is_ascii_uppercase()) {
            self.map.get(name.to_lowercase().as_str())
        } else {
            self.map.get(name)
        }
    }

    /// Sets the variable of that name. Where that takes more than the session may have, it is not set, and the statement fails.
    pub fn set(&mut self, name: &str, var: UserVar) {
        let name: Box<str> = name.to_lowercase().into();
        let size = |v: &UserVar| match &v.value {
            Val::Bytes(b) => USER_VAR + b.len(),
            _ => USER_VAR,
        };
        let len = name.len();
        let before = self.map.get(&name).map_or(0, |v| len + size(v));
        let bytes = self.bytes - before + len + size(&var);
        // Small ones in blocks.
        if self.charge.set(bytes.next_multiple_of(SMALL)) {
            self.bytes = bytes;
            self.map.insert(name, var);
        }
    }

    /// What they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets all (COM_RESET_CONNECTION, COM_CHANGE_USER).
    pub fn clear(&mut self) {
        self.map.clear();
        self.bytes = 0;
        // Less is never refused.
        self.charge.set(0);
    }
}

/// Something an expression asks for that takes waiting: the executor does it, hands the answer to
/// [`EvalCtx::supply`], and evaluates the expression again.
#[derive(Debug, Clone, PartialEq)]
pub enum Special {
    /// SLEEP(seconds): answer 0, or 1 where it was interrupted.
    Sleep(f64),
    /// GET_LOCK(name, seconds): answer 1, 0 for a timeout, NULL for an error.
    GetLock(String, f64),
    /// RELEASE_LOCK(name): answer 1, 0 where another holds it, NULL where nobody does.
    ReleaseLock(String),
    /// RELEASE_ALL_LOCKS(): answer the number released.
    ReleaseAllLocks,
    /// IS_FREE_LOCK(name): answer 1 or 0.
    IsFreeLock(String),
    /// IS_USED_LOCK(name): answer the connection id or NULL.
    IsUsedLock(String),
    /// A variable whose value is older than what was committed: answer the value.
    Variable(VarId),
    /// WAIT_FOR_EXECUTED_GTID_SET(set, seconds): answer 0, or 1 for a timeout.
    WaitForGtids(GtidSet, f64),
    /// WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS(set, seconds, channel): answer 0 or more, -1 for a timeout, NULL where nothing is being applied.
    WaitForApplied(GtidSet, f64, Option<String>),
    /// SOURCE_POS_WAIT(file, position, seconds, channel): answer how often it was woken, -1 for a timeout, NULL where nothing is being applied.
    WaitForPlace(String, u64, f64, Option<String>),
}

#[derive(Debug, Default)]
struct State {
    warnings: Vec<Warning>,
    warning_count: u64,
    error_count: u64,
    /// The first warning that a strict write must not go on with.
    fault: Option<SqlError>,
    last_insert_id: Option<u64>,
    /// The last generated value has been compared with, as what IS NULL finds.
    found_last_id: bool,
    /// Generators of RAND(n), by the address of the call.
    seeded: Vec<(usize, [u32; 2])>,
    /// What is waited for, and by which call.
    pending: Option<(usize, Special)>,
    /// The answers for the row at hand, by call.
    supplied: Vec<(usize, Val<'static>)>,
    /// All that the row would wait for has been waited for.
    rehearsed: bool,
    uuids: u32,
}

/// The surroundings of an evaluation.
#[derive(Debug)]
pub struct EvalCtx<'s> {
    /// Values of `?`, in order.
    pub params: &'s [Value],
    /// Types of parameters, in the order of their places, that do not follow from where they stand: while a statement is bound.
    pub param_types: &'s [(u32, ExprType)],
    /// Facts of the connection.
    pub facts: &'s SessionFacts,
    /// System variables.
    pub vars: &'s SessionVars,
    /// User variables.
    pub user_vars: &'s Mutex<UserVars>,
    /// When the statement began, microseconds since 1970 UTC.
    pub now_micros: i64,
    /// The session's time zone.
    pub zone: Zone,
    /// The session's SQL mode.
    pub sql_mode: SqlMode,
    /// Whether the statement writes rows in strict mode: then division by zero and bad dates are errors.
    pub strict_write: bool,
    /// Whether the statement writes rows with IGNORE: what would end it for a row becomes a warning.
    pub ignore: bool,
    /// Rows that the statement has inserted before those at hand, for messages that name a row.
    pub rows_before: u64,
    /// `collation_connection`.
    pub collation: CollationId,
    /// `max_allowed_packet`: longer results of string functions become NULL with warning 1301.
    pub max_packet: u64,
    pace: Pace<'s>,
    depth: Depth,
    /// A fault was noted, taken since or not.
    faulty: AtomicBool,
    state: Mutex<State>,
    /// Whether anything is held for values that expressions have made.
    holds: AtomicBool,
    held: Mutex<Charge>,
}

/// Number of the error that an expression returns when it waits for a [`Special`]. It travels as an error does, also through the engine,
/// which evaluates conditions on its pages; [`EvalCtx::unevaluated`] is where it becomes a type, and nobody else looks at it.
pub const PENDING: u16 = 0;

/// Why an expression came to no value.
#[derive(Debug)]
pub enum EvalError {
    /// It waits for this, which the call of this number has asked for. With the answer ([`EvalCtx::supply`]) it is evaluated again for the same row.
    Pending(usize, Special),
    /// It failed.
    Sql(SqlError),
}

impl<'s> EvalCtx<'s> {
    /// What the session holds.
    #[inline]
    pub fn memory(&self) -> &'s Arc<Account> {
        &self.facts.memory
    }

    /// Asks for room for a value that an expression is about to make, until the row is done. Small ones are not counted.
    ///
    /// # Errors
    /// The session may hold no more.
    #[inline]
    pub fn hold(&self, bytes: usize) -> Result<(), SqlError> {
        match bytes < SMALL {
            true => Ok(()),
            false => self.hold_large(bytes),
        }
    }

    #[cold]
    fn hold_large(&self, bytes: usize) -> Result<(), SqlError> {
        let mut held = self.held.lock();
        if !self.holds.swap(true, Ordering::Relaxed) {
            *held = Charge::to(self.memory());
        }
        match held.add(bytes) {
            true => Ok(()),
            false => self.memory().check(),
        }
    }

    /// What is held before something is evaluated, for [`keep`](Self::keep).
    #[inline]
    pub(crate) fn mark(&self) -> u64 {
        match self.holds.load(Ordering::Relaxed) {
            false => 0,
            true => self.held_bytes(),
        }
    }

    #[cold]
    fn held_bytes(&self) -> u64 {
        let held = self.held.lock();
        held.bytes()
    }

    /// Of all that was held since `mark` only a value of that many bytes is left: what an evaluation needed meanwhile is gone.
    ///
    /// # Errors
    /// As [`hold`](Self::hold).
    #[inline]
    pub(crate) fn keep(&self, mark: u64, bytes: usize) -> Result<(), SqlError> {
        match bytes < SMALL && !self.holds.load(Ordering::Relaxed) {
            true => Ok(()),
            false => self.keep_large(mark, bytes),
        }
    }

    #[cold]
    fn keep_large(&self, mark: u64, bytes: usize) -> Result<(), SqlError> {
        let mut held = self.held.lock();
        if !self.holds.swap(true, Ordering::Relaxed) {
            *held = Charge::to(self.memory());
        }
        let bytes = if bytes < SMALL { 0 } else { bytes };
        match held.set((mark as usize).saturating_add(bytes)) {
            true => Ok(()),
            false => self.memory().check(),
        }
    }

    /// The values of a row are not needed any more.
    #[inline]
    pub fn let_go(&self) {
        if self.holds.load(Ordering::Relaxed) {
            drop(self.take_held());
        }
    }

    /// What is held for values, which somebody else needs from now on.
    pub fn take_held(&self) -> Charge {
        let mut held = self.held.lock();
        self.holds.store(false, Ordering::Relaxed);
        std::mem::take(&mut held)
    }

    /// A context for one statement.
    pub fn new(
        facts: &'s SessionFacts,
        vars: &'s SessionVars,
        user_vars: &'s Mutex<UserVars>,
        params: &'s [Value],
        now_micros: i64,
    ) -> EvalCtx<'s> {
        let hot = vars.hot();
        EvalCtx {
            params,
            param_types: &[],
            facts,
            vars,
            user_vars,
            now_micros,
            zone: hot.time_zone.zone(facts.system_zone),
            sql_mode: hot.sql_mode,
            strict_write: false,
            ignore: false,
            rows_before: 0,
            collation: vars.connection_collation(),
            max_packet: hot.max_allowed_packet,
            pace: Pace::new(facts.watcher.0.as_ref().map(|w| &**w as &dyn Watch)),
            depth: Depth::here(),
            state: Mutex::default(),
            faulty: AtomicBool::new(false),
            holds: AtomicBool::new(false),
            held: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Counts `work` that is about to be done: bytes looked at, or other steps of a few nanoseconds. Every loop of an evaluation
    /// that may run long calls it; it costs a subtraction, and every so often asks whether the statement is to end.
    ///
    /// # Errors
    /// 1317 where the statement was killed, 3024 where it ran out of time; then the evaluation ends with that error.
    #[inline]
    pub fn tick(&self, work: usize) -> Result<(), SqlError> {
        self.pace.tick(work)
    }

    /// Binding goes `cost` levels deeper, until the result is dropped.
    ///
    /// # Errors
    /// 1436 where that is too deep.
    #[inline]
    pub fn deeper(&self, cost: u32) -> Result<Deeper<'_>, SqlError> {
        self.depth.enter(cost)
    }

    /// Binding goes into a query in another, until the result is dropped.
    ///
    /// # Errors
    /// 1436, 1473 where that is too deep.
    pub fn deeper_query(&self) -> Result<Deeper<'_>, SqlError> {
        self.depth.enter_query()
    }

    /// The count itself, for functions that know no context.
    pub fn pace(&self) -> &Pace<'s> {
        &self.pace
    }

    /// What LAST_INSERT_ID(x) set during the statement, if it did.
    pub fn last_insert_id_set(&self) -> Option<u64> {
        self.state().last_insert_id
    }

    pub(super) fn set_last_insert_id(&self, id: u64) {
        self.state().last_insert_id = Some(id);
    }

    /// Whether the statement has looked for the last generated value by `IS NULL`.
    pub fn last_id_was_null(&self) -> bool {
        self.state().found_last_id
    }

    pub(super) fn find_last_id(&self) {
        self.state().found_last_id = true;
    }

    /// What the error of an evaluation means.
    pub fn unevaluated(&self, e: SqlError) -> EvalError {
        if e.code != PENDING {
            return EvalError::Sql(e);
        }
        match self.state().pending.take() {
            Some((call, what)) => EvalError::Pending(call, what),
            None => EvalError::Sql(SqlError::internal("nothing to wait for")),
        }
    }

    /// What `f` would wait for, if anything. It is to change nothing: its warnings are forgotten, and it runs again in earnest.
    pub fn rehearse<T>(&self, f: impl FnOnce() -> Result<T, SqlError>) -> Option<(usize, Special)> {
        let before = self.mark_warnings();
        let pending = matches!(f(), Err(e) if e.code == PENDING);
        self.forget_warnings(&before);
        let what = self.state().pending.take();
        what.filter(|_| pending)
    }

    /// The answer to what a call has asked for: the call has this value for the rest of the row.
    pub fn supply(&self, call: usize, answer: Val<'static>) {
        self.state().supplied.push((call, answer));
    }

    /// Nothing is waited for any more before [`row_done`](Self::row_done).
    pub fn is_rehearsed(&self) {
        self.state().rehearsed = true;
    }

    /// Forgets the answers, once a row's expressions have been evaluated.
    pub fn row_done(&self) {
        let mut s = self.state();
        s.supplied.clear();
        s.rehearsed = false;
    }

    /// Whether variables that change by themselves are to be waited for. Once a row's expressions have been evaluated for their waits, they are as of then:
    /// what others have committed since is nothing that this statement has to show.
    pub(super) fn live_is_behind(&self) -> bool {
        self.vars.live_is_behind() && !self.state().rehearsed
    }

    /// The answer to a special call, or the error that stops the evaluation until there is one. `call`: the type of the expression, of which there is one.
    pub(super) fn special(&self, call: &ExprType, ask: Special) -> Result<Val<'static>, SqlError> {
        let call = std::ptr::from_ref(call) as usize;
        let mut s = self.state();
        if let Some((_, v)) = s.supplied.iter().find(|(c, _)| *c == call) {
            return Ok(v.clone());
        }
        s.pending = Some((call, ask));
        Err(SqlError::new(PENDING, "waiting"))
    }

    /// So many bytes of the environment's randomness.
    pub(super) fn random_bytes(&self, n: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(n + 8);
        while bytes.len() < n {
            let next = match &self.facts.source.0 {
                Some(source) => source.next_u64(),
                None => self.facts.seed ^ u64::from(self.next_uuid()),
            };
            bytes.extend_from_slice(&next.to_le_bytes());
        }
        bytes.truncate(n);
        bytes
    }

    /// A number that no other UUID of this statement has.
    pub(super) fn next_uuid(&self) -> u32 {
        let mut s = self.state();
        s.uuids = s.uuids.wrapping_add(1);
        s.uuids
    }

    /// Runs `f` on the user variables.
    pub fn with_user_vars<R>(&self, f: impl FnOnce(&mut UserVars) -> R) -> R {
        f(&mut self.user_vars.lock())
    }
}
