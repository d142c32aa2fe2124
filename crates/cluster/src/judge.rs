//! What must hold of the servers: while they work, when a replica is to take the source's place, and at rest.

use std::sync::Arc;

use base::lock::Mutex;
use sql::Session;
use sql::context::replica::{Receiving, Replica};
use types::SqlError;
use types::gtid::GtidSet;

use crate::client;
use crate::cluster::{Cluster, HOSTS};
use crate::model::{TxnOutcome, difference};
use crate::net::Host;
use crate::node::same_bytes;

/// No failure of a receiver, and those of a connection: it tries again.
const RETRIED: [u16; 3] = [0, 2003, 2013];

/// What was read, once it was.
type Rows = Arc<Mutex<Option<Result<Vec<String>, SqlError>>>>;

impl Cluster {
    pub fn has_applied(&self, host: Host) -> bool {
        let Some(up) = self.nodes[host].up() else {
            return false;
        };
        let Some(facts) = up.replica.facts() else {
            return false;
        };
        let retrieved = GtidSet::parse(&facts.retrieved_gtids).unwrap_or_default();
        let executed = up.log.log.feed().with(|v| v.executed.clone());
        facts.applier_failure.number != 0 || executed.contains(&retrieved)
    }

    /// As many replicas as were asked for have what was acknowledged.
    pub fn judge_acknowledged(&mut self, replicas: &[Host]) -> Result<(), String> {
        let mut lacking = 0;
        let mut last = Ok(());
        for host in replicas {
            let order = self.order(*host)?;
            if let Err(e) = self.model.lock().judge_tokens(&format!("s{host}"), &order) {
                lacking += 1;
                last = Err(e);
            }
        }
        match replicas.len() as u64 - lacking >= self.settings.wanted {
            true => Ok(()),
            false => last,
        }
    }

    /// All are there, and have the same; everything is compared.
    pub fn rest(&mut self) -> Result<(), String> {
        self.calm();
        self.all_up()?;
        for host in self.replicas() {
            self.must(host, "START REPLICA")?;
        }
        let wanted = self.executed(self.source)?;
        let replicas = self.replicas();
        self.until("replicas catch up", |c| {
            let has = |h: &Host| {
                let up = c.nodes[*h].up();
                up.is_some_and(|up| up.log.log.feed().with(|v| v.executed.contains(&wanted)))
            };
            replicas.iter().all(has) || c.judge_replicas().is_err()
        })?;
        self.judge_replicas()?;
        let order = self.order(self.source)?;
        let (seen, after) = {
            let mut m = self.model.lock();
            m.judge_tokens("the source", &order)?;
            let seen = m.judge_seen(&order)?;
            let sure = m
                .txs
                .values()
                .filter(|t| t.outcome == TxnOutcome::Acknowledged);
            let sure = sure.count() as u64;
            self.counts.insert("transactions acknowledged", sure);
            (seen as u64, m.after(&order))
        };
        self.count("snapshots of replicas compared", seen);
        self.count("comparisons at rest", 1);
        let others: Vec<String> = after
            .others
            .iter()
            .map(|(t, c)| format!("{t} {c}"))
            .collect();
        let rows = after.shown();
        for host in 0..HOSTS {
            let has = self.executed(host)?;
            if has != wanted {
                return Err(format!("s{host} has {has}, the source {wanted}"));
            }
            let its = self.order(host)?;
            if its != order {
                let at = its.iter().zip(&order).position(|(a, b)| a != b);
                let at = at.unwrap_or(its.len().min(order.len()));
                let (a, b) = (its.get(at), order.get(at));
                return Err(format!("the binary log of s{host}: {a:?} instead of {b:?}"));
            }
            self.judge_rows(host, &rows, &others)?;
            let up = self.nodes[host].up().ok_or("it is gone")?;
            let same = same_bytes(&up, &self.nodes[host].shown.lock());
            same.map_err(|e| format!("s{host}: {e}"))?;
        }
        self.count("transactions in binary logs", order.len() as u64);
        Ok(())
    }

    pub fn judge_rows(
        &mut self,
        host: Host,
        rows: &[String],
        others: &[String],
    ) -> Result<(), String> {
        let found = self.must(
            host,
            "SELECT CONCAT(table_name, ' ', table_comment) FROM information_schema.tables WHERE table_schema = 'd' \
             AND table_name LIKE 'x%' ORDER BY 1",
        )?;
        let found = found.iter().flat_map(|r| &r.rows);
        let found: Vec<String> = found
            .map(|r| types::convert::to_text(r[0].as_ref()))
            .collect();
        if found != others {
            return Err(format!(
                "s{host} has tables {found:?} instead of {others:?}"
            ));
        }
        let Some(up) = self.nodes[host].up() else {
            return Err("it is gone".to_owned());
        };
        let slot = Rows::default();
        let out = slot.clone();
        if let Some(life) = &self.nodes[host].life {
            life.exec.spawn("rows", async move {
                let instance = up.instance();
                let mut s = Session::of_the_server(instance, instance.next_connection_id());
                let r = client::read_all(&mut s).await;
                s.close().await;
                *out.lock() = Some(r);
            });
        }
        self.until("rows are read", |_| slot.lock().is_some())?;
        let there = match slot.lock().take() {
            Some(Ok(there)) => there,
            r => return Err(format!("s{host}: {r:?}")),
        };
        match there == rows {
            true => Ok(()),
            false => Err(format!("s{host} at rest: {}", difference(&there, rows))),
        }
    }

    pub fn judge_failures(&mut self) -> Result<(), String> {
        let lives = self.nodes[self.source].life.as_ref();
        // A client may be told before anybody else that there is no power.
        if lives.is_some_and(|l| !l.disk.is_dead())
            && let Some(f) = self.model.lock().failures.first()
        {
            return Err(f.clone());
        }
        Ok(())
    }

    /// No replica has stopped for an error.
    pub fn judge_replicas(&self) -> Result<(), String> {
        for host in self.replicas() {
            // Its parts may be told before anybody else that there is no power.
            let life = self.nodes[host].life.as_ref();
            if life.is_none_or(|l| l.disk.is_dead()) {
                continue;
            }
            let Some(facts) = self.nodes[host].up().and_then(|up| up.replica.facts()) else {
                continue;
            };
            if facts.applier_failure.number != 0 {
                let why = &facts.applier_failure.message;
                return Err(format!(
                    "s{host} applies no more: {why}; {}",
                    self.describe()
                ));
            }
            // Whoever cannot connect tries again, unless somebody has stopped it.
            let failure = &facts.receiver_failure;
            if facts.receiving == Receiving::No && !RETRIED.contains(&failure.number) {
                return Err(format!(
                    "s{host} receives no more: {} {}",
                    failure.number, failure.message
                ));
            }
        }
        Ok(())
    }
}
