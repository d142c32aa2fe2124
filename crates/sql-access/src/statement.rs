//! What statements need that are not planned: definitions, SHOW, SET, FLUSH, maintenance and their like.
//!
//! One match over all statements without a catch-all, so that a new statement does not compile until somebody has decided about it.
//! Planned statements are bound first, and the planner collects what they need; what a statement about accounts needs depends on the
//! accounts as they are when it runs, and is checked there beside what is said here.
//! Sources: the manual's pages of the statements, "Privileges Provided by MySQL".

use types::SqlError;

use super::account::{AccountId, RoutineId};
use super::needs::{Need, Needs, Right, table};
use super::privilege::{Priv, PrivSet};
use sql_parser::ast::{
    self, AlterAction, FlushItem, KeyDef, LockMode, MaintenanceVerb, ObjectKind, ObjectName,
    ResetItem, SetItem, ShowWhat, Statement, VarScope, Xa,
};

use Right::{Dynamic, Static};

/// SET GLOBAL, SET PERSIST.
pub const SYSTEM_VARIABLES: &[Right] = &[Static(Priv::Super), Dynamic("SYSTEM_VARIABLES_ADMIN")];
/// SET SESSION of a restricted variable.
pub const SESSION_VARIABLES: &[Right] = &[
    Static(Priv::Super),
    Dynamic("SYSTEM_VARIABLES_ADMIN"),
    Dynamic("SESSION_VARIABLES_ADMIN"),
];
/// SET SESSION of what a client says that repeats a binary log.
pub const APPLIER_VARIABLES: &[Right] = &[
    Static(Priv::Super),
    Dynamic("SYSTEM_VARIABLES_ADMIN"),
    Dynamic("SESSION_VARIABLES_ADMIN"),
    Dynamic("REPLICATION_APPLIER"),
];
/// KILL of somebody else's connection, a connection beyond `max_connections`, writing while `read_only` is on.
pub const CONNECTIONS: &[Right] = &[Static(Priv::Super), Dynamic("CONNECTION_ADMIN")];
/// A stored object that runs as somebody else.
pub const SET_DEFINER: &[Right] = &[Static(Priv::Super), Dynamic("SET_USER_ID")];
/// What SET PERSIST_ONLY needs beside the right to set variables.
pub const PERSIST_ONLY: &[Right] = &[Dynamic("PERSIST_RO_VARIABLES_ADMIN")];
const CREATE_ROLE: &[Right] = &[Static(Priv::CreateRole), Static(Priv::CreateUser)];
const DROP_ROLE: &[Right] = &[Static(Priv::DropRole), Static(Priv::CreateUser)];
const RELOAD: &[Right] = &[Static(Priv::Reload)];
const FLUSH_TABLES: &[Right] = &[Dynamic("FLUSH_TABLES"), Static(Priv::Reload)];
const FLUSH_STATUS: &[Right] = &[Dynamic("FLUSH_STATUS"), Static(Priv::Reload)];
const FLUSH_COSTS: &[Right] = &[Dynamic("FLUSH_OPTIMIZER_COSTS"), Static(Priv::Reload)];
const FLUSH_RESOURCES: &[Right] = &[Dynamic("FLUSH_USER_RESOURCES"), Static(Priv::Reload)];
const SHUTDOWN: &[Right] = &[Static(Priv::Shutdown)];
/// To see and to end what others do.
pub const PROCESS: &[Right] = &[Static(Priv::Process)];
const BACKUP: &[Right] = &[Dynamic("BACKUP_ADMIN")];
/// XA RECOVER, and all places that there are for branches.
pub const XA_RECOVER: &[Right] = &[Dynamic("XA_RECOVER_ADMIN")];
const BINARY_LOG: &[Right] = &[Static(Priv::Super), Dynamic("BINLOG_ADMIN")];
const ROW_EVENTS: &[Right] = &[
    Static(Priv::Super),
    Dynamic("BINLOG_ADMIN"),
    Dynamic("REPLICATION_APPLIER"),
];
const LOG_POSITIONS: &[Right] = &[Static(Priv::Super), Static(Priv::ReplicationClient)];
const LOG_EVENTS: &[Right] = &[Static(Priv::ReplicationSlave)];
const REPLICATION: &[Right] = &[Static(Priv::Super), Dynamic("REPLICATION_SLAVE_ADMIN")];
const RESOURCE_GROUPS: &[Right] = &[
    Dynamic("RESOURCE_GROUP_ADMIN"),
    Dynamic("RESOURCE_GROUP_USER"),
];

