//! What a statement runs with, and what the parts of the executor pass around.

use engine::Session;
use types::SqlError;

use super::change_log::BinlogContext;
use super::named_locks::NamedLocks;
use super::waiting::HasApplier;
use super::{feeds, memo, spool, waiting};
use crate::binary_log::BinaryLog;
use sql_access::SecurityContext;
use sql_expr::{EvalCtx, EvalError};

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
    pub spools: spool::Spools,
    pub memos: memo::Memos,
    pub feeds: feeds::Feeds,
    /// What is counted, for EXPLAIN ANALYZE.
    pub(super) tally: Option<Box<sql_plan::plan::tally::Tally>>,
    /// Nothing follows a wait but its answer: a SLEEP that is interrupted says so, and is no error.
    pub(super) only_waits: bool,
    /// Rows since the last pause.
    pub(super) worked: u32,
}

impl<'e> Env<'e> {
    /// Of a statement that begins.
    pub fn of(ctx: &'e mut ExecCtx<'_>) -> Env<'e> {
        Env {
            session: &mut *ctx.session,
            cx: &ctx.cx,
            security: ctx.security,
            connection_id: ctx.connection_id,
            named_locks: ctx.named_locks,
            binary_log: ctx.binary_log,
            replica: ctx.replica,
            binlog: ctx.binlog,
            spools: spool::Spools::default(),
            memos: memo::Memos::default(),
            feeds: feeds::Feeds::default(),
            tally: None,
            only_waits: false,
            worked: 0,
        }
    }

    /// Does what `attempt` would wait for, so that what follows in earnest waits for nothing: before work that cannot be done twice. `attempt` evaluates
    /// the same expressions for the same row, and changes nothing; what it fails with comes again. [`EvalCtx::row_done`] is to follow.
    ///
    /// # Errors
    /// What ends a wait: 1317, 3024 and the like.
    pub async fn ahead<T>(
        &mut self,
        attempt: impl Fn() -> Result<T, SqlError>,
    ) -> Result<(), SqlError> {
        while let Some((call, what)) = self.cx.rehearse(&attempt) {
            let answer = waiting::perform(what, self).await?;
            self.cx.supply(call, answer);
        }
        self.cx.is_rehearsed();
        Ok(())
    }

    /// Unwraps the result of an evaluation; `None` where it waited for something that is now there, so that it has to be evaluated
    /// again.
    pub async fn settle<T>(&mut self, r: Result<T, SqlError>) -> Result<Option<T>, SqlError> {
        let outcome = match r {
            Ok(v) => Ok(Some(v)),
            Err(e) => match self.cx.unevaluated(e) {
                EvalError::Pending(call, what) => {
                    let answer = waiting::perform(what, self).await?;
                    self.cx.supply(call, answer);
                    return Ok(None);
                }
                EvalError::Sql(e) => Err(e),
            },
        };
        self.cx.row_done();
        outcome
    }
}
