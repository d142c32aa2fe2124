//! The `utf8mb4_LANGUAGE_0900_*` collations: the DUCET, of which a language changes some letters.
//!
//! What a language changes is a rule of CLDR 30 (`data/languages_0900.txt`); what weights follow from it is MySQL's way: those of the text that the letters
//! are placed at, and one element more. Scripts change places by a shift of their weights. The weights are a format on disk: indexes are made of them. Nothing
//! here knows of a language whose upper case comes first, or that looks at accents apart from their letters.

use super::language::characters;
use super::uca::{self, Elements};
use crate::charset::Charset;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Whose order it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    GermanPhonebook,
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
    Lithuanian,
    Slovak,
    SpanishTraditional,
    Latin,
    Esperanto,
    Hungarian,
    Croatian,
    Russian,
    SerbianLatin,
    Bosnian,
    Bulgarian,
    Galician,
    Mongolian,
}

/// How many there are.
const LANGUAGES: usize = Letters::Mongolian as usize + 1;

static RULES: &str = include_str!("data/languages_0900.txt");

/// Weights of one level for each level.
pub(super) type Element = [u16; 3];

/// Weights of the element that sets a letter apart from the text that it is placed at: above all of the DUCET.
const APART: Element = [0x54A4, 0x0115, 0x0020];

/// Primary weights of the Latin script, with which letters begin, and of the Cyrillic one.
const LATIN: (u16, u16) = (0x1C47, 0x1FB5);
const CYRILLIC: (u16, u16) = (0x2022, 0x21E1);

/// What a language changes.
struct Table {
    /// The first weight behind scripts that stay at the front, where the Cyrillic one goes.
    cyrillic: Option<u16>,
    /// Characters, and several of them that are one letter.
    own: HashMap<Vec<u32>, Vec<Element>>,
    /// What begins a letter of several characters.
    firsts: Vec<u32>,
    /// Characters of the longest letter.
    longest: usize,
}

static TABLES: [OnceLock<Table>; LANGUAGES] = [const { OnceLock::new() }; LANGUAGES];

/// Weights of a character by no language.
fn plain(c: u32) -> Vec<Element> {
    let mut bytes = [0; 4];
    let text = char::from_u32(c).map_or(&[][..], |c| c.encode_utf8(&mut bytes).as_bytes());
    Elements::new(Charset::Utf8mb4, text).map(element).collect()
}

fn element(packed: u32) -> Element {
    [
        uca::primary(packed) as u16,
        uca::secondary(packed) as u16,
        uca::tertiary(packed) as u16,
    ]
}

