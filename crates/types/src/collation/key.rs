//! Keys of character strings whose `memcmp` order is the collation's order.
//!
//! Each weight becomes a byte string that is no prefix of another's, one byte for ASCII, and the key ends in a mark that sorts
//! where the end of the string must sort. Under PAD SPACE the end stands for endless spaces: then a run of spaces is written
//! with the byte below the end mark if what follows the run sorts below a space, above it otherwise. Thus a key costs one byte
//! more than the text, and padding needs no look at the other string.

use super::general::{self, ASCII_FOLD, Latin};
use super::language;
use super::registry::{CollationInfo, Kind};
use super::tailored;
use super::uca::{self, Elements};
use crate::charset::Charset;
use std::sync::LazyLock;

/// Codes around the space in code-point keys: run before something lower, end of the string, run before something higher.
const RUN_LOW: u8 = 0x20;
const END_PAD: u8 = 0x21;
const RUN_HIGH: u8 = 0x22;

pub(super) fn write(info: &CollationInfo, s: &[u8], out: &mut Vec<u8>) {
    match info.kind {
        Kind::Binary | Kind::BytesNoPad => write_bytes(s, out),
        Kind::BytesPad => write_bytes_padded(s, out),
        Kind::General => write_padded(
            s,
            out,
            |s| general::next(info.charset, s),
            |b| ASCII_FOLD[usize::from(b & 0x7F)],
        ),
        Kind::Latin(by) => write_padded(
            s,
            out,
            |s| (u32::from(general::latin(by, s[0])), 1),
            |b| general::latin(by, b),
        ),
        Kind::Unicode(by) => {
            let weights = language::Weights::new(by, info.charset, s);
            out.reserve(s.len() + 1);
            write_weights_padded(&CODE_400, weights.map(u32::from), out);
        }
        Kind::UcaPrimary => write_primary(info, s, out),
        Kind::UcaSecondary => {
            write_primary(info, s, out);
            write_level(info, s, uca::secondary, out);
        }
        Kind::UcaTertiary => {
            write_primary(info, s, out);
            write_level(info, s, uca::secondary, out);
            write_level(info, s, uca::tertiary, out);
        }
        Kind::Tailored(by, levels) => {
            let weights = |level| tailored::Weights::new(by, info.charset, s).level(level);
            out.reserve(s.len() + 1);
            weights(0).for_each(|w| CODE.push(w, out));
            out.push(0);
            for level in 1..usize::from(levels) {
                write_weights(weights(level), out);
            }
        }
    }
}

/// The first eight bytes of the key, where the first eight bytes of the text are characters of one byte each in it.
pub(super) fn head(info: &CollationInfo, s: &[u8]) -> Option<u64> {
    let text: &[u8; 8] = s.first_chunk()?;
    match info.kind {
        Kind::Binary | Kind::BytesNoPad => simple(text, |b| b, |b| b > 1),
        Kind::BytesPad => simple(text, |b| b.wrapping_add(2), |b| (b'!'..0xFD).contains(&b)),
        Kind::General | Kind::Latin(Latin::Swedish) => simple(
            text,
            |b| ASCII_FOLD[usize::from(b & 0x7F)].wrapping_add(2),
            |b| (b'!'..0x7E).contains(&b),
        ),
        Kind::UcaPrimary | Kind::UcaSecondary | Kind::UcaTertiary if !info.pad_space => {
            let code = &*CODE;
            let byte = |b| code.byte[usize::from(b)];
            simple(text, byte, |b| byte(b) != 0)
        }
        Kind::Latin(_)
        | Kind::Unicode(_)
        | Kind::UcaPrimary
        | Kind::UcaSecondary
        | Kind::UcaTertiary
        | Kind::Tailored(..) => None,
    }
}

#[inline]
fn simple(text: &[u8; 8], code: impl Fn(u8) -> u8, is: impl Fn(u8) -> bool) -> Option<u64> {
    let all = text.iter().fold(true, |all, &b| all & is(b));
    all.then(|| u64::from_be_bytes(text.map(code)))
}

