//! The lock table: queues by (index, key), and the protocol around them.
//!
//! Every call about a key is made under the page latch of the leaf that holds the key, or would hold it. That is what
//! makes "look at the row's writer, look at the table, write the row" one step, with one load when nobody uses the
//! table. What is granted stays granted until [`LockTable::release_all`] (or [`LockTable::unlock`]).

use super::deadlock::{Detector, WaitsFor};
use super::fact::{Afterwards, DeadlockListener};
use super::filter::{Filter, hash};
use super::order::Orders;
use super::owners::Owners;
use super::queue::{Blockers, Mode, Queue, Turn, Verdict};
use super::ranges::Ranges;
use super::request::{Acquired, Hold, OnConflict, Request};
use super::timeouts::{Expires, Timeouts};
use super::wait::{LockWait, Place, QueueRef, WaitCell, WaitEnd, Waits};
use crate::txn::TxnSystem;
use base::lock::{Mutex, MutexGuard};
use base::{Clock, TxnId};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Weak};

const SHARDS: usize = 256;
pub(super) const RANGE_SHARDS: usize = 16;

/// Waits that ended, to be woken when no lock is held any more.
pub(super) type Woken = SmallVec<[Arc<WaitCell>; 4]>;

pub(super) struct Entry {
    id: u64,
    pub(super) index: u32,
    pub(super) key: Box<[u8]>,
    pub(super) queue: Queue,
}

impl Entry {
    pub(super) fn place(&self, hash: u64) -> QueueRef {
        QueueRef {
            hash,
            id: self.id,
            key_len: self.key.len() as u32,
        }
    }
}

/// The map's keys are hashes already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(b);
        }
    }

    fn write_u64(&mut self, v: u64) {
        self.0 = v;
    }
}

#[derive(Default)]
pub(super) struct Entries {
    map: HashMap<u64, SmallVec<[Box<Entry>; 1]>, BuildHasherDefault<AsIs>>,
    made: u64,
    pub(super) len: usize,
}

impl Entries {
    pub(super) fn by_key(&mut self, hash: u64, index: u32, key: &[u8]) -> Option<&mut Box<Entry>> {
        self.map
            .get_mut(&hash)?
            .iter_mut()
            .find(|e| e.index == index && *e.key == *key)
    }

    /// All of them.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.map.values().flatten().map(|e| &**e)
    }

    pub(super) fn by_ref(&mut self, queue: QueueRef) -> Option<&mut Box<Entry>> {
        self.map
            .get_mut(&queue.hash)?
            .iter_mut()
            .find(|e| e.id == queue.id)
    }
}

#[repr(align(128))]
#[derive(Default)]
pub(super) struct Shard(pub(super) Mutex<Entries>);

pub(super) type RangeShard = Mutex<HashMap<u32, Ranges>>;

/// The lock table of a database.
pub struct LockTable {
    me: Weak<LockTable>,
    pub(super) seed: u64,
    txns: Arc<TxnSystem>,
    filter: Filter,
    pub(super) shards: Box<[Shard]>,
    pub(super) range_filter: Filter,
    pub(super) range_shards: Box<[RangeShard]>,
    pub(super) owners: Owners,
    pub(super) detector: Detector,
    pub(super) orders: Orders,
    timeouts: Timeouts,
    /// Who is told of deadlocks.
    pub(super) listener: Mutex<Option<DeadlockListener>>,
}

pub(super) fn guard<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock()
}

pub(super) fn wake(woken: &Woken) {
    for cell in woken {
        cell.wake();
    }
}

impl LockTable {
    /// An empty table. `seed` is random, from the environment.
    pub fn new(txns: Arc<TxnSystem>, clock: Arc<dyn Clock>, seed: u64) -> Arc<LockTable> {
        Arc::new_cyclic(|me| LockTable {
            me: me.clone(),
            seed,
            txns,
            filter: Filter::new(65_536),
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            range_filter: Filter::new(1024),
            range_shards: (0..RANGE_SHARDS).map(|_| Mutex::default()).collect(),
            owners: Owners::new(),
            detector: Detector::default(),
            orders: Orders::default(),
            timeouts: Timeouts::new(clock),
            listener: Mutex::default(),
        })
    }

