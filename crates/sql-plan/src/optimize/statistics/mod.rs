//! What is known of the rows of a table of FROM: its statistics, and what is taken to hold where there are none.

pub(super) mod groups;
pub(super) mod selectivity;

use std::sync::Arc;

use engine::{Engine, IndexKind, Table, TableStats, column_key};
use types::{DataType, Value};

use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;

/// Rows of a table that says nothing about itself: a virtual one.
const VIRTUAL_ROWS: f64 = 200.0;
/// Rows of a derived table, where nothing better is known.
const DERIVED_ROWS: f64 = 1000.0;
/// What is known of a table's rows.
pub(crate) struct Statistics<'a> {
    from: &'a FromTable,
    known: Option<Arc<TableStats>>,
    /// How many there are, roughly; at least one.
    pub rows: f64,
    /// The share of its pages that is taken to be on the disk (see [`note_memory`]).
    pub cold: f64,
    /// Pages that memory has room for.
    pub room: f64,
}

/// A table with less than this share of the pool is in memory, whatever is read beside it.
const ALWAYS_KEPT: f64 = 0.125;

/// Tells the tables of a block what share of their pages has no room in memory beside the others. Sizes decide it, and not what is there
/// now: a plan does not depend on what was asked before.
pub(crate) fn note_memory(engine: &Engine, all: &mut [Statistics<'_>]) {
    let room = engine.pool_pages() as f64;
    let mut seen: Vec<u32> = Vec::new();
    let mut pages = 0.0;
    for s in all.iter() {
        if let Some(id) = s.id().filter(|id| !seen.contains(id)) {
            seen.push(id);
            pages += s.pages();
        }
    }
    let cold = (1.0 - room / pages.max(1.0)).max(0.0);
    for s in all {
        s.room = room;
        s.cold = match s.pages() > ALWAYS_KEPT * room {
            true => cold,
            false => 0.0,
        };
    }
}

impl<'a> Statistics<'a> {
    /// Those of a table of FROM; `derived` are the rows that the queries of derived tables are taken to yield.
    pub fn of(engine: &Engine, from: &'a FromTable, derived: &[f64]) -> Statistics<'a> {
        let mut known = None;
        let rows = match &from.source {
            TableSource::Engine(t) => {
                known = t.stats();
                if known.is_none() {
                    engine.want_stats(t);
                }
                (t.row_count_estimate() as f64).max(1.0)
            }
            TableSource::Virtual(_) => VIRTUAL_ROWS,
            TableSource::Derived(n) => derived.get(*n as usize).copied().unwrap_or(DERIVED_ROWS),
        };
        Statistics {
            from,
            known,
            rows,
            cold: 0.0,
            room: 0.0,
        }
    }

    /// The table's slot.
    pub fn slot(&self) -> u16 {
        self.from.slot
    }

    /// Which stored table it is.
    pub fn id(&self) -> Option<u32> {
        self.table().map(|t| t.def.id)
    }

    /// Pages of its clustered index; 0 where nothing is known.
    pub fn pages(&self) -> f64 {
        let Some(known) = self.known.as_deref() else {
            return 0.0;
        };
        let grown = self.rows / known.rows.max(1) as f64;
        known.indexes.first().map_or(0.0, |i| i.pages as f64) * grown
    }

    /// Whether there are statistics of it.
    pub fn is_known(&self) -> bool {
        self.known.is_some()
    }

    fn table(&self) -> Option<&Table> {
        self.stored().map(|t| &**t)
    }

    /// The table, where it is a stored one.
    pub fn stored(&self) -> Option<&Arc<Table>> {
        match &self.from.source {
            TableSource::Engine(t) => Some(t),
            _ => None,
        }
    }

    /// The figures of a column, where there are any.
    fn column(&self, column: u16) -> Option<(&TableStats, &engine::ColumnStats)> {
        let stats = self.known.as_deref()?;
        let c = stats.columns.get(usize::from(column))?;
        (!c.is_unknown()).then_some((stats, c))
    }

    /// The key of a value of a column.
    fn key(&self, column: u16, value: &Value) -> Option<Box<[u8]>> {
        let def = self.table()?.def.columns.get(usize::from(column))?;
        column_key(def, value.as_ref())
    }

    /// How many different values a column has; `None` where nothing is known.
    pub fn distinct(&self, column: u16) -> Option<f64> {
        let t = self.table()?;
        let unique = t.def.indexes.iter().any(|i| {
            matches!(i.kind, IndexKind::Primary | IndexKind::Unique)
                && i.parts.len() == 1
                && i.parts[0].column == column
                && i.parts[0].prefix == 0
        });
        if unique {
            return Some(self.rows);
        }
        let (stats, c) = self.column(column)?;
        // What the figures say of distinct values grows with the table where nearly all were.
        let grown = self.rows / stats.rows.max(1) as f64;
        let distinct = c.distinct.max(1.0);
        Some(if distinct > 0.5 * stats.rows as f64 {
            (distinct * grown).max(1.0)
        } else {
            distinct
        })
    }

    /// The share of rows whose column has a value.
    pub fn equal(&self, column: u16, value: &Value) -> Option<f64> {
        let (stats, _) = self.column(column)?;
        Some(stats.equal(usize::from(column), &self.key(column, value)?))
    }

    /// The share of rows whose column is NULL.
    pub fn nulls(&self, column: u16) -> Option<f64> {
        match self.column(column) {
            Some((_, c)) => Some(c.nulls),
            None => {
                let def = self.table()?.def.columns.get(usize::from(column))?;
                (!def.nullable).then_some(0.0)
            }
        }
    }

    /// The share of rows whose column is within bounds, each with whether it is inside.
    pub fn between(
        &self,
        column: u16,
        low: Option<(&Value, bool)>,
        high: Option<(&Value, bool)>,
    ) -> Option<f64> {
        let (stats, _) = self.column(column)?;
        let key = |bound: Option<(&Value, bool)>| match bound {
            Some((v, inside)) => Some(Some((self.key(column, v)?, inside))),
            None => Some(None),
        };
        let (low, high) = (key(low)?, key(high)?);
        Some(stats.between(
            usize::from(column),
            low.as_ref().map(|(k, i)| (&k[..], *i)),
            high.as_ref().map(|(k, i)| (&k[..], *i)),
        ))
    }

    /// How many different values the first `parts` parts of an index have together.
    pub fn prefix_distinct(&self, index: usize, parts: usize) -> Option<f64> {
        let def = &self.table()?.def.indexes[index];
        let unique = matches!(def.kind, IndexKind::Primary | IndexKind::Unique);
        if unique && parts >= def.parts.len() {
            return Some(self.rows);
        }
        let known = self.known.as_deref()?;
        let d = *known
            .indexes
            .get(index)?
            .distinct
            .get(parts.checked_sub(1)?)?;
        let grown = self.rows / known.rows.max(1) as f64;
        (d > 0.0).then(|| {
            if d > 0.5 * known.rows as f64 {
                (d * grown).max(1.0)
            } else {
                d
            }
        })
    }

    /// The type of a column of a stored table.
    pub fn data_type(&self, column: u16) -> Option<&DataType> {
        let def = self.table()?.def.columns.get(usize::from(column))?;
        Some(&def.ty)
    }
}
