//! What a case is given: a server, connections to it, and how much of everything.

use harness::process;
use harness::server::{Server, Setup};
use harness::step::Outcome;
use std::time::Duration;
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};

/// The longest that any answer here may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The attack of an account without privileges.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    /// How long.
    pub seconds: u64,
    /// Connections at once; more than the server has places for.
    pub abusers: u64,
    /// How long a bystander may have to wait.
    pub waits: Duration,
    /// One kind of abuse alone, by its place in the list.
    pub abuse: Option<usize>,
    /// The attack on the room for temporary files alone.
    pub room_alone: bool,
}

/// How much of everything.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Connections that never end their handshake.
    pub half_open: usize,
    /// Clients that do not read.
    pub slow_readers: usize,
    /// Prepared statements.
    pub statements: u64,
    /// Clients that go away.
    pub deaths: usize,
    /// Connections that say nothing.
    pub idle: usize,
    /// Connections that work beside them.
    pub active: u32,
    /// Seconds of one measurement with sysbench.
    pub seconds: u64,
    /// Pairs of measurements, with and without the idle connections; 0 for only their memory.
    pub rounds: u32,
    /// Of an account without privileges.
    pub attack: Attack,
}

/// What a case is given.
pub struct Stage<'a> {
    /// The server.
    pub server: &'a Server,
    /// How it is reached.
    pub setup: &'a Setup,
    /// How much of everything.
    pub scale: &'a Scale,
}

impl Stage<'_> {
    /// A connection in the database of the cases.
    pub fn open(&self) -> Outcome<Conn> {
        let mut conn = connect(self.setup).map_err(|e| e.to_string())?;
        query(&mut conn, "USE hostile")?;
        Ok(conn)
    }

    /// Sets a global variable.
    pub fn set(&self, name: &str, value: u64) -> Outcome<()> {
        query(&mut self.open()?, &format!("SET GLOBAL {name} = {value}")).map(drop)
    }

    /// The server's resident memory.
    pub fn resident(&self) -> Outcome<u64> {
        process::resident(self.server.pid())
    }
}

/// A new connection, as root.
pub fn connect(setup: &Setup) -> Result<Conn, ClientError> {
    let mut conn = Conn::connect_unix(&setup.socket, "root", "", None)?;
    conn.set_read_timeout(Some(PATIENCE))?;
    Ok(conn)
}

/// Runs a statement.
pub fn query(conn: &mut Conn, sql: &str) -> Outcome<Vec<Vec<Value>>> {
    let mut results = conn.query(sql).map_err(|e| format!("{sql:.80}: {e}"))?;
    Ok(results.pop().unwrap_or_default().rows)
}

/// The single number that a statement gives.
pub fn number(conn: &mut Conn, sql: &str) -> Outcome<u64> {
    let rows = query(conn, sql)?;
    match rows.first().and_then(|row| row.first()) {
        Some(Value::Bytes(text)) => String::from_utf8_lossy(text)
            .parse()
            .map_err(|_| format!("{sql} gives {rows:?}")),
        _ => Err(format!("{sql} gives {rows:?}")),
    }
}

/// It must be this error.
pub fn refused<T: std::fmt::Debug>(
    what: &str,
    got: Result<T, ClientError>,
    code: u16,
) -> Outcome<()> {
    match got {
        Err(ClientError::Server(e)) if e.code == code => Ok(()),
        other => Err(format!("{what}: wanted error {code}, got {other:.200?}")),
    }
}
