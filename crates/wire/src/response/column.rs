//! Column definitions.

use crate::column_type::ColumnType;
use crate::error::ProtocolError;
use crate::packet::PacketWriter;
use crate::read::{ReadResult, Reader};
use crate::write::Put;

/// ColumnDefinition41: what clients learn of a result column or parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDef<'a> {
    /// Database of the base table.
    pub schema: &'a [u8],
    /// Table alias.
    pub table: &'a [u8],
    /// Base table.
    pub org_table: &'a [u8],
    /// Column alias.
    pub name: &'a [u8],
    /// Base column.
    pub org_name: &'a [u8],
    /// Collation id of the values; [`BINARY_COLLATION`](crate::column_type::BINARY_COLLATION) for what is not text.
    pub collation: u16,
    /// Longest value, in bytes of the connection's character set.
    pub length: u32,
    /// The type.
    pub column_type: ColumnType,
    /// Flags such as [`NOT_NULL`](crate::column_type::NOT_NULL).
    pub flags: u16,
    /// Digits after the point; [`NOT_FIXED_DECIMALS`](crate::column_type::NOT_FIXED_DECIMALS) for floating point.
    pub decimals: u8,
}

impl<'a> ColumnDef<'a> {
    /// A column of an expression: a name and a type.
    pub const fn new(name: &'a [u8], column_type: ColumnType) -> Self {
        ColumnDef {
            schema: b"",
            table: b"",
            org_table: b"",
            name,
            org_name: b"",
            collation: crate::column_type::BINARY_COLLATION,
            length: 0,
            column_type,
            flags: 0,
            decimals: 0,
        }
    }

    /// Writes it as one packet.
    pub fn write(&self, writer: &mut PacketWriter) {
        writer.begin();
        self.append(writer.buf());
        writer.end();
    }

    /// Writes it as COM_FIELD_LIST wants it, with the column's default.
    pub fn write_for_field_list(&self, default: Option<&[u8]>, writer: &mut PacketWriter) {
        writer.begin();
        let buf = writer.buf();
        self.append(buf);
        match default {
            Some(text) => buf.put_lenenc_bytes(text),
            None => buf.put_u8(0xFB),
        }
        writer.end();
    }

    fn append(&self, buf: &mut Vec<u8>) {
        buf.put_lenenc_bytes(b"def");
        for text in [
            self.schema,
            self.table,
            self.org_table,
            self.name,
            self.org_name,
        ] {
            buf.put_lenenc_bytes(text);
        }
        buf.put_u8(0x0C);
        buf.put_u16(self.collation);
        buf.put_u32(self.length);
        buf.put_u8(self.column_type as u8);
        buf.put_u16(self.flags);
        buf.put_u8(self.decimals);
        buf.put_u16(0);
    }

    /// Reads a column definition packet.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`], also for a type byte MySQL does not use.
    pub fn parse(packet: &'a [u8]) -> ReadResult<ColumnDef<'a>> {
        let mut reader = Reader::new(packet);
        reader.lenenc_bytes()?;
        let schema = reader.lenenc_bytes()?;
        let table = reader.lenenc_bytes()?;
        let org_table = reader.lenenc_bytes()?;
        let name = reader.lenenc_bytes()?;
        let org_name = reader.lenenc_bytes()?;
        reader.lenenc_int()?;
        Ok(ColumnDef {
            schema,
            table,
            org_table,
            name,
            org_name,
            collation: reader.u16()?,
            length: reader.u32()?,
            column_type: ColumnType::from_u8(reader.u8()?).ok_or(ProtocolError::Malformed)?,
            flags: reader.u16()?,
            decimals: reader.u8()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::HEADER;

    #[test]
    fn round_trips() {
        let mut writer = PacketWriter::new();
        let column = ColumnDef {
            schema: b"s",
            table: b"t",
            org_table: b"ot",
            name: b"n",
            org_name: b"on",
            collation: 255,
            length: 400,
            column_type: ColumnType::VarString,
            flags: crate::column_type::NOT_NULL,
            decimals: 3,
        };
        column.write(&mut writer);
        assert_eq!(ColumnDef::parse(&writer.pending()[HEADER..]), Ok(column));
        writer.advance(usize::MAX);
        column.write_for_field_list(None, &mut writer);
        assert_eq!(writer.pending().last(), Some(&0xFB));
        assert_eq!(ColumnDef::parse(&writer.pending()[HEADER..]), Ok(column));
    }
}
