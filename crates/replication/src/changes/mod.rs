//! The change log: what sessions change becomes events in their transactions' groups, where both rows are at hand as values.
//!
//! A transaction's group is `BEGIN`, or XA START of a branch, then for each statement the table's event and rows' events of some 8 KiB, of which the last says that the
//! statement ends. Where a statement changes a second table, the first one's rows end as a statement's do: a replica then never meets
//! a table behind rows of another.
//!
//! | module | what |
//! |---|---|
//! | [`branch`] | the parts of a branch of a distributed transaction |
//! | [`mapped`] | a table as its events have it, kept beside its definition |
//! | [`keys`] | what a transaction has changed, as hashes of keys |
//! | [`pack`] | a transaction's events as one, compressed |
//! | [`statement`] | events of statements |
//!
//! What it never does: wait, or keep anything of a transaction that its session does not lose with it.

mod branch;
mod keys;
mod mapped;
mod pack;
mod statement;

use crate::group::{End, put_item};
use engine::{BranchPart, GroupEnd, GroupPack, Session, Table};
use keys::Keys;
use mapped::Mapped;
use pack::Pack;
use sql::context::change_log::{BinlogContext, ChangeLog, Compression, Row, RowImage};
use std::any::Any;
use std::sync::Arc;
use types::gtid::Origin;
use types::{SqlError, ValueRef};
use wire::binlog::header::kind;
use wire::binlog::rows::{Change, flag, put_front, put_image};
use wire::write::Put;

/// Bytes of rows in an event, after which another is begun (`binlog_row_event_max_size`, which does not change).
const ROWS_MAX: u64 = 8192;
/// Where in an item its length stands, and its body.
const LEN_AT: u64 = 7;
const BODY_AT: u64 = 11;
/// Where in a rows' event's body its flags stand.
const FLAGS_AT: u64 = 6;

/// What keeps changes for the binary log.
#[derive(Default)]
pub struct Changes {
    databases: Databases,
}

/// Of which databases changes are kept: `binlog_do_db`, and where that names none, all but those of `binlog_ignore_db`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Databases {
    /// `binlog_do_db`.
    pub only: Vec<String>,
    /// `binlog_ignore_db`.
    pub ignored: Vec<String>,
}

impl Databases {
    /// Whether what is done in this one is kept; none is always right.
    pub fn keep(&self, name: &str) -> bool {
        let has = |list: &[String]| list.iter().any(|d| d == name);
        match self.only.is_empty() {
            _ if name.is_empty() => true,
            true => !has(&self.ignored),
            false => has(&self.only),
        }
    }
}

/// What is known of a transaction's group beside its bytes.
#[derive(Default)]
struct Transaction {
    keys: Keys,
    origin: Option<Origin>,
    /// Who waits to hear its name.
    asked: u64,
    /// The rows' event that was appended last.
    rows: Option<Open>,
    /// All of it is to be compressed, so: it has nothing but rows, and not too many of them.
    compression: Option<Compression>,
}

/// A rows' event.
struct Open {
    /// Where in the group its item begins, and ends.
    start: u64,
    end: u64,
    table: u64,
    change: Change,
    /// The columns of its rows.
    present: Vec<bool>,
    present_after: Vec<bool>,
    flags: u16,
}

impl Changes {
    /// Joins it to an engine, whose groups it ends from now on.
    pub fn new(engine: &engine::Engine) -> Arc<Changes> {
        Changes::of(engine, Databases::default())
    }

    /// The same, of these databases alone.
    pub fn of(engine: &engine::Engine, databases: Databases) -> Arc<Changes> {
        engine.end_groups_with(Arc::new(Ending));
        Arc::new(Changes { databases })
    }
}

/// The end of a transaction of rows.
struct Ending;

impl GroupEnd for Ending {
    fn end(&self, facts: Option<&mut (dyn Any + Send + Sync)>, wall_us: i64, out: &mut Vec<u8>) {
        let transaction = facts.and_then(|f| f.downcast_mut::<Transaction>());
        let origin = transaction.as_ref().and_then(|t| t.origin);
        let asked = transaction.as_ref().map_or(0, |t| t.asked);
        let end = End {
            asked,
            ..End::of(wall_us as u64, origin)
        };
        end.put_with(transaction.and_then(|t| t.keys.hashes()), out);
    }

    fn branch(
        &self,
        part: BranchPart<'_>,
        facts: Option<&mut (dyn Any + Send + Sync)>,
        wall_us: i64,
        out: &mut Vec<u8>,
    ) -> bool {
        let transaction = facts.and_then(|f| f.downcast_mut::<Transaction>());
        let origin = transaction.as_ref().and_then(|t| t.origin);
        let asked = transaction.as_ref().map_or(0, |t| t.asked);
        let end = End {
            asked,
            ..End::of(wall_us as u64, origin)
        };
        branch::put(part, end, transaction.and_then(|t| t.keys.hashes()), out);
        true
    }

