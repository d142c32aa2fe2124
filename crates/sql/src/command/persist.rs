//! SET PERSIST, SET PERSIST_ONLY and RESET PERSIST: values for the next start, in the data directory's `mysqld-auto.cnf`.

use types::{Level, SqlError, Warning};

use crate::context::Session;
use crate::context::persisted::PersistedStore;
use crate::persisted::PersistedValue;
use sql_access::{Granted, statement};
use sql_expr::vars::{self, VarError, VarInput};

/// ER_VAR_DOES_NOT_EXIST.
const NOT_KEPT: u16 = 3615;

impl Session {
    fn persisted(&self) -> Result<&PersistedStore, SqlError> {
        let store = self.instance.persisted.get();
        store.ok_or_else(|| SqlError::not_supported("SET PERSIST in an embedded database"))
    }

    /// SET PERSIST, and SET PERSIST_ONLY (`only`), which leaves the running server as it is. The value is checked as SET GLOBAL does.
    ///
    /// # Errors
    /// As SET GLOBAL; 1238 for what cannot be kept; 1026 where the file cannot be written.
    pub(crate) fn persist_variable(
        &mut self,
        name: &str,
        input: &VarInput,
        only: bool,
    ) -> Result<(), SqlError> {
        self.persisted()?;
        self.check_account_variable(name, input)?;
        let mode = self.vars.hot().sql_mode;
        let globals = &self.instance.globals;
        let id = vars::lookup(name).ok_or_else(|| VarError::Unknown(name.to_owned()))?;
        let def = id.def();
        if !only && def.read_only {
            return Err(VarError::ReadOnly(def.name).into());
        }
        if !vars::is_persistable(def.name) {
            return Err(VarError::NotPersistable(def.name).into());
        }
        let (value, warning) = match only {
            true => globals.checked(id, input, mode)?,
            false => {
                let warning = globals.set(name, input, mode)?;
                self.has_set_global(def.name);
                (globals.value(id), warning)
            }
        };
        let user = self.security.account();
        let kept = PersistedValue {
            name: def.name.to_owned(),
            value: value.shown(def),
            is_static: def.read_only,
            set_us: u64::try_from(self.instance.clock.wall_us()).unwrap_or(0),
            user: user.user.to_string(),
            host: user.host.to_string(),
        };
        self.persisted()?.put(kept)?;
        if let Some(w) = warning {
            self.warn(Warning::from(w));
        }
        Ok(())
    }

    /// RESET PERSIST [[IF EXISTS] name].
    ///
    /// # Errors
    /// 3615 for a variable that has no value kept; 1026.
    pub(crate) fn reset_persist(
        &mut self,
        _: &Granted,
        name: Option<&str>,
        if_exists: bool,
    ) -> Result<(), SqlError> {
        let Some(name) = name else {
            if self.persisted()?.list().iter().any(|v| v.is_static) {
                self.may_reset_static()?;
            }
            return self.persisted()?.clear();
        };
        let known = vars::lookup(name).map_or(name, |id| id.def().name);
        let kept = self
            .persisted()?
            .list()
            .into_iter()
            .find(|v| v.name == known);
        match kept {
            Some(v) => {
                if v.is_static {
                    self.may_reset_static()?;
                }
                self.persisted()?.remove(known)
            }
            None => {
                let why = format!("Variable {name} does not exist in persisted config file");
                if !if_exists {
                    return Err(SqlError::new(NOT_KEPT, why));
                }
                self.warn(Warning::new(Level::Warning, NOT_KEPT, why));
                Ok(())
            }
        }
    }

    /// What SET GLOBAL does not take needs one privilege more.
    fn may_reset_static(&self) -> Result<(), SqlError> {
        self.security.require(statement::PERSIST_ONLY)
    }
}
