//! The scan of a block's only table, straight into the operator behind it: rows are looked at where they lie, under the latch of their page, and not
//! copied out first.

use engine::{KeyBound, ReadMode, RowBatch, ScanSpec};
use types::SqlError;

use super::filter::passes;
use super::limit::limits;
use super::tail::Tail;
use crate::Env;
use crate::keys::{self, Ranges};
use crate::row::{Candidate, OnlySubs};
use sql_expr::RowSource;
use sql_plan::plan::Block;
use sql_plan::sink::ResultSink;

/// Rows fetched at a time.
pub(super) const BATCH: usize = 256;

/// The scans of a one-table block, one for each range.
pub(super) struct Scans<'p> {
    pub block: &'p Block,
    pub ranges: std::vec::IntoIter<keys::KeyRange>,
    /// The ranges may hold rows that are not wanted.
    pub inexact: bool,
}

impl<'p> Scans<'p> {
    pub fn new(
        block: &'p Block,
        env: &Env<'_>,
        rest: &dyn RowSource,
    ) -> Result<Scans<'p>, SqlError> {
        let table = Self::table(block)?;
        let access = &block.join.steps[0].access;
        let (ranges, inexact) = match keys::ranges(table, access, env.cx, rest)? {
            Ranges::Some(list) => (list, false),
            Ranges::Inexact => (vec![(KeyBound::None, KeyBound::None)], true),
        };
        Ok(Scans {
            block,
            ranges: ranges.into_iter(),
            inexact,
        })
    }

    pub fn table(block: &Block) -> Result<&std::sync::Arc<engine::Table>, SqlError> {
        block.tables[usize::from(block.join.steps[0].table)]
            .stored()
            .ok_or_else(|| SqlError::internal("a stored table is expected"))
    }

    pub fn next(&mut self, env: &mut Env<'_>) -> Result<Option<engine::Scan>, SqlError> {
        let Some((lower, upper)) = self.ranges.next() else {
            return Ok(None);
        };
        let (index, backward) = self.block.join.steps[0].access.index();
        let spec = ScanSpec {
            index,
            lower,
            upper,
            backward,
            mode: ReadMode::Consistent,
        };
        let table = Self::table(self.block)?;
        let cover = self.block.join.steps[0]
            .cover
            .as_ref()
            .filter(|_| !self.inexact);
        Ok(Some(env.session.scan(table, spec).covered(cover)))
    }
}

/// Scans into the sort.
pub(super) async fn feed(
    block: &Block,
    env: &mut Env<'_>,
    rest: &OnlySubs<'_>,
    out: &mut Tail<'_>,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    let cx = env.cx;
    let step = &block.join.steps[0];
    let slot = block.slot(step);
    let mut scans = Scans::new(block, env, rest)?;
    let inexact = scans.inexact;
    let mut batch = RowBatch::new();
    while let Some(mut scan) = scans.next(env)? {
        loop {
            batch.clear();
            let more = env
                .session
                .next_batch(&mut scan, &mut batch, BATCH, &mut |row| {
                    let row = Candidate { slot, row, rest };
                    if passes(step, inexact, cx, &row)? {
                        out.push(cx, &row, sink)?;
                    }
                    // What there is to do is done between two calls: rows that are taken end this one.
                    Ok(out.is_untidy())
                })
                .await?;
            env.check()?;
            out.tidy(env).await?;
            if !more {
                break;
            }
        }
    }
    Ok(())
}

/// Scans to the sink, a batch at a time.
pub(super) async fn stream(
    block: &Block,
    env: &mut Env<'_>,
    rest: &OnlySubs<'_>,
    out: &mut Tail<'_>,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    let cx = env.cx;
    let step = &block.join.steps[0];
    let slot = block.slot(step);
    let mut scans = Scans::new(block, env, rest)?;
    let inexact = scans.inexact;
    let wanted = limits(block.limit(), cx)?.needed();
    let mut batch = RowBatch::new();
    let mut size = match usize::try_from(wanted) {
        Ok(n) if block.join.limited => n.clamp(1, BATCH),
        _ => BATCH,
    };
    while let Some(mut scan) = scans.next(env)? {
        loop {
            batch.clear();
            let more = env
                .session
                .next_batch(&mut scan, &mut batch, size, &mut |row| {
                    passes(step, inexact, cx, &Candidate { slot, row, rest })
                })
                .await?;
            for i in 0..batch.len() {
                let row = batch.row(i);
                out.push(cx, &Candidate { slot, row, rest }, sink)?;
                if out.full() {
                    return Ok(());
                }
                if sink.is_full() {
                    sink.flush().await?;
                }
            }
            env.check()?;
            out.tidy(env).await?;
            if sink.wants_flush() {
                sink.flush().await?;
            }
            if !more {
                break;
            }
            size = BATCH;
        }
    }
    Ok(())
}
