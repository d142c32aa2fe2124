//! A code by its number.

use super::from_3000::FROM_3000;
use super::{BEFORE_3000, CodeInfo};

/// Looks a code up; `None` for a number this table does not know.
pub fn info(code: u16) -> Option<&'static CodeInfo> {
    let table = match code {
        ..3000 => BEFORE_3000,
        _ => FROM_3000,
    };
    let at = table.binary_search_by_key(&code, |c| c.code).ok()?;
    table.get(at)
}

/// SQLSTATE of a code; `HY000` for one this table does not know.
pub fn sqlstate(code: u16) -> &'static str {
    info(code).map_or("HY000", |c| c.sqlstate)
}
