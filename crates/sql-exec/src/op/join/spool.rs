//! Rows of correlated subqueries that are kept from one execution to the next within a statement (`plan::spool`).
//!
//! The first few executions scan as if there were none: a subquery that runs once or twice, or stops at its first row, gains nothing. Then
//! its rows are fetched once more, kept with a hash over what the rows around ask for, and looked up from then on. They are those of
//! the statement's read view, as every scan of it sees them. Too many rows are not kept.

use engine::ReadMode;
use types::SqlError;

use super::keep::keep_stored;
use super::kept::Kept;
use super::spools::Spool;
use crate::Env;
use crate::sub::SubValues;
use sql_expr::RowSource;
use sql_plan::plan::Block;

/// Executions before rows are kept.
const SCANS_BEFORE: u32 = 4;

/// Bytes of rows that are kept at most for one subquery.
pub(crate) const SPOOL_BYTES_MAX: usize = 64 << 20;

/// The kept rows of a block that is about to run, for this execution; [`give`] takes them back.
pub(crate) async fn take(
    block: &Block,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    subs: &SubValues,
) -> Result<Option<Kept>, SqlError> {
    let Some(step) = &block.join.spool else {
        return Ok(None);
    };
    let entry = env.spools.of.entry(block.id).or_insert(Spool::Seen(0));
    if let Spool::Seen(n) = entry {
        *n += 1;
        if *n <= SCANS_BEFORE {
            return Ok(None);
        }
    }
    match std::mem::replace(entry, Spool::None) {
        Spool::Kept(kept) => Ok(Some(*kept)),
        Spool::None => Ok(None),
        Spool::Seen(_) => {
            let mode = ReadMode::Consistent;
            keep_stored(block, step, mode, env, outer, subs, SPOOL_BYTES_MAX).await
        }
    }
}

/// Puts rows back that [`take`] gave.
pub(crate) fn give(block: &Block, env: &mut Env<'_>, kept: Option<Kept>) {
    if let Some(kept) = kept {
        env.spools.of.insert(block.id, Spool::Kept(Box::new(kept)));
    }
}
