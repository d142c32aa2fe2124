//! A window function as it is met while a block is bound. Plain data: what its window means is found once all of the block is bound.

use sql_expr::window::{BoundOver, WindowFn};
use sql_expr::{Expr, Node};

/// A function, and what stands behind its OVER.
pub(crate) struct MetWindow {
    /// The function.
    pub function: WindowFn,
    /// The window.
    pub over: BoundOver,
    /// The same text for the same functions over the same windows; `None` where each has a value of its own.
    text: Option<String>,
}

impl MetWindow {
    /// A function over a window.
    pub fn new(function: WindowFn, over: BoundOver) -> MetWindow {
        let changes = |e: &&Expr| {
            e.any(&|x| match &x.node {
                Node::Call(c) => c.def.volatile() || c.def.special(),
                Node::AssignVar(..) => true,
                _ => false,
            })
        };
        let steady = !function.inputs().iter().any(changes);
        MetWindow {
            text: steady.then(|| format!("{function:?} {over:?}")),
            function,
            over,
        }
    }

    /// Whether another is the same.
    pub fn is(&self, other: &MetWindow) -> bool {
        self.text.is_some() && self.text == other.text
    }
}
