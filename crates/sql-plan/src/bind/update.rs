//! UPDATE of one table or of several joined ones: the block that finds the rows, and the assignments of each table.

use std::sync::Arc;

use engine::Table;
use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::from::{FromState, Joins, push_conjuncts};
use super::guard::Usage;
use super::insert::{column_name, is_left_to_itself, touched};
use super::names::Names;
use super::query::{position, sort_key};
use super::related::Changes;
use super::row_rules::RowRules;
use super::scope::FromTable;
use super::source::TableSource;
use super::tree::{
    Assign, Body, BoundBlock, BoundQuery, BoundSub, BoundUpdate, LimitPlan, SortKey, UpdateTarget,
};
use sql_access::Priv;
use sql_expr::bind::{Clause, column_text};
use sql_expr::func::assigned_to;
use sql_parser::ast;

/// The block of an UPDATE or DELETE while it is put together.
pub(crate) struct Change<'n> {
    /// Its names.
    pub names: Names<'n>,
    joins: Joins,
    derived: Vec<BoundQuery>,
    /// Its subqueries.
    pub subqueries: Vec<BoundSub>,
    base: u16,
}

impl Change<'_> {
    /// The block that finds the rows.
    pub(crate) fn into_block(self, order: Vec<SortKey>, limit: Option<LimitPlan>) -> BoundBlock {
        BoundBlock {
            number: 1,
            locks: vec![None; self.names.tables.len()],
            tables: self.names.tables,
            derived: self.derived,
            joins: self.joins,
            order,
            limit,
            subqueries: self.subqueries,
            ..BoundBlock::empty(self.base)
        }
    }
}

impl StatementBinder<'_> {
    /// Binds the tables and WHERE of a change.
    pub(crate) fn change_tables(
        &self,
        tables: &[ast::TableRef],
        selection: Option<&ast::Expr>,
        usage: Usage,
    ) -> Result<Change<'static>, SqlError> {
        let mut c = Change {
            names: Names::default(),
            joins: Joins::default(),
            derived: Vec::new(),
            subqueries: Vec::new(),
            base: 0,
        };
        let mut st = FromState {
            names: &mut c.names,
            derived: &mut c.derived,
            subqueries: &mut c.subqueries,
            joins: &mut c.joins,
            base: 0,
            first: 0,
            usage,
            by_name: false,
            expands: true,
            cascaded: false,
        };
        self.bind_from(tables, &mut st)?;
        c.base = st.base;
        if let Some(w) = selection {
            let mut e = self.bind(w, Clause::Where, &c.names, &mut c.subqueries)?;
            c.names.odbc_nulls(self.ctx.cx, &mut e);
            push_conjuncts(e, 0, &mut c.joins.conds);
        }
        Ok(c)
    }

    /// ORDER BY of a change.
    pub(crate) fn change_order(
        &self,
        order: &[ast::OrderItem],
        c: &mut Change<'_>,
    ) -> Result<Vec<SortKey>, SqlError> {
        let mut keys = Vec::with_capacity(order.len());
        for o in order {
            if let ast::Expr::Int(n) = &o.expr {
                let t = &c.names.tables[0];
                let i = position(*n, t.len())
                    .ok_or_else(|| SqlError::unknown_column(&n.to_string(), "order clause"))?;
                keys.push(sort_key(t.column_expr(i), o.desc));
                continue;
            }
            let e = self.bind(&o.expr, Clause::OrderBy, &c.names, &mut c.subqueries)?;
            if !e.is_row_constant() {
                keys.push(sort_key(e, o.desc));
            }
        }
        Ok(keys)
    }

    /// LIMIT of a change.
    pub(crate) fn change_limit(
        &self,
        limit: Option<&ast::Expr>,
    ) -> Result<Option<LimitPlan>, SqlError> {
        match limit {
            None => Ok(None),
            Some(e) => self.limit(Some(&ast::Limit {
                count: e.clone(),
                offset: None,
            })),
        }
    }

    /// Plans UPDATE.
    pub(crate) fn update(&self, u: &ast::Update) -> Result<BoundUpdate, SqlError> {
        self.note_block(1, &u.hints);
        self.with_ctes(u.with.as_deref(), || self.update_of(u))
    }

    fn update_of(&self, u: &ast::Update) -> Result<BoundUpdate, SqlError> {
        let usage = match u.tables.as_slice() {
            [ast::TableRef::Table(_)] => Usage::Update,
            _ => Usage::UpdateOrRead,
        };
        let mut c = self.change_tables(&u.tables, None, usage)?;
        let mut targets: Vec<UpdateTarget> = Vec::new();
        for a in &u.assignments {
            let (table, column) = target_column(&c.names, &a.column)
                .map_err(|e| self.hide_column_for(Priv::Update, &c.names, &a.column, e))?;
            self.guard_view_column(&c.names, &a.column, table)?;
            let from = &c.names.tables[usize::from(table)];
            let stays = is_left_to_itself(from, usize::from(column), &a.value)?;
            let value = match &a.value {
                ast::Expr::Default => None,
                e => {
                    let e = self.bind(e, Clause::FieldList, &c.names, &mut c.subqueries)?;
                    Some(assigned_to(e, from.data_type(usize::from(column))))
                }
            };
            let assign = (!stays).then_some(Assign { column, value });
            match targets.iter_mut().find(|t| t.table == table) {
                Some(t) => t.assigns.extend(assign),
                None => targets.push(UpdateTarget {
                    table,
                    assigns: assign.into_iter().collect(),
                    defaults: Vec::new(),
                    touch: Vec::new(),
                    rules: RowRules::default(),
                }),
            }
        }
        if let Some(w) = &u.selection {
            let mut e = self.bind(w, Clause::Where, &c.names, &mut c.subqueries)?;
            c.names.odbc_nulls(self.ctx.cx, &mut e);
            push_conjuncts(e, 0, &mut c.joins.conds);
        }
        one_of_each_view(&c.names, &targets)?;
        self.guard_updates(&c.names, &targets)?;
        let mut changed = Vec::with_capacity(targets.len());
        for t in &mut targets {
            let table = target_table(&c.names, t.table, "UPDATE")?;
            not_read_below(&table, &c.subqueries, &c.names, t.table, "UPDATE")?;
            if u.limit.is_some() {
                self.limited(&c.names, usize::from(t.table), "UPDATE")?;
            }
            t.defaults = self.assigned_defaults(&table, &t.assigns)?;
            t.touch = touched(&table, &t.assigns);
            t.rules = self.rules_of_changes(&table, &t.assigns, &t.touch)?;
            t.rules.views = self.view_checks(&c.names, usize::from(t.table))?;
            let changes = Changes::assigned(&t.assigns, &t.touch);
            changed.push((table, changes));
        }
        let changed = changed.iter().map(|(t, changes)| (t, changes.clone()));
        let relations = self.relations(changed.collect())?;
        not_moved_twice(&c.names, &targets)?;
        if c.names.tables.len() > 1 && (!u.order_by.is_empty() || u.limit.is_some()) {
            let what = if u.order_by.is_empty() {
                "LIMIT"
            } else {
                "ORDER BY"
            };
            return Err(SqlError::new(
                codes::ER_WRONG_USAGE,
                format!("Incorrect usage of UPDATE and {what}"),
            ));
        }
        let order = self.change_order(&u.order_by, &mut c)?;
        let limit = self.change_limit(u.limit.as_ref())?;
        Ok(BoundUpdate {
            block: c.into_block(order, limit),
            targets,
            several: usage != Usage::Update,
            ignore: u.ignore,
            relations,
            checks: self.check_subqueries.take(),
        })
    }
}

