//! What optimizer hints and `optimizer_switch` say of a table, of a subquery, and of the order of joins.

pub(super) mod names;

use crate::bind::from::{Joins, NestKind};
use crate::bind::hinted::{NO_HINTS, OrderHint, Strategies, TableHints};
use crate::bind::scope::FromTable;
use crate::bind::tree::BoundBlock;
use sql_expr::vars::Switches;
use sql_parser::ast::{Name, OrderKind};

impl FromTable {
    /// What hints say of it.
    pub(crate) fn hints(&self) -> &TableHints {
        self.hinted.as_deref().unwrap_or(&NO_HINTS)
    }

    /// Whether its rows may be read once and kept for a join.
    pub(crate) fn is_kept(&self, switches: Switches) -> bool {
        self.hints().keep.unwrap_or(switches.block_nested_loop())
    }

    /// Whether kept rows may be looked up by hash.
    pub(crate) fn is_hashed(&self, switches: Switches) -> bool {
        let by_hash = self.hints().hash_join.unwrap_or(switches.hash_join());
        by_hash && self.is_kept(switches)
    }
}

impl BoundBlock {
    /// By which strategies the block, a subquery's, may become a semi-join; none where it stays a subquery.
    pub(crate) fn strategies(&self, switches: Switches) -> Strategies {
        let given = [
            (switches.firstmatch(), Strategies::FIRST_MATCH),
            (switches.loosescan(), Strategies::LOOSE_SCAN),
            (switches.materialization(), Strategies::MATERIALIZATION),
            (switches.duplicateweedout(), Strategies::WEEDOUT),
        ];
        let on = given.iter().filter(|(on, _)| *on);
        let on = on.fold(Strategies::default(), |all, (_, s)| all.with(*s));
        // Where all are off, duplicates are weeded out.
        let or_weedout = |s: Strategies| if s.is_empty() { Strategies::WEEDOUT } else { s };
        match self.hints.semijoin {
            _ if self.hints.subquery.is_some() => Strategies::default(),
            Some((true, some)) if !some.is_empty() => some,
            Some((true, _)) => or_weedout(on),
            Some((false, some)) if some.is_empty() => Strategies::default(),
            Some((false, some)) => or_weedout(on.without(some)),
            None if switches.semijoin() => or_weedout(on),
            None => Strategies::default(),
        }
    }
}

/// The orders of a block whose tables become part of another one: what they say of their own tables to each other.
pub(crate) fn carried(orders: Vec<OrderHint>) -> impl Iterator<Item = OrderHint> {
    orders.into_iter().map(|o| OrderHint {
        kind: OrderKind::Relative,
        tables: o.tables,
    })
}

/// Makes tables wait for others as the hints say. A hint that asks for what cannot be, or for the contrary of one before, is left out.
pub(crate) fn arrange(joins: &mut Joins, tables: &[FromTable], orders: &[OrderHint]) {
    let all = (0..tables.len()).fold(0u64, |m, t| m | 1 << t);
    for o in orders {
        let place = |(name, block): &(Name, Option<u32>)| {
            let is = |t: &FromTable| *t.alias == **name && block.is_none_or(|b| b == t.block);
            tables.iter().position(is)
        };
        let places: Vec<usize> = o.tables.iter().filter_map(place).collect();
        let named = places.iter().fold(0u64, |m, t| m | 1 << t);
        let mut after = joins.after.clone();
        for pair in places.windows(2) {
            after[pair[1]] |= 1 << pair[0];
        }
        for (t, m) in after.iter_mut().enumerate() {
            let own = named & (1 << t) != 0;
            match o.kind {
                OrderKind::Prefix if !own => *m |= named,
                OrderKind::Suffix if own => *m |= all & !named,
                _ => {}
            }
        }
        if !has_circle(joins, &after) {
            joins.after = after;
        }
    }
}

/// Whether tables wait for each other, outer joins considered.
fn has_circle(joins: &Joins, after: &[u64]) -> bool {
    let mut before = after.to_vec();
    for (t, m) in before.iter_mut().enumerate() {
        let mut nest = joins.nest_of[t];
        while nest != 0 {
            let n = &joins.nests[usize::from(nest)];
            if n.kind != NestKind::Semi && n.needs != u64::MAX {
                *m |= n.needs;
            }
            if n.parent == nest {
                break;
            }
            nest = n.parent;
        }
    }
    for k in 0..before.len() {
        for t in 0..before.len() {
            if before[t] & (1 << k) != 0 {
                before[t] |= before[k];
            }
        }
    }
    before.iter().enumerate().any(|(t, m)| m & (1 << t) != 0)
}
