//! GRANT and REVOKE of privileges at each level, of PROXY, and of everything.
//!
//! Nobody gives what is not his to give: the actor needs the privilege and GRANT OPTION at a level that covers the object. Nobody
//! takes away what he could not give.

use types::SqlError;
use types::error::codes;

use super::actor::{Actor, Outcome, SYSTEM_USER};
use super::errors::*;
use super::requested::{Level, RequestedPrivileges, check_exists, level, wanted};
use super::roles;
use sql_access::account::{Account, ColumnGrant, ProxyGrant, RoutineGrant, TableGrant};
use sql_access::privilege::{DB_SET, Priv};
use sql_access::{AccountId, AccountState, PrivSet, SecurityContext};
use sql_parser::ast::{self, Grant, GrantWhat, Revoke, RoleSet};

/// GRANT.
pub(super) fn grant(
    actor: &Actor,
    state: &mut AccountState,
    g: &Grant,
) -> Result<Outcome, SqlError> {
    let (list, on) = match &g.what {
        GrantWhat::Privileges(list, on) => (list, on),
        GrantWhat::Roles(list) => return roles::grant(actor, state, list, &g.to, g.with_option),
        GrantWhat::Proxy(of) => return grant_proxy(actor, state, of, &g.to, g.with_option),
        GrantWhat::Everything => return Err(illegal_grant()),
    };
    let level = level(actor, on)?;
    let mut w = wanted(list, &level)?;
    // Dynamic privileges have each their own grant option: alone they bring nothing for static ones.
    if g.with_option && !w.is_dynamic_alone() {
        w.set = w.set.with(Priv::GrantOption);
    }
    let powers = actor.powers(state);
    may_give(&powers, &level, &mut w)?;
    let mut limits = restrictions_of(&powers, state, w.set);
    if let Some((account, with)) = &g.as_account {
        if level != Level::Global {
            let text = "GRANT ... AS is currently supported only for global privileges.";
            return Err(SqlError::new(codes::ER_UNSUPPORTED_USE_OF_GRANT_AS, text));
        }
        let other = given_as(actor, state, account, with.as_ref())?;
        may_give(&other, &level, &mut w).map_err(|_| grant_as_denied())?;
        limits = union(limits, restrictions_of(&other, state, w.set));
    }
    check_exists(actor, &level, &w)?;
    for id in actor.ids(&g.to)? {
        if state.find(&id).is_none() {
            return Err(SqlError::new(
                codes::ER_CANT_CREATE_USER_WITH_GRANT,
                "You are not allowed to create a user with GRANT",
            ));
        }
        actor.may_touch(state, &id)?;
        let system = w.dynamic.contains(&SYSTEM_USER);
        if system && actor.mandatory.contains(&id) {
            return Err(roles::system_user_to_mandatory(&id));
        }
        if let Some(a) = state.find_mut(&id) {
            give(a, &level, &w, g.with_option, &limits, &actor.account);
        }
    }
    Ok(Outcome::default())
}

