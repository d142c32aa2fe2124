//! Tables that have lost something, what is known of each, and who keeps their pages where they are. The work is in [`crate::defragment`].

use crate::schema::Table;
use base::Event;
use base::lock::Mutex;
use btree::LeafFigures;
use pager::Cut;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How the task works; others than these are for tests.
#[derive(Clone, Copy, Debug)]
pub struct DefragmentOptions {
    /// It does.
    pub on: bool,
    /// Microseconds of a tick.
    pub tick_us: u64,
    /// Pages that must be to be had from a tree or a file, at least.
    pub least_pages: u32,
}

impl Default for DefragmentOptions {
    fn default() -> DefragmentOptions {
        DefragmentOptions {
            on: true,
            tick_us: 1_000_000,
            least_pages: 16,
        }
    }
}

/// Ticks for which a table must be quiet before its turn, at least and at most.
const QUIET: u32 = 2;
const QUIET_MOST: u32 = 32;
/// Ticks after which one that is never quiet has its turn.
const BUSY: u32 = 10;
/// Looks at a cut that cannot be made before it is given up, where nothing changes.
const CUT_TRIES: u32 = 120;

/// What is known of the space of an index since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexSpace {
    /// Its leaves when it was packed last, before that.
    pub met: LeafFigures,
    /// Leaves that packing has saved, in all.
    pub saved: u64,
    /// Pages that were moved to the front of the file, in all.
    pub moved: u64,
    /// Times it was packed.
    pub packed: u64,
}

/// What is known of a tree.
#[derive(Default)]
pub(crate) struct TreeState {
    /// Its wear when it was packed last: bytes removed, and left by splits.
    pub(crate) base: (u64, u64),
    /// It was not packed as closely as it can be.
    pub(crate) loose: bool,
    /// The same at the last look.
    seen: (u64, u64),
    pub(crate) space: IndexSpace,
}

/// What is known of a table.
#[derive(Default)]
pub(crate) struct TableState {
    /// Rows that had changed at the last look.
    changes: u64,
    known: bool,
    /// Looks since the last change.
    quiet: u32,
    /// Looks since its last turn.
    looks: u32,
    /// Looks that it has to be quiet for.
    wait: u32,
    /// Nothing is left to do until it changes.
    pub(crate) settled: bool,
    pub(crate) trees: BTreeMap<u32, TreeState>,
    /// An end of the file that is to be cut off.
    pub(crate) cut: Option<Cut>,
    pub(crate) cut_tries: u32,
    /// Bytes that packing has saved the last time, and what splits had left by then.
    pub(crate) saved: (u64, u64),
    /// Pages that went back to the file system.
    pub(crate) cut_pages: u64,
}

/// What a look at a table says.
#[derive(Clone, Copy, Default)]
pub(crate) struct Looked {
    pub(crate) due: bool,
    /// It is due though it is not quiet, as it has not been for long.
    pub(crate) busy: bool,
    /// It waits to be quiet for long enough.
    pub(crate) waits: bool,
}

/// The defragmenter's state.
pub(crate) struct Defragmenter {
    pub(crate) options: DefragmentOptions,
    on: AtomicBool,
    /// A row was changed since the last look began.
    awake: AtomicBool,
    /// Fired when there may be work, and when the engine stops.
    pub(crate) event: Event,
    /// How many keep files as they are.
    paused: AtomicUsize,
    /// A step is under way.
    working: AtomicBool,
    /// Fired when that has ended, and somebody asks.
    pub(crate) idle: Event,
    pub(crate) tables: Mutex<BTreeMap<u32, TableState>>,
}

/// A step is under way until this is dropped.
pub(crate) struct Working<'d>(&'d Defragmenter);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.working.store(false, Ordering::SeqCst);
        if self.0.paused.load(Ordering::SeqCst) > 0
            && !base::mutant!("defragmenter-rests-without-a-word")
        {
            self.0.idle.fire();
        }
    }
}

/// Pages of tables stay where they are until this is dropped.
pub(crate) struct Pause(Arc<Defragmenter>);