/// Bytes in `memcmp` order with an end mark: 0x00 and 0x01 are escaped by 0x01, the key ends in 0x00.
pub(crate) fn write_bytes(s: &[u8], out: &mut Vec<u8>) {
    out.reserve(s.len() + 1);
    let mut rest = s;
    while let Some(i) = rest.iter().position(|&b| b <= 1) {
        out.extend_from_slice(&rest[..i]);
        out.extend_from_slice(&[1, rest[i] + 1]);
        rest = &rest[i + 1..];
    }
    out.extend_from_slice(rest);
    out.push(0);
}

/// Reads what [`write_bytes`] wrote; returns the bytes consumed, `None` if there is no end mark.
pub(crate) fn read_bytes(key: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let mut i = 0;
    loop {
        match *key.get(i)? {
            0 => return Some(i + 1),
            1 => {
                out.push(key.get(i + 1)?.checked_sub(1)?);
                i += 2;
            }
            b => {
                out.push(b);
                i += 1;
            }
        }
    }
}

/// Length of a key at the front of `key`, its end mark included.
pub(super) fn len(info: &CollationInfo, key: &[u8]) -> Option<usize> {
    let mark = |m: u8, key: &[u8]| key.iter().position(|&b| b == m).map(|i| i + 1);
    match info.kind {
        // 0 occurs only at the end: escaped text has none.
        Kind::Binary | Kind::BytesNoPad => mark(0, key),
        // The end mark is below every UTF-8 continuation byte.
        Kind::BytesPad | Kind::General | Kind::Latin(_) => mark(END_PAD, key),
        Kind::Unicode(_) => primary_len(&CODE_400, true, key),
        Kind::UcaPrimary => primary_len(&CODE, info.pad_space, key),
        Kind::UcaSecondary | Kind::UcaTertiary | Kind::Tailored(..) => {
            let levels = match info.kind {
                Kind::UcaSecondary => 1,
                Kind::Tailored(_, levels) => levels - 1,
                _ => 2,
            };
            let mut at = primary_len(&CODE, info.pad_space, key)?;
            for _ in 0..levels {
                loop {
                    let b = *key.get(at)?;
                    at += if b == 0xFF { 2 } else { 1 };
                    if b == 0 {
                        break;
                    }
                }
            }
            Some(at)
        }
    }
}

fn primary_len(code: &PrimaryCode, pad_space: bool, key: &[u8]) -> Option<usize> {
    let end = if pad_space { code.space + 1 } else { 0 };
    let last = code.gap(code.ascii.len(), u32::MAX);
    let mut at = 0;
    loop {
        let b = *key.get(at)?;
        if b == end {
            return Some(at + 1);
        }
        at += match b {
            0xFF => 3,
            b if b >= last => 2,
            // Below the space odd bytes lead a gap, above it too: the space takes three codes, an odd number with its gap.
            b if (code.space..=code.space + 2).contains(&b) => 1,
            b if b % 2 == 1 => 3,
            _ => 1,
        };
    }
}

/// Bytes under PAD SPACE, each in one byte but for the three highest, which UTF-8 does not have.
fn write_bytes_padded(s: &[u8], out: &mut Vec<u8>) {
    let end = s.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1);
    out.reserve(end + 1);
    // A run takes its code from what follows it.
    let mut run = 0;
    for &b in &s[..end] {
        if b == b' ' {
            run += 1;
            continue;
        }
        if run > 0 {
            out.resize(out.len() + run, if b < b' ' { RUN_LOW } else { RUN_HIGH });
            run = 0;
        }
        match b {
            0..b' ' => out.push(b),
            0xFD.. => out.extend_from_slice(&[0xFF, b]),
            _ => out.push(b + 2),
        }
    }
    out.push(END_PAD);
}

/// Weights that are code points or behave as such, under PAD SPACE. `ascii` weighs an ASCII byte without changing sides of
/// the space.
fn write_padded(
    s: &[u8],
    out: &mut Vec<u8>,
    next: impl Fn(&[u8]) -> (u32, usize),
    ascii: impl Fn(u8) -> u8,
) {
    let end = s.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1);
    let mut rest = &s[..end];
    out.reserve(rest.len() + 1);
    while let Some(&b) = rest.first() {
        if b == b' ' {
            let run = rest.iter().take_while(|&&b| b == b' ').count();
            rest = &rest[run..];
            // Trailing spaces are gone, so the run has a successor.
            let low = rest.first().is_some_and(|&b| b < b' ');
            out.resize(out.len() + run, if low { RUN_LOW } else { RUN_HIGH });
            continue;
        }
        let (w, n) = if b < 0x80 {
            (u32::from(ascii(b)), 1)
        } else {
            next(rest)
        };
        rest = &rest[n..];
        if w < 0x20 {
            out.push(w as u8);
        } else if w < 0x7E {
            out.push(w as u8 + 2);
        } else {
            push_utf8(w + 2, out);
        }
    }
    out.push(END_PAD);
}

