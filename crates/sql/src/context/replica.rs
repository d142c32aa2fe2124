//! What makes a server a replica of another, as statements know it: the trait that they ask, and the facts that they show. A server joins
//! an implementation to its `Instance`; without one the statements are refused.
//!
//! Never here: connections, events, threads.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use types::{SqlError, Warning};

pub use sql_exec::Applies;

use sql_parser::ast::{ChangeReplication, FilterKind, ReplicaControl, ReplicationFilter};

/// What a statement about a replica waits for: its warnings.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<Warning>, SqlError>> + Send + 'a>>;

/// Carries out the statements about a replica.
pub trait Replica: Send + Sync {
    /// CHANGE REPLICATION SOURCE TO.
    fn change_source<'a>(&'a self, change: &'a ChangeReplication) -> Answer<'a>;

    /// CHANGE REPLICATION FILTER; `channel` is the one that is named.
    fn change_filters<'a>(
        &'a self,
        filters: &'a [ReplicationFilter],
        channel: Option<&'a str>,
    ) -> Answer<'a>;

    /// The filters that a channel begins with.
    fn global_filters(&self) -> Vec<FilterFacts>;

    /// START REPLICA and STOP REPLICA: of the channel that is named, or of all.
    fn control<'a>(&'a self, control: &'a ReplicaControl) -> Answer<'a>;

    /// RESET REPLICA: the channel that is named, or each, forgets how far it has come, and with `all` also where its source is.
    fn reset<'a>(&'a self, all: bool, channel: Option<&'a str>) -> Answer<'a>;

    /// Waits until what has been applied by now is durable, and the facts say so: where nobody applies meanwhile, the rows that are there and the place that
    /// is shown belong together.
    fn settled<'a>(&'a self) -> Answer<'a>;

    /// RESET BINARY LOGS AND GTIDS: what has been applied is not known any more. Channels that are being applied go on as they are.
    fn forget_applied<'a>(&'a self) -> Answer<'a>;

    /// Whether there is a channel of this name. The one without a name is always there.
    fn has_channel(&self, name: &str) -> bool;

    /// What applies what comes over a channel: the one that is named, or the one that there is. `None`: there is no such channel.
    ///
    /// # Errors
    /// 3079: there are several, and none is named.
    fn applier(&self, channel: Option<&str>) -> Result<Option<Arc<dyn Applies>>, SqlError>;

    /// What there is to show of the channels that have a source, in the order of their names.
    fn channels(&self) -> Vec<ReplicaFacts>;

    /// The same of the channel without a name; `None` where it has no source.
    fn facts(&self) -> Option<ReplicaFacts> {
        self.channels().into_iter().find(|f| f.channel.is_empty())
    }
}

/// What went wrong last, and when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// MySQL's number; 0: nothing.
    pub number: u16,
    /// What it says.
    pub message: String,
    /// In microseconds since 1970.
    pub at_us: i64,
}

/// What the receiver is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Receiving {
    /// It does not run.
    #[default]
    No,
    /// It is about to connect, or waits before it tries again.
    Connecting,
    /// It is connected.
    Yes,
}

impl Receiving {
    /// The word that is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Receiving::No => "No",
            Receiving::Connecting => "Connecting",
            Receiving::Yes => "Yes",
        }
    }
}

/// Where the source is, and how it is reached.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceFacts {
    /// SOURCE_HOST.
    pub host: String,
    /// SOURCE_USER.
    pub user: String,
    /// SOURCE_PORT.
    pub port: u16,
    /// SOURCE_CONNECT_RETRY, in seconds.
    pub connect_retry: u32,
    /// SOURCE_RETRY_COUNT.
    pub retry_count: u64,
    /// SOURCE_HEARTBEAT_PERIOD, in seconds.
    pub heartbeat_period: f64,
    /// SOURCE_AUTO_POSITION.
    pub auto_position: bool,
    /// SOURCE_DELAY, in seconds.
    pub delay: u32,
    /// SOURCE_SSL.
    pub ssl: bool,
    /// SOURCE_SSL_CA.
    pub ssl_ca: String,
    /// SOURCE_SSL_CERT.
    pub ssl_cert: String,
    /// SOURCE_SSL_KEY.
    pub ssl_key: String,
    /// SOURCE_SSL_VERIFY_SERVER_CERT.
    pub ssl_verify_server_cert: bool,
    /// IGNORE_SERVER_IDS.
    pub ignored_server_ids: Vec<u32>,
    /// GET_SOURCE_PUBLIC_KEY.
    pub get_public_key: bool,
}

