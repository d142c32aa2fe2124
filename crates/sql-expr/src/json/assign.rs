//! What a JSON column takes, and the text that it keeps: a document that is read, and written again as MySQL writes it. So equal documents have
//! equal texts, and the binary log, which has MySQL's binary form, says the same as the table.
//!
//! Must never do: take what is no document, whatever the `sql_mode` or IGNORE.

use std::borrow::Cow;
use std::fmt::Display;

use types::charset::Charset;
use types::collation::CollationId;
use types::error::codes;
use types::{SqlError, Value, ValueRef};

use super::{not_stored, read, weight};
use crate::ctx::EvalCtx;

/// The value that `column` (its table's name in front) keeps of another.
///
/// Text of the collation that documents have is taken for one, whose decimals keep their digits; other text is read as JSON.
///
/// # Errors
/// 3140 for text that is no document and for all that is neither text nor a document; 3144 for bytes; 3157 for one that is nested too deeply;
/// the session's memory has no room for it.
pub fn assigned(
    v: ValueRef<'_>,
    column: &dyn Display,
    cx: &EvalCtx<'_>,
) -> Result<Value, SqlError> {
    let (text, of_document) = match v {
        ValueRef::Null => return Ok(Value::Null),
        ValueRef::Str(_, c) if c.charset() == Charset::Binary => return Err(of_bytes()),
        ValueRef::Bytes(_) | ValueRef::Bit(..) => return Err(of_bytes()),
        ValueRef::Str(b, CollationId::UTF8MB4_BIN) => (Cow::Borrowed(b), true),
        ValueRef::Str(..) | ValueRef::Enum(..) | ValueRef::Set(..) => {
            (types::convert::in_utf8mb4(v), false)
        }
        _ => {
            let why = "not a JSON text, may need CAST";
            return Err(not_stored(why, 0, column));
        }
    };
    cx.hold(weight(&text))?;
    let text = String::from_utf8_lossy(&text);
    let doc = match of_document {
        true => read::parse_document(&text),
        false => read::parse(&text),
    };
    let doc = doc.map_err(|e| not_stored(e.why, e.at, column))?;
    let mut out = Vec::with_capacity(text.len());
    doc.write(&mut out)?;
    Ok(Value::Str(out, CollationId::UTF8MB4_BIN))
}

fn of_bytes() -> SqlError {
    SqlError::new(
        codes::ER_INVALID_JSON_CHARSET,
        "Cannot create a JSON value from a string with CHARACTER SET 'binary'.",
    )
}
