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
//! | `receiver` | from the connection to the queue; `behind`: where it goes on |
//! | `control` | the statements: CHANGE, START, STOP, RESET |
//! | `catalog` | whether a change of definitions took place |
//! | `filter` | what is left out, and what is done in another database |
//! | `convert` | columns of the source as columns here |
//! | `statement`, `row_events`, `applier` | from the queue to tables; `stopped`: why not |
//! | `binlog_statement` | events of rows that a client has from a binary log |
//! | `run` | the applier's thread: alone, or at the head of several |
//! | `begin`, `kinds` | what is looked at before a transaction begins; what events and errors are |
//! | `schedule`, `leader`, `crew`, `worker`, `lane` | several at once: what goes beside what, who hands out, what they share, who applies |
//!
//! What it never does: sync for itself, believe a length or a type that a source names, or change rows but through a session.

mod acknowledgement;
mod applier;
mod begin;
mod behind;
mod binlog_statement;
mod catalog;
mod compressed;
mod control;
mod convert;
mod crew;
pub mod filter;
mod kinds;
mod lane;
mod leader;
mod link;
mod loads;
mod mariadb;
pub mod outside;
mod place;
pub mod prepare;
mod queue;
mod receiver;
mod reconnect;
pub mod replay;
mod row_events;
mod run;
mod schedule;
mod settler;
mod source;
mod state;
mod statement;
mod stopped;
mod store;
mod thread;
pub mod tls;
mod until;
mod worker;

use std::sync::{Arc, Weak};

use base::Event;
use base::environment::Task;
use base::lock::Mutex;
use sql::context::replica::{
    Answer, Applies, FilterFacts, LogPlace, Receiving, Replica, ReplicaFacts,
};
use sql::{Instance, Session};
use sql_expr::vars::{StatusSource, StatusValue};
use sql_parser::ast::{ChangeReplication, ReplicaControl, ReplicationFilter};
use types::SqlError;
use types::error::codes;

use crate::semi_sync::on_or_off;
pub use binlog_statement::BinlogStatements;
use filter::{FilterRules, Filters};
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
    if part == Part::Applier {
        shared.queue.await_stream(false);
    }
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
        ReplicaServer::start_with(instance, &FilterRules::default()).await
    }

    /// The same with the filters of the server's options.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_with(
        instance: &Arc<Instance>,
        rules: &FilterRules,
    ) -> Result<Arc<ReplicaServer>, SqlError> {
        ReplicaServer::start_in(instance, rules, Arc::new(System)).await
    }

    /// As [`start_with`](Self::start_with), where parts run, and sources are reached, as `outside` says.
    ///
    /// # Errors
    /// What reading its tables fails with.
    pub async fn start_in(
        instance: &Arc<Instance>,
        rules: &FilterRules,
        outside: Arc<dyn Outside>,
    ) -> Result<Arc<ReplicaServer>, SqlError> {
        let server = Arc::new(ReplicaServer {
            shared: Shared::new(Arc::clone(instance), outside),
            changing: Arc::default(),
        });
        server.shared.state().global_filters = Filters::of_options(rules, instance.wall_us());
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
        let goes_on = self.shared.goes_on();
        {
            let mut s = self.shared.state();
            match part {
                Part::Receiver if s.receiver_runs => return Ok(false),
                Part::Applier if s.applier_runs => return Ok(false),
                Part::Receiver => {
                    s.receiver_runs = true;
                    s.receiving = Receiving::Connecting;
                    s.receiver_failure = Default::default();
                    // What is in the queue does not come again: whoever promotes this server waits until it is applied.
                    if !goes_on {
                        s.retrieved = Default::default();
                    }
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
                shared.queue.await_stream(true);
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
            drop(s);
            self.shared.queue.await_stream(false);
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
            Part::Receiver => self.shared.end_receiver(),
            Part::Applier => self.shared.end_applier(),
        }
        self.shared
            .ended
            .wait_for(|| (!self.runs(part)).then_some(()))
            .await;
        true
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

    fn settled<'a>(&'a self) -> Answer<'a> {
        Box::pin(async {
            let target = self.shared.state().recorded_number;
            let there = || {
                let s = self.shared.state();
                // Another applier may have begun since.
                let target = target.min(s.recorded_number);
                (s.applied_number >= target || !s.applier_runs).then_some(())
            };
            let applied = &self.shared.applied;
            applied.wait_and_tell(&self.shared.hurry, there).await;
            Ok(Vec::new())
        })
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
            queued: s.queued.clone(),
            queueing: s.queueing.clone(),
            receiver_thread: s.receiver_thread,
            applier_thread: s.applier_thread,
            coordinated: s.coordinated,
            retries: s.retries,
            heartbeats: s.heartbeats,
        })
    }
}
