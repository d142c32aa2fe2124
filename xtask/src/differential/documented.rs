//! The list of differences that are meant: `tests/differential/documented.txt`.
//!
//! A line is `area ;; aspect ;; statement ;; ours ;; theirs ;; why`. The first five are patterns, in which `*` stands for anything; a
//! difference is documented by the first line whose five patterns it fits, after it was made as small as it gets.

use super::case::{Case, Difference};
use crate::step::Outcome;
use crate::tree;
use std::io::Write;

/// A line.
#[derive(Debug)]
pub struct Line {
    /// Its place in the file, from one.
    pub number: usize,
    patterns: [String; 5],
    /// The reason.
    pub why: String,
    /// How many differences it has explained.
    pub used: u64,
}

/// Reads the list.
pub fn read() -> Outcome<Vec<Line>> {
    let path = tree::root()
        .join("tests")
        .join("differential")
        .join("documented.txt");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn parse(text: &str) -> Outcome<Vec<Line>> {
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let parts: Vec<&str> = line.split(";;").map(str::trim).collect();
        match parts[..] {
            [area, aspect, statement, ours, theirs, why] if !why.is_empty() => lines.push(Line {
                number: at + 1,
                patterns: [area, aspect, statement, ours, theirs].map(str::to_owned),
                why: why.to_owned(),
                used: 0,
            }),
            _ => {
                return Err(format!(
                    "line {}: area ;; aspect ;; statement ;; ours ;; theirs ;; why",
                    at + 1
                ));
            }
        }
    }
    Ok(lines)
}

/// Writes a difference to `out` in the form of a line of the list, behind the number of the line that documents it (0: none) and the number
/// of its case.
pub fn list(
    out: &mut impl Write,
    line: usize,
    number: u64,
    case: &Case,
    found: &Difference,
) -> std::io::Result<()> {
    writeln!(
        out,
        "{line}\t{number}\t{} ;; {} ;; {} ;; {} ;; {}",
        case.frame.area,
        found.aspect.name(),
        found.statement,
        found.ours,
        found.theirs
    )
}

/// The line that documents this difference.
pub fn find<'l>(lines: &'l mut [Line], case: &Case, found: &Difference) -> Option<&'l mut Line> {
    let texts = [
        case.frame.area,
        found.aspect.name(),
        &found.statement,
        &found.ours,
        &found.theirs,
    ];
    lines.iter_mut().find(|line| {
        let mut both = line.patterns.iter().zip(texts);
        both.all(|(pattern, text)| fits(pattern, text))
    })
}

/// Whether `text` fits `pattern`, whose parts between the `*` must come in this order.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(fits("*", "anything"));
        assert!(fits("a", "a"));
        assert!(!fits("a", "ab"));
        assert!(fits("SELECT *FORMAT(*", "SELECT 1 + FORMAT(1, 2)"));
        assert!(!fits("SELECT *FORMAT(*", "SELECT 1"));
        assert!(fits("*x*x*", "axbx"));
        assert!(!fits("*x*x", "ax"));
    }

    #[test]
    fn the_list_of_the_tree_reads() {
        let lines = read().unwrap();
        assert!(lines.iter().all(|line| line.why.len() > 10));
    }

    #[test]
    fn a_line_without_a_reason_is_refused() {
        assert!(parse("a ;; text ;; * ;; * ;; * ;; ").is_err());
        assert!(parse("a ;; text ;; * ;; * ;; why").is_err());
    }
}
