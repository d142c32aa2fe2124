//! Building rows for storage: conversion to the columns' types, defaults, assignments, and what a client is told about duplicates.

use std::sync::Arc;

use engine::{RowRef, Table};
use types::convert::{ConvertMode, Target, assign, to_text, zero_value};
use types::{DataType, SqlError, Value, ValueRef, Warning};

use super::row::Built;
use crate::plan::{Assign, DefaultPlan};
use sql_expr::vars::SqlMode;
use sql_expr::{EvalCtx, RowSource};

/// How values are converted for a statement.
pub(crate) fn convert_mode(cx: &EvalCtx<'_>, ignore: bool) -> ConvertMode {
    ConvertMode {
        strict: cx.sql_mode.strict() && !ignore,
        no_zero_date: cx.sql_mode.has(SqlMode::NO_ZERO_DATE),
        no_zero_in_date: cx.sql_mode.has(SqlMode::NO_ZERO_IN_DATE),
        invalid_dates: cx.sql_mode.has(SqlMode::ALLOW_INVALID_DATES),
        offset: i64::from(cx.tz_offset),
        today: cx.now(0).date(),
    }
}

/// Converts a value for a column. `row` counts from 1.
pub(crate) fn convert(
    v: ValueRef<'_>,
    table: &Table,
    column: u16,
    row: u64,
    mode: &ConvertMode,
    cx: &EvalCtx<'_>,
) -> Result<Value, SqlError> {
    let def = &table.def.columns[usize::from(column)];
    let target = Target {
        ty: &def.ty,
        nullable: def.nullable,
        column: &def.name,
        row,
    };
    cx.fault()?;
    let mut warnings: Vec<Warning> = Vec::new();
    let converted = assign(v, &target, mode, &mut warnings)?.into_value();
    for w in warnings {
        cx.warn(w);
    }
    Ok(converted)
}

/// The statement's time in a column's type, as stored.
pub(crate) fn now_value(ty: &DataType, cx: &EvalCtx<'_>) -> Value {
    match ty {
        DataType::Timestamp(f) => Value::DateTime(cx.utc_now(*f)),
        DataType::DateTime(f) => Value::DateTime(cx.now(*f)),
        DataType::Date => Value::Date(cx.now(0).date()),
        DataType::Time(f) => Value::Time(cx.now(*f).time()),
        _ => Value::Null,
    }
}

/// What a column without a value gets where it has no default.
pub(crate) fn missing(
    table: &Table,
    column: u16,
    mode: &ConvertMode,
    cx: &EvalCtx<'_>,
) -> Result<Value, SqlError> {
    let def = &table.def.columns[usize::from(column)];
    if let DataType::Enum(l) = &def.ty {
        return Ok(Value::Enum(1, Arc::clone(l)));
    }
    let e = SqlError::no_default(&def.name);
    if mode.strict {
        return Err(e);
    }
    cx.warn(Warning::from_error(e));
    Ok(zero_value(&def.ty))
}

/// The value of a default that is not an AUTO_INCREMENT one.
pub(crate) fn default_value(
    plan: &DefaultPlan,
    table: &Table,
    column: u16,
    row: &dyn RowSource,
    line: u64,
    mode: &ConvertMode,
    cx: &EvalCtx<'_>,
) -> Result<Value, SqlError> {
    let ty = &table.def.columns[usize::from(column)].ty;
    match plan {
        DefaultPlan::Value(v) => Ok(v.clone()),
        DefaultPlan::Now => Ok(now_value(ty, cx)),
        DefaultPlan::Expr(e) => {
            let v = e.eval(cx, row)?;
            convert(v.as_assigned_ref(&e.ty, ty), table, column, line, mode, cx)
        }
        DefaultPlan::Auto => Ok(zero_value(ty)),
        DefaultPlan::Missing => missing(table, column, mode, cx),
    }
}

