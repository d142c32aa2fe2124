//! Jumping through an index: of all entries that agree in its leading parts one is given to the grouping, and perhaps the least and the
//! greatest of the part behind them. See `sql_plan::optimize::physical::jump` for when that says all that is asked.
//!
//! Never here: which entries are wanted, and what becomes of them.

use engine::{KeyBound, ReadMode, RowBatch, ScanSpec};
use types::keyenc::NULL_MARK;
use types::{SqlError, ValueRef};

use crate::Env;
use crate::keys::KeyRange;
use crate::op::filter::passes;
use crate::op::group::Grouper;
use crate::row::{Candidate, OnlySubs};
use sql_plan::plan::{Block, Jump, Step};

/// What was seen of an entry.
struct Seen {
    /// The key of the parts that a run agrees in.
    run: Vec<u8>,
    /// The conditions hold for it, as for all of its run.
    wanted: bool,
    /// The part behind them is NULL.
    null: bool,
}

impl Env<'_> {
    /// Gives the entries that are wanted of these ranges to the grouping.
    ///
    /// # Errors
    /// Those of reading and of the conditions; 1317, 3024.
    pub(super) async fn jump(
        &mut self,
        block: &Block,
        jump: Jump,
        ranges: impl Iterator<Item = KeyRange>,
        rest: &OnlySubs<'_>,
        grouper: &mut Grouper<'_>,
    ) -> Result<(), SqlError> {
        let env = self;
        for (lower, upper) in ranges {
            let mut from = lower;
            loop {
                let whole = (from.clone(), upper.clone());
                let first = look(block, jump, whole.clone(), false, env, rest, grouper).await?;
                let Some(seen) = first else { break };
                let run = || KeyBound::Included(seen.run.clone());
                let range = match jump.one_run {
                    true => whole,
                    false => (run(), run()),
                };
                if seen.wanted && jump.least && seen.null {
                    let mut nulls = seen.run.clone();
                    nulls.push(NULL_MARK);
                    let behind = (KeyBound::Excluded(nulls), range.1.clone());
                    look(block, jump, behind, false, env, rest, grouper).await?;
                }
                if seen.wanted && jump.greatest {
                    look(block, jump, range, true, env, rest, grouper).await?;
                }
                env.check()?;
                if jump.one_run {
                    break;
                }
                from = KeyBound::Excluded(seen.run);
            }
        }
        Ok(())
    }
}

/// Gives the first entry of a range, or the last one, to the grouping.
async fn look(
    block: &Block,
    jump: Jump,
    (lower, upper): KeyRange,
    backward: bool,
    env: &mut Env<'_>,
    rest: &OnlySubs<'_>,
    grouper: &mut Grouper<'_>,
) -> Result<Option<Seen>, SqlError> {
    let cx = env.cx;
    let step: &Step = &block.join.steps[0];
    let (slot, index) = (block.slot(step), step.access.index().0);
    let table = block.tables[usize::from(step.table)]
        .stored()
        .ok_or_else(|| SqlError::internal("a stored table is expected"))?;
    let spec = ScanSpec {
        index,
        lower,
        upper,
        backward,
        mode: ReadMode::Consistent,
    };
    let mut scan = env.session.scan(table, spec).covered(step.cover.as_ref());
    let parts = &table.def.indexes[index].parts;
    let key_parts = table.key_parts(index);
    let mut seen = None;
    let mut batch = RowBatch::new();
    env.session
        .next_batch(&mut scan, &mut batch, 1, &mut |row| {
            let mut run = Vec::new();
            for (p, key) in parts.iter().zip(key_parts).take(jump.parts) {
                key.encode(row.column(usize::from(p.column)), &mut run);
            }
            let next = parts.get(jump.parts);
            let null = next.is_some_and(|p| {
                let value = row.column(usize::from(p.column));
                (jump.least || jump.greatest) && matches!(value, ValueRef::Null)
            });
            let candidate = Candidate { slot, row, rest };
            let wanted = passes(step, false, cx, &candidate)?;
            if wanted {
                grouper.add(cx, &candidate)?;
            }
            seen = Some(Seen { run, wanted, null });
            // The first one is taken, which ends the call.
            Ok(true)
        })
        .await?;
    if grouper.is_due() {
        grouper.flush(env).await?;
    }
    Ok(seen)
}
