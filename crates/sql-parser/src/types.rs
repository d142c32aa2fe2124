//! Column types.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// A column's type with `UNSIGNED`, `ZEROFILL`, `CHARACTER SET`, `BINARY`.
    pub fn data_type(&mut self) -> R<DataType> {
        let start = self.tok;
        let kw = start.kw;
        if kw == Kw::NONE {
            return self.fail();
        }
        self.bump();
        if let Some(kind) = self.numeric_type(kw)? {
            return self.number_options(kind);
        }
        if let Some(kind) = self.plain_type(kw)? {
            return Ok(plain(kind));
        }
        if let Some((kind, charset)) = self.text_type(kw)? {
            return self.text_options(kind, charset);
        }
        Err(self.syntax_error(start.start))
    }

    fn numeric_type(&mut self, kw: Kw) -> R<Option<TypeKind>> {
        Ok(Some(match kw {
            Kw::INT | Kw::INTEGER | Kw::INT4 => TypeKind::Int(self.opt_parens_number()?),
            Kw::BIGINT | Kw::INT8 => TypeKind::BigInt(self.opt_parens_number()?),
            Kw::TINYINT | Kw::INT1 => TypeKind::TinyInt(self.opt_parens_number()?),
            Kw::SMALLINT | Kw::INT2 => TypeKind::SmallInt(self.opt_parens_number()?),
            Kw::MEDIUMINT | Kw::INT3 | Kw::MIDDLEINT => {
                TypeKind::MediumInt(self.opt_parens_number()?)
            }
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED => {
                TypeKind::Decimal(self.opt_digits()?.map(|(m, d)| (m, d.unwrap_or(0))))
            }
            Kw::FLOAT | Kw::FLOAT4 => self.float_type()?,
            Kw::REAL if self.options.real_as_float => self.float_type()?,
            Kw::REAL | Kw::DOUBLE | Kw::FLOAT8 => {
                self.eat(Kw::PRECISION);
                match self.opt_digits()? {
                    None => TypeKind::Double(None),
                    Some((m, Some(d))) => TypeKind::Double(Some((m, d))),
                    // `DOUBLE(5)` is not in the grammar.
                    Some((_, None)) => return Err(self.syntax_error(self.last_end - 1)),
                }
            }
            _ => return Ok(None),
        }))
    }

    fn float_type(&mut self) -> R<TypeKind> {
        Ok(TypeKind::Float(self.opt_digits()?.map(
            |digits| match digits {
                (m, Some(d)) => FloatLength::Digits(m, d),
                (p, None) => FloatLength::Bits(p),
            },
        )))
    }

    /// `(m)`, `(m, d)`, or nothing.
    fn opt_digits(&mut self) -> R<Option<(u64, Option<u64>)>> {
        if !self.take(T::LParen) {
            return Ok(None);
        }
        let m = self.number()?;
        let d = if self.take(T::Comma) {
            Some(self.number()?)
        } else {
            None
        };
        self.need(T::RParen)?;
        Ok(Some((m, d)))
    }

    fn number_options(&mut self, kind: TypeKind) -> R<DataType> {
        let mut data_type = plain(kind);
        loop {
            match self.kw() {
                Kw::UNSIGNED => data_type.unsigned = true,
                Kw::SIGNED => {}
                Kw::ZEROFILL => {
                    data_type.zerofill = true;
                    data_type.unsigned = true;
                }
                _ => return Ok(data_type),
            }
            self.bump();
        }
    }

    /// Types without options.
    fn plain_type(&mut self, kw: Kw) -> R<Option<TypeKind>> {
        Ok(Some(match kw {
            Kw::BIT => TypeKind::Bit(self.opt_parens_number()?),
            Kw::BOOL | Kw::BOOLEAN => TypeKind::Bool,
            Kw::SERIAL => TypeKind::Serial,
            Kw::DATE => TypeKind::Date,
            Kw::TIME => TypeKind::Time(self.fsp()?),
            Kw::DATETIME => TypeKind::Datetime(self.fsp()?),
            Kw::TIMESTAMP => TypeKind::Timestamp(self.fsp()?),
            Kw::YEAR => {
                let width = self.opt_parens_number()?;
                while self.eat(Kw::UNSIGNED) || self.eat(Kw::SIGNED) || self.eat(Kw::ZEROFILL) {}
                TypeKind::Year(width)
            }
            Kw::BINARY => TypeKind::Binary(self.opt_parens_number()?),
            Kw::VARBINARY => TypeKind::VarBinary(self.parens_number()?),
            Kw::TINYBLOB => TypeKind::TinyBlob,
            Kw::BLOB => TypeKind::Blob(self.opt_parens_number()?),
            Kw::MEDIUMBLOB => TypeKind::MediumBlob,
            Kw::LONGBLOB => TypeKind::LongBlob,
            Kw::LONG if self.eat(Kw::VARBINARY) => TypeKind::MediumBlob,
            Kw::JSON => TypeKind::Json,
            Kw::GEOMETRY => geometry("geometry"),
            Kw::POINT => geometry("point"),
            Kw::LINESTRING => geometry("linestring"),
            Kw::POLYGON => geometry("polygon"),
            Kw::MULTIPOINT => geometry("multipoint"),
            Kw::MULTILINESTRING => geometry("multilinestring"),
            Kw::MULTIPOLYGON => geometry("multipolygon"),
            Kw::GEOMETRYCOLLECTION | Kw::GEOMCOLLECTION => geometry("geomcollection"),
            _ => return Ok(None),
        }))
    }

    /// Types with a character set; the one the word itself implies.
    fn text_type(&mut self, kw: Kw) -> R<Option<(TypeKind, Option<Name>)>> {
        let kind = match kw {
            Kw::CHAR | Kw::CHARACTER if self.eat(Kw::VARYING) => {
                TypeKind::VarChar(self.parens_number()?)
            }
            Kw::CHAR | Kw::CHARACTER => TypeKind::Char(self.opt_parens_number()?),
            Kw::VARCHAR | Kw::VARCHARACTER => TypeKind::VarChar(self.parens_number()?),
            Kw::NCHAR | Kw::NVARCHAR | Kw::NATIONAL => {
                let kind = self.national_type(kw)?;
                return Ok(Some((kind, Some("utf8mb3".into()))));
            }
            Kw::TINYTEXT => TypeKind::TinyText,
            Kw::TEXT => TypeKind::Text(self.opt_parens_number()?),
            Kw::MEDIUMTEXT => TypeKind::MediumText,
            Kw::LONGTEXT => TypeKind::LongText,
            Kw::LONG => {
                if self.at_any(&[Kw::CHAR, Kw::CHARACTER]) {
                    self.bump();
                    self.expect(Kw::VARYING)?;
                } else {
                    let _ = self.eat(Kw::VARCHAR) || self.eat(Kw::VARCHARACTER);
                }
                TypeKind::MediumText
            }
            Kw::ENUM => TypeKind::Enum(self.parens_list(Self::text_string)?),
            Kw::SET => TypeKind::Set(self.parens_list(Self::text_string)?),
            _ => return Ok(None),
        };
        Ok(Some((kind, None)))
    }

    /// `NCHAR ..`, `NVARCHAR ..`, `NATIONAL ..` behind the first word.
    fn national_type(&mut self, kw: Kw) -> R<TypeKind> {
        let mut varying = kw == Kw::NVARCHAR;
        match kw {
            Kw::NATIONAL if self.eat(Kw::VARCHAR) || self.eat(Kw::VARCHARACTER) => varying = true,
            Kw::NATIONAL => {
                if !self.eat(Kw::CHAR) {
                    self.expect(Kw::CHARACTER)?;
                }
                varying = self.eat(Kw::VARYING);
            }
            Kw::NCHAR => {
                varying =
                    self.eat(Kw::VARYING) || self.eat(Kw::VARCHAR) || self.eat(Kw::VARCHARACTER);
            }
            _ => {}
        }
        if varying {
            return Ok(TypeKind::VarChar(self.parens_number()?));
        }
        Ok(TypeKind::Char(self.opt_parens_number()?))
    }

    fn text_options(&mut self, kind: TypeKind, charset: Option<Name>) -> R<DataType> {
        let mut data_type = plain(kind);
        data_type.charset = charset;
        loop {
            if self.eat_charset() {
                data_type.charset = Some(self.charset_name()?);
                continue;
            }
            match self.kw() {
                Kw::BINARY => data_type.binary = true,
                Kw::ASCII => data_type.charset = Some("latin1".into()),
                Kw::UNICODE => data_type.charset = Some("ucs2".into()),
                Kw::BYTE => data_type.charset = Some("binary".into()),
                _ => return Ok(data_type),
            }
            self.bump();
        }
    }
}

fn plain(kind: TypeKind) -> DataType {
    DataType {
        kind,
        unsigned: false,
        zerofill: false,
        charset: None,
        binary: false,
    }
}

fn geometry(name: &str) -> TypeKind {
    TypeKind::Geometry(name.into())
}
