//! The event that stands before rows: their table, and the types of its columns.

use super::column::ColumnType;
use super::{BITS, bit, bytes_of, put_bits};
use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::write::Put;

/// No table has more columns.
pub const MOST_COLUMNS: usize = 4096;

/// Numbers of what may follow.
mod field {
    pub const SIGNEDNESS: u8 = 1;
    pub const DEFAULT_CHARSET: u8 = 2;
    pub const COLUMN_CHARSET: u8 = 3;
    pub const COLUMN_NAME: u8 = 4;
    pub const SET_VALUES: u8 = 5;
    pub const ENUM_VALUES: u8 = 6;
    pub const SIMPLE_PRIMARY_KEY: u8 = 8;
    pub const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
    pub const ENUM_SET_DEFAULT_CHARSET: u8 = 10;
    pub const ENUM_SET_COLUMN_CHARSET: u8 = 11;
    pub const VISIBILITY: u8 = 12;
}

/// A column of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its type.
    pub ty: ColumnType,
    /// It can be NULL.
    pub nullable: bool,
    /// UNSIGNED; of columns that are no numbers false.
    pub unsigned: bool,
    /// The collation of a text, an ENUM or a SET (63 for byte strings); `None` where the writer did not say.
    pub collation: Option<u16>,
    /// Its name; empty where the writer did not say (`binlog_row_metadata` is MINIMAL).
    pub name: Vec<u8>,
    /// The members of an ENUM or a SET; empty where the writer did not say.
    pub members: Vec<Vec<u8>>,
    /// Not INVISIBLE.
    pub visible: bool,
}

/// The body of TABLE_MAP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMap {
    /// What the rows' events call the table: good until the transaction ends.
    pub id: u64,
    /// Its database.
    pub database: Vec<u8>,
    /// Its name.
    pub table: Vec<u8>,
    /// Its columns in their order.
    pub columns: Vec<Column>,
    /// The columns of its primary key, and how many characters of each (0: all); empty where there is none or the writer did not say.
    pub primary_key: Vec<(u32, u32)>,
}

/// How much is said about columns: `binlog_row_metadata`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metadata {
    /// Signs and character sets.
    #[default]
    Minimal,
    /// Also names, members, the primary key and what is visible.
    Full,
}

/// One of `bits` set; the highest bit of each byte is the first.
fn high_bit(bits: &[u8], n: usize) -> bool {
    bits.get(n / BITS)
        .is_some_and(|b| b << (n % BITS) & 0x80 != 0)
}

fn high_bits(bits: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut out = vec![0; bytes_of(bits.len())];
    for (n, set) in bits.enumerate() {
        out[n / BITS] |= u8::from(set) << (BITS - 1 - n % BITS);
    }
    out
}

fn put_field(number: u8, value: &[u8], out: &mut Vec<u8>) {
    if !value.is_empty() {
        out.put_u8(number);
        out.put_lenenc_bytes(value);
    }
}

/// The collation that most have, and the columns that have another: shorter than one for each where most have the same.
fn put_collations(of: &[u16], default: u8, each: u8, out: &mut Vec<u8>) {
    let Some(first) = of.first() else {
        return;
    };
    let count = |c: u16| of.iter().filter(|o| **o == c).count();
    let common = of.iter().fold(
        *first,
        |best, c| {
            if count(*c) > count(best) { *c } else { best }
        },
    );
    let mut value = Vec::new();
    // As MySQL does: a default pays where fewer than half have another.
    if 2 * count(common) > of.len() {
        value.put_lenenc_int(common.into());
        for (n, c) in of.iter().enumerate().filter(|(_, c)| **c != common) {
            value.put_lenenc_int(n as u64);
            value.put_lenenc_int((*c).into());
        }
        put_field(default, &value, out);
        return;
    }
    for c in of {
        value.put_lenenc_int((*c).into());
    }
    put_field(each, &value, out);
}

fn put_members<'c>(columns: impl Iterator<Item = &'c Column>, number: u8, out: &mut Vec<u8>) {
    let mut value = Vec::new();
    for c in columns {
        value.put_lenenc_int(c.members.len() as u64);
        for m in &c.members {
            value.put_lenenc_bytes(m);
        }
    }
    put_field(number, &value, out);
}

