//! Where values live: one set for the server, and for each session the server's set as it was when the session
//! began plus what the session changed. Beginning a session copies a pointer and the hot fields.
//!
//! Values computed from a session's state (`warning_count`, `last_insert_id`, `timestamp` …) are not kept here;
//! whoever evaluates `@@name` asks the session first for those marked `computed`.

use base::lock::RwLock;
use std::sync::{Arc, OnceLock};

use super::assign::{self, VarInput};
use super::charsets;
use super::def::VarKind;
use super::error::{VarError, VarWarning};
use types::Isolation;

use super::hot::{GlobalHot, SessionHot};
use super::origin::{Origins, VarOrigin};
use super::registry::{self, VarId};
use super::sql_mode::SqlMode;
use super::value::VarValue;
use types::charset::Charset;
use types::collation::CollationId;

/// The server's values at one moment.
#[derive(Debug, Clone)]
struct Snapshot {
    /// By variable id; session-only variables hold their defaults.
    values: Vec<VarValue>,
    /// What a session that starts from these values reads most.
    hot: SessionHot,
}

type Observer = Box<dyn Fn(&'static str, &VarValue) + Send + Sync>;

/// The server's system variables.
pub struct GlobalVars {
    current: RwLock<Arc<Snapshot>>,
    hot: GlobalHot,
    observers: RwLock<Vec<Observer>>,
    live: OnceLock<Box<dyn LiveVars>>,
    origins: Origins,
}

/// Who knows the values of variables that change by themselves.
pub trait LiveVars: Send + Sync {
    /// The value; `None` for a variable of another kind.
    fn value(&self, name: &str) -> Option<VarValue>;
    /// Whether the values are older than what was committed: whoever reads them waits first, where it can.
    fn is_behind(&self) -> bool;
}

impl std::fmt::Debug for GlobalVars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GlobalVars").finish_non_exhaustive()
    }
}

impl Default for GlobalVars {
    fn default() -> Self {
        Self::new()
    }
}

