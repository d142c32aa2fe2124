//! The last deadlock, for SHOW ENGINE INNODB STATUS, and all of them for the error log where `innodb_print_all_deadlocks` asks for that.
//!
//! What the transactions were doing is noted while they wait still; words are made of it when somebody wants to read them.

use std::fmt::Write as _;
use std::sync::Arc;

use base::lock::Mutex;
use engine::Catalog;
use engine::lock::{Deadlock, LockFact};

use super::lock_names::LockNames;
use super::transactions::TransactionRow;
use types::temporal::Zone;

/// Who is told of the reports that go to the error log.
pub type ReportListener = Arc<dyn Fn(&str) + Send + Sync>;

/// A deadlock, and who was in it.
pub(crate) struct Report {
    /// When it was found.
    pub at_us: i64,
    /// What it was made of.
    pub deadlock: Deadlock,
    /// By the deadlock's members; none of a transaction without a connection.
    pub members: Vec<Option<TransactionRow>>,
}

/// Deadlocks as they are reported.
#[derive(Default)]
pub(crate) struct Deadlocks {
    /// The last one.
    pub last: Mutex<Option<Arc<Report>>>,
    /// Who is told of all.
    pub listener: Mutex<Option<ReportListener>>,
}

/// A moment as reports have it.
pub(crate) fn moment_text(us: i64, zone: Zone) -> String {
    let second = zone.local(us - us.rem_euclid(1_000_000));
    second.map_or_else(String::new, |t| t.with_fsp(0).to_string())
}

impl Report {
    /// In words, with times of this zone.
    pub(crate) fn text(&self, catalog: &Catalog, zone: Zone) -> String {
        let mut names = LockNames::new(catalog);
        let mut out = format!("{}\n", moment_text(self.at_us, zone));
        for (i, m) in self.deadlock.members.iter().enumerate() {
            let n = i + 1;
            let _ = write!(out, "\n*** ({n}) TRANSACTION:\n");
            match &self.members[i] {
                Some(t) => out.push_str(&transaction_text(t, self.at_us)),
                None => {
                    let _ = writeln!(out, "TRANSACTION {}, of no connection", m.txid.0);
                }
            }
            let _ = write!(out, "\n*** ({n}) HOLDS THE LOCK(S):\n");
            out.push_str(&lock_text(m.holds.as_ref(), &mut names));
            let _ = write!(out, "\n*** ({n}) WAITING FOR THIS LOCK TO BE GRANTED:\n");
            out.push_str(&lock_text(m.waits.as_ref(), &mut names));
        }
        let victim = self.deadlock.victim + 1;
        let _ = writeln!(out, "\n*** WE ROLL BACK TRANSACTION ({victim})");
        out
    }
}

/// A transaction as reports have it.
pub(crate) fn transaction_text(t: &TransactionRow, now_us: i64) -> String {
    let seconds = now_us.saturating_sub(t.begun_us).max(0) / 1_000_000;
    let (locks, bytes) = t.locks;
    let p = &t.process;
    let state = match t.prepared {
        true => "ACTIVE (PREPARED)",
        false => "ACTIVE",
    };
    let mut out = format!("TRANSACTION {}, {state} {seconds} sec\n", t.number());
    let _ = writeln!(
        out,
        "{locks} lock struct(s), heap size {bytes}, {locks} row lock(s), undo log entries {}",
        t.changes
    );
    if !t.prepared {
        let _ = writeln!(
            out,
            "MySQL thread id {}, {} {} {}",
            p.id, p.host, p.user, p.state
        );
    }
    if let Some(text) = t.statement() {
        let _ = writeln!(out, "{text}");
    }
    out
}

/// A lock as reports have it.
pub(crate) fn lock_text(lock: Option<&LockFact>, names: &mut LockNames<'_>) -> String {
    let Some(lock) = lock else {
        return "(only its place in the queue)\n".to_owned();
    };
    let n = names.of(lock);
    let table = match &n.table {
        Some(t) => format!("`{}`.`{}`", t.def.schema, t.def.name),
        None => "(gone)".to_owned(),
    };
    let waiting = match lock.waits_since_us {
        Some(_) => " waiting",
        None => "",
    };
    let trx = lock.owner.0;
    match n.index {
        Some(index) => format!(
            "RECORD LOCKS index {index} of table {table} trx id {trx} lock_mode {}{waiting}\n key: {}\n",
            n.mode,
            n.data.unwrap_or_default()
        ),
        None => format!(
            "TABLE LOCK table {table} trx id {trx} lock mode {}{waiting}\n",
            n.mode
        ),
    }
}
