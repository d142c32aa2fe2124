//! SET in all its forms.

use types::error::codes;
use types::gtid::GtidSet;
use types::{SqlError, Value, Warning};

use super::{scalar, server_mode};
use crate::context::Session;
use sql_access::Granted;
use sql_exec::binary_log::LogChange;
use sql_exec::unless_killed;
use sql_expr::vars::{self, VarInput, VarValue};
use sql_expr::{ExprType, UserVar, Val};
use sql_parser::ast::{Expr, SetItem, VarScope};
use sql_plan::sink::{Done, StateChange};

/// Variables whose changes a client is told (`session_track_system_variables` of a fresh server).
const TRACKED: &[&str] = &[
    "time_zone",
    "autocommit",
    "character_set_client",
    "character_set_results",
    "character_set_connection",
];

/// Variables of which a session's own value is the same for all of a transaction.
const UNTIL_COMMIT: &[&str] = &[
    "binlog_transaction_compression",
    "binlog_transaction_compression_level_zstd",
];

/// The value of an item of SET, computed.
enum Computed {
    /// For a user variable.
    User(Val<'static>, ExprType),
    /// For a system variable.
    System(VarInput),
    /// The item has no expression.
    Nothing,
}

/// A bare word is text for SET: `SET sql_mode = ANSI`.
fn bare_word(value: &Expr) -> Option<&str> {
    match value {
        Expr::Column(c) if c.qualifier.is_none() => Some(&c.name),
        _ => None,
    }
}

impl Session {
    /// SET item, item, ..: all values are computed before the first is set, so that none of them sees another; then they are set in
    /// order, and what was set before an item that fails stays set.
    ///
    /// # Errors
    /// 1193, 1227, 1231 … whatever an assignment fails with.
    pub(crate) async fn set(
        &mut self,
        _: &Granted,
        items: &[SetItem],
        params: &[Value],
    ) -> Result<Done, SqlError> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(match item {
                SetItem::UserVar(_, value) => {
                    let (value, ty) = self.eval(value, params).await?;
                    Computed::User(value, ty)
                }
                SetItem::Variable { value, .. } => {
                    Computed::System(self.var_input(value, params).await?)
                }
                _ => Computed::Nothing,
            });
        }
        for (item, value) in items.iter().zip(values) {
            self.set_item(item, value).await?;
        }
        Ok(Done::default())
    }

    async fn set_item(&mut self, item: &SetItem, value: Computed) -> Result<(), SqlError> {
        match (item, value) {
            (SetItem::UserVar(name, _), Computed::User(value, ty)) => {
                self.set_user_var(name, value, ty);
                Ok(())
            }
            (SetItem::Variable { .. }, Computed::System(input)) => {
                self.set_system_item(item, &input).await
            }
            (item, _) => self.set_session_item(item),
        }
    }

    async fn set_system_item(&mut self, item: &SetItem, input: &VarInput) -> Result<(), SqlError> {
        match item {
            SetItem::Variable {
                scope,
                prefix: None,
                name,
                ..
            } => {
                if name.eq_ignore_ascii_case("gtid_purged") {
                    return self.set_gtid_purged(*scope, input).await;
                }
                if name.eq_ignore_ascii_case("gtid_next")
                    && matches!(scope, None | Some(VarScope::Session))
                {
                    return self.set_gtid_next(input).await;
                }
                if let Some(scope @ (VarScope::Global | VarScope::Persist)) = *scope
                    && server_mode::is_mode(name)
                {
                    return self.set_server_mode(scope, name, input).await;
                }
                if name.eq_ignore_ascii_case("session_track_gtids") {
                    self.check_outside_transaction("session_track_gtids")?;
                }
                if matches!(scope, None | Some(VarScope::Session))
                    && UNTIL_COMMIT.iter().any(|v| name.eq_ignore_ascii_case(v))
                {
                    self.check_not_within(name)?;
                }
                if name.eq_ignore_ascii_case("gtid_mode") && *scope == Some(VarScope::Global) {
                    self.check_gtid_mode(input)?;
                }
                if ["sql_replica_skip_counter", "sql_slave_skip_counter"]
                    .iter()
                    .any(|counter| name.eq_ignore_ascii_case(counter))
                {
                    self.may_count_groups()?;
                }
                let was_on = self.vars.hot().autocommit;
                self.set_variable(*scope, name, input)?;
                if name.eq_ignore_ascii_case("autocommit") {
                    let switched_on = !was_on && self.vars.hot().autocommit;
                    if let (true, Err(e)) = (switched_on, self.outside_xa()) {
                        self.set_variable(*scope, name, &VarInput::Int(0))?;
                        return Err(e);
                    }
                    self.autocommit_changed(was_on).await?;
                }
                Ok(())
            }
            SetItem::Variable {
                scope,
                prefix: Some(p),
                name,
                ..
            } if self.instance.components.has_variable(p) => {
                self.set_variable(*scope, &format!("{p}.{name}"), input)
            }
            SetItem::Variable {
                prefix: Some(p),
                name,
                ..
            } => Err(SqlError::unknown_system_variable(&format!("{p}.{name}"))),
            item => self.set_session_item(item),
        }
    }

    /// Groups are left out by number where they have no names.
    fn may_count_groups(&self) -> Result<(), SqlError> {
        // The last of the four steps.
        const ON: u64 = 3;
        let mode = self.instance.globals.value_by_name("gtid_mode");
        match mode.is_some_and(|m| m.as_u64() == ON) {
            true => Err(SqlError::fixed(
                codes::ER_SQL_SLAVE_SKIP_COUNTER_NOT_SETTABLE_IN_GTID_MODE,
            )),
            false => Ok(()),
        }
    }

    /// SET GLOBAL gtid_mode goes a step at a time: OFF, OFF_PERMISSIVE, ON_PERMISSIVE, ON.
    fn check_gtid_mode(&self, input: &VarInput) -> Result<(), SqlError> {
        let globals = &self.instance.globals;
        let Some(id) = vars::lookup("gtid_mode") else {
            return Ok(());
        };
        // What is no mode at all is refused by who sets it.
        let Ok((to, _)) = globals.checked(id, input, self.vars.hot().sql_mode) else {
            return Ok(());
        };
        let owned = !self.instance.owned_gtids.is_empty();
        match globals.value(id).as_u64().abs_diff(to.as_u64()) {
            1 if to.as_u64() == 0 && owned => Err(SqlError::new(
                codes::ER_CANT_SET_GTID_MODE,
                "SET @@GLOBAL.GTID_MODE = OFF is not allowed because there are ongoing transactions that have a GTID.",
            )),
            0 | 1 => Ok(()),
            _ => Err(SqlError::fixed(
                codes::ER_GTID_MODE_CAN_ONLY_CHANGE_ONE_STEP_AT_A_TIME,
            )),
        }
    }

    /// SET GLOBAL gtid_purged: `+set` adds, `set` names all that is to be in it.
    async fn set_gtid_purged(
        &mut self,
        scope: Option<VarScope>,
        input: &VarInput,
    ) -> Result<(), SqlError> {
        let text = match input {
            VarInput::Text(text) if scope == Some(VarScope::Global) => text.trim(),
            // Another scope, or what is no text: that is refused.
            _ => return self.set_variable(scope, "gtid_purged", input),
        };
        self.check_account_variable("gtid_purged", input)?;
        let Some(log) = self.instance.binary_log.get().cloned() else {
            return Err(SqlError::fixed(codes::ER_NO_BINARY_LOGGING));
        };
        let (plus, list) = match text.strip_prefix('+') {
            Some(list) => (true, list),
            None => (false, text),
        };
        let set = GtidSet::parse(list).ok_or_else(|| SqlError::malformed_gtid_set(list))?;
        unless_killed(&self.engine, log.wait_shown()).await?;
        let (executed, purged) = (log.executed(), log.purged());
        let refused = |why: &str| {
            let text = format!("@@GLOBAL.GTID_PURGED cannot be changed: {why}");
            Err(SqlError::new(
                codes::ER_CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS,
                text,
            ))
        };
        if self.instance.owned_gtids.meets(&set) {
            return refused("the new value must not overlap with @@GLOBAL.GTID_OWNED");
        }
        let mut added = set.clone();
        if plus {
            if executed.meets(&set) {
                return refused("the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED");
            }
        } else {
            let mut logged = executed.clone();
            logged.subtract(&purged);
            if logged.meets(&set) {
                return refused(
                    "the new value must not overlap with the transactions in the binary logs",
                );
            }
            if !set.contains(&purged) {
                return refused("the new value must be a superset of the old value");
            }
            added.subtract(&purged);
        }
        unless_killed(&self.engine, log.change(LogChange::AddPurged(added))).await
    }

    fn set_session_item(&mut self, item: &SetItem) -> Result<(), SqlError> {
        match item {
            SetItem::Names { charset, collation } => {
                let charset = match charset {
                    Some(c) => c.to_string(),
                    None => self.default_charset(),
                };
                self.settings += 1;
                self.vars.set_names(&charset, collation.as_deref())?;
                self.track("character_set_client");
                self.track("character_set_results");
                self.track("character_set_connection");
                Ok(())
            }
            SetItem::CharacterSet(charset) => self.set_character_set(charset.as_deref()),
            SetItem::Transaction {
                scope,
                isolation,
                read_only,
            } => self.set_transaction(*scope, *isolation, *read_only),
            // It stands alone, and was carried out before.
            SetItem::Password { .. } => Err(SqlError::parse_error("PASSWORD", 1)),
            SetItem::ResourceGroup(_) => Err(SqlError::not_supported("SET RESOURCE GROUP")),
            SetItem::UserVar(..) | SetItem::Variable { .. } => {
                Err(SqlError::internal("a variable without a value"))
            }
        }
    }

    fn default_charset(&self) -> String {
        match self.instance.globals.value_by_name("character_set_client") {
            Some(VarValue::Text(t)) => t.to_string(),
            _ => "utf8mb4".to_owned(),
        }
    }

    /// SET CHARACTER SET: client and results as named, the connection as the default schema.
    fn set_character_set(&mut self, charset: Option<&str>) -> Result<(), SqlError> {
        let charset = charset.map_or_else(|| self.default_charset(), str::to_owned);
        let text = VarInput::Text(charset);
        self.settings += 1;
        self.vars.set("character_set_client", &text)?;
        self.vars.set("character_set_results", &text)?;
        let database = self.vars.text("collation_database").to_string();
        self.vars
            .set("collation_connection", &VarInput::Text(database))?;
        Ok(())
    }

    /// The value of an expression in SET, and its type.
    pub(crate) async fn eval(
        &mut self,
        value: &Expr,
        params: &[Value],
    ) -> Result<(Val<'static>, ExprType), SqlError> {
        match self.with_ctx(params, |cx| scalar::constant(value, cx)) {
            Err(e) if e.code == types::error::codes::ER_NOT_SUPPORTED_YET => {
                self.eval_planned(value, params).await
            }
            r => r,
        }
    }

    async fn var_input(&mut self, value: &Expr, params: &[Value]) -> Result<VarInput, SqlError> {
        if let Some(word) = bare_word(value) {
            return Ok(VarInput::Text(word.to_owned()));
        }
        if matches!(value, Expr::Default) {
            return Ok(VarInput::Default);
        }
        let (v, ty) = self.eval(value, params).await?;
        Ok(VarInput::from_val(&v, &ty))
    }

    fn set_user_var(&mut self, name: &str, value: Val<'static>, ty: ExprType) {
        self.user_vars.lock().set(name, UserVar { value, ty });
    }

    /// Sets a system variable and lets what depends on it know.
    ///
    /// # Errors
    /// 1193, 1227, 1228, 1229, 1231, 1232, 1238 and those of special kinds.
    pub(crate) fn set_variable(
        &mut self,
        scope: Option<VarScope>,
        name: &str,
        input: &VarInput,
    ) -> Result<(), SqlError> {
        let warning = match scope {
            None | Some(VarScope::Session) => {
                self.settings += 1;
                let w = self.set_session_variable(name, input)?;
                self.track(name);
                w
            }
            Some(VarScope::Global) => {
                self.check_account_variable(name, input)?;
                let mode = self.vars.hot().sql_mode;
                let warning = self.instance.globals.set(name, input, mode)?;
                self.has_set_global(name);
                warning
            }
            Some(VarScope::Persist) => return self.persist_variable(name, input, false),
            Some(VarScope::PersistOnly) => return self.persist_variable(name, input, true),
        };
        if let Some(w) = warning {
            self.warn(Warning::from(w));
        }
        Ok(())
    }

    /// A variable of the server has its value from this session.
    pub(super) fn has_set_global(&self, name: &str) {
        let account = self.security.account();
        let origin = vars::VarOrigin::Set {
            at_us: self.instance.clock.wall_us(),
            user: account.user.to_string(),
            host: account.host.to_string(),
        };
        self.instance.globals.note_origin(name, origin);
    }

    fn track(&mut self, name: &str) {
        let Some(name) = TRACKED.iter().find(|t| t.eq_ignore_ascii_case(name)) else {
            return;
        };
        let (Some(value), Some(id)) = (self.vars.value_by_name(name), vars::lookup(name)) else {
            return;
        };
        let shown = value.shown(id.def());
        self.changes
            .push(StateChange::Variable((*name).to_owned(), shown));
    }
}
