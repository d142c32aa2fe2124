//! The subqueries of ON DUPLICATE KEY UPDATE that read the row in the way, or what was to be inserted.

use engine::Updated;
use types::{SqlError, Value, ValueRef};

use super::super::Env;
use super::super::row::{Built, OnlySubs};
use super::super::rowedit::Edit;
use super::super::store::RowStore;
use super::super::sub::{SubValues, fetch};
use super::Work;
use crate::plan::{Assign, DefaultPlan, subqueries_of};
use sql_expr::RowSource;

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
pub(super) enum Asked {
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

impl Work<'_> {
    /// The assignments of ON DUPLICATE KEY UPDATE.
    pub(super) fn edit<'e>(
        &'e self,
        defaults: &'e (dyn Fn(u16) -> Option<&'e DefaultPlan> + Sync),
    ) -> Edit<'e> {
        let plan = self.plan;
        Edit {
            table: &plan.table,
            slot: plan.slot,
            assigns: &plan.on_duplicate,
            defaults,
            touch: &plan.touch,
            mode: self.mode,
        }
    }

    /// Locks the row in the way and runs the subqueries that read it, or what was to be inserted.
    pub(super) async fn ask_of_row(
        &self,
        key: &[u8],
        row: &[Value],
        env: &mut Env<'_>,
        subs: &mut SubValues,
        selected: &Selected<'_>,
    ) -> Result<Asked, SqlError> {
        let plan = self.plan;
        if plan.subqueries.iter().all(|s| !s.correlated) {
            return Ok(Asked::Nothing);
        }
        let mut there: Vec<Value> = Vec::new();
        let found = env
            .session
            .update_key(&plan.table, key, &mut |old| {
                there = old.to_values();
                Ok(None)
            })
            .await?;
        if matches!(found, Updated::NotFound) {
            return Ok(Asked::Gone);
        }
        self.ask_in_turn(&there, row, env, subs, selected).await?;
        Ok(Asked::Row(there))
    }

    /// Runs the subqueries of each assignment for the row as the assignments before leave it.
    async fn ask_in_turn(
        &self,
        there: &[Value],
        row: &[Value],
        env: &mut Env<'_>,
        subs: &mut SubValues,
        selected: &Selected<'_>,
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
        let asks = plan.on_duplicate.iter().rposition(|a| !asked(a).is_empty());
        let mut new = there.to_vec();
        for (n, a) in plan.on_duplicate.iter().enumerate() {
            for i in asked(a) {
                let built = Built {
                    slot: plan.slot,
                    values: &new,
                    inserted: row,
                    rest: selected,
                };
                let rows = fetch(&plan.subqueries[i as usize], env, &built).await?;
                subs.set(i, rows);
            }
            if asks.is_none_or(|last| n >= last) {
                break;
            }
            let rest = OnlySubs {
                subs,
                outer: selected,
            };
            let built = Built {
                slot: plan.slot,
                values: &new,
                inserted: row,
                rest: &rest,
            };
            // What is wrong with a value is said when it is assigned.
            let value = || edit.value(a, &built, self.line, env.cx);
            if let Some(Ok(v)) = env.cx.quietly(value) {
                new[usize::from(a.column)] = v;
            }
        }
        Ok(())
    }
}
