//! `sim`: runs seeds.

use sim::{Limits, simulate};

fn main() {
    let seed: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    let n: u64 = std::env::args().nth(2).and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut total = sim::Counts::new();
    let t = std::time::Instant::now();
    for s in seed..seed + n {
        let o = simulate(s, &Limits::default(), n == 1);
        for (k, v) in o.counts {
            *total.entry(k).or_default() += v;
        }
        if let Some(f) = o.failure {
            println!("seed {s}: {f}");
        }
    }
    println!("{total:#?} {:?}", t.elapsed());
}
