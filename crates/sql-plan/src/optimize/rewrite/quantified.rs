//! `x < ANY (SELECT ..)`, `x > ALL (SELECT ..)` and the like.
//!
//! One that reads the rows around it becomes a semi-join or an anti-join: the first row that confirms or refutes ends the search. Of any
//! other, the least or greatest row decides, and whether there is a NULL. That is also better for one that reads few different values
//! from around, as its results are kept ([`extremes`](crate::optimize::rewrite::extremes)).

use engine::Engine;

use crate::bind::tree::{BoundBlock, BoundSub};
use crate::optimize::statistics::Statistics;
use sql_expr::{CmpOp, Comparer, Expr, ExprType, Node};

/// How often values have to come on average, so that keeping results for them is better than to look for a row each time.
const TIMES: f64 = 4.0;

/// What a row of the subquery is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowTest {
    op: CmpOp,
    /// It is ALL, or NOT ANY.
    all: bool,
}

impl RowTest {
    /// Of a comparison with ANY or ALL rows; `None` where it is no matter of order.
    pub fn of(op: CmpOp, all: bool) -> Option<RowTest> {
        is_order(op).then_some(RowTest { op, all })
    }

    /// Of the comparison's denial: NOT (x < ANY ..) is true where x >= ALL is.
    pub fn denied(self) -> RowTest {
        RowTest {
            op: negation(self.op),
            all: !self.all,
        }
    }

    /// What joins a row: where it is `negated`, a row that refutes.
    pub fn condition(self, negated: bool, left: Expr, right: Expr, comparer: Comparer) -> Expr {
        debug_assert_eq!(self.all, negated, "ALL is an anti-join");
        let nullable = left.ty.nullable || right.ty.nullable;
        let compare = |op| Expr {
            node: Node::Compare(op, comparer, Box::new([left, right])),
            ty: ExprType::truth(nullable),
        };
        match (negated, nullable) {
            (false, _) => compare(self.op),
            (true, false) => compare(negation(self.op)),
            // What is unknown refutes as well.
            (true, true) => Expr {
                node: Node::IsTruth(Box::new(compare(self.op)), true, true),
                ty: ExprType::truth(false),
            },
        }
    }
}

/// Whether an operator asks which of two values is less.
pub(crate) fn is_order(op: CmpOp) -> bool {
    matches!(op, CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge)
}

fn negation(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Ge,
        CmpOp::Le => CmpOp::Gt,
        CmpOp::Gt => CmpOp::Le,
        CmpOp::Ge => CmpOp::Lt,
        o => o,
    }
}

/// Whether the values that a subquery reads from around come again and again, as far as statistics tell.
pub(crate) fn comes_again(engine: &Engine, block: &BoundBlock, sub: &BoundSub) -> bool {
    let mut different = 1.0f64;
    let mut rows = 1.0f64;
    let mut own = false;
    for &(slot, column) in &sub.outer {
        let Some(t) = block.tables.iter().find(|t| t.slot == slot) else {
            continue;
        };
        let figures = Statistics::of(engine, t, &[]);
        let Some(distinct) = figures.distinct(column) else {
            return false;
        };
        own = true;
        different *= distinct.max(1.0);
        rows = rows.max(figures.rows);
    }
    // What it reads from further out is the same for all rows of the block.
    !own || different * TIMES <= rows
}
