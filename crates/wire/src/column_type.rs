//! Column types and flags as they stand in column definitions and parameter types.

pub use types::datatype::field_flags::*;

/// The type byte of a column or parameter (`MYSQL_TYPE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ColumnType {
    /// DECIMAL of servers before 5.0.
    OldDecimal = 0,
    /// TINYINT.
    Tiny = 1,
    /// SMALLINT.
    Short = 2,
    /// INT.
    Long = 3,
    /// FLOAT.
    Float = 4,
    /// DOUBLE.
    Double = 5,
    /// NULL.
    Null = 6,
    /// TIMESTAMP.
    Timestamp = 7,
    /// BIGINT.
    LongLong = 8,
    /// MEDIUMINT.
    Int24 = 9,
    /// DATE.
    Date = 10,
    /// TIME.
    Time = 11,
    /// DATETIME.
    DateTime = 12,
    /// YEAR.
    Year = 13,
    /// DATE inside a server; never sent by one.
    NewDate = 14,
    /// VARCHAR; sent only by clients, servers send [`ColumnType::VarString`].
    VarChar = 15,
    /// BIT.
    Bit = 16,
    /// TIMESTAMP with fraction inside a server; never sent.
    Timestamp2 = 17,
    /// DATETIME with fraction inside a server; never sent.
    DateTime2 = 18,
    /// TIME with fraction inside a server; never sent.
    Time2 = 19,
    /// VECTOR (9.0).
    Vector = 242,
    /// Type not known when the column was described.
    Invalid = 243,
    /// BOOLEAN placeholder; never sent.
    Bool = 244,
    /// JSON.
    Json = 245,
    /// DECIMAL.
    NewDecimal = 246,
    /// ENUM; servers send [`ColumnType::String`] with the ENUM flag.
    Enum = 247,
    /// SET; servers send [`ColumnType::String`] with the SET flag.
    Set = 248,
    /// TINYBLOB, TINYTEXT.
    TinyBlob = 249,
    /// MEDIUMBLOB, MEDIUMTEXT.
    MediumBlob = 250,
    /// LONGBLOB, LONGTEXT.
    LongBlob = 251,
    /// BLOB and TEXT of every size, as servers send them.
    Blob = 252,
    /// VARCHAR and VARBINARY, as servers send them.
    VarString = 253,
    /// CHAR, BINARY, ENUM, SET.
    String = 254,
    /// Spatial types.
    Geometry = 255,
}

impl ColumnType {
    /// The type of a byte from the wire; `None` for a number MySQL does not use.
    pub const fn from_u8(byte: u8) -> Option<ColumnType> {
        use ColumnType::*;
        Some(match byte {
            0 => OldDecimal,
            1 => Tiny,
            2 => Short,
            3 => Long,
            4 => Float,
            5 => Double,
            6 => Null,
            7 => Timestamp,
            8 => LongLong,
            9 => Int24,
            10 => Date,
            11 => Time,
            12 => DateTime,
            13 => Year,
            14 => NewDate,
            15 => VarChar,
            16 => Bit,
            17 => Timestamp2,
            18 => DateTime2,
            19 => Time2,
            242 => Vector,
            243 => Invalid,
            244 => Bool,
            245 => Json,
            246 => NewDecimal,
            247 => Enum,
            248 => Set,
            249 => TinyBlob,
            250 => MediumBlob,
            251 => LongBlob,
            252 => Blob,
            253 => VarString,
            254 => String,
            255 => Geometry,
            _ => return None,
        })
    }
}

/// The collation id of `binary`: numbers, dates and BLOBs are sent with it.
pub const BINARY_COLLATION: u16 = 63;
/// The collation id of `utf8mb4_0900_ai_ci`, MySQL 8.0's default.
pub const UTF8MB4_0900_AI_CI: u16 = 255;
/// `decimals` of a FLOAT or DOUBLE without a fixed number of them.
pub const NOT_FIXED_DECIMALS: u8 = 31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        let known = (0..=255u8).filter(|&byte| match ColumnType::from_u8(byte) {
            Some(kind) => {
                assert_eq!(kind as u8, byte);
                true
            }
            None => false,
        });
        assert_eq!(known.count(), 34);
    }
}
