//! Transactions, variables, accounts, maintenance, replication.

pub use types::Isolation;

use super::{Account, Expr, Name, ObjectName, VarScope};

/// `START TRANSACTION ..`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BeginTransaction {
    /// `WITH CONSISTENT SNAPSHOT`.
    pub consistent_snapshot: bool,
    /// `READ ONLY` (`Some(true)`) or `READ WRITE` (`Some(false)`).
    pub read_only: Option<bool>,
}

/// What follows `COMMIT` or `ROLLBACK`; `None` leaves it to `completion_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// `AND [NO] CHAIN`.
    pub chain: Option<bool>,
    /// `[NO] RELEASE`.
    pub release: Option<bool>,
}

/// The id of an XA transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid {
    /// Global part.
    pub gtrid: Box<[u8]>,
    /// Branch part.
    pub bqual: Box<[u8]>,
    /// Format; 1 where not written.
    pub format: u32,
}

/// `XA ..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Xa {
    /// `START | BEGIN xid [JOIN | RESUME]`
    Start {
        /// The transaction.
        xid: Xid,
        /// `JOIN`.
        join: bool,
        /// `RESUME`.
        resume: bool,
    },
    /// `END xid [SUSPEND [FOR MIGRATE]]`
    End {
        /// The transaction.
        xid: Xid,
        /// `SUSPEND`.
        suspend: bool,
        /// `FOR MIGRATE`.
        migrate: bool,
    },
    /// `PREPARE xid`
    Prepare(Xid),
    /// `COMMIT xid [ONE PHASE]`
    Commit {
        /// The transaction.
        xid: Xid,
        /// `ONE PHASE`.
        one_phase: bool,
    },
    /// `ROLLBACK xid`
    Rollback(Xid),
    /// `ROLLBACK ALL FOR account`: those that this account has prepared. Ours.
    RollbackAll(Account),
    /// `RECOVER [CONVERT XID]`
    Recover {
        /// `CONVERT XID`.
        convert: bool,
    },
}

/// One table of `LOCK TABLES`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockTable {
    /// The table.
    pub table: ObjectName,
    /// Its alias.
    pub alias: Option<Name>,
    /// The lock.
    pub mode: LockMode,
}

/// Modes of `LOCK TABLES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// `READ`
    Read,
    /// `READ LOCAL`
    ReadLocal,
    /// `[LOW_PRIORITY] WRITE`
    Write,
}

/// One assignment of a `SET`.
#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `@name = x`
    UserVar(Name, Expr),
    /// `[scope] name = x`, `@@[scope.]name = x`. A bare word value is an [`Expr::Str`] or [`Expr::Column`];
    /// `DEFAULT` is [`Expr::Default`]. In a routine's body an unscoped name may be a local variable.
    Variable {
        /// The scope, where written; session otherwise.
        scope: Option<VarScope>,
        /// `@@` was written (then it cannot be a local variable).
        at_at: bool,
        /// A structured variable's instance, `NEW` / `OLD` in triggers.
        prefix: Option<Name>,
        /// The variable.
        name: Name,
        /// The value.
        value: Expr,
    },
    /// `NAMES cs [COLLATE c]`; no charset means `DEFAULT`.
    Names {
        /// Character set.
        charset: Option<Name>,
        /// Collation.
        collation: Option<Name>,
    },
    /// `CHARACTER SET cs`; `None` means `DEFAULT`.
    CharacterSet(Option<Name>),
    /// `[scope] TRANSACTION ..`
    Transaction {
        /// `GLOBAL`, `SESSION`, or `None` for the next transaction only.
        scope: Option<VarScope>,
        /// `ISOLATION LEVEL`.
        isolation: Option<Isolation>,
        /// `READ ONLY` (`Some(true)`) or `READ WRITE`.
        read_only: Option<bool>,
    },
    /// `PASSWORD [FOR account] = 'text'`
    Password {
        /// Whose; the session's own where not written.
        account: Option<Account>,
        /// The new password; `None` for `TO RANDOM`.
        password: Option<Box<[u8]>>,
        /// `REPLACE 'current'`.
        replace: Option<Box<[u8]>>,
        /// `RETAIN CURRENT PASSWORD`.
        retain: bool,
    },
    /// `RESOURCE GROUP name`
    ResourceGroup(Name),
}

