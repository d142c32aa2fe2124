//! What the clients got in each second of a stretch of time, and how two stretches are compared.

use harness::sysbench::Second;
use harness::table::median;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// The seconds of a stretch of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stretch {
    /// Transactions in each.
    pub(super) tps: Vec<f64>,
    /// The longest transaction that ended in it, milliseconds.
    pub(super) longest_ms: f64,
}

impl Stretch {
    /// The whole seconds between two moments; where there is none between them, those in which a part of that time was.
    pub(super) fn between(all: &[Second], from: Instant, to: Instant) -> Stretch {
        let begin = |s: &Second| s.end.checked_sub(SECOND).unwrap_or(s.end);
        let whole = |s: &&Second| begin(s) >= from && s.end <= to;
        let touched = |s: &&Second| begin(s) < to && s.end > from;
        let mut chosen: Vec<&Second> = all.iter().filter(whole).collect();
        if chosen.is_empty() {
            chosen = all.iter().filter(touched).collect();
        }
        Stretch {
            tps: chosen.iter().map(|s| s.tps).collect(),
            longest_ms: chosen.iter().map(|s| s.longest_ms).fold(0.0, f64::max),
        }
    }

    /// Transactions a second.
    pub(super) fn rate(&self) -> f64 {
        self.tps.iter().sum::<f64>() / self.tps.len() as f64
    }

    /// The worst second.
    pub(super) fn worst(&self) -> f64 {
        self.tps.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }

    /// The worst second that so many in a row have, in the middle of all that can be chosen: a longer stretch has a worse one by chance alone.
    pub(super) fn worst_of(&self, seconds: usize) -> f64 {
        let n = seconds.clamp(1, self.tps.len().max(1));
        let worst = |w: &[f64]| w.iter().copied().fold(f64::INFINITY, f64::min);
        median(&self.tps.windows(n).map(worst).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(tps: &[f64]) -> Stretch {
        Stretch {
            tps: tps.to_vec(),
            longest_ms: 0.0,
        }
    }

    #[test]
    fn only_whole_seconds_count_where_there_are_some() {
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let second = |end: u64, tps: f64| Second {
            end: at(end),
            tps,
            qps: 20.0 * tps,
            longest_ms: tps / 2.0,
            ignored: 0.0,
        };
        let all: Vec<Second> = (1..=6).map(|n| second(n * 1000, n as f64)).collect();
        let some = Stretch::between(&all, at(1500), at(5000));
        assert_eq!(
            (some.tps.clone(), some.longest_ms),
            (vec![3.0, 4.0, 5.0], 2.5)
        );
        assert_eq!((some.rate(), some.worst()), (4.0, 3.0));
        // Half a second within two.
        let short = Stretch::between(&all, at(2800), at(3300));
        assert_eq!(short.tps, [3.0, 4.0]);
        assert_eq!(
            Stretch::between(&all, at(9000), at(9500)),
            Stretch::default()
        );
    }

    #[test]
    fn the_worst_of_as_many_seconds() {
        let calm = stretch(&[10.0, 10.0, 2.0, 10.0, 10.0, 10.0, 10.0]);
        assert_eq!(calm.worst(), 2.0);
        // Most single seconds are good; four in a row have the bad one more often than not.
        assert_eq!(calm.worst_of(1), 10.0);
        assert_eq!(calm.worst_of(4), 2.0);
        assert_eq!(calm.worst_of(7), calm.worst());
        assert_eq!(calm.worst_of(100), calm.worst());
        assert_eq!(calm.worst_of(0), 10.0);
        assert!(stretch(&[]).worst_of(3).is_nan());
    }
}
