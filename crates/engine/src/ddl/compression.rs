//! What a table's options say of how its pages are stored.

use crate::schema::TableOptions;
use pager::compressed::{CompressedFormat, Method};

/// Bytes of a unit: a page takes what it needs, to the sector, also where blocks are named. Whole blocks would give a page that compresses
/// into a little more than one the room of two.
const UNIT: u32 = 512;

/// How the pages of a table with these options are compressed; `None` where they are stored as they are. Options that do not go together
/// were refused or warned about, and count for nothing here.
pub fn compressed_format(o: &TableOptions, level: u8) -> Option<CompressedFormat> {
    let other = |name: &str| {
        let given = o.others.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        given.map(|(_, v)| v.as_str())
    };
    let block = match other("KEY_BLOCK_SIZE") {
        Some("1") => Some(1024),
        Some("2") => Some(2048),
        Some("4") => Some(4096),
        Some("8") => Some(8192),
        Some("16") => Some(16384),
        _ => None,
    };
    let format = |block, method| {
        Some(CompressedFormat {
            unit: UNIT,
            block,
            method,
            level: level.min(9),
        })
    };
    match (o.row_format.as_str(), block) {
        ("" | "COMPRESSED", Some(block)) => return format(block, Method::Zstd),
        ("COMPRESSED", None) => return format(UNIT, Method::Zstd),
        _ => {}
    }
    let named = |m: &str| other("COMPRESSION").is_some_and(|c| c.eq_ignore_ascii_case(m));
    if named("lz4") {
        format(UNIT, Method::Lz4)
    } else if named("zlib") {
        format(UNIT, Method::Zlib)
    } else if named("zstd") {
        format(UNIT, Method::Zstd)
    } else {
        None
    }
}
