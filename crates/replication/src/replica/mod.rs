//! This server as a replica of another: MySQL, MariaDB, or its like.
//!
//! A receiver has a connection to the source and puts what comes into a queue in memory; an applier takes it from there. Each is a thread of
//! its own while it runs. How far transactions are applied is written with each of them; nothing else is kept, and what was received and
//! not applied is asked for again. Decision 0048 says why.
//!
//! | module | what |
//! |---|---|
//! | `place` | how far a replica has come |
//! | `source` | where the source is: the options of CHANGE REPLICATION SOURCE TO |
//! | `until` | where START REPLICA UNTIL ends |
//! | `store` | what is kept of them in tables |
//! | `queue` | what was received and is not applied yet |
//! | `acknowledgement` | what the source is told of what is durable here (semi-sync) |
//! | `state` | what the threads and statements share |
//! | [`outside`] | where receiver and applier run, and how they reach the source |
//! | `tls`, `link` | the connection to the source |
//! | `receiver` | from the connection to the queue |
//! | `catalog` | whether a change of definitions took place |
//! | `filter` | what is left out, and what is done in another database |
//! | `convert` | columns of the source as columns here |
//! | `statement`, `payload`, `row_events`, `applier` | from the queue to tables; `stopped`: why not |
//! | `binlog_statement` | events of rows that a client has from a binary log |
//! | `run` | the applier's thread: alone, or at the head of several |
//! | `begin`, `kinds` | what is looked at before a transaction begins; what events and errors are |
//! | `schedule`, `leader`, `crew`, `worker`, `lane` | several at once: what goes beside what, who hands out, what they share, who applies |
//!
//! What it never does: sync for itself, believe a length or a type that a source names, or change rows but through a session.

mod acknowledgement;
mod applier;
mod begin;
mod binlog_statement;
mod catalog;
mod compressed;
mod convert;
mod crew;
pub mod filter;
mod kinds;
mod lane;
mod leader;
mod link;
mod loads;
pub mod outside;
mod payload;
mod place;
pub mod prepare;
mod queue;
mod receiver;
pub mod replay;
mod row_events;
mod run;
mod schedule;
mod source;
mod state;
mod statement;
mod stopped;
mod store;
pub mod tls;
mod until;
mod worker;

use std::sync::{Arc, Weak};

use base::Event;
use base::environment::Task;
use base::lock::Mutex;
use sql::context::replica::{
    Answer, Applies, FilterFacts, LogPlace, Receiving, Replica, ReplicaFacts, check_channel,
};
use sql::{Instance, Session};
use sql_expr::vars::{StatusSource, StatusValue};
use sql_parser::ast::{ChangeReplication, ReplicaControl, ReplicationFilter};
use types::error::codes;
use types::{Level, SqlError, Warning};

use crate::semi_sync::on_or_off;
pub use binlog_statement::BinlogStatements;
use filter::{Filters, Rules};
use outside::{Outside, System};
use place::Place;
use source::Source;
use state::Shared;
use until::Until;

/// A server's part as a replica.
pub struct ReplicaServer {
    shared: Arc<Shared>,
    /// One statement about it at a time.
    changing: Arc<Changing>,
}

/// Whether a statement is at work, and who waits for it.
#[derive(Default)]
struct Changing {
    busy: Mutex<bool>,
    free: base::Event,
}

/// What SHOW STATUS shows of it, as long as it is there.
struct Status(Weak<Shared>);

impl StatusSource for Status {
    fn report(&self, out: &mut dyn FnMut(&str, StatusValue)) {
        let on = self.0.upgrade().is_some_and(|s| s.acknowledgements.is_on());
        for side in ["replica", "slave"] {
            out(&format!("Rpl_semi_sync_{side}_status"), on_or_off(on));
        }
    }
}

/// The right to change it.
struct Turn(Arc<Changing>);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.busy.lock() = false;
        self.0.free.fire();
    }
}

/// One of the two threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Receiver,
    Applier,
}

/// The longest name of a channel, in characters.
const LONGEST_CHANNEL: usize = 64;

