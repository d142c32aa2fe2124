//! The compressed protocol from outside, on the bare socket: zlib and zstd, packets beyond 16 MB, local files, and frames that are not what they say.
//! And what a login says of its character set.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use wire::capability;
use wire::client::ClientError;
use wire::compress::{Method, Packer, Unpacker};
use wire::handshake::{Greeting, HandshakeResponse};
use wire::packet::{Decoder, PacketWriter};

use super::test_server::{TestServer, rows};

const METHODS: [Method; 3] = [Method::Zlib, Method::Zstd(3), Method::Zstd(22)];

/// A client of the compressed protocol.
struct Client {
    socket: TcpStream,
    packer: Packer,
    unpacker: Unpacker,
    decoder: Decoder,
    number: u8,
}

/// Logs root in; `Err` has the number of the refusal.
fn connect(server: &TestServer, method: Option<Method>) -> Result<Client, u16> {
    connect_in(server, method, 45)
}

/// The same, in a character set by the number of a collation.
fn connect_in(server: &TestServer, method: Option<Method>, collation: u16) -> Result<Client, u16> {
    connect_as(server, method, collation, b"root")
}

/// The same, of another account without a password.
fn connect_as(
    server: &TestServer,
    method: Option<Method>,
    collation: u16,
    user: &[u8],
) -> Result<Client, u16> {
    let mut socket = TcpStream::connect(server.listening.addresses[0]).expect("it listens");
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a socket");
    let mut decoder = Decoder::new(1 << 30);
    decoder.take_any_number();
    let greeting = plain(&mut socket, &mut decoder);
    let offered = Greeting::parse(&greeting).expect("a greeting").capabilities;
    let flag = match method {
        None => 0,
        Some(Method::Zlib) => capability::COMPRESS,
        Some(Method::Zstd(_)) => capability::ZSTD_COMPRESSION_ALGORITHM,
    };
    let response = HandshakeResponse {
        capabilities: flag & offered
            | capability::PROTOCOL_41
            | capability::SECURE_CONNECTION
            | capability::PLUGIN_AUTH
            | capability::LOCAL_FILES,
        max_packet: 1 << 30,
        collation,
        user,
        auth_plugin: Some(match user {
            b"root" => b"caching_sha2_password",
            _ => b"mysql_native_password",
        }),
        zstd_level: match method {
            Some(Method::Zstd(level)) => level,
            _ => 0,
        },
        ..HandshakeResponse::default()
    };
    let mut writer = PacketWriter::new();
    writer.set_sequence(1);
    response.write(&mut writer);
    socket.write_all(writer.pending()).expect("it is sent");
    let answer = plain(&mut socket, &mut decoder);
    if answer[0] == 0xFF {
        return Err(u16::from_le_bytes([answer[1], answer[2]]));
    }
    assert_eq!(answer[0], 0);
    let method = method.unwrap_or(Method::Zlib);
    Ok(Client {
        socket,
        packer: Packer::new(method),
        unpacker: Unpacker::new(method, 1 << 30).expect("room"),
        decoder,
        number: 0,
    })
}

/// A packet of the login, which is not compressed.
fn plain(socket: &mut TcpStream, decoder: &mut Decoder) -> Vec<u8> {
    loop {
        if let Some(packet) = decoder.next_packet().expect("a packet") {
            return packet.to_vec();
        }
        let n = socket.read(decoder.space()).expect("bytes");
        assert!(n > 0, "it was closed");
        decoder.filled(n);
    }
}

impl Client {
    /// Sends packets in frames with numbers that go on.
    fn send(&mut self, packets: &[u8]) {
        let (mut out, mut at) = (Vec::new(), 0);
        while at < packets.len() {
            let Some(taken) = self.packer.pack(&packets[at..], self.number, &mut out) else {
                continue;
            };
            at += taken;
            self.number = self.number.wrapping_add(1);
        }
        self.socket.write_all(&out).expect("it is sent");
    }

