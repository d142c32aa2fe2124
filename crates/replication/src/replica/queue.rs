//! What has come from the source and is not applied yet: events in memory, as many bytes as `replica_pending_jobs_size_max` says. A
//! receiver that is ahead of that waits, and with it the source. Nothing of it is on disk: what is lost is asked for again.
//!
//! An applier that begins, or begins again, asks for a stream from where it stands: what is queued is of no use to it. The streams are
//! numbered, so that nothing of an older one gets in.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use base::Event as Fired;
use base::environment::{Clock, deadline};
use base::lock::Mutex;
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
    /// Events that were put since those who wait were last woken.
    unheard: usize,
    /// An applier is starting, which will begin another: no receiver is to come to the source for this one.
    awaited: bool,
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
    changed: Fired,
}

/// So many events are told of at the latest.
const HEARD_OF_AT_ONCE: usize = 64;

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
        q.awaited = false;
        q.given_up = false;
        q.nudged = false;
        let stream = q.stream;
        drop(q);
        if !base::mutant!("stream-begun-without-a-word") {
            self.changed.fire();
        }
        stream
    }

    /// The number of the stream that is wanted.
    pub fn stream(&self) -> u64 {
        self.inner.lock().stream
    }

    /// An applier is starting and will begin a stream (true), or will not any more.
    pub fn await_stream(&self, awaited: bool) {
        self.inner.lock().awaited = awaited;
        self.changed.fire();
    }

    /// The number of the stream that is wanted, and where it begins: waits for an applier that is starting. Nothing: the receiver is to end.
    pub async fn start(&self) -> Option<(u64, Place)> {
        let known = || {
            let q = self.inner.lock();
            match (q.stop_putting, q.awaited) {
                (true, _) => Some(None),
                (false, true) => None,
                (false, false) => Some(Some((q.stream, q.start.clone()))),
            }
        };
        self.changed.wait_for(known).await
    }

    /// Nothing more of this stream will come: waits for another one, or until the receiver is to end, or until nobody applies any more who could
    /// begin another (`alone`), which is to be so before [`await_stream`](Self::await_stream) is said.
    pub async fn give_up(&self, stream: u64, alone: impl Fn() -> bool) {
        {
            let mut q = self.inner.lock();
            q.given_up |= q.stream == stream;
        }
        self.changed.fire();
        let over = || {
            let another = {
                let q = self.inner.lock();
                q.stream != stream || q.stop_putting
            };
            let left = !base::mutant!("given-up-stream-left-by-its-applier") && alone();
            (another || left).then_some(())
        };
        self.changed.wait_for(over).await;
    }

    /// Waits for another stream (true), or until the receiver is to end.
    pub async fn wait_other(&self, stream: u64) -> bool {
        let another = || {
            let q = self.inner.lock();
            (q.stream != stream || q.stop_putting).then_some(!q.stop_putting)
        };
        self.changed.wait_for(another).await
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.inner.lock().bytes
    }

    /// Sets how many may.
    pub fn set_limit(&self, bytes: u64) {
        self.inner.lock().limit = bytes;
    }

    /// Puts an event behind the others, once there is room. One that is larger than all the room there is comes alone. Whoever takes may hear of it
    /// only by [`tell`](Self::tell), which is to be called before waiting for more events: to be woken for each costs more than to apply it.
    pub async fn put(&self, stream: u64, event: Queued) -> Result<(), NotPut> {
        let size = event.size();
        let mut event = Some(event);
        let mut put = || {
            let mut q = self.inner.lock();
            if q.stop_putting {
                return Some(Err(NotPut::Stop));
            }
            if q.stream != stream {
                return Some(Err(NotPut::OtherStream));
            }
            if !q.events.is_empty() && q.bytes.saturating_add(size) > q.limit {
                return None;
            }
            q.bytes += size;
            q.events.extend(event.take());
            q.unheard += 1;
            Some(Ok(q.unheard >= HEARD_OF_AT_ONCE))
        };
        let tell = match put() {
            Some(done) => done?,
            None => {
                self.tell();
                self.changed.wait_for(put).await?
            }
        };
        if tell {
            self.tell();
        }
        Ok(())
    }

    /// Wakes whoever waits for what was put.
    pub fn tell(&self) {
        let unheard = std::mem::take(&mut self.inner.lock().unheard);
        if unheard > 0 && !base::mutant!("queue-filled-without-a-word") {
            self.changed.fire();
        }
    }

    /// Takes the first event, and waits for one.
    pub async fn next(&self) -> Taken {
        let mut room = false;
        let take = || {
            let mut q = self.inner.lock();
            if q.stop_taking {
                return Some(Taken::Stop);
            }
            if std::mem::take(&mut q.nudged) {
                return Some(Taken::Nudged);
            }
            if q.given_up {
                return Some(Taken::GivenUp);
            }
            let event = q.events.pop_front()?;
            let full = q.bytes;
            q.bytes -= event.size();
            // Who waits for room is woken once for much of it.
            let half = q.limit / 2;
            room = q.events.is_empty() || (full > half && q.bytes <= half);
            Some(Taken::Event(event))
        };
        let taken = self.changed.wait_for(take).await;
        if room && !base::mutant!("room-in-the-queue-without-a-word") {
            self.changed.fire();
        }
        taken
    }

    /// Events that nobody was told of.
    #[cfg(test)]
    pub fn unheard(&self) -> usize {
        self.inner.lock().unheard
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.inner.lock().events.is_empty()
    }

    /// Whether whoever takes is to come back.
    pub fn stop_taking(&self, stop: bool) {
        self.inner.lock().stop_taking = stop;
        if !base::mutant!("applier-stopped-without-a-word") {
            self.changed.fire();
        }
    }

    /// Whoever takes events comes back once without one.
    pub fn nudge(&self) {
        self.inner.lock().nudged = true;
        if !base::mutant!("applier-nudged-without-a-word") {
            self.changed.fire();
        }
    }

    /// Whether it is.
    pub fn is_taking_stopped(&self) -> bool {
        self.inner.lock().stop_taking
    }

    /// Waits until it is.
    pub async fn taking_stopped(&self) {
        let stopped = || self.is_taking_stopped().then_some(());
        self.changed.wait_for(stopped).await;
    }

    /// Whether whoever puts is to come back.
    pub fn stop_putting(&self, stop: bool) {
        self.inner.lock().stop_putting = stop;
        if !base::mutant!("receiver-stopped-without-a-word") {
            self.changed.fire();
        }
    }

    /// Whether it is.
    pub fn is_putting_stopped(&self) -> bool {
        self.inner.lock().stop_putting
    }

    /// Waits so long, or until the receiver (`putting`) or the applier is to come back.
    pub async fn rest(&self, clock: &dyn Clock, time: Duration, putting: bool) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let mut over = pin!(deadline(clock, clock.now_us().saturating_add(time)));
        let is_to_stop = || {
            let q = self.inner.lock();
            match putting {
                true => q.stop_putting,
                false => q.stop_taking || q.nudged,
            }
        };
        poll_fn(|cx| {
            self.changed.park(cx);
            match is_to_stop() {
                true => Poll::Ready(()),
                false => over.as_mut().poll(cx),
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests;