/// Whether a channel of this name may come about: there is one, which has no name.
fn may_be_channel(channel: Option<&str>) -> Result<(), SqlError> {
    let Some(name) = channel.filter(|c| !c.is_empty()) else {
        return Ok(());
    };
    let groups = ["group_replication_applier", "group_replication_recovery"];
    let reserved = groups.iter().any(|g| g.eq_ignore_ascii_case(name));
    Err(SqlError::fixed(
        match reserved || name.chars().count() > LONGEST_CHANNEL || name.contains(['\0', '\n']) {
            true => codes::ER_REPLICA_CHANNEL_NAME_INVALID_OR_TOO_LONG,
            false => codes::ER_REPLICA_MAX_CHANNELS_EXCEEDED,
        },
    ))
}

/// 3021 and 3085.
fn must_stop(code: u16, which: &str, option: &str) -> SqlError {
    SqlError::new(
        code,
        format!(
            "This operation cannot be performed with a running replica {which} thread; run STOP REPLICA {option} FOR CHANNEL '' first."
        ),
    )
}

/// A thread has ended where it must not: that is told, and the other may go on.
fn fell(shared: &Shared, part: Part) {
    let text = "Fatal error: the thread ended by a fault of its own; the server's log has more";
    let failure = shared.failure(codes::ER_REPLICA_FATAL_ERROR, text.to_owned());
    let mut s = shared.state();
    match part {
        Part::Receiver => {
            s.receiver_failure = failure;
            (s.receiver_runs, s.receiving) = (false, Receiving::No);
            s.socket = None;
        }
        Part::Applier => {
            s.applier_failure = failure;
            s.end_workers();
            s.applier_runs = false;
        }
    }
    drop(s);
    shared.ended.fire();
    shared.applied.fire();
}

/// Says that a part has fallen, where it has.
struct Fallen<'s>(&'s Shared, Part);

impl Drop for Fallen<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            fell(self.0, self.1);
        }
    }
}

impl ReplicaServer {
    /// Joins it to a server. What was running when the server ended runs again, unless `skip_replica_start` is on.
    ///
    /// # Errors
    /// What reading its tables fails with.
    pub async fn start(instance: &Arc<Instance>) -> Result<Arc<ReplicaServer>, SqlError> {
        ReplicaServer::start_with(instance, &Rules::default()).await
    }

