//! `sql_mode`: its bits, the combination words, parsing and printing. Bits and order are MySQL's, since
//! clients set the mode by number too (mysqlbinlog does).

use std::fmt;

/// The set of SQL modes of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SqlMode(u64);

/// Bits of servers before MySQL 8.0 that a number may still have, and that mean nothing: mysqlbinlog writes modes as numbers. NO_AUTO_CREATE_USER
/// is one of them, and as a word it is refused.
const IGNORED: u64 = 0x3_FF00 | 1 << 28;

/// Names by bit; an empty name is a bit that MySQL no longer accepts.
const NAMES: [&str; 33] = [
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
];

macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident = $bit:expr;)*) => {
        impl SqlMode { $($(#[$doc])* pub const $name: SqlMode = SqlMode(1 << $bit);)* }
    };
}

modes! {
    /// REAL means FLOAT.
    REAL_AS_FLOAT = 0;
    /// `||` concatenates.
    PIPES_AS_CONCAT = 1;
    /// Double quotes quote identifiers.
    ANSI_QUOTES = 2;
    /// Spaces may stand between a function's name and its bracket.
    IGNORE_SPACE = 3;
    /// Columns outside GROUP BY must depend on it.
    ONLY_FULL_GROUP_BY = 5;
    /// Unsigned minus unsigned is signed.
    NO_UNSIGNED_SUBTRACTION = 6;
    /// DIRECTORY options are ignored.
    NO_DIR_IN_CREATE = 7;
    /// The ANSI combination.
    ANSI = 18;
    /// Zero in an AUTO_INCREMENT column stays zero.
    NO_AUTO_VALUE_ON_ZERO = 19;
    /// The backslash is an ordinary character.
    NO_BACKSLASH_ESCAPES = 20;
    /// Bad values are errors for transactional tables.
    STRICT_TRANS_TABLES = 21;
    /// Bad values are errors for all tables.
    STRICT_ALL_TABLES = 22;
    /// A zero month or day is refused.
    NO_ZERO_IN_DATE = 23;
    /// The zero date is refused.
    NO_ZERO_DATE = 24;
    /// Days up to 31 in every month.
    ALLOW_INVALID_DATES = 25;
    /// Division by zero warns, or fails in strict mode.
    ERROR_FOR_DIVISION_BY_ZERO = 26;
    /// The TRADITIONAL combination.
    TRADITIONAL = 27;
    /// NOT binds as tightly as `!`.
    HIGH_NOT_PRECEDENCE = 29;
    /// An unknown engine is an error.
    NO_ENGINE_SUBSTITUTION = 30;
    /// CHAR values keep their padding.
    PAD_CHAR_TO_FULL_LENGTH = 31;
    /// Fractional seconds are cut rather than rounded.
    TIME_TRUNCATE_FRACTIONAL = 32;
}

impl SqlMode {
    /// MySQL 8.0's default.
    pub const DEFAULT: SqlMode = SqlMode(
        Self::ONLY_FULL_GROUP_BY.0
            | Self::STRICT_TRANS_TABLES.0
            | Self::NO_ZERO_IN_DATE.0
            | Self::NO_ZERO_DATE.0
            | Self::ERROR_FOR_DIVISION_BY_ZERO.0
            | Self::NO_ENGINE_SUBSTITUTION.0,
    );

    /// From a mask, with the combinations spelled out.
    pub const fn from_bits(bits: u64) -> SqlMode {
        let mut mode = bits;
        if mode & Self::ANSI.0 != 0 {
            mode |= Self::REAL_AS_FLOAT.0
                | Self::PIPES_AS_CONCAT.0
                | Self::ANSI_QUOTES.0
                | Self::IGNORE_SPACE.0
                | Self::ONLY_FULL_GROUP_BY.0;
        }
        if mode & Self::TRADITIONAL.0 != 0 {
            mode |= Self::STRICT_TRANS_TABLES.0
                | Self::STRICT_ALL_TABLES.0
                | Self::NO_ZERO_IN_DATE.0
                | Self::NO_ZERO_DATE.0
                | Self::ERROR_FOR_DIVISION_BY_ZERO.0
                | Self::NO_ENGINE_SUBSTITUTION.0;
        }
        SqlMode(mode)
    }

    /// The mask.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether every mode of `other` is on.
    pub const fn has(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether bad values are errors (either strict mode).
    pub const fn strict(self) -> bool {
        self.0 & (Self::STRICT_TRANS_TABLES.0 | Self::STRICT_ALL_TABLES.0) != 0
    }

    /// The same with `other` on.
    #[must_use]
    pub const fn with(self, other: SqlMode) -> SqlMode {
        Self::from_bits(self.0 | other.0)
    }

    /// The same with `other` off.
    #[must_use]
    pub const fn without(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 & !other.0)
    }

    /// Reads names separated by commas, in any case; numbers are read by the caller through
    /// [`SqlMode::from_number`].
    ///
    /// # Errors
    /// The first word that is no mode.
    pub fn parse(text: &str) -> Result<SqlMode, String> {
        let mut bits = 0u64;
        for word in text.split(',') {
            let word = word.trim_end();
            if word.is_empty() {
                continue;
            }
            match NAMES
                .iter()
                .position(|n| !n.is_empty() && n.eq_ignore_ascii_case(word))
            {
                Some(i) => bits |= 1 << i,
                None => return Err(word.to_owned()),
            }
        }
        Ok(Self::from_bits(bits))
    }

    /// Reads a mask as SET does.
    ///
    /// # Errors
    /// The number, where it has a bit that is no mode.
    pub fn from_number(bits: u64) -> Result<SqlMode, String> {
        let known = NAMES
            .iter()
            .enumerate()
            .filter(|(_, n)| !n.is_empty())
            .fold(0u64, |m, (i, _)| m | 1 << i);
        if bits & !(known | IGNORED) == 0 {
            Ok(Self::from_bits(bits & known))
        } else {
            Err(bits.to_string())
        }
    }
}

impl fmt::Display for SqlMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (i, name) in NAMES.iter().enumerate() {
            if self.0 >> i & 1 == 1 && !name.is_empty() {
                if !first {
                    f.write_str(",")?;
                }
                first = false;
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_spelled_out() {
        assert_eq!(
            SqlMode::parse("traditional").unwrap().to_string(),
            "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,TRADITIONAL,NO_ENGINE_SUBSTITUTION"
        );
        assert_eq!(
            SqlMode::parse("ANSI").unwrap().to_string(),
            "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"
        );
    }

    #[test]
    fn default_prints_as_mysql_does() {
        assert_eq!(
            SqlMode::DEFAULT.to_string(),
            "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
        );
        assert_eq!(SqlMode::DEFAULT.bits(), 1_168_113_696);
    }

    #[test]
    fn unknown_words_are_named() {
        assert_eq!(SqlMode::parse("ansi,foo"), Err("foo".to_owned()));
        assert!(SqlMode::from_number(1 << 40).is_err());
        assert_eq!(
            SqlMode::parse("NO_AUTO_CREATE_USER"),
            Err("NO_AUTO_CREATE_USER".to_owned())
        );
        assert_eq!(
            SqlMode::from_number(1 << 28 | 1 << 9 | 4).unwrap().bits(),
            4
        );
        assert_eq!(SqlMode::parse("").unwrap().bits(), 0);
    }
}
