//! Steps whose derived table is made for one key at a time ([`Step::lateral`](sql_plan::plan::Step)).

use crate::Env;
use crate::memo::write_exactly;
use crate::op::join::Join;
use crate::op::join::kept::Kept;
use crate::row::Tuple;
use crate::store::RowStore;
use sql_expr::RowSource;
use sql_plan::plan::TableSource;
use sql_plan::plan::tally::Place;
use types::{SqlError, ValueRef};

/// Bytes of values beyond which rows are made anew: a key is a copy, and so long ones hardly come twice.
const LONGEST_KEY: usize = 64 << 10;

fn length(v: ValueRef<'_>) -> usize {
    match v {
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => b.len(),
        _ => 0,
    }
}

impl Join<'_> {
    /// Makes the rows of a step's table for the combination before it, unless those of the same key are there, and stands before them.
    pub(super) async fn make_key(&mut self, s: usize, env: &mut Env<'_>) -> Result<(), SqlError> {
        let block = self.block;
        let step = &self.steps[s];
        let t = usize::from(step.table);
        let (Some(columns), TableSource::Derived(n)) = (&step.lateral, &block.tables[t].source)
        else {
            return Err(SqlError::internal("a derived table is expected"));
        };
        let query = &block.derived[*n as usize];
        let cx = env.cx;
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        let values = |tuple: &Tuple<'_>| {
            let length = columns
                .iter()
                .map(|&(slot, c)| length(tuple.column(slot, c)));
            length.sum::<usize>()
        };
        if step.anew || values(&self.tuple()) > LONGEST_KEY {
            self.levels[t].batches += 1;
            // No value begins so.
            key.push(u8::MAX);
            key.extend_from_slice(&self.levels[t].batches.to_le_bytes());
        } else {
            let tuple = self.tuple();
            for &(slot, ordinal) in columns {
                write_exactly(tuple.column(slot, ordinal), &mut key);
            }
        }
        let tuple = self.tuple();
        let known = self.levels[t].kept.as_ref().and_then(|k| k.rows_of(&key));
        let (first, end) = match known {
            Some(rows) => rows,
            None => {
                let begun = env.begun();
                let mut rows = RowStore::new(query.types.len(), cx.memory());
                env.query(query, &tuple, &mut rows, u64::MAX).await?;
                env.check()?;
                env.tell(block, Place::Kept(s as u16), begun, 1, rows.len() as u64);
                let new = || Kept::by_key(query.types.len(), cx);
                let kept = self.levels[t].kept.take().filter(Kept::is_by_key);
                let mut kept = kept.unwrap_or_else(new);
                let slot = block.slot(step);
                let span = kept.add_key(&key, rows, step, slot, cx, &self.tuple())?;
                self.levels[t].kept = Some(kept);
                span
            }
        };
        self.key = key;
        let p = &mut self.progress[s];
        (p.next, p.end) = (first, Some(end));
        Ok(())
    }
}
