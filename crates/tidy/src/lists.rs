//! The lists in `xtask/tidy/`.

use harness::step::Outcome;
use std::path::Path;

/// The lines of a list in `xtask/tidy/`, without comments and blank lines, numbered from 1.
pub fn list(root: &Path, name: &str) -> Outcome<Vec<(usize, String)>> {
    let path = root.join("xtask").join("tidy").join(name);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(text
        .lines()
        .enumerate()
        .map(|(at, line)| {
            let line = line.split('#').next().unwrap_or_default();
            (at + 1, line.trim().to_owned())
        })
        .filter(|(_, line)| !line.is_empty())
        .collect())
}
