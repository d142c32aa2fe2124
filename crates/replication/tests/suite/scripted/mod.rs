//! A source that serves a file of the binary log to all who come, and a server on a disk in memory that is its replica.

#![allow(dead_code, reason = "each test uses some of it")]

pub mod file;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use base::mem::{MemDisk, environment};
use base::{Environment, block_on};
use engine::{Engine, EngineOptions, PagerOptions};
use replication::replica::ReplicaServer;
use sql::context::replica::{Receiving, Replica, ReplicaFacts};
use sql::{Instance, InstanceOptions, Session};
use sql_expr::vars::GlobalVars;
use types::Value;
use wire::binlog::control::Rotate;
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, put_event};
use wire::binlog::header::{self, Header, flag, kind};
use wire::column_type::ColumnType as ResultType;
use wire::command::code;
use wire::handshake::{Greeting, Nonce};
use wire::packet::{Decoder, PacketWriter};
use wire::response::{self, ColumnDef, OkPacket};
use wire::write::Put;

/// A server on a disk in memory.
pub fn server(disk: &Arc<MemDisk>) -> (Arc<Engine>, Arc<Instance>) {
    server_in(&environment(Arc::clone(disk)), false)
}

/// The same in an environment. `keep_log`: the engine's log is kept for a binary log.
pub fn server_in(environment: &Environment, keep_log: bool) -> (Arc<Engine>, Arc<Instance>) {
    let options = EngineOptions {
        keep_log,
        pager: PagerOptions {
            pool_bytes: 16 << 20,
            log_capacity_bytes: 64 << 20,
            log_buffer_bytes: 4 << 20,
            ..PagerOptions::default()
        },
        ..EngineOptions::default()
    };
    let opened = Engine::open(environment.clone(), Path::new("/data"), options);
    let engine = block_on(opened).expect("an engine");
    let globals = Arc::new(GlobalVars::new());
    globals.set_option("server_id", "7").expect("an id");
    let options = InstanceOptions::default();
    let instance = Instance::open(Arc::clone(&engine), environment, globals, options);
    (engine, block_on(instance).expect("an instance"))
}

/// Runs statements, and gives the rows of the last result.
pub fn run(instance: &Arc<Instance>, sql: &str) -> Vec<Vec<Value>> {
    let mut s = Session::of_the_server(instance, instance.next_connection_id());
    let mut results = block_on(s.query(sql)).unwrap_or_else(|e| panic!("{sql}: {e}"));
    block_on(s.close());
    results.pop().map(|r| r.rows).unwrap_or_default()
}

/// The one number that a query gives.
pub fn number(instance: &Arc<Instance>, sql: &str) -> i64 {
    match run(instance, sql).first().and_then(|r| r.first()) {
        Some(Value::Int(n)) => *n,
        Some(Value::UInt(n)) => *n as i64,
        other => panic!("{sql}: {other:?}"),
    }
}

/// Waits until something is so.
pub fn until(what: &str, so: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !so() {
        assert!(Instant::now() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// How far a source has come with its file, in bytes: what lies behind it is not sent yet.
#[derive(Clone)]
pub struct SentTo(Arc<(Mutex<usize>, Condvar)>);

impl SentTo {
    fn new(bytes: usize) -> SentTo {
        SentTo(Arc::new((Mutex::new(bytes), Condvar::new())))
    }

    /// Has the events that end by then sent.
    pub fn set(&self, bytes: usize) {
        *self.0.0.lock().expect("nobody fails with it") = bytes;
        self.0.1.notify_all();
    }

    fn wait_for(&self, bytes: usize) {
        let sent = self.0.0.lock().expect("nobody fails with it");
        drop(self.0.1.wait_while(sent, |sent| *sent < bytes));
    }
}

/// Serves a file to all who come.
pub fn serve(version: &'static str, file: Vec<u8>) -> u16 {
    serve_up_to(version, file, SentTo::new(usize::MAX))
}

/// Serves a file of which nothing is sent before that is said.
pub fn serve_in_steps(version: &'static str, file: Vec<u8>) -> (u16, SentTo) {
    let sent_to = SentTo::new(0);
    (serve_up_to(version, file, sent_to.clone()), sent_to)
}

fn serve_up_to(version: &'static str, file: Vec<u8>, sent_to: SentTo) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let file = Arc::new(file);
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let (file, sent_to) = (Arc::clone(&file), sent_to.clone());
            std::thread::spawn(move || speak(socket, version, &file, &sent_to));
        }
    });
    port
}

struct Talk {
    socket: TcpStream,
    decoder: Decoder,
    writer: PacketWriter,
    capabilities: u32,
}

impl Talk {
    fn packet(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(place) = self.decoder.take_packet().ok()? {
                return Some(self.decoder.payload(place).to_vec());
            }
            let n = self.socket.read(self.decoder.space()).ok()?;
            if n == 0 {
                return None;
            }
            self.decoder.filled(n);
        }
    }

    fn flush(&mut self) -> Option<()> {
        self.socket.write_all(self.writer.pending()).ok()?;
        self.writer.advance(usize::MAX);
        Some(())
    }

    fn ok(&mut self) -> Option<()> {
        response::write_ok(&OkPacket::default(), self.capabilities, &mut self.writer);
        self.flush()
    }

    fn value(&mut self, value: &str) -> Option<()> {
        let (c, w) = (self.capabilities, &mut self.writer);
        response::write_column_count(1, w);
        ColumnDef::new(b"v", ResultType::VarString).write(w);
        response::write_columns_end(0, 0, c, w);
        w.begin();
        w.buf().put_lenenc_bytes(value.as_bytes());
        w.end();
        response::write_rows_end(0, 0, c, w);
        self.flush()
    }
}

