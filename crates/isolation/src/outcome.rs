//! Who wrote what, and what became of the transactions whose commit was not answered.
//!
//! A list that only grows remembers everything, so the final state decides the outcome of whoever appended. A register
//! forgets; there a value that somebody committed has read counts, or the gap that the write left in the counter.

use crate::history::{End, History, Key, Op, Txn, Value, Version};
use crate::verdict::{Anomaly, Verdict};
use std::collections::{HashMap, HashSet};

/// The index of a transaction in its history.
pub(crate) type TxnId = u32;

/// The result.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// Is it there?
    pub committed: Vec<bool>,
    /// Who appended the value (and to which list); indexed by value.
    pub appender: Vec<Option<(TxnId, Key)>>,
    /// Who wrote the value (and to which register), with the counter where it is known; indexed by value.
    pub writer: Vec<Option<(TxnId, Key, Option<Version>)>>,
    /// Registers that some transaction of unknown outcome may have written.
    pub doubtful: HashSet<Key>,
    /// Registers that a transaction without an answer wrote and that is not known to be there. Somebody who only
    /// reads may have seen it before a crash took it back.
    pub vanished: HashSet<Key>,
}

fn put<T: Copy>(table: &mut Vec<Option<T>>, at: Value, what: T) -> bool {
    let at = at as usize;
    if table.len() <= at {
        table.resize(at + 1, None);
    }
    table[at].replace(what).is_some()
}

impl Outcomes {
    /// Who appended `value` to the list `key`.
    pub fn appender(&self, key: Key, value: Value) -> Option<TxnId> {
        match self.appender.get(value as usize) {
            Some(Some((txn, k))) if *k == key => Some(*txn),
            _ => None,
        }
    }

    /// Who wrote `value` to the register `key`, and as which version.
    pub fn writer(&self, key: Key, value: Value) -> Option<(TxnId, Option<Version>)> {
        match self.writer.get(value as usize) {
            Some(Some((txn, k, version))) if *k == key => Some((*txn, *version)),
            _ => None,
        }
    }
}

/// Finds the writers and decides the outcomes.
pub(crate) fn resolve(history: &History, verdict: &mut Verdict) -> Outcomes {
    let mut outcomes = Outcomes {
        committed: history
            .txns
            .iter()
            .map(|t| t.end == End::Committed)
            .collect(),
        ..Outcomes::default()
    };
    for (id, txn) in (0..).zip(&history.txns) {
        for op in &txn.ops {
            let twice = match *op {
                Op::Append { key, value } => put(&mut outcomes.appender, value, (id, key)),
                Op::Write {
                    key,
                    value,
                    version,
                } => put(&mut outcomes.writer, value, (id, key, version)),
                _ => false,
            };
            if twice {
                verdict.add(Anomaly::Garbage, || {
                    format!("the harness wrote a value twice: {op:?}")
                });
            }
        }
    }
    versions_from_reads(history, &mut outcomes);
    let unknown: Vec<TxnId> = (0..)
        .zip(&history.txns)
        .filter(|(_, t)| t.end == End::Unknown)
        .map(|(id, _)| id)
        .collect();
    if !unknown.is_empty() {
        resolve_unknown(history, &unknown, &mut outcomes);
    }
    verdict.committed += outcomes.committed.iter().filter(|c| **c).count() as u64;
    outcomes
}

/// A write without an answer gets its counter from whoever read it.
fn versions_from_reads(history: &History, outcomes: &mut Outcomes) {
    let reads = history.txns.iter().flat_map(|t| &t.ops);
    let seen = reads.filter_map(|op| match *op {
        Op::Read {
            seen: Some((value, version)),
            ..
        } => Some((value, version)),
        _ => None,
    });
    let last = history.last.registers.iter().map(|&(_, v, n)| (v, n));
    for (value, version) in seen.chain(last) {
        if let Some(Some((_, _, known @ None))) = outcomes.writer.get_mut(value as usize) {
            *known = Some(version);
        }
    }
}

