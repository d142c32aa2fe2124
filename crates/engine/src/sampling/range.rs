//! How many rows a range has, by a dive to both of its ends.

use crate::engine::Engine;
use crate::record::{RowVersion, SecValue};
use crate::schema::Table;
use crate::session::{KeyBound, successor};

impl Engine {
    /// Rows between two bounds of an index, by a dive to both ends: exact where the ends are on the same leaf or on neighbours, else scaled by
    /// what the levels above branch into. Reads pages that are in memory, waits for nothing; `None` where one is missing.
    pub fn rows_between(
        &self,
        table: &Table,
        index: usize,
        lower: &KeyBound,
        upper: &KeyBound,
    ) -> Option<f64> {
        let above;
        let from = match lower {
            KeyBound::None => &[][..],
            KeyBound::Included(p) => p,
            KeyBound::Excluded(p) => match successor(p) {
                Some(s) => {
                    above = s;
                    &above
                }
                None => return Some(0.0),
            },
        };
        let to = match upper {
            KeyBound::None => None,
            KeyBound::Included(p) => successor(p),
            KeyBound::Excluded(p) => Some(p.clone()),
        };
        let live = |value: &[u8]| match index {
            0 => RowVersion::read(value).is_some_and(|v| !v.deleted()),
            _ => SecValue::read(value).is_some_and(|v| !v.deleted()),
        };
        let tree = &table.indexes.get(index)?.tree;
        tree.count_between(from, to.as_deref(), live).ok()?
    }
}
