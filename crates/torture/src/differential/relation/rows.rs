//! How the rows of one answer differ from the other server's as a whole.

use std::collections::BTreeMap;

/// How rows differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Ours are some of the others, or none.
    Fewer,
    /// The others are some of ours, or none.
    More,
    /// They are the same in another order.
    Order,
    /// They are counts of groups, which have the same sum.
    Groups,
}

impl Rows {
    /// The relation of a word.
    pub fn named(word: &str) -> Option<Rows> {
        Some(match word {
            "fewer" => Rows::Fewer,
            "more" => Rows::More,
            "order" => Rows::Order,
            "groups" => Rows::Groups,
            _ => return None,
        })
    }

    /// Whether it tells how `ours` differ from `theirs`.
    pub fn tells(self, ours: &[Vec<String>], theirs: &[Vec<String>]) -> bool {
        match self {
            Rows::Fewer => ours.len() < theirs.len() && among(ours, theirs),
            Rows::More => theirs.len() < ours.len() && among(theirs, ours),
            Rows::Order => ours.len() == theirs.len() && among(ours, theirs),
            Rows::Groups => {
                let sum = |rows: &[Vec<String>]| -> Option<i64> {
                    let counts = rows.iter().map(|row| match &row[..] {
                        [count, _] => count.parse::<i64>().ok(),
                        _ => None,
                    });
                    counts.sum()
                };
                sum(ours).is_some() && sum(ours) == sum(theirs)
            }
        }
    }
}

/// Whether each of `some` is one of `all`.
fn among(some: &[Vec<String>], all: &[Vec<String>]) -> bool {
    let mut left: BTreeMap<&Vec<String>, usize> = BTreeMap::new();
    for row in all {
        *left.entry(row).or_default() += 1;
    }
    some.iter().all(|row| match left.get_mut(row) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    })
}

/// The rows of an answer that was written as a line.
pub fn cut(text: &str) -> Vec<Vec<String>> {
    if text.is_empty() {
        // No row, or one empty cell, which are written alike.
        return Vec::new();
    }
    let cells = |row: &str| row.split(" | ").map(str::to_owned).collect();
    text.split(" / ").map(cells).collect()
}
