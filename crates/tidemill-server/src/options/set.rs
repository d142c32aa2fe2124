//! Filling the fields of [`Options`], value by value, within MySQL's limits.

use std::path::PathBuf;

use pager::FlushMethod;
use types::Isolation;

use super::value::{POOL, choice, size, switch};
use super::{FlushLog, Level, Notice, OPEN_FILES_LEAST, Options, Origin};

/// Why a value was refused; the option's name is put before it.
pub(super) type Fault = String;

type Set = Result<(), Fault>;

/// An option as it was given.
pub(super) struct Given<'a> {
    /// Canonical name.
    pub(super) name: &'a str,
    /// Value; `1` for a switch alone.
    pub(super) value: &'a str,
    /// Where.
    pub(super) origin: &'a Origin,
    /// What to log.
    pub(super) notices: &'a mut Vec<Notice>,
    /// What is settled once everything has been read.
    pub(super) undecided: &'a mut Undecided,
}

/// Values that depend on one another whatever their order: the log's size, which has an older and a newer option, and
/// limits that default to a multiple of another.
#[derive(Debug, Default)]
pub(super) struct Undecided {
    capacity: Option<u64>,
    file_size: Option<u64>,
    files: Option<u64>,
    io_capacity_max: Option<u32>,
}

impl Undecided {
    /// Fills the fields, once everything has been read.
    pub(super) fn apply(&self, options: &mut Options) {
        let by_files = || {
            let files = self.files.unwrap_or(2);
            self.file_size.map(|file| file.saturating_mul(files))
        };
        if let Some(capacity) = self.capacity.or_else(by_files) {
            options.log_capacity = capacity.clamp(LEAST_LOG, MOST_LOG);
        }
        let doubled = options.io_capacity.saturating_mul(2).max(2000);
        let most = self.io_capacity_max.unwrap_or(doubled);
        options.io_capacity_max = most.max(options.io_capacity);
    }
}

const LEAST_LOG: u64 = 8 << 20;
const MOST_LOG: u64 = 128 << 30;
const YEAR: u64 = 31_536_000;

impl Given<'_> {
    fn notice(&mut self, level: Level, text: String) {
        self.notices.push(Notice {
            level,
            origin: self.origin.clone(),
            text,
        });
    }

    /// A number, moved into `least..=most` with a warning, as MySQL does.
    fn number(&mut self, least: u64, most: u64) -> Result<u64, Fault> {
        let given = size(self.value).ok_or_else(|| format!("'{}' is not a number", self.value))?;
        let taken = given.clamp(least, most);
        if taken != given {
            let text = format!("{}={given} adjusted to {taken}", self.name);
            self.notice(Level::Warning, text);
        }
        Ok(taken)
    }

    fn small(&mut self, least: u32, most: u32) -> Result<u32, Fault> {
        let number = self.number(u64::from(least), u64::from(most))?;
        Ok(u32::try_from(number).unwrap_or(most))
    }

    fn switch(&self) -> Result<bool, Fault> {
        switch(self.value).ok_or_else(|| format!("'{}' is neither ON nor OFF", self.value))
    }

    fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, Fault> {
        choice(self.value, choices).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            format!("'{}' is not one of {}", self.value, names.join(", "))
        })
    }

    fn text(&self) -> Result<String, Fault> {
        if self.value.is_empty() {
            return Err("a value is missing".to_owned());
        }
        Ok(self.value.to_owned())
    }

    fn path(&self) -> Result<PathBuf, Fault> {
        self.text().map(PathBuf::from)
    }
}

pub(super) fn datadir(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.datadir = given.path()?;
    Ok(())
}

fn a_port(given: &Given<'_>) -> Result<u16, Fault> {
    let number = given.value.trim().parse();
    number.map_err(|_| format!("'{}' is not a port", given.value))
}

pub(super) fn port(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.port = a_port(given)?;
    Ok(())
}

pub(super) fn admin_port(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.admin_port = a_port(given)?;
    Ok(())
}

pub(super) fn admin_address(options: &mut Options, given: &mut Given<'_>) -> Set {
    let address = given.text()?;
    // MySQL takes one address here, and none of those that mean all.
    if matches!(address.as_str(), "*" | "0.0.0.0" | "::") || address.contains(',') {
        return Err(format!("'{address}' is not one address"));
    }
    options.admin_address = Some(address);
    Ok(())
}

