//! The joins of a block: which tables belong together, and under which conditions.

use std::ops::Range;

use super::hinted::Strategies;
use sql_expr::{CmpOp, Comparer, Expr, ExprType, Node};

/// A condition and the nest it belongs to.
#[derive(Clone)]
pub(crate) struct Cond {
    /// The condition.
    pub expr: Expr,
    /// 0 for WHERE and inner joins of the block.
    pub nest: u16,
}

/// What a nest does with the combinations before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestKind {
    /// Each stays; where nothing matches, the nest's tables are NULL.
    Outer,
    /// Each with a match stays, once.
    Semi,
    /// Each without a match stays.
    Anti,
}

/// An outer join, semi-join or anti-join.
#[derive(Clone)]
pub(crate) struct Nest {
    /// What it does.
    pub kind: NestKind,
    /// The nest around it.
    pub parent: u16,
    /// Tables (bits, by place in FROM) that must have been read before it.
    pub needs: u64,
    /// How it may be carried out, where it is a semi-join.
    pub strategies: Strategies,
}

/// What the query of a LATERAL derived table reads of the tables beside it.
#[derive(Debug, Clone)]
pub(crate) struct Sideways {
    /// The columns, by slot and place.
    pub columns: Vec<(u16, u16)>,
    /// It has the same rows wherever these have the same values; found when it is planned.
    pub repeats: bool,
}

/// The joins of a block.
#[derive(Default, Clone)]
pub(crate) struct Joins {
    /// The nest of each table.
    pub nest_of: Vec<u16>,
    /// The nests; the first is the block.
    pub nests: Vec<Nest>,
    /// Conditions so far.
    pub conds: Vec<Cond>,
    /// Tables that must come before each table (STRAIGHT_JOIN).
    pub after: Vec<u64>,
}

impl Joins {
    /// Makes the tables of a nest part of the nest around it; its conditions are the caller's.
    pub fn dissolve(&mut self, n: u16) {
        let parent = self.nests[usize::from(n)].parent;
        for t in self.nest_of.iter_mut().filter(|t| **t == n) {
            *t = parent;
        }
        for x in self.nests.iter_mut().filter(|x| x.parent == n) {
            x.parent = parent;
        }
        self.nests[usize::from(n)] = Nest {
            kind: NestKind::Outer,
            parent: n,
            needs: u64::MAX,
            strategies: Strategies::ALL,
        };
    }

    /// Whether a nest is another one or lies in it.
    pub fn is_within(&self, mut nest: u16, outer: u16) -> bool {
        loop {
            if nest == outer {
                return true;
            }
            match self.nests.get(usize::from(nest)).map(|n| n.parent) {
                Some(parent) if parent != nest => nest = parent,
                _ => return false,
            }
        }
    }

    /// One table more.
    pub fn add_table(&mut self, nest: u16) {
        if self.nests.is_empty() {
            self.nests.push(Nest {
                kind: NestKind::Outer,
                parent: 0,
                needs: 0,
                strategies: Strategies::ALL,
            });
        }
        self.nest_of.push(nest);
        self.after.push(0);
    }
}

/// The bits of a range of tables.
pub(crate) fn mask(r: &Range<usize>) -> u64 {
    r.clone().fold(0, |m, i| m | 1 << i)
}

/// Adds the members of a conjunction as conditions of their own.
pub(crate) fn push_conjuncts(e: Expr, nest: u16, out: &mut Vec<Cond>) {
    match e.node {
        Node::And(parts) => parts.into_iter().for_each(|p| push_conjuncts(p, nest, out)),
        _ => match equal_members(&e) {
            Some(parts) => parts.into_iter().for_each(|p| push_conjuncts(p, nest, out)),
            None => out.push(Cond { expr: e, nest }),
        },
    }
}

/// `(a, b) = (x, y)` as `a = x`, `b = y`, which hold together where it does; `None` for what is not that.
fn equal_members(e: &Expr) -> Option<Vec<Expr>> {
    let Node::Compare(CmpOp::Eq, comparer, p) = &e.node else {
        return None;
    };
    row_equals(&p[0], &p[1], comparer, &e.ty)
}

/// The equalities of the members of two rows, each of type `ty`; `None` where they are not written as rows.
pub(crate) fn row_equals(
    a: &Expr,
    b: &Expr,
    comparer: &Comparer,
    ty: &ExprType,
) -> Option<Vec<Expr>> {
    let (Node::Row(a), Node::Row(b), Comparer::Row(parts)) = (&a.node, &b.node, comparer) else {
        return None;
    };
    let members = a.iter().zip(b).zip(parts);
    let equal = |((a, b), c): ((&Expr, &Expr), &Comparer)| Expr {
        node: Node::Compare(CmpOp::Eq, c.clone(), Box::new([a.clone(), b.clone()])),
        ty: *ty,
    };
    Some(members.map(equal).collect())
}
