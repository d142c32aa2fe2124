//! What a statement runs with, and what the parts of the executor pass around. It knows none of them: subqueries and derived tables run their
//! queries by [`Env::query`].

use std::future::Future;
use std::pin::Pin;

use engine::Session;
use types::SqlError;

use super::applier::HasApplier;
use super::change_log::BinlogContext;
use super::feeds::Feeds;
use super::memo::Memos;
use super::named_locks::NamedLocks;
use super::op::join::spools::Spools;
use crate::binary_log::BinaryLog;
use sql_access::SecurityContext;
use sql_expr::{EvalCtx, RowSource};
use sql_plan::plan::QueryPlan;
use sql_plan::sink::ResultSink;

/// What a statement runs with.
pub struct ExecCtx<'a> {
    /// The engine's session; a statement has begun on it.
    pub session: &'a mut Session,
    /// Parameters, variables, time, warnings.
    pub cx: EvalCtx<'a>,
    /// What the session may see: virtual tables leave out the rest.
    pub security: &'a SecurityContext,
    /// CLIENT_FOUND_ROWS: UPDATE reports rows matched, not rows changed.
    pub found_rows: bool,
    /// The connection, as owner of named locks.
    pub connection_id: u64,
    /// The instance's named locks.
    pub named_locks: &'a NamedLocks,
    /// The binary log, where it is on.
    pub binary_log: Option<&'a dyn BinaryLog>,
    /// Knows what makes the server a replica, where something does.
    pub replica: &'a dyn HasApplier,
    /// Who is told of changes.
    pub binlog: Option<BinlogContext<'a>>,
}

/// What a query came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Rows sent.
    pub sent: u64,
    /// Rows found, where SQL_CALC_FOUND_ROWS counts them all; rows sent otherwise.
    pub found: u64,
    /// A table was read without an index.
    pub no_index: bool,
}

/// A running query.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<Counts, SqlError>> + Send + 'a>>;

/// What runs a query.
pub(crate) type RunQuery = for<'a, 'e> fn(
    &'a QueryPlan,
    &'a mut Env<'e>,
    &'a dyn RowSource,
    &'a mut dyn ResultSink,
    u64,
) -> Running<'a>;

/// What the parts of the executor pass around.
pub(crate) struct Env<'e> {
    pub session: &'e mut Session,
    pub cx: &'e EvalCtx<'e>,
    pub security: &'e SecurityContext,
    pub connection_id: u64,
    pub named_locks: &'e NamedLocks,
    pub binary_log: Option<&'e dyn BinaryLog>,
    pub replica: &'e dyn HasApplier,
    pub binlog: Option<BinlogContext<'e>>,
    run_query: RunQuery,
    pub spools: Spools,
    pub memos: Memos,
    pub feeds: Feeds,
    /// What is counted, for EXPLAIN ANALYZE.
    pub(super) tally: Option<Box<sql_plan::plan::tally::Tally>>,
    /// Nothing follows a wait but its answer: a SLEEP that is interrupted says so, and is no error.
    pub(super) only_waits: bool,
    /// Rows since the last pause.
    pub(super) worked: u32,
}

impl<'e> Env<'e> {
    /// Of a statement that begins.
    pub fn of(ctx: &'e mut ExecCtx<'_>, run_query: RunQuery) -> Env<'e> {
        Env {
            run_query,
            session: &mut *ctx.session,
            cx: &ctx.cx,
            security: ctx.security,
            connection_id: ctx.connection_id,
            named_locks: ctx.named_locks,
            binary_log: ctx.binary_log,
            replica: ctx.replica,
            binlog: ctx.binlog,
            spools: Spools::default(),
            memos: Memos::default(),
            feeds: Feeds::default(),
            tally: None,
            only_waits: false,
            worked: 0,
        }
    }

    /// Runs a query; at most `enough` of its rows matter.
    #[inline]
    pub fn query<'a>(
        &'a mut self,
        q: &'a QueryPlan,
        outer: &'a dyn RowSource,
        sink: &'a mut dyn ResultSink,
        enough: u64,
    ) -> Running<'a> {
        (self.run_query)(q, self, outer, sink, enough)
    }
}
