//! What is in a file: the bytes that a reader sees now, those that a power cut cannot take any more, and the changes between
//! the two. It must never let a change reach the durable bytes but by a sync or at a cut.

use harness::rng::Rng;
use std::collections::BTreeMap;

/// The unit in which a file has room; ranges that were never written have none.
pub const BLOCK: u64 = 4096;

/// What a disk writes as a whole.
const SECTOR: u64 = 512;

/// Bytes with holes.
#[derive(Debug, Clone, Default)]
struct Bytes {
    len: u64,
    blocks: BTreeMap<u64, Box<[u8]>>,
}

/// A change of a file that is not durable yet.
#[derive(Debug, Clone)]
enum Change {
    /// Bytes at an offset; the file grows where they end behind its end.
    Write(u64, Box<[u8]>),
    /// The file's length.
    Length(u64),
    /// Zeros from the first to before the second offset, within the length.
    Hole(u64, u64),
}

impl Bytes {
    fn read(&self, at: u64, size: u64) -> Vec<u8> {
        let end = self.len.min(at.saturating_add(size));
        let mut out = Vec::with_capacity(end.saturating_sub(at) as usize);
        let mut pos = at;
        while pos < end {
            let (block, from) = (pos / BLOCK, pos % BLOCK);
            let n = (BLOCK - from).min(end - pos);
            match self.blocks.get(&block) {
                Some(bytes) => out.extend_from_slice(&bytes[from as usize..(from + n) as usize]),
                None => out.resize(out.len() + n as usize, 0),
            }
            pos += n;
        }
        out
    }

    fn write(&mut self, at: u64, bytes: &[u8]) {
        let mut pos = at;
        let mut rest = bytes;
        while !rest.is_empty() {
            let from = (pos % BLOCK) as usize;
            let n = rest.len().min(BLOCK as usize - from);
            let block = self
                .blocks
                .entry(pos / BLOCK)
                .or_insert_with(|| vec![0; BLOCK as usize].into_boxed_slice());
            block[from..from + n].copy_from_slice(&rest[..n]);
            rest = &rest[n..];
            pos += n as u64;
        }
        self.len = self.len.max(pos);
    }

    /// Zeros from `from` to before `to`; whole blocks give their room back.
    fn clear(&mut self, from: u64, to: u64) {
        let inside: Vec<u64> = self
            .blocks
            .range(from / BLOCK..=to / BLOCK)
            .map(|(block, _)| *block)
            .collect();
        for block in inside {
            let begin = from.saturating_sub(block * BLOCK).min(BLOCK) as usize;
            let end = to.saturating_sub(block * BLOCK).min(BLOCK) as usize;
            if begin == 0 && end == BLOCK as usize {
                self.blocks.remove(&block);
            } else if let Some(bytes) = self.blocks.get_mut(&block) {
                bytes[begin..end.max(begin)].fill(0);
            }
        }
    }

    fn set_len(&mut self, len: u64) {
        if len < self.len {
            self.clear(len, self.len);
        }
        self.len = len;
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Write(at, bytes) => self.write(*at, bytes),
            Change::Length(len) => self.set_len(*len),
            Change::Hole(from, to) => self.clear(*from, (*to).min(self.len)),
        }
    }
}

/// What becomes of changes that no sync covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// None of them is left, as behind a cache that lost its power.
    Lost,
    /// All are left.
    Kept,
    /// The earlier ones are left, and one may be torn.
    InOrder,
    /// Each is lost, left or torn, whatever became of the others.
    InAnyOrder,
}

impl Unsynced {
    /// One of the four.
    pub fn drawn(rng: &mut Rng) -> Unsynced {
        match rng.below(6) {
            0 => Unsynced::Lost,
            1 => Unsynced::Kept,
            2 => Unsynced::InOrder,
            _ => Unsynced::InAnyOrder,
        }
    }
}

/// What cuts did to changes that were not synced.
#[derive(Debug, Clone, Copy, Default)]
pub struct Losses {
    /// Writes and changes of lengths that are gone.
    pub lost: u64,
    /// Those that are left.
    pub kept: u64,
    /// Writes of which some sectors are left.
    pub torn: u64,
    /// Names made, moved or removed of which that is no longer true.
    pub names_lost: u64,
    /// Those that are as they were changed.
    pub names_kept: u64,
}

/// A file's bytes.
#[derive(Debug, Clone, Default)]
pub struct Content {
    now: Bytes,
    durable: Bytes,
    unsynced: Vec<Change>,
}

impl Content {
    /// Its length.
    pub fn len(&self) -> u64 {
        self.now.len
    }

    /// How many blocks it fills.
    pub fn blocks(&self) -> u64 {
        self.now.blocks.len() as u64
    }

    /// Up to `size` bytes from `at`, fewer at its end.
    pub fn read(&self, at: u64, size: u64) -> Vec<u8> {
        self.now.read(at, size)
    }

