//! One SELECT: its clauses bound in MySQL's order (FROM, select list, WHERE, GROUP BY, HAVING, ORDER BY), grouped expressions
//! rewritten to read the group's row, and the whole handed to the optimizer.

use std::cell::RefCell;

use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::from::{FromState, Joins, push_conjuncts};
use super::frozen::FullName;
use super::group;
use super::guard::Usage;
use super::hinted::BlockHints;
use super::meta;
use super::names::{Listed, Names, resolved_expr, same_column, same_name};
use super::query::{MoreColumns, position, sort_key};
use super::rollup;
use super::scope::FromTable;
use super::source::TableSource;
use super::tree::{
    Body, BoundBlock, BoundQuery, BoundSub, GroupPlan, LockSpec, Rollup, SortKey, SubAggregates,
    Yields,
};
use super::window_tree::Windows;
use crate::sink::ColumnMeta;
use sql_expr::agg::AggSpec;
use sql_expr::bind::{Clause, column_text};
use sql_expr::vars::SqlMode;
use sql_expr::window::BoundSpec;
use sql_expr::{Expr, Node};
use sql_parser::ast;

/// A bound select item.
pub(crate) struct Item<'s> {
    /// Its value.
    pub expr: Expr,
    /// The result column's name.
    pub name: Box<str>,
    /// As it was written; `None` for a column of `*`.
    pub written: Option<&'s ast::Expr>,
}

impl Item<'_> {
    /// Whether it has a name of its own, by which it is meant.
    fn is_called(&self, c: &ast::ColumnRef) -> bool {
        let column = match self.written {
            Some(ast::Expr::Column(own)) => same_name(&own.name, &self.name),
            Some(_) => false,
            None => true,
        };
        !column && c.qualifier.is_none() && same_name(&self.name, &c.name)
    }
}

/// What the clauses of a SELECT have become so far.
struct Bound<'s> {
    names: Names<'s>,
    joins: Joins,
    derived: Vec<BoundQuery>,
    subqueries: Vec<BoundSub>,
    aggregates: Vec<AggSpec>,
    /// What WINDOW defines.
    windows: Vec<BoundSpec>,
    base: u16,
}

impl Bound<'_> {
    /// Whether there are groups, as far as clauses are bound.
    fn has_groups(&self, keys: &[Expr]) -> bool {
        !keys.is_empty() || !self.aggregates.is_empty() || self.has_from_below()
    }

    fn has_from_below(&self) -> bool {
        !self.names.from_below.borrow().is_empty()
    }
}

/// The clauses that decide about groups and order.
struct Clauses {
    keys: Vec<Expr>,
    having: Option<Expr>,
    order: Vec<SortKey>,
    windows: Option<Box<Windows>>,
    rollup: Option<Box<Rollup>>,
}

