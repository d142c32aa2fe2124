//! MariaDB's answers beside ours, and the file of the reasons why some differ.

use super::data::{self, Grant, Statement};
use super::held::like;
use super::judge::{Expected, REFUSALS};
use super::protocols::Got;
use harness::step::Outcome;
use std::collections::BTreeMap;

/// What one server answered, beside what the rules say, by the names of grant and statement.
#[derive(Debug, Default)]
pub struct Answers<'d> {
    all: BTreeMap<(&'d str, &'d str), (Answer, Answer)>,
}

/// One answer, no finer than what two servers can agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Allowed,
    Refused,
    /// The server has no such statement, or both answers are right.
    Unknown,
}

impl Answer {
    fn word(self) -> &'static str {
        match self {
            Answer::Allowed => "allows",
            Answer::Refused => "refuses",
            Answer::Unknown => "does not know",
        }
    }
}

impl<'d> Answers<'d> {
    /// Takes note of an answer.
    pub fn note(
        &mut self,
        grant: &'d Grant,
        statement: &'d Statement,
        expected: &Expected,
        got: &Got,
    ) {
        let rule = match expected.allows() {
            _ if expected.either || expected.or_empty => Answer::Unknown,
            true => Answer::Allowed,
            false => Answer::Refused,
        };
        let answer = match got {
            Got::Fine(_) => Answer::Allowed,
            Got::Error(code, _) if REFUSALS.contains(code) => Answer::Refused,
            Got::Error(code, _) if statement.then.contains(code) => Answer::Allowed,
            _ => Answer::Unknown,
        };
        self.all
            .insert((&grant.name, &statement.name), (rule, answer));
    }
}

/// A line of the file: patterns of a grant's and a statement's name, what MariaDB does, and why.
struct Reason {
    grant: String,
    statement: String,
    does: String,
    why: String,
    used: bool,
}

fn reasons(text: &str) -> Outcome<Vec<Reason>> {
    data::lines(text)
        .map(|(at, line)| {
            let parts: Vec<&str> = line.split('|').map(str::trim).collect();
            match parts[..] {
                [grant, statement, does @ ("allows" | "refuses"), why] if !why.is_empty() => {
                    Ok(Reason {
                        grant: grant.replace('*', "%"),
                        statement: statement.replace('*', "%"),
                        does: does.to_owned(),
                        why: why.to_owned(),
                        used: false,
                    })
                }
                _ => Err(format!(
                    "mariadb.txt, line {at}: GRANT | STATEMENT | allows or refuses | why"
                )),
            }
        })
        .collect()
}

/// Prints how MariaDB differs from the rules, which ours is held to cell by cell; what is wrong with that, as sentences. `all`: the whole matrix was run, so that a reason without a
/// difference is one too many.
pub fn compare(answers: &Answers<'_>, all: bool) -> Outcome<Vec<String>> {
    let mut reasons = reasons(&data::text("mariadb.txt")?)?;
    let mut unlisted: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    let (mut same, mut listed) = (0u64, BTreeMap::<String, u64>::new());
    for ((grant, statement), (ours, theirs)) in &answers.all {
        if *ours == Answer::Unknown || *theirs == Answer::Unknown {
            continue;
        }
        if ours == theirs {
            same += 1;
            continue;
        }
        let found = reasons.iter_mut().find(|r| {
            r.does == theirs.word() && like(&r.grant, grant) && like(&r.statement, statement)
        });
        match found {
            Some(reason) => {
                reason.used = true;
                *listed.entry(reason.why.clone()).or_default() += 1;
            }
            None => unlisted
                .entry((*statement, theirs.word()))
                .or_default()
                .push(grant),
        }
    }
    println!("    beside MariaDB: {same} cells alike");
    for (why, count) in &listed {
        println!("    {count} cells differ: {why}");
    }
    let mut failed = Vec::new();
    for ((statement, does), grants) in &unlisted {
        let some: Vec<&str> = grants.iter().take(8).copied().collect();
        println!(
            "    WITHOUT A REASON: MariaDB {does} [{statement}], {} grants: {}",
            grants.len(),
            some.join("; ")
        );
    }
    if !unlisted.is_empty() {
        failed.push(format!(
            "{} statements differ from MariaDB without a reason",
            unlisted.len()
        ));
    }
    for reason in reasons.iter().filter(|r| all && !r.used) {
        println!(
            "    NO DIFFERENCE ANY MORE: {} | {} | {}",
            reason.grant, reason.statement, reason.does
        );
        failed.push("a reason without a difference".to_owned());
    }
    Ok(failed)
}
