//! A client: transactions of random statements, each checked against the model as far as its isolation level promises.

mod covered;
mod ddl;
mod prepared;
mod read;
mod relatives;
mod write;

pub use prepared::{end_all, recovered};
pub use read::difference;

use crate::context::{Context, Guard, Trouble, impatient, pause};
use crate::events;
use crate::model::{Life, Seq, Write};
use crate::shape::{Row, SCHEMA, is_relative};
use base::SplitMix64;
use engine::{Interrupt, Isolation, Session, Table};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A table as a transaction holds it.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) t: Arc<Table>,
    pub(crate) life: Life,
}

/// An open transaction.
pub(crate) struct Tx {
    pub(crate) isolation: Isolation,
    /// Its own writes, oldest first.
    pub(crate) writes: Vec<Write>,
    savepoints: Vec<(String, usize)>,
    /// Between which points of the order its snapshot lies, if it has one.
    pub(crate) snapshot: Option<(Seq, Seq)>,
    tables: BTreeMap<String, Held>,
    /// Writes when the statement began.
    mark: usize,
}

impl Tx {
    /// What the transaction itself made of a row.
    pub(crate) fn own(&self, life: Life, id: i64) -> Option<&Option<Arc<Row>>> {
        let w = self.writes.iter().rev();
        w.filter(|(l, i, _)| *l == life && *i == id)
            .map(|w| &w.2)
            .next()
    }
}

/// A client.
pub struct Client {
    pub(crate) cx: Arc<Context>,
    pub(crate) rng: SplitMix64,
    pub(crate) number: u64,
    /// The definition change under way is to be killed, after so many polls.
    kill: Option<(Arc<Interrupt>, u64)>,
}

impl Client {
    /// A client with its own chance.
    pub fn new(cx: Arc<Context>, number: u64, rng: SplitMix64) -> Client {
        Client {
            cx,
            rng,
            number,
            kill: None,
        }
    }

    fn session(&self) -> Session {
        let mut s = self.cx.engine.session();
        s.set_lock_wait_timeout(3);
        s.set_table_wait_timeout(3);
        s
    }

    /// Makes the schema, and some tables if there are none.
    pub async fn prepare(mut self) -> Result<(), Trouble> {
        let mut s = self.session();
        if self.cx.engine.catalog().schema(SCHEMA).is_none() {
            let def = engine::SchemaDef {
                name: SCHEMA.into(),
                collation: types::CollationId::DEFAULT,
            };
            s.create_schema(def).await?;
        }
        let want = self.rng.within(1, 3);
        if self.cx.plan.relatives {
            self.make_relatives(&mut s).await?;
        }
        for _ in 0..8 {
            if self.cx.model().names.len() as u64 >= want {
                break;
            }
            match self.change_definitions(&mut s).await {
                // A prepared transaction may hold the table, for longer than anybody waits.
                Err(Trouble::Sql(e)) if e.code == 1205 => s.rollback().await?,
                r => r?,
            }
        }
        Ok(())
    }

    /// Works until its transactions are done or it shall stop.
    pub async fn run(mut self) {
        let mut s = self.session();
        for _ in 0..self.cx.plan.txns {
            if self.cx.stopping() {
                break;
            }
            pause().await;
            let r = if self.cx.plan.ddl > 0 && self.rng.one_in(self.cx.plan.ddl) {
                self.cx.ddl.fetch_add(1, Ordering::Relaxed);
                let r = self.change_definitions(&mut s).await;
                self.cx.ddl.fetch_sub(1, Ordering::Relaxed);
                r
            } else if self.rng.one_in(25) {
                // It goes away at some await.
                let polls = self.rng.log_up_to(60);
                match impatient(self.transaction(&mut s), polls).await {
                    Some(r) => r,
                    None => Err(Trouble::Left),
                }
            } else {
                self.transaction(&mut s).await
            };
            self.cx.unguard(self.number);
            match r {
                Ok(()) => {}
                Err(Trouble::Wrong(w)) => {
                    self.cx.fail(format!("client {}: {w}", self.number));
                    return;
                }
                Err(Trouble::Left) => {
                    self.cx.count("clients gone away");
                    s = self.session();
                }
                Err(Trouble::Sql(e)) => {
                    if !self.cx.expected(&e) {
                        self.cx
                            .fail(format!("client {}: unexpected {e:?}", self.number));
                        return;
                    }
                    match e.code {
                        1205 => self.cx.count("lock timeouts"),
                        1213 => self.cx.count("deadlocks and write conflicts"),
                        1021 | 1114 => self.cx.count("statements refused by a full disk"),
                        _ => self.cx.count("other errors"),
                    }
                    if s.rollback().await.is_err() {
                        // The log is closed. The session would try again when it is dropped, in vain.
                        return;
                    }
                }
            }
        }
    }