impl TableMap {
    /// Appends the body.
    pub fn write(&self, metadata: Metadata, out: &mut Vec<u8>) {
        out.put_bytes(&self.id.to_le_bytes()[..6]);
        // Flags: none.
        out.put_u16(1);
        for name in [&self.database, &self.table] {
            out.put_lenenc_int(name.len() as u64);
            out.put_nul_bytes(name);
        }
        out.put_lenenc_int(self.columns.len() as u64);
        out.extend(self.columns.iter().map(|c| c.ty.code));
        let mut about = Vec::new();
        for c in &self.columns {
            c.ty.put_about(&mut about);
        }
        out.put_lenenc_bytes(&about);
        put_bits(self.columns.iter().map(|c| c.nullable), false, out);

        let numbers: Vec<bool> = self
            .columns
            .iter()
            .filter(|c| c.ty.is_numeric())
            .map(|c| c.unsigned)
            .collect();
        put_field(field::SIGNEDNESS, &high_bits(numbers.into_iter()), out);
        let (each, default) = (field::COLUMN_CHARSET, field::DEFAULT_CHARSET);
        put_collations(
            &self.collations(ColumnType::is_character),
            default,
            each,
            out,
        );
        if metadata == Metadata::Minimal {
            return;
        }
        let mut names = Vec::new();
        for c in &self.columns {
            names.put_lenenc_bytes(&c.name);
        }
        put_field(field::COLUMN_NAME, &names, out);
        let of = self.collations(|ty| ty.is_enum() || ty.is_set());
        let (each, default) = (
            field::ENUM_SET_COLUMN_CHARSET,
            field::ENUM_SET_DEFAULT_CHARSET,
        );
        put_collations(&of, default, each, out);
        let sets = self.columns.iter().filter(|c| c.ty.is_set());
        put_members(sets, field::SET_VALUES, out);
        let enums = self.columns.iter().filter(|c| c.ty.is_enum());
        put_members(enums, field::ENUM_VALUES, out);
        self.put_primary_key(out);
        let visible = high_bits(self.columns.iter().map(|c| c.visible));
        put_field(field::VISIBILITY, &visible, out);
    }

    fn collations(&self, of: impl Fn(ColumnType) -> bool) -> Vec<u16> {
        /// binary
        const NO_TEXT: u16 = 63;
        let columns = self.columns.iter().filter(|c| of(c.ty));
        columns.map(|c| c.collation.unwrap_or(NO_TEXT)).collect()
    }

    fn put_primary_key(&self, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        let prefixes = self.primary_key.iter().any(|(_, chars)| *chars != 0);
        for (column, chars) in &self.primary_key {
            value.put_lenenc_int((*column).into());
            if prefixes {
                value.put_lenenc_int((*chars).into());
            }
        }
        let number = match prefixes {
            true => field::PRIMARY_KEY_WITH_PREFIX,
            false => field::SIMPLE_PRIMARY_KEY,
        };
        put_field(number, &value, out);
    }

    /// Reads the body.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early, or says what cannot be.
    pub fn read(body: &[u8]) -> ReadResult<TableMap> {
        let mut r = Reader::new(body);
        let id = u64::from(r.u32()?) | u64::from(r.u16()?) << 32;
        r.u16()?;
        let mut name = || -> ReadResult<Vec<u8>> {
            let name = r.lenenc_bytes()?.to_vec();
            r.u8()?;
            Ok(name)
        };
        let (database, table) = (name()?, name()?);
        let n = usize::try_from(r.lenenc_int()?)
            .ok()
            .filter(|n| *n <= MOST_COLUMNS)
            .ok_or(ProtocolError::Malformed)?;
        let codes = r.read_bytes(n)?;
        let mut about = Reader::new(r.lenenc_bytes()?);
        let nullable = r.read_bytes(bytes_of(n))?;
        let mut columns = Vec::with_capacity(n);
        for (at, code) in codes.iter().enumerate() {
            columns.push(Column {
                ty: ColumnType::read_about(*code, &mut about)?,
                nullable: bit(nullable, at),
                unsigned: false,
                collation: None,
                name: Vec::new(),
                members: Vec::new(),
                visible: true,
            });
        }
        let mut map = TableMap {
            id,
            database,
            table,
            columns,
            primary_key: Vec::new(),
        };
        while !r.is_empty() {
            let number = r.u8()?;
            map.read_field(number, Reader::new(r.lenenc_bytes()?))?;
        }
        Ok(map)
    }

