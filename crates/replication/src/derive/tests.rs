//! Groups and the bytes that they become.

use super::*;
use crate::group::put_item;
use base::Lsn;
use types::gtid::{GtidSet, Sid};
use wire::binlog::control::read_xid;
use wire::binlog::frame::Event;

pub(crate) fn settings() -> Settings {
    Settings {
        server_id: 11,
        sid: Sid([7; 16]),
        version: 80041,
        version_text: "8.0.41-test".to_owned(),
        checksum: Checksum::Crc32,
        names: Naming::All,
        max_size: 1 << 20,
        history: 100,
    }
}

/// A group of some events.
pub(crate) fn group(bodies: &[&[u8]], end: &End) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (n, body) in bodies.iter().enumerate() {
        put_item(kind::QUERY, 8, 1000 + n as u32, &mut bytes, |out| {
            out.extend_from_slice(body);
        });
    }
    end.put(&mut bytes);
    bytes
}

pub(crate) fn end(micros: u64) -> End {
    End {
        committed_micros: micros,
        keys: Some(vec![micros]),
        ..End::default()
    }
}

fn started(settings: Settings) -> (State, Vec<u8>) {
    let mut state = State::new(settings, Lsn(1));
    let mut out = Vec::new();
    put_head(&mut state, 5, &mut out);
    (state, out)
}

fn events(bytes: &[u8], checksum: Checksum) -> Vec<Event<'_>> {
    let (mut at, mut all) = (MAGIC.len(), Vec::new());
    while at < bytes.len() {
        let sum = match all.is_empty() {
            true => Checksum::Crc32,
            false => checksum,
        };
        let e = Event::read(&bytes[at..], sum).unwrap();
        at += e.bytes.len();
        assert_eq!(e.header.next_position as usize, at);
        all.push(e);
    }
    all
}

#[test]
fn a_group_becomes_a_transaction() {
    for checksum in [Checksum::Crc32, Checksum::None] {
        let (mut state, mut out) = started(Settings {
            checksum,
            ..settings()
        });
        let foreign = Gtid {
            sid: Sid([9; 16]),
            number: 44,
        };
        let ends = [
            end(7_000_000),
            End {
                statement: true,
                keys: None,
                ..end(8_000_001)
            },
            End {
                gtid: Some(foreign),
                original: Some((3_000_000, 80_035)),
                server_id: 99,
                ..end(9_000_000)
            },
        ];
        for (n, e) in ends.iter().enumerate() {
            let bodies: &[&[u8]] = match n {
                1 => &[b"CREATE"],
                _ => &[b"BEGIN", b"rows"],
            };
            let before = out.len();
            let made = put_group(&mut state, &group(bodies, e), 70 + n as u64, &mut out).unwrap();
            assert_eq!(made.length as usize, out.len() - before);
        }
        put_rotate(&mut state, "next.000002", &mut out);
        assert_eq!(state.position as usize, out.len());
        let all = events(&out, checksum);
        let kinds: Vec<u8> = all.iter().map(|e| e.header.kind).collect();
        use kind::*;
        #[rustfmt::skip]
        assert_eq!(kinds, [
            FORMAT_DESCRIPTION, PREVIOUS_GTIDS, GTID, QUERY, QUERY, XID, GTID, QUERY, GTID, QUERY, QUERY, XID, ROTATE,
        ]);
        let t = |n: usize| Transaction::read(all[n].body, false).unwrap();
        let own = |number| Gtid {
            sid: Sid([7; 16]),
            number,
        };
        assert_eq!(t(2).gtid, Some(own(1)));
        assert_eq!(t(6).gtid, Some(own(2)));
        assert_eq!(t(8).gtid, Some(foreign));
        let clock = |n| (t(n).last_committed, t(n).sequence_number);
        assert_eq!([clock(2), clock(6), clock(8)], [(0, 1), (1, 2), (2, 3)]);
        assert_eq!((t(2).statements, t(6).statements), (false, true));
        assert_eq!(
            (t(8).original_commit_micros, t(8).immediate_commit_micros),
            (3_000_000, 9_000_000)
        );
        assert_eq!(
            (t(8).original_version, t(8).immediate_version),
            (80_035, 80_041)
        );
        let lengths: usize = all[2..6].iter().map(|e| e.bytes.len()).sum();
        assert_eq!(t(2).length as usize, lengths);
        assert_eq!(read_xid(all[5].body), Ok(70));
        assert_eq!((all[3].header.server_id, all[9].header.server_id), (11, 99));
        assert_eq!((all[3].header.flags, all[3].header.timestamp), (8, 1000));
        let mut set = GtidSet::new();
        for gtid in [own(1), own(2), foreign] {
            set.add(gtid);
        }
        assert_eq!(state.executed, set);
    }
}