    async fn transaction(&mut self, s: &mut Session) -> Result<(), Trouble> {
        if self.cx.plan.prepares && self.rng.one_in(3) {
            self.end_some_prepared().await?;
        }
        let isolation = match self.rng.below(20) {
            0 => Isolation::ReadUncommitted,
            1..6 => Isolation::ReadCommitted,
            6..9 => Isolation::Serializable,
            9..15 => Isolation::RepeatableRead,
            _ => Isolation::Snapshot,
        };
        let explicit = !self.rng.one_in(6);
        if explicit {
            s.begin(isolation, false);
        }
        let mut tx = Tx {
            isolation,
            writes: Vec::new(),
            savepoints: Vec::new(),
            snapshot: None,
            tables: BTreeMap::new(),
            mark: 0,
        };
        let giant = self.cx.plan.giant;
        let statements = if giant > 0 && explicit && self.number == 1 && self.rng.one_in(giant) {
            self.cx.count("giant transactions");
            self.rng.within(200, 800)
        } else if !explicit {
            1
        } else if self.rng.one_in(12) {
            self.rng.within(20, 80)
        } else {
            self.rng.within(1, 8)
        };
        for _ in 0..statements {
            if self.rng.one_in(2) {
                pause().await;
            }
            self.statement(s, &mut tx, isolation, explicit).await?;
        }
        if self.rng.one_in(8) {
            s.rollback().await?;
            self.cx.count("rollbacks");
            return Ok(());
        }
        // Not beside a definition change: a rebuild that has noted its rows goes round until it has ended, and a client may have left it.
        let alone = self.cx.ddl.load(Ordering::Relaxed) == 0;
        if self.cx.plan.prepares && alone && explicit && self.rng.one_in(6) {
            return self.prepare_transaction(s, tx).await;
        }
        self.commit(s, tx).await
    }

    async fn commit(&mut self, s: &mut Session, tx: Tx) -> Result<(), Trouble> {
        let mut point = None;
        let cx = self.cx.clone();
        let (number, mut writes) = (self.number, Some(tx.writes));
        let some = writes.as_ref().is_some_and(|w| !w.is_empty());
        if !some {
            // It gives up what it guarded as soon as it ends, and waits then for the log.
            cx.unguard(number);
        }
        cx.committing.fetch_add(1, Ordering::Relaxed);
        let leave = CommitEnds(cx.clone());
        let r = cx
            .at_commit(false, s.commit(), || {
                // What it guarded it gives up at this point.
                cx.unguard(number);
                point = Some(cx.commit_point(number, writes.take().unwrap_or_default()));
            })
            .await;
        drop(leave);
        r?;
        match point {
            Some(seq) => self.cx.acknowledged(seq, false),
            None if some && !self.cx.disk.is_dead() => {
                return Err(Trouble::Wrong(
                    "a commit was acknowledged and never took place".into(),
                ));
            }
            None => {}
        }
        Ok(())
    }

    async fn statement(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        isolation: Isolation,
        explicit: bool,
    ) -> Result<(), Trouble> {
        s.statement_begin(isolation);
        if isolation <= Isolation::ReadCommitted {
            tx.snapshot = None;
        }
        tx.mark = tx.writes.len();
        if explicit {
            match self.rng.below(30) {
                0 | 1 => {
                    let name = format!("p{}", self.rng.below(3));
                    s.savepoint(&name);
                    tx.savepoints.retain(|p| p.0 != name);
                    tx.savepoints.push((name, tx.writes.len()));
                    return Ok(());
                }
                2 if !tx.savepoints.is_empty() => {
                    let i = self.rng.below(tx.savepoints.len() as u64) as usize;
                    let (name, n) = tx.savepoints[i].clone();
                    s.rollback_to(&name).await?;
                    tx.savepoints.truncate(i + 1);
                    tx.writes.truncate(n);
                    self.cx.count("partial rollbacks");
                    return Ok(());
                }
                3 if Self::has_snapshot(tx) && tx.snapshot.is_none() => {
                    let now = self.cx.model().seq;
                    tx.snapshot = Some((now, now));
                    s.open_snapshot();
                    return Ok(());
                }
                _ => {}
            }
        }
        if self.cx.plan.relatives && self.rng.one_in(3) {
            let r = self.relatives(s, tx).await;
            return self.ended(s, tx, explicit, r).await;
        }
        let Some(held) = self.table(s, tx).await? else {
            return Ok(());
        };
        let r = match self.rng.below(100) {
            0..14 => self.point_read(s, tx, &held).await,
            14..24 => self.range_read(s, tx, &held).await,
            24..30 => self.locking_read(s, tx, &held).await,
            30..34 => self.locking_range(s, tx, &held).await,
            34..66 => self.insert(s, tx, &held).await,
            66..84 => self.update(s, tx, &held).await,
            84..89 => self.update_range(s, tx, &held).await,
            _ => self.delete(s, tx, &held).await,
        };
        self.ended(s, tx, explicit, r).await
    }

