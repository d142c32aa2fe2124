//! Choices that are skewed, and facts that depend on nothing but a number: the same everywhere.

use base::SplitMix64;

/// Draws `1..=n` with probability falling as `1/(rank + flat)`; which number has which rank is shuffled, so that the frequent ones are not
/// all at the beginning. Only divisions and sums of floating-point numbers are used, which are the same on every machine.
#[derive(Debug)]
pub(super) struct Zipf {
    sums: Vec<f64>,
    step: u64,
}

impl Zipf {
    /// Over `1..=n`; the larger `flat`, the less the first stand out.
    pub(super) fn over(n: u64, flat: u64) -> Zipf {
        let mut sum = 0.0;
        let sums = (1..=n).map(|rank| {
            sum += 1.0 / (rank + flat) as f64;
            sum
        });
        Zipf {
            sums: sums.collect(),
            step: coprime(n),
        }
    }

    /// The next one.
    pub(super) fn draw(&self, chance: &mut SplitMix64) -> u64 {
        let n = self.sums.len() as u64;
        let all = self.sums.last().copied().unwrap_or(1.0);
        let point = (chance.next() >> 11) as f64 / (1u64 << 53) as f64 * all;
        let rank = self.sums.partition_point(|sum| *sum <= point) as u64;
        self.at(rank.min(n - 1))
    }

    /// The number of this rank, from 0.
    pub(super) fn at(&self, rank: u64) -> u64 {
        let n = self.sums.len() as u64;
        (u128::from(rank) * u128::from(self.step) % u128::from(n)) as u64 + 1
    }
}

/// A number near the golden section of `n` that has no factor in common with it.
fn coprime(n: u64) -> u64 {
    let common = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (n * 5 / 8 + 1..)
        .find(|&step| common(step, n) == 1)
        .unwrap_or(1)
}

/// The chances of the thing number `id` of a kind: what others need to know of it without its row.
pub(super) fn of(seed: u64, kind: u64, id: u64) -> SplitMix64 {
    SplitMix64::stream(
        seed ^ id.wrapping_mul(0x9E6C_63D0_876A_68DB),
        kind.wrapping_add(0x100),
    )
}

/// A name of so many syllables.
pub(super) fn name(chance: &mut SplitMix64, syllables: u64) -> String {
    const SYLLABLES: &[&str] = &[
        "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su",
        "ta", "ve", "wi", "xo", "zu", "bra", "cle", "dri", "flo", "gru", "sta", "tre", "spi",
        "sho", "kla",
    ];
    let mut out = String::new();
    for _ in 0..syllables {
        out.push_str(chance.pick(SYLLABLES));
    }
    out
}

/// A day so many days after the first of 2000, months being cut at 28 days: `2003-07-21`.
pub(super) fn day(n: u64) -> String {
    let (year, of_year) = (n / 336, n % 336);
    format!(
        "{:04}-{:02}-{:02}",
        2000 + year,
        of_year / 28 + 1,
        of_year % 28 + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_frequent_and_all_are_possible() {
        let zipf = Zipf::over(1000, 2);
        let mut chance = SplitMix64::new(1);
        let mut counts = vec![0u32; 1001];
        for _ in 0..100_000 {
            counts[zipf.draw(&mut chance) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        let first = counts[zipf.at(0) as usize];
        let last = counts[zipf.at(999) as usize];
        assert!(first > 4000 && last < 60, "{first} {last}");
        assert!(counts.iter().filter(|c| **c > 0).count() > 950);
    }

    #[test]
    fn ranks_are_shuffled_and_none_is_lost() {
        for n in [1, 2, 7, 10, 50, 1000] {
            let zipf = Zipf::over(n, 0);
            let mut all: Vec<u64> = (0..n).map(|rank| zipf.at(rank)).collect();
            all.sort_unstable();
            assert_eq!(all, (1..=n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn days_are_days() {
        assert_eq!(day(0), "2000-01-01");
        assert_eq!(day(335), "2000-12-28");
        assert_eq!(day(336 * 3 + 28), "2003-02-01");
    }
}
