//! What accounts and roles have: USER_PRIVILEGES and its kin, the tables of roles, USER_ATTRIBUTES.
//!
//! Everybody sees what the own account was given; of others' only who may read `mysql.*`.

use std::sync::Arc;

use types::Value;

use super::spec::{Spec, View, name, text, text_or_null};
use sql_access::privilege::PrivSet;
use sql_access::{Account, AccountId, Priv};

const CATALOG: &str = "def";

fn yes(yes: bool) -> Value {
    text(if yes { "YES" } else { "NO" })
}

/// The accounts that the session sees.
fn seen(v: &View<'_>) -> Vec<Arc<Account>> {
    let state = v.accounts();
    match v.sees_all_accounts() {
        true => state.iter().map(Arc::clone).collect(),
        false => {
            let own = state.find(v.security().account());
            own.map(Arc::clone).into_iter().collect()
        }
    }
}

/// One line a privilege; `USAGE` where there is none.
fn lines(set: PrivSet, mut add: impl FnMut(&str, Value)) {
    let option = set.has(Priv::GrantOption);
    let plain = set.without(Priv::GrantOption);
    for p in plain.iter() {
        add(p.name(), yes(option));
    }
    if plain.is_empty() {
        add("USAGE", yes(option));
    }
}

fn user_privileges(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for a in seen(v) {
        let who = a.id.quoted();
        lines(a.privileges, |p, option| {
            out.push(vec![text(&who), name(CATALOG), text(p), option]);
        });
        out.extend(
            a.dynamic
                .iter()
                .map(|(d, option)| vec![text(&who), name(CATALOG), text(d), yes(*option)]),
        );
    }
    out
}

fn schema_privileges(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for a in seen(v) {
        let who = a.id.quoted();
        for (db, set) in &a.databases {
            lines(*set, |p, option| {
                let row = vec![text(&who), name(CATALOG), name(db), text(p), option];
                out.push(row);
            });
        }
    }
    out
}

fn table_privileges(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for a in seen(v) {
        let who = a.id.quoted();
        for (t, grant) in &a.tables {
            lines(grant.privileges, |p, option| {
                out.push(vec![
                    text(&who),
                    name(CATALOG),
                    name(&t.schema),
                    name(&t.name),
                    text(p),
                    option,
                ]);
            });
        }
    }
    out
}

fn column_privileges(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for a in seen(v) {
        let who = a.id.quoted();
        for (t, grant) in &a.tables {
            let option = grant.privileges.has(Priv::GrantOption);
            for c in grant.columns.values() {
                out.extend(c.privileges.iter().map(|p| {
                    vec![
                        text(&who),
                        name(CATALOG),
                        name(&t.schema),
                        name(&t.name),
                        text(&c.name),
                        text(p.name()),
                        yes(option),
                    ]
                }));
            }
        }
    }
    out
}

fn user_attributes(v: &View<'_>) -> Vec<Vec<Value>> {
    let row = |a: Arc<Account>| {
        let attribute = Some(&a.metadata[..]).filter(|m| !m.is_empty());
        vec![text(&a.id.user), text(&a.id.host), text_or_null(attribute)]
    };
    seen(v).into_iter().map(row).collect()
}

/// A role that somebody was granted, in the tree of the session's account.
struct Edge {
    to: AccountId,
    role: AccountId,
    admin: bool,
    default: bool,
    mandatory: bool,
}

/// All roles that the session's account has, those of roles included.
fn edges(v: &View<'_>) -> Vec<Edge> {
    let state = v.accounts();
    let mandatory = v.instance.mandatory_roles();
    let own = v.security().account().clone();
    let mut out: Vec<Edge> = Vec::new();
    let mut members = vec![own.clone()];
    let mut at = 0;
    while let Some(to) = members.get(at).cloned() {
        at += 1;
        let Some(a) = state.find(&to) else { continue };
        let mut roles: Vec<(AccountId, bool)> = a
            .roles
            .iter()
            .map(|(r, admin)| (r.clone(), *admin))
            .collect();
        if to == own {
            let more = mandatory.iter().filter(|m| state.find(m).is_some());
            let more = more.filter(|m| !a.roles.contains_key(m));
            roles.extend(more.map(|m| (m.clone(), false)));
        }
        for (role, admin) in roles {
            out.push(Edge {
                default: to == own && a.default_roles.contains(&role),
                mandatory: mandatory.contains(&role),
                to: to.clone(),
                role: role.clone(),
                admin,
            });
            if !members.contains(&role) {
                members.push(role);
            }
        }
    }
    out
}

fn applicable_roles(v: &View<'_>) -> Vec<Vec<Value>> {
    let own = v.security().account().clone();
    let row = |e: Edge| {
        vec![
            text(&own.user),
            text(&own.host),
            text(&e.to.user),
            text(&e.to.host),
            text(&e.role.user),
            text(&e.role.host),
            yes(e.admin),
            yes(e.default),
            yes(e.mandatory),
        ]
    };
    edges(v).into_iter().map(row).collect()
}

fn administrable_roles(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut all = applicable_roles(v);
    let edges = edges(v);
    let mut admin = edges.iter().map(|e| e.admin);
    all.retain(|_| admin.next().unwrap_or(false));
    all
}

fn enabled_roles(v: &View<'_>) -> Vec<Vec<Value>> {
    let state = v.accounts();
    let mandatory = v.instance.mandatory_roles();
    let own = state.find(v.security().account());
    let row = |role: &AccountId| {
        let default = own.is_some_and(|a| a.default_roles.contains(role));
        vec![
            text(&role.user),
            text(&role.host),
            yes(default),
            yes(mandatory.contains(role)),
        ]
    };
    v.security().all_roles().map(row).collect()
}

