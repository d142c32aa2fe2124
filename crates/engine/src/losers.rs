//! The transactions that a start finds not ended: those that are prepared stay so, the others are rolled back, and first of them those
//! that changed definitions.

use crate::analysis::{Analysis, Loser};
use crate::engine::Engine;
use crate::record::Undo;
use crate::schema::{CATALOG_ID, TableUse};
use crate::session::Session;
use crate::txn::ActiveTxn;
use crate::xa::{self, Note, Xid};
use base::{Lsn, TxnId};
use pager::{OpError, OpenError, Record, RecordKind};
use std::sync::Arc;

pub(crate) fn adopt(engine: &Arc<Engine>, found: &Analysis) -> Vec<(Session, Loser)> {
    let mut ids: Vec<u64> = found.active.keys().copied().collect();
    ids.sort_unstable();
    if base::mutant!("loser-not-rolled-back") {
        ids.retain(|t| found.active[t].ddl);
    }
    ids.into_iter()
        .map(|t| {
            let l = found.active[&t];
            let mut s = Session::new(engine.clone());
            engine.txns.adopt(
                s.reg.cell(),
                ActiveTxn {
                    txid: TxnId(t),
                    first: l.first,
                    last: l.last,
                },
            );
            s.txid = TxnId(t);
            (s, l)
        })
        .collect()
}

pub(crate) async fn finish_loser(mut s: Session) -> Result<(), OpenError> {
    match s.rollback().await {
        Ok(()) => Ok(()),
        Err(e) => {
            let r = OpenError::Damaged(format!(
                "a transaction cannot be rolled back: {}",
                e.message
            ));
            let engine = s.engine.clone();
            engine.keep(Box::new(s));
            Err(r)
        }
    }
}

/// Definition changes touch nothing but the catalog's table; anything else may need tables that are not open yet.
pub(crate) async fn touches_only_catalog(
    engine: &Arc<Engine>,
    l: &Loser,
) -> Result<bool, OpenError> {
    let mut at = l.last;
    let mut bytes = Vec::new();
    while !at.is_none() {
        read_record(engine, at, &mut bytes).await?;
        let Some(r) = Record::parse(&bytes) else {
            return Err(OpError::LogDamaged(at).into());
        };
        if r.header().kind == RecordKind::Change
            && Undo::decode(r.undo()).is_none_or(|u| u.table != CATALOG_ID)
        {
            return Ok(false);
        }
        at = r.header().prev;
    }
    Ok(true)
}

/// A prepared transaction's name, and the tables that it held; none: all.
pub(crate) type Held = (Xid, Option<Vec<u32>>);

/// Takes those out that are prepared: a transaction is, if its last record says so. A rollback that was under way has written others
/// behind it. They are among the engine's branches from then on, and hold no table yet.
pub(crate) async fn take_prepared(
    engine: &Arc<Engine>,
    losers: &mut Vec<(Session, Loser)>,
) -> Result<Vec<Held>, OpenError> {
    let mut held = Vec::new();
    let mut rest = Vec::new();
    let mut failed = None;
    for (session, loser) in losers.drain(..) {
        if failed.is_some() {
            // A session that is dropped rolls back, and this one may be prepared.
            engine.keep(Box::new(session));
            continue;
        }
        match note_of(engine, &loser).await {
            Ok(None) => rest.push((session, loser)),
            Ok(Some(note)) => {
                held.push((note.xid.clone(), note.tables.clone()));
                if base::mutant!("prepared-locks-forgotten") {
                    engine.txns.aborted(session.txid, Lsn(1));
                }
                if let Err(twice) = session.adopt_prepared(note) {
                    let name = String::from_utf8_lossy(&twice.gtrid).into_owned();
                    let why = format!("the log has two prepared transactions named {name}");
                    failed = Some(OpenError::Damaged(why));
                }
            }
            Err(e) => {
                engine.keep(Box::new(session));
                failed = Some(e);
            }
        }
    }
    *losers = rest;
    match failed {
        Some(e) => Err(e),
        None => Ok(held),
    }
}

/// What the last record says, if it is that of a prepared transaction.
async fn note_of(engine: &Engine, loser: &Loser) -> Result<Option<Note>, OpenError> {
    let mut bytes = Vec::new();
    read_record(engine, loser.last, &mut bytes).await?;
    let damaged = || OpError::LogDamaged(loser.last);
    let r = Record::parse(&bytes).ok_or_else(damaged)?;
    let is_note = r.header().kind == RecordKind::Note && xa::is_prepared(r.undo());
    if !is_note || base::mutant!("prepared-rolled-back-by-recovery") {
        return Ok(None);
    }
    Ok(Some(Note::decode(r.undo()).ok_or_else(damaged)?))
}

/// Prepared transactions hold their tables again: these stay as they are until those have ended.
pub(crate) fn hold_tables(engine: &Engine, held: &[Held]) {
    let catalog = engine.catalog();
    for (xid, tables) in held {
        let is_held = |id: &u32| tables.as_ref().is_none_or(|all| all.contains(id));
        let tables = catalog.tables().filter(|t| is_held(&t.def.id));
        // Nobody has asked for a table's lock yet.
        let uses = tables.map(|t| TableUse::announce(t, true)).collect();
        engine.branches.hold(xid, uses);
    }
}

async fn read_record(engine: &Engine, at: Lsn, bytes: &mut Vec<u8>) -> Result<(), OpenError> {
    loop {
        match engine.log.read_record(at, bytes) {
            Ok(()) => return Ok(()),
            Err(OpError::Wait(w)) => {
                engine.pager.resolve(w).await?;
            }
            Err(e) => return Err(e.into()),
        }
    }
}
