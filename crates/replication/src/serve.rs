//! A dump on its connection: events are sent until the replica goes, replies are taken, heartbeats said. The connection is the caller's: a socket of the
//! server, or one of a simulator.
//!
//! An idle dump waits for three things at once: that there is more to send, that its client or somebody who kills it says something, and, where
//! it has asked for them, for the time of the next heartbeat.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use sql::Session;
use types::SqlError;
use types::error::codes;
use types::gtid::GtidSet;
use wire::binlog::CRC32;
use wire::binlog::frame::Checksum;
use wire::binlog::semi_sync;
use wire::command::Command;
use wire::packet::PacketWriter;

use crate::dump::{Ask, Dump, From, Step};
use crate::statements::ServerLog;

/// A replica that wants no heartbeat is not looked after for so long.
pub const NO_HEARTBEAT: Duration = Duration::from_secs(365 * 86_400);

/// Why no packet came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPacket {
    /// The time is over.
    Late,
    /// The client has gone.
    Gone,
}

/// The connection of a replica.
pub trait Peer {
    /// What is to be sent.
    fn writer(&mut self) -> &mut PacketWriter;

    /// Sends it; false: the client has gone.
    fn flush(&mut self) -> impl Future<Output = bool>;

    /// The next packet, numbered as a command, within this time. Whoever stops waiting loses nothing.
    fn packet(&mut self, limit: Duration) -> impl Future<Output = Result<Vec<u8>, NoPacket>>;

    /// What lies further back may have to come from the disk: a place is wanted where that keeps nobody waiting.
    fn leave(&mut self) -> impl Future<Output = ()>;

    /// And back, to send.
    fn come_back(&mut self) -> impl Future<Output = ()>;

    /// So many bytes are sent at once.
    fn flush_at(&self) -> usize;

    /// All is sent, and a wait begins.
    fn idles(&mut self, session: &Session);
}

/// How a dump ends that has not failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All was sent that was asked for.
    Sent,
    /// The client has gone, or is to go.
    Gone,
}

/// What is asked for.
#[derive(Debug)]
pub struct Request {
    flags: u16,
    server_id: u32,
    from: From,
}

impl Request {
    /// Of COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID; `None`: it is neither, or its set makes no sense.
    pub fn of(command: &Command<'_>) -> Option<Request> {
        Some(match command {
            Command::BinlogDump {
                position,
                flags,
                server_id,
                file,
            } => {
                let name = String::from_utf8_lossy(file).into_owned();
                Request {
                    flags: *flags,
                    server_id: *server_id,
                    from: From::Position(name, (*position).into()),
                }
            }
            Command::BinlogDumpGtid {
                flags,
                server_id,
                gtids,
                ..
            } => Request {
                flags: *flags,
                server_id: *server_id,
                from: From::Gtids(GtidSet::decode(gtids)?),
            },
            _ => return None,
        })
    }
}

/// What ends a wait.
enum Woken {
    /// There is more to send.
    More,
    /// It is time for a heartbeat.
    Late,
    /// The client has gone, or is to go.
    Gone,
    /// It has acknowledged what it was not sent, or said something else.
    Nonsense,
}

/// The name by which a replica has said it is known.
pub fn replica_uuid(session: &Session) -> String {
    let uuid = session.user_variable("replica_uuid");
    let uuid = uuid.or_else(|| session.user_variable("slave_uuid"));
    uuid.unwrap_or_default()
}

/// A variable that a replica has set before, under the new name or the old.
fn agreed(session: &Session, name: &str) -> Option<String> {
    let new = session.user_variable(&format!("source_{name}"));
    new.or_else(|| session.user_variable(&format!("master_{name}")))
}

/// Whether the replica has said that it acknowledges events: by which name it is known, and whether it has all before the place that
/// it asks for, as MySQL's have in their relay logs. One of our own has received it and not yet applied it, and says 2.
fn acknowledges(session: &Session, server_id: u32) -> Option<(String, bool)> {
    let said = session.user_variable(semi_sync::ASKED);
    let said = said.or_else(|| session.user_variable(semi_sync::ASKED_OLD));
    let said = said?.parse::<i64>().ok().filter(|n| *n != 0)?;
    let name = match replica_uuid(session) {
        uuid if !uuid.is_empty() => uuid,
        _ if server_id != 0 => format!("server {server_id}"),
        _ => format!("connection {}", session.id()),
    };
    Some((name, said == 1))
}

/// Sends what was asked for. The connection ends with it, in good order or not.
///
/// # Errors
/// 1236: why it cannot go on.
pub async fn serve(
    log: &Arc<ServerLog>,
    session: &mut Session,
    peer: &mut impl Peer,
    request: Request,
) -> Result<Ended, SqlError> {
    let Request {
        flags,
        server_id,
        from,
    } = request;
    let checksum = agreed(session, "binlog_checksum");
    let ask = Ask {
        from,
        flags,
        checksum: checksum.map(|c| match c.eq_ignore_ascii_case(CRC32) {
            true => Checksum::Crc32,
            false => Checksum::None,
        }),
    };
    let beat = agreed(session, "heartbeat_period").and_then(|n| n.parse().ok());
    let beat = match beat {
        Some(nanos) if nanos > 0 => Duration::from_nanos(nanos),
        _ => NO_HEARTBEAT,
    };
    let turn = log
        .replicas
        .begin(session.id(), server_id, &replica_uuid(session));
    // Whoever had the name looks, and finds that it is another's.
    log.log.feed().wake();
    session.begin_dump(matches!(ask.from, From::Gtids(_)));
    // Who was sent something before a crash has more than the files may have now, until they are made again.
    let ended = match until_shown(log, session).await {
        None => Ok(Ended::Gone),
        Some(Err(e)) => Err(e),
        Some(Ok(())) => match Dump::begin(&log.log, turn, ask) {
            Ok(mut dump) => {
                if let Some((name, has_before)) = acknowledges(session, server_id) {
                    dump.acknowledged_by(name, has_before);
                }
                send_events(log, session, peer, dump, beat).await
            }
            Err(e) => Err(e),
        },
    };
    session.end_dump();
    ended
}

