//! UPDATE of one table or of several joined ones: the block that finds the rows, and the assignments of each table.

use std::sync::Arc;

use engine::Table;
use types::SqlError;
use types::error::codes;

use super::Planner;
use super::from::{FromState, Joins, push_conjuncts};
use super::guard::Usage;
use super::insert::{column_name, touched};
use super::names::Names;
use super::optimize::{Request, optimize};
use super::query::{position, sort_key};
use super::source::TableSource;
use super::tree::{
    Access, Assign, Block, Body, LimitPlan, QueryPlan, SortKey, SubPlan, TablePlan, UpdatePlan,
    UpdateTarget,
};
use crate::access::Priv;
use sql_expr::bind::{Clause, column_text};
use sql_parser::ast;

/// The block of an UPDATE or DELETE while it is put together.
pub(crate) struct Change<'n> {
    /// Its names.
    pub names: Names<'n>,
    joins: Joins,
    derived: Vec<QueryPlan>,
    /// Its subqueries.
    pub subqueries: Vec<SubPlan>,
    base: u16,
}

impl Planner<'_> {
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
            usage,
            by_name: false,
        };
        self.bind_from(tables, &mut st)?;
        c.base = st.base;
        if let Some(w) = selection {
            let e = self.bind(w, Clause::Where, &c.names, &mut c.subqueries)?;
            push_conjuncts(e, 0, &mut c.joins.conds);
        }
        Ok(c)
    }

    /// Finishes the block; yields whether rows come without a sort.
    pub(crate) fn change_block(
        &self,
        c: Change<'_>,
        order: Vec<SortKey>,
        limit: Option<LimitPlan>,
    ) -> Result<(Block, bool), SqlError> {
        let mut block = Block::empty(c.base);
        let found = optimize(Request {
            names: &c.names,
            joins: c.joins,
            subqueries: &c.subqueries,
            base: c.base,
            straight: false,
            order: &order,
            has_limit: limit.is_some(),
            group: None,
        })?;
        block.steps = found.steps;
        block.constant = found.constant;
        block.order = if found.ordered { Vec::new() } else { order };
        block.tables = c
            .names
            .tables
            .iter()
            .map(|t| TablePlan {
                source: t.source.clone(),
                alias: t.alias.clone(),
                lock: None,
            })
            .collect();
        block.derived = c.derived;
        block.subqueries = c.subqueries;
        block.limit = limit;
        super::select::finish_block(&mut block);
        Ok((block, found.ordered))
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

    /// `sql_safe_updates` wants a key or a LIMIT.
    ///
    /// # Errors
    /// 1175.
    pub(crate) fn check_safe(&self, block: &Block) -> Result<(), SqlError> {
        let everything = block
            .steps
            .iter()
            .any(|s| matches!(s.access, Access::Full { .. }) && s.buffer.is_none());
        if everything && block.limit.is_none() && self.ctx.cx.vars.hot().safe_updates {
            return Err(SqlError::new(
                codes::ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE,
                "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column. ",
            ));
        }
        Ok(())
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
    pub(crate) fn update(&self, u: &ast::Update) -> Result<UpdatePlan, SqlError> {
        if u.with.is_some() {
            return Err(SqlError::not_supported("WITH in UPDATE"));
        }
        let usage = match u.tables.as_slice() {
            [ast::TableRef::Table(_)] => Usage::Update,
            _ => Usage::UpdateOrRead,
        };
        let mut c = self.change_tables(&u.tables, None, usage)?;
        let mut targets: Vec<UpdateTarget> = Vec::new();
        for a in &u.assignments {
            let (table, column) = target_column(&c.names, &a.column)
                .map_err(|e| self.hide_column(&c.names, &a.column, e))?;
            let value = match &a.value {
                ast::Expr::Default => None,
                e => Some(self.bind(e, Clause::FieldList, &c.names, &mut c.subqueries)?),
            };
            let assign = Assign { column, value };
            match targets.iter_mut().find(|t| t.table == table) {
                Some(t) => t.assigns.push(assign),
                None => targets.push(UpdateTarget {
                    table,
                    assigns: vec![assign],
                    defaults: Vec::new(),
                    touch: Vec::new(),
                }),
            }
        }
        if let Some(w) = &u.selection {
            let e = self.bind(w, Clause::Where, &c.names, &mut c.subqueries)?;
            push_conjuncts(e, 0, &mut c.joins.conds);
        }
        self.guard_updates(&c.names, &targets)?;
        for t in &mut targets {
            let table = target_table(&c.names, t.table, "UPDATE")?;
            not_read_below(&table, &c.subqueries)?;
            t.defaults = self.assigned_defaults(&table, &t.assigns)?;
            t.touch = touched(&table, &t.assigns);
        }
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
        let (block, ordered) = self.change_block(c, order, limit)?;
        self.check_safe(&block)?;
        let streaming = ordered && can_stream(&block) && scan_untouched(&block, &targets[0]);
        let lone = targets.len() == 1 && is_lone(&block, &targets[0]);
        Ok(UpdatePlan {
            block,
            targets,
            ignore: u.ignore,
            streaming,
            lone,
        })
    }
}

impl Planner<'_> {
    /// Checks the tables that change, and of those that do not, that they may be read; and the columns that are assigned.
    fn guard_updates(&self, names: &Names<'_>, targets: &[UpdateTarget]) -> Result<(), SqlError> {
        for (i, t) in names.tables.iter().enumerate() {
            let TableSource::Engine(table) = &t.source else {
                continue;
            };
            let Some(target) = targets.iter().find(|x| usize::from(x.table) == i) else {
                self.guard_table(&t.schema, &t.name, Usage::Read)?;
                continue;
            };
            self.guard_target(&t.schema, &t.name, Priv::Update)?;
            let columns = target.assigns.iter();
            let columns = columns.map(|a| column_name(table, a.column)).collect();
            self.require_columns(&t.schema, &t.name, Priv::Update, columns)?;
        }
        Ok(())
    }
}

