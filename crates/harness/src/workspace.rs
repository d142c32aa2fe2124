//! Where things are: the workspace, the target directory, the release server.

use crate::step::{self, Outcome};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Cargo itself: the one that runs us, or the one on the PATH.
pub fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Cargo's target directory, wherever the user's configuration puts it.
pub fn target_dir() -> Outcome<PathBuf> {
    if let Some(dir) = std::env::var_os("CARGO_TARGET_DIR") {
        return Ok(root().join(dir));
    }
    let text = step::must(cargo().args(["metadata", "--format-version=1", "--no-deps"]))?;
    // Warnings may stand beside the document, which is one line.
    let line = text.lines().find(|line| line.starts_with('{'));
    let metadata: serde_json::Value = serde_json::from_str(line.unwrap_or_default())
        .map_err(|e| format!("cargo metadata: {e}"))?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| "cargo metadata names no target_directory".to_owned())
}

/// Builds the server with the release profile and returns its path.
pub fn release_server() -> Outcome<PathBuf> {
    if let Some(given) = std::env::var_os("TIDEMILL_SERVER") {
        return Ok(PathBuf::from(given));
    }
    step::visibly(cargo().args(["build", "--release", "--package", "tidemill-server"]))?;
    let program = target_dir()?.join("release").join("tidemill");
    if program.is_file() {
        Ok(program)
    } else {
        Err(format!("the build left no {}", program.display()))
    }
}

/// Builds a server that counts nothing, and returns its path: what statistics cost is the difference to it.
pub fn uncounted_server() -> Outcome<PathBuf> {
    if let Some(given) = std::env::var_os("TIDEMILL_UNCOUNTED_SERVER") {
        return Ok(PathBuf::from(given));
    }
    let dir = target_dir()?.join("uncounted");
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    step::visibly(
        cargo()
            .args(["build", "--release", "--package", "tidemill-server"])
            .arg("--target-dir")
            .arg(&dir)
            .env("RUSTFLAGS", format!("{flags} --cfg tidemill_uncounted")),
    )?;
    Ok(dir.join("release").join("tidemill"))
}
