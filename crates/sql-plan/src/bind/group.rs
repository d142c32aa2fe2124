//! Grouped queries: the ONLY_FULL_GROUP_BY check. A column may stand outside aggregates if the grouping columns determine it:
//! functional dependence as MySQL sees it (the manual, "MySQL Handling of
//! GROUP BY"; the rules are those of its `aggregate_check`, after SQL:2016, 4.24).
//!
//! - A key that is unique and not NULL determines its table. So it does where its table is extended with NULLs.
//! - An equality of WHERE or of an inner join determines a column by what it is compared with, where these are equal in one way only.
//! - An equality of an outer join determines a column of the inner side, where all columns that its condition reads of the other are
//!   determined: then it is known whether there is a match.
//! - A generated column is determined by the columns that it is computed from.
//! - A column of a derived table or view is determined as it is in its query.

use std::collections::HashSet;

use engine::IndexKind;
use types::SqlError;
use types::error::codes;

pub(crate) use super::known::{Known, written};
use super::names::Names;
use super::nests::{Cond, Joins, NestKind};
use super::row_rules::columns_read;
use super::scope::FromTable;
use super::select::Item;
use super::source::TableSource;
use super::tree::{Body, BoundBlock, BoundQuery, BoundSub, SortKey};
use super::window_tree::Windows;
use sql_expr::{CmpOp, Comparer, Expr, Node};

/// Columns that are known to be determined, by slot and place.
pub(super) type Determined = HashSet<(u16, u16)>;

/// Those that are columns.
pub(super) fn columns_among<'e>(all: impl IntoIterator<Item = &'e Expr>) -> Determined {
    let columns = all.into_iter().filter_map(Expr::as_column);
    columns.map(|c| (c.slot, c.ordinal)).collect()
}

/// The tables of a block, and how they are joined.
pub(super) struct Tables<'a> {
    /// The tables.
    pub tables: &'a [FromTable],
    /// The joins and conditions.
    pub joins: &'a Joins,
    /// The queries of derived tables.
    pub derived: &'a [BoundQuery],
}

impl Tables<'_> {
    /// Adds what the columns determine that are known.
    pub(super) fn complete(&self, known: &mut Determined) {
        loop {
            let before = known.len();
            for c in &self.joins.conds {
                self.by_condition(c, known);
            }
            for t in self.tables {
                match &t.source {
                    TableSource::Engine(_) => by_keys(t, known),
                    TableSource::Derived(n) => {
                        if let Some(q) = self.derived.get(*n as usize) {
                            by_query(t, q, known);
                        }
                    }
                    TableSource::Virtual(_) => {}
                }
            }
            if known.len() == before {
                return;
            }
        }
    }

    /// The place of the table that a slot is of.
    fn place(&self, slot: u16) -> Option<usize> {
        self.tables.iter().position(|t| t.slot == slot)
    }

    fn by_condition(&self, c: &Cond, known: &mut Determined) {
        let Node::Compare(CmpOp::Eq, comparer, p) = &c.expr.node else {
            return;
        };
        let outer = c.nest != 0;
        if outer && !self.is_decided(c.nest, known) {
            return;
        }
        for (x, y) in [(&p[0], &p[1]), (&p[1], &p[0])] {
            let Node::Column(col) = &x.node else {
                continue;
            };
            let inside = || {
                let place = self.place(col.slot);
                place.is_some_and(|t| self.joins.is_within(self.joins.nest_of[t], c.nest))
            };
            if is_exact(comparer, x) && (!outer || inside()) && is_fixed(y, known) {
                known.insert((col.slot, col.ordinal));
            }
        }
    }

    /// Whether what is determined says whether an outer join and those around it find a match.
    fn is_decided(&self, mut nest: u16, known: &Determined) -> bool {
        while nest != 0 {
            match self.joins.nests.get(usize::from(nest)) {
                Some(n) if n.parent != nest && self.is_own_decided(nest, known) => nest = n.parent,
                _ => return false,
            }
        }
        true
    }

    /// The same of one: so it is where its conditions read nothing else of the tables around it.
    fn is_own_decided(&self, nest: u16, known: &Determined) -> bool {
        let joins = self.joins;
        let Some(n) = joins.nests.get(usize::from(nest)) else {
            return false;
        };
        let own = |slot: u16| {
            let place = self.place(slot);
            place.is_none_or(|t| joins.is_within(joins.nest_of[t], nest))
        };
        let decided = |e: &Expr| {
            !e.any(&|x| match &x.node {
                Node::Column(c) => !own(c.slot) && !known.contains(&(c.slot, c.ordinal)),
                x => varies(x),
            })
        };
        let conds = joins.conds.iter().filter(|c| c.nest == nest);
        n.kind == NestKind::Outer && { conds }.all(|c| decided(&c.expr))
    }
}

