//! Weights of the `general_ci` collations, one 16-bit number a character, and of latin1's, one number a byte.
//!
//! `general_ci` weighs a letter as the upper case of its base letter in Unicode 3.0; `data/gen_general.py` states the rule and
//! writes the table. Characters outside the basic plane all weigh 0xFFFD, as in MySQL.

use crate::charset::Charset;

/// 256 page numbers, then pages of 256 little-endian u16.
static TABLE: &[u8] = include_bytes!("data/general.bin");

/// Weight of every ASCII character: its upper case.
pub(super) static ASCII_FOLD: [u8; 128] = {
    let mut t = [0u8; 128];
    let mut i = 0;
    while i < 128 {
        t[i] = (i as u8).to_ascii_uppercase();
        i += 1;
    }
    t
};

/// Weight of a Unicode character; a byte that is no character weighs more than any.
#[inline]
pub(super) fn weight(c: u32) -> u32 {
    if c < 128 {
        return u32::from(ASCII_FOLD[c as usize]);
    }
    if c > 0xFFFF {
        return if c > 0x10_FFFF { c } else { 0xFFFD };
    }
    let page = usize::from(TABLE[(c >> 8) as usize]);
    if page == 0xFF {
        return c;
    }
    let at = 256 + page * 512 + (c as usize & 0xFF) * 2;
    u32::from(u16::from_le_bytes([TABLE[at], TABLE[at + 1]]))
}

/// The weights of a collation of latin1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Latin {
    /// `latin1_swedish_ci`.
    Swedish,
    /// `latin1_general_ci`: accents tell letters apart, case does not.
    GeneralCi,
    /// `latin1_general_cs`: accents and case tell letters apart.
    GeneralCs,
}

/// Weight of a byte of latin1.
#[inline]
pub(super) fn latin(by: Latin, b: u8) -> u8 {
    match by {
        Latin::Swedish => SWEDISH[usize::from(b)],
        Latin::GeneralCi => GENERAL_CI[usize::from(b)],
        Latin::GeneralCs => GENERAL_CS[usize::from(b)],
    }
}

/// Every letter of latin1 in the order of `latin1_general_cs`: accents follow their letter. What is below `A` comes before
/// them, all other bytes after them, by number but for the signs of multiplication and division, which follow `~`.
static LETTERS: &[u8] =
    b"Aa\xC0\xE0\xC1\xE1\xC2\xE2\xC3\xE3\xC4\xE4\xC5\xE5\xC6\xE6BbCc\xC7\xE7Dd\xD0\xF0\
Ee\xC8\xE8\xC9\xE9\xCA\xEA\xCB\xEBFfGgHhIi\xCC\xEC\xCD\xED\xCE\xEE\xCF\xEFJjKkLlMmNn\xD1\xF1\
Oo\xD2\xF2\xD3\xF3\xD4\xF4\xD5\xF5\xD6\xF6\xD8\xF8PpQqRrSs\xDFTtUu\xD9\xF9\xDA\xFA\xDB\xFB\xDC\xFC\
VvWwXxYy\xDD\xFD\xFFZz\xDE\xFE";

static GENERAL_CS: [u8; 256] = {
    let mut t = [0u8; 256];
    let mut i = 0;
    while i < b'A' as usize {
        t[i] = i as u8;
        i += 1;
    }
    let mut next = b'A' as usize;
    let mut k = 0;
    while k < LETTERS.len() {
        t[LETTERS[k] as usize] = next as u8;
        next += 1;
        k += 1;
    }
    while i < 256 {
        if t[i] == 0 && i != 0xD7 && i != 0xF7 {
            t[i] = next as u8;
            next += 1;
        }
        if i == b'~' as usize {
            t[0xD7] = next as u8;
            t[0xF7] = next as u8 + 1;
            next += 2;
        }
        i += 1;
    }
    t
};

static GENERAL_CI: [u8; 256] = {
    let mut t = GENERAL_CS;
    let mut i = 0;
    while i < 256 {
        if matches!(i as u8, b'a'..=b'z' | 0xE0..=0xF6 | 0xF8..=0xFE) {
            t[i] = GENERAL_CS[i - 32];
        }
        i += 1;
    }
    t
};

static SWEDISH: [u8; 256] = {
    let mut t = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        t[i] = swedish_weight(i as u8);
        i += 1;
    }
    t
};

/// By the sort order of Swedish: Å, Ä, Ö after Z; other accents dropped.
const fn swedish_weight(b: u8) -> u8 {
    match b {
        b'a'..=b'z' => b - 32,
        0xC0..=0xC3 | 0xE0..=0xE3 => b'A',
        0xC4 | 0xC6 | 0xE4 | 0xE6 => b'\\',
        0xC5 | 0xE5 => b'[',
        0xC7 | 0xE7 => b'C',
        0xC8..=0xCB | 0xE8..=0xEB => b'E',
        0xCC..=0xCF | 0xEC..=0xEF => b'I',
        0xD0 | 0xF0 => b'D',
        0xD1 | 0xF1 => b'N',
        0xD2..=0xD5 | 0xF2..=0xF5 => b'O',
        0xD6 | 0xF6 => b']',
        0xF8 => 0xD8,
        0xD9..=0xDB | 0xF9..=0xFB => b'U',
        0xDC | 0xDD | 0xFC | 0xFD => b'Y',
        0xFE => 0xDE,
        _ => b,
    }
}

/// Weight of the first character of non-empty text and its length in bytes.
#[inline]
pub(super) fn next(charset: Charset, s: &[u8]) -> (u32, usize) {
    let (c, n) = charset.next_char(s).unwrap_or((0, 1));
    (weight(c), n)
}
