//! Plays scenarios: steps are sent in an order, and what comes back, or does not, is written down.
//!
//! Each session is a connection with a thread of its own. A step whose answer has not come while others could go on
//! counts as blocked; what its session does next waits for it.

use super::client::{level_name, set_level};
use super::fixture::{DATABASE, open};
use super::scenario::{self, Scenario, Step};
use ::isolation::Level;
use harness::server::{Server, Setup};
use harness::step::{self, Outcome};
use harness::workspace;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};

/// All levels, the weakest first.
pub const LEVELS: &[Level] = &[
    Level::ReadUncommitted,
    Level::ReadCommitted,
    Level::RepeatableRead,
    Level::Snapshot,
    Level::Serializable,
];

/// A step of the pinned order that has not answered after this is blocked. On a busy machine one that is only slow
/// looks like it, so a trace that differs is played again with more patience.
const BLOCKED: &[Duration] = &[
    Duration::from_millis(80),
    Duration::from_millis(400),
    Duration::from_millis(1200),
];

/// The same where it only matters that the others go on.
const BLOCKED_PERHAPS: Duration = Duration::from_millis(15);

/// By this time every lock has been given away or the server hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Errors that end the transaction.
const ENDS: &[&str] = &["1213", "1020"];

/// A connection that answers in the background.
struct Session {
    send: Sender<String>,
    answers: Receiver<String>,
    queue: VecDeque<Step>,
    /// The step that has not been answered.
    open: Option<String>,
    begun: bool,
    ended: bool,
}

fn shown(answer: Result<Vec<wire::client::ResultSet>, ClientError>) -> String {
    match answer {
        Err(ClientError::Server(e)) => e.code.to_string(),
        Err(e) => format!("lost:{e}"),
        Ok(mut results) => {
            let last = results.pop().unwrap_or_default();
            if last.columns.is_empty() {
                return "ok".to_owned();
            }
            if last.rows.is_empty() {
                return "none".to_owned();
            }
            let cell = |v: &Value| match v {
                Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
                _ => "NULL".to_owned(),
            };
            let rows: Vec<String> = last
                .rows
                .iter()
                .map(|r| r.iter().map(cell).collect::<Vec<_>>().join(","))
                .collect();
            rows.join(";")
        }
    }
}

fn connect(setup: &Setup, level: Level) -> Outcome<Conn> {
    let mut conn = open(setup).map_err(|e| e.to_string())?;
    let sql = format!("USE {DATABASE}; {}", set_level(level));
    conn.query(&sql).map_err(|e| format!("{sql}: {e}"))?;
    Ok(conn)
}

impl Session {
    fn start(setup: &Setup, level: Level) -> Outcome<Session> {
        let mut conn = connect(setup, level)?;
        let (send, statements) = mpsc::channel::<String>();
        let (answer, answers) = mpsc::channel();
        std::thread::spawn(move || {
            while let Ok(sql) = statements.recv() {
                if answer.send(shown(conn.query(&sql))).is_err() {
                    return;
                }
            }
        });
        Ok(Session {
            send,
            answers,
            queue: VecDeque::new(),
            open: None,
            begun: false,
            ended: false,
        })
    }

    fn send(&self, sql: &str) -> Outcome<()> {
        self.send
            .send(sql.to_owned())
            .map_err(|_| "a session's thread is gone".to_owned())
    }

    /// Sends what is queued as far as the answers come; notes them.
    fn advance(&mut self, limit: Duration, trace: &mut Vec<(String, String)>) -> Outcome<()> {
        loop {
            if let Some(name) = self.open.clone() {
                match self.answers.recv_timeout(limit) {
                    Ok(answer) => {
                        self.ended |= ENDS.contains(&answer.as_str()) || answer.starts_with("lost");
                        trace.push((name, answer));
                        self.open = None;
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if !trace.iter().any(|(n, what)| *n == name && what == "waits") {
                            trace.push((name, "waits".to_owned()));
                        }
                        return Ok(());
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err("a session's thread is gone".to_owned());
                    }
                }
            }
            let Some(next) = self.queue.pop_front() else {
                return Ok(());
            };
            if self.ended {
                trace.push((next.name, "-".to_owned()));
                continue;
            }
            let begin = if self.begun { "" } else { "BEGIN; " };
            self.begun = true;
            self.send(&format!("{begin}{}", next.sql))?;
            self.open = Some(next.name);
        }
    }
}

