//! The definitions of the account tables, in the shape they have in MySQL 8.0: names, order, types and keys of the columns.
//!
//! Plain data; whether a stored table has that shape is said by [`same_shape`].

use std::sync::Arc;

use engine::{ColumnDef, ColumnDefault, IndexDef, IndexKind, IndexPart, TableDef, TableOptions};
use types::datatype::Labels;
use types::{CollationId, DataType, IntWidth, LobSize, Value};

use sql_access::privilege::{ON_DB, PRIVILEGES, Priv};

/// The schema of the system tables.
pub const SCHEMA: &str = "mysql";
/// utf8mb3_bin, which most names have.
pub const NAMES: CollationId = CollationId(83);

/// The account tables but `user`.
pub const OTHERS: [&str; 10] = [
    "db",
    "tables_priv",
    "columns_priv",
    "procs_priv",
    "proxies_priv",
    "global_grants",
    "role_edges",
    "default_roles",
    "password_history",
    "component",
];

/// Members of `tables_priv.Table_priv` with the privilege of each.
pub const TABLE_LABELS: [(&str, Priv); 13] = [
    ("Select", Priv::Select),
    ("Insert", Priv::Insert),
    ("Update", Priv::Update),
    ("Delete", Priv::Delete),
    ("Create", Priv::Create),
    ("Drop", Priv::Drop),
    ("Grant", Priv::GrantOption),
    ("References", Priv::References),
    ("Index", Priv::Index),
    ("Alter", Priv::Alter),
    ("Create View", Priv::CreateView),
    ("Show view", Priv::ShowView),
    ("Trigger", Priv::Trigger),
];

/// Members of `Column_priv` with the privilege of each.
pub const COLUMN_LABELS: [(&str, Priv); 4] = [
    ("Select", Priv::Select),
    ("Insert", Priv::Insert),
    ("Update", Priv::Update),
    ("References", Priv::References),
];

/// Members of `procs_priv.Proc_priv` with the privilege of each.
pub const ROUTINE_LABELS: [(&str, Priv); 3] = [
    ("Execute", Priv::Execute),
    ("Alter Routine", Priv::AlterRoutine),
    ("Grant", Priv::GrantOption),
];

fn labels<'a>(names: impl IntoIterator<Item = &'a str>, collation: CollationId) -> Arc<Labels> {
    Arc::new(Labels {
        names: names.into_iter().map(|n| n.as_bytes().into()).collect(),
        collation,
    })
}

fn with_default(name: &str, ty: DataType, default: Value) -> ColumnDef {
    ColumnDef {
        default: ColumnDefault::Literal(default),
        ..ColumnDef::new(name, ty)
    }
}

fn nullable(name: &str, ty: DataType) -> ColumnDef {
    ColumnDef {
        nullable: true,
        default: ColumnDefault::Null,
        ..ColumnDef::new(name, ty)
    }
}

fn text(name: &str, chars: u32, collation: CollationId) -> ColumnDef {
    let ty = DataType::Char { chars, collation };
    with_default(name, ty, Value::Str(Vec::new(), collation))
}

/// The name of a user, a database, a table.
fn named(name: &str, chars: u32) -> ColumnDef {
    text(name, chars, NAMES)
}

fn host(name: &str) -> ColumnDef {
    text(name, 255, CollationId::ASCII_GENERAL_CI)
}

fn grantor() -> ColumnDef {
    let ty = DataType::VarChar {
        chars: 288,
        collation: NAMES,
    };
    with_default("Grantor", ty, Value::Str(Vec::new(), NAMES))
}

fn choice(name: &str, members: &[&str]) -> ColumnDef {
    let l = labels(members.iter().copied(), CollationId::UTF8MB3_GENERAL_CI);
    with_default(name, DataType::Enum(Arc::clone(&l)), Value::Enum(1, l))
}

fn flag(name: &str) -> ColumnDef {
    choice(name, &["N", "Y"])
}

