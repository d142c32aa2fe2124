//! What events and errors are to whoever applies them.

use types::SqlError;
use types::error::codes;
use wire::binlog::control::Transaction;
use wire::binlog::header::{Header, flag, kind};
use wire::binlog::query::Query;
use wire::binlog::rows::Change;
use wire::read::Reader;

/// When a transaction was committed where it comes from, and at the source that sends it; 0: that does not say.
pub(super) fn committed(t: &Transaction) -> (i64, i64) {
    let us = |us: u64| i64::try_from(us).unwrap_or(0);
    (us(t.original_commit_micros), us(t.immediate_commit_micros))
}

/// What is of use to readers of the binary log alone.
pub(super) fn is_for_readers(header: &Header) -> bool {
    let such = matches!(
        header.kind,
        kind::STOP
            | kind::IGNORABLE
            | kind::ROWS_QUERY
            | kind::PREVIOUS_GTIDS
            | kind::TRANSACTION_CONTEXT
            | kind::VIEW_CHANGE
            | kind::HEARTBEAT
            | kind::HEARTBEAT_V2
            | kind::MARIA_ANNOTATE_ROWS
            | kind::MARIA_CHECKPOINT
            | kind::MARIA_GTID_LIST
            | kind::MARIA_START_ENCRYPTION
    );
    such || header.flags & flag::IGNORABLE != 0 && Change::by_kind(header.kind).is_none()
}

/// What belongs to a file of the binary log, and to no transaction: behind it everything before is applied.
pub(super) fn is_of_the_file(header: &Header) -> bool {
    matches!(
        header.kind,
        kind::FORMAT_DESCRIPTION
            | kind::PREVIOUS_GTIDS
            | kind::STOP
            | kind::MARIA_CHECKPOINT
            | kind::MARIA_GTID_LIST
            | kind::MARIA_START_ENCRYPTION
    )
}

/// The source has lost events.
pub(super) fn incident(body: &[u8]) -> SqlError {
    let why = || {
        let mut r = Reader::new(body);
        r.u16().ok()?;
        let length = usize::from(r.u8().ok()?);
        let why = r.read_bytes(length).ok()?;
        Some(String::from_utf8_lossy(why).into_owned())
    };
    let text = format!(
        "The incident LOST_EVENTS occurred on the source. Message: {}",
        why().unwrap_or_default()
    );
    SqlError::new(codes::ER_REPLICA_INCIDENT, text)
}

/// Others were in its way.
pub(super) fn is_temporary(e: &SqlError) -> bool {
    matches!(
        e.code,
        codes::ER_LOCK_DEADLOCK | codes::ER_LOCK_WAIT_TIMEOUT
    )
}

/// Whether a statement begins so, in whichever letters. It is not looked at more closely: a source writes those of which it is asked itself.
pub(super) fn begins_with(text: &[u8], with: &[u8]) -> bool {
    text.get(..with.len())
        .is_some_and(|t| t.eq_ignore_ascii_case(with))
}

/// Whether a statement begins the changes of a branch of a distributed transaction.
pub(super) fn begins_branch(text: &[u8]) -> bool {
    begins_with(text, b"XA START")
}

/// Whether a statement ends a branch that was prepared.
pub(super) fn ends_branch(text: &[u8]) -> bool {
    begins_with(text, b"XA COMMIT") || begins_with(text, b"XA ROLLBACK")
}

/// The beginning of a statement, as it is shown.
pub(super) fn shown(statement: &[u8]) -> String {
    String::from_utf8_lossy(&statement[..statement.len().min(512)]).into_owned()
}

/// An error as SHOW REPLICA STATUS tells it.
pub(super) fn in_query(e: &SqlError, query: &Query<'_>) -> SqlError {
    SqlError::new(
        e.code,
        format!(
            "Error '{}' on query. Default database: '{}'. Query: '{}'",
            e.message,
            String::from_utf8_lossy(query.database),
            shown(query.statement)
        ),
    )
}
