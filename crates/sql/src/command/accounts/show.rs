//! The texts of SHOW GRANTS and SHOW CREATE USER, as MySQL 8.0 writes them.

use std::collections::BTreeMap;

use types::SqlError;

use super::errors::{failed, no_such_grant, role_not_granted};
use crate::context::Session;
use crate::describe::create_table::quote;
use sql_access::account::{
    Account, Limits, RoutineGrant, RoutineId, TableGrant, TableId, TlsRequirement,
};
use sql_access::privilege::{DB_SET, Priv, ROUTINE_SET, TABLE_SET};
use sql_access::{AccountId, AccountState, PrivSet, SecurityContext};
use sql_parser::ast;

impl Session {
    /// SHOW GRANTS: whose, and the lines. Without a name those of the session, active roles included.
    ///
    /// # Errors
    /// 1141, 3530.
    pub(crate) fn grants_of(
        &self,
        account: Option<&ast::Account>,
        using: &[ast::Account],
    ) -> Result<(AccountId, Vec<String>), SqlError> {
        let id = self.account_id(account.unwrap_or(&ast::Account::CurrentUser))?;
        let state = self.instance.accounts.snapshot();
        let mandatory = self.instance.mandatory_roles();
        let own = state.find(&id).ok_or_else(|| no_such_grant(&id))?;
        let mut roles = Vec::new();
        for role in using {
            let role = self.account_id(role)?;
            if !own.roles.contains_key(&role) && !mandatory.contains(&role) {
                return Err(role_not_granted(&role, &id));
            }
            roles.push(role);
        }
        if using.is_empty() && id == *self.security.account() {
            roles = self.security.roles().to_vec();
        }
        let mut all = together(&state, own, roles);
        for role in mandatory.iter().filter(|r| state.find(r).is_some()) {
            if *role != id {
                all.roles.entry(role.clone()).or_insert(false);
            }
        }
        Ok((id, grant_lines(&all)))
    }

    /// The text of SHOW CREATE USER.
    ///
    /// # Errors
    /// 1396.
    pub(crate) fn create_user_text(&self, id: &AccountId) -> Result<String, SqlError> {
        let state = self.instance.accounts.snapshot();
        let a = state
            .find(id)
            .ok_or_else(|| failed("SHOW CREATE USER", &[id.quoted()]))?;
        let seen = self.security.on_table("mysql", "user").has(Priv::Select);
        let hex = self.vars.value_by_name("print_identified_with_as_hex");
        let hex = hex.is_some_and(|v| v.as_u64() != 0);
        Ok(create_user(a, seen, hex))
    }
}

/// An account with what its roles have beside what it has itself.
fn together(state: &AccountState, own: &Account, roles: Vec<AccountId>) -> Account {
    let context = SecurityContext::new(0, state, own.id.clone(), "", roles, false);
    let mut all = own.clone();
    for m in context.members().iter().skip(1) {
        all.privileges = all.privileges.union(m.privileges);
        for (name, option) in &m.dynamic {
            *all.dynamic.entry(name.clone()).or_insert(false) |= option;
        }
        for (db, set) in &m.databases {
            let had = all.databases.entry(db.clone()).or_default();
            *had = had.union(*set);
        }
        for (table, grant) in &m.tables {
            let had = all.tables.entry(table.clone()).or_default();
            had.privileges = had.privileges.union(grant.privileges);
            for (key, c) in &grant.columns {
                let mine = had.columns.entry(key.clone()).or_insert_with(|| c.clone());
                mine.privileges = mine.privileges.union(c.privileges);
            }
        }
        for (routine, grant) in &m.routines {
            let had = all.routines.entry(routine.clone()).or_default();
            had.privileges = had.privileges.union(grant.privileges);
        }
    }
    // A restriction holds as far as nobody among them has the privilege without it.
    let mut restrictions = BTreeMap::new();
    for m in context.members() {
        for db in m.restrictions.keys() {
            let lacking = all.privileges.both(DB_SET).minus(context.on_db(db));
            if !lacking.is_empty() {
                restrictions.insert(db.clone(), lacking);
            }
        }
    }
    all.restrictions = restrictions;
    all
}

