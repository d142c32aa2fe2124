//! Rows that an INSERT makes: values converted for their columns, columns without one completed with defaults.

use types::convert::{ConvertMode, zero_value};
use types::{SqlError, Value, ValueRef};

use super::row_rules::generated_value;
use super::values::{convert, convert_mode, default_value, missing};
use crate::row::{Built, OnlySubs};
use crate::store::RowStore;
use crate::sub::SubValues;
use sql_expr::{EvalCtx, NoRow, RowSource};
use sql_plan::plan::{DefaultPlan, InsertPlan, InsertRows, InsertValue};

/// Whether a column that is given no value is computed from others.
fn is_computed(d: &DefaultPlan) -> bool {
    matches!(d, DefaultPlan::Expr(_) | DefaultPlan::Generated(_))
}

/// Makes the rows of an INSERT.
pub(super) struct NewRows<'p> {
    plan: &'p InsertPlan,
    /// How values are converted.
    pub mode: ConvertMode,
    /// The AUTO_INCREMENT column.
    pub auto: Option<u16>,
    only_row: bool,
}

impl<'p> NewRows<'p> {
    /// Of a statement.
    pub fn of(plan: &'p InsertPlan, cx: &EvalCtx<'_>) -> NewRows<'p> {
        let auto = plan.table.def.auto_increment_column();
        NewRows {
            plan,
            mode: convert_mode(cx, plan.ignore),
            auto: auto.map(|c| c as u16),
            only_row: matches!(&plan.source, InsertRows::Values(rows) if rows.len() == 1),
        }
    }

    /// A row of defaults, with NULL where AUTO_INCREMENT or NULL stands. Where a value must be given there is the type's own until then:
    /// a value that reads the column before finds that, as in MySQL.
    fn defaults(&self) -> Vec<Value> {
        self.plan
            .defaults
            .iter()
            .zip(&self.plan.table.def.columns)
            .map(|(d, c)| match d {
                DefaultPlan::Value(v) => v.clone(),
                DefaultPlan::Missing => zero_value(&c.ty),
                _ => Value::Null,
            })
            .collect()
    }

    /// Completes columns that got no value.
    fn complete(
        &self,
        row: &mut [Value],
        line: u64,
        given: impl Fn(u16) -> bool,
        cx: &EvalCtx<'_>,
        rest: &dyn RowSource,
    ) -> Result<(), SqlError> {
        // An expression may refer to any column whose value is not computed, and to those before its own.
        for computed in [false, true] {
            for (c, d) in self.plan.defaults.iter().enumerate() {
                let there = matches!(d, DefaultPlan::Value(_) | DefaultPlan::Auto);
                let now = is_computed(d) == computed;
                if now && !there && !given(c as u16) {
                    row[c] = self.default_of(c as u16, line, row, cx, rest)?;
                }
            }
        }
        Ok(())
    }

    fn default_of(
        &self,
        column: u16,
        line: u64,
        row: &[Value],
        cx: &EvalCtx<'_>,
        rest: &dyn RowSource,
    ) -> Result<Value, SqlError> {
        let plan = self.plan;
        let built = Built {
            slot: plan.slot,
            values: row,
            inserted: &[],
            rest,
        };
        match &plan.defaults[usize::from(column)] {
            DefaultPlan::Auto => Ok(Value::Null),
            DefaultPlan::Missing => {
                missing(&plan.table, column, &self.mode, plan.through.as_deref(), cx)
            }
            DefaultPlan::Generated(e) => {
                let def = &plan.table.def.columns[usize::from(column)];
                let v = generated_value(e, &plan.table, column, row, line, &self.mode, cx)?;
                match v.is_null() && !def.nullable {
                    true => self.store(ValueRef::Null, column, line, cx),
                    false => Ok(v),
                }
            }
            d => default_value(d, &plan.table, column, &built, line, &self.mode, cx),
        }
    }

    /// Converts a value for its column; NULL for AUTO_INCREMENT stays NULL.
    pub fn store(
        &self,
        v: ValueRef<'_>,
        column: u16,
        line: u64,
        cx: &EvalCtx<'_>,
    ) -> Result<Value, SqlError> {
        if v.is_null() {
            if Some(column) == self.auto {
                return Ok(Value::Null);
            }
            let def = &self.plan.table.def.columns[usize::from(column)];
            if self.only_row && !def.nullable && !self.plan.ignore {
                return Err(SqlError::bad_null(&def.name));
            }
        }
        convert(v, &self.plan.table, column, line, &self.mode, cx)
    }

    /// Whether a value of the list may wait.
    pub fn waits(values: &[InsertValue]) -> bool {
        values
            .iter()
            .any(|v| matches!(v, InsertValue::Expr(e) if e.has_special()))
    }

    /// The row of one list of values. A value may read the columns before it.
    pub fn of_values(
        &self,
        values: &[InsertValue],
        line: u64,
        cx: &EvalCtx<'_>,
        subs: &SubValues,
    ) -> Result<Vec<Value>, SqlError> {
        let plan = self.plan;
        let rest = OnlySubs {
            subs,
            outer: &NoRow,
        };
        let mut row = self.defaults();
        // DEFAULT of a column whose default is an expression waits for the other values, as if the column had not been named.
        let waits = |c: u16, v: &InsertValue| {
            let computed = is_computed(&plan.defaults[usize::from(c)]);
            computed && matches!(v, InsertValue::Default)
        };
        for (&c, v) in plan.columns.iter().zip(values) {
            if waits(c, v) {
                continue;
            }
            row[usize::from(c)] = match v {
                InsertValue::Default => self.default_of(c, line, &row, cx, &rest)?,
                InsertValue::Expr(e) => {
                    let built = Built {
                        slot: plan.slot,
                        values: &row,
                        inserted: &[],
                        rest: &rest,
                    };
                    let v = e.eval(cx, &built)?;
                    let ty = &plan.table.def.columns[usize::from(c)].ty;
                    self.store(v.as_assigned_ref(&e.ty, ty), c, line, cx)?
                }
            };
        }
        let given = |c| {
            let mut named = plan.columns.iter().zip(values);
            named.any(|(&k, v)| k == c && !waits(c, v))
        };
        self.complete(&mut row, line, given, cx, &rest)?;
        Ok(row)
    }

    /// The row of one selected row.
    pub fn of_selected(
        &self,
        rows: &RowStore,
        i: usize,
        line: u64,
        cx: &EvalCtx<'_>,
        subs: &SubValues,
    ) -> Result<Vec<Value>, SqlError> {
        let plan = self.plan;
        let rest = OnlySubs {
            subs,
            outer: &NoRow,
        };
        let mut row = self.defaults();
        for (n, &c) in plan.columns.iter().enumerate() {
            row[usize::from(c)] = self.store(rows.column(i, n), c, line, cx)?;
        }
        self.complete(&mut row, line, |c| plan.columns.contains(&c), cx, &rest)?;
        Ok(row)
    }
}
