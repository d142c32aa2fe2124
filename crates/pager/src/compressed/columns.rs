//! A leaf's entries read downwards: first byte of all, second byte of all, and so on. Rows of a table are alike from column to column
//! and not from byte to byte, so what lies together then compresses into much less; what no entry uses is left out and comes back as zeros.
//!
//! The idea is that of PAX (Ailamaki et al., "Weaving Relations for Cache Performance", VLDB 2001), for what goes to the device alone and
//! without knowing columns: bytes at the same distance from their entry's beginning are taken for a column. A column of which neighbours
//! differ by the same step again and again (offsets, ascending keys) is written as its steps.
//!
//! Where entries lie is what [`CellsOf`] says, which belongs to those who lay out pages; this module looks at no page by itself. Of the
//! bytes that may come from a device none is trusted.
//!
//! Arranged: slots at u16 @0 | slots u16 @2 | bytes of a slot u16 @4 | columns u16 @6 | slot columns written as steps u64 @8, the
//! first column the lowest bit | the entries' u64 @16 | bytes 4..`at` of the page @24 | slots, downwards | the first `columns` bytes of
//! the entries, downwards | the rest of each entry, one behind the other.

use super::tiles::{TILE, tiles, turned, word};
use crate::page::PAGE_SIZE;
use base::le;

/// Bytes in front of what is arranged.
const PROLOGUE: usize = 24;
/// Most bytes that an arranged page has.
pub(super) const MOST: usize = PROLOGUE + PAGE_SIZE;
/// With fewer entries there are no columns.
const FEWEST: usize = 4;
/// Columns that may be written as steps: those that a mask has a bit for.
const MASKED: usize = 64;

/// Where the array of slots lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slots {
    /// The first one's first byte.
    pub at: usize,
    /// How many there are.
    pub count: usize,
    /// Bytes of one.
    pub each: usize,
}

impl Slots {
    fn end(&self) -> usize {
        self.at + self.count * self.each
    }

    /// Whether there are such slots on a page, and enough of them.
    fn are_sound(&self) -> bool {
        self.count >= FEWEST
            && self.at >= 32
            && (1..=MASKED).contains(&self.each)
            && self.end() <= PAGE_SIZE
    }
}

/// Says where a page's slots are and tells `cells` of each entry in their order; `None` for a page without entries, and for one whose
/// entries do not lie as they should. It must look at nothing behind the slots, where a page that is being restored has bytes of no meaning.
pub type CellsOf = fn(page: &[u8], cells: &mut Cells) -> Option<Slots>;

/// Of no page it is known where entries lie.
pub fn unknown(_page: &[u8], _cells: &mut Cells) -> Option<Slots> {
    None
}

/// Where a page's entries lie, in the order of their slots.
pub struct Cells {
    starts: Vec<u16>,
    lens: Vec<u16>,
    /// A bit for each byte that belongs to an entry.
    taken: [u64; PAGE_SIZE / 64],
    bytes: usize,
    shortest: usize,
    lowest: usize,
}

impl Default for Cells {
    fn default() -> Self {
        Cells::new()
    }
}

impl Cells {
    /// As many columns as the shortest entry has bytes.
    pub(super) const ALL: usize = PAGE_SIZE;

    /// Nothing is known yet.
    pub const fn new() -> Cells {
        Cells {
            starts: Vec::new(),
            lens: Vec::new(),
            taken: [0; PAGE_SIZE / 64],
            bytes: 0,
            shortest: usize::MAX,
            lowest: PAGE_SIZE,
        }
    }

    /// One more entry; false if it does not lie on the page, or where another one lies.
    pub fn push(&mut self, at: usize, len: usize) -> bool {
        let end = at + len;
        if end > PAGE_SIZE {
            return false;
        }
        // One without bytes is nowhere.
        let at = if len == 0 { 0 } else { at };
        if len > 0 {
            let (first, last) = (at / 64, (end - 1) / 64);
            for w in first..=last {
                let from = if w == first { at % 64 } else { 0 };
                let to = if w == last { (end - 1) % 64 } else { 63 };
                let mask = (u64::MAX >> (63 - to)) & (u64::MAX << from);
                if self.taken[w] & mask != 0 {
                    return false;
                }
                self.taken[w] |= mask;
            }
            self.lowest = self.lowest.min(at);
        }
        self.starts.push(at as u16);
        self.lens.push(len as u16);
        self.bytes += len;
        self.shortest = self.shortest.min(len);
        true
    }

