//! The name of a node of a plan. It says nothing of what the node is.

/// Names a node of a plan within its statement: what is kept for it or counted while it runs is found by it. The optimiser numbers the nodes;
/// what is only bound has no number (0).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct NodeId(pub u32);
