//! XA: the branches of distributed transactions.
//!
//! What a state refuses of other statements is in `context/xa.rs`; what a prepared transaction is, in the engine.

use std::sync::atomic::Ordering;

use engine::{BRANCHES_MAX, BRANCHES_OF_ONE, BranchOwner, ClaimRefused, Xid};
use types::error::codes;
use types::{DataType, Level, SqlError, Value, Warning};

use crate::context::Session;
use crate::context::xa::{XaBranch, XaState};
use crate::describe::rowset::RowSet;
use sql_access::Granted;
use sql_access::statement::{CONNECTIONS, XA_RECOVER};
use sql_parser::ast::{self, Xa};
use sql_plan::sink::{Done, ResultSink};

/// Characters of the name in XA RECOVER, as MySQL has them: both parts in hexadecimal, behind `0x`.
const DATA_CHARS: u32 = 258;

fn named(xid: &ast::Xid) -> Xid {
    Xid {
        format: xid.format,
        gtrid: xid.gtrid.clone(),
        bqual: xid.bqual.clone(),
    }
}

impl Session {
    /// Carries out an XA statement.
    ///
    /// # Errors
    /// 1397 to 1402, 1440, 1613, 1614; what committing, rolling back and the log fail with.
    pub(crate) async fn run_xa(
        &mut self,
        _: &Granted,
        statement: &Xa,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        match statement {
            Xa::Start { xid, join, resume } => self.xa_start(&named(xid), *join, *resume)?,
            Xa::End { xid, suspend, .. } => self.xa_end(&named(xid), *suspend)?,
            Xa::Prepare(xid) => self.xa_prepare(&named(xid)).await?,
            Xa::Commit { xid, one_phase } => self.xa_commit(&named(xid), *one_phase).await?,
            Xa::Rollback(xid) => self.xa_rollback(&named(xid)).await?,
            Xa::RollbackAll(account) => return self.xa_rollback_all(account).await,
            Xa::Recover { convert } => return self.xa_recover(*convert, sink).await,
        }
        Ok(Done::default())
    }

    /// The state of the session's branch, where it has this name.
    fn own_branch(&mut self, xid: &Xid) -> Option<&mut XaBranch> {
        self.xa.as_mut().filter(|b| b.xid.is_same(xid))
    }

    fn xa_start(&mut self, xid: &Xid, join: bool, resume: bool) -> Result<(), SqlError> {
        if resume && let Some(b) = self.xa.as_mut().filter(|b| b.state == XaState::Idle) {
            if !b.xid.is_same(xid) {
                return Err(SqlError::fixed(codes::ER_XAER_NOTA));
            }
            b.state = XaState::Active;
            return Ok(());
        }
        // As in MySQL, nothing is joined, and what was not suspended is not resumed.
        if join || resume {
            return Err(SqlError::fixed(codes::ER_XAER_INVAL));
        }
        self.outside_xa()?;
        if self.locked.is_some() || self.engine.in_transaction() {
            return Err(SqlError::fixed(codes::ER_XAER_OUTSIDE));
        }
        let owner = BranchOwner {
            account: self.security.account().ticked().into(),
            administrator: self.security.has_one(XA_RECOVER) || self.security.has_one(CONNECTIONS),
        };
        let claim = self.engine.engine().claim_xid(xid, &owner);
        let claim = claim.map_err(|why| match why {
            ClaimRefused::Duplicate => SqlError::fixed(codes::ER_XAER_DUPID),
            ClaimRefused::TooMany => {
                let text = format!(
                    "There are too many branches: {BRANCHES_OF_ONE} of one account, {BRANCHES_MAX} of all; an administrator may end those of an \
                     account with XA ROLLBACK ALL FOR"
                );
                self.warn(Warning::new(Level::Error, codes::ER_XAER_RMERR, text));
                SqlError::fixed(codes::ER_XAER_RMERR)
            }
        })?;
        self.begin_with(None);
        self.engine.set_branch(xid);
        self.xa = Some(XaBranch {
            claim: Some(claim),
            xid: xid.clone(),
            state: XaState::Active,
            undone: None,
        });
        Ok(())
    }

    fn xa_end(&mut self, xid: &Xid, suspend: bool) -> Result<(), SqlError> {
        if suspend {
            return Err(SqlError::fixed(codes::ER_XAER_INVAL));
        }
        let state = self.xa_state();
        let Some(b) = self.xa.as_mut().filter(|b| b.state == XaState::Active) else {
            return Err(SqlError::xaer_rmfail(state));
        };
        if !b.xid.is_same(xid) {
            return Err(SqlError::fixed(codes::ER_XAER_NOTA));
        }
        if let Some(why) = b.undone {
            b.state = XaState::RollbackOnly;
            return Err(SqlError::fixed(why));
        }
        b.state = XaState::Idle;
        Ok(())
    }

