//! GROUP BY and aggregates: one accumulator for each aggregate of each group, groups found by the bytes of their keys, in the
//! order they first appeared. Rows of groups for which there is no room wait in a file ([`spill::group`](crate::spill::group)), and their groups come
//! behind the others.

pub(super) mod batch;
mod finished;
mod jump;
pub(super) mod making;
mod ordered;
mod rollup;

use std::sync::Arc;

use types::{SqlError, ValueRef};

use crate::keymap::KeyMap;
use crate::spill::Host;
use crate::spill::group::{GroupSpill, Waiting};
use crate::store::RowStore;
use sql_expr::agg::{Accumulator, AggSpec};
use sql_expr::batch::Aggregates;
use sql_expr::memory::{Account, Charge};
use sql_expr::{AGGREGATE_SLOT, EvalCtx, Node, RowSource, SubquerySource, Val, write_group_key};
use sql_plan::plan::{Block, GROUP_SLOT, GroupPlan, Step};

/// Groups so far.
pub(crate) struct Grouper<'p> {
    plan: &'p GroupPlan,
    keys: KeyMap,
    accumulators: Vec<Accumulator>,
    charge: Charge,
    /// The columns of each group's first row.
    carried: RowStore,
    key: Vec<u8>,
    /// That of the row before, where they come in order.
    before: Vec<u8>,
    /// The group of the row before; `None` where that had to wait.
    last: Option<usize>,
    /// The one group of a query without GROUP BY exists.
    single: bool,
    spill: Option<GroupSpill>,
    account: Arc<Account>,
    /// What the session held when the first group began.
    held: u64,
}

