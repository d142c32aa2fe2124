//! Views in statements that change rows: one that can be written through becomes part of the statement's own block, its tables in its place and
//! its conditions among those of the block. What is changed then is a stored table, by its own columns.
//!
//! Which views those are is the manual's "Updatable and Insertable Views"; one that is not is read as any other, and refused as a target.

use std::sync::Arc;

use engine::ObjectDef;
use types::error::codes;
use types::{Level, SqlError, Warning};

use super::StatementBinder;
use super::from::{FromState, push_conjuncts};
use super::guard::Usage;
use super::names::Names;
use super::row_rules::ROW;
use super::source::TableSource;
use super::view_def::{ViewDef, mergeable, named_tables};
use super::view_names::{ViewColumn, ViewNames};
use sql_expr::bind::Clause;
use sql_expr::{Expr, Node};
use sql_parser::ast::{self, CheckOption, ViewAlgorithm};

/// Views in views beyond which nothing is written through.
const MOST_DEEP: usize = 32;

/// Uses of views by each other beyond which nothing is written through: two that each name the one before twice are four.
const MOST_VIEWS: usize = 256;

impl StatementBinder<'_> {
    /// Whether a view can become part of the block of a change.
    pub(super) fn expands(&self, def: &ViewDef, nest: u16) -> Result<bool, SqlError> {
        if !is_writable(self.ctx.catalog, def, 0, &mut { MOST_VIEWS }) {
            return Ok(false);
        }
        let query = def.tree()?;
        let column = |i: &ast::SelectItem| {
            matches!(
                i,
                ast::SelectItem::Expr {
                    expr: ast::Expr::Column(_),
                    ..
                }
            )
        };
        // What is computed of a table that an outer join extends is NULL there as a whole.
        let fits = nest == 0 || mergeable(&query).is_some_and(|s| s.items.iter().all(column));
        Ok(fits)
    }

    /// Binds a view as part of the block.
    pub(super) fn expand(
        &self,
        view: &ObjectDef,
        def: &ViewDef,
        (alias, nest): (&str, u16),
        st: &mut FromState<'_, '_>,
    ) -> Result<(), SqlError> {
        if st.by_name {
            return Err(SqlError::not_supported(
                "a join by common names in a statement that changes rows beside a view",
            ));
        }
        if st.names.has_table(&view.schema, alias) {
            return Err(SqlError::new(
                codes::ER_NONUNIQ_TABLE,
                format!("Not unique table/alias: '{alias}'"),
            ));
        }
        let first = st.first + st.names.tables.len();
        let slot = st.slot();
        let (mut names, columns, checks) =
            self.within_view(view, def, || self.parts_of(def, nest, st))?;
        for t in &mut names.tables {
            t.hidden = true;
        }
        let tables = first..first + names.tables.len();
        st.names.tables.append(&mut names.tables);
        st.names.views.push(ViewNames {
            schema: view.schema.as_str().into(),
            alias: alias.into(),
            name: view.name.as_str().into(),
            tables,
            slot,
            columns,
            checks,
            seen: self.watch(&view.schema, &view.name),
        });
        Ok(())
    }

    /// The tables, columns and conditions of a view.
    fn parts_of(
        &self,
        def: &ViewDef,
        nest: u16,
        st: &mut FromState<'_, '_>,
    ) -> Result<(Names<'static>, Vec<ViewColumn>, Vec<Expr>), SqlError> {
        // Not the parsed one: CURRENT_USER() may be somebody else in it.
        let own = self.view_tree(def)?;
        let select = mergeable(&own)
            .ok_or_else(|| SqlError::internal("a view that cannot be written through"))?;
        let of_one_table = named_tables(&select.from).is_some_and(|t| t.len() == 1);
        let usage = match st.usage {
            Usage::Update => Usage::UpdateOrRead,
            Usage::Insert { .. } | Usage::Delete if !of_one_table => Usage::Read,
            usage => usage,
        };
        let cascaded = (st.cascaded || def.check == Some(CheckOption::Cascaded))
            && !base::mutant!("cascaded-check-of-nested-views-left-out");
        let mut names: Names<'static> = Names::default();
        let mut inner = FromState {
            first: st.first + st.names.tables.len(),
            names: &mut names,
            derived: &mut *st.derived,
            subqueries: &mut *st.subqueries,
            joins: &mut *st.joins,
            base: st.base,
            usage,
            by_name: false,
            expands: true,
            cascaded,
        };
        for r in &select.from {
            self.table_ref(r, nest, &mut inner)?;
        }
        let inserts = matches!(st.usage, Usage::Insert { .. });
        let mut columns = Vec::with_capacity(select.items.len());
        for (i, item) in select.items.iter().enumerate() {
            let ast::SelectItem::Expr { expr, name, .. } = item else {
                continue;
            };
            let value = match expr {
                // A column that is only written needs no right to read it.
                ast::Expr::Column(c) if inserts => match names.to_write(c, Clause::FieldList)? {
                    Some(value) => value,
                    None => self.bind(expr, Clause::FieldList, &names, st.subqueries)?,
                },
                e => self.bind(e, Clause::FieldList, &names, st.subqueries)?,
            };
            let name = def.columns.get(i).map_or(&**name, String::as_str);
            columns.push(ViewColumn {
                name: name.into(),
                value,
            });
        }
        let mut checks: Vec<Expr> = names.views.iter().flat_map(|v| v.checks.clone()).collect();
        if let Some(w) = &select.selection {
            let mut e = self.bind(w, Clause::Where, &names, st.subqueries)?;
            names.zero_as_null(&mut e, nest);
            push_conjuncts(e, nest, &mut st.joins.conds);
            if def.check.is_some() || cascaded {
                let mut subqueries = self.check_subqueries.take();
                let bound = self.bind(w, Clause::Where, &names, &mut subqueries);
                self.check_subqueries.replace(subqueries);
                checks.push(bound?);
            }
        }
        Ok((names, columns, checks))
    }

    /// Looks at a change with LIMIT of a table behind a view: without a whole key in the view nobody can tell which rows it changes.
    ///
    /// # Errors
    /// 1288, unless `updatable_views_with_limit` makes a note of it.
    pub(super) fn limited(
        &self,
        names: &Names<'_>,
        place: usize,
        verb: &str,
    ) -> Result<(), SqlError> {
        let Some(v) = names.views.iter().find(|v| v.tables.contains(&place)) else {
            return Ok(());
        };
        let slot = names.tables[place].slot;
        let Some(table) = stored(names, slot) else {
            return Ok(());
        };
        let shown = |c: u16| v.columns.iter().any(|x| x.base() == Some((slot, c)));
        let def = &table.def;
        let whole = |i: &engine::IndexDef| {
            let unique = matches!(
                i.kind,
                engine::IndexKind::Primary | engine::IndexKind::Unique
            );
            let known = |c: u16| shown(c) && !def.columns[usize::from(c)].nullable;
            unique && i.parts.iter().all(|p| known(p.column))
        };
        if def.indexes.iter().any(whole) || (0..def.columns.len() as u16).all(shown) {
            return Ok(());
        }
        let allowed = self.ctx.cx.vars.value_by_name("updatable_views_with_limit");
        if allowed.is_some_and(|v| v.as_u64() == 0) {
            return Err(SqlError::new(
                codes::ER_NON_UPDATABLE_TABLE,
                format!(
                    "The target table {} of the {verb} is not updatable",
                    v.alias
                ),
            ));
        }
        self.ctx.cx.warn(Warning::new(
            Level::Note,
            codes::ER_WARN_VIEW_WITHOUT_KEY,
            "View being updated does not have complete key of the underlying table in it"
                .to_owned(),
        ));
        Ok(())
    }

    /// What has to hold of the rows of a table that are written through the view around it, over the row alone.
    ///
    /// # Errors
    /// 1235: it depends on rows of other tables.
    pub(super) fn view_checks(
        &self,
        names: &Names<'_>,
        place: usize,
    ) -> Result<Vec<(Box<str>, Expr)>, SqlError> {
        let Some(v) = names.views.iter().find(|v| v.tables.contains(&place)) else {
            return Ok(Vec::new());
        };
        self.checks_of_row(v, names.tables[place].slot)
    }

    /// The same of the table of a slot.
    pub(super) fn checks_of_row(
        &self,
        v: &ViewNames,
        slot: u16,
    ) -> Result<Vec<(Box<str>, Expr)>, SqlError> {
        let mut out = Vec::new();
        for check in &v.checks {
            let (mut own, mut others, mut asks) = (false, false, false);
            check.walk(&mut |x| {
                match &x.node {
                    Node::Column(c) if c.slot == slot => own = true,
                    Node::Column(_) => others = true,
                    Node::Subquery(_) | Node::Exists(_) | Node::Quantified(_) => asks = true,
                    _ => {}
                }
                true
            });
            let correlated = || self.check_subqueries.borrow().iter().any(|s| s.correlated);
            if own && others || asks && correlated() {
                return Err(SqlError::not_supported(
                    "CHECK OPTION on a condition that reads other rows than the one that is written",
                ));
            }
            if check.has_special() {
                // It is judged while the row is changed, where nobody waits.
                return Err(SqlError::not_supported(
                    "CHECK OPTION on a condition with a function that waits",
                ));
            }
            if own || !others {
                let mut e = check.clone();
                e.map_columns(&mut |c| c.slot = ROW);
                out.push((v.full().into(), e));
            }
        }
        Ok(out)
    }
}

