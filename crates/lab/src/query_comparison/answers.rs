//! Are two answers the same?
//!
//! Numbers may differ in the last digit that both show, and floating-point ones by a billionth: the servers round at other places.
//! Rows that no ORDER BY has put in order are compared as a bag. Rows that compare equal in the order that was asked for may stand either
//! way, too.

use std::cmp::Ordering;

/// What a server has answered.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
pub(crate) struct Answer {
    /// The names of the columns.
    pub(crate) columns: Vec<String>,
    /// The cells as text; none for NULL.
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

/// Whose answer another is held to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose {
    /// The name.
    pub(super) name: &'static str,
    /// By which share numbers with a fraction may differ.
    pub(super) relative: f64,
}

impl Whose {
    /// A server that computes as ours does.
    pub(super) const MARIADB: Whose = Whose {
        name: "MariaDB",
        relative: 1e-9,
    };
}

type Row = Vec<Option<String>>;

/// Why these are not the same answer to `sql`; nothing where they are.
pub(super) fn difference(
    sql: &str,
    ours: &Answer,
    theirs: &Answer,
    whose: Whose,
) -> Option<String> {
    let Whose { name, relative } = whose;
    if ours.rows.len() != theirs.rows.len() {
        let (n, m) = (ours.rows.len(), theirs.rows.len());
        return Some(format!("{n} rows, {m} of {name}"));
    }
    let place = first_difference(&ours.rows, &theirs.rows, relative)?;
    let as_they_stand = Some(format!(
        "row {}: {} | {} of {name}",
        place + 1,
        shown(&ours.rows[place]),
        shown(&theirs.rows[place])
    ));
    if let Some(keys) = order_by(sql) {
        // What is ordered by something that is not among the columns must stand as it stands.
        let Some(keys) = keys.iter().map(|k| column(k, &ours.columns)).collect() else {
            return as_they_stand;
        };
        let keys: Vec<usize> = keys;
        let of = |rows: &[Row]| -> Vec<Row> {
            let key = |row: &Row| keys.iter().map(|&k| row[k].clone()).collect();
            rows.iter().map(key).collect()
        };
        if first_difference(&of(&ours.rows), &of(&theirs.rows), relative).is_some() {
            return as_they_stand;
        }
    }
    let (ours, theirs) = (sorted(&ours.rows), sorted(&theirs.rows));
    let place = first_difference(&ours, &theirs, relative)?;
    Some(format!(
        "row {} in order: {} | {} of {name}",
        place + 1,
        shown(&ours[place]),
        shown(&theirs[place])
    ))
}

fn shown(row: &Row) -> String {
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
    let all: Vec<String> = row.iter().map(cell).collect();
    let mut text = all.join(", ");
    if let Some((end, _)) = text.char_indices().nth(160) {
        text.truncate(end);
    }
    text
}

fn first_difference(ours: &[Row], theirs: &[Row], relative: f64) -> Option<usize> {
    let same = |a: &Row, b: &Row| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b, relative))
    };
    ours.iter().zip(theirs).position(|(a, b)| !same(a, b))
}

/// Rows in an order that does not depend on last digits as long as other cells tell them apart.
fn sorted(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    let exact = |cell: &Option<String>| match cell {
        Some(text) if fraction(text).is_some() => Some(String::new()),
        other => other.clone(),
    };
    let value = |cell: &Option<String>| cell.as_deref().and_then(fraction);
    rows.sort_by(|a, b| {
        let texts = a.iter().map(exact).cmp(b.iter().map(exact));
        let numbers = || {
            let pairs = a.iter().map(value).zip(b.iter().map(value));
            let orders = pairs.map(|(a, b)| match (a, b) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            });
            orders.fold(Ordering::Equal, Ordering::then)
        };
        texts.then_with(numbers)
    });
    rows
}

/// The number, if it is one with a fraction or an exponent.
fn fraction(text: &str) -> Option<f64> {
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    if !text.contains(['.', 'e', 'E']) || !text.chars().all(plain) {
        return None;
    }
    text.parse().ok()
}

/// The digits after the point, where there is no exponent.
fn digits(text: &str) -> Option<i32> {
    match text.contains(['e', 'E']) {
        true => None,
        false => Some(text.split_once('.').map_or(0, |(_, d)| d.len()) as i32),
    }
}

fn alike(ours: &Option<String>, theirs: &Option<String>, relative: f64) -> bool {
    if ours == theirs {
        return true;
    }
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return false;
    };
    if fraction(ours).is_none() && fraction(theirs).is_none() {
        return false;
    }
    let (Ok(a), Ok(b)) = (ours.parse::<f64>(), theirs.parse::<f64>()) else {
        return false;
    };
    let relative = relative * a.abs().max(b.abs());
    let last = match (digits(ours), digits(theirs)) {
        (Some(n), Some(m)) if n.min(m) > 0 => 1.01 * 10f64.powi(-n.min(m)),
        _ => 0.0,
    };
    (a - b).abs() <= relative.max(last)
}

