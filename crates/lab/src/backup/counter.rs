//! A client that counts, each number a transaction of its own, and keeps what the server says that it is called.

use harness::step::Outcome;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use wire::client::blocking::Conn;
use wire::read::Reader;

/// Its database.
pub(super) const DATABASE: &str = "lab";
/// Its table.
pub(super) const TABLE: &str = "lab.counter";
/// Makes the table.
pub(super) const MAKE: [&str; 4] = [
    "DROP DATABASE IF EXISTS lab",
    "CREATE DATABASE lab",
    "CREATE TABLE lab.counter (id INT PRIMARY KEY, n BIGINT NOT NULL)",
    "INSERT INTO lab.counter VALUES (1, 0)",
];
/// Asks where it is.
pub(super) const ASK: &str = "SELECT n FROM lab.counter WHERE id = 1";

/// SESSION_TRACK_GTIDS.
const TRACK_GTIDS: u8 = 3;

/// A transaction that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    /// The number that it wrote.
    pub(super) n: u64,
    /// Its name: the server, and the number there.
    pub(super) gtid: (String, u64),
}

impl Counted {
    /// As MySQL writes it.
    pub(super) fn name(&self) -> String {
        format!("{}:{}", self.gtid.0, self.gtid.1)
    }

    /// All transactions of this server up to it.
    pub(super) fn set(&self) -> String {
        match self.gtid.1 {
            1 => self.name(),
            last => format!("{}:1-{last}", self.gtid.0),
        }
    }
}

/// The client, at work. It ends with its handle.
#[derive(Debug)]
pub(super) struct Counter {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Outcome<Vec<Counted>>>>,
}

impl Counter {
    /// Begins to count; `named`: the server says what each transaction is called.
    pub(super) fn start(socket: &Path, named: bool) -> Outcome<Counter> {
        let fail = |e| format!("the counter: {e}");
        let mut conn = Conn::connect_unix(socket, "root", "", Some(DATABASE)).map_err(fail)?;
        if named {
            conn.query("SET session_track_gtids = OWN_GTID")
                .map_err(fail)?;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut counted = Vec::new();
            let mut n = 0;
            while !stopped.load(Ordering::Relaxed) {
                n += 1;
                let sql = format!("UPDATE counter SET n = {n} WHERE id = 1");
                let results = conn.query(&sql).map_err(|e| format!("{sql}: {e}"))?;
                if named {
                    let state = results.last().map(|r| r.session_state.as_slice());
                    let gtid = gtid_of(state.unwrap_or_default())
                        .ok_or_else(|| format!("{sql}: the server did not say its GTID"))?;
                    counted.push(Counted { n, gtid });
                }
            }
            Ok(counted)
        });
        Ok(Counter {
            stop,
            thread: Some(thread),
        })
    }

    /// Ends it: all that was acknowledged, in its order.
    pub(super) fn end(mut self) -> Outcome<Vec<Counted>> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().map(JoinHandle::join);
        match thread {
            Some(Ok(counted)) => counted,
            _ => Err("the counter died".to_owned()),
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// The one GTID in what an OK says of the session.
fn gtid_of(state: &[u8]) -> Option<(String, u64)> {
    let mut reader = Reader::new(state);
    while !reader.is_empty() {
        let (kind, data) = (reader.u8().ok()?, reader.lenenc_bytes().ok()?);
        if kind != TRACK_GTIDS {
            continue;
        }
        let mut data = Reader::new(data);
        // How it is encoded: there is one way.
        let (0, Ok(set)) = (data.u8().ok()?, data.lenenc_bytes()) else {
            return None;
        };
        let (server, number) = std::str::from_utf8(set).ok()?.split_once(':')?;
        return Some((server.to_owned(), number.parse().ok()?));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(set: &str) -> Vec<u8> {
        let mut out = vec![TRACK_GTIDS, set.len() as u8 + 2, 0, set.len() as u8];
        out.extend_from_slice(set.as_bytes());
        out
    }

    #[test]
    fn a_gtid_is_read() {
        let of = |state: &[u8]| gtid_of(state);
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let found = of(&told(&format!("{uuid}:4711")));
        assert_eq!(found, Some((uuid.to_owned(), 4711)));
        // Behind something else that is tracked.
        let mut both = vec![1, 2, b'd', b'b'];
        both.extend(told(&format!("{uuid}:1")));
        let counted = Counted {
            n: 1,
            gtid: of(&both).unwrap(),
        };
        assert_eq!(counted.name(), format!("{uuid}:1"));
        assert_eq!(counted.set(), counted.name());
        assert_eq!(of(&[]), None);
        // More than one transaction is none that can be named.
        assert_eq!(of(&told(&format!("{uuid}:1-2"))), None);
        assert_eq!(of(&told("")), None);
    }

    #[test]
    fn all_up_to_it() {
        let counted = Counted {
            n: 5,
            gtid: ("u".to_owned(), 7),
        };
        assert_eq!(counted.set(), "u:1-7");
    }
}
