//! What a line of the list says of the two answers: a text with `*` in it, how the one follows from the other, or which warnings one has more.

mod cell;
mod rows;

use super::glob::fits;
use cell::Cell;
use rows::Rows;

/// What is said of our answer and the other.
#[derive(Debug)]
pub enum Relation {
    /// Each is one of some texts with `*` for anything.
    Globs(Vec<String>, Vec<String>),
    /// One of the second says how all rows differ, or wherever two cells differ one of the first says how.
    Cells(Vec<Cell>, Vec<Rows>, String),
    /// Lists of as many members: where they differ, it is one of these pairs.
    Members(Vec<(String, String)>),
    /// Ours has at most the first numbers more, the other at most the second.
    More(Vec<String>, Vec<String>),
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
        if let Some(pairs) = ours.strip_prefix(':') {
            let pair = |pair: &str| -> Result<(String, String), String> {
                let (a, b) = pair.split_once('>').ok_or("'>' belongs between a pair")?;
                Ok((a.trim().to_owned(), b.trim().to_owned()))
            };
            return match theirs {
                ":" => Ok(Relation::Members(
                    pairs.split(',').map(pair).collect::<Result<_, _>>()?,
                )),
                _ => Err("':' belongs before both".to_owned()),
            };
        }
        let Some(words) = ours.strip_prefix('=') else {
            let texts = |text: &str| text.split(" or ").map(str::to_owned).collect();
            return Ok(Relation::Globs(texts(ours), texts(theirs)));
        };
        let (mut cells, mut rows) = (Vec::new(), Vec::new());
        for word in words.split(',') {
            match (Cell::named(word), Rows::named(word)) {
                (Some(cell), _) => cells.push(cell),
                (_, Some(row)) => rows.push(row),
                _ => return Err(format!("what is ={word}?")),
            }
        }
        Ok(Relation::Cells(cells, rows, theirs.to_owned()))
    }

    /// Whether two answers are so.
    pub fn holds(&self, ours: &str, theirs: &str) -> bool {
        match self {
            Relation::Globs(a, b) => {
                let one_of = |globs: &[String], text| globs.iter().any(|g| fits(g, text));
                one_of(a, ours) && one_of(b, theirs)
            }
            Relation::More(a, b) => has_more(ours, theirs, a) && has_more(theirs, ours, b),
            Relation::Cells(ways, whole, glob) => {
                fits(glob, theirs) && {
                    let (ours, theirs) = (rows::cut(ours), rows::cut(theirs));
                    // One empty cell is written as no row is.
                    let filled = |rows: &[Vec<String>]| match rows {
                        [] => vec![vec![String::new()]],
                        rows => rows.to_vec(),
                    };
                    let (filled_ours, filled_theirs) = (filled(&ours), filled(&theirs));
                    whole.iter().any(|way| way.tells(&ours, &theirs))
                        || cells(ways, &filled_ours, &filled_theirs)
                }
            }
            Relation::Members(pairs) => {
                let (a, b) = (ours.split(','), theirs.split(','));
                let known = |(a, b): (&str, &str)| {
                    a == b || pairs.iter().any(|(x, y)| fits(x, a) && fits(y, b))
                };
                a.clone().count() == b.clone().count() && a.zip(b).all(known)
            }
        }
    }

    /// Whether it takes any answer of ours beside any other, and so proves nothing.
    #[cfg(test)]
    pub fn is_broad(&self) -> bool {
        // Answers that have nothing to do with each other.
        const PAIRS: [(&str, &str); 6] = [
            ("rows", "1064"),
            ("1064", "rows"),
            ("7", "some text"),
            ("some text", "7"),
            ("integer", "text"),
            ("text", "integer"),
        ];
        PAIRS.iter().all(|(a, b)| self.holds(a, b))
    }
}

/// Whether all that is in the list `a` and not in `b` is in `most`.
fn has_more(a: &str, b: &str, most: &[String]) -> bool {
    let has = |n: &&str| b.split(',').any(|other| other == *n);
    a.split(',')
        .filter(|n| !n.is_empty() && !has(n))
        .all(|n| most.iter().any(|m| fits(m, n)))
}

