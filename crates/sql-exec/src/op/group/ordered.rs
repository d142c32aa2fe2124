//! Groups of one scanned table whose rows come one group behind the other: a row is taken into its group where it is scanned, under the latch, and
//! no key is looked for.
//!
//! Never here: whether rows come so (`optimize::order`).

use engine::RowBatch;
use types::SqlError;

use super::making::Making;
use crate::Env;
use crate::op::filter::passes;
use crate::op::group::Grouper;
use crate::op::scan::Scans;
use crate::op::tail::Tail;
use crate::row::{Candidate, Nulls, OnlySubs};
use crate::sub::SubValues;
use sql_plan::sink::ResultSink;

impl Making<'_> {
    /// Makes the groups of scans, and sends those that end while more rows come.
    pub(super) async fn in_order(
        &self,
        mut scans: Scans<'_>,
        env: &mut Env<'_>,
        subs: &mut SubValues,
        grouper: &mut Grouper<'_>,
        out: &mut Tail<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let (block, outer, most, cx) = (self.block, self.outer, self.most, env.cx);
        let step = &block.join.steps[0];
        let (slot, inexact) = (block.slot(step), scans.inexact);
        let empty = Nulls(outer, block.places.base());
        let mut batch = RowBatch::new();
        while let Some(mut scan) = scans.next(env)? {
            loop {
                batch.clear();
                let rest = OnlySubs { subs, outer };
                let more = env
                    .session
                    .next_batch(&mut scan, &mut batch, 1, &mut |row| {
                        let row = Candidate {
                            slot,
                            row,
                            rest: &rest,
                        };
                        // The row that would begin one group too many is taken, which ends the call.
                        Ok(passes(step, inexact, cx, &row)?
                            && !grouper.add_in_order(cx, &row, most)?)
                    })
                    .await?;
                for i in 0..batch.len() {
                    let row = batch.row(i);
                    let rest = OnlySubs { subs, outer };
                    let candidate = Candidate {
                        slot,
                        row,
                        rest: &rest,
                    };
                    if grouper.add_in_order(cx, &candidate, most)? {
                        continue;
                    }
                    let whole = grouper.begin_again(cx.memory()).finish(&empty);
                    Box::pin(env.finish_groups(block, whole, outer, subs, out, sink)).await?;
                    if out.full() {
                        return Ok(());
                    }
                    let rest = OnlySubs { subs, outer };
                    let candidate = Candidate {
                        slot,
                        row,
                        rest: &rest,
                    };
                    grouper.add_in_order(cx, &candidate, most)?;
                }
                env.check()?;
                if !more {
                    break;
                }
            }
        }
        Ok(())
    }
}
