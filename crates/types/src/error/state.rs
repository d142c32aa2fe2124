//! SQLSTATE: five characters that say of which kind a condition is.
//!
//! Never here: which error number has which.

use std::fmt;
use std::ops::Deref;

/// Five characters of SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// What says nothing.
    pub const GENERAL: SqlState = SqlState(*b"HY000");
    /// A statement that went well.
    pub const OK: SqlState = SqlState(*b"00000");

    /// Of five digits and capital letters; anything else says nothing (`HY000`).
    pub fn of(text: &str) -> SqlState {
        SqlState::read(text.as_bytes()).unwrap_or(SqlState::GENERAL)
    }

    /// Of five digits and capital letters; `None` for anything else.
    pub fn read(text: &[u8]) -> Option<SqlState> {
        let five = <[u8; 5]>::try_from(text).ok()?;
        let good = |b: &u8| b.is_ascii_digit() || b.is_ascii_uppercase();
        five.iter().all(good).then_some(SqlState(five))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("HY000")
    }

    /// It says that all is well (`00`), which nobody may signal.
    pub fn is_success(self) -> bool {
        self.0.starts_with(b"00")
    }

    /// It says that something is to be looked at (`01`).
    pub fn is_warning(self) -> bool {
        self.0.starts_with(b"01")
    }

    /// It says that there is nothing there, or nothing more (`02`).
    pub fn is_not_found(self) -> bool {
        self.0.starts_with(b"02")
    }

    /// It says that a statement has failed: none of the other three.
    pub fn is_exception(self) -> bool {
        !(self.is_success() || self.is_warning() || self.is_not_found())
    }
}

impl Deref for SqlState {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq<&str> for SqlState {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

#[cfg(test)]
mod tests {
    use super::SqlState;

    #[test]
    fn states_are_of_one_class_each() {
        for (text, class) in [
            ("00000", 0),
            ("01000", 1),
            ("02000", 2),
            ("42S02", 3),
            ("HY000", 3),
        ] {
            let s = SqlState::of(text);
            let classes = [
                s.is_success(),
                s.is_warning(),
                s.is_not_found(),
                s.is_exception(),
            ];
            assert_eq!(classes.iter().position(|c| *c), Some(class), "{text}");
            assert_eq!(classes.iter().filter(|c| **c).count(), 1, "{text}");
        }
        for bad in ["", "4200", "420000", "42s02", "42 02"] {
            assert_eq!(SqlState::read(bad.as_bytes()), None, "{bad}");
        }
    }
}