pub(super) fn bind_address(options: &mut Options, given: &mut Given<'_>) -> Set {
    let parts = given.value.split(',').map(str::trim);
    let addresses: Vec<String> = parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    if addresses.is_empty() {
        return Err("a value is missing".to_owned());
    }
    options.bind_address = addresses;
    Ok(())
}

pub(super) fn skip_networking(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.skip_networking = given.switch()?;
    Ok(())
}

pub(super) fn socket(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.socket = Some(given.path()?);
    Ok(())
}

pub(super) fn ssl(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.ssl = given.switch()?;
    Ok(())
}

pub(super) fn pid_file(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.pid_file = Some(given.path()?);
    Ok(())
}

pub(super) fn log_error(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.log_error = match given.value {
        "stderr" => None,
        _ => Some(given.path()?),
    };
    Ok(())
}

pub(super) fn tmpdir(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.tmpdir = Some(given.path()?);
    Ok(())
}

pub(super) fn max_connections(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.max_connections = given.small(1, 100_000)?;
    Ok(())
}

pub(super) fn open_files_limit(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.open_files_limit = given.number(0, u64::from(u32::MAX))?;
    Ok(())
}

pub(super) fn table_open_cache(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.table_open_cache = given.number(1, 524_288)?;
    Ok(())
}

pub(super) fn innodb_open_files(options: &mut Options, given: &mut Given<'_>) -> Set {
    // MySQL takes -1 and 0 for "as many as table_open_cache".
    options.innodb_open_files = match given.value.trim() {
        "-1" | "0" => None,
        _ => Some(given.number(OPEN_FILES_LEAST, i32::MAX as u64)?),
    };
    Ok(())
}

pub(super) fn max_allowed_packet(options: &mut Options, given: &mut Given<'_>) -> Set {
    // MySQL takes multiples of 1024 and rounds down.
    options.max_allowed_packet = given.number(1024, 1 << 30)? / 1024 * 1024;
    Ok(())
}

pub(super) fn connect_timeout(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.connect_timeout = given.small(2, YEAR as u32)?;
    Ok(())
}

pub(super) fn wait_timeout(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.wait_timeout = given.small(1, YEAR as u32)?;
    Ok(())
}

pub(super) fn interactive_timeout(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.interactive_timeout = given.small(1, YEAR as u32)?;
    Ok(())
}

pub(super) fn buffer_pool_size(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.buffer_pool_size = given.number(*POOL.start(), *POOL.end())?;
    Ok(())
}

pub(super) fn redo_log_capacity(_: &mut Options, given: &mut Given<'_>) -> Set {
    given.undecided.capacity = Some(given.number(LEAST_LOG, MOST_LOG)?);
    Ok(())
}

pub(super) fn log_file_size(_: &mut Options, given: &mut Given<'_>) -> Set {
    given.undecided.file_size = Some(given.number(4 << 20, MOST_LOG)?);
    Ok(())
}

pub(super) fn log_files_in_group(_: &mut Options, given: &mut Given<'_>) -> Set {
    given.undecided.files = Some(given.number(1, 100)?);
    Ok(())
}

pub(super) fn log_buffer_size(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.log_buffer_size = given.number(1 << 20, 4 << 30)?;
    Ok(())
}

pub(super) fn flush_log_at_trx_commit(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.flush_log_at_trx_commit = given.choice(&[
        ("0", FlushLog::EverySecond),
        ("1", FlushLog::AtCommit),
        ("2", FlushLog::WriteAtCommit),
    ])?;
    Ok(())
}

pub(super) fn flush_method(options: &mut Options, given: &mut Given<'_>) -> Set {
    // By name alone: the numbers of these names differ between versions.
    options.flush_method = FlushMethod::by_name(given.value.trim()).ok_or_else(|| {
        let names = FlushMethod::ALL.map(FlushMethod::name).join(", ");
        format!("'{}' is not one of {names}", given.value)
    })?;
    Ok(())
}

pub(super) fn io_capacity(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.io_capacity = given.small(100, u32::MAX)?;
    Ok(())
}

pub(super) fn io_capacity_max(_: &mut Options, given: &mut Given<'_>) -> Set {
    given.undecided.io_capacity_max = Some(given.small(100, u32::MAX)?);
    Ok(())
}