    /// The entries told of so far, each with its first byte and its length.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        let starts = self.starts.iter().map(|s| *s as usize);
        starts.zip(self.lens.iter().map(|l| *l as usize))
    }

    /// Learns where the entries of this page lie.
    pub(super) fn read(&mut self, page: &[u8; PAGE_SIZE], of: CellsOf) -> Option<Slots> {
        self.starts.clear();
        self.lens.clear();
        self.taken.fill(0);
        (self.bytes, self.shortest, self.lowest) = (0, usize::MAX, PAGE_SIZE);
        let slots = of(page, self)?;
        let sound =
            slots.are_sound() && self.starts.len() == slots.count && self.lowest >= slots.end();
        sound.then_some(slots)
    }

    /// Makes zeros of what belongs to no entry, from `slots_end` on.
    fn clear_between(&self, page: &mut [u8; PAGE_SIZE], slots_end: usize) {
        page[slots_end..self.lowest.max(slots_end)].fill(0);
        let words = self.taken.iter().enumerate().skip(self.lowest / 64);
        for (i, taken) in words.filter(|(_, w)| **w != u64::MAX) {
            let bytes = page[i * 64..][..64].iter_mut().enumerate();
            for (b, byte) in bytes.filter(|(b, _)| taken >> b & 1 == 0) {
                if i * 64 + b >= self.lowest {
                    *byte = 0;
                }
            }
        }
    }

    /// Bytes of the page when it is arranged.
    fn arranged_len(&self, slots: &Slots) -> usize {
        PROLOGUE - 4 + slots.end() + self.bytes
    }
}

/// Writes a page of which `cells` knows the entries downwards, their first `columns` bytes that is, where they have so many; gives the
/// bytes it takes of `out`.
pub(super) fn arrange(
    page: &[u8; PAGE_SIZE],
    (cells, slots): (&Cells, &Slots),
    columns: usize,
    out: &mut [u8; MOST],
) -> usize {
    let columns = columns.min(cells.shortest);
    let out = &mut out[..cells.arranged_len(slots)];
    let (prologue, rest) = out.split_at_mut(PROLOGUE);
    let (head, rest) = rest.split_at_mut(slots.at - 4);
    head.copy_from_slice(&page[4..slots.at]);
    let (to, rest) = rest.split_at_mut(slots.count * slots.each);
    let slot_steps = gather(page, |i| slots.at + i * slots.each, to, slots.count);
    let (to, mut rest) = rest.split_at_mut(columns * slots.count);
    let steps = gather(page, |i| cells.starts[i].into(), to, slots.count);
    for (at, len) in cells.starts.iter().zip(&cells.lens) {
        let from = *at as usize;
        let tail = &page[(from + columns).min(PAGE_SIZE)..from + *len as usize];
        let (to, behind) = rest.split_at_mut(tail.len());
        to.copy_from_slice(tail);
        rest = behind;
    }
    le::put_u16(prologue, 0, slots.at as u16);
    le::put_u16(prologue, 2, slots.count as u16);
    le::put_u16(prologue, 4, slots.each as u16);
    le::put_u16(prologue, 6, columns as u16);
    le::put_u64(prologue, 8, slot_steps);
    le::put_u64(prologue, 16, steps);
    cells.arranged_len(slots)
}

/// Reads downwards what begins at `start` of each of `n` entries; says which columns are written as steps.
fn gather(page: &[u8; PAGE_SIZE], start: impl Fn(usize) -> usize, to: &mut [u8], n: usize) -> u64 {
    let columns = to.len() / n;
    if n >= TILE && columns >= TILE {
        for (row, c) in tiles(n).flat_map(|row| tiles(columns).map(move |c| (row, c))) {
            let columns = turned(|r| word(page, start(row + r) + c));
            for (i, column) in columns.into_iter().enumerate() {
                to[(c + i) * n + row..][..TILE].copy_from_slice(&column.to_le_bytes());
            }
        }
    } else {
        for (i, to) in to.iter_mut().enumerate() {
            *to = page[start(i % n) + i / n];
        }
    }
    let mut steps = 0;
    for (c, column) in to.chunks_exact_mut(n).enumerate().take(MASKED) {
        if is_of_steps(column) {
            steps |= 1 << c;
            for i in (1..n).rev() {
                column[i] = column[i].wrapping_sub(column[i - 1]);
            }
        }
    }
    steps
}

