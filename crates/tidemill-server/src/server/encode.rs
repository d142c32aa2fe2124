//! Values as the text and the binary protocol carry them, appended straight to the output buffer.
//!
//! Character strings are turned into the character set the client asked for; ASCII is the same in all of them and is
//! copied as it is. Nothing allocates but a conversion that changes bytes.

use types::convert::{self, CastType};
use types::datatype::MysqlType;
use types::{Charset, DataType, Date, DateTime, Time, Value, ValueRef, charset};
use wire::write::Put;

/// The byte that stands for NULL in a text row.
const TEXT_NULL: u8 = 0xFB;
/// The longest text whose length is one byte.
const ONE_BYTE_LENGTH: usize = 250;

/// Appends a value of a text row. `to` is the client's character set; `None` leaves strings as they are.
#[inline]
pub fn text(v: ValueRef<'_>, ty: &DataType, to: Option<Charset>, out: &mut Vec<u8>) {
    match v {
        ValueRef::Null => out.put_u8(TEXT_NULL),
        ValueRef::Str(bytes, collation) => string(bytes, collation.charset(), to, out),
        ValueRef::Bytes(bytes) => out.put_lenenc_bytes(bytes),
        ValueRef::Enum(_, labels) | ValueRef::Set(_, labels) => {
            let mut name = Vec::new();
            convert::write_text(v, ty, &mut name);
            string(&name, labels.collation.charset(), to, out);
        }
        _ => printed(out, |out| convert::write_text(v, ty, out)),
    }
}

/// Appends a value of a binary row, in the form of its column's type. NULL, which is in the bitmap, appends nothing.
#[inline]
pub fn binary(v: ValueRef<'_>, ty: &DataType, to: Option<Charset>, out: &mut Vec<u8>) {
    if v.is_null() {
        return;
    }
    match ty.protocol_type() {
        MysqlType::Tiny => out.put_u8(integer(v) as u8),
        MysqlType::Short | MysqlType::Year => out.put_u16(integer(v) as u16),
        MysqlType::Long | MysqlType::Int24 => out.put_u32(integer(v) as u32),
        MysqlType::LongLong => out.put_u64(integer(v)),
        MysqlType::Float => out.put_u32((convert::to_f64(v) as f32).to_bits()),
        MysqlType::Double => out.put_u64(convert::to_f64(v).to_bits()),
        MysqlType::Date => wire_date(v).write(true, out),
        MysqlType::DateTime | MysqlType::Timestamp => wire_date(v).write(false, out),
        MysqlType::Time => wire_time(v).write(out),
        _ => text(v, ty, to, out),
    }
}

#[inline]
fn string(bytes: &[u8], from: Charset, to: Option<Charset>, out: &mut Vec<u8>) {
    match to {
        Some(to) if to != from && from != Charset::Binary && !bytes.is_ascii() => {
            let mut converted = Vec::with_capacity(bytes.len() + bytes.len() / 2);
            charset::convert(from, to, bytes, &mut converted);
            out.put_lenenc_bytes(&converted);
        }
        _ => out.put_lenenc_bytes(bytes),
    }
}

/// Prints with the length in front, which is filled in afterwards: nearly always one byte.
#[inline]
fn printed(out: &mut Vec<u8>, print: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    print(out);
    let length = out.len() - at - 1;
    if length <= ONE_BYTE_LENGTH {
        out[at] = length as u8;
    } else {
        let long = out.split_off(at + 1);
        out.truncate(at);
        out.put_lenenc_bytes(&long);
    }
}

/// The low bytes of an integer, whatever the executor computed.
#[inline]
fn integer(v: ValueRef<'_>) -> u64 {
    match v {
        ValueRef::Int(v) => v as u64,
        ValueRef::UInt(v) | ValueRef::Bit(v, _) => v,
        other => convert::to_int(other) as u64,
    }
}

fn wire_date(v: ValueRef<'_>) -> wire::DateTime {
    match v {
        ValueRef::DateTime(v) => of_datetime(v),
        ValueRef::Date(v) => of_date(v),
        other => match cast(other, CastType::DateTime(6)) {
            Value::DateTime(v) => of_datetime(v),
            _ => wire::DateTime::default(),
        },
    }
}

fn wire_time(v: ValueRef<'_>) -> wire::Time {
    match v {
        ValueRef::Time(v) => of_time(v),
        other => match cast(other, CastType::Time(6)) {
            Value::Time(v) => of_time(v),
            _ => wire::Time::default(),
        },
    }
}

#[cold]
fn cast(v: ValueRef<'_>, ty: CastType) -> Value {
    convert::cast(v, ty, &convert::ConvertMode::LENIENT, &mut Vec::new())
}

fn of_date(v: Date) -> wire::DateTime {
    wire::DateTime {
        year: v.year(),
        month: v.month(),
        day: v.day(),
        ..wire::DateTime::default()
    }
}

fn of_datetime(v: DateTime) -> wire::DateTime {
    wire::DateTime {
        hour: v.hour(),
        minute: v.minute(),
        second: v.second(),
        micros: v.micros(),
        ..of_date(v.date())
    }
}

fn of_time(v: Time) -> wire::Time {
    let hours = v.hours();
    wire::Time {
        negative: v.is_negative(),
        days: hours / 24,
        hours: (hours % 24) as u8,
        minutes: v.minutes(),
        seconds: v.seconds(),
        micros: v.micros(),
    }
}

