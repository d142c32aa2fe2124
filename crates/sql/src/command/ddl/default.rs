//! DEFAULT clauses: which are allowed on which type, and the value a literal becomes in its column.
//!
//! A default is a literal, CURRENT_TIMESTAMP, or an expression in parentheses, which is kept as MySQL's canonical text.

use engine::{ColumnDef, ColumnDefault, TableDef};
use types::error::codes;
use types::{Charset, CollationId, DataType, SqlError, Value};

use super::expression::names_in;
use crate::command::scalar;
use crate::context::parse_error;
use sql_expr::bind::{Binder, Clause, Resolved, ResolvedColumn, Scope, column_text};
use sql_expr::func::{self, FuncDef};
use sql_expr::{EvalCtx, Expr, ExprType, Val, value_text};
use sql_parser::{Options, ast, parse_expr};
use types::depth::room::within_a_thread;

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
/// 1067, 1101, 1235; 3769, 3770, 3772 of an expression.
pub fn resolve(
    name: &str,
    ty: &DataType,
    nullable: bool,
    expr: &ast::Expr,
    parenthesised: bool,
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
        return expression(name, expr);
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

/// An expression default, which is kept as text. What it refers to is seen when all columns are known: see [`check`].
fn expression(name: &str, expr: &ast::Expr) -> Result<ColumnDefault, SqlError> {
    expr.clone().walk_mut(&mut |e| refuse(e, name))?;
    let text = expr.deparse(None).to_string();
    // The text has more parentheses. Where it would be nested too deeply to be read again, no INSERT could use it.
    let again = within_a_thread(|| parse_expr(text.as_bytes(), &Options::default()));
    again.map_err(|e| parse_error(&e))?;
    Ok(ColumnDefault::Expr(text))
}

/// Functions that say something of the session, or do something to it or others: no default has them.
const OF_SESSIONS: &[&str] = &[
    "benchmark",
    "found_rows",
    "last_insert_id",
    "load_file",
    "row_count",
    "values",
];

/// Refuses what no default may have, of a column of this name.
fn refuse(e: &ast::Expr, name: &str) -> Result<(), SqlError> {
    let refused = |code, what: &str| {
        let text = format!("Default value expression of column '{name}' {what}.");
        Err(SqlError::new(code, text))
    };
    let function = |f: &str| {
        let code = codes::ER_DEFAULT_VAL_GENERATED_NAMED_FUNCTION_IS_NOT_ALLOWED;
        refused(code, &format!("contains a disallowed function: {f}"))
    };
    match e {
        ast::Expr::UserVar(_) | ast::Expr::AssignUserVar(..) | ast::Expr::SysVar(_) => refused(
            codes::ER_DEFAULT_VAL_GENERATED_VARIABLES,
            "cannot refer user or system variables",
        ),
        ast::Expr::Subquery(_)
        | ast::Expr::Exists(_)
        | ast::Expr::InSubquery(_)
        | ast::Expr::Quantified(_)
        | ast::Expr::Param(_) => refused(
            codes::ER_DEFAULT_VAL_GENERATED_FUNCTION_IS_NOT_ALLOWED,
            "contains a disallowed function",
        ),
        ast::Expr::Values(_) => function("values"),
        ast::Expr::Call(c) => {
            let called = c.name.to_ascii_lowercase();
            let waits = func::find(&called).is_some_and(FuncDef::special);
            match waits || OF_SESSIONS.contains(&called.as_str()) {
                true => function(&called),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Functions that say another thing with each statement, and the same where the statement is carried out again under the settings and at the time that
/// the binary log has of it.
const SAME_AGAIN: &[&str] = &[
    "convert_tz",
    "curdate",
    "current_date",
    "current_time",
    "current_timestamp",
    "curtime",
    "database",
    "from_unixtime",
    "localtime",
    "localtimestamp",
    "now",
    "schema",
    "unix_timestamp",
    "utc_date",
    "utc_time",
    "utc_timestamp",
];

/// Whether a statement that fills rows with this default fills them with other values where it is carried out again.
pub(super) fn differs_again(default: &ColumnDefault) -> bool {
    let ColumnDefault::Expr(text) = default else {
        return false;
    };
    let Ok(mut expr) = parse_expr(text.as_bytes(), &Options::default()) else {
        return false;
    };
    let found = expr.walk_mut(&mut |e| match e {
        ast::Expr::Call(c) => {
            let name = c.name.to_ascii_lowercase();
            let fixed = func::find(&name).is_none_or(FuncDef::foldable);
            match fixed || SAME_AGAIN.contains(&name.as_str()) {
                true => Ok(()),
                false => Err(()),
            }
        }
        // Of what a definition has that was made when that was taken.
        ast::Expr::UserVar(_) | ast::Expr::AssignUserVar(..) | ast::Expr::SysVar(_) => Err(()),
        _ => Ok(()),
    });
    found.is_err()
}

/// Checks what the expression defaults of a definition refer to; `old` is the table as it was, and says for each column which one it was.
///
/// # Errors
/// What binding says of an expression; 1054, 3766 for a column that `old` had and that is gone or has another name, 3767 for a later column whose own
/// default is an expression, 3768 for an AUTO_INCREMENT column.
pub fn check(
    columns: &[ColumnDef],
    old: Option<(&TableDef, &[Option<usize>])>,
    cx: &EvalCtx<'_>,
) -> Result<(), SqlError> {
    for (at, c) in columns.iter().enumerate() {
        if let ColumnDefault::Expr(text) = &c.default {
            let stays = |o: &ColumnDef| matches!(&o.default, ColumnDefault::Expr(t) if t == text);
            if let Some((old, was)) = old
                && was[at].is_some_and(|n| stays(&old.columns[n]))
            {
                check_kept(text, columns, old, was)?;
            }
            let old = old.map(|(old, _)| old);
            bind(text, Others { columns, at, old }, Clause::Elsewhere, cx)?;
        }
    }
    Ok(())
}

/// Refuses to let a default that stays read a column that has come under the name of another.
fn check_kept(
    text: &str,
    columns: &[ColumnDef],
    old: &TableDef,
    was: &[Option<usize>],
) -> Result<(), SqlError> {
    let read = names_in(text);
    let mut read = read.iter().filter_map(|n| old.column(n));
    let moved = read.find(|&at| {
        let now = was.iter().position(|w| *w == Some(at));
        !now.is_some_and(|n| columns[n].is_named(&old.columns[at].name))
    });
    match moved {
        None => Ok(()),
        Some(at) => Err(depended(&old.columns[at].name, &old.name)),
    }
}

fn depended(column: &str, table: &str) -> SqlError {
    SqlError::new(
        codes::ER_DEPENDENT_BY_DEFAULT_GENERATED_VALUE,
        format!(
            "Column '{column}' of table '{table}' has a default value expression dependency and cannot be dropped or renamed."
        ),
    )
}

/// The expression default of column number `at`, which was kept as text, bound against the others (slot 0).
///
/// # Errors
/// As [`check`].
pub fn bound(
    text: &str,
    columns: &[ColumnDef],
    at: usize,
    cx: &EvalCtx<'_>,
) -> Result<Expr, SqlError> {
    let old = None;
    bind(text, Others { columns, at, old }, Clause::FieldList, cx)
}

fn bind(
    text: &str,
    mut others: Others<'_>,
    clause: Clause,
    cx: &EvalCtx<'_>,
) -> Result<Expr, SqlError> {
    let expr = parse_expr(text.as_bytes(), &Options::default()).map_err(|e| parse_error(&e))?;
    Binder::new(cx, &mut others, clause).bind(&expr)
}

/// The columns that a default may refer to: all but itself, those that are computed only after it, and the one that is numbered.
struct Others<'a> {
    columns: &'a [ColumnDef],
    /// The column whose default it is.
    at: usize,
    old: Option<&'a TableDef>,
}

impl Others<'_> {
    fn refused(&self, code: u16, why: &str) -> SqlError {
        let name = &self.columns[self.at].name;
        SqlError::new(
            code,
            format!("Default value expression of column '{name}' cannot refer to {why}."),
        )
    }
}

impl Scope for Others<'_> {
    fn kept_under(&self) -> Option<CollationId> {
        Some(CollationId::DEFAULT)
    }

    fn column(&mut self, name: &ast::ColumnRef, _clause: Clause) -> Result<Resolved, SqlError> {
        let Some(at) = super::keys::column_index(self.columns, &name.name) else {
            let gone = self.old.and_then(|old| {
                let at = super::keys::column_index(&old.columns, &name.name)?;
                Some((&old.columns[at].name, &old.name))
            });
            return Err(match gone {
                Some((column, table)) => depended(column, table),
                None => SqlError::unknown_column(&column_text(name), "default value expression"),
            });
        };
        let c = &self.columns[at];
        let computed = matches!(c.default, ColumnDefault::Expr(_)) || c.generated.is_some();
        if computed && at >= self.at {
            return Err(self.refused(
                3767,
                "a column defined after it if that column is a generated column or has an expression as default value",
            ));
        }
        if c.auto_increment {
            return Err(self.refused(3768, "an auto-increment column"));
        }
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
