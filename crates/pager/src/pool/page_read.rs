//! A page's way from its file into a frame: as it lies there, or decompressed on the way.

use super::{Pool, Reading};
use crate::compressed::{self, Shadow};
use crate::error::OpError;
use crate::page;
use crate::space::Space;
use base::environment::ReadAt;
use base::{AlignedBuf, IoBuf, PageNo, le};
use std::io;
use std::sync::Arc;

impl Pool {
    /// Starts reading a page into a frame that nobody else knows.
    pub(super) fn start_read(
        self: &Arc<Self>,
        space: &Arc<Space>,
        page: PageNo,
        fr: u32,
        state: Arc<Reading>,
    ) {
        if let Some(r) = self.page_read(space, page, fr, state) {
            space.file().submit_read(r.buf, r.offset, r.done);
        }
    }

    /// The read that brings a page into a frame that nobody else knows; `None` where it has come to its end already.
    pub(super) fn page_read(
        self: &Arc<Self>,
        space: &Arc<Space>,
        page: PageNo,
        fr: u32,
        state: Arc<Reading>,
    ) -> Option<ReadAt> {
        let pool = self.clone();
        let sp = space.clone();
        self.counters.reads.inc();
        let Some(shadow) = space.shadow() else {
            let offset = page.0 as u64 * page::PAGE_SIZE as u64;
            let done = Box::new(move |buf: IoBuf, r| {
                let found = whole(r, page::PAGE_SIZE)
                    .and_then(|()| page::check(buf.bytes(), sp.id(), page).map_err(Why::Page));
                pool.finish_page_read(&sp, page, fr, &state, buf, found);
            });
            let buf = self.arena.io_buf(fr);
            return Some(ReadAt { buf, offset, done });
        };
        let mut frame = self.arena.io_buf(fr);
        let Some(place) = shadow.place(page) else {
            let never = Err(Why::Page(page::NEVER_WRITTEN));
            self.finish_page_read(&sp, page, fr, &state, frame, never);
            return None;
        };
        let (offset, len) = (shadow.offset(place.start), shadow.bytes(place));
        let block = shadow.format().block;
        let buf = IoBuf::owned(AlignedBuf::zeroed(len));
        let done = Box::new(move |buf: IoBuf, r| {
            let found = whole(r, len).and_then(|()| {
                let to = frame.bytes_mut();
                if !place.plain {
                    let here = (sp.id(), page);
                    let by = (pool.cells_of, sp.shadow().and_then(Shadow::dictionary));
                    let decompress = || compressed::decompress(buf.bytes(), here, by, to);
                    let (r, us) = pool.compression.timed(decompress);
                    if r.is_ok() {
                        pool.compression
                            .decompressed(block, sp.id(), frame.bytes(), us);
                    }
                    return r.map_err(Why::Page);
                }
                to.copy_from_slice(&buf.bytes()[..page::PAGE_SIZE]);
                page::check(to, sp.id(), page).map_err(Why::Page)
            });
            pool.finish_page_read(&sp, page, fr, &state, frame, found);
        });
        Some(ReadAt { buf, offset, done })
    }

    /// A page that was read stands in its frame, or what went wrong.
    fn finish_page_read(
        &self,
        space: &Arc<Space>,
        page: PageNo,
        fr: u32,
        state: &Arc<Reading>,
        mut buf: IoBuf,
        found: Result<(), Why>,
    ) {
        let found = match found {
            // Who asks for it has its number from before it was freed, and finds that it is free.
            Err(Why::Page(why)) if is_cut_off(space, page, why) => {
                let bytes = buf.bytes_mut();
                bytes.fill(0);
                le::put_u32(bytes, 4, page.0);
                le::put_u32(bytes, 8, space.id().0);
                Ok(())
            }
            r => r,
        };
        let result = match found {
            Ok(()) if self.is_newer_than_log(buf.bytes()) => {
                Err(Why::Page("the page has changes that the log has lost"))
            }
            r => r,
        }
        .map_err(|why| match why {
            // Its file is gone: closed and not opened again, or empty.
            _ if space.is_dropped() => OpError::Dropped(space.id()),
            Why::Io(e) => OpError::io(e),
            Why::Page(why) => OpError::Corrupt {
                space: space.id(),
                page,
                why,
            },
        });
        drop(buf);
        match result {
            Ok(()) => self.publish(space, page, fr),
            Err(_) => self.put_free(fr),
        }
        self.finish_read((space.id().0, page.0), state, result);
    }
}

const ENDS_BEFORE: &str = "the file ends before the page";

/// Whether a page that cannot be read is one that the file's end was cut off with.
fn is_cut_off(space: &Space, page: PageNo, why: &str) -> bool {
    let nothing = why == page::NEVER_WRITTEN || why == ENDS_BEFORE;
    space.was_cut_off(page)
        && (nothing || page.0 >= space.room())
        && !base::mutant!("page-behind-the-end-called-damaged")
}

/// Why a page that was read is none.
enum Why {
    Io(io::Error),
    Page(&'static str),
}

/// Whether all of it was read.
fn whole(r: io::Result<usize>, len: usize) -> Result<(), Why> {
    match r {
        Ok(n) if n >= len => Ok(()),
        Ok(_) => Err(Why::Page(ENDS_BEFORE)),
        Err(e) => Err(Why::Io(e)),
    }
}
