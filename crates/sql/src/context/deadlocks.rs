//! The last deadlock, for SHOW ENGINE INNODB STATUS, and all of them for the error log where `innodb_print_all_deadlocks` asks for that.
//!
//! What the transactions were doing is noted while they wait still; words are made of it when somebody wants to read them.

use std::fmt::Write as _;
use std::sync::{Arc, Weak};

use base::lock::Mutex;
use engine::Catalog;
use engine::lock::{Afterwards, Deadlock, LockFact};
use types::DateTime;

use super::instance::Instance;
use super::lock_names::LockNames;
use super::transactions::TransactionRow;

/// Who is told of the reports that go to the error log.
pub type ReportListener = Arc<dyn Fn(&str) + Send + Sync>;

/// A deadlock, and who was in it.
struct Report {
    at_us: i64,
    deadlock: Deadlock,
    /// By the deadlock's members; none of a transaction without a connection.
    members: Vec<Option<TransactionRow>>,
}

/// Deadlocks as they are reported.
#[derive(Default)]
pub(crate) struct Deadlocks {
    last: Mutex<Option<Arc<Report>>>,
    listener: Mutex<Option<ReportListener>>,
}

impl Instance {
    /// From now on the engine tells of deadlocks.
    pub(crate) fn watch_deadlocks(self: &Arc<Self>) {
        let me = Arc::downgrade(self);
        let listener = move |d| me.upgrade()?.note_deadlock(d, &me);
        self.engine.locks().on_deadlock(Arc::new(listener));
    }

    /// From now on `listener` is told of each deadlock, if `innodb_print_all_deadlocks` is on.
    pub fn on_report(&self, listener: ReportListener) {
        *self.deadlocks.listener.lock() = Some(listener);
    }

    /// Notes a deadlock, while those in it wait still.
    fn note_deadlock(&self, deadlock: Deadlock, me: &Weak<Instance>) -> Option<Afterwards> {
        let in_it = |t| deadlock.members.iter().any(|m| m.txid == t);
        let mut all = self.transactions_where(|t| t.is_some_and(in_it));
        let members = deadlock.members.iter().map(|m| {
            let at = all.iter().position(|t| t.txid == Some(m.txid))?;
            Some(all.swap_remove(at))
        });
        let report = Arc::new(Report {
            at_us: self.wall_us(),
            members: members.collect(),
            deadlock: deadlock.clone(),
        });
        *self.deadlocks.last.lock() = Some(Arc::clone(&report));
        let print = self.globals.value_by_name("innodb_print_all_deadlocks");
        if print.is_none_or(|v| v.as_u64() == 0) {
            return None;
        }
        let me = me.clone();
        Some(Box::new(move || {
            let Some(instance) = me.upgrade() else { return };
            let listener = instance.deadlocks.listener.lock().clone();
            if let Some(tell) = listener {
                let offset = instance.options.system_offset;
                let text = report.text(&instance.engine.catalog(), offset);
                tell(&format!(
                    "Transactions deadlock detected, dumping detailed information.\n{text}"
                ));
            }
        }))
    }

    /// The last deadlock as text, with times at this offset from UTC in seconds.
    pub(crate) fn last_deadlock(&self, offset: i32) -> Option<String> {
        let last = self.deadlocks.last.lock().clone()?;
        Some(last.text(&self.engine.catalog(), offset))
    }
}

/// A moment as reports have it.
pub(crate) fn moment_text(us: i64, offset: i32) -> String {
    let local = us + i64::from(offset) * 1_000_000;
    let local = local - local.rem_euclid(1_000_000);
    DateTime::from_unix_micros(local, 0).map_or_else(String::new, |t| t.to_string())
}

impl Report {
    fn text(&self, catalog: &Catalog, offset: i32) -> String {
        let mut names = LockNames::new(catalog);
        let mut out = format!("{}\n", moment_text(self.at_us, offset));
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
    let mut out = format!("TRANSACTION {}, ACTIVE {seconds} sec\n", t.number());
    let _ = writeln!(
        out,
        "{locks} lock struct(s), heap size {bytes}, {locks} row lock(s), undo log entries {}",
        t.changes
    );
    let _ = writeln!(
        out,
        "MySQL thread id {}, {} {} {}",
        p.id, p.host, p.user, p.state
    );
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
