//! What goes wrong on purpose while the clients work: statements and connections are killed, and the server is.

use super::fixture::{self, Fixture};
use harness::rng::Rng;
use harness::server::{Server, Setup};
use harness::step::Outcome;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;

/// How often what is tried.
#[derive(Debug, Clone, Copy)]
pub struct Nemesis {
    /// Milliseconds between two KILLs on average; 0 for none.
    pub kill_every: u64,
    /// Is the server killed once in this window?
    pub crash: bool,
}

/// What was done.
#[derive(Debug, Default, Clone, Copy)]
pub struct Done {
    /// KILL QUERY.
    pub queries: u64,
    /// KILL CONNECTION.
    pub connections: u64,
    /// kill -9 of the server.
    pub crashes: u64,
}

/// Disturbs the clients until the window has its transactions or its time is over. The server may be another one then.
pub fn make(
    setup: &Setup,
    fixture: &Fixture,
    nemesis: Nemesis,
    target: u64,
    deadline: Instant,
    rng: &mut Rng,
    server: Server,
) -> Outcome<(Server, Done)> {
    let mut server = server;
    let mut done = Done::default();
    let mut conn: Option<Conn> = None;
    let mut crash_at = nemesis
        .crash
        .then(|| target / 8 + rng.below((target / 2).max(1)));
    loop {
        let committed = fixture.committed.load(Ordering::Relaxed);
        if committed >= target || Instant::now() >= deadline || fixture.stop.load(Ordering::Relaxed)
        {
            return Ok((server, done));
        }
        if crash_at.is_some_and(|at| committed >= at) {
            crash_at = None;
            conn = None;
            server.kill9()?;
            server = setup.start()?;
            done.crashes += 1;
        }
        if nemesis.kill_every == 0 {
            std::thread::sleep(Duration::from_millis(5));
            server.must_run()?;
            continue;
        }
        std::thread::sleep(Duration::from_millis(1 + rng.below(2 * nemesis.kill_every)));
        server.must_run()?;
        let client = rng.below(fixture.connections.len() as u64) as usize;
        let victim = fixture.connections[client].load(Ordering::Relaxed);
        if victim == 0 {
            continue;
        }
        if conn.is_none() {
            conn = fixture::open(setup).ok();
        }
        let Some(killer) = &mut conn else { continue };
        let sql = if rng.one_in(5) {
            done.connections += 1;
            format!("KILL CONNECTION {victim}")
        } else {
            done.queries += 1;
            format!("KILL QUERY {victim}")
        };
        match killer.query(&sql) {
            Ok(_) => {}
            // The victim has gone on its own.
            Err(wire::client::ClientError::Server(e)) if e.code == 1094 => {}
            Err(e) => return Err(format!("{sql}: {e}")),
        }
    }
}