fn set<const N: usize>(name: &str, members: &[(&str, Priv); N]) -> ColumnDef {
    let names = members.iter().map(|(n, _)| *n);
    let l = labels(names, CollationId::UTF8MB3_GENERAL_CI);
    with_default(name, DataType::Set(Arc::clone(&l)), Value::Set(0, l))
}

fn count(name: &str) -> ColumnDef {
    let ty = DataType::int(IntWidth::Int, true);
    with_default(name, ty, Value::UInt(0))
}

fn small(name: &str) -> ColumnDef {
    nullable(name, DataType::int(IntWidth::Small, true))
}

fn timestamp() -> ColumnDef {
    ColumnDef {
        default: ColumnDefault::Now,
        on_update_now: true,
        ..ColumnDef::new("Timestamp", DataType::Timestamp(0))
    }
}

fn long_text(name: &str) -> ColumnDef {
    let ty = DataType::Text {
        size: LobSize::Normal,
        collation: NAMES,
    };
    nullable(name, ty)
}

fn table(name: &str, comment: &str, columns: Vec<ColumnDef>, key: &[&str]) -> TableDef {
    let part = |name: &str| IndexPart {
        // Keys are made of the columns above.
        column: columns.iter().position(|c| c.name == name).unwrap_or(0) as u16,
        prefix: 0,
        descending: name == "Password_timestamp",
    };
    let index = |name: &str, kind, parts: &[&str]| IndexDef {
        id: 0,
        name: name.to_owned(),
        kind,
        parts: parts.iter().map(|p| part(p)).collect(),
        comment: String::new(),
        root: Default::default(),
        invisible: false,
        asked: Default::default(),
    };
    let mut indexes = vec![index("PRIMARY", IndexKind::Primary, key)];
    if name == "db" {
        indexes.push(index("User", IndexKind::Plain, &["User"]));
    }
    if columns.iter().any(|c| c.name == "Grantor") {
        indexes.push(index("Grantor", IndexKind::Plain, &["Grantor"]));
    }
    TableDef {
        id: 0,
        schema: SCHEMA.to_owned(),
        name: name.to_owned(),
        indexes,
        columns,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        options: TableOptions {
            collation: NAMES,
            comment: comment.to_owned(),
            row_format: "DYNAMIC".to_owned(),
            auto_increment: 0,
            others: vec![("STATS_PERSISTENT".to_owned(), "0".to_owned())],
            created_us: 0,
            discarded: false,
        },
    }
}

/// `mysql.user`.
pub fn user() -> TableDef {
    let blob = |name| ColumnDef::new(name, DataType::Blob(LobSize::Normal));
    let late = |p: &Priv| matches!(p, Priv::CreateRole | Priv::DropRole);
    let mut c = vec![host("Host"), named("User", 32)];
    let early = PRIVILEGES.iter().filter(|f| !late(&f.id));
    c.extend(early.map(|f| flag(f.column)));
    c.push(choice("ssl_type", &["", "ANY", "X509", "SPECIFIED"]));
    c.extend(["ssl_cipher", "x509_issuer", "x509_subject"].map(blob));
    let limits = [
        "max_questions",
        "max_updates",
        "max_connections",
        "max_user_connections",
    ];
    c.extend(limits.map(count));
    let plugin = DataType::Char {
        chars: 64,
        collation: NAMES,
    };
    let usual = Value::Str(b"caching_sha2_password".to_vec(), NAMES);
    c.push(with_default("plugin", plugin, usual));
    c.push(long_text("authentication_string"));
    c.push(flag("password_expired"));
    c.push(nullable("password_last_changed", DataType::Timestamp(0)));
    c.push(small("password_lifetime"));
    c.push(flag("account_locked"));
    let roles = PRIVILEGES.iter().filter(|f| late(&f.id));
    c.extend(roles.map(|f| flag(f.column)));
    c.push(small("Password_reuse_history"));
    c.push(small("Password_reuse_time"));
    c.push(ColumnDef {
        nullable: true,
        default: ColumnDefault::Null,
        ..flag("Password_require_current")
    });
    c.push(nullable("User_attributes", DataType::Json));
    table("user", "Users and global privileges", c, &["Host", "User"])
}

