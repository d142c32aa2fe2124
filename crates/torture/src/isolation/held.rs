//! What is locked behind a statement (`tests/isolation/held`): every statement of the matrix, by every way to its rows, at four levels, after which a
//! second session tries each row: `.` is free, `S` is locked for sharing, `X` is locked.
//!
//! The transaction is open (`open`), has gone back to a savepoint before the statement (`undone`), or is prepared (`prepared`, XA). A statement that is
//! sent as text leaves what one that is prepared leaves: who does not is a fault, whatever is written down.
//!
//! MariaDB's answers are written down in `answers.txt`. Where ours are others, `differences.txt` has them, each with the reason's name in `docs/isolation.md`:
//! a line there that is not so any more is a fault, so that the list can only shrink.
//!
//! Must never do: change what is in the tables; wait for a lock that is there.

mod matrix;

use super::client::set_level;
use super::fixture::{DATABASE, open};
use super::scenario::short;
use ::isolation::Level;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use harness::workspace;
use matrix::{Case, Matrix, parse, split};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};

const LEVELS: &[Level] = &[
    Level::ReadUncommitted,
    Level::ReadCommitted,
    Level::RepeatableRead,
    Level::Serializable,
];

/// A statement that has not answered after this waits. On a busy machine one that is only slow looks like it, so an answer that is another than what is written
/// down is asked for again with more patience.
const WAITS: &[Duration] = &[
    Duration::from_millis(150),
    Duration::from_millis(1000),
    Duration::from_millis(5000),
];

/// So many answers are others than MariaDB's. It is to become less.
const DIFFERENCES: usize = 770;

/// By this time a killed statement has answered.
const PATIENCE: Duration = Duration::from_secs(30);

/// What becomes of the transaction behind the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    Open,
    Undone,
    Prepared,
}

const ENDINGS: &[(Ending, &str)] = &[
    (Ending::Open, "open"),
    (Ending::Undone, "undone"),
    (Ending::Prepared, "prepared"),
];

/// Where, and what is locked there: by case, what became of the transaction, and the level.
type Answers = BTreeMap<(String, String, String), String>;

fn path(name: &str) -> PathBuf {
    workspace::root().join("tests/isolation/held").join(name)
}

fn read(name: &str) -> Outcome<String> {
    let path = path(name);
    std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
}

/// `case | ending | level answer | level answer …`
fn parse_answers(text: &str) -> Outcome<Answers> {
    let mut all = Answers::new();
    for line in text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
    {
        let mut parts = line.split(" | ");
        let (Some(case), Some(ending)) = (parts.next(), parts.next()) else {
            return Err(format!("not an answer: {line}"));
        };
        for part in parts {
            let (level, answer) = split(part)?;
            let key = (case.to_owned(), ending.to_owned(), level.to_owned());
            all.insert(key, answer.to_owned());
        }
    }
    Ok(all)
}

/// What differs, by where. `case | ending | reason | level answer | level answer …`; every reason is one that `docs/isolation.md` names.
fn parse_differences(text: &str, docs: &str) -> Outcome<Answers> {
    let mut answers = String::new();
    for line in text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
    {
        let parts: Vec<&str> = line.splitn(4, " | ").collect();
        let [case, ending, reason, rest] = parts[..] else {
            return Err(format!("not a difference: {line}"));
        };
        if !docs.contains(&format!("| `{reason}` |")) {
            return Err(format!("no reason in docs/isolation.md: {reason}"));
        }
        let _ = writeln!(answers, "{case} | {ending} | {rest}");
    }
    let all = parse_answers(&answers)?;
    match all.len() <= DIFFERENCES {
        true => Ok(all),
        false => Err(format!(
            "{} differences, where there were {DIFFERENCES}",
            all.len()
        )),
    }
}

