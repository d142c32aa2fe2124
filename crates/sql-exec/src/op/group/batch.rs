//! GROUP BY and aggregates over batches: of the rows that come, the columns that are read are kept, and about a thousand rows at a time
//! are filtered and taken into their groups column by column. Groups are numbered in the order they first appeared, as those of
//! [`group`](crate::op::group) are, and what comes of them is the same.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use types::{DataType, SqlError, ValueRef};

use crate::op::group::{Groups, States};
use crate::spill::Host;
use crate::spill::group::GroupSpill;
use crate::store::RowStore;
use sql_expr::batch::{self, Aggregates, Batch, Layout, Scratch, VectorBuilder};
use sql_expr::memory::{Charge, SMALL};
use sql_expr::{EvalCtx, Expr, Node, RowSource, write_group_key};
use sql_plan::plan::GroupPlan;

/// Bytes of texts that rows wait with at most.
const TEXTS_MAX: usize = 1 << 20;

/// Bytes that a key takes beside its texts.
const KEY: usize = 32;

/// A text in a key of its collation may take so many times its bytes.
const WEIGHTS: usize = 4;

/// Groups so far, and the rows that wait.
pub(crate) struct BatchGrouper<'p> {
    plan: &'p GroupPlan,
    /// Conditions that rows pass first.
    filter: &'p [Expr],
    columns: Vec<u16>,
    layout: Arc<Layout>,
    builders: Vec<VectorBuilder>,
    /// Rows that wait, and the bytes of their texts.
    rows: usize,
    texts: usize,
    keys: batch::Groups,
    aggregates: Aggregates,
    /// The columns of each group's first row.
    carried: RowStore,
    /// The groups of a batch's rows.
    numbers: Vec<u32>,
    first: Vec<u16>,
    key: Vec<u8>,
    pool: Scratch,
    charge: Charge,
    spill: Option<GroupSpill>,
    cx: &'p EvalCtx<'p>,
}

/// The columns of a table that expressions read.
fn columns_of<'e>(all: impl Iterator<Item = &'e Expr>, slot: u16) -> Vec<u16> {
    let mut columns = Vec::new();
    for e in all {
        e.walk(&mut |e| {
            if let Node::Column(c) = &e.node
                && c.slot == slot
                && !columns.contains(&c.ordinal)
            {
                columns.push(c.ordinal);
            }
            true
        });
    }
    columns
}

