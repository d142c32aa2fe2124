//! The account tables on a disk in memory: first start, all an account can have written and read again, older tables.

use std::path::Path;
use std::sync::Arc;

use base::block_on;
use base::mem::{MemDisk, environment};
use engine::{Engine, EngineOptions, Isolation, PagerOptions, SchemaDef, TableDef};
use types::CollationId;

use super::schema::{self, SCHEMA};
use super::write::put_account;
use super::{prepare, read, write};
use crate::session::tests::opened::until_the_test_ends;
use sql_access::account::*;
use sql_access::privilege::{COLUMN_SET, DB_SET, DYNAMIC, Priv, PrivSet, ROUTINE_SET, TABLE_SET};

const NOW: i64 = 1_700_000_000_000_000;

async fn engine_on(disk: &Arc<MemDisk>) -> Arc<Engine> {
    let options = EngineOptions {
        pager: PagerOptions {
            pool_bytes: 16 << 20,
            log_capacity_bytes: 64 << 20,
            log_buffer_bytes: 4 << 20,
            ..PagerOptions::default()
        },
        ..EngineOptions::default()
    };
    let engine = Engine::open(environment(Arc::clone(disk)), Path::new("/data"), options)
        .await
        .expect("an engine");
    until_the_test_ends(engine)
}

fn id(user: &str, host: &str) -> AccountId {
    AccountId::new(user, host)
}

/// An account with something of everything.
fn full() -> Account {
    let mut a = Account {
        id: id("full", "%.example.org"),
        plugin: "mysql_native_password".to_owned(),
        auth_string: b"*0123".to_vec(),
        second_auth_string: Some(b"*4567".to_vec()),
        locked: true,
        old_passwords: [5_000_001, 4]
            .map(|set_us| OldPassword {
                set_us,
                auth_string: b"*1".to_vec(),
            })
            .to_vec(),
        tls: TlsRequirement::Specified {
            cipher: "C".to_owned(),
            issuer: String::new(),
            subject: "/CN=x".to_owned(),
        },
        limits: Limits {
            questions: 1,
            updates: 2,
            connections: 3,
            user_connections: 4,
        },
        metadata: r#"{"comment": "x"}"#.to_owned(),
        privileges: PrivSet::of(Priv::Select).with(Priv::DropRole),
        ..Account::default()
    };
    a.password = PasswordPolicy {
        expired: true,
        changed_us: Some(NOW),
        lifetime_days: Some(0),
        history: Some(5),
        reuse_days: Some(6),
        require_current: Some(false),
        failed_attempts: 7,
        lock_days: None,
    };
    a.dynamic.insert("SYSTEM_USER".into(), true);
    a.dynamic.insert("BACKUP_ADMIN".into(), false);
    a.restrictions
        .insert("mysql".into(), PrivSet::of(Priv::Select));
    a.databases.insert(r"app\_%".into(), DB_SET);
    let table = TableId {
        schema: "d".into(),
        name: "T".into(),
    };
    let column = ColumnGrant {
        name: "Col".into(),
        privileges: COLUMN_SET,
    };
    let grantor: Box<str> = "root@localhost".into();
    a.tables.insert(
        table,
        TableGrant {
            privileges: TABLE_SET,
            columns: [("col".into(), column)].into(),
            grantor: grantor.clone(),
        },
    );
    for procedure in [true, false] {
        let routine = RoutineId {
            schema: "d".into(),
            procedure,
            name: "p".into(),
        };
        let grant = RoutineGrant {
            privileges: ROUTINE_SET,
            grantor: grantor.clone(),
        };
        a.routines.insert(routine, grant);
    }
    a.roles.insert(id("r", "%"), true);
    a.default_roles.push(id("r", "%"));
    let proxy = ProxyGrant {
        with_grant: true,
        grantor,
    };
    a.proxies.insert(id("other", "localhost"), proxy);
    a
}

