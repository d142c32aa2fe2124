//! Two servers side by side: what one statement gave, what all tables hold, and what must hold at the end of a block.

use super::script::Statement;
use super::side::{Answer, Side};
use crate::differential::peer::LOST;
use harness::server::Kind;
use harness::step::Outcome;

/// Where two answers differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// In what: `error`, `text`, `affected`, `matched`, `warning`, `contents`, `facts`, `own` or `lost`.
    pub aspect: &'static str,
    /// After which statement, or to which question.
    pub sql: String,
    /// Ours.
    pub ours: String,
    /// Theirs, or what ours should be.
    pub theirs: String,
}

impl Difference {
    /// Whether another is of the same kind.
    pub fn like(&self, other: &Difference) -> bool {
        let code = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        self.aspect == other.aspect
            && (self.aspect != "error"
                || (code(&self.ours) == code(&other.ours)
                    && code(&self.theirs) == code(&other.theirs)))
    }

    /// Whether the rows say if both servers are where they were. Of definitions that one of them has changed they say nothing.
    pub fn comparable(&self, statement: &Statement) -> bool {
        let refused = self.ours != "rows" && self.theirs != "rows";
        match self.aspect {
            "error" => refused || statement.changes_rows() || statement.reads(),
            "text" | "affected" | "matched" | "warning" => true,
            _ => false,
        }
    }
}

/// What came of a statement.
#[derive(Debug)]
pub struct Ran {
    /// Whether ours took it.
    pub taken: bool,
    /// The difference.
    pub difference: Option<Difference>,
}

/// Both servers.
#[derive(Debug)]
pub struct Two {
    /// Ours.
    pub ours: Side,
    /// The other, if there is one.
    pub theirs: Option<Side>,
}

impl Two {
    /// Both begin anew.
    pub fn fresh(&mut self) -> Outcome<()> {
        self.ours.fresh()?;
        self.theirs.as_mut().map_or(Ok(()), Side::fresh)
    }

    /// Runs a statement on both.
    pub fn run(&mut self, statement: &Statement) -> Outcome<Ran> {
        let ours = self.ours.run(statement)?.unwrap_or_default();
        let theirs = match &mut self.theirs {
            Some(theirs) => theirs.run(statement)?,
            None => None,
        };
        let difference = match &theirs {
            Some(theirs) => compared(statement, &ours, theirs),
            None if ours.code == LOST => Some(Difference {
                aspect: "lost",
                sql: statement.text(Kind::Tidemill),
                ours: ours.error(),
                theirs: "an answer".to_owned(),
            }),
            None => None,
        };
        Ok(Ran {
            taken: ours.code == 0,
            difference,
        })
    }

    /// Compares all rows of these tables.
    pub fn contents(&mut self, tables: &[String]) -> Outcome<Option<Difference>> {
        let Some(theirs) = &mut self.theirs else {
            return Ok(None);
        };
        for table in tables {
            let sql = format!("SELECT * FROM {table}");
            let ours = self.ours.ask(&sql, false)?;
            let other = theirs.ask(&sql, false)?;
            if ours.code != other.code || ours.rows != other.rows {
                return Ok(Some(Difference {
                    aspect: "contents",
                    sql,
                    ours: told(&ours),
                    theirs: told(&other),
                }));
            }
        }
        Ok(None)
    }

    /// What the schema says of itself, which must be alike. No transaction is open.
    pub fn facts(&mut self) -> Outcome<Option<Difference>> {
        let Some(theirs) = &mut self.theirs else {
            return Ok(None);
        };
        // MariaDB forgets RESTRICT where it adds a foreign key without copying the table.
        for sql in [
            "SELECT constraint_name, table_name, referenced_table_name, REPLACE(update_rule, 'RESTRICT', 'NO ACTION'), \
             REPLACE(delete_rule, 'RESTRICT', 'NO ACTION') \
             FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE()",
            "SELECT constraint_name, table_name, ordinal_position, column_name, referenced_table_name, referenced_column_name \
             FROM information_schema.key_column_usage \
             WHERE constraint_schema = DATABASE() AND referenced_table_name IS NOT NULL",
            "SELECT constraint_name, table_name, constraint_type FROM information_schema.table_constraints \
             WHERE constraint_schema = DATABASE() AND constraint_type <> 'CHECK'",
            "SELECT table_name, column_name, ordinal_position, is_nullable FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name LIKE 't%'",
            "SELECT table_name, IF(index_name LIKE 'f%', 'f', index_name), seq_in_index, column_name, non_unique \
             FROM information_schema.statistics WHERE table_schema = DATABASE()",
        ] {
            let ours = self.ours.must(sql)?;
            let other = theirs.must(sql)?;
            if ours.rows != other.rows {
                return Ok(Some(Difference {
                    aspect: "facts",
                    sql: sql.to_owned(),
                    ours: only(&ours, &other),
                    theirs: only(&other, &ours),
                }));
            }
        }
        Ok(None)
    }
}

fn compared(statement: &Statement, ours: &Answer, theirs: &Answer) -> Option<Difference> {
    let differs = |aspect, ours: String, theirs: String| {
        Some(Difference {
            aspect,
            sql: statement.text(Kind::Tidemill),
            ours,
            theirs,
        })
    };
    if ours.code == LOST {
        return differs("lost", ours.error(), theirs.error());
    }
    if ours.code != theirs.code {
        return differs("error", ours.error(), theirs.error());
    }
    if ours.rows != theirs.rows {
        return differs("text", only(ours, theirs), only(theirs, ours));
    }
    if statement.changes_rows() && ours.code == 0 && ours.count != theirs.count {
        // Rows that were looked at and left as they are, apart from those that changed.
        let changed = |count: &str| {
            let said = count.split("Changed: ").nth(1).map(str::to_owned);
            (said, count.split(' ').next().unwrap_or_default().to_owned())
        };
        let both = [&ours.count, &theirs.count].map(|count| changed(count));
        let aspect = match both[0] == both[1] {
            true => "matched",
            false => "affected",
        };
        return differs(aspect, ours.count.clone(), theirs.count.clone());
    }
    if ours.warnings != theirs.warnings {
        return differs("warning", ours.warned(), theirs.warned());
    }
    None
}

fn told(answer: &Answer) -> String {
    match answer.code {
        0 => answer.rows.join(" / "),
        _ => answer.error(),
    }
}

/// The rows of one that the other has not.
fn only(one: &Answer, other: &Answer) -> String {
    let mut rest = other.rows.clone();
    let mut out: Vec<&str> = Vec::new();
    for row in &one.rows {
        match rest.iter().position(|r| r == row) {
            Some(at) => drop(rest.swap_remove(at)),
            None => out.push(row),
        }
    }
    out.join(" / ")
}