/// A parameter as the SQL layer takes it; strings are in `client`'s character set and become text of `collation`.
pub fn parameter(
    v: wire::param::ParamValue<'_>,
    client: Charset,
    collation: types::CollationId,
) -> Value {
    use wire::param::ParamValue;
    match v {
        ParamValue::Null => Value::Null,
        ParamValue::Int(v) => Value::Int(v),
        ParamValue::UInt(v) => Value::UInt(v),
        ParamValue::Float(v) => Value::Float(v),
        ParamValue::Double(v) => Value::Double(v),
        ParamValue::Decimal(text) => Value::Decimal(types::Decimal::parse(text).value),
        ParamValue::Text(bytes) => {
            let to = collation.charset();
            if client == to || client == Charset::Binary || bytes.is_ascii() {
                return Value::Str(bytes.to_vec(), collation);
            }
            let mut converted = Vec::with_capacity(bytes.len() + bytes.len() / 2);
            charset::convert(client, to, bytes, &mut converted);
            Value::Str(converted, collation)
        }
        ParamValue::Blob(bytes) => Value::Bytes(bytes.to_vec()),
        ParamValue::Date(v) => date_of(&v).map_or(Value::Null, Value::Date),
        ParamValue::DateTime(v) => datetime_of(&v).map_or(Value::Null, Value::DateTime),
        ParamValue::Time(v) => {
            let hours = u64::from(v.days) * 24 + u64::from(v.hours);
            let seconds = hours * 3600 + u64::from(v.minutes) * 60 + u64::from(v.seconds);
            let micros = i64::try_from(seconds * 1_000_000 + u64::from(v.micros));
            let micros = micros.unwrap_or(i64::MAX);
            let signed = if v.negative { -micros } else { micros };
            Value::Time(Time::from_micros(signed, 6))
        }
    }
}

/// A date with parts in range; zero parts are for the SQL mode to judge.
fn date_of(v: &wire::DateTime) -> Option<Date> {
    let possible = v.year <= 9999 && v.month <= 12 && v.day <= 31;
    possible.then(|| Date::from_parts(v.year, v.month, v.day))
}

fn datetime_of(v: &wire::DateTime) -> Option<DateTime> {
    let date = date_of(v)?;
    let possible = v.hour < 24 && v.minute < 60 && v.second < 60 && v.micros < 1_000_000;
    let fsp = if v.micros == 0 { 0 } else { 6 };
    possible.then(|| DateTime::from_parts(date, v.hour, v.minute, v.second, v.micros).with_fsp(fsp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{CollationId, Decimal};

    fn text_of(v: ValueRef<'_>, ty: &DataType, to: Option<Charset>) -> Vec<u8> {
        let mut out = Vec::new();
        text(v, ty, to, &mut out);
        out
    }

    #[test]
    fn text_values() {
        let big = DataType::BIGINT;
        assert_eq!(text_of(ValueRef::Null, &big, None), b"\xFB");
        assert_eq!(text_of(ValueRef::Int(-12), &big, None), b"\x03-12");
        let name = ValueRef::Str("é".as_bytes(), CollationId::UTF8MB4_BIN);
        let ty = DataType::varchar(10, CollationId::UTF8MB4_BIN);
        assert_eq!(text_of(name, &ty, None), "\x02é".as_bytes());
        assert_eq!(
            text_of(name, &ty, Some(Charset::Utf8mb4)),
            "\x02é".as_bytes()
        );
        assert_eq!(text_of(name, &ty, Some(Charset::Latin1)), b"\x01\xE9");
        let long = vec![b'a'; 300];
        let printed = text_of(ValueRef::Bytes(&long), &ty, None);
        assert_eq!((&printed[..3], printed.len()), (&b"\xFC\x2C\x01"[..], 303));
    }

    #[test]
    fn a_printed_value_of_any_length_has_its_length_in_front() {
        for length in [0usize, 1, 250, 251, 70_000] {
            let mut out = vec![7];
            printed(&mut out, |out| out.resize(out.len() + length, b'x'));
            let mut expected = vec![7];
            expected.put_lenenc_bytes(&vec![b'x'; length]);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn binary_values() {
        let cases: [(ValueRef<'_>, DataType, &[u8]); 6] = [
            (ValueRef::Int(-2), DataType::INT, b"\xFE\xFF\xFF\xFF"),
            (ValueRef::UInt(7), DataType::BIGINT, b"\x07\0\0\0\0\0\0\0"),
            (ValueRef::Null, DataType::INT, b""),
            (
                ValueRef::Decimal(Decimal::from_i64(15)),
                DataType::decimal(4, 0),
                b"\x0215",
            ),
            (
                ValueRef::Date(Date::from_parts(2024, 2, 29)),
                DataType::Date,
                b"\x04\xE8\x07\x02\x1D",
            ),
            (
                ValueRef::Time(Time::from_micros(-90_000_000_000, 0)),
                DataType::Time(0),
                b"\x08\x01\x01\0\0\0\x01\0\0",
            ),
        ];
        for (v, ty, expected) in cases {
            let mut out = Vec::new();
            binary(v, &ty, None, &mut out);
            assert_eq!(out, expected, "{v:?} as {ty:?}");
        }
    }

    #[test]
    fn parameters() {
        use wire::param::ParamValue;
        let latin = parameter(
            ParamValue::Text(b"\xE9"),
            Charset::Latin1,
            CollationId::UTF8MB4_BIN,
        );
        assert_eq!(latin.as_ref().as_bytes(), Some("é".as_bytes()));
        let zero = ParamValue::DateTime(wire::DateTime::default());
        let zero = parameter(zero, Charset::Utf8mb4, CollationId::UTF8MB4_BIN);
        assert!(matches!(zero, Value::DateTime(v) if v.is_zero()));
        let odd = ParamValue::Date(wire::DateTime {
            month: 13,
            ..wire::DateTime::default()
        });
        assert!(parameter(odd, Charset::Utf8mb4, CollationId::UTF8MB4_BIN).is_null());
    }
}
