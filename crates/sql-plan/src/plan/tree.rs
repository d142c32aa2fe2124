//! The shape of a plan: what the planner decides and the executor carries out. Plain data, shared by all executions of a
//! statement; everything that differs between two executions (parameters, snapshot, time) comes from the execution's context.
//!
//! What does not change from the bound statement to its plan is declared there ([`crate::bind`]).

use std::sync::Arc;

use engine::{Cover, ObjectDef, Table};

use super::estimates::{Estimate, is_range};
use super::windows::WindowPlan;
use crate::bind::nests::NestKind;
use crate::bind::params::TypedParam;
use crate::bind::places::Places;
use crate::bind::relations::Relations;
use crate::bind::source::TableSource;
use crate::bind::tree::{
    Body, GroupPlan, Insert, InsertRows, LimitPlan, LockSpec, NodeId, Query, SortKey, Sub,
    TimeLimit, UpdateTarget, UsedTable, Yields,
};
use crate::sink::ColumnMeta;
use sql_access::needs::{Guarded, Needs};
use sql_expr::memory::Charge;
use sql_expr::{EvalCtx, Expr, LikeNode};

/// A query ready to run.
pub type QueryPlan = Query<Block>;
/// A subquery ready to run.
pub type SubPlan = Sub<Block>;
/// INSERT or REPLACE ready to run.
pub type InsertPlan = Insert<Block>;

/// A statement ready to run any number of times.
pub struct Plan {
    /// What is needed to be allowed to run it.
    pub needs: Needs,
    /// The catalog it was made for.
    pub catalog_version: u64,
    /// The stored tables it uses, each once, and behind them those that foreign keys lead to; all are held before it runs.
    pub tables: Vec<UsedTable>,
    /// The views that it reads by, each once; they are held as well.
    pub views: Box<[Arc<ObjectDef>]>,
    /// The versions of the statistics that it was made by, in the order of `tables`; empty where they decide nothing.
    pub figures: Box<[u64]>,
    /// Its result columns; empty for a statement without a result set.
    pub columns: Arc<[ColumnMeta]>,
    /// Number of parameters it reads, as far as its expressions show.
    pub params: u32,
    /// Parameters whose type decides what is computed, with the type they were planned for.
    pub typed_params: Box<[TypedParam]>,
    /// What it was made for, where another plan may be better with other values of its parameters.
    pub estimates: Box<[Estimate]>,
    /// Whether it changes rows.
    pub writes: bool,
    /// Whether it takes row locks (a locking read or a change).
    pub locks: bool,
    /// It depends on the types that user variables had when it was made: not to be kept for another execution by text.
    pub private: bool,
    /// It is nested so deep that only a large stack has room for it.
    pub deep: bool,
    /// How long it may run.
    pub time_limit: TimeLimit,
    /// For values that were computed when it was made, and are in it.
    pub charge: Charge,
    /// What to do.
    pub body: PlanBody,
}

impl Guarded for Plan {
    fn needs(&self) -> &Needs {
        &self.needs
    }
}

impl Plan {
    /// Whether it was made by the statistics that its tables have now.
    #[inline]
    pub fn is_fresh(&self) -> bool {
        let mut all = self.figures.iter().zip(&self.tables);
        all.all(|(version, t)| t.table.stats_version() == *version)
    }

    /// Whether the values of an execution, which `cx` has, are like those that it was made for.
    #[inline]
    pub fn expects(&self, cx: &EvalCtx<'_>) -> bool {
        self.estimates.iter().all(|e| e.holds(cx))
    }
}

impl PlanBody {
    /// Whether all tables whose rows it changes are temporary ones.
    pub fn changes_temporary_tables_alone(&self) -> bool {
        let temporary = |block: &Block, at: u16| match &block.tables[usize::from(at)].source {
            TableSource::Engine(t) => t.def.is_temporary(),
            _ => false,
        };
        match self {
            PlanBody::Insert(x) => x.table.def.is_temporary(),
            PlanBody::Update(x) => x.targets.iter().all(|t| temporary(&x.block, t.table)),
            PlanBody::Delete(x) => x.targets.iter().all(|t| temporary(&x.block, *t)),
            PlanBody::Explain(x) => {
                let analyzed = x.analyzed.as_ref();
                analyzed.is_some_and(PlanBody::changes_temporary_tables_alone)
            }
            PlanBody::PointGet(_) | PlanBody::Query(_) | PlanBody::Do(_) => false,
        }
    }
}

