//! A whole tree whose pages lie, each with a right checksum: whatever is asked of it, the answer is data or an error, and it
//! comes. The pages are written past the tree, by an operation of this program's own.

#![no_main]

mod steps;

use base::mem::{self, MemDisk};
use base::{Lsn, PageNo, SpaceId, block_on};
use btree::{Direction, OverflowCursor, ScanPos, ScanState, Tree, VerifyCursor, Visit};
use libfuzzer_sys::fuzz_target;
use pager::{OpError, PAGE_HEADER, PAGE_SIZE, Page, Pager, PagerOptions, RedoTable, Space};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

const INDEX: u32 = 77;
/// Pages that an input may fill; the first one is the root.
const PAGES: usize = 6;
/// Steps of an input, and calls of a scan: more than all pages take.
const MOST_STEPS: usize = 64;
/// The engine's first operation number, which nobody uses here.
const WRITE: u8 = 96;
/// The log is never given up here, so its memory is.
const MOST_LOG: u64 = 48 << 20;

fuzz_target!(|data: &[u8]| {
    thread_local!(static BED: RefCell<Option<Bed>> = const { RefCell::new(None) });
    BED.with_borrow_mut(|slot| {
        let bed = slot.get_or_insert_with(Bed::new);
        bed.clear();
        for (kind, bytes) in steps::steps(data).take(MOST_STEPS) {
            bed.step(usize::from(kind), bytes);
        }
        bed.ask(data);
        if bed.pager.log().end().0 > MOST_LOG {
            *slot = None;
        }
    });
});

struct Bed {
    pager: Arc<Pager>,
    space: Arc<Space>,
    tree: Tree,
    pages: Vec<PageNo>,
    map: Vec<u8>,
}

impl Bed {
    fn new() -> Bed {
        let mut redo = RedoTable::default();
        btree::register(&mut redo);
        redo.register(WRITE..WRITE + 1, write);
        let options = PagerOptions {
            pool_bytes: 128 * PAGE_SIZE as u64,
            log_capacity_bytes: 4 * MOST_LOG,
            log_buffer_bytes: 2 << 20,
            log_unit_bytes: 1 << 20,
            doublewrite: false,
            ..PagerOptions::default()
        };
        let environment = mem::environment(Arc::new(MemDisk::default()));
        let mut nobody = |_: Lsn, _: Lsn, _: &pager::Record<'_>| {};
        let open = pager::open(environment, options, Path::new("/db"), redo, &mut nobody);
        let (pager, _) = block_on(open).expect("a folder in memory");
        let folder = Path::new("/db/data/t");
        let made = pager.environment().disk.create_dir_all(folder);
        made.expect("a folder in memory");
        let space = pager.create_space(SpaceId(9), &folder.join("t.tdb"), None);
        let space = space.expect("a tablespace in memory");
        let pages: Vec<PageNo> = (0..PAGES)
            .map(|_| block_on(pager.run(|| Tree::create(&pager, &space, INDEX))).expect("a page"))
            .collect();
        let tree = Tree::open(pager.clone(), space.clone(), pages[0], INDEX);
        let map = pager.shared(&space, PageNo(0));
        let map = map.map(|page| page.bytes().to_vec());
        let map = map.expect("the map is there");
        Bed {
            pager,
            space,
            tree,
            pages,
            map,
        }
    }

    /// All pages as they were, but empty.
    fn clear(&self) {
        if self.bytes(PageNo(0))[PAGE_HEADER..] != self.map[PAGE_HEADER..] {
            self.write(PageNo(0), 12, &self.map[12..]);
        }
        let image = [&[0][..], &INDEX.to_le_bytes(), &[0; 4]].concat();
        for no in &self.pages {
            self.log(*no, btree::ops::IMAGE, &[&image]);
        }
        let log = self.pager.log();
        if log.end().0 > log.written().0 + (1 << 20) {
            log.try_write_out();
        }
    }

    fn bytes(&self, no: PageNo) -> [u8; PAGE_SIZE] {
        *self
            .pager
            .shared(&self.space, no)
            .expect("it is there")
            .bytes()
    }

