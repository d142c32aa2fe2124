//! The syntax tree the parser produces: what a statement says, before any name is looked up.
//!
//! Nothing in here knows tables, types or sessions. The tree is compact (an [`Expr`] is 32 bytes),
//! chains that clients make long (`AND`, `OR`, `UNION`, row lists) are flat vectors, and the height
//! of everything else is bounded by the parser, so recursive walks over a tree are safe.
//! Names are kept as written; letter case is the binder's business.

mod admin;
mod alter;
mod ddl;
mod dml;
mod expr;
mod function;
mod hint;
mod program;
mod select;
mod show;
mod visit;
mod visit_query;
mod visit_statement;

pub use admin::*;
pub use alter::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use function::*;
pub use hint::*;
pub use program::*;
pub use select::*;
pub use show::*;
pub use visit_query::Part;

/// An identifier or name as the client wrote it (quotes removed, letter case kept).
pub type Name = Box<str>;

/// A half-open byte range in the statement text that was handed to the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes of `text` this span covers; empty where the span does not fit the text.
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// `[schema.]name`: a table, view, routine, trigger, event or index owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    /// The schema, where one was written.
    pub schema: Option<Name>,
    /// The object itself.
    pub name: Name,
}

/// `'user'@'host'`, or `CURRENT_USER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Account {
    /// The session's own account.
    CurrentUser,
    /// A named account; the host is `%` where none was written.
    Named {
        /// User part.
        user: Name,
        /// Host part.
        host: Name,
    },
}

/// `BINLOG 'events'` and `BINLOG @first, @second`: events of a binary log in Base64.
#[derive(Debug, Clone, PartialEq)]
pub enum BinlogEvents {
    /// They are here.
    Text(Box<[u8]>),
    /// They are in two user variables, which are empty afterwards.
    Variables(Name, Name),
}

