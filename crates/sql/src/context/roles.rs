//! Which roles an account has, and which of them are active from its login on. Who may change that is asked elsewhere.

use super::Session;
use sql_access::AccountId;
use sql_access::roles::AtLogin;

pub(crate) use sql_access::roles::{all, by_default};

impl Session {
    /// The roles that are active from the login on.
    pub(crate) fn login_roles(&self) -> Vec<AccountId> {
        let state = self.instance.accounts.snapshot();
        self.at_login().roles(&state, self.security.account())
    }

    /// What decides about them beside the account.
    pub(crate) fn at_login(&self) -> AtLogin {
        let globals = &self.instance.globals;
        let every = globals.value_by_name("activate_all_roles_on_login");
        AtLogin {
            mandatory: self.instance.mandatory_roles(),
            every: every.is_some_and(|v| v.as_u64() != 0),
        }
    }
}
