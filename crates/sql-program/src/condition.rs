//! Conditions: which of them a handler takes, what SIGNAL raises, and what is known of one.
//!
//! Source: MySQL 8.0's manual, "DECLARE ... HANDLER", "Scope Rules for Handlers", "SIGNAL", "GET DIAGNOSTICS".

use types::error::{SqlState, codes};
use types::{Level, SqlError};

use crate::code::Program;

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
    /// The more exact comes first.
    fn rank(self) -> u8 {
        match self {
            Caught::Number(_) => 0,
            Caught::State(_) => 1,
            Caught::Warning => 2,
            Caught::NotFound => 3,
            Caught::Exception => 4,
        }
    }

    fn takes(self, number: u16, state: SqlState, level: Level) -> bool {
        match self {
            Caught::Number(n) => n == number,
            Caught::State(s) => s == state,
            Caught::Warning => state.is_warning() || level == Level::Warning,
            Caught::NotFound => state.is_not_found(),
            Caught::Exception => state.is_exception() && level == Level::Error,
        }
    }
}

impl Program {
    /// The handler that takes a condition raised in a scope, by number: that of the innermost block that has one, and there the most exact. A handler's
    /// body is not for the handlers of its own block.
    pub fn handler_for(
        &self,
        scope: u32,
        number: u16,
        state: SqlState,
        level: Level,
    ) -> Option<u32> {
        let mut at = self.scopes.get(scope as usize)?;
        loop {
            let mut best: Option<(u32, Caught)> = None;
            for h in &at.handlers {
                for c in &self.handlers.get(*h as usize)?.conditions {
                    let better = match best {
                        None => true,
                        // Classes are taken in the order of the text.
                        Some((_, b)) => c.rank() < b.rank() && c.rank() < 2,
                    };
                    if better && c.takes(number, state, level) {
                        best = Some((*h, *c));
                    }
                }
            }
            if let Some((h, _)) = best {
                return Some(h);
            }
            while at.of_handler {
                at = self.scopes.get(at.parent? as usize)?;
            }
            at = self.scopes.get(at.parent? as usize)?;
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