    fn command(&mut self, byte: u8, body: &[u8]) {
        let mut writer = PacketWriter::new();
        writer.begin();
        writer.buf().push(byte);
        writer.buf().extend_from_slice(body);
        writer.end();
        self.number = 0;
        let packets = writer.pending().to_vec();
        self.send(&packets);
    }

    /// Whether the server closes the connection.
    fn ends(&mut self) -> bool {
        self.packet().is_none()
    }

    /// The next packet; `None` once the connection is closed.
    fn packet(&mut self) -> Option<Vec<u8>> {
        let mut raw = [0; 9000];
        loop {
            if let Some(packet) = self.decoder.next_packet().expect("a packet") {
                return Some(packet.to_vec());
            }
            let n = self.socket.read(&mut raw).unwrap_or(0);
            if n == 0 {
                return None;
            }
            let mut rest = &raw[..n];
            loop {
                let space = self.decoder.space();
                let full = space.len();
                let (taken, made) = self.unpacker.unpack(rest, space).expect("a frame");
                self.decoder.filled(made);
                rest = &rest[taken..];
                if rest.is_empty() && made < full {
                    break;
                }
            }
            assert!(self.unpacker.number() >= self.number || self.number > 200);
        }
    }

    /// The only value of a query's only row.
    fn value(&mut self, sql: &str) -> Vec<u8> {
        self.command(3, sql.as_bytes());
        let mut packets = Vec::new();
        loop {
            let packet = self.packet().expect("an answer");
            assert_ne!(packet[0], 0xFF, "{}", String::from_utf8_lossy(&packet));
            packets.push(packet);
            // A count, a definition, EOF, a row, EOF.
            if packets.len() == 5 {
                break;
            }
        }
        let row = &packets[3];
        let skip = match row[0] {
            0xFD => 4,
            0xFC => 3,
            0xFE => 9,
            _ => 1,
        };
        row[skip..].to_vec()
    }
}

#[test]
fn commands_and_answers_are_compressed() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl", "--max-allowed-packet=64M"]);
    for method in METHODS {
        let mut c = connect(&server, Some(method)).expect("a login");
        assert_eq!(c.value("SELECT 1 + 1"), b"2");
        assert_eq!(
            c.value("SELECT REPEAT('ab', 400000)"),
            b"ab".repeat(400_000)
        );
        let name = c.value("SELECT variable_value FROM performance_schema.session_status WHERE variable_name = 'Threads_connected'");
        assert!(!name.is_empty());
        c.command(3, b"SHOW STATUS LIKE 'Compression%'");
        let mut told = Vec::new();
        for _ in 0..4 {
            c.packet();
        }
        for _ in 0..3 {
            told.extend(c.packet().expect("a row"));
        }
        c.packet();
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(told.contains("Compression\u{2}ON"), "{told}");
        assert!(told.contains(method.name()), "{told}");
        assert!(told.ends_with(&method.level().to_string()), "{told}");
        // More than a packet's frame of 16 MB holds, in both directions.
        let long = 17 << 20;
        let mut sql = b"SELECT LENGTH('".to_vec();
        sql.resize(sql.len() + long, b'x');
        sql.extend_from_slice(b"')");
        let sql = String::from_utf8(sql).expect("text");
        assert_eq!(c.value(&sql), long.to_string().as_bytes());
        assert_eq!(c.value(&format!("SELECT REPEAT('y', {long})")).len(), long);
        // COM_PING, and an error leaves the connection.
        c.command(14, b"");
        assert_eq!(c.packet().expect("OK")[0], 0);
        c.command(3, b"SELECT nonsense");
        assert_eq!(c.packet().expect("an error")[0], 0xFF);
        assert_eq!(c.value("SELECT 3"), b"3");
    }
    Ok(())
}

