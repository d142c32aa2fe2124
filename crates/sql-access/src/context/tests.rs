//! Privileges at all levels, over roles, with partial revokes; and what is checked against them.

use super::*;
use crate::account::{ColumnGrant, TableGrant};
use crate::needs::{self, Need};

const SELECT: PrivSet = PrivSet::of(Priv::Select);
const INSERT: PrivSet = PrivSet::of(Priv::Insert);

fn id(user: &str) -> AccountId {
    AccountId::new(user, "%")
}

fn account(user: &str, change: impl FnOnce(&mut Account)) -> Account {
    let mut a = Account {
        id: id(user),
        ..Account::default()
    };
    change(&mut a);
    a
}

fn state(accounts: impl IntoIterator<Item = Account>) -> AccountState {
    let mut s = AccountState::default();
    accounts.into_iter().for_each(|a| s.put(a));
    s
}

fn context(s: &AccountState, user: &str, roles: &[&str]) -> SecurityContext {
    let roles = roles.iter().map(|r| id(r)).collect();
    SecurityContext::new(1, s, id(user), "h", roles, false)
}

fn code(c: &SecurityContext, need: Need) -> u16 {
    c.check(&need).map_or_else(|e| e.code, |()| 0)
}

fn on_table(schema: &str, name: &str, privileges: PrivSet) -> Need {
    Need::Table {
        table: needs::table(schema, name),
        privileges,
    }
}

fn grant_columns(a: &mut Account, table: &str, columns: &[&str], privileges: PrivSet) {
    let grant = TableGrant {
        columns: columns
            .iter()
            .map(|c| {
                let name: Box<str> = (*c).into();
                (name.to_lowercase().into(), ColumnGrant { name, privileges })
            })
            .collect(),
        ..TableGrant::default()
    };
    a.tables.insert((*needs::table("a", table)).clone(), grant);
}

#[test]
fn whoever_has_nothing_may_do_nothing() {
    let s = state([account("u", |_| {})]);
    for c in [context(&s, "u", &[]), context(&s, "gone", &["u"])] {
        assert_eq!(code(&c, on_table("a", "t", SELECT)), 1142);
        assert_eq!(code(&c, Need::AnythingIn { schema: "a".into() }), 1044);
        assert_eq!(code(&c, Need::OneOf(&[Right::Static(Priv::Process)])), 1227);
        assert_eq!(code(&c, Need::Server(Priv::File)), 1045);
        assert_eq!(
            code(&c, on_table("information_schema", "TABLES", SELECT)),
            0
        );
        assert!(!c.sees_db("a") && !c.sees_table("a", "t") && c.sees_db("information_schema"));
    }
}

#[test]
fn an_administrative_privilege_opens_no_database() {
    for p in [Priv::Process, Priv::Reload, Priv::File, Priv::ShowDatabases] {
        let s = state([account("u", |a| a.privileges = PrivSet::of(p))]);
        let c = context(&s, "u", &[]);
        for schema in ["a", "mysql"] {
            assert_eq!(code(&c, on_table(schema, "user", SELECT)), 1142);
            assert!(!c.sees_db(schema) && !c.sees_table(schema, "user"));
        }
    }
}

#[test]
fn a_privilege_is_no_other() {
    let s = state([account("u", |a| {
        a.databases.insert("a".into(), SELECT);
    })]);
    let c = context(&s, "u", &[]);
    assert_eq!(code(&c, on_table("a", "t", SELECT)), 0);
    assert_eq!(code(&c, on_table("b", "t", SELECT)), 1142);
    assert_eq!(code(&c, on_table("A", "t", SELECT)), 1142);
    let drop = Need::Database {
        schema: "a".into(),
        privileges: PrivSet::of(Priv::Drop),
    };
    assert_eq!(code(&c, drop), 1044);
    let e = c.check(&on_table("a", "t", SELECT.union(INSERT).with(Priv::Drop)));
    let text = "INSERT, DROP command denied to user 'u'@'h' for table 't'";
    assert_eq!(e.map_err(|e| e.message), Err(text.to_owned()));
}

#[test]
fn columns_are_checked_one_by_one() {
    let s = state([account("u", |a| {
        grant_columns(a, "t", &["Id", "v"], SELECT)
    })]);
    let c = context(&s, "u", &[]);
    let columnwise = Need::Columnwise {
        table: needs::table("a", "t"),
        privileges: SELECT,
    };
    assert_eq!(code(&c, columnwise), 0);
    assert_eq!(code(&c, on_table("a", "t", SELECT)), 1142);
    let columns = |names: &[&str]| Need::Columns {
        table: needs::table("a", "t"),
        privilege: Priv::Select,
        columns: names.iter().copied().collect(),
        named: true,
    };
    assert_eq!(code(&c, columns(&["ID", "V"])), 0);
    assert_eq!(code(&c, columns(&["id", "secret"])), 1143);
    assert!(c.sees_column("a", "t", "V") && !c.sees_column("a", "t", "secret"));
    assert!(c.sees_db("a") && c.sees_table("a", "t") && !c.sees_table("a", "u"));
}

