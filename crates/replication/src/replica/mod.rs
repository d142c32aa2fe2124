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
//! | `channel` | one source, its threads, and what there is to show of them |
//! | `cut` | what is done of a transaction is taken back at once, as by KILL |
//! | `gtids` | what was applied, over whichever channel |
//! | `state` | what the threads and statements share |
//! | [`outside`] | where receiver and applier run, and how they reach the source |
//! | `tls`, `link` | the connection to the source |
//! | `report` | what the source is told of this server |
//! | `receiver` | from the connection to the queue; `behind`: where it goes on |
//! | `control` | the statements: CHANGE, START, STOP, RESET |
//! | `catalog` | whether a change of definitions took place |
//! | `filter` | what is left out, and what is done in another database |
//! | `convert` | columns of the source as columns here |
//! | `statement`, `row_events`, `applier` | from the queue to tables; `stopped`: why not |
//! | `binlog_statement` | events of rows that a client has from a binary log |
//! | `run` | the applier's thread: alone, or at the head of several |
//! | `begin`, `kinds` | what is looked at before a transaction begins; what events and errors are |
//! | `schedule`, `coordinator`, `job_queue`, `worker`, `task` | several at once: what goes beside what, who hands out, what they share, who applies |
//!
//! What it never does: sync for itself, believe a length or a type that a source names, or change rows but through a session.

mod acknowledgement;
mod applier;
mod begin;
mod behind;
mod binlog_statement;
mod catalog;
mod channel;
mod compressed;
mod control;
mod convert;
mod coordinator;
mod cut;
mod durable_position;
pub mod filter;
mod gtids;
mod job_queue;
mod kinds;
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
mod report;
mod row_events;
mod run;
mod schedule;
mod source;
mod state;
mod statement;
mod stopped;
mod store;
mod task;
mod thread;
pub mod tls;
mod until;
mod worker;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Weak};

use base::environment::deadline;
use base::lock::Mutex;
use sql::context::replica::{Answer, Applies, FilterFacts, Replica, ReplicaFacts};
use sql::{Instance, Session};
use sql_expr::vars::{StatusSource, StatusValue};
use sql_parser::ast::{ChangeReplication, ReplicaControl, ReplicationFilter};
use types::SqlError;

use crate::semi_sync::on_or_off;
pub use binlog_statement::BinlogStatements;
use channel::{Channel, Part};
use filter::{FilterRules, Filters};
use gtids::AppliedGtids;
use outside::{Outside, System};
use place::Place;
use source::Source;
use state::Shared;

/// How long the end of the server waits for what is being applied before it is taken back.
const GRACE_US: u64 = 2_000_000;

