//! `START | STOP REPLICA`, `CHANGE REPLICATION SOURCE TO` and its older spellings.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// `START | STOP REPLICA | SLAVE | GROUP_REPLICATION ..`.
    pub fn replica_control(&mut self) -> R<Statement> {
        let start = self.bump().kw == Kw::START;
        let group = self.eat(Kw::GROUP_REPLICATION);
        if !group && !self.eat(Kw::REPLICA) {
            self.expect(Kw::SLAVE)?;
        }
        let mut control = ReplicaControl {
            start,
            group,
            io_thread: false,
            sql_thread: false,
            options: Vec::new(),
            channel: None,
        };
        while self.at_any(&[Kw::IO_THREAD, Kw::RELAY_THREAD, Kw::SQL_THREAD]) {
            match self.bump().kw {
                Kw::SQL_THREAD => control.sql_thread = true,
                _ => control.io_thread = true,
            }
            if !self.take(T::Comma) {
                break;
            }
        }
        if self.eat(Kw::UNTIL) {
            self.replication_options(&mut control.options)?;
        }
        while self.is(T::Word) && self.ahead(1).kind == T::Eq {
            let option = self.replication_option()?;
            control.options.push(option);
            self.take(T::Comma);
        }
        control.channel = self.for_channel()?;
        Ok(Statement::ReplicaControl(Box::new(control)))
    }

    /// `CHANGE MASTER TO ..`, `CHANGE REPLICATION SOURCE TO ..`, `CHANGE REPLICATION FILTER ..`.
    pub fn change_replication(&mut self) -> R<Statement> {
        self.expect(Kw::CHANGE)?;
        let mut filters = None;
        if self.eat(Kw::MASTER) {
            self.expect(Kw::TO)?;
        } else {
            self.expect(Kw::REPLICATION)?;
            if self.eat(Kw::FILTER) {
                filters = Some(self.list(Parser::replication_filter)?);
            } else {
                self.expect_all(&[Kw::SOURCE, Kw::TO])?;
            }
        }
        let mut options = Vec::new();
        if filters.is_none() {
            self.replication_options(&mut options)?;
        }
        let channel = self.for_channel()?;
        Ok(Statement::ChangeReplication(Box::new(ChangeReplication {
            filters,
            options,
            channel,
        })))
    }

    /// `REPLICATE_DO_DB = (..)` and its like.
    fn replication_filter(&mut self) -> R<ReplicationFilter> {
        let named = |p: &Self, k: &FilterKind| {
            p.is(T::Word) && p.slice(p.tok).eq_ignore_ascii_case(k.name().as_bytes())
        };
        let kind = FilterKind::ALL.into_iter().find(|k| named(self, k));
        let Some(kind) = kind else {
            return self.fail();
        };
        self.bump();
        self.need(T::Eq)?;
        self.need(T::LParen)?;
        if self.take(T::RParen) {
            let values = Vec::new();
            return Ok(ReplicationFilter { kind, values });
        }
        let values = self.list(|p| p.filter_value(kind))?;
        self.need(T::RParen)?;
        Ok(ReplicationFilter { kind, values })
    }

    fn filter_value(&mut self, kind: FilterKind) -> R<FilterValue> {
        Ok(match kind {
            FilterKind::DoDb | FilterKind::IgnoreDb => FilterValue::Database(self.ident()?),
            FilterKind::DoTable | FilterKind::IgnoreTable => {
                let database = self.ident()?;
                self.need(T::Dot)?;
                FilterValue::Table(database, self.ident()?)
            }
            FilterKind::WildDoTable | FilterKind::WildIgnoreTable => {
                let text = self.string()?;
                FilterValue::Pattern(String::from_utf8_lossy(&text).into())
            }
            FilterKind::RewriteDb => {
                self.need(T::LParen)?;
                let from = self.ident()?;
                self.need(T::Comma)?;
                let to = self.ident()?;
                self.need(T::RParen)?;
                FilterValue::Rewrite(from, to)
            }
        })
    }

    fn replication_options(&mut self, options: &mut Vec<(Name, Box<[u8]>)>) -> R<()> {
        loop {
            let option = self.replication_option()?;
            options.push(option);
            if !self.take(T::Comma) {
                return Ok(());
            }
        }
    }

    /// `name = value`; a value may be a literal, a word, an account or a list in parentheses.
    fn replication_option(&mut self) -> R<(Name, Box<[u8]>)> {
        let mut name = self.word_upper()?;
        if let Some(rest) = name.strip_prefix("MASTER_") {
            name = format!("SOURCE_{rest}").into();
        }
        if !self.is(T::Eq) && matches!(&*name, "SQL_AFTER_MTS_GAPS") {
            return Ok((name, Box::default()));
        }
        self.need(T::Eq)?;
        let start = self.tok.start;
        let value = match self.tok.kind {
            T::Str => {
                let text = self.string()?;
                if !self.take(T::At) {
                    return Ok((name, text));
                }
                self.ident_or_text()?;
                self.span_from(start).of(self.text()).into()
            }
            T::LParen => {
                let mut depth = 0usize;
                loop {
                    match self.tok.kind {
                        T::LParen => depth += 1,
                        T::RParen => depth -= 1,
                        T::Eof | T::Semi | T::Error => return self.fail(),
                        _ => {}
                    }
                    self.bump();
                    if depth == 0 {
                        break;
                    }
                }
                self.span_from(start).of(self.text()).into()
            }
            T::Int | T::Decimal | T::Float | T::Word | T::Quoted | T::HexNum => {
                let token = self.bump();
                self.slice(token).into()
            }
            _ => return self.fail(),
        };
        Ok((name, value))
    }
}
