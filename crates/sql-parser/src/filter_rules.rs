//! Replication filters as options of a server give them (`--replicate-do-db` and its like): each gives one value, and may be given again.
//! They come to what CHANGE REPLICATION FILTER says.
//!
//! Must never do: judge a table.

use crate::ast::{FilterKind, FilterValue, ReplicationFilter};
use std::collections::BTreeMap;

/// The values of the server's options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterRules {
    /// By channel; empty: for all that have none of their own.
    filters: BTreeMap<String, Vec<ReplicationFilter>>,
}

impl FilterRules {
    /// Takes the value of an option, named with underscores and without dashes.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn add(&mut self, option: &str, value: &str) -> Result<(), String> {
        let known = |k: &FilterKind| k.name().eq_ignore_ascii_case(option);
        let Some(kind) = FilterKind::ALL.into_iter().find(known) else {
            return Err(format!("{option}: there is no such filter"));
        };
        let (channel, value) = of_channel(value);
        let value = value_of(kind, value)?;
        let filters = self.filters.entry(channel.to_lowercase()).or_default();
        match filters.iter_mut().find(|f| f.kind == kind) {
            Some(f) => f.values.push(value),
            None => filters.push(ReplicationFilter {
                kind,
                values: vec![value],
            }),
        }
        Ok(())
    }

    /// Those for a channel alone; without a name: for all.
    pub fn filters(&self, channel: &str) -> &[ReplicationFilter] {
        self.filters.get(channel).map_or(&[], Vec::as_slice)
    }
}

/// `[channel:]value`.
fn of_channel(value: &str) -> (&str, &str) {
    value.split_once(':').unwrap_or(("", value))
}

fn value_of(kind: FilterKind, value: &str) -> Result<FilterValue, String> {
    let rule = || {
        let name = kind.name().trim_start_matches("REPLICATE_");
        name.to_ascii_lowercase().replace('_', " ")
    };
    let wrong = || format!("Could not add {} rule '{value}'!", rule());
    Ok(match kind {
        FilterKind::DoDb | FilterKind::IgnoreDb => match value {
            "" => return Err(wrong()),
            name => FilterValue::Database(name.into()),
        },
        FilterKind::DoTable | FilterKind::IgnoreTable => {
            let (database, table) = value.split_once('.').ok_or_else(wrong)?;
            FilterValue::Table(database.into(), table.into())
        }
        FilterKind::WildDoTable | FilterKind::WildIgnoreTable => match value.contains('.') {
            true if !value.contains('\n') => FilterValue::Pattern(value.into()),
            _ => return Err(wrong()),
        },
        FilterKind::RewriteDb => {
            let bad = |what| format!("Bad syntax in replicate-rewrite-db - {what}");
            let (from, to) = value.split_once("->").ok_or_else(|| bad("missing '->'!"))?;
            match (from.trim(), to.trim()) {
                ("", _) => return Err(bad("empty FROM db!")),
                (_, "") => return Err(bad("empty TO db!")),
                (from, to) => FilterValue::Rewrite(from.into(), to.into()),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_option_says_is_taken_or_refused() {
        let mut rules = FilterRules::default();
        for (option, value) in [
            ("replicate_do_db", "a,b"),
            ("replicate_do_db", ":c"),
            ("replicate_ignore_table", "a.b.c"),
            ("replicate_wild_do_table", "a%.b\\_"),
            ("replicate_rewrite_db", " a -> b "),
            ("replicate_do_db", "X:a"),
            ("replicate_do_db", "x:b:c"),
        ] {
            rules.add(option, value).unwrap();
        }
        let database = |name: &str| FilterValue::Database(name.into());
        let of_channel = |channel: &str, kind| {
            let found = rules.filters(channel).iter().find(|f| f.kind == kind);
            found.map(|f| f.values.clone()).unwrap_or_default()
        };
        let of = |kind| of_channel("", kind);
        // Two of them: a comma belongs to the first one's name.
        assert_eq!(of(FilterKind::DoDb), [database("a,b"), database("c")]);
        assert_eq!(
            of(FilterKind::IgnoreTable),
            [FilterValue::Table("a".into(), "b.c".into())]
        );
        assert_eq!(
            of(FilterKind::WildDoTable),
            [FilterValue::Pattern("a%.b\\_".into())]
        );
        assert_eq!(
            of(FilterKind::RewriteDb),
            [FilterValue::Rewrite("a".into(), "b".into())]
        );
        assert!(of(FilterKind::IgnoreDb).is_empty());
        assert_eq!(
            of_channel("x", FilterKind::DoDb),
            [database("a"), database("b:c")]
        );
        assert!(of_channel("y", FilterKind::DoDb).is_empty());
        for (option, value) in [
            ("replicate_do_table", "t"),
            ("replicate_wild_ignore_table", "t%"),
            ("replicate_rewrite_db", "a"),
            ("replicate_rewrite_db", "->b"),
            ("replicate_rewrite_db", "a->"),
            ("replicate_do_db", ""),
            ("replicate_do_db", "x:"),
            ("replicate_nothing", "a"),
        ] {
            assert!(
                FilterRules::default().add(option, value).is_err(),
                "{option}={value}"
            );
        }
    }
}