/// Verbs of table maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceVerb {
    /// `CHECK TABLE`
    Check,
    /// `ANALYZE TABLE`
    Analyze,
    /// `OPTIMIZE TABLE`
    Optimize,
    /// `REPAIR TABLE`
    Repair,
    /// `CHECKSUM TABLE`
    Checksum,
}

/// `CHECK | ANALYZE | OPTIMIZE | REPAIR | CHECKSUM TABLE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMaintenance {
    /// The verb.
    pub verb: MaintenanceVerb,
    /// `NO_WRITE_TO_BINLOG` / `LOCAL`.
    pub no_binlog: bool,
    /// The tables.
    pub tables: Vec<ObjectName>,
    /// `QUICK`, `FAST`, `EXTENDED`, `MEDIUM`, `CHANGED`, `USE_FRM`, `FOR UPGRADE`: upper case.
    pub options: Vec<Name>,
    /// `ANALYZE .. UPDATE | DROP HISTOGRAM`.
    pub histogram: Option<HistogramClause>,
}

/// `UPDATE | DROP HISTOGRAM ON columns [WITH n BUCKETS]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramClause {
    /// `DROP` rather than `UPDATE`.
    pub drop: bool,
    /// The columns.
    pub columns: Vec<Name>,
    /// `WITH n BUCKETS`.
    pub buckets: Option<u64>,
}

/// `FLUSH ..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flush {
    /// `NO_WRITE_TO_BINLOG` / `LOCAL`.
    pub no_binlog: bool,
    /// What is flushed.
    pub items: Vec<FlushItem>,
}

/// What `FLUSH` flushes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlushItem {
    /// `TABLES [t, ..] [WITH READ LOCK | FOR EXPORT]`
    Tables {
        /// The tables; empty means all.
        tables: Vec<ObjectName>,
        /// `WITH READ LOCK`.
        read_lock: bool,
        /// `FOR EXPORT`.
        for_export: bool,
    },
    /// `RELAY LOGS [FOR CHANNEL c]`
    RelayLogs(Option<Name>),
    /// `PRIVILEGES`, `STATUS`, `[BINARY|ENGINE|ERROR|GENERAL|SLOW] LOGS`, `HOSTS`,
    /// `OPTIMIZER_COSTS`, `USER_RESOURCES`: the words, upper case.
    Other(Name),
}

/// What `RESET` resets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResetItem {
    /// `MASTER`, `BINARY LOGS AND GTIDS`, with `TO n`
    Master(Option<u64>),
    /// `REPLICA | SLAVE [ALL] [FOR CHANNEL c]`
    Replica {
        /// `ALL`.
        all: bool,
        /// `FOR CHANNEL`.
        channel: Option<Name>,
    },
    /// `QUERY CACHE`
    QueryCache,
    /// `PERSIST [[IF EXISTS] name]`
    Persist {
        /// `IF EXISTS`.
        if_exists: bool,
        /// The variable; all where not written.
        name: Option<Name>,
    },
}

/// `PURGE BINARY LOGS ..`.
#[derive(Debug, Clone, PartialEq)]
pub enum PurgeLogs {
    /// `TO 'log'`
    To(Box<[u8]>),
    /// `BEFORE x`
    Before(Expr),
}

/// Where `PREPARE` takes its text from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareSource {
    /// A literal.
    Text(Box<[u8]>),
    /// `@name`.
    UserVar(Name),
}

/// Kinds of named things that `DROP` and `SHOW CREATE` know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// A table.
    Table,
    /// A view.
    View,
    /// A stored procedure.
    Procedure,
    /// A stored function.
    Function,
    /// A trigger.
    Trigger,
    /// An event.
    Event,
    /// A foreign server definition.
    Server,
    /// A package (MariaDB's).
    Package,
    /// A package body (MariaDB's).
    PackageBody,
}

/// One account of `CREATE USER` and `ALTER USER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSpec {
    /// The account.
    pub account: Account,
    /// How it authenticates, where written.
    pub auth: Option<AuthSpec>,
    /// A second factor was written (`AND IDENTIFIED ..`), or `INITIAL AUTHENTICATION`.
    pub more_factors: bool,
    /// `REPLACE 'current'`.
    pub replace: Option<Box<[u8]>>,
    /// `RETAIN CURRENT PASSWORD`.
    pub retain: bool,
    /// `DISCARD OLD PASSWORD`.
    pub discard_old: bool,
}

/// `IDENTIFIED ..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthSpec {
    /// `WITH plugin`.
    pub plugin: Option<Name>,
    /// The secret.
    pub secret: AuthSecret,
}

