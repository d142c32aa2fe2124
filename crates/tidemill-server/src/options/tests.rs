//! Command lines and option files as users write them.

use super::super::FlushLog;
use super::super::cnf::tests::Listed;
use super::*;
use pager::FlushMethod;
use sql_parser::filter_rules::FilterRules;
use types::Isolation;

fn run(line: &[&str], files: &[(&str, &str)]) -> Result<Invocation, OptionsError> {
    let words = line.iter().map(|word| (*word).to_owned());
    parse(words, &Listed::of(files))
}

fn fault(line: &[&str], files: &[(&str, &str)]) -> String {
    match run(line, files) {
        Ok(_) => "no fault".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn nothing_given() -> Result<(), OptionsError> {
    let found = run(&[], &[])?;
    assert_eq!(found.command, Command::Serve);
    assert_eq!(found.options, Options::default());
    assert!(found.notices.is_empty());
    Ok(())
}

#[test]
fn what_the_readme_shows() -> Result<(), OptionsError> {
    let found = run(
        &[
            "serve",
            "--datadir",
            "/db",
            "--innodb-buffer-pool-size=4G",
            "--innodb_flush_log_at_trx_commit=2",
            "--innodb-flush-method=o_direct_no_fsync",
            "--max-connections",
            "300",
            "-P3307",
            "-S",
            "/tmp/s",
            "--bind-address=127.0.0.1, ::1",
            "--transaction-isolation=read-committed",
            "--skip-networking",
            "--disable-autocommit",
            "--sql-mode=",
        ],
        &[],
    )?;
    let options = found.options;
    assert_eq!(options.datadir, PathBuf::from("/db"));
    assert_eq!(options.buffer_pool_size, 4 << 30);
    assert_eq!(options.flush_log_at_trx_commit, FlushLog::WriteAtCommit);
    assert_eq!(options.flush_method, FlushMethod::ODirectNoFsync);
    assert_eq!((options.max_connections, options.port), (300, 3307));
    assert_eq!(options.socket, Some(PathBuf::from("/tmp/s")));
    assert_eq!(options.bind_address, ["127.0.0.1", "::1"]);
    assert_eq!(options.transaction_isolation, Isolation::ReadCommitted);
    assert!(options.skip_networking && !options.autocommit);
    assert_eq!(options.sql_mode.as_deref(), Some(""));
    assert!(found.notices.is_empty());
    Ok(())
}

#[test]
fn commands() -> Result<(), OptionsError> {
    let shell = run(&["shell", "--datadir=d", "-e", "SELECT 1"], &[])?;
    let execute = Some("SELECT 1".to_owned());
    assert_eq!(
        shell.command,
        Command::Shell {
            execute,
            force: false
        }
    );
    assert_eq!(
        run(&["check"], &[])?.command,
        Command::Check { table: None }
    );
    assert_eq!(run(&["--help"], &[])?.command, Command::Help);
    assert_eq!(run(&["-V"], &[])?.command, Command::Version);
    assert_eq!(
        fault(&["start"], &[]),
        "unknown command 'start'; there are serve, shell, check, backup, restore, replica, promote, rejoin (command line)"
    );
    assert_eq!(
        fault(&["serve", "now"], &[]),
        "unexpected argument 'now' (command line)"
    );
    assert!(fault(&["serve", "--execute=x"], &[]).starts_with("unknown option '--execute'"));
    Ok(())
}

#[test]
fn unknown_options() -> Result<(), OptionsError> {
    assert_eq!(
        fault(&["--no_such-thing=1"], &[]),
        "unknown option '--no-such-thing' (command line)"
    );
    assert_eq!(
        fault(
            &["--defaults-file=f"],
            &[("f", "[mysqld]\nport=1\nnonsense\n")]
        ),
        "unknown option '--nonsense' (f:3)"
    );
    let found = run(&["--loose-nonsense=1", "--loose-port=7"], &[])?;
    assert_eq!(found.options.port, 7);
    assert_eq!(found.notices.len(), 1);
    assert_eq!(found.notices[0].level, Level::Warning);
    assert_eq!(
        found.notices[0].to_string(),
        "command line: unknown option 'nonsense' ignored"
    );
    // Only a switch can be skipped.
    assert!(fault(&["--skip-port"], &[]).starts_with("unknown option '--skip-port'"));
    Ok(())
}

#[test]
fn bad_values() {
    for (word, expected) in [
        ("--port=x", "option 'port': 'x' is not a port"),
        ("--port=70000", "option 'port': '70000' is not a port"),
        (
            "--innodb-buffer-pool-size=lots",
            "option 'innodb_buffer_pool_size': 'lots' is not a number",
        ),
        (
            "--innodb-flush-log-at-trx-commit=3",
            "option 'innodb_flush_log_at_trx_commit': '3' is not one of 0, 1, 2",
        ),
        (
            "--innodb-flush-method=nosync",
            "option 'innodb_flush_method': 'nosync' is not one of fsync, O_DSYNC, O_DIRECT, O_DIRECT_NO_FSYNC",
        ),
        (
            "--autocommit=maybe",
            "option 'autocommit': 'maybe' is neither ON nor OFF",
        ),
        (
            "--innodb-page-size=8k",
            "option 'innodb_page_size': pages have 16384 bytes, not '8k'",
        ),
        ("--datadir=", "option 'datadir': a value is missing"),
        ("--datadir", "option '--datadir' requires an argument"),
        (
            "--skip-autocommit=1",
            "option '--skip-autocommit' takes no value, '1' was given",
        ),
    ] {
        assert_eq!(fault(&[word], &[]), format!("{expected} (command line)"));
    }
}

#[test]
fn adjusted_values_warn() -> Result<(), OptionsError> {
    let found = run(&["--max-connections=0", "--max-allowed-packet=2G"], &[])?;
    assert_eq!(found.options.max_connections, 1);
    assert_eq!(found.options.max_allowed_packet, 1 << 30);
    assert_eq!(
        found.notices[0].to_string(),
        "command line: max_connections=0 adjusted to 1"
    );
    assert_eq!(found.notices.len(), 2);
    Ok(())
}

#[test]
fn nothing_left_to_tune() -> Result<(), OptionsError> {
    let found = run(
        &[
            "--innodb-buffer-pool-instances=8",
            "--skip-innodb-checksums",
            "--innodb-adaptive-hash-index",
            "--binlog-cache-size",
            "65536",
            "--skip-name-resolve",
            "--performance-schema=OFF",
        ],
        &[],
    )?;
    let pairs: Vec<(&str, &str)> = found
        .options
        .without_effect
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        pairs,
        [
            ("innodb_buffer_pool_instances", "8"),
            ("innodb_checksums", "0"),
            ("innodb_adaptive_hash_index", "1"),
            ("binlog_cache_size", "65536"),
            ("skip_name_resolve", "1"),
            ("performance_schema", "OFF"),
        ]
    );
    assert_eq!(found.notices.len(), pairs.len());
    assert_eq!(
        found.notices[0].to_string(),
        "command line: innodb_buffer_pool_instances=8 accepted, nothing to tune: the buffer pool is one array found by \
         page number, there is nothing to split or resize in chunks"
    );
    Ok(())
}

#[test]
fn variables_are_handed_on() -> Result<(), OptionsError> {
    let found = run(
        &[
            "--sort-buffer-size=1M",
            "--slow-query-log",
            "--sort-buffer-size=2M",
            "--connection-memory-limit=64M",
            "--global-connection-memory-limit=1G",
            "--explain-format=tree",
        ],
        &[],
    )?;
    let expected = [
        ("sort_buffer_size", "2M"),
        ("slow_query_log", "1"),
        ("connection_memory_limit", "64M"),
        ("global_connection_memory_limit", "1G"),
        ("explain_format", "tree"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(found.options.variables, expected);
    Ok(())
}

#[test]
fn files_come_first_wherever_named() -> Result<(), OptionsError> {
    let files = [(
        "my.cnf",
        "[client]\nport=1\n[mysqld]\nport=2\nsocket=/s\n[server]\nwait-timeout=5\n[tidemill]\nconnect_timeout=7\n\
         [mysqld.one]\nserver-id=9\n[mariadb]\nwhatever=1\n",
    )];
    let found = run(&["--port=3", "--defaults-file", "my.cnf"], &files)?;
    assert_eq!(found.options.port, 3);
    assert_eq!(found.options.socket, Some(PathBuf::from("/s")));
    assert_eq!(found.options.wait_timeout, 5);
    assert_eq!(found.options.connect_timeout, 7);
    assert_eq!(found.options.server_id, 1);
    let line = ["--defaults-file=my.cnf", "--defaults-group-suffix=.one"];
    assert_eq!(run(&line, &files)?.options.server_id, 9);
    assert!(fault(&["--defaults-file=gone"], &files).contains("'gone'"));
    Ok(())
}

#[test]
fn sizes_given_in_parts() -> Result<(), OptionsError> {
    let old = run(
        &["--innodb-log-files-in-group=3", "--innodb-log-file-size=1G"],
        &[],
    )?;
    assert_eq!(old.options.log_capacity, 3 << 30);
    let new = run(
        &["--innodb-redo-log-capacity=2G", "--innodb-log-file-size=1G"],
        &[],
    )?;
    assert_eq!(new.options.log_capacity, 2 << 30);
    let io = run(&["--innodb-io-capacity=5000"], &[])?.options;
    assert_eq!((io.io_capacity, io.io_capacity_max), (5000, 10_000));
    let io = run(
        &["--innodb-io-capacity-max=400", "--innodb-io-capacity=500"],
        &[],
    )?;
    assert_eq!(io.options.io_capacity_max, 500);
    Ok(())
}

#[test]
fn what_was_persisted_wins() -> Result<(), OptionsError> {
    let kept = |text: &'static str| [("/db/mysqld-auto.cnf", text)];
    let whole = r#"{"Version": 2, "mysql_dynamic_variables": {"max_connections": {"Value": "77"}, "new_one": {"Value": "1"}},
        "mysql_static_variables": {"innodb_flush_method": {"Value": "fsync"}}}"#;
    let line = ["--datadir=/db", "--max-connections=300"];
    let found = run(&line, &kept(whole))?;
    assert_eq!(found.options.max_connections, 77);
    assert_eq!(found.options.flush_method, FlushMethod::Fsync);
    assert!(found.notices.iter().any(|n| n.text.contains("new-one")));
    let off = [line[0], line[1], "--persisted-globals-load=OFF"];
    for text in [whole, "{", ""] {
        assert_eq!(run(&off, &kept(text))?.options.max_connections, 300);
    }
    for bad in [
        "",
        "{",
        r#"{"Version": 9}"#,
        r#"{"Version": 2, "mysql_dynamic_variables": {"max_connections": {"Value": "many"}}}"#,
    ] {
        let why = fault(&line, &kept(bad));
        assert!(why.contains("mysqld-auto.cnf"), "{bad}: {why}");
    }
    assert_eq!(run(&["--help"], &kept("{"))?.command, Command::Help);
    Ok(())
}

#[test]
fn the_binary_log_is_named_or_off() -> Result<(), OptionsError> {
    for (given, base) in [
        (&["--log-bin"][..], Some("")),
        (&["--log-bin=my"], Some("my")),
        (&["--log-bin=my", "--skip-log-bin"], None),
        (&["--log-bin=0"], None),
        (&[], None),
    ] {
        let found = run(given, &[])?;
        assert_eq!(found.options.log_bin.as_deref(), base, "{given:?}");
    }
    let given = [
        "--binlog-do-db=a",
        "--binlog-do-db=b,c",
        "--binlog-ignore-db=d",
    ];
    let found = run(&given, &[])?.options;
    assert_eq!(found.binlog_do_db, ["a", "b,c"]);
    assert_eq!(found.binlog_ignore_db, ["d"]);
    assert!(run(&["--binlog-do-db="], &[]).is_err());
    let (mut rules, given) = (
        FilterRules::default(),
        ["--replicate-do-db=a", "--replicate-do-db=b"],
    );
    assert_eq!(rules.add("replicate_do_db", "a"), Ok(()));
    assert_eq!(rules.add("replicate_do_db", "b"), Ok(()));
    assert_eq!(run(&given, &[])?.options.replicate, rules);
    let why = run(&["--replicate-do-table=a"], &[]).map(|f| f.options);
    assert!(why.is_err_and(|e| e.to_string().contains("Could not add do table rule 'a'!")));
    assert!(run(&["--sync-binlog=1"], &[]).is_ok());
    assert!(run(&["--sync-binlog=0"], &[]).is_err());
    Ok(())
}
