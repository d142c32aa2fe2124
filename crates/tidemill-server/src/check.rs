//! `tidemill check`: reads every page and every index of a directory that no server owns, and says of each table whether it
//! is sound. Repairs nothing, but that opening the directory recovers it as any start does.

use std::io::{self, Write};

use base::block_on;
use tidemill::open::{OpenDirectory, OpenFailure};
use types::SqlError;

use crate::open::{open, recovery};
use crate::options::Options;

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckSummary {
    /// Tables that are sound.
    pub sound: usize,
    /// Tables that are damaged.
    pub damaged: usize,
}

/// Checks every table of the directory, or only `only` (`schema.table`), and writes a line for each finding to `out`.
///
/// # Errors
/// The directory cannot be opened, which is a finding of its own unless it is in use; or there is no such table.
pub fn run(
    options: &Options,
    only: Option<&str>,
    out: &mut dyn Write,
) -> Result<CheckSummary, OpenFailure> {
    let database = block_on(open(options))?.directory;
    for line in recovery(&database.report) {
        say(out, &line);
    }
    let found = block_on(check_tables(&database, only, out));
    let closed = block_on(database.close());
    let mut found = found.map_err(OpenFailure::Sql)?;
    if let Err(e) = closed {
        say(out, &format!("closing the directory: {e}"));
        found.damaged += 1;
    }
    for table in &database.report.missing {
        if only.is_none_or(|only| only == table) {
            found.damaged += 1;
            say(
                out,
                &format!("{table}: damaged: its file is missing or unreadable"),
            );
        }
    }
    let all = found.sound + found.damaged;
    say(
        out,
        &format!("{all} tables checked, {} damaged", found.damaged),
    );
    Ok(found)
}

async fn check_tables(
    database: &OpenDirectory,
    only: Option<&str>,
    out: &mut dyn Write,
) -> Result<CheckSummary, SqlError> {
    let mut found = CheckSummary::default();
    let catalog = database.engine.catalog();
    let mut session = database.engine.session();
    let mut met = false;
    for table in catalog.tables() {
        let (schema, name) = (&table.def.schema, &table.def.name);
        let whole = format!("{schema}.{name}");
        if only.is_some_and(|only| only != whole) {
            continue;
        }
        met = true;
        if table.def.options.discarded {
            // It has no rows, and says so to whoever asks for them.
            found.sound += 1;
            say(out, &format!("{whole}: OK; its tablespace was discarded"));
            continue;
        }
        session.statement_begin(engine::Isolation::ReadCommitted);
        let problems = match session.open_table(schema, name).await {
            Ok(table) => session.check_table(&table).await,
            Err(e) => Err(e),
        };
        // Nothing was changed, so there is nothing to lose.
        let _unchanged = session.rollback().await;
        let problems = problems.unwrap_or_else(|e| vec![e.message]);
        if problems.is_empty() {
            found.sound += 1;
            say(out, &format!("{whole}: OK"));
        } else {
            found.damaged += 1;
            for problem in problems {
                say(out, &format!("{whole}: damaged: {problem}"));
            }
        }
    }
    match only {
        Some(only) if !met => {
            let (schema, name) = only.split_once('.').unwrap_or(("", only));
            Err(SqlError::no_such_table(schema, name))
        }
        _ => Ok(found),
    }
}

fn say(out: &mut dyn Write, line: &str) {
    // A reader that has gone does not end the check: its outcome is the exit status.
    let _gone: io::Result<()> = writeln!(out, "{line}");
}
