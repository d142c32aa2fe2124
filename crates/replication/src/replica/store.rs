//! What a replica keeps in tables, for each channel: where its source is (`mysql.replica_source`), and how far it has come
//! (`mysql.replica_applier_position`). The tables are made when a source is first named. Whoever applies a transaction writes the place
//! behind it in the same transaction.

use std::collections::BTreeMap;

use sql::Session;
use sql::sink::{Collected, Collector};
use types::gtid::GtidSet;
use types::{CollationId, SqlError, Value};

use super::place::{Place, maria_position, maria_text};
use super::source::Source;

const MAKE: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS mysql.replica_source (channel_name VARCHAR(64) NOT NULL DEFAULT '', \
     name VARCHAR(64) CHARACTER SET ascii NOT NULL, value LONGTEXT, PRIMARY KEY (channel_name, name)) \
     DEFAULT CHARSET=utf8mb4 COMMENT='The sources of replication'",
    "CREATE TABLE IF NOT EXISTS mysql.replica_applier_position (channel_name VARCHAR(64) PRIMARY KEY, \
     source_log_file VARCHAR(512) NOT NULL, source_log_pos BIGINT UNSIGNED NOT NULL, gtid_executed LONGTEXT NOT NULL, \
     mariadb_gtid_pos LONGTEXT NOT NULL, unfinished_definition BIGINT UNSIGNED NULL) \
     DEFAULT CHARSET=utf8mb4 COMMENT='How far the transactions of the source are applied'",
];

/// What makes a table that knew one channel one of today's.
const GROW: &str = "ALTER TABLE mysql.replica_source ADD COLUMN channel_name VARCHAR(64) NOT NULL DEFAULT '' FIRST, \
     DROP PRIMARY KEY, ADD PRIMARY KEY (channel_name, name), COMMENT='The sources of replication'";

/// What is kept of a channel: its name, its source, how far it has come.
pub(super) type Kept = (String, Source, Place);

fn text(s: &str) -> Value {
    Value::Str(s.as_bytes().to_vec(), CollationId::DEFAULT)
}

/// A value of a result as text; `None` for NULL.
fn cell(r: &Collected, row: usize, column: usize) -> Option<String> {
    match r.rows.get(row)?.get(column)? {
        Value::Null => None,
        v => Some(types::convert::to_text(v.as_ref())),
    }
}

fn values(place: &Place) -> Vec<Value> {
    vec![
        text(&place.log.file),
        Value::UInt(place.log.position),
        text(&place.gtids.to_string()),
        text(&maria_text(&place.maria)),
        place.unfinished.map_or(Value::Null, Value::UInt),
    ]
}

/// Runs a statement of our own with parameters, once.
async fn run(s: &mut Session, sql: &str, params: &[Value]) -> Result<(), SqlError> {
    let id = s.prepare(sql.as_bytes())?.id;
    let mut nobody = Collector::new();
    let done = s.execute_prepared(id, params, &mut nobody).await;
    s.close_prepared(id);
    done
}

/// Makes the tables where they are missing.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn make_tables(s: &mut Session) -> Result<(), SqlError> {
    for sql in MAKE {
        s.query(sql).await?;
    }
    grow(s).await
}

/// The first column of the only row of a result.
async fn ask(s: &mut Session, sql: &str) -> Result<Option<String>, SqlError> {
    let answer = s.query(sql).await?;
    Ok(answer.first().and_then(|r| cell(r, 0, 0)))
}

async fn grow(s: &mut Session) -> Result<(), SqlError> {
    let known = ask(
        s,
        "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'mysql' AND table_name = 'replica_source' \
         AND column_name = 'channel_name'",
    )
    .await?;
    if known.as_deref() == Some("0") {
        s.query(GROW).await?;
    }
    Ok(())
}

/// Writes source and place of a channel, all or nothing.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn write(
    s: &mut Session,
    channel: &str,
    source: &Source,
    place: &Place,
) -> Result<(), SqlError> {
    s.begin_applied();
    let done = write_rows(s, channel, source, place).await;
    match done {
        Ok(()) => s.commit_applied().await,
        Err(e) => {
            s.rollback_applied().await?;
            Err(e)
        }
    }
}

async fn write_rows(
    s: &mut Session,
    channel: &str,
    source: &Source,
    place: &Place,
) -> Result<(), SqlError> {
    for (name, value) in source.to_rows() {
        let sql = "REPLACE INTO mysql.replica_source (channel_name, name, value) VALUES (?, ?, ?)";
        run(s, sql, &[text(channel), text(name), text(&value)]).await?;
    }
    let sql = "REPLACE INTO mysql.replica_applier_position (source_log_file, source_log_pos, gtid_executed, \
               mariadb_gtid_pos, unfinished_definition, channel_name) VALUES (?, ?, ?, ?, ?, ?)";
    run(s, sql, &values_of(channel, place)).await
}

