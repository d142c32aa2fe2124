//! A follower: reads the log forward and gives the groups of committed transactions, and those of branches' parts, in the order of the records
//! that end them.
//!
//! It shows what is durable, and waits for the syncs that others ask for. Of a group that its transaction has not ended yet it keeps the bytes
//! while there are few, and else where they stand in the log: what it takes of memory has a bound, whatever groups there are.
//!
//! What it never does: look at pages, at other kinds of records, or into groups.

use crate::engine::Engine;
use crate::error;
use crate::events::GroupEnd;
use crate::events::intake::Intake;
use crate::events::piece::{self, Pieces};
use crate::xa;
use base::Lsn;
use pager::{LogFollower, OpError, Record, RecordKind};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use types::SqlError;

/// Bytes of a group that are kept, at most; a longer one's are read again.
const GROUP_HELD_MAX: usize = 512 << 10;
/// Bytes of all groups that are kept, at most.
const HELD_MAX: usize = 16 << 20;

/// From where groups are followed: what a reader has to remember of the last one that it is done with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupPosition {
    /// Where reading begins: the oldest record of any group that was open.
    pub from: Lsn,
    /// Groups whose commit record is here or before were given.
    pub after: Lsn,
}

impl GroupPosition {
    /// At a position of the log at which no group is open.
    pub fn at(lsn: Lsn) -> GroupPosition {
        GroupPosition {
            from: lsn,
            after: Lsn(lsn.0.saturating_sub(1)),
        }
    }
}

/// What a committed transaction left.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its commit record, or that of a branch's part.
    pub commit: Lsn,
    /// Where that ends.
    pub end: Lsn,
    /// The transaction's number.
    pub txid: u64,
    /// From where a follower goes on behind it.
    pub resume: GroupPosition,
    pieces: Pieces,
}

impl Group {
    /// Bytes that it has.
    #[allow(clippy::len_without_is_empty)] // None is empty.
    pub fn len(&self) -> u64 {
        self.pieces.len()
    }

    /// Its bytes, in parts.
    pub fn reader(self, engine: &Arc<Engine>) -> GroupReader {
        GroupReader {
            engine: engine.clone(),
            pieces: self.pieces.pieces.into_iter(),
            record: Vec::new(),
        }
    }
}

/// Reads the bytes of a [`Group`].
pub struct GroupReader {
    engine: Arc<Engine>,
    pieces: std::vec::IntoIter<piece::Piece>,
    record: Vec<u8>,
}

impl GroupReader {
    /// The next part, of at most some 100 KiB; `None` at the end.
    ///
    /// # Errors
    /// 1030: the log cannot be read, or is damaged.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, SqlError> {
        let Some(piece) = self.pieces.next() else {
            return Ok(None);
        };
        let len = piece.len as usize;
        if let Some(mut bytes) = piece.bytes {
            bytes.truncate(len);
            return Ok(Some(bytes));
        }
        let damaged = || error::storage(OpError::LogDamaged(piece.at), "the log");
        self.read(piece.at).await?;
        let r = Record::parse(&self.record).ok_or_else(damaged)?;
        let (_, bytes) = piece::parse(r.undo()).ok_or_else(damaged)?;
        let bytes = bytes.get(..len).ok_or_else(damaged)?;
        Ok(Some(bytes.to_vec()))
    }

    /// All of it.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn read_all(mut self) -> Result<Vec<u8>, SqlError> {
        let mut all = Vec::new();
        while let Some(part) = self.next().await? {
            all.extend_from_slice(&part);
        }
        Ok(all)
    }

    async fn read(&mut self, at: Lsn) -> Result<(), SqlError> {
        loop {
            match self.engine.log.read_record(at, &mut self.record) {
                Ok(()) => return Ok(()),
                Err(OpError::Wait(w)) => {
                    let read = self.engine.pager.resolve(w).await;
                    read.map_err(|e| error::storage(e, "the log"))?;
                }
                Err(e) => return Err(error::storage(e, "the log")),
            }
        }
    }
}

