//! GROUP BY .. WITH ROLLUP: the rows are sorted by the grouping values, and go through once. There is one state for each level: a group
//! of all grouping values, of all but the last, and so on to that of all rows. Where a value changes, the groups that end with it are
//! sent, the smallest first, as MySQL does.
//!
//! Never here: what an expression of such a row reads (`bind::rollup`).

use types::{SqlError, Value, ValueRef};

use crate::Env;
use crate::keys::mode;
use crate::op::join::Join;
use crate::op::sort::{Sorter, write_key_part};
use crate::op::tail::Tail;
use crate::pause::flush_now_and_then;
use crate::row::OnlySubs;
use crate::spill::Room;
use crate::spill::group::columns_of;
use crate::spill::record::read_values;
use crate::sub::{self, SubValues};
use sql_expr::agg::{Accumulator, AggSpec};
use sql_expr::batch::has_effects;
use sql_expr::memory::Charge;
use sql_expr::{
    AGGREGATE_SLOT, Column, EvalCtx, Expr, Node, RowSource, SubquerySource, Val, write_group_key,
};
use sql_plan::plan::tally::Place;
use sql_plan::plan::{Block, GROUP_SLOT, GroupPlan, ROLLUP_SLOT, Rollup};
use sql_plan::sink::ResultSink;

impl Env<'_> {
    /// Makes the groups of a block's rows and sends them; yields the values of its subqueries.
    pub(crate) async fn roll(
        &mut self,
        block: &Block,
        (plan, rollup): (&GroupPlan, &Rollup),
        outer: &dyn RowSource,
        subs: SubValues,
        out: &mut Tail<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<SubValues, SqlError> {
        let groups = Rolling::new(block, plan, rollup, self.cx);
        groups.run(self, outer, subs, out, sink).await
    }
}

/// The groups of a block, level by level.
struct Rolling<'p> {
    block: &'p Block,
    plan: &'p GroupPlan,
    rollup: &'p Rollup,
    /// The aggregates; what has to be computed for a row where it stands is a value of the sorted row.
    specs: Vec<AggSpec>,
    early: Vec<Expr>,
    /// The columns that a sorted row has, behind the grouping values and what was computed.
    columns: Vec<(u16, u16)>,
    /// Where the columns are that a group carries, and which of its values are grouping values.
    carried: Vec<(usize, Option<usize>)>,
    /// One for each aggregate of each level.
    states: Vec<Accumulator>,
    _charge: Charge,
    /// The bytes of the grouping values of the present group.
    group: Vec<Vec<u8>>,
    /// The values themselves, and the columns of its first row.
    keys: Vec<Value>,
    first: Vec<Value>,
    begun: bool,
    /// What the aggregates of the group came to that is sent, and how many of its values are not NULL.
    finished: Vec<Val<'static>>,
    level: usize,
    sent: u64,
}

/// Whether an expression is to be computed for a row where it stands: it is something else later, or would be done again.
fn is_early(e: &Expr) -> bool {
    has_effects(e)
        || e.has_special()
        || e.any(&|x| {
            matches!(
                x.node,
                Node::Subquery(_) | Node::Exists(_) | Node::Quantified(_)
            )
        })
}