fn option(set: PrivSet) -> &'static str {
    match set.has(Priv::GrantOption) {
        true => " WITH GRANT OPTION",
        false => "",
    }
}

/// The names of a set, `ALL PRIVILEGES` where it has all there are.
fn names(set: PrivSet, all: PrivSet) -> String {
    match set.has_all(all.without(Priv::GrantOption)) {
        true => "ALL PRIVILEGES".to_owned(),
        false => set.text(),
    }
}

fn grant_lines(a: &Account) -> Vec<String> {
    let to = a.id.ticked();
    let mut out = vec![format!(
        "GRANT {} ON *.* TO {to}{}",
        a.privileges.text(),
        option(a.privileges)
    )];
    for with in [false, true] {
        let some = a.dynamic.iter().filter(|(_, w)| **w == with);
        let some: Vec<&str> = some.map(|(n, _)| &**n).collect();
        if !some.is_empty() {
            let tail = if with { " WITH GRANT OPTION" } else { "" };
            out.push(format!("GRANT {} ON *.* TO {to}{tail}", some.join(",")));
        }
    }
    out.extend(a.databases.iter().map(|(db, set)| {
        let names = names(*set, DB_SET);
        format!("GRANT {names} ON {}.* TO {to}{}", quote(db), option(*set))
    }));
    out.extend(a.restrictions.iter().map(|(db, set)| {
        let names = set.text();
        format!("REVOKE {names} ON {}.* FROM {to}", quote(db))
    }));
    out.extend(a.tables.iter().map(|(t, g)| table_line(t, g, &to)));
    out.extend(a.routines.iter().map(|(r, g)| routine_line(r, g, &to)));
    out.extend(a.proxies.iter().map(|(of, g)| {
        let tail = if g.with_grant {
            " WITH GRANT OPTION"
        } else {
            ""
        };
        format!("GRANT PROXY ON {} TO {to}{tail}", of.ticked())
    }));
    for admin in [false, true] {
        let some = a.roles.iter().filter(|(_, w)| **w == admin);
        let some: Vec<String> = some.map(|(r, _)| r.ticked()).collect();
        if !some.is_empty() {
            let tail = if admin { " WITH ADMIN OPTION" } else { "" };
            out.push(format!("GRANT {} TO {to}{tail}", some.join(",")));
        }
    }
    out
}

fn table_line(table: &TableId, grant: &TableGrant, to: &str) -> String {
    let mut names = Vec::new();
    let whole = grant.privileges;
    if whole.has_all(TABLE_SET.without(Priv::GrantOption)) {
        names.push("ALL PRIVILEGES".to_owned());
    } else {
        let any = whole.union(grant.on_columns()).without(Priv::GrantOption);
        for p in any.iter() {
            if whole.has(p) {
                names.push(p.name().to_owned());
            }
            let columns = grant.columns.values().filter(|c| c.privileges.has(p));
            let columns: Vec<String> = columns.map(|c| quote(&c.name)).collect();
            if !columns.is_empty() {
                names.push(format!("{} ({})", p.name(), columns.join(", ")));
            }
        }
        if names.is_empty() {
            names.push("USAGE".to_owned());
        }
    }
    format!(
        "GRANT {} ON {}.{} TO {to}{}",
        names.join(", "),
        quote(&table.schema),
        quote(&table.name),
        option(whole)
    )
}

fn routine_line(routine: &RoutineId, grant: &RoutineGrant, to: &str) -> String {
    let kind = if routine.procedure {
        "PROCEDURE"
    } else {
        "FUNCTION"
    };
    let names = match grant.privileges.both(ROUTINE_SET) {
        set if set.without(Priv::GrantOption).is_empty() => "USAGE".to_owned(),
        set => set.text(),
    };
    format!(
        "GRANT {names} ON {kind} {}.{} TO {to}{}",
        quote(&routine.schema),
        quote(&routine.name),
        option(grant.privileges)
    )
}