/// Whether neighbours differ by the same step much more often than they are equal.
fn is_of_steps(column: &[u8]) -> bool {
    // So many are counted in a byte, of which a register has more than of anything else.
    const PIECE: usize = u8::MAX as usize;
    let [Some(second), Some(third)] = [column.get(1..), column.get(2..)] else {
        return false;
    };
    let (mut equals, mut steps) = (0, 0);
    let pieces = column.chunks(PIECE).zip(second.chunks(PIECE));
    for ((a, b), c) in pieces.zip(third.chunks(PIECE)) {
        let two = || a.iter().zip(b);
        let equal = two().map(|(a, b)| u8::from(a == b));
        equals += usize::from(equal.sum::<u8>());
        let three = two().zip(c);
        let same = three.map(|((a, b), c)| u8::from(c.wrapping_sub(*b) == b.wrapping_sub(*a)));
        steps += usize::from(same.sum::<u8>());
    }
    steps > equals + column.len() / 4
}

/// Writes back what was read downwards, whose columns of steps become sums first.
fn scatter(
    page: &mut [u8; PAGE_SIZE],
    start: impl Fn(usize) -> usize,
    from: &mut [u8],
    (n, steps): (usize, u64),
) {
    let of_steps = |(c, _): &(usize, _)| steps >> c & 1 == 1;
    let columns = from.chunks_exact_mut(n).take(MASKED).enumerate();
    for (_, column) in columns.filter(of_steps) {
        let mut sum = 0u8;
        for step in column {
            sum = sum.wrapping_add(*step);
            *step = sum;
        }
    }
    let columns = from.len() / n;
    if n >= TILE && columns >= TILE {
        for (row, c) in tiles(n).flat_map(|row| tiles(columns).map(move |c| (row, c))) {
            let entries = turned(|i| word(from, (c + i) * n + row));
            for (r, entry) in entries.into_iter().enumerate() {
                page[start(row + r) + c..][..TILE].copy_from_slice(&entry.to_le_bytes());
            }
        }
    } else {
        for (i, byte) in from.iter().enumerate() {
            page[start(i % n) + i / n] = *byte;
        }
    }
}

