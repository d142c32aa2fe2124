//! Which roles an account has, and which of them are active from its login on.

use super::account::{Account, AccountId, AccountState};

/// What decides which roles are active from a login on, beside the account.
#[derive(Debug, Clone, Default)]
pub struct AtLogin {
    /// `mandatory_roles`.
    pub mandatory: Vec<AccountId>,
    /// `activate_all_roles_on_login`.
    pub every: bool,
}

impl AtLogin {
    /// The roles that are active then.
    pub fn roles(&self, state: &AccountState, account: &AccountId) -> Vec<AccountId> {
        match state.find(account) {
            Some(a) if self.every => all(state, a, &self.mandatory),
            _ => by_default(state, account, &self.mandatory),
        }
    }
}

/// The roles that an account was granted, and those that everybody has, in order.
pub fn all(state: &AccountState, account: &Account, mandatory: &[AccountId]) -> Vec<AccountId> {
    let mandatory = mandatory.iter().filter(|r| state.find(r).is_some());
    let mut all: Vec<AccountId> = account.roles.keys().chain(mandatory).cloned().collect();
    all.sort();
    all.dedup();
    all
}

/// The default roles of an account, of those that it still has.
pub fn by_default(
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
