//! End-to-end tests: case files through the unmodified `mariadb` program, then every sysbench script for a moment.
//!
//! The same files run against MariaDB with `--server mariadb`: that is how an expected result is known to be what
//! MySQL's users are used to, and not only what we happen to return.

use crate::case::{self, CaseStatement, Expect};
use crate::{edges, protocol};
use harness::client::{Cli, Conn as _, Fault, Rows, Via};
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use harness::sysbench::{BULK_INSERT, Load, SCRIPTS};
use harness::workspace;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A statement that has not answered after this long is taken to be blocked.
const BLOCKED_AFTER: Duration = Duration::from_millis(250);

/// A statement that must answer, does so within this time.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The server program.
    #[arg(long, value_enum, default_value_t = Kind::Tidemill)]
    server: Kind,
    /// Only files whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
    /// Write what the server answers into the files.
    #[arg(long)]
    bless: bool,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let mut scratch = Scratch::new("e2e")?;
    let result = run(options.server, &options.only, options.bless, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

/// Everything, against our own server.
pub fn all() -> Outcome<()> {
    let mut scratch = Scratch::new("e2e")?;
    let result = run(Kind::Tidemill, "", false, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

fn run(kind: Kind, only: &str, bless: bool, scratch: &Scratch) -> Outcome<()> {
    let setup = Setup::new(kind, scratch.path())?
        .option("innodb-buffer-pool-size=128M")
        .option("innodb-flush-log-at-trx-commit=2")
        .option("innodb-lock-wait-timeout=5")
        .option("max-connections=200")
        .option("max-allowed-packet=64M")
        .option_of(Kind::MariaDb, "character-set-server=utf8mb4")
        .option_of(Kind::MariaDb, "collation-server=utf8mb4_general_ci")
        .option_of(Kind::MariaDb, "innodb-snapshot-isolation=ON")
        .option_of(
            Kind::MariaDb,
            "sql-mode=ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
             ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
        );
    let mut server = setup.start()?;
    case_files(&server, only, bless)?;
    server.must_run()?;
    if only.is_empty() {
        over_tcp(&server)?;
        protocol::run(&server)?;
        smoke(&server)?;
        server.must_run()?;
    }
    if kind == Kind::MariaDb || !only.is_empty() {
        return server.terminate();
    }
    server.terminate()?;
    setup.check_offline()?;
    edges::run(&setup, setup.start()?)
}

fn files() -> Outcome<Vec<PathBuf>> {
    let dir = workspace::root().join("tests").join("sql");
    let entries = std::fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "test"))
        .collect();
    files.sort();
    Ok(files)
}

/// Runs every case file; all of them even after one failed, so that one run shows all that is wrong.
fn case_files(server: &Server, only: &str, bless: bool) -> Outcome<()> {
    step::announce(&format!("case files on {}", server.setup().kind.name()));
    let mut failures = Vec::new();
    let mut blocks_run = 0;
    for path in files()? {
        let name = path
            .file_stem()
            .map_or(String::new(), |s| s.to_string_lossy().into_owned());
        if !name.contains(only) {
            continue;
        }
        match case_file(server, &path, &name, bless) {
            Ok(n) => {
                println!("    {name}: {n} statements");
                blocks_run += n;
            }
            Err(why) => {
                println!("    {name}: FAILED\n{why}");
                failures.push(name);
            }
        }
    }
    if failures.is_empty() && blocks_run > 0 {
        Ok(())
    } else if failures.is_empty() {
        Err("no case file was run".to_owned())
    } else {
        Err(format!("case files that failed: {}", failures.join(", ")))
    }
}

struct Runner<'a> {
    setup: &'a Setup,
    database: String,
    connections: HashMap<String, Cli>,
}

