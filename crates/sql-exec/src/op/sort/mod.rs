//! Sorting: rows with keys whose bytes compare as the rows do. With a LIMIT only the best rows are kept: whenever twice as many
//! have come, they are sorted and the worse half is dropped, so that memory stays with what is asked for.
//!
//! Where rows are sorted by one of their own columns, only the first eight bytes of a key are made; whole keys follow for rows that
//! these do not tell apart (the abbreviated keys of Graefe, "Implementing Sorting in Database Systems", 2006, section 3.1).
//!
//! More rows than there is room for become sorted runs in a file ([`spill::merge`](crate::spill::merge)).

mod runs;

use std::cmp::Ordering;
use std::sync::Arc;

use types::keyenc::{KeyPart, first_bytes};
use types::{SqlError, ValueRef};

use crate::Env;
use crate::pause;
use crate::spill::Room;
use crate::spill::merge::{Merged, Runs};
use crate::store::RowStore;
use sql_expr::memory::{Account, Charge};
use sql_expr::{EvalCtx, RowSource, Val};
use sql_plan::plan::SortKey;

#[derive(Clone, Copy)]
struct Entry {
    /// The first eight bytes of the key, for quick comparison.
    head: u64,
    /// Where the key is.
    start: usize,
    end: usize,
    /// Order of arrival: equal rows stay in it.
    row: u32,
}

/// Rows to sort.
pub(crate) struct Sorter {
    keys: Vec<u8>,
    entries: Vec<Entry>,
    rows: RowStore,
    width: usize,
    /// How many of the best rows are wanted.
    keep: usize,
    /// The worst key that still counts, and its first bytes, once there are enough.
    bar: Option<(u64, Vec<u8>)>,
    /// The column that is sorted by, if it is one of the rows' own, and how its values become keys.
    column: Option<(usize, KeyPart)>,
    /// Of rows with the same key only the first is wanted. For rows sorted by a column of their own.
    unique: bool,
    /// Rows at which those that are not wanted are dropped.
    prune_at: usize,
    account: Arc<Account>,
    keys_charge: Charge,
    entries_charge: Charge,
    /// The session had no memory for a row: the statement is to fail.
    short: bool,
    spill: Option<Box<Spill>>,
}

/// Where rows go that there is no room for.
struct Spill {
    room: Room,
    runs: Option<Runs>,
}

/// Rows up to which those that are not wanted are dropped wherever a row is added; more of them take a while.
const PRUNE_AT_ONCE: usize = 8 << 10;

/// Fewest rows after which those that are not wanted are dropped.
const PRUNE_AT_LEAST: usize = 1024;

/// Rows that room is made for when there is more than one.
const EXPECTED: usize = 64;

/// Fewer rows are no run.
const LEAST_RUN: usize = 64;

/// The row number of an entry that is not wanted.
const GONE: u32 = u32::MAX;

/// Appends the sort key of a row.
pub(crate) fn write_sort_key(
    order: &[SortKey],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    for k in order {
        write_key_part(k, &k.expr.eval(cx, row)?, out);
    }
    Ok(())
}

/// Appends the part of a sort key that a value is.
pub(crate) fn write_key_part(k: &SortKey, v: &Val<'_>, out: &mut Vec<u8>) {
    let v = match v {
        Val::Enum(n, _) => ValueRef::UInt(u64::from(*n)),
        Val::Set(n, _) | Val::Bit(n, _) => ValueRef::UInt(*n),
        // At full precision, whatever the type shows.
        Val::Double(d) => ValueRef::Double(*d),
        v => v.as_value_ref(&k.expr.ty),
    };
    k.part.encode(v, out);
}

/// The first bytes of the value's key; `scratch` is for those that are not known without the rest.
fn head_of(part: &KeyPart, v: ValueRef<'_>, scratch: &mut Vec<u8>) -> u64 {
    part.head(v).unwrap_or_else(|| {
        scratch.clear();
        part.encode(v, scratch);
        first_bytes(scratch)
    })
}

