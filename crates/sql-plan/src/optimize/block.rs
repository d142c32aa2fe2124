//! The plan of one block.

use types::SqlError;
use types::error::codes;

use crate::bind::places::Places;
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::bind::subqueries_of;
use crate::bind::tree::{BoundBlock, GroupPlan, LimitPlan, SortKey, Yields};
use crate::optimize::Optimizer;
use crate::optimize::conditions::Request;
use crate::optimize::hints;
use crate::optimize::physical::covering;
use crate::optimize::physical::fast;
use crate::optimize::physical::fused;
use crate::optimize::physical::lateral;
use crate::optimize::physical::sorted;
use crate::optimize::physical::spool;
use crate::optimize::physical::windows;
use crate::optimize::rewrite::computed;
use crate::optimize::rewrite::derived;
use crate::optimize::rewrite::extremes;
use crate::optimize::rewrite::needless;
use crate::optimize::rewrite::unnest;
use crate::optimize::search::first_rows;
use crate::optimize::search::joins::{self, JoinPlan};
use crate::optimize::statistics::Statistics;
use crate::optimize::statistics::groups;
use crate::optimize::statistics::selectivity::Estimator;
use crate::plan::op::window::WindowPlan;
use crate::plan::{
    Block, Distinct, Group, Grouping, Join, Jump, Limit, LockSpec, Op, Project, QueryPlan, Sort,
    TablePlan,
};
use sql_expr::Expr;

/// Groups for each row, where nothing better is known.
const GROUPED: f64 = 0.1;

impl Optimizer<'_> {
    /// Plans a block.
    pub(crate) fn block(&self, b: BoundBlock) -> Result<Block, SqlError> {
        self.block_of(b, false)
    }

    /// Plans a block; with `changes`, one whose rows are changed.
    pub(crate) fn block_of(&self, mut b: BoundBlock, changes: bool) -> Result<Block, SqlError> {
        self.simplify(&mut b, changes);
        let places = Places::new(b.base, b.tables.iter().map(|t| t.slot));
        let reads = read_of(&b, &places, changes);
        let by_key = lateral::candidates(&b, self.switches(), changes);
        let first_rows = first_rows::wanted(&b);
        let BoundBlock {
            number,
            base,
            tables,
            locks,
            derived,
            joins,
            straight,
            mut group,
            mut having,
            windows,
            mut output,
            mut distinct,
            mut order,
            limit,
            calc_found_rows,
            subqueries,
            yields,
            ..
        } = b;
        // Rows leave the joins in the order in which the block yields them.
        let in_turn = group.is_none() && windows.is_none();
        let mut derived = self.queries(derived)?;
        let derived_rows: Vec<f64> = derived.iter().map(crate::optimize::rows_of).collect();
        let makes: Vec<f64> = derived.iter().map(lateral::cost_of).collect();
        let request = Request {
            engine: self.ctx.engine,
            cx: self.ctx.cx,
            estimator: self.estimator(),
            derived: &derived_rows,
            makes: &makes,
            by_key: &by_key,
            plan: &|q| self.query(q),
            tables: &tables,
            joins,
            subqueries: &subqueries,
            places: &places,
            reads: &reads,
            straight,
            order: if in_turn { &order } else { &[] },
            has_limit: limit.is_some(),
            first_rows,
            changes,
            switches: self.switches(),
            distinct: (distinct && having.is_none() && in_turn).then_some(&output[..]),
            group_order: &order,
            having: having.is_some(),
            locks: locks.iter().any(Option::is_some),
            group: group.as_ref().map(|g| (&g.keys[..], &g.aggregates[..])),
        };
        let mut found = joins::plan(request)?;
        let keys = grouped_by(group.as_ref(), distinct, &output);
        let groups = keys.and_then(|keys| self.groups_of(keys, &tables, &derived_rows, found.rows));
        settle_groups(&mut found, &mut group, &mut distinct, &output);
        put_by_key(&tables, &mut derived, std::mem::take(&mut found.by_key));
        let shown = windows::Shown {
            output: &mut output,
            having: having.as_mut(),
            order: &mut order,
        };
        let windows = windows::carry(group.as_mut(), windows, shown, &subqueries, base);
        let in_order = found
            .groups
            .filter(|_| windows.is_none() && found.weedout.is_empty());
        let group = group.map(|plan| grouping(plan, in_order));
        let grouped = group.as_ref().is_some_and(Group::in_order) && in_order == Some(true);
        let behind = Behind {
            group,
            having,
            windows,
            output,
            yields,
            distinct,
            order,
            given: grouped || found.ordered && in_turn,
            limit,
            calc_found_rows,
        };
        let mut block = Block {
            id: self.node(),
            number,
            places,
            tables: tables.into_iter().zip(locks).map(table_plan).collect(),
            derived,
            subqueries: self.subqueries(subqueries)?,
            join: join_of(&mut found),
            ops: behind.operators(changes),
            special: false,
            rows: 0.0,
        };
        self.check_size(&block, changes)?;
        let jumps = found.jump.is_some();
        block.rows = rows_out(&block, (found.rows, groups), jumps, self.estimator());
        Ok(finish_block(block, found.jump, changes))
    }

    /// How many groups rows fall into by these values, where something is known of them.
    fn groups_of(
        &self,
        keys: &[Expr],
        tables: &[FromTable],
        derived: &[f64],
        rows: f64,
    ) -> Option<f64> {
        let figures = |t| Statistics::of(self.ctx.engine, t, derived);
        let statistics: Vec<Statistics<'_>> = tables.iter().map(figures).collect();
        groups::of(keys, &statistics, rows)
    }

    /// What is left out, moved or noted before the joins are looked at.
    fn simplify(&self, b: &mut BoundBlock, changes: bool) {
        if !changes {
            needless::remove(b);
        }
        derived::push_down(b, self.switches());
        computed::read_columns(b, self.ctx.cx);
        hints::arrange(&mut b.joins, &b.tables, &b.hints.orders);
        extremes::find_extremes(b);
        for t in &mut b.tables {
            if let (TableSource::Derived(n), Some(l)) = (&t.source, &mut t.lateral) {
                l.repeats = unnest::is_steady(&b.derived[*n as usize]);
            }
        }
    }

    /// `max_join_size`: how many rows a join may read, as far as can be told.
    ///
    /// # Errors
    /// 1104.
    fn check_size(&self, block: &Block, changes: bool) -> Result<(), SqlError> {
        if !self.runs || changes && block.tables.len() == 1 {
            return Ok(());
        }
        let hot = self.ctx.cx.vars.hot();
        let reads = block.join.steps.last().map_or(0.0, |s| s.cost);
        match hot.big_selects || reads <= hot.max_join_size as f64 {
            true => Ok(()),
            false => Err(SqlError::fixed(codes::ER_TOO_BIG_SELECT)),
        }
    }
}