fn written(matrix: &Matrix, answers: &Answers) -> String {
    let mut out = "# What MariaDB keeps locked (written by `cargo xtask isolation --server mariadb --bless`): rows of t p c n b h, and in the parts\n# behind those of others.\n"
        .to_owned();
    for case in &matrix.cases {
        for (_, ending) in ENDINGS {
            let _ = write!(out, "{} | {ending}", case.name);
            for &level in LEVELS {
                let key = (
                    case.name.clone(),
                    (*ending).to_owned(),
                    short(level).to_owned(),
                );
                let answer = answers.get(&key).map_or("?", String::as_str);
                let _ = write!(out, " | {} {answer}", short(level));
            }
            out.push('\n');
        }
    }
    out
}

fn text(e: &ClientError) -> String {
    match e {
        ClientError::Server(e) => e.code.to_string(),
        e => format!("lost:{e}"),
    }
}

/// The connections of one server.
struct Bench<'a> {
    setup: &'a Setup,
    control: Conn,
    /// Tries what is locked.
    probe: Conn,
    /// How long a statement may take that does not wait.
    patience: Duration,
    /// Every row, as `table id`, by part and table.
    rows: Vec<Vec<Vec<(String, String)>>>,
    /// Where the files are that statements read.
    folder: PathBuf,
}

/// The folder of the files that statements read: `secure_file_priv` has to allow it.
pub fn files_of(setup: &Setup) -> PathBuf {
    let dir = setup.datadir.parent();
    dir.unwrap_or(&setup.datadir).to_path_buf()
}

fn run(conn: &mut Conn, sql: &str) -> Outcome<()> {
    conn.query(sql).map(drop).map_err(|e| format!("{sql}: {e}"))
}

