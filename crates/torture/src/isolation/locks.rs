//! Scenarios of locks (`tests/isolation/locks/*.locks`): who waits for whom, who is refused, and what each reads then.
//!
//! ```text
//! setup CREATE TABLE t (id INT PRIMARY KEY, v INT)
//!
//! == the gap around an absent key
//! a1 SELECT * FROM t WHERE id = 5 FOR UPDATE
//! b1 INSERT INTO t VALUES (5, 0)
//! a2 COMMIT
//! both rr: a1 none | b1 waits | a2 ok | b1 ok
//! ```
//!
//! What stands before the first `==` is the setup of all. Steps are sent in the order in which they stand; each session begins a
//! transaction before its first. `both` pins what MariaDB and Tidemill give at the levels named. Where they differ, `mariadb` and
//! `tidemill` pin each, and `because` gives the reason: there is none without one.

use super::client::level_name;
use super::fixture::{DATABASE, open};
use super::play::{Stage, patiently};
use super::scenario::{Scenario, Short, short};
use ::isolation::Level;
use harness::server::{Kind, Server};
use harness::step::{self, Outcome};
use harness::workspace;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A pinned trace.
#[derive(Debug, Clone)]
struct Pin {
    /// Of one server alone.
    kind: Option<Kind>,
    levels: Vec<Level>,
    trace: String,
}

/// One scenario of a file.
#[derive(Debug, Default)]
struct Locks {
    name: String,
    scenario: Scenario,
    pins: Vec<Pin>,
    because: Option<String>,
}

impl Locks {
    fn pinned(&self, kind: Kind, level: Level) -> Option<&str> {
        let of = |p: &&Pin| p.kind.is_none_or(|k| k == kind) && p.levels.contains(&level);
        self.pins.iter().find(of).map(|p| p.trace.as_str())
    }

    /// The levels at which it is played: those that are pinned, or MySQL's own.
    fn levels(&self) -> Vec<Level> {
        let mut levels: Vec<Level> = self.pins.iter().flat_map(|p| p.levels.clone()).collect();
        levels.sort_unstable();
        levels.dedup();
        match levels.is_empty() {
            true => vec![Level::RepeatableRead],
            false => levels,
        }
    }
}

fn pin(kind: Option<Kind>, rest: &str) -> Outcome<Pin> {
    let (levels, trace) = rest.split_once(':').ok_or("a colon is missing")?;
    let levels = levels
        .split_whitespace()
        .map(|w| w.parse::<Short>().map(|s| s.0))
        .collect::<Outcome<_>>()?;
    let trace = trace.trim().to_owned();
    Ok(Pin {
        kind,
        levels,
        trace,
    })
}

fn parse(text: &str) -> Outcome<Vec<Locks>> {
    let mut common = Vec::new();
    let mut all: Vec<Locks> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        if word == "==" {
            let mut locks = Locks {
                name: rest.to_owned(),
                ..Locks::default()
            };
            locks.scenario.setup.clone_from(&common);
            all.push(locks);
            continue;
        }
        let Some(last) = all.last_mut() else {
            common.push(rest.to_owned());
            continue;
        };
        match word {
            "both" => last.pins.push(pin(None, rest)?),
            "mariadb" => last.pins.push(pin(Some(Kind::MariaDb), rest)?),
            "tidemill" => last.pins.push(pin(Some(Kind::Tidemill), rest)?),
            "because" => last.because = Some(rest.to_owned()),
            "setup" | "after" => last.scenario.line(word, rest)?,
            _ => {
                last.scenario
                    .line(word, rest)
                    .map_err(|e| format!("line {}: {e}", at + 1))?;
                last.scenario.order.push(last.scenario.order.len());
            }
        }
    }
    for l in &all {
        let alone = l.pins.iter().any(|p| p.kind.is_some());
        if alone != l.because.is_some() {
            return Err(format!(
                "{}: what differs has a reason, and only that",
                l.name
            ));
        }
    }
    Ok(all)
}

fn files() -> Outcome<Vec<PathBuf>> {
    let dir = workspace::root().join("tests/isolation/locks");
    let entries = std::fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "locks"))
        .collect();
    files.sort();
    Ok(files)
}

