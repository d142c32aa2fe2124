//! What can go wrong with a system variable, with MySQL's numbers, states and texts.

use std::fmt;

use super::def::VarScope;
use types::{Level, SqlError, Warning};

/// A refused read or assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VarError {
    /// 1193.
    Unknown(String),
    /// 1231: the variable and the value as written.
    WrongValue(&'static str, String),
    /// 1232.
    WrongType(&'static str),
    /// 1238 at SET.
    ReadOnly(&'static str),
    /// 1238 at SET PERSIST and SET PERSIST_ONLY.
    NotPersistable(&'static str),
    /// 1238 at a read with the wrong scope; the scope that the variable has.
    WrongScope(&'static str, VarScope),
    /// 1229: SET without GLOBAL of a global variable.
    NeedsGlobal(&'static str),
    /// 1228: SET GLOBAL of a session variable.
    NoGlobal(&'static str),
    /// 1621: the session's value follows the global one.
    SessionReadOnly(&'static str),
    /// 1230: the variable has no default.
    NoDefault(&'static str),
    /// 1115.
    UnknownCharset(String),
    /// 1273.
    UnknownCollation(String),
    /// 1253: the collation and the character set.
    CollationMismatch(String, String),
    /// 1298.
    UnknownTimeZone(String),
    /// 1286.
    UnknownEngine(String),
    /// 1649.
    UnknownLocale(String),
}

/// A warning of SET: number 1292.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VarWarning {
    /// MySQL's error number.
    pub code: u16,
    /// The text.
    pub message: String,
}

impl VarWarning {
    /// A value brought within limits.
    pub(super) fn truncated(name: &str, value: &str) -> VarWarning {
        VarWarning {
            code: 1292,
            message: format!("Truncated incorrect {name} value: '{value}'"),
        }
    }
}

impl VarError {
    /// MySQL's error number.
    pub fn code(&self) -> u16 {
        match self {
            VarError::Unknown(_) => 1193,
            VarError::WrongValue(..) => 1231,
            VarError::WrongType(_) => 1232,
            VarError::ReadOnly(_) | VarError::NotPersistable(_) | VarError::WrongScope(..) => 1238,
            VarError::NeedsGlobal(_) => 1229,
            VarError::NoGlobal(_) => 1228,
            VarError::SessionReadOnly(_) => 1621,
            VarError::NoDefault(_) => 1230,
            VarError::UnknownCharset(_) => 1115,
            VarError::UnknownCollation(_) => 1273,
            VarError::CollationMismatch(..) => 1253,
            VarError::UnknownTimeZone(_) => 1298,
            VarError::UnknownEngine(_) => 1286,
            VarError::UnknownLocale(_) => 1649,
        }
    }
}

impl fmt::Display for VarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VarError::Unknown(n) => write!(f, "Unknown system variable '{n}'"),
            VarError::WrongValue(n, v) => {
                let v: String = v.chars().take(200).collect();
                write!(f, "Variable '{n}' can't be set to the value of '{v}'")
            }
            VarError::WrongType(n) => write!(f, "Incorrect argument type to variable '{n}'"),
            VarError::ReadOnly(n) => write!(f, "Variable '{n}' is a read only variable"),
            VarError::NotPersistable(n) => {
                write!(f, "Variable '{n}' is a non persistent read only variable")
            }
            VarError::WrongScope(n, VarScope::Global) => {
                write!(f, "Variable '{n}' is a GLOBAL variable")
            }
            VarError::WrongScope(n, _) => write!(f, "Variable '{n}' is a SESSION variable"),
            VarError::NeedsGlobal(n) => write!(
                f,
                "Variable '{n}' is a GLOBAL variable and should be set with SET GLOBAL"
            ),
            VarError::NoGlobal(n) => write!(
                f,
                "Variable '{n}' is a SESSION variable and can't be used with SET GLOBAL"
            ),
            VarError::SessionReadOnly(n) => write!(
                f,
                "SESSION variable '{n}' is read-only. Use SET GLOBAL to assign the value"
            ),
            VarError::NoDefault(n) => write!(f, "Variable '{n}' doesn't have a default value"),
            VarError::UnknownCharset(n) => write!(f, "Unknown character set: '{n}'"),
            VarError::UnknownCollation(n) => write!(f, "Unknown collation: '{n}'"),
            VarError::CollationMismatch(c, cs) => {
                write!(f, "COLLATION '{c}' is not valid for CHARACTER SET '{cs}'")
            }
            VarError::UnknownTimeZone(n) => write!(f, "Unknown or incorrect time zone: '{n}'"),
            VarError::UnknownEngine(n) => write!(f, "Unknown storage engine '{n}'"),
            VarError::UnknownLocale(n) => write!(f, "Unknown locale: '{n}'"),
        }
    }
}

impl std::error::Error for VarError {}

impl From<VarError> for SqlError {
    fn from(e: VarError) -> SqlError {
        SqlError::new(e.code(), e.to_string())
    }
}

impl From<VarWarning> for Warning {
    fn from(w: VarWarning) -> Warning {
        Warning::new(Level::Warning, w.code, w.message)
    }
}
