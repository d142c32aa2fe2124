//! What the session may do, kept up with the accounts: whatever runs asks [`Session::secure`] first, so that what is granted and revoked is in
//! force for open sessions from their next statement on.
//!
//! Nothing is decided here: the check is [`sql_access::SecurityContext`]'s.

use std::sync::Arc;

use sql_expr::vars::VarInput;
use types::SqlError;

use super::Session;
use super::process::Command;
use sql_access::account::Limits;
use sql_access::needs::Right;
use sql_access::{AccountId, AccountState, Priv, SecurityContext};

impl Session {
    /// What it may do, as of the statement at hand.
    pub(crate) fn security(&self) -> &Arc<SecurityContext> {
        &self.security
    }

    /// Looks again where accounts have changed. Costs a load of a line that changes with the accounts alone.
    #[inline]
    pub(crate) fn secure(&mut self) {
        if self.accounts_seen != self.instance.accounts.version() {
            self.refresh_security();
        }
    }

    /// Whether what the session may do is what the accounts say now.
    #[inline]
    pub(crate) fn is_secure(&self) -> bool {
        self.accounts_seen == self.instance.accounts.version()
    }

    /// Makes the context anew, of the same account and of those of its active roles that it still has.
    #[cold]
    pub(crate) fn refresh_security(&mut self) {
        if self.security.is_server() {
            self.accounts_seen = self.instance.accounts.version();
            return;
        }
        if let Some(definer) = self.programs.definer.clone() {
            self.accounts_seen = self.instance.accounts.version();
            self.security = self.rights_of(&definer);
            return;
        }
        let account = self.security.account().clone();
        self.become_account(account);
    }

    /// What the definer of a stored program may do, with the roles of a login of his; nothing where he is gone.
    pub(crate) fn rights_of(&mut self, definer: &AccountId) -> Arc<SecurityContext> {
        let state = self.instance.accounts.snapshot();
        let at_login = self.at_login();
        let roles = at_login.roles(&state, definer);
        self.contexts += 1;
        let made = SecurityContext::new(
            self.contexts,
            &state,
            definer.clone(),
            &definer.host,
            roles,
            self.instance.globals.hot().partial_revokes() != 0,
        );
        Arc::new(made.knowing(state, at_login))
    }

    /// The session is this account's from now on.
    pub(crate) fn become_account(&mut self, account: AccountId) {
        // The version first: a change in between is seen again by the next statement.
        let version = self.instance.accounts.version();
        let state = self.instance.accounts.snapshot();
        let mandatory = self.instance.mandatory_roles();
        let own = state.find(&account);
        self.roles
            .retain(|r| own.is_some_and(|a| a.roles.contains_key(r)) || mandatory.contains(r));
        self.contexts += 1;
        let made = SecurityContext::new(
            self.contexts,
            &state,
            account,
            &self.host,
            self.roles.clone(),
            self.instance.globals.hot().partial_revokes() != 0,
        );
        let known = Arc::clone(&state);
        self.security = Arc::new(made.knowing(known, self.at_login()));
        self.take_limits(&state);
        let roles: Vec<String> = self.roles.iter().map(AccountId::ticked).collect();
        self.facts.current_role = roles.join(",");
        self.accounts_seen = version;
        self.obey_memory_limits();
    }

    /// Makes other roles active.
    pub(crate) fn activate_roles(&mut self, roles: Vec<AccountId>) {
        self.roles = roles;
        self.refresh_security();
    }

    /// Takes over the limits that the account has now.
    pub(crate) fn take_limits(&mut self, state: &AccountState) {
        let own = state.find(self.security.account());
        self.gate.limits = own.map_or_else(Limits::default, |a| a.limits);
    }

    /// Opens the gate again once the account has a password that has not expired.
    pub(crate) fn look_for_new_password(&mut self) {
        let state = self.instance.accounts.snapshot();
        let own = state.find(self.security.account());
        if own.is_some_and(|a| !a.password.expired) {
            self.gate.expired = false;
        }
    }

    /// Whether the account sees other accounts' connections.
    pub(crate) fn sees_all_processes(&self) -> bool {
        self.security.has_one(&[Right::Static(Priv::Process)])
    }

    /// COM_DEBUG: refuses who has no SUPER.
    ///
    /// # Errors
    /// 1227.
    pub fn may_debug(&mut self) -> Result<(), SqlError> {
        self.secure();
        self.security.require(&[Right::Static(Priv::Super)])
    }

    /// Whether the session may be sent the binary log.
    ///
    /// # Errors
    /// 1227.
    pub fn may_replicate(&mut self) -> Result<(), SqlError> {
        self.secure();
        self.security
            .require(&[Right::Static(Priv::ReplicationSlave)])
    }

    /// The session is sent the binary log from now on: for the process list, and a KILL of before does not count.
    pub fn begin_dump(&mut self, by_gtid: bool) {
        self.engine.interrupt().clear_query();
        let command = match by_gtid {
            true => Command::DumpGtid,
            false => Command::Dump,
        };
        self.process.begin(command, b"", self.instance.now_us());
        self.dump_has_sent_all(false);
    }

    /// For the process list: whether there is nothing more to send for now.
    pub fn dump_has_sent_all(&self, all: bool) {
        self.process.set_state(match all {
            true => "Source has sent all binlog to replica; waiting for more updates",
            false => "Sending binlog event to replica",
        });
    }

    /// That has ended.
    pub fn end_dump(&mut self) {
        self.process.set_state("");
        self.process.end(self.instance.now_us());
    }

    /// A user variable as text; `None` where it is not set, or NULL.
    pub fn user_variable(&self, name: &str) -> Option<String> {
        let vars = self.user_vars.lock();
        let var = vars.get(name)?;
        match VarInput::from_val(&var.value, &var.ty) {
            VarInput::Text(text) => Some(text),
            VarInput::Int(n) => Some(n.to_string()),
            VarInput::Uint(n) => Some(n.to_string()),
            VarInput::Double(n) => Some(n.to_string()),
            VarInput::Null | VarInput::Default => None,
        }
    }

    /// Refuses to act on an account that has SYSTEM_USER for a session that has not.
    ///
    /// # Errors
    /// 1227.
    pub(crate) fn may_touch(&self, account: &AccountId) -> Result<(), SqlError> {
        if self.security.has_dynamic(SYSTEM_USER) {
            return Ok(());
        }
        let state = self.instance.accounts.snapshot();
        let theirs = SecurityContext::new(
            0,
            &state,
            account.clone(),
            "",
            all_roles(&state, account),
            false,
        );
        match theirs.has_dynamic(SYSTEM_USER) {
            true => self.security.require(&[Right::Dynamic(SYSTEM_USER)]),
            false => Ok(()),
        }
    }
}

/// The privilege that sets administrators of the system apart from other accounts.
const SYSTEM_USER: &str = "SYSTEM_USER";

/// The roles an account was granted, whether they are active or not.
pub(super) fn all_roles(state: &AccountState, account: &AccountId) -> Vec<AccountId> {
    let own = state.find(account);
    own.map_or_else(Vec::new, |a| a.roles.keys().cloned().collect())
}
