//! Suites in Go: the tests that a module's archive has.

use super::results::{self, Results};
use super::run::Run;
use harness::install;
use harness::step::{self, Outcome};
use std::path::PathBuf;
use std::process::Command;

/// Fetches a module; its folder, which nobody may write to.
///
/// # Errors
/// It could not be fetched.
pub fn install(module: &str) -> Outcome<PathBuf> {
    if !step::on_path("go") {
        install::packages(&["golang-go"])?;
    }
    let mut fetch = Command::new("go");
    let said = step::must(fetch.args(["mod", "download", "-json", module]))?;
    // Progress may stand beside the document.
    let document = said.find('{').zip(said.rfind('}'));
    let document = document.and_then(|(from, to)| said.get(from..=to));
    let told: serde_json::Value = serde_json::from_str(document.unwrap_or_default())
        .map_err(|e| format!("go mod download {module}: {e}"))?;
    let dir = told["Dir"].as_str().map(PathBuf::from);
    dir.ok_or_else(|| format!("go mod download {module} names no folder"))
}

/// Runs the tests.
///
/// # Errors
/// They could not be started, or told nothing.
pub fn test(sources: &std::path::Path, run: &Run<'_>) -> Outcome<Results> {
    let folder = run.copied(sources)?;
    let mut command = Command::new("go");
    command.args(["test", "-json", "-vet=off", "-count=1"]);
    command.arg(format!("-timeout={}m", run.suite.minutes));
    command.current_dir(folder);
    let said = run.finish(command)?;
    // What the compiler says is no event.
    let events: Vec<&str> = said.lines().filter(|l| l.starts_with('{')).collect();
    let results = results::of_go(&events.join("\n"))?;
    match results.is_empty() {
        true => Err(format!(
            "it told nothing of any test:\n{}",
            step::tail(&said, 20)
        )),
        false => Ok(results),
    }
}
