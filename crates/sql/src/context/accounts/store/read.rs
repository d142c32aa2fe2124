//! From rows to accounts.

use std::collections::HashMap;
use std::sync::Arc;

use engine::{Engine, Isolation, RowRef, Session};
use types::SqlError;

use super::attributes;
use super::rows::{Reader, all_rows};
use super::schema::{COLUMN_LABELS, ROUTINE_LABELS, TABLE_LABELS};
use sql_access::account::{
    Account, AccountId, AccountState, ColumnGrant, Limits, OldPassword, PasswordPolicy, ProxyGrant,
    RoutineGrant, RoutineId, TableGrant, TableId, TlsRequirement,
};
use sql_access::privilege::{DB_SET, PRIVILEGES, Priv, PrivSet, dynamic};

/// Accounts under construction.
type Found = HashMap<AccountId, Account>;

/// Everything the tables say.
///
/// # Errors
/// What the engine fails with.
pub async fn read(engine: &Arc<Engine>) -> Result<AccountState, SqlError> {
    let mut s = engine.session();
    // One snapshot for all tables: a change is in all of them or in none.
    s.begin(Isolation::RepeatableRead, true);
    s.statement_begin(Isolation::RepeatableRead);
    s.open_snapshot();
    let found = read_in(&mut s).await;
    s.commit().await?;
    let mut state = AccountState::default();
    for a in found?.into_values() {
        state.put(a);
    }
    Ok(state)
}

async fn read_in(s: &mut Session) -> Result<Found, SqlError> {
    let users = all_rows(s, "user", user).await?;
    let mut found: Found = users.into_iter().map(|a| (a.id.clone(), a)).collect();
    databases(s, &mut found).await?;
    tables(s, &mut found).await?;
    routines(s, &mut found).await?;
    proxies(s, &mut found).await?;
    global_grants(s, &mut found).await?;
    roles(s, &mut found).await?;
    passwords(s, &mut found).await?;
    Ok(found)
}

fn id(t: &Reader<'_>, row: RowRef<'_>) -> AccountId {
    AccountId::new(&t.text(row, "User"), &t.text(row, "Host"))
}

fn flags(t: &Reader<'_>, row: RowRef<'_>) -> PrivSet {
    let set = PRIVILEGES.iter().filter(|f| t.yes(row, f.column));
    set.map(|f| f.id).collect()
}

fn set_of(members: &[Vec<u8>], labels: &[(&str, Priv)]) -> PrivSet {
    let known = members.iter().filter_map(|m| {
        let is = |(name, _): &&(&str, Priv)| name.as_bytes().eq_ignore_ascii_case(m);
        labels.iter().find(is).map(|(_, p)| *p)
    });
    known.collect()
}

fn user(t: &Reader<'_>, row: RowRef<'_>) -> Account {
    let limit = |name| {
        t.number(row, name)
            .map_or(0, |n| n.min(u64::from(u32::MAX)) as u32)
    };
    let small = |name| t.number(row, name).map(|n| n.min(0xFFFF) as u16);
    let blob = |name| t.text(row, name);
    let mut a = Account {
        id: id(t, row),
        plugin: t.text(row, "plugin"),
        auth_string: t.bytes(row, "authentication_string").unwrap_or_default(),
        locked: t.yes(row, "account_locked"),
        password: PasswordPolicy {
            expired: t.yes(row, "password_expired"),
            changed_us: t.micros(row, "password_last_changed"),
            lifetime_days: small("password_lifetime"),
            history: small("Password_reuse_history").map(u32::from),
            reuse_days: small("Password_reuse_time").map(u32::from),
            require_current: t.yes_or_null(row, "Password_require_current"),
            ..PasswordPolicy::default()
        },
        tls: match &t.label(row, "ssl_type")[..] {
            b"ANY" => TlsRequirement::Ssl,
            b"X509" => TlsRequirement::X509,
            b"SPECIFIED" => TlsRequirement::Specified {
                cipher: blob("ssl_cipher"),
                issuer: blob("x509_issuer"),
                subject: blob("x509_subject"),
            },
            _ => TlsRequirement::None,
        },
        limits: Limits {
            questions: limit("max_questions"),
            updates: limit("max_updates"),
            connections: limit("max_connections"),
            user_connections: limit("max_user_connections"),
        },
        privileges: flags(t, row),
        ..Account::default()
    };
    attributes::read_into(&mut a, &t.text(row, "User_attributes"));
    a
}

async fn databases(s: &mut Session, found: &mut Found) -> Result<(), SqlError> {
    let row = |t: &Reader<'_>, row: RowRef<'_>| (id(t, row), t.text(row, "Db"), flags(t, row));
    for (id, db, set) in all_rows(s, "db", row).await? {
        // A name that is nothing would fit every database in MySQL; here it fits none.
        if let Some(a) = found.get_mut(&id).filter(|_| !db.is_empty()) {
            a.databases.insert(db.into(), set.both(DB_SET));
        }
    }
    Ok(())
}

fn table_id(t: &Reader<'_>, row: RowRef<'_>) -> TableId {
    TableId {
        schema: t.text(row, "Db").into(),
        name: t.text(row, "Table_name").into(),
    }
}

