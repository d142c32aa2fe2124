//! The simulated network: connections as two streams of bytes that come later, in pieces, or not at all. A link between two servers may be cut, and
//! heals; a connection may be lost at any byte; a server that loses its power is silent, or its connections are reset.
//!
//! What it never does: change bytes, or bring them in another order. A connection is TCP, and no faults are looked for below that.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::io;
use std::net::TcpStream;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use base::environment::{Task, deadline};
use base::lock::{Mutex, MutexGuard};
use base::{Clock, Event, SplitMix64};
use replication::replica::outside::{Line, Outside, Socket, Unreached, Waits};
use sim::time::Time;

/// A server, by its number.
pub type Host = usize;

/// One direction of a connection.
#[derive(Default)]
struct Pipe {
    /// What is under way, and when it is there.
    pieces: VecDeque<(u64, Vec<u8>)>,
    /// Nothing more will be written.
    ended: bool,
}

struct Wire {
    ends: [Host; 2],
    /// By who reads.
    pipes: [Pipe; 2],
    /// Reset: whoever uses it is told.
    lost: bool,
}

struct State {
    rng: SplitMix64,
    wires: BTreeMap<u64, Wire>,
    last: u64,
    /// Those that listen, and who has come.
    listening: BTreeMap<Host, Vec<End>>,
    /// Links that are cut: the lower number first.
    cut: BTreeSet<(Host, Host)>,
    counts: Counts,
}

/// What has happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub connections: u64,
    pub lost: u64,
    pub bytes: u64,
}

/// The network.
#[derive(Clone)]
pub struct Net {
    state: Arc<Mutex<State>>,
    changed: Arc<Event>,
    time: Arc<Time>,
}

/// One end of a connection.
#[derive(Clone)]
pub struct End {
    net: Net,
    wire: u64,
    side: usize,
    silence: Duration,
}

fn pair(a: Host, b: Host) -> (Host, Host) {
    (a.min(b), a.max(b))
}

fn reset() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionReset)
}