/// The secret of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthSecret {
    /// Nothing written.
    None,
    /// `BY 'password'`
    Password(Box<[u8]>),
    /// `BY RANDOM PASSWORD`
    Random,
    /// `AS 'hash'`
    Hash(Box<[u8]>),
}

/// `REQUIRE ..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Require {
    /// `NONE`
    None,
    /// `SSL`
    Ssl,
    /// `X509`
    X509,
    /// `CIPHER`, `ISSUER`, `SUBJECT`, as far as they are written.
    Specified {
        /// `CIPHER`
        cipher: Option<Name>,
        /// `ISSUER`
        issuer: Option<Name>,
        /// `SUBJECT`
        subject: Option<Name>,
    },
}

/// `WITH MAX_QUERIES_PER_HOUR n ..`, as far as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserLimits {
    /// `MAX_QUERIES_PER_HOUR`
    pub questions: Option<u64>,
    /// `MAX_UPDATES_PER_HOUR`
    pub updates: Option<u64>,
    /// `MAX_CONNECTIONS_PER_HOUR`
    pub connections: Option<u64>,
    /// `MAX_USER_CONNECTIONS`
    pub user_connections: Option<u64>,
}

/// A password or lock option; of several about the same the last one holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserOption {
    /// `PASSWORD EXPIRE`
    Expire,
    /// `PASSWORD EXPIRE DEFAULT | NEVER (0) | INTERVAL n DAY`
    Lifetime(Option<u64>),
    /// `PASSWORD HISTORY DEFAULT | n`
    History(Option<u64>),
    /// `PASSWORD REUSE INTERVAL DEFAULT | n DAY`
    Reuse(Option<u64>),
    /// `PASSWORD REQUIRE CURRENT [DEFAULT | OPTIONAL]`
    RequireCurrent(Option<bool>),
    /// `FAILED_LOGIN_ATTEMPTS n`
    FailedAttempts(u64),
    /// `PASSWORD_LOCK_TIME n | UNBOUNDED`
    LockTime(Option<u64>),
    /// `ACCOUNT LOCK | UNLOCK`
    Lock(bool),
}

/// `CREATE USER` and `ALTER USER`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CreateUser {
    /// `IF NOT EXISTS` (create) or `IF EXISTS` (alter) was given.
    pub if_clause: bool,
    /// The accounts.
    pub users: Vec<UserSpec>,
    /// `DEFAULT ROLE`.
    pub default_role: Option<RoleSet>,
    /// `REQUIRE`.
    pub require: Option<Require>,
    /// `WITH`.
    pub limits: UserLimits,
    /// `PASSWORD ..`, `ACCOUNT ..` and their like.
    pub options: Vec<UserOption>,
    /// `COMMENT` / `ATTRIBUTE`.
    pub attribute: Option<UserAttribute>,
}

/// `COMMENT 'text'` and `ATTRIBUTE 'json'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserAttribute {
    /// `COMMENT`
    Comment(Name),
    /// `ATTRIBUTE`
    Attribute(Name),
}

/// A choice of roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleSet {
    /// `DEFAULT`
    Default,
    /// `NONE`
    None,
    /// `ALL [EXCEPT ..]`
    All(Vec<Account>),
    /// Named roles.
    List(Vec<Account>),
}

/// A privilege with the columns it is limited to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privilege {
    /// Upper case words: `SELECT`, `CREATE TEMPORARY TABLES`, `ALL PRIVILEGES`, a dynamic privilege.
    pub name: Name,
    /// `(columns)`.
    pub columns: Vec<Name>,
}

/// On what a privilege is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantObject {
    /// `*.*`
    Global,
    /// `*`
    CurrentSchema,
    /// `db.*`
    Schema(Name),
    /// `[db.]table`
    Table(ObjectName),
    /// `PROCEDURE | FUNCTION name`
    Routine(ObjectKind, ObjectName),
}

/// What is granted or revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantWhat {
    /// Privileges on something.
    Privileges(Vec<Privilege>, GrantObject),
    /// Roles.
    Roles(Vec<Account>),
    /// `PROXY ON account`
    Proxy(Account),
    /// `REVOKE ALL PRIVILEGES, GRANT OPTION FROM ..`
    Everything,
}

/// `GRANT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What.
    pub what: GrantWhat,
    /// To whom.
    pub to: Vec<Account>,
    /// `WITH GRANT OPTION` / `WITH ADMIN OPTION`.
    pub with_option: bool,
    /// `AS account [WITH ROLE ..]`.
    pub as_account: Option<(Account, Option<RoleSet>)>,
}

