//! The applier: takes events from the queue and does what they say. Each transaction of the source is one here, and the place behind it is
//! written in it: after a crash it goes on exactly there.
//!
//! A change of definitions commits by itself. What is known of it after a crash is in [`catalog`](super::catalog).

mod branches;
mod known;
mod statements;
mod transaction_times;

use std::sync::Arc;

use engine::{Committing, XidClaim};
use sql::Session;
use sql::context::replica::{LogPlace, TransactionTimes};
use types::SqlError;
use types::error::codes;
use types::gtid::{Gtid, Origin};
use wire::binlog::control::{MariaGtid, Transaction};
use wire::binlog::format::Format;
use wire::binlog::header::{Header, kind};
use wire::binlog::query::Query;
use wire::binlog::rows::Change;

use super::begin::{is_reached, take_skip, wait_delay};
use super::cut::Cuttable;
use super::durable_position::Recorded;
use super::filter::Filters;
use super::gtids::GtidClaim;
use super::job_queue::Job;
use super::kinds::{committed, incident, is_for_readers, is_of_the_file, is_temporary};
use super::loads::Loads;
use super::place::Place;
use super::queue::Taken;
use super::row_events::{At, RowEvents};
use super::state::Shared;
use super::statement::Setter;
use super::stopped::Stopped;
use super::store::PlaceWriter;
use super::task::Task;
use super::thread::{Thread, Which};

/// The transaction of the source that is being applied.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// An event of it has come.
    begun: bool,
    /// It goes on until a commit.
    open: bool,
    /// It is left out (`sql_replica_skip_counter`), or was applied before.
    skipped: bool,
    /// It was applied before.
    known: bool,
    /// Its commit is in the log.
    recorded: bool,
    /// Something of it was done.
    changed: bool,
    gtid: Option<Gtid>,
    /// When it was committed where it comes from, and at the source.
    committed: (i64, i64),
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
    format: Option<Arc<Format>>,
    setter: Setter,
    /// As they were when the applier began: they do not change while it runs.
    filters: Filters,
    rows: RowEvents,
    group: Group,
    /// The name of the distributed transaction's branch that is being applied.
    branch: Option<XidClaim>,
    /// The name of the transaction that is about to be recorded.
    name: Option<GtidClaim<'s>>,
    /// What the place's row says of a branch, also while it is tried again.
    noted: Option<u64>,
    /// Files that are to be loaded.
    loads: Loads,
    /// What the next statement uses: kinds and bodies of events.
    context: Vec<(u8, Vec<u8>)>,
    /// Error numbers that are passed over.
    skipped_errors: Vec<u16>,
    all_errors_skipped: bool,
    /// `None`: it applies all that comes.
    task: Option<Task<'s>>,
    _cuttable: Cuttable<'s>,
}

impl<'s> Applier<'s> {
    /// One that begins there. `task`: it is one of several workers.
    ///
    /// # Errors
    /// What making its session fails with.
    pub fn new(
        shared: &'s Shared,
        place: Place,
        task: Option<Task<'s>>,
    ) -> Result<Applier<'s>, SqlError> {
        let id = shared.instance.next_connection_id();
        let mut session = Session::of_the_applier(&shared.instance, id);
        let worker = task.as_ref().map(|l| l.worker);
        let which = worker.map_or(Which::Applier, Which::Worker);
        session.stands_for("", Thread::new(shared, which));
        let cuttable = shared.cuts.add(session.interrupt());
        session.give_up_intake_when(shared.applier_ends());
        if let Some(w) = shared.state().workers.get_mut(worker.unwrap_or(0)) {
            w.thread = Some(id);
        }
        let writer = PlaceWriter::new(&mut session, &shared.name)?;
        session.set_applied_kept(shared.variable("log_replica_updates") != 0)?;
        let skipped = shared.text_variable("replica_skip_errors");
        Ok(Applier {
            shared,
            session,
            writer,
            place,
            format: None,
            setter: Setter::default(),
            filters: shared.state().filters.clone(),
            rows: RowEvents::default(),
            group: Group::default(),
            branch: None,
            name: None,
            noted: None,
            loads: Loads::default(),
            context: Vec::new(),
            all_errors_skipped: skipped.eq_ignore_ascii_case("all"),
            skipped_errors: skipped
                .split(',')
                .filter_map(|n| n.trim().parse().ok())
                .collect(),
            task,
            _cuttable: cuttable,
        })
    }

    /// What is half done is taken back, and its session ends.
    ///
    /// # Errors
    /// What the log fails with.
    pub async fn end(mut self) -> Result<(), SqlError> {
        let undone = self.session.rollback_applied().await;
        self.session.close().await;
        undone
    }
}

