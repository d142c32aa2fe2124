//! Recognises the statements that go straight from page to packet.

use crate::plan::{Access, Block, Body, Destination, FIRST_SPECIAL_SLOT, Op, PointGet, QueryPlan};
use sql_expr::{Expr, Val};

/// The columns of a select list that is nothing but columns whose values need no conversion.
pub(crate) fn plain_columns(output: &[Expr]) -> Option<Vec<(u16, u16)>> {
    output
        .iter()
        .map(|e| match e.as_column() {
            Some(c) if !c.utc => Some((c.slot, c.ordinal)),
            _ => None,
        })
        .collect()
}

/// Whether a LIMIT lets one row through.
fn admits_one(block: &Block) -> bool {
    let Some(l) = block.limit() else { return true };
    let at_least_one = match l.count.as_const() {
        Some(Val::Int(n)) => *n >= 1,
        Some(Val::Uint(n)) => *n >= 1,
        _ => false,
    };
    at_least_one && l.offset.is_none()
}

/// Takes a query apart into a read by full clustered key, where it is nothing else.
pub(crate) fn point_get(plan: &mut QueryPlan) -> Option<PointGet> {
    let to_client = matches!(plan.into, Destination::Client);
    if !to_client || !plan.order.is_empty() || plan.limit.is_some() {
        return None;
    }
    let Body::Block(b) = &mut plan.body else {
        return None;
    };
    let simple = b.join.steps.len() == 1
        && b.group().is_none()
        && b.having().is_none()
        && b.windows().is_none()
        && b.subqueries.is_empty()
        && b.derived.is_empty()
        && b.join.constant.is_empty()
        && !b.special
        && !b.calc_found_rows()
        && admits_one(b);
    let step = b.join.steps.first()?;
    if !simple || !step.late.is_empty() || step.buffer.is_some() || !step.nests.is_empty() {
        return None;
    }
    let Access::Get(_) = &step.access else {
        return None;
    };
    let table = b.tables.first()?.stored()?.clone();
    let select = b.ops.iter_mut().find_map(|op| match op {
        Op::Project(p) => Some(&mut **p),
        _ => None,
    })?;
    let plain = select.plain.as_ref().and_then(|p| {
        p.iter()
            .map(|&(slot, c)| (slot < FIRST_SPECIAL_SLOT).then_some(c))
            .collect()
    });
    let output = std::mem::take(&mut select.values);
    let step = b.join.steps.pop()?;
    let Access::Get(key) = step.access else {
        return None;
    };
    Some(PointGet {
        table,
        slot: b.tables[0].slot,
        lock: b.tables[0].lock,
        key,
        filter: step.filter,
        implied: step.implied,
        output,
        plain,
    })
}