impl Sorter {
    /// For rows of `width` columns of which the best `keep` are wanted, with keys from [`write_sort_key`].
    pub fn new(width: usize, keep: u64, account: &Arc<Account>) -> Sorter {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        Sorter {
            keys: Vec::new(),
            entries: Vec::new(),
            rows: RowStore::new(width, account),
            account: Arc::clone(account),
            keys_charge: Charge::to(account),
            entries_charge: Charge::to(account),
            short: false,
            width,
            keep,
            bar: None,
            column: None,
            unique: false,
            prune_at: keep.saturating_mul(2).max(PRUNE_AT_LEAST),
            spill: None,
        }
    }

    /// Rows beyond the room go to a file.
    pub fn with_room(mut self, room: Room) -> Sorter {
        self.spill = Some(Box::new(Spill { room, runs: None }));
        self
    }

    /// For rows that are sorted by their column `column` alone. `unique`: of equal ones only the first is wanted.
    pub fn by_column(
        width: usize,
        keep: u64,
        column: usize,
        part: KeyPart,
        unique: bool,
        account: &Arc<Account>,
    ) -> Sorter {
        let mut s = Sorter::new(width, keep, account);
        s.column = Some((column, part));
        s.unique = unique;
        if unique {
            s.prune_at = PRUNE_AT_LEAST;
        }
        s
    }

    /// Whether a row with this key can be among the wanted ones.
    pub fn wants(&self, key: &[u8]) -> bool {
        self.keep > 0 && self.bar.as_ref().is_none_or(|(_, b)| key < &b[..])
    }

