//! Values that clients send in binary: parameters of prepared statements and query attributes.

use crate::capability::{self, has};
use crate::column_type::ColumnType;
use crate::command::{PARAMETER_COUNT_AVAILABLE, StmtExecute};
use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::temporal::{DateTime, Time};

/// A parameter's value, borrowed from the packet or from long data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamValue<'a> {
    /// NULL.
    Null,
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// A FLOAT.
    Float(f32),
    /// A DOUBLE.
    Double(f64),
    /// A DECIMAL, as text.
    Decimal(&'a [u8]),
    /// A string in the connection's character set.
    Text(&'a [u8]),
    /// Bytes without character set.
    Blob(&'a [u8]),
    /// A DATE.
    Date(DateTime),
    /// A DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// A TIME.
    Time(Time),
}

impl<'a> ParamValue<'a> {
    /// Reads a value of a type byte; `unsigned` is the flag beside it.
    ///
    /// # Errors
    /// [`ProtocolError::WrongArguments`] for a type clients cannot send, [`ProtocolError::Malformed`] for a short packet.
    #[inline]
    pub fn read(kind: u8, unsigned: bool, reader: &mut Reader<'a>) -> ReadResult<Self> {
        let kind = ColumnType::from_u8(kind).ok_or(ProtocolError::WrongArguments)?;
        Ok(match kind {
            ColumnType::Tiny if unsigned => ParamValue::UInt(u64::from(reader.u8()?)),
            ColumnType::Tiny => ParamValue::Int(i64::from(reader.u8()? as i8)),
            ColumnType::Short | ColumnType::Year if unsigned => {
                ParamValue::UInt(u64::from(reader.u16()?))
            }
            ColumnType::Short | ColumnType::Year => {
                ParamValue::Int(i64::from(reader.u16()? as i16))
            }
            ColumnType::Long | ColumnType::Int24 if unsigned => {
                ParamValue::UInt(u64::from(reader.u32()?))
            }
            ColumnType::Long | ColumnType::Int24 => {
                ParamValue::Int(i64::from(reader.u32()? as i32))
            }
            ColumnType::LongLong if unsigned => ParamValue::UInt(reader.u64()?),
            ColumnType::LongLong => ParamValue::Int(reader.u64()? as i64),
            ColumnType::Float => ParamValue::Float(f32::from_bits(reader.u32()?)),
            ColumnType::Double => ParamValue::Double(f64::from_bits(reader.u64()?)),
            ColumnType::Null => ParamValue::Null,
            ColumnType::Date => ParamValue::Date(DateTime::read(reader)?),
            ColumnType::DateTime | ColumnType::Timestamp => {
                ParamValue::DateTime(DateTime::read(reader)?)
            }
            ColumnType::Time => ParamValue::Time(Time::read(reader)?),
            _ => ParamValue::of_bytes(kind, reader.lenenc_bytes()?)?,
        })
    }

    /// The value of a type that is sent as a string.
    fn of_bytes(kind: ColumnType, bytes: &'a [u8]) -> ReadResult<Self> {
        match kind {
            ColumnType::OldDecimal | ColumnType::NewDecimal => Ok(ParamValue::Decimal(bytes)),
            ColumnType::TinyBlob
            | ColumnType::MediumBlob
            | ColumnType::LongBlob
            | ColumnType::Blob
            | ColumnType::Bit
            | ColumnType::Geometry
            | ColumnType::Vector => Ok(ParamValue::Blob(bytes)),
            ColumnType::VarChar
            | ColumnType::VarString
            | ColumnType::String
            | ColumnType::Enum
            | ColumnType::Set
            | ColumnType::Json => Ok(ParamValue::Text(bytes)),
            _ => Err(ProtocolError::WrongArguments),
        }
    }
}

/// The parameter types of a prepared statement, remembered from one execution to the next.
#[derive(Debug, Clone, Default)]
pub struct ParamTypes {
    /// Type byte and flag byte (bit 7: unsigned) of each parameter.
    types: Vec<[u8; 2]>,
}

impl ParamTypes {
    /// Readies the parameters of an execution. `count` is the statement's number of parameters, `capabilities` the
    /// connection's. Types sent along are remembered in `self`. Allocates at the first execution only.
    ///
    /// # Errors
    /// [`ProtocolError::WrongArguments`] when no types were ever sent or a count differs, [`ProtocolError::LongDataTooLarge`]
    /// when long data overflowed, [`ProtocolError::Malformed`] for a short packet.
    pub fn bind<'a>(
        &'a mut self,
        execute: &StmtExecute<'a>,
        count: u16,
        long_data: &'a LongData,
        capabilities: u32,
    ) -> ReadResult<Params<'a>> {
        let mut reader = Reader::new(execute.params);
        let count = usize::from(count);
        let attributes = has(capabilities, capability::QUERY_ATTRIBUTES);
        let mut sent = count;
        if attributes && (count > 0 || execute.flags & PARAMETER_COUNT_AVAILABLE != 0) {
            sent = usize::try_from(reader.lenenc_int()?).map_err(|_| ProtocolError::Malformed)?;
            if sent < count {
                return Err(ProtocolError::WrongArguments);
            }
        }
        if let Some(fault) = long_data.fault {
            return Err(fault);
        }
        let mut nulls = &[][..];
        if sent > 0 {
            nulls = reader.read_bytes(sent.div_ceil(8))?;
            if reader.u8()? != 0 {
                self.types.clear();
                for index in 0..sent {
                    let [kind, flags] = reader.array()?;
                    if index < count {
                        self.types.push([kind, flags]);
                    }
                    if attributes {
                        reader.lenenc_bytes()?;
                    }
                }
            }
        }
        if self.types.len() != count {
            return Err(ProtocolError::WrongArguments);
        }
        Ok(Params {
            types: &self.types,
            nulls,
            reader,
            long_data,
            index: 0,
        })
    }
}

