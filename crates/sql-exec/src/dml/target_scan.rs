//! The rows of the one table that an UPDATE or DELETE changes, read batch by batch and changed as they are found: for statements that
//! change no key of the index that is scanned.

use std::sync::Arc;

use engine::{KeyBound, ReadMode, RowBatch, RowRef, RowVersion, Scan, ScanSpec, Table};
use types::SqlError;

use crate::Env;
use crate::keys::{self, KeyRange, Ranges};
use crate::op::filter::{all_hold, passes};
use crate::row::{Candidate, OnlySubs};
use crate::sub::SubValues;
use sql_expr::{EvalCtx, NoRow, RowSource};
use sql_plan::plan::{Block, Step};

/// Rows that are read before any of them is changed.
const BATCH: usize = 128;

/// The stored table at a place of a block.
pub(super) fn stored(block: &Block, table: u16) -> Result<&Arc<Table>, SqlError> {
    block.tables[usize::from(table)]
        .stored()
        .ok_or_else(|| SqlError::internal("a stored table is expected"))
}

/// Whether the conditions that read no table hold.
pub(super) fn possible(block: &Block, env: &Env<'_>, subs: &SubValues) -> Result<bool, SqlError> {
    let row = OnlySubs {
        subs,
        outer: &NoRow,
    };
    all_hold(&block.join.constant, env.cx, &row)
}

/// A scan of a block's first table, and the rows of it that were read last.
pub(super) struct TargetScan<'p> {
    step: &'p Step,
    table: &'p Arc<Table>,
    slot: u16,
    /// The ranges do not imply what they stand for.
    inexact: bool,
    passes: bool,
    /// Those that are still to come.
    ranges: std::vec::IntoIter<KeyRange>,
    /// Of the range at hand.
    scan: Option<Scan>,
    batch: RowBatch,
    /// How many of the batch count.
    size: usize,
}

impl<'p> TargetScan<'p> {
    /// Before the first row. `rest` has the values of the statement's subqueries; `passes`: rows that others are changing and that do not
    /// match as they were are passed, as far as the isolation level lets them (an UPDATE, and not a DELETE).
    pub fn open(
        block: &'p Block,
        cx: &EvalCtx<'_>,
        rest: &dyn RowSource,
        passes: bool,
    ) -> Result<TargetScan<'p>, SqlError> {
        let step = &block.join.steps[0];
        let table = stored(block, 0)?;
        let (ranges, inexact) = match keys::ranges(table, &step.access, cx, rest)? {
            Ranges::Some(list) => (list, false),
            Ranges::Inexact => (vec![(KeyBound::None, KeyBound::None)], true),
        };
        Ok(TargetScan {
            step,
            table,
            slot: block.tables[0].slot,
            inexact,
            passes,
            ranges: ranges.into_iter(),
            scan: None,
            batch: RowBatch::new(),
            size: 0,
        })
    }

    /// Reads further rows that meet the conditions, at most so many; `false` at the end.
    pub async fn next(
        &mut self,
        most: u64,
        rest: &dyn RowSource,
        env: &mut Env<'_>,
    ) -> Result<bool, SqlError> {
        if most == 0 {
            return Ok(false);
        }
        let mut scan = match self.scan.take() {
            Some(scan) => scan,
            None => {
                let Some((lower, upper)) = self.ranges.next() else {
                    return Ok(false);
                };
                let (index, backward) = self.step.access.index();
                let spec = ScanSpec {
                    index,
                    lower,
                    upper,
                    backward,
                    mode: ReadMode::Current,
                };
                let scan = env.session.scan(self.table, spec);
                match self.passes && index == 0 {
                    true => scan.passing_unmatched(),
                    false => scan,
                }
            }
        };
        let (step, slot, inexact, cx) = (self.step, self.slot, self.inexact, env.cx);
        self.size = usize::try_from(most).unwrap_or(BATCH).min(BATCH);
        self.batch.clear();
        let more = env
            .session
            .next_batch(&mut scan, &mut self.batch, self.size, &mut |row| {
                passes(step, inexact, cx, &Candidate { slot, row, rest })
            })
            .await?;
        self.scan = more.then_some(scan);
        Ok(true)
    }

    /// How many rows were read last.
    pub fn len(&self) -> usize {
        self.batch.len().min(self.size)
    }

    /// One of them.
    pub fn row(&self, i: usize) -> RowRef<'_> {
        self.batch.row(i)
    }

    /// Its clustered key, and the version in which it was read.
    pub fn place(&self, i: usize) -> (&[u8], RowVersion) {
        (self.batch.key(i), self.batch.version(i))
    }
}
