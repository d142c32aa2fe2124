//! The order of JSON documents, as bytes that sort: what ORDER BY, GROUP BY, DISTINCT, joins and comparisons go by.
//!
//! Documents are ordered by their type first (null, numbers, strings, objects, arrays, booleans), then by value, as the manual's "Comparison
//! and Ordering of JSON Values" says. Numbers are one kind: 1, 1.0 and 1e0 are equal, whatever they are kept as. Of two objects the one with fewer
//! members is the lesser; then the members decide in their order.
//!
//! It must never allocate a tree, fail, or give equal bytes to documents that differ: what is no document has bytes of its own, behind all others.

use crate::collation::write_key_bytes;

/// The deepest nesting of a document.
const MAX_DEPTH: usize = 100;

/// First bytes of keys. No key begins with 0, which ends an array.
mod mark {
    pub const NULL: u8 = 1;
    pub const NUMBER: u8 = 2;
    pub const STRING: u8 = 3;
    pub const OBJECT: u8 = 4;
    pub const ARRAY: u8 = 5;
    pub const BOOLEAN: u8 = 6;
    pub const NO_DOCUMENT: u8 = 7;
}

/// Second bytes of numbers.
mod sign {
    pub const NEGATIVE: u8 = 1;
    pub const ZERO: u8 = 2;
    pub const POSITIVE: u8 = 3;
}

/// Appends the key of a document, which is given as the text that is stored and shown: members in their order, no key twice. No key is the
/// beginning of another.
pub fn write_order_key(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let mut r = Reader { text, at: 0 };
    let whole = r.value(1, out).is_some() && {
        r.space();
        r.at == text.len()
    };
    if !whole {
        out.truncate(start);
        out.push(mark::NO_DOCUMENT);
        write_key_bytes(text, out);
    }
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn byte(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text[self.at..]
            .starts_with(word)
            .then(|| self.at += word.len())
    }

    fn value(&mut self, depth: usize, out: &mut Vec<u8>) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.space();
        match self.peek()? {
            b'n' => {
                self.word(b"null")?;
                out.push(mark::NULL);
            }
            b't' => {
                self.word(b"true")?;
                out.extend_from_slice(&[mark::BOOLEAN, 1]);
            }
            b'f' => {
                self.word(b"false")?;
                out.extend_from_slice(&[mark::BOOLEAN, 0]);
            }
            b'"' => {
                out.push(mark::STRING);
                let raw = self.string()?;
                write_key_bytes(&unescaped(raw)?, out);
            }
            b'[' => self.array(depth, out)?,
            b'{' => self.object(depth, out)?,
            _ => self.number(out)?,
        }
        Some(())
    }

    fn array(&mut self, depth: usize, out: &mut Vec<u8>) -> Option<()> {
        self.at += 1;
        out.push(mark::ARRAY);
        self.space();
        if self.peek()? == b']' {
            self.at += 1;
        } else {
            loop {
                self.value(depth + 1, out)?;
                self.space();
                self.at += 1;
                match self.text.get(self.at - 1)? {
                    b',' => {}
                    b']' => break,
                    _ => return None,
                }
            }
        }
        out.push(0);
        Some(())
    }

    fn object(&mut self, depth: usize, out: &mut Vec<u8>) -> Option<()> {
        self.at += 1;
        out.push(mark::OBJECT);
        let count_at = out.len();
        let mut count = 0u32;
        out.extend_from_slice(&count.to_be_bytes());
        self.space();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.space();
            let raw = self.string()?;
            let key = unescaped(raw)?;
            out.extend_from_slice(&(key.len() as u32).to_be_bytes());
            out.extend_from_slice(&key);
            self.byte(b':')?;
            self.value(depth + 1, out)?;
            count += 1;
            self.space();
            self.at += 1;
            match self.text.get(self.at - 1)? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        out[count_at..count_at + 4].copy_from_slice(&count.to_be_bytes());
        Some(())
    }

    /// What stands between quotes.
    fn string(&mut self) -> Option<&'t [u8]> {
        self.byte(b'"')?;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(&self.text[start..self.at - 1]);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn number(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let rest = &self.text[self.at..];
        let len = rest
            .iter()
            .position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .unwrap_or(rest.len());
        self.at += len;
        out.push(mark::NUMBER);
        write_number(std::str::from_utf8(&rest[..len]).ok()?, out)
    }
}

/// A double up to which every whole one is written with all of its digits: beyond what whole numbers hold.
const WHOLE: f64 = 2e19;

