//! From the bound statement to its plan: what keeps the meaning and costs less.
//!
//! ```text
//!  bound statement
//!        │  [`hints`]       what hints and `optimizer_switch` say goes to the tables and blocks it is about
//!        ▼
//!  [`rewrite`]              the same rows by another tree: derived tables merged, subqueries to joins, conditions moved
//!        │
//!        ▼     ┌─ [`statistics`]  how many rows, what share a condition leaves, what is in memory
//!  [`search`] ◀┤
//!        │     └─ [`physical::access`]  the ways to read a table, and what each costs
//!        │   the order of joins, by dynamic programming; steps with their conditions
//!        ▼
//!  [`physical`]             what the order leaves open: sorting, grouping, windows, jumps, what is kept, what is covered
//!        │
//!        ▼
//!      Plan                 short statements by key have a form of their own ([`physical::fast`])
//! ```
//!
//! A stage imports those before it, and the search asks `physical::access`. [`block`] leads one block through the stages and [`change`] one UPDATE or
//! DELETE; [`conditions`] is what all of them look at. Nothing here resolves a name, reads a row, takes a lock or waits.

mod block;
mod change;
mod conditions;
mod hints;
mod physical;
mod rewrite;
mod search;
mod statistics;

pub use rewrite::computed::{is_kept_alike, is_same_everywhere};
use rewrite::{derived, exists, quantified, unnest};
use statistics::selectivity::Estimator;

use std::cell::{Cell, RefCell};

use types::SqlError;

use crate::bind::tree::{
    Body, BoundBlock, BoundBody, BoundQuery, BoundStatement, BoundSub, FIRST_SPECIAL_SLOT, Insert,
    InsertRows, NodeId, Query, Recursive, SetArm, Sub, UsedTable,
};
use crate::bind::{self, BindCtx};
use crate::plan::estimates::Estimate;
use crate::plan::{Block, InsertPlan, Plan, PlanBody, QueryPlan, SubPlan, explain};
use sql_expr::ExprType;
use sql_expr::memory::Charge;
use sql_expr::vars::Switches;
use sql_parser::ast;

/// Binds and plans a statement: a query, INSERT, REPLACE, UPDATE, DELETE, DO or EXPLAIN. The plan can run any number of times with
/// other parameters.
///
/// # Errors
/// What MySQL says of names, types and clauses before it runs the statement; 1235 for what is not carried out here.
pub fn prepare(ctx: &BindCtx<'_>, stmt: &ast::Statement) -> Result<Plan, SqlError> {
    plan(ctx, bind::bind(ctx, stmt)?)
}

/// Plans `SELECT expr, ..` of expressions without a table, for SET, DO and the like.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_values(
    ctx: &BindCtx<'_>,
    exprs: &[&ast::Expr],
) -> Result<(Plan, Vec<ExprType>), SqlError> {
    let (bound, types) = bind::bind_values(ctx, exprs)?;
    Ok((plan(ctx, bound)?, types))
}