    pub(super) fn shard(&self, hash: u64) -> MutexGuard<'_, Entries> {
        guard(&self.shards[hash as usize % SHARDS].0)
    }

    /// Asks for a row's lock. Under the row's page latch; never blocks.
    #[inline]
    pub fn lock(&self, req: &Request<'_>) -> Acquired {
        let hash = hash(self.seed, req.index, req.key);
        let guarded = self.may_be_guarded(req.index);
        if !guarded && req.writer.is_none() && req.hold == Hold::Row && !self.queue_may_exist(hash)
        {
            return Acquired::Granted;
        }
        self.lock_slow(req, hash, guarded)
    }

    /// False when nobody has anything in the queue of the row with this hash.
    #[inline]
    pub(super) fn queue_may_exist(&self, hash: u64) -> bool {
        self.filter.may_contain(hash)
    }

    /// Whether nobody has the lock of a row in the table, guards a range of its index, or waits for either. Says nothing of who
    /// writes the row. Under the row's page latch.
    #[inline]
    pub fn is_free(&self, index: u32, key: &[u8]) -> bool {
        !self.may_be_guarded(index) && !self.queue_may_exist(hash(self.seed, index, key))
    }

    fn lock_slow(&self, req: &Request<'_>, hash: u64, guarded: bool) -> Acquired {
        if req.writer.is_some() && req.on_conflict == OnConflict::Fail {
            return Acquired::Conflict;
        }
        if guarded {
            return self.lock_among_guards(req, hash);
        }
        let mut woken = Woken::new();
        let answer = {
            let mut shard = self.shard(hash);
            self.ask_shard(&mut shard, req, hash, &mut woken, true)
        };
        wake(&woken);
        match answer {
            Some(answer) => answer,
            None => self.lock_among_guards(req, hash),
        }
    }

    /// As [`lock`](Self::lock), by the row's queue alone.
    pub(super) fn ask_in_queue(&self, req: &Request<'_>, hash: u64, woken: &mut Woken) -> Acquired {
        let mut shard = self.shard(hash);
        self.ask_shard(&mut shard, req, hash, woken, false)
            .unwrap_or(Acquired::Retry)
    }

    /// `watch`: `None` where somebody has begun to guard ranges of the index meanwhile; nothing was granted then.
    fn ask_shard(
        &self,
        shard: &mut Entries,
        req: &Request<'_>,
        hash: u64,
        woken: &mut Woken,
        watch: bool,
    ) -> Option<Acquired> {
        if shard.by_key(hash, req.index, req.key).is_none() {
            if req.hold == Hold::Row && req.writer.is_none() {
                return Some(Acquired::Granted);
            }
            self.make_entry(shard, hash, req.index, req.key);
        }
        let entry = shard.by_key(hash, req.index, req.key)?;
        let place = entry.place(hash);
        let answer = match watch && self.may_be_guarded(req.index) {
            true => None,
            false => Some(self.ask(&mut entry.queue, place, req, woken)),
        };
        self.drop_if_empty(shard, place);
        answer
    }

    /// Puts a lock that `owner` has by guarding a range into the queue of the row that is asked for.
    pub(super) fn put_into_queue(&self, req: &Request<'_>, hash: u64, owner: TxnId, mode: Mode) {
        let mut shard = self.shard(hash);
        if shard.by_key(hash, req.index, req.key).is_none() {
            self.make_entry(&mut shard, hash, req.index, req.key);
        }
        if let Some(entry) = shard.by_key(hash, req.index, req.key) {
            let place = entry.place(hash);
            if entry.queue.grant(owner, mode) {
                self.owners.add_held(owner, place);
            }
        }
    }

    pub(super) fn make_entry(&self, shard: &mut Entries, hash: u64, index: u32, key: &[u8]) {
        shard.made += 1;
        let entry = Entry {
            id: shard.made,
            index,
            key: key.into(),
            queue: Queue::default(),
        };
        shard.map.entry(hash).or_default().push(Box::new(entry));
        shard.len += 1;
        self.filter.add(hash);
    }

    pub(super) fn drop_if_empty(&self, shard: &mut Entries, queue: QueueRef) {
        let Some(list) = shard.map.get_mut(&queue.hash) else {
            return;
        };
        if let Some(i) = list
            .iter()
            .position(|e| e.id == queue.id && e.queue.is_empty())
        {
            list.swap_remove(i);
            self.filter.remove(queue.hash);
            if list.is_empty() {
                shard.map.remove(&queue.hash);
                let (len, room) = (shard.map.len(), shard.map.capacity());
                // What very many locks have taken is given back.
                if room > 64 && len < room / 8 {
                    shard.map.shrink_to(2 * len);
                }
            }
            shard.len -= 1;
        }
    }

    fn ask(
        &self,
        queue: &mut Queue,
        place: QueueRef,
        req: &Request<'_>,
        woken: &mut Woken,
    ) -> Acquired {
        if let Some(writer) = req.writer
            && !self.convert(queue, place, writer)
        {
            self.promote(queue, place, woken);
            return Acquired::Retry;
        }
        let verdict = queue.verdict(req.owner, req.mode, req.brief);
        match (verdict, req.on_conflict) {
            (Verdict::Held, _) => Acquired::Held,
            (Verdict::Free, _) => {
                // An owner that is in the queue is there with its true mode: the queue must not admit others beside
                // what it has in the row. Nor must those be let in before whom it goes.
                let passes = queue.is_wanted() && queue.held(req.owner).is_none();
                let note = req.hold != Hold::Row || passes || queue.held(req.owner).is_some();
                if passes {
                    queue.pass();
                }
                if note && queue.grant(req.owner, req.mode) {
                    if req.hold != Hold::Table {
                        self.owners.add_held(req.owner, place);
                    } else if !self.owners.try_add_held(req.owner, place) {
                        queue.release(req.owner);
                        return Acquired::Full;
                    }
                }
                Acquired::Granted
            }
            (Verdict::Conflict, OnConflict::Fail) => Acquired::Conflict,
            (Verdict::Conflict, OnConflict::Wait { weight, timeout_us }) => {
                match self.make_wait(req.owner, Place::Queue(place), weight, timeout_us) {
                    Some(wait) => {
                        let holds =
                            req.mode == Mode::Exclusive && self.owners.holds_rows(req.owner);
                        queue.enqueue(req.mode, wait.cell().clone(), holds, req.brief);
                        // The lock may be free, and this one the first to go by now.
                        self.promote(queue, place, woken);
                        Acquired::Wait(wait)
                    }
                    None => Acquired::Retry,
                }
            }
        }
    }

    /// Puts the lock that `writer` has in the row into the queue, so that it is released with the writer's others.
    /// False when the writer has ended, and perhaps released what it had, before we could.
    fn convert(&self, queue: &mut Queue, place: QueueRef, writer: TxnId) -> bool {
        if queue.held(writer) == Some(Mode::Exclusive) {
            return true;
        }
        let new = queue.grant_written(writer);
        if new {
            self.owners.add_held(writer, place);
        }
        // The writer publishes its end before it looks whether it owns anything; we did it the other way round.
        if self.txns.is_active(writer) {
            return true;
        }
        if new {
            queue.release(writer);
            self.owners.remove_held(writer, place);
        }
        false
    }

    pub(super) fn make_wait(
        &self,
        owner: TxnId,
        place: Place,
        weight: u64,
        timeout_us: Option<u64>,
    ) -> Option<LockWait> {
        let table = self.me.upgrade()?;
        let now = self.timeouts.now_us();
        let deadline = timeout_us.map(|t| now.saturating_add(t));
        let cell = WaitCell::new(owner, weight, place, deadline, now);
        self.owners.set_waiting(owner, cell.clone());
        Some(LockWait::new(table, cell))
    }

    pub(super) fn promote(&self, queue: &mut Queue, place: QueueRef, woken: &mut Woken) {
        queue.promote(base::counters::thread_number(), |turn| {
            let cell = match turn {
                Turn::Granted(cell, new) => {
                    self.granted(&cell, place, new);
                    cell
                }
                Turn::Offered(cell) => {
                    cell.offer();
                    cell
                }
            };
            if !base::mutant!("waiter-skipped") {
                woken.push(cell);
            }
        });
    }

    fn granted(&self, cell: &WaitCell, place: QueueRef, new: bool) {
        self.owners.wait_over(cell.owner, new.then_some(place));
        cell.finish(WaitEnd::Granted);
    }

    /// Releases all that `owner` holds, including row locks that waiters put here for it, and wakes those who can go.
    /// After its end was published ([`TxnSystem::committed`], [`TxnSystem::aborted`]). One load when it holds nothing.
    #[inline]
    pub fn release_all(&self, owner: TxnId) {
        fence(Ordering::SeqCst);
        if self.owners.may_have(owner) {
            self.release_slow(owner);
        }
    }

    fn release_slow(&self, owner: TxnId) {
        // Before its queues are looked at: until then others may put there what it has by its guards.
        for index in self.owners.take_ranges(owner) {
            self.release_ranges(owner, index);
        }
        let Some(had) = self.owners.remove(owner) else {
            return;
        };
        let mut woken = Woken::new();
        for place in had.held {
            {
                let mut shard = self.shard(place.hash);
                if let Some(entry) = shard.by_ref(place)
                    && entry.queue.release(owner)
                {
                    self.promote(&mut entry.queue, place, &mut woken);
                    self.drop_if_empty(&mut shard, place);
                }
            }
            wake(&woken);
            woken.clear();
        }
        if let Some(cell) = had.waiting {
            self.cancel(&cell, WaitEnd::Killed);
        }
    }

    /// Ends the wait of `owner`, if it waits, with [`WaitEnd::Killed`]; true when it did. The killer first sets the
    /// victim's kill flag, and a session looks at its flag between getting a [`LockWait`] and awaiting it: so no kill
    /// falls between.
    pub fn kill(&self, owner: TxnId) -> bool {
        self.owners
            .waiting(owner)
            .is_some_and(|cell| self.cancel(&cell, WaitEnd::Killed))
    }

    /// True when `owner` waits for a lock (process list).
    pub fn is_waiting(&self, owner: TxnId) -> bool {
        self.owners.waiting(owner).is_some()
    }

    fn cancel_in_queue(
        &self,
        cell: &Arc<WaitCell>,
        place: QueueRef,
        end: WaitEnd,
        woken: &mut Woken,
    ) -> bool {
        let mut shard = self.shard(place.hash);
        let Some(entry) = shard.by_ref(place) else {
            return false;
        };
        if !entry.queue.withdraw(cell) {
            return false;
        }
        self.withdrawn(cell, end, woken);
        if !base::mutant!("who-gives-up-lets-nobody-go") {
            self.promote(&mut entry.queue, place, woken);
        }
        self.drop_if_empty(&mut shard, place);
        true
    }

    /// Nothing is locked, guarded or waited for.
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(|s| guard(&s.0).map.is_empty())
            && self.range_shards.iter().all(|s| guard(s).is_empty())
    }
}

