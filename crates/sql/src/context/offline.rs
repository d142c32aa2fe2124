//! `offline_mode`: a server that is there for its administrators alone, such as an old source that is to be kept from clients. Whoever has
//! neither SUPER nor CONNECTION_ADMIN is sent away, and comes in no more; replicas that read its binary log are among them. What it applies
//! of a source of its own goes on.
//!
//! Never here: what may be written (`read_only`, `super_read_only`).

use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use super::Session;
use super::instance::Instance;
use super::security::all_roles;
use sql_access::{SecurityContext, statement};

/// The variable.
const OFFLINE_MODE: &str = "offline_mode";

impl Instance {
    fn is_offline(&self) -> bool {
        let v = self.globals.value_by_name(OFFLINE_MODE);
        v.is_some_and(|v| v.as_u64() != 0)
    }

    /// Sends clients away when the variable is switched on.
    pub(crate) fn obey_offline_mode(self: &Arc<Self>) {
        let instance = Arc::downgrade(self);
        self.globals.observe(move |name, value| {
            if name == OFFLINE_MODE
                && value.as_u64() != 0
                && let Some(instance) = instance.upgrade()
            {
                instance.send_clients_away();
            }
        });
    }

    fn send_clients_away(&self) {
        let state = self.accounts.snapshot();
        for process in self.processes.all() {
            let Some((account, false)) = self.processes.owner_of(process.id) else {
                continue;
            };
            if state.find(&account).is_none() {
                continue;
            }
            let roles = all_roles(&state, &account);
            let theirs = SecurityContext::new(0, &state, account, "", roles, false);
            if !theirs.has_one(statement::CONNECTIONS) {
                process.interrupt().kill_connection();
            }
        }
    }
}

impl Session {
    /// Whether the server is there for this user.
    ///
    /// # Errors
    /// 3032.
    pub fn check_online(&self) -> Result<(), SqlError> {
        match self.instance.is_offline() && !self.security.has_one(statement::CONNECTIONS) {
            true => Err(SqlError::fixed(codes::ER_SERVER_OFFLINE_MODE)),
            false => Ok(()),
        }
    }
}
