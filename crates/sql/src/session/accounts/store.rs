//! The tables behind the accounts: `mysql.user`, `mysql.db`, `mysql.global_grants`, read and written as rows.

use std::sync::Arc;

use engine::{
    ColumnDef, ColumnDefault, Engine, IndexDef, IndexKind, IndexPart, Inserted, Isolation,
    KeyBound, ReadMode, RowBatch, RowRef, ScanSpec, SchemaDef, Session, Table, TableDef,
    TableOptions,
};
use types::datatype::Labels;
use types::error::codes;
use types::keyenc::encode_key;
use types::{CollationId, DataType, LobSize, SqlError, Value, ValueRef};

use super::privileges::DYNAMIC;
use super::{Account, AccountState, DB_PRIVILEGES, DbGrant, GLOBAL_PRIVILEGES, PrivSet};

/// The schema of the system tables.
pub const SCHEMA: &str = "mysql";
const NAMES: CollationId = CollationId(83); // utf8mb3_bin, as names have it

fn yes_no() -> DataType {
    DataType::Enum(Arc::new(Labels {
        names: vec![b"N"[..].into(), b"Y"[..].into()],
        collation: CollationId::UTF8MB3_GENERAL_CI,
    }))
}

fn column(name: &str, ty: DataType, default: ColumnDefault) -> ColumnDef {
    ColumnDef {
        nullable: matches!(default, ColumnDefault::Null),
        default,
        ..ColumnDef::new(name, ty)
    }
}

fn name_column(name: &str, chars: u32) -> ColumnDef {
    let collation = if name.eq_ignore_ascii_case("Host") {
        CollationId::ASCII_GENERAL_CI
    } else {
        NAMES
    };
    let ty = DataType::Char { chars, collation };
    column(
        name,
        ty,
        ColumnDefault::Literal(Value::Str(Vec::new(), collation)),
    )
}

fn flag(name: &str) -> ColumnDef {
    let ty = yes_no();
    let no = no_or_yes(&ty, false);
    column(name, ty, ColumnDefault::Literal(no))
}

fn no_or_yes(ty: &DataType, yes: bool) -> Value {
    match ty {
        DataType::Enum(l) => Value::Enum(if yes { 2 } else { 1 }, Arc::clone(l)),
        _ => Value::Null,
    }
}

fn table(name: &str, columns: Vec<ColumnDef>, key: &[u16]) -> TableDef {
    TableDef {
        id: 0,
        schema: SCHEMA.to_owned(),
        name: name.to_owned(),
        columns,
        indexes: vec![IndexDef {
            id: 0,
            name: "PRIMARY".to_owned(),
            kind: IndexKind::Primary,
            parts: key
                .iter()
                .map(|&column| IndexPart {
                    column,
                    prefix: 0,
                    descending: false,
                })
                .collect(),
            comment: String::new(),
            root: Default::default(),
            invisible: false,
            asked: Default::default(),
        }],
        options: TableOptions {
            collation: NAMES,
            comment: String::new(),
            row_format: String::new(),
            auto_increment: 0,
            others: Vec::new(),
            created_us: 0,
        },
    }
}

fn user_table() -> TableDef {
    let mut c = vec![name_column("Host", 255), name_column("User", 32)];
    c.extend(GLOBAL_PRIVILEGES.iter().map(|p| flag(p.column)));
    let plugin = DataType::Char {
        chars: 64,
        collation: NAMES,
    };
    let native = Value::Str(b"caching_sha2_password".to_vec(), NAMES);
    c.push(column("plugin", plugin, ColumnDefault::Literal(native)));
    let text = DataType::Text {
        size: LobSize::Normal,
        collation: NAMES,
    };
    c.push(column("authentication_string", text, ColumnDefault::Null));
    c.push(flag("password_expired"));
    let lifetime = DataType::int(types::IntWidth::Small, true);
    c.push(column("password_lifetime", lifetime, ColumnDefault::Null));
    c.push(column(
        "password_last_changed",
        DataType::Timestamp(0),
        ColumnDefault::Null,
    ));
    c.push(flag("account_locked"));
    table("user", c, &[0, 1])
}

fn db_table() -> TableDef {
    let mut c = vec![
        name_column("Host", 255),
        name_column("Db", 64),
        name_column("User", 32),
    ];
    c.extend(
        DB_PRIVILEGES
            .iter()
            .filter_map(|n| GLOBAL_PRIVILEGES.iter().find(|p| p.name == *n))
            .map(|p| flag(p.column)),
    );
    table("db", c, &[0, 2, 1])
}

fn dynamic_table() -> TableDef {
    let c = vec![
        name_column("USER", 32),
        name_column("HOST", 255),
        name_column("PRIV", 32),
        flag("WITH_GRANT_OPTION"),
    ];
    table("global_grants", c, &[0, 1, 2])
}

