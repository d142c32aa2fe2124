//! Comparing and hashing: a loop over ASCII bytes first, weights from the first other character on.

use super::general::{self, ASCII_FOLD, Latin};
use super::language;
use super::registry::{CollationInfo, Kind};
use super::tailored;
use super::uca::{self, Elements};
use std::cmp::Ordering;
use std::hash::Hasher;

#[inline]
pub(super) fn compare(info: &CollationInfo, a: &[u8], b: &[u8]) -> Ordering {
    match info.kind {
        Kind::Binary | Kind::BytesNoPad => a.cmp(b),
        Kind::BytesPad => {
            let n = a.len().min(b.len());
            a[..n]
                .cmp(&b[..n])
                .then_with(|| pad_bytes(&a[n..], &b[n..]))
        }
        Kind::General => general_ci(info, a, b),
        Kind::Latin(by) => latin(by, a, b),
        Kind::Unicode(by) => language::compare(by, info.charset, a, b),
        Kind::UcaPrimary => uca_primary(info, a, b),
        Kind::UcaSecondary => uca_levels(info, a, b, 2),
        Kind::UcaTertiary => uca_levels(info, a, b, 3),
        Kind::Tailored(by, levels) => {
            tailored::compare(by, usize::from(levels), info.charset, a, b)
        }
    }
}

/// Compares two tails, at least one of them empty, as if the shorter went on with spaces.
fn pad_bytes(a: &[u8], b: &[u8]) -> Ordering {
    let (tail, longer) = if a.is_empty() {
        (b, Ordering::Less)
    } else {
        (a, Ordering::Greater)
    };
    match tail.iter().find(|&&c| c != b' ') {
        None => Ordering::Equal,
        Some(&c) if c > b' ' => longer,
        Some(_) => longer.reverse(),
    }
}

fn general_ci(info: &CollationInfo, a: &[u8], b: &[u8]) -> Ordering {
    let mut i = 0;
    let n = a.len().min(b.len());
    while i < n {
        let (x, y) = (a[i], b[i]);
        if (x | y) >= 0x80 {
            break;
        }
        if x != y {
            let (wx, wy) = (ASCII_FOLD[usize::from(x)], ASCII_FOLD[usize::from(y)]);
            if wx != wy {
                return wx.cmp(&wy);
            }
        }
        i += 1;
    }
    let (mut a, mut b) = (&a[i..], &b[i..]);
    while !a.is_empty() || !b.is_empty() {
        let (wa, na) = if a.is_empty() {
            (0x20, 0)
        } else {
            general::next(info.charset, a)
        };
        let (wb, nb) = if b.is_empty() {
            (0x20, 0)
        } else {
            general::next(info.charset, b)
        };
        if wa != wb {
            return wa.cmp(&wb);
        }
        a = &a[na..];
        b = &b[nb..];
    }
    Ordering::Equal
}

fn latin(by: Latin, a: &[u8], b: &[u8]) -> Ordering {
    let n = a.len().min(b.len());
    for (&x, &y) in a[..n].iter().zip(&b[..n]) {
        if x != y {
            let (wx, wy) = (general::latin(by, x), general::latin(by, y));
            if wx != wy {
                return wx.cmp(&wy);
            }
        }
    }
    // No byte but the space weighs as much as the space, and none changes sides of it.
    pad_bytes(&a[n..], &b[n..])
}

fn uca_primary(info: &CollationInfo, a: &[u8], b: &[u8]) -> Ordering {
    let mut i = 0;
    let n = a.len().min(b.len());
    while i < n {
        let (x, y) = (a[i], b[i]);
        if (x | y) >= 0x80 {
            break;
        }
        if x != y {
            let wx = uca::primary(uca::ASCII[usize::from(x)]);
            let wy = uca::primary(uca::ASCII[usize::from(y)]);
            if wx != wy {
                if wx == 0 || wy == 0 {
                    break;
                }
                return wx.cmp(&wy);
            }
        }
        i += 1;
    }
    let mut a = Elements::new(info.charset, &a[i..]);
    let mut b = Elements::new(info.charset, &b[i..]);
    let end = if info.pad_space { uca::SPACE } else { 0 };
    loop {
        let (wa, wb) = (a.next_primary(), b.next_primary());
        if wa.is_none() && wb.is_none() {
            return Ordering::Equal;
        }
        let (wa, wb) = (wa.unwrap_or(end), wb.unwrap_or(end));
        if wa != wb {
            return wa.cmp(&wb);
        }
    }
}

