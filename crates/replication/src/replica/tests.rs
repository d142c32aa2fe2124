//! Who waits for a part of a replica hears of its end, and of how far it has come.

use super::outside::{Socket, Unreached, Waits};
use super::*;
use crate::in_time::{in_time, until};
use base::environment::{File, Task};
use base::mem::{MemDisk, environment};
use base::perturb::perturbed;
use base::seed::nth;
use base::{Environment, block_on, buf::IoBuf};
use engine::{Engine, EngineOptions, PagerOptions};
use queue::{Queued, Taken};
use replay::{Logs, ReplayUntil, replay};
use sql::InstanceOptions;
use sql::context::replica::LogPlace;
use sql_expr::vars::GlobalVars;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use types::gtid::GtidSet;
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, put_event};
use wire::binlog::header::{Header, kind};
use wire::binlog::query::Query;

/// A server on a disk in memory.
pub(super) fn server() -> Arc<Instance> {
    server_in(&environment(Arc::new(MemDisk::default())), false)
}

/// The same in an environment. `keep_log`: the engine's log is kept for a binary log.
pub(crate) fn server_in(environment: &Environment, keep_log: bool) -> Arc<Instance> {
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
    block_on(Instance::open(engine, environment, globals, options)).expect("an instance")
}

/// What the parts of a channel of it share.
pub(super) fn of_a_server(instance: &Arc<Instance>) -> Arc<Shared> {
    of_a_channel(instance, Arc::new(System))
}

fn of_a_channel(instance: &Arc<Instance>, outside: Arc<dyn Outside>) -> Arc<Shared> {
    Shared::new("", Arc::clone(instance), outside, Arc::default())
}

/// A channel that can be begun: it is at the beginning of a source.
fn channel(outside: Arc<dyn Outside>) -> Arc<Channel> {
    let instance = server();
    let mut s = Session::of_the_applier(&instance, instance.next_connection_id());
    let (source, place) = (Source::default(), Place::start());
    block_on(async {
        store::make_tables(&mut s).await.expect("tables");
        let written = store::write(&mut s, "", &source, &place).await;
        written.expect("a place");
        s.close().await;
    });
    let shared = of_a_channel(&instance, outside);
    let channel = Channel { shared };
    channel.put(source, place);
    Arc::new(channel)
}

/// How a source is not reached.
enum Fails {
    /// Nobody answers.
    Refused,
    /// What connects falls, and has put an event that it has told nobody of.
    Falls(Mutex<Weak<Shared>>),
}

/// Parts have threads of their own, and there is no source.
struct NoSource(Fails);

impl Outside for NoSource {
    fn run(&self, name: &str, part: Task) -> io::Result<()> {
        System.run(name, part)
    }

    fn connect<'a>(
        &'a self,
        _host: &'a str,
        _port: u16,
        _silence: Duration,
    ) -> Waits<'a, Result<Box<dyn Socket>, Unreached>> {
        if let Fails::Falls(shared) = &self.0 {
            let shared = shared.lock().upgrade().expect("a channel");
            let stream = shared.queue.stream();
            block_on(shared.queue.put(stream, event())).expect("room");
            panic!("it was to fall");
        }
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        Box::pin(std::future::ready(Err(Unreached::Refused(refused))))
    }
}

fn event() -> Queued {
    Queued {
        header: Header::default(),
        body: Vec::new(),
        end: LogPlace::default(),
    }
}

/// The receiver rests before it tries again, and the applier waits for events.
#[test]
fn a_part_that_is_told_to_end_does_so_and_says_it() {
    let channel = channel(Arc::new(NoSource(Fails::Refused)));
    let state = |shared: &Shared, of: &str| shared.state().receiver_state == of;
    for part in [Part::Receiver, Part::Applier] {
        assert!(channel.begin(part).expect("a thread"));
        match part {
            Part::Receiver => until("it rests", || {
                state(&channel.shared, "Connecting to source")
                    && channel.shared.state().receiver_failure.number != 0
            }),
            Part::Applier => until("it waits for events", || {
                channel.shared.state().applier_state.contains("has read")
            }),
        }
        let waits = Arc::clone(&channel);
        let waiting = thread::spawn(move || block_on(waits.ended(part)));
        until("it is waited for", || channel.shared.ended.has_waiters());
        // Mostly long enough that it has come to its own wait.
        thread::sleep(Duration::from_millis(20));
        assert!(channel.ask_to_end(part));
        in_time(move || waiting.join()).expect("no panic");
    }
}

#[test]
fn who_waits_for_a_place_is_told_of_it() {
    let channel = channel(Arc::new(NoSource(Fails::Refused)));
    assert!(channel.begin(Part::Applier).expect("a thread"));
    until("it waits for events", || {
        channel.shared.state().applier_state.contains("has read")
    });
    for number in 1..=50 {
        channel.shared.state().recorded_number = number;
        let waits = Arc::clone(&channel);
        let waiting = thread::spawn(move || {
            perturbed(nth("a statement", number), || block_on(waits.settled()));
        });
        until("it waits", || channel.shared.applied.has_waiters());
        perturbed(nth("an applier", number), || {
            channel.shared.is_at(number, Place::start(), 0);
        });
        in_time(move || waiting.join()).expect("no panic");
    }
    assert!(channel.ask_to_end(Part::Applier));
    in_time(move || block_on(channel.ended(Part::Applier)));
}

/// The system has no thread for an applier, and says so once somebody waits for what it applies.
struct NoThread(Mutex<Weak<Shared>>);

