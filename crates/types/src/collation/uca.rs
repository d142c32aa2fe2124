//! Collation elements of the Unicode collation algorithm (UTS #10) for the 0900 and unicode_ci collations.
//!
//! The table is the DUCET of Unicode 9.0 without contractions. Variable elements are not ignored, as
//! in MySQL. Hangul syllables are weighed as their jamo, ideographs and unassigned code points get implicit weights.
//! The README states how this departs from MySQL's own tables.

use crate::charset::Charset;

/// Layout: see `data/gen_uca.py`.
static TABLE: &[u8] = include_bytes!("data/uca.bin");
const INDEX_AT: usize = 8;
const INDEX_LEN: usize = 0x1100;
const PAGES_AT: usize = INDEX_AT + INDEX_LEN;
const EXPANSIONS_AT: usize = PAGES_AT + read(0) as usize * 1024;
const IMPLICIT: u32 = u32::MAX;
const EXPANSION_FLAG: u32 = 0x8000;

const fn read(at: usize) -> u32 {
    (TABLE[at] as u32)
        | (TABLE[at + 1] as u32) << 8
        | (TABLE[at + 2] as u32) << 16
        | (TABLE[at + 3] as u32) << 24
}

/// Collation elements of ASCII characters; 0 for the ignored control characters.
pub(super) static ASCII: [u32; 128] = {
    let mut t = [0u32; 128];
    let page = TABLE[INDEX_AT] as usize;
    let mut i = 0;
    while i < 128 {
        t[i] = read(PAGES_AT + page * 1024 + i * 4);
        i += 1;
    }
    t
};

/// Primary weight of an element.
#[inline]
pub(super) const fn primary(ce: u32) -> u32 {
    ce >> 16
}

/// Secondary weight of an element.
#[inline]
pub(super) const fn secondary(ce: u32) -> u32 {
    ce >> 5 & 0x1FF
}

/// Tertiary weight of an element.
#[inline]
pub(super) const fn tertiary(ce: u32) -> u32 {
    ce & 0x1F
}

/// Primary weight of the space.
pub(super) const SPACE: u32 = primary(ASCII[b' ' as usize]);

fn entry(c: u32) -> u32 {
    if c > 0x10_FFFF {
        return IMPLICIT;
    }
    let page = usize::from(TABLE[INDEX_AT + (c >> 8) as usize]);
    if page == 0xFF {
        return IMPLICIT;
    }
    read(PAGES_AT + page * 1024 + (c as usize & 0xFF) * 4)
}

/// The two elements of a character that no table lists (UTS #10, 10.1.3).
fn implicit(c: u32) -> [u32; 2] {
    if c > 0x10_FFFF {
        // Bytes that are no character: after everything, in byte order.
        return [0xFFFF_0402, (0x8000 | (c & 0xFF)) << 16];
    }
    let (base, low) = match c {
        0x1_7000..=0x1_8AFF => (0xFB00, c - 0x1_7000),
        0x4E00..=0x9FD5
        | 0xFA0E
        | 0xFA0F
        | 0xFA11
        | 0xFA13
        | 0xFA14
        | 0xFA1F
        | 0xFA21
        | 0xFA23
        | 0xFA24
        | 0xFA27..=0xFA29 => (0xFB40 + (c >> 15), c & 0x7FFF),
        0x3400..=0x4DB5
        | 0x2_0000..=0x2_A6D6
        | 0x2_A700..=0x2_B734
        | 0x2_B740..=0x2_B81D
        | 0x2_B820..=0x2_CEA1 => (0xFB80 + (c >> 15), c & 0x7FFF),
        _ => (0xFBC0 + (c >> 15), c & 0x7FFF),
    };
    [base << 16 | 0x402, (low | 0x8000) << 16]
}

/// Iterator over the non-zero collation elements of a text.
pub(super) struct Elements<'a> {
    charset: Charset,
    rest: &'a [u8],
    expansion: usize,
    expansion_left: u32,
    queue: [u32; 2],
    queued: u8,
}

impl<'a> Elements<'a> {
    pub(super) fn new(charset: Charset, s: &'a [u8]) -> Self {
        Self {
            charset,
            rest: s,
            expansion: 0,
            expansion_left: 0,
            queue: [0; 2],
            queued: 0,
        }
    }

    fn push(&mut self, first: u32, second: u32) {
        self.queue = [first, second];
        self.queued = 2;
    }

    /// The next primary weight that is not zero.
    pub(super) fn next_primary(&mut self) -> Option<u32> {
        loop {
            let p = primary(self.next()?);
            if p != 0 {
                return Some(p);
            }
        }
    }
}

impl Iterator for Elements<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if self.expansion_left > 0 {
                let ce = read(self.expansion);
                self.expansion += 4;
                self.expansion_left -= 1;
                return Some(ce);
            }
            if self.queued > 0 {
                let ce = self.queue[2 - usize::from(self.queued)];
                self.queued -= 1;
                if ce != 0 {
                    return Some(ce);
                }
                continue;
            }
            let (c, n) = self.charset.next_char(self.rest)?;
            self.rest = &self.rest[n..];
            if c < 128 {
                let ce = ASCII[c as usize];
                if ce != 0 {
                    return Some(ce);
                }
                continue;
            }
            if (0xAC00..=0xD7A3).contains(&c) {
                let s = c - 0xAC00;
                let tail = s % 28;
                self.push(
                    entry(0x1161 + s % 588 / 28),
                    if tail == 0 { 0 } else { entry(0x11A7 + tail) },
                );
                return Some(entry(0x1100 + s / 588));
            }
            match entry(c) {
                0 => {}
                IMPLICIT => {
                    let [a, b] = implicit(c);
                    self.push(b, 0);
                    return Some(a);
                }
                e if e & EXPANSION_FLAG != 0 => {
                    self.expansion = EXPANSIONS_AT + (e >> 16) as usize * 4;
                    self.expansion_left = e & 0x7FFF;
                }
                e => return Some(e),
            }
        }
    }
}
