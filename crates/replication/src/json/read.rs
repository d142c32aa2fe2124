//! From the binary form to text. Another server has written it: places may lead anywhere, and few bytes may stand for ever so much text.

use super::{MAX_DEPTH, Width, literal, tag};
use sql_expr::json::Json;
use types::Value;
use types::temporal::{Date, DateTime, Time};
use wire::ProtocolError::Malformed;
use wire::binlog::column::{ColumnType, code};
use wire::read::{ReadResult, Reader};

/// Bytes of text that a byte of the binary form stands for at most. A byte of a string is six at most (`\u0001`), and what has the most text
/// for its bytes of all that a server writes is an opaque value without bytes, 24 for five.
const TEXT_OF_A_BYTE: usize = 8;
/// What a document without containers has besides.
const TEXT_BESIDES: usize = 64;

/// The text of a document, as it is stored here.
///
/// # Errors
/// [`Malformed`]: it is none, or its members are not in their order.
pub fn text(bytes: &[u8]) -> ReadResult<Vec<u8>> {
    // A column that was made NOT NULL has no bytes in the rows that were NULL before.
    let Some((of, rest)) = bytes.split_first() else {
        return Ok(b"null".to_vec());
    };
    let mut t = Text {
        out: Vec::with_capacity(bytes.len()),
        most: bytes.len() * TEXT_OF_A_BYTE + TEXT_BESIDES,
    };
    t.value(*of, rest, 0)?;
    Ok(t.out)
}

struct Text {
    out: Vec<u8>,
    most: usize,
}

impl Text {
    fn put(&mut self, bytes: &[u8]) -> ReadResult<()> {
        // Parts that several others lead to would make it grow without end.
        if self.out.len() + bytes.len() > self.most {
            return Err(Malformed);
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn put_json(&mut self, v: &Json) -> ReadResult<()> {
        let at = self.out.len();
        v.write(&mut self.out).map_err(|_| Malformed)?;
        match self.out.len() > self.most {
            true => {
                self.out.truncate(at);
                Err(Malformed)
            }
            false => Ok(()),
        }
    }

    fn put_text(&mut self, bytes: &[u8]) -> ReadResult<()> {
        let s = std::str::from_utf8(bytes).map_err(|_| Malformed)?;
        if self.out.len() + s.len() > self.most {
            return Err(Malformed);
        }
        self.put_json(&Json::Str(s.to_owned()))
    }

    /// A value that stands at the front of `bytes`, `depth` containers down.
    fn value(&mut self, of: u8, bytes: &[u8], depth: usize) -> ReadResult<()> {
        if let Some(width) = Width::of(of) {
            return match depth < MAX_DEPTH {
                true => self.container(width, bytes, depth),
                false => Err(Malformed),
            };
        }
        let mut r = Reader::new(bytes);
        match of {
            tag::LITERAL => {
                let word = word(u64::from(r.u8()?))?;
                self.put(word)
            }
            tag::INT16 => self.int(r.u16()? as i16),
            tag::UINT16 => self.int(r.u16()?),
            tag::INT32 => self.int(r.u32()? as i32),
            tag::UINT32 => self.int(r.u32()?),
            tag::INT64 => self.int(r.u64()? as i64),
            tag::UINT64 => self.put(r.u64()?.to_string().as_bytes()),
            tag::DOUBLE => {
                let d = f64::from_le_bytes(r.array()?);
                match d.is_finite() {
                    true => self.put_json(&Json::Double(d)),
                    false => Err(Malformed),
                }
            }
            tag::STRING => {
                let bytes = sized(&mut r)?;
                self.put_text(bytes)
            }
            tag::OPAQUE => {
                let ty = r.u8()?;
                let bytes = sized(&mut r)?;
                self.opaque(ty, bytes)
            }
            _ => Err(Malformed),
        }
    }

    fn int(&mut self, n: impl Into<i64>) -> ReadResult<()> {
        let n: i64 = n.into();
        self.put(n.to_string().as_bytes())
    }

    fn container(&mut self, width: Width, bytes: &[u8], depth: usize) -> ReadResult<()> {
        let mut r = Reader::new(bytes);
        let count = number(&mut r, width.large)?;
        let size = number(&mut r, width.large)?;
        let size = usize::try_from(size).map_err(|_| Malformed)?;
        let bytes = bytes.get(..size).ok_or(Malformed)?;
        let front = width.front(count);
        if front > size as u64 {
            return Err(Malformed);
        }
        let keys_at = 2 * width.place();
        let values_at = keys_at + count as usize * width.key();
        let (mut keys, mut values) = (
            Reader::new(&bytes[keys_at..values_at]),
            Reader::new(&bytes[values_at..front as usize]),
        );
        let from = |place: u64| {
            let place = usize::try_from(place).ok()?;
            bytes.get(place..).filter(|_| place as u64 >= front)
        };
        self.put(if width.object { b"{" } else { b"[" })?;
        let mut last: Option<&[u8]> = None;
        for n in 0..count {
            if n > 0 {
                self.put(b", ")?;
            }
            if width.object {
                let place = number(&mut keys, width.large)?;
                let length = usize::from(keys.u16()?);
                let key = from(place).and_then(|b| b.get(..length)).ok_or(Malformed)?;
                let order = |k: &[u8]| k.len().cmp(&length).then_with(|| k.cmp(key));
                if last.is_some_and(|k| !order(k).is_lt()) {
                    return Err(Malformed);
                }
                last = Some(key);
                self.put_text(key)?;
                self.put(b": ")?;
            }
            let of = values.u8()?;
            let what = number(&mut values, width.large)?;
            match (of, width.large) {
                (tag::LITERAL, _) => self.put(word(what)?)?,
                (tag::INT16, _) => self.int(what as i16)?,
                (tag::UINT16, _) => self.int(what as u16)?,
                (tag::INT32, true) => self.int(what as i32)?,
                (tag::UINT32, true) => self.int(what as u32)?,
                _ => self.value(of, from(what).ok_or(Malformed)?, depth + 1)?,
            }
        }
        self.put(if width.object { b"}" } else { b"]" })
    }

    /// A value of SQL's that JSON has none for: as MySQL shows it.
    fn opaque(&mut self, ty: u8, bytes: &[u8]) -> ReadResult<()> {
        let packed = || {
            let bytes = bytes.try_into().map_err(|_| Malformed)?;
            Ok(i64::from_le_bytes(bytes))
        };
        let mut text = Vec::new();
        match ty {
            code::DECIMAL => {
                let (about, digits) = bytes.split_at_checked(2).ok_or(Malformed)?;
                let ty = ColumnType {
                    code: code::DECIMAL,
                    about: [about[0], about[1]],
                };
                match ty.read(&mut Reader::new(digits), false)? {
                    Value::Decimal(d) => d.write_text(&mut text),
                    _ => return Err(Malformed),
                }
                return self.put(&text);
            }
            code::DATE => text.extend_from_slice(&datetime(packed()?)?.date().to_text()),
            code::OLD_DATETIME | code::OLD_TIMESTAMP => {
                datetime(packed()?)?.with_fsp(6).write_text(&mut text);
            }
            code::OLD_TIME => time(packed()?)?.with_fsp(6).write_text(&mut text),
            ty => {
                text.extend_from_slice(format!("base64:type{ty}:").as_bytes());
                sql_expr::base64::encode(bytes, &mut text).map_err(|_| Malformed)?;
            }
        }
        self.put_text(&text)
    }
}

fn number(r: &mut Reader<'_>, large: bool) -> ReadResult<u64> {
    Ok(match large {
        true => u64::from(r.u32()?),
        false => u64::from(r.u16()?),
    })
}

fn word(n: u64) -> ReadResult<&'static [u8]> {
    const NULL: u64 = literal::NULL as u64;
    const TRUE: u64 = literal::TRUE as u64;
    const FALSE: u64 = literal::FALSE as u64;
    match n {
        NULL => Ok(b"null"),
        TRUE => Ok(b"true"),
        FALSE => Ok(b"false"),
        _ => Err(Malformed),
    }
}

/// Bytes behind their length, which has seven bits in each byte.
fn sized<'a>(r: &mut Reader<'a>) -> ReadResult<&'a [u8]> {
    let mut length = 0u64;
    for n in 0..5 {
        let b = r.u8()?;
        length |= u64::from(b & 0x7F) << (7 * n);
        if b & 0x80 == 0 {
            let length = u32::try_from(length).map_err(|_| Malformed)?;
            return r.read_bytes(length as usize);
        }
    }
    Err(Malformed)
}

