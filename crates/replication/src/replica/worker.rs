//! A worker: applies the transactions that it is given, one after the other, and commits each when its turn has come.
//!
//! What goes wrong before all that stands before it is committed is not believed: another one may be in the way, or may have to be there first. It is
//! taken back, and tried again when its turn has come. So a transaction that was begun too early costs time, and nothing else.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

use base::block_on;
use engine::CommitOrder;
use sql::context::replica::LogPlace;
use types::SqlError;
use types::error::codes;

use super::applier::Applier;
use super::durable_position::DurablePosition;
use super::job_queue::{Job, JobQueue, Next};
use super::kinds::is_temporary;
use super::place::Place;
use super::state::Shared;
use super::stopped::Stopped;
use super::task::Task;

/// A worker's thread.
pub(super) fn run(
    shared: &Shared,
    (jobs, durable, order): (&JobQueue, &DurablePosition, &CommitOrder),
    worker: usize,
) {
    let mut work = pin!(run_to_end(shared, (jobs, durable, order), worker));
    let ended = block_on(poll_fn(|cx| {
        jobs.waits(worker, false);
        let polled = work.as_mut().poll(cx);
        if polled.is_pending() {
            jobs.waits(worker, true);
        }
        polled
    }));
    if let Err(why) = ended {
        stop_all(shared, jobs, why);
    }
}

/// A worker's thread has ended by a fault of its own.
pub(super) fn fell(shared: &Shared, jobs: &JobQueue) {
    let text = "Fatal error: the thread ended by a fault of its own; the server's log has more";
    let e = SqlError::new(codes::ER_REPLICA_FATAL_ERROR, text);
    stop_all(shared, jobs, Stopped::GivenUp(e));
}

/// What was committed cannot be made durable.
pub(super) fn not_durable(shared: &Shared, jobs: &JobQueue, e: SqlError) {
    stop_all(shared, jobs, Stopped::GivenUp(e));
}

fn stop_all(shared: &Shared, jobs: &JobQueue, why: Stopped) {
    jobs.fail(why);
    shared.queue.nudge();
}

async fn run_to_end(
    shared: &Shared,
    (jobs, durable, order): (&JobQueue, &DurablePosition, &CommitOrder),
    worker: usize,
) -> Result<(), Stopped> {
    let task = Task {
        jobs,
        durable,
        order,
        worker,
        job: None,
        recorded: false,
        awaits_sync: false,
        over: false,
    };
    let mut applier = Applier::new(shared, Place::start(), Some(task))?;
    jobs.interrupt_with(worker, applier.session().interrupt());
    let outcome = work(shared, jobs, worker, &mut applier).await;
    let undone = applier.end().await;
    outcome?;
    Ok(undone?)
}

async fn work(
    shared: &Shared,
    jobs: &JobQueue,
    worker: usize,
    applier: &mut Applier<'_>,
) -> Result<(), Stopped> {
    while let Some(job) = jobs.take_job(worker) {
        if !apply(shared, jobs, worker, applier, &job).await? {
            break;
        }
        jobs.clear(worker);
        let mut s = shared.state();
        s.in_flight = s.in_flight.saturating_sub(1);
    }
    Ok(())
}

/// Applies a transaction; false: all come to an end.
async fn apply(
    shared: &Shared,
    jobs: &JobQueue,
    worker: usize,
    applier: &mut Applier<'_>,
    job: &Arc<Job>,
) -> Result<bool, Stopped> {
    let number = job.slot.number;
    let mut after = job.slot.after;
    let mut tries = 0;
    loop {
        if !jobs.wait_for(worker, after) {
            return Ok(false);
        }
        // All before it is done: what goes wrong now is so.
        let first = jobs.done() + 1 >= number;
        applier.begin_job(job);
        let mut at = LogPlace::default();
        let e = match apply_events(jobs, worker, applier, &mut at).await {
            Ok(done) => {
                if done && !applier.is_settling() {
                    shared.acknowledge(&at).await?;
                }
                return Ok(done);
            }
            Err(Stopped::Failed(e)) => e,
            Err(other) => return Err(other),
        };
        applier.undo().await?;
        if jobs.has_ended() {
            return Ok(false);
        }
        if shared.is_cut_off(&e) {
            return Err(Stopped::Asked);
        }
        if first && applier.is_known().await {
            if !jobs.rewind(worker) {
                return Err(Stopped::Known);
            }
            after = number - 1;
            continue;
        }
        let temporary = is_temporary(&e);
        if (!first || temporary) && !applier.is_recorded() {
            if first && shared.queue.is_taking_stopped() {
                return Err(Stopped::Asked);
            }
            if job.alone || !jobs.rewind(worker) {
                // All is asked for again from where it stands: then nothing is before it.
                return Err(Stopped::Failed(match temporary {
                    true => e,
                    false => SqlError::lock_deadlock(),
                }));
            }
            tries += u64::from(first && !shared.gtids.may_be_another(&e));
            if tries <= shared.variable("replica_transaction_retries") {
                shared.state().retries += 1;
                after = number - 1;
                continue;
            }
        }
        let text = format!(
            "Worker {} failed executing transaction '{}' at source log {}, end_log_pos {}",
            worker + 1,
            applier.name(),
            at.file,
            at.position
        );
        let mut s = shared.state();
        let own = shared.failure(e.code, format!("{text}; {}", e.message));
        if let Some(w) = s.workers.get_mut(worker) {
            w.failure = own;
        }
        let text = format!(
            "Coordinator stopped because there were error(s) in the worker(s). The most recent failure being: {text}. See error log \
             and/or performance_schema.replication_applier_status_by_worker table for more details about this failure or others, if any."
        );
        return Err(Stopped::GivenUp(SqlError::new(e.code, text)));
    }
}

/// Applies the events of a transaction; false: all come to an end. `at`: behind the one that is applied.
async fn apply_events(
    jobs: &JobQueue,
    worker: usize,
    applier: &mut Applier<'_>,
    at: &mut LogPlace,
) -> Result<bool, Stopped> {
    loop {
        match jobs.next(worker) {
            Next::Event(event) => {
                at.clone_from(&event.end);
                applier
                    .event(&event.header, &event.body, &event.end)
                    .await?;
            }
            Next::End if applier.is_over() => return Ok(true),
            Next::End => return Err(wire::ProtocolError::Malformed.into()),
            Next::Abandoned => return applier.leave_out().await,
            Next::Ended => return Ok(false),
        }
    }
}