async fn opened(engine: &Arc<Engine>) -> AccountState {
    prepare(engine, NOW).await.expect("tables");
    read(engine).await.expect("accounts")
}

#[test]
fn the_first_start_makes_root() {
    let disk = Arc::new(MemDisk::default());
    block_on(async {
        let engine = engine_on(&disk).await;
        let state = opened(&engine).await;
        let root = state.find(&id("root", "localhost")).expect("root");
        assert_eq!(root.privileges, PrivSet::all().with(Priv::GrantOption));
        assert_eq!(root.dynamic.len(), DYNAMIC.len());
        assert!(root.dynamic.values().all(|with| *with));
        assert!(root.proxies[&AccountId::default()].with_grant);
        assert_eq!(root.password.changed_us, Some(NOW));
        assert_eq!(state.len(), 1);
        // Whoever empties the tables does not get an account without a password at the next start.
        let none = AccountState::default();
        assert!(write(&engine, &state, &none, None).await.expect("a change"));
        assert!(opened(&engine).await.is_empty());
    });
}

#[test]
fn a_first_start_that_was_cut_short_is_made_again() {
    let disk = Arc::new(MemDisk::default());
    block_on(async {
        let engine = engine_on(&disk).await;
        let mut s = engine.session();
        let schema = SchemaDef {
            name: SCHEMA.to_owned(),
            collation: CollationId::DEFAULT,
        };
        s.create_schema(schema).await.expect("a schema");
        let unfinished = TableDef {
            name: "user_unfinished".to_owned(),
            ..schema::user()
        };
        s.create_table(unfinished).await.expect("a table");
        drop(s);
        assert_eq!(opened(&engine).await.len(), 1);
        assert!(engine.catalog().table(SCHEMA, "user_unfinished").is_none());
    });
}

#[test]
fn accounts_are_what_was_written() {
    let disk = Arc::new(MemDisk::default());
    block_on(async {
        let engine = engine_on(&disk).await;
        let old = opened(&engine).await;
        let mut new = old.clone();
        let role = Account {
            id: id("r", "%"),
            locked: true,
            ..Account::default()
        };
        new.put(role);
        new.put(full());
        assert!(write(&engine, &old, &new, None).await.expect("a change"));
        assert!(
            !write(&engine, &new, &new.clone(), None)
                .await
                .expect("nothing")
        );
        let found = read(&engine).await.expect("accounts");
        assert_eq!(found.find(&full().id).map(|a| &**a), Some(&full()));
        // What is taken away is gone from the tables, whatever the order of the names.
        let mut less = new.clone();
        let a = less.find_mut(&full().id).expect("it");
        *a = Account {
            id: a.id.clone(),
            plugin: a.plugin.clone(),
            ..Account::default()
        };
        assert!(write(&engine, &new, &less, None).await.expect("a change"));
        let found = read(&engine).await.expect("accounts");
        assert_eq!(found.find(&full().id), less.find(&full().id));
        assert!(write(&engine, &less, &new, None).await.expect("a change"));
        let mut gone = new.clone();
        gone.remove(&full().id);
        assert!(write(&engine, &new, &gone, None).await.expect("a change"));
        let back = read(&engine).await.expect("accounts");
        assert!(back.find(&full().id).is_none());
    });
}

#[test]
fn rows_of_nobody_are_not_inherited() {
    let disk = Arc::new(MemDisk::default());
    block_on(async {
        let engine = engine_on(&disk).await;
        let old = opened(&engine).await;
        // All of an account's rows but that of `user`, as a hand leaves them that deletes only there.
        let mut s = engine.session();
        let elsewhere = TableDef {
            name: "elsewhere".to_owned(),
            ..schema::user()
        };
        s.create_table(elsewhere).await.expect("a table");
        s.begin(Isolation::ReadCommitted, false);
        s.statement_begin(Isolation::ReadCommitted);
        let mut a = full();
        a.roles.insert(id("root", "localhost"), true);
        put_account(&mut s, &a, "elsewhere", NOW)
            .await
            .expect("rows");
        s.commit().await.expect("a commit");
        drop(s);
        assert_eq!(read(&engine).await.expect("accounts").len(), 1);
        let mut new = old.clone();
        let bare = Account {
            id: full().id,
            ..Account::default()
        };
        new.put(bare.clone());
        assert!(write(&engine, &old, &new, None).await.expect("a change"));
        let found = read(&engine).await.expect("accounts");
        assert_eq!(found.find(&bare.id).map(|a| &**a), Some(&bare));
    });
}

