//! USER_PRIVILEGES, SCHEMA_PRIVILEGES.

use types::Value;

use super::spec::{Spec, View, name, text};
use crate::session::accounts::{GLOBAL_PRIVILEGES, PrivSet};

fn grantee(user: &str, host: &str) -> String {
    format!("'{user}'@'{host}'")
}

/// One line a privilege; `USAGE` where there is none.
fn lines(set: PrivSet, mut add: impl FnMut(&str, &str)) {
    let option = if set.has("GRANT OPTION") { "YES" } else { "NO" };
    let names = GLOBAL_PRIVILEGES
        .iter()
        .map(|p| p.name)
        .filter(|n| *n != "GRANT OPTION" && set.has(n));
    let mut any = false;
    for n in names {
        any = true;
        add(n, option);
    }
    if !any {
        add("USAGE", option);
    }
}

fn user_privileges(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    let all = v.is_powerful();
    for a in &v.accounts().accounts {
        if !all && a.user != v.user() {
            continue;
        }
        let who = grantee(&a.user, &a.host);
        lines(a.privileges, |p, option| {
            out.push(vec![text(&who), name("def"), text(p), text(option)]);
        });
        for (d, option) in &a.dynamic {
            let option = if *option { "YES" } else { "NO" };
            out.push(vec![text(&who), name("def"), text(d), text(option)]);
        }
    }
    out
}

fn schema_privileges(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    let all = v.is_powerful();
    for g in &v.accounts().grants {
        if !all && g.user != v.user() {
            continue;
        }
        let who = grantee(&g.user, &g.host);
        lines(g.privileges, |p, option| {
            out.push(vec![
                text(&who),
                name("def"),
                name(&g.db),
                text(p),
                text(option),
            ]);
        });
    }
    out
}

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
];
