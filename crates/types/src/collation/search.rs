//! Substring search under a collation, in time linear in the text and what is looked for.
//!
//! Where bytes decide, `memmem` searches. Elsewhere every character becomes a number, equal for characters that count as one, and the
//! text is read once with the failure function of Knuth, Morris and Pratt.

use super::general;
use super::language;
use super::registry::{CollationInfo, Kind};
use super::tailored;
use super::uca::Elements;
use crate::charset::Charset;
use crate::{Pace, SqlError};
use memchr::memmem::Finder;
use std::collections::HashMap;

/// Bytes searched between two ticks where the search is not ours.
const PIECE: usize = 1 << 16;

/// Occurrences of a needle as bytes that begin where a character does, from left to right. Made once, used for many texts.
pub struct ByteSearch<'n> {
    finder: Finder<'n>,
    /// A match may lie across characters: the needle begins with a byte that goes on with one.
    across: bool,
    charset: Charset,
}

impl<'n> ByteSearch<'n> {
    /// For text of a character set.
    pub fn new(charset: Charset, needle: &'n [u8]) -> ByteSearch<'n> {
        let across = charset.is_utf8() && needle.first().is_some_and(|b| b & 0xC0 == 0x80);
        ByteSearch {
            finder: Finder::new(needle),
            across,
            charset,
        }
    }

    /// The first occurrence at or after `from`, which is where a character begins.
    ///
    /// # Errors
    /// What `pace` says.
    pub fn find(
        &self,
        text: &[u8],
        from: usize,
        pace: &Pace<'_>,
    ) -> Result<Option<usize>, SqlError> {
        let needle = self.finder.needle();
        if self.across {
            return self.slowly(text, from, pace);
        }
        // Pieces overlap by the needle: not much smaller than it, or all of it is read again and again.
        let piece = PIECE.max(needle.len());
        let mut at = from;
        while at + needle.len() <= text.len() {
            let end = text.len().min(at + piece + needle.len());
            pace.tick((end - at) / 16)?;
            if let Some(i) = self.finder.find(&text[at..end]) {
                return Ok(Some(at + i));
            }
            at += piece + 1;
        }
        Ok(None)
    }

    /// Bytes that cannot begin a character, or can only where text is damaged: character by character.
    fn slowly(&self, text: &[u8], from: usize, pace: &Pace<'_>) -> Result<Option<usize>, SqlError> {
        let needle = self.finder.needle();
        let mut at = from;
        while at + needle.len() <= text.len() {
            pace.tick(4)?;
            if text[at..].starts_with(needle) {
                pace.tick(needle.len())?;
                return Ok(Some(at));
            }
            at += self.charset.next_char(&text[at..]).map_or(1, |(_, n)| n);
        }
        Ok(None)
    }
}

/// Numbers for characters: equal where the collation tells no difference.
struct Numbers<'i> {
    info: &'i CollationInfo,
    ascii: [u64; 128],
    /// Characters of no or several weights.
    rare: HashMap<Vec<u32>, u64>,
}

/// Numbers from here on are no weights: of control characters, then of the rare ones.
const CONTROL: u64 = 1 << 32;
const RARE: u64 = 1 << 33;

