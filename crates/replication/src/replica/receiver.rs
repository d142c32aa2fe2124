//! The receiver: connects to the source, asks for its events from where the applier stands, verifies them and puts them into the queue.
//! When the connection is lost, it goes on behind the last event that came, and so does the receiver that is started next while the same
//! applier runs. It believes nothing: what makes no sense ends it, and what is
//! said of lengths is held against what has come.

use std::time::Duration;

use sql::Session;
use sql::context::replica::{LogPlace, Receiving, TransactionTimes};
use types::SqlError;
use types::gtid::{Gtid, GtidSet};
use wire::binlog::control::{Heartbeat, Rotate, Transaction};
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::{self, Header, flag, kind};
use wire::binlog::query::Query;
use wire::binlog::semi_sync;
use wire::client::ServerError;
use wire::read::Reader;
use wire::response::{EOF_HEADER, ERR_HEADER};

use super::behind::Behind;
use super::compressed;
use super::kinds::committed;
use super::link::{Broken, Link};
use super::place::{FIRST, Place, maria_text};
use super::queue::{NotPut, Queued};
use super::reconnect::{Lost, connecting};
use super::report::Report;
use super::source::Source;
use super::state::Shared;
use super::thread::{Thread, Which};

/// MySQL's numbers of what ends a receiver for good.
mod number {
    pub const SOURCE_SAYS: u16 = 1236;
    pub const FATAL_READING: u16 = 13114;
    pub const SAME_SERVER_ID: u16 = 13117;
    pub const FAILED: u16 = 13121;
}

/// Why a stream ended.
enum End {
    /// The receiver is to end.
    Stop,
    /// Another stream is wanted.
    OtherStream,
    /// To be tried again.
    Lost(Broken),
    /// Not to be tried again.
    Fatal(u16, String),
}

impl From<Broken> for End {
    fn from(b: Broken) -> End {
        End::Lost(b)
    }
}

impl From<wire::ProtocolError> for End {
    fn from(e: wire::ProtocolError) -> End {
        let why = match e {
            wire::ProtocolError::PacketTooLarge => {
                "An event that the source has compressed is larger than replica_max_allowed_packet"
            }
            _ => "Could not parse an event that the source has sent",
        };
        End::Fatal(number::FAILED, format!("Relay log read failure: {why}"))
    }
}

/// The receiver's thread.
pub(super) async fn run(shared: &Shared) {
    let mut tries = 0u64;
    let mut first = true;
    if base::mutant!("received-from-the-beginning-again") {
        *shared.behind() = None;
    }
    // It is there to be seen, and runs nothing.
    let id = shared.instance.next_connection_id();
    let mut seen = Session::of_the_applier(&shared.instance, id);
    seen.stands_for("connecting host", Thread::new(shared, Which::Receiver));
    shared.state().receiver_thread = Some(id);
    while let Some((stream, place)) = shared.queue.start().await {
        let source = {
            let mut s = shared.state();
            s.receiving = Receiving::Connecting;
            s.receiver_state = connecting(first);
            s.reached_by().unwrap_or_default()
        };
        let mut receiver = Receiver {
            shared,
            source: &source,
            stream,
            first,
            checksum: Checksum::None,
            semi_sync: false,
            coming: None,
            skipping: false,
            open: false,
            place: place.log.clone(),
            connected: false,
        };
        let end = receiver.receive(&place).await;
        let connected = receiver.connected;
        first &= !connected;
        shared.acknowledgements.end();
        shared.state().socket = None;
        if shared.queue.is_putting_stopped() {
            break;
        }
        match end {
            End::Stop => break,
            End::OtherStream => {}
            // It was shut so that another stream begins.
            End::Lost(_) if shared.queue.stream() != stream => {}
            End::Lost(broken) => {
                tries = if connected { 1 } else { tries + 1 };
                let lost = Lost {
                    broken: &broken,
                    tries,
                    connected,
                    first,
                };
                if !lost.wait(shared, &source).await {
                    break;
                }
            }
            End::Fatal(number, message) => {
                let failure = shared.failure(number, message);
                shared.state().receiver_failure = failure;
                break;
            }
        }
    }
    seen.close().await;
    let mut s = shared.state();
    s.receiving = Receiving::No;
    s.receiver_state = "";
    s.receiver_thread = None;
    s.queueing = TransactionTimes::default();
    s.receiver_runs = false;
    s.socket = None;
    drop(s);
    if !base::mutant!("receiver-ended-without-a-word") {
        shared.ended.fire();
    }
}

