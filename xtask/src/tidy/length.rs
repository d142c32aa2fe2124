//! Files and functions stay short: soft limits, and ratchets for what is longer.

use super::source::{self, Source};
use harness::step::Outcome;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// A file longer than this has more than one idea in it, and must be listed.
const FILE_LINES: usize = 600;

/// No new file may be listed that is longer than this.
const FILE_LINES_AT_MOST: usize = 800;

/// A function longer than this must be listed.
const FUNCTION_LINES: usize = 100;

const LIST: &str = "ratchet.txt";

/// Everything over a soft limit: what it is (`file PATH` or `fn PATH::NAME`) and its lines.
fn long_things(sources: &[Source]) -> BTreeMap<String, usize> {
    let mut long = BTreeMap::new();
    for source in sources {
        let lines = source.text.lines().count();
        if lines > FILE_LINES {
            long.insert(format!("file {}", source.path), lines);
        }
        for (name, lines) in functions(&source.code) {
            if lines > FUNCTION_LINES {
                let longest = long
                    .entry(format!("fn {}::{name}", source.path))
                    .or_insert(0);
                *longest = lines.max(*longest);
            }
        }
    }
    long
}

/// The functions with a body in blanked code, each with its number of lines.
fn functions(code: &str) -> Vec<(String, usize)> {
    source::words(code, "fn")
        .filter_map(|at| {
            let after = code[at + 2..].trim_start();
            let name: String = after
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            // `fn(u8) -> u8` is a type.
            if name.is_empty() {
                return None;
            }
            let body = source::body_or_end(code, at)?;
            if code.as_bytes()[body] != b'{' {
                return None;
            }
            let end = source::matching(code, body);
            Some((
                name,
                source::line_of(code, end) - source::line_of(code, at) + 1,
            ))
        })
        .collect()
}

fn ceilings(root: &Path) -> Outcome<BTreeMap<String, usize>> {
    super::list(root, LIST)?
        .into_iter()
        .map(|(at, line)| {
            let (what, ceiling) = line
                .rsplit_once(' ')
                .ok_or_else(|| format!("{LIST}:{at}: no ceiling"))?;
            let ceiling = ceiling
                .parse()
                .map_err(|_| format!("{LIST}:{at}: '{ceiling}' is no number"))?;
            Ok((what.trim().to_owned(), ceiling))
        })
        .collect()
}

/// Complains about what is long and not listed, or longer than its ceiling.
pub fn check(root: &Path, sources: &[Source], complaints: &mut Vec<String>) -> Outcome<()> {
    let ceilings = ceilings(root)?;
    let long = long_things(sources);
    for (what, lines) in &long {
        match ceilings.get(what) {
            None => complaints.push(format!(
                "{what}: {lines} lines; split it (limits: {FILE_LINES} a file, {FUNCTION_LINES} a \
                 function), or list it with `cargo xtask tidy --bless`"
            )),
            Some(ceiling) if lines > ceiling => complaints.push(format!(
                "{what}: {lines} lines, it had {ceiling}; what is long already may only shrink"
            )),
            Some(_) => {}
        }
    }
    for what in ceilings.keys().filter(|what| !long.contains_key(*what)) {
        complaints.push(format!(
            "xtask/tidy/{LIST}: '{what}' is short now or gone; take it off with `cargo xtask tidy --bless`"
        ));
    }
    Ok(())
}

/// Rewrites the ratchets to what is there: lowers ceilings, drops what is short now, adds what is new and below
/// the hard limit; raises a ceiling, or lists a file above the hard limit, only where `raise` says so.
pub fn bless(root: &Path, raise: bool) -> Outcome<()> {
    let old = ceilings(root)?;
    let mut text = String::from(
        "# Files over 600 lines and functions over 100, with the lines they may have at most.\n\
         # Written by `cargo xtask tidy --bless`; a number here may only fall.\n",
    );
    for (what, lines) in long_things(&Source::of_tree(root)?) {
        let too_long = what.starts_with("file ") && lines > FILE_LINES_AT_MOST;
        let ceiling = match old.get(&what) {
            _ if raise => Some(lines),
            Some(&ceiling) => Some(ceiling.min(lines)),
            None if too_long => None,
            None => Some(lines),
        };
        if let Some(ceiling) = ceiling {
            let _ = writeln!(text, "{what} {ceiling}");
        }
    }
    let path = root.join("xtask").join("tidy").join(LIST);
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured() {
        let code = "impl A {\n  fn a(x: [u8; 3]) -> [u8; 2] {\n    x\n  }\n  fn b();\n}\n\
                    type F = fn(u8) -> u8;\nfn c() { }\n";
        assert_eq!(functions(code), [("a".to_owned(), 3), ("c".to_owned(), 1)]);
    }
}
