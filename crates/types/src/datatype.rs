//! Column types: what a column can hold, how it is shown, what a client is told about it.
//!
//! A [`DataType`] says nothing of nullability, defaults or keys: the catalog keeps those beside it.

mod codec;
mod protocol;
mod show;

pub use protocol::{MysqlType, field_flags};
pub use show::{write_hex, write_literal};

use crate::collation::CollationId;
use std::sync::Arc;

/// Width of an integer column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntWidth {
    /// TINYINT, 1 byte.
    Tiny,
    /// SMALLINT, 2 bytes.
    Small,
    /// MEDIUMINT, 3 bytes.
    Medium,
    /// INT, 4 bytes.
    Int,
    /// BIGINT, 8 bytes.
    Big,
}

impl IntWidth {
    /// Bytes of a stored value.
    #[inline]
    pub const fn bytes(self) -> usize {
        match self {
            IntWidth::Tiny => 1,
            IntWidth::Small => 2,
            IntWidth::Medium => 3,
            IntWidth::Int => 4,
            IntWidth::Big => 8,
        }
    }

    /// Smallest and largest signed value.
    #[inline]
    pub const fn signed_range(self) -> (i64, i64) {
        let bits = self.bytes() as u32 * 8;
        let max = i64::MAX >> (64 - bits);
        (-max - 1, max)
    }

    /// Largest unsigned value.
    #[inline]
    pub const fn unsigned_max(self) -> u64 {
        u64::MAX >> (64 - self.bytes() as u32 * 8)
    }
}

/// Size class of a TEXT or BLOB column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LobSize {
    /// Up to 255 bytes.
    Tiny,
    /// Up to 65,535 bytes.
    Normal,
    /// Up to 2^24 − 1 bytes.
    Medium,
    /// Up to 2^32 − 1 bytes.
    Long,
}

impl LobSize {
    /// Most bytes of a value.
    pub const fn max_bytes(self) -> u64 {
        match self {
            LobSize::Tiny => 0xFF,
            LobSize::Normal => 0xFFFF,
            LobSize::Medium => 0xFF_FFFF,
            LobSize::Long => 0xFFFF_FFFF,
        }
    }

    /// The smallest class that holds `bytes` bytes (what `TEXT(n)` and `BLOB(n)` choose).
    pub const fn for_bytes(bytes: u64) -> LobSize {
        match bytes {
            0..=0xFF => LobSize::Tiny,
            0x100..=0xFFFF => LobSize::Normal,
            0x1_0000..=0xFF_FFFF => LobSize::Medium,
            _ => LobSize::Long,
        }
    }
}

/// The members of an ENUM or SET, in the column's character set and order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Labels {
    /// Member texts; number 1 of an ENUM is index 0 here.
    pub names: Vec<Box<[u8]>>,
    /// Collation by which values are matched and compared.
    pub collation: CollationId,
}

impl Labels {
    /// Text of an ENUM number; empty for 0 and for numbers past the end.
    #[inline]
    pub fn name(&self, number: u16) -> &[u8] {
        match usize::from(number)
            .checked_sub(1)
            .and_then(|i| self.names.get(i))
        {
            Some(n) => n,
            None => b"",
        }
    }

    /// ENUM number of a text under the collation; `None` if there is no such member.
    pub fn find(&self, text: &[u8]) -> Option<u16> {
        self.names
            .iter()
            .position(|n| self.collation.equal(n, text))
            .map(|i| i as u16 + 1)
    }

    /// Appends a SET's members joined by commas.
    pub fn write_set(&self, bits: u64, out: &mut Vec<u8>) {
        let mut first = true;
        for (i, n) in self.names.iter().enumerate().take(64) {
            if bits >> i & 1 != 0 {
                if !first {
                    out.push(b',');
                }
                first = false;
                out.extend_from_slice(n);
            }
        }
    }

    /// All bits of a SET of this many members.
    pub fn all_bits(&self) -> u64 {
        match self.names.len() {
            0 => 0,
            n if n >= 64 => u64::MAX,
            n => (1 << n) - 1,
        }
    }
}

/// The type of a column or of an expression's result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DataType {
    /// Type of the literal NULL.
    Null,
    /// TINYINT … BIGINT.
    Int {
        /// Stored width.
        width: IntWidth,
        /// UNSIGNED.
        unsigned: bool,
        /// ZEROFILL (implies UNSIGNED).
        zerofill: bool,
        /// Display width of `INT(n)`; 0 if not given. Only `tinyint(1)` and ZEROFILL columns show it.
        display: u8,
    },
    /// DECIMAL(precision, scale).
    Decimal {
        /// Digits in all, 1–65.
        precision: u8,
        /// Digits after the point, 0–30.
        scale: u8,
        /// UNSIGNED.
        unsigned: bool,
        /// ZEROFILL.
        zerofill: bool,
    },
    /// FLOAT, 4 bytes.
    Float {
        /// UNSIGNED.
        unsigned: bool,
        /// The (M, D) of `FLOAT(M,D)`.
        digits: Option<(u8, u8)>,
    },
    /// DOUBLE, 8 bytes.
    Double {
        /// UNSIGNED.
        unsigned: bool,
        /// The (M, D) of `DOUBLE(M,D)`.
        digits: Option<(u8, u8)>,
    },
    /// BIT(1–64).
    Bit(u8),
    /// CHAR(chars).
    Char {
        /// Most characters, 0–255.
        chars: u32,
        /// Collation, and through it the character set.
        collation: CollationId,
    },
    /// VARCHAR(chars).
    VarChar {
        /// Most characters, 0–65,535.
        chars: u32,
        /// Collation, and through it the character set.
        collation: CollationId,
    },
    /// BINARY(bytes), values padded with zero bytes.
    Binary(u32),
    /// VARBINARY(bytes).
    VarBinary(u32),
    /// TINYTEXT … LONGTEXT.
    Text {
        /// Size class.
        size: LobSize,
        /// Collation, and through it the character set.
        collation: CollationId,
    },
    /// TINYBLOB … LONGBLOB.
    Blob(LobSize),
    /// DATE.
    Date,
    /// TIME(fsp).
    Time(u8),
    /// DATETIME(fsp).
    DateTime(u8),
    /// TIMESTAMP(fsp); values are UTC.
    Timestamp(u8),
    /// YEAR; values are integers 0 and 1901–2155.
    Year,
    /// ENUM.
    Enum(Arc<Labels>),
    /// SET.
    Set(Arc<Labels>),
    /// JSON, kept as utf8mb4 text for now.
    Json,
}