impl GlobalVars {
    /// Every variable at its default.
    pub fn new() -> GlobalVars {
        let mut hot = SessionHot::default();
        let global_hot = GlobalHot::default();
        let mut values = Vec::with_capacity(registry::count());
        for (def, id) in registry::all() {
            let v = assign::default_value(def);
            if id.def().name == def.name {
                hot.apply(def, &v);
                global_hot.apply(def, &v);
            }
            values.push(v);
        }
        GlobalVars {
            current: RwLock::new(Arc::new(Snapshot { values, hot })),
            hot: global_hot,
            observers: RwLock::new(Vec::new()),
            live: OnceLock::new(),
            origins: Origins::default(),
        }
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read())
    }

    /// The values that are read without a lock.
    pub fn hot(&self) -> &GlobalHot {
        &self.hot
    }

    /// Calls `observer` with the name and value after every change of a global value.
    pub fn observe(&self, observer: impl Fn(&'static str, &VarValue) + Send + Sync + 'static) {
        self.observers.write().push(Box::new(observer));
    }

    /// The server's value of a variable.
    pub fn value(&self, id: VarId) -> VarValue {
        let def = id.def();
        if def.live
            && let Some(value) = self.live.get().and_then(|live| live.value(def.name))
        {
            return value;
        }
        self.snapshot().values[id.0 as usize].clone()
    }

    /// Says who knows the values of variables that change by themselves: `gtid_executed` and the like. The first that comes stays.
    pub fn set_live(&self, live: Box<dyn LiveVars>) {
        let _first = self.live.set(live);
    }

    /// Whether such values are older than what was committed.
    pub(crate) fn live_is_behind(&self) -> bool {
        self.live.get().is_some_and(|live| live.is_behind())
    }

    /// Says who has given a variable its value; an unknown name is ignored.
    pub fn note_origin(&self, name: &str, origin: VarOrigin) {
        self.origins.note(name, origin);
    }

    /// Who has given it its value; `None`: it is the program's own.
    pub fn origin(&self, id: VarId) -> Option<VarOrigin> {
        self.origins.of(id)
    }

    /// The server's value by name; `None` for an unknown name.
    pub fn value_by_name(&self, name: &str) -> Option<VarValue> {
        registry::lookup(name).map(|id| self.value(id))
    }

    /// SET GLOBAL.
    ///
    /// # Errors
    /// 1193, 1228, 1231, 1232, 1238 and those of the special kinds.
    pub fn set(
        &self,
        name: &str,
        input: &VarInput,
        mode: SqlMode,
    ) -> Result<Option<VarWarning>, VarError> {
        let id = registry::lookup(name).ok_or_else(|| VarError::Unknown(name.to_owned()))?;
        let def = id.def();
        if def.read_only {
            return Err(VarError::ReadOnly(def.name));
        }
        let (value, warning) = self.checked(id, input, mode)?;
        self.store(id, value);
        Ok(warning)
    }

    /// The value that SET GLOBAL would give a variable, were it not read-only.
    ///
    /// # Errors
    /// As [`set`](Self::set), but for 1238.
    pub fn checked(
        &self,
        id: VarId,
        input: &VarInput,
        mode: SqlMode,
    ) -> Result<(VarValue, Option<VarWarning>), VarError> {
        let def = id.def();
        if !def.has_global() {
            return Err(VarError::NoGlobal(def.name));
        }
        match input {
            VarInput::Default => Ok((assign::default_value(def), None)),
            _ => {
                let strict = mode.has(SqlMode::STRICT_ALL_TABLES);
                assign::convert(def, input, self.value(id).as_u64(), strict)
            }
        }
    }

    /// An option of the command line or of my.cnf; read-only variables may be given too. Returns the
    /// variable, so that the caller can say where it has nothing left to tune.
    ///
    /// # Errors
    /// 1193 for an unknown option; 1231, 1232 and those of the special kinds for a bad value.
    pub fn set_option(&self, name: &str, text: &str) -> Result<VarId, VarError> {
        let id = registry::lookup_option(name)
            .filter(|id| id.def().has_global())
            .ok_or_else(|| VarError::Unknown(name.to_owned()))?;
        let value = assign::parse_option(id.def(), text)?;
        self.store(id, value);
        Ok(id)
    }

    /// Sets a value that the server itself knows (`port`, `datadir`, `hostname`, `server_uuid` …); an
    /// unknown name is ignored.
    pub fn set_fact(&self, name: &str, value: VarValue) {
        if let Some(id) = registry::lookup(name) {
            self.store(id, value);
        }
    }

    fn store(&self, id: VarId, value: VarValue) {
        let mut changed = vec![(id, value)];
        if let Some(also) = following(id, &changed[0].1) {
            changed.push(also);
        }
        {
            let mut current = self.current.write();
            let mut next = Snapshot::clone(&current);
            for (id, value) in &changed {
                next.hot.apply(id.def(), value);
                self.hot.apply(id.def(), value);
                next.values[id.0 as usize] = value.clone();
            }
            *current = Arc::new(next);
        }
        let observers = self.observers.read();
        for (id, value) in &changed {
            for o in observers.iter() {
                o(id.def().name, value);
            }
        }
    }
}

/// The variable that follows a change of this one, and its value: the other half of a pair `character_set_x` / `collation_x`; `sql_big_selects`,
/// which is off as long as `max_join_size` is a limit.
fn following(id: VarId, value: &VarValue) -> Option<(VarId, VarValue)> {
    let def = id.def();
    if def.name == "max_join_size" {
        let unlimited = value.as_u64() == u64::MAX;
        return Some((
            registry::lookup("sql_big_selects")?,
            VarValue::Bool(unlimited),
        ));
    }
    let text = value.as_str()?;
    match def.kind {
        VarKind::Charset(_) => {
            let suffix = def.name.strip_prefix("character_set_")?;
            let twin = registry::lookup(&format!("collation_{suffix}"))?;
            Some((twin, VarValue::text(charsets::default_collation(text)?)))
        }
        VarKind::Collation => {
            let suffix = def.name.strip_prefix("collation_")?;
            let twin = registry::lookup(&format!("character_set_{suffix}"))?;
            Some((twin, VarValue::text(charsets::charset_of(text)?)))
        }
        _ => None,
    }
}

/// Variables whose session value only follows the global one.
const SESSION_READ_ONLY: &[&str] = &[
    "max_allowed_packet",
    "net_buffer_length",
    "max_user_connections",
];

/// Values of variables that are to be put back.
#[derive(Debug, Default)]
pub struct Kept(Vec<(VarId, Option<VarValue>)>);

impl Kept {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A session's system variables.
#[derive(Debug, Clone)]
pub struct SessionVars {
    globals: Arc<GlobalVars>,
    base: Arc<Snapshot>,
    own: Vec<(VarId, VarValue)>,
    hot: SessionHot,
    next_isolation: Option<Isolation>,
    next_read_only: Option<bool>,
}

impl SessionVars {
    /// A session that starts from the server's present values.
    pub fn new(globals: &Arc<GlobalVars>) -> SessionVars {
        let base = globals.snapshot();
        let hot = base.hot.clone();
        SessionVars {
            globals: Arc::clone(globals),
            base,
            own: Vec::new(),
            hot,
            next_isolation: None,
            next_read_only: None,
        }
    }