impl Runner<'_> {
    fn connection(&mut self, name: &str) -> Outcome<&mut Cli> {
        if !self.connections.contains_key(name) {
            let mut cli = Cli::open(Via::Socket(&self.setup.socket)).map_err(|e| e.to_string())?;
            cli.run(&format!("USE {}", self.database))
                .map_err(|e| format!("USE: {e}"))?;
            self.connections.insert(name.to_owned(), cli);
        }
        self.connections
            .get_mut(name)
            .ok_or_else(|| format!("no connection {name}"))
    }

    /// Runs one block; what came of it.
    fn answer(&mut self, block: &CaseStatement) -> Outcome<Result<Rows, Fault>> {
        let limit = if block.expect == Expect::Waits {
            BLOCKED_AFTER
        } else {
            ANSWERS_WITHIN
        };
        let cli = self.connection(&block.connection)?;
        if !block.then {
            cli.send(&block.sql).map_err(|e| e.to_string())?;
        }
        Ok(cli.reap(limit))
    }
}

/// Runs one file in a database of its own name; the number of statements.
fn case_file(server: &Server, path: &Path, name: &str, bless: bool) -> Outcome<usize> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let blocks = case::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let kind = server.setup().kind;
    let mut conn = server.connect()?;
    let database = format!("case_{name}");
    for sql in ["DROP DATABASE IF EXISTS", "CREATE DATABASE"] {
        conn.run(&format!("{sql} {database}"))
            .map_err(|e| format!("{sql} {database}: {e}"))?;
    }
    let mut runner = Runner {
        setup: server.setup(),
        database,
        connections: HashMap::new(),
    };
    let mut mistakes = Vec::new();
    let mut blessed = Vec::new();
    let mut count = 0;
    for block in &blocks {
        if block.only.is_some_and(|only| only != kind) {
            continue;
        }
        count += 1;
        let answer = runner
            .answer(block)
            .map_err(|e| format!("{}:{}: {e}", path.display(), block.line))?;
        if let Err(why) = judge(&block.expect, &answer) {
            mistakes.push(format!(
                "{}:{}: {}\n  {}",
                path.display(),
                block.line,
                block.sql.replace('\n', "\n  "),
                why.replace('\n', "\n  ")
            ));
        }
        blessed.push((block.line, answer));
        if matches!(blessed.last(), Some((_, Err(Fault::Lost(_))))) {
            break;
        }
    }
    if bless {
        let new = rewrite(&text, &blocks, &blessed);
        if new != text {
            std::fs::write(path, new).map_err(|e| format!("{}: {e}", path.display()))?;
            println!("    {name}: expectations rewritten; read the difference before keeping it");
        }
        return Ok(count);
    }
    if mistakes.is_empty() {
        Ok(count)
    } else {
        Err(mistakes.join("\n"))
    }
}

fn joined(rows: &Rows) -> Vec<String> {
    rows.iter().map(|row| row.join("\t")).collect()
}

/// Is this what was expected?
fn judge(expect: &Expect, answer: &Result<Rows, Fault>) -> Outcome<()> {
    let got = match answer {
        Ok(rows) => format!("got {} rows:\n{}", rows.len(), joined(rows).join("\n")),
        Err(fault) => format!("got {fault}"),
    };
    let right = match (expect, answer) {
        (Expect::Ok, Ok(_)) | (Expect::Waits, Err(Fault::Waiting)) => true,
        (Expect::Rows { lines, sorted }, Ok(rows)) => {
            let mut got = joined(rows);
            let mut want = lines.clone();
            if *sorted {
                got.sort();
                want.sort();
            }
            got == want
        }
        (
            Expect::Error { code, state, text },
            Err(Fault::Server {
                code: c,
                state: s,
                text: t,
            }),
        ) => code == c && (state.is_empty() || state == s) && t.starts_with(text.as_str()),
        _ => false,
    };
    if right {
        return Ok(());
    }
    let want = match expect {
        Expect::Ok => "wanted no error".to_owned(),
        Expect::Waits => "wanted it to be blocked".to_owned(),
        Expect::Rows { lines, .. } => {
            format!("wanted {} rows:\n{}", lines.len(), lines.join("\n"))
        }
        Expect::Error { code, state, text } => format!("wanted ERROR {code} ({state}): {text}"),
    };
    Err(format!("{want}\n{got}"))
}

