//! What the applier leaves out and what it does in another database: MySQL's replication filters, in the order in which MySQL asks them.
//!
//! Rows are asked for by the database and the name of their table. A statement is asked for by its default database first, and then by the tables
//! that it changes, whichever databases these are in. The name of a database is rewritten before anything is asked.
//!
//! Names are compared byte by byte, as names of tables are here (`lower_case_table_names=0`).
//!
//! | module | what |
//! |---|---|
//! | `targets` | which tables a statement changes |
//!
//! What it never does: change while an applier runs, or know what a transaction is.

mod targets;
#[cfg(test)]
mod tests;

pub use sql_parser::filter_rules::FilterRules;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sql::context::replica::FilterFacts;
use sql_parser::ast::{FilterKind, FilterValue, ReplicationFilter, Statement};
use types::error::codes;
use types::{CollationId, SqlError};

use targets::Target;

/// What has set a filter, in MySQL's words.
pub(super) mod by {
    pub const OPTIONS: &str = "STARTUP_OPTIONS";
    pub const OPTIONS_FOR_CHANNEL: &str = "STARTUP_OPTIONS_FOR_CHANNEL";
    pub const STATEMENT: &str = "CHANGE_REPLICATION_FILTER";
    pub const STATEMENT_FOR_CHANNEL: &str = "CHANGE_REPLICATION_FILTER_FOR_CHANNEL";
}

/// The filters of one kind.
#[derive(Debug)]
struct One {
    values: Vec<FilterValue>,
    configured_by: &'static str,
    since_us: i64,
    used: AtomicU64,
}

impl One {
    fn new(values: Vec<FilterValue>, configured_by: &'static str, since_us: i64) -> Arc<One> {
        let used = AtomicU64::new(0);
        Arc::new(One {
            values,
            configured_by,
            since_us,
            used,
        })
    }

    fn count(&self) {
        self.used.fetch_add(1, Ordering::Relaxed);
    }

    /// As SHOW REPLICA STATUS has it.
    fn shown(&self) -> String {
        let mut all: Vec<String> = self.values.iter().map(shown).collect();
        if matches!(self.values.first(), Some(FilterValue::Table(..))) {
            all.sort_unstable();
            all.dedup();
        }
        all.join(",")
    }
}

fn shown(value: &FilterValue) -> String {
    match value {
        FilterValue::Database(name) | FilterValue::Pattern(name) => name.to_string(),
        FilterValue::Table(database, name) => format!("{database}.{name}"),
        FilterValue::Rewrite(from, to) => format!("({from},{to})"),
    }
}

/// All filters of a channel, or those that channels begin with.
#[derive(Debug, Default, Clone)]
pub(crate) struct Filters {
    kinds: [Option<Arc<One>>; FilterKind::ALL.len()],
}

/// Whether a pattern with `%`, `_` and `\` matches a name.
fn matches(pattern: &str, name: &str) -> bool {
    CollationId::BINARY.like(name.as_bytes(), pattern.as_bytes(), Some(u32::from(b'\\')))
}

/// What can be said of a list before it is taken.
///
/// # Errors
/// 3067: a pattern has no dot; 1525: it has a line's end.
fn check(filter: &ReplicationFilter) -> Result<(), SqlError> {
    for value in &filter.values {
        let FilterValue::Pattern(text) = value else {
            continue;
        };
        if text.contains('\n') {
            return Err(SqlError::new(
                codes::ER_WRONG_VALUE,
                format!("Incorrect argument contains not-allowed LF value: '{text}'"),
            ));
        }
        if !text.contains('.') {
            return Err(SqlError::fixed(
                codes::ER_INVALID_RPL_WILD_TABLE_FILTER_PATTERN,
            ));
        }
    }
    Ok(())
}

impl Filters {
    /// Those of the server's options for all channels.
    pub(crate) fn of_options(filters: &[ReplicationFilter], now_us: i64) -> Filters {
        Filters::told(filters, by::OPTIONS, now_us)
    }

    /// Those for one.
    pub(crate) fn of_channel(filters: &[ReplicationFilter], now_us: i64) -> Filters {
        Filters::told(filters, by::OPTIONS_FOR_CHANNEL, now_us)
    }

    fn told(given: &[ReplicationFilter], by: &'static str, now_us: i64) -> Filters {
        let mut filters = Filters::default();
        // Each was looked at when it was added.
        let set = filters.set(given, by, now_us);
        debug_assert!(set.is_ok(), "{set:?}");
        filters
    }

    /// Takes lists in the place of those of their kinds; of two of one kind the last counts.
    ///
    /// # Errors
    /// As [`check`]: then nothing has changed.
    pub fn set(
        &mut self,
        filters: &[ReplicationFilter],
        configured_by: &'static str,
        now_us: i64,
    ) -> Result<(), SqlError> {
        filters.iter().try_for_each(check)?;
        for f in filters {
            self.kinds[f.kind as usize] = Some(One::new(f.values.clone(), configured_by, now_us));
        }
        Ok(())
    }

    /// A channel comes about: it has those that all begin with.
    pub fn begin_with(&mut self, all: &Filters, now_us: i64) {
        for (own, one) in self.kinds.iter_mut().zip(&all.kinds) {
            let has = own.as_ref().is_some_and(|o| !o.values.is_empty());
            if !has
                && let Some(one) = one
                && !one.values.is_empty()
            {
                *own = Some(One::new(one.values.clone(), one.configured_by, now_us));
            }
        }
    }

