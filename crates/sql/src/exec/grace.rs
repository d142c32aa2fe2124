//! The combinations of a join that wait in files, since the rows of a hash step have no room ([`spill::join`](super::spill::join)).
//!
//! The join runs once with the steps as they are; combinations that come to such a step are put off, and the steps behind it see nothing of them.
//! Then each pair of parts is joined: the rows of one are kept, the combinations of the other are put back one by one, and the join goes on from the step
//! as if they had just come there. So what follows (outer joins, semi-joins, conditions, other steps, which may put off as well) is done by the one
//! machine.

use std::sync::Arc;

use engine::Table;
use types::SqlError;

use super::keep::{Kept, Refill};
use super::spill::Host;
use super::spill::file::Reader;
use super::spill::join::{Built, Grace, Pair};
use super::spill::partition::Parts;
use super::spill::room::Room;
use sql_expr::EvalCtx;

/// Rows that are kept at least, however little room there is.
const LEAST: usize = 32;

/// What waits.
pub(crate) struct Later {
    /// The step at which the combinations come now; 0 before any has been put back.
    base: usize,
    /// Steps that combinations are still put off for, in order.
    collecting: Vec<(usize, Grace)>,
    /// Steps whose rows were in a file.
    spilled: Vec<usize>,
    /// Pairs of the step at hand that are left.
    pairs: Vec<Pair>,
    room: Option<Room>,
    now: Option<Now>,
}

/// The pair that is being joined.
struct Now {
    pair: Pair,
    reader: Reader,
    /// The number of the combination at hand.
    at: usize,
    pieces: Option<Pieces>,
}

/// Where the rows of the build side come a piece at a time.
struct Pieces {
    rest: Reader,
    /// This is the last piece.
    last: bool,
    /// For each combination, whether it had a match in an earlier piece.
    found: Vec<u64>,
    /// One match is all that is wanted.
    once: bool,
}

/// How the nests that begin with a step go with its rows coming in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nests {
    /// There is none, or an outer join.
    All,
    /// A semi-join or an anti-join.
    Once,
    /// Several: they share what is known of matches.
    Several,
}

impl Later {
    /// The rows of a step are in a file.
    pub fn add(later: &mut Option<Box<Later>>, step: usize, built: Built, room: Room) {
        let later = later.get_or_insert_with(|| {
            Box::new(Later {
                base: 0,
                collecting: Vec::new(),
                spilled: Vec::new(),
                pairs: Vec::new(),
                room: None,
                now: None,
            })
        });
        let at = later.collecting.partition_point(|(s, _)| *s < step);
        later.collecting.insert(at, (step, Grace::new(built, room)));
        later.spilled.push(step);
    }

    /// The step at which the combinations come.
    #[inline]
    pub fn base(&self) -> usize {
        self.base
    }

    /// Where combinations are put off for a step, and the steps whose rows will have gone when they come back.
    pub fn collecting(&mut self, step: usize) -> Option<(&mut Grace, &[usize])> {
        let (_, grace) = self.collecting.iter_mut().find(|(s, _)| *s == step)?;
        Some((grace, &self.spilled))
    }

    fn pieces(&mut self, step: usize) -> Option<(&mut Pieces, usize)> {
        let base = self.base;
        let now = self.now.as_mut().filter(|_| step == base)?;
        Some((now.pieces.as_mut()?, now.at))
    }

    /// What is known of the combination that enters a step: it had a match, and nothing more is wanted.
    pub fn before(&mut self, step: usize) -> (bool, bool) {
        match self.pieces(step) {
            Some((p, at)) => {
                let found = p
                    .found
                    .get(at / 64)
                    .is_some_and(|w| w >> (at % 64) & 1 == 1);
                (found, found && p.once)
            }
            None => (false, false),
        }
    }

    /// A step has no more rows for the combination before it, which had a match or not; `false` where there are more pieces.
    #[inline]
    pub fn is_over(&mut self, step: usize, found: bool) -> bool {
        let Some((p, at)) = self.pieces(step) else {
            return true;
        };
        if p.found.len() <= at / 64 {
            p.found.resize(at / 64 + 1, 0);
        }
        p.found[at / 64] |= u64::from(found) << (at % 64);
        p.last
    }

    /// Moves to the next combination of the pair at hand: its levels, written one behind the other. `None` where there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn next(&mut self) -> Result<Option<&[u8]>, SqlError> {
        let Some(now) = &mut self.now else {
            return Ok(None);
        };
        if !now.pair.probe.0.advance(&mut now.reader).await? {
            return Ok(None);
        }
        now.at = now.at.wrapping_add(1);
        Ok(Some(now.reader.row()))
    }

    /// The rows for the combinations that come next; `None` where none wait. The rows before must have gone.
    ///
    /// # Errors
    /// The files; the session may hold no more; the statement is to end.
    pub async fn rows(
        &mut self,
        table: impl Fn(usize) -> Option<Arc<Table>>,
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

    fn parts_of(
        &self,
        table: &impl Fn(usize) -> Option<Arc<Table>>,
    ) -> Result<(Arc<Table>, Room), SqlError> {
        let room = self.room.clone();
        table(self.base)
            .zip(room)
            .ok_or_else(|| SqlError::internal("no table to join"))
    }

    /// Begins with a pair; `None` where it was cut.
    async fn begin(
        &mut self,
        pair: Pair,
        table: &impl Fn(usize) -> Option<Arc<Table>>,
        nests: &impl Fn(usize) -> Nests,
        cx: &EvalCtx<'_>,
        host: &mut impl Host,
    ) -> Result<Option<Kept>, SqlError> {
        let (table, mut room) = self.parts_of(table)?;
        let mut rows = Refill::new(&table, cx);
        let mut build = Reader::new(pair.build.1.section.clone());
        let nests = nests(self.base);
        let mut pieces = None;
        while pair.build.0.advance(&mut build).await? {
            rows.push(build.key(), build.row(), cx)?;
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
        table: &impl Fn(usize) -> Option<Arc<Table>>,
        cx: &EvalCtx<'_>,
        host: &mut impl Host,
    ) -> Result<(Kept, bool), SqlError> {
        let (table, mut room) = self.parts_of(table)?;
        let mut rows = Refill::new(&table, cx);
        while file.advance(rest).await? {
            rows.push(rest.key(), rest.row(), cx)?;
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