/// One of several.
impl Applier<'_> {
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The transaction that it is to apply.
    pub fn begin_job(&mut self, job: &Arc<Job>) {
        self.place = job.base.clone();
        self.format.clone_from(&job.format);
        self.group = Group::default();
        self.session.set_applied_origin(None);
        if let Some(task) = &mut self.task {
            task.job = Some(Arc::clone(job));
            (task.recorded, task.awaits_sync, task.over) = (false, false, false);
            let turn = task.order.turn(job.slot.number);
            self.session.stand_in_order(Some(turn));
        }
    }

    /// Takes back what was done of it.
    pub async fn undo(&mut self) -> Result<(), SqlError> {
        self.session.rollback_applied().await?;
        (self.branch, self.name) = (None, None);
        self.rows.forget();
        self.loads.clear();
        self.context.clear();
        Ok(())
    }

    /// Takes it back for good: what is behind it need not wait for it. False: all come to an end.
    pub async fn leave_out(&mut self) -> Result<bool, Stopped> {
        self.undo().await?;
        let Some(task) = &mut self.task else {
            return Ok(false);
        };
        if !task.wait_first() {
            return Ok(false);
        }
        self.session.pass_turn();
        task.jobs.passed(task.number());
        let worker = task.worker;
        self.shared
            .state()
            .begins(worker, TransactionTimes::default());
        Ok(true)
    }

    /// Whether its last event has been applied.
    pub fn is_over(&self) -> bool {
        self.task.as_ref().is_some_and(|l| l.over)
    }

    /// Whether it is left to the durable position to say that it is durable.
    pub fn is_settling(&self) -> bool {
        self.task.as_ref().is_some_and(|l| l.awaits_sync)
    }

    /// Whether its commit is in the log.
    pub fn is_recorded(&self) -> bool {
        self.task.as_ref().is_some_and(|l| l.recorded)
    }
}