impl<'a> Bench<'a> {
    fn new(setup: &'a Setup, matrix: &Matrix) -> Outcome<Bench<'a>> {
        let fail = |e: ClientError| e.to_string();
        let mut control = open(setup).map_err(fail)?;
        run(&mut control, "DROP DATABASE IF EXISTS held")?;
        run(&mut control, "CREATE DATABASE held")?;
        run(&mut control, "USE held")?;
        for sql in &matrix.setup {
            run(&mut control, sql)?;
        }
        let mut keys = |(table, sql): &(String, String)| -> Outcome<Vec<(String, String)>> {
            let mut got = control.query(sql).map_err(|e| format!("{sql}: {e}"))?;
            let of = got.pop().unwrap_or_default().rows;
            let key = |row: &Vec<Value>| match &row[0] {
                Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
                other => format!("{other:?}"),
            };
            Ok(of.iter().map(|r| (table.clone(), key(r))).collect())
        };
        let mut rows = Vec::new();
        for part in &matrix.rows {
            rows.push(part.iter().map(&mut keys).collect::<Outcome<Vec<_>>>()?);
        }
        let folder = files_of(setup);
        for (name, text) in &matrix.files {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let probe = Bench::connect(setup, Level::ReadCommitted)?;
        Ok(Bench {
            setup,
            control,
            probe,
            patience: WAITS[0],
            rows,
            folder,
        })
    }

    fn connect(setup: &Setup, level: Level) -> Outcome<Conn> {
        let mut conn = open(setup).map_err(|e| e.to_string())?;
        run(&mut conn, "USE held")?;
        run(&mut conn, &set_level(level))?;
        Ok(conn)
    }

    /// What a case gives, sent as text and prepared; with more patience where that is not what is expected.
    fn patiently(
        &mut self,
        conn: &mut Conn,
        case: &Case,
        ending: Ending,
        expected: Option<&str>,
    ) -> Outcome<(String, String)> {
        let mut both = Default::default();
        for patience in WAITS.iter().skip(usize::from(expected.is_none())) {
            self.patience = *patience;
            let as_text = self.play(conn, case, ending, false)?;
            // LOAD DATA is one of those that cannot be prepared.
            let as_text_only = case.sql.contains("; ") || case.sql.starts_with("LOAD ");
            let prepared = match as_text_only {
                true => as_text.clone(),
                false => self.play(conn, case, ending, true)?,
            };
            both = (as_text, prepared);
            if expected.is_none_or(|e| e == both.0 && e == both.1) {
                break;
            }
        }
        Ok(both)
    }

    /// Runs a case in a transaction of `conn`, and says what it has locked. The transaction is gone then.
    fn play(
        &mut self,
        conn: &mut Conn,
        case: &Case,
        ending: Ending,
        prepared: bool,
    ) -> Outcome<String> {
        match ending {
            Ending::Prepared => run(conn, "XA START 'held'")?,
            _ => run(conn, "BEGIN")?,
        }
        if ending == Ending::Undone {
            // Before its first use of the engine a savepoint would be the transaction's beginning.
            run(conn, "UPDATE c SET v = v + 1 WHERE id = 2")?;
            run(conn, "SAVEPOINT here")?;
        }
        let sql = case
            .sql
            .replace("{files}", &self.folder.display().to_string());
        let done = match prepared {
            false => conn.query(&sql).map(drop),
            true => match conn.prepare(&sql) {
                Ok(statement) => {
                    let done = conn.execute(&statement, &[]).map(drop);
                    conn.close(&statement).map_err(|e| e.to_string())?;
                    done
                }
                Err(e) => Err(e),
            },
        };
        let done = done.as_ref().err().map_or("ok".to_owned(), text);
        match ending {
            Ending::Open => {}
            Ending::Undone => run(conn, "ROLLBACK TO here")?,
            Ending::Prepared => {
                run(conn, "XA END 'held'")?;
                run(conn, "XA PREPARE 'held'")?;
            }
        }
        let mut answer = done;
        let rows = std::mem::take(&mut self.rows);
        for of in &rows[case.part] {
            answer.push(' ');
            for (table, id) in of {
                answer.push(self.state(table, id)?);
            }
        }
        self.rows = rows;
        if let Some(sql) = &case.tried {
            let _ = write!(answer, " {}", self.try_insert(sql)?);
        }
        let end = match ending {
            Ending::Prepared => "XA ROLLBACK 'held'",
            _ => "ROLLBACK",
        };
        run(conn, end)?;
        Ok(answer)
    }

    fn state(&mut self, table: &str, id: &str) -> Outcome<char> {
        let share = match self.setup.kind {
            Kind::MariaDb => "LOCK IN SHARE MODE",
            _ => "FOR SHARE",
        };
        for (how, state) in [("FOR UPDATE", '.'), (share, 'S')] {
            let sql = format!("SELECT 1 FROM {table} WHERE id = {id} {how} NOWAIT");
            match self.probe.query(&sql) {
                Ok(results) if results.iter().any(|r| !r.rows.is_empty()) => return Ok(state),
                Ok(_) => return Ok('-'),
                Err(ClientError::Server(e)) if matches!(e.code, 1205 | 3572) => {}
                Err(e) => return Err(format!("{sql}: {e}")),
            }
        }
        Ok('X')
    }

    /// Whether an insert waits; it is taken back.
    fn try_insert(&mut self, sql: &str) -> Outcome<String> {
        let mut conn = Bench::connect(self.setup, Level::ReadCommitted)?;
        let id = conn
            .query("SELECT CONNECTION_ID()")
            .map_err(|e| e.to_string())?;
        let id = super::fixture::number(&id[0].rows[0][0])?;
        run(&mut conn, "BEGIN")?;
        let (say, said) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let done = conn.query(sql).map(drop);
                let _ = say.send(done.as_ref().err().map_or("free".to_owned(), text));
                let _ = conn.query("ROLLBACK");
            });
            if let Ok(done) = said.recv_timeout(self.patience) {
                return Ok(done);
            }
            run(&mut self.control, &format!("KILL QUERY {id}"))?;
            let ended = said.recv_timeout(PATIENCE);
            ended.map(|_| "waits".to_owned()).map_err(|e| e.to_string())
        })
    }
}

