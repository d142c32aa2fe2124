//! Parallel work on all of a table: each thread has a part of the rows, or of an index's entries.
//!
//! Must never do: return while one of them still works. If whoever waits for them goes away, they stop at their next leaf.

use super::leaf_rows::KeyRange;
use crate::engine::Engine;
use crate::error;
use crate::interrupt::Interrupt;
use crate::schema::Table;
use crate::session::Session;
use base::Event;
use base::lock::Mutex;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use types::SqlError;

/// Leaves read or filled, some tens of microseconds each, until others of the thread have their turn.
const LEAVES_PER_YIELD: u32 = 4;

/// Pieces that a table's rows are cut into for each thread, of which it gets neighbouring ones: so it does not matter that they are not
/// all of one size.
const PIECES: usize = 8;

/// How the threads go about their work where statements ask for all of the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Priority {
    /// With rests: it can take as long as it takes.
    Background,
    /// Without: it has to be faster than statements make more of it.
    Foreground,
}

/// What the threads of one piece of work share.
#[derive(Default)]
struct Shared {
    /// One of them has failed, or nobody waits for them any more.
    stop: AtomicBool,
    failure: Mutex<Option<SqlError>>,
    working: AtomicUsize,
    ended: Event,
}

impl Shared {
    fn fail(&self, e: SqlError) {
        let mut failure = self.failure.lock();
        failure.get_or_insert(e);
        self.stop.store(true, Ordering::Release);
    }
}

/// One of the threads.
pub(super) struct Worker {
    /// To read and write by.
    pub(super) session: Session,
    /// The statement's.
    pub(super) interrupt: Arc<Interrupt>,
    shared: Arc<Shared>,
    leaves: u32,
}

impl Worker {
    /// Called for each leaf: lets others run now and then.
    ///
    /// # Errors
    /// 1317: it is to stop.
    pub(super) async fn yield_if_due(&mut self) -> Result<(), SqlError> {
        self.interrupt.check()?;
        if self.shared.stop.load(Ordering::Acquire) {
            return Err(SqlError::query_interrupted());
        }
        self.leaves += 1;
        if self.leaves.is_multiple_of(LEAVES_PER_YIELD) {
            self.session.yield_now().await;
        }
        Ok(())
    }

    /// The engine.
    pub(super) fn engine(&self) -> Arc<Engine> {
        self.session.engine().clone()
    }
}

/// Kept by a thread to its end.
struct Working(Arc<Shared>);

impl Drop for Working {
    fn drop(&mut self) {
        // Also one that panics has ended, and the others' work is for nothing.
        if std::thread::panicking() {
            self.0.fail(SqlError::internal("a thread has panicked"));
        }
        self.0.working.fetch_sub(1, Ordering::AcqRel);
        if !base::mutant!("part-ended-without-a-word") {
            self.0.ended.fire();
        }
    }
}

/// Stops the threads if whoever waits for them goes away.
struct Waiting(Arc<Shared>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Release);
    }
}

