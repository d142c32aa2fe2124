//! Keys of indexes: a tuple of values as bytes whose `memcmp` order is the SQL order of the tuple.
//!
//! No part is a prefix of another value's part, so parts are simply concatenated and an index may append the primary key.
//! Numbers and times are fixed width, big-endian, the sign bit inverted; byte strings are escaped and terminated; character
//! strings become collation weights (see `collation`), which cannot be turned back.

use crate::charset::Charset;
use crate::collation::{CollationId, read_key_bytes, write_key_bytes};
use crate::datatype::DataType;
use crate::decimal::Decimal;
use crate::rowfield as rf;
use crate::temporal::Date;
use crate::value::{Value, ValueRef};

/// First byte of a NULL part of a nullable column.
pub const NULL_MARK: u8 = 0;
/// First byte of any other part of a nullable column.
pub const NOT_NULL_MARK: u8 = 1;

/// One part of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPart {
    /// Type of the column.
    pub ty: DataType,
    /// The column allows NULL, so the part starts with a mark.
    pub nullable: bool,
    /// Characters (bytes for byte strings) of a prefix key; 0 for the whole value.
    pub prefix: u32,
    /// Descending: the part's bytes are inverted.
    pub descending: bool,
}

impl KeyPart {
    /// An ascending part of the whole value.
    pub fn new(ty: DataType, nullable: bool) -> KeyPart {
        KeyPart {
            ty,
            nullable,
            prefix: 0,
            descending: false,
        }
    }

    /// Appends the part for a value already converted to the column's type.
    #[inline]
    pub fn encode(&self, v: ValueRef<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        if self.nullable {
            if v.is_null() {
                out.push(NULL_MARK);
                self.finish(start, out);
                return;
            }
            out.push(NOT_NULL_MARK);
        }
        encode_value(&self.ty, self.prefix, v, out);
        self.finish(start, out);
    }

    /// The first bytes of what [`encode`](Self::encode) appends, as [`first_bytes`] gives them, where they are known without a
    /// look at all of the value.
    #[inline]
    pub fn head(&self, v: ValueRef<'_>) -> Option<u64> {
        let (DataType::Char { collation, .. }
        | DataType::VarChar { collation, .. }
        | DataType::Text { collation, .. }) = &self.ty
        else {
            return None;
        };
        if self.prefix != 0 {
            return None;
        }
        let ValueRef::Str(s, _) = v else {
            return None;
        };
        let key = collation.key_head(s)?;
        let head = match self.nullable {
            true => u64::from(NOT_NULL_MARK) << 56 | key >> 8,
            false => key,
        };
        Some(if self.descending { !head } else { head })
    }

    /// The part for a whole number, in the array's last bytes, as many as the second figure says: what [`encode`](Self::encode)
    /// appends. `None` where the part is not that of an ascending whole-number column without NULLs, and where the column
    /// cannot hold the number.
    #[inline]
    pub fn integer(&self, n: i128) -> Option<([u8; 8], usize)> {
        let DataType::Int {
            width, unsigned, ..
        } = &self.ty
        else {
            return None;
        };
        if self.nullable || self.descending {
            return None;
        }
        let (min, max) = if *unsigned {
            (0, i128::from(width.unsigned_max()))
        } else {
            let (min, max) = width.signed_range();
            (i128::from(min), i128::from(max))
        };
        if n < min || n > max {
            return None;
        }
        let bytes = width.bytes();
        let flip = if *unsigned { 0 } else { 1 << (8 * bytes - 1) };
        Some(((n as u64 ^ flip).to_be_bytes(), bytes))
    }

    #[inline]
    fn finish(&self, start: usize, out: &mut [u8]) {
        if self.descending {
            for b in &mut out[start..] {
                *b = !*b;
            }
        }
    }

    /// Whether [`decode`](Self::decode) gives the exact value back: all but character strings and prefixes.
    pub fn is_reversible(&self) -> bool {
        self.prefix == 0
            && (!self.ty.is_character() || matches!(self.ty, DataType::Enum(_) | DataType::Set(_)))
    }