#[test]
fn a_local_file_is_compressed() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl", "--local-infile=1"]);
    let mut root = server.client();
    root.query("CREATE DATABASE d")?;
    root.query("CREATE TABLE d.t (a INT, b VARCHAR(100))")?;
    let mut c = connect(&server, Some(Method::Zlib)).expect("a login");
    c.command(3, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t");
    assert_eq!(c.packet().expect("a request")[0], 0xFB);
    c.number = c.unpacker.number().wrapping_add(1);
    let mut writer = PacketWriter::new();
    writer.set_sequence(2);
    for part in 0..50 {
        writer.begin();
        for row in 0..200 {
            let line = format!("{}\tsome text of row {row}\n", part * 200 + row);
            writer.buf().extend_from_slice(line.as_bytes());
        }
        writer.end();
    }
    writer.begin();
    writer.end();
    let packets = writer.pending().to_vec();
    c.send(&packets);
    assert_eq!(c.packet().expect("OK")[0], 0);
    assert_eq!(
        rows(&mut root, "SELECT COUNT(*), MAX(a) FROM d.t")[0],
        ["10000", "9999"]
    );
    Ok(())
}

#[test]
fn a_frame_that_is_none_ends_its_own_connection() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl", "--max-allowed-packet=1M"]);
    let mut root = server.client();
    for method in METHODS {
        // Zeros of 16 MB that say they are 1000; that say they are as many as they are, in one packet; a length without its bytes; nonsense.
        let zeros = vec![0; (16 << 20) - 8];
        let squeezed = match method {
            Method::Zlib => {
                let mut out = Vec::new();
                let mut packet = ((16 << 20) - 12_u32).to_le_bytes().to_vec();
                packet[3] = 0;
                packet.extend_from_slice(&zeros[4..]);
                out.extend(deflated(&packet));
                out
            }
            // A frame of 16 MB without a word of content: its window is too large for this server.
            Method::Zstd(_) => vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xA0, 0x01, 0x00, 0x00],
        };
        let head = |length: usize, before: usize| {
            let (l, b) = ((length as u32).to_le_bytes(), (before as u32).to_le_bytes());
            vec![l[0], l[1], l[2], 0, b[0], b[1], b[2]]
        };
        let frame = |before: usize, body: &[u8]| [head(body.len(), before), body.to_vec()].concat();
        for bytes in [
            frame(1000, &squeezed),
            frame((16 << 20) - 8, &squeezed),
            frame(5, b"no such thing"),
            frame(5, b""),
        ] {
            let mut c = connect(&server, Some(method)).expect("a login");
            assert_eq!(c.value("SELECT 1"), b"1");
            let _refused_early = c.socket.write_all(&bytes);
            let _half_closed = c.socket.shutdown(std::net::Shutdown::Write);
            if let Some(last) = c.packet() {
                assert_eq!(last[0], 0xFF, "{method:?}");
                let code = u16::from_le_bytes([last[1], last[2]]);
                assert!([1157, 1153].contains(&code), "{method:?} {code}");
            }
            assert_eq!(c.packet(), None);
        }
        assert_eq!(rows(&mut root, "SELECT 1")[0], ["1"]);
    }
    Ok(())
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let (mut packer, mut out, mut made) = (Packer::new(Method::Zlib), Vec::new(), Vec::new());
    // The frames' bodies are streams of their own; the first alone is enough here.
    while packer.pack(bytes, 0, &mut out).is_none() {}
    made.extend_from_slice(&out[7..]);
    made
}

/// Others of the same event loop are served while a large answer is squeezed at the best level that a client may ask for; and the session pays.
#[test]
fn a_large_frame_keeps_nobody_waiting() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl"]);
    let mut root = server.client();
    // Text without repetitions takes the best level long; a row that is there is read on the event loop.
    root.query("CREATE DATABASE d")?;
    root.query("CREATE TABLE d.t (id INT PRIMARY KEY, v LONGTEXT)")?;
    root.query("SET group_concat_max_len = 5000000")?;
    root.query(
        "INSERT IGNORE INTO d.t SELECT 1, GROUP_CONCAT(SHA2(CONCAT_WS('-', a.table_name, a.column_name, b.id), 512)) \
         FROM information_schema.columns a JOIN information_schema.collations b",
    )?;
    let mut c = connect(&server, Some(Method::Zstd(22))).expect("a login");
    let large = "SELECT v FROM d.t WHERE id = 1";
    // One on each event loop, and so one on that of the large answer.
    let mut others: Vec<_> = (0..8).map(|_| server.client()).collect();
    // A busy machine may keep somebody waiting too, but not each time.
    let mut waits = Vec::new();
    for _ in 0..3 {
        let answers = std::thread::spawn(move || {
            for _ in 0..2 {
                assert_eq!(c.value(large).len(), 5_000_000);
            }
            c
        });
        let (mut longest, mut looks) = (Duration::ZERO, 0);
        while looks < others.len() || !answers.is_finished() {
            let begun = std::time::Instant::now();
            let next = looks % others.len();
            others[next].query("SELECT 1")?;
            longest = longest.max(begun.elapsed());
            looks += 1;
        }
        c = answers.join().expect("the answers came");
        waits.push(longest);
    }
    let least = waits.iter().min().copied().unwrap_or_default();
    assert!(least < Duration::from_millis(150), "{waits:?}");
    Ok(())
}

