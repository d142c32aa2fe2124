//! COM_REGISTER_SLAVE and the dumps: what a replica says of itself, and the events that it is sent until it goes.
//!
//! An idle dump waits for three things at once: that there is more to send, that its client or somebody who kills it says something, and, where
//! it has asked for them, for the time of the next heartbeat.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use replication::dump::{Ask, Dump, From, Step};
use replication::statements::ServerLog;
use sql::binary_log::ReplicaRow;
use types::SqlError;
use types::error::codes;
use types::gtid::GtidSet;
use wire::ProtocolError;
use wire::binlog::CRC32;
use wire::binlog::frame::Checksum;
use wire::binlog::semi_sync;
use wire::command::Command;
use wire::packet::{PacketPlace, PacketWriter};

use super::command::Flow;
use super::connection::Connection;
use super::packet_stream::Gone;
use super::results::FLUSH_AT;
use crate::offload::{offload, on_loop, return_to_loop};

/// A replica that wants no heartbeat is not looked after for so long.
const NO_HEARTBEAT: Duration = Duration::from_secs(365 * 86_400);

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
            uuid: self.replica_uuid(),
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

    fn replica_uuid(&self) -> String {
        let uuid = self.session.user_variable("replica_uuid");
        let uuid = uuid.or_else(|| self.session.user_variable("slave_uuid"));
        uuid.unwrap_or_default()
    }

    /// A variable that a replica has set before, under the new name or the old.
    fn agreed(&self, name: &str) -> Option<String> {
        let new = self.session.user_variable(&format!("source_{name}"));
        new.or_else(|| self.session.user_variable(&format!("master_{name}")))
    }

    /// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID. The connection ends with it, in good order or not.
    pub(super) async fn dump(&mut self, place: PacketPlace) -> Flow {
        let packet = self.packets.input.payload(place);
        let (flags, server_id, from) = match Command::parse(packet, self.capabilities) {
            Ok(Command::BinlogDump {
                position,
                flags,
                server_id,
                file,
            }) => {
                let name = String::from_utf8_lossy(file).into_owned();
                (flags, server_id, From::Position(name, position.into()))
            }
            Ok(Command::BinlogDumpGtid {
                flags,
                server_id,
                gtids,
                ..
            }) => match GtidSet::decode(gtids) {
                Some(set) => (flags, server_id, From::Gtids(set)),
                None => return self.protocol_error(ProtocolError::Malformed),
            },
            _ => return Flow::Fatal,
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
        let checksum = self.agreed("binlog_checksum");
        let ask = Ask {
            from,
            flags,
            checksum: checksum.map(|c| match c.eq_ignore_ascii_case(CRC32) {
                true => Checksum::Crc32,
                false => Checksum::None,
            }),
        };
        let beat = self.agreed("heartbeat_period").and_then(|n| n.parse().ok());
        let beat = match beat {
            Some(nanos) if nanos > 0 => Duration::from_nanos(nanos),
            _ => NO_HEARTBEAT,
        };
        let turn = log
            .replicas
            .begin(self.session.id(), server_id, &self.replica_uuid());
        // Whoever had the name looks, and finds that it is another's.
        log.log.feed().wake();
        self.session.begin_dump(matches!(ask.from, From::Gtids(_)));
        // Who was sent something before a crash has more than the files may have now, until they are made again.
        let ended = match self.until_shown(&log).await {
            None => Ok(Flow::Quit),
            Some(Err(e)) => Err(e),
            Some(Ok(())) => match Dump::begin(&log.log, turn, ask) {
                Ok(mut dump) => {
                    if let Some((name, has_before)) = self.acknowledges(server_id) {
                        dump.acknowledged_by(name, has_before);
                    }
                    self.send_events(dump, &log, beat).await
                }
                Err(e) => Err(e),
            },
        };
        self.session.end_dump();
        match ended {
            Ok(Flow::Continue) => {
                self.end_of_nothing();
                Flow::Continue
            }
            Ok(flow) => flow,
            Err(e) => {
                self.error(&e);
                Flow::Fatal
            }
        }
    }

    /// Whether the replica has said that it acknowledges events: by which name it is known, and whether it has all before the place that
    /// it asks for, as MySQL's have in their relay logs. One of our own has received it and not yet applied it, and says 2.
    fn acknowledges(&self, server_id: u32) -> Option<(String, bool)> {
        let said = self.session.user_variable(semi_sync::ASKED);
        let said = said.or_else(|| self.session.user_variable(semi_sync::ASKED_OLD));
        let said = said?.parse::<i64>().ok().filter(|n| *n != 0)?;
        let name = match self.replica_uuid() {
            uuid if !uuid.is_empty() => uuid,
            _ if server_id != 0 => format!("server {server_id}"),
            _ => format!("connection {}", self.session.id()),
        };
        Some((name, said == 1))
    }

    /// Takes the replies that have come by now. False: the dump is to end.
    async fn take_replies(&mut self, dump: &mut Dump) -> bool {
        loop {
            self.packets.input.expect_command();
            let place = {
                let mut packet = pin!(on_loop(self.packets.packet(NO_HEARTBEAT)));
                let now = poll_fn(|cx| match packet.as_mut().poll(cx) {
                    Poll::Ready(p) => Poll::Ready(Some(p)),
                    Poll::Pending => Poll::Ready(None),
                });
                now.await
            };
            match place {
                None => return true,
                Some(Ok(place)) => {
                    let reply = self.packets.input.payload(place);
                    if dump.replied(reply).is_err() {
                        return false;
                    }
                }
                Some(Err(_)) => return false,
            }
        }
    }

    async fn send_events(
        &mut self,
        mut dump: Dump,
        log: &ServerLog,
        beat: Duration,
    ) -> Result<Flow, SqlError> {
        let mut catching_up = false;
        loop {
            if catching_up {
                // What lies further back may have to come from the disk.
                offload().await;
            }
            let acknowledged = dump.is_acknowledged();
            let writer = &mut self.packets.output.writer;
            let step = dump.step(&mut |event| put(writer, event, acknowledged))?;
            let pending = self.packets.output.writer.pending().len();
            return_to_loop().await;
            if (pending >= FLUSH_AT || step != Step::More) && self.packets.flush().await.is_err() {
                return Ok(Flow::Quit);
            }
            catching_up = step == Step::More;
            if acknowledged && !self.take_replies(&mut dump).await {
                return self.no_reply();
            }
            match step {
                Step::More if self.session.should_close() => return Ok(Flow::Quit),
                Step::More => {}
                Step::End => return Ok(Flow::Continue),
                Step::Wait => {
                    self.count_traffic();
                    self.session.dump_has_sent_all(true);
                    match self.wait_for_events(&mut dump, log, beat).await {
                        Woken::More => self.session.dump_has_sent_all(false),
                        Woken::Gone => return Ok(Flow::Quit),
                        Woken::Nonsense => return self.no_reply(),
                        Woken::Late => {
                            let writer = &mut self.packets.output.writer;
                            dump.heartbeat(&mut |event| put(writer, event, acknowledged));
                        }
                    }
                }
            }
        }
    }

    /// Waits until all is in the files that was committed by now; `None`: the connection is to end.
    async fn until_shown(&self, log: &ServerLog) -> Option<Result<(), SqlError>> {
        let interrupt = self.session.interrupt();
        let mut shown = pin!(log.caught_up());
        poll_fn(|cx| {
            interrupt.event.park(cx);
            if interrupt.is_set() {
                return Poll::Ready(None);
            }
            shown.as_mut().poll(cx).map(|r| Some(r.map(drop)))
        })
        .await
    }

    /// A replica's reply made no sense, or it has gone.
    fn no_reply(&self) -> Result<Flow, SqlError> {
        match self.session.should_close() {
            true => Ok(Flow::Quit),
            false => Err(SqlError::new(
                codes::ER_MASTER_FATAL_ERROR_READING_BINLOG,
                "Read semi-sync reply from a replica that is none, or acknowledges what it was not sent",
            )),
        }
    }

    async fn wait_for_events(&mut self, dump: &mut Dump, log: &ServerLog, beat: Duration) -> Woken {
        let interrupt = self.session.interrupt();
        let feed = log.log.feed();
        loop {
            self.packets.input.expect_command();
            let place = {
                let more = feed.wait_for(|v| dump.has_more(v).then_some(()));
                let mut more = pin!(more);
                let mut client = pin!(on_loop(self.packets.packet(beat)));
                let woken = poll_fn(|cx| {
                    interrupt.event.park(cx);
                    if interrupt.is_set() {
                        return Poll::Ready(Err(Woken::Gone));
                    }
                    if more.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(Err(Woken::More));
                    }
                    match client.as_mut().poll(cx) {
                        Poll::Ready(Ok(place)) => Poll::Ready(Ok(place)),
                        Poll::Ready(Err(Gone::TimedOut)) => Poll::Ready(Err(Woken::Late)),
                        Poll::Ready(Err(_)) => Poll::Ready(Err(Woken::Gone)),
                        Poll::Pending => Poll::Pending,
                    }
                });
                match woken.await {
                    Ok(place) => place,
                    Err(woken) => return woken,
                }
            };
            // But for that a replica has nothing to say while it is sent events: it is another client's packet, or it leaves.
            if !dump.is_acknowledged() {
                return Woken::Gone;
            }
            let reply = self.packets.input.payload(place);
            if dump.replied(reply).is_err() {
                return Woken::Nonsense;
            }
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
