//! Suites that are lists: statements, and what is expected of each, written as JSON lines by a small program in Go that reads them where a module keeps
//! them. What runs the statements and compares is here, the same for both servers.
//!
//! Nothing here may ask which server it talks to: what counts is decided where both ends are known.

mod cell;
mod session;
mod unit;

use super::expected;
use super::results::{End, Results};
use super::run::{Run, cache};
use harness::install;
use harness::step::{self, Outcome};
use serde_json::json;
use session::{Answer, Sessions};
use std::fmt::Write as _;
use std::process::Command;
use unit::{Step, Unit};

/// The lists.
#[derive(Debug)]
pub struct Installed {
    units: Vec<Unit>,
}

/// Builds the program in `tests/suites/NAME` and has it write the lists.
///
/// # Errors
/// Its module could not be fetched, or it could not be built.
pub fn install(name: &str) -> Outcome<Installed> {
    if !step::on_path("go") {
        install::packages(&["golang-go"])?;
    }
    let dir = cache()?.join(name);
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let program = dir.join("lists");
    let mut build = Command::new("go");
    build.args(["build", "-buildvcs=false", "-o"]).arg(&program);
    // The engine's regular expressions want a library in C, or a slower one in Go, which is not run here.
    build.env("CGO_ENABLED", "0");
    step::must(build.current_dir(expected::folder().join(name)))?;
    let lines = dir.join("lists.jsonl");
    step::must(Command::new(&program).arg(&lines))?;
    let text = std::fs::read_to_string(&lines).map_err(|e| format!("{}: {e}", lines.display()))?;
    let units = text.lines().map(unit::parse).collect::<Outcome<Vec<_>>>()?;
    match units.is_empty() {
        true => Err(format!("{name} has no lists")),
        false => Ok(Installed { units }),
    }
}

/// Runs all of it.
///
/// # Errors
/// The server is gone, or what was left of a test cannot be removed.
pub fn run(installed: &Installed, run: &Run<'_>) -> Outcome<Results> {
    let mut results = Results::new();
    let mut told = String::new();
    let mut sessions = Sessions::new(&run.server.socket, run.suite.before)?;
    for unit in &installed.units {
        one(unit, &mut sessions, &mut results, &mut told)?;
    }
    let file = run.dir.join("answers.jsonl");
    std::fs::write(&file, told).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(results)
}

fn one(
    unit: &Unit,
    sessions: &mut Sessions,
    results: &mut Results,
    told: &mut String,
) -> Outcome<()> {
    sessions.afresh()?;
    // Their tables are filled with times that end in a Z, which is cut off where that is no error.
    let loose = std::iter::once("SET sql_mode = ''").chain(unit.shared.iter().map(String::as_str));
    for sql in loose.chain(sessions.before.iter().copied()) {
        // Not every test reads every table; one that wants what is not there says so itself.
        sessions.ask("", sql, &unit.databases);
    }
    let failed = unit.own.iter().find_map(|sql| {
        let answer = sessions.ask("", sql, &unit.databases);
        matches!(answer, Answer::Refused { .. } | Answer::Lost(_)).then_some((sql, answer))
    });
    // What comes after a statement that the server does not know is not its answer to the question, in a script.
    let mut lacks = false;
    for (n, step) in unit.steps.iter().enumerate() {
        let test = unit.name_of(n);
        let (answer, end) = match &failed {
            Some((sql, answer)) => {
                lacks |= answer.lacks();
                let why = format!("set-up: {answer}: {sql}");
                (answer.told(), End::Failed(why))
            }
            None => {
                let answer = sessions.ask(&step.client, &step.sql, &unit.databases);
                let lacking = answer.lacks() && !step.refused;
                lacks = lacking || lacks && unit.is_script();
                let end = ended(step, &answer, sessions, &unit.databases);
                (answer.told(), end)
            }
        };
        let end = match end {
            End::Failed(why) if lacks => End::Lacks(why),
            end => end,
        };
        let line = json!({"test": test, "sql": step.sql, "end": format!("{end:?}"), "answer": answer, "rows": step.told()});
        let _ = writeln!(told, "{line}");
        results.insert(test, end);
    }
    Ok(())
}

fn ended(step: &Step, answer: &Answer, sessions: &mut Sessions, databases: &[String]) -> End {
    let wrong = match answer {
        Answer::Refused { .. } if step.refused => None,
        Answer::Lost(_) | Answer::Refused { .. } => Some(answer.to_string()),
        _ if step.refused => Some("it is not refused".to_owned()),
        Answer::Done { affected, id } => step.differs_from_ok(*affected, *id),
        Answer::Rows(rows) => step.differs_from(rows),
    };
    let wrong = wrong.or_else(|| {
        let number = step.warning?;
        let Answer::Rows(rows) = sessions.ask(&step.client, "SHOW WARNINGS", databases) else {
            return Some("there are no warnings".to_owned());
        };
        let number = number.to_string().into_bytes();
        let there = rows
            .iter()
            .any(|r| r.get(1).is_some_and(|c| c.as_ref() == Some(&number)));
        (!there).then(|| format!("warning {} is not there", step.warning.unwrap_or_default()))
    });
    match wrong {
        None => End::Passed,
        Some(why) => End::Failed(why),
    }
}
