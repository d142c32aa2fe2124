//! A JSON document in memory, read from text and written as MySQL writes it (a space after `,` and `:`; members
//! ordered by the length of their keys, then by their bytes; the last of equal keys wins).
//!
//! Documents are bounded in depth, so that recursive walks are safe. Nothing here knows SQL values.

use std::cmp::Ordering;

use types::{Pace, SqlError};

use crate::limited::Put;

/// Deepest nesting of a document, MySQL's own limit.
pub(crate) const MAX_DEPTH: usize = 100;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number beyond `i64`.
    Uint(u64),
    /// A number with a fraction or exponent.
    Double(f64),
    /// An exact decimal from SQL, as text.
    Decimal(String),
    /// Text.
    Str(String),
    /// `[..]`
    Array(Vec<Json>),
    /// `{..}`: members by the length of their keys, then by the keys; no key twice.
    Object(Vec<(String, Json)>),
}

/// The order of members in an object.
pub(crate) fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Where a member is among those of an object, or where it would be.
pub(super) fn place_of(members: &[(String, Json)], key: &str) -> Result<usize, usize> {
    members.binary_search_by(|(o, _)| key_order(o, key))
}

impl Json {
    /// An object of members in the order given; the last of equal keys wins.
    pub fn object(members: impl IntoIterator<Item = (String, Json)>) -> Json {
        let mut members: Vec<_> = members.into_iter().collect();
        // Equal keys stay in their order.
        members.sort_by(|(a, _), (b, _)| key_order(a, b));
        members.dedup_by(|later, kept| {
            let equal = later.0 == kept.0;
            if equal {
                std::mem::swap(&mut kept.1, &mut later.1);
            }
            equal
        });
        Json::Object(members)
    }

