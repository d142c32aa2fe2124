//! Whether rows can come out of an index in the order a query wants, so that nothing needs sorting; and whether the first row
//! of an index is all that MIN or MAX wants.

use std::sync::Arc;

use engine::{IndexKind, Table};

use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::optimize::conditions::{CondInfo, Request};
use crate::optimize::physical::access::{Choice, Paths};
use crate::plan::{Access, QueryPlan, RangeAccess, SortKey};
use sql_expr::agg::AggSpec;
use sql_expr::{Column, Expr, Node};
use sql_parser::ast::AggregateFunc;

/// The order of the tables and how each is read.
#[derive(Default)]
pub(crate) struct Ordered {
    /// Tables by place, in order.
    pub tables: Vec<usize>,
    /// How each is read, in that order.
    pub choices: Vec<Choice>,
}

impl Ordered {
    /// The queries of derived tables that are made for one key at a time, with the places of these.
    pub fn take_by_key(&mut self) -> Vec<(usize, QueryPlan)> {
        let all = self.tables.iter().zip(&mut self.choices);
        all.filter_map(|(t, c)| Some((*t, c.by_key.as_mut()?.query.take()?)))
            .collect()
    }
}

fn stored(t: &FromTable) -> Option<&Arc<Table>> {
    match &t.source {
        TableSource::Engine(t) => Some(t),
        _ => None,
    }
}

/// The columns of an index's entries in order, with their direction: its own parts, then the clustered key's.
fn entry_columns(t: &Table, index: usize) -> Vec<(u16, bool)> {
    let mut out: Vec<(u16, bool)> = Vec::new();
    for x in [index, 0] {
        let def = &t.def.indexes[x];
        if x == 0 && index == 0 && !out.is_empty() {
            break;
        }
        if def.kind == IndexKind::Hidden {
            break;
        }
        for p in &def.parts {
            if p.prefix != 0 {
                return out;
            }
            out.push((p.column, p.descending));
        }
    }
    out
}

/// The column of a table in whose own order an expression's values are. With COLLATE they may be in another.
pub(crate) fn ordered_column<'e>(e: &'e Expr, t: &Table, slot: u16) -> Option<&'e Column> {
    let c = e.as_column().filter(|c| c.slot == slot)?;
    let of = t.def.columns.get(usize::from(c.ordinal))?;
    let own = !matches!(e.node, Node::Collate(_)) || of.ty.collation() == e.ty.collation;
    own.then_some(c)
}

/// Whether an index whose first `equal` columns are fixed delivers the order; `Some(true)` backwards.
fn delivers(t: &Table, slot: u16, index: usize, equal: usize, order: &[SortKey]) -> Option<bool> {
    let columns = entry_columns(t, index);
    let fixed: Vec<u16> = columns.iter().take(equal).map(|c| c.0).collect();
    let mut at = equal.min(columns.len());
    let mut direction: Option<bool> = None;
    for k in order {
        let c = ordered_column(&k.expr, t, slot)?;
        if fixed.contains(&c.ordinal) || columns[..at].iter().any(|x| x.0 == c.ordinal) {
            continue;
        }
        while columns.get(at).is_some_and(|x| fixed.contains(&x.0)) {
            at += 1;
        }
        let &(column, descending) = columns.get(at)?;
        if column != c.ordinal {
            return None;
        }
        let backward = k.desc != descending;
        if *direction.get_or_insert(backward) != backward {
            return None;
        }
        at += 1;
    }
    Some(direction.unwrap_or(false))
}

fn everything(index: usize, backward: bool) -> Access {
    Access::Full { index, backward }
}

