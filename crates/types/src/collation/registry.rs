//! The list of collations with MySQL's numbers and names.

use super::CollationId;
use super::general::Latin;
use super::language::Language;
use super::tailored::Letters;
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
    /// UCA 4.0.0 as a language orders it, one level, trailing spaces insignificant.
    Unicode(Language),
    /// Unicode collation algorithm, primary strength.
    UcaPrimary,
    /// Unicode collation algorithm, primary and secondary strength.
    UcaSecondary,
    /// Unicode collation algorithm, three levels.
    UcaTertiary,
    /// Unicode collation algorithm as a language orders it, and at how many levels.
    Tailored(Letters, u8),
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

/// One of UCA 4.0.0.
const fn u(id: u16, name: &'static str, charset: Charset, language: Language) -> CollationInfo {
    c(id, name, charset, Kind::Unicode(language), true, false)
}

/// One of a language by UCA 9.0.0, where its letters alone count.
const fn ai(id: u16, name: &'static str, letters: Letters) -> CollationInfo {
    let kind = Kind::Tailored(letters, 1);
    c(id, name, Charset::Utf8mb4, kind, false, false)
}

/// One of a language by UCA 9.0.0, where accents and case count, too.
const fn cs(id: u16, name: &'static str, letters: Letters) -> CollationInfo {
    let kind = Kind::Tailored(letters, 3);
    c(id, name, Charset::Utf8mb4, kind, false, false)
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
    u(192, "utf8mb3_unicode_ci", Charset::Utf8mb3, Language::None),
    u(
        193,
        "utf8mb3_icelandic_ci",
        Charset::Utf8mb3,
        Language::Icelandic,
    ),
    u(
        194,
        "utf8mb3_latvian_ci",
        Charset::Utf8mb3,
        Language::Latvian,
    ),
    u(
        195,
        "utf8mb3_romanian_ci",
        Charset::Utf8mb3,
        Language::Romanian,
    ),
    u(
        196,
        "utf8mb3_slovenian_ci",
        Charset::Utf8mb3,
        Language::Slovenian,
    ),
    u(197, "utf8mb3_polish_ci", Charset::Utf8mb3, Language::Polish),
    u(
        198,
        "utf8mb3_estonian_ci",
        Charset::Utf8mb3,
        Language::Estonian,
    ),
    u(
        199,
        "utf8mb3_spanish_ci",
        Charset::Utf8mb3,
        Language::Spanish,
    ),
    u(
        200,
        "utf8mb3_swedish_ci",
        Charset::Utf8mb3,
        Language::Swedish,
    ),
    u(
        201,
        "utf8mb3_turkish_ci",
        Charset::Utf8mb3,
        Language::Turkish,
    ),
    u(202, "utf8mb3_czech_ci", Charset::Utf8mb3, Language::Czech),
    u(203, "utf8mb3_danish_ci", Charset::Utf8mb3, Language::Danish),
    u(
        204,
        "utf8mb3_lithuanian_ci",
        Charset::Utf8mb3,
        Language::Lithuanian,
    ),
    u(205, "utf8mb3_slovak_ci", Charset::Utf8mb3, Language::Slovak),
    u(
        206,
        "utf8mb3_spanish2_ci",
        Charset::Utf8mb3,
        Language::Spanish2,
    ),
    u(207, "utf8mb3_roman_ci", Charset::Utf8mb3, Language::Roman),
    u(
        208,
        "utf8mb3_persian_ci",
        Charset::Utf8mb3,
        Language::Persian,
    ),
    u(
        209,
        "utf8mb3_esperanto_ci",
        Charset::Utf8mb3,
        Language::Esperanto,
    ),
    u(
        210,
        "utf8mb3_hungarian_ci",
        Charset::Utf8mb3,
        Language::Hungarian,
    ),
    u(
        211,
        "utf8mb3_sinhala_ci",
        Charset::Utf8mb3,
        Language::Sinhala,
    ),
    u(
        212,
        "utf8mb3_german2_ci",
        Charset::Utf8mb3,
        Language::German2,
    ),
    u(
        213,
        "utf8mb3_croatian_ci",
        Charset::Utf8mb3,
        Language::Croatian,
    ),
    c(
        214,
        "utf8mb3_unicode_520_ci",
        Charset::Utf8mb3,
        Kind::UcaPrimary,
        true,
        false,
    ),
    u(
        215,
        "utf8mb3_vietnamese_ci",
        Charset::Utf8mb3,
        Language::Vietnamese,
    ),
    u(224, "utf8mb4_unicode_ci", Charset::Utf8mb4, Language::None),
    u(
        225,
        "utf8mb4_icelandic_ci",
        Charset::Utf8mb4,
        Language::Icelandic,
    ),
    u(
        226,
        "utf8mb4_latvian_ci",
        Charset::Utf8mb4,
        Language::Latvian,
    ),
    u(
        227,
        "utf8mb4_romanian_ci",
        Charset::Utf8mb4,
        Language::Romanian,
    ),
    u(
        228,
        "utf8mb4_slovenian_ci",
        Charset::Utf8mb4,
        Language::Slovenian,
    ),
    u(229, "utf8mb4_polish_ci", Charset::Utf8mb4, Language::Polish),
    u(
        230,
        "utf8mb4_estonian_ci",
        Charset::Utf8mb4,
        Language::Estonian,
    ),
    u(
        231,
        "utf8mb4_spanish_ci",
        Charset::Utf8mb4,
        Language::Spanish,
    ),
    u(
        232,
        "utf8mb4_swedish_ci",
        Charset::Utf8mb4,
        Language::Swedish,
    ),
    u(
        233,
        "utf8mb4_turkish_ci",
        Charset::Utf8mb4,
        Language::Turkish,
    ),
    u(234, "utf8mb4_czech_ci", Charset::Utf8mb4, Language::Czech),
    u(235, "utf8mb4_danish_ci", Charset::Utf8mb4, Language::Danish),
    u(
        236,
        "utf8mb4_lithuanian_ci",
        Charset::Utf8mb4,
        Language::Lithuanian,
    ),
    u(237, "utf8mb4_slovak_ci", Charset::Utf8mb4, Language::Slovak),
    u(
        238,
        "utf8mb4_spanish2_ci",
        Charset::Utf8mb4,
        Language::Spanish2,
    ),
    u(239, "utf8mb4_roman_ci", Charset::Utf8mb4, Language::Roman),
    u(
        240,
        "utf8mb4_persian_ci",
        Charset::Utf8mb4,
        Language::Persian,
    ),
    u(
        241,
        "utf8mb4_esperanto_ci",
        Charset::Utf8mb4,
        Language::Esperanto,
    ),
    u(
        242,
        "utf8mb4_hungarian_ci",
        Charset::Utf8mb4,
        Language::Hungarian,
    ),
    u(
        243,
        "utf8mb4_sinhala_ci",
        Charset::Utf8mb4,
        Language::Sinhala,
    ),
    u(
        244,
        "utf8mb4_german2_ci",
        Charset::Utf8mb4,
        Language::German2,
    ),
    u(
        245,
        "utf8mb4_croatian_ci",
        Charset::Utf8mb4,
        Language::Croatian,
    ),
    c(
        246,
        "utf8mb4_unicode_520_ci",
        Charset::Utf8mb4,
        Kind::UcaPrimary,
        true,
        false,
    ),
    u(
        247,
        "utf8mb4_vietnamese_ci",
        Charset::Utf8mb4,
        Language::Vietnamese,
    ),
    c(
        255,
        "utf8mb4_0900_ai_ci",
        Charset::Utf8mb4,
        Kind::UcaPrimary,
        false,
        true,
    ),
    ai(256, "utf8mb4_de_pb_0900_ai_ci", Letters::GermanPhonebook),
    ai(257, "utf8mb4_is_0900_ai_ci", Letters::Icelandic),
    ai(258, "utf8mb4_lv_0900_ai_ci", Letters::Latvian),
    ai(259, "utf8mb4_ro_0900_ai_ci", Letters::Romanian),
    ai(260, "utf8mb4_sl_0900_ai_ci", Letters::Slovenian),
    ai(261, "utf8mb4_pl_0900_ai_ci", Letters::Polish),
    ai(262, "utf8mb4_et_0900_ai_ci", Letters::Estonian),
    ai(263, "utf8mb4_es_0900_ai_ci", Letters::Spanish),
    ai(264, "utf8mb4_sv_0900_ai_ci", Letters::Swedish),
    ai(265, "utf8mb4_tr_0900_ai_ci", Letters::Turkish),
    ai(266, "utf8mb4_cs_0900_ai_ci", Letters::Czech),
    ai(268, "utf8mb4_lt_0900_ai_ci", Letters::Lithuanian),
    ai(269, "utf8mb4_sk_0900_ai_ci", Letters::Slovak),
    ai(
        270,
        "utf8mb4_es_trad_0900_ai_ci",
        Letters::SpanishTraditional,
    ),
    ai(271, "utf8mb4_la_0900_ai_ci", Letters::Latin),
    ai(273, "utf8mb4_eo_0900_ai_ci", Letters::Esperanto),
    ai(274, "utf8mb4_hu_0900_ai_ci", Letters::Hungarian),
    ai(275, "utf8mb4_hr_0900_ai_ci", Letters::Croatian),
    c(
        278,
        "utf8mb4_0900_as_cs",
        Charset::Utf8mb4,
        Kind::UcaTertiary,
        false,
        false,
    ),
    cs(279, "utf8mb4_de_pb_0900_as_cs", Letters::GermanPhonebook),
    cs(280, "utf8mb4_is_0900_as_cs", Letters::Icelandic),
    cs(281, "utf8mb4_lv_0900_as_cs", Letters::Latvian),
    cs(282, "utf8mb4_ro_0900_as_cs", Letters::Romanian),
    cs(283, "utf8mb4_sl_0900_as_cs", Letters::Slovenian),
    cs(284, "utf8mb4_pl_0900_as_cs", Letters::Polish),
    cs(285, "utf8mb4_et_0900_as_cs", Letters::Estonian),
    cs(286, "utf8mb4_es_0900_as_cs", Letters::Spanish),
    cs(287, "utf8mb4_sv_0900_as_cs", Letters::Swedish),
    cs(288, "utf8mb4_tr_0900_as_cs", Letters::Turkish),
    cs(289, "utf8mb4_cs_0900_as_cs", Letters::Czech),
    cs(291, "utf8mb4_lt_0900_as_cs", Letters::Lithuanian),
    cs(292, "utf8mb4_sk_0900_as_cs", Letters::Slovak),
    cs(
        293,
        "utf8mb4_es_trad_0900_as_cs",
        Letters::SpanishTraditional,
    ),
    cs(294, "utf8mb4_la_0900_as_cs", Letters::Latin),
    cs(296, "utf8mb4_eo_0900_as_cs", Letters::Esperanto),
    cs(297, "utf8mb4_hu_0900_as_cs", Letters::Hungarian),
    cs(298, "utf8mb4_hr_0900_as_cs", Letters::Croatian),
    c(
        305,
        "utf8mb4_0900_as_ci",
        Charset::Utf8mb4,
        Kind::UcaSecondary,
        false,
        false,
    ),
    ai(306, "utf8mb4_ru_0900_ai_ci", Letters::Russian),
    cs(307, "utf8mb4_ru_0900_as_cs", Letters::Russian),
    c(
        309,
        "utf8mb4_0900_bin",
        Charset::Utf8mb4,
        Kind::BytesNoPad,
        false,
        false,
    ),
    ai(314, "utf8mb4_sr_latn_0900_ai_ci", Letters::SerbianLatin),
    cs(315, "utf8mb4_sr_latn_0900_as_cs", Letters::SerbianLatin),
    ai(316, "utf8mb4_bs_0900_ai_ci", Letters::Bosnian),
    cs(317, "utf8mb4_bs_0900_as_cs", Letters::Bosnian),
    ai(318, "utf8mb4_bg_0900_ai_ci", Letters::Bulgarian),
    cs(319, "utf8mb4_bg_0900_as_cs", Letters::Bulgarian),
    ai(320, "utf8mb4_gl_0900_ai_ci", Letters::Galician),
    cs(321, "utf8mb4_gl_0900_as_cs", Letters::Galician),
    ai(322, "utf8mb4_mn_cyrl_0900_ai_ci", Letters::Mongolian),
    cs(323, "utf8mb4_mn_cyrl_0900_as_cs", Letters::Mongolian),
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
