//! The locks of the whole server: FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP.
//!
//! A session that may write has a cell, in which it says that a statement of its writes, or a commit is under way, and since which era. Whoever wants the
//! read lock *asks*, as for a table: statements that begin to write then wait, and when no cell says anything any more the lock is granted. Where
//! that takes long he withdraws, begins a new era, and asks again when the statements of the older ones have ended.
//!
//! A definition change that has a claim to a table is let pass first, by either lock: it keeps others off that table, and would do so until this lock is given back.
//!
//! Must never do: wait, or read a clock.

use super::Owner;
use base::Event;
use base::lock::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Whoever is to write looks at the state first.
const STOPPED: u32 = 1;
/// Somebody asks: statements that end wake him.
const ASKED: u32 = 2;
/// Somebody waits for the statements of older eras.
const WATCHED: u32 = 4;

/// Nothing is written.
const IDLE: u64 = 0;

/// Whose lock stands in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hindrance {
    /// The session's own.
    Own,
    /// Another session's.
    Others,
}

/// Since which era a session writes.
#[repr(align(128))]
#[derive(Default)]
struct Cell(AtomicU64);

#[derive(Default)]
struct State {
    /// Who has FLUSH TABLES WITH READ LOCK.
    readers: Vec<Owner>,
    /// Who has LOCK INSTANCE FOR BACKUP.
    backups: Vec<Owner>,
    asking: bool,
    watching: u32,
    /// How many definition changes have [claims](super::claims).
    claims: i64,
    /// Who has the read lock and waits for tables that nobody writes, by their locks' numbers.
    awaits: Vec<(Owner, Arc<[u64]>)>,
}

impl State {
    fn word(&self) -> u32 {
        let mut word = 0;
        if self.asking || !self.readers.is_empty() {
            word |= STOPPED;
        }
        if self.asking {
            word |= ASKED;
        }
        if self.watching > 0 {
            word |= WATCHED;
        }
        word
    }
}

/// The locks of the whole server.
pub(crate) struct GlobalLock {
    /// A summary of the state, changed under its lock alone.
    word: AtomicU32,
    era: AtomicU64,
    state: Mutex<State>,
    cells: Mutex<Vec<Arc<Cell>>>,
    /// Fired when others may go on, and when statements end that somebody waits for.
    pub(crate) changed: Event,
}

impl Default for GlobalLock {
    fn default() -> GlobalLock {
        GlobalLock {
            word: AtomicU32::new(0),
            era: AtomicU64::new(IDLE + 1),
            state: Mutex::default(),
            cells: Mutex::default(),
            changed: Event::new(),
        }
    }
}

