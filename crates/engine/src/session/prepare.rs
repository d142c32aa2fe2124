//! Prepared transactions: how a session gives its transaction away, durable and with its locks, and how another one ends it.
//!
//! Locks that are not in rows (of rows that were only read, of ranges, of unique values) end with the process. What is prepared does nothing
//! more: to others it is as if it had committed where it was prepared, and what it has read may change from there on. What it has
//! written carries its number in rows and entries, and stays locked. See decision 0040.

use super::Session;
use crate::engine::Engine;
use crate::error;
use crate::events::BranchPart;
use crate::fence::Rank;
use crate::undo_reservation::UndoReservation;
use crate::xa::{
    BranchEnd, BranchOwner, ClaimRefused, EndingBranch, Note, Owner, PreparedFact, PreparedTxn,
    ROLLS_BACK, Xid, XidClaim,
};
use base::{Lsn, TxnId};
use pager::{Committed, OpError, RecordKind};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

/// What stands beside a group.
type Facts = Box<dyn Any + Send + Sync>;

impl Engine {
    /// A session begins a branch of this name, which nobody else may until the claim is dropped or the branch has ended.
    ///
    /// # Errors
    /// There is one, or there are too many.
    pub fn claim_xid(&self, xid: &Xid, owner: &BranchOwner) -> Result<XidClaim, ClaimRefused> {
        self.branches.claim(xid, owner)
    }

    /// The prepared transactions, the oldest first, durable as commits are.
    ///
    /// # Errors
    /// 1180: the log cannot be written.
    pub async fn prepared(&self) -> Result<Vec<PreparedFact>, SqlError> {
        let (facts, end) = self.branches.list();
        if !end.is_none() {
            self.wait_commit(end).await?;
        }
        Ok(facts)
    }

    /// The prepared branches that have changed and locked nothing, the oldest first: their names are remembered for a while.
    pub fn empty_branches(&self) -> Vec<Xid> {
        self.branches.empty()
    }

    /// The names of an account's prepared branches that any session may end.
    pub fn branches_of(&self, account: &str) -> Vec<Xid> {
        self.branches.of_owner(account)
    }

    /// Whether there is a prepared transaction of this name that any session may end.
    pub fn may_end_prepared(&self, xid: &Xid) -> bool {
        self.branches.may_be_ended(xid)
    }

    /// The same as they are in memory, for reports.
    pub fn prepared_now(&self) -> Vec<PreparedFact> {
        self.branches.list().0
    }
}

impl Session {
    /// Prepares the transaction, which is nobody's from then on; the session has none. Answers when that is as durable as
    /// innodb_flush_log_at_trx_commit asks of a commit. The claim is taken where it was done, unless the transaction stays `attached`: then
    /// others may end it once the claim is dropped.
    ///
    /// # Errors
    /// 1180: the log cannot be written, and whether the transaction is prepared after the next start is not known. Another error, of which
    /// 1205 beside a read lock of the server is one, and 1290 behind the [fence](crate::Fence): nothing was done.
    pub async fn prepare(
        &mut self,
        claim: &mut Option<XidClaim>,
        attached: bool,
    ) -> Result<(), SqlError> {
        if self.prepare_empty(claim, attached) {
            return Ok(());
        }
        if self.leaves_events() {
            self.wait_intake().await?;
        }
        self.begin_commit().await?;
        self.check_fence()?;
        self.need_txid();
        self.pack_events().await;
        self.log_most_events().await?;
        self.wait_admission().await?;
        let end = self
            .record_prepared(claim, attached)
            .map_err(|e| error::storage(e, "the log"))?;
        if base::mutant!("prepared-before-durable") {
            return Ok(());
        }
        self.engine.clone().wait_commit(end).await
    }

