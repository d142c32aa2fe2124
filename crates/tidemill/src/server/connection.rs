//! One client from its first byte to its last: login, then command after command. A task of its own; what goes wrong here
//! ends this connection and no other.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use base::real::ActiveRequest;
use sql::Session;
use sql::session::ClientFlags;
use types::error::codes;
use types::{CollationId, SqlError, Value};
use wire::capability::{self, has};
use wire::handshake::Nonce;
use wire::response::{OkPacket, write_err, write_ok, write_protocol_error};
use wire::status;

use super::Server;
use super::caught::caught;
use super::command::Flow;
use super::link::{Gone, Link};
use super::login::{Login, Refused, login};
use super::movable::{at_home, come_back};
use super::names;
use super::prepared::Prepared;
use super::registry::{Asking, Seat};
use super::stream::{Incoming, Peer};

/// The privilege to come by the administrators' address.
const ADMIN_ADDRESS: &str = "SERVICE_CONNECTION_ADMIN";
/// The privilege to have the one connection beyond `max_connections`.
const ONE_MORE: &str = "CONNECTION_ADMIN";
/// ER_CLIENT_INTERACTION_TIMEOUT.
const INTERACTION_TIMEOUT: u16 = 4031;
/// How long a client that sent nonsense may go on sending before its socket is closed under it.
const LINGER: Duration = Duration::from_secs(1);

/// A connection whose client is logged in.
pub struct Connection {
    pub(super) server: Arc<Server>,
    pub(super) link: Link,
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
}

/// Serves a client until it goes. `by_admin`: it came by the administrators' address.
pub async fn serve(server: Arc<Server>, incoming: Incoming, id: u64, seat: Seat, by_admin: bool) {
    let mut peer = incoming.peer();
    let Ok(stream) = incoming.attach() else {
        return;
    };
    let largest = server.largest_packet();
    let mut link = Link::new(stream, largest, Arc::clone(&seat.ending));
    let limit = server.connect_timeout();
    let mut login = match login(&mut link, &server, id, &mut peer, limit).await {
        Ok(login) => login,
        Err(refused) => {
            server.database.instance.server.aborted_connects.inc();
            let refused = match refused {
                // Somebody younger has its place; MySQL says the same where it has none.
                Refused::Gone(Gone::Ended) if !seat.stopping() => {
                    server.database.instance.server.max_connections_errors.inc();
                    // The client was to speak next, and takes what it is told for the answer to that.
                    let writer = &mut link.output.writer;
                    writer.set_sequence(writer.sequence().wrapping_add(1));
                    Refused::Error(SqlError::fixed(codes::ER_CON_COUNT_ERROR))
                }
                refused => refused,
            };
            return turn_away(&mut link, refused).await;
        }
    };
    link.input.set_max_packet(largest);
    let database = login.claim.database.take();
    let mut connection = Connection::begin(&server, link, login, peer, id);
    seat.ending.join(connection.session.interrupt());
    let admitted = connection.admit(&seat, by_admin).await;
    if admitted && connection.greet(database).await {
        connection.commands().await;
    }
    connection.link.say_goodbye().await;
    let Connection { session, .. } = connection;
    if let Err(panic) = caught(pin!(session.close())).await {
        let log = &server.log;
        log.error(format_args!("connection {id}: ending its session: {panic}"));
    }
}

/// Tells a client that is not let in why.
async fn turn_away(link: &mut Link, refused: Refused) {
    let writer = &mut link.output.writer;
    match refused {
        Refused::Error(e) => write_err(e.code, e.sqlstate, e.message.as_bytes(), writer),
        Refused::Gone(Gone::Protocol(e)) => write_protocol_error(e, writer),
        Refused::Gone(_) => return,
    }
    // It may have gone meanwhile.
    let _gone = link.flush().await;
    link.linger(LINGER).await;
}

impl Connection {
    fn begin(
        server: &Arc<Server>,
        mut link: Link,
        login: Login,
        peer: Peer,
        id: u64,
    ) -> Connection {
        let instance = &server.database.instance;
        let mut session = Session::logged_in(instance, login.granted, id);
        link.charge_to(session.memory());
        session.set_client(flags(login.capabilities));
        session.set_transport(peer.tls.clone());
        if let Some(collation) = login.claim.collation {
            session.set_client_collation(CollationId(collation));
        }
        if let Some(seconds) = session.vars().value_by_name("net_write_timeout") {
            link.output.write_timeout = Duration::from_secs(seconds.as_u64().max(1));
        }
        Connection {
            server: Arc::clone(server),
            link,
            session,
            peer,
            capabilities: login.capabilities,
            nonce: login.nonce,
            statements: HashMap::new(),
            params: Vec::new(),
            status: status::AUTOCOMMIT,
        }
    }

