//! Nested loops over the steps of a block, as a machine that stands at one combination of rows and moves to the next.
//!
//! A step scans an index for every combination before it, or goes through rows that were fetched once and kept (looked up by hash
//! where equalities allow). Outer joins follow MySQL's scheme: a nest of tables remembers whether it found a match; when its
//! first table runs out without one, its tables become NULL once.

mod ahead;
mod early;
mod grace;
pub(crate) mod keep;
pub(crate) mod kept;
mod kept_rows;
mod lateral;
pub(crate) mod level;
mod look_ahead;
mod put_off;
pub(crate) mod spool;
pub(crate) mod spools;
mod united;

use engine::{ReadMode, Scan, ScanSpec};
use types::SqlError;

use crate::Env;
use crate::keymap::KeyMap;
use crate::keys::{self, Part};
use crate::op::filter::passes;
use crate::op::join::ahead::Ahead;
use crate::op::join::grace::Later;
use crate::op::join::kept::Kept;
use crate::op::join::level::{At, Level};
use crate::row::{Candidate, Tuple};
use crate::spill::Room;
use crate::sub::{self, SubValues};
use sql_expr::RowSource;
use sql_plan::bind::nests::NestKind;
use sql_plan::plan::tally::Place;
use sql_plan::plan::{Access, Block, LateExpr, Step};

/// How far a step has come for the combination before it.
#[derive(Default)]
struct Progress {
    scan: Option<Scan>,
    more: bool,
    ranges: std::vec::IntoIter<Part>,
    /// The clustered keys that came, where ranges of several indexes overlap.
    seen: Option<KeyMap>,
    /// The rows of the batch in the order in which they go on, where that is another.
    order: Option<Vec<u32>>,
    inexact: bool,
    next: usize,
    /// The end of the kept rows of the present key, where they are made for one at a time.
    end: Option<usize>,
    /// Candidates by hash for the present combination.
    chain: Option<u32>,
    by_hash: bool,
    found: bool,
    exhausted: bool,
    fetch: usize,
    delivered: u64,
}

/// A join in progress.
pub(crate) struct Join<'p> {
    block: &'p Block,
    steps: &'p [Step],
    outer: &'p dyn RowSource,
    modes: Vec<ReadMode>,
    levels: Vec<Level>,
    progress: Vec<Progress>,
    ahead: Vec<Ahead>,
    /// Values of the block's subqueries.
    pub subs: SubValues,
    started: bool,
    /// The first step that has moved since the combination before.
    moved: usize,
    first_batch: usize,
    /// How many combinations will be asked for.
    wanted: u64,
    /// The combinations that came, where each is wanted once.
    seen: Option<KeyMap>,
    identity: Vec<u8>,
    /// The last hash key that was looked for.
    key: Vec<u8>,
    /// Combinations that wait in files for their rows.
    later: Option<Box<Later>>,
}

/// Rows fetched at first for a step, and at most later.
const FIRST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 512;

