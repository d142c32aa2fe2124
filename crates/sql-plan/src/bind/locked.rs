//! What a session under LOCK TABLES may name: its locked tables, each by its alias and once in a statement, and to change them where they are locked
//! for that.
//!
//! Virtual tables need no lock. Tables that foreign keys lead to are locked with the others, and cannot be named.

use std::cell::RefCell;

use types::SqlError;
use types::error::codes;

/// A table as LOCK TABLES names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedTable {
    /// Its schema.
    pub schema: String,
    /// The table.
    pub name: String,
    /// As statements must call it; empty: it is locked for a view that reads it, and only that may name it.
    pub alias: String,
    /// Locked for writing.
    pub write: bool,
}

/// All that LOCK TABLES has locked.
#[derive(Debug, Clone, Default)]
pub struct LockedTables(pub Vec<LockedTable>);

/// Error 1100.
fn not_locked(alias: &str) -> SqlError {
    SqlError::new(
        codes::ER_TABLE_NOT_LOCKED,
        format!("Table '{alias}' was not locked with LOCK TABLES"),
    )
}

/// Error 1099.
fn locked_for_reading(alias: &str) -> SqlError {
    SqlError::new(
        codes::ER_TABLE_NOT_LOCKED_FOR_WRITE,
        format!("Table '{alias}' was locked with a READ lock and can't be updated"),
    )
}

impl LockedTables {
    /// Whether a definition may change: the table must be locked for writing, under whatever alias.
    ///
    /// # Errors
    /// 1099, 1100.
    pub fn check_change(&self, schema: &str, name: &str) -> Result<(), SqlError> {
        let mut of_it = self.of(schema, name).peekable();
        if of_it.peek().is_none() {
            return Err(not_locked(name));
        }
        match of_it.any(|t| t.write) {
            true => Ok(()),
            false => Err(locked_for_reading(name)),
        }
    }

    /// Whether it may be read outside of a query.
    ///
    /// # Errors
    /// 1100.
    pub fn check_read(&self, schema: &str, name: &str) -> Result<(), SqlError> {
        match self.of(schema, name).next() {
            Some(_) => Ok(()),
            None => Err(not_locked(name)),
        }
    }

    fn of<'l>(&'l self, schema: &'l str, name: &'l str) -> impl Iterator<Item = &'l LockedTable> {
        let all = self.0.iter();
        all.filter(move |t| t.schema == schema && t.name == name && !t.alias.is_empty())
    }
}

/// Which of the locked tables a statement has named.
pub(super) struct Named<'l> {
    locked: Option<&'l LockedTables>,
    by_now: RefCell<Vec<usize>>,
}

impl<'l> Named<'l> {
    pub(super) fn of(locked: Option<&'l LockedTables>) -> Named<'l> {
        Named {
            locked,
            by_now: RefCell::default(),
        }
    }

    /// A stored table is named, to be read or also to be changed.
    ///
    /// # Errors
    /// 1099, 1100.
    #[inline]
    pub(super) fn note(
        &self,
        schema: &str,
        name: &str,
        alias: &str,
        write: bool,
    ) -> Result<(), SqlError> {
        match self.locked {
            None => Ok(()),
            Some(locked) => self.note_in(locked, schema, name, alias, write),
        }
    }

    #[cold]
    fn note_in(
        &self,
        locked: &LockedTables,
        schema: &str,
        name: &str,
        alias: &str,
        write: bool,
    ) -> Result<(), SqlError> {
        let mut by_now = self.by_now.borrow_mut();
        let called = |t: &LockedTable| t.schema == schema && t.name == name && t.alias == alias;
        let all = locked.0.iter().enumerate();
        let found = all
            .into_iter()
            .find(|(i, t)| called(t) && !by_now.contains(i));
        let Some((i, t)) = found else {
            return Err(not_locked(alias));
        };
        by_now.push(i);
        self.changes(t, write)
    }

    /// A view names a stored table, or another view: it calls it as it likes, and as often.
    ///
    /// # Errors
    /// 1099, 1100.
    pub(super) fn note_below(&self, schema: &str, name: &str, write: bool) -> Result<(), SqlError> {
        let Some(locked) = self.locked else {
            return Ok(());
        };
        let of_it = |t: &&LockedTable| t.schema == schema && t.name == name;
        let mut all = locked.0.iter().filter(of_it);
        let Some(first) = all.next() else {
            return Err(not_locked(name));
        };
        match write && !first.write && !all.any(|t| t.write) {
            true => Err(locked_for_reading(name)),
            false => Ok(()),
        }
    }

    fn changes(&self, t: &LockedTable, write: bool) -> Result<(), SqlError> {
        match write && !t.write {
            true => Err(locked_for_reading(&t.alias)),
            false => Ok(()),
        }
    }

    /// A table that was named is changed.
    ///
    /// # Errors
    /// 1099.
    pub(super) fn note_change(&self, schema: &str, alias: &str) -> Result<(), SqlError> {
        let locked = self.locked.map_or(&[][..], |l| &l.0);
        let called = |t: &&LockedTable| t.schema == schema && t.alias == alias;
        match locked.iter().find(called) {
            Some(t) => self.changes(t, true),
            None => Ok(()),
        }
    }
}