    /// The same with the filters of the server's options.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_with(
        instance: &Arc<Instance>,
        rules: &Rules,
    ) -> Result<Arc<ReplicaServer>, SqlError> {
        ReplicaServer::start_in(instance, rules, Arc::new(System)).await
    }

    /// As [`start_with`](Self::start_with), where parts run, and sources are reached, as `outside` says.
    ///
    /// # Errors
    /// What reading its tables fails with.
    pub async fn start_in(
        instance: &Arc<Instance>,
        rules: &Rules,
        outside: Arc<dyn Outside>,
    ) -> Result<Arc<ReplicaServer>, SqlError> {
        let server = Arc::new(ReplicaServer {
            shared: Arc::new(Shared::new(Arc::clone(instance), outside)),
            changing: Arc::default(),
        });
        server.shared.state().global_filters = rules.filters(instance.wall_us());
        let kept = {
            let mut s = server.session();
            let kept = store::read(&mut s).await;
            s.close().await;
            kept?
        };
        if let Some((source, place)) = kept {
            server.put(source, place);
            server.begin_channel();
            let configured = server.shared.variable("server_id") != 0;
            if server.shared.variable("skip_replica_start") == 0 && configured {
                server.begin(Part::Applier)?;
                server.begin(Part::Receiver)?;
            }
        }
        let status = Status(Arc::downgrade(&server.shared));
        instance.status().register(Arc::new(status));
        let statements: Arc<dyn Replica> = server.clone();
        instance.on_replica(&statements);
        Ok(server)
    }

    /// Ends both threads, and waits for them. The server is about to end.
    pub async fn stop(&self) {
        let _turn = self.turn().await;
        self.end(Part::Receiver).await;
        self.end(Part::Applier).await;
    }

    fn session(&self) -> Session {
        let id = self.shared.instance.next_connection_id();
        Session::of_the_applier(&self.shared.instance, id)
    }

    async fn turn(&self) -> Turn {
        let take = || {
            let mut busy = self.changing.busy.lock();
            (!std::mem::replace(&mut *busy, true)).then_some(())
        };
        self.changing.free.wait_for(take).await;
        Turn(Arc::clone(&self.changing))
    }

    fn put(&self, source: Source, place: Place) {
        {
            let mut s = self.shared.state();
            s.source = Some(source);
            s.place = place.clone();
            s.received = place.log.clone();
        }
        self.shared.begin_stream(place);
    }

    fn runs(&self, part: Part) -> bool {
        let s = self.shared.state();
        match part {
            Part::Receiver => s.receiver_runs,
            Part::Applier => s.applier_runs,
        }
    }

    /// Begins a thread, if it does not run; whether it did not.
    fn begin(&self, part: Part) -> Result<bool, SqlError> {
        let limit = self.shared.variable("replica_pending_jobs_size_max");
        self.shared.queue.set_limit(limit);
        {
            let mut s = self.shared.state();
            match part {
                Part::Receiver if s.receiver_runs => return Ok(false),
                Part::Applier if s.applier_runs => return Ok(false),
                Part::Receiver => {
                    s.receiver_runs = true;
                    s.receiving = Receiving::Connecting;
                    s.receiver_failure = Default::default();
                    s.retrieved = Default::default();
                }
                Part::Applier => {
                    s.applier_runs = true;
                    s.applier_failure = Default::default();
                    s.workers.clear();
                }
            }
        }
        let shared = Arc::clone(&self.shared);
        let name = match part {
            Part::Receiver => {
                shared.queue.stop_putting(false);
                "replica-receiver"
            }
            Part::Applier => {
                shared.queue.stop_taking(false);
                "replica-applier"
            }
        };
        let work: Task = Box::pin(async move {
            let _fallen = Fallen(&shared, part);
            match part {
                Part::Receiver => receiver::run(&shared).await,
                Part::Applier => run::run(&shared).await,
            }
        });
        if self.shared.outside.run(name, work).is_err() {
            let mut s = self.shared.state();
            match part {
                Part::Receiver => (s.receiver_runs, s.receiving) = (false, Receiving::No),
                Part::Applier => s.applier_runs = false,
            }
            return Err(SqlError::fixed(codes::ER_OUT_OF_RESOURCES));
        }
        Ok(true)
    }

    /// Ends a thread and waits for that; whether it ran.
    async fn end(&self, part: Part) -> bool {
        if !self.runs(part) {
            return false;
        }
        match part {
            Part::Receiver => {
                self.shared.queue.stop_putting(true);
                self.shared.shut_socket();
            }
            Part::Applier => self.shared.queue.stop_taking(true),
        }
        self.shared
            .ended
            .wait_for(|| (!self.runs(part)).then_some(()))
            .await;
        true
    }

    /// The channel comes about: it has the filters that all begin with.
    fn begin_channel(&self) {
        let now = self.shared.instance.wall_us();
        let mut s = self.shared.state();
        let all = s.global_filters.clone();
        s.filters.begin_with(&all, now);
    }

    async fn filter(
        &self,
        filters: &[ReplicationFilter],
        channel: Option<&str>,
    ) -> Result<Vec<Warning>, SqlError> {
        let _turn = self.turn().await;
        let now = self.shared.instance.wall_us();
        let mut s = self.shared.state();
        let there = s.source.is_some();
        if channel.is_some_and(|c| !c.is_empty() || !there) {
            return Err(SqlError::fixed(codes::ER_REPLICA_CONFIGURATION));
        }
        if s.applier_runs {
            let code = codes::ER_REPLICA_CHANNEL_SQL_THREAD_MUST_STOP;
            return Err(must_stop(code, "sql", "SQL_THREAD"));
        }
        match channel {
            Some(_) => s
                .filters
                .set(filters, filter::by::STATEMENT_FOR_CHANNEL, now)?,
            None => {
                s.global_filters.set(filters, filter::by::STATEMENT, now)?;
                if there {
                    s.filters.set(filters, filter::by::STATEMENT, now)?;
                }
            }
        }
        Ok(Vec::new())
    }

    async fn change(&self, change: &ChangeReplication) -> Result<Vec<Warning>, SqlError> {
        may_be_channel(change.channel.as_deref())?;
        let _turn = self.turn().await;
        let (kept, running) = {
            let s = self.shared.state();
            let kept = s.source.clone().map(|source| (source, s.place.clone()));
            (kept, (s.receiver_runs, s.applier_runs))
        };
        let comes_about = kept.is_none();
        let (mut source, mut place) = kept.unwrap_or((Source::default(), Place::start()));
        let begin = source.change(&change.options)?;
        match running {
            (true, _) => {
                let code = codes::ER_REPLICA_CHANNEL_IO_THREAD_MUST_STOP;
                return Err(must_stop(code, "io", "IO_THREAD"));
            }
            (_, true) => {
                let code = codes::ER_REPLICA_CHANNEL_SQL_THREAD_MUST_STOP;
                return Err(must_stop(code, "sql", "SQL_THREAD"));
            }
            _ => {}
        }
        if begin.elsewhere {
            place.log = Place::start().log;
            place.unfinished = None;
        }
        if let Some(file) = begin.file {
            place.log.file = file;
            place.log.position = place::FIRST;
            place.unfinished = None;
        }
        if let Some(position) = begin.position {
            place.log.position = position;
            place.unfinished = None;
        }
        let mut s = self.session();
        let done = async {
            store::make_tables(&mut s).await?;
            store::write(&mut s, &source, &place).await
        };
        let done = done.await;
        s.close().await;
        done?;
        self.put(source, place);
        if comes_about {
            self.begin_channel();
        }
        Ok(Vec::new())
    }

    async fn start_or_stop(&self, control: &ReplicaControl) -> Result<Vec<Warning>, SqlError> {
        check_channel(control.channel.as_deref())?;
        let both = !control.io_thread && !control.sql_thread;
        let mut parts = Vec::new();
        // Where the applier stands is where the receiver is to begin.
        if both || control.sql_thread {
            parts.push(Part::Applier);
        }
        if both || control.io_thread {
            parts.push(Part::Receiver);
        }
        let until = Until::of(&control.options)?;
        let _turn = self.turn().await;
        let mut any = false;
        if control.start {
            if self.shared.state().source.is_none() {
                return Err(SqlError::fixed(codes::ER_BAD_REPLICA));
            }
            if self.shared.variable("server_id") == 0 {
                return Err(SqlError::fixed(codes::ER_REPLICA_CONFIGURATION));
            }
            if parts.contains(&Part::Applier) && !self.runs(Part::Applier) {
                let skip = self.take_skip_counter();
                let mut s = self.shared.state();
                s.until = until;
                s.skip = skip;
            }
            for part in parts {
                any |= self.begin(part)?;
            }
        } else {
            for part in parts.into_iter().rev() {
                any |= self.end(part).await;
            }
        }
        Ok(match (any, control.start) {
            (true, _) => Vec::new(),
            (false, true) => vec![Warning::new(
                Level::Note,
                codes::ER_REPLICA_CHANNEL_WAS_RUNNING,
                "Replication thread(s) for channel '' are already running.",
            )],
            (false, false) => vec![Warning::new(
                Level::Note,
                codes::ER_REPLICA_CHANNEL_WAS_NOT_RUNNING,
                "Replication thread(s) for channel '' are already stopped.",
            )],
        })
    }

    /// What `sql_replica_skip_counter` says; it says so once.
    fn take_skip_counter(&self) -> u64 {
        let name = "sql_replica_skip_counter";
        let n = self.shared.variable(name);
        if n != 0 {
            // It takes any number, this one too.
            let _set = self.shared.instance.globals().set_option(name, "0");
        }
        n
    }

    async fn forget(&self, all: bool, channel: Option<&str>) -> Result<Vec<Warning>, SqlError> {
        check_channel(channel)?;
        let _turn = self.turn().await;
        if self.runs(Part::Receiver) || self.runs(Part::Applier) {
            return Err(SqlError::new(
                codes::ER_REPLICA_CHANNEL_MUST_STOP,
                "This operation cannot be performed with running replication threads; run STOP REPLICA FOR CHANNEL '' first",
            ));
        }
        let (source, place) = {
            let s = self.shared.state();
            let Some(source) = s.source.clone() else {
                return Ok(Vec::new());
            };
            // What was executed stays so.
            let place = Place {
                log: Place::start().log,
                unfinished: None,
                ..s.place.clone()
            };
            (source, place)
        };
        let mut s = self.session();
        let done = match all {
            true => store::forget(&mut s).await,
            false => store::write(&mut s, &source, &place).await,
        };
        s.close().await;
        done?;
        self.put(source, place);
        let mut s = self.shared.state();
        s.receiver_failure = Default::default();
        s.applier_failure = Default::default();
        s.retrieved = Default::default();
        (s.server_id, s.heartbeats, s.retries) = (0, (0, 0), 0);
        s.uuid.clear();
        if all {
            s.source = None;
            s.place = Place::start();
            s.filters = Filters::default();
        }
        Ok(Vec::new())
    }
}

