//! Literals.

use types::charset::{self, Charset};
use types::collation::CollationId;
use types::decimal::Decimal;
use types::error::codes;
use types::temporal::Time;
use types::{SqlError, Warning};

use super::Binder;
use crate::cast;
use crate::node::Expr;
use crate::ty::{Coercibility, ExprType, Shape};
use crate::val::Val;
use sql_parser::ast;

/// A whole number as a literal.
pub(super) fn integer(n: u64) -> Expr {
    let digits = n.checked_ilog10().unwrap_or(0) as u8 + 1;
    match i64::try_from(n) {
        Ok(i) => Expr::constant(Val::Int(i), ExprType::int(digits, false)),
        Err(_) => Expr::constant(Val::Uint(n), ExprType::uint(digits, false)),
    }
}

/// Text of a character set as a literal.
pub(super) fn text(bytes: Vec<u8>, collation: CollationId) -> Expr {
    let ascii = bytes.is_ascii();
    let chars = collation.charset().char_count(&bytes) as u32;
    let mut ty = ExprType::text(chars, collation, Coercibility::Literal, false);
    ty.ascii = ascii;
    Expr::constant(Val::owned(bytes), ty)
}

impl Binder<'_> {
    pub(super) fn literal(&self, e: &ast::Expr) -> Result<Expr, SqlError> {
        use ast::Expr as A;
        Ok(match e {
            A::Bool(b) => Expr::constant(Val::Int(i64::from(*b)), ExprType::truth(false)),
            A::Int(n) => integer(*n),
            A::Decimal(digits) => {
                let d = Decimal::parse(digits.as_bytes()).value;
                Expr::constant(
                    Val::Decimal(d),
                    ExprType::decimal(d.precision(), d.scale(), false),
                )
            }
            A::Float(f) => {
                if !f.is_finite() {
                    return Err(SqlError::new(
                        codes::ER_ILLEGAL_VALUE_FOR_TYPE,
                        "Illegal double value found during parsing",
                    ));
                }
                Expr::constant(Val::Double(*f), ExprType::double(false))
            }
            A::Str(b) => self.string(b),
            A::Hex(b) | A::Bit(b) => {
                let mut e = text(b.to_vec(), CollationId::BINARY);
                e.ty.bits = true;
                e
            }
            A::Introduced(l) => self.introduced(l)?,
            A::Temporal(kind, b) => self.temporal(*kind, b)?,
            _ => Expr::null(),
        })
    }

    /// A string, brought from the parser's UTF-8 to the connection's character set. What a `binary` client sent is
    /// taken as it is. So are bytes that are no character: binary columns and functions want them, and a column of
    /// text refuses them by itself.
    fn string(&self, b: &[u8]) -> Expr {
        let client = match self.scope.kept_under() {
            None => self.cx.vars.hot().client,
            Some(_) => Charset::Utf8mb4,
        };
        let collation = self.connection();
        let connection = collation.charset();
        // What the parser left: UTF-8, but for the sets whose bytes may be no characters.
        let from = match client {
            Charset::Latin1 => Charset::Utf8mb4,
            other => other,
        };
        // Text for a `binary` connection is what the client sent.
        let to = match connection {
            Charset::Binary => client,
            other => other,
        };
        if from != to && from != Charset::Binary && !b.is_ascii() {
            let mut out = Vec::with_capacity(b.len());
            charset::convert(from, to, b, &mut out);
            return text(out, collation);
        }
        if let Some(at) = connection.first_invalid(b) {
            self.cx
                .warn(Warning::from_error(SqlError::invalid_character_string(
                    connection.name(),
                    &hex(&b[at..]),
                )));
        }
        text(b.to_vec(), collation)
    }

    /// A literal whose character set is written before it.
    fn introduced(&self, l: &ast::IntroducedLit) -> Result<Expr, SqlError> {
        let cs =
            Charset::by_name(&l.charset).ok_or_else(|| SqlError::unknown_charset(&l.charset))?;
        if let Some(at) = cs.first_invalid(&l.bytes) {
            let e = SqlError::invalid_character_string(cs.name(), &hex(&l.bytes[at..]));
            // MySQL looks into what has an introducer, and not into N'..'.
            if l.form != ast::LiteralForm::National {
                return Err(e);
            }
            self.cx.warn(Warning::from_error(e));
        }
        Ok(text(l.bytes.to_vec(), CollationId::default_of(cs)))
    }

    fn temporal(&self, kind: ast::TemporalKind, b: &[u8]) -> Result<Expr, SqlError> {
        let wrong = |name: &str| {
            SqlError::new(
                codes::ER_WRONG_VALUE,
                format!("Incorrect {name} value: '{}'", String::from_utf8_lossy(b)),
            )
        };
        Ok(match kind {
            // A literal has the parts of its type, and no others.
            ast::TemporalKind::Date => match cast::temporal_constant(b, true, self.cx)? {
                v @ Val::Date(_) if !has_clock(b) => {
                    Expr::constant(v, ExprType::plain(Shape::Date, false))
                }
                _ => return Err(wrong("DATE")),
            },
            ast::TemporalKind::Time => {
                let p = Time::parse(b)
                    .filter(|p| !p.truncated && !p.clamped && !has_date(b))
                    .ok_or_else(|| wrong("TIME"))?;
                let fsp = p.value.fsp();
                Expr::constant(Val::Time(p.value), ExprType::plain(Shape::Time(fsp), false))
            }
            ast::TemporalKind::Timestamp => match cast::temporal_constant(b, false, self.cx)? {
                Val::DateTime(d) if has_clock(b) => Expr::constant(
                    Val::DateTime(d),
                    ExprType::plain(Shape::DateTime(d.fsp()), false),
                ),
                _ => return Err(wrong("DATETIME")),
            },
        })
    }
}

/// Whether the text of a date goes on with a time. Digits alone do from ten of them on.
fn has_clock(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    match text.iter().all(u8::is_ascii_digit) {
        true => text.len() > 8,
        false => {
            let parts = text.split(|b| !b.is_ascii_digit());
            parts.filter(|p| !p.is_empty()).count() > 3
        }
    }
}

/// Whether the text of a time begins with a date: it has more parts than days, a time and a fraction, or more digits than any time.
fn has_date(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let parts = text.split(|b| !b.is_ascii_digit());
    let parts = parts.filter(|p| !p.is_empty()).count();
    let dashed = text.iter().skip(1).any(|b| *b == b'-');
    dashed || parts > 5 || parts == 1 && text.len() >= 12
}

/// The bytes at a fault as error 1300 shows them.
fn hex(b: &[u8]) -> String {
    b.iter().take(3).map(|b| format!("{b:02X}")).collect()
}