/// Waits until all is in the files that was committed by now; `None`: the connection is to end.
async fn until_shown(log: &ServerLog, session: &Session) -> Option<Result<(), SqlError>> {
    let interrupt = session.interrupt();
    let mut shown = pin!(log.caught_up());
    poll_fn(|cx| {
        if !base::mutant!("dump-waits-without-its-kill") {
            interrupt.event.park(cx);
        }
        if interrupt.is_set() {
            return Poll::Ready(None);
        }
        shown.as_mut().poll(cx).map(|r| Some(r.map(drop)))
    })
    .await
}

async fn send_events(
    log: &ServerLog,
    session: &Session,
    peer: &mut impl Peer,
    mut dump: Dump,
    beat: Duration,
) -> Result<Ended, SqlError> {
    let mut catching_up = false;
    loop {
        if catching_up {
            peer.leave().await;
        }
        let acknowledged = dump.is_acknowledged();
        let writer = peer.writer();
        let step = dump.step(&mut |event| put(writer, event, acknowledged))?;
        let pending = peer.writer().pending().len();
        peer.come_back().await;
        if (pending >= peer.flush_at() || step != Step::More) && !peer.flush().await {
            return Ok(Ended::Gone);
        }
        catching_up = step == Step::More;
        if acknowledged && !take_replies(peer, &mut dump).await {
            return no_reply(session);
        }
        match step {
            Step::More if session.should_close() => return Ok(Ended::Gone),
            Step::More => {}
            Step::End => return Ok(Ended::Sent),
            Step::Wait => {
                peer.idles(session);
                session.dump_has_sent_all(true);
                match wait_for_events(log, session, peer, &mut dump, beat).await {
                    Woken::More => session.dump_has_sent_all(false),
                    Woken::Gone => return Ok(Ended::Gone),
                    Woken::Nonsense => return no_reply(session),
                    Woken::Late => {
                        let writer = peer.writer();
                        dump.heartbeat(&mut |event| put(writer, event, acknowledged));
                    }
                }
            }
        }
    }
}

/// Takes the replies that have come by now. False: the dump is to end.
async fn take_replies(peer: &mut impl Peer, dump: &mut Dump) -> bool {
    loop {
        let came = {
            let mut packet = pin!(peer.packet(NO_HEARTBEAT));
            let now = poll_fn(|cx| match packet.as_mut().poll(cx) {
                Poll::Ready(p) => Poll::Ready(Some(p)),
                Poll::Pending => Poll::Ready(None),
            });
            now.await
        };
        match came {
            None => return true,
            Some(Ok(reply)) if dump.replied(&reply).is_ok() => {}
            Some(_) => return false,
        }
    }
}

/// A replica's reply made no sense, or it has gone.
fn no_reply(session: &Session) -> Result<Ended, SqlError> {
    match session.should_close() {
        true => Ok(Ended::Gone),
        false => Err(SqlError::new(
            codes::ER_MASTER_FATAL_ERROR_READING_BINLOG,
            "Read semi-sync reply from a replica that is none, or acknowledges what it was not sent",
        )),
    }
}

async fn wait_for_events(
    log: &ServerLog,
    session: &Session,
    peer: &mut impl Peer,
    dump: &mut Dump,
    beat: Duration,
) -> Woken {
    let interrupt = session.interrupt();
    let feed = log.log.feed();
    loop {
        let reply = {
            let urgent = dump.is_acknowledged();
            let more = feed.wait_for_events(urgent, |v| dump.has_more(v).then_some(()));
            let mut more = pin!(more);
            let mut client = pin!(peer.packet(beat));
            let woken = poll_fn(|cx| {
                if !base::mutant!("dump-waits-without-its-kill") {
                    interrupt.event.park(cx);
                }
                if interrupt.is_set() {
                    return Poll::Ready(Err(Woken::Gone));
                }
                if more.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Err(Woken::More));
                }
                match client.as_mut().poll(cx) {
                    Poll::Ready(Ok(packet)) => Poll::Ready(Ok(packet)),
                    Poll::Ready(Err(NoPacket::Late)) => Poll::Ready(Err(Woken::Late)),
                    Poll::Ready(Err(NoPacket::Gone)) => Poll::Ready(Err(Woken::Gone)),
                    Poll::Pending => Poll::Pending,
                }
            });
            match woken.await {
                Ok(packet) => packet,
                Err(woken) => return woken,
            }
        };
        // But for that a replica has nothing to say while it is sent events: it is another client's packet, or it leaves.
        if !dump.is_acknowledged() {
            return Woken::Gone;
        }
        if dump.replied(&reply).is_err() {
            return Woken::Nonsense;
        }
    }
}

/// Writes an event to be sent.
fn put(writer: &mut PacketWriter, event: &[u8], acknowledged: bool) {
    writer.begin();
    writer.buf().push(0);
    writer.buf().extend_from_slice(event);
    writer.end();
    if acknowledged && matches!(semi_sync::read_front(event), Ok((true, _))) {
        writer.set_sequence(semi_sync::NEXT_SEQUENCE);
    }
}

#[cfg(test)]
mod tests;
