//! Reads the documents in binary logs that real servers wrote, as `wire`'s test of recorded logs does: each is made into text, and that into MySQL's
//! form again, which is the same bytes where nothing in it is SQL's and no JSON.
//!
//!     TIDEMILL_BINLOGS=DIR cargo test -p replication --test suite recorded_json -- --nocapture

use replication::json;
use std::collections::HashMap;
use types::Value;
use wire::binlog::MAGIC;
use wire::binlog::column::code;
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::kind;
use wire::binlog::rows::{Change, Rows};
use wire::binlog::table_map::TableMap;

/// The documents of a file's rows.
fn documents(file: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut tables: HashMap<u64, TableMap> = HashMap::new();
    let (mut at, mut checksum) = (MAGIC.len(), Checksum::None);
    while let Some(rest) = file.get(at..).filter(|r| r.len() > 4) {
        if rest[4] == kind::FORMAT_DESCRIPTION {
            let Ok(whole) = Event::read(rest, Checksum::None) else {
                break;
            };
            let Ok((format, own)) = Format::read(whole.body) else {
                break;
            };
            checksum = format.checksum;
            let Ok(event) = Event::read(rest, own) else {
                break;
            };
            at += event.bytes.len();
            continue;
        }
        let Ok(event) = Event::read(rest, checksum) else {
            break;
        };
        at += event.bytes.len();
        if event.header.kind == kind::TABLE_MAP
            && let Ok(map) = TableMap::read(event.body)
        {
            tables.insert(map.id, map);
        }
        let Some((change, second)) = Change::by_kind(event.header.kind) else {
            continue;
        };
        if change == Change::UpdateParts {
            continue;
        }
        let rows = Rows::read(change, second, event.body).expect("rows");
        let Some(map) = tables.get(&rows.table) else {
            continue;
        };
        let images = rows.images(map).expect("images");
        for image in images.into_iter().flat_map(|(b, a)| [b, a]) {
            for (value, column) in image.into_iter().zip(&map.columns) {
                if let (Some(Value::Bytes(b)), code::JSON) = (value, column.ty.code) {
                    found.push(b);
                }
            }
        }
    }
    found
}

#[test]
fn recorded_documents_are_read_and_written_again() {
    let Ok(folder) = std::env::var("TIDEMILL_BINLOGS") else {
        return;
    };
    let mut same = 0;
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let file = std::fs::read(entry.path()).expect("a file");
        for bytes in documents(&file) {
            let text = json::text(&bytes).expect("a document");
            let shown = String::from_utf8(text).expect("text");
            assert!(sql_expr::json::parse(&shown).is_ok(), "{shown}");
            let mut again = Vec::new();
            json::binary(shown.as_bytes(), &mut again).expect("a document");
            if again == bytes {
                same += 1;
                continue;
            }
            println!(
                "{:?}: {shown}\n  {bytes:02x?}\n  {again:02x?}",
                entry.file_name()
            );
            assert_eq!(json::text(&again).expect("a document"), shown.as_bytes());
        }
    }
    println!("{same} documents are the same bytes again");
}
