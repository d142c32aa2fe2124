//! A tree on a pager on a disk in memory.
#![allow(dead_code, reason = "each test program uses its part")]

use std::path::Path;
use std::sync::Arc;

use base::mem::{self, MemDisk};
use base::{Lsn, PageNo, SpaceId, SplitMix64, block_on};
use btree::{Action, Change, KeyPosition, Packing, Relocated, Relocation, Tree};
use pager::compressed::CompressedFormat;
use pager::{Committed, CutEnd, OpError, Pager, PagerOptions, RedoTable, Space};

/// The index id of the tree.
pub const INDEX: u32 = 77;

/// A fresh tree and what it lives on.
pub struct Bed {
    pub disk: Arc<MemDisk>,
    pub pager: Arc<Pager>,
    pub space: Arc<Space>,
    pub tree: Tree,
}

fn open(
    disk: &Arc<MemDisk>,
    frames: usize,
    mut observe: impl FnMut(Lsn, Lsn, &pager::Record<'_>) + Send,
) -> Arc<Pager> {
    let mut redo = RedoTable::default();
    btree::register(&mut redo);
    let options = PagerOptions {
        pool_bytes: frames as u64 * 16384,
        log_capacity_bytes: 256 << 20,
        log_buffer_bytes: 8 << 20,
        ..Default::default()
    };
    let environment = mem::environment(disk.clone());
    let (pager, report) = block_on(pager::open(
        environment,
        options,
        Path::new("/db"),
        redo,
        &mut observe,
    ))
    .expect("the directory opens");
    assert!(report.damaged.is_empty(), "{:?}", report.damaged);
    pager
}

impl Bed {
    /// With a pool of `frames` pages. Checkpoints are off, so that the log keeps everything.
    pub fn new(frames: usize) -> Bed {
        Bed::compressed(frames, None)
    }

    /// The same in a compressed tablespace, if it has a format.
    pub fn compressed(frames: usize, format: Option<CompressedFormat>) -> Bed {
        let disk = Arc::new(MemDisk::default());
        let pager = open(&disk, frames, |_, _, _| {});
        let dir = Path::new("/db/data/test");
        pager
            .environment()
            .disk
            .create_dir_all(dir)
            .expect("a folder in memory");
        let space = pager
            .create_space(SpaceId(9), &dir.join("t.tdb"), format)
            .expect("a tablespace in memory");
        let root = block_on(pager.run(|| Tree::create(&pager, &space, INDEX))).expect("a root");
        let tree = Tree::open(pager.clone(), space.clone(), root, INDEX);
        Bed {
            disk,
            pager,
            space,
            tree,
        }
    }

    /// The same tree after a crash: what was written to the log is there, the pages come from redo.
    pub fn crash(&self, frames: usize) -> Bed {
        let disk = self.written();
        let pager = open(&disk, frames, |_, _, _| {});
        let space = pager.space(self.space.id()).expect("the tablespace");
        let tree = Tree::open(pager.clone(), space.clone(), self.tree.root(), INDEX);
        Bed {
            disk,
            pager,
            space,
            tree,
        }
    }

    fn written(&self) -> Arc<MemDisk> {
        let log = self.pager.log();
        block_on(log.wait_durable(log.complete())).expect("the log is written");
        Arc::new(self.disk.crash(true))
    }

    /// Shows every page operation that the log holds for the tree's tablespace.
    pub fn replay(&self, mut f: impl FnMut(PageNo, u8, &[u8], Lsn) + Send) {
        let space = self.space.id();
        open(&self.written(), 4096, |start, _, record| {
            for op in record.ops().filter(|op| op.space == space) {
                f(op.page, op.op, op.payload, start);
            }
        });
    }

    /// Changes an entry, waiting as often as it takes.
    pub fn modify(
        &self,
        key: &[u8],
        change: &mut Change,
        mut decide: impl FnMut(KeyPosition<'_>, &mut Change) -> Action,
    ) -> Option<Committed> {
        let outcome = wait(self, || {
            self.tree
                .modify(key, change, |f, c| Ok::<_, ()>(decide(f, c)))
        })
        .expect("the decision gives no error");
        self.write_log();
        if outcome.underfull {
            wait(self, || self.tree.merge(key));
        }
        outcome.committed
    }

    /// Pages in use in the tablespace, its map aside.
    pub fn live_pages(&self) -> Vec<PageNo> {
        wait(self, || {
            let map = self.pager.shared(&self.space, PageNo(0))?;
            Ok(pager::alloc::used_pages(&map).split_off(1))
        })
    }

    /// Packs the whole tree; gives how many leaves that has saved.
    pub fn pack(&self, fill: usize) -> u64 {
        let mut packing = Packing::new(fill);
        while wait(self, || self.tree.pack_step(&mut packing)) {
            self.write_log();
        }
        packing.saved
    }

    /// Moves all nodes that it can to pages in front of `limit`; gives how many it has moved.
    pub fn relocate(&self, limit: PageNo) -> u64 {
        let mut at = Relocation::default();
        let mut moved = 0;
        loop {
            match wait(self, || self.tree.relocate(&mut at, limit)) {
                Relocated::Moved => moved += 1,
                Relocated::More => {}
                Relocated::NoRoom | Relocated::End => return moved,
            }
            self.write_log();
        }
    }

    /// Cuts off what is free at the file's end; gives where it ends then.
    pub fn cut(&self) -> u32 {
        let cut = wait(self, || self.pager.begin_cut(&self.space, 1));
        block_on(self.pager.flush_all()).expect("all is written");
        if let Some(cut) = cut {
            let done = self.pager.finish_cut(&self.space, &cut);
            assert_eq!(done.expect("a file in memory"), CutEnd::Done);
        }
        self.space.room()
    }

    /// Nobody commits here, so nobody asks for the log to be written.
    fn write_log(&self) {
        let log = self.pager.log();
        if log.end().0 > log.written().0 + (1 << 20) {
            log.try_write_out();
        }
    }

    /// How many they are.
    pub fn used_pages(&self) -> usize {
        self.live_pages().len()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.pager.halt();
    }
}

/// Runs an operation until it no longer waits.
pub fn wait<R>(bed: &Bed, op: impl FnMut() -> Result<R, OpError>) -> R {
    block_on(bed.pager.run(op)).expect("no device error and no damage")
}

/// The generator of this number under the seed of all random tests.
pub fn seeded(n: u64) -> SplitMix64 {
    SplitMix64::new(base::seed::nth("dice", n))
}
