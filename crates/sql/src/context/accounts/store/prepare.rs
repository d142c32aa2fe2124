//! The account tables at start: made where they are missing, brought to the present shape where they are older.
//!
//! Each step leaves a directory that the next start can go on from. `mysql.user` appears under its name with its first account in it:
//! where it is found the first start was complete, and no account is made for a table that somebody has emptied.

use std::sync::Arc;

use engine::{ColumnDef, Engine, Isolation, Rewrite, RowRef, SchemaDef, Session, Table, TableDef};
use types::error::codes;
use types::{CollationId, DataType, SqlError, Value, ValueRef};

use super::rows::all_rows;
use super::schema::{self, OTHERS, SCHEMA};
use super::write::{filling, put_account, put_proxy};
use sql_access::account::{Account, AccountId, ProxyGrant};
use sql_access::privilege::{DYNAMIC, Priv, PrivSet};

/// What `user` is called until its first account is in it.
const UNFINISHED: &str = "user_unfinished";

/// `root@localhost` of the first start: without a password, with everything.
fn root(now_us: i64) -> Account {
    let mut a = Account {
        id: AccountId::new("root", "localhost"),
        plugin: "caching_sha2_password".to_owned(),
        privileges: PrivSet::all().with(Priv::GrantOption),
        dynamic: DYNAMIC.iter().map(|d| ((*d).into(), true)).collect(),
        ..Account::default()
    };
    a.password.changed_us = Some(now_us);
    a.proxies.insert(AccountId::default(), any_proxy());
    a
}

/// The right to be a proxy of anybody and to pass that on.
fn any_proxy() -> ProxyGrant {
    ProxyGrant {
        with_grant: true,
        ..ProxyGrant::default()
    }
}

/// Makes schema, tables and `root@localhost` where they are missing.
///
/// # Errors
/// What the engine fails with; a table that is there and cannot be read.
pub async fn prepare(engine: &Arc<Engine>, now_us: i64) -> Result<(), SqlError> {
    let mut s = engine.session();
    let catalog = || engine.catalog();
    for name in OTHERS.iter().copied().chain(["user"]) {
        // One whose file is missing or unreadable is not to be made anew, as if there had been no accounts.
        let e = catalog().why_no_table(SCHEMA, name);
        if catalog().table(SCHEMA, name).is_none() && e.code == codes::ER_INDEX_CORRUPT {
            return Err(e);
        }
    }
    if catalog().schema(SCHEMA).is_none() {
        s.create_schema(SchemaDef {
            name: SCHEMA.to_owned(),
            collation: CollationId::DEFAULT,
        })
        .await?;
    }
    let had_proxies = catalog().table(SCHEMA, "proxies_priv").is_some();
    for def in schema::others() {
        bring_about(&mut s, def).await?;
    }
    if let Some(user) = catalog().table(SCHEMA, "user") {
        let older = !schema::same_shape(&user.def, &schema::user());
        // Without an account and of an older shape: a first start that did not come to its end.
        if older && count(&mut s, "user").await? == 0 {
            drop(user);
            s.drop_table(SCHEMA, "user").await?;
        }
    }
    if catalog().table(SCHEMA, "user").is_none() {
        return first_start(&mut s, now_us).await;
    }
    bring_about(&mut s, schema::user()).await?;
    if !had_proxies {
        s.begin(Isolation::ReadCommitted, false);
        s.statement_begin(Isolation::ReadCommitted);
        let id = AccountId::new("root", "localhost");
        let exists = |id: &AccountId, found: &[(String, String)]| {
            let is = |(u, h): &(String, String)| AccountId::new(u, h) == *id;
            found.iter().any(is)
        };
        let names = all_rows(&mut s, "user", |t, row| {
            (t.text(row, "User"), t.text(row, "Host"))
        });
        if exists(&id, &names.await?) {
            put_proxy(&mut s, &id, &AccountId::default(), &any_proxy(), now_us).await?;
        }
        s.commit().await?;
    }
    Ok(())
}