/// Whether one of `ways` tells wherever the cells differ. What follows from a cell before it that differs is no difference of its own.
fn cells(ways: &[Cell], ours: &[Vec<String>], theirs: &[Vec<String>]) -> bool {
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(a, b)| {
            let differs = |at: usize| a.get(at) != b.get(at);
            let implied = |at: usize| {
                let from = [1, 2].iter().filter_map(|back| at.checked_sub(*back));
                from.into_iter().any(differs) && cell::follows(a, at) && cell::follows(b, at)
            };
            let mut both = a.iter().zip(b).enumerate();
            a.len() == b.len()
                && both.all(|(at, (x, y))| {
                    x == y || implied(at) || ways.iter().any(|way| way.tells(x, y))
                })
        })
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
    fn how_numbers_and_texts_differ() {
        for (word, ours, theirs, is) in [
            ("case", "abc", "ABC", true),
            ("case", "abc", "abd", false),
            ("empty", "", "a", true),
            ("theirs-empty", "", "a", false),
            ("bytes", "[3, ff]", "1023", true),
            ("bytes", "A", "65", true),
            ("bytes", "A", "66", false),
            ("packed", "20010203023000", "2001-02-03 02:30:00.0", true),
            ("packed", "20010203023001", "2001-02-03 02:30:00.0", false),
            ("packed", "1", "00:00:01", true),
            ("times", "10:11:12,10:11:13", "2001-02-03", true),
            ("number", "1,2", "0,x", false),
            ("members", "a,b,c", "b,a,c", true),
            ("members", "a,b,c", "x,y,c", false),
            ("json", "[true, null]", "[1, null]", true),
            ("json", "[true, null]", "[0, null]", false),
            ("charset", "utf8mb4_general_ci", "binary", true),
            ("charset", "utf8mb4_general_ci", "a", false),
            ("cut", "[c3]", "Ä", true),
            ("cut", "ab", "abc", true),
            ("cut", "", "abc", false),
            ("labels", "a,12", "b", true),
            ("labels", "a,12", "d", false),
            ("unit", "2", "1.5", true),
            ("unit", "3", "1.5", false),
            ("wrap", "-1", "18446744073709551615", true),
            ("wrap", "-2", "18446744073709551615", false),
            ("bound", "9223372036854775807", "0", true),
            ("bound", "7", "0", false),
            ("today", "2023-11-14 01:00:00", "NULL", true),
            ("today", "2022-11-14 01:00:00", "NULL", false),
            ("zero-date", "0000-00-00", "2001-01-01", true),
            ("zero", "5", "0.0", true),
            ("zero", "5", "a", false),
            ("times", "-838:59:59", "2001-02-03", true),
            ("times", "10:11:12.5", "5", false),
            ("number", "5", "1e3", true),
            ("number", "5", "inf", false),
            ("before", "1", "a", true),
            ("before", "b", "A", false),
            ("behind", "b", "A", true),
        ] {
            assert_eq!(
                holds(&format!("={word}"), "*", ours, theirs),
                is,
                "{word}: {ours}, {theirs}"
            );
        }
    }

    #[test]
    fn how_rows_differ() {
        assert!(holds("=fewer", "*", "1 / 3", "1 / 2 / 3"));
        assert!(holds("=fewer", "*", "", "1"));
        assert!(!holds("=fewer", "*", "1 / 4", "1 / 2 / 3"));
        assert!(holds("=more", "*", "1 / 1", "1"));
        assert!(!holds("=more", "*", "1", "1 / 1"));
        assert!(holds("=order", "*", "2 / 1", "1 / 2"));
        assert!(!holds("=order", "*", "2 / 2", "1 / 2"));
        assert!(holds("=groups", "*", "4 | 1 / 2 | 5", "6 | 1"));
        assert!(!holds("=groups", "*", "4 | 1 / 2 | 5", "7 | 1"));
    }

    #[test]
    fn what_follows_from_a_cell_is_no_difference() {
        assert!(holds("=unit", "*", "2 | 32", "1 | 31"));
        assert!(!holds("=unit", "*", "2 | 33", "1 | 31"));
        assert!(holds(
            "=cut",
            "*",
            "ab | 6162 | ascii | 2",
            "abc | 616263 | ascii | 3"
        ));
        assert!(!holds(
            "=cut",
            "*",
            "ab | 6162 | ascii | 4",
            "abc | 616263 | ascii | 3"
        ));
        assert!(!holds("=null", "*", "2 | 32", "2 | 31"));
    }

    #[test]
    fn members_of_lists() {
        assert!(holds(
            ":integer>real,text>bytes",
            ":",
            "integer,text",
            "real,bytes"
        ));
        assert!(!holds(":integer>real", ":", "integer,text", "real,bytes"));
        assert!(!holds(":integer>real", ":", "integer", "real,real"));
        assert!(holds("1 or 2", "3", "2", "3"));
    }

    #[test]
    fn what_proves_nothing_is_broad() {
        let broad = |a, b| Relation::read(a, b).unwrap().is_broad();
        assert!(broad("*", "*"));
        assert!(broad("=before,behind", "*"));
        assert!(!broad("*", "1292"));
        assert!(!broad("=before,null,number", "*"));
        assert!(!broad(":integer>*", ":"));
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
        assert!(Relation::read(":integer", ":").is_err());
        assert!(Relation::read(":integer>text", "*").is_err());
    }
}
