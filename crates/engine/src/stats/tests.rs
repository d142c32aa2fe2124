//! Estimates of different values on known distributions, shares of rows from the figures of a column, and figures as bytes.

use super::*;
use base::SplitMix64;

fn key(v: u64) -> [u8; 8] {
    v.to_be_bytes()
}

/// The figures of a column from a sample of `n` of `rows` values.
fn column(n: u64, rows: u64, mut value: impl FnMut(u64) -> Option<u64>) -> ColumnStats {
    let mut sketch = Sketch::default();
    for i in 0..n {
        match value(i) {
            None => sketch.null(),
            Some(v) => sketch.value(8, |out| out.extend_from_slice(&key(v))),
        }
    }
    sketch.finish(rows, 4)
}

fn near(is: f64, want: f64, factor: f64) {
    assert!(
        is <= want * factor && is >= want / factor,
        "{is} instead of {want}"
    );
}

#[test]
fn different_values_of_known_distributions() {
    let mut random = SplitMix64::new(base::seed::of("distinct"));
    let rows = 1_000_000;
    // All differ; few differ; as many as the sample; uniform with many.
    near(column(20_000, rows, Some).distinct, 1e6, 1.001);
    near(column(20_000, rows, |i| Some(i % 7)).distinct, 7.0, 1.001);
    for different in [1000, 20_000, 200_000] {
        let c = column(20_000, rows, |_| Some(random.below(different)));
        near(c.distinct, different as f64, 1.25);
    }
    // Zipf: half of the values are in the tail, and the sample has a part of it.
    let zipf = |r: &mut SplitMix64| {
        let u = r.below(1 << 40) as f64 / (1u64 << 40) as f64;
        10_000f64.powf(u) as u64
    };
    let c = column(20_000, rows, |_| Some(zipf(&mut random)));
    near(c.distinct, 10_000.0, 2.0);
    let stats = TableStats {
        rows,
        columns: vec![c].into(),
        ..TableStats::default()
    };
    let ln = 10_000f64.ln();
    for v in [1u64, 2, 5, 20] {
        let want = ((v as f64 + 1.0) / v as f64).ln() / ln;
        near(stats.equal(0, &key(v)), want, 1.25);
    }
    let want = 1.0 - 100f64.ln() / ln;
    let is = stats.between(0, Some((&key(100), true)), None);
    near(is, want, 1.05);
}

#[test]
fn nulls_have_no_place_in_ranges() {
    let c = column(1000, 1000, |i| (i % 4 != 0).then_some(i));
    assert_eq!(c.nulls, 0.25);
    assert_eq!(c.distinct, 750.0);
    let stats = TableStats {
        rows: 1000,
        columns: vec![c].into(),
        ..TableStats::default()
    };
    near(stats.between(0, None, None), 0.75, 1.001);
    near(stats.between(0, Some((&key(500), true)), None), 0.375, 1.03);
    let one = stats.between(0, Some((&key(501), true)), Some((&key(501), true)));
    near(one, 0.001, 1.01);
    assert_eq!(
        stats.between(0, Some((&key(9), true)), Some((&key(3), true))),
        0.0
    );
    // Beyond all that was seen.
    assert!(stats.between(0, Some((&key(5000), true)), None) < 0.001);
    assert!(stats.equal(0, &key(5000)) <= 0.001);
}

#[test]
fn a_column_of_which_nothing_is_known_is_guessed_at() {
    let stats = TableStats {
        rows: 1000,
        columns: vec![ColumnStats::default()].into(),
        ..TableStats::default()
    };
    assert_eq!(stats.equal(0, b"x"), 0.1);
    assert!(stats.between(0, None, Some((b"x", true))) < 0.5);
    assert_eq!(stats.between(0, None, None), 1.0);
    // A table without rows, a column of NULLs.
    let none = column(0, 0, Some);
    assert!(!none.is_unknown() && none.distinct == 0.0);
    let nulls = column(10, 10, |_| None);
    assert_eq!((nulls.nulls, nulls.distinct), (1.0, 0.0));
}

#[test]
fn bytes_give_the_same_figures_or_none() {
    let saved = Saved {
        stats: TableStats {
            version: 3,
            rows: 90,
            made_us: 7,
            sampled: 80,
            indexes: vec![IndexStats {
                leaf_pages: 4,
                pages: 5,
                distinct: vec![2.0, 3.5],
                sampled: 4,
            }]
            .into(),
            columns: vec![column(80, 90, |i| Some(i / 3)), column(80, 90, Some)].into(),
        },
        pages: 9,
        indexes: vec![17],
        columns: vec![("a".into(), 1), ("b".into(), 2)],
        histograms: vec![Histogram {
            column: "a".into(),
            json: "{}".into(),
        }],
    };
    let bytes = encode(&saved);
    assert_eq!(decode(&bytes).as_ref(), Some(&saved));
    for n in 0..bytes.len() {
        assert!(decode(&bytes[..n]).is_none(), "{n}");
    }
    let mut random = SplitMix64::new(base::seed::of("stats-bytes"));
    for _ in 0..2000 {
        let mut damaged = bytes.clone();
        let at = random.below(damaged.len() as u64) as usize;
        damaged[at] = random.next() as u8;
        let _ = decode(&damaged);
    }
}