    /// Adds a row.
    pub fn add<'v>(&mut self, key: &[u8], values: impl IntoIterator<Item = ValueRef<'v>>) {
        let expected = match self.entries.len() {
            1 => EXPECTED * key.len(),
            _ => key.len(),
        };
        self.short |= !self.keys_charge.reserve(&mut self.keys, expected);
        if self.short {
            return;
        }
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        self.push(first_bytes(key), start, values);
    }

    /// Adds a row that is sorted by a column of its own, if it can be among the wanted ones; false where there is no such column.
    pub fn add_by_column(&mut self, values: &[ValueRef<'_>]) -> bool {
        let Some((c, part)) = &self.column else {
            return false;
        };
        let v = values[*c];
        let head = head_of(part, v, &mut self.keys);
        let wanted = match &self.bar {
            None => self.keep > 0,
            Some((bar, _)) if head != *bar => head < *bar,
            Some((_, bar)) => {
                self.keys.clear();
                part.encode(v, &mut self.keys);
                self.keys < *bar
            }
        };
        if wanted {
            // Its key is made when it has to be.
            self.keys.clear();
            self.push(head, 0, values.iter().copied());
        }
        true
    }

    fn push<'v>(
        &mut self,
        head: u64,
        start: usize,
        values: impl IntoIterator<Item = ValueRef<'v>>,
    ) {
        if self.entries.len() == 1 {
            // A second row: there will be more, and about as long ones.
            self.entries.reserve(EXPECTED);
            self.rows.expect(EXPECTED);
        }
        self.short |= !self.entries_charge.reserve(&mut self.entries, 1);
        if self.short {
            return;
        }
        self.entries.push(Entry {
            head,
            start,
            end: self.keys.len(),
            row: self.rows.len() as u32,
        });
        self.rows.push(values);
        if self.entries.len() >= self.prune_at && self.entries.len() < PRUNE_AT_ONCE {
            self.prune();
        }
    }

    /// Whether so many rows are not wanted that [`tidy`](Self::tidy) should drop them, or there is no room for more.
    #[inline]
    pub fn is_untidy(&mut self) -> bool {
        self.is_to_prune() || self.is_over()
    }

    #[inline]
    fn is_to_prune(&self) -> bool {
        self.entries.len() >= self.prune_at && self.entries.len() >= PRUNE_AT_ONCE
    }

    #[inline]
    fn is_over(&mut self) -> bool {
        let used = self.keys.len() + self.entries.len() * size_of::<Entry>() + self.rows.used();
        // A few rows are not worth a run.
        self.entries.len() >= LEAST_RUN && self.spill.as_mut().is_some_and(|s| s.room.is_over(used))
    }

    /// Drops the rows that are not wanted, and writes a run where there is no room for more, with pauses.
    ///
    /// # Errors
    /// The statement is to end; the file takes no more.
    pub async fn tidy(&mut self, env: &mut Env<'_>) -> Result<(), SqlError> {
        if self.is_to_prune() {
            self.drop_unwanted(env).await?;
        }
        if self.is_over() {
            // On the heap, as it is rare.
            Box::pin(self.write_run(env)).await?;
        }
        Ok(())
    }

    async fn drop_unwanted(&mut self, env: &mut Env<'_>) -> Result<(), SqlError> {
        if !self.may_prune() {
            self.prune_at = usize::MAX;
            return Ok(());
        }
        self.sort(env).await?;
        let mut kept = self.kept();
        for e in &self.entries {
            self.keep_one(e, &mut kept);
            if env.due() {
                env.pause().await?;
            }
        }
        self.become_kept(kept);
        Ok(())
    }

    /// Puts the entries in order, with pauses.
    async fn sort(&mut self, env: &mut Env<'_>) -> Result<(), SqlError> {
        if self.entries.len() < PRUNE_AT_ONCE {
            self.sort_at_once();
        } else if let Some((column, part)) = self.column.take() {
            self.sort_by_column(column, &part, env).await?;
            self.column = Some((column, part));
        } else {
            let keys = &self.keys;
            pause::sort(&mut self.entries, |a, b| by_keys(keys, a, b), env).await?;
        }
        self.entries.truncate(self.keep);
        Ok(())
    }

    fn sort_at_once(&mut self) {
        let Some((column, part)) = self.column.take() else {
            let keys = &self.keys;
            self.entries.sort_unstable_by(|a, b| by_keys(keys, a, b));
            return;
        };
        self.entries.sort_unstable_by_key(|e| (e.head, e.row));
        let mut gone = false;
        for run in self.entries.chunk_by_mut(|a, b| a.head == b.head) {
            if run.len() == 1 {
                continue;
            }
            self.keys.clear();
            for e in run.iter_mut() {
                e.start = self.keys.len();
                part.encode(self.rows.column(e.row as usize, column), &mut self.keys);
                e.end = self.keys.len();
            }
            let keys = &self.keys;
            run.sort_unstable_by(|a, b| by_keys(keys, a, b));
            if self.unique {
                gone |= mark_equal(keys, run);
            }
        }
        if gone {
            self.entries.retain(|e| e.row != GONE);
        }
        self.column = Some((column, part));
    }

    /// By the keys' first bytes, and by whole keys where these are the same.
    async fn sort_by_column(
        &mut self,
        column: usize,
        part: &KeyPart,
        env: &mut Env<'_>,
    ) -> Result<(), SqlError> {
        let by_head = |a: &Entry, b: &Entry| (a.head, a.row).cmp(&(b.head, b.row));
        pause::sort(&mut self.entries, by_head, env).await?;
        let mut gone = false;
        let mut from = 0;
        let mut run = Vec::new();
        while from < self.entries.len() {
            let head = self.entries[from].head;
            let mut to = from + 1;
            while to < self.entries.len() && self.entries[to].head == head {
                to += 1;
                if env.due() {
                    env.pause().await?;
                }
            }
            if to - from > 1 {
                self.keys.clear();
                run.clear();
                run.extend_from_slice(&self.entries[from..to]);
                for e in &mut run {
                    let value = self.rows.column(e.row as usize, column);
                    e.start = self.keys.len();
                    part.encode(value, &mut self.keys);
                    e.end = self.keys.len();
                    if env.due() {
                        self.keys_charge.set(self.keys.capacity());
                        env.pause().await?;
                    }
                }
                let keys = &self.keys;
                pause::sort(&mut run, |a, b| by_keys(keys, a, b), env).await?;
                if self.unique {
                    gone |= mark_equal(keys, &mut run);
                }
                self.entries[from..to].copy_from_slice(&run);
            }
            from = to;
            if env.due() {
                env.pause().await?;
            }
        }
        if gone {
            self.entries.retain(|e| e.row != GONE);
        }
        Ok(())
    }

    fn may_prune(&self) -> bool {
        self.keep < self.entries.len() || self.unique
    }

    /// Drops the rows that are not wanted.
    fn prune(&mut self) {
        if !self.may_prune() {
            return;
        }
        self.sort_at_once();
        self.entries.truncate(self.keep);
        let mut kept = self.kept();
        for e in &self.entries {
            self.keep_one(e, &mut kept);
        }
        self.become_kept(kept);
    }

    /// What the rows that are wanted go to.
    fn kept(&self) -> Sorter {
        Sorter::new(self.width, self.keep as u64, &self.account)
    }

    fn keep_one(&self, e: &Entry, kept: &mut Sorter) {
        let start = kept.keys.len();
        let key = match self.column {
            None => &self.keys[e.start..e.end],
            Some(_) => &[],
        };
        kept.short |= !kept.keys_charge.reserve(&mut kept.keys, key.len())
            || !kept.entries_charge.reserve(&mut kept.entries, 1);
        if kept.short {
            return;
        }
        kept.keys.extend_from_slice(key);
        kept.entries.push(Entry {
            head: e.head,
            start,
            end: kept.keys.len(),
            row: kept.rows.len() as u32,
        });
        kept.rows.push(self.rows.row(e.row as usize));
    }

    fn become_kept(&mut self, mut kept: Sorter) {
        if let Some(e) = self
            .entries
            .last()
            .filter(|_| self.entries.len() == self.keep)
        {
            let mut key = Vec::new();
            match &self.column {
                None => key.extend_from_slice(&self.keys[e.start..e.end]),
                Some((c, part)) => part.encode(self.rows.column(e.row as usize, *c), &mut key),
            }
            kept.bar = Some((e.head, key));
        }
        // Where few were equal, later ones will not be either.
        let more = kept.entries.len().saturating_mul(4).max(PRUNE_AT_LEAST);
        kept.prune_at = kept.prune_at.min(more);
        kept.column = self.column.take();
        kept.unique = self.unique;
        kept.short |= self.short;
        kept.spill = self.spill.take();
        *self = kept;
    }

    /// Puts the rows in order, with pauses.
    ///
    /// # Errors
    /// The statement is to end.
    pub async fn finish(mut self, env: &mut Env<'_>) -> Result<Sorted, SqlError> {
        if self.spill.as_ref().is_some_and(|s| s.runs.is_some()) {
            return Box::pin(self.merge(env)).await;
        }
        self.sort(env).await?;
        Ok(self.sorted())
    }

    fn sorted(self) -> Sorted {
        Sorted {
            order: self.entries.iter().map(|e| e.row).collect(),
            rows: self.rows,
            merged: None,
        }
    }
}

