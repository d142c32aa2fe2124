//! The heartbeat: a row that one client of the source counts up, and that another sees on the replica.
//!
//! From the moment at which the source has acknowledged a count until the replica shows it, or a later one.

use super::pair::{Pair, one, run};
use harness::step::Outcome;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Between two counts on the source.
const EVERY: Duration = Duration::from_millis(10);
/// Between two looks at the replica: what a lag may be shown too long.
const LOOK: Duration = Duration::from_micros(300);

/// Makes the row.
pub const TABLE: &str = "DROP DATABASE IF EXISTS heartbeat; CREATE DATABASE heartbeat; \
    CREATE TABLE heartbeat.beat (id INT PRIMARY KEY, n BIGINT NOT NULL); INSERT INTO heartbeat.beat VALUES (1, 0)";

const COUNT: &str = "UPDATE heartbeat.beat SET n = n + 1 WHERE id = 1";
const SHOW: &str = "SELECT n FROM heartbeat.beat WHERE id = 1";

/// Lags, in the order in which the source acknowledged the counts: seconds since the start, and milliseconds until they were visible.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Lags(pub Vec<(f64, f64)>);

/// Counts for so long, and sees every count on the replica.
///
/// # Errors
/// A statement fails, or the replica has not shown the last count a minute after it.
pub fn measure(pair: &Pair, time: Duration) -> Outcome<Lags> {
    let (mut source, mut replica) = (pair.source()?, pair.replica()?);
    let first: u64 = number(&one(&mut *source, SHOW)?)?;
    let begun = Instant::now();
    let (over, total) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let counted = scope.spawn(|| {
            let mut acknowledged = Vec::new();
            let mut count = || -> Outcome<()> {
                while begun.elapsed() < time {
                    let next = Instant::now() + EVERY;
                    run(&mut *source, &[COUNT])?;
                    acknowledged.push(Instant::now());
                    thread::sleep(next.saturating_duration_since(Instant::now()));
                }
                Ok(())
            };
            let done = count();
            total.store(acknowledged.len(), Ordering::Release);
            over.store(true, Ordering::Release);
            done.map(|()| acknowledged)
        });
        // When each count was first seen.
        let mut seen: Vec<Instant> = Vec::new();
        let mut last = Instant::now();
        while !over.load(Ordering::Acquire) || seen.len() < total.load(Ordering::Acquire) {
            let n = number(&one(&mut *replica, SHOW)?)?.saturating_sub(first) as usize;
            let now = Instant::now();
            if n > seen.len() {
                seen.resize(n, now);
                last = now;
            } else if now - last > Duration::from_secs(60) {
                return Err(format!("the replica has shown {n} for a minute"));
            }
            thread::sleep(LOOK);
        }
        let acknowledged = counted.join();
        let acknowledged = acknowledged.map_err(|_| "a client panicked".to_owned())??;
        let of = |(then, seen): (&Instant, &Instant)| {
            let lag = seen.saturating_duration_since(*then);
            ((*then - begun).as_secs_f64(), lag.as_secs_f64() * 1e3)
        };
        Ok(Lags(acknowledged.iter().zip(&seen).map(of).collect()))
    })
}

fn number(text: &str) -> Outcome<u64> {
    text.parse().map_err(|e| format!("{text}: {e}"))
}

impl Lags {
    /// The lag that this share of all does not exceed, milliseconds.
    pub fn percentile(&self, share: f64) -> f64 {
        let mut all: Vec<f64> = self.0.iter().map(|l| l.1).collect();
        all.sort_by(f64::total_cmp);
        let last = all.len().saturating_sub(1);
        all.get((last as f64 * share).round() as usize)
            .copied()
            .unwrap_or(f64::NAN)
    }

    /// The longest of each second.
    pub fn seconds(&self) -> Vec<f64> {
        let mut out = Vec::new();
        for (at, lag) in &self.0 {
            let at = *at as usize;
            if out.len() <= at {
                out.resize(at + 1, 0.0);
            }
            out[at] = lag.max(out[at]);
        }
        out
    }

    /// The median of the last tenth by that of the first: above 1 where the replica falls behind.
    pub fn growth(&self) -> f64 {
        let tenth = (self.0.len() / 10).max(1);
        let median = |part: &[(f64, f64)]| Lags(part.to_vec()).percentile(0.5);
        let (first, last) = (
            &self.0[..tenth.min(self.0.len())],
            &self.0[self.0.len().saturating_sub(tenth)..],
        );
        median(last) / median(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lags_are_counted_by_second() {
        let lags = Lags(vec![(0.1, 1.0), (0.9, 3.0), (2.5, 2.0), (2.6, 8.0)]);
        assert_eq!(lags.seconds(), [3.0, 0.0, 8.0]);
        assert_eq!(lags.percentile(0.0), 1.0);
        assert_eq!(lags.percentile(1.0), 8.0);
        assert_eq!(lags.growth(), 8.0);
        assert!(Lags::default().percentile(0.5).is_nan());
    }
}