    fn packs(&self, facts: &(dyn Any + Send + Sync), len: u64) -> bool {
        let transaction = facts.downcast_ref::<Transaction>();
        transaction.is_some_and(|t| t.compression.is_some()) && len <= pack::MOST
    }

    fn pack(
        &self,
        facts: &(dyn Any + Send + Sync),
        when: (u64, i64),
        events: &[u8],
    ) -> Option<Box<dyn GroupPack>> {
        let transaction = facts.downcast_ref::<Transaction>()?;
        let pack = Pack::begin(transaction.compression?, transaction.origin, when, events)?;
        Some(Box::new(pack))
    }
}

impl Transaction {
    /// There is another one, of which nothing is known yet.
    fn clear(&mut self) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        *self = Transaction {
            keys,
            ..Transaction::default()
        };
    }
}

/// Gives what is known of the session's transaction, to be put back.
fn transaction_of(s: &mut Session) -> Box<Transaction> {
    if let Some(facts) = s.group_facts().take() {
        return facts.downcast().unwrap_or_default();
    }
    let spare = s.spare_group_facts();
    let spare = spare.and_then(|f| f.downcast::<Transaction>().ok());
    let mut transaction = spare.unwrap_or_default();
    transaction.clear();
    transaction
}

impl ChangeLog for Changes {
    fn keeps(&self, database: &str) -> bool {
        self.databases.keep(database)
    }

    fn admits(&self, table: &Table) -> bool {
        Mapped::of(table).is_some()
    }

    fn row(
        &self,
        s: &mut Session,
        binlog: &BinlogContext<'_>,
        table: &Arc<Table>,
        before: Option<Row<'_>>,
        after: Option<Row<'_>>,
    ) -> Result<(), SqlError> {
        let mapped = Mapped::of(table).ok_or_else(|| not_kept(table))?;
        let len = s.events_len();
        let mut transaction = transaction_of(s);
        (transaction.origin, transaction.asked) = (binlog.origin(), binlog.asked());
        let kept = row(s, &mut transaction, binlog, mapped, (before, after));
        let kept = kept.inspect_err(|()| s.cut_events(len));
        if kept.is_ok() {
            let is_parent = mapped.is_parent(s, table);
            transaction.keys.row(&mapped.keys, is_parent, before, after);
        }
        *s.group_facts() = Some(transaction);
        kept.map_err(|()| not_kept(table))
    }

    fn statement_ends(&self, s: &mut Session) {
        if s.events_len() == 0 {
            return;
        }
        let mut transaction = transaction_of(s);
        end_statement(s, &mut transaction);
        *s.group_facts() = Some(transaction);
    }

    fn nothing(&self, s: &mut Session, binlog: &BinlogContext<'_>) {
        let mut transaction = transaction_of(s);
        (transaction.origin, transaction.asked) = (binlog.origin(), binlog.asked());
        transaction.compression = None;
        statement::begin(s, binlog);
        *s.group_facts() = Some(transaction);
    }

    fn comes_from(&self, s: &mut Session, binlog: &BinlogContext<'_>) {
        let known = s.group_facts().is_some();
        let mut transaction = transaction_of(s);
        if !known {
            // It was prepared before a restart.
            transaction.keys.forget();
        }
        transaction.origin = binlog.origin();
        *s.group_facts() = Some(transaction);
    }

    fn ends_branch(&self, binlog: &BinlogContext<'_>) -> Box<dyn Any + Send + Sync> {
        Box::new(Transaction {
            origin: binlog.origin(),
            asked: binlog.asked(),
            ..Transaction::default()
        })
    }

    fn statement(
        &self,
        binlog: &BinlogContext<'_>,
        databases: &[&str],
        whole: Option<&str>,
    ) -> Option<Vec<u8>> {
        let of = whole.unwrap_or(binlog.database());
        match self.keeps(of) {
            true => Some(statement::group(binlog, databases)),
            // Another server's transaction has its name here whatever is kept of it.
            false => binlog.origin()?.gtid.map(|_| statement::nothing(binlog)),
        }
    }

    fn made(&self, s: &mut Session, binlog: &BinlogContext<'_>, database: &str) {
        let kept = self.keeps(binlog.database());
        if !kept && binlog.origin().is_none_or(|o| o.gtid.is_none()) {
            return;
        }
        let mut transaction = transaction_of(s);
        (transaction.origin, transaction.asked) = (binlog.origin(), binlog.asked());
        transaction.keys.forget();
        transaction.compression = None;
        statement::begin(s, binlog);
        if kept {
            statement::made(s, binlog, database);
        }
        *s.group_facts() = Some(transaction);
    }
}

/// Error 1534.
fn not_kept(table: &Table) -> SqlError {
    let why = format!(
        "Writing one row to the row-based binary log failed: table '{}.{}' has a column whose values cannot be written",
        table.def.schema, table.def.name
    );
    SqlError::new(types::error::codes::ER_BINLOG_ROW_LOGGING_FAILED, why)
}

