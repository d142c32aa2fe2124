//! Transactions that are prepared, and ended later by whoever comes: another client, the checks, or somebody after a crash.

use super::{Client, Tx};
use crate::context::{Context, Trouble};
use crate::shape::SCHEMA;
use engine::{BranchOwner, Isolation, LockWait, ReadMode, Session, Xid};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn xid(number: u64) -> Xid {
    Xid {
        format: 1,
        gtrid: number.to_le_bytes().into(),
        bqual: Box::default(),
    }
}

fn number(xid: &Xid) -> Option<u64> {
    Some(u64::from_le_bytes(<[u8; 8]>::try_from(&*xid.gtrid).ok()?))
}

impl Client {
    /// Prepares the transaction instead of committing it.
    pub(super) async fn prepare_transaction(
        &mut self,
        s: &mut Session,
        tx: Tx,
    ) -> Result<(), Trouble> {
        let number = self.cx.model().new_prepared(tx.writes);
        let mut claim = match self
            .cx
            .engine
            .claim_xid(&xid(number), &BranchOwner::server())
        {
            Ok(claim) => Some(claim),
            Err(why) => return Err(Trouble::Wrong(format!("{number} was refused: {why:?}"))),
        };
        s.prepare(&mut claim, false).await?;
        if !self.cx.disk.is_dead() {
            let durable = self.cx.plan.flush == 1;
            if let Some(p) = self.cx.model().prepared.get_mut(&number) {
                p.acknowledged = true;
                p.durable = durable;
            }
            self.cx.count("transactions prepared");
        }
        Ok(())
    }

    /// Ends one of those that are prepared, if there is one.
    pub(super) async fn end_some_prepared(&mut self) -> Result<(), Trouble> {
        let all: Vec<u64> = {
            let m = self.cx.model();
            let ready = m
                .prepared
                .iter()
                .filter(|p| p.1.acknowledged && !p.1.ending);
            ready.map(|p| *p.0).collect()
        };
        if all.is_empty() {
            return Ok(());
        }
        let number = all[self.rng.below(all.len() as u64) as usize];
        let commit = !self.rng.one_in(3);
        end(&self.cx, self.number, number, commit).await
    }
}

/// Ends the prepared transaction of this name, which is there.
async fn end(cx: &Arc<Context>, client: u64, number: u64, commit: bool) -> Result<(), Trouble> {
    let mut writes = {
        let mut m = cx.model();
        let Some(p) = m.prepared.get_mut(&number).filter(|p| !p.ending) else {
            return Ok(());
        };
        p.ending = true;
        Some(p.writes.clone())
    };
    let s = cx.engine.session();
    if !commit {
        let there = s.rollback_prepared(&xid(number)).await?;
        if !there {
            return Err(Trouble::Wrong(format!(
                "{number} was prepared, and is not there"
            )));
        }
        if !cx.disk.is_dead() {
            let durable = cx.plan.flush == 1;
            if let Some(p) = cx.model().prepared.get_mut(&number) {
                p.gone = durable;
            }
            cx.count("prepared transactions rolled back");
        }
        return Ok(());
    }
    let mut point = None;
    let some = writes.as_ref().is_some_and(|w| !w.is_empty());
    let there = cx
        .at_commit(false, s.commit_prepared(&xid(number)), || {
            let seq = cx.commit_point(client, writes.take().unwrap_or_default());
            if let Some(p) = cx.model().prepared.get_mut(&number) {
                p.committed = Some(seq);
            }
            point = Some(seq);
        })
        .await?;
    if !there {
        return Err(Trouble::Wrong(format!(
            "{number} was prepared, and is not there"
        )));
    }
    match point {
        Some(seq) => cx.acknowledged(seq, false),
        None if some && !cx.disk.is_dead() => {
            return Err(Trouble::Wrong(format!(
                "{number} was committed, and never was"
            )));
        }
        None => {}
    }
    cx.count("prepared transactions committed");
    Ok(())
}

/// Ends all that are prepared. What the engine has that no client was told of is among them.
pub async fn end_all(cx: &Arc<Context>) -> Result<(), Trouble> {
    for p in cx.engine.prepared().await? {
        let Some(n) = number(&p.xid) else {
            return Err(Trouble::Wrong(format!("{:?} is prepared", p.xid)));
        };
        if let Some(p) = cx.model().prepared.get_mut(&n) {
            // Its client has gone, or its end was left: that decided nothing.
            p.ending = false;
        }
        end(cx, 0, n, n % 3 != 0).await?;
    }
    Ok(())
}

/// After a recovery that has left the commits up to `at`, of which those up to `sure` are certain: which are prepared still, and that
/// their rows are locked.
pub async fn recovered(cx: &Arc<Context>, at: u64, sure: u64) -> Result<(), Trouble> {
    let listed = cx.engine.prepared().await?;
    let listed: BTreeSet<u64> = listed.iter().filter_map(|p| number(&p.xid)).collect();
    // The power may fail again while rows are looked at: what is known of them stays until all is seen.
    let mut all = cx.model().prepared.clone();
    for n in &listed {
        if !all.contains_key(n) {
            return Err(Trouble::Wrong(format!(
                "{n} is prepared, and nobody did that"
            )));
        }
    }
    for (n, p) in &all {
        let must = match p.committed {
            _ if p.gone => Some(false),
            Some(seq) if seq <= sure => Some(false),
            Some(seq) if seq <= at => None,
            Some(_) => p.durable.then_some(true),
            // Its rollback may have come to its end, or not.
            None if p.ending => None,
            None => p.durable.then_some(true),
        };
        if must.is_some_and(|must| must != listed.contains(n)) {
            return Err(Trouble::Wrong(format!(
                "{n} is prepared: {}, after a recovery up to {at}; {p:?}",
                listed.contains(n)
            )));
        }
    }
    all.retain(|n, _| listed.contains(n));
    for (n, p) in &mut all {
        still_locked(cx, *n, &p.writes).await?;
        cx.count("prepared transactions recovered");
        *p = crate::model::PreparedModel {
            writes: std::mem::take(&mut p.writes),
            acknowledged: true,
            durable: true,
            ..Default::default()
        };
    }
    cx.model().prepared = all;
    Ok(())
}

/// What a prepared transaction has written nobody else may.
async fn still_locked(
    cx: &Arc<Context>,
    number: u64,
    writes: &[crate::model::Write],
) -> Result<(), Trouble> {
    let last: BTreeMap<(u32, i64), bool> = writes
        .iter()
        .map(|(life, id, row)| ((*life, *id), row.is_some()))
        .collect();
    for ((life, id), _) in last.into_iter().filter(|w| w.1).take(3) {
        let found = {
            let m = cx.model();
            let mut names = m.names.iter();
            let name = names.find(|n| n.1.0 == life).map(|n| n.0.clone());
            name.zip(m.tables.get(&life).map(|t| t.shape))
        };
        let Some((name, shape)) = found else { continue };
        let mut s = cx.engine.session();
        s.begin(Isolation::ReadCommitted, false);
        let t = s.open_table(SCHEMA, &name).await?;
        let mode = ReadMode::Lock {
            exclusive: true,
            wait: LockWait::NoWait,
        };
        let r = s.get(&t, &shape.key(&t, id), mode, |_| ()).await;
        s.rollback().await?;
        match r {
            Err(e) if e.code == 3572 => {}
            Err(e) => return Err(e.into()),
            Ok(()) => {
                return Err(Trouble::Wrong(format!(
                    "{name}: row {id}, which prepared transaction {number} has written, is not locked"
                )));
            }
        }
    }
    Ok(())
}
