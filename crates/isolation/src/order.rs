//! The order of versions of every list and register, and whether the final state agrees with what was acknowledged.

use crate::history::{End, History, Key, Op, Value, Version};
use crate::outcome::{Outcomes, TxnId};
use crate::verdict::{Anomaly, Verdict};
use std::collections::HashMap;

/// A list or a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Item {
    List(Key),
    Register(Key),
}

impl std::fmt::Display for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Item::List(key) => write!(f, "list {key}"),
            Item::Register(key) => write!(f, "register {key}"),
        }
    }
}

/// The value of a deleted register.
pub(crate) const TOMBSTONE: Value = 0;

/// One committed version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    pub writer: TxnId,
    pub value: Value,
    /// Its writer wrote no later one.
    pub settled: bool,
}

/// The versions of everything. Place 0 is the absence at the beginning, place n the n-th [`Made`].
#[derive(Debug, Default)]
pub(crate) struct Orders {
    pub of: HashMap<Item, Vec<Made>>,
    /// Where a register's value stands in its order; a list's place is the length read.
    pub place: HashMap<(Key, Value), u32>,
    /// Registers that may have been deleted: an absence is of before or of after.
    pub may_be_deleted: std::collections::HashSet<Key>,
    pub outcomes: Outcomes,
}

/// A transaction in words: its number and its client.
pub(crate) fn name(history: &History, id: TxnId) -> String {
    format!("T{id} (client {})", history.txns[id as usize].client)
}

/// What a transaction did, in words.
pub(crate) fn deeds(history: &History, id: TxnId) -> String {
    let ops = &history.txns[id as usize].ops;
    let ops: Vec<String> = ops.iter().map(|op| format!("{op:?}")).collect();
    format!("\n      T{id}: {}", ops.join("; "))
}

/// Finds the orders.
pub(crate) fn find(history: &History, outcomes: Outcomes, verdict: &mut Verdict) -> Orders {
    let mut orders = Orders {
        outcomes,
        ..Orders::default()
    };
    lists(history, &mut orders, verdict);
    registers(history, &mut orders, verdict);
    for versions in orders.of.values_mut() {
        let mut last: HashMap<TxnId, usize> = HashMap::new();
        for (at, made) in versions.iter().enumerate() {
            last.insert(made.writer, at);
        }
        for (at, made) in versions.iter_mut().enumerate() {
            made.settled = last.get(&made.writer) == Some(&at);
        }
    }
    orders
}

fn lists(history: &History, orders: &mut Orders, verdict: &mut Verdict) {
    for (key, values) in &history.last.lists {
        let mut versions = Vec::with_capacity(values.len());
        for &value in values {
            let Some(writer) = orders.outcomes.appender(*key, value) else {
                verdict.add(Anomaly::Garbage, || {
                    format!("list {key} ends as {values:?}, and nobody appended {value} to it")
                });
                continue;
            };
            if !orders.outcomes.committed[writer as usize] {
                verdict.add(Anomaly::G1a, || {
                    format!(
                        "list {key} keeps {value} of {}, which was rolled back",
                        name(history, writer)
                    )
                });
            }
            if versions.iter().any(|m: &Made| m.value == value) {
                verdict.add(Anomaly::Garbage, || {
                    format!("list {key} has {value} twice: {values:?}")
                });
            }
            versions.push(Made {
                writer,
                value,
                settled: true,
            });
        }
        orders.of.insert(Item::List(*key), versions);
    }
    // Everything that was acknowledged must be there.
    let there: std::collections::HashSet<Value> = orders
        .of
        .values()
        .flat_map(|v| v.iter().map(|m| m.value))
        .collect();
    for (id, txn) in (0..).zip(&history.txns) {
        if !orders.outcomes.committed[id as usize] {
            continue;
        }
        for op in &txn.ops {
            if let Op::Append { key, value } = op
                && !there.contains(value)
            {
                let class = match txn.end {
                    End::Unknown => Anomaly::Torn,
                    _ => Anomaly::LostWrite,
                };
                verdict.add(class, || {
                    format!(
                        "{} appended {value} to list {key}, which is not in it in the end",
                        name(history, id)
                    )
                });
            }
        }
    }
}

