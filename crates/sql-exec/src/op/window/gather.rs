//! Rows on their way to a window: stored with what it reads of them, and sorted for it.

use smallvec::SmallVec;
use types::{SqlError, ValueRef};

use crate::Env;
use crate::op::sort::{Sorted, Sorter, write_sort_key};
use crate::spill::Room;
use crate::store::RowStore;
use sql_expr::{AGGREGATE_SLOT, EvalCtx, Expr, ExprType, RowSource, Val};
use sql_plan::bind::tree::WINDOW_ROW_SLOT;
use sql_plan::plan::op::window::{Stage, WindowPlan};

/// A value in the form in which it is stored: with all that it is computed with.
#[inline]
pub(crate) fn stored<'v>(v: &'v Val<'_>, ty: &ExprType) -> ValueRef<'v> {
    match v {
        Val::Double(d) => ValueRef::Double(*d),
        v => v.as_computed_ref(ty),
    }
}

/// A stored row.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    /// Where it is.
    pub store: &'a RowStore,
    /// Its place there.
    pub row: usize,
}

impl RowSource for Stored<'_> {
    #[inline]
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        match slot {
            WINDOW_ROW_SLOT => self.store.column(self.row, usize::from(ordinal)),
            _ => ValueRef::Null,
        }
    }
}

/// Values of a row that is not stored yet, from a place on.
pub(super) struct Fresh<'a> {
    /// The place of the first.
    pub from: usize,
    /// The values.
    pub values: &'a [ValueRef<'a>],
}

impl RowSource for Fresh<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        let at = usize::from(ordinal).checked_sub(self.from);
        match at.filter(|_| slot == WINDOW_ROW_SLOT) {
            Some(i) => self.values.get(i).copied().unwrap_or(ValueRef::Null),
            None => ValueRef::Null,
        }
    }
}

/// What sorts the rows of a stage.
fn sorter(stage: &Stage, cx: &EvalCtx<'_>) -> Sorter {
    Sorter::new(stage.width, u64::MAX, cx.memory()).with_room(Room::sort(cx))
}

/// Rows for the first window.
pub(crate) struct Gather<'p> {
    plan: &'p WindowPlan,
    sorter: Sorter,
    key: Vec<u8>,
}

impl<'p> Gather<'p> {
    /// None yet; `None` for a plan without windows.
    pub fn new(plan: &'p WindowPlan, cx: &EvalCtx<'_>) -> Option<Gather<'p>> {
        Some(Gather {
            sorter: sorter(plan.stages.first()?, cx),
            plan,
            key: Vec::new(),
        })
    }

    /// Takes a row.
    ///
    /// # Errors
    /// What evaluating raises; nothing is stored then.
    pub fn add(&mut self, cx: &EvalCtx<'_>, row: &dyn RowSource) -> Result<(), SqlError> {
        let plan = self.plan;
        let mut inputs: SmallVec<[Val<'_>; 8]> = SmallVec::new();
        for e in &plan.inputs {
            inputs.push(e.eval(cx, row)?);
        }
        let carried = plan.carried.iter().map(|&(slot, c)| row.column(slot, c));
        let aggregates = (0..plan.aggregates).map(|i| row.column(AGGREGATE_SLOT, i as u16));
        let types = plan.inputs.iter().map(|e: &Expr| &e.ty);
        let inputs = inputs.iter().zip(types).map(|(v, ty)| stored(v, ty));
        let values: SmallVec<[ValueRef<'_>; 16]> =
            carried.chain(aggregates).chain(inputs).collect();
        self.key.clear();
        if let Some(stage) = plan.stages.first().filter(|s| s.sorts) {
            let fresh = Fresh {
                from: 0,
                values: &values,
            };
            write_sort_key(&stage.keys, cx, &fresh, &mut self.key)?;
        }
        self.sorter.add(&self.key, values);
        Ok(())
    }

    /// Evaluates what [`add`](Self::add) does of what may wait, and changes nothing.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn rehearse(&self, cx: &EvalCtx<'_>, row: &dyn RowSource) -> Result<(), SqlError> {
        let mut waiting = self.plan.inputs.iter().filter(|e| e.has_special());
        waiting.try_for_each(|e| e.eval(cx, row).map(drop))
    }

    /// Whether it is time for [`tidy`](Self::tidy).
    pub fn is_untidy(&mut self) -> bool {
        self.sorter.is_untidy()
    }

    /// Writes rows to a file that there is no room for.
    ///
    /// # Errors
    /// The file takes no more; the statement is to end.
    pub async fn tidy(&mut self, env: &mut Env<'_>) -> Result<(), SqlError> {
        self.sorter.tidy(env).await
    }

    /// The rows in the order of the first window.
    ///
    /// # Errors
    /// The statement is to end.
    pub async fn finish(self, env: &mut Env<'_>) -> Result<Sorted, SqlError> {
        self.sorter.finish(env).await
    }
}

/// Rows for a later window: stored rows with the values of the one before.
pub(super) struct Feed<'p> {
    stage: &'p Stage,
    sorter: Sorter,
    key: Vec<u8>,
}

impl<'p> Feed<'p> {
    /// None yet.
    pub fn new(stage: &'p Stage, cx: &EvalCtx<'_>) -> Feed<'p> {
        Feed {
            sorter: sorter(stage, cx),
            stage,
            key: Vec::new(),
        }
    }

    /// Takes a row and what functions came to for it.
    ///
    /// # Errors
    /// What the sort keys raise.
    pub fn add<'v>(
        &mut self,
        cx: &EvalCtx<'_>,
        row: Stored<'v>,
        values: impl Iterator<Item = ValueRef<'v>>,
    ) -> Result<(), SqlError> {
        self.key.clear();
        if self.stage.sorts {
            write_sort_key(&self.stage.keys, cx, &row, &mut self.key)?;
        }
        self.sorter
            .add(&self.key, row.store.row(row.row).chain(values));
        Ok(())
    }

    /// As [`Gather::tidy`].
    ///
    /// # Errors
    /// The file takes no more; the statement is to end.
    pub async fn tidy(&mut self, env: &mut Env<'_>) -> Result<(), SqlError> {
        if self.sorter.is_untidy() {
            self.sorter.tidy(env).await?;
        }
        Ok(())
    }

    /// The rows in the order of the window.
    ///
    /// # Errors
    /// The statement is to end.
    pub async fn finish(self, env: &mut Env<'_>) -> Result<Sorted, SqlError> {
        self.sorter.finish(env).await
    }
}
