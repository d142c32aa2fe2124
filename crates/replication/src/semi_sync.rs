//! Semi-sync, the source's part: which commits have been acknowledged by as many replicas as are wanted, and who waits for that.
//!
//! A commit is known by the end of its record in the log. The task that makes files says up to where in them all is that was committed
//! before a position of the log (a *mark*); dumps ask for an acknowledgement of the event that ends there; a replica's reply names a
//! place in the files, and what is acknowledged are the marks up to there. Whoever waits is woken by the reply that is the last one wanted.
//!
//! While it is *off*, after a time-out, nobody waits. The event at the end of the files is a probe then: once the replicas have acknowledged it
//! in less time than a commit may wait, it is on again.
//!
//! What it never does: hold anything but the answer to a client, look again and again, or believe a replica that names a place it was not sent.

use base::environment::deadline;
use base::lock::Mutex;
use base::{Clock, Lsn};
use sql_expr::vars::{StatusSource, StatusValue};
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

/// More marks are not kept: each second one goes.
const MARKS_MAX: usize = 4096;

/// A place in the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// The number of the file.
    pub file: u32,
    /// The position in it.
    pub position: u64,
}

/// What is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// `rpl_semi_sync_source_enabled`.
    pub enabled: bool,
    /// `rpl_semi_sync_source_timeout`, in microseconds.
    pub timeout_us: u64,
    /// `rpl_semi_sync_source_wait_for_replica_count`.
    pub replicas: usize,
    /// `rpl_semi_sync_source_wait_no_replica`: also while there are fewer than that, a commit waits.
    pub wait_without: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            enabled: false,
            timeout_us: 10_000_000,
            replicas: 1,
            wait_without: true,
        }
    }
}

/// Up to `place` is all that was committed before `read`.
#[derive(Debug, Clone, Copy)]
struct Mark {
    place: Place,
    read: Lsn,
}

struct Waiter {
    waker: Option<Waker>,
    since_us: u64,
}

/// A replica, by its name: how far it has acknowledged, and whether it is connected.
#[derive(Debug, Default)]
struct Known {
    acknowledged: Place,
    connections: usize,
}

/// What has been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Replicas that are connected.
    pub clients: u64,
    /// Whether commits wait.
    pub on: bool,
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Commits that were answered without it.
    pub unacknowledged: u64,
    /// How often it was switched off.
    pub switched_off: u64,
    /// Who waits now.
    pub waiting: u64,
    /// How many have waited.
    pub waits: u64,
    /// How long, in microseconds, all together.
    pub waited_us: u64,
    /// Replies that have come.
    pub replies: u64,
    /// Replies that made no sense.
    pub refused: u64,
    /// Replies that named an older place than one before.
    pub backwards: u64,
}

#[derive(Default)]
struct Inner {
    rules: Rules,
    on: bool,
    /// Counts how often places have lost their meaning.
    epoch: u64,
    marks: VecDeque<Mark>,
    /// All that was committed before this is acknowledged.
    acknowledged: Lsn,
    replicas: BTreeMap<String, Known>,
    waiters: BTreeMap<(Lsn, u64), Waiter>,
    last_waiter: u64,
    /// While it is off: the event that was sent to find out whether replicas are there, and when.
    probe: Option<(Place, u64)>,
    counts: Counts,
}

/// See the module.
pub struct SemiSync {
    inner: Mutex<Inner>,
    clock: Arc<dyn Clock>,
    enabled: AtomicBool,
}

/// A replica that is sent events and acknowledges them.
pub struct Member {
    of: Arc<SemiSync>,
    name: String,
    epoch: u64,
    /// Up to where it has been sent events.
    sent: Place,
    /// Of them it has acknowledged all.
    settled: bool,
}

/// A reply that is no word of a replica in its senses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotSent;

impl Inner {
    /// The place that as many replicas have acknowledged as are wanted.
    fn common_place(&self) -> Option<Place> {
        let mut places: Vec<Place> = self.replicas.values().map(|k| k.acknowledged).collect();
        let wanted = self.rules.replicas.max(1);
        places.sort_unstable();
        let at = places.len().checked_sub(wanted)?;
        match base::mutant!("semi-sync-one-replica-is-enough") {
            true => places.last().copied(),
            false => places.get(at).copied(),
        }
    }

