//! UPPER and LOWER: one character to one character, as MySQL's case tables do (so `ß` stays `ß`).

use super::registry::{CollationInfo, Kind};
use crate::charset::Charset;

pub(super) fn upper(info: &CollationInfo, s: &[u8], out: &mut Vec<u8>) {
    // The tables of latin1 know the letters of Latin-1 alone.
    let letters = |c| info.charset != Charset::Latin1 || ('à'..='þ').contains(&c);
    map(info, s, out, u8::to_ascii_uppercase, |c| {
        if !letters(c) {
            return c;
        }
        let mut u = c.to_uppercase();
        match (u.next(), u.next()) {
            (Some(x), None) => x,
            _ => c,
        }
    });
}

pub(super) fn lower(info: &CollationInfo, s: &[u8], out: &mut Vec<u8>) {
    let letters = |c| info.charset != Charset::Latin1 || ('À'..='Þ').contains(&c);
    map(info, s, out, u8::to_ascii_lowercase, |c| {
        if !letters(c) {
            return c;
        }
        let mut l = c.to_lowercase();
        // U+0130 lowers to i and a combining dot; MySQL keeps the i.
        l.next().unwrap_or(c)
    });
}

fn map(
    info: &CollationInfo,
    s: &[u8],
    out: &mut Vec<u8>,
    ascii: fn(&u8) -> u8,
    wide: impl Fn(char) -> char,
) {
    if info.kind == Kind::Binary {
        out.extend_from_slice(s);
        return;
    }
    out.reserve(s.len());
    let mut rest = s;
    while let Some(&b) = rest.first() {
        if b < 0x80 {
            out.push(ascii(&b));
            rest = &rest[1..];
            continue;
        }
        let (c, n) = info.charset.next_char(rest).unwrap_or((0, 1));
        let done = info.charset != Charset::Ascii
            && char::from_u32(c).is_some_and(|c| info.charset.push_char(u32::from(wide(c)), out));
        if !done {
            out.extend_from_slice(&rest[..n]);
        }
        rest = &rest[n..];
    }
}