/// The outermost ORDER BY's expressions; none where the order of the answer is free.
fn order_by(sql: &str) -> Option<Vec<String>> {
    let lower = sql.to_ascii_lowercase();
    let bytes = lower.as_bytes();
    let (mut depth, mut quoted, mut found) = (0i32, None, None);
    for (i, &c) in bytes.iter().enumerate() {
        match (quoted, c) {
            (Some(q), _) if q == c => quoted = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quoted = Some(c),
            (None, b'(') => depth += 1,
            (None, b')') => depth -= 1,
            (None, b'o') if depth == 0 && starts_word(&lower, i, "order") => {
                let after = lower[i + 5..].trim_start();
                if let Some(keys) = after.strip_prefix("by") {
                    found = Some(keys);
                }
            }
            _ => {}
        }
    }
    let keys = found?;
    let keys = keys.split(" limit ").next().unwrap_or(keys);
    let keys = keys.split("\nlimit ").next().unwrap_or(keys);
    let mut out = vec![String::new()];
    let mut depth = 0;
    for c in keys.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = out.last_mut() {
            last.push(c);
        }
    }
    let bare = |key: &String| {
        let key = key.trim().trim_end_matches(';').trim();
        let key = key.strip_suffix(" desc").unwrap_or(key);
        let key = key.strip_suffix(" asc").unwrap_or(key);
        key.trim().to_owned()
    };
    Some(out.iter().map(bare).collect())
}

fn starts_word(text: &str, at: usize, word: &str) -> bool {
    let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let bytes = text.as_bytes();
    bytes[at..].starts_with(word.as_bytes())
        && (at == 0 || !part(bytes[at - 1]))
        && bytes.get(at + word.len()).is_none_or(|b| !part(*b))
}

/// Which column of the answer an expression of ORDER BY is.
fn column(key: &str, columns: &[String]) -> Option<usize> {
    if let Ok(n) = key.parse::<usize>() {
        return n.checked_sub(1).filter(|n| *n < columns.len());
    }
    let name = key.rsplit_once('.').map_or(key, |(_, name)| name);
    columns.iter().position(|c| c.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(columns: &[&str], rows: &[&[&str]]) -> Answer {
        let cell = |c: &&str| (*c != "NULL").then(|| (*c).to_owned());
        Answer {
            columns: columns.iter().map(|c| (*c).to_owned()).collect(),
            rows: rows.iter().map(|r| r.iter().map(cell).collect()).collect(),
        }
    }

    #[test]
    fn last_digits_may_differ_and_no_others() {
        let near = |a: &str, b: &str, r| alike(&Some(a.to_owned()), &Some(b.to_owned()), r);
        let same = |a: &str, b: &str| near(a, b, 1e-9);
        assert!(same("1.25", "1.26"));
        assert!(!same("1.25", "1.27"));
        assert!(same("1.3333", "1.333333"));
        assert!(same("0.1", "0.10"));
        assert!(same("1e20", "1.0000000000001e20"));
        assert!(!same("1e20", "1.1e20"));
        assert!(!same("12", "13"), "whole numbers are exact");
        assert!(!same("1.5", "x"));
        assert!(!same("2024-01-01", "2024-01-02"));
        assert!(near("1.02027432", "1.0202744134779214", 1e-6));
        assert!(!same("1.02027432", "1.0202744134779214"));
        assert!(!alike(&None, &Some("0.0".to_owned()), 1e-9));
        assert!(alike(&None, &None, 1e-9));
    }

    #[test]
    fn without_order_the_rows_are_a_bag() {
        let a = answer(
            &["a", "b"],
            &[&["1", "0.50"], &["2", "NULL"], &["1", "0.70"]],
        );
        let b = answer(
            &["a", "b"],
            &[&["1", "0.70"], &["1", "0.51"], &["2", "NULL"]],
        );
        let c = answer(
            &["a", "b"],
            &[&["1", "0.70"], &["2", "0.51"], &["1", "NULL"]],
        );
        assert_eq!(
            difference("select a, b from t", &a, &b, Whose::MARIADB),
            None
        );
        assert!(difference("select a, b from t", &a, &c, Whose::MARIADB).is_some());
        let short = answer(&["a", "b"], &[&["1", "0.50"]]);
        assert!(difference("select a, b from t", &a, &short, Whose::MARIADB).is_some());
    }

    #[test]
    fn an_order_that_was_asked_for_is_looked_at() {
        let sql = "select a, b from t order by t.a desc limit 3";
        let a = answer(&["a", "b"], &[&["2", "x"], &["1", "y"], &["1", "z"]]);
        let tied = answer(&["a", "b"], &[&["2", "x"], &["1", "z"], &["1", "y"]]);
        let wrong = answer(&["a", "b"], &[&["1", "y"], &["2", "x"], &["1", "z"]]);
        assert_eq!(difference(sql, &a, &tied, Whose::MARIADB), None);
        assert!(difference(sql, &a, &wrong, Whose::MARIADB).is_some());
        // By what is not shown: nothing can be said of ties.
        assert!(difference("select a, b from t order by c", &a, &tied, Whose::MARIADB).is_some());
        // The order of a part is none of the whole.
        let part =
            "select a, b from (select * from t order by c limit 3) d where x <> 'order by a'";
        assert_eq!(difference(part, &a, &wrong, Whose::MARIADB), None);
    }

    #[test]
    fn the_outermost_order_is_found() {
        let keys = |sql| order_by(sql).unwrap_or_default();
        assert_eq!(keys("select 1"), Vec::<String>::new());
        assert_eq!(
            keys("select a from t ORDER BY\n\ta desc,\n\tf(b, c),\n\t2\nlimit 10;"),
            ["a", "f(b, c)", "2"]
        );
        assert_eq!(column("2", &["x".to_owned(), "y".to_owned()]), Some(1));
    }
}
