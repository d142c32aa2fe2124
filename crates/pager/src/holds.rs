//! Who needs the log kept beside the transactions: backups, each from a position that moves on as it copies. And which tablespaces are made
//! while a backup runs: of those it needs no page, for all that ever happened to them is in the log that it takes.
//!
//! Must never do: stand in the log's way. A hold that keeps too much, or that keeps a full disk full, is lost, and whoever has it is told.

use crate::compressed::CompressedFormat;
use crate::log::Log;
use base::lock::Mutex;
use base::{Lsn, SpaceId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// So many times the log's capacity may be kept for a backup.
const CAPACITIES: u64 = 4;

/// A tablespace that was made while a backup ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Born {
    /// Which.
    pub id: SpaceId,
    /// How its pages are compressed, if they are.
    pub format: Option<CompressedFormat>,
    /// The position in its first page, which is in no record.
    pub lsn: Lsn,
}

/// What is held for one backup.
#[derive(Default)]
pub(crate) struct Held {
    from: AtomicU64,
    lost: AtomicBool,
    born: Mutex<Vec<Born>>,
}

/// All that is held.
#[derive(Default)]
pub(crate) struct Holds {
    all: Mutex<Vec<Arc<Held>>>,
}

impl Holds {
    /// The oldest position that is held when the log ends at `end`. One that would keep more than the log's capacity allows is lost.
    pub(crate) fn oldest(&self, end: Lsn, capacity: u64) -> Lsn {
        let all = self.all.lock();
        let mut oldest = Lsn::MAX;
        for held in &*all {
            let from = held.from.load(Ordering::Acquire);
            if end.0.saturating_sub(from) > CAPACITIES * capacity {
                held.lost.store(true, Ordering::Release);
            }
            if !held.lost.load(Ordering::Acquire) {
                oldest = oldest.min(Lsn(from));
            }
        }
        oldest
    }

    /// The disk is full: nothing is held any more. False: nothing was.
    pub(crate) fn lose_all(&self) -> bool {
        let all = self.all.lock();
        let lost = |held: &Arc<Held>| !held.lost.swap(true, Ordering::AcqRel);
        all.iter().filter(|held| lost(held)).count() > 0
    }

    /// Holds from `from` on, which nobody can give up just now.
    pub(crate) fn hold(self: &Arc<Self>, log: &Arc<Log>, from: Lsn) -> LogHold {
        let held = Arc::new(Held {
            from: AtomicU64::new(from.0),
            ..Held::default()
        });
        self.all.lock().push(held.clone());
        LogHold {
            held,
            of: self.clone(),
            log: log.clone(),
        }
    }

    /// Does something that no backup may see halfway, unless one is being taken.
    pub(crate) fn unless_held<R>(&self, act: impl FnOnce() -> R) -> Option<R> {
        let all = self.all.lock();
        let free = all.iter().all(|held| held.lost.load(Ordering::Acquire));
        (free || base::mutant!("tail-cut-beside-a-backup")).then(act)
    }

    /// Makes a tablespace known by `show`, and to all backups that run. A backup that begins either sees it or is told.
    pub(crate) fn born<R>(&self, born: Born, show: impl FnOnce() -> R) -> R {
        let all = self.all.lock();
        if !base::mutant!("backup-not-told-of-a-new-table") {
            for held in &*all {
                held.born.lock().push(born);
            }
        }
        show()
    }

    /// Looks at what tablespaces there are: those made later are told from here on.
    pub(crate) fn look<R>(&self, hold: &LogHold, look: impl FnOnce() -> R) -> R {
        let _all = self.all.lock();
        hold.held.born.lock().clear();
        look()
    }
}

/// Keeps the log from a position on, until it is dropped or lost.
pub(crate) struct LogHold {
    held: Arc<Held>,
    of: Arc<Holds>,
    log: Arc<Log>,
}

impl LogHold {
    /// From here on is enough.
    pub(crate) fn move_to(&self, from: Lsn) {
        let before = self.held.from.fetch_max(from.0, Ordering::AcqRel);
        self.log.needs_less(Lsn(before));
    }

    /// The log was needed more elsewhere.
    pub(crate) fn is_lost(&self) -> bool {
        self.held.lost.load(Ordering::Acquire)
    }

    /// The tablespaces that were made since the look.
    pub(crate) fn born(&self) -> Vec<Born> {
        self.held.born.lock().clone()
    }
}

impl Drop for LogHold {
    fn drop(&mut self) {
        let mut all = self.of.all.lock();
        all.retain(|h| !Arc::ptr_eq(h, &self.held));
        drop(all);
        self.log
            .needs_less(Lsn(self.held.from.load(Ordering::Acquire)));
    }
}