    fn connected(&self) -> usize {
        self.replicas.values().filter(|k| k.connections > 0).count()
    }

    /// Sees how far all is acknowledged, and takes out who has waited for that. They are to be woken.
    fn advance(&mut self, now_us: u64) -> Vec<Waker> {
        let Some(place) = self.common_place() else {
            return Vec::new();
        };
        while let Some(m) = self.marks.front() {
            let reached = m.place <= place || base::mutant!("semi-sync-any-reply-will-do");
            if !reached {
                break;
            }
            self.acknowledged = self.acknowledged.max(m.read);
            // The last may still get more of the log before it.
            if self.marks.len() == 1 {
                break;
            }
            self.marks.pop_front();
        }
        // Of those that have gone, what all have acknowledged says nothing more.
        self.replicas
            .retain(|_, k| k.connections > 0 || k.acknowledged > place);
        if let Some((probe, since)) = self.probe
            && !self.on
            && place >= probe
        {
            self.probe = None;
            let in_time = now_us.saturating_sub(since) <= self.rules.timeout_us;
            let there = self.connected() >= self.rules.replicas;
            self.on = in_time && there && !base::mutant!("semi-sync-stays-off");
        }
        let acknowledged = self.acknowledged;
        self.take_out(now_us, |lsn| lsn <= acknowledged, true)
    }

    /// Takes out waiters, from the first on as long as `up_to` says so.
    fn take_out(&mut self, now_us: u64, up_to: impl Fn(Lsn) -> bool, yes: bool) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while let Some(first) = self.waiters.first_entry() {
            if !up_to(first.key().0) {
                break;
            }
            let waiter = first.remove();
            self.counts.waited_us += now_us.saturating_sub(waiter.since_us);
            match yes {
                true => self.counts.acknowledged += 1,
                false => self.counts.unacknowledged += 1,
            }
            wakers.extend(waiter.waker);
        }
        wakers
    }

    fn switch_off(&mut self, now_us: u64) -> Vec<Waker> {
        if std::mem::replace(&mut self.on, false) {
            self.counts.switched_off += 1;
        }
        self.probe = None;
        self.take_out(now_us, |_| true, false)
    }

    /// Fewer replicas are there than are wanted, and nobody is to wait for that.
    fn too_few(&self) -> bool {
        !self.rules.wait_without && self.connected() < self.rules.replicas
    }
}

fn wake(wakers: Vec<Waker>) {
    for w in wakers {
        w.wake();
    }
}

impl SemiSync {
    /// Switched off by its rules.
    pub fn new(clock: Arc<dyn Clock>) -> SemiSync {
        SemiSync {
            inner: Mutex::new(Inner::default()),
            clock,
            enabled: AtomicBool::new(false),
        }
    }

    /// Whether commits wait for replicas at all.
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Has other rules from now on.
    pub fn set(&self, rules: Rules) {
        let now = self.clock.now_us();
        let mut s = self.inner.lock();
        let before = std::mem::replace(&mut s.rules, rules);
        self.enabled.store(rules.enabled, Ordering::Relaxed);
        if before == rules {
            return;
        }
        let wakers = match (before.enabled, rules.enabled) {
            (false, true) => {
                s.on = true;
                s.probe = None;
                // What was committed before was not to be acknowledged.
                let before = s.marks.back().map_or(Lsn::NONE, |m| m.read);
                s.acknowledged = s.acknowledged.max(before);
                Vec::new()
            }
            (_, false) => {
                let counts = s.counts;
                let off = s.switch_off(now);
                s.counts.switched_off = counts.switched_off;
                off
            }
            (true, true) => s.advance(now),
        };
        drop(s);
        wake(wakers);
    }

