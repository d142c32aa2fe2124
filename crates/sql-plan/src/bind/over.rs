//! Blocks that read the rows of another query in their order: for a set operation whose ORDER BY asks subqueries, and for a select list
//! that assigns variables, which is computed once the rows are sorted.

use types::SqlError;

use super::StatementBinder;
use super::names::{Lowest, Names};
use super::scope::{DerivedColumn, FromTable};
use super::tree::{Body, BoundBlock, BoundQuery};
use sql_expr::{Expr, Node};

/// A block that yields all rows of the derived table that is the only one of `names`.
pub(crate) fn whole_of(names: Names<'_>) -> BoundBlock {
    let t = &names.tables[0];
    let mut block = BoundBlock::empty(t.slot);
    block.joins.add_table(0);
    block.output = (0..t.len()).map(|i| t.column_expr(i)).collect();
    block.locks = vec![None];
    block.tables = names.tables;
    block
}

/// The query of a block whose only table are the rows of `inner`.
pub(crate) fn over(inner: BoundQuery, mut block: BoundBlock, lowest: Lowest) -> BoundQuery {
    let types = block.output.iter().map(|e| e.ty).collect();
    let lowest = lowest.0.min(inner.lowest);
    block.derived = vec![inner];
    BoundQuery::of_block(block, types, lowest)
}

impl StatementBinder<'_> {
    /// Computes the select list of a sorted block once its rows are sorted, where the list assigns variables: row numbers by
    /// `@n := @n + 1` count the rows as they come out (the manual, "User-Defined Variables", in the form that applications rely on).
    pub(crate) fn assign_late(&self, mut plan: BoundQuery) -> Result<BoundQuery, SqlError> {
        let Body::Block(block) = &mut plan.body else {
            return Ok(plan);
        };
        let assigns = |e: &Expr| matches!(e.node, Node::AssignVar(..));
        let asks = |e: &Expr| {
            matches!(
                e.node,
                Node::Subquery(_) | Node::Exists(_) | Node::Quantified(_)
            )
        };
        let late = block.group.is_none()
            && block.windows.is_none()
            && !block.order.is_empty()
            && !block.distinct
            && !block.calc_found_rows
            && block.output.iter().any(|e| e.any(&assigns))
            && !block.output.iter().any(|e| e.any(&asks));
        if !late {
            return Ok(plan);
        }
        let slot = self.take_slots(1)?;
        let mut list = std::mem::take(&mut block.output);
        let mut read: Vec<Expr> = Vec::new();
        for e in &mut list {
            carry(e, block.base, slot, &mut read);
        }
        if read.is_empty() {
            read.push(Expr::null());
        }
        let column = |e: &Expr| DerivedColumn {
            name: "".into(),
            ty: e.ty,
            data_type: e.ty.to_data_type(),
            of_function: false,
        };
        let names = Names {
            tables: vec![FromTable::unnamed(slot, read.iter().map(column).collect())],
            ..Names::default()
        };
        plan.types = read.iter().map(|e| e.ty).collect();
        block.output = read;
        let mut outside = whole_of(names);
        outside.output = list;
        Ok(over(plan, outside, Lowest::default()))
    }
}

/// Makes an expression read its block's columns from the rows at `slot`, which are what is in `read`.
fn carry(e: &mut Expr, base: u16, slot: u16, read: &mut Vec<Expr>) {
    let Node::Column(c) = &mut e.node else {
        e.each_child_mut(&mut |x| carry(x, base, slot, read));
        return;
    };
    if c.slot < base {
        return;
    }
    let is =
        |k: &Expr| matches!(&k.node, Node::Column(k) if (k.slot, k.ordinal) == (c.slot, c.ordinal));
    let at = read.iter().position(is).unwrap_or(read.len());
    if at == read.len() {
        read.push(Expr {
            node: Node::Column(c.clone()),
            ty: e.ty,
        });
    }
    // What a query yields is in the session's time zone.
    (c.slot, c.ordinal, c.utc) = (slot, at as u16, false);
}
