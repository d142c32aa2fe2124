//! How a statement begins and ends for its session, whatever it is: counters, diagnostics, and what the client is told of its outcome.

use std::future::poll_fn;
use std::task::Poll;

use types::error::codes;
use types::{Level, SqlError, Warning};

use super::Session;
use super::com::Com;
use super::gtid::Left;
use sql_exec::unless_killed;
use sql_expr::PENDING;
use sql_expr::memory::Account;
use sql_expr::vars::SqlMode;
use sql_plan::sink::{Done, ResultSink, StateChange};

impl Session {
    /// Goes on where computing for long keeps nobody waiting.
    pub(crate) async fn leave(&self) {
        base::environment::leave(&*self.engine.engine().environment().spawn).await;
    }

    /// Notes the error that ends the statement.
    pub(crate) fn failed(&mut self, mut e: SqlError) -> SqlError {
        debug_assert!(
            e.code != PENDING,
            "an evaluation that waits was not waited for"
        );
        if e.code == PENDING {
            e = SqlError::not_supported("a function that waits in this place");
        }
        self.note_xa_undone(&e);
        self.closing |= Account::closes(e.code);
        let max = self.vars.hot().max_error_count;
        self.diagnostics.fail(&e, max);
        self.facts.row_count = -1;
        e
    }

    pub(crate) fn count(&self, com: Com) {
        self.process.counts.queries.add(1);
        self.process.counts.com[com as usize].add(1);
    }

    /// A statement begins that is not about the diagnostics of the one before.
    #[inline]
    pub(crate) fn begin_statement(&mut self, com: Com) {
        self.put_back();
        self.secure();
        self.count(com);
        self.facts.warning_count = self.diagnostics.total();
        self.facts.error_count = self.diagnostics.errors();
        self.diagnostics.clear();
        self.memory().begin();
    }

    /// Whether replicas are asked for an acknowledgement of commits.
    #[inline]
    pub(crate) fn asks_replicas(&self) -> bool {
        let log = self.instance.binary_log.get();
        log.is_some_and(|log| log.asks_replicas())
    }

    /// What is left to do when a statement is over and before its client hears of it: what its transaction was called, and which replicas have it.
    ///
    /// # Errors
    /// Those of the outcome, and what keeping a name fails with; 1317, where the connection was killed.
    pub(crate) async fn conclude(
        &mut self,
        mut outcome: Result<Done, SqlError>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let mut left = self.take_left();
        if self.gate.named {
            outcome = Box::pin(self.end_named(outcome, &mut left)).await;
        }
        if self.tells_gtids() && outcome.is_ok() {
            Box::pin(self.tell_gtids(left)).await;
        }
        let waited = self.wait_acknowledged(left, sink).await;
        outcome.and_then(|done| waited.map(|()| done))
    }

    /// Waits until what the statement has committed is on as many replicas as semi-sync wants. Its locks are free by then, and others see it:
    /// only the answer waits. KILL, the client's going and the server's end are the end of that. The transaction stays committed: after KILL QUERY a
    /// warning says so. A connection that is to end gets no OK, since nobody knows whether what it has committed will last.
    ///
    /// # Errors
    /// 1317, where the connection was killed.
    #[inline]
    async fn wait_acknowledged(
        &mut self,
        left: Left,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        if left.is_nothing() || self.applier || !self.asks_replicas() {
            return Ok(());
        }
        // In a box, as it is rare.
        Box::pin(self.wait_for_replicas(left, sink)).await
    }

    async fn wait_for_replicas(
        &mut self,
        left: Left,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        // A change of definitions is committed by a session of its own.
        let lsn = match left.by_others {
            true => left.own.max(self.instance.engine.groups_committed()),
            false => left.own,
        };
        let Some(log) = self.instance.binary_log.get().cloned() else {
            return Ok(());
        };
        let Some(mut acknowledged) = log.acknowledged(lsn) else {
            return Ok(());
        };
        self.process
            .set_state("Waiting for semi-sync ACK from replica");
        let mut gone = sink.gone();
        let either = poll_fn(|cx| match acknowledged.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Ok(())),
            Poll::Pending => gone.as_mut().poll(cx).map(Ok),
        });
        let waited = unless_killed(&self.engine, either).await;
        drop((gone, acknowledged));
        self.process.set_state("");
        if let Err(e) = waited {
            if self.process.interrupt().connection_killed() {
                return Err(e);
            }
            let text = "The wait for replicas was interrupted: the transaction is committed here, and may be on no replica";
            let warning = Warning::new(Level::Warning, codes::ER_QUERY_INTERRUPTED, text);
            let max = self.vars.hot().max_error_count;
            self.diagnostics.push(warning, max);
        }
        Ok(())
    }

    /// Tells the client how the statement ended.
    pub(crate) fn complete(
        &mut self,
        outcome: Result<Done, SqlError>,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        // What took part of a value, a row or a text and went on is found out here at the latest.
        let outcome = outcome.and_then(|done| self.memory().check().map(|()| done));
        let mut done = match outcome {
            Ok(done) => done,
            Err(e) => return Err(self.failed(e)),
        };
        self.note_done(&mut done, more);
        if !self.changes.is_empty() {
            done.changes = std::mem::take(&mut self.changes);
        }
        sink.finish(&done);
        Ok(())
    }

    /// What functions report of a statement that went well, and what its end says beside.
    pub(crate) fn note_done(&mut self, done: &mut Done, more: bool) {
        if let Some(id) = done.generated_id {
            self.facts.last_insert_id = id;
            self.facts.last_id_is_null = true;
        }
        if done.result_set {
            self.facts.row_count = -1;
            self.facts.found_rows = done.found_rows;
        } else {
            self.facts.row_count = i64::try_from(done.affected).unwrap_or(i64::MAX);
        }
        done.more = more;
        done.warnings = match done.of_diagnostics {
            true => 0,
            false => self.diagnostics.packet_count(),
        };
        done.in_transaction = self.engine.in_transaction();
        if !done.in_transaction && self.savepoints.bytes() > 0 {
            // Less is never refused.
            self.savepoints.set(0);
        }
        done.in_read_only_transaction = done.in_transaction && self.engine.is_read_only();
        let hot = self.vars.hot();
        done.autocommit = hot.autocommit;
        done.no_backslash_escapes = hot.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
    }

    /// What has changed of the session since its client was told: for the end of a command that is no statement.
    pub fn take_changes(&mut self) -> Vec<StateChange> {
        std::mem::take(&mut self.changes)
    }
}
