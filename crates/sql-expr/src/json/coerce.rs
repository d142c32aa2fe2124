//! Scalars of documents as values of columns: those of JSON_TABLE, and columns of numbers that a document is assigned to.

use types::error::codes;
use types::{CollationId, DataType, Decimal, SqlError, Value};

use super::Json;
use crate::conv;
use crate::val::round_to_i64;

/// A scalar as the kind of value that a column has; the error names the kind. What is no number, and for other columns all, is a text.
pub(crate) fn coerced(scalar: &Json, ty: &DataType) -> Result<Value, &'static str> {
    let text = |s: &str| Value::Str(s.as_bytes().to_vec(), CollationId::UTF8MB4_BIN);
    Ok(match ty {
        DataType::Int { .. } | DataType::Year | DataType::Bit(_) => {
            whole(scalar, ty.is_unsigned()).ok_or("INTEGER")?
        }
        DataType::Float { .. } | DataType::Double { .. } => {
            Value::Double(real(scalar).ok_or("DOUBLE")?)
        }
        DataType::Decimal { .. } => exact(scalar).ok_or("DECIMAL")?,
        _ => match scalar {
            Json::Str(s) => text(s),
            other => {
                let mut out = Vec::new();
                // A buffer without a limit takes all.
                let _ = other.write(&mut out);
                Value::Str(out, CollationId::UTF8MB4_BIN)
            }
        },
    })
}

/// Error 3156.
pub(crate) fn invalid_for(kind: &str, column: &str) -> SqlError {
    SqlError::new(
        codes::ER_INVALID_JSON_VALUE_FOR_CAST,
        format!("Invalid JSON value for CAST to {kind} from column {column} at row 1"),
    )
}

/// A scalar as a whole number. Digits in a text that are more than a signed column holds are taken by their bits, as MySQL does.
fn whole(scalar: &Json, unsigned: bool) -> Option<Value> {
    let of_wide = |n: i128| match (i64::try_from(n), u64::try_from(n)) {
        (Ok(i), _) => Some(Value::Int(i)),
        (_, Ok(u)) => Some(Value::UInt(u)),
        _ => None,
    };
    match scalar {
        Json::Bool(b) => Some(Value::Int((*b).into())),
        Json::Int(i) => Some(Value::Int(*i)),
        Json::Uint(u) => Some(Value::UInt(*u)),
        Json::Double(d) => round_to_i64(*d).map(Value::Int),
        Json::Decimal(d) => {
            of_wide(conv::decimal_to_int(&Decimal::parse(d.as_bytes()).value).wide())
        }
        Json::Str(s) => match of_wide(s.trim_start().parse().ok()?)? {
            Value::UInt(u) if !unsigned => Some(Value::Int(u as i64)),
            v => Some(v),
        },
        _ => None,
    }
}

fn real(scalar: &Json) -> Option<f64> {
    match scalar {
        Json::Bool(b) => Some((*b).into()),
        Json::Int(i) => Some(*i as f64),
        Json::Uint(u) => Some(*u as f64),
        Json::Double(d) => Some(*d),
        Json::Decimal(d) => d.parse().ok(),
        Json::Str(s) => match conv::parse_double(s.as_bytes()) {
            (d, true) if d.is_finite() => Some(d),
            _ => None,
        },
        _ => None,
    }
}

fn exact(scalar: &Json) -> Option<Value> {
    let of_text = |s: &str| {
        let read = Decimal::parse(s.as_bytes());
        (!s.is_empty() && read.used == s.len() && !read.overflow)
            .then_some(Value::Decimal(read.value))
    };
    match scalar {
        Json::Bool(b) => Some(Value::Int((*b).into())),
        Json::Int(i) => Some(Value::Int(*i)),
        Json::Uint(u) => Some(Value::UInt(*u)),
        Json::Double(d) => Some(Value::Double(*d)),
        Json::Decimal(s) | Json::Str(s) => of_text(s),
        _ => None,
    }
}