/// The sessions of one level.
pub struct Stage<'a> {
    setup: &'a Setup,
    level: Level,
    control: Conn,
    sessions: HashMap<char, Session>,
}

impl<'a> Stage<'a> {
    /// None yet.
    pub fn new(setup: &'a Setup, level: Level) -> Outcome<Stage<'a>> {
        Ok(Stage {
            setup,
            level,
            // The final state is asked for without waiting for anybody.
            control: connect(setup, Level::ReadCommitted)?,
            sessions: HashMap::new(),
        })
    }

    /// Plays one order; what each step gave, in the order of events.
    fn play(
        &mut self,
        scenario: &Scenario,
        order: &[usize],
        limit: Duration,
    ) -> Outcome<Vec<(String, String)>> {
        let mut run = |sql: &str| match self.control.query(sql) {
            Ok(_) => Ok(()),
            Err(e) => Err(format!("{sql}: {e}")),
        };
        run("DROP TABLE IF EXISTS t")?;
        for sql in &scenario.setup {
            run(sql)?;
        }
        let mut trace = Vec::new();
        let mut blocked: Vec<char> = Vec::new();
        for &at in order {
            let step = &scenario.steps[at];
            let name = step.session();
            if !self.sessions.contains_key(&name) {
                let session = Session::start(self.setup, self.level)?;
                self.sessions.insert(name, session);
            }
            let Some(session) = self.sessions.get_mut(&name) else {
                continue;
            };
            session.queue.push_back(step.clone());
            if session.open.is_none() {
                session.advance(limit, &mut trace)?;
                if session.open.is_some() {
                    blocked.push(name);
                }
            }
            self.wake(&mut blocked, limit, &mut trace)?;
        }
        let begun = Instant::now();
        while !blocked.is_empty() {
            if begun.elapsed() > PATIENCE {
                return Err(format!("steps stay blocked: {trace:?}"));
            }
            self.wake(&mut blocked, limit, &mut trace)?;
        }
        for session in self.sessions.values_mut() {
            session.send("ROLLBACK")?;
            let _ = session.answers.recv_timeout(PATIENCE);
            session.begun = false;
            session.ended = false;
        }
        if let Some(sql) = &scenario.after {
            trace.push(("after".to_owned(), shown(self.control.query(sql))));
        }
        Ok(trace)
    }

    /// Looks which of the blocked can go on, in the order in which they were blocked.
    fn wake(
        &mut self,
        blocked: &mut Vec<char>,
        limit: Duration,
        trace: &mut Vec<(String, String)>,
    ) -> Outcome<()> {
        let mut still = Vec::new();
        for name in blocked.drain(..) {
            if let Some(session) = self.sessions.get_mut(&name) {
                session.advance(limit, trace)?;
                if session.open.is_some() {
                    still.push(name);
                }
            }
        }
        *blocked = still;
        Ok(())
    }
}

/// What the scenario gives in its order; with more patience where that is not what is expected.
pub fn patiently(
    stage: &mut Stage<'_>,
    scenario: &Scenario,
    expected: Option<&str>,
) -> Outcome<String> {
    let mut shown = String::new();
    // What nothing is known of is waited for.
    for limit in BLOCKED.iter().skip(usize::from(expected.is_none())) {
        shown = words(&stage.play(scenario, &scenario.order, *limit)?);
        if expected.is_none_or(|e| e == shown) {
            break;
        }
    }
    Ok(shown)
}

fn words(trace: &[(String, String)]) -> String {
    let words: Vec<String> = trace
        .iter()
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    words.join(" | ")
}

/// Has the anomaly happened?
fn happened(scenario: &Scenario, trace: &[(String, String)]) -> bool {
    scenario.anomalies.iter().any(|clause| {
        clause
            .iter()
            .all(|(step, what)| trace.iter().any(|(n, w)| n == step && w == what))
    })
}

fn files() -> Outcome<Vec<PathBuf>> {
    let dir = workspace::root().join("tests").join("isolation");
    let entries = std::fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "scenario"))
        .collect();
    files.sort();
    Ok(files)
}

