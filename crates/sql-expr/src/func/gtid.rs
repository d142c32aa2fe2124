//! Sets of transactions: GTID_SUBSET, GTID_SUBTRACT, WAIT_FOR_EXECUTED_GTID_SET. What a replica has applied of its source: SOURCE_POS_WAIT and the like.

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
    def(
        "wait_until_sql_thread_after_gtids",
        1,
        3,
        int_or_null::<21>,
        applied,
    )
    .waits(),
    def("source_pos_wait", 2, 4, int_or_null::<21>, source_position).waits(),
    def("master_pos_wait", 2, 4, int_or_null::<21>, master_position).waits(),
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

/// The time that a wait may take, as the argument in this place; `None`: NULL.
fn seconds(a: &Args<'_>, at: usize, function: &str) -> Result<Option<f64>, SqlError> {
    let seconds = match a.len() > at {
        false => 0.0,
        true => match a.f64(at)? {
            None => return Ok(None),
            Some(n) => n,
        },
    };
    if seconds < 0.0 {
        return Err(SqlError::new(
            codes::ER_WRONG_ARGUMENTS,
            format!("Incorrect arguments to {function}."),
        ));
    }
    // As in MySQL, no time and 0 are for ever.
    Ok(Some(if seconds == 0.0 { FOR_EVER } else { seconds }))
}

/// The channel that the argument in this place names; `None`: it is NULL. Without an argument none is named.
fn channel(a: &Args<'_>, at: usize) -> Result<Option<Option<String>>, SqlError> {
    if a.len() <= at {
        return Ok(Some(None));
    }
    let name = a.text(at)?;
    let name = name.map(|name| String::from_utf8_lossy(&name).to_lowercase());
    Ok(name.map(Some))
}

fn wait(a: Args<'_>) -> Out<'_> {
    let wanted = some!(set(&a, 0)?);
    let seconds = some!(seconds(&a, 1, "WAIT_FOR_EXECUTED_GTID_SET")?);
    a.cx.special(a.ty, Special::WaitForGtids(wanted, seconds))
}

fn applied(a: Args<'_>) -> Out<'_> {
    let wanted = some!(set(&a, 0)?);
    let seconds = some!(seconds(&a, 1, "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS")?);
    let channel = some!(channel(&a, 2)?);
    a.cx.special(a.ty, Special::WaitForApplied(wanted, seconds, channel))
}

fn source_position(a: Args<'_>) -> Out<'_> {
    position(a, "SOURCE_POS_WAIT")
}

fn master_position(a: Args<'_>) -> Out<'_> {
    position(a, "MASTER_POS_WAIT")
}

fn position<'a>(a: Args<'a>, function: &str) -> Out<'a> {
    let file = some!(a.text(0)?);
    let file = String::from_utf8_lossy(&file).into_owned();
    let position = some!(a.i64(1)?);
    let seconds = some!(seconds(&a, 2, function)?);
    let channel = some!(channel(&a, 3)?);
    // A name without a number is no file of a binary log.
    let number = file.rsplit_once('.').map(|(_, n)| n.parse::<u64>());
    match (number, u64::try_from(position)) {
        (Some(Ok(_)), Ok(position)) => a.cx.special(
            a.ty,
            Special::WaitForPlace(file, position, seconds, channel),
        ),
        _ => Ok(Val::Null),
    }
}