impl Applier<'_> {
    /// Applies what comes. `Ok`: another stream is wanted. The second: whether a transaction was applied.
    pub async fn apply_all(&mut self) -> (Result<(), Stopped>, bool) {
        let mut applied = false;
        loop {
            if !self.group.begun && is_reached(self.shared, &self.place, None) {
                return (Err(Stopped::Until), applied);
            }
            if self.shared.queue.is_empty() {
                self.shared.state().applier_state =
                    "Replica has read all relay log; waiting for more updates";
            }
            let event = match self.shared.queue.next().await {
                Taken::Event(event) => event,
                Taken::Stop => return (Err(Stopped::Asked), applied),
                Taken::GivenUp => return (Ok(()), applied),
                Taken::Nudged => continue,
            };
            self.shared.state().applier_state = "Applying batch of row changes";
            let before = self.place.log.clone();
            let outcome = self.event(&event.header, &event.body, &event.end).await;
            applied |= self.place.log != before && !self.group.begun;
            if outcome.is_ok()
                && !self.group.begun
                && let Err(e) = self.shared.acknowledge(&event.end).await
            {
                return (Err(Stopped::Failed(e)), applied);
            }
            if let Err(stopped) = outcome {
                return (Err(stopped), applied);
            }
        }
    }

    /// Does what an event says, behind which is `end`.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub async fn event(
        &mut self,
        header: &Header,
        body: &[u8],
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        if self.is_over() && !is_for_readers(header) {
            return Err(wire::ProtocolError::Malformed.into());
        }
        match header.kind {
            kind::FORMAT_DESCRIPTION => {
                let (format, _) = Format::read(body)?;
                self.format = Some(Arc::new(format));
                self.passes(end);
            }
            kind::ROTATE => {
                if !self.group.begun {
                    self.place.log = end.clone();
                    self.shared.passed(end);
                }
            }
            kind::GTID | kind::ANONYMOUS_GTID => {
                let t = Transaction::read(body, header.kind == kind::ANONYMOUS_GTID)?;
                self.drop_unfinished().await?;
                self.group = Group {
                    gtid: t.gtid,
                    committed: committed(&t),
                    ..Group::default()
                };
                self.session.set_applied_origin(Some(Origin {
                    gtid: t.gtid,
                    anonymous: false,
                    server_id: header.server_id,
                    committed_micros: t.original_commit_micros,
                    version: t.original_version,
                }));
                self.begin_group(header).await?;
            }
            kind::MARIA_GTID => {
                let g = MariaGtid::read(body)?;
                self.drop_unfinished().await?;
                self.group = Group {
                    maria: Some((g.domain, header.server_id, g.sequence)),
                    ..Group::default()
                };
                self.session.set_applied_origin(Some(Origin {
                    server_id: header.server_id,
                    ..Origin::default()
                }));
                self.begin_group(header).await?;
                match g.branch {
                    Some((name, true)) => self.begin_branch(&name).await?,
                    _ if !g.standalone => self.open(),
                    _ => {}
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
            kind::XID if self.branch.is_none() => self.commit(header, end).await?,
            kind::XA_PREPARE => self.prepare_branch(header, body, end).await?,
            kind::BEGIN_LOAD_QUERY | kind::APPEND_BLOCK | kind::DELETE_FILE => {
                self.loaded_file(header, body, end).await?;
            }
            kind::EXECUTE_LOAD_QUERY => self.load(header, body, end).await?,
            kind::TABLE_MAP => self.rows.table(&self.filters, body)?,
            kind::TRANSACTION_PAYLOAD => {
                Box::pin(self.payload(body, end)).await?;
            }
            kind::INCIDENT => return Err(incident(body).into()),
            _ if is_of_the_file(header) => self.passes(end),
            _ if is_for_readers(header) => {}
            other => match Change::by_kind(other) {
                Some((change, second)) => self.row_event(header, change, second, body, end).await?,
                None => {
                    let text = format!("Fatal error: an event of kind {other} cannot be applied");
                    return Err(SqlError::new(codes::ER_REPLICA_FATAL_ERROR, text).into());
                }
            },
        }
        Ok(())
    }

    /// An event of the file, behind which is `end`, stands between transactions.
    fn passes(&mut self, end: &LogPlace) {
        let between = !self.group.begun && self.task.is_none() && self.context.is_empty();
        if between && end.is_behind(&self.place.log) {
            self.place.log = end.clone();
            self.shared.passed(end);
        }
    }

    /// The events of a compressed transaction, one behind the other as they come out of it.
    async fn payload(&mut self, body: &[u8], end: &LogPlace) -> Result<(), Stopped> {
        let most = self.shared.variable("replica_max_allowed_packet") as usize;
        let mut events = crate::payload::Events::of(body, most)?;
        while let Some((header, body)) = events.next_event()? {
            if header.kind == kind::TRANSACTION_PAYLOAD {
                return Err(wire::ProtocolError::Malformed.into());
            }
            self.event(&header, &body, end).await?;
        }
        Ok(())
    }

    /// The source has ended within a transaction, and another one begins: what was done of it is taken back.
    async fn drop_unfinished(&mut self) -> Result<(), Stopped> {
        if !self.group.begun {
            return Ok(());
        }
        if self.task.is_some() {
            return Err(wire::ProtocolError::Malformed.into());
        }
        self.undo().await?;
        self.group = Group::default();
        Ok(())
    }

    /// A transaction of the source begins, where it has not already.
    async fn begin_group(&mut self, header: &Header) -> Result<(), Stopped> {
        if self.group.begun {
            return Ok(());
        }
        self.group.begun = true;
        let what = self.transaction_times();
        if let Some(task) = &self.task {
            self.group.skipped = task.job.as_ref().is_some_and(|j| j.skipped);
            let first = task.is_first();
            let mut s = self.shared.state();
            s.begins(task.worker, what);
            if first && header.timestamp != 0 {
                s.event_time = header.timestamp;
            }
            drop(s);
            self.leave_out_known();
            return Ok(());
        }
        if is_reached(self.shared, &self.place, self.group.gtid) {
            return Err(Stopped::Until);
        }
        self.group.skipped = take_skip(self.shared);
        self.leave_out_known();
        {
            let mut s = self.shared.state();
            s.begins(0, what);
            s.event_time = header.timestamp;
        }
        wait_delay(self.shared, header).await
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
        if !base::mutant!("replica-commit-out-of-order") {
            let early = self.task.as_ref().is_some_and(|l| !l.is_first());
            if early {
                self.session
                    .shows_state("Waiting for preceding transaction to commit");
            }
            let turn = self.session.wait_turn().await;
            if early {
                self.session.shows_state("");
            }
            turn?;
        }
        if !self.claim_name().await? {
            self.take_back_known().await?;
        }
        let place = self.behind(end);
        // Not while it waits for its turn: those before it have to write.
        self.session.apply_in_one();
        let outcome = self.commit_with(header, place).await;
        self.session.end_applied();
        outcome
    }

    /// Commits with the place, and says where it is then.
    async fn commit_with(&mut self, header: &Header, place: Place) -> Result<(), Stopped> {
        if self.session.is_making() {
            return self.define(header, place).await;
        }
        if base::mutant!("replica-place-apart-from-rows") {
            self.session.commit_applied().await?;
            self.session.begin_applied();
        }
        self.writer.write(&mut self.session, &place).await?;
        let committing = self.session.commit_applied_in_memory().await?;
        self.committed(header, place, committing).await
    }

    /// Its commit is in the log.
    async fn committed(
        &mut self,
        header: &Header,
        place: Place,
        committing: Committing,
    ) -> Result<(), Stopped> {
        self.name_is_done();
        if let Some(task) = &self.task {
            self.shared.state().recorded_number = task.number();
        }
        self.pass_turn();
        if let Some(task) = &mut self.task {
            task.awaits_sync = true;
            let recorded = Recorded {
                committing,
                number: task.number(),
                place,
                began: header.timestamp,
            };
            task.durable.hand_over(recorded);
            self.is_done();
            return Ok(());
        }
        self.session.wait_applied(committing).await?;
        self.is_at(header, place);
        Ok(())
    }

    /// The same where the transaction has made a table: its rows are there, and now it is, together with the place.
    async fn define(&mut self, header: &Header, place: Place) -> Result<(), Stopped> {
        self.session.enter_definition().await?;
        self.writer.write(&mut self.session, &place).await?;
        self.session.define_made().await?;
        self.name_is_done();
        self.pass_turn();
        self.is_at(header, place);
        Ok(())
    }

    /// Its commit is in the log: those behind it need not wait until it is durable, as they are not before it is.
    fn pass_turn(&mut self) {
        if let Some(task) = &mut self.task {
            task.recorded = true;
            // First the turn: who wakes by the other, and passes his own turn on at once, has to have it.
            self.session.pass_turn();
            task.jobs.passed(task.number());
        }
    }

    /// The place is durable, and a transaction is over.
    fn is_at(&mut self, header: &Header, place: Place) {
        let number = self.task.as_ref().map_or(0, Task::number);
        self.shared.is_at(number, place.clone(), header.timestamp);
        self.place = place;
        self.is_done();
    }

    /// A transaction is over.
    fn is_done(&mut self) {
        let worker = match &mut self.task {
            Some(task) => {
                task.over = true;
                task.worker
            }
            None => 0,
        };
        let now = self.shared.instance.wall_us();
        self.shared.state().ends(worker, now);
        self.group = Group::default();
        (self.branch, self.name, self.noted) = (None, None, None);
        self.rows.forget();
        self.loads.clear();
        self.context.clear();
    }

    async fn row_event(
        &mut self,
        header: &Header,
        change: Change,
        second: bool,
        body: &[u8],
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        self.begin_group(header).await?;
        if !self.group.open {
            self.open_named().await?;
        }
        if self.group.skipped {
            return Ok(());
        }
        self.group.changed = true;
        let (shared, jobs) = (self.shared, self.task.as_ref().map(|l| l.jobs));
        let at = &mut At {
            is_to_end: &|| match jobs {
                Some(jobs) => jobs.has_ended(),
                None => shared.queue.is_taking_stopped(),
            },
            session: &mut self.session,
            setter: &mut self.setter,
            format: self.format.as_deref(),
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