impl PlanBody {
    /// Whether what it reads beside what it changes is locked for sharing at every level. Below REPEATABLE READ these read as SELECT does: INSERT, REPLACE and
    /// CREATE TABLE of a query, and UPDATE of one table.
    pub fn shares_what_it_reads(&self) -> bool {
        match self {
            PlanBody::Insert(x) => matches!(x.source, InsertRows::Values(_)),
            PlanBody::Update(x) => x.several,
            PlanBody::Delete(_) | PlanBody::Do(_) => true,
            PlanBody::PointGet(_) | PlanBody::Query(_) | PlanBody::Explain(_) => false,
        }
    }
}

/// What a plan does.
pub enum PlanBody {
    /// One row by its full clustered key.
    PointGet(Box<PointGet>),
    /// Any query.
    Query(Box<QueryPlan>),
    /// INSERT, REPLACE.
    Insert(Box<InsertPlan>),
    /// UPDATE.
    Update(Box<UpdatePlan>),
    /// DELETE.
    Delete(Box<DeletePlan>),
    /// DO.
    Do(Box<Block>),
    /// EXPLAIN.
    Explain(Box<Explained>),
}

/// What EXPLAIN shows.
#[derive(Default)]
pub struct Explained {
    /// Its rows.
    pub rows: Vec<Vec<types::Value>>,
    /// The statement as it is carried out, for SHOW WARNINGS.
    pub note: Option<String>,
    /// There are window functions, and it says nothing of them.
    pub windowed: bool,
    /// What is run first, for ANALYZE: the rows are made of that.
    pub analyzed: Option<PlanBody>,
}

/// A row by its full clustered key, from page to packet.
pub struct PointGet {
    /// The table.
    pub table: Arc<Table>,
    /// Its slot.
    pub slot: u16,
    /// How it is read.
    pub lock: Option<LockSpec>,
    /// The key's values.
    pub key: Vec<KeyExpr>,
    /// Conditions the key leaves open.
    pub filter: Vec<Expr>,
    /// Conditions the key implies: needed where a value cannot be a key.
    pub implied: Vec<Expr>,
    /// The select list.
    pub output: Vec<Expr>,
    /// The select list where it is nothing but stored columns.
    pub plain: Option<Vec<u16>>,
}

/// A value of a search key.
#[derive(Debug, Clone)]
pub struct KeyExpr {
    /// The value; reads only tables that come before.
    pub expr: Expr,
    /// NULL finds NULL.
    pub null_safe: bool,
}