impl StatementBinder<'_> {
    /// Plans a SELECT with the ORDER BY and LIMIT that belong to it.
    pub(crate) fn select(
        &self,
        s: &ast::Select,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
        locking: &[ast::Locking],
        parent: Option<&Names<'_>>,
        more: Option<MoreColumns<'_>>,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        let number = self.note_block(s.number, &s.hints);
        let mut b = self.bind_tables(&s.from, parent)?;
        b.names.list = &s.items;
        let clauses = self.bind_clauses(s, order_by, &mut b)?;
        let Clauses {
            keys,
            having,
            order,
            windows,
            rollup,
        } = clauses;
        let grouped = b.has_groups(&keys);
        let from_below = SubAggregates {
            slot: b.names.aggregate_slot.get().unwrap_or(u16::MAX),
            own: b.aggregates.len(),
        };
        b.aggregates.append(&mut b.names.from_below.borrow_mut());
        let items = std::mem::take(&mut b.names.items);
        let column = |i| meta::column(i, &b.names, &b.aggregates);
        let columns: Vec<ColumnMeta> = items.iter().map(column).collect();
        let shown = |i: Item<'_>| sql_expr::padded(i.expr, self.ctx.cx);
        let mut output: Vec<Expr> = items.into_iter().map(shown).collect();
        if let Some(more) = more.filter(|_| !grouped && !s.options.distinct) {
            output.append(&mut more(&b.names)?);
        }
        let types: Vec<_> = output.iter().map(|e| e.ty).collect();
        let mut locks = self.locks_of(locking, &b.names)?;
        lock_below(&b.names.tables, &mut b.derived, &mut locks);
        let lowest = b.names.lowest.get().0;
        let group = grouped.then(|| GroupPlan {
            only_count_star: keys.is_empty() && b.aggregates.iter().all(AggSpec::is_count_star),
            keys,
            aggregates: b.aggregates,
            carried: Vec::new(),
            below: from_below,
            rollup,
        });
        let block = BoundBlock {
            number,
            hints: BlockHints::default(),
            base: b.base,
            tables: b.names.tables,
            locks,
            derived: b.derived,
            joins: b.joins,
            straight: s.options.straight_join,
            group,
            having,
            windows,
            output,
            distinct: s.options.distinct,
            order,
            limit: self.limit(limit)?,
            calc_found_rows: s.options.calc_found_rows,
            subqueries: b.subqueries,
            yields: Yields::Shown,
            rewritten: false,
        };
        let query = BoundQuery::of_block(block, types, lowest);
        Ok((self.assign_late(query)?, columns))
    }

    /// Binds the clauses after FROM in MySQL's order and checks them against each other.
    fn bind_clauses<'s>(
        &self,
        s: &'s ast::Select,
        order_by: &[ast::OrderItem],
        b: &mut Bound<'s>,
    ) -> Result<Clauses, SqlError> {
        self.bind_items(&s.items, b)?;
        let (names, aggregates) = (&b.names, &mut b.aggregates);
        b.windows = self.named_windows(&s.windows, names, &mut b.subqueries, aggregates)?;
        if let Some(w) = &s.selection {
            let mut e = self.bind(w, Clause::Where, &b.names, &mut b.subqueries)?;
            b.names.odbc_nulls(self.ctx.cx, &mut e);
            push_conjuncts(e, 0, &mut b.joins.conds);
        }
        let keys = self.bind_group_by(&s.group_by, b)?;
        b.names.grouped = b.has_groups(&keys);
        b.names.grouped_by = keys
            .iter()
            .filter_map(|e| match &e.node {
                Node::Column(c) => Some(Listed {
                    slot: c.slot,
                    ordinal: c.ordinal,
                }),
                _ => None,
            })
            .collect();
        let mut having = match &s.having {
            Some(h) => Some(self.bind_grouped(
                h,
                Clause::Having,
                &b.names,
                &mut b.subqueries,
                &mut b.aggregates,
            )?),
            None => None,
        };
        let ordered = b.has_groups(&keys);
        let mut order = self.bind_order_by(order_by, b, ordered)?;
        let grouped = b.has_groups(&keys);
        if grouped && keys.is_empty() {
            // One row has no order.
            order.clear();
        }
        let mut windows = self.windows(&s.windows, std::mem::take(&mut b.windows), &b.names)?;
        if self.ctx.cx.sql_mode.has(SqlMode::ONLY_FULL_GROUP_BY) {
            let items = &b.names.items;
            if grouped {
                let from = group::Tables {
                    tables: &b.names.tables,
                    joins: &b.joins,
                    derived: &b.derived,
                };
                let from = Some(&from).filter(|_| !s.rollup);
                let late = group::Late {
                    items,
                    having: having.as_ref(),
                    order: &order,
                    windows: windows.as_deref(),
                };
                group::check(&b.names, from, &keys, &late, &b.subqueries)?;
            }
            if s.options.distinct {
                group::check_distinct(items, &order, windows.as_deref())?;
            }
        }
        let items = &mut b.names.items;
        let rollup = if s.rollup {
            let items = items.iter_mut().map(|i| &mut i.expr);
            let sorted = order.iter_mut().map(|k| &mut k.expr);
            let over = windows.iter_mut().flat_map(|w| w.exprs_mut());
            let grouped = items.chain(having.as_mut()).chain(sorted).chain(over);
            Some(Box::new(Rollup {
                groupings: rollup::roll(&keys, grouped, &b.aggregates)?,
                order: keys.iter().map(|k| sort_key(k.clone(), false)).collect(),
            }))
        } else {
            let items = items.iter().map(|i| &i.expr);
            let sorted = order.iter().map(|k| &k.expr);
            let over = windows.iter_mut().flat_map(|w| w.exprs_mut());
            let over = over.map(|e| &*e);
            rollup::refuse(items.chain(&having).chain(sorted).chain(over))?;
            None
        };
        Ok(Clauses {
            keys,
            having,
            order,
            windows,
            rollup,
        })
    }

    fn bind_tables<'s>(
        &self,
        from: &[ast::TableRef],
        parent: Option<&'s Names<'s>>,
    ) -> Result<Bound<'s>, SqlError> {
        let mut b = Bound {
            names: Names {
                parent,
                windows: Some(RefCell::default()),
                ..Names::default()
            },
            joins: Joins::default(),
            derived: Vec::new(),
            subqueries: Vec::new(),
            aggregates: Vec::new(),
            windows: Vec::new(),
            base: 0,
        };
        let mut st = FromState {
            names: &mut b.names,
            derived: &mut b.derived,
            subqueries: &mut b.subqueries,
            joins: &mut b.joins,
            base: 0,
            first: 0,
            usage: Usage::Read,
            by_name: false,
            expands: false,
            cascaded: false,
        };
        self.bind_from(from, &mut st)?;
        b.base = st.base;
        Ok(b)
    }

    fn bind_items<'s>(
        &self,
        items: &'s [ast::SelectItem],
        b: &mut Bound<'s>,
    ) -> Result<(), SqlError> {
        for item in items {
            match item {
                ast::SelectItem::Wildcard(of) => {
                    let first = b.names.items.len();
                    match of {
                        None if b.names.tables.is_empty() => {
                            let text = "No tables used";
                            return Err(SqlError::new(codes::ER_NO_TABLES_USED, text));
                        }
                        None => star(&mut b.names),
                        Some(t) => table_star(t, &mut b.names)?,
                    }
                    self.star_means(item, || full_names(&b.names, first));
                }
                ast::SelectItem::Expr {
                    expr,
                    name,
                    aliased,
                } => {
                    let e = self.bind_grouped(
                        expr,
                        Clause::FieldList,
                        &b.names,
                        &mut b.subqueries,
                        &mut b.aggregates,
                    )?;
                    self.note_shown(&e);
                    // The column's own name, in the table's letter case.
                    let own = match (&e.node, aliased) {
                        (Node::Column(c), false) => b
                            .names
                            .table(c.slot)
                            .map(|t| t.column_name(usize::from(c.ordinal)))
                            .filter(|own| same_name(own, name))
                            .map(Into::into),
                        _ => None,
                    };
                    let name = own.unwrap_or_else(|| name.clone());
                    self.title_is(item, &name);
                    b.names.items.push(Item {
                        expr: e,
                        name,
                        written: Some(expr),
                    });
                }
            }
        }
        Ok(())
    }

    fn bind_group_by(
        &self,
        group_by: &[ast::Expr],
        b: &mut Bound<'_>,
    ) -> Result<Vec<Expr>, SqlError> {
        let mut keys = Vec::with_capacity(group_by.len());
        for g in group_by {
            let items = &b.names.items;
            self.ctx.cx.tick(items.len())?;
            let e = match g {
                ast::Expr::Int(n) => {
                    let i = position(*n, items.len()).ok_or_else(|| {
                        SqlError::unknown_column(&n.to_string(), "group statement")
                    })?;
                    items[i].expr.clone()
                }
                ast::Expr::Column(c) => self.group_column(c, &b.names, &mut b.subqueries, g)?,
                g => self.bind(g, Clause::GroupBy, &b.names, &mut b.subqueries)?,
            };
            if e.any(&|x| matches!(x.node, Node::Aggregate(_) | Node::Window(_))) {
                let name = b
                    .names
                    .items
                    .iter()
                    .find(|i| group::Known::of([&i.expr]).has(&e))
                    .map_or_else(String::new, |i| i.name.to_string());
                return Err(SqlError::new(
                    codes::ER_WRONG_GROUP_FIELD,
                    format!("Can't group on '{name}'"),
                ));
            }
            keys.push(e);
        }
        Ok(keys)
    }

    /// A name as a whole member of GROUP BY: a column of FROM, or else a select item. Where a column is one of two and the select list
    /// says which, that one is meant.
    fn group_column(
        &self,
        c: &ast::ColumnRef,
        names: &Names<'_>,
        subqueries: &mut Vec<BoundSub>,
        written: &ast::Expr,
    ) -> Result<Expr, SqlError> {
        let hide = |e| self.hide_column(names, c, e);
        let Some(item) = names.selected(c, Clause::GroupBy).map_err(hide)? else {
            return self.bind(written, Clause::GroupBy, names, subqueries);
        };
        match names.local(c, Clause::GroupBy) {
            Ok(Some(r)) => {
                let column = resolved_expr(r);
                self.means(c, &column, names);
                if !same_column(&column, &item.expr) {
                    self.ctx.cx.warn_error(SqlError::ambiguous_column(
                        &column_text(c),
                        Clause::GroupBy.text(),
                    ));
                }
                Ok(column)
            }
            Ok(None) | Err(_) => Ok(item.expr.clone()),
        }
    }

    fn bind_order_by(
        &self,
        order_by: &[ast::OrderItem],
        b: &mut Bound<'_>,
        grouped: bool,
    ) -> Result<Vec<SortKey>, SqlError> {
        let mut keys: Vec<SortKey> = Vec::with_capacity(order_by.len());
        let mut seen = group::Known::default();
        for (i, o) in order_by.iter().enumerate() {
            self.ctx.cx.tick(b.names.items.len())?;
            let item = match &o.expr {
                ast::Expr::Column(c) => b
                    .names
                    .selected(c, Clause::OrderBy)
                    .map_err(|e| self.hide_column(&b.names, c, e))?,
                ast::Expr::Int(n) => {
                    let i = position(*n, b.names.items.len())
                        .ok_or_else(|| SqlError::unknown_column(&n.to_string(), "order clause"))?;
                    b.names.items.get(i)
                }
                _ => None,
            };
            if let (Some(item), ast::Expr::Column(c)) = (item, &o.expr)
                && !item.is_called(c)
            {
                self.means(c, &item.expr, &b.names);
            }
            let e = match item {
                Some(item) => item.expr.clone(),
                None => self.bind_grouped(
                    &o.expr,
                    Clause::OrderBy,
                    &b.names,
                    &mut b.subqueries,
                    &mut b.aggregates,
                )?,
            };
            if !grouped && !b.aggregates.is_empty() {
                // It would make one row of all, which nothing else asks for.
                return Err(SqlError::new(
                    codes::ER_AGGREGATE_ORDER_NON_AGG_QUERY,
                    format!(
                        "Expression #{} of ORDER BY contains aggregate function and applies to the result of a non-aggregated query",
                        i + 1
                    ),
                ));
            }
            if !e.is_row_constant() && seen.add(&e) {
                keys.push(sort_key(e, o.desc));
            }
        }
        Ok(keys)
    }

    /// The locking clause of each table.
    fn locks_of(
        &self,
        locking: &[ast::Locking],
        names: &Names<'_>,
    ) -> Result<Vec<Option<LockSpec>>, SqlError> {
        let mut locks = vec![None; names.tables.len()];
        for l in locking {
            self.locks.set(true);
            let spec = LockSpec {
                exclusive: l.exclusive,
                wait: l.wait,
            };
            for t in &l.of {
                if !names.tables.iter().any(|f| *f.alias == *t.name) {
                    return Err(SqlError::new(
                        codes::ER_UNRESOLVED_TABLE_LOCK,
                        format!("Unresolved table name '{}' in locking clause.", t.name),
                    ));
                }
            }
            for (slot, t) in locks.iter_mut().zip(&names.tables) {
                if l.of.is_empty() || l.of.iter().any(|n| *n.name == *t.alias) {
                    let stored = matches!(t.source, TableSource::Engine(_)) || t.view.is_some();
                    if l.exclusive && stored {
                        self.guard_lock(&t.schema, &t.name)?;
                        self.change_table(t)?;
                    }
                    *slot = Some(spec);
                }
            }
        }
        Ok(locks)
    }
}