impl<'p> Grouper<'p> {
    /// No groups yet. `spill` is where rows go whose groups have no room.
    pub fn new(
        plan: &'p GroupPlan,
        spill: Option<GroupSpill>,
        account: &Arc<Account>,
    ) -> Grouper<'p> {
        Grouper {
            spill,
            account: Arc::clone(account),
            held: 0,
            plan,
            keys: KeyMap::new(account),
            accumulators: Vec::new(),
            charge: Charge::to(account),
            carried: RowStore::new(plan.carried.len(), account),
            key: Vec::new(),
            before: Vec::new(),
            last: None,
            single: false,
        }
    }

    /// The groups so far; those that follow begin anew.
    pub fn begin_again(&mut self, account: &Arc<Account>) -> Grouper<'p> {
        let next = Grouper::new(self.plan, None, account);
        std::mem::replace(self, next)
    }

    fn start(&mut self, row: &dyn RowSource) {
        let plan = self.plan;
        // Where the session has no room, it fails soon: at the next look, a few hundred rows from here.
        let _refused = self
            .charge
            .reserve(&mut self.accumulators, plan.aggregates.len());
        self.accumulators
            .extend(plan.aggregates.iter().map(|a| a.start()));
        let columns = plan.carried.iter().filter_map(|e| e.as_column());
        self.carried
            .push(columns.map(|c| row.column(c.slot, c.ordinal)));
    }

    /// Takes a row into its group.
    #[inline]
    pub fn add(&mut self, cx: &EvalCtx<'_>, row: &dyn RowSource) -> Result<(), SqlError> {
        let plan = self.plan;
        let group = if plan.keys.is_empty() {
            if !self.single {
                self.single = true;
                self.start(row);
            }
            0
        } else {
            self.key.clear();
            for k in &plan.keys {
                let v = k.eval(cx, row)?;
                write_group_key(&v, &k.ty, &mut self.key);
            }
            if let Some(spill) = &mut self.spill
                && spill.is_full()
            {
                match self.keys.get(&self.key) {
                    Some(n) => n,
                    None => {
                        self.last = None;
                        spill.add(&self.key, row);
                        return Ok(());
                    }
                }
            } else {
                let (n, new) = self.keys.insert(&self.key)?;
                if new {
                    self.start(row);
                    self.grown();
                }
                n
            }
        };
        self.last = Some(group);
        self.add_to(group, cx, row)
    }

    /// Takes a row whose group is that of the row before, or a new one; `false`, and nothing is taken, where it would be one more than `most`.
    pub fn add_in_order(
        &mut self,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
        most: usize,
    ) -> Result<bool, SqlError> {
        self.key.clear();
        for k in &self.plan.keys {
            let v = k.eval(cx, row)?;
            write_group_key(&v, &k.ty, &mut self.key);
        }
        let group = match self.last {
            Some(last) if self.before == self.key => last,
            _ => {
                let group = self.last.map_or(0, |last| last + 1);
                if group >= most {
                    return Ok(false);
                }
                std::mem::swap(&mut self.before, &mut self.key);
                self.start(row);
                group
            }
        };
        self.last = Some(group);
        self.add_to(group, cx, row)?;
        Ok(true)
    }

    /// As [`add`](Self::add) for a row whose grouping values are those of the one before.
    #[inline]
    pub fn add_again(&mut self, cx: &EvalCtx<'_>, row: &dyn RowSource) -> Result<(), SqlError> {
        match self.last {
            Some(group) => self.add_to(group, cx, row),
            None => self.add(cx, row),
        }
    }

    /// Evaluates what [`add`](Self::add) does of what may wait, and changes nothing.
    pub fn rehearse(&self, cx: &EvalCtx<'_>, row: &dyn RowSource) -> Result<(), SqlError> {
        let plan = self.plan;
        let inputs = plan.aggregates.iter().flat_map(AggSpec::inputs);
        let mut waiting = plan.keys.iter().chain(inputs).filter(|e| e.has_special());
        waiting.try_for_each(|e| e.eval(cx, row).map(drop))
    }

    #[inline]
    fn add_to(
        &mut self,
        group: usize,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<(), SqlError> {
        let plan = self.plan;
        let n = plan.aggregates.len();
        let accumulators = &mut self.accumulators[group * n..(group + 1) * n];
        for (a, spec) in accumulators.iter_mut().zip(&plan.aggregates) {
            a.add(spec, cx, row)?;
        }
        Ok(())
    }

    /// There is one group more.
    fn grown(&mut self) {
        let Some(spill) = &mut self.spill else {
            return;
        };
        let held = self.account.held();
        if self.keys.len() == 1 {
            self.held = held;
        }
        // States have more beside them: texts, sets of values.
        let own = self.keys.used()
            + self.accumulators.len() * size_of::<Accumulator>()
            + self.carried.used();
        let more = held.saturating_sub(self.held) as usize;
        spill.grown(self.plan, self.keys.len(), own.max(more));
    }

    /// Whether it is time for [`flush`](Self::flush).
    #[inline]
    pub fn is_due(&self) -> bool {
        self.spill.as_ref().is_some_and(GroupSpill::is_due)
    }

    /// Writes rows that wait for their groups. To be called between rows.
    ///
    /// # Errors
    /// The file takes no more; the statement is to end.
    pub async fn flush(&mut self, host: &mut impl Host) -> Result<(), SqlError> {
        match &mut self.spill {
            Some(spill) => spill.flush(host).await,
            None => Ok(()),
        }
    }

    /// Where rows wait for their groups, once all have come.
    pub fn spilled(&mut self) -> Option<GroupSpill> {
        self.spill.as_mut().filter(|s| s.is_full())?;
        self.spill.take()
    }

    /// Counts rows where nothing but COUNT(*) is asked for.
    pub fn count(&mut self, rows: u64, row: &dyn RowSource) {
        if !self.single {
            self.single = true;
            self.start(row);
        }
        self.accumulators
            .iter_mut()
            .for_each(|a| a.count_rows(rows));
    }

    /// The groups, in order. Without GROUP BY there is always one.
    pub fn finish(mut self, empty: &dyn RowSource) -> Groups<'p> {
        if self.plan.keys.is_empty() && !self.single {
            self.start(empty);
        }
        let states = States::Rows(self.accumulators.into_iter());
        Groups::new(self.plan, states, self.charge, self.carried)
    }
}

/// The step behind which the grouping values of a block are known, where more rows of the same group may come behind it: a part with many
/// lines is in one group.
pub(crate) fn known_at(block: &Block, plan: &GroupPlan) -> Option<usize> {
    let mut last = 0;
    let mut plain = true;
    for k in &plan.keys {
        k.walk(&mut |e| {
            match &e.node {
                Node::Column(c) => match block.places.of(c.slot) {
                    Some(place) => {
                        let own = |s: &Step| usize::from(s.table) == place;
                        match block.join.steps.iter().position(own) {
                            Some(step) => last = last.max(step),
                            None => plain = false,
                        }
                    }
                    None => plain &= c.slot < block.places.base(),
                },
                Node::AssignVar(..) | Node::UserVar(_) | Node::Aggregate(_) => plain = false,
                Node::Subquery(_) | Node::Exists(_) | Node::Quantified(_) => plain = false,
                Node::Call(c) => plain &= !c.def.volatile() && !c.def.special(),
                _ => {}
            }
            plain
        });
    }
    (plain && last + 1 < block.join.steps.len()).then_some(last)
}

