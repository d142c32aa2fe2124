//! Which blocks are the scan of one table that goes straight into the operator behind it; and which groups are made by jumps, or by batches
//! of columns: where that gives what rows give, and pays.

use types::DataType;

use crate::plan::{Access, Block, GroupPlan, Grouping, Jump, Op, Step};
use sql_expr::Expr;
use sql_expr::batch::{self, Aggregates, GroupStates};

/// Fewer rows are taken into their groups one by one.
const ROWS_FOR_BATCHES: f64 = 200.0;

/// Decides what the joins of a block do for the operators behind them, and how those find their groups. All else of the block is decided;
/// `jump` says how its index may be jumped through.
pub(crate) fn decide(block: &mut Block, jump: Option<Jump>) {
    block.join.limited = is_limited(block);
    let fused = is_fused(block);
    block.join.fused = fused;
    let how = match block.grouping() {
        Some(g) if fused && g.how == Grouping::Hashed => match jump {
            Some(jump) => Grouping::Jump(jump),
            None if is_for_batches(block, &block.join.steps[0], &g.plan) => Grouping::Batches,
            None => Grouping::Hashed,
        },
        _ => return,
    };
    if let Some(g) = block.grouping_mut() {
        g.how = how;
    }
}

/// Whether each row of the joins that is looked for is one of those that LIMIT counts.
fn is_limited(block: &Block) -> bool {
    let straight = |op: &Op| match op {
        Op::Project(_) => true,
        Op::Sort(s) => s.given,
        Op::Limit(l) => !l.counts_all,
        Op::Group(_) | Op::Filter(_) | Op::Window(_) | Op::Distinct(_) => false,
    };
    block.ops.iter().all(straight)
}

/// Whether rows go from the scan of the only table straight into what is behind.
fn is_fused(block: &Block) -> bool {
    let [step] = &block.join.steps[..] else {
        return false;
    };
    if !is_scan(block, step) || block.special || !block.join.subqueries.is_empty() {
        return false;
    }
    match block.grouping().map(|g| g.how) {
        Some(Grouping::Rollup) => false,
        // What an index does not have is read sooner for many entries at a time.
        Some(Grouping::InOrder) => step.cover.is_some() || step.access.index().0 == 0,
        _ => true,
    }
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