/// The names of a set as a column of type SET shows them.
fn labels(set: PrivSet) -> Value {
    let named = set.without(Priv::GrantOption).iter().map(|p| {
        let mut words = p.name().to_lowercase();
        if let Some(first) = words.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        words
    });
    text(&named.collect::<Vec<_>>().join(","))
}

/// Who granted something and to whom, as columns.
fn parties(grantor: &str, to: &AccountId) -> Vec<Value> {
    let (user, host) = grantor.rsplit_once('@').unwrap_or((grantor, ""));
    vec![text(user), text(host), text(&to.user), text(&to.host)]
}

/// The roles that are active.
fn active(v: &View<'_>) -> Vec<Arc<Account>> {
    let members = v.security().members();
    members.iter().skip(1).map(Arc::clone).collect()
}

fn role_table_grants(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for a in active(v) {
        for (t, grant) in &a.tables {
            if grant.privileges.is_empty() {
                continue;
            }
            let mut row = parties(&grant.grantor, &a.id);
            row.extend([text(CATALOG), name(&t.schema), name(&t.name)]);
            row.push(labels(grant.privileges));
            row.push(yes(grant.privileges.has(Priv::GrantOption)));
            out.push(row);
        }
    }
    out
}

fn role_column_grants(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for a in active(v) {
        for (t, grant) in &a.tables {
            for c in grant.columns.values() {
                let mut row = parties(&grant.grantor, &a.id);
                row.extend([text(CATALOG), name(&t.schema), name(&t.name), text(&c.name)]);
                row.push(labels(c.privileges));
                row.push(yes(grant.privileges.has(Priv::GrantOption)));
                out.push(row);
            }
        }
    }
    out
}

fn role_routine_grants(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for a in active(v) {
        for (r, grant) in &a.routines {
            let mut row = parties(&grant.grantor, &a.id);
            for _ in 0..2 {
                row.extend([text(CATALOG), name(&r.schema), text(&r.name)]);
            }
            row.push(labels(grant.privileges));
            row.push(yes(grant.privileges.has(Priv::GrantOption)));
            out.push(row);
        }
    }
    out
}

const ROLES: &str = "USER v97?, HOST v256?, GRANTEE v97?, GRANTEE_HOST v256?, ROLE_NAME v255?, ROLE_HOST v256?, IS_GRANTABLE v3, \
                     IS_DEFAULT v3?, IS_MANDATORY v3";

/// The tables of this file.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        name: "USER_PRIVILEGES",
        columns: "GRANTEE v292, TABLE_CATALOG n512, PRIVILEGE_TYPE v64, IS_GRANTABLE v3",
        rows: user_privileges,
    },
    Spec {
        name: "SCHEMA_PRIVILEGES",
        columns: "GRANTEE v292, TABLE_CATALOG n512, TABLE_SCHEMA n64, PRIVILEGE_TYPE v64, IS_GRANTABLE v3",
        rows: schema_privileges,
    },
    Spec {
        name: "TABLE_PRIVILEGES",
        columns: "GRANTEE v292, TABLE_CATALOG n512, TABLE_SCHEMA n64, TABLE_NAME n64, PRIVILEGE_TYPE v64, IS_GRANTABLE v3",
        rows: table_privileges,
    },
    Spec {
        name: "COLUMN_PRIVILEGES",
        columns: "GRANTEE v292, TABLE_CATALOG n512, TABLE_SCHEMA n64, TABLE_NAME n64, COLUMN_NAME v64, PRIVILEGE_TYPE v64, \
                  IS_GRANTABLE v3",
        rows: column_privileges,
    },
    Spec {
        name: "USER_ATTRIBUTES",
        columns: "USER v32, HOST v255, ATTRIBUTE x?",
        rows: user_attributes,
    },
    Spec {
        name: "APPLICABLE_ROLES",
        columns: ROLES,
        rows: applicable_roles,
    },
    Spec {
        name: "ADMINISTRABLE_ROLE_AUTHORIZATIONS",
        columns: ROLES,
        rows: administrable_roles,
    },
    Spec {
        name: "ENABLED_ROLES",
        columns: "ROLE_NAME v255?, ROLE_HOST v256?, IS_DEFAULT v3?, IS_MANDATORY v3",
        rows: enabled_roles,
    },
    Spec {
        name: "ROLE_TABLE_GRANTS",
        columns: "GRANTOR v97?, GRANTOR_HOST v256?, GRANTEE v32, GRANTEE_HOST v255, TABLE_CATALOG v3, TABLE_SCHEMA n64, \
                  TABLE_NAME n64, PRIVILEGE_TYPE v98, IS_GRANTABLE v3",
        rows: role_table_grants,
    },
    Spec {
        name: "ROLE_COLUMN_GRANTS",
        columns: "GRANTOR v97?, GRANTOR_HOST v256?, GRANTEE v32, GRANTEE_HOST v255, TABLE_CATALOG v3, TABLE_SCHEMA n64, \
                  TABLE_NAME n64, COLUMN_NAME v64, PRIVILEGE_TYPE v31, IS_GRANTABLE v3",
        rows: role_column_grants,
    },
    Spec {
        name: "ROLE_ROUTINE_GRANTS",
        columns: "GRANTOR v97?, GRANTOR_HOST v256?, GRANTEE v32, GRANTEE_HOST v255, SPECIFIC_CATALOG v3, SPECIFIC_SCHEMA n64, \
                  SPECIFIC_NAME v64, ROUTINE_CATALOG v3, ROUTINE_SCHEMA n64, ROUTINE_NAME v64, PRIVILEGE_TYPE v27, \
                  IS_GRANTABLE v3",
        rows: role_routine_grants,
    },
];