/// UTF-8 of any number below 2^21: its byte order is the order of numbers.
fn push_utf8(c: u32, out: &mut Vec<u8>) {
    let tail = |shift: u32| 0x80 | (c >> shift & 0x3F) as u8;
    match c {
        0..=0x7F => out.push(c as u8),
        0x80..=0x7FF => out.extend_from_slice(&[0xC0 | (c >> 6) as u8, tail(0)]),
        0x800..=0xFFFF => out.extend_from_slice(&[0xE0 | (c >> 12) as u8, tail(6), tail(0)]),
        _ => out.extend_from_slice(&[0xF0 | (c >> 18) as u8, tail(12), tail(6), tail(0)]),
    }
}

/// How primary weights become bytes: one for those of ASCII characters, a lead byte and the weight for those between, a lead
/// byte and the low byte for the weights after `z` (all other scripts of the table), three bytes for implicit ones.
struct PrimaryCode {
    /// Distinct primaries of ASCII, ascending.
    ascii: Vec<u32>,
    /// Code of an ASCII character; 0 for an ignored one, and for what is not ASCII.
    byte: [u8; 256],
    /// Codes of a space run before something lower, of the end, of a run before something higher.
    space: u8,
    /// Weight of the space.
    space_weight: u32,
}

static CODE: LazyLock<PrimaryCode> =
    LazyLock::new(|| PrimaryCode::new(&uca::ASCII.map(uca::primary), uca::SPACE));

/// That of UCA 4.0.0, for all its languages.
static CODE_400: LazyLock<PrimaryCode> =
    LazyLock::new(|| PrimaryCode::new(&language::ascii(), u32::from(language::SPACE)));

impl PrimaryCode {
    /// By the weights of ASCII characters; 0 for those that are ignored.
    fn new(weights: &[u32; 128], space_weight: u32) -> PrimaryCode {
        let mut ascii: Vec<u32> = weights.to_vec();
        ascii.retain(|&p| p != 0);
        ascii.sort_unstable();
        ascii.dedup();
        let mut code = PrimaryCode {
            ascii,
            byte: [0; 256],
            space: 0,
            space_weight,
        };
        for (c, &p) in weights.iter().enumerate() {
            if p != 0 {
                code.byte[c] = code.exact(code.ascii.partition_point(|&a| a < p), p);
            }
        }
        code.space = code.byte[usize::from(b' ')];
        code
    }

    /// Lead byte of the gap before the ASCII primary number `i`; the space takes three codes.
    fn gap(&self, i: usize, p: u32) -> u8 {
        1 + 2 * i as u8 + if p > self.space_weight { 2 } else { 0 }
    }

    fn exact(&self, i: usize, p: u32) -> u8 {
        self.gap(i, p) + 1
    }

    fn push(&self, p: u32, out: &mut Vec<u8>) {
        let i = self.ascii.partition_point(|&a| a < p);
        match self.ascii.get(i) {
            Some(&a) if a == p => out.push(self.exact(i, p)),
            Some(_) => out.extend_from_slice(&[self.gap(i, p), (p >> 8) as u8, p as u8]),
            None => {
                let last = self.ascii.last().copied().unwrap_or(0);
                let above = p - last - 1;
                let lead = u32::from(self.gap(i, p)) + (above >> 8);
                if lead < 0xFF {
                    out.extend_from_slice(&[lead as u8, above as u8]);
                } else {
                    out.extend_from_slice(&[0xFF, (p >> 8) as u8, p as u8]);
                }
            }
        }
    }
}

