//! Rows of a join's table that are fetched once: tables that no index connects with those before, virtual tables, derived tables.
//! Where equalities connect them, a hash finds the rows for a combination (the classic in-memory hash join). Rows of a stored table that have no
//! room go to a file ([`spill::join`](crate::spill::join)).

use engine::{ReadMode, RowBatch, ScanSpec};
use types::{SqlError, ValueRef};

use super::kept::hash_key::write_build_key;
use super::kept::{HASHED, Hash, Kept, Rows, StoreRow};
use crate::Env;
use crate::keymap::KeyMap;
use crate::keys;
use crate::op::filter::{all_hold, passes};
use crate::row::{Candidate, OnlySubs};
use crate::spill::gather::Gathered;
use crate::spill::join::BuildSpill;
use crate::spill::record::write_value;
use crate::spill::{Host, Room};
use crate::store::RowStore;
use crate::sub::SubValues;
use sql_expr::RowSource;
use sql_expr::memory::Charge;
use sql_plan::plan::{Access, Block, HashKey, Step, TableSource, VirtualCtx};

const BATCH: usize = 512;

impl Kept {
    async fn build_hash(
        &mut self,
        keys: &[HashKey],
        slot: u16,
        env: &mut Env<'_>,
        rest: &dyn RowSource,
    ) -> Result<(), SqlError> {
        let cx = env.cx;
        let mut charge = Charge::to(cx.memory());
        // For each row a number in `next`, and for each key one in `first` and one in `last`.
        if !charge.set(self.len() * 3 * size_of::<u32>()) {
            return env.check();
        }
        let mut h = Hash {
            keys: KeyMap::new(cx.memory()),
            first: Vec::new(),
            next: vec![0; self.len()],
            _charge: charge,
        };
        let mut last: Vec<u32> = Vec::new();
        let mut key = Vec::new();
        for i in 0..self.len() {
            if env.due() {
                env.pause().await?;
            }
            let row = KeptRow {
                kept: self,
                at: i,
                slot,
                rest,
            };
            key.clear();
            if !write_build_key(keys, cx, &row, &mut key)? {
                continue;
            }
            let (n, new) = h.keys.insert(&key)?;
            if new {
                h.first.push(i as u32);
                last.push(i as u32);
            } else {
                h.next[last[n] as usize] = i as u32 + 1;
                last[n] = i as u32;
            }
        }
        self.hash = Some(h);
        Ok(())
    }
}

struct KeptRow<'a> {
    kept: &'a Kept,
    at: usize,
    slot: u16,
    rest: &'a dyn RowSource,
}

impl RowSource for KeptRow<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        if slot == self.slot {
            self.kept.column(self.at, ordinal)
        } else {
            self.rest.column(slot, ordinal)
        }
    }

    fn subqueries(&self) -> Option<&dyn sql_expr::SubquerySource> {
        self.rest.subqueries()
    }
}