/// Refuses to give what is not the actor's to give. Of the dynamic privileges that ALL means those are left that are.
fn may_give(
    powers: &SecurityContext,
    level: &Level,
    w: &mut RequestedPrivileges,
) -> Result<(), SqlError> {
    let needed = w.set.with(Priv::GrantOption);
    match level {
        Level::Global => {
            if !w.is_dynamic_alone() && !powers.global().has_all(needed) {
                return Err(SqlError::access_denied(
                    &powers.account().user,
                    powers.client_host(),
                    true,
                ));
            }
            if w.all {
                w.dynamic.retain(|d| powers.dynamic_grantable(d));
            }
            match w.dynamic.iter().all(|d| powers.dynamic_grantable(d)) {
                true => Ok(()),
                false => Err(missing("GRANT OPTION")),
            }
        }
        Level::Db(db) => match on_database(powers, db).has_all(needed) {
            true => Ok(()),
            false => Err(powers.no_db(db)),
        },
        Level::Table(t) => {
            if crate::infoschema::canonical_schema(&t.schema) == Some("information_schema") {
                return Err(powers.no_db(&t.schema));
            }
            let on_table = powers.on_table(&t.schema, &t.name);
            let lacking = needed.minus(on_table);
            if !lacking.is_empty() {
                let grant = w.everything().with(Priv::GrantOption).minus(on_table);
                return Err(powers.no_table(&command(grant), t));
            }
            for (c, set) in &w.columns {
                let has = powers.on_column(&t.schema, &t.name, c);
                if let Some(p) = set.minus(has).iter().next() {
                    return Err(powers.no_column(p, c, &t.name));
                }
            }
            Ok(())
        }
        Level::Routine(r) => {
            let has = powers.on_routine(&r.schema, r.procedure, &r.name);
            match has.has_all(needed) {
                true => Ok(()),
                false => Err(SqlError::new(
                    types::error::codes::ER_PROCACCESS_DENIED_ERROR,
                    format!(
                        "grant command denied to user '{}'@'{}' for routine '{}.{}'",
                        powers.account().user,
                        powers.client_host(),
                        r.schema,
                        r.name
                    ),
                )),
            }
        }
    }
}

/// What somebody has on every database that a name of a grant fits, which may be a pattern: what he has on the server, and what
/// was granted to him under the very same pattern or one that has no wildcard and is this name.
fn on_database(powers: &SecurityContext, pattern: &str) -> PrivSet {
    if crate::infoschema::canonical_schema(pattern) == Some("information_schema") {
        return PrivSet::NONE;
    }
    let wild = powers.patterns() && has_wildcard(pattern);
    if !wild {
        return powers.on_db(&literal(powers, pattern));
    }
    let members = powers.members().iter();
    let all = members.fold(PrivSet::NONE, |all, m| {
        // A restriction on some database may be one on a database that the pattern fits.
        let revoked = m
            .restrictions
            .values()
            .fold(PrivSet::NONE, |r, s| r.union(*s));
        let same = m.databases.get(pattern).copied().unwrap_or_default();
        all.union(m.privileges.minus(revoked)).union(same)
    });
    match powers.is_server() {
        true => powers.global(),
        false => all,
    }
}

fn has_wildcard(pattern: &str) -> bool {
    let mut escaped = false;
    pattern.chars().any(|c| {
        let wild = !escaped && matches!(c, '%' | '_');
        escaped = !escaped && c == '\\';
        wild
    })
}

/// A pattern without wildcards as the name that it fits.
fn literal(powers: &SecurityContext, pattern: &str) -> String {
    if !powers.patterns() {
        return pattern.to_owned();
    }
    let mut out = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    out
}

fn command(set: PrivSet) -> String {
    let plain = set.without(Priv::GrantOption);
    match (plain.is_empty(), set.has(Priv::GrantOption)) {
        (true, _) => "GRANT".to_owned(),
        (false, true) => format!("{}, GRANT", plain.text()),
        (false, false) => plain.text(),
    }
}

/// What of global privileges somebody does not have in single databases, which follows what he gives.
type Restrictions = Vec<(Box<str>, PrivSet)>;

fn restrictions_of(powers: &SecurityContext, state: &AccountState, set: PrivSet) -> Restrictions {
    let mut all = Vec::new();
    if !powers.is_restricted() || powers.is_server() {
        return all;
    }
    let databases = state.iter().flat_map(|a| a.restrictions.keys());
    for db in databases {
        let lacking = set.both(DB_SET).minus(powers.on_db(db));
        if !lacking.is_empty() && !all.iter().any(|(d, _)| d == db) {
            all.push((db.clone(), lacking));
        }
    }
    all
}

