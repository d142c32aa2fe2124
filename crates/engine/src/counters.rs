//! AUTO_INCREMENT counters in the log, and how recovery finds them there.
//!
//! Each row that is logged carries its number in the key of its record, so nothing is logged when a number is given. A checkpoint
//! notes where each counter stands; recovery takes the last note and the keys logged since. The keys mean
//! something only to who knows the definitions, so they are kept as bytes until the definitions have been read.
//!
//! Must never do: forget a number that a durable record has, or count one that was taken back by a lowered counter.

use crate::schema::Table;
use base::le;
use std::collections::{BTreeMap, HashMap};
use types::Value;

/// First byte of a note in the log that lists counters: those that checkpoints find.
const NOTE_COUNTERS: u8 = 2;
/// First byte of a note that sets one counter, which may be lower than it was.
const NOTE_SET: u8 = 3;
/// First byte of a note that lists the ends of indexes, as far as the log has told.
const NOTE_ENDS: u8 = 4;
/// Items of one note.
const NOTE_ITEMS: usize = 8000;

/// Bytes of a key that tell a number: the longest takes nine.
const HEAD: usize = 16;

/// The lowest and the highest key of an index that was logged, as far as their first bytes tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ends {
    table: u32,
    low: u128,
    high: u128,
}

/// The counters as the log tells of them.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Counters {
    /// By table: numbers below this may have been given.
    noted: BTreeMap<u32, u64>,
    /// By index.
    ends: HashMap<u32, Ends>,
}

impl Counters {
    /// Learns from the key of a changed entry.
    #[inline]
    pub(crate) fn key(&mut self, table: u32, index: u32, key: &[u8]) {
        if key.is_empty() || base::mutant!("counter-not-in-rows") {
            return;
        }
        let mut head = [0; HEAD];
        let n = key.len().min(HEAD);
        head[..n].copy_from_slice(&key[..n]);
        let at = u128::from_be_bytes(head);
        self.between(
            index,
            Ends {
                table,
                low: at,
                high: at,
            },
        );
    }

    fn between(&mut self, index: u32, new: Ends) {
        let e = self.ends.entry(index).or_insert(new);
        e.low = e.low.min(new.low);
        e.high = e.high.max(new.high);
    }

    /// Learns from a note.
    pub(crate) fn note(&mut self, b: &[u8]) {
        let Some((&tag, list)) = b.split_first() else {
            return;
        };
        match tag {
            NOTE_COUNTERS => {
                for w in list.as_chunks::<12>().0 {
                    let x = self.noted.entry(le::get_u32(w, 0)).or_default();
                    *x = (*x).max(le::get_u64(w, 4));
                }
            }
            NOTE_SET => {
                for w in list.as_chunks::<12>().0 {
                    let table = le::get_u32(w, 0);
                    self.noted.insert(table, le::get_u64(w, 4));
                    // Rows with higher numbers were deleted before.
                    self.ends.retain(|_, e| e.table != table);
                }
            }
            NOTE_ENDS => {
                for w in list.as_chunks::<40>().0 {
                    let word = |at: usize| {
                        let half = |at| u128::from(le::get_u64(w, at));
                        half(at) | half(at + 8) << 64
                    };
                    let ends = Ends {
                        table: le::get_u32(w, 0),
                        low: word(8),
                        high: word(24),
                    };
                    self.between(le::get_u32(w, 4), ends);
                }
            }
            _ => {}
        }
    }

    /// Where the counter of a table stands; 0 where the log does not say.
    pub(crate) fn of(&self, t: &Table) -> u64 {
        let mut next = self.noted.get(&t.def.id).copied().unwrap_or(0);
        let Some(column) = t.def.auto_increment_column() else {
            return next;
        };
        for i in 0..t.def.indexes.len() {
            if t.index_columns(i).next() != Some(column) {
                continue;
            }
            if let Some(e) = self.ends.get(&t.def.indexes[i].id) {
                let part = &t.key_parts(i)[0];
                let top = if part.descending { e.low } else { e.high };
                if let Some((Some(v), _)) = part.decode(&top.to_be_bytes())
                    && number(&v) > 0
                {
                    next = next.max(number(&v).saturating_add(1));
                }
            }
        }
        next
    }

    /// A counter as it stands now.
    pub(crate) fn put(&mut self, table: u32, next: u64) {
        self.noted.insert(table, next);
    }

    /// The bodies of the notes that say all of it.
    pub(crate) fn notes(&self) -> Vec<Vec<u8>> {
        let mut list = Vec::with_capacity(self.noted.len() * 12);
        for (id, next) in &self.noted {
            list.extend_from_slice(&id.to_le_bytes());
            list.extend_from_slice(&next.to_le_bytes());
        }
        let mut ends = Vec::with_capacity(self.ends.len() * 40);
        let mut sorted: Vec<_> = self.ends.iter().collect();
        sorted.sort_unstable_by_key(|(index, _)| **index);
        for (index, e) in sorted {
            ends.extend_from_slice(&e.table.to_le_bytes());
            ends.extend_from_slice(&index.to_le_bytes());
            ends.extend_from_slice(&e.low.to_le_bytes());
            ends.extend_from_slice(&e.high.to_le_bytes());
        }
        let counters = list.chunks(NOTE_ITEMS * 12);
        let counters = counters.map(|part| [&[NOTE_COUNTERS], part].concat());
        let ends = ends.chunks(NOTE_ITEMS * 40);
        let ends = ends.map(|part| [&[NOTE_ENDS], part].concat());
        counters.chain(ends).collect()
    }
}

/// The body of the note that sets a counter.
pub(crate) fn set_note(table: u32, next: u64) -> Vec<u8> {
    let mut body = vec![NOTE_SET];
    body.extend_from_slice(&table.to_le_bytes());
    body.extend_from_slice(&next.to_le_bytes());
    body
}

/// What a value counts as; 0 where it is below all that are given.
pub(crate) fn number(v: &Value) -> u64 {
    match v {
        Value::Int(v) => (*v).max(0) as u64,
        Value::UInt(v) => *v,
        Value::Double(v) => v.max(0.0) as u64,
        Value::Float(v) => v.max(0.0) as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters() -> Counters {
        let mut c = Counters::default();
        c.put(7, 40);
        c.put(9, u64::MAX);
        c.key(7, 3, &[0x80, 0, 0, 5]);
        c.key(7, 3, &[0x80, 0, 0, 2, 9]);
        c.key(9, 4, &[0xff; 40]);
        c
    }

    #[test]
    fn notes_say_all_that_is_known() {
        let c = counters();
        let mut d = Counters::default();
        c.notes().iter().for_each(|n| d.note(n));
        assert_eq!(c, d);
        // Heard twice, they say no more.
        c.notes().iter().for_each(|n| d.note(n));
        assert_eq!(c, d);
    }

    #[test]
    fn a_set_counter_forgets_what_was_before() {
        let mut c = counters();
        c.note(&set_note(7, 4));
        assert_eq!(c.noted[&7], 4);
        assert!(!c.ends.contains_key(&3) && c.ends.contains_key(&4));
        c.key(7, 3, &[0x80, 0, 0, 4]);
        assert_eq!(c.ends[&3].high >> 96, 0x8000_0004);
    }

    #[test]
    fn a_note_that_is_cut_short_or_unknown_is_passed_over() {
        let mut c = counters();
        let before = c.clone();
        for n in [&[][..], &[NOTE_COUNTERS, 1, 2], &[NOTE_ENDS; 39], &[99, 1]] {
            c.note(n);
        }
        assert_eq!(c, before);
    }
}
