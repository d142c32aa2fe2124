//! UPDATE. By full clustered key in one step of the engine; while scanning, where the scan's own index does not change; otherwise
//! the keys are collected first and every row is looked at again when it is its turn (so no row is met twice in its new place).

use std::sync::Arc;

use engine::{IndexKind, KeyBound, ReadMode, RowBatch, ScanSpec, Table, Updated, Written};
use types::{SqlError, Value, ValueRef};

use super::Env;
use super::assign::{Found, assigned, in_turn};
use super::join::{Join, all_hold, passes};
use super::keys::{self, Fit, Ranges};
use super::output::limits;
use super::row::{Candidate, OnlySubs};
use super::rowedit::{Edit, convert_mode, duplicate};
use super::sort::{Sorter, write_sort_key};
use super::sub::SubValues;
use crate::plan::{Access, Block, DefaultPlan, UpdatePlan, UpdateTarget};
use crate::sink::Done;
use sql_expr::{EvalCtx, Expr, NoRow, RowSource};

/// What an UPDATE has come to.
#[derive(Default)]
struct Tally {
    matched: u64,
    changed: u64,
    /// The row counted in messages.
    line: u64,
}

/// Runs an UPDATE of one row by its key where nothing has to be waited for. `None` where it is anything else, and where it would
/// fail: nothing was changed then, and [`run`] finds out.
pub(crate) fn run_now(
    plan: &UpdatePlan,
    session: &mut engine::Session,
    cx: &EvalCtx<'_>,
    found_rows: bool,
) -> Option<Done> {
    if !plan.lone {
        return None;
    }
    let (block, target) = (&plan.block, &plan.targets[0]);
    let table = stored(block, 0).ok()?;
    let Access::Get(keys) = &block.steps[0].access else {
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
    let edit = plan.edit(target, &defaults, cx).ok()?;
    let filter = &block.steps[0].filter;
    let mut matched = false;
    let updated = session.update_key_now(table, &key, &mut |row| {
        let rest: &dyn RowSource = &NoRow;
        let slot = edit.slot;
        matched = filter.is_empty() || all_hold(filter, cx, &Candidate { slot, row, rest })?;
        match matched {
            true => edit.apply(row, &[], rest, 1, cx),
            false => Ok(None),
        }
    })?;
    let tally = Tally {
        matched: u64::from(matched && updated != Updated::NotFound),
        changed: u64::from(updated == Updated::Done),
        line: 0,
    };
    Some(tally.done(found_rows, cx.warning_count()))
}

/// Runs an UPDATE.
pub(crate) async fn run(
    plan: &UpdatePlan,
    env: &mut Env<'_>,
    found_rows: bool,
) -> Result<Done, SqlError> {
    let block = &plan.block;
    let subs = SubValues::new(&block.subqueries, env, &NoRow).await?;
    let mut tally = Tally::default();
    if possible(block, env, &subs)? {
        let single = plan.targets.len() == 1 && block.tables.len() == 1;
        let row_subqueries = uses_row_subqueries(plan);
        match &block.steps[0].access {
            Access::Get(_) if single && plan.streaming_or_get() && !row_subqueries => {
                by_key(plan, env, &subs, &mut tally).await?;
            }
            _ if single && plan.streaming && !row_subqueries => {
                Box::pin(while_scanning(plan, env, &subs, &mut tally)).await?;
            }
            _ => Box::pin(collected(plan, env, subs, &mut tally)).await?,
        }
    }
    Ok(tally.done(found_rows, env.cx.warning_count()))
}

impl Tally {
    fn done(&self, found_rows: bool, warnings: u64) -> Done {
        Done {
            affected: match found_rows {
                true => self.matched,
                false => self.changed,
            },
            info: said(self, warnings),
            ..Done::default()
        }
    }
}

/// What the client is told of an UPDATE in words. Not by `format!`, which takes as long as finding the row.
fn said(tally: &Tally, warnings: u64) -> String {
    let mut text = Vec::with_capacity(64);
    for (name, n) in [
        ("Rows matched: ", tally.matched),
        ("  Changed: ", tally.changed),
        ("  Warnings: ", warnings),
    ] {
        text.extend_from_slice(name.as_bytes());
        types::convert::write_uint(n, &mut text);
    }
    String::from_utf8(text).unwrap_or_default()
}

/// Whether assignments need subqueries that read the row.
fn uses_row_subqueries(plan: &UpdatePlan) -> bool {
    plan.block.subqueries.iter().any(|s| s.correlated)
}

/// Whether the conditions that read no table hold.
pub(crate) fn possible(block: &Block, env: &Env<'_>, subs: &SubValues) -> Result<bool, SqlError> {
    let row = OnlySubs {
        subs,
        outer: &NoRow,
    };
    all_hold(&block.constant, env.cx, &row)
}

impl UpdatePlan {
    fn streaming_or_get(&self) -> bool {
        self.block.order.is_empty() && self.block.steps[0].late.is_empty()
    }

    pub(super) fn edit<'p>(
        &'p self,
        target: &'p UpdateTarget,
        defaults: &'p (dyn Fn(u16) -> Option<&'p DefaultPlan> + Sync),
        cx: &EvalCtx<'_>,
    ) -> Result<Edit<'p>, SqlError> {
        Ok(Edit {
            table: stored(&self.block, target.table)?,
            slot: self.block.tables[usize::from(target.table)].slot,
            assigns: &target.assigns,
            defaults,
            touch: &target.touch,
            mode: convert_mode(cx, self.ignore),
        })
    }
}