impl Net {
    pub fn new(time: Arc<Time>, rng: SplitMix64) -> Net {
        let state = State {
            rng,
            wires: BTreeMap::new(),
            last: 0,
            listening: BTreeMap::new(),
            cut: BTreeSet::new(),
            counts: Counts::default(),
        };
        Net {
            state: Arc::new(Mutex::new(state)),
            changed: Arc::default(),
            time,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// What has happened.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Whoever comes to this server is let in.
    pub fn listen(&self, host: Host) {
        self.lock().listening.insert(host, Vec::new());
    }

    /// The next who comes.
    pub async fn accept(&self, host: Host) -> End {
        let come = || {
            let mut s = self.lock();
            let waiting = s.listening.get_mut(&host)?;
            (!waiting.is_empty()).then(|| waiting.remove(0))
        };
        self.changed.wait_for(come).await
    }

    /// Nothing comes from one to the other any more, and nobody is told.
    pub fn cut(&self, a: Host, b: Host) {
        self.lock().cut.insert(pair(a, b));
    }

    /// All links are whole again.
    pub fn heal(&self) {
        self.lock().cut.clear();
        self.changed.fire();
    }

    /// Whether a link is cut.
    pub fn is_cut(&self, a: Host, b: Host) -> bool {
        self.lock().cut.contains(&pair(a, b))
    }

    /// A connection is lost, if there is one; some of what is under way comes first.
    pub fn lose_one(&self) -> bool {
        let mut s = self.lock();
        let alive: Vec<u64> = s.wires.iter().filter(|w| !w.1.lost).map(|w| *w.0).collect();
        if alive.is_empty() {
            return false;
        }
        let wire = alive[s.rng.below(alive.len() as u64) as usize];
        s.lose(wire);
        drop(s);
        self.changed.fire();
        true
    }

    /// A server has no power any more. Those at the other end may be told so, or hear nothing.
    pub fn power_off(&self, host: Host) {
        let mut s = self.lock();
        s.listening.remove(&host);
        let of_it = s.wires.iter().filter(|w| w.1.ends.contains(&host));
        let of_it: Vec<u64> = of_it.map(|w| *w.0).collect();
        for wire in of_it {
            if s.rng.one_in(2) {
                s.lose(wire);
            }
        }
        drop(s);
        self.changed.fire();
    }

    fn connect(&self, from: Host, to: Host, silence: Duration) -> Option<End> {
        let mut s = self.lock();
        if !s.listening.contains_key(&to) {
            return None;
        }
        s.last += 1;
        let wire = s.last;
        s.counts.connections += 1;
        s.wires.insert(
            wire,
            Wire {
                ends: [from, to],
                pipes: Default::default(),
                lost: false,
            },
        );
        let end = |side| End {
            net: self.clone(),
            wire,
            side,
            silence,
        };
        let far = end(1);
        s.listening.get_mut(&to)?.push(far);
        drop(s);
        self.changed.fire();
        Some(end(0))
    }
}

impl State {
    fn lose(&mut self, wire: u64) {
        let keep = self.rng.below(3);
        if let Some(w) = self.wires.get_mut(&wire)
            && !w.lost
        {
            w.lost = true;
            self.counts.lost += 1;
            for p in &mut w.pipes {
                p.pieces.truncate(keep as usize);
                if let Some((_, last)) = p.pieces.back_mut() {
                    last.truncate(self.rng.below(last.len() as u64 + 1) as usize);
                }
            }
        }
    }
}

/// What there is to read.
enum Read {
    Some(usize),
    /// Something will be there then.
    At(u64),
    Nothing,
    Ended,
    Lost,
}

impl End {
    /// Reads what is there now.
    fn read_now(&self, into: &mut [u8]) -> Read {
        let now = self.net.time.now();
        let mut guard = self.net.lock();
        let s = &mut *guard;
        let Some(w) = s.wires.get_mut(&self.wire) else {
            return Read::Lost;
        };
        let (a, b) = pair(w.ends[0], w.ends[1]);
        let lost = w.lost;
        let pipe = &mut w.pipes[self.side];
        let empty = match pipe.ended {
            true => Read::Ended,
            false if lost => Read::Lost,
            false => Read::Nothing,
        };
        let Some((at, bytes)) = pipe.pieces.front_mut() else {
            return empty;
        };
        if *at > now {
            return Read::At(*at);
        }
        if !lost && s.cut.contains(&(a, b)) {
            return Read::Nothing;
        }
        let n = bytes.len().min(into.len());
        into[..n].copy_from_slice(&bytes[..n]);
        bytes.drain(..n);
        if bytes.is_empty() {
            pipe.pieces.pop_front();
        }
        match n {
            // Of a piece nothing was left when the connection was lost.
            0 => Read::At(now),
            n => Read::Some(n),
        }
    }

    /// Waits for bytes, at most for `limit`.
    ///
    /// # Errors
    /// The connection is lost, or the time is over.
    pub async fn read(&self, into: &mut [u8], limit: Duration) -> io::Result<usize> {
        let time = &*self.net.time;
        let limit = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
        let until = time.now().saturating_add(limit);
        let mut late = pin!(deadline(time, until));
        poll_fn(|cx| {
            loop {
                self.net.changed.park(cx);
                match self.read_now(into) {
                    Read::Some(n) => return Poll::Ready(Ok(n)),
                    Read::Ended => return Poll::Ready(Ok(0)),
                    Read::Lost => return Poll::Ready(Err(reset())),
                    Read::At(at) if at <= time.now() => continue,
                    Read::At(at) => time.wake_at(at, cx.waker().clone()),
                    Read::Nothing => {}
                }
                return late
                    .as_mut()
                    .poll(cx)
                    .map(|()| Err(io::Error::from(io::ErrorKind::TimedOut)));
            }
        })
        .await
    }

    /// Says something.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn say(&self, bytes: &[u8]) -> io::Result<()> {
        let now = self.net.time.now();
        let mut guard = self.net.lock();
        let s = &mut *guard;
        let Some(w) = s.wires.get_mut(&self.wire).filter(|w| !w.lost) else {
            return Err(reset());
        };
        let pipe = &mut w.pipes[1 - self.side];
        s.counts.bytes += bytes.len() as u64;
        let mut rest = bytes;
        while !rest.is_empty() {
            // In pieces that end anywhere; usually soon, sometimes late, never before what was said earlier.
            let n = match s.rng.one_in(4) {
                true => 1 + s.rng.below(rest.len() as u64) as usize,
                false => rest.len(),
            };
            let wait = match s.rng.one_in(50) {
                true => s.rng.log_up_to(500_000),
                false => s.rng.below(400),
            };
            let before = pipe.pieces.back().map_or(0, |p| p.0);
            let (piece, more) = rest.split_at(n);
            pipe.pieces
                .push_back(((now + wait).max(before), piece.to_vec()));
            rest = more;
        }
        drop(guard);
        self.net.changed.fire();
        Ok(())
    }

    /// Ends the connection in both directions.
    pub fn close(&self) {
        if let Some(w) = self.net.lock().wires.get_mut(&self.wire) {
            for p in &mut w.pipes {
                p.ended = true;
            }
        }
        self.net.changed.fire();
    }
}

/// The end of a replica, which goes with its receiver.
struct Near(End);

impl Drop for Near {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Socket for Near {
    fn read<'a>(&'a mut self, into: &'a mut [u8]) -> Waits<'a, io::Result<usize>> {
        let silence = self.0.silence;
        Box::pin(self.0.read(into, silence))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.say(bytes)
    }

    fn line(&self) -> io::Result<Box<dyn Line>> {
        Ok(Box::new(Far(self.0.clone())))
    }

    fn tcp(&self) -> io::Result<TcpStream> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

struct Far(End);

impl Line for Far {
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.say(bytes)
    }

    fn shut(&self) {
        self.0.close();
    }
}

/// What a replica is given: the tasks of its server, and this network.
pub struct World {
    pub host: Host,
    pub net: Net,
    pub spawn: Arc<dyn base::environment::Spawn>,
}

/// The name of a server.
pub fn name(host: Host) -> String {
    format!("s{host}")
}

impl Outside for World {
    fn run(&self, name: &str, part: Task) -> io::Result<()> {
        self.spawn.spawn(name, part);
        Ok(())
    }

    fn connect<'a>(
        &'a self,
        host: &'a str,
        _port: u16,
        silence: Duration,
    ) -> Waits<'a, Result<Box<dyn Socket>, Unreached>> {
        Box::pin(async move {
            let to = host.strip_prefix('s').and_then(|n| n.parse().ok());
            let Some(to) = to else {
                let e = io::Error::from(io::ErrorKind::NotFound);
                return Err(Unreached::Unknown(e));
            };
            let time = &*self.net.time;
            let wait = self.net.lock().rng.below(2000);
            deadline(time, time.now() + wait).await;
            if self.net.is_cut(self.host, to) {
                deadline(time, time.now() + silence.as_micros() as u64).await;
                let e = io::Error::from(io::ErrorKind::TimedOut);
                return Err(Unreached::Refused(e));
            }
            match self.net.connect(self.host, to, silence) {
                Some(end) => Ok(Box::new(Near(end)) as Box<dyn Socket>),
                None => {
                    let e = io::Error::from(io::ErrorKind::ConnectionRefused);
                    Err(Unreached::Refused(e))
                }
            }
        })
    }
}
