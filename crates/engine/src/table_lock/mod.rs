//! Locks of whole tables: who uses a table, who has locked it, and whose definition change waits for it; and the locks of the whole
//! server ([`global`]).
//!
//! A transaction that uses a table is a user until it ends. Users are counted, a thread apart from the other, and look at one word: nothing
//! that is locked costs them no more than that. Whoever wants more than to use the table (LOCK TABLES, a change of its definition) *asks*: new
//! users are kept off, and when those that stand in the way have gone, the lock is granted. Who asks may not ask for long: after a moment
//! he withdraws, waits until all who were there then have gone, and asks again. So nobody waits for long for one who waits. What somebody has locked for
//! writing is nobody else's to use, and a definition change that waits for it has a [claim](claims): it comes first when the lock is given back.
//!
//! **Order.** A session has the DDL mutex first, then asks for tables in the order of their [`number`](TableLock::number)s, all of them or
//! none; it waits for nothing else meanwhile, neither rows nor the locks of the server. Of the locks inside of this module, at most one is
//! held at a time.
//!
//! Must never do: wait, read a clock, or know what a session is.

mod claims;
mod global;
mod shown;
#[cfg(test)]
mod tests;

pub(crate) use claims::Claims;
pub(crate) use global::{GlobalLock, Hindrance, Writing};
pub(crate) use shown::TableWait;
pub use shown::{TableLockKind, TablesInUse};

use base::Event;
use base::counters::{SHARDS, shard};
use base::lock::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Who reads looks at the table's state before he uses it.
const NO_READS: u32 = 1;
/// Who writes does.
const NO_WRITES: u32 = 2;
/// Somebody asks: users that leave wake him.
const ASKED: u32 = 4;
/// Somebody waits for the users of the older phase: those that leave wake him.
const WATCHED: u32 = 8;
/// Which of the two counts new users are in.
const PHASE: u32 = 16;

/// A user that writes, beside being a user.
const WRITER: i64 = 1 << 32;

/// A session that may hold locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner(pub(crate) u64);

/// What somebody wants who wants more than to use a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TableLockMode {
    /// LOCK TABLES .. READ: nobody writes.
    Read,
    /// LOCK TABLES .. WRITE: nobody else uses the table.
    Write,
    /// To change its definition: nobody at all uses it.
    Change,
}

/// Users whose rollback has failed stay for ever; a drop of the table does not wait for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FailedRollbacks {
    Count,
    DoNotCount,
}

/// What has become of a request for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// New users are kept off.
    Yes,
    /// Another one asks; that will not be long.
    Later,
    /// Another one has a lock that does not go with it, or comes first.
    Held,
}

/// What is to be done about the claims of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Claimed {
    /// They come first.
    First,
    /// They can wait.
    Passed,
}

/// Who comes next, and what for.
struct Claim {
    owner: Owner,
    turn: u64,
    /// The numbers of all tables that the owner has to have.
    wants: Arc<[u64]>,
}

/// Users by phase. A line of its own for each thread.
#[repr(align(128))]
#[derive(Default)]
struct Users([AtomicI64; 2]);

#[derive(Default)]
struct State {
    /// Who has locked it for reading.
    readers: Vec<Owner>,
    /// Who has locked it for writing.
    writer: Option<Owner>,
    /// Who changes its definition.
    changing: Option<Owner>,
    asking: Option<(Owner, TableLockMode)>,
    /// Who has locked it for reading, and waits for all who use it to go, to change its definition.
    rising: Option<Owner>,
    /// Who comes next when it is given back, by their turns.
    claims: Vec<Claim>,
    /// Grows with each change of the phase; new users are in the count of its last bit.
    generation: u64,
    /// How many wait for users of the older phase.
    watching: u32,
}

impl State {
    fn held_against(&self, owner: Owner, mode: TableLockMode) -> bool {
        let other = |o: &Owner| *o != owner;
        self.changing.is_some_and(|o| o != owner)
            || self.writer.is_some_and(|o| o != owner)
            || mode != TableLockMode::Read
                && self.readers.iter().any(other)
                && !base::mutant!("write-lock-granted-beside-a-reader")
    }

    /// Whether somebody comes before `owner`, who does not hold the lock.
    fn claimed_against(&self, owner: Owner) -> bool {
        let holds = self.writer == Some(owner)
            || self.changing == Some(owner)
            || self.readers.contains(&owner);
        let first = self.claims.first();
        first.is_some_and(|c| c.owner != owner) && !holds
    }

    /// Somebody has a lock that does not go with it, or comes first.
    fn closed_to(&self, owner: Owner, mode: TableLockMode, claimed: Claimed) -> bool {
        self.held_against(owner, mode) || claimed == Claimed::First && self.claimed_against(owner)
    }

