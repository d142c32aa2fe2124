//! The shape of a plan: what the planner decides and the executor carries out. Plain data, shared by all executions of a
//! statement; everything that differs between two executions (parameters, snapshot, time) comes from the execution's context.
//!
//! What does not change from the bound statement to its plan is declared there ([`crate::bind`]).

use std::sync::Arc;

use engine::{ObjectDef, Table};

use super::block::Block;
use super::estimates::Estimate;
use super::op::KeyExpr;
use crate::bind::params::TypedParam;
use crate::bind::relations::Relations;
use crate::bind::source::TableSource;
use crate::bind::tree::{
    Body, Insert, InsertRows, LockSpec, Query, Sub, TimeLimit, UpdateTarget, UsedTable,
};
use crate::sink::ColumnMeta;
use sql_access::needs::{Guarded, Needs};
use sql_expr::memory::Charge;
use sql_expr::{EvalCtx, Expr};

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

impl QueryPlan {
    /// Whether it has a LIMIT of its own.
    pub fn is_limited(&self) -> bool {
        match &self.body {
            Body::Block(b) => b.limit().is_some(),
            _ => self.limit.is_some(),
        }
    }
}
