//! What is told of changes to whoever makes a binary log of them: each row that the one writer of rows changes, and each statement that
//! changes definitions or accounts.
//!
//! The trait is declared here and implemented above; the start joins the two (`Instance::log_changes_in`). Without a change log nothing of this costs
//! more than a look whether there is one.
//!
//! What it never does: know events, or decide what is in them.

use std::any::Any;
use std::sync::Arc;

use engine::{RowRef, Table};
use types::charset::Charset;
use types::gtid::Origin;
use types::{CollationId, SqlError, Value, ValueRef};

use sql_expr::SessionFacts;
use sql_expr::vars::SessionVars;

/// What keeps the changes of sessions.
pub trait ChangeLog: Send + Sync {
    /// Whether rows of this database's tables are kept (`binlog_do_db`, `binlog_ignore_db`).
    fn keeps(&self, database: &str) -> bool;

    /// Whether [`row`](Self::row) can keep rows of this table.
    fn admits(&self, table: &Table) -> bool;

    /// A row of a lasting table was inserted (there is none before), changed or deleted (none after), as part of this statement.
    ///
    /// # Errors
    /// 1534: a value cannot be kept. Then the statement fails.
    fn row(
        &self,
        s: &mut engine::Session,
        binlog: &BinlogContext<'_>,
        table: &Arc<Table>,
        before: Option<Row<'_>>,
        after: Option<Row<'_>>,
    ) -> Result<(), SqlError>;

    /// The statement whose rows were told is over, and was not undone.
    fn statement_ends(&self, s: &mut engine::Session);

    /// A transaction of another server is about to be committed that has changed nothing here: that it was done is kept.
    fn nothing(&self, s: &mut engine::Session, binlog: &BinlogContext<'_>);

    /// A transaction that was prepared comes from where the session's does.
    fn comes_from(&self, s: &mut engine::Session, binlog: &BinlogContext<'_>);

    /// What is put beside the group that says that a branch was ended, of which what it has changed is in a group:
    /// for [`commit_branch`](engine::Session::commit_branch).
    fn ends_branch(&self, binlog: &BinlogContext<'_>) -> Box<dyn Any + Send + Sync>;

    /// A table is made with its rows, as one transaction: this is the statement that makes it, without them. Rows of it are told next, if there are any.
    /// It means what it says whatever `sql_mode` is.
    fn made(&self, s: &mut engine::Session, binlog: &BinlogContext<'_>, database: &str);

    /// What a statement leaves that is a transaction of its own: all of its group, for
    /// [`set_definition_event`](engine::Session::set_definition_event). `databases` are those that it changes, `whole` the one that it makes, alters or
    /// drops. `None`: what is done there is not kept.
    fn statement(
        &self,
        binlog: &BinlogContext<'_>,
        databases: &[&str],
        whole: Option<&str>,
    ) -> Option<Vec<u8>>;
}

/// A row that is told, as it is at hand.
#[derive(Clone, Copy)]
pub enum Row<'a> {
    /// As values.
    Values(&'a [Value]),
    /// As it is stored, with its long columns.
    Stored(RowRef<'a>),
}

impl<'a> Row<'a> {
    /// The value of a column; NULL where there is none.
    #[inline]
    pub fn value(self, column: usize) -> ValueRef<'a> {
        match self {
            Row::Values(row) => row.get(column).map_or(ValueRef::Null, Value::as_ref),
            Row::Stored(row) if column < row.columns() => row.column(column),
            Row::Stored(_) => ValueRef::Null,
        }
    }
}

/// `binlog_row_image`: which columns of a row are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowImage {
    /// Before a change those that find the row, after it those that have changed.
    Minimal,
    /// All but long ones that do not find the row and have not changed.
    NoBlob,
    /// All.
    Full,
}

/// How a transaction's events are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    /// The level of zstd, 1 to 22.
    pub level: i32,
    /// The number of this server, which stands in the events that are compressed.
    pub server_id: u32,
}

/// A statement, as the change log is told of it.
#[derive(Clone, Copy)]
pub struct BinlogContext<'a> {
    log: &'a dyn ChangeLog,
    facts: &'a SessionFacts,
    vars: &'a SessionVars,
    text: &'a [u8],
    now_micros: i64,
    plain: bool,
}

/// What a statement ran under.
#[derive(Debug, Clone)]
pub struct Surroundings<'a> {
    /// Who ran it: user and host.
    pub account: &'a str,
    /// The connection.
    pub connection: u64,
    /// The default database; empty: none.
    pub database: &'a str,
    /// `autocommit`.
    pub autocommit: bool,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// `sql_mode`, as bits.
    pub sql_mode: u64,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub auto_increment: (u64, u64),
    /// A collation of the text's character set, `collation_connection`, `collation_server`, as numbers.
    pub collations: (u16, u16, u16),
}

