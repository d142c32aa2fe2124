//! LOCK TABLES and UNLOCK TABLES, FLUSH TABLES .. WITH READ LOCK, LOCK INSTANCE.
//!
//! What is locked is the engine's; what a session may name meanwhile is said by [`sql_plan::bind::locked`].

use std::collections::HashSet;
use std::sync::Arc;

use engine::{Catalog, ObjectDef, Table, TableLockMode};
use types::SqlError;
use types::error::codes;

use crate::context::names::canonical_schema;
use crate::context::{Session, TableName};
use sql_access::Granted;
use sql_parser::ast::{LockMode, LockTable, ObjectName};
use sql_plan::bind::locked::{LockedTable, LockedTables};
use sql_plan::bind::view_def::ViewDef;
use sql_plan::sink::Done;

/// Error 1192.
pub(super) fn active_locks() -> SqlError {
    SqlError::fixed(codes::ER_LOCK_OR_ACTIVE_TRANSACTION)
}

impl Session {
    /// LOCK TABLES.
    pub(crate) async fn lock_tables(
        &mut self,
        _: &Granted,
        tables: &[LockTable],
    ) -> Result<Done, SqlError> {
        let mut wanted: Vec<LockedTable> = Vec::with_capacity(tables.len());
        // A statement can be as long as a packet.
        let mut called = HashSet::new();
        let mut refused = false;
        for t in tables {
            let TableName { schema, name } = self.full_name(&t.table)?;
            let written = t.mode == LockMode::Write && self.vars.hot().tx_read_only;
            let named = TableName { schema, name };
            refused |= written && self.temporary_table(&named).is_none();
            let TableName { schema, name } = named;
            let alias = t.alias.as_ref().unwrap_or(&t.table.name).to_string();
            if !called.insert((schema.clone(), alias.clone())) {
                return Err(SqlError::new(
                    codes::ER_NONUNIQ_TABLE,
                    format!("Not unique table/alias: '{alias}'"),
                ));
            }
            wanted.push(LockedTable {
                schema,
                name,
                alias,
                write: t.mode == LockMode::Write,
            });
        }
        if refused {
            // When tables are locked, the transaction has been committed, and what was locked before is not any more.
            self.implicit_commit().await?;
            self.forget_locked_tables();
            return Err(SqlError::read_only_transaction());
        }
        self.lock_named_tables(wanted).await?;
        Ok(Done::default())
    }

    /// FLUSH TABLES a, b WITH READ LOCK.
    pub(super) async fn flush_and_lock(&mut self, tables: &[ObjectName]) -> Result<(), SqlError> {
        let mut wanted: Vec<LockedTable> = Vec::with_capacity(tables.len());
        let mut called = HashSet::new();
        for t in tables {
            let TableName { schema, name } = self.full_name(t)?;
            if !called.insert((schema.clone(), name.clone())) {
                return Err(SqlError::new(
                    codes::ER_NONUNIQ_TABLE,
                    format!("Not unique table/alias: '{name}'"),
                ));
            }
            wanted.push(LockedTable {
                alias: name.clone(),
                schema,
                name,
                write: false,
            });
        }
        self.lock_named_tables(wanted).await
    }

    /// FLUSH TABLES a, b FOR EXPORT.
    pub(super) async fn flush_for_export(&mut self, tables: &[ObjectName]) -> Result<(), SqlError> {
        for t in tables {
            let n = self.full_name(t)?;
            let t = self.find_base_table(&n)?;
            let stored = self.engine.catalog().base_table(&n.schema, &n.name);
            if t.def.is_temporary() && stored.is_none() {
                // FLUSH knows no temporary tables.
                return Err(SqlError::no_such_table(&n.schema, &n.name));
            }
            if t.def.options.discarded {
                return Err(SqlError::tablespace_discarded(&n.name));
            }
        }
        self.flush_and_lock(tables).await?;
        let catalog = Arc::clone(self.engine.catalog());
        let mut all: Vec<Arc<Table>> = Vec::with_capacity(tables.len());
        for t in tables {
            let n = self.full_name(t)?;
            let table = catalog.table(&n.schema, &n.name);
            all.push(table.ok_or_else(|| catalog.why_no_table(&n.schema, &n.name))?);
        }
        let exported = self.engine.export_tables(&all).await;
        if exported.is_err() {
            self.forget_locked_tables();
        }
        exported
    }

    /// Commits, gives back what was locked before, and locks the tables with those that foreign keys lead to.
    async fn lock_named_tables(&mut self, wanted: Vec<LockedTable>) -> Result<(), SqlError> {
        self.implicit_commit().await?;
        self.forget_locked_tables();
        loop {
            let catalog = Arc::clone(self.engine.catalog());
            let mut wanted = wanted.clone();
            add_tables_of_views(&catalog, &mut wanted)?;
            let tables = tables_of(&catalog, &wanted)?;
            self.engine.lock_tables(&tables).await?;
            // Their definitions as they are now that nobody changes them any more.
            let now = Arc::clone(self.engine.catalog());
            let same = |(t, _): &(Arc<Table>, TableLockMode)| {
                let there = match t.def.is_temporary() {
                    true => now.table(&t.def.schema, &t.def.name),
                    false => now.base_table(&t.def.schema, &t.def.name),
                };
                there.is_some_and(|there| Arc::ptr_eq(&there, t))
            };
            if tables.iter().all(same) {
                self.settings += 1;
                self.locked = Some(Arc::new(LockedTables(wanted)));
                return Ok(());
            }
            self.engine.unlock_tables();
            self.engine.check_interrupt()?;
        }
    }

