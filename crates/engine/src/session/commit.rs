//! How a transaction ends: the commit or abort record, what is released with it, and the wait for the log.

use super::Session;
use crate::engine::Engine;
use crate::error;
use crate::purge_queue::PurgeItem;
use base::{Lsn, TxnId};
use pager::{OpError, Purpose, RecordKind};
use types::SqlError;

/// A commit whose record is in the log and may not be as durable yet as innodb_flush_log_at_trx_commit asks: nobody may be
/// told of it before [`Session::wait_durable`], or [`Engine::wait_durable`].
#[derive(Debug)]
#[must_use]
pub struct Committing {
    end: Lsn,
}

impl Engine {
    /// Waits until a commit is as durable as innodb_flush_log_at_trx_commit asks, whoever has made it.
    ///
    /// # Errors
    /// 1180: the log cannot be written.
    pub async fn wait_durable(&self, commit: Committing) -> Result<(), SqlError> {
        match commit.end.is_none() {
            true => Ok(()),
            false => self.wait_commit(commit.end).await,
        }
    }
}

impl Session {
    /// Commits; answers when the commit is as durable as innodb_flush_log_at_trx_commit asks.
    ///
    /// # Errors
    /// 1180: the log cannot be written, and whether the commit is there after the next start is not known. 1205, 1317: another session has locked
    /// the server for reading; 1290: the [fence](crate::Fence) is up; 1317, 1598: what it leaves is not [taken](crate::Intake); the transaction is
    /// as it was.
    pub async fn commit(&mut self) -> Result<(), SqlError> {
        let committing = self.commit_in_memory().await?;
        match committing.end.is_none() {
            true => Ok(()),
            false => self.engine.clone().wait_commit(committing.end).await,
        }
    }