/// Whether a column that compares equal to a value has one value only.
fn is_exact(comparer: &Comparer, column: &Expr) -> bool {
    match comparer {
        Comparer::Text(collation) => *collation == column.ty.collation,
        // Many texts are one number or one time.
        _ => !column.ty.is_text(),
    }
}

/// Whether a part of an expression is not the same each time, or not known here.
fn varies(node: &Node) -> bool {
    match node {
        Node::Aggregate(_) | Node::AssignVar(..) => true,
        Node::Subquery(_) | Node::Exists(_) | Node::Quantified(_) => true,
        Node::Call(c) => c.def.volatile() || c.def.special(),
        _ => false,
    }
}

/// Whether an expression has one value where the columns that are known have.
fn is_fixed(e: &Expr, known: &Determined) -> bool {
    !e.any(&|x| match &x.node {
        Node::Column(c) => !known.contains(&(c.slot, c.ordinal)),
        x => varies(x),
    })
}

/// By unique keys and generated columns.
fn by_keys(t: &FromTable, known: &mut Determined) {
    let TableSource::Engine(table) = &t.source else {
        return;
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

/// By the query of a derived table.
fn by_query(t: &FromTable, q: &BoundQuery, known: &mut Determined) {
    let Body::Block(b) = &q.body else {
        return;
    };
    let of_block = |i: usize| known.contains(&(t.slot, i as u16));
    // A table that is extended with NULLs has one row more than its query: a column that may be NULL does not tell it from others.
    let tells = |e: &Expr| !t.outer_joined || !e.ty.nullable;
    let own = { b.output.iter().enumerate() }.filter(|(i, e)| of_block(*i) && tells(e));
    let own: Vec<&Expr> = own.map(|(_, e)| uncoerced(e)).collect();
    if own.is_empty() && t.outer_joined {
        return;
    }
    let whole = Known::of(own.iter().copied());
    let mut inner = columns_among(own);
    let grouped = match &b.group {
        None => None,
        Some(g) if g.rollup.is_some() => return,
        Some(g) => Some(&g.keys),
    };
    let from = Tables {
        tables: &b.tables,
        joins: &b.joins,
        derived: &b.derived,
    };
    from.complete(&mut inner);
    let all = grouped.is_some_and(|keys| keys.iter().all(|k| whole.has(k) || is_fixed(k, &inner)));
    for (i, e) in b.output.iter().enumerate() {
        if all || is_known(uncoerced(e), &whole, &inner, b) {
            known.insert((t.slot, i as u16));
        }
    }
}

/// Whether a select item has one value where what is known of its block has.
fn is_known(e: &Expr, whole: &Known, inner: &Determined, b: &BoundBlock) -> bool {
    // What a block reads of those around it is one value for all of its rows.
    let around = |slot: u16| slot < b.base;
    whole.has(e)
        || !e.any(&|x| match &x.node {
            Node::Column(c) => !around(c.slot) && !inner.contains(&(c.slot, c.ordinal)),
            x => varies(x),
        })
}

fn uncoerced(e: &Expr) -> &Expr {
    match &e.node {
        Node::Coerce(inner) => inner,
        _ => e,
    }
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

/// Checks a grouped query. With ROLLUP nothing follows from a grouping value, which may be NULL for what differs: there is no `from` then.
///
/// # Errors
/// 1055, and 1140 without GROUP BY.
pub(super) fn check(
    names: &Names<'_>,
    from: Option<&Tables<'_>>,
    keys: &[Expr],
    late: &Late<'_>,
    subqueries: &[BoundSub],
) -> Result<(), SqlError> {
    let mut known = columns_among(keys);
    if let Some(from) = from {
        from.complete(&mut known);
    }
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
