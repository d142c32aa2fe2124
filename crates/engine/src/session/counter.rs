//! AUTO_INCREMENT: giving numbers out, and where a table's counters stand when it is first used.
//!
//! A number that was given is never written down for itself: the record of the row that got it has it in its key, and recovery
//! reads it there (`counters`). So the counter is moved before the row is logged, always: a checkpoint that finds the
//! record behind it finds the counter above the row's number as well.

use super::{Pins, Session};
use crate::counters::number;
use crate::error;
use crate::record::{RowVersion, SecValue};
use crate::schema::Table;
use btree::{Direction, ScanPos, ScanState, Visit};
use pager::OpError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{SqlError, Value};

/// Which entries count in the search for the highest number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    /// Those of deleted rows too.
    All,
    /// Those of rows that are there.
    Live,
}

impl Session {
    /// The first of `count` consecutive AUTO_INCREMENT values.
    ///
    /// # Errors
    /// 1467: the column's type has no more of them.
    pub fn auto_increment(&mut self, t: &Table, count: u64) -> Result<u64, SqlError> {
        let Some(c) = t.def.auto_increment_column() else {
            return Ok(0);
        };
        let max = match &t.def.columns[c].ty {
            types::DataType::Int {
                width,
                unsigned: true,
                ..
            } => width.unsigned_max(),
            types::DataType::Int { width, .. } => width.signed_range().1 as u64,
            _ => u64::MAX - 1,
        };
        let a = &t.live.auto_increment;
        let got = a.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
            let n = n.max(1);
            let short = u64::from(count > 1 && base::mutant!("counter-moved-one-too-few"));
            n.checked_add(count - short).filter(|end| *end - 1 <= max)
        });
        let first = got.map_err(|_| SqlError::autoinc_exhausted())?;
        Ok(first.max(1))
    }

    /// A value was given for the AUTO_INCREMENT column: the counter goes on above it.
    pub fn observe_auto_increment(&self, t: &Table, v: u64) {
        let counter = &t.live.auto_increment;
        // Nothing is known of the counter until the table is first used: it would take this for all there is.
        if counter.load(Ordering::Relaxed) > 0 {
            counter.fetch_max(v.saturating_add(1), Ordering::Relaxed);
        }
    }

    /// A row is changed to these values.
    pub(super) fn observe_values(&self, t: &Table, values: &[Value]) {
        if let Some(c) = t.def.auto_increment_column() {
            match number(&values[c]) {
                0 => {}
                v => self.observe_auto_increment(t, v),
            }
        }
    }

    /// Finds where the table's counters stand, at its first use.
    pub(crate) async fn init_counters(&mut self, t: &Arc<Table>) -> Result<(), SqlError> {
        if t.has_hidden_key() {
            let top = self.highest(t, 0, Among::All).await?;
            t.live
                .row_id
                .fetch_max(top.saturating_add(1).max(1), Ordering::Relaxed);
        }
        let saved = t.live.auto_increment_saved.load(Ordering::Relaxed);
        let next = match t.counting_index() {
            // What the log says is exact; deleted rows may be above it where the counter was lowered.
            Some(i) if saved == 0 => self.highest(t, i, Among::All).await?.saturating_add(1),
            _ => saved,
        };
        let next = next.max(t.def.options.auto_increment).max(1);
        t.live.auto_increment.fetch_max(next, Ordering::Relaxed);
        Ok(())
    }

    /// Where the counter goes on when it is asked to go on at `next`: above every row that is there. Nobody uses the table.
    pub(crate) async fn counter_from(&mut self, t: &Table, next: u64) -> Result<u64, SqlError> {
        let top = match t.counting_index() {
            Some(i) => self.highest(t, i, Among::Live).await?,
            None => 0,
        };
        Ok(next.max(top.saturating_add(1)))
    }

    /// The highest value of an index's first part, uncommitted ones included.
    async fn highest(&mut self, t: &Table, index: usize, among: Among) -> Result<u64, SqlError> {
        let part = t.key_parts(index)[0].clone();
        let mut pins = Pins::new();
        let dir = if part.descending {
            Direction::Forward
        } else {
            Direction::Backward
        };
        let deleted = |value: &[u8]| match index {
            0 => RowVersion::read(value).is_some_and(|v| v.deleted()),
            _ => SecValue::read(value).is_some_and(|v| v.deleted()),
        };
        let mut pos = ScanPos::start();
        loop {
            let mut top = None;
            let r = t.indexes[index].tree.scan(&mut pos, dir, |key, value| {
                if among == Among::Live && deleted(value) {
                    return Visit::Next;
                }
                top = part.decode(key).and_then(|(v, _)| v);
                Visit::Stop
            });
            match r {
                Ok(ScanState::More) if top.is_none() => {}
                Ok(_) => return Ok(top.as_ref().map_or(0, number)),
                Err(OpError::Wait(w)) => self.resolve(w, &mut pins, &t.full_name).await?,
                Err(e) => return Err(error::storage(e, &t.full_name)),
            }
        }
    }
}
