//! What a replica asks for: COM_REGISTER_SLAVE, COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID, and the sets of GTIDs in them and in statements.

#![no_main]

use libfuzzer_sys::fuzz_target;
use types::gtid::{Gtid, GtidSet};
use wire::command::{Command, code};

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let command = match first % 4 {
        0 => code::REGISTER_SLAVE,
        1 => code::BINLOG_DUMP,
        2 => code::BINLOG_DUMP_GTID,
        _ => return of_text(rest),
    };
    let packet = [&[command][..], rest].concat();
    match Command::parse(&packet, wire::capability::SERVER) {
        Ok(Command::RegisterReplica(r)) => assert!(r.host.len() < 256 && r.user.len() < 256),
        Ok(Command::BinlogDump { file, .. }) => assert!(file.len() < rest.len()),
        Ok(Command::BinlogDumpGtid { gtids, .. }) => {
            if let Some(set) = GtidSet::decode(gtids) {
                same(&set);
            }
        }
        _ => {}
    }
});

fn of_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Some(gtid) = Gtid::parse(text) {
        assert_eq!(Gtid::parse(&gtid.to_string()), Some(gtid));
    }
    // Two sets, of which one may be told from the other.
    let (a, b) = text.split_once(';').unwrap_or((text, ""));
    let (Some(a), Some(b)) = (GtidSet::parse(a), GtidSet::parse(b)) else {
        return;
    };
    same(&a);
    let mut both = a.clone();
    both.add_set(&b);
    assert!(both.contains(&a) && both.contains(&b));
    let mut rest = both.clone();
    rest.subtract(&b);
    assert!(a.contains(&rest));
    rest.add_set(&b);
    assert_eq!(rest, both);
}

fn same(set: &GtidSet) {
    let mut bytes = Vec::new();
    set.encode(&mut bytes);
    assert_eq!(GtidSet::decode(&bytes).as_ref(), Some(set));
    assert_eq!(GtidSet::parse(&set.to_string()).as_ref(), Some(set));
}