/// The stored table at a place of a block.
pub(crate) fn stored(block: &Block, table: u16) -> Result<&Arc<Table>, SqlError> {
    block.tables[usize::from(table)]
        .stored()
        .ok_or_else(|| SqlError::internal("a stored table is expected"))
}

/// Finds the default of a column that is assigned DEFAULT.
pub(super) fn default_of(target: &UpdateTarget, column: u16) -> Option<&DefaultPlan> {
    target
        .defaults
        .iter()
        .find(|(c, _)| *c == column)
        .map(|(_, d)| d)
}

/// The row named by a full clustered key.
async fn by_key(
    plan: &UpdatePlan,
    env: &mut Env<'_>,
    subs: &SubValues,
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
    if limits(block.limit.as_ref(), cx)?.take == 0 {
        return Ok(());
    }
    let Access::Get(keys) = &block.steps[0].access else {
        return Ok(());
    };
    let mut key = Vec::with_capacity(32);
    match keys::point(table, keys, cx, &rest, &mut key)? {
        Fit::Exact => {}
        Fit::No => return while_scanning(plan, env, subs, tally).await,
        _ => return Ok(()),
    }
    let defaults = |c| default_of(target, c);
    let edit = plan.edit(target, &defaults, cx)?;
    change_key(plan, &edit, &key, &block.steps[0].filter, env, &rest, tally).await
}

/// Changes one row by its clustered key if it still meets the conditions.
async fn change_key(
    plan: &UpdatePlan,
    edit: &Edit<'_>,
    key: &[u8],
    filter: &[Expr],
    env: &mut Env<'_>,
    rest: &dyn RowSource,
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let cx = env.cx;
    let line = tally.line + 1;
    let mut matched = false;
    let mut new_row: Vec<Value> = Vec::new();
    let collides = can_collide(edit);
    let outcome = env
        .session
        .update_key(edit.table, key, &mut |row| {
            let candidate = Candidate {
                slot: edit.slot,
                row,
                rest,
            };
            matched = all_hold(filter, cx, &candidate)?;
            if !matched {
                return Ok(None);
            }
            let new = edit.apply(row, &[], rest, line, cx)?;
            new_row.clear();
            if let (Some(new), true) = (&new, collides) {
                new_row.extend(new.iter().cloned());
            }
            Ok(new)
        })
        .await?;
    settle(plan, edit.table, outcome, matched, &new_row, env, tally)
}