/// The file's text with the rows of `rows` and `sorted` blocks replaced by what came back.
fn rewrite(
    text: &str,
    blocks: &[CaseStatement],
    answers: &[(usize, Result<Rows, Fault>)],
) -> String {
    let answers: HashMap<usize, &Result<Rows, Fault>> =
        answers.iter().map(|(line, a)| (*line, a)).collect();
    let starts: HashMap<usize, &CaseStatement> = blocks.iter().map(|b| (b.line, b)).collect();
    let mut out = String::new();
    let mut replace: Option<Vec<String>> = None;
    let mut skipping = false;
    for (at, line) in text.lines().enumerate() {
        if let Some(block) = starts.get(&(at + 1)) {
            replace = match (&block.expect, answers.get(&block.line)) {
                (Expect::Rows { .. }, Some(Ok(rows))) => Some(joined(rows)),
                _ => None,
            };
        }
        if line.is_empty() {
            skipping = false;
        }
        if !skipping {
            out.push_str(line);
            out.push('\n');
        }
        if line == "----"
            && let Some(lines) = replace.take()
        {
            skipping = true;
            for line in lines {
                out.push_str(&line);
                out.push('\n');
            }
        }
    }
    out
}

/// The same program over TCP, for one query.
fn over_tcp(server: &Server) -> Outcome<()> {
    step::announce("a query over TCP");
    let mut cli = Cli::open(Via::Tcp(server.setup().port)).map_err(|e| e.to_string())?;
    let rows = cli
        .run("SELECT 6 * 7")
        .map_err(|e| format!("over TCP: {e}"))?;
    if rows == [["42"]] {
        Ok(())
    } else {
        Err(format!("SELECT 6 * 7 over TCP gives {rows:?}"))
    }
}

/// Each sysbench script for a second, at few threads, over tiny tables, prepared and as text.
fn smoke(server: &Server) -> Outcome<()> {
    let setup = server.setup();
    for ps_mode in ["auto", "disable"] {
        step::announce(&format!("sysbench smoke, --db-ps-mode={ps_mode}"));
        let load = |script| Load {
            tables: 2,
            threads: 8,
            seconds: 1,
            ps_mode,
            ..Load::new(script, 2_000)
        };
        load(SCRIPTS[0]).prepare(setup)?;
        for script in SCRIPTS {
            let figures = load(script).run(setup)?;
            println!("    {script:<22} {:>9.0} queries/s", figures.qps);
        }
        load(SCRIPTS[0]).cleanup(setup)?;
        let bulk = load(BULK_INSERT);
        bulk.prepare(setup)?;
        let figures = bulk.run(setup)?;
        println!("    {BULK_INSERT:<22} {:>9.0} rows/s", figures.tps);
        bulk.cleanup(setup)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judgement() {
        let rows = |lines: &[&str]| Expect::Rows {
            lines: lines.iter().map(|l| (*l).to_owned()).collect(),
            sorted: true,
        };
        let answer: Result<Rows, Fault> = Ok(vec![vec!["2".into()], vec!["1".into(), "a".into()]]);
        assert!(judge(&rows(&["1\ta", "2"]), &answer).is_ok());
        assert!(judge(&rows(&["1\ta"]), &answer).is_err());
        assert!(judge(&Expect::Ok, &answer).is_ok());
        assert!(judge(&Expect::Waits, &answer).is_err());
        assert!(judge(&Expect::Waits, &Err(Fault::Waiting)).is_ok());
    }

    #[test]
    fn blessing_replaces_rows_alone() {
        let text =
            "ok\nSELECT 0\n\nrows\nSELECT 1\n----\nold\nold\n\n# end\nrows\nSELECT 2\n----\n";
        let blocks = case::parse(text).unwrap();
        let answers = vec![
            (1, Ok(vec![vec!["0".to_owned()]])),
            (4, Ok(vec![vec!["1".to_owned()]])),
            (11, Ok(vec![vec!["2".to_owned()]])),
        ];
        assert_eq!(
            rewrite(text, &blocks, &answers),
            "ok\nSELECT 0\n\nrows\nSELECT 1\n----\n1\n\n# end\nrows\nSELECT 2\n----\n2\n"
        );
    }
}
