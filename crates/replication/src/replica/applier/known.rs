//! A transaction that was applied before: over another channel, by this server itself, or in front of a place that was set back. It is left
//! out, and the place behind it is kept, as MySQL does with a GTID that it has executed.

use types::SqlError;

use super::Applier;
use crate::replica::names::Names;

impl<'s> Applier<'s> {
    /// The transaction that begins is left out if it was applied. Of a change of definitions that may be half done the log is not asked here, as its
    /// statement may be there from before a crash, and the place is to be looked after.
    pub(super) fn leave_out_known(&mut self) {
        let Some(gtid) = self.group.gtid else {
            return;
        };
        let log = self.shared.instance.binary_log();
        let log = log.filter(|_| self.place.unfinished.is_none());
        if self.shared.names.has(gtid) || log.is_some_and(|log| log.has_executed(gtid)) {
            self.is_known_now();
        }
    }

    fn is_known_now(&mut self) {
        (self.group.known, self.group.skipped) = (true, true);
        // It is in the log with its name, and not to come there again.
        self.session.set_applied_origin(None);
    }

    /// Opens the transaction. Where another channel may be at the same one, it waits for that, and is left out if it was applied then.
    ///
    /// # Errors
    /// 1213: they are in each other's way; it was rolled back.
    pub(super) async fn open_named(&mut self) -> Result<(), SqlError> {
        self.open();
        // What is prepared would keep the lock.
        let wanted = self.branch.is_none() && !self.group.skipped;
        let Some(gtid) = self.group.gtid.filter(|_| wanted) else {
            return Ok(());
        };
        if !self.shared.names.several_apply() {
            return Ok(());
        }
        let name = [&gtid.sid.0[..], &gtid.number.to_be_bytes()].concat();
        self.session.lock_name(&name).await?;
        if self.shared.names.settled(gtid).await {
            self.is_known_now();
        }
        Ok(())
    }

    /// All before it is done, and it is about to be recorded; false: another channel has done so.
    pub(super) async fn claim_name(&mut self) -> bool {
        let wanted =
            self.name.is_none() && !self.group.known && !base::mutant!("replica-claims-no-name");
        let Some(gtid) = self.group.gtid.filter(|_| wanted) else {
            return true;
        };
        let names: &'s Names = &self.shared.names;
        self.name = names.claim(gtid).await;
        self.name.is_some()
    }

    /// What was done of it is taken back, as another channel has done it.
    ///
    /// # Errors
    /// What the log fails with.
    pub(super) async fn take_back_known(&mut self) -> Result<(), SqlError> {
        self.session.rollback_applied().await?;
        self.branch = None;
        self.is_known_now();
        self.session.begin_applied();
        Ok(())
    }

    /// Its commit is in the log.
    pub(super) fn name_is_done(&mut self) {
        self.group.recorded = true;
        match (self.name.take(), self.group.gtid) {
            (Some(name), _) => name.done(),
            (None, Some(gtid)) => self.shared.names.add_one(gtid),
            (None, None) => {}
        }
    }

    /// Whether the transaction that has failed here was applied meanwhile over another channel, and has failed for that.
    pub async fn is_known(&self) -> bool {
        // Who has claimed the name is the one who does it.
        let may_be = !self.group.recorded && self.name.is_none();
        match self.group.gtid {
            Some(gtid) if may_be => self.shared.names.settled(gtid).await,
            _ => false,
        }
    }
}
