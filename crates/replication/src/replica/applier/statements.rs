//! The statements among the events: what each does to the transaction around it, and how one that commits by itself is applied.

use sql::context::replica::LogPlace;
use sql_parser::Parsed;
use sql_parser::ast::Statement;
use types::CollationId;
use types::SqlError;
use types::error::codes;
use types::gtid::GtidSet;
use wire::binlog::control::Context;
use wire::binlog::header::{Header, kind};
use wire::binlog::load::{FileBlock, LoadQuery, read_delete_file};
use wire::binlog::query::{Own, Query, Settings};

use super::super::catalog;
use super::super::kinds::{begins_branch, begins_with, ends_branch, in_query, is_temporary, shown};
use super::super::mariadb::{InMysql, in_mysql, version};
use super::super::statement::{Class, classify, set_context};
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
            return self.open_named().await;
        }
        // Of tables that know no transactions.
        if text.eq_ignore_ascii_case(b"COMMIT") {
            return self.commit(header, end).await;
        }
        if text.eq_ignore_ascii_case(b"ROLLBACK") {
            self.session.rollback_applied().await?;
            return self.commit(header, end).await;
        }
        let database = String::from_utf8_lossy(query.database);
        let database = self.filters.rewritten(&database).to_owned();
        let in_list = ends_or_begins(text) || self.filters.database(&database);
        if self.group.skipped && begins_branch(text) {
            self.group.open = true;
            return Ok(());
        }
        if self.group.skipped && ends_branch(text) {
            return self.commit(header, end).await;
        }
        if self.group.skipped || !in_list {
            return self.left_out(header, end).await;
        }
        let query = &Query {
            database: database.as_bytes(),
            ..query.clone()
        };
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

    /// An error that is passed over. Where others before it are not done, it may be one of those that are not believed; and who was interrupted has not
    /// done what came.
    pub(super) fn passes_over(&self, e: &SqlError) -> bool {
        if e.code == codes::ER_QUERY_INTERRUPTED
            || self.task.as_ref().is_some_and(|l| !l.is_first())
        {
            return false;
        }
        self.all_errors_skipped || self.skipped_errors.contains(&e.code)
    }

    /// A statement is not carried out. Where it is a transaction of its own, that it has come is kept.
    async fn left_out(&mut self, header: &Header, end: &LogPlace) -> Result<(), Stopped> {
        self.context.clear();
        match self.group.open {
            true => Ok(()),
            false => self.commit(header, end).await,
        }
    }

    /// A piece of a file that is to be loaded, or word that it is not.
    pub(super) async fn loaded_file(
        &mut self,
        header: &Header,
        body: &[u8],
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        self.begin_group(header).await?;
        if header.kind == kind::DELETE_FILE {
            let file = read_delete_file(body)?;
            // One that has not come, as when nothing of it was there to be loaded.
            let _none = self.loads.remove(file);
            return match self.group.open {
                true => Ok(()),
                false => self.commit(header, end).await,
            };
        }
        if self.group.skipped {
            return Ok(());
        }
        let first = header.kind == kind::BEGIN_LOAD_QUERY;
        let temporary = self.shared.instance.engine().temp_files();
        self.loads
            .block(temporary, &FileBlock::read(body)?, first)
            .await
    }

    /// A file that has come is loaded.
    pub(super) async fn load(
        &mut self,
        header: &Header,
        body: &[u8],
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        let load = LoadQuery::read(body)?;
        self.begin_group(header).await?;
        if !self.group.skipped {
            let file = self.loads.remove(load.file)?;
            let own = load.query.settings.collation_database.map(CollationId);
            let own = own.filter(|c| c.is_known()).map(CollationId::charset);
            let s = &mut self.session;
            let database = String::from_utf8_lossy(load.query.database);
            s.set_applied_database(self.filters.rewritten(&database));
            let charset = own.unwrap_or_else(|| s.schema_charset());
            s.set_applied_file(Some((file, charset)));
        }
        let name = format!("SQL_LOAD-{}-{}", header.server_id, load.file);
        let query = Query {
            statement: &load.text_with(&name),
            ..load.query.clone()
        };
        let loaded = self.query(header, &query, end).await;
        self.session.set_applied_file(None);
        loaded
    }

    async fn statement(
        &mut self,
        header: &Header,
        query: &Query<'_>,
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        let maria = self.format.as_ref().is_some_and(|f| f.is_mariadb());
        let ours = self.format.as_ref().is_some_and(|f| f.is_of_this_kind());
        let settings = match query.settings.own {
            // Where such a server says nothing of them, they are as they are at first.
            None if ours => &Settings {
                own: Some(Own::USUAL),
                ..query.settings.clone()
            },
            _ => &query.settings,
        };
        let s = &mut self.session;
        self.setter.of_statement(s, settings, maria)?;
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
        let writer = self.format.as_ref().filter(|f| f.is_mariadb());
        let writer = writer.map(|f| version(&f.server_version));
        let mut parsed = match s.read_applied(query.statement, writer) {
            Ok(parsed) => Some(parsed),
            // Where words mean something else to MySQL, they are not to be taken for that.
            Err(e) if maria => return Err(e.into()),
            // What is wrong with it is said when it runs.
            Err(_) => None,
        };
        if let Some(p) = &parsed
            && !self
                .filters
                .statement(&String::from_utf8_lossy(query.database), &p.statement)
        {
            return self.left_out(header, end).await;
        }
        let mut told = InMysql::default();
        if let Some(p) = parsed.as_ref().filter(|_| maria) {
            told = in_mysql(&self.session, p, query.statement)?;
            let Some(text) = &told.text else {
                return self.left_out(header, end).await;
            };
            if text != query.statement {
                parsed = self.session.read_applied(text, None).ok();
            }
        }
        let class = match &parsed {
            Some(p) => classify(&p.statement),
            None => Class::Session,
        };
        let query = &Query {
            statement: told.text.as_deref().unwrap_or(query.statement),
            ..query.clone()
        };
        let first = &told.first;
        for (set, _) in &told.settings {
            self.by_itself(set).await?;
        }
        let done = self.of_class(class, parsed, (header, query, end), first);
        let done = done.await;
        for (_, name) in &told.settings {
            self.by_itself(format!("SET SESSION {name} = DEFAULT").as_bytes())
                .await?;
        }
        done
    }

    /// A statement that was read: what it is, and what is to be carried out before it.
    async fn of_class(
        &mut self,
        class: Class,
        parsed: Option<Parsed>,
        (header, query, end): (&Header, &Query<'_>, &LogPlace),
        first: &[Vec<u8>],
    ) -> Result<(), Stopped> {
        let statement = parsed.map(|p| p.statement);
        if self.session.is_making() {
            // Its rows come, and nothing else.
            let code = codes::ER_STATEMENT_NOT_ALLOWED_AFTER_START_TRANSACTION;
            return Err(SqlError::fixed(code).into());
        }
        match class {
            Class::Definition if self.group.open && statement.as_ref().is_some_and(makes_table) => {
                self.make(first, query).await
            }
            Class::Distributed => match statement {
                Some(Statement::Xa(xa)) => self.xa(header, &xa, end).await,
                _ => Err(wire::ProtocolError::Malformed.into()),
            },
            Class::Rows | Class::Session if self.group.open => {
                self.group.changed = true;
                self.all_by_themselves(first).await?;
                self.run(query).await
            }
            Class::Rows | Class::Session => {
                self.session.begin_applied();
                self.all_by_themselves(first).await?;
                self.run(query).await?;
                self.commit(header, end).await
            }
            // No source has one in a branch.
            Class::Definition if self.branch.is_some() => {
                Err(wire::ProtocolError::Malformed.into())
            }
            Class::Definition => {
                self.session.apply_in_one();
                let outcome = self.definition_and_place((header, query, end), first).await;
                self.session.end_applied();
                outcome
            }
        }
    }

    /// A statement that commits by itself, and the place behind it.
    async fn definition_and_place(
        &mut self,
        (header, query, end): (&Header, &Query<'_>, &LogPlace),
        first: &[Vec<u8>],
    ) -> Result<(), Stopped> {
        self.definition(first, query).await?;
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

    /// Ends the transaction, of which nothing is done, and waits until all before it is. Whoever hands it out has seen to that, but where it is in a
    /// compressed transaction.
    ///
    /// In that order: the lock table does not know of this wait, and would not find that one before it waits, by way of another channel, for the
    /// name that this transaction has locked.
    pub(super) async fn wait_first_without_locks(&mut self) -> Result<(), Stopped> {
        let locked = base::mutant!("name-locked-while-those-before-are-waited-for");
        if self.session.in_transaction() && !locked {
            self.session.rollback_applied().await?;
        }
        if self.task.as_ref().is_some_and(|l| !l.wait_first()) {
            return Err(Stopped::Asked);
        }
        if self.session.in_transaction() {
            self.session.rollback_applied().await?;
        }
        Ok(())
    }

    /// A table whose rows follow, as one transaction with them: CREATE TABLE .. SELECT, of MySQL from 8.0.21 on and of MariaDB.
    async fn make(&mut self, first: &[Vec<u8>], query: &Query<'_>) -> Result<(), Stopped> {
        if self.session.has_changes() {
            return Err(wire::ProtocolError::Malformed.into());
        }
        self.wait_first_without_locks().await?;
        if !self.claim_name().await? {
            // Another channel has done it.
            self.group.skipped = true;
            self.session.begin_applied();
            return Ok(());
        }
        self.all_by_themselves(first).await?;
        let mut nobody = sql::sink::Collector::new();
        let made = self
            .session
            .make_applied(query.statement, &mut nobody)
            .await;
        as_on_the_source(made.map(drop), query)?;
        self.session.begin_applied();
        Ok(())
    }

    /// A statement that commits by itself. What is in front of it is not there twice, and comes before the definitions' sum is kept: after a crash between the two it does
    /// nothing, and the statement runs.
    async fn definition(&mut self, first: &[Vec<u8>], query: &Query<'_>) -> Result<(), Stopped> {
        // Its transaction has nothing yet but its beginning: what it has is written with the rows that follow.
        self.wait_first_without_locks().await?;
        if !self.claim_name().await? {
            // Another channel has done it.
            self.group.skipped = true;
            return Ok(());
        }
        let now = catalog::sum(&self.shared.instance.engine().catalog());
        let before = self.place.unfinished;
        if before.is_some_and(|b| b != now) {
            return Ok(());
        }
        // A statement that changes no definition leaves nothing else: to carry it out twice would be two transactions there, the second with a name of
        // its own.
        if let Some(gtid) = self.group.gtid
            && self.session.is_logged(gtid).await?
        {
            // Without a note of this channel's own it was another channel, which did not come so far as to keep its place.
            if before.is_none() {
                self.is_known_now();
            }
            return Ok(());
        }
        self.all_by_themselves(first).await?;
        if before.is_none() {
            self.note_what_is_here();
            let now = catalog::sum(&self.shared.instance.engine().catalog());
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

    /// After a crash within a change of definitions the receiver goes by the place alone, as what is in this server's log may be that very change. What
    /// is there for another reason (it was the source itself, or under another one) is not to come again either.
    fn note_what_is_here(&mut self) {
        let (Some(gtid), Some(log)) = (self.group.gtid, self.shared.instance.binary_log()) else {
            return;
        };
        let mut here = log.executed();
        let mut this = GtidSet::new();
        this.add(gtid);
        here.subtract(&this);
        self.place.gtids.add_set(&here);
    }

    /// What is carried out in front of a statement of another server.
    async fn all_by_themselves(&mut self, texts: &[Vec<u8>]) -> Result<(), SqlError> {
        for text in texts {
            self.by_itself(text).await?;
        }
        Ok(())
    }

    async fn by_itself(&mut self, text: &[u8]) -> Result<(), SqlError> {
        let mut nobody = sql::sink::Collector::new();
        self.session.execute(text, &mut nobody).await
    }

    async fn run(&mut self, query: &Query<'_>) -> Result<(), Stopped> {
        let mut nobody = sql::sink::Collector::new();
        let done = self.session.execute(query.statement, &mut nobody).await;
        as_on_the_source(done, query)
    }
}

/// A statement has ended as it has on the source.
fn as_on_the_source(done: Result<(), SqlError>, query: &Query<'_>) -> Result<(), Stopped> {
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

/// Whether a statement begins or ends a transaction, or a part of one: lists of databases say nothing of it. MySQL looks at the first letters, too.
fn ends_or_begins(text: &[u8]) -> bool {
    [&b"SAVEPOINT"[..], b"ROLLBACK", b"XA "]
        .iter()
        .any(|with| begins_with(text, with))
}

/// A table of its own columns, for everybody.
fn makes_table(statement: &Statement) -> bool {
    matches!(statement, Statement::CreateTable(t) if !t.temporary && t.query.is_none())
}