impl DataType {
    /// BIGINT, the type of integer literals.
    pub const BIGINT: DataType = DataType::int(IntWidth::Big, false);
    /// BIGINT UNSIGNED.
    pub const UBIGINT: DataType = DataType::int(IntWidth::Big, true);
    /// INT.
    pub const INT: DataType = DataType::int(IntWidth::Int, false);
    /// DOUBLE.
    pub const DOUBLE: DataType = DataType::Double {
        unsigned: false,
        digits: None,
    };

    /// An integer type without display width.
    pub const fn int(width: IntWidth, unsigned: bool) -> DataType {
        DataType::Int {
            width,
            unsigned,
            zerofill: false,
            display: 0,
        }
    }

    /// A signed DECIMAL.
    pub const fn decimal(precision: u8, scale: u8) -> DataType {
        DataType::Decimal {
            precision,
            scale,
            unsigned: false,
            zerofill: false,
        }
    }

    /// A VARCHAR.
    pub const fn varchar(chars: u32, collation: CollationId) -> DataType {
        DataType::VarChar { chars, collation }
    }

    /// UNSIGNED numeric type (YEAR and BIT count as unsigned).
    pub fn is_unsigned(&self) -> bool {
        match self {
            DataType::Int { unsigned, .. }
            | DataType::Decimal { unsigned, .. }
            | DataType::Float { unsigned, .. }
            | DataType::Double { unsigned, .. } => *unsigned,
            DataType::Bit(_) | DataType::Year => true,
            _ => false,
        }
    }

    /// An integer type, YEAR or BIT.
    pub fn is_integer(&self) -> bool {
        matches!(
            self,
            DataType::Int { .. } | DataType::Bit(_) | DataType::Year
        )
    }

    /// A type whose values are numbers.
    pub fn is_numeric(&self) -> bool {
        self.is_integer()
            || matches!(
                self,
                DataType::Decimal { .. } | DataType::Float { .. } | DataType::Double { .. }
            )
    }

    /// DATE, TIME, DATETIME or TIMESTAMP.
    pub fn is_temporal(&self) -> bool {
        matches!(
            self,
            DataType::Date | DataType::Time(_) | DataType::DateTime(_) | DataType::Timestamp(_)
        )
    }

    /// CHAR, VARCHAR, TEXT, ENUM, SET or JSON.
    pub fn is_character(&self) -> bool {
        matches!(
            self,
            DataType::Char { .. }
                | DataType::VarChar { .. }
                | DataType::Text { .. }
                | DataType::Enum(_)
                | DataType::Set(_)
                | DataType::Json
        )
    }

    /// A character or byte string, ENUM and SET included.
    pub fn is_string(&self) -> bool {
        self.is_character()
            || matches!(
                self,
                DataType::Binary(_) | DataType::VarBinary(_) | DataType::Blob(_)
            )
    }

    /// TEXT, BLOB or JSON: an index needs a prefix length, a default is not allowed.
    pub fn is_lob(&self) -> bool {
        matches!(
            self,
            DataType::Text { .. } | DataType::Blob(_) | DataType::Json
        )
    }

    /// Collation of the values: `binary` for anything that is not a character string.
    #[inline]
    pub fn collation(&self) -> CollationId {
        match self {
            DataType::Char { collation, .. }
            | DataType::VarChar { collation, .. }
            | DataType::Text { collation, .. } => *collation,
            DataType::Enum(l) | DataType::Set(l) => l.collation,
            DataType::Json => CollationId::UTF8MB4_BIN,
            _ => CollationId::BINARY,
        }
    }

    /// Digits of the fraction of a temporal type, else 0.
    pub fn fsp(&self) -> u8 {
        match self {
            DataType::Time(f) | DataType::DateTime(f) | DataType::Timestamp(f) => *f,
            _ => 0,
        }
    }

    /// Most bytes a value takes as stored, lobs included.
    pub fn max_bytes(&self) -> u64 {
        match self {
            DataType::Char { chars, collation } | DataType::VarChar { chars, collation } => {
                u64::from(*chars) * collation.charset().max_len() as u64
            }
            DataType::VarBinary(n) => u64::from(*n),
            DataType::Text { size, .. } | DataType::Blob(size) => size.max_bytes(),
            DataType::Json => LobSize::Long.max_bytes(),
            other => crate::rowfield::fixed_width(other).unwrap_or(0) as u64,
        }
    }
}

#[cfg(test)]
mod tests;
