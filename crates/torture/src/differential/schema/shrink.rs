//! Makes a block that ends in a difference smaller: statements, rows, columns and constraints are left out while one of its kind remains.

use super::judge::{Difference, Two};
use super::own;
use super::script::Statement;
use super::world::World;
use crate::differential::documented::{self, Line};
use harness::step::Outcome;
use std::time::{Duration, Instant};

/// The most time for one difference.
const PATIENCE: Duration = Duration::from_secs(40);

/// What documents a difference. Where rows may be without their parents, lines of an area of its own count too.
pub fn documents<'l>(lines: &'l [Line], found: &Difference, orphans: bool) -> Option<&'l Line> {
    let Difference {
        aspect,
        sql,
        ours,
        theirs,
    } = found;
    let line = |area| documented::find_text(lines, [area, aspect, sql, ours, theirs]);
    line("schema").or_else(|| line("schema-orphans").filter(|_| orphans))
}

/// A block that is made smaller.
#[derive(Debug)]
pub struct Shrinking<'s> {
    /// Both servers.
    pub two: &'s mut Two,
    /// The statements up to the difference.
    pub script: Vec<Statement>,
    /// The difference.
    pub found: Difference,
    /// What is known of the schema at the end: a difference with ourselves is looked for by that.
    pub world: &'s World,
    /// The list.
    pub lines: &'s [Line],
}

impl Shrinking<'_> {
    /// Does all of it; whether the difference came again at all.
    pub fn run(&mut self) -> Outcome<bool> {
        let begun = Instant::now();
        let late = || begun.elapsed() > PATIENCE;
        let whole = self.script.clone();
        if !self.tried(whole)? {
            return Ok(false);
        }
        let mut take = self.script.len() / 2;
        while take > 0 && !late() {
            let mut to = self.script.len();
            while to > 0 && !late() {
                let from = to.saturating_sub(take);
                let mut fewer = self.script.clone();
                fewer.drain(from..to.min(fewer.len()));
                self.tried(fewer)?;
                to = from.min(self.script.len());
            }
            take /= 2;
        }
        let plain = |mut s: Statement| {
            s.prepared = false;
            s
        };
        let plain = self.script.iter().cloned().map(plain).collect();
        self.tried(plain)?;
        for at in 0..self.script.len() {
            let mut item = self.script.get(at).map_or(0, |s| s.items.len());
            while item > 0 && !late() {
                item -= 1;
                let mut fewer = self.script.clone();
                if let Some(statement) = fewer.get_mut(at).filter(|s| s.items.len() > 1) {
                    statement.items.remove(item);
                    self.tried(fewer)?;
                }
            }
        }
        Ok(true)
    }

    /// Keeps the script, up to where it differs, if it differs in the same way.
    fn tried(&mut self, mut script: Vec<Statement>) -> Outcome<bool> {
        self.two.fresh()?;
        for at in 0..script.len() {
            let ran = self.two.run(&script[at])?;
            let mut differs = ran.difference;
            if differs.is_none() && self.found.aspect == "contents" {
                let tables = self.two.ours.tables()?;
                differs = self.two.contents(&tables)?;
            }
            let last = at + 1 == script.len();
            if differs.is_none() && last {
                differs = match self.found.aspect {
                    "facts" => self
                        .ended()?
                        .map_or_else(|| self.two.facts(), |d| Ok(Some(d)))?,
                    "own" => match self.ended()? {
                        None => own::look(&mut self.two.ours, self.world)?,
                        ended => ended,
                    },
                    _ => None,
                };
            }
            let Some(differs) = differs else {
                continue;
            };
            let known = documents(self.lines, &differs, self.world.orphans).is_some();
            if !known && differs.like(&self.found) {
                script.truncate(at + 1);
                self.script = script;
                self.found = differs;
                return Ok(true);
            }
            if !known {
                return Ok(false);
            }
        }
        Ok(false)
    }

    fn ended(&mut self) -> Outcome<Option<Difference>> {
        let ran = self.two.run(&Statement::plain("COMMIT"))?;
        Ok(ran.difference)
    }
}
