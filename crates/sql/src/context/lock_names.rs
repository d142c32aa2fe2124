//! Locks under MySQL's names: the table and the index, `LOCK_MODE`, `LOCK_DATA`.
//!
//! A guard covers a range of keys and not a gap before a row. Its data are that range: `[1, 9)` are the keys from 1 on that are below 9,
//! `[1, 9]` has 9 in it, and where there is no end stands MySQL's `supremum pseudo-record`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use engine::lock::{AUTO_INC, LockFact, Locked, Mode};
use engine::{Catalog, Table};
use types::Value;
use types::convert::to_text;
use types::keyenc::KeyPart;

/// The tables of indexes and the indexes' places in them, for so many as have been asked for.
pub(crate) struct LockNames<'c> {
    catalog: &'c Catalog,
    known: HashMap<u32, Option<(Arc<Table>, usize)>>,
}

/// A lock with its names.
pub(crate) struct NamedLock {
    /// The table, if it is there still.
    pub table: Option<Arc<Table>>,
    /// The index; none for locks of tables.
    pub index: Option<String>,
    /// `LOCK_MODE`.
    pub mode: String,
    /// `LOCK_DATA`.
    pub data: Option<String>,
}

impl<'c> LockNames<'c> {
    pub(crate) fn new(catalog: &'c Catalog) -> LockNames<'c> {
        LockNames {
            catalog,
            known: HashMap::new(),
        }
    }

    fn find(&mut self, index: u32) -> Option<(Arc<Table>, usize)> {
        let catalog = self.catalog;
        let known = self.known.entry(index).or_insert_with(|| {
            catalog.tables().find_map(|t| {
                let at = t.def.indexes.iter().position(|i| i.id == index);
                at.map(|i| (Arc::clone(t), i))
            })
        });
        known.clone()
    }

    /// The number of a lock's table, if that is there still.
    pub(crate) fn table_id(&mut self, lock: &LockFact) -> Option<u32> {
        match lock.index {
            AUTO_INC => auto_inc_table(lock),
            index => self.find(index).map(|(t, _)| t.def.id),
        }
    }

    /// The names of a lock.
    pub(crate) fn of(&mut self, lock: &LockFact) -> NamedLock {
        if lock.index == AUTO_INC {
            let table =
                auto_inc_table(lock).and_then(|id| self.catalog.tables().find(|t| t.def.id == id));
            return NamedLock {
                table: table.cloned(),
                index: None,
                mode: "AUTO_INC".to_owned(),
                data: None,
            };
        }
        let place = self.find(lock.index);
        let index = place.as_ref().map(|(t, i)| match &*t.def.indexes[*i].name {
            // A table without a key has one that nobody sees.
            "" => "GEN_CLUST_INDEX".to_owned(),
            name => name.to_owned(),
        });
        NamedLock {
            index,
            mode: mode(lock).to_owned(),
            data: place.as_ref().map(|(t, i)| data(t, *i, &lock.locked)),
            table: place.map(|(t, _)| t),
        }
    }
}

/// The number of the table that an AUTO-INC lock is of.
fn auto_inc_table(lock: &LockFact) -> Option<u32> {
    match &lock.locked {
        Locked::Row(key) => key[..].try_into().map(u32::from_be_bytes).ok(),
        _ => None,
    }
}

/// `LOCK_MODE` of a lock of a row or a range.
fn mode(lock: &LockFact) -> &'static str {
    match (&lock.locked, lock.mode) {
        (Locked::Row(_), Mode::Exclusive) => "X,REC_NOT_GAP",
        (Locked::Row(_), Mode::Shared) => "S,REC_NOT_GAP",
        (Locked::Range { rows: None, .. }, _) => "X,GAP",
        (Locked::Range { .. }, Mode::Exclusive) => "X",
        (Locked::Range { .. }, Mode::Shared) => "S",
        (Locked::Insert(_), _) => "X,GAP,INSERT_INTENTION",
    }
}

const SUPREMUM: &str = "supremum pseudo-record";

fn data(t: &Table, index: usize, locked: &Locked) -> String {
    match locked {
        Locked::Row(key) | Locked::Insert(key) => key_text(t, index, key),
        Locked::Range { low, high, .. } => {
            // The successor of a key is the key with a zero byte behind it.
            let last = high.as_deref().and_then(|h| h.strip_suffix(&[0]));
            let point = last.is_some_and(|l| *l == **low) && !low.is_empty();
            if point {
                return key_text(t, index, low);
            }
            let from = match (low.is_empty(), low.strip_suffix(&[0])) {
                (true, _) => "(-infinity".to_owned(),
                (_, Some(before)) if whole(t, index, before) => {
                    format!("({}", key_text(t, index, before))
                }
                _ => format!("[{}", key_text(t, index, low)),
            };
            match (high, last) {
                (None, _) if low.is_empty() => SUPREMUM.to_owned(),
                (None, _) => format!("{from}, {SUPREMUM})"),
                (Some(_), Some(last)) if whole(t, index, last) => {
                    format!("{from}, {}]", key_text(t, index, last))
                }
                (Some(high), _) => format!("{from}, {})", key_text(t, index, high)),
            }
        }
    }
}

/// The bytes are whole parts of a key, from the first on.
fn whole(t: &Table, index: usize, key: &[u8]) -> bool {
    let mut rest = key;
    for p in parts(t, index) {
        if rest.is_empty() {
            return true;
        }
        let Some((_, n)) = p.decode(rest).filter(|(_, n)| *n <= rest.len()) else {
            return false;
        };
        rest = &rest[n..];
    }
    rest.is_empty()
}

/// The parts of an index's keys: behind those of a secondary index come those of the clustered one.
fn parts(t: &Table, index: usize) -> impl Iterator<Item = &KeyPart> {
    let clustered: &[KeyPart] = match index {
        0 => &[],
        _ => t.key_parts(0),
    };
    t.key_parts(index).iter().chain(clustered)
}

/// A key's values as `LOCK_DATA` has them. What a key does not tell again, as text does not, is shown as its bytes.
fn key_text(t: &Table, index: usize, key: &[u8]) -> String {
    let mut out = String::new();
    let mut rest = key;
    for p in parts(t, index) {
        if rest.is_empty() {
            break;
        }
        if !out.is_empty() {
            out.push_str(", ");
        }
        match p.decode(rest) {
            Some((value, n)) if n <= rest.len() => {
                match value {
                    Some(Value::Null) => out.push_str("NULL"),
                    Some(v) => out.push_str(&value_text(&v)),
                    None => hex(&rest[..n], &mut out),
                }
                rest = &rest[n..];
            }
            _ => {
                hex(rest, &mut out);
                rest = &[];
            }
        }
    }
    if !rest.is_empty() {
        hex(rest, &mut out);
    }
    out
}

fn value_text(v: &Value) -> String {
    match v {
        Value::Bytes(b) => {
            let mut out = String::new();
            hex(b, &mut out);
            out
        }
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
            to_text(v.as_ref())
        }
        v => format!("'{}'", to_text(v.as_ref())),
    }
}

fn hex(bytes: &[u8], out: &mut String) {
    out.push_str("0x");
    for b in &bytes[..bytes.len().min(64)] {
        let _ = write!(out, "{b:02X}");
    }
}