fn plan(ctx: &BindCtx<'_>, mut bound: BoundStatement) -> Result<Plan, SqlError> {
    hints::names::resolve(&mut bound.body, &bound.facts.hints, ctx.cx);
    let optimizer = Optimizer {
        ctx,
        next_slot: Cell::new(bound.facts.next_slot),
        last_node: Cell::new(0),
        noted: RefCell::default(),
        runs: !matches!(bound.body, BoundBody::Explain(..)),
    };
    let mut columns = bound.columns;
    let body = match bound.body {
        BoundBody::Explain(inner, form) => {
            let body = optimizer.body(*inner)?;
            let shown = std::mem::take(&mut columns);
            columns = explain::columns(form);
            PlanBody::Explain(Box::new(explain::shown(body, form, &shown)?))
        }
        BoundBody::Query(q) => {
            let mut q = optimizer.query(*q)?;
            match physical::fast::point_get(&mut q) {
                Some(point) => PlanBody::PointGet(Box::new(point)),
                None => PlanBody::Query(Box::new(q)),
            }
        }
        body => optimizer.body(body)?,
    };
    let writes = matches!(
        body,
        PlanBody::Insert(_) | PlanBody::Update(_) | PlanBody::Delete(_)
    );
    let facts = bound.facts;
    let decided = match &body {
        PlanBody::PointGet(_) => false,
        PlanBody::Insert(i) => matches!(i.source, InsertRows::Query(_)),
        PlanBody::Update(u) => !u.single_row,
        _ => true,
    };
    let versions = facts.tables.iter().map(|t| t.table.stats_version());
    let figures = if decided {
        versions.collect()
    } else {
        Box::default()
    };
    let estimates = match decided {
        true => optimizer.noted.take().into(),
        false => Box::default(),
    };
    let mut tables = facts.tables;
    for t in facts.related {
        UsedTable::add(&mut tables, &t.table, t.writes);
    }
    if let PlanBody::Explain(x) = &body
        && x.analyzed.is_none()
    {
        // What it is about does not run.
        tables.iter_mut().for_each(|t| t.writes = false);
    }
    Ok(Plan {
        figures,
        estimates,
        needs: facts.needs,
        catalog_version: ctx.catalog.version,
        tables,
        views: facts.views.into(),
        columns: columns.into(),
        params: facts.params,
        typed_params: facts.typed_params,
        writes,
        locks: writes || facts.locks,
        private: facts.private,
        deep: types::depth::room::is_here(),
        time_limit: facts.time_limit,
        charge: Charge::default(),
        body,
    })
}

/// Planning one statement.
struct Optimizer<'a> {
    ctx: &'a BindCtx<'a>,
    next_slot: Cell<u16>,
    /// The name of the last node.
    last_node: Cell<u32>,
    /// What of its choices follows from parameters.
    noted: RefCell<Vec<Estimate>>,
    /// What is planned is to run, and not to be explained.
    runs: bool,
}