/// The parameters of one execution, in order. An error ends the iteration.
#[derive(Debug, Clone)]
pub struct Params<'a> {
    types: &'a [[u8; 2]],
    nulls: &'a [u8],
    reader: Reader<'a>,
    long_data: &'a LongData,
    index: usize,
}

impl<'a> Iterator for Params<'a> {
    type Item = ReadResult<ParamValue<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let [kind, flags] = *self.types.get(self.index)?;
        let index = self.index;
        self.index += 1;
        let value = if let Some(bytes) = self.long_data.get(index) {
            ColumnType::from_u8(kind)
                .ok_or(ProtocolError::WrongArguments)
                .map(|kind| ParamValue::of_bytes(kind, bytes).unwrap_or(ParamValue::Text(bytes)))
        } else if is_null(self.nulls, index) {
            Ok(ParamValue::Null)
        } else {
            ParamValue::read(kind, flags & 0x80 != 0, &mut self.reader)
        };
        if value.is_err() {
            self.index = self.types.len();
        }
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.types.len() - self.index))
    }
}

#[inline]
fn is_null(bitmap: &[u8], index: usize) -> bool {
    bitmap
        .get(index / 8)
        .is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

/// What COM_STMT_SEND_LONG_DATA brought for a statement since its last execution or reset.
#[derive(Debug, Clone, Default)]
pub struct LongData {
    parts: Vec<(u16, Vec<u8>)>,
    /// What the next execution fails with.
    fault: Option<ProtocolError>,
}

impl LongData {
    /// Appends to parameter `param`. What outgrows `max_allowed_packet` bytes is dropped, and the next execution fails;
    /// so it does for a parameter the statement has not.
    pub fn append(&mut self, param: u16, data: &[u8], count: u16, max_allowed_packet: usize) {
        if param >= count {
            self.fault = Some(ProtocolError::WrongArguments);
            return;
        }
        let at = match self.parts.iter().position(|(number, _)| *number == param) {
            Some(at) => at,
            None => {
                self.parts.push((param, Vec::new()));
                self.parts.len() - 1
            }
        };
        let part = &mut self.parts[at].1;
        if part.len() + data.len() > max_allowed_packet {
            self.fault = Some(ProtocolError::LongDataTooLarge);
        } else {
            part.extend_from_slice(data);
        }
    }

    /// Forgets everything: after each execution and on COM_STMT_RESET.
    #[inline]
    pub fn clear(&mut self) {
        self.parts.clear();
        self.fault = None;
    }

    #[inline]
    fn get(&self, index: usize) -> Option<&[u8]> {
        let found = self
            .parts
            .iter()
            .find(|(number, _)| usize::from(*number) == index)?;
        Some(&found.1)
    }
}

/// The attributes a client sent along with COM_QUERY, read as they are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QueryAttributes<'a> {
    count: usize,
    nulls: &'a [u8],
    /// Types and names; the values follow.
    types: &'a [u8],
}