/// One file at all levels.
struct Case<'a> {
    setup: &'a Setup,
    name: &'a str,
    scenario: Scenario,
    bless: bool,
    traces: Vec<(Level, String)>,
    wrong: Vec<String>,
    /// A mark a level: does the anomaly happen?
    marks: String,
    played: usize,
}

impl Case<'_> {
    fn at(&self, level: Level, what: &str) -> String {
        format!("{} at {}: {what}", self.name, level_name(level))
    }

    /// The order given, then up to `most` others where the anomaly is prevented.
    fn level(&mut self, level: Level, most: usize) -> Outcome<()> {
        let mut stage = Stage::new(self.setup, level)?;
        let kind = self.setup.kind;
        let pinned = self
            .scenario
            .expects
            .iter()
            .find(|e| e.kind == kind && e.levels.contains(&level))
            .map(|e| e.trace.clone());
        let mut trace = Vec::new();
        for limit in BLOCKED.iter().skip(usize::from(self.bless)) {
            trace = stage
                .play(&self.scenario, &self.scenario.order, *limit)
                .map_err(|e| self.at(level, &e))?;
            if self.bless || pinned.as_ref() == Some(&words(&trace)) {
                break;
            }
        }
        let prevented = self.scenario.is_prevented(kind, level);
        let there = happened(&self.scenario, &trace);
        self.marks.push_str(if there { "x   " } else { ".   " });
        let shown = words(&trace);
        if there == prevented {
            let what = if there { "happens" } else { "does not happen" };
            let wrong = self.at(level, &format!("it {what}: {shown}"));
            self.wrong.push(wrong);
        }
        if !self.bless && pinned.as_ref() != Some(&shown) {
            let wanted = pinned.unwrap_or_default();
            let wrong = format!("not as pinned\n      wanted {wanted}\n      got    {shown}");
            self.wrong.push(self.at(level, &wrong));
        }
        self.traces.push((level, shown));
        if !prevented {
            return Ok(());
        }
        for order in self.scenario.orders(most) {
            let trace = stage
                .play(&self.scenario, &order, BLOCKED_PERHAPS)
                .map_err(|e| self.at(level, &e))?;
            self.played += 1;
            if happened(&self.scenario, &trace) {
                let wrong = self.at(level, &format!("it happens: {}", words(&trace)));
                self.wrong.push(wrong);
            }
        }
        Ok(())
    }
}

/// Plays every file whose name contains `only`.
pub fn all(server: &Server, most: usize, only: &str, bless: bool) -> Outcome<()> {
    let setup = server.setup();
    step::announce(&format!(
        "scenarios on {}, up to {most} orders of each",
        setup.kind.name()
    ));
    let mut control = open(setup).map_err(|e| e.to_string())?;
    let create = format!("CREATE DATABASE IF NOT EXISTS {DATABASE}");
    control.query(&create).map_err(|e| e.to_string())?;
    let mut wrong = Vec::new();
    println!("    {:<24} ru  rc  rr  si  ser  (x: it happens)", "");
    for path in files()? {
        let name = path
            .file_stem()
            .map_or(String::new(), |s| s.to_string_lossy().into_owned());
        if !name.contains(only) {
            continue;
        }
        let fail = |e: String| format!("{}: {e}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|e| fail(e.to_string()))?;
        let mut case = Case {
            setup,
            name: &name,
            scenario: scenario::parse(&text).map_err(fail)?,
            bless,
            traces: Vec::new(),
            wrong: Vec::new(),
            marks: String::new(),
            played: 0,
        };
        for &level in LEVELS {
            case.level(level, most)?;
        }
        println!("    {name:<24} {} {} orders", case.marks, case.played);
        if bless {
            let text = scenario::rewrite(&text, setup.kind, &case.traces);
            std::fs::write(&path, text).map_err(|e| fail(e.to_string()))?;
        }
        wrong.extend(case.wrong);
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("scenarios:\n    {}", wrong.join("\n    ")))
    }
}