/// Makes schema, tables and `root@localhost` where they are missing.
pub async fn prepare(engine: &Arc<Engine>, _now_us: i64) -> Result<(), SqlError> {
    let catalog = engine.catalog();
    let mut s = engine.session();
    for name in ["global_grants", "db", "user"] {
        // One whose file is missing or unreadable is not to be made anew, as if there had been no accounts.
        let e = catalog.why_no_table(SCHEMA, name);
        if catalog.table(SCHEMA, name).is_none() && e.code == codes::ER_INDEX_CORRUPT {
            return Err(e);
        }
    }
    if catalog.schema(SCHEMA).is_none() {
        s.create_schema(SchemaDef {
            name: SCHEMA.to_owned(),
            collation: CollationId::DEFAULT,
        })
        .await?;
    }
    for def in [dynamic_table(), db_table()] {
        if catalog.table(SCHEMA, &def.name).is_none() {
            s.create_table(def).await?;
        }
    }
    // The account table comes last: where it exists, the first start was complete but for its rows.
    if catalog.table(SCHEMA, "user").is_none() {
        s.create_table(user_table()).await?;
    }
    let found = read(engine).await?;
    if found.accounts.is_empty() {
        let root = Account {
            user: "root".to_owned(),
            host: "localhost".to_owned(),
            plugin: "caching_sha2_password".to_owned(),
            auth_string: Vec::new(),
            privileges: {
                let mut p = PrivSet::all();
                p.add("GRANT OPTION")?;
                p
            },
            dynamic: DYNAMIC.iter().map(|d| ((*d).to_owned(), true)).collect(),
            locked: false,
            expired: false,
        };
        let new = AccountState {
            accounts: vec![root],
            grants: Vec::new(),
        };
        write(engine, &AccountState::default(), &new).await?;
    }
    Ok(())
}

struct Reader<'t>(&'t Table);

impl Reader<'_> {
    fn at(&self, name: &str) -> Option<usize> {
        self.0.def.column(name)
    }

    fn text(&self, row: RowRef<'_>, name: &str) -> String {
        let bytes = self
            .at(name)
            .and_then(|c| row.column(c).as_bytes().map(<[u8]>::to_vec));
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    }

    fn yes(&self, row: RowRef<'_>, name: &str) -> bool {
        self.at(name)
            .is_some_and(|c| matches!(row.column(c), ValueRef::Enum(2, _)))
    }
}

/// All rows of a system table, each turned into something.
async fn rows<T: Send>(
    s: &mut Session,
    name: &str,
    mut make: impl FnMut(&Reader<'_>, RowRef<'_>) -> T + Send,
) -> Result<Vec<T>, SqlError> {
    let t = s.open_table(SCHEMA, name).await?;
    let mut scan = s.scan(
        &t,
        ScanSpec {
            index: 0,
            lower: KeyBound::None,
            upper: KeyBound::None,
            backward: false,
            mode: ReadMode::Consistent,
        },
    );
    let mut out = Vec::new();
    let mut batch = RowBatch::default();
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut scan, &mut batch, 256, &mut |_| Ok(true))
            .await?;
        let reader = Reader(&t);
        for i in 0..batch.len() {
            out.push(make(&reader, batch.row(i)));
        }
        if !more {
            return Ok(out);
        }
    }
}

/// Everything the tables say.
pub async fn read(engine: &Arc<Engine>) -> Result<AccountState, SqlError> {
    let mut s = engine.session();
    s.statement_begin(Isolation::ReadCommitted);
    let mut accounts = rows(&mut s, "user", |t, row| {
        let mut privileges = PrivSet::default();
        for p in GLOBAL_PRIVILEGES.iter().filter(|p| t.yes(row, p.column)) {
            // The name comes from the list the set is made of.
            let _ = privileges.add(p.name);
        }
        Account {
            user: t.text(row, "User"),
            host: t.text(row, "Host"),
            plugin: t.text(row, "plugin"),
            auth_string: t.text(row, "authentication_string").into_bytes(),
            privileges,
            dynamic: Vec::new(),
            locked: t.yes(row, "account_locked"),
            expired: t.yes(row, "password_expired"),
        }
    })
    .await?;
    let grants = rows(&mut s, "db", |t, row| {
        let mut privileges = PrivSet::default();
        for p in GLOBAL_PRIVILEGES.iter().filter(|p| t.yes(row, p.column)) {
            let _ = privileges.add(p.name);
        }
        DbGrant {
            user: t.text(row, "User"),
            host: t.text(row, "Host"),
            db: t.text(row, "Db"),
            privileges,
        }
    })
    .await?;
    let dynamic = rows(&mut s, "global_grants", |t, row| {
        (
            t.text(row, "USER"),
            t.text(row, "HOST"),
            t.text(row, "PRIV"),
            t.yes(row, "WITH_GRANT_OPTION"),
        )
    })
    .await?;
    s.commit().await?;
    for (user, host, name, option) in dynamic {
        if let Some(a) = accounts
            .iter_mut()
            .find(|a| a.user == user && a.host == host)
        {
            a.dynamic.push((name, option));
        }
    }
    Ok(AccountState { accounts, grants })
}

