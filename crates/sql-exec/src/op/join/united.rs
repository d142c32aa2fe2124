//! Rows that ranges of several indexes find, in the order of the primary key: MySQL unites what it found by the rows' places, and clients see
//! that order where they ask for none.
//!
//! Never here: more rows than a few. What goes beyond [`BYTES_MAX`] follows as the indexes have it, for nothing promises an order.

use types::SqlError;

use crate::Env;
use crate::op::filter::passes;
use crate::op::join::{Candidate, Join, LARGEST_BATCH, Tuple};
use engine::ScanSpec;

/// Bytes of rows that are put in order.
const BYTES_MAX: usize = 4 << 20;

impl Join<'_> {
    /// Fetches the rows of a step's ranges, as far as there is room, and puts them in order.
    pub(super) async fn unite(&mut self, s: usize, env: &mut Env<'_>) -> Result<(), SqlError> {
        let block = self.block;
        let step = &self.steps[s];
        let t = usize::from(step.table);
        let Some(table) = block.tables[t].stored() else {
            return Ok(());
        };
        let slot = block.slot(step);
        let mode = self.modes[t];
        let mut batch = std::mem::take(&mut self.levels[t].batch);
        batch.clear();
        let p = &mut self.progress[s];
        let inexact = p.inexact;
        let cx = env.cx;
        let tuple = Tuple {
            places: &block.places,
            levels: &self.levels,
            outer: self.outer,
            subs: Some(&self.subs),
        };
        let begun = env.begun();
        let mut looked = 0u64;
        while batch.bytes() < BYTES_MAX {
            let mut scan = match p.scan.take() {
                Some(scan) => scan,
                None => {
                    let Some((index, (lower, upper))) = p.ranges.next() else {
                        break;
                    };
                    let spec = ScanSpec {
                        index,
                        lower,
                        upper,
                        backward: step.access.index().1,
                        mode,
                    };
                    let cover = step.cover.as_ref().filter(|_| !inexact);
                    env.session.scan(table, spec).covered(cover)
                }
            };
            let wanted = batch.len() + LARGEST_BATCH;
            let more = env
                .session
                .next_batch(&mut scan, &mut batch, wanted, &mut |row| {
                    looked += 1;
                    let candidate = Candidate {
                        slot,
                        row,
                        rest: &tuple,
                    };
                    passes(step, inexact, cx, &candidate)
                })
                .await?;
            if more {
                p.scan = Some(scan);
            }
            p.more = more;
        }
        let mut order: Vec<u32> = (0..batch.len() as u32).collect();
        order.sort_unstable_by(|a, b| batch.key(*a as usize).cmp(batch.key(*b as usize)));
        p.order = Some(order);
        p.next = 0;
        env.tell(
            block,
            crate::op::join::Place::Looked(s as u16),
            begun,
            0,
            looked,
        );
        self.levels[t].batch = batch;
        self.levels[t].batches += 1;
        Ok(())
    }
}
