//! DELETE from one table or from several joined ones.

use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::guard::Usage;
use super::names::Names;
use super::related::Changes;
use super::source::TableSource;
use super::tree::BoundDelete;
use super::update::{not_read_below, target_table};
use super::view_names::ViewNames;
use crate::access::Priv;
use sql_parser::ast;

impl StatementBinder<'_> {
    /// Plans DELETE.
    pub(crate) fn delete(&self, d: &ast::Delete) -> Result<BoundDelete, SqlError> {
        self.note_block(1, &d.hints);
        if d.with.is_some() {
            return Err(SqlError::not_supported("WITH in DELETE"));
        }
        if !d.returning.is_empty() {
            return Err(SqlError::not_supported("RETURNING"));
        }
        let single;
        let from: &[ast::TableRef] = match &d.target {
            ast::DeleteTarget::Single(f) => {
                single = [ast::TableRef::Table(Box::new(f.clone()))];
                &single
            }
            ast::DeleteTarget::Multi { from, .. } => from,
        };
        let usage = match &d.target {
            ast::DeleteTarget::Single(_) => Usage::Delete,
            ast::DeleteTarget::Multi { .. } => Usage::Read,
        };
        let mut c = self.change_tables(from, d.selection.as_ref(), usage)?;
        let targets: Vec<u16> = match &d.target {
            ast::DeleteTarget::Single(_) => {
                if let Some(v) = c.names.views.first() {
                    self.lone_table(v)?;
                }
                vec![0]
            }
            ast::DeleteTarget::Multi { tables, .. } => {
                let mut out = Vec::with_capacity(tables.len());
                for t in tables {
                    let at = self.loser(&c.names, t)?;
                    match at {
                        Some(i) if out.contains(&(i as u16)) => {
                            return Err(SqlError::new(
                                codes::ER_NONUNIQ_TABLE,
                                format!("Not unique table/alias: '{}'", t.name),
                            ));
                        }
                        Some(i) => out.push(i as u16),
                        None => return Err(SqlError::unknown_table(&t.name, "MULTI DELETE")),
                    }
                }
                out
            }
        };
        let mut losers = Vec::with_capacity(targets.len());
        for &t in &targets {
            let named = &c.names.tables[usize::from(t)];
            let place = usize::from(t);
            if let Some(v) = c.names.views.iter().find(|v| v.tables.contains(&place)) {
                self.guard_target(&v.schema, &v.name, Priv::Delete)?;
            }
            if matches!(named.source, TableSource::Engine(_)) {
                let guard = || {
                    self.guard_target(&named.schema, &named.name, Priv::Delete)?;
                    self.change_table(named)
                };
                self.as_read(named, guard)?;
            }
            let table = target_table(&c.names, t, "DELETE")?;
            not_read_below(&table, &c.subqueries, &c.names, t, "DELETE")?;
            if d.limit.is_some() {
                self.limited(&c.names, place, "DELETE")?;
            }
            losers.push(table);
        }
        let losers = losers.iter().map(|t| (t, Changes::deleted()));
        let relations = self.relations(losers.collect())?;
        let order = self.change_order(&d.order_by, &mut c)?;
        let limit = self.change_limit(d.limit.as_ref())?;
        Ok(BoundDelete {
            block: c.into_block(order, limit),
            targets,
            ignore: d.ignore,
            relations,
        })
    }

    /// The place of a table that DELETE names among several.
    fn loser(&self, names: &Names<'_>, t: &ast::ObjectName) -> Result<Option<usize>, SqlError> {
        let meant = |schema: &str, alias: &str| {
            *alias == *t.name && t.schema.as_deref().is_none_or(|s| *schema == *s)
        };
        if let Some(v) = names.views.iter().find(|v| meant(&v.schema, &v.alias)) {
            return self.lone_table(v).map(Some);
        }
        let mut tables = names.tables.iter();
        Ok(tables.position(|f| !f.hidden && meant(&f.schema, &f.alias)))
    }

    /// The place of the only table of a view.
    ///
    /// # Errors
    /// 1395: it has several.
    fn lone_table(&self, v: &ViewNames) -> Result<usize, SqlError> {
        match v.tables.len() {
            1 => Ok(v.tables.start),
            _ => Err(SqlError::new(
                codes::ER_VIEW_DELETE_MERGE_VIEW,
                format!("Can not delete from join view '{}'", v.full()),
            )),
        }
    }
}