/// The place's values, and the channel behind them.
fn values_of(channel: &str, place: &Place) -> Vec<Value> {
    let mut all = values(place);
    all.push(text(channel));
    all
}

/// Forgets both, of a channel or of all.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn forget(s: &mut Session, channel: Option<&str>) -> Result<(), SqlError> {
    s.begin_applied();
    let done = forget_rows(s, channel).await;
    match done {
        Ok(()) => s.commit_applied().await,
        Err(e) => {
            s.rollback_applied().await?;
            Err(e)
        }
    }
}

async fn forget_rows(s: &mut Session, channel: Option<&str>) -> Result<(), SqlError> {
    let (of, params) = match channel {
        Some(name) => (" WHERE channel_name = ?", vec![text(name)]),
        None => ("", Vec::new()),
    };
    for table in ["replica_source", "replica_applier_position"] {
        run(s, &format!("DELETE FROM mysql.{table}{of}"), &params).await?;
    }
    Ok(())
}

/// What is kept, in the order of the channels' names: of those for which a source was named.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn read(s: &mut Session) -> Result<Vec<Kept>, SqlError> {
    let there = ask(
        s,
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'mysql' AND table_name IN \
         ('replica_source', 'replica_applier_position')",
    );
    if there.await?.as_deref() != Some("2") {
        return Ok(Vec::new());
    }
    grow(s).await?;
    let rows = s
        .query("SELECT channel_name, name, value FROM mysql.replica_source")
        .await?;
    let mut sources: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for r in &rows {
        for i in 0..r.rows.len() {
            let (Some(channel), Some(name)) = (cell(r, i, 0), cell(r, i, 1)) else {
                continue;
            };
            let value = cell(r, i, 2).unwrap_or_default();
            sources.entry(channel).or_default().push((name, value));
        }
    }
    let mut kept = Vec::with_capacity(sources.len());
    for (channel, rows) in sources {
        let place = read_place(s, &channel).await?.unwrap_or_else(Place::start);
        kept.push((channel, Source::from_rows(&rows), place));
    }
    Ok(kept)
}

/// How far a channel has come; `None`: nothing is kept of it.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn read_place(s: &mut Session, channel: &str) -> Result<Option<Place>, SqlError> {
    let sql = "SELECT source_log_file, source_log_pos, gtid_executed, mariadb_gtid_pos, unfinished_definition \
               FROM mysql.replica_applier_position WHERE channel_name = ?";
    let id = s.prepare(sql.as_bytes())?.id;
    let mut found = Collector::new();
    let done = s.execute_prepared(id, &[text(channel)], &mut found).await;
    s.close_prepared(id);
    done?;
    let Some(r) = found.results.first().filter(|r| !r.rows.is_empty()) else {
        return Ok(None);
    };
    let value = |c| cell(r, 0, c).unwrap_or_default();
    let mut place = Place::start();
    place.log.file = value(0);
    place.log.position = value(1).parse().unwrap_or(super::place::FIRST);
    place.gtids = GtidSet::parse(&value(2)).unwrap_or_default();
    place.maria = maria_position(&value(3));
    place.unfinished = value(4).parse().ok();
    Ok(Some(place))
}

/// Writes a channel's place in the transaction that is open, or in one of its own.
pub(super) struct PlaceWriter {
    statement: u32,
    channel: String,
}

impl PlaceWriter {
    /// Of a session.
    ///
    /// # Errors
    /// What preparing the statement fails with.
    pub fn new(s: &mut Session, channel: &str) -> Result<PlaceWriter, SqlError> {
        let sql = "UPDATE mysql.replica_applier_position SET source_log_file = ?, source_log_pos = ?, gtid_executed = ?, \
                   mariadb_gtid_pos = ?, unfinished_definition = ? WHERE channel_name = ?";
        Ok(PlaceWriter {
            statement: s.prepare(sql.as_bytes())?.id,
            channel: channel.to_owned(),
        })
    }

    /// Writes it.
    ///
    /// # Errors
    /// What the engine fails with.
    pub async fn write(&self, s: &mut Session, place: &Place) -> Result<(), SqlError> {
        let mut nobody = Collector::new();
        let values = values_of(&self.channel, place);
        s.execute_prepared(self.statement, &values, &mut nobody)
            .await
    }
}
