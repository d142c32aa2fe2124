//! Rows of a derived table that are made for one key at a time: those of the keys that have come are kept, as long as they are few.

use types::SqlError;

use crate::op::filter::all_hold;
use crate::op::join::kept::made_keys::MadeKeys;
use crate::op::join::kept::{Kept, Rows, StoreRow};
use crate::store::RowStore;
use sql_expr::memory::Charge;
use sql_expr::{EvalCtx, RowSource};
use sql_plan::plan::Step;

/// Bytes of rows and keys behind which it begins anew.
const BYTES_MAX: usize = 16 << 20;

impl Kept {
    /// No rows yet, of so many columns.
    pub fn by_key(width: usize, cx: &EvalCtx<'_>) -> Kept {
        Kept {
            rows: Rows::Store(RowStore::new(width, cx.memory())),
            hash: None,
            built: None,
            by_key: Some(Box::new(MadeKeys::new(cx.memory()))),
            _charge: Charge::default(),
        }
    }

    /// Whether its rows are made for one key at a time.
    pub fn is_by_key(&self) -> bool {
        self.by_key.is_some()
    }

    /// The first and the end of the rows of a key that has come.
    pub fn rows_of(&self, key: &[u8]) -> Option<(usize, usize)> {
        self.by_key.as_ref()?.get(key)
    }

    /// Adds the rows of a key, those that pass the step's own conditions; the first and the end of them. What there was before may be gone.
    ///
    /// # Errors
    /// The session may hold no more; a condition fails.
    pub fn add_key(
        &mut self,
        key: &[u8],
        rows: RowStore,
        step: &Step,
        slot: u16,
        cx: &EvalCtx<'_>,
        rest: &dyn RowSource,
    ) -> Result<(usize, usize), SqlError> {
        let (Rows::Store(kept), Some(known)) = (&mut self.rows, &mut self.by_key) else {
            return Ok((0, 0));
        };
        if kept.used() + known.used() > BYTES_MAX {
            kept.clear();
            **known = MadeKeys::new(cx.memory());
        }
        let first = kept.len();
        if first == 0 && step.filter.is_empty() && step.implied.is_empty() {
            // There is nothing before them: they need not be copied.
            *kept = rows;
            known.add(key, 0, kept.len())?;
            return Ok((0, kept.len()));
        }
        for at in 0..rows.len() {
            let row = StoreRow {
                rows: &rows,
                at,
                slot,
                rest,
            };
            if all_hold(&step.filter, cx, &row)? && all_hold(&step.implied, cx, &row)? {
                kept.push(rows.row(at));
            }
        }
        known.add(key, first, kept.len())?;
        Ok((first, kept.len()))
    }
}