/// A number by its sign, the place of its first digit, and its digits without zeros at the end. A double is the number that its shortest text
/// says, but for a large whole one, which is compared with whole numbers digit by digit.
fn write_number(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let whole;
    let (mut number, exponent) = match text.split_once(['e', 'E']) {
        Some((n, e)) => (n, e.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let mut exponent = exponent;
    if exponent >= 15 {
        let d: f64 = text.parse().ok()?;
        if d.abs() < WHOLE {
            whole = format!("{d:.0}");
            (number, exponent) = (&whole, 0);
        }
    }
    let digits = number.strip_prefix('-').unwrap_or(number);
    let negative = digits.len() < number.len();
    let (before, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if before.is_empty() || !plain(before) || !plain(behind) {
        return None;
    }
    let mut all = Vec::with_capacity(before.len() + behind.len());
    all.extend(before.bytes().chain(behind.bytes()));
    let zeros = all.iter().take_while(|b| **b == b'0').count();
    while all.last() == Some(&b'0') {
        all.pop();
    }
    if zeros >= all.len() {
        out.push(sign::ZERO);
        return Some(());
    }
    let place = i64::from(exponent) + before.len() as i64 - zeros as i64;
    let place = (place + (1 << 31)).clamp(0, i64::from(u32::MAX)) as u32;
    out.push(if negative {
        sign::NEGATIVE
    } else {
        sign::POSITIVE
    });
    let start = out.len();
    out.extend_from_slice(&place.to_be_bytes());
    out.extend_from_slice(&all[zeros..]);
    out.push(0);
    if negative {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
    Some(())
}

/// The bytes that stand for what is between quotes.
fn unescaped(raw: &[u8]) -> Option<std::borrow::Cow<'_, [u8]>> {
    if !raw.contains(&b'\\') {
        return Some(raw.into());
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&b, tail)) = rest.split_first() {
        rest = tail;
        if b != b'\\' {
            out.push(b);
            continue;
        }
        let (&escape, tail) = rest.split_first()?;
        rest = tail;
        out.push(match escape {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                // Only control characters are stored so.
                let (digits, tail) = rest.split_at_checked(4)?;
                rest = tail;
                let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
                let c = char::from_u32(code)?;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            other => other,
        });
    }
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        write_order_key(text.as_bytes(), &mut out);
        out
    }

    /// Each is less than the next.
    #[test]
    fn documents_sort_by_type_and_then_by_value() {
        let ascending = [
            "null",
            "-1e300",
            "-18446744073709551615",
            "-10",
            "-9.5",
            "-0.01",
            "0",
            "1e-300",
            "0.001",
            "0.01",
            "1",
            "1.5",
            "2",
            "10",
            "9007199254740992",
            "9007199254740993",
            "1e17",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "1e20",
            "1e300",
            "\"\"",
            "\"\\u0000\"",
            "\"A\"",
            "\"a\"",
            "\"a\\u0000\"",
            "\"ab\"",
            "\"b\"",
            "{}",
            "{\"a\": 1}",
            "{\"a\": 2}",
            "{\"b\": 0}",
            "{\"aa\": 0}",
            "{\"a\": 0, \"b\": 0}",
            "[]",
            "[null]",
            "[1]",
            "[1, 2]",
            "[2]",
            "[[]]",
            "false",
            "true",
        ];
        for pair in ascending.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{} {}", pair[0], pair[1]);
            assert!(
                !key(pair[1]).starts_with(&key(pair[0])),
                "{} {}",
                pair[0],
                pair[1]
            );
        }
    }

    #[test]
    fn numbers_are_equal_whatever_they_are_kept_as() {
        let equal = [
            ["1", "1.0", "1.00", "1e0"],
            ["0", "0.0", "-0.0", "0.00"],
            ["100", "1e2", "100.0", "100.000"],
            ["0.1", "0.10", "1e-1", "0.1000"],
            [
                "9223372036854775808",
                "9.223372036854776e18",
                "9223372036854775808.0",
                "9223372036854775808.00",
            ],
        ];
        for group in equal {
            for other in &group[1..] {
                assert_eq!(key(group[0]), key(other), "{} {other}", group[0]);
            }
        }
    }

    #[test]
    fn what_is_no_document_is_behind_all_and_differs() {
        let bad = ["", "x", "[", "[1", "{\"a\"}", "1 2", "\"", "nul"];
        for (i, a) in bad.iter().enumerate() {
            assert!(key(a) > key("true"), "{a}");
            for b in &bad[i + 1..] {
                assert_ne!(key(a), key(b));
            }
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(key(&deep) > key("true"));
    }
}
