//! The files: read, unpacked, and brought from sqlite's original form into the one that the parser of the crate knows.
//!
//! Two things of the original are not the crate's: a comment behind a condition (`onlyif mysql # DIV`), and a `halt` under a
//! condition, which ends the file for one server alone. Both are settled here, line for line, so that places in messages stay right.

use flate2::read::GzDecoder;
use harness::step::Outcome;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What the server under test is called in `onlyif` and `skipif`.
pub const LABEL: &str = "mysql";

/// Names that end so are files of records; each may be packed (`.gz`).
const ENDINGS: [&str; 2] = [".test", ".slt"];

/// The files below `dir`, in the order of their names.
pub fn files(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for entry in entries {
            let path = entry
                .map_err(|e| format!("{}: {e}", folder.display()))?
                .path();
            let name = path.to_string_lossy().into_owned();
            let plain = name.strip_suffix(".gz").unwrap_or(&name);
            if path.is_dir() {
                folders.push(path);
            } else if ENDINGS.iter().any(|ending| plain.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The text of a file, packed or not.
pub fn text(path: &Path) -> Outcome<String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut text = String::new();
    let mut file = std::fs::File::open(path).map_err(failed)?;
    if path.extension().is_some_and(|e| e == "gz") {
        GzDecoder::new(file)
            .read_to_string(&mut text)
            .map_err(failed)?;
    } else {
        file.read_to_string(&mut text).map_err(failed)?;
    }
    Ok(text)
}

/// The same records in the crate's form; what stands behind a `halt` that counts is gone.
pub fn prepared(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    // Conditions that wait for their record: where they stand, and whether they hold.
    let mut waiting: Vec<(usize, bool)> = Vec::new();
    for line in text.lines() {
        let line = line.trim_end();
        let condition = line
            .strip_prefix("onlyif ")
            .map(|label| (label, true))
            .or_else(|| line.strip_prefix("skipif ").map(|label| (label, false)));
        if let Some((label, only)) = condition {
            let label = label.split('#').next().unwrap_or("").trim();
            waiting.push((out.len(), (label == LABEL) == only));
            let word = if only { "onlyif" } else { "skipif" };
            out.push(format!("{word} {label}"));
        } else if line == "halt" {
            if waiting.iter().all(|(_, holds)| *holds) {
                break;
            }
            for (at, _) in waiting.drain(..) {
                out[at] = "#".to_owned();
            }
            out.push("#".to_owned());
        } else {
            if !line.starts_with('#') {
                waiting.clear();
            }
            out.push(line.to_owned());
        }
    }
    let mut text = out.join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_behind_a_condition_is_dropped() {
        assert_eq!(
            prepared("onlyif mysql # DIV: \nquery I\n"),
            "onlyif mysql\nquery I\n"
        );
    }

    #[test]
    fn a_halt_of_another_server_goes_with_its_condition() {
        assert_eq!(
            prepared("onlyif mssql\n# why\nhalt\n\nstatement ok\nA\n"),
            "#\n# why\n#\n\nstatement ok\nA\n"
        );
    }

    #[test]
    fn a_halt_that_counts_ends_the_file() {
        for halt in ["halt", "onlyif mysql\nhalt", "skipif sqlite # all\nhalt"] {
            let text = format!("statement ok\nA\n\n{halt}\n\nstatement ok\nB\n");
            assert!(!prepared(&text).contains('B'), "{halt}");
        }
        assert!(prepared("skipif mysql\nhalt\nstatement ok\nB\n").contains('B'));
    }

    #[test]
    fn conditions_of_one_record_do_not_count_for_a_later_halt() {
        let text = "skipif mysql\nstatement ok\nA\n\nhalt\nB\n";
        assert!(!prepared(text).contains('B'));
    }
}
