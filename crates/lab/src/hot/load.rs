//! What the clients do, and how long each waits for it.

use super::client::{Answer, Client};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use harness::step::Outcome;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// The database of the tables.
pub const DATABASE: &str = "hot";

/// Makes the tables anew.
pub const TABLES: &str = "DROP DATABASE IF EXISTS hot; CREATE DATABASE hot; \
    CREATE TABLE hot.counters (id INT PRIMARY KEY, v BIGINT NOT NULL); \
    INSERT INTO hot.counters VALUES (1, 0), (2, 0), (3, 0); \
    CREATE TABLE hot.events (id BIGINT PRIMARY KEY AUTO_INCREMENT, v INT NOT NULL, note VARCHAR(40) NOT NULL)";

/// What everybody wants at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// One row, changed by a statement of its own.
    Row,
    /// Two rows, changed by one transaction; half of the clients come from the other end, and repeat what ends as a deadlock.
    Pair,
    /// The end of a table whose key counts itself.
    End,
}

impl ValueEnum for Want {
    fn value_variants<'a>() -> &'a [Want] {
        &[Want::Row, Want::Pair, Want::End]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

impl Want {
    /// Its name on the command line and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Want::Row => "row",
            Want::Pair => "pair",
            Want::End => "end",
        }
    }

    /// What so many transactions have made of [`Want::sum`].
    pub fn sum_of(self, commits: u64) -> u64 {
        match self {
            Want::Row | Want::End => commits,
            Want::Pair => 2 * commits,
        }
    }

    /// Asks for all that has been done.
    pub fn sum(self) -> &'static str {
        match self {
            Want::Row => "SELECT v FROM counters WHERE id = 1",
            Want::Pair => "SELECT CAST(SUM(v) AS SIGNED) FROM counters WHERE id IN (2, 3)",
            Want::End => "SELECT COUNT(*) FROM events",
        }
    }

    /// The statements of the client with this number.
    fn statements(self, number: usize) -> Vec<&'static str> {
        const FIRST: &str = "UPDATE counters SET v = v + 1 WHERE id = 2";
        const SECOND: &str = "UPDATE counters SET v = v + 1 WHERE id = 3";
        match self {
            Want::Row => vec!["UPDATE counters SET v = v + 1 WHERE id = 1"],
            Want::End => vec!["INSERT INTO events (v, note) VALUES (7, 'something has happened')"],
            Want::Pair if number.is_multiple_of(2) => vec!["BEGIN", FIRST, SECOND, "COMMIT"],
            Want::Pair => vec!["BEGIN", SECOND, FIRST, "COMMIT"],
        }
    }
}

/// What came of a run.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// Microseconds from a transaction's first statement to the answer to its last, all tries; in ascending order.
    pub waits: Vec<u32>,
    /// Tries that ended as a deadlock.
    pub deadlocks: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl Seen {
    /// What was committed a second.
    pub fn rate(&self) -> f64 {
        self.waits.len() as f64 / self.seconds
    }

    /// The wait that this share of all does not exceed, in milliseconds.
    pub fn wait(&self, share: f64) -> f64 {
        let last = self.waits.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        self.waits
            .get(at)
            .map_or(f64::NAN, |us| f64::from(*us) / 1e3)
    }
}

/// The load.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// What is wanted.
    pub want: Want,
    /// By how many.
    pub clients: usize,
    /// For how long.
    pub time: Duration,
    /// The statements are sent as text.
    pub text: bool,
}

impl Load {
    /// Runs it on the server behind a socket. The clients share a quarter of the processors: one thread alone would be what is measured on a
    /// large machine.
    pub fn run(self, socket: &Path) -> Outcome<Seen> {
        let threads = thread::available_parallelism().map_or(1, usize::from) / 4;
        let threads = threads.clamp(1, self.clients.max(1));
        let ready = &Barrier::new(threads);
        let parts: Vec<_> = thread::scope(|scope| {
            let part = |n: usize| scope.spawn(move || self.part(socket, n, threads, ready));
            let parts: Vec<_> = (0..threads).map(part).collect();
            let end = |t: thread::ScopedJoinHandle<'_, Outcome<Seen>>| {
                t.join().map_err(|_| "a client has panicked".to_owned())
            };
            parts.into_iter().map(end).collect()
        });
        let mut all = Seen::default();
        for part in parts {
            let part = part??;
            all.waits.extend(part.waits);
            all.deadlocks += part.deadlocks;
            all.seconds = all.seconds.max(part.seconds);
        }
        all.waits.sort_unstable();
        Ok(all)
    }

    /// Every so many-th of the clients.
    fn part(self, socket: &Path, first: usize, step: usize, ready: &Barrier) -> Outcome<Seen> {
        let runtime = Builder::new_current_thread().enable_all().build();
        if runtime.is_err() {
            // The others wait for this one.
            ready.wait();
        }
        let runtime = runtime.map_err(|e| e.to_string())?;
        runtime.block_on(async {
            let mut clients = Vec::new();
            let mut failure = None;
            for number in (first..self.clients).step_by(step) {
                match Client::connect(socket, DATABASE).await {
                    Ok(client) => clients.push((number, client)),
                    Err(e) => failure = Some(e),
                }
            }
            // Also one that has failed: the others wait for it.
            ready.wait();
            if let Some(e) = failure {
                return Err(e);
            }
            let begun = Instant::now();
            let tasks: Vec<_> = clients
                .into_iter()
                .map(|(number, client)| tokio::spawn(self.one(client, number, begun)))
                .collect();
            let mut all = Seen::default();
            for task in tasks {
                let one = task.await.map_err(|e| e.to_string())??;
                all.waits.extend(one.waits);
                all.deadlocks += one.deadlocks;
            }
            all.seconds = begun.elapsed().as_secs_f64();
            Ok(all)
        })
    }

    async fn one(self, mut client: Client, number: usize, begun: Instant) -> Outcome<Seen> {
        let statements = self.want.statements(number);
        let mut prepared = Vec::new();
        for sql in &statements {
            // BEGIN cannot be prepared everywhere.
            prepared.push(match self.text || sql.len() < 8 {
                true => None,
                false => Some(client.prepare(sql).await?),
            });
        }
        let mut seen = Seen::default();
        while begun.elapsed() < self.time {
            let since = Instant::now();
            'again: loop {
                for (sql, prepared) in statements.iter().zip(&prepared) {
                    let answer = match prepared {
                        Some(id) => client.execute(*id).await?,
                        None => client.query(sql).await?,
                    };
                    if answer == Answer::Deadlock {
                        seen.deadlocks += 1;
                        continue 'again;
                    }
                }
                break;
            }
            let wait = since.elapsed().as_micros();
            seen.waits.push(u32::try_from(wait).unwrap_or(u32::MAX));
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_off() {
        let seen = Seen {
            waits: (1..=1001).map(|n| n * 1000).collect(),
            deadlocks: 0,
            seconds: 2.0,
        };
        assert!((seen.wait(0.5) - 501.0).abs() < 1e-9);
        assert!((seen.wait(1.0) - 1001.0).abs() < 1e-9);
        assert!((seen.rate() - 500.5).abs() < 1e-9);
        assert!(Seen::default().wait(0.5).is_nan());
    }
}
