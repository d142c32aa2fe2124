//! BEGIN .. END with its declarations.

use sql_parser::ast::{
    self, ConditionValue, Declaration, HandlerAction, Name, ProgramStatement, Query, Statement,
};
use types::SqlError;
use types::error::codes;

use super::{Compiler, Label, Names, named};
use crate::code::{Handler, Op, Scope, Sql, Variable};
use crate::condition::{Caught, Signalled, state_of};

/// What of a block has been declared: each kind stands behind the ones before it.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Stage {
    Variables,
    Cursors,
    Handlers,
}

impl Compiler<'_> {
    pub(super) fn block(&mut self, b: &ast::Block) -> Result<(), SqlError> {
        let outer = self.scope;
        let cursors = self.program.cursors.len() as u32;
        self.label(b.label.as_ref(), None, cursors)?;
        self.blocks.push(Names::default());
        self.program.scopes.push(Scope {
            parent: Some(outer),
            ..Scope::default()
        });
        let own = self.program.scopes.len() as u32 - 1;
        let handlers = self.program.handlers.len();
        let mut stage = Stage::Variables;
        for d in &b.declarations {
            // What a declaration computes is for the handlers around the block: its own are not there yet.
            self.declaration(d, own, cursors, &mut stage)?;
        }
        self.scope = own;
        self.statements(&b.body)?;
        let end = self.here();
        for h in &mut self.program.handlers[handlers..] {
            if h.scope == own {
                h.after = end;
            }
        }
        if b.label.is_some() {
            self.end_label();
        }
        if self.program.cursors.len() as u32 > cursors {
            self.emit(Op::CloseFrom(cursors));
        }
        self.scope = outer;
        self.blocks.pop();
        Ok(())
    }

    fn own(&mut self) -> &mut Names {
        // There is one always: that of the parameters.
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    fn declaration(
        &mut self,
        d: &Declaration,
        own: u32,
        cursors: u32,
        stage: &mut Stage,
    ) -> Result<(), SqlError> {
        match d {
            Declaration::Variables { .. } | Declaration::Condition(..)
                if *stage > Stage::Variables =>
            {
                Err(SqlError::fixed(codes::ER_SP_VARCOND_AFTER_CURSHNDLR))
            }
            Declaration::Cursor(..) if *stage > Stage::Cursors => {
                Err(SqlError::fixed(codes::ER_SP_CURSOR_AFTER_HANDLER))
            }
            Declaration::Variables {
                names,
                data_type,
                collation,
                default,
            } => {
                let value = default.as_ref().map(|e| self.part(e));
                for name in names {
                    let lower = name.to_lowercase();
                    if self.own().variables.iter().any(|(n, _)| *n == lower) {
                        return Err(named(codes::ER_SP_DUP_VAR, "Duplicate variable", name));
                    }
                    let slot = self.variable(Variable {
                        name: name.clone(),
                        ty: Some((data_type.clone(), collation.clone())),
                    });
                    match &value {
                        Some(part) => {
                            self.program.exprs.push(part.clone());
                            let expr = self.program.exprs.len() as u32 - 1;
                            self.emit(Op::Set(slot, expr));
                        }
                        None => {
                            self.emit(Op::Null(slot));
                        }
                    }
                    self.own().variables.push((lower, slot));
                }
                Ok(())
            }
            Declaration::Condition(name, value) => self.condition(name, value),
            Declaration::Cursor(name, query) => {
                *stage = Stage::Cursors;
                self.cursor(name, query)
            }
            Declaration::Handler {
                action,
                conditions,
                body,
            } => {
                *stage = Stage::Handlers;
                self.handler(*action, conditions, body, own, cursors)
            }
        }
    }

    fn condition(&mut self, name: &Name, value: &ConditionValue) -> Result<(), SqlError> {
        let lower = name.to_lowercase();
        if self.own().conditions.iter().any(|(n, _)| *n == lower) {
            return Err(named(codes::ER_SP_DUP_COND, "Duplicate condition", name));
        }
        let caught = self.caught(value)?;
        self.own().conditions.push((lower, caught));
        Ok(())
    }

    fn cursor(&mut self, name: &Name, query: &Query) -> Result<(), SqlError> {
        let lower = name.to_lowercase();
        if self.own().cursors.iter().any(|(n, _)| *n == lower) {
            return Err(named(codes::ER_SP_DUP_CURS, "Duplicate cursor", name));
        }
        if query.into.is_some() {
            return Err(SqlError::fixed(codes::ER_SP_BAD_CURSOR_SELECT));
        }
        let statement = Statement::Query(Box::new(query.clone()));
        let part = self.statement_part(statement);
        self.program.cursors.push(Sql {
            part,
            text: [].into(),
            into: None,
        });
        let n = self.program.cursors.len() as u32 - 1;
        self.own().cursors.push((lower, n));
        Ok(())
    }

    fn handler(
        &mut self,
        action: HandlerAction,
        conditions: &[ConditionValue],
        body: &ProgramStatement,
        own: u32,
        cursors: u32,
    ) -> Result<(), SqlError> {
        if action == HandlerAction::Undo {
            return Err(SqlError::parse_error("UNDO", 1));
        }
        let mut all = Vec::with_capacity(conditions.len());
        for c in conditions {
            let caught = self.caught(c)?;
            if self.own().caught.contains(&caught) {
                return Err(SqlError::fixed(codes::ER_SP_DUP_HANDLER));
            }
            self.own().caught.push(caught);
            all.push(caught);
        }
        let around = self.emit(Op::Jump(0));
        let n = self.program.handlers.len() as u32;
        self.program.handlers.push(Handler {
            action,
            conditions: all,
            entry: self.here(),
            scope: own,
            after: 0,
            cursors,
        });
        self.program.scopes[own as usize].handlers.push(n);
        self.program.scopes.push(Scope {
            parent: Some(own),
            of_handler: true,
            handlers: Vec::new(),
        });
        let outer = self.scope;
        self.scope = self.program.scopes.len() as u32 - 1;
        // Labels around it are not for it.
        let labels = std::mem::take(&mut self.labels);
        let compiled = self.statement(body);
        self.labels = labels;
        compiled?;
        self.emit(Op::HandlerEnd(n));
        self.scope = outer;
        self.land(around);
        Ok(())
    }

    /// What a handler takes, or a condition's name stands for.
    fn caught(&self, value: &ConditionValue) -> Result<Caught, SqlError> {
        Ok(match value {
            ConditionValue::Error(n) => match u16::try_from(*n) {
                Ok(n @ 1..) => Caught::Number(n),
                _ => {
                    return Err(SqlError::new(
                        codes::ER_WRONG_VALUE,
                        format!("Incorrect CONDITION value: '{n}'"),
                    ));
                }
            },
            ConditionValue::SqlState(s) => Caught::State(state_of(s)?),
            ConditionValue::SqlWarning => Caught::Warning,
            ConditionValue::NotFound => Caught::NotFound,
            ConditionValue::SqlException => Caught::Exception,
            ConditionValue::Named(name) => self.named_condition(name)?,
        })
    }

    fn named_condition(&self, name: &Name) -> Result<Caught, SqlError> {
        let lower = name.to_lowercase();
        let mut all = self.blocks.iter().rev().flat_map(|b| &b.conditions);
        match all.find(|(n, _)| *n == lower) {
            Some((_, c)) => Ok(*c),
            None => Err(named(
                codes::ER_SP_COND_MISMATCH,
                "Undefined CONDITION",
                name,
            )),
        }
    }

    /// What SIGNAL raises.
    pub(super) fn signalled(&self, value: &ConditionValue) -> Result<Signalled, SqlError> {
        match self.caught(value)? {
            Caught::State(state) => Ok(Signalled { state }),
            _ => Err(SqlError::fixed(codes::ER_SIGNAL_BAD_CONDITION_TYPE)),
        }
    }

    /// The cursor of a name.
    pub(super) fn find_cursor(&self, name: &Name) -> Result<u32, SqlError> {
        let lower = name.to_lowercase();
        let mut all = self.blocks.iter().rev().flat_map(|b| &b.cursors);
        let found = all.find(|(n, _)| *n == lower);
        found
            .map(|(_, n)| *n)
            .ok_or_else(|| named(codes::ER_SP_CURSOR_MISMATCH, "Undefined CURSOR", name))
    }

    /// A label begins, where there is one.
    pub(super) fn label(
        &mut self,
        name: Option<&Name>,
        again: Option<u32>,
        cursors: u32,
    ) -> Result<(), SqlError> {
        let Some(name) = name else { return Ok(()) };
        let lower = name.to_lowercase();
        if self.labels.iter().any(|l| l.name == lower) {
            return Err(SqlError::new(
                codes::ER_SP_LABEL_REDEFINE,
                format!("Redefining label {name}"),
            ));
        }
        self.labels.push(Label {
            name: lower,
            again,
            leaves: Vec::new(),
            cursors,
        });
        Ok(())
    }

    /// The last label ends here.
    pub(super) fn end_label(&mut self) {
        let Some(label) = self.labels.pop() else {
            return;
        };
        label.leaves.into_iter().for_each(|jump| self.land(jump));
    }
}