impl Waits for LockTable {
    fn begin_wait(&self, cell: &Arc<WaitCell>) {
        self.detector.resolve(self, cell);
        if cell.ended().is_none() {
            let me: Weak<dyn Expires> = self.me.clone();
            self.timeouts.add(&me, cell);
        }
    }

    fn claim(&self, cell: &Arc<WaitCell>) {
        let Place::Queue(place) = cell.place else {
            return;
        };
        let mut shard = self.shard(place.hash);
        if let Some(entry) = shard.by_ref(place)
            && let Some(new) = entry.queue.claim(cell)
        {
            self.granted(cell, place, new);
        }
    }

    fn cancel(&self, cell: &Arc<WaitCell>, end: WaitEnd) -> bool {
        match cell.place {
            Place::Queue(place) => {
                let mut woken = Woken::new();
                let was_waiting = self.cancel_in_queue(cell, place, end, &mut woken);
                wake(&woken);
                was_waiting
            }
            Place::Ranges(index) => self.cancel_in_ranges(cell, index, end),
            Place::Turn(turn) => self.cancel_turn(cell, turn, end),
        }
    }
}

impl Expires for LockTable {
    fn expire(&self) {
        let me: Weak<dyn Expires> = self.me.clone();
        self.timeouts.expire(&me, |cell, end| {
            self.cancel(cell, end);
        });
    }
}

