//! Who has locked what and who waits for whom: `performance_schema.data_locks` and `data_lock_waits`, `sys.innodb_lock_waits`,
//! `information_schema.INNODB_TRX`. How our locks are shown in MySQL's columns is in docs/isolation.md.

use std::collections::{BTreeSet, HashMap};

use base::TxnId;
use engine::lock::{LockFact, LockListing, Locked, Mode};
use types::{Isolation, Value};

use super::spec::{Spec, View, int, moment, name, text, text_or_null, uint};
use crate::context::lock_names::{LockNames, NamedLock};
use crate::context::transactions::TransactionRow;
use types::temporal::Zone;

/// Locks that nobody waits for are listed up to about so many.
const MOST: usize = 20_000;

/// The lock table as a statement reads it.
struct Locks<'v> {
    listing: LockListing,
    names: LockNames<'v>,
    transactions: HashMap<TxnId, TransactionRow>,
    now_us: u64,
    wall_us: i64,
}

impl<'v> Locks<'v> {
    fn of(view: &'v View<'v>) -> Locks<'v> {
        let listing = view.ctx.engine.locks().list(MOST);
        let all = view.instance.transactions();
        Locks {
            listing,
            names: LockNames::new(view.catalog()),
            transactions: all.into_iter().filter_map(|t| Some((t.txid?, t))).collect(),
            now_us: view.instance.now_us(),
            wall_us: view.instance.wall_us(),
        }
    }

    /// The connection of a transaction.
    fn thread(&self, t: TxnId) -> Value {
        let row = self.transactions.get(&t).filter(|t| !t.prepared);
        row.map_or(Value::Null, |t| uint(t.process.id))
    }

    /// A moment of the monotonic clock by the other one.
    fn wall(&self, at_us: u64) -> i64 {
        let ago = self.now_us.saturating_sub(at_us);
        self.wall_us - i64::try_from(ago).unwrap_or(0)
    }
}