/// The values of which each combination comes once, if any.
fn grouped_by<'e>(
    group: Option<&'e GroupPlan>,
    distinct: bool,
    output: &'e [Expr],
) -> Option<&'e [Expr]> {
    match group {
        Some(g) => (!g.keys.is_empty()).then_some(&g.keys[..]),
        None => distinct.then_some(output),
    }
}

/// What was found of the joins, as an operator.
fn join_of(found: &mut JoinPlan) -> Join {
    Join {
        steps: std::mem::take(&mut found.steps),
        constant: std::mem::take(&mut found.constant),
        weedout: std::mem::take(&mut found.weedout),
        ..Join::default()
    }
}

/// The columns that are read of each table, by place; none where rows are changed.
fn read_of(b: &BoundBlock, places: &Places, changes: bool) -> Vec<Vec<u16>> {
    match changes {
        true => Vec::new(),
        false => covering::columns_read(b, places),
    }
}

/// Tells the aggregates what comes in order, takes back jumps that do not go with the groups, and makes groups of rows that are wanted once.
fn settle_groups(
    found: &mut JoinPlan,
    group: &mut Option<GroupPlan>,
    distinct: &mut bool,
    output: &[Expr],
) {
    if let Some(g) = group {
        let told = found.neighbours.iter();
        told.for_each(|n| g.aggregates[*n].neighbours = true);
    }
    if found.jump.is_none() {
        return;
    }
    match group {
        Some(g) if g.rollup.is_some() => found.jump = None,
        Some(_) => {}
        None => {
            *group = Some(GroupPlan::of_values(output));
            *distinct = false;
        }
    }
}

/// How groups are found, before it is known what of the joins may be fused with them; with `in_order`, the rows of each come one behind
/// the other.
fn grouping(plan: GroupPlan, in_order: Option<bool>) -> Group {
    let how = match (&plan.rollup, in_order) {
        (Some(_), _) => Grouping::Rollup,
        (None, Some(_)) => Grouping::InOrder,
        (None, None) => Grouping::Hashed,
    };
    Group {
        plan,
        how,
        subqueries: Vec::new(),
    }
}

/// What becomes of the rows of the joins.
struct Behind {
    group: Option<Group>,
    having: Option<Expr>,
    windows: Option<Box<WindowPlan>>,
    output: Vec<Expr>,
    yields: Yields,
    distinct: bool,
    order: Vec<SortKey>,
    /// They come in that order.
    given: bool,
    limit: Option<LimitPlan>,
    calc_found_rows: bool,
}

