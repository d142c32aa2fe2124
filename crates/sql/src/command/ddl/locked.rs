//! Changes of definitions under LOCK TABLES: of tables that are locked for writing, which stay so.

use engine::Catalog;
use types::SqlError;
use types::error::codes;

use crate::command::lock_tables::active_locks;
use crate::context::{Session, TableName};
use sql_parser::ast::{AlterAction, ObjectName, Statement};
use sql_plan::bind::locked::{LockedTable, LockedTables};
use std::sync::Arc;

/// Whether the session's own locks let a change pass.
///
/// # Errors
/// 1223 with a read lock of the server. Under LOCK TABLES: 1099, 1100; 1192 for what is refused altogether.
pub fn may_change(s: &Session, statement: &Statement) -> Result<(), SqlError> {
    let temporary = match statement {
        Statement::CreateTable(c) => c.temporary,
        Statement::DropTable(d) => d.temporary,
        _ => false,
    };
    if temporary {
        return Ok(());
    }
    if s.engine.has_server_locked_for_reading() {
        return Err(SqlError::fixed(codes::ER_CANT_UPDATE_WITH_READLOCK));
    }
    let Some(locked) = &s.locked else {
        return Ok(());
    };
    let may = |name: &ObjectName| {
        let n = s.full_name(name)?;
        locked.check_change(&n.schema, &n.name)
    };
    match statement {
        // One that is there is told of.
        Statement::CreateTable(c) => {
            let n = s.full_name(&c.name)?;
            locked.check_change(&n.schema, &n.name)
        }
        Statement::AlterTable(a) => may(&a.name),
        Statement::CreateIndex(c) => may(&c.table),
        Statement::DropIndex(d) => may(&d.table),
        Statement::Truncate(name) => may(name),
        Statement::DropTable(d) => d.names.iter().try_for_each(may),
        Statement::RenameTable(_) => {
            let mut now = LockedTables::clone(locked);
            for (from, to) in renames(s, statement)? {
                now.check_change(&from.schema, &from.name)?;
                rename(&mut now.0, &from, &to);
            }
            Ok(())
        }
        _ => Err(active_locks()),
    }
}

/// Locks go with their tables: what is dropped is not locked any more, what is renamed is locked under its new name. With the last table LOCK TABLES
/// ends.
///
/// # Errors
/// 1046.
pub fn follow(s: &mut Session, before: &Catalog, statement: &Statement) -> Result<(), SqlError> {
    let Some(locked) = &s.locked else {
        return Ok(());
    };
    let mut now = LockedTables::clone(locked);
    match statement {
        Statement::DropTable(d) if !d.temporary => {
            for name in &d.names {
                let n = s.full_name(name)?;
                now.0.retain(|t| t.schema != n.schema || t.name != n.name);
                if let Some(t) = before.table(&n.schema, &n.name) {
                    s.engine.forget_lock(&t);
                }
            }
        }
        Statement::RenameTable(_) | Statement::AlterTable(_) => {
            for (from, to) in renames(s, statement)? {
                rename(&mut now.0, &from, &to);
            }
        }
        _ => return Ok(()),
    }
    s.settings += 1;
    match now.0.is_empty() {
        true => s.forget_locked_tables(),
        false => s.locked = Some(Arc::new(now)),
    }
    Ok(())
}

fn renames(s: &Session, statement: &Statement) -> Result<Vec<(TableName, TableName)>, SqlError> {
    match statement {
        Statement::RenameTable(pairs) => {
            let pairs = pairs.iter();
            pairs
                .map(|(from, to)| Ok((s.full_name(from)?, s.full_name(to)?)))
                .collect()
        }
        Statement::AlterTable(a) => {
            let from = s.full_name(&a.name)?;
            let to = a.actions.iter().rev().find_map(|a| match a {
                AlterAction::RenameTo(to) => Some(to),
                _ => None,
            });
            match to {
                Some(to) => Ok(vec![(from, s.full_name(to)?)]),
                None => Ok(Vec::new()),
            }
        }
        _ => Ok(Vec::new()),
    }
}

fn rename(locked: &mut [LockedTable], from: &TableName, to: &TableName) {
    for t in locked {
        if t.schema == from.schema && t.name == from.name {
            if t.alias == t.name {
                t.alias.clone_from(&to.name);
            }
            t.schema.clone_from(&to.schema);
            t.name.clone_from(&to.name);
        }
    }
}