/// Fetches the rows of a step's table that pass the conditions on it alone. What there is no `room` for goes to a file.
pub(crate) async fn keep(
    block: &Block,
    step: &Step,
    mode: ReadMode,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    subs: &SubValues,
    room: Option<Room>,
) -> Result<Kept, SqlError> {
    let rest = OnlySubs { subs, outer };
    let slot = block.slot(step);
    let cx = env.cx;
    let mut spill = room.map(BuildSpill::new);
    let (rows, charge) = match &block.tables[usize::from(step.table)].source {
        TableSource::Engine(_) => stored(block, step, mode, env, &rest, usize::MAX, &mut spill)
            .await?
            .ok_or_else(|| SqlError::internal("rows without a limit"))?,
        TableSource::Virtual(v) => {
            let engine = std::sync::Arc::clone(env.session.engine());
            let catalog = std::sync::Arc::clone(env.session.catalog());
            let made = v.rows(&VirtualCtx {
                engine: &engine,
                catalog: &catalog,
                cx,
                security: env.security,
            })?;
            let mut store = RowStore::new(v.columns().len(), cx.memory());
            for r in made {
                store.push(r.iter().map(types::Value::as_ref));
                if env.due() {
                    env.pause().await?;
                }
            }
            (Rows::Store(store), Charge::default())
        }
        TableSource::Derived(n) => {
            let query = &block.derived[*n as usize];
            let room = Room::table(cx);
            let mut rows = Gathered::new(query.types.len(), room, env.files());
            env.query(query, outer, &mut rows, u64::MAX).await?;
            rows.end().await?;
            match rows.into_memory() {
                Ok(store) => (Rows::Store(store), Charge::default()),
                Err(rows) => (
                    in_file(*rows, step, slot, spill.as_mut(), env, &rest).await?,
                    Charge::default(),
                ),
            }
        }
    };
    let mut kept = Kept {
        rows,
        hash: None,
        built: None,
        by_key: None,
        _charge: charge,
    };
    if let Some(built) = match spill {
        Some(spill) => spill.finish(env).await?,
        None => None,
    } {
        kept.built = Some(Box::new(built));
        return Ok(kept);
    }
    if let Rows::Store(_) = &kept.rows
        && !(step.filter.is_empty() && step.implied.is_empty())
    {
        kept = filtered(kept, step, slot, env, &rest).await?;
    }
    if let Some(keys) = step.buffer.as_ref().filter(|k| !k.is_empty()) {
        kept.build_hash(keys, slot, env, &rest).await?;
    }
    Ok(kept)
}

async fn filtered(
    kept: Kept,
    step: &Step,
    slot: u16,
    env: &mut Env<'_>,
    rest: &dyn RowSource,
) -> Result<Kept, SqlError> {
    let cx = env.cx;
    let Rows::Store(all) = &kept.rows else {
        return Ok(kept);
    };
    let mut some = RowStore::new(all.row(0).count(), cx.memory());
    for i in 0..all.len() {
        if env.due() {
            env.pause().await?;
        }
        let row = KeptRow {
            kept: &kept,
            at: i,
            slot,
            rest,
        };
        if all_hold(&step.filter, cx, &row)? && all_hold(&step.implied, cx, &row)? {
            some.push(all.row(i));
        }
    }
    Ok(Kept {
        rows: Rows::Store(some),
        hash: None,
        built: None,
        by_key: None,
        _charge: Charge::default(),
    })
}

/// Rows of a derived table that had no room. Where a hash finds them they go to the parts of their keys, or to memory after all where that cannot be.
async fn in_file(
    rows: Gathered,
    step: &Step,
    slot: u16,
    spill: Option<&mut BuildSpill>,
    env: &mut Env<'_>,
    rest: &dyn RowSource,
) -> Result<Rows, SqlError> {
    let cx = env.cx;
    let mut pass = rows.pass();
    let Some(keys) = step.buffer.as_ref().filter(|k| !k.is_empty()) else {
        return Ok(Rows::File(Box::new((rows, pass))));
    };
    let mut file = spill.map(BuildSpill::begin);
    let mut kept = RowStore::new(rows.width(), cx.memory());
    let mut key = Vec::new();
    while let Some(some) = rows.next(&mut pass).await? {
        for at in 0..some.len() {
            if env.due() {
                env.pause().await?;
            }
            let Some(file) = &mut file else {
                kept.push(some.row(at));
                continue;
            };
            let row = StoreRow {
                rows: some,
                at,
                slot,
                rest,
            };
            key.clear();
            if all_hold(&step.filter, cx, &row)?
                && all_hold(&step.implied, cx, &row)?
                && write_build_key(keys, cx, &row, &mut key)?
            {
                file.add(&key, |members, out| {
                    some.row(at).for_each(|v| write_value(v, members, out));
                });
            }
            if file.is_due() {
                file.flush(env).await?;
            }
        }
    }
    Ok(Rows::Store(kept))
}

