//! What a line of the list says of the two answers: a text with `*` in it, how the one follows from the other, or which warnings one has more.

use super::glob::fits;

/// What is said of our answer and the other.
#[derive(Debug)]
pub enum Relation {
    /// Each is a text with `*` for anything.
    Globs(String, String),
    /// Wherever they differ one of these says how.
    Cells(Vec<Cell>, String),
    /// Ours has at most the first numbers more, the other at most the second.
    More(Vec<String>, Vec<String>),
}

/// How two cells differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Ours is NULL.
    Null,
    /// The other is.
    TheirsNull,
    /// By zeroes behind the point.
    Zeroes,
    /// Of 15 digits and more, by less than a double shows of them.
    Near,
    /// By the sign of a zero.
    Sign,
    /// By the fraction of a second.
    Fraction,
    /// By a second at most, to which a fraction is rounded.
    Second,
    /// One is a number in the digits of the other, written with an exponent or in another length.
    Digits,
    /// One is 1 and the other 0, or one of them NULL.
    Truth,
}

impl Relation {
    /// Reads the two columns of a line.
    pub fn read(ours: &str, theirs: &str) -> Result<Relation, String> {
        if ours.starts_with('+') || theirs.starts_with('+') {
            let numbers = |text: &str| -> Result<Vec<String>, String> {
                let all = text.strip_prefix('+').ok_or("'+' belongs before both")?;
                Ok(all
                    .split(',')
                    .filter(|n| !n.is_empty())
                    .map(str::to_owned)
                    .collect())
            };
            return Ok(Relation::More(numbers(ours)?, numbers(theirs)?));
        }
        let Some(words) = ours.strip_prefix('=') else {
            return Ok(Relation::Globs(ours.to_owned(), theirs.to_owned()));
        };
        let cell = |word: &str| match word {
            "null" => Ok(Cell::Null),
            "theirs-null" => Ok(Cell::TheirsNull),
            "zeroes" => Ok(Cell::Zeroes),
            "near" => Ok(Cell::Near),
            "sign" => Ok(Cell::Sign),
            "fraction" => Ok(Cell::Fraction),
            "second" => Ok(Cell::Second),
            "digits" => Ok(Cell::Digits),
            "truth" => Ok(Cell::Truth),
            _ => Err(format!("what is ={word}?")),
        };
        let cells = words.split(',').map(cell).collect::<Result<_, _>>()?;
        Ok(Relation::Cells(cells, theirs.to_owned()))
    }

    /// Whether two answers are so.
    pub fn holds(&self, ours: &str, theirs: &str) -> bool {
        match self {
            Relation::Globs(a, b) => fits(a, ours) && fits(b, theirs),
            Relation::More(a, b) => has_more(ours, theirs, a) && has_more(theirs, ours, b),
            Relation::Cells(ways, glob) => fits(glob, theirs) && cells(ways, ours, theirs),
        }
    }
}

/// Whether all that is in the list `a` and not in `b` is in `most`.
fn has_more(a: &str, b: &str, most: &[String]) -> bool {
    let has = |n: &&str| b.split(',').any(|other| other == *n);
    a.split(',')
        .filter(|n| !n.is_empty() && !has(n))
        .all(|n| most.iter().any(|m| fits(m, n)))
}

fn cells(ways: &[Cell], ours: &str, theirs: &str) -> bool {
    let cut = |text: &str| -> Vec<Vec<String>> {
        let cells = |row: &str| row.split(" | ").map(str::to_owned).collect();
        text.split(" / ").map(cells).collect()
    };
    let (ours, theirs) = (cut(ours), cut(theirs));
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(a, b)| {
            let mut both = a.iter().zip(b);
            a.len() == b.len()
                && both.all(|(a, b)| a == b || ways.iter().any(|way| way.tells(a, b)))
        })
}

