//! Passwords that are set: by CREATE USER, ALTER USER and SET PASSWORD. Every password that comes into force comes through here.

use types::error::codes;
use types::{SqlError, Warning};

use super::actor::{Actor, Outcome};
use super::errors::{missing, no_plugin};
use sql_access::account::Account;
use sql_access::password;
use sql_access::privilege::Priv;
use sql_access::{AccountState, PrivSet};
use sql_parser::ast::{self, AuthSecret, AuthSpec, SetItem, UserSpec};

/// Plugins whose passwords this server stores and checks, and the one that asks the system for its users.
const PLUGINS: [&str; 4] = [
    "caching_sha2_password",
    "mysql_native_password",
    "sha256_password",
    "auth_socket",
];
const SECOND_PASSWORDS: &str = "APPLICATION_PASSWORD_ADMIN";

/// What is stored of a password, and of a hash that is given.
enum Secret<'a> {
    Password(&'a [u8]),
    Random,
    Hash(&'a [u8]),
}

fn secret(auth: &AuthSpec) -> Secret<'_> {
    match &auth.secret {
        AuthSecret::None => Secret::Password(b""),
        AuthSecret::Password(p) => Secret::Password(p),
        AuthSecret::Random => Secret::Random,
        AuthSecret::Hash(h) => Secret::Hash(h),
    }
}

fn refuse_factors(spec: &UserSpec) -> Result<(), SqlError> {
    match spec.more_factors {
        true => Err(SqlError::not_supported("multi-factor authentication")),
        false => Ok(()),
    }
}

fn known_plugin(plugin: &str) -> Result<(), SqlError> {
    match PLUGINS.contains(&plugin) {
        true => Ok(()),
        false => Err(no_plugin(plugin)),
    }
}

/// The password of an account that is made.
pub(super) fn first(
    actor: &Actor,
    a: &mut Account,
    spec: &UserSpec,
    out: &mut Outcome,
) -> Result<(), SqlError> {
    refuse_factors(spec)?;
    if spec.replace.is_some() || spec.retain || spec.discard_old {
        return Err(SqlError::parse_error("", 1));
    }
    let Some(auth) = &spec.auth else {
        return validated(actor, a, b"");
    };
    if let Some(plugin) = &auth.plugin {
        known_plugin(plugin)?;
        a.plugin = plugin.to_string();
    }
    store(actor, a, secret(auth), out)
}

/// The password of an account that there is.
pub(super) fn change(
    actor: &Actor,
    state: &AccountState,
    a: &mut Account,
    spec: &UserSpec,
    out: &mut Outcome,
) -> Result<(), SqlError> {
    refuse_factors(spec)?;
    if spec.discard_old {
        may_keep_two(actor, state, a)?;
        a.second_auth_string = None;
    }
    let Some(auth) = &spec.auth else {
        return Ok(());
    };
    let plugin = auth.plugin.as_deref().unwrap_or(&a.plugin).to_owned();
    known_plugin(&plugin)?;
    check_current(actor, state, a, spec.replace.as_deref())?;
    let other_plugin = plugin != a.plugin;
    if spec.retain {
        may_keep_two(actor, state, a)?;
        if other_plugin {
            let why = "because authentication plugin is being changed.";
            return Err(not_retained(3894, a, why));
        }
    }
    if other_plugin {
        // What was stored by one plugin says nothing to another.
        a.second_auth_string = None;
        a.old_passwords.clear();
        a.plugin = plugin;
    }
    put(actor, a, secret(auth), spec.retain, out)?;
    // Nobody has chosen that empty password: whoever logs in with it has to choose one.
    a.password.expired |= auth.secret == AuthSecret::None;
    Ok(())
}

/// SET PASSWORD.
pub(super) fn set(
    actor: &Actor,
    state: &mut AccountState,
    item: &SetItem,
) -> Result<Outcome, SqlError> {
    let SetItem::Password {
        account,
        password,
        replace,
        retain,
    } = item
    else {
        return Err(SqlError::internal("a statement in the wrong place"));
    };
    let id = actor.id(account.as_ref().unwrap_or(&ast::Account::CurrentUser))?;
    if id.user.is_empty() && id == actor.account {
        return Err(SqlError::new(
            codes::ER_PASSWORD_ANONYMOUS_USER,
            "You are using MySQL as an anonymous user and anonymous users are not allowed to change passwords",
        ));
    }
    if id != actor.account {
        let on_tables = actor.powers(state).on_db("mysql");
        if !on_tables.has(Priv::Update) && !actor.has_create_user(state) {
            return Err(missing("CREATE USER"));
        }
        actor.may_touch(state, &id)?;
    }
    let mut out = Outcome::default();
    let old = state.find(&id).ok_or_else(|| {
        SqlError::new(
            codes::ER_PASSWORD_NO_MATCH,
            "Can't find any matching row in the user table",
        )
    })?;
    let mut a = Account::clone(old);
    check_current(actor, state, &a, replace.as_deref())?;
    if *retain {
        may_keep_two(actor, state, &a)?;
    }
    let secret = match password {
        Some(p) => Secret::Password(p),
        None => Secret::Random,
    };
    put(actor, &mut a, secret, *retain, &mut out)?;
    state.put(a);
    Ok(out)
}

