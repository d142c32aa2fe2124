//! The optimizer hint `SET_VAR`: variables that have another value while one statement runs.

use types::{Level, SqlError, Warning};

use crate::context::Session;
use sql_access::statement::SESSION_VARIABLES;
use sql_expr::vars::{self, VarInput};
use sql_parser::ast::{HintValue, SetVar, Statement};

/// ER_WARN_CONFLICTING_HINT, ER_UNRESOLVED_HINT_NAME, ER_NOT_HINT_UPDATABLE_VARIABLE.
const CONFLICT: u16 = 3126;
const UNRESOLVED: u16 = 3128;
const NOT_HINTABLE: u16 = 3637;

fn input(value: &HintValue) -> VarInput {
    match value {
        HintValue::Number(n) => i64::try_from(*n).map_or(VarInput::Uint(*n), VarInput::Int),
        HintValue::Word(w) | HintValue::Text(w) => VarInput::Text(w.to_string()),
    }
}

impl Session {
    /// Sets the variables that a statement's hints name, until [`put_back`](Session::put_back). What cannot be set is warned of.
    pub(crate) fn set_for_statement(&mut self, statement: &Statement) {
        self.put_back();
        let Some(hints) = statement.hints().filter(|h| !h.set_vars.is_empty()) else {
            return;
        };
        let mut later: Vec<Warning> = Vec::new();
        let mut set: Vec<&'static str> = Vec::new();
        for v in &hints.set_vars {
            if let Err((code, message)) = self.set_one(v, &mut set, &mut later) {
                self.warn(Warning::new(Level::Warning, code, message));
            }
        }
        for w in later {
            self.warn(w);
        }
    }

    fn set_one(
        &mut self,
        v: &SetVar,
        set: &mut Vec<&'static str>,
        later: &mut Vec<Warning>,
    ) -> Result<(), (u16, String)> {
        let unknown = || {
            let message = format!("Unresolved name '{}' for SET_VAR hint", v.name);
            (UNRESOLVED, message)
        };
        let id = vars::lookup(&v.name.to_ascii_lowercase()).ok_or_else(unknown)?;
        let name = id.def().name;
        if !vars::is_hintable(name) {
            let message = format!("Variable '{name}' cannot be set using SET_VAR hint.");
            return Err((NOT_HINTABLE, message));
        }
        if set.contains(&name) {
            let message = format!(
                "Hint SET_VAR({}={})  is ignored as conflicting/duplicated",
                v.name, v.value
            );
            return Err((CONFLICT, message));
        }
        set.push(name);
        if vars::is_restricted(name)
            && let Err(e) = self.security.require(SESSION_VARIABLES)
        {
            later.push(Warning::new(Level::Warning, e.code, e.message));
            return Ok(());
        }
        let mut kept = std::mem::take(&mut self.before.vars);
        self.vars.keep(id, &mut kept);
        self.before.vars = kept;
        match name {
            "timestamp" => self.before.timestamp = Some(self.fixed_timestamp),
            "insert_id" => self.before.insert_id = Some(self.facts.insert_id),
            _ => {}
        }
        match self.set_session_variable(name, &input(&v.value)) {
            Ok(warning) => later.extend(warning.map(Warning::from)),
            Err(SqlError { code, message, .. }) => {
                later.push(Warning::new(Level::Warning, code, message));
            }
        }
        Ok(())
    }
}

/// Whether a statement sets variables for itself: its plan is for no other statement, and not without them.
pub(crate) fn sets_vars(statement: &Statement) -> bool {
    statement.hints().is_some_and(|h| !h.set_vars.is_empty())
}
