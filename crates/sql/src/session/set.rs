//! SET in all its forms.

use types::{SqlError, Value, Warning};

use super::{Session, scalar};
use crate::access::Granted;
use crate::access::statement::CONNECTIONS;
use crate::sink::{Done, StateChange};
use sql_expr::vars::{self, VarInput, VarValue};
use sql_expr::{ExprType, UserVar, Val};
use sql_parser::ast::{Expr, SetItem, VarScope};

/// Variables whose changes a client is told (`session_track_system_variables` of a fresh server).
const TRACKED: &[&str] = &[
    "time_zone",
    "autocommit",
    "character_set_client",
    "character_set_results",
    "character_set_connection",
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
    pub(super) async fn set(
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
                let was_on = self.vars.hot().autocommit;
                self.set_variable(*scope, name, input)?;
                if name.eq_ignore_ascii_case("autocommit") {
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
    async fn eval(
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
    pub(super) fn set_variable(
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
                self.instance.globals.set(name, input, mode)?
            }
            Some(VarScope::Persist | VarScope::PersistOnly) => {
                return Err(SqlError::not_supported("SET PERSIST"));
            }
        };
        if let Some(w) = warning {
            self.warn(Warning::from(w));
        }
        Ok(())
    }

    pub(super) fn set_session_variable(
        &mut self,
        name: &str,
        input: &VarInput,
    ) -> Result<Option<vars::VarWarning>, SqlError> {
        let number = match input {
            VarInput::Int(i) => Some(*i as u64),
            VarInput::Uint(u) => Some(*u),
            _ => None,
        };
        match name.to_ascii_lowercase().as_str() {
            "last_insert_id" | "identity" => {
                if let Some(n) = number {
                    self.facts.last_insert_id = n;
                }
            }
            "insert_id" => {
                if let Some(n) = number {
                    self.facts.insert_id = n;
                }
            }
            "timestamp" => {
                self.fixed_timestamp = match input {
                    VarInput::Double(d) if *d > 0.0 => Some((d * 1e6) as i64),
                    _ => number
                        .filter(|n| *n > 0)
                        .and_then(|n| i64::try_from(n).ok()?.checked_mul(1_000_000)),
                };
                if matches!(input, VarInput::Double(_)) {
                    return Ok(None);
                }
            }
            "optimizer_trace" => {
                if let VarInput::Text(t) = input
                    && t.to_ascii_lowercase()
                        .replace(' ', "")
                        .contains("enabled=on")
                {
                    return Err(SqlError::not_supported("optimizer_trace"));
                }
            }
            seed @ ("rand_seed1" | "rand_seed2") => {
                let w = self.vars.set(name, input)?;
                let value = self.vars.value_by_name(name).map_or(0, |v| v.as_u64());
                let which = usize::from(seed == "rand_seed2");
                self.facts.chance.set(which, value as u32);
                // The seeds are told to nobody: they read as zero.
                self.vars.set(name, &VarInput::Int(0))?;
                return Ok(w);
            }
            _ => {}
        }
        let w = self.vars.set(name, input)?;
        self.obey_variables();
        Ok(w)
    }

    /// Hands the engine the values it obeys.
    pub(super) fn obey_variables(&mut self) {
        let hot = self.vars.hot();
        let seconds = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let (rows, tables) = (hot.lock_wait_timeout, hot.metadata_lock_timeout);
        self.engine.set_lock_wait_timeout(seconds(rows));
        self.engine.set_table_wait_timeout(seconds(tables));
        self.obey_memory_limits();
    }

    /// Takes over the limits of the session's memory; who administers connections is held to the server's own limit alone.
    pub(super) fn obey_memory_limits(&mut self) {
        let exempt = self.security.has_one(CONNECTIONS);
        let value = |name| self.vars.value_by_name(name).map_or(0, |v| v.as_u64());
        let own = match exempt {
            true => u64::MAX,
            false => value("connection_memory_limit"),
        };
        let subject = !exempt && value("global_connection_memory_tracking") != 0;
        self.memory().set_limits(own, subject, exempt);
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
