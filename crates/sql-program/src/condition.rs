//! Conditions: which of them a handler takes, what SIGNAL raises, and what is known of one.
//!
//! Source: MySQL 8.0's manual, "DECLARE ... HANDLER", "Scope Rules for Handlers", "SIGNAL", "GET DIAGNOSTICS".

use types::error::{SqlState, codes};
use types::{Level, SqlError};

/// What a handler is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caught {
    /// An error number.
    Number(u16),
    /// A SQLSTATE.
    State(SqlState),
    /// Class 01, and what is a warning of any class.
    Warning,
    /// Class 02.
    NotFound,
    /// Errors of every other class.
    Exception,
}

impl Caught {
    /// The more exact comes first; classes are from 2 on.
    pub(crate) fn rank(self) -> u8 {
        match self {
            Caught::Number(_) => 0,
            Caught::State(_) => 1,
            Caught::Warning => 2,
            Caught::NotFound => 3,
            Caught::Exception => 4,
        }
    }

    pub(crate) fn takes(self, number: u16, state: SqlState, level: Level) -> bool {
        match self {
            Caught::Number(n) => n == number,
            Caught::State(s) => s == state,
            Caught::Warning => state.is_warning() || level == Level::Warning,
            Caught::NotFound => state.is_not_found(),
            Caught::Exception => state.is_exception() && level == Level::Error,
        }
    }
}

/// What SIGNAL raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signalled {
    /// The SQLSTATE.
    pub state: SqlState,
}

impl Signalled {
    /// The number that it has where nothing else is said.
    pub fn number(self) -> u16 {
        match self.state {
            s if s.is_warning() => codes::ER_SIGNAL_WARN,
            s if s.is_not_found() => codes::ER_SIGNAL_NOT_FOUND,
            _ => codes::ER_SIGNAL_EXCEPTION,
        }
    }

    /// How bad it is.
    pub fn level(self) -> Level {
        match self.state.is_warning() {
            true => Level::Warning,
            false => Level::Error,
        }
    }
}

macro_rules! items {
    ($($item:ident = $name:literal;)*) => {
        /// What SIGNAL may say of a condition.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Item {
            $(#[doc = $name] $item,)*
        }

        impl Item {
            /// By its name in upper case.
            pub fn named(name: &str) -> Option<Item> {
                match name {
                    $($name => Some(Item::$item),)*
                    _ => None,
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Item::$item => $name,)*
                }
            }
        }
    };
}

items! {
    ClassOrigin = "CLASS_ORIGIN";
    SubclassOrigin = "SUBCLASS_ORIGIN";
    ConstraintCatalog = "CONSTRAINT_CATALOG";
    ConstraintSchema = "CONSTRAINT_SCHEMA";
    ConstraintName = "CONSTRAINT_NAME";
    CatalogName = "CATALOG_NAME";
    SchemaName = "SCHEMA_NAME";
    TableName = "TABLE_NAME";
    ColumnName = "COLUMN_NAME";
    CursorName = "CURSOR_NAME";
    MessageText = "MESSAGE_TEXT";
    MysqlErrno = "MYSQL_ERRNO";
}

/// Refuses items that are named twice, and names that are none.
///
/// # Errors
/// 1064, 1641.
pub fn check_items<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<Item>, SqlError> {
    let mut items = Vec::new();
    for name in names {
        let item = Item::named(name).ok_or_else(|| SqlError::parse_error(name, 1))?;
        if items.contains(&item) {
            return Err(SqlError::new(
                codes::ER_DUP_SIGNAL_SET,
                format!("Duplicate condition information item '{name}'"),
            ));
        }
        items.push(item);
    }
    Ok(items)
}

/// Refuses items that GET DIAGNOSTICS cannot give: of a condition, or of the statement.
///
/// # Errors
/// 1064.
pub fn check_asked<'a>(
    of_condition: bool,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), SqlError> {
    for name in names {
        let known = match of_condition {
            true => name == "RETURNED_SQLSTATE" || Item::named(name).is_some(),
            false => matches!(name, "NUMBER" | "ROW_COUNT"),
        };
        if !known {
            return Err(SqlError::parse_error(name, 1));
        }
    }
    Ok(())
}

/// A SQLSTATE that a condition may have: five digits and capital letters, and not that of success.
///
/// # Errors
/// 1407.
pub fn state_of(text: &[u8]) -> Result<SqlState, SqlError> {
    SqlState::read(text)
        .filter(|s| !s.is_success())
        .ok_or_else(|| {
            let text = String::from_utf8_lossy(text);
            SqlError::new(codes::ER_SP_BAD_SQLSTATE, format!("Bad SQLSTATE: '{text}'"))
        })
}
