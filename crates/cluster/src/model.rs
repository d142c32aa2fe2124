//! What has to be there: what each client's transaction does, told by the client, and the order of transactions, told by the source's binary log. It knows
//! no pages, no logs and no events but for the token that each transaction leaves among its bytes.

use std::collections::{BTreeMap, BTreeSet};

use types::gtid::{Gtid, GtidSet};

/// A table of the workload and a row's number in it.
pub type Key = (&'static str, i64);

/// A row: `v`, `n`, `big`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub v: String,
    pub n: i64,
    pub big: String,
}

/// What a transaction does to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// It is there like this.
    Set(Key, Row),
    /// Of the row that is there, these columns.
    Text(Key, String),
    Number(Key, i64),
    /// It goes.
    Gone(Key),
    /// A table is made, or has another comment: the token.
    Table(String),
}

/// How far a transaction has come, as its client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxnOutcome {
    /// It has begun; nobody has asked for its commit.
    Open,
    /// The commit was asked for and not answered.
    Asked,
    /// It is there to stay.
    Acknowledged,
    /// It was taken back.
    Undone,
}

/// A transaction.
#[derive(Debug, Clone)]
pub struct Tx {
    pub effects: Vec<Effect>,
    pub outcome: TxnOutcome,
}

/// Tables as the model has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    pub rows: BTreeMap<Key, Row>,
    /// Tokens of the transactions.
    pub journal: BTreeSet<String>,
    /// Other tables, and their comments.
    pub others: BTreeMap<String, String>,
}

/// What somebody has seen in one snapshot of a replica.
#[derive(Debug, Clone)]
pub struct Seen {
    pub host: usize,
    pub set: GtidSet,
    /// As [`shown`] says it.
    pub rows: Vec<String>,
}

/// A transaction in the source's binary log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    pub gtid: Gtid,
    /// `None`: it is none of a client's.
    pub token: Option<String>,
}

/// See the module.
#[derive(Default)]
pub struct Model {
    pub txs: BTreeMap<String, Tx>,
    pub seen: Vec<Seen>,
    pub failures: Vec<String>,
    pub last: u64,
}

/// What stands around a token.
pub const MARK: &[u8] = b"tok-";

