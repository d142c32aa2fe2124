//! A sample of a table's rows, and of the entries of its other indexes: some leaves of each tree, drawn at random.
//!
//! All rows of the leaves that are read count for the number of rows; of those, each has the same chance to be kept for the columns' figures. A
//! table of no more leaves than are wanted is read whole, and its figures are exact if its rows are no more than are kept.

use super::prefixes::Prefixes;
use super::{GoOn, NoSample};
use crate::engine::Engine;
use crate::error;
use crate::record::{HEADER, RowVersion, SecValue};
use crate::schema::{Table, column_key_into};
use crate::stats::{ColumnStats, IndexStats, Sketch, TableStats};
use base::SplitMix64;
use btree::LeafSample;
use pager::OpError;

/// Leaves read of a tree.
const LEAVES: usize = 512;
/// Rows kept at most, and their bytes.
const ROWS: usize = 24_000;
const BYTES: usize = 12 << 20;
/// Leaves read before others of the thread have their turn.
const LEAVES_PER_YIELD: usize = 16;

/// Rows that were kept.
struct Rows {
    bytes: Vec<u8>,
    /// What was drawn for each, where it is, and whether it has columns elsewhere.
    rows: Vec<(u64, usize, usize, bool)>,
    /// Those for which less is drawn are kept.
    below: u64,
    seen: u64,
}

impl Rows {
    fn row(&mut self, row: &[u8], external: bool, random: &mut SplitMix64) {
        self.seen += 1;
        let drawn = random.next();
        if drawn > self.below {
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row);
        self.rows.push((drawn, start, row.len(), external));
        if self.rows.len() > ROWS || self.bytes.len() > BYTES {
            self.thin();
        }
    }

    /// Keeps each with a chance of a half.
    fn thin(&mut self) {
        self.below /= 2;
        let below = self.below;
        let mut bytes = Vec::with_capacity(self.bytes.len() / 2);
        self.rows.retain_mut(|(drawn, start, len, _)| {
            let keep = *drawn <= below;
            if keep {
                let at = bytes.len();
                bytes.extend_from_slice(&self.bytes[*start..*start + *len]);
                *start = at;
            }
            keep
        });
        self.bytes = bytes;
    }
}

impl Engine {
    /// Figures of a table as it is, without a version.
    pub(super) async fn sample_table(
        &self,
        t: &Table,
        go_on: &GoOn<'_>,
    ) -> Result<TableStats, NoSample> {
        let mut random = SplitMix64::new(self.environment().random.next_u64());
        let before = t.row_count_estimate();
        let mut rows = Rows {
            bytes: Vec::new(),
            rows: Vec::new(),
            below: u64::MAX,
            seen: 0,
        };
        let mut first = Prefixes::new(t.key_parts(0));
        let draw = self.draw(t, 0, go_on, &mut random).await?;
        let mut read = 0;
        for (i, no) in draw.leaves().iter().enumerate() {
            self.pause_between(i, go_on).await?;
            let look = || {
                first.leaf();
                t.indexes[0].tree.read_leaf(*no, |key, value| {
                    let Some(v) = RowVersion::read(value).filter(|v| !v.deleted()) else {
                        return;
                    };
                    if t.layout.fits(&value[HEADER..], v.external()) {
                        first.entry(key, &mut random);
                        rows.row(&value[HEADER..], v.external(), &mut random);
                    }
                })
            };
            let there = self.pager().run(look).await;
            read += u64::from(there.map_err(|e| failed(t, e))?);
        }
        // A leaf that was merged into another meanwhile is missing.
        let whole = draw.is_whole() && read == draw.leaves().len() as u64;
        let found = match whole {
            true => rows.seen,
            false => (rows.seen as f64 / read.max(1) as f64 * draw.leaf_pages()) as u64,
        };
        let counts = &t.live.counts;
        if whole || !counts.is_counted() {
            counts.correct(before, found, whole);
        }
        let all = match whole {
            true => found,
            false => counts.rows().max(rows.seen),
        };
        let mut indexes = vec![IndexStats {
            leaf_pages: draw.leaf_pages() as u64,
            pages: draw.pages() as u64,
            distinct: match t.has_hidden_key() {
                true => Vec::new(),
                false => first.distinct(all, whole),
            },
            sampled: read,
        }];
        for index in 1..t.def.indexes.len() {
            indexes.push(self.sample_index(t, index, all, go_on, &mut random).await?);
        }
        let mut columns = self.sketches(t, &rows, all, go_on).await?;
        for (i, x) in indexes.iter_mut().enumerate() {
            let unique = t.is_unique(i)
                && t.def.indexes[i]
                    .parts
                    .iter()
                    .all(|p| !t.def.columns[usize::from(p.column)].nullable);
            if unique && let Some(last) = x.distinct.last_mut() {
                *last = all as f64;
            }
            let Some(p) = t.def.indexes[i].parts.first() else {
                continue;
            };
            // The order of an index says more of a column than a sample of rows.
            let c = &mut columns[usize::from(p.column)];
            if p.prefix == 0
                && rows.rows.len() < all as usize
                && let Some(d) = x.distinct.first()
            {
                let null = if c.nulls > 0.0 { 1.0 } else { 0.0 };
                c.distinct = (d - null).max(c.common.len() as f64).max(1.0);
            }
        }
        Ok(TableStats {
            version: 0,
            rows: all,
            made_us: self.environment().clock.wall_us(),
            sampled: rows.rows.len() as u64,
            indexes: indexes.into(),
            columns: columns.into(),
        })
    }

