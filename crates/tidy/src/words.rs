//! Words that have no place in the tree, and words that must be there.

use crate::lists;
use crate::source::{self, Source};
use harness::step::Outcome;
use std::path::Path;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "misc", "shared", "stuff",
];

/// A file longer than this has more than one idea in it.
const FILE_LINES: usize = 600;

/// Each file says at its top what it is for.
pub fn module_docs(source: &Source, complaints: &mut Vec<String>) {
    let first = source
        .text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with("#!"));
    if !first.is_some_and(|line| line.starts_with("//!")) {
        complaints.push(format!(
            "{}:1: no `//!` docs that say what the module is for",
            source.path
        ));
    }
}

/// No module is named after nothing.
pub fn module_name(source: &Source, complaints: &mut Vec<String>) {
    let parts = source.path.trim_end_matches(".rs").split('/');
    for part in parts {
        if EMPTY_NAMES.contains(&part) {
            complaints.push(format!(
                "{}:1: '{part}' says nothing about what is inside",
                source.path
            ));
        }
    }
}

/// Nothing is left for later.
pub fn left_for_later(source: &Source, complaints: &mut Vec<String>) {
    for word in [
        concat!("FIX", "ME"),
        concat!("X", "XX"),
        concat!("TO", "DO"),
    ] {
        for at in source::words(&source.text, word) {
            complaints.push(format!(
                "{}:{}: {word}: do it, or write it down where work is planned",
                source.path,
                source::line_of(&source.text, at)
            ));
        }
    }
    for at in source::words(&source.code, "#[ignore") {
        let line = source::line_of(&source.code, at);
        complaints.push(format!("{}:{line}: a test that does not run", source.path));
    }
}

/// No file is long.
pub fn length(source: &Source, complaints: &mut Vec<String>) {
    let lines = source.text.lines().count();
    if lines > FILE_LINES {
        complaints.push(format!(
            "{}:{FILE_LINES}: {lines} lines; split it (at most {FILE_LINES} a file)",
            source.path
        ));
    }
}

/// No file knows whose machine it was written on.
pub fn machine_paths(root: &Path, complaints: &mut Vec<String>) -> Outcome<()> {
    let paths = [
        concat!("/wo", "rk/"),
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/Us", "ers/"),
    ];
    let text_file = |path: &str| {
        [".rs", ".md", ".toml", ".txt", ".test", ".sh", ".yml"]
            .iter()
            .any(|end| path.ends_with(end))
            || path.starts_with(".ci/")
    };
    for path in source::files(root, &text_file)? {
        let bytes = std::fs::read(root.join(&path)).map_err(|e| format!("{path}: {e}"))?;
        let text = String::from_utf8_lossy(&bytes);
        for word in paths {
            for (at, _) in text.match_indices(word) {
                // `target` in front makes it a path inside of something; nothing in front, the root of a machine.
                let inside = text[..at]
                    .chars()
                    .next_back()
                    .is_some_and(|c| c.is_alphanumeric() || "._-}>*~".contains(c));
                if !inside {
                    complaints.push(format!(
                        "{path}:{}: {word} is a path of one machine",
                        source::line_of(&text, at)
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Each crate has a README.md.
pub fn readmes(root: &Path, complaints: &mut Vec<String>) -> Outcome<()> {
    for manifest in source::files(root, &|path| path.ends_with("Cargo.toml"))? {
        let dir = manifest.trim_end_matches("Cargo.toml");
        if !root.join(dir).join("README.md").is_file() {
            complaints.push(format!(
                "{manifest}:1: no README.md beside it (the crate's contract)"
            ));
        }
    }
    Ok(())
}

/// `unsafe` is allowed in the listed files alone. (The compiler refuses it elsewhere, and clippy where no comment gives its reason.)
pub fn unsafe_code(root: &Path, sources: &[Source], complaints: &mut Vec<String>) -> Outcome<()> {
    let list = lists::list(root, "unsafe.txt")?;
    let allows = |s: &Source| s.code.contains("allow(unsafe_code");
    for source in sources.iter().filter(|s| allows(s)) {
        if !list.iter().any(|(_, path)| *path == source.path) {
            complaints.push(format!(
                "{}:1: allows unsafe code, and is not in xtask/tidy/unsafe.txt",
                source.path
            ));
        }
    }
    for (at, path) in &list {
        if !sources.iter().any(|s| s.path == *path && allows(s)) {
            complaints.push(format!(
                "xtask/tidy/unsafe.txt:{at}: {path} is gone or has no unsafe"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str, check: fn(&Source, &mut Vec<String>)) -> usize {
        let mut found = Vec::new();
        check(&Source::new(path, text.to_owned()), &mut found);
        found.len()
    }

    #[test]
    fn docs_and_names() {
        assert_eq!(complaints("crates/a/src/b.rs", "//! B.\n", module_docs), 0);
        assert_eq!(
            complaints("crates/a/src/b.rs", "#![x]\n//! B.\n", module_docs),
            0
        );
        assert_eq!(complaints("crates/a/src/b.rs", "use c;\n", module_docs), 1);
        assert_eq!(complaints("crates/a/src/utils.rs", "", module_name), 1);
        assert_eq!(complaints("crates/a/src/utils/b.rs", "", module_name), 1);
    }

    #[test]
    fn later_and_long() {
        let later = format!("#[ignore]\n// {}\n", concat!("FIX", "ME"));
        assert_eq!(complaints("crates/a/src/b.rs", &later, left_for_later), 2);
        assert_eq!(complaints("a.rs", &"\n".repeat(600), length), 0);
        assert_eq!(complaints("a.rs", &"\n".repeat(601), length), 1);
    }
}