/// See the module.
pub struct Follower {
    log: LogFollower,
    /// Groups whose commit record is here or before are not given.
    after: Lsn,
    /// Groups of transactions that have not ended, by their numbers.
    open: HashMap<u64, Pieces>,
    /// The first records of those.
    firsts: BTreeSet<Lsn>,
    /// Bytes that are kept of them.
    held: usize,
    /// Records were passed that end no group since it waited last.
    passed: bool,
    /// What the engine's start has found, until reading is past it.
    start: Option<(Lsn, HashSet<u64>)>,
}

impl Engine {
    /// What ends groups from now on. The first that comes stays.
    pub fn end_groups_with(&self, end: Arc<dyn GroupEnd>) {
        self.events.set_end(end);
    }

    /// Follows the log for groups.
    pub fn follow(&self, position: GroupPosition) -> Follower {
        Follower {
            log: self.pager.follow_log(position.from),
            after: position.after,
            open: HashMap::new(),
            firsts: BTreeSet::new(),
            held: 0,
            passed: false,
            start: Some(self.events.start()),
        }
    }

    /// The position behind all that is committed by now, for a follower that begins. A transaction that is open has its changes logged
    /// in part before it: what it had written to the log of a group of its own is missed, and it is to be seen to that there is none.
    pub fn end_of_groups(&self) -> GroupPosition {
        GroupPosition::at(self.complete())
    }

    /// Groups up to there were there at the start.
    pub fn had_groups_until(&self, end: Lsn) {
        self.events.set_committed(end);
    }

    /// Behind the last group that was committed; none: there was none since the start, and nobody has said that there were some before.
    pub fn groups_committed(&self) -> Lsn {
        self.events.committed()
    }

    /// Waits until all groups that were committed by now are durable, whatever their commits have waited for; gives the position behind them.
    ///
    /// # Errors
    /// 1030: the log has failed or was closed.
    pub async fn groups_durable(&self) -> Result<Lsn, SqlError> {
        let lsn = self.events.committed();
        self.log_durable(lsn).await?;
        Ok(lsn)
    }

    /// Has the log made durable up to `lsn`, and waits for it: a follower that is to come so far would else wait for a sync that others ask
    /// for, and on a server that rests nobody does.
    ///
    /// # Errors
    /// 1030: the log has failed or was closed.
    pub async fn log_durable(&self, lsn: Lsn) -> Result<(), SqlError> {
        let durable = self.log.wait_durable(lsn).await;
        durable.map_err(|e| error::storage(e, "the log"))
    }

    /// The oldest position from which the log is there: where a follower can begin that has lost its place.
    pub fn oldest_log(&self) -> Lsn {
        self.pager.oldest_kept()
    }

    /// Keeps the log from `from` on for its readers, in place of what was kept for them; [`Lsn::MAX`]: nothing.
    pub fn keep_log_from(&self, from: Lsn) {
        let before = self.events.keep(from);
        self.log.needs_less(before);
    }

    /// Whether what transactions leave is taken; what is `said` of that goes to the listener of [`Engine::on_notice`].
    pub fn set_intake(&self, intake: Intake, said: Option<&str>) {
        self.events.intake.set(intake);
        if let Some(said) = said {
            self.notices.tell(said);
        }
    }

    /// Those who wait until what transactions leave is taken look whether they still do.
    pub fn ask_who_waits_for_intake(&self) {
        if !base::mutant!("replica-stop-waits-for-room") {
            self.events.intake.changed.fire();
        }
    }

    /// From where the log is kept for its readers; `None`: it is not.
    pub fn log_kept_from(&self) -> Option<Lsn> {
        let kept = self.events.kept();
        (kept != Lsn::MAX).then_some(kept)
    }
}

