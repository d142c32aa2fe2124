//! The applier's thread: begins a stream, applies what comes by itself or at the head of several workers, and begins anew where others were in the way.

use std::future::{Future, poll_fn};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::thread;

use sql::Session;
use types::SqlError;
use types::error::codes;

use super::applier::Applier;
use super::coordinator::Coordinator;
use super::durable_position::DurablePosition;
use super::job_queue::JobQueue;
use super::kinds::is_temporary;
use super::place::Place;
use super::state::Shared;
use super::stopped::Stopped;
use super::thread::{Thread, Which};
use super::{store, worker};

/// The applier's thread.
pub(super) async fn run(shared: &Shared) {
    let applying = shared.gtids.begin_applying();
    let ended = run_to_end(shared).await;
    drop(applying);
    let mut s = shared.state();
    if let Err(e) = ended {
        let failure = shared.failure(e.code, e.message);
        if !s.coordinated
            && let Some(w) = s.workers.first_mut()
        {
            w.failure = failure.clone();
        }
        s.applier_failure = failure;
    }
    s.end_workers();
    s.applier_runs = false;
    s.applier_state = "";
    s.applier_thread = None;
    s.until = None;
    s.delayed_until = None;
    drop(s);
    shared.queue.await_stream(false);
    if !base::mutant!("applier-ended-without-a-word") {
        shared.ended.fire();
        shared.applied.fire();
    }
}

async fn run_to_end(shared: &Shared) -> Result<(), SqlError> {
    let id = shared.instance.next_connection_id();
    let mut session = Session::of_the_applier(&shared.instance, id);
    let outcome = run_session(shared, &mut session).await;
    session.close().await;
    outcome
}

async fn run_session(shared: &Shared, session: &mut Session) -> Result<(), SqlError> {
    // Each transaction is asked for in the binary log, to be left out where it is there. What was committed before a crash is there late: after the start it
    // is read from the engine's log first.
    if let Some(log) = shared.instance.binary_log() {
        let (mut shown, mut stopped) = (log.wait_shown(), pin!(shared.queue.taking_stopped()));
        let shown = poll_fn(|cx| match stopped.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => shown.as_mut().poll(cx).map(Some),
        });
        match shown.await {
            Some(shown) => shown?,
            None => return Ok(()),
        }
    }
    let mut tries = 0u64;
    // As it was when the applier began: a change holds for the next one.
    let workers = shared.variable("replica_parallel_workers");
    let workers = usize::try_from(workers).unwrap_or(1).max(1);
    match workers {
        // Whoever applies has a session of its own, and is all there is to see.
        1 => session.stands_for_none(),
        _ => {
            session.stands_for("", Thread::new(shared, Which::Applier));
            shared.state().applier_thread = Some(session.id());
        }
    }
    loop {
        let Some(place) = store::read_place(session, &shared.name).await? else {
            return Err(SqlError::fixed(codes::ER_BAD_REPLICA));
        };
        {
            let mut s = shared.state();
            s.place = place.clone();
            s.begin_workers(workers);
            s.coordinated = workers > 1;
        }
        // What is kept may be further than what was said of it, and its numbers begin anew.
        shared.applied.fire();
        shared.begin_stream(place.clone());
        let (outcome, applied) = match workers {
            1 => alone(shared, place).await?,
            _ => with_workers(shared, place, workers),
        };
        if applied {
            tries = 0;
        }
        match outcome {
            // Another stream is wanted.
            Ok(()) | Err(Stopped::Known) => {}
            Err(Stopped::Asked | Stopped::Until) => return Ok(()),
            Err(Stopped::GivenUp(e)) => return Err(e),
            Err(Stopped::Failed(e)) => {
                tries += u64::from(!shared.gtids.may_be_another(&e));
                let most = shared.variable("replica_transaction_retries");
                let stopping = shared.queue.is_taking_stopped();
                if !is_temporary(&e) || tries > most || stopping {
                    return Err(e);
                }
                shared.state().retries += 1;
            }
        }
    }
}

/// One session applies all. The second: whether it has applied a transaction.
async fn alone(shared: &Shared, place: Place) -> Result<(Result<(), Stopped>, bool), SqlError> {
    // A session of its own each time: nothing of what was tried before is left in it.
    let mut applier = Applier::new(shared, place, None)?;
    let mut done = applier.apply_all().await;
    if let Err(Stopped::Failed(e)) = &done.0 {
        if shared.is_cut_off(e) {
            done.0 = Err(Stopped::Asked);
        } else if applier.is_known().await {
            done.0 = Err(Stopped::Known);
        }
    }
    applier.end().await?;
    Ok(done)
}

/// Whatever becomes of the coordinator, the workers end, and the durable position behind them.
struct End<'c>(&'c JobQueue, &'c DurablePosition);

impl Drop for End<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
        self.1.close();
    }
}

/// Several apply at once. The second: whether a transaction was applied.
fn with_workers(shared: &Shared, place: Place, workers: usize) -> (Result<(), Stopped>, bool) {
    let order = shared.instance.engine().begin_commit_order();
    let limit = shared.variable("replica_pending_jobs_size_max");
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let jobs = JobQueue::new(workers, processors, limit);
    let durable = DurablePosition::default();
    let outcome = thread::scope(|scope| {
        let _end = End(&jobs, &durable);
        let advance = || match catch_unwind(AssertUnwindSafe(|| durable.run(shared))) {
            Ok(Ok(())) => {}
            Ok(Err(e)) => worker::not_durable(shared, &jobs, e),
            Err(_) => worker::fell(shared, &jobs),
        };
        let name = "replica-durable".to_owned();
        let spawned = thread::Builder::new()
            .name(name)
            .spawn_scoped(scope, advance);
        if spawned.is_err() {
            return Err(SqlError::fixed(codes::ER_OUT_OF_RESOURCES).into());
        }
        let mut threads = Vec::with_capacity(workers);
        let mut all_there = true;
        for i in 0..workers {
            let (jobs, durable, order) = (&jobs, &durable, &order);
            let work = move || {
                let whole = AssertUnwindSafe(|| worker::run(shared, (jobs, durable, order), i));
                if catch_unwind(whole).is_err() {
                    worker::fell(shared, jobs);
                }
            };
            let name = format!("replica-worker-{}", i + 1);
            let spawned = thread::Builder::new().name(name).spawn_scoped(scope, work);
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(_) => all_there = false,
            }
        }
        let outcome = match all_there {
            true => Coordinator::new(shared, &jobs, place).run(),
            false => Err(SqlError::fixed(codes::ER_OUT_OF_RESOURCES).into()),
        };
        // Who has a transaction finishes it, and what they have committed becomes durable.
        jobs.close();
        for thread in threads {
            // A worker catches his own fall.
            let _ended = thread.join();
        }
        outcome
    });
    let applied = jobs.done() > 0;
    match jobs.failure() {
        Some(why) => (Err(why), applied),
        None => (outcome, applied),
    }
}