    /// All that was committed before `read` is in the files, and ends at `place`. It is said before anybody is shown that place.
    pub(crate) fn shown(&self, place: Place, read: Lsn) {
        let now = self.clock.now_us();
        let mut s = self.inner.lock();
        if !s.rules.enabled {
            s.marks.clear();
        }
        match s.marks.back_mut() {
            Some(m) if m.place >= place => m.read = m.read.max(read),
            _ => s.marks.push_back(Mark { place, read }),
        }
        if s.marks.len() > MARKS_MAX {
            // Which acknowledgement somebody gets is less exact, and none is lost: the last stays.
            let last = s.marks.len() - 1;
            let mut n = 0;
            s.marks.retain(|_| {
                n += 1;
                n % 2 == 0 || n == last + 1
            });
        }
        let wakers = s.advance(now);
        drop(s);
        wake(wakers);
    }

    /// Places mean nothing any more. Whoever waits is answered: what it waits for will not be sent.
    pub(crate) fn begin_anew(&self) {
        let now = self.clock.now_us();
        let mut s = self.inner.lock();
        s.epoch += 1;
        s.marks.clear();
        s.probe = None;
        for known in s.replicas.values_mut() {
            known.acknowledged = Place::default();
        }
        let wakers = s.take_out(now, |_| true, false);
        drop(s);
        wake(wakers);
    }

    /// A replica is to be sent events from `from` on. Its name is that of its server.
    pub fn join(self: &Arc<Self>, name: String, from: Place) -> Member {
        let mut s = self.inner.lock();
        s.replicas.entry(name.clone()).or_default().connections += 1;
        let epoch = s.epoch;
        drop(s);
        Member {
            of: self.clone(),
            name,
            epoch,
            sent: from,
            settled: true,
        }
    }

    /// What is waited for where a commit's record ends at `lsn`; `None`: nothing, as it is acknowledged, or nobody is asked.
    pub fn wait(self: &Arc<Self>, lsn: Lsn) -> Option<impl Future<Output = ()> + Send + use<>> {
        let now = self.clock.now_us();
        let mut s = self.inner.lock();
        if !s.rules.enabled {
            return None;
        }
        if s.acknowledged >= lsn {
            s.counts.acknowledged += 1;
            return None;
        }
        let mut wakers = Vec::new();
        if s.on && s.too_few() {
            wakers = s.switch_off(now);
        }
        if !s.on {
            s.counts.unacknowledged += 1;
            drop(s);
            wake(wakers);
            return None;
        }
        s.last_waiter += 1;
        s.counts.waits += 1;
        let key = (lsn, s.last_waiter);
        let waiter = Waiter {
            waker: None,
            since_us: now,
        };
        s.waiters.insert(key, waiter);
        let until = now.saturating_add(s.rules.timeout_us);
        drop(s);
        let of = self.clone();
        Some(Waiting { of, key }.until(until))
    }

    /// What has been counted.
    pub fn counts(&self) -> Counts {
        let s = self.inner.lock();
        Counts {
            clients: s.connected() as u64,
            on: s.rules.enabled && s.on,
            waiting: s.waiters.len() as u64,
            ..s.counts
        }
    }
}

/// Somebody waits, as long as this lives.
struct Waiting {
    of: Arc<SemiSync>,
    key: (Lsn, u64),
}

