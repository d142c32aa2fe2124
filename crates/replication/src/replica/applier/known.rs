//! A transaction that was applied before: over another channel, by this server itself, or in front of a place that was set back. It is left
//! out, and the place behind it is kept, as MySQL does with a GTID that it has executed.

use std::future::{Future, poll_fn};
use std::pin::pin;

use types::SqlError;

use types::gtid::Gtid;

use super::Applier;
use crate::replica::gtids::{AppliedGtids, Claimed};
use crate::replica::stopped::Stopped;

impl<'s> Applier<'s> {
    /// The transaction that begins is left out if it was applied. Of a change of definitions that may be half done the log is not asked here, as its
    /// statement may be there from before a crash, and the place is to be looked after.
    pub(super) fn leave_out_known(&mut self) {
        let Some(gtid) = self.group.gtid else {
            return;
        };
        let log = self.shared.instance.binary_log();
        let log = log.filter(|_| self.place.unfinished.is_none());
        if self.shared.gtids.has(gtid) || log.is_some_and(|log| log.has_executed(gtid)) {
            self.is_known_now();
        }
    }

    pub(super) fn is_known_now(&mut self) {
        (self.group.known, self.group.skipped) = (true, true);
        // It is in the log with its name, and not to come there again.
        self.session.set_applied_origin(None);
    }

    /// Opens the transaction. Where another channel may be at the same one, it waits for that, and is left out if it was applied then.
    ///
    /// # Errors
    /// 1213: they are in each other's way; it was rolled back. Or the channel is to end.
    pub(super) async fn open_named(&mut self) -> Result<(), Stopped> {
        self.open();
        // What is prepared would keep the lock.
        let wanted = self.branch.is_none() && !self.group.skipped;
        let Some(gtid) = self.group.gtid.filter(|_| wanted) else {
            return Ok(());
        };
        if !self.shared.gtids.several_apply() {
            return Ok(());
        }
        let name = [&gtid.sid.0[..], &gtid.number.to_be_bytes()].concat();
        self.session.lock_name(&name).await?;
        match self.settled(gtid).await {
            None => return Err(Stopped::Asked),
            Some(true) => self.is_known_now(),
            Some(false) => {}
        }
        Ok(())
    }

    /// Whether a transaction was applied, once nobody is about to; `None`: the channel is to end, and is not to wait for that.
    async fn settled(&self, gtid: Gtid) -> Option<bool> {
        let to_end = || self.shared.queue.is_taking_stopped();
        self.shown(self.shared.gtids.settled(gtid, to_end)).await
    }

    /// Waits, and as long as it does the list of connections says for what.
    async fn shown<T>(&self, what: impl Future<Output = T>) -> T {
        let mut what = pin!(what);
        let mut shown = false;
        let done = poll_fn(|cx| {
            let polled = what.as_mut().poll(cx);
            if polled.is_pending() && !shown {
                self.session.shows_state("Waiting for GTID to be committed");
                shown = true;
            }
            polled
        });
        let done = done.await;
        if shown {
            self.session.shows_state("");
        }
        done
    }

    /// All before it is done, and it is about to be recorded; false: another channel has done so.
    ///
    /// # Errors
    /// The channel is to end, and another one has the claim: it is not waited for, as what it waits for may take long.
    pub(super) async fn claim_name(&mut self) -> Result<bool, Stopped> {
        let wanted =
            self.name.is_none() && !self.group.known && !base::mutant!("replica-claims-no-name");
        let Some(gtid) = self.group.gtid.filter(|_| wanted) else {
            return Ok(true);
        };
        let gtids: &'s AppliedGtids = &self.shared.gtids;
        let to_end = || self.shared.queue.is_taking_stopped();
        match self.shown(gtids.claim(gtid, to_end)).await {
            Claimed::Mine(claim) => self.name = Some(claim),
            Claimed::Done => return Ok(false),
            Claimed::GivenUp => return Err(Stopped::Asked),
        }
        Ok(true)
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
            (None, Some(gtid)) => self.shared.gtids.add_one(gtid),
            (None, None) => {}
        }
    }

    /// Whether the transaction that has failed here was applied meanwhile over another channel, and has failed for that.
    pub async fn is_known(&self) -> bool {
        // Who has claimed the name is the one who does it.
        let may_be = !self.group.recorded && self.name.is_none();
        match self.group.gtid {
            Some(gtid) if may_be => self.settled(gtid).await == Some(true),
            _ => false,
        }
    }
}
