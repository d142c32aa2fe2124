//! Pages, the log and what joins them: tablespace files, buffer pool, mini-transactions, the page cleaner, checkpoints,
//! torn-page protection and redo.
//!
//! This crate never knows what a key, a row or a transaction is: records carry a transaction id and an opaque part for the
//! layers above, page operations are carried out by functions those layers register. Nothing here sleeps; operations that
//! lack something return [`Wait`] having changed nothing.

#![warn(clippy::disallowed_types, clippy::missing_errors_doc)]
// Every wait is for an event (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod alloc;
pub mod backup;
mod checkpoint;
mod cleaner;
pub mod compressed;
mod control;
mod cut;
mod doublewrite;
mod error;
mod files;
mod foreign;
mod holds;
mod lifecycle;
pub mod log;
mod long_waits;
mod mtr;
mod options;
pub mod page;
mod pager;
pub mod pool;
mod recover;
mod redo;
mod replay;
mod report;
mod shortages;
pub mod space;
mod tablespaces;

pub use checkpoint::{CheckpointSource, FULL_DISK_RETRY_US};
pub use control::FORMAT;
pub use cut::{Cut, CutEnd, SpaceUse};
pub use error::{ForeignError, OpError, Purpose, Wait};
pub use foreign::ForeignSpace;
pub use log::{Log, LogFollower, Observer, Record, RecordHeader, RecordKind};
pub use mtr::{Committed, Mtr, PageIx};
pub use options::{FlushMethod, PagerOptions};
pub use page::{PAGE_HEADER, PAGE_SIZE, Page, PageKind};
pub use pager::{Pager, SPACE_EXTENSION};
pub use pool::{ExclusiveGuard, Pin, Pins, Pool, SharedGuard};
pub use recover::open;
pub use redo::{RedoFn, RedoTable};
pub use report::{OpenError, Report};
pub use shortages::ShortageListener;
pub use space::{FileQuota, Space};