/// Tries to make the first table deliver the order that is asked for.
pub(crate) fn satisfy(req: &Request<'_>, paths: &[Paths<'_>], found: &mut Ordered) -> bool {
    if req.order.is_empty() {
        return true;
    }
    let Some(&first) = found.tables.first() else {
        return false;
    };
    let t = &req.tables[first];
    let (Some(table), 0) = (stored(t), req.joins.nest_of[first]) else {
        return false;
    };
    match &mut found.choices[0].access {
        Access::Get(_) => found.tables.len() == 1,
        Access::Range(r) if paths[first].orders(r.index).is_none() => false,
        Access::Range(r) => match delivers(table, t.slot, r.index, r.prefix.len(), req.order) {
            Some(backward) => {
                r.backward = backward;
                true
            }
            None => false,
        },
        Access::Full { .. } => {
            // The rows are in the order of the first index anyway.
            let limited = req.has_limit && req.switches.prefer_ordering_index();
            let candidates = (0..table.def.indexes.len()).filter(|&i| {
                let asked = paths[first].orders(i);
                i == 0 || asked.is_some_and(|forced| limited || forced)
            });
            for i in candidates {
                if let Some(b) = delivers(table, t.slot, i, 0, req.order) {
                    found.choices[0].access = everything(i, b);
                    return true;
                }
            }
            false
        }
        Access::Union(_) => false,
        Access::Nothing => true,
    }
}

/// Whether the rows of an index whose first `equal` columns are fixed come group by group. What the clustered key determines needs no place of
/// its own.
fn groups(t: &Table, slot: u16, index: usize, equal: usize, keys: &[Expr]) -> Option<()> {
    let columns: Vec<u16> = entry_columns(t, index).iter().map(|c| c.0).collect();
    let clustered: Vec<u16> = entry_columns(t, 0).iter().map(|c| c.0).collect();
    let mut at = equal.min(columns.len());
    let mut wanted = Vec::new();
    for k in keys {
        let c = ordered_column(k, t, slot)?.ordinal;
        if !columns[..at].contains(&c) && !wanted.contains(&c) {
            wanted.push(c);
        }
    }
    while !wanted.is_empty() {
        let before = &columns[..at];
        if !clustered.is_empty() && clustered.iter().all(|c| before.contains(c)) {
            break;
        }
        let column = columns.get(at)?;
        at += 1;
        if !columns[..at - 1].contains(column) {
            let place = wanted.iter().position(|w| w == column)?;
            wanted.remove(place);
        }
    }
    Some(())
}

/// More groups than that have no room in the processor's caches, and are found sooner one behind the other.
const MANY_GROUPS: f64 = 20_000.0;