/// Whether the assignments can meet a duplicate, so that the new row is needed for the message.
fn can_collide(edit: &Edit<'_>) -> bool {
    let assigned = |c: u16| edit.touch.contains(&c) || edit.assigns.iter().any(|a| a.column == c);
    edit.table.def.indexes.iter().any(|i| {
        matches!(i.kind, IndexKind::Primary | IndexKind::Unique)
            && i.parts.iter().any(|p| assigned(p.column))
    })
}

fn settle(
    plan: &UpdatePlan,
    table: &Table,
    outcome: Updated,
    matched: bool,
    new_row: &[Value],
    env: &Env<'_>,
    tally: &mut Tally,
) -> Result<(), SqlError> {
    match outcome {
        Updated::NotFound => return Ok(()),
        Updated::Unchanged if !matched => return Ok(()),
        Updated::Unchanged => {}
        Updated::Done => tally.changed += 1,
        Updated::Duplicate { index, .. } => {
            let e = duplicate(table, index, new_row);
            if !plan.ignore {
                return Err(e);
            }
            env.cx.warn_error(e);
        }
    }
    tally.matched += 1;
    tally.line += 1;
    Ok(())
}

const BATCH: usize = 128;

/// Rows changed batch by batch as the scan finds them.
async fn while_scanning(
    plan: &UpdatePlan,
    env: &mut Env<'_>,
    subs: &SubValues,
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let block = &plan.block;
    let step = &block.steps[0];
    let target = &plan.targets[0];
    let table = stored(block, 0)?;
    let cx = env.cx;
    let rest = OnlySubs {
        subs,
        outer: &NoRow,
    };
    let take = limits(block.limit.as_ref(), cx)?.take;
    let defaults = |c| default_of(target, c);
    let edit = plan.edit(target, &defaults, cx)?;
    let (ranges, inexact) = match keys::ranges(table, &step.access, cx, &rest)? {
        Ranges::Some(list) => (list, false),
        Ranges::Inexact => (vec![(KeyBound::None, KeyBound::None)], true),
    };
    let (index, backward) = keys::index_of(&step.access);
    let slot = edit.slot;
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
            let left = take.saturating_sub(tally.matched);
            if left == 0 {
                return Ok(());
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
                scanned_row(plan, &edit, &batch, i, inexact, env, &rest, tally).await?;
            }
            if !more {
                break;
            }
        }
    }
    Ok(())
}

#[allow(clippy::too_many_arguments)]
async fn scanned_row(
    plan: &UpdatePlan,
    edit: &Edit<'_>,
    batch: &RowBatch,
    i: usize,
    inexact: bool,
    env: &mut Env<'_>,
    rest: &OnlySubs<'_>,
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let cx = env.cx;
    let step = &plan.block.steps[0];
    let Some(new) = edit.apply(batch.row(i), &[], rest, tally.line + 1, cx)? else {
        return settle(plan, edit.table, Updated::Unchanged, true, &[], env, tally);
    };
    let key = batch.key(i);
    let written = env
        .session
        .update(edit.table, key, batch.version(i), &new)
        .await?;
    let outcome = match written {
        Written::Done => Updated::Done,
        Written::Gone => Updated::NotFound,
        Written::Duplicate { index, key } => Updated::Duplicate { index, key },
        Written::Moved => {
            // Somebody was faster: the row is judged anew.
            let mut filter: Vec<Expr> = step.filter.clone();
            filter.extend(step.implied.iter().cloned());
            let _ = inexact;
            return change_key(plan, edit, key, &filter, env, rest, tally).await;
        }
    };
    settle(plan, edit.table, outcome, true, &new, env, tally)
}

