//! What comes behind a change: its foreign keys have a say in it, and whoever keeps changes for the binary log is told of it. What is refused is not
//! told, and what foreign keys lead to is not: a replica's tables have them too.

use engine::{Inserted, Mark, Session, Updated};
use types::{SqlError, Value};

use super::foreign_keys::is_refusal;
use super::{Change, TableWriter};
use crate::change_log::Row;
use sql_expr::EvalCtx;

impl TableWriter<'_> {
    /// What came of a change that foreign keys had a say in; `None` where they refused it, all of it is undone, and IGNORE goes on.
    pub(super) async fn unless_refused<T>(
        &self,
        s: &mut Session,
        mark: Mark,
        outcome: Result<T, SqlError>,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<T>, SqlError> {
        match outcome {
            Err(e) if self.ignore && is_refusal(&e) => {
                s.undo_since(mark).await?;
                self.refuse(e, cx)?;
                Ok(None)
            }
            outcome => outcome.map(Some),
        }
    }

    /// After a row was changed: its parents, and its children, and who is told of it.
    pub(super) async fn after_change(
        &self,
        s: &mut Session,
        mark: Mark,
        (old, new): (&[Value], &[Value]),
        cx: &EvalCtx<'_>,
    ) -> Result<Change, SqlError> {
        if let Some(related) = self.related {
            let outcome = related.updated(s, old, new, cx).await;
            if self.unless_refused(s, mark, outcome, cx).await?.is_none() {
                return Ok(Change::Refused);
            }
        }
        self.log_row(s, Some(old), Some(new)).await?;
        Ok(Change::Done)
    }

    /// A row was to change and is a duplicate: whether foreign keys refuse it before that is found. `Some` where they did, and IGNORE goes on.
    pub(super) async fn refused_before(
        &self,
        s: &mut Session,
        outcome: &Updated,
        (old, new): (&[Value], &[Value]),
        cx: &EvalCtx<'_>,
    ) -> Result<Option<Change>, SqlError> {
        let (Some(related), Updated::Duplicate { index, .. }) = (self.related, outcome) else {
            return Ok(None);
        };
        let mark = s.mark();
        let first = related.before_duplicate(s, (old, new), *index, cx).await;
        let first = self.unless_refused(s, mark, first, cx).await?;
        Ok(first.is_none().then_some(Change::Refused))
    }

    /// After a row was deleted: its children, and who is told of it. False where they refuse it, it is there again, and IGNORE goes on.
    pub(super) async fn after_delete(
        &self,
        s: &mut Session,
        mark: Mark,
        old: &[Value],
        cx: &EvalCtx<'_>,
    ) -> Result<bool, SqlError> {
        if let Some(related) = self.related {
            let outcome = related.deleted(s, old, cx).await;
            if self.unless_refused(s, mark, outcome, cx).await?.is_none() {
                return Ok(false);
            }
        }
        self.log_row(s, Some(old), None).await?;
        Ok(true)
    }

    /// Tells whoever keeps changes of one that has taken place.
    ///
    /// # Errors
    /// 1534; 1114: the log is full; 1317.
    #[inline]
    pub(super) async fn log_row(
        &self,
        s: &mut Session,
        before: Option<&[Value]>,
        after: Option<&[Value]>,
    ) -> Result<(), SqlError> {
        if let Some(binlog) = &self.binlog {
            let (before, after) = (before.map(Row::Values), after.map(Row::Values));
            binlog.log().row(s, binlog, self.table, before, after)?;
            if s.has_many_events() {
                Box::pin(s.spill_events()).await?;
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) async fn log_insert(
        &self,
        s: &mut Session,
        inserted: &Inserted,
        row: &[Value],
    ) -> Result<(), SqlError> {
        match inserted {
            Inserted::Done => self.log_row(s, None, Some(row)).await,
            Inserted::Duplicate { .. } => Ok(()),
        }
    }
}