/// A number for what is locked and how: the same lock has the same one in every table.
fn number(lock: &LockFact) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    let mut put = |bytes: &[u8]| {
        for b in bytes {
            h = (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    put(&lock.owner.0.to_le_bytes());
    put(&lock.index.to_le_bytes());
    put(&[u8::from(lock.waits_since_us.is_some())]);
    match &lock.locked {
        Locked::Row(key) => {
            put(b"r");
            put(key);
        }
        Locked::Range { low, .. } => {
            put(b"g");
            put(low);
        }
        Locked::Insert(key) => {
            put(b"i");
            put(key);
        }
    }
    h >> 16
}

fn lock_id(lock: &LockFact) -> String {
    format!("{}:{}:{}", lock.owner.0, lock.index, number(lock))
}

fn status(lock: &LockFact) -> &'static str {
    match lock.waits_since_us {
        Some(_) => "WAITING",
        None => "GRANTED",
    }
}

fn data_locks(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut all = Locks::of(v);
    let listed = std::mem::take(&mut all.listing.locks);
    let mut rows = Vec::with_capacity(listed.len());
    let mut tables = BTreeSet::new();
    for lock in &listed {
        let n = all.names.of(lock);
        let kind = match n.index {
            Some(_) => "RECORD",
            None => "TABLE",
        };
        if let (Some(t), Some(_)) = (&n.table, &n.index) {
            let exclusive =
                lock.mode == Mode::Exclusive || matches!(lock.locked, Locked::Insert(_));
            let mode = if exclusive { "IX" } else { "IS" };
            tables.insert((
                lock.owner,
                t.def.id,
                mode,
                t.def.schema.clone(),
                t.def.name.clone(),
            ));
        }
        let (schema, table) = names_of(&n);
        rows.push(vec![
            text("INNODB"),
            text(&lock_id(lock)),
            uint(lock.owner.0),
            all.thread(lock.owner),
            Value::Null,
            schema,
            table,
            Value::Null,
            Value::Null,
            text_or_null(n.index.as_deref()),
            uint(number(lock)),
            text(kind),
            text(&n.mode),
            text(status(lock)),
            text_or_null(n.data.as_deref()),
        ]);
    }
    let intentions = tables.iter().map(|(owner, id, mode, schema, table)| {
        vec![
            text("INNODB"),
            text(&format!("{}:{id}:{mode}", owner.0)),
            uint(owner.0),
            all.thread(*owner),
            Value::Null,
            name(schema),
            name(table),
            Value::Null,
            Value::Null,
            Value::Null,
            uint(u64::from(*id)),
            text("TABLE"),
            text(mode),
            text("GRANTED"),
            Value::Null,
        ]
    });
    let mut out: Vec<Vec<Value>> = intentions.collect();
    out.append(&mut rows);
    out
}

fn names_of(n: &NamedLock) -> (Value, Value) {
    match &n.table {
        Some(t) => (name(&t.def.schema), name(&t.def.name)),
        None => (Value::Null, Value::Null),
    }
}

fn data_lock_waits(v: &View<'_>) -> Vec<Vec<Value>> {
    let all = Locks::of(v);
    let side = |lock: &LockFact| {
        [
            text(&lock_id(lock)),
            uint(lock.owner.0),
            all.thread(lock.owner),
            Value::Null,
            uint(number(lock)),
        ]
    };
    let locks = &all.listing.locks;
    let waits = all.listing.waits.iter().map(|(w, b)| {
        let mut row = vec![text("INNODB")];
        row.extend(side(&locks[*w]));
        row.extend(side(&locks[*b]));
        row
    });
    waits.collect()
}

fn level(i: Isolation) -> String {
    i.name().replace('-', " ")
}

fn transactions(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut all = Locks::of(v);
    let locks = std::mem::take(&mut all.listing.locks);
    let mut tables: HashMap<TxnId, BTreeSet<u32>> = HashMap::new();
    for l in &locks {
        if let Some(table) = all.names.table_id(l) {
            tables.entry(l.owner).or_default().insert(table);
        }
    }
    let locked = |t: Option<TxnId>| t.and_then(|t| tables.get(&t)).map_or(0, BTreeSet::len);
    let waits = |t: Option<TxnId>| {
        let of = |l: &&LockFact| Some(l.owner) == t && l.waits_since_us.is_some();
        locks.iter().find(of)
    };
    let open = v.instance.transactions();
    open.into_iter()
        .map(|t| {
            let wait = waits(t.txid);
            let state = if wait.is_some() {
                "LOCK WAIT"
            } else {
                "RUNNING"
            };
            let since = wait.and_then(|w| w.waits_since_us);
            let (structs, bytes) = t.locks;
            vec![
                uint(t.number()),
                text(state),
                second(t.begun_us, v.zone()),
                wait.map_or(Value::Null, |w| text(&lock_id(w))),
                since.map_or(Value::Null, |at| second(all.wall(at), v.zone())),
                uint(t.changes + structs),
                uint(t.process.id),
                text_or_null(t.statement().as_deref()),
                text_or_null(wait.map(|_| "starting index read")),
                uint(0),
                uint(locked(t.txid) as u64),
                uint(structs),
                uint(bytes),
                uint(structs),
                uint(t.changes),
                uint(0),
                text(&level(t.isolation)),
                int(1),
                int(1),
                Value::Null,
                int(0),
                uint(0),
                int(i64::from(t.read_only)),
                int(0),
                Value::Null,
            ]
        })
        .collect()
}

fn innodb_lock_waits(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut all = Locks::of(v);
    let zone = v.zone();
    let locks = std::mem::take(&mut all.listing.locks);
    let waits = std::mem::take(&mut all.listing.waits);
    let mut out = Vec::with_capacity(waits.len());
    for (w, b) in waits {
        let (w, b) = (&locks[w], &locks[b]);
        let named = all.names.of(w);
        let blocking_mode = all.names.of(b).mode;
        let (schema, table) = names_of(&named);
        let full = named
            .table
            .as_ref()
            .map(|t| format!("`{}`.`{}`", t.def.schema, t.def.name));
        let since = w.waits_since_us.unwrap_or(all.now_us);
        let age = all.now_us.saturating_sub(since) / 1_000_000;
        let (waiting, blocking) = (
            all.transactions.get(&w.owner),
            all.transactions.get(&b.owner),
        );
        let begun =
            |t: Option<&TransactionRow>| t.map_or(Value::Null, |t| second(t.begun_us, zone));
        let trx_age = |t: Option<&TransactionRow>| {
            let us = t.map(|t| all.wall_us.saturating_sub(t.begun_us).max(0));
            us.map_or(Value::Null, |us| time((us / 1_000_000) as u64))
        };
        let count = |t: Option<&TransactionRow>, f: fn(&TransactionRow) -> u64| {
            t.map_or(Value::Null, |t| uint(f(t)))
        };
        let query = |t: Option<&TransactionRow>| {
            text_or_null(t.and_then(TransactionRow::statement).as_deref())
        };
        let kill = |what: &str| {
            let id = blocking.map(|t| format!("KILL {what}{}", t.process.id));
            text_or_null(id.as_deref())
        };
        out.push(vec![
            second(all.wall(since), zone),
            time(age),
            int(age as i64),
            text_or_null(full.as_deref()),
            schema,
            table,
            Value::Null,
            Value::Null,
            text_or_null(named.index.as_deref()),
            text(if named.index.is_some() {
                "RECORD"
            } else {
                "TABLE"
            }),
            uint(w.owner.0),
            begun(waiting),
            trx_age(waiting),
            count(waiting, |t| t.locks.0),
            count(waiting, |t| t.changes),
            all.thread(w.owner),
            query(waiting),
            text(&lock_id(w)),
            text(&named.mode),
            uint(b.owner.0),
            all.thread(b.owner),
            query(blocking),
            text(&lock_id(b)),
            text(&blocking_mode),
            begun(blocking),
            trx_age(blocking),
            count(blocking, |t| t.locks.0),
            count(blocking, |t| t.changes),
            kill("QUERY "),
            kill(""),
        ]);
    }
    out
}

/// The second that a moment is in.
fn second(us: i64, zone: Zone) -> Value {
    moment(us - us.rem_euclid(1_000_000), zone)
}

/// Seconds as TIME.
fn time(seconds: u64) -> Value {
    let us = i64::try_from(seconds.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
    Value::Time(types::Time::from_micros(us, 0))
}

/// The tables of `information_schema` in this file.
pub(super) const SPECS: &[Spec] = &[Spec {
    name: "INNODB_TRX",
    columns: "trx_id U, trx_state v13, trx_started t, trx_requested_lock_id v105?, trx_wait_started t?, trx_weight U, \
        trx_mysql_thread_id U, trx_query v1024?, trx_operation_state v64?, trx_tables_in_use U, trx_tables_locked U, \
        trx_lock_structs U, trx_lock_memory_bytes U, trx_rows_locked U, trx_rows_modified U, trx_concurrency_tickets U, \
        trx_isolation_level v16, trx_unique_checks i, trx_foreign_key_checks i, trx_last_foreign_key_error v256?, \
        trx_adaptive_hash_latched i, trx_adaptive_hash_timeout U, trx_is_read_only i, trx_autocommit_non_locking i, \
        trx_schedule_weight U?",
    rows: transactions,
}];

/// The tables of `performance_schema` in this file.
pub(super) const PERFORMANCE_SPECS: &[Spec] = &[
    Spec {
        name: "data_locks",
        columns: "ENGINE v32, ENGINE_LOCK_ID v128, ENGINE_TRANSACTION_ID U?, THREAD_ID U?, EVENT_ID U?, OBJECT_SCHEMA n64?, \
            OBJECT_NAME n64?, PARTITION_NAME v64?, SUBPARTITION_NAME v64?, INDEX_NAME v64?, OBJECT_INSTANCE_BEGIN U, \
            LOCK_TYPE v32, LOCK_MODE v32, LOCK_STATUS v32, LOCK_DATA v8192?",
        rows: data_locks,
    },
    Spec {
        name: "data_lock_waits",
        columns: "ENGINE v32, REQUESTING_ENGINE_LOCK_ID v128, REQUESTING_ENGINE_TRANSACTION_ID U?, REQUESTING_THREAD_ID U?, \
            REQUESTING_EVENT_ID U?, REQUESTING_OBJECT_INSTANCE_BEGIN U, BLOCKING_ENGINE_LOCK_ID v128, \
            BLOCKING_ENGINE_TRANSACTION_ID U?, BLOCKING_THREAD_ID U?, BLOCKING_EVENT_ID U?, BLOCKING_OBJECT_INSTANCE_BEGIN U",
        rows: data_lock_waits,
    },
];

/// The tables of `sys`.
pub(super) const SYS_SPECS: &[Spec] = &[Spec {
    name: "innodb_lock_waits",
    columns: "wait_started t?, wait_age T0?, wait_age_secs I?, locked_table m?, locked_table_schema n64?, locked_table_name n64?, \
        locked_table_partition x?, locked_table_subpartition x?, locked_index v64?, locked_type v32, waiting_trx_id U, \
        waiting_trx_started t?, waiting_trx_age T0?, waiting_trx_rows_locked U?, waiting_trx_rows_modified U?, waiting_pid U?, \
        waiting_query x?, waiting_lock_id v128, waiting_lock_mode v32, blocking_trx_id U, blocking_pid U?, blocking_query x?, \
        blocking_lock_id v128, blocking_lock_mode v32, blocking_trx_started t?, blocking_trx_age T0?, \
        blocking_trx_rows_locked U?, blocking_trx_rows_modified U?, sql_kill_blocking_query v32?, \
        sql_kill_blocking_connection v26?",
    rows: innodb_lock_waits,
}];