/// As [`keep`] for a stored table; `None` where its rows take more than `bytes_max`.
pub(crate) async fn keep_stored(
    block: &Block,
    step: &Step,
    mode: ReadMode,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    subs: &SubValues,
    bytes_max: usize,
) -> Result<Option<Kept>, SqlError> {
    let rest = OnlySubs { subs, outer };
    let Some((rows, charge)) = stored(block, step, mode, env, &rest, bytes_max, &mut None).await?
    else {
        return Ok(None);
    };
    let mut kept = Kept {
        rows,
        hash: None,
        built: None,
        by_key: None,
        _charge: charge,
    };
    if let Some(keys) = &step.buffer {
        kept.build_hash(keys, block.slot(step), env, &rest).await?;
    }
    Ok(Some(kept))
}

/// Fetches a stored table's rows; `None` where they take more than `bytes_max`.
async fn stored(
    block: &Block,
    step: &Step,
    mode: ReadMode,
    env: &mut Env<'_>,
    rest: &OnlySubs<'_>,
    bytes_max: usize,
    spill: &mut Option<BuildSpill>,
) -> Result<Option<(Rows, Charge)>, SqlError> {
    let slot = block.slot(step);
    let Some(table) = block.tables[usize::from(step.table)].stored() else {
        return Err(SqlError::internal("a stored table is expected"));
    };
    let cx = env.cx;
    let (parts, inexact) = keys::parts(table, &step.access, cx, rest)?;
    let backward = step.access.index().1;
    let several = matches!(step.access, Access::Union(_)) && parts.len() > 1;
    let mut seen = several.then(|| KeyMap::new(cx.memory()));
    let mut batches: Vec<RowBatch> = Vec::new();
    let mut at = Vec::new();
    let mut bytes = 0usize;
    let mut charge = Charge::to(cx.memory());
    let mut key = Vec::new();
    for (index, (lower, upper)) in parts {
        let spec = ScanSpec {
            index,
            lower,
            upper,
            backward,
            mode,
        };
        let cover = step.cover.as_ref().filter(|_| !inexact);
        let mut scan = env.session.scan(table, spec).covered(cover);
        loop {
            let mut batch = RowBatch::new();
            let more = env
                .session
                .next_batch(&mut scan, &mut batch, BATCH, &mut |row| {
                    passes(step, inexact, cx, &Candidate { slot, row, rest })
                })
                .await?;
            if !batch.is_empty() {
                let b = batches.len() as u32;
                for r in 0..batch.len() {
                    let new = match &mut seen {
                        Some(seen) => seen.insert(batch.key(r))?.1,
                        None => true,
                    };
                    if new {
                        at.push((b, r as u32));
                    }
                }
                bytes += batch.bytes();
                // What has come is there already; more does not come.
                if !charge.set(bytes + at.len() * size_of::<(u32, u32)>()) {
                    env.check()?;
                }
                batches.push(batch);
                if bytes > bytes_max {
                    return Ok(None);
                }
                if let (Some(spill), Some(keys)) = (&mut *spill, &step.buffer)
                    && let Some(file) = spill.file(bytes + at.len() * HASHED)
                {
                    for (b, r) in at.drain(..) {
                        let (batch, r) = (&batches[b as usize], r as usize);
                        key.clear();
                        let row = batch.row(r);
                        if write_build_key(keys, cx, &Candidate { slot, row, rest }, &mut key)? {
                            file.add(&key, |_, out| batch.write_row(r, out));
                        }
                        if file.is_due() {
                            file.flush(env).await?;
                        }
                        if env.due() {
                            env.pause().await?;
                        }
                    }
                    batches.clear();
                    bytes = 0;
                    // Less is never refused.
                    charge.set(0);
                }
            }
            if !more {
                break;
            }
        }
    }
    if several {
        // What several indexes found is in the order of the primary key: see `join::united`.
        let key = |(b, r): &(u32, u32)| batches[*b as usize].key(*r as usize);
        at.sort_unstable_by(|x, y| key(x).cmp(key(y)));
    }
    Ok(Some((Rows::Batches(batches, at), charge)))
}