    /// Prepares a branch that has changed and locked nothing: there is nothing to be kept for it but its name, in memory. False where there is.
    /// What another server has prepared is kept in any case: its end comes after a restart too.
    fn prepare_empty(&mut self, claim: &mut Option<XidClaim>, attached: bool) -> bool {
        let something = self.txid != TxnId::NONE || !self.events.is_empty();
        let Some(c) = claim.as_ref() else {
            return false;
        };
        if something || self.rank == Rank::Server || base::mutant!("empty-branch-takes-a-place") {
            return false;
        }
        self.engine.branches.put_empty(c, attached);
        if let Some(claim) = claim.take_if(|_| !attached) {
            claim.handed_over();
        }
        self.end_transaction();
        true
    }

    fn record_prepared(
        &mut self,
        claim: &mut Option<XidClaim>,
        attached: bool,
    ) -> Result<Lsn, OpError> {
        let named = claim.as_ref().map(|c| (c.xid().clone(), c.owner().clone()));
        let Some((xid, owner)) = named else {
            return Err(OpError::io(std::io::Error::other(
                "a branch without a name",
            )));
        };
        let now = self.engine.environment().clock.wall_us();
        let logged = self.end_prepared_group(&xid)?;
        let note = Note {
            xid,
            owner,
            logged,
            isolation: self.isolation,
            purge_work: self.purge_work,
            weight: self.weight,
            undo: self.undo_reservation.needed(),
            changes: self.interrupt.standing.changes(),
            begun_us: self.interrupt.standing.begun_us().unwrap_or(now),
            tables: Note::tables_of(&self.uses),
        };
        let done = self.append_note(&note.encode())?;
        self.branch_logged = logged;
        if logged {
            self.group_is_logged(done.end);
        }
        let engine = self.engine.clone();
        let named = (note.xid, note.owner);
        let given = self.give_away(named, note.changes, note.begun_us, done.end);
        let put = engine.branches.put(given, attached);
        assert!(put, "the name of a claim is free");
        if let Some(claim) = claim.take_if(|_| !attached) {
            claim.handed_over();
        }
        self.interrupt.standing.end();
        self.interrupt.txid.store(0, Ordering::SeqCst);
        self.end_transaction();
        Ok(done.end)
    }

    /// Makes a group of what the transaction has left, where branches' parts are groups: whether it has. But for a last piece it is in the log.
    fn end_prepared_group(&mut self, xid: &Xid) -> Result<bool, OpError> {
        let len = self.events.len();
        if !self.events.is_empty() && self.append_branch(BranchPart::Prepared(xid)) {
            let logged = self.log_all_but_a_piece();
            logged.inspect_err(|_| self.events.cut(len))?;
            return Ok(true);
        }
        self.log_events()?;
        Ok(false)
    }

    /// Appends a note that is one of the transaction's records.
    fn append_note(&mut self, body: &[u8]) -> Result<Committed, OpError> {
        let engine = self.engine.clone();
        let (txid, last) = (self.txid, self.reg.last());
        let rec = self.reg.recording();
        let told = self.events.has_news() && !base::mutant!("prepared-group-left-out");
        let done = match told {
            true => {
                let piece = (RecordKind::Event, self.events.piece(usize::MAX));
                let record = (RecordKind::Note, txid, last);
                engine.pager.append_behind(piece, record, body, |_, _| {})?
            }
            false => {
                let kind = RecordKind::Note;
                engine.pager.append(kind, txid, last, body, |_, _| {})?
            }
        };
        rec.done(done.start, true);
        Ok(done)
    }

    /// A group of a branch's part is in the log, behind which is `end`: nothing is left of it here.
    fn group_is_logged(&mut self, end: Lsn) {
        self.engine.events.set_committed(end);
        self.group_end = end;
        self.events.clear();
    }

    /// Commits the prepared transaction of this name; false where there is none that nobody else ends.
    ///
    /// # Errors
    /// As [`commit`](Self::commit). What was not committed is still prepared. The caller [has begun to write](Self::begin_writing).
    pub async fn commit_prepared(&self, xid: &Xid) -> Result<bool, SqlError> {
        let done = self.commit_branch(xid, None).await?;
        Ok(done.is_some())
    }

