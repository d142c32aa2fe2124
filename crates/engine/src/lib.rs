//! Transactions over B+trees: rows and their versions, locks, tables and indexes, the catalog, purge and recovery.
//!
//! The core is synchronous: operations run under short latches and answer what they lack. [`Session`] is the waiting shell
//! around it. This crate knows rows, not SQL: it never parses, plans, or evaluates an expression, and it knows nothing of
//! sockets or runtimes.

#![warn(clippy::disallowed_types, clippy::missing_errors_doc)]
// Every wait is for an event (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod analysis;
pub mod backup;
mod check;
mod counters;
mod ddl;
mod defragment;
mod engine;
mod error;
mod events;
mod fence;
mod flushing;
mod follower;
mod interrupt;
pub mod lock;
mod long_waits;
mod losers;
mod mvcc;
mod notices;
mod open;
mod progress;
mod purge_queue;
mod purge_worker;
pub mod record;
mod sampling;
mod sampling_queue;
pub mod schema;
mod session;
mod standing;
mod stats;
mod table_lock;
mod temp;
pub mod txn;
mod undo_reservation;
mod unnamed;
mod worn_tables;
mod xa;

pub use ddl::{Existing, Keys, Reshape, Rewrite, Sound, UNFINISHED};
pub use engine::{Engine, EngineCounters, EngineOptions};
pub use events::intake::Intake;
pub use events::{BranchPart, GroupEnd, GroupPack};
pub use fence::{Draining, Fence, Rank};
pub use follower::{Follower, Group, GroupPosition, GroupReader};
pub use interrupt::{Deadline, Interrupt};
pub use notices::NoticeListener;
pub use open::OpenReport;
pub use pager::compressed::CompressionCounts;
pub use pager::{FlushMethod, OpenError, PagerOptions};
pub use record::{RowRef, RowVersion};
pub use schema::{
    Catalog, CheckDef, ColumnDef, ColumnDefault, Cover, ForeignKeyDef, GeneratedDef, IndexDef,
    IndexKind, IndexOptions, IndexPart, ObjectDef, ObjectKind, ReferenceAction, Schema, SchemaDef,
    Table, TableDef, TableOptions, TableSizes, column_key, filled_up, generated_number,
};
pub use session::{
    ChangedRow, CommitOrder, Committing, Inserted, Isolation, KeyBound, LockWait, Mark, ReadMode,
    RowBatch, RowRequest, Scan, ScanSpec, Session, Updated, Written,
};
pub use standing::Standing;
pub use stats::{ColumnStats, Histogram, IndexStats, TableStats};
pub use table_lock::{TableLockKind, TableLockMode, TablesInUse};
pub use temp::{TempFile, TempFiles, TempShare, TempSpace};
pub use worn_tables::{DefragmentOptions, IndexSpace};
pub use xa::{
    BRANCHES_MAX, BRANCHES_OF_ONE, BranchEnd, BranchOwner, ClaimRefused, PreparedFact,
    XID_PART_MAX, Xid, XidClaim,
};
