//! Rows that the entries of a secondary index hold by themselves, so that nothing has to be looked up in the clustered one: some of a
//! row's columns, as many as a statement reads.
//!
//! An entry is the index's own parts and the clustered key behind them; what of it turns back into values is given. Whether the entry
//! may stand for the row is not decided here: a scan asks for rows of entries only that its snapshot is sure of.

use super::table::Table;
use types::keyenc::KeyPart;
use types::{DataType, rowfield};

/// How the entries of an index become rows of which only some columns are there.
#[derive(Debug)]
pub struct Cover {
    index: usize,
    /// A row of which every column is NULL.
    blank: Vec<u8>,
    /// The index's own parts of an entry, up to the last one that is wanted.
    own: Vec<Part>,
    /// Those of the clustered key behind them.
    clustered: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    key: KeyPart,
    /// A whole number of so many bytes that is never NULL and ascends; and whether it has a sign.
    number: Option<(usize, bool)>,
    /// Where the value goes.
    to: Option<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    column: usize,
    at: usize,
    len: usize,
}

/// Whether a value of the part is in a row as it was before it became a key. Of floating point numbers the sign of zero is not.
fn is_given(key: &KeyPart) -> bool {
    let float = matches!(key.ty, DataType::Float { .. } | DataType::Double { .. });
    key.is_reversible() && !float
}

impl Table {
    /// How the entries of a secondary index give these columns; `None` where they do not: a column is in no part, or only in one that
    /// cannot be turned back (text in a collation's order, the beginning of a value).
    pub fn cover(&self, index: usize, columns: &[u16]) -> Option<Cover> {
        if index == 0 || self.building(index).is_some() || self.list_part(index).is_some() {
            return None;
        }
        let mut wanted: Vec<u16> = columns.to_vec();
        let own = self.parts_for(index, &mut wanted);
        let clustered = self.parts_for(0, &mut wanted);
        wanted.is_empty().then(|| Cover {
            index,
            blank: self.layout.blank(),
            own,
            clustered,
        })
    }

    /// The parts of an index up to the last one that gives a wanted column, which is no longer wanted then. (A hidden clustered key has
    /// a part and no column.)
    fn parts_for(&self, index: usize, wanted: &mut Vec<u16>) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut used = 0;
        let keys = self.key_parts(index).iter();
        for (key, column) in keys.zip(self.index_columns(index)) {
            let mut to = None;
            if let Some(at) = wanted.iter().position(|c| usize::from(*c) == column)
                && let Some((place, len)) = self.layout.fixed_place(column)
                && is_given(key)
            {
                wanted.swap_remove(at);
                used = parts.len() + 1;
                to = Some(Place {
                    column,
                    at: place,
                    len,
                });
            }
            let number = match &key.ty {
                DataType::Int {
                    width, unsigned, ..
                } if !key.nullable && !key.descending => Some((width.bytes(), !unsigned)),
                _ => None,
            };
            parts.push(Part {
                key: key.clone(),
                number,
                to,
            });
        }
        parts.truncate(used);
        parts
    }
}

impl Cover {
    /// The index.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Makes the row of an entry, at the end of which its clustered key is; `None` where the bytes are no entry of the index.
    pub(crate) fn row(&self, entry: &[u8], clustered: &[u8], out: &mut Vec<u8>) -> Option<()> {
        out.clear();
        out.extend_from_slice(&self.blank);
        put(&self.own, entry, out)?;
        put(&self.clustered, clustered, out)
    }
}

/// Puts what the parts of a key give into a row.
fn put(parts: &[Part], key: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = key;
    for p in parts {
        if let Some((bytes, signed)) = p.number {
            let (b, behind) = rest.split_at_checked(bytes)?;
            rest = behind;
            let Some(to) = p.to else { continue };
            let place = &mut out[to.at..to.at + to.len];
            for (to, from) in place.iter_mut().rev().zip(b) {
                *to = *from;
            }
            if signed {
                place[to.len - 1] ^= 0x80;
            }
            out[2 + to.column / 8] &= !(1 << (to.column % 8));
            continue;
        }
        let (value, taken) = p.key.decode(rest)?;
        rest = rest.get(taken..)?;
        let Some(to) = p.to else { continue };
        let value = value?;
        if value.is_null() {
            continue;
        }
        let end = out.len();
        rowfield::store(&p.key.ty, value.as_ref(), out);
        if out.len() - end != to.len {
            return None;
        }
        out.copy_within(end.., to.at);
        out.truncate(end);
        out[2 + to.column / 8] &= !(1 << (to.column % 8));
    }
    Some(())
}