impl Optimizer<'_> {
    /// How many rows conditions leave.
    fn estimator(&self) -> Estimator<'_> {
        Estimator {
            cx: self.ctx.values,
            noted: &self.noted,
        }
    }

    /// A name for a node, which no other node of the statement has.
    fn node(&self) -> NodeId {
        self.last_node.update(|n| n + 1);
        NodeId(self.last_node.get())
    }

    /// What `optimizer_switch` allows.
    fn switches(&self) -> Switches {
        self.ctx.cx.vars.hot().optimizer_switch
    }

    /// Rewrites a SELECT and the subqueries that may become part of it.
    fn rewrite(&self, b: &mut BoundBlock) {
        if std::mem::replace(&mut b.rewritten, true) {
            return;
        }
        for s in &mut b.subqueries {
            if let Body::Block(inner) = &mut s.query.body {
                self.rewrite(inner);
            }
        }
        for q in &mut b.derived {
            if let Body::Block(inner) = &mut q.body {
                self.rewrite(inner);
            }
        }
        let switches = self.switches();
        derived::merge_all(b, switches);
        let comes_again =
            |b: &BoundBlock, s: &BoundSub| quantified::comes_again(self.ctx.engine, b, s);
        unnest::unnest(b, switches, &comes_again, &mut || {
            let slot = self.next_slot.get();
            let next = slot.checked_add(1).filter(|n| *n < FIRST_SPECIAL_SLOT)?;
            self.next_slot.set(next);
            Some(slot)
        });
        exists::make_lists(b, self.ctx.engine, self.estimator());
    }

    fn body(&self, body: BoundBody) -> Result<PlanBody, SqlError> {
        Ok(match body {
            BoundBody::Query(q) => PlanBody::Query(Box::new(self.query(*q)?)),
            BoundBody::Insert(i) => PlanBody::Insert(Box::new(self.insert(*i)?)),
            BoundBody::Update(u) => PlanBody::Update(Box::new(self.update(*u)?)),
            BoundBody::Delete(d) => PlanBody::Delete(Box::new(self.delete(*d)?)),
            BoundBody::Do(b) => PlanBody::Do(Box::new(self.block(*b)?)),
            BoundBody::Explain(..) => return Err(SqlError::not_supported("EXPLAIN of EXPLAIN")),
        })
    }

    fn query(&self, q: BoundQuery) -> Result<QueryPlan, SqlError> {
        let body = match q.body {
            Body::Block(mut b) => {
                self.rewrite(&mut b);
                Body::Block(Box::new(self.block(*b)?))
            }
            Body::Rows(rows, subs) => Body::Rows(rows, self.subqueries(subs)?),
            Body::Set(first, arms) => {
                let first = self.query(*first)?;
                let arm = |a: SetArm<BoundBlock>| {
                    Ok(SetArm {
                        op: a.op,
                        all: a.all,
                        query: self.query(a.query)?,
                    })
                };
                let arms = arms.into_iter().map(arm).collect::<Result<_, SqlError>>()?;
                Body::Set(Box::new(first), arms)
            }
            Body::Recursive(r) => Body::Recursive(Box::new(Recursive {
                seed: self.query(r.seed)?,
                members: self.queries(r.members)?,
                distinct: r.distinct,
                feed: r.feed,
                columns: r.columns,
            })),
            Body::Feed(feed) => Body::Feed(feed),
            Body::Json(rows) => Body::Json(rows),
        };
        Ok(Query {
            body,
            types: q.types,
            order: q.order,
            limit: q.limit,
            into: q.into,
            lowest: q.lowest,
            shared: q.shared,
        })
    }

    fn queries(&self, list: Vec<BoundQuery>) -> Result<Vec<QueryPlan>, SqlError> {
        list.into_iter().map(|q| self.query(q)).collect()
    }

    fn subqueries(&self, list: Vec<BoundSub>) -> Result<Vec<SubPlan>, SqlError> {
        let plan = |s: BoundSub| {
            Ok(Sub {
                id: self.node(),
                repeats: s.correlated && !s.outer.is_empty() && unnest::is_steady(&s.query),
                query: self.query(s.query)?,
                kind: s.kind,
                correlated: s.correlated,
                outer: s.outer,
                extreme: s.extreme,
            })
        };
        list.into_iter().map(plan).collect()
    }

    fn insert(&self, i: Insert<BoundBlock>) -> Result<InsertPlan, SqlError> {
        let source = match i.source {
            InsertRows::Values(rows) => InsertRows::Values(rows),
            InsertRows::Query(q) => InsertRows::<Block>::Query(Box::new(self.query(*q)?)),
        };
        Ok(Insert {
            source,
            subqueries: self.subqueries(i.subqueries)?,
            table: i.table,
            slot: i.slot,
            replace: i.replace,
            ignore: i.ignore,
            columns: i.columns,
            source_columns: i.source_columns,
            defaults: i.defaults,
            on_duplicate: i.on_duplicate,
            touch: i.touch,
            rules: i.rules,
            rules_of_changes: i.rules_of_changes,
            relations: i.relations,
            through: i.through,
            checks: self.subqueries(i.checks)?,
        })
    }
}

/// How often a recursive query is carried out, where nothing is known.
const ITERATIONS: f64 = 10.0;
/// How many rows it reads each time.
const FED: f64 = 2.0;
/// How many rows a document has, as MySQL guesses.
const OF_DOCUMENT: f64 = 2.0;

/// Rows that a query yields, roughly.
fn rows_of(q: &QueryPlan) -> f64 {
    match &q.body {
        Body::Block(b) => b.rows,
        Body::Rows(rows, _) => rows.len() as f64,
        Body::Set(first, arms) => {
            rows_of(first) + arms.iter().map(|a| rows_of(&a.query)).sum::<f64>()
        }
        Body::Recursive(r) => {
            let members = r.members.iter().map(rows_of).sum::<f64>();
            rows_of(&r.seed) + members * ITERATIONS
        }
        Body::Feed(_) => FED,
        Body::Json(_) => OF_DOCUMENT,
    }
}
