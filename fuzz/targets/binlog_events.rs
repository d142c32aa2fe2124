//! What a replica reads of its source, who may be anybody: events behind each other, each with its checksum or without, and the rows in them under
//! the tables that were announced. What was read and can be written is the same when it is read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;
use types::gtid::GtidSet;
use wire::binlog::control::{
    Context, Heartbeat, MariaGtid, Rotate, Transaction, read_maria_gtid_list, read_previous_gtids,
    read_rows_query, read_xid,
};
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::{self, kind};
use wire::binlog::payload::Payload;
use wire::binlog::query::Query;
use wire::binlog::rows::{Change, Rows};
use wire::binlog::table_map::{Metadata, TableMap};

fuzz_target!(|data: &[u8]| {
    let Some((&first, mut rest)) = data.split_first() else {
        return;
    };
    let mut reader = Reader {
        checksum: match first & 1 {
            0 => Checksum::None,
            _ => Checksum::Crc32,
        },
        tables: HashMap::new(),
        retrieved: GtidSet::new(),
    };
    // Otherwise nothing but a lucky guess would come behind the checksums.
    let believe = first & 2 != 0;
    while let Some(size) = rest.get(9..13).and_then(|s| s.try_into().ok()) {
        let size = u32::from_le_bytes(size) as usize;
        let Some((bytes, more)) = rest.split_at_checked(size.max(header::LEN)) else {
            break;
        };
        rest = more;
        let checksum = reader.checksum;
        match Event::read(bytes, checksum) {
            Ok(event) => {
                let body = event.body.to_vec();
                reader.event(event.header.kind, bytes, &body);
            }
            Err(_) if believe => {
                let end = bytes.len() - checksum.len().min(bytes.len() - header::LEN);
                reader.event(bytes[4], bytes, &bytes[header::LEN..end]);
            }
            Err(_) => {}
        }
    }
});

struct Reader {
    checksum: Checksum,
    tables: HashMap<u64, TableMap>,
    retrieved: GtidSet,
}

impl Reader {
    fn event(&mut self, of: u8, bytes: &[u8], body: &[u8]) {
        match of {
            kind::FORMAT_DESCRIPTION => {
                if let Ok((format, _)) = Format::read(&bytes[header::LEN..]) {
                    self.checksum = format.checksum;
                    format.is_mariadb();
                    format.fixed_part(of);
                }
            }
            kind::ROTATE => {
                if let Ok(rotate) = Rotate::read(body) {
                    let mut again = Vec::new();
                    rotate.write(&mut again);
                    assert_eq!(Rotate::read(&again), Ok(rotate));
                }
            }
            kind::GTID | kind::ANONYMOUS_GTID => {
                let t = Transaction::read(body, of == kind::ANONYMOUS_GTID);
                if let Some(gtid) = t.ok().and_then(|t| t.gtid) {
                    self.retrieved.add(gtid);
                    same_set(&self.retrieved);
                }
            }
            kind::MARIA_GTID => drop(MariaGtid::read(body)),
            kind::MARIA_GTID_LIST => drop(read_maria_gtid_list(body)),
            kind::PREVIOUS_GTIDS => {
                if let Ok(set) = read_previous_gtids(body) {
                    same_set(&set);
                }
            }
            kind::INTVAR => drop(Context::read_intvar(body)),
            kind::RAND => drop(Context::read_rand(body)),
            kind::USER_VAR => {
                if let Ok(context) = Context::read_variable(body) {
                    context.write(&mut Vec::new());
                }
            }
            kind::QUERY => drop(Query::read(body)),
            kind::XID => drop(read_xid(body)),
            kind::ROWS_QUERY => drop(read_rows_query(body)),
            kind::HEARTBEAT | kind::HEARTBEAT_V2 => {
                drop(Heartbeat::read(body, of == kind::HEARTBEAT_V2));
            }
            kind::TRANSACTION_PAYLOAD => drop(Payload::read(body)),
            kind::TABLE_MAP => {
                if let Ok(map) = TableMap::read(body) {
                    map.write(Metadata::Full, &mut Vec::new());
                    self.tables.insert(map.id, map);
                }
            }
            other => {
                if let Some((change, second)) = Change::by_kind(other) {
                    self.rows(change, second, body);
                }
            }
        }
    }

    fn rows(&self, change: Change, second: bool, body: &[u8]) {
        let Ok(mut rows) = Rows::read(change, second, body) else {
            return;
        };
        // Whatever table they are said to be of, so that the numbers need not be guessed.
        let Some(map) = self.tables.get(&rows.table).or(self.tables.values().next()) else {
            return;
        };
        let mut left = rows.rows.len();
        while let Ok(Some(_)) = rows.next_row(map) {
            // Rows without a byte would never end.
            assert!(rows.rows.len() < left || rows.rows.is_empty());
            left = rows.rows.len();
        }
    }
}

/// A set is what it was behind its bytes, and behind its text.
fn same_set(set: &GtidSet) {
    let mut bytes = Vec::new();
    set.encode(&mut bytes);
    assert_eq!(GtidSet::decode(&bytes).as_ref(), Some(set));
    assert_eq!(GtidSet::parse(&set.to_string()).as_ref(), Some(set));
}
