//! Character sets: names, widths, validation and conversion between them.
//!
//! A character value carries bytes of its collation's character set. `latin1` is MySQL's: windows-1252 with the five undefined
//! bytes mapped to C1 controls. Nothing here knows about collation order.

/// A character set this server knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Charset {
    /// UTF-8, up to 4 bytes a character.
    #[default]
    Utf8mb4,
    /// UTF-8 of the basic plane, up to 3 bytes a character.
    Utf8mb3,
    /// windows-1252 as MySQL defines it.
    Latin1,
    /// 7-bit ASCII.
    Ascii,
    /// Bytes without characters.
    Binary,
}

/// U+FFFD stands for bytes that are no character; MySQL writes `?` when it must store one.
const LATIN1_HIGH: [u16; 32] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039,
    0x0152, 0x8D, 0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
    0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
];

impl Charset {
    /// Every character set.
    pub const ALL: [Charset; 5] = [
        Charset::Utf8mb4,
        Charset::Utf8mb3,
        Charset::Latin1,
        Charset::Ascii,
        Charset::Binary,
    ];

    /// MySQL's name.
    pub const fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Latin1 => "latin1",
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
        }
    }

    /// The description SHOW CHARACTER SET prints.
    pub const fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "UTF-8 Unicode",
            Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Latin1 => "cp1252 West European",
            Charset::Ascii => "US ASCII",
            Charset::Binary => "Binary pseudo charset",
        }
    }

    /// By MySQL's name, any case; `utf8` means `utf8mb3`.
    pub fn by_name(name: &str) -> Option<Charset> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Charset::Utf8mb3);
        }
        Self::ALL
            .into_iter()
            .find(|c| c.name().eq_ignore_ascii_case(name))
    }

    /// Most bytes of one character.
    #[inline]
    pub const fn max_len(self) -> usize {
        match self {
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
            _ => 1,
        }
    }

    /// Whether the bytes are UTF-8.
    #[inline]
    pub const fn is_utf8(self) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Utf8mb3)
    }

    /// Number of characters; a byte that starts no character counts as one.
    pub fn char_count(self, s: &[u8]) -> usize {
        if !self.is_utf8() {
            return s.len();
        }
        // In well-formed text the bytes whose top bits are 10 continue a character.
        s.iter().filter(|&&b| b & 0xC0 != 0x80).count()
    }

    /// Byte offset of the character number `n`, or the length if there are not so many.
    pub fn offset_of_char(self, s: &[u8], n: usize) -> usize {
        if !self.is_utf8() {
            return n.min(s.len());
        }
        if s.len() <= n {
            return s.len();
        }
        let mut seen = 0;
        for (i, &b) in s.iter().enumerate() {
            if b & 0xC0 != 0x80 {
                if seen == n {
                    return i;
                }
                seen += 1;
            }
        }
        s.len()
    }

    /// Byte offset of the first byte that belongs to no character of this set, or `None` if all do.
    pub fn first_invalid(self, s: &[u8]) -> Option<usize> {
        match self {
            Charset::Binary | Charset::Latin1 => None,
            Charset::Ascii => s.iter().position(|b| !b.is_ascii()),
            Charset::Utf8mb4 => std::str::from_utf8(s).err().map(|e| e.valid_up_to()),
            Charset::Utf8mb3 => {
                let bad = std::str::from_utf8(s).err().map(|e| e.valid_up_to());
                let wide = s.iter().position(|&b| b >= 0xF0);
                match (bad, wide) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                }
            }
        }
    }

    /// The first character of `s` and its length in bytes; a byte that starts no character is returned as
    /// `0x110000 + byte`. `None` at the end.
    #[inline]
    pub fn next_char(self, s: &[u8]) -> Option<(u32, usize)> {
        let &b = s.first()?;
        if b < 0x80 {
            return Some((u32::from(b), 1));
        }
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => Some(decode_utf8(s)),
            Charset::Latin1 => Some((latin1_to_unicode(b), 1)),
            Charset::Ascii => Some((INVALID_BYTE + u32::from(b), 1)),
            Charset::Binary => Some((u32::from(b), 1)),
        }
    }

    /// Appends a Unicode character in this set; `false` (and nothing appended) if it has none.
    pub fn push_char(self, c: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => match char::from_u32(c) {
                Some(ch) if self == Charset::Utf8mb4 || c < 0x1_0000 => {
                    let mut b = [0; 4];
                    out.extend_from_slice(ch.encode_utf8(&mut b).as_bytes());
                    true
                }
                _ => false,
            },
            Charset::Latin1 => match unicode_to_latin1(c) {
                Some(b) => {
                    out.push(b);
                    true
                }
                None => false,
            },
            Charset::Ascii if c < 0x80 => {
                out.push(c as u8);
                true
            }
            Charset::Binary if c < 0x100 => {
                out.push(c as u8);
                true
            }
            _ => false,
        }
    }
}

/// What [`Charset::next_char`] adds to a byte that starts no character.
pub const INVALID_BYTE: u32 = 0x11_0000;