impl WaitsFor for LockTable {
    fn blockers(&self, cell: &Arc<WaitCell>) -> Blockers {
        match cell.place {
            Place::Queue(place) => self
                .shard(place.hash)
                .by_ref(place)
                .map(|e| e.queue.blockers(cell))
                .unwrap_or_default(),
            Place::Ranges(index) => {
                let holders = self
                    .range_shard(index)
                    .get(&index)
                    .map(|r| r.blockers(cell))
                    .unwrap_or_default();
                Blockers {
                    holders,
                    ahead: SmallVec::new(),
                }
            }
            Place::Turn(turn) => Blockers {
                holders: self.orders.before(turn).into(),
                ahead: SmallVec::new(),
            },
        }
    }

    fn waiting(&self, t: TxnId) -> Option<Arc<WaitCell>> {
        self.owners.waiting(t)
    }

    fn holds_any(&self, t: TxnId) -> bool {
        self.owners.holds_any(t)
    }

    fn turns_waited_for(&self) -> bool {
        self.orders.is_waited_for()
    }

    fn found_cycle(&self, cycle: &[Arc<WaitCell>], victim: &Arc<WaitCell>) -> Option<Afterwards> {
        self.tell_deadlock(cycle, victim)
    }

    fn end_wait(&self, cell: &Arc<WaitCell>, end: WaitEnd) {
        self.cancel(cell, end);
    }
}
