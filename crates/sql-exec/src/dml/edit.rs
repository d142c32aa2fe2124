//! Assignments to a row that is there, of an UPDATE or of ON DUPLICATE KEY UPDATE: the row as they leave it, and the change of one
//! row by its key.

use engine::RowRef;
use types::convert::ConvertMode;
use types::{SqlError, Value, ValueRef};

use super::table_writer::TableWriter;
use super::table_writer::foreign_keys::Related;
use super::table_writer::tally::Tally;
use super::target_scan::stored;
use super::values::{convert, convert_mode, default_value};
use crate::Env;
use crate::change_log::BinlogContext;
use crate::op::filter::passes;
use crate::row::{Built, Candidate};
use crate::sub::SubValues;
use sql_access::SecurityContext;
use sql_expr::{EvalCtx, RowSource};
use sql_plan::plan::{Assign, DefaultPlan, Step, UpdatePlan, UpdateTarget};

/// Finds the default of a column that is assigned DEFAULT.
pub(super) fn default_of(target: &UpdateTarget, column: u16) -> Option<&DefaultPlan> {
    target
        .defaults
        .iter()
        .find(|(c, _)| *c == column)
        .map(|(_, d)| d)
}

/// The assignments to the rows of one table. Whether they change a row, and what else changes then, is its writer's to say.
pub(super) struct Edit<'p> {
    /// Of the table, with the assignments in order.
    pub writer: TableWriter<'p>,
    /// The table's slot.
    pub slot: u16,
    /// Defaults of columns that are assigned DEFAULT.
    pub defaults: &'p (dyn Fn(u16) -> Option<&'p DefaultPlan> + Sync),
    /// How values are converted.
    pub mode: ConvertMode,
}

impl Edit<'_> {
    /// The row after the assignments. Each sees those before it.
    pub fn apply(
        &self,
        old: RowRef<'_>,
        inserted: &[Value],
        rest: &dyn RowSource,
        line: u64,
        cx: &EvalCtx<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let mut new = old.to_values();
        for a in self.writer.assigns() {
            let built = Built {
                slot: self.slot,
                values: &new,
                inserted,
                rest,
            };
            let v = self.value(a, &built, line, cx)?;
            new[usize::from(a.column)] = v;
        }
        Ok(new)
    }

    /// What a column is assigned, for a row as the assignments before leave it.
    pub fn value(
        &self,
        a: &Assign,
        row: &dyn RowSource,
        line: u64,
        cx: &EvalCtx<'_>,
    ) -> Result<Value, SqlError> {
        let table = self.writer.table();
        match &a.value {
            Some(e) => {
                let v = e.eval(cx, row)?;
                let ty = &table.def.columns[usize::from(a.column)].ty;
                self.convert(v.as_assigned_ref(&e.ty, ty), a.column, line, cx)
            }
            None => {
                let plan = (self.defaults)(a.column).unwrap_or(&DefaultPlan::Missing);
                default_value(plan, table, a.column, row, line, &self.mode, cx)
            }
        }
    }

    /// As [`apply`](Self::apply), for values that were computed before.
    pub fn apply_values(
        &self,
        old: RowRef<'_>,
        values: &[Value],
        line: u64,
        cx: &EvalCtx<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let mut new = old.to_values();
        for (a, v) in self.writer.assigns().iter().zip(values) {
            new[usize::from(a.column)] = self.convert(v.as_ref(), a.column, line, cx)?;
        }
        Ok(new)
    }

    fn convert(
        &self,
        v: ValueRef<'_>,
        column: u16,
        line: u64,
        cx: &EvalCtx<'_>,
    ) -> Result<Value, SqlError> {
        convert(v, self.writer.table(), column, line, &self.mode, cx)
    }
}

/// What assignments go by, and who is told of them.
#[derive(Clone, Copy, Default)]
pub(super) struct EditContext<'p> {
    /// The foreign keys.
    pub related: Option<Related<'p>>,
    /// The values of the subqueries of CHECK OPTION.
    pub checks: Option<&'p SubValues>,
    /// Who is told of the changes.
    pub binlog: Option<BinlogContext<'p>>,
}

