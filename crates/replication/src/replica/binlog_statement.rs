//! BINLOG statements: events of rows that a client has from a binary log, applied as a replica applies them, in the client's session and with its powers.
//!
//! What it never does: take events of other kinds, keep a table that it has looked up from one statement to the next, or believe a length.

use std::sync::Arc;

use sql::Session;
use sql::context::events::{Applied, Replayed};
use types::SqlError;
use types::error::codes;
use wire::binlog::format::Format;
use wire::binlog::frame::Checksum;
use wire::binlog::header::{self, Header, kind};
use wire::binlog::rows::Change;
use wire::read::Reader;

use super::filter::Filters;
use super::row_events::{At, RowEvents};
use super::statement::Setter;
use super::stopped::Stopped;
use crate::describe;

/// Carries BINLOG statements out.
#[derive(Debug, Clone, Copy, Default)]
pub struct BinlogStatements;

/// What a session keeps from one statement to the next.
struct Described {
    format: Arc<Format>,
}

impl sql::context::events::RowEvents for BinlogStatements {
    fn apply<'a>(
        &'a self,
        session: &'a mut Session,
        kept: &'a mut Replayed,
        events: &'a [u8],
    ) -> Applied<'a> {
        Box::pin(apply(session, kept, events))
    }
}

async fn apply(
    session: &mut Session,
    kept: &mut Replayed,
    mut events: &[u8],
) -> Result<(), SqlError> {
    let cut_off = || SqlError::fixed(codes::ER_SYNTAX_ERROR);
    let known = kept.as_ref().and_then(|k| k.downcast_ref::<Described>());
    let mut format = known.map(|d| Arc::clone(&d.format));
    let mut rows = RowEvents::default();
    let mut setter = Setter::default();
    let interrupt = session.interrupt();
    let is_to_end = || interrupt.is_set();
    while !events.is_empty() {
        let header = Header::read(&mut Reader::new(events)).map_err(|_| cut_off())?;
        let size = header.size as usize;
        let (event, rest) = events.split_at_checked(size).ok_or_else(cut_off)?;
        events = rest;
        let body = event.get(header::LEN..).ok_or_else(cut_off)?;
        if header.kind == kind::FORMAT_DESCRIPTION {
            let (read, _) = Format::read(body).map_err(|_| cut_off())?;
            let read = Arc::new(read);
            format = Some(Arc::clone(&read));
            *kept = Some(Box::new(Described { format: read }));
            continue;
        }
        let change = Change::by_kind(header.kind);
        if change.is_none() && !is_about_rows(header.kind) {
            return Err(SqlError::new(
                codes::ER_ONLY_FD_AND_RBR_EVENTS_ALLOWED_IN_BINLOG_STATEMENT,
                format!(
                    "Only Format_description_log_event and row events are allowed in BINLOG statements (but {} was provided)",
                    describe::kind_name(header.kind)
                ),
            ));
        }
        let Some(format) = format.as_deref() else {
            return Err(SqlError::new(
                codes::ER_NO_FORMAT_DESCRIPTION_EVENT_BEFORE_BINLOG_STATEMENT,
                format!(
                    "The BINLOG statement of type `{}` was not preceded by a format description BINLOG statement.",
                    describe::kind_name(header.kind)
                ),
            ));
        };
        // As in MySQL, the sum is not looked at: tools change events on their way.
        let sum = match format.checksum {
            Checksum::None => 0,
            sum => sum.len(),
        };
        let end = body.len().checked_sub(sum).ok_or_else(cut_off)?;
        let body = &body[..end];
        let done = match (header.kind, change) {
            // Filters are the replica's: a client says itself what is to be done.
            (kind::TABLE_MAP, _) => rows.table(&Filters::default(), body),
            (_, Some(change)) => {
                let mut at = At {
                    is_to_end: &is_to_end,
                    session,
                    setter: &mut setter,
                    format: Some(format),
                };
                rows.apply(&mut at, change, body).await
            }
            // The text beside rows.
            _ => Ok(()),
        };
        done.map_err(|stopped| match stopped {
            Stopped::Asked | Stopped::Until | Stopped::Known => SqlError::query_interrupted(),
            Stopped::Failed(e) | Stopped::GivenUp(e) => match e.code {
                codes::ER_REPLICA_FATAL_ERROR => SqlError::fixed(codes::ER_REPLICA_CORRUPT_EVENT),
                _ => e,
            },
        })?;
    }
    Ok(())
}

/// Events beside those of rows that a BINLOG statement may have.
fn is_about_rows(of: u8) -> bool {
    matches!(
        of,
        kind::TABLE_MAP | kind::ROWS_QUERY | kind::MARIA_ANNOTATE_ROWS
    )
}
