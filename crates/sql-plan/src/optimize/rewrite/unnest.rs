//! Subqueries of WHERE as joins: `EXISTS`, `IN` and their negations become *semi-joins* and *anti-joins*, whose tables stand beside those
//! of the block and take part in the order of its joins.
//!
//! A subquery that is a plain join gives its tables and conditions; one with groups, DISTINCT, LIMIT or a set operation, which does not
//! read the rows around, becomes a derived table. Where at most one row can match, a semi-join is an inner join. As in MySQL's manual,
//! "Optimizing IN and EXISTS Subquery Predicates with Semijoin Transformations"; the anti-join of NOT IN only where neither side can be
//! NULL. `> ALL`, `< ANY` and the like are such joins as well ([`quantified`](crate::optimize::rewrite::quantified)).

use engine::IndexKind;

use crate::bind::from::{Cond, Nest, NestKind};
use crate::bind::hinted::Strategies;
use crate::bind::places::Places;
use crate::bind::reads::{self, tables_of};
use crate::bind::scope::{DerivedColumn, FromTable};
use crate::bind::source::TableSource;
use crate::bind::tree::{Body, BoundBlock, BoundQuery, BoundSub};
use crate::optimize::hints::carried;
use crate::optimize::rewrite::quantified::RowTest;
use sql_expr::vars::Switches;
use sql_expr::{CmpOp, Comparer, Expr, ExprType, Node, index_comparable};

/// Most tables of a block that it grows to.
const MOST_TABLES: usize = 20;

/// What a condition of WHERE asks of a subquery.
struct Asked {
    subquery: usize,
    /// The rows must not be there.
    negated: bool,
    /// What is compared with the subquery's columns, one by one; `None` for EXISTS.
    compared: Option<(Vec<Expr>, Vec<Comparer>)>,
    /// What each row is asked, where that is not whether it is equal.
    order: Option<RowTest>,
}

fn asked(e: &Expr) -> Option<Asked> {
    match &e.node {
        Node::Exists(i) => Some(Asked {
            subquery: *i as usize,
            negated: false,
            compared: None,
            order: None,
        }),
        Node::Not(x) => {
            let inner = asked(x)?;
            Some(Asked {
                negated: !inner.negated,
                order: inner.order.map(RowTest::denied),
                ..inner
            })
        }
        Node::Quantified(q) => {
            let (negated, order) = match (q.op, q.all) {
                (CmpOp::Eq, false) => (false, None),
                (CmpOp::Ne, true) => (true, None),
                _ => (q.all, Some(RowTest::of(q.op, q.all)?)),
            };
            let left = match &q.expr.node {
                Node::Row(parts) => parts.clone(),
                _ => vec![q.expr.clone()],
            };
            (left.len() == q.comparers.len()).then(|| Asked {
                subquery: q.subquery as usize,
                negated,
                compared: Some((left, q.comparers.clone())),
                order,
            })
        }
        _ => None,
    }
}