impl Waiting {
    async fn until(self, at_us: u64) {
        let clock = self.of.clock.clone();
        let mut late = pin!(deadline(&*clock, at_us));
        poll_fn(|cx| {
            {
                let mut s = self.of.inner.lock();
                match s.waiters.get_mut(&self.key) {
                    None => return Poll::Ready(()),
                    Some(w) => w.waker = Some(cx.waker().clone()),
                }
            }
            if late.as_mut().poll(cx).is_ready() {
                self.time_is_over();
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    }

    fn time_is_over(&self) {
        let now = self.of.clock.now_us();
        let mut s = self.of.inner.lock();
        if s.waiters.contains_key(&self.key) {
            let wakers = s.switch_off(now);
            drop(s);
            if !base::mutant!("semi-sync-switched-off-without-a-word") {
                wake(wakers);
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let now = self.of.clock.now_us();
        let mut s = self.of.inner.lock();
        // It was killed, or its client has gone.
        if let Some(w) = s.waiters.remove(&self.key) {
            s.counts.unacknowledged += 1;
            s.counts.waited_us += now.saturating_sub(w.since_us);
        }
    }
}

impl Member {
    /// The event that ends at `place` is being sent: whether it is to be acknowledged.
    pub fn sends(&mut self, place: Place) -> bool {
        self.sent = self.sent.max(place);
        self.settled = false;
        let now = self.of.clock.now_us();
        let mut s = self.of.inner.lock();
        if !s.rules.enabled || s.epoch != self.epoch {
            return false;
        }
        if s.on {
            let found = s.marks.binary_search_by_key(&place, |m| m.place);
            return found.is_ok();
        }
        let last = s.marks.back().is_some_and(|m| m.place == place);
        if last
            && s.probe
                .is_none_or(|(at, _)| place > at && now_is_late(now, &s))
        {
            s.probe = Some((place, now));
        }
        last
    }

    /// The replica has said that it has all before `place`: by what it has asked for, and not by a reply.
    pub fn has(&mut self, place: Place) {
        self.sent = self.sent.max(place);
        if self.settled {
            self.note(place);
        }
    }

    /// A reply has come.
    ///
    /// # Errors
    /// Nothing of that place was sent: it does not count.
    pub fn replied(&mut self, place: Place) -> Result<(), NotSent> {
        if place > self.sent {
            self.of.inner.lock().counts.refused += 1;
            return Err(NotSent);
        }
        self.settled = place == self.sent;
        self.note(place);
        Ok(())
    }

    fn note(&self, place: Place) {
        let now = self.of.clock.now_us();
        let mut s = self.of.inner.lock();
        s.counts.replies += 1;
        if s.epoch != self.epoch {
            return;
        }
        let Some(known) = s.replicas.get_mut(&self.name) else {
            return;
        };
        let back = place < known.acknowledged;
        known.acknowledged = known.acknowledged.max(place);
        s.counts.backwards += u64::from(back);
        let wakers = s.advance(now);
        drop(s);
        if !base::mutant!("reply-without-a-word") {
            wake(wakers);
        }
    }
}

/// The probe that is under way has taken longer than a commit may wait.
fn now_is_late(now: u64, s: &Inner) -> bool {
    let since = s.probe.map_or(0, |(_, since)| since);
    now.saturating_sub(since) > s.rules.timeout_us
}

impl Drop for Member {
    fn drop(&mut self) {
        let now = self.of.clock.now_us();
        let mut s = self.of.inner.lock();
        let common = s.common_place();
        if let Some(known) = s.replicas.get_mut(&self.name) {
            known.connections -= 1;
            let settled = common.is_some_and(|c| known.acknowledged <= c);
            if known.connections == 0 && (settled || known.acknowledged == Place::default()) {
                s.replicas.remove(&self.name);
            }
        }
        let wakers = match s.on && s.too_few() {
            true => s.switch_off(now),
            false => Vec::new(),
        };
        drop(s);
        wake(wakers);
    }
}

impl StatusSource for SemiSync {
    fn report(&self, out: &mut dyn FnMut(&str, StatusValue)) {
        let c = self.counts();
        let average = |sum: u64, of: u64| sum.checked_div(of).unwrap_or(0);
        let counts = [
            ("clients", c.clients),
            // How long a reply takes is not measured apart from the wait.
            ("net_avg_wait_time", 0),
            ("net_wait_time", 0),
            ("net_waits", c.replies),
            ("no_times", c.switched_off),
            ("no_tx", c.unacknowledged),
            ("timefunc_failures", 0),
            ("tx_avg_wait_time", average(c.waited_us, c.waits)),
            ("tx_wait_time", c.waited_us),
            ("tx_waits", c.waits),
            ("wait_pos_backtraverse", c.backwards),
            ("wait_sessions", c.waiting),
            ("yes_tx", c.acknowledged),
        ];
        for side in ["source", "master"] {
            let name = |of: &str| format!("Rpl_semi_sync_{side}_{of}");
            for (of, n) in counts {
                out(&name(of), StatusValue::Count(n));
            }
            out(&name("status"), on_or_off(c.on));
        }
    }
}

/// As a switch is shown.
pub(crate) fn on_or_off(on: bool) -> StatusValue {
    StatusValue::Text(if on { "ON" } else { "OFF" }.to_owned())
}

#[cfg(test)]
mod tests;
