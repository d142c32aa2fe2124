//! Isolation levels: the order of their strength, MySQL's words for them, and the number that a variable stores.

/// How much of other transactions' work one sees. The order is that of strength.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Isolation {
    /// Reads what is there, committed or not.
    ReadUncommitted,
    /// Each statement reads what was committed when it began.
    ReadCommitted,
    /// Plain reads all see what was committed at the first of them. Locking reads and changes see the newest committed rows, lock what they
    /// read, and guard the ranges.
    #[default]
    RepeatableRead,
    /// Snapshot isolation, which is `REPEATABLE READ` with `innodb_snapshot_isolation`: all statements read what was committed at the first
    /// read; a locking read or a change of a row that changed since is refused (1213).
    Snapshot,
    /// Reads lock, and guard the ranges they read.
    Serializable,
}

impl Isolation {
    /// Those that `transaction_isolation` names, in the order in which it numbers them.
    pub const ALL: [Isolation; 4] = [
        Isolation::ReadUncommitted,
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ];

    /// The values of `transaction_isolation`, by their numbers.
    pub const NAMES: &[&str] = &[
        "READ-UNCOMMITTED",
        "READ-COMMITTED",
        "REPEATABLE-READ",
        "SERIALIZABLE",
    ];

    /// The value of `transaction_isolation`.
    pub const fn name(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => Self::NAMES[0],
            Isolation::ReadCommitted => Self::NAMES[1],
            Isolation::RepeatableRead | Isolation::Snapshot => Self::NAMES[2],
            Isolation::Serializable => Self::NAMES[3],
        }
    }

    /// The level of a number of `transaction_isolation`.
    pub fn by_number(n: u64) -> Option<Isolation> {
        Self::ALL.get(usize::try_from(n).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_gives_the_level_back() {
        for (n, level) in Isolation::ALL.into_iter().enumerate() {
            assert_eq!(Isolation::by_number(n as u64), Some(level));
            assert_eq!(level.name(), Isolation::NAMES[n]);
        }
        assert_eq!(Isolation::by_number(4), None);
    }

    #[test]
    fn a_stronger_level_is_greater() {
        assert!(Isolation::ALL.is_sorted());
    }
}