impl<'p> Rolling<'p> {
    /// No rows yet.
    fn new(
        block: &'p Block,
        plan: &'p GroupPlan,
        rollup: &'p Rollup,
        cx: &EvalCtx<'_>,
    ) -> Rolling<'p> {
        let mut specs = plan.aggregates.clone();
        let mut early = Vec::new();
        for spec in &mut specs {
            let order = spec.order_by.iter_mut().map(|(e, _)| e);
            for e in spec.args.iter_mut().chain(order).filter(|e| is_early(e)) {
                let node = Node::Column(Column {
                    slot: ROLLUP_SLOT,
                    ordinal: early.len() as u16,
                    utc: false,
                    name: "".into(),
                });
                let ty = e.ty;
                early.push(std::mem::replace(e, Expr { node, ty }));
            }
        }
        let columns = columns_of(plan);
        let behind = 2 * plan.keys.len() + early.len();
        let carried = plan.carried.iter().filter_map(Expr::as_column).map(|c| {
            let own = (c.slot, c.ordinal);
            let is_own = |k: &Expr| k.as_column().is_some_and(|k| (k.slot, k.ordinal) == own);
            let at = columns.iter().position(|x| *x == own).unwrap_or_default();
            (behind + at, plan.keys.iter().position(is_own))
        });
        let carried = carried.collect();
        let levels = plan.keys.len() + 1;
        let mut states = Vec::new();
        let mut charge = Charge::to(cx.memory());
        // Where there is no room the session fails at the next look.
        let _refused = charge.reserve(&mut states, levels * specs.len());
        for _ in 0..levels {
            states.extend(specs.iter().map(AggSpec::start));
        }
        Rolling {
            block,
            plan,
            rollup,
            specs,
            early,
            columns,
            carried,
            states,
            _charge: charge,
            group: vec![Vec::new(); plan.keys.len()],
            keys: Vec::new(),
            first: Vec::new(),
            begun: false,
            finished: Vec::new(),
            level: 0,
            sent: 0,
        }
    }

    /// Makes the groups of the block's rows and sends them.
    async fn run(
        mut self,
        env: &mut Env<'_>,
        outer: &dyn RowSource,
        subs: SubValues,
        out: &mut Tail<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<SubValues, SqlError> {
        let (sorter, mut subs) = self.sorter(env, outer, subs).await?;
        let sorted = sorter.finish(env).await?;
        let begun = env.begun();
        for &r in &sorted.order {
            let values: Vec<ValueRef<'_>> = sorted.rows.row(r as usize).collect();
            if !self
                .add_row(&values, env, outer, &mut subs, out, sink)
                .await?
            {
                return Ok(subs);
            }
        }
        if let Some(mut merged) = sorted.merged {
            while merged.advance().await? {
                let values = read_values(merged.row(), &merged.members)?;
                if !self
                    .add_row(&values, env, outer, &mut subs, out, sink)
                    .await?
                {
                    return Ok(subs);
                }
            }
        }
        if self.begun {
            self.send(0, env, outer, &mut subs, out, sink).await?;
        }
        env.tell(self.block, Place::Groups, begun, 1, self.sent);
        Ok(subs)
    }

    /// The rows, sorted by the grouping values.
    async fn sorter(
        &self,
        env: &mut Env<'_>,
        outer: &dyn RowSource,
        subs: SubValues,
    ) -> Result<(Sorter, SubValues), SqlError> {
        let cx = env.cx;
        let block = self.block;
        let n = self.plan.keys.len();
        let width = 2 * n + self.early.len() + self.columns.len();
        let mut sorter = Sorter::new(width, u64::MAX, cx.memory()).with_room(Room::sort(cx));
        let mut join = Join::new(block, outer, subs, |t| mode(block, t));
        let mut key = Vec::new();
        let mut groups = vec![Vec::new(); n];
        while join.next(env).await? {
            join.fill(&block.join.subqueries, env).await?;
            let row = join.tuple();
            if block.special {
                let waiting = || {
                    let mut all = self.plan.keys.iter().chain(&self.early);
                    all.try_for_each(|e| e.eval(cx, &row).map(drop))
                };
                env.ahead(waiting).await?;
            }
            key.clear();
            let mut values: Vec<Val<'_>> = Vec::with_capacity(n + self.early.len());
            for (k, group) in self.rollup.order.iter().zip(&mut groups) {
                let v = k.expr.eval(cx, &row)?;
                group.clear();
                write_group_key(&v, &k.expr.ty, group);
                write_key_part(k, &v, &mut key);
                values.push(v);
            }
            for e in &self.early {
                values.push(e.eval(cx, &row)?);
            }
            let computed = self.rollup.order.iter().map(|k| &k.expr).chain(&self.early);
            let computed = values.iter().zip(computed);
            let computed = computed.map(|(v, e)| v.as_computed_ref(&e.ty));
            let columns = self.columns.iter().map(|(slot, c)| row.column(*slot, *c));
            let groups = groups.iter().map(|g| ValueRef::Bytes(g));
            sorter.add(&key, groups.chain(computed).chain(columns));
            if block.special {
                cx.row_done();
            }
            if sorter.is_untidy() {
                sorter.tidy(env).await?;
            }
            if env.due() {
                env.pause().await?;
            }
        }
        Ok((sorter, std::mem::take(&mut join.subs)))
    }

    /// Takes a row into its groups, those before it that end with it sent; `false` where no more are wanted.
    async fn add_row(
        &mut self,
        values: &[ValueRef<'_>],
        env: &mut Env<'_>,
        outer: &dyn RowSource,
        subs: &mut SubValues,
        out: &mut Tail<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<bool, SqlError> {
        let n = self.plan.keys.len();
        let bytes = |v: &ValueRef<'_>| match v {
            ValueRef::Bytes(b) => b.to_vec(),
            _ => Vec::new(),
        };
        let same = |(v, own): (&ValueRef<'_>, &Vec<u8>)| matches!(v, ValueRef::Bytes(b) if *b == own.as_slice());
        let changed = match self.begun {
            true => { values[..n].iter().zip(&self.group) }.position(|p| !same(p)),
            false => Some(0),
        };
        if let Some(changed) = changed {
            if self.begun && !self.send(changed + 1, env, outer, subs, out, sink).await? {
                return Ok(false);
            }
            self.begun = true;
            self.group = values[..n].iter().map(bytes).collect();
            self.keys = values[n..2 * n]
                .iter()
                .map(|v| ValueRef::to_owned(*v))
                .collect();
            let first = self.carried.iter().map(|(at, _)| values[*at].to_owned());
            self.first = first.collect();
        }
        let cx = env.cx;
        cx.let_go();
        let m = self.specs.len();
        let row = SortedRow {
            values: &values[2 * n..],
            early: self.early.len(),
            columns: &self.columns,
            rest: &OnlySubs { subs, outer },
        };
        for (i, state) in self.states.iter_mut().enumerate() {
            state.add(&self.specs[i % m], cx, &row)?;
        }
        if env.due() {
            env.pause().await?;
        }
        Ok(true)
    }

    /// Sends the groups that end, down to that of so many values; `false` where no more are wanted.
    async fn send(
        &mut self,
        least: usize,
        env: &mut Env<'_>,
        outer: &dyn RowSource,
        subs: &mut SubValues,
        out: &mut Tail<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<bool, SqlError> {
        let cx = env.cx;
        let m = self.specs.len();
        for level in (least..=self.plan.keys.len()).rev() {
            self.level = level;
            self.finished.clear();
            for (i, spec) in self.specs.iter().enumerate() {
                let state = std::mem::replace(&mut self.states[level * m + i], spec.start());
                self.finished.push(state.finish(spec, cx)?);
            }
            let after = self.block.grouping().map_or(&[][..], |g| &g.subqueries);
            for &i in after {
                let rest = OnlySubs { subs, outer };
                let sub = &self.block.subqueries[i as usize];
                let rows = sub::rows(sub, env, &self.row(&rest)).await?;
                subs.set(i, rows);
            }
            let rest = OnlySubs { subs, outer };
            let row = self.row(&rest);
            if self.block.special {
                env.ahead(|| out.rehearse(cx, &row)).await?;
            }
            loop {
                let pushed = out.push(cx, &row, sink);
                if env.settle(pushed).await?.is_some() {
                    break;
                }
            }
            self.sent += 1;
            if out.full() {
                return Ok(false);
            }
            out.tidy(env).await?;
            flush_now_and_then(self.sent, env, sink).await?;
        }
        Ok(true)
    }

    fn row<'a>(&'a self, rest: &'a dyn RowSource) -> RolledRow<'a> {
        RolledRow { groups: self, rest }
    }
}

/// A sorted row, for the aggregates.
struct SortedRow<'a> {
    /// What was computed, then columns.
    values: &'a [ValueRef<'a>],
    early: usize,
    columns: &'a [(u16, u16)],
    rest: &'a dyn RowSource,
}

impl RowSource for SortedRow<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        if slot == ROLLUP_SLOT {
            return self.values[usize::from(ordinal)];
        }
        match self.columns.iter().position(|c| *c == (slot, ordinal)) {
            Some(at) => self.values[self.early + at],
            None => self.rest.column(slot, ordinal),
        }
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        self.rest.subqueries()
    }
}

