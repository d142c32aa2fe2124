//! `CAST`, `CONVERT` and their target types.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    pub(super) fn cast_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let expr = self.expr()?;
        let mut at_time_zone = None;
        if self.eat(Kw::AT) {
            self.expect_all(&[Kw::TIME, Kw::ZONE])?;
            self.eat(Kw::INTERVAL);
            at_time_zone = Some(self.string()?);
        }
        self.expect(Kw::AS)?;
        let target = self.cast_type()?;
        let array = self.eat(Kw::ARRAY);
        self.need(T::RParen)?;
        Ok(Expr::Cast(Box::new(Cast {
            expr,
            target,
            array,
            at_time_zone,
        })))
    }

    pub(super) fn convert_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let expr = self.expr()?;
        if self.eat(Kw::USING) {
            let charset = self.charset_name()?;
            self.need(T::RParen)?;
            return Ok(Expr::ConvertUsing(Box::new(expr), charset));
        }
        self.need(T::Comma)?;
        let target = self.cast_type()?;
        self.need(T::RParen)?;
        Ok(Expr::Cast(Box::new(Cast {
            expr,
            target,
            array: false,
            at_time_zone: None,
        })))
    }

    /// The target of a `CAST`.
    pub fn cast_type(&mut self) -> R<CastType> {
        let kw = self.tok.kw;
        let start = self.tok;
        if kw == Kw::NONE {
            return self.fail();
        }
        self.bump();
        Ok(match kw {
            Kw::BINARY => CastType::Binary(self.opt_parens_number()?),
            Kw::CHAR | Kw::CHARACTER => {
                let length = self.opt_parens_number()?;
                let (charset, binary) = self.cast_charset()?;
                CastType::Char {
                    length,
                    charset,
                    binary,
                }
            }
            Kw::NCHAR => CastType::Char {
                length: self.opt_parens_number()?,
                charset: Some("utf8mb3".into()),
                binary: self.eat(Kw::BINARY),
            },
            Kw::NATIONAL if self.at_any(&[Kw::CHAR, Kw::CHARACTER]) => {
                self.bump();
                CastType::Char {
                    length: self.opt_parens_number()?,
                    charset: Some("utf8mb3".into()),
                    binary: self.eat(Kw::BINARY),
                }
            }
            Kw::SIGNED => {
                let _ = self.eat(Kw::INTEGER) || self.eat(Kw::INT);
                CastType::Signed
            }
            Kw::UNSIGNED => {
                let _ = self.eat(Kw::INTEGER) || self.eat(Kw::INT);
                CastType::Unsigned
            }
            Kw::DATE => CastType::Date,
            Kw::TIME => CastType::Time(self.fsp()? as u8),
            Kw::DATETIME => CastType::Datetime(self.fsp()? as u8),
            Kw::YEAR => CastType::Year,
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC => self.cast_decimal()?,
            Kw::FLOAT => match self.opt_parens_number()? {
                Some(25..) => CastType::Double,
                _ => CastType::Float,
            },
            Kw::DOUBLE => {
                self.eat(Kw::PRECISION);
                CastType::Double
            }
            Kw::REAL if self.options.real_as_float => CastType::Float,
            Kw::REAL => CastType::Double,
            Kw::JSON => CastType::Json,
            Kw::GEOMETRY
            | Kw::POINT
            | Kw::LINESTRING
            | Kw::POLYGON
            | Kw::MULTIPOINT
            | Kw::MULTILINESTRING
            | Kw::MULTIPOLYGON
            | Kw::GEOMETRYCOLLECTION
            | Kw::GEOMCOLLECTION => {
                let name = String::from_utf8_lossy(self.slice(start)).to_ascii_lowercase();
                CastType::Geometry(name.into())
            }
            _ => return Err(self.syntax_error(start.start)),
        })
    }

    /// `CHARACTER SET cs`, `ASCII`, `UNICODE`, `BYTE`, with `BINARY` behind or in front of it, behind `CAST(.. AS CHAR`.
    fn cast_charset(&mut self) -> R<(Option<Name>, bool)> {
        let before = self.eat(Kw::BINARY);
        let charset = if self.eat_charset() {
            Some(self.charset_name()?)
        } else {
            let name = match self.kw() {
                Kw::ASCII => Some("latin1"),
                Kw::UNICODE => Some("ucs2"),
                // It says all by itself.
                Kw::BYTE if !before => Some("binary"),
                _ => None,
            };
            if name.is_some() {
                self.bump();
            }
            name.map(Name::from)
        };
        let behind = !before && charset.is_some() && self.eat(Kw::BINARY);
        Ok((charset, before || behind))
    }

    fn cast_decimal(&mut self) -> R<CastType> {
        let (mut precision, mut scale) = (10, 0);
        if self.take(T::LParen) {
            precision = self.number()?.min(u64::from(u32::MAX)) as u32;
            if self.take(T::Comma) {
                scale = self.number()?.min(u64::from(u32::MAX)) as u32;
            }
            self.need(T::RParen)?;
        }
        Ok(CastType::Decimal { precision, scale })
    }

    /// A fractional seconds precision in parentheses; 0 where not written.
    pub fn fsp(&mut self) -> R<u64> {
        Ok(self.opt_parens_number()?.unwrap_or(0).min(255))
    }
}
