//! Sorted runs of rows that have no room: how a sorter writes one, and what they come to at the end.

use types::SqlError;

use crate::Env;
use crate::op::sort::{Sorted, Sorter};
use crate::spill::merge::Runs;
use crate::spill::record::write_value;
use crate::store::RowStore;

impl Sorter {
    /// Writes the rows as a sorted run.
    pub(super) async fn write_run(&mut self, env: &mut Env<'_>) -> Result<(), SqlError> {
        self.sort(env).await?;
        let Some(spill) = &mut self.spill else {
            return Ok(());
        };
        let runs = match &mut spill.runs {
            Some(runs) => runs,
            none => none.insert(Runs::new(&spill.room, env)?),
        };
        let mut made = Vec::new();
        for e in &self.entries {
            let row = e.row as usize;
            let key = match &self.column {
                None => &self.keys[e.start..e.end],
                Some((c, part)) => {
                    made.clear();
                    part.encode(self.rows.column(row, *c), &mut made);
                    &made
                }
            };
            let rows = &self.rows;
            runs.add(key, |members, out| {
                rows.row(row).for_each(|v| write_value(v, members, out));
            });
            if runs.is_due() {
                runs.flush().await?;
            }
            if env.due() {
                env.pause().await?;
            }
        }
        runs.end_run().await?;
        spill.room.again();
        self.entries.clear();
        self.keys.clear();
        self.rows.clear();
        Ok(())
    }

    /// The runs in the file and the last one.
    pub(super) async fn merge(mut self, env: &mut Env<'_>) -> Result<Sorted, SqlError> {
        self.write_run(env).await?;
        let (unique, keep) = (self.unique, self.keep);
        let runs = self.spill.take().and_then(|s| s.runs);
        let runs = runs.ok_or_else(|| SqlError::internal("no run was written"))?;
        let empty = RowStore::new(self.width, &self.account);
        // The memory of the rows is for the merge.
        drop(self);
        Ok(Sorted {
            order: Vec::new(),
            rows: empty,
            merged: Some(runs.merge(unique, keep, env).await?),
        })
    }
}