    async fn xa_prepare(&mut self, xid: &Xid) -> Result<(), SqlError> {
        let state = self.xa_state();
        let Some(b) = self.xa.as_ref().filter(|b| b.state == XaState::Idle) else {
            return Err(SqlError::xaer_rmfail(state));
        };
        if !b.xid.is_same(xid) {
            return Err(SqlError::fixed(codes::ER_XAER_NOTA));
        }
        if self.engine.leaves_events() {
            // Before it is one of those whom others wait for.
            self.engine.wait_intake().await?;
        }
        if let Err(e) = self.engine.begin_writing().await {
            if !self.engine.in_transaction() {
                // It was in the way of somebody who has locked the server, and is no more.
                self.xa = None;
            }
            return Err(e);
        }
        if let Err(e) = self.check_fence() {
            // As in MySQL: the branch is no more.
            self.xa = None;
            self.engine.rollback().await?;
            return Err(e);
        }
        let Some(b) = self.xa.as_mut() else {
            return Err(SqlError::internal("a branch has gone"));
        };
        let attached = self
            .vars
            .value_by_name("xa_detach_on_prepare")
            .is_some_and(|v| v.as_u64() == 0);
        let prepared = self.engine.prepare(&mut b.claim, attached).await;
        if !self.engine.in_transaction() {
            // Whatever became of the wait for the log: it is the session's no more.
            match attached {
                true => b.state = XaState::Prepared,
                false => self.xa = None,
            }
        }
        prepared
    }

    async fn xa_commit(&mut self, xid: &Xid, one_phase: bool) -> Result<(), SqlError> {
        let Some(b) = self.own_branch(xid) else {
            self.may_end_other(xid)?;
            return self.end_prepared(xid, true).await;
        };
        match (b.state, b.undone) {
            (_, Some(why)) => {
                self.xa = None;
                self.engine.rollback().await?;
                Err(SqlError::fixed(why))
            }
            (XaState::Idle, None) if one_phase => {
                let committed = self.commit_open().await;
                if committed.is_err() && self.engine.in_transaction() {
                    self.engine.rollback().await?;
                }
                self.xa = None;
                committed
            }
            (XaState::Prepared, None) if !one_phase => {
                // The claim goes, and the transaction is anybody's.
                self.xa = None;
                self.end_prepared(xid, true).await
            }
            _ => Err(SqlError::xaer_rmfail(self.xa_state())),
        }
    }

    async fn xa_rollback(&mut self, xid: &Xid) -> Result<(), SqlError> {
        let Some(b) = self.own_branch(xid) else {
            self.may_end_other(xid)?;
            return self.end_prepared(xid, false).await;
        };
        match b.state {
            XaState::Active => Err(SqlError::xaer_rmfail(self.xa_state())),
            XaState::Prepared => {
                self.xa = None;
                self.end_prepared(xid, false).await
            }
            XaState::Idle | XaState::RollbackOnly => {
                self.engine.rollback().await?;
                self.xa = None;
                Ok(())
            }
        }
    }

    /// Whether the session may end a prepared transaction that it is not attached to.
    fn may_end_other(&self, xid: &Xid) -> Result<(), SqlError> {
        self.outside_xa()?;
        if !self.engine.engine().may_end_prepared(xid) {
            return Err(SqlError::fixed(codes::ER_XAER_NOTA));
        }
        match self.engine.in_transaction() {
            true => Err(SqlError::xaer_rmfail(self.xa_state())),
            false => Ok(()),
        }
    }

    async fn end_prepared(&mut self, xid: &Xid, commit: bool) -> Result<(), SqlError> {
        // What ends is another session's, which FLUSH TABLES WITH READ LOCK knows nothing of.
        self.engine.begin_writing().await?;
        self.take_rank();
        // Where its changes are in the binary log, its end is there as well, unless the session keeps it from that.
        let binlog = self.binlog_context(b"");
        let facts = binlog.map(|b| b.log().ends_branch(&b));
        let ended = match commit {
            true => self.engine.commit_branch(xid, facts).await?,
            false => self.engine.rollback_branch(xid, facts).await?,
        };
        let Some(end) = ended else {
            return Err(SqlError::fixed(codes::ER_XAER_NOTA));
        };
        let left = commit || !end.group_end.is_none();
        self.left_group.store(left, Ordering::Relaxed);
        Ok(())
    }

    /// XA ROLLBACK ALL FOR account: rolls back what this account has prepared and left. Says how many there were.
    async fn xa_rollback_all(&mut self, account: &ast::Account) -> Result<Done, SqlError> {
        self.outside_xa()?;
        if self.locked.is_some() || self.engine.in_transaction() {
            return Err(SqlError::fixed(codes::ER_XAER_OUTSIDE));
        }
        let account = self.account_id(account)?.ticked();
        let mut done = Done::default();
        for xid in self.engine.engine().branches_of(&account) {
            self.engine.interrupt().check()?;
            match self.end_prepared(&xid, false).await {
                Ok(()) => done.affected += 1,
                // Somebody else has ended it.
                Err(e) if e.code == codes::ER_XAER_NOTA => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    /// XA RECOVER [CONVERT XID].
    async fn xa_recover(
        &mut self,
        convert: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let prepared = self.engine.engine().clone().prepared().await?;
        let mut r = RowSet::new();
        for name in ["formatID", "gtrid_length", "bqual_length"] {
            r.add_column(name, DataType::BIGINT, false);
        }
        r.add_text("data", DATA_CHARS);
        let empty = self.engine.engine().empty_branches();
        for xid in prepared.into_iter().map(|p| p.xid).chain(empty) {
            let mut data = [&xid.gtrid[..], &xid.bqual[..]].concat();
            if convert {
                let hex: String = data.iter().map(|b| format!("{b:02X}")).collect();
                data = format!("0x{hex}").into_bytes();
            }
            // Its bytes as they are: what they are text in, their maker knows.
            r.push(vec![
                Value::Int(i64::from(xid.format)),
                Value::Int(xid.gtrid.len() as i64),
                Value::Int(xid.bqual.len() as i64),
                Value::Str(data, types::CollationId::UTF8MB3_GENERAL_CI),
            ]);
        }
        Ok(r.send(sink))
    }
}