impl<'a> BinlogContext<'a> {
    /// A statement, where its changes are kept. `now_micros` is its time.
    #[inline]
    pub fn of(
        log: Option<&'a dyn ChangeLog>,
        (facts, vars): (&'a SessionFacts, &'a SessionVars),
        text: &'a [u8],
        now_micros: i64,
    ) -> Option<BinlogContext<'a>> {
        let log = log?;
        vars.hot().log_bin.then_some(BinlogContext {
            log,
            facts,
            vars,
            text,
            now_micros,
            plain: false,
        })
    }

    /// The same, whose text was made here and means what it says under no `sql_mode`.
    pub fn plainly(self) -> BinlogContext<'a> {
        BinlogContext {
            plain: true,
            ..self
        }
    }

    /// Who is told.
    pub fn log(&self) -> &'a dyn ChangeLog {
        self.log
    }

    /// Where its transaction comes from, if that is another server.
    pub fn origin(&self) -> Option<Origin> {
        self.facts.origin
    }

    /// Who waits to hear what its transaction is called, by a number; 0: nobody.
    pub fn asked(&self) -> u64 {
        self.facts.names_asked
    }

    /// Its text.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The text is wanted beside its rows: `binlog_rows_query_log_events`.
    pub fn wants_text(&self) -> bool {
        self.vars.hot().rows_query
    }

    /// When it began, in microseconds since 1970.
    pub fn now_micros(&self) -> i64 {
        self.now_micros
    }

    /// How the transaction's events are compressed, where they are (`binlog_transaction_compression`). It does not change within a transaction.
    #[inline]
    pub fn compression(&self) -> Option<Compression> {
        let on = self.vars.hot().transaction_compression;
        on.then(|| {
            let number = |name| self.vars.value_by_name(name).map_or(0, |v| v.as_u64());
            Compression {
                level: number("binlog_transaction_compression_level_zstd") as i32,
                server_id: number("server_id") as u32,
            }
        })
    }

    /// `binlog_row_image`.
    pub fn row_image(&self) -> RowImage {
        match self.vars.hot().row_image {
            0 => RowImage::Minimal,
            1 => RowImage::NoBlob,
            _ => RowImage::Full,
        }
    }

    /// `binlog_row_metadata` is FULL.
    pub fn full_metadata(&self) -> bool {
        self.vars.globals().hot().binlog_row_metadata() == 1
    }

    /// `foreign_key_checks`.
    pub fn foreign_key_checks(&self) -> bool {
        self.vars.hot().foreign_key_checks
    }

    /// What it runs under.
    pub fn surroundings(&self) -> Surroundings<'a> {
        let hot = self.vars.hot();
        Surroundings {
            account: &self.facts.current_user,
            connection: self.facts.thread(),
            database: self.database(),
            autocommit: hot.autocommit,
            foreign_key_checks: hot.foreign_key_checks,
            sql_mode: match self.plain {
                true => 0,
                false => hot.sql_mode.bits(),
            },
            auto_increment: (hot.auto_increment_increment, hot.auto_increment_offset),
            collations: (
                text_collation(hot.client),
                number(hot.collation),
                number(hot.server_collation),
            ),
        }
    }

    /// `default_week_format`, `div_precision_increment` and `innodb_strict_mode`, which only the events of statements say.
    pub fn own_settings(&self) -> (u8, u8, bool) {
        let hot = self.vars.hot();
        let strict = self.vars.value_by_name("innodb_strict_mode");
        (
            hot.default_week_format,
            hot.div_precision_increment,
            strict.is_some_and(|v| v.as_u64() != 0),
        )
    }

    /// `lc_time_names`, by its number.
    pub fn time_names(&self) -> u8 {
        self.vars.hot().time_names
    }

    /// The default database; empty: none.
    pub fn database(&self) -> &'a str {
        self.facts.database.as_deref().unwrap_or("")
    }

    /// `time_zone`, which only the events of statements say.
    pub fn time_zone(&self) -> Arc<str> {
        self.vars.text("time_zone")
    }
}

/// The collation that stands for the character set of a statement's text, which is told in UTF-8: one that all servers know.
fn text_collation(client: Charset) -> u16 {
    /// `utf8mb4_general_ci`
    const UTF8MB4: u16 = 45;
    match client {
        Charset::Utf8mb4 | Charset::Latin1 => UTF8MB4,
        other => number(CollationId::default_of(other)),
    }
}

fn number(c: CollationId) -> u16 {
    c.0
}