/// The last rows of the statement, or of one of its tables, say so.
fn end_statement(s: &mut Session, t: &mut Transaction) {
    let Some(open) = t.rows.take() else {
        return;
    };
    // What was undone since is none of it.
    if open.end == s.events_len() {
        let flags = open.flags | flag::STATEMENT_END;
        let patched = s.patch_events(open.start + BODY_AT + FLAGS_AT, &flags.to_le_bytes());
        debug_assert!(patched, "it was held");
    }
    hold(s, t, u64::MAX);
}

/// What comes from `offset` on may still be patched; what is to be compressed is held as a whole, until it is too much.
fn hold(s: &mut Session, t: &mut Transaction, offset: u64) {
    t.compression.take_if(|_| s.events_len() > pack::MOST);
    s.hold_events(match t.compression {
        Some(_) => 0,
        None => offset,
    });
}

/// Begins a transaction of rows.
fn begin(s: &mut Session, t: &mut Transaction, binlog: &BinlogContext<'_>) {
    // The parts of a branch are small and many, and no server that was looked at compresses them.
    t.compression = binlog.compression().filter(|_| s.branch().is_none());
    statement::begin(s, binlog);
}

/// Appends a row to the rows' event that is open, or to one of its own.
fn row(
    s: &mut Session,
    t: &mut Transaction,
    binlog: &BinlogContext<'_>,
    mapped: &Mapped,
    (before, after): (Option<Row<'_>>, Option<Row<'_>>),
) -> Result<(), ()> {
    // Of an insert the row after it stands where else the one before does.
    let (change, first, second) = match (before, after) {
        (None, Some(after)) => (Change::Write, after, None),
        (Some(before), Some(after)) => (Change::Update, before, Some(after)),
        (Some(before), None) => (Change::Delete, before, None),
        (None, None) => return Ok(()),
    };
    let image = binlog.row_image();
    let timestamp = (binlog.now_micros() / 1_000_000) as u32;
    let len = s.events_len();
    t.rows.take_if(|open| open.end != len);
    if len == 0 {
        begin(s, t, binlog);
    }
    let same_table = t.rows.as_ref().is_some_and(|o| o.table == mapped.map.id);
    if !same_table {
        end_statement(s, t);
        if binlog.wants_text() && !binlog.text().is_empty() {
            statement::rows_query(s, binlog);
        }
        let map = mapped.event(binlog.full_metadata());
        s.append_events(|out| {
            put_item(kind::TABLE_MAP, 0, timestamp, out, |out| out.put_bytes(map));
        });
    }
    let full = image == RowImage::Full;
    // Empty: all.
    let (present, present_after) = match full {
        true => (Vec::new(), Vec::new()),
        false => mapped.present(image, before, after),
    };
    let goes_on = t.rows.as_ref().is_some_and(|o| {
        o.change == change
            && o.end - o.start < ROWS_MAX
            && o.present == present
            && o.present_after == present_after
    });
    let of_first = if full { &mapped.all } else { &present };
    let of_second = if full { &mapped.all } else { &present_after };
    if !goes_on {
        let start = s.events_len();
        let mut flags = 0;
        if !binlog.foreign_key_checks() {
            flags |= flag::NO_FOREIGN_KEY_CHECKS;
        }
        let after = (change == Change::Update).then_some(&of_second[..]);
        s.append_events(|out| {
            put_item(change.kind(), 0, timestamp, out, |out| {
                put_front(mapped.map.id, flags, of_first, after, out);
            });
        });
        hold(s, t, start);
        t.rows = Some(Open {
            start,
            end: s.events_len(),
            table: mapped.map.id,
            change,
            present: present.clone(),
            present_after: present_after.clone(),
            flags,
        });
    }
    let Some(open) = &mut t.rows else {
        return Err(());
    };
    let documents = |row, present: &[bool]| mapped.documents(row, present);
    let of = documents(first, of_first).and_then(|first| {
        let second = second.map_or(Ok(Vec::new()), |row| documents(row, of_second));
        Ok((first, second?))
    });
    let Ok((documents, documents_after)) = of else {
        t.rows = None;
        return Err(());
    };
    let mut put = Ok(());
    s.append_events(|out| {
        put = put_image(&mapped.map, of_first, value(mapped, first, &documents), out);
        if let (Ok(()), Some(second)) = (&put, second) {
            let value = value(mapped, second, &documents_after);
            put = put_image(&mapped.map, of_second, value, out);
        }
    });
    if put.is_err() {
        t.rows = None;
        return Err(());
    }
    open.end = s.events_len();
    let body = open.end - open.start - BODY_AT;
    let Ok(body) = u32::try_from(body) else {
        t.rows = None;
        return Err(());
    };
    match s.patch_events(open.start + LEN_AT, &body.to_le_bytes()) {
        true => Ok(()),
        false => Err(()),
    }
}

/// The values of a row as its event has them.
fn value<'v>(
    mapped: &'v Mapped,
    row: Row<'v>,
    documents: &'v [Option<Vec<u8>>],
) -> impl Fn(usize) -> ValueRef<'v> {
    move |n| match documents.get(n) {
        Some(Some(document)) => ValueRef::Bytes(document),
        _ => mapped.value(row, n),
    }
}
