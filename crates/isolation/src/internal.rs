//! Each transaction for itself: does it see its own writes, does it see one state, is what it sees committed?
//!
//! What remains is handed on as reads of versions made by others.

use crate::history::{End, GROUPS, History, Key, Op, Value, Version};
use crate::order::{Item, Made, Orders, deeds, name};
use crate::outcome::TxnId;
use crate::verdict::{Anomaly, Level, Verdict};
use std::collections::HashMap;

/// A read of what somebody else wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub reader: TxnId,
    pub item: Item,
    /// The place in the item's order; 0 is its absence at the beginning.
    pub place: u32,
    /// False: this version or an earlier one (what is missing in an answer only tells so much).
    pub exact: bool,
}

/// What a transaction knows of a register.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// What it read before it wrote: `Some(None)` is no row.
    read: Option<Option<(Value, Version)>>,
    /// What it last wrote itself; `Some(None)` is a delete.
    own: Option<Option<(Value, Option<Version>)>>,
}

/// What a transaction knows of a list.
#[derive(Debug, Clone, Default)]
struct KnownList {
    base: Option<Vec<Value>>,
    own: Vec<Value>,
}

/// The walk through one transaction.
struct Walk<'a> {
    history: &'a History,
    orders: &'a Orders,
    level: Level,
    id: TxnId,
    lists: HashMap<Key, KnownList>,
    registers: HashMap<Key, Known>,
    indexes: Vec<(Value, Key, Key, &'a [Key])>,
    seen: &'a mut Vec<Seen>,
    verdict: &'a mut Verdict,
}

/// Checks every committed transaction.
pub(crate) fn check(
    history: &History,
    orders: &Orders,
    level: Level,
    verdict: &mut Verdict,
) -> Vec<Seen> {
    let mut seen = Vec::new();
    for (id, txn) in (0..).zip(&history.txns) {
        if !orders.outcomes.committed[id as usize] {
            continue;
        }
        let mut walk = Walk {
            history,
            orders,
            level,
            id,
            lists: HashMap::new(),
            registers: HashMap::new(),
            indexes: Vec::new(),
            seen: &mut seen,
            verdict,
        };
        for op in &txn.ops {
            walk.step(op);
        }
    }
    seen
}

impl<'a> Walk<'a> {
    fn step(&mut self, op: &'a Op) {
        match op {
            Op::Append { key, value } => self.append(*key, *value),
            Op::List { key, values } => self.list(*key, values),
            Op::Write {
                key,
                value,
                version,
            } => self.write(*key, *value, *version),
            Op::Delete { key } => {
                self.registers.entry(*key).or_default().own = Some(None);
            }
            Op::Read { key, seen } => self.read(*key, *seen),
            Op::Index {
                group,
                low,
                high,
                found,
            } => self.index(*group, *low, *high, found),
        }
    }

    fn who(&self) -> String {
        name(self.history, self.id)
    }

    fn append(&mut self, key: Key, value: Value) {
        let known = self.lists.entry(key).or_default();
        if known.own.is_empty()
            && let Some(base) = &known.base
        {
            // Read at length n, so the first own value must be the one behind.
            let at = self
                .orders
                .of
                .get(&Item::List(key))
                .and_then(|order| order.iter().position(|m| m.value == value));
            if let Some(at) = at
                && at != base.len()
            {
                let (read, who) = (base.len(), self.who());
                self.verdict.add(Anomaly::LostUpdate, || {
                    format!(
                        "{who} read list {key} with {read} values and then appended {value} as \
                         number {}: what came between was not seen{}",
                        at + 1,
                        deeds(self.history, self.id)
                    )
                });
            }
        }
        self.lists.entry(key).or_default().own.push(value);
    }

