//! Sets of transactions: GTID_SUBSET, GTID_SUBTRACT, WAIT_FOR_EXECUTED_GTID_SET.

use types::SqlError;
use types::error::codes;
use types::gtid::GtidSet;

use super::infer::{int_or_null, long_text};
use super::{FuncDef, def, some};
use crate::ctx::Special;
use crate::node::Args;
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;

/// A wait without a time.
const FOR_EVER: f64 = 1e9;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("gtid_subset", 2, 2, int_or_null::<1>, subset),
    def("gtid_subtract", 2, 2, long_text, subtract),
    def("wait_for_executed_gtid_set", 1, 2, int_or_null::<1>, wait).waits(),
];

/// An argument as a set; `None`: NULL.
fn set(a: &Args<'_>, at: usize) -> Result<Option<GtidSet>, SqlError> {
    let Some(text) = a.text(at)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&text);
    match GtidSet::parse(&text) {
        Some(set) => Ok(Some(set)),
        None => Err(SqlError::malformed_gtid_set(&text)),
    }
}

fn subset(a: Args<'_>) -> Out<'_> {
    let (part, whole) = (some!(set(&a, 0)?), some!(set(&a, 1)?));
    Ok(Val::Int(i64::from(whole.contains(&part))))
}

fn subtract(a: Args<'_>) -> Out<'_> {
    let (mut all, less) = (some!(set(&a, 0)?), some!(set(&a, 1)?));
    all.subtract(&less);
    Ok(Val::owned(all.to_string()))
}

fn wait(a: Args<'_>) -> Out<'_> {
    let wanted = some!(set(&a, 0)?);
    let seconds = match a.len() {
        1 => 0.0,
        _ => some!(a.f64(1)?),
    };
    if seconds < 0.0 {
        return Err(SqlError::new(
            codes::ER_WRONG_ARGUMENTS,
            "Incorrect arguments to WAIT_FOR_EXECUTED_GTID_SET.",
        ));
    }
    // As in MySQL, no time and 0 are for ever.
    let seconds = if seconds == 0.0 { FOR_EVER } else { seconds };
    a.cx.special(Special::WaitForGtids(wanted, seconds))
}
