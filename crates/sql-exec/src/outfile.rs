//! SELECT ... INTO OUTFILE and DUMPFILE: rows as lines of a file of the server's machine (the manual's chapter on SELECT ... INTO; `command/load/lines`
//! reads what is written here).
//!
//! The file is there when the statement has succeeded, and not otherwise: what ends in an error, a KILL or with its connection takes it away again.
//! A crash of the machine may lose it, as MySQL's.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use types::convert::write_text;
use types::error::codes;
use types::{Charset, DataType, SqlError, ValueRef, charset};

use super::Env;
use crate::separators::Separators;
use crate::server_file;
use sql_expr::NoRow;
use sql_expr::vars::SqlMode;
use sql_parser::ast::TextFormat;
use sql_plan::plan::{FileForm, IntoFile, QueryPlan};
use sql_plan::sink::{ColumnMeta, Done, Flush, ResultSink};

/// Bytes that are written at once.
const PIECE: usize = 256 << 10;

/// Runs a query whose rows go to a file.
///
/// # Errors
/// What the query raises; 1083 for separators that are none, 1172 for a second row of a DUMPFILE, 1290, 1086, 1 and 3 for the file.
pub(super) async fn run(
    q: &QueryPlan,
    to: &IntoFile,
    most: u64,
    env: &mut Env<'_>,
) -> Result<Done, SqlError> {
    let form = match &to.form {
        FileForm::Dump => Form::Dump,
        FileForm::Lines { charset, format } => {
            let plain = env.cx.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
            let lines = Lines::of(format, plain, *charset)?;
            if lines.is_ambiguous() {
                env.cx
                    .warn_error(SqlError::fixed(codes::ER_AMBIGUOUS_FIELD_TERM));
            }
            Form::Lines(lines)
        }
    };
    let (allowed, datadir) = (
        env.cx.vars.text("secure_file_priv"),
        env.cx.vars.text("datadir"),
    );
    let (file, path) = server_file::create(&to.path, &allowed, &datadir)?;
    let mut out = OutFile {
        columns: &to.columns,
        form,
        file,
        path,
        whole: false,
        buf: Vec::new(),
        rows: 0,
    };
    // The second row of a DUMPFILE is an error.
    let most = match out.form {
        Form::Dump => most.min(2),
        Form::Lines(_) => most,
    };
    env.query(q, &NoRow, &mut out, most).await?;
    if matches!(out.form, Form::Dump) && out.rows > 1 {
        return Err(SqlError::fixed(codes::ER_TOO_MANY_ROWS));
    }
    env.cx.memory().check()?;
    env.check()?;
    out.write()?;
    out.whole = true;
    Ok(Done {
        affected: out.rows,
        ..Done::default()
    })
}

/// What is written.
enum Form {
    /// The bytes of one row.
    Dump,
    Lines(Lines),
}

/// How fields and lines are told apart.
#[derive(Debug)]
struct Lines {
    by: Separators,
    /// Only what is written as text is enclosed.
    optionally: bool,
    /// The character set of all text.
    charset: Option<Charset>,
}

impl Lines {
    /// As a statement asks for it.
    ///
    /// # Errors
    /// As [`Separators::of`].
    fn of(f: &TextFormat, plain: bool, charset: Option<Charset>) -> Result<Lines, SqlError> {
        Ok(Lines {
            by: Separators::of(f, plain, "SELECT ... INTO OUTFILE")?,
            optionally: f.optionally,
            charset,
        })
    }

    /// What ends a field must be escaped in it: the character that encloses it, or else the first of what stands between fields.
    fn field_end(&self) -> Option<u8> {
        self.by.enclosed.or_else(|| self.by.field.first().copied())
    }

    /// Whether an escaped separator would be read as something else: `\n` is a newline.
    fn is_ambiguous(&self) -> bool {
        let first = self
            .by
            .field
            .first()
            .is_some_and(|b| b"ntrb0ZN".contains(b));
        self.by.enclosed.is_none() && self.by.escape.is_some() && first
    }