    /// What the word says.
    fn gate(&self) -> u32 {
        let mut gate = 0;
        let asked = self.asking.map(|(_, mode)| mode);
        if self.changing.is_some()
            || self.writer.is_some()
            || !self.claims.is_empty() && !base::mutant!("claim-does-not-shut-the-table")
            || asked.is_some_and(|m| m != TableLockMode::Read)
        {
            gate |= NO_READS | NO_WRITES;
        }
        if !self.readers.is_empty() || asked.is_some() {
            gate |= NO_WRITES;
        }
        if asked.is_some() {
            gate |= ASKED;
        }
        if self.watching > 0 && !base::mutant!("who-waits-for-a-table-is-not-woken") {
            gate |= WATCHED;
        }
        if self.generation & 1 != 0 {
            gate |= PHASE;
        }
        gate
    }
}

/// The lock of a table. It goes from a table object to the one that takes its place.
pub(crate) struct TableLock {
    /// By which locks are ordered.
    number: u64,
    /// What users look at: a summary of the state, changed under its lock alone.
    gate: AtomicU32,
    state: Mutex<State>,
    /// Of the users, transactions that cannot be rolled back.
    failed_rollbacks: AtomicI64,
    /// Fired when the state lets others in, and when users leave that somebody waits for.
    pub(crate) changed: Event,
    users: [Users; SHARDS],
}

/// A use of a table, as its lock counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Announced {
    phase: u8,
    /// The user may write.
    pub(crate) writes: bool,
}

impl Default for TableLock {
    fn default() -> TableLock {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        TableLock {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            gate: AtomicU32::new(0),
            state: Mutex::default(),
            failed_rollbacks: AtomicI64::new(0),
            changed: Event::new(),
            users: Default::default(),
        }
    }
}

impl TableLock {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Counts a user. He must ask [`admits`](Self::admits) then, and leave where it says no.
    #[inline]
    pub(crate) fn announce(&self, writes: bool) -> Announced {
        // Which phase it is matters only to who decides when to ask again: one that has just ended does.
        let phase = u8::from(self.gate.load(Ordering::Relaxed) & PHASE != 0);
        let one = 1 + if writes { WRITER } else { 0 };
        self.users[shard()].0[usize::from(phase)].fetch_add(one, Ordering::SeqCst);
        Announced { phase, writes }
    }

    /// Whether a user that was announced may go on without a look at the state.
    #[inline]
    pub(crate) fn admits(&self, writes: bool) -> bool {
        let shut = if writes { NO_WRITES } else { NO_READS };
        self.gate.load(Ordering::SeqCst) & shut == 0
    }

    /// The same for one who is not let in by that: a session that has the lock itself (unless it changes the definition), and one that uses the table already and so is
    /// waited for by who only asks.
    pub(crate) fn admits_owner(&self, owner: Owner, writes: bool, uses_it: bool) -> bool {
        let state = self.lock();
        let mode = match writes {
            true => TableLockMode::Write,
            false => TableLockMode::Read,
        };
        let owned = state.writer == Some(owner) || !writes && state.readers.contains(&owner);
        if state.changing.is_some() {
            return false;
        }
        let others_first = state.asking.is_some() || state.claimed_against(owner);
        owned || (uses_it || !others_first) && !state.held_against(owner, mode)
    }

    /// A user goes. Another thread may say so than announced him; only the sum counts.
    #[inline]
    pub(crate) fn leave(&self, was: Announced) {
        let one = 1 + if was.writes { WRITER } else { 0 };
        self.users[shard()].0[usize::from(was.phase)].fetch_sub(one, Ordering::SeqCst);
        let gate = self.gate.load(Ordering::SeqCst);
        if gate & (ASKED | WATCHED) != 0 {
            let older = was.phase != u8::from(gate & PHASE != 0);
            if (gate & ASKED != 0 || older) && !base::mutant!("table-left-without-a-word") {
                self.changed.fire();
            }
        }
    }

    fn sum(&self, phase: usize) -> i64 {
        let counts = self.users.iter().map(|u| &u.0[phase]);
        counts.map(|n| n.load(Ordering::SeqCst)).sum()
    }

    /// All users, and those that write.
    fn count(&self) -> (i64, i64) {
        let sum = self.sum(0) + self.sum(1);
        let writers = (sum + WRITER / 2) >> 32;
        (sum - writers * WRITER, writers)
    }

    /// How many use the table.
    pub(crate) fn users(&self) -> i64 {
        self.count().0
    }