/// Date and time of MySQL's packed number.
fn datetime(packed: i64) -> ReadResult<DateTime> {
    let (micros, whole) = ((packed & 0xFF_FFFF) as u32, packed >> 24);
    let (days, clock) = (whole >> 17, whole & 0x1_FFFF);
    let months = days >> 5;
    let (hour, minute, second) = (clock >> 12, clock >> 6 & 63, clock & 63);
    let sound = packed >= 0
        && months / 13 <= 9999
        && hour <= 23
        && minute <= 59
        && second <= 59
        && micros < 1_000_000;
    if !sound {
        return Err(Malformed);
    }
    let date = Date::from_parts((months / 13) as u16, (months % 13) as u8, (days & 31) as u8);
    let at = DateTime::from_parts(date, hour as u8, minute as u8, second as u8, micros);
    Ok(at)
}

/// A time of MySQL's packed number.
fn time(packed: i64) -> ReadResult<Time> {
    let magnitude = packed.unsigned_abs();
    let (micros, whole) = (magnitude & 0xFF_FFFF, magnitude >> 24);
    let (hours, minutes, seconds) = (whole >> 12, whole >> 6 & 63, whole & 63);
    if hours > 838 || minutes > 59 || seconds > 59 || micros >= 1_000_000 {
        return Err(Malformed);
    }
    let of_day = (hours * 3600 + minutes * 60 + seconds) as i64 * 1_000_000 + micros as i64;
    Ok(Time::from_micros(
        if packed < 0 { -of_day } else { of_day },
        6,
    ))
}
