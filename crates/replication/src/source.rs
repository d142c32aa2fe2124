//! Where groups come from: a reader of the durable log, in the order of the commit records.

use base::Lsn;
use engine::{Engine, Follower, GroupPosition, GroupReader, Intake};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use types::SqlError;

/// A group with more bytes is read in parts, and not held as a whole.
const WHOLE_MAX: u64 = 16 << 20;

/// What one transaction left.
#[derive(Clone)]
pub struct Group {
    /// Its commit record.
    pub commit: Lsn,
    /// The transaction's number.
    pub txid: u64,
    /// From where the log is to be read for all that comes behind it.
    pub resume: Lsn,
    /// The items.
    pub items: Items,
}

/// The items of a group.
#[derive(Clone)]
pub enum Items {
    /// All their bytes.
    Whole(Vec<u8>),
    /// Too many to be held: they are read anew each time.
    InParts(Arc<dyn ReadParts>),
}

/// Reads a group in parts, as often as somebody asks.
pub trait ReadParts: Send + Sync {
    /// From the first on.
    fn read(&self) -> Box<dyn PartReader>;
}

/// The next part; `None`: there is none.
pub type NextPart<'a> = Pin<Box<dyn Future<Output = Result<Option<Vec<u8>>, String>> + Send + 'a>>;

/// Reads parts one behind the other.
pub trait PartReader: Send {
    /// The next one.
    fn next(&mut self) -> NextPart<'_>;
}

/// What a source says when it is asked for the next group.
pub type Next<'a> = Pin<Box<dyn Future<Output = Result<Option<Group>, String>> + Send + 'a>>;

/// Groups in the order of their commits. Only what is durable is given.
pub trait GroupSource: Send {
    /// The next one, once there is one; `None`: there will be none, as the log was closed in good order. Whoever stops waiting loses nothing.
    fn next(&mut self) -> Next<'_>;
    /// All groups whose commit record is before this have been given.
    fn position(&self) -> Lsn;
    /// From where the log is to be read for all that was not given.
    fn resume(&self) -> Lsn;
    /// The log is needed from here on only.
    fn keep_from(&self, lsn: Lsn);
    /// Whether groups are taken; what is `said` of that is for people.
    fn set_intake(&self, intake: Intake, said: Option<&str>);
}

/// Groups out of an engine's log.
pub struct EngineSource {
    engine: Arc<Engine>,
    follower: Follower,
    /// A group that is not given yet, as its bytes are being read, and from where the log is needed as long as it is not.
    reading: Option<Reading>,
    /// Bytes of a group that is held as a whole, at most.
    whole_max: u64,
}

/// A group that stays in the log.
struct InLog {
    engine: Arc<Engine>,
    group: engine::Group,
}

impl ReadParts for InLog {
    fn read(&self) -> Box<dyn PartReader> {
        Box::new(LogParts(self.group.clone().reader(&self.engine)))
    }
}

struct LogParts(GroupReader);

impl PartReader for LogParts {
    fn next(&mut self) -> NextPart<'_> {
        Box::pin(async { self.0.next().await.map_err(|e| e.to_string()) })
    }
}

/// Reads all bytes of a group.
type ReadAll = Pin<Box<dyn Future<Output = Result<Vec<u8>, SqlError>> + Send>>;

/// A group that was found and is not given yet.
struct Reading {
    group: Group,
    from: Lsn,
    /// `None`: it has its items.
    bytes: Option<ReadAll>,
}

impl EngineSource {
    /// Reads the log from `resume` on, without groups that were committed at `done` or before.
    pub fn new(engine: &Arc<Engine>, resume: Lsn, done: Lsn) -> EngineSource {
        let position = GroupPosition {
            from: resume,
            after: done,
        };
        EngineSource {
            engine: engine.clone(),
            follower: engine.follow(position),
            reading: None,
            whole_max: WHOLE_MAX,
        }
    }

    /// Holds groups of so many bytes as a whole, at most: for tests, which need not make large ones.
    #[must_use]
    pub fn holding(self, whole_max: u64) -> EngineSource {
        EngineSource { whole_max, ..self }
    }

    async fn read(&mut self) -> Result<Option<Group>, SqlError> {
        loop {
            if let Some(r) = &mut self.reading {
                // A definition's record is durable before sessions see the definition. Who waits for the transaction's name, and then looks, has to.
                self.engine.definitions_seen(r.group.commit).await;
                if let Some(bytes) = &mut r.bytes {
                    r.group.items = Items::Whole(bytes.as_mut().await?);
                }
                return Ok(self.reading.take().map(|r| r.group));
            }
            let from = self.follower.resume().from;
            let Some(g) = self.follower.next().await? else {
                return Ok(None);
            };
            let mut group = Group {
                commit: g.commit,
                txid: g.txid,
                resume: g.resume.from,
                items: Items::Whole(Vec::new()),
            };
            if g.len() > self.whole_max {
                let engine = self.engine.clone();
                group.items = Items::InParts(Arc::new(InLog { engine, group: g }));
                let bytes = None;
                self.reading = Some(Reading { group, from, bytes });
                continue;
            }
            let bytes = Box::pin(g.reader(&self.engine).read_all());
            self.reading = Some(Reading {
                group,
                from,
                bytes: Some(bytes),
            });
        }
    }
}

impl GroupSource for EngineSource {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async { self.read().await.map_err(|e| e.to_string()) })
    }

    fn position(&self) -> Lsn {
        match &self.reading {
            Some(r) => r.group.commit,
            None => self.follower.position(),
        }
    }

    fn resume(&self) -> Lsn {
        match &self.reading {
            Some(r) => r.from,
            None => self.follower.resume().from,
        }
    }

    fn keep_from(&self, lsn: Lsn) {
        self.engine.keep_log_from(lsn);
    }

    fn set_intake(&self, intake: Intake, said: Option<&str>) {
        self.engine.set_intake(intake, said);
    }
}