    /// Draws leaves of a tree.
    async fn draw(
        &self,
        t: &Table,
        index: usize,
        go_on: &GoOn<'_>,
        random: &mut SplitMix64,
    ) -> Result<LeafSample, NoSample> {
        let mut draw = LeafSample::new(LEAVES);
        let tree = &t.indexes[index].tree;
        let mut nodes = 0;
        loop {
            self.pause_between(nodes, go_on).await?;
            nodes += 1;
            let step = || tree.draw_leaves(&mut draw, random);
            if !self.pager().run(step).await.map_err(|e| failed(t, e))? {
                return Ok(draw);
            }
        }
    }

    async fn sample_index(
        &self,
        t: &Table,
        index: usize,
        rows: u64,
        go_on: &GoOn<'_>,
        random: &mut SplitMix64,
    ) -> Result<IndexStats, NoSample> {
        let draw = self.draw(t, index, go_on, random).await?;
        let mut prefixes = Prefixes::new(t.key_parts(index));
        let mut read = 0;
        for (i, no) in draw.leaves().iter().enumerate() {
            self.pause_between(i, go_on).await?;
            let look = || {
                prefixes.leaf();
                t.indexes[index].tree.read_leaf(*no, |key, value| {
                    if SecValue::read(value).is_some_and(|v| !v.deleted()) {
                        prefixes.entry(key, random);
                    }
                })
            };
            let there = self.pager().run(look).await;
            read += u64::from(there.map_err(|e| failed(t, e))?);
        }
        let whole = draw.is_whole() && read == draw.leaves().len() as u64;
        let entries = match whole {
            true => prefixes.entries(),
            false => rows.max(prefixes.entries()),
        };
        Ok(IndexStats {
            leaf_pages: draw.leaf_pages() as u64,
            pages: draw.pages() as u64,
            distinct: prefixes.distinct(entries, whole),
            sampled: read,
        })
    }

    /// The figures of all columns, from the rows kept.
    async fn sketches(
        &self,
        t: &Table,
        rows: &Rows,
        all: u64,
        go_on: &GoOn<'_>,
    ) -> Result<Vec<ColumnStats>, NoSample> {
        let mut columns = Vec::with_capacity(t.def.columns.len());
        let mut sketch = Sketch::default();
        for (c, def) in t.def.columns.iter().enumerate() {
            self.pause_between(0, go_on).await?;
            sketch.clear();
            for (_, start, len, external) in &rows.rows {
                let row = &rows.bytes[*start..*start + *len];
                if *external && let Some(x) = t.layout.externals(row).iter().find(|x| x.column == c)
                {
                    sketch.long(x.len);
                    continue;
                }
                let row = t.layout.row(row);
                if row.is_null(c) {
                    sketch.null();
                    continue;
                }
                let value = row.column(c);
                let width = value.as_bytes().map_or(8, <[u8]>::len);
                sketch.value(width as u64, |out| {
                    column_key_into(def, value, out);
                });
            }
            columns.push(sketch.finish(all, t.def.columns.len()));
        }
        Ok(columns)
    }

    /// Between two leaves, the `i`th of which comes next: lets others run now and then.
    async fn pause_between(&self, i: usize, go_on: &GoOn<'_>) -> Result<(), NoSample> {
        go_on()?;
        if i.is_multiple_of(LEAVES_PER_YIELD) {
            base::environment::yield_now(&*self.environment().spawn).await;
        }
        Ok(())
    }
}

fn failed(t: &Table, e: OpError) -> NoSample {
    match e {
        OpError::Dropped(_) => NoSample::Later,
        e => NoSample::Failed(error::storage(e, &t.full_name)),
    }
}