impl StatementBinder<'_> {
    /// Checks the tables that change, and of those that do not, that they may be read; and the columns that are assigned.
    fn guard_updates(&self, names: &Names<'_>, targets: &[UpdateTarget]) -> Result<(), SqlError> {
        let target = |i: usize| targets.iter().find(|x| usize::from(x.table) == i);
        for (i, t) in names.tables.iter().enumerate() {
            let TableSource::Engine(table) = &t.source else {
                continue;
            };
            self.as_read(t, || {
                let Some(target) = target(i) else {
                    return self.guard_table(&t.schema, &t.name, Usage::Read);
                };
                self.guard_target(&t.schema, &t.name, Priv::Update)?;
                self.change_table(t)?;
                let columns = target.assigns.iter();
                let columns = columns.map(|a| column_name(table, a.column)).collect();
                self.require_columns(&t.schema, &t.name, Priv::Update, columns, true)
            })?;
        }
        for v in &names.views {
            match v.tables.clone().any(|i| target(i).is_some()) {
                true => self.guard_target(&v.schema, &v.name, Priv::Update)?,
                false => self.guard_table(&v.schema, &v.name, Usage::Read)?,
            }
        }
        Ok(())
    }

    /// UPDATE is asked for of the view's column that is assigned.
    fn guard_view_column(
        &self,
        names: &Names<'_>,
        c: &ast::ColumnRef,
        table: u16,
    ) -> Result<(), SqlError> {
        let mut views = names.views.iter();
        let Some(v) = views.find(|v| v.tables.contains(&usize::from(table))) else {
            return Ok(());
        };
        let column = v.find(&c.name).map(|i| &*v.columns[i].name);
        let column = column.into_iter().collect();
        self.require_columns(&v.schema, &v.name, Priv::Update, column, true)
    }
}

/// Through a view of several tables one of them can be changed.
///
/// # Errors
/// 1393.
fn one_of_each_view(names: &Names<'_>, targets: &[UpdateTarget]) -> Result<(), SqlError> {
    for v in &names.views {
        let own = |t: &&UpdateTarget| v.tables.contains(&usize::from(t.table));
        if targets.iter().filter(own).count() > 1 {
            return Err(more_than_one_table(&v.full()));
        }
    }
    Ok(())
}

/// 1393.
pub(super) fn more_than_one_table(view: &str) -> SqlError {
    SqlError::new(
        codes::ER_VIEW_MULTIUPDATE,
        format!("Can not modify more than one base table through a join view '{view}'"),
    )
}

