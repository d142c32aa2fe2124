//! From the stored text to the binary form, in two passes over the text: one that sees how large each container becomes, as its numbers are as wide
//! as its size needs, and one that writes it.

use super::scan::{NotStored, Parts, Scalar, scan, unescaped};
use super::{Width, literal, tag};
use std::borrow::Cow;
use types::{Value, ValueRef};
use wire::binlog::column::{ColumnType, code};

/// What a container with two-byte numbers may have at most.
const SMALL: u64 = u16::MAX as u64;
/// MySQL's number of DECIMAL.
const DECIMAL: u8 = code::DECIMAL;

/// Appends the binary form of a document. What is there stays, whatever happens.
///
/// # Errors
/// It is none, or is larger than there can be.
pub fn binary(text: &[u8], out: &mut Vec<u8>) -> Result<(), NotStored> {
    if stored(text, out).is_ok() {
        return Ok(());
    }
    // Another version may have stored it as it came.
    let text = sql_expr::json::stored(text, "").map_err(|_| NotStored)?;
    self::stored(&text, out)
}

/// Appends that of a text that is as it is stored.
fn stored(text: &[u8], out: &mut Vec<u8>) -> Result<(), NotStored> {
    let start = out.len();
    let mut sizes = Sizes::default();
    scan(text, &mut sizes)?;
    let mut w = Writer {
        out,
        containers: sizes.containers.iter(),
        open: Vec::new(),
    };
    let written = scan(text, &mut w);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// What is known of a container before it is written.
#[derive(Debug, Clone, Copy)]
struct Container {
    /// How many values; the highest bit: its numbers have four bytes.
    count: u32,
    /// Bytes of its keys.
    keys: u32,
}

const LARGE: u32 = 1 << 31;

/// The first pass.
#[derive(Default)]
struct Sizes<'t> {
    /// In the order in which they begin.
    containers: Vec<Container>,
    open: Vec<Open<'t>>,
}

struct Open<'t> {
    /// Which of the containers.
    place: usize,
    object: bool,
    count: u64,
    keys: u64,
    last_key: Option<Cow<'t, [u8]>>,
    /// Bytes of its values that do not stand in front, with numbers of two bytes and of four.
    small: u64,
    large: u64,
}

impl<'t> Sizes<'t> {
    fn value(&mut self, small: u64, large: u64) -> Result<(), NotStored> {
        let Some(open) = self.open.last_mut() else {
            return fits(large).map(|_| ());
        };
        open.count += 1;
        open.small += small;
        open.large += large;
        fits(open.large).map(|_| ())
    }
}

fn fits(size: u64) -> Result<u32, NotStored> {
    u32::try_from(size).map_err(|_| NotStored)
}

impl<'t> Parts<'t> for Sizes<'t> {
    fn open(&mut self, object: bool) -> Result<(), NotStored> {
        let place = self.containers.len();
        self.containers.push(Container { count: 0, keys: 0 });
        self.open.push(Open {
            place,
            object,
            count: 0,
            keys: 0,
            last_key: None,
            small: 0,
            large: 0,
        });
        Ok(())
    }

    fn key(&mut self, raw: &'t [u8]) -> Result<(), NotStored> {
        let key = unescaped(raw)?;
        let open = self.open.last_mut().ok_or(NotStored)?;
        let order = |k: &[u8]| k.len().cmp(&key.len()).then_with(|| k.cmp(&key));
        let behind = open.last_key.as_deref().is_none_or(|k| order(k).is_lt());
        if !behind || key.len() > usize::from(u16::MAX) {
            return Err(NotStored);
        }
        open.keys += key.len() as u64;
        open.last_key = Some(key);
        Ok(())
    }

    fn scalar(&mut self, value: Scalar<'t>) -> Result<(), NotStored> {
        let form = Form::of(value)?;
        let size = |large| match form.inlined(large) {
            Some(_) => 0,
            None => form.len() as u64,
        };
        self.value(size(false), size(true))
    }

    fn close(&mut self) -> Result<(), NotStored> {
        let open = self.open.pop().ok_or(NotStored)?;
        let width = |large| Width {
            large,
            object: open.object,
        };
        let count = fits(open.count).ok().filter(|n| *n < LARGE);
        let count = count.ok_or(NotStored)?;
        let keys = fits(open.keys)?;
        let small = width(false).front(open.count) + open.keys + open.small;
        let large = width(true).front(open.count) + open.keys + open.large;
        let (count, size) = match small <= SMALL {
            true => (count, small),
            false => (count | LARGE, u64::from(fits(large)?)),
        };
        self.containers[open.place] = Container { count, keys };
        self.value(size, size)
    }
}

/// The second pass.
struct Writer<'o, 'c> {
    out: &'o mut Vec<u8>,
    containers: std::slice::Iter<'c, Container>,
    open: Vec<Frame>,
}

/// A container that is being written.
struct Frame {
    width: Width,
    start: usize,
    count: u64,
    /// Values, and keys, that were written.
    values: u64,
    keys: u64,
    /// Where the next key goes.
    key_at: usize,
}

impl Frame {
    fn put(&self, out: &mut [u8], at: usize, number: u64) {
        let n = self.width.place();
        out[at..at + n].copy_from_slice(&number.to_le_bytes()[..n]);
    }

    /// Where it says of its next value what it is.
    fn next_value(&mut self) -> usize {
        let keys = self.count as usize * self.width.key();
        let at = self.start + 2 * self.width.place() + keys;
        let entry = at + self.values as usize * self.width.value();
        self.values += 1;
        entry
    }
}