/// The groups of the next part of the rows that had no room; `None` where there is none.
///
/// # Errors
/// As [`Grouper::add`]; the file; the statement is to end.
pub(crate) async fn next_groups<'p>(
    plan: &'p GroupPlan,
    waiting: &mut Waiting,
    cx: &EvalCtx<'_>,
    rest: &dyn RowSource,
    host: &mut impl Host,
) -> Result<Option<Groups<'p>>, SqlError> {
    let Some((mut rows, spill)) = waiting.next() else {
        return Ok(None);
    };
    let mut grouper = Grouper::new(plan, Some(spill), cx.memory());
    while waiting.advance(&mut rows).await? {
        cx.let_go();
        grouper.add(cx, &waiting.row(&rows, rest)?)?;
        if grouper.is_due() {
            grouper.flush(host).await?;
        }
        if host.is_due() {
            host.rest().await?;
        }
    }
    if let Some(more) = grouper.spilled() {
        waiting.add(more, host).await?;
    }
    Ok(Some(grouper.finish(rest)))
}

/// What the aggregates of the groups came to.
pub(crate) enum States {
    /// One group's behind the other's.
    Rows(std::vec::IntoIter<Accumulator>),
    /// By the number of the group.
    Batches(Aggregates),
}

/// Finished groups.
pub(crate) struct Groups<'p> {
    plan: &'p GroupPlan,
    states: States,
    _charge: Charge,
    carried: RowStore,
    values: Vec<Val<'static>>,
    next: usize,
}

impl<'p> Groups<'p> {
    /// The columns of each group's first row say how many there are.
    pub fn new(
        plan: &'p GroupPlan,
        states: States,
        charge: Charge,
        carried: RowStore,
    ) -> Groups<'p> {
        Groups {
            plan,
            states,
            _charge: charge,
            carried,
            values: Vec::new(),
            next: 0,
        }
    }

    /// Moves to the next group.
    pub fn next(&mut self, cx: &EvalCtx<'_>) -> Result<bool, SqlError> {
        if self.next >= self.carried.len() {
            return Ok(false);
        }
        self.next += 1;
        self.values.clear();
        let plan = self.plan;
        match &mut self.states {
            States::Rows(accumulators) => {
                for (spec, a) in plan.aggregates.iter().zip(accumulators) {
                    self.values.push(a.finish(spec, cx)?);
                }
            }
            States::Batches(a) => {
                for i in 0..plan.aggregates.len() {
                    let v = a.finish(&plan.aggregates, i, self.next - 1, cx)?;
                    self.values.push(v);
                }
            }
        }
        Ok(true)
    }

    /// The group as a row.
    pub fn row<'a>(&'a self, rest: &'a dyn RowSource) -> GroupRow<'a> {
        GroupRow { groups: self, rest }
    }
}

/// A group as a row.
pub(crate) struct GroupRow<'a> {
    groups: &'a Groups<'a>,
    rest: &'a dyn RowSource,
}

impl RowSource for GroupRow<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        let g = self.groups;
        let at = usize::from(ordinal);
        let aggregate = |at: usize| match (g.values.get(at), g.plan.aggregates.get(at)) {
            (Some(v), Some(spec)) => v.as_computed_ref(&spec.ty),
            _ => ValueRef::Null,
        };
        let below = g.plan.below;
        match slot {
            AGGREGATE_SLOT => aggregate(at),
            s if below.has(s) => aggregate(below.place(s, ordinal)),
            GROUP_SLOT => g.carried.column(g.next - 1, at),
            // A subquery of a grouped expression names the table's column.
            _ => {
                let carried = g.plan.carried.iter().filter_map(|e| e.as_column());
                let mut found = carried.enumerate();
                match found.find(|(_, c)| (c.slot, c.ordinal) == (slot, ordinal)) {
                    Some((i, _)) => g.carried.column(g.next - 1, i),
                    None => self.rest.column(slot, ordinal),
                }
            }
        }
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        self.rest.subqueries()
    }
}