impl<'a> QueryAttributes<'a> {
    /// Reads the header of a COM_QUERY up to its SQL text.
    pub(crate) fn read(reader: &mut Reader<'a>) -> ReadResult<QueryAttributes<'a>> {
        let count = usize::try_from(reader.lenenc_int()?).map_err(|_| ProtocolError::Malformed)?;
        // The number of sets, always 1.
        reader.lenenc_int()?;
        if count == 0 {
            return Ok(QueryAttributes::default());
        }
        let nulls = reader.read_bytes(count.div_ceil(8))?;
        if reader.u8()? != 1 {
            return Err(ProtocolError::Malformed);
        }
        let types = reader.rest();
        let attributes = QueryAttributes {
            count,
            nulls,
            types,
        };
        // Where the values end is known only by reading them all.
        let mut names = *reader;
        skip_names(reader, count)?;
        for index in 0..count {
            attributes.value(index, &mut names, reader)?;
        }
        Ok(attributes)
    }

    fn value(
        &self,
        index: usize,
        names: &mut Reader<'a>,
        values: &mut Reader<'a>,
    ) -> ReadResult<(&'a [u8], ParamValue<'a>)> {
        let [kind, flags] = names.array()?;
        let name = names.lenenc_bytes()?;
        if is_null(self.nulls, index) {
            return Ok((name, ParamValue::Null));
        }
        let value = ParamValue::read(kind, flags & 0x80 != 0, values)?;
        Ok((name, value))
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], ParamValue<'a>)> + use<'a> {
        let this = *self;
        let mut names = Reader::new(this.types);
        let mut values = names;
        let whole = skip_names(&mut values, this.count).is_ok();
        (0..if whole { this.count } else { 0 })
            .map_while(move |index| this.value(index, &mut names, &mut values).ok())
    }
}

fn skip_names(reader: &mut Reader<'_>, count: usize) -> ReadResult<()> {
    for _ in 0..count {
        reader.read_bytes(2)?;
        reader.lenenc_bytes()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn execute(params: &[u8]) -> StmtExecute<'_> {
        StmtExecute {
            statement: 1,
            flags: 0,
            params,
        }
    }

    fn all<'a>(params: ReadResult<Params<'a>>) -> ReadResult<Vec<ParamValue<'a>>> {
        params?.collect()
    }

    #[test]
    fn types_are_remembered() -> ReadResult<()> {
        let none = LongData::default();
        let mut types = ParamTypes::default();
        let first = [
            0b100, 1, 3, 0, 8, 0x80, 254, 0, 255, 255, 255, 255, 7, 0, 0, 0, 0, 0, 0, 0,
        ];
        let values = all(types.bind(&execute(&first), 3, &none, 0))?;
        let expected = [ParamValue::Int(-1), ParamValue::UInt(7), ParamValue::Null];
        assert_eq!(values, expected);
        let second = [0b001, 0, 9, 0, 0, 0, 0, 0, 0, 0, 2, b'h', b'i'];
        let values = all(types.bind(&execute(&second), 3, &none, 0))?;
        let expected = [
            ParamValue::Null,
            ParamValue::UInt(9),
            ParamValue::Text(b"hi"),
        ];
        assert_eq!(values, expected);
        let mut fresh = ParamTypes::default();
        assert_eq!(
            all(fresh.bind(&execute(&second), 3, &none, 0)),
            Err(ProtocolError::WrongArguments)
        );
        assert_eq!(all(fresh.bind(&execute(&[]), 0, &none, 0)), Ok(vec![]));
        Ok(())
    }

    #[test]
    fn long_data_stands_in() -> ReadResult<()> {
        let mut long = LongData::default();
        long.append(0, b"ab", 2, 10);
        long.append(0, b"cd", 2, 10);
        let mut types = ParamTypes::default();
        let packet = [0, 1, 252, 0, 1, 0, 5];
        let values = all(types.bind(&execute(&packet), 2, &long, 0))?;
        assert_eq!(values, [ParamValue::Blob(b"abcd"), ParamValue::Int(5)]);
        long.append(0, b"1234567", 2, 10);
        assert_eq!(
            all(types.bind(&execute(&packet), 2, &long, 0)),
            Err(ProtocolError::LongDataTooLarge)
        );
        long.clear();
        long.append(1, b"", 2, 10);
        let packet = [0, 1, 252, 0, 252, 0, 1, b'x'];
        let values = all(types.bind(&execute(&packet), 2, &long, 0))?;
        assert_eq!(values, [ParamValue::Blob(b"x"), ParamValue::Blob(b"")]);
        Ok(())
    }

    #[test]
    fn attributes_beside_parameters() -> ReadResult<()> {
        let packet = [2, 0, 1, 3, 0, 0, 254, 0, 1, b'n', 4, 0, 0, 0, 1, b'v'];
        let mut request = execute(&packet);
        request.flags = PARAMETER_COUNT_AVAILABLE;
        let mut types = ParamTypes::default();
        let none = LongData::default();
        let values = all(types.bind(&request, 1, &none, capability::QUERY_ATTRIBUTES))?;
        assert_eq!(values, [ParamValue::Int(4)]);
        Ok(())
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_bind_without_panic(params: Vec<u8>, count in 0..70u16, flags: u8, capabilities: u32, again: Vec<u8>) {
            let mut types = ParamTypes::default();
            let none = LongData::default();
            let request = StmtExecute { statement: 0, flags, params: &params };
            if let Ok(values) = types.bind(&request, count, &none, capabilities) {
                prop_assert!(values.count() <= usize::from(count));
            }
            let request = StmtExecute { statement: 0, flags, params: &again };
            if let Ok(values) = types.bind(&request, count, &none, capabilities) {
                prop_assert!(values.count() <= usize::from(count));
            }
        }
    }
}
