//! What somebody who may not log in can find out: nothing about which users there are.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use wire::capability;
use wire::client::ClientError;
use wire::handshake::{Greeting, HandshakeResponse};
use wire::packet::{HEADER, PacketWriter};

use super::test_server::TestServer;

fn tcp(server: &TestServer) -> SocketAddr {
    server.listening.addresses[0]
}

/// Whoever does not know the password cannot tell from the packets whether there is such a user.
#[test]
fn unknown_users_are_answered_like_known_ones() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl"]);
    let mut root = server.client();
    root.query("CREATE USER known@'%' IDENTIFIED WITH caching_sha2_password BY 'pw'")?;
    root.query("CREATE USER blank@'%' IDENTIFIED WITH caching_sha2_password BY ''")?;
    root.query("CREATE USER shut@'%' IDENTIFIED WITH caching_sha2_password BY 'pw' ACCOUNT LOCK")?;
    root.query("CREATE USER elsewhere@'10.9.8.7' IDENTIFIED WITH caching_sha2_password BY 'pw'")?;
    // Once used, its proof is in the server's memory.
    server.login("known", "pw")?;
    let native: [&[u8]; 2] = [b"mysql_native_password", &[5; 20]];
    let sha2: [&[u8]; 2] = [b"caching_sha2_password", &[5; 32]];
    let other: [&[u8]; 2] = [b"mysql_clear_password", b"guess\0"];
    let talk = |user: &str, [plugin, answer]: [&[u8]; 2], rest: &[&[u8]]| {
        conversation(tcp(&server), user, plugin, answer, rest)
    };
    let scripts: [(_, &[&[u8]]); 5] = [
        (sha2, &[b"guess\0"]),
        (sha2, &[b"\x02", &[9; 256]]),
        (native, &[&[6; 32], b"guess\0"]),
        (native, &[b""]),
        (other, &[&[6; 32], b"guess\0"]),
    ];
    for (first, rest) in scripts {
        let known = talk("known", first, rest);
        assert!(known.len() >= 2, "{known:?}");
        for user in ["nobody", "blank", "shut", "elsewhere", "root2"] {
            // The empty password is the right one for that account.
            if user != "blank" || rest != [b""] {
                assert_eq!(talk(user, first, rest), known, "{user} {first:?}");
            }
        }
    }
    // With accounts of the old plugin, unknown users seem to be of either kind, each always of the same.
    root.query("CREATE USER old@'%' IDENTIFIED WITH mysql_native_password BY 'pw'")?;
    let as_old = talk("old", sha2, &[&[6; 20]]);
    let as_new = talk("known", sha2, &[b"guess\0"]);
    let (mut old, mut new) = (0, 0);
    for n in 0..40 {
        let user = format!("nobody{n}");
        if talk(&user, sha2, &[&[6; 20]]) == as_old {
            assert_eq!(talk(&user, sha2, &[&[6; 20]]), as_old);
            old += 1;
        } else {
            assert_eq!(talk(&user, sha2, &[b"guess\0"]), as_new);
            new += 1;
        }
    }
    assert!(old > 0 && new > 0, "{old} and {new}");
    Ok(())
}

/// The time of a refusal is that of the hash, which is computed for those who are not there too.
#[test]
fn unknown_users_take_as_long_as_known_ones() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl"]);
    let mut root = server.client();
    root.query("CREATE USER known@'%' IDENTIFIED WITH caching_sha2_password BY 'pw'")?;
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..15 {
        for (user, fastest) in ["known", "nobody"].iter().zip(&mut fastest) {
            let since = Instant::now();
            conversation(
                tcp(&server),
                user,
                b"caching_sha2_password",
                &[5; 32],
                &[b"guess\0"],
            );
            *fastest = since.elapsed().min(*fastest);
        }
    }
    let [known, unknown] = fastest;
    let ratio = known.as_secs_f64() / unknown.as_secs_f64();
    assert!((0.67..1.5).contains(&ratio), "{known:?} and {unknown:?}");
    Ok(())
}

/// What the server says to somebody who tries to log in, without what differs from connection to connection.
fn conversation(
    address: SocketAddr,
    user: &str,
    plugin: &[u8],
    answer: &[u8],
    rest: &[&[u8]],
) -> Vec<String> {
    let mut socket = TcpStream::connect(address).expect("it listens");
    let limit = Some(Duration::from_secs(20));
    socket.set_read_timeout(limit).expect("a socket");
    let (_, greeting) = packet(&mut socket);
    let nonce = *Greeting::parse(&greeting)
        .expect("a greeting")
        .nonce
        .as_bytes();
    let mut writer = PacketWriter::new();
    writer.set_sequence(1);
    let response = HandshakeResponse {
        capabilities: capability::PROTOCOL_41
            | capability::SECURE_CONNECTION
            | capability::PLUGIN_AUTH,
        max_packet: 1 << 24,
        collation: 45,
        user: user.as_bytes(),
        auth_response: answer,
        auth_plugin: Some(plugin),
        ..HandshakeResponse::default()
    };
    response.write(&mut writer);
    socket.write_all(writer.pending()).expect("sent");
    let mut said = Vec::new();
    let mut rest = rest.iter();
    loop {
        let (sequence, payload) = packet(&mut socket);
        let text = String::from_utf8_lossy(&payload);
        let text = text.replace(&*String::from_utf8_lossy(&nonce), "<nonce>");
        said.push(format!(
            "{} {}",
            sequence,
            text.replace(&format!("'{user}'"), "<user>")
        ));
        let (0xFE | 1, Some(next)) = (payload[0], rest.next()) else {
            // The end, and that it is the end.
            let ended = socket.set_read_timeout(Some(Duration::from_secs(2)));
            ended.expect("a socket");
            if payload[0] == 0xFF {
                assert_eq!(socket.read(&mut [0; 1]).expect("the end"), 0);
            }
            return said;
        };
        writer.advance(usize::MAX);
        let mut bytes = (next.len() as u32).to_le_bytes();
        bytes[3] = sequence + 1;
        socket.write_all(&bytes).expect("sent");
        socket.write_all(next).expect("sent");
    }
}

/// A packet's number and payload.
fn packet(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut header = [0; HEADER];
    socket.read_exact(&mut header).expect("an answer");
    let [a, b, c, sequence] = header;
    let mut payload = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
    socket.read_exact(&mut payload).expect("an answer");
    (sequence, payload)
}