impl Outside for NoThread {
    fn run(&self, _name: &str, _part: Task) -> io::Result<()> {
        let shared = self.0.lock().upgrade().expect("a channel");
        until("somebody waits", || shared.applied.has_waiters());
        Err(io::ErrorKind::OutOfMemory.into())
    }

    fn connect<'a>(
        &'a self,
        host: &'a str,
        port: u16,
        silence: Duration,
    ) -> Waits<'a, Result<Box<dyn Socket>, Unreached>> {
        System.connect(host, port, silence)
    }
}

#[test]
fn who_waits_for_an_applier_that_does_not_begin_is_told() {
    let outside = Arc::new(NoThread(Mutex::default()));
    let channel = channel(Arc::clone(&outside) as Arc<dyn Outside>);
    *outside.0.lock() = Arc::downgrade(&channel.shared);
    let waits = Arc::clone(&channel);
    let waiting = thread::spawn(move || {
        until("it begins", || waits.runs(Part::Applier));
        let rests = || waits.has_applied("", 0).is_none().then_some(());
        block_on(waits.applied().wait_for(rests));
    });
    assert!(channel.begin(Part::Applier).is_err());
    in_time(move || waiting.join()).expect("no panic");
}

/// A receiver falls behind an event that it has told nobody of, as more was to come.
#[test]
fn what_a_receiver_has_put_that_falls_is_taken() {
    let outside = Arc::new(NoSource(Fails::Falls(Mutex::default())));
    let channel = channel(Arc::clone(&outside) as Arc<dyn Outside>);
    let Fails::Falls(shared) = &outside.0 else {
        panic!("it falls");
    };
    *shared.lock() = Arc::downgrade(&channel.shared);
    channel.begin(Part::Receiver).expect("a thread");
    until("it has fallen", || !channel.runs(Part::Receiver));
    // Whoever begins to wait from now on looks first: it is about who waits already.
    assert_eq!(channel.shared.queue.unheard(), 0);
    let taken = block_on(channel.shared.queue.next());
    assert!(matches!(taken, Taken::Event(_)));
}

#[test]
fn one_statement_after_the_other_changes_a_replica() {
    let instance = server();
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    let turn = block_on(replica.turn());
    let waits = Arc::clone(&replica);
    let waiting = thread::spawn(move || drop(block_on(waits.turn())));
    until("it waits", || replica.changing.free.has_waiters());
    drop(turn);
    in_time(move || waiting.join()).expect("no panic");
    in_time(move || {
        let threads = [1, 2, 3].map(|n| {
            let replica = Arc::clone(&replica);
            let turns = move || (0..60).for_each(|_| drop(block_on(replica.turn())));
            thread::spawn(move || perturbed(nth("a statement", n), turns))
        });
        for t in threads {
            t.join().expect("no panic");
        }
        block_on(replica.stop());
    });
}

/// A file that can be looked at once, and whose second reader falls.
struct ReadOnce {
    bytes: Vec<u8>,
    looked: AtomicU32,
}

impl File for ReadOnce {
    fn submit_read(&self, _buf: IoBuf, _offset: u64, _done: base::environment::Done) {}
    fn submit_write(&self, _buf: IoBuf, _offset: u64, _done: base::environment::Done) {}
    fn submit_sync(&self, _done: base::environment::DoneSync) {}
    fn read_now(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.bytes.get(offset as usize..).unwrap_or_default();
        let n = left.len().min(buf.len());
        buf[..n].copy_from_slice(&left[..n]);
        Ok(n)
    }
    fn write_now(&self, _buf: &[u8], _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
    fn sync_now(&self) -> io::Result<()> {
        Ok(())
    }
    fn allocate(&self, _len: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
    fn truncate(&self, _len: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
    fn len(&self) -> io::Result<u64> {
        assert_eq!(self.looked.fetch_add(1, Ordering::SeqCst), 0);
        Ok(self.bytes.len() as u64)
    }
}

#[test]
fn a_directory_whose_log_cannot_be_read_is_not_waited_for() {
    let mut bytes = wire::binlog::MAGIC.to_vec();
    let put = |bytes: &mut Vec<u8>, kind: u8, fill: &dyn Fn(&mut Vec<u8>)| {
        let header = Header {
            kind,
            next_position: bytes.len() as u32,
            ..Header::default()
        };
        put_event(header, Checksum::Crc32, bytes, fill);
    };
    let format = Format::new("8.0.41", 0, Checksum::Crc32);
    put(&mut bytes, kind::FORMAT_DESCRIPTION, &|out| {
        format.write(out);
    });
    let from = LogPlace {
        file: "b.000001".to_owned(),
        position: bytes.len() as u64,
    };
    // A transaction, which is waited for.
    let (header, body) = replay::behind_the_end();
    put(&mut bytes, header.kind, &|out| out.extend(&body));
    let query = Query {
        statement: b"CREATE DATABASE d",
        ..Query::default()
    };
    put(&mut bytes, kind::QUERY, &|out| query.write(out));
    let file = ReadOnce {
        bytes,
        looked: AtomicU32::new(0),
    };
    let logs = Logs {
        files: vec![(from.file.clone(), Arc::new(file))],
        from,
        executed: GtidSet::new(),
        begun_anew: None,
    };
    let instance = server();
    let done = in_time(move || block_on(replay(&instance, logs, &ReplayUntil::End)));
    assert!(done.is_err_and(|why| why.contains("died")));
}
