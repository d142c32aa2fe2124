//! The connection to a source: a socket, TLS, a login, statements, and then its stream of packets. Another thread may shut the socket, which
//! ends whatever waits on it.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use sql::context::replica::LogPlace;
use wire::binlog::semi_sync;
use wire::client::{ClientError, Login, LoginStep, ResultReader, ResultSet, request, ssl_request};
use wire::command::code;
use wire::packet::{Decoder, PacketPlace, PacketWriter};
use wire::write::Put;

use super::outside::{Line, Outside, Socket, Unreached};
use super::report::Report;
use super::source::Source;
use super::tls;

/// MySQL's numbers of errors that a client makes itself.
mod number {
    pub const CONNECTION: u16 = 2003;
    pub const UNKNOWN_HOST: u16 = 2005;
    pub const LOST: u16 = 2013;
    pub const SSL: u16 = 2026;
    pub const MALFORMED: u16 = 2027;
    pub const AUTHENTICATION: u16 = 2061;
}

/// Why the connection is of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken {
    /// MySQL's number.
    pub number: u16,
    /// What it says.
    pub message: String,
    /// The server said so itself.
    pub by_server: bool,
}

impl Broken {
    fn own(number: u16, message: impl Into<String>) -> Broken {
        Broken {
            number,
            message: message.into(),
            by_server: false,
        }
    }

    /// Its bytes make no sense.
    pub fn malformed() -> Broken {
        Broken::own(number::MALFORMED, "Malformed packet")
    }
}

impl From<ClientError> for Broken {
    fn from(e: ClientError) -> Broken {
        match e {
            ClientError::Server(e) => Broken {
                number: e.code,
                message: e.message,
                by_server: true,
            },
            ClientError::Io(_) => {
                Broken::own(number::LOST, "Lost connection to MySQL server during query")
            }
            ClientError::Protocol(e) => Broken::own(number::MALFORMED, e.message()),
            ClientError::Unsupported(what) => Broken::own(
                number::AUTHENTICATION,
                format!("Authentication requires secure connection: {what}"),
            ),
        }
    }
}

enum Stream {
    Plain(Box<dyn Socket>),
    Tls(Box<tls::Tls>),
}

impl Stream {
    async fn read(&mut self, space: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let n = match self {
                Stream::Plain(s) => s.read(space).await,
                Stream::Tls(s) => s.read(space),
            };
            match n {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                n => return n,
            }
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Stream::Plain(s) => s.write_all(bytes),
            Stream::Tls(s) => s.write_all(bytes),
        }
    }

    fn line(&self) -> std::io::Result<Box<dyn Line>> {
        match self {
            Stream::Plain(s) => s.line(),
            Stream::Tls(s) => Ok(Box::new(s.line()?)),
        }
    }
}

/// Says something on a connection, beside the thread that reads from it.
pub(super) struct Speaker {
    line: Box<dyn Line>,
}

impl Speaker {
    /// On this connection.
    pub fn new(line: Box<dyn Line>) -> Speaker {
        Speaker { line }
    }

    /// Acknowledges a place. False: the connection is of no use.
    pub fn acknowledge(&self, place: &LogPlace) -> bool {
        let mut writer = PacketWriter::new();
        // The packet is numbered as a command is.
        writer.begin();
        let reply = semi_sync::Reply {
            file: place.file.as_bytes(),
            position: place.position,
        };
        reply.write(writer.buf());
        writer.end();
        let sent = self.line.write_all(writer.pending());
        if sent.is_err() {
            // Half a packet may have gone.
            self.line.shut();
        }
        sent.is_ok()
    }
}

/// A connection that is logged in.
pub(super) struct Link {
    stream: Stream,
    decoder: Decoder,
    /// A packet that has come and was not taken.
    next: Option<PacketPlace>,
    writer: PacketWriter,
    login: Login,
}