/// MariaDB's answers, and where those of this server are others.
fn expected(kind: Kind) -> Outcome<(Answers, Answers)> {
    let wanted = parse_answers(&read("answers.txt")?)?;
    if kind != Kind::Tidemill {
        return Ok((wanted, Answers::new()));
    }
    let docs = workspace::root().join("docs/isolation.md");
    let docs = std::fs::read_to_string(&docs).map_err(|e| e.to_string())?;
    let differences = parse_differences(&read("differences.txt")?, &docs)?;
    Ok((wanted, differences))
}

/// Whether this part of the matrix is played where not all is.
fn in_share(n: usize, share: usize) -> bool {
    share <= 1 || n.is_multiple_of(share)
}

/// Plays the matrix, or one case of so many, of those whose name contains `only`.
pub fn all(server: &Server, only: &str, share: usize, bless: bool) -> Outcome<()> {
    let setup = server.setup();
    let kind = setup.kind;
    step::announce(&format!(
        "what is locked behind statements, on {}",
        kind.name()
    ));
    let matrix = parse(&read("matrix.txt")?)?;
    let mut bench = Bench::new(setup, &matrix)?;
    let blesses = bless && kind == Kind::MariaDb && only.is_empty();
    let (wanted, differences) = match blesses {
        true => Default::default(),
        false => expected(kind)?,
    };
    let mut got = Answers::new();
    let mut wrong = Vec::new();
    let mut n = 0;
    for &level in LEVELS {
        let mut conn = Bench::connect(setup, level)?;
        for case in matrix.cases.iter().filter(|c| c.name.contains(only)) {
            for (ending, named) in ENDINGS {
                n += 1;
                if !in_share(n, share) {
                    continue;
                }
                let at = format!("{} | {named} | {}", case.name, short(level));
                let key = (
                    case.name.clone(),
                    (*named).to_owned(),
                    short(level).to_owned(),
                );
                let expected = differences.get(&key).or_else(|| wanted.get(&key));
                let expected = expected.map(String::as_str);
                let (as_text, prepared) = bench
                    .patiently(&mut conn, case, *ending, expected)
                    .map_err(|e| format!("{at} ({}): {e}", case.sql))?;
                if prepared != as_text {
                    wrong.push(format!("{at}: text {as_text}, prepared {prepared}"));
                }
                got.insert(key, as_text);
            }
        }
    }
    let control = &mut bench.control;
    run(control, "DROP DATABASE held")?;
    run(
        control,
        &format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"),
    )?;
    if blesses {
        let path = path("answers.txt");
        std::fs::write(&path, written(&matrix, &got)).map_err(|e| e.to_string())?;
        return Ok(());
    }
    let mut differ = 0;
    for (key, answer) in &got {
        let line = format!("{} | {} | {} {answer}", key.0, key.1, key.2);
        let theirs = wanted.get(key).map_or("(nothing)", String::as_str);
        match differences.get(key) {
            Some(ours) if ours == answer && theirs != answer => differ += 1,
            Some(_) => wrong.push(format!("{line}, not as in differences.txt")),
            None if theirs == answer => {}
            None => wrong.push(format!("{line}, theirs {theirs}")),
        }
    }
    println!(
        "    {} played, {differ} differ for a reason, {} wrong",
        got.len(),
        wrong.len()
    );
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("what is locked:\n    {}", wrong.join("\n    "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_are_written() {
        let matrix = parse("case c: X\n").unwrap();
        let mut answers = Answers::new();
        for (_, ending) in ENDINGS {
            for &level in LEVELS {
                let key = (
                    "c".to_owned(),
                    (*ending).to_owned(),
                    short(level).to_owned(),
                );
                answers.insert(key, "ok X.. .".to_owned());
            }
        }
        assert_eq!(parse_answers(&written(&matrix, &answers)).unwrap(), answers);
    }

    #[test]
    fn what_differs_has_a_reason() {
        let line = "c | open | why | rc ok X | ser ok .\n";
        let all = parse_differences(line, "| `why` | because |").unwrap();
        assert_eq!(all.len(), 2);
        assert!(parse_differences(line, "").is_err());
    }
}
