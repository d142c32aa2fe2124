//! `--replicate-do-db` and its like: each gives one value, and may be given again.

use sql_parser::ast::{FilterKind, FilterValue, ReplicationFilter};

use super::{Filters, by};

/// The values of the server's options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    filters: Vec<ReplicationFilter>,
}

impl Rules {
    /// Takes the value of an option, named with underscores and without dashes.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn add(&mut self, option: &str, value: &str) -> Result<(), String> {
        let known = |k: &FilterKind| k.name().eq_ignore_ascii_case(option);
        let Some(kind) = FilterKind::ALL.into_iter().find(known) else {
            return Err(format!("{option}: there is no such filter"));
        };
        let value = value_of(kind, of_channel(value)?)?;
        match self.filters.iter_mut().find(|f| f.kind == kind) {
            Some(f) => f.values.push(value),
            None => self.filters.push(ReplicationFilter {
                kind,
                values: vec![value],
            }),
        }
        Ok(())
    }

    /// The filters that they are.
    pub(crate) fn filters(&self, now_us: i64) -> Filters {
        let mut filters = Filters::default();
        // Each was looked at when it was added.
        let set = filters.set(&self.filters, by::OPTIONS, now_us);
        debug_assert!(set.is_ok(), "{set:?}");
        filters
    }
}

/// `[channel:]value`: there is one channel, and it has no name.
fn of_channel(value: &str) -> Result<&str, String> {
    match value.split_once(':') {
        None | Some(("", _)) => Ok(value.trim_start_matches(':')),
        Some((channel, _)) => Err(format!(
            "{value}: there is one replication channel, whose name is empty, and none named '{channel}'"
        )),
    }
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
        let mut rules = Rules::default();
        for (option, value) in [
            ("replicate_do_db", "a,b"),
            ("replicate_do_db", ":c"),
            ("replicate_ignore_table", "a.b.c"),
            ("replicate_wild_do_table", "a%.b\\_"),
            ("replicate_rewrite_db", " a -> b "),
        ] {
            rules.add(option, value).unwrap();
        }
        let facts = rules.filters(5).facts();
        let rules: Vec<_> = facts.iter().map(|f| (f.kind.name(), &*f.rule)).collect();
        assert_eq!(
            rules,
            [
                // Two of them: a comma belongs to the first one's name.
                ("REPLICATE_DO_DB", "a,b,c"),
                ("REPLICATE_IGNORE_TABLE", "a.b.c"),
                ("REPLICATE_WILD_DO_TABLE", "a%.b\\_"),
                ("REPLICATE_REWRITE_DB", "(a,b)"),
            ]
        );
        assert!(
            facts
                .iter()
                .all(|f| f.configured_by == by::OPTIONS && f.since_us == 5)
        );
        for (option, value) in [
            ("replicate_do_table", "t"),
            ("replicate_wild_ignore_table", "t%"),
            ("replicate_rewrite_db", "a"),
            ("replicate_rewrite_db", "->b"),
            ("replicate_rewrite_db", "a->"),
            ("replicate_do_db", ""),
            ("replicate_do_db", "x:a"),
            ("replicate_nothing", "a"),
        ] {
            assert!(
                Rules::default().add(option, value).is_err(),
                "{option}={value}"
            );
        }
    }
}
