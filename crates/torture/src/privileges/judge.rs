//! What must come of a statement for what somebody holds, and whether it did. Pure functions.

use super::data::Statement;
use super::held::Held;
use super::protocols::{Got, Rows};
use std::collections::BTreeSet;

/// Errors that refuse for want of a privilege.
pub const REFUSALS: &[u16] = &[
    1044, 1045, 1095, 1142, 1143, 1227, 1370, 1401, 1698, 3530, 3619, 3879, 4032,
];

/// This is not there: the statement, or the way of sending it.
const ABSENT: &[u16] = &[1109, 1235, 1295, 1970];

/// What must come of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The errors of a refusal; empty where it is allowed.
    pub refusals: BTreeSet<u16>,
    /// An empty result is as good as a refusal.
    pub or_empty: bool,
    /// Both are right.
    pub either: bool,
}

impl Expected {
    /// What the rules say.
    pub fn of(statement: &Statement, held: &Held) -> Expected {
        let failing: Vec<_> = statement
            .needs
            .iter()
            .filter(|need| !need.rule.holds(held))
            .collect();
        let mut refusals = BTreeSet::new();
        for need in &failing {
            match need.errors.is_empty() {
                true => refusals.extend(need.rule.errors(held)),
                false => refusals.extend(&need.errors),
            }
        }
        Expected {
            or_empty: !failing.is_empty() && failing.iter().all(|need| need.or_empty),
            either: failing.is_empty() && statement.may.iter().any(|rule| !rule.holds(held)),
            refusals,
        }
    }

    /// Is it allowed?
    pub fn allows(&self) -> bool {
        self.refusals.is_empty()
    }
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// It was done, or told something, and must be refused.
    Loose(String),
    /// A row was seen that must not be.
    Seen(String),
    /// It was refused and is allowed.
    Strict(String),
    /// A row is missing.
    Unseen(String),
    /// It was refused, with another error than MySQL's.
    OtherError(String),
    /// It failed for another reason than access.
    Nemesis(String),
}

impl Wrong {
    /// The word of reports.
    pub fn word(&self) -> &'static str {
        match self {
            Wrong::Loose(_) => "LOOSE",
            Wrong::Seen(_) => "SEEN",
            Wrong::Strict(_) => "STRICT",
            Wrong::Unseen(_) => "UNSEEN",
            Wrong::OtherError(_) => "ERROR",
            Wrong::Nemesis(_) => "TROUBLE",
        }
    }

    /// What came back.
    pub fn detail(&self) -> &str {
        match self {
            Wrong::Loose(s)
            | Wrong::Seen(s)
            | Wrong::Strict(s)
            | Wrong::Unseen(s)
            | Wrong::OtherError(s)
            | Wrong::Nemesis(s) => s,
        }
    }
}

/// The outcome of one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As it must be.
    Fine,
    /// The server has no such statement.
    Absent,
    /// Not as it must be.
    Wrong(Wrong),
}

/// Judges an answer.
pub fn judge(statement: &Statement, held: &Held, expected: &Expected, got: &Got) -> Verdict {
    match got {
        Got::Lost(why) => Verdict::Wrong(Wrong::Nemesis(why.clone())),
        Got::Error(code, _) if ABSENT.contains(code) => Verdict::Absent,
        Got::Error(code, text) => error(statement, expected, *code, text),
        Got::Fine(rows) if expected.allows() => rows
            .as_ref()
            .map_or(Verdict::Fine, |rows| seen(statement, held, rows)),
        Got::Fine(rows) => {
            let nothing = rows.as_ref().is_some_and(|rows| rows.count == 0);
            if expected.or_empty && nothing {
                return Verdict::Fine;
            }
            Verdict::Wrong(Wrong::Loose(format!(
                "done; expected {:?}",
                expected.refusals
            )))
        }
    }
}

fn error(statement: &Statement, expected: &Expected, code: u16, text: &str) -> Verdict {
    let said = format!("{code} {text:.150}");
    let refused = REFUSALS.contains(&code);
    Verdict::Wrong(if expected.refusals.contains(&code) {
        return Verdict::Fine;
    } else if expected.allows() {
        if statement.then.contains(&code) || (expected.either && refused) {
            return Verdict::Fine;
        }
        match refused {
            true => Wrong::Strict(said),
            false => Wrong::Nemesis(said),
        }
    } else if refused {
        Wrong::OtherError(format!("{said}; expected {:?}", expected.refusals))
    } else {
        // Any other error tells that it went past the check, or told something before it.
        Wrong::Loose(format!("{said}; expected {:?}", expected.refusals))
    })
}

fn seen(statement: &Statement, held: &Held, rows: &Rows) -> Verdict {
    for row in &statement.rows {
        let sees = rows.cells.contains(&row.cell);
        let must = row.rule.holds(held);
        let may = row.may.as_ref().is_some_and(|rule| rule.holds(held));
        if sees && !must && !may {
            return Verdict::Wrong(Wrong::Seen(row.cell.clone()));
        }
        if !sees && must {
            return Verdict::Wrong(Wrong::Unseen(row.cell.clone()));
        }
    }
    Verdict::Fine
}

#[cfg(test)]
mod tests {
    use super::super::data;
    use super::super::held::Level;
    use super::*;

    #[test]
    fn cells_are_judged() {
        let text =
            "[s]\nSHOW x\nneeds SELECT(m.t.v) & PROCESS\nthen 1146\nrow a if SELECT(m.u.x)\n";
        let statement = &data::statements(text).unwrap()[0];
        let mut held = Held::default();
        let rows = |cells: &[&str]| {
            Got::Fine(Some(Rows {
                count: cells.len(),
                cells: cells.iter().map(|c| (*c).to_owned()).collect(),
            }))
        };
        let error = |code: u16| Got::Error(code, String::new());
        let judged = |held: &Held, got: &Got| match judge(
            statement,
            held,
            &Expected::of(statement, held),
            got,
        ) {
            Verdict::Fine => "fine",
            Verdict::Absent => "absent",
            Verdict::Wrong(wrong) => wrong.word(),
        };
        assert_eq!(judged(&held, &error(1227)), "fine");
        assert_eq!(judged(&held, &error(1142)), "fine");
        assert_eq!(judged(&held, &error(1044)), "ERROR");
        assert_eq!(judged(&held, &error(1146)), "LOOSE");
        assert_eq!(judged(&held, &rows(&[])), "LOOSE");
        assert_eq!(judged(&held, &error(1235)), "absent");
        held.grant("PROCESS", &Level::Global);
        held.grant("SELECT", &Level::Database("m".into()));
        assert_eq!(judged(&held, &error(1146)), "fine");
        assert_eq!(judged(&held, &error(1142)), "STRICT");
        assert_eq!(judged(&held, &error(1064)), "TROUBLE");
        assert_eq!(judged(&held, &rows(&[])), "UNSEEN");
        assert_eq!(judged(&held, &rows(&["a"])), "fine");
    }
}