/// Puts a password into force, maybe beside the one before.
fn put(
    actor: &Actor,
    a: &mut Account,
    secret: Secret<'_>,
    retain: bool,
    out: &mut Outcome,
) -> Result<(), SqlError> {
    let before = std::mem::take(&mut a.auth_string);
    if retain && before.is_empty() {
        return Err(SqlError::new(
            codes::ER_SECOND_PASSWORD_CANNOT_BE_EMPTY,
            format!(
                "Empty password can not be retained as second password for user '{}'@'{}'.",
                a.id.user, a.id.host
            ),
        ));
    }
    store(actor, a, secret, out)?;
    if a.auth_string.is_empty() {
        if retain {
            return Err(not_retained(3895, a, "because new password is empty."));
        }
        a.second_auth_string = None;
    }
    if retain {
        a.second_auth_string = Some(before);
    }
    Ok(())
}

fn not_retained(code: u16, a: &Account, why: &str) -> SqlError {
    SqlError::new(
        code,
        format!(
            "Current password can not be retained for user '{}'@'{}' {why}",
            a.id.user, a.id.host
        ),
    )
}

/// A second password needs the right to have some: for oneself a privilege of its own.
fn may_keep_two(actor: &Actor, state: &AccountState, a: &Account) -> Result<(), SqlError> {
    if a.id == actor.account && !actor.powers(state).has_dynamic(SECOND_PASSWORDS) {
        return match actor.has_create_user(state) {
            true => Ok(()),
            false => Err(missing(&format!("CREATE USER or {SECOND_PASSWORDS}"))),
        };
    }
    Ok(())
}

/// Who changes the own password may have to say the present one (`PASSWORD REQUIRE CURRENT`).
fn check_current(
    actor: &Actor,
    state: &AccountState,
    a: &Account,
    given: Option<&[u8]>,
) -> Result<(), SqlError> {
    let own = a.id == actor.account;
    let Some(given) = given else {
        let required = a.password.require_current.unwrap_or(actor.require_current);
        let update = PrivSet::of(Priv::Update);
        let exempt = actor.has_create_user(state)
            || actor.powers(state).on_db("mysql").has_all(update)
            || a.auth_string.is_empty();
        return match own && required && !exempt {
            true => Err(SqlError::new(
                codes::ER_MISSING_CURRENT_PASSWORD,
                "Current password needs to be specified in the REPLACE clause in order to change it.",
            )),
            false => Ok(()),
        };
    };
    if !own {
        return Err(SqlError::new(
            codes::ER_CURRENT_PASSWORD_NOT_REQUIRED,
            "Do not specify the current password while changing it for other users.",
        ));
    }
    match verify(actor, &a.plugin, &a.auth_string, given) {
        true => Ok(()),
        false => Err(SqlError::new(
            codes::ER_INCORRECT_CURRENT_PASSWORD,
            "Incorrect current password. Specify the correct password which has to be replaced.",
        )),
    }
}

fn verify(actor: &Actor, plugin: &str, stored: &[u8], password: &[u8]) -> bool {
    if stored.is_empty() || password.is_empty() {
        return stored.is_empty() && password.is_empty();
    }
    let verifier = actor.verifier.as_ref();
    verifier.is_some_and(|v| v(plugin, stored, password))
}

fn validated(actor: &Actor, a: &Account, password: &[u8]) -> Result<(), SqlError> {
    match &actor.strength {
        Some(strength) => strength.check(password, &a.id.user),
        None => Ok(()),
    }
}

/// Stores a password that the rules allow, or a hash as it is.
fn store(
    actor: &Actor,
    a: &mut Account,
    secret: Secret<'_>,
    out: &mut Outcome,
) -> Result<(), SqlError> {
    let rule = actor.history.of(&a.password);
    let made;
    let password = match secret {
        Secret::Hash(hash) => {
            a.auth_string = hash.to_vec();
            None
        }
        Secret::Password(p) => Some(p),
        Secret::Random => {
            made = password::random(&*actor.random, actor.random_length);
            out.generated.push((a.id.clone(), made.clone()));
            Some(made.as_bytes())
        }
    };
    if let Some(password) = password {
        validated(actor, a, password)?;
        let same = |plugin: &str, stored: &[u8], p: &[u8]| verify(actor, plugin, stored, p);
        rule.check(a, password, actor.now_us, &same)?;
        a.auth_string = hashed(actor, &a.plugin, password)?;
    }
    rule.note(a, actor.now_us);
    a.password.changed_us = Some(actor.this_second());
    a.password.expired = false;
    out.unlocked.push(a.id.clone());
    if a.plugin == "mysql_native_password" {
        out.notes.push(Warning::new(
            types::Level::Warning,
            1287,
            "'mysql_native_password' is deprecated and will be removed in a future release. Please use caching_sha2_password instead",
        ));
    }
    if a.plugin == "sha256_password" {
        out.notes.push(Warning::new(
            types::Level::Warning,
            1287,
            "'sha256_password' is deprecated and will be removed in a future release. Please use caching_sha2_password instead",
        ));
    }
    Ok(())
}

fn hashed(actor: &Actor, plugin: &str, password: &[u8]) -> Result<Vec<u8>, SqlError> {
    if password.is_empty() {
        return Ok(Vec::new());
    }
    let hasher = actor.hasher.as_ref();
    hasher
        .and_then(|h| h(plugin, password))
        .ok_or_else(|| no_plugin(plugin))
}
