//! The fields of a text file as `LOAD DATA` reads them (the manual's chapter on the statement; `READ_INFO` of the server).
//!
//! Works on bytes that are there so far: a line that may go on is read again when more have come. Knows no table.

use types::SqlError;

use crate::separators::Separators;
use sql_parser::ast::TextFormat;

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    /// `\N`, or the word NULL where fields may be enclosed.
    Null,
    /// Anything else, without what encloses and escapes it.
    Text(Vec<u8>),
}

/// What came of an attempt to read a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Its fields are there; so many bytes are done with.
    Line(usize),
    /// It may go on behind the bytes that are there.
    More,
    /// There is no further line.
    End,
}

/// How fields and lines are told apart.
#[derive(Debug, Clone)]
pub(super) struct Shape(Separators);

/// What a place in the bytes is.
enum At {
    Field,
    Line,
    Byte,
    Unknown,
}

impl Shape {
    /// As a statement asks for it.
    ///
    /// # Errors
    /// 1083 for more than one character where one is meant; 1235 for lines of fixed fields.
    pub(super) fn of(f: &TextFormat) -> Result<Shape, SqlError> {
        let mut s = Separators::of(f, "LOAD DATA")?;
        if s.line.is_empty() {
            s.line = s.field.clone();
        }
        Ok(Shape(s))
    }

    /// Reads the line that `buf` begins with. `eof`: nothing comes behind `buf`.
    pub(super) fn read(&self, buf: &[u8], eof: bool, fields: &mut Vec<Field>) -> Read {
        fields.clear();
        let mut at = 0;
        if !self.0.starting.is_empty() {
            // What does not begin so is passed over, line ends included.
            match find(buf, &self.0.starting) {
                Some(i) => at = i + self.0.starting.len(),
                None if eof => return Read::End,
                None => return Read::More,
            }
        }
        if at == buf.len() {
            return if eof { Read::End } else { Read::More };
        }
        loop {
            let enclosed = self.0.enclosed.is_some() && buf.get(at).copied() == self.0.enclosed;
            let field = match enclosed {
                true => self.enclosed_field(buf, eof, at + 1),
                false => self.open_field(buf, eof, at),
            };
            let Some((field, next, ends)) = field else {
                return Read::More;
            };
            fields.push(field);
            at = next;
            if ends {
                return Read::Line(at);
            }
        }
    }

    /// Passes over a line, whatever is in it.
    pub(super) fn skip(&self, buf: &[u8], eof: bool) -> Read {
        match find(buf, &self.0.line) {
            Some(i) => Read::Line(i + self.0.line.len()),
            None if !eof => Read::More,
            None if buf.is_empty() => Read::End,
            None => Read::Line(buf.len()),
        }
    }

    /// A field up to what ends it: the field, where the next begins, and whether the line ends with it.
    fn open_field(&self, buf: &[u8], eof: bool, mut at: usize) -> Option<(Field, usize, bool)> {
        let mut out = Vec::new();
        let mut null = false;
        loop {
            let (next, ends) = match self.place(buf, eof, at) {
                At::Unknown => return None,
                At::Line => (at + self.0.line.len(), true),
                At::Field => (at + self.0.field.len(), false),
                At::Byte if at == buf.len() => (at, true),
                At::Byte => {
                    let empty = out.is_empty();
                    let (n, byte) = self.byte(buf, eof, at)?;
                    null |= empty && n == 2 && byte == b'N';
                    out.push(byte);
                    at += n;
                    continue;
                }
            };
            let word = self.0.enclosed.is_some() && out == b"NULL";
            let field = match null && out == b"N" || word {
                true => Field::Null,
                false => Field::Text(out),
            };
            return Some((field, next, ends));
        }
    }

    /// A field behind the character that encloses it.
    fn enclosed_field(&self, buf: &[u8], eof: bool, mut at: usize) -> Option<(Field, usize, bool)> {
        let mut out = Vec::new();
        let mut null = false;
        let field = |out: Vec<u8>, null: bool| match null && out == b"N" {
            true => Field::Null,
            false => Field::Text(out),
        };
        loop {
            if at == buf.len() {
                // Nothing closes it.
                return eof.then_some((field(out, null), at, true));
            }
            if buf.get(at).copied() != self.0.enclosed {
                let (n, byte) = self.byte(buf, eof, at)?;
                null |= out.is_empty() && n == 2 && byte == b'N';
                out.push(byte);
                at += n;
                continue;
            }
            at += 1;
            if buf.get(at).copied() == self.0.enclosed {
                out.extend(self.0.enclosed);
                at += 1;
                continue;
            }
            match self.place(buf, eof, at) {
                At::Unknown => return None,
                At::Line => return Some((field(out, null), at + self.0.line.len(), true)),
                At::Field => return Some((field(out, null), at + self.0.field.len(), false)),
                At::Byte if at == buf.len() => return Some((field(out, null), at, true)),
                // It stands within the field.
                At::Byte => out.extend(self.0.enclosed),
            }
        }
    }

