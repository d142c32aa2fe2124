//! Seeds of random tests. A test draws the same in every run, so that green means something and red can be repeated;
//! `TIDEMILL_SEED` makes all of them draw anew (`cargo xtask seeds` sets it to numbers nobody has tried).
//!
//! Only tests ask. The server's chance is the environment's [`Random`](crate::Random), and never comes from here.

use crate::rng::SplitMix64;

/// The environment variable that says what random tests draw from.
pub const VARIABLE: &str = "TIDEMILL_SEED";

/// What they draw from when it is not set.
pub const FIXED: u64 = 1;

/// The number that all seeds of this run come from.
pub fn number() -> u64 {
    match std::env::var(VARIABLE) {
        Ok(text) => match text.parse() {
            Ok(number) => number,
            Err(e) => panic!("{VARIABLE}={text}: {e}"),
        },
        Err(_) => FIXED,
    }
}

/// The seed of the test or place of this name. It is printed, which a test's harness shows only when the test fails.
pub fn of(name: &str) -> u64 {
    let number = number();
    eprintln!("{name} draws from {VARIABLE}={number}");
    // FNV-1a: the same on every machine, and no two tests draw the same for having the same seed.
    name.bytes().fold(mixed(number), |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// For a loop over seeds `0..`, or threads: as [`of`], and another for each.
pub fn nth(name: &str, n: u64) -> u64 {
    mixed(of(name) ^ mixed(n))
}

fn mixed(n: u64) -> u64 {
    SplitMix64::new(n).next()
}

/// How a `proptest!` draws: `#![proptest_config(base::seeded!())]`, with a number of cases if it is not the usual one. `cargo xtask
/// tidy` refuses a `proptest!` without it.
#[macro_export]
macro_rules! seeded {
    () => {
        $crate::seeded!(proptest::test_runner::Config::default().cases)
    };
    ($cases:expr) => {
        proptest::test_runner::Config {
            cases: $cases,
            rng_seed: proptest::test_runner::RngSeed::Fixed($crate::seed::of(concat!(
                module_path!(),
                ":",
                line!()
            ))),
            ..proptest::test_runner::Config::default()
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_and_number_has_its_own() {
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
        assert_ne!(nth("a", 0), nth("a", 1));
        assert_ne!(nth("a", 1), nth("b", 1));
        let mut all: Vec<u64> = (0..1000).map(|n| nth("a", n)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1000);
    }
}
