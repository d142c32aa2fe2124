//! The thread that waits until what the workers have committed is durable, and says then that it is applied. A worker goes on meanwhile: nobody is told of
//! his commits by him, and the sync of one is that of all before it.
//!
//! While nobody waits, it lets commits come together, so that they have one sync: statements that ask for the place wait, and a source that
//! wants its commits acknowledged.
//!
//! Where a crash comes first, the rows are gone and the place with them: the source is asked for both again.
//!
//! What it never does: say of a place that is not durable that it is applied, or go back to one.

use base::block_on;
use base::environment::rest;
use base::lock::{Condvar, Mutex};
use engine::Committing;
use std::task::Context;
use types::SqlError;

use super::place::Place;
use super::state::Shared;

/// Commits that may wait: then the workers wait as well.
const MOST: usize = 1024;

/// While nobody waits, so many microseconds are between two syncs.
const REST: u64 = 2_000;

/// A commit whose record is in the log.
#[derive(Debug)]
pub(super) struct Recorded {
    /// To wait for.
    pub committing: Committing,
    /// Its number among those that were handed out.
    pub number: u64,
    /// The place behind it.
    pub place: Place,
    /// When the source began it, in seconds since 1970; 0: that is not known.
    pub began: u32,
}

#[derive(Default)]
struct Inner {
    /// In the order of their records.
    waiting: Vec<Recorded>,
    /// No more will come.
    closed: bool,
    /// The thread is gone: nobody waits for room any more.
    gone: bool,
}

/// See the module.
#[derive(Default)]
pub(super) struct DurablePosition {
    inner: Mutex<Inner>,
    /// For that thread.
    more: Condvar,
    /// For workers.
    room: Condvar,
}

impl DurablePosition {
    /// Takes over a commit. Each comes behind those before it: in its turn, or with all before it done.
    pub fn hand_over(&self, recorded: Recorded) {
        let mut s = self.inner.lock();
        while s.waiting.len() >= MOST && !s.gone {
            s = self.room.wait(s);
        }
        s.waiting.push(recorded);
        let first = s.waiting.len() == 1;
        drop(s);
        if first && !base::mutant!("commit-handed-over-without-a-word") {
            self.more.notify_all();
        }
    }

    /// No more will come.
    pub fn close(&self) {
        self.inner.lock().closed = true;
        if !base::mutant!("durable-position-closed-without-a-word") {
            self.more.notify_all();
        }
    }

    /// Settles what comes, until no more will.
    ///
    /// # Errors
    /// 1180: the log cannot be written.
    pub fn run(&self, shared: &Shared) -> Result<(), SqlError> {
        // However it ends, also by a fault of its own.
        let _gone = Gone(self);
        loop {
            let batch = {
                let mut s = self.inner.lock();
                while s.waiting.is_empty() && !s.closed {
                    s = self.more.wait(s);
                }
                std::mem::take(&mut s.waiting)
            };
            if batch.is_empty() {
                return Ok(());
            }
            if !base::mutant!("room-at-the-durable-position-without-a-word") {
                self.room.notify_all();
            }
            block_on(advance(shared, batch))?;
            // It ends by itself: whoever closes it waits no longer than this.
            block_on(let_come(shared));
        }
    }
}

/// Lets go who waits for room.
struct Gone<'s>(&'s DurablePosition);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.inner.lock().gone = true;
        if !base::mutant!("durable-position-gone-without-a-word") {
            self.0.room.notify_all();
        }
    }
}

/// A while, unless somebody waits.
async fn let_come(shared: &Shared) {
    if shared.acknowledgements.is_on() {
        return;
    }
    let wanted = |cx: &mut Context<'_>| {
        shared.hurry.park(cx);
        shared.applied.has_waiters()
    };
    rest(shared.instance.clock(), REST, wanted).await;
}

async fn advance(shared: &Shared, batch: Vec<Recorded>) -> Result<(), SqlError> {
    let engine = shared.instance.engine();
    let mut last: Option<(u64, Place, u32)> = None;
    // From the last on, whose sync is that of all.
    for recorded in batch.into_iter().rev() {
        engine.wait_durable(recorded.committing).await?;
        // Two workers may have handed theirs over the other way round.
        if last.as_ref().is_none_or(|l| l.0 < recorded.number) {
            last = Some((recorded.number, recorded.place, recorded.began));
        }
    }
    if let Some((number, place, began)) = last {
        let end = place.log.clone();
        shared.is_at(number, place, began);
        shared.acknowledge(&end).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_time::{in_time, until};
    use crate::replica::tests::{of_a_server, server};
    use base::perturb::perturbed;
    use base::seed::nth;
    use sql::Session;
    use std::sync::Arc;
    use std::thread;

    /// A commit of nothing, by this session.
    fn recorded(s: &mut Session, number: u64) -> Recorded {
        s.begin_applied();
        let committing = block_on(s.commit_applied_in_memory());
        Recorded {
            committing: committing.expect("a commit"),
            number,
            place: Place::start(),
            began: 0,
        }
    }

    #[test]
    fn workers_and_the_durable_position_are_told_of_each_other() {
        const EACH: u64 = 3 * MOST as u64;
        let (shared, durable) = (of_a_server(&server()), Arc::new(DurablePosition::default()));
        in_time(move || {
            let advances = thread::spawn({
                let (shared, durable) = (Arc::clone(&shared), Arc::clone(&durable));
                move || perturbed(nth("the durable position", 0), || durable.run(&shared))
            });
            let workers = [1, 2].map(|n| {
                let (shared, durable) = (Arc::clone(&shared), Arc::clone(&durable));
                thread::spawn(move || {
                    let id = shared.instance.next_connection_id();
                    let mut s = Session::of_the_applier(&shared.instance, id);
                    for number in 1..=EACH {
                        durable.hand_over(recorded(&mut s, 2 * number - n % 2));
                    }
                    block_on(s.close());
                })
            });
            for w in workers {
                w.join().expect("no panic");
            }
            let all = || shared.state().applied_number == 2 * EACH;
            until("what was handed over is durable", all);
            // Mostly long enough that it sleeps.
            thread::sleep(std::time::Duration::from_millis(20));
            durable.close();
            let ended = advances.join().expect("no panic");
            assert_eq!(ended.map_err(|e| e.code), Ok(()));
        });
    }

    /// The last commits of a thread that has fallen: nobody waits for room.
    #[test]
    fn nobody_waits_for_a_durable_position_that_is_gone() {
        let (shared, durable) = (of_a_server(&server()), Arc::new(DurablePosition::default()));
        let gone = Gone(&durable);
        let worker = {
            let durable = Arc::clone(&durable);
            thread::spawn(move || {
                let id = shared.instance.next_connection_id();
                let mut s = Session::of_the_applier(&shared.instance, id);
                for number in 1..=MOST as u64 + 1 {
                    durable.hand_over(recorded(&mut s, number));
                }
                block_on(s.close());
            })
        };
        until("it is full", || durable.inner.lock().waiting.len() == MOST);
        // Mostly long enough that the next one sleeps.
        thread::sleep(std::time::Duration::from_millis(20));
        drop(gone);
        in_time(move || worker.join()).expect("no panic");
    }
}
