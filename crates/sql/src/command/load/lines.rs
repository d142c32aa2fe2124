//! The fields of a text file as `LOAD DATA` reads them (the manual's chapter on the statement; `READ_INFO` of the server).
//!
//! Works on bytes that are there so far: a line that may go on is read again when more have come. Knows no table.

use types::SqlError;

use sql_exec::separators::Separators;
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
    /// Its fields are there.
    Line {
        /// So many bytes are done with.
        used: usize,
        /// There was more on it than fields were asked for.
        cut: bool,
    },
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

/// What stands behind a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Field,
    Line,
    /// Nothing: the file is at its end.
    Nothing,
}

impl Shape {
    /// As a statement asks for it; `plain`: a backslash is an ordinary character where it does not say otherwise.
    ///
    /// # Errors
    /// 1083 for more than one character where one is meant; 1235 for lines of fixed fields.
    pub(super) fn of(f: &TextFormat, plain: bool) -> Result<Shape, SqlError> {
        let mut s = Separators::of(f, plain, "LOAD DATA")?;
        // Where fields end as lines do, a line has as many fields as are asked for, and nothing else ends it.
        if s.line == s.field {
            s.line.clear();
        }
        Ok(Shape(s))
    }

    /// Reads the line that `buf` begins with, of so many fields at most. `eof`: nothing comes behind `buf`.
    pub(super) fn read(
        &self,
        buf: &[u8],
        eof: bool,
        wanted: usize,
        fields: &mut Vec<Field>,
    ) -> Read {
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
        let whole = |used| Read::Line { used, cut: false };
        for _ in 0..wanted.max(1) {
            if at == buf.len() {
                // A separator is the last of the file: there is no further field.
                return if eof { whole(at) } else { Read::More };
            }
            let field = match self.is_enclosure(buf[at]) {
                true => self.enclosed_field(buf, eof, at),
                false => self.open_field(buf, eof, at),
            };
            let Some((field, next, behind)) = field else {
                return Read::More;
            };
            fields.push(field);
            at = next;
            if behind != Behind::Field {
                return whole(at);
            }
        }
        match self.0.line.is_empty() {
            true => whole(at),
            false => self.rest(buf, eof, at),
        }
    }

    /// Passes over a line, whatever is in it.
    pub(super) fn skip(&self, buf: &[u8], eof: bool) -> Read {
        if buf.is_empty() {
            return if eof { Read::End } else { Read::More };
        }
        match self.0.line.is_empty() {
            // Nothing says where a line ends.
            true => Read::Line {
                used: 0,
                cut: false,
            },
            false => self.rest(buf, eof, 0),
        }
    }

    /// What is left of a line. An end in quotes ends it, one behind the escape character does not.
    fn rest(&self, buf: &[u8], eof: bool, from: usize) -> Read {
        let mut at = from;
        while at < buf.len() {
            if Some(buf[at]) == self.0.escape {
                at += 2;
                continue;
            }
            let (here, line) = (&buf[at..], &self.0.line);
            if here.starts_with(line) {
                return Read::Line {
                    used: at + line.len(),
                    cut: at > from,
                };
            }
            if !eof && line.starts_with(here) {
                return Read::More;
            }
            at += 1;
        }
        match eof {
            true => Read::Line {
                used: buf.len(),
                cut: buf.len() > from,
            },
            false => Read::More,
        }
    }

    fn is_enclosure(&self, b: u8) -> bool {
        self.0.enclosed == Some(b)
    }

    /// Whether a character stands for the one behind it; as in SQL, one that both encloses and escapes only does so for itself.
    fn escapes(&self, b: u8, next: Option<&u8>) -> bool {
        Some(b) == self.0.escape && (!self.is_enclosure(b) || next == Some(&b))
    }

