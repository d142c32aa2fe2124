//! The purge queue: committed transactions that left something to take out, in commit order, and the events that say when
//! there is work. The work itself is in [`crate::purge_worker`].

use base::lock::Mutex;
use base::{Event, Lsn, TxnId, le};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

/// First byte of a note in the log that says which commits wait no more.
const NOTE_DONE: u8 = 5;

/// The body of a note: of the commits before `to`, none waits.
pub(crate) fn done_note(to: Lsn) -> Vec<u8> {
    let mut body = vec![NOTE_DONE];
    body.extend_from_slice(&to.0.to_le_bytes());
    body
}

/// What a note says of commits that wait no more: those before the position. None: it says something else.
pub(crate) fn done_noted(body: &[u8]) -> Option<Lsn> {
    match body.split_first() {
        Some((&NOTE_DONE, at)) if at.len() >= 8 => Some(Lsn(le::get_u64(at, 0))),
        _ => None,
    }
}

/// A committed transaction that left something to purge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PurgeItem {
    /// Its commit record.
    pub commit: Lsn,
    /// Its id.
    pub txid: TxnId,
    /// Its first record.
    pub first: Lsn,
    /// Its last record before the commit.
    pub last: Lsn,
}

/// What is not done, in short.
pub(crate) struct Pending {
    /// The first commit record in the queue; none when it is empty. What waits are the commits from here on that left
    /// something, and `current`.
    pub(crate) queued_from: Lsn,
    /// The oldest log record that is still needed; none when nothing waits.
    pub(crate) oldest: Lsn,
    /// Taken from the queue and not finished, put off, or to be looked at again.
    pub(crate) current: Vec<PurgeItem>,
}

/// What waits. A checkpoint tells of `queued` by where it begins alone, so every commit from there on that left something
/// must be in it: what lies behind a commit that was taken already is not among them but in `again`.
struct Queue {
    /// In commit order.
    queued: VecDeque<PurgeItem>,
    /// Commits before `taken_to`: put off once and released, or overtaken on the way to the queue.
    again: VecDeque<PurgeItem>,
    /// Commits before this one were taken from `queued`, or had been when the engine was opened.
    taken_to: Lsn,
}

impl Queue {
    fn first(&self) -> Option<Lsn> {
        let first = self.again.front().or(self.queued.front());
        first.map(|i| i.commit)
    }

    fn len(&self) -> usize {
        self.again.len() + self.queued.len()
    }

    fn push(&mut self, item: PurgeItem) {
        if item.commit < self.taken_to {
            self.again.push_back(item);
            return;
        }
        // Nearly in commit order: a commit may overtake another between its record and here.
        let before = self.queued.iter().rposition(|x| x.commit < item.commit);
        self.queued.insert(before.map_or(0, |i| i + 1), item);
    }

    /// Up to `limit` items whose commits lie below `oldest`.
    fn pop_ready(&mut self, limit: usize, oldest: Lsn) -> Vec<PurgeItem> {
        let n = |q: &VecDeque<PurgeItem>, limit| {
            q.iter()
                .take(limit)
                .take_while(|i| i.commit < oldest)
                .count()
        };
        let again = n(&self.again, limit);
        let queued = n(&self.queued, limit - again);
        let mut items: Vec<PurgeItem> = self.again.drain(..again).collect();
        items.extend(self.queued.drain(..queued));
        if queued > 0
            && let Some(last) = items.last()
        {
            self.taken_to = Lsn(last.commit.0 + 1);
        }
        items
    }
}

/// The queue, and what became of what was taken from it.
pub(crate) struct PurgeQueue {
    queue: Mutex<Queue>,
    /// The items being worked on, for checkpoints.
    pub(crate) current: Mutex<VecDeque<PurgeItem>>,
    /// Items that came upon a row which a running transaction has taken over, by that one: should it be rolled back, the
    /// deleted row is there again.
    held: Mutex<BTreeMap<TxnId, Vec<PurgeItem>>>,
    held_items: AtomicUsize,
    pub(crate) event: Event,
    /// Commit LSN that the oldest snapshot must pass before there is work; 0: no work waits.
    blocked_on: AtomicU64,
    /// Where the log ended when a start found work; 0: it found none, or has said that it is done.
    found_to: AtomicU64,
    /// How many ask that nothing be taken out.
    paused: AtomicUsize,
    /// Something is being taken out.
    working: AtomicBool,
    /// Fired when that has ended, and somebody asks.
    idle: Event,
}

/// Something is taken out until this is dropped.
pub(crate) struct Working<'q>(&'q PurgeQueue);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.working.store(false, Ordering::SeqCst);
        if self.0.paused.load(Ordering::SeqCst) > 0 && !base::mutant!("purge-rests-without-a-word")
        {
            self.0.idle.fire();
        }
    }
}

pub(crate) fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock()
}

