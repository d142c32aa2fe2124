//! Taking a backup: whoever wants one asks for one chunk after the other, at his own pace.
//!
//! The log is copied as it comes, between pages, so that no more of it is kept than has not been asked for; who asks too slowly loses it
//! ([`crate::holds`]).

use super::check::LogCheck;
use super::chunk::{ChunkKind, encode};
use super::manifest::{Manifest, SinceToken, format_text, stretches};
use crate::compressed::{self, Shadow};
use crate::error::OpError;
use crate::holds::LogHold;
use crate::page::{self, PAGE_SIZE};
use crate::pager::Pager;
use crate::space::Space;
use base::environment::deadline;
use base::{AlignedBuf, IoBuf, Lsn, PageNo, SpaceId, le};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::sync::Arc;

/// Pages that are read at a time.
const RUN: u32 = 64;
/// Bytes of the log that are copied at a time.
const LOG_AT_ONCE: u64 = 1 << 20;
/// The log is copied when so many bytes of it have come.
const LOG_WAITING: u64 = 1 << 20;
/// No file beside the data is longer.
pub const EXTRA_MAX: usize = 1 << 20;

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Taking {
    /// What has changed since this one alone.
    pub since: Option<SinceToken>,
    /// Bytes a second that are read of tablespaces, at most; 0: as many as can be.
    pub throttle: u64,
    /// The program, for people.
    pub program: String,
}

/// A file beside the data that is taken along.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Extra {
    /// What SET PERSIST keeps.
    Persisted = 1,
}

impl Extra {
    pub(super) fn from_u8(n: u8) -> Option<Extra> {
        (n == Extra::Persisted as u8).then_some(Extra::Persisted)
    }

    /// Its name in the directory.
    pub fn name(self) -> &'static str {
        match self {
            Extra::Persisted => "mysqld-auto.cnf",
        }
    }
}

