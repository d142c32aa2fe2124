//! TLS from outside: what is offered, what is demanded, what is refused, and that nothing said before it counts.

use crate::test_server;
use crate::tls_client;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::version::{TLS12, TLS13};
use test_server::{TestServer, refused, rows};
use tidemill_server::log::Log;
use tidemill_server::option_files::FileSystem;
use tidemill_server::options::parse;
use tidemill_server::server::serve;
use tls_client::{Authority, Secure, error, greeted, packet, ssl_request};
use wire::ProtocolError;
use wire::capability::{self, has};
use wire::client::ClientError;
use wire::client::blocking::Conn;
use wire::handshake::{Greeting, HandshakeResponse};
use wire::packet::PacketWriter;

/// Certificates are made, which takes a while.
const MADE: &str = "--auto-generate-certs";

const BOTH: &[&rustls::SupportedProtocolVersion] = &[&TLS12, &TLS13];

fn tcp(server: &TestServer) -> SocketAddr {
    server.listening.addresses[0]
}

fn data(server: &TestServer) -> PathBuf {
    server.dir.join("data")
}

fn read(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Options for a server with a certificate of its own.
fn certified(dir: &Path, authority: &Authority) -> Vec<String> {
    std::fs::create_dir_all(dir).expect("a folder");
    let (cert, key) = authority.certify("server", 1);
    let mut options = Vec::new();
    for (variable, text) in [
        ("ssl-ca", &authority.pem),
        ("ssl-cert", &cert),
        ("ssl-key", &key),
    ] {
        let file = dir.join(format!("{variable}.pem"));
        std::fs::write(&file, text).expect("a file");
        options.push(format!("--{variable}={}", file.display()));
    }
    options
}

fn started(name: &str, authority: &Authority, more: &[&str]) -> (TestServer, PathBuf) {
    let files = std::env::temp_dir().join(format!("tidemill-tls-{}-{name}", std::process::id()));
    let options = certified(&files, authority);
    let words: Vec<&str> = options
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    (TestServer::start(&words), files)
}

#[test]
fn certificates_are_made_once_and_both_versions_are_spoken() -> Result<(), ClientError> {
    let mut server = TestServer::start(&[MADE]);
    let dir = data(&server);
    for (name, mode) in [
        ("ca.pem", 0o644),
        ("ca-key.pem", 0o600),
        ("server-cert.pem", 0o644),
        ("server-key.pem", 0o600),
        ("client-cert.pem", 0o644),
        ("client-key.pem", 0o600),
    ] {
        let about = std::fs::metadata(dir.join(name)).expect(name);
        assert_eq!(about.permissions().mode() & 0o777 & !0o022, mode, "{name}");
    }
    let ca = read(&dir, "ca.pem");
    let mut root = server.client();
    root.query("CREATE USER u@'%' IDENTIFIED WITH caching_sha2_password BY 'pw'")?;
    for (version, name) in [(&TLS12, "TLSv1.2"), (&TLS13, "TLSv1.3")] {
        let secure = Secure::new(&ca, None, &[version]);
        // The first login of all sends the password itself, which only a secure transport may.
        let mut conn = secure.login(tcp(&server), "u", "pw")?;
        assert_eq!(conn.status("Ssl_version"), name);
        assert!(
            conn.status("Ssl_cipher_list")
                .contains(&conn.status("Ssl_cipher"))
        );
        assert!(
            matches!(secure.login(tcp(&server), "u", "px"), Err(ClientError::Server(e)) if e.code == 1045)
        );
        // The session is resumed.
        let mut again = secure.login(tcp(&server), "u", "pw")?;
        assert_eq!(again.status("Ssl_sessions_reused"), "1", "{name}");
        assert_ne!(again.status("Ssl_session_cache_hits"), "0");
    }
    assert_eq!(rows(&mut root, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1], "");
    assert_eq!(
        rows(&mut root, "SELECT @@have_ssl, @@ssl_cert"),
        [["YES", "server-cert.pem"]]
    );
    let accepts = rows(
        &mut root,
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('Ssl_accepts', 'Ssl_finished_accepts')",
    );
    assert_eq!(
        accepts,
        [["Ssl_accepts", "6"], ["Ssl_finished_accepts", "6"]]
    );
    drop(root);
    server.stop();
    Ok(())
}

#[test]
fn large_packets_both_ways_and_a_client_that_reads_late() -> Result<(), ClientError> {
    let server = TestServer::start(&[MADE]);
    let secure = Secure::new(&read(&data(&server), "ca.pem"), None, BOTH);
    let mut conn = secure.login(tcp(&server), "root", "")?;
    let long = "x".repeat(3 << 20);
    let answer = conn.query(&format!("SELECT LENGTH('{long}') AS n, 'y'"))?;
    assert_eq!(
        test_server::texts(&answer[0]),
        [[(3 << 20).to_string(), "y".to_owned()]]
    );
    conn.ask("SELECT REPEAT('abc', 5000000) AS t UNION ALL SELECT 'end'")?;
    // The socket's buffers fill up; the server waits with a record half sent.
    std::thread::sleep(Duration::from_millis(300));
    let answer = conn.answer()?;
    let texts = test_server::texts(&answer[0]);
    assert_eq!(
        (texts[0][0].len(), texts[1][0].as_str()),
        (15_000_000, "end")
    );
    assert!(texts[0][0].as_bytes().chunks(3).all(|c| c == b"abc"));
    Ok(())
}

/// A login of root without a password, as a packet.
fn plain_login(sequence: u8, capabilities: u32) -> Vec<u8> {
    let mut writer = PacketWriter::new();
    writer.set_sequence(sequence);
    let response = HandshakeResponse {
        capabilities,
        max_packet: 1 << 24,
        collation: 45,
        user: b"root",
        ..HandshakeResponse::default()
    };
    response.write(&mut writer);
    writer.pending().to_vec()
}

#[test]
fn nothing_said_before_tls_counts() {
    let mut server = TestServer::start(&[MADE]);
    let secure = Secure::new(&read(&data(&server), "ca.pem"), None, BOTH);
    // A whole login of root behind the request, in one segment: what somebody in the middle would put there.
    let (mut socket, greeting) = greeted(tcp(&server));
    let parsed = Greeting::parse(&greeting).expect("a greeting");
    assert!(has(parsed.capabilities, capability::SSL));
    let plain = capability::PROTOCOL_41 | capability::SECURE_CONNECTION;
    let mut bytes = ssl_request();
    bytes.extend(plain_login(2, plain));
    // It is read as TLS, and is none: an alert and the end, no packet.
    socket.write_all(&bytes).expect("sent");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("the end");
    assert_eq!(answer.get(..3), Some(&[21, 3, 3][..]), "{answer:?}");

    // The same a moment later.
    let (mut socket, _) = greeted(tcp(&server));
    socket.write_all(&ssl_request()).expect("sent");
    std::thread::sleep(Duration::from_millis(100));
    socket.write_all(&plain_login(2, plain)).expect("sent");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("the end");
    assert_eq!(answer.get(..3), Some(&[21, 3, 3][..]), "{answer:?}");

    // Before a handshake that is good: the client's own words must not come behind somebody else's.
    let (mut socket, _) = greeted(tcp(&server));
    socket.write_all(&bytes).expect("sent");
    let mut inside = secure.over(socket);
    assert!(inside.write_all(&plain_login(2, plain)).is_err());

    // A login that claims to be TLS and is not.
    let (mut socket, _) = greeted(tcp(&server));
    socket
        .write_all(&plain_login(1, plain | capability::SSL))
        .expect("sent");
    let told = error(&packet(&mut socket).expect("an answer"));
    assert_eq!(told.code, ProtocolError::BadHandshake.code());

    // A second request inside of TLS.
    let (mut socket, _) = greeted(tcp(&server));
    socket.write_all(&ssl_request()).expect("sent");
    let mut inside = secure.over(socket);
    let mut again = ssl_request();
    again[3] = 2;
    inside.write_all(&again).expect("sent");
    let told = error(&packet(&mut inside).expect("an answer"));
    assert_eq!(told.code, ProtocolError::BadHandshake.code());

    // The login that claims to be TLS was never a handshake. What was refused is counted once it is gone.
    let expected = [
        ["Aborted_connects", "5"],
        ["Ssl_accepts", "4"],
        ["Ssl_finished_accepts", "1"],
    ];
    let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Aborted_connects', 'Ssl_accepts', 'Ssl_finished_accepts')";
    let mut root = server.client();
    let since = Instant::now();
    while rows(&mut root, sql) != expected {
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "{:?}",
            rows(&mut root, sql)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(root);
    server.stop();
}

#[test]
fn a_handshake_ends_in_time_and_size() {
    let server = TestServer::start(&[MADE, "--connect-timeout=2"]);
    // A handshake that stops in the middle ends at connect_timeout.
    let (mut socket, _) = greeted(tcp(&server));
    socket.write_all(&ssl_request()).expect("sent");
    socket.write_all(&[22, 3, 1, 1, 0, 1]).expect("sent");
    let since = Instant::now();
    let _reset = socket.read_to_end(&mut Vec::new());
    let took = since.elapsed();
    assert!(
        took > Duration::from_millis(1500) && took < Duration::from_secs(8),
        "{took:?}"
    );

    // One that never ends is cut off by its size, long before its time is up.
    let mut root = server.client();
    root.query("SET GLOBAL connect_timeout = 60").expect("SET");
    let (mut socket, _) = greeted(tcp(&server));
    socket.write_all(&ssl_request()).expect("sent");
    let mut record = vec![22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff];
    record.resize(5 + 0x4000, 0);
    let since = Instant::now();
    while socket.write_all(&record).is_ok() {
        assert!(since.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn a_clients_certificate_counts_or_ends_the_handshake() -> Result<(), ClientError> {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (server, files) = started("clients", &ours, &[]);
    let login = |identity: &(String, String), version| {
        let identity = Some((identity.0.as_str(), identity.1.as_str()));
        Secure::new(&ours.pem, identity, &[version]).login(tcp(&server), "root", "")
    };
    let (good, foreign) = (ours.certify("app", 7), theirs.certify("app", 7));
    let mut root = server.client();
    for version in [&TLS12, &TLS13] {
        let mut conn = login(&good, version)?;
        assert_eq!(conn.status("Ssl_verify_mode"), "5");
        // TLS 1.3 tells a client after its own handshake is done.
        let refused = login(&foreign, version).err().expect("a foreign authority");
        assert!(matches!(refused, ClientError::Io(_)), "{refused:?}");
    }
    // None is needed.
    Secure::new(&ours.pem, None, BOTH).login(tcp(&server), "root", "")?;
    // Revoked.
    std::fs::write(files.join("crl.pem"), ours.revoke(7)).expect("a file");
    let list = files.join("crl.pem");
    root.query(&format!("SET GLOBAL ssl_crl = '{}'", list.display()))?;
    login(&good, &TLS13)?;
    root.query("ALTER INSTANCE RELOAD TLS")?;
    assert!(login(&good, &TLS13).is_err());
    login(&ours.certify("other", 8), &TLS13)?;
    std::fs::remove_dir_all(files).expect("removal");
    Ok(())
}

#[test]
fn reload_takes_what_is_good_and_keeps_what_was() -> Result<(), ClientError> {
    let ours = Authority::new("ours");
    let (server, files) = started("reload", &ours, &[]);
    let trusts = |authority: &Authority| {
        let secure = Secure::new(&authority.pem, None, BOTH);
        secure.login(tcp(&server), "root", "").is_ok()
    };
    let mut root = server.client();
    root.query("CREATE USER plain@localhost IDENTIFIED BY 'x'")?;
    let e = refused(
        server
            .login("plain", "x")?
            .query("ALTER INSTANCE RELOAD TLS"),
    );
    assert_eq!(e.code, 1227);

    let old = rows(&mut root, "SELECT @@global.ssl_cert")[0][0].clone();
    root.query("SET GLOBAL ssl_cert = '/nowhere/cert.pem'")?;
    assert!(trusts(&ours));
    let e = refused(root.query("ALTER INSTANCE RELOAD TLS"));
    assert_eq!((e.code, e.sqlstate.as_str()), (3888, "HY000"));
    let head = "Failed to set up SSL because of the following SSL library error: Unable to get certificate";
    assert!(e.message.starts_with(head), "{}", e.message);
    assert!(trusts(&ours));
    assert_eq!(
        rows(&mut root, "SHOW STATUS LIKE 'Current_tls_cert'"),
        [["Current_tls_cert", old.as_str()]]
    );
    for (variable, value, text) in [
        (
            "ssl_cipher",
            "ECDHE-RSA-AES256-GCM-SHA384:DES-CBC3-SHA",
            "'DES-CBC3-SHA'",
        ),
        ("tls_ciphersuites", "TLS_NULL_SHA256", "'TLS_NULL_SHA256'"),
        ("tls_version", "TLSv1.1", "'TLSv1.1'"),
        ("tls_version", "", "tls_version is empty"),
        (
            "ssl_ca",
            "/nowhere/ca.pem",
            "SSL_CTX_set_default_verify_paths failed",
        ),
        (
            "ssl_capath",
            "/dev/null",
            "SSL_CTX_set_default_verify_paths failed",
        ),
        ("ssl_key", "/dev/zero", "not a plain file"),
    ] {
        root.query(&format!("SET GLOBAL ssl_cert = '{old}'"))?;
        let before = rows(
            &mut root,
            &format!("SELECT IFNULL(@@global.{variable}, 'NULL')"),
        )[0][0]
            .clone();
        root.query(&format!("SET GLOBAL {variable} = '{value}'"))?;
        let e = refused(root.query("ALTER INSTANCE RELOAD TLS"));
        assert!(
            e.code == 3888 && e.message.contains(text),
            "{variable}: {}",
            e.message
        );
        assert!(trusts(&ours));
        let back = if before == "NULL" {
            before
        } else {
            format!("'{before}'")
        };
        root.query(&format!("SET GLOBAL {variable} = {back}"))?;
    }

    std::fs::remove_dir_all(files).expect("removal");
    Ok(())
}

#[test]
fn reload_without_a_way_back_leaves_none() -> Result<(), ClientError> {
    let (ours, next) = (Authority::new("ours"), Authority::new("next"));
    let (server, files) = started("forward", &ours, &[]);
    let trusts = |authority: &Authority| {
        let secure = Secure::new(&authority.pem, None, BOTH);
        secure.login(tcp(&server), "root", "").is_ok()
    };
    let mut root = server.client();
    // A key of another certificate.
    let (cert, key) = next.certify("server", 2);
    std::fs::write(files.join("next.pem"), &cert).expect("a file");
    std::fs::write(files.join("next-key.pem"), &key).expect("a file");
    root.query(&format!(
        "SET GLOBAL ssl_cert = '{}'",
        files.join("next.pem").display()
    ))?;
    let e = refused(root.query("ALTER INSTANCE RELOAD TLS"));
    assert!(
        e.message.contains("Private key does not match"),
        "{}",
        e.message
    );

    // Without a way back there is none: a warning, and no TLS.
    let done =
        root.query("ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_main NO ROLLBACK ON ERROR")?;
    assert_eq!(done[0].warnings, 1);
    assert_eq!(rows(&mut root, "SHOW WARNINGS")[0][1], "3888");
    assert_eq!(rows(&mut root, "SELECT @@have_ssl"), [["DISABLED"]]);
    let (_, greeting) = greeted(tcp(&server));
    let greeting = Greeting::parse(&greeting).expect("a greeting");
    assert!(!has(greeting.capabilities, capability::SSL));

    root.query(&format!(
        "SET GLOBAL ssl_key = '{}'",
        files.join("next-key.pem").display()
    ))?;
    root.query("ALTER INSTANCE RELOAD TLS")?;
    assert!(trusts(&next) && !trusts(&ours));
    assert_eq!(
        refused(root.query("ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_admin")).code,
        1235
    );
    assert_eq!(
        refused(root.query("ALTER INSTANCE RELOAD TLS ON ERROR")).code,
        1064
    );
    std::fs::remove_dir_all(files).expect("removal");
    Ok(())
}

#[test]
fn secure_transport_can_be_demanded() -> Result<(), ClientError> {
    let server = TestServer::start(&[MADE, "--require-secure-transport"]);
    let secure = Secure::new(&read(&data(&server), "ca.pem"), None, BOTH);
    let plain = || Conn::connect_tcp(tcp(&server), "root", "", None);
    let e = refused(plain());
    assert_eq!((e.code, e.sqlstate.as_str()), (3159, "HY000"));
    assert_eq!(
        e.message,
        "Connections using insecure transport are prohibited while --require_secure_transport=ON."
    );
    let mut conn = secure.login(tcp(&server), "root", "")?;
    server
        .client()
        .query("SET GLOBAL require_secure_transport = OFF")?;
    let mut open = plain()?;
    conn.query("SET GLOBAL require_secure_transport = ON")?;
    assert_eq!(refused(plain()).code, 3159);
    // Who was let in before goes on, but as nobody else.
    open.query("DO 1")?;
    assert_eq!(refused(open.change_user("root", "", None)).code, 3159);
    assert!(open.query("DO 1").is_err());
    Ok(())
}

#[test]
fn without_tls_none_is_offered_until_it_is_loaded() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl"]);
    assert!(!data(&server).join("ca.pem").exists());
    let (mut socket, greeting) = greeted(tcp(&server));
    let greeting = Greeting::parse(&greeting).expect("a greeting");
    assert!(!has(greeting.capabilities, capability::SSL));
    socket.write_all(&ssl_request())?;
    let told = error(&packet(&mut socket)?);
    assert_eq!(told.code, ProtocolError::BadHandshake.code());

    let mut root = server.client();
    assert_eq!(rows(&mut root, "SELECT @@have_ssl"), [["DISABLED"]]);
    assert_eq!(refused(root.query("ALTER INSTANCE RELOAD TLS")).code, 3888);
    let ours = Authority::new("ours");
    let files = server.dir.join("files");
    certified(&files, &ours);
    for name in ["ca", "cert", "key"] {
        let file = files.join(format!("ssl-{name}.pem"));
        root.query(&format!("SET GLOBAL ssl_{name} = '{}'", file.display()))?;
    }
    root.query("ALTER INSTANCE RELOAD TLS")?;
    Secure::new(&ours.pem, None, BOTH).login(tcp(&server), "root", "")?;
    Ok(())
}

#[test]
fn what_cannot_be_done_as_asked_is_no_start() {
    let dir = std::env::temp_dir().join(format!("tidemill-tls-{}-refused", std::process::id()));
    let files = certified(&dir.join("files"), &Authority::new("ours"));
    let with = |more: &[&str]| -> String {
        let mut words: Vec<String> = files.clone();
        words.extend([
            format!("--datadir={}", dir.join("data").display()),
            "--port=0".to_owned(),
        ]);
        words.extend(more.iter().map(|word| (*word).to_owned()));
        let parsed = match parse(words, &FileSystem) {
            Ok(parsed) => parsed,
            Err(e) => return e.to_string(),
        };
        let log = Arc::new(Log::file(&dir.join("log.txt")).expect("a log"));
        let served = serve(&parsed.options, &[], log, |_| {}, async {});
        served.map_or_else(|e| e.to_string(), |()| "it starts".to_owned())
    };
    assert_eq!(with(&[]), "it starts");
    for (option, text) in [
        ("--ssl-cipher=AES128-SHA", "'AES128-SHA'"),
        ("--tls-version=TLSv1", "'TLSv1'"),
        ("--ssl-key=/nowhere/key.pem", "Unable to get private key"),
        (
            "--ssl-key=",
            "not usable without certificate and private key",
        ),
        ("--admin-ssl-ca=ca.pem", "admin"),
        ("--ssl-fips-mode=ON", "ssl"),
    ] {
        let told = with(&[option]);
        assert!(told.contains(text), "{option}: {told}");
    }
    // What nobody named does not keep a server from its clients.
    std::fs::write(dir.join("data/ca.pem"), "no certificate").expect("a file");
    std::fs::write(dir.join("data/server-cert.pem"), "no certificate").expect("a file");
    let found = ["--ssl-ca=", "--ssl-cert=", "--ssl-key="];
    assert_eq!(with(&found), "it starts");
    let logged = read(&dir, "log.txt");
    assert!(logged.contains("going on without TLS"), "{logged}");
    std::fs::remove_dir_all(dir).expect("removal");
}
