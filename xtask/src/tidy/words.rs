//! Words that have no place in the tree, and words that must be there.

use super::source::{self, Source};
use harness::step::Outcome;
use std::path::Path;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "misc", "shared", "stuff",
];

/// Crates in which waiting for time to pass, instead of an event, is a defect.
const EVENT_DRIVEN: &[&str] = &["pager", "btree", "engine", "sql"];

/// Ways of waiting for time.
const WAITS: &[&str] = &[
    "sleep(",
    "sleep_until(",
    "sleep_ms(",
    "park_timeout(",
    "wait_timeout(",
    "wait_timeout_while(",
    "recv_timeout(",
];

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
pub fn forbidden_in_code(source: &Source, complaints: &mut Vec<String>) {
    for word in ["todo!", "unimplemented!", "#[ignore"] {
        for at in source::words(&source.code, word) {
            complaints.push(format!(
                "{}:{}: {word} leaves something open",
                source.path,
                source::line_of(&source.code, at)
            ));
        }
    }
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
}

/// Every wait of the engine is for an event.
pub fn waits_by_time(source: &Source, complaints: &mut Vec<String>) {
    let of_engine = source
        .crate_and_module()
        .is_some_and(|(name, _)| EVENT_DRIVEN.contains(&name));
    if !of_engine {
        return;
    }
    for wait in WAITS {
        for at in source::words(&source.shipped, wait) {
            complaints.push(format!(
                "{}:{}: {wait}…) waits for time; wait for the event itself",
                source.path,
                source::line_of(&source.shipped, at)
            ));
        }
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

/// `unsafe` stands only in the listed modules, each time under a comment that says why it holds.
pub fn unsafe_code(root: &Path, sources: &[Source], complaints: &mut Vec<String>) -> Outcome<()> {
    let list = super::list(root, "unsafe.txt")?;
    for source in sources {
        let listed = list.iter().any(|(_, path)| *path == source.path);
        for at in source::words(&source.code, "unsafe") {
            let line = source::line_of(&source.code, at);
            if !listed {
                complaints.push(format!(
                    "{}:{line}: unsafe outside of the modules in xtask/tidy/unsafe.txt",
                    source.path
                ));
            } else if !has_reason(&source.text, line) {
                complaints.push(format!(
                    "{}:{line}: unsafe without a SAFETY comment above it",
                    source.path
                ));
            }
        }
    }
    for (at, path) in &list {
        let used = sources
            .iter()
            .any(|s| s.path == *path && source::words(&s.code, "unsafe").next().is_some());
        if !used {
            complaints.push(format!(
                "xtask/tidy/unsafe.txt:{at}: {path} is gone or has no unsafe"
            ));
        }
    }
    Ok(())
}

/// Does a comment on this line, or in the lines right above the statement, give the invariant?
fn has_reason(text: &str, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let mut code_lines = 0;
    for at in (0..line.min(lines.len())).rev() {
        let trimmed = lines[at].trim_start();
        if trimmed.contains("SAFETY") || trimmed.contains("# Safety") {
            return true;
        }
        let is_comment = trimmed.starts_with("//") || trimmed.starts_with("#[");
        if !is_comment {
            code_lines += 1;
            // A statement may begin a few lines above its unsafe block.
            if code_lines > 4 {
                return false;
            }
        }
    }
    false
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
    fn later_and_sleep() {
        let later = format!("fn f() {{ {}!() }}\n// {}\n", "todo", concat!("FIX", "ME"));
        assert_eq!(
            complaints("crates/a/src/b.rs", &later, forbidden_in_code),
            2
        );
        let nap =
            "fn f() { std::thread::sleep(d) }\n#[cfg(test)]\nmod tests { fn g() { sleep(d) } }\n";
        assert_eq!(complaints("crates/engine/src/b.rs", nap, waits_by_time), 1);
        assert_eq!(complaints("crates/wire/src/b.rs", nap, waits_by_time), 0);
    }

    #[test]
    fn a_reason_is_found_above() {
        assert!(has_reason(
            "// SAFETY: alive.\nlet x =\n    unsafe { y };",
            3
        ));
        assert!(!has_reason("let x =\n    unsafe { y };", 2));
    }
}