    /// A statement has ended so.
    async fn ended(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        explicit: bool,
        r: Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        if r.is_ok() && self.cx.plan.events {
            events::said(s, &tx.writes[tx.mark..]).await?;
        }
        match r {
            // A statement that fails is undone by itself; after a deadlock or a conflict the transaction is over.
            Err(Trouble::Sql(e))
                if matches!(e.code, 1205 | 1114 | 1021) && self.rng.one_in(2) && explicit =>
            {
                s.statement_rollback().await?;
                tx.writes.truncate(tx.mark);
                self.cx.count("statements undone");
                Ok(())
            }
            Ok(()) if self.rng.one_in(40) && tx.writes.len() > tx.mark => {
                s.statement_rollback().await?;
                tx.writes.truncate(tx.mark);
                self.cx.count("statements undone");
                Ok(())
            }
            r => r,
        }
    }

    /// Opens one of the tables; none if there is none.
    async fn table(&mut self, s: &mut Session, tx: &mut Tx) -> Result<Option<Held>, Trouble> {
        let mut names: Vec<String> = self.cx.model().names.keys().cloned().collect();
        names.retain(|n| !is_relative(n));
        if names.is_empty() {
            return Ok(None);
        }
        let name = names[self.rng.below(names.len() as u64) as usize].clone();
        self.held(s, tx, name).await.map(Some)
    }

    /// Opens a table.
    async fn held(&mut self, s: &mut Session, tx: &mut Tx, name: String) -> Result<Held, Trouble> {
        if let Some(h) = tx.tables.get(&name) {
            return Ok(h.clone());
        }
        let t = s.open_table(SCHEMA, &name).await?;
        let m = self.cx.model();
        let Some((life, extras)) = m.names.get(&name) else {
            drop(m);
            return Err(Trouble::Wrong(format!("{name} was opened, and is dropped")));
        };
        let have: Vec<&str> = t.def.indexes[1..].iter().map(|x| &*x.name).collect();
        if !m.has_indexes(&name, *life, &have) {
            let want: Vec<&str> = extras.iter().map(|x| x.name()).collect();
            return Err(Trouble::Wrong(format!(
                "{name} has indexes {have:?} instead of {want:?}"
            )));
        }
        let held = Held { t, life: *life };
        drop(m);
        tx.tables.insert(name, held.clone());
        Ok(held)
    }

    pub(crate) fn guard(&self, tx: &Tx, g: Guard) {
        if Self::guards(tx) {
            self.cx.guard(self.number, g);
        }
    }

    pub(crate) fn id(&mut self) -> i64 {
        self.rng.below(self.cx.plan.ids as u64) as i64
    }

    pub(crate) fn new_row(&mut self, id: i64) -> Row {
        let tag = self.cx.model().tag();
        let p = &self.cx.plan;
        Row {
            id,
            k: self.rng.below(p.ks as u64) as i64,
            u: (!self.rng.one_in(4)).then(|| self.rng.below(4 * p.ids as u64) as i64),
            tag,
            pad: self.rng.below(p.pad + 1) as u32,
            long: (p.long > 0 && self.rng.one_in(3)).then(|| self.rng.log_up_to(p.long) as u32),
        }
    }
}

struct CommitEnds(Arc<Context>);

impl Drop for CommitEnds {
    fn drop(&mut self) {
        self.0.committing.fetch_sub(1, Ordering::Relaxed);
    }
}