/// How a statement's assignments are made, for one of its targets.
pub(super) trait Edits {
    /// The assignments to a target, which meet no foreign key and ask nothing. `binlog` is told of the changes.
    fn edit<'p>(
        &'p self,
        target: &'p UpdateTarget,
        defaults: &'p (dyn Fn(u16) -> Option<&'p DefaultPlan> + Sync),
        binlog: Option<BinlogContext<'p>>,
        cx: &EvalCtx<'_>,
    ) -> Result<Edit<'p>, SqlError>;

    /// What the assignments to a target meet.
    fn edit_context<'p>(
        &'p self,
        target: &UpdateTarget,
        checks: &'p SubValues,
        cx: &EvalCtx<'_>,
        by: (&'p SecurityContext, Option<BinlogContext<'p>>),
    ) -> EditContext<'p>;

    /// The assignments to a target.
    fn edit_in<'p>(
        &'p self,
        target: &'p UpdateTarget,
        defaults: &'p (dyn Fn(u16) -> Option<&'p DefaultPlan> + Sync),
        around: EditContext<'p>,
        cx: &EvalCtx<'_>,
    ) -> Result<Edit<'p>, SqlError>;
}

impl Edits for UpdatePlan {
    fn edit<'p>(
        &'p self,
        target: &'p UpdateTarget,
        defaults: &'p (dyn Fn(u16) -> Option<&'p DefaultPlan> + Sync),
        binlog: Option<BinlogContext<'p>>,
        cx: &EvalCtx<'_>,
    ) -> Result<Edit<'p>, SqlError> {
        let around = EditContext {
            binlog,
            ..EditContext::default()
        };
        self.edit_in(target, defaults, around, cx)
    }

    fn edit_context<'p>(
        &'p self,
        target: &UpdateTarget,
        checks: &'p SubValues,
        cx: &EvalCtx<'_>,
        (security, binlog): (&'p SecurityContext, Option<BinlogContext<'p>>),
    ) -> EditContext<'p> {
        let mut targets = self.targets.iter();
        let at = targets.position(|t| t.table == target.table);
        EditContext {
            related: at.and_then(|at| Related::of(&self.relations, at, cx, security)),
            checks: Some(checks),
            binlog,
        }
    }

    fn edit_in<'p>(
        &'p self,
        target: &'p UpdateTarget,
        defaults: &'p (dyn Fn(u16) -> Option<&'p DefaultPlan> + Sync),
        around: EditContext<'p>,
        cx: &EvalCtx<'_>,
    ) -> Result<Edit<'p>, SqlError> {
        let writer = TableWriter::new(
            stored(&self.block, target.table)?,
            self.ignore,
            around.binlog,
        );
        let mut writer = writer.related(around.related);
        if let Some(checks) = around.checks {
            writer = writer.asking(checks);
        }
        Ok(Edit {
            writer: writer
                .assigning(&target.assigns, &target.touch)
                .under(&target.rules),
            slot: self.block.tables[usize::from(target.table)].slot,
            defaults,
            mode: convert_mode(cx, self.ignore),
        })
    }
}

/// The conditions that a row has to meet when it is its turn.
pub(super) struct Conditions<'p> {
    pub step: &'p Step,
    /// Those too that the way it was found implies.
    pub implied: bool,
}

/// Changes one row by its clustered key if it still meets the conditions.
pub(super) async fn change_key(
    edit: &Edit<'_>,
    key: &[u8],
    conditions: &Conditions<'_>,
    env: &mut Env<'_>,
    rest: &dyn RowSource,
    tally: &mut Tally,
) -> Result<(), SqlError> {
    let cx = env.cx;
    let line = tally.next_row();
    let slot = edit.slot;
    let change = edit
        .writer
        .update_key(env.session, key, line, cx, |row| {
            if !passes(
                conditions.step,
                conditions.implied,
                cx,
                &Candidate { slot, row, rest },
            )? {
                return Ok(None);
            }
            edit.apply(row, &[], rest, line, cx).map(Some)
        })
        .await?;
    tally.updated(change);
    Ok(())
}
