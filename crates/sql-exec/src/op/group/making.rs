//! How rows come to their groups: from the joins, or from the scan of the only table, row by row, in order, by jumps or by batches of columns.
//!
//! Never here: which of these it is (`sql_plan::optimize::physical::fused`).

use engine::{RowBatch, RowRef};
use types::SqlError;

use super::batch::BatchGrouper;
use super::{Grouper, known_at};
use crate::Env;
use crate::keys::mode;
use crate::op::filter::passes;
use crate::op::join::Join;
use crate::op::join::kept::Kept;
use crate::op::limit::Limits;
use crate::op::scan::{BATCH, Scans};
use crate::op::tail::Tail;
use crate::row::{Candidate, Nulls, OnlySubs};
use crate::spill::group::GroupSpill;
use crate::sub::SubValues;
use sql_expr::{EvalCtx, RowSource};
use sql_plan::plan::{Block, Group, GroupPlan, Grouping};
use sql_plan::sink::ResultSink;

/// Groups that are finished together where they come one behind the other.
const GROUPS: usize = 256;

/// How the groups of a block are made.
pub(crate) struct Making<'p> {
    pub(super) block: &'p Block,
    group: &'p Group,
    pub(super) outer: &'p dyn RowSource,
    /// Groups that are finished together where they come one behind the other.
    pub(super) most: usize,
    /// Its rows are taken where they are scanned.
    fused: bool,
    /// There may be rows.
    possible: bool,
}

impl<'p> Making<'p> {
    /// The groups of a block, of which no more than these are wanted.
    pub fn new(
        block: &'p Block,
        group: &'p Group,
        outer: &'p dyn RowSource,
        wanted: Limits,
        fused: bool,
        possible: bool,
    ) -> Making<'p> {
        Making {
            block,
            group,
            outer,
            most: wanted.needed().clamp(1, GROUPS as u64) as usize,
            fused,
            possible,
        }
    }

    /// Makes the groups and sends them.
    pub async fn run(
        &self,
        env: &mut Env<'_>,
        subs: &mut SubValues,
        kept: &mut Option<Kept>,
        out: &mut Tail<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let (block, plan, outer, cx) = (self.block, &self.group.plan, self.outer, env.cx);
        let in_order = self.group.in_order();
        let empty = Nulls(outer, block.places.base());
        let mut batches = None;
        // A correlated subquery's values are of one row.
        let spill = match block.join.subqueries.is_empty() && !in_order {
            true => GroupSpill::new(plan, cx),
            false => None,
        };
        let mut grouper = Grouper::new(plan, spill, cx.memory());
        if self.fused && in_order {
            let scans = Scans::new(block, env, &OnlySubs { subs, outer })?;
            let all = self.in_order(scans, env, subs, &mut grouper, out, sink);
            Box::pin(all).await?;
        } else if self.fused {
            let rest = OnlySubs { subs, outer };
            let scans = Scans::new(block, env, &rest)?;
            // Where the range is not known exactly, each row is looked at.
            match self.group.how {
                Grouping::Jump(jump) if !scans.inexact => {
                    let ranges = scans.ranges;
                    let all = env.jump(block, jump, ranges, &rest, &mut grouper);
                    Box::pin(all).await?;
                }
                Grouping::Batches if !scans.inexact => {
                    let by_batches = batches.insert(batches_of(&scans, plan, cx)?);
                    Box::pin(batch_scan(scans, env, &rest, by_batches)).await?;
                }
                _ => group_scan(scans, env, &rest, &mut grouper).await?,
            }
        } else if self.possible {
            self.join(env, subs, kept, &mut grouper, out, sink).await?;
        }
        let (spilled, groups) = match batches {
            Some(mut b) => (b.spilled(), b.finish(&empty)),
            None => (grouper.spilled(), grouper.finish(&empty)),
        };
        if !(in_order && out.full()) {
            env.finish_groups(block, groups, outer, subs, out, sink)
                .await?;
        }
        if let Some(spilled) = spilled {
            Box::pin(env.later_groups(block, spilled, outer, subs, out, sink)).await?;
        }
        Ok(())
    }

    /// Joins into the grouping.
    async fn join(
        &self,
        env: &mut Env<'_>,
        subs: &mut SubValues,
        kept: &mut Option<Kept>,
        grouper: &mut Grouper<'_>,
        out: &mut Tail<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let (block, plan, outer, cx) = (self.block, &self.group.plan, self.outer, env.cx);
        let in_order = self.group.in_order();
        let empty = Nulls(outer, block.places.base());
        let own = std::mem::take(subs);
        let mut join = Join::new(block, outer, own, |t| mode(block, t));
        if let (Some(step), Some(kept)) = (&block.join.spool, kept.take()) {
            join.with_kept(step, kept);
        }
        let known_at = known_at(block, plan);
        while join.next(env).await? {
            join.fill(&block.join.subqueries, env).await?;
            if block.special {
                let row = join.tuple();
                env.ahead(|| grouper.rehearse(cx, &row)).await?;
            }
            match known_at.is_some_and(|s| join.stays_at(s)) {
                true => grouper.add_again(cx, &join.tuple())?,
                false if in_order => {
                    if !grouper.add_in_order(cx, &join.tuple(), self.most)? {
                        let whole = grouper.begin_again(cx.memory()).finish(&empty);
                        let subs = &mut join.subs;
                        Box::pin(env.finish_groups(block, whole, outer, subs, out, sink)).await?;
                        if out.full() {
                            break;
                        }
                        grouper.add_in_order(cx, &join.tuple(), self.most)?;
                    }
                }
                false => grouper.add(cx, &join.tuple())?,
            }
            if block.special {
                cx.row_done();
            }
            if grouper.is_due() {
                grouper.flush(env).await?;
            }
            if env.due() {
                env.pause().await?;
            }
        }
        *subs = std::mem::take(&mut join.subs);
        *kept = join.into_kept();
        Ok(())
    }
}

