//! The frames' memory and the only places where a page's bytes are made from a frame number.
//!
//! `unsafe` invariants of this module:
//! - the arena is mapped once and lives as long as the pool; frame numbers are always below `frames`;
//! - a `&mut Page` is made only by the holder of the frame's exclusive latch (or the sole owner of a frame that is in no
//!   translation array);
//! - a `&Page` is made by a latch holder, or by an optimistic reader which must treat every byte as possibly torn, and
//!   which throws its result away unless the frame's version is unchanged afterwards. That last use is a data race by the
//!   letter of the memory model; it is the seqlock pattern that every optimistic latch scheme (LeanStore, vmcache) rests on.
#![allow(unsafe_code)]

use crate::page::{PAGE_SIZE, Page};
use base::IoBuf;
use std::io;

/// Memory of `frames` pages.
pub(crate) struct Arena {
    base: *mut u8,
    len: usize,
    frames: u32,
}

// SAFETY: the arena is plain memory; who may touch which frame when is decided by the latches (module docs).
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps the memory. It is not touched yet.
    pub(crate) fn new(frames: u32) -> io::Result<Arena> {
        let len = frames as usize * PAGE_SIZE;
        // SAFETY: an anonymous private mapping; the result is checked.
        let p = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if p == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: advice on a mapping just made; a refusal changes nothing. Miri has no advice.
        #[cfg(not(miri))]
        unsafe {
            libc::madvise(p, len, libc::MADV_HUGEPAGE);
            libc::madvise(p, len, libc::MADV_DONTDUMP);
        }
        Ok(Arena {
            base: p.cast(),
            len,
            frames,
        })
    }

    /// Number of frames.
    pub(crate) fn frames(&self) -> u32 {
        self.frames
    }

    #[inline(always)]
    fn ptr(&self, frame: u32) -> *mut Page {
        debug_assert!(frame < self.frames);
        // SAFETY: within the mapping.
        unsafe { self.base.add(frame as usize * PAGE_SIZE).cast() }
    }

    /// The page in a frame. The caller holds a latch on it or reads optimistically (module docs).
    #[inline(always)]
    pub(crate) fn page(&self, frame: u32) -> &Page {
        // SAFETY: see the module's invariants; Page is plain bytes, any content is valid.
        unsafe { &*self.ptr(frame) }
    }

    /// The page in a frame, to be changed. The caller holds the exclusive latch or owns the frame alone.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn page_mut(&self, frame: u32) -> &mut Page {
        // SAFETY: see the module's invariants: exclusive by latch.
        unsafe { &mut *self.ptr(frame) }
    }

    /// Lends a frame, owned alone by the caller until the operation completes, to the device.
    pub(crate) fn io_buf(&self, frame: u32) -> IoBuf {
        // SAFETY: the frame is in no translation array and on no free list while it is being read into.
        unsafe { IoBuf::from_raw(self.ptr(frame).cast(), PAGE_SIZE) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length; no reference into it outlives the pool.
        unsafe {
            libc::munmap(self.base.cast(), self.len);
        }
    }
}
