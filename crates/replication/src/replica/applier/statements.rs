//! The statements among the events: what each does to the transaction around it, and how one that commits by itself is applied.

use sql::Session;
use sql::context::replica::LogPlace;
use sql_parser::ast::Statement;
use types::SqlError;
use types::error::codes;
use wire::binlog::control::Context;
use wire::binlog::header::{Header, kind};
use wire::binlog::query::Query;

use super::super::catalog;
use super::super::kinds::{in_query, is_temporary, shown};
use super::super::statement::{Class, classify, of_mariadb, set_context};
use super::super::stopped::Stopped;
use super::Applier;

impl Applier<'_> {
    pub(super) async fn query(
        &mut self,
        header: &Header,
        query: &Query<'_>,
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        let text = query.statement;
        self.begin_group(header).await?;
        if text.eq_ignore_ascii_case(b"BEGIN") {
            self.setter.of_transaction(&query.settings);
            self.open();
            return Ok(());
        }
        // Of tables that know no transactions.
        if text.eq_ignore_ascii_case(b"COMMIT") {
            return self.commit(header, end).await;
        }
        if text.eq_ignore_ascii_case(b"ROLLBACK") {
            self.session.rollback_applied().await?;
            return self.commit(header, end).await;
        }
        if self.group.skipped {
            self.context.clear();
            return match self.group.open {
                true => Ok(()),
                false => self.commit(header, end).await,
            };
        }
        let outcome = self.statement(header, query, end).await;
        match outcome {
            Err(Stopped::Failed(e)) if self.passes_over(&e) => {
                match self.group.open {
                    true => {}
                    false => self.commit(header, end).await?,
                }
                Ok(())
            }
            Err(Stopped::Failed(e)) if is_temporary(&e) => Err(Stopped::Failed(e)),
            Err(Stopped::Failed(e)) => Err(Stopped::Failed(in_query(&e, query))),
            outcome => outcome,
        }
    }

    async fn statement(
        &mut self,
        header: &Header,
        query: &Query<'_>,
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        let maria = self.format.as_ref().is_some_and(|f| f.is_mariadb());
        let s = &mut self.session;
        self.setter.of_statement(s, &query.settings, maria)?;
        let micros = i64::from(header.timestamp) * 1_000_000
            + i64::from(query.settings.microseconds.unwrap_or(0));
        s.set_applied_time(Some(micros));
        s.set_applied_database(&String::from_utf8_lossy(query.database));
        for (of, body) in std::mem::take(&mut self.context) {
            let context = match of {
                kind::INTVAR => Context::read_intvar(&body)?,
                kind::RAND => Context::read_rand(&body)?,
                _ => Context::read_variable(&body)?,
            };
            set_context(s, &context)?;
        }
        let parsed = parsed(s, query.statement);
        let class = match &parsed {
            Some(statement) => classify(statement),
            // What is wrong with it is said when it runs.
            None => Class::Session,
        };
        let lenient = parsed.as_ref().filter(|_| maria).and_then(of_mariadb);
        let query = &Query {
            statement: lenient.as_deref().unwrap_or(query.statement),
            ..query.clone()
        };
        match class {
            Class::Distributed => {
                Err(SqlError::not_supported("XA transactions of a source").into())
            }
            Class::Rows | Class::Session if self.group.open => self.run(query).await,
            Class::Rows | Class::Session => {
                self.session.begin_applied();
                self.run(query).await?;
                self.commit(header, end).await
            }
            Class::Definition => {
                self.definition(query).await?;
                match self.group.open {
                    // Rows follow, as behind CREATE TABLE .. SELECT.
                    true => {
                        self.session.begin_applied();
                        Ok(())
                    }
                    false => {
                        // The change has left what it was, with its name.
                        self.session.set_applied_origin(None);
                        self.commit(header, end).await
                    }
                }
            }
        }
    }

    /// A statement that commits by itself.
    async fn definition(&mut self, query: &Query<'_>) -> Result<(), Stopped> {
        // Whoever hands it out has seen to that, but where it is in a compressed transaction.
        if self.lane.as_ref().is_some_and(|l| !l.wait_first()) {
            return Err(Stopped::Asked);
        }
        if self.session.in_transaction() {
            // Its transaction has nothing yet but its beginning: what it has is written with the rows that follow.
            self.session.rollback_applied().await?;
        }
        let now = catalog::sum(&self.shared.instance.engine().catalog());
        let before = self.place.unfinished;
        if before.is_some_and(|b| b != now) {
            return Ok(());
        }
        if before.is_some() && catalog::is_logged(&self.shared.instance, self.group.gtid).await? {
            return Ok(());
        }
        if before.is_none() {
            self.place.unfinished = Some(now);
            self.writer.write(&mut self.session, &self.place).await?;
        }
        let outcome = self.run(query).await;
        match outcome {
            // The account is there already, or is gone: those statements change no definition.
            Err(Stopped::Failed(e)) if before.is_some() && e.code == codes::ER_CANNOT_USER => {
                Ok(())
            }
            Err(e) => {
                self.place.unfinished = None;
                self.writer.write(&mut self.session, &self.place).await?;
                Err(e)
            }
            Ok(()) => Ok(()),
        }
    }

    async fn run(&mut self, query: &Query<'_>) -> Result<(), Stopped> {
        let mut nobody = sql::sink::Collector::new();
        let done = self.session.execute(query.statement, &mut nobody).await;
        match (done, query.error) {
            (Ok(()), 0) => Ok(()),
            (Err(e), code) if e.code == code => Ok(()),
            (Err(e), 0) => Err(e.into()),
            (done, code) => {
                let (text, own) = match done {
                    Ok(()) => ("no error".to_owned(), 0),
                    Err(e) => (e.message, e.code),
                };
                Err(SqlError::new(
                    codes::ER_INCONSISTENT_ERROR,
                    format!(
                        "Query caused different errors on source and replica. Error on source: error code={code}; Error on \
                         replica:actual message='{text}', error code={own}. Default database:'{}'. Query:'{}'",
                        String::from_utf8_lossy(query.database),
                        shown(query.statement)
                    ),
                )
                .into())
            }
        }
    }
}

fn parsed(s: &Session, text: &[u8]) -> Option<Statement> {
    let options = s.parse_settings();
    Some(sql_parser::parse(text, &options).ok()?.statement)
}