/// A group, or what several groups come to together, as a row.
struct RolledRow<'a> {
    groups: &'a Rolling<'a>,
    rest: &'a dyn RowSource,
}

impl RolledRow<'_> {
    /// A column of the group; NULL where it is a grouping value in which the groups differ.
    fn carried(&self, at: usize) -> ValueRef<'_> {
        let g = self.groups;
        match g.carried[at].1 {
            Some(key) if key >= g.level => ValueRef::Null,
            _ => g.first[at].as_ref(),
        }
    }

    fn rolled(&self, at: usize) -> ValueRef<'_> {
        let g = self.groups;
        if at < g.keys.len() {
            return match at < g.level {
                true => g.keys[at].as_ref(),
                false => ValueRef::Null,
            };
        }
        let places = g.rollup.groupings.get(at - g.keys.len());
        let bits = places.into_iter().flatten();
        let bits = bits.map(|p| u64::from(usize::from(*p) >= g.level));
        ValueRef::Int(bits.fold(0u64, |n, b| n << 1 | b) as i64)
    }
}

impl RowSource for RolledRow<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        let g = self.groups;
        let at = usize::from(ordinal);
        let aggregate = |at: usize| match (g.finished.get(at), g.plan.aggregates.get(at)) {
            (Some(v), Some(spec)) => v.as_computed_ref(&spec.ty),
            _ => ValueRef::Null,
        };
        let below = g.plan.below;
        match slot {
            AGGREGATE_SLOT => aggregate(at),
            s if below.has(s) => aggregate(below.place(s, ordinal)),
            GROUP_SLOT => self.carried(at),
            ROLLUP_SLOT => self.rolled(at),
            // A subquery of a grouped expression names the table's column.
            _ => {
                let mut carried = g.plan.carried.iter().filter_map(Expr::as_column);
                match carried.position(|c| (c.slot, c.ordinal) == (slot, ordinal)) {
                    Some(at) => self.carried(at),
                    None => self.rest.column(slot, ordinal),
                }
            }
        }
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        self.rest.subqueries()
    }
}
