//! DELETE from one table or from several joined ones.

use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::guard::Usage;
use super::names::Names;
use super::related::Changes;
use super::scope::FromTable;
use super::source::TableSource;
use super::tree::BoundDelete;
use super::update::{not_read_below, target_table};
use super::view_names::ViewNames;
use sql_access::Priv;
use sql_parser::ast;

/// A table as FROM has it.
struct Written<'w> {
    /// Its schema; empty for a query.
    schema: &'w str,
    name: &'w str,
    alias: Option<&'w str>,
}

fn not_unique(name: &str) -> SqlError {
    SqlError::new(
        codes::ER_NONUNIQ_TABLE,
        format!("Not unique table/alias: '{name}'"),
    )
}

impl StatementBinder<'_> {
    /// Plans DELETE.
    pub(crate) fn delete(&self, d: &ast::Delete) -> Result<BoundDelete, SqlError> {
        self.note_block(1, &d.hints);
        self.with_ctes(d.with.as_deref(), || self.delete_of(d))
    }

    fn delete_of(&self, d: &ast::Delete) -> Result<BoundDelete, SqlError> {
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
                let mut written = Vec::new();
                self.written(from, &mut written)?;
                for t in tables {
                    let at = self.loser(&c.names, &written, t)? as u16;
                    if out.contains(&at) {
                        return Err(not_unique(&t.name));
                    }
                    out.push(at);
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

    /// The tables that FROM names, in order.
    fn written<'w>(
        &'w self,
        from: &'w [ast::TableRef],
        all: &mut Vec<Written<'w>>,
    ) -> Result<(), SqlError> {
        let of_query = |alias| Written {
            schema: "",
            name: alias,
            alias: Some(alias),
        };
        for t in from {
            match t {
                ast::TableRef::Table(f)
                    if f.name.schema.is_none() && self.cte(&f.name.name).is_some() =>
                {
                    all.push(of_query(f.alias.as_deref().unwrap_or(&f.name.name)));
                }
                ast::TableRef::Table(f) => all.push(Written {
                    schema: self.schema_of(&f.name)?,
                    name: &f.name.name,
                    alias: f.alias.as_deref(),
                }),
                ast::TableRef::Derived(d) => all.push(of_query(&d.alias)),
                ast::TableRef::JsonTable(j) => all.push(of_query(&j.alias)),
                ast::TableRef::Join(j) => {
                    self.written(std::slice::from_ref(&j.left), all)?;
                    self.written(std::slice::from_ref(&j.right), all)?;
                }
                ast::TableRef::List(list) => self.written(list, all)?,
            }
        }
        Ok(())
    }

    /// The place of a table that DELETE names among several. With a schema it is no alias; without, it is an alias, or the current schema's table.
    ///
    /// # Errors
    /// 1046; 1066, 1109; 1395.
    fn loser(
        &self,
        names: &Names<'_>,
        written: &[Written<'_>],
        t: &ast::ObjectName,
    ) -> Result<usize, SqlError> {
        let schema = self.schema_of(t)?;
        let meant = |w: &&Written<'_>| match w.alias {
            Some(alias) => t.schema.is_none() && *alias == *t.name,
            None => *w.name == *t.name && w.schema == schema,
        };
        let mut found = written.iter().filter(meant);
        let unknown = || SqlError::unknown_table(&t.name, "MULTI DELETE");
        let w = found.next().ok_or_else(unknown)?;
        if found.next().is_some() {
            return Err(not_unique(&t.name));
        }
        let alias = w.alias.unwrap_or(w.name);
        let is = |schema: &str, called: &str| called == alias && schema == w.schema;
        if let Some(v) = names.views.iter().find(|v| is(&v.schema, &v.alias)) {
            return self.lone_table(v);
        }
        let is_table = |f: &FromTable| match f.source {
            // Their schemas are written in any case.
            TableSource::Virtual(_) => {
                f.schema.eq_ignore_ascii_case(w.schema) && *f.alias == *alias
            }
            // A view that is read like a query has its schema.
            _ => is(&f.schema, &f.alias),
        };
        let mut tables = names.tables.iter();
        let at = tables.position(|f| !f.hidden && is_table(f));
        at.ok_or_else(unknown)
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
