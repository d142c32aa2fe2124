//! The kept seeds, a few new ones, and that a seed is the same run every time.

use sim::{Limits, seed_file, simulate};

fn passes(seed: u64, limits: &Limits) {
    let o = simulate(seed, limits, false);
    assert!(o.failure.is_none(), "seed {seed}: {:?}", o.failure);
}

#[test]
fn seeds_that_once_failed_pass() {
    let text = include_str!("../seeds.txt");
    for line in text.lines().filter(|l| l.starts_with('v')) {
        let (seed, limits) = seed_file::line(line).expect("v<workload> <seed> [limits]");
        passes(seed, &limits);
    }
}

#[test]
fn a_few_more_pass() {
    let first = base::seed::of("simulator") >> 20;
    (first..first + 12).for_each(|seed| passes(seed, &Limits::default()));
}

#[test]
fn a_seed_is_the_same_run_every_time() {
    for seed in [3, 18, 25, 40] {
        let limits = Limits {
            rounds: 8,
            ..Limits::default()
        };
        let a = simulate(seed, &limits, false);
        let b = simulate(seed, &limits, false);
        assert_eq!((a.trace, a.counts), (b.trace, b.counts), "seed {seed}");
    }
}
