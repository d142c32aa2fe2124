//! A value that is expected, and when a value of a server is that one.

use serde_json::{Value, json};

/// Doubles that were computed in another order differ in their last digits.
const NEAR: f64 = 1e-9;

/// The same for the values of FLOAT.
const NEAR_FLOAT: f64 = 1e-5;

/// An expected value.
#[derive(Debug)]
pub struct Cell {
    kind: char,
    text: String,
}

impl Cell {
    /// Reads `["KIND", "TEXT"]`; the kinds are told where the lists are written.
    pub fn parse(value: &Value) -> Option<Cell> {
        let (kind, text) = (value[0].as_str()?, value[1].as_str()?);
        let kind = kind.chars().next()?;
        let text = text.to_owned();
        "nidfgsxtjo?".contains(kind).then_some(Cell { kind, text })
    }

    /// For a reader.
    pub fn told(&self) -> Value {
        match self.kind {
            'n' => Value::Null,
            's' => json!(self.text),
            kind => json!(format!("{kind}:{}", self.text)),
        }
    }

    /// The affected rows and the id of an OK.
    pub fn ok(&self) -> Option<(u64, u64)> {
        let (rows, id) = self.text.split_once(' ').filter(|_| self.kind == 'o')?;
        Some((rows.parse().ok()?, id.parse().ok()?))
    }

    /// Whether a server's value is this one.
    pub fn is(&self, value: Option<&[u8]>) -> bool {
        let Some(bytes) = value else {
            return matches!(self.kind, 'n' | '?');
        };
        let text = String::from_utf8_lossy(bytes);
        match self.kind {
            'n' | 'o' => false,
            '?' => true,
            'f' => near(&self.text, &text, NEAR),
            'g' => near(&self.text, &text, NEAR_FLOAT),
            't' => moment(&self.text) == moment(&text),
            'j' => {
                let read = |t: &str| serde_json::from_str::<Value>(t).ok();
                read(&self.text).is_some_and(|e| read(&text) == Some(e))
            }
            'x' => {
                let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                hex == self.text
            }
            _ => self.text.as_bytes() == bytes,
        }
    }
}

fn near(expected: &str, text: &str, share: f64) -> bool {
    match (expected.parse::<f64>(), text.parse::<f64>()) {
        (Ok(e), Ok(t)) => (e - t).abs() <= share * e.abs().max(t.abs()),
        _ => false,
    }
}

/// A date with its time, without the parts behind it that are zero: the lists do not say which type it has.
fn moment(text: &str) -> &str {
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    text.strip_suffix(" 00:00:00").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(kind: &str, expected: &str, value: &str) -> bool {
        let cell = Cell::parse(&json!([kind, expected])).unwrap();
        cell.is(Some(value.as_bytes()))
    }

    #[test]
    fn kinds_are_compared_as_what_they_are() {
        assert!(is("i", "1", "1") && !is("i", "1", "1.0"));
        assert!(is("d", "1.50", "1.50") && !is("d", "1.50", "1.5"));
        assert!(is("f", "0.1", "0.10000000000000001") && !is("f", "1", "1.001"));
        assert!(is("f", "3", "3.0000") && !is("f", "3", "x"));
        assert!(is("t", "2020-01-01 00:00:00", "2020-01-01"));
        assert!(is("t", "2020-01-01 10:00:00", "2020-01-01 10:00:00.000"));
        assert!(!is("t", "2020-01-01 10:00:00", "2020-01-01 10:00:01"));
        assert!(is("j", "{\"a\":1,\"b\":2}", "{\"b\": 2, \"a\": 1}") && !is("j", "[1]", "[2]"));
        assert!(is("x", "6162", "ab") && !is("x", "ff", "ab"));
        assert!(is("?", "", "x"));
    }

    #[test]
    fn null_is_null() {
        let null = Cell::parse(&json!(["n", ""])).unwrap();
        assert!(null.is(None) && !null.is(Some(b"")));
        assert!(!Cell::parse(&json!(["s", ""])).unwrap().is(None));
        assert!(Cell::parse(&json!(["z", ""])).is_none());
    }
}