impl Table {
    fn of(letters: Letters) -> &'static Table {
        TABLES[letters as usize].get_or_init(|| {
            let name = format!("{letters:?}: ");
            let rule = RULES.lines().find_map(|line| line.strip_prefix(&*name));
            Table::read(rule.unwrap_or_default())
        })
    }

    /// A rule: scripts that come first, in brackets; `&` and a text that letters are placed at (`&<` in front of), then `<`, `<<`, `<<<` or `=` and a letter that differs at this level from
    /// the one before; `/` and a text that it goes on with.
    fn read(rule: &str) -> Table {
        let (scripts, rule) = match rule.strip_prefix('[') {
            Some(rest) => rest.split_once(']').unwrap_or_default(),
            None => ("", rule),
        };
        let mut table = Table {
            cyrillic: match scripts {
                "Cyrl" => Some(LATIN.0),
                "Latn Cyrl" => Some(LATIN.1 + 1),
                _ => None,
            },
            own: HashMap::new(),
            firsts: Vec::new(),
            longest: 1,
        };
        for reset in rule.split('&').skip(1) {
            let (before, reset) = match reset.strip_prefix('<') {
                Some(rest) => (true, rest),
                None => (false, reset),
            };
            let mut words = reset.split_whitespace();
            let base = characters(words.next().unwrap_or_default());
            let mut apart = [0u16; 3];
            while let (Some(level), Some(letter)) = (words.next(), words.next()) {
                if let Some(level) = ["<", "<<", "<<<"].iter().position(|l| *l == level) {
                    apart[level] += 1;
                    apart[level + 1..].fill(0);
                }
                let (letter, rest) = letter.split_once('/').unwrap_or((letter, ""));
                let mut place = base.clone();
                place.extend(characters(rest));
                table.add(characters(letter), &place, before, apart);
            }
        }
        table
    }

    fn add(&mut self, letter: Vec<u32>, place: &[u32], before: bool, apart: [u16; 3]) {
        let mut weights = self.weights(place);
        if before && let Some(last) = weights.iter_mut().rfind(|e| e[0] != 0) {
            last[0] -= 1;
        }
        if apart != [0; 3] {
            let level = |n: usize| match apart[n] {
                0 => 0,
                by => APART[n] + by,
            };
            weights.push([level(0), level(1), level(2)]);
        }
        self.longest = self.longest.max(letter.len());
        if letter.len() > 1 && !self.firsts.contains(&letter[0]) {
            self.firsts.push(letter[0]);
        }
        self.own.insert(letter, weights);
    }

    /// An element of the DUCET where the language has it: the Cyrillic script changes places with those in front of it.
    fn moved(&self, mut e: Element) -> Element {
        let p = e[0];
        if let Some(to) = self.cyrillic
            && (to..=CYRILLIC.1).contains(&p)
        {
            e[0] = match p < CYRILLIC.0 {
                true => p + (CYRILLIC.1 - CYRILLIC.0 + 1),
                false => p - (CYRILLIC.0 - to),
            };
        }
        e
    }

    /// Weights of a text, of which the longest letters are taken.
    fn weights(&self, mut text: &[u32]) -> Vec<Element> {
        let mut out = Vec::new();
        while let Some(first) = text.first() {
            let longest = (1..=text.len().min(self.longest)).rev();
            let mut listed = longest.filter_map(|n| Some((n, self.own.get(&text[..n])?)));
            let n = match listed.next() {
                Some((n, own)) => {
                    out.extend_from_slice(own);
                    n
                }
                None => {
                    out.extend(plain(*first).into_iter().map(|e| self.moved(e)));
                    1
                }
            };
            text = &text[n..];
        }
        out
    }
}

/// Iterator over the collation elements of a text.
pub(super) struct Weights<'a> {
    table: &'static Table,
    charset: Charset,
    rest: &'a [u8],
    pending: &'static [Element],
    others: Elements<'a>,
}

impl<'a> Weights<'a> {
    pub(super) fn new(letters: Letters, charset: Charset, text: &'a [u8]) -> Weights<'a> {
        Weights {
            table: Table::of(letters),
            charset,
            rest: text,
            pending: &[],
            others: Elements::new(charset, &[]),
        }
    }

    /// The language's letter that the text goes on with, and its bytes.
    fn letter(&self, first: u32, bytes: usize) -> Option<(&'static [Element], usize)> {
        let table = self.table;
        if table.firsts.contains(&first) {
            let mut letter = [first, 0, 0, 0];
            let mut ends = [bytes, 0, 0, 0];
            let mut n = 1;
            while n < table.longest.min(letter.len())
                && let Some((c, more)) = self.charset.next_char(&self.rest[ends[n - 1]..])
            {
                letter[n] = c;
                ends[n] = ends[n - 1] + more;
                n += 1;
            }
            for n in (2..=n).rev() {
                if let Some(own) = table.own.get(&letter[..n]) {
                    return Some((own, ends[n - 1]));
                }
            }
        }
        Some((table.own.get(&[first][..])?, bytes))
    }

    /// The weights of one level, without those that are 0.
    pub(super) fn level(self, level: usize) -> impl Iterator<Item = u32> {
        self.map(move |e| u32::from(e[level])).filter(|w| *w != 0)
    }
}

impl Iterator for Weights<'_> {
    type Item = Element;

    fn next(&mut self) -> Option<Element> {
        loop {
            if let Some((e, rest)) = self.pending.split_first() {
                self.pending = rest;
                return Some(*e);
            }
            if let Some(e) = self.others.next() {
                return Some(self.table.moved(element(e)));
            }
            let (c, n) = self.charset.next_char(self.rest)?;
            match self.letter(c, n) {
                Some((own, n)) => {
                    self.pending = own;
                    self.rest = &self.rest[n..];
                }
                None => {
                    self.others = Elements::new(self.charset, &self.rest[..n]);
                    self.rest = &self.rest[n..];
                }
            }
        }
    }
}

