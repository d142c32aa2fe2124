//! The values that an UPDATE assigns where they are computed as its rows are found, and kept until the rows are changed.

use std::sync::Arc;

use engine::Table;
use types::{SqlError, Value};

use super::edit::{Edits as _, default_of};
use crate::Env;
use crate::op::join::Join;
use crate::row;
use sql_expr::memory::{Account, Charge};
use sql_expr::{Expr, RowSource};
use sql_plan::plan::{UpdatePlan, UpdateTarget, subqueries_of};

/// What rows of a target are assigned, as of when they were found.
pub(super) struct Assigned {
    /// The values of each row; none where rows are looked at again and computed when they change.
    pub values: Vec<Vec<Value>>,
    charge: Charge,
}

impl Assigned {
    /// None yet.
    pub fn new(account: &Arc<Account>) -> Assigned {
        Assigned {
            values: Vec::new(),
            charge: Charge::to(account),
        }
    }

    /// Keeps the values of a row. Where the session has no room for them, it fails at the next pause.
    pub fn keep(&mut self, values: Vec<Value>) {
        let bytes = values.iter().map(|v| match v {
            Value::Str(b, _) | Value::Bytes(b) => b.len(),
            _ => 0,
        });
        let all = (values.len() + 1) * size_of::<Value>() + bytes.sum::<usize>();
        if self.charge.add(all) {
            self.values.push(values);
        }
    }
}

/// The assigned values of a row of a table that is changed alone: each is computed from the row as the assignments before it leave it, and so are
/// the subqueries that it uses (the manual, "UPDATE Statement").
pub(super) async fn in_turn(
    plan: &UpdatePlan,
    t: &UpdateTarget,
    join: &mut Join<'_>,
    line: u64,
    env: &mut Env<'_>,
) -> Result<Vec<Value>, SqlError> {
    let block = &plan.block;
    let cx = env.cx;
    let defaults = |c| default_of(t, c);
    let edit = plan.edit(t, &defaults, None, cx)?;
    let mut columns: Vec<(u16, Value)> = Vec::with_capacity(t.assigns.len());
    for a in &t.assigns {
        let mut used = Vec::new();
        if let (Some(e), false) = (&a.value, columns.is_empty()) {
            subqueries_of(e, &mut used);
            used.retain(|&i| block.subqueries[i as usize].correlated);
        }
        for i in used {
            let rows = {
                let row = row::Assigned {
                    slot: edit.slot,
                    columns: &columns,
                    rest: &join.tuple(),
                };
                crate::sub::fetch(&block.subqueries[i as usize], env, &row).await?
            };
            join.subs.set(i, rows);
        }
        let row = row::Assigned {
            slot: edit.slot,
            columns: &columns,
            rest: &join.tuple(),
        };
        if a.value.as_ref().is_some_and(Expr::has_special) {
            env.ahead(|| edit.value(a, &row, line, cx)).await?;
        }
        let v = edit.value(a, &row, line, cx)?;
        cx.row_done();
        columns.push((a.column, v));
    }
    Ok(columns.into_iter().map(|(_, v)| v).collect())
}

/// Whether assignments may wait (SLEEP, GET_LOCK): their values are computed before a row is changed, as nothing waits while it is.
pub(super) fn waits(plan: &UpdatePlan) -> bool {
    let mut values = plan.targets.iter().flat_map(|t| &t.assigns);
    values.any(|a| a.value.as_ref().is_some_and(Expr::has_special))
}

/// The assigned values of a row, all computed from the row as it was found. `DEFAULT` is left open as NULL.
pub(super) fn assigned(
    t: &UpdateTarget,
    table: &Table,
    row: &dyn RowSource,
    cx: &sql_expr::EvalCtx<'_>,
) -> Result<Vec<Value>, SqlError> {
    let mut out = Vec::with_capacity(t.assigns.len());
    for a in &t.assigns {
        out.push(match &a.value {
            Some(e) => {
                let v = e.eval(cx, row)?;
                let ty = &table.def.columns[usize::from(a.column)].ty;
                v.as_assigned_ref(&e.ty, ty).to_owned()
            }
            None => Value::Null,
        });
    }
    Ok(out)
}
