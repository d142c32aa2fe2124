//! The rows, by `tpchgen-cli` of a pinned version.

use harness::step::{self, Outcome};
use harness::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of the program. Its rows are those of the specification's own generator, whichever version makes them.
const VERSION: &str = "4.0.0";

/// A directory with one file of rows a table.
pub(super) fn made(scale: f64, cache: &Path) -> Outcome<PathBuf> {
    let dir = cache.join(format!("tpch-{scale}-rows"));
    if dir.is_dir() {
        return Ok(dir);
    }
    let program = program(cache)?;
    let fresh = cache.join(format!("tpch-{scale}-rows-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&fresh);
    step::visibly(
        Command::new(program)
            .arg(format!("--scale-factor={scale}"))
            .arg("--output-dir")
            .arg(&fresh),
    )?;
    std::fs::rename(&fresh, &dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    Ok(dir)
}

/// The program, built from crates.io once.
fn program(cache: &Path) -> Outcome<PathBuf> {
    let root = cache.join(format!("tpchgen-cli-{VERSION}"));
    let program = root.join("bin").join("tpchgen-cli");
    if !program.is_file() {
        step::visibly(
            workspace::cargo()
                .args(["install", "--locked", "tpchgen-cli", "--version", VERSION])
                .arg("--target-dir")
                .arg(root.join("target"))
                .arg("--root")
                .arg(&root),
        )?;
        let _ = std::fs::remove_dir_all(root.join("target"));
    }
    Ok(program)
}
