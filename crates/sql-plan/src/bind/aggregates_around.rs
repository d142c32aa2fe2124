//! Aggregates of a block as the blocks in it read them: columns of a slot of their own.

use sql_expr::{Column, Expr, ExprType, Node};

/// An aggregate of a surrounding block.
pub(super) fn aggregate_column(slot: u16, ordinal: u16, ty: ExprType) -> Expr {
    Expr {
        node: Node::Column(Column {
            slot,
            ordinal,
            utc: false,
            name: "".into(),
        }),
        ty,
    }
}

/// Makes an expression read the aggregates of its block from outside it.
pub(super) fn read_aggregates_at(e: &mut Expr, slot: u16) {
    if let Node::Aggregate(at) = e.node {
        *e = aggregate_column(slot, at as u16, e.ty);
        return;
    }
    e.each_child_mut(&mut |x| read_aggregates_at(x, slot));
}
