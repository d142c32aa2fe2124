//! JSON: documents (`value`), their text (`read`), paths into them (`path`) and into their text (`places`), the rows of JSON_TABLE (`table`), changes
//! within them (`diff`). The SQL functions over them are in `func::json`. This module stores nothing.

mod assign;
mod coerce;
pub mod diff;
pub(crate) mod path;
pub(crate) mod places;
pub(crate) mod read;
pub(crate) mod schema;
pub mod table;
pub(crate) mod value;

pub use assign::assigned;
pub(crate) use coerce::{coerced, invalid_for};
pub(crate) use path::Path;
pub use places::paths_agree;
pub(crate) use read::parse_document;
pub use read::{check, parse, parse_document as parse_stored};
pub use value::Json;

use std::borrow::Cow;

use types::error::codes;
use types::{Charset, Decimal, SqlError};

use super::conv;
use super::ctx::EvalCtx;
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

/// The text of a value that is to be a document, which is argument `i` of a function; `None` for NULL.
///
/// # Errors
/// 3144 for bytes, 3146 for what is no text.
pub(crate) fn text_of<'v>(
    v: &'v Val<'_>,
    ty: &ExprType,
    i: usize,
    function: &str,
) -> Result<Option<Cow<'v, str>>, SqlError> {
    match v {
        Val::Null => Ok(None),
        Val::Bytes(b) if ty.charset() == Charset::Binary => Err(SqlError::new(
            codes::ER_INVALID_JSON_CHARSET,
            format!(
                "Cannot create a JSON value from a string with CHARACTER SET 'binary'. ({} bytes)",
                b.len()
            ),
        )),
        Val::Bytes(b) => Ok(Some(in_utf8(b, ty))),
        _ => Err(SqlError::new(
            codes::ER_INVALID_TYPE_FOR_JSON,
            format!(
                "Invalid data type for JSON data in argument {} to function {function}; a JSON string or JSON type is required.",
                i + 1
            ),
        )),
    }
}

/// A path from its text.
///
/// # Errors
/// 3143 for text that is none.
pub(crate) fn read_path(text: &str) -> Result<Path, SqlError> {
    Path::parse(text).map_err(|at| {
        SqlError::new(
            codes::ER_INVALID_JSON_PATH,
            format!("Invalid JSON path expression. The error is around character position {at}."),
        )
    })
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
        Val::Int(i) if ty.boolean => Json::Bool(*i != 0),
        Val::Int(i) => Json::Int(*i),
        Val::Uint(u) => Json::Uint(*u),
        Val::Double(d) => Json::Double(*d),
        Val::Decimal(_) => Json::Decimal(lossy(v, ty)),
        Val::Time(t) => text_with_fraction(&Val::Time(t.with_fsp(6)), ty),
        Val::DateTime(d) => text_with_fraction(&Val::DateTime(d.with_fsp(6)), ty),
        Val::Bytes(b) if ty.shape == Shape::Json => {
            parse_document(&String::from_utf8_lossy(b)).unwrap_or(Json::Null)
        }
        _ => Json::Str(lossy(v, ty)),
    }
}

/// Appends the key by which a value is compared with documents: its own, or that of the scalar that it is. `is_document` says whether it is one
/// where the type is not known.
pub(crate) fn write_order_key(v: &Val<'_>, ty: &ExprType, is_document: bool, out: &mut Vec<u8>) {
    let is_document = match ty.shape {
        Shape::Json => true,
        Shape::Null => is_document,
        _ => false,
    };
    if let (Val::Bytes(text), true) = (v, is_document) {
        return types::json::write_order_key(text, out);
    }
    let mut text = Vec::new();
    // A buffer without a limit takes all.
    if scalar(v, ty).write(&mut text).is_ok() {
        types::json::write_order_key(&text, out);
    }
}

/// What a document is outside of JSON: a number, a truth value as 1 or 0, a text without its quotes. `None`: there is nothing that it is.
pub(crate) fn as_sql(document: &[u8]) -> Option<Val<'static>> {
    Some(match document {
        b"true" => Val::Int(1),
        b"false" => Val::Int(0),
        [b'"' | b'-' | b'0'..=b'9', ..] => {
            match parse_document(&String::from_utf8_lossy(document)).ok()? {
                Json::Int(i) => Val::Int(i),
                Json::Uint(u) => Val::Uint(u),
                Json::Double(d) => Val::Double(d),
                Json::Decimal(d) => Val::Decimal(Decimal::parse(d.as_bytes()).value),
                Json::Str(s) => Val::owned(s),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// The same of what an expression of JSON gave; warning 3156 where there is nothing that it is. `to` names the type that is asked for.
pub(crate) fn outside<'a>(v: Val<'a>, to: &str, of: &str, cx: &EvalCtx<'_>) -> Option<Val<'a>> {
    let Val::Bytes(text) = &v else {
        return Some(v);
    };
    let found = as_sql(text);
    if found.is_none() {
        cx.warn_error(SqlError::new(
            codes::ER_INVALID_JSON_VALUE_FOR_CAST,
            format!("Invalid JSON value for CAST to {to} from column {of} at row 1"),
        ));
    }
    found
}

fn lossy(v: &Val<'_>, ty: &ExprType) -> String {
    in_utf8(&conv::text_of(v, ty), ty).into_owned()
}

/// A text of a type in the character set of documents.
pub(crate) fn in_utf8<'t>(text: &'t [u8], ty: &ExprType) -> Cow<'t, str> {
    match ty.charset() {
        Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary => String::from_utf8_lossy(text),
        from => {
            let mut out = Vec::with_capacity(text.len());
            types::charset::convert(from, Charset::Utf8mb4, text, &mut out);
            String::from_utf8_lossy(&out).into_owned().into()
        }
    }
}

/// JSON shows times with six digits of fraction.
fn text_with_fraction(v: &Val<'_>, ty: &ExprType) -> Json {
    Json::Str(lossy(v, ty))
}