/// A server's part as a replica.
pub struct ReplicaServer {
    instance: Arc<Instance>,
    outside: Arc<dyn Outside>,
    /// What was applied over all channels.
    gtids: Arc<AppliedGtids>,
    /// By name. The one that has none is always there.
    channels: Mutex<BTreeMap<String, Arc<Channel>>>,
    /// The filters that a channel begins with.
    global_filters: Mutex<Filters>,
    /// Those of the server's options.
    rules: FilterRules,
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
struct Status(Weak<ReplicaServer>);

impl StatusSource for Status {
    fn report(&self, out: &mut dyn FnMut(&str, StatusValue)) {
        let channels = self.0.upgrade().map(|r| r.all());
        let is_on = |c: &Arc<Channel>| c.shared.acknowledgements.is_on();
        let on = channels.is_some_and(|all| all.iter().any(is_on));
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
        if !base::mutant!("turn-of-a-statement-ended-without-a-word") {
            self.0.free.fire();
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
        let global_filters = Filters::of_options(rules.filters(""), instance.wall_us());
        let server = Arc::new(ReplicaServer {
            instance: Arc::clone(instance),
            outside,
            gtids: Arc::default(),
            channels: Mutex::default(),
            global_filters: Mutex::new(global_filters),
            rules: rules.clone(),
            changing: Arc::default(),
        });
        server.add(server.make(""));
        let kept = {
            let mut s = server.session();
            let kept = store::read(&mut s).await;
            s.close().await;
            kept?
        };
        // All of them, before one begins to apply: what came over one is not to come over another.
        let mut channels = Vec::with_capacity(kept.len());
        for (name, source, place) in kept {
            let channel = server.named(&name).unwrap_or_else(|| server.make(&name));
            server.comes_about(&channel, source, place);
            server.add(Arc::clone(&channel));
            channels.push(channel);
        }
        if server.variable("skip_replica_start") == 0 && server.variable("server_id") != 0 {
            for channel in channels {
                channel.begin(Part::Applier)?;
                channel.begin(Part::Receiver)?;
            }
        }
        let status = Status(Arc::downgrade(&server));
        instance.status().register(Arc::new(status));
        let statements: Arc<dyn Replica> = server.clone();
        instance.on_replica(&statements);
        Ok(server)
    }

    /// Ends all threads, and waits for them. The server is about to end.
    pub async fn stop(&self) {
        let _turn = self.turn().await;
        let all = self.all();
        let clock = &self.instance.engine().environment().clock;
        for part in [Part::Receiver, Part::Applier] {
            for channel in &all {
                channel.ask_to_end(part);
            }
            let mut late = pin!(deadline(&**clock, clock.now_us() + GRACE_US));
            for channel in &all {
                if !channel.ended_before(part, late.as_mut()).await {
                    // A prepared transaction, say, has what it waits for.
                    channel.shared.cuts.cut_off();
                    channel.ended(part).await;
                }
            }
        }
    }

    /// All channels, in the order of their names.
    fn all(&self) -> Vec<Arc<Channel>> {
        self.channels.lock().values().cloned().collect()
    }

    /// The channel of this name.
    fn named(&self, name: &str) -> Option<Arc<Channel>> {
        self.channels.lock().get(name).cloned()
    }

    /// One that is not among the others yet.
    fn make(&self, name: &str) -> Arc<Channel> {
        let instance = Arc::clone(&self.instance);
        let outside = Arc::clone(&self.outside);
        Arc::new(Channel {
            shared: Shared::new(name, instance, outside, Arc::clone(&self.gtids)),
        })
    }

    fn add(&self, channel: Arc<Channel>) {
        let name = channel.shared.name.clone();
        self.channels.lock().insert(name, channel);
    }

    /// It has a source for the first time: it has the filters that all begin with, but where the server's options have some for it alone.
    fn comes_about(&self, channel: &Channel, source: Source, place: Place) {
        channel.put(source, place);
        let now = self.instance.wall_us();
        let own = self.rules.filters(&channel.shared.name);
        let mut filters = Filters::default();
        if !channel.shared.name.is_empty() {
            filters = Filters::of_channel(own, now);
        }
        filters.begin_with(&self.global_filters.lock(), now);
        channel.shared.state().filters = filters;
    }

    fn session(&self) -> Session {
        let id = self.instance.next_connection_id();
        Session::of_the_applier(&self.instance, id)
    }

    async fn turn(&self) -> Turn {
        let take = || {
            let mut busy = self.changing.busy.lock();
            (!std::mem::replace(&mut *busy, true)).then_some(())
        };
        self.changing.free.wait_for(take).await;
        Turn(Arc::clone(&self.changing))
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
        self.global_filters.lock().facts()
    }

    fn control<'a>(&'a self, control: &'a ReplicaControl) -> Answer<'a> {
        Box::pin(self.start_or_stop(control))
    }

    fn reset<'a>(&'a self, all: bool, channel: Option<&'a str>) -> Answer<'a> {
        Box::pin(self.forget(all, channel))
    }

    fn settled<'a>(&'a self) -> Answer<'a> {
        Box::pin(async {
            for channel in self.all() {
                channel.settled().await;
            }
            Ok(Vec::new())
        })
    }

    fn forget_applied<'a>(&'a self) -> Answer<'a> {
        Box::pin(self.forget_names())
    }

    fn has_channel(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    fn applier(&self, channel: Option<&str>) -> Result<Option<Arc<dyn Applies>>, SqlError> {
        let channel = match channel {
            Some(name) => self.named(name),
            None => Some(self.the_one()?),
        };
        Ok(channel.map(|c| c as Arc<dyn Applies>))
    }

    fn channels(&self) -> Vec<ReplicaFacts> {
        let all = self.all();
        all.iter().filter_map(|c| c.facts()).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests;