/// Makes the page anew, from its fifth byte on, of which `arranged` was made; what is in `arranged` is lost.
///
/// # Errors
/// It was made of none.
pub(super) fn restore(
    arranged: &mut [u8],
    cells: &mut Cells,
    of: CellsOf,
    page: &mut [u8; PAGE_SIZE],
) -> Result<(), &'static str> {
    const SHORT: &str = "an arranged page that ends too early";
    let Some((prologue, rest)) = arranged.split_at_mut_checked(PROLOGUE) else {
        return Err(SHORT);
    };
    let word = |at| le::get_u16(prologue, at) as usize;
    let slots = Slots {
        at: word(0),
        count: word(2),
        each: word(4),
    };
    let columns = word(6);
    if !slots.are_sound() {
        return Err("an arranged page without slots");
    }
    let (head, rest) = rest.split_at_mut_checked(slots.at - 4).ok_or(SHORT)?;
    page[4..slots.at].copy_from_slice(head);
    let from = rest.split_at_mut_checked(slots.count * slots.each);
    let (from, rest) = from.ok_or(SHORT)?;
    let steps = le::get_u64(prologue, 8);
    let slot = |i| slots.at + i * slots.each;
    scatter(page, slot, from, (slots.count, steps));
    if cells.read(page, of) != Some(slots) || columns > cells.shortest {
        return Err("an arranged page whose entries lie elsewhere");
    }
    if rest.len() != cells.bytes {
        return Err("an arranged page with other entries");
    }
    cells.clear_between(page, slots.end());
    let (from, rest) = rest.split_at_mut(columns * slots.count);
    let steps = le::get_u64(prologue, 16);
    let entry = |i| usize::from(cells.starts[i]);
    scatter(page, entry, from, (slots.count, steps));
    let mut rest = &*rest;
    for (at, len) in cells.starts.iter().zip(&cells.lens) {
        let (at, len) = (*at as usize, *len as usize);
        let (tail, behind) = rest.split_at(len - columns);
        page[at + columns..at + len].copy_from_slice(tail);
        rest = behind;
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Slots of four bytes behind byte 64, start and length of each entry; how many, in byte 32.
    pub fn pairs(page: &[u8], cells: &mut Cells) -> Option<Slots> {
        let count = le::get_u16(page, 32) as usize;
        let slots = Slots {
            at: 64,
            count,
            each: 4,
        };
        if slots.end() > PAGE_SIZE {
            return None;
        }
        for i in 0..count {
            let at = le::get_u16(page, 64 + i * 4) as usize;
            let len = le::get_u16(page, 66 + i * 4) as usize;
            if !cells.push(at, len) {
                return None;
            }
        }
        Some(slots)
    }

    /// A page with entries of these lengths from its end on, and these bytes between slots and entries and in some places between those.
    pub fn page_of(
        lens: &[usize],
        junk: u8,
        fill: impl Fn(usize, usize) -> u8,
    ) -> Box<[u8; PAGE_SIZE]> {
        let mut page = Box::new([0; PAGE_SIZE]);
        let mut at = PAGE_SIZE;
        le::put_u16(&mut page[..], 32, lens.len() as u16);
        page[64 + lens.len() * 4..].fill(junk);
        for (i, len) in lens.iter().enumerate() {
            at -= len + len % 3;
            le::put_u16(&mut page[..], 64 + i * 4, at as u16);
            le::put_u16(&mut page[..], 66 + i * 4, *len as u16);
            for c in 0..*len {
                page[at + c] = fill(i, c);
            }
        }
        page
    }

    fn there_and_back(page: &[u8; PAGE_SIZE], columns: usize) -> Box<[u8; PAGE_SIZE]> {
        let mut cells = Cells::new();
        let slots = cells.read(page, pairs).expect("entries");
        let mut out = Box::new([0xAA; MOST]);
        let n = arrange(page, (&cells, &slots), columns, &mut out);
        let mut back = Box::new([0x55; PAGE_SIZE]);
        back[..4].copy_from_slice(&page[..4]);
        restore(&mut out[..n].to_vec(), &mut cells, pairs, &mut back).expect("a page");
        for shorter in [0, PROLOGUE - 1, PROLOGUE, n / 2, n - 1] {
            let mut other = Box::new([0; PAGE_SIZE]);
            assert!(restore(&mut out[..shorter].to_vec(), &mut cells, pairs, &mut other).is_err());
        }
        back
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn a_page_comes_back_without_what_nobody_uses(
            lens in prop::collection::vec(0usize..250, 4..50),
            least in 0usize..60,
            seed in any::<u64>(),
            step in 0u8..5,
            columns in 0usize..400,
        ) {
            let noise = |i: usize, c: usize| {
                let n = (seed ^ (i * 1000 + c) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
                if c.is_multiple_of(3) { step.wrapping_mul(i as u8) } else { n as u8 }
            };
            let lens: Vec<usize> = lens.into_iter().map(|len| len + least).collect();
            let back = there_and_back(&page_of(&lens, 0xEE, noise), columns);
            prop_assert_eq!(back, page_of(&lens, 0, noise));
        }

        #[test]
        fn bytes_that_are_no_page_are_refused_or_make_one(
            mut bytes in prop::collection::vec(any::<u8>(), 0..2000),
            sound in any::<bool>(),
            count in 4u16..200,
        ) {
            if sound && bytes.len() > 100 {
                le::put_u16(&mut bytes, 0, 64);
                le::put_u16(&mut bytes, 2, count);
                le::put_u16(&mut bytes, 4, 4);
                le::put_u16(&mut bytes, 6, 0);
                le::put_u16(&mut bytes, PROLOGUE + 28, count);
            }
            let mut page = Box::new([0; PAGE_SIZE]);
            let _ = restore(&mut bytes, &mut Cells::new(), pairs, &mut page);
        }
    }

    #[test]
    fn entries_that_overlap_or_leave_the_page_are_none() {
        let mut cells = Cells::new();
        assert!(cells.push(1000, 200));
        assert!(!cells.push(1199, 1));
        assert!(!cells.push(900, 101));
        assert!(cells.push(1200, 64));
        assert!(cells.push(1000, 0));
        assert!(!cells.push(PAGE_SIZE - 1, 2));
        assert!(cells.push(PAGE_SIZE - 1, 1));
        // Among the slots.
        let mut page = page_of(&[100; 8], 0, |_, _| 1);
        assert!(cells.read(&page, pairs).is_some());
        le::put_u16(&mut page[..], 64, 90);
        assert!(cells.read(&page, pairs).is_none());
        assert!(cells.read(&page, unknown).is_none());
    }

    #[test]
    fn ascending_columns_are_written_as_steps() {
        let page = page_of(&[8; 100], 0, |i, c| [i as u8, 7][c % 2]);
        let mut cells = Cells::new();
        let slots = cells.read(&page, pairs).expect("entries");
        let mut out = Box::new([0; MOST]);
        arrange(&page, (&cells, &slots), 8, &mut out);
        assert_eq!(le::get_u64(&out[..], 16), 0b0101_0101);
    }
}