/// `user`, `db` and `global_grants` as they were before the tables had MySQL's shape.
fn older() -> Vec<TableDef> {
    let mut user = schema::user();
    let roles: Vec<_> = user.columns.drain(45..47).collect();
    let keep = [
        "Host",
        "User",
        "plugin",
        "authentication_string",
        "password_expired",
        "password_lifetime",
        "password_last_changed",
        "account_locked",
    ];
    user.columns
        .retain(|c| c.name.ends_with("_priv") || keep.contains(&&c.name[..]));
    let at = user.column("plugin").expect("a column");
    user.columns.splice(at..at, roles);
    let mut all = schema::others();
    let mut named = |name: &str| {
        let at = all.iter().position(|d| d.name == name).expect("a table");
        all.swap_remove(at)
    };
    let mut db = named("db");
    db.indexes.truncate(1);
    let at = db.column("Execute_priv").expect("a column");
    let execute = db.columns.remove(at);
    db.columns.insert(15, execute);
    db.indexes[0].parts.swap(1, 2);
    let mut grants = named("global_grants");
    grants.columns[2].ty = types::DataType::Char {
        chars: 32,
        collation: schema::NAMES,
    };
    vec![user, db, grants]
}

#[test]
fn older_tables_keep_their_accounts() {
    let disk = Arc::new(MemDisk::default());
    let account = Account {
        id: id("u", "10.%"),
        plugin: "caching_sha2_password".to_owned(),
        auth_string: b"$A$005$x".to_vec(),
        locked: true,
        privileges: PrivSet::of(Priv::Select).with(Priv::CreateRole),
        databases: [("d%".into(), PrivSet::of(Priv::Execute).with(Priv::Trigger))].into(),
        dynamic: [("SYSTEM_USER".into(), true)].into(),
        ..Account::default()
    };
    let root = Account {
        id: id("root", "localhost"),
        plugin: "caching_sha2_password".to_owned(),
        auth_string: b"secret".to_vec(),
        privileges: PrivSet::all(),
        ..Account::default()
    };
    block_on(async {
        let engine = engine_on(&disk).await;
        let mut s = engine.session();
        let schema = SchemaDef {
            name: SCHEMA.to_owned(),
            collation: CollationId::DEFAULT,
        };
        s.create_schema(schema).await.expect("a schema");
        for def in older() {
            s.create_table(def).await.expect("a table");
        }
        s.begin(Isolation::ReadCommitted, false);
        s.statement_begin(Isolation::ReadCommitted);
        for a in [&account, &root] {
            put_account(&mut s, a, "user", NOW).await.expect("rows");
        }
        s.commit().await.expect("a commit");
        // As if killed after the first of the tables.
        let db = schema::others().swap_remove(0);
        super::prepare::bring_about(&mut s, db)
            .await
            .expect("a table");
        drop(s);
        for _ in 0..2 {
            let state = opened(&engine).await;
            assert_eq!(state.len(), 2);
            assert_eq!(state.find(&account.id).map(|a| &**a), Some(&account));
            let found = state.find(&root.id).expect("root");
            assert_eq!(found.auth_string, b"secret");
            assert!(found.proxies.contains_key(&AccountId::default()));
        }
        for def in schema::others().into_iter().chain([schema::user()]) {
            let t = engine.catalog().table(SCHEMA, &def.name).expect("a table");
            assert!(schema::same_shape(&t.def, &def), "{}", def.name);
        }
    });
}
