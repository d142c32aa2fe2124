//! What the command is told.

use harness::server::Kind;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Rows of each table; a million are about 250 MB.
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) rows: u64,
    /// Tables.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) tables: u32,
    /// Clients.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) clients: u32,
    /// Seconds of a run without a backup; one with goes on at least as long, and until the backup has ended.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seconds: u64,
    /// Seconds of the load before the first run.
    #[arg(long, default_value_t = 30)]
    pub(super) warm: u64,
    /// Pairs of runs, without a backup and with one.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) repeats: u64,
    /// The servers, one after the other.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "mariadb,tidemill"
    )]
    pub(super) sides: Vec<Kind>,
    /// Memory for pages, MiB.
    #[arg(long, default_value_t = 1024)]
    pub(super) pool: u64,
    /// What `tidemill backup --throttle` is given, MiB a second; mariadb-backup counts something else, and is given nothing.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) throttle: Option<u64>,
    /// Load the tables again.
    #[arg(long)]
    pub(super) reload: bool,
    /// Work on the loaded tables themselves, and keep none for another run: takes much less room on the disk.
    #[arg(long)]
    pub(super) once: bool,
}
