//! DELETE. By full clustered key, while scanning, or (several tables, a sort, subqueries per row) with the keys collected first.

use engine::{KeyBound, ReadMode, RowBatch, ScanSpec, Written};
use types::{SqlError, ValueRef};

use super::Env;
use super::join::{Join, all_hold, passes};
use super::keymap::KeyMap;
use super::keys::{self, Fit, Ranges};
use super::output::limits;
use super::row::{Candidate, OnlySubs};
use super::sort::{Sorter, write_sort_key};
use super::sub::SubValues;
use super::update::{possible, stored};
use crate::plan::{Access, DeletePlan};
use crate::sink::Done;
use sql_expr::NoRow;

/// Runs a DELETE.
pub(crate) async fn run(plan: &DeletePlan, env: &mut Env<'_>) -> Result<Done, SqlError> {
    let block = &plan.block;
    let subs = SubValues::new(&block.subqueries, env, &NoRow).await?;
    let mut deleted = 0;
    if possible(block, env, &subs)? {
        deleted = if !plan.streaming || plan.targets.len() != 1 || block.tables.len() != 1 {
            collected(plan, env, subs).await?
        } else {
            match &block.steps[0].access {
                Access::Get(_) => by_key(plan, env, &subs).await?,
                _ => while_scanning(plan, env, &subs).await?,
            }
        };
    }
    Ok(Done {
        affected: deleted,
        ..Done::default()
    })
}

async fn by_key(plan: &DeletePlan, env: &mut Env<'_>, subs: &SubValues) -> Result<u64, SqlError> {
    let block = &plan.block;
    let step = &block.steps[0];
    let table = stored(block, 0)?;
    let cx = env.cx;
    let rest = OnlySubs {
        subs,
        outer: &NoRow,
    };
    if limits(block.limit.as_ref(), cx)?.take == 0 {
        return Ok(0);
    }
    let Access::Get(keys) = &step.access else {
        return Ok(0);
    };
    let mut key = Vec::with_capacity(32);
    match keys::point(table, keys, cx, &rest, &mut key)? {
        Fit::Exact => {}
        Fit::No => return while_scanning(plan, env, subs).await,
        _ => return Ok(0),
    }
    let slot = block.tables[0].slot;
    let done = env
        .session
        .delete_key(table, &key, &mut |row| {
            let rest = &rest;
            all_hold(&step.filter, cx, &Candidate { slot, row, rest })
        })
        .await?;
    Ok(u64::from(done))
}

const BATCH: usize = 128;

async fn while_scanning(
    plan: &DeletePlan,
    env: &mut Env<'_>,
    subs: &SubValues,
) -> Result<u64, SqlError> {
    let block = &plan.block;
    let step = &block.steps[0];
    let table = stored(block, 0)?;
    let cx = env.cx;
    let rest = OnlySubs {
        subs,
        outer: &NoRow,
    };
    let take = limits(block.limit.as_ref(), cx)?.take;
    let (ranges, inexact) = match keys::ranges(table, &step.access, cx, &rest)? {
        Ranges::Some(list) => (list, false),
        Ranges::Inexact => (vec![(KeyBound::None, KeyBound::None)], true),
    };
    let (index, backward) = keys::index_of(&step.access);
    let slot = block.tables[0].slot;
    let mut deleted = 0;
    let mut batch = RowBatch::new();
    for (lower, upper) in ranges {
        let spec = ScanSpec {
            index,
            lower,
            upper,
            backward,
            mode: ReadMode::Current,
        };
        let mut scan = env.session.scan(table, spec);
        loop {
            let left = take.saturating_sub(deleted);
            if left == 0 {
                return Ok(deleted);
            }
            let size = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
            batch.clear();
            let more = env
                .session
                .next_batch(&mut scan, &mut batch, size, &mut |row| {
                    let rest = &rest;
                    passes(step, inexact, cx, &Candidate { slot, row, rest })
                })
                .await?;
            for i in 0..batch.len().min(size) {
                let key = batch.key(i);
                let gone = match env.session.delete(table, key, batch.version(i)).await? {
                    Written::Done => true,
                    Written::Gone | Written::Duplicate { .. } => false,
                    // Somebody was faster: the row is judged anew.
                    Written::Moved => {
                        env.session
                            .delete_key(table, key, &mut |row| {
                                let rest = &rest;
                                passes(step, true, cx, &Candidate { slot, row, rest })
                            })
                            .await?
                    }
                };
                deleted += u64::from(gone);
            }
            if !more {
                break;
            }
        }
    }
    Ok(deleted)
}

async fn collected(plan: &DeletePlan, env: &mut Env<'_>, subs: SubValues) -> Result<u64, SqlError> {
    let block = &plan.block;
    let cx = env.cx;
    let bounds = limits(block.limit.as_ref(), cx)?;
    if bounds.take == 0 {
        return Ok(0);
    }
    let alone = keys::can_look_again(block);
    let isolation = env.session.isolation();
    let target = |i: usize| plan.targets.iter().any(|&t| usize::from(t) == i);
    let mode = |i| keys::change_mode(keys::Role::of(block, target(i)), isolation);
    let mut join = Join::new(block, &NoRow, subs, mode);
    let mut found: Vec<KeyMap> = plan
        .targets
        .iter()
        .map(|_| KeyMap::new(cx.memory()))
        .collect();
    let mut sorter = (!block.order.is_empty()).then(|| Sorter::new(1, bounds.take, cx.memory()));
    let mut sort_key = Vec::new();
    while join.next(env).await? {
        join.fill(&block.row_subqueries, env).await?;
        for (&t, keys) in plan.targets.iter().zip(&mut found) {
            let Some(key) = join.level(t).key() else {
                continue;
            };
            let (n, new) = keys.insert(key)?;
            if let (true, Some(s)) = (new, &mut sorter) {
                sort_key.clear();
                write_sort_key(&block.order, cx, &join.tuple(), &mut sort_key)?;
                s.add(&sort_key, [ValueRef::UInt(n as u64)]);
            }
        }
        if let Some(s) = &mut sorter
            && s.is_untidy()
        {
            s.tidy(env).await?;
        }
        if env.due() {
            env.pause().await?;
        }
        if sorter.is_none() && found.len() == 1 && found[0].len() as u64 >= bounds.take {
            break;
        }
    }
    let subs = std::mem::take(&mut join.subs);
    drop(join);
    let order = match sorter {
        Some(s) => Some(s.finish(env).await?.numbers()),
        None => None,
    };
    let rest = OnlySubs {
        subs: &subs,
        outer: &NoRow,
    };
    let mut deleted = 0;
    for (&t, keys) in plan.targets.iter().zip(&found) {
        let table = stored(block, t)?;
        let slot = block.tables[usize::from(t)].slot;
        let numbers = match &order {
            Some(o) => o.clone(),
            None => (0..keys.len()).collect(),
        };
        for n in numbers {
            let gone =
                env.session
                    .delete_key(table, keys.key(n), &mut |row| {
                        let rest = &rest;
                        Ok(!alone
                            || passes(&block.steps[0], true, cx, &Candidate { slot, row, rest })?)
                    })
                    .await?;
            deleted += u64::from(gone);
        }
    }
    Ok(deleted)
}
