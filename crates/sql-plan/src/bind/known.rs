//! Bound expressions as texts, to find one among many.

use std::collections::HashSet;

use sql_expr::{Expr, Node};

/// Bound expressions, of which it is asked whether another one is the same as any: each is written down once, as thousands of them
/// may be asked for among thousands.
#[derive(Default)]
pub(crate) struct Known(HashSet<String>);

impl Known {
    /// These expressions.
    pub(crate) fn of<'e>(all: impl IntoIterator<Item = &'e Expr>) -> Known {
        let mut known = Known::default();
        all.into_iter().for_each(|e| {
            known.add(e);
        });
        known
    }

    /// One more; whether it is new.
    pub(crate) fn add(&mut self, e: &Expr) -> bool {
        self.0.insert(written(e))
    }

    /// Whether there is one like it.
    pub(crate) fn has(&self, e: &Expr) -> bool {
        !self.0.is_empty() && self.0.contains(&written(e))
    }
}

/// The same text for the same expressions.
pub(crate) fn written(e: &Expr) -> String {
    match &e.node {
        Node::Column(c) => format!("{}.{}", c.slot, c.ordinal),
        x => format!("{x:?}"),
    }
}