/// What a connection holds for its compression counts for its session.
#[test]
fn a_session_pays_for_its_compression() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl"]);
    let mut root = server.client();
    root.query("CREATE USER small IDENTIFIED WITH mysql_native_password BY ''")?;
    root.query("SET GLOBAL connection_memory_limit = 2097152")?;
    // An account that is not exempt has no room for zstd's tables.
    assert!(connect_as(&server, Some(Method::Zstd(3)), 45, b"small").is_ok_and(|mut c| c.ends()));
    let mut c = connect_as(&server, Some(Method::Zlib), 45, b"small").expect("a login");
    assert_eq!(c.value("SELECT 1"), b"1");
    assert!(connect(&server, Some(Method::Zstd(3))).is_ok_and(|mut c| c.value("SELECT 1") == b"1"));
    Ok(())
}

#[test]
fn the_server_says_what_it_allows() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl"]);
    let mut root = server.client();
    root.query("SET GLOBAL protocol_compression_algorithms = 'zstd'")?;
    // Zlib is not offered; and who comes without compression is refused.
    assert_eq!(connect(&server, Some(Method::Zlib)).err(), Some(3922));
    assert_eq!(connect(&server, None).err(), Some(3922));
    assert!(connect(&server, Some(Method::Zstd(1))).is_ok());
    assert_eq!(connect(&server, Some(Method::Zstd(0))).err(), Some(3923));
    assert_eq!(connect(&server, Some(Method::Zstd(23))).err(), Some(3923));
    root.query("SET GLOBAL protocol_compression_algorithms = 'uncompressed'")?;
    assert!(connect(&server, None).is_ok());
    for wrong in ["''", "'lz4'", "'zlib,,zstd'"] {
        let refused = root.query(&format!(
            "SET GLOBAL protocol_compression_algorithms = {wrong}"
        ));
        match refused {
            Err(ClientError::Server(e)) => assert_eq!(e.code, 1231, "{wrong}"),
            other => panic!("{wrong}: {other:?}"),
        }
    }
    Ok(())
}

#[test]
fn a_login_in_a_character_set_that_is_not_here_is_refused() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl"]);
    let zlib = Some(Method::Zlib);
    for (collation, expected) in [
        (7, Err(1115)),
        (51, Err(1115)),
        (28, Err(1115)),
        (35, Err(1231)),
        (54, Err(1231)),
        (60, Err(1231)),
        (8, Ok("latin1 latin1_swedish_ci")),
        (15, Ok("latin1 latin1_swedish_ci")),
        (33, Ok("utf8mb3 utf8mb3_general_ci")),
        (241, Ok("utf8mb4 utf8mb4_esperanto_ci")),
        // Nobody's: the server's own.
        (17, Ok("utf8mb4 utf8mb4_0900_ai_ci")),
    ] {
        let told = connect_in(&server, zlib, collation).map(|mut c| {
            let told =
                c.value("SELECT CONCAT(@@character_set_client, ' ', @@collation_connection)");
            String::from_utf8_lossy(&told).into_owned()
        });
        assert_eq!(told.as_deref().map_err(|e| *e), expected, "{collation}");
    }
    Ok(())
}
