//! Suites in Python: the sources that a package publishes, in a virtual environment of their own.

use super::results::{self, Results};
use super::run::{Run, cache};
use super::table::Python;
use harness::install;
use harness::step::{self, Outcome};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is installed of a suite.
#[derive(Debug)]
pub struct Installed {
    python: PathBuf,
    sources: PathBuf,
}

/// Installs the package, what it runs with, and its sources, unless that is there.
///
/// # Errors
/// Something could not be fetched or built.
pub fn install(package: Python) -> Outcome<Installed> {
    install::packages(install::PYTHON)?;
    let pin = format!("{}=={}", package.package, package.version);
    let dir = cache()?.join(format!("{}-{}", package.package, package.version));
    let stamp = dir.join("installed");
    let wanted = package.with.join("\n");
    if !std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        println!("    installing {pin} into {}", dir.display());
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("sources"))
            .map_err(|e| format!("{}: {e}", dir.display()))?;
        fill(package, &pin, &dir)?;
        std::fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
    }
    let unpacked = std::fs::read_dir(dir.join("sources")).map_err(|e| e.to_string())?;
    let sources = unpacked.flatten().map(|e| e.path()).find(|p| p.is_dir());
    Ok(Installed {
        python: dir.join("venv/bin/python"),
        sources: sources.ok_or_else(|| format!("{pin} has no sources"))?,
    })
}

fn fill(package: Python, pin: &str, dir: &Path) -> Outcome<()> {
    let venv = dir.join("venv");
    step::must(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let pip = |args: &[&str]| {
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args([args[0], "--quiet", "--disable-pip-version-check"]);
        pip.args(&args[1..]);
        pip
    };
    // The tests are in the sources alone.
    let mut download = pip(&["download", "--no-deps", "--no-binary", package.package, pin]);
    step::must(download.arg("--dest").arg(dir))?;
    step::must(pip(&["install", pin]).args(package.with))?;
    let mut unpack = Command::new("sh");
    unpack.args(["-c", "tar -xzf ./*.tar.gz -C sources && rm ./*.tar.gz"]);
    step::must(unpack.current_dir(dir)).map(drop)
}

fn python(installed: &Installed, run: &Run<'_>, folder: &Path) -> Command {
    let mut command = Command::new(&installed.python);
    command
        .current_dir(folder)
        .env("PYTHONPATH", super::expected::folder())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SUITE_PORT", run.port().to_string())
        .env("SUITE_REPORT", report(run));
    command
}

fn report(run: &Run<'_>) -> PathBuf {
    run.dir.join("report")
}

/// Runs a suite of pytest.
///
/// # Errors
/// It could not be started, or told nothing.
pub fn pytest(installed: &Installed, run: &Run<'_>) -> Outcome<Results> {
    let folder = run.copied(&installed.sources)?;
    let mut command = python(installed, run, &folder);
    command.args([
        "-m",
        "pytest",
        "-q",
        "-p",
        "report",
        "-p",
        "no:cacheprovider",
    ]);
    finished(command, run)
}

/// Runs Django's suite.
///
/// # Errors
/// It could not be started, or told nothing.
pub fn django(installed: &Installed, run: &Run<'_>) -> Outcome<Results> {
    let folder = run.copied(&installed.sources)?.join("tests");
    let mut command = python(installed, run, &folder);
    command.args(["runtests.py", "--settings=django_settings", "--parallel=1"]);
    command.args(["--noinput", "--verbosity=0"]);
    finished(command, run)
}

fn finished(command: Command, run: &Run<'_>) -> Outcome<Results> {
    let said = run.finish(command)?;
    let lines = std::fs::read_to_string(report(run)).map_err(|e| {
        format!(
            "it told nothing of any test ({e}):\n{}",
            step::tail(&said, 20)
        )
    })?;
    results::of_report(&lines)
}