fn db() -> TableDef {
    let mut c = vec![host("Host"), named("Db", 64), named("User", 32)];
    // EXECUTE stands where it was added, behind the routines'.
    let order = |p: Priv| match p {
        Priv::Execute => Priv::AlterRoutine as usize * 2 + 1,
        p => p as usize * 2,
    };
    let mut on_db: Vec<_> = PRIVILEGES
        .iter()
        .filter(|f| f.levels & ON_DB != 0)
        .collect();
    on_db.sort_by_key(|f| order(f.id));
    c.extend(on_db.iter().map(|f| flag(f.column)));
    table("db", "Database privileges", c, &["Host", "User", "Db"])
}

fn tables_priv() -> TableDef {
    let c = vec![
        host("Host"),
        named("Db", 64),
        named("User", 32),
        named("Table_name", 64),
        grantor(),
        timestamp(),
        set("Table_priv", &TABLE_LABELS),
        set("Column_priv", &COLUMN_LABELS),
    ];
    let key = ["Host", "User", "Db", "Table_name"];
    table("tables_priv", "Table privileges", c, &key)
}

fn columns_priv() -> TableDef {
    let c = vec![
        host("Host"),
        named("Db", 64),
        named("User", 32),
        named("Table_name", 64),
        named("Column_name", 64),
        timestamp(),
        set("Column_priv", &COLUMN_LABELS),
    ];
    let key = ["Host", "User", "Db", "Table_name", "Column_name"];
    table("columns_priv", "Column privileges", c, &key)
}

fn procs_priv() -> TableDef {
    let kind = DataType::Enum(labels(["FUNCTION", "PROCEDURE"], NAMES));
    let c = vec![
        host("Host"),
        named("Db", 64),
        named("User", 32),
        text("Routine_name", 64, CollationId::UTF8MB3_GENERAL_CI),
        ColumnDef::new("Routine_type", kind),
        grantor(),
        set("Proc_priv", &ROUTINE_LABELS),
        timestamp(),
    ];
    let key = ["Host", "User", "Db", "Routine_name", "Routine_type"];
    table("procs_priv", "Procedure privileges", c, &key)
}

fn proxies_priv() -> TableDef {
    let with_grant = DataType::Int {
        width: IntWidth::Tiny,
        unsigned: false,
        zerofill: false,
        display: 1,
    };
    let c = vec![
        host("Host"),
        named("User", 32),
        host("Proxied_host"),
        named("Proxied_user", 32),
        with_default("With_grant", with_grant, Value::Int(0)),
        grantor(),
        timestamp(),
    ];
    let key = ["Host", "User", "Proxied_host", "Proxied_user"];
    table("proxies_priv", "User proxy privileges", c, &key)
}

fn global_grants() -> TableDef {
    let c = vec![
        named("USER", 32),
        host("HOST"),
        text("PRIV", 32, CollationId::UTF8MB3_GENERAL_CI),
        flag("WITH_GRANT_OPTION"),
    ];
    let key = ["USER", "HOST", "PRIV"];
    table("global_grants", "Extended global grants", c, &key)
}

fn role_edges() -> TableDef {
    let c = vec![
        host("FROM_HOST"),
        named("FROM_USER", 32),
        host("TO_HOST"),
        named("TO_USER", 32),
        flag("WITH_ADMIN_OPTION"),
    ];
    let key = ["FROM_HOST", "FROM_USER", "TO_HOST", "TO_USER"];
    table("role_edges", "Role hierarchy and role grants", c, &key)
}

