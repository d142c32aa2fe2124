//! A dump: the events of the files, one a packet, to whoever has asked for them by COM_BINLOG_DUMP or COM_BINLOG_DUMP_GTID.
//!
//! It is asked for the next events as long as it has some, and says when there are none; who asks waits for the [feed](crate::service::feed).
//! Nothing here waits, and a dump that has nothing to send costs nothing.
//!
//! Source: MySQL's manual, "Replication Protocol", and the MariaDB knowledge base, "Replica registration".

pub mod replicas;

use crate::derive::{FIRST_POSITION, Naming};
use crate::files::read::{EventReader, Head, read_head};
use crate::semi_sync::{Member, NotSent, Place};
use crate::service::BinaryLog;
use crate::service::feed::{Health, View};
use replicas::Turn;
use std::io;
use std::sync::Arc;
use types::SqlError;
use types::error::codes;
use types::gtid::{GtidSet, Sid};
use wire::binlog::control::{Heartbeat, Rotate, Transaction};
use wire::binlog::format::Format;
use wire::binlog::frame::{CHECKSUM_LEN, Checksum, Event, put_event};
use wire::binlog::header::{self, Header, flag, kind};
use wire::binlog::semi_sync::{Reply, put_front};
use wire::read::Reader;

/// Flags of the commands.
pub mod ask_flag {
    /// End where the files end, instead of waiting for more.
    pub const NON_BLOCK: u16 = 1;
    /// Heartbeats of the second kind.
    pub const HEARTBEAT_V2: u16 = 2;
}

/// Bytes that are sent before others get their turn.
const PORTION: usize = 64 << 10;

/// From where events are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// From a position of a file; without a name: the first file.
    Position(String, u64),
    /// All that is not in the set.
    Gtids(GtidSet),
}

/// What a replica wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// From where.
    pub from: From,
    /// Of [`ask_flag`].
    pub flags: u16,
    /// What it wants behind each event; `None`: it has not said, and knows of no checksums.
    pub checksum: Option<Checksum>,
}

/// What there is after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// There may be more.
    More,
    /// There is no more now: [`Dump::has_more`] says when.
    Wait,
    /// It is over, in good order.
    End,
}

/// See the module.
pub struct Dump {
    log: Arc<BinaryLog>,
    turn: Turn,
    ask: Ask,
    epoch: u64,
    /// The number of the file that is being sent.
    file: u32,
    reader: EventReader,
    /// What stands behind the events of the file, and of those that are sent.
    checksum: Checksum,
    sent: Checksum,
    server_id: u32,
    /// The first event that was asked for, for errors.
    first: (String, u64),
    /// The last one that was read.
    last: (String, u64),
    /// What stands in front of the next event: made up events of a file's beginning.
    front: Vec<Vec<u8>>,
    /// The transaction is one that the replica has.
    skipping: bool,
    /// Something was left out, of which the replica has to know how far it goes.
    skipped: bool,
    /// It acknowledges what it is sent.
    member: Option<Member>,
}

fn fatal(why: &str) -> SqlError {
    SqlError::new(codes::ER_MASTER_FATAL_ERROR_READING_BINLOG, why)
}

impl Dump {
    /// Begins.
    ///
    /// # Errors
    /// 1236, with MySQL's words for why not.
    pub fn begin(log: &Arc<BinaryLog>, turn: Turn, ask: Ask) -> Result<Dump, SqlError> {
        let view = log.feed().with(Clone::clone);
        let server_id = view.settings.server_id;
        if server_id == 0 {
            return Err(fatal("Misconfigured source - source server_id is 0"));
        }
        let (file, position) = match &ask.from {
            From::Position(name, position) => (find_file(log, &view, name)?, *position),
            From::Gtids(set) => (find_by_gtids(log, &view, set)?, FIRST_POSITION),
        };
        let Some((size, _)) = view.file(file) else {
            return Err(fatal(NO_FILE));
        };
        if position < FIRST_POSITION {
            return Err(fatal(
                "Client requested source to start replication from impossible position",
            ));
        }
        if position > size {
            return Err(fatal(
                "Client requested source to start replication from position > file size",
            ));
        }
        let name = log.names().name(file);
        turn.at_file(file);
        let opened = log.open_file(file).map_err(|e| fatal(&e.to_string()))?;
        let mut dump = Dump {
            log: log.clone(),
            turn,
            sent: ask.checksum.unwrap_or(Checksum::None),
            ask,
            epoch: view.epoch,
            file,
            reader: EventReader::new(opened, position),
            checksum: Checksum::None,
            server_id,
            first: (name.clone(), position),
            last: (name, position),
            front: Vec::new(),
            skipping: false,
            skipped: false,
            member: None,
        };
        dump.open(file, position)?;
        Ok(dump)
    }

