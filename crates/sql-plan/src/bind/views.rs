//! Views in FROM: derived tables whose query was written down before. What it reads is read with the rights of the view's definer or of who
//! uses it, and whatever is wrong with it is told as 1356 of the view that the statement names.
//!
//! Never here: how a derived table is carried out.

use std::sync::Arc;

use engine::ObjectDef;
use types::error::codes;
use types::{CollationId, SqlError};

use super::StatementBinder;
use super::from::{FromState, add};
use super::frozen::Meanings;
use super::guard::Usage;
use super::query::table_select;
use super::scope::FromTable;
use super::tree::BoundQuery;
use super::view_def::ViewDef;
use crate::sink::ColumnMeta;
use sql_access::account::TableId;
use sql_access::needs::{Need, Through, view_invalid};
use sql_access::{AccountId, Priv, PrivSet};
use sql_parser::ast;

/// What EXPLAIN needs of a view.
const SHOWS: PrivSet = PrivSet::of(Priv::Select).with(Priv::ShowView);

/// Errors that would tell what is below a view.
const TELLING: &[u16] = &[
    codes::ER_DBACCESS_DENIED_ERROR,
    codes::ER_BAD_DB_ERROR,
    codes::ER_BAD_FIELD_ERROR,
    codes::ER_UNKNOWN_TABLE,
    codes::ER_TABLEACCESS_DENIED_ERROR,
    codes::ER_COLUMNACCESS_DENIED_ERROR,
    codes::ER_NO_SUCH_TABLE,
    codes::ER_SP_DOES_NOT_EXIST,
    codes::ER_PROCACCESS_DENIED_ERROR,
    codes::ER_VIEW_INVALID,
];