impl Link {
    /// Connects; nothing is said yet. A packet longer than `largest` is refused, and so is a silence longer than `silence`.
    pub async fn connect(
        outside: &dyn Outside,
        source: &Source,
        silence: Duration,
        largest: usize,
    ) -> Result<Link, Broken> {
        let f = &source.facts;
        let connected = outside.connect(&f.host, f.port, silence).await;
        let socket = connected.map_err(|e| match e {
            Unreached::Unknown(e) => {
                let text = format!("Unknown MySQL server host '{}' ({e})", f.host);
                Broken::own(number::UNKNOWN_HOST, text)
            }
            Unreached::Refused(e) => {
                let (host, port) = (&f.host, f.port);
                let text = format!(
                    "Can't connect to MySQL server on '{host}:{port}' ({})",
                    e.raw_os_error().unwrap_or(0)
                );
                Broken::own(number::CONNECTION, text)
            }
        })?;
        let mut login = Login::new(&f.user, &source.password, None, false);
        if !f.get_public_key {
            login.without_key();
        }
        Ok(Link {
            stream: Stream::Plain(socket),
            decoder: Decoder::new(largest),
            next: None,
            writer: PacketWriter::new(),
            login,
        })
    }

    /// For whoever may want to shut it, or to say something beside the one who reads.
    pub fn line(&self) -> Result<Box<dyn Line>, Broken> {
        let lost = |e| Broken::from(ClientError::Io(e));
        self.stream.line().map_err(lost)
    }

    /// Logs in.
    pub async fn log_in(&mut self, source: &Source) -> Result<(), Broken> {
        let greeting = self.packet().await?.to_vec();
        let mut sequence = 1;
        if source.facts.ssl && greeting.first() != Some(&0xFF) {
            if !ssl_request(&greeting, &mut self.writer)? {
                return Err(Broken::own(
                    number::SSL,
                    "SSL connection error: SSL is required but the server doesn't support it",
                ));
            }
            self.flush()?;
            // What has come in the open behind the greeting is not the server's word over TLS.
            self.decoder.take_buffered();
            self.start_tls(source)?;
            self.login.over_tls();
            sequence = 2;
        }
        let mut packet = greeting;
        self.decoder.set_sequence(sequence);
        loop {
            self.writer.set_sequence(self.decoder.sequence());
            let step = self.login.packet(&packet, &mut self.writer)?;
            self.flush()?;
            if step == LoginStep::Done {
                return Ok(());
            }
            packet = self.packet().await?.to_vec();
        }
    }

    fn start_tls(&mut self, source: &Source) -> Result<(), Broken> {
        let Stream::Plain(socket) = &self.stream else {
            return Ok(());
        };
        let failed = |e: String| Broken::own(number::SSL, format!("SSL connection error: {e}"));
        let socket = socket.tcp().map_err(|e| failed(e.to_string()))?;
        let wanted = tls::Wanted::of(&source.facts).map_err(failed)?;
        let tls = tls::over(socket, &wanted).map_err(failed)?;
        self.stream = Stream::Tls(Box::new(tls));
        Ok(())
    }

    /// For who says something beside the thread that reads.
    pub fn speaker(&self) -> Result<Speaker, Broken> {
        Ok(Speaker::new(self.line()?))
    }

    /// The packet that was read last was an event that is to be acknowledged: the source numbers those that follow as if it had been.
    pub fn count_anew(&mut self) {
        self.decoder.set_sequence(semi_sync::NEXT_SEQUENCE);
    }

    /// Runs a statement.
    pub async fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, Broken> {
        let capabilities = self.login.capabilities();
        request::query(sql.as_bytes(), capabilities, &mut self.writer);
        self.flush()?;
        let mut reader = ResultReader::new(capabilities, false);
        loop {
            let packet = self.packet().await?.to_vec();
            if let Some(results) = reader.packet(&packet)? {
                return Ok(results);
            }
        }
    }

    /// The first value of a statement's result; empty for NULL.
    pub async fn value(&mut self, sql: &str) -> Result<String, Broken> {
        let results = self.query(sql).await?;
        let value = results.first().and_then(|r| r.rows.first()?.first());
        Ok(value.and_then(|v| v.as_str()).unwrap_or("").to_owned())
    }

