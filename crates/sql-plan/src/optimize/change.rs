//! Plans of UPDATE and DELETE: the block that finds the rows, and whether they can be changed while they are found.

use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use crate::bind::tree::{BoundDelete, BoundUpdate, UpdateTarget};
use crate::optimize::Optimizer;
use crate::plan::{Access, Block, DeletePlan, Relations, UpdatePlan};

impl Optimizer<'_> {
    pub(crate) fn update(&self, u: BoundUpdate) -> Result<UpdatePlan, SqlError> {
        let block = self.block_of(u.block, true)?;
        self.check_safe(&block)?;
        let ordered = block.order().is_empty();
        let streaming = ordered
            && can_stream(&block)
            && scan_untouched(&block, &u.targets[0])
            && stays_put(&u.relations);
        let alone = u.targets.len() == 1 && u.relations.is_none() && u.checks.is_empty();
        let single_row = alone && is_single_row(&block, &u.targets[0]);
        Ok(UpdatePlan {
            block,
            targets: u.targets,
            several: u.several,
            ignore: u.ignore,
            relations: u.relations,
            streaming,
            single_row,
            checks: self.subqueries(u.checks)?,
        })
    }

    pub(crate) fn delete(&self, d: BoundDelete) -> Result<DeletePlan, SqlError> {
        let block = self.block_of(d.block, true)?;
        self.check_safe(&block)?;
        let streaming = block.order().is_empty() && can_stream(&block) && stays_put(&d.relations);
        Ok(DeletePlan {
            block,
            targets: d.targets,
            ignore: d.ignore,
            relations: d.relations,
            streaming,
        })
    }

    /// `sql_safe_updates` wants a key or a LIMIT.
    ///
    /// # Errors
    /// 1175.
    fn check_safe(&self, block: &Block) -> Result<(), SqlError> {
        let everything = block
            .join
            .steps
            .iter()
            .any(|s| matches!(s.access, Access::Full { .. }) && s.buffer.is_none());
        if everything && block.limit().is_none() && self.ctx.cx.vars.hot().safe_updates {
            return Err(SqlError::new(
                codes::ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE,
                "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column. ",
            ));
        }
        Ok(())
    }
}

/// Whether cascades leave the rows of the table that is scanned where they are.
fn stays_put(relations: &Option<Arc<Relations>>) -> bool {
    relations.as_ref().is_none_or(|r| !r.moves_roots)
}

/// Whether the rows of a change can be handled as they are read.
fn can_stream(block: &Block) -> bool {
    block.join.steps.len() == 1
        && block.join.steps[0].late.is_empty()
        && block.join.steps[0].buffer.is_none()
}

/// See [`UpdatePlan::single_row`].
fn is_single_row(block: &Block, target: &UpdateTarget) -> bool {
    let [table] = &block.tables[..] else {
        return false;
    };
    let Some(table) = table.stored() else {
        return false;
    };
    let by_key = can_stream(block) && matches!(block.join.steps[0].access, Access::Get(_));
    let more = block.limit().is_some()
        || !block.order().is_empty()
        || !block.join.constant.is_empty()
        || !block.subqueries.is_empty();
    let columns = 0..table.def.columns.len() as u16;
    let indexed = columns
        .into_iter()
        .any(|c| target.changes(c) && table.is_indexed(c));
    by_key && !more && !indexed
}

/// Whether the assignments leave the scanned index and the clustered key alone.
fn scan_untouched(block: &Block, target: &UpdateTarget) -> bool {
    let Some(table) = block.tables[0].stored() else {
        return false;
    };
    let index = match &block.join.steps[0].access {
        Access::Full { index, .. } => *index,
        Access::Range(r) => r.index,
        Access::Get(_) | Access::Union(_) | Access::Nothing => 0,
    };
    let moves = |i: usize| {
        let mut parts = table.def.indexes[i].parts.iter();
        parts.any(|p| target.changes(p.column))
    };
    !moves(0) && !moves(index)
}
