//! Reads binary logs that real servers wrote: every file of the folder that `TIDEMILL_BINLOGS` names, such as the test data of public
//! client libraries. None stand in this tree. What was read is written again and must be the same bytes, where one event has one form.
//!
//!     TIDEMILL_BINLOGS=DIR cargo test -p wire --test recorded -- --nocapture

use std::collections::BTreeMap;
use std::path::Path;
use wire::binlog::MAGIC;
use wire::binlog::control::{self, Context, Heartbeat, MariaGtid, Rotate, Transaction};
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::{self, kind};
use wire::binlog::payload::Payload;
use wire::binlog::query::Query;
use wire::binlog::rows::{self, Change, Rows};
use wire::binlog::table_map::{Metadata, TableMap};

/// What was met, by kind of event: how many, and how many of them were written again as the same bytes.
type Met = BTreeMap<u8, (u32, u32)>;

#[derive(Default)]
struct File {
    tables: BTreeMap<u64, TableMap>,
    met: Met,
    mariadb: bool,
}

fn same(written: &[u8], body: &[u8]) -> bool {
    written == body
}

impl File {
    fn read(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut at = MAGIC.len();
        if bytes.get(..at) != Some(&MAGIC[..]) {
            return Err("no binary log".to_owned());
        }
        let mut checksum = Checksum::None;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let of = *rest.get(4).ok_or("the last event is cut short")?;
            let mut written_with = checksum;
            if of == kind::FORMAT_DESCRIPTION {
                let whole = Event::read(rest, Checksum::None).map_err(|e| e.to_string())?;
                let (format, own) = Format::read(whole.body).map_err(|e| e.to_string())?;
                self.mariadb = format.is_mariadb();
                checksum = format.checksum;
                written_with = own;
            }
            let event =
                Event::read(rest, written_with).map_err(|e| format!("event {of} at {at}: {e}"))?;
            at += event.bytes.len();
            let again = self
                .event(&event)
                .map_err(|e| format!("event {of} before {at}: {e}"))?;
            let met = self.met.entry(of).or_default();
            met.0 += 1;
            met.1 += u32::from(again);
        }
        Ok(())
    }

    fn event(&mut self, e: &Event<'_>) -> Result<bool, wire::ProtocolError> {
        let body = e.body;
        let mut out = Vec::new();
        match e.header.kind {
            kind::QUERY => {
                let q = Query::read(body)?;
                q.write(&mut out);
                assert_eq!(Query::read(&out)?, q);
            }
            kind::ROTATE => Rotate::read(body)?.write(&mut out),
            kind::XID => {
                control::read_xid(body)?;
            }
            kind::ROWS_QUERY => control::put_rows_query(control::read_rows_query(body)?, &mut out),
            kind::GTID | kind::ANONYMOUS_GTID => {
                let anonymous = e.header.kind == kind::ANONYMOUS_GTID;
                Transaction::read(body, anonymous)?.write(&mut out);
            }
            kind::PREVIOUS_GTIDS => control::read_previous_gtids(body)?.encode(&mut out),
            kind::INTVAR => Context::read_intvar(body)?.write(&mut out),
            kind::RAND => Context::read_rand(body)?.write(&mut out),
            kind::USER_VAR => Context::read_variable(body)?.write(&mut out),
            kind::HEARTBEAT => {
                Heartbeat::read(body, false)?;
            }
            kind::TRANSACTION_PAYLOAD => {
                let payload = Payload::read(body)?;
                payload.write(&mut out);
            }
            kind::MARIA_GTID if self.mariadb => {
                MariaGtid::read(body)?;
            }
            kind::MARIA_GTID_LIST if self.mariadb => {
                control::read_maria_gtid_list(body)?;
            }
            kind::TABLE_MAP => {
                let map = TableMap::read(body)?;
                let full = map.columns.iter().any(|c| !c.name.is_empty());
                let metadata = if full {
                    Metadata::Full
                } else {
                    Metadata::Minimal
                };
                map.write(metadata, &mut out);
                self.tables.insert(map.id, map);
            }
            of => {
                let Some((change, second)) = Change::by_kind(of) else {
                    return Ok(false);
                };
                if change == Change::UpdateParts {
                    // Parts of documents are not written here.
                    return Ok(false);
                }
                let rows = Rows::read(change, second, body)?;
                // A number of its own ends a statement that changed nothing.
                if let Some(map) = self.tables.get(&rows.table) {
                    let images = rows.images(map)?;
                    assert!(!images.is_empty());
                    return write_rows(&rows, map, &images, body);
                }
            }
        }
        Ok(same(&out, body))
    }
}

fn write_rows(
    rows: &Rows<'_>,
    map: &TableMap,
    images: &[(rows::Image, rows::Image)],
    body: &[u8],
) -> Result<bool, wire::ProtocolError> {
    let mut out = Vec::new();
    let there = |bits: &[u8]| -> Vec<bool> {
        (0..rows.columns)
            .map(|n| bits[n / 8] >> (n % 8) & 1 != 0)
            .collect()
    };
    let (before, after) = (there(rows.present), there(rows.present_after));
    let second = (rows.change == Change::Update).then_some(&after[..]);
    rows::put_front(rows.table, rows.flags, &before, second, &mut out);
    for (b, a) in images {
        for (image, present) in [(b, &before), (a, &after)] {
            if image.is_empty() {
                continue;
            }
            let value = |n: usize| image[n].as_ref().expect("it is present").as_ref();
            // Texts come as bytes, whose padding is another.
            rows::put_image(map, present, value, &mut out)?;
        }
    }
    Ok(same(&out, body))
}

#[test]
fn logs_of_real_servers_are_read() {
    let Some(folder) = std::env::var_os("TIDEMILL_BINLOGS") else {
        println!("TIDEMILL_BINLOGS is not set: nothing was read");
        return;
    };
    let mut all = Met::new();
    let mut wrong = Vec::new();
    let mut names: Vec<_> = std::fs::read_dir(Path::new(&folder))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    names.sort();
    for path in names {
        let bytes = std::fs::read(&path).unwrap();
        let mut file = File::default();
        let outcome = file.read(&bytes);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        println!("{name}: {:?} {:?}", outcome, file.met);
        for (of, (n, again)) in file.met {
            let sum = all.entry(of).or_default();
            *sum = (sum.0 + n, sum.1 + again);
        }
        // Transactions have tags from MySQL 8.3 on; events of rows had another form before MySQL 5.1 was released.
        let damaged = ["corrupt", "truncated", "GTID_TAG", "wl2325"]
            .iter()
            .any(|word| name.contains(word));
        match outcome {
            Err(why) if !damaged => wrong.push(format!("{name}: {why}")),
            _ => {}
        }
    }
    println!("kind: (events, the same bytes again) {all:?}");
    assert!(header::LEN == 19 && wrong.is_empty(), "{wrong:#?}");
}