#[inline]
fn latin1_to_unicode(b: u8) -> u32 {
    match b {
        0x80..=0x9F => u32::from(LATIN1_HIGH[usize::from(b - 0x80)]),
        _ => u32::from(b),
    }
}

fn unicode_to_latin1(c: u32) -> Option<u8> {
    match c {
        0..=0x7F | 0xA0..=0xFF => Some(c as u8),
        _ => LATIN1_HIGH
            .iter()
            .position(|&u| u32::from(u) == c)
            .map(|i| 0x80 + i as u8),
    }
}

/// Decodes one character of a non-empty slice; see [`Charset::next_char`].
#[inline]
pub(crate) fn decode_utf8(s: &[u8]) -> (u32, usize) {
    let cont = |i: usize| -> Option<u32> {
        s.get(i)
            .filter(|&&b| b & 0xC0 == 0x80)
            .map(|&b| u32::from(b & 0x3F))
    };
    let b = u32::from(s[0]);
    let decoded = match s[0] {
        0x00..=0x7F => return (b, 1),
        0xC2..=0xDF => cont(1).map(|c| ((b & 0x1F) << 6 | c, 2)),
        0xE0..=0xEF => cont(1)
            .zip(cont(2))
            .map(|(c, d)| ((b & 0x0F) << 12 | c << 6 | d, 3))
            .filter(|&(c, _)| c >= 0x800 && !(0xD800..0xE000).contains(&c)),
        0xF0..=0xF4 => cont(1)
            .zip(cont(2))
            .zip(cont(3))
            .map(|((c, d), e)| ((b & 0x07) << 18 | c << 12 | d << 6 | e, 4))
            .filter(|&(c, _)| (0x1_0000..0x11_0000).contains(&c)),
        _ => None,
    };
    decoded.unwrap_or((INVALID_BYTE + b, 1))
}

/// Converts text between character sets. Characters the target lacks, and bytes that are no character, become `?`; the
/// flag says whether any did. To or from `binary` the bytes stay as they are.
pub fn convert(from: Charset, to: Charset, s: &[u8], out: &mut Vec<u8>) -> bool {
    let same = from == to
        || from == Charset::Binary
        || to == Charset::Binary
        || (from == Charset::Utf8mb3 && to == Charset::Utf8mb4);
    if same || s.is_ascii() {
        out.extend_from_slice(s);
        return false;
    }
    let mut lossy = false;
    let mut rest = s;
    while let Some((c, n)) = from.next_char(rest) {
        if !to.push_char(c, out) {
            out.push(b'?');
            lossy = true;
        }
        rest = &rest[n..];
    }
    lossy
}

/// A string as UTF-8, whatever it is made of; what is no character becomes a replacement character or `?`.
pub fn to_utf8(from: Charset, s: &[u8]) -> String {
    if from.is_utf8() || s.is_ascii() {
        return String::from_utf8_lossy(s).into_owned();
    }
    let mut converted = Vec::with_capacity(s.len() + s.len() / 2);
    convert(from, Charset::Utf8mb4, s, &mut converted);
    String::from_utf8_lossy(&converted).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn latin1_is_windows_1252() {
        let mut out = Vec::new();
        assert!(!convert(
            Charset::Latin1,
            Charset::Utf8mb4,
            b"\x80 caf\xE9",
            &mut out
        ));
        assert_eq!(out, "€ café".as_bytes());
        let mut back = Vec::new();
        assert!(!convert(Charset::Utf8mb4, Charset::Latin1, &out, &mut back));
        assert_eq!(back, b"\x80 caf\xE9");
        back.clear();
        assert!(convert(
            Charset::Utf8mb4,
            Charset::Latin1,
            "日x".as_bytes(),
            &mut back
        ));
        assert_eq!(back, b"?x");
    }

    #[test]
    fn counting_and_validation() {
        let s = "aé日😀".as_bytes();
        assert_eq!(Charset::Utf8mb4.char_count(s), 4);
        assert_eq!(Charset::Utf8mb4.offset_of_char(s, 2), 3);
        assert_eq!(Charset::Utf8mb4.offset_of_char(s, 9), s.len());
        assert_eq!(Charset::Utf8mb4.first_invalid(s), None);
        assert_eq!(Charset::Utf8mb3.first_invalid(s), Some(6));
        assert_eq!(Charset::Utf8mb4.first_invalid(b"ab\xFF"), Some(2));
        assert_eq!(Charset::by_name("UTF8"), Some(Charset::Utf8mb3));
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn decoder_agrees_with_std(s in any::<String>(), junk in any::<Vec<u8>>()) {
            let mut rest = s.as_bytes();
            let mut got = Vec::new();
            while let Some((c, n)) = Charset::Utf8mb4.next_char(rest) {
                got.push(c);
                rest = &rest[n..];
            }
            prop_assert_eq!(got, s.chars().map(u32::from).collect::<Vec<_>>());
            let mut rest = &junk[..];
            while let Some((_, n)) = Charset::Utf8mb4.next_char(rest) {
                rest = &rest[n..];
            }
        }
    }
}
