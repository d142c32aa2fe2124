//! JSON: documents (`value`), their text (`read`) and paths into them (`path`). The SQL functions over them are
//! in `func::json`. This module knows no SQL types and stores nothing.

mod assign;
pub(crate) mod path;
pub(crate) mod read;
pub(crate) mod value;

pub use assign::assigned;
pub(crate) use path::Path;
pub use read::parse;
pub use value::Json;

use types::SqlError;
use types::error::codes;

use super::conv;
use super::ty::{ExprType, Shape};
use super::val::Val;

/// Error 3141: argument `n` of `function` is no JSON text.
pub(crate) fn invalid(e: &read::JsonError, n: usize, function: &str) -> SqlError {
    if e.why == read::TOO_DEEP {
        return value::too_deep();
    }
    SqlError::new(
        codes::ER_INVALID_JSON_TEXT_IN_PARAM,
        format!(
            "Invalid JSON text in argument {n} to function {function}: \"{}\" at position {}.",
            e.why, e.at
        ),
    )
}

/// A document's text as it is stored: read, and written again. `column` is the one that it is to stand in.
///
/// # Errors
/// 3140: it is no document; 3157.
pub fn stored(text: &[u8], column: &str) -> Result<Vec<u8>, SqlError> {
    let doc = parse(&String::from_utf8_lossy(text));
    let doc = doc.map_err(|e| not_stored(e.why, e.at, &column))?;
    let mut out = Vec::with_capacity(text.len());
    doc.write(&mut out)?;
    Ok(out)
}

/// Error 3140, or 3157.
fn not_stored(why: &str, at: usize, column: &dyn std::fmt::Display) -> SqlError {
    if why == read::TOO_DEEP {
        return value::too_deep();
    }
    SqlError::new(
        codes::ER_INVALID_JSON_TEXT,
        format!("Invalid JSON text: \"{why}\" at position {at} in value for column '{column}'."),
    )
}

/// What a document may take in memory, as a tree, that is read from a text: more than the text where it is of small parts.
pub(crate) fn weight(text: &[u8]) -> usize {
    let parts = text.iter().filter(|b| matches!(b, b',' | b':')).count();
    let lists = text.iter().filter(|b| matches!(b, b'[' | b'{')).count();
    text.len() + parts * PART + lists * LIST
}

/// What a part of a document takes: a list that grows has its old room and its new one.
pub(crate) const PART: usize = 3 * size_of::<Json>();

/// What a list takes beside its parts: it has room for four from the start.
pub(crate) const LIST: usize = 5 * size_of::<(String, Json)>();

/// A value that is no JSON text as a scalar document.
pub(crate) fn scalar(v: &Val<'_>, ty: &ExprType) -> Json {
    match v {
        Val::Null => Json::Null,
        Val::Int(i) => Json::Int(*i),
        Val::Uint(u) => Json::Uint(*u),
        Val::Double(d) => Json::Double(*d),
        Val::Decimal(_) => Json::Decimal(lossy(v, ty)),
        Val::Time(t) => text_with_fraction(&Val::Time(t.with_fsp(6)), ty),
        Val::DateTime(d) => text_with_fraction(&Val::DateTime(d.with_fsp(6)), ty),
        Val::Bytes(b) if ty.shape == Shape::Json => {
            parse(&String::from_utf8_lossy(b)).unwrap_or(Json::Null)
        }
        _ => Json::Str(lossy(v, ty)),
    }
}

fn lossy(v: &Val<'_>, ty: &ExprType) -> String {
    String::from_utf8_lossy(&conv::text_of(v, ty)).into_owned()
}

/// JSON shows times with six digits of fraction.
fn text_with_fraction(v: &Val<'_>, ty: &ExprType) -> Json {
    Json::Str(lossy(v, ty))
}
