//! The queries, out of `crates/lab/data/joins`.
//!
//! A line `-- name: words` begins one; up to the next it is its text. What is ordered is ordered totally, or so that ties do not show.

use crate::query_comparison::Question;
use harness::step::Outcome;

const FILES: &[(&str, &str)] = &[
    ("chains", include_str!("../../data/joins/chains.sql")),
    (
        "subqueries",
        include_str!("../../data/joins/subqueries.sql"),
    ),
    ("outer", include_str!("../../data/joins/outer.sql")),
    ("grouped", include_str!("../../data/joins/grouped.sql")),
    ("skew", include_str!("../../data/joins/skew.sql")),
    ("ranges", include_str!("../../data/joins/ranges.sql")),
];

/// All of them.
pub(super) fn all() -> Outcome<Vec<Question>> {
    let mut out: Vec<Question> = Vec::new();
    for (file, text) in FILES {
        for question in parsed(text).map_err(|e| format!("{file}.sql: {e}"))? {
            if out.iter().any(|q| q.name == question.name) {
                return Err(format!("{file}.sql: a second {}", question.name));
            }
            out.push(question);
        }
    }
    Ok(out)
}

fn parsed(text: &str) -> Outcome<Vec<Question>> {
    let mut out: Vec<Question> = Vec::new();
    for line in text.lines() {
        let head = line
            .strip_prefix("-- ")
            .and_then(|l| l.split_once(": "))
            .filter(|(name, _)| !name.contains(' '));
        match (head, out.last_mut()) {
            (Some((name, _)), _) => out.push(Question {
                name: name.to_owned(),
                sql: String::new(),
                judge: None,
            }),
            (None, Some(question)) => {
                question.sql.push_str(line);
                question.sql.push('\n');
            }
            (None, None) if line.trim().is_empty() || line.starts_with("--") => {}
            (None, None) => return Err(format!("no name before: {line}")),
        }
    }
    for question in &mut out {
        let sql = question.sql.trim().trim_end_matches(';').to_owned();
        if sql.is_empty() {
            return Err(format!("{} is empty", question.name));
        }
        question.sql = sql;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_sixty_and_no_name_twice() {
        let all = all().unwrap();
        assert_eq!(all.len(), 60);
        for question in &all {
            assert!(!question.sql.contains(';'), "{}", question.name);
        }
    }

    #[test]
    fn queries_are_cut_at_their_names() {
        let all = parsed(
            "-- Of two: the head.\n\n-- a1: first\nselect 1\nfrom t;\n\n-- a2: second\nselect 2;\n",
        )
        .unwrap();
        let shown: Vec<(&str, &str)> = all
            .iter()
            .map(|q| (q.name.as_str(), q.sql.as_str()))
            .collect();
        assert_eq!(shown, [("a1", "select 1\nfrom t"), ("a2", "select 2")]);
        assert!(parsed("select 1").is_err());
        assert!(parsed("-- a: b\n\n-- c: d\nselect 1").is_err());
    }
}
