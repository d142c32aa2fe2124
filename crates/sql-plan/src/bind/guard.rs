//! What a statement needs, collected while it is bound: privileges on tables are checked before a table's name is looked up, so that
//! nobody learns from an error what there is; columns are noted as names are resolved, and checked with the whole list once the
//! statement is bound ([`sql_access::SecurityContext::authorize`]).

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::names::Names;
use super::scope::FromTable;
pub(crate) use super::seen::Seen;
use super::source::TableGuard;
use sql_access::account::TableId;
use sql_access::needs::{ColumnNames, Need, Right, Through, table};
use sql_access::privilege::TABLE_SET;
use sql_access::{Priv, PrivSet};
use sql_expr::bind::column_text;
use sql_parser::ast;

/// What a statement does with a table that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usage {
    /// Reads it.
    Read,
    /// The one table of an UPDATE.
    Update,
    /// A table of an UPDATE of several: which of them change is seen by the assignments.
    UpdateOrRead,
    /// The one table of a DELETE.
    Delete,
    /// Inserts into it; with REPLACE, and with ON DUPLICATE KEY UPDATE.
    Insert {
        /// REPLACE.
        replace: bool,
        /// ON DUPLICATE KEY UPDATE.
        update: bool,
    },
}

impl Usage {
    /// The table is certainly changed.
    pub fn changes(self) -> bool {
        match self {
            Usage::Read | Usage::UpdateOrRead => false,
            Usage::Update | Usage::Delete | Usage::Insert { .. } => true,
        }
    }
}

const SELECT: PrivSet = PrivSet::of(Priv::Select);
const UPDATE: PrivSet = PrivSet::of(Priv::Update);
const DELETE: PrivSet = PrivSet::of(Priv::Delete);
const INSERT: PrivSet = PrivSet::of(Priv::Insert);
/// FOR UPDATE needs one of these beside SELECT (the manual: "Locking Reads").
const LOCKERS: PrivSet = UPDATE.union(DELETE).with(Priv::LockTables);
const PROCESS: &[Right] = &[Right::Static(Priv::Process)];

