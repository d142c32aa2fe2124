//! Options by MySQL's names, from the command line and from a my.cnf, so that one configuration starts a peer and this
//! server alike.
//!
//! [`parse`] turns arguments into an [`Invocation`]: what to do, typed [`Options`], and [`Notice`]s to log. An option is
//! obeyed, handed to SQL as a variable's first value, or accepted with the reason why it has nothing left to
//! tune. One that is none of these is an error that names it; with the prefix `loose-` it is a warning.
//!
//! What SET PERSIST has kept wins over all that is given.
//!
//! What this module never does: read a my.cnf nobody named, read more of the data directory than that, write, print, or exit.

mod backups;
pub(crate) mod client_tls;
mod cnf;
mod command_line;
mod known;
mod known_option;
mod persisted;
mod set;
mod value;
mod without_effect;

use std::fmt;
use std::path::{Path, PathBuf};

use sql_parser::filter_rules::FilterRules;
use types::Isolation;

pub use backups::{
    BackupArguments, Client, ReplicaArguments, RestoreArguments, RestoreUntil, ServerAddress,
};
pub use client_tls::{ClientTls, SslMode};
pub use command_line::{USAGE, parse};
pub use pager::FlushMethod;

/// What the program is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Serve clients (the default).
    Serve,
    /// Run SQL on a directory without a server: `execute`, or else what is typed.
    Shell {
        /// Statements of `--execute`.
        execute: Option<String>,
        /// `--force`: go on after a statement that fails.
        force: bool,
    },
    /// Read every page and index.
    Check {
        /// `--table`: only this one, `schema.table`.
        table: Option<String>,
    },
    /// Take a backup of a server that goes on.
    Backup(BackupArguments),
    /// Read a backup and check all of it.
    Verify(PathBuf),
    /// Make a data directory of backups.
    Restore(RestoreArguments),
    /// Make a data directory of a server, as its replica.
    Replica(ReplicaArguments),
    /// Make a replica the source, or a server a replica of a new source: what [`crate::failover`] understands.
    Failover {
        /// `rejoin`, and not `promote`.
        rejoin: bool,
        /// What stood behind it.
        words: Vec<String>,
    },
    /// Print [`USAGE`].
    Help,
    /// Print the version.
    Version,
}

/// A whole command line, understood.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// What to do.
    pub command: Command,
    /// How.
    pub options: Options,
    /// What the log should say about the options given, in their order.
    pub notices: Vec<Notice>,
}

/// When a commit's log reaches the disk (`innodb_flush_log_at_trx_commit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushLog {
    /// 0: written and synced once a second.
    EverySecond,
    /// 1: written and synced before the commit is acknowledged.
    AtCommit,
    /// 2: written at commit, synced once a second.
    WriteAtCommit,
}

/// Options that are obeyed, with their defaults filled in. Sizes are bytes, timeouts seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `datadir`.
    pub datadir: PathBuf,
    /// `port`; 0 takes any free one.
    pub port: u16,
    /// `bind_address`, one or more; `*` for all.
    pub bind_address: Vec<String>,
    /// `skip_networking`: no TCP.
    pub skip_networking: bool,
    /// `admin_address`: one address for administrators alone; none when not given.
    pub admin_address: Option<String>,
    /// `admin_port`; 0 takes any free one.
    pub admin_port: u16,
    /// `socket`: path of the Unix socket; none when not given.
    pub socket: Option<PathBuf>,
    /// `ssl`: TLS is offered; `--skip-ssl` for not.
    pub ssl: bool,
    /// `pid_file`.
    pub pid_file: Option<PathBuf>,
    /// `log_error`: a file; standard error when not given.
    pub log_error: Option<PathBuf>,
    /// `tmpdir`: where sorts spill; inside the data directory when not given.
    pub tmpdir: Option<PathBuf>,
    /// `max_connections`.
    pub max_connections: u32,
    /// `open_files_limit`: descriptors that the process asks the system for; it takes all that it gets.
    pub open_files_limit: u64,
    /// `table_open_cache`: files of tables that are open at once, unless `innodb_open_files` says another number.
    pub table_open_cache: u64,
    /// `innodb_open_files`.
    pub innodb_open_files: Option<u64>,
    /// `max_allowed_packet`.
    pub max_allowed_packet: u64,
    /// `connect_timeout`.
    pub connect_timeout: u32,
    /// `wait_timeout`.
    pub wait_timeout: u32,
    /// `interactive_timeout`.
    pub interactive_timeout: u32,
    /// `innodb_buffer_pool_size`.
    pub buffer_pool_size: u64,
    /// `innodb_redo_log_capacity`, or `innodb_log_file_size` times `innodb_log_files_in_group`.
    pub log_capacity: u64,
    /// `innodb_log_buffer_size`.
    pub log_buffer_size: u64,
    /// `innodb_flush_log_at_trx_commit`.
    pub flush_log_at_trx_commit: FlushLog,
    /// `innodb_flush_method`.
    pub flush_method: FlushMethod,
    /// `innodb_doublewrite`: pages are guarded against writes that a crash tears.
    pub doublewrite: bool,
    /// `innodb_io_capacity`, in page writes a second.
    pub io_capacity: u32,
    /// `innodb_io_capacity_max`, in page writes a second; at least `io_capacity`.
    pub io_capacity_max: u32,
    /// `innodb_lock_wait_timeout`.
    pub lock_wait_timeout: u32,
    /// `transaction_isolation`.
    pub transaction_isolation: Isolation,
    /// `transaction_read_only`.
    pub transaction_read_only: bool,
    /// `autocommit`.
    pub autocommit: bool,
    /// `sql_mode`; SQL's default when not given.
    pub sql_mode: Option<String>,
    /// `character_set_server`.
    pub character_set_server: String,
    /// `collation_server`; the character set's default when not given.
    pub collation_server: Option<String>,
    /// `default_time_zone`.
    pub default_time_zone: String,
    /// `lower_case_table_names`: 0 as written, 1 lower case.
    pub lower_case_table_names: u8,
    /// `server_id`.
    pub server_id: u32,
    /// `log_bin`: the name of the binary log's files without their numbers, empty for the usual one; `None`: there is none.
    pub log_bin: Option<String>,
    /// `log_bin_index`; empty: as the files.
    pub log_bin_index: String,
    /// `log_archive_dir`: the folder into which the binary log's files are copied as they come.
    pub log_archive_dir: Option<PathBuf>,
    /// `binlog_do_db`, each time it is given.
    pub binlog_do_db: Vec<String>,
    /// `binlog_ignore_db`, each time it is given.
    pub binlog_ignore_db: Vec<String>,
    /// `replicate_do_db` and its like.
    pub replicate: FilterRules,
    /// `log_replica_updates`.
    pub log_replica_updates: bool,
    /// First values of other system variables, by their names with underscores, for SQL to check and take.
    pub variables: Vec<(String, String)>,
    /// Where options were given, by their names: the last of each counts.
    pub given: Vec<(String, Origin)>,
    /// Options accepted that have nothing left to tune, by their names with underscores: SHOW VARIABLES shows
    /// them.
    pub without_effect: Vec<(String, String)>,
}

