//! Dumps over sockets: heartbeats, KILL, the end of the server, clients that do not read, files that are purged meanwhile; and how a replica comes to its
//! source: over TLS, with the source's key, again and again.

use crate::test_server;
#[allow(dead_code, reason = "certificates are all that is used here")]
use crate::tls_client;

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use test_server::{TestServer, refused, rows};
use tls_client::Authority;
use wire::binlog::header::{Header, kind};
use wire::client::ClientError;
use wire::client::blocking::Conn;
use wire::command::code;
use wire::read::Reader;

/// A server with a binary log.
fn source(more: &[&str]) -> TestServer {
    let own = [
        "--log-bin",
        "--server-id=1",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
    ];
    let server = TestServer::start(&[&own, more].concat());
    let mut root = server.client();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB)",
    ] {
        root.query(sql).expect(sql);
    }
    server
}

/// The body of COM_BINLOG_DUMP from the first file's start.
fn from_the_start() -> Vec<u8> {
    let mut body = 4u32.to_le_bytes().to_vec();
    body.extend_from_slice(&0u16.to_le_bytes());
    body.extend_from_slice(&9u32.to_le_bytes());
    body
}

/// A client that is sent the events; its connection's number.
fn dump(server: &TestServer, beat_ms: u64) -> (Conn, u64) {
    let mut c = server.client();
    let beat = beat_ms * 1_000_000;
    let sets = format!(
        "SET @source_heartbeat_period = {beat}, @source_binlog_checksum = 'CRC32', @replica_uuid = UUID()"
    );
    c.query(&sets).expect("variables");
    let id = rows(&mut c, "SELECT CONNECTION_ID()")[0][0]
        .parse()
        .expect("a number");
    c.set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a limit");
    let first = c
        .raw_command(code::BINLOG_DUMP, &from_the_start())
        .expect("the first event");
    assert_eq!(first[0], 0);
    (c, id)
}