/// One SELECT (or the row-finding part of UPDATE and DELETE).
pub struct Block {
    /// Its name in the plan.
    pub id: NodeId,
    /// Its number in the statement, as EXPLAIN calls it; 0 for one that the statement does not have.
    pub number: u32,
    /// The places of its tables by slot.
    pub places: Places,
    /// The tables in the order of FROM.
    pub tables: Vec<TablePlan>,
    /// Queries of derived tables, by number.
    pub derived: Vec<QueryPlan>,
    /// The tables in the order they are read.
    pub steps: Vec<Step>,
    /// The only step with its rows kept between executions, for a correlated subquery where that may pay.
    pub spool: Option<Box<Step>>,
    /// Conditions that read no table: where one fails there are no rows.
    pub constant: Vec<Expr>,
    /// GROUP BY and aggregates.
    pub group: Option<GroupPlan>,
    /// HAVING.
    pub having: Option<Expr>,
    /// Window functions.
    pub windows: Option<Box<WindowPlan>>,
    /// The select list.
    pub output: Vec<Expr>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY, unless the steps deliver that order.
    pub order: Vec<SortKey>,
    /// The order that the steps deliver, where it was asked for.
    pub delivered: Vec<SortKey>,
    /// LIMIT.
    pub limit: Option<LimitPlan>,
    /// SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
    /// Subqueries, by the index their expressions use.
    pub subqueries: Vec<SubPlan>,
    /// Correlated subqueries that the row-wise expressions after the joins (output, group keys, aggregates) use.
    pub row_subqueries: Vec<u32>,
    /// Correlated subqueries that the expressions of a grouped row use.
    pub group_subqueries: Vec<u32>,
    /// Some expression after the joins has to wait for something (SLEEP, GET_LOCK).
    pub special: bool,
    /// Its only table is scanned straight into what is behind the joins; `None`: rows come through the steps.
    pub fused: Option<Fused>,
    /// In what form its values leave it.
    pub yields: Yields,
    /// Columns of the select list that are nothing but columns, with no conversion to do.
    pub plain: Option<Vec<(u16, u16)>>,
    /// Rows that it yields, roughly.
    pub rows: f64,
    /// The tables, by place, of which each combination of rows is wanted once: the others are of semi-joins. Empty where all
    /// combinations are wanted.
    pub weedout: Vec<u16>,
}

/// What the scan of a block's only table goes straight into, without copying rows out first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fused {
    /// The select list, and the sort where there is one.
    Output,
    /// The groups, row by row under the latch.
    Groups,
    /// The groups, which come one behind the other: no key is looked for.
    InOrder,
    /// The groups, by batches of the columns that are read.
    Batches,
    /// The groups, of which each is one entry or two of an index ([`Step::jump`]).
    Jump,
}

/// A table of a block.
pub struct TablePlan {
    /// Where its rows come from.
    pub source: TableSource,
    /// Its slot.
    pub slot: u16,
    /// How the statement calls it.
    pub alias: Arc<str>,
    /// The names of the columns of a derived table.
    pub columns: Box<[Box<str>]>,
    /// Its locking clause.
    pub lock: Option<LockSpec>,
}

impl TablePlan {
    /// The stored table, where it is one.
    pub fn stored(&self) -> Option<&Arc<Table>> {
        match &self.source {
            TableSource::Engine(t) => Some(t),
            _ => None,
        }
    }
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
    /// Of entries that agree in leading parts of the index no more than these are wanted.
    pub jump: Option<Jump>,
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

/// UPDATE.
pub struct UpdatePlan {
    /// Finds the rows.
    pub block: Block,
    /// What changes, by table.
    pub targets: Vec<UpdateTarget>,
    /// Its text names several tables, whether or not all of them change.
    pub several: bool,
    /// IGNORE.
    pub ignore: bool,
    /// The rows can be changed while they are scanned: one table, no sort, and no key of the scan changes.
    pub streaming: bool,
    /// One row by its key and nothing beside it, of which no index has a column that changes, and no foreign key.
    pub single_row: bool,
    /// The foreign keys that it meets.
    pub relations: Option<Arc<Relations>>,
    /// Subqueries of CHECK OPTION, by the index their conditions use.
    pub checks: Vec<SubPlan>,
}

/// DELETE.
pub struct DeletePlan {
    /// Finds the rows.
    pub block: Block,
    /// Tables that lose rows.
    pub targets: Vec<u16>,
    /// IGNORE.
    pub ignore: bool,
    /// The rows can be deleted while they are scanned.
    pub streaming: bool,
    /// The foreign keys that it meets.
    pub relations: Option<Arc<Relations>>,
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

impl Block {
    /// The slot of a step's table.
    #[inline]
    pub fn slot(&self, step: &Step) -> u16 {
        self.tables[usize::from(step.table)].slot
    }
}

impl QueryPlan {
    /// Whether it has a LIMIT of its own.
    pub fn is_limited(&self) -> bool {
        match &self.body {
            Body::Block(b) => b.limit.is_some(),
            _ => self.limit.is_some(),
        }
    }
}
