//! The applier: takes events from the queue and does what they say. Each transaction of the source is one here, and the place behind it is
//! written in it: after a crash it goes on exactly there.
//!
//! A change of definitions commits by itself. What is known of it after a crash is in [`catalog`](super::catalog).

use std::time::Duration;

use base::block_on;
use sql::Session;
use sql::context::replica::LogPlace;
use sql_parser::ast::Statement;
use types::SqlError;
use types::error::codes;
use types::gtid::{Gtid, Origin};
use wire::binlog::control::{Context, MariaGtid, Transaction};
use wire::binlog::format::Format;
use wire::binlog::header::{Header, flag, kind};
use wire::binlog::query::Query;
use wire::binlog::rows::Change;
use wire::read::Reader;

use super::catalog;
use super::place::Place;
use super::queue::Taken;
use super::row_events::{At, RowEvents};
use super::state::Shared;
use super::statement::{Class, Setter, classify, set_context};
use super::stopped::Stopped;
use super::store::{self, PlaceWriter};

/// The transaction of the source that is being applied.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// An event of it has come.
    begun: bool,
    /// It goes on until a commit.
    open: bool,
    /// It is left out (`sql_replica_skip_counter`).
    skipped: bool,
    gtid: Option<Gtid>,
    /// Domain, server, number.
    maria: Option<(u32, u32, u64)>,
}

/// What an applier has at hand.
pub(super) struct Applier<'s> {
    shared: &'s Shared,
    session: Session,
    writer: PlaceWriter,
    /// Behind what is applied and durable.
    place: Place,
    format: Option<Format>,
    setter: Setter,
    rows: RowEvents,
    group: Group,
    /// What the next statement uses: kinds and bodies of events.
    context: Vec<(u8, Vec<u8>)>,
    /// Error numbers that are passed over.
    skipped_errors: Vec<u16>,
    all_errors_skipped: bool,
}

/// The applier's thread.
pub(super) fn run(shared: &Shared) {
    let ended = block_on(run_to_end(shared));
    let mut s = shared.state();
    if let Err(e) = ended {
        s.applier_failure = shared.failure(e.code, e.message);
    }
    s.applier_runs = false;
    s.applier_state = "";
    s.until = None;
    s.delayed_until = None;
    s.applying_gtid.clear();
    drop(s);
    shared.ended.fire();
}

async fn run_to_end(shared: &Shared) -> Result<(), SqlError> {
    let id = shared.instance.next_connection_id();
    let mut session = Session::of_the_applier(&shared.instance, id);
    let outcome = run_session(shared, &mut session).await;
    session.close().await;
    outcome
}

async fn run_session(shared: &Shared, session: &mut Session) -> Result<(), SqlError> {
    let mut tries = 0u64;
    loop {
        let Some((_, place)) = store::read(session).await? else {
            return Err(SqlError::fixed(codes::ER_BAD_REPLICA));
        };
        {
            let mut s = shared.state();
            s.place = place.clone();
        }
        shared.begin_stream(place.clone());
        // A session of its own each time: nothing of what was tried before is left in it.
        let id = shared.instance.next_connection_id();
        let mut own = Session::of_the_applier(&shared.instance, id);
        let writer = PlaceWriter::new(&mut own)?;
        own.set_applied_kept(shared.variable("log_replica_updates") != 0)?;
        let skipped = shared.text_variable("replica_skip_errors");
        let mut applier = Applier {
            shared,
            session: own,
            writer,
            place,
            format: None,
            setter: Setter::default(),
            rows: RowEvents::default(),
            group: Group::default(),
            context: Vec::new(),
            all_errors_skipped: skipped.eq_ignore_ascii_case("all"),
            skipped_errors: skipped
                .split(',')
                .filter_map(|n| n.trim().parse().ok())
                .collect(),
        };
        let (outcome, applied) = applier.apply_all().await;
        // What is half done is taken back.
        let undone = applier.session.rollback_applied().await;
        applier.session.close().await;
        undone?;
        if applied {
            tries = 0;
        }
        match outcome {
            // Another stream is wanted.
            Ok(()) => {}
            Err(Stopped::Asked | Stopped::Until) => return Ok(()),
            Err(Stopped::Failed(e)) => {
                let temporary = matches!(
                    e.code,
                    codes::ER_LOCK_DEADLOCK | codes::ER_LOCK_WAIT_TIMEOUT
                );
                tries += 1;
                if !temporary || tries > shared.variable("replica_transaction_retries") {
                    return Err(e);
                }
                shared.state().retries += 1;
            }
        }
    }
}

