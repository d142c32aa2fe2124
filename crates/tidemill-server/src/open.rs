//! Opens the directory of the options, as all commands of the program do, and says what was found. The opening itself is the library's.

use std::path::PathBuf;

use base::real::file_modes;
use engine::OpenReport;
use sql_expr::vars::{GlobalVars, VarError, VarOrigin};
use tidemill::open::{OpenDirectory, OpenFailure};
use tidemill::{Durability, OpenOptions};

use crate::offload;
use crate::options::{FlushLog, Options, Origin};
use crate::persisted_file;

/// An open directory, and what to say about how it was opened.
pub struct Opened {
    /// The directory.
    pub directory: OpenDirectory,
    /// What the log should say about options that were not taken as given.
    pub warnings: Vec<String>,
}

/// Opens the directory of `options` on the real disk, making it if it is not there.
///
/// # Errors
/// Says what stands in the way; nothing stays locked.
pub async fn open(options: &Options) -> Result<Opened, OpenFailure> {
    let dir = &options.datadir;
    let (globals, mut warnings) = variables(options)?;
    if file_modes::is_open(dir) {
        warnings.push(format!(
            "the directory {} is open to other users of this machine; its mode should be 0750, and 0640 that of the files in it",
            dir.display()
        ));
    }
    if let Some(archive) = &options.log_archive_dir {
        if options.log_bin.is_none() {
            return Err(OpenFailure::Option(format!(
                "log_archive_dir={}: there is no binary log to be archived without log_bin",
                archive.display()
            )));
        }
        if file_modes::is_open(archive) {
            warnings.push(format!(
                "the directory {} is open to other users of this machine: they can read what the binary log has, and may write to it",
                archive.display()
            ));
        }
    }
    let environment = offload::environment();
    let directory =
        tidemill::open::open(dir, &open_options(options), &environment, globals).await?;
    let kept = persisted_file::store(dir);
    directory.instance.keep_persisted(kept);
    Ok(Opened {
        directory,
        warnings,
    })
}

/// What start-up found and did, in lines for a log.
pub fn recovery(report: &OpenReport) -> Vec<String> {
    let OpenReport {
        pages,
        losers,
        missing,
        orphans,
        purge_unread,
        prepared,
    } = report;
    let mut lines = Vec::new();
    if pages.created {
        lines.push("a new database was made".to_owned());
    } else if !pages.clean {
        lines.push(format!(
            "recovered from a crash: log {} to {}, {} records read in {} ms, {} page changes redone in {} ms, {} pages \
             restored from the doublewrite file, {losers} unfinished transactions rolled back",
            pages.redo_from,
            pages.log_end,
            pages.records,
            pages.scan_us / 1000,
            pages.applied,
            pages.redo_us / 1000,
            pages.restored_pages,
        ));
    }
    if *prepared > 0 {
        lines.push(format!(
            "{prepared} prepared XA transactions were found: XA RECOVER lists them, their rows stay locked until XA COMMIT or XA ROLLBACK"
        ));
    }
    lines.extend(pages.control_damaged.clone());
    for (space, page, why) in &pages.damaged {
        lines.push(format!(
            "damaged: tablespace {} page {}: {why}",
            space.0, page.0
        ));
    }
    if let Some(at) = purge_unread {
        lines.push(format!(
            "damaged: the log at {at}, of which only purge needed more: what was deleted before the crash keeps its room \
             until its tables are rebuilt"
        ));
    }
    for table in missing {
        lines.push(format!(
            "the file of table {table} is missing or unreadable"
        ));
    }
    for file in orphans {
        lines.push(format!("removed {file}, which belongs to no table"));
    }
    lines
}

/// What the library is told.
fn open_options(options: &Options) -> OpenOptions {
    let open = match &options.log_bin {
        Some(base) => OpenOptions::new().binary_log(base, &options.log_bin_index),
        None => OpenOptions::new(),
    };
    let open = match &options.log_archive_dir {
        Some(dir) => open.binary_log_archive(dir),
        None => open,
    };
    let (only, ignored) = (&options.binlog_do_db, &options.binlog_ignore_db);
    open.binary_log_databases(only, ignored)
        .buffer_pool_size(options.buffer_pool_size)
        .redo_log_capacity(options.log_capacity)
        .log_buffer_size(options.log_buffer_size)
        .flush_method(options.flush_method)
        .doublewrite(options.doublewrite)
        .open_files(options.open_files())
        .durability(match options.flush_log_at_trx_commit {
            FlushLog::EverySecond => Durability::EverySecond,
            FlushLog::AtCommit => Durability::Synced,
            FlushLog::WriteAtCommit => Durability::Written,
        })
}

/// What a replica tells its source of itself, and the most bytes of it.
const REPORTS: [(&str, usize); 3] = [
    ("report_host", 255),
    ("report_user", 96),
    ("report_password", 32),
];