fn union(mut a: Restrictions, b: Restrictions) -> Restrictions {
    for (db, set) in b {
        match a.iter_mut().find(|(d, _)| *d == db) {
            Some((_, old)) => *old = old.union(set),
            None => a.push((db, set)),
        }
    }
    a
}

/// What the account of `GRANT .. AS` may do, with the roles that are named.
fn given_as(
    actor: &Actor,
    state: &AccountState,
    account: &ast::Account,
    with: Option<&RoleSet>,
) -> Result<SecurityContext, SqlError> {
    let id = actor.id(account)?;
    if state.find(&id).is_none() {
        return Err(grant_as_denied());
    }
    let stand_in = Actor {
        account: id,
        roles: Vec::new(),
        server: false,
        host: actor.host.clone(),
        mandatory: actor.mandatory.clone(),
        schema: None,
        hasher: None,
        verifier: None,
        strength: None,
        random: std::sync::Arc::clone(&actor.random),
        catalog: std::sync::Arc::clone(&actor.catalog),
        ..*actor
    };
    let none = RoleSet::None;
    let roles = roles::to_activate(&stand_in, state, with.unwrap_or(&none))
        .map_err(|_| grant_as_denied())?;
    Ok(Actor { roles, ..stand_in }.powers(state))
}

/// 3836.
fn grant_as_denied() -> SqlError {
    SqlError::new(
        codes::ER_UKNOWN_AUTH_ID_OR_ACCESS_DENIED_FOR_GRANT_AS,
        "Either some of the authorization IDs in the AS clause are invalid or the current user lacks privileges to execute the statement.",
    )
}

/// Adds to what an account has.
fn give(
    a: &mut Account,
    level: &Level,
    w: &RequestedPrivileges,
    option: bool,
    limits: &Restrictions,
    grantor: &AccountId,
) {
    match level {
        Level::Global => {
            let before = a.privileges;
            a.privileges = before.union(w.set);
            for d in &w.dynamic {
                *a.dynamic.entry((*d).into()).or_insert(false) |= option;
            }
            let new = w.set;
            for (db, had) in &mut a.restrictions {
                // What the giver has without restriction is given without.
                let theirs = limits.iter().find(|(d, _)| d == db).map(|(_, set)| *set);
                *had = had.minus(new.minus(theirs.unwrap_or_default()));
            }
            for (db, set) in limits {
                // What was there without restriction stays so.
                let set = set.both(new).minus(before);
                if !set.is_empty() {
                    let had = a.restrictions.entry(db.clone()).or_default();
                    *had = had.union(set);
                }
            }
            a.restrictions.retain(|_, set| !set.is_empty());
        }
        Level::Db(db) => {
            let mut rest = w.set;
            if let Some(had) = a.restrictions.get_mut(db) {
                let lifted = had.both(w.set);
                *had = had.minus(lifted);
                rest = rest.minus(lifted);
                if had.is_empty() {
                    a.restrictions.remove(db);
                }
            }
            if !rest.is_empty() {
                let had = a.databases.entry(db.clone()).or_default();
                *had = had.union(rest);
            }
        }
        Level::Table(t) => {
            if w.set.is_empty() && w.columns.is_empty() {
                return;
            }
            let grant = a.tables.entry(t.clone()).or_insert_with(|| TableGrant {
                grantor: grantor.plain().into(),
                ..TableGrant::default()
            });
            grant.privileges = grant.privileges.union(w.set);
            for (name, set) in &w.columns {
                let key = name.to_lowercase().into();
                let c = grant.columns.entry(key).or_insert_with(|| ColumnGrant {
                    name: name.clone(),
                    privileges: PrivSet::NONE,
                });
                c.privileges = c.privileges.union(*set);
            }
        }
        Level::Routine(r) => {
            let grant = a.routines.entry(r.clone()).or_insert_with(|| RoutineGrant {
                grantor: grantor.plain().into(),
                ..RoutineGrant::default()
            });
            grant.privileges = grant.privileges.union(w.set);
        }
    }
}

