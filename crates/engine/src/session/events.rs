//! The events of a session's transaction: appended beside its changes, cut off with them, logged in front of its end.

use super::Session;
use crate::error;
use crate::events::buffer::{HELD_MAX, PIECE_MAX};
use crate::events::{BranchPart, GroupPack};
use crate::xa::Xid;
use base::Lsn;
use pager::{OpError, Pins, Purpose, RecordKind};
use std::any::Any;
use types::SqlError;
use types::error::codes;

/// Bytes of a piece that is logged together with the record that ends the transaction.
const WITH_THE_END: usize = 32 << 10;
/// Bytes of events that are brought into another form without giving way.
const PACKED_AT_ONCE: usize = 16 << 10;

impl Session {
    /// Appends to the transaction's events what `fill` appends to what it is given; the transaction is begun where there is none. What is there
    /// at a commit is given to those who follow the log, also where nothing else was changed. A rollback to a mark takes off what came since.
    pub fn append_events(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let s = self.group_mut();
        s.need_txid();
        s.events.append(fill);
    }

    /// Writes over bytes of the transaction's events; false where they are in the log already.
    pub fn patch_events(&mut self, offset: u64, bytes: &[u8]) -> bool {
        self.group_mut().events.patch(offset, bytes)
    }

    /// Takes off what came behind the first `len` bytes of the transaction's events.
    pub fn cut_events(&mut self, len: u64) {
        self.group_mut().events.cut(len);
    }

    /// What comes from `offset` on is not spilled, as it may still be patched; until another offset is held, or it is cut off.
    pub fn hold_events(&mut self, offset: u64) {
        self.group_mut().events.hold(offset);
    }

    /// Bytes of the transaction's events.
    #[inline]
    pub fn events_len(&self) -> u64 {
        self.group().events.len()
    }

    /// What somebody has put beside the transaction's events, for [`GroupEnd`](crate::GroupEnd::end). It goes with the transaction, and a
    /// rollback to a mark leaves it.
    pub fn group_facts(&mut self) -> &mut Option<Box<dyn Any + Send + Sync>> {
        self.group_mut().events.facts()
    }

    /// What stood beside the events of a transaction before, for who wants to make something of it for this one; none: make it anew.
    pub fn spare_group_facts(&mut self) -> Option<Box<dyn Any + Send + Sync>> {
        self.group_mut().events.spare_facts()
    }

    /// Whether events are waiting that are more than a session is to keep.
    #[inline]
    pub fn has_many_events(&self) -> bool {
        self.group().events.ripe() > HELD_MAX
    }

    /// Logs the events, if they are more than a session is to keep. To be called by whoever appends them, between changes.
    ///
    /// # Errors
    /// 1114: the log is full; 1317: the statement was killed; what writing the log fails with.
    pub async fn spill_events(&mut self) -> Result<(), SqlError> {
        // Only a transaction that has something to undo is ended by a start; one that will define a table ends with its session.
        while self.has_many_events() && (self.group_is_apart() || !self.reg.last().is_none()) {
            match self.engine.log.admit(Purpose::Change) {
                Ok(()) => {
                    let s = self.group_mut();
                    s.log_piece(s.events.ripe())
                        .map_err(|e| error::storage(e, "the log"))?;
                }
                Err(OpError::Wait(w)) => self.resolve(w, &mut Pins::new(), "the log").await?,
                Err(e) => return Err(error::storage(e, "the log")),
            }
        }
        Ok(())
    }

    /// The event of a statement that changes definitions: the group that its last transaction leaves, end and all. The change takes it; what is
    /// left of it after the statement, no change has wanted.
    pub fn set_definition_event(&mut self, group: Vec<u8>) {
        self.definition_event = Some(group);
    }

    /// Takes it back.
    pub fn take_definition_event(&mut self) -> Option<Vec<u8>> {
        self.definition_event.take()
    }

    /// The change of definitions that follows goes by what was found in this version of the catalog, beside what it changes itself: the tables of a view,
    /// the one that another is made like. With another version by then it is error 1412.
    pub fn set_definition_seen(&mut self, version: Option<u64>) {
        self.definition_seen = version;
    }

