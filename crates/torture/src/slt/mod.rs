//! `cargo xtask slt DIR`: sqllogictest files, as sqlite's project made the format popular, against a server.
//!
//! Every file runs in a database of its own, as dialect `mysql`. A file is right when every record of it is, but for those that
//! need what [`feature::Feature`] lists, which are counted apart. It never skips a record because of the file that it stands in.

mod db;
mod feature;
mod script;

use base::lock::Mutex;
use db::{Db, Letters, Refused};
use feature::{Feature, Features};
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use harness::workspace;
use slt::Letter;
use sqllogictest::parser::{Control, ResultMode};
use sqllogictest::{QueryExpect, Record, Runner, TestErrorKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lines of an expected or actual result that are shown.
const SHOWN: usize = 12;

/// In the place of long results.
const HASHED: &str = " values hashing to ";

/// What came of one file.
#[derive(Debug, Default)]
struct Verdict {
    records: usize,
    excluded: BTreeMap<Feature, usize>,
    wrong: usize,
    first: Option<String>,
}

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Directories of files (.test, .slt, each also as .gz).
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// The server program.
    #[arg(long, value_enum, default_value_t = Kind::Tidemill)]
    server: Kind,
    /// Files at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Only files whose paths contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    for dir in &options.dirs {
        run(options.server, dir, &options.only, options.jobs.max(1))?;
    }
    Ok(())
}

/// The tree's own files, against our server.
pub fn all() -> Outcome<()> {
    run(
        Kind::Tidemill,
        &workspace::root().join("tests").join("slt"),
        "",
        2,
    )
}

fn run(kind: Kind, dir: &Path, only: &str, jobs: usize) -> Outcome<()> {
    let mut files = script::files(dir)?;
    files.retain(|path| path.to_string_lossy().contains(only));
    if files.is_empty() {
        return Err(format!("{}: no file of records", dir.display()));
    }
    let mut scratch = Scratch::new("slt")?;
    let result = serve(kind, &files, jobs, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

fn serve(kind: Kind, files: &[PathBuf], jobs: usize, scratch: &Scratch) -> Outcome<()> {
    let setup = Setup::new(kind, scratch.path())?
        .option("innodb-buffer-pool-size=128M")
        .option("innodb-flush-log-at-trx-commit=2")
        .option_of(
            Kind::MariaDb,
            "sql-mode=ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
             ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
        );
    let mut server = setup.start()?;
    step::announce(&format!(
        "{} files of records on {}",
        files.len(),
        kind.name()
    ));
    let verdicts = all_files(&server, files, jobs)?;
    server.must_run()?;
    server.terminate()?;
    report(files, &verdicts)
}

/// The verdict on each file, in their order.
fn all_files(server: &Server, files: &[PathBuf], jobs: usize) -> Outcome<Vec<Verdict>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Outcome<Verdict>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(files.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = files.get(at) else { break };
                    let verdict = one_file(server, path, &format!("slt_{at}"));
                    done.lock().push((at, verdict));
                }
            });
        }
    });
    let mut done = done.into_inner();
    if done.len() != files.len() {
        return Err("a thread ended before its files".to_owned());
    }
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, verdict)| verdict).collect()
}

/// Prints a line for each file and the sums; an error where a record was wrong.
fn report(files: &[PathBuf], verdicts: &[Verdict]) -> Outcome<()> {
    let mut excluded: BTreeMap<Feature, usize> = BTreeMap::new();
    let mut failed = 0;
    for (path, verdict) in files.iter().zip(verdicts) {
        let name = path
            .file_name()
            .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let apart: usize = verdict.excluded.values().sum();
        let note = if apart > 0 {
            format!(", {apart} excluded")
        } else {
            String::new()
        };
        for (feature, count) in &verdict.excluded {
            *excluded.entry(*feature).or_default() += count;
        }
        match &verdict.first {
            None => println!("    pass {name}: {} records{note}", verdict.records),
            Some(first) => {
                failed += 1;
                println!(
                    "    FAIL {name}: {} of {} records wrong{note}\n{first}",
                    verdict.wrong, verdict.records
                );
            }
        }
    }
    let records: usize = verdicts.iter().map(|v| v.records).sum();
    let wrong: usize = verdicts.iter().map(|v| v.wrong).sum();
    println!(
        "    {records} records in {} files, {wrong} wrong",
        files.len()
    );
    for (feature, count) in &excluded {
        println!("    excluded, {count} records: {}", feature.name());
    }
    match failed {
        0 if records == 0 => Err("no record was run".to_owned()),
        0 => Ok(()),
        n => Err(format!("{n} files with wrong records")),
    }
}