    /// One user's rollback has failed (1), or is tried again (-1).
    pub(crate) fn count_failed_rollback(&self, n: i64) {
        self.failed_rollbacks.fetch_add(n, Ordering::SeqCst);
        self.changed.fire();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Changes the state, and what users see of it.
    fn change<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let r = f(&mut state);
        self.gate.store(state.gate(), Ordering::SeqCst);
        r
    }

    /// Keeps new users off for whoever wants to lock the table. [`grant`](Self::grant) or [`withdraw`](Self::withdraw) must follow.
    pub(crate) fn ask(&self, owner: Owner, mode: TableLockMode, claimed: Claimed) -> Asked {
        self.change(|s| {
            if s.closed_to(owner, mode, claimed) {
                return Asked::Held;
            }
            if s.asking.is_some() {
                return Asked::Later;
            }
            s.asking = Some((owner, mode));
            Asked::Yes
        })
    }

    /// Whether somebody has a lock that does not go with this one, or comes first.
    pub(crate) fn is_held_against(
        &self,
        owner: Owner,
        mode: TableLockMode,
        claimed: Claimed,
    ) -> bool {
        self.lock().closed_to(owner, mode, claimed)
    }

    /// Gives the lock to whoever asks, if nobody uses the table in a way that does not go with it.
    pub(crate) fn grant(&self, failed: FailedRollbacks) -> bool {
        let granted = self.change(|s| {
            let Some((owner, mode)) = s.asking else {
                return false;
            };
            // A user that comes later looks at the state after he was counted.
            let (mut users, mut writers) = self.count();
            if failed == FailedRollbacks::DoNotCount {
                // In this order: a session counts as a user before it gives up.
                let given_up = self.failed_rollbacks.load(Ordering::SeqCst);
                users -= given_up;
                writers -= given_up;
            }
            match mode {
                TableLockMode::Read if writers > 0 => return false,
                TableLockMode::Write | TableLockMode::Change if users > 0 => return false,
                TableLockMode::Read => s.readers.push(owner),
                TableLockMode::Write => s.writer = Some(owner),
                TableLockMode::Change => s.changing = Some(owner),
            }
            s.asking = None;
            true
        });
        if granted && !base::mutant!("table-granted-without-a-word") {
            // Others may have waited to ask.
            self.changed.fire();
        }
        granted
    }

    /// Nobody asks any more.
    pub(crate) fn withdraw(&self) {
        self.change(|s| s.asking = None);
        if !base::mutant!("request-withdrawn-without-a-word") {
            self.changed.fire();
        }
    }

    /// Who has locked it, and how.
    pub(crate) fn holders(&self) -> Vec<(u64, TableLockMode)> {
        let s = self.lock();
        let readers = s.readers.iter().map(|o| (o.0, TableLockMode::Read));
        let writer = s.writer.map(|o| (o.0, TableLockMode::Write));
        let changing = s.changing.map(|o| (o.0, TableLockMode::Change));
        readers.chain(writer).chain(changing).collect()
    }

    /// Gives a lock back.
    pub(crate) fn release(&self, owner: Owner, mode: TableLockMode) {
        self.change(|s| match mode {
            TableLockMode::Read => {
                if let Some(i) = s.readers.iter().position(|o| *o == owner) {
                    s.readers.swap_remove(i);
                }
            }
            TableLockMode::Write => s.writer = None,
            TableLockMode::Change => s.changing = None,
        });
        if !base::mutant!("table-given-back-without-a-word") {
            self.changed.fire();
        }
    }

    /// Who has locked it for reading wants to change its definition next, or (`None`) does not any more.
    fn rise(&self, owner: Option<Owner>) {
        self.change(|s| s.rising = owner);
        self.changed.fire();
    }

    /// Who has locked it for reading, and waits for all who use it to go.
    pub(crate) fn rising(&self) -> Option<Owner> {
        self.lock().rising
    }

    /// Whether somebody else has locked it for writing.
    fn is_written_by_another(&self, owner: Owner) -> bool {
        let writer = self.lock().writer;
        writer.is_some_and(|o| o != owner)
    }

    /// Makes a claim, or makes it anew; false where nobody else has locked the table for writing.
    fn claim(&self, claim: Claim) -> bool {
        let claimed = self.change(|s| {
            let before = s.claims.len();
            s.claims.retain(|c| c.turn != claim.turn);
            let anew = s.claims.len() < before;
            if !anew && s.writer.is_none_or(|o| o == claim.owner) {
                return false;
            }
            let at = s.claims.partition_point(|c| c.turn < claim.turn);
            s.claims.insert(at, claim);
            true
        });
        if claimed {
            // Who waits for the table may use another one that is wanted.
            self.changed.fire();
        }
        claimed
    }

