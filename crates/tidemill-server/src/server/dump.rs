//! COM_REGISTER_SLAVE and the dumps: what a replica says of itself, and its connection while it is sent events
//! ([`serve`](replication::serve)).

use std::sync::Arc;
use std::time::Duration;

use replication::serve::{Ended, NoPacket, Peer, Request, replica_uuid, serve};
use replication::statements::ServerLog;
use sql::Session;
use sql::binary_log::ReplicaRow;
use types::SqlError;
use types::error::codes;
use wire::ProtocolError;
use wire::command::Command;
use wire::packet::{PacketPlace, PacketWriter};

use super::command::Flow;
use super::connection::{Connection, count_traffic};
use super::packet_stream::{Gone, PacketStream};
use super::results::FLUSH_AT;
use crate::offload::{offload, on_loop, return_to_loop};

impl Connection {
    fn binary_log(&self) -> Option<Arc<ServerLog>> {
        self.server.database.binary_log.clone()
    }

    /// COM_REGISTER_SLAVE.
    pub(super) fn register_replica(&mut self, place: PacketPlace) -> Flow {
        let packet = self.packets.input.payload(place);
        let Ok(Command::RegisterReplica(r)) = Command::parse(packet, self.capabilities) else {
            return Flow::Fatal;
        };
        let row = ReplicaRow {
            server_id: r.server_id,
            host: String::from_utf8_lossy(r.host).into_owned(),
            port: r.port,
            uuid: replica_uuid(&self.session),
        };
        if let Err(e) = self.session.may_replicate() {
            self.error(&e);
            return Flow::Continue;
        }
        if let Some(log) = self.binary_log() {
            self.replica = None;
            self.replica = Some(log.replicas.register(self.session.id(), row));
        }
        self.ok();
        Flow::Continue
    }

    /// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID. The connection ends with it, in good order or not.
    pub(super) async fn dump(&mut self, place: PacketPlace) -> Flow {
        let packet = self.packets.input.payload(place);
        let Ok(command) = Command::parse(packet, self.capabilities) else {
            return Flow::Fatal;
        };
        let Some(request) = Request::of(&command) else {
            return self.protocol_error(ProtocolError::Malformed);
        };
        if let Err(e) = self.session.may_replicate() {
            self.error(&e);
            return Flow::Continue;
        }
        let Some(log) = self.binary_log() else {
            let why = "Binary log is not open";
            let e = SqlError::new(codes::ER_MASTER_FATAL_ERROR_READING_BINLOG, why);
            self.error(&e);
            return Flow::Fatal;
        };
        let mut client = Client(&mut self.packets);
        match serve(&log, &mut self.session, &mut client, request).await {
            Ok(Ended::Sent) => {
                self.eof_without_rows();
                Flow::Continue
            }
            Ok(Ended::Gone) => Flow::Quit,
            Err(e) => {
                self.error(&e);
                Flow::Fatal
            }
        }
    }
}

/// A replica's packets.
struct Client<'c>(&'c mut PacketStream);

impl Peer for Client<'_> {
    fn writer(&mut self) -> &mut PacketWriter {
        &mut self.0.output.writer
    }

    async fn flush(&mut self) -> bool {
        self.0.flush().await.is_ok()
    }

    async fn packet(&mut self, limit: Duration) -> Result<Vec<u8>, NoPacket> {
        self.0.input.expect_command();
        match on_loop(self.0.packet(limit)).await {
            Ok(place) => Ok(self.0.input.payload(place).to_vec()),
            Err(Gone::TimedOut) => Err(NoPacket::Late),
            Err(_) => Err(NoPacket::Gone),
        }
    }

    async fn leave(&mut self) {
        offload().await;
    }

    async fn come_back(&mut self) {
        return_to_loop().await;
    }

    fn flush_at(&self) -> usize {
        FLUSH_AT
    }

    fn idles(&mut self, session: &Session) {
        count_traffic(self.0, session);
    }
}
