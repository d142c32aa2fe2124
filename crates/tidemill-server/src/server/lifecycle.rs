//! One client from its first byte to its last: login, then command after command. A task of its own; what goes wrong here
//! ends this connection and no other.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use base::real::ActiveRequest;
use types::SqlError;
use types::error::codes;
use wire::compress::Method;
use wire::response::{write_err, write_protocol_error};

use super::catch_unwind::catch_unwind;
use super::command::Flow;
use super::connection::Connection;
use super::login::{Refused, login};
use super::packet_stream::{Gone, PacketStream};
use super::registry::{Asking, ConnectionSlot};
use super::server_state::Server;
use super::socket::Incoming;
use super::stream::Stream;
use super::workers::others_first;
use crate::offload::{on_loop, return_to_loop};

/// The privilege to come by the administrators' address.
const ADMIN_ADDRESS: &str = "SERVICE_CONNECTION_ADMIN";
/// The privilege to have the one connection beyond `max_connections`.
const ONE_MORE: &str = "CONNECTION_ADMIN";
/// ER_CLIENT_INTERACTION_TIMEOUT.
const INTERACTION_TIMEOUT: u16 = 4031;
/// How long a client that sent nonsense may go on sending before its socket is closed under it.
const LINGER: Duration = Duration::from_secs(1);

/// Serves a client until it goes. `by_admin`: it came by the administrators' address.
pub async fn serve(
    server: Arc<Server>,
    incoming: Incoming,
    id: u64,
    slot: ConnectionSlot,
    by_admin: bool,
) {
    let mut peer = incoming.peer();
    let Ok(socket) = incoming.attach() else {
        return;
    };
    let largest = server.largest_packet();
    let mut packets = PacketStream::new(Stream::new(socket), largest, Arc::clone(&slot.ending));
    let limit = server.connect_timeout();
    let mut login = match login(&mut packets, &server, id, &mut peer, limit).await {
        Ok(login) => login,
        Err(refused) => {
            server.database.instance.server.aborted_connects.inc();
            let refused = match refused {
                // Somebody younger has its place; MySQL says the same where it has none.
                Refused::Gone(Gone::Ended) if !slot.stopping() => {
                    server.database.instance.server.max_connections_errors.inc();
                    // The client was to speak next, and takes what it is told for the answer to that.
                    let writer = &mut packets.output.writer;
                    writer.set_sequence(writer.sequence().wrapping_add(1));
                    Refused::Error(SqlError::fixed(codes::ER_CON_COUNT_ERROR))
                }
                refused => refused,
            };
            return turn_away(&mut packets, refused).await;
        }
    };
    packets.input.set_max_packet(largest);
    let database = login.claim.database.take();
    let compression = login.compression;
    let mut connection = Connection::begin(&server, packets, login, peer, id);
    slot.ending.join(connection.session.interrupt());
    let admitted = connection.admit(&slot, by_admin).await;
    if admitted && connection.greet(database).await && connection.compress(compression, largest) {
        connection.commands().await;
    }
    connection.packets.say_goodbye().await;
    let Connection { session, .. } = connection;
    if let Err(panic) = catch_unwind(pin!(session.close())).await {
        let log = &server.log;
        log.error(format_args!("connection {id}: ending its session: {panic}"));
    }
}

/// Tells a client that is not let in why.
async fn turn_away(packets: &mut PacketStream, refused: Refused) {
    let writer = &mut packets.output.writer;
    match refused {
        Refused::Error(e) => write_err(e.code, &e.sqlstate, e.message.as_bytes(), writer),
        Refused::Gone(Gone::Protocol(e)) => write_protocol_error(e, writer),
        Refused::Gone(_) => return,
    }
    // It may have gone meanwhile.
    let _gone = packets.flush().await;
    packets.linger(LINGER).await;
}

impl Connection {
    /// Whether there is a place for its user. The client is told where not.
    async fn admit(&mut self, slot: &ConnectionSlot, by_admin: bool) -> bool {
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
                true => slot.admit(most, Asking::ByAdminAddress),
                false => {
                    slot.admit(most, Asking::User)
                        || session.may(ONE_MORE) && slot.admit(most, Asking::Administrator)
                }
            };
            match session.check_online() {
                Ok(()) if admitted => return true,
                Ok(()) => {
                    instance.server.max_connections_errors.inc();
                    SqlError::fixed(codes::ER_CON_COUNT_ERROR)
                }
                Err(e) => e,
            }
        };
        self.error(&refused);
        // It may have gone meanwhile.
        let _gone = self.packets.flush().await;
        self.packets.linger(LINGER).await;
        false
    }

    /// Ends the login: the default database, `init_connect`, then OK. `false` where the connection is over.
    async fn greet(&mut self, database: Option<String>) -> bool {
        if let Some(name) = database
            && let Err(e) = self.session.enter(Some(&name))
        {
            self.error(&e);
            // It may have gone meanwhile.
            let _gone = self.packets.flush().await;
            return false;
        }
        if let Err(e) = self.session.init_connect().await {
            self.error(&e);
            // It may have gone meanwhile.
            let _gone = self.packets.flush().await;
            return false;
        }
        self.ok();
        self.packets.flush().await.is_ok()
    }

    /// Goes over to compression, where that was agreed on. `false` where there is no room for it.
    fn compress(&mut self, method: Option<Method>, max_packet: usize) -> bool {
        let Some(method) = method else {
            return true;
        };
        self.session
            .set_compression(method.name(), u64::from(method.level()));
        self.packets.start_compression(method, max_packet).is_ok()
    }

    /// Takes commands until the client goes, is silent for too long, is killed, or sends nonsense.
    async fn commands(&mut self) {
        loop {
            self.packets.input.expect_command();
            let limit = Duration::from_secs(self.session.vars().hot().wait_timeout);
            let place = match on_loop(self.packets.packet(limit)).await {
                Ok(place) => place,
                Err(gone) => return self.farewell(gone).await,
            };
            if self.session.should_close() {
                // Killed while its next command was on the way: that one is not carried out.
                return self.farewell(Gone::Ended).await;
            }
            let sequence = self.packets.input.sequence();
            self.packets.output.writer.set_sequence(sequence);
            let active_request = ActiveRequest::of(self.session.id());
            let flow = self.command(place).await;
            let was_away = return_to_loop().await;
            drop(active_request);
            // Who comes from elsewhere has let them go first.
            if !was_away {
                others_first().await;
            }
            let flushed = self.packets.flush().await;
            self.count_traffic();
            match flow {
                Flow::Quit => return,
                Flow::Fatal => return self.packets.linger(LINGER).await,
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
        let writer = &mut self.packets.output.writer;
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
                writer.set_sequence(self.packets.input.sequence());
                write_err(e.code, &e.sqlstate, e.message.as_bytes(), writer);
            }
            Gone::Ended if self.session.should_close() => return,
            Gone::Ended => {
                let e = SqlError::server_shutdown();
                write_err(e.code, &e.sqlstate, e.message.as_bytes(), writer);
            }
            Gone::Protocol(e) => {
                writer.set_sequence(self.packets.input.sequence());
                write_protocol_error(e, writer);
            }
        }
        // It may have gone meanwhile.
        let _gone = self.packets.flush().await;
        if matches!(gone, Gone::Protocol(_) | Gone::NoMemory(_)) {
            self.packets.linger(LINGER).await;
        }
    }
}
