//! The matrix as it is written (`tests/isolation/held/matrix.txt`, where its words are explained).
//!
//! Must never do: run anything.

use harness::step::Outcome;
use std::collections::BTreeMap;

/// A statement of the matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// What it is called.
    pub name: String,
    /// The statement.
    pub sql: String,
    /// What is tried behind it.
    pub tried: Option<String>,
    /// The part of the matrix that it is in: whose rows are tried behind it.
    pub part: usize,
}

/// The whole of it.
#[derive(Debug, Default)]
pub struct Matrix {
    /// What is run once.
    pub setup: Vec<String>,
    /// Files, with what is in them.
    pub files: Vec<(String, String)>,
    /// Of each part, its tables, and what gives their keys.
    pub rows: Vec<Vec<(String, String)>>,
    /// In their order.
    pub cases: Vec<Case>,
}

pub fn split(line: &str) -> Outcome<(&str, &str)> {
    let split = line.split_once(' ').map(|(a, b)| (a, b.trim()));
    split.ok_or_else(|| format!("a word alone: {line}"))
}

pub fn parse(text: &str) -> Outcome<Matrix> {
    let mut matrix = Matrix {
        rows: vec![Vec::new()],
        ..Matrix::default()
    };
    let mut ways = BTreeMap::new();
    let mut sets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut of_last = 0;
    for line in text.lines() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (word, rest) = split(line)?;
        match word {
            "setup" => matrix.setup.push(rest.to_owned()),
            "rows" => {
                let (table, sql) = split(rest)?;
                let part = matrix.rows.last_mut().ok_or("no part")?;
                part.push((table.to_owned(), sql.to_owned()));
            }
            "part" => matrix.rows.push(Vec::new()),
            "file" => {
                let (name, text) = split(rest)?;
                let text = text.replace("\\t", "\t").replace("\\n", "\n");
                matrix.files.push((name.to_owned(), text));
            }
            "way" => {
                let (name, condition) = split(rest)?;
                ways.insert(name.to_owned(), condition.to_owned());
            }
            "some" => {
                let (name, all) = rest.split_once(':').ok_or("a colon is missing")?;
                let all = all.split_whitespace().map(str::to_owned).collect();
                sets.insert(name.to_owned(), all);
            }
            "case" => {
                let (name, sql) = rest.split_once(": ").ok_or("a colon is missing")?;
                let by = name
                    .rsplit_once(" by ")
                    .filter(|(_, s)| sets.contains_key(*s));
                let mut made = Vec::new();
                match by {
                    None => made.push((name.to_owned(), sql.to_owned())),
                    Some((name, set)) => {
                        for way in &sets[set] {
                            let condition = ways.get(way).ok_or("an unknown way")?;
                            let sql = sql.replace("{way}", condition);
                            made.push((format!("{name} by {way}"), sql));
                        }
                    }
                }
                of_last = made.len();
                let part = matrix.rows.len() - 1;
                matrix
                    .cases
                    .extend(made.into_iter().map(|(name, sql)| Case {
                        name,
                        sql,
                        tried: None,
                        part,
                    }));
            }
            "try" => {
                let from = matrix.cases.len() - of_last;
                for case in &mut matrix.cases[from..] {
                    case.tried = Some(rest.to_owned());
                }
            }
            _ => return Err(format!("an unknown word: {line}")),
        }
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_made_for_each_way() {
        let text = "way one id = 1\nway two u = 2\nsome both: one two\ncase c by both: DELETE WHERE {way}\ntry I\ncase d: X\n";
        let matrix = parse(text).unwrap();
        let shown: Vec<_> = matrix
            .cases
            .iter()
            .map(|c| (&c.name[..], &c.sql[..]))
            .collect();
        let wanted = [
            ("c by one", "DELETE WHERE id = 1"),
            ("c by two", "DELETE WHERE u = 2"),
            ("d", "X"),
        ];
        assert_eq!(shown, wanted);
        assert!(matrix.cases[1].tried.is_some() && matrix.cases[2].tried.is_none());
    }

    #[test]
    fn a_part_has_its_rows_and_a_file_its_lines() {
        let text = "rows a A\ncase one: X\nfile f 1\\t2\\n3\\t4\\n\npart two\nrows b B\nrows c C\ncase two: Y\n";
        let matrix = parse(text).unwrap();
        assert_eq!(matrix.cases[0].part, 0);
        assert_eq!(matrix.cases[1].part, 1);
        assert_eq!(matrix.rows[1].len(), 2);
        assert_eq!(matrix.files, [("f".to_owned(), "1\t2\n3\t4\n".to_owned())]);
    }
}
