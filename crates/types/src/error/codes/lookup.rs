//! A code by its number.

use super::{CODES, CodeInfo};

/// Looks a code up; `None` for a number this table does not know.
pub fn info(code: u16) -> Option<&'static CodeInfo> {
    CODES
        .binary_search_by_key(&code, |c| c.code)
        .ok()
        .map(|i| &CODES[i])
}

/// SQLSTATE of a code; `HY000` for one this table does not know.
pub fn sqlstate(code: u16) -> &'static str {
    info(code).map_or("HY000", |c| c.sqlstate)
}