    /// As [`commit`](Self::commit), up to the wait for the log.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn commit_in_memory(&mut self) -> Result<Committing, SqlError> {
        let seen = self.locked_only_up_to();
        if self.ended_without_record() {
            let end = seen.unwrap_or(Lsn::NONE);
            return Ok(Committing { end });
        }
        // Before it is one of those whom others wait for. A definition has waited before it began.
        if !self.defines && self.leaves_events() {
            self.wait_intake().await?;
        }
        self.begin_commit().await?;
        self.check_lasting()?;
        self.pack_events().await;
        self.log_most_events().await?;
        self.wait_admission().await?;
        let end = self
            .record_commit()
            .map_err(|e| error::storage(e, "the log"))?;
        Ok(Committing { end })
    }

    /// As [`commit`](Self::commit), up to the wait for the log. `None` where something before that has to be waited for, or fails:
    /// then nothing was done.
    pub fn commit_now(&mut self) -> Option<Committing> {
        let seen = self.locked_only_up_to();
        if self.ended_without_record() {
            let end = seen.unwrap_or(Lsn::NONE);
            return Some(Committing { end });
        }
        if !self.has_few_events() || !self.begin_writing_now() {
            return None;
        }
        if !self.engine.events.intake.is_open() && self.leaves_events() {
            return None;
        }
        self.check_lasting().ok()?;
        self.engine.log.admit(Purpose::Undo).ok()?;
        if !self.pack_events_now() {
            return None;
        }
        let end = self.record_commit().ok()?;
        Some(Committing { end })
    }

    /// Whether the transaction may leave what it has done, as the fence is now. It [has begun to commit](Self::begin_commit).
    fn check_lasting(&self) -> Result<(), SqlError> {
        let lasting = self.reg.is_lasting() || !self.events.is_empty() || self.events.is_logged();
        match lasting && !base::mutant!("commit-behind-the-fence") {
            true => self.check_fence(),
            false => Ok(()),
        }
    }

    /// Waits until nobody has locked the server for reading.
    pub(super) async fn begin_commit(&mut self) -> Result<(), SqlError> {
        match self.begin_writing_now() {
            true => Ok(()),
            // In a box, as it is rare.
            false => Box::pin(self.begin_writing()).await,
        }
    }

    /// Whether a commit is already as durable as it has to be, or can be made so without waiting.
    #[inline]
    pub fn is_durable_enough(&self, commit: &Committing) -> bool {
        commit.end.is_none() || self.engine.sync_commit_now(commit.end)
    }

    /// Waits until a commit is as durable as innodb_flush_log_at_trx_commit asks.
    ///
    /// # Errors
    /// 1180: the log cannot be written.
    pub async fn wait_durable(&self, commit: Committing) -> Result<(), SqlError> {
        self.engine.wait_durable(commit).await
    }

    /// Behind the last group that this session has committed since this was asked last; none: there was none.
    pub fn take_group_end(&mut self) -> Lsn {
        std::mem::replace(&mut self.group_end, Lsn::NONE)
    }

    /// Up to where a transaction that has locked and changed nothing has seen commits, which may not be durable yet: locking reads see what
    /// has been committed in memory. What its client goes by is not to be lost, and the next snapshot not to be older: its own commit
    /// waits for that.
    fn locked_only_up_to(&self) -> Option<Lsn> {
        let locked = self.locks_lasting && self.reg.last().is_none() && self.events.is_empty();
        locked.then(|| self.engine.log.end())
    }

    /// Ends a transaction that has logged nothing; false where it has.
    fn ended_without_record(&mut self) -> bool {
        if self.txid == TxnId::NONE {
            self.end_transaction();
            return true;
        }
        if self.reg.last().is_none() && self.events.is_empty() && !self.events.is_logged() {
            self.end_unlogged();
            return true;
        }
        false
    }

    /// Writes the commit record and ends the transaction; gives up to where the log is to be durable, none where it need not be. After an error
    /// it goes on.
    fn record_commit(&mut self) -> Result<Lsn, OpError> {
        let len = self.events.len();
        let events = self.log_group()?;
        let engine = &self.engine;
        // Where nothing that lasts was changed, and nothing was locked by which a commit was seen that is not durable yet, it is not.
        let wait = self.reg.is_lasting() || self.locks_lasting || events;
        let (first, last) = (self.reg.first(), self.reg.last());
        let body = [(self.purge_work && !base::mutant!("commit-flag-wrong")) as u8];
        let rec = self.reg.recording();
        let publish = |start, _| {
            engine.txns.committed(self.txid, start);
            if self.defines {
                engine.ddl.set_unseen(start);
            }
        };
        let record = (RecordKind::Commit, self.txid, last);
        let done = match self.events.has_news() {
            true => {
                let piece = (RecordKind::Event, self.events.piece(usize::MAX));
                engine.pager.append_behind(piece, record, &body, publish)
            }
            false => {
                let (kind, txid, prev) = record;
                engine.pager.append(kind, txid, prev, &body, publish)
            }
        };
        let done = match done {
            Ok(d) => d,
            Err(e) => {
                drop(rec);
                self.events.cut(len);
                return Err(e);
            }
        };
        if self.purge_work {
            engine.purge.push(PurgeItem {
                commit: done.start,
                txid: self.txid,
                first,
                last,
            });
        }
        if events {
            engine.events.set_committed(done.end);
            self.group_end = done.end;
        }
        // After that: a checkpoint finds the transaction among the active ones or in the purge queue.
        rec.ended();
        self.lost = 0;
        engine.counters.commits.inc();
        if self.defines {
            engine.counters.definition_commits.inc();
        }
        engine.locks.release_all(self.txid);
        self.end_transaction();
        if !first.is_none() {
            self.engine.log.needs_less(first);
        }
        Ok(if wait { done.end } else { Lsn::NONE })
    }

    /// Undoes the whole transaction.
    ///
    /// # Errors
    /// 1030: the log is closed or damaged; 1712: a page is damaged. The transaction stays as it is.
    pub async fn rollback(&mut self) -> Result<(), SqlError> {
        let logged = self.events.is_logged() && !base::mutant!("abandoned-group-not-ended");
        if self.reg.last().is_none() && !logged {
            self.events.clear();
        }
        if self.ended_without_record() {
            return Ok(());
        }
        self.undo_all().await?;
        self.wait_admission().await?;
        let engine = self.engine.clone();
        let first = self.reg.first();
        let rec = self.reg.recording();
        let done = engine.pager.append(
            RecordKind::Abort,
            self.txid,
            self.reg.last(),
            &[],
            |start, _| {
                engine.txns.aborted(self.txid, start);
            },
        );
        match done {
            Ok(_) => rec.ended(),
            Err(e) => {
                drop(rec);
                return Err(error::storage(e, "the log"));
            }
        }
        engine.counters.rollbacks.inc();
        engine.locks.release_all(self.txid);
        self.end_transaction();
        if !first.is_none() {
            engine.log.needs_less(first);
        }
        Ok(())
    }

    /// Ends the transaction of a statement of its own that was tried and has done nothing, its locks included.
    ///
    /// # Panics
    /// It has changed something.
    pub fn end_untouched(&mut self) {
        let ended = self.explicit || self.ended_without_record();
        assert!(ended, "a statement that was refused has changed something");
    }

    /// Waits for room in the log, however long it takes: what must not fail (commit, rollback) goes through here.
    pub(super) async fn wait_admission(&self) -> Result<(), SqlError> {
        match self.engine.log.admit(Purpose::Undo) {
            Ok(()) => Ok(()),
            Err(OpError::Wait(_) | OpError::LogFull(_)) => self
                .engine
                .log
                .wait_admission_patiently(Purpose::Undo)
                .await
                .map_err(|e| error::storage(e, "the log")),
            Err(e) => Err(error::storage(e, "the log")),
        }
    }
}