impl Applier<'_> {
    /// Applies what comes. `Ok`: another stream is wanted. The second: whether a transaction was applied.
    async fn apply_all(&mut self) -> (Result<(), Stopped>, bool) {
        let mut applied = false;
        loop {
            if self.shared.queue.is_empty() {
                self.shared.state().applier_state =
                    "Replica has read all relay log; waiting for more updates";
            }
            let event = match self.shared.queue.wait_next() {
                Taken::Event(event) => event,
                Taken::Stop => return (Err(Stopped::Asked), applied),
                Taken::GivenUp => return (Ok(()), applied),
            };
            self.shared.state().applier_state = "Applying batch of row changes";
            let before = self.place.log.clone();
            let outcome = self.event(&event.header, &event.body, &event.end).await;
            applied |= self.place.log != before && !self.group.begun;
            if let Err(stopped) = outcome {
                return (Err(stopped), applied);
            }
        }
    }

    /// Does what an event says, behind which is `end`.
    async fn event(&mut self, header: &Header, body: &[u8], end: &LogPlace) -> Result<(), Stopped> {
        match header.kind {
            kind::FORMAT_DESCRIPTION => {
                let (format, _) = Format::read(body)?;
                self.format = Some(format);
            }
            kind::ROTATE => {
                if !self.group.begun {
                    self.place.log = end.clone();
                    self.shared.state().place.log = end.clone();
                }
            }
            kind::GTID | kind::ANONYMOUS_GTID => {
                let t = Transaction::read(body, header.kind == kind::ANONYMOUS_GTID)?;
                self.group = Group {
                    gtid: t.gtid,
                    ..Group::default()
                };
                self.session.set_applied_origin(Some(Origin {
                    gtid: t.gtid,
                    server_id: header.server_id,
                    committed_micros: t.original_commit_micros,
                    version: t.original_version,
                }));
                self.begin_group(header)?;
            }
            kind::MARIA_GTID => {
                let g = MariaGtid::read(body)?;
                self.group = Group {
                    maria: Some((g.domain, header.server_id, g.sequence)),
                    ..Group::default()
                };
                self.session.set_applied_origin(Some(Origin {
                    gtid: None,
                    server_id: header.server_id,
                    committed_micros: 0,
                    version: 0,
                }));
                self.begin_group(header)?;
                if !g.standalone {
                    self.open();
                }
            }
            kind::INTVAR | kind::RAND | kind::USER_VAR => {
                let bytes: usize = self.context.iter().map(|(_, b)| b.len() + 64).sum();
                if bytes + body.len() > self.shared.variable("replica_max_allowed_packet") as usize
                {
                    return Err(wire::ProtocolError::PacketTooLarge.into());
                }
                self.context.push((header.kind, body.to_vec()));
            }
            kind::QUERY => {
                let query = Query::read(body)?;
                self.query(header, &query, end).await?;
            }
            kind::XID => self.commit(header, end).await?,
            kind::TABLE_MAP => self.rows.table(body)?,
            kind::TRANSACTION_PAYLOAD => {
                Box::pin(self.payload(body, end)).await?;
            }
            kind::INCIDENT => {
                let mut r = Reader::new(body);
                r.u16()?;
                let length = usize::from(r.u8()?);
                let why = String::from_utf8_lossy(r.read_bytes(length)?).into_owned();
                let text =
                    format!("The incident LOST_EVENTS occurred on the source. Message: {why}");
                return Err(SqlError::new(codes::ER_REPLICA_INCIDENT, text).into());
            }
            // They are for readers.
            kind::STOP
            | kind::IGNORABLE
            | kind::ROWS_QUERY
            | kind::PREVIOUS_GTIDS
            | kind::TRANSACTION_CONTEXT
            | kind::VIEW_CHANGE
            | kind::HEARTBEAT
            | kind::HEARTBEAT_V2
            | kind::MARIA_ANNOTATE_ROWS
            | kind::MARIA_CHECKPOINT
            | kind::MARIA_GTID_LIST
            | kind::MARIA_START_ENCRYPTION => {}
            other => match Change::by_kind(other) {
                Some((change, second)) => self.row_event(header, change, second, body, end).await?,
                // A source with `binlog_row_value_options = PARTIAL_JSON`: what changed within documents, and not the documents.
                None if other == kind::PARTIAL_UPDATE_ROWS => {
                    let what = "binlog_row_value_options=PARTIAL_JSON of a source (Update_rows_partial event)";
                    return Err(SqlError::not_supported(what).into());
                }
                None if header.flags & flag::IGNORABLE != 0 => {}
                None => {
                    let text = format!("Fatal error: an event of kind {other} cannot be applied");
                    return Err(SqlError::new(codes::ER_REPLICA_FATAL_ERROR, text).into());
                }
            },
        }
        Ok(())
    }

    /// The events of a compressed transaction, one behind the other as they come out of it.
    async fn payload(&mut self, body: &[u8], end: &LogPlace) -> Result<(), Stopped> {
        let most = self.shared.variable("replica_max_allowed_packet") as usize;
        let mut events = super::payload::Events::of(body, most)?;
        while let Some((header, body)) = events.next()? {
            if header.kind == kind::TRANSACTION_PAYLOAD {
                return Err(wire::ProtocolError::Malformed.into());
            }
            self.event(&header, &body, end).await?;
        }
        Ok(())
    }

    /// A transaction of the source begins, where it has not already.
    fn begin_group(&mut self, header: &Header) -> Result<(), Stopped> {
        if self.group.begun {
            return Ok(());
        }
        self.group.begun = true;
        let mut s = self.shared.state();
        let place = &s.place;
        let reached =
            |u: &super::until::Until| u.is_reached(&place.log, self.group.gtid, &place.gtids);
        if s.until.as_ref().is_some_and(reached) {
            return Err(Stopped::Until);
        }
        if s.skip > 0 {
            s.skip -= 1;
            self.group.skipped = true;
        }
        s.applying_gtid = self.name();
        s.event_time = header.timestamp;
        let delay = s.source.as_ref().map_or(0, |s| u64::from(s.facts.delay));
        if delay == 0 {
            return Ok(());
        }
        let due = u64::from(header.timestamp) + delay;
        s.delayed_until = Some(due);
        s.applier_state = "Waiting until SOURCE_DELAY seconds after source executed event";
        drop(s);
        let now = self.shared.instance.wall_us().max(0) as u64;
        let left = (due * 1_000_000).saturating_sub(now);
        self.shared.queue.rest(Duration::from_micros(left), false);
        self.shared.state().delayed_until = None;
        match self.shared.queue.is_taking_stopped() {
            true => Err(Stopped::Asked),
            false => Ok(()),
        }
    }

    fn name(&self) -> String {
        match (self.group.gtid, self.group.maria) {
            (Some(g), _) => g.to_string(),
            (None, Some((domain, server, number))) => format!("{domain}-{server}-{number}"),
            (None, None) => "ANONYMOUS".to_owned(),
        }
    }

    fn open(&mut self) {
        self.group.open = true;
        if !self.group.skipped && !self.session.in_transaction() {
            self.session.begin_applied();
        }
    }

    /// The place behind the transaction that is being applied.
    fn behind(&self, end: &LogPlace) -> Place {
        let mut place = Place {
            log: end.clone(),
            unfinished: None,
            ..self.place.clone()
        };
        if let Some(gtid) = self.group.gtid {
            place.gtids.add(gtid);
        }
        if let Some((domain, server, number)) = self.group.maria {
            place.maria.insert(domain, (server, number));
        }
        place
    }

    /// The transaction of the source is whole.
    async fn commit(&mut self, header: &Header, end: &LogPlace) -> Result<(), Stopped> {
        if !self.session.in_transaction() {
            self.session.begin_applied();
        }
        let place = self.behind(end);
        self.writer.write(&mut self.session, &place).await?;
        self.session.commit_applied().await?;
        self.is_at(header, place);
        Ok(())
    }

    /// The place is durable, and a transaction is over.
    fn is_at(&mut self, header: &Header, place: Place) {
        let mut s = self.shared.state();
        s.place = place.clone();
        if header.timestamp != 0 {
            s.event_time = header.timestamp;
        }
        s.applying_gtid.clear();
        drop(s);
        self.place = place;
        self.group = Group::default();
        self.rows.forget();
        self.context.clear();
    }

    fn passes_over(&self, e: &SqlError) -> bool {
        self.all_errors_skipped || self.skipped_errors.contains(&e.code)
    }

    async fn query(
        &mut self,
        header: &Header,
        query: &Query<'_>,
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        let text = query.statement;
        self.begin_group(header)?;
        if text.eq_ignore_ascii_case(b"BEGIN") {
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
        let maria = self.format.as_ref().is_some_and(Format::is_mariadb);
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
        let class = match parsed(s, query.statement) {
            Some(statement) => classify(&statement),
            // What is wrong with it is said when it runs.
            None => Class::Session,
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
        if self.session.in_transaction() {
            // Its transaction has nothing yet but its beginning: what it has is written with the rows that follow.
            self.session.rollback_applied().await?;
        }
        let now = catalog::sum(&self.shared.instance.engine().catalog());
        let before = self.place.unfinished;
        if before.is_some_and(|b| b != now) {
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

    async fn row_event(
        &mut self,
        header: &Header,
        change: Change,
        second: bool,
        body: &[u8],
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        self.begin_group(header)?;
        if !self.group.open {
            self.open();
        }
        if self.group.skipped {
            return Ok(());
        }
        let at = &mut At {
            shared: self.shared,
            session: &mut self.session,
            setter: &mut self.setter,
            format: self.format.as_ref(),
        };
        let outcome = self.rows.apply(at, (change, second), body).await;
        match outcome {
            Err(Stopped::Failed(e)) if self.passes_over(&e) => Ok(()),
            Err(Stopped::Failed(e)) if is_temporary(&e) => Err(Stopped::Failed(e)),
            Err(Stopped::Failed(e)) => {
                Err(Stopped::Failed(self.rows.in_event(e, change, body, end)))
            }
            outcome => outcome,
        }
    }
}

/// Others were in its way.
fn is_temporary(e: &SqlError) -> bool {
    matches!(
        e.code,
        codes::ER_LOCK_DEADLOCK | codes::ER_LOCK_WAIT_TIMEOUT
    )
}

fn parsed(s: &Session, text: &[u8]) -> Option<Statement> {
    let options = s.parse_settings();
    Some(sql_parser::parse(text, &options).ok()?.statement)
}

fn shown(statement: &[u8]) -> String {
    String::from_utf8_lossy(&statement[..statement.len().min(512)]).into_owned()
}

/// An error as SHOW REPLICA STATUS tells it.
fn in_query(e: &SqlError, query: &Query<'_>) -> SqlError {
    SqlError::new(
        e.code,
        format!(
            "Error '{}' on query. Default database: '{}'. Query: '{}'",
            e.message,
            String::from_utf8_lossy(query.database),
            shown(query.statement)
        ),
    )
}