impl StatementBinder<'_> {
    /// Whether a view is being bound.
    pub(crate) fn in_view(&self) -> bool {
        !self.open_views.borrow().is_empty()
    }

    /// Whether names are noted.
    pub(crate) fn freezes(&self) -> bool {
        self.meanings.borrow().is_some()
    }

    /// Binds a query of which a view is to be made, and writes its names out; yields its columns.
    ///
    /// # Errors
    /// As [`bind`](super::bind).
    pub(super) fn freeze(self, query: &mut ast::Query) -> Result<Vec<ColumnMeta>, SqlError> {
        spell_out_tables(query);
        // As deep as it will be when it is read.
        let ctx = self.ctx;
        let _deeper = ctx.cx.deeper_query()?;
        self.meanings.replace(Some(Meanings::default()));
        let (_, columns) = self.query(query, None).map_err(|e| self.refused_or(e))?;
        self.columns_read();
        let security = self.ctx.security;
        self.needs
            .borrow()
            .iter()
            .try_for_each(|n| security.check(n))?;
        let meanings = self.meanings.take();
        // Nothing else may hold a part of the tree: it is to stay where it is.
        drop(self);
        if let Some(m) = meanings {
            m.write_out(query);
        }
        Ok(columns)
    }

    /// The view of a name, where it is one's and may be used so.
    ///
    /// # Errors
    /// 1142: it may not.
    pub(crate) fn named_view(
        &self,
        name: &ast::ObjectName,
        usage: Usage,
    ) -> Result<Option<Arc<ObjectDef>>, SqlError> {
        let Some(schema) = name.schema.as_deref().or(self.ctx.schema) else {
            return Ok(None);
        };
        if self.is_own(schema, &name.name) {
            return Ok(None);
        }
        let Some(view) = self.ctx.catalog.view(schema, &name.name) else {
            return Ok(None);
        };
        self.guard_table(schema, &name.name, usage)?;
        if self.explains.get() {
            let table = Arc::new(id_of(view));
            let privileges = SHOWS;
            let shown = Need::Table { table, privileges };
            self.require_of_session(Need::Shown(Box::new(shown)))?;
        }
        let mut views = self.views.borrow_mut();
        if !views.iter().any(|v| Arc::ptr_eq(v, view)) {
            views.push(Arc::clone(view));
        }
        Ok(Some(Arc::clone(view)))
    }

    /// Binds a table or a view of FROM.
    pub(super) fn named_or_view(
        &self,
        f: &ast::TableFactor,
        nest: u16,
        st: &mut FromState<'_, '_>,
    ) -> Result<(), SqlError> {
        let is_cte = f.name.schema.is_none() && self.cte(&f.name.name).is_some();
        let view = match is_cte {
            true => None,
            false => self.named_view(&f.name, st.usage)?,
        };
        let Some(view) = view else {
            let t = self.table_factor(f, st)?;
            return add(t, nest, st);
        };
        if !f.partitions.is_empty() {
            return Err(SqlError::new(
                codes::ER_PARTITION_CLAUSE_ON_NONPARTITIONED,
                "PARTITION () clause on non partitioned table",
            ));
        }
        if let Some(hint) = f.hints.iter().find_map(|h| h.indexes.first()) {
            return Err(SqlError::new(
                codes::ER_KEY_DOES_NOT_EXITS,
                format!("Key '{hint}' doesn't exist in table '{}'", view.name),
            ));
        }
        self.table_is_of(f, &view.schema);
        let def = ViewDef::of(&view)?;
        let alias = f.alias.as_deref().unwrap_or(&f.name.name);
        self.note_named((&view.schema, &view.name), alias, st.usage.changes())?;
        if st.expands && self.expands(&def, nest)? {
            return self.expand(&view, &def, (alias, nest), st);
        }
        let t = self.view_table(&view, &def, alias, st)?;
        add(t, nest, st)
    }

    /// A view as a derived table.
    fn view_table(
        &self,
        view: &ObjectDef,
        def: &ViewDef,
        alias: &str,
        st: &mut FromState<'_, '_>,
    ) -> Result<FromTable, SqlError> {
        let bound = self.view_query(view, def)?;
        let columns: Vec<ast::Name> = def.columns.iter().map(|c| c.as_str().into()).collect();
        let mut t = self.derived_of(bound, alias, &columns, st)?;
        t.schema = view.schema.as_str().into();
        t.name = view.name.as_str().into();
        t.view = Some(def.algorithm);
        t.seen = Some(self.watch(&view.schema, &view.name));
        Ok(t)
    }

    /// The query of a view.
    pub(super) fn view_query(
        &self,
        view: &ObjectDef,
        def: &ViewDef,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        self.within_view(view, def, || {
            let query = self.view_tree(def)?;
            self.query(&query, None)
        })
    }

    /// The tree of the view that is being bound.
    pub(super) fn view_tree(&self, def: &ViewDef) -> Result<ast::Query, SqlError> {
        let mut query = def.tree()?;
        let through = self.through.borrow();
        if let Some(definer) = through.as_ref().and_then(|t| t.definer.as_ref()) {
            speak_as(&mut query, definer);
        }
        Ok(query)
    }

    /// Binds something of a view: with the rights of its definer, or as it is used; nothing of the statement is in sight.
    ///
    /// # Errors
    /// 1462: it is bound already. 1356 of the view that the statement names, in place of all that would tell what is below it.
    pub(super) fn within_view<R>(
        &self,
        view: &ObjectDef,
        def: &ViewDef,
        f: impl FnOnce() -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let id = id_of(view);
        if self.open_views.borrow().iter().any(|o| **o == id) {
            return Err(SqlError::new(
                codes::ER_VIEW_RECURSIVE,
                format!("`{}`.`{}` contains view recursion", id.schema, id.name),
            ));
        }
        if !def.invoker && !self.ctx.security.is_server() {
            // Also where it reads nothing.
            self.ctx.security.of_definer(&def.definer)?;
        }
        let outermost = !self.in_view();
        self.open_views.borrow_mut().push(Arc::new(id));
        let around = self.through.borrow().clone();
        let definer = match def.invoker {
            true => around.as_ref().and_then(|a| a.definer.clone()),
            false => Some(def.definer.clone()),
        };
        let named = around
            .as_ref()
            .map_or_else(|| id_of(view), |a| a.view.clone());
        let through = Through {
            view: named,
            definer,
        };
        self.through.replace(Some(Arc::new(through)));
        let literals = self.literals.replace(CollationId::by_name(&def.collation));
        let hidden = self.hide_ctes_from(0);
        let outcome = f();
        self.literals.set(literals);
        self.show_ctes(hidden);
        self.through.replace(around);
        self.open_views.borrow_mut().pop();
        outcome.map_err(|e| match outermost && TELLING.contains(&e.code) {
            true => view_invalid(&view.schema, &view.name),
            false => e,
        })
    }

    /// What is done with a table that a view reads, with the rights that it has there.
    pub(super) fn as_read<R>(&self, t: &FromTable, f: impl FnOnce() -> R) -> R {
        let through = t.seen.as_ref().and_then(|s| s.through.clone());
        let around = self.through.replace(through);
        let r = f();
        self.through.replace(around);
        r
    }
}

fn id_of(view: &ObjectDef) -> TableId {
    TableId {
        schema: view.schema.as_str().into(),
        name: view.name.as_str().into(),
    }
}

/// CURRENT_USER() is the account with whose rights the view is read.
fn speak_as(query: &mut ast::Query, account: &AccountId) {
    query.walk_parts_mut(&mut |part| {
        if let ast::Part::Expr(e) = part
            && let ast::Expr::Call(c) = e
            && c.args.is_empty()
            && c.schema.is_none()
            && c.name.eq_ignore_ascii_case("current_user")
        {
            *e = ast::Expr::Str(account.plain().into_bytes().into());
        }
    });
}

/// `TABLE t` as the SELECT that it stands for, before the query is bound.
fn spell_out_tables(query: &mut ast::Query) {
    query.walk_parts_mut(&mut |part| {
        if let ast::Part::Body(body) = part
            && let ast::QueryBody::Table(name) = body
        {
            *body = ast::QueryBody::Select(Box::new(table_select(name)));
        }
    });
}