    /// Reads the part off the front of `key`: the value and the bytes it took. The value of an irreversible part is
    /// `None`. The outer `None` means that the bytes are no such key.
    pub fn decode(&self, key: &[u8]) -> Option<(Option<Value>, usize)> {
        if self.descending {
            let inverted: Vec<u8> = key.iter().map(|b| !b).collect();
            return self.decode_ascending(&inverted);
        }
        self.decode_ascending(key)
    }

    fn decode_ascending(&self, key: &[u8]) -> Option<(Option<Value>, usize)> {
        let mark = usize::from(self.nullable);
        if self.nullable && *key.first()? == NULL_MARK {
            return Some((Some(Value::Null), 1));
        }
        let (v, n) = decode_value(&self.ty, key.get(mark..)?)?;
        let v = if self.is_reversible() { v } else { None };
        Some((v, n + mark))
    }
}

/// The first eight bytes of a key as a number that compares as they do; what a shorter key lacks counts as zeros.
#[inline]
pub fn first_bytes(key: &[u8]) -> u64 {
    let mut b = [0; 8];
    let n = key.len().min(8);
    b[..n].copy_from_slice(&key[..n]);
    u64::from_be_bytes(b)
}

/// Appends the parts of a whole or partial key, in order; extra parts or values are ignored.
pub fn encode_key<'a>(
    parts: &[KeyPart],
    values: impl IntoIterator<Item = ValueRef<'a>>,
    out: &mut Vec<u8>,
) {
    for (p, v) in parts.iter().zip(values) {
        p.encode(v, out);
    }
}

#[inline]
fn put_be(v: u64, n: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&v.to_be_bytes()[8 - n..]);
}

#[inline]
fn get_be(b: &[u8], n: usize) -> Option<u64> {
    Some(b.get(..n)?.iter().fold(0, |v, &x| v << 8 | u64::from(x)))
}

/// Bits of a float whose unsigned order is the order of numbers; −0 becomes 0.
fn float_bits(v: f64) -> u64 {
    let b = (v + 0.0).to_bits();
    if b >> 63 != 0 { !b } else { b | 1 << 63 }
}

fn float32_bits(v: f32) -> u32 {
    let b = (v + 0.0).to_bits();
    if b >> 31 != 0 { !b } else { b | 1 << 31 }
}

fn encode_value(ty: &DataType, prefix: u32, v: ValueRef<'_>, out: &mut Vec<u8>) {
    match ty {
        DataType::Int {
            width, unsigned, ..
        } => {
            let n = width.bytes();
            let flip = if *unsigned { 0 } else { 1 << (8 * n - 1) };
            put_be(rf::bits(v) ^ flip, n, out);
        }
        DataType::Char { collation, .. }
        | DataType::VarChar { collation, .. }
        | DataType::Text { collation, .. } => encode_text(*collation, prefix, v, out),
        DataType::Json => crate::json::write_order_key(v.as_bytes().unwrap_or(b""), out),
        DataType::Binary(_) if prefix == 0 => rf::store(ty, v, out),
        DataType::Binary(_) | DataType::VarBinary(_) | DataType::Blob(_) => {
            let b = v.as_bytes().unwrap_or(b"");
            let n = if prefix == 0 {
                b.len()
            } else {
                b.len().min(prefix as usize)
            };
            write_key_bytes(&b[..n], out);
        }
        DataType::Decimal {
            precision, scale, ..
        } => rf::decimal(v).pack_ordered(*precision, *scale, out),
        DataType::Float { .. } => {
            let f = match v {
                ValueRef::Float(f) => f,
                other => rf::double(other) as f32,
            };
            out.extend_from_slice(&float32_bits(f).to_be_bytes());
        }
        DataType::Double { .. } => put_be(float_bits(rf::double(v)), 8, out),
        DataType::Bit(n) => put_be(rf::bits(v), usize::from(*n).div_ceil(8), out),
        DataType::Date => put_be(u64::from(rf::date(v).packed()), 3, out),
        DataType::Time(f) => put_be(
            rf::time_bits(rf::time(v), *f),
            3 + rf::fraction_len(*f),
            out,
        ),
        DataType::DateTime(f) | DataType::Timestamp(f) => {
            put_be(
                rf::datetime_bits(rf::datetime(v), *f),
                5 + rf::fraction_len(*f),
                out,
            );
        }
        DataType::Year => out.push(rf::year_byte(rf::bits(v))),
        DataType::Enum(_) => put_be(rf::bits(v), 2, out),
        DataType::Set(l) => put_be(rf::bits(v), rf::set_len(l.names.len()), out),
        DataType::Null => {}
    }
}

