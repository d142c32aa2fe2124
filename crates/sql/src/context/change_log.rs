//! The change log of a server: where it is joined to the rest, and what it is told of a session's statements. What it is, and what it is told of rows, is
//! [`exec::change_log`](sql_exec::change_log).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Session;
use super::instance::Instance;
use types::SqlError;

pub use sql_exec::change_log::{
    BinlogContext, ChangeLog, Compression, Row, RowImage, Surroundings,
};

impl Instance {
    /// From now on changes are told to `log`. At the start, before there are sessions; the first that comes stays.
    pub fn log_changes_in(&self, log: Arc<dyn ChangeLog>) {
        let _first = self.change_log.set(log);
    }

    /// Who keeps changes.
    #[inline]
    pub(crate) fn change_log(&self) -> Option<&dyn ChangeLog> {
        self.change_log.get().map(|l| &**l)
    }
}

impl Session {
    /// The session's statement, where its changes are kept.
    pub(crate) fn binlog_context<'t>(&'t self, text: &'t [u8]) -> Option<BinlogContext<'t>> {
        let now = self.now_micros();
        BinlogContext::of(
            self.instance.change_log(),
            (&self.facts, &self.vars),
            text,
            now,
        )
    }

    /// Keeps a statement's text where the change log is to be told of it: what has no plan, and, where that is asked for, what changes rows.
    #[inline]
    pub(crate) fn note_text(&mut self, planned: bool, text: &[u8]) {
        if self.instance.change_log().is_none() {
            return;
        }
        let wanted = !planned || self.vars.hot().rows_query;
        self.statement_text = wanted.then(|| self.parse_options().utf8(text).as_ref().into());
    }

    /// The rows of a statement have all been told, and stay.
    #[inline]
    pub(crate) fn rows_are_logged(&mut self) {
        if let Some(log) = self.instance.change_log() {
            log.statement_ends(&mut self.engine);
        }
    }

    /// The group that a statement leaves that is a transaction of its own; `None` where nobody keeps it. `whole`: the database that it makes,
    /// alters or drops.
    pub(crate) fn statement_group(
        &self,
        text: &[u8],
        databases: &[&str],
        whole: Option<&str>,
    ) -> Option<Vec<u8>> {
        let binlog = self.binlog_context(text)?;
        self.group_of(&binlog, databases, whole)
    }

    fn group_of(
        &self,
        binlog: &BinlogContext<'_>,
        databases: &[&str],
        whole: Option<&str>,
    ) -> Option<Vec<u8>> {
        let group = binlog.log().statement(binlog, databases, whole)?;
        self.left_group.store(true, Ordering::Relaxed);
        Some(group)
    }

    /// The text of the statement at hand, without what stands around it; empty where nobody keeps it.
    pub(crate) fn text_alone(&self) -> &[u8] {
        let text = self.statement_text.as_deref().unwrap_or_default();
        let text = text.trim_ascii();
        text.strip_suffix(b";").unwrap_or(text).trim_ascii_end()
    }

    /// Gives a statement's group to the change of definitions that is about to take place.
    pub(crate) fn log_definition(&mut self, text: &[u8], databases: &[&str], whole: Option<&str>) {
        if let Some(group) = self.statement_group(text, databases, whole) {
            self.engine.set_definition_event(group);
        }
    }

    /// The same of a text that was made here, and that means what it says under no `sql_mode`: in place of the statement's own.
    pub(crate) fn log_plain_definition(&mut self, text: &[u8], database: &str) {
        let binlog = self.binlog_context(text).map(BinlogContext::plainly);
        if let Some(group) = binlog.and_then(|t| self.group_of(&t, &[database], None)) {
            self.engine.set_definition_event(group);
        }
    }

    /// The change is over: where it had nothing to do and its statement is kept all the same, it is committed by itself; after an error it is gone.
    /// False: it had nothing to do in the version `seen` of the catalog, and there is another by now.
    ///
    /// # Errors
    /// What committing fails with.
    pub(crate) async fn definition_logged(
        &mut self,
        done: bool,
        seen: Option<u64>,
    ) -> Result<bool, SqlError> {
        match self.engine.take_definition_event() {
            Some(group) if done => self.engine.commit_group(&group, seen).await,
            _ => Ok(true),
        }
    }
}