/// REVOKE.
pub(super) fn revoke(
    actor: &Actor,
    state: &mut AccountState,
    r: &Revoke,
) -> Result<Outcome, SqlError> {
    let lenient = (r.if_exists, r.ignore_unknown);
    let (list, on) = match &r.what {
        GrantWhat::Privileges(list, on) => (list, on),
        GrantWhat::Roles(list) => return roles::revoke(actor, state, list, &r.from, lenient),
        GrantWhat::Proxy(of) => return revoke_proxy(actor, state, of, &r.from, lenient),
        GrantWhat::Everything => return revoke_everything(actor, state, &r.from, lenient),
    };
    let level = level(actor, on)?;
    let mut w = wanted(list, &level)?;
    may_give(&actor.powers(state), &level, &mut w)?;
    let mut out = Outcome::default();
    for id in actor.ids(&r.from)? {
        if state.find(&id).is_none() {
            let e = no_such_grant(&id);
            match r.ignore_unknown {
                true => out.notes.push(roles::warned(&e)),
                false => return Err(e),
            }
            continue;
        }
        actor.may_touch(state, &id)?;
        let Some(a) = state.find_mut(&id) else {
            continue;
        };
        if let Err(e) = take(a, &level, &w, actor.partial_revokes) {
            match r.if_exists {
                true => out.notes.push(roles::warned(&e)),
                false => return Err(e),
            }
        }
    }
    Ok(out)
}

/// Takes from what an account has. Nothing has happened after an error.
fn take(
    a: &mut Account,
    level: &Level,
    w: &RequestedPrivileges,
    partial: bool,
) -> Result<(), SqlError> {
    match level {
        Level::Global => {
            a.privileges = a.privileges.minus(w.set);
            for d in &w.dynamic {
                a.dynamic.remove(*d);
            }
            if w.set.has(Priv::GrantOption) {
                // GRANT OPTION ON *.* speaks of every privilege there.
                a.dynamic.values_mut().for_each(|option| *option = false);
            }
            for set in a.restrictions.values_mut() {
                *set = set.minus(w.set);
            }
            a.restrictions.retain(|_, set| !set.is_empty());
            Ok(())
        }
        Level::Db(db) => {
            let had = a.databases.get(db).copied();
            let global = a.privileges.both(w.set).both(DB_SET);
            let restricts = partial && !global.is_empty();
            if had.is_none() && !restricts {
                return Err(no_such_grant(&a.id));
            }
            if let Some(had) = had {
                let left = had.minus(w.set);
                match left.is_empty() {
                    true => drop(a.databases.remove(db)),
                    false => drop(a.databases.insert(db.clone(), left)),
                }
            }
            if restricts {
                let r = a.restrictions.entry(db.clone()).or_default();
                *r = r.union(global);
            }
            Ok(())
        }
        Level::Table(t) => {
            let Some(grant) = a.tables.get_mut(t) else {
                return Err(no_such_table_grant(&a.id, &t.name));
            };
            for (name, _) in &w.columns {
                if !grant.columns.contains_key(name.to_lowercase().as_str()) {
                    return Err(no_such_table_grant(&a.id, &t.name));
                }
            }
            grant.privileges = grant.privileges.minus(w.set);
            for c in grant.columns.values_mut() {
                // What is taken from the table is taken from its columns.
                c.privileges = c.privileges.minus(w.set);
            }
            for (name, set) in &w.columns {
                if let Some(c) = grant.columns.get_mut(name.to_lowercase().as_str()) {
                    c.privileges = c.privileges.minus(*set);
                }
            }
            grant.columns.retain(|_, c| !c.privileges.is_empty());
            if grant.is_empty() {
                a.tables.remove(t);
            }
            Ok(())
        }
        Level::Routine(r) => {
            let Some(grant) = a.routines.get_mut(r) else {
                return Err(no_such_routine_grant(&a.id, &r.name));
            };
            grant.privileges = grant.privileges.minus(w.set);
            if grant.privileges.is_empty() {
                a.routines.remove(r);
            }
            Ok(())
        }
    }
}

