//! The joins of a block, one operator: a table after the other, each with what is decided about its rows.

use std::sync::Arc;

use engine::Cover;

use crate::bind::nests::NestKind;
use crate::plan::estimates::is_range;
use sql_expr::{Expr, LikeNode};

/// What makes the rows of a block: all combinations of rows of its tables for which the conditions hold.
#[derive(Default)]
pub struct Join {
    /// The tables in the order they are read; one row of nothing where there are none.
    pub steps: Vec<Step>,
    /// The only step with its rows kept between executions, for a correlated subquery where that may pay.
    pub spool: Option<Box<Step>>,
    /// Conditions that read no table: where one fails there are no rows.
    pub constant: Vec<Expr>,
    /// The tables, by place, of which each combination of rows is wanted once: the others are of semi-joins. Empty where all
    /// combinations are wanted.
    pub weedout: Vec<u16>,
    /// Its only table is scanned straight into the operator behind it, without copying rows out first.
    pub fused: bool,
    /// Each of its rows is one of those that LIMIT counts: no more than it wants are looked for.
    pub limited: bool,
    /// Correlated subqueries that the operators behind it use for each of its rows.
    pub subqueries: Vec<u32>,
}

/// A value of a search key.
#[derive(Debug, Clone)]
pub struct KeyExpr {
    /// The value; reads only tables that come before.
    pub expr: Expr,
    /// NULL finds NULL.
    pub null_safe: bool,
}

/// One table of the join, read once for every combination of rows before it.
pub struct Step {
    /// Which table.
    pub table: u16,
    /// How its rows are found.
    pub access: Access,
    /// Its rows are fetched once, kept, and gone through (or looked up) for every combination before.
    pub buffer: Option<Vec<HashKey>>,
    /// A derived table that is made again for each combination of values that these columns have before it: slot and place. Its
    /// query reads them.
    pub lateral: Option<Box<[(u16, u16)]>>,
    /// It is made anew for each combination, whatever the values: its query is not the same twice.
    pub anew: bool,
    /// Conditions on a row, beyond what the access implies; checked while scanning.
    pub filter: Vec<Expr>,
    /// Conditions with rows before, checked on kept rows.
    pub probe: Vec<Expr>,
    /// Conditions the access implies; checked where a value could not become a key.
    pub implied: Vec<Expr>,
    /// Conditions that need a subquery per row or have to wait; checked after the row was fetched.
    pub late: Vec<LateExpr>,
    /// Outer joins and anti-joins whose inner side begins here, outermost first: the step where it ends.
    pub opens: Vec<u16>,
    /// Outer joins, semi-joins and anti-joins whose inner side ends here, innermost first.
    pub nests: Vec<NestPlan>,
    /// At most this many rows are wanted (MIN and MAX from an index).
    pub at_most: Option<u64>,
    /// Its rows are kept before the first combination is looked for: where there are none, there is no combination.
    pub early: bool,
    /// Estimated rows for each combination before.
    pub rows: f64,
    /// The entries of the index that is read hold all that is read of the table.
    pub cover: Option<Arc<Cover>>,
    /// Estimated combinations that come out of it, all together.
    pub out: f64,
    /// What it and the steps before cost, in rows read.
    pub cost: f64,
}

/// How an index is jumped through: of all entries that agree in its leading parts one is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// How many parts that are.
    pub parts: usize,
    /// Each range that is read has entries alone that agree in them.
    pub one_run: bool,
    /// The first one whose next part is not NULL, too.
    pub least: bool,
    /// The last one, too.
    pub greatest: bool,
}

/// An outer join, semi-join or anti-join whose inner side ends at the step that holds this.
pub struct NestPlan {
    /// What it does with the combinations before it.
    pub kind: NestKind,
    /// Step where its inner side begins.
    pub first: u16,
    /// Conditions of the surroundings that read its tables.
    pub after: Vec<LateExpr>,
}

/// A condition checked on fetched rows.
pub struct LateExpr {
    /// The condition.
    pub expr: Expr,
    /// Correlated subqueries to evaluate before.
    pub subqueries: Vec<u32>,
}

