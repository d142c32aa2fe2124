//! Values for storage: conversion to the columns' types, and defaults. What a strict `sql_mode` and IGNORE make of a value that does not
//! fit, of NULL and of a missing default is decided by the [`ConvertMode`] of `convert_mode`.

use std::sync::Arc;

use engine::Table;
use types::convert::{ConvertMode, Target, assign, zero_value};
use types::error::codes;
use types::{DataType, SqlError, Value, ValueRef, Warning};

pub(crate) use crate::conversion::convert_mode;
use sql_expr::{EvalCtx, RowSource, json};
use sql_plan::plan::DefaultPlan;

/// What the evaluation of expressions has to know of a statement that changes rows.
pub fn writes(cx: &mut EvalCtx<'_>, ignore: bool) {
    cx.ignore = ignore;
    cx.strict_write = !ignore && cx.sql_mode.strict();
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
    if def.ty == DataType::Json && !v.is_null() {
        return json::assigned(v, &format_args!("{}.{}", table.def.name, def.name), cx);
    }
    let mut warnings: Vec<Warning> = Vec::new();
    let converted = assign(v, &target, mode, &mut warnings)?.into_value();
    for w in warnings {
        cx.warn(w);
    }
    Ok(converted)
}

/// The statement's time in a column's type, as stored.
pub fn now_value(ty: &DataType, cx: &EvalCtx<'_>) -> Value {
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
    view: Option<&str>,
    cx: &EvalCtx<'_>,
) -> Result<Value, SqlError> {
    let def = &table.def.columns[usize::from(column)];
    if let DataType::Enum(l) = &def.ty {
        return Ok(Value::Enum(1, Arc::clone(l)));
    }
    // Through a view nothing tells what the column is called.
    let e = match view {
        None => SqlError::no_default(&def.name),
        Some(view) => SqlError::new(
            codes::ER_NO_DEFAULT_FOR_VIEW_FIELD,
            format!("Field of view '{view}' underlying table doesn't have a default value"),
        ),
    };
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
        // Nothing is assigned to it: it is computed when the row is written.
        DefaultPlan::Generated(_) => Ok(Value::Null),
        DefaultPlan::Auto => Ok(zero_value(ty)),
        DefaultPlan::Missing => missing(table, column, mode, None, cx),
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