const CREATE: PrivSet = PrivSet::of(Priv::Create);
const DROP: PrivSet = PrivSet::of(Priv::Drop);
const SELECT: PrivSet = PrivSet::of(Priv::Select);
const INSERT: PrivSet = PrivSet::of(Priv::Insert);
const ALTER: PrivSet = PrivSet::of(Priv::Alter);
const INDEX: PrivSet = PrivSet::of(Priv::Index);
/// What ALTER TABLE needs: it may make the table again.
const REBUILD: PrivSet = ALTER.union(CREATE).union(INSERT);

/// Collects what one statement needs.
struct Collector<'a> {
    /// The default database.
    schema: Option<&'a str>,
    /// Whose session it is.
    actor: &'a AccountId,
    /// Whether a table, by schema and name, is a temporary one of the session: that needs nothing.
    own: &'a dyn Fn(&str, &str) -> bool,
    needs: Needs,
}

/// What a statement needs that is not planned. `schema` is the default database, `actor` the session's account, `own` tells its temporary tables.
///
/// # Errors
/// 1046 where a name needs a default database.
pub fn needs(
    statement: &Statement,
    schema: Option<&str>,
    actor: &AccountId,
    own: &dyn Fn(&str, &str) -> bool,
) -> Result<Needs, SqlError> {
    let mut c = Collector {
        schema,
        actor,
        own,
        needs: Needs::none(),
    };
    c.statement(statement)?;
    Ok(c.needs)
}

