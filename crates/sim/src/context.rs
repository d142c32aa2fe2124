//! What the tasks of one incarnation share: the engine, the model, the plan, and where to say that something is wrong.

use crate::disk::{Counts, SimDisk};
use crate::model::{Life, Model, Write};
use crate::plan::Plan;
use crate::shape::Row;
use base::lock::{Mutex, MutexGuard};
use engine::Engine;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use types::SqlError;

/// What a transaction has read with locks that guard: nobody may change it before it ends.
#[derive(Clone, Debug)]
pub enum Guard {
    /// A row, or its absence.
    Id(Life, i64),
    /// Rows by id, both included.
    Ids(Life, i64, i64),
    /// Rows by k, both included.
    Ks(Life, i64, i64),
}

impl Guard {
    fn life(&self) -> Life {
        match self {
            Guard::Id(l, _) | Guard::Ids(l, ..) | Guard::Ks(l, ..) => *l,
        }
    }

    fn holds(&self, r: &Row) -> bool {
        match self {
            Guard::Id(_, id) => r.id == *id,
            Guard::Ids(_, a, b) => (*a..=*b).contains(&r.id),
            Guard::Ks(_, a, b) => (*a..=*b).contains(&r.k),
        }
    }
}

/// Shared by the tasks.
pub struct Context {
    /// The engine.
    pub engine: Arc<Engine>,
    /// The disk below it.
    pub disk: SimDisk,
    /// The history.
    pub model: Arc<Mutex<Model>>,
    /// What is done.
    pub plan: Plan,
    /// Clients shall come to an end.
    pub stop: AtomicBool,
    /// A definition change is under way.
    pub ddl: AtomicUsize,
    /// Transactions whose commit is under way.
    pub committing: AtomicUsize,
    wrong: Mutex<Vec<String>>,
    counts: Mutex<Counts>,
    guards: Mutex<BTreeMap<u64, Vec<Guard>>>,
}

/// Why a step of a client ended.
#[derive(Debug)]
pub enum Trouble {
    /// The engine said no.
    Sql(SqlError),
    /// The engine did what it must not.
    Wrong(String),
    /// The client lost patience.
    Left,
}

impl From<SqlError> for Trouble {
    fn from(e: SqlError) -> Trouble {
        Trouble::Sql(e)
    }
}

impl Context {
    /// For an engine that was opened.
    pub fn new(
        engine: Arc<Engine>,
        disk: SimDisk,
        model: Arc<Mutex<Model>>,
        plan: Plan,
    ) -> Context {
        Context {
            engine,
            disk,
            model,
            plan,
            stop: AtomicBool::new(false),
            ddl: AtomicUsize::new(0),
            committing: AtomicUsize::new(0),
            wrong: Mutex::default(),
            counts: Mutex::default(),
            guards: Mutex::default(),
        }
    }

    /// The history.
    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock()
    }

    /// Something is wrong.
    pub fn fail(&self, what: String) {
        if !self.disk.is_dead() {
            self.wrong.lock().push(what);
        }
    }

    /// What is wrong.
    pub fn failures(&self) -> Vec<String> {
        self.wrong.lock().clone()
    }

    /// Counts something.
    pub fn count(&self, what: &'static str) {
        *self.counts.lock().entry(what).or_default() += 1;
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.counts.lock().clone()
    }

    /// A transaction has read something with locks that guard.
    pub fn guard(&self, client: u64, g: Guard) {
        self.guards.lock().entry(client).or_default().push(g);
    }

    /// A transaction ends: it guards nothing any more.
    pub fn unguard(&self, client: u64) {
        self.guards.lock().remove(&client);
    }

    /// A transaction commits: the point in the order is now.
    pub fn commit_point(&self, client: u64, writes: Vec<Write>) -> u64 {
        let mut m = self.model();
        let guards = self.guards.lock();
        let before = m.seq;
        for (other, list) in guards.iter().filter(|(c, _)| **c != client) {
            for g in list {
                let hit = writes.iter().find(|(life, id, new)| {
                    *life == g.life()
                        && (new.as_ref().is_some_and(|r| g.holds(r))
                            || m.tables
                                .get(life)
                                .and_then(|t| t.row(*id, before))
                                .is_some_and(|r| g.holds(r)))
                });
                if let Some(w) = hit {
                    let s = format!(
                        "client {client} commits {w:?}, which client {other} has read with locks as {g:?}"
                    );
                    drop(guards);
                    drop(m);
                    self.fail(s);
                    return self.model().commit(writes);
                }
            }
        }
        drop(guards);
        let related = self.plan.relatives.then(|| writes.clone());
        let seq = m.commit(writes);
        let orphan = related.and_then(|w| m.orphan(&w, seq));
        drop(m);
        if let Some(o) = orphan {
            self.fail(format!("client {client} commits {o}"));
        }
        seq
    }

    /// A commit was acknowledged: `durable` whatever the setting says.
    pub fn acknowledged(&self, seq: u64, durable: bool) {
        if self.disk.is_dead() {
            return;
        }
        let mut m = self.model();
        if durable || self.plan.flush == 1 {
            m.durable = m.durable.max(seq);
        }
        if durable || self.plan.flush >= 1 {
            m.written = m.written.max(seq);
        }
        drop(m);
        self.count("commits acknowledged");
    }

    /// Runs `f`; `point` is called in the very poll in which its commit (`definition`: of a definition) takes its place in
    /// the order.
    pub async fn at_commit<T>(
        &self,
        definition: bool,
        f: impl Future<Output = T>,
        mut point: impl FnMut(),
    ) -> T {
        let mut f = pin!(f);
        let commits = || match self.engine.counters() {
            c if definition => c.definition_commits,
            c => c.commits,
        };
        poll_fn(|cx| {
            let before = commits();
            let r = f.as_mut().poll(cx);
            if commits() > before {
                point();
            }
            r
        })
        .await
    }

    /// Clients shall end.
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// An error that a client must be ready for.
    pub fn expected(&self, e: &SqlError) -> bool {
        let usual = matches!(e.code, 1205 | 1213 | 1412 | 1146 | 1317);
        let f = &self.plan.faults;
        let io = f.read_error > 0 || f.write_error > 0 || f.sync_error > 0;
        usual
            || (io && matches!(e.code, 1030 | 1180 | 1712))
            || (self.plan.small_room && matches!(e.code, 1021 | 1114 | 1030 | 1180))
            || self.disk.is_dead()
    }
}

/// Lets the scheduler choose anew.
pub async fn pause() {
    let mut asked = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut asked, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await
}

/// Polls at most so often, and then gives up.
pub async fn impatient<T>(f: impl Future<Output = T>, polls: u64) -> Option<T> {
    let mut f = pin!(f);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return std::task::Poll::Ready(None);
        }
        left -= 1;
        match f.as_mut().poll(cx) {
            std::task::Poll::Ready(v) => std::task::Poll::Ready(Some(v)),
            std::task::Poll::Pending if left == 0 => std::task::Poll::Ready(None),
            std::task::Poll::Pending => std::task::Poll::Pending,
        }
    })
    .await
}
