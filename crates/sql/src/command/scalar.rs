//! Values of expressions that read no row: SET, defaults, KILL, LIMIT of a SHOW.

use types::convert::{self, ConvertMode, Target, Today};
use types::error::codes;
use types::{DataType, SqlError, Value};

use sql_expr::bind::{Binder, Clause, NoColumns};
use sql_expr::vars::SqlMode;
use sql_expr::{EvalCtx, ExprType, NoRow, Val};
use sql_parser::ast;

/// The value of an expression without columns and subqueries, and its type.
///
/// # Errors
/// What binding or evaluating it fails with.
pub fn constant(expr: &ast::Expr, cx: &EvalCtx<'_>) -> Result<(Val<'static>, ExprType), SqlError> {
    let bound = Binder::new(cx, &mut NoColumns, Clause::FieldList).bind(expr)?;
    // Nobody waits here: whoever can evaluates it as a query.
    if bound.has_special() {
        return Err(SqlError::not_supported("an expression that waits"));
    }
    let v = bound.eval(cx, &NoRow)?.into_owned();
    Ok((v, bound.ty))
}

/// How values are converted for a column by this statement.
pub fn convert_mode(cx: &EvalCtx<'_>) -> ConvertMode {
    ConvertMode {
        strict: cx.sql_mode.strict(),
        no_zero_date: cx.sql_mode.has(SqlMode::NO_ZERO_DATE),
        no_zero_in_date: cx.sql_mode.has(SqlMode::NO_ZERO_IN_DATE),
        invalid_dates: cx.sql_mode.has(SqlMode::ALLOW_INVALID_DATES),
        cut_fractions: cx.sql_mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL),
        zone: cx.zone,
        today: Today::At(cx.now_micros),
    }
}

/// The value as a column of type `ty` would store it, in strict mode whatever the session's mode.
///
/// # Errors
/// 1264, 1265, 1292, 1366, 1406.
pub fn stored(
    (value, expr_ty): (Val<'static>, ExprType),
    column: &str,
    ty: &DataType,
    cx: &EvalCtx<'_>,
) -> Result<Value, SqlError> {
    let mode = ConvertMode {
        strict: true,
        ..convert_mode(cx)
    };
    let target = Target {
        ty,
        nullable: true,
        column,
        row: 1,
    };
    let source = value.as_assigned_ref(&expr_ty, ty).to_owned();
    let mut warnings = Vec::new();
    let v = convert::assign(source.as_ref(), &target, &mode, &mut warnings)?;
    Ok(v.into_value())
}

/// The value of an expression as an unsigned number.
///
/// # Errors
/// As [`constant`]; 1210 where it is no such number.
pub fn unsigned(expr: &ast::Expr, cx: &EvalCtx<'_>) -> Result<u64, SqlError> {
    let (v, ty) = constant(expr, cx)?;
    let n = convert::to_int(v.as_value_ref(&ty));
    u64::try_from(n)
        .map_err(|_| SqlError::new(codes::ER_WRONG_ARGUMENTS, "Incorrect arguments to LIMIT"))
}
