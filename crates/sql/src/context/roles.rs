//! Which roles an account has, and which of them are active from its login on. Who may change that is asked elsewhere.

use super::Session;
use crate::access::account::Account;
use crate::access::{AccountId, AccountState};

/// The roles that an account was granted, and those that everybody has, in order.
pub(crate) fn all(
    state: &AccountState,
    account: &Account,
    mandatory: &[AccountId],
) -> Vec<AccountId> {
    let mandatory = mandatory.iter().filter(|r| state.find(r).is_some());
    let mut all: Vec<AccountId> = account.roles.keys().chain(mandatory).cloned().collect();
    all.sort();
    all.dedup();
    all
}

/// The default roles of an account, of those that it still has.
pub(crate) fn by_default(
    state: &AccountState,
    account: &AccountId,
    mandatory: &[AccountId],
) -> Vec<AccountId> {
    let Some(a) = state.find(account) else {
        return Vec::new();
    };
    let has = |r: &&AccountId| a.roles.contains_key(r) || mandatory.contains(r);
    a.default_roles.iter().filter(has).cloned().collect()
}

impl Session {
    /// The roles that are active from the login on.
    pub(crate) fn login_roles(&self) -> Vec<AccountId> {
        let globals = &self.instance.globals;
        let every = globals.value_by_name("activate_all_roles_on_login");
        let state = self.instance.accounts.snapshot();
        let (account, mandatory) = (self.security.account(), self.instance.mandatory_roles());
        match state.find(account) {
            Some(a) if every.is_some_and(|v| v.as_u64() != 0) => all(&state, a, &mandatory),
            _ => by_default(&state, account, &mandatory),
        }
    }
}
