//! UPDATE of rows that are found before any of them changes. What was found alone is looked at again and computed when it is its turn;
//! otherwise the new values are those of when it was found.

use types::SqlError;

use super::assign::{Assigned, assigned, in_turn, waits};
use super::edit::{Conditions, Edits as _, change_key, default_of};
use super::table_writer::tally::Tally;
use super::target_keys::{self, TargetKeys, in_order};
use super::target_scan::stored;
use super::values::default_value;
use crate::Env;
use crate::keymap::KeyMap;
use crate::keys;
use crate::op::limit::limits;
use crate::row::OnlySubs;
use crate::sub::SubValues;
use sql_expr::NoRow;
use sql_plan::plan::{DefaultPlan, UpdatePlan, UpdateTarget};

/// Keys (and for several tables the new values) first, changes after.
pub(super) async fn change_collected(
    plan: &UpdatePlan,
    env: &mut Env<'_>,
    (subs, checks): (SubValues, &SubValues),
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let block = &plan.block;
    let cx = env.cx;
    let take = limits(block.limit(), cx)?.take;
    if take == 0 {
        return Ok(());
    }
    let again = keys::can_look_again(block) && !waits(plan);
    let targets = plan.targets.iter().map(|t| t.table);
    let mut join = target_keys::join(block, targets, subs);
    let mut found = TargetKeys::new(block, plan.targets.len(), take, env);
    let mut values: Vec<Assigned> = plan
        .targets
        .iter()
        .map(|_| Assigned::new(cx.memory()))
        .collect();
    let all: Vec<u32> = (0..block.subqueries.len() as u32)
        .filter(|&i| block.subqueries[i as usize].correlated)
        .collect();
    while join.next(env).await? {
        join.fill(&all, env).await?;
        for (i, (t, kept)) in plan.targets.iter().zip(&mut values).enumerate() {
            let Some(n) = found.note(i, t.table, &join)? else {
                continue;
            };
            // Rows that are looked at again are computed when they change, and only then: an assignment may count them.
            if !again {
                kept.keep(match &block.tables[..] {
                    [_] => in_turn(plan, t, &mut join, n as u64 + 1, env).await?,
                    _ => {
                        let table = stored(block, t.table)?;
                        if waits(plan) {
                            let row = join.tuple();
                            env.ahead(|| assigned(t, table, &row, cx)).await?;
                        }
                        let values = assigned(t, table, &join.tuple(), cx)?;
                        cx.row_done();
                        values
                    }
                });
            }
            found.rank(n, &join.tuple(), env).await?;
        }
        if found.enough(env).await? {
            break;
        }
    }
    let subs = std::mem::take(&mut join.subs);
    drop(join);
    let (found, order) = found.finish(env).await?;
    for ((t, keys), values) in plan.targets.iter().zip(&found).zip(&values) {
        let order = order.as_deref();
        if again {
            change_again(plan, t, keys, order, env, (&subs, checks), tally).await?;
        } else {
            change_as_found(plan, t, (keys, values), order, env, (&subs, checks), tally).await?;
        }
    }
    Ok(())
}

/// Rows of a table that is changed alone: each is judged and computed when it is its turn.
async fn change_again(
    plan: &UpdatePlan,
    t: &UpdateTarget,
    keys: &KeyMap,
    order: Option<&[usize]>,
    env: &mut Env<'_>,
    (subs, checks): (&SubValues, &SubValues),
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let defaults = |c| default_of(t, c);
    let around = plan.edit_context(t, checks, env.cx, (env.security, env.binlog));
    let edit = plan.edit_in(t, &defaults, around, env.cx)?;
    let rest = OnlySubs {
        subs,
        outer: &NoRow,
    };
    let conditions = Conditions {
        step: &plan.block.join.steps[0],
        implied: true,
    };
    for n in in_order(keys, order) {
        change_key(&edit, keys.key(n), &conditions, env, &rest, tally).await?;
    }
    Ok(())
}

/// Rows that get the values of when they were found.
async fn change_as_found(
    plan: &UpdatePlan,
    t: &UpdateTarget,
    (keys, found): (&KeyMap, &Assigned),
    order: Option<&[usize]>,
    env: &mut Env<'_>,
    (subs, checks): (&SubValues, &SubValues),
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let cx = env.cx;
    let defaults = |c| default_of(t, c);
    let around = plan.edit_context(t, checks, cx, (env.security, env.binlog));
    let edit = plan.edit_in(t, &defaults, around, cx)?;
    let table = edit.writer.table();
    let rest = OnlySubs {
        subs,
        outer: &NoRow,
    };
    for n in in_order(keys, order) {
        let line = tally.next_row();
        let mut values = found.values[n].clone();
        for (v, a) in values.iter_mut().zip(&t.assigns) {
            if a.value.is_none() && plan.block.tables.len() > 1 {
                let d = default_of(t, a.column).unwrap_or(&DefaultPlan::Missing);
                *v = default_value(d, table, a.column, &rest, line, &edit.mode, cx)?;
            }
        }
        let change = edit
            .writer
            .update_key(env.session, keys.key(n), line, cx, |row| {
                edit.apply_values(row, &values, line, cx).map(Some)
            })
            .await?;
        tally.updated(change);
    }
    Ok(())
}