impl<'i> Numbers<'i> {
    fn new(info: &'i CollationInfo) -> Numbers<'i> {
        let mut n = Numbers {
            info,
            ascii: [0; 128],
            rare: HashMap::new(),
        };
        for b in 0..128u8 {
            n.ascii[usize::from(b)] = n.compute(u32::from(b), &[b]);
        }
        n
    }

    fn keep(&self, e: u32) -> u32 {
        match self.info.kind {
            Kind::UcaPrimary => e & 0xFFFF_0000,
            Kind::UcaSecondary => e & !0x1F,
            _ => e,
        }
    }

    fn compute(&mut self, c: u32, bytes: &[u8]) -> u64 {
        match self.info.kind {
            Kind::General => u64::from(general::weight(c)),
            Kind::Latin(by) => u64::from(general::latin(by, bytes[0])),
            Kind::Binary | Kind::BytesNoPad | Kind::BytesPad => u64::from(c),
            Kind::Unicode(by) => self.number(c, language::of_character(by, c)),
            Kind::Tailored(by, levels) => {
                self.number(c, tailored::of_character(by, usize::from(levels), c))
            }
            Kind::UcaPrimary | Kind::UcaSecondary | Kind::UcaTertiary => self.weights(c, bytes),
        }
    }

    fn weights(&mut self, c: u32, bytes: &[u8]) -> u64 {
        let mut all = Vec::new();
        for e in Elements::new(self.info.charset, bytes) {
            let e = self.keep(e);
            if e != 0 {
                all.push(e);
            }
        }
        self.number(c, all)
    }

    fn number(&mut self, c: u32, all: Vec<u32>) -> u64 {
        match all.as_slice() {
            [one] => u64::from(*one),
            // A control character is equal to itself alone.
            [] if c < 128 => CONTROL | u64::from(c),
            _ => {
                let next = RARE + self.rare.len() as u64;
                *self.rare.entry(all).or_insert(next)
            }
        }
    }

    /// The number of the first character, and its length in bytes.
    fn next(&mut self, s: &[u8]) -> Option<(u64, usize)> {
        let &b = s.first()?;
        if let Kind::Latin(by) = self.info.kind {
            return Some((u64::from(general::latin(by, b)), 1));
        }
        if b < 0x80 {
            return Some((self.ascii[usize::from(b)], 1));
        }
        let (c, n) = self.info.charset.next_char(s)?;
        let mut buf = [0u8; 4];
        match char::from_u32(c) {
            Some(ch) if self.info.charset.is_utf8() => {
                ch.encode_utf8(&mut buf);
                Some((self.compute(c, &buf[..ch.len_utf8()]), n))
            }
            _ => Some((self.compute(c, &s[..n]), n)),
        }
    }
}

/// The first occurrence of `needle` at or after byte `from`. As in MySQL it is one of as many bytes: `e` is not found in `é`.
pub(super) fn find(
    info: &CollationInfo,
    text: &[u8],
    needle: &[u8],
    from: usize,
    pace: &Pace<'_>,
) -> Result<Option<usize>, SqlError> {
    if from > text.len() {
        return Ok(None);
    }
    if needle.is_empty() {
        return Ok(Some(from));
    }
    if matches!(info.kind, Kind::Binary | Kind::BytesNoPad | Kind::BytesPad) {
        return ByteSearch::new(info.charset, needle).find(text, from, pace);
    }
    let mut numbers = Numbers::new(info);
    // Not more of the needle than the text has characters: what is longer is nowhere.
    let mut wanted = Vec::new();
    let mut rest = needle;
    while let Some((w, n)) = numbers.next(rest) {
        pace.tick(4)?;
        if wanted.len() > text.len() - from {
            return Ok(None);
        }
        wanted.push(w);
        rest = &rest[n..];
    }
    let failure = failure(&wanted, pace)?;
    let (mut at, mut matched) = (from, 0usize);
    // The place of a match's beginning follows as far behind as what is looked for has characters.
    let (mut start, mut behind) = (from, 0usize);
    while let Some((w, n)) = numbers.next(&text[at..]) {
        pace.tick(4)?;
        at += n;
        behind += 1;
        if behind > wanted.len() {
            start += numbers.next(&text[start..]).map_or(1, |(_, n)| n);
            behind -= 1;
        }
        while matched > 0 && wanted[matched] != w {
            matched = failure[matched - 1] as usize;
        }
        if wanted[matched] == w {
            matched += 1;
        }
        if matched == wanted.len() {
            if at - start == needle.len() {
                return Ok(Some(start));
            }
            matched = failure[matched - 1] as usize;
        }
    }
    Ok(None)
}

/// For each prefix, the length of its longest proper prefix that is also its end.
fn failure(wanted: &[u64], pace: &Pace<'_>) -> Result<Vec<u32>, SqlError> {
    let mut out = vec![0u32; wanted.len()];
    let mut k = 0usize;
    for i in 1..wanted.len() {
        pace.tick(2)?;
        while k > 0 && wanted[i] != wanted[k] {
            k = out[k - 1] as usize;
        }
        if wanted[i] == wanted[k] {
            k += 1;
        }
        out[i] = k as u32;
    }
    Ok(out)
}