impl Collector<'_> {
    fn one_of(&mut self, rights: &'static [Right]) -> Result<(), SqlError> {
        self.needs.add(Need::OneOf(rights));
        Ok(())
    }

    fn on_schema(&mut self, schema: &str, privileges: PrivSet) -> Result<(), SqlError> {
        self.needs.add(Need::Database {
            schema: schema.into(),
            privileges,
        });
        Ok(())
    }

    fn schema_of<'n>(&'n self, name: &'n ObjectName) -> Result<&'n str, SqlError> {
        name.schema
            .as_deref()
            .or(self.schema)
            .ok_or_else(SqlError::no_db)
    }

    /// Of a table that all sessions see, whether a temporary one hides it or not.
    fn on_base(&mut self, name: &ObjectName, privileges: PrivSet) -> Result<(), SqlError> {
        let table = table(self.schema_of(name)?, &name.name);
        self.needs.add(Need::Table { table, privileges });
        Ok(())
    }

    fn is_own(&self, name: &ObjectName) -> Result<bool, SqlError> {
        Ok((self.own)(self.schema_of(name)?, &name.name))
    }

    fn on_table(&mut self, name: &ObjectName, privileges: PrivSet) -> Result<(), SqlError> {
        match self.is_own(name)? {
            true => Ok(()),
            false => self.on_base(name, privileges),
        }
    }

    fn anything_on(&mut self, name: &ObjectName, command: &'static str) -> Result<(), SqlError> {
        if self.is_own(name)? {
            return Ok(());
        }
        let table = table(self.schema_of(name)?, &name.name);
        self.needs.add(Need::AnythingOn { table, command });
        Ok(())
    }

    /// The database of a SHOW .. FROM, or the default one.
    fn listed(&mut self, schema: Option<&str>) -> Result<(), SqlError> {
        let schema = schema.or(self.schema).ok_or_else(SqlError::no_db)?;
        self.needs.add(Need::AnythingIn {
            schema: schema.into(),
        });
        Ok(())
    }

    fn routine(&mut self, name: &ObjectName, procedure: bool, p: Priv) -> Result<(), SqlError> {
        let routine = RoutineId {
            schema: self.schema_of(name)?.into(),
            procedure,
            name: name.name.to_lowercase().into(),
        };
        self.needs.add(Need::Routine {
            routine,
            privilege: p,
        });
        Ok(())
    }

    fn definer(&mut self, definer: Option<&ast::Account>) -> Result<(), SqlError> {
        match definer {
            Some(ast::Account::Named { user, host }) => {
                if AccountId::new(user, host) != *self.actor {
                    self.one_of(SET_DEFINER)?;
                }
                Ok(())
            }
            Some(ast::Account::CurrentUser) | None => Ok(()),
        }
    }

    fn is_actor(&self, account: &ast::Account) -> bool {
        match account {
            ast::Account::CurrentUser => true,
            ast::Account::Named { user, host } => AccountId::new(user, host) == *self.actor,
        }
    }

    #[rustfmt::skip]
    fn statement(&mut self, statement: &Statement) -> Result<(), SqlError> {
        match statement {
            // Planned: the planner collects.
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
            | Statement::Do(_) | Statement::Explain(_) => Ok(()),
            // One's own transaction, session and diagnostics.
            Statement::Begin(_) | Statement::Commit(_) | Statement::Rollback(_) | Statement::Savepoint(_)
            | Statement::RollbackTo(_) | Statement::ReleaseSavepoint(_) | Statement::UnlockTables
            | Statement::Prepare { .. } | Statement::Execute { .. } | Statement::Deallocate(_)
            | Statement::Signal(_) | Statement::Resignal(_) | Statement::GetDiagnostics(_)
            | Statement::Help(_) | Statement::SetRole(_) | Statement::Nothing => Ok(()),
            // Refused for everybody.
            Statement::Unsupported(_) => Ok(()),
            // Who may be killed depends on whose connection it is: `session::kill`.
            Statement::Kill { .. } => Ok(()),
            // Decided where the accounts as they are can be seen: `session::accounts`.
            Statement::CreateUser(_) | Statement::DropUser { .. } | Statement::RenameUser(_)
            | Statement::AlterUser(_) | Statement::Grant(_) | Statement::Revoke(_) | Statement::SetDefaultRole { .. } => Ok(()),
            Statement::CreateRole { .. } => self.one_of(CREATE_ROLE),
            Statement::DropRole { .. } => self.one_of(DROP_ROLE),
            Statement::Xa(xa) => match **xa {
                Xa::Recover { .. } => self.one_of(XA_RECOVER),
                // As KILL of other accounts' connections.
                Xa::RollbackAll(_) => self.one_of(CONNECTIONS),
                _ => Ok(()),
            },
            Statement::Use(name) => self.listed(Some(name)),
            Statement::Set(items) => items.iter().try_for_each(|i| self.set_item(i)),
            Statement::Show(s) => self.show(&s.what),
            Statement::Describe(d) => self.anything_on(&d.table, "SELECT"),
            Statement::Flush(f) => f.items.iter().try_for_each(|i| self.flush(i)),
            Statement::Reset(items) => items.iter().try_for_each(|i| match i {
                ResetItem::Persist { .. } => self.one_of(SYSTEM_VARIABLES),
                ResetItem::Master(_) | ResetItem::Replica { .. } | ResetItem::QueryCache => self.one_of(RELOAD),
            }),
            Statement::LockTables(tables) => tables.iter().try_for_each(|t| self.lock(t)),
            Statement::LockInstance(_) | Statement::Backup(_) => self.one_of(BACKUP),
            Statement::ReloadTls { .. } => self.one_of(CONNECTIONS),
            Statement::Shutdown | Statement::Restart => self.one_of(SHUTDOWN),
            Statement::Plugin { library, .. } => {
                let name = ObjectName { schema: Some("mysql".into()), name: "plugin".into() };
                self.on_table(&name, if library.is_some() { INSERT } else { PrivSet::of(Priv::Delete) })
            }
            Statement::Component { install, .. } => {
                let name = ObjectName { schema: Some("mysql".into()), name: "component".into() };
                self.on_table(&name, if *install { INSERT } else { PrivSet::of(Priv::Delete) })
            }
            Statement::PurgeLogs(_) => self.one_of(BINARY_LOG),
            // What its events change is checked against the tables, as each is planned.
            Statement::Binlog(_) => self.one_of(ROW_EVENTS),
            Statement::ReplicaControl(_) | Statement::ChangeReplication(_) => self.one_of(REPLICATION),
            Statement::TableMaintenance(m) => {
                let needed = match m.verb {
                    MaintenanceVerb::Check | MaintenanceVerb::Checksum => SELECT,
                    MaintenanceVerb::Analyze | MaintenanceVerb::Optimize | MaintenanceVerb::Repair => SELECT.union(INSERT),
                };
                m.tables.iter().try_for_each(|t| self.on_table(t, needed))
            }
            Statement::LoadData(l) => self.load(l),
            Statement::Handler(h) => match &**h {
                ast::Handler::Open { table, .. } => self.on_table(table, SELECT),
                // Of what was opened.
                ast::Handler::Close(_) | ast::Handler::Read(_) => Ok(()),
            },
            Statement::Call(c) => self.routine(&c.name, true, Priv::Execute),
            Statement::CreateDatabase(_) | Statement::AlterDatabase(_) | Statement::DropDatabase { .. }
            | Statement::CreateTable(_) | Statement::AlterTable(_) | Statement::DropTable(_) | Statement::DropView(_)
            | Statement::RenameTable(_) | Statement::Truncate(_) | Statement::CreateIndex(_) | Statement::DropIndex(_)
            | Statement::CreateView(_) | Statement::CreateTrigger(_) | Statement::CreateRoutine(_)
            | Statement::AlterRoutine(_) | Statement::CreateLoadableFunction(_) | Statement::CreateEvent(_)
            | Statement::AlterEvent(_) | Statement::DropObject { .. } => self.definition(statement),
        }
    }

    /// Statements that change definitions.
    #[rustfmt::skip]
    fn definition(&mut self, statement: &Statement) -> Result<(), SqlError> {
        match statement {
            Statement::CreateDatabase(c) => self.on_schema(&c.name, CREATE),
            Statement::AlterDatabase(a) => {
                let name = a.name.as_deref().or(self.schema).ok_or_else(SqlError::no_db)?.to_owned();
                self.on_schema(&name, ALTER)
            }
            Statement::DropDatabase { name, .. } => self.on_schema(name, DROP),
            Statement::CreateTable(c) => self.create_table(c),
            Statement::AlterTable(a) => self.alter_table(a),
            Statement::DropTable(d) if d.temporary => Ok(()),
            Statement::DropTable(d) => d.names.iter().try_for_each(|n| self.on_table(n, DROP)),
            Statement::DropView(d) => d.names.iter().try_for_each(|n| self.on_base(n, DROP)),
            Statement::RenameTable(pairs) => pairs.iter().try_for_each(|(from, to)| {
                self.on_base(from, ALTER.union(DROP))?;
                self.on_base(to, CREATE.union(INSERT))
            }),
            Statement::Truncate(name) => self.on_table(name, DROP),
            Statement::CreateIndex(c) => self.on_table(&c.table, INDEX),
            Statement::DropIndex(d) => self.on_table(&d.table, INDEX),
            Statement::CreateView(v) => {
                let again = if v.or_replace || v.alter { DROP } else { PrivSet::NONE };
                self.on_base(&v.name, PrivSet::of(Priv::CreateView).union(again))?;
                self.definer(v.definer.as_ref())
            }
            Statement::CreateTrigger(t) => {
                self.on_table(&t.table, PrivSet::of(Priv::Trigger))?;
                self.definer(t.definer.as_ref())
            }
            Statement::CreateRoutine(r) => {
                let schema = self.schema_of(&r.name)?.to_owned();
                self.on_schema(&schema, PrivSet::of(Priv::CreateRoutine))?;
                self.definer(r.definer.as_ref())
            }
            Statement::AlterRoutine(r) => self.routine(&r.name, !r.function, Priv::AlterRoutine),
            Statement::CreateLoadableFunction(_) => self.on_schema("mysql", INSERT),
            Statement::CreateEvent(e) => {
                let schema = self.schema_of(&e.name)?.to_owned();
                self.on_schema(&schema, PrivSet::of(Priv::Event))?;
                self.definer(e.definer.as_ref())
            }
            Statement::AlterEvent(e) => {
                let schema = self.schema_of(&e.name)?.to_owned();
                self.on_schema(&schema, PrivSet::of(Priv::Event))?;
                self.definer(e.definer.as_ref())
            }
            Statement::DropObject { kind, name, .. } => self.drop_object(*kind, name),
            // Everything else was decided by the caller; what was not is nobody's.
            _ => self.one_of(&[Static(Priv::Super)]),
        }
    }

    fn drop_object(&mut self, kind: ObjectKind, name: &ObjectName) -> Result<(), SqlError> {
        match kind {
            ObjectKind::Table | ObjectKind::View => self.on_table(name, DROP),
            ObjectKind::Procedure => self.routine(name, true, Priv::AlterRoutine),
            ObjectKind::Function => self.routine(name, false, Priv::AlterRoutine),
            // Its table is known by the trigger alone: who may drop any trigger of the database may drop this one.
            ObjectKind::Trigger => {
                let schema = self.schema_of(name)?.to_owned();
                self.on_schema(&schema, PrivSet::of(Priv::Trigger))
            }
            ObjectKind::Event => {
                let schema = self.schema_of(name)?.to_owned();
                self.on_schema(&schema, PrivSet::of(Priv::Event))
            }
            ObjectKind::Server | ObjectKind::Package | ObjectKind::PackageBody => {
                self.one_of(&[Static(Priv::Super)])
            }
        }
    }

    fn create_table(&mut self, c: &ast::CreateTable) -> Result<(), SqlError> {
        if c.temporary {
            let schema = self.schema_of(&c.name)?.to_owned();
            self.on_schema(&schema, PrivSet::of(Priv::CreateTemporaryTables))?;
        } else if c.query.is_some() {
            self.on_base(&c.name, CREATE.union(INSERT))?;
        } else {
            self.on_base(&c.name, CREATE)?;
        }
        if let Some(other) = &c.like {
            self.on_table(other, SELECT)?;
        }
        c.keys.iter().try_for_each(|k| self.key(&c.name, k))
    }

    /// A foreign key needs REFERENCES on its parent, which is of the child's schema where none is named.
    fn key(&mut self, child: &ObjectName, key: &KeyDef) -> Result<(), SqlError> {
        match key {
            KeyDef::Foreign(f) => {
                let mut parent = f.references.table.clone();
                parent.schema = parent.schema.or_else(|| child.schema.clone());
                self.on_base(&parent, PrivSet::of(Priv::References))
            }
            KeyDef::Index(_) | KeyDef::Check(_) => Ok(()),
        }
    }

    fn alter_table(&mut self, a: &ast::AlterTable) -> Result<(), SqlError> {
        if self.is_own(&a.name)? {
            // Its new name may be one that belongs to others.
            return a.actions.iter().try_for_each(|action| match action {
                AlterAction::RenameTo(to) => self.on_base(to, CREATE.union(INSERT)),
                _ => Ok(()),
            });
        }
        if matches!(&a.actions[..], [AlterAction::Tablespace(_)]) {
            // As in MySQL: the table stays what it is.
            return self.on_base(&a.name, PrivSet::of(Priv::Alter));
        }
        self.on_base(&a.name, REBUILD)?;
        for action in &a.actions {
            match action {
                AlterAction::RenameTo(to) => {
                    self.on_table(&a.name, DROP)?;
                    self.on_base(to, REBUILD)?;
                }
                AlterAction::AddKey(k) => self.key(&a.name, k)?,
                AlterAction::Partitions(..) => self.on_table(&a.name, DROP)?,
                AlterAction::ExchangePartition(_, with, _) => {
                    self.on_table(with, REBUILD.union(DROP))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn load(&mut self, l: &ast::LoadData) -> Result<(), SqlError> {
        if !l.local {
            self.needs.add(Need::Server(Priv::File));
        }
        let again = match l.on_duplicate {
            ast::LoadDuplicates::Replace => PrivSet::of(Priv::Delete),
            _ => PrivSet::NONE,
        };
        if self.is_own(&l.table)? {
            return Ok(());
        }
        let table = table(self.schema_of(&l.table)?, &l.table.name);
        // Which columns is said by the INSERT that it is planned as.
        self.needs.add(Need::Columnwise {
            table,
            privileges: INSERT.union(again),
        });
        Ok(())
    }

    fn lock(&mut self, t: &ast::LockTable) -> Result<(), SqlError> {
        let schema = self.schema_of(&t.table)?.to_owned();
        match t.mode {
            LockMode::Read | LockMode::ReadLocal | LockMode::Write => {
                self.on_schema(&schema, PrivSet::of(Priv::LockTables))?;
            }
        }
        self.on_table(&t.table, SELECT)
    }

    fn flush(&mut self, item: &FlushItem) -> Result<(), SqlError> {
        match item {
            FlushItem::Tables {
                tables,
                read_lock,
                for_export,
            } => {
                if *read_lock || *for_export {
                    for t in tables {
                        let schema = self.schema_of(t)?.to_owned();
                        self.on_schema(&schema, PrivSet::of(Priv::LockTables))?;
                        self.on_table(t, SELECT)?;
                    }
                }
                self.one_of(FLUSH_TABLES)
            }
            FlushItem::RelayLogs(_) => self.one_of(RELOAD),
            FlushItem::Other(word) => self.one_of(match &**word {
                "STATUS" => FLUSH_STATUS,
                "OPTIMIZER_COSTS" => FLUSH_COSTS,
                "USER_RESOURCES" => FLUSH_RESOURCES,
                _ => RELOAD,
            }),
        }
    }

    fn set_item(&mut self, item: &SetItem) -> Result<(), SqlError> {
        match item {
            // The values are planned where they need tables.
            SetItem::UserVar(..) | SetItem::Names { .. } | SetItem::CharacterSet(_) => Ok(()),
            SetItem::Variable { scope, name, .. } => match scope {
                Some(VarScope::Global | VarScope::Persist) => self.one_of(SYSTEM_VARIABLES),
                Some(VarScope::PersistOnly) => {
                    self.one_of(SYSTEM_VARIABLES)?;
                    self.one_of(PERSIST_ONLY)
                }
                None | Some(VarScope::Session) if sql_expr::vars::is_of_appliers(name) => {
                    self.one_of(APPLIER_VARIABLES)
                }
                None | Some(VarScope::Session) if sql_expr::vars::is_restricted(name) => {
                    self.one_of(SESSION_VARIABLES)
                }
                None | Some(VarScope::Session) => Ok(()),
            },
            SetItem::Transaction { scope, .. } => match scope {
                Some(VarScope::Global | VarScope::Persist | VarScope::PersistOnly) => {
                    self.one_of(SYSTEM_VARIABLES)
                }
                Some(VarScope::Session) | None => Ok(()),
            },
            // One's own, or decided where the accounts can be seen.
            SetItem::Password { .. } => Ok(()),
            SetItem::ResourceGroup(_) => self.one_of(RESOURCE_GROUPS),
        }
    }

    #[rustfmt::skip]
    fn show(&mut self, what: &ShowWhat) -> Result<(), SqlError> {
        match what {
            // Rows that the session may not see are left out.
            ShowWhat::Databases | ShowWhat::Processlist { .. } | ShowWhat::OpenTables(None) | ShowWhat::RoutineStatus(_) => Ok(()),
            // The session's own, or known to everybody.
            ShowWhat::Variables(_) | ShowWhat::Status(_) | ShowWhat::Warnings(_) | ShowWhat::Errors(_)
            | ShowWhat::WarningCount | ShowWhat::ErrorCount | ShowWhat::Engines | ShowWhat::CharacterSet
            | ShowWhat::Collation | ShowWhat::Plugins | ShowWhat::Privileges | ShowWhat::Profiles
            | ShowWhat::Profile { .. } | ShowWhat::Other(_) => Ok(()),
            ShowWhat::Tables { schema, .. } => self.listed(schema.as_deref()),
            ShowWhat::TableStatus(schema) | ShowWhat::Triggers(schema) | ShowWhat::Events(schema) => self.listed(schema.as_deref()),
            ShowWhat::OpenTables(Some(schema)) => self.listed(Some(schema)),
            ShowWhat::Columns { table, .. } | ShowWhat::Index { table, .. } => self.anything_on(table, "SELECT"),
            ShowWhat::CreateDatabase { name, .. } => self.listed(Some(name)),
            ShowWhat::Create(kind, name) => match kind {
                ObjectKind::Table if self.is_own(name)? => Ok(()),
                ObjectKind::Table => {
                    let table = table(self.schema_of(name)?, &name.name);
                    self.needs.add(Need::Whole { table, command: "SHOW" });
                    Ok(())
                }
                ObjectKind::View => self.on_table(name, SELECT.with(Priv::ShowView)),
                ObjectKind::Trigger => {
                    let schema = self.schema_of(name)?.to_owned();
                    self.on_schema(&schema, PrivSet::of(Priv::Trigger))
                }
                ObjectKind::Event => {
                    let schema = self.schema_of(name)?.to_owned();
                    self.on_schema(&schema, PrivSet::of(Priv::Event))
                }
                // Somebody else's is shown without its body, once there are routines.
                ObjectKind::Procedure | ObjectKind::Function | ObjectKind::Server | ObjectKind::Package
                | ObjectKind::PackageBody => Ok(()),
            },
            ShowWhat::RoutineCode(kind, name) => self.routine(name, *kind == ObjectKind::Procedure, Priv::Execute),
            ShowWhat::CreateUser(account) if self.is_actor(account) => Ok(()),
            ShowWhat::CreateUser(_) => self.on_schema("mysql", SELECT),
            ShowWhat::Grants { account: None, .. } => Ok(()),
            ShowWhat::Grants { account: Some(account), .. } if self.is_actor(account) => Ok(()),
            ShowWhat::Grants { .. } => self.on_schema("mysql", SELECT),
            ShowWhat::Engine(..) => self.one_of(PROCESS),
            ShowWhat::SourceStatus | ShowWhat::ReplicaStatus { .. } | ShowWhat::BinaryLogs => self.one_of(LOG_POSITIONS),
            ShowWhat::Replicas { .. } | ShowWhat::BinlogEvents { .. } => self.one_of(LOG_EVENTS),
        }
    }
}