/// A place in the source's binary log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogPlace {
    /// The file; empty: the first there is.
    pub file: String,
    /// Where in it.
    pub position: u64,
}

impl LogPlace {
    /// Where it stands among the places of one binary log, whose files are numbered behind the last dot.
    pub fn order(&self) -> (u64, u64) {
        let number = self.file.rsplit('.').next().unwrap_or_default();
        (number.parse().unwrap_or(0), self.position)
    }

    /// Whether it is `other`, or behind it.
    pub fn reaches(&self, other: &LogPlace) -> bool {
        self.order() >= other.order()
    }

    /// Whether it is behind `other` in the same file.
    pub fn is_behind(&self, other: &LogPlace) -> bool {
        self.file == other.file && self.position > other.position
    }
}

/// A transaction of the source on its way: through the receiver, or through one who applies it. Times are in microseconds since 1970; 0: not known, or not yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransactionTimes {
    /// What it is called; empty: there is none.
    pub name: String,
    /// When it was committed where it comes from.
    pub original_us: i64,
    /// When it was committed at this server's source.
    pub immediate_us: i64,
    /// When it began to pass here.
    pub begun_us: i64,
    /// When it was through.
    pub ended_us: i64,
}

/// One of those who apply transactions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerFacts {
    /// Whether it runs.
    pub runs: bool,
    /// What went wrong.
    pub failure: Failure,
    /// The transaction that it has applied last.
    pub applied: TransactionTimes,
    /// The one that it applies.
    pub applying: TransactionTimes,
    /// Its number in the list of connections, while it runs.
    pub thread: Option<u64>,
}

/// A filter: what the applier leaves out, or does elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterFacts {
    /// Which.
    pub kind: FilterKind,
    /// Its values, as they are shown.
    pub rule: String,
    /// What has set it, in MySQL's words.
    pub configured_by: &'static str,
    /// Since when it holds, in microseconds since 1970.
    pub since_us: i64,
    /// How often it has decided since.
    pub used: u64,
}

/// What SHOW REPLICA STATUS and the tables of `performance_schema` show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplicaFacts {
    /// The channel's name.
    pub channel: String,
    /// Where the source is.
    pub source: SourceFacts,
    /// What the receiver does, in words.
    pub receiver_state: &'static str,
    /// Whether it runs.
    pub receiving: Receiving,
    /// Up to where events have come.
    pub received: LogPlace,
    /// Up to where they are applied.
    pub applied: LogPlace,
    /// What the applier does, in words.
    pub applier_state: &'static str,
    /// Whether it runs.
    pub applying: bool,
    /// Bytes that have come and are not applied.
    pub waiting_bytes: u64,
    /// Seconds between an event's time and now; `None` where that is not known.
    pub seconds_behind: Option<u64>,
    /// Seconds that the applier waits still, because of SOURCE_DELAY.
    pub remaining_delay: Option<u64>,
    /// The receiver's last failure.
    pub receiver_failure: Failure,
    /// The applier's.
    pub applier_failure: Failure,
    /// How many groups are to be left out.
    pub skip_counter: u64,
    /// UNTIL: `None`, `Source` or a set of GTIDs' condition, with its place.
    pub until: (&'static str, LogPlace),
    /// Filters that were set, in the order of their kinds.
    pub filters: Vec<FilterFacts>,
    /// The source's server_id; 0: not known.
    pub source_server_id: u32,
    /// The source's server_uuid.
    pub source_uuid: String,
    /// GTIDs that have come.
    pub retrieved_gtids: String,
    /// GTIDs that are applied.
    pub executed_gtids: String,
    /// Who applies transactions: one, or several for whom the applier reads what has come.
    pub workers: Vec<WorkerFacts>,
    /// The receiver's number in the list of connections, while it runs.
    pub receiver_thread: Option<u64>,
    /// That of the applier which hands transactions out.
    pub applier_thread: Option<u64>,
    /// There are several: the applier itself only hands transactions out.
    pub coordinated: bool,
    /// The transaction that has come last, as a whole.
    pub queued: TransactionTimes,
    /// The one that is coming.
    pub queueing: TransactionTimes,
    /// Transactions that were tried again, as others were in their way.
    pub retries: u64,
    /// Heartbeats that have come, and when the last did.
    pub heartbeats: (u64, i64),
}