/// Compares at so many levels.
pub(super) fn compare(
    letters: Letters,
    levels: usize,
    charset: Charset,
    a: &[u8],
    b: &[u8],
) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    let weights = |text, level| Weights::new(letters, charset, text).level(level);
    let compare = |level| weights(a, level).cmp(weights(b, level));
    let mut all = (0..levels).map(compare);
    all.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

/// The weights of a character by itself at so many levels.
pub(super) fn of_character(letters: Letters, levels: usize, c: u32) -> Vec<u32> {
    let table = Table::of(letters);
    let all = table.weights(&[c]);
    let mut out = Vec::new();
    for e in &all {
        // A number that no other element has at these levels.
        let tail = if levels > 1 { [e[1], e[2]] } else { [0, 0] };
        let packed = u32::from(e[0]) << 16 | u32::from(tail[0]) << 7 | u32::from(tail[1]);
        if packed != 0 {
            out.push(packed);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every rule is there, and is read to its end.
    #[test]
    fn all_languages_have_a_rule() {
        for line in RULES.lines().filter(|l| !l.starts_with('#')) {
            let (name, rule) = line.split_once(": ").expect("a name and a rule");
            let table = Table::read(rule);
            assert!(table.longest <= 4, "{name}");
            assert!(table.cyrillic.is_some() || !table.own.is_empty(), "{name}");
            let levels = rule
                .split_whitespace()
                .filter(|w| ["<", "<<", "<<<", "="].contains(w));
            assert_eq!(table.own.len(), levels.count(), "{name}");
        }
        let named = RULES.lines().filter(|l| !l.starts_with('#')).count();
        assert_eq!(named, LANGUAGES);
        assert!(!Table::of(Letters::GermanPhonebook).own.is_empty());
        assert!(Table::of(Letters::Mongolian).cyrillic.is_some());
    }

    #[test]
    fn letters_are_set_apart() {
        let weights = |letters, text: &str| {
            let all = Weights::new(letters, Charset::Utf8mb4, text.as_bytes());
            all.collect::<Vec<_>>()
        };
        let n = [0x1DB9, 0x20, 8];
        assert_eq!(weights(Letters::Spanish, "N"), [n]);
        assert_eq!(weights(Letters::Spanish, "ñ"), [n, [0x54A5, 0, 0]]);
        assert_eq!(weights(Letters::Spanish, "Ñ"), [n, [0x54A5, 0, 0x21]]);
        // Of several characters: the longest, and again after it has been doubled.
        let dzs = weights(Letters::Hungarian, "dzs");
        assert_eq!(dzs.len(), 3);
        let twice: Vec<Element> = [&dzs[..], &dzs[..], &[[0, 0, 0x21]]].concat();
        assert_eq!(weights(Letters::Hungarian, "ddzs"), twice);
        assert_eq!(weights(Letters::Hungarian, "dz").len(), 2);
        assert_eq!(weights(Letters::Hungarian, "d").len(), 1);
        // Scripts that change places.
        let first = |letters, text: &str| weights(letters, text)[0][0];
        for (text, russian, croatian) in [
            ("9", 0x1C46, 0x1C46),
            ("а", 0x1C47, 0x1FB6),
            ("ӏ", 0x1E06, 0x2175),
            ("a", 0x1E07, 0x1C47),
            ("α", 0x2179, 0x2179),
            ("ⰰ", 0x21E5, 0x21E5),
        ] {
            assert_eq!(first(Letters::Russian, text), russian, "{text}");
            assert_eq!(first(Letters::Croatian, text), croatian, "{text}");
        }
        assert_eq!(
            weights(Letters::Bosnian, "ǆ"),
            weights(Letters::Croatian, "ǆ")
        );
        // In front of a letter.
        let a_acute = weights(Letters::Icelandic, "á");
        assert_eq!(a_acute[0][0], weights(Letters::Icelandic, "b")[0][0] - 1);
    }
}
