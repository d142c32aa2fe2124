//! How many different values there are, from those of a sample.
//!
//! The estimator is Haas and Stokes' Duj1 ("Estimating the number of classes in a finite population", 1998), as PostgreSQL has it: exact where
//! all is seen or all differ, and never beyond what the sample allows. GEE bounds its worst case better, and is further off on
//! ordinary data.

/// Of `n` values seen `different` ones, `once` of them one time only; there are `all` in the whole.
pub(crate) fn duj1(n: u64, different: u64, once: u64, all: f64) -> f64 {
    let (n, d, f1) = (n as f64, different as f64, once as f64);
    if n == 0.0 {
        return 0.0;
    }
    if n >= all {
        return d;
    }
    let below = n - f1 + f1 * n / all;
    let estimate = if below > 0.0 { n * d / below } else { all };
    estimate.clamp(d, all.max(d))
}

/// Counts of a sorted list's runs: different values, and those that are there once.
pub(crate) fn runs<T: PartialEq>(sorted: impl IntoIterator<Item = T>) -> (u64, u64) {
    let (mut different, mut once) = (0, 0);
    let mut before: Option<(T, u64)> = None;
    for v in sorted {
        match &mut before {
            Some((b, n)) if *b == v => {
                *n += 1;
                if *n == 2 {
                    once -= 1;
                }
            }
            _ => {
                different += 1;
                once += 1;
                before = Some((v, 1));
            }
        }
    }
    (different, once)
}
