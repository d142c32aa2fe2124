//! One SELECT: scan or join, group, output. A single table without subqueries per row is scanned straight into the grouping or the
//! sort, row by row under the latch, without copying rows out first; into the grouping, where there may be many rows, by batches of the
//! columns that are read.

mod ordered;

use engine::{KeyBound, ReadMode, RowBatch, RowRef, ScanSpec};
use types::SqlError;

use super::Env;
use super::batch::BatchGrouper;
use super::group::{Grouper, known_at};
use super::join::{Join, all_hold, passes};
use super::keep::Kept;
use super::keys::{self, Ranges};
use super::output::{Output, flush_now_and_then, limits};
use super::row::{Candidate, Nulls, OnlySubs};
use super::spill::group::GroupSpill;
use super::spool;
use super::sub::SubValues;
use super::window;
use sql_expr::{EvalCtx, RowSource};
use sql_plan::plan::{Access, Block, Group, GroupPlan, Grouping};
use sql_plan::sink::ResultSink;

/// What a query came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Rows sent.
    pub sent: u64,
    /// Rows found, where SQL_CALC_FOUND_ROWS counts them all; rows sent otherwise.
    pub found: u64,
    /// A table was read without an index.
    pub no_index: bool,
}

/// Groups that are finished together where they come one behind the other.
const GROUPS: usize = 256;

/// Rows fetched at a time by a plain scan.
const BATCH: usize = 256;

/// Runs a block; at most `enough` rows matter.
pub(crate) async fn run_block(
    block: &Block,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    sink: &mut dyn ResultSink,
    enough: u64,
) -> Result<Counts, SqlError> {
    let cx = env.cx;
    let mut bounds = limits(block.limit(), cx)?;
    bounds.take = bounds.take.min(enough);
    let mut subs = SubValues::new(&block.subqueries, env, outer).await?;
    let mut out = Output::new(block, bounds, cx);
    let nothing = bounds.take == 0 && !block.calc_found_rows();
    let possible = !nothing && constants_hold(block, env, outer, &subs).await?;
    let group = block.grouping();
    let rollup = group.and_then(|g| g.plan.rollup.as_deref());
    let mut kept = if possible && rollup.is_none() && !env.is_counted() {
        spool::take(block, env, outer, &subs).await?
    } else {
        None
    };
    // Where rows that match are locked, and no others, a scan may ask for a row twice, and locks those that it is told to take.
    let scans = possible && kept.is_none() && !env.is_counted();
    let fused = block.join.fused && scans && !env.session.locks_what_matches();
    if let (Some(group), Some(rollup)) = (group, rollup) {
        if possible {
            let plan = (&group.plan, rollup);
            let own = std::mem::take(&mut subs);
            subs = Box::pin(env.roll(block, plan, outer, own, &mut out, sink)).await?;
        }
    } else if let Some(group) = group {
        if nothing {
            return Ok(counts(block, &out));
        }
        let run = Grouped {
            block,
            group,
            outer,
            most: bounds.needed().clamp(1, GROUPS as u64) as usize,
            fused,
            possible,
        };
        run.run(env, &mut subs, &mut kept, &mut out, sink).await?;
    } else if fused {
        let rest = OnlySubs { subs: &subs, outer };
        if out.streams() {
            stream_scan(block, env, &rest, &mut out, sink).await?;
        } else {
            feed_scan(block, env, &rest, &mut out, sink).await?;
        }
    } else if possible {
        join_rows(block, env, outer, &mut subs, &mut kept, &mut out, sink).await?;
    }
    if let Some(rows) = out.take_windows() {
        let windows = window::run::run(block, rows, env, outer, &mut subs, &mut out, sink);
        Box::pin(windows).await?;
    }
    spool::give(block, env, kept.filter(|_| block.join.spool.is_some()));
    out.finish(env, sink).await?;
    Ok(counts(block, &out))
}

/// How the groups of a block are made.
struct Grouped<'p> {
    block: &'p Block,
    group: &'p Group,
    outer: &'p dyn RowSource,
    /// Groups that are finished together where they come one behind the other.
    most: usize,
    /// Its rows are taken where they are scanned.
    fused: bool,
    /// There may be rows.
    possible: bool,
}

impl Grouped<'_> {
    /// Makes the groups and sends them.
    async fn run(
        &self,
        env: &mut Env<'_>,
        subs: &mut SubValues,
        kept: &mut Option<Kept>,
        out: &mut Output<'_>,
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
        out: &mut Output<'_>,
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

fn counts(block: &Block, out: &Output<'_>) -> Counts {
    let no_index = block.join.steps.iter().any(|s| {
        matches!(s.access, Access::Full { .. })
            && block.tables[usize::from(s.table)].stored().is_some()
    });
    Counts {
        sent: out.sent,
        found: out.found(),
        no_index,
    }
}

pub(super) fn mode(block: &Block, table: usize) -> ReadMode {
    keys::read_mode(block.tables[table].lock)
}

/// Whether the conditions that read no table hold.
async fn constants_hold(
    block: &Block,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    subs: &SubValues,
) -> Result<bool, SqlError> {
    let cx = env.cx;
    for e in &block.join.constant {
        loop {
            let held = all_hold(std::slice::from_ref(e), cx, &OnlySubs { subs, outer });
            match env.settle(held).await? {
                None => {}
                Some(true) => break,
                Some(false) => return Ok(false),
            }
        }
    }
    Ok(true)
}

/// The scans of a one-table block, one for each range.
struct Scans<'p> {
    block: &'p Block,
    ranges: std::vec::IntoIter<keys::KeyRange>,
    inexact: bool,
}