    /// Writes `bytes` at `at`.
    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        self.change(Change::Write(at, bytes.into()));
    }

    /// Ends it at `len`, or extends it to there with zeros.
    pub fn set_len(&mut self, len: u64) {
        self.change(Change::Length(len));
    }

    /// Makes zeros of a range within the length.
    pub fn punch(&mut self, from: u64, to: u64) {
        self.change(Change::Hole(from, to));
    }

    fn change(&mut self, change: Change) {
        self.now.apply(&change);
        self.unsynced.push(change);
    }

    /// Makes all changes durable.
    pub fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            self.durable.apply(&change);
        }
    }

    /// The power goes: what was not synced is left to `how` and chance.
    pub fn cut(&mut self, how: Unsynced, rng: &mut Rng, losses: &mut Losses) {
        let changes = std::mem::take(&mut self.unsynced);
        let first_lost = rng.below(changes.len() as u64 + 1) as usize;
        for (n, change) in changes.iter().enumerate() {
            // 0 and 1: lost; 2 and 3: kept; 4: torn.
            let fate = match how {
                Unsynced::Lost => 0,
                Unsynced::Kept => 2,
                Unsynced::InOrder if n < first_lost => 2,
                Unsynced::InOrder if n == first_lost => 3 + rng.below(2),
                Unsynced::InOrder => 0,
                Unsynced::InAnyOrder => rng.below(5),
            };
            match fate {
                0 | 1 => {
                    losses.lost += 1;
                    self.lose(change, how, rng);
                }
                2 | 3 => {
                    losses.kept += 1;
                    self.durable.apply(change);
                }
                _ => {
                    losses.torn += 1;
                    self.tear(change, rng);
                }
            }
        }
        self.now = self.durable.clone();
    }

    /// A lost write behind the end may have left the file longer, with zeros there.
    fn lose(&mut self, change: &Change, how: Unsynced, rng: &mut Rng) {
        if let Change::Write(at, bytes) = change
            && how == Unsynced::InAnyOrder
            && rng.one_in(4)
        {
            self.durable.len = self.durable.len.max(at + bytes.len() as u64);
        }
    }

    /// Some sectors of it are done and others are not.
    fn tear(&mut self, change: &Change, rng: &mut Rng) {
        match change {
            Change::Write(at, bytes) => {
                let mut pos = *at;
                let mut rest: &[u8] = bytes;
                while !rest.is_empty() {
                    let n = rest.len().min((SECTOR - pos % SECTOR) as usize);
                    if rng.one_in(2) {
                        self.durable.write(pos, &rest[..n]);
                    }
                    rest = &rest[n..];
                    pos += n as u64;
                }
            }
            // The metadata of a file system change as a whole, a block or the length.
            Change::Length(len) => self.durable.set_len(*len),
            Change::Hole(from, to) => {
                for block in from / BLOCK..to.div_ceil(BLOCK) {
                    if rng.one_in(2) {
                        let (begin, end) = (block * BLOCK, (block + 1) * BLOCK);
                        self.durable
                            .clear(begin.max(*from), end.min(*to).min(self.durable.len));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(content: &mut Content, how: Unsynced, seed: u64) -> Losses {
        let mut losses = Losses::default();
        content.cut(how, &mut Rng::new(seed), &mut losses);
        losses
    }

    #[test]
    fn what_was_synced_stays_and_the_rest_goes() {
        let mut c = Content::default();
        c.write(0, &[1; 10_000]);
        c.sync();
        c.write(5000, &[2; 10_000]);
        c.set_len(20_000);
        assert_eq!((c.len(), c.read(5000, 1)), (20_000, vec![2]));
        let losses = cut(&mut c, Unsynced::Lost, 1);
        assert_eq!((losses.lost, losses.kept, losses.torn), (2, 0, 0));
        assert_eq!(c.read(0, 1 << 20), vec![1; 10_000]);
    }

    #[test]
    fn kept_changes_come_in_their_order() {
        let mut c = Content::default();
        c.write(0, &[1; 9000]);
        c.punch(100, 8300);
        c.write(8200, &[3; 10]);
        c.set_len(8205);
        cut(&mut c, Unsynced::Kept, 1);
        let mut expected = vec![1; 100];
        expected.resize(8200, 0);
        expected.extend([3; 5]);
        assert_eq!(c.read(0, 1 << 20), expected);
        c.set_len(8300);
        assert_eq!(c.read(8200, 100)[..6], [3, 3, 3, 3, 3, 0]);
    }

    #[test]
    fn a_torn_write_has_whole_sectors_of_old_and_new() {
        let mut mixed = 0;
        for seed in 0..200 {
            let mut c = Content::default();
            c.write(0, &[1; 16_384]);
            c.sync();
            c.write(0, &[2; 16_384]);
            cut(&mut c, Unsynced::InAnyOrder, seed);
            let bytes = c.read(0, 1 << 20);
            assert_eq!(bytes.len(), 16_384);
            for sector in bytes.chunks(512) {
                assert!(sector.iter().all(|b| *b == sector[0]));
            }
            mixed += u32::from(bytes.contains(&1) && bytes.contains(&2));
        }
        assert!((20..80).contains(&mixed), "{mixed} of 200");
    }

    #[test]
    fn in_order_leaves_no_gap() {
        for seed in 0..100 {
            let mut c = Content::default();
            for n in 0..20u64 {
                c.write(n * 512, &[7; 512]);
            }
            cut(&mut c, Unsynced::InOrder, seed);
            assert!(c.read(0, 1 << 20).iter().all(|b| *b == 7));
        }
    }
}
