//! How the tests of a suite ended on one server, read from what its runner writes for machines.

use harness::step::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It found what it expected.
    Passed,
    /// It did not, or broke off, with these words.
    Failed(String),
    /// It did not, since the server has no such thing: what is expected decides alone.
    Lacks(String),
    /// It was not for this server, or its suite expects it to fail.
    Skipped,
}

/// The tests by their names.
pub type Results = BTreeMap<String, End>;

fn put(results: &mut Results, test: &str, end: End) {
    // A test that failed stays so, whatever is told of it later: of its clean-up, or of a part of it.
    match results.get(test) {
        Some(End::Failed(_)) => {}
        _ => drop(results.insert(test.to_owned(), end)),
    }
}

fn text<'a>(event: &'a Value, key: &str) -> &'a str {
    event[key].as_str().unwrap_or_default()
}

fn events(lines: &str) -> impl Iterator<Item = Outcome<Value>> + '_ {
    let whole = lines.lines().filter(|l| !l.trim().is_empty());
    whole.map(|l| serde_json::from_str(l).map_err(|e| format!("not a report: {l:.200}: {e}")))
}

/// What `tests/suites/report.py` has written.
///
/// # Errors
/// It is no report, or not a whole one: the suite broke off.
pub fn of_report(lines: &str) -> Outcome<Results> {
    let mut results = Results::new();
    let mut over = false;
    for event in events(lines) {
        let event = event?;
        if event["over"] == true {
            over = true;
            continue;
        }
        let end = match text(&event, "outcome") {
            "passed" => End::Passed,
            "skipped" => End::Skipped,
            "failed" => End::Failed(text(&event, "why").to_owned()),
            other => return Err(format!("a test is told to be {other}")),
        };
        put(&mut results, text(&event, "test"), end);
    }
    match over {
        true => Ok(results),
        false => Err(format!("it broke off after {} tests", results.len())),
    }
}

/// Tests that another server has, and a whole run here does not have, are left out by the suite: its classes are for some servers only.
pub fn left_out(ours: &mut Results, theirs: &Results) {
    for test in theirs.keys() {
        ours.entry(test.clone()).or_insert(End::Skipped);
    }
}

/// Parts that a test of Go did not come to, since it failed before, are no failures of their own.
pub fn not_reached(ours: &mut Results, theirs: &Results) {
    for test in theirs.keys().filter(|t| t.contains('/')) {
        let whole = test.match_indices('/').map(|(at, _)| &test[..at]);
        let mut whole = whole.filter_map(|w| ours.get(w));
        if whole.any(|end| matches!(end, End::Failed(_))) {
            ours.entry(test.clone()).or_insert(End::Skipped);
        }
    }
}

/// What `go test -json` has written.
///
/// # Errors
/// It is not that.
pub fn of_go(lines: &str) -> Outcome<Results> {
    let mut results = Results::new();
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    for event in events(lines) {
        let event = event?;
        let test = text(&event, "Test");
        if test.is_empty() {
            continue;
        }
        match text(&event, "Action") {
            "output" => {
                // A test says what went wrong as `    file.go:17: words`, and a panic as `panic: words`.
                let line = text(&event, "Output").trim();
                if line.contains(".go:") || line.starts_with("panic:") {
                    said.entry(test.to_owned())
                        .or_insert_with(|| line.to_owned());
                }
            }
            "pass" => put(&mut results, test, End::Passed),
            "skip" => put(&mut results, test, End::Skipped),
            "fail" => {
                let why = said.get(test).cloned().unwrap_or_default();
                put(&mut results, test, End::Failed(why));
            }
            _ => {}
        }
    }
    Ok(without_parents(results))
}

/// A test with parts fails where one of them does, and is told as failed too. The part is the failure.
fn without_parents(mut results: Results) -> Results {
    let failed: Vec<String> = results
        .iter()
        .filter(|(_, end)| matches!(end, End::Failed(_)))
        .map(|(test, _)| test.clone())
        .collect();
    for test in &failed {
        let part = format!("{test}/");
        if failed.iter().any(|other| other.starts_with(&part)) {
            results.insert(test.clone(), End::Passed);
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_not_forgotten() {
        let report = "{\"test\":\"a\",\"outcome\":\"failed\",\"why\":\"x\"}\n\n\
                      {\"test\":\"a\",\"outcome\":\"passed\",\"why\":\"\"}\n\
                      {\"test\":\"b\",\"outcome\":\"passed\",\"why\":\"\"}\n";
        assert!(of_report(report).is_err(), "it broke off");
        let report = &format!("{report}{{\"over\":true}}\n");
        let results = of_report(report).unwrap();
        assert_eq!(results["a"], End::Failed("x".to_owned()));
        assert_eq!(results["b"], End::Passed);
        assert!(of_report("1 passed").is_err());
        assert!(of_report("{\"test\":\"a\",\"outcome\":\"green\"}").is_err());
    }

    #[test]
    fn what_a_whole_run_does_not_have_is_left_out() {
        let theirs = Results::from([("a".to_owned(), End::Passed), ("b".to_owned(), End::Passed)]);
        let mut ours = Results::from([("a".to_owned(), End::Passed)]);
        left_out(&mut ours, &theirs);
        assert_eq!(ours["a"], End::Passed);
        assert_eq!(ours["b"], End::Skipped);
    }

    #[test]
    fn a_test_that_failed_before_its_parts_is_one_failure() {
        let passed = |tests: &[&str]| {
            let ends = tests.iter().map(|t| ((*t).to_owned(), End::Passed));
            ends.collect::<Results>()
        };
        let theirs = passed(&["T", "T/a", "T/a/1", "U", "U/a"]);
        let mut ours = passed(&["T"]);
        ours.insert("T/a".to_owned(), End::Failed(String::new()));
        not_reached(&mut ours, &theirs);
        assert_eq!(ours.get("T/a/1"), Some(&End::Skipped));
        assert_eq!(ours.get("U/a"), None, "nobody knows why it is missing");
    }

    #[test]
    fn the_part_of_a_test_is_the_failure() {
        let events = "{\"Action\":\"start\",\"Package\":\"p\"}\n\
             {\"Action\":\"output\",\"Test\":\"T/one\",\"Output\":\"    t.go:3: no\\n\"}\n\
             {\"Action\":\"fail\",\"Test\":\"T/one\"}\n{\"Action\":\"fail\",\"Test\":\"T\"}\n\
             {\"Action\":\"fail\",\"Test\":\"Alone\"}\n{\"Action\":\"skip\",\"Test\":\"S\"}\n\
             {\"Action\":\"fail\",\"Package\":\"p\"}\n";
        let results = of_go(events).unwrap();
        assert_eq!(results["T/one"], End::Failed("t.go:3: no".to_owned()));
        assert_eq!(results["T"], End::Passed);
        assert_eq!(results["Alone"], End::Failed(String::new()));
        assert_eq!(results["S"], End::Skipped);
        assert_eq!(results.len(), 4);
    }
}
