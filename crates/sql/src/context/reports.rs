//! What a server tells of its transactions, of deadlocks and of its part as a replica: gathered from whoever knows it, never decided here.

use std::sync::{Arc, Weak};

use base::TxnId;
use engine::lock::{Afterwards, Deadlock};
use types::SqlError;

use super::deadlocks::{Report, ReportListener};
use super::host::Host;
use super::instance::Instance;
use super::persisted::PersistedStore;
use super::replica::{Applies, FilterFacts, Replica, ReplicaFacts};
use super::transactions::TransactionRow;
use crate::persisted::PersistedValue;
use sql_exec::HasApplier;
use types::temporal::Zone;

impl Instance {
    /// The open transactions of all connections, by connection.
    pub(crate) fn transactions(&self) -> Vec<TransactionRow> {
        self.transactions_where(|_| true)
    }

    /// Those of them whose numbers are wanted.
    pub(crate) fn transactions_where(
        &self,
        wanted: impl Fn(Option<TxnId>) -> bool,
    ) -> Vec<TransactionRow> {
        let (now, wall) = (self.now_us(), self.wall_us());
        let open = self.processes.all().into_iter().filter_map(|p| {
            let standing = &p.interrupt().standing;
            let (txid, begun) = (p.interrupt().txid(), standing.begun_us());
            if txid.is_none() && begun.is_none() || !wanted(txid) {
                return None;
            }
            let process = p.row(now);
            Some(TransactionRow {
                txid,
                begun_us: begun.unwrap_or(wall - process.seconds as i64 * 1_000_000),
                process,
                isolation: standing.isolation(),
                read_only: standing.is_read_only(),
                changes: standing.changes(),
                prepared: false,
                locks: txid.map_or((0, 0), |t| self.engine.locks().figures_of(t)),
            })
        });
        let mut all: Vec<TransactionRow> = open.collect();
        let prepared = self.engine.prepared_now().into_iter();
        all.extend(prepared.filter(|p| wanted(Some(p.txid))).map(|p| {
            let locks = self.engine.locks().figures_of(p.txid);
            TransactionRow::prepared(p, locks)
        }));
        all
    }

    /// The program around it. At the start; the first that comes stays.
    pub fn runs_in(&self, host: Arc<dyn Host>) {
        let _first = self.host.set(host);
    }

    /// The program around it, if there is one.
    pub(crate) fn host(&self) -> Option<&dyn Host> {
        self.host.get().map(|h| &**h)
    }

    /// From now on SET PERSIST keeps values there; before, it is refused.
    pub fn keep_persisted(&self, store: PersistedStore) {
        // There is one file: who comes second has the same.
        let _ = self.persisted.set(store);
    }

    /// The values for the next start, by name.
    pub(crate) fn persisted_values(&self) -> Vec<PersistedValue> {
        self.persisted.get().map_or_else(Vec::new, |p| p.list())
    }

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
                let zone = instance.options.system_zone;
                let text = report.text(&instance.engine.catalog(), zone);
                tell(&format!(
                    "Transactions deadlock detected, dumping detailed information.\n{text}"
                ));
            }
        }))
    }

    /// The last deadlock as text, with times of this zone.
    pub(crate) fn last_deadlock(&self, zone: Zone) -> Option<String> {
        let last = self.deadlocks.last.lock().clone()?;
        Some(last.text(&self.engine.catalog(), zone))
    }

    /// From now on statements about a replica are carried out. The first call counts.
    pub fn on_replica(&self, replica: &Arc<dyn Replica>) {
        // It has the instance, which must not have it as well: neither would ever go.
        let _second = self.replica.set(Arc::downgrade(replica));
    }

    /// What carries them out.
    ///
    /// # Errors
    /// 1235: nothing does, as in an embedded database.
    pub(crate) fn replica(&self) -> Result<Arc<dyn Replica>, SqlError> {
        let it = self.replica.get().and_then(Weak::upgrade);
        it.ok_or_else(|| SqlError::not_supported("replication"))
    }

    /// What there is to show of its channels.
    pub(crate) fn replica_facts(&self) -> Vec<ReplicaFacts> {
        let it = self.replica.get().and_then(Weak::upgrade);
        it.map(|r| r.channels()).unwrap_or_default()
    }

    /// Whether there is a channel of this name, where one is named.
    ///
    /// # Errors
    /// 3074: there is not.
    pub(crate) fn check_channel(&self, channel: Option<&str>) -> Result<(), SqlError> {
        let Some(name) = channel.filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        let it = self.replica.get().and_then(Weak::upgrade);
        match it.is_some_and(|r| r.has_channel(name)) {
            true => Ok(()),
            false => Err(SqlError::no_such_channel(name)),
        }
    }

    /// The filters that its channels begin with.
    pub(crate) fn global_filters(&self) -> Vec<FilterFacts> {
        let it = self.replica.get().and_then(Weak::upgrade);
        it.map(|r| r.global_filters()).unwrap_or_default()
    }
}

impl HasApplier for Instance {
    fn applier(&self, channel: Option<&str>) -> Result<Option<Arc<dyn Applies>>, SqlError> {
        match self.replica.get().and_then(Weak::upgrade) {
            Some(replica) => replica.applier(channel),
            None => Ok(None),
        }
    }
}
