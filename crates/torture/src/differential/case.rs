//! One case: a frame with its expressions, made from a number, run, judged, and made smaller.

use super::frames::{FRAMES, Frame, Judge, Sessions, Step};
use super::node::{Kind, Literals, Node};
use super::peer::{Answer, LOST, Peer, Session, written};
use super::words::{Scope, pick};
use harness::rng::Rng;
use harness::step::Outcome;
use std::collections::BTreeMap;

/// A case.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its frame.
    pub frame: &'static Frame,
    /// What the session is set to.
    pub session: Session,
    /// What fills the frame.
    pub nodes: Vec<Node>,
}

/// In what two answers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// There is no answer: the connection went.
    Lost,
    /// One is an error, or both are and their numbers differ.
    Error,
    /// The rows.
    Text,
    /// The classes of the columns.
    Type,
    /// The numbers of the warnings.
    Warning,
}

impl Aspect {
    /// The aspect of a name.
    pub fn named(name: &str) -> Option<Aspect> {
        [
            Aspect::Lost,
            Aspect::Error,
            Aspect::Text,
            Aspect::Type,
            Aspect::Warning,
        ]
        .into_iter()
        .find(|aspect| aspect.name() == name)
    }

    /// Its name in the list of documented differences.
    pub fn name(self) -> &'static str {
        match self {
            Aspect::Lost => "lost",
            Aspect::Error => "error",
            Aspect::Text => "text",
            Aspect::Type => "type",
            Aspect::Warning => "warning",
        }
    }
}

/// Two answers that differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// In what.
    pub aspect: Aspect,
    /// The statements, as they are typed.
    pub statement: String,
    /// Our answer in that aspect.
    pub ours: String,
    /// The other.
    pub theirs: String,
    /// Everything, for somebody who reads it.
    pub told: String,
}

/// The most tries at making a case smaller.
const TRIES: u32 = 200;

impl Case {
    /// The case of this number in the stream of `seed`; `area`: of this one alone.
    pub fn of(seed: u64, number: u64, area: &str) -> Option<Case> {
        let mut rng = Rng::new(Rng::new(seed).next_u64() ^ Rng::new(number).next_u64());
        let frames: Vec<&'static Frame> = FRAMES
            .iter()
            .filter(|f| area.is_empty() || f.area == area)
            .collect();
        let sum: u32 = frames.iter().map(|f| f.weight).sum();
        let mut at = rng.below(u64::from(sum)) as u32;
        let frame = frames.into_iter().find(|f| {
            let found = at < f.weight;
            at = at.wrapping_sub(f.weight);
            found
        })?;
        let session = Session {
            charset: match frame.sessions {
                Sessions::Charsets => pick(
                    &mut rng,
                    &["utf8mb4", "latin1", "binary", "utf8mb3", "ascii"],
                ),
                _ => "utf8mb4",
            },
            strict: frame.sessions != Sessions::Modes || !rng.one_in(2),
        };
        let scope = Scope {
            columns: frame.columns,
            charset: session.charset,
        };
        let ours = frame.judge != Judge::Peer;
        let nodes = frame
            .places
            .iter()
            .map(|(kind, depth)| Node::grow(&mut rng, *kind, *depth, scope, ours))
            .collect();
        Some(Case {
            frame,
            session,
            nodes,
        })
    }

    /// Runs it; the first difference. `theirs` is asked where the frame's judge is the other server.
    pub fn run(&self, ours: &mut Peer, theirs: Option<&mut Peer>) -> Outcome<Option<Difference>> {
        let mine = self.answers(ours)?;
        match (self.frame.judge, theirs) {
            (Judge::Peer, None) => Ok(mine
                .iter()
                .find(|(_, a)| a.code == LOST)
                .and_then(|(_, a)| self.differ(a, &Answer::default(), true))),
            (Judge::Peer, Some(peer)) => {
                let other = self.answers(peer)?;
                Ok(mine
                    .iter()
                    .zip(&other)
                    .find_map(|((_, a), (_, b))| self.differ(a, b, true)))
            }
            (Judge::Same, _) => {
                let Some((_, first)) = mine.first() else {
                    return Ok(None);
                };
                Ok(mine[1..]
                    .iter()
                    .find_map(|(_, a)| self.differ(a, first, false)))
            }
            (Judge::Parts, _) => Ok(self.parts(&mine)),
        }
    }

    fn answers(&self, peer: &mut Peer) -> Outcome<Vec<(Step, Answer)>> {
        peer.set(self.session)?;
        let mut answers = Vec::new();
        for step in self.frame.steps {
            if let Some(answer) = peer.run(*step, &self.nodes)? {
                answers.push((*step, answer));
            }
        }
        Ok(answers)
    }