    /// Agrees with the source that it is told of what is durable here; false: it knows nothing of that.
    pub async fn agree(&mut self) -> Result<bool, Broken> {
        /// 1193.
        const UNKNOWN_VARIABLE: u16 = 1193;
        let mut known = false;
        for name in ["source", "master"] {
            let sql = format!("SELECT @@GLOBAL.rpl_semi_sync_{name}_enabled");
            match self.query(&sql).await {
                Ok(_) => {
                    known = true;
                    break;
                }
                Err(b) if b.by_server && b.number == UNKNOWN_VARIABLE => {}
                Err(b) => return Err(b),
            }
        }
        if known {
            // To others any number but 0 is the same. Of a Tidemill 2 asks not to take the place that the dump begins at for what is durable.
            let (new, old) = (semi_sync::ASKED, semi_sync::ASKED_OLD);
            self.query(&format!("SET @{new} = 2, @{old} = 2")).await?;
        }
        Ok(known)
    }

    /// COM_REGISTER_SLAVE.
    pub async fn register(&mut self, server_id: u32, report: &Report) -> Result<(), Broken> {
        let mut body = Vec::new();
        body.put_u32(server_id);
        for text in [&report.host, &report.user, &report.password] {
            // Longer ones are refused when the server starts.
            let text = text.as_bytes();
            let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
            body.put_bytes(&[length]);
            body.put_bytes(&text[..usize::from(length)]);
        }
        body.put_u16(report.port);
        body.put_u32(0);
        body.put_u32(0);
        request::command(code::REGISTER_SLAVE, &body, &mut self.writer);
        self.flush()?;
        let packet = self.packet().await?.to_vec();
        let mut reader = ResultReader::new(self.login.capabilities(), false);
        reader.packet(&packet)?;
        Ok(())
    }

    /// COM_BINLOG_DUMP: from now on [`packet`](Self::packet) gives events.
    pub fn dump(&mut self, server_id: u32, file: &str, position: u32) -> Result<(), Broken> {
        let mut body = Vec::new();
        body.put_u32(position);
        body.put_u16(0);
        body.put_u32(server_id);
        body.put_bytes(file.as_bytes());
        request::command(code::BINLOG_DUMP, &body, &mut self.writer);
        self.flush()
    }

    /// COM_BINLOG_DUMP_GTID: the transactions that are not in the set.
    pub fn dump_gtid(&mut self, server_id: u32, set: &[u8]) -> Result<(), Broken> {
        /// The set counts, and not the place.
        const THROUGH_GTID: u16 = 4;
        let mut body = Vec::new();
        body.put_u16(THROUGH_GTID);
        body.put_u32(server_id);
        body.put_u32(0);
        body.put_u64(super::place::FIRST);
        body.put_u32(set.len() as u32);
        body.put_bytes(set);
        request::command(code::BINLOG_DUMP_GTID, &body, &mut self.writer);
        self.flush()
    }

    /// Whether a packet is there without waiting for one.
    pub fn has_packet(&mut self) -> Result<bool, Broken> {
        if self.next.is_none() {
            let next = self.decoder.take_packet();
            self.next = next.map_err(ClientError::Protocol)?;
        }
        Ok(self.next.is_some())
    }

    /// The next packet.
    pub async fn packet(&mut self) -> Result<&[u8], Broken> {
        let place = loop {
            if self.has_packet()?
                && let Some(place) = self.next.take()
            {
                break place;
            }
            let read = self.stream.read(self.decoder.space()).await;
            let n = read.map_err(ClientError::Io)?;
            if n == 0 {
                return Err(Broken::own(
                    number::LOST,
                    "Lost connection to MySQL server during query",
                ));
            }
            self.decoder.filled(n);
        };
        Ok(self.decoder.payload(place))
    }

    fn flush(&mut self) -> Result<(), Broken> {
        self.decoder.set_sequence(self.writer.sequence());
        let sent = self.stream.write_all(self.writer.pending());
        self.writer.advance(usize::MAX);
        sent.map_err(|e| ClientError::Io(e).into())
    }
}
