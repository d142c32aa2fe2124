//! What an event says, in the words of SHOW BINLOG EVENTS.
//!
//! What it never does: refuse what it cannot read. A damaged event has a kind, and nothing to say.

use wire::binlog::control::{
    BranchName, Rotate, Transaction, XaPrepare, read_previous_gtids, read_rows_query, read_xid,
};
use wire::binlog::format::Format;
use wire::binlog::frame::Event;
use wire::binlog::header::{self, kind};
use wire::binlog::payload::{Compression, Payload};
use wire::binlog::query::Query;
use wire::binlog::rows::{Change, Rows, flag};
use wire::binlog::table_map::TableMap;

/// The name of a kind.
pub fn kind_name(of: u8) -> &'static str {
    match of {
        kind::QUERY => "Query",
        kind::STOP => "Stop",
        kind::ROTATE => "Rotate",
        kind::INTVAR => "Intvar",
        kind::APPEND_BLOCK => "Append_block",
        kind::DELETE_FILE => "Delete_file",
        kind::RAND => "RAND",
        kind::USER_VAR => "User var",
        kind::FORMAT_DESCRIPTION => "Format_desc",
        kind::XID => "Xid",
        kind::BEGIN_LOAD_QUERY => "Begin_load_query",
        kind::EXECUTE_LOAD_QUERY => "Execute_load_query",
        kind::TABLE_MAP => "Table_map",
        kind::WRITE_ROWS_V1 => "Write_rows_v1",
        kind::UPDATE_ROWS_V1 => "Update_rows_v1",
        kind::DELETE_ROWS_V1 => "Delete_rows_v1",
        kind::INCIDENT => "Incident",
        kind::HEARTBEAT | kind::HEARTBEAT_V2 => "Heartbeat",
        kind::IGNORABLE => "Ignorable",
        kind::ROWS_QUERY => "Rows_query",
        kind::WRITE_ROWS => "Write_rows",
        kind::UPDATE_ROWS => "Update_rows",
        kind::DELETE_ROWS => "Delete_rows",
        kind::GTID => "Gtid",
        kind::ANONYMOUS_GTID => "Anonymous_Gtid",
        kind::PREVIOUS_GTIDS => "Previous_gtids",
        kind::TRANSACTION_CONTEXT => "Transaction_context",
        kind::VIEW_CHANGE => "View_change",
        kind::XA_PREPARE => "XA_prepare",
        kind::PARTIAL_UPDATE_ROWS => "Update_rows_partial",
        kind::TRANSACTION_PAYLOAD => "Transaction_payload",
        _ => "Unknown",
    }
}

/// What an event says.
pub fn info(event: &Event<'_>) -> String {
    said(event).unwrap_or_default()
}

fn said(event: &Event<'_>) -> Option<String> {
    let lossy = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    let of = event.header.kind;
    Some(match of {
        kind::FORMAT_DESCRIPTION => {
            let (format, _) = Format::read(event.body).ok()?;
            format!("Server ver: {}, Binlog ver: 4", format.server_version)
        }
        kind::PREVIOUS_GTIDS => read_previous_gtids(event.body).ok()?.to_string(),
        kind::GTID => {
            let gtid = Transaction::read(event.body, false).ok()?.gtid?;
            format!("SET @@SESSION.GTID_NEXT= '{gtid}'")
        }
        kind::ANONYMOUS_GTID => "SET @@SESSION.GTID_NEXT= 'ANONYMOUS'".to_owned(),
        kind::QUERY => {
            let q = Query::read(event.body).ok()?;
            let statement = lossy(q.statement);
            let said = event.header.flags & header::flag::SUPPRESS_USE == 0;
            match q.database.is_empty() || !said || statement == "BEGIN" {
                true => statement,
                false => format!(
                    "use `{}`; {statement}",
                    lossy(q.database).replace('`', "``")
                ),
            }
        }
        kind::XID => format!("COMMIT /* xid={} */", read_xid(event.body).ok()?),
        kind::XA_PREPARE => {
            let x = XaPrepare::read(event.body).ok()?;
            let hex = |part: &[u8]| part.iter().map(|b| format!("{b:02x}")).collect::<String>();
            let BranchName {
                format,
                gtrid,
                bqual,
            } = x.name;
            let name = format!("X'{}',X'{}',{format}", hex(gtrid), hex(bqual));
            match x.one_phase {
                true => format!("XA COMMIT {name} ONE PHASE"),
                false => format!("XA PREPARE {name}"),
            }
        }
        kind::ROTATE => {
            let r = Rotate::read(event.body).ok()?;
            format!("{};pos={}", lossy(r.file), r.position)
        }
        kind::ROWS_QUERY => format!("# {}", lossy(read_rows_query(event.body).ok()?)),
        kind::TABLE_MAP => {
            let t = TableMap::read(event.body).ok()?;
            let name = format!("{}.{}", lossy(&t.database), lossy(&t.table));
            format!("table_id: {} ({name})", t.id)
        }
        kind::TRANSACTION_PAYLOAD => {
            let p = Payload::read(event.body).ok()?;
            let how = match p.compression {
                Compression::Zstd => "ZSTD",
                Compression::None => "NONE",
            };
            let size = p.uncompressed;
            format!("compression='{how}', decompressed_size={size} bytes")
        }
        _ => {
            let (change, second) = Change::by_kind(of)?;
            let rows = Rows::read(change, second, event.body).ok()?;
            match rows.flags & flag::STATEMENT_END != 0 {
                true => format!("table_id: {} flags: STMT_END_F", rows.table),
                false => format!("table_id: {}", rows.table),
            }
        }
    })
}
