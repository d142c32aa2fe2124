//! What the interpreter asks of whoever runs it: values, statements, cursors, conditions.

use std::future::Future;
use std::pin::Pin;

use types::error::SqlState;
use types::{Level, SqlError, Value};

use crate::code::Slot;

/// What is there later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, SqlError>> + Send + 'a>>;

/// What mostly is there at once.
pub enum Step<'a, T> {
    /// It is.
    Now(Result<T, SqlError>),
    /// It has to be waited for.
    Later(Later<'a, T>),
}

impl<T> Step<'_, T> {
    /// Waits for it where it is not there.
    ///
    /// # Errors
    /// Those of what was asked for.
    pub async fn get(self) -> Result<T, SqlError> {
        match self {
            Step::Now(r) => r,
            Step::Later(f) => f.await,
        }
    }
}

/// A condition, as far as handlers look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised {
    /// Its number.
    pub number: u16,
    /// Its SQLSTATE.
    pub state: SqlState,
    /// How bad it is.
    pub level: Level,
}

/// Whoever runs a program. Numbers are those of the program's lists.
pub trait Host: Send {
    /// Lets others have their turn, and hears whether the program is to end.
    fn pause(&mut self) -> Later<'_, ()>;
    /// The value of an expression, as a variable keeps it.
    fn assigned<'a>(&'a mut self, slot: Slot, expr: u32, vars: &'a [Value]) -> Step<'a, Value>;
    /// Whether an expression is true.
    fn truth<'a>(&'a mut self, expr: u32, vars: &'a [Value]) -> Step<'a, bool>;
    /// Runs a statement.
    fn run<'a>(&'a mut self, statement: u32, vars: &'a mut [Value]) -> Later<'a, ()>;
    /// Reads the rows of a cursor that is not open.
    fn open<'a>(&'a mut self, cursor: u32, vars: &'a [Value]) -> Later<'a, ()>;
    /// The next row of an open cursor.
    ///
    /// # Errors
    /// 1328, 1329; what converting its values fails with.
    fn fetch(&mut self, cursor: u32, slots: &[Slot], vars: &mut [Value]) -> Result<(), SqlError>;
    /// Forgets the rows of an open cursor.
    fn close(&mut self, cursor: u32);
    /// Raises a condition: an error is the outcome, and is among the conditions already.
    fn signal<'a>(&'a mut self, signal: u32, vars: &'a [Value]) -> Later<'a, ()>;
    /// GET DIAGNOSTICS.
    fn diagnose<'a>(&'a mut self, diagnose: u32, vars: &'a mut [Value]) -> Later<'a, ()>;
    /// Whether a handler may take an error: not where the program is to end.
    fn may_catch(&self, e: &SqlError) -> bool;
    /// An error is a condition now.
    fn failed(&mut self, e: &SqlError);
    /// The conditions of the step before, where it has raised any.
    fn take_raised(&mut self) -> Vec<Raised>;
    /// A handler begins, for this condition.
    fn enter_handler(&mut self, condition: Raised);
    /// The handler that began last is over.
    fn leave_handler(&mut self);
    /// So many handlers are over, and what is raised now stays.
    fn abandon_handlers(&mut self, n: usize);
}
