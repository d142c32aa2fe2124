//! The order in which a table's indexes are shown.

use engine::{ColumnDef, IndexDef, IndexKind};

/// MySQL's order of indexes: primary, unique without NULL and functional parts, unique, the others; among equals as written.
pub fn rank(columns: &[ColumnDef], index: &IndexDef) -> u8 {
    match index.kind {
        IndexKind::Hidden | IndexKind::Primary => 0,
        IndexKind::Unique => {
            let nullable = index.parts.iter().any(|p| {
                columns
                    .get(usize::from(p.column))
                    .is_some_and(|c| c.nullable || c.is_hidden())
            });
            1 + u8::from(nullable)
        }
        IndexKind::Plain => 3,
    }
}

/// The indexes a client is shown, in MySQL's order; the hidden row id is left out.
pub fn shown<'t>(columns: &[ColumnDef], indexes: &'t [IndexDef]) -> Vec<&'t IndexDef> {
    let mut list: Vec<&IndexDef> = indexes
        .iter()
        .filter(|i| i.kind != IndexKind::Hidden)
        .collect();
    list.sort_by_key(|i| (rank(columns, i), i.id));
    list
}
