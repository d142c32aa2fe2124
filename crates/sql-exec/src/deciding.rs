//! The rows of a subquery that decide a comparison with ANY or ALL of them: of all that come, the least or greatest value is kept, and
//! that there was a NULL. (As MySQL makes MIN and MAX of such a subquery; here NULLs and no rows at all need no care of their own.)

use std::cmp::Ordering;
use std::sync::Arc;

use types::{Value, ValueRef};

use super::store::RowStore;
use sql_expr::{EvalCtx, ExprType, Val};
use sql_plan::bind::tree::Extreme;
use sql_plan::sink::{ColumnMeta, Done, ResultSink};

/// Takes the rows and keeps what decides.
pub(crate) struct Deciding<'a> {
    extreme: &'a Extreme,
    cx: &'a EvalCtx<'a>,
    best: Option<Value>,
    null: bool,
}

impl<'a> Deciding<'a> {
    /// No rows yet.
    pub fn new(extreme: &'a Extreme, cx: &'a EvalCtx<'a>) -> Deciding<'a> {
        Deciding {
            extreme,
            cx,
            best: None,
            null: false,
        }
    }

    /// Puts what decides in place of all rows.
    pub fn finish(self, rows: &mut RowStore) {
        if let Some(v) = &self.best {
            rows.push([v.as_ref()]);
        }
        if self.null {
            rows.push([ValueRef::Null]);
        }
    }
}

impl ResultSink for Deciding<'_> {
    fn columns(&mut self, _cols: &Arc<[ColumnMeta]>) {}

    fn row_begin(&mut self) {}

    fn value(&mut self, v: ValueRef<'_>, _c: usize) {
        if matches!(v, ValueRef::Null) {
            self.null = true;
            return;
        }
        let wanted = match self.extreme.greatest {
            true => Ordering::Greater,
            false => Ordering::Less,
        };
        let better = self.best.as_ref().is_none_or(|best| {
            let (any, x) = (ExprType::null(), Val::from(best.as_ref()));
            let order = self
                .extreme
                .comparer
                .order(&Val::from(v), &any, &x, &any, self.cx);
            order == Some(wanted)
        });
        if better {
            self.best = Some(v.to_owned());
        }
    }

    fn row_end(&mut self) {}

    fn finish(&mut self, _done: &Done) {}
}
