//! A server without a database: what the wire and the clients cost by themselves. It knows the statements of the load
//! generator only by their first word, and answers each with rows made in advance; it never parses, stores or computes.

use std::io;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixSocket, UnixStream};
use tokio::runtime::{Builder, Handle};

use wire::capability;
use wire::column_type::ColumnType;
use wire::command::Command;
use wire::handshake::{ClientHello, Greeting, NATIVE_PASSWORD, Nonce, SERVER_VERSION};
use wire::response::{self, BinaryRow, ColumnDef, OkPacket, TextRow};
use wire::{Decoder, PacketWriter, status};

/// What a statement is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// OK, one row affected.
    Ok,
    /// So many rows of one column of 119 characters.
    Rows(u16),
}

/// What `sql` is answered with, and its number of parameters.
fn canned(sql: &[u8]) -> (Answer, u16) {
    let params = sql.iter().filter(|b| **b == b'?').count() as u16;
    let select = sql
        .get(..6)
        .is_some_and(|w| w.eq_ignore_ascii_case(b"SELECT"));
    let range = sql.windows(7).any(|w| w == b"BETWEEN");
    let sum = sql.windows(4).any(|w| w == b"SUM(");
    let answer = match (select, range, sum) {
        (false, ..) => Answer::Ok,
        (true, true, false) => Answer::Rows(100),
        (true, ..) => Answer::Rows(1),
    };
    (answer, params)
}

/// Serves on a Unix socket with so many threads until the process ends.
///
/// # Errors
/// Of binding the socket and starting the threads.
pub fn serve(socket: &Path, threads: usize) -> io::Result<()> {
    let mut handles: Vec<Handle> = Vec::new();
    for number in 1..threads.max(1) {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        handles.push(runtime.handle().clone());
        std::thread::Builder::new()
            .name(format!("canned-{number}"))
            .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    handles.push(runtime.handle().clone());
    runtime.block_on(async {
        let unbound = UnixSocket::new_stream()?;
        unbound.bind(socket)?;
        let listener = unbound.listen(1024)?;
        let mut next: usize = 0;
        loop {
            let (stream, _) = listener.accept().await?;
            let stream = stream.into_std()?;
            let place = &handles[next % handles.len()];
            next += 1;
            place.spawn(async move {
                if let Ok(stream) = UnixStream::from_std(stream) {
                    // A client that goes away ends its own connection only.
                    if let Err(e) = connection(stream, next as u32).await
                        && e.kind() != io::ErrorKind::UnexpectedEof
                    {
                        eprintln!("connection {next}: {e}");
                    }
                }
            });
        }
    })
}

async fn packet<'a>(stream: &mut UnixStream, input: &'a mut Decoder) -> io::Result<&'a [u8]> {
    let nonsense = |e| io::Error::new(io::ErrorKind::InvalidData, e);
    loop {
        if let Some(place) = input.take_packet().map_err(nonsense)? {
            return Ok(input.payload(place));
        }
        let n = stream.read(input.space()).await?;
        if n == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        input.filled(n);
    }
}

async fn send(stream: &mut UnixStream, out: &mut PacketWriter) -> io::Result<()> {
    stream.write_all(out.pending()).await?;
    let n = out.pending().len();
    out.advance(n);
    Ok(())
}

