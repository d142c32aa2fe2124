//! Replication filters: what they leave out of what a source sends, and what they do in another database.

use crate::scripted;

use std::sync::Arc;

use base::block_on;
use base::mem::MemDisk;
use replication::replica::ReplicaServer;
use replication::replica::filter::FilterRules;
use scripted::file::{File, SID, row};
use scripted::{begin, number, run, serve, server, settled};
use sql::context::replica::{Replica, ReplicaFacts};
use sql::{Instance, Session};
use types::{SqlError, Value};
use wire::binlog::frame::Checksum;
use wire::binlog::rows::Change;

fn refused(instance: &Arc<Instance>, sql: &str) -> SqlError {
    let mut s = Session::of_the_server(instance, instance.next_connection_id());
    let e = block_on(s.query(sql)).err();
    block_on(s.close());
    e.unwrap_or_else(|| panic!("{sql}: it was not refused"))
}

fn text(instance: &Arc<Instance>, sql: &str) -> String {
    let rows = run(instance, sql);
    let shown = |v: &Value| match v {
        Value::Null => "NULL".to_owned(),
        v => types::convert::to_text(v.as_ref()),
    };
    let one = |r: &Vec<Value>| r.iter().map(shown).collect::<Vec<_>>().join("|");
    rows.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// `SELECT n FROM t`, in order, of the tables that are there.
fn numbers(instance: &Arc<Instance>, table: &str) -> String {
    text(
        instance,
        &format!("SELECT GROUP_CONCAT(id ORDER BY id) FROM {table}"),
    )
}

/// Three databases with two tables each, which are there before anything is filtered.
const TABLES: [(&str, &str); 6] = [
    ("d", "t"),
    ("d", "u"),
    ("e", "t"),
    ("e", "u"),
    ("D", "t"),
    ("d_1", "T"),
];

fn make_tables(instance: &Arc<Instance>) {
    for (database, table) in TABLES {
        run(
            instance,
            &format!("CREATE DATABASE IF NOT EXISTS {database}"),
        );
        run(
            instance,
            &format!("CREATE TABLE {database}.{table} (id INT PRIMARY KEY, a VARCHAR(20))"),
        );
    }
}

/// Each table gets a row of its number by a row event, and one of ten more by a statement that names it, with another default database.
fn source() -> File {
    let mut f = File::new(Checksum::Crc32, 20);
    for (n, (database, table)) in (1..).zip(TABLES) {
        (f.database, f.table) = (database, table);
        f.begin(0);
        f.query("BEGIN");
        f.rows(Change::Write, &[(None, row(n, "row"))]);
        f.commit();
    }
    for (n, (database, table)) in (11..).zip(TABLES) {
        f.database = if n % 2 == 0 { "e" } else { "d" };
        f.statements(
            0,
            &[&format!(
                "INSERT INTO {database}.{table} VALUES ({n}, 'statement')"
            )],
        );
    }
    // Several tables in one transaction.
    f.begin(0);
    f.database = "d";
    f.query("BEGIN");
    for (n, (database, table)) in (21..).zip(TABLES) {
        (f.database, f.table) = (database, table);
        f.rows(Change::Write, &[(None, row(n, "both"))]);
    }
    f.commit();
    f
}

struct Replicated {
    instance: Arc<Instance>,
    replica: Arc<ReplicaServer>,
    facts: ReplicaFacts,
    _engine: Arc<engine::Engine>,
}

/// A replica with tables, that has applied a file under these filters.
fn applied(file: &File, filters: &str, workers: u32) -> Replicated {
    let (engine, instance) = server(&Arc::new(MemDisk::default()));
    make_tables(&instance);
    run(
        &instance,
        &format!("SET GLOBAL replica_parallel_workers = {workers}"),
    );
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    if !filters.is_empty() {
        run(&instance, &format!("CHANGE REPLICATION FILTER {filters}"));
    }
    begin(&instance, serve("8.0.41", file.bytes.clone()));
    let facts = settled(&replica, file.bytes.len());
    Replicated {
        instance,
        replica,
        facts,
        _engine: engine,
    }
}

#[test]
fn rows_and_statements_are_left_out_as_the_filters_say() {
    let file = source();
    // What is in d.t, d.u, e.t, e.u, D.t, d_1.T then.
    let all: [(&str, [&str; 6]); 9] = [
        (
            "",
            [
                "1,11,21", "2,12,22", "3,13,23", "4,14,24", "5,15,25", "6,16,26",
            ],
        ),
        // Of statements the default database counts: `d` where the number is odd.
        (
            "REPLICATE_DO_DB = (d)",
            ["1,11,21", "2,22", "13", "NULL", "15", "NULL"],
        ),
        (
            "REPLICATE_IGNORE_DB = (d)",
            ["NULL", "12", "3,23", "4,14,24", "5,25", "6,16,26"],
        ),
        (
            "REPLICATE_DO_TABLE = (d.t, e.u)",
            ["1,11,21", "NULL", "NULL", "4,14,24", "NULL", "NULL"],
        ),
        (
            "REPLICATE_IGNORE_TABLE = (d.t, e.u)",
            ["NULL", "2,12,22", "3,13,23", "NULL", "5,15,25", "6,16,26"],
        ),
        (
            "REPLICATE_WILD_DO_TABLE = ('d_1.%', '_.u')",
            ["NULL", "2,12,22", "NULL", "4,14,24", "NULL", "6,16,26"],
        ),
        (
            "REPLICATE_WILD_IGNORE_TABLE = ('d\\_1.%', 'd.%')",
            ["NULL", "NULL", "3,13,23", "4,14,24", "5,15,25", "NULL"],
        ),
        (
            "REPLICATE_DO_DB = (d, e), REPLICATE_IGNORE_TABLE = (d.t), REPLICATE_WILD_DO_TABLE = ('%.t')",
            ["NULL", "NULL", "3,13,23", "NULL", "15", "NULL"],
        ),
        (
            "REPLICATE_DO_DB = (d), REPLICATE_DO_DB = ()",
            [
                "1,11,21", "2,12,22", "3,13,23", "4,14,24", "5,15,25", "6,16,26",
            ],
        ),
    ];
    for workers in [1, 4] {
        for (filters, expected) in &all {
            let r = applied(&file, filters, workers);
            assert_eq!(r.facts.applier_failure.message, "", "{filters}");
            for ((database, table), expected) in TABLES.iter().zip(expected) {
                let is = numbers(&r.instance, &format!("{database}.{table}"));
                assert_eq!(
                    is, *expected,
                    "{database}.{table} with {workers}: {filters}"
                );
            }
            // Whatever was left out of them, all have come.
            assert_eq!(r.facts.executed_gtids, format!("{SID}:1-13"));
            block_on(r.replica.stop());
        }
    }
}

#[test]
fn what_is_rewritten_is_done_there() {
    let mut f = File::new(Checksum::Crc32, 20);
    (f.database, f.table) = ("x", "t");
    f.begin(0);
    f.query("BEGIN");
    f.rows(Change::Write, &[(None, row(1, "row"))]);
    f.commit();
    f.statements(
        0,
        &[
            "INSERT INTO t VALUES (2, 'statement')",
            "INSERT INTO d.t VALUES (3, 'named')",
        ],
    );
    f.statement("CREATE TABLE made (a INT)");
    // Its name is written in it.
    f.statement("CREATE DATABASE x");
    let r = applied(
        &f,
        "REPLICATE_REWRITE_DB = ((x, e)), REPLICATE_DO_DB = (e, x)",
        4,
    );
    assert_eq!(r.facts.applier_failure.message, "");
    assert_eq!(numbers(&r.instance, "e.t"), "1,2");
    assert_eq!(numbers(&r.instance, "d.t"), "3");
    assert_eq!(number(&r.instance, "SELECT COUNT(*) FROM e.made"), 0);
    assert_eq!(run(&r.instance, "SHOW DATABASES LIKE 'x'").len(), 1);
    block_on(r.replica.stop());
    // A database that is not there is an error, which names it.
    for (n, workers) in [(2, 1), (2, 4)] {
        let r = applied(&f, "REPLICATE_REWRITE_DB = ((x, nowhere))", workers);
        assert!(!r.facts.applying);
        assert_eq!(r.facts.applier_failure.number, 1049, "{:?}", r.facts);
        // Mended, it goes on.
        run(&r.instance, "CREATE DATABASE nowhere");
        run(&r.instance, "CREATE TABLE nowhere.t LIKE d.t");
        run(&r.instance, "START REPLICA SQL_THREAD");
        let facts = settled(&r.replica, f.bytes.len());
        assert_eq!(facts.applier_failure.message, "");
        assert_eq!(number(&r.instance, "SELECT COUNT(*) FROM nowhere.t"), n);
        block_on(r.replica.stop());
    }
}

#[test]
fn what_a_filtered_statement_needs_need_not_be_there() {
    let mut f = File::new(Checksum::Crc32, 20);
    f.database = "gone";
    f.statement("CREATE TABLE t (a INT)");
    f.statements(
        0,
        &[
            "INSERT INTO t VALUES (RAND())",
            "SAVEPOINT a",
            "ROLLBACK TO a",
            "what is this",
        ],
    );
    // In a transaction of its own, and one that fails at the source.
    f.statement("DROP TABLE other");
    (f.database, f.table) = ("gone", "t");
    f.begin(0);
    f.query("BEGIN");
    f.rows(Change::Write, &[(None, row(1, "row"))]);
    f.rows(Change::Update, &[(row(1, "row"), row(2, "row"))]);
    (f.database, f.table) = ("d", "t");
    f.rows(Change::Write, &[(None, row(5, "row"))]);
    f.commit();
    for workers in [1, 4] {
        let r = applied(&f, "REPLICATE_IGNORE_DB = (gone)", workers);
        assert_eq!(r.facts.applier_failure.message, "");
        assert_eq!(numbers(&r.instance, "d.t"), "5");
        assert_eq!(r.facts.executed_gtids, format!("{SID}:1-4"));
        block_on(r.replica.stop());
    }
}

#[test]
fn temporary_tables_are_filtered_and_dropped() {
    let mut f = File::new(Checksum::Crc32, 20);
    f.statements(
        0,
        &[
            "CREATE TEMPORARY TABLE kept (a INT)",
            "CREATE TEMPORARY TABLE left_out (a INT)",
            "INSERT INTO kept VALUES (1)",
            "INSERT INTO left_out VALUES (1), (2)",
            "INSERT INTO t SELECT a, 'kept' FROM kept",
            "DROP TEMPORARY TABLE IF EXISTS left_out, kept",
        ],
    );
    for workers in [1, 4] {
        let r = applied(&f, "REPLICATE_WILD_IGNORE_TABLE = ('d.left%')", workers);
        assert_eq!(r.facts.applier_failure.message, "");
        assert_eq!(numbers(&r.instance, "d.t"), "1");
        block_on(r.replica.stop());
    }
}

const CHANNEL: &str = "SELECT filter_name, filter_rule, configured_by, counter FROM \
                       performance_schema.replication_applier_filters ORDER BY filter_name";
const GLOBAL: &str = "SELECT filter_name, filter_rule, configured_by FROM \
                      performance_schema.replication_applier_global_filters ORDER BY filter_name";

/// What SHOW REPLICA STATUS has of the filters.
fn shown_by_statements(instance: &Arc<Instance>, replica: &ReplicaServer) {
    let shown = replica.facts().expect("a source").filters;
    assert!(shown.iter().all(|f| f.since_us > 0));
    let mut s = Session::of_the_server(instance, instance.next_connection_id());
    let status = block_on(s.query("SHOW REPLICA STATUS"))
        .expect("a status")
        .remove(0);
    let column = |name: &str| {
        let at = status.columns.iter().position(|c| c.name == name);
        types::convert::to_text(status.rows[0][at.expect("a column")].as_ref())
    };
    assert_eq!(column("Replicate_Do_DB"), "");
    assert_eq!(column("Replicate_Ignore_Table"), "d.t,x,d.u");
    assert_eq!(column("Replicate_Wild_Ignore_Table"), "d.u%");
    assert_eq!(column("Replicate_Rewrite_DB"), "(a,b),(c,d)");
    block_on(s.close());
}

#[test]
fn a_table_counts_as_often_as_it_is_announced() {
    let mut f = File::new(Checksum::Crc32, 20);
    for n in 1..=4 {
        f.begin(0);
        f.query("BEGIN");
        f.rows(Change::Write, &[(None, row(n, "row"))]);
        f.commit();
    }
    // Whichever worker has seen it before.
    for workers in [1, 4] {
        let r = applied(&f, "REPLICATE_DO_DB = (d)", workers);
        assert_eq!(r.facts.applier_failure.message, "");
        assert_eq!(
            text(&r.instance, CHANNEL),
            "REPLICATE_DO_DB|d|CHANGE_REPLICATION_FILTER|4",
            "{workers}"
        );
        block_on(r.replica.stop());
    }
}

#[test]
fn filters_are_set_and_shown_and_belong_to_the_process() {
    let file = source();
    let disk = Arc::new(MemDisk::default());
    let mut rules = FilterRules::default();
    rules.add("replicate_do_db", "d").expect("a rule");
    rules
        .add("replicate_wild_ignore_table", "d.u%")
        .expect("a rule");
    let options =
        "REPLICATE_DO_DB|d|STARTUP_OPTIONS\nREPLICATE_WILD_IGNORE_TABLE|d.u%|STARTUP_OPTIONS";
    {
        let (engine, instance) = server(&disk);
        make_tables(&instance);
        let replica = block_on(ReplicaServer::start_with(&instance, &rules)).expect("a replica");
        // Without a channel there are those that all begin with.
        assert_eq!(
            (
                text(&instance, CHANNEL).as_str(),
                text(&instance, GLOBAL).as_str()
            ),
            ("", options)
        );
        let e = refused(
            &instance,
            "CHANGE REPLICATION FILTER REPLICATE_DO_DB = (e) FOR CHANNEL ''",
        );
        assert_eq!(e.code, 1794);
        begin(&instance, serve("8.0.41", file.bytes.clone()));
        assert_eq!(
            settled(&replica, file.bytes.len()).applier_failure.message,
            ""
        );
        assert_eq!(
            numbers(&instance, "d.t") + "/" + &numbers(&instance, "d.u"),
            "1,11,21/NULL"
        );
        // d.t, d.u, d.t, d.u of rows; three statements.
        assert_eq!(
            text(&instance, CHANNEL),
            "REPLICATE_DO_DB|d|STARTUP_OPTIONS|7\nREPLICATE_WILD_IGNORE_TABLE|d.u%|STARTUP_OPTIONS|2"
        );
        // While the applier runs they stay.
        for sql in [
            "CHANGE REPLICATION FILTER REPLICATE_DO_DB = ()",
            "CHANGE REPLICATION FILTER REPLICATE_DO_DB = () FOR CHANNEL ''",
        ] {
            let e = refused(&instance, sql);
            assert_eq!(
                (e.code, &*e.message),
                (
                    3085,
                    "This operation cannot be performed with a running replica sql thread; run STOP REPLICA SQL_THREAD FOR CHANNEL '' first."
                )
            );
        }
        run(&instance, "STOP REPLICA SQL_THREAD");
        run(
            &instance,
            "CHANGE REPLICATION FILTER REPLICATE_DO_DB = (), REPLICATE_REWRITE_DB = ((a, b), (c, `d`)) FOR CHANNEL ''",
        );
        run(
            &instance,
            "CHANGE REPLICATION FILTER REPLICATE_IGNORE_TABLE = (d.u, d.`t,x`)",
        );
        assert_eq!(
            text(&instance, CHANNEL),
            "REPLICATE_DO_DB||CHANGE_REPLICATION_FILTER_FOR_CHANNEL|0\n\
             REPLICATE_IGNORE_TABLE|d.t,x,d.u|CHANGE_REPLICATION_FILTER|0\n\
             REPLICATE_REWRITE_DB|(a,b),(c,d)|CHANGE_REPLICATION_FILTER_FOR_CHANNEL|0\n\
             REPLICATE_WILD_IGNORE_TABLE|d.u%|STARTUP_OPTIONS|2"
        );
        shown_by_statements(&instance, &replica);
        // What is forgotten with the channel comes back with it as it was for all.
        run(&instance, "STOP REPLICA");
        run(&instance, "RESET REPLICA ALL");
        assert_eq!(text(&instance, CHANNEL), "");
        run(
            &instance,
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'nowhere'",
        );
        assert_eq!(
            text(&instance, CHANNEL),
            "REPLICATE_DO_DB|d|STARTUP_OPTIONS|0\n\
             REPLICATE_IGNORE_TABLE|d.t,x,d.u|CHANGE_REPLICATION_FILTER|0\n\
             REPLICATE_WILD_IGNORE_TABLE|d.u%|STARTUP_OPTIONS|0"
        );
        block_on(replica.stop());
        drop(replica);
        block_on(engine.close()).expect("the end");
    }
    // A restart knows the options alone.
    let (_engine, instance) = server(&disk);
    let replica = block_on(ReplicaServer::start_with(&instance, &rules)).expect("a replica");
    let of_channel = options.replace("OPTIONS", "OPTIONS|0");
    assert_eq!(
        (text(&instance, CHANNEL), text(&instance, GLOBAL).as_str()),
        (of_channel, options)
    );
    block_on(replica.stop());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    for (rest, code) in [
        ("", 1064),
        ("REPLICATE_DO_DB", 1064),
        ("REPLICATE_DO_DB = a", 1064),
        ("REPLICATE_DO_DB = ('a')", 1064),
        ("REPLICATE_DO_DB = (a,)", 1064),
        ("REPLICATE_DO_DB = (a.b)", 1064),
        ("REPLICATE_DO_TABLE = (a)", 1064),
        ("REPLICATE_WILD_DO_TABLE = (a.b)", 1064),
        ("REPLICATE_WILD_DO_TABLE = ('ab')", 3067),
        ("REPLICATE_REWRITE_DB = (a, b)", 1064),
        ("REPLICATE_REWRITE_DB = ((a, b, c))", 1064),
        ("REPLICATE_SOMETHING = (a)", 1064),
        ("REPLICATE_DO_DB = (a) REPLICATE_IGNORE_DB = (a)", 1064),
        ("REPLICATE_DO_DB = (a) FOR CHANNEL 'x'", 1794),
    ] {
        let e = refused(&instance, &format!("CHANGE REPLICATION FILTER {rest}"));
        assert_eq!(e.code, code, "{rest}: {}", e.message);
    }
    // A transaction is in no way of it, and is committed (CF_AUTO_COMMIT_TRANS in MySQL's sql_parse.cc).
    run(
        &instance,
        "CREATE DATABASE d; CREATE TABLE d.t (a INT); BEGIN; INSERT INTO d.t VALUES (1); \
        CHANGE REPLICATION FILTER REPLICATE_DO_DB = (a); ROLLBACK",
    );
    assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.t"), 1);
    assert_eq!(
        text(&instance, GLOBAL),
        "REPLICATE_DO_DB|a|CHANGE_REPLICATION_FILTER"
    );
    block_on(replica.stop());
}

#[test]
fn a_channel_that_is_not_there_is_refused() {
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    run(
        &instance,
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'nowhere' FOR CHANNEL ''",
    );
    let long = "x".repeat(65);
    let invalid = "Couldn't create channel: Channel name is either invalid or too long.";
    let none = "Replica channel 'x' does not exist.";
    let unknown = "Replica is not configured or failed to initialize properly.";
    for (sql, code, message) in [
        (
            format!("CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'a' FOR CHANNEL '{long}'").as_str(),
            3076,
            invalid,
        ),
        (
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'a' FOR CHANNEL 'Group_Replication_Applier'",
            3076,
            invalid,
        ),
        (
            "CHANGE REPLICATION FILTER REPLICATE_DO_DB = (a) FOR CHANNEL 'x'",
            1794,
            unknown,
        ),
        ("START REPLICA FOR CHANNEL 'x'", 3074, none),
        ("STOP REPLICA SQL_THREAD FOR CHANNEL 'x'", 3074, none),
        (
            "START SLAVE UNTIL SQL_AFTER_MTS_GAPS FOR CHANNEL 'x'",
            3074,
            none,
        ),
        ("RESET REPLICA FOR CHANNEL 'x'", 3074, none),
        ("RESET REPLICA ALL FOR CHANNEL 'x'", 3074, none),
        ("SHOW REPLICA STATUS FOR CHANNEL 'x'", 3074, none),
        ("SHOW SLAVE STATUS FOR CHANNEL 'x'", 3074, none),
        ("SHOW RELAYLOG EVENTS FOR CHANNEL 'x'", 3074, none),
        ("FLUSH RELAY LOGS FOR CHANNEL 'x'", 3074, none),
    ] {
        let e = refused(&instance, sql);
        assert!(
            (e.code, e.message.starts_with(message)) == (code, true),
            "{sql}: {} {}",
            e.code,
            e.message
        );
    }
    for sql in [
        "SHOW REPLICA STATUS FOR CHANNEL ''",
        "STOP REPLICA FOR CHANNEL ''",
        "RESET REPLICA ALL FOR CHANNEL ''",
    ] {
        run(&instance, sql);
    }
    block_on(replica.stop());
}