    fn read_field(&mut self, number: u8, mut r: Reader<'_>) -> ReadResult<()> {
        match number {
            field::SIGNEDNESS => {
                let numbers = self.columns.iter_mut().filter(|c| c.ty.is_numeric());
                for (n, c) in numbers.enumerate() {
                    c.unsigned = high_bit(r.rest(), n);
                }
            }
            field::DEFAULT_CHARSET | field::ENUM_SET_DEFAULT_CHARSET => {
                let mut of = self.charset_columns(number == field::DEFAULT_CHARSET);
                let default = collation(&mut r)?;
                of.iter_mut().for_each(|c| c.collation = Some(default));
                while !r.is_empty() {
                    let n = r.lenenc_int()? as usize;
                    let column = of.get_mut(n).ok_or(ProtocolError::Malformed)?;
                    column.collation = Some(collation(&mut r)?);
                }
            }
            field::COLUMN_CHARSET | field::ENUM_SET_COLUMN_CHARSET => {
                for c in self.charset_columns(number == field::COLUMN_CHARSET) {
                    c.collation = Some(collation(&mut r)?);
                }
            }
            field::COLUMN_NAME => {
                for c in &mut self.columns {
                    c.name = r.lenenc_bytes()?.to_vec();
                }
            }
            field::SET_VALUES | field::ENUM_VALUES => {
                let set = number == field::SET_VALUES;
                let of = |c: &&mut Column| if set { c.ty.is_set() } else { c.ty.is_enum() };
                for c in self.columns.iter_mut().filter(of) {
                    for _ in 0..r.lenenc_int()? {
                        c.members.push(r.lenenc_bytes()?.to_vec());
                    }
                }
            }
            field::SIMPLE_PRIMARY_KEY | field::PRIMARY_KEY_WITH_PREFIX => {
                let some = number == field::PRIMARY_KEY_WITH_PREFIX;
                while !r.is_empty() {
                    let column = r.lenenc_int()?;
                    let chars = if some { r.lenenc_int()? } else { 0 };
                    if column >= self.columns.len() as u64 {
                        return Err(ProtocolError::Malformed);
                    }
                    self.primary_key.push((column as u32, chars as u32));
                }
            }
            field::VISIBILITY => {
                for (n, c) in self.columns.iter_mut().enumerate() {
                    c.visible = high_bit(r.rest(), n);
                }
            }
            // What a later server says more is not needed to read rows.
            _ => {}
        }
        Ok(())
    }

    fn charset_columns(&mut self, texts: bool) -> Vec<&mut Column> {
        let of = |c: &&mut Column| match texts {
            true => c.ty.is_character(),
            false => c.ty.is_enum() || c.ty.is_set(),
        };
        self.columns.iter_mut().filter(of).collect()
    }
}

fn collation(r: &mut Reader<'_>) -> ReadResult<u16> {
    u16::try_from(r.lenenc_int()?).map_err(|_| ProtocolError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use types::CollationId;
    use types::datatype::{DataType, IntWidth, Labels};

    pub(in crate::binlog) fn column(ty: &DataType, name: &str, collation: Option<u16>) -> Column {
        let members = match ty {
            DataType::Enum(l) | DataType::Set(l) => l.names.iter().map(|n| n.to_vec()).collect(),
            _ => Vec::new(),
        };
        Column {
            ty: ColumnType::of(ty).unwrap(),
            nullable: name != "id",
            unsigned: ty.is_unsigned() && ColumnType::of(ty).unwrap().is_numeric(),
            collation,
            name: name.as_bytes().to_vec(),
            members,
            visible: name != "hidden",
        }
    }

    fn map() -> TableMap {
        let labels = Arc::new(Labels {
            names: vec![b"x"[..].into(), b"yy"[..].into()],
            collation: CollationId(255),
        });
        let text = |id| DataType::varchar(20, CollationId(id));
        let columns = vec![
            column(&DataType::int(IntWidth::Int, true), "id", None),
            column(&text(255), "a", Some(255)),
            column(&text(45), "b", Some(45)),
            column(&DataType::VarBinary(300), "c", Some(63)),
            column(&text(255), "d", Some(255)),
            column(&text(255), "e", Some(255)),
            column(&DataType::Enum(labels.clone()), "f", Some(255)),
            column(&DataType::Set(labels), "g", Some(255)),
            column(&DataType::decimal(10, 2), "hidden", None),
        ];
        TableMap {
            id: 0x1_0000_0007,
            database: b"db".to_vec(),
            table: b"t".to_vec(),
            columns,
            primary_key: vec![(0, 0), (1, 5)],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut body = Vec::new();
        map().write(Metadata::Full, &mut body);
        assert_eq!(TableMap::read(&body), Ok(map()));
        for cut in 0..body.len() {
            // Cut between two fields it is whole, and says less.
            let _ = TableMap::read(&body[..cut]);
        }
        let mut least = map();
        least.primary_key.clear();
        for c in &mut least.columns {
            c.name.clear();
            c.members.clear();
            c.visible = true;
            if c.ty.is_enum() || c.ty.is_set() {
                c.collation = None;
            }
        }
        let mut body = Vec::new();
        map().write(Metadata::Minimal, &mut body);
        assert_eq!(TableMap::read(&body), Ok(least));
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>, at: usize, byte: u8) {
            let _ = TableMap::read(&bytes);
            let mut body = Vec::new();
            map().write(Metadata::Full, &mut body);
            let at = at % body.len();
            body[at] = byte;
            let _ = TableMap::read(&body);
        }
    }
}