/// The server's variables with the values of the options, and what to log about them.
fn variables(options: &Options) -> Result<(GlobalVars, Vec<String>), OpenFailure> {
    if options.lower_case_table_names != 0 {
        let text = "--lower_case_table_names=1: names of tables are case-sensitive here, only 0 is possible";
        return Err(OpenFailure::Option(text.to_owned()));
    }
    let globals = GlobalVars::new();
    let mut warnings = Vec::new();
    // Unless it is given.
    globals
        .set_option("report_port", &options.port.to_string())
        .map_err(|e| OpenFailure::Option(format!("--port={}: {e}", options.port)))?;
    for (name, value) in &options.variables {
        if let Some((_, most)) = REPORTS.iter().find(|(report, _)| report == name)
            && value.len() > *most
        {
            let text = format!("--{name}: longer than {most} bytes");
            return Err(OpenFailure::Option(text));
        }
        globals
            .set_option(name, value)
            .map_err(|e| OpenFailure::Option(format!("--{name}={value}: {e}")))?;
    }
    for (name, value) in &options.without_effect {
        match globals.set_option(name, value) {
            // What has no effect and is no variable either has nowhere to be shown.
            Ok(_) | Err(VarError::Unknown(_)) => {}
            Err(e) => warnings.push(format!("--{name}={value} is not shown: {e}")),
        }
    }
    for (name, origin) in &options.given {
        globals.note_origin(name, shown_origin(origin));
    }
    for (name, value) in obeyed(options) {
        if let Err(e) = globals.set_option(name, &value) {
            warnings.push(format!("{name}={value} is not shown: {e}"));
        }
    }
    Ok((globals, warnings))
}

/// Where an option was given, as it is shown.
fn shown_origin(origin: &Origin) -> VarOrigin {
    match origin {
        Origin::CommandLine => VarOrigin::CommandLine,
        Origin::File(path, _) => {
            let shown = path.display().to_string();
            match path.ends_with(sql::persisted::FILE) {
                true => VarOrigin::Persisted(shown),
                false => VarOrigin::File(shown),
            }
        }
    }
}

/// Options that are obeyed, as the variables that show them.
fn obeyed(options: &Options) -> Vec<(&'static str, String)> {
    let path = |path: &Option<PathBuf>| {
        path.as_ref()
            .map(|path| path.display().to_string())
            .unwrap_or_default()
    };
    let switch = |on: bool| if on { "1" } else { "0" }.to_owned();
    let mut all = vec![
        ("port", options.port.to_string()),
        ("bind_address", options.bind_address.join(",")),
        ("skip_networking", switch(options.skip_networking)),
        (
            "admin_address",
            options.admin_address.clone().unwrap_or_default(),
        ),
        ("admin_port", options.admin_port.to_string()),
        ("socket", path(&options.socket)),
        ("pid_file", path(&options.pid_file)),
        ("log_archive_dir", path(&options.log_archive_dir)),
        (
            "log_error",
            match &options.log_error {
                Some(path) => path.display().to_string(),
                None => "stderr".to_owned(),
            },
        ),
        ("max_connections", options.max_connections.to_string()),
        ("max_allowed_packet", options.max_allowed_packet.to_string()),
        ("connect_timeout", options.connect_timeout.to_string()),
        ("wait_timeout", options.wait_timeout.to_string()),
        (
            "interactive_timeout",
            options.interactive_timeout.to_string(),
        ),
        (
            "innodb_io_capacity_max",
            options.io_capacity_max.to_string(),
        ),
        ("innodb_io_capacity", options.io_capacity.to_string()),
        (
            "innodb_lock_wait_timeout",
            options.lock_wait_timeout.to_string(),
        ),
        (
            "transaction_isolation",
            options.transaction_isolation.name().to_owned(),
        ),
        (
            "transaction_read_only",
            switch(options.transaction_read_only),
        ),
        ("autocommit", switch(options.autocommit)),
        ("log_replica_updates", switch(options.log_replica_updates)),
        ("character_set_server", options.character_set_server.clone()),
        (
            "lower_case_table_names",
            options.lower_case_table_names.to_string(),
        ),
        ("server_id", options.server_id.to_string()),
        ("time_zone", options.default_time_zone.clone()),
        ("open_files_limit", options.open_files_limit.to_string()),
        ("table_open_cache", options.table_open_cache.to_string()),
    ];
    if let Some(dir) = &options.tmpdir {
        all.push(("tmpdir", dir.display().to_string()));
    }
    if let Some(mode) = &options.sql_mode {
        all.push(("sql_mode", mode.clone()));
    }
    // Behind the character set, whose default it would otherwise be.
    if let Some(collation) = &options.collation_server {
        all.push(("collation_server", collation.clone()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_a_variable() {
        let options = Options {
            sql_mode: Some("ANSI".to_owned()),
            collation_server: Some("utf8mb4_bin".to_owned()),
            ..Options::default()
        };
        let (globals, warnings) = variables(&options).expect("defaults are valid");
        assert_eq!(warnings, Vec::<String>::new());
        let shown = |name: &str| {
            let value = globals.value_by_name(name);
            value.and_then(|v| v.as_str().map(str::to_owned))
        };
        assert_eq!(shown("collation_server").as_deref(), Some("utf8mb4_bin"));
    }
}
