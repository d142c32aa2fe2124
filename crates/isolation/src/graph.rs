//! The dependencies between committed transactions.
//!
//! Real time is a chain of moments beside them: a transaction leads to the moment at which it was acknowledged, a
//! moment to the next, and the last moment before a beginning to what began. That is all pairs in linear space.

use crate::history::{End, History};
use crate::internal::Seen;
use crate::order::{Item, Made, Orders};
use crate::outcome::TxnId;

/// A kind of dependency, as bits so that sets of kinds can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Kinds(pub u8);

impl Kinds {
    /// Wrote the next version.
    pub(crate) const WW: Kinds = Kinds(1);
    /// Read what the other wrote.
    pub(crate) const WR: Kinds = Kinds(2);
    /// Read what the other replaced.
    pub(crate) const RW: Kinds = Kinds(4);
    /// Was acknowledged before the other began.
    pub(crate) const RT: Kinds = Kinds(8);

    pub(crate) const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    pub(crate) fn has(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }
}

/// A transaction, or (from `moments` on) a moment.
pub(crate) type Node = u32;

/// One dependency.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub to: Node,
    pub kind: Kinds,
    /// About what; nothing for time.
    pub item: Option<Item>,
}

/// All of them, by the node that they leave.
#[derive(Debug, Default)]
pub(crate) struct Deps {
    pub out: Vec<Vec<Edge>>,
    /// The first node that is a moment.
    pub moments: Node,
}

impl Deps {
    fn add(&mut self, from: Node, to: Node, kind: Kinds, item: Option<Item>) {
        if from != to {
            self.out[from as usize].push(Edge { to, kind, item });
        }
    }
}

fn writer(order: &[Made], place: u32) -> Option<TxnId> {
    let at = place.checked_sub(1)? as usize;
    order.get(at).map(|m| m.writer)
}

/// Builds the graph.
pub(crate) fn build(history: &History, orders: &Orders, seen: &[Seen]) -> Deps {
    let count = history.txns.len();
    let mut deps = Deps {
        out: vec![Vec::new(); count],
        moments: count as Node,
    };
    for (item, order) in &orders.of {
        for pair in order.windows(2) {
            deps.add(pair[0].writer, pair[1].writer, Kinds::WW, Some(*item));
        }
    }
    let none = Vec::new();
    for read in seen {
        let order = orders.of.get(&read.item).unwrap_or(&none);
        if read.exact
            && let Some(writer) = writer(order, read.place)
        {
            deps.add(writer, read.reader, Kinds::WR, Some(read.item));
        }
        // Where the next version is the reader's own, what follows depends on that by ww.
        if let Some(next) = writer(order, read.place + 1) {
            deps.add(read.reader, next, Kinds::RW, Some(read.item));
        }
    }
    add_time(history, orders, &mut deps);
    deps
}

fn add_time(history: &History, orders: &Orders, deps: &mut Deps) {
    let committed = || (0..).zip(&history.txns).zip(&orders.outcomes.committed);
    let mut ends: Vec<(u64, TxnId)> = committed()
        .filter(|((_, t), c)| **c && t.end == End::Committed)
        .map(|((id, t), _)| (t.ended, id))
        .collect();
    ends.sort_unstable();
    let first = deps.moments;
    deps.out.resize(first as usize + ends.len(), Vec::new());
    for (n, &(_, id)) in (0..).zip(&ends) {
        deps.add(id, first + n, Kinds::RT, None);
        if n > 0 {
            deps.add(first + n - 1, first + n, Kinds::RT, None);
        }
    }
    for ((id, txn), _) in committed().filter(|(_, c)| **c) {
        let before = ends.partition_point(|(ended, _)| *ended < txn.began);
        if let Some(last) = before.checked_sub(1) {
            deps.add(first + last as Node, id, Kinds::RT, None);
        }
    }
}
