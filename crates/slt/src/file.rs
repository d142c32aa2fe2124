//! Running the records of files, and writing what came back into them.

use crate::client::{Client, Letter};
use crate::connection::Connection;
use regex::Regex;
use sqllogictest::parser::{Condition, ExpectedError};
use sqllogictest::{
    Normalizer, QueryExpect, Record, RecordOutput, Runner, StatementExpect, TestError,
    default_normalizer, update_record_with_output,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a record may be made to depend on: the server, and the client that the cases run through.
const LABELS: [&str; 5] = ["tidemill", "mariadb", "embedded", "socket", "program"];

/// Separates the cells of a row.
const SEPARATOR: &str = "\t";

/// How a folder of cases is run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Only files that have this in their path below the folder.
    pub only: &'a str,
    /// Rows and types that came back are written into the files instead of being judged.
    pub bless: bool,
}

/// Runs the files below `dir` one after another, all of them even after one has failed. Prints a line for each; returns the number
/// of records.
///
/// # Errors
/// The names of the files that failed, or why there was nothing to run.
pub fn run(dir: &Path, client: &dyn Client, options: Options<'_>) -> Result<usize, String> {
    let files = files(dir)?;
    let mut failed = Vec::new();
    let mut records = 0;
    for (name, path) in &files {
        let topic = path.strip_prefix(dir).unwrap_or(path);
        if !topic.to_string_lossy().contains(options.only) {
            continue;
        }
        match run_file(name, path, client, options.bless) {
            Ok(count) => {
                println!("    {name}: {count} records");
                records += count;
            }
            Err(why) => {
                println!("    {name}: FAILED\n{why}");
                failed.push(name.as_str());
            }
        }
    }
    if !failed.is_empty() {
        Err(format!("SQL cases that failed: {}", failed.join(", ")))
    } else if records == 0 {
        Err(format!("{}: no record was run", dir.display()))
    } else {
        Ok(records)
    }
}

/// The files below `dir` by name, which is that of their database.
fn files(dir: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "slt") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                if let Some(other) = files.insert(name.into_owned(), path.clone()) {
                    return Err(format!(
                        "{} and {} have the same name",
                        other.display(),
                        path.display()
                    ));
                }
            }
        }
    }
    Ok(files)
}

/// Runs one file; the number of records, or what was wrong with which.
fn run_file(name: &str, path: &Path, client: &dyn Client, bless: bool) -> Result<usize, String> {
    let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| failed(&e))?;
    let mut records = parse(&text, &path.to_string_lossy())?;
    let database = format!("case_{name}");
    let mut session = client.connect().map_err(|e| failed(&e))?;
    for sql in ["DROP DATABASE IF EXISTS", "CREATE DATABASE"] {
        let _done = session
            .run(&format!("{sql} {database}"))
            .map_err(|e| failed(&e))?;
    }
    let waiting = Arc::new(AtomicUsize::new(0));
    let mut runner = Runner::new(|| {
        std::future::ready(Connection::open(client, &database, Arc::clone(&waiting)))
    });
    if bless {
        runner.with_validator(|_, _, _| true);
        runner.with_column_validator(|_, _| true);
    } else {
        runner.with_validator(rows_agree);
        runner.with_column_validator(types_agree);
    }
    for label in client.labels() {
        runner.add_label(label);
    }
    let mut mistakes = Vec::new();
    let mut count = 0;
    for record in &mut records {
        let runs = matches!(record, Record::Statement { .. } | Record::Query { .. });
        match runner.run(anchored(record.clone())?) {
            Ok(RecordOutput::Nothing) => {}
            Ok(output) => {
                count += usize::from(runs);
                if bless && let Some(new) = with_output(record, &output) {
                    *record = new;
                }
            }
            Err(error) => mistakes.push(described(&error)),
        }
    }
    drop(runner);
    match waiting.load(Ordering::Relaxed) {
        0 => {}
        n => mistakes.push(failed(&format!("{n} answers were not taken"))),
    }
    if !mistakes.is_empty() {
        return Err(mistakes.join("\n"));
    }
    if bless {
        write(path, &text, &records)?;
    }
    Ok(count)
}

/// The records of a file.
///
/// # Errors
/// The file is not of the format, or uses more of the crate's than ours: a record that we would not run must not pass.
fn parse(text: &str, name: &str) -> Result<Vec<Record<Letter>>, String> {
    let records = sqllogictest::parse_with_name(text, name).map_err(|e| e.to_string())?;
    for record in &records {
        let known = match record {
            Record::Statement { retry: None, .. }
            | Record::Query { retry: None, .. }
            | Record::Connection(_)
            | Record::Comment(_)
            | Record::Newline => true,
            Record::Condition(Condition::OnlyIf { label } | Condition::SkipIf { label }) => {
                LABELS.contains(&label.as_str())
            }
            _ => false,
        };
        if !known {
            return Err(format!("{name}: '{record}' is not of this format"));
        }
    }
    Ok(records)
}

/// The record with its error's pattern bound to the beginning: `1062` is a number there, and not a part of the message.
fn anchored(mut record: Record<Letter>) -> Result<Record<Letter>, String> {
    if let Record::Statement {
        expected: StatementExpect::Error(ExpectedError::Inline(pattern)),
        ..
    }
    | Record::Query {
        expected: QueryExpect::Error(ExpectedError::Inline(pattern)),
        ..
    } = &mut record
    {
        *pattern = Regex::new(&format!("^(?:{})", pattern.as_str())).map_err(|e| e.to_string())?;
    }
    Ok(record)
}

/// A query's record with the rows and types that came back; nothing of other records, whose change a person must write.
fn with_output(record: &Record<Letter>, output: &RecordOutput<Letter>) -> Option<Record<Letter>> {
    let asks_for_rows = matches!(
        record,
        Record::Query {
            expected: QueryExpect::Results { .. },
            ..
        }
    );
    if !asks_for_rows {
        return None;
    }
    update_record_with_output(
        record,
        output,
        SEPARATOR,
        rows_agree,
        default_normalizer,
        types_agree,
    )
}

fn lines(rows: &[Vec<String>]) -> Vec<String> {
    rows.iter().map(|row| row.join(SEPARATOR)).collect()
}

fn rows_agree(_: Normalizer, actual: &[Vec<String>], expected: &[String]) -> bool {
    lines(actual) == expected
}

/// The signature is the crate's.
#[expect(clippy::ptr_arg)]
fn types_agree(actual: &Vec<Letter>, expected: &Vec<Letter>) -> bool {
    actual.len() == expected.len()
        && actual
            .iter()
            .zip(expected)
            .all(|(actual, expected)| *actual == Letter::Unknown || actual == expected)
}

fn described(error: &TestError) -> String {
    format!("{}\n  {}", error.location(), error.kind()).replace('\n', "\n  ")
}

/// Writes the records back, where they differ from `old`.
fn write(path: &Path, old: &str, records: &[Record<Letter>]) -> Result<(), String> {
    let mut new = String::new();
    for record in records {
        let _infallible = writeln!(new, "{record}");
    }
    let new = format!("{}\n", new.trim_end());
    if new != old {
        std::fs::write(path, new).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("    {}: rewritten; read the difference", path.display());
    }
    Ok(())
}
