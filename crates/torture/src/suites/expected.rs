//! The tests that are known to fail here, with the reason of each: `tests/suites/NAME.txt`.
//!
//! A line is `TEST | REASON`. Where a feature is missing, `PREFIX/*` stands for all tests whose names begin so, since one statement that is refused takes
//! those behind it along. The lists may only shrink: [`MOST`] says how long they are together.

use harness::step::Outcome;
use harness::workspace;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// How many lines the lists have, all of them together. It may only fall.
#[cfg(test)]
const MOST: usize = 278;

/// Why a test fails here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It needs a feature that is missing as a whole; one of [`FEATURES`].
    Feature(&'static str),
    /// It is a difference that somebody has yet to mend, in these words.
    Open(String),
}

/// The words for what is missing as a whole.
const FEATURES: &[&str] = &[
    "json",
    "window",
    "program",
    "fulltext",
    "spatial",
    "partition",
    // A character set or a collation.
    "charset",
    // What only the project's own engine has, or what it answers and MySQL does not: no server of MySQL's kind passes it.
    "own",
];

impl Reason {
    fn parse(text: &str) -> Option<Reason> {
        if let Some(open) = text.strip_prefix("open: ") {
            return (!open.trim().is_empty()).then(|| Reason::Open(open.trim().to_owned()));
        }
        let word = FEATURES.iter().find(|f| **f == text);
        word.map(|f| Reason::Feature(f))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Feature(word) => write!(f, "{word}"),
            Reason::Open(words) => write!(f, "open: {words}"),
        }
    }
}

/// A list.
pub type Expected = BTreeMap<String, Reason>;

/// The folder of the lists.
pub fn folder() -> PathBuf {
    workspace::root().join("tests/suites")
}

/// The list of a suite; empty where it has none.
///
/// # Errors
/// A line of it says nothing, or is there twice.
pub fn of(suite: &str) -> Outcome<Expected> {
    let path = folder().join(format!("{suite}.txt"));
    if !path.is_file() {
        return Ok(Expected::new());
    }
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn parse(text: &str) -> Outcome<Expected> {
    let mut list = Expected::new();
    let lines = text.lines().filter(|l| !l.trim().is_empty());
    for line in lines.filter(|l| !l.starts_with('#')) {
        let (test, reason) = line
            .rsplit_once(" | ")
            .and_then(|(test, why)| Some((test.trim(), Reason::parse(why.trim())?)))
            .ok_or_else(|| format!("{line}: no reason of the set stands behind a \" | \""))?;
        if test.ends_with("/*") && !matches!(reason, Reason::Feature(_)) {
            return Err(format!("{test}: a difference is that of one test"));
        }
        if list.insert(test.to_owned(), reason).is_some() {
            return Err(format!("{test} is there twice"));
        }
    }
    Ok(list)
}

/// The line that a test has, and what it says.
pub fn find<'a>(list: &'a Expected, test: &str) -> Option<(&'a str, &'a Reason)> {
    let whole = test.match_indices('/').map(|(at, _)| &test[..at]);
    let prefixes = whole.map(|w| format!("{w}/*"));
    let mut names = std::iter::once(test.to_owned()).chain(prefixes);
    names.find_map(|name| list.get_key_value(&name).map(|(k, v)| (k.as_str(), v)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_reason_of_the_set() {
        let list = parse("# why\n\na | b | json\nc | open: a word\n").unwrap();
        assert_eq!(list["a | b"], Reason::Feature("json"));
        assert_eq!(list["c"], Reason::Open("a word".to_owned()));
        for wrong in [
            "a",
            "a | ",
            "a | views",
            "a | open: ",
            "a/* | open: a word",
            "a | json\na | json",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_prefix_stands_for_what_begins_so() {
        let list = parse("a/* | json\na/b/2 x/y | window\n").unwrap();
        let found = |test| find(&list, test).map(|(line, _)| line);
        assert_eq!(found("a/b/1 x"), Some("a/*"));
        assert_eq!(found("a/b/2 x/y"), Some("a/b/2 x/y"));
        assert_eq!(found("a"), None);
        assert_eq!(found("ab/c"), None);
    }

    #[test]
    fn the_lists_only_shrink() {
        let mut lines = 0;
        for entry in std::fs::read_dir(folder()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if path.extension().is_some_and(|e| e == "txt") {
                let known = super::super::table::SUITES.iter().any(|s| s.name == name);
                assert!(known, "there is no suite {name}");
                lines += of(&name).unwrap().len();
            }
        }
        assert!(
            lines <= MOST,
            "{lines} lines: a test that passed must not fail"
        );
        assert!(
            lines == MOST,
            "{lines} lines: lower MOST, so that they stay gone"
        );
    }
}
