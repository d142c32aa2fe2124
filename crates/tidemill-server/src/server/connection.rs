//! A client that is logged in: its session, its packets, and what the protocol keeps for it between commands.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use replication::dump::replicas::Registered;
use sql::Session;
use sql::session::ClientFlags;
use types::{CollationId, SqlError, Value};
use wire::capability::{self, has};
use wire::handshake::Nonce;
use wire::response::{OkPacket, write_ok};
use wire::status;

use super::login::Login;
use super::names;
use super::packet_stream::PacketStream;
use super::peer::Peer;
use super::prepared::Prepared;
use super::results::changes_of;
use super::server_state::Server;

/// A connection whose client is logged in.
pub struct Connection {
    pub(super) server: Arc<Server>,
    pub(super) packets: PacketStream,
    pub(super) session: Session,
    pub(super) peer: Peer,
    pub(super) capabilities: u32,
    pub(super) nonce: Nonce,
    /// The protocol's side of prepared statements, by id.
    pub(super) statements: HashMap<u32, Prepared>,
    /// Room for parameters, kept from one execution to the next.
    pub(super) params: Vec<Value>,
    /// The server status after the last statement.
    pub(super) status: u16,
    /// What it has said of itself as a replica.
    pub(super) replica: Option<Registered>,
}

impl Connection {
    /// Begins the session of a login.
    pub(super) fn begin(
        server: &Arc<Server>,
        mut packets: PacketStream,
        login: Login,
        peer: Peer,
        id: u64,
    ) -> Connection {
        let instance = &server.database.instance;
        let mut session = Session::logged_in(instance, login.granted, id);
        packets.charge_to(session.memory());
        session.set_client(flags(login.capabilities));
        session.set_transport(peer.tls.clone());
        if let Some(collation) = login.claim.collation {
            session.set_client_collation(CollationId(collation));
        }
        if let Some(seconds) = session.vars().value_by_name("net_write_timeout") {
            packets.output.write_timeout = Duration::from_secs(seconds.as_u64().max(1));
        }
        Connection {
            server: Arc::clone(server),
            packets,
            session,
            peer,
            capabilities: login.capabilities,
            nonce: login.nonce,
            statements: HashMap::new(),
            params: Vec::new(),
            status: status::AUTOCOMMIT,
            replica: None,
        }
    }

    /// Adds what has gone in and out to the session's counts.
    #[inline]
    pub(super) fn count_traffic(&mut self) {
        count_traffic(&mut self.packets, &self.session);
    }

    /// Answers OK, and what has changed of the session.
    pub(super) fn ok(&mut self) {
        let changes = changes_of(&self.session.take_changes());
        let ok = OkPacket {
            status: self.status,
            session_state: changes.encoded(),
            ..OkPacket::default()
        };
        write_ok(&ok, self.capabilities, &mut self.packets.output.writer);
    }

    /// Answers an error.
    pub(super) fn error(&mut self, e: &SqlError) {
        let to = self.session.vars().hot().results;
        names::write_error(e, to, &mut self.packets.output.writer);
    }

    /// Answers OK or an error.
    pub(super) fn outcome(&mut self, outcome: Result<(), SqlError>) {
        match outcome {
            Ok(()) => self.ok(),
            Err(e) => self.error(&e),
        }
    }
}

/// What of a client's capabilities statements depend on.
pub(super) fn flags(capabilities: u32) -> ClientFlags {
    ClientFlags {
        multi_statements: has(capabilities, capability::MULTI_STATEMENTS),
        multi_results: has(
            capabilities,
            capability::MULTI_RESULTS | capability::MULTI_STATEMENTS,
        ),
        found_rows: has(capabilities, capability::FOUND_ROWS),
        interactive: has(capabilities, capability::INTERACTIVE),
    }
}

/// Adds what went over the connection to the session's counts.
pub(super) fn count_traffic(packets: &mut PacketStream, session: &Session) {
    let (received, sent) = packets.take_traffic();
    let counts = &session.process().counts;
    counts.bytes_received.add(received);
    counts.bytes_sent.add(sent);
}
