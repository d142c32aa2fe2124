//! A row that is to be inserted and is there already, by the value of a unique index: an error, a row that IGNORE passes over, REPLACE,
//! or ON DUPLICATE KEY UPDATE with the subqueries that read the row in the way.

use engine::RowRequest;
use types::convert::ConvertMode;
use types::{SqlError, Value, ValueRef};

use super::edit::Edit;
use super::numbers::as_told;
use super::table_writer::tally::Tally;
use super::table_writer::{Change, TableWriter};
use super::values::same_value;
use crate::Env;
use crate::row::{Built, OnlySubs};
use crate::store::RowStore;
use crate::sub::{SubValues, fetch};
use sql_expr::RowSource;
use sql_plan::plan::{Assign, DefaultPlan, InsertPlan, subqueries_of};

/// What has become of the row in the way.
pub(super) enum InTheWay {
    /// It stays, changed or not: the new row is not inserted.
    Stays,
    /// It was deleted: the new row is tried again; in its place where MySQL would have changed it.
    Removed(Option<Vec<Value>>),
    /// It is not there any more, or another: the new row is tried again.
    Gone,
    /// It is what was to be inserted, to the byte: it stays, and counts as replaced.
    TheSame,
}

/// The columns of the SELECT's tables that ON DUPLICATE KEY UPDATE reads: they lie behind the values of a selected row.
pub(super) struct Selected<'a> {
    /// The rows and which of them; none where values were given.
    pub row: Option<(&'a RowStore, usize)>,
    /// How many values lie before them.
    pub values: usize,
    /// The columns, by slot and place.
    pub columns: &'a [(u16, u16)],
}

/// What came of asking the subqueries of ON DUPLICATE KEY UPDATE.
enum Asked {
    /// None of them reads the row.
    Nothing,
    /// They were asked for this row.
    Row(Vec<Value>),
    /// There is no row in the way any more.
    Gone,
}

impl RowSource for Selected<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        let at = self.columns.iter().position(|c| *c == (slot, ordinal));
        match (self.row, at) {
            (Some((rows, i)), Some(at)) => rows.column(i, self.values + at),
            _ => ValueRef::Null,
        }
    }
}

/// What an INSERT says of rows that are there already.
pub(super) struct OnDuplicate<'p> {
    pub plan: &'p InsertPlan,
    /// With the assignments of ON DUPLICATE KEY UPDATE.
    pub writer: TableWriter<'p>,
    /// How values are converted.
    pub mode: ConvertMode,
    /// The AUTO_INCREMENT column.
    pub auto: Option<u16>,
    /// CLIENT_FOUND_ROWS.
    pub found_rows: bool,
}

/// Whether the value of an assignment may wait.
fn waits(a: &Assign) -> bool {
    a.value.as_ref().is_some_and(sql_expr::Expr::has_special)
}

/// A row that was to be inserted.
pub(super) struct NewRow<'a> {
    pub values: &'a [Value],
    /// The row as messages count it.
    pub line: u64,
    /// What it was selected from.
    pub selected: Selected<'a>,
}

