//! Figures as bytes of the catalog. Columns stand under their names and indexes under their ids, so that figures outlive a change of the definition
//! that was not followed by new ones.

use super::{ColumnStats, IndexStats, TableStats};
use base::le;
use std::sync::Arc;

/// A reader passes over what has another version: figures are made again.
const VERSION: u8 = 1;

/// A histogram that was asked for, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Name of the column.
    pub column: String,
    /// JSON, as MySQL's `COLUMN_STATISTICS` has it.
    pub json: String,
}

/// What the catalog keeps of a table's figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Saved {
    /// The figures, in the order of `indexes` and `columns`.
    pub(crate) stats: TableStats,
    /// Pages of the file that had been used.
    pub(crate) pages: u64,
    /// Ids of the indexes.
    pub(crate) indexes: Vec<u32>,
    /// Names of the columns, and their types as a number.
    pub(crate) columns: Vec<(String, u32)>,
    pub(crate) histograms: Vec<Histogram>,
}

struct Out(Vec<u8>);

impl Out {
    fn int(&mut self, v: u64) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    fn float(&mut self, v: f64) {
        self.int(v.to_bits());
    }
    fn bytes(&mut self, b: &[u8]) {
        self.0.extend_from_slice(&(b.len() as u32).to_le_bytes());
        self.0.extend_from_slice(b);
    }
}

struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn read_bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (a, b) = self.0.split_at_checked(n)?;
        self.0 = b;
        Some(a)
    }
    fn int(&mut self) -> Option<u64> {
        self.read_bytes(8).map(|b| le::get_u64(b, 0))
    }
    fn float(&mut self) -> Option<f64> {
        self.int()
            .map(f64::from_bits)
            .filter(|f| f.is_finite() && *f >= 0.0)
    }
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.read_bytes(4).map(|b| le::get_u32(b, 0))? as usize;
        self.read_bytes(n)
    }
    fn str(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
    /// Each element takes bytes: a damaged count makes nobody allocate without end.
    fn count(&mut self) -> Option<usize> {
        let n = usize::try_from(self.int()?).ok()?;
        (n <= self.0.len()).then_some(n)
    }
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n = self.count()?;
        (0..n).map(|_| one(self)).collect()
    }
}

pub(crate) fn encode(s: &Saved) -> Vec<u8> {
    let mut o = Out(vec![VERSION]);
    let t = &s.stats;
    for v in [t.version, t.rows, t.made_us as u64, t.sampled, s.pages] {
        o.int(v);
    }
    o.int(t.indexes.len() as u64);
    for (x, id) in t.indexes.iter().zip(&s.indexes) {
        for v in [u64::from(*id), x.leaf_pages, x.pages, x.sampled] {
            o.int(v);
        }
        o.int(x.distinct.len() as u64);
        x.distinct.iter().for_each(|d| o.float(*d));
    }
    o.int(t.columns.len() as u64);
    for (c, (name, ty)) in t.columns.iter().zip(&s.columns) {
        o.bytes(name.as_bytes());
        o.int(u64::from(*ty));
        for v in [c.nulls, c.distinct, c.width] {
            o.float(v);
        }
        o.int(c.common.len() as u64);
        for (key, share) in &c.common {
            o.bytes(key);
            o.float(*share);
        }
        o.int(c.bounds.len() as u64);
        c.bounds.iter().for_each(|b| o.bytes(b));
    }
    o.int(s.histograms.len() as u64);
    for h in &s.histograms {
        o.bytes(h.column.as_bytes());
        o.bytes(h.json.as_bytes());
    }
    o.0
}

/// `None` where they cannot be read: there are no figures then.
pub(crate) fn decode(b: &[u8]) -> Option<Saved> {
    let mut i = In(b);
    if i.read_bytes(1)? != [VERSION] {
        return None;
    }
    let mut s = Saved::default();
    (s.stats.version, s.stats.rows) = (i.int()?, i.int()?);
    (s.stats.made_us, s.stats.sampled) = (i.int()? as i64, i.int()?);
    s.pages = i.int()?;
    let ids = &mut s.indexes;
    let indexes: Vec<IndexStats> = i.list(|i| {
        ids.push(u32::try_from(i.int()?).ok()?);
        Some(IndexStats {
            leaf_pages: i.int()?,
            pages: i.int()?,
            sampled: i.int()?,
            distinct: i.list(In::float)?,
        })
    })?;
    let names = &mut s.columns;
    let columns: Vec<ColumnStats> = i.list(|i| {
        names.push((i.str()?, i.int()? as u32));
        Some(ColumnStats {
            nulls: i.float()?,
            distinct: i.float()?,
            width: i.float()?,
            common: i.list(|i| Some((i.bytes()?.into(), i.float()?)))?,
            bounds: i.list(|i| i.bytes().map(Into::into))?,
        })
    })?;
    s.stats.indexes = Arc::from(indexes);
    s.stats.columns = Arc::from(columns);
    s.histograms = i.list(|i| {
        Some(Histogram {
            column: i.str()?,
            json: i.str()?,
        })
    })?;
    (i.0.is_empty() && s.stats.version > 0).then_some(s)
}
