//! Branches of distributed transactions (XA): what a source has prepared is prepared here, and ended when the source ends it, whatever comes between.
//!
//! Each is beside nothing: it begins when all before it is done. What is prepared is in no transaction that could have the place as well. So a mark is
//! written to the place's row before, and the place behind it. Where a crash comes between, the mark says of the prepared transaction that it is that
//! of the source, and of one that is not there any more that it was rolled back. Its commit has the place in it, and needs none.
//!
//! What it never does: end a branch that the source did not name.

use engine::Xid;
use sql::context::replica::LogPlace;
use sql_parser::ast::Xa;
use types::SqlError;
use types::error::codes;
use wire::binlog::control::{BranchName, XaPrepare};
use wire::binlog::header::Header;

use super::super::stopped::Stopped;
use super::Applier;

/// The name in an event.
fn named(name: &BranchName<'_>) -> Xid {
    Xid {
        format: name.format,
        gtrid: name.gtrid.into(),
        bqual: name.bqual.into(),
    }
}

fn of(xid: &sql_parser::ast::Xid) -> Xid {
    Xid {
        format: xid.format,
        gtrid: xid.gtrid.clone(),
        bqual: xid.bqual.clone(),
    }
}

/// What is written to the place's row while it is not known of a branch whether it was prepared, or rolled back: FNV-1a.
fn mark(what: u8, xid: &Xid) -> u64 {
    let parts = [&[what, xid.gtrid.len() as u8][..], &xid.gtrid, &xid.bqual];
    let bytes = parts.into_iter().flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, b| {
        (sum ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

const PREPARED: u8 = b'p';
const ROLLED_BACK: u8 = b'r';

impl Applier<'_> {
    /// A statement about a branch.
    pub(super) async fn xa(
        &mut self,
        header: &Header,
        xa: &Xa,
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        match xa {
            Xa::Start { xid, .. } => {
                let name = BranchName {
                    format: xid.format,
                    gtrid: &xid.gtrid,
                    bqual: &xid.bqual,
                };
                self.begin_branch(&name).await
            }
            Xa::End { xid, .. } => match &self.branch {
                Some(claim) if claim.xid().is_same(&of(xid)) => Ok(()),
                _ => Err(wire::ProtocolError::Malformed.into()),
            },
            Xa::Commit {
                xid,
                one_phase: false,
            } => self.commit_branch(header, &of(xid), end).await,
            Xa::Rollback(xid) => self.roll_branch_back(header, &of(xid), end).await,
            // A source has an event for it, and no statement.
            _ => Err(wire::ProtocolError::Malformed.into()),
        }
    }

    /// All before it is done, and nothing of it is.
    async fn wait_alone(&mut self) -> Result<(), Stopped> {
        // Of what it is in nothing has been done: MariaDB's has begun with its GTID.
        if self.branch.is_some() || self.group.changed {
            return Err(wire::ProtocolError::Malformed.into());
        }
        self.wait_first_without_locks().await
    }

    /// Writes to the place's row that this is being done, if it is not there; whether it was.
    async fn note(&mut self, mark: u64) -> Result<bool, SqlError> {
        if self.place.unfinished == Some(mark) || self.noted == Some(mark) {
            return Ok(true);
        }
        self.place.unfinished = Some(mark);
        self.noted = Some(mark);
        self.writer.write(&mut self.session, &self.place).await?;
        Ok(false)
    }

    /// It was not, and will not be.
    async fn take_note_back(&mut self, why: u16) -> Stopped {
        (self.place.unfinished, self.noted) = (None, None);
        let written = self.writer.write(&mut self.session, &self.place).await;
        let why = SqlError::fixed(why);
        written.err().unwrap_or(why).into()
    }

    /// It was done before a crash. Where this server's own log has it, with its name, the place is written under none.
    async fn forget_logged_name(&mut self) -> Result<(), SqlError> {
        let logged = match self.group.gtid {
            Some(gtid) => self.session.is_logged(gtid).await?,
            None => false,
        };
        if logged {
            self.session.set_applied_origin(None);
        }
        Ok(())
    }

    /// A branch begins.
    pub(super) async fn begin_branch(&mut self, name: &BranchName<'_>) -> Result<(), Stopped> {
        let xid = named(name);
        self.wait_alone().await?;
        if self.group.skipped {
            self.group.open = true;
            return Ok(());
        }
        if !self.claim_name().await? {
            // Another channel has done it.
            (self.group.skipped, self.group.open) = (true, true);
            return Ok(());
        }
        let engine = self.shared.instance.engine().clone();
        let noted = self.note(mark(PREPARED, &xid)).await?;
        if noted && engine.may_end_prepared(&xid) {
            // Before a crash: its changes are there, and the place is not.
            self.forget_logged_name().await?;
            (self.group.skipped, self.group.open) = (true, true);
            return Ok(());
        }
        match engine.claim_xid(&xid, &engine::BranchOwner::server()) {
            Ok(claim) => self.branch = Some(claim),
            Err(engine::ClaimRefused::Duplicate) => {
                return Err(self.take_note_back(codes::ER_XAER_DUPID).await);
            }
            Err(engine::ClaimRefused::TooMany) => {
                return Err(self.take_note_back(codes::ER_XAER_RMERR).await);
            }
        }
        self.open();
        self.session.set_applied_branch(&xid);
        Ok(())
    }

    /// All changes of a branch have come.
    pub(super) async fn prepare_branch(
        &mut self,
        header: &Header,
        body: &[u8],
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        let event = XaPrepare::read(body)?;
        let xid = named(&event.name);
        if self.group.skipped && self.group.open {
            return self.commit(header, end).await;
        }
        match self.branch.take() {
            Some(claim) if claim.xid().is_same(&xid) && event.one_phase => {
                let done = self.commit(header, end).await;
                drop(claim);
                done
            }
            Some(claim) if claim.xid().is_same(&xid) => {
                if self.session.prepare_applied(claim).await? {
                    // With its name: the place is written under none.
                    self.session.set_applied_origin(None);
                }
                self.commit(header, end).await
            }
            _ => Err(wire::ProtocolError::Malformed.into()),
        }
    }

    /// What was prepared is committed, and the place with it.
    async fn commit_branch(
        &mut self,
        header: &Header,
        xid: &Xid,
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        self.wait_alone().await?;
        if !self.claim_name().await? {
            return self.commit(header, end).await;
        }
        self.session.apply_in_one();
        let outcome = self.commit_prepared(header, xid, end).await;
        self.session.end_applied();
        outcome
    }

    async fn commit_prepared(
        &mut self,
        header: &Header,
        xid: &Xid,
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        let place = self.behind(end);
        let Some(taken) = self.session.take_up_prepared(xid).await? else {
            return Err(SqlError::fixed(codes::ER_XAER_NOTA).into());
        };
        if let Err(e) = self.writer.write(&mut self.session, &place).await {
            self.session.leave_prepared(taken).await?;
            return Err(e.into());
        }
        let committing = self.session.commit_taken_up(taken).await?;
        self.committed(header, place, committing).await
    }

    /// What was prepared is rolled back.
    async fn roll_branch_back(
        &mut self,
        header: &Header,
        xid: &Xid,
        end: &LogPlace,
    ) -> Result<(), Stopped> {
        self.wait_alone().await?;
        if !self.claim_name().await? {
            return self.commit(header, end).await;
        }
        let noted = self.note(mark(ROLLED_BACK, xid)).await?;
        let done = self.session.rollback_prepared_applied(xid).await?;
        match done {
            Some(true) => self.session.set_applied_origin(None),
            Some(false) => {}
            None if noted => self.forget_logged_name().await?,
            None => return Err(self.take_note_back(codes::ER_XAER_NOTA).await),
        }
        self.commit(header, end).await
    }
}