fn registers(history: &History, orders: &mut Orders, verdict: &mut Verdict) {
    let mut made: HashMap<Key, Vec<(Version, Value, TxnId)>> = HashMap::new();
    let mut deleted: HashMap<Key, TxnId> = HashMap::new();
    for (id, txn) in (0..).zip(&history.txns) {
        let committed = orders.outcomes.committed[id as usize];
        for op in &txn.ops {
            match *op {
                Op::Write { key, value, .. } if committed => {
                    // The counter that the server named, or the one that a reader saw.
                    if let Some((_, Some(version))) = orders.outcomes.writer(key, value) {
                        made.entry(key).or_default().push((version, value, id));
                    }
                }
                Op::Delete { key } if txn.end != End::Aborted => {
                    orders.may_be_deleted.insert(key);
                    if !committed {
                        continue;
                    }
                    if let Some(other) = deleted.insert(key, id) {
                        verdict.add(Anomaly::LostWrite, || {
                            format!(
                                "{} and {} both deleted register {key}",
                                name(history, other),
                                name(history, id)
                            )
                        });
                    }
                }
                _ => {}
            }
        }
    }
    let last: HashMap<Key, (Value, Version)> = history
        .last
        .registers
        .iter()
        .map(|&(k, v, n)| (k, (v, n)))
        .collect();
    for (key, mut versions) in made {
        versions.sort_unstable();
        counters_are_whole(history, orders, key, &versions, verdict);
        let end = versions.last().map(|&(n, v, _)| (v, n));
        let found = last.get(&key).copied();
        let want = if deleted.contains_key(&key) {
            None
        } else {
            end
        };
        if found != want && !orders.outcomes.doubtful.contains(&key) {
            verdict.add(Anomaly::LostWrite, || {
                format!(
                    "register {key} ends as {found:?} (value, counter), the last acknowledged is {want:?}"
                )
            });
        }
        let mut order: Vec<Made> = Vec::with_capacity(versions.len() + 1);
        for (_, value, writer) in versions {
            order.push(Made {
                writer,
                value,
                settled: true,
            });
            orders.place.insert((key, value), order.len() as u32);
        }
        if let Some(&writer) = deleted.get(&key) {
            order.push(Made {
                writer,
                value: TOMBSTONE,
                settled: true,
            });
        }
        orders.of.insert(Item::Register(key), order);
    }
    for (key, (value, version)) in last {
        if orders.outcomes.writer(key, value).is_none() {
            verdict.add(Anomaly::Garbage, || {
                format!(
                    "register {key} ends as {value} (counter {version}), which nobody wrote to it"
                )
            });
        }
    }
}

/// Counters are 1, 2, 3, … without a gap and without a double, unless somebody's outcome is not known.
fn counters_are_whole(
    history: &History,
    orders: &Orders,
    key: Key,
    versions: &[(Version, Value, TxnId)],
    verdict: &mut Verdict,
) {
    let mut before: (Version, Value, Option<TxnId>) = (0, 0, None);
    for &(version, value, writer) in versions {
        if version == before.0 {
            verdict.add(Anomaly::LostWrite, || {
                format!(
                    "register {key}: {} wrote {value} and {} wrote {} over the same version {}",
                    name(history, writer),
                    before.2.map_or_else(String::new, |t| name(history, t)),
                    before.1,
                    i64::from(version) - 1
                )
            });
        } else if version != before.0 + 1 && !orders.outcomes.doubtful.contains(&key) {
            verdict.add(Anomaly::Garbage, || {
                format!(
                    "register {key}: counter {} was written by nobody whose commit was acknowledged \
                     (before {value} of {})",
                    version - 1,
                    name(history, writer)
                )
            });
        }
        before = (version, value, Some(writer));
    }
}
