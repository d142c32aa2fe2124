//! A JSON document in memory, read from text and written as MySQL writes it (a space after `,` and `:`; members
//! ordered by the length of their keys, then by their bytes; the last of equal keys wins).
//!
//! Documents are bounded in depth, so that recursive walks are safe. Nothing here knows SQL values.

use std::cmp::Ordering;

/// Deepest nesting of a document, MySQL's own limit.
pub(crate) const MAX_DEPTH: usize = 100;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
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
    /// `{..}`, ordered by [`key_order`], keys unique.
    Object(Vec<(String, Json)>),
}

/// The order of members in an object.
pub(crate) fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Json {
    /// An object of members in the order given; the last of equal keys wins.
    pub(crate) fn object(members: impl IntoIterator<Item = (String, Json)>) -> Json {
        let mut out: Vec<(String, Json)> = Vec::new();
        for (k, v) in members {
            match out.binary_search_by(|(o, _)| key_order(o, &k)) {
                Ok(i) => out[i].1 = v,
                Err(i) => out.insert(i, (k, v)),
            }
        }
        Json::Object(out)
    }

    /// The member of that key.
    pub(crate) fn member(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(m) => m
                .binary_search_by(|(o, _)| key_order(o, key))
                .ok()
                .map(|i| &m[i].1),
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
    pub(crate) fn contains(&self, needle: &Json) -> bool {
        match (self, needle) {
            (Json::Array(a), Json::Array(n)) => n.iter().all(|x| a.iter().any(|y| y.contains(x))),
            (Json::Array(a), n) => a.iter().any(|y| y.contains(n)),
            (Json::Object(_), Json::Object(n)) => n
                .iter()
                .all(|(k, v)| self.member(k).is_some_and(|m| m.contains(v))),
            _ => self.same(needle),
        }
    }

    /// Appends the text.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
            Json::Int(i) => out.extend_from_slice(i.to_string().as_bytes()),
            Json::Uint(u) => out.extend_from_slice(u.to_string().as_bytes()),
            Json::Double(d) => write_double(*d, out),
            Json::Decimal(t) => out.extend_from_slice(t.as_bytes()),
            Json::Str(s) => write_quoted(s, out),
            Json::Array(a) => {
                out.push(b'[');
                for (i, v) in a.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(b", ");
                    }
                    v.write(out);
                }
                out.push(b']');
            }
            Json::Object(m) => {
                out.push(b'{');
                for (i, (k, v)) in m.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(b", ");
                    }
                    write_quoted(k, out);
                    out.extend_from_slice(b": ");
                    v.write(out);
                }
                out.push(b'}');
            }
        }
    }

    /// The text over several lines, as JSON_PRETTY writes it.
    pub(crate) fn write_pretty(&self, indent: usize, out: &mut Vec<u8>) {
        let line = |out: &mut Vec<u8>, n: usize| {
            out.push(b'\n');
            out.resize(out.len() + 2 * n, b' ');
        };
        match self {
            Json::Array(a) if !a.is_empty() => {
                out.push(b'[');
                for (i, v) in a.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    line(out, indent + 1);
                    v.write_pretty(indent + 1, out);
                }
                line(out, indent);
                out.push(b']');
            }
            Json::Object(m) if !m.is_empty() => {
                out.push(b'{');
                for (i, (k, v)) in m.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    line(out, indent + 1);
                    write_quoted(k, out);
                    out.extend_from_slice(b": ");
                    v.write_pretty(indent + 1, out);
                }
                line(out, indent);
                out.push(b'}');
            }
            v => v.write(out),
        }
    }
}

fn write_double(d: f64, out: &mut Vec<u8>) {
    let text = if d != 0.0 && (d.abs() >= 1e15 || d.abs() < 1e-5) {
        format!("{d:e}")
    } else {
        format!("{d:?}")
    };
    out.extend_from_slice(text.as_bytes());
}

/// Appends the text in quotes with escapes.
pub(crate) fn write_quoted(s: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for &b in s.as_bytes() {
        match b {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..=0x1F => out.extend_from_slice(format!("\\u{b:04x}").as_bytes()),
            _ => out.push(b),
        }
    }
    out.push(b'"');
}