fn target_column(names: &Names<'_>, c: &ast::ColumnRef) -> Result<(u16, u16), SqlError> {
    match names.locate(c, Clause::FieldList)? {
        Some((t, column)) => {
            let table = names.tables.iter().position(|o| o.slot == t.slot);
            Ok((table.unwrap_or(0) as u16, column as u16))
        }
        None => Err(SqlError::unknown_column(
            &column_text(c),
            Clause::FieldList.text(),
        )),
    }
}

/// The stored table that is to be changed.
pub(crate) fn target_table(
    names: &Names<'_>,
    place: u16,
    verb: &str,
) -> Result<Arc<Table>, SqlError> {
    let t = &names.tables[usize::from(place)];
    match &t.source {
        TableSource::Engine(t) => Ok(Arc::clone(t)),
        _ => Err(SqlError::new(
            codes::ER_NON_UPDATABLE_TABLE,
            format!(
                "The target table {} of the {verb} is not updatable",
                t.alias
            ),
        )),
    }
}

/// A table that is changed under two names may not have its clustered key assigned under either: the rows found under the other would be gone.
///
/// # Errors
/// 1706.
fn not_moved_twice(names: &Names<'_>, targets: &[UpdateTarget]) -> Result<(), SqlError> {
    let stored = |t: &UpdateTarget| match &names.tables[usize::from(t.table)].source {
        TableSource::Engine(table) => Some(Arc::clone(table)),
        _ => None,
    };
    let moves = |t: &UpdateTarget, table: &Table| {
        let mut key = table.def.indexes[0].parts.iter();
        key.any(|p| t.changes(p.column))
    };
    for (i, a) in targets.iter().enumerate() {
        for b in &targets[i + 1..] {
            let (Some(x), Some(y)) = (stored(a), stored(b)) else {
                continue;
            };
            if Arc::ptr_eq(&x, &y) && (moves(a, &x) || moves(b, &x)) {
                let alias = |n: u16| &names.tables[usize::from(n)].alias;
                return Err(SqlError::new(
                    codes::ER_MULTI_UPDATE_KEY_CONFLICT,
                    format!(
                        "Primary key/partition key update is not allowed since the table is updated both as '{}' and '{}'.",
                        alias(a.table.min(b.table)),
                        alias(a.table.max(b.table))
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// A statement may not read the table it changes in a subquery.
///
/// # Errors
/// 1093; 1443 where a view reads or is changed.
pub(crate) fn not_read_below(
    table: &Arc<Table>,
    subqueries: &[BoundSub],
    names: &Names<'_>,
    place: u16,
    verb: &str,
) -> Result<(), SqlError> {
    let mut found = subqueries
        .iter()
        .filter_map(|s| reader(&s.query, table, None));
    let Some(by) = found.next() else {
        return Ok(());
    };
    let place = usize::from(place);
    let changed = names.views.iter().find(|v| v.tables.contains(&place));
    if by.is_none() && changed.is_none() {
        return Err(SqlError::new(
            codes::ER_UPDATE_TABLE_USED,
            format!(
                "You can't specify target table '{}' for update in FROM clause",
                table.def.name
            ),
        ));
    }
    let changed = changed.map_or_else(|| table.def.name.clone(), |v| v.alias.to_string());
    let by = by.map_or_else(|| changed.clone(), |b| b.to_string());
    Err(SqlError::new(
        codes::ER_VIEW_PREVENT_UPDATE,
        format!("The definition of table '{by}' prevents operation {verb} on table '{changed}'."),
    ))
}

/// By which view a query reads the table itself, if by one; `None` where it does not. Derived tables are copies and do not count.
fn reader(q: &BoundQuery, table: &Arc<Table>, by: Option<&Arc<str>>) -> Option<Option<Arc<str>>> {
    match &q.body {
        Body::Block(b) => {
            let own = b.tables.iter().find_map(|t| match &t.source {
                TableSource::Engine(t) if Arc::ptr_eq(t, table) => Some(by.cloned()),
                TableSource::Derived(n) if is_part(t) => {
                    let inner = b.derived.get(*n as usize)?;
                    reader(inner, table, Some(by.unwrap_or(&t.alias)))
                }
                _ => None,
            });
            own.or_else(|| {
                b.subqueries
                    .iter()
                    .find_map(|s| reader(&s.query, table, by))
            })
        }
        Body::Rows(_, subs) => subs.iter().find_map(|s| reader(&s.query, table, by)),
        Body::Set(first, arms) => reader(first, table, by)
            .or_else(|| arms.iter().find_map(|a| reader(&a.query, table, by))),
        Body::Recursive(r) => reader(&r.seed, table, by)
            .or_else(|| r.members.iter().find_map(|q| reader(q, table, by))),
        Body::Feed(_) | Body::Json(_) => None,
    }
}

/// Whether a table is a view that may become part of the block.
fn is_part(t: &FromTable) -> bool {
    t.view.is_some_and(|a| a != ast::ViewAlgorithm::Temptable)
}
