//! A channel: one source, the threads that receive from it and apply what comes, and how far they have come.
//!
//! What it never does: carry out a statement, or know of other channels.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use base::Event;
use base::environment::{Deadline, Task};
use sql::context::replica::{Applies, LogPlace, Receiving, ReplicaFacts};
use types::SqlError;
use types::error::codes;

use super::place::{self, Place};
use super::source::Source;
use super::state::Shared;
use super::until::Until;
use super::{receiver, run};

/// See the module.
pub(super) struct Channel {
    pub(super) shared: Arc<Shared>,
}

/// One of the two threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
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
    match part {
        // What it has put is to be applied, though nobody was told.
        Part::Receiver => shared.queue.tell(),
        Part::Applier => shared.queue.await_stream(false),
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

impl Channel {
    /// From now on this is its source, and it has come so far.
    pub(super) fn put(&self, source: Source, place: Place) {
        {
            let mut s = self.shared.state();
            s.source = Some(source);
            s.place = place.clone();
            s.received = place.log.clone();
        }
        self.shared.gtids.add(&place.gtids);
        self.shared.begin_stream(place);
    }

    pub(super) fn runs(&self, part: Part) -> bool {
        let s = self.shared.state();
        match part {
            Part::Receiver => s.receiver_runs,
            Part::Applier => s.applier_runs,
        }
    }

    /// Begins a thread, if it does not run; whether it did not.
    pub(super) fn begin(&self, part: Part) -> Result<bool, SqlError> {
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
                shared.cuts.begin();
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
            // Somebody may have begun to wait for it meanwhile.
            if !base::mutant!("applier-not-begun-without-a-word") {
                self.shared.ended.fire();
                self.shared.applied.fire();
            }
            return Err(SqlError::fixed(codes::ER_OUT_OF_RESOURCES));
        }
        Ok(true)
    }

    /// Tells a thread to end; whether it ran.
    pub(super) fn ask_to_end(&self, part: Part) -> bool {
        if !self.runs(part) {
            return false;
        }
        match part {
            Part::Receiver => self.shared.end_receiver(),
            Part::Applier => self.shared.end_applier(),
        }
        true
    }

    /// Waits until a thread that was told to has ended.
    pub(super) async fn ended(&self, part: Part) {
        self.shared
            .ended
            .wait_for(|| (!self.runs(part)).then_some(()))
            .await;
    }

    /// The same, but no longer than until `late`; whether it has ended.
    pub(super) async fn ended_before(&self, part: Part, late: Pin<&mut Deadline<'_>>) -> bool {
        let mut late = late;
        let mut ended = pin!(self.ended(part));
        poll_fn(|cx| match ended.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(true),
            Poll::Pending => late.as_mut().poll(cx).map(|()| false),
        })
        .await
    }

    /// Waits until what has been applied by now is durable.
    pub(super) async fn settled(&self) {
        let target = self.shared.state().recorded_number;
        let there = || {
            let s = self.shared.state();
            // Another applier may have begun since.
            let target = target.min(s.recorded_number);
            (s.applied_number >= target || !s.applier_runs).then_some(())
        };
        let applied = &self.shared.applied;
        applied.wait_and_tell(&self.shared.hurry, there).await;
    }

    /// What there is to show; `None`: it has no source.
    pub(super) fn facts(&self) -> Option<ReplicaFacts> {
        let waiting_bytes = self.shared.queue.bytes();
        let idle = self.shared.queue.is_empty();
        let now = self.shared.instance.wall_us() / 1_000_000;
        let now = u64::try_from(now).unwrap_or(0);
        let counter = self.shared.variable("sql_replica_skip_counter");
        let s = self.shared.state();
        let source = s.reached_by()?;
        let caught_up = idle && !s.is_applying();
        let behind = match caught_up {
            true => 0,
            false => now.saturating_sub(s.event_time.into()),
        };
        let executed = match s.place.maria.is_empty() {
            false if s.place.gtids.is_empty() => place::maria_text(&s.place.maria),
            _ => {
                let mut all = self.shared.gtids.done();
                if let Some(log) = self.shared.instance.binary_log() {
                    all.add_set(&log.executed());
                }
                all.to_string()
            }
        };
        Some(ReplicaFacts {
            channel: self.shared.name.clone(),
            source: source.facts,
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

impl Applies for Channel {
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
