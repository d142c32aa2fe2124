//! `performance_schema.metadata_locks`: the locks of tables, of the server and of names, as MySQL shows its metadata locks.
//!
//! A transaction's use of a table is `SHARED_READ` or `SHARED_WRITE`, LOCK TABLES `SHARED_READ_ONLY` or `SHARED_NO_READ_WRITE`, a change of
//! a definition `EXCLUSIVE`. A view is shown as a table, as in MySQL. A session's own use of what it has locked is no lock of its own. Temporary tables are nobody else's, and not shown.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use engine::{ObjectDef, Table, TableLockKind, TableLockMode};
use types::Value;

use super::spec::{Spec, View, name, text, uint};
use crate::context::Process;

/// What is locked.
enum Object<'o> {
    /// A table or a view: its schema and its name.
    Table(&'o str, &'o str),
    /// A lock of the whole server, by its type.
    Server(&'static str),
    /// GET_LOCK.
    Name(&'o str),
}

/// A lock, or the request for one.
struct Lock<'o> {
    object: Object<'o>,
    /// Tells it from others of its type.
    number: u64,
    kind: &'static str,
    duration: &'static str,
    status: &'static str,
    /// The connection.
    thread: Option<u64>,
}

impl Lock<'_> {
    fn row(&self) -> Vec<Value> {
        let (object, schema, called) = match &self.object {
            Object::Table(schema, t) => ("TABLE", name(schema), name(t)),
            Object::Server(what) => (*what, Value::Null, Value::Null),
            Object::Name(n) => ("USER LEVEL LOCK", Value::Null, name(n)),
        };
        vec![
            text(object),
            schema,
            called,
            Value::Null,
            uint(self.number),
            text(self.kind),
            text(self.duration),
            text(self.status),
            Value::Null,
            self.thread.map_or(Value::Null, uint),
            Value::Null,
        ]
    }
}

fn word(kind: TableLockKind) -> &'static str {
    match kind {
        TableLockKind::Reads => "SHARED_READ",
        TableLockKind::Writes => "SHARED_WRITE",
        TableLockKind::Locked(TableLockMode::Read) => "SHARED_READ_ONLY",
        TableLockKind::Locked(TableLockMode::Write) => "SHARED_NO_READ_WRITE",
        TableLockKind::Locked(TableLockMode::Change) => "EXCLUSIVE",
    }
}

/// How long a lock is kept: what LOCK TABLES has locked, until it is given back.
fn duration(kind: TableLockKind, granted: bool) -> &'static str {
    match kind {
        TableLockKind::Locked(TableLockMode::Read | TableLockMode::Write) if granted => "EXPLICIT",
        _ => "TRANSACTION",
    }
}

/// What is known of all locks, when it is asked.
struct Known<'v> {
    v: &'v View<'v>,
    /// Tables by the numbers of their locks.
    tables: BTreeMap<u64, Arc<Table>>,
    /// Views, in the same way.
    views: BTreeMap<u64, Arc<ObjectDef>>,
    /// Connections by what they hold locks as.
    threads: HashMap<u64, u64>,
    processes: Vec<Arc<Process>>,
    rows: Vec<Vec<Value>>,
}

impl Known<'_> {
    /// A lock, or the request for one, of a table.
    fn table(&mut self, number: u64, kind: TableLockKind, granted: bool, thread: Option<u64>) {
        let table = self.tables.get(&number);
        let table = table.map(|t| (&t.def.schema, &t.def.name));
        let view = self.views.get(&number).map(|v| (&v.schema, &v.name));
        let Some((schema, called)) = table.or(view) else {
            return;
        };
        let lock = Lock {
            object: Object::Table(schema, called),
            number,
            kind: word(kind),
            duration: duration(kind, granted),
            status: if granted { "GRANTED" } else { "PENDING" },
            thread,
        };
        self.rows.push(lock.row());
    }

    /// One of the others, which are kept until they are given back, and never shown while they are waited for.
    fn other(&mut self, object: Object<'_>, number: u64, kind: &'static str, thread: Option<u64>) {
        let lock = Lock {
            object,
            number,
            kind,
            duration: "EXPLICIT",
            status: "GRANTED",
            thread,
        };
        self.rows.push(lock.row());
    }

    fn of_the_server(&mut self) {
        let (reading, backups) = self.v.ctx.engine.server_lock_holders();
        let reading = reading
            .iter()
            .flat_map(|o| [(*o, "GLOBAL"), (*o, "COMMIT")]);
        let backups = backups.iter().map(|o| (*o, "BACKUP LOCK"));
        for (owner, what) in reading.chain(backups) {
            let thread = self.threads.get(&owner).copied();
            self.other(Object::Server(what), owner, "SHARED", thread);
        }
    }

    fn of_tables(&mut self) {
        let holders = |(n, t): (&u64, &Arc<Table>)| {
            let all = t.lock_holders().into_iter();
            all.map(|(owner, mode)| (*n, owner, mode))
                .collect::<Vec<_>>()
        };
        let of_view = |(n, v): (&u64, &Arc<ObjectDef>)| {
            let all = v.lock_holders().into_iter();
            all.map(|(owner, mode)| (*n, owner, mode))
                .collect::<Vec<_>>()
        };
        let held = self.tables.iter().flat_map(holders);
        let held: Vec<_> = held.chain(self.views.iter().flat_map(of_view)).collect();
        for (number, owner, mode) in &held {
            let thread = self.threads.get(owner).copied();
            self.table(*number, TableLockKind::Locked(*mode), true, thread);
        }
        let held: HashSet<(u64, u64)> = held.iter().map(|(n, o, _)| (*n, *o)).collect();
        for p in std::mem::take(&mut self.processes) {
            let shown = &p.interrupt().tables;
            for (number, kind) in shown.uses() {
                if !held.contains(&(number, shown.owner())) {
                    self.table(number, kind, true, Some(p.id));
                }
            }
            if let Some((number, kind)) = shown.waits() {
                self.table(number, kind, false, Some(p.id));
            }
        }
    }

    fn of_names(&mut self) {
        for (i, (called, connection)) in self.v.instance.named_locks.all().iter().enumerate() {
            let thread = Some(*connection);
            self.other(Object::Name(called), i as u64, "EXCLUSIVE", thread);
        }
    }
}

fn metadata_locks(v: &View<'_>) -> Vec<Vec<Value>> {
    let processes = v.instance.processes().all();
    let threads = processes
        .iter()
        .map(|p| (p.interrupt().tables.owner(), p.id));
    let catalog = v.ctx.engine.catalog();
    let tables = catalog.tables().map(|t| (t.lock_number(), Arc::clone(t)));
    let views = catalog.schemas().flat_map(|s| s.views());
    let views = views.map(|v| (v.lock_number(), Arc::clone(v)));
    let mut known = Known {
        v,
        tables: tables.collect(),
        views: views.collect(),
        threads: threads.collect(),
        processes,
        rows: Vec::new(),
    };
    known.of_the_server();
    known.of_tables();
    known.of_names();
    known.rows
}

/// The tables of `performance_schema` in this file.
pub(super) const PERFORMANCE_SPECS: &[Spec] = &[Spec {
    name: "metadata_locks",
    columns: "OBJECT_TYPE v64, OBJECT_SCHEMA n64?, OBJECT_NAME n64?, COLUMN_NAME n64?, OBJECT_INSTANCE_BEGIN U, LOCK_TYPE v32, \
        LOCK_DURATION v32, LOCK_STATUS v32, SOURCE v64?, OWNER_THREAD_ID U?, OWNER_EVENT_ID U?",
    rows: metadata_locks,
}];
