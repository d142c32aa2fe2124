//! Events of statements: what begins a transaction of rows, the text beside rows, and what a statement leaves that commits by itself.

use super::branch;
use crate::group::{End, put_item};
use engine::Session;
use sql::context::change_log::{BinlogContext, Surroundings};
use types::CollationId;
use wire::binlog::header::{flag, kind};
use wire::binlog::query::{Own, Query, Settings, flags2};
use wire::write::Put;

/// The statement that begins a transaction of rows.
pub(super) fn begin(s: &mut Session, binlog: &BinlogContext<'_>) {
    let branch = s.branch().map(|xid| branch::statement("START", xid));
    let text = branch.as_deref().unwrap_or("BEGIN");
    s.append_events(|out| put_begin(text, binlog, out));
}

fn put_begin(text: &str, binlog: &BinlogContext<'_>, out: &mut Vec<u8>) {
    let around = binlog.surroundings();
    let timestamp = seconds(binlog);
    put_item(kind::QUERY, flag::SUPPRESS_USE, timestamp, out, |out| {
        // It says nothing of the zone and of who runs it.
        query(&around, text.as_bytes()).write(out);
    });
}

/// All that a statement leaves of which nothing is kept but that it was.
pub(super) fn nothing(binlog: &BinlogContext<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    put_begin("BEGIN", binlog, &mut out);
    End::of(binlog.now_micros() as u64, binlog.origin()).put(&mut out);
    out
}

/// The text of the statement whose rows follow.
pub(super) fn rows_query(s: &mut Session, binlog: &BinlogContext<'_>) {
    let text = binlog.text();
    s.append_events(|out| {
        put_item(
            kind::ROWS_QUERY,
            flag::IGNORABLE,
            seconds(binlog),
            out,
            |out| {
                // The length in one byte, of which nobody makes use, as it may be more.
                out.put_u8(text.len() as u8);
                out.put_bytes(text);
            },
        );
    });
}

/// All that a statement leaves that is a transaction of its own.
pub(super) fn group(binlog: &BinlogContext<'_>, databases: &[&str]) -> Vec<u8> {
    let (around, zone) = (binlog.surroundings(), binlog.time_zone());
    let mut out = Vec::new();
    put_item(kind::QUERY, 0, seconds(binlog), &mut out, |out| {
        definition(binlog, &around, &zone, databases).write(out);
    });
    let end = End {
        statement: true,
        asked: binlog.asked(),
        ..End::of(binlog.now_micros() as u64, binlog.origin())
    };
    end.put(&mut out);
    out
}

/// The statement that makes a table whose rows follow.
pub(super) fn made(s: &mut Session, binlog: &BinlogContext<'_>, database: &str) {
    let (around, zone) = (binlog.surroundings(), binlog.time_zone());
    s.append_events(|out| {
        put_item(kind::QUERY, 0, seconds(binlog), out, |out| {
            definition(binlog, &around, &zone, &[database]).write(out);
        });
    });
}

/// A statement with all that it reads of its session: it is carried out again, and is to come to the same.
fn definition<'a>(
    binlog: &BinlogContext<'a>,
    around: &'a Surroundings<'_>,
    zone: &'a str,
    databases: &'a [&str],
) -> Query<'a> {
    let mut q = query(around, binlog.text());
    let micros = binlog.now_micros().rem_euclid(1_000_000) as u32;
    q.settings.microseconds = (micros != 0).then_some(micros);
    let (week_format, div_precision, strict_storage) = binlog.own_settings();
    let own = Own {
        week_format,
        div_precision,
        strict_storage,
    };
    q.settings.own = (own != Own::USUAL).then_some(own);
    let names = u16::from(binlog.time_names());
    q.settings.lc_time_names = (names != 0).then_some(names);
    let account = around.account;
    let (user, host) = account.rsplit_once('@').unwrap_or((account, ""));
    q.settings.time_zone = Some(zone.as_bytes());
    q.settings.invoker = Some((user.as_bytes(), host.as_bytes()));
    q.settings.databases = databases.iter().map(|d| d.as_bytes()).collect();
    // What these variables say has no effect: it is always so.
    q.settings.explicit_timestamp_defaults = Some(true);
    q.settings.utf8mb4_collation = Some(CollationId::DEFAULT.0);
    q.settings.require_primary_key = Some(false);
    q
}

fn seconds(binlog: &BinlogContext<'_>) -> u32 {
    (binlog.now_micros() / 1_000_000) as u32
}

fn query<'a>(around: &'a Surroundings<'_>, text: &'a [u8]) -> Query<'a> {
    let when = |on: bool, bit: u32| if on { bit } else { 0 };
    let flags = when(!around.autocommit, flags2::NOT_AUTOCOMMIT)
        | when(!around.foreign_key_checks, flags2::NO_FOREIGN_KEY_CHECKS);
    let (increment, offset) = around.auto_increment;
    Query {
        thread_id: around.connection as u32,
        seconds: 0,
        error: 0,
        database: around.database.as_bytes(),
        settings: Settings {
            flags2: Some(flags),
            sql_mode: Some(around.sql_mode),
            auto_increment: (increment != 1 || offset != 1)
                .then_some((increment as u16, offset as u16)),
            collations: Some(around.collations),
            ..Settings::default()
        },
        statement: text,
    }
}
