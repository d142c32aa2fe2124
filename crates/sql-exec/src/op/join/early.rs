//! Rows that are kept before the first combination is looked for ([`Step::early`](sql_plan::plan::Step)): where a small table has none that are wanted,
//! the join has none, and the large ones before it need not be read.

use crate::Env;
use crate::op::join::Join;
use crate::op::join::keep::keep;
use crate::op::join::kept::Kept;
use crate::spill::Room;
use sql_plan::plan::tally::Place;
use types::SqlError;

impl Join<'_> {
    /// Keeps the rows of the steps that are to be kept first; `false` where one of them has none, and so the join.
    pub(super) async fn keep_early(&mut self, env: &mut Env<'_>) -> Result<bool, SqlError> {
        for s in 1..self.steps.len() {
            let t = usize::from(self.steps[s].table);
            if !self.steps[s].early || self.levels[t].kept.is_some() {
                continue;
            }
            let mut kept = self.keep(s, env).await?;
            if kept.take_built().is_some() {
                // More rows than there is room for: they come in their turn.
                continue;
            }
            if kept.len() == 0 {
                for p in &mut self.progress {
                    (p.exhausted, p.found) = (true, true);
                }
                return Ok(false);
            }
            self.levels[t].kept = Some(kept);
        }
        Ok(true)
    }

    /// Fetches the rows of a step that keeps them.
    pub(super) async fn keep(&mut self, s: usize, env: &mut Env<'_>) -> Result<Kept, SqlError> {
        let block = self.block;
        let step = &self.steps[s];
        let mode = self.modes[usize::from(step.table)];
        let begun = env.begun();
        let room = self.may_spill(s).then(|| Room::join(env.cx));
        let (outer, subs) = (self.outer, &self.subs);
        let kept = keep(block, step, mode, env, outer, subs, room).await?;
        env.tell(block, Place::Kept(s as u16), begun, 1, kept.len() as u64);
        Ok(kept)
    }
}
