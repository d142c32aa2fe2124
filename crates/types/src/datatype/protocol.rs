//! What a column definition packet says of a type: type code, length, decimals, flags, character set.

use super::{DataType, IntWidth, LobSize};
use crate::collation::CollationId;

/// Type codes of the client/server protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum MysqlType {
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    Bit = 16,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    Blob = 252,
    VarString = 253,
    String = 254,
}

/// Flags of a column definition packet.
pub mod field_flags {
    /// The column is NOT NULL.
    pub const NOT_NULL: u16 = 1;
    /// Part of the primary key.
    pub const PRI_KEY: u16 = 2;
    /// Part of a unique key.
    pub const UNIQUE_KEY: u16 = 4;
    /// First part of a key that is not unique.
    pub const MULTIPLE_KEY: u16 = 8;
    /// TEXT or BLOB.
    pub const BLOB: u16 = 16;
    /// UNSIGNED.
    pub const UNSIGNED: u16 = 32;
    /// ZEROFILL.
    pub const ZEROFILL: u16 = 64;
    /// Binary collation.
    pub const BINARY: u16 = 128;
    /// ENUM.
    pub const ENUM: u16 = 256;
    /// AUTO_INCREMENT.
    pub const AUTO_INCREMENT: u16 = 512;
    /// TIMESTAMP.
    pub const TIMESTAMP: u16 = 1024;
    /// SET.
    pub const SET: u16 = 2048;
    /// NOT NULL without a default.
    pub const NO_DEFAULT_VALUE: u16 = 4096;
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub const ON_UPDATE_NOW: u16 = 8192;
    /// Part of some key.
    pub const PART_KEY: u16 = 16384;
    /// A number; client libraries set it themselves.
    pub const NUM: u16 = 32768;
}

impl DataType {
    /// Type code in a column definition packet (TEXT and BLOB of every size are sent as `Blob`, ENUM and SET as `String`).
    pub fn protocol_type(&self) -> MysqlType {
        match self {
            DataType::Null => MysqlType::Null,
            DataType::Int { width, .. } => match width {
                IntWidth::Tiny => MysqlType::Tiny,
                IntWidth::Small => MysqlType::Short,
                IntWidth::Medium => MysqlType::Int24,
                IntWidth::Int => MysqlType::Long,
                IntWidth::Big => MysqlType::LongLong,
            },
            DataType::Decimal { .. } => MysqlType::NewDecimal,
            DataType::Float { .. } => MysqlType::Float,
            DataType::Double { .. } => MysqlType::Double,
            DataType::Bit(_) => MysqlType::Bit,
            DataType::Char { .. } | DataType::Binary(_) | DataType::Enum(_) | DataType::Set(_) => {
                MysqlType::String
            }
            DataType::VarChar { .. } | DataType::VarBinary(_) => MysqlType::VarString,
            DataType::Text { .. } | DataType::Blob(_) => MysqlType::Blob,
            DataType::Date => MysqlType::Date,
            DataType::Time(_) => MysqlType::Time,
            DataType::DateTime(_) => MysqlType::DateTime,
            DataType::Timestamp(_) => MysqlType::Timestamp,
            DataType::Year => MysqlType::Year,
            DataType::Json => MysqlType::Json,
        }
    }

    /// Length in a column definition packet: bytes for strings in `result_collation`'s character set (the session's
    /// character_set_results), digits and sign for numbers.
    pub fn display_length(&self, result_collation: CollationId) -> u32 {
        let per_char = result_collation.charset().max_len() as u32;
        let fraction = |fsp: u8| if fsp == 0 { 0 } else { u32::from(fsp) + 1 };
        let lob = |size: &LobSize, width: u64| (size.max_bytes() * width).min(0xFFFF_FFFF) as u32;
        match self {
            DataType::Null => 0,
            DataType::Int {
                width,
                unsigned,
                display,
                ..
            } => u32::from(Self::int_display(*width, *unsigned, *display)),
            DataType::Decimal {
                precision,
                scale,
                unsigned,
                ..
            } => u32::from(*precision) + u32::from(*scale > 0) + u32::from(!*unsigned),
            DataType::Float { digits, .. } => digits.map_or(12, |(m, _)| u32::from(m)),
            DataType::Double { digits, .. } => digits.map_or(22, |(m, _)| u32::from(m)),
            DataType::Bit(n) => u32::from(*n),
            DataType::Char { chars, .. } | DataType::VarChar { chars, .. } => {
                chars.saturating_mul(per_char)
            }
            DataType::Binary(n) | DataType::VarBinary(n) => *n,
            // As if each of its bytes were a character: MySQL does not divide by what a character may take.
            DataType::Text { size, .. } => lob(size, u64::from(per_char)),
            DataType::Blob(size) => lob(size, 1),
            DataType::Json => u32::MAX,
            DataType::Date => 10,
            DataType::Time(f) => 10 + fraction(*f),
            DataType::DateTime(f) | DataType::Timestamp(f) => 19 + fraction(*f),
            DataType::Year => 4,
            DataType::Enum(l) => {
                let cs = l.collation.charset();
                let max = l.names.iter().map(|n| cs.char_count(n)).max().unwrap_or(0);
                (max as u32).saturating_mul(per_char)
            }
            DataType::Set(l) => {
                let cs = l.collation.charset();
                let sum: usize = l.names.iter().map(|n| cs.char_count(n)).sum();
                let sum = sum + l.names.len().saturating_sub(1);
                (sum as u32).saturating_mul(per_char)
            }
        }
    }

    /// Decimals in a column definition packet: 31 for a floating type without fixed digits.
    pub fn decimals(&self) -> u8 {
        match self {
            DataType::Decimal { scale, .. } => *scale,
            DataType::Float { digits, .. } | DataType::Double { digits, .. } => {
                digits.map_or(31, |(_, d)| d)
            }
            other => other.fsp(),
        }
    }

    /// The flags that follow from the type alone; the caller adds those of keys, nullability and defaults.
    pub fn type_flags(&self) -> u16 {
        use field_flags as f;
        let mut v = 0;
        match self {
            DataType::Int {
                unsigned, zerofill, ..
            }
            | DataType::Decimal {
                unsigned, zerofill, ..
            } => {
                v |= if *unsigned { f::UNSIGNED } else { 0 };
                v |= if *zerofill { f::ZEROFILL } else { 0 };
            }
            DataType::Float { unsigned, .. } | DataType::Double { unsigned, .. } => {
                v |= if *unsigned { f::UNSIGNED } else { 0 };
            }
            DataType::Bit(_) => v |= f::UNSIGNED,
            DataType::Year => v |= f::UNSIGNED | f::ZEROFILL,
            DataType::Text { .. } | DataType::Json => v |= f::BLOB,
            DataType::Blob(_) => v |= f::BLOB,
            DataType::Enum(_) => v |= f::ENUM,
            DataType::Set(_) => v |= f::SET,
            DataType::Timestamp(_) => v |= f::TIMESTAMP,
            _ => {}
        }
        let binary = match self {
            DataType::Null | DataType::Binary(_) | DataType::VarBinary(_) | DataType::Blob(_) => {
                true
            }
            DataType::Json => true,
            t if t.is_character() => t.collation().is_bin(),
            t => t.is_temporal(),
        };
        if binary {
            v |= f::BINARY;
        }
        v
    }

    /// Character set field of a column definition packet: the result collation for character data, else 63.
    pub fn protocol_charset(&self, result_collation: CollationId) -> u16 {
        if self.is_character() {
            result_collation.0
        } else {
            CollationId::BINARY.0
        }
    }
}
