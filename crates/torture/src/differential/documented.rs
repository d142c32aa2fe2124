//! The list of differences that are meant: `tests/differential/documented.txt`.
//!
//! A line is `area ;; aspect ;; statement ;; ours ;; theirs ;; why`. A difference is documented by the first line that it fits, after it was
//! made as small as it gets.
//!
//! - *area* and *aspect* are texts with `*` for anything, several with `|` between them.
//! - *statement* is such a text, or behind `~` a pattern of the tree ([`pattern`](super::pattern)), which is what a kind of difference is
//!   told with: `~ @compare[time, text]` is a time that is compared with text somewhere in it.
//! - *ours* and *theirs* are such texts, several with ` or ` between them; or say how the answers differ
//!   ([`relation`](super::relation)): `=null` for rows that are alike but for where ours is NULL, `=fewer` for some of the other's rows (the
//!   words are in `relation/cell.rs` and `relation/rows.rs`, several with commas between them); `:text>bytes` and `:` for columns of which ours
//!   are text where the other's are bytes; `+1292` and `+` for warnings that are alike but that ours may have 1292 too.
//!
//! A line that takes any answer beside any other is broad: it hides every fault of its area. There is to be none.

use super::case::{Case, Difference};
use super::glob::fits;
use super::pattern::Pattern;
use super::relation::Relation;
use harness::step::Outcome;
use harness::workspace;

/// A line.
#[derive(Debug)]
pub struct Line {
    /// Its place in the file, from one.
    pub number: usize,
    area: String,
    aspect: String,
    statement: Statement,
    answers: Relation,
    /// The reason.
    pub why: String,
    /// How many differences it has explained.
    pub used: u64,
}

impl Line {
    /// Whether it takes any answer of ours beside any other.
    #[cfg(test)]
    pub fn is_broad(&self) -> bool {
        self.answers.is_broad()
    }

    /// Its place and reason, for a report.
    pub fn named(&self) -> String {
        format!("line {}: {}", self.number, self.why)
    }
}

/// What a line says of a statement.
#[derive(Debug)]
enum Statement {
    Glob(String),
    Tree(Pattern),
}

impl Statement {
    fn read(text: &str) -> Outcome<Statement> {
        match text.strip_prefix('~') {
            Some(pattern) => Ok(Statement::Tree(Pattern::read(pattern)?)),
            None => Ok(Statement::Glob(text.to_owned())),
        }
    }
}

/// Reads the list.
pub fn read() -> Outcome<Vec<Line>> {
    let path = workspace::root()
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
        let [area, aspect, statement, ours, theirs, why] = parts[..] else {
            return Err(format!(
                "line {}: area ;; aspect ;; statement ;; ours ;; theirs ;; why",
                at + 1
            ));
        };
        let failed = |e: String| format!("line {}: {e}", at + 1);
        if why.is_empty() {
            return Err(failed("why?".to_owned()));
        }
        lines.push(Line {
            number: at + 1,
            area: area.to_owned(),
            aspect: aspect.to_owned(),
            statement: Statement::read(statement).map_err(failed)?,
            answers: Relation::read(ours, theirs).map_err(failed)?,
            why: why.to_owned(),
            used: 0,
        });
    }
    Ok(lines)
}

/// The line that documents this difference.
pub fn find<'l>(lines: &'l mut [Line], case: &Case, found: &Difference) -> Option<&'l mut Line> {
    let one_of = |patterns: &str, text| patterns.split('|').any(|p| fits(p, text));
    lines.iter_mut().find(|line| {
        one_of(&line.area, case.frame.area)
            && one_of(&line.aspect, found.aspect.name())
            && line.answers.holds(&found.ours, &found.theirs)
            && match &line.statement {
                Statement::Glob(glob) => fits(glob, &found.statement),
                Statement::Tree(pattern) => pattern.holds(case),
            }
    })
}

/// The line that documents a difference of a statement without a tree: its area, aspect, text, our answer and the other.
pub fn find_text<'l>(lines: &'l [Line], found: [&str; 5]) -> Option<&'l Line> {
    let [area, aspect, statement, ours, theirs] = found;
    let one_of = |patterns: &str, text| patterns.split('|').any(|p| fits(p, text));
    lines.iter().find(|line| {
        // A line for every area speaks of expressions, and has their trees.
        line.area != "*"
            && one_of(&line.area, area)
            && one_of(&line.aspect, aspect)
            && line.answers.holds(ours, theirs)
            && matches!(&line.statement, Statement::Glob(glob) if fits(glob, statement))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_the_tree_reads() {
        let lines = read().unwrap();
        assert!(lines.iter().all(|line| line.why.len() > 10));
    }

    /// The number of broad lines may only fall: who removes one lowers it here.
    const BROAD: usize = 0;

    #[test]
    fn few_lines_take_any_answer() {
        let lines = read().unwrap();
        let broad: Vec<usize> = lines
            .iter()
            .filter(|l| l.is_broad())
            .map(|l| l.number)
            .collect();
        assert_eq!(broad.len(), BROAD, "lines {broad:?}");
        assert!(parse("a ;; text ;; * ;; * ;; * ;; why").unwrap()[0].is_broad());
    }

    #[test]
    fn a_line_without_a_reason_is_refused() {
        assert!(parse("a ;; text ;; * ;; * ;; * ;; ").is_err());
        assert!(parse("a ;; text ;; * ;; * ;; why").is_err());
    }
}
