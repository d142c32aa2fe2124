//! Combinations that are put off, since the rows of a hash step are in a file, and that come back ([`grace`](crate::op::join::grace)).

use std::sync::Arc;

use engine::Table;
use types::SqlError;

use crate::Env;
use crate::op::join::Join;
use crate::op::join::grace::{Later, Nests, Now, Pieces};
use crate::op::join::kept::refill::Refill;
use crate::op::join::kept::{Kept, write_probe_key};
use crate::op::join::level::{At, Level};
use crate::spill::file::Reader;
use crate::spill::join::Pair;
use crate::spill::partition::Parts;
use crate::spill::record::{Members, read_values};
use crate::spill::{Host, Room};
use sql_expr::EvalCtx;
use sql_plan::bind::nests::NestKind;
use sql_plan::plan::{Group, Step, TableSource};

/// Rows that are kept at least, however little room there is.
const LEAST: usize = 32;

/// The stored table of a step, or how many values its rows have.
type Kind = (Option<Arc<Table>>, usize);

impl Level {
    /// Keeps nothing but a row that was written.
    pub fn put_back(
        &mut self,
        table: Option<&Arc<Table>>,
        written: &[u8],
        members: &Members,
        cx: &EvalCtx<'_>,
    ) -> bool {
        self.batch.clear();
        match (written.split_first(), table) {
            (Some((0, _)), _) => self.at = At::Null,
            (Some((1, row)), Some(table)) if self.batch.read_row(table, row) => {
                self.at = At::Batch(0);
            }
            (Some((2, n)), _) => {
                let Ok(n) = n.try_into() else { return false };
                self.at = At::Kept(u32::from_le_bytes(n) as usize);
            }
            (Some((3, row)), _) => {
                let Ok(values) = read_values(row, members) else {
                    return false;
                };
                self.kept = Some(Kept::one(&values, cx));
                self.at = At::Kept(0);
            }
            _ => return false,
        }
        true
    }

    /// Appends the current row for [`put_back`](Self::put_back): of kept rows only the number, unless they will have gone by then.
    pub fn write(&self, goes: bool, members: &mut Members, out: &mut Vec<u8>) {
        match (self.at, &self.kept) {
            (At::Batch(i), _) => {
                out.push(1);
                self.batch.write_row(i, out);
            }
            (At::Kept(i), Some(kept)) if goes || !kept.has_numbers() => {
                out.push(if kept.is_stored() { 1 } else { 3 });
                kept.write_row(i, members, out);
            }
            (At::Kept(i), _) => {
                out.push(2);
                out.extend_from_slice(&(i as u32).to_le_bytes());
            }
            (At::Null, _) => out.push(0),
        }
    }

    /// Other kept rows.
    pub fn keep(&mut self, kept: Option<Kept>) {
        self.kept = kept;
    }
}

impl Join<'_> {
    /// Whether the rows of a hash step may be in a file, so that combinations come in another order: each nest that the step is in begins with it, and
    /// nobody wants the order or tells rows by their numbers.
    pub(super) fn may_spill(&self, s: usize) -> bool {
        let block = self.block;
        let nests = self.steps.iter().enumerate().skip(s);
        let around =
            |(_, step): (usize, &Step)| step.nests.iter().any(|n| usize::from(n.first) < s);
        s > 0
            && block.delivered().is_empty()
            && !block.grouping().is_some_and(Group::in_order)
            && block.join.weedout.is_empty()
            && self.steps[s].buffer.as_ref().is_some_and(|k| !k.is_empty())
            && !matches!(
                block.tables[usize::from(self.steps[s].table)].source,
                TableSource::Virtual(_)
            )
            && !{ nests }.any(around)
    }

    /// Puts the next combination back that waits in a file: the step that is to be entered with it. `None` where none waits.
    pub(super) async fn resume(
        &mut self,
        env: &mut Env<'_>,
    ) -> Result<Option<(usize, bool)>, SqlError> {
        let cx = env.cx;
        let (block, steps) = (self.block, self.steps);
        let stored = |s: usize| block.tables[usize::from(steps[s].table)].stored();
        let Some(mut later) = self.later.take() else {
            return Ok(None);
        };
        loop {
            let base = later.base();
            if let Some((mut levels, members)) = later.next().await? {
                for (i, step) in steps[..base].iter().enumerate() {
                    let level = &mut self.levels[usize::from(step.table)];
                    let whole = levels.split_first_chunk::<4>().and_then(|(len, rest)| {
                        let len = u32::from_le_bytes(*len) as usize;
                        let (level, rest) = rest.split_at_checked(len)?;
                        levels = rest;
                        Some(level)
                    });
                    if !whole.is_some_and(|w| level.put_back(stored(i), w, members, cx)) {
                        return Err(SqlError::internal("a combination that cannot be read"));
                    }
                }
                self.later = Some(later);
                return Ok(Some((base, true)));
            }
            if base > 0 {
                self.levels[usize::from(steps[base].table)].keep(None);
            }
            let nests = |s: usize| {
                let all = steps[s..].iter().flat_map(|x| &x.nests);
                let mut begun = all.filter(|n| usize::from(n.first) == s);
                match (begun.next(), begun.next()) {
                    (Some(_), Some(_)) => Nests::Several,
                    (Some(n), None) if n.kind != NestKind::Outer => Nests::Once,
                    _ => Nests::All,
                }
            };
            let table = |s: usize| {
                let width = match block.tables[usize::from(steps[s].table)].source {
                    TableSource::Derived(n) => block.derived[n as usize].types.len(),
                    _ => 0,
                };
                (stored(s).map(Arc::clone), width)
            };
            let kept = later.rows(table, nests, cx, env).await?;
            let base = later.base();
            if kept.is_none() {
                // Nothing is left to go back to.
                self.later = Some(later);
                return Ok(None);
            }
            self.levels[usize::from(steps[base].table)].keep(kept);
        }
    }

    /// Begins a hash step while combinations wait for rows in files.
    pub(super) async fn put_off(&mut self, s: usize, env: &mut Env<'_>) -> Result<bool, SqlError> {
        let cx = env.cx;
        let Some(mut later) = self.later.take() else {
            return Ok(true);
        };
        let mut waits = false;
        if let (Some((grace, gone)), Some(keys)) = (later.collecting(s), &self.steps[s].buffer) {
            let mut key = Vec::new();
            if write_probe_key(keys, cx, &self.tuple(), &mut key)? {
                let before = &self.steps[..s];
                waits = grace.put_off(&key, |members, out| {
                    for (i, step) in before.iter().enumerate() {
                        let start = out.len();
                        out.extend_from_slice(&[0; 4]);
                        let goes = gone.contains(&i);
                        self.levels[usize::from(step.table)].write(goes, members, out);
                        let len = (out.len() - start - 4) as u32;
                        out[start..start + 4].copy_from_slice(&len.to_le_bytes());
                    }
                });
            }
            if grace.is_due() {
                grace.flush(env).await?;
            }
            // No row has its key: none is looked for.
            self.progress[s].by_hash = true;
        } else {
            self.probe(s, cx)?;
            let p = &mut self.progress[s];
            (p.found, p.exhausted) = later.before(s);
        }
        self.later = Some(later);
        Ok(!waits)
    }
}

