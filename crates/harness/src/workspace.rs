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

/// The server that this program drives: built once, by whichever of the functions below comes first.
static SERVER: OnceLock<PathBuf> = OnceLock::new();

/// The server's program: the one that [`quick_server`] has built, or else one of the release profile.
///
/// # Errors
/// It cannot be built.
pub fn server() -> Outcome<PathBuf> {
    built(&["--release"], "release")
}

/// Builds the server without what takes the release profile its last minutes (`[profile.quick]`), and makes it what
/// [`server`] gives from now on: for tests, which want the same program sooner.
///
/// # Errors
/// It cannot be built.
pub fn quick_server() -> Outcome<PathBuf> {
    built(&["--profile", "quick"], "quick")
}

/// The server that was built before or is given by `TIDEMILL_SERVER`, or one that is built with these arguments.
fn built(profile: &[&str], folder: &str) -> Outcome<PathBuf> {
    if let Some(given) = std::env::var_os("TIDEMILL_SERVER") {
        return Ok(PathBuf::from(given));
    }
    if let Some(program) = SERVER.get() {
        return Ok(program.clone());
    }
    let arguments = [profile, &["--package", "tidemill-server"]].concat();
    step::visibly(cargo().arg("build").args(arguments))?;
    let program = target_dir()?.join(folder).join("tidemill");
    if !program.is_file() {
        return Err(format!("the build left no {}", program.display()));
    }
    Ok(SERVER.get_or_init(|| program).clone())
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