/// EXISTS asks for no value: the select list is not computed, and what would fail in it does not. Assignments and functions that do
/// something are.
pub(crate) fn only_rows_matter(q: &mut BoundQuery) {
    let Body::Block(block) = &mut q.body else {
        return;
    };
    let acts = |e: &Expr| matches!(e.node, Node::AssignVar(..));
    if block.distinct || block.output.iter().any(|e| e.any(&acts) || e.has_special()) {
        return;
    }
    if block.windows.take().is_some() {
        // Nobody asks for their values, nor for the order.
        block.order.clear();
    }
    block.output = vec![Expr::null()];
    q.types = vec![block.output[0].ty];
}

/// `*`: what is visible of the columns of FROM.
fn star(names: &mut Names<'_>) {
    for l in names.all_columns() {
        let i = usize::from(l.ordinal);
        let item = names.table(l.slot).filter(|t| !t.invisible(i));
        let item = item.map(|t| column_item(t, i));
        names.items.extend(item);
    }
}

/// The items from the place `first` on, which are columns, by their complete names.
fn full_names(names: &Names<'_>, first: usize) -> Vec<FullName> {
    let column = |i: &Item<'_>| match &i.expr.node {
        Node::Column(c) => {
            let t = names.table(c.slot)?;
            Some(t.full_name(usize::from(c.ordinal)))
        }
        _ => None,
    };
    names.items[first..].iter().filter_map(column).collect()
}

