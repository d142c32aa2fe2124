//! The foreign keys that a statement's changes meet, as part of its plan: which tables it holds, and by which indexes parents and children
//! are found.

use std::sync::Arc;

use engine::Table;

use super::row_rules::RowRules;

/// Tables and their foreign keys.
pub struct Relations {
    /// The tables, each once.
    pub nodes: Vec<Node>,
    /// Which of them the statement's targets are, in their order.
    pub roots: Vec<u16>,
    /// Cascades can change rows of the targets themselves.
    pub moves_roots: bool,
}

impl Relations {
    /// Whether foreign keys refer to a target of which rows go.
    pub fn has_children(&self, target: usize) -> bool {
        let node = self.roots.get(target).map(|r| usize::from(*r));
        let node = node.and_then(|n| self.nodes.get(n));
        node.is_some_and(|n| !n.children.is_empty())
    }
}

/// A table, with those of its foreign keys that can be met.
pub struct Node {
    /// The table.
    pub table: Arc<Table>,
    /// Its own.
    pub parents: Vec<ParentKey>,
    /// Those that refer to it.
    pub children: Vec<ChildKey>,
    /// What is to hold of rows that a cascade changes.
    pub rules: RowRules,
}

/// A foreign key, seen from the child.
pub struct ParentKey {
    /// Which of the table's foreign keys.
    pub key: usize,
    /// The table's index that begins with its columns, at whose turn the parent is looked for.
    pub turn: Option<usize>,
    /// Where its parent's rows are found; `None` where there is no such table, or none with such an index.
    pub parent: Option<ParentIndex>,
}

/// Where a parent's rows are found.
pub struct ParentIndex {
    /// The parent.
    pub node: u16,
    /// Its index.
    pub index: usize,
    /// The columns referred to, which the index begins with.
    pub columns: Vec<u16>,
}

/// A foreign key, seen from the parent.
pub struct ChildKey {
    /// The child.
    pub node: u16,
    /// Which of the child's foreign keys.
    pub key: usize,
    /// The columns of the parent that it refers to.
    pub columns: Vec<u16>,
    /// The child's index, which begins with the foreign key's columns.
    pub index: usize,
    /// The parent's index that begins with the columns it refers to, at whose turn the child is looked for.
    pub turn: Option<usize>,
}
