//! Weights of the `general_ci` and `latin1_swedish_ci` collations: one 16-bit number a character.
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

/// Weight of a `latin1_swedish_ci` byte, by the sort order of Swedish: Å, Ä, Ö after Z; other accents dropped.
#[inline]
pub(super) fn swedish(b: u8) -> u8 {
    SWEDISH[usize::from(b)]
}

static SWEDISH: [u8; 256] = {
    let mut t = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        t[i] = swedish_weight(i as u8);
        i += 1;
    }
    t
};

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
