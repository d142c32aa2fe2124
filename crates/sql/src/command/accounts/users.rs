//! CREATE USER, ALTER USER, DROP USER, RENAME USER.

use types::SqlError;
use types::error::codes;

use super::actor::{Actor, DEFAULT_PLUGIN, Outcome};
use super::errors::{does_not_exist, exists_already, failed};
use super::{passwords, removal, roles};
use sql_access::account::{Account, Limits, TlsRequirement};
use sql_access::{AccountState, Priv};
use sql_expr::json::{Json, parse};
use sql_parser::ast::{self, CreateUser, Require, UserAttribute, UserLimits, UserOption};

/// CREATE USER.
pub(super) fn create(
    actor: &Actor,
    state: &mut AccountState,
    stmt: &CreateUser,
) -> Result<Outcome, SqlError> {
    actor.require_create_user(state, Priv::Insert)?;
    let mut out = Outcome::default();
    let mut refused = Vec::new();
    for spec in &stmt.users {
        let id = actor.id(&spec.account)?;
        if state.find(&id).is_some() {
            if stmt.if_clause {
                out.notes.push(exists_already(&id));
            } else {
                refused.push(id.quoted());
            }
            continue;
        }
        let mut a = Account {
            id,
            plugin: DEFAULT_PLUGIN.to_owned(),
            ..Account::default()
        };
        a.password.changed_us = Some(actor.this_second());
        // Before the password, which its history may have to keep, and behind it, which would take PASSWORD EXPIRE away.
        take_options(&mut a, stmt)?;
        passwords::first(actor, &mut a, spec, &mut out)?;
        take_options(&mut a, stmt)?;
        let id = a.id.clone();
        state.put(a);
        if let Some(set) = &stmt.default_role {
            // Before the account has any role only NONE and ALL can be meant, and mandatory roles.
            roles::give_default(actor, state, &id, set)?;
        }
    }
    match refused.is_empty() {
        true => Ok(out),
        false => Err(failed("CREATE USER", &refused)),
    }
}

/// Whether a statement changes nothing but how the account proves itself, with the plugin that it has.
fn only_passwords(stmt: &CreateUser, spec: &ast::UserSpec) -> bool {
    let own_plugin = spec.auth.as_ref().is_none_or(|a| {
        let hash = matches!(a.secret, ast::AuthSecret::Hash(_));
        a.plugin.is_none() && !hash
    });
    own_plugin
        && stmt.default_role.is_none()
        && stmt.require.is_none()
        && stmt.limits == UserLimits::default()
        && stmt.options.is_empty()
        && stmt.attribute.is_none()
}

/// ALTER USER.
pub(super) fn alter(
    actor: &Actor,
    state: &mut AccountState,
    stmt: &CreateUser,
) -> Result<Outcome, SqlError> {
    let mut out = Outcome::default();
    let mut refused = Vec::new();
    for spec in &stmt.users {
        let id = actor.id(&spec.account)?;
        let own = id == actor.account;
        let only_role = stmt.default_role.is_some() && spec.auth.is_none();
        if let (true, Some(set)) = (only_role, &stmt.default_role) {
            roles::change_default(actor, state, &id, set)?;
            continue;
        }
        if !own || !only_passwords(stmt, spec) {
            actor.require_create_user(state, Priv::Update)?;
        }
        if !own {
            actor.may_touch(state, &id)?;
        }
        let Some(old) = state.find(&id) else {
            if stmt.if_clause {
                out.notes.push(does_not_exist(&id));
            } else {
                refused.push(id.quoted());
            }
            continue;
        };
        let mut a = Account::clone(old);
        passwords::change(actor, state, &mut a, spec, &mut out)?;
        take_options(&mut a, stmt)?;
        let unlocks = |o: &UserOption| {
            matches!(
                o,
                UserOption::Lock(false) | UserOption::FailedAttempts(_) | UserOption::LockTime(_)
            )
        };
        if stmt.options.iter().any(unlocks) {
            out.unlocked.push(id.clone());
        }
        state.put(a);
    }
    match refused.is_empty() {
        true => Ok(out),
        false => Err(failed("ALTER USER", &refused)),
    }
}

/// DROP USER.
pub(super) fn drop(
    actor: &Actor,
    state: &mut AccountState,
    if_exists: bool,
    users: &[ast::Account],
) -> Result<Outcome, SqlError> {
    actor.require_create_user(state, Priv::Delete)?;
    let ids = actor.ids(users)?;
    removal::take_away(actor, state, if_exists, &ids, "DROP USER")
}

/// RENAME USER.
pub(super) fn rename(
    actor: &Actor,
    state: &mut AccountState,
    pairs: &[(ast::Account, ast::Account)],
) -> Result<Outcome, SqlError> {
    actor.require_create_user(state, Priv::Update)?;
    let mut out = Outcome::default();
    let mut refused = Vec::new();
    for (from, to) in pairs {
        let (from, to) = (actor.id(from)?, actor.id(to)?);
        actor.may_touch(state, &from)?;
        if state.is_granted(&from) || actor.mandatory.contains(&from) {
            let text = "Renaming of a role identifier is forbidden";
            return Err(SqlError::new(codes::ER_RENAME_ROLE, text));
        }
        // Whatever was granted to the mandatory role of that name would become this account's.
        if actor.mandatory.contains(&to) || !state.rename(&from, &to) {
            refused.push(from.quoted());
        }
        out.unlocked.push(from);
    }
    match refused.is_empty() {
        true => Ok(out),
        false => Err(failed("RENAME USER", &refused)),
    }
}

