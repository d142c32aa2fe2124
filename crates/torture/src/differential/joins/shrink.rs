//! Makes a difference smaller: the way it is executed, the statement, the rows, the tables; while a difference of the same kind remains.

use super::case::{Against, Case, Difference, Verdict};
use super::schema::Schema;
use super::side::Side;
use super::tree::{reduced, tables};
use crate::differential::documented::Line;
use harness::step::Outcome;
use std::time::{Duration, Instant};

/// The most time for one difference.
const PATIENCE: Duration = Duration::from_secs(20);

/// A difference that is made smaller.
pub struct Shrinking<'s> {
    /// Our server.
    pub ours: &'s mut Side,
    /// The other.
    pub theirs: Option<&'s mut Side>,
    /// The statement.
    pub case: Case,
    /// Its tables.
    pub schema: Schema,
    /// The difference.
    pub found: Difference,
    lines: &'s [Line],
    begun: Instant,
}

impl<'s> Shrinking<'s> {
    /// Begins.
    pub fn new(
        ours: &'s mut Side,
        theirs: Option<&'s mut Side>,
        case: &Case,
        schema: &Schema,
        found: Difference,
        lines: &'s [Line],
    ) -> Shrinking<'s> {
        let mut case = case.clone();
        case.ways = match &found.against {
            Against::Peer => Vec::new(),
            Against::Way(way) => vec![way.clone()],
        };
        Shrinking {
            ours,
            theirs,
            case,
            schema: schema.clone(),
            found,
            lines,
            begun: Instant::now(),
        }
    }

    /// Does all of it; the tables are those of the result then.
    pub fn run(&mut self) -> Outcome<()> {
        self.simpler_ways()?;
        self.smaller_statement()?;
        self.fewer_tables()?;
        self.fewer_rows()?;
        self.fewer_indexes()?;
        self.smaller_statement()?;
        self.fewer_columns()
    }

    fn late(&self) -> bool {
        self.begun.elapsed() > PATIENCE
    }

    /// Keeps the case if it differs in the same way.
    fn try_case(&mut self, case: Case) -> Outcome<bool> {
        // Of a difference between two ways of ours the other server knows nothing.
        let theirs = match self.found.against {
            Against::Peer => self.theirs.as_deref_mut(),
            Against::Way(_) => None,
        };
        match case.judge(self.ours, theirs, self.lines)? {
            Verdict::Differs(found) if found.like(&self.found) => {
                self.case = case;
                self.found = *found;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn fill(&mut self, schema: &Schema) -> Outcome<()> {
        self.ours.fill(schema)?;
        match (&mut self.theirs, &self.found.against) {
            (Some(theirs), Against::Peer) => theirs.fill(schema),
            _ => Ok(()),
        }
    }

    fn try_schema(&mut self, schema: Schema) -> Outcome<bool> {
        if self.late() {
            return Ok(false);
        }
        // What no server takes, such as an index of a column that is gone, is no smaller schema.
        if self.fill(&schema).is_ok() && self.try_case(self.case.clone())? {
            self.schema = schema;
            return Ok(true);
        }
        let before = self.schema.clone();
        self.fill(&before)?;
        Ok(false)
    }

    /// The same where only the rows of a table are others.
    fn try_rows(&mut self, schema: Schema, at: usize) -> Outcome<bool> {
        self.refill(&schema, at)?;
        if self.try_case(self.case.clone())? {
            self.schema = schema;
            return Ok(true);
        }
        let before = self.schema.clone();
        self.refill(&before, at)?;
        Ok(false)
    }

    fn refill(&mut self, schema: &Schema, at: usize) -> Outcome<()> {
        let table = &schema.tables[at];
        self.ours.refill(table)?;
        match (&mut self.theirs, &self.found.against) {
            (Some(theirs), Against::Peer) => theirs.refill(table),
            _ => Ok(()),
        }
    }

    fn simpler_ways(&mut self) -> Outcome<()> {
        'again: loop {
            let Against::Way(way) = self.found.against.clone() else {
                return Ok(());
            };
            for simpler in way.simpler() {
                let mut case = self.case.clone();
                case.ways = vec![simpler];
                if self.try_case(case)? {
                    continue 'again;
                }
            }
            return Ok(());
        }
    }

    fn smaller_statement(&mut self) -> Outcome<()> {
        let mut number = 0;
        while let Some(part) = reduced(&self.case.part, number) {
            let case = Case {
                part,
                ..self.case.clone()
            };
            if self.late() {
                break;
            }
            if !self.try_case(case)? {
                number += 1;
            }
        }
        Ok(())
    }

    fn fewer_tables(&mut self) -> Outcome<()> {
        let mut named: Vec<usize> = tables(&self.case.part).into_iter().map(|t| t.0).collect();
        named.extend(self.case.changed);
        let mut schema = self.schema.clone();
        schema.tables.retain(|t| named.contains(&t.number));
        self.try_schema(schema).map(drop)
    }

    fn fewer_rows(&mut self) -> Outcome<()> {
        for at in 0..self.schema.tables.len() {
            let mut take = self.schema.tables[at].rows.len();
            while take > 0 {
                let mut from = 0;
                while from < self.schema.tables[at].rows.len() {
                    let mut schema = self.schema.clone();
                    let rows = &mut schema.tables[at].rows;
                    let to = (from + take).min(rows.len());
                    rows.drain(from..to);
                    if self.late() || !self.try_rows(schema, at)? {
                        from += take;
                    }
                }
                take /= 2;
            }
        }
        Ok(())
    }

    fn fewer_indexes(&mut self) -> Outcome<()> {
        for at in 0..self.schema.tables.len() {
            for index in (0..self.schema.tables[at].indexes.len()).rev() {
                let mut schema = self.schema.clone();
                schema.tables[at].indexes.remove(index);
                self.try_schema(schema)?;
            }
        }
        Ok(())
    }

    fn fewer_columns(&mut self) -> Outcome<()> {
        for at in 0..self.schema.tables.len() {
            for column in (0..self.schema.tables[at].columns.len()).rev() {
                let mut schema = self.schema.clone();
                let table = &mut schema.tables[at];
                if table.columns.len() == 1 {
                    break;
                }
                table.columns.remove(column);
                table.rows.iter_mut().for_each(|row| {
                    row.remove(column);
                });
                self.try_schema(schema)?;
            }
        }
        Ok(())
    }
}
