//! A server's end of a connection: a greeting, a login that is not looked at, statements in a session of the server, and the dump, which is the server's
//! own (`replication::serve`).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use replication::dump::replicas::Registered;
use replication::serve::{Ended, NoPacket, Peer, Request, replica_uuid, serve};
use replication::statements::ServerLog;
use sql::binary_log::ReplicaRow;
use sql::{Instance, Session};
use types::{SqlError, Value};
use wire::column_type::ColumnType;
use wire::command::Command;
use wire::handshake::{ClientHello, Greeting, Nonce, SERVER_VERSION};
use wire::packet::{Decoder, PacketWriter};
use wire::response::{self, ColumnDef, OkPacket};
use wire::write::Put;

use crate::net::End;

/// A client that says nothing for so long is gone (`wait_timeout`).
const SILENCE: Duration = Duration::from_secs(3600);

/// The packets of a connection.
struct Talk {
    end: End,
    decoder: Decoder,
    writer: PacketWriter,
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.end.close();
    }
}

impl Talk {
    async fn next(&mut self, limit: Duration) -> io::Result<Vec<u8>> {
        loop {
            let taken = self.decoder.take_packet();
            if let Some(place) = taken.map_err(|e| io::Error::other(e.message()))? {
                return Ok(self.decoder.payload(place).to_vec());
            }
            let n = self.end.read(self.decoder.space(), limit).await?;
            if n == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            self.decoder.filled(n);
        }
    }

    fn send(&mut self) -> io::Result<()> {
        let sent = self.end.say(self.writer.pending());
        self.writer.advance(usize::MAX);
        sent
    }
}

impl Peer for Talk {
    fn writer(&mut self) -> &mut PacketWriter {
        &mut self.writer
    }

    async fn flush(&mut self) -> bool {
        self.writer.pending().is_empty() || self.send().is_ok()
    }

    async fn packet(&mut self, limit: Duration) -> Result<Vec<u8>, NoPacket> {
        self.decoder.expect_command();
        self.next(limit).await.map_err(|e| match e.kind() {
            io::ErrorKind::TimedOut => NoPacket::Late,
            _ => NoPacket::Gone,
        })
    }

    async fn leave(&mut self) {}

    async fn come_back(&mut self) {}

    fn flush_at(&self) -> usize {
        16 << 10
    }

    fn idles(&mut self, _: &Session) {}
}

fn error(e: &SqlError, writer: &mut PacketWriter) {
    response::write_err(e.code, &e.sqlstate, e.message.as_bytes(), writer);
}

/// Serves a connection until it ends.
pub async fn connection(instance: Arc<Instance>, log: Arc<ServerLog>, end: End) {
    let id = instance.next_connection_id();
    let mut session = Session::of_the_server(&instance, id);
    let mut talk = Talk {
        end,
        decoder: Decoder::new(16 << 20),
        writer: PacketWriter::new(),
    };
    // How it ends nobody asks: the other end has it too.
    let _ended = converse(&log, &mut session, &mut talk).await;
    drop(talk);
    session.close().await;
}

async fn converse(log: &Arc<ServerLog>, session: &mut Session, t: &mut Talk) -> io::Result<()> {
    let capabilities = wire::capability::SERVER & !wire::capability::DEPRECATE_EOF;
    let greeting = Greeting {
        capabilities,
        ..Greeting::new(
            SERVER_VERSION.as_bytes(),
            session.id() as u32,
            Nonce::from_random([1; 20]),
        )
    };
    greeting.write(&mut t.writer);
    t.send()?;
    t.decoder.set_sequence(1);
    let packet = t.next(SILENCE).await?;
    let capabilities = match ClientHello::parse(&packet, capabilities) {
        Ok(ClientHello::Login(login)) => login.capabilities,
        _ => return Err(io::Error::other("no login")),
    };
    t.writer.set_sequence(2);
    response::write_ok(&OkPacket::default(), capabilities, &mut t.writer);
    t.send()?;
    let mut registered: Option<Registered> = None;
    loop {
        t.decoder.set_sequence(0);
        let packet = t.next(SILENCE).await?;
        t.writer.set_sequence(1);
        let command = Command::parse(&packet, capabilities);
        let command = command.map_err(|e| io::Error::other(e.message()))?;
        match &command {
            Command::Query { sql, .. } => {
                let sql = String::from_utf8_lossy(sql).into_owned();
                match session.query(&sql).await {
                    Ok(results) => answer(&results, capabilities, &mut t.writer),
                    Err(e) => error(&e, &mut t.writer),
                }
                t.send()?;
            }
            Command::RegisterReplica(r) => {
                let row = ReplicaRow {
                    server_id: r.server_id,
                    host: String::new(),
                    port: r.port,
                    uuid: replica_uuid(session),
                };
                drop(registered.take());
                registered = Some(log.replicas.register(session.id(), row));
                response::write_ok(&OkPacket::default(), capabilities, &mut t.writer);
                t.send()?;
            }
            Command::BinlogDump { .. } | Command::BinlogDumpGtid { .. } => {
                let request = Request::of(&command);
                let request = request.ok_or_else(|| io::Error::other("no set of GTIDs"))?;
                match serve(log, session, t, request).await {
                    Ok(Ended::Sent | Ended::Gone) => {}
                    Err(e) => {
                        error(&e, &mut t.writer);
                        t.send()?;
                    }
                }
                return Ok(());
            }
            _ => return Ok(()),
        }
    }
}

/// Writes the results of a statement: as texts, which is what a replica reads.
fn answer(results: &[sql::sink::Collected], capabilities: u32, w: &mut PacketWriter) {
    let Some(result) = results.last().filter(|r| !r.columns.is_empty()) else {
        return response::write_ok(&OkPacket::default(), capabilities, w);
    };
    response::write_column_count(result.columns.len(), w);
    for c in result.columns.iter() {
        ColumnDef::new(c.name.as_bytes(), ColumnType::VarString).write(w);
    }
    response::write_columns_end(0, 0, capabilities, w);
    for row in &result.rows {
        w.begin();
        for v in row {
            match v {
                Value::Null => w.buf().put_u8(0xFB),
                v => {
                    let text = types::convert::to_text(v.as_ref());
                    w.buf().put_lenenc_bytes(text.as_bytes());
                }
            }
        }
        w.end();
    }
    response::write_rows_end(0, 0, capabilities, w);
}