/// Whether the rows of a change can be handled as they are read.
pub(crate) fn can_stream(block: &Block) -> bool {
    block.steps.len() == 1 && block.steps[0].late.is_empty() && block.steps[0].buffer.is_none()
}

/// See [`UpdatePlan::lone`].
fn is_lone(block: &Block, target: &UpdateTarget) -> bool {
    let [table] = &block.tables[..] else {
        return false;
    };
    let Some(table) = table.stored() else {
        return false;
    };
    let by_key = can_stream(block) && matches!(block.steps[0].access, Access::Get(_));
    let more = block.limit.is_some()
        || !block.order.is_empty()
        || !block.constant.is_empty()
        || !block.subqueries.is_empty();
    let columns = 0..table.def.columns.len() as u16;
    let indexed = columns
        .into_iter()
        .any(|c| changes(target, c) && table.is_indexed(c));
    let generated = table.def.columns.iter().any(|c| c.generated.is_some());
    by_key && !more && !generated && !indexed
}

/// Whether a column is assigned, or takes the time of the change.
fn changes(target: &UpdateTarget, column: u16) -> bool {
    target.touch.contains(&column) || target.assigns.iter().any(|a| a.column == column)
}

/// Whether the assignments leave the scanned index and the clustered key alone.
fn scan_untouched(block: &Block, target: &UpdateTarget) -> bool {
    let Some(table) = block.tables[0].stored() else {
        return false;
    };
    let index = match &block.steps[0].access {
        Access::Full { index, .. } => *index,
        Access::Range(r) => r.index,
        Access::Get(_) | Access::Nothing => 0,
    };
    let moves = |i: usize| {
        let mut parts = table.def.indexes[i].parts.iter();
        parts.any(|p| changes(target, p.column))
    };
    !moves(0) && !moves(index)
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
        key.any(|p| t.assigns.iter().any(|a| a.column == p.column))
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
/// 1093.
pub(crate) fn not_read_below(table: &Arc<Table>, subqueries: &[SubPlan]) -> Result<(), SqlError> {
    if subqueries.iter().any(|s| reads(&s.query, table)) {
        return Err(SqlError::new(
            codes::ER_UPDATE_TABLE_USED,
            format!(
                "You can't specify target table '{}' for update in FROM clause",
                table.def.name
            ),
        ));
    }
    Ok(())
}

/// Whether a query names the table itself; derived tables are copies and do not count.
fn reads(q: &QueryPlan, table: &Arc<Table>) -> bool {
    match &q.body {
        Body::Block(b) => {
            b.tables
                .iter()
                .any(|t| t.stored().is_some_and(|t| Arc::ptr_eq(t, table)))
                || b.subqueries.iter().any(|s| reads(&s.query, table))
        }
        Body::Rows(_, subs) => subs.iter().any(|s| reads(&s.query, table)),
        Body::Set(first, arms) => {
            reads(first, table) || arms.iter().any(|a| reads(&a.query, table))
        }
    }
}