    /// Whether the field of a value that is no text may hold what ends it.
    fn is_unsafe(&self) -> bool {
        self.field_end()
            .is_some_and(|b| b".0123456789e+-".contains(&b))
    }

    /// Appends a field: the bytes of its value, none for NULL.
    fn field(&self, value: Option<&[u8]>, is_text: bool, out: &mut Vec<u8>) {
        let Some(value) = value else {
            match self.by.escape {
                Some(e) => out.extend_from_slice(&[e, b'N']),
                None => out.extend_from_slice(b"NULL"),
            }
            return;
        };
        let enclosed = self.by.enclosed.filter(|_| is_text || !self.optionally);
        out.extend(enclosed);
        match self.by.escape {
            Some(escape) if is_text || self.is_unsafe() => self.escaped(value, escape, out),
            _ => out.extend_from_slice(value),
        }
        out.extend(enclosed);
    }

    fn escaped(&self, value: &[u8], escape: u8, out: &mut Vec<u8>) {
        let (field, line) = (self.field_end(), self.by.line.first().copied());
        // The character that encloses is one that reading takes for something else when it is escaped: it is doubled.
        let doubled = self.by.enclosed.filter(|b| b"ntrb0ZN".contains(b));
        // One that stands between fields is left alone then, since nothing can be made of it.
        let left = match self.is_ambiguous() {
            true => field,
            false => None,
        };
        for &b in value {
            let special = b == escape || b == 0 || Some(b) == field || Some(b) == line;
            if special && Some(b) != left {
                out.push(if Some(b) == doubled { b } else { escape });
            }
            out.push(if special && b == 0 { b'0' } else { b });
        }
    }
}

/// The file, as what takes the rows.
struct OutFile<'a> {
    columns: &'a [ColumnMeta],
    form: Form,
    file: File,
    path: PathBuf,
    /// Nothing is missing.
    whole: bool,
    buf: Vec<u8>,
    rows: u64,
}

impl OutFile<'_> {
    fn write(&mut self) -> Result<(), SqlError> {
        let written = self.file.write_all(&self.buf);
        self.buf.clear();
        written.map_err(|e| self.failed(&e))
    }

    fn failed(&self, e: &io::Error) -> SqlError {
        let (path, errno) = (self.path.display(), e.raw_os_error().unwrap_or(0));
        let text = e.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        if errno == libc::ENOSPC {
            return SqlError::disk_full(&path.to_string(), errno, text);
        }
        SqlError::new(
            codes::EE_WRITE,
            format!("Error writing file '{path}' (OS errno {errno} - {text})"),
        )
    }
}

/// The bytes of a value, text in a character set.
fn bytes_of(v: ValueRef<'_>, ty: &DataType, to: Option<Charset>) -> Vec<u8> {
    let mut text = Vec::new();
    write_text(v, ty, &mut text);
    let from = match v {
        ValueRef::Str(_, collation) => collation.charset(),
        ValueRef::Enum(_, labels) | ValueRef::Set(_, labels) => labels.collation.charset(),
        _ => return text,
    };
    match to {
        Some(to) if to != from => {
            let mut converted = Vec::with_capacity(text.len());
            charset::convert(from, to, &text, &mut converted);
            converted
        }
        _ => text,
    }
}

/// Whether the values of a type are text: escaped, and enclosed by OPTIONALLY ENCLOSED. MySQL takes BIT for a number, and its bytes do not come back where
/// a separator is among them.
fn is_text(ty: &DataType) -> bool {
    ty.is_string() || ty.is_temporal() || matches!(ty, DataType::Bit(_))
}

