//! The binary log as statements see it. Who makes it implements this and is joined at the start; without one, statements answer as a server
//! whose binary log is off.
//!
//! Never here: files, events, dumps.

use std::future::Future;
use std::pin::Pin;

use base::Lsn;
use types::SqlError;
use types::gtid::{Gtid, GtidSet};

/// What is waited for.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = Result<T, SqlError>> + Send + 'a>>;

/// What is waited for and cannot fail.
pub type Acknowledged<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What a statement changes of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogChange {
    /// FLUSH BINARY LOGS.
    Rotate,
    /// PURGE BINARY LOGS TO.
    PurgeTo(String),
    /// PURGE BINARY LOGS BEFORE, in seconds since 1970.
    PurgeBefore(i64),
    /// RESET BINARY LOGS AND GTIDS [TO].
    Reset(u64),
    /// SET GLOBAL gtid_purged: these were done elsewhere.
    AddPurged(GtidSet),
}

/// What SHOW BINLOG EVENTS asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsAsked {
    /// Of this file; `None`: the first.
    pub file: Option<String>,
    /// From this position on.
    pub from: u64,
    /// Read up to here already: [`BinaryLog::events`] goes on there.
    pub read: Option<u64>,
    /// So many are left out.
    pub skip: u64,
    /// At most so many.
    pub most: u64,
}

/// A row of SHOW BINLOG EVENTS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The file.
    pub file: String,
    /// Where the event begins.
    pub position: u64,
    /// What it is.
    pub kind: &'static str,
    /// The server that wrote it first.
    pub server_id: u32,
    /// Behind it.
    pub end: u64,
    /// What it says.
    pub info: String,
}

/// What was written since the start of the transactions that are compressed, or of those that are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompressionRow {
    /// They are, by zstd.
    pub zstd: bool,
    /// So many.
    pub transactions: u64,
    /// Bytes that were written of their events.
    pub compressed: u64,
    /// Bytes that these are before they are compressed.
    pub uncompressed: u64,
    /// The first and the last of them.
    pub ends: [WrittenTransaction; 2],
}

/// A transaction that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenTransaction {
    /// What it is called.
    pub name: String,
    /// Bytes that were written of its events.
    pub compressed: u64,
    /// Bytes that these are before they are compressed.
    pub uncompressed: u64,
    /// When it was committed, in microseconds since 1970.
    pub committed_micros: i64,
}

/// A replica that is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaRow {
    /// Its number.
    pub server_id: u32,
    /// Its host, as it says.
    pub host: String,
    /// Its port, as it says.
    pub port: u16,
    /// Its UUID.
    pub uuid: String,
}

/// What the binary log has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEnd {
    /// The commit record of the last transaction in it.
    pub last: Lsn,
    /// All transactions.
    pub executed: GtidSet,
    /// The file.
    pub file: String,
    /// And the position behind the last transaction.
    pub position: u64,
}

/// See the module.
pub trait BinaryLog: Send + Sync {
    /// The files in order with their sizes; the last is being written.
    fn files(&self) -> Vec<(String, u64)>;
    /// All transactions.
    fn executed(&self) -> GtidSet;
    /// Whether this one is among them.
    fn has_executed(&self, gtid: Gtid) -> bool;
    /// Those that are in no file any more.
    fn purged(&self) -> GtidSet;
    /// Whether something was committed that is not shown yet.
    fn is_behind(&self) -> bool;
    /// Waits until all is shown that was committed by now.
    fn wait_shown(&self) -> Waiting<'_, ()>;
    /// The same, but not for room where the files have none: for who wants to see what they have.
    fn wait_shown_unless_short(&self) -> Waiting<'_, ()>;
    /// From now on what transactions are called that carry the number that this gives is kept.
    fn ask_names(&self) -> u64;
    /// It is kept no more.
    fn forget_names(&self, number: u64);
    /// What those are called that are shown and carry the number, since this was asked last.
    fn take_names(&self, number: u64) -> GtidSet;
    /// Waits until these transactions were done.
    fn wait_for(&self, set: GtidSet) -> Waiting<'_, ()>;
    /// Changes the files.
    fn change(&self, change: LogChange) -> Waiting<'_, ()>;
    /// Some events of a file, and what is left to be asked for; `None`: there are no more. `may` is asked for each event that is read, with the bytes
    /// that are kept of it.
    ///
    /// # Errors
    /// 1220: there is no such file, no event begins there, or the file cannot be read; what `may` fails with.
    fn events(
        &self,
        asked: EventsAsked,
        may: &mut dyn FnMut(usize) -> Result<(), SqlError>,
    ) -> Result<(Vec<EventRow>, Option<EventsAsked>), SqlError>;
    /// Waits until all is shown that was committed before `lsn`, and says what all is then.
    fn end_behind(&self, lsn: Lsn) -> Waiting<'_, LogEnd>;
    /// Whether commits wait for replicas at all (`rpl_semi_sync_source_enabled`).
    fn asks_replicas(&self) -> bool;
    /// What a client's answer waits for, of whose commits the last one's group ends at `lsn`: that as many replicas have it as are
    /// wanted, or that nobody waits for that any more. `None`: nothing.
    fn acknowledged(&self, lsn: Lsn) -> Option<Acknowledged<'_>>;
    /// The databases of which changes are kept, and those of which none are, as they are shown.
    fn databases(&self) -> (String, String);
    /// What compressing transactions comes to.
    fn compression(&self) -> Vec<CompressionRow>;
    /// The replicas that are connected.
    fn replicas(&self) -> Vec<ReplicaRow>;
}
