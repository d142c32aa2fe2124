//! The joins of a block as a tree: steps follow each other, and those of an outer join, semi-join or anti-join are a part of their own.

use super::TableSource;
use super::block::{Block, TablePlan};
use super::op::{LateExpr, Step};
use super::tree::QueryPlan;
use crate::bind::nests::NestKind;
use crate::bind::tree::{Body, JsonRows};

/// A part of a block's joins.
pub(crate) enum Part<'p> {
    /// A step, by its place.
    Step(usize),
    /// The steps of a nest.
    Nest(Nest<'p>),
}

/// An outer join, semi-join or anti-join.
pub(crate) struct Nest<'p> {
    /// What it does with the combinations before it.
    pub kind: NestKind,
    /// Its first and last step.
    pub first: usize,
    pub last: usize,
    /// What is in it.
    pub parts: Vec<Part<'p>>,
    /// Conditions of the surroundings that are checked behind it.
    pub after: &'p [LateExpr],
}

/// The parts of a block, in the order they are read.
pub(crate) fn parts(block: &Block) -> Vec<Part<'_>> {
    // Outermost first.
    let mut nests: Vec<(usize, usize, usize)> = Vec::new();
    for (last, s) in block.join.steps.iter().enumerate() {
        for (i, n) in s.nests.iter().enumerate() {
            nests.push((usize::from(n.first), last, i));
        }
    }
    nests.sort_by_key(|&(first, last, i)| (first, std::cmp::Reverse((last, i))));
    match block.join.steps.len() {
        0 => Vec::new(),
        n => between(block, 0, n - 1, &mut nests),
    }
}

fn between<'p>(
    block: &'p Block,
    from: usize,
    to: usize,
    nests: &mut Vec<(usize, usize, usize)>,
) -> Vec<Part<'p>> {
    let mut out = Vec::new();
    let mut s = from;
    while s <= to {
        let Some(at) = nests.iter().position(|n| n.0 == s && n.1 <= to) else {
            out.push(Part::Step(s));
            s += 1;
            continue;
        };
        let (first, last, i) = nests.remove(at);
        let plan = &block.join.steps[last].nests[i];
        out.push(Part::Nest(Nest {
            kind: plan.kind,
            first,
            last,
            parts: between(block, first, last, nests),
            after: &plan.after,
        }));
        s = last + 1;
    }
    out
}

/// The number of a query's first block.
pub(crate) fn number(q: &QueryPlan) -> u32 {
    match &q.body {
        Body::Block(b) => b.number,
        Body::Rows(..) | Body::Feed(_) | Body::Json(_) => 0,
        Body::Set(first, _) => number(first),
        Body::Recursive(r) => number(&r.seed),
    }
}

/// Whether a table of a block is where a recursive query reads its own rows.
pub(crate) fn is_fed(b: &Block, t: &TablePlan) -> bool {
    let query = match t.source {
        TableSource::Derived(n) => b.derived.get(n as usize),
        _ => None,
    };
    query.is_some_and(|q| matches!(q.body, Body::Feed(_)))
}

/// The rows of JSON_TABLE, where a table of a block is one.
pub(crate) fn json_rows<'b>(b: &'b Block, t: &TablePlan) -> Option<&'b JsonRows> {
    let TableSource::Derived(n) = t.source else {
        return None;
    };
    match &b.derived.get(n as usize)?.body {
        Body::Json(rows) => Some(rows),
        _ => None,
    }
}

/// What the query of a derived table is called: one that is made for one key at a time as in MariaDB.
pub(crate) fn derived_kind(block: &Block, number: usize) -> &'static str {
    match is_lateral(block, number) {
        true if block.derived[number].lowest != u16::MAX => "DEPENDENT DERIVED",
        true => "LATERAL DERIVED",
        false => "DERIVED",
    }
}

/// Whether a derived table is made for one key at a time.
pub(crate) fn is_lateral(block: &Block, number: usize) -> bool {
    let source = |s: &Step| &block.tables[usize::from(s.table)].source;
    let own = |s: &&Step| matches!(source(s), TableSource::Derived(n) if *n as usize == number);
    { block.join.steps.iter() }
        .find(own)
        .is_some_and(|s| s.lateral.is_some())
}

/// Whether a block has no rows whatever is in its tables.
pub(crate) fn is_impossible(block: &Block) -> bool {
    block.join.constant.iter().any(|e| {
        e.as_const().is_some_and(|v| match v {
            sql_expr::Val::Null => true,
            sql_expr::Val::Int(n) => *n == 0,
            _ => false,
        })
    })
}
