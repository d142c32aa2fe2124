//! Grouped queries: the ONLY_FULL_GROUP_BY check.
//!
//! A column may stand outside aggregates if the grouping columns determine it ([`dependence`](super::dependence)).

use types::SqlError;
use types::error::codes;

use super::dependence::{Determined, Tables, columns_among};
pub(crate) use super::known::Known;
use super::names::Names;
use super::select::Item;
use super::tree::{BoundSub, SortKey};
use sql_expr::{Expr, Node};

/// The subquery that an expression is.
fn subquery_of(e: &Expr) -> Option<u32> {
    match &e.node {
        Node::Subquery(i) | Node::Exists(i) => Some(*i),
        Node::Quantified(q) => Some(q.subquery),
        _ => None,
    }
}

/// The first column of an expression that the groups do not determine, those that its subqueries read of this block included.
fn loose(
    e: &Expr,
    keys: &Known,
    known: &Determined,
    names: &Names<'_>,
    subqueries: &[BoundSub],
) -> Option<String> {
    let own = |slot: u16| names.tables.iter().any(|t| t.slot == slot);
    let free = |slot: u16, ordinal: u16| own(slot) && !known.contains(&(slot, ordinal));
    if keys.has(e) {
        return None;
    }
    match &e.node {
        Node::Aggregate(_) => None,
        Node::Column(c) if free(c.slot, c.ordinal) => Some(c.name.to_string()),
        Node::Call(c) if matches!(c.def.name, "any_value" | "grouping") => None,
        _ => {
            let read = subquery_of(e).and_then(|i| subqueries.get(i as usize));
            let mut read = read.into_iter().flat_map(|s| &s.outer);
            let mut found =
                read.find(|(slot, ordinal)| free(*slot, *ordinal))
                    .and_then(|(slot, ordinal)| {
                        let column = names.table(*slot)?.column_expr(usize::from(*ordinal));
                        column.as_column().map(|c| c.name.to_string())
                    });
            e.each_child(&mut |x| {
                if found.is_none() {
                    found = loose(x, keys, known, names, subqueries);
                }
            });
            found
        }
    }
}

/// Checks a grouped query. With ROLLUP nothing follows from a grouping value, which may be NULL for what differs: there is no `from` then.
///
/// # Errors
/// 1055, and 1140 without GROUP BY.
pub(super) fn check(
    names: &Names<'_>,
    from: Option<&Tables<'_>>,
    keys: &[Expr],
    items: &[Item<'_>],
    having: Option<&Expr>,
    order: &[SortKey],
    subqueries: &[BoundSub],
) -> Result<(), SqlError> {
    let mut known = columns_among(keys);
    if let Some(from) = from {
        from.complete(&mut known);
    }
    let grouped = Known::of(keys);
    let lists = [
        (
            "SELECT list",
            items.iter().map(|i| &i.expr).collect::<Vec<_>>(),
        ),
        ("HAVING clause", having.into_iter().collect()),
        ("ORDER BY clause", order.iter().map(|k| &k.expr).collect()),
    ];
    for (place, exprs) in lists {
        for (i, e) in exprs.into_iter().enumerate() {
            let Some(name) = loose(e, &grouped, &known, names, subqueries) else {
                continue;
            };
            let n = i + 1;
            return Err(if keys.is_empty() {
                SqlError::new(
                    codes::ER_MIX_OF_GROUP_FUNC_AND_FIELDS,
                    format!(
                        "In aggregated query without GROUP BY, expression #{n} of {place} contains nonaggregated column '{name}'; this is incompatible with sql_mode=only_full_group_by"
                    ),
                )
            } else {
                SqlError::new(
                    codes::ER_WRONG_FIELD_WITH_GROUP,
                    format!(
                        "Expression #{n} of {place} is not in GROUP BY clause and contains nonaggregated column '{name}' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by"
                    ),
                )
            });
        }
    }
    Ok(())
}

/// Checks that DISTINCT keeps what ORDER BY reads.
///
/// # Errors
/// 3065.
pub(crate) fn check_distinct(items: &[Item<'_>], order: &[SortKey]) -> Result<(), SqlError> {
    let kept = Known::of(items.iter().map(|i| &i.expr));
    for (i, k) in order.iter().enumerate() {
        if kept.has(&k.expr) {
            continue;
        }
        let mut loose = None;
        k.expr.walk(&mut |x| {
            if let Node::Column(c) = &x.node
                && loose.is_none()
                && !kept.has(x)
            {
                loose = Some(c.name.clone());
            }
            true
        });
        if let Some(name) = loose {
            return Err(SqlError::new(
                codes::ER_FIELD_IN_ORDER_NOT_SELECT,
                format!(
                    "Expression #{} of ORDER BY clause is not in SELECT list, references column '{name}' which is not in SELECT list; this is incompatible with DISTINCT",
                    i + 1
                ),
            ));
        }
    }
    Ok(())
}