    /// Goes to a position of a file.
    fn open(&mut self, file: u32, position: u64) -> Result<(), SqlError> {
        // Made up before the file's kind of checksum is known: in the one that the replica expects.
        let rotate = self.rotate(file, position);
        self.front.push(rotate);
        let wrong = |e: io::Error| fatal(&e.to_string());
        let opened = self.log.open_file(file).map_err(wrong)?;
        let Head { checksum, .. } = read_head(&*opened).map_err(wrong)?;
        if checksum == Checksum::Crc32 && self.ask.checksum.is_none() {
            let why = "Replica can not handle replication events with the checksum that source is configured to log";
            return Err(fatal(&self.with_places(why)));
        }
        self.checksum = checksum;
        self.sent = match self.ask.checksum {
            Some(Checksum::Crc32) => checksum,
            _ => Checksum::None,
        };
        self.file = file;
        self.turn.at_file(file);
        if position > FIRST_POSITION {
            let (size, _) = self.log.feed().with(|v| v.file(file)).unwrap_or((0, false));
            let mut head = EventReader::new(opened.clone(), FIRST_POSITION);
            let Some((h, bytes)) = head.next(size).map_err(wrong)? else {
                return Err(fatal("Could not find format_description_event"));
            };
            let format = format_event(h, bytes, self.sent, true);
            self.front
                .push(format.ok_or_else(|| fatal("the first event is damaged"))?);
        }
        self.reader = EventReader::new(opened, position);
        Ok(())
    }

    fn rotate(&self, file: u32, position: u64) -> Vec<u8> {
        let name = self.log.names().name(file);
        let file = name.as_bytes();
        self.made_up(kind::ROTATE, 0, flag::ARTIFICIAL, |b| {
            Rotate { file, position }.write(b);
        })
    }

