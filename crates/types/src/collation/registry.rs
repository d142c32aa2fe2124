//! The list of collations with MySQL's numbers and names.

use super::CollationId;
use super::general::Latin;
use crate::charset::Charset;

/// Which comparison a collation uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `binary`.
    Binary,
    /// UTF-8 or one-byte text by code point, trailing spaces significant.
    BytesNoPad,
    /// Text by code point, trailing spaces insignificant.
    BytesPad,
    /// One 16-bit weight a character (`general_ci`), trailing spaces insignificant.
    General,
    /// One weight a byte (`latin1_swedish_ci` and its like), trailing spaces insignificant.
    Latin(Latin),
    /// Unicode collation algorithm, primary strength.
    UcaPrimary,
    /// Unicode collation algorithm, primary and secondary strength.
    UcaSecondary,
    /// Unicode collation algorithm, three levels.
    UcaTertiary,
}

/// What INFORMATION_SCHEMA.COLLATIONS tells of a collation.
#[derive(Debug)]
pub struct CollationInfo {
    /// MySQL's number.
    pub id: u16,
    /// MySQL's name.
    pub name: &'static str,
    /// Its character set.
    pub charset: Charset,
    /// `PAD SPACE` rather than `NO PAD`.
    pub pad_space: bool,
    /// The default of its character set.
    pub is_default: bool,
    pub(super) kind: Kind,
}

const fn c(
    id: u16,
    name: &'static str,
    charset: Charset,
    kind: Kind,
    pad_space: bool,
    is_default: bool,
) -> CollationInfo {
    CollationInfo {
        id,
        name,
        charset,
        pad_space,
        is_default,
        kind,
    }
}

/// Every collation, ascending by number. An unknown number is treated as `binary`.
pub static COLLATIONS: &[CollationInfo] = &[
    c(
        8,
        "latin1_swedish_ci",
        Charset::Latin1,
        Kind::Latin(Latin::Swedish),
        true,
        true,
    ),
    c(
        11,
        "ascii_general_ci",
        Charset::Ascii,
        Kind::General,
        true,
        true,
    ),
    c(
        33,
        "utf8mb3_general_ci",
        Charset::Utf8mb3,
        Kind::General,
        true,
        true,
    ),
    c(
        45,
        "utf8mb4_general_ci",
        Charset::Utf8mb4,
        Kind::General,
        true,
        false,
    ),
    c(
        46,
        "utf8mb4_bin",
        Charset::Utf8mb4,
        Kind::BytesPad,
        true,
        false,
    ),
    c(
        47,
        "latin1_bin",
        Charset::Latin1,
        Kind::BytesPad,
        true,
        false,
    ),
    c(
        48,
        "latin1_general_ci",
        Charset::Latin1,
        Kind::Latin(Latin::GeneralCi),
        true,
        false,
    ),
    c(
        49,
        "latin1_general_cs",
        Charset::Latin1,
        Kind::Latin(Latin::GeneralCs),
        true,
        false,
    ),
    c(63, "binary", Charset::Binary, Kind::Binary, false, true),
    c(65, "ascii_bin", Charset::Ascii, Kind::BytesPad, true, false),
    c(
        83,
        "utf8mb3_bin",
        Charset::Utf8mb3,
        Kind::BytesPad,
        true,
        false,
    ),
    c(
        192,
        "utf8mb3_unicode_ci",
        Charset::Utf8mb3,
        Kind::UcaPrimary,
        true,
        false,
    ),
    c(
        224,
        "utf8mb4_unicode_ci",
        Charset::Utf8mb4,
        Kind::UcaPrimary,
        true,
        false,
    ),
    c(
        246,
        "utf8mb4_unicode_520_ci",
        Charset::Utf8mb4,
        Kind::UcaPrimary,
        true,
        false,
    ),
    c(
        255,
        "utf8mb4_0900_ai_ci",
        Charset::Utf8mb4,
        Kind::UcaPrimary,
        false,
        true,
    ),
    c(
        278,
        "utf8mb4_0900_as_cs",
        Charset::Utf8mb4,
        Kind::UcaTertiary,
        false,
        false,
    ),
    c(
        305,
        "utf8mb4_0900_as_ci",
        Charset::Utf8mb4,
        Kind::UcaSecondary,
        false,
        false,
    ),
    c(
        309,
        "utf8mb4_0900_bin",
        Charset::Utf8mb4,
        Kind::BytesNoPad,
        false,
        false,
    ),
];

const BINARY_AT: u8 = 8;

/// Position in [`COLLATIONS`] by number; unknown numbers point at `binary`.
static INDEX: [u8; 512] = {
    let mut t = [BINARY_AT; 512];
    let mut i = 0;
    while i < COLLATIONS.len() {
        t[COLLATIONS[i].id as usize] = i as u8;
        i += 1;
    }
    t
};

#[inline]
pub(super) fn info(id: CollationId) -> &'static CollationInfo {
    &COLLATIONS[usize::from(INDEX.get(usize::from(id.0)).copied().unwrap_or(BINARY_AT))]
}

pub(super) fn find(id: u16) -> Option<&'static CollationInfo> {
    COLLATIONS.iter().find(|c| c.id == id)
}

pub(super) fn by_name(name: &str) -> Option<CollationId> {
    let find = |n: &str| {
        COLLATIONS
            .iter()
            .find(|c| c.name.eq_ignore_ascii_case(n))
            .map(|c| CollationId(c.id))
    };
    find(name).or_else(|| {
        let (head, tail) = name.split_at_checked(5)?;
        head.eq_ignore_ascii_case("utf8_")
            .then(|| find(&format!("utf8mb3_{tail}")))?
    })
}