async fn count(s: &mut Session, name: &str) -> Result<usize, SqlError> {
    s.statement_begin(Isolation::ReadCommitted);
    let n = all_rows(s, name, |_, _| ()).await?.len();
    s.commit().await?;
    Ok(n)
}

async fn first_start(s: &mut Session, now_us: i64) -> Result<(), SqlError> {
    let name = |n: &str| (SCHEMA.to_owned(), n.to_owned());
    if s.catalog().table(SCHEMA, UNFINISHED).is_some() {
        s.drop_table(SCHEMA, UNFINISHED).await?;
    }
    s.create_table(TableDef {
        name: UNFINISHED.to_owned(),
        ..schema::user()
    })
    .await?;
    s.begin(Isolation::ReadCommitted, false);
    s.statement_begin(Isolation::ReadCommitted);
    put_account(s, &root(now_us), UNFINISHED, now_us).await?;
    s.commit().await?;
    s.rename_tables(&[(name(UNFINISHED), name("user"))]).await
}

/// Makes a table, or gives the one that is there the shape it should have: in one step, before which it is as it was.
pub(super) async fn bring_about(s: &mut Session, def: TableDef) -> Result<(), SqlError> {
    let Some(old) = s.engine().catalog().table(SCHEMA, &def.name) else {
        return s.create_table(def).await;
    };
    if schema::same_shape(&old.def, &def) {
        return Ok(());
    }
    let now_us = s.engine().environment().clock.wall_us();
    let wanted = def.clone();
    let stored: Arc<Table> = Arc::clone(&old);
    let mut reshape = move |row: RowRef<'_>| Ok(carried(&stored.def, &wanted, row, now_us));
    s.rebuild_table(&old, def, Rewrite::Each(&mut reshape), false, false)
        .await?;
    Ok(())
}

/// A row under another definition: columns of the same name keep what they say where the new type can say it too.
fn carried(old: &TableDef, new: &TableDef, row: RowRef<'_>, now_us: i64) -> Vec<Value> {
    let value = |c: &ColumnDef| {
        let kept = old.column(&c.name).and_then(|at| {
            let v = converted(row.column(at), &c.ty)?;
            (c.nullable || !v.is_null()).then_some(v)
        });
        kept.unwrap_or_else(|| filling(c, now_us))
    };
    new.columns.iter().map(value).collect()
}

fn converted(v: ValueRef<'_>, ty: &DataType) -> Option<Value> {
    match (v, ty) {
        (ValueRef::Null, _) => Some(Value::Null),
        (ValueRef::Str(text, _), DataType::Blob(_)) => Some(Value::Bytes(text.to_vec())),
        (
            ValueRef::Str(text, _),
            DataType::Char { .. }
            | DataType::VarChar { .. }
            | DataType::Text { .. }
            | DataType::Json,
        ) => Some(Value::Str(text.to_vec(), ty.collation())),
        (ValueRef::Bytes(b), DataType::Blob(_)) => Some(Value::Bytes(b.to_vec())),
        (ValueRef::Enum(n, l), DataType::Enum(to)) => {
            let n = to.find(l.name(n))?;
            Some(Value::Enum(n, Arc::clone(to)))
        }
        (ValueRef::Set(bits, l), DataType::Set(to)) => {
            let mut all = 0;
            for (i, name) in l.names.iter().enumerate().take(64) {
                if bits >> i & 1 != 0 {
                    all |= 1u64 << (to.find(name)? - 1);
                }
            }
            Some(Value::Set(all, Arc::clone(to)))
        }
        (ValueRef::UInt(n), DataType::Int { unsigned: true, .. }) => Some(Value::UInt(n)),
        (ValueRef::Int(n), DataType::Int { unsigned: true, .. }) => {
            u64::try_from(n).ok().map(Value::UInt)
        }
        (ValueRef::Int(n), DataType::Int { .. }) => Some(Value::Int(n)),
        (ValueRef::UInt(n), DataType::Int { .. }) => i64::try_from(n).ok().map(Value::Int),
        (ValueRef::DateTime(t), DataType::Timestamp(fsp)) => {
            Some(Value::DateTime(t.truncate(*fsp)))
        }
        _ => None,
    }
}