#[test]
fn the_length_of_a_transaction_counts_its_own_field() {
    // Where the field grows by the bytes that it itself takes.
    for len in (0..400).chain(65_200..65_500) {
        let (mut state, mut out) = started(settings());
        let before = out.len();
        let body = vec![1; len];
        put_group(&mut state, &group(&[&body], &end(1)), 1, &mut out).unwrap();
        let e = Event::read(&out[before..], Checksum::Crc32).unwrap();
        let t = Transaction::read(e.body, false).unwrap();
        assert_eq!(t.length as usize, out.len() - before, "{len}");
    }
}

#[test]
fn without_gtids_transactions_are_anonymous() {
    let (mut state, mut out) = started(Settings {
        names: Naming::None,
        ..settings()
    });
    let before = out.len();
    put_group(&mut state, &group(&[b"a"], &end(1)), 1, &mut out).unwrap();
    let e = Event::read(&out[before..], Checksum::Crc32).unwrap();
    assert_eq!(e.header.kind, kind::ANONYMOUS_GTID);
    assert!(state.executed.is_empty());
}

#[test]
fn which_names_are_kept_and_which_are_made() {
    let foreign = Gtid {
        sid: Sid([9; 16]),
        number: 5,
    };
    let given = Some(foreign);
    let own = Some(Gtid {
        sid: Sid([7; 16]),
        number: 1,
    });
    for (names, gtid, anonymous, expected) in [
        (Naming::All, given, false, given),
        (Naming::All, None, false, own),
        (Naming::All, None, true, None),
        (Naming::Given, given, false, given),
        (Naming::Given, None, false, None),
        (Naming::None, given, false, None),
    ] {
        let settings = Settings {
            names,
            ..settings()
        };
        let (mut state, mut out) = started(settings);
        let before = out.len();
        let e = End {
            gtid,
            anonymous,
            asked: 77,
            original: Some((4_000_000, 0)),
            ..end(9_000_000)
        };
        let made = put_group(&mut state, &group(&[b"a"], &e), 1, &mut out).unwrap();
        assert_eq!((made.gtid, made.asked), (expected, 77), "{names:?}");
        let event = Event::read(&out[before..], Checksum::Crc32).unwrap();
        let t = Transaction::read(event.body, expected.is_none()).unwrap();
        assert_eq!(t.gtid, expected);
        // A version that nobody has said is this one's.
        let of = (t.original_commit_micros, t.original_version);
        assert_eq!(of, (4_000_000, 80041));
        assert_eq!(State::decode(&state.encode()).as_ref(), Ok(&state));
        // Who waits for its name changes no byte of the file.
        let (mut other, mut same) = started(Settings {
            names,
            ..self::settings()
        });
        let quiet = End { asked: 0, ..e };
        put_group(&mut other, &group(&[b"a"], &quiet), 1, &mut same).unwrap();
        assert_eq!((other, same), (state, out));
    }
}

#[test]
fn a_foreign_name_that_is_taken_is_not_given_twice() {
    let (mut state, mut out) = started(settings());
    let foreign = Gtid {
        sid: Sid([9; 16]),
        number: 1,
    };
    let e = End {
        gtid: Some(foreign),
        ..end(1)
    };
    let mut names = Vec::new();
    for _ in 0..2 {
        let made = put_group(&mut state, &group(&[b"a"], &e), 1, &mut out).unwrap();
        names.push(made.gtid.unwrap());
    }
    assert_eq!(names[0], foreign);
    assert_eq!(names[1].sid, Sid([7; 16]));
}

#[test]
fn a_group_in_parts_becomes_the_same_bytes() {
    let bodies: [&[u8]; 4] = [b"BEGIN", &[1; 300], b"", &[2; 70]];
    for statement in [false, true] {
        let e = End {
            statement,
            ..end(9_000_000)
        };
        let bytes = group(&bodies, &e);
        let (mut state, mut out) = started(settings());
        let made = put_group(&mut state, &bytes, 5, &mut out).unwrap();
        for size in (1..40).chain([299, 311, 312, bytes.len()]) {
            let (mut parted, mut in_parts) = started(settings());
            let mut measure = Measure::new(parted.settings.checksum);
            bytes.chunks(size).for_each(|p| measure.add(p).unwrap());
            let measured = measure.finish().unwrap();
            let mut making = Making::begin(&mut parted, &measured, 5, &mut in_parts);
            for part in bytes.chunks(size) {
                making.add(part, &mut in_parts).unwrap();
            }
            assert_eq!(making.finish(&mut parted, &mut in_parts), Ok(made));
            assert_eq!((&parted, &in_parts), (&state, &out), "{size}");
        }
    }
}

