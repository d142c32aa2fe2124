//! The format of `tests/isolation/*.scenario`: an anomaly as steps of named sessions.
//!
//! ```text
//! # P4: what a comment says.
//! setup CREATE TABLE t (id INT PRIMARY KEY, v INT)
//! setup INSERT INTO t VALUES (1, 10)
//! a1 SELECT v FROM t WHERE id = 1
//! a2 UPDATE t SET v = 11 WHERE id = 1
//! a3 COMMIT
//! b1 …
//! after SELECT v FROM t
//! order a1 b1 a2 b2 a3 b3
//! anomaly a1=10 b1=10 a3=ok b3=ok
//! prevented tidemill rr ser
//! prevented mariadb ser
//! expect tidemill ru rc: a1 10 | b1 10 | a2 ok | b2 waits | a3 ok | b2 ok | b3 ok | after 12
//! ```
//!
//! A step's first letter is its session; each session begins a transaction before its first step. The anomaly has
//! happened where all that is said on one of the `anomaly` lines is so; this must be impossible in any serial run. At
//! the levels named by `prevented` it must not happen in any order of the steps that keeps each session's own; at the
//! other levels it must happen in the order given, so that a scenario that cannot happen at all is not kept. What every step of that
//! order gives is pinned by `expect`: rows parted by `;`, cells by `,`, `none` for no row, `ok`, an error's number,
//! `waits` for a step that is blocked (its answer comes later), `-` for one after the end of its transaction.

use ::isolation::Level;
use harness::server::Kind;
use harness::step::Outcome;
use std::fmt::Write as _;
use std::str::FromStr;

/// A level on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Short(pub Level);

impl FromStr for Short {
    type Err = String;

    fn from_str(text: &str) -> Result<Short, String> {
        Ok(Short(match text {
            "ru" => Level::ReadUncommitted,
            "rc" => Level::ReadCommitted,
            "rr" => Level::RepeatableRead,
            "si" => Level::Snapshot,
            "ser" => Level::Serializable,
            _ => return Err("a level is ru, rc, rr, si or ser".to_owned()),
        }))
    }
}

/// What is named by `anomaly`: a step and what it gives.
pub type Clause = Vec<(String, String)>;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name: a letter and a number.
    pub name: String,
    /// Its statement.
    pub sql: String,
}

impl Step {
    /// Its session.
    pub fn session(&self) -> char {
        self.name.chars().next().unwrap_or('?')
    }
}

/// A pinned outcome.
#[derive(Debug, Clone)]
pub struct Expect {
    /// On which server.
    pub kind: Kind,
    /// At which levels.
    pub levels: Vec<Level>,
    /// The trace.
    pub trace: String,
}

/// A file.
#[derive(Debug, Default)]
pub struct Scenario {
    /// Statements that make the beginning.
    pub setup: Vec<String>,
    /// The steps, each session's in its order.
    pub steps: Vec<Step>,
    /// What is asked in the end.
    pub after: Option<String>,
    /// The order that shows the anomaly, as places in `steps`.
    pub order: Vec<usize>,
    /// When it has happened.
    pub anomalies: Vec<Clause>,
    /// Where it must not.
    pub prevented: Vec<(Kind, Level)>,
    /// What is pinned.
    pub expects: Vec<Expect>,
}

fn kind_and_levels(words: &str) -> Outcome<(Kind, Vec<Level>)> {
    let mut words = words.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let kind = kind.parse().map_err(|_| format!("'{kind}' is no server"))?;
    let levels = words
        .map(|w| {
            w.parse::<Short>()
                .map(|s| s.0)
                .map_err(|_| format!("'{w}' is no level"))
        })
        .collect::<Outcome<_>>()?;
    Ok((kind, levels))
}

/// Reads a file.
pub fn parse(text: &str) -> Outcome<Scenario> {
    let mut scenario = Scenario::default();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        scenario
            .line(word, rest.trim())
            .map_err(|e| format!("line {}: {e}", at + 1))?;
    }
    if scenario.order.len() != scenario.steps.len() || scenario.anomalies.is_empty() {
        return Err("an order of all steps and an anomaly are wanted".to_owned());
    }
    Ok(scenario)
}

impl Scenario {
    /// Takes a line in.
    pub fn line(&mut self, word: &str, rest: &str) -> Outcome<()> {
        match word {
            "setup" => self.setup.push(rest.to_owned()),
            "after" => self.after = Some(rest.to_owned()),
            "order" => {
                for name in rest.split_whitespace() {
                    let at = self.steps.iter().position(|s| s.name == name);
                    self.order
                        .push(at.ok_or_else(|| format!("no step {name}"))?);
                }
            }
            "anomaly" => self.anomalies.push(
                rest.split_whitespace()
                    .map(|c| {
                        c.split_once('=')
                            .map(|(step, what)| (step.to_owned(), what.to_owned()))
                            .ok_or_else(|| format!("'{c}' is not step=outcome"))
                    })
                    .collect::<Outcome<_>>()?,
            ),
            "prevented" => {
                let (kind, levels) = kind_and_levels(rest)?;
                self.prevented
                    .extend(levels.into_iter().map(|level| (kind, level)));
            }
            "expect" => {
                let (head, trace) = rest.split_once(':').ok_or("a colon is missing")?;
                let (kind, levels) = kind_and_levels(head)?;
                let trace = trace.trim().to_owned();
                self.expects.push(Expect {
                    kind,
                    levels,
                    trace,
                });
            }
            name if name.len() == 2 && name.is_ascii() => self.steps.push(Step {
                name: name.to_owned(),
                sql: rest.to_owned(),
            }),
            other => return Err(format!("'{other}' is not understood")),
        }
        Ok(())
    }