fn table_star(wanted: &ast::ObjectName, names: &mut Names<'_>) -> Result<(), SqlError> {
    let table = names.tables.iter().find(|t| {
        *t.alias == *wanted.name && wanted.schema.as_deref().is_none_or(|s| *t.schema == *s)
    });
    let Some(t) = table else {
        return Err(SqlError::new(
            codes::ER_BAD_TABLE_ERROR,
            format!("Unknown table '{}'", wanted.name),
        ));
    };
    let visible = (0..t.len()).filter(|&i| !t.invisible(i));
    names.items.extend(visible.map(|i| column_item(t, i)));
    Ok(())
}

fn column_item<'s>(t: &FromTable, i: usize) -> Item<'s> {
    Item {
        expr: t.listed_column_expr(i),
        name: t.column_name(i).into(),
        written: None,
    }
}

/// A locking clause for a view is one for what it reads.
fn lock_below(tables: &[FromTable], derived: &mut [BoundQuery], locks: &mut [Option<LockSpec>]) {
    for (t, lock) in tables.iter().zip(locks) {
        if let (TableSource::Derived(n), Some(_), Some(spec)) = (&t.source, t.view, *lock)
            && let Some(query) = derived.get_mut(*n as usize)
        {
            lock_query(query, spec);
            *lock = None;
        }
    }
}

fn lock_query(query: &mut BoundQuery, spec: LockSpec) {
    match &mut query.body {
        Body::Block(b) => {
            for lock in &mut b.locks {
                lock.get_or_insert(spec);
            }
            let (tables, derived) = (std::mem::take(&mut b.tables), &mut b.derived);
            lock_below(&tables, derived, &mut b.locks);
            b.tables = tables;
        }
        Body::Rows(..) | Body::Feed(_) | Body::Json(_) => {}
        Body::Set(first, arms) => {
            lock_query(first, spec);
            arms.iter_mut().for_each(|a| lock_query(&mut a.query, spec));
        }
        Body::Recursive(r) => {
            lock_query(&mut r.seed, spec);
            r.members.iter_mut().for_each(|q| lock_query(q, spec));
        }
    }
}