/// What is proof that a transaction committed.
struct Evidence {
    /// Values in final lists.
    appended: HashSet<Value>,
    /// Register values that committed transactions or the final reader saw. Where there was a crash, a transaction
    /// that wrote nothing is no witness: it may have seen what was not durable yet.
    written: HashSet<Value>,
    /// Committed counters by register: all of them, and the largest.
    versions: HashMap<Key, HashSet<Version>>,
    /// Registers there in the end, or gone by somebody's certain delete.
    explained: HashSet<Key>,
}

impl Evidence {
    fn collect(history: &History, committed: &[bool]) -> Evidence {
        let mut evidence = Evidence {
            appended: history
                .last
                .lists
                .iter()
                .flat_map(|l| l.1.iter().copied())
                .collect(),
            written: history.last.registers.iter().map(|r| r.1).collect(),
            versions: HashMap::new(),
            explained: history.last.registers.iter().map(|r| r.0).collect(),
        };
        for &(key, _, version) in &history.last.registers {
            evidence.versions.entry(key).or_default().insert(version);
        }
        for (txn, _) in history.txns.iter().zip(committed).filter(|(_, c)| **c) {
            evidence.add(history, txn);
        }
        evidence
    }

    /// What a transaction that committed tells of others.
    fn add(&mut self, history: &History, txn: &Txn) {
        let witness = history.crashes == 0 || txn.wrote();
        for op in &txn.ops {
            match *op {
                Op::Read {
                    seen: Some((value, _)),
                    ..
                } if witness => {
                    self.written.insert(value);
                }
                Op::Write {
                    key,
                    version: Some(version),
                    ..
                } => {
                    self.versions.entry(key).or_default().insert(version);
                }
                Op::Delete { key } => {
                    self.explained.insert(key);
                }
                _ => {}
            }
        }
    }

    fn proves(&self, op: &Op) -> bool {
        match op {
            Op::Append { value, .. } => self.appended.contains(value),
            Op::Write {
                key,
                value,
                version,
            } => {
                self.written.contains(value)
                    || version.is_some_and(|version| {
                        // A later counter is there and nobody else has this one.
                        self.versions.get(key).is_some_and(|all| {
                            !all.contains(&version) && all.iter().any(|v| *v > version)
                        })
                    })
            }
            // A row that is gone, and nobody else has deleted it.
            Op::Delete { key } => self.versions.contains_key(key) && !self.explained.contains(key),
            _ => false,
        }
    }
}

fn resolve_unknown(history: &History, unknown: &[TxnId], outcomes: &mut Outcomes) {
    let mut evidence = Evidence::collect(history, &outcomes.committed);
    let mut open = unknown.to_vec();
    // Who is proved to be there is a witness for others, which may have been looked at before.
    loop {
        let before = open.len();
        open.retain(|&id| {
            let txn = &history.txns[id as usize];
            let proved = txn
                .ops
                .iter()
                .any(|op| evidence.proves(&with_version(op, outcomes)));
            if proved {
                outcomes.committed[id as usize] = true;
                evidence.add(history, txn);
            }
            !proved
        });
        if open.len() == before {
            break;
        }
    }
    for id in open {
        let ops = &history.txns[id as usize].ops;
        let written = ops.iter().filter_map(|op| match op {
            Op::Write { key, .. } | Op::Delete { key } => Some(*key),
            _ => None,
        });
        outcomes.vanished.extend(written.clone());
        // A list would show it; for one that wrote registers only, it stays open.
        if !ops.iter().any(|op| matches!(op, Op::Append { .. })) {
            outcomes.doubtful.extend(written);
        }
    }
}

/// The operation, with the counter of a write as somebody read it where its own answer is missing.
fn with_version(op: &Op, outcomes: &Outcomes) -> Op {
    match *op {
        Op::Write {
            key,
            value,
            version: None,
        } => Op::Write {
            key,
            value,
            version: outcomes.writer(key, value).and_then(|(_, v)| v),
        },
        _ => op.clone(),
    }
}
