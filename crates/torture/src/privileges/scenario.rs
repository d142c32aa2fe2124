//! `tests/privileges/*.scenario`: stories of several sessions, each step with what must come of it.
//!
//! Each scenario finds a server with no account but root's and no database of an earlier one. The words of the steps are in
//! `tests/privileges/README.md`.

use super::data;
use super::matrix::must;
use super::protocols::shown;
use harness::server::Setup;
use harness::step::Outcome;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::capability;
use wire::client::blocking::{Conn, Statement};
use wire::client::{ClientError, Login, Value};
use wire::command::code;

const PATIENCE: Duration = Duration::from_secs(60);

/// A story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Its steps, with their line numbers.
    steps: Vec<(usize, Step)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    /// Run at the end, whatever happened.
    at_end: bool,
    act: Act,
    expect: Expect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Act {
    /// Connection, user, password, and how.
    Open(String, String, String, Vec<String>),
    /// COM_CHANGE_USER.
    Change(String, String, String),
    Close(String),
    Query(String, String),
    Prepare(String, String),
    Execute(String),
    Init(String, String),
    Fields(String, String),
    Reset(String),
    /// The connection must have gone.
    Lost(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Expect {
    Fine,
    /// One of these errors; none for whichever.
    Error(Vec<u16>),
    /// These rows: cells parted by commas, rows by semicolons.
    Rows(String),
    /// Some cell has this in it.
    Sees(String),
    /// No cell has this in it.
    Hides(String),
    /// A column of the first row is kept under a name.
    Let(String, usize),
    /// Success or one of these errors.
    Either(Vec<u16>),
}

/// Reads a file.
pub fn parse(text: &str) -> Outcome<Vec<Scenario>> {
    let mut all: Vec<Scenario> = Vec::new();
    for (at, line) in data::lines(text) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            all.push(Scenario {
                name: name.to_owned(),
                steps: Vec::new(),
            });
            continue;
        }
        let scenario = all
            .last_mut()
            .ok_or(format!("line {at}: before any [scenario]"))?;
        scenario
            .steps
            .push((at, step(line).map_err(|e| format!("line {at}: {e}"))?));
    }
    Ok(all)
}

fn step(line: &str) -> Outcome<Step> {
    let (act, expect) = match line.rsplit_once(" => ") {
        Some((act, expect)) => (act, expectation(expect)?),
        None => (line, Expect::Fine),
    };
    let (at_end, act) = match act.strip_prefix("end ") {
        Some(act) => (true, act),
        None => (false, act),
    };
    Ok(Step {
        at_end,
        act: action(act)?,
        expect,
    })
}

fn expectation(text: &str) -> Outcome<Expect> {
    let codes = |text: &str| -> Outcome<Vec<u16>> {
        text.split('|')
            .map(|c| c.trim().parse().map_err(|_| format!("'{c}' is no error")))
            .collect()
    };
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    Ok(match word {
        "error" => Expect::Error(Vec::new()),
        "rows" => Expect::Rows(rest.to_owned()),
        "none" => Expect::Rows(String::new()),
        "sees" => Expect::Sees(rest.to_owned()),
        "hides" => Expect::Hides(rest.to_owned()),
        "or" => Expect::Either(codes(rest)?),
        "let" => {
            let (name, column) = rest.split_once(' ').unwrap_or((rest, "1"));
            let column: usize = column
                .parse()
                .map_err(|_| format!("'{column}' is no column"))?;
            Expect::Let(name.to_owned(), column.saturating_sub(1))
        }
        _ => Expect::Error(codes(text)?),
    })
}

fn action(text: &str) -> Outcome<Act> {
    if let Some((who, sql)) = text.split_once(": ")
        && !who.contains(' ')
    {
        return Ok(Act::Query(who.to_owned(), sql.to_owned()));
    }
    let mut words = text.split(' ').map(unquoted);
    let verb = words.next().unwrap_or_default();
    let mut next = || words.next().unwrap_or_default();
    let who = next();
    Ok(match verb.as_str() {
        "open" => Act::Open(who, next(), next(), words.collect()),
        "change" => Act::Change(who, next(), next()),
        "close" => Act::Close(who),
        "execute" => Act::Execute(who),
        "init" => Act::Init(who, next()),
        "fields" => Act::Fields(who, next()),
        "reset" => Act::Reset(who),
        "lost" => Act::Lost(who),
        "prepare" => Act::Prepare(who, words.collect::<Vec<_>>().join(" ")),
        _ => return Err(format!("'{verb}' is no step")),
    })
}

/// `''` is nothing, and `'a b'` cannot be: a user with a space is written with `\s`.
fn unquoted(word: &str) -> String {
    word.trim_matches('\'').replace("\\s", " ")
}