impl<'p> BatchGrouper<'p> {
    /// No groups yet, of the rows of the table in `slot` for which `filter` holds. `ty` says the types of its columns; `None`: one that is read is
    /// not there.
    pub fn new<'t>(
        plan: &'p GroupPlan,
        filter: &'p [Expr],
        cx: &'p EvalCtx<'p>,
        slot: u16,
        ty: impl Fn(u16) -> Option<&'t DataType>,
    ) -> Option<BatchGrouper<'p>> {
        let args = plan.aggregates.iter().flat_map(|a| &a.args);
        let all = filter.iter().chain(&plan.keys).chain(args);
        let columns = columns_of(all.chain(&plan.carried), slot);
        let builders = columns.iter().map(|c| ty(*c).map(VectorBuilder::of_column));
        let account = cx.memory();
        Some(BatchGrouper {
            plan,
            filter,
            layout: Arc::new(Layout::of(columns.iter().map(|c| (slot, *c)))),
            builders: builders.collect::<Option<_>>()?,
            columns,
            rows: 0,
            texts: 0,
            keys: batch::Groups::new(RandomState::new().hash_one(0u8)),
            aggregates: Aggregates::new(&plan.aggregates),
            carried: RowStore::new(plan.carried.len(), account),
            numbers: Vec::new(),
            first: Vec::new(),
            key: Vec::new(),
            pool: Scratch::new(),
            charge: Charge::to(account),
            spill: GroupSpill::new(plan, cx),
            cx,
        })
    }

    /// A row that is to wait; says whether it is time for [`flush`](Self::flush).
    #[inline]
    pub fn push<'v>(&mut self, column: impl Fn(u16) -> ValueRef<'v>) -> bool {
        for (c, b) in self.columns.iter().zip(&mut self.builders) {
            let v = column(*c);
            if let ValueRef::Str(text, _) | ValueRef::Bytes(text) = v {
                self.texts += text.len();
                // Where the session has no room, the statement fails at the next look.
                if text.len() >= SMALL && !self.charge.add(2 * text.len()) {
                    b.push_null();
                    continue;
                }
            }
            b.push(v);
        }
        self.rows += 1;
        self.is_full()
    }

    /// Whether enough rows wait.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.rows >= batch::ROWS || self.texts >= TEXTS_MAX
    }

    /// Takes the rows that wait into their groups.
    ///
    /// # Errors
    /// As the conditions, keys and arguments; the session may hold no more.
    pub fn flush(&mut self, outer: &dyn RowSource) -> Result<(), SqlError> {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return Ok(());
        }
        let texts = std::mem::take(&mut self.texts);
        // What it was refused is not in the rows.
        self.cx.memory().check()?;
        let columns = self.builders.iter_mut().map(|b| Arc::new(b.finish()));
        let mut batch = Batch::new(&self.layout, columns.collect(), rows);
        let groups = match self.plan.keys.is_empty() {
            true => 1,
            false => self.keys.len() + rows,
        };
        let most = batch.memory()
            + self.keys.memory_with(rows, rows * KEY + texts * WEIGHTS)
            + self.aggregates.memory_with(groups);
        if !self.charge.set(most) {
            self.cx.memory().check()?;
        }
        self.group(&mut batch, outer)?;
        self.cx.let_go();
        batch.give_back(&mut self.builders);
        let builders = self.builders.iter().map(VectorBuilder::memory);
        let held = self.keys.memory() + self.aggregates.memory() + builders.sum::<usize>();
        if !self.charge.set(held) {
            self.cx.memory().check()?;
        }
        if let Some(s) = &mut self.spill {
            s.grown(self.plan, self.keys.len(), held + self.carried.used());
        }
        Ok(())
    }

    /// Whether rows that had no room are to be written.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.spill.as_ref().is_some_and(GroupSpill::is_due)
    }

    /// Writes rows that wait for their groups.
    ///
    /// # Errors
    /// The file takes no more; the statement is to end.
    pub async fn write(&mut self, host: &mut impl Host) -> Result<(), SqlError> {
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

    fn group(&mut self, batch: &mut Batch, outer: &dyn RowSource) -> Result<(), SqlError> {
        let (plan, cx) = (self.plan, self.cx);
        if !self.filter.is_empty() {
            let kept = batch::filter_quietly(self.filter, cx, batch, outer, &mut self.pool);
            let Some(kept) = kept else {
                return self.group_rows(batch, outer, self.filter);
            };
            if kept.is_empty() {
                return Ok(());
            }
            batch.select(kept);
        }
        if self.spill.as_ref().is_some_and(GroupSpill::is_full) {
            return self.group_rows(batch, outer, &[]);
        }
        let sel = batch.selected();
        self.first.clear();
        if plan.keys.is_empty() {
            self.numbers.clear();
            self.numbers.resize(sel.len(), 0);
            if self.aggregates.is_empty() {
                self.first.extend(sel.iter().take(1).map(|i| i as u16));
            }
        } else {
            let mut keys = Vec::with_capacity(plan.keys.len());
            for k in &plan.keys {
                match batch::eval_quietly(k, cx, batch, outer, &mut self.pool) {
                    Some(v) => keys.push((v, &k.ty)),
                    None => return self.group_rows(batch, outer, &[]),
                }
            }
            let keys: Vec<_> = keys.iter().map(|(v, ty)| (&**v, *ty)).collect();
            let (numbers, first) = (&mut self.numbers, &mut self.first);
            self.keys.assign(&keys, sel, numbers, first);
        }
        for i in &self.first {
            let row = batch.row(usize::from(*i), outer);
            carry(plan, &mut self.carried, &row);
        }
        let groups = self.found();
        self.aggregates.grow(&plan.aggregates, groups);
        let (numbers, pool) = (&self.numbers, &mut self.pool);
        self.aggregates
            .update(&plan.aggregates, cx, batch, outer, numbers, pool)
    }

    fn found(&self) -> usize {
        match self.plan.keys.is_empty() {
            true => 1,
            false => self.keys.len(),
        }
    }

    /// One live row after the other, all that there is to do with each: where one warns or fails.
    #[cold]
    fn group_rows(
        &mut self,
        batch: &Batch,
        outer: &dyn RowSource,
        filter: &[Expr],
    ) -> Result<(), SqlError> {
        let (plan, cx) = (self.plan, self.cx);
        'rows: for i in batch.selected().iter() {
            cx.let_go();
            let row = batch.row(i, outer);
            for c in filter {
                if c.truth(cx, &row)? != Some(true) {
                    continue 'rows;
                }
            }
            self.key.clear();
            for k in &plan.keys {
                write_group_key(&k.eval(cx, &row)?, &k.ty, &mut self.key);
            }
            let group = match (&mut self.spill, plan.keys.is_empty()) {
                (_, true) => 0,
                (Some(spill), false) if spill.is_full() => match self.keys.find(&self.key) {
                    Some(group) => group,
                    None => {
                        spill.add(&self.key, &row);
                        continue;
                    }
                },
                _ => self.keys.of_key(&self.key),
            };
            if group as usize >= self.aggregates.len() {
                carry(plan, &mut self.carried, &row);
                self.aggregates.grow(&plan.aggregates, group as usize + 1);
            }
            self.aggregates
                .update_row(&plan.aggregates, cx, &row, group)?;
        }
        Ok(())
    }

    /// The groups, in order. Without GROUP BY there is always one. No rows wait.
    pub fn finish(mut self, empty: &dyn RowSource) -> Groups<'p> {
        if self.plan.keys.is_empty() && self.aggregates.is_empty() {
            self.aggregates.grow(&self.plan.aggregates, 1);
            carry(self.plan, &mut self.carried, empty);
        }
        // Less than before is never refused.
        self.charge.set(self.aggregates.memory());
        let states = States::Batches(self.aggregates);
        Groups::new(self.plan, states, self.charge, self.carried)
    }
}

/// Keeps the columns of a group's first row.
fn carry(plan: &GroupPlan, carried: &mut RowStore, row: &dyn RowSource) {
    let columns = plan.carried.iter().filter_map(|e| e.as_column());
    carried.push(columns.map(|c| row.column(c.slot, c.ordinal)));
}
