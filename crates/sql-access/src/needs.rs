//! What a statement needs to be allowed: a list of rights on objects, made while the statement is bound and carried by its plan.
//!
//! A list says nothing of who asks; [`super::context::SecurityContext`] compares. Needs name tables and columns by what the
//! statement calls them, whether they exist or not.

use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use super::account::{AccountId, RoutineId, TableId};
use super::privilege::{Priv, PrivSet};

/// A privilege on the whole server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// A static one, held on `*.*`.
    Static(Priv),
    /// A dynamic one.
    Dynamic(&'static str),
}

impl Right {
    /// As messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Right::Static(p) => p.name(),
            Right::Dynamic(n) => n,
        }
    }
}

/// One right that a statement needs, and with it the error that says that it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// One of these on the server (1227).
    OneOf(&'static [Right]),
    /// A static privilege on the server, where MySQL answers as to a failed login (1045).
    Server(Priv),
    /// All of these on a database (1044).
    Database {
        /// The database.
        schema: Box<str>,
        /// The privileges.
        privileges: PrivSet,
    },
    /// Anything on a database or on something in it (1044).
    AnythingIn {
        /// The database.
        schema: Box<str>,
    },
    /// All of these on a table as a whole (1142).
    Table {
        /// The table.
        table: Arc<TableId>,
        /// The privileges.
        privileges: PrivSet,
    },
    /// All of these on a table, or on some column of it: which columns is said by [`Need::Columns`] (1142).
    Columnwise {
        /// The table.
        table: Arc<TableId>,
        /// The privileges.
        privileges: PrivSet,
    },
    /// One of these on a table or a column of it (1142).
    SomeOf {
        /// The table.
        table: Arc<TableId>,
        /// The privileges.
        privileges: PrivSet,
        /// What the message names.
        command: &'static str,
    },
    /// Anything on a table as a whole (1142).
    Whole {
        /// The table.
        table: Arc<TableId>,
        /// What the message names.
        command: &'static str,
    },
    /// Anything on a table or a column of it (1142).
    AnythingOn {
        /// The table.
        table: Arc<TableId>,
        /// What the message names.
        command: &'static str,
    },
    /// A privilege on single columns. Where the statement names them it is told which one (1143); of what `*` stands for, and columns that are given values
    /// without being named, it learns no name (1142).
    Columns {
        /// The table.
        table: Arc<TableId>,
        /// The privilege.
        privilege: Priv,
        /// The columns.
        columns: ColumnNames,
        /// The statement names them.
        named: bool,
    },
    /// What a view reads or changes, with the rights of its definer or of who uses it (1356, whatever is missing).
    Through {
        /// The view.
        view: Arc<Through>,
        /// What is needed of them.
        need: Box<Need>,
    },
    /// What EXPLAIN would show of a view (1345).
    Shown(Box<Need>),
    /// A privilege on a stored routine (1370).
    Routine {
        /// The routine.
        routine: RoutineId,
        /// The privilege.
        privilege: Priv,
    },
}

/// The view through which something is read or changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Through {
    /// What the statement names: the message is about it, and not about what is below.
    pub view: TableId,
    /// With whose rights; the session's own where there is none.
    pub definer: Option<AccountId>,
}

/// Names of columns, in one piece of memory: most statements by text name some, for their needs alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnNames(String);

/// Ends each name. No name has it: MySQL's identifiers are without NUL (the manual, 9.2).
const END: char = '\0';

/// Room for the names of most statements, in bytes.
const USUAL: usize = 64;

impl ColumnNames {
    /// None.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One more.
    pub fn add(&mut self, name: &str) {
        if self.0.is_empty() {
            self.0.reserve(USUAL);
        }
        self.0.push_str(name);
        self.0.push(END);
    }

    /// In the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split_terminator(END)
    }
}

impl<'a> FromIterator<&'a str> for ColumnNames {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> ColumnNames {
        let mut all = ColumnNames::default();
        names.into_iter().for_each(|n| all.add(n));
        all
    }
}

/// What a statement needs; all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs(Vec<Need>);

impl Needs {
    /// Nothing.
    pub fn none() -> Needs {
        Needs::default()
    }

    /// One more. It is left out where one of the last few is the same: a need that stands twice is looked at twice, no more,
    /// while a search among all of them would take quadratic time for a statement that names thousands of tables.
    pub fn add(&mut self, need: Need) {
        const NEAR: usize = 16;
        if !self.0.iter().rev().take(NEAR).any(|n| *n == need) {
            self.0.push(need);
        }
    }

    /// With one more.
    #[must_use]
    pub fn and(mut self, need: Need) -> Needs {
        self.add(need);
        self
    }

    /// In the order in which they are checked.
    pub fn iter(&self) -> impl Iterator<Item = &Need> {
        self.0.iter()
    }
}

/// A table as grants name it.
pub fn table(schema: &str, name: &str) -> Arc<TableId> {
    Arc::new(TableId {
        schema: schema.into(),
        name: name.into(),
    })
}

/// What carries its needs.
pub trait Guarded {
    /// What it needs to be run.
    fn needs(&self) -> &Needs;
}

/// 1356.
pub fn view_invalid(schema: &str, name: &str) -> SqlError {
    SqlError::new(
        codes::ER_VIEW_INVALID,
        format!(
            "View '{schema}.{name}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them"
        ),
    )
}