    /// The byte at a place, and how many stand for it.
    fn byte(&self, buf: &[u8], eof: bool, at: usize) -> Option<(usize, u8)> {
        let b = buf[at];
        if Some(b) != self.0.escape {
            return Some((1, b));
        }
        let Some(next) = buf.get(at + 1) else {
            return eof.then_some((1, b));
        };
        let meant = match next {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'0' => 0,
            b'Z' => 26,
            other => *other,
        };
        Some((2, meant))
    }

    fn place(&self, buf: &[u8], eof: bool, at: usize) -> At {
        let rest = &buf[at..];
        if rest.is_empty() && !eof {
            return At::Unknown;
        }
        for (text, is) in [(&self.0.line, At::Line), (&self.0.field, At::Field)] {
            if text.is_empty() {
                continue;
            }
            if rest.starts_with(text) {
                return is;
            }
            if !eof && text.starts_with(rest) {
                return At::Unknown;
            }
        }
        At::Byte
    }
}

fn find(buf: &[u8], what: &[u8]) -> Option<usize> {
    buf.windows(what.len()).position(|w| w == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All lines, whatever the pieces that the bytes come in.
    fn lines(f: &TextFormat, text: &[u8]) -> Vec<Vec<String>> {
        let shape = Shape::of(f).expect("a shape");
        let mut all: Vec<Vec<Vec<String>>> = Vec::new();
        for piece in [1, 2, 3, 7, 1000] {
            let (mut buf, mut came, mut out) = (Vec::new(), 0, Vec::new());
            let mut fields = Vec::new();
            loop {
                match shape.read(&buf, came == text.len(), &mut fields) {
                    Read::Line(n) => {
                        buf.drain(..n);
                        let shown = |f: &Field| match f {
                            Field::Null => "NULL".to_owned(),
                            Field::Text(t) => format!("'{}'", String::from_utf8_lossy(t)),
                        };
                        out.push(fields.iter().map(shown).collect());
                    }
                    Read::More => {
                        let n = piece.min(text.len() - came);
                        buf.extend_from_slice(&text[came..came + n]);
                        came += n;
                    }
                    Read::End => break,
                }
            }
            all.push(out);
        }
        assert!(all.windows(2).all(|w| w[0] == w[1]), "{all:?}");
        all.pop().unwrap_or_default()
    }

    #[test]
    fn the_default_is_what_select_into_outfile_writes() {
        let got = lines(
            &TextFormat::default(),
            b"1\ta b\t\\N\n2\t\\tx\\\\\\n\t\n\nlast\tN",
        );
        let want = [
            vec!["'1'", "'a b'", "NULL"],
            vec!["'2'", "'\tx\\\n'", "''"],
            vec!["''"],
            vec!["'last'", "'N'"],
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn enclosed_fields_hold_separators() {
        let f = TextFormat {
            fields_terminated: Some(b","[..].into()),
            enclosed: Some(b"\""[..].into()),
            lines_terminated: Some(b"\r\n"[..].into()),
            ..TextFormat::default()
        };
        let got = lines(
            &f,
            b"\"a,\r\nb\",\"say \"\"hi\"\" \",NULL,\"NULL\",c\"d\r\n\"x\"y\",\"open",
        );
        let want = [
            vec!["'a,\r\nb'", "'say \"hi\" '", "NULL", "'NULL'", "'c\"d'"],
            vec!["'x\"y'", "'open'"],
        ];
        // A character that encloses does so alone in front of a separator.
        assert_eq!(got, want);
    }

    #[test]
    fn lines_may_have_a_beginning() {
        let f = TextFormat {
            lines_starting: Some(b"xxx"[..].into()),
            fields_terminated: Some(b";;"[..].into()),
            escaped: Some(b""[..].into()),
            ..TextFormat::default()
        };
        let got = lines(&f, b"xxxabc;;1;\nsomething xxxde\\f;;2\nno\n");
        assert_eq!(got, [vec!["'abc'", "'1;'"], vec!["'de\\f'", "'2'"]]);
    }
}
