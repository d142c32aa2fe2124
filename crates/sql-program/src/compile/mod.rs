//! From a body's tree to code, with every error that MySQL gives when a program is made.
//!
//! Must never do: look a table, a column or a routine up: what is not there is found when the statement runs, as in MySQL.

mod blocks;
mod flow;
mod statements;

use std::sync::Arc;

use sql_parser::ast::{Expr, Name, ProgramStatement, RoutineParam, Statement};
use types::SqlError;
use types::error::codes;

use crate::code::{Instruction, Op, Part, Program, Scope, Slot, Variable};
use crate::condition::Caught;
use crate::names;

/// What kind of program it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A procedure.
    Procedure,
    /// A function.
    Function,
}

/// What is compiled.
pub struct Source<'a> {
    /// What kind of program.
    pub kind: Kind,
    /// Its parameters.
    pub params: &'a [RoutineParam],
    /// Its body.
    pub body: &'a ProgramStatement,
    /// The text in which the body's spans lie.
    pub text: &'a [u8],
    /// Whether there is a system variable of that name.
    pub is_variable: &'a dyn Fn(&str) -> bool,
}

/// The names that a block declares; in small letters.
#[derive(Default)]
struct Names {
    variables: Vec<(String, Slot)>,
    conditions: Vec<(String, Caught)>,
    cursors: Vec<(String, u32)>,
    /// What its handlers take.
    caught: Vec<Caught>,
}

/// A label that LEAVE and ITERATE may name.
struct Label {
    name: String,
    /// Where ITERATE goes; `None`: it is a block's.
    again: Option<u32>,
    /// Jumps to its end.
    leaves: Vec<usize>,
    /// The first cursor that is declared inside.
    cursors: u32,
}

/// A body on its way to code.
struct Compiler<'a> {
    kind: Kind,
    text: &'a [u8],
    is_variable: &'a dyn Fn(&str) -> bool,
    program: Program,
    blocks: Vec<Names>,
    labels: Vec<Label>,
    scope: u32,
}

/// Compiles a program.
///
/// # Errors
/// 1303, 1308, 1309, 1313, 1314, 1319, 1320, 1323, 1324, 1327, 1330 to 1333, 1337, 1338, 1357, 1407, 1413, 1415, 1422, 1641, 1646: what MySQL refuses
/// when a program is made.
pub fn compile(source: &Source<'_>) -> Result<Program, SqlError> {
    let mut c = Compiler {
        kind: source.kind,
        text: source.text,
        is_variable: source.is_variable,
        program: Program::default(),
        blocks: vec![Names::default()],
        labels: Vec::new(),
        scope: 0,
    };
    c.program.scopes.push(Scope::default());
    for p in source.params {
        c.param(p)?;
    }
    c.statement(source.body)?;
    Ok(c.program)
}

impl Compiler<'_> {
    fn param(&mut self, p: &RoutineParam) -> Result<(), SqlError> {
        let name = p.name.to_lowercase();
        if self.blocks[0].variables.iter().any(|(n, _)| *n == name) {
            return Err(named(
                codes::ER_SP_DUP_PARAM,
                "Duplicate parameter",
                &p.name,
            ));
        }
        let slot = self.variable(Variable {
            name: p.name.clone(),
            ty: Some((p.data_type.clone(), p.collation.clone())),
        });
        self.blocks[0].variables.push((name, slot));
        Ok(())
    }

    fn variable(&mut self, v: Variable) -> Slot {
        self.program.variables.push(v);
        self.program.variables.len() as Slot - 1
    }

    /// The innermost variable of a name.
    fn find(&self, name: &str) -> Option<Slot> {
        let name = name.to_lowercase();
        let mut blocks = self.blocks.iter().rev();
        blocks.find_map(|b| {
            let own = b.variables.iter().find(|(n, _)| *n == name);
            own.map(|(_, slot)| *slot)
        })
    }

    /// The variable of a name that has to be one.
    fn declared(&self, name: &Name) -> Result<Slot, SqlError> {
        self.find(name).ok_or_else(|| undeclared(name))
    }

    fn here(&self) -> u32 {
        self.program.code.len() as u32
    }

    fn emit(&mut self, op: Op) -> usize {
        let scope = self.scope;
        self.program.code.push(Instruction { op, scope });
        self.program.code.len() - 1
    }

    /// Lets a jump go to where the code is now.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.program.code[jump].op {
            Op::Jump(to) | Op::JumpIfNot { to, .. } => *to = here,
            _ => {}
        }
    }

    /// Lets a condition go on here where a handler wants it to.
    fn land_after(&mut self, condition: usize) {
        let here = self.here();
        match &mut self.program.code[condition].op {
            Op::JumpIfNot { after, .. } | Op::CaseValue { after, .. } => *after = here,
            _ => {}
        }
    }

    /// An expression with variables in place of names.
    fn part(&self, e: &Expr) -> Part<Expr> {
        let mut tree = e.clone();
        names::in_expr(&mut tree, &|n| self.find(n));
        Part {
            tree,
            untyped: None,
        }
    }

    /// The same of a statement.
    fn statement_part(&self, mut tree: Statement) -> Part<Arc<Statement>> {
        names::in_statement(&mut tree, &|n| self.find(n));
        Part {
            tree: Arc::new(tree),
            untyped: None,
        }
    }

    /// An expression, by number.
    fn expr(&mut self, e: &Expr) -> u32 {
        let part = self.part(e);
        self.program.exprs.push(part);
        self.program.exprs.len() as u32 - 1
    }
}

/// An error that says what it is about and the name.
fn named(code: u16, what: &str, name: &str) -> SqlError {
    SqlError::new(code, format!("{what}: {name}"))
}

/// 1327.
fn undeclared(name: &str) -> SqlError {
    named(codes::ER_SP_UNDECLARED_VAR, "Undeclared variable", name)
}
