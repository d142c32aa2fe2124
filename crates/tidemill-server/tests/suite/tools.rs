//! The statements of tools that watch replicas and fail them over (`tests/tools/statements.txt`), sent to a source and a replica of it.

use crate::test_server;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use test_server::{TestServer, rows, texts};
use wire::client::ClientError;
use wire::client::blocking::Conn;

/// A server with a binary log.
fn server(id: u32, more: &[&str]) -> TestServer {
    let id = format!("--server-id={id}");
    let own = [
        "--log-bin=binlog",
        &id,
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
    ];
    TestServer::start(&[&own, more].concat())
}

/// What stands in the place of the names in braces.
struct Facts(Vec<(&'static str, String)>);

impl Facts {
    fn of(source: &mut Conn, replica: &mut Conn, port: u16) -> Facts {
        let uuid = |c: &mut Conn| rows(c, "SELECT @@server_uuid")[0][0].clone();
        let status = rows(source, "SHOW MASTER STATUS").remove(0);
        Facts(vec![
            ("{host}", "127.0.0.1".to_owned()),
            ("{port}", port.to_string()),
            ("{file}", status[0].clone()),
            ("{pos}", status[1].clone()),
            ("{gtids}", status[4].clone()),
            ("{uuid}", uuid(source)),
            ("{replica_uuid}", uuid(replica)),
        ])
    }

    fn put_into(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            text = text.replace(name, value);
        }
        text
    }
}

/// What is wrong with the answer to a statement.
fn fault(conn: &mut Conn, sql: &str, wanted: &str) -> Option<String> {
    let (kind, rest) = wanted.split_once(' ').unwrap_or((wanted, ""));
    let result = match conn.query(sql) {
        Ok(mut results) => results.pop().expect("one answer at least"),
        Err(ClientError::Server(e)) => {
            let right = kind == "error" && rest.parse() == Ok(e.code);
            return (!right).then(|| format!("error {}: {}", e.code, e.message));
        }
        Err(e) => panic!("{sql}: {e}"),
    };
    let names: Vec<String> = result.columns.iter().map(|c| c.name.clone()).collect();
    let there = texts(&result);
    let right = match kind {
        "ok" => names.is_empty(),
        // Names of columns may have spaces: all of a statement's are compared as one text.
        "has" | "empty" => {
            let all = format!(" {} ", names.join(" ")).to_lowercase();
            let named = rest.to_lowercase();
            let mut named = named.split(' ');
            named.all(|n| all.contains(&format!(" {n} "))) && there.is_empty() == (kind == "empty")
        }
        "is" => {
            let values: Vec<&str> = rest.split('|').map(str::trim).collect();
            there.len() == 1 && there[0] == values
        }
        _ => false,
    };
    (!right).then(|| format!("{names:?}: {there:?}"))
}

/// The same, of what is so for a while: what is only looked at may be on its way, as a replica that an earlier statement has started.
fn lasting_fault(conn: &mut Conn, sql: &str, wanted: &str) -> Option<String> {
    let first = sql.split_whitespace().next().unwrap_or_default();
    let looks = ["select", "show"]
        .iter()
        .any(|w| first.eq_ignore_ascii_case(w));
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let fault = fault(conn, sql, wanted)?;
        if !looks || Instant::now() > until {
            return Some(fault);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_statements_of_tools_are_understood() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/tools/statements.txt");
    let table = std::fs::read_to_string(&path).expect("the table");
    let source = server(1, &[]);
    let replica = server(2, &["--report-host=127.0.0.1", "--report-port=3399"]);
    let port = source
        .listening
        .addresses
        .first()
        .expect("it listens")
        .port();
    let (mut at_source, mut at_replica) = (source.client(), replica.client());
    for sql in [
        "CREATE USER repl IDENTIFIED BY 'secret'",
        "GRANT REPLICATION SLAVE ON *.* TO repl",
    ] {
        at_source.query(sql).expect(sql);
    }
    let change = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='repl', SOURCE_PASSWORD='secret', \
         SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1"
    );
    at_replica.query(&change).expect("a source");
    at_replica.query("START REPLICA").expect("it begins");
    let until = Instant::now() + Duration::from_secs(30);
    while rows(&mut at_source, "SHOW REPLICAS").is_empty()
        || rows(
            &mut at_replica,
            "SELECT COUNT(*) FROM mysql.user WHERE user = 'repl' AND Repl_slave_priv = 'Y'",
        ) != [["1"]]
    {
        assert!(Instant::now() < until, "it does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
    // What it says of itself.
    let shown = rows(&mut at_source, "SHOW REPLICAS").concat();
    assert_eq!(shown[..4], ["2", "127.0.0.1", "3399", "1"]);
    for c in [&mut at_source, &mut at_replica] {
        c.set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a limit");
    }
    let mut facts = Facts::of(&mut at_source, &mut at_replica, port);
    let (mut tool, mut sent, mut faults) = ("", 0, Vec::new());
    let mut lines = table
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("== ") {
            tool = name;
            facts = Facts::of(&mut at_source, &mut at_replica, port);
            continue;
        }
        let (to, sql) = line.split_once("> ").expect(line);
        let wanted = lines.next().expect(line).trim();
        let conn = match to {
            "source" => &mut at_source,
            "replica" => &mut at_replica,
            _ => panic!("{line}"),
        };
        let (sql, wanted) = (facts.put_into(sql), facts.put_into(wanted));
        if let Some(fault) = lasting_fault(conn, &sql, &wanted) {
            faults.push(format!(
                "{tool}: {to}: {sql}\n    wanted: {wanted}\n    came: {fault}"
            ));
        }
        sent += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(sent > 150, "{sent}");
}

/// Waits for its end in a thread of its own; what the answer's one value is.
fn asked(server: &TestServer, sql: String) -> std::thread::JoinHandle<String> {
    let mut c = server.client();
    std::thread::spawn(move || rows(&mut c, &sql)[0][0].clone())
}

/// An account that is given with START REPLICA, for those who want no password in a table.
#[test]
fn an_account_is_given_for_as_long_as_the_receiver_runs() {
    let source = server(1, &[]);
    let replica = server(2, &[]);
    let port = source.listening.addresses.first();
    let port = port.expect("it listens").port();
    let (mut s, mut r) = (source.client(), replica.client());
    for sql in [
        "CREATE USER repl IDENTIFIED BY 'secret'",
        "GRANT REPLICATION SLAVE ON *.* TO repl",
    ] {
        s.query(sql).expect(sql);
    }
    let status = |c: &mut Conn, name: &str| {
        let result = c.query("SHOW REPLICA STATUS").expect("a status").remove(0);
        let at = result.columns.iter().position(|c| c.name == name);
        texts(&result)[0][at.expect(name)].clone()
    };
    let until = |c: &mut Conn, name: &str, value: &str| {
        let limit = Instant::now() + Duration::from_secs(30);
        while status(c, name) != value {
            assert!(Instant::now() < limit, "{name}: {}", status(c, name));
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let change = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1"
    );
    r.query(&change).expect("a source");
    let given = "USER = 'repl' PASSWORD = 'secret'";
    let refused = r.query(&format!("START REPLICA SQL_THREAD {given}"));
    assert!(matches!(refused, Err(ClientError::Server(e)) if e.code == 1763));
    r.query(&format!("START REPLICA {given} FOR CHANNEL ''"))
        .expect("it begins");
    until(&mut r, "Replica_IO_Running", "Yes");
    assert_eq!(status(&mut r, "Source_User"), "repl");
    let kept = rows(&mut r, "SELECT * FROM mysql.replica_source").concat();
    assert!(
        !kept.is_empty()
            && !kept
                .iter()
                .any(|v| v.contains("secret") || v.contains("repl"))
    );
    // The next one does not know it.
    r.query("STOP REPLICA").expect("it ends");
    assert_eq!(status(&mut r, "Source_User"), "");
    r.query("START REPLICA").expect("it begins");
    until(&mut r, "Last_IO_Errno", "1045");
    r.query("STOP REPLICA").expect("it ends");
    r.query(&format!("START REPLICA IO_THREAD {given}"))
        .expect("it begins");
    until(&mut r, "Replica_IO_Running", "Yes");
}

#[test]
fn a_place_of_the_source_is_waited_for() {
    let source = server(1, &[]);
    let replica = server(2, &[]);
    let port = source
        .listening
        .addresses
        .first()
        .expect("it listens")
        .port();
    let (mut s, mut r) = (source.client(), replica.client());
    for sql in [
        "CREATE USER repl IDENTIFIED BY 'secret'",
        "GRANT REPLICATION SLAVE ON *.* TO repl",
    ] {
        s.query(sql).expect(sql);
    }
    let one = |c: &mut Conn, sql: &str| rows(c, sql)[0][0].clone();
    // Nobody applies anything.
    assert_eq!(
        one(&mut r, "SELECT MASTER_POS_WAIT('binlog.000001', 4, 1)"),
        "NULL"
    );
    assert_eq!(
        one(&mut r, "SELECT WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS('', 1)"),
        "NULL"
    );
    for sql in [
        format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='repl', SOURCE_PASSWORD='secret', \
             SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1"
        ),
        "START REPLICA".to_owned(),
    ] {
        r.query(&sql).expect(&sql);
    }
    // Behind the head of a file, and behind the next file's, where there is no transaction.
    for _ in 0..3 {
        let end = rows(&mut s, "SHOW MASTER STATUS").remove(0);
        let wait = format!("SELECT SOURCE_POS_WAIT('{}', {}, 30)", end[0], end[1]);
        assert!(one(&mut r, &wait).parse::<i64>().is_ok_and(|n| n >= 0));
        // Whoever compares the two places knows that all is applied.
        let result = r.query("SHOW SLAVE STATUS").expect("a status").remove(0);
        let values = &texts(&result)[0];
        let column = |name: &str| {
            let at = result.columns.iter().position(|c| c.name == name);
            values[at.expect(name)].clone()
        };
        assert_eq!(
            (
                column("Relay_Master_Log_File"),
                column("Exec_Master_Log_Pos")
            ),
            (column("Master_Log_File"), column("Read_Master_Log_Pos"))
        );
        assert_eq!(
            (column("Master_Log_File"), column("Read_Master_Log_Pos")),
            (end[0].clone(), end[1].clone())
        );
        assert_eq!(one(&mut r, &wait), "0");
        s.query("FLUSH BINARY LOGS").expect("the next file");
    }
    let end = rows(&mut s, "SHOW MASTER STATUS").remove(0);
    let far = format!(
        "SOURCE_POS_WAIT('{}', {}",
        end[0],
        end[1].parse::<u64>().expect("a number") + 1
    );
    assert_eq!(one(&mut r, &format!("SELECT {far}, 0.05)")), "-1");
    let waiting = asked(&replica, format!("SELECT {far})"));
    let gtids = asked(
        &replica,
        format!(
            "SELECT WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS('{}:1-3')",
            one(&mut s, "SELECT @@server_uuid")
        ),
    );
    s.query("CREATE DATABASE d").expect("a transaction");
    assert!(
        waiting
            .join()
            .expect("it ends")
            .parse::<i64>()
            .is_ok_and(|n| n >= 1)
    );
    assert_eq!(gtids.join().expect("it ends"), "0");
    let uuid = one(&mut s, "SELECT @@server_uuid");
    nothing_more_comes(&replica, &uuid);
    arguments_that_make_no_sense(&mut r);
}

fn arguments_that_make_no_sense(r: &mut Conn) {
    for (sql, value) in [
        ("SELECT MASTER_POS_WAIT(NULL, 4)", "NULL"),
        ("SELECT MASTER_POS_WAIT('binlog.000001', NULL)", "NULL"),
        ("SELECT MASTER_POS_WAIT('nonsense', 4)", "NULL"),
        ("SELECT MASTER_POS_WAIT('binlog.000001', -4)", "NULL"),
        (
            "SELECT MASTER_POS_WAIT('binlog.000001', 4, 1, 'other')",
            "NULL",
        ),
        ("SELECT MASTER_POS_WAIT('binlog.000001', 4, 1, '')", "0"),
        ("SELECT WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS(NULL)", "NULL"),
    ] {
        assert_eq!(rows(r, sql)[0][0], value, "{sql}");
    }
    for (sql, code) in [
        ("SELECT MASTER_POS_WAIT('binlog.000001', 4, -1)", 1210),
        ("SELECT WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS('x')", 1772),
        ("SELECT MASTER_POS_WAIT('binlog.000001')", 1582),
    ] {
        assert_eq!(test_server::refused(r.query(sql)).code, code, "{sql}");
    }
}

/// Who waits is told.
fn nothing_more_comes(replica: &TestServer, uuid: &str) {
    let mut r = replica.client();
    let never = asked(
        replica,
        "SELECT MASTER_POS_WAIT('binlog.999999', 4)".to_owned(),
    );
    let set = asked(
        replica,
        format!("SELECT WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS('{}:99')", uuid),
    );
    std::thread::sleep(Duration::from_millis(200));
    r.query("STOP REPLICA SQL_THREAD").expect("it stops");
    assert_eq!(never.join().expect("it ends"), "NULL");
    assert_eq!(set.join().expect("it ends"), "NULL");
    r.query("START REPLICA SQL_THREAD").expect("it begins");
}
