//! Threads, the sources of variables' values and the log, as `performance_schema` shows them.

use crate::test_server;

use test_server::{TestServer, rows};
use wire::client::ClientError;

#[test]
fn connections_and_threads_of_the_process_are_listed() {
    let server = TestServer::start(&[]);
    let mut c = server.client();
    let own = rows(
        &mut c,
        "SELECT t.thread_id = t.processlist_id, name, type, processlist_user, processlist_host, processlist_db, processlist_command, \
         processlist_info IS NOT NULL, instrumented, thread_os_id FROM performance_schema.threads AS t WHERE processlist_id = CONNECTION_ID()",
    );
    let expected = [
        "1",
        "thread/sql/one_connection",
        "FOREGROUND",
        "root",
        "localhost",
        "NULL",
        "Query",
        "1",
        "NO",
        "NULL",
    ];
    assert_eq!(own, [expected]);
    let others = rows(
        &mut c,
        "SELECT name, COUNT(*) > 0, COUNT(processlist_id), COUNT(DISTINCT thread_os_id) = COUNT(*) FROM performance_schema.threads WHERE type = 'BACKGROUND' AND name IN ('thread/tidemill/purge', 'thread/tidemill/cleaner') GROUP BY name ORDER BY name",
    );
    // The other tests' servers are of the same process.
    let line = |name: &str| [name, "1", "0", "1"].map(str::to_owned).to_vec();
    assert_eq!(
        others,
        [
            line("thread/tidemill/cleaner"),
            line("thread/tidemill/purge")
        ]
    );
    let twice = "SELECT COUNT(*) - COUNT(DISTINCT thread_id) FROM performance_schema.threads";
    assert_eq!(rows(&mut c, twice), [["0"]]);
    // MySQL asks for SELECT alone, and for that.
    c.query("CREATE USER u").expect("a user");
    let mut u = server.login("u", "").expect("let in");
    for table in ["threads", "variables_info", "error_log"] {
        let refused = u.query(&format!("SELECT * FROM performance_schema.{table}"));
        match refused {
            Err(ClientError::Server(e)) => assert_eq!(e.code, 1142, "{table}"),
            other => panic!("{table}: {other:?}"),
        }
    }
    c.query("GRANT SELECT ON performance_schema.* TO u")
        .expect("a grant");
    let all = "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_user = 'root'";
    assert_eq!(rows(&mut u, all), [["1"]]);
}

#[test]
fn variables_say_where_their_values_are_from() {
    let file = std::env::temp_dir().join(format!("tidemill-vars-{}.cnf", std::process::id()));
    std::fs::write(&file, "[mysqld]\nsort_buffer_size=1M\nmax_connections=77\n").expect("a file");
    let option = format!("--defaults-file={}", file.display());
    let server = TestServer::start(&["--server-id=9", "--max-connections=55", &option]);
    let mut c = server.client();
    let mut of = |name: &str| {
        let sql = format!(
            "SELECT variable_source, variable_path, min_value, max_value, set_user, set_host, TIMESTAMPDIFF(SECOND, set_time, NOW()) BETWEEN 0 AND 60 \
             FROM performance_schema.variables_info WHERE variable_name = '{name}'"
        );
        let found = rows(&mut c, &sql);
        assert_eq!(found.len(), 1, "{name}");
        found[0].join("|")
    };
    let path = file.display().to_string();
    assert_eq!(of("server_id"), "COMMAND_LINE||0|4294967295|NULL|NULL|NULL");
    // The command line has the last word.
    assert!(of("max_connections").starts_with("COMMAND_LINE||1|100000|"));
    assert!(of("sort_buffer_size").starts_with(&format!("EXPLICIT|{path}|32768|")));
    assert_eq!(of("autocommit"), "COMPILED||0|0|NULL|NULL|NULL");
    let mut other = server.client();
    other
        .query("SET GLOBAL autocommit = 0; SET PERSIST long_query_time = 3")
        .or_else(|_| {
            other.query("SET GLOBAL autocommit = 0")?;
            other.query("SET PERSIST long_query_time = 3")
        })
        .expect("variables");
    assert_eq!(of("autocommit"), "DYNAMIC||0|0|root|localhost|1");
    assert!(of("long_query_time").starts_with("DYNAMIC||0|31536000|root|localhost|1"));
    // What a session sets for itself is its own, and what is refused has no effect.
    other
        .query("SET SESSION net_read_timeout = 5")
        .expect("set");
    let _refused = other.query("SET GLOBAL net_write_timeout = 'x'").is_err();
    assert!(of("net_read_timeout").starts_with("COMPILED|"));
    assert!(of("net_write_timeout").starts_with("COMPILED|"));
    let joined = "SELECT COUNT(*) FROM performance_schema.global_variables AS g LEFT JOIN performance_schema.variables_info AS i USING (variable_name) WHERE i.variable_name IS NULL";
    assert_eq!(rows(&mut c, joined), [["0"]]);
    std::fs::remove_file(&file).expect("the file");
}

#[test]
fn the_log_is_a_table() {
    let server = TestServer::start(&[]);
    let mut c = server.client();
    let found = rows(
        &mut c,
        "SELECT prio, subsystem, error_code, TIMESTAMPDIFF(SECOND, logged, NOW(6)) BETWEEN 0 AND 60, MICROSECOND(logged) >= 0 \
         FROM performance_schema.error_log WHERE data LIKE 'ready for connections on 127.0.0.1%'",
    );
    assert_eq!(found, [["Note", "Server", "NULL", "1", "1"]]);
    let lines = rows(
        &mut c,
        "SELECT CONCAT('[', IF(prio = 'Error', 'ERROR', prio), '] ', data) FROM performance_schema.error_log ORDER BY logged",
    );
    let written = server.logged();
    let written: Vec<&str> = written
        .lines()
        .map(|l| l.split_once(" 0 ").expect("its form").1)
        .collect();
    assert_eq!(lines.concat(), written);
}
