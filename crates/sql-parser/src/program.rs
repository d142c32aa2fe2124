//! Stored programs: `CREATE TRIGGER | PROCEDURE | FUNCTION | EVENT` and the bodies of them.

use super::ast::*;
use super::create::Preamble;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// Views and stored programs behind `CREATE` and the preamble.
    pub fn create_program(&mut self, preamble: Preamble) -> R<Statement> {
        let viewish =
            preamble.or_replace || preamble.algorithm.is_some() || preamble.invoker.is_some();
        match self.kw() {
            Kw::VIEW => self.create_view(preamble, false),
            _ if viewish => self.fail(),
            Kw::TRIGGER => self.create_trigger(preamble.definer),
            Kw::PROCEDURE => self.create_routine(preamble.definer, false),
            Kw::FUNCTION => self.create_routine(preamble.definer, true),
            Kw::AGGREGATE => {
                self.bump();
                self.expect(Kw::FUNCTION)?;
                self.if_not_exists()?;
                let name = self.ident()?;
                self.loadable_function(true, name)
            }
            Kw::EVENT => self.create_event(preamble.definer),
            _ => self.fail(),
        }
    }

    fn create_trigger(&mut self, definer: Option<Account>) -> R<Statement> {
        self.expect(Kw::TRIGGER)?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let before = self.eat(Kw::BEFORE);
        if !before {
            self.expect(Kw::AFTER)?;
        }
        let event = match self.kw() {
            Kw::INSERT => TriggerEvent::Insert,
            Kw::UPDATE => TriggerEvent::Update,
            Kw::DELETE => TriggerEvent::Delete,
            _ => return self.fail(),
        };
        self.bump();
        self.expect(Kw::ON)?;
        let table = self.object_name()?;
        self.expect_all(&[Kw::FOR, Kw::EACH, Kw::ROW])?;
        let mut order = None;
        if self.at_any(&[Kw::FOLLOWS, Kw::PRECEDES]) {
            let follows = self.bump().kw == Kw::FOLLOWS;
            order = Some((follows, self.ident_or_text()?));
        }
        let (body, body_span) = self.program_body()?;
        Ok(Statement::CreateTrigger(Box::new(CreateTrigger {
            definer,
            if_not_exists,
            name,
            before,
            event,
            table,
            order,
            body,
            body_span,
        })))
    }

    /// A body and its span.
    fn program_body(&mut self) -> R<(Box<ProgramStatement>, Span)> {
        let start = self.tok.start;
        let body = self.program_statement()?;
        Ok((Box::new(body), self.span_from(start)))
    }

    fn create_routine(&mut self, definer: Option<Account>, function: bool) -> R<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        if function && self.at(Kw::RETURNS) && name.schema.is_none() {
            return self.loadable_function(false, name.name);
        }
        self.need(T::LParen)?;
        let start = self.tok.start;
        let mut params = Vec::new();
        if !self.is(T::RParen) {
            params = self.list(|p| p.routine_param(function))?;
        }
        let params_span = Span {
            start,
            end: self.last_end.max(start),
        };
        self.need(T::RParen)?;
        let returns = if function {
            self.expect(Kw::RETURNS)?;
            let data_type = self.data_type()?;
            Some((data_type, self.opt_collate()?))
        } else {
            None
        };
        let traits = self.routine_traits()?;
        let (body, body_span) = self.program_body()?;
        Ok(Statement::CreateRoutine(Box::new(CreateRoutine {
            definer,
            if_not_exists,
            name,
            params,
            returns,
            traits,
            body,
            body_span,
            params_span,
        })))
    }

    /// `COLLATE c`, or nothing.
    fn opt_collate(&mut self) -> R<Option<Name>> {
        if self.eat(Kw::COLLATE) {
            return self.charset_name().map(Some);
        }
        Ok(None)
    }

    fn loadable_function(&mut self, aggregate: bool, name: Name) -> R<Statement> {
        self.expect(Kw::RETURNS)?;
        self.word_upper()?;
        self.expect(Kw::SONAME)?;
        let library = self.string()?;
        Ok(Statement::CreateLoadableFunction(Box::new(
            CreateLoadableFunction {
                aggregate,
                name,
                library,
            },
        )))
    }

    fn routine_param(&mut self, function: bool) -> R<RoutineParam> {
        let mut mode = ParamMode::In;
        if !function && self.at_any(&[Kw::IN, Kw::OUT, Kw::INOUT]) {
            mode = match self.bump().kw {
                Kw::IN => ParamMode::In,
                Kw::OUT => ParamMode::Out,
                _ => ParamMode::InOut,
            };
        }
        let name = self.ident()?;
        let data_type = self.data_type()?;
        let collation = self.opt_collate()?;
        Ok(RoutineParam {
            mode,
            name,
            data_type,
            collation,
        })
    }

    fn routine_traits(&mut self) -> R<RoutineTraits> {
        let mut traits = RoutineTraits::default();
        loop {
            match self.kw() {
                Kw::COMMENT => {
                    self.bump();
                    traits.comment = Some(self.string()?);
                }
                Kw::LANGUAGE => {
                    self.bump();
                    self.expect(Kw::SQL)?;
                }
                Kw::NOT if self.at_ahead(1, Kw::DETERMINISTIC) => {
                    self.bump();
                    self.bump();
                    traits.deterministic = Some(false);
                }
                Kw::DETERMINISTIC => {
                    self.bump();
                    traits.deterministic = Some(true);
                }
                Kw::CONTAINS | Kw::NO => traits.data_access = Some(self.words_upper(2)?),
                Kw::READS | Kw::MODIFIES => traits.data_access = Some(self.words_upper(3)?),
                Kw::SQL => {
                    self.bump();
                    self.expect(Kw::SECURITY)?;
                    traits.invoker = Some(self.security()?);
                }
                _ => return Ok(traits),
            }
        }
    }

    /// `ALTER PROCEDURE | FUNCTION ..` behind the verb.
    pub fn alter_routine(&mut self) -> R<Statement> {
        let function = self.bump().kw == Kw::FUNCTION;
        let name = self.object_name()?;
        let traits = self.routine_traits()?;
        Ok(Statement::AlterRoutine(Box::new(AlterRoutine {
            function,
            name,
            traits,
        })))
    }

    fn create_event(&mut self, definer: Option<Account>) -> R<Statement> {
        self.expect(Kw::EVENT)?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        self.expect_all(&[Kw::ON, Kw::SCHEDULE])?;
        let schedule = self.event_schedule()?;
        let preserve = self.event_preserve()?;
        let status = self.event_status()?;
        let comment = self.event_comment()?;
        self.expect(Kw::DO)?;
        let (body, body_span) = self.program_body()?;
        Ok(Statement::CreateEvent(Box::new(CreateEvent {
            definer,
            if_not_exists,
            name,
            schedule,
            preserve,
            status,
            comment,
            body,
            body_span,
        })))
    }

    /// `ALTER EVENT ..` behind the preamble.
    pub fn alter_event(&mut self, preamble: Preamble) -> R<Statement> {
        self.expect(Kw::EVENT)?;
        let name = self.object_name()?;
        let mut schedule = None;
        let mut preserve = None;
        if self.eat2(Kw::ON, Kw::SCHEDULE) {
            schedule = Some(self.event_schedule()?);
        }
        if self.at(Kw::ON) {
            preserve = self.event_preserve()?;
        }
        let rename = if self.eat(Kw::RENAME) {
            self.expect(Kw::TO)?;
            Some(self.object_name()?)
        } else {
            None
        };
        let status = self.event_status()?;
        let comment = self.event_comment()?;
        let body = if self.eat(Kw::DO) {
            Some(self.program_body()?)
        } else {
            None
        };
        Ok(Statement::AlterEvent(Box::new(AlterEvent {
            definer: preamble.definer,
            name,
            schedule,
            preserve,
            rename,
            status,
            comment,
            body,
        })))
    }

    fn event_schedule(&mut self) -> R<EventSchedule> {
        if self.eat(Kw::AT) {
            return Ok(EventSchedule::At(self.expr()?));
        }
        self.expect(Kw::EVERY)?;
        let amount = self.expr()?;
        let unit = self.interval_unit()?;
        let starts = if self.eat(Kw::STARTS) {
            Some(self.expr()?)
        } else {
            None
        };
        let ends = if self.eat(Kw::ENDS) {
            Some(self.expr()?)
        } else {
            None
        };
        Ok(EventSchedule::Every {
            amount,
            unit,
            starts,
            ends,
        })
    }

    fn event_preserve(&mut self) -> R<Option<bool>> {
        if !self.eat(Kw::ON) {
            return Ok(None);
        }
        self.expect(Kw::COMPLETION)?;
        let preserve = !self.eat(Kw::NOT);
        self.expect(Kw::PRESERVE)?;
        Ok(Some(preserve))
    }

    fn event_status(&mut self) -> R<Option<EventStatus>> {
        if self.eat(Kw::ENABLE) {
            return Ok(Some(EventStatus::Enable));
        }
        if !self.eat(Kw::DISABLE) {
            return Ok(None);
        }
        if self.eat(Kw::ON) {
            if !self.eat(Kw::REPLICA) {
                self.expect(Kw::SLAVE)?;
            }
            return Ok(Some(EventStatus::DisableOnReplica));
        }
        Ok(Some(EventStatus::Disable))
    }

    fn event_comment(&mut self) -> R<Option<Box<[u8]>>> {
        if self.eat(Kw::COMMENT) {
            return self.string().map(Some);
        }
        Ok(None)
    }
}
