//! What CAST makes of a value.

use types::charset::Charset;

/// Targets of CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastTo {
    /// SIGNED.
    Signed,
    /// UNSIGNED.
    Unsigned,
    /// DECIMAL(p, s).
    Decimal(u8, u8),
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// CHAR[(n)] of a character set.
    Char(Option<u32>, Charset),
    /// BINARY[(n)].
    Binary(Option<u32>),
    /// DATE.
    Date,
    /// TIME(fsp).
    Time(u8),
    /// DATETIME(fsp).
    DateTime(u8),
    /// YEAR.
    Year,
    /// JSON.
    Json,
}

impl CastTo {
    /// How warnings name it.
    pub const fn name(self) -> &'static str {
        match self {
            CastTo::Binary(_) => "cast_as_binary",
            CastTo::Json => "cast_as_json",
            _ => "cast_as_char",
        }
    }
}
