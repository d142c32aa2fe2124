//! What has come from the source and is not applied yet: events in memory, as many bytes as `replica_pending_jobs_size_max` says. A
//! receiver that is ahead of that waits, and with it the source. Nothing of it is on disk: what is lost is asked for again.
//!
//! An applier that begins, or begins again, asks for a stream from where it stands: what is queued is of no use to it. The streams are
//! numbered, so that nothing of an older one gets in.

use std::collections::VecDeque;

use base::lock::{Condvar, Mutex};
use sql::context::replica::LogPlace;
use wire::binlog::header::Header;

use super::place::Place;

/// An event, its checksum verified and taken off.
#[derive(Debug, Clone)]
pub(super) struct Queued {
    /// Its header.
    pub header: Header,
    /// Its body.
    pub body: Vec<u8>,
    /// The place behind it.
    pub end: LogPlace,
}

impl Queued {
    /// What it counts for.
    pub fn size(&self) -> u64 {
        (self.body.len() + size_of::<Queued>() + self.end.file.len()) as u64
    }
}

#[derive(Default)]
struct Inner {
    events: VecDeque<Queued>,
    bytes: u64,
    limit: u64,
    stream: u64,
    /// Where it begins.
    start: Place,
    /// Its receiver cannot go on with it.
    given_up: bool,
    /// Whoever takes events is to come back without one.
    stop_taking: bool,
    /// He is to come back once: something else has happened.
    nudged: bool,
    /// Whoever puts them.
    stop_putting: bool,
}

/// The queue.
#[derive(Default)]
pub(super) struct Queue {
    inner: Mutex<Inner>,
    changed: Condvar,
}

/// Why an event was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotPut {
    /// The receiver is to end.
    Stop,
    /// Another stream is wanted.
    OtherStream,
}

/// What there is to apply.
#[derive(Debug)]
pub(super) enum Taken {
    /// An event.
    Event(Queued),
    /// The applier is to end.
    Stop,
    /// Something else has happened.
    Nudged,
    /// The stream does not go on: the applier is to begin another.
    GivenUp,
}

impl Queue {
    /// Begins a stream anew, from there: nothing is queued. Whoever says so applies nothing at that moment. Gives its
    /// number.
    pub fn begin_stream(&self, start: Place) -> u64 {
        let mut q = self.inner.lock();
        q.events.clear();
        q.bytes = 0;
        q.stream += 1;
        q.start = start;
        q.given_up = false;
        q.nudged = false;
        let stream = q.stream;
        drop(q);
        self.changed.notify_all();
        stream
    }

    /// The number of the stream that is wanted.
    pub fn stream(&self) -> u64 {
        self.inner.lock().stream
    }

    /// The number of the stream that is wanted, and where it begins.
    pub fn start(&self) -> (u64, Place) {
        let q = self.inner.lock();
        (q.stream, q.start.clone())
    }

    /// Nothing more of this stream will come: waits for another one, or until the receiver is to end.
    pub fn give_up(&self, stream: u64) {
        let mut q = self.inner.lock();
        if q.stream == stream {
            q.given_up = true;
            self.changed.notify_all();
        }
        while q.stream == stream && !q.stop_putting {
            q = self.changed.wait(q);
        }
    }

    /// Waits for another stream (true), or until the receiver is to end.
    pub fn wait_other(&self, stream: u64) -> bool {
        let mut q = self.inner.lock();
        while q.stream == stream && !q.stop_putting {
            q = self.changed.wait(q);
        }
        q.stream != stream && !q.stop_putting
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.inner.lock().bytes
    }

    /// Sets how many may.
    pub fn set_limit(&self, bytes: u64) {
        self.inner.lock().limit = bytes;
    }

    /// Puts an event behind the others, once there is room. One that is larger than all the room there is comes alone.
    pub fn put(&self, stream: u64, event: Queued) -> Result<(), NotPut> {
        let size = event.size();
        let mut q = self.inner.lock();
        loop {
            if q.stop_putting {
                return Err(NotPut::Stop);
            }
            if q.stream != stream {
                return Err(NotPut::OtherStream);
            }
            if q.events.is_empty() || q.bytes.saturating_add(size) <= q.limit {
                break;
            }
            q = self.changed.wait(q);
        }
        q.bytes += size;
        q.events.push_back(event);
        drop(q);
        self.changed.notify_all();
        Ok(())
    }

    /// Takes the first event, and waits for one.
    pub fn wait_next(&self) -> Taken {
        let mut q = self.inner.lock();
        loop {
            if q.stop_taking {
                return Taken::Stop;
            }
            if std::mem::take(&mut q.nudged) {
                return Taken::Nudged;
            }
            if q.given_up {
                return Taken::GivenUp;
            }
            if let Some(event) = q.events.pop_front() {
                q.bytes -= event.size();
                drop(q);
                self.changed.notify_all();
                return Taken::Event(event);
            }
            q = self.changed.wait(q);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.inner.lock().events.is_empty()
    }

    /// Whether whoever takes is to come back.
    pub fn stop_taking(&self, stop: bool) {
        self.inner.lock().stop_taking = stop;
        self.changed.notify_all();
    }

    /// Whoever takes events comes back once without one.
    pub fn nudge(&self) {
        self.inner.lock().nudged = true;
        self.changed.notify_all();
    }

    /// Whether it is.
    pub fn is_taking_stopped(&self) -> bool {
        self.inner.lock().stop_taking
    }

    /// Whether whoever puts is to come back.
    pub fn stop_putting(&self, stop: bool) {
        self.inner.lock().stop_putting = stop;
        self.changed.notify_all();
    }

    /// Whether it is.
    pub fn is_putting_stopped(&self) -> bool {
        self.inner.lock().stop_putting
    }

    /// Waits so long, or until the receiver (`putting`) or the applier is to come back.
    pub fn rest(&self, time: std::time::Duration, putting: bool) {
        let until = std::time::Instant::now() + time;
        let mut q = self.inner.lock();
        loop {
            let stop = if putting {
                q.stop_putting
            } else {
                q.stop_taking || q.nudged
            };
            let left = until.saturating_duration_since(std::time::Instant::now());
            if stop || left.is_zero() {
                return;
            }
            q = self.changed.wait_timeout(q, left);
        }
    }
}