struct Receiver<'s> {
    shared: &'s Shared,
    source: &'s Source,
    stream: u64,
    /// It has not been at the source since it was started.
    first: bool,
    checksum: Checksum,
    /// Two bytes stand in front of each event.
    semi_sync: bool,
    /// The name of the transaction that is coming.
    coming: Option<Gtid>,
    /// What comes is a transaction that is here. A source leaves those out of a stream that it is asked for by set; a stream that goes on from a place
    /// has them in it.
    skipping: bool,
    /// It goes on until a commit.
    open: bool,
    /// Behind the last event.
    place: LogPlace,
    connected: bool,
}

impl Receiver<'_> {
    async fn receive(&mut self, place: &Place) -> End {
        let ended = self.stream_events(place).await;
        self.shared.queue.tell();
        ended.err().unwrap_or(End::Stop)
    }

    async fn stream_events(&mut self, place: &Place) -> Result<(), End> {
        let shared = self.shared;
        let silence = Duration::from_secs(shared.variable("replica_net_timeout").max(1));
        let largest = shared.variable("replica_max_allowed_packet") as usize;
        let stream = self.stream;
        let mut link = Link::connect(&*shared.outside, self.source, silence, largest).await?;
        shared.state().socket = Some((stream, link.line()?));
        // Who has stopped it since has not seen the socket.
        if shared.queue.is_putting_stopped() {
            return Err(End::Stop);
        }
        // Likewise who has begun another stream.
        if shared.queue.stream() != stream {
            return Err(End::OtherStream);
        }
        link.log_in(self.source).await?;
        self.ask(&mut link, place).await?;
        self.connected = true;
        {
            let mut s = shared.state();
            s.receiving = Receiving::Yes;
            s.receiver_state = "Waiting for source to send event";
            s.receiver_failure = Default::default();
        }
        loop {
            if !link.has_packet()? {
                shared.queue.tell();
            }
            let packet = link.packet().await?;
            match packet.split_first() {
                Some((0, event)) if self.semi_sync => {
                    let (wanted, event) = semi_sync::read_front(event)?;
                    self.event(event, wanted).await?;
                    if wanted {
                        link.count_anew();
                    }
                }
                Some((0, event)) => self.event(event, false).await?,
                Some((&ERR_HEADER, _)) => {
                    let e = ServerError::parse(packet)?;
                    return Err(refused(e));
                }
                Some((&EOF_HEADER, _)) => {
                    return Err(End::Lost(Broken {
                        number: 2013,
                        message: "The source ended the stream".to_owned(),
                        by_server: true,
                    }));
                }
                _ => return Err(Broken::malformed().into()),
            }
        }
    }

    /// What a replica says before it is sent events.
    async fn ask(&mut self, link: &mut Link, place: &Place) -> Result<(), End> {
        let shared = self.shared;
        let step = |state| shared.state().receiver_state = state;
        step("Checking source version");
        let version = link.value("SELECT VERSION()").await?;
        let maria = version.contains("MariaDB");
        let server_id = link.value("SELECT @@GLOBAL.server_id").await?;
        let server_id: u32 = server_id.parse().map_err(|_| Broken::malformed())?;
        let own = shared.variable("server_id") as u32;
        if server_id == own {
            return Err(End::Fatal(
                number::SAME_SERVER_ID,
                SAME_SERVER_ID.to_owned(),
            ));
        }
        let uuid = match maria {
            true => String::new(),
            false => link.value("SELECT @@GLOBAL.server_uuid").await?,
        };
        let beat = (self.source.facts.heartbeat_period * 1e9) as u64;
        link.query(&format!(
            "SET @master_heartbeat_period = {beat}, @source_heartbeat_period = {beat}"
        ))
        .await?;
        link.query(
            "SET @master_binlog_checksum = @@global.binlog_checksum, \
             @source_binlog_checksum = @@global.binlog_checksum",
        )
        .await?;
        self.checksum = match &*link.value("SELECT @master_binlog_checksum").await? {
            wire::binlog::CRC32 => Checksum::Crc32,
            _ => Checksum::None,
        };
        match maria {
            true => link.query("SET @mariadb_slave_capability = 4").await?,
            false => {
                let own = shared.text_variable("server_uuid");
                link.query(&format!(
                    "SET @slave_uuid = '{own}', @replica_uuid = '{own}'"
                ))
                .await?
            }
        };
        self.semi_sync =
            shared.variable("rpl_semi_sync_replica_enabled") != 0 && link.agree().await?;
        step("Registering replica on source");
        link.register(own, &Report::of(&shared.instance)).await?;
        {
            let mut s = shared.state();
            (s.server_id, s.uuid) = (server_id, uuid.clone());
        }
        let answers = (maria, uuid, server_id);
        let (behind, anew, by_set) = self.goes_on(answers, place).await?;
        let (from, has) = (behind.place.clone(), behind.has.clone());
        self.place.clone_from(&from);
        *shared.behind() = Some(behind);
        self.received(&from);
        step("Requesting binlog dump");
        let speaker = match self.semi_sync {
            true => Some(link.speaker()?),
            false => None,
        };
        match by_set {
            true => self.dump_by_gtid(link, maria, own, place, &has).await?,
            false => {
                let low = u32::try_from(from.position).map_err(|_| {
                    let text =
                        "a position beyond 4 GiB cannot be asked for; use SOURCE_AUTO_POSITION";
                    End::Fatal(number::FAILED, text.to_owned())
                })?;
                link.dump(own, &from.file, low)?;
            }
        }
        shared.acknowledgements.begin(speaker, !anew);
        Ok(())
    }

    /// Where the stream goes on, if whoever answers is that server; whether it begins there, and whether it is asked for by set.
    async fn goes_on(
        &mut self,
        (maria, uuid, server_id): (bool, String, u32),
        place: &Place,
    ) -> Result<(Behind, bool, bool), End> {
        let (shared, stream) = (self.shared, self.stream);
        let auto = self.source.facts.auto_position;
        let before = shared.behind().clone().filter(|b| b.is_of(stream));
        let Some(behind) = before else {
            let has = match auto && !maria {
                true => self.has(place).await.map_err(|e| Broken {
                    number: e.code,
                    message: e.message,
                    by_server: false,
                })?,
                false => GtidSet::new(),
            };
            let behind = Behind {
                stream,
                uuid,
                server_id,
                place: place.log.clone(),
                has,
                ..Behind::default()
            };
            return Ok((behind, true, auto));
        };
        if behind.uuid != uuid || behind.server_id != server_id {
            // Another server answers now. What is half applied is taken back, and asked of it from its beginning.
            shared.leave_stream(stream).await;
            return Err(End::OtherStream);
        }
        // While nobody received, the source may have removed the file in which the last place is. A transaction of which a part has come comes as a whole.
        if auto && self.first && !maria {
            return Ok((behind.by_set(&shared.state().retrieved), false, true));
        }
        (self.coming, self.open) = (behind.coming, behind.open);
        Ok((behind, false, false))
    }

    async fn dump_by_gtid(
        &mut self,
        link: &mut Link,
        maria: bool,
        own: u32,
        place: &Place,
        has: &GtidSet,
    ) -> Result<(), Broken> {
        if maria {
            let position = maria_text(&place.maria);
            link.query(&format!("SET @slave_connect_state = '{position}'"))
                .await?;
            link.query("SET @slave_gtid_strict_mode = 0, @slave_gtid_ignore_duplicates = 0")
                .await?;
            return link.dump(own, "", FIRST as u32);
        }
        let mut set = Vec::new();
        has.encode(&mut set);
        link.dump_gtid(own, &set)
    }

    /// What is not to be sent: what was applied, over whichever channel, and what this server has done otherwise, from a backup, as a source itself or under another source. A
    /// change of definitions that may be half done has to come again, though its statement is in the log.
    async fn has(&self, place: &Place) -> Result<GtidSet, SqlError> {
        let mut has = place.gtids.clone();
        if place.unfinished.is_some() {
            return Ok(has);
        }
        has.add_set(&self.shared.gtids.done());
        if let Some(log) = self.shared.instance.binary_log() {
            log.wait_shown().await?;
            has.add_set(&log.executed());
        }
        Ok(has)
    }

    fn received(&self, place: &LogPlace) {
        let mut s = self.shared.state();
        s.received.clone_from(place);
    }

    /// Takes an event.
    async fn event(&mut self, bytes: &[u8], wanted: bool) -> Result<(), End> {
        let mut r = Reader::new(bytes);
        let header = Header::read(&mut r)?;
        if header.size as usize != bytes.len() {
            return Err(wire::ProtocolError::Malformed.into());
        }
        let checksum = match header.kind {
            kind::FORMAT_DESCRIPTION => {
                let (format, own) = Format::read(&bytes[header::LEN..])?;
                self.checksum = format.checksum;
                own
            }
            _ => self.checksum,
        };
        let verified = Event::read(bytes, checksum);
        let Ok(event) = verified else {
            let text = "Replication event checksum verification failed while reading from network.";
            return Err(End::Fatal(number::FAILED, text.to_owned()));
        };
        let largest = self.shared.variable("replica_max_allowed_packet") as usize;
        let (kind_of, body) = compressed::plain(header.kind, event.body, largest)?;
        let body = &*body;
        let header = Header {
            kind: kind_of,
            ..header
        };
        match header.kind {
            kind::HEARTBEAT | kind::HEARTBEAT_V2 => {
                Heartbeat::read(body, header.kind == kind::HEARTBEAT_V2)?;
                let now = self.shared.instance.wall_us();
                let mut s = self.shared.state();
                s.heartbeats = (s.heartbeats.0 + 1, now);
                return Ok(());
            }
            kind::ROTATE => {
                let next = Rotate::read(body)?;
                let file = std::str::from_utf8(next.file)
                    .ok()
                    .filter(|f| f.len() < 512);
                let file = file.ok_or(wire::ProtocolError::Malformed)?;
                self.place = LogPlace {
                    file: file.to_owned(),
                    position: next.position,
                };
            }
            kind::GTID => self.begins(body)?,
            kind::ANONYMOUS_GTID => self.skipping = false,
            _ => {}
        }
        if header.kind != kind::ROTATE {
            self.move_on(&header);
        }
        let whole = self.ends(header.kind, body)?;
        let event = self.queued(header, event.bytes, body);
        if wanted {
            // Before anybody can have applied it.
            self.shared.acknowledgements.want(self.place.clone());
        }
        self.shared
            .queue
            .put(self.stream, event)
            .await
            .map_err(|why| match why {
                NotPut::Stop => End::Stop,
                NotPut::OtherStream => End::OtherStream,
            })?;
        // Who goes on in the middle of what was left out would not know it.
        if !self.skipping
            && let Some(behind) = &mut *self.shared.behind()
            && !base::mutant!("received-place-not-moved")
        {
            behind.place.clone_from(&self.place);
            behind.came = true;
            (behind.coming, behind.open) = (self.coming, self.open);
        }
        let place = self.place.clone();
        self.received(&place);
        if let Some(gtid) = whole {
            let ended_us = self.shared.instance.wall_us();
            let mut s = self.shared.state();
            s.queued = TransactionTimes {
                ended_us,
                ..std::mem::take(&mut s.queueing)
            };
            // Another stream may have begun since: then it was thrown away.
            if self.shared.queue.stream() == self.stream {
                s.retrieved.add(gtid);
            }
        }
        Ok(())
    }

    /// A transaction with a name begins to come.
    fn begins(&mut self, body: &[u8]) -> Result<(), End> {
        let t = Transaction::read(body, false)?;
        self.open = false;
        let had = |gtid: &Gtid| {
            let behind = self.shared.behind();
            behind.as_ref().is_some_and(|b| b.has.has(*gtid))
        };
        self.skipping = t.gtid.as_ref().is_some_and(had);
        self.coming = t.gtid.filter(|_| !self.skipping);
        if let Some(gtid) = self.coming {
            let (original_us, immediate_us) = committed(&t);
            self.shared.state().queueing = TransactionTimes {
                name: gtid.to_string(),
                original_us,
                immediate_us,
                begun_us: self.shared.instance.wall_us(),
                ended_us: 0,
            };
        }
        Ok(())
    }

    /// An event as it is queued: what is left out is there with its place alone.
    fn queued(&self, header: Header, bytes: &[u8], body: &[u8]) -> Queued {
        let own = self.shared.variable("server_id") as u32;
        let f = &self.source.facts;
        // Only the source's own event of the format and where it goes on are not somebody's who is to be ignored.
        let ignored = |id: u32| id == own || f.ignored_server_ids.binary_search(&id).is_ok();
        let control = matches!(header.kind, kind::FORMAT_DESCRIPTION | kind::ROTATE);
        let left_out = self.skipping || ignored(header.server_id);
        match left_out && !control {
            // Its place counts.
            true => Queued {
                header: Header {
                    kind: kind::IGNORABLE,
                    flags: flag::IGNORABLE,
                    ..header
                },
                body: vec![header.kind],
                end: self.place.clone(),
            },
            // That event says itself how its checksum is to be read.
            false if header.kind == kind::FORMAT_DESCRIPTION => Queued {
                header,
                body: bytes[header::LEN..].to_vec(),
                end: self.place.clone(),
            },
            false => Queued {
                header,
                body: body.to_vec(),
                end: self.place.clone(),
            },
        }
    }

    /// The name of the transaction of which this is the last event.
    fn ends(&mut self, kind_of: u8, body: &[u8]) -> Result<Option<Gtid>, End> {
        let Some(gtid) = self.coming else {
            return Ok(None);
        };
        let ends = match kind_of {
            kind::XID | kind::TRANSACTION_PAYLOAD => true,
            kind::EXECUTE_LOAD_QUERY | kind::DELETE_FILE => !self.open,
            kind::QUERY => {
                let text = Query::read(body)?.statement;
                let is = |word: &[u8]| text.eq_ignore_ascii_case(word);
                let begins = is(b"BEGIN");
                self.open |= begins;
                !begins && (!self.open || is(b"COMMIT") || is(b"ROLLBACK"))
            }
            _ => false,
        };
        if ends {
            self.coming = None;
        }
        Ok(ends.then_some(gtid))
    }

    /// The place behind an event, of which the header has the low 32 bits.
    fn move_on(&mut self, header: &Header) {
        let low = u64::from(header.next_position);
        if low == 0 || header.flags & flag::ARTIFICIAL != 0 {
            return;
        }
        let high = self.place.position >> 32;
        let mut next = high << 32 | low;
        if next < self.place.position && self.place.position - next > 1 << 31 {
            next += 1 << 32;
        }
        self.place.position = next;
    }
}

/// The source has ended the stream with an error.
fn refused(e: ServerError) -> End {
    match e.code {
        number::SOURCE_SAYS => End::Fatal(
            number::FATAL_READING,
            format!(
                "Got fatal error 1236 from source when reading data from binary log: '{}'",
                e.message
            ),
        ),
        _ => End::Lost(Broken {
            number: e.code,
            message: e.message,
            by_server: true,
        }),
    }
}

const SAME_SERVER_ID: &str = "Fatal error: The replica I/O thread stops because source and replica have equal MySQL server ids; these ids \
     must be different for replication to work (or the --replicate-same-server-id option must be used on replica but this does not always \
     make sense; please check the manual before using it).";
