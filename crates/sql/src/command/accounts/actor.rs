//! Who changes accounts, and under which settings: everything that a change looks at beside the accounts themselves.
//!
//! What the actor may do is computed from the accounts as the change finds them ([`Actor::powers`]), never from what the session
//! knew before: between the two somebody else may have taken it away.

use std::sync::Arc;

use base::Random;
use engine::Catalog;
use types::error::codes;
use types::{SqlError, Warning};

use crate::context::{PasswordHasher, PasswordVerifier};
use sql_access::needs::Right;
use sql_access::password::{History, Strength};
use sql_access::privilege::Priv;
use sql_access::{AccountId, AccountState, SecurityContext};
use sql_parser::ast;

use super::errors;

/// The plugin of accounts for which none is named.
pub(super) const DEFAULT_PLUGIN: &str = "caching_sha2_password";

/// Whoever changes accounts.
pub(super) struct Actor {
    pub account: AccountId,
    /// Where the client is.
    pub host: String,
    /// Active roles.
    pub roles: Vec<AccountId>,
    /// The server itself.
    pub server: bool,
    /// `partial_revokes`.
    pub partial_revokes: bool,
    pub mandatory: Vec<AccountId>,
    pub now_us: i64,
    /// What the variables ask of passwords where the account says nothing.
    pub history: History,
    /// `password_require_current`
    pub require_current: bool,
    /// `generated_random_password_length`
    pub random_length: usize,
    /// What the validate_password component asks, where it is installed.
    pub strength: Option<Strength>,
    pub hasher: Option<PasswordHasher>,
    pub verifier: Option<PasswordVerifier>,
    pub random: Arc<dyn Random>,
    pub catalog: Arc<Catalog>,
    /// The default database.
    pub schema: Option<String>,
}

/// What a change leaves for the client, and for the session.
#[derive(Default)]
pub(super) struct Outcome {
    pub notes: Vec<Warning>,
    /// Generated passwords.
    pub generated: Vec<(AccountId, String)>,
    /// Accounts whose failed logins are forgotten.
    pub unlocked: Vec<AccountId>,
}

const CREATE_USER: &[Right] = &[Right::Static(Priv::CreateUser)];

impl Actor {
    /// What it may do, as these accounts say.
    pub fn powers(&self, state: &AccountState) -> SecurityContext {
        if self.server {
            return SecurityContext::of_the_server(0, self.account.clone());
        }
        let own = state.find(&self.account);
        let has = |r: &&AccountId| {
            own.is_some_and(|a| a.roles.contains_key(r)) || self.mandatory.contains(r)
        };
        let roles = self.roles.iter().filter(has).cloned().collect();
        SecurityContext::new(
            0,
            state,
            self.account.clone(),
            &self.host,
            roles,
            self.partial_revokes,
        )
    }

    /// Refuses who may not make, change and drop accounts: who has neither CREATE USER nor the privilege to write the same into the
    /// tables of `mysql`, of which there is `or`.
    pub fn require_create_user(&self, state: &AccountState, or: Priv) -> Result<(), SqlError> {
        let powers = self.powers(state);
        match powers.on_db("mysql").has(or) {
            true => Ok(()),
            false => powers.require(CREATE_USER),
        }
    }

    /// Now, as precisely as `password_last_changed` keeps it.
    pub fn this_second(&self) -> i64 {
        self.now_us - self.now_us.rem_euclid(1_000_000)
    }

    /// Whether it may make, change and drop accounts.
    pub fn has_create_user(&self, state: &AccountState) -> bool {
        self.powers(state).has_one(CREATE_USER)
    }

    /// Refuses to touch an account that has SYSTEM_USER, by itself or by a role, for an actor that has not.
    pub fn may_touch(&self, state: &AccountState, id: &AccountId) -> Result<(), SqlError> {
        if self.server || self.powers(state).has_dynamic(SYSTEM_USER) {
            return Ok(());
        }
        let roles = state.find(id).map(|a| a.roles.keys().cloned().collect());
        let theirs =
            SecurityContext::new(0, state, id.clone(), "", roles.unwrap_or_default(), false);
        match theirs.has_dynamic(SYSTEM_USER) {
            true => Err(errors::missing(SYSTEM_USER)),
            false => Ok(()),
        }
    }

    /// The account that a clause names.
    ///
    /// # Errors
    /// 1470, 1105, 1300.
    pub fn id(&self, a: &ast::Account) -> Result<AccountId, SqlError> {
        match a {
            ast::Account::CurrentUser => Ok(self.account.clone()),
            ast::Account::Named { user, host } => named(user, host),
        }
    }

    /// The accounts of a list.
    pub fn ids(&self, list: &[ast::Account]) -> Result<Vec<AccountId>, SqlError> {
        list.iter().map(|a| self.id(a)).collect()
    }
}

/// The privilege that sets administrators of the system apart from other accounts.
pub(super) const SYSTEM_USER: &str = "SYSTEM_USER";
const USER_CHARS: usize = 32;
const HOST_CHARS: usize = 255;

/// An account's name as it was written: without the white space around it, which columns of type CHAR would not keep.
///
/// # Errors
/// 1470 for what is too long, 1105 and 1300 for what no account can be called.
pub(super) fn named(user: &str, host: &str) -> Result<AccountId, SqlError> {
    let space = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let (user, host) = (user.trim_matches(space), host.trim_matches(space));
    let too_long = |text: &str, what: &str, most: usize| {
        SqlError::new(
            codes::ER_WRONG_STRING_LENGTH,
            format!("String '{text}' is too long for {what} (should be no longer than {most})"),
        )
    };
    if user.chars().count() > USER_CHARS {
        return Err(too_long(user, "user name", USER_CHARS));
    }
    if host.chars().count() > HOST_CHARS {
        return Err(too_long(host, "host name", HOST_CHARS));
    }
    if host.contains('@') || !host.is_ascii() || host.bytes().any(|b| b.is_ascii_control()) {
        return Err(SqlError::new(
            codes::ER_UNKNOWN_ERROR,
            format!("Malformed hostname ({host})"),
        ));
    }
    if user.contains('\0') || user.chars().any(|c| u32::from(c) > 0xFFFF) {
        return Err(SqlError::new(
            codes::ER_INVALID_CHARACTER_STRING,
            format!("Invalid utf8mb3 character string: '{user}'"),
        ));
    }
    Ok(AccountId::new(user, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_tables_can_keep() {
        let id =
            |user: &str, host: &str| named(user, host).map(|id| id.plain()).map_err(|e| e.code);
        assert_eq!(id("root ", "LocalHost\t"), Ok("root@localhost".to_owned()));
        assert_eq!(id(" a b ", "%"), Ok("a b@%".to_owned()));
        assert_eq!(id(&"ü".repeat(32), "%").map(|n| n.len()), Ok(66));
        assert_eq!(id(&"u".repeat(33), "%"), Err(1470));
        assert_eq!(id("u", &"h".repeat(256)), Err(1470));
        assert_eq!(id("u", "a@b"), Err(1105));
        assert_eq!(id("u", "hé"), Err(1105));
        assert_eq!(id("😀", "%"), Err(1300));
    }
}