fn uca_levels(info: &CollationInfo, a: &[u8], b: &[u8], levels: u8) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    uca_primary(info, a, b)
        .then_with(|| level(info, a, b, uca::secondary))
        .then_with(|| {
            if levels > 2 {
                level(info, a, b, uca::tertiary)
            } else {
                Ordering::Equal
            }
        })
}

fn level(info: &CollationInfo, a: &[u8], b: &[u8], weight: fn(u32) -> u32) -> Ordering {
    let weights = |s| {
        Elements::new(info.charset, s)
            .map(weight)
            .filter(|&w| w != 0)
    };
    weights(a).cmp(weights(b))
}

/// Collects weights so that the hasher gets a few long writes, cut at the same places for equal strings.
struct Feed<'h, H> {
    state: &'h mut H,
    buf: [u8; 64],
    len: usize,
}

impl<'h, H: Hasher> Feed<'h, H> {
    fn new(state: &'h mut H) -> Self {
        Feed {
            state,
            buf: [0; 64],
            len: 0,
        }
    }

    #[inline]
    fn put(&mut self, w: u32) {
        if self.len == 64 {
            self.flush();
        }
        self.buf[self.len..self.len + 4].copy_from_slice(&w.to_le_bytes());
        self.len += 4;
    }

    fn flush(&mut self) {
        self.state.write(&self.buf[..self.len]);
        self.len = 0;
    }
}

pub(super) fn hash<H: Hasher>(info: &CollationInfo, s: &[u8], state: &mut H) {
    let trimmed = || {
        let end = s.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1);
        &s[..end]
    };
    match info.kind {
        Kind::Binary | Kind::BytesNoPad => state.write(s),
        Kind::BytesPad => state.write(trimmed()),
        Kind::Latin(by) => {
            let mut feed = Feed::new(state);
            for &b in trimmed() {
                feed.put(u32::from(general::latin(by, b)));
            }
            feed.flush();
        }
        Kind::General => {
            let mut feed = Feed::new(state);
            let mut rest = trimmed();
            while !rest.is_empty() {
                let (w, n) = general::next(info.charset, rest);
                feed.put(w);
                rest = &rest[n..];
            }
            feed.flush();
        }
        Kind::Unicode(by) => {
            let mut feed = Feed::new(state);
            language::each_weight(by, info.charset, s, |spaces, w| {
                // A number of spaces is no weight: there is a bit that these do not have.
                if spaces > 0 {
                    feed.put(1 << 31 | spaces as u32);
                }
                feed.put(u32::from(w));
            });
            feed.flush();
        }
        // Equal at all levels implies equal primaries, so these alone make a sound hash for every UCA collation.
        Kind::UcaPrimary | Kind::UcaSecondary | Kind::UcaTertiary => {
            hash_primaries(info, s, &mut Feed::new(state));
        }
        Kind::Tailored(by, _) => {
            let mut feed = Feed::new(state);
            tailored::Weights::new(by, info.charset, s)
                .level(0)
                .for_each(|w| feed.put(w));
            feed.flush();
        }
    }
    state.write_u8(0xFF);
}

fn hash_primaries<H: Hasher>(info: &CollationInfo, s: &[u8], feed: &mut Feed<'_, H>) {
    let mut spaces = 0;
    let mut put = |w: u32| {
        if info.pad_space && w == uca::SPACE {
            spaces += 1;
            return;
        }
        for _ in 0..spaces {
            feed.put(uca::SPACE);
        }
        spaces = 0;
        feed.put(w);
    };
    let mut i = 0;
    while let Some(&b) = s.get(i)
        && b < 0x80
    {
        let w = uca::primary(uca::ASCII[usize::from(b)]);
        if w != 0 {
            put(w);
        }
        i += 1;
    }
    let mut e = Elements::new(info.charset, &s[i..]);
    while let Some(w) = e.next_primary() {
        put(w);
    }
    feed.flush();
}