pub(super) fn lock_wait_timeout(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.lock_wait_timeout = given.small(1, 1 << 30)?;
    Ok(())
}

pub(super) fn page_size(_: &mut Options, given: &mut Given<'_>) -> Set {
    match size(given.value) {
        Some(16_384) => Ok(()),
        _ => Err(format!("pages have 16384 bytes, not '{}'", given.value)),
    }
}

pub(super) fn force_recovery(_: &mut Options, given: &mut Given<'_>) -> Set {
    match size(given.value) {
        Some(0) => Ok(()),
        _ => Err("recovery cannot be forced; `tidemill check` says what is damaged".to_owned()),
    }
}

pub(super) fn transaction_isolation(options: &mut Options, given: &mut Given<'_>) -> Set {
    let spaced = given.value.trim().replace(' ', "-");
    let levels = Isolation::ALL.map(|level| (level.name(), level));
    options.transaction_isolation =
        choice(&spaced, &levels).map_or_else(|| given.choice(&levels), Ok)?;
    Ok(())
}

pub(super) fn transaction_read_only(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.transaction_read_only = given.switch()?;
    Ok(())
}

pub(super) fn doublewrite(options: &mut Options, given: &mut Given<'_>) -> Set {
    // Recovery uses what is there in any case, so that the two long words mean on.
    options.doublewrite = match given.value.to_ascii_uppercase().as_str() {
        "DETECT_AND_RECOVER" | "DETECT_ONLY" => true,
        _ => given.switch()?,
    };
    Ok(())
}

pub(super) fn autocommit(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.autocommit = given.switch()?;
    Ok(())
}

pub(super) fn sql_mode(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.sql_mode = Some(given.value.to_owned());
    Ok(())
}

pub(super) fn character_set_server(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.character_set_server = given.text()?.to_ascii_lowercase();
    Ok(())
}

pub(super) fn collation_server(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.collation_server = Some(given.text()?.to_ascii_lowercase());
    Ok(())
}

pub(super) fn default_time_zone(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.default_time_zone = given.text()?;
    Ok(())
}

pub(super) fn lower_case_table_names(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.lower_case_table_names = given.choice(&[("0", 0), ("1", 1)])?;
    Ok(())
}

pub(super) fn server_id(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.server_id = given.small(0, u32::MAX)?;
    Ok(())
}

/// `--log-bin`, `--log-bin=BASE`, `--skip-log-bin`.
pub(super) fn log_bin(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.log_bin = match given.value.trim() {
        "0" | "OFF" | "off" => None,
        "1" | "ON" | "on" => Some(String::new()),
        base => Some(base.to_owned()),
    };
    Ok(())
}

pub(super) fn log_bin_index(options: &mut Options, given: &mut Given<'_>) -> Set {
    given.value.trim().clone_into(&mut options.log_bin_index);
    Ok(())
}

/// `--log-archive-dir=DIR`; empty: none.
pub(super) fn log_archive_dir(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.log_archive_dir = match given.value.trim() {
        "" => None,
        _ => Some(given.path()?),
    };
    Ok(())
}

pub(super) fn binlog_do_db(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.binlog_do_db.push(given.text()?);
    Ok(())
}

pub(super) fn binlog_ignore_db(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.binlog_ignore_db.push(given.text()?);
    Ok(())
}

/// `--replicate-do-db` and its like, of which each adds to what was given before.
pub(super) fn replicate(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.replicate.add(given.name, given.value)
}

pub(super) fn log_replica_updates(options: &mut Options, given: &mut Given<'_>) -> Set {
    options.log_replica_updates = given.switch()?;
    Ok(())
}

pub(super) fn sync_binlog(_: &mut Options, given: &mut Given<'_>) -> Set {
    match given.value.trim() {
        "1" => Ok(()),
        value => Err(format!(
            "sync_binlog={value}: a transaction is in the binary log when its commit is durable, which is what 1 says; how durable commits are is innodb_flush_log_at_trx_commit's"
        )),
    }
}

pub(super) fn default_storage_engine(_: &mut Options, given: &mut Given<'_>) -> Set {
    if !given.value.trim().eq_ignore_ascii_case("innodb") {
        let text = format!(
            "default_storage_engine={}: there is one storage engine, which goes by the name InnoDB",
            given.value
        );
        given.notice(Level::Warning, text);
    }
    Ok(())
}
