//! Collations: which strings are equal, which comes first, what their keys look like.
//!
//! A [`CollationId`] is MySQL's own number, so it goes on the wire and into the catalog as it is. ASCII text takes byte
//! tables; other text goes through character weights. Values of two different character sets are never compared here: the
//! caller converts one first.

mod case;
pub mod client;
mod general;
mod key;
mod language;
mod like;
mod order;
mod registry;
mod search;
mod tailored;
mod uca;

pub(crate) use key::{read_bytes as read_key_bytes, write_bytes as write_key_bytes};
pub use registry::{COLLATIONS, CollationInfo};
pub use search::ByteSearch;

use crate::charset::Charset;
use crate::{Pace, SqlError};
use registry::{Kind, info};
use std::cmp::Ordering;
use std::hash::Hasher;

/// MySQL's number of a collation. Any u16 can be held; an unknown number behaves as `binary`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollationId(pub u16);

impl CollationId {
    /// `utf8mb4_0900_ai_ci`, the server's default.
    pub const UTF8MB4_0900_AI_CI: CollationId = CollationId(255);
    /// `utf8mb4_general_ci`.
    pub const UTF8MB4_GENERAL_CI: CollationId = CollationId(45);
    /// `utf8mb4_bin`.
    pub const UTF8MB4_BIN: CollationId = CollationId(46);
    /// `utf8mb3_general_ci`, the collation of metadata.
    pub const UTF8MB3_GENERAL_CI: CollationId = CollationId(33);
    /// `latin1_swedish_ci`.
    pub const LATIN1_SWEDISH_CI: CollationId = CollationId(8);
    /// `ascii_general_ci`.
    pub const ASCII_GENERAL_CI: CollationId = CollationId(11);
    /// `binary`.
    pub const BINARY: CollationId = CollationId(63);
    /// What a new table gets when nothing else is said.
    pub const DEFAULT: CollationId = Self::UTF8MB4_0900_AI_CI;

    /// By MySQL's name, any case; `utf8_*` means `utf8mb3_*`.
    pub fn by_name(name: &str) -> Option<CollationId> {
        registry::by_name(name)
    }

    /// The default collation of a character set.
    pub fn default_of(charset: Charset) -> CollationId {
        match charset {
            Charset::Utf8mb4 => Self::UTF8MB4_0900_AI_CI,
            Charset::Utf8mb3 => Self::UTF8MB3_GENERAL_CI,
            Charset::Latin1 => Self::LATIN1_SWEDISH_CI,
            Charset::Ascii => Self::ASCII_GENERAL_CI,
            Charset::Binary => Self::BINARY,
        }
    }

    /// The `_bin` collation of a character set (what the `BINARY` column attribute means).
    pub fn bin_of(charset: Charset) -> CollationId {
        match charset {
            Charset::Utf8mb4 => Self::UTF8MB4_BIN,
            Charset::Utf8mb3 => CollationId(83),
            Charset::Latin1 => CollationId(47),
            Charset::Ascii => CollationId(65),
            Charset::Binary => Self::BINARY,
        }
    }

    /// Whether the number is one of ours.
    pub fn is_known(self) -> bool {
        registry::find(self.0).is_some()
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        info(self).name
    }

    /// The character set.
    #[inline]
    pub fn charset(self) -> Charset {
        info(self).charset
    }

    /// `binary`: bytes, not characters.
    #[inline]
    pub fn is_binary(self) -> bool {
        info(self).kind == Kind::Binary
    }

    /// Letters that differ in their case alone are different: `*_bin`, `binary`, `*_cs`.
    pub fn is_case_sensitive(self) -> bool {
        self.is_bin() || self.name().ends_with("_cs")
    }

    /// Order is that of code points or bytes (`binary` and the `_bin` collations).
    #[inline]
    pub fn is_bin(self) -> bool {
        matches!(
            info(self).kind,
            Kind::Binary | Kind::BytesNoPad | Kind::BytesPad
        )
    }

