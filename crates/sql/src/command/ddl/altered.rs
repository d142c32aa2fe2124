//! What an `ALTER TABLE` makes of a table: its definition, and where the values of each column come from.

use engine::{ColumnDef, IndexPart, TableDef};

use super::generated;

/// Where the values of a column come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A column of the table, whose values are its values as they are.
    Kept(u16),
    /// A column of the table, whose values are converted.
    Converted(u16),
    /// Its default.
    New,
}

/// What a table is to become.
pub(super) struct AlteredTable {
    /// Its definition, without the hidden clustered index; indexes that the table has not got yet have id 0.
    pub def: TableDef,
    /// For each column where its values come from.
    pub origins: Vec<Origin>,
    /// The rows that are there may violate a CHECK constraint.
    pub verify: bool,
    /// Columns that get other names, before and after, or go.
    pub renamed: Vec<(String, Option<String>)>,
}

impl AlteredTable {
    /// For each column whether it is a generated one that rows which are there have to be given anew.
    pub(super) fn recomputed(&self, old: &TableDef) -> Vec<bool> {
        recomputed(old, &self.def.columns, &self.origins)
    }

    /// Every row keeps the values of its clustered key.
    pub(super) fn keeps_key(&self, old: &TableDef) -> bool {
        let (Some(was), Some(is)) = (old.indexes.first(), self.def.clustered_choice()) else {
            return false;
        };
        let is = &self.def.indexes[is];
        let kept = |c: u16| match self.origins.get(usize::from(c)) {
            Some(Origin::Kept(n)) => Some(*n),
            _ => None,
        };
        let same = |(a, b): (&IndexPart, &IndexPart)| kept(b.column) == Some(a.column);
        was.parts.len() == is.parts.len() && was.parts.iter().zip(&is.parts).all(same)
    }
}

/// See [`AlteredTable::recomputed`].
pub(super) fn recomputed(old: &TableDef, columns: &[ColumnDef], origins: &[Origin]) -> Vec<bool> {
    let was = origins.iter().map(|o| match o {
        Origin::Kept(n) => Some((usize::from(*n), true)),
        Origin::Converted(n) => Some((usize::from(*n), false)),
        Origin::New => None,
    });
    generated::recomputed(old, columns, &was.collect::<Vec<_>>())
}
