//! Random tests draw from fixed seeds, so that green is no luck: `base::seed` decides which, in one place.

use crate::source::{self, Source};

/// What each `proptest!` begins with.
const BEGIN: &str = "#![proptest_config(";

/// What must be in that line.
const SEEDED: &str = "base::seeded!(";

/// Names that make a generator of proptest's without it.
const RUNNERS: &[&str] = &["TestRunner", "TestRng", "RngSeed"];

/// Where they may stand.
const HOME: &str = "crates/base/src/seed.rs";

/// Each `proptest!` says that its seed is fixed, and nothing else of proptest draws.
pub fn fixed(source: &Source, complaints: &mut Vec<String>) {
    if source.path == HOME {
        return;
    }
    let mut say = |at: usize, what: &str| {
        let line = source::line_of(&source.code, at);
        complaints.push(format!("{}:{line}: {what}", source.path));
    };
    for at in source::words(&source.code, "proptest!") {
        let rest = &source.code[at..];
        let block = rest
            .find('{')
            .map_or("", |open| rest[open + 1..].trim_start());
        let first = block.lines().next().unwrap_or_default();
        if !first.starts_with(BEGIN) || !first.contains(SEEDED) {
            say(
                at,
                "proptest! without #![proptest_config(base::seeded!())]: it draws anew in each run",
            );
        }
    }
    for name in RUNNERS {
        for at in source::words(&source.code, name) {
            say(
                at,
                &format!("{name}: random tests get their seed from base::seed"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        fixed(
            &Source::new("crates/x/src/y.rs", text.to_owned()),
            &mut found,
        );
        found
    }

    #[test]
    fn what_draws_anew_is_refused() {
        let with = |line: &str| {
            format!("proptest! {{\n    {line}\n\n    #[test]\n    fn f(a: u8) {{}}\n}}\n")
        };
        assert!(complaints(&with("#![proptest_config(base::seeded!())]")).is_empty());
        assert!(complaints(&with("#![proptest_config(base::seeded!(2000))]")).is_empty());
        let more =
            "#![proptest_config(ProptestConfig { max_shrink_iters: 4, ..base::seeded!(40) })]";
        assert!(complaints(&with(more)).is_empty());
        for line in [
            "",
            "// base::seeded!()",
            "#![proptest_config(ProptestConfig::with_cases(2000))]",
        ] {
            assert_eq!(complaints(&with(line)).len(), 1, "{line}");
        }
        assert_eq!(
            complaints("fn f() { let r = TestRunner::default(); }").len(),
            1
        );
    }
}