    /// Whether there is a place for its user. The client is told where not.
    async fn admit(&mut self, seat: &Seat, by_admin: bool) -> bool {
        let instance = &self.server.database.instance;
        let session = &self.session;
        let refused = if by_admin && !session.may(ADMIN_ADDRESS) {
            SqlError::new(
                codes::ER_SPECIFIC_ACCESS_DENIED_ERROR,
                format!(
                    "Access denied; you need (at least one of) the {ADMIN_ADDRESS} privilege(s) for this operation"
                ),
            )
        } else {
            let most = instance.globals().hot().max_connections();
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let admitted = match by_admin {
                true => seat.admit(most, Asking::ByAdminAddress),
                false => {
                    seat.admit(most, Asking::User)
                        || session.may(ONE_MORE) && seat.admit(most, Asking::Administrator)
                }
            };
            if admitted {
                return true;
            }
            instance.server.max_connections_errors.inc();
            SqlError::fixed(codes::ER_CON_COUNT_ERROR)
        };
        self.error(&refused);
        // It may have gone meanwhile.
        let _gone = self.link.flush().await;
        self.link.linger(LINGER).await;
        false
    }

    /// Ends the login: the default database, `init_connect`, then OK. `false` where the connection is over.
    async fn greet(&mut self, database: Option<String>) -> bool {
        if let Some(name) = database
            && let Err(e) = self.session.enter(Some(&name))
        {
            self.error(&e);
            // It may have gone meanwhile.
            let _gone = self.link.flush().await;
            return false;
        }
        if let Err(e) = self.session.init_connect().await {
            self.error(&e);
            // It may have gone meanwhile.
            let _gone = self.link.flush().await;
            return false;
        }
        self.ok();
        self.link.flush().await.is_ok()
    }

    /// Takes commands until the client goes, is silent for too long, is killed, or sends nonsense.
    async fn commands(&mut self) {
        loop {
            self.link.input.expect_command();
            let limit = Duration::from_secs(self.session.vars().hot().wait_timeout);
            let place = match at_home(self.link.packet(limit)).await {
                Ok(place) => place,
                Err(gone) => return self.farewell(gone).await,
            };
            if self.session.should_close() {
                // Killed while its next command was on the way: that one is not carried out.
                return self.farewell(Gone::Ended).await;
            }
            let sequence = self.link.input.sequence();
            self.link.output.writer.set_sequence(sequence);
            let active_request = ActiveRequest::of(self.session.id());
            let flow = self.command(place).await;
            come_back().await;
            drop(active_request);
            let flushed = self.link.flush().await;
            self.count_traffic();
            match flow {
                Flow::Quit => return,
                Flow::Fatal => return self.link.linger(LINGER).await,
                Flow::Continue if flushed.is_err() || self.session.should_close() => {
                    self.server.database.instance.server.aborted_clients.inc();
                    return;
                }
                Flow::Continue => {}
            }
        }
    }

    async fn farewell(&mut self, gone: Gone) {
        self.count_traffic();
        self.server.database.instance.server.aborted_clients.inc();
        let writer = &mut self.link.output.writer;
        writer.set_sequence(0);
        match gone {
            Gone::Closed => return,
            Gone::TimedOut => write_err(
                INTERACTION_TIMEOUT,
                "HY000",
                b"The client was disconnected by the server because of inactivity. See wait_timeout and \
                  interactive_timeout for configuring this behavior.",
                writer,
            ),
            Gone::NoMemory(ref e) => {
                writer.set_sequence(self.link.input.sequence());
                write_err(e.code, e.sqlstate, e.message.as_bytes(), writer);
            }
            Gone::Ended if self.session.should_close() => return,
            Gone::Ended => {
                let e = SqlError::server_shutdown();
                write_err(e.code, e.sqlstate, e.message.as_bytes(), writer);
            }
            Gone::Protocol(e) => {
                writer.set_sequence(self.link.input.sequence());
                write_protocol_error(e, writer);
            }
        }
        // It may have gone meanwhile.
        let _gone = self.link.flush().await;
        if matches!(gone, Gone::Protocol(_) | Gone::NoMemory(_)) {
            self.link.linger(LINGER).await;
        }
    }

    #[inline]
    fn count_traffic(&mut self) {
        let (received, sent) = self.link.take_traffic();
        let counts = &self.session.process().counts;
        counts.bytes_received.add(received);
        counts.bytes_sent.add(sent);
    }

    /// Answers OK.
    pub(super) fn ok(&mut self) {
        let ok = OkPacket {
            status: self.status,
            ..OkPacket::default()
        };
        write_ok(&ok, self.capabilities, &mut self.link.output.writer);
    }

    /// Answers an error.
    pub(super) fn error(&mut self, e: &SqlError) {
        let to = self.session.vars().hot().results;
        names::write_error(e, to, &mut self.link.output.writer);
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
        found_rows: has(capabilities, capability::FOUND_ROWS),
        interactive: has(capabilities, capability::INTERACTIVE),
    }
}