    /// What is shown of those that were set, also to nothing.
    pub fn facts(&self) -> Vec<FilterFacts> {
        let of = |(kind, one): (FilterKind, &Option<Arc<One>>)| {
            let one = one.as_ref()?;
            Some(FilterFacts {
                kind,
                rule: one.shown(),
                configured_by: one.configured_by,
                since_us: one.since_us,
                used: one.used.load(Ordering::Relaxed),
            })
        };
        FilterKind::ALL
            .into_iter()
            .zip(&self.kinds)
            .filter_map(of)
            .collect()
    }

    /// Those of a kind, where there are any.
    fn of(&self, kind: FilterKind) -> Option<&One> {
        let one = self.kinds[kind as usize].as_deref();
        one.filter(|o| !o.values.is_empty())
    }

    /// The database in which what is done in that one of the source is done here.
    pub fn rewritten<'a>(&'a self, database: &'a str) -> &'a str {
        let Some(one) = self.of(FilterKind::RewriteDb) else {
            return database;
        };
        for value in &one.values {
            if let FilterValue::Rewrite(from, to) = value
                && **from == *database
            {
                one.count();
                return to;
            }
        }
        database
    }

    /// Whether what has this database is done: by its table's, for rows; by the default one, for statements. None is always right.
    pub fn database(&self, name: &str) -> bool {
        if name.is_empty() {
            return true;
        }
        let (one, listed) = match (self.of(FilterKind::DoDb), self.of(FilterKind::IgnoreDb)) {
            (Some(one), _) => (one, true),
            (None, Some(one)) => (one, false),
            (None, None) => return true,
        };
        let is = |v: &FilterValue| matches!(v, FilterValue::Database(d) if **d == *name);
        match one.values.iter().any(is) {
            true => {
                one.count();
                listed
            }
            false => !listed,
        }
    }

    /// What the lists of tables say of a name; `None`: nothing. `exactly`: also those without patterns.
    fn listed(&self, name: &str, exactly: bool) -> Option<bool> {
        use FilterKind::{DoTable, IgnoreTable, WildDoTable, WildIgnoreTable};
        for (kind, done) in [
            (DoTable, true),
            (IgnoreTable, false),
            (WildDoTable, true),
            (WildIgnoreTable, false),
        ] {
            if !exactly && matches!(kind, DoTable | IgnoreTable) {
                continue;
            }
            let Some(one) = self.of(kind) else {
                continue;
            };
            let is = |v: &FilterValue| match v {
                FilterValue::Table(database, table) => {
                    let rest = name.strip_prefix(&**database);
                    rest.and_then(|r| r.strip_prefix('.')) == Some(&**table)
                }
                FilterValue::Pattern(pattern) => matches(pattern, name),
                _ => false,
            };
            if one.values.iter().any(is) {
                one.count();
                return Some(done);
            }
        }
        None
    }

    /// Whether there are lists of tables.
    pub fn goes_by_tables(&self) -> bool {
        use FilterKind::{DoTable, IgnoreTable, WildDoTable, WildIgnoreTable};
        [DoTable, IgnoreTable, WildDoTable, WildIgnoreTable]
            .into_iter()
            .any(|k| self.of(k).is_some())
    }

    /// Whether what changes these tables, in this order, is done: the first of which a list says something decides. `database`: of those that
    /// are named without one.
    pub fn tables(&self, database: &str, tables: &[Target<'_>]) -> bool {
        for t in tables {
            let name = format!("{}.{}", t.database.unwrap_or(database), t.name);
            if let Some(done) = self.listed(&name, true) {
                return done;
            }
        }
        let wanted = self
            .of(FilterKind::DoTable)
            .or(self.of(FilterKind::WildDoTable));
        wanted.is_none()
    }

    /// Whether rows of a table are done.
    pub fn rows(&self, database: &str, table: &str) -> bool {
        if !self.database(database) {
            return false;
        }
        let target = Target {
            database: Some(database),
            name: table,
        };
        !self.goes_by_tables() || self.tables("", &[target])
    }

    /// Whether a database is created, altered, dropped: beside the lists of databases the patterns of tables have a say, as it is all its tables.
    pub fn whole_database(&self, name: &str) -> bool {
        if !self.database(name) {
            return false;
        }
        let listed = self.listed(&format!("{name}."), false);
        listed.unwrap_or(self.of(FilterKind::WildDoTable).is_none())
    }

    /// Whether a statement is done that ran with this default database, which was rewritten already and is in no list. It is asked only if it is
    /// not one of those that begin and end transactions.
    pub fn statement(&self, database: &str, statement: &Statement) -> bool {
        let changed = targets::of(statement);
        let default = matches!(statement, Statement::AlterDatabase(_));
        let whole = changed.database.or(default.then_some(database));
        if let Some(name) = whole
            && !self.whole_database(name)
        {
            return false;
        }
        if !self.goes_by_tables() || changed.always {
            return true;
        }
        // Where a statement changes no table by name, lists of tables say nothing.
        let of_tables = changed.tables.is_empty() || self.tables(database, &changed.tables);
        of_tables && (!changed.accounts || self.tables("mysql", targets::ACCOUNTS))
    }
}