/// `REVOKE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoke {
    /// `IF EXISTS` was given.
    pub if_exists: bool,
    /// What.
    pub what: GrantWhat,
    /// From whom.
    pub from: Vec<Account>,
    /// `IGNORE UNKNOWN USER`.
    pub ignore_unknown: bool,
}

/// `START | STOP REPLICA ..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaControl {
    /// `START` rather than `STOP`.
    pub start: bool,
    /// `GROUP_REPLICATION` rather than `REPLICA` / `SLAVE`.
    pub group: bool,
    /// `IO_THREAD` was named (none named means both).
    pub io_thread: bool,
    /// `SQL_THREAD` was named.
    pub sql_thread: bool,
    /// `UNTIL` and connection options: name in upper case, value as text.
    pub options: Vec<(Name, Box<[u8]>)>,
    /// `FOR CHANNEL`.
    pub channel: Option<Name>,
}

/// `CHANGE REPLICATION SOURCE TO`, `CHANGE MASTER TO`, `CHANGE REPLICATION FILTER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeReplication {
    /// `CHANGE REPLICATION FILTER`: the lists it sets.
    pub filters: Option<Vec<ReplicationFilter>>,
    /// Options: name in upper case (`SOURCE_` spelling for `MASTER_`), value as text, lists in parentheses.
    pub options: Vec<(Name, Box<[u8]>)>,
    /// `FOR CHANNEL`.
    pub channel: Option<Name>,
}

/// A kind of replication filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterKind {
    /// `REPLICATE_DO_DB`
    DoDb,
    /// `REPLICATE_IGNORE_DB`
    IgnoreDb,
    /// `REPLICATE_DO_TABLE`
    DoTable,
    /// `REPLICATE_IGNORE_TABLE`
    IgnoreTable,
    /// `REPLICATE_WILD_DO_TABLE`
    WildDoTable,
    /// `REPLICATE_WILD_IGNORE_TABLE`
    WildIgnoreTable,
    /// `REPLICATE_REWRITE_DB`
    RewriteDb,
}

impl FilterKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [FilterKind; 7] = [
        FilterKind::DoDb,
        FilterKind::IgnoreDb,
        FilterKind::DoTable,
        FilterKind::IgnoreTable,
        FilterKind::WildDoTable,
        FilterKind::WildIgnoreTable,
        FilterKind::RewriteDb,
    ];

    /// Its name, in upper case.
    pub fn name(self) -> &'static str {
        match self {
            FilterKind::DoDb => "REPLICATE_DO_DB",
            FilterKind::IgnoreDb => "REPLICATE_IGNORE_DB",
            FilterKind::DoTable => "REPLICATE_DO_TABLE",
            FilterKind::IgnoreTable => "REPLICATE_IGNORE_TABLE",
            FilterKind::WildDoTable => "REPLICATE_WILD_DO_TABLE",
            FilterKind::WildIgnoreTable => "REPLICATE_WILD_IGNORE_TABLE",
            FilterKind::RewriteDb => "REPLICATE_REWRITE_DB",
        }
    }
}

/// A value of a replication filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterValue {
    /// A database.
    Database(Name),
    /// `database.table`
    Table(Name, Name),
    /// `'database.table'` with `%`, `_` and `\\` as in LIKE.
    Pattern(Name),
    /// `(from, to)`
    Rewrite(Name, Name),
}

/// `REPLICATE_DO_DB = (a, b)` and its like; an empty list takes what was there away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicationFilter {
    /// The kind.
    pub kind: FilterKind,
    /// Its values.
    pub values: Vec<FilterValue>,
}

/// `BACKUP SERVER TO { 'folder' | CLIENT } [SINCE 'earlier'] [THROTTLE n]`, `CLONE LOCAL DATA DIRECTORY [=] 'folder'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Where to.
    pub to: BackupTo,
    /// Only what has changed since this backup: its folder on the server's machine, or for a client what its manifest says of it in one word.
    pub since: Option<Box<[u8]>>,
    /// MiB a second that are read, at most.
    pub throttle: Option<u64>,
}

/// Where a backup goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupTo {
    /// To the client, a chunk a row.
    Client,
    /// Into a folder of the server's machine.
    Folder(Box<[u8]>),
    /// Into a folder of the server's machine that is a data directory then.
    DataDirectory(Box<[u8]>),
}