    /// An event that is in no file.
    fn made_up(
        &self,
        kind: u8,
        position: u32,
        flags: u16,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Vec<u8> {
        let mut body = Vec::new();
        fill(&mut body);
        let size = (header::LEN + body.len() + self.sent.len()) as u32;
        let header = Header {
            timestamp: 0,
            kind,
            server_id: self.server_id,
            size: 0,
            // It is moved by the event's size, which is none of the file's.
            next_position: match position {
                0 => 0,
                p => p.wrapping_sub(size),
            },
            flags,
        };
        let mut out = Vec::new();
        put_event(header, self.sent, &mut out, |b| b.extend_from_slice(&body));
        out
    }

    /// The replica acknowledges events from here on: each has two bytes more in front. `has_before`: what it has asked for says that all
    /// before is durable there.
    pub fn acknowledged_by(&mut self, name: String, has_before: bool) {
        let from = Place {
            file: self.file,
            position: self.reader.position(),
        };
        let mut member = self.log.semi_sync().join(name, from);
        if has_before || matches!(self.ask.from, From::Gtids(_)) {
            member.has(from);
        }
        self.member = Some(member);
    }

    /// Whether there are two bytes in front of each event.
    pub fn is_acknowledged(&self) -> bool {
        self.member.is_some()
    }

    /// Takes a replica's reply.
    ///
    /// # Errors
    /// It is none, or it names a place that was not sent: nothing more is to be believed.
    pub fn replied(&mut self, packet: &[u8]) -> Result<(), NotSent> {
        let reply = Reply::read(packet).map_err(|_| NotSent)?;
        let file = std::str::from_utf8(reply.file).ok();
        let file = file.and_then(|name| self.log.names().number(name));
        let member = self.member.as_mut().ok_or(NotSent)?;
        member.replied(Place {
            file: file.ok_or(NotSent)?,
            position: reply.position,
        })
    }

    /// Sends an event; with `end`, it is one of the file, and ends there.
    fn send(&mut self, event: &[u8], end: Option<u64>, send: &mut dyn FnMut(&[u8])) {
        let file = self.file;
        let Some(member) = &mut self.member else {
            return send(event);
        };
        let wanted = end.is_some_and(|position| member.sends(Place { file, position }));
        let mut framed = Vec::with_capacity(event.len() + 2);
        put_front(wanted, &mut framed);
        framed.extend_from_slice(event);
        send(&framed);
    }

    /// A word that the source is there, and how far it has come.
    pub fn heartbeat(&mut self, send: &mut dyn FnMut(&[u8])) {
        let event = self.heartbeat_event();
        self.send(&event, None, send);
    }

    fn heartbeat_event(&self) -> Vec<u8> {
        let name = self.log.names().name(self.file);
        let position = self.reader.position();
        let file = name.as_bytes();
        match self.ask.flags & ask_flag::HEARTBEAT_V2 != 0 {
            true => self.made_up(kind::HEARTBEAT_V2, position as u32, 0, |b| {
                Heartbeat { file, position }.write_v2(b);
            }),
            false => self.made_up(kind::HEARTBEAT, position as u32, 0, |b| {
                b.extend_from_slice(file);
            }),
        }
    }

    fn with_places(&self, why: &str) -> String {
        let ((first, first_at), (last, last_at)) = (&self.first, &self.last);
        format!(
            "{why}; the first event '{first}' at {first_at}, the last event read from '{last}' at {last_at}, the last byte read from '{last}' at {}.",
            self.reader.position()
        )
    }

    /// Whether there is something to do, by what is shown.
    pub fn has_more(&self, view: &View) -> bool {
        self.turn.is_over()
            || view.epoch != self.epoch
            || view.health != Health::Runs
            || view
                .file(self.file)
                .is_none_or(|(size, next)| next || size > self.reader.position())
    }

    /// Sends the next events.
    ///
    /// # Errors
    /// 1236: it cannot go on; why, in MySQL's words.
    pub fn step(&mut self, send: &mut dyn FnMut(&[u8])) -> Result<Step, SqlError> {
        if self.turn.is_over() {
            let why = "A replica with the same server_uuid/server_id as this replica has connected to the source";
            return Err(fatal(&self.with_places(why)));
        }
        let (epoch, health, place) = self
            .log
            .feed()
            .with(|v| (v.epoch, v.health.clone(), v.file(self.file)));
        let (size, next) = match place {
            Some(place) if epoch == self.epoch => place,
            _ => return Err(fatal("could not find next log")),
        };
        let mut sent = 0;
        while sent < PORTION {
            for event in std::mem::take(&mut self.front) {
                self.send(&event, None, send);
                sent += event.len();
            }
            let at = self.reader.position();
            if at >= size {
                if next {
                    return self.next_file();
                }
                if self.ask.flags & ask_flag::NON_BLOCK != 0 {
                    return Ok(Step::End);
                }
                return match health {
                    Health::Runs => Ok(Step::Wait),
                    Health::Ended => Ok(Step::End),
                    Health::Failed(e) => Err(fatal(&e)),
                };
            }
            sent += self.event(at, size, send)?;
        }
        Ok(Step::More)
    }

    fn next_file(&mut self) -> Result<Step, SqlError> {
        let next = self.log.feed().with(|v| v.behind(self.file));
        let next = next.ok_or_else(|| fatal("could not find next log"))?;
        self.skipping = false;
        self.open(next, FIRST_POSITION)?;
        Ok(Step::More)
    }

    /// Sends the event at a position, or leaves it out.
    fn event(
        &mut self,
        at: u64,
        size: u64,
        send: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, SqlError> {
        self.last.1 = at;
        if self.last.0 != self.log.names().name(self.file) {
            self.last.0 = self.log.names().name(self.file);
        }
        let checksum = match at {
            FIRST_POSITION => Checksum::Crc32,
            _ => self.checksum,
        };
        let read = self
            .reader
            .next(size)
            .map(|e| e.map(|(h, b)| (h, b.to_vec())));
        let bogus = |dump: &Dump| fatal(&dump.with_places("bogus data in log event"));
        let Ok(Some((header, bytes))) = read else {
            return Err(bogus(self));
        };
        // What a position was taken for that is none, and damage, are found before they are sent.
        let Ok(event) = Event::read(&bytes, checksum) else {
            let why = "event read from binlog did not pass checksum algorithm check specified on --binlog-checksum";
            return Err(match checksum {
                Checksum::Crc32 => fatal(&self.with_places(why)),
                Checksum::None => bogus(self),
            });
        };
        if header.kind == kind::FORMAT_DESCRIPTION {
            let event = format_event(header, &bytes, self.sent, false);
            let event = event.ok_or_else(|| bogus(self))?;
            self.send(&event, None, send);
            return Ok(event.len());
        }
        let position = self.reader.position();
        if self.leaves_out(&event)? {
            self.skipped = true;
            if let Some(member) = &mut self.member {
                let file = self.file;
                member.has(Place { file, position });
            }
            return Ok(0);
        }
        let mut len = 0;
        if std::mem::take(&mut self.skipped) {
            // Up to where it was left out: this event is the next.
            let name = self.log.names().name(self.file);
            let beat = self.made_up(kind::HEARTBEAT, at as u32, 0, |b| {
                b.extend_from_slice(name.as_bytes());
            });
            self.send(&beat, None, send);
            len += beat.len();
        }
        len += bytes.len();
        let control = matches!(
            header.kind,
            kind::PREVIOUS_GTIDS | kind::ROTATE | kind::STOP
        );
        let end = (!control).then_some(position);
        match (self.checksum, self.sent) {
            (Checksum::Crc32, Checksum::None) => self.send(&without_checksum(bytes), end, send),
            _ => self.send(&bytes, end, send),
        }
        Ok(len)
    }

    /// Whether the replica has it.
    fn leaves_out(&mut self, event: &Event<'_>) -> Result<bool, SqlError> {
        let From::Gtids(has) = &self.ask.from else {
            return Ok(false);
        };
        match event.header.kind {
            kind::GTID => {
                let t = Transaction::read(event.body, false);
                let t = t.map_err(|_| fatal("bogus data in log event"))?;
                self.skipping = t.gtid.is_some_and(|g| has.has(g));
            }
            kind::ANONYMOUS_GTID => {
                self.skipping = false;
                return Err(fatal(
                    "Cannot replicate anonymous transaction when AUTO_POSITION = 1",
                ));
            }
            kind::ROTATE | kind::STOP | kind::PREVIOUS_GTIDS => self.skipping = false,
            _ => {}
        }
        Ok(self.skipping)
    }
}

const NO_FILE: &str = "Could not find first log file name in binary log index file";

fn find_file(log: &BinaryLog, view: &View, name: &str) -> Result<u32, SqlError> {
    let number = match name {
        "" => view.files.first().map(|f| f.number),
        name => log.names().number(name),
    };
    let there = number.filter(|n| view.file(*n).is_some());
    there.ok_or_else(|| fatal(NO_FILE))
}

/// The last file before which nothing was done that is not in the set.
fn find_by_gtids(log: &BinaryLog, view: &View, set: &GtidSet) -> Result<u32, SqlError> {
    if view.settings.names != Naming::All {
        return Err(fatal(
            "The replication sender thread cannot start in AUTO_POSITION mode: this server has GTID_MODE = OFF instead of ON.",
        ));
    }
    let own = view.settings.sid;
    if !only_of(&view.executed, own).contains(&only_of(set, own)) {
        return Err(fatal(
            "Replica has more GTIDs than the source has, using the source's SERVER_UUID. This may indicate that the end of the binary log was truncated or that the last binary log file was lost, e.g., after a power or disk failure when sync_binlog != 1. The source may or may not have rolled back transactions that were already replicated to the replica. Suggest to replicate any transactions that source has rolled back from replica to source, and/or commit empty transactions on source to account for transactions that have been committed on source but are not included in GTID_EXECUTED.",
        ));
    }
    if !set.contains(&view.purged) {
        let mut missing = view.purged.clone();
        missing.subtract(set);
        return Err(fatal(&format!(
            "Cannot replicate because the source purged required binary logs. Replicate the missing transactions from elsewhere, or provision a new replica from backup. Consider increasing the source's binary log expiration period. The GTID set sent by the replica is '{set}', and the missing transactions are '{missing}'"
        )));
    }
    let mut found = None;
    for f in view.files.iter().rev() {
        let head = log.open_file(f.number).and_then(|file| read_head(&*file));
        let head = head.map_err(|e| fatal(&e.to_string()))?;
        found = Some(f.number);
        if set.contains(&head.previous) {
            break;
        }
    }
    found.ok_or_else(|| fatal(NO_FILE))
}

/// Those of one server.
fn only_of(set: &GtidSet, sid: Sid) -> GtidSet {
    let mut all = GtidSet::new();
    all.add_interval(sid, types::gtid::FIRST, types::gtid::LAST);
    let mut others = set.clone();
    others.subtract(&all);
    let mut own = set.clone();
    own.subtract(&others);
    own
}

/// The event that describes the format, as a replica is sent it. `again`: it stood at the beginning of the file, and what is sent begins
/// elsewhere: no server has started now, and no position is behind it.
fn format_event(header: Header, bytes: &[u8], sent: Checksum, again: bool) -> Option<Vec<u8>> {
    let (mut format, _) = Format::read(bytes.get(header::LEN..)?).ok()?;
    format.checksum = match sent {
        Checksum::None => Checksum::None,
        Checksum::Crc32 => format.checksum,
    };
    let mut at = header.next_position.wrapping_sub(header.size);
    if again {
        format.created = 0;
        at = 0;
    }
    let header = Header {
        next_position: at,
        flags: header.flags & !flag::IN_USE,
        ..header
    };
    let mut out = Vec::new();
    put_event(header, Checksum::Crc32, &mut out, |b| format.write(b));
    Some(out)
}

/// An event without its checksum. Its position stays that of the file.
fn without_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - CHECKSUM_LEN);
    if let Ok(mut header) = Header::read(&mut Reader::new(&bytes)) {
        header.size = bytes.len() as u32;
        let mut front = Vec::with_capacity(header::LEN);
        header.write(&mut front);
        bytes[..header::LEN].copy_from_slice(&front);
    }
    bytes
}

#[cfg(test)]
mod tests;