/// One parsed statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `SELECT`, `VALUES ROW(..)`, `TABLE t`, set operations of them, `WITH ... SELECT`.
    Query(Box<Query>),
    /// `INSERT` and `REPLACE`.
    Insert(Box<Insert>),
    /// `UPDATE`.
    Update(Box<Update>),
    /// `DELETE`.
    Delete(Box<Delete>),
    /// `LOAD DATA` / `LOAD XML`.
    LoadData(Box<LoadData>),
    /// `DO expr, ...`.
    Do(Vec<Expr>),
    /// `CALL routine(args)`.
    Call(Box<CallStatement>),
    /// `HANDLER ...`.
    Handler(Box<Handler>),

    /// `USE db`.
    Use(Name),
    /// `CREATE DATABASE`.
    CreateDatabase(Box<CreateDatabase>),
    /// `ALTER DATABASE`.
    AlterDatabase(Box<AlterDatabase>),
    /// `DROP DATABASE`.
    DropDatabase {
        /// `IF EXISTS` was given.
        if_exists: bool,
        /// The database.
        name: Name,
    },
    /// `CREATE TABLE`.
    CreateTable(Box<CreateTable>),
    /// `ALTER TABLE`.
    AlterTable(Box<AlterTable>),
    /// `DROP TABLE`.
    DropTable(Box<DropTables>),
    /// `DROP VIEW`.
    DropView(Box<DropTables>),
    /// `RENAME TABLE a TO b, ...`.
    RenameTable(Vec<(ObjectName, ObjectName)>),
    /// `RENAME USER a TO b, ...`.
    RenameUser(Vec<(Account, Account)>),
    /// `TRUNCATE [TABLE] t`.
    Truncate(ObjectName),
    /// `CREATE INDEX`.
    CreateIndex(Box<CreateIndex>),
    /// `DROP INDEX`.
    DropIndex(Box<DropIndex>),
    /// `CREATE VIEW` and `ALTER VIEW`.
    CreateView(Box<CreateView>),
    /// `CREATE TRIGGER`.
    CreateTrigger(Box<CreateTrigger>),
    /// `CREATE PROCEDURE` and `CREATE FUNCTION`.
    CreateRoutine(Box<CreateRoutine>),
    /// `ALTER PROCEDURE` and `ALTER FUNCTION`.
    AlterRoutine(Box<AlterRoutine>),
    /// `CREATE FUNCTION ... SONAME`.
    CreateLoadableFunction(Box<CreateLoadableFunction>),
    /// `CREATE EVENT`.
    CreateEvent(Box<CreateEvent>),
    /// `ALTER EVENT`.
    AlterEvent(Box<AlterEvent>),
    /// `DROP TRIGGER | PROCEDURE | FUNCTION | EVENT | SERVER | ...`.
    DropObject {
        /// What kind of thing to drop.
        kind: ObjectKind,
        /// `IF EXISTS` was given.
        if_exists: bool,
        /// The thing.
        name: ObjectName,
    },
    /// `CREATE [OR REPLACE] SPATIAL REFERENCE SYSTEM`, `CREATE TABLESPACE`, `CREATE SERVER`,
    /// `INSTALL PLUGIN` and others that are recognised but carry no tree: the statement's first words.
    Unsupported(Box<Unsupported>),

    /// A comment alone.
    Nothing,

    /// `BINLOG ...`.
    Binlog(Box<BinlogEvents>),

    /// `BEGIN [WORK]` and `START TRANSACTION ...`.
    Begin(BeginTransaction),
    /// `COMMIT`.
    Commit(Completion),
    /// `ROLLBACK`.
    Rollback(Completion),
    /// `SAVEPOINT name`.
    Savepoint(Name),
    /// `ROLLBACK TO [SAVEPOINT] name`.
    RollbackTo(Name),
    /// `RELEASE SAVEPOINT name`.
    ReleaseSavepoint(Name),
    /// `XA ...`.
    Xa(Box<Xa>),
    /// `LOCK TABLES ...`.
    LockTables(Vec<LockTable>),
    /// `UNLOCK TABLES`.
    UnlockTables,
    /// `BACKUP SERVER TO ...` and `CLONE LOCAL DATA DIRECTORY ...`.
    Backup(Box<Backup>),
    /// `LOCK INSTANCE FOR BACKUP` (`true`) and `UNLOCK INSTANCE` (`false`).
    LockInstance(bool),

    /// `ALTER INSTANCE RELOAD TLS [FOR CHANNEL name] [NO ROLLBACK ON ERROR]`.
    ReloadTls {
        /// The interface it is for; all when not given.
        channel: Option<Name>,
        /// What was there stays when the new values cannot be used.
        rollback_on_error: bool,
    },

    /// `SET ...` with any number of assignments.
    Set(Vec<SetItem>),
    /// `SHOW ...`.
    Show(Box<Show>),
    /// `DESCRIBE t [column]`.
    Describe(Box<Describe>),
    /// `EXPLAIN statement`.
    Explain(Box<Explain>),
    /// `HELP 'topic'`.
    Help(Name),
    /// `KILL [QUERY | CONNECTION] id`.
    Kill {
        /// Only the running statement, not the connection.
        query_only: bool,
        /// The connection id.
        id: Expr,
    },
    /// `CHECK`, `ANALYZE`, `OPTIMIZE`, `REPAIR`, `CHECKSUM TABLE`.
    TableMaintenance(Box<TableMaintenance>),
    /// `FLUSH ...`.
    Flush(Box<Flush>),
    /// `RESET ...`.
    Reset(Vec<ResetItem>),
    /// `PURGE BINARY LOGS ...`.
    PurgeLogs(PurgeLogs),
    /// `PREPARE name FROM ...`.
    Prepare {
        /// The statement's name.
        name: Name,
        /// Its text.
        source: PrepareSource,
    },
    /// `EXECUTE name [USING @a, ...]`.
    Execute {
        /// The statement's name.
        name: Name,
        /// User variables, in order.
        using: Vec<Name>,
    },
    /// `DEALLOCATE | DROP PREPARE name`.
    Deallocate(Name),

    /// `CREATE USER`.
    CreateUser(Box<CreateUser>),
    /// `ALTER USER`.
    AlterUser(Box<CreateUser>),
    /// `DROP USER`.
    DropUser {
        /// `IF EXISTS` was given.
        if_exists: bool,
        /// The accounts.
        users: Vec<Account>,
    },
    /// `CREATE ROLE`.
    CreateRole {
        /// `IF NOT EXISTS` was given.
        if_not_exists: bool,
        /// The roles.
        roles: Vec<Account>,
    },
    /// `DROP ROLE`.
    DropRole {
        /// `IF EXISTS` was given.
        if_exists: bool,
        /// The roles.
        roles: Vec<Account>,
    },
    /// `SET ROLE ...`.
    SetRole(RoleSet),
    /// `SET DEFAULT ROLE ... TO users`.
    SetDefaultRole {
        /// Which roles.
        roles: RoleSet,
        /// For whom.
        users: Vec<Account>,
    },
    /// `GRANT ...`.
    Grant(Box<Grant>),
    /// `REVOKE ...`.
    Revoke(Box<Revoke>),
    /// `START | STOP REPLICA|SLAVE`, `START GROUP_REPLICATION`.
    ReplicaControl(Box<ReplicaControl>),
    /// `CHANGE MASTER TO` / `CHANGE REPLICATION SOURCE TO` / `CHANGE REPLICATION FILTER`.
    ChangeReplication(Box<ChangeReplication>),
    /// `SIGNAL ..`.
    Signal(Box<Signal>),
    /// `RESIGNAL ..`.
    Resignal(Box<Signal>),
    /// `GET [CURRENT | STACKED] DIAGNOSTICS ..`.
    GetDiagnostics(Box<GetDiagnostics>),
    /// `SHUTDOWN`.
    Shutdown,
    /// `RESTART`.
    Restart,
    /// `INSTALL PLUGIN name SONAME 'library'`; without a library: `UNINSTALL PLUGIN name`.
    Plugin {
        /// Which.
        name: Name,
        /// In which library it is, of one that is to be installed.
        library: Option<Name>,
    },
    /// `INSTALL | UNINSTALL COMPONENT urn, ..`.
    Component {
        /// `INSTALL` rather than `UNINSTALL`.
        install: bool,
        /// Which.
        urns: Vec<Name>,
    },
}