fn write_primary(info: &CollationInfo, s: &[u8], out: &mut Vec<u8>) {
    let code = &*CODE;
    out.reserve(s.len() + 1);
    if !info.pad_space {
        let ascii = match s.is_ascii() {
            true => s.len(),
            false => s.iter().position(|b| *b >= 0x80).unwrap_or(s.len()),
        };
        let start = out.len();
        out.extend(s[..ascii].iter().map(|&b| code.byte[usize::from(b)]));
        // Characters without a weight are rare: looked for afterwards, they cost the others next to nothing.
        if out[start..].contains(&0) {
            let mut kept = start;
            for i in start..out.len() {
                out[kept] = out[i];
                kept += usize::from(out[i] != 0);
            }
            out.truncate(kept);
        }
        let mut e = Elements::new(info.charset, &s[ascii..]);
        while let Some(p) = e.next_primary() {
            code.push(p, out);
        }
        out.push(0);
        return;
    }
    let mut e = Elements::new(info.charset, s);
    write_weights_padded(code, std::iter::from_fn(|| e.next_primary()), out);
}

/// Weights under PAD SPACE.
fn write_weights_padded(code: &PrimaryCode, weights: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let mut run = 0;
    for p in weights {
        if p == code.space_weight {
            run += 1;
            continue;
        }
        if run > 0 {
            let c = if p < code.space_weight {
                code.space
            } else {
                code.space + 2
            };
            out.resize(out.len() + run, c);
            run = 0;
        }
        code.push(p, out);
    }
    out.push(code.space + 1);
}

fn write_level(info: &CollationInfo, s: &[u8], weight: fn(u32) -> u32, out: &mut Vec<u8>) {
    let weights = Elements::new(info.charset, s).map(weight);
    write_weights(weights.filter(|&w| w != 0), out);
}

/// Weights of a level behind the first.
fn write_weights(weights: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    for w in weights {
        if w < 0xFF {
            out.push(w as u8);
        } else {
            out.extend_from_slice(&[0xFF, (w - 0xFF) as u8]);
        }
    }
    out.push(0);
}

pub(super) fn weight_string(info: &CollationInfo, s: &[u8], out: &mut Vec<u8>) {
    let level = |weight: fn(u32) -> u32, out: &mut Vec<u8>| {
        for w in Elements::new(info.charset, s)
            .map(weight)
            .filter(|&w| w != 0)
        {
            out.extend_from_slice(&(w as u16).to_be_bytes());
        }
    };
    match info.kind {
        Kind::Binary | Kind::BytesNoPad => out.extend_from_slice(s),
        Kind::BytesPad if !info.charset.is_utf8() => out.extend_from_slice(s),
        Kind::BytesPad => {
            let mut rest = s;
            while let Some((c, n)) = info.charset.next_char(rest) {
                out.extend_from_slice(&c.to_be_bytes()[1..]);
                rest = &rest[n..];
            }
        }
        Kind::Latin(by) => out.extend(s.iter().map(|&b| general::latin(by, b))),
        Kind::General => {
            let mut rest = s;
            while !rest.is_empty() {
                let (w, n) = general::next(info.charset, rest);
                if info.charset == Charset::Utf8mb4 || info.charset == Charset::Utf8mb3 {
                    out.extend_from_slice(&(w as u16).to_be_bytes());
                } else {
                    out.push(w as u8);
                }
                rest = &rest[n..];
            }
        }
        Kind::Unicode(by) => {
            for w in language::Weights::new(by, info.charset, s) {
                out.extend_from_slice(&w.to_be_bytes());
            }
        }
        Kind::Tailored(by, levels) => {
            for n in 0..usize::from(levels) {
                if n > 0 {
                    out.extend_from_slice(&[0, 0]);
                }
                for w in tailored::Weights::new(by, info.charset, s).level(n) {
                    out.extend_from_slice(&(w as u16).to_be_bytes());
                }
            }
        }
        Kind::UcaPrimary => level(uca::primary, out),
        Kind::UcaSecondary => {
            level(uca::primary, out);
            out.extend_from_slice(&[0, 0]);
            level(uca::secondary, out);
        }
        Kind::UcaTertiary => {
            level(uca::primary, out);
            out.extend_from_slice(&[0, 0]);
            level(uca::secondary, out);
            out.extend_from_slice(&[0, 0]);
            level(uca::tertiary, out);
        }
    }
}
