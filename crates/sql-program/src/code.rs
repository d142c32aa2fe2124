//! A program as data: what [`compile`](crate::compile) makes of a body, and [`run`](crate::run) carries out.
//!
//! Must never do: anything with it.

use std::sync::Arc;

use sql_parser::ast::{DataType, Expr, HandlerAction, Name, Statement};

use crate::condition::{Caught, Item, Signalled};

/// The place of a variable.
pub type Slot = u32;

/// A tree in which variables stand as parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Part<T> {
    /// The tree. `Param(n)` is the variable `n`.
    pub tree: T,
    /// A variable that it reads and that has the type of its value.
    pub untyped: Option<Slot>,
}

/// A variable: a parameter, what DECLARE names, or what the program keeps for itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// As it was written; empty for what nobody can name.
    pub name: Name,
    /// Its type and its COLLATE; `None`: that of the value it has.
    pub ty: Option<(DataType, Option<Name>)>,
}

/// Where a value goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To a variable of the program.
    Slot(Slot),
    /// To a user variable.
    User(Name),
}

/// A statement that the host runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Sql {
    /// The statement, without its INTO where that names variables of the program.
    pub part: Part<Arc<Statement>>,
    /// Its text in the body's.
    pub text: Arc<[u8]>,
    /// Where the values of its one row go.
    pub into: Option<Box<[Target]>>,
}

/// SIGNAL and RESIGNAL.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// What is raised; `None`: what a handler was called for.
    pub condition: Option<Signalled>,
    /// RESIGNAL.
    pub again: bool,
    /// What it says of the condition.
    pub items: Vec<(Item, Part<Expr>)>,
}

/// GET DIAGNOSTICS.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnose {
    /// Of what a handler was called for.
    pub stacked: bool,
    /// Of which condition; `None`: of the statement.
    pub condition: Option<Part<Expr>>,
    /// What is asked for, and where it goes; items in upper case.
    pub items: Vec<(Target, Name)>,
}

/// A step.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// A variable gets the value of an expression, by number.
    Set(Slot, u32),
    /// A variable is NULL.
    Null(Slot),
    /// Goes on elsewhere.
    Jump(u32),
    /// Goes on at `to` unless an expression is true; where that fails and a handler lets the program go on, it does so at `after`.
    JumpIfNot {
        /// The expression, by number.
        expr: u32,
        /// Where to.
        to: u32,
        /// Behind the whole statement.
        after: u32,
    },
    /// What CASE compares; where that fails and a handler lets the program go on, it does so at `after`.
    CaseValue {
        /// Where it is kept.
        slot: Slot,
        /// The expression, by number.
        expr: u32,
        /// Behind the whole statement.
        after: u32,
    },
    /// CASE has found nothing: 1339.
    NoCase,
    /// A statement, by number.
    Run(u32),
    /// OPEN of a cursor, by number.
    Open(u32),
    /// FETCH of a cursor, by number.
    Fetch(u32, Box<[Slot]>),
    /// CLOSE of a cursor, by number.
    Close(u32),
    /// Closes that cursor and those declared behind it, as far as they are open: their blocks are left.
    CloseFrom(u32),
    /// SIGNAL or RESIGNAL, by number.
    Signal(u32),
    /// GET DIAGNOSTICS, by number.
    Diagnose(u32),
    /// A handler has done what it does.
    HandlerEnd(u32),
    /// The value of a function, an expression by number.
    Return(u32),
}

/// A step, and where its handlers are looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// The step.
    pub op: Op,
    /// Its scope, by number.
    pub scope: u32,
}

/// A block, or a handler's body: where handlers are declared.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scope {
    /// What is around it.
    pub parent: Option<u32>,
    /// It is a handler's body: the handlers of the block that declares it are not for it.
    pub of_handler: bool,
    /// Handlers that it declares, by number.
    pub handlers: Vec<u32>,
}

/// A handler.
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    /// What happens afterwards.
    pub action: HandlerAction,
    /// For which conditions.
    pub conditions: Vec<Caught>,
    /// Its first instruction.
    pub entry: u32,
    /// The block that declares it.
    pub scope: u32,
    /// The end of that block.
    pub after: u32,
    /// The first cursor of that block.
    pub cursors: u32,
}

/// A compiled program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// Parameters first.
    pub variables: Vec<Variable>,
    /// The steps; the program is over behind the last.
    pub code: Vec<Instruction>,
    /// Expressions.
    pub exprs: Vec<Part<Expr>>,
    /// Statements.
    pub statements: Vec<Sql>,
    /// Queries of cursors.
    pub cursors: Vec<Sql>,
    /// Signals.
    pub signals: Vec<Signal>,
    /// GET DIAGNOSTICS.
    pub diagnoses: Vec<Diagnose>,
    /// Scopes.
    pub scopes: Vec<Scope>,
    /// Handlers.
    pub handlers: Vec<Handler>,
}

impl Program {
    /// Whether a scope is another one, or inside it.
    pub fn is_within(&self, scope: u32, outer: u32) -> bool {
        let mut at = Some(scope);
        while let Some(s) = at {
            if s == outer {
                return true;
            }
            at = self.scopes.get(s as usize).and_then(|s| s.parent);
        }
        false
    }
}
