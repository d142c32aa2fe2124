//! Clients that insert rows and note which were acknowledged, whatever happens to the server beside them.

use super::statements::{number, query};
use base::lock::Mutex;
use harness::server::Setup;
use harness::step::Outcome;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use wire::client::ClientError;
use wire::client::blocking::Conn;

/// What they share.
#[derive(Default)]
pub struct Noted {
    /// Numbers of the rows that were acknowledged.
    pub there: Mutex<BTreeSet<u64>>,
    /// The last error that a statement was answered with.
    pub refused: Mutex<Option<(u16, String)>>,
    /// The connections, for KILL.
    pub connections: Mutex<Vec<u64>>,
    next: AtomicU64,
    done: AtomicBool,
}

impl Noted {
    /// How many rows were acknowledged.
    pub fn count(&self) -> usize {
        self.there.lock().len()
    }

    /// The last error since this was asked.
    pub fn take_refused(&self) -> Option<(u16, String)> {
        self.refused.lock().take()
    }
}

/// The clients.
pub struct Writers {
    /// What they have seen.
    pub noted: Arc<Noted>,
    threads: Vec<JoinHandle<()>>,
}

impl Writers {
    /// So many, on `w.t (id BIGINT PRIMARY KEY, pad LONGTEXT)`. What was noted before goes on.
    pub fn start(setup: &Setup, noted: Arc<Noted>, count: usize) -> Outcome<Writers> {
        noted.done.store(false, Ordering::SeqCst);
        let threads = (0..count)
            .map(|_| {
                let (noted, setup) = (noted.clone(), setup.clone());
                std::thread::spawn(move || write(&setup, &noted))
            })
            .collect();
        Ok(Writers { noted, threads })
    }

    /// They end with the statement at hand.
    pub fn stop(self) -> Outcome<()> {
        self.noted.done.store(true, Ordering::SeqCst);
        for t in self.threads {
            t.join().map_err(|_| "a client panicked".to_owned())?;
        }
        Ok(())
    }
}

/// Until it is to stop, or the server is not there any more.
fn write(setup: &Setup, noted: &Noted) {
    let Ok(mut conn) = Conn::connect_unix(&setup.socket, "root", "", None) else {
        return;
    };
    if let Ok(id) = number(&mut conn, "SELECT CONNECTION_ID()") {
        noted.connections.lock().push(id);
    }
    while !noted.done.load(Ordering::SeqCst) {
        let id = noted.next.fetch_add(1, Ordering::SeqCst);
        let sql = format!(
            "INSERT INTO w.t VALUES ({id}, REPEAT('{}', 20000))",
            id % 10
        );
        match query(&mut conn, &sql) {
            Ok(_) => {
                noted.there.lock().insert(id);
            }
            Err(ClientError::Server(e)) => {
                *noted.refused.lock() = Some((e.code, e.message));
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(_) => return,
        }
    }
}