    fn differ(&self, ours: &Answer, theirs: &Answer, peer: bool) -> Option<Difference> {
        let lost = ours.code == LOST || theirs.code == LOST;
        let failed = ours.code != 0 || theirs.code != 0;
        let aspect = if lost {
            Aspect::Lost
        } else if ours.code != theirs.code {
            Aspect::Error
        } else if failed {
            return None;
        } else if !same_rows(ours, theirs, !peer) {
            Aspect::Text
        } else if ours.types() != theirs.types() {
            Aspect::Type
        } else if peer && ours.warnings != theirs.warnings {
            Aspect::Warning
        } else {
            return None;
        };
        let of = |answer: &Answer| match aspect {
            Aspect::Lost | Aspect::Error => answer.error(),
            Aspect::Text => answer.text(),
            Aspect::Type => answer.types(),
            Aspect::Warning => answer.warned(),
        };
        let whole = |answer: &Answer| match answer.code {
            0 => format!(
                "{}   ({}; warnings {})",
                answer.text(),
                answer.types(),
                answer.warned()
            ),
            code => format!("ERROR {code}: {}", answer.message),
        };
        Some(Difference {
            aspect,
            statement: self.script().replace("\n  ", " ; "),
            ours: of(ours),
            theirs: of(theirs),
            told: format!(
                "{}\n  ours:   {}\n  {} {}",
                self.script(),
                whole(ours),
                if peer { "theirs:" } else { "first: " },
                whole(theirs)
            ),
        })
    }

    /// Ternary logic: a condition, its negation, and that it is unknown part the rows among them.
    fn parts(&self, answers: &[(Step, Answer)]) -> Option<Difference> {
        let (whole, parts) = answers.split_first()?;
        if let Some((_, lost)) = answers.iter().find(|(_, a)| a.code == LOST) {
            return self.differ(lost, &whole.1, false);
        }
        if answers.iter().any(|(_, a)| a.code != 0) {
            return None;
        }
        let mut count: BTreeMap<&Vec<Option<Vec<u8>>>, i32> = BTreeMap::new();
        for row in &whole.1.rows {
            *count.entry(row).or_default() += 1;
        }
        for row in parts.iter().flat_map(|(_, a)| &a.rows) {
            *count.entry(row).or_default() -= 1;
        }
        if count.values().all(|n| *n == 0) {
            return None;
        }
        let each: Vec<String> = parts.iter().map(|(_, a)| a.text()).collect();
        let (ours, theirs) = (each.join(" + "), whole.1.text());
        Some(Difference {
            aspect: Aspect::Text,
            statement: self.script().replace("\n  ", " ; "),
            told: format!("{}\n  parts: {ours}\n  whole: {theirs}", self.script()),
            ours,
            theirs,
        })
    }

    fn statement(&self, step: Step) -> String {
        let sql = written(step.text(), &self.nodes, Literals::Plain).sql;
        String::from_utf8_lossy(&sql).into_owned()
    }

    /// What is to be typed to see it.
    fn script(&self) -> String {
        let mut lines = Vec::new();
        let usual = Session {
            charset: "utf8mb4",
            strict: true,
        };
        let sets = usual
            .statements()
            .into_iter()
            .zip(self.session.statements());
        for (usual, now) in sets {
            if usual != now {
                lines.push(now);
            }
        }
        for step in self.frame.steps {
            let mark = match step {
                Step::Quiet(_) | Step::Text(_) => "",
                Step::Binary(_) => "[binary] ",
                Step::Prepared(_) => "[prepared] ",
                Step::Using(_) => "[using] ",
                Step::Columns(_) => "[columns] ",
                Step::File(_) => "[file] ",
            };
            lines.push(format!("{mark}{}", self.statement(*step)));
        }
        if matches!(self.frame.steps.get(1), Some(Step::File(_))) {
            let content = self.nodes.first().map(Node::sql).unwrap_or_default();
            lines.push(format!("file: {}", String::from_utf8_lossy(&content)));
        }
        lines.join("\n  ")
    }

    /// Its kind: the area and the expressions without their literals.
    pub fn shape(&self) -> String {
        let mut shape = self.frame.area.to_owned();
        for node in &self.nodes {
            shape.push(' ');
            node.shape(&mut shape);
        }
        shape
    }

    /// The smallest case found that still differs in the same aspect.
    pub fn shrunk(
        self,
        found: Difference,
        ours: &mut Peer,
        mut theirs: Option<&mut Peer>,
    ) -> Outcome<(Case, Difference)> {
        let mut best = (self, found);
        let mut tries = 0;
        'again: loop {
            for at in 0..best.0.nodes.len() {
                for node in best.0.nodes[at].smaller() {
                    // An aggregate stays the same: without one there are rows in no order.
                    let aggregate = best.0.frame.places[at].0 == Kind::Aggregate;
                    if aggregate && node.pieces() != best.0.nodes[at].pieces() {
                        continue;
                    }
                    tries += 1;
                    if tries > TRIES {
                        return Ok(best);
                    }
                    let mut next = best.0.clone();
                    next.nodes[at] = node;
                    let found = next.run(ours, theirs.as_deref_mut())?;
                    if let Some(found) = found.filter(|f| f.aspect == best.1.aspect) {
                        best = (next, found);
                        continue 'again;
                    }
                }
            }
            return Ok(best);
        }
    }
}

/// Whether the rows are alike; `numbers`: those of floating point by their value, since one protocol sends them as digits.
fn same_rows(a: &Answer, b: &Answer, numbers: bool) -> bool {
    if a.rows == b.rows {
        return true;
    }
    let number = |cell: &Option<Vec<u8>>| {
        let text = std::str::from_utf8(cell.as_ref()?).ok()?;
        text.parse::<f64>().ok()
    };
    numbers
        && a.rows.len() == b.rows.len()
        && a.rows.iter().zip(&b.rows).all(|(x, y)| {
            x.len() == y.len()
                && x.iter().zip(y).all(|(x, y)| {
                    x == y
                        || match (number(x), number(y)) {
                            (Some(x), Some(y)) => (x - y).abs() <= x.abs() * 1e-6,
                            _ => false,
                        }
                })
        })
}
