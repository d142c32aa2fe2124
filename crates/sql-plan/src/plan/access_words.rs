//! How EXPLAIN FORMAT=TREE says what is done: parts of indexes, orders, limits.

use super::op::{Beginning, KeyExpr, RangeAccess};
use super::tree::QueryPlan;
use crate::bind::tree::{Body, LimitPlan, SortKey};
use engine::Table;
use sql_expr::{Expr, Val};

pub(super) fn join_name(kind: &str) -> &str {
    match kind {
        "inner" => "inner join",
        "left" => "left join",
        "semi" => "semijoin",
        _ => "antijoin",
    }
}

/// What is done to have the rows of a derived table.
pub(super) fn materialize_text(q: &QueryPlan, name: &str, by_key: bool) -> String {
    match &q.body {
        Body::Recursive(r) if r.distinct => {
            format!("Materialize recursive CTE {name} with deduplication")
        }
        Body::Recursive(_) => format!("Materialize recursive CTE {name}"),
        _ if by_key => "Materialize (invalidate on other keys)".to_owned(),
        _ => "Materialize".to_owned(),
    }
}

pub(super) fn sort_text(
    keys: &[SortKey],
    text: &dyn Fn(&Expr) -> String,
    limit: Option<&LimitPlan>,
) -> String {
    let key = |k: &SortKey| {
        let e = text(&k.expr);
        if k.desc { format!("{e} DESC") } else { e }
    };
    let all: Vec<String> = keys.iter().map(key).collect();
    let number = |e: &Expr| match e.as_const() {
        Some(Val::Int(n)) => u64::try_from(*n).ok(),
        Some(Val::Uint(n)) => Some(*n),
        _ => None,
    };
    let most = limit.and_then(|l| {
        let skipped = match &l.offset {
            Some(o) => number(o)?,
            None => 0,
        };
        number(&l.count)?.checked_add(skipped)
    });
    let most = most.map_or(String::new(), |n| {
        format!(", limit input to {n} row(s) per chunk")
    });
    format!("Sort: {}{most}", all.join(", "))
}

pub(super) fn limit_text(
    count: &Expr,
    offset: Option<&Expr>,
    text: &dyn Fn(&Expr) -> String,
) -> String {
    match offset {
        Some(o) => format!("Limit/Offset: {}/{} row(s)", text(count), text(o)),
        None => format!("Limit: {} row(s)", text(count)),
    }
}

/// What a plan calls a column: a functional key part by its expression.
pub(super) fn shown_name(table: &Table, column: u16) -> &str {
    let c = &table.def.columns[usize::from(column)];
    c.key_expression().unwrap_or(&c.name)
}

/// `column=value` of the leading parts of an index.
pub(super) fn equal(
    table: &Table,
    index: usize,
    keys: &[KeyExpr],
    text: &dyn Fn(&Expr) -> String,
) -> Vec<String> {
    let parts = &table.def.indexes[index].parts;
    let one = |(p, k): (&engine::IndexPart, &KeyExpr)| {
        let column = shown_name(table, p.column);
        format!("{column}={}", text(&k.expr))
    };
    parts.iter().zip(keys).map(one).collect()
}

/// The part of an index that a range is.
pub(super) fn range_text(table: &Table, r: &RangeAccess, text: &dyn Fn(&Expr) -> String) -> String {
    if !r.arms.is_empty() {
        let arms: Vec<String> = r.arms.iter().map(|a| range_text(table, a, text)).collect();
        return arms.join(" OR ");
    }
    let parts = &table.def.indexes[r.index].parts;
    let column = |i: usize| {
        let p = parts.get(i);
        p.map_or("", |p| shown_name(table, p.column))
    };
    let mut all: Vec<String> = r
        .prefix
        .iter()
        .enumerate()
        .map(|(i, k)| format!("{} = {}", column(i), text(&k.expr)))
        .collect();
    let next = column(r.prefix.len());
    if !r.points.is_empty() {
        let point = |k: &KeyExpr| {
            let last = format!("{next} = {}", text(&k.expr));
            let words: Vec<String> = all.iter().cloned().chain([last]).collect();
            format!("({})", words.join(" AND "))
        };
        let points: Vec<String> = r.points.iter().map(point).collect();
        return points.join(" OR ");
    }
    let sign = |inside: bool| if inside { "<=" } else { "<" };
    let begin = r.begins.as_ref().map(|b| match b {
        Beginning::Text(b) => format!("'{}' <= ", String::from_utf8_lossy(b)),
        Beginning::Pattern(l) => format!("{} <= ", text(&l.pattern)),
    });
    let low = match &r.low {
        Some((k, inside)) => Some(format!("{} {} ", text(&k.expr), sign(*inside))),
        None if begin.is_some() => begin,
        None if r.high.is_some() || r.not_null => Some("NULL < ".to_owned()),
        None => None,
    };
    let high = r
        .high
        .as_ref()
        .map(|(k, inside)| format!(" {} {}", sign(*inside), text(&k.expr)));
    if low.is_some() || high.is_some() {
        all.push(format!(
            "{}{next}{}",
            low.unwrap_or_default(),
            high.unwrap_or_default()
        ));
    }
    format!("({})", all.join(" AND "))
}