/// Connections allowed unless told otherwise. MySQL's 151 guards against a thread and its stack for each, which there is
/// not here.
const DEFAULT_MAX_CONNECTIONS: u32 = 10_000;

/// The fewest files of tables that are kept open.
const OPEN_FILES_LEAST: u64 = 10;

impl Default for Options {
    fn default() -> Self {
        Options {
            datadir: PathBuf::from("./tidemill-data"),
            port: 3306,
            bind_address: vec!["127.0.0.1".to_owned()],
            skip_networking: false,
            admin_address: None,
            admin_port: 33_062,
            socket: None,
            ssl: true,
            pid_file: None,
            log_error: None,
            tmpdir: None,
            max_connections: DEFAULT_MAX_CONNECTIONS,
            open_files_limit: 0,
            table_open_cache: 4000,
            innodb_open_files: None,
            max_allowed_packet: 64 << 20,
            connect_timeout: 10,
            wait_timeout: 28_800,
            interactive_timeout: 28_800,
            buffer_pool_size: 128 << 20,
            log_capacity: 1 << 30,
            log_buffer_size: 16 << 20,
            flush_log_at_trx_commit: FlushLog::AtCommit,
            flush_method: FlushMethod::ODirect,
            doublewrite: true,
            io_capacity: 10_000,
            io_capacity_max: 20_000,
            lock_wait_timeout: 50,
            transaction_isolation: Isolation::RepeatableRead,
            transaction_read_only: false,
            autocommit: true,
            sql_mode: None,
            character_set_server: "utf8mb4".to_owned(),
            collation_server: None,
            default_time_zone: "SYSTEM".to_owned(),
            lower_case_table_names: 0,
            server_id: 1,
            log_bin: None,
            log_bin_index: String::new(),
            log_archive_dir: None,
            binlog_do_db: Vec::new(),
            binlog_ignore_db: Vec::new(),
            replicate: FilterRules::default(),
            log_replica_updates: true,
            variables: Vec::new(),
            given: Vec::new(),
            without_effect: Vec::new(),
        }
    }
}

impl Options {
    /// Files of tables that are open at once, at most.
    pub fn open_files(&self) -> u64 {
        let files = self.innodb_open_files.unwrap_or(self.table_open_cache);
        files.max(OPEN_FILES_LEAST)
    }
}

/// Where an option was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// On the command line.
    CommandLine,
    /// In a file, at a line counted from 1.
    File(PathBuf, usize),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::CommandLine => f.write_str("command line"),
            Origin::File(path, line) => write!(f, "{}:{line}", path.display()),
        }
    }
}

/// How much a [`Notice`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For the record.
    Note,
    /// Something was not done as asked.
    Warning,
}

/// Something the log should say about an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub level: Level,
    /// Where the option was given.
    pub origin: Origin,
    /// The text, naming the option.
    pub text: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.text)
    }
}

/// Why the program cannot start as told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionsError {
    /// Where the fault is.
    pub origin: Origin,
    /// The text, naming the option or file.
    pub text: String,
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.origin)
    }
}

impl std::error::Error for OptionsError {}

/// How option files are read: the file system, or in tests a list.
pub trait Files {
    /// The contents of a file.
    ///
    /// # Errors
    /// Of the file system.
    fn read(&self, path: &Path) -> std::io::Result<String>;

    /// The files of a directory.
    ///
    /// # Errors
    /// Of the file system.
    fn list(&self, directory: &Path) -> std::io::Result<Vec<PathBuf>>;

    /// What SET PERSIST has kept in a data directory; `None` where it has kept nothing.
    fn kept(&self, datadir: &Path) -> Option<Kept>;
}

/// What SET PERSIST has kept: it is read as SQL writes it, which this folder knows nothing of.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// What it says, or what is wrong with it.
    pub values: Result<Vec<KeptValue>, String>,
}

/// A value that was kept.
#[derive(Debug, Clone)]
pub struct KeptValue {
    /// The variable.
    pub name: String,
    /// As an option would have it.
    pub value: String,
    /// There is such a system variable.
    pub is_known: bool,
}
