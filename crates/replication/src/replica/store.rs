//! What a replica keeps in tables: where its source is (`mysql.replica_source`), and how far it has come
//! (`mysql.replica_applier_position`). The tables are made when a source is first named. Whoever applies a transaction writes the place
//! behind it in the same transaction.

use sql::Session;
use sql::sink::{Collected, Collector};
use types::gtid::GtidSet;
use types::{CollationId, SqlError, Value};

use super::place::{Place, maria_position, maria_text};
use super::source::Source;

const MAKE: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS mysql.replica_source (name VARCHAR(64) CHARACTER SET ascii PRIMARY KEY, value LONGTEXT) \
     DEFAULT CHARSET=utf8mb4 COMMENT='The source of replication'",
    "CREATE TABLE IF NOT EXISTS mysql.replica_applier_position (channel_name VARCHAR(64) PRIMARY KEY, \
     source_log_file VARCHAR(512) NOT NULL, source_log_pos BIGINT UNSIGNED NOT NULL, gtid_executed LONGTEXT NOT NULL, \
     mariadb_gtid_pos LONGTEXT NOT NULL, unfinished_definition BIGINT UNSIGNED NULL) \
     DEFAULT CHARSET=utf8mb4 COMMENT='How far the transactions of the source are applied'",
];

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
    Ok(())
}

/// Writes source and place, all or nothing.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn write(s: &mut Session, source: &Source, place: &Place) -> Result<(), SqlError> {
    s.begin_applied();
    let done = write_rows(s, source, place).await;
    match done {
        Ok(()) => s.commit_applied().await,
        Err(e) => {
            s.rollback_applied().await?;
            Err(e)
        }
    }
}

async fn write_rows(s: &mut Session, source: &Source, place: &Place) -> Result<(), SqlError> {
    for (name, value) in source.to_rows() {
        let sql = "REPLACE INTO mysql.replica_source (name, value) VALUES (?, ?)";
        run(s, sql, &[text(name), text(&value)]).await?;
    }
    let sql = "REPLACE INTO mysql.replica_applier_position (channel_name, source_log_file, source_log_pos, gtid_executed, \
               mariadb_gtid_pos, unfinished_definition) VALUES ('', ?, ?, ?, ?, ?)";
    run(s, sql, &values(place)).await
}

/// Forgets both.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn forget(s: &mut Session) -> Result<(), SqlError> {
    s.query("DELETE FROM mysql.replica_source").await?;
    s.query("DELETE FROM mysql.replica_applier_position")
        .await?;
    Ok(())
}

/// What is kept; `None` where no source was ever named.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn read(s: &mut Session) -> Result<Option<(Source, Place)>, SqlError> {
    let there = s.query(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'mysql' AND table_name IN \
         ('replica_source', 'replica_applier_position')",
    ).await?;
    if there.first().and_then(|r| cell(r, 0, 0)).as_deref() != Some("2") {
        return Ok(None);
    }
    let rows = s
        .query("SELECT name, value FROM mysql.replica_source")
        .await?;
    let rows = rows.first().map(|r| {
        let one = |i| Some((cell(r, i, 0)?, cell(r, i, 1).unwrap_or_default()));
        (0..r.rows.len()).filter_map(one).collect::<Vec<_>>()
    });
    let rows = rows.unwrap_or_default();
    if rows.is_empty() {
        return Ok(None);
    }
    let found = s.query(
        "SELECT source_log_file, source_log_pos, gtid_executed, mariadb_gtid_pos, unfinished_definition \
         FROM mysql.replica_applier_position WHERE channel_name = ''",
    ).await?;
    let mut place = Place::start();
    if let Some(r) = found.first().filter(|r| !r.rows.is_empty()) {
        let value = |c| cell(r, 0, c).unwrap_or_default();
        place.log.file = value(0);
        place.log.position = value(1).parse().unwrap_or(super::place::FIRST);
        place.gtids = GtidSet::parse(&value(2)).unwrap_or_default();
        place.maria = maria_position(&value(3));
        place.unfinished = value(4).parse().ok();
    }
    Ok(Some((Source::from_rows(&rows), place)))
}

/// Writes the place in the transaction that is open, or in one of its own.
pub(super) struct PlaceWriter {
    statement: u32,
}

impl PlaceWriter {
    /// Of a session.
    ///
    /// # Errors
    /// What preparing the statement fails with.
    pub fn new(s: &mut Session) -> Result<PlaceWriter, SqlError> {
        let sql = "UPDATE mysql.replica_applier_position SET source_log_file = ?, source_log_pos = ?, gtid_executed = ?, \
                   mariadb_gtid_pos = ?, unfinished_definition = ? WHERE channel_name = ''";
        let statement = s.prepare(sql.as_bytes())?.id;
        Ok(PlaceWriter { statement })
    }

    /// Writes it.
    ///
    /// # Errors
    /// What the engine fails with.
    pub async fn write(&self, s: &mut Session, place: &Place) -> Result<(), SqlError> {
        let mut nobody = Collector::new();
        s.execute_prepared(self.statement, &values(place), &mut nobody)
            .await
    }
}
