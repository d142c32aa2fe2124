//! Flow control: IF, CASE, loops, LEAVE, ITERATE, RETURN.

use sql_parser::ast::{BinaryOp, Expr, Name, ProgramStatement};
use types::SqlError;
use types::error::codes;

use super::{Compiler, Kind};
use crate::code::{Op, Part, Variable};

/// Conditions and what they guard.
type Arms = [(Expr, Vec<ProgramStatement>)];

impl Compiler<'_> {
    pub(super) fn statements(&mut self, list: &[ProgramStatement]) -> Result<(), SqlError> {
        list.iter().try_for_each(|s| self.statement(s))
    }

    pub(super) fn statement(&mut self, s: &ProgramStatement) -> Result<(), SqlError> {
        match s {
            ProgramStatement::Sql(statement, span) => self.sql(statement, *span),
            ProgramStatement::Block(b) => self.block(b),
            ProgramStatement::If { arms, otherwise } => self.arms(arms, None, Some(otherwise)),
            ProgramStatement::Case {
                operand,
                arms,
                otherwise,
            } => self.arms_of_case(operand.as_ref(), arms, otherwise.as_deref()),
            ProgramStatement::Loop(label, body) => {
                let start = self.here();
                self.begin_loop(label.as_ref(), start)?;
                self.statements(body)?;
                self.emit(Op::Jump(start));
                self.end_loop(label.as_ref());
                Ok(())
            }
            ProgramStatement::While(label, condition, body) => {
                let start = self.here();
                self.begin_loop(label.as_ref(), start)?;
                let test = self.test(condition);
                self.statements(body)?;
                self.emit(Op::Jump(start));
                self.land(test);
                self.land_after(test);
                self.end_loop(label.as_ref());
                Ok(())
            }
            ProgramStatement::Repeat(label, body, condition) => {
                let start = self.here();
                self.begin_loop(label.as_ref(), start)?;
                self.statements(body)?;
                let test = self.test(condition);
                if let Op::JumpIfNot { to, .. } = &mut self.program.code[test].op {
                    *to = start;
                }
                self.land_after(test);
                self.end_loop(label.as_ref());
                Ok(())
            }
            ProgramStatement::Leave(name) => self.leave(name),
            ProgramStatement::Iterate(name) => self.iterate(name),
            ProgramStatement::Return(value) => match self.kind {
                Kind::Procedure => Err(SqlError::fixed(codes::ER_SP_BADRETURN)),
                Kind::Function => {
                    let expr = self.expr(value);
                    self.emit(Op::Return(expr));
                    Ok(())
                }
            },
            ProgramStatement::Open(name) => {
                let n = self.find_cursor(name)?;
                self.emit(Op::Open(n));
                Ok(())
            }
            ProgramStatement::Close(name) => {
                let n = self.find_cursor(name)?;
                self.emit(Op::Close(n));
                Ok(())
            }
            ProgramStatement::Fetch(name, targets) => {
                let n = self.find_cursor(name)?;
                let slots: Result<Vec<_>, _> = targets.iter().map(|t| self.declared(t)).collect();
                self.emit(Op::Fetch(n, slots?.into()));
                Ok(())
            }
            ProgramStatement::Signal(s) => self.signal(s, false),
            ProgramStatement::Resignal(s) => self.signal(s, true),
            ProgramStatement::GetDiagnostics(g) => self.diagnose(g),
        }
    }

    fn test(&mut self, condition: &Expr) -> usize {
        let expr = self.expr(condition);
        self.emit(Op::JumpIfNot {
            expr,
            to: 0,
            after: 0,
        })
    }

    /// IF, and CASE as one.
    fn arms(
        &mut self,
        arms: &Arms,
        value: Option<(usize, u32)>,
        otherwise: Option<&[ProgramStatement]>,
    ) -> Result<(), SqlError> {
        let (mut ends, mut tests) = (Vec::new(), Vec::new());
        for (when, then) in arms {
            let test = match value {
                None => self.test(when),
                Some((_, slot)) => self.compared(when, slot),
            };
            tests.push(test);
            self.statements(then)?;
            ends.push(self.emit(Op::Jump(0)));
            self.land(test);
        }
        match otherwise {
            Some(list) => self.statements(list)?,
            None => {
                self.emit(Op::NoCase);
            }
        }
        ends.into_iter().for_each(|j| self.land(j));
        tests.into_iter().for_each(|t| self.land_after(t));
        if let Some((at, _)) = value {
            self.land_after(at);
        }
        Ok(())
    }

    fn arms_of_case(
        &mut self,
        operand: Option<&Expr>,
        arms: &Arms,
        otherwise: Option<&[ProgramStatement]>,
    ) -> Result<(), SqlError> {
        let Some(operand) = operand else {
            return self.arms(arms, None, otherwise);
        };
        let slot = self.variable(Variable {
            name: "".into(),
            ty: None,
        });
        let expr = self.expr(operand);
        let at = self.emit(Op::CaseValue {
            slot,
            expr,
            after: 0,
        });
        self.arms(arms, Some((at, slot)), otherwise)
    }

    /// Whether what CASE compares is equal to a value.
    fn compared(&mut self, when: &Expr, slot: u32) -> usize {
        let part = self.part(when);
        let value = Expr::Param(slot);
        self.program.exprs.push(Part {
            tree: Expr::Binary(BinaryOp::Eq, Box::new(value), Box::new(part.tree)),
            untyped: Some(slot),
        });
        let expr = self.program.exprs.len() as u32 - 1;
        self.emit(Op::JumpIfNot {
            expr,
            to: 0,
            after: 0,
        })
    }

    fn begin_loop(&mut self, label: Option<&Name>, start: u32) -> Result<(), SqlError> {
        let cursors = self.program.cursors.len() as u32;
        self.label(label, Some(start), cursors)
    }

    fn end_loop(&mut self, label: Option<&Name>) {
        if label.is_some() {
            self.end_label();
        }
    }

    /// A label by name, among those that may be jumped to.
    fn find_label(&self, name: &Name, verb: &str, looping: bool) -> Result<usize, SqlError> {
        let lower = name.to_lowercase();
        let found = self.labels.iter().rposition(|l| l.name == lower);
        let right = found.filter(|at| !looping || self.labels[*at].again.is_some());
        right.ok_or_else(|| {
            SqlError::new(
                codes::ER_SP_LILABEL_MISMATCH,
                format!("{verb} with no matching label: {name}"),
            )
        })
    }

    /// Closes what is declared inside a label's statement, which is left.
    fn close_inside(&mut self, label: usize) {
        let first = self.labels[label].cursors;
        if self.program.cursors.len() as u32 > first {
            self.emit(Op::CloseFrom(first));
        }
    }

    fn leave(&mut self, name: &Name) -> Result<(), SqlError> {
        let label = self.find_label(name, "LEAVE", false)?;
        self.close_inside(label);
        let jump = self.emit(Op::Jump(0));
        self.labels[label].leaves.push(jump);
        Ok(())
    }

    fn iterate(&mut self, name: &Name) -> Result<(), SqlError> {
        let label = self.find_label(name, "ITERATE", true)?;
        self.close_inside(label);
        let start = self.labels[label].again.unwrap_or_default();
        self.emit(Op::Jump(start));
        Ok(())
    }
}