#[test]
fn a_group_in_parts_is_whole_or_refused() {
    let bytes = group(&[b"one", b"two"], &end(1));
    for cut in 0..bytes.len() {
        let mut measure = Measure::new(Checksum::Crc32);
        bytes[..cut].chunks(7).for_each(|p| measure.add(p).unwrap());
        assert!(measure.finish().is_err(), "{cut}");
    }
    // What follows the last item is refused, and so is another group than that which was measured.
    let mut measure = Measure::new(Checksum::Crc32);
    measure.add(&bytes).unwrap();
    assert!(measure.add(&bytes).is_err());
    let (mut state, mut out) = started(settings());
    let mut measure = Measure::new(Checksum::Crc32);
    measure.add(&bytes).unwrap();
    let mut making = Making::begin(&mut state, &measure.finish().unwrap(), 1, &mut out);
    making.add(&group(&[b"one"], &end(1)), &mut out).unwrap();
    assert!(making.finish(&mut state, &mut out).is_err());
}

#[test]
fn what_is_no_group_changes_nothing() {
    let (mut state, mut out) = started(settings());
    let (was, len) = (state.clone(), out.len());
    let whole = group(&[b"one", b"two"], &end(1));
    for cut in 0..whole.len() {
        assert!(put_group(&mut state, &whole[..cut], 1, &mut out).is_err());
    }
    let mut more = whole;
    more.push(0);
    assert!(put_group(&mut state, &more, 1, &mut out).is_err());
    assert_eq!((state, out.len()), (was, len));
}

#[test]
fn a_state_is_read_back_and_damage_is_found() {
    let (mut state, mut out) = started(settings());
    for n in 0..20 {
        put_group(&mut state, &group(&[b"a"], &end(n % 3)), n, &mut out).unwrap();
    }
    state.purged.add_interval(Sid([1; 16]), 1, 9);
    let bytes = state.encode();
    assert_eq!(State::decode(&bytes).as_ref(), Ok(&state));
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 4;
        assert!(State::decode(&other).is_err(), "{at}");
        assert!(State::decode(&bytes[..at]).is_err(), "{at}");
    }
}

#[test]
fn what_is_compressed_stays_as_it_is() {
    for checksum in [Checksum::Crc32, Checksum::None] {
        let (mut state, mut out) = started(Settings {
            checksum,
            ..settings()
        });
        let payload = Payload {
            compression: wire::binlog::payload::Compression::Zstd,
            uncompressed: 1234,
            bytes: b"whatever it is",
        };
        let mut body = Vec::new();
        payload.write(&mut body);
        let mut bytes = Vec::new();
        put_item(kind::TRANSACTION_PAYLOAD, 0, 9, &mut bytes, |out| {
            out.extend_from_slice(&body);
        });
        end(7_000_000).put(&mut bytes);
        let made = put_group(&mut state, &bytes, 70, &mut out).unwrap();
        let sizes = Sizes {
            compressed: true,
            written: 14,
            plain: 1234,
        };
        assert_eq!((made.sizes, made.committed_micros), (sizes, 7_000_000));
        let plain = group(&[b"BEGIN", b"rows"], &end(8_000_000));
        let made = put_group(&mut state, &plain, 71, &mut out).unwrap();
        // Without checksums, and with the XID.
        let plain = 3 * header::LEN as u64 + 5 + 4 + 8;
        let sizes = Sizes {
            compressed: false,
            written: plain,
            plain,
        };
        assert_eq!(made.sizes, sizes);
        assert_eq!(state.position as usize, out.len());
        let all = events(&out, checksum);
        let kinds: Vec<u8> = all.iter().map(|e| e.header.kind).collect();
        use kind::*;
        let whole = [GTID, TRANSACTION_PAYLOAD, GTID, QUERY, QUERY, XID];
        assert_eq!(kinds[2..], whole);
        assert_eq!(all[3].body, body);
        assert_eq!(all[3].header.server_id, 11);
        let t = Transaction::read(all[2].body, false).unwrap();
        let lengths = all[2].bytes.len() + all[3].bytes.len();
        assert_eq!(t.length as usize, lengths);
        assert!(!t.statements);
    }
}