impl Applies for ReplicaServer {
    fn has_applied(&self, file: &str, position: u64) -> Option<bool> {
        let place = LogPlace {
            file: file.to_owned(),
            position,
        };
        let s = self.shared.state();
        s.applier_runs.then(|| s.place.log.reaches(&place))
    }

    fn applied(&self) -> &Event {
        &self.shared.applied
    }
}

impl Replica for ReplicaServer {
    fn change_source<'a>(&'a self, change: &'a ChangeReplication) -> Answer<'a> {
        Box::pin(self.change(change))
    }

    fn change_filters<'a>(
        &'a self,
        filters: &'a [ReplicationFilter],
        channel: Option<&'a str>,
    ) -> Answer<'a> {
        Box::pin(self.filter(filters, channel))
    }

    fn global_filters(&self) -> Vec<FilterFacts> {
        self.shared.state().global_filters.facts()
    }

    fn control<'a>(&'a self, control: &'a ReplicaControl) -> Answer<'a> {
        Box::pin(self.start_or_stop(control))
    }

    fn reset<'a>(&'a self, all: bool, channel: Option<&'a str>) -> Answer<'a> {
        Box::pin(self.forget(all, channel))
    }

    fn facts(&self) -> Option<ReplicaFacts> {
        let waiting_bytes = self.shared.queue.bytes();
        let idle = self.shared.queue.is_empty();
        let now = self.shared.instance.wall_us() / 1_000_000;
        let now = u64::try_from(now).unwrap_or(0);
        let counter = self.shared.variable("sql_replica_skip_counter");
        let s = self.shared.state();
        let source = s.source.as_ref()?;
        let caught_up = idle && !s.is_applying();
        let behind = match caught_up {
            true => 0,
            false => now.saturating_sub(s.event_time.into()),
        };
        let executed = match s.place.maria.is_empty() {
            false if s.place.gtids.is_empty() => place::maria_text(&s.place.maria),
            _ => {
                let mut all = s.place.gtids.clone();
                if let Some(log) = self.shared.instance.binary_log() {
                    all.add_set(&log.executed());
                }
                all.to_string()
            }
        };
        Some(ReplicaFacts {
            source: source.facts.clone(),
            receiver_state: s.receiver_state,
            receiving: s.receiving,
            received: s.received.clone(),
            applied: s.place.log.clone(),
            applier_state: s.applier_state,
            applying: s.applier_runs,
            waiting_bytes,
            seconds_behind: Some(behind),
            remaining_delay: s.delayed_until.map(|d| d.saturating_sub(now)),
            receiver_failure: s.receiver_failure.clone(),
            applier_failure: s.applier_failure.clone(),
            skip_counter: s.skip + counter,
            until: s
                .until
                .as_ref()
                .map_or(("None", Default::default()), Until::shown),
            filters: s.filters.facts(),
            source_server_id: s.server_id,
            source_uuid: s.uuid.clone(),
            retrieved_gtids: s.retrieved.to_string(),
            executed_gtids: executed,
            workers: s.workers.clone(),
            coordinated: s.coordinated,
            retries: s.retries,
            heartbeats: s.heartbeats,
        })
    }
}
