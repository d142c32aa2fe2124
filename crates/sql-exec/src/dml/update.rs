//! UPDATE. By full clustered key in one step of the engine; while scanning, where the scan's own index does not change; otherwise
//! the keys are collected first and every row is looked at again when it is its turn ([`collected`](super::collected)).

use types::SqlError;

use super::assign::waits;
use super::collected::change_collected;
use super::edit::{Conditions, Edits as _, change_key, default_of};
use super::table_writer::tally::Tally;
use super::target_scan::{TargetScan, possible, stored};
use crate::Env;
use crate::change_log::BinlogContext;
use crate::keys::{self, Fit};
use crate::op::filter::all_hold;
use crate::op::limit::limits;
use crate::row::{Candidate, OnlySubs};
use crate::sub::SubValues;
use sql_expr::{EvalCtx, NoRow, RowSource};
use sql_plan::plan::{Access, UpdatePlan};
use sql_plan::sink::Done;

/// Runs an UPDATE of one row by its key where nothing has to be waited for. `None` where it is anything else, and where it would
/// fail: nothing was changed then, and [`run`] finds out.
pub fn run_now(
    plan: &UpdatePlan,
    session: &mut engine::Session,
    cx: &EvalCtx<'_>,
    binlog: Option<BinlogContext<'_>>,
    found_rows: bool,
) -> Option<Done> {
    if !plan.single_row {
        return None;
    }
    let (block, target) = (&plan.block, &plan.targets[0]);
    let table = stored(block, 0).ok()?;
    let Access::Get(keys) = &block.join.steps[0].access else {
        return None;
    };
    let mut key = Vec::with_capacity(32);
    if !matches!(
        keys::point(table, keys, cx, &NoRow, &mut key),
        Ok(Fit::Exact)
    ) {
        return None;
    }
    let defaults = |c| default_of(target, c);
    let edit = plan.edit(target, &defaults, binlog, cx).ok()?;
    let filter = &block.join.steps[0].filter;
    let change = edit.writer.update_key_now(session, &key, cx, |row| {
        let rest: &dyn RowSource = &NoRow;
        let slot = edit.slot;
        if !filter.is_empty() && !all_hold(filter, cx, &Candidate { slot, row, rest })? {
            return Ok(None);
        }
        edit.apply(row, &[], rest, 1, cx).map(Some)
    })?;
    let mut tally = Tally::default();
    tally.updated(change);
    Some(tally.of_update(found_rows, cx.warning_count()))
}

/// Runs an UPDATE.
pub(crate) async fn run(
    plan: &UpdatePlan,
    env: &mut Env<'_>,
    found_rows: bool,
) -> Result<Done, SqlError> {
    let block = &plan.block;
    let subs = SubValues::new(&block.subqueries, env, &NoRow).await?;
    let checks = SubValues::new(&plan.checks, env, &NoRow).await?;
    let mut tally = Tally::default();
    if possible(block, env, &subs)? {
        let single = plan.targets.len() == 1 && block.tables.len() == 1;
        let row_subqueries = uses_row_subqueries(plan);
        match &block.join.steps[0].access {
            Access::Get(_) if single && streams_or_gets(plan) && !row_subqueries => {
                by_key(plan, env, (&subs, &checks), &mut tally).await?;
            }
            _ if single && plan.streaming && !row_subqueries => {
                Box::pin(while_scanning(plan, env, (&subs, &checks), &mut tally)).await?;
            }
            _ => Box::pin(change_collected(plan, env, (subs, &checks), &mut tally)).await?,
        }
    }
    Ok(tally.of_update(found_rows, env.cx.warning_count()))
}

/// Whether assignments need subqueries that read the row, or may wait.
fn uses_row_subqueries(plan: &UpdatePlan) -> bool {
    plan.block.subqueries.iter().any(|s| s.correlated) || waits(plan)
}

/// Whether nothing has to be found whole before the first change.
fn streams_or_gets(plan: &UpdatePlan) -> bool {
    plan.block.order().is_empty() && plan.block.join.steps[0].late.is_empty()
}

/// The row named by a full clustered key.
async fn by_key(
    plan: &UpdatePlan,
    env: &mut Env<'_>,
    (subs, checks): (&SubValues, &SubValues),
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let block = &plan.block;
    let target = &plan.targets[0];
    let table = stored(block, 0)?;
    let cx = env.cx;
    let rest = OnlySubs {
        subs,
        outer: &NoRow,
    };
    if limits(block.limit(), cx)?.take == 0 {
        return Ok(());
    }
    let Access::Get(keys) = &block.join.steps[0].access else {
        return Ok(());
    };
    let mut key = Vec::with_capacity(32);
    match keys::point(table, keys, cx, &rest, &mut key)? {
        Fit::Exact => {}
        // In a box, as it is rare and large.
        Fit::No => return Box::pin(while_scanning(plan, env, (subs, checks), tally)).await,
        _ => return Ok(()),
    }
    let defaults = |c| default_of(target, c);
    let around = plan.edit_context(target, checks, cx, (env.security, env.binlog));
    let edit = plan.edit_in(target, &defaults, around, cx)?;
    let conditions = Conditions {
        step: &block.join.steps[0],
        implied: false,
    };
    change_key(&edit, &key, &conditions, env, &rest, tally).await
}

/// Rows changed batch by batch as the scan finds them.
async fn while_scanning(
    plan: &UpdatePlan,
    env: &mut Env<'_>,
    (subs, checks): (&SubValues, &SubValues),
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let block = &plan.block;
    let target = &plan.targets[0];
    let cx = env.cx;
    let rest = &OnlySubs {
        subs,
        outer: &NoRow,
    };
    let take = limits(block.limit(), cx)?.take;
    let defaults = |c| default_of(target, c);
    let around = plan.edit_context(target, checks, cx, (env.security, env.binlog));
    let edit = plan.edit_in(target, &defaults, around, cx)?;
    let conditions = Conditions {
        step: &block.join.steps[0],
        implied: true,
    };
    let mut scan = TargetScan::open(block, cx, rest, true)?;
    while scan
        .next(take.saturating_sub(tally.matched()), rest, env)
        .await?
    {
        for i in 0..scan.len() {
            let (old, place) = (scan.row(i), scan.place(i));
            let line = tally.next_row();
            let new = edit.apply(old, &[], rest, line, cx);
            let change = edit
                .writer
                .update_seen(env.session, place, old, (new, line), cx)
                .await?;
            match change {
                Some(change) => tally.updated(change),
                // Somebody was faster: the row is judged anew.
                None => change_key(&edit, place.0, &conditions, env, rest, tally).await?,
            }
        }
    }
    Ok(())
}
