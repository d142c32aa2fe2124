//! Names and messages on their way to and from a client: they are UTF-8 inside, and outside what the client asked for.
//!
//! Values are none of this file's business (`encode` turns them). Nothing here copies what is ASCII or goes to a client of UTF-8.

use std::borrow::Cow;
use std::fmt::Write;

use sql::sink::ColumnMeta;
use types::{Charset, CollationId, SqlError, charset};
use wire::column_type::ColumnType;
use wire::packet::PacketWriter;
use wire::response::{ColumnDef, write_err};

/// A name in the character set of a client's results (`None`: as it is); `?` for what the set lacks.
#[inline]
pub fn shown(name: &[u8], to: Option<Charset>) -> Cow<'_, [u8]> {
    match to {
        Some(to) if !to.is_utf8() && !name.is_ascii() => {
            let mut out = Vec::with_capacity(name.len());
            charset::convert(Charset::Utf8mb4, to, name, &mut out);
            Cow::Owned(out)
        }
        _ => Cow::Borrowed(name),
    }
}

/// A name that a client sent in its own character set.
pub fn received(name: &[u8], client: Charset) -> String {
    charset::to_utf8(client, name)
}

/// Writes an error packet, its message in the character set of the client's results.
pub fn write_error(e: &SqlError, to: Option<Charset>, writer: &mut PacketWriter) {
    write_err(e.code, &e.sqlstate, &message(&e.message, to), writer);
}

/// A message in that character set; what the set lacks is shown as `\00E9` or `\+01F600`, as MySQL does.
fn message(text: &str, to: Option<Charset>) -> Cow<'_, [u8]> {
    let Some(to) = to.filter(|to| *to != Charset::Utf8mb4 && !text.is_ascii()) else {
        return Cow::Borrowed(text.as_bytes());
    };
    let mut out = Vec::with_capacity(text.len());
    let mut escape = String::new();
    for c in text.chars().map(u32::from) {
        if !to.push_char(c, &mut out) {
            escape.clear();
            // Writing to a String does not fail.
            let _ = match c {
                0..=0xFFFF => write!(escape, "\\{c:04X}"),
                _ => write!(escape, "\\+{c:06X}"),
            };
            out.extend_from_slice(escape.as_bytes());
        }
    }
    Cow::Owned(out)
}

/// What a client whose results are in `to` is told about a column, to `write` it.
#[inline]
pub fn define(column: &ColumnMeta, to: Option<Charset>, write: impl FnOnce(&ColumnDef<'_>)) {
    let collation = to.map_or(column.collation, CollationId::default_of);
    let kind = column.ty.protocol_type() as u8;
    write(&ColumnDef {
        schema: &shown(column.schema.as_bytes(), to),
        table: &shown(column.table.as_bytes(), to),
        org_table: &shown(column.org_table.as_bytes(), to),
        name: &shown(column.name.as_bytes(), to),
        org_name: &shown(column.org_name.as_bytes(), to),
        collation: column.ty.protocol_charset(collation),
        length: column.ty.display_length(collation),
        column_type: ColumnType::from_u8(kind).unwrap_or(ColumnType::VarString),
        flags: column.flags,
        decimals: column.decimals,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_what_the_character_set_has() {
        let text = "no column 'é😀'";
        assert_eq!(&*message(text, None), text.as_bytes());
        assert_eq!(&*message(text, Some(Charset::Utf8mb4)), text.as_bytes());
        let in_mb3 = "no column 'é\\+01F600'".as_bytes();
        assert_eq!(&*message(text, Some(Charset::Utf8mb3)), in_mb3);
        let in_latin1 = b"no column '\xE9\\+01F600'";
        assert_eq!(&*message(text, Some(Charset::Latin1)), in_latin1);
        let in_ascii = b"no column '\\00E9\\+01F600'";
        assert_eq!(&*message(text, Some(Charset::Ascii)), in_ascii);
    }

    #[test]
    fn names_go_both_ways() {
        assert_eq!(&*shown("é".as_bytes(), Some(Charset::Latin1)), b"\xE9");
        assert_eq!(&*shown("é".as_bytes(), None), "é".as_bytes());
        assert_eq!(received(b"\xE9", Charset::Latin1), "é");
        assert_eq!(received("é".as_bytes(), Charset::Binary), "é");
    }
}