/// A row under construction: defaults first, then values by column name.
struct Writer {
    table: Arc<Table>,
    row: Vec<Value>,
}

impl Writer {
    fn new(table: &Arc<Table>) -> Writer {
        let row = table
            .def
            .columns
            .iter()
            .map(|c| match &c.default {
                ColumnDefault::Literal(v) => v.clone(),
                _ => Value::Null,
            })
            .collect();
        Writer {
            table: Arc::clone(table),
            row,
        }
    }

    fn text(mut self, name: &str, text: &[u8]) -> Writer {
        if let Some(c) = self.table.def.column(name) {
            let collation = self.table.def.columns[c].ty.collation();
            self.row[c] = Value::Str(text.to_vec(), collation);
        }
        self
    }

    fn yes(mut self, name: &str, yes: bool) -> Writer {
        if let Some(c) = self.table.def.column(name) {
            self.row[c] = no_or_yes(&self.table.def.columns[c].ty, yes);
        }
        self
    }

    fn privileges(mut self, set: PrivSet) -> Writer {
        for p in GLOBAL_PRIVILEGES {
            self = self.yes(p.column, set.has(p.name));
        }
        self
    }

    fn key(&self) -> Vec<u8> {
        let mut key = Vec::new();
        let columns = self.table.index_columns(0).map(|c| self.row[c].as_ref());
        encode_key(self.table.key_parts(0), columns, &mut key);
        key
    }

    async fn put(self, s: &mut Session) -> Result<(), SqlError> {
        let key = self.key();
        s.delete_key(&self.table, &key, &mut |_| Ok(true)).await?;
        match s.insert(&self.table, &self.row).await? {
            Inserted::Done => Ok(()),
            Inserted::Duplicate { .. } => Err(SqlError::fixed(codes::ER_UNKNOWN_ERROR)),
        }
    }

    async fn remove(self, s: &mut Session) -> Result<(), SqlError> {
        let key = self.key();
        s.delete_key(&self.table, &key, &mut |_| Ok(true)).await?;
        Ok(())
    }
}

fn user_row(t: &Arc<Table>, a: &Account) -> Writer {
    Writer::new(t)
        .text("Host", a.host.as_bytes())
        .text("User", a.user.as_bytes())
        .text("plugin", a.plugin.as_bytes())
        .text("authentication_string", &a.auth_string)
        .yes("account_locked", a.locked)
        .yes("password_expired", a.expired)
        .privileges(a.privileges)
}

fn db_row(t: &Arc<Table>, g: &DbGrant) -> Writer {
    Writer::new(t)
        .text("Host", g.host.as_bytes())
        .text("User", g.user.as_bytes())
        .text("Db", g.db.as_bytes())
        .privileges(g.privileges)
}

fn dynamic_row(t: &Arc<Table>, a: &Account, (name, option): &(String, bool)) -> Writer {
    Writer::new(t)
        .text("USER", a.user.as_bytes())
        .text("HOST", a.host.as_bytes())
        .text("PRIV", name.as_bytes())
        .yes("WITH_GRANT_OPTION", *option)
}

/// Writes the difference between two states in one transaction.
pub async fn write(
    engine: &Arc<Engine>,
    old: &AccountState,
    new: &AccountState,
) -> Result<(), SqlError> {
    let mut s = engine.session();
    s.begin(Isolation::ReadCommitted, false);
    s.statement_begin(Isolation::ReadCommitted);
    let r = write_in(&mut s, old, new).await;
    match r {
        Ok(()) => s.commit().await,
        Err(e) => {
            s.rollback().await?;
            Err(e)
        }
    }
}

async fn write_in(s: &mut Session, old: &AccountState, new: &AccountState) -> Result<(), SqlError> {
    let user = s.open_table(SCHEMA, "user").await?;
    let db = s.open_table(SCHEMA, "db").await?;
    let dynamic = s.open_table(SCHEMA, "global_grants").await?;
    for a in old.accounts.iter().filter(|a| !new.accounts.contains(a)) {
        user_row(&user, a).remove(s).await?;
        for d in &a.dynamic {
            dynamic_row(&dynamic, a, d).remove(s).await?;
        }
    }
    for g in old.grants.iter().filter(|g| !new.grants.contains(g)) {
        db_row(&db, g).remove(s).await?;
    }
    for a in new.accounts.iter().filter(|a| !old.accounts.contains(a)) {
        user_row(&user, a).put(s).await?;
        for d in &a.dynamic {
            dynamic_row(&dynamic, a, d).put(s).await?;
        }
    }
    for g in new.grants.iter().filter(|g| !old.grants.contains(g)) {
        db_row(&db, g).put(s).await?;
    }
    Ok(())
}