    /// A field up to what ends it: the field, where the next begins, and what it ends with.
    fn open_field(&self, buf: &[u8], eof: bool, mut at: usize) -> Option<(Field, usize, Behind)> {
        let mut out = Vec::new();
        let mut null = false;
        loop {
            let (next, behind) = match self.place(buf, eof, at) {
                At::Unknown => return None,
                At::Line => (at + self.0.line.len(), Behind::Line),
                At::Field => (at + self.0.field.len(), Behind::Field),
                At::Byte if at == buf.len() => (at, Behind::Nothing),
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
            return Some((field, next, behind));
        }
    }

    /// A field that begins with the character that encloses it.
    fn enclosed_field(
        &self,
        buf: &[u8],
        eof: bool,
        begin: usize,
    ) -> Option<(Field, usize, Behind)> {
        let mut out = Vec::new();
        let mut null = false;
        let field = |out: Vec<u8>, null: bool| match null && out == b"N" {
            true => Field::Null,
            false => Field::Text(out),
        };
        let mut at = begin + 1;
        loop {
            let Some(&here) = buf.get(at) else {
                // Nothing closes it: what opened it is a character as any other.
                out.insert(0, buf[begin]);
                return eof.then_some((Field::Text(out), at, Behind::Nothing));
            };
            if !self.is_enclosure(here) {
                let (n, byte) = self.byte(buf, eof, at)?;
                null |= out.is_empty() && n == 2 && byte == b'N';
                out.push(byte);
                at += n;
                continue;
            }
            at += 1;
            if buf.get(at) == Some(&here) {
                out.push(here);
                at += 1;
                continue;
            }
            match self.place(buf, eof, at) {
                At::Unknown => return None,
                At::Line => {
                    return Some((field(out, null), at + self.0.line.len(), Behind::Line));
                }
                At::Field => {
                    return Some((field(out, null), at + self.0.field.len(), Behind::Field));
                }
                At::Byte if at == buf.len() => {
                    return Some((field(out, null), at, Behind::Nothing));
                }
                // It stands within the field.
                At::Byte => out.push(here),
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
        if !self.escapes(b, Some(next)) {
            return Some((1, b));
        }
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
        lines_of(f, usize::MAX, text).0
    }

    /// Lines of so many fields, and whether each had more.
    fn lines_of(f: &TextFormat, wanted: usize, text: &[u8]) -> (Vec<Vec<String>>, Vec<bool>) {
        let shape = Shape::of(f, false).expect("a shape");
        let mut all: Vec<(Vec<Vec<String>>, Vec<bool>)> = Vec::new();
        for piece in [1, 2, 3, 7, 1000] {
            let (mut buf, mut came, mut out, mut cuts) = (Vec::new(), 0, Vec::new(), Vec::new());
            let mut fields = Vec::new();
            loop {
                match shape.read(&buf, came == text.len(), wanted, &mut fields) {
                    Read::Line { used, cut } => {
                        buf.drain(..used);
                        cuts.push(cut);
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
            all.push((out, cuts));
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
            vec!["'x\"y'", "'\"open'"],
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

    #[test]
    fn a_line_has_the_fields_that_are_asked_for() {
        let f = TextFormat {
            fields_terminated: Some(b","[..].into()),
            enclosed: Some(b"\""[..].into()),
            ..TextFormat::default()
        };
        let (got, cut) = lines_of(&f, 2, b"1,2,\n1,2,3\n1,\n1\n1,2,\"a\nb\\\nc\n1,");
        let pair = |a: &str, b: &str| vec![format!("'{a}'"), format!("'{b}'")];
        let one = |a: &str| vec![format!("'{a}'")];
        let want = vec![
            pair("1", "2"),
            pair("1", "2"),
            pair("1", ""),
            one("1"),
            pair("1", "2"),
            // What is behind the fields is not read as fields: quotes enclose nothing there.
            one("b\nc"),
            one("1"),
        ];
        assert_eq!(got, want);
        assert_eq!(cut, [false, true, false, false, true, false, false]);
    }

    #[test]
    fn lines_that_end_as_fields_do_have_a_number_of_them() {
        for line in [&b"|"[..], b""] {
            let f = TextFormat {
                fields_terminated: Some(b"|"[..].into()),
                lines_terminated: Some(line.into()),
                ..TextFormat::default()
            };
            let (got, _) = lines_of(&f, 2, b"1|2|3");
            assert_eq!(got, [vec!["'1'", "'2'"], vec!["'3'"]]);
        }
    }

    #[test]
    fn a_character_may_enclose_and_escape() {
        let f = TextFormat {
            fields_terminated: Some(b","[..].into()),
            enclosed: Some(b"\""[..].into()),
            escaped: Some(b"\""[..].into()),
            ..TextFormat::default()
        };
        assert_eq!(lines(&f, b"\"a\"\"n\",\"\"\n"), [vec!["'a\"n'", "''"]]);
    }

    #[test]
    fn nothing_is_read_without_end() {
        let f = TextFormat {
            lines_terminated: Some(b""[..].into()),
            ..TextFormat::default()
        };
        let shape = Shape::of(&f, false).expect("a shape");
        assert_eq!(shape.skip(b"", true), Read::End);
        assert_eq!(lines(&f, b""), Vec::<Vec<String>>::new());
    }
}