/// Whether rows can be written through a view, as far as its definition and those of the views that it reads say: whether its
/// tables are there is seen when it is used.
fn is_writable(catalog: &engine::Catalog, def: &ViewDef, depth: usize, left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    if def.algorithm == ViewAlgorithm::Temptable || depth > MOST_DEEP || *left == 0 {
        return false;
    }
    let Ok(query) = def.tree() else { return false };
    let Some(select) = mergeable(&query) else {
        return false;
    };
    are_writable(catalog, select, depth, left)
}

fn are_writable(
    catalog: &engine::Catalog,
    select: &ast::Select,
    depth: usize,
    left: &mut usize,
) -> bool {
    let Some(tables) = named_tables(&select.from) else {
        return false;
    };
    tables.iter().all(|f| {
        let Some(schema) = f.name.schema.as_deref() else {
            return false;
        };
        match catalog.view(schema, &f.name.name) {
            Some(v) => ViewDef::of(v).is_ok_and(|d| is_writable(catalog, &d, depth + 1, left)),
            // One that is gone is an error of its own.
            None => catalog.schema(schema).is_some() || !is_virtual(schema),
        }
    })
}

fn is_virtual(schema: &str) -> bool {
    sql_access::context::is_virtual(schema)
}

/// Whether a view of this query could be written through.
pub fn could_be_written(catalog: &Arc<engine::Catalog>, query: &ast::Query) -> bool {
    let Some(select) = mergeable(query) else {
        return false;
    };
    let column = |i: &ast::SelectItem| {
        matches!(
            i,
            ast::SelectItem::Expr {
                expr: ast::Expr::Column(_),
                ..
            }
        )
    };
    select.items.iter().any(column) && are_writable(catalog, select, 0, &mut { MOST_VIEWS })
}

/// The table that a statement inserts into, through a view or not, is stored.
pub(super) fn stored(names: &Names<'_>, slot: u16) -> Option<Arc<engine::Table>> {
    match &names.table(slot)?.source {
        TableSource::Engine(t) => Some(Arc::clone(t)),
        _ => None,
    }
}
