//! SHOW ENGINE INNODB STATUS: the engine's counters, who waits for what inside it, its last deadlock and the open transactions, as text.

use std::fmt::Write as _;
use std::time::Duration;

use types::SqlError;
use types::error::codes;

use crate::context::Session;
use crate::context::deadlocks::transaction_text;
use crate::describe::rowset::RowSet;
use types::temporal::Zone;

/// Bytes of the list of transactions, at most.
const LIST: usize = 512 << 10;

/// A wait inside the engine is shown when it has lasted so long.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
/// Waits that are shown, at most.
const WAITS: usize = 100;

/// SHOW ENGINE INNODB STATUS.
pub(super) fn engine_status(s: &mut Session, name: &str, topic: &str) -> Result<RowSet, SqlError> {
    if !name.eq_ignore_ascii_case("InnoDB") && !name.eq_ignore_ascii_case("ALL") {
        return Err(SqlError::new(
            codes::ER_UNKNOWN_STORAGE_ENGINE,
            format!("Unknown storage engine '{name}'"),
        ));
    }
    let mut r = RowSet::texts(&["Type", "Name", "Status"], &[10, 512, 1 << 20]);
    if topic != "STATUS" {
        return Ok(r);
    }
    let c = s.instance.engine.counters();
    let mut notices = s.instance.engine.notices().join("\n");
    if !notices.is_empty() {
        notices.push('\n');
    }
    let deadlock = last_deadlock(s);
    let transactions = transactions(s);
    let t = format!(
        "\n=====================================\nTIDEMILL ENGINE STATUS\n=====================================\n\
         ----------\nSEMAPHORES\n----------\n{}\
         ----------------\nROW OPERATIONS\n----------------\n\
         Number of rows inserted {}, updated {}, deleted {}, read {}\n\
         {}------------\nTRANSACTIONS\n------------\n\
         Commits {}, rollbacks {}, deadlocks {}, lock waits {}, lock timeouts {}\n\
         Purged entries {}, waiting for purge {}\n\
         Given up because of damage: rollbacks {}, purges {}\n{}\
         {} lock struct(s), heap size {}\n{}\
         ---\nLOG\n---\n\
         Log sequence number          {}\nLog flushed up to            {}\nCheckpoint age               {}\n\
         Log writes {}, log syncs {}, log records {}\n\
         ----------------------\nBUFFER POOL AND MEMORY\n----------------------\n\
         Buffer pool size   {}\nFree buffers       {}\nPages read {}, evicted {}, written {}\n\
         Checkpoints {}, data file syncs {}\n\
         ----------------------------\nEND OF ENGINE STATUS\n============================\n",
        semaphores(s),
        c.rows_inserted,
        c.rows_updated,
        c.rows_deleted,
        c.rows_read,
        deadlock,
        c.commits,
        c.rollbacks,
        c.deadlocks,
        c.row_lock_waits,
        c.lock_timeouts,
        c.purged_entries,
        c.purge_queue,
        c.failed_rollbacks,
        c.failed_purges,
        notices,
        c.locks,
        c.lock_bytes,
        transactions,
        c.log_end,
        c.log_durable,
        c.checkpoint_age,
        c.log_writes,
        c.log_syncs,
        c.log_records,
        c.pool_pages,
        c.pool_pages_free,
        c.pages_read,
        c.pages_evicted,
        c.pages_written,
        c.checkpoints,
        c.data_syncs,
    );
    r.push_texts(&["InnoDB", "", &t]);
    Ok(r)
}

/// The waits inside the engine that last, the longest first: the same words as in the server's log.
fn semaphores(s: &Session) -> String {
    let waits = s.instance.engine.long_waits(SHOWN_AFTER);
    let mut out = String::new();
    for w in waits.iter().take(WAITS) {
        let _ = writeln!(out, "--{w}");
    }
    if waits.len() > WAITS {
        let _ = writeln!(out, "... and {} more", waits.len() - WAITS);
    }
    out
}

/// The zone of the times shown.
fn zone(s: &Session) -> Zone {
    s.vars.hot().time_zone.zone(s.facts.system_zone)
}

/// The section of the last deadlock; none before the first.
fn last_deadlock(s: &Session) -> String {
    let line = "------------------------";
    match s.instance.last_deadlock(zone(s)) {
        Some(text) => format!("{line}\nLATEST DETECTED DEADLOCK\n{line}\n{text}"),
        None => String::new(),
    }
}

/// The open transactions of connections.
fn transactions(s: &Session) -> String {
    let now = s.instance.wall_us();
    let mut out = String::from("LIST OF TRANSACTIONS FOR EACH SESSION:\n");
    for t in s.instance.transactions() {
        if out.len() > LIST {
            out.push_str("... and more\n");
            break;
        }
        let _ = write!(out, "---{}", transaction_text(&t, now));
    }
    out
}
