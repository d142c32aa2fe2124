//! The combinations of a join that wait in files, since the rows of a hash step have no room ([`spill::join`](crate::spill::join)).
//!
//! The join runs once with the steps as they are; combinations that come to such a step are put off, and the steps behind it see nothing of them.
//! Then each pair of parts is joined: the rows of one are kept, the combinations of the other are put back one by one, and the join goes on from the step
//! as if they had just come there. So what follows (outer joins, semi-joins, conditions, other steps, which may put off as well) is done by the one
//! machine.

use types::SqlError;

use crate::spill::file::Reader;
use crate::spill::join::{Built, Grace, Pair};
use crate::spill::record::Members;
use crate::spill::room::Room;

/// What waits.
pub(crate) struct Later {
    /// The step at which the combinations come now; 0 before any has been put back.
    pub(super) base: usize,
    /// Steps that combinations are still put off for, in order.
    pub(super) collecting: Vec<(usize, Grace)>,
    /// Steps whose rows were in a file.
    spilled: Vec<usize>,
    /// Pairs of the step at hand that are left.
    pub(super) pairs: Vec<Pair>,
    pub(super) room: Option<Room>,
    pub(super) now: Option<Now>,
}

/// The pair that is being joined.
pub(super) struct Now {
    pub(super) pair: Pair,
    pub(super) reader: Reader,
    /// The number of the combination at hand.
    pub(super) at: usize,
    pub(super) pieces: Option<Pieces>,
}

/// Where the rows of the build side come a piece at a time.
pub(super) struct Pieces {
    pub(super) rest: Reader,
    /// This is the last piece.
    pub(super) last: bool,
    /// For each combination, whether it had a match in an earlier piece.
    pub(super) found: Vec<u64>,
    /// One match is all that is wanted.
    pub(super) once: bool,
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
    pub async fn next(&mut self) -> Result<Option<(&[u8], &Members)>, SqlError> {
        let Some(now) = &mut self.now else {
            return Ok(None);
        };
        if !now.pair.probe.0.advance(&mut now.reader).await? {
            return Ok(None);
        }
        now.at = now.at.wrapping_add(1);
        Ok(Some((now.reader.row(), &now.pair.probe.0.members)))
    }
}