    /// Under the lock of definitions: whether they are as they were found.
    ///
    /// # Errors
    /// 1412.
    pub(crate) fn check_definition_seen(&self) -> Result<(), SqlError> {
        match self.definition_seen {
            Some(seen) if seen != self.engine.catalog_version() => {
                Err(SqlError::fixed(codes::ER_TABLE_DEF_CHANGED))
            }
            _ => Ok(()),
        }
    }

    /// Commits a group that goes with no change, of a statement that has found nothing to do. Those of others who change definitions are before it or
    /// behind it, as they were for the statement. `seen`: it has found that in this version of the catalog; false where there is another by now, and
    /// nothing was committed.
    ///
    /// # Errors
    /// As [`commit`](Self::commit); 1205 and 1317 while it waits for others.
    pub async fn commit_group(
        &mut self,
        group: &[u8],
        seen: Option<u64>,
    ) -> Result<bool, SqlError> {
        debug_assert!(!self.has_changes() && !self.in_transaction());
        let engine = self.engine.clone();
        let _ddl = self.lock_ddl(&engine).await?;
        if seen.is_some_and(|v| v != engine.catalog_version()) {
            return Ok(false);
        }
        self.leave_group(Some(group));
        self.commit().await?;
        Ok(true)
    }

    /// Whether the transaction leaves events, or may have left some before it was prepared.
    pub fn leaves_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Waits until what transactions leave is taken.
    ///
    /// # Errors
    /// 1317 when killed, or where it [gives up](Self::give_up_intake_when); 1598: it is taken no more.
    pub async fn wait_intake(&self) -> Result<(), SqlError> {
        let intake = &self.engine.events.intake;
        if intake.is_open() {
            return Ok(());
        }
        let gives_up = || self.gives_up_intake.as_ref().is_some_and(|f| f());
        let until = u64::MAX;
        let over = || !intake.is_short() || gives_up();
        while intake.is_short() {
            if gives_up() {
                return Err(SqlError::query_interrupted());
            }
            self.wait_until(&intake.changed, until, over).await?;
        }
        intake.check()
    }

    /// It waits for that no longer than until this says so, which is asked when the wait begins, and whenever
    /// [`Engine::ask_who_waits_for_intake`](crate::Engine::ask_who_waits_for_intake) says that it may have changed.
    pub fn give_up_intake_when(&mut self, gives_up: impl Fn() -> bool + Send + Sync + 'static) {
        self.gives_up_intake = Some(Box::new(gives_up));
    }

    /// The transaction's events are this group, if there is one, end and all.
    pub fn leave_group(&mut self, group: Option<&[u8]>) {
        if let Some(group) = group {
            self.need_txid();
            self.events.set_whole(group);
        }
    }

    /// Whether the events that are left are so few that they are logged together with the transaction's end.
    #[inline]
    pub(super) fn has_few_events(&self) -> bool {
        self.events.held() <= PIECE_MAX
    }

    /// Whether the events are to be brought into another form.
    #[inline]
    fn packs_events(&self) -> bool {
        let unpacked = self.events.unpacked();
        unpacked.is_some_and(|(facts, b)| self.engine.events.packs(facts, b.len() as u64))
    }

    fn begin_pack(&self) -> Option<Box<dyn GroupPack>> {
        let (facts, bytes) = self.events.unpacked()?;
        let now = self.engine.environment().clock.wall_us();
        self.engine.events.pack(facts, (self.txid.0, now), bytes)
    }

    /// Brings the events into the form in which they are logged, as the transaction is about to end, and nothing but the log can keep it from that.
    #[inline]
    pub(super) async fn pack_events(&mut self) {
        if self.packs_events() {
            // In a box, as it is rare.
            Box::pin(self.pack_events_in_steps()).await;
        }
    }

    async fn pack_events_in_steps(&mut self) {
        let Some(mut pack) = self.begin_pack() else {
            return;
        };
        let spawn = self.engine.environment().spawn.clone();
        if self.events.held() > PACKED_AT_ONCE {
            base::environment::leave(&*spawn).await;
        }
        while pack.step() {
            base::environment::yield_now(&*spawn).await;
        }
        self.packed(pack);
    }

