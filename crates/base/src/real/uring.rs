//! Page I/O through one io_uring: submitted by whoever needs the page, reaped by one thread that runs the completions.
#![allow(unsafe_code)]

use super::disk::RawFile;
use crate::buf::IoBuf;
use crate::seams::{Done, DoneSync};
use io_uring::{IoUring, opcode, types};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Submission entries; more operations than this may be in flight (the completion queue does not drop).
const ENTRIES: u32 = 512;

/// One operation with its completion.
pub(super) enum Op {
    Read(IoBuf, u64, Done),
    Write(IoBuf, u64, Done),
    Sync(DoneSync),
}

struct InFlight {
    file: Arc<RawFile>,
    op: Op,
    moved: usize,
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
        self.shared.push(Box::new(InFlight { file, op, moved: 0 }));
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
        let fd = types::Fd(f.file.fd());
        let entry = match &f.op {
            Op::Read(b, off, _) => {
                let (p, len) = b.parts();
                // SAFETY: `moved` ≤ len; the buffer outlives the operation inside `f`.
                let p = unsafe { p.add(f.moved) };
                opcode::Read::new(fd, p, (len - f.moved) as u32)
                    .offset(off + f.moved as u64)
                    .build()
            }
            Op::Write(b, off, _) => {
                let (p, len) = b.parts();
                // SAFETY: as above.
                let p = unsafe { p.add(f.moved) };
                opcode::Write::new(fd, p, (len - f.moved) as u32)
                    .offset(off + f.moved as u64)
                    .build()
            }
            Op::Sync(_) => opcode::Fsync::new(fd)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
        };
        let data = Box::into_raw(f) as u64;
        self.push_entry(&entry.user_data(data));
    }

    fn push_entry(&self, entry: &io_uring::squeue::Entry) {
        let _one = self.submit.lock().unwrap_or_else(|e| e.into_inner());
        loop {
            // SAFETY: the submission queue is only touched under `submit`; the entry's memory lives in its InFlight.
            let pushed = unsafe { self.ring.submission_shared().push(entry).is_ok() };
            match self.ring.submit() {
                Ok(_) if pushed => return,
                Ok(_) => {}
                // The kernel is short of room for a moment (EAGAIN/EBUSY/EINTR): the reaper is draining it.
                Err(_) if pushed && self.sq_empty() => return,
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
                // SAFETY: `data` came from Box::into_raw in `push` and completes once.
                let f = unsafe { Box::from_raw(data as *mut InFlight) };
                self.complete(f, res);
            }
            if self.closing.load(Ordering::Acquire) {
                return;
            }
        }
    }

    fn complete(&self, mut f: Box<InFlight>, res: i32) {
        let res = if res < 0 {
            Err(io::Error::from_raw_os_error(-res))
        } else {
            Ok(res as usize)
        };
        if let Err(e) = &res
            && (e.kind() == io::ErrorKind::Interrupted || e.raw_os_error() == Some(libc::EAGAIN))
            && !matches!(f.op, Op::Sync(_))
        {
            return self.push(f);
        }
        if let (Op::Read(b, ..) | Op::Write(b, ..), Ok(n)) = (&f.op, &res) {
            f.moved += n;
            // A short transfer goes on where it stopped; 0 bytes is the end of the file (or a full disk).
            if *n > 0 && f.moved < b.parts().1 {
                return self.push(f);
            }
        }
        let moved = f.moved;
        match f.op {
            Op::Read(b, _, done) | Op::Write(b, _, done) => done(b, res.map(|_| moved)),
            Op::Sync(done) => done(res.map(|_| ())),
        }
    }
}

impl RawFile {
    fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }
}
