//! What is known of a table's rows under its next definition, and as it is kept in the catalog.

use super::def::{ColumnDef, TableDef};
use crate::stats::{ColumnStats, Histogram, IndexStats, Saved, StatsCell, TableStats};
use std::sync::Arc;

/// A column's type as a number: figures of another type are none.
fn type_number(c: &ColumnDef) -> u32 {
    base::checksum::crc32c(format!("{:?}", c.ty).as_bytes())
}

/// What was known under a definition for the next one; the same cell where that has the same columns and indexes.
pub(super) fn carried(old: &TableDef, known: &Arc<StatsCell>, def: &TableDef) -> Arc<StatsCell> {
    let same_columns = old.columns.len() == def.columns.len()
        && (old.columns.iter().zip(&def.columns)).all(|(a, b)| a.ty == b.ty && a.name == b.name);
    let same_indexes = old.indexes.len() == def.indexes.len()
        && (old.indexes.iter().zip(&def.indexes)).all(|(a, b)| a.id == b.id);
    if same_columns && same_indexes {
        return known.clone();
    }
    // The same table's columns stay where they are, whatever they are called.
    let pairs = old.columns.iter().zip(&def.columns);
    let pairs = pairs.filter(|(a, b)| old.id == def.id && a.name != b.name);
    let renamed: Vec<_> = pairs
        .map(|(a, b)| (a.name.clone(), Some(b.name.clone())))
        .collect();
    carried_to(old, known, def, &renamed)
}

/// The same for a definition under which columns have other names, which may have been exchanged, or are gone, though others may have come under their
/// names. The histogram of such a column goes.
pub(super) fn carried_to(
    old: &TableDef,
    known: &StatsCell,
    def: &TableDef,
    renamed: &[(String, Option<String>)],
) -> Arc<StatsCell> {
    let Some(mut was) = saved(old, known, 0) else {
        return Arc::default();
    };
    let to = |name: &str| renamed.iter().find(|(a, _)| a == name);
    was.histograms.retain(|h| to(&h.column).is_none());
    for (name, _) in &mut was.columns {
        if let Some((_, now)) = to(name) {
            *name = now.clone().unwrap_or_default();
        }
    }
    Arc::new(mapped(&was, def, 1))
}

/// What is known of a table, as it is kept; `pages` of its file have been used.
pub(super) fn saved(def: &TableDef, known: &StatsCell, pages: u64) -> Option<Saved> {
    let stats = known.get()?;
    let name = |c: &ColumnDef| (c.name.clone(), type_number(c));
    Some(Saved {
        stats: stats.as_ref().clone(),
        pages,
        indexes: def.indexes.iter().map(|x| x.id).collect(),
        columns: def.columns.iter().map(name).collect(),
        histograms: known.histograms().to_vec(),
    })
}

/// Figures for a definition, `newer` versions on.
pub(super) fn mapped(was: &Saved, def: &TableDef, newer: u64) -> StatsCell {
    let columns = def.columns.iter().map(|c| {
        let (name, number) = (&c.name, type_number(c));
        let at = (was.columns.iter()).position(|(n, ty)| n == name && *ty == number);
        let known = at.and_then(|i| was.stats.columns.get(i)).cloned();
        known.unwrap_or_else(|| ColumnStats {
            width: 8.0,
            ..ColumnStats::default()
        })
    });
    let columns: Arc<[ColumnStats]> = columns.collect();
    let indexes = def.indexes.iter().map(|x| {
        let at = was.indexes.iter().position(|id| *id == x.id);
        let known = at.and_then(|i| was.stats.indexes.get(i)).cloned();
        let known = known.filter(|s| s.distinct.len() == x.parts.len());
        known.unwrap_or_else(|| {
            // As if the columns had nothing to do with each other.
            let rows = was.stats.rows as f64;
            let mut product = 1.0;
            let each = x.parts.iter().map(|p| {
                let c = columns.get(usize::from(p.column));
                let c = c.filter(|c| !c.is_unknown());
                product *= c.map_or(rows / 10.0, |c| c.distinct).max(1.0);
                product = f64::min(product, rows);
                product
            });
            IndexStats {
                distinct: each.collect(),
                ..IndexStats::default()
            }
        })
    });
    let there = |h: &&Histogram| {
        let column = def.columns.iter().find(|c| c.name == h.column);
        let number = was.columns.iter().find(|(n, _)| *n == h.column);
        column.is_some_and(|c| number.is_some_and(|(_, ty)| *ty == type_number(c)))
    };
    let histograms = was.histograms.iter().filter(there).cloned().collect();
    let stats = TableStats {
        version: was.stats.version + newer,
        rows: was.stats.rows,
        made_us: was.stats.made_us,
        sampled: was.stats.sampled,
        indexes: indexes.collect(),
        columns: columns.clone(),
    };
    StatsCell::with(stats, histograms)
}