impl Writer<'_, '_> {
    /// Says what the next value is, which stands at the end of what is written.
    fn announce(&mut self, of: u8) {
        match self.open.last_mut() {
            None => self.out.push(of),
            Some(f) => {
                let entry = f.next_value();
                self.out[entry] = of;
                let place = (self.out.len() - f.start) as u64;
                f.put(self.out, entry + 1, place);
            }
        }
    }
}

impl<'t> Parts<'t> for Writer<'_, '_> {
    fn open(&mut self, object: bool) -> Result<(), NotStored> {
        let c = *self.containers.next().ok_or(NotStored)?;
        let width = Width {
            large: c.count & LARGE != 0,
            object,
        };
        let count = u64::from(c.count & !LARGE);
        self.announce(width.tag());
        let start = self.out.len();
        let front = width.front(count) as usize;
        self.out.resize(start + front + c.keys as usize, 0);
        let frame = Frame {
            width,
            start,
            count,
            values: 0,
            keys: 0,
            key_at: start + front,
        };
        frame.put(self.out, start, count);
        self.open.push(frame);
        Ok(())
    }

    fn key(&mut self, raw: &'t [u8]) -> Result<(), NotStored> {
        let key = unescaped(raw)?;
        let f = self.open.last_mut().ok_or(NotStored)?;
        let entry = f.start + 2 * f.width.place() + f.keys as usize * f.width.key();
        f.keys += 1;
        f.put(self.out, entry, (f.key_at - f.start) as u64);
        let length = entry + f.width.place();
        self.out[length..length + 2].copy_from_slice(&(key.len() as u16).to_le_bytes());
        self.out[f.key_at..f.key_at + key.len()].copy_from_slice(&key);
        f.key_at += key.len();
        Ok(())
    }

    fn scalar(&mut self, value: Scalar<'t>) -> Result<(), NotStored> {
        let form = Form::of(value)?;
        if let Some(f) = self.open.last_mut()
            && let Some(number) = form.inlined(f.width.large)
        {
            let entry = f.next_value();
            self.out[entry] = form.tag;
            f.put(self.out, entry + 1, number);
            return Ok(());
        }
        self.announce(form.tag);
        form.put(self.out);
        Ok(())
    }

    fn close(&mut self) -> Result<(), NotStored> {
        let f = self.open.pop().ok_or(NotStored)?;
        debug_assert!(f.values == f.count);
        let size = (self.out.len() - f.start) as u64;
        debug_assert!(f.width.large || size <= SMALL);
        f.put(self.out, f.start + f.width.place(), size);
        Ok(())
    }
}

/// A value that is no container, as it is written.
struct Form<'t> {
    tag: u8,
    body: Body<'t>,
}

enum Body<'t> {
    /// A number of so many bytes, the lowest first.
    Number(u64, u8),
    /// Bytes behind their length.
    Bytes(Cow<'t, [u8]>),
    /// A value of SQL's: its type, and its bytes.
    Opaque(u8, Vec<u8>),
}

impl<'t> Form<'t> {
    fn of(value: Scalar<'t>) -> Result<Form<'t>, NotStored> {
        let number = |tag, n: u64, bytes| Form {
            tag,
            body: Body::Number(n, bytes),
        };
        let literal = |n: u8| number(tag::LITERAL, n.into(), 1);
        Ok(match value {
            Scalar::Null => literal(literal::NULL),
            Scalar::Bool(true) => literal(literal::TRUE),
            Scalar::Bool(false) => literal(literal::FALSE),
            Scalar::Int(n) if i16::try_from(n).is_ok() => number(tag::INT16, n as u64, 2),
            Scalar::Int(n) if i32::try_from(n).is_ok() => number(tag::INT32, n as u64, 4),
            Scalar::Int(n) => number(tag::INT64, n as u64, 8),
            Scalar::Uint(n) => number(tag::UINT64, n, 8),
            Scalar::Double(d) => number(tag::DOUBLE, d.to_bits(), 8),
            Scalar::Str(raw) => Form {
                tag: tag::STRING,
                body: Body::Bytes(unescaped(raw)?),
            },
            Scalar::Decimal(d) => {
                let scale = d.scale();
                let precision = (u16::from(d.int_digits()) + u16::from(scale)).max(1) as u8;
                let ty = ColumnType {
                    code: DECIMAL,
                    about: [precision, scale],
                };
                let mut bytes = vec![precision, scale];
                let value = Value::Decimal(d);
                let put = ty.put(ValueRef::from(&value), &mut bytes);
                put.map_err(|_| NotStored)?;
                Form {
                    tag: tag::OPAQUE,
                    body: Body::Opaque(DECIMAL, bytes),
                }
            }
        })
    }

    /// What stands in a container's front for it, where it fits in there.
    fn inlined(&self, large: bool) -> Option<u64> {
        match self.body {
            Body::Number(n, 1 | 2) => Some(n),
            Body::Number(n, 4) if large => Some(n),
            _ => None,
        }
    }

    fn len(&self) -> usize {
        match &self.body {
            Body::Number(_, n) => usize::from(*n),
            Body::Bytes(b) => length_len(b.len()) + b.len(),
            Body::Opaque(_, b) => 1 + length_len(b.len()) + b.len(),
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        let bytes: &[u8] = match &self.body {
            Body::Number(v, n) => {
                return out.extend_from_slice(&v.to_le_bytes()[..usize::from(*n)]);
            }
            Body::Bytes(b) => b,
            Body::Opaque(ty, b) => {
                out.push(*ty);
                b
            }
        };
        put_length(bytes.len(), out);
        out.extend_from_slice(bytes);
    }
}

/// Bytes of a length: seven bits in each.
fn length_len(n: usize) -> usize {
    (usize::BITS - (n | 1).leading_zeros()).div_ceil(7) as usize
}

fn put_length(mut n: usize, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}
