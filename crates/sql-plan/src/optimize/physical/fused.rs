//! Which blocks are the scan of one table that goes straight into the select list, the sort or the groups; and which groups are made by batches
//! of columns: where that gives what rows give, and pays.

use types::DataType;

use crate::plan::{Access, Block, Fused, GroupPlan, Step};
use sql_expr::Expr;
use sql_expr::batch::{self, Aggregates, GroupStates};

/// Fewer rows are taken into their groups one by one.
const ROWS_FOR_BATCHES: f64 = 200.0;

/// What the scan of a block goes into. Of the block all else is decided.
pub(crate) fn of(block: &Block) -> Option<Fused> {
    let [step] = &block.steps[..] else {
        return None;
    };
    if !is_scan(block, step) || block.special || !block.row_subqueries.is_empty() {
        return None;
    }
    let Some(plan) = &block.group else {
        return Some(Fused::Output);
    };
    if plan.rollup.is_some() {
        return None;
    }
    if plan.in_order {
        // What an index does not have is read sooner for many entries at a time.
        let whole = step.cover.is_some() || step.access.index().0 == 0;
        return whole.then_some(Fused::InOrder);
    }
    Some(match step.jump {
        Some(_) => Fused::Jump,
        None if is_for_batches(block, step, plan) => Fused::Batches,
        None => Fused::Groups,
    })
}

/// Whether a step is a scan of a stored table that asks for each row once.
fn is_scan(block: &Block, step: &Step) -> bool {
    let table = &block.tables[usize::from(step.table)];
    table.stored().is_some()
        && table.lock.is_none()
        && step.buffer.is_none()
        && step.late.is_empty()
        && step.nests.is_empty()
        && step.at_most.is_none()
        && !matches!(step.access, Access::Union(_))
}

/// Whether batches pay and give what rows give: nothing has to be looked at in the order of the rows, and what has no loop is not kept for
/// each group.
fn is_for_batches(block: &Block, step: &Step, plan: &GroupPlan) -> bool {
    let counts = plan.only_count_star && step.filter.is_empty();
    let Some(table) = block.tables[usize::from(step.table)].stored() else {
        return false;
    };
    if counts || step.rows < ROWS_FOR_BATCHES {
        return false;
    }
    // What goes on from here to the client in the form in which it is stored.
    let slot = block.slot(step);
    let mut carried = plan.carried.iter().filter_map(Expr::as_column);
    let changed = carried.any(|c| {
        let column = table.def.columns.get(usize::from(c.ordinal));
        let ty = column.map(|c| &c.ty);
        c.slot == slot && matches!(ty, None | Some(DataType::Float { .. } | DataType::Json))
    });
    let aggregates = Aggregates::new(&plan.aggregates);
    let mut args = plan.aggregates.iter().flat_map(|a| a.inputs());
    !changed
        && !aggregates.states().iter().any(GroupStates::is_by_rows)
        && !step.filter.iter().any(batch::has_effects)
        && !plan.keys.iter().any(batch::has_effects)
        && !args.any(batch::has_effects)
}