    /// Back to the state of a new session (COM_RESET_CONNECTION, COM_CHANGE_USER).
    pub fn reset(&mut self) {
        *self = SessionVars::new(&Arc::clone(&self.globals));
    }

    /// The much-read values.
    pub fn hot(&self) -> &SessionHot {
        &self.hot
    }

    /// The server's variables.
    pub fn globals(&self) -> &Arc<GlobalVars> {
        &self.globals
    }

    /// The value this session sees: its own, or the server's for a global variable.
    pub fn value(&self, id: VarId) -> VarValue {
        if !id.def().has_session() {
            return self.globals.value(id);
        }
        match self.own.iter().find(|(i, _)| *i == id) {
            Some((_, v)) => v.clone(),
            None => self.base.values[id.0 as usize].clone(),
        }
    }

    /// The value by name; `None` for an unknown name.
    pub fn value_by_name(&self, name: &str) -> Option<VarValue> {
        registry::lookup(name).map(|id| self.value(id))
    }

    /// The text of a charset, collation or other text variable; empty where it is NULL or unknown.
    pub fn text(&self, name: &str) -> Arc<str> {
        match self.value_by_name(name) {
            Some(VarValue::Text(t)) => t,
            _ => Arc::from(""),
        }
    }

    /// Whether values that change by themselves are older than what was committed.
    pub(crate) fn live_is_behind(&self) -> bool {
        self.globals.live_is_behind()
    }

    /// `collation_connection`.
    pub fn connection_collation(&self) -> CollationId {
        self.hot.collation
    }

    /// `character_set_results`; `None` where results are sent as they are.
    pub fn results_charset(&self) -> Option<Charset> {
        self.hot.results
    }

    /// SET SESSION, or SET without a scope.
    ///
    /// # Errors
    /// 1193, 1229, 1231, 1232, 1238, 1621 and those of the special kinds.
    pub fn set(&mut self, name: &str, input: &VarInput) -> Result<Option<VarWarning>, VarError> {
        let id = registry::lookup(name).ok_or_else(|| VarError::Unknown(name.to_owned()))?;
        let def = id.def();
        if def.read_only {
            return Err(VarError::ReadOnly(def.name));
        }
        if !def.has_session() {
            return Err(VarError::NeedsGlobal(def.name));
        }
        if SESSION_READ_ONLY.contains(&def.name) {
            return Err(VarError::SessionReadOnly(def.name));
        }
        let (value, warning) = match input {
            VarInput::Default if def.has_global() => (self.globals.value(id), None),
            VarInput::Default => (assign::default_value(def), None),
            _ => {
                let strict = self.hot.sql_mode.has(SqlMode::STRICT_ALL_TABLES);
                assign::convert(def, input, self.value(id).as_u64(), strict)?
            }
        };
        let also = following(id, &value);
        self.store(id, value);
        if let Some((id, value)) = also {
            self.store(id, value);
        }
        Ok(warning)
    }

    /// Notes the value of a variable, and of one that follows it, to be put back.
    pub fn keep(&self, id: VarId, kept: &mut Kept) {
        self.keep_one(id, kept);
        if let Some((id, _)) = following(id, &self.value(id)) {
            self.keep_one(id, kept);
        }
    }

    fn keep_one(&self, id: VarId, kept: &mut Kept) {
        if kept.0.iter().any(|(i, _)| *i == id) {
            return;
        }
        let own = self.own.iter().find(|(i, _)| *i == id);
        kept.0.push((id, own.map(|(_, v)| v.clone())));
    }

    /// Gives variables back the values that were noted.
    pub fn put_back(&mut self, kept: Kept) {
        for (id, own) in kept.0 {
            match own {
                Some(value) => self.store(id, value),
                None => {
                    self.own.retain(|(i, _)| *i != id);
                    let base = Arc::clone(&self.base);
                    self.hot.apply(id.def(), &base.values[id.0 as usize]);
                }
            }
        }
    }

    fn store(&mut self, id: VarId, value: VarValue) {
        self.hot.apply(id.def(), &value);
        match self.own.iter_mut().find(|(i, _)| *i == id) {
            Some(slot) => slot.1 = value,
            None => self.own.push((id, value)),
        }
    }