impl StatementBinder<'_> {
    /// The name of a table, one for all needs that follow each other.
    fn table_id(&self, schema: &str, name: &str) -> Arc<TableId> {
        let mut last = self.guarded.borrow_mut();
        match &*last {
            Some(id) if *id.schema == *schema && *id.name == *name => Arc::clone(id),
            _ => Arc::clone(last.insert(table(schema, name))),
        }
    }

    /// One thing more that the statement needs; refused at once where it is missing.
    pub(crate) fn require(&self, need: Need) -> Result<(), SqlError> {
        let through = self.through.borrow();
        let need = through_view(through.as_ref(), need);
        self.require_of_session(need)
    }

    /// The same, of the session's account also where a view is bound.
    pub(crate) fn require_of_session(&self, need: Need) -> Result<(), SqlError> {
        self.ctx.security.check(&need)?;
        self.needs.borrow_mut().add(need);
        Ok(())
    }

    /// The session's own table: who has made it may do everything with it, and needs no privilege. A view never means one.
    pub(crate) fn is_own(&self, schema: &str, name: &str) -> bool {
        self.through.borrow().is_none() && self.ctx.catalog.own_table(schema, name).is_some()
    }

    /// Checks the use of a table before it is looked up.
    pub(crate) fn guard_table(
        &self,
        schema: &str,
        name: &str,
        usage: Usage,
    ) -> Result<(), SqlError> {
        if self.is_own(schema, name) {
            return Ok(());
        }
        let table = || self.table_id(schema, name);
        let columnwise = |privileges| Need::Columnwise {
            table: table(),
            privileges,
        };
        if self.explains.get() && self.in_view() {
            self.require_of_session(Need::Shown(Box::new(columnwise(SELECT))))?;
        }
        match usage {
            Usage::Read => self.require(columnwise(SELECT)),
            Usage::Update => self.require(columnwise(UPDATE)),
            Usage::UpdateOrRead => self.require(Need::SomeOf {
                table: table(),
                privileges: SELECT.union(UPDATE),
                command: "UPDATE",
            }),
            Usage::Delete => self.require(Need::Table {
                table: table(),
                privileges: DELETE,
            }),
            Usage::Insert { replace, update } => {
                if replace {
                    self.require(Need::Table {
                        table: table(),
                        privileges: DELETE,
                    })?;
                }
                let also = if update { UPDATE } else { PrivSet::NONE };
                self.require(columnwise(INSERT.union(also)))
            }
        }
    }

    /// Checks FOR UPDATE of a table that is read.
    pub(crate) fn guard_lock(&self, schema: &str, name: &str) -> Result<(), SqlError> {
        if self.is_own(schema, name) {
            return Ok(());
        }
        self.require(Need::SomeOf {
            table: self.table_id(schema, name),
            privileges: LOCKERS,
            command: "SELECT, LOCK TABLES",
        })
    }

    /// Checks the change of a table among several that are read.
    pub(crate) fn guard_target(
        &self,
        schema: &str,
        name: &str,
        privilege: Priv,
    ) -> Result<(), SqlError> {
        if self.is_own(schema, name) {
            return Ok(());
        }
        let table = self.table_id(schema, name);
        let privileges = PrivSet::of(privilege);
        self.require(match privilege {
            Priv::Delete => Need::Table { table, privileges },
            _ => Need::Columnwise { table, privileges },
        })
    }

    /// Checks the use of a virtual table.
    pub(crate) fn guard_virtual(
        &self,
        guard: TableGuard,
        schema: &str,
        name: &str,
        usage: Usage,
    ) -> Result<(), SqlError> {
        if !matches!(usage, Usage::Read | Usage::UpdateOrRead) {
            return Err(self.ctx.security.no_db(schema));
        }
        match guard {
            TableGuard::Open => Ok(()),
            TableGuard::Process => self.require(Need::OneOf(PROCESS)),
            TableGuard::Granted => self.guard_table(schema, name, usage),
            TableGuard::GrantedAndProcess => {
                self.guard_table(schema, name, usage)?;
                self.require(Need::OneOf(PROCESS))
            }
        }
    }

    /// A record of the columns that are read of a stored table.
    pub(crate) fn watch(&self, schema: &str, name: &str) -> Rc<Seen> {
        let own = self.is_own(schema, name);
        let on_table = self.ctx.security.on_table(schema, name);
        let seen = Rc::new(Seen {
            table: self.table_id(schema, name),
            partial: !own && !on_table.has_any(TABLE_SET) && !self.ctx.security.is_server(),
            through: self.through.borrow().clone(),
            columns: RefCell::default(),
            listed: RefCell::default(),
        });
        if !own {
            self.seen.borrow_mut().push(Rc::clone(&seen));
        }
        seen
    }

    /// A privilege on columns that are written, and that the statement names, or not.
    pub(crate) fn require_columns(
        &self,
        schema: &str,
        name: &str,
        privilege: Priv,
        columns: ColumnNames,
        named: bool,
    ) -> Result<(), SqlError> {
        if columns.is_empty() || self.is_own(schema, name) {
            return Ok(());
        }
        self.require(Need::Columns {
            table: self.table_id(schema, name),
            privilege,
            columns,
            named,
        })
    }

    /// Turns what was noted of columns into needs.
    pub(crate) fn columns_read(&self) {
        let mut needs = self.needs.borrow_mut();
        for seen in self.seen.borrow().iter() {
            for (columns, named) in [(&seen.columns, true), (&seen.listed, false)] {
                let columns = columns.take().names;
                if !columns.is_empty() {
                    let need = Need::Columns {
                        table: seen.table.clone(),
                        privilege: Priv::Select,
                        columns,
                        named,
                    };
                    needs.add(through_view(seen.through.as_ref(), need));
                }
            }
        }
    }

    /// The error of a statement that was not bound to its end. What it had read until then is checked first: any other error would
    /// tell that a column is there which the account may not see.
    pub(crate) fn refused_or(&self, e: SqlError) -> SqlError {
        self.columns_read();
        let needs = self.needs.borrow();
        let refused = needs.iter().find_map(|n| self.ctx.security.check(n).err());
        refused.unwrap_or(e)
    }

    /// The error of a column that is not there, or there twice: where the account may see single columns only, it does not learn
    /// whether there is one of that name.
    pub(crate) fn hide_column(
        &self,
        names: &Names<'_>,
        c: &ast::ColumnRef,
        e: SqlError,
    ) -> SqlError {
        self.hide_column_for(Priv::Select, names, c, e)
    }

    /// The same of a column for which the statement needs this privilege.
    pub(crate) fn hide_column_for(
        &self,
        privilege: Priv,
        names: &Names<'_>,
        c: &ast::ColumnRef,
        e: SqlError,
    ) -> SqlError {
        if !matches!(e.code, codes::ER_BAD_FIELD_ERROR | codes::ER_NON_UNIQ_ERROR) {
            return e;
        }
        let hidden = |t: &FromTable| t.seen.as_ref().is_some_and(|s| s.partial);
        let meant =
            |t: &&FromTable| hidden(t) && c.qualifier.as_ref().is_none_or(|q| t.answers_to(q));
        let mut at = Some(names);
        while let Some(n) = at {
            let security = self.ctx.security;
            if let Some(t) = n.tables.iter().filter(|t| !t.hidden).find(meant) {
                return security.no_column(privilege, &column_text(c), &t.name);
            }
            if let Some(v) = n.views.iter().find(|v| v.hides(c)) {
                return security.no_column(privilege, &column_text(c), &v.name);
            }
            at = n.parent;
        }
        e
    }
}

/// A need of what a view reads or changes.
fn through_view(view: Option<&Arc<Through>>, need: Need) -> Need {
    match view {
        None => need,
        Some(view) => Need::Through {
            view: Arc::clone(view),
            need: Box::new(need),
        },
    }
}