impl Behind {
    /// The operators that do it. Where rows are changed, none makes values of them.
    fn operators(self, changes: bool) -> Vec<Op> {
        let plain = fast::plain_columns(&self.output);
        let mut distinct = self.distinct.then_some(Distinct {
            by_order: false,
            sorts: false,
        });
        let mut sort = (!self.order.is_empty()).then(|| Sort {
            column: sorted::by_column(&self.order, plain.as_deref()),
            keys: self.order,
            given: self.given,
        });
        if let (Some(d), Some(s)) = (&mut distinct, sort.as_mut().filter(|s| !s.given)) {
            d.by_order = sorted::tells_apart(&s.keys, &self.output, plain.as_deref());
            d.sorts = d.by_order && s.column.is_some() && !self.calc_found_rows;
        }
        let project = (!changes).then(|| {
            Box::new(Project {
                values: self.output,
                plain,
                yields: self.yields,
            })
        });
        let limit = (self.limit.is_some() || self.calc_found_rows).then_some(Limit {
            plan: self.limit,
            counts_all: self.calc_found_rows,
        });
        let all = [
            self.group.map(|g| Op::Group(Box::new(g))),
            self.having.map(|e| Op::Filter(Box::new(e))),
            self.windows.map(Op::Window),
            project.map(Op::Project),
            distinct.map(Op::Distinct),
            sort.map(Op::Sort),
            limit.map(Op::Limit),
        ];
        all.into_iter().flatten().collect()
    }
}

fn table_plan((t, lock): (FromTable, Option<LockSpec>)) -> TablePlan {
    TablePlan {
        source: t.source,
        slot: t.slot,
        alias: t.alias,
        columns: t.derived.into_iter().map(|c| c.name).collect(),
        lock,
    }
}

/// Puts the queries that run for one key at a time in place of those that make everything.
fn put_by_key(tables: &[FromTable], derived: &mut [QueryPlan], by_key: Vec<(usize, QueryPlan)>) {
    for (t, query) in by_key {
        if let TableSource::Derived(n) = tables[t].source {
            derived[n as usize] = query;
        }
    }
}

/// Rows that a block yields, where `joined` come out of its joins, or out of the jumps that make its groups, and so many `groups` of them are known.
fn rows_out(
    block: &Block,
    (joined, groups): (f64, Option<f64>),
    jumps: bool,
    estimator: Estimator<'_>,
) -> f64 {
    let rows = match block.group() {
        Some(g) if g.keys.is_empty() => 1.0,
        // They are counted already.
        Some(_) if jumps => joined,
        Some(_) => groups.unwrap_or_else(|| (joined * GROUPED).max(1.0)),
        None => groups.unwrap_or(joined),
    };
    let kept = block.having().map_or(1.0, |h| estimator.of_groups(h));
    let rows = (rows * kept).max(rows.min(1.0));
    let most = block.limit().and_then(|l| first_rows::number(&l.count));
    most.map_or(rows, |n| rows.min(n))
}

/// Fills in what follows from a block's expressions.
fn finish_block(mut block: Block, jump: Option<Jump>, changes: bool) -> Block {
    let correlated = |exprs: &mut dyn Iterator<Item = &Expr>| {
        let mut out: Vec<u32> = Vec::new();
        for e in exprs {
            subqueries_of(e, &mut out);
        }
        out.retain(|&i| block.subqueries[i as usize].correlated);
        out.sort_unstable();
        out.dedup();
        out
    };
    let keys = || block.order().iter().map(|k| &k.expr);
    let shown = || block.output().iter().chain(keys());
    // Behind window functions, the select list and the order are of other rows.
    let late = match block.windows() {
        Some(w) => correlated(&mut w.inputs.iter().chain(block.having())),
        None => correlated(&mut shown().chain(block.having())),
    };
    let group_inputs = || {
        let all = block.group().into_iter();
        all.flat_map(|g| {
            let args = g.aggregates.iter().flat_map(|a| a.inputs());
            g.keys.iter().chain(args)
        })
    };
    let window_inputs = block.windows().into_iter().flat_map(|w| &w.inputs);
    let inputs = group_inputs().chain(window_inputs);
    let special = shown()
        .chain(block.having())
        .chain(inputs)
        .any(Expr::has_special);
    let (of_rows, of_groups) = match block.group() {
        Some(_) => (correlated(&mut group_inputs()), late),
        None => (late, Vec::new()),
    };
    block.special = special;
    block.join.subqueries = of_rows;
    if let Some(g) = block.grouping_mut() {
        g.subqueries = of_groups;
    }
    block.join.spool = spool::kept_form(&block);
    if !changes {
        covering::set_covers(&mut block, jump);
    }
    fused::decide(&mut block, jump);
    block
}
