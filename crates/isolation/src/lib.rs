//! Judges what clients saw: a history of transactions in, the anomalies in it out.
//!
//! Nothing here talks to a server. See README.md for how it is known, and what is not guessed at.

mod cycle;
mod graph;
mod history;
mod internal;
mod order;
mod outcome;
mod verdict;

pub use history::{End, Final, GROUPS, History, Key, Op, Txn, Value, Version};
pub use verdict::{Anomaly, Level, Verdict};

/// Finds what is wrong in a history. Classes that `level` allows are reported as well, as far as they were looked for.
pub fn check(history: &History, level: Level) -> Verdict {
    let mut verdict = Verdict::default();
    let outcomes = outcome::resolve(history, &mut verdict);
    let orders = order::find(history, outcomes, &mut verdict);
    let reads = internal::check(history, &orders, level, &mut verdict);
    let graph = graph::build(history, &orders, &reads);
    cycle::check(history, &graph, level, &mut verdict);
    verdict
}

#[cfg(test)]
mod tests;