/// Whether two stored values are the same bytes: `a` and `A` differ although they compare equal.
pub(crate) fn same_value(a: ValueRef<'_>, b: ValueRef<'_>) -> bool {
    match (a, b) {
        (ValueRef::Null, ValueRef::Null) => true,
        (ValueRef::Int(x), ValueRef::Int(y)) => x == y,
        (ValueRef::UInt(x), ValueRef::UInt(y)) => x == y,
        (ValueRef::Float(x), ValueRef::Float(y)) => x.to_bits() == y.to_bits(),
        (ValueRef::Double(x), ValueRef::Double(y)) => x.to_bits() == y.to_bits(),
        (ValueRef::Decimal(x), ValueRef::Decimal(y)) => x == y,
        (ValueRef::Str(x, _), ValueRef::Str(y, _)) | (ValueRef::Bytes(x), ValueRef::Bytes(y)) => {
            x == y
        }
        (ValueRef::Date(x), ValueRef::Date(y)) => x == y,
        (ValueRef::Time(x), ValueRef::Time(y)) => x == y,
        (ValueRef::DateTime(x), ValueRef::DateTime(y)) => x == y,
        (ValueRef::Bit(x, _), ValueRef::Bit(y, _)) => x == y,
        (ValueRef::Enum(x, _), ValueRef::Enum(y, _)) => x == y,
        (ValueRef::Set(x, _), ValueRef::Set(y, _)) => x == y,
        (ValueRef::Int(x), ValueRef::UInt(y)) | (ValueRef::UInt(y), ValueRef::Int(x)) => {
            u64::try_from(x) == Ok(y)
        }
        _ => false,
    }
}

/// The assignments of an UPDATE or of ON DUPLICATE KEY UPDATE to one table.
pub(crate) struct Edit<'p> {
    /// The table.
    pub table: &'p Arc<Table>,
    /// Its slot.
    pub slot: u16,
    /// The assignments, in order.
    pub assigns: &'p [Assign],
    /// Defaults of columns that are assigned DEFAULT.
    pub defaults: &'p (dyn Fn(u16) -> Option<&'p DefaultPlan> + Sync),
    /// Columns that take the statement's time when anything changes.
    pub touch: &'p [u16],
    /// How values are converted.
    pub mode: ConvertMode,
}

impl Edit<'_> {
    /// The row after the assignments; `None` where nothing changes. Each assignment sees those before it.
    pub fn apply(
        &self,
        old: RowRef<'_>,
        inserted: &[Value],
        rest: &dyn RowSource,
        line: u64,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let mut new = old.to_values();
        let mut changed = false;
        for a in self.assigns {
            let built = Built {
                slot: self.slot,
                values: &new,
                inserted,
                rest,
            };
            let v = self.value(a, &built, line, cx)?;
            new[usize::from(a.column)] = v;
        }
        for a in self.assigns {
            let c = usize::from(a.column);
            changed |= !same_value(new[c].as_ref(), old.column(c));
        }
        self.finish(new, changed, cx)
    }

    /// What a column is assigned, for a row as the assignments before leave it.
    pub fn value(
        &self,
        a: &Assign,
        row: &dyn RowSource,
        line: u64,
        cx: &EvalCtx<'_>,
    ) -> Result<Value, SqlError> {
        match &a.value {
            Some(e) => {
                let v = e.eval(cx, row)?;
                let ty = &self.table.def.columns[usize::from(a.column)].ty;
                self.convert(v.as_assigned_ref(&e.ty, ty), a.column, line, cx)
            }
            None => {
                let plan = (self.defaults)(a.column).unwrap_or(&DefaultPlan::Missing);
                default_value(plan, self.table, a.column, row, line, &self.mode, cx)
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
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let mut new = old.to_values();
        let mut changed = false;
        for (a, v) in self.assigns.iter().zip(values) {
            let c = usize::from(a.column);
            new[c] = self.convert(v.as_ref(), a.column, line, cx)?;
            changed |= !same_value(new[c].as_ref(), old.column(c));
        }
        self.finish(new, changed, cx)
    }

    fn convert(
        &self,
        v: ValueRef<'_>,
        column: u16,
        line: u64,
        cx: &EvalCtx<'_>,
    ) -> Result<Value, SqlError> {
        convert(v, self.table, column, line, &self.mode, cx)
    }

    fn finish(
        &self,
        mut new: Vec<Value>,
        changed: bool,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        if !changed {
            return Ok(None);
        }
        for &c in self.touch {
            let c = usize::from(c);
            new[c] = now_value(&self.table.def.columns[c].ty, cx);
        }
        Ok(Some(new))
    }
}

/// Error 1062 for a row that is in a unique index already.
pub(crate) fn duplicate(table: &Table, index: usize, row: &[Value]) -> SqlError {
    let def = &table.def.indexes[index];
    let mut entry = String::new();
    for (i, p) in def.parts.iter().enumerate() {
        if i > 0 {
            entry.push('-');
        }
        let column = usize::from(p.column);
        let text = match row.get(column) {
            None | Some(Value::Null) => "NULL".to_owned(),
            Some(v) => to_text(v.as_ref()),
        };
        match p.prefix {
            0 => entry.push_str(&text),
            n => entry.extend(text.chars().take(n as usize)),
        }
    }
    SqlError::dup_entry(&entry, &format!("{}.{}", table.def.name, def.name))
}
