//! A dump that waits hears of more to send, and of its end.

use super::*;
use crate::changes::{Changes, Databases};
use crate::derive::tests::settings;
use crate::files::names::Names;
use crate::in_time::{in_time, until};
use crate::replica::tests::server_in;
use crate::service::{BinaryLog, OpenLog};
use crate::source::EngineSource;
use base::block_on;
use base::lock::Mutex;
use base::mem::{MemDisk, environment};
use sql::Instance;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A replica that takes all, and says nothing.
struct Silent {
    writer: PacketWriter,
    sent: Arc<AtomicUsize>,
}

impl Peer for Silent {
    fn writer(&mut self) -> &mut PacketWriter {
        &mut self.writer
    }

    async fn flush(&mut self) -> bool {
        let n = self.writer.pending().len();
        self.writer.advance(n);
        self.sent.fetch_add(n, Ordering::SeqCst);
        true
    }

    async fn packet(&mut self, _limit: Duration) -> Result<Vec<u8>, NoPacket> {
        std::future::pending().await
    }

    async fn leave(&mut self) {}

    async fn come_back(&mut self) {}

    fn flush_at(&self) -> usize {
        1 << 16
    }

    fn idles(&mut self, _session: &Session) {}
}

/// A server with a binary log.
fn with_a_log() -> (Arc<Instance>, Arc<ServerLog>) {
    let environment = environment(Arc::new(MemDisk::default()));
    let instance = server_in(&environment, true);
    let engine = Arc::clone(instance.engine());
    let log_end = engine.end_of_groups().from;
    engine.had_groups_until(log_end);
    let options = OpenLog {
        names: Names::new(Path::new("/data"), "binlog", "").expect("names"),
        settings: settings(),
        log_start: engine.oldest_log(),
        log_end,
        expire: Arc::new(|| 0),
    };
    let opened = BinaryLog::open(&environment, options).expect("a log");
    let log = Arc::new(ServerLog {
        log: Arc::clone(&opened.log),
        engine: Arc::clone(&engine),
        replicas: Arc::default(),
        databases: Databases::default(),
        archive: None,
    });
    instance.set_binary_log(Arc::clone(&log) as Arc<dyn sql::binary_log::BinaryLog>);
    instance.log_changes_in(Changes::of(&engine, Databases::default()));
    let source = EngineSource::new(&engine, opened.resume, opened.done);
    opened.begin(&environment, source);
    (instance, log)
}

#[test]
fn a_dump_that_waits_hears_of_more_and_of_its_end() {
    let (instance, log) = with_a_log();
    let sent = Arc::new(AtomicUsize::new(0));
    let mut peer = Silent {
        writer: PacketWriter::new(),
        sent: Arc::clone(&sent),
    };
    let mut session = Session::of_the_server(&instance, instance.next_connection_id());
    let checksum = "SET @source_binlog_checksum = 'CRC32'";
    block_on(session.query(checksum)).expect("a variable");
    let interrupt = session.interrupt();
    let request = Request {
        flags: 0,
        server_id: 2,
        from: From::Gtids(GtidSet::new()),
    };
    let ended = Arc::new(Mutex::new(None));
    let (theirs, of) = (Arc::clone(&ended), Arc::clone(&log));
    let dump = thread::spawn(move || {
        let served = block_on(serve(&of, &mut session, &mut peer, request));
        *theirs.lock() = Some(served.map_err(|e| e.message));
        block_on(session.close());
    });
    until("it has sent what there is, and waits", || {
        assert_eq!(*ended.lock(), None);
        sent.load(Ordering::SeqCst) > 0 && log.log.feed().dumps_wait()
    });
    let before = sent.load(Ordering::SeqCst);
    let mut client = Session::of_the_server(&instance, instance.next_connection_id());
    block_on(client.query("CREATE DATABASE d")).expect("a statement");
    until("it has sent more", || sent.load(Ordering::SeqCst) > before);
    assert_eq!(*ended.lock(), None);
    // Mostly long enough that it waits again.
    thread::sleep(Duration::from_millis(20));
    interrupt.kill_connection();
    in_time(move || dump.join()).expect("no panic");
    assert_eq!(*ended.lock(), Some(Ok(Ended::Gone)));
    block_on(client.close());
}
