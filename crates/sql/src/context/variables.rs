//! The session's system variables: one is set, those that are obeyed are handed on, and what a hint has set is put back. Who may set which
//! is asked elsewhere.

use types::SqlError;

use super::Session;
use sql_access::statement::CONNECTIONS;
#[cfg(doc)]
use sql_expr::vars::SessionVars;
use sql_expr::vars::{VarInput, VarWarning};

impl Session {
    /// Sets a variable of the session, and lets what depends on it know.
    ///
    /// # Errors
    /// As [`SessionVars::set`].
    pub(crate) fn set_session_variable(
        &mut self,
        name: &str,
        input: &VarInput,
    ) -> Result<Option<VarWarning>, SqlError> {
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
            "pseudo_thread_id" => {
                let w = self.vars.set(name, input)?;
                self.facts.pseudo_thread = self.vars.value_by_name(name).map(|v| v.as_u64());
                return Ok(w);
            }
            "pseudo_replica_mode" | "pseudo_slave_mode" => {
                let w = self.vars.set(name, input)?;
                if self
                    .vars
                    .value_by_name(name)
                    .is_some_and(|v| v.as_u64() == 0)
                {
                    // What repeats a binary log is at its end.
                    self.replayed = Default::default();
                }
                return Ok(w);
            }
            "original_commit_timestamp" | "original_server_version" => {
                let w = self.vars.set(name, input)?;
                self.say_origin();
                return Ok(w);
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
    pub(crate) fn obey_variables(&mut self) {
        let hot = self.vars.hot();
        let seconds = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let (rows, tables) = (hot.lock_wait_timeout, hot.metadata_lock_timeout);
        self.engine.set_lock_wait_timeout(seconds(rows));
        self.engine.set_table_wait_timeout(seconds(tables));
        self.obey_tracker();
        self.obey_memory_limits();
    }

    /// Takes over the limits of the session's memory and of its temporary files; who administers connections is held to the server's own limit alone.
    pub(crate) fn obey_memory_limits(&mut self) {
        let exempt = self.security.has_one(CONNECTIONS);
        let value = |name| self.vars.value_by_name(name).map_or(0, |v| v.as_u64());
        let own = match exempt {
            true => u64::MAX,
            false => value("connection_memory_limit"),
        };
        let subject = !exempt && value("global_connection_memory_tracking") != 0;
        self.memory().set_limits(own, subject, exempt);
        let account = self.security.account();
        let (memory, temporary) = match exempt {
            true => (None, None),
            false => (
                Some(self.instance.memory_of(account)),
                Some(self.instance.temporary_of(account)),
            ),
        };
        self.memory().join(memory);
        self.engine.set_temp_share(temporary);
    }

    /// Gives variables back the values that they had before a statement with hints, if one has left any.
    #[inline]
    pub(crate) fn put_back(&mut self) {
        if !self.before.vars.is_empty() {
            self.put_all_back();
        }
    }

    fn put_all_back(&mut self) {
        let before = std::mem::take(&mut self.before);
        self.vars.put_back(before.vars);
        if let Some(t) = before.timestamp {
            self.fixed_timestamp = t;
        }
        if let Some(id) = before.insert_id
            && self.facts.insert_id != 0
        {
            // What the statement has not used is gone with it.
            self.facts.insert_id = id;
        }
        self.obey_variables();
    }
}