impl OnDuplicate<'_> {
    /// Decides what becomes of a row that is there, with the value of this unique index and that clustered key.
    ///
    /// # Errors
    /// 1062; what replacing or changing it fails with.
    pub(super) async fn in_the_way(
        &self,
        (index, key): (usize, &[u8]),
        row: &NewRow<'_>,
        env: &mut Env<'_>,
        subs: &mut SubValues,
        tally: &mut Tally,
    ) -> Result<InTheWay, SqlError> {
        if self.plan.replace {
            return self.make_place(index, key, row, env, tally).await;
        }
        if self.plan.on_duplicate.is_empty() {
            let there = self
                .writer
                .keep_duplicate(env.session, index, key, row.values)
                .await?;
            if !there {
                return Ok(InTheWay::Gone);
            }
            let e = self.writer.duplicate(index, row.values);
            self.writer.refuse(e, env.cx)?;
            tally.passed_over();
            return Ok(InTheWay::Stays);
        }
        let there = match self.ask_of_row(key, row, env, subs).await? {
            Asked::Gone => return Ok(InTheWay::Gone),
            Asked::Row(there) => Some(there),
            Asked::Nothing => None,
        };
        let rest = OnlySubs {
            subs,
            outer: &row.selected,
        };
        let there = there.as_deref();
        let (change, id) = self.update_there(key, row, there, env, &rest).await?;
        env.cx.row_done();
        if change == Change::Absent {
            return Ok(InTheWay::Gone);
        }
        tally.updated_instead(change, id, self.found_rows);
        Ok(InTheWay::Stays)
    }

    /// REPLACE: deletes the row in the way.
    async fn make_place(
        &self,
        index: usize,
        key: &[u8],
        row: &NewRow<'_>,
        env: &mut Env<'_>,
        tally: &mut Tally,
    ) -> Result<InTheWay, SqlError> {
        let table = self.writer.table();
        let last_unique = (0..table.def.indexes.len())
            .rev()
            .find(|&i| table.is_unique(i));
        // Those of a row that stays would not feel that it is replaced. Also with the checks off it is taken out then, and counted.
        let relations = self.plan.relations.as_deref();
        let children = relations.is_some_and(|r| r.has_children(0));
        let mut same = false;
        let in_place = last_unique == Some(index) && !children;
        let mut was = None;
        let deleted = self
            .writer
            .delete_row(env.session, key, env.cx, |old| {
                let equal = |c: usize| same_value(row.values[c].as_ref(), old.column(c));
                same = in_place && (0..row.values.len()).all(equal);
                // Under another clustered key all entries are made anew, and their parents looked for.
                was = (in_place && table.index_columns(0).all(equal)).then(|| old.to_values());
                Ok(match same {
                    true => RowRequest::Keep,
                    false => RowRequest::Change(()),
                })
            })
            .await?;
        tally.removed(u64::from(deleted));
        Ok(match (deleted, same) {
            (true, _) => InTheWay::Removed(was),
            (false, true) => InTheWay::TheSame,
            (false, false) => InTheWay::Gone,
        })
    }

    /// ON DUPLICATE KEY UPDATE: what came of the row, and its AUTO_INCREMENT value.
    async fn update_there(
        &self,
        key: &[u8],
        row: &NewRow<'_>,
        there: Option<&[Value]>,
        env: &mut Env<'_>,
        rest: &dyn RowSource,
    ) -> Result<(Change, u64), SqlError> {
        let plan = self.plan;
        let cx = env.cx;
        let defaults = |c: u16| plan.defaults.get(usize::from(c));
        let edit = self.edit(&defaults);
        let mut id = 0;
        let change = edit
            .writer
            .update_key(env.session, key, row.line, cx, |old| {
                // No longer the one that subqueries were asked for.
                let same = |(c, v): (usize, &Value)| same_value(v.as_ref(), old.column(c));
                if there.is_some_and(|t| !t.iter().enumerate().all(same)) {
                    return Ok(None);
                }
                let new = edit.apply(old, row.values, rest, row.line, cx)?;
                id = self.auto.map_or(0, |c| as_told(&new[usize::from(c)]));
                Ok(Some(new))
            })
            .await?;
        Ok((change, id))
    }

    /// The assignments of ON DUPLICATE KEY UPDATE.
    fn edit<'e>(
        &'e self,
        defaults: &'e (dyn Fn(u16) -> Option<&'e DefaultPlan> + Sync),
    ) -> Edit<'e> {
        Edit {
            writer: self.writer,
            slot: self.plan.slot,
            defaults,
            mode: self.mode,
        }
    }

    /// Locks the row in the way and runs the subqueries that read it, or what was to be inserted.
    async fn ask_of_row(
        &self,
        key: &[u8],
        row: &NewRow<'_>,
        env: &mut Env<'_>,
        subs: &mut SubValues,
    ) -> Result<Asked, SqlError> {
        let plan = self.plan;
        if plan.subqueries.iter().all(|s| !s.correlated) && !plan.on_duplicate.iter().any(waits) {
            return Ok(Asked::Nothing);
        }
        let Some(there) = self.writer.lock(env.session, key).await? else {
            return Ok(Asked::Gone);
        };
        self.ask_in_turn(&there, row, env, subs).await?;
        Ok(Asked::Row(there))
    }

    /// Runs the subqueries of each assignment for the row as the assignments before leave it.
    async fn ask_in_turn(
        &self,
        there: &[Value],
        row: &NewRow<'_>,
        env: &mut Env<'_>,
        subs: &mut SubValues,
    ) -> Result<(), SqlError> {
        let plan = self.plan;
        let asked = |a: &Assign| {
            let mut used = Vec::new();
            a.value.iter().for_each(|e| subqueries_of(e, &mut used));
            used.retain(|&i| plan.subqueries[i as usize].correlated);
            used
        };
        let defaults = |c: u16| plan.defaults.get(usize::from(c));
        let edit = self.edit(&defaults);
        let asks = plan
            .on_duplicate
            .iter()
            .rposition(|a| !asked(a).is_empty() || waits(a));
        let mut new = there.to_vec();
        for (n, a) in plan.on_duplicate.iter().enumerate() {
            for i in asked(a) {
                let built = Built {
                    slot: plan.slot,
                    values: &new,
                    inserted: row.values,
                    rest: &row.selected,
                };
                let rows = fetch(&plan.subqueries[i as usize], env, &built).await?;
                subs.set(i, rows);
            }
            let rest = OnlySubs {
                subs,
                outer: &row.selected,
            };
            let built = Built {
                slot: plan.slot,
                values: &new,
                inserted: row.values,
                rest: &rest,
            };
            if waits(a) {
                // The answer is the call's until the row is changed.
                let cx = env.cx;
                env.ahead(|| edit.value(a, &built, row.line, cx)).await?;
            }
            if asks.is_none_or(|last| n >= last) {
                break;
            }
            // What is wrong with a value is said when it is assigned.
            let value = || edit.value(a, &built, row.line, env.cx);
            if let Some(Ok(v)) = env.cx.quietly(value) {
                new[usize::from(a.column)] = v;
            }
        }
        Ok(())
    }
}
