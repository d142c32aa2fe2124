//! The collations of UCA 4.0.0 (`*_unicode_ci` and those of languages): primary weights, as MySQL has them.
//!
//! A language is a list of characters, and of pairs of them, that weigh otherwise (`data/languages.txt`). Characters beyond the basic plane
//! weigh all alike. The weights are a format on disk: indexes are made of them. Nothing here knows of more than one level.

use crate::charset::Charset;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

/// Whose order it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Nobody's: that of the table.
    None,
    Icelandic,
    Latvian,
    Romanian,
    Slovenian,
    Polish,
    Estonian,
    Spanish,
    Swedish,
    Turkish,
    Czech,
    Danish,
    Lithuanian,
    Slovak,
    Spanish2,
    Roman,
    Persian,
    Esperanto,
    Hungarian,
    Sinhala,
    German2,
    Croatian,
    Vietnamese,
}

/// How many there are.
const LANGUAGES: usize = Language::Vietnamese as usize + 1;

/// Layout: see `data/gen_uca400.py`.
static DATA: &[u8] = include_bytes!("data/uca400.bin");
static RULES: &str = include_str!("data/languages.txt");

const IMPLICIT: u16 = 0xFFFF;
/// Of all characters beyond the basic plane.
static BEYOND: [u16; 1] = [0xFFFD];
/// Weight of the space.
pub(super) const SPACE: u16 = 0x209;

struct Base {
    pages: Vec<u16>,
    pool: Vec<u16>,
}

static BASE: LazyLock<Base> = LazyLock::new(|| {
    let read = |bytes: &[u8]| -> Vec<u16> {
        bytes
            .chunks_exact(2)
            .map(|b| u16::from_le_bytes([b[0], b[1]]))
            .collect()
    };
    let pages = usize::from(u16::from_le_bytes([DATA[0], DATA[1]]));
    let at = 2 + 256;
    Base {
        pages: read(&DATA[at..at + pages * 512]),
        pool: read(&DATA[at + pages * 512..]),
    }
});

impl Base {
    /// The weights of a character; `None` where they follow from its number.
    fn weights(&self, c: u32) -> Option<&[u16]> {
        if c > 0xFFFF {
            return (c <= 0x10_FFFF).then_some(&BEYOND[..]);
        }
        let page = usize::from(DATA[2 + (c >> 8) as usize]);
        if page == 0xFF {
            return None;
        }
        match self.pages[page * 256 + (c as usize & 0xFF)] {
            IMPLICIT => None,
            at => {
                let at = usize::from(at);
                let n = usize::from(self.pool[at]);
                Some(&self.pool[at + 1..at + 1 + n])
            }
        }
    }
}

/// The weights of a character that no table lists; of a byte that is no character, which comes last.
fn implicit(c: u32) -> [u16; 2] {
    let low = 0x8000 | (c & 0x7FFF) as u16;
    let base: u32 = match c {
        0x11_0000.. => return [0xFFFF, 0x8000 | (c & 0xFF) as u16],
        0x3400..=0x4DB5 => 0xFB80,
        0x4E00..=0x9FA5 => 0xFB40,
        _ => 0xFBC0,
    };
    [(base + (c >> 15)) as u16, low]
}

/// What a language changes.
struct Table {
    own: HashMap<u32, Vec<u16>>,
    pairs: HashMap<(u32, u32), Vec<u16>>,
    /// What begins a pair.
    firsts: Vec<u32>,
    /// Weights of ASCII characters that have one each and begin no pair; 0 for the others.
    simple: [u16; 128],
}

static TABLES: [OnceLock<Table>; LANGUAGES] = [const { OnceLock::new() }; LANGUAGES];