/// Why there is no backup.
#[derive(Debug)]
pub enum BackupError {
    /// The storage's.
    Op(OpError),
    /// The log that it needed is gone: it was read too slowly, or the disk was full.
    LogGone,
    /// The log does not read as one.
    LogDamaged(String),
    /// The base is another database's, or its log's positions are not this one's.
    OtherBase,
    /// The start is not over.
    NotYet,
    /// Nothing can be compressed.
    Io(io::Error),
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackupError::Op(e) => write!(f, "{e}"),
            BackupError::LogGone => f.write_str(
                "the log that it needed was given up: it was read too slowly, or the server's disk was full",
            ),
            BackupError::LogDamaged(why) => write!(f, "{why}"),
            BackupError::OtherBase => f.write_str("the earlier backup is not of this database"),
            BackupError::NotYet => f.write_str("the server's start is not over"),
            BackupError::Io(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for BackupError {}

impl From<OpError> for BackupError {
    fn from(e: OpError) -> BackupError {
        BackupError::Op(e)
    }
}

/// What it is at.
enum Phase {
    Begin,
    Pages,
    /// All pages were given: somebody has to say where it ends.
    Paged,
    Log,
    End,
    Over,
}

/// A backup that is being taken. Dropped before its end it is none, and leaves nothing.
pub struct Backup {
    pager: Arc<Pager>,
    hold: LogHold,
    taking: Taking,
    manifest: Manifest,
    phase: Phase,
    spaces: VecDeque<Arc<Space>>,
    /// The one being read, its next page, and whether it was named.
    current: Option<(Arc<Space>, u32)>,
    /// The log is copied up to here.
    log_at: Lsn,
    check: LogCheck,
    number: u64,
    /// When the next page may be read.
    not_before_us: u64,
    /// A position that the end must not lie before.
    least_end: Lsn,
    /// The newest change of a page that was given.
    newest: Lsn,
    /// Tablespaces that were dropped before.
    gone: BTreeSet<u32>,
}

impl Pager {
    /// Begins a backup.
    ///
    /// # Errors
    /// See [`BackupError`].
    pub async fn begin_backup(self: &Arc<Self>, taking: Taking) -> Result<Backup, BackupError> {
        // So that there is little log to copy.
        self.checkpointer.checkpoint(false).await?;
        let held = self.checkpointer.hold_log().await;
        let (hold, state) = held.ok_or(BackupError::NotYet)?;
        if let Some(since) = &taking.since
            && (since.log_id != state.db_id || since.redo > state.redo)
        {
            return Err(BackupError::OtherBase);
        }
        let lasting = |s: &Arc<Space>| !s.id().is_temporary();
        let spaces = (self.checkpointer.holds).look(&hold, || self.pool.spaces.all());
        let spaces: VecDeque<_> = spaces.into_iter().filter(lasting).collect();
        let manifest = Manifest {
            id: self.environment.random.next_u64() | 1,
            parent: taking.since.as_ref().map_or(0, |s| s.id),
            since: taking.since.as_ref().map_or(Lsn::NONE, |s| s.redo),
            program: taking.program.clone(),
            begun_us: self.environment.clock.wall_us(),
            log_id: state.db_id,
            segment_size: state.segment_size,
            redo: state.redo,
            checkpoint: state.checkpoint,
            needed: state.needed,
            jumps: state.jumps,
            ..Manifest::default()
        };
        let mut log_at = manifest.needed;
        if base::mutant!("backup-log-from-a-segment-too-late") {
            log_at = Lsn((log_at.0 / manifest.segment_size + 1) * manifest.segment_size);
        }
        Ok(Backup {
            pager: self.clone(),
            check: LogCheck::new(log_at, manifest.redo, &manifest.jumps),
            hold,
            taking,
            phase: Phase::Begin,
            spaces,
            current: None,
            log_at,
            number: 0,
            not_before_us: 0,
            least_end: match base::mutant!("backup-ends-where-it-began") {
                true => self.log.complete(),
                false => Lsn::NONE,
            },
            newest: Lsn::NONE,
            manifest,
            gone: BTreeSet::new(),
        })
    }
}

impl Backup {
    /// What is known of it so far.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The next chunk; `None`: all pages were given, and [`least_end`](Self::least_end) is known, or the last chunk was given.
    ///
    /// # Errors
    /// See [`BackupError`]; there is no backup then.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, BackupError> {
        if self.hold.is_lost() {
            return Err(BackupError::LogGone);
        }
        match self.phase {
            Phase::Begin => {
                self.phase = Phase::Pages;
                let text = self.manifest.encode();
                self.chunk(ChunkKind::Begin, text.as_bytes()).map(Some)
            }
            Phase::Pages => match self.next_pages().await? {
                Some(chunk) => Ok(Some(chunk)),
                None => {
                    self.phase = Phase::Paged;
                    // Before the end is known: what has dropped these lies before it.
                    let born = self.hold.born();
                    let ids = self.manifest.spaces.keys().copied();
                    let ids = ids.chain(born.iter().map(|b| b.id.0));
                    let dropped = |id: &u32| self.pager.space(SpaceId(*id)).is_err();
                    self.gone = ids.filter(dropped).collect();
                    if self.least_end.is_none() {
                        // A page that comes from memory may have a change in front of which others are still being written to the log: what is
                        // complete so far ends before it.
                        let log = &self.pager.log;
                        if !base::mutant!("backup-ends-before-its-pages") {
                            log.wait_complete(self.newest).await?;
                        }
                        self.least_end = log.complete();
                    }
                    Ok(None)
                }
            },
            Phase::Paged | Phase::Over => Ok(None),
            Phase::Log => {
                let log = self.next_log(self.manifest.end).await?;
                if log.is_none() {
                    self.phase = Phase::End;
                    let checked = self.check.finish(self.manifest.end);
                    checked.map_err(BackupError::LogDamaged)?;
                    return self.last().map(Some);
                }
                Ok(log)
            }
            Phase::End => self.last().map(Some),
        }
    }

    /// All pages were given: the backup may end here or behind.
    pub fn least_end(&self) -> Lsn {
        self.least_end
    }

    /// A file beside the data; before [`finish`](Self::finish).
    ///
    /// # Errors
    /// See [`BackupError`].
    pub fn file(&mut self, which: Extra, bytes: &[u8]) -> Result<Vec<u8>, BackupError> {
        if bytes.len() > EXTRA_MAX {
            let why = format!("{} is too long", which.name());
            return Err(BackupError::Io(io::Error::other(why)));
        }
        let mut content = vec![which as u8];
        content.extend_from_slice(bytes);
        self.chunk(ChunkKind::File, &content)
    }

    /// Has the backup end at `end`, which must be the end of a record, and is waited for: what follows is the rest of the log and the manifest.
    ///
    /// # Errors
    /// The log has failed.
    pub async fn finish(
        &mut self,
        end: Lsn,
        gtid_executed: Option<String>,
        binary_log: Option<(String, u64)>,
    ) -> Result<(), BackupError> {
        let end = end.max(self.least_end);
        self.pager.log.wait_durable(end).await?;
        self.manifest.end = end;
        self.manifest.gtid_executed = gtid_executed;
        self.manifest.binary_log = binary_log;
        self.phase = Phase::Log;
        Ok(())
    }

    fn last(&mut self) -> Result<Vec<u8>, BackupError> {
        self.phase = Phase::Over;
        let end = self.manifest.end;
        let born = self.hold.born().into_iter();
        let born = born.filter(|b| b.lsn <= end && !self.gone.contains(&b.id.0));
        self.manifest.born = born.map(|b| (b.id.0, b)).collect();
        self.manifest.spaces.retain(|id, _| !self.gone.contains(id));
        self.manifest.ended_us = self.pager.environment.clock.wall_us();
        self.manifest.chunks = self.number;
        let text = self.manifest.encode();
        self.chunk(ChunkKind::End, text.as_bytes())
    }

    fn chunk(&mut self, kind: ChunkKind, content: &[u8]) -> Result<Vec<u8>, BackupError> {
        let place = (self.manifest.id, self.number);
        let bytes = encode(kind, place, content).map_err(BackupError::Io)?;
        self.number += 1;
        Ok(bytes)
    }

    /// Pages, or the log that has come meanwhile.
    async fn next_pages(&mut self) -> Result<Option<Vec<u8>>, BackupError> {
        let mut reads = 0;
        loop {
            let durable = self.pager.log.durable();
            if durable.0.saturating_sub(self.log_at.0) >= LOG_WAITING
                && let Some(log) = self.next_log(durable).await?
            {
                return Ok(Some(log));
            }
            let Some((space, page)) = self.current.take() else {
                let Some(space) = self.spaces.pop_front() else {
                    return Ok(None);
                };
                let format = space.compressed_format();
                let id = space.id();
                self.manifest.spaces.insert(id.0, format);
                self.current = Some((space, 0));
                let mut content = id.0.to_le_bytes().to_vec();
                content.extend_from_slice(format_text(&format).as_bytes());
                return self.chunk(ChunkKind::Space, &content).map(Some);
            };
            let room = space.room();
            if page >= room || space.is_dropped() {
                if space.is_dropped() {
                    // The end will lie behind the commit that has dropped it.
                    self.manifest.spaces.remove(&space.id().0);
                }
                continue;
            }
            let pages = RUN.min(room - page);
            self.wait_turn(u64::from(pages)).await;
            let since = self.taking.since.as_ref();
            let since = since.map_or(Lsn::NONE, |s| s.of(space.id()));
            let read = read_pages(&self.pager, &space, page, pages, since).await;
            let found = match read {
                Err(OpError::Dropped(_)) => {
                    self.manifest.spaces.remove(&space.id().0);
                    continue;
                }
                Err(_) if space.is_dropped() => {
                    self.manifest.spaces.remove(&space.id().0);
                    continue;
                }
                r => r?,
            };
            self.current = Some((space, page + pages));
            reads += 1;
            if reads % 16 == 0 {
                // Nothing may have changed for long; others get their turn.
                base::environment::yield_now(&*self.pager.environment.spawn).await;
            }
            if found.is_empty() {
                continue;
            }
            self.manifest.pages += found.len() as u64;
            let newest = found.iter().map(|(_, bytes)| last_change(bytes)).max();
            self.newest = self.newest.max(newest.unwrap_or(Lsn::NONE));
            let mut content = Vec::with_capacity(4 + found.len() * (4 + PAGE_SIZE));
            content.extend_from_slice(&(found.len() as u32).to_le_bytes());
            for (no, _) in &found {
                content.extend_from_slice(&no.to_le_bytes());
            }
            for (_, bytes) in &found {
                content.extend_from_slice(bytes);
            }
            return self.chunk(ChunkKind::Pages, &content).map(Some);
        }
    }

    /// Keeps to the pace that was asked for.
    async fn wait_turn(&mut self, pages: u64) {
        if self.taking.throttle == 0 {
            return;
        }
        let clock = &self.pager.environment.clock;
        deadline(&**clock, self.not_before_us).await;
        let us = pages * PAGE_SIZE as u64 * 1_000_000 / self.taking.throttle;
        self.not_before_us = self.not_before_us.max(clock.now_us()) + us;
    }

    /// The log up to `to`, which is durable; `None`: it was given.
    async fn next_log(&mut self, to: Lsn) -> Result<Option<Vec<u8>>, BackupError> {
        let jumps = &self.manifest.jumps;
        let Some((from, until)) = stretches(jumps, self.log_at, to).into_iter().next() else {
            return Ok(None);
        };
        let mut bytes: Vec<u8> = Vec::new();
        while (bytes.len() as u64) < LOG_AT_ONCE && from.0 + (bytes.len() as u64) < until.0 {
            let at = Lsn(from.0 + bytes.len() as u64);
            let most = (until.0 - at.0).min(LOG_AT_ONCE);
            let (part, _) = self.pager.log.durable_bytes(at, most).await?;
            let part = &part[..part.len().min(most as usize)];
            if part.is_empty() {
                return Err(BackupError::Op(OpError::LogDamaged(at)));
            }
            bytes.extend_from_slice(part);
        }
        if self.hold.is_lost() {
            // Its files may have become others while they were read.
            return Err(BackupError::LogGone);
        }
        self.check
            .push(from, &bytes)
            .map_err(BackupError::LogDamaged)?;
        self.log_at = Lsn(from.0 + bytes.len() as u64);
        self.hold.move_to(self.log_at);
        let mut content = from.0.to_le_bytes().to_vec();
        content.extend_from_slice(&bytes);
        self.chunk(ChunkKind::Log, &content).map(Some)
    }
}

/// Where the last change of a page ends in the log.
fn last_change(page: &[u8]) -> Lsn {
    Lsn(le::get_u64(page, 16))
}

/// The pages of a stretch of a tablespace that were ever written and have a change behind `since`, sealed.
async fn read_pages(
    pager: &Arc<Pager>,
    space: &Arc<Space>,
    first: u32,
    pages: u32,
    since: Lsn,
) -> Result<Vec<(u32, AlignedBuf)>, OpError> {
    let mut found = Vec::new();
    let mut take = |no: u32, bytes: &[u8]| {
        if last_change(bytes) > since {
            found.push((no, AlignedBuf::copy_of(bytes)));
        }
    };
    let file = space.file();
    match space.shadow() {
        None => {
            let offset = u64::from(first) * PAGE_SIZE as u64;
            let room = IoBuf::owned(AlignedBuf::zeroed(pages as usize * PAGE_SIZE));
            let (read, r) = base::environment::read(&**file, room, offset).await;
            let got = r.map_err(OpError::io)?;
            for (no, bytes) in (first..).zip(read.bytes()[..got].chunks_exact(PAGE_SIZE)) {
                match page::check(bytes, space.id(), PageNo(no)) {
                    Ok(()) => take(no, bytes),
                    Err(page::NEVER_WRITTEN) => {}
                    Err(_) if base::mutant!("backup-takes-torn-pages") => take(no, bytes),
                    Err(_) => {
                        if let Some(bytes) = from_pool(pager, space, no).await? {
                            take(no, &bytes);
                        }
                    }
                }
            }
        }
        Some(shadow) => {
            for no in first..first + pages {
                if let Some(bytes) = compressed_page(pager, space, shadow, no).await? {
                    take(no, &bytes);
                }
            }
        }
    }
    Ok(found)
}

/// A page of a compressed tablespace, as it is in memory.
async fn compressed_page(
    pager: &Arc<Pager>,
    space: &Arc<Space>,
    shadow: &Shadow,
    no: u32,
) -> Result<Option<AlignedBuf>, OpError> {
    let Some(place) = shadow.place(PageNo(no)) else {
        // It was never written: all of it is in the log.
        return Ok(None);
    };
    let room = IoBuf::owned(AlignedBuf::zeroed(shadow.bytes(place)));
    let (read, r) =
        base::environment::read(&**space.file(), room, shadow.offset(place.start)).await;
    let got = r.map_err(OpError::io)?;
    let bytes = &read.bytes()[..got];
    let mut out = AlignedBuf::zeroed(PAGE_SIZE);
    let here = (space.id(), PageNo(no));
    let whole = match place.plain {
        true => bytes.get(..PAGE_SIZE).is_some_and(|b| {
            out.copy_from_slice(b);
            page::check(b, here.0, here.1).is_ok()
        }),
        false => {
            let by = (pager.pool.cells_of, shadow.dictionary());
            compressed::decompress(bytes, here, by, &mut out).is_ok()
        }
    };
    match whole {
        true => Ok(Some(out)),
        // Its place may be another page's by now.
        false => from_pool(pager, space, no).await,
    }
}

/// A page as the buffer pool has it, or reads it: nobody writes it meanwhile. `None`: it was never written.
async fn from_pool(
    pager: &Arc<Pager>,
    space: &Arc<Space>,
    no: u32,
) -> Result<Option<AlignedBuf>, OpError> {
    let copy = || {
        let page = pager.shared(space, PageNo(no))?;
        Ok(AlignedBuf::copy_of(&page.bytes()[..]))
    };
    match pager.run(copy).await {
        Ok(mut bytes) => {
            page::seal(&mut bytes);
            Ok(Some(bytes))
        }
        Err(OpError::Corrupt {
            why: page::NEVER_WRITTEN,
            ..
        }) => Ok(None),
        Err(e) => Err(e),
    }
}
