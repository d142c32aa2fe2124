//! What experiments have in common: tables, terms, sides, loads.

use crate::experiment::{Data, Load, Probe, Series, Side};
use crate::peers::{Terms, Who};

/// Sysbench's table, in memory as a whole.
pub const CACHED: Data = Data::Rows {
    tables: 1,
    rows: 2_000_000,
    options: "",
    cached: true,
};

/// Sysbench's table, at least eight times as large as [`TIGHT`]'s memory for pages.
pub const LARGE: Data = Data::Rows {
    tables: 1,
    rows: 5_000_000,
    options: "",
    cached: false,
};

/// Memory for more than [`CACHED`], and commits that survive.
pub const ROOMY: Terms = Terms {
    pool_mib: 4096,
    log_mib: 2048,
    flush: 1,
    disk_mb_s: 0,
};

/// [`ROOMY`], with commits that the operating system holds for a moment.
pub const ROOMY_LAZY: Terms = Terms { flush: 2, ..ROOMY };

/// Memory for an eighth of [`LARGE`] at most.
pub const TIGHT: Terms = Terms {
    pool_mib: 128,
    log_mib: 2048,
    ..Terms::LAZY
};

/// Ours by itself.
pub const TIDEMILL: Side = Side::plain(Who::Tidemill);
/// MariaDB by itself.
pub const MARIADB: Side = Side::plain(Who::MariaDb);
/// PostgreSQL by itself.
pub const POSTGRES: Side = Side::plain(Who::Postgres);
/// The protocol without a database.
pub const CANNED: Side = Side::plain(Who::Canned);

/// The disk as the log uses it.
pub const SYNC: Side = Side::disk("write+fdatasync", Probe::Sync(false));
/// The same past the kernel's cache.
pub const SYNC_DIRECT: Side = Side::disk("write+fdatasync, O_DIRECT", Probe::Sync(true));

/// One row by its key, a statement of its own, prepared.
pub const POINT_SELECT: Load = Load::Sysbench("oltp_point_select", &[]);
/// One row by its key changed, in a transaction of its own; no index holds what changes.
pub const UPDATE: Load = Load::Sysbench("oltp_update_non_index", &[]);

/// What most series have in common.
pub const PLAIN: Series = Series {
    label: "",
    load: POINT_SELECT,
    clients: &[1, 8, 64, 256],
    seconds: 0,
    repeats: 0,
    data: CACHED,
    terms: ROOMY,
    sides: &[TIDEMILL, MARIADB, POSTGRES],
    targets: &[],
    headline: None,
};