/// Tries to make the first table deliver the rows of each group one behind the other, where that lets the statement end early or saves a large
/// table of groups; and in the order that is asked for, which is the answer.
pub(crate) fn satisfy_groups(
    req: &Request<'_>,
    paths: &[Paths<'_>],
    found: &mut Ordered,
) -> Option<bool> {
    let (keys, _) = req.group?;
    let &first = found.tables.first()?;
    let t = &req.tables[first];
    let table = stored(t).filter(|_| req.joins.nest_of[first] == 0 && !keys.is_empty())?;
    let fits = |index: usize, equal: usize| {
        groups(table, t.slot, index, equal, keys)?;
        let direction = delivers(table, t.slot, index, equal, req.group_order);
        let cheap = index == 0 || paths[first].covers(index) || !req.having;
        let early = req.has_limit && direction.is_some() && cheap;
        let alone = found.tables.len() == 1;
        let many = alone
            && (index == 0 || paths[first].covers(index))
            && paths[first].distinct_keys(index, equal, keys.len()) > MANY_GROUPS;
        (early || many).then_some(direction)
    };
    match &mut found.choices[0].access {
        Access::Range(r) if paths[first].orders(r.index).is_some() => {
            let direction = fits(r.index, r.prefix.len())?;
            r.backward = direction.unwrap_or(false);
            Some(direction.is_some())
        }
        Access::Full { .. } => {
            let limited = req.has_limit && req.switches.prefer_ordering_index();
            let (index, direction) = (0..table.def.indexes.len())
                .filter(|&i| {
                    let usable = paths[first].groups(i) && paths[first].orders(i).is_some();
                    i == 0 || usable && (limited || paths[first].covers(i))
                })
                .find_map(|i| Some((i, fits(i, 0)?)))?;
            found.choices[0].access = everything(index, direction.unwrap_or(false));
            Some(direction.is_some())
        }
        _ => None,
    }
}

/// Tries to make the only table deliver rows with equal arguments of DISTINCT one behind the other, where that saves a large set of values: the
/// aggregates, by place, for which it does. The others do not care.
pub(crate) fn satisfy_distinct(
    req: &Request<'_>,
    paths: &[Paths<'_>],
    found: &mut Ordered,
) -> Vec<usize> {
    let (Some(([], aggregates)), [first]) = (req.group, &found.tables[..]) else {
        return Vec::new();
    };
    let t = &req.tables[*first];
    let Some(table) = stored(t).filter(|_| req.joins.nest_of[*first] == 0) else {
        return Vec::new();
    };
    let argument = |a: &AggSpec| match &a.args[..] {
        [only] if a.distinct => Some(ordered_column(only, table, t.slot)?.ordinal),
        _ => None,
    };
    let Some(column) = aggregates.iter().find_map(argument) else {
        return Vec::new();
    };
    let paths = &paths[*first];
    let fits = |index: usize, equal: usize| {
        let own = entry_columns(table, index)
            .get(equal)
            .is_some_and(|c| c.0 == column);
        let read = index == 0 || paths.covers(index);
        own && read && paths.distinct_keys(index, equal, 1) > MANY_GROUPS
    };
    let delivers = match &mut found.choices[0].access {
        Access::Range(r) => {
            let plain = r.arms.is_empty() && r.points.is_empty();
            plain && paths.orders(r.index).is_some() && fits(r.index, r.prefix.len())
        }
        Access::Full { index, backward } => {
            let usable = |i: &usize| *i == 0 || paths.groups(*i) && paths.orders(*i).is_some();
            let all = 0..table.def.indexes.len();
            let fit = all.filter(usable).find(|i| fits(*i, 0));
            if let Some(i) = fit {
                (*index, *backward) = (i, false);
            }
            fit.is_some()
        }
        _ => false,
    };
    let same = |(_, a): &(usize, &AggSpec)| delivers && argument(a) == Some(column);
    let all = aggregates.iter().enumerate();
    all.filter(same).map(|(n, _)| n).collect()
}

/// Recognises `SELECT MIN(c) FROM t` (and MAX) where the first row of an index holds the answer.
pub(crate) fn first_of_index(
    req: &Request<'_>,
    paths: &[Paths<'_>],
    conds: &[CondInfo],
    found: &mut Ordered,
) -> Option<u64> {
    let (keys, aggregates) = req.group?;
    let ([], [agg], [first]) = (keys, aggregates, &found.tables[..]) else {
        return None;
    };
    let max = match agg.func {
        AggregateFunc::Max => true,
        AggregateFunc::Min => false,
        _ => return None,
    };
    let t = &req.tables[*first];
    let table = stored(t)?;
    let column = ordered_column(agg.args.first()?, table, t.slot)?;
    let choice = &mut found.choices[0];
    if choice.used.len() != conds.len() {
        return None;
    }
    let nullable = table.def.columns[usize::from(column.ordinal)].nullable;
    let part_of = |index: usize, at: usize| {
        let p = table.def.indexes[index].parts.get(at)?;
        (p.column == column.ordinal && p.prefix == 0).then_some(p.descending)
    };
    match &mut choice.access {
        Access::Range(r) if r.points.is_empty() && r.arms.is_empty() => {
            let descending = part_of(r.index, r.prefix.len())?;
            r.backward = max != descending;
            r.not_null = nullable;
            Some(1)
        }
        Access::Full { .. } if conds.is_empty() => {
            let (index, descending) = (0..table.def.indexes.len())
                .filter(|&i| paths[*first].allows(i))
                .find_map(|i| Some((i, part_of(i, 0)?)))?;
            choice.access = Access::Range(Box::new(RangeAccess {
                index,
                not_null: nullable,
                backward: max != descending,
                ..RangeAccess::default()
            }));
            Some(1)
        }
        _ => None,
    }
}