/// The next event's header.
fn event(c: &mut Conn) -> Result<Header, ClientError> {
    let packet = c.next_packet()?;
    match packet.split_first() {
        Some((0, event)) => Ok(Header::read(&mut Reader::new(event))?),
        _ => Err(ClientError::Io(std::io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Reads until nothing but heartbeats comes; the position behind the last event.
fn caught_up(c: &mut Conn) -> u32 {
    let mut last = 0;
    loop {
        let header = event(c).expect("an event");
        match header.kind {
            kind::HEARTBEAT | kind::HEARTBEAT_V2 => return last,
            _ => last = header.next_position,
        }
    }
}

/// Reads to the end of the connection.
fn ended(c: &mut Conn) -> ClientError {
    loop {
        if let Err(e) = event(c) {
            return e;
        }
    }
}

/// More than sockets hold.
fn fill(server: &TestServer, mib: usize) {
    let mut root = server.client();
    for _ in 0..mib {
        root.query("INSERT INTO d.t (b) VALUES (REPEAT('x', 1048576))")
            .expect("a row");
    }
}

fn wait_for(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_idle_dump_has_a_heartbeat_and_wakes_for_more() {
    let server = source(&[]);
    let (mut c, _) = dump(&server, 200);
    let at = caught_up(&mut c);
    let mut root = server.client();
    let state = rows(&mut root, "SHOW MASTER STATUS");
    assert_eq!(state[0][1], at.to_string());
    // One each period, with the place that the dump is at.
    let begun = Instant::now();
    for _ in 0..3 {
        let beat = event(&mut c).expect("a heartbeat");
        assert_eq!((beat.kind, beat.next_position), (kind::HEARTBEAT, at));
    }
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(400), "{took:?}");
    root.query("INSERT INTO d.t (b) VALUES ('more')")
        .expect("a row");
    let begun = Instant::now();
    let header = loop {
        let header = event(&mut c).expect("an event");
        if header.kind != kind::HEARTBEAT {
            break header;
        }
    };
    assert_eq!(header.kind, kind::GTID);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn kill_ends_a_dump_whatever_it_is_at() {
    let server = source(&[]);
    let mut root = server.client();
    let (mut idle, id) = dump(&server, 100);
    caught_up(&mut idle);
    let listed = rows(
        &mut root,
        &format!("SELECT command, state FROM information_schema.processlist WHERE id = {id}"),
    );
    let all = "Source has sent all binlog to replica; waiting for more updates";
    assert_eq!(listed, [["Binlog Dump", all]]);
    fill(&server, 24);
    // It has more than its socket takes, and nobody reads.
    let (mut stuck, other) = dump(&server, 100);
    std::thread::sleep(Duration::from_millis(300));
    let listed = rows(
        &mut root,
        &format!("SELECT state FROM information_schema.processlist WHERE id = {other}"),
    );
    assert_eq!(listed, [["Sending binlog event to replica"]]);
    for id in [id, other] {
        root.query(&format!("KILL {id}")).expect("killed");
    }
    wait_for("both are gone", || {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id IN ({id}, {other})"
        );
        rows(&mut root, &sql) == [["0"]]
    });
    for c in [&mut idle, &mut stuck] {
        ended(c);
    }
    root.query("INSERT INTO d.t (b) VALUES ('on')")
        .expect("the server goes on");
}

#[test]
fn the_server_ends_with_dumps_attached() {
    for fills in [0, 24] {
        let mut server = source(&[]);
        fill(&server, fills);
        // Without heartbeats, one that has read all, and one that does not read.
        let (mut idle, _) = dump(&server, 100);
        caught_up(&mut idle);
        let (_stuck, _) = dump(&server, 0);
        std::thread::sleep(Duration::from_millis(200));
        let begun = Instant::now();
        server.stop();
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(5), "{took:?}");
        ended(&mut idle);
    }
}

#[test]
fn a_file_that_is_being_sent_is_not_purged() {
    let server = source(&[]);
    fill(&server, 24);
    let mut root = server.client();
    for _ in 0..3 {
        root.query("FLUSH BINARY LOGS").expect("the next file");
    }
    let files = rows(&mut root, "SHOW BINARY LOGS");
    assert_eq!(files.len(), 4);
    let (mut slow, _) = dump(&server, 100);
    let purge = format!("PURGE BINARY LOGS TO '{}'", files[3][0]);
    root.query(&purge).expect("it is passed over");
    assert_eq!(rows(&mut root, "SHOW BINARY LOGS").len(), 4);
    // All of it comes, the rest of the first file included.
    let mut seen = 0;
    loop {
        match event(&mut slow).expect("an event").kind {
            kind::WRITE_ROWS => seen += 1,
            kind::HEARTBEAT => break,
            _ => {}
        }
    }
    assert!(seen >= 24, "{seen}");
    root.query(&purge).expect("nobody needs them");
    assert_eq!(rows(&mut root, "SHOW BINARY LOGS").len(), 1);
    // Whoever comes for them now is told.
    let mut late = server.client();
    late.query("SET @source_binlog_checksum = 'CRC32'")
        .expect("a variable");
    let mut body = from_the_start();
    body.extend_from_slice(files[0][0].as_bytes());
    match late.raw_command(code::BINLOG_DUMP, &body) {
        Err(ClientError::Server(e)) => assert_eq!(e.code, 1236),
        other => panic!("{other:?}"),
    }
}

#[test]
fn kill_ends_show_binlog_events() {
    let server = source(&["--max-binlog-size=1G"]);
    let mut root = server.client();
    root.query("CREATE TABLE d.many (id INT PRIMARY KEY, a VARCHAR(200))")
        .expect("a table");
    root.query("INSERT INTO d.many VALUES (0, REPEAT('a', 200))")
        .expect("a row");
    let mut there = 1;
    while there < 1 << 17 {
        root.query(&format!(
            "INSERT INTO d.many SELECT id + {there}, a FROM d.many"
        ))
        .expect("rows");
        there *= 2;
    }
    // It reads the file to its end, and shows nothing. The first one waits for the file, too.
    const ALL: &str = "SHOW BINLOG EVENTS LIMIT 100000000, 1";
    assert!(rows(&mut root, ALL).is_empty());
    let begun = Instant::now();
    assert!(rows(&mut root, ALL).is_empty());
    let whole = begun.elapsed();
    let mut other = server.client();
    let id = rows(&mut other, "SELECT CONNECTION_ID()")[0][0].clone();
    // On a busy machine it may not have begun, or be over, when it is killed: then once more.
    let ended = (0..100).any(|n| {
        std::thread::scope(|scope| {
            let other = &mut other;
            let shown = scope.spawn(move || other.query(ALL));
            std::thread::sleep(whole * (n % 20) / 20);
            root.query(&format!("KILL QUERY {id}")).expect("killed");
            let result = shown.join().expect("a thread");
            matches!(result, Err(ClientError::Server(e)) if e.code == 1317)
        })
    });
    assert!(ended, "it reads on, {whole:?} long");
}

/// A server that is a replica of nobody yet.
fn replica(name: u32) -> TestServer {
    TestServer::start(&[
        "--log-bin",
        &format!("--server-id={name}"),
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
    ])
}

/// What SHOW REPLICA STATUS says of this.
fn status(c: &mut Conn, name: &str) -> String {
    let result = c.query("SHOW REPLICA STATUS").expect("a status");
    let result = result.last().expect("a result");
    let at = result
        .columns
        .iter()
        .position(|c| c.name == name)
        .expect(name);
    test_server::texts(result)[0][at].clone()
}

/// Makes the replica one of that source, as the account `u`.
fn follow(c: &mut Conn, (host, port): (&str, u16), more: &str) {
    for sql in [
        "STOP REPLICA".to_owned(),
        "RESET REPLICA ALL".to_owned(),
        format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='{host}', SOURCE_PORT={port}, SOURCE_USER='u', SOURCE_PASSWORD='geheim', \
             SOURCE_AUTO_POSITION=1, SOURCE_CONNECT_RETRY=1{more}"
        ),
        "START REPLICA".to_owned(),
    ] {
        c.query(&sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
}

#[test]
fn a_replica_comes_over_tls_or_with_the_sources_key() {
    let authority = Authority::new("authority");
    let dir = std::env::temp_dir().join(format!("tidemill-dumps-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let file = |name: &str, text: &str| -> PathBuf {
        let path = dir.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let (cert, key) = authority.certify("server", 1);
    let (ca, cert, key) = (
        file("ca", &authority.pem),
        file("cert", &cert),
        file("key", &key),
    );
    let stranger = file("stranger", &Authority::new("stranger").pem);
    let source = source(&[
        &format!("--ssl-ca={}", ca.display()),
        &format!("--ssl-cert={}", cert.display()),
        &format!("--ssl-key={}", key.display()),
    ]);
    let port = source.listening.addresses[0].port();
    let mut root = source.client();
    let open = |root: &mut Conn| {
        // The password is in no cache: it has to be sent.
        for sql in [
            "DROP USER IF EXISTS u",
            "CREATE USER u IDENTIFIED WITH caching_sha2_password BY 'geheim'",
            "GRANT REPLICATION SLAVE ON *.* TO u",
        ] {
            root.query(sql).expect(sql);
        }
    };
    let replica = replica(2);
    let mut c = replica.client();
    let ssl = |ca: &PathBuf, verify: u8| {
        format!(
            ", SOURCE_SSL=1, SOURCE_SSL_CA='{}', SOURCE_SSL_VERIFY_SERVER_CERT={verify}",
            ca.display()
        )
    };
    // How it comes, and the error it meets; none: it is let in.
    let ways: [(&str, String, &str); 7] = [
        ("localhost", String::new(), "2061"),
        ("localhost", ", GET_SOURCE_PUBLIC_KEY=1".to_owned(), ""),
        ("127.0.0.1", ", SOURCE_SSL=1".to_owned(), ""),
        ("127.0.0.1", ssl(&ca, 0), ""),
        ("localhost", ssl(&ca, 1), ""),
        ("127.0.0.1", ssl(&ca, 1), "2026"),
        ("localhost", ssl(&stranger, 0), "2026"),
    ];
    let mut n = 0;
    for (host, more, error) in ways {
        open(&mut root);
        follow(&mut c, (host, port), &more);
        if error.is_empty() {
            n += 1;
            root.query("INSERT INTO d.t (b) VALUES ('one')")
                .expect("a row");
            wait_for(
                &format!("{host}{more}: {}", status(&mut c, "Last_IO_Error")),
                || {
                    let there = c.query("SELECT COUNT(*) FROM d.t");
                    there.is_ok_and(|r| test_server::texts(&r[0]) == [[n.to_string()]])
                },
            );
        } else {
            wait_for(&format!("{host}{more}"), || {
                status(&mut c, "Last_IO_Errno") == error
            });
        }
    }
    // Who is to come over TLS is not let in otherwise.
    root.query("ALTER USER u REQUIRE SSL").expect("a change");
    follow(&mut c, ("localhost", port), ", GET_SOURCE_PUBLIC_KEY=1");
    wait_for("refused", || status(&mut c, "Last_IO_Errno") == "1045");
    c.query("STOP REPLICA").expect("stopped");
    let _gone = std::fs::remove_dir_all(&dir);
}

#[test]
fn a_lost_source_is_tried_again_after_a_while_and_not_for_ever() {
    // An address of its own: a replica of another test may still look for a source at a port that is now this one's.
    let listener = TcpListener::bind("127.0.0.77:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (came, coming) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // Whoever comes is sent away.
        for socket in listener.incoming().flatten() {
            drop(socket);
            if came.send(Instant::now()).is_err() {
                break;
            }
        }
    });
    let replica = replica(2);
    let mut c = replica.client();
    follow(&mut c, ("127.0.0.77", port), ", SOURCE_RETRY_COUNT=2");
    wait_for("it gives up", || {
        status(&mut c, "Replica_IO_Running") == "No"
    });
    let times: Vec<Instant> = coming.try_iter().collect();
    assert_eq!(times.len(), 3);
    for pair in times.windows(2) {
        let pause = pair[1] - pair[0];
        assert!(
            pause > Duration::from_millis(900) && pause < Duration::from_secs(5),
            "{pause:?}"
        );
    }
    assert_eq!(status(&mut c, "Last_IO_Errno"), "2013");
    // While it waits for the next try it ends at once.
    follow(&mut c, ("127.0.0.77", port), ", SOURCE_CONNECT_RETRY=60");
    coming
        .recv_timeout(Duration::from_secs(10))
        .expect("it has come");
    let begun = Instant::now();
    c.query("STOP REPLICA").expect("stopped");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_replica_needs_the_privilege_and_a_binary_log() {
    let server = source(&[]);
    let mut root = server.client();
    root.query("CREATE USER u IDENTIFIED BY ''")
        .expect("an account");
    let mut c = server.login("u", "").expect("let in");
    assert_eq!(
        refused(c.raw_command(code::BINLOG_DUMP, &from_the_start())).code,
        1227
    );
    let none = TestServer::start(&["--server-id=1"]);
    assert_eq!(
        refused(
            none.client()
                .raw_command(code::BINLOG_DUMP, &from_the_start())
        )
        .code,
        1236
    );
}
