//! What is said of a suite: its tests on both servers, beside the list of those that are known to fail here.

use super::expected::{self, Expected, Reason};
use super::results::{End, Results};
use std::collections::{BTreeMap, BTreeSet};

/// The share of MariaDB's tests, less those that need a missing feature, that must pass here.
const LEAST: f64 = 0.995;

/// What came of a suite.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Tests that pass on MariaDB, and are not left out here, with those that ask it for what it lacks.
    pub theirs: usize,
    /// Those of them that MariaDB lacks something for.
    pub lacking: usize,
    /// Those of them that pass here too.
    pub both: usize,
    /// Those of them that a missing feature excuses, by the feature.
    pub excused: BTreeMap<&'static str, usize>,
    /// Those of them that are listed as open.
    pub open: usize,
    /// Further tests that pass on MariaDB, and that the suite itself leaves out here: it knows that MySQL has no such thing.
    pub skipped: usize,
    /// What is wrong.
    pub complaints: Vec<String>,
}

impl Verdict {
    /// The share of what must pass here that does.
    pub fn ratio(&self) -> f64 {
        let of = self.theirs - self.excused.values().sum::<usize>();
        self.both as f64 / of.max(1) as f64
    }
}

/// The verdict.
pub fn judge(ours: &Results, theirs: &Results, expected: &Expected) -> Verdict {
    let mut verdict = Verdict::default();
    let mut used = BTreeSet::new();
    let asked = |end: &End| matches!(end, End::Passed | End::Lacks(_));
    for (test, end) in theirs.iter().filter(|(_, end)| asked(end)) {
        if ours.get(test) == Some(&End::Skipped) {
            verdict.skipped += 1;
            continue;
        }
        verdict.theirs += 1;
        verdict.lacking += usize::from(*end != End::Passed);
        let why = match ours.get(test) {
            Some(End::Passed) => {
                verdict.both += 1;
                if let Some(reason) = expected.get(test) {
                    let line = format!("{test} passes: remove its line, {reason}");
                    verdict.complaints.push(line);
                    used.insert(test.as_str());
                }
                continue;
            }
            Some(End::Failed(why) | End::Lacks(why)) => why.as_str(),
            Some(End::Skipped) | None => "it was not run here",
        };
        let line = expected::find(expected, test);
        used.extend(line.map(|(name, _)| name));
        match line.map(|(_, reason)| reason) {
            Some(Reason::Feature(word)) => *verdict.excused.entry(word).or_default() += 1,
            Some(Reason::Open(_)) => verdict.open += 1,
            None => verdict.complaints.push(format!("{test} fails: {why}")),
        }
    }
    for test in expected.keys() {
        let known = theirs.contains_key(test) || used.contains(test.as_str());
        if !known {
            let line = format!("{test} is no test of the suite: remove its line");
            verdict.complaints.push(line);
        }
    }
    if verdict.theirs == 0 {
        let line = "no test passes on MariaDB: nothing was compared";
        verdict.complaints.push(line.to_owned());
    } else if verdict.ratio() < LEAST {
        let line = format!("the share is {:.4}, below {LEAST}", verdict.ratio());
        verdict.complaints.push(line);
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(tests: &[(&str, End)]) -> Results {
        let owned = tests.iter().map(|(t, e)| ((*t).to_owned(), e.clone()));
        owned.collect()
    }

    fn failed() -> End {
        End::Failed("x".to_owned())
    }

    #[test]
    fn what_passes_there_must_pass_here() {
        let theirs = results(&[("a", End::Passed), ("b", failed()), ("c", End::Skipped)]);
        let none = Expected::new();
        assert!(
            judge(&theirs, &theirs, &none).complaints.is_empty(),
            "what fails on both is no difference"
        );
        for ours in [results(&[("a", failed())]), Results::new()] {
            let verdict = judge(&ours, &theirs, &none);
            assert_eq!((verdict.theirs, verdict.both), (1, 0));
            assert!(verdict.complaints[0].starts_with("a fails"));
        }
    }

    #[test]
    fn what_mariadb_lacks_is_asked_here_all_the_same() {
        let lacks = || End::Lacks("x".to_owned());
        let theirs = results(&[("a/1", End::Passed), ("a/2", lacks()), ("a/3", failed())]);
        let ours = results(&[("a/1", End::Passed), ("a/2", failed()), ("a/3", failed())]);
        let verdict = judge(&ours, &theirs, &Expected::new());
        assert_eq!((verdict.theirs, verdict.lacking), (2, 1));
        assert!(verdict.complaints[0].starts_with("a/2 fails"));
        let all = Expected::from([("a/*".to_owned(), Reason::Feature("json"))]);
        let verdict = judge(&ours, &theirs, &all);
        assert_eq!(verdict.excused["json"], 1);
        assert!(verdict.complaints.is_empty(), "{:?}", verdict.complaints);
        let verdict = judge(&theirs, &results(&[("a/1", End::Passed)]), &all);
        assert_eq!(verdict.complaints.len(), 1, "nothing fails behind it");
    }

    #[test]
    fn a_feature_excuses_and_an_open_line_counts() {
        let names: Vec<String> = (0..1000).map(|n| format!("t{n}")).collect();
        let theirs: Results = names.iter().map(|n| (n.clone(), End::Passed)).collect();
        let mut ours = theirs.clone();
        let mut expected = Expected::new();
        for name in &names[..100] {
            ours.insert(name.clone(), failed());
            expected.insert(name.clone(), Reason::Feature("json"));
        }
        let verdict = judge(&ours, &theirs, &expected);
        assert!(verdict.complaints.is_empty());
        assert_eq!(verdict.excused["json"], 100);
        for name in &names[100..110] {
            ours.insert(name.clone(), failed());
            expected.insert(name.clone(), Reason::Open("x".to_owned()));
        }
        let verdict = judge(&ours, &theirs, &expected);
        assert_eq!(verdict.open, 10);
        assert!(verdict.complaints[0].starts_with("the share is"));
    }

    #[test]
    fn a_line_must_hold() {
        let theirs = results(&[("a", End::Passed)]);
        let mut expected = Expected::new();
        expected.insert("a".to_owned(), Reason::Feature("json"));
        expected.insert("gone".to_owned(), Reason::Feature("json"));
        let verdict = judge(&theirs, &theirs, &expected);
        assert_eq!(verdict.complaints.len(), 2, "{:?}", verdict.complaints);
    }

    #[test]
    fn a_suite_without_tests_is_no_success() {
        let there = results(&[("a", End::Passed)]);
        let here = results(&[("a", End::Skipped)]);
        let verdict = judge(&here, &there, &Expected::new());
        assert_eq!((verdict.skipped, verdict.complaints.len()), (1, 1));
        let none = Results::new();
        assert_eq!(judge(&none, &none, &Expected::new()).complaints.len(), 1);
    }
}
