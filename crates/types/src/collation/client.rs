//! The numbers of collations that clients name at their login, also of those that are not here: what a client is told, and whether it can be
//! served. Numbers and names are MySQL's.

use super::{CollationId, registry};

/// What a client asks for by the number of a collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCollation {
    /// One that is here, or the default of its character set in the place of one that is not.
    Known(CollationId),
    /// One of a character set that is not here.
    Foreign(&'static str),
    /// One of a character set in which no statement can be written, since its characters are at least two bytes.
    Wide(&'static str),
    /// No collation has the number: the server's own is taken.
    Unknown,
}

/// The character sets of MySQL that are not here, with the numbers of their collations.
const FOREIGN: &[(&str, &[u16])] = &[
    ("armscii8", &[32, 64]),
    ("big5", &[1, 84]),
    ("cp1250", &[26, 34, 44, 66, 99]),
    ("cp1251", &[14, 23, 50, 51, 52]),
    ("cp1256", &[57, 67]),
    ("cp1257", &[29, 58, 59]),
    ("cp850", &[4, 80]),
    ("cp852", &[40, 81]),
    ("cp866", &[36, 68]),
    ("cp932", &[95, 96]),
    ("dec8", &[3, 69]),
    ("eucjpms", &[97, 98]),
    ("euckr", &[19, 85]),
    ("gb18030", &[248, 249, 250]),
    ("gb2312", &[24, 86]),
    ("gbk", &[28, 87]),
    ("geostd8", &[92, 93]),
    ("greek", &[25, 70]),
    ("hebrew", &[16, 71]),
    ("hp8", &[6, 72]),
    ("keybcs2", &[37, 73]),
    ("koi8r", &[7, 74]),
    ("koi8u", &[22, 75]),
    ("latin2", &[2, 9, 21, 27, 77]),
    ("latin5", &[30, 78]),
    ("latin7", &[20, 41, 42, 79]),
    ("macce", &[38, 43]),
    ("macroman", &[39, 53]),
    ("sjis", &[13, 88]),
    ("swe7", &[10, 82]),
    ("tis620", &[18, 89]),
    ("ujis", &[12, 91]),
];

/// Those of latin1 that are not here.
const LATIN1: &[u16] = &[5, 15, 31, 94];

impl ClientCollation {
    /// What a number asks for.
    pub fn of(id: u16) -> ClientCollation {
        if registry::find(id).is_some() {
            return ClientCollation::Known(CollationId(id));
        }
        if LATIN1.contains(&id) {
            return ClientCollation::Known(CollationId::LATIN1_SWEDISH_CI);
        }
        match id {
            35 | 90 | 128..=151 | 159 => return ClientCollation::Wide("ucs2"),
            54 | 55 | 101..=124 => return ClientCollation::Wide("utf16"),
            56 | 62 => return ClientCollation::Wide("utf16le"),
            60 | 61 | 160..=183 => return ClientCollation::Wide("utf32"),
            76 | 223 => return ClientCollation::Known(CollationId::UTF8MB3_GENERAL_CI),
            // Languages, of which there is none for these weights.
            256..=323 => return ClientCollation::Known(CollationId::UTF8MB4_0900_AI_CI),
            _ => {}
        }
        let foreign = FOREIGN.iter().find(|(_, ids)| ids.contains(&id));
        foreign.map_or(ClientCollation::Unknown, |(name, _)| {
            ClientCollation::Foreign(name)
        })
    }
}

/// Whether a name is that of a character set in which no statement can be written.
pub fn is_wide(name: &str) -> bool {
    ["ucs2", "utf16", "utf16le", "utf32"]
        .iter()
        .any(|wide| wide.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_means_one_thing() {
        let mut seen = std::collections::HashSet::new();
        for (name, ids) in FOREIGN {
            for id in *ids {
                assert!(seen.insert(*id), "{name} {id}");
                assert_eq!(ClientCollation::of(*id), ClientCollation::Foreign(name));
            }
        }
        for (id, expected) in [
            (7, ClientCollation::Foreign("koi8r")),
            (51, ClientCollation::Foreign("cp1251")),
            (35, ClientCollation::Wide("ucs2")),
            (60, ClientCollation::Wide("utf32")),
            (45, ClientCollation::Known(CollationId(45))),
            (15, ClientCollation::Known(CollationId(8))),
            (0, ClientCollation::Unknown),
            (17, ClientCollation::Unknown),
            (2000, ClientCollation::Unknown),
        ] {
            assert_eq!(ClientCollation::of(id), expected, "{id}");
        }
    }
}