impl Session {
    /// Does `job` with each of `parts`, each as a task of its own, and waits for all of them; gives what they gave, in their order.
    ///
    /// # Errors
    /// That of the first to fail; the others are stopped.
    pub(super) async fn run_parallel<P, R, F>(
        &self,
        name: &str,
        priority: Priority,
        mut parts: Vec<P>,
        job: impl Fn(Worker, P) -> F,
    ) -> Result<Vec<R>, SqlError>
    where
        R: Send + 'static,
        F: Future<Output = Result<R, SqlError>> + Send + 'static,
    {
        if parts.len() > 1 && base::mutant!("a-part-of-the-work-left-out") {
            parts.pop();
        }
        let n = parts.len();
        let shared = Arc::new(Shared::default());
        shared.working.store(n, Ordering::Release);
        let _waiting = Waiting(shared.clone());
        let results = Arc::new(Mutex::new(Vec::with_capacity(n)));
        for (i, part) in parts.into_iter().enumerate() {
            let worker = Worker {
                session: Session::new(self.engine.clone()),
                interrupt: self.interrupt.clone(),
                shared: shared.clone(),
                leaves: 0,
            };
            let working = Working(shared.clone());
            let results = results.clone();
            let work = job(worker, part);
            let task = async move {
                match work.await {
                    Ok(r) => {
                        let mut all = results.lock();
                        all.push((i, r));
                    }
                    Err(e) => working.0.fail(e),
                }
                drop(working);
            };
            let throttled = priority == Priority::Background;
            if let Err(e) = self.engine.spawn_work(name, throttled, task) {
                // It has ended by that; so will those that there are.
                shared.fail(error::no_thread(&e));
            }
        }
        let none_left = || (shared.working.load(Ordering::Acquire) == 0).then_some(());
        shared.ended.wait_for(none_left).await;
        let failure = shared.failure.lock().take();
        if let Some(e) = failure {
            return Err(e);
        }
        let mut all = std::mem::take(&mut *results.lock());
        if all.len() < n {
            return Err(SqlError::internal("a thread has not done its part"));
        }
        all.sort_unstable_by_key(|(i, _)| *i);
        Ok(all.into_iter().map(|(_, r)| r).collect())
    }

    /// Threads to make something of all of `t`, which is not closed yet: half of them where others use the table now, who are to have
    /// the other half of the machine.
    pub(super) fn threads_for(&self, t: &Table) -> usize {
        let all = self.engine.builders_max;
        match t.users() {
            0 => all,
            _ => all.div_ceil(2),
        }
    }

    /// The rows of `t` in as many parts as there shall be threads for them, at most `threads`.
    pub(super) async fn parts_of_rows(
        &self,
        t: &Table,
        threads: usize,
    ) -> Result<Vec<KeyRange>, SqlError> {
        let engine = &self.engine;
        let rows = t.row_count_estimate() / engine.builder_rows_min.max(1);
        let threads = (rows as usize).clamp(1, threads.max(1));
        if threads == 1 {
            return Ok(vec![KeyRange::default()]);
        }
        let tree = &t.indexes[0].tree;
        // The nodes looked at for them have to stay in memory meanwhile.
        let wanted = (threads * PIECES).min(engine.pager().pool().frames() as usize / 16);
        let cuts = engine.pager().run(|| tree.partition_keys(wanted)).await;
        let cuts = cuts.map_err(|e| error::storage(e, &t.full_name))?;
        Ok(KeyRange::between(spread(cuts, threads)))
    }
}

/// As many of the cuts as are needed for so many parts, at even distances.
pub(super) fn spread<C>(cuts: Vec<C>, parts: usize) -> Vec<C> {
    let pieces = cuts.len() + 1;
    let parts = parts.clamp(1, pieces);
    let mut wanted = (1..parts).map(|p| p * pieces / parts - 1).peekable();
    let taken = cuts.into_iter().enumerate();
    taken
        .filter_map(|(i, cut)| wanted.next_if_eq(&i).map(|_| cut))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_taken_evenly() {
        assert_eq!(spread(vec![1, 2, 3], 1), Vec::<i32>::new());
        assert_eq!(spread(vec![1, 2, 3], 2), vec![2]);
        assert_eq!(spread(vec![1, 2, 3], 4), vec![1, 2, 3]);
        assert_eq!(spread(vec![1, 2, 3], 9), vec![1, 2, 3]);
        assert_eq!(spread((0..99).collect(), 4), vec![24, 49, 74]);
        assert_eq!(spread(Vec::<i32>::new(), 4), Vec::<i32>::new());
    }

    #[test]
    fn ranges_lie_side_by_side() {
        let ranges = KeyRange::between(vec![b"b".to_vec(), b"d".to_vec()]);
        assert_eq!(ranges.len(), 3);
        for key in [&b""[..], b"a", b"b", b"bb", b"d", b"e"] {
            let within = |r: &&KeyRange| key >= &r.from[..] && !r.is_before(key);
            assert_eq!(ranges.iter().filter(within).count(), 1);
        }
    }
}
