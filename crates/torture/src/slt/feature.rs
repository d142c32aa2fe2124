//! What a statement needs that this server does not have (yet), or that MySQL refuses as well: told by the statement itself, never by the
//! file's name. A record is judged first; only one that failed is asked what it needs.

use std::collections::BTreeSet;

/// A feature on which a record may fail without being a wrong answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A change through a view, which SQLite refuses and MySQL makes.
    WrittenViews,
    /// CREATE or DROP TRIGGER.
    Triggers,
    /// WITH RECURSIVE.
    Recursion,
    /// More than 61 tables in a join, which MySQL refuses with 1116.
    TooManyTables,
}

impl Feature {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Feature::WrittenViews => "a change through a view, which is an error to SQLite alone",
            Feature::Triggers => "triggers",
            Feature::Recursion => "recursion",
            Feature::TooManyTables => "more than 61 tables, which MySQL refuses with 1116",
        }
    }
}

/// "Too many tables; MySQL can only use 61 tables in a join".
const TOO_MANY_TABLES: u16 = 1116;

/// The most tables of a join.
const TABLES: usize = 61;

/// Reads statements of one file in turn; remembers the views that they make.
#[derive(Debug, Default)]
pub struct Features {
    views: BTreeSet<String>,
}

impl Features {
    /// Takes note of a statement that is about to run.
    pub fn read(&mut self, sql: &str) {
        let words = words(sql);
        if let Some("CREATE") = words.first().map(String::as_str)
            && let Some(view) = object(&words).filter(|at| words[*at] == "VIEW")
            && let Some(name) = words.get(view + 1)
        {
            self.views.insert(name.clone());
        }
    }

    /// What `sql` needed, which failed with the error `code` (`None`: no error, another answer).
    pub fn needed(&self, sql: &str, code: Option<u16>) -> Option<Feature> {
        let words = words(sql);
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let trigger = object(&words).is_some_and(|at| word(at) == "TRIGGER");
        match (word(0), code) {
            ("CREATE" | "DROP", Some(_)) if trigger => Some(Feature::Triggers),
            ("WITH", Some(_)) if word(1) == "RECURSIVE" => Some(Feature::Recursion),
            ("DELETE" | "INSERT", None) if self.views.contains(word(2)) => {
                Some(Feature::WrittenViews)
            }
            ("UPDATE", None) if self.views.contains(word(1)) => Some(Feature::WrittenViews),
            (_, Some(TOO_MANY_TABLES)) if tables(sql) > TABLES => Some(Feature::TooManyTables),
            _ => None,
        }
    }
}

/// Where a definition says what it is of, if that is a view or a trigger.
fn object(words: &[String]) -> Option<usize> {
    words
        .iter()
        .take(6)
        .position(|w| w == "VIEW" || w == "TRIGGER")
}

fn words(sql: &str) -> Vec<String> {
    sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_uppercase)
        .collect()
}

/// The tables of the longest FROM, as far as they stand in a plain list.
fn tables(sql: &str) -> usize {
    let upper = sql.to_ascii_uppercase();
    upper
        .split("FROM ")
        .skip(1)
        .map(|from| {
            let end = from.find("WHERE").unwrap_or(from.len());
            from[..end].split(',').count()
        })
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_told_by_the_statement() {
        let mut features = Features::default();
        let delete = "DELETE FROM view1 WHERE x > 0";
        assert_eq!(features.needed(delete, None), None, "no view is known yet");
        features.read("CREATE TABLE t1 (x INT)");
        features.read("CREATE VIEW view1 AS SELECT x FROM t1");
        assert_eq!(features.needed(delete, None), Some(Feature::WrittenViews));
        assert_eq!(
            features.needed("UPDATE view1 SET x=2", None),
            Some(Feature::WrittenViews)
        );
        assert_eq!(features.needed(delete, Some(1288)), None);
        assert_eq!(features.needed("DELETE FROM t1", None), None);
        assert_eq!(features.needed("SELECT x FROM view1", None), None);
        assert_eq!(
            features.needed("CREATE VIEW view1 AS SELECT 1", Some(1235)),
            None
        );
        assert_eq!(
            features.needed("DROP TRIGGER t1r1", Some(1064)),
            Some(Feature::Triggers)
        );
        assert_eq!(features.needed("SELECT 1", Some(1064)), None);
    }

    #[test]
    fn a_join_is_too_wide_only_where_it_is() {
        let features = Features::default();
        let join = |n: usize| {
            let list: Vec<String> = (0..n).map(|i| format!("t{i}")).collect();
            format!("SELECT x FROM {} WHERE a = b", list.join(","))
        };
        assert_eq!(features.needed(&join(61), Some(1116)), None);
        assert_eq!(
            features.needed(&join(62), Some(1116)),
            Some(Feature::TooManyTables)
        );
        assert_eq!(features.needed(&join(62), Some(1064)), None);
    }
}
