//! Where things are: the workspace, the target directory, the server's program.

use crate::step::{self, Outcome};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

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

/// The server that this program drives: whichever of the functions below came first has named it.
static SERVER: OnceLock<PathBuf> = OnceLock::new();

/// The server's program: the one that [`take_tested_server`] has found, or else one of the release profile, which is built once.
///
/// # Errors
/// It cannot be built.
pub fn server() -> Outcome<PathBuf> {
    if let Some(program) = named_server() {
        return Ok(program);
    }
    built_with("release")
}

/// Makes the server of the profile `dist` what [`server`] gives from now on: the one that packages have, which is what is measured.
///
/// # Errors
/// It cannot be built.
pub fn take_measured_server() -> Outcome<PathBuf> {
    named_server().map_or_else(|| built_with("dist"), Ok)
}

fn built_with(profile: &str) -> Outcome<PathBuf> {
    step::visibly(cargo().args([
        "build",
        "--profile",
        profile,
        "--package",
        "tidemill-server",
    ]))?;
    let program = built_by_cargo(profile, "tidemill")?;
    Ok(SERVER.get_or_init(|| program).clone())
}

/// Makes the server that `cargo test` has built for its own tests what [`server`] gives from now on: all assertions are on
/// in it, and nobody waits for another build.
///
/// # Errors
/// There is none.
pub fn take_tested_server() -> Outcome<PathBuf> {
    if let Some(program) = named_server() {
        return Ok(program);
    }
    let program = built_by_cargo("debug", "tidemill")?;
    Ok(SERVER.get_or_init(|| program).clone())
}

/// The server that `TIDEMILL_SERVER` gives, or that was named before.
fn named_server() -> Option<PathBuf> {
    let given = std::env::var_os("TIDEMILL_SERVER").map(PathBuf::from);
    given.or_else(|| SERVER.get().cloned())
}

/// A program that cargo has left in this folder of the target directory.
///
/// # Errors
/// It has left none.
pub fn built_by_cargo(folder: &str, name: &str) -> Outcome<PathBuf> {
    let program = target_dir()?.join(folder).join(name);
    match program.is_file() {
        true => Ok(program),
        false => Err(format!("the build left no {}", program.display())),
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
            .args(["build", "--profile", "dist", "--package", "tidemill-server"])
            .arg("--target-dir")
            .arg(&dir)
            .env("RUSTFLAGS", format!("{flags} --cfg tidemill_uncounted")),
    )?;
    Ok(dir.join("dist").join("tidemill"))
}