impl Cell {
    fn tells(self, ours: &str, theirs: &str) -> bool {
        let numbers = || Some((ours.parse::<f64>().ok()?, theirs.parse::<f64>().ok()?));
        match self {
            Cell::Null => ours == "NULL",
            Cell::TheirsNull => theirs == "NULL",
            Cell::Zeroes => bare(ours) == bare(theirs),
            Cell::Near => {
                let long = digits(ours).max(digits(theirs)) >= 15;
                long && numbers().is_some_and(|(a, b)| (a - b).abs() <= a.abs() * 1e-14)
            }
            Cell::Sign => {
                let signed = ours.starts_with('-') != theirs.starts_with('-');
                signed && numbers().is_some_and(|(a, b)| a == 0.0 && b == 0.0)
            }
            Cell::Fraction => {
                let (a, b) = (whole(ours), whole(theirs));
                a == b && a.contains(':')
            }
            Cell::Second => match (seconds(ours), seconds(theirs)) {
                (Some(a), Some(b)) => matches!((a - b).abs(), 0 | 1 | 86_399),
                _ => false,
            },
            Cell::Digits => numbers().is_some_and(|(a, b)| (a - b).abs() <= a.abs() * 1e-3),
            Cell::Truth => [ours, theirs]
                .iter()
                .all(|t| matches!(*t, "0" | "1" | "NULL")),
        }
    }
}

/// A number without the zeroes at the end of its fraction.
fn bare(text: &str) -> &str {
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

fn whole(text: &str) -> &str {
    text.split_once('.').map_or(text, |(whole, _)| whole)
}

/// The second of the day of a time.
fn seconds(text: &str) -> Option<i64> {
    let mut parts = whole(text).rsplit(':');
    let mut next = || parts.next()?.rsplit(' ').next()?.parse::<i64>().ok();
    let (seconds, minutes, hours) = (next()?, next()?, next()?);
    Some(hours.abs() * 3600 + minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(a: &str, b: &str, ours: &str, theirs: &str) -> bool {
        Relation::read(a, b).unwrap().holds(ours, theirs)
    }

    #[test]
    fn how_cells_differ() {
        assert!(holds("=null", "*", "1 | NULL / 2 | 3", "1 | 5 / 2 | 3"));
        assert!(!holds("=null", "*", "1 | NULL / 2 | 4", "1 | 5 / 2 | 3"));
        assert!(holds(
            "=null,zeroes",
            "*",
            "1 | NULL / 2 | 4",
            "1 | 5 / 2 | 4.000"
        ));
        assert!(!holds("=zeroes", "*", "40", "4"));
        assert!(holds("=fraction", "*", "10:11:12.000000", "10:11:12"));
        assert!(!holds("=fraction", "*", "10:11:13.000000", "10:11:12"));
        assert!(holds("=second", "*", "-01:02:04", "-01:02:03"));
        assert!(holds(
            "=second",
            "*",
            "2001-01-01 00:00:00",
            "2000-12-31 23:59:59.9"
        ));
        assert!(!holds("=second", "*", "01:02:05", "01:02:03"));
        assert!(holds("=sign", "*", "-0", "0"));
        assert!(!holds("=near", "*", "1.00001", "1"));
        assert!(!holds("=near", "*", "1.0", "1"));
        assert!(holds("=near", "*", "0.1", "0.1000000000000000055"));
        assert!(!holds("=null", "*", "NULL", "1 / 2"));
    }

    #[test]
    fn which_warnings_are_more() {
        assert!(holds("+1292", "+", "1265,1292", "1265"));
        assert!(holds("+1292", "+1365", "1292", "1365"));
        assert!(!holds("+1292", "+", "1264,1292", "1265"));
        assert!(!holds("+1292", "+", "", "1265"));
    }

    #[test]
    fn what_is_no_relation_is_refused() {
        assert!(Relation::read("=nothing", "*").is_err());
        assert!(Relation::read("+1292", "*").is_err());
    }
}