    /// The same. Where what it has changed is in a group, and there are `facts`, its commit is one too, beside which they stand. `None`: there is
    /// none of this name that nobody else ends.
    ///
    /// # Errors
    /// As [`commit_prepared`](Self::commit_prepared).
    pub async fn commit_branch(
        &self,
        xid: &Xid,
        facts: Option<Facts>,
    ) -> Result<Option<BranchEnd>, SqlError> {
        const UNTOLD: BranchEnd = BranchEnd {
            group_end: Lsn::NONE,
        };
        if self.engine.branches.end_empty(xid) {
            return Ok(Some(UNTOLD));
        }
        if self
            .engine
            .branches
            .leaves_group(xid, facts.is_some(), true)
        {
            // Here, where somebody can still be killed.
            self.wait_intake().await?;
        }
        if !base::mutant!("prepared-commit-behind-the-fence") {
            self.check_fence_of_branches()?;
        }
        let Some((txn, ending)) = self.engine.branches.claim_end(xid) else {
            return Ok(None);
        };
        let mut session = Session::of_prepared(self.engine.clone(), txn, ending);
        if session.branch_logged {
            *session.events.facts() = facts;
        }
        session.commit().await?;
        let group_end = session.take_group_end();
        Ok(Some(BranchEnd { group_end }))
    }

    /// The prepared transaction of this name in a session of its own, which goes on with it: what it changes belongs to the transaction, and it is to
    /// commit. Where the session goes without that, all is prepared. `None` where there is none that nobody else ends.
    pub fn take_prepared(&self, xid: &Xid) -> Option<Session> {
        let (txn, ending) = self.engine.branches.claim_end(xid)?;
        let mut session = Session::of_prepared(self.engine.clone(), txn, ending);
        session.explicit = true;
        Some(session)
    }

    /// Rolls the prepared transaction of this name back; false where there is none that nobody else ends. Answers when that is as durable
    /// as a commit: who has been answered does not ask again.
    ///
    /// # Errors
    /// As [`rollback`](Self::rollback), then the next start tries again. 1180 as for a commit. 1290: behind the [fence](crate::Fence), as readers of the
    /// log are told of it.
    pub async fn rollback_prepared(&self, xid: &Xid) -> Result<bool, SqlError> {
        let done = self.rollback_branch(xid, None).await?;
        Ok(done.is_some())
    }

    /// The same. Where what it has changed is in a group, and there are `facts`, its rollback is one too, beside which they stand: it is in the log
    /// before anything is undone, and a start goes on with what it has decided. `None`: there is none of this name that nobody else ends.
    ///
    /// # Errors
    /// As [`rollback_prepared`](Self::rollback_prepared); 1317, 1598 where groups are not [taken](crate::Intake): it is prepared as before.
    pub async fn rollback_branch(
        &self,
        xid: &Xid,
        facts: Option<Facts>,
    ) -> Result<Option<BranchEnd>, SqlError> {
        let mut group_end = Lsn::NONE;
        if self.engine.branches.end_empty(xid) {
            return Ok(Some(BranchEnd { group_end }));
        }
        if self
            .engine
            .branches
            .leaves_group(xid, facts.is_some(), false)
        {
            self.wait_intake().await?;
        }
        self.check_fence_of_branches()?;
        let Some((txn, ending)) = self.engine.branches.claim_end(xid) else {
            return Ok(None);
        };
        let mut session = Session::of_prepared(self.engine.clone(), txn, ending);
        if session.branch_logged && facts.is_some() {
            session.wait_admission().await?;
            *session.events.facts() = facts;
            let decided = session.record_rollback(xid);
            group_end = decided.map_err(|e| error::storage(e, "the log"))?;
        }
        if let Some((ending, ..)) = &mut session.ending {
            ending.decided = true;
        }
        if !group_end.is_none() {
            // Who reads the log need not wait for what may be long.
            session.yield_now().await;
        }
        if let Err(why) = session.rollback().await {
            session.keep_failed(&why);
            return Err(why);
        }
        if !base::mutant!("prepared-rollback-before-durable") {
            let end = self.engine.log.end();
            self.engine.wait_commit(end).await?;
        }
        Ok(Some(BranchEnd { group_end }))
    }