    /// UNLOCK TABLES: commits only what LOCK TABLES was in force for, as MySQL does.
    pub(crate) async fn unlock_tables(&mut self) -> Result<Done, SqlError> {
        self.unlock_named_tables().await?;
        self.engine.unlock_server_for_reading();
        Ok(Done::default())
    }

    /// LOCK INSTANCE FOR BACKUP, UNLOCK INSTANCE.
    pub(crate) async fn lock_instance(
        &mut self,
        _: &Granted,
        lock: bool,
    ) -> Result<Done, SqlError> {
        match lock {
            true => self.engine.lock_for_backup().await?,
            false => self.engine.unlock_for_backup(),
        }
        Ok(Done::default())
    }
}

/// What the views of a list read is locked with them, as they are. What is gone, statements that use the view will say.
///
/// # Errors
/// 1105: a view's definition is damaged.
fn add_tables_of_views(catalog: &Catalog, wanted: &mut Vec<LockedTable>) -> Result<(), SqlError> {
    let mut at = 0;
    // Views by the names that they have and are read by, and what was added: each once for reading, and once for writing.
    let (mut seen, mut added) = (HashSet::new(), HashSet::new());
    while let Some(w) = wanted.get(at) {
        at += 1;
        let Some(view) = view_of(catalog, w) else {
            continue;
        };
        let write = w.write;
        if !seen.insert((w.schema.clone(), w.name.clone(), write)) {
            continue;
        }
        for (schema, name) in ViewDef::of(view)?.tables() {
            let stored = catalog.base_table(&schema, &name).is_some()
                || catalog.view(&schema, &name).is_some();
            if stored && added.insert((schema.clone(), name.clone(), write)) {
                wanted.push(LockedTable {
                    schema,
                    name,
                    alias: String::new(),
                    write,
                });
            }
        }
    }
    Ok(())
}

/// The view that is meant. A view never means the session's own table, which stands before it elsewhere.
fn view_of<'c>(catalog: &'c Catalog, w: &LockedTable) -> Option<&'c Arc<ObjectDef>> {
    match w.alias.is_empty() {
        true => catalog.view(&w.schema, &w.name),
        false => catalog.view_seen(&w.schema, &w.name),
    }
}

/// The stored tables of a list, and those that foreign keys lead to from those that are to be written.
///
/// # Errors
/// 1049, 1146.
fn tables_of(
    catalog: &Catalog,
    wanted: &[LockedTable],
) -> Result<Vec<(Arc<Table>, TableLockMode)>, SqlError> {
    let mut lock = ToLock {
        catalog,
        tables: Vec::new(),
        written: Vec::new(),
    };
    for w in wanted {
        // Of `mysql`, some tables are virtual: a dump of everything locks them.
        if crate::infoschema::definition(&w.schema, &w.name).is_some()
            || canonical_schema(&w.schema).is_some()
            || view_of(catalog, w).is_some()
        {
            continue;
        }
        let t = match w.alias.is_empty() {
            true => catalog.base_table(&w.schema, &w.name),
            false => catalog.table(&w.schema, &w.name),
        };
        let t = t.ok_or_else(|| catalog.why_no_table(&w.schema, &w.name))?;
        lock.add(&t, w.write);
    }
    while let Some(t) = lock.written.pop() {
        lock.add_related(&t);
    }
    Ok(lock.tables)
}

/// What is to be locked, as far as it is known.
struct ToLock<'c> {
    catalog: &'c Catalog,
    tables: Vec<(Arc<Table>, TableLockMode)>,
    /// Those to be written whose foreign keys are still to be looked at.
    written: Vec<Arc<Table>>,
}

impl ToLock<'_> {
    fn add(&mut self, t: &Arc<Table>, write: bool) {
        let mode = match write {
            true => TableLockMode::Write,
            false => TableLockMode::Read,
        };
        match self.tables.iter_mut().find(|(o, _)| Arc::ptr_eq(o, t)) {
            Some((_, there)) if *there >= mode => return,
            Some((_, there)) => *there = mode,
            None => self.tables.push((Arc::clone(t), mode)),
        }
        if write {
            self.written.push(Arc::clone(t));
        }
    }

    /// Parents are looked into, and so are children, but where their rows change with the parent's.
    fn add_related(&mut self, t: &Arc<Table>) {
        for k in &t.def.foreign_keys {
            if let Some(parent) = self.catalog.base_table(&k.parent_schema, &k.parent) {
                self.add(&parent, false);
            }
        }
        for child in self.catalog.children_of(&t.def.schema, &t.def.name) {
            let mut keys = child.def.foreign_keys.iter();
            let follows = keys.any(|k| {
                k.refers_to(&t.def.schema, &t.def.name)
                    && !(k.on_delete.refuses() && k.on_update.refuses())
            });
            self.add(&child, follows);
        }
    }
}
