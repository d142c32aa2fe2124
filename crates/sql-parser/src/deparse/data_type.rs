//! Column types as text.

use std::fmt::{self, Display, Formatter};

use super::Printer;
use crate::ast::*;

impl Display for DataType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer::new(f, None).data_type(self)
    }
}

impl Printer<'_, '_, '_> {
    pub(super) fn data_type(&mut self, data_type: &DataType) -> fmt::Result {
        self.type_kind(&data_type.kind)?;
        if data_type.unsigned {
            self.text(" unsigned")?;
        }
        if data_type.zerofill {
            self.text(" zerofill")?;
        }
        if let Some(charset) = &data_type.charset {
            self.text(" character set ")?;
            self.charset(charset)?;
        }
        if data_type.binary {
            self.text(" binary")?;
        }
        Ok(())
    }

    fn type_kind(&mut self, kind: &TypeKind) -> fmt::Result {
        match kind {
            TypeKind::TinyInt(n) => self.sized("tinyint", *n),
            TypeKind::SmallInt(n) => self.sized("smallint", *n),
            TypeKind::MediumInt(n) => self.sized("mediumint", *n),
            TypeKind::Int(n) => self.sized("int", *n),
            TypeKind::BigInt(n) => self.sized("bigint", *n),
            TypeKind::Serial => self.text("serial"),
            TypeKind::Bool => self.text("bool"),
            TypeKind::Decimal(digits) => self.digits("decimal", *digits),
            TypeKind::Float(Some(FloatLength::Bits(n))) => self.sized("float", Some(*n)),
            TypeKind::Float(Some(FloatLength::Digits(m, d))) => {
                self.digits("float", Some((*m, *d)))
            }
            TypeKind::Float(None) => self.text("float"),
            TypeKind::Double(digits) => self.digits("double", *digits),
            TypeKind::Bit(n) => self.sized("bit", *n),
            TypeKind::Date => self.text("date"),
            TypeKind::Time(fsp) => self.sized("time", (*fsp > 0).then_some(*fsp)),
            TypeKind::Datetime(fsp) => self.sized("datetime", (*fsp > 0).then_some(*fsp)),
            TypeKind::Timestamp(fsp) => self.sized("timestamp", (*fsp > 0).then_some(*fsp)),
            TypeKind::Year(n) => self.sized("year", *n),
            TypeKind::Char(n) => self.sized("char", *n),
            TypeKind::VarChar(n) => self.sized("varchar", Some(*n)),
            TypeKind::Binary(n) => self.sized("binary", *n),
            TypeKind::VarBinary(n) => self.sized("varbinary", Some(*n)),
            TypeKind::TinyBlob => self.text("tinyblob"),
            TypeKind::Blob(n) => self.sized("blob", *n),
            TypeKind::MediumBlob => self.text("mediumblob"),
            TypeKind::LongBlob => self.text("longblob"),
            TypeKind::TinyText => self.text("tinytext"),
            TypeKind::Text(n) => self.sized("text", *n),
            TypeKind::MediumText => self.text("mediumtext"),
            TypeKind::LongText => self.text("longtext"),
            TypeKind::Enum(values) => self.values("enum", values),
            TypeKind::Set(values) => self.values("set", values),
            TypeKind::Json => self.text("json"),
            TypeKind::Geometry(name) => self.text(name),
        }
    }

    fn sized(&mut self, word: &str, size: Option<u64>) -> fmt::Result {
        self.text(word)?;
        match size {
            Some(n) => write!(self.out, "({n})"),
            None => Ok(()),
        }
    }

    fn digits(&mut self, word: &str, digits: Option<(u64, u64)>) -> fmt::Result {
        self.text(word)?;
        match digits {
            Some((m, d)) => write!(self.out, "({m},{d})"),
            None => Ok(()),
        }
    }

    fn values(&mut self, word: &str, values: &[Box<[u8]>]) -> fmt::Result {
        self.text(word)?;
        self.text("(")?;
        self.list(values, ",", |p, value| p.string(value))?;
        self.text(")")
    }
}