#[test]
fn the_most_specific_pattern_counts_alone() {
    let s = state([account("u", |a| {
        for (pattern, set) in [
            ("%", PrivSet::of(Priv::Delete)),
            ("app%", SELECT),
            (r"app\_one", INSERT),
            ("a_p2", PrivSet::of(Priv::Update)),
        ] {
            a.databases.insert(pattern.into(), set);
        }
    })]);
    let c = context(&s, "u", &[]);
    for (schema, set) in [
        ("app_one", INSERT),
        ("appxone", SELECT),
        ("app2", SELECT),
        ("axp2", PrivSet::of(Priv::Update)),
        ("other", PrivSet::of(Priv::Delete)),
    ] {
        assert_eq!(c.on_db(schema), set, "{schema}");
    }
    let literal = SecurityContext::new(1, &s, id("u"), "h", Vec::new(), true);
    assert_eq!(literal.on_db("appxone"), PrivSet::NONE);
    assert_eq!(literal.on_db("%"), PrivSet::of(Priv::Delete));
}

#[test]
fn roles_add_theirs_when_active() {
    let s = state([
        account("u", |a| {
            a.roles.insert(id("r"), false);
        }),
        account("r", |a| {
            a.databases.insert("a".into(), SELECT);
            a.roles.insert(id("inner"), true);
        }),
        account("inner", |a| {
            a.databases.insert("a".into(), INSERT);
            a.dynamic.insert("ROLE_ADMIN".into(), true);
            // A circle must end.
            a.roles.insert(id("r"), false);
        }),
    ]);
    assert_eq!(context(&s, "u", &[]).on_db("a"), PrivSet::NONE);
    let c = context(&s, "u", &["r"]);
    assert_eq!(c.on_db("a"), SELECT.union(INSERT));
    assert!(c.has_dynamic("ROLE_ADMIN") && c.dynamic_grantable("ROLE_ADMIN"));
    assert_eq!(c.roles(), [id("r")]);
    assert_eq!(c.all_roles().count(), 2);
}

#[test]
fn a_partial_revoke_takes_from_its_own_account_alone() {
    let s = state([
        account("u", |a| {
            a.privileges = SELECT.union(INSERT);
            a.restrictions.insert("a".into(), SELECT);
        }),
        account("r", |a| {
            a.privileges = SELECT;
        }),
    ]);
    let c = context(&s, "u", &[]);
    assert!(c.is_restricted() && c.global().has(Priv::Select));
    assert_eq!(c.on_db("a"), INSERT);
    assert_eq!(c.on_db("b"), SELECT.union(INSERT));
    assert_eq!(code(&c, on_table("a", "t", SELECT)), 1142);
    // What a role has everywhere is not taken by the account's restriction.
    assert_eq!(context(&s, "u", &["r"]).on_db("a"), SELECT.union(INSERT));
}

#[test]
fn super_includes_what_was_made_of_it() {
    let s = state([account("u", |a| a.privileges = PrivSet::of(Priv::Super))]);
    let c = context(&s, "u", &[]);
    assert!(c.has_dynamic("SYSTEM_VARIABLES_ADMIN") && c.has_dynamic("CONNECTION_ADMIN"));
    assert!(!c.has_dynamic("SYSTEM_USER") && !c.has_dynamic("BACKUP_ADMIN"));
    assert!(!c.dynamic_grantable("CONNECTION_ADMIN"));
    assert_eq!(code(&c, on_table("a", "t", SELECT)), 1142);
}

#[test]
fn nobody_changes_the_virtual_schemas() {
    let all = PrivSet::all().with(Priv::GrantOption);
    let s = state([account("u", |a| a.privileges = all)]);
    let own = SecurityContext::of_the_server(1, id("root"));
    for c in [context(&s, "u", &[]), own] {
        for schema in [
            "information_schema",
            "INFORMATION_SCHEMA",
            "performance_schema",
        ] {
            assert_eq!(code(&c, on_table(schema, "t", SELECT)), 0);
            assert_eq!(code(&c, on_table(schema, "t", INSERT)), 1044);
            let create = Need::Database {
                schema: schema.into(),
                privileges: PrivSet::of(Priv::Create),
            };
            assert_eq!(code(&c, create), 1044);
        }
        assert_eq!(code(&c, on_table("mysql", "user", INSERT)), 0);
    }
}

struct Thing(Needs);

impl Guarded for Thing {
    fn needs(&self) -> &Needs {
        &self.0
    }
}

#[test]
fn what_was_authorised_holds_for_its_context_alone() {
    let s = state([account("u", |a| a.privileges = SELECT)]);
    let first = context(&s, "u", &[]);
    let thing = Arc::new(Thing(Needs::none().and(on_table("a", "t", SELECT))));
    let authorised = first.authorize(Arc::clone(&thing)).unwrap();
    assert!(first.ready(&authorised).is_some());
    let less = state([account("u", |_| {})]);
    let second = SecurityContext::new(2, &less, id("u"), "h", Vec::new(), false);
    assert!(second.ready(&authorised).is_none());
    assert_eq!(
        second.authorize(thing).map_err(|e| e.code).err(),
        Some(1142)
    );
}
