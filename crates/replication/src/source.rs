//! Where groups come from: a reader of the durable log, in the order of the commit records.

use base::Lsn;
use engine::{Engine, Follower, GroupPosition};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use types::SqlError;

/// What one transaction left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its commit record.
    pub commit: Lsn,
    /// The transaction's number.
    pub txid: u64,
    /// From where the log is to be read for all that comes behind it.
    pub resume: Lsn,
    /// The items.
    pub bytes: Vec<u8>,
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
}

/// Groups out of an engine's log.
pub struct EngineSource {
    engine: Arc<Engine>,
    follower: Follower,
    /// A group whose bytes are being read, and from where the log is needed as long as they are not.
    reading: Option<Reading>,
}

struct Reading {
    group: Group,
    from: Lsn,
    bytes: Pin<Box<dyn Future<Output = Result<Vec<u8>, SqlError>> + Send>>,
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
        }
    }

    async fn read(&mut self) -> Result<Option<Group>, SqlError> {
        loop {
            if let Some(r) = &mut self.reading {
                let bytes = r.bytes.as_mut().await?;
                let read = self.reading.take();
                return Ok(read.map(|r| Group { bytes, ..r.group }));
            }
            let from = self.follower.resume().from;
            let Some(g) = self.follower.next().await? else {
                return Ok(None);
            };
            let group = Group {
                commit: g.commit,
                txid: g.txid,
                resume: g.resume.from,
                bytes: Vec::new(),
            };
            self.reading = Some(Reading {
                group,
                from,
                bytes: Box::pin(g.reader(&self.engine).read_all()),
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
}
