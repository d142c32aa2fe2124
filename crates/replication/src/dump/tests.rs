//! Dumps of files that a store has made.

use super::*;
use crate::derive::tests::{end, group, settings};
use crate::files::names::Names;
use crate::service::OpenLog;
use crate::source::{Group, GroupSource, Items, Next};
use base::mem::{MemDisk, environment};
use base::{Lsn, block_on};
use replicas::Replicas;
use std::collections::VecDeque;
use std::path::Path;
use types::gtid::Gtid;

/// Groups in a row, and then nothing more.
struct Row {
    groups: VecDeque<Group>,
    at: Lsn,
}

impl GroupSource for Row {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async {
            match self.groups.pop_front() {
                Some(g) => {
                    self.at = g.resume;
                    Ok(Some(g))
                }
                None => std::future::pending().await,
            }
        })
    }
    fn position(&self) -> Lsn {
        self.at
    }
    fn resume(&self) -> Lsn {
        self.at
    }
    fn keep_from(&self, _: Lsn) {}
    fn set_intake(&self, _: engine::Intake, _: Option<&str>) {}
}

/// A binary log of three files: of each, two transactions.
fn log() -> Arc<BinaryLog> {
    let environment = environment(Arc::new(MemDisk::default()));
    let options = OpenLog {
        names: Names::new(Path::new("/d"), "binlog", "").unwrap(),
        settings: crate::derive::Settings {
            max_size: 600,
            ..settings()
        },
        log_start: Lsn(0),
        log_end: Lsn(0),
        expire: Arc::new(|| 0),
    };
    let opened = BinaryLog::open(&environment, options).unwrap();
    let log = opened.log.clone();
    let groups = (1..=6).map(|n| Group {
        commit: Lsn(n * 10),
        txid: n,
        resume: Lsn(n * 10 + 1),
        items: Items::Whole(group(&[b"BEGIN", &[n as u8; 60]], &end(n * 1_000_000))),
    });
    let row = Row {
        groups: groups.collect(),
        at: opened.resume,
    };
    opened.begin(&environment, row);
    block_on(log.wait_read(Lsn(61))).unwrap();
    assert!(log.feed().with(|v| v.files.len()) >= 3);
    log
}

fn ask(from: From) -> Ask {
    Ask {
        from,
        flags: ask_flag::NON_BLOCK,
        checksum: Some(Checksum::Crc32),
    }
}

fn begin(log: &Arc<BinaryLog>, ask: Ask) -> Result<Dump, SqlError> {
    let replicas = Arc::<Replicas>::default();
    Dump::begin(log, replicas.begin(1, 2, "u"), ask)
}

/// All events that a dump sends.
fn all(mut dump: Dump) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    while dump.step(&mut |e| events.push(e.to_vec())).unwrap() != Step::End {}
    events
}

fn kinds(events: &[Vec<u8>]) -> Vec<u8> {
    events.iter().map(|e| e[4]).collect()
}

