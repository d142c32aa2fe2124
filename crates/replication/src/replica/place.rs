//! How far a replica has come: the place in the source's binary log behind the last transaction that was applied, and the names of all that
//! were.

use std::collections::BTreeMap;

use sql::context::replica::LogPlace;
use types::gtid::GtidSet;

/// Where events begin in a file of the binary log.
pub(super) const FIRST: u64 = 4;

/// The last transaction of each of MariaDB's domains: its server and its number.
pub(super) type MariaPosition = BTreeMap<u32, (u32, u64)>;

/// How far a replica has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Place {
    /// In files.
    pub log: LogPlace,
    /// The GTIDs of MySQL.
    pub gtids: GtidSet,
    /// Those of MariaDB.
    pub maria: MariaPosition,
    /// A change of definitions that was begun, and of which it is not known whether it took place: the catalog as it was before.
    pub unfinished: Option<u64>,
}

impl Place {
    /// Before everything.
    pub fn start() -> Place {
        Place {
            log: LogPlace {
                file: String::new(),
                position: FIRST,
            },
            ..Place::default()
        }
    }
}

/// `0-1-27,1-2-5`.
pub(super) fn maria_text(position: &MariaPosition) -> String {
    let one =
        |(domain, (server, number)): (&u32, &(u32, u64))| format!("{domain}-{server}-{number}");
    position.iter().map(one).collect::<Vec<_>>().join(",")
}

/// Reads it; what makes no sense is left out.
pub(super) fn maria_position(text: &str) -> MariaPosition {
    let one = |part: &str| {
        let mut numbers = part.trim().split('-');
        let domain = numbers.next()?.parse().ok()?;
        let server = numbers.next()?.parse().ok()?;
        let number = numbers.next()?.parse().ok()?;
        Some((domain, (server, number)))
    };
    text.split(',').filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mariadbs_positions_are_read_back() {
        let text = "0-1-27,7-2-18446744073709551615";
        assert_eq!(maria_text(&maria_position(text)), text);
        assert!(maria_position("").is_empty() && maria_position("1-2,x-1-1").is_empty());
    }
}