    /// Changes a page as the log says.
    fn log(&self, no: PageNo, op: u8, payload: &[&[u8]]) {
        let change = || {
            let page = self.pager.exclusive(&self.space, no)?;
            let mut mtr = self.pager.mtr()?;
            let page = mtr.add(page);
            mtr.op(page, op, payload);
            mtr.commit();
            Ok(())
        };
        block_on(self.pager.run(change)).expect("nothing is damaged below the pages' content");
    }

    fn write(&self, no: PageNo, at: usize, bytes: &[u8]) {
        self.log(no, WRITE, &[&(at as u16).to_le_bytes(), bytes]);
    }

    /// A step's low three bits name a page; the others, what is done to it.
    fn step(&self, kind: usize, bytes: &[u8]) {
        let no = self.pages[(kind & 7) % PAGES];
        match kind >> 3 {
            0 => {
                if let Some((at, bytes)) = bytes.split_first_chunk() {
                    self.write(no, usize::from(u16::from_le_bytes(*at)), bytes);
                }
            }
            1 => self.write(no, PAGE_SIZE - bytes.len(), bytes),
            // An operation of the log, if it can be done: these make trees that are nearly right.
            op => {
                let op = btree::ops::FIRST_OP + (op as u8 - 2);
                let mut copy = Page::boxed();
                *copy.bytes_mut() = self.bytes(no);
                if btree::apply(op, &mut copy, bytes, Lsn(1)).is_ok() {
                    self.log(no, op, &[bytes]);
                }
            }
        }
    }

    /// Everything a reader and a check do, and the end of a tree that is dropped.
    fn ask(&self, data: &[u8]) {
        let key = &data[..data.len().min(5)];
        self.answered(|| self.tree.get(key, |v| v.map(<[u8]>::len)));
        for direction in [Direction::Forward, Direction::Backward] {
            let mut pos = ScanPos::start();
            self.scan(&mut pos, direction);
            let mut pos = ScanPos::at(key);
            self.scan(&mut pos, direction);
        }
        let mut cursor = VerifyCursor::new();
        let mut calls = 0;
        while self.answered(|| self.tree.verify(&mut cursor, |_, _| {})) == Some(true) {
            calls += 1;
            assert!(calls <= 2 * PAGES, "a check without end");
        }
        for no in &self.pages {
            self.overflow(*no);
        }
        let mut calls = 0;
        while self.answered(|| self.tree.destroy_step()) == Some(true) {
            calls += 1;
            assert!(
                calls <= 2 * MOST_STEPS * PAGES,
                "a tree that cannot be destroyed"
            );
        }
    }

    fn scan(&self, pos: &mut ScanPos, direction: Direction) {
        for _ in 0..2 * PAGES {
            let more = self.answered(|| self.tree.scan(pos, direction, |_, _| Visit::Next));
            if more != Some(ScanState::More) {
                return;
            }
        }
        panic!("a scan without end");
    }

    fn overflow(&self, first: PageNo) {
        let mut out = Vec::new();
        let mut cursor = OverflowCursor::new(first, 3 * PAGE_SIZE as u64);
        self.answered(|| self.tree.read_overflow(&mut cursor, &mut out));
        assert!(out.len() <= 4 * PAGE_SIZE, "more than the value has");
        self.answered(|| self.tree.is_abandoned_chain(first, Lsn(1)));
        let mut calls = 0;
        while self.answered(|| self.tree.shrink_overflow(first)) == Some(true) {
            calls += 1;
            assert!(calls <= 2 * PAGES, "a chain without end");
        }
    }

    /// What an operation answers; `None` for an error. Nothing of it may have to wait for a page of this bed's own.
    fn answered<R>(&self, mut operation: impl FnMut() -> Result<R, OpError>) -> Option<R> {
        block_on(self.pager.run(&mut operation)).ok()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.pager.halt();
    }
}

/// Bytes at a place behind the page's identity.
fn write(_: u8, page: &mut Page, payload: &[u8], _: Lsn) -> Result<(), &'static str> {
    let (at, bytes) = payload.split_first_chunk().ok_or("cut short")?;
    let at = usize::from(u16::from_le_bytes(*at)) % PAGE_SIZE;
    if let Some(at) = at.checked_sub(12) {
        let n = bytes.len().min(PAGE_SIZE - 12 - at);
        page.bytes_mut()[12 + at..12 + at + n].copy_from_slice(&bytes[..n]);
    }
    Ok(())
}
