//! Reads JSON text. Errors carry the position, as MySQL's error 3140 shows it.

use super::value::{Json, MAX_DEPTH};

/// Why a text that is nested too deeply is no document.
pub(crate) const TOO_DEEP: &str = "The JSON document exceeds the maximum depth.";

/// Text that is no JSON document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonError {
    /// What was wrong.
    pub(crate) why: &'static str,
    /// At which byte.
    pub(crate) at: usize,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Numbers that are not written as a DOUBLE is are DECIMALs.
    decimals: bool,
    /// Lists have their parts: nothing of a document stays where it is only checked.
    keeps: bool,
}

/// Reads one document; spaces around it are allowed.
pub fn parse(text: &str) -> Result<Json, JsonError> {
    whole(Reader::new(text, false))
}

/// Reads what [`Json::write`] has written: its decimals are decimals again.
///
/// # Errors
/// It is no document.
pub fn parse_document(text: &str) -> Result<Json, JsonError> {
    whole(Reader::new(text, true))
}

/// Whether a text is a document, without a tree of it; `written`: one that [`Json::write`] has written.
///
/// # Errors
/// It is none.
pub fn check(text: &str, written: bool) -> Result<(), JsonError> {
    let mut r = Reader::new(text, written);
    r.keeps = false;
    whole(r).map(drop)
}

fn whole(mut r: Reader<'_>) -> Result<Json, JsonError> {
    let v = r.value(1)?;
    r.space();
    if r.at < r.text.len() {
        return Err(r.error("The document root must not be followed by other values."));
    }
    Ok(v)
}

/// Reads a quoted string that is the whole text: what JSON_UNQUOTE undoes.
pub(crate) fn unquote(text: &str) -> Result<String, JsonError> {
    let mut r = Reader::new(text, false);
    let s = r.string()?;
    if r.at < text.len() {
        return Err(r.error("The document root must not be followed by other values."));
    }
    Ok(s)
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, decimals: bool) -> Reader<'a> {
        Reader {
            text,
            at: 0,
            decimals,
            keeps: true,
        }
    }

    fn error(&self, why: &'static str) -> JsonError {
        JsonError { why, at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > MAX_DEPTH {
            return Err(self.error(TOO_DEEP));
        }
        self.space();
        match self.peek() {
            None => Err(self.error("The document is empty.")),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::Str),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.error("Invalid value.")),
        }
    }

    fn word(&mut self, word: &str, v: Json) -> Result<Json, JsonError> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(v)
        } else {
            Err(self.error("Invalid value."))
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut members = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.error("Missing a name for object member."));
            }
            let key = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.error("Missing a colon after a name of object member."));
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            if self.keeps {
                members.push((key, value));
            }
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::object(members));
                }
                _ => {
                    return Err(self.error("Missing a comma or '}' after an object member."));
                }
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            let item = self.value(depth + 1)?;
            if self.keeps {
                items.push(item);
            }
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(items));
                }
                _ => return Err(self.error("Missing a comma or ']' after an array element.")),
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.error("Invalid value."));
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest
                .bytes()
                .position(|b| b == b'"' || b == b'\\' || b < 0x20)
                .ok_or(JsonError {
                    why: "Missing a closing quotation mark in string.",
                    at: self.text.len(),
                })?;
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                _ => return Err(self.error("Invalid encoding in string.")),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), JsonError> {
        self.at += 1;
        let c = match self.peek() {
            Some(b'u') => {
                let mut code = self.hex4(self.at + 1)?;
                self.at += 5;
                if (0xD800..0xDC00).contains(&code) {
                    if !self.text[self.at..].starts_with("\\u") {
                        return Err(self.error("The surrogate pair in string is invalid."));
                    }
                    let low = self.hex4(self.at + 2)?;
                    if !(0xDC00..0xE000).contains(&low) {
                        return Err(self.error("The surrogate pair in string is invalid."));
                    }
                    self.at += 6;
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                }
                out.push(
                    char::from_u32(code)
                        .ok_or(self.error("The surrogate pair in string is invalid."))?,
                );
                return Ok(());
            }
            Some(c @ (b'"' | b'\\' | b'/')) => c as char,
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.error("Invalid escape character in string.")),
        };
        out.push(c);
        self.at += 1;
        Ok(())
    }

    fn hex4(&self, from: usize) -> Result<u32, JsonError> {
        self.text
            .get(from..from + 4)
            .filter(|h| h.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|h| u32::from_str_radix(h, 16).ok())
            .ok_or(self.error("Incorrect hex digit after \\u escape in string."))
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        let digits = |r: &mut Self| {
            let from = r.at;
            while matches!(r.peek(), Some(b'0'..=b'9')) {
                r.at += 1;
            }
            r.at > from
        };
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let whole = self.at;
        if !digits(self) {
            return Err(self.error("Invalid value."));
        }
        if self.text.as_bytes()[whole] == b'0' && self.at - whole > 1 {
            self.at = whole + 1;
            return Err(self.error("The document root must not be followed by other values."));
        }
        let mut exact = true;
        if self.peek() == Some(b'.') {
            exact = false;
            self.at += 1;
            if !digits(self) {
                return Err(self.error("Miss fraction part in number."));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            exact = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !digits(self) {
                return Err(self.error("Miss exponent in number."));
            }
        }
        let text = &self.text[start..self.at];
        if exact {
            if let Ok(i) = text.parse() {
                return Ok(Json::Int(i));
            }
            if let Ok(u) = text.parse() {
                return Ok(Json::Uint(u));
            }
        }
        match text.parse::<f64>() {
            Ok(d) if d.is_finite() && self.decimals && !is_double(d, text) => {
                Ok(Json::Decimal(text.to_owned()))
            }
            Ok(d) if d.is_finite() => Ok(Json::Double(d)),
            _ => Err(self.error("Number too big to be stored in double.")),
        }
    }
}

/// Whether a number is written as the DOUBLE is, or as no DECIMAL is.
fn is_double(d: f64, text: &str) -> bool {
    let mut own = Vec::new();
    text.contains(['e', 'E']) || Json::Double(d).write(&mut own).is_ok() && own == text.as_bytes()
}