/// A text in apostrophes.
fn text(s: &str) -> String {
    let mut out = String::from("'");
    for c in s.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            '\x1a' => out.push_str("\\Z"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

fn create_user(a: &Account, seen: bool, hex: bool) -> String {
    format!(
        "CREATE USER {}{}",
        identified(a, seen, hex),
        options(a, true)
    )
}

/// The account, and how it authenticates.
pub(super) fn identified(a: &Account, seen: bool, hex: bool) -> String {
    let mut out = format!("{} IDENTIFIED WITH '{}'", a.id.ticked(), a.plugin);
    let hash = &a.auth_string;
    if !hash.is_empty() {
        let printable = hash.iter().all(|b| (0x20..0x7F).contains(b));
        out.push_str(" AS ");
        if !seen {
            out.push_str("'<secret>'");
        } else if hex && !printable {
            out.push_str("0x");
            out.extend(hash.iter().map(|b| format!("{b:02X}")));
        } else {
            out.push_str(&text(&String::from_utf8_lossy(hash)));
        }
    }
    out
}

/// Everything else of it, with its default roles or without.
pub(super) fn options(a: &Account, roles: bool) -> String {
    let mut out = String::new();
    if roles && !a.default_roles.is_empty() {
        let roles: Vec<String> = a.default_roles.iter().map(AccountId::ticked).collect();
        out.push_str(" DEFAULT ROLE ");
        out.push_str(&roles.join(","));
    }
    out.push_str(" REQUIRE");
    out.push_str(&require(&a.tls));
    out.push_str(&limits(&a.limits));
    let p = &a.password;
    let days = |name: &str, days: Option<u32>, unit: &str| match days {
        None => format!(" {name} DEFAULT"),
        Some(n) => format!(" {name} {n}{unit}"),
    };
    out.push_str(&match (p.expired, p.lifetime_days) {
        (true, _) => " PASSWORD EXPIRE".to_owned(),
        (_, None) => " PASSWORD EXPIRE DEFAULT".to_owned(),
        (_, Some(0)) => " PASSWORD EXPIRE NEVER".to_owned(),
        (_, Some(n)) => format!(" PASSWORD EXPIRE INTERVAL {n} DAY"),
    });
    out.push_str(match a.locked {
        true => " ACCOUNT LOCK",
        false => " ACCOUNT UNLOCK",
    });
    out.push_str(&days("PASSWORD HISTORY", p.history, ""));
    out.push_str(&days("PASSWORD REUSE INTERVAL", p.reuse_days, " DAY"));
    out.push_str(match p.require_current {
        None => " PASSWORD REQUIRE CURRENT DEFAULT",
        Some(true) => " PASSWORD REQUIRE CURRENT",
        Some(false) => " PASSWORD REQUIRE CURRENT OPTIONAL",
    });
    if p.failed_attempts != 0 {
        out.push_str(&format!(" FAILED_LOGIN_ATTEMPTS {}", p.failed_attempts));
    }
    match p.lock_days {
        None => out.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
        Some(0) => {}
        Some(n) => out.push_str(&format!(" PASSWORD_LOCK_TIME {n}")),
    }
    if !a.metadata.is_empty() {
        out.push_str(" ATTRIBUTE ");
        out.push_str(&text(&a.metadata));
    }
    out
}

fn require(tls: &TlsRequirement) -> String {
    match tls {
        TlsRequirement::None => " NONE".to_owned(),
        TlsRequirement::Ssl => " SSL".to_owned(),
        TlsRequirement::X509 => " X509".to_owned(),
        TlsRequirement::Specified {
            cipher,
            issuer,
            subject,
        } => {
            let parts = [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)];
            let parts = parts.iter().filter(|(_, v)| !v.is_empty());
            parts.map(|(n, v)| format!(" {n} {}", text(v))).collect()
        }
    }
}

fn limits(l: &Limits) -> String {
    let all = [
        ("MAX_QUERIES_PER_HOUR", l.questions),
        ("MAX_UPDATES_PER_HOUR", l.updates),
        ("MAX_CONNECTIONS_PER_HOUR", l.connections),
        ("MAX_USER_CONNECTIONS", l.user_connections),
    ];
    let some = all.iter().filter(|(_, n)| *n != 0);
    let text: String = some.map(|(name, n)| format!(" {name} {n}")).collect();
    match text.is_empty() {
        true => text,
        false => format!(" WITH{text}"),
    }
}