fn one_file(server: &Server, path: &Path, database: &str) -> Outcome<Verdict> {
    let name = path.display().to_string();
    let text = script::prepared(&script::text(path)?);
    let records: Vec<Record<Letter>> =
        sqllogictest::parse_with_name(&text, name.as_str()).map_err(|e| e.to_string())?;
    server
        .connect()?
        .run(&format!("CREATE DATABASE {database}"))
        .map_err(|e| format!("{name}: {e}"))?;
    let letters = Letters::default();
    let mut runner = Runner::new(|| {
        std::future::ready(Db::open(
            server.setup(),
            database,
            std::sync::Arc::clone(&letters),
        ))
    });
    runner.add_label(script::LABEL);
    let valuewise = Record::Control(Control::ResultMode(ResultMode::ValueWise));
    runner.run(valuewise).map_err(|e| e.to_string())?;
    let mut features = Features::default();
    let mut verdict = Verdict::default();
    for record in records {
        match &record {
            Record::Statement { sql, .. } => features.read(sql),
            Record::Query { expected, .. } => {
                if let QueryExpect::Results { types, results, .. } = expected {
                    letters.lock().clone_from(types);
                    let hashed = results.iter().any(|line| line.contains(HASHED));
                    runner.with_hash_threshold(usize::from(hashed));
                }
            }
            // The record itself says whether a hash is expected; files without the directive have hashes too.
            Record::HashThreshold { .. }
            | Record::Comment(_)
            | Record::Newline
            | Record::Condition(_) => continue,
            // Whatever else the crate knows is not in the format; dropping it would be to pass it.
            other => return Err(format!("{name}: {other} is not of this format")),
        }
        judge(&mut runner, record, &features, &mut verdict);
    }
    Ok(verdict)
}

/// Runs one record and takes note of what came of it.
fn judge<M>(
    runner: &mut Runner<Db, M>,
    record: Record<Letter>,
    features: &Features,
    verdict: &mut Verdict,
) where
    M: sqllogictest::MakeConnection<Conn = Db>,
{
    let error = match runner.run(record) {
        // Nothing was run where a condition does not hold.
        Ok(sqllogictest::RecordOutput::Nothing) => return,
        Ok(_) => {
            verdict.records += 1;
            return;
        }
        Err(error) => error,
    };
    verdict.records += 1;
    let kind = error.kind();
    let (sql, code) = match &kind {
        TestErrorKind::Fail { sql, err, .. } => {
            let code = err.downcast_ref::<Refused>().map_or(0, |r| r.code);
            (sql.as_str(), Some(code))
        }
        TestErrorKind::Ok { sql, .. }
        | TestErrorKind::QueryResultMismatch { sql, .. }
        | TestErrorKind::StatementResultMismatch { sql, .. } => (sql.as_str(), None),
        _ => ("", None),
    };
    if let Some(feature) = features.needed(sql, code) {
        *verdict.excluded.entry(feature).or_default() += 1;
        return;
    }
    verdict.wrong += 1;
    verdict.first.get_or_insert_with(|| {
        let what = match &kind {
            TestErrorKind::QueryResultMismatch {
                expected, actual, ..
            } => format!(
                "{sql}\nexpected:\n{}\nactual:\n{}",
                head(expected),
                head(actual)
            ),
            other => head(&other.to_string()),
        };
        let text = format!("{}\n{what}", error.location());
        text.replace('\n', "\n      ").trim_end().to_owned()
    });
}

/// The first lines of a long text.
fn head(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut head = lines[..lines.len().min(SHOWN)].join("\n");
    if lines.len() > SHOWN {
        head.push_str(&format!("\n… {} lines more", lines.len() - SHOWN));
    }
    head
}
