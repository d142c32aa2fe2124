//! Joins of which the first rows are wanted: `ORDER BY .. LIMIT 10`, where an index of one table has the order. Its rows are read in that order, each is
//! looked for in the other tables, and the rest is left alone; everything else reads all to throw most away (Carey and Kossmann, "On saying
//! `enough already!' in SQL", SIGMOD 1997).
//!
//! The estimate takes the rows that pass as spread evenly. Where they are not, the first rows cost as much as all: so it has to pay well, and all
//! rows must not cost much more in that order than in the cheapest.

use types::SqlError;

use crate::bind::tree::BoundBlock;
use crate::optimize::conditions::Request;
use crate::optimize::physical::access::LOOK_UP;
use crate::optimize::physical::order::{self, Ordered};
use crate::optimize::search::join_order::{Graph, Order};
use crate::plan::Access;
use sql_expr::{Expr, Val};

/// The share of the cheapest order's cost that the first rows may take.
const PAYS: f64 = 0.25;
/// How much more all rows may cost in that order.
const WORST: f64 = 10.0;
/// The work of sorting a row, in rows read.
const SORT: f64 = 1.0;
/// Rows that are taken to be wanted where a parameter says how many.
const OF_PARAMETER: f64 = 100.0;

/// A number of rows, where it is constant.
pub(crate) fn number(e: &Expr) -> Option<f64> {
    match e.as_const() {
        Some(Val::Int(n)) => Some(*n as f64),
        Some(Val::Uint(n)) => Some(*n as f64),
        _ => None,
    }
}

/// The rows of a block that have to come, those that are skipped included, where nothing behind its joins needs the others.
pub(crate) fn wanted(b: &BoundBlock) -> Option<f64> {
    let in_turn = b.group.is_none()
        && b.having.is_none()
        && b.windows.is_none()
        && !b.distinct
        && !b.calc_found_rows;
    let limit = b.limit.as_ref().filter(|_| in_turn)?;
    let part = |e: &Expr| number(e).unwrap_or(OF_PARAMETER);
    Some(part(&limit.count) + limit.offset.as_ref().map_or(0.0, part))
}

/// The order that gives the first rows for less than `best` gives all rows; `None` where there is none.
///
/// # Errors
/// The statement is killed, or its time is over.
pub(crate) fn order(
    req: &Request<'_>,
    graph: &mut Graph<'_>,
    best: &Order,
) -> Result<Option<Order>, SqlError> {
    let Some(wanted) = req.first_rows.filter(|n| *n < best.rows) else {
        return Ok(None);
    };
    let allowed = req.switches.prefer_ordering_index() && !req.straight && !req.changes;
    if !allowed || graph.tables.len() < 2 || req.order.is_empty() {
        return Ok(None);
    }
    let Some((first, sought)) = in_order(req, graph) else {
        return Ok(None);
    };
    let fraction = (wanted / best.rows.max(1.0)).max(f64::MIN_POSITIVE);
    let other = graph.for_first_rows(first, fraction)?;
    if other.tables.len() != best.tables.len() {
        return Ok(None);
    }
    let whole = other.cost + sought;
    let others = best.cost + best.rows * SORT;
    // What is kept has to be read whole for the first rows too, and is no part of what comes one after the other.
    let comes_in_turn = other.tables[1..].iter().all(|(_, path)| path.needs != 0);
    if comes_in_turn && whole > others * WORST {
        return Ok(None);
    }
    Ok((whole * fraction < others * PAYS).then_some(other))
}

/// The table whose rows can be read in the order that is asked for, if it may be the first; and the work of looking for them where an index leads to
/// them that does not hold them.
fn in_order(req: &Request<'_>, graph: &Graph<'_>) -> Option<(usize, f64)> {
    let slot = req.order.first()?.expr.as_column()?.slot;
    let first = graph.tables.iter().position(|t| t.slot == slot)?;
    if !graph.may_be_first(first) {
        return None;
    }
    let path = graph.paths[first].best(0);
    let mut alone = Ordered {
        tables: vec![first],
        choices: vec![graph.paths[first].choice(path, 0)],
    };
    if !order::satisfy(req, &graph.paths, &mut alone) {
        return None;
    }
    match alone.choices[0].access {
        // One row is in any order, but what is joined to it is not.
        Access::Get(_) | Access::Nothing => None,
        Access::Full { index, .. } if index != 0 => Some((first, path.cost * LOOK_UP)),
        _ => Some((first, 0.0)),
    }
}
