//! The stored text of a document, part by part, in the order in which it is written. The text was made by
//! [`sql_expr::json`]: what would not come from there ends in an error.

use super::MAX_DEPTH;
use std::borrow::Cow;
use types::decimal::{Decimal, MAX_PRECISION, MAX_SCALE};

/// The text is not as it is stored: no document, too deep, or its members are not in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotStored;

/// A value that is no container.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar<'t> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    /// Its digits, as they are written.
    Decimal(Decimal),
    /// What stands between its quotes.
    Str(&'t [u8]),
}

/// What is told of the parts of a document.
pub(super) trait Parts<'t> {
    /// An object or an array begins.
    fn open(&mut self, object: bool) -> Result<(), NotStored>;
    /// A member's key, between its quotes; its value follows.
    fn key(&mut self, raw: &'t [u8]) -> Result<(), NotStored>;
    /// A value.
    fn scalar(&mut self, value: Scalar<'t>) -> Result<(), NotStored>;
    /// The container that was begun last is over.
    fn close(&mut self) -> Result<(), NotStored>;
}

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
}

/// Tells `parts` of a document.
pub(super) fn scan<'t>(text: &'t [u8], parts: &mut impl Parts<'t>) -> Result<(), NotStored> {
    let mut s = Scan { text, at: 0 };
    // Of each open container whether it is an object.
    let mut open: Vec<bool> = Vec::new();
    loop {
        s.space();
        let begun = match s.peek().ok_or(NotStored)? {
            c @ (b'{' | b'[') => {
                s.at += 1;
                if open.len() >= MAX_DEPTH {
                    return Err(NotStored);
                }
                open.push(c == b'{');
                parts.open(c == b'{')?;
                true
            }
            _ => {
                parts.scalar(s.scalar()?)?;
                false
            }
        };
        // What is over, until a value is to follow.
        let mut first = begun;
        loop {
            s.space();
            let Some(object) = open.last().copied() else {
                return match s.at == s.text.len() {
                    true => Ok(()),
                    false => Err(NotStored),
                };
            };
            let end = if object { b'}' } else { b']' };
            match s.peek().ok_or(NotStored)? {
                c if c == end => {
                    s.at += 1;
                    open.pop();
                    parts.close()?;
                    first = false;
                    continue;
                }
                b',' if !first => s.at += 1,
                _ if first => {}
                _ => return Err(NotStored),
            }
            if object {
                s.space();
                let key = s.string()?;
                s.space();
                if s.peek() != Some(b':') {
                    return Err(NotStored);
                }
                s.at += 1;
                parts.key(key)?;
            }
            break;
        }
    }
}

impl<'t> Scan<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), NotStored> {
        match self.text[self.at..].starts_with(word) {
            true => {
                self.at += word.len();
                Ok(())
            }
            false => Err(NotStored),
        }
    }

    fn scalar(&mut self) -> Result<Scalar<'t>, NotStored> {
        Ok(match self.peek() {
            Some(b'"') => Scalar::Str(self.string()?),
            Some(b'n') => {
                self.word(b"null")?;
                Scalar::Null
            }
            Some(b't') => {
                self.word(b"true")?;
                Scalar::Bool(true)
            }
            Some(b'f') => {
                self.word(b"false")?;
                Scalar::Bool(false)
            }
            _ => self.number()?,
        })
    }

    /// What stands between quotes.
    fn string(&mut self) -> Result<&'t [u8], NotStored> {
        if self.peek() != Some(b'"') {
            return Err(NotStored);
        }
        let start = self.at + 1;
        self.at = start;
        loop {
            match self.peek().ok_or(NotStored)? {
                b'"' => {
                    self.at += 1;
                    return Ok(&self.text[start..self.at - 1]);
                }
                b'\\' => self.at += 2,
                0..=0x1F => return Err(NotStored),
                _ => self.at += 1,
            }
        }
    }

    fn number(&mut self) -> Result<Scalar<'t>, NotStored> {
        let start = self.at;
        while matches!(
            self.peek(),
            Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
        ) {
            self.at += 1;
        }
        let digits = &self.text[start..self.at];
        let text = std::str::from_utf8(digits).map_err(|_| NotStored)?;
        if text.starts_with('+') {
            return Err(NotStored);
        }
        if let Ok(n) = text.parse() {
            return Ok(Scalar::Int(n));
        }
        if let Ok(n) = text.parse() {
            return Ok(Scalar::Uint(n));
        }
        let double: f64 = text.parse().map_err(|_| NotStored)?;
        // A DOUBLE is written with the digits that it needs; other digits are those of a DECIMAL.
        let mut shortest = Vec::new();
        let written = sql_expr::json::Json::Double(double).write(&mut shortest);
        if double.is_finite() && written.is_ok() && shortest == digits {
            return Ok(Scalar::Double(double));
        }
        match decimal(text) {
            Some(d) => Ok(Scalar::Decimal(d)),
            None if double.is_finite() => Ok(Scalar::Double(double)),
            None => Err(NotStored),
        }
    }
}

/// A DECIMAL of exactly these digits.
fn decimal(text: &str) -> Option<Decimal> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let zeros = whole.bytes().take_while(|b| *b == b'0').count();
    let fits = whole.len() - zeros + behind.len() <= usize::from(MAX_PRECISION)
        && behind.len() <= usize::from(MAX_SCALE);
    (fits && !whole.is_empty() && plain(whole) && plain(behind))
        .then(|| Decimal::parse(text.as_bytes()).value)
}

/// The bytes that stand for what is between quotes.
pub(super) fn unescaped(raw: &[u8]) -> Result<Cow<'_, [u8]>, NotStored> {
    let Some(first) = raw.iter().position(|b| *b == b'\\') else {
        return Ok(Cow::Borrowed(raw));
    };
    let mut out = Vec::with_capacity(raw.len());
    out.extend_from_slice(&raw[..first]);
    let mut rest = &raw[first..];
    while let Some((&b, tail)) = rest.split_first() {
        rest = tail;
        if b != b'\\' {
            out.push(b);
            continue;
        }
        let (&escape, tail) = rest.split_first().ok_or(NotStored)?;
        rest = tail;
        out.push(match escape {
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut code = hex4(&mut rest)?;
                if (0xD800..0xDC00).contains(&code) {
                    rest = rest.strip_prefix(b"\\u").ok_or(NotStored)?;
                    let low = hex4(&mut rest)?;
                    if !(0xDC00..0xE000).contains(&low) {
                        return Err(NotStored);
                    }
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                }
                let c = char::from_u32(code).ok_or(NotStored)?;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return Err(NotStored),
        });
    }
    Ok(Cow::Owned(out))
}

fn hex4(rest: &mut &[u8]) -> Result<u32, NotStored> {
    let (digits, tail) = rest.split_at_checked(4).ok_or(NotStored)?;
    *rest = tail;
    let digits = digits.iter().map(|b| (*b as char).to_digit(16));
    digits
        .into_iter()
        .try_fold(0, |code, d| Some(code << 4 | d?))
        .ok_or(NotStored)
}