/// Scans into the grouping.
async fn group_scan(
    mut scans: Scans<'_>,
    env: &mut Env<'_>,
    rest: &OnlySubs<'_>,
    grouper: &mut Grouper<'_>,
) -> Result<(), SqlError> {
    let cx = env.cx;
    let block = scans.block;
    let step = &block.join.steps[0];
    let slot = block.slot(step);
    let inexact = scans.inexact;
    let count_only =
        block.group().is_some_and(|g| g.only_count_star) && step.filter.is_empty() && !inexact;
    let mut batch = RowBatch::new();
    while let Some(mut scan) = scans.next(env)? {
        loop {
            batch.clear();
            let mut counted = 0u64;
            let more = env
                .session
                .next_batch(&mut scan, &mut batch, BATCH, &mut |row| {
                    let row = Candidate { slot, row, rest };
                    if count_only {
                        // The first row is the one whose columns are remembered.
                        counted += 1;
                        if counted == 1 {
                            grouper.count(0, &row);
                        }
                    } else if passes(step, inexact, cx, &row)? {
                        grouper.add(cx, &row)?;
                    }
                    // What waits is written between two calls: rows that are taken end this one.
                    Ok(grouper.is_due())
                })
                .await?;
            if grouper.is_due() {
                grouper.flush(env).await?;
            }
            if counted > 0 {
                grouper.count(counted, rest);
            }
            env.check()?;
            if !more {
                break;
            }
        }
    }
    Ok(())
}

/// What groups the rows of a scanned table in batches.
fn batches_of<'p>(
    scans: &Scans<'p>,
    plan: &'p GroupPlan,
    cx: &'p EvalCtx<'p>,
) -> Result<BatchGrouper<'p>, SqlError> {
    let block = scans.block;
    let step = &block.join.steps[0];
    let columns = &Scans::table(block)?.def.columns;
    let grouper = BatchGrouper::new(plan, &step.filter, cx, block.slot(step), |c| {
        columns.get(usize::from(c)).map(|c| &c.ty)
    });
    grouper.ok_or_else(|| SqlError::internal("a column of a batch is not there"))
}

/// Scans into the grouping, a batch of the columns that it reads at a time.
async fn batch_scan(
    mut scans: Scans<'_>,
    env: &mut Env<'_>,
    rest: &OnlySubs<'_>,
    grouper: &mut BatchGrouper<'_>,
) -> Result<(), SqlError> {
    let clustered = scans.block.join.steps[0].access.index().0 == 0;
    let mut batch = RowBatch::new();
    while let Some(mut scan) = scans.next(env)? {
        loop {
            batch.clear();
            let more = if clustered {
                // Only the row that fills the batch is taken, and thereby ends the call.
                let mut push = |row: RowRef<'_>| Ok(grouper.push(|c| row.column(usize::from(c))));
                let session = &mut env.session;
                session
                    .next_batch(&mut scan, &mut batch, 1, &mut push)
                    .await?
            } else {
                // Entries are gathered, so that their rows are as well.
                let session = &mut env.session;
                let more = session
                    .next_batch(&mut scan, &mut batch, BATCH, &mut |_| Ok(true))
                    .await?;
                for i in 0..batch.len() {
                    let row = batch.row(i);
                    if grouper.push(|c| row.column(usize::from(c))) {
                        grouper.flush(rest)?;
                    }
                }
                more
            };
            if grouper.is_full() {
                grouper.flush(rest)?;
            }
            if grouper.is_due() {
                grouper.write(env).await?;
            }
            env.check()?;
            if !more {
                break;
            }
        }
    }
    grouper.flush(rest)
}