impl PurgeQueue {
    /// `items` wait, and of the commits before `taken_to` no others. They were found in the log that ends at `end`.
    pub(crate) fn new(items: Vec<PurgeItem>, taken_to: Lsn, end: Lsn) -> PurgeQueue {
        let found_to = match items.is_empty() {
            true => Lsn::NONE,
            false => end,
        };
        let mut queue = Queue {
            queued: VecDeque::new(),
            again: VecDeque::new(),
            taken_to,
        };
        items.into_iter().for_each(|i| queue.push(i));
        PurgeQueue {
            queue: Mutex::new(queue),
            current: Mutex::default(),
            held: Mutex::default(),
            held_items: AtomicUsize::new(0),
            event: Event::default(),
            blocked_on: AtomicU64::new(0),
            found_to: AtomicU64::new(found_to.0),
            paused: AtomicUsize::new(0),
            working: AtomicBool::new(false),
            idle: Event::default(),
        }
    }

    /// Purge takes something out, once nobody asks that it does not, or `over` says that it ends.
    pub(crate) async fn begin_work(&self, over: impl Fn() -> bool) -> Working<'_> {
        self.event
            .wait_for(|| {
                self.working.store(true, Ordering::SeqCst);
                if self.paused.load(Ordering::SeqCst) == 0 || over() {
                    return Some(Working(self));
                }
                drop(Working(self));
                None
            })
            .await
    }

    /// Asks that nothing be taken out until [`resume`](Self::resume). Files are at rest when [`is_idle`](Self::is_idle) says so.
    pub(crate) fn pause(&self) {
        self.paused.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes [`pause`](Self::pause) back.
    pub(crate) fn resume(&self) {
        self.paused.fetch_sub(1, Ordering::SeqCst);
        if !base::mutant!("purge-resumed-without-a-word") {
            self.event.fire();
        }
    }

    /// Nothing is being taken out.
    pub(crate) fn is_idle(&self) -> bool {
        !self.working.load(Ordering::SeqCst)
    }

    /// Fired when [`is_idle`](Self::is_idle) may have changed.
    pub(crate) fn idle(&self) -> &Event {
        &self.idle
    }

    pub(crate) fn push(&self, item: PurgeItem) {
        let mut q = lock(&self.queue);
        q.push(item);
        let wake = q.len() == 1 || q.len() >= 64;
        drop(q);
        if wake && !base::mutant!("purge-work-left-without-a-word") {
            self.event.fire();
        }
    }

    /// Puts an item off until `by` has undone what it did, or has ended; `active` tells whether it runs.
    pub(crate) fn hold(&self, by: TxnId, item: PurgeItem, active: impl FnOnce() -> bool) {
        if base::mutant!("held-purge-forgotten") {
            return;
        }
        let mut held = lock(&self.held);
        held.entry(by).or_default().push(item);
        self.held_items.fetch_add(1, Ordering::SeqCst);
        drop(held);
        // Against the fence in `release`: either the item is seen there, or the end here.
        fence(Ordering::SeqCst);
        if !active() {
            self.release(by);
        }
    }

    /// `by` has undone what it did, or has ended: what waited for that is work again.
    #[inline]
    pub(crate) fn release(&self, by: TxnId) {
        fence(Ordering::SeqCst);
        if self.held_items.load(Ordering::Relaxed) > 0 {
            self.release_held(by);
        }
    }

    #[cold]
    fn release_held(&self, by: TxnId) {
        let mut held = lock(&self.held);
        let items = held.remove(&by).unwrap_or_default();
        let n = items.len();
        // Before they are not held any more: a checkpoint finds them in one place or in both.
        items.into_iter().for_each(|i| self.push(i));
        self.held_items.fetch_sub(n, Ordering::SeqCst);
        drop(held);
        if n > 0 {
            self.event.fire();
        }
    }

    /// The commit record of the first transaction waiting.
    pub(crate) fn first(&self) -> Option<Lsn> {
        lock(&self.queue).first()
    }

    /// Transactions waiting.
    pub(crate) fn len(&self) -> usize {
        // What was taken and is not done yet counts too.
        let held = self.held_items.load(Ordering::SeqCst);
        let q = lock(&self.queue);
        held + q.len() + lock(&self.current).len()
    }

    /// A snapshot was given up: if it was the one in the way, there is work.
    #[inline]
    pub(crate) fn snapshot_closed(&self, s: Lsn) {
        // Against the fence in `pop_ready`: either the cell is seen to be empty there, or what it is in the way of is seen here.
        fence(Ordering::SeqCst);
        let b = self.blocked_on.load(Ordering::Relaxed);
        if base::mutant!("purge-wakeup-lost") {
            return;
        }
        if b != 0 && s.0 <= b {
            self.event.fire();
        }
    }

    /// Everything not done, for a checkpoint.
    pub(crate) fn pending(&self) -> Pending {
        let held = lock(&self.held);
        let q = lock(&self.queue);
        let mut current: Vec<PurgeItem> = lock(&self.current).iter().copied().collect();
        current.extend(held.values().flatten());
        current.extend(&q.again);
        let oldest = q.queued.iter().chain(&current).map(|i| i.first).min();
        // "None" would let the log go that the work is read from.
        assert!(oldest != Some(Lsn::NONE), "purge work without a beginning");
        Pending {
            queued_from: q.queued.front().map_or(Lsn::NONE, |i| i.commit),
            oldest: oldest.unwrap_or(Lsn::NONE),
            current,
        }
    }

    /// Takes what may be done now; notes what is in the way otherwise. `oldest` looks for the oldest snapshot.
    pub(crate) fn pop_ready(&self, oldest: impl FnOnce() -> Lsn) -> Vec<PurgeItem> {
        // Before the look: a snapshot given up after it must find what it was in the way of. Without the queue's lock during
        // the look: a committing session asks for it while whoever lists the sessions waits for that one.
        let first = self.first().map_or(0, |c| c.0);
        self.blocked_on.store(first, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let oldest = match base::mutant!("purged-too-early") {
            true => Lsn::MAX,
            false => oldest(),
        };
        let mut q = lock(&self.queue);
        let items = q.pop_ready(256, oldest);
        if !items.is_empty() {
            self.blocked_on.store(0, Ordering::Relaxed);
        }
        *lock(&self.current) = items.iter().copied().collect();
        items
    }

    /// Once, when nothing is left of what the start has found: up to where no commit waits. Said in the log, it lets the next start find less, and
    /// keep less of the log, also when this one lives too short for a checkpoint behind its purge.
    pub(crate) fn found_is_done(&self) -> Option<Lsn> {
        let to = Lsn(self.found_to.load(Ordering::Relaxed));
        if to.is_none() {
            return None;
        }
        let pending = self.pending();
        let queued = !pending.queued_from.is_none() && pending.queued_from < to;
        let waits = queued || pending.current.iter().any(|i| i.commit < to);
        if waits && !base::mutant!("found-work-noted-as-done") {
            return None;
        }
        self.found_to.store(0, Ordering::Relaxed);
        Some(to)
    }

    /// The first of what was taken is done.
    pub(crate) fn finished_one(&self) {
        lock(&self.current).pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(n: u64) -> PurgeItem {
        PurgeItem {
            commit: Lsn(n * 100),
            txid: TxnId(n),
            first: Lsn(n * 100 - 50),
            last: Lsn(n * 100 - 10),
        }
    }

    fn commits(items: &[PurgeItem]) -> Vec<u64> {
        items.iter().map(|i| i.commit.0).collect()
    }

    #[test]
    fn what_was_put_off_does_not_bring_back_what_is_done() {
        let p = PurgeQueue::new(Vec::new(), Lsn::NONE, Lsn::NONE);
        (1..=4).for_each(|n| p.push(item(n)));
        let taken = p.pop_ready(|| Lsn(350));
        assert_eq!(commits(&taken), [100, 200, 300]);
        p.hold(TxnId(9), taken[0], || true);
        (0..3).for_each(|_| p.finished_one());
        p.release(TxnId(9));
        // Were the queue said to begin at the first commit, a recovery would do the second and the third again, whose log
        // may be gone.
        let left = p.pending();
        assert_eq!(left.queued_from, Lsn(400));
        assert_eq!(commits(&left.current), [100]);
        assert_eq!(left.oldest, Lsn(50));
        assert_eq!(commits(&p.pop_ready(|| Lsn::MAX)), [100, 400]);
    }

    #[test]
    fn a_commit_overtaken_by_a_finished_one_is_told_by_itself() {
        let p = PurgeQueue::new(Vec::new(), Lsn::NONE, Lsn::NONE);
        p.push(item(2));
        assert_eq!(commits(&p.pop_ready(|| Lsn(250))), [200]);
        p.finished_one();
        p.push(item(1));
        p.push(item(3));
        let left = p.pending();
        assert_eq!(
            (left.queued_from, commits(&left.current)),
            (Lsn(300), vec![100])
        );
    }

    #[test]
    fn what_recovery_found_before_the_queue_s_beginning_stays_apart() {
        let p = PurgeQueue::new(vec![item(1), item(5), item(6)], Lsn(400), Lsn(700));
        let left = p.pending();
        assert_eq!(
            (left.queued_from, commits(&left.current)),
            (Lsn(500), vec![100])
        );
    }

    #[test]
    fn what_the_start_found_is_done_once_none_of_it_is_left() {
        let p = PurgeQueue::new(vec![item(1), item(2)], Lsn(100), Lsn(250));
        // Put off, so that it is not in the queue.
        let taken = p.pop_ready(|| Lsn(150));
        p.hold(TxnId(9), taken[0], || true);
        p.finished_one();
        p.push(item(3));
        assert_eq!(p.found_is_done(), None);
        p.pop_ready(|| Lsn(250));
        p.finished_one();
        assert_eq!(p.found_is_done(), None);
        p.release(TxnId(9));
        assert_eq!(p.found_is_done(), None);
        p.pop_ready(|| Lsn(250));
        assert_eq!(p.found_is_done(), None);
        p.finished_one();
        assert_eq!(p.found_is_done(), Some(Lsn(250)));
        assert_eq!(p.found_is_done(), None);
        assert_eq!(done_noted(&done_note(Lsn(250))), Some(Lsn(250)));
    }

    #[test]
    fn a_start_that_found_nothing_says_nothing() {
        let p = PurgeQueue::new(Vec::new(), Lsn(100), Lsn(250));
        assert_eq!(p.found_is_done(), None);
    }
}
