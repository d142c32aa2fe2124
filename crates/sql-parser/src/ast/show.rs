//! `SHOW`, `DESCRIBE` and `EXPLAIN`.

use super::{Account, Expr, Limit, Name, ObjectKind, ObjectName, Statement, VarScope};

/// `LIKE 'pattern'` or `WHERE x` behind a `SHOW`.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    /// `LIKE 'pattern'`
    Like(Box<[u8]>),
    /// `WHERE x`
    Where(Expr),
}

/// `SHOW ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct Show {
    /// What is shown.
    pub what: ShowWhat,
    /// `LIKE` / `WHERE`; only where the grammar allows one.
    pub filter: Option<ShowFilter>,
}

/// What a `SHOW` shows.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowWhat {
    /// `DATABASES`, `SCHEMAS`
    Databases,
    /// `[EXTENDED] [FULL] TABLES [FROM db]`
    Tables {
        /// `FULL` was given.
        full: bool,
        /// `EXTENDED` was given.
        extended: bool,
        /// The database.
        schema: Option<Name>,
    },
    /// `[EXTENDED] [FULL] COLUMNS | FIELDS FROM t [FROM db]`
    Columns {
        /// `FULL` was given.
        full: bool,
        /// `EXTENDED` was given.
        extended: bool,
        /// The table, its schema resolved from either place.
        table: ObjectName,
    },
    /// `[EXTENDED] INDEX | INDEXES | KEYS FROM t [FROM db]`
    Index {
        /// `EXTENDED` was given.
        extended: bool,
        /// The table.
        table: ObjectName,
    },
    /// `CREATE DATABASE [IF NOT EXISTS] db`
    CreateDatabase {
        /// `IF NOT EXISTS` was given.
        if_not_exists: bool,
        /// The database.
        name: Name,
    },
    /// `CREATE TABLE | VIEW | PROCEDURE | FUNCTION | TRIGGER | EVENT name`
    Create(ObjectKind, ObjectName),
    /// `CREATE USER account`
    CreateUser(Account),
    /// `[GLOBAL | SESSION] VARIABLES`
    Variables(VarScope),
    /// `[GLOBAL | SESSION] STATUS`
    Status(VarScope),
    /// `WARNINGS [LIMIT ..]`
    Warnings(Option<Box<Limit>>),
    /// `ERRORS [LIMIT ..]`
    Errors(Option<Box<Limit>>),
    /// `COUNT(*) WARNINGS`
    WarningCount,
    /// `COUNT(*) ERRORS`
    ErrorCount,
    /// `[FULL] PROCESSLIST`
    Processlist {
        /// `FULL` was given.
        full: bool,
    },
    /// `TABLE STATUS [FROM db]`
    TableStatus(Option<Name>),
    /// `OPEN TABLES [FROM db]`
    OpenTables(Option<Name>),
    /// `[FULL] TRIGGERS [FROM db]`
    Triggers(Option<Name>),
    /// `EVENTS [FROM db]`
    Events(Option<Name>),
    /// `PROCEDURE | FUNCTION | PACKAGE | PACKAGE BODY STATUS`
    RoutineStatus(ObjectKind),
    /// `PROCEDURE | FUNCTION CODE name`
    RoutineCode(ObjectKind, ObjectName),
    /// `[STORAGE] ENGINES`
    Engines,
    /// `ENGINE e STATUS | MUTEX | LOGS`: engine and topic, the topic in upper case.
    Engine(Name, Name),
    /// `CHARACTER SET`, `CHARSET`
    CharacterSet,
    /// `COLLATION`
    Collation,
    /// `GRANTS [FOR account [USING roles]]`
    Grants {
        /// For whom; the session's account where not written.
        account: Option<Account>,
        /// `USING roles`.
        using: Vec<Account>,
    },
    /// `PLUGINS`
    Plugins,
    /// `PRIVILEGES`
    Privileges,
    /// `MASTER STATUS`, `BINARY LOG STATUS`
    SourceStatus,
    /// `REPLICA | SLAVE STATUS [FOR CHANNEL c]`, `ALL SLAVES STATUS`
    ReplicaStatus {
        /// The old word `SLAVE` was used (it decides the column names).
        slave: bool,
        /// `ALL SLAVES STATUS` (MariaDB's).
        all: bool,
        /// `FOR CHANNEL`.
        channel: Option<Name>,
    },
    /// `REPLICAS`, `SLAVE HOSTS`
    Replicas {
        /// The old spelling was used.
        slave: bool,
    },
    /// `BINARY LOGS`, `MASTER LOGS`
    BinaryLogs,
    /// `BINLOG | RELAYLOG EVENTS [IN 'log'] [FROM pos] [LIMIT ..]`
    BinlogEvents {
        /// The relay log rather than the binary log.
        relay: bool,
        /// `IN`.
        log: Option<Box<[u8]>>,
        /// `FROM`.
        from: Option<u64>,
        /// `LIMIT`.
        limit: Option<Box<Limit>>,
        /// `FOR CHANNEL` (relay log).
        channel: Option<Name>,
    },
    /// `PROFILES`
    Profiles,
    /// `PROFILE [types] [FOR QUERY n] [LIMIT ..]`
    Profile {
        /// `FOR QUERY`.
        query: Option<u64>,
        /// `LIMIT`.
        limit: Option<Box<Limit>>,
    },
    /// `PARSE_TREE ..` and whatever else has no tree: the first word, upper case.
    Other(Name),
}

impl ShowWhat {
    /// Whether it tells of the statement before, and so leaves what is known of that alone.
    pub fn is_diagnostic(&self) -> bool {
        matches!(
            self,
            ShowWhat::Warnings(_)
                | ShowWhat::Errors(_)
                | ShowWhat::WarningCount
                | ShowWhat::ErrorCount
        )
    }
}

/// `DESCRIBE t [column | 'pattern']`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Describe {
    /// The table.
    pub table: ObjectName,
    /// A column name or pattern.
    pub column: Option<Box<[u8]>>,
}

/// Output formats of `EXPLAIN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    /// `TRADITIONAL`
    Traditional,
    /// `JSON`
    Json,
    /// `TREE`
    Tree,
}

/// `EXPLAIN statement`. The old words `EXTENDED` and `PARTITIONS` are accepted and not kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// `ANALYZE` was given.
    pub analyze: bool,
    /// `FORMAT =`.
    pub format: Option<ExplainFormat>,
    /// The explained thing.
    pub target: ExplainTarget,
}

/// What is explained.
#[derive(Debug, Clone, PartialEq)]
pub enum ExplainTarget {
    /// A statement.
    Statement(Statement),
    /// `FOR CONNECTION n`
    Connection(u64),
}