    fn unclaim(&self, turn: u64) {
        self.change(|s| s.claims.retain(|c| c.turn != turn));
        if !base::mutant!("claim-given-up-without-a-word") {
            self.changed.fire();
        }
    }

    /// Nobody has it locked for writing any more, and somebody who comes before `owner` has to have one of these tables as well, by their locks' numbers.
    pub(crate) fn is_claimed_for(&self, owner: Owner, used: impl Fn(u64) -> bool) -> bool {
        let s = self.lock();
        let mut others = s.claims.iter().filter(|c| c.owner != owner);
        s.writer.is_none()
            && s.claimed_against(owner)
            && others.any(|c| c.wants.iter().any(|n| used(*n)))
    }

    /// Nobody has a claim to it.
    pub(crate) fn is_unclaimed(&self) -> bool {
        self.lock().claims.is_empty()
    }

    /// Begins to wait until all users that there are now have gone; gives what [`have_gone`](Self::have_gone) is asked by.
    pub(crate) fn watch(&self) -> u64 {
        self.change(|s| {
            s.watching += 1;
            s.generation + 1
        })
    }

    /// Whether the users that were there when the wait began have gone. Others may have come. Those whose rollback has failed do not count: they
    /// never go.
    pub(crate) fn have_gone(&self, since: u64) -> bool {
        self.change(|s| {
            let left = |phase: u64| {
                let sum = self.sum((phase & 1) as usize);
                let users = sum - ((sum + WRITER / 2) >> 32) * WRITER;
                users > self.failed_rollbacks.load(Ordering::SeqCst)
            };
            while s.generation < since {
                // The other count is to be free of users before new ones are in it.
                if left(s.generation + 1) {
                    return false;
                }
                s.generation += 1;
                self.gate.store(s.gate(), Ordering::SeqCst);
            }
            s.generation > since || !left(since + 1)
        })
    }

    /// Ends the wait.
    pub(crate) fn unwatch(&self) {
        self.change(|s| s.watching -= 1);
    }
}

/// A lock of a table, until it is dropped.
pub(crate) struct TableHold {
    lock: Arc<TableLock>,
    owner: Owner,
    mode: TableLockMode,
}

impl TableHold {
    /// One that was granted.
    pub(crate) fn new(lock: &Arc<TableLock>, owner: Owner, mode: TableLockMode) -> TableHold {
        TableHold {
            lock: lock.clone(),
            owner,
            mode,
        }
    }

    /// What is locked.
    pub(crate) fn lock(&self) -> &Arc<TableLock> {
        &self.lock
    }

    /// How.
    pub(crate) fn mode(&self) -> TableLockMode {
        self.mode
    }
}

impl Drop for TableHold {
    fn drop(&mut self) {
        self.lock.release(self.owner, self.mode);
    }
}

/// Tables that are locked for reading are to be locked for a change, until this is dropped: who uses one of them and waits to write to one of them
/// waits for ever, and is to know that.
pub(crate) struct Rising<'h>(&'h [TableHold]);

impl<'h> Rising<'h> {
    pub(crate) fn begin(held: &'h [TableHold]) -> Rising<'h> {
        held.iter().for_each(|h| h.lock.rise(Some(h.owner)));
        Rising(held)
    }
}

impl Drop for Rising<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|h| h.lock.rise(None));
    }
}

/// The locks that a session was asked to hold: they outlive its transactions.
#[derive(Default)]
pub(crate) struct Holds {
    pub(crate) tables: Vec<TableHold>,
    /// FLUSH TABLES WITH READ LOCK.
    pub(crate) reads: bool,
    /// LOCK INSTANCE FOR BACKUP.
    pub(crate) backup: bool,
    /// What it writes is not over with a statement or a transaction.
    pub(crate) writes_on: bool,
}

impl Holds {
    /// It goes on to write: it has a table locked for that, or has said so.
    pub(crate) fn writes(&self) -> bool {
        self.writes_on || self.tables.iter().any(|h| h.mode() == TableLockMode::Write)
    }
}

/// Somebody asks, until this is dropped or [`granted`](Self::granted).
pub(crate) struct Asking<'l>(pub(crate) &'l Arc<TableLock>);

impl Asking<'_> {
    /// What was asked for was granted.
    pub(crate) fn granted(self) {
        std::mem::forget(self);
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.withdraw();
    }
}

/// Somebody waits for the users that were there, until this is dropped.
pub(crate) struct Leaving<'l> {
    lock: &'l TableLock,
    since: u64,
}

impl<'l> Leaving<'l> {
    pub(crate) fn begin(lock: &'l TableLock) -> Leaving<'l> {
        let since = lock.watch();
        Leaving { lock, since }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock.have_gone(self.since)
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.lock.unwatch();
    }
}
