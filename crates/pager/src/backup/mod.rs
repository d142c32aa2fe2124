//! Backups: the pages of all tablespaces as they are found, and the log from before the first was read to behind the last, while all goes on.
//! Redo makes of both what was committed at the end.
//!
//! | module | what |
//! |---|---|
//! | [`taking`] | what is copied, in which order, and up to where |
//! | [`chunk`] | the stream of bytes that a backup is |
//! | [`manifest`] | what it says of itself |
//! | [`check`] | whether its log is whole, record by record |
//! | [`folder`] | a backup in a folder: the stream, and the manifest when it is whole |
//! | [`reading`] | what is in one, and whether it is whole |
//! | [`restore`] | a directory from it |
//!
//! Why it comes out right, whatever happens meanwhile:
//! - **A page that was read has all changes before the checkpoint at the beginning**, for that had synced them; the log has all that came later. A page
//!   is verified; one that was read while it was written is taken from the buffer pool.
//! - **A tablespace that was made meanwhile** is in the log as a whole, but for its first page: of that the backup is told ([`crate::holds`]).
//! - **One that was dropped meanwhile** is left out: the end lies behind the commit that dropped it.
//! - **The end** is a position behind everything that was complete when the last page had been read.
//!
//! Must never do: hold up a statement, the cleaner or a checkpoint; know keys, rows or transactions.

pub mod check;
pub mod chunk;
pub mod folder;
pub mod manifest;
pub mod reading;
pub mod restore;
pub mod taking;

pub use crate::holds::Born;
pub use chunk::{Chunk, ChunkKind, ChunkPlace, ChunkReader, Unusable};
pub use folder::{FolderReader, FolderWriter, manifest_in};
pub use manifest::{Manifest, SinceToken};
pub use reading::{Summary, Verifier, verify};
pub use restore::{Naming, RESTORED, Restore};
pub use taking::{Backup, BackupError, EXTRA_MAX, Extra, Taking};