    /// Says in the log that what was prepared is rolled back, to its readers and to the next start.
    fn record_rollback(&mut self, xid: &Xid) -> Result<Lsn, OpError> {
        if !self.append_branch(BranchPart::RolledBack(xid)) {
            return Ok(Lsn::NONE);
        }
        let done = self.append_note(ROLLS_BACK)?;
        self.group_is_logged(done.end);
        Ok(done.end)
    }

    /// A session that has nothing but a prepared transaction, to end it.
    fn of_prepared(engine: Arc<Engine>, txn: PreparedTxn, ending: EndingBranch) -> Session {
        let mut s = Session::new(engine);
        s.reg = txn.reg;
        s.undo_reservation = txn.undo;
        s.uses = txn.uses;
        s.txid = txn.txid;
        s.isolation = txn.isolation;
        s.purge_work = txn.purge_work;
        s.weight = txn.weight;
        s.branch_logged = txn.logged;
        s.events.resume(txn.events.0, txn.events.1);
        s.ending = Some((ending, txn.changes, txn.begun_us));
        s
    }

    /// The session goes, and its prepared transaction was not decided: it is prepared as before. False where it was.
    pub(super) fn put_back_prepared(&mut self) -> bool {
        let Some((ending, changes, begun_us)) = self.ending.take_if(|e| !e.0.decided) else {
            return false;
        };
        let end = self.engine.log.end();
        let named = (ending.xid.clone(), ending.owner.clone());
        let given = self.give_away(named, changes, begun_us, end);
        self.engine.branches.put(given, false);
        true
    }

    /// A transaction that recovery has found prepared is for others to end. `Err`: it has the name of another one.
    pub(crate) fn adopt_prepared(mut self, note: Note) -> Result<(), Xid> {
        self.undo_reservation.add(note.undo);
        self.isolation = note.isolation;
        self.purge_work = note.purge_work;
        self.weight = note.weight;
        self.branch_logged = note.logged;
        // Where they are in no group yet, whether there are any is in the log.
        self.events.resume(!note.logged, None);
        let xid = note.xid.clone();
        let named = (note.xid, note.owner);
        let given = self.give_away(named, note.changes, note.begun_us, Lsn::NONE);
        let put = self.engine.branches.put(given, false);
        put.then_some(()).ok_or(xid)
    }

    /// What the transaction is, without the session, which has none from then on.
    fn give_away(
        &mut self,
        (xid, owner): (Xid, Owner),
        changes: u64,
        begun_us: i64,
        end: Lsn,
    ) -> PreparedTxn {
        if self.branch_logged {
            // What was to be told of its end is not.
            self.events.clear();
        }
        // No snapshot: what it has to see it has seen, and old versions are not to be kept for it.
        self.close_snapshot();
        let mut reg = self.engine.txns.register();
        std::mem::swap(&mut reg, &mut self.reg);
        let mut undo = UndoReservation::new(self.engine.log.clone());
        std::mem::swap(&mut undo, &mut self.undo_reservation);
        self.interrupt.tables.clear();
        PreparedTxn {
            xid,
            owner,
            txid: std::mem::take(&mut self.txid),
            reg,
            undo,
            uses: std::mem::take(&mut self.uses),
            isolation: self.isolation,
            purge_work: self.purge_work,
            weight: self.weight,
            changes,
            begun_us,
            logged: std::mem::take(&mut self.branch_logged),
            events: self.events.give_away(),
            end,
        }
    }
}
