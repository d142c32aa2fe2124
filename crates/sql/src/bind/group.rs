//! Grouped queries: the ONLY_FULL_GROUP_BY check.
//!
//! A column may stand outside aggregates if the grouping columns determine it: it is one of them, WHERE fixes it, or it belongs
//! to a table whose unique key is determined, or is computed from columns that are.

use std::collections::HashSet;

use engine::IndexKind;
use types::SqlError;
use types::error::codes;

use super::from::Cond;
use super::names::Names;
use super::row_rules::columns_read;
use super::select::Item;
use super::source::TableSource;
use super::tree::{BoundSub, SortKey};
use super::window_tree::Windows;
use sql_expr::{CmpOp, Expr, Node};

/// Bound expressions, of which it is asked whether another one is the same as any: each is written down once, as thousands of them
/// may be asked for among thousands.
#[derive(Default)]
pub(crate) struct Known(HashSet<String>);

impl Known {
    /// These expressions.
    pub(crate) fn of<'e>(all: impl IntoIterator<Item = &'e Expr>) -> Known {
        let mut known = Known::default();
        all.into_iter().for_each(|e| {
            known.add(e);
        });
        known
    }

    /// One more; whether it is new.
    pub(crate) fn add(&mut self, e: &Expr) -> bool {
        self.0.insert(written(e))
    }

    /// Whether there is one like it.
    pub(crate) fn has(&self, e: &Expr) -> bool {
        !self.0.is_empty() && self.0.contains(&written(e))
    }
}

/// The same text for the same expressions.
pub(crate) fn written(e: &Expr) -> String {
    match &e.node {
        Node::Column(c) => format!("{}.{}", c.slot, c.ordinal),
        x => format!("{x:?}"),
    }
}

type Determined = HashSet<(u16, u16)>;

fn determined(names: &Names<'_>, conds: &[Cond], keys: &[Expr]) -> Determined {
    let mut known: Determined = keys
        .iter()
        .filter_map(Expr::as_column)
        .map(|c| (c.slot, c.ordinal))
        .collect();
    loop {
        let before = known.len();
        for c in conds {
            let Node::Compare(CmpOp::Eq, _, p) = &c.expr.node else {
                continue;
            };
            for (x, y) in [(&p[0], &p[1]), (&p[1], &p[0])] {
                let Some(col) = x.as_column() else { continue };
                if fixed(y, &known) {
                    known.insert((col.slot, col.ordinal));
                }
            }
        }
        for t in &names.tables {
            let TableSource::Engine(table) = &t.source else {
                continue;
            };
            let unique = table.def.indexes.iter().any(|i| {
                matches!(i.kind, IndexKind::Primary | IndexKind::Unique)
                    && i.parts.iter().all(|p| {
                        p.prefix == 0
                            && !table.def.columns[usize::from(p.column)].nullable
                            && known.contains(&(t.slot, p.column))
                    })
            });
            if unique {
                known.extend((0..t.len()).map(|i| (t.slot, i as u16)));
            }
            for (i, c) in table.def.columns.iter().enumerate() {
                let Some(g) = &c.generated else { continue };
                let read = columns_read(&g.expr, &table.def);
                if read.iter().all(|&c| known.contains(&(t.slot, c))) {
                    known.insert((t.slot, i as u16));
                }
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

fn fixed(e: &Expr, known: &Determined) -> bool {
    let mut ok = true;
    e.walk(&mut |x| {
        match &x.node {
            Node::Column(c) => ok &= known.contains(&(c.slot, c.ordinal)),
            Node::Aggregate(_) | Node::AssignVar(..) | Node::Subquery(_) => ok = false,
            _ => {}
        }
        ok
    });
    ok
}

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
    windows: Option<&Windows>,
) -> Option<String> {
    let own = |slot: u16| names.tables.iter().any(|t| t.slot == slot);
    let free = |slot: u16, ordinal: u16| own(slot) && !known.contains(&(slot, ordinal));
    if keys.has(e) {
        return None;
    }
    match &e.node {
        Node::Aggregate(_) => None,
        Node::Window(i) => {
            let f = windows?.functions.get(*i as usize)?;
            let mut inputs = f.function.inputs().into_iter();
            inputs.find_map(|x| loose(x, keys, known, names, subqueries, windows))
        }
        Node::Column(c) if free(c.slot, c.ordinal) => Some(c.name.to_string()),
        Node::Call(c) if c.def.name.eq_ignore_ascii_case("any_value") => None,
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
                    found = loose(x, keys, known, names, subqueries, windows);
                }
            });
            found
        }
    }
}

/// What is computed of a group.
pub(crate) struct Late<'a> {
    /// The select list.
    pub items: &'a [Item<'a>],
    /// HAVING.
    pub having: Option<&'a Expr>,
    /// ORDER BY.
    pub order: &'a [SortKey],
    /// Window functions.
    pub windows: Option<&'a Windows>,
}

/// Checks a grouped query.
///
/// # Errors
/// 1055, and 1140 without GROUP BY.
pub(crate) fn check(
    names: &Names<'_>,
    conds: &[Cond],
    keys: &[Expr],
    late: &Late<'_>,
    subqueries: &[BoundSub],
) -> Result<(), SqlError> {
    let known = determined(names, conds, keys);
    let grouped = Known::of(keys);
    let windows = late.windows;
    let mut lists = vec![
        (
            "SELECT list".to_owned(),
            late.items.iter().map(|i| &i.expr).collect::<Vec<_>>(),
        ),
        (
            "HAVING clause".to_owned(),
            late.having.into_iter().collect(),
        ),
        (
            "ORDER BY clause".to_owned(),
            late.order.iter().map(|k| &k.expr).collect(),
        ),
    ];
    for w in windows.iter().flat_map(|w| &w.windows) {
        let place = format!(
            "PARTITION BY or ORDER BY clause of window '{}'",
            w.shown_name()
        );
        for keys in [&w.partition, &w.order] {
            lists.push((place.clone(), keys.iter().map(|k| &k.expr).collect()));
        }
    }
    for (place, exprs) in lists {
        for (i, e) in exprs.into_iter().enumerate() {
            let Some(name) = loose(e, &grouped, &known, names, subqueries, windows) else {
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

/// The first column that an expression reads, window functions included, and that is not among those.
fn not_kept(e: &Expr, kept: &Known, windows: Option<&Windows>) -> Option<String> {
    if kept.has(e) {
        return None;
    }
    let mut found = None;
    match &e.node {
        Node::Column(c) => return Some(c.name.to_string()),
        Node::Window(i) => {
            let f = windows.and_then(|w| w.functions.get(*i as usize));
            let mut inputs = f.into_iter().flat_map(|f| f.function.inputs());
            found = inputs.find_map(|x| not_kept(x, kept, windows));
        }
        _ => e.each_child(&mut |x| {
            if found.is_none() {
                found = not_kept(x, kept, windows);
            }
        }),
    }
    found
}

/// Checks that DISTINCT keeps what ORDER BY reads.
///
/// # Errors
/// 3065.
pub(crate) fn check_distinct(
    items: &[Item<'_>],
    order: &[SortKey],
    windows: Option<&Windows>,
) -> Result<(), SqlError> {
    let kept = Known::of(items.iter().map(|i| &i.expr));
    for (i, k) in order.iter().enumerate() {
        if let Some(name) = not_kept(&k.expr, &kept, windows) {
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
