//! One statement of a run: made from a number, asked of both servers and in other ways of ours, and judged.

use super::change::change;
use super::grower::Grower;
use super::plans::{Way, members, ways};
use super::query::{block, query};
use super::schema::Schema;
use super::side::{Answer, Side};
use super::tree::{Part, Writing, ordered, written};
use crate::differential::documented::{self, Line};
use crate::differential::peer::LOST;
use harness::rng::Rng;
use harness::step::Outcome;

/// Statements over the same tables.
pub const BLOCK: u64 = 300;

/// What MariaDB may do to a query; without it, it may answer otherwise.
const SWITCHES: &[&str] = &[
    "semijoin,materialization,derived_merge,derived_with_keys,condition_pushdown_for_derived,split_materialized",
    "firstmatch,loosescan,exists_to_in,in_to_exists,subquery_cache,partial_match_rowid_merge",
    "semijoin,materialization,exists_to_in,condition_pushdown_for_subquery,condition_pushdown_from_having,not_null_range_scan",
    "outer_join_with_cache,join_cache_incremental,join_cache_hashed,index_condition_pushdown,rowid_filter,index_merge,table_elimination,subquery_cache,split_materialized",
];

/// A statement.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its tree.
    pub part: Part,
    /// The table that it changes.
    pub changed: Option<usize>,
    /// Other ways to execute it.
    pub ways: Vec<Way>,
}

/// Against what an answer of ours was held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Against {
    /// MariaDB's.
    Peer,
    /// Ours to the same statement, executed in this way.
    Way(Way),
}

/// Two answers that differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Against what.
    pub against: Against,
    /// Ours.
    pub ours: Answer,
    /// The other.
    pub other: Answer,
}

/// What came of a statement.
#[derive(Debug)]
pub enum Verdict {
    /// All answers are alike.
    Alike,
    /// All are errors of the same number.
    Refused(u16),
    /// A server took too long, or MariaDB fell; `true` for ours.
    Slow(bool),
    /// MariaDB has two answers by itself, one of them ours.
    Undecided,
    /// MariaDB refuses what MySQL takes, for this reason of the list.
    Documented(String),
    /// Answers differ.
    Differs(Box<Difference>),
}

impl Difference {
    /// In what they differ.
    pub fn aspect(&self) -> &'static str {
        if self.ours.code == LOST || self.other.code == LOST {
            "lost"
        } else if self.ours.code != self.other.code {
            "error"
        } else {
            "text"
        }
    }

    /// Whether another difference is of the same kind.
    pub fn like(&self, other: &Difference) -> bool {
        let peer = |d: &Difference| d.against == Against::Peer;
        self.aspect() == other.aspect()
            && peer(self) == peer(other)
            && self.ours.code == other.ours.code
            && self.other.code == other.other.code
    }
}

/// The stream of a number.
fn stream(seed: u64, number: u64, salt: u64) -> Rng {
    Rng::new(Rng::new(seed ^ salt).next_u64() ^ Rng::new(number).next_u64())
}

/// The tables of a block of statements.
pub fn schema(seed: u64, block: u64) -> Schema {
    Schema::of(&mut stream(seed, block, 0x7ab1e5))
}

impl Case {
    /// The statement of this number.
    pub fn of(seed: u64, number: u64, schema: &Schema) -> Case {
        let mut g = Grower::new(stream(seed, number, 0), schema, block);
        let (part, changed) = if g.chance(10) {
            let (part, table) = change(&mut g);
            (part, Some(table))
        } else {
            (query(&mut g), None)
        };
        let mut rng = stream(seed, number, 0x9a15);
        let ways = ways(&mut rng, &part, schema, changed.is_none());
        Case {
            part,
            changed,
            ways,
        }
    }

    /// The statement as it is first asked.
    pub fn sql(&self) -> String {
        written(&self.part, &Writing::default())
    }

    /// Asks both servers, and ours in every way.
    pub fn judge(
        &self,
        ours: &mut Side,
        theirs: Option<&mut Side>,
        lines: &[Line],
    ) -> Outcome<Verdict> {
        let ordered = ordered(&self.part);
        let (sql, way) = (self.sql(), Way::default());
        let mut verdict = Verdict::Alike;
        let (mine, peer) = match theirs {
            None => (ours.run(&sql, self.changed, &way)?, None),
            Some(theirs) => {
                let other = theirs.run(&sql, self.changed, &way)?;
                if other.limited() || other.code == LOST {
                    return Ok(Verdict::Slow(false));
                }
                (ours.run(&sql, self.changed, &way)?, Some((theirs, other)))
            }
        };
        if mine.limited() {
            return Ok(Verdict::Slow(true));
        }
        if let Some((theirs, other)) = peer
            && differ(&mine, &other, ordered, true)
        {
            let codes = [&mine, &other].map(|a| format!("{} {}", a.code, a.message));
            let found = ["joins-refused", "error", &sql, codes[0].trim(), &codes[1]];
            let line = documented::find_text(lines, found).filter(|_| other.code != mine.code);
            if let Some(line) = line {
                verdict = Verdict::Documented(line.named());
            } else if other.code == mine.code && self.agrees(&mine, theirs, &sql, ordered)? {
                verdict = Verdict::Undecided;
            } else {
                return Ok(Verdict::Differs(Box::new(Difference {
                    against: Against::Peer,
                    ours: mine,
                    other,
                })));
            }
        }
        if mine.code != 0 && mine.code != LOST {
            return Ok(Verdict::Refused(mine.code));
        }
        for way in &self.ways {
            let other = ours.run(&written(&self.part, &way.writing), self.changed, way)?;
            if other.limited() {
                // The others take as long, mostly.
                break;
            }
            if differ(&mine, &other, ordered, false) {
                return Ok(Verdict::Differs(Box::new(Difference {
                    against: Against::Way(way.clone()),
                    ours: mine,
                    other,
                })));
            }
        }
        Ok(verdict)
    }

    /// Whether MariaDB has our answer too, by another plan of its own, or to the same statement written in another way.
    fn agrees(&self, mine: &Answer, theirs: &mut Side, sql: &str, ordered: bool) -> Outcome<bool> {
        let mut late = Way::default();
        late.writing.late_on = true;
        for way in [members(), late] {
            let other = written(&self.part, &way.writing);
            if other != sql {
                let other = theirs.run(&other, self.changed, &way)?;
                if !differ(mine, &other, ordered, true) {
                    return Ok(true);
                }
            }
        }
        for bare in [false, true] {
            for switches in SWITCHES {
                let other = theirs.without(sql, self.changed, bare, switches)?;
                if !differ(mine, &other, ordered, true) {
                    return Ok(true);
                }
            }
        }
        let bare = Way {
            bare: true,
            ..Way::default()
        };
        let other = theirs.run(sql, self.changed, &bare)?;
        Ok(!differ(mine, &other, ordered, true))
    }
}

fn differ(a: &Answer, b: &Answer, ordered: bool, zeros: bool) -> bool {
    a.code == LOST
        || b.code == LOST
        || a.code != b.code
        || a.compared(ordered, zeros) != b.compared(ordered, zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_always_the_same_statement() {
        let schema = schema(3, 0);
        for number in 0..200 {
            let (a, b) = (Case::of(3, number, &schema), Case::of(3, number, &schema));
            assert_eq!(a.sql(), b.sql());
            assert_eq!(a.ways, b.ways);
        }
    }
}