fn encode_text(collation: CollationId, prefix: u32, v: ValueRef<'_>, out: &mut Vec<u8>) {
    let b = v.as_bytes().unwrap_or(b"");
    let b = if prefix == 0 {
        b
    } else {
        &b[..collation.charset().offset_of_char(b, prefix as usize)]
    };
    if collation.charset() == Charset::Binary {
        write_key_bytes(b, out);
    } else {
        collation.write_key(b, out);
    }
}

/// Reads one value and the bytes it took; the value of a character string is `None`.
fn decode_value(ty: &DataType, key: &[u8]) -> Option<(Option<Value>, usize)> {
    let fixed = rf::fixed_width(ty);
    Some(match ty {
        DataType::Int {
            width, unsigned, ..
        } => {
            let n = width.bytes();
            let raw = get_be(key, n)?;
            let v = if *unsigned {
                Value::UInt(raw)
            } else {
                let shift = 64 - 8 * n as u32;
                let flipped = raw ^ 1 << (8 * n - 1);
                Value::Int((flipped << shift) as i64 >> shift)
            };
            (Some(v), n)
        }
        DataType::Decimal {
            precision, scale, ..
        } => {
            let n = Decimal::packed_len(*precision);
            let d = Decimal::unpack_ordered(key.get(..n)?, *scale);
            (Some(Value::Decimal(d)), n)
        }
        DataType::Float { .. } => {
            let b = get_be(key, 4)? as u32;
            let b = if b >> 31 != 0 { b & !(1 << 31) } else { !b };
            (Some(Value::Float(f32::from_bits(b))), 4)
        }
        DataType::Double { .. } => {
            let b = get_be(key, 8)?;
            let b = if b >> 63 != 0 { b & !(1 << 63) } else { !b };
            (Some(Value::Double(f64::from_bits(b))), 8)
        }
        DataType::Bit(bits) => {
            let n = fixed?;
            (Some(Value::Bit(get_be(key, n)?, *bits)), n)
        }
        DataType::Date => (
            Some(Value::Date(Date::from_packed(get_be(key, 3)? as u32))),
            3,
        ),
        DataType::Time(f) => {
            let n = fixed?;
            (
                Some(Value::Time(rf::time_from_bits(get_be(key, n)?, *f))),
                n,
            )
        }
        DataType::DateTime(f) | DataType::Timestamp(f) => {
            let n = fixed?;
            (
                Some(Value::DateTime(rf::datetime_from_bits(get_be(key, n)?, *f))),
                n,
            )
        }
        DataType::Year => {
            let y = get_be(key, 1)?;
            (Some(Value::UInt(if y == 0 { 0 } else { y + 1900 })), 1)
        }
        DataType::Enum(l) => (Some(Value::Enum(get_be(key, 2)? as u16, l.clone())), 2),
        DataType::Set(l) => {
            let n = fixed?;
            (Some(Value::Set(get_be(key, n)?, l.clone())), n)
        }
        DataType::Binary(n) => {
            let n = *n as usize;
            (Some(Value::Bytes(key.get(..n)?.to_vec())), n)
        }
        DataType::VarBinary(_) | DataType::Blob(_) => {
            let mut b = Vec::new();
            let n = read_key_bytes(key, &mut b)?;
            (Some(Value::Bytes(b)), n)
        }
        DataType::Char { .. } | DataType::VarChar { .. } | DataType::Text { .. } => {
            (None, ty.collation().key_len(key)?)
        }
        // Rows are sorted by it, and no index has it.
        DataType::Json => return None,
        DataType::Null => (Some(Value::Null), 0),
    })
}

#[cfg(test)]
mod tests;
