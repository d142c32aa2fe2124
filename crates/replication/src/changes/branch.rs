//! What the parts of a branch of a distributed transaction (XA) leave. As in MySQL, what is prepared is a group: XA START, rows, XA END and the event that
//! says that it is prepared, or committed in one phase. The end of what was prepared is another one, of one statement.
//!
//! What it never does: say of an end what it goes beside. What the branch has changed is locked up to there, so it comes behind all before it, and
//! all behind it comes behind it.

use crate::group::{End, put_item};
use engine::{BranchPart, Xid};
use std::fmt::Write;
use wire::binlog::control::{BranchName, XaPrepare};
use wire::binlog::header::{flag, kind};
use wire::binlog::query::{Query, Settings};

/// `utf8mb4_general_ci`, which all servers know.
const UTF8MB4: u16 = 45;

/// A statement about a branch, as MySQL writes its name: both parts in hexadecimal, and the format.
pub(super) fn statement(verb: &str, xid: &Xid) -> String {
    let mut text = format!("XA {verb} ");
    for part in [&xid.gtrid, &xid.bqual] {
        text.push_str("X'");
        for b in part {
            // Nothing fails that writes to a text.
            let _ = write!(text, "{b:02x}");
        }
        text.push_str("',");
    }
    let _ = write!(text, "{}", xid.format);
    text
}

/// Appends what makes a group of a part. `keys`: what has been changed, where it is known.
pub(super) fn put(part: BranchPart<'_>, end: End, keys: Option<&[u64]>, out: &mut Vec<u8>) {
    let seconds = (end.committed_micros / 1_000_000) as u32;
    let (xid, one_phase) = match part {
        BranchPart::Prepared(xid) => (xid, false),
        BranchPart::InOne(xid) => (xid, true),
        BranchPart::Committed(xid) => return put_end("COMMIT", xid, seconds, end, out),
        BranchPart::RolledBack(xid) => return put_end("ROLLBACK", xid, seconds, end, out),
    };
    put_statement(&statement("END", xid), seconds, out);
    let name = BranchName {
        format: xid.format,
        gtrid: &xid.gtrid,
        bqual: &xid.bqual,
    };
    put_item(kind::XA_PREPARE, 0, seconds, out, |out| {
        XaPrepare { one_phase, name }.write(out);
    });
    let end = End {
        branch: true,
        ..end
    };
    end.put_with(keys, out);
}

fn put_end(verb: &str, xid: &Xid, seconds: u32, end: End, out: &mut Vec<u8>) {
    put_statement(&statement(verb, xid), seconds, out);
    let end = End {
        statement: true,
        ..end
    };
    let beside_all: &[u64] = &[];
    end.put_with(
        base::mutant!("branch-end-beside-its-prepare").then_some(beside_all),
        out,
    );
}

/// A statement that reads nothing of whoever has said it.
fn put_statement(text: &str, seconds: u32, out: &mut Vec<u8>) {
    put_item(kind::QUERY, flag::SUPPRESS_USE, seconds, out, |out| {
        let query = Query {
            thread_id: 0,
            seconds: 0,
            error: 0,
            database: b"",
            settings: Settings {
                flags2: Some(0),
                sql_mode: Some(0),
                collations: Some((UTF8MB4, UTF8MB4, UTF8MB4)),
                ..Settings::default()
            },
            statement: text.as_bytes(),
        };
        query.write(out);
    });
}
