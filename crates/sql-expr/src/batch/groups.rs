//! Which group each row belongs to: keys of whole batches, their hashes, and a table that numbers the groups.
//!
//! A group is what [`write_group_key`] says: equal keys, one group. Writing such a key and comparing it takes longer than anything else
//! about a row, so that one or two narrow key columns (numbers, dates, texts of up to eight bytes) are first looked up by the bits that
//! they are. What is found there was numbered by its key before; several bit patterns may stand for one group (`'a'` and `'A'`).

use super::selection::Sel;
use super::vector::{Data, Vector};
use crate::hash::{MIX, MIX_TOO, fold, hash};
use crate::keys::write_group_key;
use crate::ty::ExprType;

/// A key column: its values and the type of its expression.
pub type KeyColumn<'k> = (&'k Vector, &'k ExprType);

/// The keys of rows, one behind the other.
#[derive(Debug, Clone, Default)]
pub struct KeyRows {
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl KeyRows {
    /// None yet.
    pub fn new() -> KeyRows {
        KeyRows::default()
    }

    /// The keys of the selected rows, instead of those before.
    pub fn write(&mut self, keys: &[KeyColumn<'_>], sel: Sel<'_>) {
        self.ends.clear();
        self.bytes.clear();
        for i in sel.iter() {
            write_row(keys, i, &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The key of the selected row number `k`.
    pub fn get(&self, k: usize) -> &[u8] {
        let from = k.checked_sub(1).map_or(0, |k| self.ends[k]);
        &self.bytes[from..self.ends[k]]
    }

    /// The hashes of all, for tables and for partitions of what spills. The seed keeps clients from choosing them.
    pub fn hash(&self, seed: u64, out: &mut Vec<u64>) {
        out.clear();
        out.extend((0..self.len()).map(|k| hash(self.get(k), seed)));
    }

    /// What it takes.
    pub fn memory(&self) -> usize {
        self.ends.capacity() * 8 + self.bytes.capacity()
    }
}

fn write_row(keys: &[KeyColumn<'_>], row: usize, out: &mut Vec<u8>) {
    for (v, ty) in keys {
        write_group_key(&v.val(row), ty, out);
    }
}

/// No group.
const EMPTY: u32 = u32::MAX;

/// Bit patterns looked up before keys; more are looked up by their keys.
const MOST_PATTERNS: usize = 1 << 16;

/// What narrow keys are, as bits; the first number says of what kind they are.
type Pattern = [u64; 3];

/// Groups by their keys.
#[derive(Debug, Clone)]
pub struct Groups {
    seed: u64,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    hashes: Vec<u64>,
    /// Group numbers by hash.
    table: Vec<u32>,
    patterns: Vec<(Pattern, u32)>,
    known: usize,
    key: Vec<u8>,
}

/// The bits of a value and what they are bits of.
#[inline]
fn pattern_of(v: &Vector, row: usize) -> Option<(u64, u64)> {
    if v.is_null(row) {
        return Some((0, 1));
    }
    let i = if v.is_constant() { 0 } else { row };
    Some(match v.data() {
        Data::I64(d) => (d[i] as u64, 2),
        Data::U64(d) => (d[i], 3),
        Data::Date(d) => (u64::from(d[i].packed()), 4),
        Data::DateTime(d) => (d[i].packed(), 5),
        Data::Decimal64 { scale, values } => (values[i] as u64, 0x100 | u64::from(*scale)),
        Data::Text(t) => {
            let s = t.get(i);
            if s.len() > 8 {
                return None;
            }
            let mut bits = 0;
            for (k, b) in s.iter().enumerate() {
                bits |= u64::from(*b) << (8 * k);
            }
            (bits, 0x200 | s.len() as u64)
        }
        _ => return None,
    })
}

#[inline]
fn pattern(keys: &[KeyColumn<'_>], row: usize) -> Option<Pattern> {
    match keys {
        [(a, _)] => {
            let (bits, kind) = pattern_of(a, row)?;
            Some([kind, bits, 0])
        }
        [(a, _), (b, _)] => {
            let ((x, k), (y, l)) = (pattern_of(a, row)?, pattern_of(b, row)?);
            Some([k << 16 | l, x, y])
        }
        _ => None,
    }
}

impl Groups {
    /// None yet; a seed keeps clients from choosing hashes.
    pub fn new(seed: u64) -> Groups {
        Groups {
            seed,
            bytes: Vec::new(),
            ends: Vec::new(),
            hashes: Vec::new(),
            table: vec![EMPTY; 64],
            patterns: vec![([0; 3], EMPTY); 64],
            known: 0,
            key: Vec::new(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The key of a group.
    pub fn key(&self, group: usize) -> &[u8] {
        let from = group.checked_sub(1).map_or(0, |g| self.ends[g]);
        &self.bytes[from..self.ends[group]]
    }

    /// The hash of that key.
    pub fn hash(&self, group: usize) -> u64 {
        self.hashes[group]
    }

    /// The groups of the selected rows, in their order. Rows that began a new one are appended to `first`, in the order of the
    /// new numbers: who wants to know the values of a group keeps theirs.
    pub fn assign(
        &mut self,
        keys: &[KeyColumn<'_>],
        sel: Sel<'_>,
        out: &mut Vec<u32>,
        first: &mut Vec<u16>,
    ) {
        out.clear();
        out.reserve(sel.len());
        for i in sel.iter() {
            let before = self.len();
            let g = match pattern(keys, i) {
                Some(p) => self.by_pattern(p, keys, i),
                None => self.by_key(keys, i),
            };
            if self.len() > before {
                first.push(i as u16);
            }
            out.push(g);
        }
    }

    #[inline]
    fn slot(&self, [kind, a, b]: &Pattern) -> usize {
        let h = fold(a ^ self.seed, MIX_TOO) ^ fold(b ^ kind.wrapping_mul(MIX), MIX);
        h as usize & (self.patterns.len() - 1)
    }

    #[inline]
    fn by_pattern(&mut self, p: Pattern, keys: &[KeyColumn<'_>], row: usize) -> u32 {
        let mut at = self.slot(&p);
        loop {
            let (known, g) = self.patterns[at];
            if g == EMPTY {
                break;
            }
            if known == p {
                return g;
            }
            at = (at + 1) & (self.patterns.len() - 1);
        }
        let g = self.by_key(keys, row);
        if self.known < MOST_PATTERNS {
            self.patterns[at] = (p, g);
            self.known += 1;
            if self.known * 2 > self.patterns.len() {
                self.grow_patterns();
            }
        }
        g
    }

    #[cold]
    fn grow_patterns(&mut self) {
        let room = self.patterns.len() * 2;
        let old = std::mem::replace(&mut self.patterns, vec![([0; 3], EMPTY); room]);
        for (p, g) in old.into_iter().filter(|(_, g)| *g != EMPTY) {
            let mut at = self.slot(&p);
            while self.patterns[at].1 != EMPTY {
                at = (at + 1) & (room - 1);
            }
            self.patterns[at] = (p, g);
        }
    }

    fn by_key(&mut self, keys: &[KeyColumn<'_>], row: usize) -> u32 {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        write_row(keys, row, &mut key);
        let g = self.of_key(&key);
        self.key = key;
        g
    }

    /// The group of a key, where there is one.
    pub fn find(&self, key: &[u8]) -> Option<u32> {
        let h = hash(key, self.seed);
        let mask = self.table.len() - 1;
        let mut at = h as usize & mask;
        loop {
            match self.table[at] {
                EMPTY => return None,
                g if self.hashes[g as usize] == h && self.key(g as usize) == key => return Some(g),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The group of a key, a new one where there is none: for what comes back from where it was spilled to.
    pub fn of_key(&mut self, key: &[u8]) -> u32 {
        let h = hash(key, self.seed);
        let mask = self.table.len() - 1;
        let mut at = h as usize & mask;
        loop {
            let g = self.table[at];
            if g == EMPTY {
                break;
            }
            if self.hashes[g as usize] == h && self.key(g as usize) == key {
                return g;
            }
            at = (at + 1) & mask;
        }
        let g = self.len() as u32;
        self.table[at] = g;
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.hashes.push(h);
        if self.len() * 2 > self.table.len() {
            self.grow();
        }
        g
    }

    #[cold]
    fn grow(&mut self) {
        let room = self.table.len() * 2;
        self.table.clear();
        self.table.resize(room, EMPTY);
        for (g, h) in self.hashes.iter().enumerate() {
            let mut at = *h as usize & (room - 1);
            while self.table[at] != EMPTY {
                at = (at + 1) & (room - 1);
            }
            self.table[at] = g as u32;
        }
    }

    /// What it takes, for whoever charges it.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
            + (self.ends.capacity() + self.hashes.capacity()) * 8
            + self.table.capacity() * 4
            + self.patterns.capacity() * size_of::<(Pattern, u32)>()
    }

    /// What it takes at most while so many rows come, with keys of so many bytes: what grows takes its old room and twice as much.
    pub fn memory_with(&self, rows: usize, bytes: usize) -> usize {
        let mut more = 0;
        let mut grown = |room: usize, needed: usize, size: usize| {
            if needed > room {
                more += needed.max(2 * room) * size;
            }
        };
        let groups = self.len() + rows;
        grown(self.bytes.capacity(), self.bytes.len() + bytes, 1);
        grown(self.ends.capacity(), groups, 8);
        grown(self.hashes.capacity(), groups, 8);
        grown(self.table.capacity(), 2 * groups, 4);
        let patterns = (self.known + rows).min(MOST_PATTERNS);
        grown(
            self.patterns.capacity(),
            2 * patterns,
            size_of::<(Pattern, u32)>(),
        );
        self.memory() + more
    }
}