impl Pause {
    /// Begins no step more; one may be under way.
    pub(crate) fn begin(of: &Arc<Defragmenter>) -> Pause {
        of.paused.fetch_add(1, Ordering::SeqCst);
        Pause(of.clone())
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        // It looks again at its next tick.
        self.0.paused.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Defragmenter {
    pub(crate) fn new(options: DefragmentOptions) -> Defragmenter {
        Defragmenter {
            on: AtomicBool::new(options.on),
            options,
            awake: AtomicBool::new(false),
            event: Event::new(),
            paused: AtomicUsize::new(0),
            working: AtomicBool::new(false),
            idle: Event::new(),
            tables: Mutex::default(),
        }
    }

    pub(crate) fn set_on(&self, on: bool) {
        self.on.store(on, Ordering::SeqCst);
        // What has changed meanwhile is looked at.
        self.awake.store(true, Ordering::SeqCst);
        self.event.fire();
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::SeqCst)
    }

    pub(crate) fn is_awake(&self) -> bool {
        self.awake.load(Ordering::SeqCst)
    }

    pub(crate) fn begin_look(&self) {
        self.awake.store(false, Ordering::SeqCst);
    }

    /// A row was changed, or something taken out of a tree.
    #[inline(always)]
    pub(crate) fn note_change(&self) {
        if !self.awake.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        self.awake.store(true, Ordering::SeqCst);
        if !base::mutant!("defragmenter-not-woken") {
            self.event.fire();
        }
    }

    /// Nothing is being moved.
    pub(crate) fn is_idle(&self) -> bool {
        !self.working.load(Ordering::SeqCst)
    }

    /// A step begins, unless somebody asks that files stay as they are.
    pub(crate) fn begin_step(&self) -> Option<Working<'_>> {
        self.working.store(true, Ordering::SeqCst);
        let working = Working(self);
        (self.paused.load(Ordering::SeqCst) == 0).then_some(working)
    }

    /// Forgets tables that are no more.
    pub(crate) fn forget_others(&self, tables: &[Arc<Table>]) {
        let ids: BTreeSet<u32> = tables.iter().map(|t| t.def.id).collect();
        self.tables.lock().retain(|id, _| ids.contains(id));
    }

    /// Looks whether a table has changed since the last look, and whether it is its turn.
    pub(crate) fn look(&self, t: &Table) -> Looked {
        let changes = t.live.counts.changes();
        let mut tables = self.tables.lock();
        if changes == 0 && !tables.contains_key(&t.def.id) && t.wear() == (0, 0) {
            // As nearly all of thousands are.
            return Looked::default();
        }
        let s = tables.entry(t.def.id).or_default();
        let mut changed = !s.known || s.changes != changes;
        (s.known, s.changes) = (true, changes);
        for i in &t.indexes {
            let tree = s.trees.entry(i.tree.index_id()).or_default();
            let wear = i.tree.wear();
            changed |= std::mem::replace(&mut tree.seen, wear) != wear;
        }
        if changed {
            s.quiet = 0;
            s.settled = false;
        }
        s.quiet = s.quiet.saturating_add(1);
        s.looks = s.looks.saturating_add(1);
        let quiet = s.quiet > s.wait.max(QUIET);
        let busy = !quiet && s.looks > BUSY.max(2 * s.wait);
        let due = !s.settled && (quiet || busy);
        if due {
            s.looks = 0;
        }
        Looked {
            due,
            busy,
            waits: !s.settled && !due,
        }
    }

    /// Whether the table's splits since it was packed have filled much of what that had saved: then it was too early.
    pub(crate) fn learn(&self, t: &Table) {
        let split: u64 = t.indexes.iter().map(|i| i.tree.wear().1).sum();
        let mut tables = self.tables.lock();
        let Some(s) = tables.get_mut(&t.def.id) else {
            return;
        };
        let (saved, then) = s.saved;
        if saved == 0 {
            return;
        }
        s.wait = match split.saturating_sub(then) > saved / 2 {
            true => (s.wait.max(QUIET) * 2).min(QUIET_MOST),
            false => s.wait / 2,
        };
        s.saved = (0, 0);
    }

    /// Does something with what is known of a table.
    pub(crate) fn with<R>(&self, id: u32, f: impl FnOnce(&mut TableState) -> R) -> R {
        f(self.tables.lock().entry(id).or_default())
    }

    /// Whether a file's end waits for something.
    pub(crate) fn cuts_wait(&self, waits: impl Fn(&Cut) -> bool) -> bool {
        let tables = self.tables.lock();
        tables.values().filter_map(|s| s.cut.as_ref()).any(waits)
    }

    pub(crate) fn cut_pages(&self, id: u32) -> u64 {
        self.tables.lock().get(&id).map_or(0, |s| s.cut_pages)
    }

    pub(crate) fn index_space(&self, id: u32) -> Vec<(u32, IndexSpace)> {
        let tables = self.tables.lock();
        let trees = tables.get(&id).into_iter().flat_map(|s| &s.trees);
        trees.map(|(id, s)| (*id, s.space)).collect()
    }
}

impl TableState {
    /// A cut could not be made yet; whether to try again.
    pub(crate) fn cut_waits(&mut self) -> bool {
        self.cut_tries += 1;
        if self.cut_tries >= CUT_TRIES {
            self.cut = None;
        }
        self.cut.is_some()
    }
}

impl Table {
    /// What its trees have lost since they were opened.
    fn wear(&self) -> (u64, u64) {
        let all = self.indexes.iter().map(|i| i.tree.wear());
        all.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    }
}
