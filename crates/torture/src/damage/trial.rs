//! One trial: a copy of a directory, damage to one of its files, a start of the program on it, and the judgement.

use super::content::{Book, QUESTIONS, TABLES, digest};
use harness::step::Outcome;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// The longest that one start of the program may take, with everything that is asked of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is done to a file.
#[derive(Debug, Clone, Copy)]
pub enum Damage {
    /// One bit changes.
    Flip { at: u64, bit: u8 },
    /// The file ends here.
    Cut { to: u64 },
    /// Zeros from here on, the length stays.
    Wipe { from: u64 },
    /// The file is gone.
    Gone,
}

impl Damage {
    /// Carries it out.
    pub fn apply(self, path: &Path) -> Outcome<()> {
        self.apply_to(path)
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    fn apply_to(self, path: &Path) -> std::io::Result<()> {
        if let Damage::Gone = self {
            return std::fs::remove_file(path);
        }
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        match self {
            Damage::Flip { at, bit } => {
                let mut byte = [0];
                file.read_exact_at(&mut byte, at)?;
                file.write_all_at(&[byte[0] ^ (1 << bit)], at)
            }
            Damage::Cut { to } => file.set_len(to),
            Damage::Wipe { from } => {
                let len = file.metadata()?.len();
                file.set_len(from)?;
                file.set_len(len)
            }
            Damage::Gone => Ok(()),
        }
    }
}

/// What may come of it.
#[derive(Debug, Clone)]
pub struct Rule {
    /// How many of the last transactions may be found.
    pub states: Vec<usize>,
    /// The start may be refused, in a message that has one of these words.
    pub refused: Vec<String>,
    /// Statements on this table may fail, in messages that name it.
    pub table: Option<usize>,
    /// Statements may fail in messages that have one of these words.
    pub words: Vec<String>,
}

/// Damage and what may come of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file's path in the data directory.
    pub file: String,
    /// What is done to it.
    pub damage: Damage,
    /// What lies there, for the reader.
    pub place: String,
    /// What may come of it.
    pub rule: Rule,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Everything is there: the place was not in use, or was put right.
    Right,
    /// Fewer of the last transactions are there, each as a whole.
    Earlier,
    /// Statements on the damaged table say so by name, all others are right.
    Named,
    /// The start is refused, and the message says why.
    Refused,
}

/// How a program that was run ended, and what it said on both outputs.
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Standard output and standard error, as they came.
    pub text: String,
}

/// Runs `command` with `input`, its outputs in the file `said`; an error if it takes too long.
pub fn bounded(command: &mut Command, input: &Path, said: &Path) -> Outcome<Ended> {
    let failed = |e: std::io::Error| format!("{}: {e}", said.display());
    let output = File::create(said).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let mut child = command
        .stdin(File::open(input).map_err(|e| format!("{}: {e}", input.display()))?)
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|e| format!("{}: {e}", harness::step::shown(command)))?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if begun.elapsed() > PATIENCE => {
                // What it said so far says where it hangs.
                let _ = child.kill();
                let _ = child.wait();
                let text = std::fs::read(said).unwrap_or_default();
                return Err(format!(
                    "it has not ended after {} s:\n{}",
                    PATIENCE.as_secs(),
                    short(&String::from_utf8_lossy(&text))
                ));
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let text = std::fs::read(said).map_err(failed)?;
    Ok(Ended {
        status,
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}

/// A text without its rows, and without the longest of its lines.
pub fn short(text: &str) -> String {
    let dull = |l: &str| {
        l == "h"
            || l.ends_with("\tcheck\tstatus\tOK")
            || ["row|", "mark", "Table\tOp"]
                .iter()
                .any(|s| l.starts_with(s))
    };
    let lines: Vec<String> = text
        .lines()
        .filter(|l| !dull(l))
        .map(|l| format!("      {l:.300}"))
        .collect();
    harness::step::tail(&lines.join("\n"), 30)
}

/// The statements of a trial, in the shell's language.
pub fn script() -> String {
    let mut sql = String::new();
    for (n, (_, question)) in QUESTIONS.iter().enumerate() {
        sql.push_str(&format!("SELECT 'mark|{n}' AS h;\n{question};\n"));
    }
    sql.push_str("SELECT 'mark|end' AS h;\n");
    for table in TABLES {
        sql.push_str(&format!("CHECK TABLE d.{table};\n"));
    }
    sql
}

/// Makes `to` the same as `from`. What it has of an earlier copy stays, where it was not changed since.
pub fn copy_directory(from: &Path, to: &Path) -> Outcome<()> {
    copy(from, to).map_err(|e| format!("copying {}: {e}", from.display()))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(to)? {
        let entry = entry?;
        if from.join(entry.file_name()).exists() {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path())?,
            false => std::fs::remove_file(entry.path())?,
        }
    }
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let meta = entry.metadata()?;
        if meta.is_dir() {
            copy(&source, &target)?;
            continue;
        }
        let same = target.metadata().is_ok_and(|there| {
            there.len() == meta.len() && there.modified().ok() == meta.modified().ok()
        });
        if !same {
            std::fs::copy(&source, &target)?;
            // Whoever changes it from here on gives it another time.
            let file = OpenOptions::new().write(true).open(&target)?;
            file.set_times(std::fs::FileTimes::new().set_modified(meta.modified()?))?;
        }
    }
    Ok(())
}

/// Where a worker works.
pub struct Bench {
    /// The program.
    pub program: PathBuf,
    /// The copy that is damaged.
    pub datadir: PathBuf,
    /// The statements.
    pub script: PathBuf,
    /// What the program says.
    pub said: PathBuf,
}