/// The token among some bytes: `tok-` and digits up to a dot.
pub fn token(bytes: &[u8]) -> Option<String> {
    let at = bytes.windows(MARK.len()).position(|w| w == MARK)?;
    let rest = &bytes[at..];
    let end = rest.iter().position(|b| *b == b'.')?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

impl Tables {
    /// Does what a transaction does.
    pub fn apply(&mut self, token: &str, tx: &Tx) {
        let mut is_definition = false;
        for e in &tx.effects {
            match e {
                Effect::Set(key, row) => {
                    self.rows.insert(*key, row.clone());
                }
                Effect::Text(key, v) => {
                    if let Some(row) = self.rows.get_mut(key) {
                        row.v.clone_from(v);
                    }
                }
                Effect::Number(key, n) => {
                    if let Some(row) = self.rows.get_mut(key) {
                        row.n = *n;
                    }
                }
                Effect::Gone(key) => {
                    self.rows.remove(key);
                }
                Effect::Table(name) => {
                    is_definition = true;
                    self.others.insert(name.clone(), format!("{token}."));
                }
            }
        }
        if !is_definition {
            self.journal.insert(token.to_owned());
        }
    }

    /// The rows, as they are read from a server.
    pub fn shown(&self) -> Vec<String> {
        let rows = self.rows.iter().map(|((table, id), r)| {
            let Row { v, n, big } = r;
            // It is one letter, again and again.
            let (first, last) = (big.get(..1), big.get(big.len().saturating_sub(1)..));
            let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
            format!("{table}|{id}|{v}|{n}|{}|{first}|{last}", big.len())
        });
        let journal = self.journal.iter().map(|t| format!("journal|{t}."));
        let mut all: Vec<String> = rows.chain(journal).collect();
        all.sort();
        all
    }
}

/// What is in one and not in the other, in a few words.
pub fn difference(there: &[String], wanted: &[String]) -> String {
    let short = |s: &String| s.chars().take(60).collect::<String>();
    let not_in = |a: &[String], b: &[String]| -> Vec<String> {
        let missing = a.iter().filter(|x| b.binary_search(x).is_err());
        missing.take(3).map(short).collect()
    };
    format!(
        "too much {:?}, missing {:?}",
        not_in(there, wanted),
        not_in(wanted, there)
    )
}

impl Model {
    /// A token that nobody has had.
    pub fn begin(&mut self) -> String {
        self.last += 1;
        let token = format!("tok-{}", self.last);
        let tx = Tx {
            effects: Vec::new(),
            outcome: TxnOutcome::Open,
        };
        self.txs.insert(token.clone(), tx);
        token
    }

    pub fn has(&mut self, token: &str, effect: Effect) {
        if let Some(tx) = self.txs.get_mut(token) {
            tx.effects.push(effect);
        }
    }

    pub fn set_outcome(&mut self, token: &str, outcome: TxnOutcome) {
        if let Some(tx) = self.txs.get_mut(token) {
            tx.outcome = outcome;
        }
    }

    /// Whoever is gone has asked for nothing more: what was open was taken back.
    pub fn clients_are_gone(&mut self) {
        for tx in self.txs.values_mut() {
            if tx.outcome == TxnOutcome::Open {
                tx.outcome = TxnOutcome::Undone;
            }
        }
    }

    /// All that was acknowledged is among these, and nothing that was taken back.
    pub fn judge_tokens(&self, what: &str, order: &[Logged]) -> Result<(), String> {
        let mut there = BTreeMap::new();
        for l in order {
            let Some(token) = &l.token else { continue };
            if let Some(before) = there.insert(token.clone(), l.gtid) {
                return Err(format!(
                    "{what}: {token} is there twice: {before} {}",
                    l.gtid
                ));
            }
            match self.txs.get(token).map(|t| t.outcome) {
                Some(TxnOutcome::Undone) => {
                    return Err(format!("{what}: {token} ({}) was taken back", l.gtid));
                }
                Some(_) => {}
                None => return Err(format!("{what}: {token} is nobody's")),
            }
        }
        for (token, tx) in &self.txs {
            if tx.outcome == TxnOutcome::Acknowledged && !there.contains_key(token) {
                return Err(format!("{what}: {token} was acknowledged and is lost"));
            }
        }
        Ok(())
    }

    /// Compares what was seen with the order of transactions.
    pub fn judge_seen(&mut self, order: &[Logged]) -> Result<usize, String> {
        let mut seen = std::mem::take(&mut self.seen);
        seen.sort_by_key(|s| s.set.len());
        let (mut tables, mut set, mut done) = (Tables::default(), GtidSet::new(), 0);
        for s in &seen {
            while (done as u128) < s.set.len() {
                let Some(l) = order.get(done) else {
                    return Err(format!("s{} has had more than there is: {}", s.host, s.set));
                };
                set.add(l.gtid);
                if let Some(token) = &l.token
                    && let Some(tx) = self.txs.get(token)
                {
                    tables.apply(token, tx);
                }
                done += 1;
            }
            if set != s.set {
                return Err(format!("s{} had {}, which is no beginning", s.host, s.set));
            }
            let wanted = tables.shown();
            if s.rows != wanted {
                let what = difference(&s.rows, &wanted);
                return Err(format!("s{} at {}: {what}", s.host, s.set));
            }
        }
        Ok(seen.len())
    }

    /// The tables after all of these.
    pub fn after(&self, order: &[Logged]) -> Tables {
        let mut tables = Tables::default();
        for token in order.iter().filter_map(|l| l.token.as_ref()) {
            if let Some(tx) = self.txs.get(token) {
                tables.apply(token, tx);
            }
        }
        tables
    }
}