/// Plays a scenario, to its first failure.
pub fn play(setup: &Setup, scenario: &Scenario) -> Outcome<()> {
    let mut stage = Stage::new(setup)?;
    let mut played = Ok(());
    for (line, step) in scenario.steps.iter().filter(|s| !s.1.at_end) {
        played = stage.step(step).map_err(|e| format!("line {line}: {e}"));
        if played.is_err() {
            break;
        }
    }
    for (_, step) in scenario.steps.iter().filter(|s| s.1.at_end) {
        let undone = stage.step(step);
        if played.is_ok() {
            played = undone;
        }
    }
    played
}

struct Stage<'a> {
    setup: &'a Setup,
    conns: BTreeMap<String, Conn>,
    statements: BTreeMap<String, Statement>,
    kept: BTreeMap<String, String>,
}

impl<'a> Stage<'a> {
    fn new(setup: &'a Setup) -> Outcome<Stage<'a>> {
        let mut root = Conn::connect_unix(&setup.socket, "root", "", None)
            .map_err(|e| format!("root: {e}"))?;
        root.set_read_timeout(Some(PATIENCE))
            .map_err(|e| e.to_string())?;
        clear(&mut root)?;
        Ok(Stage {
            setup,
            conns: [("root".to_owned(), root)].into(),
            statements: BTreeMap::new(),
            kept: BTreeMap::new(),
        })
    }

    fn conn(&mut self, who: &str) -> Outcome<&mut Conn> {
        self.conns.get_mut(who).ok_or(format!("{who} is not open"))
    }

    /// With `$name` replaced by what was kept under it.
    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // The longest names first: one may begin with another.
        for (name, value) in self.kept.iter().rev() {
            text = text.replace(&format!("${name}"), value);
        }
        text
    }

    fn step(&mut self, step: &Step) -> Outcome<()> {
        let got = self.act(&step.act)?;
        self.judge(&step.expect, got)
            .map_err(|e| format!("{:?}: {e}", step.act))
    }

    fn act(&mut self, act: &Act) -> Outcome<Result<Vec<Vec<Value>>, ClientError>> {
        let none = |()| Vec::new();
        Ok(match act {
            Act::Open(who, user, password, how) => {
                let password = self.filled(password);
                self.open(who, user, &password, how).map(none)
            }
            Act::Change(who, user, password) => {
                let password = self.filled(password);
                self.conn(who)?.change_user(user, &password, None).map(none)
            }
            Act::Close(who) => {
                self.conns.remove(who);
                Ok(Vec::new())
            }
            Act::Query(who, sql) => {
                let sql = self.filled(sql);
                self.conn(who)?
                    .query(&sql)
                    .map(|results| results.into_iter().flat_map(|r| r.rows).collect())
            }
            Act::Prepare(who, sql) => match self.conn(who)?.prepare(sql) {
                Ok(statement) => {
                    self.statements.insert(who.clone(), statement);
                    Ok(Vec::new())
                }
                Err(e) => Err(e),
            },
            Act::Execute(who) => {
                let statement = self
                    .statements
                    .get(who)
                    .cloned()
                    .ok_or(format!("{who} has prepared nothing"))?;
                self.conn(who)?
                    .execute(&statement, &[])
                    .map(|results| results.into_iter().flat_map(|r| r.rows).collect())
            }
            Act::Init(who, db) => self
                .conn(who)?
                .command(code::INIT_DB, db.as_bytes())
                .map(|_| Vec::new()),
            Act::Fields(who, table) => self.fields(who, table)?.map(none),
            Act::Reset(who) => self
                .conn(who)?
                .command(code::RESET_CONNECTION, &[])
                .map(|_| Vec::new()),
            Act::Lost(who) => match self.conn(who)?.query("DO 0") {
                Err(ClientError::Io(_)) => Ok(Vec::new()),
                // A word of farewell may come first.
                Err(ClientError::Server(_)) if self.conn(who)?.query("DO 0").is_err() => {
                    Ok(Vec::new())
                }
                other => return Err(format!("{who} is still served: {other:.80?}")),
            },
        })
    }

    fn fields(&mut self, who: &str, table: &str) -> Outcome<Result<(), ClientError>> {
        let body = [table.as_bytes(), b"\0"].concat();
        let conn = self.conn(who)?;
        let mut packet = match conn.raw_command(code::FIELD_LIST, &body) {
            Ok(packet) => packet,
            Err(e) => return Ok(Err(e)),
        };
        while packet.first() != Some(&0xfe) {
            packet = conn.next_packet().map_err(|e| e.to_string())?.to_vec();
        }
        Ok(Ok(()))
    }