    /// Sets a session value that the server itself knows, whatever its kind says: `external_user`,
    /// `character_set_database` after USE. An unknown name is ignored.
    pub fn set_fact(&mut self, name: &str, value: VarValue) {
        if let Some(id) = registry::lookup(name) {
            self.store(id, value);
        }
    }

    /// SET NAMES: client, results and connection; the collation is the charset's default where not given.
    ///
    /// # Errors
    /// 1115, 1273, 1231, and 1253 where the collation is of another charset.
    pub fn set_names(&mut self, charset: &str, wanted: Option<&str>) -> Result<(), VarError> {
        if charsets::is_wide(charset) {
            // Refused, for the client's own.
            self.set("character_set_client", &VarInput::Text(charset.to_owned()))?;
        }
        let canonical = charsets::charset_name(charset)
            .ok_or_else(|| VarError::UnknownCharset(charset.to_owned()))?;
        if let Some(c) = wanted {
            let name = charsets::collation_name(c)
                .ok_or_else(|| VarError::UnknownCollation(c.to_owned()))?;
            if charsets::charset_of(name) != Some(canonical) {
                return Err(VarError::CollationMismatch(
                    name.to_owned(),
                    canonical.to_owned(),
                ));
            }
        }
        let input = VarInput::Text(canonical.to_owned());
        self.set("character_set_client", &input)?;
        self.set("character_set_results", &input)?;
        match wanted {
            Some(c) => self.set("collation_connection", &VarInput::Text(c.to_owned())),
            None => self.set("character_set_connection", &input),
        }
        .map(|_| ())
    }

    /// Isolation of the next transaction only (SET TRANSACTION without a scope).
    pub fn set_next_isolation(&mut self, level: Isolation) {
        self.next_isolation = Some(level);
    }

    /// Access mode of the next transaction only.
    pub fn set_next_read_only(&mut self, read_only: bool) {
        self.next_read_only = Some(read_only);
    }

    /// Isolation and read-only mode of a transaction that begins now; what was set for one transaction only is
    /// used up.
    pub fn begin_transaction(&mut self) -> (Isolation, bool) {
        (
            self.next_isolation.take().unwrap_or(self.hot.isolation),
            self.next_read_only.take().unwrap_or(self.hot.tx_read_only),
        )
    }

    /// Whether a transaction that begins now is read-only: asking uses nothing up.
    pub fn next_is_read_only(&self) -> bool {
        self.next_read_only.unwrap_or(self.hot.tx_read_only)
    }

    /// The isolation of a transaction that begins now, where nothing was set for one transaction only: asking uses nothing up.
    #[inline]
    pub fn usual_isolation(&self) -> Option<Isolation> {
        let usual = self.next_isolation.is_none() && self.next_read_only.is_none();
        usual.then_some(self.hot.isolation)
    }

    /// Checks the scope of a read `@@[scope.]name` and returns the variable.
    ///
    /// # Errors
    /// 1193, 1238.
    pub fn resolve(name: &str, scope: Option<ReadScope>) -> Result<VarId, VarError> {
        let id = registry::lookup(name).ok_or_else(|| VarError::Unknown(name.to_owned()))?;
        let def = id.def();
        match scope {
            Some(ReadScope::Global) if !def.has_global() => {
                Err(VarError::WrongScope(def.name, def.scope))
            }
            Some(ReadScope::Session) if !def.has_session() => {
                Err(VarError::WrongScope(def.name, def.scope))
            }
            _ => Ok(id),
        }
    }

    /// What SELECT @@name returns, typed: see [`VarValue::selected`].
    pub fn selected(&self, id: VarId, scope: Option<ReadScope>) -> VarValue {
        let value = match scope {
            Some(ReadScope::Global) => self.globals.value(id),
            _ => self.value(id),
        };
        value.selected(id.def())
    }

    /// The rows of SHOW [GLOBAL | SESSION] VARIABLES, in the order of names.
    pub fn rows(&self, scope: ReadScope) -> impl Iterator<Item = (&'static str, String)> + '_ {
        registry::all()
            .filter(move |(def, id)| {
                !def.hidden && !id.def().hidden && (scope == ReadScope::Session || def.has_global())
            })
            .map(move |(def, id)| {
                let value = match scope {
                    ReadScope::Global => self.globals.value(id),
                    ReadScope::Session => self.value(id),
                };
                (def.name, value.shown(id.def()))
            })
    }
}

/// The scope of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadScope {
    /// `@@global.x`, SHOW GLOBAL VARIABLES.
    Global,
    /// `@@session.x`, SHOW VARIABLES.
    Session,
}
