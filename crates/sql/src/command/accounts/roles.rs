//! Roles: made, dropped, granted, made default and made active.

use types::SqlError;
use types::error::codes;

use super::actor::{Actor, DEFAULT_PLUGIN, Outcome, SYSTEM_USER};
use super::errors::*;
use super::removal;
use crate::context::roles as held;
use sql_access::account::Account;
use sql_access::needs::Right;
use sql_access::privilege::Priv;
use sql_access::{AccountId, AccountState, SecurityContext};
use sql_parser::ast::{self, RoleSet};

const CREATE_ROLE: &[Right] = &[
    Right::Static(Priv::CreateRole),
    Right::Static(Priv::CreateUser),
];
const DROP_ROLE: &[Right] = &[
    Right::Static(Priv::DropRole),
    Right::Static(Priv::CreateUser),
];

/// CREATE ROLE.
pub(super) fn create(
    actor: &Actor,
    state: &mut AccountState,
    if_not_exists: bool,
    roles: &[ast::Account],
) -> Result<Outcome, SqlError> {
    actor.powers(state).require(CREATE_ROLE)?;
    let mut out = Outcome::default();
    let mut refused = Vec::new();
    for id in actor.ids(roles)? {
        if id.user.is_empty() {
            return Err(failed("CREATE ROLE", &["anonymous user".to_owned()]));
        }
        if state.find(&id).is_some() {
            match if_not_exists {
                true => out.notes.push(exists_already(&id)),
                false => refused.push(id.quoted()),
            }
            continue;
        }
        let mut a = Account {
            id,
            plugin: DEFAULT_PLUGIN.to_owned(),
            locked: true,
            ..Account::default()
        };
        a.password.expired = true;
        a.password.changed_us = Some(actor.this_second());
        state.put(a);
    }
    match refused.is_empty() {
        true => Ok(out),
        false => Err(failed("CREATE ROLE", &refused)),
    }
}

/// DROP ROLE. Without CREATE USER only accounts that nobody can log in with.
pub(super) fn drop(
    actor: &Actor,
    state: &mut AccountState,
    if_exists: bool,
    roles: &[ast::Account],
) -> Result<Outcome, SqlError> {
    actor.powers(state).require(DROP_ROLE)?;
    let ids = actor.ids(roles)?;
    if !actor.has_create_user(state) {
        let open = |id: &AccountId| state.find(id).is_some_and(|a| !a.locked);
        if ids.iter().any(open) {
            return Err(missing("CREATE USER"));
        }
    }
    removal::take_away(actor, state, if_exists, &ids, "DROP ROLE")
}

/// Whether an account has SYSTEM_USER, by itself or by a role.
pub(super) fn has_system_user(state: &AccountState, id: &AccountId) -> bool {
    let roles = state.find(id).map(|a| a.roles.keys().cloned().collect());
    SecurityContext::new(0, state, id.clone(), "", roles.unwrap_or_default(), false)
        .has_dynamic(SYSTEM_USER)
}

/// GRANT of roles.
pub(super) fn grant(
    actor: &Actor,
    state: &mut AccountState,
    roles: &[ast::Account],
    to: &[ast::Account],
    admin: bool,
) -> Result<Outcome, SqlError> {
    let (roles, to) = (actor.ids(roles)?, actor.ids(to)?);
    for id in roles.iter().chain(&to) {
        if state.find(id).is_none() {
            return Err(unknown_authorization(id));
        }
    }
    let powers = actor.powers(state);
    if !roles.iter().all(|r| powers.admin_of(r)) {
        return Err(missing("WITH ADMIN, ROLE_ADMIN, SUPER"));
    }
    for id in &to {
        if id.user.is_empty() {
            return Err(SqlError::new(
                codes::ER_CANNOT_GRANT_ROLES_TO_ANONYMOUS_USER,
                "Cannot grant roles to an anonymous user.",
            ));
        }
        actor.may_touch(state, id)?;
    }
    for role in &roles {
        // Who gets the role gets what sets accounts apart.
        actor.may_touch(state, role)?;
        if role.user.is_empty() {
            return Err(unknown_authorization(role));
        }
        for id in &to {
            if actor.mandatory.contains(id) && has_system_user(state, role) {
                return Err(system_user_to_mandatory(id));
            }
            if reaches(state, role, id) {
                return Err(loop_of_roles(id, role));
            }
            if let Some(a) = state.find_mut(id) {
                let had = a.roles.entry(role.clone()).or_insert(false);
                *had |= admin;
            }
        }
    }
    Ok(Outcome::default())
}

/// 3897.
pub(super) fn system_user_to_mandatory(id: &AccountId) -> SqlError {
    SqlError::new(
        codes::ER_CANNOT_GRANT_SYSTEM_PRIV_TO_MANDATORY_ROLE,
        format!(
            "AuthId {} is set as mandatory_roles. Cannot grant the '{SYSTEM_USER}' privilege.",
            id.ticked()
        ),
    )
}