/// A number of an option, refused where the column cannot hold it.
fn small(what: &str, n: u64, most: u64) -> Result<u64, SqlError> {
    match n <= most {
        true => Ok(n),
        false => Err(SqlError::new(
            codes::ER_WRONG_VALUE,
            format!("Incorrect {what} value: '{n}'"),
        )),
    }
}

fn take_options(a: &mut Account, stmt: &CreateUser) -> Result<(), SqlError> {
    let p = &mut a.password;
    for o in &stmt.options {
        match *o {
            UserOption::Expire => p.expired = true,
            UserOption::Lifetime(days) => {
                let days = days.map(|d| small("DAY", d, 0xFFFF)).transpose()?;
                p.lifetime_days = days.map(|d| d as u16);
            }
            UserOption::History(n) => {
                let n = n.map(|n| small("PASSWORD HISTORY", n, 0xFFFF));
                p.history = n.transpose()?.map(|n| n as u32);
            }
            UserOption::Reuse(days) => {
                let days = days.map(|d| small("DAY", d, 0xFFFF)).transpose()?;
                p.reuse_days = days.map(|d| d as u32);
            }
            UserOption::RequireCurrent(yes) => p.require_current = yes,
            UserOption::FailedAttempts(n) => {
                p.failed_attempts = small("FAILED_LOGIN_ATTEMPTS", n, 32_767)? as u16;
            }
            UserOption::LockTime(days) => {
                let days = days.map(|d| small("PASSWORD_LOCK_TIME", d, 32_767));
                p.lock_days = days.transpose()?.map(|d| d as u16);
            }
            UserOption::Lock(locked) => a.locked = locked,
        }
    }
    take_limits(&mut a.limits, stmt.limits)?;
    match &stmt.require {
        None => {}
        Some(Require::None) => a.tls = TlsRequirement::None,
        Some(Require::Ssl) => a.tls = TlsRequirement::Ssl,
        Some(Require::X509) => a.tls = TlsRequirement::X509,
        Some(Require::Specified {
            cipher,
            issuer,
            subject,
        }) => {
            let text = |t: &Option<ast::Name>| t.as_deref().unwrap_or_default().to_owned();
            a.tls = TlsRequirement::Specified {
                cipher: text(cipher),
                issuer: text(issuer),
                subject: text(subject),
            };
        }
    }
    if let Some(attribute) = &stmt.attribute {
        take_attribute(a, attribute)?;
    }
    Ok(())
}

fn take_limits(limits: &mut Limits, asked: UserLimits) -> Result<(), SqlError> {
    for (to, asked, name) in [
        (
            &mut limits.questions,
            asked.questions,
            "MAX_QUERIES_PER_HOUR",
        ),
        (&mut limits.updates, asked.updates, "MAX_UPDATES_PER_HOUR"),
        (
            &mut limits.connections,
            asked.connections,
            "MAX_CONNECTIONS_PER_HOUR",
        ),
        (
            &mut limits.user_connections,
            asked.user_connections,
            "MAX_USER_CONNECTIONS",
        ),
    ] {
        if let Some(n) = asked {
            *to = small(name, n, 0x7FFF_FFFF)? as u32;
        }
    }
    Ok(())
}

/// `COMMENT` and `ATTRIBUTE`: merged into what there is, a member that is null being taken away.
fn take_attribute(a: &mut Account, attribute: &UserAttribute) -> Result<(), SqlError> {
    let patch = match attribute {
        UserAttribute::Comment(text) => {
            Json::object([("comment".to_owned(), Json::Str(text.to_string()))])
        }
        UserAttribute::Attribute(text) => match parse(text) {
            Ok(json @ Json::Object(_)) => json,
            _ => {
                return Err(SqlError::new(
                    codes::ER_INVALID_USER_ATTRIBUTE_JSON,
                    "The user attribute must be a valid JSON object",
                ));
            }
        },
    };
    let old = parse(&a.metadata).unwrap_or(Json::Object(Vec::new()));
    let merged = merged(&old, &patch);
    a.metadata = match &merged {
        Json::Object(members) if members.is_empty() => String::new(),
        json => {
            let mut out = Vec::new();
            json.write(&mut out)?;
            String::from_utf8_lossy(&out).into_owned()
        }
    };
    Ok(())
}

/// JSON_MERGE_PATCH (RFC 7396).
fn merged(old: &Json, patch: &Json) -> Json {
    let Json::Object(changes) = patch else {
        return patch.clone();
    };
    let mut members = match old {
        Json::Object(members) => members.clone(),
        _ => Vec::new(),
    };
    for (key, change) in changes {
        let before = members.iter().position(|(k, _)| k == key);
        let before = before.map(|at| members.remove(at).1);
        if *change != Json::Null {
            let value = merged(&before.unwrap_or(Json::Null), change);
            members.push((key.clone(), value));
        }
    }
    Json::object(members)
}