async fn connection(mut stream: UnixStream, id: u32) -> io::Result<()> {
    let nonsense = |e| io::Error::new(io::ErrorKind::InvalidData, e);
    let mut input = Decoder::new(1 << 24);
    let mut out = PacketWriter::new();
    let nonce = Nonce::from_random([7; 20]);
    // The one plugin that client libraries have inside. Others they load from a file at the first use, and the threads of a
    // load generator that connect at once race for it: some come with a plugin that wants one more answer than OK.
    let mut greeting = Greeting::new(SERVER_VERSION.as_bytes(), id, nonce);
    greeting.auth_plugin = NATIVE_PASSWORD.as_bytes();
    greeting.write(&mut out);
    send(&mut stream, &mut out).await?;
    input.set_sequence(out.sequence());
    let hello = packet(&mut stream, &mut input).await?;
    let caps = match ClientHello::parse(hello, capability::SERVER).map_err(nonsense)? {
        ClientHello::Login(login) => login.capabilities,
        ClientHello::SslRequest { .. } => return Ok(()),
    };
    out.set_sequence(input.sequence());
    let ok = |out: &mut PacketWriter| {
        let ok = OkPacket {
            affected_rows: 1,
            status: status::AUTOCOMMIT,
            ..OkPacket::default()
        };
        response::write_ok(&ok, caps, out);
    };
    ok(&mut out);
    send(&mut stream, &mut out).await?;
    let mut prepared: Vec<Answer> = Vec::new();
    loop {
        input.expect_command();
        let bytes = packet(&mut stream, &mut input).await?;
        let command = Command::parse(bytes, caps).map_err(nonsense)?;
        let mut reply = true;
        match command {
            Command::Quit => return Ok(()),
            Command::Query { sql, .. } => {
                let (answer, _) = canned(sql);
                out.set_sequence(1);
                match answer {
                    Answer::Ok => ok(&mut out),
                    Answer::Rows(n) => rows(n, false, caps, &mut out),
                }
            }
            Command::StmtPrepare(sql) => {
                let (answer, params) = canned(sql);
                prepared.push(answer);
                out.set_sequence(1);
                let columns = u16::from(answer != Answer::Ok);
                response::write_prepare_ok(prepared.len() as u32, columns, params, 0, &mut out);
                for _ in 0..params {
                    ColumnDef::new(b"?", ColumnType::VarString).write(&mut out);
                }
                if params > 0 {
                    response::write_columns_end(status::AUTOCOMMIT, 0, caps, &mut out);
                }
                if columns > 0 {
                    column().write(&mut out);
                    response::write_columns_end(status::AUTOCOMMIT, 0, caps, &mut out);
                }
            }
            Command::StmtExecute(e) => {
                out.set_sequence(1);
                match prepared.get((e.statement as usize).wrapping_sub(1)) {
                    Some(Answer::Rows(n)) => rows(*n, true, caps, &mut out),
                    _ => ok(&mut out),
                }
            }
            Command::StmtClose(_) => reply = false,
            _ => {
                out.set_sequence(1);
                ok(&mut out);
            }
        }
        if reply {
            send(&mut stream, &mut out).await?;
        }
    }
}

fn column() -> ColumnDef<'static> {
    ColumnDef {
        table: b"sbtest1",
        org_table: b"sbtest1",
        schema: b"sbtest",
        org_name: b"c",
        length: 480,
        ..ColumnDef::new(b"c", ColumnType::String)
    }
}

fn rows(n: u16, binary: bool, caps: u32, out: &mut PacketWriter) {
    const C: &[u8] = &[b'7'; 119];
    response::write_column_count(1, out);
    column().write(out);
    response::write_columns_end(status::AUTOCOMMIT, 0, caps, out);
    for _ in 0..n {
        if binary {
            let mut row = BinaryRow::begin(1, out);
            row.bytes(C);
            row.end();
        } else {
            let mut row = TextRow::begin(out);
            row.bytes(C);
            row.end();
        }
    }
    response::write_rows_end(status::AUTOCOMMIT, 0, caps, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_words() {
        let rows = |n, params| (Answer::Rows(n), params);
        assert_eq!(canned(b"SELECT c FROM sbtest1 WHERE id=?"), rows(1, 1));
        assert_eq!(
            canned(b"SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?"),
            rows(100, 2)
        );
        assert_eq!(
            canned(b"SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?"),
            rows(1, 2)
        );
        assert_eq!(
            canned(b"UPDATE sbtest1 SET k=k+1 WHERE id=?"),
            (Answer::Ok, 1)
        );
        assert_eq!(canned(b"BEGIN"), (Answer::Ok, 0));
    }
}