/// The characters of a rule, with `\uXXXX` for those that cannot be read in it.
pub(super) fn characters(text: &str) -> Vec<u32> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let number = rest
            .strip_prefix("\\u")
            .and_then(|r| u32::from_str_radix(r.get(..4)?, 16).ok());
        match number {
            Some(n) => {
                out.push(n);
                rest = &rest[6..];
            }
            None => {
                out.push(u32::from(c));
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

impl Table {
    fn of(language: Language) -> &'static Table {
        TABLES[language as usize].get_or_init(|| Table::read(language))
    }

    fn read(language: Language) -> Table {
        let mut table = Table {
            own: HashMap::new(),
            pairs: HashMap::new(),
            firsts: Vec::new(),
            simple: [0; 128],
        };
        let name = format!("{language:?}: ").to_ascii_lowercase();
        let rule = RULES.lines().find_map(|line| line.strip_prefix(&*name));
        for reset in rule.unwrap_or_default().split('&').skip(1) {
            table.reset(reset);
        }
        for c in 0..128u32 {
            let mut w = [0; 8];
            let n = table.copy(c, &mut w);
            if n == 1 && !table.firsts.contains(&c) {
                table.simple[c as usize] = w[0];
            }
        }
        table
    }

    /// One reset and what follows it.
    fn reset(&mut self, text: &str) {
        let mut parts = text.split_whitespace();
        let mut weights: Vec<u16> = Vec::new();
        for c in characters(parts.next().unwrap_or_default()) {
            weights.extend(BASE.weights(c).unwrap_or_default());
        }
        for part in parts {
            match part {
                "<" => match weights.last_mut() {
                    Some(w) => *w += 1,
                    None => weights.push(1),
                },
                "=" => {}
                own => match characters(own)[..] {
                    [c] => {
                        self.own.insert(c, weights.clone());
                    }
                    [a, b] => {
                        self.pairs.insert((a, b), weights.clone());
                        if !self.firsts.contains(&a) {
                            self.firsts.push(a);
                        }
                    }
                    _ => {}
                },
            }
        }
    }

    fn weights(&'static self, c: u32) -> Option<&'static [u16]> {
        // Few languages, few characters.
        if !self.own.is_empty()
            && let Some(w) = self.own.get(&c)
        {
            return Some(w);
        }
        BASE.weights(c)
    }

    /// The weights of a character by itself.
    fn copy(&self, c: u32, out: &mut [u16; 8]) -> usize {
        let listed = match self.own.get(&c) {
            Some(w) => Some(&w[..]),
            None => BASE.weights(c),
        };
        let made = implicit(c);
        let weights = listed.unwrap_or(&made[..]);
        out[..weights.len()].copy_from_slice(weights);
        weights.len()
    }
}

/// Iterator over the weights of a text.
pub(super) struct Weights<'a> {
    table: &'static Table,
    charset: Charset,
    rest: &'a [u8],
    pending: &'static [u16],
    /// The second weight of a character that is not listed; 0 for none.
    second: u16,
}

impl<'a> Weights<'a> {
    pub(super) fn new(language: Language, charset: Charset, text: &'a [u8]) -> Weights<'a> {
        Weights {
            table: Table::of(language),
            charset,
            rest: text,
            pending: &[],
            second: 0,
        }
    }
}

impl Iterator for Weights<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        loop {
            if let Some((w, rest)) = self.pending.split_first() {
                self.pending = rest;
                return Some(*w);
            }
            if self.second != 0 {
                return Some(std::mem::take(&mut self.second));
            }
            let (c, n) = self.charset.next_char(self.rest)?;
            self.rest = &self.rest[n..];
            if self.table.firsts.contains(&c)
                && let Some((d, n)) = self.charset.next_char(self.rest)
                && let Some(w) = self.table.pairs.get(&(c, d))
            {
                self.rest = &self.rest[n..];
                self.pending = w;
                continue;
            }
            match self.table.weights(c) {
                Some(w) => self.pending = w,
                None => {
                    let [first, second] = implicit(c);
                    self.second = second;
                    return Some(first);
                }
            }
        }
    }
}

/// The weights of ASCII characters that have one, by no language; 0 for the others.
pub(super) fn ascii() -> [u32; 128] {
    Table::of(Language::None).simple.map(u32::from)
}

/// Whether the language takes two characters for one letter.
pub(super) fn has_pairs(language: Language) -> bool {
    !Table::of(language).pairs.is_empty()
}