    /// Is the anomaly promised not to happen?
    pub fn is_prevented(&self, kind: Kind, level: Level) -> bool {
        self.prevented.contains(&(kind, level))
    }

    /// All orders that keep each session's own, at most `most` of them, evenly chosen.
    pub fn orders(&self, most: usize) -> Vec<Vec<usize>> {
        let mut sessions: Vec<Vec<usize>> = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            match sessions
                .iter_mut()
                .find(|s| self.steps[s[0]].session() == step.session())
            {
                Some(session) => session.push(at),
                None => sessions.push(vec![at]),
            }
        }
        let mut all = Vec::new();
        merge(
            &sessions,
            &mut vec![0; sessions.len()],
            &mut Vec::new(),
            &mut all,
        );
        let stride = all.len().div_ceil(most.max(1)).max(1);
        all.into_iter().step_by(stride).collect()
    }
}

fn merge(
    sessions: &[Vec<usize>],
    at: &mut [usize],
    prefix: &mut Vec<usize>,
    all: &mut Vec<Vec<usize>>,
) {
    let mut complete = true;
    for s in 0..sessions.len() {
        if let Some(&step) = sessions[s].get(at[s]) {
            complete = false;
            at[s] += 1;
            prefix.push(step);
            merge(sessions, at, prefix, all);
            prefix.pop();
            at[s] -= 1;
        }
    }
    if complete {
        all.push(prefix.clone());
    }
}

/// The file's text with the `expect` lines of `kind` replaced.
pub fn rewrite(text: &str, kind: Kind, traces: &[(Level, String)]) -> String {
    let start = format!("expect {} ", kind.name());
    let mut out = String::new();
    for line in text.lines().filter(|l| !l.starts_with(&start)) {
        out.push_str(line);
        out.push('\n');
    }
    let mut told: Vec<&str> = Vec::new();
    for (_, trace) in traces {
        if told.contains(&trace.as_str()) {
            continue;
        }
        told.push(trace);
        let levels: Vec<&str> = traces
            .iter()
            .filter(|(_, t)| t == trace)
            .map(|(level, _)| short(*level))
            .collect();
        let _ = writeln!(out, "{start}{}: {trace}", levels.join(" "));
    }
    out
}

/// A level as in the files.
pub fn short(level: Level) -> &'static str {
    match level {
        Level::ReadUncommitted => "ru",
        Level::ReadCommitted => "rc",
        Level::RepeatableRead => "rr",
        Level::Snapshot => "si",
        Level::Serializable => "ser",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# words\nsetup CREATE\na1 SELECT 1\na2 COMMIT\nb1 SELECT 2\nb2 COMMIT\n\
                        order a1 b1 a2 b2\nanomaly a1=1 b2=ok\nprevented tidemill rr ser\n\
                        expect mariadb rc ser: a1 1 | b1 2\nexpect tidemill rr: a1 1\n";

    #[test]
    fn a_file_is_read() {
        let s = parse(TEXT).unwrap();
        assert_eq!(s.order, [0, 2, 1, 3]);
        assert_eq!(
            s.anomalies,
            [[
                ("a1".to_owned(), "1".to_owned()),
                ("b2".to_owned(), "ok".to_owned())
            ]]
        );
        assert!(s.is_prevented(Kind::Tidemill, Level::Serializable));
        assert!(!s.is_prevented(Kind::MariaDb, Level::Serializable));
        assert_eq!(s.expects[0].trace, "a1 1 | b1 2");
        // Two of two: six orders.
        assert_eq!(s.orders(100).len(), 6);
        assert_eq!(s.orders(3).len(), 3);
        assert!(parse("what is this\n").is_err());
    }

    #[test]
    fn blessing_replaces_the_lines_of_one_server() {
        let traces = [
            (Level::ReadCommitted, "x".to_owned()),
            (Level::RepeatableRead, "x".to_owned()),
            (Level::Serializable, "y".to_owned()),
        ];
        let text = rewrite(TEXT, Kind::MariaDb, &traces);
        assert!(text.contains("expect tidemill rr: a1 1\n"));
        assert!(text.ends_with("expect mariadb rc rr: x\nexpect mariadb ser: y\n"));
        assert!(!text.contains("b1 2"));
    }
}