/// A statement the grammar recognises by its first words and the server does not carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The words that name it, upper case, e.g. `CREATE TABLESPACE`.
    pub what: Name,
    /// The whole text of it.
    pub span: Span,
}

impl Statement {
    /// The hints of the first block of a statement: where those stand that are for all of it.
    pub fn hints(&self) -> Option<&Hints> {
        match self {
            Statement::Query(q) => first_block(&q.body),
            Statement::Insert(i) => Some(&i.hints),
            Statement::Update(u) => Some(&u.hints),
            Statement::Delete(d) => Some(&d.hints),
            Statement::Explain(e) => match &e.target {
                ExplainTarget::Statement(s) => s.hints(),
                ExplainTarget::Connection(_) => None,
            },
            _ => None,
        }
    }

    /// The hints of the first block of a statement, to be completed.
    pub(crate) fn hints_mut(&mut self) -> Option<&mut Hints> {
        match self {
            Statement::Query(q) => first_block_mut(&mut q.body),
            Statement::Insert(i) => Some(&mut i.hints),
            Statement::Update(u) => Some(&mut u.hints),
            Statement::Delete(d) => Some(&mut d.hints),
            Statement::Explain(e) => match &mut e.target {
                ExplainTarget::Statement(s) => s.hints_mut(),
                ExplainTarget::Connection(_) => None,
            },
            _ => None,
        }
    }
}

fn first_block(mut body: &QueryBody) -> Option<&Hints> {
    loop {
        body = match body {
            QueryBody::Select(s) => return Some(&s.hints),
            QueryBody::Nested(q) => &q.body,
            QueryBody::Set(s) => &s.first,
            _ => return None,
        };
    }
}

fn first_block_mut(mut body: &mut QueryBody) -> Option<&mut Hints> {
    loop {
        body = match body {
            QueryBody::Select(s) => return Some(&mut s.hints),
            QueryBody::Nested(q) => &mut q.body,
            QueryBody::Set(s) => &mut s.first,
            _ => return None,
        };
    }
}
