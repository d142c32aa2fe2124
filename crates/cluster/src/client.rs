//! Clients of the source: transactions whose effects are known when they are done, whatever order they commit in. And those who look at replicas.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::environment::deadline;
use base::lock::Mutex;
use base::{Clock, SplitMix64};
use sim::time::Time;
use sql::sink::Collected;
use sql::{Instance, Session};
use types::gtid::GtidSet;
use types::{SqlError, Value};

use crate::model::{Effect, Key, Model, Row, Seen, TxnOutcome};

/// Tables that clients share, and one whose rows are each client's own, as it has no key.
const SHARED: [&str; 2] = ["a", "b"];
const OWN: &str = "c";
/// Rows of a table.
const ROWS: u64 = 12;

/// What makes the tables.
pub const TABLES: [&str; 5] = [
    "CREATE DATABASE d",
    "CREATE TABLE d.a (id INT PRIMARY KEY, v VARCHAR(40), n INT, big LONGTEXT, KEY (n))",
    "CREATE TABLE d.b (n INT, id INT, v VARCHAR(40), big TEXT, UNIQUE KEY (id))",
    "CREATE TABLE d.c (big TEXT, id INT, n INT, v VARCHAR(40))",
    "CREATE TABLE d.journal (token VARCHAR(40) PRIMARY KEY)",
];

/// What all clients of a server have.
#[derive(Clone)]
pub struct Shared {
    pub instance: Arc<Instance>,
    pub model: Arc<Mutex<Model>>,
    pub time: Arc<Time>,
}

/// The first value of a result as text.
pub fn text(results: &[Collected]) -> String {
    let value = results.last().and_then(|r| r.rows.first()?.first());
    match value {
        None | Some(Value::Null) => String::new(),
        Some(v) => types::convert::to_text(v.as_ref()),
    }
}

/// All rows of all tables, in order.
pub async fn read_all(s: &mut Session) -> Result<Vec<String>, SqlError> {
    let mut all = Vec::new();
    for table in ["a", "b", "c"] {
        let sql = format!(
            "SELECT CONCAT_WS('|', '{table}', id, v, n, LENGTH(big), LEFT(big, 1), RIGHT(big, 1)) FROM d.{table}"
        );
        rows_of(&s.query(&sql).await?, &mut all);
    }
    let sql = "SELECT CONCAT('journal|', token) FROM d.journal";
    rows_of(&s.query(sql).await?, &mut all);
    all.sort();
    Ok(all)
}

fn rows_of(results: &[Collected], all: &mut Vec<String>) {
    let rows = results.iter().flat_map(|r| &r.rows);
    all.extend(rows.map(|r| types::convert::to_text(r[0].as_ref())));
}

/// One client.
pub struct Client {
    shared: Shared,
    number: u64,
    rng: SplitMix64,
    definitions: bool,
}

/// How a transaction ends.
enum End {
    /// Its commit was asked for.
    Asked(Result<(), SqlError>),
    Undone,
}

impl Client {
    pub fn new(shared: Shared, number: u64, rng: SplitMix64, definitions: bool) -> Client {
        Client {
            shared,
            number,
            rng,
            definitions,
        }
    }

    /// So many transactions.
    pub async fn run(mut self, transactions: u64) {
        let instance = &self.shared.instance;
        let mut s = Session::of_the_server(instance, instance.next_connection_id());
        for _ in 0..transactions {
            if self.rng.one_in(3) {
                let time = self.shared.time.clone();
                deadline(&*time, time.now_us() + self.rng.log_up_to(300_000)).await;
            }
            let token = self.shared.model.lock().begin();
            let end = match self.definitions && self.rng.one_in(12) {
                true => self.definition(&mut s, &token).await,
                false => self.transaction(&mut s, &token).await,
            };
            let mut m = self.shared.model.lock();
            match end {
                Ok(End::Asked(Ok(()))) => m.set_outcome(&token, TxnOutcome::Acknowledged),
                // What became of it nobody knows.
                Ok(End::Asked(Err(_))) => {}
                Ok(End::Undone) => m.set_outcome(&token, TxnOutcome::Undone),
                Err(e) => m
                    .failures
                    .push(format!("{token}: {} {}", e.code, e.message)),
            }
        }
        s.close().await;
    }

    fn note(&self, token: &str, effect: Effect) {
        self.shared.model.lock().has(token, effect);
    }

