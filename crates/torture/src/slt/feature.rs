//! What a statement needs that this server does not have (yet), or that MySQL refuses as well: told by the statement itself, never by the
//! file's name. A record is judged first; only one that failed is asked what it needs.

use std::collections::BTreeSet;

/// A feature on which a record may fail without being a wrong answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// CREATE or DROP VIEW, and statements that read a view.
    Views,
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
            Feature::Views => "views",
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

/// Reads statements of one file in turn; remembers the views that it could not make.
#[derive(Debug, Default)]
pub struct Features {
    views: BTreeSet<String>,
}

impl Features {
    /// What `sql` needed, which failed with the error `code` (`None`: no error, another answer).
    pub fn needed(&mut self, sql: &str, code: Option<u16>) -> Option<Feature> {
        let words = words(sql);
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let object = words
            .iter()
            .take(6)
            .position(|w| w == "VIEW" || w == "TRIGGER");
        if let (Some(at), "CREATE" | "DROP", true) = (object, word(0), code.is_some()) {
            if word(at) == "TRIGGER" {
                return Some(Feature::Triggers);
            }
            if word(0) == "CREATE" {
                self.views.insert(word(at + 1).to_owned());
            }
            return Some(Feature::Views);
        }
        if code.is_some() && words.iter().any(|w| self.views.contains(w)) {
            return Some(Feature::Views);
        }
        if code.is_some() && word(0) == "WITH" && word(1) == "RECURSIVE" {
            return Some(Feature::Recursion);
        }
        (code == Some(TOO_MANY_TABLES) && tables(sql) > TABLES).then_some(Feature::TooManyTables)
    }
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
        assert_eq!(
            features.needed("SELECT x FROM view1", Some(1146)),
            None,
            "no view of this name was refused"
        );
        assert_eq!(
            features.needed("CREATE VIEW view1 AS SELECT 1", Some(1235)),
            Some(Feature::Views)
        );
        assert_eq!(
            features.needed("SELECT x FROM view1", Some(1146)),
            Some(Feature::Views)
        );
        assert_eq!(features.needed("SELECT x FROM view1", None), None);
        assert_eq!(
            features.needed("DROP TRIGGER t1r1", Some(1064)),
            Some(Feature::Triggers)
        );
        assert_eq!(features.needed("SELECT 1", Some(1064)), None);
    }

    #[test]
    fn a_join_is_too_wide_only_where_it_is() {
        let mut features = Features::default();
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