    /// The same without giving way; false where that may take long.
    #[inline]
    pub(super) fn pack_events_now(&mut self) -> bool {
        if !self.packs_events() {
            return true;
        }
        if self.events.held() > PACKED_AT_ONCE {
            return false;
        }
        if let Some(mut pack) = self.begin_pack() {
            while pack.step() {}
            self.packed(pack);
        }
        true
    }

    fn packed(&mut self, pack: Box<dyn GroupPack>) {
        if let Some(bytes) = pack.finish() {
            self.events.set_packed(&bytes);
        }
    }

    /// Logs events until so few are left; whatever it takes, as the transaction is about to end.
    pub(super) async fn log_most_events(&mut self) -> Result<(), SqlError> {
        while !self.has_few_events() {
            self.wait_admission().await?;
            self.log_piece(self.events.held())
                .map_err(|e| error::storage(e, "the log"))?;
        }
        Ok(())
    }

    /// Logs the events that are left: what is prepared goes on in another session. Whether there are any.
    pub(super) fn log_events(&mut self) -> Result<bool, OpError> {
        while self.events.has_news() {
            self.log_piece(self.events.held())?;
        }
        Ok(!self.events.is_empty())
    }

    /// Logs the events that are left, and what ends them, but for a last piece that goes with the commit record. Whether there are any.
    pub(super) fn log_group(&mut self) -> Result<bool, OpError> {
        let len = self.events.len();
        if self.branch_logged {
            // Whoever ends it has put something beside its events, if that is to be told.
            if self.events.facts().is_some()
                && let Some((ending, ..)) = &self.ending
            {
                let xid = ending.xid.clone();
                self.append_branch(BranchPart::Committed(&xid));
            }
        } else if self.events.wants_end() {
            let branch = self.branch.take();
            let part = branch.as_ref().map(BranchPart::InOne);
            let told = part.is_some_and(|part| self.append_branch(part));
            self.branch = branch;
            if !told {
                let now = self.engine.environment().clock.wall_us();
                let engine = &self.engine;
                self.events
                    .append_end(|facts, out| engine.events.end_group(facts, now, out));
            }
        }
        let logged = self.log_all_but_a_piece();
        logged.inspect_err(|_| self.events.cut(len))?;
        Ok(!self.events.is_empty())
    }

    /// Logs the events that are left, but for a last piece that goes with the record that ends their group.
    pub(super) fn log_all_but_a_piece(&mut self) -> Result<(), OpError> {
        while self.events.held() > WITH_THE_END {
            self.log_piece(self.events.held())?;
        }
        Ok(())
    }

    /// Appends what makes a group of a part of a branch; false: nothing, as these are no groups.
    pub(super) fn append_branch(&mut self, part: BranchPart<'_>) -> bool {
        let now = self.engine.environment().clock.wall_us();
        let engine = &self.engine;
        self.events
            .append_end(|facts, out| engine.events.branch(part, facts, now, out))
    }

    /// The branch that the session is at work in, where it was [said](Self::set_branch).
    #[inline]
    pub fn branch(&self) -> Option<&Xid> {
        self.branch.as_ref()
    }

    /// The transaction that has begun is the work of this branch: what it leaves says so. It goes with the transaction.
    pub fn set_branch(&mut self, xid: &Xid) {
        self.branch = Some(xid.clone());
    }

    /// Whether the transaction was prepared, and its changes are in a group.
    pub fn is_branch_logged(&self) -> bool {
        self.branch_logged
    }

    /// Logs a piece, of at most so many bytes.
    fn log_piece(&mut self, most: usize) -> Result<(), OpError> {
        let engine = &self.engine;
        let piece = self.events.piece(most);
        engine
            .pager
            .append(RecordKind::Event, self.txid, Lsn::NONE, piece, |_, _| {})?;
        self.events.piece_logged(most);
        Ok(())
    }
}