/// Whether two characters, each by itself, weigh the same.
pub(super) fn same(language: Language, a: u32, b: u32) -> bool {
    let table = Table::of(language);
    let (mut x, mut y) = ([0; 8], [0; 8]);
    let (n, m) = (table.copy(a, &mut x), table.copy(b, &mut y));
    x[..n] == y[..m]
}

/// The weights of a character by itself.
pub(super) fn of_character(language: Language, c: u32) -> Vec<u32> {
    let mut w = [0; 8];
    let n = Table::of(language).copy(c, &mut w);
    w[..n].iter().copied().map(u32::from).collect()
}

pub(super) fn compare(language: Language, charset: Charset, a: &[u8], b: &[u8]) -> Ordering {
    let table = Table::of(language);
    let simple = |x: u8| table.simple.get(usize::from(x)).copied().unwrap_or(0);
    let mut i = 0;
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(i)) {
        let (wx, wy) = (simple(x), simple(y));
        if wx == 0 || wy == 0 {
            break;
        }
        if wx != wy {
            return wx.cmp(&wy);
        }
        i += 1;
    }
    let mut a = Weights::new(language, charset, &a[i..]);
    let mut b = Weights::new(language, charset, &b[i..]);
    loop {
        let (wa, wb) = (a.next(), b.next());
        if wa.is_none() && wb.is_none() {
            return Ordering::Equal;
        }
        let (wa, wb) = (wa.unwrap_or(SPACE), wb.unwrap_or(SPACE));
        if wa != wb {
            return wa.cmp(&wb);
        }
    }
}

/// Gives the weights to `put`, without spaces at the end. Before a run of spaces it says how many there are, and what follows them.
pub(super) fn each_weight(
    language: Language,
    charset: Charset,
    text: &[u8],
    mut put: impl FnMut(usize, u16),
) {
    let mut spaces = 0;
    for w in Weights::new(language, charset, text) {
        if w == SPACE {
            spaces += 1;
            continue;
        }
        put(spaces, w);
        spaces = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights of a text by one language, or by the table.
    fn weights(language: Language, text: &str) -> Vec<u16> {
        Weights::new(language, Charset::Utf8mb4, text.as_bytes()).collect()
    }

    #[test]
    fn every_language_has_its_rule() {
        assert_eq!(
            RULES.lines().filter(|l| !l.starts_with('#')).count(),
            LANGUAGES - 1
        );
        for line in RULES.lines().filter(|l| !l.starts_with('#')) {
            let changed = (1..LANGUAGES).any(|i| {
                let language = ALL[i];
                line.starts_with(&format!("{language:?}: ").to_ascii_lowercase())
                    && !Table::of(language).own.is_empty() | has_pairs(language)
            });
            assert!(changed, "{line}");
        }
    }

    const ALL: [Language; LANGUAGES] = [
        Language::None,
        Language::Icelandic,
        Language::Latvian,
        Language::Romanian,
        Language::Slovenian,
        Language::Polish,
        Language::Estonian,
        Language::Spanish,
        Language::Swedish,
        Language::Turkish,
        Language::Czech,
        Language::Danish,
        Language::Lithuanian,
        Language::Slovak,
        Language::Spanish2,
        Language::Roman,
        Language::Persian,
        Language::Esperanto,
        Language::Hungarian,
        Language::Sinhala,
        Language::German2,
        Language::Croatian,
        Language::Vietnamese,
    ];

    /// `testdata/languages.txt` has texts and their weights as another server with the same collations told them.
    #[test]
    fn weights_are_those_that_were_recorded() {
        let mut seen = 0;
        for line in include_str!("../../testdata/languages.txt").lines() {
            if line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split('\t').collect();
            let [name, text, hex] = fields[..] else {
                panic!("three fields: {line}");
            };
            let text: String = characters(text)
                .into_iter()
                .filter_map(char::from_u32)
                .collect();
            let language = ALL
                .into_iter()
                .find(|l| format!("{l:?}").eq_ignore_ascii_case(name))
                .unwrap();
            let got: String = weights(language, &text)
                .iter()
                .map(|w| format!("{w:04X}"))
                .collect();
            assert_eq!(got, hex, "{line}");
            seen += 1;
        }
        assert!(seen > 1000);
    }
}