/// How the rows of a table are found.
#[derive(Debug, Clone)]
pub enum Access {
    /// All rows in the order of an index.
    Full {
        /// The index.
        index: usize,
        /// From the end.
        backward: bool,
    },
    /// The one row of a full clustered key.
    Get(Vec<KeyExpr>),
    /// Part of an index.
    Range(Box<RangeAccess>),
    /// Parts of several indexes, of which a row may be in any (the arms of an OR); each row comes once.
    Union(Box<[RangeAccess]>),
    /// No rows can match.
    Nothing,
}

impl Access {
    /// The index and the direction of the way; the clustered one (0) where there are several, or none.
    pub fn index(&self) -> (usize, bool) {
        match self {
            Access::Full { index, backward } => (*index, *backward),
            Access::Range(r) => (r.index, r.backward),
            Access::Get(_) | Access::Union(_) | Access::Nothing => (0, false),
        }
    }
}

/// Part of an index: rows that agree in leading parts, and a range or a list of values of the next; or several such parts.
#[derive(Debug, Clone, Default)]
pub struct RangeAccess {
    /// The index.
    pub index: usize,
    /// Values of the leading parts.
    pub prefix: Vec<KeyExpr>,
    /// Values of the next part; empty where there is no list.
    pub points: Vec<KeyExpr>,
    /// Lower bound of the next part and whether it is inside.
    pub low: Option<(KeyExpr, bool)>,
    /// Upper bound of the next part and whether it is inside.
    pub high: Option<(KeyExpr, bool)>,
    /// What the next part begins with.
    pub begins: Option<Beginning>,
    /// NULLs of the next part are outside although there is no lower bound.
    pub not_null: bool,
    /// Parts of the same index of which a row may be in any (the arms of an OR). Where there are some, they say it all: nothing
    /// above does but the index. They may overlap.
    pub arms: Vec<RangeAccess>,
    /// From the end.
    pub backward: bool,
}

/// What a text begins with.
#[derive(Debug, Clone)]
pub enum Beginning {
    /// This text.
    Text(Vec<u8>),
    /// What the pattern begins with that an execution has: perhaps nothing.
    Pattern(Box<LikeNode>),
}

impl Beginning {
    /// Whether the texts that begin so are neighbours in an index.
    pub fn is_range(text: &[u8]) -> bool {
        is_range(text)
    }
}

/// A pair of values that must be equal, of this table and of tables before.
#[derive(Debug, Clone)]
pub struct HashKey {
    /// Of this table.
    pub build: Expr,
    /// Of the tables before.
    pub probe: Expr,
    /// How text is compared; `None` for numbers and times of one kind.
    pub collation: Option<types::CollationId>,
}

impl Access {
    /// Calls `f` with the values of its search keys.
    pub fn each_key(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Access::Full { .. } | Access::Nothing => {}
            Access::Get(keys) => keys.iter().for_each(|k| f(&k.expr)),
            Access::Range(r) => r.each_key(f),
            Access::Union(arms) => arms.iter().for_each(|arm| arm.each_key(f)),
        }
    }
}

impl RangeAccess {
    /// Calls `f` with the values of its search keys.
    pub fn each_key(&self, f: &mut dyn FnMut(&Expr)) {
        self.prefix
            .iter()
            .chain(&self.points)
            .for_each(|k| f(&k.expr));
        for (k, _) in self.low.iter().chain(&self.high) {
            f(&k.expr);
        }
        if let Some(Beginning::Pattern(l)) = &self.begins {
            f(&l.pattern);
        }
        self.arms.iter().for_each(|arm| arm.each_key(f));
    }

    /// Whether it says anything about the part behind the equal ones.
    pub fn is_bounded(&self) -> bool {
        self.low.is_some()
            || self.high.is_some()
            || self.begins.is_some()
            || !self.points.is_empty()
            || !self.arms.is_empty()
    }

    /// How many parts of the index it speaks of.
    pub fn parts(&self) -> usize {
        let arms = self.arms.iter().map(RangeAccess::parts);
        arms.max()
            .unwrap_or(self.prefix.len() + usize::from(self.is_bounded()))
    }
}
