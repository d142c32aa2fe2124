//! Builds and drives the operators of a block: the joins, or the scan of the only table, then groups, then the rest ([`Tail`]).
//!
//! What may run in one way or another has been decided by the optimiser; here it is only seen where something stands against it that a plan
//! cannot know: a range that is not exact, rows that are kept, counting, rows that are locked as they match.

use types::SqlError;

use super::group::making::Making;
use super::join::kept::Kept;
use super::limit::limits;
use super::tail::Tail;
use super::{scan, window};
use crate::Env;
use crate::env::Counts;
use crate::keys::mode;
use crate::op::filter::all_hold;
use crate::op::join::{Join, spool};
use crate::pause::flush_now_and_then;
use crate::row::OnlySubs;
use crate::sub::SubValues;
use sql_expr::RowSource;
use sql_plan::plan::{Access, Block};
use sql_plan::sink::ResultSink;

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
    let mut out = Tail::new(block, bounds, cx);
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
        let making = Making::new(block, group, outer, bounds, fused, possible);
        making
            .run(env, &mut subs, &mut kept, &mut out, sink)
            .await?;
    } else if fused {
        let rest = OnlySubs { subs: &subs, outer };
        if out.streams() {
            scan::stream(block, env, &rest, &mut out, sink).await?;
        } else {
            scan::feed(block, env, &rest, &mut out, sink).await?;
        }
    } else if possible {
        through(block, env, outer, &mut subs, &mut kept, &mut out, sink).await?;
    }
    if let Some(rows) = out.take_windows() {
        let windows = window::run::run(block, rows, env, outer, &mut subs, &mut out, sink);
        Box::pin(windows).await?;
    }
    spool::give(block, env, kept.filter(|_| block.join.spool.is_some()));
    out.finish(env, sink).await?;
    Ok(counts(block, &out))
}

fn counts(block: &Block, out: &Tail<'_>) -> Counts {
    let no_index = block.join.steps.iter().any(|s| {
        matches!(s.access, Access::Full { .. })
            && block.tables[usize::from(s.table)].stored().is_some()
    });
    Counts {
        sent: out.sent(),
        found: out.found(),
        no_index,
    }
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

/// Joins into what is behind the joins.
async fn through(
    block: &Block,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    subs: &mut SubValues,
    kept: &mut Option<Kept>,
    out: &mut Tail<'_>,
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
