//! Tables of outer joins that nothing reads, and of which at most one row can match: the rows are the same without them.
//!
//! Queries that programs and views write are full of them. As Kim, "On optimizing an SQL-like nested query" (1982), has it for semi-joins, and as
//! MariaDB's "table elimination".

use engine::IndexKind;

use crate::bind::from::{Cond, NestKind};
use crate::bind::reads::columns_of;
use crate::bind::source::TableSource;
use crate::bind::tree::BoundBlock;
use crate::optimize::physical::range::{Sarg, sarg};
use crate::optimize::rewrite::unnest::subquery_of;
use sql_expr::{Expr, Node};

/// Takes out the tables of outer joins that are not needed.
pub(crate) fn remove(b: &mut BoundBlock) {
    let mut n = 1;
    while n < b.joins.nests.len() {
        match alone(b, n as u16).filter(|p| is_unread(b, n as u16, *p)) {
            Some(place) => {
                take_out(b, n as u16, place);
                // What was around it may be alone now.
                n = 1;
            }
            None => n += 1,
        }
    }
}

/// The place of the only table of an outer join, where at most one row of it can match.
fn alone(b: &BoundBlock, n: u16) -> Option<usize> {
    let nest = &b.joins.nests[usize::from(n)];
    if nest.kind != NestKind::Outer || nest.parent == n {
        return None;
    }
    let mut within = (0..b.tables.len()).filter(|&t| b.joins.is_within(b.joins.nest_of[t], n));
    let (place, None) = (within.next()?, within.next()) else {
        return None;
    };
    let from = &b.tables[place];
    let TableSource::Engine(table) = &from.source else {
        return None;
    };
    if b.locks[place].is_some() || b.joins.nest_of[place] != n {
        return None;
    }
    let own: Vec<&Expr> = conds(b, n).map(|c| &c.expr).collect();
    let acts = |e: &&Expr| {
        e.any(&|x| match &x.node {
            Node::AssignVar(..) => true,
            Node::Call(c) => c.def.volatile() || c.def.special(),
            _ => subquery_of(x).is_some(),
        })
    };
    if own.iter().any(acts) {
        return None;
    }
    let foreign = |e: &Expr| !e.any(&|x| matches!(&x.node, Node::Column(c) if c.slot == from.slot));
    let one = |column: u16| {
        let def = &table.def.columns[usize::from(column)];
        let ty = from.expr_type(usize::from(column));
        own.iter()
            .any(|e| match sarg(e, (from.slot, column), &ty, &foreign) {
                Some(Sarg::Equal(_, null_safe)) => !null_safe || !def.nullable,
                _ => false,
            })
    };
    let mut unique = table
        .def
        .indexes
        .iter()
        .filter(|i| matches!(i.kind, IndexKind::Primary | IndexKind::Unique));
    unique
        .any(|i| i.parts.iter().all(|p| p.prefix == 0 && one(p.column)))
        .then_some(place)
}

fn conds(b: &BoundBlock, n: u16) -> impl Iterator<Item = &Cond> {
    b.joins.conds.iter().filter(move |c| c.nest == n)
}

/// Whether nothing but the conditions of its own join reads a table.
fn is_unread(b: &mut BoundBlock, n: u16, place: usize) -> bool {
    let slot = b.tables[place].slot;
    let all = std::mem::take(&mut b.joins.conds);
    let (own, others): (Vec<Cond>, Vec<Cond>) = all.into_iter().partition(|c| c.nest == n);
    b.joins.conds = others;
    let mut read = false;
    columns_of(b, &mut |s, _| read |= s == slot);
    b.joins.conds.extend(own);
    !read
}

/// The bits of a set of places without one of them.
fn without(bits: u64, place: usize) -> u64 {
    let below = (1u64 << place) - 1;
    bits & below | bits >> 1 & !below
}

fn take_out(b: &mut BoundBlock, n: u16, place: usize) {
    b.joins.conds.retain(|c| c.nest != n);
    b.joins.dissolve(n);
    b.joins.nest_of.remove(place);
    b.joins.after.remove(place);
    b.tables.remove(place);
    b.locks.remove(place);
    for after in &mut b.joins.after {
        *after = without(*after, place);
    }
    for nest in b.joins.nests.iter_mut().filter(|x| x.needs != u64::MAX) {
        nest.needs = without(nest.needs, place);
    }
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn bits_behind_a_place_move_up() {
        assert_eq!(without(0b1011, 0), 0b101);
        assert_eq!(without(0b1011, 1), 0b101);
        assert_eq!(without(0b1011, 2), 0b111);
        assert_eq!(without(0b1011, 3), 0b011);
        assert_eq!(without(1 << 63, 5), 1 << 62);
    }
}