impl Bench {
    /// Carries out one case, `starts` times over.
    pub fn run(
        &self,
        pristine: &Path,
        case: &Case,
        book: &Book,
        starts: u32,
    ) -> Outcome<(Verdict, String)> {
        copy_directory(pristine, &self.datadir)?;
        case.damage.apply(&self.datadir.join(&case.file))?;
        let mut first = None;
        for _ in 0..starts {
            let ended = self.start()?;
            let verdict = judge(&ended, &case.rule, book)
                .map_err(|why| format!("{why}\n{}", short(&ended.text)))?;
            // The rows must be the same ones at the next start.
            let message = ended
                .text
                .lines()
                .find(|l| l.starts_with("ERROR") || l.contains("cannot be opened"))
                .unwrap_or_default()
                .to_owned();
            match &first {
                None => first = Some((verdict, message)),
                Some((before, _)) if *before == verdict => {}
                Some((before, _)) => {
                    return Err(format!(
                        "the first start gave {before:?}, the next {verdict:?}:\n{}",
                        short(&ended.text)
                    ));
                }
            }
        }
        first.ok_or_else(|| "no start was tried".to_owned())
    }

    fn start(&self) -> Outcome<Ended> {
        let mut ended = bounded(
            Command::new(&self.program)
                .arg("shell")
                .arg(format!("--datadir={}", self.datadir.display()))
                .arg("--innodb-buffer-pool-size=16M")
                .arg("--force"),
            &self.script,
            &self.said,
        )?;
        // Words that are looked for must not come from the name of the directory.
        let name = self.datadir.display().to_string();
        ended.text = ended.text.replace(&name, "DIR");
        Ok(ended)
    }
}

/// What was said between two marks.
#[derive(Default)]
struct Answer<'a> {
    rows: Vec<&'a str>,
    error: Option<&'a str>,
}

fn answers(text: &str) -> BTreeMap<&str, Answer<'_>> {
    let mut all: BTreeMap<&str, Answer<'_>> = BTreeMap::new();
    let mut mark = "";
    for line in text.lines() {
        if let Some(next) = line.strip_prefix("mark|") {
            mark = next;
            all.entry(mark).or_default();
        } else if line.starts_with("row|") {
            all.entry(mark).or_default().rows.push(line);
        } else if line.starts_with("ERROR ") {
            all.entry(mark).or_default().error.get_or_insert(line);
        }
    }
    all
}

/// Holds what was said against the rule.
pub fn judge(ended: &Ended, rule: &Rule, book: &Book) -> Outcome<Verdict> {
    use std::os::unix::process::ExitStatusExt;
    let text = &ended.text;
    if text.contains("panicked") || ended.status.signal().is_some() || ended.status.code() > Some(2)
    {
        return Err(format!("it panicked: {}", ended.status));
    }
    let answers = answers(text);
    if !answers.contains_key("0") {
        return match rule.refused.iter().any(|word| text.contains(word.as_str())) {
            true if !ended.status.success() => Ok(Verdict::Refused),
            _ if rule.refused.is_empty() => Err("the start is refused".to_owned()),
            _ => Err(format!(
                "the start is refused without a word of {:?}",
                rule.refused
            )),
        };
    }
    if !answers.contains_key("end") {
        return Err(format!("it ended in the middle: {}", ended.status));
    }
    let mut states: Vec<usize> = (0..=book.transactions()).collect();
    let mut named = false;
    for (n, (table, question)) in QUESTIONS.iter().enumerate() {
        let Some(answer) = answers.get(n.to_string().as_str()) else {
            return Err(format!("no answer to: {question}"));
        };
        if let Some(error) = answer.error {
            let full_name = format!("d.{}", TABLES[*table]);
            let own = rule.table == Some(*table) && error.contains(&full_name);
            if !own && !rule.words.iter().any(|w| error.contains(w.as_str())) {
                return Err(format!("d.{}: {error:.300}", TABLES[*table]));
            }
            named = true;
            continue;
        }
        let of = book.state_of(n, digest(answer.rows.iter().copied()));
        if of.is_empty() {
            return Err(format!(
                "WRONG ROWS: {question:.90}: {}",
                book.difference(n, &answer.rows)
            ));
        }
        states.retain(|k| of.contains(k));
    }
    if states.is_empty() {
        return Err(
            "WRONG ROWS: the tables are of different states, a transaction is half there"
                .to_owned(),
        );
    }
    checks(text, rule, named)?;
    let last = book.transactions();
    if !states.iter().any(|k| rule.states.contains(k)) {
        return Err(format!(
            "LOST ROWS: after {states:?} of {last} transactions; it may be {:?}",
            rule.states
        ));
    }
    Ok(match named {
        true => Verdict::Named,
        false if states.contains(&last) => Verdict::Right,
        false => Verdict::Earlier,
    })
}

/// What CHECK TABLE says: no damage where none was done, and not "OK" where rows cannot be read.
fn checks(text: &str, rule: &Rule, named: bool) -> Outcome<()> {
    for (table, name) in TABLES.iter().enumerate() {
        let start = format!("d.{name}\tcheck\t");
        let lines: Vec<&str> = text.lines().filter(|l| l.starts_with(&start)).collect();
        let sound = lines.iter().all(|l| l.ends_with("\tstatus\tOK")) && !lines.is_empty();
        let may_fail = rule.table == Some(table) || !rule.words.is_empty();
        if !sound && !may_fail {
            return Err(format!("CHECK TABLE d.{name}: {lines:?}"));
        }
        if sound && named && rule.table == Some(table) {
            return Err(format!(
                "CHECK TABLE d.{name} is content, but rows cannot be read"
            ));
        }
    }
    Ok(())
}