/// Turns the subqueries of a block's WHERE into joins, where that keeps the meaning. `slot` takes a new slot; `comes_again` says whether
/// the columns that a subquery reads from around have few different values.
pub(crate) fn unnest(
    block: &mut BoundBlock,
    switches: Switches,
    comes_again: &dyn Fn(&BoundBlock, &BoundSub) -> bool,
    slot: &mut dyn FnMut() -> Option<u16>,
) {
    if block.subqueries.is_empty() || block.tables.is_empty() || block.straight {
        return;
    }
    if block.tables.iter().any(|t| t.lateral.is_some()) {
        // Its rows are made again, and their numbers do not tell them apart.
        return;
    }
    let mut gone = vec![false; block.subqueries.len()];
    let mut at = 0;
    while at < block.joins.conds.len() {
        let c = &block.joins.conds[at];
        let found = if c.nest == 0 { asked(&c.expr) } else { None };
        let found = found.filter(|a| {
            let sub = &block.subqueries[a.subquery];
            a.order.is_none() || sub.correlated && !comes_again(block, sub)
        });
        match found.filter(|a| !gone[a.subquery]) {
            Some(a) if is_asked_once(block, a.subquery) => {
                let number = a.subquery;
                if join(block, a, switches, slot) {
                    block.joins.conds.remove(at);
                    gone.resize(block.subqueries.len(), false);
                    gone[number] = true;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    forget(block, &gone);
}

/// Whether nothing but one condition uses a subquery.
pub(crate) fn is_asked_once(block: &mut BoundBlock, number: usize) -> bool {
    let mut uses = 0;
    each_own_expr(block, &mut |e| {
        e.walk(&mut |x| {
            uses += usize::from(subquery_of(x) == Some(number as u32));
            true
        });
    });
    uses == 1
}

pub(crate) fn subquery_of(e: &Expr) -> Option<u32> {
    match &e.node {
        Node::Subquery(i) | Node::Exists(i) => Some(*i),
        Node::Quantified(q) => Some(q.subquery),
        _ => None,
    }
}

/// Calls `f` with the expressions of a block itself, those of its queries left out.
pub(crate) fn each_own_expr(block: &mut BoundBlock, f: &mut dyn FnMut(&mut Expr)) {
    block.joins.conds.iter_mut().for_each(|c| f(&mut c.expr));
    if let Some(g) = &mut block.group {
        g.keys.iter_mut().for_each(&mut *f);
        for a in &mut g.aggregates {
            a.args.iter_mut().for_each(&mut *f);
            a.order_by.iter_mut().for_each(|(e, _)| f(e));
        }
    }
    if let Some(w) = &mut block.windows {
        w.exprs_mut().into_iter().for_each(&mut *f);
    }
    block.having.iter_mut().for_each(&mut *f);
    block.output.iter_mut().for_each(&mut *f);
    block.order.iter_mut().for_each(|k| f(&mut k.expr));
}

/// Gives the subqueries of an expression the numbers of `to`.
pub(crate) fn renumber(e: &mut Expr, to: &dyn Fn(u32) -> u32) {
    match &mut e.node {
        Node::Subquery(i) | Node::Exists(i) => *i = to(*i),
        Node::Quantified(q) => q.subquery = to(q.subquery),
        _ => {}
    }
    e.each_child_mut(&mut |x| renumber(x, to));
}

/// Takes the subqueries out that are joins now.
fn forget(block: &mut BoundBlock, gone: &[bool]) {
    if !gone.contains(&true) {
        return;
    }
    let mut numbers = Vec::with_capacity(gone.len());
    let mut next = 0;
    for g in gone {
        numbers.push(next);
        next += u32::from(!g);
    }
    each_own_expr(block, &mut |e| renumber(e, &|i| numbers[i as usize]));
    let mut at = 0;
    block.subqueries.retain(|_| {
        at += 1;
        !gone[at - 1]
    });
}

/// Joins the rows of a subquery; `false` where it has to stay what it is.
fn join(
    block: &mut BoundBlock,
    a: Asked,
    switches: Switches,
    slot: &mut dyn FnMut() -> Option<u16>,
) -> bool {
    let places = Places::new(block.base, block.tables.iter().map(|t| t.slot));
    let sub = &block.subqueries[a.subquery];
    if a.negated
        && a.order.is_none()
        && let Some((left, _)) = &a.compared
        && left
            .iter()
            .chain(&[])
            .map(|e| &e.ty)
            .chain(&sub.query.types)
            .any(|t| t.nullable)
    {
        return false;
    }
    let plain = |e: &Expr| {
        !e.any(&|x| match &x.node {
            Node::AssignVar(..) | Node::UserVar(_) => true,
            Node::Call(c) => c.def.volatile() || c.def.special(),
            _ => subquery_of(x).is_some(),
        })
    };
    let left_reads = a
        .compared
        .iter()
        .flat_map(|c| &c.0)
        .fold(0, |m, e| m | tables_of(e, &places, &block.subqueries));
    if !a.compared.iter().flat_map(|c| &c.0).all(plain) {
        return false;
    }
    let (strategies, once) = match &sub.query.body {
        Body::Block(b) => (b.strategies(switches), b.hints.subquery),
        _ if switches.semijoin() => (Strategies::ALL, None),
        _ => (Strategies::default(), None),
    };
    let merges = mergeable(&sub.query);
    let apart = !sub.correlated
        && a.compared.is_some()
        && a.order.is_none()
        && !locks(&sub.query)
        && left_reads != 0
        && match once {
            Some(once) => once,
            None => strategies.has(Strategies::MATERIALIZATION),
        };
    let only = strategies == Strategies::MATERIALIZATION || once.is_some();
    if merges && !strategies.is_empty() && !(apart && only) {
        return merge(block, a, &places, strategies);
    }
    // Its rows are kept: they are looked up for each combination.
    let strategies = match only {
        true => Strategies::MATERIALIZATION,
        false => strategies.with(Strategies::MATERIALIZATION),
    };
    apart && (!merges || only) && materialize(block, a, left_reads, strategies, slot)
}

/// Whether a query has the same rows each time, as long as what it reads from around is the same, and does nothing beside.
pub(crate) fn is_steady(q: &BoundQuery) -> bool {
    let mut steady = !locks(q);
    reads::each_expr(q, &mut |e| {
        steady &= !e.any(&|x| match &x.node {
            Node::AssignVar(..) | Node::UserVar(_) => true,
            Node::Call(c) => c.def.volatile() || c.def.special(),
            _ => false,
        });
    });
    steady
}

fn locks(q: &BoundQuery) -> bool {
    match &q.body {
        Body::Block(b) => {
            b.locks.iter().any(Option::is_some)
                || b.derived.iter().any(locks)
                || b.subqueries.iter().any(|s| locks(&s.query))
        }
        Body::Rows(..) | Body::Feed(_) | Body::Json(_) => false,
        Body::Set(first, arms) => locks(first) || arms.iter().any(|a| locks(&a.query)),
        Body::Recursive(r) => locks(&r.seed) || r.members.iter().any(locks),
    }
}

/// Whether a subquery is nothing but a join.
fn mergeable(q: &BoundQuery) -> bool {
    let Body::Block(b) = &q.body else {
        return false;
    };
    let asks = |e: &Expr| e.any(&|x| subquery_of(x).is_some());
    is_steady(q)
        && q.order.is_empty()
        && q.limit.is_none()
        && !b.tables.is_empty()
        && b.group.is_none()
        && b.having.is_none()
        && b.windows.is_none()
        && b.limit.is_none()
        && !b.straight
        && !b.calc_found_rows
        && b.locks.iter().all(Option::is_none)
        && b.tables.iter().all(|t| t.lateral.is_none())
        // A table in it would read of the block what is around it now.
        && b.derived.iter().all(|q| q.lowest == u16::MAX)
        && !b.output.iter().any(asks)
}

fn equality(left: Expr, right: Expr, comparer: Comparer) -> Expr {
    let nullable = left.ty.nullable || right.ty.nullable;
    Expr {
        node: Node::Compare(CmpOp::Eq, comparer, Box::new([left, right])),
        ty: ExprType::truth(nullable),
    }
}

/// A semi-join or an anti-join more, behind the tables of `needs`; its number.
fn new_nest(block: &mut BoundBlock, negated: bool, needs: u64, strategies: Strategies) -> u16 {
    block.joins.nests.push(Nest {
        kind: match negated {
            true => NestKind::Anti,
            false => NestKind::Semi,
        },
        parent: 0,
        needs,
        strategies,
    });
    block.joins.nests.len() as u16 - 1
}

/// Brings the tables and conditions of a subquery into the block.
fn merge(block: &mut BoundBlock, a: Asked, places: &Places, strategies: Strategies) -> bool {
    let Body::Block(inner) = &mut block.subqueries[a.subquery].query.body else {
        return false;
    };
    if block.tables.len() + inner.tables.len() > MOST_TABLES {
        return false;
    }
    // What the conditions read of the block's own tables decides what must come before.
    let reads = |e: &Expr| tables_of(e, places, &inner.subqueries) & !(1 << 63);
    let mut needs = inner.joins.conds.iter().fold(0, |m, c| m | reads(&c.expr));
    if let Some((left, _)) = &a.compared {
        // A subquery's column may be one from outside.
        let both = left.iter().chain(&inner.output);
        needs = both.fold(needs, |m, e| m | reads(e));
    }
    if needs == 0 {
        return false;
    }
    // What its own nests read of them: their conditions may look past the subquery.
    let outside = |n: usize| {
        let conds = inner.joins.conds.iter();
        let conds = conds.filter(|c| inner.joins.is_within(c.nest, n as u16));
        conds.fold(0, |m, c| m | reads(&c.expr))
    };
    let outside: Vec<u64> = (0..inner.joins.nests.len()).map(outside).collect();
    let mut inner = std::mem::replace(&mut **inner, BoundBlock::empty(0));
    block.base = block.base.min(inner.base);
    let first = block.tables.len();
    let subqueries = block.subqueries.len() as u32;
    for c in &mut inner.joins.conds {
        renumber(&mut c.expr, &|i| i + subqueries);
    }
    let mut conds = inner.joins.conds;
    if let Some((left, comparers)) = a.compared {
        let right = inner.output.into_iter();
        for ((l, r), c) in left.into_iter().zip(right).zip(comparers) {
            let expr = match a.order {
                None => equality(l, r, c),
                Some(test) => test.condition(a.negated, l, r, c),
            };
            conds.push(Cond { expr, nest: 0 });
        }
    }
    let single = !a.negated
        && inner.tables.len() == 1
        && has_one_row(&inner.tables[0], &conds, |i| {
            let sub = i.checked_sub(subqueries);
            let sub = sub.and_then(|i| inner.subqueries.get(i as usize));
            sub.is_none_or(|s| s.outer.iter().any(|o| o.0 == inner.tables[0].slot))
        });
    let own = match single {
        true => 0,
        false => new_nest(block, a.negated, needs, strategies),
    };
    // The nests of the subquery come behind; its first is the new one.
    let more = block.joins.nests.len() as u16;
    let moved = |n: u16| if n == 0 { own } else { n - 1 + more };
    for (n, outside) in inner.joins.nests.into_iter().zip(outside).skip(1) {
        block.joins.nests.push(Nest {
            parent: moved(n.parent),
            needs: n.needs << first | outside,
            kind: n.kind,
            strategies: n.strategies,
        });
    }
    block
        .joins
        .nest_of
        .extend(inner.joins.nest_of.iter().map(|n| moved(*n)));
    block
        .joins
        .after
        .extend(inner.joins.after.iter().map(|m| m << first));
    block.joins.conds.extend(conds.into_iter().map(|c| Cond {
        nest: moved(c.nest),
        expr: c.expr,
    }));
    let derived = block.derived.len() as u32;
    for mut t in inner.tables {
        if let TableSource::Derived(n) = &mut t.source {
            *n += derived;
        }
        block.tables.push(t);
    }
    block.hints.orders.extend(carried(inner.hints.orders));
    block.derived.extend(inner.derived);
    block.locks.resize(block.tables.len(), None);
    block.subqueries.extend(inner.subqueries);
    true
}

/// Whether equalities with values from outside leave at most one row of a table.
fn has_one_row(t: &FromTable, conds: &[Cond], reads_it: impl Fn(u32) -> bool) -> bool {
    let TableSource::Engine(table) = &t.source else {
        return false;
    };
    // What a subquery yields may depend on the row that is looked for.
    let own = |e: &Expr| {
        e.any(&|x| match &x.node {
            Node::Column(c) => c.slot == t.slot,
            _ => subquery_of(x).is_some_and(&reads_it),
        })
    };
    let fixed = |column: u16| {
        let ty = t.expr_type(usize::from(column));
        conds.iter().filter(|c| c.nest == 0).any(|c| {
            let Node::Compare(CmpOp::Eq, comparer, p) = &c.expr.node else {
                return false;
            };
            [(&p[0], &p[1]), (&p[1], &p[0])].into_iter().any(|(x, y)| {
                x.as_column()
                    .is_some_and(|k| (k.slot, k.ordinal) == (t.slot, column))
                    && !own(y)
                    && index_comparable(comparer, &ty)
            })
        })
    };
    table.def.indexes.iter().any(|i| {
        matches!(i.kind, IndexKind::Primary | IndexKind::Unique)
            && i.parts.iter().all(|p| p.prefix == 0 && fixed(p.column))
    })
}

/// Makes a derived table of a subquery that does not read the rows around it.
fn materialize(
    block: &mut BoundBlock,
    a: Asked,
    needs: u64,
    strategies: Strategies,
    slot: &mut dyn FnMut() -> Option<u16>,
) -> bool {
    let Some((left, comparers)) = a.compared else {
        return false;
    };
    if block.tables.len() >= MOST_TABLES {
        return false;
    }
    let Some(slot) = slot() else {
        return false;
    };
    let sub = &mut block.subqueries[a.subquery];
    let nothing = BoundQuery::of_block(BoundBlock::empty(0), Vec::new(), u16::MAX);
    let query = std::mem::replace(&mut sub.query, nothing);
    let column = |ty: &ExprType| DerivedColumn {
        name: "".into(),
        ty: *ty,
        of_function: false,
        data_type: ty.to_data_type(),
    };
    let mut t = FromTable::unnamed(slot, query.types.iter().map(column).collect());
    t.source = TableSource::Derived(block.derived.len() as u32);
    t.alias = format!("<subquery{}>", a.subquery + 2).into();
    // No two of its rows match where what tells them apart is what the comparison goes by.
    let told_apart = (0..)
        .zip(&comparers)
        .all(|(n, c)| index_comparable(c, &t.column_expr(n).ty));
    let nest = match !a.negated && told_apart && is_distinct(&query) {
        true => 0,
        false => new_nest(block, a.negated, needs, strategies),
    };
    for (n, (l, c)) in left.into_iter().zip(comparers).enumerate() {
        block.joins.conds.push(Cond {
            expr: equality(l, t.column_expr(n), c),
            nest,
        });
    }
    block.derived.push(query);
    block.tables.push(t);
    block.locks.push(None);
    block.joins.add_table(nest);
    true
}

/// Whether no two rows of a query are equal.
fn is_distinct(q: &BoundQuery) -> bool {
    let Body::Block(b) = &q.body else {
        return false;
    };
    if b.distinct {
        return true;
    }
    let Some(g) = &b.group else {
        return false;
    };
    let shown = crate::bind::group::Known::of(b.output.iter());
    g.keys.iter().all(|k| shown.has(k))
}
