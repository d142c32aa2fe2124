//! What optimizer hints say of a table and of a block. Plain data: hints are resolved when the whole statement is bound, as they may
//! name any block of it.

use sql_parser::ast::{Name, OrderKind};

/// What hints say of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableHints {
    /// Its rows may be looked up by hash.
    pub hash_join: Option<bool>,
    /// Its rows may be read once and kept.
    pub keep: Option<bool>,
    /// A derived table may become part of the block.
    pub merge: Option<bool>,
    /// Conditions may go into a derived table.
    pub pushdown: Option<bool>,
    /// Several indexes may be read together, and which; none for all.
    pub index_merge: Option<(bool, Vec<usize>)>,
    /// Indexes whose ranges are not read; none for all.
    pub no_range: Option<Vec<usize>>,
    /// Which indexes may be used is said by optimizer hints, and no longer by those of FROM.
    pub indexes: bool,
}

/// No hints.
pub(crate) const NO_HINTS: TableHints = TableHints {
    hash_join: None,
    keep: None,
    merge: None,
    pushdown: None,
    index_merge: None,
    no_range: None,
    indexes: false,
};

/// What hints say of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockHints {
    /// The order of its tables, as far as it is said.
    pub orders: Vec<OrderHint>,
    /// Whether it may become a semi-join, and by which [strategies](Strategies); none for all.
    pub semijoin: Option<(bool, Strategies)>,
    /// It stays a subquery; whether its rows are computed once.
    pub subquery: Option<bool>,
}

/// The order of some tables.
#[derive(Debug, Clone)]
pub(crate) struct OrderHint {
    /// Where they stand.
    pub kind: OrderKind,
    /// The tables by name and, where it was said, by the number of their block.
    pub tables: Vec<(Name, Option<u32>)>,
}

/// A set of ways to carry out a semi-join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Strategies(pub u8);

impl Strategies {
    pub const FIRST_MATCH: Strategies = Strategies(1);
    pub const LOOSE_SCAN: Strategies = Strategies(2);
    pub const MATERIALIZATION: Strategies = Strategies(4);
    pub const WEEDOUT: Strategies = Strategies(8);
    pub const ALL: Strategies = Strategies(15);

    /// Whether they have any of the others.
    pub fn has(self, other: Strategies) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// With the others.
    pub fn with(self, other: Strategies) -> Strategies {
        Strategies(self.0 | other.0)
    }

    /// Without the others.
    pub fn without(self, other: Strategies) -> Strategies {
        Strategies(self.0 & !other.0)
    }
}
