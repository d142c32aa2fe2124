//! The names of the anomalies, what each level promises, and the collected findings.

use std::collections::BTreeMap;
use std::fmt;

/// A class of anomaly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// A value that nobody wrote, or one in the wrong place.
    Garbage,
    /// An acknowledged write is gone, or was applied over as if it had not been there.
    LostWrite,
    /// Of a transaction without an answer, a part is there and a part is not.
    Torn,
    /// Two readers saw orders that no single order explains.
    Order,
    /// A transaction did not see its own writes, or read twice and saw two states.
    Internal,
    /// G0: writes of two transactions lie over each other in both orders.
    G0,
    /// G1a: a read of what was rolled back.
    G1a,
    /// A transaction that wrote nothing read a commit that was not acknowledged and that a crash took back.
    TakenBack,
    /// G1b: a read of a version that its writer replaced itself.
    G1b,
    /// G1c: information flows in a circle.
    G1c,
    /// P4: a transaction replaced a version that came after the one it had read.
    LostUpdate,
    /// G-single: a circle with one read of what another replaced.
    GSingle,
    /// Long fork and its longer kin: several such reads in a circle, no two of them adjacent.
    LongFork,
    /// G2-item: a circle with two adjacent such reads; write skew.
    G2Item,
    /// A circle that closes only since one transaction ended before another began.
    Stale,
}

/// All classes, in the order of reports.
pub(crate) const ALL: &[Anomaly] = &[
    Anomaly::Garbage,
    Anomaly::LostWrite,
    Anomaly::Torn,
    Anomaly::Order,
    Anomaly::Internal,
    Anomaly::G0,
    Anomaly::G1a,
    Anomaly::TakenBack,
    Anomaly::G1b,
    Anomaly::G1c,
    Anomaly::LostUpdate,
    Anomaly::GSingle,
    Anomaly::LongFork,
    Anomaly::G2Item,
    Anomaly::Stale,
];

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Anomaly::Garbage => "garbage",
            Anomaly::LostWrite => "lost write",
            Anomaly::Torn => "torn transaction",
            Anomaly::Order => "incompatible orders",
            Anomaly::Internal => "internal inconsistency",
            Anomaly::G0 => "G0 (dirty write)",
            Anomaly::G1a => "G1a (aborted read)",
            Anomaly::TakenBack => "read of an unacknowledged commit that a crash took back",
            Anomaly::G1b => "G1b (intermediate read)",
            Anomaly::G1c => "G1c (circular information flow)",
            Anomaly::LostUpdate => "lost update",
            Anomaly::GSingle => "G-single (read skew)",
            Anomaly::LongFork => "long fork",
            Anomaly::G2Item => "G2-item (write skew)",
            Anomaly::Stale => "stale read",
        })
    }
}

/// An isolation level, with what Tidemill means by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ as MySQL has it: plain reads see a snapshot, locking reads and writes the newest rows. The reads of one transaction
    /// come from two states, so that most anomalies are allowed; the scenarios say which plain reads never show.
    RepeatableRead,
    /// Snapshot isolation.
    Snapshot,
    /// SERIALIZABLE.
    Serializable,
}

impl Level {
    /// Does the level promise that this does not happen?
    pub fn forbids(self, anomaly: Anomaly) -> bool {
        use Anomaly::{
            G0, G1a, G1b, G1c, G2Item, GSingle, Garbage, Internal, LongFork, LostUpdate, LostWrite,
            Order, Stale, TakenBack, Torn,
        };
        match anomaly {
            Garbage | LostWrite | Torn | G0 => true,
            // Commits are visible before they are durable, in Tidemill as in InnoDB; who writes is behind them in the log.
            TakenBack => false,
            // A reader of uncommitted data may be shown what never was.
            G1a | G1b | G1c | Order | Internal => self >= Level::ReadCommitted,
            LostUpdate | GSingle | LongFork | Stale => self >= Level::Snapshot,
            G2Item => self >= Level::Serializable,
        }
    }

    /// Do all reads of a transaction come from one state?
    pub(crate) fn repeats(self) -> bool {
        self >= Level::Snapshot
    }
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    found: BTreeMap<Anomaly, (u64, String)>,
    /// Transactions that took part, the ones without an answer included where they turned out to be there.
    pub committed: u64,
    /// Dependencies between them.
    pub edges: u64,
}

impl Verdict {
    /// Notes one more; of the examples, the shortest is kept.
    pub(crate) fn add(&mut self, anomaly: Anomaly, example: impl FnOnce() -> String) {
        let entry = self.found.entry(anomaly).or_insert((0, String::new()));
        entry.0 += 1;
        // Making the words is dear where there are many; the first few are choice enough.
        if entry.0 < 100 {
            let text = example();
            if entry.1.is_empty() || text.len() < entry.1.len() {
                entry.1 = text;
            }
        }
    }

    /// Adds another verdict to this one.
    pub fn merge(&mut self, other: Verdict) {
        self.committed += other.committed;
        self.edges += other.edges;
        for (anomaly, (count, text)) in other.found {
            let entry = self.found.entry(anomaly).or_insert((0, String::new()));
            entry.0 += count;
            if entry.1.is_empty() || text.len() < entry.1.len() {
                entry.1 = text;
            }
        }
    }

    /// How many of this class were found (of circles: how many different ones were looked at).
    pub fn count(&self, anomaly: Anomaly) -> u64 {
        self.found.get(&anomaly).map_or(0, |f| f.0)
    }

    /// The smallest example.
    pub fn example(&self, anomaly: Anomaly) -> Option<&str> {
        self.found.get(&anomaly).map(|f| f.1.as_str())
    }

    /// The classes found.
    pub fn classes(&self) -> impl Iterator<Item = Anomaly> + '_ {
        ALL.iter().copied().filter(|a| self.found.contains_key(a))
    }

    /// The classes found that `level` forbids.
    pub fn broken(&self, level: Level) -> Vec<Anomaly> {
        self.classes().filter(|a| level.forbids(*a)).collect()
    }
}