/// One connection of a replica.
fn speak(socket: TcpStream, version: &str, file: &[u8], sent_to: &SentTo) -> Option<()> {
    let capabilities = wire::capability::SERVER & !wire::capability::DEPRECATE_EOF;
    let mut t = Talk {
        socket,
        decoder: Decoder::new(1 << 20),
        writer: PacketWriter::new(),
        capabilities,
    };
    let greeting = Greeting {
        capabilities,
        ..Greeting::new(version.as_bytes(), 1, Nonce::from_random([1; 20]))
    };
    greeting.write(&mut t.writer);
    t.flush()?;
    t.decoder.set_sequence(1);
    t.packet()?;
    t.writer.set_sequence(2);
    t.ok()?;
    let (_, checksum) = events(file).next().map(of_format)?;
    loop {
        t.decoder.set_sequence(0);
        let command = t.packet()?;
        t.writer.set_sequence(1);
        let text = String::from_utf8_lossy(&command[1..]).into_owned();
        match command[0] {
            code::QUERY if text.contains("VERSION()") => t.value(version)?,
            code::QUERY if text.contains("server_id") => t.value("1")?,
            code::QUERY if text.contains("server_uuid") => t.value("source")?,
            code::QUERY if text.starts_with("SELECT @master_binlog_checksum") => {
                t.value(match checksum {
                    Checksum::Crc32 => "CRC32",
                    Checksum::None => "NONE",
                })?;
            }
            code::QUERY | code::REGISTER_SLAVE => t.ok()?,
            code::BINLOG_DUMP => {
                let position = u32::from_le_bytes(command[1..5].try_into().ok()?);
                return dump(&mut t, (file, sent_to), position as usize, checksum);
            }
            _ => return None,
        }
    }
}

fn dump(
    t: &mut Talk,
    (file, sent_to): (&[u8], &SentTo),
    position: usize,
    checksum: Checksum,
) -> Option<()> {
    let mut rotate = Vec::new();
    let header = Header {
        kind: kind::ROTATE,
        server_id: 1,
        flags: flag::ARTIFICIAL,
        ..Header::default()
    };
    put_event(header, checksum, &mut rotate, |out| {
        let at = Rotate {
            file: b"made.000001",
            position: position as u64,
        };
        at.write(out);
    });
    let mut send = |event: &[u8]| {
        t.writer.begin();
        t.writer.buf().put_u8(0);
        t.writer.buf().put_bytes(event);
        t.writer.end();
        t.flush()
    };
    send(&rotate)?;
    let mut at = 4;
    for event in events(file) {
        // The first describes the others, wherever they begin.
        if at >= position || at == 4 {
            sent_to.wait_for(at + event.len());
            send(event)?;
        }
        at += event.len();
    }
    // The source waits for more to come, and the replica for that.
    t.packet().map(drop)
}

/// The events of a file, by what they say of their size.
pub fn events(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = file.get(4..).unwrap_or_default();
    std::iter::from_fn(move || {
        let size = u32::from_le_bytes(rest.get(9..13)?.try_into().ok()?) as usize;
        let (event, more) = rest.split_at_checked(size.max(1)).unwrap_or((rest, &[]));
        rest = more;
        Some(event)
    })
}

/// Version and checksum of a file's first event.
pub fn of_format(event: &[u8]) -> (String, Checksum) {
    match Format::read(event.get(header::LEN..).unwrap_or_default()) {
        Ok((format, _)) => (format.server_version, format.checksum),
        Err(_) => (String::new(), Checksum::None),
    }
}

/// Makes a server the replica of a source.
pub fn begin(instance: &Arc<Instance>, port: u16) {
    run(
        instance,
        &format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='u', SOURCE_CONNECT_RETRY=1"
        ),
    );
    run(instance, "START REPLICA");
}

/// Has a replica that is stopped go on at this place of another source's file.
pub fn go_on_from(instance: &Arc<Instance>, port: u16, place: impl std::fmt::Display) {
    run(
        instance,
        &format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_PORT = {port}, SOURCE_LOG_FILE = 'made.000001', SOURCE_LOG_POS = {place}"
        ),
    );
}

/// Waits until a replica is at that place or has failed.
pub fn settled(replica: &ReplicaServer, position: usize) -> ReplicaFacts {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let facts = replica.facts().expect("a source");
        let failed = facts.receiving == Receiving::No || !facts.applying;
        if failed || facts.applied.position == position as u64 {
            return facts;
        }
        assert!(
            Instant::now() < until,
            "it neither fails nor comes to an end: {facts:?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Behind the last whole transaction of a file.
pub fn end_of_transactions(file: &[u8]) -> usize {
    let (mut at, mut end) = (4, 4);
    for e in events(file) {
        at += e.len();
        if e[4] == kind::XID {
            end = at;
        }
    }
    end
}

/// Makes a server with so many workers.
pub fn with_workers(instance: &Arc<Instance>, workers: u32) {
    run(
        instance,
        &format!("SET GLOBAL replica_parallel_workers = {workers}"),
    );
}

/// Why a replica has stopped, as receiver, applier and workers say it; empty: it has not.
pub fn failures(facts: &ReplicaFacts) -> String {
    let mut all = format!(
        "{}\n{}",
        facts.applier_failure.message, facts.receiver_failure.message
    );
    for w in &facts.workers {
        all += &w.failure.message;
    }
    all.trim().to_owned()
}
