//! What the change log is told of statements about accounts. A password is never in it: where one was given, the text is made anew, with what the
//! account's plugin has stored of it, as MySQL does.

use super::show::{identified, options};
use sql_access::{AccountId, AccountState};
use sql_parser::ast::{AuthSecret, CreateUser, UserSpec};

/// Accounts, and of each whether its former password stays.
pub(super) type Named = Vec<(AccountId, bool)>;

/// A statement whose text has a password.
pub(super) enum Secret {
    /// CREATE USER, with IF NOT EXISTS, and with what else is said of all its accounts.
    Create { if_not_exists: bool, users: Named },
    /// ALTER USER or SET PASSWORD, with IF EXISTS, and whether more is said than passwords.
    Alter {
        if_exists: bool,
        users: Named,
        more: bool,
    },
}

/// Whether a password stands in what is said of an account.
pub(super) fn is_secret(u: &UserSpec) -> bool {
    let password = u
        .auth
        .as_ref()
        .is_some_and(|a| matches!(a.secret, AuthSecret::Password(_) | AuthSecret::Random));
    password || u.replace.is_some()
}

/// Whether ALTER USER says more than how accounts authenticate.
pub(super) fn says_more(c: &CreateUser) -> bool {
    c.require.is_some()
        || c.limits != Default::default()
        || !c.options.is_empty()
        || c.attribute.is_some()
}

impl Secret {
    /// The text, as the accounts are after it; `None` where it names none that there is.
    pub fn text(&self, state: &AccountState) -> Option<String> {
        let (begin, users) = match self {
            Secret::Create {
                if_not_exists,
                users,
            } => {
                let exists = if *if_not_exists { "IF NOT EXISTS " } else { "" };
                (format!("CREATE USER {exists}"), users)
            }
            Secret::Alter {
                if_exists, users, ..
            } => {
                let exists = if *if_exists { "IF EXISTS " } else { "" };
                (format!("ALTER USER {exists}"), users)
            }
        };
        let all = users
            .iter()
            .filter_map(|(id, retain)| Some((state.find(id)?, *retain)));
        let all: Vec<_> = all.collect();
        let (first, _) = *all.first()?;
        let each = all.iter().map(|(a, retain)| {
            let old = if *retain {
                " RETAIN CURRENT PASSWORD"
            } else {
                ""
            };
            format!("{}{old}", identified(a, true, true))
        });
        let each: Vec<String> = each.collect();
        let rest = match self {
            Secret::Create { .. } => options(first, true),
            Secret::Alter { more: true, .. } => options(first, false),
            Secret::Alter { .. } => String::new(),
        };
        Some(format!("{begin}{}{rest}", each.join(",")))
    }
}