/// REVOKE ALL PRIVILEGES, GRANT OPTION FROM ..
fn revoke_everything(
    actor: &Actor,
    state: &mut AccountState,
    from: &[ast::Account],
    (_, ignore_unknown): (bool, bool),
) -> Result<Outcome, SqlError> {
    actor.require_create_user(state, Priv::Update)?;
    let mut out = Outcome::default();
    for id in actor.ids(from)? {
        actor.may_touch(state, &id)?;
        let Some(a) = state.find_mut(&id) else {
            let e = SqlError::new(
                codes::ER_REVOKE_GRANTS,
                "Can't revoke all privileges for one or more of the requested users",
            );
            match ignore_unknown {
                true => out.notes.push(roles::warned(&e)),
                false => return Err(e),
            }
            continue;
        };
        a.privileges = PrivSet::NONE;
        a.dynamic.clear();
        a.restrictions.clear();
        a.databases.clear();
        a.tables.clear();
        a.routines.clear();
        a.proxies.clear();
    }
    Ok(out)
}

/// Who may say that somebody may be a proxy of an account: that account, and who was given the right WITH GRANT OPTION.
fn may_proxy(actor: &Actor, state: &AccountState, of: &AccountId) -> Result<(), SqlError> {
    let powers = actor.powers(state);
    let member = |a: &std::sync::Arc<Account>| {
        let fits = |(p, g): (&AccountId, &ProxyGrant)| {
            // ''@'' stands for everybody.
            g.with_grant && (p == of || (p.user.is_empty() && p.host.is_empty()))
        };
        a.proxies.iter().any(fits)
    };
    if powers.is_server() || *of == actor.account || powers.members().iter().any(member) {
        return Ok(());
    }
    Err(SqlError::new(
        codes::ER_ACCESS_DENIED_NO_PASSWORD_ERROR,
        format!(
            "Access denied for user '{}'@'{}'",
            actor.account.user, actor.host
        ),
    ))
}

fn grant_proxy(
    actor: &Actor,
    state: &mut AccountState,
    of: &ast::Account,
    to: &[ast::Account],
    with_grant: bool,
) -> Result<Outcome, SqlError> {
    let of = actor.id(of)?;
    may_proxy(actor, state, &of)?;
    actor.may_touch(state, &of)?;
    for id in actor.ids(to)? {
        if state.find(&id).is_none() {
            return Err(SqlError::new(
                codes::ER_CANT_CREATE_USER_WITH_GRANT,
                "You are not allowed to create a user with GRANT",
            ));
        }
        actor.may_touch(state, &id)?;
        if let Some(a) = state.find_mut(&id) {
            let grantor: Box<str> = actor.account.plain().into();
            let grant = a.proxies.entry(of.clone()).or_insert(ProxyGrant {
                with_grant,
                grantor,
            });
            grant.with_grant |= with_grant;
        }
    }
    Ok(Outcome::default())
}

fn revoke_proxy(
    actor: &Actor,
    state: &mut AccountState,
    of: &ast::Account,
    from: &[ast::Account],
    (if_exists, ignore_unknown): (bool, bool),
) -> Result<Outcome, SqlError> {
    let of = actor.id(of)?;
    may_proxy(actor, state, &of)?;
    let mut out = Outcome::default();
    for id in actor.ids(from)? {
        actor.may_touch(state, &id)?;
        let known = state.find(&id).is_some();
        let had = state.find_mut(&id).and_then(|a| a.proxies.remove(&of));
        if had.is_none() {
            let lenient = if known { if_exists } else { ignore_unknown };
            let e = no_such_grant(&id);
            match lenient {
                true => out.notes.push(roles::warned(&e)),
                false => return Err(e),
            }
        }
    }
    Ok(out)
}