impl<'p> Join<'p> {
    /// A join that stands before its first combination. `mode` says how a table is read, by place.
    pub fn new(
        block: &'p Block,
        outer: &'p dyn RowSource,
        subs: SubValues,
        mode: impl Fn(usize) -> ReadMode,
    ) -> Join<'p> {
        let n = block.tables.len();
        Join {
            block,
            steps: &block.join.steps,
            outer,
            modes: (0..n).map(mode).collect(),
            levels: (0..n).map(|_| Level::default()).collect(),
            progress: (0..n).map(|_| Progress::default()).collect(),
            ahead: (0..n).map(|_| Ahead::default()).collect(),
            subs,
            started: false,
            moved: 0,
            first_batch: FIRST_BATCH,
            wanted: u64::MAX,
            seen: None,
            identity: Vec::new(),
            key: Vec::new(),
            later: None,
        }
    }

    /// Says how many rows will be asked for, where that is known.
    pub fn expect(&mut self, rows: u64) {
        self.wanted = rows;
        if self.steps.len() == 1 {
            self.first_batch = usize::try_from(rows)
                .unwrap_or(LARGEST_BATCH)
                .clamp(1, LARGEST_BATCH);
        }
    }

    /// Takes rows of the only table that were kept for `step`, which is what the table's step is then.
    pub fn with_kept(&mut self, step: &'p Step, kept: Kept) {
        debug_assert_eq!(self.block.join.steps.len(), 1, "one table");
        self.steps = std::slice::from_ref(step);
        self.levels[usize::from(step.table)].kept = Some(kept);
    }

    /// The rows that [`with_kept`](Self::with_kept) took.
    pub fn into_kept(self) -> Option<Kept> {
        self.levels.into_iter().next().and_then(|l| l.kept)
    }

    /// The combination the join stands at.
    pub fn tuple(&self) -> Tuple<'_> {
        Tuple {
            places: &self.block.places,
            levels: &self.levels,
            outer: self.outer,
            subs: Some(&self.subs),
        }
    }

    /// Whether the rows up to a step are those of the combination before.
    #[inline]
    pub fn stays_at(&self, step: usize) -> bool {
        self.moved > step
    }

    /// A table's rows.
    pub fn level(&self, table: u16) -> &Level {
        &self.levels[usize::from(table)]
    }

    /// Runs correlated subqueries for the combination at hand.
    pub async fn fill(&mut self, which: &[u32], env: &mut Env<'_>) -> Result<(), SqlError> {
        for &i in which {
            let rows = sub::rows(&self.block.subqueries[i as usize], env, &self.tuple()).await?;
            self.subs.set(i, rows);
        }
        Ok(())
    }

    /// Moves to the next combination; `false` where there is none.
    pub async fn next(&mut self, env: &mut Env<'_>) -> Result<bool, SqlError> {
        self.moved = usize::MAX;
        if self.block.join.weedout.is_empty() {
            return self.combine(env).await;
        }
        while self.combine(env).await? {
            self.identity.clear();
            for &t in &self.block.join.weedout {
                self.levels[usize::from(t)].identify(&mut self.identity);
            }
            let memory = env.cx.memory();
            let seen = self.seen.get_or_insert_with(|| KeyMap::new(memory));
            if seen.insert(&self.identity)?.1 {
                return Ok(true);
            }
            if env.due() {
                env.pause().await?;
            }
        }
        Ok(false)
    }

    async fn combine(&mut self, env: &mut Env<'_>) -> Result<bool, SqlError> {
        let n = self.steps.len();
        if n == 0 {
            return Ok(!std::mem::replace(&mut self.started, true));
        }
        let mut enter = !std::mem::replace(&mut self.started, true);
        if enter && self.steps.iter().any(|s| s.early) && !Box::pin(self.keep_early(env)).await? {
            return Ok(false);
        }
        let mut s = if enter { 0 } else { n - 1 };
        loop {
            let begun = env.begun();
            let entered = enter;
            if enter && !self.open(s, env).await? {
                match self.back(s, env).await? {
                    Some(to) => (s, enter) = to,
                    None => return Ok(false),
                }
                continue;
            }
            enter = false;
            self.moved = self.moved.min(s);
            let found = self.advance(s, env).await?;
            if begun.is_some() {
                let rows = u64::from(found);
                env.tell(
                    self.block,
                    Place::Step(s as u16),
                    begun,
                    entered.into(),
                    rows,
                );
            }
            if !found {
                match self.null_extend(s, env).await? {
                    Extended::No => {
                        match self.back(s, env).await? {
                            Some(to) => (s, enter) = to,
                            None => return Ok(false),
                        }
                        continue;
                    }
                    Extended::Rejected => continue,
                    Extended::To(last) => s = last,
                }
            } else {
                let step = &self.steps[s];
                if !self.holds(&step.late, env).await? || !self.close_nests(s, 0, env).await? {
                    continue;
                }
            }
            env.tell(self.block, Place::Out(s as u16), begun, 0, 1);
            if s + 1 == n {
                return Ok(true);
            }
            s += 1;
            enter = true;
        }
    }

    /// Where it goes on behind a step that has no more for the combination before it: to a step, which is entered or not; `None` at the end.
    #[inline]
    async fn back(
        &mut self,
        s: usize,
        env: &mut Env<'_>,
    ) -> Result<Option<(usize, bool)>, SqlError> {
        match &self.later {
            None => Ok(s.checked_sub(1).map(|s| (s, false))),
            Some(later) if s > later.base() => Ok(Some((s - 1, false))),
            // On the heap, as it is rare. Other rows come back.
            Some(_) => {
                self.moved = 0;
                Box::pin(self.resume(env)).await
            }
        }
    }

    /// Whether conditions on fetched rows hold.
    async fn holds(&mut self, conds: &[LateExpr], env: &mut Env<'_>) -> Result<bool, SqlError> {
        for c in conds {
            self.fill(&c.subqueries, env).await?;
            let cx = env.cx;
            loop {
                let held = c.expr.truth(cx, &self.tuple());
                match env.settle(held).await? {
                    None => {}
                    Some(Some(true)) => break,
                    Some(_) => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// Marks the nests that end at a step as matched and checks the conditions around them; `false` where the combination is not wanted.
    /// Where `outside` is not 0, the nest that begins there has just been extended with NULLs, and only it and those around it count.
    async fn close_nests(
        &mut self,
        s: usize,
        outside: usize,
        env: &mut Env<'_>,
    ) -> Result<bool, SqlError> {
        for nest in &self.steps[s].nests {
            let first = usize::from(nest.first);
            if outside != 0 && first > outside {
                continue;
            }
            self.progress[first].found = true;
            let extended = outside != 0 && first == outside;
            if nest.kind != NestKind::Outer && !extended {
                // One match says it all.
                for p in &mut self.progress[first..=s] {
                    p.found = true;
                    p.exhausted = true;
                }
                if nest.kind == NestKind::Anti {
                    return Ok(false);
                }
            }
            if !self.holds(&nest.after, env).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes the tables of an outer join NULL where its first table ran out without a match.
    async fn null_extend(&mut self, s: usize, env: &mut Env<'_>) -> Result<Extended, SqlError> {
        if let Some(later) = &mut self.later
            && !later.is_over(s, self.progress[s].found)
        {
            return Ok(Extended::No);
        }
        let Some(&last) = self.steps[s].opens.first() else {
            return Ok(Extended::No);
        };
        if self.progress[s].found {
            return Ok(Extended::No);
        }
        let last = usize::from(last);
        for i in s..=last {
            let p = &mut self.progress[i];
            p.found = true;
            p.exhausted = true;
            self.levels[usize::from(self.steps[i].table)].at = At::Null;
        }
        if self.close_nests(last, s.max(1), env).await? {
            Ok(Extended::To(last))
        } else {
            Ok(Extended::Rejected)
        }
    }

    /// Begins a step for the combination before it; `false` where the combination was put off.
    async fn open(&mut self, s: usize, env: &mut Env<'_>) -> Result<bool, SqlError> {
        let block = self.block;
        let step = &self.steps[s];
        let t = usize::from(step.table);
        let cx = env.cx;
        self.progress[s] = Progress {
            fetch: match s {
                0 => self.first_batch,
                _ => self.fetched_first(s),
            },
            ..Progress::default()
        };
        self.levels[t].at = At::Null;
        self.levels[t].batch.clear();
        if step.buffer.is_some() {
            if step.lateral.is_some() {
                self.make_key(s, env).await?;
            } else if self.levels[t].kept.is_none() {
                let mut kept = self.keep(s, env).await?;
                if let Some(built) = kept.take_built() {
                    Later::add(&mut self.later, s, built, Room::join(cx));
                }
                self.levels[t].kept = Some(kept);
            }
            if self.later.is_some() {
                return self.put_off(s, env).await;
            }
            self.probe(s, cx)?;
            return Ok(true);
        }
        let Some(table) = block.tables[t].stored() else {
            return Ok(true);
        };
        let (parts, inexact) = keys::parts(table, &step.access, cx, &self.tuple())?;
        let p = &mut self.progress[s];
        let several = matches!(step.access, Access::Union(_)) && parts.len() > 1;
        p.seen = several.then(|| KeyMap::new(cx.memory()));
        p.inexact = inexact;
        p.ranges = parts.into_iter();
        if self.ahead[s].on {
            self.read_ahead(s, env);
        }
        if several {
            self.unite(s, env).await?;
        }
        Ok(true)
    }

    /// Moves a step to its next row.
    async fn advance(&mut self, s: usize, env: &mut Env<'_>) -> Result<bool, SqlError> {
        let block = self.block;
        let step = &self.steps[s];
        if self.progress[s].exhausted
            || step
                .at_most
                .is_some_and(|n| self.progress[s].delivered >= n)
        {
            return Ok(false);
        }
        if step.buffer.is_some() {
            return self.advance_kept(s, env).await;
        }
        let t = usize::from(step.table);
        loop {
            let p = &mut self.progress[s];
            let level = &mut self.levels[t];
            if p.next < level.batch.len() {
                let row = p.order.as_ref().map_or(p.next, |o| o[p.next] as usize);
                p.next += 1;
                if let Some(seen) = &mut p.seen
                    && !seen.insert(level.batch.key(row))?.1
                {
                    continue;
                }
                level.at = At::Batch(row);
                p.delivered += 1;
                return Ok(true);
            }
            if p.scan.is_none() || !p.more {
                let Some((index, (lower, upper))) = p.ranges.next() else {
                    p.exhausted = true;
                    p.scan = None;
                    return Ok(false);
                };
                let Some(table) = block.tables[t].stored() else {
                    return Ok(false);
                };
                let backward = step.access.index().1;
                let spec = ScanSpec {
                    index,
                    lower,
                    upper,
                    backward,
                    mode: self.modes[t],
                };
                let cover = step.cover.as_ref().filter(|_| !p.inexact);
                p.scan = Some(env.session.scan(table, spec).covered(cover));
                p.more = true;
            }
            self.fetch(s, env).await?;
        }
    }

    /// Fetches the next batch of a step.
    async fn fetch(&mut self, s: usize, env: &mut Env<'_>) -> Result<(), SqlError> {
        let block = self.block;
        let step = &self.steps[s];
        let t = usize::from(step.table);
        let p = &mut self.progress[s];
        let Some(mut scan) = p.scan.take() else {
            return Ok(());
        };
        let size = p.fetch;
        p.fetch = (p.fetch * 4).min(LARGEST_BATCH);
        let inexact = p.inexact;
        p.next = 0;
        p.order = None;
        let mut batch = std::mem::take(&mut self.levels[t].batch);
        batch.clear();
        let cx = env.cx;
        let tuple = Tuple {
            places: &block.places,
            levels: &self.levels,
            outer: self.outer,
            subs: Some(&self.subs),
        };
        let slot = block.slot(step);
        self.ahead[s].begin(env.session);
        let begun = env.begun();
        let mut looked = 0u64;
        let more = env
            .session
            .next_batch(&mut scan, &mut batch, size, &mut |row| {
                looked += 1;
                let candidate = Candidate {
                    slot,
                    row,
                    rest: &tuple,
                };
                passes(step, inexact, cx, &candidate)
            })
            .await?;
        env.tell(block, Place::Looked(s as u16), begun, 0, looked);
        let p = &mut self.progress[s];
        p.more = more;
        p.scan = Some(scan);
        if s > 0 {
            self.ahead[s].end(env.session);
        }
        self.levels[t].batch = batch;
        self.levels[t].batches += 1;
        Ok(())
    }
}

enum Extended {
    /// There is no outer join to extend.
    No,
    /// Extended, up to that step.
    To(usize),
    /// Extended, and a condition around it does not hold.
    Rejected,
}
