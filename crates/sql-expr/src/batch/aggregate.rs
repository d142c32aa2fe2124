//! The aggregates of a query block over batches: all of them for all groups.

use types::SqlError;

use super::eval::{eval_quietly, has_effects};
use super::rows::Batch;
use super::scratch::Scratch;
use super::state::GroupStates;
use crate::agg::AggSpec;
use crate::ctx::{EvalCtx, RowSource};
use crate::val::Val;

/// The states of several aggregates.
#[derive(Debug, Clone)]
pub struct Aggregates {
    states: Vec<GroupStates>,
    groups: usize,
}

impl Aggregates {
    /// No groups yet.
    pub fn new(specs: &[AggSpec]) -> Aggregates {
        Aggregates {
            states: specs.iter().map(GroupStates::new).collect(),
            groups: 0,
        }
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.groups
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups == 0
    }

    /// Makes room for so many groups.
    pub fn grow(&mut self, specs: &[AggSpec], groups: usize) {
        self.groups = groups;
        for (s, spec) in self.states.iter_mut().zip(specs) {
            s.grow(spec, groups);
        }
    }

    /// Takes the live rows of a batch into account: `groups` says to which group each belongs, in their order. Where an argument warns or
    /// fails, all is done row by row, each row's aggregates from the left to the right.
    ///
    /// # Errors
    /// As [`Accumulator::add`](crate::agg::Accumulator::add).
    pub fn update(
        &mut self,
        specs: &[AggSpec],
        cx: &EvalCtx<'_>,
        batch: &Batch,
        outer: &dyn RowSource,
        groups: &[u32],
        pool: &mut Scratch,
    ) -> Result<(), SqlError> {
        let sel = batch.selected();
        cx.tick(sel.len())?;
        let mark = cx.mark();
        let mut made = Vec::with_capacity(specs.len());
        for (spec, s) in specs.iter().zip(&self.states) {
            let by_rows = s.is_by_rows();
            let arg = match spec.args.first() {
                Some(e) if !by_rows => match eval_quietly(e, cx, batch, outer, pool) {
                    Some(v) if s.is_quiet(spec, &v) => Some(v),
                    _ => {
                        cx.keep(mark, 0)?;
                        return self.update_rows(specs, cx, batch, outer, groups);
                    }
                },
                _ => None,
            };
            if by_rows && spec.args.iter().any(has_effects) {
                return self.update_rows(specs, cx, batch, outer, groups);
            }
            made.push(arg);
        }
        for ((spec, s), v) in specs.iter().zip(&mut self.states).zip(made) {
            match v {
                Some(v) => {
                    s.add(spec, &v, groups, sel, cx)?;
                    if let Some(v) = std::sync::Arc::into_inner(v) {
                        pool.recycle(v);
                    }
                }
                None => s.count(groups),
            }
        }
        cx.keep(mark, 0)?;
        if self.states.iter().any(GroupStates::is_by_rows) {
            for (i, g) in sel.iter().zip(groups) {
                let row = batch.row(i, outer);
                for (spec, s) in specs.iter().zip(&mut self.states) {
                    if s.is_by_rows() {
                        s.add_row(spec, *g as usize, cx, &row)?;
                    }
                }
                cx.keep(mark, 0)?;
            }
        }
        Ok(())
    }

    fn update_rows(
        &mut self,
        specs: &[AggSpec],
        cx: &EvalCtx<'_>,
        batch: &Batch,
        outer: &dyn RowSource,
        groups: &[u32],
    ) -> Result<(), SqlError> {
        let mark = cx.mark();
        for (i, g) in batch.selected().iter().zip(groups) {
            self.update_row(specs, cx, &batch.row(i, outer), *g)?;
            cx.keep(mark, 0)?;
        }
        Ok(())
    }

    /// Takes one row into account, its aggregates from the left to the right.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_row(
        &mut self,
        specs: &[AggSpec],
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
        group: u32,
    ) -> Result<(), SqlError> {
        for (spec, s) in specs.iter().zip(&mut self.states) {
            s.add_row(spec, group as usize, cx, row)?;
        }
        Ok(())
    }

    /// The value of aggregate number `aggregate` for a group, which is asked for once.
    ///
    /// # Errors
    /// As [`Accumulator::finish`](crate::agg::Accumulator::finish).
    pub fn finish(
        &mut self,
        specs: &[AggSpec],
        aggregate: usize,
        group: usize,
        cx: &EvalCtx<'_>,
    ) -> Result<Val<'static>, SqlError> {
        self.states[aggregate].finish(&specs[aggregate], group, cx)
    }

    /// The states of each aggregate.
    pub fn states(&self) -> &[GroupStates] {
        &self.states
    }

    /// The same, to merge others into them.
    pub fn states_mut(&mut self) -> &mut [GroupStates] {
        &mut self.states
    }

    /// What they take, for whoever charges it.
    pub fn memory(&self) -> usize {
        self.states.iter().map(GroupStates::memory).sum()
    }

    /// What they take at most while there come to be so many groups.
    pub fn memory_with(&self, groups: usize) -> usize {
        let states = self.states.iter();
        states.map(|s| s.memory_with(groups)).sum()
    }
}
