//! JSON_VALUE: one scalar of a document, as a value of an SQL type. What is not found, and what is no value of the type, becomes what the statement
//! says. The type of the call is the type that it returns.

use types::SqlError;
use types::charset::Charset;
use types::collation::CollationId;
use types::error::codes;

use super::infer::json;
use super::json::{document, out, path};
use super::{FuncDef, def, some};
use crate::cast;
use crate::cast_to::CastTo;
use crate::json::{Json, as_sql};
use crate::node::Args;
use crate::ty::{Coercibility, ExprType, Shape};
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;

/// The function of messages.
const NAME: &str = "json_value";

/// What ON EMPTY or ON ERROR says: NULL, an error, or the argument behind it.
pub(crate) mod on {
    pub(crate) const NULL: u64 = 0;
    pub(crate) const ERROR: u64 = 1;
    pub(crate) const DEFAULT: u64 = 2;
}

/// The table. Arguments: document, path, then for ON EMPTY and for ON ERROR what it says and its value.
pub(super) const TABLE: &[FuncDef] = &[def(NAME, 6, 6, json, value)];

/// The type that is returned, as one to convert to.
fn target(ty: &ExprType) -> CastTo {
    match ty.shape {
        Shape::Int { unsigned: true, .. } => CastTo::Unsigned,
        Shape::Int { .. } => CastTo::Signed,
        Shape::Decimal {
            precision, scale, ..
        } => CastTo::Decimal(precision, scale),
        Shape::Float { .. } => CastTo::Float,
        Shape::Double { .. } => CastTo::Double,
        Shape::Date => CastTo::Date,
        Shape::Time(f) => CastTo::Time(f),
        Shape::DateTime(f) | Shape::Timestamp(f) => CastTo::DateTime(f),
        Shape::Year => CastTo::Year,
        Shape::Json => CastTo::Json,
        Shape::Str { chars, .. } if ty.charset() == Charset::Binary => CastTo::Binary(Some(chars)),
        _ => CastTo::Char(Some(ty.chars()), ty.charset()),
    }
}

/// What is done instead; `error` is what ERROR says.
fn instead<'a>(a: Args<'a>, says: usize, error: impl FnOnce() -> SqlError) -> Out<'a> {
    match a.val(says)? {
        Val::Int(n) if n == on::ERROR as i64 => Err(error()),
        Val::Int(n) if n == on::DEFAULT as i64 => a.val(says + 1),
        _ => Ok(Val::Null),
    }
}

fn value(a: Args<'_>) -> Out<'_> {
    let d = some!(document(a, 0, NAME)?);
    let p = some!(path(a, 1, true)?);
    let found = p.find(&d, a.cx.pace())?;
    let one = match found.as_slice() {
        [] => {
            return instead(a, 2, || {
                SqlError::new(
                    codes::ER_MISSING_JSON_VALUE,
                    format!("No value was found by '{NAME}' on the specified path."),
                )
            });
        }
        [one] => *one,
        _ => {
            return instead(a, 4, || {
                SqlError::new(
                    codes::ER_MULTIPLE_JSON_VALUES,
                    format!("More than one value was found by '{NAME}' on the specified path."),
                )
            });
        }
    };
    let to = target(a.ty);
    match (one, to) {
        (Json::Null, _) => Ok(Val::Null),
        (_, CastTo::Json) => out(a, one),
        (Json::Array(_) | Json::Object(_), _) => instead(a, 4, || no_value(to)),
        _ => match converted(a, one, to)? {
            Some(v) => Ok(v),
            None => instead(a, 4, || no_value(to)),
        },
    }
}

/// A scalar as a value of a type; `None` where it is none, or only in part.
fn converted<'a>(a: Args<'a>, scalar: &Json, to: CastTo) -> Result<Option<Val<'a>>, SqlError> {
    let mut text = a.limited();
    scalar.write(&mut text)?;
    let Val::Bytes(text) = text.value() else {
        return Ok(None);
    };
    let v = match (scalar, to) {
        (Json::Str(s), _) => Val::owned(s.clone()),
        (_, CastTo::Char(..) | CastTo::Binary(_)) => Val::Bytes(text),
        _ => match as_sql(&text) {
            Some(v) => v,
            None => return Ok(None),
        },
    };
    match (&v, to) {
        (Val::Int(i), CastTo::Unsigned) if *i < 0 => return Ok(None),
        (Val::Uint(u), CastTo::Signed) if i64::try_from(*u).is_err() => return Ok(None),
        _ => {}
    }
    let ty = match v {
        Val::Bytes(_) => ExprType::text(
            u32::MAX,
            CollationId::UTF8MB4_BIN,
            Coercibility::Implicit,
            false,
        ),
        _ => ExprType::double(false),
    };
    let made = a.cx.quietly(|| cast::cast_value(v, &ty, to, a.cx));
    Ok(made.transpose()?.filter(|v| !v.is_null()))
}

fn no_value(to: CastTo) -> SqlError {
    let name = match to {
        CastTo::Signed | CastTo::Unsigned | CastTo::Year => "INTEGER",
        CastTo::Decimal(..) => "DECIMAL",
        CastTo::Float | CastTo::Double => "DOUBLE",
        CastTo::Date => "DATE",
        CastTo::Time(_) => "TIME",
        CastTo::DateTime(_) => "DATETIME",
        CastTo::Char(..) | CastTo::Binary(_) | CastTo::Json => "CHAR",
    };
    SqlError::new(
        codes::ER_INVALID_JSON_VALUE_FOR_CAST,
        format!("Invalid JSON value for CAST to {name} from column {NAME} at row 1"),
    )
}