impl Follower {
    /// The next group; waits until there is one that is durable. `None`: the engine was closed in good order, and there is none.
    /// Whoever stops waiting loses nothing. Where [`position`](Self::position) has moved without a group, and there is nothing more, it wakes its task
    /// once: somebody may wait for that position, and nothing else may come.
    ///
    /// # Errors
    /// 1030: the log cannot be read, or is damaged; a group that is asked for began before the position that this follower was given.
    pub async fn next(&mut self) -> Result<Option<Group>, SqlError> {
        loop {
            let next = self.next_record().await;
            let next = next.map_err(|e| error::storage(e, "the log"))?;
            let Some((at, end)) = next else {
                return Ok(None);
            };
            self.pass_start(at);
            let Some(r) = self.log.record() else {
                return Err(error::storage(OpError::LogDamaged(at), "the log"));
            };
            let h = *r.header();
            match h.kind {
                RecordKind::Event => {
                    let Some((offset, bytes)) = piece::parse(r.undo()) else {
                        return Err(error::storage(OpError::LogDamaged(at), "the log"));
                    };
                    let group = self.open.entry(h.txid.0).or_insert_with(|| {
                        self.firsts.insert(at);
                        Pieces::new(at)
                    });
                    self.held -= group.held();
                    group.add(at, offset, bytes);
                    if group.held() > GROUP_HELD_MAX || group.held() + self.held > HELD_MAX {
                        group.let_go();
                    }
                    self.held += group.held();
                }
                RecordKind::Commit | RecordKind::Note
                    if h.kind == RecordKind::Commit || xa::ends_group(r.undo()) =>
                {
                    let Some(pieces) = self.close(h.txid.0) else {
                        continue;
                    };
                    if at <= self.after {
                        continue;
                    }
                    if pieces.torn {
                        let why = format!(
                            "the events of transaction {} begin before {}, where reading began",
                            h.txid.0, pieces.first.0
                        );
                        return Err(SqlError::internal(&why));
                    }
                    if pieces.len() == 0 {
                        continue;
                    }
                    return Ok(Some(self.give(at, end, h.txid.0, pieces)));
                }
                RecordKind::Abort => {
                    let pieces = self.close(h.txid.0);
                    if base::mutant!("group-of-a-rolled-back-transaction-given")
                        && let Some(pieces) = pieces.filter(|p| p.len() > 0)
                    {
                        return Ok(Some(self.give(at, end, h.txid.0, pieces)));
                    }
                }
                _ => {}
            }
        }
    }

    async fn next_record(&mut self) -> Result<Option<(Lsn, Lsn)>, OpError> {
        let mut next = pin!(self.log.next());
        let passed = &mut self.passed;
        let next = poll_fn(|cx| {
            let polled = next.as_mut().poll(cx);
            // Told once, also where whoever is told stops waiting.
            let tells = polled.is_pending() && std::mem::take(passed);
            if tells && !base::mutant!("place-reached-without-a-word") {
                cx.waker().wake_by_ref();
            }
            polled
        })
        .await;
        self.passed = true;
        next
    }

    /// Where it reads next: all groups whose commit record is before were given.
    pub fn position(&self) -> Lsn {
        self.log.position()
    }

    /// From where a follower goes on that is to give all that this one has not.
    pub fn resume(&self) -> GroupPosition {
        let at = self.log.position();
        GroupPosition {
            from: self.firsts.first().map_or(at, |o| (*o).min(at)),
            after: self.after,
        }
    }

    fn give(&mut self, commit: Lsn, end: Lsn, txid: u64, pieces: Pieces) -> Group {
        self.after = commit;
        let oldest = self.firsts.first().copied();
        let from = oldest.map_or(end, |o| match base::mutant!("followed-from-too-late") {
            true => end,
            false => o.min(end),
        });
        let resume = GroupPosition {
            from,
            after: commit,
        };
        Group {
            commit,
            end,
            txid,
            resume,
            pieces,
        }
    }

    /// The transaction has ended.
    fn close(&mut self, txid: u64) -> Option<Pieces> {
        let pieces = self.open.remove(&txid)?;
        self.firsts.remove(&pieces.first);
        self.held -= pieces.held();
        Some(pieces)
    }

    /// Where the engine was started, transactions may have been open of which nothing but events was left: nobody rolls those back.
    fn pass_start(&mut self, at: Lsn) {
        let Some((_, left)) = self.start.take_if(|(start, _)| at >= *start) else {
            return;
        };
        let ids: Vec<u64> = self.open.keys().copied().collect();
        for txid in ids.into_iter().filter(|t| !left.contains(t)) {
            self.close(txid);
        }
    }
}