/// Keys (and for several tables the new values) first, changes after.
async fn collected(
    plan: &UpdatePlan,
    env: &mut Env<'_>,
    subs: SubValues,
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let block = &plan.block;
    let cx = env.cx;
    let bounds = limits(block.limit.as_ref(), cx)?;
    if bounds.take == 0 {
        return Ok(());
    }
    let isolation = env.session.isolation();
    let again = keys::can_look_again(block);
    let target = |i: usize| plan.targets.iter().any(|t| usize::from(t.table) == i);
    let mode = |i| keys::change_mode(keys::Role::of(block, target(i)), isolation);
    let mut join = Join::new(block, &NoRow, subs, mode);
    let mut found: Vec<Found> = plan
        .targets
        .iter()
        .map(|_| Found::new(cx.memory()))
        .collect();
    let mut sorter = (!block.order.is_empty()).then(|| Sorter::new(1, bounds.take, cx.memory()));
    let all: Vec<u32> = (0..block.subqueries.len() as u32)
        .filter(|&i| block.subqueries[i as usize].correlated)
        .collect();
    let mut sort_key = Vec::new();
    while join.next(env).await? {
        join.fill(&all, env).await?;
        for (t, f) in plan.targets.iter().zip(&mut found) {
            let Some(key) = join.level(t.table).key() else {
                continue;
            };
            let (n, new) = f.keys.insert(key)?;
            if !new {
                continue;
            }
            // Rows that are looked at again are computed when they change, and only then: an assignment may count them.
            if !again {
                let values = match &block.tables[..] {
                    [_] => in_turn(plan, t, &mut join, n as u64 + 1, env).await?,
                    _ => assigned(t, stored(block, t.table)?, &join.tuple(), cx)?,
                };
                f.keep(values);
            }
            let tuple = join.tuple();
            if let Some(s) = &mut sorter {
                sort_key.clear();
                write_sort_key(&block.order, cx, &tuple, &mut sort_key)?;
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
        if sorter.is_none() && found.len() == 1 && found[0].keys.len() as u64 >= bounds.take {
            break;
        }
    }
    let subs = std::mem::take(&mut join.subs);
    drop(join);
    let order = match sorter {
        Some(s) => Some(s.finish(env).await?.numbers()),
        None => None,
    };
    for (t, f) in plan.targets.iter().zip(&found) {
        let order = match &order {
            Some(o) => o.clone(),
            None => (0..f.keys.len()).collect(),
        };
        change_found(plan, t, f, &order, env, &subs, tally).await?;
    }
    Ok(())
}

async fn change_found(
    plan: &UpdatePlan,
    t: &UpdateTarget,
    f: &Found,
    order: &[usize],
    env: &mut Env<'_>,
    subs: &SubValues,
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let block = &plan.block;
    let cx = env.cx;
    let defaults = |c| default_of(t, c);
    let edit = plan.edit(t, &defaults, cx)?;
    let rest = OnlySubs {
        subs,
        outer: &NoRow,
    };
    let alone = keys::can_look_again(block);
    let mut filter: Vec<Expr> = Vec::new();
    if alone {
        filter.extend(block.steps[0].filter.iter().cloned());
        filter.extend(block.steps[0].implied.iter().cloned());
    }
    for &n in order {
        let key = f.keys.key(n);
        if alone {
            change_key(plan, &edit, key, &filter, env, &rest, tally).await?;
            continue;
        }
        let line = tally.line + 1;
        let mut values = f.values[n].clone();
        for (v, a) in values.iter_mut().zip(&t.assigns) {
            if a.value.is_none() && block.tables.len() > 1 {
                let d = default_of(t, a.column).unwrap_or(&DefaultPlan::Missing);
                *v = super::rowedit::default_value(
                    d, edit.table, a.column, &rest, line, &edit.mode, cx,
                )?;
            }
        }
        let mut new_row: Vec<Value> = Vec::new();
        let outcome = env
            .session
            .update_key(edit.table, key, &mut |row| {
                let new = edit.apply_values(row, &values, line, cx)?;
                new_row.clear();
                new_row.extend(new.iter().flatten().cloned());
                Ok(new)
            })
            .await?;
        settle(plan, edit.table, outcome, true, &new_row, env, tally)?;
    }
    Ok(())
}