    /// The member of that key.
    pub fn member(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(m) => place_of(m, key).ok().map(|i| &m[i].1),
            _ => None,
        }
    }

    /// What JSON_TYPE says.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "NULL",
            Json::Bool(_) => "BOOLEAN",
            Json::Int(_) => "INTEGER",
            Json::Uint(_) => "UNSIGNED INTEGER",
            Json::Double(_) => "DOUBLE",
            Json::Decimal(_) => "DECIMAL",
            Json::Str(_) => "STRING",
            Json::Array(_) => "ARRAY",
            Json::Object(_) => "OBJECT",
        }
    }

    /// Nesting: 1 for a scalar or an empty container.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Json::Array(a) => 1 + a.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(m) => 1 + m.iter().map(|(_, v)| v.depth()).max().unwrap_or(0),
            _ => 1,
        }
    }

    /// Fails where it is nested more deeply than a document may be, as one put together of others can.
    ///
    /// # Errors
    /// 3157.
    pub(crate) fn check_depth(&self) -> Result<(), SqlError> {
        match self.depth() > MAX_DEPTH {
            true => Err(too_deep()),
            false => Ok(()),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Json::Int(i) => Some(*i as f64),
            Json::Uint(u) => Some(*u as f64),
            Json::Double(d) => Some(*d),
            Json::Decimal(t) => t.parse().ok(),
            _ => None,
        }
    }

    /// Whether two documents are equal by value: `1` equals `1.0`.
    pub(crate) fn same(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Int(a), Json::Int(b)) => a == b,
            (Json::Array(a), Json::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same(y))
            }
            (Json::Object(a), Json::Object(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.0 == y.0 && x.1.same(&y.1))
            }
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => a == b,
                _ => self == other,
            },
        }
    }

    /// JSON_CONTAINS: whether `needle` is contained in this document.
    ///
    /// # Errors
    /// What `pace` says: every member is looked for in every other.
    pub(crate) fn contains(&self, needle: &Json, pace: &Pace<'_>) -> Result<bool, SqlError> {
        pace.tick(4)?;
        let among = |a: &[Json], x: &Json| -> Result<bool, SqlError> {
            for y in a {
                if y.contains(x, pace)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        match (self, needle) {
            (Json::Array(a), Json::Array(n)) => {
                for x in n {
                    if !among(a, x)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Json::Array(a), n) => among(a, n),
            (Json::Object(_), Json::Object(n)) => {
                for (k, v) in n {
                    match self.member(k) {
                        Some(m) if m.contains(v, pace)? => {}
                        _ => return Ok(false),
                    }
                }
                Ok(true)
            }
            _ => Ok(self.same(needle)),
        }
    }

    /// Appends the text.
    ///
    /// # Errors
    /// What the buffer says.
    pub fn write(&self, out: &mut impl Put) -> Result<(), SqlError> {
        match self {
            Json::Null => out.put(b"null"),
            Json::Bool(b) => out.put(if *b { b"true" } else { b"false" }),
            Json::Int(i) => out.put(i.to_string().as_bytes()),
            Json::Uint(u) => out.put(u.to_string().as_bytes()),
            Json::Double(d) => write_double(*d, out),
            Json::Decimal(t) => out.put(t.as_bytes()),
            Json::Str(s) => write_quoted(s, out),
            Json::Array(a) => {
                out.put(b"[")?;
                for (i, v) in a.iter().enumerate() {
                    if i > 0 {
                        out.put(b", ")?;
                    }
                    v.write(out)?;
                }
                out.put(b"]")
            }
            Json::Object(m) => {
                out.put(b"{")?;
                for (i, (k, v)) in m.iter().enumerate() {
                    if i > 0 {
                        out.put(b", ")?;
                    }
                    write_quoted(k, out)?;
                    out.put(b": ")?;
                    v.write(out)?;
                }
                out.put(b"}")
            }
        }
    }

    /// The text over several lines, as JSON_PRETTY writes it.
    ///
    /// # Errors
    /// What the buffer says.
    pub(crate) fn write_pretty(&self, indent: usize, out: &mut impl Put) -> Result<(), SqlError> {
        match self {
            Json::Array(a) if !a.is_empty() => {
                out.put(b"[")?;
                for (i, v) in a.iter().enumerate() {
                    if i > 0 {
                        out.put(b",")?;
                    }
                    new_line(indent + 1, out)?;
                    v.write_pretty(indent + 1, out)?;
                }
                new_line(indent, out)?;
                out.put(b"]")
            }
            Json::Object(m) if !m.is_empty() => {
                out.put(b"{")?;
                for (i, (k, v)) in m.iter().enumerate() {
                    if i > 0 {
                        out.put(b",")?;
                    }
                    new_line(indent + 1, out)?;
                    write_quoted(k, out)?;
                    out.put(b": ")?;
                    v.write_pretty(indent + 1, out)?;
                }
                new_line(indent, out)?;
                out.put(b"}")
            }
            v => v.write(out),
        }
    }
}

fn new_line(indent: usize, out: &mut impl Put) -> Result<(), SqlError> {
    out.put(b"\n")?;
    (0..indent).try_for_each(|_| out.put(b"  "))
}

fn write_double(d: f64, out: &mut impl Put) -> Result<(), SqlError> {
    let text = if d != 0.0 && (d.abs() >= 1e15 || d.abs() < 1e-5) {
        format!("{d:e}")
    } else {
        format!("{d:?}")
    };
    out.put(text.as_bytes())
}

/// Appends the text in quotes with escapes.
///
/// # Errors
/// What the buffer says.
pub(crate) fn write_quoted(s: &str, out: &mut impl Put) -> Result<(), SqlError> {
    let bytes = s.as_bytes();
    let mut plain = 0;
    out.put(b"\"")?;
    for (i, &b) in bytes.iter().enumerate() {
        let control;
        let escaped: &[u8] = match b {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            8 => b"\\b",
            12 => b"\\f",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..=0x1F => {
                control = format!("\\u{b:04x}");
                control.as_bytes()
            }
            _ => continue,
        };
        out.put(&bytes[plain..i])?;
        out.put(escaped)?;
        plain = i + 1;
    }
    out.put(&bytes[plain..])?;
    out.put(b"\"")
}

/// Error 3157.
pub(crate) fn too_deep() -> SqlError {
    SqlError::fixed(types::error::codes::ER_JSON_DOCUMENT_TOO_DEEP)
}
