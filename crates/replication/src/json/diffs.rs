//! What has changed in a document, as a source with `binlog_row_value_options=PARTIAL_JSON` sends it.
//!
//! ```text
//! changes: each: operation u8 | path | of all that does not remove: value
//! path, value: length (length-encoded integer) | bytes; of a value in the binary form
//! ```
//!
//! (MySQL 8.0, sql/json_diff.cc and its header, which describes the form.)

use sql_expr::json::Json;
use sql_expr::json::diff::{Diff, Operation};
use wire::ProtocolError::Malformed;
use wire::read::{ReadResult, Reader};

/// Reads the changes of a document, in their order.
///
/// # Errors
/// [`Malformed`]: they end early, a path is none, or a value is no document.
pub fn diffs(bytes: &[u8]) -> ReadResult<Vec<Diff>> {
    let mut r = Reader::new(bytes);
    let mut found = Vec::new();
    while !r.is_empty() {
        let operation = match r.u8()? {
            0 => Operation::Replace,
            1 => Operation::Insert,
            2 => Operation::Remove,
            _ => return Err(Malformed),
        };
        let path = std::str::from_utf8(r.lenenc_bytes()?).map_err(|_| Malformed)?;
        let value = match operation {
            Operation::Remove => Json::Null,
            _ => value(r.lenenc_bytes()?)?,
        };
        found.push(Diff::new(operation, path, value).ok_or(Malformed)?);
    }
    Ok(found)
}

fn value(bytes: &[u8]) -> ReadResult<Json> {
    if bytes.is_empty() {
        return Err(Malformed);
    }
    let text = super::text(bytes)?;
    let text = std::str::from_utf8(&text).map_err(|_| Malformed)?;
    sql_expr::json::parse_stored(text).map_err(|_| Malformed)
}
