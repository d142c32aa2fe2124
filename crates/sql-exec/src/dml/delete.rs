//! DELETE. By full clustered key, while scanning, or (several tables, a sort, subqueries per row) with the keys collected first.

use engine::RowRequest;
use types::SqlError;

use super::table_writer::TableWriter;
use super::table_writer::foreign_keys::Related;
use super::table_writer::tally::Tally;
use super::target_keys::{self, TargetKeys, in_order};
use super::target_scan::{TargetScan, possible, stored};
use crate::Env;
use crate::keys::{self, Fit};
use crate::op::filter::{all_hold, passes};
use crate::op::limit::limits;
use crate::row::{Candidate, OnlySubs};
use crate::sub::SubValues;
use sql_expr::NoRow;
use sql_plan::plan::{Access, DeletePlan};
use sql_plan::sink::Done;

/// What becomes of a row, by whether it meets the conditions.
fn meant(wanted: bool) -> RowRequest<()> {
    match wanted {
        true => RowRequest::Change(()),
        false => RowRequest::Skip,
    }
}

/// Runs a DELETE.
pub(crate) async fn run(plan: &DeletePlan, env: &mut Env<'_>) -> Result<Done, SqlError> {
    let block = &plan.block;
    let subs = SubValues::new(&block.subqueries, env, &NoRow).await?;
    let mut tally = Tally::default();
    if possible(block, env, &subs)? {
        if !plan.streaming || plan.targets.len() != 1 || block.tables.len() != 1 {
            collected(plan, env, subs, &mut tally).await?;
        } else {
            match &block.join.steps[0].access {
                Access::Get(_) => by_key(plan, env, &subs, &mut tally).await?,
                _ => while_scanning(plan, env, &subs, &mut tally).await?,
            }
        }
    }
    Ok(tally.of_delete())
}

/// The row named by a full clustered key.
async fn by_key(
    plan: &DeletePlan,
    env: &mut Env<'_>,
    subs: &SubValues,
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let block = &plan.block;
    let step = &block.join.steps[0];
    let table = stored(block, 0)?;
    let cx = env.cx;
    let rest = &OnlySubs {
        subs,
        outer: &NoRow,
    };
    if limits(block.limit(), cx)?.take == 0 {
        return Ok(());
    }
    let Access::Get(keys) = &step.access else {
        return Ok(());
    };
    let mut key = Vec::with_capacity(32);
    match keys::point(table, keys, cx, rest, &mut key)? {
        Fit::Exact => {}
        Fit::No => return while_scanning(plan, env, subs, tally).await,
        _ => return Ok(()),
    }
    let slot = block.tables[0].slot;
    let related = Related::of(&plan.relations, 0, cx, env.security);
    let gone = TableWriter::new(table, plan.ignore, env.binlog)
        .related(related)
        .delete_row(env.session, &key, cx, |row| {
            let row = Candidate { slot, row, rest };
            all_hold(&step.filter, cx, &row).map(meant)
        })
        .await?;
    tally.deleted(gone);
    Ok(())
}

/// Rows deleted batch by batch as the scan finds them.
async fn while_scanning(
    plan: &DeletePlan,
    env: &mut Env<'_>,
    subs: &SubValues,
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let block = &plan.block;
    let step = &block.join.steps[0];
    let slot = block.tables[0].slot;
    let cx = env.cx;
    let rest = &OnlySubs {
        subs,
        outer: &NoRow,
    };
    let take = limits(block.limit(), cx)?.take;
    let related = Related::of(&plan.relations, 0, cx, env.security);
    let writer = TableWriter::new(stored(block, 0)?, plan.ignore, env.binlog).related(related);
    let mut scan = TargetScan::open(block, cx, rest, false)?;
    while scan
        .next(take.saturating_sub(tally.affected()), rest, env)
        .await?
    {
        for i in 0..scan.len() {
            let (old, place) = (scan.row(i), scan.place(i));
            let gone = match writer.delete_seen(env.session, place, old, cx).await? {
                Some(gone) => gone,
                // Somebody was faster: the row is judged anew.
                None => {
                    writer
                        .delete_row(env.session, place.0, cx, |row| {
                            let row = Candidate { slot, row, rest };
                            passes(step, true, cx, &row).map(meant)
                        })
                        .await?
                }
            };
            tally.deleted(gone);
        }
    }
    Ok(())
}

/// Keys first, deletions after.
async fn collected(
    plan: &DeletePlan,
    env: &mut Env<'_>,
    subs: SubValues,
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let block = &plan.block;
    let cx = env.cx;
    let take = limits(block.limit(), cx)?.take;
    if take == 0 {
        return Ok(());
    }
    // A row that IGNORE leaves to its children does not count, so any number may have to be looked at.
    let most = match plan.ignore && plan.relations.is_some() {
        true => u64::MAX,
        false => take,
    };
    let alone = keys::can_look_again(block);
    let mut join = target_keys::join(block, plan.targets.iter().copied(), subs);
    let mut found = TargetKeys::new(block, plan.targets.len(), most, env);
    while join.next(env).await? {
        join.fill(&block.join.subqueries, env).await?;
        for (i, &t) in plan.targets.iter().enumerate() {
            if let Some(n) = found.note(i, t, &join)? {
                found.rank(n, &join.tuple(), env).await?;
            }
        }
        if found.enough(env).await? {
            break;
        }
    }
    let subs = std::mem::take(&mut join.subs);
    drop(join);
    let (found, order) = found.finish(env).await?;
    let rest = &OnlySubs {
        subs: &subs,
        outer: &NoRow,
    };
    for (target, (&t, keys)) in plan.targets.iter().zip(&found).enumerate() {
        let related = Related::of(&plan.relations, target, cx, env.security);
        let writer = TableWriter::new(stored(block, t)?, plan.ignore, env.binlog).related(related);
        let slot = block.tables[usize::from(t)].slot;
        for n in in_order(keys, order.as_deref()) {
            if tally.affected() >= take {
                break;
            }
            let gone = writer
                .delete_row(env.session, keys.key(n), cx, |row| {
                    let row = Candidate { slot, row, rest };
                    let wanted = !alone || passes(&block.join.steps[0], true, cx, &row)?;
                    Ok(meant(wanted))
                })
                .await?;
            tally.deleted(gone);
        }
    }
    Ok(())
}