/// The file's text with what `kind` gave in the place of what is pinned for it. What both are to give is what MariaDB gives.
fn rewrite(text: &str, kind: Kind, traces: &[(String, Level, String)]) -> String {
    let mut out = String::new();
    let mut name = String::new();
    let mut told = true;
    for line in text.lines().chain(["=="]) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mine = word == kind.name() || word == "both" && kind == Kind::MariaDb;
        if (mine || word == "==" && kind == Kind::MariaDb) && !told {
            let prefix = if mine { word } else { "both" };
            // Levels that gave the same are one line.
            let of: Vec<_> = traces.iter().filter(|t| t.0 == name).collect();
            let mut done: Vec<&str> = Vec::new();
            for (_, _, trace) in &of {
                if done.contains(&trace.as_str()) {
                    continue;
                }
                done.push(trace);
                let levels = of.iter().filter(|t| t.2 == *trace);
                let levels: Vec<&str> = levels.map(|t| short(t.1)).collect();
                let _ = writeln!(out, "{prefix} {}: {trace}", levels.join(" "));
            }
            told = true;
        }
        if word == "==" {
            name = rest.trim().to_owned();
            told = name.is_empty();
            if name.is_empty() {
                break;
            }
        }
        if mine {
            continue;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Plays every scenario of which the name, or the file's, contains `only`.
pub fn all(server: &Server, only: &str, bless: bool) -> Outcome<()> {
    let setup = server.setup();
    let kind = setup.kind;
    step::announce(&format!("scenarios of locks on {}", kind.name()));
    let mut control = open(setup).map_err(|e| e.to_string())?;
    let create = format!("CREATE DATABASE IF NOT EXISTS {DATABASE}");
    control.query(&create).map_err(|e| e.to_string())?;
    let mut wrong = Vec::new();
    for path in files()? {
        let fail = |e: String| format!("{}: {e}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|e| fail(e.to_string()))?;
        let stem = path
            .file_stem()
            .map_or(String::new(), |s| s.to_string_lossy().into_owned());
        let (mut played, mut differ) = (0, 0);
        let mut traces = Vec::new();
        for locks in parse(&text).map_err(fail)? {
            if !stem.contains(only) && !locks.name.contains(only) {
                continue;
            }
            differ += usize::from(locks.because.is_some());
            for level in locks.levels() {
                let mut stage = Stage::new(setup, level)?;
                let pinned = if bless {
                    None
                } else {
                    locks.pinned(kind, level)
                };
                let got = patiently(&mut stage, &locks.scenario, pinned)
                    .map_err(|e| format!("{} at {}: {e}", locks.name, level_name(level)))?;
                played += 1;
                if !bless && pinned != Some(&got) {
                    wrong.push(told(&path, &locks, level, pinned, &got));
                }
                traces.push((locks.name.clone(), level, got));
            }
        }
        println!(
            "    {stem:<24} {played} played, {differ} differ between the servers for a reason"
        );
        if bless && only.is_empty() {
            std::fs::write(&path, rewrite(&text, kind, &traces))
                .map_err(|e| fail(e.to_string()))?;
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("scenarios of locks:\n    {}", wrong.join("\n    "))),
    }
}

fn told(path: &Path, locks: &Locks, level: Level, wanted: Option<&str>, got: &str) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "{file}: {} at {}\n      wanted {}\n      got    {got}",
        locks.name,
        level_name(level),
        wanted.unwrap_or("(nothing is pinned)")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "setup CREATE\n\n== one\na1 SELECT 1\nb1 SELECT 2\nboth rr ser: a1 1 | b1 2\n\
                        \n== two\na1 SELECT 3\nmariadb rr: a1 3\ntidemill rr: a1 4\nbecause of it\n";

    #[test]
    fn a_file_is_read() {
        let all = parse(TEXT).unwrap();
        assert_eq!((all.len(), all[0].scenario.order.len()), (2, 2));
        assert_eq!(all[0].scenario.setup, ["CREATE"]);
        assert_eq!(
            all[0].pinned(Kind::MariaDb, Level::Serializable),
            Some("a1 1 | b1 2")
        );
        assert_eq!(
            all[1].pinned(Kind::Tidemill, Level::RepeatableRead),
            Some("a1 4")
        );
        assert!(
            parse("== x\na1 SELECT 1\nmariadb rr: a1 1\n").is_err(),
            "without a reason"
        );
    }

    #[test]
    fn blessing_replaces_what_one_server_gave() {
        let rr = Level::RepeatableRead;
        let traces = [
            ("one".to_owned(), rr, "x".to_owned()),
            ("two".to_owned(), rr, "y".to_owned()),
        ];
        let text = rewrite(TEXT, Kind::MariaDb, &traces);
        assert!(text.contains("b1 SELECT 2\nboth rr: x\n"), "{text}");
        assert!(
            text.contains("mariadb rr: y\ntidemill rr: a1 4\n"),
            "{text}"
        );
    }
}