async fn tables(s: &mut Session, found: &mut Found) -> Result<(), SqlError> {
    let row = |t: &Reader<'_>, row: RowRef<'_>| {
        let grant = TableGrant {
            privileges: set_of(&t.members(row, "Table_priv"), &TABLE_LABELS),
            columns: Default::default(),
            grantor: t.text(row, "Grantor").into(),
        };
        (id(t, row), table_id(t, row), grant)
    };
    for (id, table, grant) in all_rows(s, "tables_priv", row).await? {
        if let Some(a) = found.get_mut(&id) {
            a.tables.insert(table, grant);
        }
    }
    let row = |t: &Reader<'_>, row: RowRef<'_>| {
        let grant = ColumnGrant {
            name: t.text(row, "Column_name").into(),
            privileges: set_of(&t.members(row, "Column_priv"), &COLUMN_LABELS),
        };
        (id(t, row), table_id(t, row), grant)
    };
    for (id, table, grant) in all_rows(s, "columns_priv", row).await? {
        // As in MySQL, a column's row counts for nothing without the table's.
        let of_table = found.get_mut(&id).and_then(|a| a.tables.get_mut(&table));
        if let Some(t) = of_table.filter(|_| !grant.privileges.is_empty()) {
            t.columns.insert(grant.name.to_lowercase().into(), grant);
        }
    }
    for a in found.values_mut() {
        a.tables.retain(|_, t| !t.is_empty());
    }
    Ok(())
}

async fn routines(s: &mut Session, found: &mut Found) -> Result<(), SqlError> {
    let row = |t: &Reader<'_>, row: RowRef<'_>| {
        let routine = RoutineId {
            schema: t.text(row, "Db").into(),
            procedure: t.label(row, "Routine_type") == b"PROCEDURE",
            name: t.text(row, "Routine_name").to_lowercase().into(),
        };
        let grant = RoutineGrant {
            privileges: set_of(&t.members(row, "Proc_priv"), &ROUTINE_LABELS),
            grantor: t.text(row, "Grantor").into(),
        };
        (id(t, row), routine, grant)
    };
    for (id, routine, grant) in all_rows(s, "procs_priv", row).await? {
        if let Some(a) = found.get_mut(&id) {
            a.routines.insert(routine, grant);
        }
    }
    Ok(())
}

async fn proxies(s: &mut Session, found: &mut Found) -> Result<(), SqlError> {
    let row = |t: &Reader<'_>, row: RowRef<'_>| {
        let of = AccountId::new(&t.text(row, "Proxied_user"), &t.text(row, "Proxied_host"));
        let grant = ProxyGrant {
            with_grant: t.number(row, "With_grant").unwrap_or(0) != 0,
            grantor: t.text(row, "Grantor").into(),
        };
        (id(t, row), of, grant)
    };
    for (id, of, grant) in all_rows(s, "proxies_priv", row).await? {
        if let Some(a) = found.get_mut(&id) {
            a.proxies.insert(of, grant);
        }
    }
    Ok(())
}

async fn global_grants(s: &mut Session, found: &mut Found) -> Result<(), SqlError> {
    let row = |t: &Reader<'_>, row: RowRef<'_>| {
        let option = t.yes(row, "WITH_GRANT_OPTION");
        (id(t, row), t.text(row, "PRIV"), option)
    };
    for (id, name, option) in all_rows(s, "global_grants", row).await? {
        let known = dynamic(&name);
        if let (Some(a), Some(name)) = (found.get_mut(&id), known) {
            a.dynamic.insert(name.into(), option);
        }
    }
    Ok(())
}

async fn roles(s: &mut Session, found: &mut Found) -> Result<(), SqlError> {
    let row = |t: &Reader<'_>, row: RowRef<'_>| {
        let role = AccountId::new(&t.text(row, "FROM_USER"), &t.text(row, "FROM_HOST"));
        let to = AccountId::new(&t.text(row, "TO_USER"), &t.text(row, "TO_HOST"));
        (role, to, t.yes(row, "WITH_ADMIN_OPTION"))
    };
    for (role, to, admin) in all_rows(s, "role_edges", row).await? {
        // An edge from nobody would come to life with the next account of that name.
        let known = found.contains_key(&role);
        if let Some(a) = found.get_mut(&to).filter(|_| known) {
            a.roles.insert(role, admin);
        }
    }
    let row = |t: &Reader<'_>, row: RowRef<'_>| {
        let user = t.text(row, "DEFAULT_ROLE_USER");
        let role = AccountId::new(&user, &t.text(row, "DEFAULT_ROLE_HOST"));
        (id(t, row), role)
    };
    for (id, role) in all_rows(s, "default_roles", row).await? {
        let known = found.contains_key(&role);
        if let Some(a) = found.get_mut(&id).filter(|_| known) {
            a.default_roles.push(role);
        }
    }
    Ok(())
}

async fn passwords(s: &mut Session, found: &mut Found) -> Result<(), SqlError> {
    let row = |t: &Reader<'_>, row: RowRef<'_>| {
        let old = OldPassword {
            set_us: t.micros(row, "Password_timestamp").unwrap_or(0),
            auth_string: t.bytes(row, "Password").unwrap_or_default(),
        };
        (id(t, row), old)
    };
    for (id, old) in all_rows(s, "password_history", row).await? {
        if let Some(a) = found.get_mut(&id) {
            a.old_passwords.push(old);
        }
    }
    for a in found.values_mut() {
        a.old_passwords.sort_by_key(|o| std::cmp::Reverse(o.set_us));
    }
    Ok(())
}