/// Whether `role` is `id`, or was granted it, directly or through others.
fn reaches(state: &AccountState, role: &AccountId, id: &AccountId) -> bool {
    let mut found = vec![role.clone()];
    let mut at = 0;
    while let Some(r) = found.get(at).cloned() {
        at += 1;
        if r == *id {
            return true;
        }
        for inner in state.find(&r).iter().flat_map(|a| a.roles.keys()) {
            if !found.contains(inner) {
                found.push(inner.clone());
            }
        }
    }
    false
}

/// REVOKE of roles.
pub(super) fn revoke(
    actor: &Actor,
    state: &mut AccountState,
    roles: &[ast::Account],
    from: &[ast::Account],
    (if_exists, ignore_unknown): (bool, bool),
) -> Result<Outcome, SqlError> {
    let (roles, from) = (actor.ids(roles)?, actor.ids(from)?);
    let mut out = Outcome::default();
    let powers = actor.powers(state);
    if !roles.iter().all(|r| powers.admin_of(r)) {
        return Err(missing("WITH ADMIN, ROLE_ADMIN, SUPER"));
    }
    if let Some(r) = roles.iter().find(|r| actor.mandatory.contains(r)) {
        return Err(mandatory(r));
    }
    for id in &from {
        if state.find(id).is_none() {
            match ignore_unknown {
                true => {
                    out.notes.push(warned(&unknown_authorization(id)));
                    continue;
                }
                false => return Err(unknown_authorization(id)),
            }
        }
        actor.may_touch(state, id)?;
        for role in &roles {
            actor.may_touch(state, role)?;
            let had = state.find_mut(id).and_then(|a| {
                a.default_roles.retain(|r| r != role);
                a.roles.remove(role)
            });
            if had.is_some() {
                continue;
            }
            let e = match state.find(role) {
                None => unknown_authorization(role),
                Some(_) => role_not_granted(role, id),
            };
            match if_exists {
                true => out.notes.push(warned(&e)),
                false => return Err(e),
            }
        }
    }
    Ok(out)
}

/// An error that IF EXISTS or IGNORE UNKNOWN USER makes a warning.
pub(super) fn warned(e: &SqlError) -> types::Warning {
    types::Warning::new(types::Level::Warning, e.code, e.message.clone())
}

/// The roles of a clause, of those that an account has.
fn chosen(
    actor: &Actor,
    state: &AccountState,
    id: &AccountId,
    set: &RoleSet,
) -> Result<Vec<AccountId>, SqlError> {
    let a = state.find(id).ok_or_else(|| unknown_authorization(id))?;
    let mut all = held::all(state, a, &actor.mandatory);
    match set {
        RoleSet::None => Ok(Vec::new()),
        RoleSet::Default => Ok(a.default_roles.clone()),
        RoleSet::All(except) => {
            let except = actor.ids(except)?;
            if let Some(unknown) = except.iter().find(|r| !all.contains(r)) {
                return Err(role_not_granted(unknown, id));
            }
            all.retain(|r| !except.contains(r));
            Ok(all)
        }
        RoleSet::List(list) => {
            let mut list = actor.ids(list)?;
            if let Some(unknown) = list.iter().find(|r| !all.contains(r)) {
                return Err(role_not_granted(unknown, id));
            }
            list.sort();
            list.dedup();
            Ok(list)
        }
    }
}

/// Makes roles the default ones of an account; the right to do so was checked.
pub(super) fn give_default(
    actor: &Actor,
    state: &mut AccountState,
    id: &AccountId,
    set: &RoleSet,
) -> Result<(), SqlError> {
    let roles = chosen(actor, state, id, set)?;
    if let Some(a) = state.find_mut(id) {
        a.default_roles = roles;
    }
    Ok(())
}

/// Makes roles the default ones of an account: one's own, or with the right to change accounts.
pub(super) fn change_default(
    actor: &Actor,
    state: &mut AccountState,
    id: &AccountId,
    set: &RoleSet,
) -> Result<(), SqlError> {
    if *id != actor.account {
        let powers = actor.powers(state);
        let on_table = powers.on_table("mysql", "default_roles");
        if !on_table.has(Priv::Update) && !actor.has_create_user(state) {
            return Err(missing("CREATE USER"));
        }
        actor.may_touch(state, id)?;
    }
    give_default(actor, state, id, set)
}

/// SET DEFAULT ROLE.
pub(super) fn set_default(
    actor: &Actor,
    state: &mut AccountState,
    set: &RoleSet,
    to: &[ast::Account],
) -> Result<Outcome, SqlError> {
    for id in actor.ids(to)? {
        change_default(actor, state, &id, set)?;
    }
    Ok(Outcome::default())
}

/// The roles that SET ROLE makes active.
pub(super) fn to_activate(
    actor: &Actor,
    state: &AccountState,
    set: &RoleSet,
) -> Result<Vec<AccountId>, SqlError> {
    if let RoleSet::Default = set {
        // What was taken away since it became a default role is passed over.
        return Ok(held::by_default(state, &actor.account, &actor.mandatory));
    }
    chosen(actor, state, &actor.account, set)
}