    /// Trailing spaces do not count in comparisons.
    #[inline]
    pub fn pads_space(self) -> bool {
        info(self).pad_space
    }

    /// Whether the key of a text, without its end mark, begins the keys of all texts that begin with the text: there is one level of weights, and
    /// every character has its own.
    pub fn keys_begin_alike(self) -> bool {
        match info(self).kind {
            Kind::UcaSecondary | Kind::UcaTertiary | Kind::Tailored(..) => false,
            Kind::Unicode(language) => !language::has_pairs(language),
            _ => true,
        }
    }

    /// Compares two strings of this collation's character set.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        order::compare(info(self), a, b)
    }

    /// Whether two strings are equal; faster than [`compare`](Self::compare) for different lengths of `_bin`.
    #[inline]
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        a == b || (info(self).kind != Kind::Binary && self.compare(a, b) == Ordering::Equal)
    }

    /// Feeds a hash so that equal strings hash equally.
    pub fn hash<H: Hasher>(self, s: &[u8], state: &mut H) {
        order::hash(info(self), s, state);
    }

    /// Appends a key whose `memcmp` order is this collation's order, ended so that no key is a prefix of another: keys of
    /// several parts can be concatenated. Not reversible.
    pub fn write_key(self, s: &[u8], out: &mut Vec<u8>) {
        key::write(info(self), s, out);
    }

    /// The first eight bytes of what [`write_key`](Self::write_key) appends, first byte highest, where they are known from the
    /// first eight characters.
    #[inline]
    pub fn key_head(self, s: &[u8]) -> Option<u64> {
        key::head(info(self), s)
    }

    /// Bytes of the key at the front of `key` that [`write_key`](Self::write_key) wrote; `None` if it has no end.
    pub fn key_len(self, key: &[u8]) -> Option<usize> {
        key::len(info(self), key)
    }

    /// WEIGHT_STRING(): the bare weights, without an end mark.
    pub fn weight_string(self, s: &[u8], out: &mut Vec<u8>) {
        key::weight_string(info(self), s, out);
    }

    /// LIKE: `%` any run, `_` any character, `escape` (`None` for `ESCAPE ''`) takes the next one literally. Characters
    /// are equal as this collation's single-character weights are.
    pub fn like(self, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
        // Nobody ends it, so that it does not fail.
        self.like_paced(text, pattern, escape, &Pace::unwatched())
            .unwrap_or(false)
    }

    /// As [`like`](Self::like), for texts and patterns that may be long: text × pattern steps in the worst case, counted.
    ///
    /// # Errors
    /// What `pace` says.
    pub fn like_paced(
        self,
        text: &[u8],
        pattern: &[u8],
        escape: Option<u32>,
        pace: &Pace<'_>,
    ) -> Result<bool, SqlError> {
        like::like(info(self), text, pattern, escape, pace)
    }

    /// Byte offset of the first occurrence of `needle` at or after byte `from`, under this collation (LOCATE, INSTR);
    /// characters are equal as this collation's single-character weights are. It has as many bytes as `needle`. Takes time linear in both.
    ///
    /// # Errors
    /// What `pace` says.
    pub fn find(
        self,
        text: &[u8],
        needle: &[u8],
        from: usize,
        pace: &Pace<'_>,
    ) -> Result<Option<usize>, SqlError> {
        search::find(info(self), text, needle, from, pace)
    }

    /// Appends the text in upper case (`binary` text stays as it is).
    pub fn upper(self, s: &[u8], out: &mut Vec<u8>) {
        case::upper(info(self), s, out);
    }

    /// Appends the text in lower case (`binary` text stays as it is).
    pub fn lower(self, s: &[u8], out: &mut Vec<u8>) {
        case::lower(info(self), s, out);
    }
}

impl std::fmt::Debug for CollationId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Default for CollationId {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests;