impl ResultSink for OutFile<'_> {
    fn columns(&mut self, _: &Arc<[ColumnMeta]>) {}

    fn row_begin(&mut self) {
        self.rows += 1;
        if let Form::Lines(lines) = &self.form {
            self.buf.extend_from_slice(&lines.by.starting);
        }
    }

    fn value(&mut self, v: ValueRef<'_>, c: usize) {
        let ty = &self.columns[c].ty;
        match &self.form {
            Form::Dump if v.is_null() => self.buf.push(0),
            Form::Dump => self.buf.extend(bytes_of(v, ty, None)),
            Form::Lines(lines) => {
                if c > 0 {
                    self.buf.extend_from_slice(&lines.by.field);
                }
                let bytes = (!v.is_null()).then(|| bytes_of(v, ty, lines.charset));
                lines.field(bytes.as_deref(), is_text(ty), &mut self.buf);
            }
        }
    }

    fn row_end(&mut self) {
        if let Form::Lines(lines) = &self.form {
            self.buf.extend_from_slice(&lines.by.line);
        }
    }

    fn is_full(&self) -> bool {
        self.buf.len() >= PIECE
    }

    fn wants_flush(&self) -> bool {
        self.is_full()
    }

    /// Others wait meanwhile, for as long as the kernel takes a piece into its cache.
    fn flush(&mut self) -> Flush<'_> {
        Box::pin(std::future::ready(self.write()))
    }

    fn finish(&mut self, _: &Done) {}
}

impl Drop for OutFile<'_> {
    fn drop(&mut self) {
        if !self.whole {
            // If it fails, a part of the file stays: there is nobody left to tell.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(f: &TextFormat, fields: &[(Option<&str>, bool)]) -> String {
        let lines = Lines::of(f, false, None).expect("a form");
        let mut out = Vec::new();
        for (text, is_text) in fields {
            lines.field(text.map(str::as_bytes), *is_text, &mut out);
            out.push(b'|');
        }
        String::from_utf8(out).expect("text")
    }

    fn of(s: &str) -> Option<Box<[u8]>> {
        Some(s.as_bytes().into())
    }

    #[test]
    fn what_would_be_read_otherwise_is_escaped() {
        let default = TextFormat::default();
        let text = |s| (Some(s), true);
        assert_eq!(
            written(
                &default,
                &[text("a\tb\nc\\d\0e,"), (None, true), (Some("1.5"), false)]
            ),
            "a\\\tb\\\nc\\\\d\\0e,|\\N|1.5|"
        );
        let csv = TextFormat {
            fields_terminated: of(","),
            enclosed: of("\""),
            ..TextFormat::default()
        };
        assert_eq!(
            written(
                &csv,
                &[text("say \"a,b\""), (Some("7"), false), (None, false)]
            ),
            "\"say \\\"a,b\\\"\"|\"7\"|\\N|"
        );
        let optionally = TextFormat {
            optionally: true,
            ..csv.clone()
        };
        assert_eq!(
            written(&optionally, &[text("a"), (Some("7"), false)]),
            "\"a\"|7|"
        );
        let plain = TextFormat {
            escaped: of(""),
            ..csv
        };
        assert_eq!(
            written(&plain, &[text("a\"\\"), (None, true)]),
            "\"a\"\\\"|NULL|"
        );
    }

    #[test]
    fn separators_that_stand_for_something_else_escaped() {
        let n = TextFormat {
            fields_terminated: of("n"),
            ..TextFormat::default()
        };
        assert!(Lines::of(&n, false, None).expect("a form").is_ambiguous());
        assert_eq!(written(&n, &[(Some("one\\"), true)]), "one\\\\|");
        let enclosed = TextFormat {
            enclosed: of("n"),
            ..TextFormat::default()
        };
        assert!(
            !Lines::of(&enclosed, false, None)
                .expect("a form")
                .is_ambiguous()
        );
        assert_eq!(written(&enclosed, &[(Some("one"), true)]), "nonnen|");
        let dots = TextFormat {
            fields_terminated: of("."),
            ..TextFormat::default()
        };
        assert_eq!(written(&dots, &[(Some("1.5"), false)]), "1\\.5|");
        let wrong = TextFormat {
            enclosed: of("ab"),
            ..TextFormat::default()
        };
        assert_eq!(
            Lines::of(&wrong, false, None)
                .expect_err("two characters")
                .code,
            1083
        );
    }
}
