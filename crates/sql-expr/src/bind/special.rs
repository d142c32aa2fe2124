//! Expressions with a syntax of their own: CAST, COLLATE, dates with intervals, EXTRACT, TRIM, CHAR, JSON arrows.

use types::SqlError;
use types::charset::Charset;
use types::collation::CollationId;
use types::error::codes;
use types::temporal::IntervalUnit;

use super::Binder;
use super::literal;
use crate::arms::adopt;
use crate::collate::Collated;
use crate::func;
use crate::node::{CastTo, Expr, Node};
use crate::ty::{Coercibility, ExprType, IntKind, Shape};
use sql_parser::ast;

impl Binder<'_> {
    pub(super) fn special(&mut self, e: &ast::Expr) -> Result<Expr, SqlError> {
        use ast::Expr as A;
        match e {
            A::Cast(c) => self.cast(c),
            A::ConvertUsing(x, cs) => self.convert_using(x, cs),
            A::Collate(x, name) => self.collate(x, name),
            A::DateArith(d) => self.date_arith(d),
            A::Extract(unit, x) => {
                let x = self.bind(x)?;
                Ok(Expr {
                    ty: ExprType::int(extract_digits(*unit), true),
                    node: Node::Extract(*unit, Box::new(x)),
                })
            }
            A::TimestampDiff(d) => {
                let pair = [self.bind(&d.from)?, self.bind(&d.to)?];
                Ok(Expr {
                    node: Node::TimestampDiff(d.unit, Box::new(pair)),
                    ty: ExprType::int(21, true),
                })
            }
            A::Trim(t) => {
                let name = match t.side {
                    ast::TrimSide::Both => "trim",
                    ast::TrimSide::Leading => "ltrim",
                    ast::TrimSide::Trailing => "rtrim",
                };
                let mut args = vec![self.bind(&t.expr)?];
                if let Some(w) = &t.what {
                    args.push(self.bind(w)?);
                }
                self.function(name, args)
            }
            A::GetFormat(kind, x) => {
                let kind = match kind {
                    ast::FormatKind::Date => "date",
                    ast::FormatKind::Time => "time",
                    ast::FormatKind::Datetime => "datetime",
                };
                let x = self.bind(x)?;
                let kind = literal::text(kind.as_bytes().to_vec(), self.connection());
                self.function("get_format", vec![kind, x])
            }
            A::CharFn(c) => self.char_fn(c),
            A::WeightString(w) => {
                let mut x = self.bind(&w.expr)?;
                if let Some((binary, n)) = w.cast {
                    // Filled up or cut to a length without a warning; the collation stays.
                    let fill = if binary {
                        x = Self::cast_node(x, CastTo::Binary(None));
                        literal::text(vec![0], CollationId::BINARY)
                    } else {
                        literal::text(b" ".to_vec(), self.connection())
                    };
                    x = self.function("rpad", vec![x, literal::integer(n), fill])?;
                }
                self.function("weight_string", vec![x])
            }
            A::JsonArrow(j) => {
                let column = self.bind(&A::Column(j.column.clone()))?;
                let path = literal::text(j.path.to_vec(), self.connection());
                let x = self.function("json_extract", vec![column, path])?;
                if j.unquote {
                    self.function("json_unquote", vec![x])
                } else {
                    Ok(x)
                }
            }
            A::JsonValue(j) => self.json_value(j),
            A::MemberOf(x, doc) => {
                let args = vec![self.bind(x)?, self.bind(doc)?];
                self.function("json_member_of", args)
            }
            A::Match(_) => Err(SqlError::new(
                codes::ER_FT_MATCHING_KEY_NOT_FOUND,
                "Can't find FULLTEXT index matching the column list",
            )),
            A::Default => Err(SqlError::new(
                codes::ER_PARSE_ERROR,
                "DEFAULT is not allowed in this expression",
            )),
            _ => Err(SqlError::not_supported("this expression")),
        }
    }

    fn cast(&mut self, c: &ast::Cast) -> Result<Expr, SqlError> {
        let mut x = self.bind(&c.expr)?;
        if c.array {
            return Err(SqlError::not_supported(
                "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general expressions",
            ));
        }
        if c.at_time_zone.is_some() {
            return Err(SqlError::not_supported("AT TIME ZONE"));
        }
        // A hexadecimal or bit literal is a number to numbers, and text to times.
        if matches!(
            c.target,
            ast::CastType::Signed
                | ast::CastType::Unsigned
                | ast::CastType::Decimal { .. }
                | ast::CastType::Float
                | ast::CastType::Double
                | ast::CastType::Year
        ) {
            x.make_literal_number();
        }
        let to = self.cast_target(&c.target)?;
        let mut e = Self::cast_node(x, to);
        if let (CastTo::Char(..), ast::CastType::Char { charset: None, .. }) = (to, &c.target) {
            e.ty.collation = self.connection();
        }
        if let (CastTo::Char(..), ast::CastType::Char { binary: true, .. }) = (to, &c.target) {
            e.ty.collation = CollationId::bin_of(e.ty.charset());
        }
        Ok(e)
    }

    fn cast_target(&self, t: &ast::CastType) -> Result<CastTo, SqlError> {
        let limit = |n: &Option<u64>| n.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let fsp = |f: u8| {
            if f > 6 {
                Err(SqlError::new(
                    codes::ER_TOO_BIG_PRECISION,
                    format!("Too-big precision {f} specified for 'CAST'. Maximum is 6."),
                ))
            } else {
                Ok(f)
            }
        };
        Ok(match t {
            ast::CastType::Binary(n) => CastTo::Binary(limit(n)),
            ast::CastType::Char {
                length, charset, ..
            } => {
                let cs = match charset {
                    None => self.connection().charset(),
                    Some(name) => {
                        Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))?
                    }
                };
                match cs {
                    Charset::Binary => CastTo::Binary(limit(length)),
                    cs => CastTo::Char(limit(length), cs),
                }
            }
            ast::CastType::Signed => CastTo::Signed,
            ast::CastType::Unsigned => CastTo::Unsigned,
            ast::CastType::Date => CastTo::Date,
            ast::CastType::Time(f) => CastTo::Time(fsp(*f)?),
            ast::CastType::Datetime(f) => CastTo::DateTime(fsp(*f)?),
            ast::CastType::Year => CastTo::Year,
            ast::CastType::Decimal { precision, scale } => {
                let p = match (*precision, *scale) {
                    (0, 0) => 10,
                    (p, _) => p,
                };
                if *scale > 30 {
                    return Err(SqlError::new(
                        codes::ER_TOO_BIG_SCALE,
                        format!(
                            "Too big scale {scale} specified for column 'CAST'. Maximum is 30."
                        ),
                    ));
                }
                if p > 65 {
                    return Err(SqlError::new(
                        codes::ER_TOO_BIG_PRECISION,
                        format!("Too-big precision {p} specified for 'CAST'. Maximum is 65."),
                    ));
                }
                if *scale > p {
                    return Err(SqlError::new(
                        codes::ER_M_BIGGER_THAN_D,
                        "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '').",
                    ));
                }
                CastTo::Decimal(p as u8, *scale as u8)
            }
            ast::CastType::Float => CastTo::Float,
            ast::CastType::Double => CastTo::Double,
            ast::CastType::Json => CastTo::Json,
            ast::CastType::Geometry(_) => return Err(SqlError::not_supported("spatial types")),
        })
    }

    /// CAST of a bound expression.
    pub(super) fn cast_node(x: Expr, to: CastTo) -> Expr {
        let nullable = x.ty.nullable;
        let int = |unsigned| {
            ExprType::plain(
                Shape::Int {
                    kind: IntKind::Big,
                    unsigned,
                    digits: 21,
                },
                nullable,
            )
        };
        let ty = match to {
            CastTo::Signed => int(false),
            CastTo::Unsigned => int(true),
            CastTo::Decimal(p, s) => ExprType::decimal(p, s, nullable),
            CastTo::Float => ExprType::plain(
                Shape::Float {
                    scale: crate::ty::NOT_FIXED,
                },
                nullable,
            ),
            CastTo::Double => ExprType::double(nullable),
            CastTo::Char(n, cs) => ExprType::text(
                n.unwrap_or_else(|| x.ty.chars()),
                CollationId::default_of(cs),
                Coercibility::Implicit,
                true,
            ),
            CastTo::Binary(n) => {
                let bytes = x.ty.chars().saturating_mul(x.ty.charset().max_len() as u32);
                ExprType::bytes(n.unwrap_or(bytes), true)
            }
            CastTo::Date => ExprType::plain(Shape::Date, true),
            CastTo::Time(f) => ExprType::plain(Shape::Time(f), true),
            CastTo::DateTime(f) => ExprType::plain(Shape::DateTime(f), true),
            CastTo::Year => ExprType::plain(Shape::Year, true),
            CastTo::Json => func::json_type(nullable),
        };
        Expr {
            node: Node::Cast(Box::new(x), to),
            ty,
        }
    }

    fn convert_using(&mut self, x: &ast::Expr, cs: &str) -> Result<Expr, SqlError> {
        let x = self.bind(x)?;
        let cs = Charset::by_name(cs).ok_or_else(|| SqlError::unknown_charset(cs))?;
        let from = if x.ty.is_text() {
            x.ty.charset()
        } else {
            Charset::Ascii
        };
        let ty = ExprType::text(
            x.ty.chars(),
            CollationId::default_of(cs),
            Coercibility::Implicit,
            x.ty.nullable,
        );
        let node = if from == Charset::Binary && cs != Charset::Binary {
            Node::Cast(Box::new(x), CastTo::Char(None, cs))
        } else {
            Node::Transcode(Box::new(x), from, cs)
        };
        Ok(Expr { node, ty })
    }

    fn collate(&mut self, x: &ast::Expr, name: &str) -> Result<Expr, SqlError> {
        let mut x = self.bind(x)?;
        let collation = if name.eq_ignore_ascii_case("binary") {
            CollationId::bin_of(x.ty.charset())
        } else {
            CollationId::by_name(name).ok_or_else(|| SqlError::unknown_collation(name))?
        };
        if !x.ty.is_text() {
            let text = ExprType::text(
                x.ty.chars(),
                self.connection(),
                Coercibility::Literal,
                x.ty.nullable,
            )
            .ascii();
            adopt(&mut x, &text);
            x = x.coerced_to(&text, self.cx);
        }
        let words = x.ty.words_as_text();
        x = x.coerced_to(&words, self.cx);
        let cs = x.ty.charset();
        if cs != collation.charset() && x.ty.coercibility != Coercibility::Ignorable {
            return Err(SqlError::collation_mismatch(collation.name(), cs.name()));
        }
        let mut ty = x.ty;
        ty.bits = false;
        ty.collation = collation;
        ty.coercibility = Coercibility::Explicit;
        Ok(Expr {
            node: Node::Collate(Box::new(x)),
            ty,
        })
    }

    fn date_arith(&mut self, d: &ast::DateArith) -> Result<Expr, SqlError> {
        let date = self.bind(&d.date)?;
        let amount = self.bind(&d.amount)?;
        Ok(self.moved_date(date, amount, d.unit, d.subtract))
    }

    /// A date or time and an interval.
    pub(super) fn moved_date(
        &self,
        date: Expr,
        mut amount: Expr,
        unit: IntervalUnit,
        subtract: bool,
    ) -> Expr {
        if !unit.is_compound() {
            amount.make_number();
        }
        if matches!(amount.node, Node::Param(..)) {
            adopt(&mut amount, &ExprType::decimal(20, 6, true));
        }
        let fraction = if unit.has_micros() {
            6
        } else if unit == IntervalUnit::Second {
            match amount.ty.scale() {
                crate::ty::NOT_FIXED if amount.ty.is_text() || !amount.ty.is_number() => 6,
                crate::ty::NOT_FIXED => 6,
                s => s.min(6),
            }
        } else {
            0
        };
        let shape = match date.ty.shape {
            Shape::Date if unit.is_date_only() => Shape::Date,
            Shape::Date => Shape::DateTime(fraction),
            Shape::DateTime(f) | Shape::Timestamp(f) => Shape::DateTime(f.max(fraction)),
            Shape::Time(f) if !unit.is_date_only() => Shape::Time(f.max(fraction)),
            Shape::Time(f) => Shape::DateTime(f.max(fraction)),
            _ => Shape::Str {
                chars: 29,
                kind: crate::ty::StrKind::Var,
            },
        };
        let mut ty = ExprType::plain(shape, true);
        if ty.is_text() {
            let c = Collated {
                collation: self.connection(),
                coercibility: Coercibility::Literal,
                ascii: true,
            };
            ty.collation = c.collation;
            ty.coercibility = c.coercibility;
        }
        Expr {
            node: Node::DateArith(Box::new([date, amount]), unit, subtract),
            ty,
        }
    }

    fn char_fn(&mut self, c: &ast::CharFn) -> Result<Expr, SqlError> {
        let args = c
            .args
            .iter()
            .map(|a| self.bind(a).map(Expr::into_literal_number))
            .collect::<Result<Vec<_>, _>>()?;
        let mut e = self.function("char", args)?;
        if let Some(name) = &c.charset {
            let cs = Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))?;
            if cs != Charset::Binary {
                e = Self::cast_node(e, CastTo::Char(None, cs));
                e.ty.coercibility = Coercibility::Literal;
            }
        }
        Ok(e)
    }

    fn json_value(&mut self, j: &ast::JsonValue) -> Result<Expr, SqlError> {
        use func::json_value::on;
        let to = match &j.returning {
            None => CastTo::Char(Some(512), Charset::Utf8mb4),
            Some(t) => self.cast_target(t)?,
        };
        let mut args = vec![self.bind(&j.doc)?, self.bind(&j.path)?];
        for clause in [&j.on_empty, &j.on_error] {
            let (says, value) = match clause {
                None | Some(ast::JsonOn::Null) => (on::NULL, Expr::null()),
                Some(ast::JsonOn::Error) => (on::ERROR, Expr::null()),
                Some(ast::JsonOn::Default(d)) => (on::DEFAULT, self.bind(d)?),
            };
            let value = match says {
                on::DEFAULT => Self::cast_node(value, to),
                _ => value,
            };
            args.extend([literal::integer(says), value]);
        }
        let mut e = self.function("json_value", args)?;
        e.ty = Self::cast_node(Expr::null(), to).ty.or_null();
        if let (CastTo::Char(None, _) | CastTo::Binary(None), Shape::Str { chars, .. }) =
            (to, &mut e.ty.shape)
        {
            *chars = u32::MAX;
        }
        Ok(e)
    }
}

fn extract_digits(unit: IntervalUnit) -> u8 {
    use IntervalUnit as U;
    match unit {
        U::Year => 4,
        U::YearMonth => 6,
        U::Quarter | U::Month | U::Week | U::Day | U::Hour | U::Minute | U::Second => 3,
        U::DayHour | U::HourMinute | U::MinuteSecond => 5,
        U::Microsecond | U::DayMinute | U::HourSecond => 7,
        U::DaySecond | U::SecondMicrosecond => 9,
        _ => 21,
    }
}
