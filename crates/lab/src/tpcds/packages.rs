//! What comes from Python's packages: rows, queries, answers. They are installed into a folder of the cache, and what they made is kept there.

use super::dialect;
use crate::query_comparison::{Answer, Question, RightAnswer};
use harness::step::{self, Outcome};
use harness::workspace;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages. Other versions of the generator make the same rows.
const PACKAGES: &[&str] = &[
    "tpcgen-cli==4.0.0",
    "duckdb==1.5.5",
    "duckdb-extension-tpcds==1.5.5",
];

/// DuckDB's quotients are floating-point numbers, and those of MySQL decimals of a few digits.
const RELATIVE: f64 = 1e-6;

/// A query as DuckDB has it.
#[derive(Deserialize)]
struct Query {
    number: u32,
    text: String,
    columns: usize,
}

/// A directory with one file of rows a table, `columns.json` and `queries.json`.
pub(super) fn made(scale: f64, cache: &Path) -> Outcome<PathBuf> {
    let dir = cache.join(format!("tpcds-{scale}-rows"));
    if dir.is_dir() {
        return Ok(dir);
    }
    let programs = programs(cache)?;
    let fresh = cache.join(format!("tpcds-{scale}-rows-{}", std::process::id()));
    let dat = fresh.join("dat");
    let _ = fs::remove_dir_all(&fresh);
    fs::create_dir_all(&dat).map_err(|e| format!("{}: {e}", dat.display()))?;
    step::visibly(
        Command::new(programs.join("tpcgen-cli"))
            .args(["tpcds", "--no-progress"])
            .arg(format!("--scale-factor={scale}"))
            .arg("--output-dir")
            .arg(&dat),
    )?;
    step::visibly(judge(&programs).arg("read").arg(&dat).arg(&fresh))?;
    fs::remove_dir_all(&dat).map_err(|e| format!("{}: {e}", dat.display()))?;
    // Nobody sees a directory that is not whole.
    fs::rename(&fresh, &dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    Ok(dir)
}

/// The queries in MySQL's language, each with DuckDB's answer.
pub(super) fn questions(made: &Path, cache: &Path) -> Outcome<Vec<Question>> {
    let queries: Vec<Query> = read(&made.join("queries.json"))?;
    let common = |q: &Query| {
        (
            format!("q{}", q.number),
            dialect::in_one_order(&q.text, q.columns),
        )
    };
    let asked: Vec<(String, String)> = queries.iter().map(common).collect();
    let mut answers = answers(&asked, made, cache)?;
    let question = |(name, text): &(String, String)| {
        let answer = answers
            .remove(name)
            .ok_or_else(|| format!("DuckDB has not answered {name}"))?;
        Ok(Question {
            name: name.clone(),
            sql: dialect::of_mysql(text),
            judge: Some(RightAnswer {
                name: "DuckDB",
                answer,
                relative: RELATIVE,
            }),
        })
    };
    asked.iter().map(question).collect()
}

/// The answers, which are asked for again when other texts are asked.
fn answers(
    asked: &[(String, String)],
    made: &Path,
    cache: &Path,
) -> Outcome<BTreeMap<String, Answer>> {
    let json = serde_json::to_string(asked).map_err(|e| e.to_string())?;
    let (texts, answers) = (made.join("asked.json"), made.join("answers.json"));
    let same = answers.is_file() && fs::read_to_string(&texts).is_ok_and(|before| before == json);
    if !same {
        let _ = fs::remove_file(&answers);
        fs::write(&texts, json).map_err(|e| format!("{}: {e}", texts.display()))?;
        step::visibly(judge(&programs(cache)?).arg("answer").arg(made))?;
    }
    read(&answers)
}

/// Reads a file of JSON.
pub(super) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Outcome<T> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_value(value).map_err(|e| format!("{}: {e}", path.display()))
}

/// The script that speaks with DuckDB.
fn judge(programs: &Path) -> Command {
    let mut python = Command::new(programs.join("python"));
    python.arg(workspace::root().join("crates/lab/data/tpcds/judge.py"));
    python
}

/// The directory of the packages' programs, installed once.
fn programs(cache: &Path) -> Outcome<PathBuf> {
    let dir = cache.join("tpcds-packages");
    if !dir.is_dir() {
        let fresh = cache.join(format!("tpcds-packages-{}", std::process::id()));
        let _ = fs::remove_dir_all(&fresh);
        step::visibly(Command::new("python3").args(["-m", "venv"]).arg(&fresh))?;
        // Through Python: the paths of the programs' first lines are those of the folder that it is now.
        step::visibly(
            Command::new(fresh.join("bin/python"))
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                ])
                .args(PACKAGES),
        )?;
        fs::rename(&fresh, &dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    Ok(dir.join("bin"))
}