    fn list(&mut self, key: Key, values: &[Value]) {
        let known = self.lists.entry(key).or_default();
        let Some(base) = values.strip_suffix(known.own.as_slice()) else {
            let (own, who) = (known.own.clone(), name(self.history, self.id));
            self.verdict.add(Anomaly::Internal, || {
                format!("{who} appended {own:?} to list {key} and then read {values:?}")
            });
            return;
        };
        if self.level.repeats()
            && let Some(before) = &known.base
            && before != base
        {
            let (before, who) = (before.clone(), name(self.history, self.id));
            self.verdict.add(Anomaly::Internal, || {
                format!("{who} read list {key} as {before:?} and later as {values:?}")
            });
        }
        let written = !known.own.is_empty();
        known.base = Some(base.to_vec());
        if self.is_prefix(key, base) && !written {
            self.seen.push(Seen {
                reader: self.id,
                item: Item::List(key),
                place: base.len() as u32,
                exact: true,
            });
        }
    }

    /// What was read must be the beginning of what was there in the end.
    fn is_prefix(&mut self, key: Key, base: &[Value]) -> bool {
        let empty = Vec::new();
        let order = self.orders.of.get(&Item::List(key)).unwrap_or(&empty);
        let same = base.len() <= order.len() && base.iter().zip(order).all(|(v, m)| *v == m.value);
        if same {
            if let Some(made) = base.len().checked_sub(1).map(|at| order[at]) {
                self.is_settled(Item::List(key), made);
            }
            return true;
        }
        let who = self.who();
        for &value in base {
            match self.orders.outcomes.appender(key, value) {
                None => self.verdict.add(Anomaly::Garbage, || {
                    format!("{who} read {base:?} in list {key}: nobody appended {value}")
                }),
                Some(writer) if !self.orders.outcomes.committed[writer as usize] => {
                    self.saw_what_is_not(writer, || format!("{base:?} in list {key}: {value}"));
                    return false;
                }
                Some(_) => {}
            }
        }
        self.verdict.add(Anomaly::Order, || {
            let last: Vec<Value> = order.iter().map(|m| m.value).collect();
            format!("{who} read list {key} as {base:?}, no beginning of its final state {last:?}")
        });
        false
    }

    /// It read what is of a transaction that did not happen.
    fn saw_what_is_not(&mut self, writer: TxnId, what: impl FnOnce() -> String) {
        let reader = &self.history.txns[self.id as usize];
        let unanswered = self.history.txns[writer as usize].end == End::Unknown;
        let class = if unanswered && !reader.wrote() && self.history.crashes > 0 {
            Anomaly::TakenBack
        } else {
            Anomaly::G1a
        };
        let w = &self.history.txns[writer as usize];
        let how = format!(
            "{:?} from {} to {}; the reader {:?} from {} to {}",
            w.end, w.began, w.ended, reader.end, reader.began, reader.ended
        );
        let (who, writer) = (self.who(), name(self.history, writer));
        let both = format!("{:?}; {:?}", w.ops, reader.ops);
        self.verdict.add(class, || {
            format!(
                "{who} read {} is of {writer}, which is not there ({how}): {both}",
                what()
            )
        });
    }

    fn is_settled(&mut self, item: Item, made: Made) {
        if !made.settled && made.writer != self.id {
            let (who, writer) = (self.who(), name(self.history, made.writer));
            self.verdict.add(Anomaly::G1b, || {
                format!(
                    "{who} read {item} at {}, which its writer {writer} replaced itself",
                    made.value
                )
            });
        }
    }

    fn write(&mut self, key: Key, value: Value, version: Option<Version>) {
        let known = self.registers.entry(key).or_default();
        if known.own.is_none()
            && let (Some(read), Some(version)) = (known.read, version)
        {
            let before = read.map_or(0, |r| r.1);
            if version != before + 1 {
                let who = name(self.history, self.id);
                self.verdict.add(Anomaly::LostUpdate, || {
                    format!(
                        "{who} read register {key} at version {before} and then wrote version \
                         {version}: what came between was not seen{}",
                        deeds(self.history, self.id)
                    )
                });
            }
        }
        self.registers.entry(key).or_default().own = Some(Some((value, version)));
    }