impl Later {
    /// The rows for the combinations that come next; `None` where none wait. The rows before must have gone.
    ///
    /// # Errors
    /// The files; the session may hold no more; the statement is to end.
    pub async fn rows(
        &mut self,
        table: impl Fn(usize) -> Kind,
        nests: impl Fn(usize) -> Nests,
        cx: &EvalCtx<'_>,
        host: &mut impl Host,
    ) -> Result<Option<Kept>, SqlError> {
        loop {
            if let Some(mut now) = self.now.take()
                && let Some(mut pieces) = now.pieces.take()
                && !pieces.last
            {
                let (kept, last) = self
                    .piece(&mut pieces.rest, &now.pair.build.0, &table, cx, host)
                    .await?;
                pieces.last = last;
                now.reader = Reader::new(now.pair.probe.1.section.clone());
                now.at = usize::MAX;
                now.pieces = Some(pieces);
                self.now = Some(now);
                return Ok(Some(kept));
            }
            let Some(pair) = self.pairs.pop() else {
                if self.collecting.is_empty() {
                    return Ok(None);
                }
                let (step, grace) = self.collecting.remove(0);
                self.base = step;
                self.room = Some(grace.room());
                self.pairs = grace.finish(host).await?;
                continue;
            };
            if let Some(kept) = self.begin(pair, &table, &nests, cx, host).await? {
                return Ok(Some(kept));
            }
        }
    }

    fn parts_of(&self, table: &impl Fn(usize) -> Kind) -> Result<(Kind, Room), SqlError> {
        let room = self.room.clone();
        let room = room.ok_or_else(|| SqlError::internal("no table to join"))?;
        Ok((table(self.base), room))
    }

    /// Begins with a pair; `None` where it was cut.
    async fn begin(
        &mut self,
        pair: Pair,
        table: &impl Fn(usize) -> Kind,
        nests: &impl Fn(usize) -> Nests,
        cx: &EvalCtx<'_>,
        host: &mut impl Host,
    ) -> Result<Option<Kept>, SqlError> {
        let ((table, width), mut room) = self.parts_of(table)?;
        let mut rows = Refill::new(table, width, cx);
        let mut build = Reader::new(pair.build.1.section.clone());
        let nests = nests(self.base);
        let mut pieces = None;
        while pair.build.0.advance(&mut build).await? {
            rows.push(build.key(), build.row(), &pair.build.0.members, cx)?;
            if host.is_due() {
                host.rest().await?;
            }
            let (n, keys) = rows.len();
            if n < LEAST || !room.is_over(rows.bytes()) {
                continue;
            }
            if keys > 1 && pair.can_be_cut() {
                drop(rows);
                self.pairs.extend(pair.cut(&room, host).await?);
                return Ok(None);
            }
            if nests != Nests::Several {
                pieces = Some(Pieces {
                    rest: build,
                    last: false,
                    found: Vec::new(),
                    once: nests == Nests::Once,
                });
                break;
            }
        }
        self.now = Some(Now {
            reader: Reader::new(pair.probe.1.section.clone()),
            pair,
            at: usize::MAX,
            pieces,
        });
        Ok(Some(rows.finish()))
    }

    /// The next piece, and whether it is the last.
    async fn piece(
        &self,
        rest: &mut Reader,
        file: &Parts,
        table: &impl Fn(usize) -> Kind,
        cx: &EvalCtx<'_>,
        host: &mut impl Host,
    ) -> Result<(Kept, bool), SqlError> {
        let ((table, width), mut room) = self.parts_of(table)?;
        let mut rows = Refill::new(table, width, cx);
        while file.advance(rest).await? {
            rows.push(rest.key(), rest.row(), &file.members, cx)?;
            if host.is_due() {
                host.rest().await?;
            }
            if rows.len().0 >= LEAST && room.is_over(rows.bytes()) {
                return Ok((rows.finish(), false));
            }
        }
        Ok((rows.finish(), true))
    }
}