fn default_roles() -> TableDef {
    let any = Value::Str(b"%".to_vec(), CollationId::ASCII_GENERAL_CI);
    let c = vec![
        host("HOST"),
        named("USER", 32),
        ColumnDef {
            default: ColumnDefault::Literal(any),
            ..host("DEFAULT_ROLE_HOST")
        },
        named("DEFAULT_ROLE_USER", 32),
    ];
    let key = ["HOST", "USER", "DEFAULT_ROLE_HOST", "DEFAULT_ROLE_USER"];
    table("default_roles", "Default roles", c, &key)
}

fn password_history() -> TableDef {
    let c = vec![
        host("Host"),
        named("User", 32),
        ColumnDef {
            default: ColumnDefault::Now,
            ..ColumnDef::new("Password_timestamp", DataType::Timestamp(6))
        },
        long_text("Password"),
    ];
    let key = ["Host", "User", "Password_timestamp"];
    let comment = "Password history for user accounts";
    table("password_history", comment, c, &key)
}

fn component() -> TableDef {
    let number = DataType::int(IntWidth::Int, true);
    let urn = DataType::Text {
        size: LobSize::Normal,
        collation: CollationId::UTF8MB3_GENERAL_CI,
    };
    let c = vec![
        ColumnDef {
            auto_increment: true,
            ..ColumnDef::new("component_id", number.clone())
        },
        ColumnDef::new("component_group_id", number),
        ColumnDef::new("component_urn", urn),
    ];
    TableDef {
        foreign_keys: Vec::new(),
        options: TableOptions {
            collation: CollationId::UTF8MB3_GENERAL_CI,
            comment: "Components".to_owned(),
            row_format: "DYNAMIC".to_owned(),
            auto_increment: 0,
            others: Vec::new(),
            created_us: 0,
            discarded: false,
        },
        ..table("component", "", c, &["component_id"])
    }
}

/// Every account table but `user`, which is made last.
pub fn others() -> Vec<TableDef> {
    vec![
        db(),
        tables_priv(),
        columns_priv(),
        procs_priv(),
        proxies_priv(),
        global_grants(),
        role_edges(),
        default_roles(),
        password_history(),
        component(),
    ]
}

/// Whether a stored table has the columns and keys that it should have.
pub fn same_shape(stored: &TableDef, wanted: &TableDef) -> bool {
    let column = |c: &ColumnDef| (c.name.clone(), c.ty.clone(), c.nullable);
    let columns = |d: &TableDef| d.columns.iter().map(column).collect::<Vec<_>>();
    let indexes = |d: &TableDef| {
        let parts = |i: &IndexDef| (i.name.clone(), i.kind, i.parts.clone());
        let mut all: Vec<_> = d.indexes.iter().map(parts).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    columns(stored) == columns(wanted) && indexes(stored) == indexes(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_the_shape_of_mysql() {
        let user = user();
        assert_eq!(user.columns.len(), 51);
        let at = |name: &str| user.column(name);
        assert_eq!(at("Create_tablespace_priv"), Some(30));
        assert_eq!(at("ssl_type"), Some(31));
        assert_eq!(at("max_questions"), Some(35));
        assert_eq!(at("plugin"), Some(39));
        assert_eq!(at("account_locked"), Some(44));
        assert_eq!(at("Create_role_priv"), Some(45));
        assert_eq!(at("User_attributes"), Some(50));
        let others = others();
        assert!(others.iter().map(|d| d.name.as_str()).eq(OTHERS));
        let db = &others[0];
        assert_eq!(db.columns.len(), 22);
        let names = |d: &TableDef, n: usize| d.columns[n].name.clone();
        assert_eq!(names(db, 18), "Alter_routine_priv");
        assert_eq!(names(db, 19), "Execute_priv");
        assert_eq!(names(db, 21), "Trigger_priv");
        for d in &others {
            assert!(same_shape(d, d));
            assert!(!same_shape(d, &user));
        }
    }
}