impl<'p> Scans<'p> {
    fn new(block: &'p Block, env: &Env<'_>, rest: &dyn RowSource) -> Result<Scans<'p>, SqlError> {
        let table = Self::table(block)?;
        let access = &block.join.steps[0].access;
        let (ranges, inexact) = match keys::ranges(table, access, env.cx, rest)? {
            Ranges::Some(list) => (list, false),
            Ranges::Inexact => (vec![(KeyBound::None, KeyBound::None)], true),
        };
        Ok(Scans {
            block,
            ranges: ranges.into_iter(),
            inexact,
        })
    }

    fn table(block: &Block) -> Result<&std::sync::Arc<engine::Table>, SqlError> {
        block.tables[usize::from(block.join.steps[0].table)]
            .stored()
            .ok_or_else(|| SqlError::internal("a stored table is expected"))
    }

    fn next(&mut self, env: &mut Env<'_>) -> Result<Option<engine::Scan>, SqlError> {
        let Some((lower, upper)) = self.ranges.next() else {
            return Ok(None);
        };
        let (index, backward) = self.block.join.steps[0].access.index();
        let spec = ScanSpec {
            index,
            lower,
            upper,
            backward,
            mode: ReadMode::Consistent,
        };
        let table = Self::table(self.block)?;
        let cover = self.block.join.steps[0]
            .cover
            .as_ref()
            .filter(|_| !self.inexact);
        Ok(Some(env.session.scan(table, spec).covered(cover)))
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

/// Scans into the sort.
async fn feed_scan(
    block: &Block,
    env: &mut Env<'_>,
    rest: &OnlySubs<'_>,
    out: &mut Output<'_>,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    let cx = env.cx;
    let step = &block.join.steps[0];
    let slot = block.slot(step);
    let mut scans = Scans::new(block, env, rest)?;
    let inexact = scans.inexact;
    let mut batch = RowBatch::new();
    while let Some(mut scan) = scans.next(env)? {
        loop {
            batch.clear();
            let more = env
                .session
                .next_batch(&mut scan, &mut batch, BATCH, &mut |row| {
                    let row = Candidate { slot, row, rest };
                    if passes(step, inexact, cx, &row)? {
                        out.push(cx, &row, sink)?;
                    }
                    // What there is to do is done between two calls: rows that are taken end this one.
                    Ok(out.is_untidy())
                })
                .await?;
            env.check()?;
            out.tidy(env).await?;
            if !more {
                break;
            }
        }
    }
    Ok(())
}

/// Scans to the sink, a batch at a time.
async fn stream_scan(
    block: &Block,
    env: &mut Env<'_>,
    rest: &OnlySubs<'_>,
    out: &mut Output<'_>,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    let cx = env.cx;
    let step = &block.join.steps[0];
    let slot = block.slot(step);
    let mut scans = Scans::new(block, env, rest)?;
    let inexact = scans.inexact;
    let wanted = limits(block.limit(), cx)?.needed();
    let mut batch = RowBatch::new();
    let mut size = match usize::try_from(wanted) {
        Ok(n) if block.join.limited => n.clamp(1, BATCH),
        _ => BATCH,
    };
    while let Some(mut scan) = scans.next(env)? {
        loop {
            batch.clear();
            let more = env
                .session
                .next_batch(&mut scan, &mut batch, size, &mut |row| {
                    passes(step, inexact, cx, &Candidate { slot, row, rest })
                })
                .await?;
            for i in 0..batch.len() {
                let row = batch.row(i);
                out.push(cx, &Candidate { slot, row, rest }, sink)?;
                if out.full() {
                    return Ok(());
                }
                if sink.is_full() {
                    sink.flush().await?;
                }
            }
            env.check()?;
            out.tidy(env).await?;
            if sink.wants_flush() {
                sink.flush().await?;
            }
            if !more {
                break;
            }
            size = BATCH;
        }
    }
    Ok(())
}

/// Joins into the output.
async fn join_rows(
    block: &Block,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    subs: &mut SubValues,
    kept: &mut Option<Kept>,
    out: &mut Output<'_>,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    let cx = env.cx;
    let own = std::mem::take(subs);
    let mut join = Join::new(block, outer, own, |t| mode(block, t));
    if let (Some(step), Some(kept)) = (&block.join.spool, kept.take()) {
        join.with_kept(step, kept);
    }
    if block.join.limited {
        join.expect(limits(block.limit(), cx)?.needed());
    }
    let mut rows = 0u64;
    while join.next(env).await? {
        join.fill(&block.join.subqueries, env).await?;
        if block.special {
            let row = join.tuple();
            env.ahead(|| out.rehearse(cx, &row)).await?;
        }
        loop {
            let pushed = out.push(cx, &join.tuple(), sink);
            if !block.special {
                pushed?;
                break;
            }
            // What it waits for may follow from chance, and be something else now.
            if env.settle(pushed).await?.is_some() {
                break;
            }
        }
        if out.full() {
            break;
        }
        rows += 1;
        out.tidy(env).await?;
        flush_now_and_then(rows, env, sink).await?;
    }
    *subs = std::mem::take(&mut join.subs);
    *kept = join.into_kept();
    Ok(())
}
