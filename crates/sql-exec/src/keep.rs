//! Rows of a join's table that are fetched once: tables that no index connects with those before, virtual tables, derived tables.
//! Where equalities connect them, a hash finds the rows for a combination (the classic in-memory hash join). Rows of a stored table that have no
//! room go to a file ([`spill::join`](super::spill::join)).

pub(super) mod by_key;
mod hash_key;
mod made_keys;
pub(super) mod refill;

use engine::{ReadMode, RowBatch, ScanSpec};
use types::{SqlError, ValueRef};

use self::hash_key::write_build_key;
pub(crate) use self::hash_key::write_probe_key;
use self::made_keys::MadeKeys;
use super::Env;
use super::join::{all_hold, passes};
use super::keymap::KeyMap;
use super::keys;
use super::query::run_query;
use super::row::{Candidate, OnlySubs};
use super::spill::gather::{Gathered, Pass};
use super::spill::join::{BuildSpill, Built};
use super::spill::record::{Members, write_value};
use super::spill::{Host, Room};
use super::store::RowStore;
use super::sub::SubValues;
use sql_expr::memory::Charge;
use sql_expr::{EvalCtx, RowSource};
use sql_plan::plan::{Access, Block, HashKey, Step, TableSource, VirtualCtx};

/// Kept rows.
pub(crate) struct Kept {
    rows: Rows,
    hash: Option<Hash>,
    /// Where the rows are that have no room: all of them.
    built: Option<Box<Built>>,
    /// Which rows each key has, where they are made for one at a time.
    by_key: Option<Box<MadeKeys>>,
    _charge: Charge,
}

enum Rows {
    /// Of a stored table: batches, and where each row is.
    Batches(Vec<RowBatch>, Vec<(u32, u32)>),
    /// Of anything else.
    Store(RowStore),
    /// Of anything else where there is no room: they come in their order.
    File(Box<(Gathered, Pass)>),
}

struct Hash {
    keys: KeyMap,
    /// First row of each key.
    first: Vec<u32>,
    /// The next row with the same key, plus one.
    next: Vec<u32>,
    _charge: Charge,
}

const BATCH: usize = 512;

/// What a row takes beside its bytes once a hash finds it, roughly: its place, its key, the chain it is in.
const HASHED: usize = 64;

impl Kept {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Batches(_, at) => at.len(),
            Rows::Store(s) => s.len(),
            Rows::File(f) => f.0.len(),
        }
    }

    /// Whether the rows are in a file: the conditions on them have not been asked for yet, and each has to [come](Self::come).
    #[inline]
    pub fn is_in_file(&self) -> bool {
        matches!(self.rows, Rows::File(_))
    }

    /// Fetches a row of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn come(&mut self, row: usize) -> Result<(), SqlError> {
        let Rows::File(f) = &mut self.rows else {
            return Ok(());
        };
        let (rows, pass) = &mut **f;
        if row < pass.rows().0 {
            *pass = rows.pass();
        }
        while row >= pass.rows().1 && rows.next(pass).await?.is_some() {}
        Ok(())
    }

    /// A column of a row.
    #[inline]
    pub fn column(&self, i: usize, ordinal: u16) -> ValueRef<'_> {
        match &self.rows {
            Rows::Batches(batches, at) => {
                let (b, r) = at[i];
                batches[b as usize]
                    .row(r as usize)
                    .column(usize::from(ordinal))
            }
            Rows::Store(s) => s.column(i, usize::from(ordinal)),
            Rows::File(f) => f.1.column(i, usize::from(ordinal)),
        }
    }

    /// The clustered key of a row.
    pub fn key(&self, i: usize) -> Option<&[u8]> {
        match &self.rows {
            Rows::Batches(batches, at) => {
                let (b, r) = at[i];
                Some(batches[b as usize].key(r as usize))
            }
            Rows::Store(_) | Rows::File(_) => None,
        }
    }

    /// Appends a row, as [`Refill::push`] takes it.
    pub fn write_row(&self, i: usize, members: &mut Members, out: &mut Vec<u8>) {
        match &self.rows {
            Rows::Batches(batches, at) => {
                let (b, r) = at[i];
                batches[b as usize].write_row(r as usize, out);
            }
            Rows::Store(s) => s.row(i).for_each(|v| write_value(v, members, out)),
            Rows::File(f) => {
                for c in 0..f.0.width() {
                    write_value(f.1.column(i, c), members, out);
                }
            }
        }
    }

    /// Whether its rows are those of a stored table.
    pub fn is_stored(&self) -> bool {
        matches!(self.rows, Rows::Batches(..))
    }

    /// Whether the number of a row says which it is as long as the statement runs: not in a file, not where [one](Self::one) has come
    /// back, and not where they are made again.
    pub fn has_numbers(&self) -> bool {
        match &self.rows {
            Rows::Batches(..) => true,
            Rows::Store(s) => s.len() != 1 && self.by_key.is_none(),
            Rows::File(_) => false,
        }
    }

    /// One row of values.
    pub fn one(values: &[ValueRef<'_>], cx: &EvalCtx<'_>) -> Kept {
        let mut store = RowStore::new(values.len(), cx.memory());
        store.push(values.iter().copied());
        Kept {
            rows: Rows::Store(store),
            hash: None,
            built: None,
            by_key: None,
            _charge: Charge::default(),
        }
    }

    /// The rows that went to a file, once.
    pub fn take_built(&mut self) -> Option<Built> {
        self.built.take().map(|b| *b)
    }

    /// The next row with the same hash key.
    pub fn after(&self, row: u32) -> Option<u32> {
        let h = self.hash.as_ref()?;
        h.next[row as usize].checked_sub(1)
    }

    /// The first row whose hash key, written to `key`, equals that of the combination; the outer `None` where there is no hash.
    pub fn look_up(
        &self,
        step: &Step,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
        key: &mut Vec<u8>,
    ) -> Result<Option<Option<u32>>, SqlError> {
        let (Some(h), Some(keys)) = (&self.hash, &step.buffer) else {
            return Ok(None);
        };
        key.clear();
        match write_probe_key(keys, cx, row, key)? {
            true => Ok(Some(h.keys.get(key).map(|n| h.first[n]))),
            false => Ok(Some(None)),
        }
    }

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
            run_query(query, env, outer, &mut rows, u64::MAX).await?;
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

struct StoreRow<'a> {
    rows: &'a RowStore,
    at: usize,
    slot: u16,
    rest: &'a dyn RowSource,
}

impl RowSource for StoreRow<'_> {
    fn column(&self, slot: u16, ordinal: u16) -> ValueRef<'_> {
        match slot == self.slot {
            true => self.rows.column(self.at, usize::from(ordinal)),
            false => self.rest.column(slot, ordinal),
        }
    }

    fn subqueries(&self) -> Option<&dyn sql_expr::SubquerySource> {
        self.rest.subqueries()
    }
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
