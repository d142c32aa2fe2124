//! What a scan reads: a range of an index by prefixes of encoded keys, and where that begins and ends among whole keys.

use super::ReadMode;
use crate::schema::Table;
use types::Value;

/// One end of a range, by a prefix of encoded keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum KeyBound {
    /// No bound.
    #[default]
    None,
    /// Every key that starts with the prefix is inside.
    Included(Vec<u8>),
    /// No key that starts with the prefix is inside.
    Excluded(Vec<u8>),
}

/// What to scan.
#[derive(Clone, Debug)]
pub struct ScanSpec {
    /// Number of the index in the table's definition.
    pub index: usize,
    /// Lower end.
    pub lower: KeyBound,
    /// Upper end.
    pub upper: KeyBound,
    /// From the upper end down.
    pub backward: bool,
    /// How rows are read.
    pub mode: ReadMode,
}

/// Where a scan stops.
pub(super) enum End {
    Open,
    /// Keys at or above are outside.
    Below(Vec<u8>),
    /// Keys below are outside.
    AtLeast(Vec<u8>),
}

impl End {
    /// The key that says it.
    #[inline]
    pub(super) fn key(&self) -> Option<&[u8]> {
        match self {
            End::Open => None,
            End::Below(k) | End::AtLeast(k) => Some(k),
        }
    }
}

/// The least key above every key that starts with `p`; `None` if there is none.
pub(crate) fn successor(p: &[u8]) -> Option<Vec<u8>> {
    let n = p.iter().rposition(|b| *b != 0xFF)?;
    let mut s = p[..=n].to_vec();
    s[n] += 1;
    Some(s)
}

/// No more than one row can have what the range of a secondary index stands for: a whole unique value without NULL.
pub(super) fn names_one_row(t: &Table, spec: &ScanSpec) -> bool {
    let (KeyBound::Included(low), KeyBound::Included(high)) = (&spec.lower, &spec.upper) else {
        return false;
    };
    if spec.index == 0 || low != high || !t.is_unique(spec.index) {
        return false;
    }
    let mut rest = &low[..];
    for part in t.key_parts(spec.index) {
        match part.decode(rest) {
            Some((value, n)) if n <= rest.len() && !matches!(value, Some(Value::Null)) => {
                rest = &rest[n..];
            }
            _ => return false,
        }
    }
    rest.is_empty()
}