fn gtids(events: &[Vec<u8>]) -> Vec<u64> {
    let of = |e: &Vec<u8>| {
        let e = Event::read(e, Checksum::Crc32).unwrap();
        (e.header.kind == kind::GTID).then(|| {
            Transaction::read(e.body, false)
                .unwrap()
                .gtid
                .unwrap()
                .number
        })
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn all_files_are_sent_from_the_first_on() {
    let log = log();
    let events = all(begin(&log, ask(From::Position(String::new(), 4))).unwrap());
    for e in &events {
        Event::read(e, Checksum::Crc32).unwrap();
    }
    assert_eq!(gtids(&events), [1, 2, 3, 4, 5, 6]);
    let kinds = kinds(&events);
    assert_eq!(
        kinds[..3],
        [kind::ROTATE, kind::FORMAT_DESCRIPTION, kind::PREVIOUS_GTIDS]
    );
    // Nothing that is made up has a position, and no file is said to be in use.
    for e in &events {
        let e = Event::read(e, Checksum::Crc32).unwrap();
        assert_eq!(e.header.flags & flag::IN_USE, 0);
        if e.header.flags & flag::ARTIFICIAL != 0 {
            assert_eq!((e.header.next_position, e.header.timestamp), (0, 0));
        }
    }
}

#[test]
fn what_begins_in_the_middle_is_told_the_format_first() {
    let log = log();
    let whole = all(begin(&log, ask(From::Position(String::new(), 4))).unwrap());
    let second = whole.iter().filter(|e| e[4] == kind::GTID).nth(1).unwrap();
    let second = Event::read(second, Checksum::Crc32).unwrap();
    let at = u64::from(second.header.next_position) - second.bytes.len() as u64;
    let name = log.names().name(1);
    let events = all(begin(&log, ask(From::Position(name, at))).unwrap());
    assert_eq!(gtids(&events), [2, 3, 4, 5, 6]);
    let format = Event::read(&events[1], Checksum::Crc32).unwrap();
    assert_eq!(format.header.kind, kind::FORMAT_DESCRIPTION);
    assert_eq!(format.header.next_position, 0);
    let (format, _) = Format::read(&events[1][header::LEN..]).unwrap();
    assert_eq!(format.created, 0);
}

#[test]
fn checksums_are_taken_off_for_who_wants_none() {
    let log = log();
    let mut wanted = ask(From::Position(String::new(), 4));
    wanted.checksum = Some(Checksum::None);
    let events = all(begin(&log, wanted).unwrap());
    for e in events.iter().filter(|e| e[4] != kind::FORMAT_DESCRIPTION) {
        let read = Event::read(e, Checksum::None).unwrap();
        assert_eq!(read.bytes.len(), e.len());
    }
    let (format, _) = Format::read(&events[1][header::LEN..]).unwrap();
    assert_eq!(format.checksum, Checksum::None);
    // Who has not said that it knows of them is told why it gets nothing.
    let mut unaware = ask(From::Position(String::new(), 4));
    unaware.checksum = None;
    let e = begin(&log, unaware).err().unwrap();
    assert_eq!(e.code, 1236);
    assert!(
        e.message
            .contains("can not handle replication events with the checksum"),
        "{e}"
    );
}

#[test]
fn transactions_of_the_set_are_left_out() {
    let log = log();
    let sid = settings().sid;
    for has in [&[][..], &[1], &[1, 2, 3], &[2, 5], &[1, 2, 3, 4, 5, 6]] {
        let mut set = GtidSet::new();
        for n in has {
            set.add(Gtid { sid, number: *n });
        }
        let events = all(begin(&log, ask(From::Gtids(set))).unwrap());
        let left: Vec<u64> = (1..=6).filter(|n| !has.contains(n)).collect();
        assert_eq!(gtids(&events), left, "{has:?}");
        let xids = events.iter().filter(|e| e[4] == kind::XID).count();
        assert_eq!(xids, left.len());
    }
    // A file whose transactions are all there is not begun with.
    let mut set = GtidSet::new();
    set.add_interval(sid, 1, 4);
    let events = all(begin(&log, ask(From::Gtids(set))).unwrap());
    let first = Event::read(&events[0], Checksum::Crc32).unwrap();
    assert_ne!(Rotate::read(first.body).unwrap().file, b"binlog.000001");
}

#[test]
fn what_cannot_be_sent_is_refused_in_mysqls_words() {
    let log = log();
    let refused = |from: From| {
        let e = begin(&log, ask(from)).err().unwrap();
        assert_eq!((e.code, &*e.sqlstate), (1236, "HY000"));
        e.message
    };
    let at = |name: &str, position| From::Position(name.to_owned(), position);
    let no_file = "Could not find first log file name in binary log index file";
    assert_eq!(refused(at("binlog.000099", 4)), no_file);
    assert_eq!(refused(at("../../etc/passwd", 4)), no_file);
    assert!(refused(at("binlog.000001", 1 << 40)).contains("position > file size"));
    assert!(refused(at("binlog.000001", 3)).contains("impossible position"));
    let mut more = GtidSet::new();
    more.add_interval(settings().sid, 1, 99);
    assert!(refused(From::Gtids(more)).starts_with("Replica has more GTIDs"));
    let first = log.feed().with(|v| v.files[1].number);
    block_on(log.purge(first)).unwrap();
    let missing = refused(From::Gtids(GtidSet::new()));
    assert!(
        missing.contains("the source purged required binary logs"),
        "{missing}"
    );
    assert!(
        missing.contains("the missing transactions are '07070707"),
        "{missing}"
    );
    // A position at which no event begins.
    let mut dump = begin(&log, ask(at(&log.names().name(first), 10))).unwrap();
    let mut sent = 0;
    let e = loop {
        match dump.step(&mut |_| sent += 1) {
            Err(e) => break e,
            Ok(step) => assert_ne!(step, Step::End),
        }
    };
    assert_eq!(e.code, 1236);
    assert_eq!(sent, 2, "the made up events only");
}

#[test]
fn the_second_of_a_name_ends_the_first() {
    let log = log();
    let replicas = Arc::<Replicas>::default();
    let wanted = || ask(From::Position(String::new(), 4));
    let mut first = Dump::begin(&log, replicas.begin(1, 2, "u"), wanted()).unwrap();
    let mut other = Dump::begin(&log, replicas.begin(2, 2, "v"), wanted()).unwrap();
    first.step(&mut |_| {}).unwrap();
    let mut second = Dump::begin(&log, replicas.begin(3, 2, "u"), wanted()).unwrap();
    let e = first.step(&mut |_| {}).err().unwrap();
    assert!(
        e.message
            .starts_with("A replica with the same server_uuid/server_id")
    );
    second.step(&mut |_| {}).unwrap();
    other.step(&mut |_| {}).unwrap();
    // A file that is sent is one that PURGE leaves.
    assert!(replicas.first_file().is_some());
    drop((first, second, other));
    assert_eq!(replicas.first_file(), None);
}

#[test]
fn files_begun_anew_end_a_dump() {
    let log = log();
    let mut wanted = ask(From::Position(String::new(), 4));
    wanted.flags = 0;
    let mut dump = begin(&log, wanted).unwrap();
    while dump.step(&mut |_| {}).unwrap() != Step::Wait {}
    assert!(!log.feed().with(|v| dump.has_more(v)));
    let mut beat = Vec::new();
    dump.heartbeat(&mut |event| beat = event.to_vec());
    let e = Event::read(&beat, Checksum::Crc32).unwrap();
    assert_eq!(e.header.kind, kind::HEARTBEAT);
    let (last, size) = log.feed().with(|v| {
        let f = v.files.last().unwrap();
        (f.number, f.size)
    });
    assert_eq!(u64::from(e.header.next_position), size);
    assert_eq!(e.body, log.names().name(last).as_bytes());
    block_on(log.reset(1, Lsn(0))).unwrap();
    assert!(log.feed().with(|v| dump.has_more(v)));
    assert_eq!(dump.step(&mut |_| {}).err().unwrap().code, 1236);
}

#[test]
fn who_has_come_last_has_the_name_whoever_asks_last() {
    let replicas = Arc::<Replicas>::default();
    let first = replicas.begin(4, 2, "u");
    let last = replicas.begin(6, 2, "u");
    assert!(first.is_over() && !last.is_over());
    let late = replicas.begin(5, 2, "u");
    assert!(late.is_over() && !last.is_over());
    assert!(!replicas.begin(3, 2, "v").is_over());
}
