//! Which rule a statement's first words choose.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// One statement, without what separates it from the next.
    pub fn statement(&mut self) -> R<Statement> {
        match self.kw() {
            Kw::SELECT | Kw::VALUES | Kw::TABLE => self.query_statement(None),
            Kw::INSERT | Kw::REPLACE => self.insert(),
            Kw::UPDATE => self.update(None),
            Kw::DELETE => self.delete(None),
            Kw::WITH => self.with_statement(),
            Kw::SET => self.set_statement(),
            Kw::SHOW => self.show(),
            Kw::CREATE => self.create(),
            Kw::ALTER => self.alter(),
            Kw::DROP => self.drop(),
            Kw::RENAME => self.rename(),
            Kw::TRUNCATE => self.truncate(),
            Kw::CALL => self.call_statement(),
            Kw::DO => self.do_statement(),
            Kw::LOAD => self.load_statement(),
            Kw::HANDLER => self.handler(),
            Kw::USE => {
                self.bump();
                Ok(Statement::Use(self.ident()?))
            }
            Kw::DESCRIBE | Kw::DESC | Kw::EXPLAIN => self.explain(),
            Kw::NONE if self.is(T::LParen) => self.query_statement(None),
            Kw::NONE => self.fail(),
            kw => self.administrative(kw),
        }
    }

    /// Transactions, prepared statements, maintenance, accounts, replication.
    fn administrative(&mut self, kw: Kw) -> R<Statement> {
        match kw {
            Kw::BEGIN | Kw::START | Kw::COMMIT | Kw::ROLLBACK | Kw::SAVEPOINT | Kw::RELEASE => {
                self.transaction(kw)
            }
            Kw::STOP => self.replica_control(),
            Kw::XA => self.xa(),
            Kw::LOCK | Kw::UNLOCK => self.lock_statement(),
            Kw::PREPARE | Kw::EXECUTE | Kw::DEALLOCATE => self.prepared(kw),
            Kw::KILL => self.kill(),
            Kw::CHECK | Kw::ANALYZE | Kw::OPTIMIZE | Kw::REPAIR | Kw::CHECKSUM => {
                self.maintenance(kw)
            }
            Kw::FLUSH => self.flush(),
            Kw::RESET => self.reset_statement(),
            Kw::PURGE => self.purge(),
            Kw::GRANT => self.grant(),
            Kw::REVOKE => self.revoke(),
            Kw::CHANGE => self.change_replication(),
            Kw::SIGNAL => {
                self.bump();
                Ok(Statement::Signal(Box::new(self.signal_body(false)?)))
            }
            Kw::RESIGNAL => {
                self.bump();
                Ok(Statement::Resignal(Box::new(self.signal_body(true)?)))
            }
            Kw::GET => Ok(Statement::GetDiagnostics(Box::new(self.get_diagnostics()?))),
            Kw::HELP => {
                self.bump();
                Ok(Statement::Help(self.ident_or_text()?))
            }
            Kw::SHUTDOWN => {
                self.bump();
                Ok(Statement::Shutdown)
            }
            Kw::RESTART => {
                self.bump();
                Ok(Statement::Restart)
            }
            Kw::INSTALL | Kw::UNINSTALL if self.is_word_ahead(1, b"COMPONENT") => {
                let install = self.bump().kw == Kw::INSTALL;
                self.bump();
                let urns = self.list(Self::text_name)?;
                Ok(Statement::Component { install, urns })
            }
            Kw::INSTALL | Kw::UNINSTALL if self.is_word_ahead(1, b"PLUGIN") => {
                let install = self.bump().kw == Kw::INSTALL;
                self.bump();
                let name = self.ident()?;
                let library = match install {
                    true => {
                        self.expect(Kw::SONAME)?;
                        Some(self.text_name()?)
                    }
                    false => None,
                };
                Ok(Statement::Plugin { name, library })
            }
            Kw::INSTALL | Kw::UNINSTALL => self.unsupported(self.tok.start, 0, 2),
            Kw::BACKUP if self.at_ahead(1, Kw::SERVER) => self.backup(),
            Kw::CLONE if self.at_ahead(1, Kw::LOCAL) => self.clone_local(),
            Kw::BINLOG => self.binlog(),
            Kw::CLONE => self.unsupported(self.tok.start, 0, 1),
            Kw::CACHE if self.at_ahead(1, Kw::INDEX) => self.unsupported(self.tok.start, 0, 2),
            Kw::IMPORT if self.at_ahead(1, Kw::TABLE) => self.unsupported(self.tok.start, 0, 2),
            _ => self.fail(),
        }
    }

    /// `BINLOG 'events'`, `BINLOG @first, @second`.
    fn binlog(&mut self) -> R<Statement> {
        self.bump();
        let events = match self.is(T::At) {
            true => {
                let first = self.user_variable_name()?;
                self.need(T::Comma)?;
                BinlogEvents::Variables(first, self.user_variable_name()?)
            }
            false => BinlogEvents::Text(self.string()?),
        };
        Ok(Statement::Binlog(Box::new(events)))
    }

    fn query_statement(&mut self, with: Option<Box<With>>) -> R<Statement> {
        let query = if with.is_some() {
            self.query_behind_with(with)?
        } else {
            self.query_expression()?
        };
        Ok(Statement::Query(Box::new(query)))
    }

    fn with_statement(&mut self) -> R<Statement> {
        let with = self.with_clause()?;
        match self.kw() {
            Kw::UPDATE => self.update(with),
            Kw::DELETE => self.delete(with),
            _ => self.query_statement(with),
        }
    }

    fn load_statement(&mut self) -> R<Statement> {
        match self.ahead(1).kw {
            Kw::INDEX => self.unsupported(self.tok.start, 0, 2),
            _ => self.load_data(),
        }
    }

    /// `PREPARE`, `EXECUTE`, `DEALLOCATE PREPARE`.
    fn prepared(&mut self, kw: Kw) -> R<Statement> {
        self.bump();
        if kw == Kw::DEALLOCATE {
            self.expect(Kw::PREPARE)?;
            return Ok(Statement::Deallocate(self.ident()?));
        }
        let name = self.ident()?;
        if kw == Kw::PREPARE {
            self.expect(Kw::FROM)?;
            let source = if self.is(T::At) {
                PrepareSource::UserVar(self.user_variable_name()?)
            } else {
                PrepareSource::Text(self.string()?)
            };
            return Ok(Statement::Prepare { name, source });
        }
        let using = if self.eat(Kw::USING) {
            self.list(Self::user_variable_name)?
        } else {
            Vec::new()
        };
        Ok(Statement::Execute { name, using })
    }

    /// `DESCRIBE`, `DESC`, `EXPLAIN`.
    fn explain(&mut self) -> R<Statement> {
        self.bump();
        let analyze = self.eat(Kw::ANALYZE);
        let mut format = None;
        if self.at(Kw::FORMAT) && self.ahead(1).kind == T::Eq {
            self.bump();
            self.bump();
            format = Some(self.explain_format()?);
        } else if self.at_any(&[Kw::EXTENDED, Kw::PARTITIONS]) && self.statement_follows(1) {
            self.bump();
        }
        if !analyze && self.eat2(Kw::FOR, Kw::CONNECTION) {
            let target = ExplainTarget::Connection(self.number()?);
            return Ok(Statement::Explain(Box::new(Explain {
                analyze,
                format,
                target,
            })));
        }
        if !self.statement_follows(0) {
            if analyze || format.is_some() {
                return self.fail();
            }
            return self.describe();
        }
        let target = ExplainTarget::Statement(self.statement()?);
        Ok(Statement::Explain(Box::new(Explain {
            analyze,
            format,
            target,
        })))
    }

    fn explain_format(&mut self) -> R<ExplainFormat> {
        let name = self.ident_or_text()?.to_ascii_lowercase();
        match &*name {
            "traditional" => Ok(ExplainFormat::Traditional),
            "json" => Ok(ExplainFormat::Json),
            "tree" => Ok(ExplainFormat::Tree),
            _ => self.other(
                1791,
                "HY000",
                format!("Unknown EXPLAIN format name: '{name}'"),
            ),
        }
    }

    /// Whether a statement that can be explained starts `n` tokens ahead.
    fn statement_follows(&mut self, n: usize) -> bool {
        let token = self.ahead(n);
        token.kind == T::LParen
            || matches!(
                token.kw,
                Kw::SELECT
                    | Kw::WITH
                    | Kw::VALUES
                    | Kw::TABLE
                    | Kw::INSERT
                    | Kw::REPLACE
                    | Kw::UPDATE
                    | Kw::DELETE
            )
    }

    fn describe(&mut self) -> R<Statement> {
        let table = self.object_name()?;
        let column = if self.is(T::Str) {
            Some(self.string()?)
        } else if self.is_ident(self.tok) {
            Some(self.ident()?.into_string().into_bytes().into())
        } else {
            None
        };
        Ok(Statement::Describe(Box::new(Describe { table, column })))
    }
}
