//! What a group has to remember of its rows.

use crate::bind::subqueries_of;
use crate::bind::tree::{BoundSub, FIRST_SPECIAL_SLOT, GROUP_SLOT, GroupPlan, SubAggregates};
use sql_expr::{Expr, Node};

/// Makes an expression of a grouped row read its columns from the group.
fn carry(e: &mut Expr, base: u16, carried: &mut Vec<Expr>) {
    if let Node::Column(c) = &e.node
        && c.slot >= base
        && c.slot < FIRST_SPECIAL_SLOT
    {
        let at = carried
            .iter()
            .filter_map(Expr::as_column)
            .position(|k| (k.slot, k.ordinal) == (c.slot, c.ordinal))
            .unwrap_or_else(|| {
                carried.push(e.clone());
                carried.len() - 1
            });
        if let Node::Column(c) = &mut e.node {
            c.slot = GROUP_SLOT;
            c.ordinal = at as u16;
        }
        return;
    }
    e.each_child_mut(&mut |x| carry(x, base, carried));
}

impl GroupPlan {
    /// The groups of rows with the same values.
    pub(crate) fn of_values(values: &[Expr]) -> GroupPlan {
        GroupPlan {
            keys: values.to_vec(),
            aggregates: Vec::new(),
            carried: Vec::new(),
            below: SubAggregates {
                slot: u16::MAX,
                own: 0,
            },
            rollup: None,
            only_count_star: false,
        }
    }

    /// Rewrites the expressions of a grouped row to read the columns that a group carries.
    pub(crate) fn carry<'e>(
        &mut self,
        late: impl Iterator<Item = &'e mut Expr>,
        subqueries: &[BoundSub],
        base: u16,
    ) {
        let mut used: Vec<u32> = Vec::new();
        for e in late {
            subqueries_of(e, &mut used);
            carry(e, base, &mut self.carried);
        }
        let below = self.below;
        let own = |slot: u16| slot >= base && !below.has(slot);
        for s in used.iter().map(|&i| &subqueries[i as usize]) {
            for &(slot, ordinal) in s.outer.iter().filter(|(slot, _)| own(*slot)) {
                let known = self
                    .carried
                    .iter()
                    .filter_map(Expr::as_column)
                    .any(|c| (c.slot, c.ordinal) == (slot, ordinal));
                if !known {
                    let any = sql_expr::ExprType::null();
                    self.carried.push(Expr::column(slot, ordinal, any, ""));
                }
            }
        }
    }
}