    async fn definition(&mut self, s: &mut Session, token: &str) -> Result<End, SqlError> {
        let name = format!("x{}_{}", self.number, self.rng.below(2));
        let found = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd' AND table_name = '{name}'"
        );
        let there = text(&s.query(&found).await?) != "0";
        self.note(token, Effect::Table(name.clone()));
        self.shared
            .model
            .lock()
            .set_outcome(token, TxnOutcome::Asked);
        let sql = match there {
            true => format!("ALTER TABLE d.{name} COMMENT = '{token}.'"),
            false => format!("CREATE TABLE d.{name} (id INT) COMMENT = '{token}.'"),
        };
        Ok(End::Asked(s.query(&sql).await.map(drop)))
    }

    async fn transaction(&mut self, s: &mut Session, token: &str) -> Result<End, SqlError> {
        s.query("BEGIN").await?;
        if self.rng.one_in(12) {
            match self.giant(s, token).await {
                Err(e) if e.code == 1213 || e.code == 1205 => {
                    s.query("ROLLBACK").await?;
                    return Ok(End::Undone);
                }
                done => done?,
            }
        }
        let statements = 1 + self.rng.below(4);
        for _ in 0..statements {
            match self.statement(s, token).await {
                Ok(()) => {}
                // A deadlock, or a wait that was too long.
                Err(e) if e.code == 1213 || e.code == 1205 => {
                    s.query("ROLLBACK").await?;
                    return Ok(End::Undone);
                }
                Err(e) => return Err(e),
            }
            if self.rng.one_in(10) {
                s.query("SAVEPOINT here").await?;
                let (table, id) = self.key();
                let sql = format!("DELETE FROM d.{table} WHERE id = {id}");
                match s.query(&sql).await {
                    Ok(_) => s.query("ROLLBACK TO here").await.map(drop)?,
                    Err(e) if e.code == 1213 || e.code == 1205 => {
                        s.query("ROLLBACK").await?;
                        return Ok(End::Undone);
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        let sql = format!("INSERT INTO d.journal VALUES ('{token}.')");
        s.query(&sql).await?;
        if self.rng.one_in(10) {
            s.query("ROLLBACK").await?;
            return Ok(End::Undone);
        }
        self.shared
            .model
            .lock()
            .set_outcome(token, TxnOutcome::Asked);
        Ok(End::Asked(s.query("COMMIT").await.map(drop)))
    }

    /// A row that is longer than what a session holds back of its events: they are in the log before its commit, and others commit meanwhile.
    async fn giant(&mut self, s: &mut Session, token: &str) -> Result<(), SqlError> {
        let key = ("a", self.rng.below(ROWS) as i64);
        let size = 280_000 + self.rng.below(50_000);
        let row = Row {
            v: format!("{token}."),
            n: 0,
            big: "y".repeat(size as usize),
        };
        let values = format!("{}, '{}', 0, REPEAT('y', {size})", key.1, row.v);
        let sql = format!("REPLACE INTO d.a (id, v, n, big) VALUES ({values})");
        s.query(&sql).await?;
        self.note(token, Effect::Set(key, row));
        let time = self.shared.time.clone();
        deadline(&*time, time.now_us() + self.rng.log_up_to(100_000)).await;
        Ok(())
    }

    fn key(&mut self) -> Key {
        match self.rng.one_in(4) {
            true => (OWN, (self.number * 100 + self.rng.below(3)) as i64),
            false => (self.rng.pick(&SHARED), self.rng.below(ROWS) as i64),
        }
    }

    async fn statement(&mut self, s: &mut Session, token: &str) -> Result<(), SqlError> {
        let key = self.key();
        let (table, id) = key;
        let affected = |r: &[Collected]| r.iter().map(|r| r.done.affected).sum::<u64>() > 0;
        match self.rng.below(10) {
            0..4 => {
                let size = match self.rng.one_in(8) {
                    true => self.rng.log_up_to(20_000),
                    false => self.rng.below(20),
                };
                let row = Row {
                    v: format!("{token}."),
                    n: self.rng.below(1000) as i64,
                    big: "z".repeat(size as usize),
                };
                let values = format!("{id}, '{}', {}, '{}'", row.v, row.n, row.big);
                if table == OWN {
                    let sql = format!("DELETE FROM d.{table} WHERE id = {id}");
                    s.query(&sql).await?;
                    let sql = format!("INSERT INTO d.{table} (id, v, n, big) VALUES ({values})");
                    s.query(&sql).await?;
                } else {
                    let sql = format!("REPLACE INTO d.{table} (id, v, n, big) VALUES ({values})");
                    s.query(&sql).await?;
                }
                self.note(token, Effect::Set(key, row));
            }
            4..6 => {
                let v = format!("{token}.");
                let sql = format!("UPDATE d.{table} SET v = '{v}' WHERE id = {id}");
                s.query(&sql).await?;
                self.note(token, Effect::Text(key, v));
            }
            6..8 => {
                let n = self.rng.below(1000) as i64;
                let sql = format!("UPDATE d.{table} SET n = {n} WHERE id = {id}");
                s.query(&sql).await?;
                self.note(token, Effect::Number(key, n));
            }
            _ => {
                let sql = format!("DELETE FROM d.{table} WHERE id = {id}");
                if affected(&s.query(&sql).await?) {
                    self.note(token, Effect::Gone(key));
                }
            }
        }
        Ok(())
    }
}

/// Who looks at a replica.
pub struct Looks {
    pub shared: Shared,
    pub host: usize,
    /// What it has beside what it has applied.
    pub base: GtidSet,
    pub over: Arc<AtomicBool>,
}

/// Looks at a replica again and again, each time in one snapshot: how far it is, and all its rows.
pub async fn look(l: Looks, mut rng: SplitMix64) {
    let instance = &l.shared.instance;
    let mut s = Session::of_the_server(instance, instance.next_connection_id());
    while !l.over.load(Ordering::Relaxed) {
        let time = &*l.shared.time;
        deadline(time, time.now_us() + rng.log_up_to(400_000)).await;
        // The tables may not be there yet.
        if let Ok((set, rows)) = look_once(&mut s).await
            && !l.over.load(Ordering::Relaxed)
            && let Some(mut set) = GtidSet::parse(&set)
        {
            set.add_set(&l.base);
            let host = l.host;
            l.shared.model.lock().seen.push(Seen { host, set, rows });
        }
    }
    s.close().await;
}

async fn look_once(s: &mut Session) -> Result<(String, Vec<String>), SqlError> {
    s.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        .await?;
    let sql = "SELECT gtid_executed FROM mysql.replica_applier_position";
    let seen = async {
        let set = text(&s.query(sql).await?);
        Ok((set, read_all(s).await?))
    };
    let seen = seen.await;
    s.query("COMMIT").await?;
    seen
}
