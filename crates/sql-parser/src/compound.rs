//! The statements of a stored program's body: blocks, flow control, cursors, handlers, signals.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

/// A nested block takes this many levels of nesting.
const BLOCK_COST: u32 = 4;

impl Parser<'_> {
    /// One statement of a body, without the semicolon behind it.
    pub fn program_statement(&mut self) -> R<ProgramStatement> {
        self.deeper(BLOCK_COST, |p| {
            let label = p.label()?;
            p.flow_statement(label)
        })
    }

    /// `name:`, or nothing.
    fn label(&mut self) -> R<Option<Name>> {
        if self.is_ident(self.tok) && self.ahead(1).kind == T::Colon {
            let name = self.ident()?;
            self.bump();
            return Ok(Some(name));
        }
        Ok(None)
    }

    fn flow_statement(&mut self, label: Option<Name>) -> R<ProgramStatement> {
        let kw = self.tok.kw;
        match kw {
            Kw::BEGIN => return self.block(label),
            Kw::LOOP | Kw::WHILE | Kw::REPEAT => return self.looping(kw, label),
            _ if label.is_some() => return self.fail(),
            Kw::IF => return self.if_statement(),
            Kw::CASE => return self.case_statement(),
            Kw::SIGNAL => {
                self.bump();
                return Ok(ProgramStatement::Signal(self.signal_body(false)?));
            }
            Kw::RESIGNAL => {
                self.bump();
                return Ok(ProgramStatement::Resignal(self.signal_body(true)?));
            }
            Kw::GET => {
                return Ok(ProgramStatement::GetDiagnostics(Box::new(
                    self.get_diagnostics()?,
                )));
            }
            Kw::FETCH => return self.fetch(),
            Kw::RETURN => {
                self.bump();
                return Ok(ProgramStatement::Return(self.expr()?));
            }
            _ => {}
        }
        let named: Option<fn(Name) -> ProgramStatement> = match kw {
            Kw::LEAVE => Some(ProgramStatement::Leave),
            Kw::ITERATE => Some(ProgramStatement::Iterate),
            Kw::OPEN => Some(ProgramStatement::Open),
            Kw::CLOSE => Some(ProgramStatement::Close),
            _ => None,
        };
        if let Some(node) = named {
            self.bump();
            return Ok(node(self.ident()?));
        }
        let start = self.tok.start;
        let statement = self.statement()?;
        Ok(ProgramStatement::Sql(
            Box::new(statement),
            self.span_from(start),
        ))
    }

    /// Statements, each with its semicolon, up to one of `ends`.
    fn statements(&mut self, ends: &[Kw]) -> R<Vec<ProgramStatement>> {
        let mut all = Vec::new();
        while !self.at_any(ends) {
            all.push(self.program_statement()?);
            self.need(T::Semi)?;
        }
        Ok(all)
    }

    /// The label that may be repeated behind an `END`.
    fn end_label(&mut self, label: Option<&Name>) -> R<()> {
        if !self.is_ident(self.tok) {
            return Ok(());
        }
        let end = self.ident()?;
        if label.is_some_and(|label| label.eq_ignore_ascii_case(&end)) {
            return Ok(());
        }
        self.other(1310, "42000", format!("End-label {end} without match"))
    }

    fn block(&mut self, label: Option<Name>) -> R<ProgramStatement> {
        self.expect(Kw::BEGIN)?;
        self.eat2(Kw::NOT, Kw::ATOMIC);
        let mut declarations = Vec::new();
        while self.eat(Kw::DECLARE) {
            declarations.push(self.declaration()?);
            self.need(T::Semi)?;
        }
        let body = self.statements(&[Kw::END])?;
        self.expect(Kw::END)?;
        self.end_label(label.as_ref())?;
        Ok(ProgramStatement::Block(Box::new(Block {
            label,
            declarations,
            body,
        })))
    }

    fn looping(&mut self, kw: Kw, label: Option<Name>) -> R<ProgramStatement> {
        self.bump();
        match kw {
            Kw::LOOP => {
                let body = self.statements(&[Kw::END])?;
                self.expect_all(&[Kw::END, Kw::LOOP])?;
                self.end_label(label.as_ref())?;
                Ok(ProgramStatement::Loop(label, body))
            }
            Kw::WHILE => {
                let condition = self.expr()?;
                self.expect(Kw::DO)?;
                let body = self.statements(&[Kw::END])?;
                self.expect_all(&[Kw::END, Kw::WHILE])?;
                self.end_label(label.as_ref())?;
                Ok(ProgramStatement::While(label, condition, body))
            }
            _ => {
                let body = self.statements(&[Kw::UNTIL])?;
                self.expect(Kw::UNTIL)?;
                let condition = self.expr()?;
                self.expect_all(&[Kw::END, Kw::REPEAT])?;
                self.end_label(label.as_ref())?;
                Ok(ProgramStatement::Repeat(label, body, condition))
            }
        }
    }

    fn if_statement(&mut self) -> R<ProgramStatement> {
        self.expect(Kw::IF)?;
        let mut arms = Vec::new();
        loop {
            let condition = self.expr()?;
            self.expect(Kw::THEN)?;
            let body = self.statements(&[Kw::ELSEIF, Kw::ELSE, Kw::END])?;
            arms.push((condition, body));
            if !self.eat(Kw::ELSEIF) {
                break;
            }
        }
        let otherwise = if self.eat(Kw::ELSE) {
            self.statements(&[Kw::END])?
        } else {
            Vec::new()
        };
        self.expect_all(&[Kw::END, Kw::IF])?;
        Ok(ProgramStatement::If { arms, otherwise })
    }

    fn case_statement(&mut self) -> R<ProgramStatement> {
        self.expect(Kw::CASE)?;
        let operand = if self.at(Kw::WHEN) {
            None
        } else {
            Some(self.expr()?)
        };
        let mut arms = Vec::new();
        while self.eat(Kw::WHEN) {
            let when = self.expr()?;
            self.expect(Kw::THEN)?;
            arms.push((when, self.statements(&[Kw::WHEN, Kw::ELSE, Kw::END])?));
        }
        if arms.is_empty() {
            return self.fail();
        }
        let otherwise = if self.eat(Kw::ELSE) {
            Some(self.statements(&[Kw::END])?)
        } else {
            None
        };
        self.expect_all(&[Kw::END, Kw::CASE])?;
        Ok(ProgramStatement::Case {
            operand,
            arms,
            otherwise,
        })
    }

    fn fetch(&mut self) -> R<ProgramStatement> {
        self.expect(Kw::FETCH)?;
        if self.eat2(Kw::NEXT, Kw::FROM) {
        } else {
            self.eat(Kw::FROM);
        }
        let cursor = self.ident()?;
        self.expect(Kw::INTO)?;
        let targets = self.list(Self::ident)?;
        Ok(ProgramStatement::Fetch(cursor, targets))
    }

    fn declaration(&mut self) -> R<Declaration> {
        if self.at_any(&[Kw::CONTINUE, Kw::EXIT, Kw::UNDO]) {
            let action = match self.bump().kw {
                Kw::CONTINUE => HandlerAction::Continue,
                Kw::EXIT => HandlerAction::Exit,
                _ => HandlerAction::Undo,
            };
            self.expect_all(&[Kw::HANDLER, Kw::FOR])?;
            let conditions = self.list(Self::condition_value)?;
            let body = Box::new(self.program_statement()?);
            return Ok(Declaration::Handler {
                action,
                conditions,
                body,
            });
        }
        let mut names = self.list(Self::ident)?;
        if names.len() == 1 && self.at_any(&[Kw::CONDITION, Kw::CURSOR]) {
            let name = names.swap_remove(0);
            let condition = self.bump().kw == Kw::CONDITION;
            self.expect(Kw::FOR)?;
            if condition {
                return Ok(Declaration::Condition(name, self.condition_value()?));
            }
            return Ok(Declaration::Cursor(
                name,
                Box::new(self.query_expression()?),
            ));
        }
        let data_type = self.data_type()?;
        let collation = if self.eat(Kw::COLLATE) {
            Some(self.charset_name()?)
        } else {
            None
        };
        let default = if self.eat(Kw::DEFAULT) {
            Some(self.expr()?)
        } else {
            None
        };
        Ok(Declaration::Variables {
            names,
            data_type,
            collation,
            default,
        })
    }

    fn condition_value(&mut self) -> R<ConditionValue> {
        if self.is(T::Int) {
            return Ok(ConditionValue::Error(self.number()?));
        }
        if self.eat(Kw::SQLSTATE) {
            self.eat(Kw::VALUE);
            return Ok(ConditionValue::SqlState(self.string()?));
        }
        if self.eat(Kw::SQLWARNING) {
            return Ok(ConditionValue::SqlWarning);
        }
        if self.eat(Kw::SQLEXCEPTION) {
            return Ok(ConditionValue::SqlException);
        }
        if self.eat2(Kw::NOT, Kw::FOUND) {
            return Ok(ConditionValue::NotFound);
        }
        Ok(ConditionValue::Named(self.ident()?))
    }

    /// What follows `SIGNAL` or (`optional`) `RESIGNAL`.
    pub fn signal_body(&mut self, optional: bool) -> R<Signal> {
        let condition = if self.at(Kw::SQLSTATE) || self.is_ident(self.tok) {
            Some(self.condition_value()?)
        } else if optional {
            None
        } else {
            return self.fail();
        };
        let items = if self.eat(Kw::SET) {
            self.list(|p| {
                let name = p.word_upper()?;
                p.need(T::Eq)?;
                Ok((name, p.expr()?))
            })?
        } else {
            Vec::new()
        };
        Ok(Signal { condition, items })
    }

    /// `GET [CURRENT | STACKED] DIAGNOSTICS ..`.
    pub fn get_diagnostics(&mut self) -> R<GetDiagnostics> {
        self.expect(Kw::GET)?;
        let stacked = self.eat(Kw::STACKED);
        if !stacked {
            self.eat(Kw::CURRENT);
        }
        self.expect(Kw::DIAGNOSTICS)?;
        let condition = if self.eat(Kw::CONDITION) {
            Some(self.simple_expr()?)
        } else {
            None
        };
        let items = self.list(|p| {
            let target = if p.is(T::At) {
                Expr::UserVar(p.user_variable_name()?)
            } else {
                Expr::Column(p.column_ref()?)
            };
            p.need(T::Eq)?;
            Ok((target, p.word_upper()?))
        })?;
        Ok(GetDiagnostics {
            stacked,
            condition,
            items,
        })
    }
}
