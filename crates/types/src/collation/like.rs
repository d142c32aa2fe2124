//! LIKE under a collation.
//!
//! Matching is by single characters with the greedy-restart method (only the last `%` is retried), so it takes at most
//! text × pattern steps and no recursion. A pattern without `%` or `_` still ignores PAD SPACE, as MySQL's does.

use super::general;
use super::language;
use super::registry::{CollationInfo, Kind};
use super::tailored;
use super::uca::Elements;
use crate::{Pace, SqlError};

/// Whether two characters count as one under the collation.
fn same(info: &CollationInfo, a: u32, b: u32) -> bool {
    if a == b {
        return true;
    }
    match info.kind {
        Kind::Binary | Kind::BytesNoPad | Kind::BytesPad => false,
        Kind::General => general::weight(a) == general::weight(b),
        // Here a character is its byte.
        Kind::Latin(by) => general::latin(by, a as u8) == general::latin(by, b as u8),
        Kind::Unicode(by) => language::same(by, a, b),
        Kind::Tailored(by, levels) => {
            let weights = |c| tailored::of_character(by, usize::from(levels), c);
            weights(a) == weights(b)
        }
        Kind::UcaPrimary | Kind::UcaSecondary | Kind::UcaTertiary => {
            if a < 128 && b < 128 && info.kind == Kind::UcaPrimary {
                return (a as u8).eq_ignore_ascii_case(&(b as u8));
            }
            let (mut x, mut y) = ([0u8; 4], [0u8; 4]);
            match (char::from_u32(a), char::from_u32(b)) {
                (Some(a), Some(b)) => {
                    let a = a.encode_utf8(&mut x).as_bytes();
                    let b = b.encode_utf8(&mut y).as_bytes();
                    same_elements(info, a, b)
                }
                _ => false,
            }
        }
    }
}

fn same_elements(info: &CollationInfo, a: &[u8], b: &[u8]) -> bool {
    let keep = |e: u32| match info.kind {
        Kind::UcaPrimary => e & 0xFFFF_0000,
        Kind::UcaSecondary => e & !0x1F,
        _ => e,
    };
    let weights = |s| Elements::new(info.charset, s).map(keep).filter(|&e| e != 0);
    weights(a).eq(weights(b))
}

/// The weights of latin1's collations are per byte; everything else is per character.
fn next(info: &CollationInfo, s: &[u8]) -> Option<(u32, usize)> {
    if matches!(info.kind, Kind::Latin(_)) {
        return s.first().map(|&b| (u32::from(b), 1));
    }
    info.charset.next_char(s)
}

pub(super) fn like(
    info: &CollationInfo,
    mut text: &[u8],
    mut pattern: &[u8],
    escape: Option<u32>,
    pace: &Pace<'_>,
) -> Result<bool, SqlError> {
    // Where to restart: pattern after the last '%', and the text it was last tried at.
    let mut retry: Option<(&[u8], &[u8])> = None;
    // Looked at once something is searched for.
    let mut ascii = None;
    let whole = text;
    loop {
        pace.tick(4)?;
        let step = match pattern.first() {
            Some(b'%') if escape != Some(u32::from(b'%')) => {
                pattern = &pattern[1..];
                if pattern.is_empty() {
                    return Ok(true);
                }
                let ascii = *ascii.get_or_insert_with(|| whole.is_ascii());
                text = candidate(info, text, pattern, escape, ascii);
                pace.tick(whole.len() / 16)?;
                retry = Some((pattern, text));
                continue;
            }
            Some(b'_') if escape != Some(u32::from(b'_')) => next(info, text).map(|(_, n)| (n, 1)),
            Some(_) => literal(info, text, pattern, escape),
            None if text.is_empty() => return Ok(true),
            None => None,
        };
        match step {
            Some((t, p)) => {
                text = &text[t..];
                pattern = &pattern[p..];
            }
            None => {
                let Some((after, at)) = retry else {
                    return Ok(false);
                };
                let Some((_, n)) = next(info, at) else {
                    return Ok(false);
                };
                let ascii = ascii.unwrap_or_default();
                text = candidate(info, &at[n..], after, escape, ascii);
                pace.tick((at.len() - text.len()) / 16)?;
                retry = Some((after, text));
                pattern = after;
            }
        }
    }
}

/// Letters and digits at the beginning of a pattern that are looked at together.
const RUN: usize = 16;

/// The text from the first place on at which the pattern may match, as far as a look at the letters and digits that it begins with says: the end
/// where there is none.
///
/// In ASCII text nothing counts as a letter or a digit but itself, in either case. Where bytes decide that is so in any text.
fn candidate<'t>(
    info: &CollationInfo,
    text: &'t [u8],
    pattern: &[u8],
    escape: Option<u32>,
    ascii: bool,
) -> &'t [u8] {
    let bytes = matches!(info.kind, Kind::Binary | Kind::BytesNoPad | Kind::BytesPad);
    if !ascii && !bytes {
        return text;
    }
    let plain = |p: &&u8| p.is_ascii_alphanumeric() && escape != Some(u32::from(**p));
    // Few of them: what is compared in vain is not counted as work.
    let run = &pattern[..pattern.iter().take(RUN).take_while(plain).count()];
    let Some(&first) = run.first() else {
        return text;
    };
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let mut from = 0;
    loop {
        let rest = &text[from..];
        let at = match bytes || lower == upper {
            true => memchr::memchr(first, rest),
            false => memchr::memchr2(lower, upper, rest),
        };
        let Some(here) = at.and_then(|at| rest[at..].get(..run.len())) else {
            return &text[text.len()..];
        };
        from += at.unwrap_or_default();
        let begins = match bytes {
            true => here == run,
            false => here.eq_ignore_ascii_case(run),
        };
        if begins {
            return &text[from..];
        }
        from += 1;
    }
}

/// Matches one literal character; returns the bytes of text and pattern it took.
fn literal(
    info: &CollationInfo,
    text: &[u8],
    pattern: &[u8],
    escape: Option<u32>,
) -> Option<(usize, usize)> {
    let (raw, mut taken) = info.charset.next_char(pattern)?;
    let mut at = pattern;
    if escape == Some(raw) && taken < pattern.len() {
        at = &pattern[taken..];
        taken += info.charset.next_char(at)?.1;
    }
    let (p, _) = next(info, at)?;
    let (t, n) = next(info, text)?;
    same(info, p, t).then_some((n, taken))
}
