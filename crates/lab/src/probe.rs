//! One more client beside a load, that asks for single statements all the time and keeps how long each took: what a load tells is
//! how long its transactions take, of twenty statements each.
//!
//! It has rows of its own, behind the load's, so that it waits for the server and never for another client's lock.

use crate::peers::Peer;
use base::lock::Mutex;
use harness::step::Outcome;
use harness::sysbench::Reach;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;

/// Rows of its own.
const ROWS: u64 = 100;
/// Between two statements.
const REST: Duration = Duration::from_millis(1);

/// A statement: when it was answered, and its milliseconds.
type Answer = (Instant, f64);

/// The client; it ends with its handle.
pub(super) struct Probe {
    answers: Arc<Mutex<Vec<Answer>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Outcome<()>>>,
}

impl Probe {
    /// Begins to ask of the table that has that many rows of the load.
    pub(super) fn start(peer: &dyn Peer, who: &str, database: &str, rows: u64) -> Outcome<Probe> {
        let Reach::Mysql(socket) = peer.reach() else {
            return Err("no server of MySQL's protocol".to_owned());
        };
        let why = |e| format!("{who}: the probe: {e}");
        let mut conn = Conn::connect_unix(&socket, "root", "", Some(database)).map_err(why)?;
        for id in rows + 1..=rows + ROWS {
            let row = format!("INSERT INTO sbtest1 VALUES ({id}, 0, 'probe', '')");
            conn.query(&row).map_err(why)?;
        }
        let answers = Arc::<Mutex<Vec<Answer>>>::default();
        let stop = Arc::<AtomicBool>::default();
        let thread = std::thread::spawn({
            let (answers, stop) = (answers.clone(), stop.clone());
            move || {
                for turn in 0.. {
                    if stop.load(Ordering::Acquire) {
                        break;
                    }
                    let id = rows + 1 + turn / 2 % ROWS;
                    let sql = match turn % 2 {
                        0 => format!("UPDATE sbtest1 SET k = k + 1 WHERE id = {id}"),
                        _ => format!("SELECT k FROM sbtest1 WHERE id = {id}"),
                    };
                    let begun = Instant::now();
                    conn.query(&sql).map_err(|e| format!("{sql}: {e}"))?;
                    let took_ms = begun.elapsed().as_secs_f64() * 1e3;
                    let mut all = answers.lock();
                    all.push((Instant::now(), took_ms));
                    drop(all);
                    std::thread::sleep(REST);
                }
                Ok(())
            }
        });
        Ok(Probe {
            answers,
            stop,
            thread: Some(thread),
        })
    }

    /// The longest statement that was answered in this time, milliseconds.
    ///
    /// # Errors
    /// None was.
    pub(super) fn longest_ms(&self, from: Instant, to: Instant) -> Outcome<f64> {
        let all = self.answers.lock();
        let within = all.iter().filter(|(at, _)| (from..to).contains(at));
        let longest = within.map(|(_, ms)| *ms).reduce(f64::max);
        longest.ok_or_else(|| "the probe was answered nothing".to_owned())
    }

    /// Ends it.
    ///
    /// # Errors
    /// A statement failed.
    pub(super) fn end(mut self) -> Outcome<()> {
        self.stop.store(true, Ordering::Release);
        let ended = self.thread.take().map(JoinHandle::join);
        ended.map_or(Ok(()), |r| {
            r.unwrap_or_else(|_| Err("the probe panicked".to_owned()))
        })
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}
