//! `optimizer_switch`: which rewrites and ways to read and join the planner may use.

/// The words of `optimizer_switch`, in the order of their bits.
pub(super) const WORDS: &[&str] = &[
    "index_merge",
    "index_merge_union",
    "index_merge_sort_union",
    "index_merge_intersection",
    "engine_condition_pushdown",
    "index_condition_pushdown",
    "mrr",
    "mrr_cost_based",
    "block_nested_loop",
    "batched_key_access",
    "materialization",
    "semijoin",
    "loosescan",
    "firstmatch",
    "duplicateweedout",
    "subquery_materialization_cost_based",
    "use_index_extensions",
    "condition_fanout_filter",
    "derived_merge",
    "use_invisible_indexes",
    "skip_scan",
    "hash_join",
    "subquery_to_derived",
    "prefer_ordering_index",
    "hypergraph_optimizer",
    "derived_condition_pushdown",
];

/// The value of `optimizer_switch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches(pub(super) u64);

macro_rules! switches {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl Switches {
            $($(#[$doc])* #[inline] pub fn $name(self) -> bool { self.0 >> $bit & 1 == 1 })*
        }

        #[cfg(test)]
        const NAMED: &[(&str, usize)] = &[$((stringify!($name), $bit)),*];
    };
}

switches! {
    /// Several indexes of a table together.
    index_merge = 0;
    /// A union of what several indexes find.
    index_merge_union = 1;
    /// A union of what ranges of several indexes find.
    index_merge_sort_union = 2;
    /// Rows of a table are read once and kept for a join.
    block_nested_loop = 8;
    /// A subquery's rows are computed once and looked up.
    materialization = 10;
    /// Subqueries become semi-joins.
    semijoin = 11;
    /// Semi-joins by one row for each value of an index.
    loosescan = 12;
    /// Semi-joins that stop at the first match.
    firstmatch = 13;
    /// Semi-joins as joins whose duplicates are weeded out.
    duplicateweedout = 14;
    /// Derived tables become part of the block around them.
    derived_merge = 18;
    /// Invisible indexes are used.
    use_invisible_indexes = 19;
    /// Kept rows are looked up by hash.
    hash_join = 21;
    /// An index that delivers the order is preferred where there is a LIMIT.
    prefer_ordering_index = 23;
    /// Conditions go into derived tables.
    derived_condition_pushdown = 25;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_at_their_bits() {
        for (name, bit) in NAMED {
            assert_eq!(WORDS[*bit], *name);
        }
    }
}
