//! DEFAULT clauses: which are allowed on which type, and the value a literal becomes in its column.
//!
//! A default is a literal, CURRENT_TIMESTAMP, or an expression in parentheses, which is kept as MySQL's canonical text.

use engine::ColumnDefault;
use types::error::codes;
use types::{Charset, DataType, SqlError, Value};

use crate::expr::bind::{Binder, Clause, Resolved, ResolvedColumn, Scope, column_text};
use crate::expr::{EvalCtx, Expr, ExprType, Val, value_text};
use crate::parse::{Options, ast, parse_expr};
use crate::session::{parse_error, scalar};

/// The precision of a `CURRENT_TIMESTAMP[(n)]`, if the expression is one.
fn now_precision(expr: &ast::Expr) -> Option<u64> {
    let ast::Expr::Call(call) = expr else {
        return None;
    };
    if call.schema.is_some() || !call.name.eq_ignore_ascii_case("now") {
        return None;
    }
    match call.args.as_slice() {
        [] => Some(0),
        [ast::Expr::Int(n)] => Some(*n),
        _ => None,
    }
}

/// Whether the expression can be taken as a literal.
fn is_literal(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Null
        | ast::Expr::Bool(_)
        | ast::Expr::Int(_)
        | ast::Expr::Decimal(_)
        | ast::Expr::Float(_)
        | ast::Expr::Str(_)
        | ast::Expr::Introduced(_)
        | ast::Expr::Hex(_)
        | ast::Expr::Bit(_)
        | ast::Expr::Temporal(..) => true,
        ast::Expr::Unary(ast::UnaryOp::Neg, e) => is_literal(e),
        _ => false,
    }
}

/// The default that a DEFAULT clause gives a column.
///
/// # Errors
/// 1067, 1101, 1235.
pub fn resolve(
    name: &str,
    ty: &DataType,
    nullable: bool,
    expr: &ast::Expr,
    parenthesised: bool,
    columns: &[engine::ColumnDef],
    cx: &EvalCtx<'_>,
) -> Result<ColumnDefault, SqlError> {
    let invalid = || SqlError::invalid_default(name);
    if let Some(fsp) = now_precision(expr).filter(|_| !parenthesised) {
        return match ty {
            DataType::DateTime(f) | DataType::Timestamp(f) if u64::from(*f) == fsp => {
                Ok(ColumnDefault::Now)
            }
            _ => Err(invalid()),
        };
    }
    if parenthesised {
        return expression(expr, columns, cx);
    }
    if !is_literal(expr) {
        return Err(invalid());
    }
    if matches!(expr, ast::Expr::Null) {
        return if nullable {
            Ok(ColumnDefault::Null)
        } else {
            Err(invalid())
        };
    }
    if ty.is_lob() {
        let e = SqlError::new(
            codes::ER_BLOB_CANT_HAVE_DEFAULT,
            format!("BLOB, TEXT, GEOMETRY or JSON column '{name}' can't have a default value"),
        );
        let empty = matches!(expr, ast::Expr::Str(s) if s.is_empty());
        if !empty || cx.sql_mode.strict() {
            return Err(e);
        }
        // Outside strict mode the empty text is passed over.
        cx.warn_error(e);
        return Ok(match nullable {
            true => ColumnDefault::Null,
            false => ColumnDefault::None,
        });
    }
    let value = scalar::constant(expr, cx).and_then(|v| {
        if !names_members(&v, ty) {
            return Err(invalid());
        }
        scalar::stored(v, name, ty, cx)
    });
    match value {
        Ok(Value::Null) | Err(_) => Err(invalid()),
        Ok(v) => Ok(ColumnDefault::Literal(v)),
    }
}

/// Whether a default of an ENUM or a SET is written as its members are: a number does not stand for them here.
fn names_members((value, value_ty): &(Val<'static>, ExprType), ty: &DataType) -> bool {
    let (DataType::Enum(list) | DataType::Set(list)) = ty else {
        return true;
    };
    if value.is_null() {
        return true;
    }
    let (from, to) = (value_ty.collation.charset(), list.collation.charset());
    let mut text = value_text(value, value_ty);
    if from != to && from != Charset::Binary {
        let mut converted = Vec::with_capacity(text.len());
        types::charset::convert(from, to, &text, &mut converted);
        text = converted.into();
    }
    match ty {
        DataType::Set(_) if text.is_empty() => true,
        DataType::Set(_) => text.split(|b| *b == b',').all(|m| list.find(m).is_some()),
        _ => list.find(&text).is_some(),
    }
}

/// An expression default: bound once against the columns before it to find its errors, then kept as text.
fn expression(
    expr: &ast::Expr,
    columns: &[engine::ColumnDef],
    cx: &EvalCtx<'_>,
) -> Result<ColumnDefault, SqlError> {
    Binder::new(cx, &mut Before(columns), Clause::Elsewhere).bind(expr)?;
    let text = expr.deparse(None).to_string();
    // The text has more parentheses. Where it would be nested too deeply to be read again, no INSERT could use it.
    parse_expr(text.as_bytes(), &Options::default()).map_err(|e| parse_error(&e))?;
    Ok(ColumnDefault::Expr(text))
}

/// An expression default that was kept as text, bound against the columns before it (slot 0).
///
/// # Errors
/// 1067: the text is none.
pub fn bound(
    text: &str,
    columns: &[engine::ColumnDef],
    cx: &EvalCtx<'_>,
) -> Result<Expr, SqlError> {
    let expr = parse_expr(text.as_bytes(), &Options::default()).map_err(|e| parse_error(&e))?;
    Binder::new(cx, &mut Before(columns), Clause::FieldList).bind(&expr)
}

/// The columns that a default may refer to.
struct Before<'a>(&'a [engine::ColumnDef]);

impl Scope for Before<'_> {
    fn column(&mut self, name: &ast::ColumnRef, _clause: Clause) -> Result<Resolved, SqlError> {
        let at = super::keys::column_index(self.0, &name.name).ok_or_else(|| {
            SqlError::unknown_column(&column_text(name), "default value expression")
        })?;
        let c = &self.0[at];
        Ok(Resolved::Column(ResolvedColumn {
            slot: 0,
            ordinal: at as u16,
            ty: ExprType::of_column(&c.ty, c.nullable),
            utc: matches!(c.ty, DataType::Timestamp(_)),
            name: c.name.as_str().into(),
        }))
    }
}

/// Checks `ON UPDATE CURRENT_TIMESTAMP(fsp)`.
///
/// # Errors
/// 1294.
pub fn check_on_update(name: &str, ty: &DataType, fsp: u64) -> Result<(), SqlError> {
    match ty {
        DataType::DateTime(f) | DataType::Timestamp(f) if u64::from(*f) == fsp => Ok(()),
        _ => Err(SqlError::new(
            codes::ER_INVALID_ON_UPDATE,
            format!("Invalid ON UPDATE clause for '{name}' column"),
        )),
    }
}