impl GlobalLock {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn change<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let r = f(&mut state);
        self.word.store(state.word(), Ordering::SeqCst);
        r
    }

    /// Stops what begins to write, for whoever wants the read lock; false where another one does just now. [`grant`](Self::grant) or
    /// [`withdraw`](Self::withdraw) must follow.
    pub(crate) fn ask(&self) -> bool {
        self.change(|s| !std::mem::replace(&mut s.asking, true))
    }

    /// Gives the read lock to whoever asks, if nothing is being written, and nobody has a claim to a table.
    pub(crate) fn grant(&self, owner: Owner) -> bool {
        self.change(|s| {
            let idle = {
                let cells = self.cells.lock();
                cells.iter().all(|c| c.0.load(Ordering::SeqCst) == IDLE)
            };
            let granted = s.asking && idle && s.claims == 0;
            if granted {
                s.asking = false;
                s.readers.push(owner);
            }
            granted
        })
    }

    /// A definition change has claims (1), or has none any more (-1).
    pub(super) fn count_claims(&self, n: i64) {
        self.lock().claims += n;
        self.changed.fire();
    }

    /// Whether a definition change has a claim to a table. None gets one while the caller has the DDL mutex.
    pub(crate) fn has_claims(&self) -> bool {
        self.lock().claims > 0
    }

    /// Nobody asks any more.
    pub(crate) fn withdraw(&self) {
        self.change(|s| s.asking = false);
        self.changed.fire();
    }

    /// Who has the read lock, and who has locked definitions for a backup.
    pub(crate) fn holders(&self) -> (Vec<u64>, Vec<u64>) {
        let s = self.lock();
        let numbers = |owners: &[Owner]| owners.iter().map(|o| o.0).collect();
        (numbers(&s.readers), numbers(&s.backups))
    }

    /// Gives the read lock back.
    pub(crate) fn release(&self, owner: Owner) {
        self.change(|s| s.readers.retain(|o| *o != owner));
        if !base::mutant!("server-given-back-without-a-word") {
            self.changed.fire();
        }
    }

    /// Locks definitions for a backup. No definition changes now: who asks has the DDL mutex.
    pub(crate) fn lock_for_backup(&self, owner: Owner) {
        self.lock().backups.push(owner);
    }

    /// Gives that back.
    pub(crate) fn unlock_for_backup(&self, owner: Owner) {
        self.lock().backups.retain(|o| *o != owner);
        self.changed.fire();
    }

    /// What keeps a session from writing.
    pub(crate) fn hinders_writes(&self, owner: Owner) -> Option<Hindrance> {
        let s = self.lock();
        match s.readers.contains(&owner) {
            true => Some(Hindrance::Own),
            false if s.asking || !s.readers.is_empty() => Some(Hindrance::Others),
            false => None,
        }
    }

    /// What keeps a session from changing definitions.
    pub(crate) fn hinders_changes(&self, owner: Owner) -> Option<Hindrance> {
        let s = self.lock();
        let others = s.backups.iter().any(|o| *o != owner);
        match s.readers.contains(&owner) {
            true => Some(Hindrance::Own),
            false if others || !s.readers.is_empty() => Some(Hindrance::Others),
            false => None,
        }
    }

    /// Who has the read lock waits for tables that nobody writes, until the result is dropped. Whoever has written one of them and waits for the
    /// server is told.
    pub(crate) fn awaits(&self, owner: Owner, tables: Arc<[u64]>) -> Awaiting<'_> {
        self.lock().awaits.push((owner, tables));
        self.changed.fire();
        Awaiting { lock: self, owner }
    }

    /// Somebody who has the read lock waits for one of these tables.
    pub(crate) fn is_awaited(&self, written: impl Fn(u64) -> bool) -> bool {
        let s = self.lock();
        let mut awaited = s.awaits.iter().flat_map(|(_, tables)| tables.iter());
        awaited.any(|n| written(*n)) && !base::mutant!("writer-in-the-way-of-the-server-not-told")
    }

    /// Begins a new era; gives the last of the older ones.
    pub(crate) fn watch(&self) -> u64 {
        self.change(|s| s.watching += 1);
        self.era.fetch_add(1, Ordering::SeqCst)
    }

    /// Whether everything has ended that began in this era or before.
    pub(crate) fn have_ended(&self, era: u64) -> bool {
        let cells = self.cells.lock();
        cells.iter().all(|c| match c.0.load(Ordering::SeqCst) {
            IDLE => true,
            since => since > era,
        })
    }

    /// Ends the wait.
    pub(crate) fn unwatch(&self) {
        self.change(|s| s.watching -= 1);
    }
}

/// Who has the read lock of the server waits for tables, until this is dropped.
pub(crate) struct Awaiting<'g> {
    lock: &'g GlobalLock,
    owner: Owner,
}

impl Drop for Awaiting<'_> {
    fn drop(&mut self) {
        self.lock.lock().awaits.retain(|(o, _)| *o != self.owner);
    }
}

/// Says of a session whether it writes, as long as the session lives.
pub(crate) struct Writing {
    cell: Arc<Cell>,
    lock: Arc<GlobalLock>,
}

impl Writing {
    pub(crate) fn of(lock: &Arc<GlobalLock>) -> Writing {
        let cell = Arc::<Cell>::default();
        lock.cells.lock().push(cell.clone());
        Writing {
            cell,
            lock: lock.clone(),
        }
    }

    /// The session is going to write; false where it must not now.
    #[inline]
    pub(crate) fn begin(&self) -> bool {
        // The session's own word: nobody else writes it.
        if self.cell.0.load(Ordering::Relaxed) != IDLE {
            return true;
        }
        // Looked at before as well: whoever takes his word back wakes others who wait for the same.
        if self.lock.word.load(Ordering::Relaxed) & STOPPED != 0 {
            return false;
        }
        let era = self.lock.era.load(Ordering::Relaxed);
        self.cell.0.swap(era, Ordering::SeqCst);
        if self.lock.word.load(Ordering::SeqCst) & STOPPED == 0 {
            return true;
        }
        self.end();
        false
    }

    /// It writes no more.
    #[inline]
    pub(crate) fn end(&self) {
        if self.cell.0.load(Ordering::Relaxed) == IDLE {
            return;
        }
        let since = self.cell.0.swap(IDLE, Ordering::SeqCst);
        let word = self.lock.word.load(Ordering::SeqCst);
        if word & (ASKED | WATCHED) != 0 {
            let older = since < self.lock.era.load(Ordering::SeqCst);
            if (word & ASKED != 0 || older) && !base::mutant!("writing-ended-without-a-word") {
                self.lock.changed.fire();
            }
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.end();
        let mut cells = self.lock.cells.lock();
        cells.retain(|c| !Arc::ptr_eq(c, &self.cell));
    }
}