fn by_keys(keys: &[u8], a: &Entry, b: &Entry) -> Ordering {
    a.head
        .cmp(&b.head)
        .then_with(|| keys[a.start..a.end].cmp(&keys[b.start..b.end]))
        .then(a.row.cmp(&b.row))
}

/// Marks all but the first of equal entries of a run that is in order; says whether there are any.
fn mark_equal(keys: &[u8], run: &mut [Entry]) -> bool {
    let key = |e: &Entry| &keys[e.start..e.end];
    let mut gone = false;
    let Some((first, rest)) = run.split_first_mut() else {
        return false;
    };
    let mut first = *first;
    for e in rest {
        if key(e) == key(&first) {
            e.row = GONE;
            gone = true;
        } else {
            first = *e;
        }
    }
    gone
}

/// Rows in order.
pub(crate) struct Sorted {
    /// Row numbers, in order.
    pub order: Vec<u32>,
    /// The rows.
    pub rows: RowStore,
    /// The rows where they did not stay in memory; then the others are none.
    pub merged: Option<Merged>,
}

impl Sorted {
    /// The numbers that were sorted, where the rows are numbers.
    pub fn numbers(&self) -> Vec<usize> {
        let number = |r: &u32| match self.rows.column(*r as usize, 0) {
            ValueRef::UInt(n) => n as usize,
            _ => 0,
        };
        self.order.iter().map(number).collect()
    }
}

#[cfg(test)]
mod tests;
