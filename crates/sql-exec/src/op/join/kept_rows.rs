//! Steps of a join that go through kept rows: those of one hash key, or all.

use crate::Env;
use crate::op::filter::all_hold;
use crate::op::join::Join;
use crate::op::join::level::At;
use sql_expr::EvalCtx;
use types::SqlError;

impl Join<'_> {
    /// Finds the kept rows that can match the combination before.
    pub(super) fn probe(&mut self, s: usize, cx: &EvalCtx<'_>) -> Result<(), SqlError> {
        let step = &self.steps[s];
        let t = usize::from(step.table);
        let Some(kept) = &self.levels[t].kept else {
            return Ok(());
        };
        let mut key = std::mem::take(&mut self.key);
        let found = kept.look_up(step, cx, &self.tuple(), &mut key);
        self.key = key;
        let found = found?;
        let p = &mut self.progress[s];
        if let Some(chain) = found {
            p.by_hash = true;
            p.chain = chain;
        }
        Ok(())
    }

    /// Moves a step to the next of its kept rows that matches.
    pub(super) async fn advance_kept(
        &mut self,
        s: usize,
        env: &mut Env<'_>,
    ) -> Result<bool, SqlError> {
        let cx = env.cx;
        let step = &self.steps[s];
        let t = usize::from(step.table);
        loop {
            if env.due() {
                env.pause().await?;
            }
            let p = &mut self.progress[s];
            let level = &mut self.levels[t];
            let Some(kept) = &level.kept else {
                return Ok(false);
            };
            let row = if p.by_hash {
                let Some(row) = p.chain else {
                    p.exhausted = true;
                    return Ok(false);
                };
                p.chain = kept.after(row);
                row as usize
            } else {
                if p.next >= p.end.unwrap_or(kept.len()) {
                    p.exhausted = true;
                    return Ok(false);
                }
                p.next += 1;
                p.next - 1
            };
            if let Some(kept) = &mut level.kept
                && kept.is_in_file()
            {
                kept.come(row).await?;
                level.at = At::Kept(row);
                let tuple = self.tuple();
                if !all_hold(&step.filter, cx, &tuple)? || !all_hold(&step.implied, cx, &tuple)? {
                    continue;
                }
            }
            let level = &mut self.levels[t];
            level.at = At::Kept(row);
            if all_hold(&step.probe, cx, &self.tuple())? {
                return Ok(true);
            }
        }
    }
}
