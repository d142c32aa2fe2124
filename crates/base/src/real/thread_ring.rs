//! An io_uring of one thread's own, for the reads that this thread submits.
//!
//! A thread that serves many connections from one event loop waits for its pages where it waits for its sockets: the ring
//! is a descriptor that becomes readable. A page that arrives wakes nobody but the thread that asked for it, where the
//! shared ring wakes a reaper first, which wakes that thread. And what several statements ask for in one turn of the loop
//! goes to the kernel in one system call.
//!
//! Must never do: block while the thread has anything else to run, or run a completion on another thread.
#![allow(unsafe_code)]

use super::operation::{Op, RawFile};
use super::uring::InFlight;
use crate::lock::{Mutex, MutexGuard};
use io_uring::IoUring;
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::task::Waker;

/// Reads of one thread under way at once; what comes beyond takes the shared ring.
const ENTRIES: u32 = 256;

thread_local! {
    static OWN: RefCell<Option<Arc<Ring>>> = const { RefCell::new(None) };
}

/// The ring of the thread that made it. Whoever holds it must call [`ThreadRing::poll`] when its descriptor is readable and
/// when the waker given to the last turn was woken, on that same thread, and [`ThreadRing::end`] before the thread ends.
pub struct ThreadRing(Arc<Ring>);

struct Ring {
    ring: IoUring,
    /// Only its thread takes it: the lock is there so that a task of that thread's event loop may hold the ring.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Operations without a completion, those included that the kernel has not been told of.
    in_flight: u32,
    /// Whom to wake for what is queued.
    waker: Option<Waker>,
}

/// Reads through the ring of the calling thread. Gives the operation back if there is none, or no room in it.
pub(super) fn submit(file: &Arc<RawFile>, op: Op) -> Result<(), Op> {
    OWN.with_borrow(|own| match own {
        Some(ring) => ring.push(file, op),
        None => Err(op),
    })
}

impl ThreadRing {
    /// Makes the calling thread's ring; its reads go there from now on.
    ///
    /// # Errors
    /// Where the kernel has no io_uring or refuses it: the thread's reads go on as before then.
    pub fn install() -> io::Result<ThreadRing> {
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_coop_taskrun();
        let ring = match builder.build(ENTRIES) {
            // Kernels before 6.0 do not know the flags.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => IoUring::new(ENTRIES)?,
            r => r?,
        };
        let ring = Arc::new(Ring {
            ring,
            state: Mutex::default(),
        });
        OWN.set(Some(ring.clone()));
        Ok(ThreadRing(ring))
    }

    /// Tells the kernel what was queued and runs the completions of what has arrived. `waker` is woken when something is
    /// queued again.
    pub fn poll(&self, waker: &Waker) {
        self.0.tell(waker);
        self.0.reap();
    }

    /// Waits for what is under way. The thread's reads take the shared ring from now on.
    pub fn end(&self) {
        OWN.set(None);
        loop {
            let in_flight = self.0.lock().in_flight;
            if in_flight == 0 {
                return;
            }
            // Interrupted or short of room: once more.
            let _ = self.0.ring.submit_and_wait(1);
            self.0.reap();
        }
    }
}

impl AsRawFd for ThreadRing {
    fn as_raw_fd(&self) -> RawFd {
        self.0.ring.as_raw_fd()
    }
}

impl Ring {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn push(&self, file: &Arc<RawFile>, op: Op) -> Result<(), Op> {
        let mut state = self.lock();
        // As many completions as submissions fit in the rings, so that neither overflows.
        if state.in_flight == ENTRIES {
            return Err(op);
        }
        self.queue(InFlight::new(file.clone(), op));
        state.in_flight += 1;
        match &state.waker {
            Some(waker) if self.untold() == 1 => waker.wake_by_ref(),
            Some(_) => {}
            // Nobody has taken a turn yet.
            None => drop(self.ring.submit()),
        }
        Ok(())
    }

    /// Entries that the kernel has not been told of. To be called under `state`.
    fn untold(&self) -> usize {
        // SAFETY: the queue is only touched under `state`.
        unsafe { self.ring.submission_shared() }.len()
    }

    /// To be called under `state`.
    fn queue(&self, op: Box<InFlight>) {
        // SAFETY: the queue is only touched under `state`; the entry's memory lives in the operation, which is freed when it
        // has completed.
        let pushed = unsafe { self.ring.submission_shared().push(&op.into_entry()) };
        assert!(
            pushed.is_ok(),
            "no more entries are queued than may be under way"
        );
    }

    fn tell(&self, waker: &Waker) {
        let mut state = self.lock();
        // An error (EINTR, EAGAIN, EBUSY: the kernel is short of room for a moment) leaves the entries queued.
        if self.untold() > 0 && (self.ring.submit().is_err() || self.untold() > 0) {
            waker.wake_by_ref();
        }
        if !state.waker.as_ref().is_some_and(|w| w.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
    }

    fn reap(&self) {
        loop {
            let next = {
                let _alone = self.lock();
                // SAFETY: the queue is only touched under `state`.
                unsafe { self.ring.completion_shared() }.next()
            };
            let Some(completion) = next else { return };
            // SAFETY: the data of an entry made in `queue`, which completes once.
            let op = unsafe { InFlight::completed(completion.user_data()) };
            let rest = op.finish(completion.result());
            let mut state = self.lock();
            match rest {
                Some(rest) => self.queue(rest),
                None => state.in_flight -= 1,
            }
            if self.untold() > 0
                && let Some(waker) = &state.waker
            {
                waker.wake_by_ref();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Disk, OpenMode};
    use crate::real::RealDisk;
    use crate::{AlignedBuf, IoBuf};
    use std::sync::mpsc;

    #[test]
    fn a_thread_reads_through_its_own_ring() -> io::Result<()> {
        let dir = std::env::temp_dir().join(format!("tidemill-ring-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let disk = RealDisk::new();
        let file = disk.open(&dir.join("f"), OpenMode::Direct, true)?;
        let blocks = 2 * u64::from(ENTRIES);
        for n in 0..blocks {
            file.write_now(&AlignedBuf::copy_of(&[n as u8; 4096]), n * 4096)?;
        }
        let Ok(ring) = ThreadRing::install() else {
            return Ok(());
        };
        let (tell, told) = mpsc::channel();
        let here = std::thread::current().id();
        // More than the ring takes: the rest goes through the shared one.
        for n in 0..blocks {
            let tell = tell.clone();
            let done = move |buf: IoBuf, read: io::Result<usize>| {
                let own = std::thread::current().id() == here;
                let _ = tell.send((n, buf.bytes()[4095], read.ok(), own));
            };
            file.submit_read(
                IoBuf::owned(AlignedBuf::zeroed(4096)),
                n * 4096,
                Box::new(done),
            );
        }
        assert_eq!(
            ring.0.untold(),
            0,
            "what came before the first turn was told at once"
        );
        ring.poll(Waker::noop());
        ring.end();
        drop(tell);
        let mut seen: Vec<_> = told.iter().collect();
        seen.sort_unstable();
        assert_eq!(seen.len() as u64, blocks);
        for (n, (block, byte, read, _)) in seen.iter().enumerate() {
            assert_eq!((*block, *byte, *read), (n as u64, n as u8, Some(4096)));
        }
        let own = seen.iter().filter(|s| s.3).count();
        assert_eq!(own, ENTRIES as usize);
        std::fs::remove_dir_all(&dir)
    }
}