    fn open(
        &mut self,
        who: &str,
        user: &str,
        password: &str,
        how: &[String],
    ) -> Result<(), ClientError> {
        let has = |word: &str| how.iter().any(|h| h == word);
        let database = how.iter().find_map(|h| h.strip_prefix("db="));
        let mut conn = if has("tcp") {
            Conn::connect_tcp(("127.0.0.1", self.setup.port), user, password, database)?
        } else {
            let mut login = Login::new(user, password, database, true);
            if has("sandbox") {
                login.set_wanted_capabilities(
                    capability::LONG_PASSWORD
                        | capability::TRANSACTIONS
                        | capability::PLUGIN_AUTH
                        | capability::CAN_HANDLE_EXPIRED_PASSWORDS
                        | capability::DEPRECATE_EOF,
                );
            }
            Conn::connect_unix_with(&self.setup.socket, login)?
        };
        conn.set_read_timeout(Some(PATIENCE))?;
        if !has("sandbox")
            && let Ok(results) = conn.query("SELECT CONNECTION_ID()")
            && let Some(id) = results.first().and_then(|r| r.rows.first()?.first())
        {
            self.kept.insert(who.to_owned(), shown(id));
        }
        self.conns.insert(who.to_owned(), conn);
        Ok(())
    }

    fn judge(&mut self, expect: &Expect, got: Result<Vec<Vec<Value>>, ClientError>) -> Outcome<()> {
        let rows = match (expect, got) {
            (Expect::Error(codes), Err(ClientError::Server(e)))
                if codes.is_empty() || codes.contains(&e.code) =>
            {
                return Ok(());
            }
            (Expect::Either(codes), Err(ClientError::Server(e))) if codes.contains(&e.code) => {
                return Ok(());
            }
            (_, Err(e)) => return Err(format!("{e}; expected {expect:?}")),
            (Expect::Error(codes), Ok(_)) => {
                return Err(format!("no error; expected {codes:?}"));
            }
            (_, Ok(rows)) => rows,
        };
        let lines: Vec<String> = rows
            .iter()
            .map(|row| row.iter().map(shown).collect::<Vec<_>>().join(","))
            .collect();
        match expect {
            Expect::Rows(wanted) => {
                let wanted = self.filled(wanted);
                let wanted: Vec<&str> = wanted
                    .split(';')
                    .map(str::trim)
                    .filter(|w| !w.is_empty())
                    .collect();
                if lines != wanted {
                    return Err(format!("rows {lines:?}; expected {wanted:?}"));
                }
            }
            Expect::Sees(text) => {
                let text = self.filled(text);
                if !lines.iter().any(|l| l.contains(&text)) {
                    return Err(format!("'{text}' is not in {lines:?}"));
                }
            }
            Expect::Hides(text) => {
                let text = self.filled(text);
                if lines.iter().any(|l| l.contains(&text)) {
                    return Err(format!("'{text}' is in {lines:?}"));
                }
            }
            Expect::Let(name, column) => {
                let cell = rows
                    .first()
                    .and_then(|row| row.get(*column))
                    .ok_or(format!("no column {} in {lines:?}", column + 1))?;
                self.kept.insert(name.clone(), shown(cell));
            }
            Expect::Fine | Expect::Error(_) | Expect::Either(_) => {}
        }
        Ok(())
    }
}

/// Drops every account but root's, and every database that a test has made.
pub fn clear(root: &mut Conn) -> Outcome<()> {
    let accounts = must(
        root,
        "SELECT user, host FROM mysql.user WHERE user NOT IN ('root', 'mariadb.sys') AND user NOT LIKE 'mysql.%'",
    )?;
    for account in accounts {
        let names: Vec<String> = account
            .iter()
            .map(|n| shown(n).replace('\'', "''"))
            .collect();
        must(root, &format!("DROP USER '{}'@'{}'", names[0], names[1]))?;
    }
    for db in must(root, "SHOW DATABASES")? {
        let name = shown(&db[0]);
        let ours = ["mysql", "information_schema", "performance_schema", "sys"];
        if !ours.contains(&name.as_str()) {
            must(root, &format!("DROP DATABASE `{name}`"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read() {
        let text =
            "[a]\nopen x u 'p' tcp => 1045|3118\nx: SELECT 1 => rows 1\nend root: SET @a = 1\n";
        let all = parse(text).unwrap();
        assert_eq!(all[0].steps.len(), 3);
        assert_eq!(all[0].steps[0].1.expect, Expect::Error(vec![1045, 3118]));
        assert_eq!(
            all[0].steps[0].1.act,
            Act::Open("x".into(), "u".into(), "p".into(), vec!["tcp".into()])
        );
        assert!(all[0].steps[2].1.at_end);
        assert!(parse("[a]\nfly x").is_err() && parse("[a]\nx: SELECT 1 => row 1").is_err());
    }

    #[test]
    fn the_files_can_be_read() {
        for name in ["items.scenario", "features.scenario"] {
            assert!(
                parse(&data::text(name).unwrap()).unwrap().len() > 10,
                "{name}"
            );
        }
    }
}
