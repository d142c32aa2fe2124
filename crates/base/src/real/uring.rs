//! Page I/O through one io_uring: submitted by whoever needs the page, reaped by one thread that runs the completions.
//! A thread with a ring of its own ([`super::ThreadRing`]) reads through that one.
#![allow(unsafe_code)]

use super::operation::{Op, RawFile};
use crate::lock::Mutex;
use io_uring::{IoUring, opcode, types};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Submission entries; more operations than this may be in flight (the completion queue does not drop).
const ENTRIES: u32 = 512;

/// An operation under way. The kernel holds its address until it completes.
pub(super) struct InFlight {
    file: Arc<RawFile>,
    op: Op,
    moved: usize,
}

impl InFlight {
    pub(super) fn new(file: Arc<RawFile>, op: Op) -> Box<InFlight> {
        Box::new(InFlight { file, op, moved: 0 })
    }

    /// What the kernel is asked to do: all that has not moved yet. The entry does not say yet whose it is.
    fn entry(&self) -> io_uring::squeue::Entry {
        let fd = types::Fd(self.file.fd());
        match &self.op {
            Op::Read(b, off, _) => {
                let (p, len) = b.parts();
                // SAFETY: `moved` ≤ len; the buffer outlives the operation inside `self`.
                let p = unsafe { p.add(self.moved) };
                opcode::Read::new(fd, p, (len - self.moved) as u32)
                    .offset(off + self.moved as u64)
                    .build()
            }
            Op::Write(b, off, _) => {
                let (p, len) = b.parts();
                // SAFETY: as above.
                let p = unsafe { p.add(self.moved) };
                opcode::Write::new(fd, p, (len - self.moved) as u32)
                    .offset(off + self.moved as u64)
                    .build()
            }
            Op::Sync(_) => opcode::Fsync::new(fd)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
        }
    }

    /// The entry for the submission queue, which owns the operation from here on: [`InFlight::completed`] takes it back.
    pub(super) fn into_entry(self: Box<Self>) -> io_uring::squeue::Entry {
        let entry = self.entry();
        entry.user_data(Box::into_raw(self) as u64)
    }

    /// The operation of a completion.
    ///
    /// # Safety
    /// `user_data` is that of an entry that [`InFlight::into_entry`] made, and it has completed once, or was never
    /// submitted.
    pub(super) unsafe fn completed(user_data: u64) -> Box<InFlight> {
        // SAFETY: the caller's promise.
        unsafe { Box::from_raw(user_data as *mut InFlight) }
    }

    /// Tells whoever waits; or gives back what has to go on, after a short transfer or an interruption.
    pub(super) fn finish(mut self: Box<Self>, res: i32) -> Option<Box<InFlight>> {
        let res = if res < 0 {
            Err(io::Error::from_raw_os_error(-res))
        } else {
            Ok(res as usize)
        };
        if let Err(e) = &res
            && (e.kind() == io::ErrorKind::Interrupted || e.raw_os_error() == Some(libc::EAGAIN))
            && !matches!(self.op, Op::Sync(_))
        {
            return Some(self);
        }
        if let (Op::Read(b, ..) | Op::Write(b, ..), Ok(n)) = (&self.op, &res) {
            self.moved += n;
            // A short transfer goes on where it stopped; 0 bytes is the end of the file (or a full disk).
            if *n > 0 && self.moved < b.parts().1 {
                return Some(self);
            }
        }
        let moved = self.moved;
        match self.op {
            Op::Read(b, _, done) | Op::Write(b, _, done) => done(b, res.map(|_| moved)),
            Op::Sync(done) => done(res.map(|_| ()).map_err(crate::environment::lost_by_sync)),
        }
        None
    }
}

/// The ring and its reaper thread.
pub(super) struct Uring {
    shared: Arc<Shared>,
}

struct Shared {
    ring: IoUring,
    submit: Mutex<()>,
    closing: AtomicBool,
}

impl Uring {
    /// Opens a ring, or says why the kernel refused.
    pub(super) fn new() -> io::Result<Uring> {
        let ring = IoUring::builder().setup_clamp().build(ENTRIES)?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::Read::CODE) || !probe.is_supported(opcode::Fsync::CODE) {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let shared = Arc::new(Shared {
            ring,
            submit: Mutex::new(()),
            closing: AtomicBool::new(false),
        });
        let s = shared.clone();
        std::thread::Builder::new()
            .name("io-reaper".into())
            .spawn(move || s.reap())?;
        Ok(Uring { shared })
    }

    pub(super) fn submit(&self, file: Arc<RawFile>, op: Op) {
        self.shared.push(InFlight::new(file, op));
    }

    /// As [`submit`](Self::submit) for each, with one call into the kernel for as many as there is room for.
    pub(super) fn submit_all(&self, file: &Arc<RawFile>, ops: Vec<Op>) {
        let entries = ops
            .into_iter()
            .map(|op| InFlight::new(file.clone(), op).into_entry());
        self.shared.push_entries(&entries.collect::<Vec<_>>());
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        let nop = opcode::Nop::new().build().user_data(0);
        self.shared.push_entry(&nop);
    }
}

impl Shared {
    fn push(&self, f: Box<InFlight>) {
        self.push_entry(&f.into_entry());
    }

    fn push_entry(&self, entry: &io_uring::squeue::Entry) {
        self.push_entries(std::slice::from_ref(entry));
    }

    fn push_entries(&self, mut entries: &[io_uring::squeue::Entry]) {
        let _one = self.submit.lock();
        loop {
            // SAFETY: the submission queue is only touched under `submit`; an entry's memory lives in its InFlight.
            let mut queue = unsafe { self.ring.submission_shared() };
            while let Some((entry, rest)) = entries.split_first()
                // SAFETY: as above.
                && unsafe { queue.push(entry).is_ok() }
            {
                entries = rest;
            }
            drop(queue);
            match self.ring.submit() {
                Ok(_) if entries.is_empty() => return,
                Ok(_) => {}
                // The kernel is short of room for a moment (EAGAIN/EBUSY/EINTR): the reaper is draining it.
                Err(_) if entries.is_empty() && self.sq_empty() => return,
                Err(_) => std::thread::yield_now(),
            }
        }
    }

    fn sq_empty(&self) -> bool {
        // SAFETY: called under `submit`.
        unsafe { self.ring.submission_shared().is_empty() }
    }

    fn reap(&self) {
        let mut batch: Vec<(u64, i32)> = Vec::with_capacity(64);
        loop {
            // SAFETY: plain io_uring_enter waiting for one completion; no argument memory.
            let waited = unsafe {
                self.ring
                    .submitter()
                    .enter::<libc::sigset_t>(0, 1, 1 /* IORING_ENTER_GETEVENTS */, None)
            };
            if let Err(e) = waited {
                let k = e.raw_os_error();
                if k != Some(libc::EINTR) && k != Some(libc::EBUSY) && k != Some(libc::EAGAIN) {
                    std::thread::yield_now();
                }
            }
            // SAFETY: the completion queue is only touched by this thread.
            batch.extend(
                unsafe { self.ring.completion_shared() }.map(|c| (c.user_data(), c.result())),
            );
            for (data, res) in batch.drain(..) {
                if data == 0 {
                    continue;
                }
                // SAFETY: `data` came from `into_entry` in `push` and completes once.
                if let Some(rest) = unsafe { InFlight::completed(data) }.finish(res) {
                    self.push(rest);
                }
            }
            if self.closing.load(Ordering::Acquire) {
                return;
            }
        }
    }
}