    fn read(&mut self, key: Key, seen: Option<(Value, Version)>) {
        let known = self.registers.entry(key).or_default();
        if let Some(own) = known.own {
            let same = match (own, seen) {
                (None, None) => true,
                (Some((value, version)), Some((v, n))) => {
                    value == v && version.is_none_or(|version| version == n)
                }
                _ => false,
            };
            if !same {
                let who = name(self.history, self.id);
                self.verdict.add(Anomaly::Internal, || {
                    format!("{who} wrote {own:?} to register {key} and then read {seen:?}")
                });
            }
            return;
        }
        if self.level.repeats()
            && let Some(before) = known.read
            && before != seen
        {
            let who = name(self.history, self.id);
            self.verdict.add(Anomaly::Internal, || {
                format!(
                    "{who} read register {key} as {before:?} and later as {seen:?}{}",
                    deeds(self.history, self.id)
                )
            });
        }
        known.read = Some(seen);
        if self.level.repeats()
            && let Some(&(group, ..)) = self.indexes.iter().find(|(group, low, high, found)| {
                (*low..=*high).contains(&key)
                    && (seen.is_some_and(|(v, _)| v % GROUPS == *group) != found.contains(&key))
            })
        {
            let who = name(self.history, self.id);
            self.verdict.add(Anomaly::Internal, || {
                format!(
                    "{who} read register {key} as {seen:?}; the index read of group {group} differs"
                )
            });
        }
        self.resolve(key, seen);
    }

    /// Finds the place of what was read in the register's order.
    fn resolve(&mut self, key: Key, seen: Option<(Value, Version)>) {
        let item = Item::Register(key);
        let Some((value, version)) = seen else {
            if !self.orders.may_be_deleted.contains(&key) {
                self.seen.push(Seen {
                    reader: self.id,
                    item,
                    place: 0,
                    exact: true,
                });
            }
            return;
        };
        let who = self.who();
        match self.orders.outcomes.writer(key, value) {
            None => self.verdict.add(Anomaly::Garbage, || {
                format!("{who} read {value} in register {key}, which nobody wrote to it")
            }),
            Some((writer, _)) if !self.orders.outcomes.committed[writer as usize] => {
                self.saw_what_is_not(writer, || format!("{value} in register {key}: it"));
            }
            Some((_, Some(made))) if made != version => self.verdict.add(Anomaly::Garbage, || {
                format!("{who} read register {key} as {value} with counter {version}, written with {made}")
            }),
            Some(_) => {
                if let Some(&place) = self.orders.place.get(&(key, value)) {
                    let made = self.orders.of[&item][place as usize - 1];
                    self.is_settled(item, made);
                    self.seen.push(Seen {
                        reader: self.id,
                        item,
                        place,
                        exact: true,
                    });
                }
            }
        }
    }

    fn index(&mut self, group: Value, low: Key, high: Key, found: &'a [Key]) {
        self.indexes.push((group, low, high, found));
        for key in low..=high {
            if found.contains(&key) {
                continue;
            }
            let known = self.registers.get(&key).copied().unwrap_or_default();
            let value = match (known.own, known.read) {
                (Some(own), _) => own.map(|(v, _)| v),
                (None, Some(read)) if self.level.repeats() => read.map(|(v, _)| v),
                (None, _) => {
                    self.missing(group, key);
                    continue;
                }
            };
            if value.is_some_and(|v| v % GROUPS == group) {
                let who = self.who();
                self.verdict.add(Anomaly::Internal, || {
                    format!(
                        "{who} knows register {key} as {value:?}; an index read of group {group} misses it"
                    )
                });
            }
        }
    }

    /// A key that an index read did not find was not yet at the versions from which on it would have been found.
    fn missing(&mut self, group: Value, key: Key) {
        let Some(order) = self.orders.of.get(&Item::Register(key)) else {
            return;
        };
        if self.orders.may_be_deleted.contains(&key) || self.orders.outcomes.vanished.contains(&key)
        {
            return;
        }
        let matching = order
            .iter()
            .rev()
            .take_while(|m| m.value % GROUPS == group)
            .count();
        if matching > 0 {
            self.seen.push(Seen {
                reader: self.id,
                item: Item::Register(key),
                place: (order.len() - matching) as u32,
                exact: false,
            });
        }
    }
}
