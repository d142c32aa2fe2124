//! One word, one meaning: words that once had many are declared in the places that `meanings.txt` lists, and in no other.

use crate::lists;
use crate::source::{self, Source};
use harness::step::Outcome;
use std::collections::BTreeMap;
use std::path::Path;

const LIST: &str = "meanings.txt";

/// What declares a name of a type, a module or a function.
const DECLARATIONS: &[&str] = &["struct", "enum", "union", "trait", "type", "mod", "fn"];

/// Word → the files that may declare it, each with its line in the list. No file: nobody may.
type Homes = BTreeMap<String, Vec<(usize, String)>>;

fn homes(root: &Path) -> Outcome<Homes> {
    let mut homes = Homes::new();
    for (at, line) in lists::list(root, LIST)? {
        let (word, paths) = line
            .split_once(':')
            .ok_or_else(|| format!("{LIST}:{at}: no colon"))?;
        let paths = paths.split_whitespace().map(|p| (at, p.to_owned()));
        homes
            .entry(word.trim().to_owned())
            .or_default()
            .extend(paths);
    }
    Ok(homes)
}

/// Lines of shipped code that declare the word.
fn declared(source: &Source, word: &str) -> Vec<usize> {
    source::words(&source.shipped, word)
        .filter(|at| {
            let before = source.shipped[..*at].trim_end();
            before.len() < *at
                && DECLARATIONS.iter().any(|d| {
                    before.strip_suffix(d).is_some_and(|rest| {
                        !rest.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                    })
                })
        })
        .map(|at| source::line_of(&source.shipped, at))
        .collect()
}

/// Complains about declarations of listed words elsewhere, and about places in the list that declare the word no more.
pub fn check(root: &Path, sources: &[Source], complaints: &mut Vec<String>) -> Outcome<()> {
    for (word, homes) in homes(root)? {
        let mut used = Vec::new();
        for source in sources {
            let lines = declared(source, &word);
            if lines.is_empty() {
                continue;
            }
            if homes.iter().any(|(_, home)| *home == source.path) {
                used.push(&source.path);
                continue;
            }
            complaints.extend(lines.into_iter().map(|line| {
                format!(
                    "{}:{line}: '{word}' has another meaning already, or had too many: see xtask/tidy/{LIST} and \
                     docs/glossary.md",
                    source.path
                )
            }));
        }
        for (at, home) in homes.iter().filter(|(_, home)| !used.contains(&home)) {
            complaints.push(format!(
                "xtask/tidy/{LIST}:{at}: {home} does not declare '{word}'"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_told_from_uses() {
        let text = "pub struct Block;\nfn f(b: Block) {}\nimpl Block { fn take(&self) { x.take() } }\n\
                    #[cfg(test)]\nmod tests { struct Block; }\nlet typed = retype Block;\n";
        let source = Source::new("crates/a/src/b.rs", text.to_owned());
        assert_eq!(declared(&source, "Block"), [1]);
        assert_eq!(declared(&source, "take"), [3]);
    }
}
